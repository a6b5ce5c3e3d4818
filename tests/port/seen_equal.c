// tags: part
// SPDX-License-Identifier: MIT-0
// Numbers that are compared, of which the run sees whether a derivative is lost where
// they are equal: seen_run.c.
#include <math.h>

static double mean(double a, double b) { return (a - b) / log(a / b); }

double seen_equal(const double *x)
{
    return x[0] == x[1] ? x[0] : mean(x[0], x[1]);
}

double seen_unequal(const double *x)
{
    const double *a = x, *b = x + 1;
    if (*a != *b)
        return mean(*a, *b);
    return *b;
}

typedef struct memo {
    double at, value;
} memo;

static double sine(memo *m, double x)
{
    if (m->at == x)
        return m->value;
    m->at = x;
    return m->value = sin(x);
}

double seen_memo(const double *x)
{
    memo m = { -7, 0 };
    return sine(&m, x[0]) + 2 * sine(&m, x[1]);
}

double seen_loop(const double *x)
{
    const double y[2] = { sin(x[0]), sin(x[1]) };
    int j = 0;
    while (x[j] != x[1])
        j++;
    return y[0] + 2 * y[j];
}

double seen_orders(const double *x)
{
    const double a = x[0], b = x[1];
    if (a >= b && a <= b)
        return a;
    return mean(a, b);
}

double seen_sign(const double *x)
{
    switch ((x[0] > x[1]) - (x[0] < x[1])) {
    case 0:
        return x[1];
    default:
        return mean(x[0], x[1]);
    }
}

double seen_chain(const double *x)
{
    double m = x[0];
    if (x[0] < x[1])
        m = mean(x[0], x[1]);
    else if (x[1] < x[0])
        m = mean(x[1], x[0]);
    return m;
}

static double get(const double *x, int i) { return x[i]; }

double seen_call(const double *x)
{
    return get(x, 0) == get(x, 1) ? get(x, 0) : mean(x[0], x[1]);
}

double seen_step(const double *x)
{
    const double h = x[1] - x[0];
    return h != 0 ? (exp(x[1]) - exp(x[0])) / h : exp(x[0]);
}

double seen_quotient(const double *x)
{
    double q = x[1] / x[0];
    return 1 == q ? x[0] : mean(x[0], x[1]);
}

double seen_picked(const double *x)
{
    const double most = fmax(x[0], x[1]), least = fabs(fmin(x[0], x[1]));
    if (least != x[0])
        return 3 * x[1] + least;
    return most == x[0] ? 2 * x[0] : 3 * x[1];
}

static const double nothing = 0;

double seen_direct(const double *x)
{
    if (x[0] - x[1] == nothing)
        return x[0];
    return mean(x[0], x[1]);
}

double seen_elements(const double *x)
{
    double d[2];
    d[0] = x[0] - x[1];
    d[1] = log(x[0] / x[1]);
    return d[0] == 0 ? x[0] : d[0] / d[1];
}

static double difference(double a, double b) { return a - b; }

double seen_function(const double *x)
{
    if (!difference(x[0], x[1]))
        return x[0];
    return mean(x[0], x[1]);
}

double seen_logarithm(const double *x)
{
    const double l = log(x[0] / x[1]);
    return l ? (x[0] - x[1]) / l : x[1];
}

double seen_shifted(const double *x)
{
    const double u = 1 - x[1] / x[0];
    if (u != 0)
        return x[0] * u / -log1p(-u);
    return x[0];
}

static double given(double a, double b, double d)
{
    return 0 == d ? a : d / log(a / b);
}

double seen_given(const double *x)
{
    const double d = x[0] - x[1];
    return given(x[0], x[1], d);
}

typedef struct side {
    double a, b, d;
} side;

static void set(side *s) { s->d = fabs(2 * (s->a - s->b)); }

double seen_member(const double *x)
{
    side s = { x[0], x[1], 0 };
    s.d = s.a;
    s.d -= s.b;
    if (s.d == 0)
        return s.b;
    set(&s);
    if (s.d)
        return mean(s.a, s.b);
    return s.b;
}

typedef struct pair_of {
    double x, y;
} pair_of;

static pair_of minus(pair_of a, pair_of b)
{
    const pair_of c = { a.x - b.x, a.y - b.y };
    return c;
}

// A loop elsewhere is no iteration of these members.
double seen_vector(const double *x)
{
    const pair_of a = { x[0], x[1] }, b = { x[1], x[0] }, d = minus(a, b);
    double s = 0;
    for (int i = 0; i < 2; i++)
        s += x[i];
    return d.x == 0 && d.y == 0 ? s / 2 : d.x / log(x[0] / x[1]);
}

double seen_size(const double *x)
{
    if (fabs(difference(x[0], x[1])) == 0)
        return x[0];
    return mean(x[0], x[1]);
}

double seen_square(const double *x)
{
    const double l = log(x[0] / x[1]);
    return l * l ? (x[0] - x[1]) / l : x[0];
}

double seen_product(const double *x)
{
    const double l = log(x[0] / x[1]);
    if (difference(l, 0) * difference(l, 0) == 0)
        return x[0];
    return (x[0] - x[1]) / l;
}

double seen_operation(const double *x)
{
    double (*const angle)(double, double) = atan2;
    return angle(x[0], x[1]) == atan2(1, 1) ? x[0] : mean(x[0], x[1]);
}

double seen_first_or(const double *x)
{
    const double l = log(x[0] / x[1]), q = l ?: 3;
    return q == 3 ? x[0] : (x[0] - x[1]) / l;
}

// Their squares, and floats that are made of them, are 0 nearby, too.
double seen_little(const double *x)
{
    const double s = 1e-170 * (x[0] + x[1]), half = 1e-60 * (x[0] + 2 * x[1]);
    if (half * half == 0 || s * s != 0)
        return x[0];
    return (float)fabs(half) == 0 ? x[1] : x[0];
}

static double step_up(double *s) { return *s += 0.25; }

double seen_effect(const double *x)
{
    double s = x[0] * x[1];
    return step_up(&s) * step_up(&s) == 0 ? x[0] : s;
}

// No derivative is lost, or only with respect to one input, as everywhere.
double seen_one(const double *x)
{
    const double y[2] = { 2 * x[0], sin(x[1]) };
    if (y[0] == 1.5 || x[1] == 0.75 || 0.75 == x[0])
        return y[0] + y[1];
    return y[1] + y[0];
}

static const double near = 0.750000001, steepness = 1.9;

static double residual(double r, const double *x) { return 2 * r - x[0] - x[1]; }

// An end of an iteration, which is met at all points. From near a root the residual is 0
// some steps before its derivatives are.
double seen_root(const double *x)
{
    double r = near;
    for (int i = 0; i < 20; i++) {
        const double f = residual(r, x);
        if (f == 0)
            break;
        r -= f / steepness;
    }
    return r;
}

typedef struct search {
    double at, residual;
} search;

static search step_from(search s, const double *x)
{
    s.at -= s.residual / steepness;
    s.residual = residual(s.at, x);
    return s;
}

// The same in members that other functions set.
double seen_search(const double *x)
{
    search s = { near, residual(near, x) };
    for (int i = 0; s.residual != 0 && i < 20; i++)
        s = step_from(s, x);
    return s.at;
}

static double found(double r, const double *x, int left)
{
    const double f = (2 * r - x[0] - x[1]) / steepness;
    return f == 0 || left == 0 ? r : found(r - f, x, left - 1);
}

double seen_recursion(const double *x) { return found(near, x, 20); }

double seen_jump(const double *x)
{
    double r = near, f;
    int left = 20;
again:
    f = (2 * r - x[0] - x[1]) / steepness;
    if (f == 0 || left-- == 0)
        return r;
    r -= f;
    goto again;
}

static double zero_of(double (*f)(double r, const double *x), const double *x)
{
    double r = near;
    for (int i = 0; i < 20; i++)
        r -= f(r, x) / steepness;
    return r;
}

static double refined(double r, const double *x)
{
    const double f = residual(r, x);
    return f == 0 ? 0 : f;
}

double seen_pointer(const double *x) { return zero_of(refined, x); }
