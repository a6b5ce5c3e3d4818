// tags: part
// SPDX-License-Identifier: MIT-0
// port: a message; the order of two numbers; a whole number
// function: compared_said
// with: x:3
// in: 3
// out: 1
// at: 0.5 0.25 2.5
// at: 1.5 0.75 0.3
// tolerance: 1e-9
// call: y[0] = compared_said@(x);
#include <math.h>
#include <stdio.h>

static int compared_sign(double a, double b)
{
    return a == b ? 0 : a < b ? -1 : 1;
}

double compared_said(const double *x)
{
    const double at = x[0], whole = floor(at + 0.5);
    if (fabs(at - whole) < 1e-12)
        return at;
    if (x[0] == x[1])
        fprintf(stderr, "equal\n");
    if (x[2] == floor(x[2]) || x[1] + 1 == x[1])
        return x[1];
    return compared_sign(x[0], x[1]) < 0 ? x[0] : x[1] * x[2];
}
