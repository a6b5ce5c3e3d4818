// SPDX-License-Identifier: MIT-0
// tags: debug
/* finding_mistakes.c - ad_check gives every verdict where it is due, finds each planted
 * mistake and raises no false alarm; ad_find_nonfinite, ad_explain, regions
 * and dumps say what is on the tape. With little memory each either works or
 * says why not.                                                             */

#ifndef ADREV_BLOCK
#define ADREV_BLOCK 512
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

// Tapes that ad_check makes for itself: an allocation may fail.
static long allocations;
static long failing;            // the number of the one that fails; 0: none
static long blocks;
static void *finding_malloc(size_t bytes)
{
    void *p = ++allocations == failing ? NULL : malloc(bytes);
    blocks += p != NULL;
    return p;
}
static void finding_free(void *p)
{
    blocks -= p != NULL;
    free(p);
}
#define malloc finding_malloc
#define free finding_free
#define ADREV_IMPLEMENTATION
#include "adrev.h"
#undef malloc
#undef free
#include "check.h"
#include "random_numbers.h"

#include <string.h>

#define SINGLE (sizeof(ad_real) == sizeof(float))
#define R(x) ((ad_real)(x))

static const char *const verdicts[] = {
    "agrees", "disagrees", "kink", "noisy"
};

static uint64_t seed = 1;
static int below(int n) { return (int)(oracle_random(&seed) % (unsigned)n); }

/* --- 1  verdicts ---------------------------------------------------------- */

#define TAU 6.283185307179586
#define A ADREV_AGREES
#define D ADREV_DISAGREES
#define K ADREV_KINK
#define N ADREV_NOISY

// MinGW's sine is that of the x87, which has none beyond 2^63.
#ifdef __MINGW32__
#define FAR_ANGLE 1e18
#else
#define FAR_ANGLE 1e200
#endif

// f of one x, where, and the verdict with double and with float.
#define CASES(ROW)                                                          \
    ROW( sine,        1,      A, A, ad_sin(x) )                             \
    ROW( sine_0,      0,      A, A, ad_sin(x) )                             \
    ROW( sine_tiny,   1e-200, A, A, ad_sin(x) )                             \
    ROW( sine_small,  1e-9,   A, A, ad_sin(x) )                             \
    ROW( sine_1e10,   1e10,   A, N, ad_sin(x) )                             \
    ROW( sine_huge, FAR_ANGLE, N, N, ad_sin(x) )                            \
    ROW( sine_big,    1,      A, A, ad_mul(1e8, ad_sin(x)) )                \
    ROW( sine_1e5,    1e5,    A, A, ad_mul(1e8, ad_sin(x)) )                \
    ROW( sine_fast,   1,      A, N, ad_sin(ad_mul(1e6, x)) )                \
    ROW( sine_fast_0, 0,      A, A, ad_sin(ad_mul(1e6, x)) )                \
    ROW( sine_faster, 1,      N, N, ad_sin(ad_mul(1e14, x)) )               \
    ROW( aliased,     1,      A, A, ad_sin(ad_mul(32 * TAU, x)) )           \
    ROW( aliased_0,   0,      A, A, ad_sin(ad_mul(32 * TAU, x)) )           \
    ROW( constant,    3,      A, A, ad_mul(0, x) )                          \
    ROW( passive,     3,      A, A, ad_detach(ad_mul(0, x)) )               \
    ROW( square_0,    0,      A, A, ad_sqr(x) )                             \
    ROW( square_huge, 1e18,   A, A, ad_sqr(x) )                             \
    ROW( square_1e100, 1e100, A, N, ad_sqr(x) )                             \
    ROW( square_inf,  1e200,  N, N, ad_sqr(x) )                             \
    ROW( cube_0,      0,      A, A, ad_mul(x, ad_sqr(x)) )                  \
    ROW( minimum,     1,      A, A, ad_add(5, ad_sqr(ad_sub(x, 1))) )       \
    ROW( near_minimum, 1.0000001, A, A, ad_add(5, ad_sqr(ad_sub(x, 1))) )   \
    ROW( bump,        0.5,    A, A, ad_exp(ad_neg(ad_sqr(x))) )             \
    ROW( inverse,     1e-10,  A, A, ad_div(1, x) )                          \
    ROW( inverse_inf, 1e-200, A, N, ad_div(1, x) )                          \
    ROW( inverse_0,   0,      N, N, ad_div(1, x) )                          \
    ROW( log_tiny,    1e-30,  A, N, ad_log(x) )                             \
    ROW( log_0,       0,      N, N, ad_log(x) )                             \
    ROW( sqrt_tiny,   1e-30,  A, A, ad_sqrt(x) )                            \
    ROW( steep,       0,      A, N, ad_exp(ad_mul(1e12, x)) )               \
    ROW( edge_near,   1 - 1e-9, A, K, ad_asin(x) )                          \
    ROW( one_more,    1e-9,   A, A, ad_add(x, 1) )                          \
    ROW( one_more_tiny, 1e-200, A, A, ad_add(x, 1) )                        \
    ROW( hidden,      1,      N, N, ad_add(1e20, ad_sin(x)) )               \
    ROW( hidden_more, 1,      N, N, ad_add(1e16, ad_mul(99, ad_sin(x))) )   \
    ROW( absorbed,    1.1,    N, N, ad_sub(ad_add(x, 1e18), 1e18) )         \
    ROW( half_absorbed, 1,    A, N, ad_sub(ad_add(x, 1e10), 1e10) )         \
    ROW( softplus,    0,      A, A, ad_softplus(ad_mul(1e3, x)) )           \
    ROW( relu_side,   1e-30,  A, A, ad_relu(x) )                            \
    ROW( abs_near,    1.00001, A, A, ad_abs(ad_sub(x, 1)) )                 \
    ROW( relu,        0,      K, K, ad_relu(x) )                            \
    ROW( relu_more,   0,      K, K, ad_add(ad_exp(x), ad_relu(x)) )         \
    ROW( abs,         0,      K, K, ad_abs(x) )                             \
    ROW( abs_1,       1,      K, K, ad_abs(ad_sub(x, 1)) )                  \
    ROW( small_kink,  0,      K, K, ad_add(x, ad_mul(0.01, ad_abs(x))) )    \
    ROW( max_tie,     1,      K, K, ad_max(x, ad_sqr(x)) )                  \
    ROW( clamp,       0,      K, K, ad_clamp(x, 0, 1) )                     \
    ROW( cusp,        0,      K, K, ad_sqrt(ad_abs(x)) )                    \
    ROW( sqrt,        0,      K, K, ad_sqrt(x) )                            \
    ROW( power_1_5,   0,      K, K, ad_pow(x, 1.5) )                        \
    ROW( asin,        1,      K, K, ad_asin(x) )                            \
    ROW( hypot,       0,      K, K, ad_hypot(x, 0) )                        \
    ROW( vertical,    0,      K, K, ad_cbrt(x) )                            \
    ROW( jump,        1,      K, K, ad_add(x, ad_floor(x)) )                \
    ROW( step,        1,      K, K, ad_floor(x) )                           \
    ROW( jump_near,   1.1,    A, A, ad_add(x, ad_floor(x)) )                \
    ROW( step_near,   1.1,    A, A, ad_floor(x) )                           \
    ROW( step_0,      0.5,    A, A, ad_floor(x) )                           \
    ROW( rounded_0,   0,      A, A, ad_sub(ad_value(x) == 0 ? 0.88 + 0x1p-47 : 0.88, x) ) \
    ROW( wrong_half,  2,      D, D, ad_mul(ad_detach(x), x) )               \
    ROW( wrong_none,  2,      D, D, ad_sqr(ad_detach(x)) )                  \
    ROW( wrong_tiny,  1e-9,   D, D, ad_exp(ad_mul(2, ad_detach(x))) )       \
    ROW( wrong_huge,  1e15,   D, D, ad_mul(ad_detach(x), x) )               \
    ROW( wrong_little, 1,     D, A, ad_add(ad_sin(x), ad_mul(1e-6, ad_exp(ad_detach(x)))) ) \
    ROW( wrong_kink,  0,      D, D, ad_add(ad_abs(x), ad_mul(3, ad_detach(x))) ) \
    ROW( wrong_edge,  0,      D, D, ad_add(ad_pow(x, 1.5), ad_detach(x)) )  \
    ROW( wrong_alias, 1,      D, D, ad_add(ad_sin(ad_mul(32 * TAU, x)), ad_mul(9, ad_detach(x))) )

#define DEFINE(name, at, in_double, in_float, ...)                          \
    static ad_rev case_##name(const ad_rev *in, void *ctx)                  \
    {                                                                       \
        ad_rev x = in[0];                                                   \
        (void)ctx;                                                          \
        return ad_rec(__VA_ARGS__);                                         \
    }
CASES(DEFINE)
#undef DEFINE

static void check_verdict(const char *name, ad_scalar_fn *f, double at,
                          ad_verdict want)
{
    ad_check_report r = {0};
    ad_real x = R(at);
    ad_status s = ad_check(f, NULL, 1, &x, &r);
    CHECK(s == ADREV_OK && r.checks == 1 && r.worst.verdict == want,
          "%s at %g: %s, %s, want %s; gradient %.12g, difference %.12g +- %.2g",
          name, at, ad_message(s), verdicts[r.worst.verdict], verdicts[want],
          (double)r.worst.gradient, (double)r.worst.difference,
          (double)r.worst.error);
    CHECK(r.counts[want] == 1, "%s: counted", name);
    CHECK(ad_check_passed(&r) == (want == A), "%s: passed", name);
    CHECK(r.evaluations >= 1 && r.evaluations <= 105,
          "%s: %zu evaluations", name, r.evaluations);
    CHECK(r.gap <= 1, "%s: gap %g", name, (double)r.gap);
    CHECK(want != A || r.worst.mismatch <= 1, "%s: mismatch", name);
    CHECK(want != D || r.worst.mismatch > 1
          || strncmp(name, "wrong_edge", 10) == 0, "%s: mismatch", name);
}

static void test_verdicts(void)
{
#define CHECK_ROW(name, at, in_double, in_float, ...)                       \
    check_verdict(#name, case_##name, at, SINGLE ? in_float : in_double);
    CASES(CHECK_ROW)
#undef CHECK_ROW
}
#undef A
#undef D
#undef K
#undef N

/* --- 2  right gradients: no false alarm, wrong ones: the right entry ------ */

enum { INPUTS = 6, NODES = 25 };

// A random program of smooth operations, its values kept near 1.
typedef struct program {
    int n;
    int nodes;
    int op[NODES];
    int arg[NODES][2];
    ad_real factor[NODES];
    int wrong;              // a node that forgets its derivative; -1: none
} program;

static ad_rev node(int op, ad_rev x, ad_rev y, ad_real c)
{
    switch (op) {
    case 0: return ad_rec(ad_add(x, ad_mul(c, y)));
    case 1: return ad_rec(ad_sub(ad_mul(c, x), y));
    case 2: return ad_rec(ad_mul(x, ad_cos(y)));
    case 3: return ad_rec(ad_div(x, ad_add(2, ad_sqr(y))));
    case 4: return ad_rec(ad_sin(ad_mul(x, y)));
    case 5: return ad_rec(ad_exp(ad_neg(ad_sqr(ad_mul(c, x)))));
    case 6: return ad_rec(ad_log(ad_add(2, ad_add(ad_sqr(x), ad_sqr(y)))));
    case 7: return ad_rec(ad_tanh(ad_add(x, ad_mul(c, y))));
    case 8: return ad_rec(ad_sqrt(ad_add(1, ad_sqr(x))));
    case 9: return ad_rec(ad_atan2(x, ad_add(2, ad_sqr(y))));
    case 10: return ad_rec(ad_erf(x));
    default: return ad_rec(ad_softplus(ad_mul(c, x)));
    }
}

static ad_rev run(const ad_rev *x, void *ctx)
{
    const program *p = ctx;
    ad_rev v[INPUTS + NODES];
    memcpy(v, x, (size_t)p->n * sizeof *v);
    for (int i = 0; i < p->nodes; i++) {
        ad_rev y = node(p->op[i], v[p->arg[i][0]], v[p->arg[i][1]],
                        p->factor[i]);
        v[p->n + i] = i == p->wrong ? ad_detach(y) : y;
    }
    return v[p->n + p->nodes - 1];
}

static program make_program(ad_real x[])
{
    program p = { .n = 1 + below(INPUTS), .nodes = 1 + below(NODES),
                  .wrong = -1 };
    static const double scale[] = { 1, 1, 1, 3, 1e-3, 1e-8 };
    for (int i = 0; i < p.n; i++)
        x[i] = below(10) == 0 ? 0 : R(oracle_uniform(&seed, -1, 1)
                                      * scale[below(6)]);
    for (int i = 0; i < p.nodes; i++) {
        p.op[i] = below(12);
        p.arg[i][0] = below(3) ? p.n + i - 1 : below(p.n + i);
        p.arg[i][1] = below(p.n + i);
        p.factor[i] = R(oracle_uniform(&seed, -2, 2));
    }
    return p;
}

static void test_right(int programs)
{
    size_t noisy = 0;
    size_t checks = 0;
    size_t evaluations = 0;
    for (int i = 0; i < programs; i++) {
        ad_real x[INPUTS];
        ad_check_report r = {0};
        program p = make_program(x);
        ad_status s = ad_check(run, &p, (size_t)p.n, x, &r);
        CHECK(s == ADREV_OK && r.counts[ADREV_DISAGREES] == 0
              && r.counts[ADREV_KINK] == 0 && r.gap <= 1,
              "program %d of %d nodes: %s, %s, x[%zu] = %.9g: gradient %.12g,"
              " difference %.12g +- %.2g, gap %g", i, p.nodes, ad_message(s),
              verdicts[r.worst.verdict], r.worst.index,
              (double)x[r.worst.index], (double)r.worst.gradient,
              (double)r.worst.difference, (double)r.worst.error,
              (double)r.gap);
        noisy += r.counts[ADREV_NOISY];
        checks += r.checks;
        evaluations += r.evaluations;
    }
    CHECK(noisy * (SINGLE ? 3 : 500) <= checks, "%zu of %zu are noisy", noisy,
          checks);
    CHECK(evaluations <= (SINGLE ? 28 : 16) * checks,
          "%zu evaluations for %zu checks", evaluations, checks);
}

// A node loses its derivative: exactly the inputs whose derivative changes by
// it must be found.
static void test_wrong(int programs)
{
    int planted = 0;
    for (int i = 0; i < programs; i++) {
        ad_real x[INPUTS];
        ad_real right[INPUTS] = {0};
        ad_real wrong[INPUTS] = {0};
        ad_check_entry entry[INPUTS];
        ad_check_report r = { .entry = entry, .room = INPUTS };
        program p = make_program(x);
        ad_status s = ad_grad(run, &p, (size_t)p.n, x, NULL, right);
        CHECK(s == ADREV_OK, "right: %s", ad_message(s));
        p.wrong = below(p.nodes);
        s = ad_grad(run, &p, (size_t)p.n, x, NULL, wrong);
        CHECK(s == ADREV_OK || s == ADREV_EPASSIVE,     // constant: g is 0
              "wrong: %s", ad_message(s));
        s = ad_check(run, &p, (size_t)p.n, x, &r);
        CHECK(s == ADREV_OK && r.listed == (size_t)p.n, "all are listed");
        for (size_t k = 0; k < r.listed; k++) {
            double off = fabs((double)(right[k] - wrong[k]));
            double size = fabs((double)right[k]) + fabs((double)wrong[k]);
            bool clear = off > (SINGLE ? 0.1 : 1e-5) * size
                      && off > (SINGLE ? 0.05 : 1e-6);
            CHECK(entry[k].index == k, "in order");
            if (clear || off == 0)
                CHECK((entry[k].verdict == ADREV_DISAGREES) == clear
                      || (SINGLE && entry[k].verdict == ADREV_NOISY),
                      "program %d, x[%zu] = %g: %s; right %.12g, recorded %.12g,"
                      " difference %.12g +- %.2g", i, k, (double)x[k],
                      verdicts[entry[k].verdict], (double)right[k],
                      (double)wrong[k], (double)entry[k].difference,
                      (double)entry[k].error);
            planted += clear;
        }
    }
    CHECK(planted > programs / 4, "only %d mistakes", planted);
}

/* --- 3  many inputs, and the report --------------------------------------- */

typedef struct field {
    size_t n;
    size_t wrong;           // this input is taken for a constant; n: none
} field;

static ad_rev quartic(const ad_rev *x, void *ctx)
{
    const field *f = ctx;
    ad_rev sum = {0};
    for (size_t i = 0; i < f->n; i++) {
        ad_rev u = i == f->wrong ? ad_detach(x[i]) : x[i];
        ad_rev next = x[i + 1 < f->n ? i + 1 : 0];
        ad_acc(&sum, ad_sqr(ad_sub(ad_sqr(u), ad_mul(0.5, next))));
    }
    return sum;
}

static void test_many(void)
{
    enum { MOST = 600 };
    static ad_real x[MOST];
    size_t many = SINGLE ? 40 : MOST;
    ad_check_entry entry[3];
    for (int i = 0; i < MOST; i++)
        x[i] = R(oracle_uniform(&seed, 0.5, 1.5));
    field f = { many, many };
    ad_check_report r = { .entry = entry, .room = 3, .limit = 16 };
    CHECK(ad_check(quartic, &f, many, x, &r) == ADREV_OK && r.checks == 16
          && r.listed == 0 && ad_check_passed(&r), "many inputs, all right: %s",
          verdicts[r.worst.verdict]);
    CHECK(r.evaluations <= 16 * 30, "%zu evaluations", r.evaluations);
    CHECK(r.forward != 0 && fabs((double)(r.forward - r.reverse))
          <= 1e-4 * fabs((double)r.forward), "forward %g, reverse %g",
          (double)r.forward, (double)r.reverse);

    f.wrong = many / 3;
    CHECK(ad_check(quartic, &f, many, x, &r) == ADREV_OK && r.listed == 1
          && r.counts[ADREV_DISAGREES] == 1 && !ad_check_passed(&r),
          "one is wrong: %zu listed", r.listed);
    CHECK(entry[0].index == f.wrong && entry[0].inputs == 1
          && r.worst.index == f.wrong, "it is found: %zu", entry[0].index);

    f = (field){ 3, 1 };
    r = (ad_check_report){ .entry = entry, .room = 2 };
    CHECK(ad_check(quartic, &f, 3, x, &r) == ADREV_OK && r.listed == 1
          && entry[0].index == 1, "only what does not agree");
    r.room = 3;
    CHECK(ad_check(quartic, &f, 3, x, &r) == ADREV_OK && r.listed == 3
          && r.checks == 3 && entry[2].verdict == ADREV_AGREES, "or all");
    CHECK(r.counts[ADREV_AGREES] == 2, "counted afresh");
    r.gap = 0;
    f.wrong = 3;
    CHECK(ad_check(quartic, &f, 3, x, &r) == ADREV_OK && ad_check_passed(&r),
          "passed");
    r.gap = 2;
    CHECK(!ad_check_passed(&r), "forward against reverse");
}

// Fewer checks than hundreds of inputs each.
static void test_huge(void)
{
    enum { MANY = 8000 / ONE_IN(4) };
    ad_real *x = malloc(MANY * sizeof *x);
    for (int i = 0; i < MANY; i++)
        x[i] = R(oracle_uniform(&seed, 0.5, 1.5));
    field f = { MANY, MANY / 5 * 4 + 143 };
    ad_check_report r = { .limit = 4 };
    CHECK(ad_check(quartic, &f, MANY, x, &r) == ADREV_OK && r.checks == 4,
          "huge");
    CHECK(SINGLE || (r.worst.index == f.wrong && r.worst.inputs == 1),
          "found: %zu", r.worst.index);
    free(x);
}

// A report that nobody filled, or whose latest check failed, has not passed.
static void test_unfilled(void)
{
    ad_check_report r = {0};
    field f = { 3, 3 };
    const ad_real x[3] = { 1, 2, 3 };
    CHECK(!ad_check_passed(&r), "never filled");
    CHECK(!ad_check_passed(NULL), "no report");
    CHECK(ad_check(quartic, &f, 3, x, &r) == ADREV_OK && ad_check_passed(&r),
          "filled");
    CHECK(ad_check(quartic, &f, 3, NULL, &r) == ADREV_ESHAPE
          && !ad_check_passed(&r), "a check that failed");
}

/* --- 4  Jacobians, and reports in words ------------------------------------ */

// y[i] = x[i] x[i+1] exp(x[i+2]/4); output `row` takes x[column] for a
// constant.
typedef struct rows {
    size_t n, m;
    size_t row, column;
    size_t calls;
} rows;

static void row_products(const ad_rev *x, ad_rev *y, void *ctx)
{
    rows *r = ctx;
    r->calls++;
    for (size_t i = 0; i < r->m; i++) {
        ad_rev u[3];
        for (size_t k = 0; k < 3; k++) {
            size_t j = (i + k) % r->n;
            u[k] = i == r->row && j == r->column ? ad_detach(x[j]) : x[j];
        }
        y[i] = ad_rec(ad_mul(ad_mul(u[0], u[1]), ad_exp(ad_div(u[2], 4))));
    }
}

static void test_jacobian(void)
{
    enum { M = 5, COUNT = 4 };
    ad_check_entry entry[M * COUNT];
    const ad_real x[COUNT] = { 1, 2, 0.5, 3 };
    rows f = { COUNT, M, M, COUNT, 0 };
    ad_check_report r = { .entry = entry, .room = M * COUNT };
    CHECK(ad_check_jac(row_products, &f, COUNT, x, M, &r) == ADREV_OK
          && ad_check_passed(&r) && r.checks == M * COUNT && r.outputs == M,
          "a Jacobian: %s", verdicts[r.worst.verdict]);
    CHECK(r.evaluations == f.calls && f.calls <= 1 + 30 * COUNT,
          "%zu evaluations of %zu, for %d inputs", r.evaluations, f.calls,
          COUNT);
    for (size_t k = 0; k < M * COUNT; k++) {    // input by input
        CHECK(entry[k].index == k / M && entry[k].output == k % M,
              "entry %zu is of output %zu, input %zu", k, entry[k].output,
              entry[k].index);
        size_t i = entry[k].output;
        ad_real e = R(exp((double)x[(i + 2) % COUNT] / 4));
        ad_real want = 0;
        for (size_t s = 0; s < 3; s++)
            if ((i + s) % COUNT == entry[k].index)
                want += e * (s == 0 ? x[(i + 1) % COUNT] : s == 1 ? x[i % COUNT]
                             : x[i % COUNT] * x[(i + 1) % COUNT] / 4);
        CHECK_NEAR(entry[k].gradient, want, SINGLE ? 1e-5 : 1e-13);
    }
    for (f.row = 0; f.row < M; f.row++)
        for (f.column = 0; f.column < COUNT; f.column++) {
            bool uses = (f.column + COUNT - f.row % COUNT) % COUNT < 3;
            r = (ad_check_report){ .entry = entry, .room = 3 };
            CHECK(ad_check_jac(row_products, &f, COUNT, x, M, &r) == ADREV_OK
                  && ad_check_passed(&r) == !uses
                  && r.listed == uses
                  && (!uses || (r.worst.output == f.row
                                && r.worst.index == f.column
                                && r.worst.verdict == ADREV_DISAGREES
                                && entry[0].output == f.row
                                && entry[0].index == f.column)),
                  "output %zu, input %zu: found %zu, %zu", f.row, f.column,
                  r.worst.output, r.worst.index);
        }
    r.limit = 2;                                // in groups
    f.row = 1;
    f.column = 3;
    CHECK(ad_check_jac(row_products, &f, COUNT, x, M, &r) == ADREV_OK
          && r.checks == 2 * M && r.listed == 1 && r.worst.output == 1
          && r.worst.index == 3 && r.worst.inputs == 1, "in a group");
}

static bool half_pullback(const void *saved, size_t m, const ad_real dy[],
                          size_t n, ad_real dx[])
{
    (void)saved, (void)m, (void)n;
    dx[0] += dy[0] / 2;                         // of y = x
    return true;
}

static bool whole_pushforward(const void *saved, size_t n, const ad_real dx[],
                              size_t m, ad_real dy[])
{
    (void)saved, (void)n, (void)m;
    dy[0] = dx[0];
    return true;
}

static void second_is_wrong(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_external_rule rule = {
        .pullback = half_pullback, .pushforward = whole_pushforward
    };
    ad_real v = ad_value(x[0]);
    (void)ctx;
    y[0] = ad_rec(ad_sin(x[0]));
    ad_external(&rule, NULL, 0, 1, x, 1, &v, &y[1]);
    y[2] = ad_rec(5);
}

static void all_constant(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)x, (void)ctx;
    y[0] = ad_rec(5);
    y[1] = ad_rec(6);
}

// A sweep of each output, forwards and back; outputs that are constants.
static void test_jacobian_sweeps(void)
{
    const ad_real x = 1;
    ad_check_report r = {0};
    CHECK(ad_check_jac(second_is_wrong, NULL, 1, &x, 3, &r) == ADREV_OK
          && r.counts[ADREV_DISAGREES] == 1 && r.worst.output == 1
          && r.worst.gradient == R(0.5) && r.value == 1, "a pullback of half");
    CHECK(r.gap > 1 && r.forward == 2 * r.reverse, "forward %g, reverse %g",
          (double)r.forward, (double)r.reverse);
    CHECK(ad_check_jac(all_constant, NULL, 1, &x, 2, &r) == ADREV_OK
          && ad_check_passed(&r) && r.checks == 2, "constants");
    CHECK(ad_check_jac(all_constant, NULL, 0, NULL, 2, &r) == ADREV_OK
          && ad_check_passed(&r) && r.checks == 0, "no inputs");
    CHECK(ad_check_jac(all_constant, NULL, 1, &x, 0, &r) == ADREV_OK
          && r.checks == 0, "no outputs");
    CHECK(ad_check_jac(NULL, NULL, 1, &x, 1, &r) == ADREV_ESHAPE
          && ad_check_jac(all_constant, NULL, 1, &x, SIZE_MAX / 8, &r)
             == ADREV_ELIMIT && !ad_check_passed(&r), "impossible");
}

typedef struct printed {
    char text[20000];
    size_t length;
} printed;

static void print_to(const char *text, size_t length, void *user)
{
    printed *p = user;
    if (length >= sizeof p->text - p->length)
        length = sizeof p->text - p->length - 1;
    memcpy(p->text + p->length, text, length);
    p->length += length;
    p->text[p->length] = 0;
}

// Where a text first occurs; the length: nowhere.
static size_t place_of(const printed *p, const char *text)
{
    const char *at = strstr(p->text, text);
    return at == NULL ? p->length : (size_t)(at - p->text);
}

// x0 without its derivative; x1 at a kink; x2; x3 in noise.
static ad_rev all_verdicts(const ad_rev *x, void *ctx)
{
    (void)ctx;
    double noise = sin(1e20 * (double)ad_value(x[3])) / 100;
    return ad_rec(ad_add(ad_add(ad_mul(7, ad_detach(x[0])), ad_abs(x[1])),
                         ad_add(ad_sqr(x[2]), noise)));
}

static void test_printed(void)
{
    static printed p;
    const ad_real x[4] = { 1, 0, 3, 5 };
    ad_check_entry entry[4];
    ad_check_report r = { .entry = entry, .room = 4 };
    CHECK(ad_check_print(NULL, print_to, &p) == ADREV_ESHAPE
          && ad_check_print(&r, NULL, &p) == ADREV_ESHAPE && p.length == 0,
          "null");
    CHECK(ad_check_print(&r, print_to, &p) == ADREV_OK
          && place_of(&p, "Nothing was checked") == 0, "unfilled: %s", p.text);
    p.length = 0;
    CHECK(ad_check(all_verdicts, NULL, 4, x, &r) == ADREV_OK
          && r.counts[ADREV_DISAGREES] == 1 && r.counts[ADREV_KINK] == 1
          && r.counts[ADREV_NOISY] == 1 && r.counts[ADREV_AGREES] == 1,
          "one of each");
    ad_check_print(&r, print_to, &p);
    size_t at[] = {
        place_of(&p, "verdict   input"), place_of(&p, "DISAGREES 0 "),
        place_of(&p, "kink      1 "), place_of(&p, "noisy     3 "),
        place_of(&p, "agrees    2 "), place_of(&p, "1 of 4 DISAGREE"),
        place_of(&p, "1 of 4 are on a kink"), place_of(&p, "1 of 4 cannot be"),
        place_of(&p, "1 of 4 agree:")
    };
    for (size_t i = 0; i + 1 < sizeof at / sizeof *at; i++)
        CHECK(at[i] < at[i + 1] && at[i + 1] < p.length,
              "worst first: line %zu of\n%s", i + 1, p.text);
    size_t width = 0;                           // columns are aligned
    for (size_t i = 0; p.text[i] != '1' && p.text[i] != 0;
         i += strcspn(&p.text[i], "\n") + 1) {
        size_t column = i + 9 + 1 + 12 + 1 + 16;
        CHECK(p.length > column && p.text[column] == ' '
              && p.text[column + 1] != ' ',
              "column at %zu of\n%s", column, p.text);
        width++;
    }
    CHECK(width == 5, "%zu lines in the table", width);

    rows f = { 4, 5, 3, 0, 0 };                 // outputs have a column, too
    p.length = 0;
    r = (ad_check_report){0};
    CHECK(ad_check_jac(row_products, &f, 4, x, 5, &r) == ADREV_OK, "checked");
    ad_check_print(&r, print_to, &p);
    CHECK(place_of(&p, "verdict   output       input") == 0
          && place_of(&p, "DISAGREES 3            0 ") < p.length,
          "of a Jacobian, the worst only:\n%s", p.text);
    p.length = 0;
    r.gap = 2;
    ad_check_print(&r, print_to, &p);
    CHECK(place_of(&p, "Forward and reverse sweeps DISAGREE") < p.length,
          "the gap");

    enum { LONG = 250 };
    static ad_real many[LONG];
    static ad_check_entry all[LONG];
    for (int i = 0; i < LONG; i++)
        many[i] = R(1 + 0.001 * i);
    field q = { LONG, 177 };
    r = (ad_check_report){ .entry = all, .room = LONG };
    p.length = 0;
    CHECK(ad_check(quartic, &q, LONG, many, &r) == ADREV_OK, "checked");
    ad_check_print(&r, print_to, &p);
    CHECK(SINGLE || (place_of(&p, "DISAGREES 177 ") < p.length
                     && place_of(&p, "and 150 more\n") < p.length
                     && place_of(&p, "249 of 250 agree") < p.length),
          "a long table:\n%s", p.text);
}

/* --- 5  programs that misbehave, and little memory ------------------------ */

typedef struct rogue {
    int what;
    int calls;
    ad_tape *other;
    ad_rev kept;
} rogue;

static ad_rev misbehave(const ad_rev *x, void *ctx)
{
    rogue *r = ctx;
    ad_rev y = ad_rec(ad_sqr(x[0]));
    ad_real g = 0;
    r->calls++;
    switch (r->what) {
    case 1: ad_use(r->other); break;
    case 2: ad_use(NULL); break;
    case 3: ad_tape_clear(adx_now.tape); break;
    case 4: if (r->calls > 1) ad_tape_clear(adx_now.tape); break;
    case 5:                                     // keeps a number
        if (r->calls == 2)
            y = ad_rec(ad_add(y, r->kept));
        r->kept = x[0];
        break;
    case 6:                                     // records by itself
        y = ad_rec(ad_add(y, ad_mul(0, ad_input(3))));
        if (r->kept.job != 0)
            y = ad_rec(ad_add(y, r->kept));
        r->kept = r->calls > 1 ? y : r->kept;
        break;
    case 7: case 8:                             // nested jobs
        r->what = 0;
        if (r->calls % 2)
            ad_ignore(ad_grad(misbehave, r, 1, &(ad_real){ x[0].v }, NULL,
                              &g));
        else
            ad_ignore(ad_check(misbehave, r, 1, &(ad_real){ x[0].v },
                               &(ad_check_report){0}));
        r->what = 7;
        break;
    default: break;
    }
    return y;
}

static void test_rogues(void)
{
    static const ad_status want[] = {
        ADREV_OK, ADREV_OK, ADREV_OK, ADREV_EMARK, ADREV_EMARK,
        ADREV_EFOREIGN, ADREV_EFOREIGN, ADREV_OK
    };
    ad_tape *other = ad_tape_new();
    for (int what = 0; what < 8; what++)
        for (int own = 0; own < 2; own++) {
            ad_tape *t = own ? NULL : ad_tape_new();
            ad_use(t);
            ad_rev before = ad_input(2);
            ad_rev square = ad_rec(ad_sqr(before));
            ad_check_report r = { .gap = 77 };
            rogue f = { .what = what, .other = other };
            ad_real x = 3;
            ad_status s = ad_check(misbehave, &f, 1, &x, &r);
            CHECK(s == want[what], "rogue %d, own tape %d: %s, want %s", what,
                  own, ad_message(s), ad_message(want[what]));
            CHECK(s != ADREV_OK ? r.gap == 77 && r.checks == 0
                                : ad_check_passed(&r), "rogue %d: report", what);
            bool kept = s != ADREV_EMARK && !own;
            ad_real g = 0;
            CHECK(!kept || (ad_gradient(t, square, 1, &before, &g) == ADREV_OK
                            && g == 4 && ad_tape_stats(t).values == 2),
                  "rogue %d: what was recorded before", what);
            CHECK(adx_now.tape == t || s == ADREV_EMARK, "rogue %d: current",
                  what);
            ad_tape_free(t);
            ad_use(NULL);
        }
    ad_tape_free(other);
    CHECK(blocks == 0, "%ld blocks leak", blocks);
}

static void test_shapes(void)
{
    field f = { 2, 2 };
    ad_real x[2] = { 1, 2 };
    ad_check_report r = { .gap = 77 };
    CHECK(ad_check(quartic, &f, 2, NULL, &r) == ADREV_ESHAPE, "no x");
    CHECK(ad_check(quartic, &f, 2, x, NULL) == ADREV_ESHAPE, "no report");
    CHECK(r.gap == 77, "untouched");
    CHECK(ad_check(quartic, &f, 0, NULL, &r) == ADREV_OK && r.checks == 0
          && ad_check_passed(&r), "no inputs");
    ad_tape *t = ad_tape_in(&(double[200]){0}, 1600);
    ad_use(t);
    while (ad_tape_status(t) == ADREV_OK)
        DROP(ad_rec(ad_sin(ad_input(1))));
    CHECK(ad_check(quartic, &f, 2, x, &r) == ADREV_EFULL, "a failed tape");
    ad_use(NULL);
}

static void test_memory(void)
{
    field f = { 5, 2 };
    const ad_real x[5] = { 1, 2, R(0.5), R(1.5), 3 };
    bool done = false;

    // Its own tape, and the n-th allocation fails.
    for (long n = 1; !done; n++) {
        ad_check_report r = { .gap = 77 };
        failing = n;
        allocations = 0;
        ad_status s = ad_check(quartic, &f, 5, x, &r);
        done = allocations < n;
        CHECK(s == (done ? ADREV_OK : ADREV_ENOMEM), "allocation %ld: %s", n,
              ad_message(s));
        CHECK(s == ADREV_OK ? r.worst.index == 2 : r.gap == 77, "report");
        CHECK(blocks == 0, "%ld blocks leak", blocks);
    }
    failing = 0;

    // Fixed memory of every size.
    static double memory[600];
    int fits = 0;
    for (size_t size = 8; size < sizeof memory; size += 8) {
        memset(memory, 0xa5, sizeof memory);
        ad_tape *t = ad_tape_in(memory, size);
        ad_use(t);
        ad_check_report r = {0};
        if (t == NULL)
            continue;
        ad_status s = ad_check(quartic, &f, 5, x, &r);
        CHECK(s == ADREV_EFULL || s == ADREV_ENOMEM || s == ADREV_OK,
              "%zu bytes: %s", size, ad_message(s));
        CHECK(fits == 0 || s == ADREV_OK, "%zu bytes: once too few", size);
        CHECK(s != ADREV_OK || r.worst.index == 2, "%zu bytes: right", size);
        for (size_t i = size; i < sizeof memory; i++)
            if (((unsigned char *)memory)[i] != 0xa5) {
                CHECK(false, "%zu bytes: wrote behind them", size);
                break;
            }
        CHECK(ad_tape_status(t) == ADREV_OK && ad_tape_stats(t).values == 0,
              "%zu bytes: the tape as it was", size);
        fits += s == ADREV_OK;
        ad_use(NULL);
    }
    CHECK(fits > 0, "fixed memory");
}

/* --- 6  what is not finite ------------------------------------------------ */

// Debug builds know where; others must say that they do not.
static void check_site(const char *file, int line, int want, const char *what)
{
    bool right = ADREV_DEBUG ? file != NULL && strcmp(file, __FILE__) == 0
                               && line == want
                             : file == NULL && line == 0;
    CHECK(right, "%s: at %s:%d, want line %d", what,
          file == NULL ? "NULL" : file, line, want);
}

static void test_nonfinite(void)
{
    ad_tape *t = ad_tape_new();
    ad_nonfinite found = {0};
    ad_use(t);
    ad_rev x = ad_input(0);
    ad_rev z = ad_input(2);
    ad_rev a = ad_rec(ad_mul(z, 3));
    ad_rev h = ad_input(R(0.5));
    ad_rev b = ad_rec(ad_pow(x, h)); int line_b = __LINE__;
    ad_rev c = ad_rec(ad_mul(b, z)); int line_c = __LINE__;
    ad_rev y = ad_rec(ad_sub(c, z));

    CHECK(ad_find_nonfinite(t, a, &found) == ADREV_OK
          && found.adjoint.result.job == 0 && found.value.result.job == 0
          && found.partial.result.seq == b.seq, "a root of 0 is on the tape");
    CHECK(found.partial.operands == 2 && isinf(found.partial.partial[0])
          && found.partial.operand[0].seq == x.seq
          && found.partial.operand[0].job == x.job
          && found.partial.partial[1] == 0
          && found.partial.operand[1].seq == h.seq, "its operands");
    check_site(found.partial.file, found.partial.line, line_b, "partial");
    CHECK(found.partial.adjoint == 0, "which a does not use");
    CHECK(ad_find_nonfinite(t, y, &found) == ADREV_OK
          && found.partial.adjoint == 2, "adjoint of the statement");

    // An infinite adjoint: of c, met before that of b.
    ad_rev w = ad_rec(ad_mul(c, R(INFINITY))); int line_w = __LINE__;
    ad_rev v = ad_rec(ad_mul(w, 2));
    CHECK(ad_find_nonfinite(t, v, &found) == ADREV_OK
          && found.adjoint.result.seq == c.seq
          && isinf(found.adjoint.adjoint), "adjoint of value %u, want %u",
          found.adjoint.result.seq, c.seq);
    check_site(found.adjoint.file, found.adjoint.line, line_c, "adjoint");
    CHECK(found.value.result.seq == (ADREV_DEBUG ? w.seq : 0),
          "the first infinite value: %u", found.value.result.seq);
    if (ADREV_DEBUG) {
        check_site(found.value.file, found.value.line, line_w, "value");
        CHECK(!isfinite(found.value.result.v), "and what it is");
    }
    CHECK(ad_find_nonfinite(t, ad_rec(R(NAN)), &found) == ADREV_OK
          && found.partial.result.seq == b.seq, "from a constant");

    found.partial.line = 77;
    ad_rev stale = x;
    CHECK(ad_find_nonfinite(NULL, y, &found) == ADREV_ENOTAPE, "no tape");
    CHECK(ad_find_nonfinite(t, y, NULL) == ADREV_ESHAPE, "no struct");
    ad_tape_clear(t);
    CHECK(ad_find_nonfinite(t, stale, &found) == ADREV_EFOREIGN
          && found.partial.line == 77, "a value of before");
    ad_tape_free(t);
}

/* --- 7  terms ------------------------------------------------------------- */

static void test_explain(void)
{
    ad_tape *t = ad_tape_new();
    ad_term term[2];
    ad_explanation sum = {0};
    ad_use(t);
    ad_rev x = ad_input(2);
    ad_rev p = ad_rec(ad_mul(x, 1e6));
    ad_rev q = ad_rec(ad_sqr(x));
    ad_rev r = ad_rec(ad_mul(x, 1000000.5)); int line_r = __LINE__;
    ad_rev d = ad_rec(ad_sub(p, r));
    ad_rev y = ad_rec(ad_add(q, d));

    CHECK(ad_explain(t, y, x, 2, term, &sum) == ADREV_OK && sum.terms == 3
          && sum.listed == 2 && sum.derivative == R(3.5), "derivative %g",
          (double)sum.derivative);
    CHECK_CLOSE(sum.size, 2000004.5, 2);
    CHECK_CLOSE(sum.condition, 2000004.5 / 3.5, 2);
    CHECK(term[0].result.seq == r.seq && term[0].result.job == r.job
          && term[0].partial == R(1000000.5) && term[0].adjoint == -1
          && term[0].product == R(-1000000.5), "the largest");
    CHECK(term[1].result.seq == p.seq && term[1].product == R(1e6), "the next");
    check_site(term[0].file, term[0].line, line_r, "term");
    CHECK(ad_explain(t, y, term[0].result, 2, term, &sum) == ADREV_OK
          && sum.terms == 1 && term[0].result.seq == d.seq
          && sum.condition == 1, "and so on");
    CHECK(ad_explain(t, y, x, 0, NULL, &sum) == ADREV_OK && sum.terms == 3
          && sum.listed == 0, "only the sum");
    CHECK(ad_explain(t, y, y, 2, term, &sum) == ADREV_OK && sum.terms == 0
          && sum.derivative == 1 && sum.size == 1, "dy/dy");
    ad_rev unused = ad_input(1);
    CHECK(ad_explain(t, y, unused, 2, term, &sum) == ADREV_OK
          && sum.derivative == 0 && sum.terms == 0 && sum.condition == 1,
          "no use");

    // A running sum is used without an operand.
    ad_rev s = ad_rec(ad_sin(x));
    ad_rev u = s;
    ad_acc(&u, ad_mul(x, x));
    CHECK(ad_explain(t, u, s, 2, term, &sum) == ADREV_OK && sum.terms == 1
          && term[0].partial == 1 && term[0].result.seq == u.seq, "a sum");

    CHECK(ad_explain(t, y, x, 2, term, &sum) == ADREV_OK && sum.terms == 3,
          "uses that y does not depend on are no terms");
    sum.terms = 77;
    CHECK(ad_explain(t, y, x, 1, NULL, &sum) == ADREV_ESHAPE, "no array");
    CHECK(ad_explain(t, y, x, 2, term, NULL) == ADREV_ESHAPE, "no sum");
    CHECK(ad_explain(t, y, ad_rec(2), 2, term, &sum) == ADREV_EPASSIVE
          && sum.terms == 77, "of a constant");
    ad_tape_free(t);
}

/* --- 8  regions and dumps ------------------------------------------------- */

// Statements as the text below has them: fused, with running sums seen.
#ifdef __OPTIMIZE__
#define PLAIN (!ADREV_DEBUG && ADREV_FUSE >= 4)
#else
#define PLAIN 0
#endif

static char dumped[4000];
static size_t length;

static void keep(const char *text, size_t n, void *user)
{
    CHECK(user == &length && length + n < sizeof dumped, "dump");
    memcpy(dumped + length, text, n);
    length += n;
    dumped[length] = 0;
}

static void test_regions(void)
{
    ad_tape *t = ad_tape_new();
    ad_region r[3];
    ad_region_begin("no tape");
    ad_use(t);
    CHECK(ad_tape_regions(t, 3, r) == 0, "none");
    ad_rev x = ad_input(2);
    for (int i = 0; i < 50; i++) {
        ad_region_begin("outer");
        x = ad_rec(ad_sin(x));
        ad_region_begin("inner");
        ad_rev u = ad_input(1);
        x = ad_rec(ad_mul(x, u));
        ad_region_end(i % 2 ? "inner" : "never");
        ad_region_begin("outer");
        ad_region_end("outer");
        ad_region_end("inner");
        ad_region_end("outer");
    }
    x = ad_rec(ad_cos(x));
    ad_region_begin("open");
    x = ad_rec(ad_cos(x));
    CHECK(ad_tape_regions(t, 3, r) == 3 && strcmp(r[0].name, "outer") == 0
          && strcmp(r[1].name, "inner") == 0, "names");
    CHECK(r[0].entered == 50 && r[0].statements == 100 && r[0].values == 150
          && r[0].operands == 150, "outer: %zu, %zu, %zu, %zu", r[0].entered,
          r[0].statements, r[0].values, r[0].operands);
    CHECK(r[1].entered == 50 && r[1].statements == 50 && r[1].operands == 100,
          "inner");
    CHECK(r[2].statements == 1, "still open");
    size_t bytes = 150 * sizeof(adx_operand) + 100 * 2 + 150 * sizeof(ad_real)
                 + 50 * ADX_LEAST;
    if (!ADREV_DEBUG)
        CHECK(r[0].bytes == bytes, "%zu bytes, want %zu", r[0].bytes, bytes);
    CHECK(ad_tape_regions(t, 1, r) == 1 && r[0].statements == 100, "no room");
    CHECK(ad_tape_regions(NULL, 3, r) == 0 && ad_tape_regions(t, 3, NULL) == 0,
          "nothing");
    ad_real g = 0;
    CHECK(ad_gradient(t, x, 1, &x, &g) == ADREV_OK && g == 1, "sweeps pass");
    ad_tape_free(t);
}

static void test_dump(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x = ad_input(2);
    ad_rev z = ad_input(4);
    ad_region_begin("a \"part\"");
    ad_rev y = ad_rec(ad_add(ad_mul(x, 0.25), ad_mul(z, -0x1p40)));
    ad_acc(&y, ad_mul(z, 8));
    ad_region_end("a \"part\"");
    z = ad_input(1);
    DROP(ad_rec(ad_add(ad_mul(ad_detach(x), 3), ad_add(y, z))));
    length = 0;
    CHECK(ad_dump_text(t, keep, &length) == ADREV_OK, "text");
    static const char text[] = "v1 to v2: inputs\nbegin 0: a \\\"part\\\"\n"
        "v3 = 0.25 v1 + -1.09951163e+012 v2\nv4 = sum v3 + 8 v2\n"
        "end: a \\\"part\\\"\nv5: input\nv6 = 3 const + 1 v4 + 1 v5\n";
    CHECK(!PLAIN || strcmp(dumped, text) == 0, "text:\n%s", dumped);
    CHECK(!ADREV_DEBUG || strstr(dumped, "finding_mistakes.c:") != NULL, "sites");
    for (size_t room = 0; room < length + 3; room++) {
        char part[1000] = "#";
        memset(part + 1, '#', sizeof part - 1);
        size_t fits = room == 0 ? 0 : room <= length ? room - 1 : length;
        CHECK(ad_dump_string(t, room, part) == length
              && memcmp(part, dumped, fits) == 0
              && part[fits] == (room == 0 ? '#' : 0) && part[fits + 1] == '#',
              "a string of %zu, with room for %zu", length, room);
    }
    CHECK(ad_dump_string(t, 9, NULL) == length
          && ad_dump_string(NULL, 0, NULL) == 0, "no string");
    CHECK(!ADREV_DEBUG || ADREV_FUSE < 4
          || strstr(dumped, "value -4.39804651e+012") != NULL, "values");
    length = 0;
    CHECK(ad_dump_dot(t, keep, &length) == ADREV_OK, "dot");
    static const char dot[] = "digraph tape {\nrankdir=BT;\nv1 [shape=box];\n"
        "v2 [shape=box];\nsubgraph cluster_0 { label=\"a \\\"part\\\"\";\n"
        "v3 [label=\"v3\"];\nv3 -> v1 [label=\"0.25\"];\n"
        "v3 -> v2 [label=\"-1.09951163e+012\"];\nv4 [label=\"v4\"];\n"
        "v4 -> v3 [label=\"1\"];\nv4 -> v2 [label=\"8\"];\n}\n"
        "v5 [shape=box];\nv6 [label=\"v6\"];\nv6 -> v4 [label=\"1\"];\n"
        "v6 -> v5 [label=\"1\"];\n}\n";
    CHECK(!PLAIN || strcmp(dumped, dot) == 0, "dot:\n%s", dumped);
    CHECK(ad_dump_text(NULL, keep, &length) == ADREV_ENOTAPE, "no tape");
    ad_tape_clear(t);
    ad_region_begin("open");
    length = 0;
    ad_dump_dot(t, keep, &length);
    CHECK(strcmp(dumped, "digraph tape {\nrankdir=BT;\nsubgraph cluster_0 "
                 "{ label=\"open\";\n}\n}\n") == 0, "closed:\n%s", dumped);
    ad_tape_free(t);
}

// Numbers have nine digits, and are read back as they were.
static void test_numbers(void)
{
    static const double exact[] = {
        0, 1, -1, 10, 0.1, 1e-5, 123456789, 1e8, 999999999, 1e9, 0.00012345,
        1.5, 100.25, 1e300, 1e-300, 123456789012, -0.5, 5e-324, 1e-4, 9.99999999
    };
    adx_writer w = { keep, &length };
    for (int i = 0; i < 20000; i++) {
        bool known = i < (int)(sizeof exact / sizeof *exact);
        double x = known ? exact[i] : oracle_uniform(&seed, -1, 1)
                   * pow(10, below(2) ? below(12) - 6 : below(600) - 300);
        length = 0;
        adx_print(&w, "%g", x);
        double got = strtod(dumped, NULL);
        CHECK(fabs(got - x) <= 5.001e-9 * fabs(x) || x == 5e-324,
              "%.17g is written %s", x, dumped);
        CHECK(length <= 16, "%.17g is written %s", x, dumped);
        char want[32];
        snprintf(want, sizeof want, "%.9g", x);
        if (known && strchr(want, 'e') == NULL)
            CHECK(strcmp(want, dumped) == 0, "%s is written %s", want, dumped);
    }
    length = 0;
    adx_print(&w, "%g %g %z", (double)INFINITY, (double)NAN, (size_t)1230);
    CHECK(strcmp(dumped, "inf nan 1230") == 0, "%s", dumped);
}

#ifndef PROGRAMS
#define PROGRAMS (400 / ONE_IN(4))
#endif

/* --- array and external statements ----------------------------------------- */

// y = sum x_i^2 with a pullback that is right, wrong, or fails.
typedef enum mood { RIGHT, WRONG, FAILS } mood;

static bool squares_back(const void *saved, size_t m, const ad_real dy[],
                         size_t n, ad_real dx[])
{
    const ad_real *x = saved;
    const mood *how = (const mood *)(x + n);
    (void)m;
    for (size_t i = 0; i < n; i++)
        dx[i] += dy[0] * x[i] * (*how == WRONG && i == 1 ? 3 : 2);
    return *how != FAILS;
}

static ad_rev squares(const ad_rev *x, void *ctx)
{
    static const ad_external_rule rule = { .name = "squares",
                                           .pullback = squares_back };
    struct { ad_real x[3]; mood how; } saved = { { x[0].v, x[1].v, x[2].v },
                                                 *(const mood *)ctx };
    ad_real v = 0;
    ad_rev y;
    for (size_t i = 0; i < 3; i++)
        v += x[i].v * x[i].v;
    ad_external(&rule, &saved, sizeof saved, 3, x, 1, &v, &y);
    return y;
}

static ad_rev of_arrays(const ad_rev *x, void *ctx)
{
    ad_rev y[3];
    (void)ctx;
    ad_softmax(3, x, y);
    return ad_rec(ad_mul(ad_dot(3, x, y), ad_norm2(3, x)));
}

static void test_statements(void)
{
    static const ad_real x[3] = { (ad_real)0.5, -2, 1 };
    ad_check_report report = { 0 };
    mood how = RIGHT;
    CHECK(ad_check(of_arrays, NULL, 3, x, &report) == ADREV_OK
              && ad_check_passed(&report), "arrays");
    report = (ad_check_report){ 0 };
    CHECK(ad_check(squares, &how, 3, x, &report) == ADREV_OK
              && ad_check_passed(&report), "a pullback that is right");
    how = WRONG;
    report = (ad_check_report){ 0 };
    CHECK(ad_check(squares, &how, 3, x, &report) == ADREV_OK
              && !ad_check_passed(&report) && report.worst.index == 1
              && report.counts[ADREV_DISAGREES] == 1,
          "a pullback that is wrong in one entry");
    how = FAILS;
    report = (ad_check_report){ 0 };
    CHECK(ad_check(squares, &how, 3, x, &report) == ADREV_EEXTERNAL,
          "a pullback that fails");
}

// Terms that go through a statement over arrays, and what is not finite there.
static void test_through_arrays(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x[2], y[2];
    ad_term term[3] = { { .product = 0 } };
    ad_explanation sum = { 0 };
    ad_nonfinite found = { .value = { .operands = 0 } };
    ad_inputs(2, (ad_real[]){ 3, 4 }, x);
    ad_rev z = ad_rec(ad_add(ad_mul(2, ad_dot(2, x, x)), ad_mul(5, x[0])));
    CHECK(ad_explain(t, z, x[0], 3, term, &sum) == ADREV_OK
              && sum.terms == 2 && sum.derivative == 17
              && term[0].product == 12 && term[0].adjoint == 2,
          "explain: %zu terms, sum %g", sum.terms, (double)sum.derivative);
    ad_tape_clear(t);
    ad_inputs(2, (ad_real[]){ 0, 4 }, x);
    ad_scale(2, x[1], x, y);
    z = ad_rec(ad_sqrt(y[0]));
    CHECK(ad_find_nonfinite(t, z, &found) == ADREV_OK
              && found.adjoint.result.seq == y[0].seq
              && isinf(found.adjoint.adjoint), "an infinite adjoint");
    CHECK(found.partial.result.job == 0 || found.partial.result.seq != 0,
          "a partial without a statement");
    ad_tape_clear(t);
    ad_inputs(2, (ad_real[]){ 0, -4 }, x);
    ad_each(ADREV_OP_log, 2, x, NULL, NULL, y);
    z = ad_rec(ad_mul(2, y[0]));
    CHECK(ad_find_nonfinite(t, z, &found) == ADREV_OK
              && found.partial.result.seq == y[0].seq, "a partial of log(0)");
    CHECK(!ADREV_DEBUG || (found.value.result.seq == y[0].seq
                           && found.value.result.v == -(ad_real)INFINITY),
          "the value of log(0)");
    ad_tape_free(t);
}

int main(void)
{
    test_verdicts();
    test_right(PROGRAMS);
    test_wrong(PROGRAMS);
    test_many();
    test_huge();
    test_unfilled();
    test_jacobian();
    test_jacobian_sweeps();
    test_printed();
    test_rogues();
    test_shapes();
    test_memory();
    test_nonfinite();
    test_explain();
    test_regions();
    test_dump();
    test_numbers();
    test_statements();
    test_through_arrays();
    return check_done("finding_mistakes");
}
