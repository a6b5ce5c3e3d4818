// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions and types of a header of the program
// function: included
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = included@(x);
#include "included_parts.h"

double included(const double *x)
{
    struct included_pair p = { x[0], x[1] };
    return included_product(p) + INCLUDED_HALF * included_cube(x[2]);
}
