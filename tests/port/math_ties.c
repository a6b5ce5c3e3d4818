// tags: part
// SPDX-License-Identifier: MIT-0
// port: kinks and ties have the derivatives of the table of operations
// function: math_ties
// with: x:2
// of: y:4
// in: 2
// out: 4
// at: 1 1
// gradient: 0.5 0.5 0.5 0.5 0 0 0 0
// call: math_ties@(x, y);
#include <math.h>

void math_ties(const double *x, double *y)
{
    y[0] = fmin(x[0], x[1]);
    y[1] = fmax(x[0], x[1]);
    y[2] = fdim(x[0], x[1]);
    y[3] = fabs(x[0] - x[1]);
}
