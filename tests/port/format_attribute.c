// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers for a message of functions that are not seen, or copy their list
// function: format_attribute
// with: x:2
// in: 2
// out: 1
// at: 2 3
// call: y[0] = format_attribute@(x, 0);
#include <err.h>
#include <stdarg.h>
#include <stdio.h>

static void format_attribute_twice(const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    vprintf(format, list);
    vfprintf(stderr, format, again);
    va_end(again);
    va_end(list);
}

double format_attribute(const double *x, int loud)
{
    double s = x[0] * x[1];
    if (loud)
        warnx("s = %g at (%g, %g)", s, x[0], x[1]);
    if (loud)
        format_attribute_twice("s = %g\n", s);
    return s * s;
}
