// tags: part
// SPDX-License-Identifier: MIT-0
// port: the size of memory is computed before, once for several calls
// function: memory_size_before
// with: x:3
// in: 3
// out: 1
// at: 0.5 1.25 2
// call: y[0] = memory_size_before@(x, 3);
#include <stdlib.h>
#include <string.h>

double memory_size_before(const double *x, int n)
{
    const size_t bytes = (size_t)n * sizeof(double), text = 8 * sizeof(char);
    double *a = malloc(bytes), *b = malloc(bytes + sizeof *b), s = 1;
    char *c = malloc(text);
    memset(c, 0, text);
    memset(b, 0, bytes + sizeof *b);
    memcpy(a, x, bytes);
    for (int i = 0; i < n; i++)
        b[i + 1] = a[i] * a[i];
    for (int i = 0; i < n; i++)
        s *= b[i] + a[i] + c[i];
    free(a);
    free(b);
    free(c);
    return s;
}
