// tags: part
// SPDX-License-Identifier: MIT-0
// port: nextafter of a number
// function: math_next
// with: x
// in: 1
// out: 1
// at: 0.4
// may: refuse
// gradient: 2
// call: y[0] = math_next@(x[0]);
#include <math.h>

double math_next(double x)
{
    return nextafter(x, 10) * 2;
}
