// tags: part
// SPDX-License-Identifier: MIT-0
// number: ad_fwd
// port: orders, differences and distances that ask whether two numbers are equal
// function: refused_orders_both
// with: x:3
// function: refused_orders_chain
// function: refused_orders_whole
// function: refused_orders_called
// function: refused_orders_made
// function: refused_orders_near
// function: refused_orders_searched
#include <math.h>
#include <stdbool.h>

static double orders_mean(double a, double b) { return (a - b) / log(a / b); }

double refused_orders_both(const double *x)
{
    const double a = x[0], b = x[1], c = x[2];
    if (a >= b && a <= b) // refused: derivatives may be lost
        return a;
    if (!(b < c) && !(b > c)) // refused: derivatives may be lost
        return b;
    if (isless(a, c) || isgreater(a, c)) // refused: derivatives may be lost
        return orders_mean(a, c);
    if (a * a >= c && c > 0 && c >= a * a) // refused: derivatives may be lost
        return c;
    return a < 2 * b || 2 * b < a // refused: derivatives may be lost
        ? orders_mean(a, 2 * b) : b;
}

static double orders_returns(double a, double b)
{
    if (a < b)
        return orders_mean(a, b);
    if (b < a) // refused: derivatives may be lost
        return orders_mean(a, b);
    return a;
}

// What is stored in another b does not matter.
static double orders_another(double a, double b)
{
    double m = a;
    if (a < b)
        return orders_mean(a, b);
    {
        double b = 1;
        b += 1;
        m += b;
    }
    if (b < a) // refused: derivatives may be lost
        return m - 2 - a + orders_mean(a, b);
    return a;
}

static double orders_else(double a, double b)
{
    double m;
    if (a < b)
        m = orders_mean(a, b);
    else if (a <= b) // refused: derivatives may be lost
        m = b;
    else
        m = orders_mean(a, b);
    return m;
}

static double orders_one_by_one(double a, double b)
{
    double m = a;
    if (a < b)
        m = orders_mean(a, b);
    if (a > b) // refused: derivatives may be lost
        m = orders_mean(a, b);
    return m;
}

double refused_orders_chain(const double *x)
{
    return orders_returns(x[0], x[1]) + orders_else(x[0], x[1])
        + orders_one_by_one(x[0], x[1]) + orders_another(x[0], x[1])
        + (x[0] < x[1] ? orders_mean(x[0], x[1])
           : x[1] >= x[0] ? x[1] // refused: derivatives may be lost
           : orders_mean(x[1], x[0]));
}

double refused_orders_whole(const double *x)
{
    const int sign = (x[0] > x[1]) - (x[0] < x[1]); // refused: derivatives may be lost
    const int less = x[1] < x[2], more = x[1] > x[2];
    const bool differ = x[0] - x[2]; // refused: derivatives may be lost
    if (!(less | more)) // refused: derivatives may be lost
        return x[1];
    if (sign == 0 || !differ) // refused: derivatives may be lost
        return x[0];
    if (((x[1] > 3 * x[2]) | (x[1] < 3 * x[2]) << 1) == 0) // refused: derivatives may be lost
        return x[1];
    switch ((x[0] > 2 * x[1]) + 2 * (x[0] < 2 * x[1])) { // refused: derivatives may be lost
    case 0:
        return x[0];
    default:
        return orders_mean(x[0], 2 * x[1]);
    }
}

static bool orders_less(double a, double b) { return a < b; }

static int orders_of(const double *a, const double *b)
{
    if (*a < *b)
        return -1;
    return *a > *b;
}

static bool orders_lie(const double *a, const double *b) { return *a < *b; }

static bool orders_none(double d) { return !d; } // refused: derivatives may be lost

static bool orders_no_sign(double d)
{
    return !(d < 0) && !(d > 0); // refused: derivatives may be lost
}

static bool orders_turned(double d)
{
    return !(0 < d) && !(d < 0); // refused: derivatives may be lost
}

double refused_orders_called(const double *x)
{
    if (orders_turned(x[1] - 2 * x[2]))
        return x[1];
    if (!orders_lie(x, x + 1) && !orders_lie(x + 1, x)) // refused: derivatives may be lost
        return x[0];
    if (!orders_less(x[0], x[1]) && !orders_less(x[1], x[0])) // refused: derivatives may be lost
        return x[0];
    if (orders_of(&x[0], &x[2]) < 0)
        return orders_mean(x[0], x[2]);
    if (orders_of(&x[0], &x[2]) > 0) // refused: derivatives may be lost
        return orders_mean(x[0], x[2]);
    return orders_none(x[0] - x[1]) || orders_no_sign(x[1] - x[2]) ? x[1]
        : orders_mean(x[1], x[2]);
}

typedef struct orders_pair {
    double d;
} orders_pair;

double refused_orders_made(const double *x)
{
    double d, e = x[1], u = x[1] / x[2], r = floor(x[0] + 0.5), s = x[1];
    const double first = x[0] - 5 * x[1], second = first, whole = floor(s + 0.5);
    orders_pair p;
    if (second == 0) // refused: derivatives may be lost
        return x[0];
    if (x[2] > 1)
        r = x[1], s = x[2];
    if (fabs(x[0] - r) < 1e-12) // refused: derivatives may be lost
        return x[0];
    if (fabs(s - whole) < 1e-12) // refused: derivatives may be lost
        return s;
    d = x[1] - x[0];
    e -= x[2];
    p.d = x[2] - x[0];
    if (e == -0.0) // refused: derivatives may be lost
        return x[1];
    if (p.d != 0.0) // refused: derivatives may be lost
        d += p.d;
    if (u == 1 || x[0] / x[2] == 1.0) // refused: derivatives may be lost
        return x[1];
    if (signbit(x[0] - 3 * x[1]) == signbit(3 * x[1] - x[0])) // refused: derivatives may be lost
        return x[0];
    while (e) { // refused: derivatives may be lost
        d += e;
        e = 0;
    }
    if (d == 0) // refused: derivatives may be lost
        return x[0];
    return ((x[0] > d) - (x[0] < d)) * fabs(x[0] - d); // refused: derivatives may be lost
}

typedef struct orders_kept {
    double at, value;
} orders_kept;

static double orders_keep(orders_kept *k, double x)
{
    if (fabs(x - k->at) > 1e-13) { // refused: derivatives may be lost
        k->at = x;
        k->value = sin(x);
    }
    return k->value;
}

double refused_orders_near(const double *x)
{
    orders_kept k = { -7, 0 };
    double last = -7, v = 0, s = 0;
    for (int i = 0; i < 3; i++) {
        if (fabs(x[i] - last) > 1e-6) { // refused: kept from before
            last = x[i];
            v = sin(last);
        }
        s += (i + 1) * (v + orders_keep(&k, x[i]));
    }
    return s + (fabs(x[0] - x[1]) <= 0 ? x[0] // refused: derivatives may be lost
                : orders_mean(x[0], x[1]));
}

double refused_orders_searched(const double *x)
{
    double y[3], s = 0;
    for (int i = 0; i < 3; i++) {
        int j;
        for (j = 0; j < i; j++)
            if (fabs(x[i] - x[j]) < 1e-14 * fabs(x[i])) // refused: derivatives may be lost
                break;
        y[i] = j < i ? y[j] : sin(x[i]);
        s += (i + 1) * y[i];
    }
    const double d = x[0] - x[1];
    return d * d > 0 ? s + orders_mean(x[0], x[1]) // refused: derivatives may be lost
        : s + x[0];
}
