// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function of math.h by pointer
// function: function_pointer_library
// with: x
// in: 1
// out: 1
// at: 0.3
// call: y[0] = function_pointer_library@(x[0]);
#include <math.h>

typedef double map_of_one(double);

static double trapezoid(map_of_one *f, double a, double b, int n)
{
    const double h = (b - a) / n;
    double s = (f(a) + f(b)) / 2;
    for (int i = 1; i < n; i++)
        s += f(a + i * h);
    return s * h;
}

double function_pointer_library(double x)
{
    return trapezoid(sin, 0, x, 5) + trapezoid(exp, x, 1, 3);
}
