// tags: part
// SPDX-License-Identifier: MIT-0
// port: memcpy with a number of bytes that is a literal
// function: memory_literal_size
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// may: refuse
// tolerance: 1e-8
// bytes: 8
// call: y[0] = memory_literal_size@(x);
#include <string.h>

double memory_literal_size(const double *x)
{
    double a[3] = { 7, 7, 7 };
    memcpy(a, x, 24);
    return a[0] * a[1] * a[2];
}
