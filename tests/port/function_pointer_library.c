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

// What f is given second never depends on x: its twin's second parameter is
// plain, and so must be that of what is passed.
static double twice(double (*f)(double, double), double a)
{
    return f(f(a, 3), 0.5);
}

// Nor does the first one here.
static double power_of_two(double (*f)(double, double), double a)
{
    return f(2, a);
}

double function_pointer_library(double x)
{
    return trapezoid(sin, 0, x, 5) + trapezoid(exp, x, 1, 3)
         + twice(pow, x) + power_of_two(atan2, x);
}
