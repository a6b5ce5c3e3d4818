// tags: part
// SPDX-License-Identifier: MIT-0
// port: pragmas for loops, which are no part of the program
// function: pragmas
// with: x:n
// in: 4
// out: 1
// at: 1 2 3 4
// call: y[0] = pragmas@(x, 4);

double pragmas(const double *x, int n)
{
    double s = 0;
#pragma GCC ivdep
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    _Pragma("GCC ivdep")
    for (int i = 1; i < n; i++)
        s *= 1 + x[i] / 100;
    return s;
}
