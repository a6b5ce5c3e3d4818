// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions of math.h of constants stay plain
// function: math_constants
// with: x
// in: 1
// out: 1
// at: 0.4
// passive: scale nu
// call: y[0] = math_constants@(x[0], 3);
#include <math.h>

double math_constants(double x, int n)
{
    const double scale = 1 / sqrt(2 * 3.141592653589793);
    double nu = lgamma(n / 2.0) + log(n);
    return scale * exp(-x * x / 2) * nu + (n < 0 ? INFINITY : 0);
}
