// tags: part
// SPDX-License-Identifier: MIT-0
// port: trigonometric functions of math.h
// function: math_trigonometric
// with: x
// of: y:7
// in: 1
// out: 7
// at: 0.7
// at: -0.25
// call: math_trigonometric@(x[0], y);
#include <math.h>

void math_trigonometric(double x, double *y)
{
    y[0] = sin(x);
    y[1] = cos(x);
    y[2] = tan(x);
    y[3] = asin(x);
    y[4] = acos(x);
    y[5] = atan(x);
    y[6] = atan2(x, 1 - x);
}
