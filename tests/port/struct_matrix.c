// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure that holds a matrix, by value
// function: struct_matrix
// with: angle:3
// in: 3
// out: 1
// at: 0.1 0.2 -0.3
// call: y[0] = struct_matrix@(x);
#include <math.h>

typedef struct { double m[2][2]; } mat22;

static mat22 mat22_mul(mat22 a, mat22 b)
{
    mat22 c = { { { 0 } } };
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++)
                c.m[i][j] += a.m[i][k] * b.m[k][j];
    return c;
}

static mat22 mat22_shear(double a)
{
    mat22 r = { { { 1, a }, { sin(a), 1 } } };
    return r;
}

double struct_matrix(const double angle[3])
{
    mat22 r = { { { 1, 0 }, { 0, 1 } } };
    for (int i = 0; i < 3; i++)
        r = mat22_mul(r, mat22_shear(angle[i]));
    return r.m[0][0] * r.m[1][1] + mat22_shear(angle[0]).m[1][0];
}
