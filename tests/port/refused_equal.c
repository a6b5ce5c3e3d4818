// tags: part
// SPDX-License-Identifier: MIT-0
// port: two numbers are compared, and where they are equal the result has the
// derivatives of one of them, or of none
// function: refused_equal_walk
// with: x:3
// function: refused_equal_memo
// function: refused_equal_table
// function: refused_equal_mean
#include <math.h>
#include <stdbool.h>

double refused_equal_walk(const double *x)
{
    double s = 0, last = -1, v = 0, w = 0, y[3];
    for (int i = 0; i < 3; i++) {
        int j;
        if (i == 0 || x[i] != x[i - 1]) // refused: derivatives may be lost
            v = sin(x[i]);
        if (x[i] == last) // refused: derivatives may be lost
            goto known;
        last = x[i];
        w = cos(x[i]);
    known:
        for (j = 0; j < i; j++)
            if (x[j] == x[i]) // refused: derivatives may be lost
                break;
        y[i] = j < i ? y[j] : exp(x[i]);
        s += (i + 1) * (v + w + y[i]);
    }
    return s;
}

typedef struct equal_memo {
    double at, value;
    int any;
} equal_memo;

static double equal_whole(equal_memo *m, double x)
{
    if (m->any && x == m->at) // refused: derivatives may be lost
        return m->value;
    *m = (equal_memo){ .at = x, .value = sin(x), .any = 1 };
    return m->value;
}

static double equal_key(equal_memo *m, double x)
{
    if (m->any && 2 * x == m->at) // refused: derivatives may be lost
        return m->value;
    m->at = 2 * x;
    m->any = 1;
    return m->value = sin(x);
}

static void equal_keep(equal_memo *m, const double *x)
{
    m->at = *x;
    m->any = 1;
    m->value = sin(*x);
}

static double equal_pointer(equal_memo *m, const double *x)
{
    if (!m->any || *x != m->at) // refused: derivatives may be lost
        equal_keep(m, x);
    return m->value;
}

static bool equal_is_new(equal_memo *m, double x)
{
    const bool is_new = m->at != x; // refused: derivatives may be lost
    m->at = x;
    return is_new;
}

static double equal_near(equal_memo *m, double x)
{
    if (m->any && fabs(x - m->at) < 1e-12) // refused: kept from before
        return m->value;
    m->at = x;
    m->any = 1;
    return m->value = sin(x);
}

double refused_equal_memo(const double *x)
{
    equal_memo a = { 0, 0, 0 }, b = a, c = a, d = { -1, 0, 0 }, e = a;
    double s = 0;
    for (int i = 0; i < 3; i++) {
        if (equal_is_new(&d, x[i]))
            d.value = sin(x[i]);
        s += (i + 1) * (equal_whole(&a, x[i]) + equal_key(&b, x[i])
                        + equal_pointer(&c, &x[i]) + d.value
                        + equal_near(&e, x[i]));
    }
    return s;
}

typedef struct equal_pair {
    double x, v;
} equal_pair;

typedef struct equal_table {
    equal_pair e[8];
    int n;
} equal_table;

static const equal_pair *equal_find(const equal_table *t, double x)
{
    for (int i = 0; i < t->n; i++)
        if (t->e[i].x == x) // refused: derivatives may be lost
            return &t->e[i];
    return 0;
}

static double equal_sine(equal_table *t, double x)
{
    const equal_pair *e = equal_find(t, x);
    if (e)
        return e->v;
    t->e[t->n++] = (equal_pair){ x, sin(x) };
    return t->e[t->n - 1].v;
}

double refused_equal_table(const double *x)
{
    equal_table t = { .n = 0 };
    return equal_sine(&t, x[0]) + 2 * equal_sine(&t, x[1]);
}

// The derivatives of the logarithmic mean of equal numbers are 1/2 and 1/2.
double refused_equal_mean(const double *x)
{
    if (x[0] == x[1]) // refused: derivatives may be lost
        return x[0];
    return (x[1] - x[0]) / log(x[1] / x[0]);
}
