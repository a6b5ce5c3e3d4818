// tags: part
// SPDX-License-Identifier: MIT-0
// number: ad_fwd
// port: results that are used again if two numbers are equal, asked in many ways
// function: refused_cache_order
// with: x:3
// function: refused_cache_helper
// function: refused_cache_given
// function: refused_cache_turn
// function: refused_cache_key
// function: refused_cache_many
// function: refused_cache_table
#include <math.h>
#include <string.h>

static double order_at, order_value;
static int order_any;

static double order_square(double x)
{
    if (order_any && !(x < order_at) && !(x > order_at)) // refused: kept from before
        return order_value;
    order_at = x;
    order_any = 1;
    return order_value = x * x;
}

static double last_at = -1e300, last_exp;

static double order_exp(double x)
{
    return x > last_at || x < last_at // refused: kept from before
        ? (last_at = x, last_exp = exp(x)) : last_exp;
}

double refused_cache_order(const double *x)
{
    return order_square(x[0]) + order_square(x[1]) + order_exp(x[2]);
}

static double same_at, same_value;

static int same_numbers(double a, double b)
{
    return a == b; // refused: derivatives may be lost
}

static int compare_numbers(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

static double same_square(double x)
{
    const double step = x - same_at;
    if (same_numbers(x, same_at)) // refused: kept from before
        return same_value;
    if (step != 0) { // refused: kept from before
        same_at = x;
        same_value = x * x;
    }
    return same_value;
}

static double compared_at, compared_value;

static double compared_square(double x)
{
    if (compare_numbers(&x, &compared_at)) { // refused: kept from before
        compared_at = x;
        compared_value = x * x;
    }
    return compared_value;
}

double refused_cache_helper(const double *x)
{
    return same_square(x[0]) + same_square(x[1]) + compared_square(x[2]);
}

typedef struct cache_given {
    double at, value;
    double *key, *of;
    int any, n;
} cache_given;

static double given_square(cache_given *c, double x)
{
    if (c->any && x == c->at) // refused: derivatives may be lost
        return c->value;
    for (int i = 0; i < c->n; i++)
        if (c->key[i] == x) // refused: derivatives may be lost
            return c->of[i];
    c->at = x;
    c->any = 1;
    c->key[c->n] = x;
    return c->of[c->n++] = c->value = x * x;
}

double refused_cache_given(const double *x)
{
    double key[3], of[3];
    cache_given c = { .key = key, .of = of };
    return given_square(&c, x[0]) + given_square(&c, x[1]);
}

double refused_cache_turn(const double *x)
{
    double last = x[0], square = x[0] * x[0], s = 0;
    for (int i = 0; i < 3; i++) {
        if (x[i] != last) { // refused: derivatives may be lost
            last = x[i];
            square = x[i] * x[i];
        }
        s += square;
    }
    return s;
}

typedef struct cache_key {
    double a, b;
} cache_key;

typedef struct cache_of_keys {
    cache_key key;
    double value;
} cache_of_keys;

static double product_of(cache_of_keys *c, cache_key k)
{
    if (k.a == c->key.a && k.b == c->key.b) // refused: derivatives may be lost
        return c->value;
    c->key = k;
    return c->value = k.a * k.b;
}

double refused_cache_key(const double *x)
{
    cache_of_keys c = { { 0, 0 }, 0 };
    return product_of(&c, (cache_key){ x[0], x[1] })
        + product_of(&c, (cache_key){ x[1], x[2] });
}

typedef struct cache_many {
    double at[3], sum;
} cache_many;

static double sum_of(cache_many *c, const double *x)
{
    int changed = 0;
    for (int i = 0; i < 3; i++)
        if (x[i] != c->at[i]) { // refused: derivatives may be lost
            changed = 1;
            break;
        }
    if (!changed)
        return c->sum;
    memcpy(c->at, x, sizeof c->at);
    return c->sum = x[0] + x[1] * x[2];
}

double refused_cache_many(const double *x)
{
    double twice[3] = { 2 * x[0], 2 * x[1], 2 * x[2] };
    cache_many c = { { 0, 0, 0 }, 0 };
    return sum_of(&c, x) + sum_of(&c, twice);
}

typedef struct cache_table {
    double at[8], value[8];
    int n;
} cache_table;

static int table_find(const cache_table *t, double at)
{
    for (int i = 0; i < t->n; i++)
        if (t->at[i] == at) // refused: derivatives may be lost
            return i;
    return -1;
}

static double table_keep(cache_table *t, double at, double value)
{
    t->at[t->n] = at;
    return t->value[t->n++] = value;
}

static double table_square(cache_table *t, double x)
{
    const int i = table_find(t, x);
    return i >= 0 ? t->value[i] : table_keep(t, x, x * x);
}

double refused_cache_table(const double *x)
{
    cache_table t = { .n = 0 };
    return table_square(&t, x[0]) + table_square(&t, x[1]);
}
