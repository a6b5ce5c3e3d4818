// tags: part
// SPDX-License-Identifier: MIT-0
// port: a number is printed, and read from digits, each in the low bits of its code
// function: refused_digits_bits
// with: x:2
#include <stdio.h>

double refused_digits_bits(const double *x)
{
    char text[32];
    double s = 0;
    snprintf(text, sizeof text, "%.6f", x[0]); // refused: printf
    for (const char *c = text; *c; c++)
        if (*c != '.')
            s = 10 * s + (*c & 15);
    return s * x[1];
}
