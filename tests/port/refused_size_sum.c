// tags: part
// SPDX-License-Identifier: MIT-0
// port: sizes in sums, which are those of recorded numbers and of others
// function: refused_size_sum
// with: x:n
#include <stdlib.h>

struct size_sum_row {
    int n;
    double v[];
};

static double size_sum_pair(const double *x, const double *w, int n)
{
    size_t na = (size_t)n * sizeof(double);
    size_t nb = (size_t)n * sizeof(double); // refused: size of numbers
    double *a = malloc(na + nb), *b = malloc(nb), s = 0;
    for (int i = 0; i < n; i++) {
        a[i] = x[i];
        a[n + i] = x[i] * x[i];
        b[i] = w[i];
    }
    for (int i = 0; i < n; i++)
        s += a[i] * a[n + i] * b[i];
    free(a);
    free(b);
    return s;
}

static double size_sum_row(const double *x, const double *w, int n)
{
    size_t body = (size_t)n * sizeof(double); // refused: size of numbers
    struct size_sum_row *a = malloc(sizeof *a + body);
    double *b = malloc(body), s = 0;
    a->n = n;
    for (int i = 0; i < n; i++) {
        a->v[i] = x[i] * x[i];
        b[i] = w[i];
    }
    for (int i = 0; i < a->n; i++)
        s += a->v[i] * b[i];
    free(a);
    free(b);
    return s;
}

static double size_sum_bytes(const double *x, int n, size_t more)
{
    struct size_sum_row *a = malloc(sizeof *a + (size_t)n * 8); // refused: in bytes
    const size_t bytes = (size_t)n * sizeof(double);
    double *b = malloc(bytes + more), s = 0; // refused: size in bytes
    for (int i = 0; i < n; i++) {
        a->v[i] = x[i] * x[i];
        b[i] = x[i];
    }
    for (int i = 0; i < n; i++)
        s += a->v[i] * b[i];
    free(a);
    free(b);
    return s;
}

double refused_size_sum(const double *x, const double *w, int n)
{
    return size_sum_pair(x, w, n) + size_sum_row(x, w, n)
        + size_sum_bytes(x, n, 8 * (size_t)n);
}
