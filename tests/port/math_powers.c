// tags: part
// SPDX-License-Identifier: MIT-0
// port: powers and roots of math.h
// function: math_powers
// with: x:2
// of: y:8
// in: 2
// out: 8
// at: 0.7 1.5
// at: 2 3
// call: math_powers@(x, y);
#include <math.h>

void math_powers(const double *x, double *y)
{
    y[0] = sqrt(x[0]);
    y[1] = cbrt(-x[0]);
    y[2] = hypot(x[0], x[1]);
    y[3] = pow(x[0], x[1]);
    y[4] = pow(x[0], 3);
    y[5] = pow(2, x[1]);
    y[6] = fma(x[0], x[1], x[0]);
    y[7] = pow(-x[0], -2.0) + hypot(x[0], 1);
}
