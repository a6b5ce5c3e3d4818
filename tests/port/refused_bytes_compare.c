// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers compared by their bytes
// function: refused_bytes_compare
// with: x:4

#include <string.h>

double refused_bytes_compare(const double *x)
{
    if (memcmp(x, x + 2, 2 * sizeof *x) == 0) // refused: memcmp|byte
        return x[0] * x[1];
    return x[2];
}
