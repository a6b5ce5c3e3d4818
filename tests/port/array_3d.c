// tags: part
// SPDX-License-Identifier: MIT-0
// port: a three-dimensional local array, and a row handed on
// function: array_3d
// with: x:4
// in: 4
// out: 1
// at: 1 2 3 0.5
// call: y[0] = array_3d@(x);

static double third_row(const double row[4])
{
    return row[0] * row[3] - row[1] * row[2];
}

double array_3d(const double *x)
{
    double a[2][3][4];
    double s = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                a[i][j][k] = x[k] * x[(i + j + k) % 4] + i - j;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            s += (i + 1) * third_row(a[i][j]);
    return s + (*a)[1][2] + **a[1];
}
