// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers printed to a file of messages
// function: printing
// with: x:2
// in: 2
// out: 1
// at: 2 3
// may: refuse
// call: y[0] = printing@(x, 0);
#include <stdio.h>

double printing(const double *x, int loud)
{
    double s = x[0] * x[1];
    if (loud)
        fprintf(stderr, "s = %g at (%g, %g)\n", s, x[0], x[1]);
    return s * s;
}
