// tags: part
// Beside plane.c: headers that define one macro in two ways.
// SPDX-License-Identifier: MIT-0
#include "line.h"

double plane(double x);
double line(double x);

static point moved(double x)
{
    point p = { x + ORDER };
    return p;
}

double line(double x)
{
    return moved(x).at * plane(x) * ORDER;
}
