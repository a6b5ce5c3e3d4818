// tags: part
// SPDX-License-Identifier: MIT-0
// port: an adaptive quadrature, whose depth depends on numbers
// function: recursion_adaptive
// with: p
// in: 1
// out: 1
// at: 1.5
// tolerance: 1e-10
// call: y[0] = recursion_adaptive@(x[0]);
#include <math.h>

static double simpson_f(double t, double p) { return exp(-p * t * t); }

static double simpson_step(double a, double b, double p, double whole,
                           double eps, int depth)
{
    const double m = (a + b) / 2, h = (b - a) / 12;
    const double left = h * (simpson_f(a, p) + 4 * simpson_f((a + m) / 2, p)
                             + simpson_f(m, p));
    const double right = h * (simpson_f(m, p) + 4 * simpson_f((m + b) / 2, p)
                              + simpson_f(b, p));
    if (depth == 0 || fabs(left + right - whole) < 15 * eps)
        return left + right + (left + right - whole) / 15;
    return simpson_step(a, m, p, left, eps / 2, depth - 1)
           + simpson_step(m, b, p, right, eps / 2, depth - 1);
}

double recursion_adaptive(double p)
{
    const double whole = (simpson_f(0, p) + 4 * simpson_f(1, p)
                          + simpson_f(2, p)) / 3;
    return simpson_step(0, 2, p, whole, 1e-6, 8);
}
