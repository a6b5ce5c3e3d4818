// tags: part
// SPDX-License-Identifier: MIT-0
// port: long double
// function: refused_long_double
// with: x:n
// function: refused_long_address

double refused_long_double(const double *x, int n)
{
    long double s = 0; // refused: long double
    for (int i = 0; i < n; i++)
        s += x[i];
    return (double)s;
}

long double *refused_long_address(long double *x)
{
    return x + 1; // refused: long double
}
