// tags: part
// SPDX-License-Identifier: MIT-0
// port: a series until it has converged, a continued fraction
// function: series
// with: x
// with: a
// in: 2
// out: 2
// at: 0.7 2.5
// tolerance: 1e-9
// call: series@(x[0], x[1], y);
#include <float.h>
#include <math.h>

void series(double x, double a, double *z)
{
    double term = 1 / a, sum = term, n = a;
    double b, c, d, h;
    do {
        n += 1;
        term *= x / n;
        sum += term;
    } while (fabs(term) > fabs(sum) * DBL_EPSILON);
    z[0] = sum * exp(-x + a * log(x));
    b = x + 4 - a;
    c = 1 / 1e-30;
    h = d = 1 / b;
    for (int i = 1; i <= 50; i++) {
        const double an = -i * (i - a);
        b += 2;
        d = an * d + b;
        if (fabs(d) < 1e-30)
            d = 1e-30;
        c = b + an / c;
        d = 1 / d;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-12)
            break;
    }
    z[1] = h;
}
