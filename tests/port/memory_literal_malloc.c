// tags: part
// SPDX-License-Identifier: MIT-0
// port: malloc with a number of bytes that is computed of literals
// function: memory_literal_malloc
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// may: refuse
// tolerance: 1e-8
// bytes: 8
// call: y[0] = memory_literal_malloc@(x, 3);
#include <stdlib.h>

double memory_literal_malloc(const double *x, int n)
{
    double *a = malloc(8 * (size_t)n), *b = calloc((size_t)n, 8), s = 0;
    for (int i = 0; i < n; i++)
        a[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        b[i] += a[n - 1 - i] * x[i];
    for (int i = 0; i < n; i++)
        s += b[i];
    free(a);
    free(b);
    return s;
}
