// SPDX-License-Identifier: MIT-0
/* included_parts.h - a part of included.c. */

#ifndef PORT_INCLUDED_H
#define PORT_INCLUDED_H

#define INCLUDED_HALF 0.5

struct included_pair { double a, b; };

static inline double included_product(struct included_pair p)
{
    return p.a * p.b;
}

static inline double included_cube(double x)
{
    return x * x * x;
}

#endif
