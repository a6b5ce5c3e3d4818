// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function that is called at the end of a block
// function: refused_cleanup
// with: x:2
#include <stdlib.h>

static void cleanup_free(double **p) { free(*p); }

double refused_cleanup(const double *x)
{
    __attribute__((cleanup(cleanup_free))) double *w  // refused: end of the block
        = malloc(2 * sizeof *w);
    for (int i = 0; i < 2; i++)
        w[i] = x[i] * x[i];
    return w[0] * w[1];
}
