// tags: part
// SPDX-License-Identifier: MIT-0
// port: an address that is rounded up, through an integer
// function: memory_aligned
// with: x:2
// in: 2
// out: 1
// at: 2 3
// may: refuse
// call: y[0] = memory_aligned@(x);
#include <stdint.h>
#include <stdlib.h>

double memory_aligned(const double *x)
{
    void *raw = malloc(2 * sizeof(double) + 63);
    double *a = (double *)(((uintptr_t)raw + 63) & ~(uintptr_t)63), s;
    a[0] = x[0] * x[1];
    a[1] = a[0] * x[0];
    s = a[0] + a[1];
    free(raw);
    return s;
}
