// SPDX-License-Identifier: MIT-0
/* equations.h - systems of equations that tests of several adapters solve, with
 * what is known of their solutions.                                          */

#ifndef ADREV_TESTS_EQUATIONS_H
#define ADREV_TESTS_EQUATIONS_H

#include "solvers.h"

/* --- Robertson (1966): an ODE, and a DAE ----------------------------------- */

static inline void kinetics(ad_rev t, const ad_rev *y, const ad_rev *p,
                            ad_rev *rate, void *ctx)
{
    (void)t;
    (void)ctx;
    rate[0] = ad_rec(ad_sub(ad_mul(p[1], ad_mul(y[1], y[2])),
                            ad_mul(p[0], y[0])));
    rate[2] = ad_rec(ad_mul(p[2], ad_sqr(y[1])));
    rate[1] = ad_rec(ad_neg(ad_add(rate[0], rate[2])));
}

// The same with conservation in place of the third rate.
static inline void conserved(ad_rev t, const ad_rev *y, const ad_rev *rate,
                             const ad_rev *p, ad_rev *r, void *ctx)
{
    ad_rev f[3];
    kinetics(t, y, p, f, ctx);
    r[0] = ad_rec(ad_sub(f[0], rate[0]));
    r[1] = ad_rec(ad_sub(f[1], rate[1]));
    r[2] = ad_rec(ad_sub(ad_add(ad_add(y[0], y[1]), y[2]), 1));
}

static const double robertson_p[3] = { 0.04, 1e4, 3e7 };

// At 0.4 and at 4, from the output of SUNDIALS' example cvsRoberts_FSA_dns,
// which has five digits at a relative tolerance of 1e-4: y, then dy/dp.
static const double published[2][4][3] = {
    { { 9.8517e-01, 3.3864e-05, 1.4794e-02 },
      { -3.5595e-01, 3.9025e-04, 3.5556e-01 },
      { 9.5431e-08, -2.1309e-10, -9.5218e-08 },
      { -1.5833e-11, -5.2900e-13, 1.6362e-11 } },
    { { 9.0552e-01, 2.2405e-05, 9.4458e-02 },
      { -1.8761, 1.7922e-04, 1.8759 },
      { 2.9614e-06, -5.8305e-10, -2.9608e-06 },
      { -4.9334e-10, -2.7626e-13, 4.9362e-10 } },
};

/* --- a Brusselator in one dimension --------------------------------------- */

// u' = 1 + u^2 v - (b + 1) u + a u'', v' = b u - u^2 v + a v'', u = 1 and v = 3
// at the ends (Hairer and Wanner). y = u0, v0, u1, v1, ...; p = b, a.
enum { CELLS = 20, BRUSSELATOR = 2 * CELLS };

static inline void brusselator(ad_rev t, const ad_rev *y, const ad_rev *p,
                               ad_rev *rate, void *ctx)
{
    const double h = 1.0 / (CELLS + 1);
    (void)t;
    (void)ctx;
    ad_rev weight = ad_rec(ad_mul(p[1], 1 / (h * h)));
    for (int i = 0; i < CELLS; i++) {
        const ad_rev one = { .v = 1 }, three = { .v = 3 };
        const ad_rev u = y[2 * i], v = y[2 * i + 1];
        const ad_rev left = i > 0 ? y[2 * i - 2] : one;
        const ad_rev right = i < CELLS - 1 ? y[2 * i + 2] : one;
        const ad_rev below = i > 0 ? y[2 * i - 1] : three;
        const ad_rev above = i < CELLS - 1 ? y[2 * i + 3] : three;
        ad_rev react = ad_rec(ad_mul(ad_sqr(u), v));
        ad_rev spread = ad_rec(ad_sub(ad_add(left, right), ad_mul(2, u)));
        rate[2 * i] = ad_rec(ad_add(ad_sub(ad_add(1, react),
                                           ad_mul(ad_add(p[0], 1), u)),
                                    ad_mul(weight, spread)));
        spread = ad_rec(ad_sub(ad_add(below, above), ad_mul(2, v)));
        rate[2 * i + 1] = ad_rec(ad_add(ad_sub(ad_mul(p[0], u), react),
                                        ad_mul(weight, spread)));
    }
}

static inline void brusselator_ld(const ld *y, ld *rate, const void *ctx)
{
    const ld h = 1.0L / (CELLS + 1), b = 3, a = 0.02L;
    (void)ctx;
    for (int i = 0; i < CELLS; i++)
        for (int k = 0; k < 2; k++) {
            const ld u = y[2 * i], v = y[2 * i + 1], end = k == 0 ? 1 : 3;
            const ld before = i > 0 ? y[2 * i - 2 + k] : end;
            const ld after = i < CELLS - 1 ? y[2 * i + 2 + k] : end;
            rate[2 * i + k]
                = (k == 0 ? 1 + u * u * v - (b + 1) * u : b * u - u * u * v)
                + a / (h * h) * (before + after - 2 * y[2 * i + k]);
        }
}

static inline ad_system *new_brusselator(double y[])
{
    ad_system *s = ad_system_ode(brusselator, NULL, BRUSSELATOR, 2);
    s->p[0] = 3;
    s->p[1] = 0.02;
    for (int i = 0; i < CELLS; i++) {
        y[2 * i] = 1 + sin(6.283185307179586 * (i + 1) / (CELLS + 1));
        y[2 * i + 1] = 3;
    }
    return s;
}

/* --- hares and lynxes (Lotka and Volterra) --------------------------------- */

static inline void hares(ad_rev t, const ad_rev *y, const ad_rev *p,
                         ad_rev *rate, void *ctx)
{
    ad_rev meet = ad_rec(ad_mul(y[0], y[1]));
    (void)t;
    (void)ctx;
    rate[0] = ad_rec(ad_sub(ad_mul(p[0], y[0]), ad_mul(p[1], meet)));
    rate[1] = ad_rec(ad_sub(ad_mul(p[3], meet), ad_mul(p[2], y[1])));
}

/* --- equations without time ------------------------------------------------ */

// Powell's badly scaled function: zero at 1.098159e-5, 9.106146 (More, Garbow
// and Hillstrom, No. 3). p: 1e4.
static inline void powell(const ad_rev *y, const ad_rev *p, ad_rev *r,
                          void *ctx)
{
    (void)ctx;
    r[0] = ad_rec(ad_sub(ad_mul(p[0], ad_mul(y[0], y[1])), 1));
    r[1] = ad_rec(ad_sub(ad_add(ad_exp(ad_neg(y[0])), ad_exp(ad_neg(y[1]))),
                         1.0001));
}

// Broyden's tridiagonal function (No. 30 there).
static inline void broyden(const ad_rev *y, const ad_rev *p, ad_rev *r,
                           void *ctx)
{
    const int n = *(const int *)ctx;
    (void)p;
    for (int i = 0; i < n; i++) {
        r[i] = ad_rec(ad_add(ad_mul(ad_sub(3, ad_mul(2, y[i])), y[i]), 1));
        if (i > 0)
            r[i] = ad_rec(ad_sub(r[i], y[i - 1]));
        if (i < n - 1)
            r[i] = ad_rec(ad_sub(r[i], ad_mul(2, y[i + 1])));
    }
}

#endif
