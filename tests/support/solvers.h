// SPDX-License-Identifier: MIT-0
/* solvers.h - what the tests of adapters of optimisers have in common: problems
 * with known solutions, models that fail, and differences in long double. Each
 * problem is written once for recorded numbers and once in long double.      */

#ifndef ADREV_TESTS_SOLVERS_H
#define ADREV_TESTS_SOLVERS_H

#include <stdlib.h>
#include <string.h>

typedef long double ld;

/* --- problems ------------------------------------------------------------ */

// Rosenbrock (1960): least at (1, 1), where it is 0. From (-1.2, 1).
static inline ad_rev rosenbrock(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_add(ad_sqr(ad_sub(1, x[0])),
                         ad_mul(100, ad_sqr(ad_sub(x[1], ad_sqr(x[0]))))));
}

static inline void rosenbrock_ld(const ld *x, ld *y, const void *ctx)
{
    (void)ctx;
    y[0] = (1 - x[0]) * (1 - x[0])
         + 100 * (x[1] - x[0] * x[0]) * (x[1] - x[0] * x[0]);
}

// No value where x0 < 0: least at (0.1, 1), where it is 1 + log 10.
static inline ad_rev wall(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_add(ad_sub(ad_mul(10, x[0]), ad_log(x[0])),
                         ad_sqr(ad_sub(x[1], 1))));
}

static const double wall_least = 3.3025850929940457;    // 1 + log 10

// The same with a statement of its own that fails where x0 <= 0.
static inline bool minus_log(const void *saved, const ad_external_point *at)
{
    const double x = at->x[0];
    (void)saved;
    if (x <= 0)
        return false;
    if (at->y != NULL)
        at->y[0] = -log(x);
    if (at->yd != NULL)
        at->yd[0] = -at->xd[0] / x;
    if (at->xb != NULL)
        at->xb[0] = -at->yb[0] / x;
    if (at->xbd != NULL)
        at->xbd[0] = -at->ybd[0] / x + at->yb[0] * at->xd[0] / (x * x);
    return true;
}

static inline bool minus_log_back(const void *saved, size_t m,
                                  const double dy[], size_t n, double dx[])
{
    (void)m;
    (void)n;
    dx[0] -= dy[0] / *(const double *)saved;
    return true;
}

static const ad_external_rule minus_log_rule
    = { .name = "minus_log", .pullback = minus_log_back, .replay = minus_log };

static inline ad_rev wall_external(const ad_rev *x, void *ctx)
{
    const double value = -log(x[0].v);
    ad_rev log_x;
    (void)ctx;
    ad_external(&minus_log_rule, &x[0].v, sizeof x[0].v, 1, x, 1, &value,
                &log_x);
    return ad_rec(ad_add(ad_add(ad_mul(10, x[0]), log_x),
                         ad_sqr(ad_sub(x[1], 1))));
}

// Two paths, with the same value and slope where they meet: least at (1, 1),
// where it is 0. On the path of x0 >= 2 the Hessian has no entry for x0.
static inline ad_rev two_paths(const ad_rev *x, void *ctx)
{
    int *runs = (int *)ctx;
    ad_rev y = ad_rec(ad_sqr(ad_sub(x[1], 1)));
    if (runs != NULL)
        ++*runs;
    if (ad_lt(x[0], 2))
        return ad_rec(ad_add(y, ad_sqr(ad_sub(x[0], 1))));
    return ad_rec(ad_add(y, ad_sub(ad_mul(2, x[0]), 3)));
}

// Reads x[0].v, which a recording does not see: ADREV_EFROZEN.
static inline ad_rev frozen(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_add(ad_mul(x[0].v, x[0]), ad_sqr(x[1])));
}

// Hock and Schittkowski (1981), No. 71: x0 x3 (x0 + x1 + x2) + x2, its product
// of all x at least 25, and its sum of squares 40. From (1, 5, 5, 1), 1 <= x <=
// 5.
static inline void hs071(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(ad_mul(x[0], x[3]),
                                ad_add(ad_add(x[0], x[1]), x[2])), x[2]));
    y[1] = ad_rec(ad_mul(ad_mul(x[0], x[1]), ad_mul(x[2], x[3])));
    y[2] = ad_rec(ad_add(ad_add(ad_sqr(x[0]), ad_sqr(x[1])),
                         ad_add(ad_sqr(x[2]), ad_sqr(x[3]))));
}

static inline void hs071_ld(const ld *x, ld *y, const void *ctx)
{
    (void)ctx;
    y[0] = x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2];
    y[1] = x[0] * x[1] * x[2] * x[3];
    y[2] = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
}

static const double hs071_least = 17.0140173;
static const double hs071_x[4] = { 1, 4.7429994, 3.8211503, 1.3794082 };

/* --- derivatives in long double ------------------------------------------ */

typedef void solvers_ld(const ld *x, ld *y, const void *ctx);

enum { SOLVERS_MOST = 64 };         // inputs, and outputs

// J[i*n + j] by central differences of order 6: errors of about 1e-14.
static inline void difference_jacobian(solvers_ld *f, const void *ctx,
                                       size_t n, const double x[], size_t m,
                                       ld J[])
{
    static const ld weight[3] = { 45.0L / 60, -9.0L / 60, 1.0L / 60 };
    ld at[SOLVERS_MOST], above[SOLVERS_MOST], below[SOLVERS_MOST];
    for (size_t j = 0; j < n; j++) {
        const ld h = 1e-3L * (fabsl((ld)x[j]) + 0.1L);
        for (size_t i = 0; i < m; i++)
            J[i * n + j] = 0;
        for (int k = 1; k <= 3; k++) {
            for (size_t i = 0; i < n; i++)
                at[i] = (ld)x[i];
            at[j] = (ld)x[j] + k * h;
            f(at, above, ctx);
            at[j] = (ld)x[j] - k * h;
            f(at, below, ctx);
            for (size_t i = 0; i < m; i++)
                J[i * n + j] += weight[k - 1] * (above[i] - below[i]) / h;
        }
    }
}

// Second derivatives along v, of order 6.
static inline void difference_bend(solvers_ld *f, const void *ctx, size_t n,
                                   const double x[], const double v[], size_t m,
                                   ld bend[])
{
    static const ld weight[4] = { -49.0L / 18, 1.5L, -0.15L, 1.0L / 90 };
    const ld h = 1e-3L;
    ld at[SOLVERS_MOST], y[SOLVERS_MOST];
    for (size_t i = 0; i < m; i++)
        bend[i] = 0;
    for (int k = -3; k <= 3; k++) {
        for (size_t j = 0; j < n; j++)
            at[j] = (ld)x[j] + k * h * (ld)v[j];
        f(at, y, ctx);
        for (size_t i = 0; i < m; i++)
            bend[i] += weight[abs(k)] * y[i] / (h * h);
    }
}

// Whether all are near: relative to the largest.
static inline bool solvers_near(size_t n, const double got[], const ld want[],
                                ld relative)
{
    ld largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmaxl(largest, fabsl(want[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabsl((ld)got[i] - want[i]) <= relative * largest))
            return false;
    return true;
}

/* --- memory -------------------------------------------------------------- */

// An allocator that counts what it is asked for.
static long solvers_allocations;

static inline void *solvers_alloc(size_t bytes, void *user)
{
    (void)user;
    solvers_allocations++;
    return malloc(bytes);
}

static inline void solvers_free(void *block, void *user)
{
    (void)user;
    free(block);
}

static inline ad_fn *solvers_record(ad_vector_fn *f, void *ctx, size_t n,
                                    const double x[], size_t m)
{
    static const ad_allocator counts = { solvers_alloc, solvers_free, NULL };
    const ad_fn_options options = { .allocator = &counts };
    ad_fn *fn = NULL;
    return ad_fn_record_with(&fn, &options, f, ctx, n, x, m) == ADREV_OK ? fn
                                                                         : NULL;
}

/* --- rates of differential equations --------------------------------------- */

// y' = -1 / sqrt(y): no value below 0, which y reaches at t = 2/3.
static inline void sinking(ad_rev t, const ad_rev *y, const ad_rev *p,
                           ad_rev *rate, void *ctx)
{
    (void)t;
    (void)p;
    (void)ctx;
    rate[0] = ad_rec(ad_neg(ad_div(1, ad_sqrt(y[0]))));
}

// Reads y as a plain number: no recorded function.
static inline void frozen_rate(ad_rev t, const ad_rev *y, const ad_rev *p,
                               ad_rev *rate, void *ctx)
{
    (void)t;
    (void)p;
    (void)ctx;
    rate[0] = ad_rec(ad_mul(y[0].v, y[0]));
}

#endif
