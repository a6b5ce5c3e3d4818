// tags: part
// SPDX-License-Identifier: MIT-0
// port: the comma operator in expressions and loops
// function: comma
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = comma@(x);

double comma(const double *x)
{
    double a, b, c;
    a = x[0], b = a * x[1];
    c = (a *= 2, b += a, a * b);
    for (int i = 0; i < 2; c *= x[2], i++)
        ;
    return (b++, c) - b;
}
