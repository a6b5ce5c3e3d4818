// tags: part
// SPDX-License-Identifier: MIT-0
// port: matrices as rows of pointers, vectors that begin at 1
// function: matrix_rows
// with: x:4
// in: 4
// out: 1
// at: 1 2 3 5
// may: refuse
// call: y[0] = matrix_rows@(x);
#include <stdlib.h>

static double **rows_new(int m, int n)
{
    double **a = malloc((size_t)m * sizeof(double *));
    a[0] = malloc((size_t)(m * n) * sizeof(double));
    for (int i = 1; i < m; i++)
        a[i] = a[i - 1] + n;
    return a;
}

static double rows_trace(double **a, const double *v, int n)
{
    double s = 0;
    for (int i = 1; i <= n; i++)
        s += a[i - 1][i - 1] * v[i];
    return s;
}

double matrix_rows(const double *x)
{
    double **a = rows_new(2, 2), room[3], s;
    double *v = room;
    for (int i = 0; i < 2; i++) {
        v[i + 1] = x[i];
        for (int j = 0; j < 2; j++)
            a[i][j] = x[2 * i + j] * x[3 - j];
    }
    s = rows_trace(a, v, 2);
    free(a[0]);
    free(a);
    return s;
}
