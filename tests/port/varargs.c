// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers as arguments of a function with `...`
// function: varargs
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// may: refuse
// call: y[0] = varargs@(x);
#include <stdarg.h>

static double sum_of_all(int n, ...)
{
    double s = 0;
    va_list more;
    va_start(more, n);
    while (n-- > 0)
        s = s * 0.5 + va_arg(more, double);
    va_end(more);
    return s;
}

double varargs(const double *x)
{
    return sum_of_all(4, x[0], x[1] * x[2], x[2], 2.0);
}
