// tags: part
// SPDX-License-Identifier: MIT-0
// port: two-dimensional arrays, parameters and local
// function: array_2d
// with: a:9
// in: 9
// out: 1
// at: 2 1 0 1 3 1 0.5 1 4
// call: y[0] = array_2d@((const real (*)[3])x);

static double minor_of(const double m[3][3], int r, int c)
{
    const int r1 = (r + 1) % 3, r2 = (r + 2) % 3;
    const int c1 = (c + 1) % 3, c2 = (c + 2) % 3;
    return m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1];
}

double array_2d(const double a[3][3])
{
    double t[3][3];
    double det = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            t[j][i] = a[i][j];
    for (int j = 0; j < 3; j++)
        det += t[0][j] * minor_of((const double (*)[3])t, 0, j);
    return det;
}
