// tags: part
// Called by line.c, which has a type `point`, too.
// SPDX-License-Identifier: MIT-0
#include "plane.h"

#ifdef TWO_TYPES
typedef int point;
#else
typedef int degree;
#define point degree
#endif

double plane(double x)
{
    const point order = ORDER;
    return x * x * order - ORDER;
}
