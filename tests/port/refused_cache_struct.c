// tags: part
// SPDX-License-Identifier: MIT-0
// number: ad_fwd
// port: results that are kept in elements, or behind a pointer
// function: refused_cache_struct
// with: x:2
// function: refused_cache_element
#include <math.h>

typedef struct refused_entry {
    double x, y;
    int set;
} refused_entry;

static refused_entry refused_latest;

double refused_cache_struct(const double *x)
{
    refused_entry *e = &refused_latest;
    if (e->set && e->x == x[0]) // refused: derivatives may be lost
        return e->y * x[1];
    e->x = x[0];
    e->y = sin(x[0]);
    e->set = 1;
    return e->y * x[1];
}

double refused_cache_element(const double *x)
{
    static double at[4], value[4];
    static int n;
    for (int i = 0; i < n; i++)
        if (at[i] == x[1]) // refused: derivatives may be lost
            return value[i] * x[0];
    at[n % 4] = x[1];
    value[n % 4] = exp(x[1]);
    return value[n++ % 4] * x[0];
}
