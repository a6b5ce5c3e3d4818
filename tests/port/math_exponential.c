// tags: part
// SPDX-License-Identifier: MIT-0
// port: exponentials and logarithms of math.h
// function: math_exponential
// with: x
// of: y:7
// in: 1
// out: 7
// at: 0.7
// at: 2.5
// call: math_exponential@(x[0], y);
#include <math.h>

void math_exponential(double x, double *y)
{
    y[0] = exp(x);
    y[1] = exp2(x);
    y[2] = expm1(x);
    y[3] = log(x);
    y[4] = log2(x);
    y[5] = log10(x);
    y[6] = log1p(x);
}
