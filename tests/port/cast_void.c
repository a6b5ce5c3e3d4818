// tags: part
// SPDX-License-Identifier: MIT-0
// port: results that are dropped, and casts to void
// function: cast_void
// with: x:2
// in: 2
// out: 1
// at: 2 3
// call: y[0] = cast_void@(x, 4);

static double doubled_at(double *v)
{
    *v *= 2;
    return *v;
}

double cast_void(const double *x, int unused)
{
    double a = x[0], b = x[1];
    (void)unused;
    (void)doubled_at(&a);
    doubled_at(&b);
    (void)(a * b);
    return a * a + b;
}
