// tags: part
// SPDX-License-Identifier: MIT-0
// port: modf, frexp, ldexp, scalbn
// function: math_parts
// with: x
// of: y:6
// in: 1
// out: 6
// at: 6.75
// at: -0.3
// call: math_parts@(x[0], y);
#include <math.h>

void math_parts(double x, double *y)
{
    double whole;
    int e;
    y[0] = modf(x, &whole);
    y[1] = whole + x;
    y[2] = frexp(x, &e) * x;
    y[3] = e * x;
    y[4] = ldexp(x, e) + scalbn(x, -2);
    y[5] = scalbln(x, 3L) + ldexp(1.0, e);
}
