// tags: part
// SPDX-License-Identifier: MIT-0
// port: further arguments that a function ignores, or makes text of
// function: unused_arguments
// with: x
// in: 1
// out: 1
// bytes: 8
// tolerance: 1e-9
// at: 1.5
// call: y[0] = unused_arguments@(x[0]);
#include <stdio.h>

static void traced(int level, const char *format, ...)
{
    (void)level;
    (void)format;
}

double unused_arguments(double x)
{
    char text[64];
    const double y = x * x;
    traced(3, "x=%g y=%g", x, y);
    snprintf(text, sizeof text, "%g", y);
    return text[0] == '-' ? -y : y;
}
