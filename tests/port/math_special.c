// tags: part
// SPDX-License-Identifier: MIT-0
// port: erf, erfc, lgamma, tgamma
// function: math_special
// with: x
// of: y:4
// in: 1
// out: 4
// at: 0.7
// at: 3.25
// call: math_special@(x[0], y);
#include <math.h>

void math_special(double x, double *y)
{
    y[0] = erf(x);
    y[1] = erfc(x);
    y[2] = lgamma(x);
    y[3] = tgamma(x);
}
