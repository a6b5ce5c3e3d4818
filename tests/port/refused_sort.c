// tags: part
// SPDX-License-Identifier: MIT-0
// port: qsort of numbers
// function: refused_sort
// with: x:n

#include <stdlib.h>

static int numbers_by_size(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

double refused_sort(const double *x, int n)
{
    double v[16] = { 0 };
    for (int i = 0; i < n; i++)
        v[i] = x[i];
    qsort(v, (unsigned)n, sizeof *v, numbers_by_size); // refused: qsort|sort
    return v[n / 2];
}
