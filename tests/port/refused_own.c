// tags: part
// SPDX-License-Identifier: MIT-0
// port: static data that functions change which are not converted
// function: refused_own_static
// with: x:2
// function: refused_own_shared
// function: refused_own_last
#include <math.h>

// A static function cannot be called from another file.
static int refused_own_level;

void refused_own_set_level(int level) { refused_own_level = level; }

static int refused_own_next(int i)
{
    return i + refused_own_level++; // refused: global data.*own_level
}

double refused_own_static(const double *x)
{
    return x[0] * refused_own_next(1);
}

// What is written reads what stays in the program.
static double refused_own_factor = 1;

void refused_own_set_factor(double f) { refused_own_factor = f; }

double refused_own_factor_now(int i)
{
    return refused_own_factor * i;
}

double refused_own_shared(const double *x)
{
    const double now = refused_own_factor_now(2);
    return now * x[0] + refused_own_factor * x[1]; // refused: own_factor
}

// A number that a function keeps, and another one gives.
static double refused_own_kept;

void refused_own_keep(double v) { refused_own_kept = v; } // refused: own_kept
void refused_own_clear(void) { refused_own_kept = 0; }
double refused_own_get(void) { return refused_own_kept; }

double refused_own_last(const double *x)
{
    refused_own_keep(x[0] * x[1]);
    return refused_own_get() + x[0];
}
