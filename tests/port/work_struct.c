// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure with pointers to work arrays
// function: work_struct
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = work_struct@(x, 3);
#include <stdlib.h>

typedef struct { int n; double *data; double *more; } work_vector;

static work_vector *work_new(int n)
{
    work_vector *w = malloc(sizeof *w);
    w->n = n;
    w->data = malloc(2 * (size_t)n * sizeof(*w->data));
    w->more = w->data + n;
    return w;
}

static void work_free(work_vector *w)
{
    free(w->data);
    free(w);
}

double work_struct(const double *x, int n)
{
    work_vector *w = work_new(n);
    double s = 0;
    for (int i = 0; i < w->n; i++)
        w->more[i] = (w->data[i] = x[i] * x[0]) * x[i];
    for (int i = 0; i < 2 * n; i++)
        s += w->data[i] / (i + 1);
    work_free(w);
    return s;
}
