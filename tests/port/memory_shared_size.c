// tags: part
// SPDX-License-Identifier: MIT-0
// port: one number of bytes for arrays of numbers and of constants
// function: memory_shared_size
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// may: refuse
// call: y[0] = memory_shared_size@(x, 3);
#include <stdlib.h>
#include <string.h>

double memory_shared_size(const double *x, int n)
{
    const size_t bytes = (size_t)n * sizeof(double);
    static const double ramp[3] = { 1, 2, 3 };
    double a[3], weight[3], guard[3] = { 5, 6, 7 }, s = 0;
    double *b = malloc(bytes);
    memcpy(weight, ramp, bytes);
    memcpy(a, x, bytes);
    memcpy(b, a, bytes);
    for (int i = 0; i < n; i++)
        s += weight[i] * b[i] * a[i] + guard[i];
    free(b);
    return s;
}
