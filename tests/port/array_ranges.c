// tags: part
// SPDX-License-Identifier: MIT-0
// port: ranges in initialisers of GNU C, and arrays of arrays in structures
// function: array_ranges
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// may: refuse
// call: y[0] = array_ranges@(x);

struct ranged { double m[2][2], *row; int n; };

double array_ranges(const double *x)
{
    double v[5] = { [0 ... 2] = x[0], [4] = x[1] };
    struct ranged r = { .m = { [0] = { x[0], 2 } }, .n = 2 };
    r.row = r.m[1];
    *r.row = x[1];
    r.row[1] = v[1] * v[4];
    return r.m[0][0] * r.m[1][1] + r.row[0] * r.m[0][1] + v[2] + v[3];
}
