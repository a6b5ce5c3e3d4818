// tags: part
// SPDX-License-Identifier: MIT-0
// port: one function, called with numbers and with constants
// function: called_both
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = called_both@(x);

static double norm_of(const double *v, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += v[i] * v[i];
    return s;
}

double called_both(const double *x)
{
    static const double unit[3] = { 0.5, 0.25, 1 };
    return norm_of(x, 3) / norm_of(unit, 3) + norm_of(x + 1, 1);
}
