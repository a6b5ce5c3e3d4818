// tags: part
// SPDX-License-Identifier: MIT-0
// port: a number that goes through text
// function: refused_text
// with: x

#include <stdio.h>
#include <stdlib.h>

double refused_text(double x)
{
    char t[64];
    snprintf(t, sizeof t, "%.3f", x); // refused: snprintf|text
    return x * strtod(t, NULL);
}
