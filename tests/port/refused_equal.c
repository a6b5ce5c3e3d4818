// tags: part
// SPDX-License-Identifier: MIT-0
// number: ad_fwd
// port: two numbers are compared, and where they are equal the result has the
// derivatives of one of them, or of none
// function: refused_equal_walk
// with: x:3
// function: refused_equal_memo
// function: refused_equal_table
// function: refused_equal_mean
// function: refused_equal_ways
// function: refused_equal_order
// function: refused_equal_choice
// function: refused_equal_state
// function: refused_equal_jump
// function: refused_equal_sum
// function: refused_equal_copy
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

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

static int equal_number(double a, double b)
{
    return a == b ? 1 : 0; // refused: derivatives may be lost
}

static double equal_asked(equal_memo *m, double x)
{
    if (m->any && equal_number(x, m->at))
        return m->value;
    equal_keep(m, &x);
    return m->value;
}

static double equal_chosen(equal_memo *m, double x)
{
    if (m->any ? x == m->at : 0) // refused: derivatives may be lost
        return m->value;
    equal_keep(m, &x);
    return m->value;
}

static void equal_renew(const int *hit, equal_memo *m, double x)
{
    if (!*hit)
        equal_keep(m, &x);
}

static double equal_flag(equal_memo *m, double x)
{
    const int hit = m->at == x; // refused: derivatives may be lost
    equal_renew(&hit, m, x);
    return m->value;
}

static double equal_while(equal_memo *m, const double *x)
{
    while (m->at != *x) // refused: derivatives may be lost
        equal_keep(m, x);
    return m->value;
}

double refused_equal_ways(const double *x)
{
    equal_memo a = { -7, 0, 0 }, b = a, c = a, d = a;
    double s = 0;
    for (int i = 0; i < 3; i++)
        s += (i + 1) * (equal_asked(&a, x[i]) + equal_chosen(&b, x[i])
                        + equal_flag(&c, x[i]) + equal_while(&d, &x[i]));
    return s;
}

static double equal_at = -7, equal_value;

static int equal_order(double a, double b)
{
    return a == b ? 0 : a < b ? -1 : 1; // refused: derivatives may be lost
}

static double equal_static(double x)
{
    if (equal_order(x, equal_at) != 0) { // refused: kept from before
        equal_at = x;
        equal_value = sin(x);
    }
    return equal_value;
}

static double equal_looked_up(equal_table *t, double x)
{
    for (int i = 0; i < t->n; i++)
        if (equal_order(t->e[i].x, x) == 0) // refused: kept from before
            return t->e[i].v;
    t->e[t->n].x = x;
    t->e[t->n].v = sin(x);
    return t->e[t->n++].v;
}

static double equal_last = -7, equal_of_last;

static double equal_until(const double *x)
{
    while (equal_last != *x) { // refused: derivatives may be lost
        const double t = *x;
        equal_of_last = sin(t);
        equal_last = t;
    }
    return equal_of_last;
}

double refused_equal_order(const double *x)
{
    equal_table t = { .n = 0 };
    double s = 0;
    equal_at = equal_last = -7;
    for (int i = 0; i < 3; i++)
        s += (i + 1) * (equal_static(x[i]) + equal_looked_up(&t, x[i])
                        + equal_until(&x[i]));
    switch (equal_order(x[0], x[1])) {
    case 0:
        return s + x[0];
    default:
        return s + (x[0] - x[1]) / log(x[0] / x[1]);
    }
}

// A choice whose value is an address, a structure, an index, a flag.
double refused_equal_choice(const double *x)
{
    const double fresh[2] = { sin(x[1]), cos(x[1]) };
    const double kept[2] = { sin(x[0]), cos(x[0]) };
    const double *v = x[1] == x[0] ? kept : fresh; // refused: derivatives may be lost
    const equal_pair a = { x[0], sin(x[0]) }, b = { x[1], sin(x[1]) };
    const equal_pair m = x[0] == x[1] ? a : b; // refused: derivatives may be lost
    const int k = x[0] == x[1] ? 0 : 1; // refused: derivatives may be lost
    const int tie = x[1] == x[2] ? 1 : 0; // refused: derivatives may be lost
    const double y[2] = { kept[0], fresh[0] };
    if (tie)
        return 0.5 / sqrt(x[1]);
    return kept[0] + v[0] * v[1] + m.v + 2 * y[k]
        + (sqrt(x[2]) - sqrt(x[1])) / (x[2] - x[1]);
}

typedef struct equal_item {
    double x;
    struct equal_item *next;
} equal_item;

static double equal_get(const double *x, int i) { return x[i]; }

double refused_equal_state(const double *x)
{
    double now, last = -7, v = 0, s = 0;
    equal_item e[3] = { { x[0], &e[1] }, { x[1], &e[2] }, { x[2], 0 } };
    for (const equal_item *p = e; p != 0; p = p->next) {
        now = p->x;
        if (now != last) { // refused: derivatives
            last = now;
            v = sin(now);
        }
        s += v;
    }
    for (int i = 0; i < 3; i++) {
        now = equal_get(x, i);
        if (now != last) { // refused: derivatives
            last = now;
            v = cos(now);
        }
        s += (i + 1) * v;
    }
    for (int i = 0; i < 2; i++) {
        now = i ? x[1] : x[0];
        if (now != last) { // refused: derivatives
            last = now;
            v = exp(now);
        }
        s += (i + 1) * v;
    }
    return s;
}

double refused_equal_jump(const double *x)
{
    equal_memo c = { -7, 0, 0 };
    double last = -7, v = 0, s = 0;
    for (int i = 0; i < 3; i++) {
        if (c.at == x[i]) // refused: derivatives may be lost
            goto known;
        equal_keep(&c, &x[i]);
    known:
        if (i % 8 == 7)
            last = -7;
        if (x[i] == last) // refused: derivatives may be lost
            goto same;
        last = x[i];
        v = cos(last);
    same:
        s += (i + 1) * (c.value + v);
    }
    return s;
}

void equal_mark(int *);
void equal_note(void);

double refused_equal_sum(const double *x)
{
    const double a = x[0], b = x[1], m = 0.5 * (a + b), d = b - a;
    int k = 0;
    if (a == b) // refused: derivatives may be lost
        equal_mark(&k);
    if (a == 2 * b) // refused: derivatives may be lost
        equal_note();
    if (m == a) // refused: derivatives may be lost
        return k;
    if (d == 0) // refused: derivatives may be lost
        return a;
    if (a - b == 0) // refused: derivatives may be lost
        return a;
    if (!islessgreater(a, b)) // refused: derivatives may be lost
        return a;
    if (a - b == b) // refused: derivatives may be lost
        return b;
    if (a == floor(b)) // refused: derivatives may be lost
        return 0;
    return (b - a) / log(b / a) * (a - floor(b));
}

// A flag that is set by way of a text.
static double equal_told(double a, double b)
{
    int k = 0;
    if (a == b) // refused: derivatives may be lost
        sscanf("1", "%d", &k);
    return k ? a : (a - b) / log(a / b);
}

// A loop that looks for a copy.
double refused_equal_copy(const double *x)
{
    const double y[3] = { sin(x[0]), sin(x[1]), sin(x[2]) };
    double s = equal_told(x[0], x[1]);
    for (int i = 0; i < 3; i++) {
        int j = 0;
        while (x[j] != x[i]) // refused: derivatives may be lost
            j++;
        s += (i + 1) * y[j];
    }
    return s;
}
