// tags: part
// SPDX-License-Identifier: MIT-0
// port: comparisons of comparisons, equality of a number with itself
// function: compared_chain
// with: x:2
// in: 2
// out: 1
// at: 0.5 2
// at: 2 0.5
// call: y[0] = compared_chain@(x);

double compared_chain(const double *x)
{
    double r = (0 < x[0]) == (x[1] > 1) ? x[0] : x[1];
    if (x[0] == x[0] && x[1] != x[1] + 1)
        r *= 2;
    r += ((x[0] > x[1]) > 0) * x[0];
    return r - ((x[0] < x[1]) - (x[1] > 1)) * x[1];
}
