// tags: part
// Calls orbit.c's neighbour, and is called by it. SCALE is another number here.
// SPDX-License-Identifier: MIT-0
#include "body.h"
#include <math.h>

#define SCALE 3.0
#define ROUNDS 2

typedef struct {                  // the same as in orbit.c
    double kinetic, potential;
} total;

static double shift(double x) { return SCALE * x; }

#undef ROUNDS
#define ROUNDS 3

static total sum_of(const body *b, int n)
{
    total t = { 0, 0 };
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < i; k++)
                t.potential -= pull(&b[i], &b[k]) / ROUNDS;
    return t;
}

double potential(const body *b, int n)
{
    return shift(sum_of(b, n).potential);
}
