// tags: part
// SPDX-License-Identifier: MIT-0
// Numbers that are compared, of which the run sees whether one is a copy of the
// other: seen_run.c.
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
