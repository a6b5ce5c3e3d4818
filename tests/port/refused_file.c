// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers that go through a file
// function: refused_file
// with: x:2

#include <stdio.h>

double refused_file(const double *x, FILE *f)
{
    double v[2] = { x[0] * x[1], x[1] };
    fwrite(v, sizeof *v, 2, f); // refused: fwrite|byte|alias
    rewind(f);
    if (fread(v, sizeof *v, 2, f) != 2) // refused: fread|byte|alias
        return 0;
    return v[0] * v[1];
}
