// tags: part
// SPDX-License-Identifier: MIT-0
// port: compound assignment of an integer by a number, and of a number by
//       an integer
// function: compound_integer
// with: x
// in: 1
// out: 1
// at: 2.75
// call: y[0] = compound_integer@(x[0]);

double compound_integer(double x)
{
    int n = 3;
    double r = x;
    n += x;
    r *= n;
    n *= 1.5;
    r -= n / 2;
    r /= 7 / 2;
    return r + n % 3;
}
