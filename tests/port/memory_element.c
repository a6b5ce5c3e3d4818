// tags: part
// SPDX-License-Identifier: MIT-0
// port: elements of a size that is given in bytes
// function: memory_element
// with: x:2
// in: 2
// out: 1
// at: 2 3
// may: refuse
// call: y[0] = memory_element@(x);
#include <string.h>

static void *element_at(void *base, int i, int size)
{
    return (char *)base + i * size;
}

double memory_element(const double *x)
{
    double v[4];
    for (int i = 0; i < 4; i++)
        *(double *)element_at(v, i, (int)sizeof(double)) = x[i / 2] * i;
    return v[1] * v[2] + *(double *)element_at(v, 3, sizeof *v);
}
