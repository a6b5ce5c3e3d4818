// tags: part
// SPDX-License-Identifier: MIT-0
// port: the size of a structure as that of numbers
// function: refused_bytes_struct
// with: x
#include <stdlib.h>

struct bytes_struct { double v[2]; double k; };

double refused_bytes_struct(double x)
{
    struct bytes_struct *a
        = malloc(3 * sizeof(double)); // refused: size in bytes
    a->v[0] = x;
    a->k = 2;
    double s = a->v[0] * a->k;
    free(a);
    return s;
}
