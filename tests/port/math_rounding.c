// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions of math.h that round: derivative 0
// function: math_rounding
// with: x
// of: y:6
// in: 1
// out: 6
// at: 0.7
// at: -2.25
// call: math_rounding@(x[0], y);
#include <math.h>

void math_rounding(double x, double *y)
{
    y[0] = x - floor(x);
    y[1] = x * ceil(x);
    y[2] = trunc(x);
    y[3] = x + round(x);
    y[4] = rint(x) * x;
    y[5] = nearbyint(x) - x;
}
