// tags: part
// SPDX-License-Identifier: MIT-0
// port: members of an anonymous structure
// function: struct_anonymous
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = struct_anonymous@(x);

typedef struct {
    struct { double a, b; };
    struct { double c; int n; } inner;
} with_anonymous;

double struct_anonymous(const double *x)
{
    with_anonymous w;
    w.a = x[0];
    w.b = x[1];
    w.inner.c = x[2];
    w.inner.n = 2;
    return w.a * w.b + w.inner.c * w.inner.n * w.b;
}
