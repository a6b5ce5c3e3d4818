// tags: part
// SPDX-License-Identifier: MIT-0
// port: complex numbers by hand, as structures: a transform by recursion
// function: complex_by_hand
// with: x:8
// in: 8
// out: 1
// at: 1 2 0.5 -1 3 0 1.5 2
// tolerance: 1e-10
// call: y[0] = complex_by_hand@(x);
#include <math.h>

typedef struct { double re, im; } by_hand;

static by_hand hand_add(by_hand a, by_hand b)
{
    return (by_hand){ a.re + b.re, a.im + b.im };
}

static by_hand hand_mul(by_hand a, by_hand b)
{
    return (by_hand){ .re = a.re * b.re - a.im * b.im,
                      .im = a.re * b.im + a.im * b.re };
}

static void transform_of(by_hand *out, const double *x, int n, int stride)
{
    if (n == 1) {
        *out = (by_hand){ *x, 0 };
        return;
    }
    transform_of(out, x, n / 2, 2 * stride);
    transform_of(out + n / 2, x + stride, n / 2, 2 * stride);
    for (int k = 0; k < n / 2; k++) {
        const double phi = -2 * 3.14159265358979323846 * k / n;
        const by_hand w = { cos(phi), sin(phi) };
        const by_hand even = out[k], odd = hand_mul(w, out[k + n / 2]);
        out[k] = hand_add(even, odd);
        out[k + n / 2] = hand_add(even, hand_mul((by_hand){ -1, 0 }, odd));
    }
}

double complex_by_hand(const double *x)
{
    by_hand f[8];
    double s = 0;
    transform_of(f, x, 8, 1);
    for (int i = 0; i < 8; i++)
        s += (i + 1) * (f[i].re * f[i].re + f[i].im);
    return s;
}
