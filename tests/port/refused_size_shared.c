// tags: part
// SPDX-License-Identifier: MIT-0
// port: a size that is computed before, of recorded numbers and of others
// function: refused_size_shared
// with: x
// function: refused_size_used
#include <stdlib.h>

double refused_size_shared(double x)
{
    const size_t bytes = 4 * sizeof(double); // refused: size of numbers
    double *a = malloc(bytes), *b = malloc(bytes);
    for (int i = 0; i < 4; i++) {
        a[i] = i * x;
        b[i] = i;
    }
    x = a[2] * a[3] * b[1];
    free(a);
    free(b);
    return x;
}

double refused_size_used(double x)
{
    const size_t bytes = 4 * sizeof(double); // refused: size of numbers
    double *a = malloc(bytes); // refused: size in bytes
    a[0] = x;
    x = a[0] * (double)bytes;
    free(a);
    return x;
}
