// tags: part
// SPDX-License-Identifier: MIT-0
// port: orders of two numbers, none of which is there for the equal case only
// function: compared_orders_most
// with: x:3
// function: compared_orders_between
// function: compared_orders_sorted
// function: compared_orders_steps
// function: compared_orders_zero
// function: compared_orders_left
// in: 3
// out: 6
// at: 0.5 0.25 2
// at: 1.5 0.75 0.3
// tolerance: 1e-9
// call: y[0] = compared_orders_most@(x);
// call: y[1] = compared_orders_between@(x);
// call: y[2] = compared_orders_sorted@(x);
// call: y[3] = compared_orders_steps@(x);
// call: y[4] = compared_orders_zero@(x);
// call: y[5] = compared_orders_left@(x);
#include <math.h>
#include <stdlib.h>

double compared_orders_most(const double *x)
{
    double most = x[0], least = x[0];
    for (int i = 1; i < 3; i++) {
        if (x[i] > most)
            most = x[i];
        if (x[i] < least)
            least = x[i];
    }
    return most - least * least;
}

// Of two numbers each is compared with a third one, or with a constant.
double compared_orders_between(const double *x)
{
    const double low = x[0] - 1, high = x[0] + 1;
    double y = x[1];
    if (y < low || y > high)
        y = x[2] * x[2];
    if (x[2] < 0.1 || x[2] > 0.2)
        y *= x[2];
    return x[1] < x[2] && x[2] >= x[1] ? y : 2 * y;
}

// Where the two are equal, the second question is not asked.
double compared_orders_left(const double *x)
{
    if (x[0] >= x[1])
        return x[0] * x[2];
    if (x[0] > x[1] || x[0] < x[1])
        return x[1] * x[2];
    return x[2];
}

// One of the two changes between the questions.
double compared_orders_sorted(const double *x)
{
    double a = x[0], b = x[1];
    if (a > b) {
        const double t = a;
        a = b;
        b = t;
    }
    if (a < b)
        a = 3 * a;
    if (a > b)
        b = 3 * b;
    return a * a - b;
}

// A determinant, and a residual, that are compared with 0.
double compared_orders_zero(const double *x)
{
    double d, r = 2 * x[0];
    d = x[0] * x[1] - x[1] * x[2];
    r -= x[1] * x[2];
    if (d == 0 || r == 0)
        return 0;
    return x[0] / d + r;
}

// Which of two is asked with a flag, one way or the other.
double compared_orders_steps(const double *x)
{
    double s = 0;
    for (int up = 0; up < 2; up++)
        if ((up && x[0] < x[1]) || (!up && x[0] > x[1]))
            s += x[2] * x[up];
    for (double t = x[0], old = 0; fabs(t - old) > 1e-15; t = 0.5 * t)
        old = t, s += t * t;
    return s;
}
