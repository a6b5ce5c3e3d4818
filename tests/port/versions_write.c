// tags: part
// SPDX-License-Identifier: MIT-0
// port: one function that writes into constants at one call, numbers at others
// function: versions_write
// with: x:2
// in: 2
// out: 1
// at: 0.75 2
// call: y[0] = versions_write@(x);

static double *versions_shift(double *v, const double *by, int n)
{
    for (int i = 0; i < n; i++)
        v[i] += by[i % 2];
    return v + 1;
}

static void versions_twice(double *v, const double *by)
{
    *versions_shift(v, by, 2) *= 2;
}

double versions_write(const double *x)
{
    double a[3] = { 1, 2, 3 }, b[3] = { 4, 5, 6 }, c[2] = { 1, 0.5 };
    versions_twice(a, c);
    versions_twice(b, x);
    versions_twice(c, a);
    *versions_shift(a, b, 2) += c[0];
    return a[0] * a[1] + b[2] * c[1] + *versions_shift(c, c, 1) * x[0];
}
