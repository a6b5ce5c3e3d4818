// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure that ends in an array of open length
// function: flexible_array
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// may: refuse
// call: y[0] = flexible_array@(x, 3);
#include <stdlib.h>

struct flexible { int n; double v[]; };

double flexible_array(const double *x, int n)
{
    struct flexible *f = malloc(sizeof *f + (size_t)n * sizeof(double));
    double s = 0;
    if (f == NULL)
        return 0;
    f->n = n;
    for (int i = 0; i < n; i++)
        f->v[i] = x[i] * x[i];
    for (int i = 0; i < f->n; i++)
        s += f->v[i] / (i + 1);
    free(f);
    return s;
}
