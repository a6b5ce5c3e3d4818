// tags: part
// Beside plane.c: headers that define one macro in two ways, or say what a macro of
// the file asks for.
// SPDX-License-Identifier: MIT-0
#include "line.h"
#define RANK 1
#include "shared.h"
#undef RANK
#include "rank.h"

double plane(double x);
double line(double x);

static point moved(double x)
{
    point p = { x + ORDER };
    return p;
}

double line(double x)
{
    count = 0;
    last = 1;
    before(x);
    const double y = next() * plane(x) + next() * doubled(weight[0]) * ranked(2);
    return moved(x).at * y * ORDER * within(2) * before(1);
}
