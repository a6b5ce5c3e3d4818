// Of line.c, which defines RANK before it, and of plane.c, which does not: each sees
// something else, and has static data of its own.
// SPDX-License-Identifier: MIT-0
#ifndef RANK
#define RANK 2
#endif

static const double weight[2] = { RANK, 1 };

#if RANK == 1
static double scaled(double x) { return 3 * x; }
#else
static double scaled(double x) { return 5 * x; }
#endif

static double doubled(double x) { return 2 * scaled(x); }

static double within(double x)
{
#if RANK == 1
    return x + 1;
#else
    return x + 2;
#endif
}

static int count;
static double last;

static int next(void) { return ++count; }

static double before(double x)
{
    const double y = last;
    last = x;
    return y;
}

#ifdef TWO_SIZES
typedef struct { double of[RANK]; } sized;
#endif
