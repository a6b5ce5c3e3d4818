// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions of math.h that give integers
// function: math_integers
// with: x
// of: y:4
// in: 1
// out: 4
// at: 6.75
// at: -0.3
// call: math_integers@(x[0], y);
#include <math.h>

void math_integers(double x, double *y)
{
    const long n = lround(x);
    int e = ilogb(x);
    y[0] = n * x;
    y[1] = x * e + lrint(x);
    y[2] = x * logb(x);
    y[3] = x - (double)llround(x) + (double)llrint(x);
}
