// tags: part
// SPDX-License-Identifier: MIT-0
// port: Bessel functions
// function: math_bessel
// with: x
// of: y:6
// in: 1
// out: 6
// at: 0.7
// at: 3.25
// call: math_bessel@(x[0], y);
#include <math.h>

void math_bessel(double x, double *y)
{
    y[0] = j0(x);
    y[1] = j1(x);
    y[2] = jn(3, x);
    y[3] = y0(x);
    y[4] = y1(x);
    y[5] = yn(2, x);
}
