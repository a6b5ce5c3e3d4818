// SPDX-License-Identifier: MIT-0
// tags: recorded
// needs: xxhash.h -llapack
// libs: -llapack -lblas
/* lapack.c - LAPACK's routines as statements: values, both sweeps, replays and
 * second derivatives against plain loops on the tape and against differences of
 * the same loops in long double; eigenvalues that coincide; layouts; failures;
 * memory that runs out.                                                      */

#include "implementation.h"
#include "adrev_function.h"
#include "check.h"

#include <stdlib.h>

static size_t allocations;
static size_t failing;                  // this allocation; 0: none

static void *scarce(size_t bytes)
{
    return ++allocations == failing ? NULL : malloc(bytes);
}

#define malloc(bytes) scarce(bytes)
#include <adrev_lapack.h>
#undef malloc

enum { HAND_MOST = 48, MOST = 4000 };   // rows; inputs or results of a program

/* --- programs ---------------------------------------------------------------
 * Inputs are a matrix, full or a packed triangle, and right sides; a triangle
 * is unpacked into a matrix whose other elements are NaN, for nobody reads
 * them.                                                                      */

typedef struct program program;
struct program {
    const char *name;
    enum { FULL, SPD, TRIANGLE, SYMMETRIC, TALL } matrix;
    size_t sides;
    size_t most;                // sizes beyond are left out
    unsigned flags;
    void (*lapack)(const program *p, size_t n, const ad_rev *A,
                   const ad_rev *B, ad_rev *y);
    void (*rev)(const program *p, size_t n, ad_rev *A, ad_rev *B, ad_rev *y);
    void (*plain)(const program *p, size_t n, long double *A, long double *B,
                  long double *y);
    size_t (*results)(const program *p, size_t n);
};

static size_t rows_of(const program *p, size_t n)
{
    return p->matrix == TALL ? n + 3 : n;
}

static size_t size_of(const program *p, size_t n)
{
    return p->matrix == FULL || p->matrix == TALL ? rows_of(p, n) * n
                                                  : n * (n + 1) / 2;
}

static size_t inputs_of(const program *p, size_t n)
{
    return size_of(p, n) + rows_of(p, n) * p->sides;
}

static size_t solution(const program *p, size_t n) { return n * p->sides; }
static size_t one(const program *p, size_t n) { return (void)p, (void)n, 1u; }
static size_t with_one(const program *p, size_t n) { return n * p->sides + 1; }
static size_t square(const program *p, size_t n) { return (void)p, n * n; }
static size_t vector(const program *p, size_t n) { return (void)p, n; }
static size_t both(const program *p, size_t n) { return (void)p, n * n + n; }

/* --- by hand --------------------------------------------------------------- */

#define N ad_rev
#define NAME(f) rev_##f
#define ADD(a, b) ad_rec(ad_add(a, b))
#define SUB(a, b) ad_rec(ad_sub(a, b))
#define MUL(a, b) ad_rec(ad_mul(a, b))
#define DIV(a, b) ad_rec(ad_div(a, b))
#define SQRT(a) ad_rec(ad_sqrt(a))
#define LOG(a) ad_rec(ad_log(a))
#define ATAN(a) ad_rec(ad_atan(a))
#define COS(a) ad_rec(ad_cos(a))
#define SIN(a) ad_rec(ad_sin(a))
#define LESS(a, b) ad_lt(a, b)
#define CONST(c) ad_rec((double)(c))
#include "lapack_hand.h"
#undef N
#undef NAME
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef SQRT
#undef LOG
#undef ATAN
#undef COS
#undef SIN
#undef LESS
#undef CONST
#define N long double
#define NAME(f) long_##f
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define SQRT(a) sqrtl(a)
#define LOG(a) logl(a)
#define ATAN(a) atanl(a)
#define COS(a) cosl(a)
#define SIN(a) sinl(a)
#define LESS(a, b) ((a) < (b))
#define CONST(c) ((long double)(c))
#include "lapack_hand.h"

#define BY_LAPACK(name)                                                     \
    static void lapack_##name(const program *p, size_t n, const ad_rev *A,  \
                              const ad_rev *B, ad_rev *y)

BY_LAPACK(solve) { ad_lapack_solve(n, p->sides, A, B, y); }

BY_LAPACK(logdet)
{
    int sign = 0;
    (void)p;
    (void)B;
    *y = ad_lapack_logdet(n, A, &sign);
    CHECK(sign == 1 || sign == -1, "sign %d", sign);
}

BY_LAPACK(spd)
{
    ad_lapack_solve_spd(n, p->sides, A, B, y, &y[n * p->sides]);
}

BY_LAPACK(cholesky)
{
    (void)p;
    (void)B;
    ad_lapack_cholesky(n, A, y);
}

BY_LAPACK(factored) { ad_lapack_cholesky_solve(n, p->sides, A, B, y); }

BY_LAPACK(tri)
{
    static ad_rev T[HAND_MOST * HAND_MOST];
    bool upper = p->flags & ADREV_LAPACK_UPPER;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            T[i * n + j] = upper ? A[j * n + i] : A[i * n + j];
    ad_lapack_trisolve(p->flags, n, p->sides, T, B, y);
}

BY_LAPACK(eigen)
{
    (void)B;
    ad_lapack_eigen(n, A, y, p->flags ? y + n : NULL);
}

BY_LAPACK(lsq) { ad_lapack_least_squares(n + 3, n, p->sides, A, B, y); }

#define BOTH(name) lapack_##name, rev_by_##name, long_by_##name
static const program programs[] = {
    { "solve", FULL, 3, 40, 0, BOTH(solve), solution },
    { "logdet", FULL, 0, 40, 0, BOTH(logdet), one },
    { "solve_spd", SPD, 2, 40, 0, BOTH(spd), with_one },
    { "logdet_spd", SPD, 0, 40, 0, BOTH(spd), with_one },
    { "cholesky", SPD, 0, 40, 0, BOTH(cholesky), square },
    { "cholesky_solve", TRIANGLE, 2, 40, 0, BOTH(factored), solution },
    { "trisolve", TRIANGLE, 2, 40, 0, BOTH(tri), solution },
    { "trisolve U", TRIANGLE, 2, 5, 1, BOTH(tri), solution },
    { "trisolve T", TRIANGLE, 1, 5, 2, BOTH(tri), solution },
    { "trisolve UT", TRIANGLE, 2, 40, 3, BOTH(tri), solution },
    { "trisolve 1", TRIANGLE, 2, 5, 4, BOTH(tri), solution },
    { "trisolve U1", TRIANGLE, 1, 5, 5, BOTH(tri), solution },
    { "trisolve T1", TRIANGLE, 2, 5, 6, BOTH(tri), solution },
    { "trisolve UT1", TRIANGLE, 2, 5, 7, BOTH(tri), solution },
    { "eigenvalues", SYMMETRIC, 0, 5, 0, BOTH(eigen), vector },
    { "eigen", SYMMETRIC, 0, 5, 1, BOTH(eigen), both },
    { "least_squares", TALL, 2, 40, 0, BOTH(lsq), solution },
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

/* --- points ---------------------------------------------------------------- */

static uint32_t seed = 1;

static double uniform(void)             // -1 to 1
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / 8388608 - 1;
}

static void fill(size_t n, ad_real x[])
{
    for (size_t i = 0; i < n; i++)
        x[i] = (ad_real)uniform();
}

// A well-conditioned point: diagonals dominate, eigenvalues are apart.
static void point(const program *p, size_t n, ad_real x[])
{
    size_t at = 0;
    fill(inputs_of(p, n), x);
    for (size_t i = 0; i < rows_of(p, n); i++)
        for (size_t j = 0; j < n; j++) {
            bool packed = p->matrix != FULL && p->matrix != TALL;
            if (packed && j > i)
                continue;
            if (i == j)
                x[at] = (ad_real)(p->matrix == SYMMETRIC
                                      ? (double)(2 * i) + 0.3 * (double)x[at]
                                      : (double)n + 0.5 + (double)x[at] / 2);
            at++;
        }
}

// Inputs as arrays, whole; the upper part of a triangle is NaN.
#define UNPACK(name, num, nan_)                                             \
    static void name(const program *p, size_t n, const num x[], num A[],    \
                     num B[])                                               \
    {                                                                       \
        bool packed = p->matrix != FULL && p->matrix != TALL;               \
        const num *from = x;                                                \
        for (size_t i = 0; i < rows_of(p, n); i++)                          \
            for (size_t j = 0; j < n; j++)                                  \
                A[i * n + j] = packed && j > i ? (nan_) : *from++;          \
        for (size_t i = 0; i < rows_of(p, n) * p->sides; i++)               \
            B[i] = *from++;                                                 \
    }
UNPACK(unpack, ad_rev, ((ad_rev){ (ad_real)NAN, 0, 0 }))
UNPACK(long_unpack, long double, (long double)NAN)

// bent: results are y + y^2/2, so that their adjoints have tangents.
typedef struct running {
    const program *p;
    size_t n;
    bool lapack;
    bool bent;
} running;

static void run(const ad_rev *x, ad_rev *y, void *ctx)
{
    static ad_rev A[MOST], B[MOST];
    const running *r = ctx;
    unpack(r->p, r->n, x, A, B);
    if (r->lapack)
        r->p->lapack(r->p, r->n, A, B, y);
    else
        r->p->rev(r->p, r->n, A, B, y);
    for (size_t i = 0; r->bent && i < r->p->results(r->p, r->n); i++)
        y[i] = ad_rec(ad_add(y[i], ad_mul(0.5, ad_sqr(y[i]))));
}

// w y(x + a v)
static long double along(const running *r, const ad_real x[],
                         const ad_real v[], long double a, const ad_real w[])
{
    static long double X[MOST], A[MOST], B[MOST], y[MOST];
    long double sum = 0;
    for (size_t i = 0; i < inputs_of(r->p, r->n); i++)
        X[i] = (long double)x[i] + a * (long double)v[i];
    long_unpack(r->p, r->n, X, A, B);
    r->p->plain(r->p, r->n, A, B, y);
    for (size_t i = 0; i < r->p->results(r->p, r->n); i++)
        sum += (long double)w[i] * (r->bent ? y[i] + y[i] * y[i] / 2 : y[i]);
    return sum;
}

/* --- comparing ------------------------------------------------------------- */

static long double inner(size_t n, const ad_real a[], const ad_real b[])
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (long double)a[i] * (long double)b[i];
    return sum;
}

// In the rounding errors of a number.
#define EPS (sizeof(ad_real) == sizeof(float) ? 0x1p-23L : 0x1p-52L)

static void alike(const running *r, const char *what, size_t n,
                  const ad_real got[], const ad_real want[], long double ulps)
{
    long double most = 0, off = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmaxl(most, fabsl((long double)want[i]));
        long double d = fabsl((long double)got[i] - (long double)want[i]);
        off = d <= off ? off : d;           // NaN stays
    }
    CHECK(off <= ulps * EPS * most, "%s, n = %zu, %s: off by %.3Lg of %.3Lg",
          r->p->name, r->n, what, off, most);
}

static void near(const running *r, const char *what, long double got,
                 long double want, long double scale, long double relative)
{
    CHECK(fabsl(got - want) <= relative * scale,
          "%s, n = %zu, %s: got %.15Lg, want %.15Lg", r->p->name, r->n, what,
          got, want);
}

static ad_tape *tape;

// Both sweeps of one recording.
static void sweep(const running *r, const ad_real x[], const ad_real v[],
                  const ad_real w[], ad_real y[], ad_real yd[], ad_real xb[])
{
    static ad_rev X[MOST], Y[MOST];
    size_t n = inputs_of(r->p, r->n);
    size_t m = r->p->results(r->p, r->n);
    ad_tape_clear(tape);
    ad_use(tape);
    ad_inputs(n, x, X);
    run(X, Y, (void *)(uintptr_t)r);
    for (size_t i = 0; i < m; i++)
        y[i] = Y[i].v;
    CHECK(ad_pushforward(tape, n, X, v, m, Y, yd) == ADREV_OK, "%s: %s",
          r->p->name, ad_tape_reason(tape));
    CHECK(ad_pullback(tape, m, Y, w, n, X, xb) == ADREV_OK, "%s: %s",
          r->p->name, ad_tape_reason(tape));
    ad_use(NULL);
}

static void test_first(const program *p, size_t n)
{
    static ad_real x[MOST], v[MOST], w[MOST], y[2][MOST], yd[2][MOST];
    static ad_real xb[2][MOST];
    const running by[2] = { { p, n, true, false }, { p, n, false, false } };
    const size_t in = inputs_of(p, n);
    const size_t out = p->results(p, n);
    const long double h = 1e-3L;
    point(p, n, x);
    fill(in, v);
    fill(out, w);
    for (int i = 0; i < 2; i++)
        sweep(&by[i], x, v, w, y[i], yd[i], xb[i]);
    alike(by, "values", out, y[0], y[1], 1e3L);
    alike(by, "tangents", out, yd[0], yd[1], 1e4L);
    alike(by, "adjoints", in, xb[0], xb[1], 1e4L);
    long double forward = inner(out, w, yd[0]);
    long double scale = sqrtl(inner(out, w, w) * inner(out, yd[0], yd[0]));
    near(by, "<w, J v>", inner(in, xb[0], v), forward, scale, 1e4L * EPS);
    // a difference of sixth order in long double
    long double d = 0;
    const long double c[3] = { 45, -9, 1 };
    for (int i = 0; i < 3; i++)
        d += c[i] * (along(by, x, v, (i + 1) * h, w)
                     - along(by, x, v, -(i + 1) * h, w)) / (60 * h);
    near(by, "difference", forward, d, scale, fmaxl(1e-11L, 1e4L * EPS));
}

// Replays at other points than that of the recording, and second derivatives.
static void test_recorded(const program *p, size_t n)
{
    static ad_real at[MOST], x[MOST], v[MOST], u[MOST], w[MOST];
    static ad_real y[2][MOST], yd[2][MOST], xb[2][MOST], hv[2][MOST], hu[MOST];
    running by[2] = { { p, n, true, true }, { p, n, false, true } };
    const size_t in = inputs_of(p, n);
    const size_t out = p->results(p, n);
    ad_fn *fn[2] = { NULL, NULL };
    point(p, n, x);
    fill(in, v);
    fill(in, u);
    // not so far that Jacobi's method finds the eigenvalues in another order
    for (size_t i = 0; i < in; i++)
        at[i] = x[i] + (ad_real)1e-3 * u[i];
    fill(out, w);
    const int kinds = n <= 5 ? 2 : 1;   // loops as a recorded function are long
    for (int i = 0; i < kinds; i++) {
        ad_status s = ad_fn_record(&fn[i], run, &by[i], in, at, out);
        CHECK(s == ADREV_OK, "%s, n = %zu: %s", p->name, n, ad_fn_reason());
        if (s == ADREV_OK)
            s = ad_fn_hvp(fn[i], x, w, v, hv[i]);
        CHECK(s == ADREV_OK, "%s, n = %zu: %s", p->name, n, ad_message(s));
    }
    sweep(by, x, v, w, y[1], yd[1], xb[1]);
    CHECK(ad_fn_eval(fn[0], x, y[0]) == ADREV_OK
              && ad_fn_jvp(fn[0], x, v, yd[0]) == ADREV_OK
              && ad_fn_vjp(fn[0], x, w, xb[0]) == ADREV_OK
              && ad_fn_hvp(fn[0], x, w, u, hu) == ADREV_OK, "%s", p->name);
    alike(by, "replayed values", out, y[0], y[1], 0);
    alike(by, "replayed tangents", out, yd[0], yd[1], 0);
    alike(by, "replayed adjoints", in, xb[0], xb[1], 4);
    if (kinds == 2)
        alike(by, "H v", in, hv[0], hv[1], 1e5L);
    long double scale = sqrtl(inner(in, hu, hu) * inner(in, v, v));
    near(by, "H is symmetric", inner(in, hu, v), inner(in, hv[0], u), scale,
         1e4L * EPS);
    const long double h = 2e-3L;
    long double d = (-along(by, x, v, 2 * h, w) - along(by, x, v, -2 * h, w)
                     + 16 * (along(by, x, v, h, w) + along(by, x, v, -h, w))
                     - 30 * along(by, x, v, 0, w)) / (12 * h * h);
    scale = sqrtl(inner(in, hv[0], hv[0]) * inner(in, v, v)) + 1e-3L;
    near(by, "second difference", inner(in, hv[0], v), d, scale,
         fmaxl(1e-7L, 1e4L * EPS));
    ad_fn_free(fn[0]);
    ad_fn_free(fn[1]);
}

static void test_programs(void)
{
    static const size_t sizes[] = { 1, 2, 5, 40 };
    for (size_t i = 0; i < PROGRAMS; i++)
        for (size_t k = 0; k < 4 && sizes[k] <= programs[i].most; k++) {
            test_first(&programs[i], sizes[k]);
            if (sizes[k] < 40 || programs[i].flags == 0)
                test_recorded(&programs[i], sizes[k]);
        }
}

/* --- nearly singular, by closed forms --------------------------------------- */

// A new recording with these inputs.
static void begin(size_t n, const ad_real v[], ad_rev x[])
{
    ad_tape_clear(tape);
    ad_use(tape);
    ad_inputs(n, v, x);
}

#define IS(status, want)                                                    \
    do {                                                                    \
        ad_status is = (status);                                            \
        CHECK(is == (want), "%s: %s", #status, ad_message(is));             \
    } while (0)

// A = (1 1; 1 1 + e) and its mirror image: x = A^-1 (0, 1), det A = e.
static void test_nearly(void)
{
    const ad_real e = sizeof(ad_real) == 4 ? (ad_real)0x1p-12
                                           : (ad_real)0x1p-30;
    const long double E = (long double)e;
    const ad_real a[4] = { 1, 1, 1, 1 + e };
    const ad_real b[2] = { 0, 1 };
    ad_rev A[4], B[2], x[2], L[4], ld;
    ad_real g[4];
    begin(4, a, A);
    ad_inputs(2, b, B);
    ad_lapack_solve(2, 1, A, B, x);
    CHECK_NEAR(x[0].v, -1 / E, 8 * EPS);
    IS(ad_gradient(tape, x[0], 4, A, g), ADREV_OK);
    // x0 = -a01 / (a00 a11 - a01 a10)
    CHECK_NEAR(g[0], (1 + E) / E / E, 16 * EPS);
    CHECK_NEAR(g[1], -1 / E - 1 / E / E, 16 * EPS);
    CHECK_NEAR(g[3], 1 / E / E, 16 * EPS);
    ad_lapack_cholesky(2, A, L);
    CHECK_NEAR(L[3].v, sqrtl(E), 8 * EPS);
    IS(ad_gradient(tape, L[3], 4, A, g), ADREV_OK);
    CHECK_NEAR(g[3], 0.5L / sqrtl(E), 16 * EPS);
    CHECK_NEAR(g[2], -1 / sqrtl(E), 16 * EPS);
    CHECK_NEAR(g[0], 0.5L / sqrtl(E), 16 * EPS);
    CHECK(g[1] == 0, "above the diagonal: %g", (double)g[1]);
    ld = ad_lapack_logdet_spd(2, A);
    CHECK_NEAR(ld.v, logl(E), 8 * EPS);
    IS(ad_gradient(tape, ld, 4, A, g), ADREV_OK);
    CHECK_NEAR(g[3], 1 / E, 16 * EPS);
    CHECK_NEAR(g[2], -2 / E, 16 * EPS);
    // columns of very different sizes are no lack of rank
    const ad_real tall[6] = { 1, (ad_real)1e-20, 1, 0, 1, 0 };
    const ad_real c[3] = { 3, 1, 1 };
    ad_rev T[6], C[3];
    begin(6, tall, T);
    ad_inputs(3, c, C);
    IS(ad_lapack_least_squares(3, 2, 1, T, C, x), ADREV_OK);
    CHECK_NEAR(x[0].v, 1, 8 * EPS);
    CHECK_NEAR(x[1].v, 2e20L, 8 * EPS);
    ad_use(NULL);
}

/* --- eigenvalues that coincide ---------------------------------------------- */

// A = Q diag(1, 1, 3) Q', with Q a reflection at (1 2 2)/3.
static void reflected(const ad_real d[3], ad_real A[9])
{
    const long double u[3] = { 1 / 3.0L, 2 / 3.0L, 2 / 3.0L };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            long double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += ((i == k) - 2 * u[i] * u[k])
                     * ((j == k) - 2 * u[j] * u[k]) * (long double)d[k];
            A[i * 3 + j] = (ad_real)sum;
        }
}

static ad_rev sum_of_exp(size_t n, const ad_rev w[])
{
    ad_rev sum = { 0, 0, 0 };
    for (size_t i = 0; i < n; i++)
        ad_acc(&sum, ad_exp(w[i]));
    return sum;
}

static void test_coinciding(void)
{
    const ad_real d[3] = { 1, 1, 3 };
    const ad_real ed[3] = { (ad_real)expl(1), (ad_real)expl(1),
                            (ad_real)expl(3) };
    const ad_real v[9] = { 1, 9, 9, 2, 3, 9, 4, 5, 7 };
    ad_real a[9], want[9], g[9], t[3];
    ad_rev A[9], w[3], V[9];
    reflected(d, a);
    reflected(ed, want);
    begin(9, a, A);
    IS(ad_lapack_eigen(3, A, w, NULL), ADREV_OK);
    // trace of exp(A): its derivative is exp(A)
    IS(ad_gradient(tape, sum_of_exp(3, w), 9, A, g), ADREV_OK);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            long double is = i < j ? 0 : (i > j ? 2 : 1)
                           * (long double)want[i * 3 + j];
            CHECK(fabsl((long double)g[i * 3 + j] - is) < 100 * EPS,
                  "(%d, %d): got %.17g, want %.17Lg", i, j,
                  (double)g[i * 3 + j], is);
        }
    // the two share; the third is by itself; and forwards the same
    ad_real g0[9], g1[9];
    IS(ad_gradient(tape, w[0], 9, A, g0), ADREV_OK);
    IS(ad_gradient(tape, w[1], 9, A, g1), ADREV_OK);
    CHECK(memcmp(g0, g1, sizeof g0) == 0, "they do not share equally");
    IS(ad_gradient(tape, w[2], 9, A, g), ADREV_OK);
    CHECK_NEAR(inner(9, g0, v) * 2 + inner(9, g, v), 1 + 3 + 7, 100 * EPS);
    IS(ad_pushforward(tape, 9, A, v, 3, w, t), ADREV_OK);
    CHECK_NEAR(t[0], inner(9, g0, v), 100 * EPS);
    CHECK_NEAR(t[1], inner(9, g1, v), 100 * EPS);
    CHECK_NEAR(t[2], inner(9, g, v), 100 * EPS);
    // vectors: that of 3 has a derivative, those of 1 have none
    IS(ad_lapack_eigen(3, A, w, V), ADREV_OK);
    IS(ad_gradient(tape, V[2], 9, A, g), ADREV_OK);
    CHECK(isfinite(g[0]) && isfinite(g[8]), "%g", (double)g[0]);
    IS(ad_gradient(tape, ad_sum(9, V), 9, A, g), ADREV_OK);
    CHECK(isnan(g[0]) && isnan(g[8]), "%g", (double)g[0]);
    IS(ad_pushforward(tape, 9, A, v, 3, V + 3, t), ADREV_OK);
    CHECK(isnan(t[0]) && isnan(t[1]) && isfinite(t[2]), "%g %g %g",
          (double)t[0], (double)t[1], (double)t[2]);
    ad_use(NULL);
}

static void largest(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev w[3];
    (void)ctx;
    ad_lapack_eigen(3, x, w, NULL);
    y[0] = ad_rec(ad_mul(w[2], w[2]));
}

static void all_of_them(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev w[3];
    (void)ctx;
    ad_lapack_eigen(3, x, w, NULL);
    y[0] = sum_of_exp(3, w);
}

// Second derivatives where others coincide are right, else NaN.
static void test_coinciding_second(void)
{
    const ad_real d[3] = { 1, 1, 3 };
    const ad_real near_d[3] = { (ad_real)0.999999, (ad_real)1.000001, 3 };
    const ad_real v[9] = { 1, 0, 0, 2, 3, 0, 4, 5, 7 };
    const ad_real one_ = 1;
    ad_real a[9], b[9], h[9], k[9];
    ad_fn *fn = NULL;
    reflected(d, a);
    reflected(near_d, b);
    IS(ad_fn_record(&fn, largest, NULL, 9, b, 1), ADREV_OK);
    IS(ad_fn_hvp(fn, a, &one_, v, h), ADREV_OK);
    IS(ad_fn_hvp(fn, b, &one_, v, k), ADREV_OK);
    for (int i = 0; i < 9; i++)
        CHECK(fabs((double)(h[i] - k[i])) < 1e-3, "%d: %g, nearby %g", i,
              (double)h[i], (double)k[i]);
    ad_fn_free(fn);
    IS(ad_fn_record(&fn, all_of_them, NULL, 9, b, 1), ADREV_OK);
    IS(ad_fn_hvp(fn, a, &one_, v, h), ADREV_OK);
    CHECK(isnan(h[0]) && isnan(h[8]), "%g", (double)h[0]);
    ad_fn_free(fn);
}

/* --- layouts --------------------------------------------------------------- */

// A in columns, B in reverse, X in the place of B; and the factor in A's.
static void test_layouts(void)
{
    enum { D = 4, K = 2 };
    static const running r = { &programs[0], D, true, false };
    static const running s = { &programs[4], D, true, false };
    ad_real x[D * D + D * 3], g[2][D * D + D * 3], h[2][D * D];
    ad_rev X[D * D + D * 3], A[D * (D + 3)], B[D * K], Y[D * K], L[D * D];
    point(r.p, D, x);
    begin(D * D + D * 3, x, X);
    ad_lapack_solve(D, K, X, X + D * D, Y);
    IS(ad_gradient(tape, Y[K], D * D + D * K, X, g[0]), ADREV_OK);
    for (size_t i = 0; i < D; i++) {
        for (size_t j = 0; j < D; j++)
            A[j * (D + 3) + i] = X[i * D + j];
        for (size_t j = 0; j < K; j++)
            B[(K - 1 - j) * D + i] = X[D * D + i * K + j];
    }
    IS(ad_lapack_solve_s(D, K, A, 1, D + 3, B + D * (K - 1), 1, -D,
                         B + D * (K - 1), 1, -D), ADREV_OK);
    CHECK(B[D * (K - 1) + 1].v == Y[K].v, "strides: %g, not %g",
          (double)B[D * (K - 1) + 1].v, (double)Y[K].v);
    IS(ad_gradient(tape, B[D * (K - 1) + 1], D * D + D * K, X, g[1]), ADREV_OK);
    alike(&r, "strides", D * D + D * K, g[1], g[0], 0);

    memset(x, 0, sizeof x);             // a full symmetric matrix
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            x[i * D + j] = (ad_real)(i == j ? 5 : 1.0 / (double)(1 + i + j));
    begin(D * D, x, X);
    IS(ad_lapack_cholesky(D, X, L), ADREV_OK);
    CHECK(L[1].v == 0 && L[1].job == 0, "above the diagonal: %g",
          (double)L[1].v);
    IS(ad_gradient(tape, L[D * D - 1], D * D, X, h[0]), ADREV_OK);
    memcpy(A, X, sizeof L);
    IS(ad_lapack_cholesky_s(D, A, 1, D, A, 1, D), ADREV_OK);    // mirrored
    CHECK(A[1].v == L[D].v, "in place: %g, not %g", (double)A[1].v,
          (double)L[D].v);
    IS(ad_gradient(tape, A[D * D - 1], D * D, X, h[1]), ADREV_OK);
    for (size_t i = 0; i < D * D; i++)
        CHECK(h[1][i] == h[0][i % D * D + i / D], "mirrored: element %zu", i);
    alike(&s, "in place", 0, h[1], h[0], 0);
    ad_use(NULL);
}

// Every form with strides, in columns and with gaps, against the other one.
static void test_strides(void)
{
    enum { D = 3, K = 2, GAP = 2, LD = GAP * (D + 1) };
    ad_real a[D * D], b[D * K];
    ad_rev A[D * D], B[D * K], S[LD * D], R[LD * K], Y[2 * D * D + 1];
    ad_rev Z[LD * D], W[GAP * D], one_[2];
    int sign[2] = { 0, 0 };
    fill(D * K, b);
    for (int i = 0; i < D * D; i++)
        a[i] = (ad_real)(i % (D + 1) == 0 ? -4 - i : 1 - 0.1 * i);
    begin(D * D, a, A);
    ad_inputs(D * K, b, B);
#define SPREAD(x, X, columns, s)                                            \
    for (int i = 0; i < D; i++)                                             \
        for (int j = 0; j < (columns); j++)                                 \
            (X)[i * GAP + j * LD] = ad_rec(ad_mul(s, (x)[i * (columns) + j]))
#define SAME(columns)                                                       \
    for (int i = 0; i < D * (columns); i++)                                 \
        CHECK(Z[i / (columns) * GAP + i % (columns) * LD].v == Y[i].v,      \
              "result %d: %g, not %g", i,                                   \
              (double)Z[i / (columns) * GAP + i % (columns) * LD].v,        \
              (double)Y[i].v)
    SPREAD(A, S, D, 1);
    SPREAD(B, R, K, 1);
    one_[0] = ad_lapack_logdet(D, A, &sign[0]);
    one_[1] = ad_lapack_logdet_s(D, S, GAP, LD, &sign[1]);
    CHECK(one_[0].v == one_[1].v && sign[0] == -1 && sign[1] == -1, "logdet");
    IS(ad_lapack_trisolve(ADREV_LAPACK_UPPER, D, K, A, B, Y), ADREV_OK);
    IS(ad_lapack_trisolve_s(ADREV_LAPACK_UPPER, D, K, S, GAP, LD, R, GAP, LD, Z,
                            GAP, LD), ADREV_OK);
    SAME(K);
    IS(ad_lapack_cholesky_solve(D, K, A, B, Y), ADREV_OK);
    IS(ad_lapack_cholesky_solve_s(D, K, S, GAP, LD, R, GAP, LD, Z, GAP, LD),
       ADREV_OK);
    SAME(K);
    IS(ad_lapack_least_squares(D, D, K, A, B, Y), ADREV_OK);
    IS(ad_lapack_least_squares_s(D, D, K, S, GAP, LD, R, GAP, LD, Z, GAP, LD),
       ADREV_OK);
    SAME(K);
    for (int i = 0; i < D * D; i++)
        A[i] = ad_rec(ad_neg(A[i]));
    SPREAD(A, S, D, 1);
    IS(ad_lapack_solve_spd(D, K, A, B, Y, &one_[0]), ADREV_OK);
    IS(ad_lapack_solve_spd_s(D, K, S, GAP, LD, R, GAP, LD, Z, GAP, LD,
                             &one_[1]), ADREV_OK);
    SAME(K);
    CHECK(one_[0].v == one_[1].v, "logdet_spd");
    CHECK(ad_lapack_logdet_spd(D, A).v == one_[0].v
              && ad_lapack_logdet_spd_s(D, S, GAP, LD).v == one_[0].v, "spd");
    IS(ad_lapack_eigen(D, A, Y + D * D, Y), ADREV_OK);
    IS(ad_lapack_eigen_s(D, S, GAP, LD, W, GAP, Z, GAP, LD), ADREV_OK);
    SAME(D);
    for (int i = 0; i < D; i++)
        CHECK(W[i * GAP].v == Y[D * D + i].v, "eigenvalue %d", i);
    ad_use(NULL);
}

// Blocks of the reverse sweep, an incomplete one among them, against forwards.
static void test_blocks(void)
{
    enum { D = 130 };
    static ad_real x[D * (D + 1) / 2], v[D * (D + 1) / 2], g[D * (D + 1) / 2];
    static ad_real w[D * D], t[D * D];
    static ad_rev X[D * (D + 1) / 2], A[D * D], L[D * D];
    static const program p = { "cholesky", SPD, 0, D, 0, NULL, NULL, NULL,
                               square };
    point(&p, D, x);
    fill(D * (D + 1) / 2, v);
    fill(D * D, w);
    begin(D * (D + 1) / 2, x, X);
    unpack(&p, D, X, A, NULL);
    IS(ad_lapack_cholesky(D, A, L), ADREV_OK);
    IS(ad_pushforward(tape, D * (D + 1) / 2, X, v, D * D, L, t), ADREV_OK);
    for (size_t i = 0; i < D * D; i++)  // constants have no adjoints
        w[i] = i % D > i / D ? 0 : w[i];
    for (size_t i = 0; i < D * D; i++)
        L[i] = i % D > i / D ? L[0] : L[i];
    IS(ad_pullback(tape, D * D, L, w, D * (D + 1) / 2, X, g), ADREV_OK);
    long double want = inner(D * D, w, t);
    CHECK_NEAR(inner(D * (D + 1) / 2, g, v), want, 1e6L * EPS);
    ad_use(NULL);
}

// Rows of a Jacobian, or its columns, of which up to 8 share a sweep and a call
// of the rule, against one at a time. A call of the rule allocates once.
static void test_rows(const program *p, size_t n)
{
    static ad_real x[MOST], J[60 * 60], g[MOST];
    static ad_rev X[MOST], Y[MOST];
    running r = { p, n, true, true };
    size_t inputs = inputs_of(p, n);
    size_t m = p->results(p, n);
    bool backward = (inputs + 7) / 8 >= (m + 7) / 8;
    point(p, n, x);
    begin(inputs, x, X);
    run(X, Y, &r);
    for (size_t i = 0; i < m; i++)      // rows that concern all results
        Y[i] = ad_rec(ad_add(Y[i], ad_mul(Y[m - 1 - i], 2)));
    allocations = 0;
    IS(ad_jacobian(tape, m, Y, inputs, X, J), ADREV_OK);
    CHECK(allocations == ((backward ? m : inputs) + 7) / 8, "%s: %zu calls",
          p->name, allocations);
    for (size_t i = 0; i < m; i++) {
        IS(ad_gradient(tape, Y[i], inputs, X, g), ADREV_OK);
        alike(&r, "rows", inputs, J + i * inputs, g, backward ? 16 : 1000);
    }
    ad_use(NULL);
}

// All directions of a recorded function, which are one call of the rule,
// against one at a time: tangents and second derivatives.
static void test_directions(const program *p, size_t n)
{
    static ad_real x[MOST], w[MOST], J[60 * 60], H[60 * 60];
    static ad_real v[60], jv[60], hv[60], column[60];
    running r = { p, n, true, true };
    size_t inputs = inputs_of(p, n);
    size_t m = p->results(p, n);
    ad_fn *fn = NULL;
    point(p, n, x);
    fill(m, w);
    IS(ad_fn_record(&fn, run, &r, inputs, x, m), ADREV_OK);
    IS(ad_fn_hessian(fn, x, w, H), ADREV_OK);
    allocations = 0;
    IS(ad_fn_jacobian(fn, x, J), ADREV_OK);
    IS(ad_fn_hessian(fn, x, w, H), ADREV_OK);
    size_t calls = allocations;
    memset(v, 0, sizeof v);
    for (size_t j = 0; j < inputs; j++) {
        v[j] = 1;
        IS(ad_fn_jvp(fn, x, v, jv), ADREV_OK);
        IS(ad_fn_hvp(fn, x, w, v, hv), ADREV_OK);
        v[j] = 0;
        for (size_t i = 0; i < m; i++)
            column[i] = J[i * inputs + j];
        alike(&r, "a column of the Jacobian", m, column, jv, 1000);
        for (size_t i = 0; i < inputs; i++)
            column[i] = H[i * inputs + j];
        alike(&r, "a column of the Hessian", inputs, column, hv, 1000);
    }
    CHECK(calls <= 4 * ((inputs + ADREV_LANES_MOST - 1) / ADREV_LANES_MOST),
          "%s: %zu calls for %zu directions", p->name, calls, inputs);
    ad_fn_free(fn);
}

static void test_all_rows(void)
{
    for (size_t i = 0; i < PROGRAMS; i++)
        for (size_t n = 1; n <= 5; n += 4) {
            test_rows(&programs[i], n);
            test_directions(&programs[i], n);
        }
}

/* --- failures -------------------------------------------------------------- */

// The status of the call and of the tape; results are NaN; then all is well.
#define FAILS(call, want, why)                                              \
    do {                                                                    \
        begin(6, bad, A);                                                   \
        IS(call, want);                                                     \
        IS(ad_tape_status(tape), want);                                     \
        CHECK(strstr(ad_tape_reason(tape), why) != NULL, "%s: %s", #call,   \
              ad_tape_reason(tape));                                        \
        IS(ad_gradient(tape, x[0], 4, A, g), want);                         \
    } while (0)

static ad_status logdet_status(size_t n, const ad_rev A[], ad_rev *y)
{
    int sign;
    *y = ad_lapack_logdet(n, A, &sign);
    return ad_tape_status(tape);
}

static void test_failures(void)
{
    static const ad_real bads[4][6] = {
        { 1, 2, 2, 4, 3, 6 }, { 1, 2, 2, 1, 0, 0 },
        { 1, 2, (ad_real)NAN, 1, 2, 3 }, { 0, 0, 1, 1, 0, 1 }
    };
    const ad_real *bad = bads[0];
    ad_rev A[6], x[6], V[4];
    ad_real g[6];
    FAILS(ad_lapack_solve(2, 1, A, A + 4, x), ADREV_ESINGULAR, "singular");
    CHECK(isnan(x[0].v) && x[0].job == 0, "%g", (double)x[0].v);
    FAILS(logdet_status(2, A, x), ADREV_ESINGULAR, "singular");
    FAILS(ad_lapack_least_squares(3, 2, 1, A, A, x), ADREV_ESINGULAR, "rank");
    bad = bads[1];
    FAILS(ad_lapack_solve_spd(2, 1, A, A, x, NULL), ADREV_ESINGULAR,
          "positive definite");
    FAILS(ad_lapack_cholesky(2, A, x), ADREV_ESINGULAR, "positive definite");
    CHECK(isnan(x[1].v) && isnan(x[2].v), "%g", (double)x[1].v);
    bad = bads[2];
    FAILS(ad_lapack_solve(2, 1, A, A + 4, x), ADREV_ESINGULAR, "not finite");
    FAILS(ad_lapack_eigen(2, A, x, V), ADREV_ESINGULAR, "not finite");
    bad = bads[3];
    FAILS(ad_lapack_trisolve(ADREV_LAPACK_LOWER, 2, 1, A, A, x),
          ADREV_ESINGULAR, "diagonal");
    FAILS(ad_lapack_cholesky_solve(2, 1, A, A, x), ADREV_ESINGULAR, "diagonal");
    FAILS(ad_lapack_trisolve(8, 2, 1, A, A, x), ADREV_ESHAPE, "");
    FAILS(ad_lapack_solve(2, 1, NULL, A, x), ADREV_ESHAPE, "");
    FAILS(ad_lapack_solve(2, 1, A, NULL, x), ADREV_ESHAPE, "");
    FAILS(ad_lapack_solve(2, 1, A, A, NULL), ADREV_ESHAPE, "");
    FAILS(ad_lapack_least_squares(2, 3, 1, A, A, x), ADREV_ESHAPE, "");
    FAILS(ad_lapack_solve((size_t)1 << 29, 1, A, A, x), ADREV_ELIMIT, "");
    FAILS(ad_lapack_eigen(40000, A, x, NULL), ADREV_ELIMIT, "");
    ad_tape_clear(tape);
    ad_use(NULL);
    ad_lapack_trisolve(ADREV_LAPACK_UNIT, 2, 1, A, A, x);   // 0 is not read
    CHECK(x[0].v == 0 && x[0].job == 0, "unit: %g", (double)x[0].v);
    const ad_rev C[4] = { { 2, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 4, 0, 0 } };
    IS(ad_lapack_solve(2, 1, C, C, x), ADREV_OK);           // constants
    CHECK(x[0].v == 1 && x[0].job == 0, "%g", (double)x[0].v);
}

static void quotient(const ad_rev *x, ad_rev *y, void *ctx)
{
    int sign;
    (void)ctx;
    ad_rev b[2] = { x[0], x[3] };
    ad_lapack_solve(2, 1, x, b, y);
    y[2] = ad_lapack_logdet(2, x, &sign);
    y[3] = ad_lapack_logdet(2, x, NULL);
}

// A recording that cannot be evaluated, or not at some points.
static void test_recorded_failures(void)
{
    const ad_real good[4] = { 2, 1, 1, 2 };
    const ad_real singular[4] = { 2, 4, 1, 2 };
    const ad_real negative[4] = { 1, 2, 2, 1 };
    ad_real y[4] = { 7, 7, 7, 7 };
    ad_fn *fn = NULL;
    IS(ad_fn_record(&fn, quotient, NULL, 4, singular, 4), ADREV_ESINGULAR);
    CHECK(strstr(ad_fn_reason(), "singular") != NULL, "%s", ad_fn_reason());
    IS(ad_fn_record(&fn, quotient, NULL, 4, good, 4), ADREV_OK);
    IS(ad_fn_eval(fn, singular, y), ADREV_EEXTERNAL);
    IS(ad_fn_eval(fn, negative, y), ADREV_EEXTERNAL);       // another sign
    CHECK(y[0] == 7 && y[3] == 7, "written");
    IS(ad_fn_eval(fn, good, y), ADREV_OK);
    CHECK_NEAR(y[3], logl(3), 8 * EPS);
    ad_fn_free(fn);
}

static void test_empty(void)
{
    ad_rev y = { 7, 0, 0 };
    ad_use(tape);
    ad_tape_clear(tape);
    IS(ad_lapack_solve(0, 3, NULL, NULL, NULL), ADREV_OK);
    IS(ad_lapack_solve_spd(0, 0, NULL, NULL, NULL, &y), ADREV_OK);
    CHECK(y.v == 0 && y.job == 0, "%g", (double)y.v);
    y = ad_lapack_logdet(0, NULL, NULL);
    CHECK(y.v == 0 && y.job == 0, "%g", (double)y.v);
    IS(ad_lapack_cholesky(0, NULL, NULL), ADREV_OK);
    IS(ad_lapack_cholesky_solve(0, 1, NULL, NULL, NULL), ADREV_OK);
    IS(ad_lapack_trisolve(0, 0, 1, NULL, NULL, NULL), ADREV_OK);
    IS(ad_lapack_eigen(0, NULL, NULL, NULL), ADREV_OK);
    ad_rev three[3] = { y, y, y };
    IS(ad_lapack_least_squares(3, 0, 1, NULL, three, NULL), ADREV_OK);
    CHECK(ad_tape_stats(tape).statements == 0, "something is recorded");
    ad_use(NULL);
}

/* --- memory ----------------------------------------------------------------- */

// Each allocation fails in turn: of the call, and of both sweeps.
static void test_memory(void)
{
    enum { D = 3 };
    static ad_real x[MOST], v[MOST], w[MOST], out[MOST];
    static ad_rev X[MOST], Y[MOST];
    for (size_t i = 0; i < PROGRAMS; i++) {
        running r = { &programs[i], D, true, false };
        size_t n = inputs_of(r.p, D);
        size_t m = r.p->results(r.p, D);
        bool failed = true;
        point(r.p, D, x);
        fill(n, v);
        fill(m, w);
        for (size_t k = 1; failed; k++) {
            begin(n, x, X);
            allocations = 0;
            failing = k;
            run(X, Y, &r);
            ad_status s = ad_tape_status(tape);
            if (s == ADREV_OK)
                s = ad_pushforward(tape, n, X, v, m, Y, out);
            if (s == ADREV_OK)
                s = ad_pullback(tape, m, Y, w, n, X, out);
            failed = allocations >= k;
            failing = 0;
            CHECK(failed ? s == ADREV_ENOMEM || s == ADREV_EEXTERNAL
                         : s == ADREV_OK,
                  "%s, allocation %zu: %s", r.p->name, k, ad_message(s));
            CHECK(s != ADREV_ENOMEM || isnan(Y[0].v), "%s: %g", r.p->name,
                  (double)Y[0].v);
        }
    }
    ad_tape_clear(tape);
    ad_use(NULL);
}

int main(void)
{
    tape = ad_tape_new();
    test_programs();
    test_nearly();
    test_coinciding();
    test_coinciding_second();
    test_layouts();
    test_strides();
    test_blocks();
    test_all_rows();
    test_failures();
    test_recorded_failures();
    test_empty();
    test_memory();
    ad_tape_free(tape);
    return check_done("lapack");
}
