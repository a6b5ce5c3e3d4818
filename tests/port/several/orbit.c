// tags: part
// The named function, and a static function whose name force.c has, too.
// SPDX-License-Identifier: MIT-0
#include "body.h"
#include <math.h>
#ifdef _WIN32
#include <windows.h>
#endif

#define SCALE 2.0
#define TWICE(x) (SCALE * (x))

typedef struct {
    double kinetic, potential;
} total;

static int calls;

static double shift(double x)
{
    calls++;
    return x + SCALE;
}

static void speed(const double *v, int n, double *sum)
{
    for (int i = 0; i < n; i++)
        *sum += square(v[i]) / SCALE;
}

double energy(const double *x, const double *v, int n)
{
    extern double offset;               // tables.c
    body b[8];
    total t = { 0, 0 };
    for (int i = 0; i < n; i++) {
        b[i].mass = weight_of(i % kinds);
        b[i].at[0] = x[2 * i];
        b[i].at[1] = shift(x[2 * i + 1]);
        b[i].kind = i % kinds;
    }
    speed(v, n, &t.kinetic);
    t.potential = potential(b, n);
    return TWICE(t.kinetic) + t.potential + offset
         + registered(the_registry(), x[0]) + bounded(x[1]);
}
