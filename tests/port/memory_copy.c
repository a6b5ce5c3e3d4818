// tags: part
// SPDX-License-Identifier: MIT-0
// port: memcpy, memmove and memset of arrays of numbers
// function: memory_copy
// with: x:n
// of: z:n
// in: 4
// out: 4
// at: 1 2 3 4
// call: memory_copy@(x, y, 4);
#include <string.h>

void memory_copy(const double *x, double *z, int n)
{
    double t[8];
    memset(t, 0, sizeof t);
    memcpy(t + 1, x, (size_t)n * sizeof(double));
    memmove(t, t + 1, sizeof(double) * 3);
    for (int i = 0; i < n; i++)
        z[i] = t[i] * t[i + 1];
    memset(z + 2, 0, sizeof(double));
    memcpy(&z[3], &t[0], sizeof z[3]);
}
