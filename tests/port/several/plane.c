// tags: part
// Called by line.c, which has a type `point`, too.
// SPDX-License-Identifier: MIT-0
#include "plane.h"
#include "shared.h"

#ifdef TWO_TYPES
typedef int point;
#else
typedef int degree;
#define point degree
#endif

double plane(double x)
{
    const point order = ORDER;
    count = 5;
    last = 2;
#ifdef TWO_SIZES
    x *= sizeof(sized);
#endif
    return x * before(x * x) * order - ORDER * before(1) * next()
        * doubled(weight[0]) * within(3);
}
