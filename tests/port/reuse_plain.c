// tags: part
// SPDX-License-Identifier: MIT-0
// port: one variable, plain at first, then active, then plain again
// function: reuse_plain
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// call: y[0] = reuse_plain@(x, 3);
#include <math.h>

double reuse_plain(const double *x, int n)
{
    double h = 1.0 / n, s = 0;
    for (int i = 0; i < n; i++) {
        h = i * 0.5;
        s += h * x[0];
        h = x[1] * s;
        s += sin(h);
        h = 0.25;
    }
    return s + h;
}
