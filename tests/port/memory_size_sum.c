// tags: part
// SPDX-License-Identifier: MIT-0
// port: several sizes in one argument, all of them of recorded numbers
// function: memory_size_sum
// with: x:n
// in: 3
// out: 1
// at: 1 2 0.5
// call: y[0] = memory_size_sum@(x, 3);
#include <stdlib.h>

struct memory_size_sum_row {
    int n;
    double v[];
};

double memory_size_sum(const double *x, int n)
{
    const size_t body = (size_t)n * sizeof(double);
    const size_t na = (size_t)n * sizeof(double);
    const size_t nb = (size_t)n * sizeof(double);
    struct memory_size_sum_row *a = malloc(sizeof *a + body);
    double *c = calloc((size_t)n + 1, sizeof *c);
    double *b = malloc(na + nb + 16), s = 0;
    a->n = n;
    for (int i = 0; i < n; i++) {
        a->v[i] = x[i] * x[i];
        b[i] = x[i];
        b[n + i] = 2 * x[i];
        c[i + 1] = b[i];
    }
    for (int i = 0; i < a->n; i++)
        s += a->v[i] * b[i] * b[n + i] * c[i + 1];
    free(a);
    free(c);
    free(b);
    return s;
}
