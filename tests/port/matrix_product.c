// tags: part
// SPDX-License-Identifier: MIT-0
// port: products of matrices, rows by index arithmetic
// function: matrix_product
// with: a:n*n
// with: b:n*n
// of: c:n*n
// in: 8
// out: 4
// at: 1 2 3 4 0.5 -1 2 1
// call: matrix_product@(2, x, x + 4, y);

void matrix_product(int n, const double *a, const double *b, double *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double *s = c + i * n + j;
            *s = 0;
            for (int k = 0; k < n; k++)
                *s += a[i * n + k] * b[k * n + j];
        }
}
