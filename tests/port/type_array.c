// tags: part
// SPDX-License-Identifier: MIT-0
// port: arrays as types of their own, pointers to arrays, arrays of pointers
// function: type_array
// with: x:6
// in: 6
// out: 1
// at: 1 2 3 4 5 6
// call: y[0] = type_array@(x);

typedef double type_vec[3];
typedef type_vec type_mat[2];

static void type_mul(type_mat r, const type_vec *a, double f)
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            r[i][j] = a[i][j] * f;
}

double type_array(const double *x)
{
    type_mat m, r;
    type_vec *row = m;
    double s = 0;
    for (int i = 0; i < 6; i++)
        m[i / 3][i % 3] = x[i];
    type_mul(r, (const type_vec *)m, x[0]);
    row++;
    for (int j = 0; j < 3; j++)
        s += (*row)[j] * r[0][j] + r[1][j];
    return s;
}
