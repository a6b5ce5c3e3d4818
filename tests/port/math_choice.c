// tags: part
// SPDX-License-Identifier: MIT-0
// port: fmin, fmax, fdim, fabs, copysign
// function: math_choice
// with: x:2
// of: y:7
// in: 2
// out: 7
// at: 0.7 1.5
// at: 2 -3
// call: math_choice@(x, y);
#include <math.h>

void math_choice(const double *x, double *y)
{
    y[0] = fmin(x[0], x[1]);
    y[1] = fmax(x[0], 1);
    y[2] = fdim(x[0], x[1]);
    y[3] = fabs(x[1]) * x[0];
    y[4] = copysign(x[0], x[1]);
    y[5] = fmax(fmin(x[0], x[1]), -1.0);
    y[6] = copysign(1.0, x[1]) * x[0] + copysign(x[1], -1);
}
