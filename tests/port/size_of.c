// tags: part
// SPDX-License-Identifier: MIT-0
// port: sizeof of arrays, types and elements
// function: size_of
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = size_of@(x);
#include <stdlib.h>
#include <string.h>

double size_of(const double *x)
{
    double a[3], s = 0;
    const size_t n = sizeof(a) / sizeof(a[0]);
    double *b = malloc(n * sizeof(double));
    if (b == NULL)
        return 0;
    memcpy(a, x, sizeof a);
    memcpy(b, a, 3 * sizeof *b);
    for (size_t i = 0; i < n; i++)
        s += a[i] * b[n - 1 - i];
    free(b);
    return s * (double)(sizeof a / sizeof(double));
}
