// tags: part
// SPDX-License-Identifier: MIT-0
// port: exp10, whose bits are not those of a power
// function: math_powers_of_ten
// with: x
// of: y:3
// keeps: double exp10(double);
// in: 1
// out: 3
// at: 0.7
// at: 1.3
// call: math_powers_of_ten@(x[0], y);
#define _GNU_SOURCE
#include <math.h>

void math_powers_of_ten(double x, double *y)
{
    double sum = 0;
    for (int i = 0; i < 400; i++)
        sum += exp10(x + i / 512.0) - exp10(i / 256.0 - x);
    y[0] = sum;
    y[1] = exp10(2 * x);
    y[2] = exp10(x) / exp10(-x);
}
