// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers are compared with earlier ones, but nothing is used again
// function: compared_series
// with: x:3
// function: compared_most
// function: compared_steps
// in: 3
// out: 4
// at: 0.5 0.25 2
// at: 1.5 0.75 0.3
// tolerance: 1e-9
// call: y[0] = compared_series@(x);
// call: y[1] = compared_most@(x);
// call: compared_steps@(x, y + 2);
#include <math.h>

// Until nothing changes.
double compared_series(const double *x)
{
    double s = 0, old = -1, term = 1;
    for (int n = 1; n < 60 && s != old; n++) {
        old = s;
        s += term;
        term *= x[0] / n;
    }
    for (int n = 1;; n++) {
        const double before = s;
        s += x[1] / (1 << n);
        if (s == before || n == 12)
            break;
    }
    return s;
}

static int is_better(double a, double b) { return a > b; }

double compared_most(const double *x)
{
    double most = x[0], best = x[0], of = x[0] * x[0];
    for (int i = 1; i < 3; i++) {
        if (x[i] > most)
            most = x[i];
        if (is_better(x[i], best)) {
            best = x[i];
            of = x[i] * x[i];
        }
    }
    return most * of;
}

// The step of a difference must not be zero.
void compared_steps(const double *x, double *slope)
{
    const double h = x[0];
    for (int i = 0; i < 2; i++) {
        double step = h * fabs(x[i + 1]);
        if (step == 0)
            step = h;
        slope[i] = (exp(x[i + 1] + step) - exp(x[i + 1])) / step;
    }
}
