// tags: part
// SPDX-License-Identifier: MIT-0
// port: questions whether two numbers are equal that the run would not see, or that
// would make it fail at all points
// function: refused_seen_near
// with: x:2
// function: refused_seen_flag
// function: refused_seen_rounded
// function: refused_seen_size
// function: refused_seen_steps
// function: refused_seen_constant
// function: refused_seen_static
#include <math.h>

typedef struct seen_state {
    double at, before;
} seen_state;

static const double little = 1e-12;

static double seen_mean(double a, double b) { return (a - b) / log(a / b); }

double refused_seen_near(const double *x)
{
    return fabs(x[0] - x[1]) <= 1e-6 || x[0] == x[1] // refused: derivatives may be lost
        ? x[0] : seen_mean(x[0], x[1]);
}

double refused_seen_flag(const double *x)
{
    const int near = fabs(x[0] - x[1]) < 1e-6;
    if (near || x[0] == x[1]) // refused: derivatives may be lost
        return x[0];
    return seen_mean(x[0], x[1]);
}

double refused_seen_rounded(const double *x)
{
    const double d = x[0] - x[1];
    const double k = floor(d + 0.5);
    if (fabs(d - k) < 1e-12 && k == 0) // refused: derivatives may be lost
        return x[1];
    return x[1] * (exp(d) - 1) / d;
}

double refused_seen_size(const double *x)
{
    const double size = fabs(x[0] - x[1]);
    if (fabs(x[0] - 2 * x[1]) == 0) // refused: derivatives may be lost
        return x[1];
    if (size == 0) // refused: derivatives may be lost
        return x[0];
    return seen_mean(x[0], x[1]) * seen_mean(x[0], 2 * x[1]);
}

double refused_seen_steps(const double *x)
{
    seen_state s = { x[0], 0 };
    do {
        s.before = s.at;
        s.at = 0.5 * (s.at + x[1] / s.at);
    } while (s.at != s.before); // refused: derivatives may be lost
    return s.at;
}

double refused_seen_constant(const double *x)
{
    if (fabs(x[0] - x[1]) < little) // refused: derivatives may be lost
        return x[1];
    return seen_mean(x[0], x[1]);
}

static double seen_last = -7;

double refused_seen_static(const double *x)
{
    if (x[0] == seen_last) // refused: kept from before
        return x[1];
    seen_last = x[0];
    return x[0] * x[1];
}
