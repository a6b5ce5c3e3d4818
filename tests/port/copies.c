// tags: part
// SPDX-License-Identifier: MIT-0
// Numbers that are compared with their copies: port.sh, copies.
#include <math.h>

static double excess(double z, const double *p)
{
    return p[0] * p[0] * exp(z) + z - p[1];
}

// A zero by Brent's way: a secant if there are two points only.
static double zero(const double *p, double lower, double upper)
{
    double a = lower, b = upper, fa = excess(a, p), fb = excess(b, p);
    double c = a, fc = fa;
    for (;;) {
        double before = b - a, half, step, tolerance, s, q;
        if (fabs(fc) < fabs(fb)) {
            a = b, b = c, c = a;
            fa = fb, fb = fc, fc = fa;
        }
        tolerance = 4e-16 * fabs(b) + 1e-14;
        step = half = (c - b) / 2;
        if (fabs(half) <= tolerance || fb == 0)
            return b;
        if (fabs(before) >= tolerance && fabs(fa) > fabs(fb)) {
            if (a == c) {
                s = 2 * half * fb / fa;
                q = 1 - fb / fa;
            } else {
                const double u = fa / fc, v = fb / fc, w = fb / fa;
                s = w * (2 * half * u * (u - v) - (b - a) * (v - 1));
                q = (u - 1) * (v - 1) * (w - 1);
            }
            if (s > 0)
                q = -q;
            else
                s = -s;
            if (s < 1.5 * half * q - fabs(tolerance * q) / 2
                && s < fabs(before * q / 2))
                step = s / q;
        }
        if (fabs(step) < tolerance)
            step = step > 0 ? tolerance : -tolerance;
        a = b;
        fa = fb;
        b += step;
        fb = excess(b, p);
        if ((fb > 0 && fc > 0) || (fb < 0 && fc < 0)) {
            c = a;
            fc = fa;
        }
    }
}

// The sine of a number that was there is not computed again: where two numbers are
// equal and no copies, a derivative would be lost.
double copies(const double *x, int n)
{
    double s = 0, last = 2, v = 0;
    for (int i = 0; i < n; i++) {
        const double now = x[i];
        if (now != last)
            v = sin(now);
        s += v;
        last = now;
    }
    return s * zero(x, -8, 8);
}
