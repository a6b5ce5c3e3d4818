// tags: part
// SPDX-License-Identifier: MIT-0
// port: comparisons, && || ! of numbers, their values as integers
// function: comparisons
// with: x:3
// in: 3
// out: 1
// at: 0.75 2 0
// at: 2.25 1.5 3
// at: 0.125 -1 0.5
// gradient: 2 0 0
// call: y[0] = comparisons@(x);

double comparisons(const double *x)
{
    int n = (x[0] < x[1]) + (x[0] <= 1) + (x[2] != 0);
    double r = x[0] * n;
    if (x[2] && !(x[0] > x[1] || x[1] == 1))
        r += x[2] * x[2];
    if (!x[2])
        r -= x[1];
    else if (x[0] >= 2 && x[2])
        r *= x[1];
    r += (x[1] > 0) * x[1];
    while (!(r < 50))
        r /= 2;
    return x[0] > 1 ? r : r + !x[0];
}
