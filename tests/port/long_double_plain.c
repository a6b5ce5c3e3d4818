// tags: part
// SPDX-License-Identifier: MIT-0
// port: long double in what has no derivative: messages, whole numbers, constants
// function: long_double_plain
// with: x:n
// in: 2
// out: 1
// at: 1.2 2.1
// at: 0.7 -3.2
// bytes: 8
// call: y[0] = long_double_plain@(x, 2);
#include <math.h>
#include <stdio.h>

// Weights in more digits than the numbers have.
static double long_weight(int i)
{
    long double w = 1.0L / (i + 2);
    return (double)(w * w + expl(-w));
}

double long_double_plain(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        const long double seen = x[i];
        const int steps = (int)floorl(seen * 2);
        s += long_weight(i) * x[i] * (1 + steps);
    }
    char text[40];
    snprintf(text, sizeof text, "%Lg", (long double)s);
    return s;
}
