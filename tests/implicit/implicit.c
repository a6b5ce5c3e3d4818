// SPDX-License-Identifier: MIT-0
// tags: recorded slow
/* implicit.c - solutions as one statement: closed forms, random systems against
 * total differences in long double and against Newton's method on the tape;
 * second derivatives; the user's solvers; scans; what is no solution; memory
 * that runs out.                                                             */

#include "implementation.h"
#include "adrev_implicit.h"
#include "adrev_loop.h"
#include "check.h"
#include "heap.h"

#include <stdlib.h>

static ad_tape *tape;

#define EPS (sizeof(ad_real) == sizeof(float) ? 0x1p-23L : 0x1p-52L)
#define IS(status, want)                                                    \
    do {                                                                    \
        ad_status is = (status);                                            \
        CHECK(is == (want), "%s: %s", #status, ad_message(is));             \
    } while (0)

static ad_fn *record(ad_vector_fn *f, size_t n, const ad_real at[], size_t m)
{
    ad_fn *fn = NULL;
    IS(ad_fn_record(&fn, f, NULL, n, at, m), ADREV_OK);
    if (fn == NULL)
        exit(1);
    return fn;
}

static void begin(size_t n, const ad_real v[], ad_rev x[])
{
    ad_tape_clear(tape);
    ad_use(tape);
    ad_inputs(n, v, x);
}

/* --- Kepler's equation ------------------------------------------------------ */

static void kepler(const ad_rev *z, ad_rev *g, void *ctx)
{
    (void)ctx;
    g[0] = ad_rec(ad_sub(ad_sub(z[0], ad_mul(z[1], ad_sin(z[0]))), z[2]));
}

// E - e sin E = M by a fixed point, in long double.
static long double anomaly(long double e, long double M)
{
    long double E = M;
    for (int i = 0; i < 200; i++)
        E = M + e * sinl(E);
    return E;
}

// y = E^2, solved inside: plain numbers of the parameters, a statement.
static void orbit(const ad_rev *p, ad_rev *y, void *ctx)
{
    const ad_real E = (ad_real)anomaly((long double)p[0].v,
                                       (long double)p[1].v);
    const ad_implicit_desc d = { .g = ctx, .n = 1, .x = &E };
    ad_rev x;
    ad_implicit(&d, p, &x);
    y[0] = ad_rec(ad_sqr(x));
}

// E = E(e, M): E' = (sin E, 1) / (1 - e cos E), and the second derivatives.
static void kepler_closed(const ad_real p[2], long double g[2],
                          long double H[4])
{
    long double e = (long double)p[0];
    long double E = anomaly(e, (long double)p[1]);
    long double s = sinl(E), c = cosl(E), u = 1 - e * c;
    long double de = s / u, dM = 1 / u;
    long double dee = (2 * c * de - e * s * de * de) / u;
    long double deM = (c * dM - e * s * de * dM) / u;
    long double dMM = -e * s * dM * dM / u;
    g[0] = 2 * E * de;
    g[1] = 2 * E * dM;
    H[0] = 2 * (de * de + E * dee);
    H[1] = H[2] = 2 * (de * dM + E * deM);
    H[3] = 2 * (dM * dM + E * dMM);
}

static void test_kepler(void)
{
    const ad_real at[3] = { 1, (ad_real)0.5, 1 };
    const ad_real p[2][2] = { { (ad_real)0.3, (ad_real)1.2 },
                              { (ad_real)0.6, (ad_real)2.5 } };
    const ad_real one = 1;
    long double want[2], second[4];
    ad_real g[2], H[4], y;
    ad_rev X[2], Y;
    ad_fn *equation = record(kepler, 3, at, 1);
    ad_fn *fn = NULL;
    begin(2, p[0], X);
    orbit(X, &Y, equation);
    IS(ad_gradient(tape, Y, 2, X, g), ADREV_OK);
    kepler_closed(p[0], want, second);
    CHECK_NEAR(g[0], want[0], 16 * EPS);
    CHECK_NEAR(g[1], want[1], 16 * EPS);
    IS(ad_pushforward(tape, 2, X, g, 1, &Y, &y), ADREV_OK);
    CHECK_NEAR(y, want[0] * want[0] + want[1] * want[1], 16 * EPS);
    CHECK(ad_tape_stats(tape).statements == 2, "%zu statements",
          ad_tape_stats(tape).statements);
    ad_use(NULL);

    IS(ad_fn_record(&fn, orbit, equation, 2, p[0], 1), ADREV_OK);
    ad_fn_free(equation);                       // the function holds it
    for (int i = 0; i < 2; i++) {               // here, and elsewhere
        kepler_closed(p[i], want, second);
        IS(ad_fn_gradient(fn, p[i], &y, g), ADREV_OK);
        CHECK_NEAR(g[0], want[0], 64 * EPS);
        CHECK_NEAR(g[1], want[1], 64 * EPS);
        IS(ad_fn_hessian(fn, p[i], &one, H), ADREV_OK);
        for (int k = 0; k < 4; k++)
            CHECK_NEAR(H[k], second[k], 256 * EPS);
    }
    ad_fn_free(fn);
}

/* --- circle, logistic map --------------------------------------------------- */

// The point of a circle of radius r on the line y = a x.
static void circle(const ad_rev *z, ad_rev *g, void *ctx)
{
    (void)ctx;
    g[0] = ad_rec(ad_sub(ad_add(ad_sqr(z[0]), ad_sqr(z[1])), ad_sqr(z[2])));
    g[1] = ad_rec(ad_sub(z[1], ad_mul(z[3], z[0])));
}

static void test_circle(void)
{
    const ad_real p[2] = { 5, (ad_real)0.75 };          // r, a: x = (4, 3)
    const ad_real x[2] = { 4, 3 };
    const ad_real at[4] = { 3, 4, 5, 1 };
    ad_real J[4];
    ad_rev P[2], X[2];
    ad_fn *g = record(circle, 4, at, 2);
    const ad_implicit_desc d = { .g = g, .n = 2, .x = x };
    begin(2, p, P);
    IS(ad_implicit(&d, P, X), ADREV_OK);
    IS(ad_jacobian(tape, 2, X, 2, P, J), ADREV_OK);
    CHECK_NEAR(J[0], 0.8L, 8 * EPS);            // x = r / sqrt(1 + a a)
    CHECK_NEAR(J[1], -5 * 0.75L / powl(1 + 0.5625L, 1.5L), 8 * EPS);
    CHECK_NEAR(J[2], 0.6L, 8 * EPS);
    CHECK_NEAR(J[3], 5 / powl(1 + 0.5625L, 1.5L), 8 * EPS);

    // in the place of the parameters, and constants
    IS(ad_implicit(&d, P, P), ADREV_OK);
    CHECK(P[0].v == 4 && P[1].v == 3 && P[0].job != 0, "%g", (double)P[0].v);
    const ad_rev constant[2] = { { p[0], 0, 0 }, { p[1], 0, 0 } };
    IS(ad_implicit(&d, constant, X), ADREV_OK);
    CHECK(X[0].v == 4 && X[0].job == 0, "%g", (double)X[0].v);
    ad_use(NULL);
    IS(ad_implicit(&d, constant, X), ADREV_OK);
    ad_fn_free(g);
}

static void logistic(const ad_rev *z, ad_rev *g, void *ctx)
{
    (void)ctx;
    g[0] = ad_rec(ad_sub(z[0], ad_mul(z[1], ad_mul(z[0], ad_sub(1, z[0])))));
}

static ad_rev at_fixed_point(const ad_rev *p, void *ctx)
{
    const ad_real x = 1 - 1 / p[0].v;           // of x = r x (1 - x)
    const ad_implicit_desc d = { .g = ctx, .n = 1, .x = &x };
    ad_rev y;
    ad_implicit(&d, p, &y);
    return y;
}

static void test_logistic(void)
{
    const ad_real r = (ad_real)2.8, at[2] = { (ad_real)0.4, 2 };
    ad_real y = 0, g = 0;
    ad_fn *fn = record(logistic, 2, at, 1);
    IS(ad_grad(at_fixed_point, fn, 1, &r, &y, &g), ADREV_OK);
    CHECK_NEAR(g, 1 / ((long double)r * (long double)r), 32 * EPS);
    const ad_real one = 1;                      // where x = 0 is a double root
    CHECK(ad_grad(at_fixed_point, fn, 1, &one, &y, &g) == ADREV_ESINGULAR,
          "a double root");
    ad_fn_free(fn);
}

/* --- ridge regression: a minimum, and its hyperparameter --------------------- */

enum { ROWS = 6, COLS = 2 };

static const double design[ROWS][COLS] = { { 1, 0.2 }, { 1, 0.9 }, { 1, 1.7 },
                                           { 1, 2.1 }, { 1, 3.3 }, { 1, 3.9 } };
static const double seen[ROWS] = { 1.1, 1.9, 2.2, 3.4, 3.9, 5.2 };

// sum (A w - b)^2 + exp(l) w'w
static void ridge(const ad_rev *z, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev sum = ad_rec(ad_mul(ad_exp(z[COLS]),
                               ad_add(ad_sqr(z[0]), ad_sqr(z[1]))));
    for (int i = 0; i < ROWS; i++)
        ad_acc(&sum, ad_sqr(ad_sub(ad_add(ad_mul(z[0], design[i][0]),
                                          ad_mul(z[1], design[i][1])),
                                   seen[i])));
    y[0] = sum;
}

// w = (A'A + exp(l))^-1 A'b
static void weights(long double l, long double w[COLS])
{
    long double a = expl(l), b = 0, d = expl(l), u = 0, v = 0;
    for (int i = 0; i < ROWS; i++) {
        const long double f[3] = { (long double)design[i][0],
                                   (long double)design[i][1],
                                   (long double)seen[i] };
        a += f[0] * f[0];
        b += f[0] * f[1];
        d += f[1] * f[1];
        u += f[0] * f[2];
        v += f[1] * f[2];
    }
    w[0] = (d * u - b * v) / (a * d - b * b);
    w[1] = (a * v - b * u) / (a * d - b * b);
}

// What the weights predict at 5.
static void prediction(const ad_rev *p, ad_rev *y, void *ctx)
{
    long double w[COLS];
    weights((long double)p[0].v, w);
    const ad_real x[COLS] = { (ad_real)w[0], (ad_real)w[1] };
    const ad_implicit_desc d = { .g = ctx, .n = COLS, .x = x };
    ad_rev W[COLS];
    ad_implicit(&d, p, W);
    y[0] = ad_rec(ad_add(W[0], ad_mul(5, W[1])));
}

static long double predicted(long double l)
{
    long double w[COLS];
    weights(l, w);
    return w[0] + 5 * w[1];
}

static void test_ridge(void)
{
    const ad_real at[3] = { 1, 1, 0 }, l = (ad_real)0.4, one = 1;
    const long double h = 1e-3L;
    ad_real g = 0, H = 0, y = 0;
    ad_fn *objective = record(ridge, 3, at, 1);
    ad_fn *gradient = NULL;
    IS(ad_fn_derive_gradient(&gradient, objective, COLS), ADREV_OK);
    ad_fn_free(objective);
    ad_fn *fn = NULL;
    IS(ad_fn_record(&fn, prediction, gradient, 1, &at[2], 1), ADREV_OK);
    ad_fn_free(gradient);
    IS(ad_fn_gradient(fn, &l, &y, &g), ADREV_OK);
    IS(ad_fn_hessian(fn, &l, &one, &H), ADREV_OK);
    long double f[5];
    for (int i = 0; i < 5; i++)
        f[i] = predicted((long double)l + (i - 2) * h);
    CHECK_NEAR(y, f[2], 64 * EPS);
    CHECK_NEAR(g, (f[0] - 8 * f[1] + 8 * f[3] - f[4]) / (12 * h),
               fmaxl(1e-10L, 256 * EPS));
    CHECK_NEAR(H, (-f[0] + 16 * f[1] - 30 * f[2] + 16 * f[3] - f[4])
                      / (12 * h * h), fmaxl(1e-7L, 4096 * EPS));
    ad_fn_free(fn);
}

static void test_derive(void)
{
    const ad_real at[3] = { 1, 1, 0 }, x[3] = { 2, -1, (ad_real)0.5 };
    const ad_real one = 1;
    ad_real g[3], want[3], J[9], H[9], c[3];
    ad_fn *f = record(ridge, 3, at, 1);
    ad_fn *d = NULL, *dd = NULL, *other = NULL;
    IS(ad_fn_derive_gradient(&d, f, 3), ADREV_OK);
    CHECK(ad_fn_inputs(d) == 3 && ad_fn_outputs(d) == 3, "sizes");
    IS(ad_fn_eval(d, x, g), ADREV_OK);
    IS(ad_fn_gradient(f, x, NULL, want), ADREV_OK);
    IS(ad_fn_jacobian(d, x, J), ADREV_OK);
    IS(ad_fn_hessian(f, x, &one, H), ADREV_OK);
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(g[i], want[i], 8 * EPS);
    for (int i = 0; i < 9; i++)
        CHECK_NEAR(J[i], H[i], 8 * EPS);
    // a derivative of the third order: d/dw0 of the gradient by the first input
    IS(ad_fn_derive_gradient(&other, f, 1), ADREV_OK);
    IS(ad_fn_derive_gradient(&dd, other, 3), ADREV_OK);
    IS(ad_fn_jvp(dd, x, (const ad_real[3]){ 0, 0, 1 }, c), ADREV_OK);
    CHECK_NEAR(c[0], 2 * expl((long double)x[2]), 8 * EPS);
    CHECK_NEAR(c[2], 2 * expl((long double)x[2]) * 2, 8 * EPS);
    ad_fn_free(dd);
    IS(ad_fn_derive_gradient(&dd, d, 3), ADREV_ESHAPE);
    CHECK(dd == NULL, "not NULL");
    IS(ad_fn_derive_gradient(&dd, f, 4), ADREV_ESHAPE);
    IS(ad_fn_derive_gradient(&dd, f, 0), ADREV_ESHAPE);
    IS(ad_fn_derive_gradient(&dd, NULL, 1), ADREV_ESHAPE);
    IS(ad_fn_derive_gradient(NULL, f, 1), ADREV_ESHAPE);
    ad_fn_free(other);
    ad_fn_free(d);
    ad_fn_free(f);
}

// Guards stay guards.
static void branching(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_gt(x[0], 1.0) ? ad_rec(ad_sqr(x[0])) : ad_rec(ad_mul(3, x[0]));
}

static void test_derived_guards(void)
{
    const ad_real high = 2, low = 0;
    ad_real g = 7;
    ad_fn *f = record(branching, 1, &high, 1), *d = NULL;
    IS(ad_fn_derive_gradient(&d, f, 1), ADREV_OK);
    ad_fn_free(f);
    IS(ad_fn_eval(d, &high, &g), ADREV_OK);
    CHECK_CLOSE(g, 4, 0);
    IS(ad_fn_eval(d, &low, &g), ADREV_EPATH);
    CHECK(ad_fn_guard().index == 0 && g == 4, "guard %zu", ad_fn_guard().index);
    CHECK(ad_fn_about(d).guards == 1, "%zu guards", ad_fn_about(d).guards);
    IS(ad_fn_derive_gradient(&f, d, 1), ADREV_OK);      // of the gradient
    ad_fn_free(d);
    IS(ad_fn_eval(f, &high, &g), ADREV_OK);
    CHECK_CLOSE(g, 2, 0);
    IS(ad_fn_eval(f, &low, &g), ADREV_EPATH);
    ad_fn_free(f);
}

/* --- random systems ---------------------------------------------------------- */

enum { N_MOST = 12, Q = 3 };

static uint32_t seed = 1;

static double uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / 8388608 - 1;
}

// g[i] = (3 + i) x[i] + x[i]^3 + sum of a sin(x[j] p[k]) over neighbours - p.
// Sparse: j is i - 1, i, i + 1.
typedef struct system {
    size_t n;
    double a[N_MOST][3];
} system_;

static void equations(const ad_rev *z, ad_rev *g, void *ctx)
{
    const system_ *s = ctx;
    const ad_rev *p = z + s->n;
    for (size_t i = 0; i < s->n; i++) {
        g[i] = ad_rec(ad_sub(ad_add(ad_mul(3.0 + (double)i, z[i]),
                                    ad_mul(z[i], ad_sqr(z[i]))), p[i % Q]));
        for (size_t k = 0; k < 3; k++)
            if (i + k >= 1 && i + k <= s->n)
                ad_acc(&g[i], ad_mul(s->a[i][k],
                                     ad_sin(ad_mul(z[i + k - 1], p[k]))));
    }
}

static void long_equations(const system_ *s, const long double x[],
                           const long double p[Q], long double g[],
                           long double J[N_MOST][N_MOST])
{
    memset(J, 0, sizeof(long double) * N_MOST * N_MOST);
    for (size_t i = 0; i < s->n; i++) {
        g[i] = (3 + (long double)i) * x[i] + x[i] * x[i] * x[i] - p[i % Q];
        J[i][i] = 3 + (long double)i + 3 * x[i] * x[i];
        for (size_t k = 0; k < 3; k++)
            if (i + k >= 1 && i + k <= s->n) {
                size_t j = i + k - 1;
                g[i] += (long double)s->a[i][k] * sinl(x[j] * p[k]);
                J[i][j] += (long double)s->a[i][k] * p[k] * cosl(x[j] * p[k]);
            }
    }
}

// Newton's method in long double; the diagonal dominates.
static void long_solution(const system_ *s, const long double p[Q],
                          long double x[])
{
    long double g[N_MOST], J[N_MOST][N_MOST];
    for (size_t i = 0; i < s->n; i++)
        x[i] = 0;
    for (int step = 0; step < 30; step++) {
        long_equations(s, x, p, g, J);
        for (size_t k = 0; k < s->n; k++)
            for (size_t i = k + 1; i < s->n; i++) {
                long double l = J[i][k] / J[k][k];
                for (size_t j = k; j < s->n; j++)
                    J[i][j] -= l * J[k][j];
                g[i] -= l * g[k];
            }
        for (size_t i = s->n; i-- > 0;) {
            for (size_t j = i + 1; j < s->n; j++)
                g[i] -= J[i][j] * g[j];
            g[i] /= J[i][i];
        }
        for (size_t i = 0; i < s->n; i++)
            x[i] -= g[i];
    }
}

typedef struct solving {
    const system_ *s;
    ad_fn *g;
    const ad_implicit_solver *solver;
    bool find;
    int finds;
    bool bent;                  // x + x^2/2: adjoints of x have tangents
} solving;

static int factored;                // by the sparse solver

static bool find_solution(void *user, const ad_real p[], ad_real x[])
{
    solving *k = user;
    long double P[Q], X[N_MOST];
    for (int i = 0; i < Q; i++)
        P[i] = (long double)p[i];
    long_solution(k->s, P, X);
    for (size_t i = 0; i < k->s->n; i++)
        x[i] = (ad_real)X[i];
    k->finds++;
    return true;
}

static void solution(const ad_rev *p, ad_rev *x, void *ctx)
{
    solving *k = ctx;
    ad_real P[Q], X[N_MOST];
    for (int i = 0; i < Q; i++)
        P[i] = p[i].v;
    find_solution(k, P, X);
    const ad_implicit_desc d = {
        .g = k->g, .n = k->s->n, .x = X, .solver = k->solver,
        .find = k->find ? find_solution : NULL, .user = k
    };
    ad_implicit(&d, p, x);
    for (size_t i = 0; k->bent && i < k->s->n; i++)
        x[i] = ad_rec(ad_add(x[i], ad_mul(0.5, ad_sqr(x[i]))));
}

// The same by steps of Newton's method on the tape, with g's own diagonal.
static void unrolled(const ad_rev *p, ad_rev *x, void *ctx)
{
    const solving *k = ctx;
    ad_rev z[N_MOST + Q], g[N_MOST];
    for (size_t i = 0; i < k->s->n; i++)
        z[i] = ad_rec(0.0);
    memcpy(z + k->s->n, p, Q * sizeof *p);
    for (int step = 0; step < 60; step++) {
        equations(z, g, (void *)(uintptr_t)k->s);
        for (size_t i = 0; i < k->s->n; i++)
            z[i] = ad_rec(ad_sub(z[i], ad_div(g[i], ad_add(3.0 + (double)i,
                                              ad_mul(3, ad_sqr(z[i]))))));
    }
    memcpy(x, z, k->s->n * sizeof *x);
}

// w x(p + a v)
static long double along(const solving *k, const ad_real p[Q],
                         const ad_real v[Q], long double a, const ad_real w[])
{
    const system_ *s = k->s;
    long double P[Q], X[N_MOST], sum = 0;
    for (int i = 0; i < Q; i++)
        P[i] = (long double)p[i] + a * (long double)v[i];
    long_solution(s, P, X);
    for (size_t i = 0; i < s->n; i++)
        sum += (long double)w[i] * (k->bent ? X[i] + X[i] * X[i] / 2 : X[i]);
    return sum;
}

static long double inner(size_t n, const ad_real a[], const ad_real b[])
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (long double)a[i] * (long double)b[i];
    return sum;
}

static system_ random_system(size_t n)
{
    system_ s = { .n = n };
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            s.a[i][k] = uniform() * 0.8;
    return s;
}

static void random_vector(size_t n, ad_real x[])
{
    for (size_t i = 0; i < n; i++)
        x[i] = (ad_real)uniform();
}

#define NEAR(what, got, want, relative)                                     \
    CHECK(fabsl((long double)(got) - (long double)(want))                   \
              <= (long double)(relative) * (1 + fabsl((long double)(want))), \
          "%s, n = %zu: got %.15Lg, want %.15Lg", what, k->s->n,            \
          (long double)(got), (long double)(want))

static void check_sweeps(solving *k, const ad_real p[Q], const ad_real v[Q],
                         const ad_real w[], bool by_steps)
{
    ad_real xd[2][N_MOST], pb[2][Q], J[N_MOST * Q], row[Q];
    ad_rev P[Q], X[N_MOST];
    for (int i = 0; i < 1 + by_steps; i++) {
        begin(Q, p, P);
        (i == 0 ? solution : unrolled)(P, X, k);
        IS(ad_tape_status(tape), ADREV_OK);
        IS(ad_pushforward(tape, Q, P, v, k->s->n, X, xd[i]), ADREV_OK);
        IS(ad_pullback(tape, k->s->n, X, w, Q, P, pb[i]), ADREV_OK);
        if (i > 0)
            break;
        IS(ad_jacobian(tape, k->s->n, X, Q, P, J), ADREV_OK);   // rows at once
        for (size_t j = 0; j < k->s->n; j++) {
            IS(ad_gradient(tape, X[j], Q, P, row), ADREV_OK);
            for (size_t c = 0; c < Q; c++)   // perhaps by columns
                NEAR("rows", J[j * Q + c], row[c], 64 * EPS);
        }
    }
    long double tangent = inner(k->s->n, w, xd[0]);
    NEAR("<w, J v>", inner(Q, pb[0], v), tangent, 64 * EPS);
    if (by_steps) {
        NEAR("unrolled, forwards", tangent, inner(k->s->n, w, xd[1]),
             1e5L * EPS);
        for (int i = 0; i < Q; i++)
            NEAR("unrolled, backwards", pb[0][i], pb[1][i], 1e5L * EPS);
    }
    const long double h = 1e-3L;
    NEAR("difference", tangent,
         (along(k, p, v, -2 * h, w) - 8 * along(k, p, v, -h, w)
          + 8 * along(k, p, v, h, w) - along(k, p, v, 2 * h, w))
             / (12 * h), fmaxl(1e-10L, 64 * EPS));
    ad_use(NULL);
}

// Jacobian and Hessian at p are what directions give one by one. For all of
// them the equations are solved, and the matrix is factored, twice at most: for
// values, and for derivatives.
static void check_abreast(ad_fn *fn, solving *k, const ad_real p[Q],
                          const ad_real w[], const ad_real v[Q],
                          const ad_real x[])
{
    const size_t n = k->s->n;
    ad_real J[N_MOST * Q], H[Q * Q], Jv[N_MOST], hv[Q];
    int before = k->finds, made = factored;
    IS(ad_fn_jacobian(fn, p, J), ADREV_OK);
    CHECK(k->finds <= before + 2, "J: %d finds", k->finds - before);
    CHECK(!k->find || factored <= made + 2, "J: %d times factored",
          factored - made);
    before = k->finds;
    IS(ad_fn_hessian(fn, p, w, H), ADREV_OK);
    CHECK(k->finds <= before + 2, "H: %d finds", k->finds - before);
    IS(ad_fn_jvp(fn, p, v, Jv), ADREV_OK);
    IS(ad_fn_hvp(fn, p, w, v, hv), ADREV_OK);
    for (size_t i = 0; i < n; i++)
        NEAR("J", inner(Q, J + i * Q, v), Jv[i],
             64 * EPS * (1 + fabsl((long double)x[i])));
    for (size_t i = 0; i < Q; i++)
        NEAR("H", inner(Q, H + i * Q, v), hv[i], 256 * EPS);
}

static void check_recorded(solving *k, const ad_real at[Q], const ad_real p[Q],
                           const ad_real v[Q], const ad_real w[])
{
    ad_real x[N_MOST], want[N_MOST], pb[Q], hv[Q], hu[Q], u[Q];
    ad_rev P[Q], X[N_MOST];
    ad_fn *fn = NULL;
    k->bent = true;
    IS(ad_fn_record(&fn, solution, k, Q, at, k->s->n), ADREV_OK);
    random_vector(Q, u);
    int finds = k->finds;
    begin(Q, at, P);
    solution(P, X, k);
    ad_use(NULL);
    IS(ad_fn_eval(fn, at, x), ADREV_OK);
    for (size_t i = 0; i < k->s->n; i++)
        CHECK(x[i] == X[i].v, "other bits where it was recorded");
    IS(ad_fn_eval(fn, p, x), ADREV_OK);
    CHECK((k->finds > finds + 1) == k->find, "%d finds", k->finds - finds);
    find_solution(k, p, want);
    for (size_t i = 0; i < k->s->n; i++)
        NEAR("found again", x[i], want[i] + want[i] * want[i] / 2, 16 * EPS);
    IS(ad_fn_vjp(fn, p, w, pb), ADREV_OK);
    IS(ad_fn_hvp(fn, p, w, v, hv), ADREV_OK);
    IS(ad_fn_hvp(fn, p, w, u, hu), ADREV_OK);
    NEAR("H is symmetric", inner(Q, hv, u), inner(Q, hu, v), 64 * EPS);
    const long double h = 2e-3L;
    NEAR("difference elsewhere", inner(Q, pb, v),
         (along(k, p, v, -2 * h, w) - 8 * along(k, p, v, -h, w)
          + 8 * along(k, p, v, h, w) - along(k, p, v, 2 * h, w))
             / (12 * h), fmaxl(1e-8L, 64 * EPS));
    NEAR("second difference", inner(Q, hv, v),
         (16 * (along(k, p, v, h, w) + along(k, p, v, -h, w))
          - along(k, p, v, 2 * h, w) - along(k, p, v, -2 * h, w)
          - 30 * along(k, p, v, 0, w)) / (12 * h * h),
         fmaxl(1e-7L, 64 * EPS));
    check_abreast(fn, k, p, w, v, x);
    ad_fn_free(fn);
}

/* --- solvers of the user's ---------------------------------------------------- */

static int live;                    // factors that are not released
static bool refuse_factors;
static bool refuse_solve;

typedef struct factors {
    long double J[N_MOST][N_MOST];
} factors;

// Of a sparse matrix: all of it as rows of long double.
static void *make_factors(void *user, const ad_implicit_matrix *J)
{
    factors *f = refuse_factors ? NULL : calloc(1, sizeof *f);
    (void)user;
    if (f == NULL)
        return NULL;
    CHECK(J->start[J->n] == J->nonzeros && J->nonzeros <= 3 * J->n
              && J->nonzeros >= J->n, "%zu entries", J->nonzeros);
    for (size_t i = 0; i < J->n; i++)
        for (size_t e = J->start[i]; e < J->start[i + 1]; e++) {
            CHECK(J->column[e] < J->n && (e == J->start[i]
                  || J->column[e] > J->column[e - 1]), "column %zu",
                  J->column[e]);
            f->J[i][J->column[e]] = (long double)J->value[e];
        }
    live++;
    factored++;
    return f;
}

static void release_factors(void *user, void *made)
{
    (void)user;
    free(made);
    live--;
}

// By Gauss-Seidel, as many sweeps as it takes.
static bool by_factors(void *user, void *made, const ad_implicit_matrix *J,
                       bool transposed, ad_real r[])
{
    const factors *f = made;
    long double x[N_MOST] = { 0 };
    (void)user;
    for (int sweep = 0; sweep < 200; sweep++)
        for (size_t i = 0; i < J->n; i++) {
            long double sum = (long double)r[i];
            for (size_t j = 0; j < J->n; j++)
                if (j != i)
                    sum -= (transposed ? f->J[j][i] : f->J[i][j]) * x[j];
            x[i] = sum / f->J[i][i];
        }
    for (size_t i = 0; i < J->n; i++)
        r[i] = (ad_real)x[i];
    return !refuse_solve;
}

static const ad_implicit_solver sparse = {
    .sparse = true, .factor = make_factors, .solve = by_factors,
    .release = release_factors
};

// Without a matrix: conjugate gradients on the normal equations.
static bool by_products(void *user, void *made, const ad_implicit_matrix *J,
                        bool transposed, ad_real b[])
{
    ad_real x[N_MOST] = { 0 }, s[N_MOST], p[N_MOST], q[N_MOST];
    (void)user;
    CHECK(made == NULL && J->value == NULL, "a matrix nobody asked for");
    bool ok = ad_implicit_times(J, !transposed, b, s) == ADREV_OK;
    memcpy(p, s, sizeof p);
    long double norm = inner(J->n, s, s);
    for (int i = 0; ok && i < 100 && norm > 0; i++) {
        ok = ad_implicit_times(J, transposed, p, q) == ADREV_OK;
        ad_real a = (ad_real)(norm / inner(J->n, q, q));
        for (size_t j = 0; j < J->n; j++) {
            x[j] += a * p[j];
            b[j] -= a * q[j];
        }
        ok = ok && ad_implicit_times(J, !transposed, b, s) == ADREV_OK;
        long double next = inner(J->n, s, s);
        for (size_t j = 0; j < J->n; j++)
            p[j] = s[j] + (ad_real)(next / norm) * p[j];
        norm = next;
    }
    memcpy(b, x, J->n * sizeof *x);
    return ok;
}

static const ad_implicit_solver products = { .solve = by_products };

static void test_systems(void)
{
    static const size_t sizes[] = { 1, 2, 5, N_MOST };
    const ad_implicit_solver *const solvers[] = { NULL, &sparse, &products };
    for (size_t i = 0; i < 4; i++)
        for (int how = 0; how < 3; how++) {
            ad_real at[Q], p[Q], v[Q], w[N_MOST], z[N_MOST + Q];
            system_ s = random_system(sizes[i]);
            random_vector(Q, at);
            random_vector(Q, p);
            random_vector(Q, v);
            random_vector(N_MOST, w);
            random_vector(N_MOST + Q, z);
            ad_fn *g = NULL;
            IS(ad_fn_record(&g, equations, &s, s.n + Q, z, s.n), ADREV_OK);
            solving k = { &s, g, solvers[how], how == 1, 0, false };
            check_sweeps(&k, p, v, w, how == 0);
            check_recorded(&k, at, p, v, w);
            ad_tape_clear(tape);
            ad_fn_free(g);
            CHECK(live == 0, "%d factors are not released", live);
        }
    CHECK(factored > 0, "nothing was factored");
}

/* --- in a loop ---------------------------------------------------------------- */

// An implicit step of Euler's method: u' = -u^3 + p, u + h (u^3 - p) - before =
// 0.
static void euler(const ad_rev *z, ad_rev *g, void *ctx)
{
    (void)ctx;
    g[0] = ad_rec(ad_sub(ad_add(z[0], ad_mul(0.1, ad_sub(ad_mul(z[0],
                                  ad_sqr(z[0])), z[2]))), z[1]));
}

static void euler_step(ad_step *s, void *ctx)
{
    const ad_rev p[2] = { s->state[0][0], s->parameter[0] };
    double u = (double)p[0].v;
    for (int i = 0; i < 50; i++)
        u -= (u + 0.1 * (u * u * u - (double)p[1].v) - (double)p[0].v)
           / (1 + 0.3 * u * u);
    const ad_real x = (ad_real)u;
    const ad_implicit_desc d = { .g = ctx, .n = 1, .x = &x };
    ad_implicit(&d, p, &s->next[0][0]);
}

static long double long_euler(long double u0, long double p)
{
    long double u = u0;
    for (int step = 0; step < 20; step++) {
        long double before = u;
        for (int i = 0; i < 50; i++)
            u -= (u + 0.1L * (u * u * u - p) - before) / (1 + 0.3L * u * u);
    }
    return u;
}

static void test_scan(void)
{
    const ad_real at[3] = { 1, 1, 1 }, v[2] = { 2, (ad_real)0.5 };
    const long double h = 1e-3L;
    ad_fn *g = record(euler, 3, at, 1);
    for (int kept = 1; kept <= 20; kept += 19) {
        ad_rev x[2], y;
        ad_real d[2];
        begin(2, v, x);
        const ad_scan_state state = { .size = 1, .initial = &x[0], .last = &y };
        const ad_scan_desc loop = {
            .step = euler_step, .ctx = g, .steps = 20, .states = 1,
            .state = &state, .parameters = 1, .parameter = &x[1],
            .schedule = { ADREV_EVERY, (size_t)kept, NULL }
        };
        ad_scan_report report;
        ad_ignore(ad_scan(&loop, &report));
        IS(ad_gradient(tape, y, 2, x, d), ADREV_OK);
        for (int i = 0; i < 2; i++) {
            long double a = i == 0 ? h : 0, b = i == 0 ? 0 : h, sum = 0;
            const long double c[2] = { 8, -1 };
            for (int k = 0; k < 2; k++)
                sum += c[k] * (long_euler(2 + (k + 1) * a, 0.5L + (k + 1) * b)
                               - long_euler(2 - (k + 1) * a,
                                            0.5L - (k + 1) * b));
            CHECK_NEAR(d[i], sum / (12 * h), fmaxl(1e-9L, 64 * EPS));
        }
        ad_use(NULL);
    }
    ad_fn_free(g);
}

/* --- failures ------------------------------------------------------------------ */

static void branch_equation(const ad_rev *z, ad_rev *g, void *ctx)
{
    (void)ctx;
    g[0] = ad_gt(z[0], 0.0) ? ad_rec(ad_sub(z[0], z[1]))
                            : ad_rec(ad_sub(ad_mul(2, z[0]), z[1]));
}

#define FAILS(desc, p_, want, why)                                          \
    do {                                                                    \
        begin(2, v, P);                                                     \
        IS(ad_implicit(desc, p_, X), want);                                 \
        IS(ad_tape_status(tape), want);                                     \
        CHECK(strstr(ad_tape_reason(tape), why) != NULL, "%s",              \
              ad_tape_reason(tape));                                        \
    } while (0)

static void test_failures(void)
{
    const ad_real at[4] = { 3, 4, 5, 1 }, v[2] = { 5, (ad_real)0.75 };
    const ad_real x[2] = { 4, 3 }, off[2] = { 4, (ad_real)3.1 };
    const ad_real zero[2] = { 0, 0 }, nan[2] = { (ad_real)NAN, 3 };
    const ad_implicit_solver nothing = { .sparse = true };
    ad_rev P[2], X[2];
    ad_fn *g = record(circle, 4, at, 2);
    ad_implicit_desc d = { .g = g, .n = 2, .x = off };
    FAILS(&d, P, ADREV_EUNSOLVED, "no solution");
    CHECK(isnan(X[0].v) && X[0].job == 0, "%g", (double)X[0].v);
    d.tolerance = (ad_real)0.1;                 // if the user says so
    begin(2, v, P);
    IS(ad_implicit(&d, P, X), ADREV_OK);
    d.scale = (ad_real)0.01;
    FAILS(&d, P, ADREV_EUNSOLVED, "no solution");
    d = (ad_implicit_desc){ .g = g, .n = 2, .x = zero };
    FAILS(&d, P, ADREV_ESINGULAR, "singular");
    d.x = nan;
    FAILS(&d, P, ADREV_EUNSOLVED, "no solution");
    d = (ad_implicit_desc){ .g = g, .n = 1, .x = x };
    FAILS(&d, P, ADREV_ESHAPE, "");
    d = (ad_implicit_desc){ .g = g, .n = 2 };
    FAILS(&d, P, ADREV_ESHAPE, "");
    const size_t some[] = { 0, 1 };
    ad_fn *chosen = NULL;
    IS(ad_fn_select(&chosen, g, 2, some, 0, NULL), ADREV_OK);
    d = (ad_implicit_desc){ .g = chosen, .n = 2, .x = x };
    FAILS(&d, P, ADREV_ESHAPE, "");
    ad_fn_free(chosen);
    d = (ad_implicit_desc){ .g = g, .n = 2, .x = x, .solver = &nothing };
    FAILS(&d, P, ADREV_ESHAPE, "");
    d.solver = NULL;
    FAILS(&d, NULL, ADREV_ESHAPE, "");
    FAILS(NULL, P, ADREV_ESHAPE, "");
    d.solver = &sparse;
    refuse_factors = true;
    FAILS(&d, P, ADREV_ESINGULAR, "linear solver");
    refuse_factors = false;
    refuse_solve = true;
    FAILS(&d, P, ADREV_ESINGULAR, "linear solver");
    refuse_solve = false;
    CHECK(live == 0, "%d factors are not released", live);
    IS(ad_implicit_times(NULL, false, x, (ad_real *)(uintptr_t)off),
       ADREV_ESHAPE);
    ad_fn_free(g);
    // the equation of another branch
    const ad_real positive[2] = { 1, 1 }, negative = -1;
    g = record(branch_equation, 2, positive, 1);
    d = (ad_implicit_desc){ .g = g, .n = 1, .x = &negative };
    FAILS(&d, P, ADREV_EPATH, "comparison");
    ad_tape_clear(tape);
    ad_use(NULL);
    ad_fn_free(g);
}

// Two rows that depend on each other only to rounding; columns of sizes that
// differ much are no such thing.
static void dependent(const ad_rev *z, ad_rev *g, void *ctx)
{
    (void)ctx;
    g[0] = ad_rec(ad_sub(ad_add(ad_mul(0.1, z[0]), ad_mul(0.7, z[1])), z[2]));
    g[1] = ad_rec(ad_sub(ad_add(ad_mul(0.3, z[0]), ad_mul(2.1, z[1])),
                         ad_mul(3, z[2])));
}

static void uneven(const ad_rev *z, ad_rev *g, void *ctx)
{
    (void)ctx;
    g[0] = ad_rec(ad_sub(ad_add(z[0], ad_mul(1e-20, z[1])), z[2]));
    g[1] = ad_rec(ad_sub(z[0], ad_mul(1e-20, z[1])));
}

static void test_nearly_singular(void)
{
    const ad_real at[3] = { 1, 1, 1 }, p = (ad_real)0.5;
    const ad_real x[2] = { 5, 0 }, y[2] = { (ad_real)0.25, (ad_real)0.25e20 };
    ad_rev P, X[2];
    ad_real g = 0;
    ad_fn *fn = record(dependent, 3, at, 2);
    ad_implicit_desc d = { .g = fn, .n = 2, .x = x };
    begin(1, &p, &P);
    IS(ad_implicit(&d, &P, X), ADREV_ESINGULAR);
    ad_tape_clear(tape);
    ad_fn_free(fn);
    fn = record(uneven, 3, at, 2);
    d.g = fn;
    d.x = y;
    begin(1, &p, &P);
    IS(ad_implicit(&d, &P, X), ADREV_OK);
    IS(ad_gradient(tape, X[1], 1, &P, &g), ADREV_OK);
    CHECK_NEAR(g, 0.5e20L, 8 * EPS);
    ad_use(NULL);
    ad_tape_clear(tape);
    ad_fn_free(fn);
}

// x^2 = p, which has no solution for p < 0.
static void square(const ad_rev *z, ad_rev *g, void *ctx)
{
    (void)ctx;
    g[0] = ad_rec(ad_sub(ad_sqr(z[0]), z[1]));
}

static void root(const ad_rev *p, ad_rev *y, void *ctx)
{
    const ad_real x = (ad_real)sqrt((double)p[0].v);
    const ad_implicit_desc d = { .g = ctx, .n = 1, .x = &x };
    ad_implicit(&d, p, y);
}

static void test_no_solution(void)
{
    const ad_real at[2] = { 1, 1 }, good = 1e6, bad = -1;
    ad_real y = 7;
    ad_fn *g = record(square, 2, at, 1), *fn = NULL;
    IS(ad_fn_record(&fn, root, g, 1, &at[0], 1), ADREV_OK);
    IS(ad_fn_eval(fn, &bad, &y), ADREV_EEXTERNAL);
    CHECK(y == 7, "written");
    IS(ad_fn_eval(fn, &good, &y), ADREV_OK);        // far away: damped
    CHECK_NEAR(y, 1000, 4 * EPS);
    ad_fn_free(fn);
    IS(ad_fn_record(&fn, root, g, 1, &bad, 1), ADREV_EUNSOLVED);
    CHECK(fn == NULL, "not NULL");
    ad_fn_free(g);
}

// A root that is not quite one is kept where it was recorded, to the last bit.
static void rough_root(const ad_rev *p, ad_rev *y, void *ctx)
{
    const ad_real x = (ad_real)(sqrt((double)p[0].v) * (1 + 1e-10));
    const ad_implicit_desc d = { .g = ctx, .n = 1, .x = &x };
    ad_implicit(&d, p, y);
}

// atan x = p: from 10 to 0.1 undamped steps of Newton's method grow.
static void bend(const ad_rev *z, ad_rev *g, void *ctx)
{
    (void)ctx;
    g[0] = ad_rec(ad_sub(ad_atan(z[0]), z[1]));
}

static void tangent(const ad_rev *p, ad_rev *y, void *ctx)
{
    const ad_real x = (ad_real)tan((double)p[0].v);
    const ad_implicit_desc d = { .g = ctx, .n = 1, .x = &x };
    ad_implicit(&d, p, y);
}

static void test_damped(void)
{
    const ad_real at[2] = { 1, 1 }, p = (ad_real)1.4711276743037347;
    const ad_real other = (ad_real)0.1;
    ad_real y = 0;
    ad_fn *g = record(bend, 2, at, 1), *fn = NULL;
    IS(ad_fn_record(&fn, tangent, g, 1, &p, 1), ADREV_OK);
    IS(ad_fn_eval(fn, &other, &y), ADREV_OK);
    CHECK_NEAR(y, tanl((long double)other), 4 * EPS);
    ad_fn_free(fn);
    ad_fn_free(g);
}

static void test_rough(void)
{
    const ad_real at[2] = { 1, 1 }, p = 2, other = 3;
    ad_real y = 0;
    ad_fn *g = record(square, 2, at, 1), *fn = NULL;
    IS(ad_fn_record(&fn, rough_root, g, 1, &p, 1), ADREV_OK);
    IS(ad_fn_eval(fn, &p, &y), ADREV_OK);
    CHECK(y == (ad_real)(sqrt(2.0) * (1 + 1e-10)), "%.17g", (double)y);
    IS(ad_fn_eval(fn, &other, &y), ADREV_OK);
    CHECK_NEAR(y, sqrtl(3), 4 * EPS);
    ad_fn_free(fn);
    ad_fn_free(g);
}

/* --- memory ---------------------------------------------------------------------- */

// Each allocation fails in turn, of the function g and of all that uses it.
static void run_out(const ad_implicit_solver *solver)
{
    const ad_real at[4] = { 3, 4, 5, 1 }, v[2] = { 5, (ad_real)0.75 };
    const ad_real x[2] = { 4, 3 };
    bool failed = true;
    for (size_t i = 1; failed; i++) {
        heap h = { .failing = i };
        const ad_allocator memory = { heap_alloc, heap_free, &h };
        const ad_fn_options o = { .allocator = &memory };
        ad_rev P[2], X[2];
        ad_real pb[2];
        ad_fn *g = NULL;
        ad_status s = ad_fn_record_with(&g, &o, circle, NULL, 4, at, 2);
        if (s == ADREV_OK) {
            const ad_implicit_desc d = { .g = g, .n = 2, .x = x,
                                         .solver = solver };
            begin(2, v, P);
            s = ad_implicit(&d, P, X);
            if (s == ADREV_OK)
                s = ad_pushforward(tape, 2, P, v, 2, X, pb);
            if (s == ADREV_OK)
                s = ad_pullback(tape, 2, X, v, 2, P, pb);
            ad_tape_clear(tape);
            ad_use(NULL);
        }
        failed = h.allocations >= i;
        CHECK(failed ? s != ADREV_ESINGULAR || solver != NULL : s == ADREV_OK,
              "allocation %zu: %s", i, ad_message(s));
        CHECK(s == ADREV_OK || s == ADREV_ENOMEM || s == ADREV_EEXTERNAL
                  || solver != NULL, "allocation %zu: %s", i, ad_message(s));
        ad_fn_free(g);
        CHECK(h.live == 0 && live == 0, "allocation %zu: %zu blocks", i,
              h.live);
    }
}

// The same in a recorded function, at another point, to second order.
static void run_out_recorded(void)
{
    const ad_real at[3] = { 1, (ad_real)0.5, 1 };
    const ad_real p[2] = { (ad_real)0.3, (ad_real)1.2 }, one = 1;
    const ad_real q[2] = { (ad_real)0.4, 1 }, v[2] = { 1, 0 };
    long double g_[2], H[4];
    bool failed = true;
    kepler_closed(q, g_, H);
    for (size_t i = 1; failed; i++) {
        heap h = { .failing = i };
        const ad_allocator memory = { heap_alloc, heap_free, &h };
        const ad_fn_options o = { .allocator = &memory };
        ad_real hv[2] = { 7, 7 };
        ad_fn *g = NULL, *fn = NULL;
        ad_status s = ad_fn_record_with(&g, &o, kepler, NULL, 3, at, 1);
        if (s == ADREV_OK)
            s = ad_fn_record(&fn, orbit, g, 2, p, 1);
        if (s == ADREV_OK)
            s = ad_fn_hvp(fn, q, &one, v, hv);
        failed = h.allocations >= i;
        CHECK(s == ADREV_OK || failed, "%s", ad_message(s));
        CHECK(s == ADREV_OK ? fabsl((long double)hv[0] - H[0]) < 1e-3L
                            : hv[0] == 7, "allocation %zu: %g", i,
              (double)hv[0]);
        ad_fn_free(g);
        ad_fn_free(fn);
        CHECK(h.live == 0, "allocation %zu: %zu blocks", i, h.live);
    }
}

static void test_memory(void)
{
    run_out_recorded();
    run_out(NULL);
    run_out(&sparse);
    run_out(&products);
}

int main(void)
{
    tape = ad_tape_new();
    test_kepler();
    test_circle();
    test_logistic();
    test_ridge();
    test_derive();
    test_derived_guards();
    test_systems();
    test_scan();
    test_failures();
    test_nearly_singular();
    test_no_solution();
    test_damped();
    test_rough();
    test_memory();
    ad_tape_free(tape);
    return check_done("implicit");
}
