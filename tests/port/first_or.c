// tags: part
// SPDX-License-Identifier: MIT-0
// port: ?: without its middle part, of numbers, pointers and whole numbers
// function: first_or
// with: x:2
// in: 2
// out: 1
// at: 0.5 2
// at: 0 2
// call: y[0] = first_or@(x, 0, 2);

double first_or(const double *x, const double *other, int n)
{
    double a = x[0] * x[1] ?: 3 * x[1];
    const double *p = other ?: x;
    return a * (x[0] ?: x[1]) + (n ?: 5) * p[1];
}
