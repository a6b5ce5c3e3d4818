// tags: part
// SPDX-License-Identifier: MIT-0
// port: memset with a literal size, and to something else than zero
// function: memory_literal_clear
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// may: refuse
// tolerance: 1e-8
// bytes: 8
// call: y[0] = memory_literal_clear@(x);
#include <string.h>

double memory_literal_clear(const double *x)
{
    double a[4] = { x[0], x[1], x[0], x[1] };
    memset(a + 1, 0, 16);
    return a[0] + 2 * a[1] + 3 * a[2] + 4 * a[3];
}
