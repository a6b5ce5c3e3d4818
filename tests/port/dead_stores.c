// tags: part
// SPDX-License-Identifier: MIT-0
// port: dead stores, and a variable that is active only for a while
// function: dead_stores
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// call: y[0] = dead_stores@(x);

double dead_stores(const double *x)
{
    double t = x[0], unused, r;
    r = x[0] * x[1] * x[1];
    r = t * x[1];
    unused = r * 3;
    t = 2.5;
    r += t * x[0];
    unused = t;
    t = r;
    t *= t;
    (void)unused;
    return t + r;
}
