// tags: part
// SPDX-License-Identifier: MIT-0
// port: a vector that is seen as a matrix, and back
// function: cast_matrix
// with: x:6
// in: 6
// out: 1
// at: 1 2 3 4 5 6
// call: y[0] = cast_matrix@(x);

double cast_matrix(const double *x)
{
    const double (*m)[3] = (const double (*)[3])x;
    double t[3][2], *flat = (double *)t, s = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            t[j][i] = m[i][j] * m[0][0];
    for (int i = 0; i < 6; i++)
        s = s * 0.5 + flat[i];
    return s + *&m[1][2] * (*m)[1];
}
