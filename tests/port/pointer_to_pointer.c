// tags: part
// SPDX-License-Identifier: MIT-0
// port: rows by pointer to pointer
// function: pointer_to_pointer
// with: x:4
// in: 4
// out: 1
// at: 1 2 -3 0.5
// call: y[0] = pointer_to_pointer@(x);

static double rows_product(double **row, int n)
{
    double s = 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            s *= row[i][j] + j;
    return s;
}

double pointer_to_pointer(const double *x)
{
    double a[2] = { x[0], x[1] }, b[2] = { x[2], x[3] };
    double *row[2];
    double **first = row;
    *first++ = b;
    *first = a;
    return rows_product(row, 2) + **row;
}
