// tags: part
// SPDX-License-Identifier: MIT-0
// port: qsort of constants
// function: sort_plain
// with: x
// in: 1
// out: 1
// at: 0.5
// call: y[0] = sort_plain@(x[0]);
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

double sort_plain(double x)
{
    double knot[4] = { 3, 1, 2, 0 }, s = 0;
    qsort(knot, 4, sizeof knot[0], by_size);
    for (int i = 0; i < 4; i++)
        s = s * x + knot[i];
    return s;
}
