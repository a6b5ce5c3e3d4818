// tags: part
// SPDX-License-Identifier: MIT-0
// port: hyperbolic functions of math.h
// function: math_hyperbolic
// with: x
// of: y:6
// in: 1
// out: 6
// at: 0.7
// at: 0.1
// call: math_hyperbolic@(x[0], y);
#include <math.h>

void math_hyperbolic(double x, double *y)
{
    y[0] = sinh(x);
    y[1] = cosh(x);
    y[2] = tanh(x);
    y[3] = asinh(x);
    y[4] = acosh(1 + x);
    y[5] = atanh(x);
}
