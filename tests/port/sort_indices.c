// tags: part
// SPDX-License-Identifier: MIT-0
// port: qsort of indices by numbers that a global points to
// function: sort_indices
// with: x:n
// in: 4
// out: 1
// at: 3 1 4 1.5
// may: refuse
// call: y[0] = sort_indices@(x, 4);
#include <stdlib.h>

static const double *sort_keys;

static int by_key(const void *a, const void *b)
{
    const double p = sort_keys[*(const int *)a], q = sort_keys[*(const int *)b];
    return (p > q) - (p < q);
}

double sort_indices(const double *x, int n)
{
    int order[8];
    double s = 0;
    for (int i = 0; i < n; i++)
        order[i] = i;
    sort_keys = x;
    qsort(order, (size_t)n, sizeof *order, by_key);
    for (int i = 0; i < n; i++)
        s += (i + 1) * x[order[i]] * x[order[i]];
    return s;
}
