// tags: part
// SPDX-License-Identifier: MIT-0
// port: a work array that is allocated at the first call and kept
// function: static_work
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// at: 2 2 2
// may: refuse
// call: y[0] = static_work@(x, 3);
#include <stdlib.h>

double static_work(const double *x, int n)
{
    static double *work;
    static int room;
    if (room < n) {
        free(work);
        work = malloc((size_t)n * sizeof *work);
        room = n;
    }
    work[0] = x[0];
    for (int i = 1; i < n; i++)
        work[i] = work[i - 1] * x[i] + x[0];
    return work[n - 1];
}
