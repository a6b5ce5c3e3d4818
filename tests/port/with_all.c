// tags: part
// SPDX-License-Identifier: MIT-0
// port: --with all
// function: with_all
// with: all
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = with_all@(x[0], 4, x[1], x[2]);

double with_all(double a, int n, double b, double c)
{
    double s = a;
    while (n-- > 0)
        s = s * b / (s + c);
    return s;
}
