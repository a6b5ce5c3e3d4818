// tags: part
// SPDX-License-Identifier: MIT-0
// port: an element that bsearch finds, and bytes of recorded numbers
// function: refused_found
// with: x:3
// function: refused_compared
#include <stdlib.h>
#include <string.h>

static int refused_found_order(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

double refused_found(const double *x)
{
    double t[3] = { x[0] - 10, x[1], x[2] + 10 }, key = 0.5;
    const double *p
        = bsearch(&key, t, 3, sizeof *t, refused_found_order); // refused: bsearch
    return p ? *p * x[0] : x[2] * x[0];
}

double refused_compared(const double *x)
{
    static const double zero[3];
    double d[3] = { x[0] * x[1], x[1], x[2] };
    if (memcmp(zero, d, sizeof zero) == 0) // refused: memcmp
        return x[0];
    return d[0] * d[2];
}
