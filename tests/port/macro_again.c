// tags: part
// SPDX-License-Identifier: MIT-0
// port: a macro that is defined again, one that ends, one that is not defined
// function: macro_again
// with: x
// in: 1
// out: 1
// at: 0.5
// call: y[0] = macro_again@(x[0]);
#include <assert.h>
#include <math.h>
#define AGAIN_COUNT 2
#define AGAIN_SQUARE(v) ((v) * (v))

static const double again_first[AGAIN_COUNT] = { 0.5, 0.25 };

static double again_a(double x)
{
    int n = AGAIN_COUNT;
    return x * n + AGAIN_SQUARE(x);
}

#undef AGAIN_COUNT
#undef AGAIN_SQUARE
#if 1
#define AGAIN_COUNT 3
#else
#define AGAIN_COUNT 4
#endif
#ifdef AGAIN_NEVER
#include "no_such_file.h"
#endif

static const double again_second[AGAIN_COUNT] = { 1, 2, 3 };

static double AGAIN_SQUARE(double x)
{
    double sum = 0;
    for (int i = 0; i < AGAIN_COUNT; i++)
        sum += again_second[i] * x;
    return sum;
}

typedef struct again_state { double T, rho; } again_state;

// Names of members stand for members.
#define v (1 / rho)
static double again_inside(again_state S)
{
#define T S.T
#define rho S.rho
    assert(!isnan(T));
    return T * rho + v;
#undef T
#undef rho
}
#undef v

double macro_again(double x)
{
    const again_state S = { x, 2 + x };
    return again_a(x) + AGAIN_SQUARE(x) * again_first[1] + again_inside(S);
}
