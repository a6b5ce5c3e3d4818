// tags: part
// SPDX-License-Identifier: MIT-0
// port: chained assignment, declarations of many kinds in one line
// function: chained
// with: x:2
// in: 2
// out: 1
// at: 3 4
// call: y[0] = chained@(x);

double chained(const double *x)
{
    double a, *p = &a, v[2], s = x[1];
    int i = 1;
    a = v[0] = v[i] = x[0] * s;
    *p *= 2, v[0] += a;
    a *= (s = x[0]);
    return a * v[0] - v[1] + s;
}
