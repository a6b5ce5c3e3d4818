// tags: part
// SPDX-License-Identifier: MIT-0
// number: ad_fwd
// port: results that are used again, asked in loops, in && and ||, and before
// function: refused_cache_searched
// with: x:3
// function: refused_cache_loops
// function: refused_cache_logical
// function: refused_cache_hit
// function: refused_cache_step
#include <math.h>

typedef struct cache_searched {
    double key[8], value[8];
    int n;
} cache_searched;

static double searched_sine(cache_searched *c, double x)
{
    int i = 0;
    while (i < c->n && c->key[i] != x) // refused: derivatives may be lost
        i++;
    if (i == c->n) {
        c->key[i] = x;
        c->value[i] = sin(x);
        c->n++;
    }
    return c->value[i];
}

double refused_cache_searched(const double *x)
{
    cache_searched c = { .n = 0 };
    return searched_sine(&c, x[0]) + searched_sine(&c, x[1]);
}

typedef struct cache_one {
    double at, value;
    int any;
} cache_one;

double refused_cache_loops(const double *x)
{
    cache_one c = { -1, 0, 0 };
    double s = 0, last = -1, v = 0;
    for (int i = 0; i < 3; i++) {
        while (last != x[i]) { // refused: derivatives may be lost
            last = x[i];
            v = sin(last);
        }
        for (; c.at != x[i]; c.at = x[i]) // refused: derivatives may be lost
            c.value = cos(x[i]);
        s += v * c.value;
    }
    return s;
}

static double logical_sine(cache_one *c, double x)
{
    (c->any && x == c->at) // refused: derivatives may be lost
        || (c->at = x, c->value = sin(x), c->any = 1);
    return c->value;
}

double refused_cache_logical(const double *x)
{
    cache_one c = { 0, 0, 0 };
    return logical_sine(&c, x[0]) + logical_sine(&c, x[1]);
}

static double hit_sine(cache_one *c, double x)
{
    int hit;
    hit = c->any && x == c->at; // refused: derivatives may be lost
    if (hit)
        return c->value;
    c->at = x;
    c->any = 1;
    return c->value = sin(x);
}

double refused_cache_hit(const double *x)
{
    cache_one c = { 0, 0, 0 };
    return hit_sine(&c, x[0]) + hit_sine(&c, x[1]);
}

double refused_cache_step(const double *x)
{
    const double h = x[0];
    double step = h - x[1], s = 0;
    for (int i = 1; i < 3; i++) {
        step = h - x[i];
        if (step == 0) // refused: derivatives
            step = h;
        s += sin(step);
    }
    return s;
}
