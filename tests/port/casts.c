// tags: part
// SPDX-License-Identifier: MIT-0
// port: casts to double, int, unsigned and long of numbers
// function: casts
// with: x:2
// in: 2
// out: 1
// at: 2.75 -1.54
// at: 5.1 3.97
// call: y[0] = casts@(x);
#include <stdint.h>
#include <stdlib.h>

double casts(const double *x)
{
    double w[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    int i = (int)x[0];
    long k = (long)(x[1] * 10);
    double r = (double)i * x[0] + (double)x[1];
    r += w[(unsigned)x[0]] * x[1] + w[(size_t)(x[0] / 2)];
    r -= (x[0] - (double)(int64_t)x[0]) * (double)k;
    return r + (double)(k / 4) + 1 / (double)(3 - 5);
}
