// tags: part
// SPDX-License-Identifier: MIT-0
// number: ad_fwd
// port: a result that is kept for the next call with an equal number
// function: refused_cache
// with: x
#include <math.h>

static double cached_at = 0, cached = 0;

static double cached_square(double x)
{
    if (x == cached_at) // refused: derivatives may be lost
        return cached;
    cached_at = x;
    cached = x * x;
    return cached;
}

static double cached_root(double x)
{
    static double near, root;
    if (fabs(x - near) > 1e-6) { // refused: kept from another call
        near = x;
        root = sqrt(x);
    }
    return root;
}

double refused_cache(double x)
{
    return cached_square(x) + cached_square(2 * x) + cached_root(x);
}
