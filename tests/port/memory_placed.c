// tags: part
// SPDX-License-Identifier: MIT-0
// port: posix_memalign puts the address of memory where it is told
// function: memory_placed
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = memory_placed@(x, 3);
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>

double memory_placed(const double *x, int n)
{
    double *work = NULL, s = 0;
    if (posix_memalign((void **)&work, 64, (size_t)n * sizeof(double)) != 0)
        return 0;
    for (int i = 0; i < n; i++)
        work[i] = x[i] * x[i];
    for (int i = 1; i < n; i++)
        s += work[i] * work[i - 1];
    free(work);
    return s;
}
