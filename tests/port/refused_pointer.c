// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function that comes out of a function whose source is not there
// function: refused_pointer
// with: x

typedef double (*refused_shape)(double);
refused_shape refused_pick(int kind);

double refused_pointer(double x, int kind)
{
    refused_shape f = refused_pick(kind);
    return f(x) * x; // refused: f|pointer
}
