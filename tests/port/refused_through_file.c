// tags: part
// SPDX-License-Identifier: MIT-0
// port: a number written to a file as text and read again
// function: refused_through_file
// with: x

#include <stdio.h>

double refused_through_file(double x, FILE *f)
{
    double v = 0;
    fprintf(f, "%g", x), fscanf(f, "%lf", &v); // refused: print|scanf
    return v * v;
}
