// tags: part
// SPDX-License-Identifier: MIT-0
// port: memcpy of constants into numbers
// function: memory_mixed
// with: x
// in: 1
// out: 1
// at: 1.5
// call: y[0] = memory_mixed@(x[0]);
#include <string.h>

static const double mixed_start[4] = { 1, 2, 3, 4 };

double memory_mixed(double x)
{
    double v[4], s = 0;
    memcpy(v, mixed_start, sizeof v);
    v[2] *= x;
    for (int i = 0; i < 4; i++)
        s = s * x + v[i];
    return s;
}
