// tags: part
// SPDX-License-Identifier: MIT-0
// port: sscanf into a number
// function: refused_scan
// with: x

#include <stdio.h>

double refused_scan(double x, const char *text)
{
    double v[2] = { x, x * x };
    if (sscanf(text, "%lf", &v[1]) != 1) // refused: scanf
        return x;
    return v[0] * v[1];
}
