// tags: part
// SPDX-License-Identifier: MIT-0
// port: a factorisation in place and a solution
// function: cholesky_solve
// with: a:n*n
// with: b:n
// of: b:n
// in: 12
// out: 3
// at: 4 1 0.5 1 3 1 0.5 1 5 1 2 3
// call: real a[9]; for (int i = 0; i < 9; i++) a[i] = x[i];
// call: for (int i = 0; i < 3; i++) y[i] = x[9 + i];
// call: if (cholesky_solve@(a, y, 3) != 0) y[0] = x[0];
#include <math.h>

int cholesky_solve(double *a, double *b, int n)
{
    for (int j = 0; j < n; j++) {
        double *row = a + j * n;
        for (int k = 0; k < j; k++)
            row[j] -= row[k] * row[k];
        if (row[j] <= 0)
            return j + 1;
        row[j] = sqrt(row[j]);
        for (int i = j + 1; i < n; i++) {
            for (int k = 0; k < j; k++)
                a[i * n + j] -= a[i * n + k] * row[k];
            a[i * n + j] /= row[j];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    for (int i = n; i-- > 0;) {
        for (int k = i + 1; k < n; k++)
            b[i] -= a[k * n + i] * b[k];
        b[i] /= a[i * n + i];
    }
    return 0;
}
