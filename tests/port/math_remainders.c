// tags: part
// SPDX-License-Identifier: MIT-0
// port: fmod, remainder, remquo
// function: math_remainders
// with: x:2
// of: y:4
// in: 2
// out: 4
// at: 7.7 1.5
// at: -5.3 2
// call: math_remainders@(x, y);
#include <math.h>

void math_remainders(const double *x, double *y)
{
    int q = 0;
    y[0] = fmod(x[0], x[1]);
    y[1] = remainder(x[0], x[1]);
    y[2] = fmod(x[0], 2);
    y[3] = remquo(x[0], x[1], &q) * x[0];
    y[3] += (q & 1) * x[1];
}
