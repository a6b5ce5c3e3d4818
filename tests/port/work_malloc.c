// tags: part
// SPDX-License-Identifier: MIT-0
// port: work arrays from malloc and calloc, handed on and freed
// function: work_malloc
// with: x:n
// in: 4
// out: 1
// at: 4 1 2 3
// call: y[0] = work_malloc@(x, 4);
#include <stdlib.h>

static double *differences_of(const double *x, int n)
{
    double *d = (double *)malloc((size_t)(n - 1) * sizeof(double));
    for (int i = 0; d && i < n - 1; i++)
        d[i] = x[i + 1] - x[i];
    return d;
}

double work_malloc(const double *x, int n)
{
    double *d = differences_of(x, n);
    double *s = calloc((size_t)n, sizeof *s), r = 0;
    int *order = malloc(sizeof(int) * (size_t)n);
    if (d && s && order) {
        for (int i = 0; i < n - 1; i++) {
            s[i + 1] = s[i] + d[i] * d[i];
            order[i] = n - 2 - i;
        }
        for (int i = 0; i < n - 1; i++)
            r += s[i + 1] * d[order[i]];
    }
    free(d);
    free(s);
    free(order);
    return r;
}
