// tags: part
// SPDX-License-Identifier: MIT-0
// port: a union of numbers of two sizes
// function: refused_union_float
// with: x:2

union refused_sizes { double d; float half[2]; }; // refused: union

double refused_union_float(const double *x)
{
    union refused_sizes v;
    v.d = x[0];
    return v.half[1] * x[1];
}
