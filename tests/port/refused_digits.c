// tags: part
// SPDX-License-Identifier: MIT-0
// port: a number is printed, and read from its digits
// function: refused_digits
// with: x:2
#include <stdio.h>

double refused_digits(const double *x)
{
    char text[32];
    double s = 0;
    snprintf(text, sizeof text, "%.6f", x[0]); // refused: printf
    for (const char *c = text; *c; c++)
        if (*c != '.')
            s = 10 * s + (*c - '0');
    return s * x[1];
}
