// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers that become truth values
// function: booleans
// with: x
// in: 1
// out: 1
// at: 0.4
// at: 3
// call: y[0] = booleans@(x[0]);
#include <stdbool.h>

double booleans(double x)
{
    bool large = x > 1;
    _Bool any = x;
    bool both = large && any;
    double r = both ? x * x : x;
    return r * any + large * x + (bool)(x - 3);
}
