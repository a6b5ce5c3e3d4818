// tags: part
// SPDX-License-Identifier: MIT-0
// port: Newton's method until it has converged
// function: loop_newton
// with: a
// in: 1
// out: 1
// at: 2
// at: 50
// tolerance: 1e-10
// call: y[0] = loop_newton@(x[0]);
#include <math.h>

double loop_newton(double a)
{
    double x = a, step;
    int n = 0;
    do {
        step = (x * x * x - a) / (3 * x * x);
        x -= step;
    } while (fabs(step) > 1e-9 * fabs(x) && ++n < 60);
    return x;
}
