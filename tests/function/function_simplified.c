// SPDX-License-Identifier: MIT-0
// tags: recorded slow
/* function_simplified.c - recorded functions: zero factors, infinities and NaN,
 * and what simplifying may and may not remove.                              */

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"
#include "recorded.h"

#define INF       ((double)INFINITY)
#define QNAN      ((double)NAN)

/* --- zero absorbs --------------------------------------------------------- */

static void root_or_0(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_select(ad_gt(x[0], 0), ad_sqrt(x[0]), 0));
}

static void chosen_0(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_select(false, ad_log(x[0]), ad_mul(x[0], x[0])));
    y[1] = ad_rec(ad_max(ad_sqrt(x[0]), 1));
    y[2] = ad_rec(ad_relu(ad_sub(ad_sqrt(x[0]), 1)));
    y[3] = ad_rec(ad_clamp(ad_cbrt(x[0]), 1, 2));
    y[4] = ad_rec(ad_sqr(ad_detach(ad_sqrt(x[0]))));
}

static void weighted_root(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[1], ad_sqrt(x[0])));
}

// On both sides of the end of a domain, with slopes of the side not taken that
// are infinite or NaN.
static void test_zero_absorbs(void)
{
    const double zero[1] = { 0 };
    const double minus[1] = { -2 };
    const double four[1] = { 4 };
    const struct truth none = { { 0 }, { 0 }, { 0 } };
    ad_fn *fn = recorded("root or 0", root_or_0, NULL, 1, minus, 1);
    check_answers("root or 0", fn, zero, &none);
    check_answers("root or 0", fn, minus, &none);
    check_path("root or 0", fn, four, 0);
    ad_fn_free(fn);

    const struct truth at_zero = {
        { 0, 1, 0, 1, 0 }, { 0 }, { 2 * 2 }
    };
    fn = recorded("chosen", chosen_0, NULL, 1, four, 5);
    check_answers("chosen, at 0", fn, zero, &at_zero);
    ad_fn_free(fn);
}

// Directions and weights of 0, where all slopes are infinite or NaN.
static void test_zero_seeds(void)
{
    const double at[2] = { 4, 2 };
    const double x[2] = { 0, 3 };
    const double none[2] = { 0, 0 };
    const double across[2] = { 0, 2 };
    const double one = 1;
    double dy = UNTOUCHED;
    double dx[2] = { UNTOUCHED, UNTOUCHED };
    ad_fn *fn = recorded("root", weighted_root, NULL, 2, at, 1);
    CHECK(ad_fn_jvp(fn, x, none, &dy) == ADREV_OK && dy == 0, "got %g", dy);
    CHECK(ad_fn_jvp(fn, x, across, &dy) == ADREV_OK && dy == 0, "got %g", dy);
    CHECK(ad_fn_vjp(fn, x, none, dx) == ADREV_OK && dx[0] == 0 && dx[1] == 0,
          "got %g, %g", dx[0], dx[1]);
    CHECK(ad_fn_hvp(fn, x, none, at, dx) == ADREV_OK && dx[0] == 0
              && dx[1] == 0, "w = 0: got %g, %g", dx[0], dx[1]);
    CHECK(ad_fn_hvp(fn, x, &one, none, dx) == ADREV_OK && dx[0] == 0
              && dx[1] == 0, "v = 0: got %g, %g", dx[0], dx[1]);

    // At x[1] = 0 the factor takes the infinite slope of the root away.
    double H[4];
    CHECK(ad_fn_gradient(fn, none, NULL, dx) == ADREV_OK && dx[0] == 0
              && dx[1] == 0, "0 sqrt(0): got %g, %g", dx[0], dx[1]);
    CHECK(ad_fn_hessian(fn, none, &one, H) == ADREV_OK, "hessian");
    CHECK(H[0] == 0 && H[1] == INF && H[2] == INF && H[3] == 0,
          "0 sqrt(0): got %g, %g, %g, %g", H[0], H[1], H[2], H[3]);
    CHECK(ad_fn_gradient(fn, x, NULL, dx) == ADREV_OK && dx[0] == INF
              && dx[1] == 0, "3 sqrt(0): got %g, %g", dx[0], dx[1]);
    ad_fn_free(fn);
}

/* --- infinities, NaN, -0, and what simplifying must not do-------------------
 * Pieces of programs that an optimiser is tempted to shorten. At every pair of
 * special numbers the value has the bits of a tape, simplified or not, and the
 * gradient is that of the tape.                                              */

#define A x[0]
#define B x[1]
#define PIECES(ROW)                                                         \
    ROW(  1, ad_add(A, 0) )              ROW(  2, ad_add(0, A) )            \
    ROW(  3, ad_add(A, -0.0) )           ROW(  4, ad_add(-0.0, A) )         \
    ROW(  5, ad_sub(A, 0) )              ROW(  6, ad_sub(A, -0.0) )         \
    ROW(  7, ad_sub(0, A) )              ROW(  8, ad_sub(-0.0, A) )         \
    ROW(  9, ad_mul(A, 1) )              ROW( 10, ad_mul(1, A) )            \
    ROW( 11, ad_mul(A, -1) )             ROW( 12, ad_mul(-1, A) )           \
    ROW( 13, ad_mul(A, 0) )              ROW( 14, ad_mul(-0.0, A) )         \
    ROW( 15, ad_mul(A, 2) )              ROW( 16, ad_add(A, A) )            \
    ROW( 17, ad_div(A, 1) )              ROW( 18, ad_div(A, -1) )           \
    ROW( 19, ad_div(0, A) )              ROW( 20, ad_div(A, A) )            \
    ROW( 21, ad_div(1, ad_div(1, A)) )   ROW( 22, ad_div(A, 2) )            \
    ROW( 23, ad_div(A, 3) )              ROW( 24, ad_sub(A, A) )            \
    ROW( 25, ad_neg(ad_neg(A)) )         ROW( 26, ad_neg(ad_sub(A, B)) )    \
    ROW( 27, ad_add(A, ad_neg(B)) )      ROW( 28, ad_sub(A, ad_neg(B)) )    \
    ROW( 29, ad_add(ad_sub(A, B), B) )                                      \
    ROW( 30, ad_div(ad_mul(A, B), B) )   ROW( 31, ad_mul(ad_neg(A), B) )    \
    ROW( 32, ad_mul(ad_neg(A), ad_neg(B)) )                                 \
    ROW( 33, ad_fma(A, 1, B) )           ROW( 34, ad_fma(A, B, 0) )         \
    ROW( 35, ad_fma(A, B, -0.0) )        ROW( 36, ad_fma(A, 0, B) )         \
    ROW( 37, ad_fma(0, A, B) )           ROW( 38, ad_fma(A, -1, B) )        \
    ROW( 39, ad_sqr(A) )                 ROW( 40, ad_mul(A, A) )            \
    ROW( 41, ad_pow(A, 0) )              ROW( 42, ad_pow(A, 1) )            \
    ROW( 43, ad_pow(A, 2) )              ROW( 44, ad_pow(A, -1) )           \
    ROW( 45, ad_pow(A, 0.5) )            ROW( 46, ad_pow(1, A) )            \
    ROW( 47, ad_powi(A, 0) )             ROW( 48, ad_powi(A, 1) )           \
    ROW( 49, ad_powi(A, 2) )             ROW( 50, ad_powi(A, -1) )          \
    ROW( 51, ad_sqrt(ad_sqr(A)) )        ROW( 52, ad_sqr(ad_sqrt(A)) )      \
    ROW( 53, ad_exp(ad_log(A)) )         ROW( 54, ad_log(ad_exp(A)) )       \
    ROW( 55, ad_abs(ad_abs(A)) )         ROW( 56, ad_abs(ad_neg(A)) )       \
    ROW( 57, ad_relu(ad_relu(A)) )       ROW( 58, ad_relu(ad_abs(A)) )      \
    ROW( 59, ad_max(A, A) )              ROW( 60, ad_min(A, A) )            \
    ROW( 61, ad_max(A, 0) )              ROW( 62, ad_max(0, A) )            \
    ROW( 63, ad_min(A, -0.0) )           ROW( 64, ad_min(A, B) )            \
    ROW( 65, ad_max(A, -INF) )           ROW( 66, ad_min(A, INF) )          \
    ROW( 67, ad_max(A, QNAN) )           ROW( 68, ad_max(A, B) )            \
    ROW( 69, ad_clamp(A, -INF, INF) )    ROW( 70, ad_clamp(A, 1, 1) )       \
    ROW( 71, ad_clamp(1, A, B) )         ROW( 72, ad_clamp(A, B, B) )       \
    ROW( 73, ad_select(true, A, B) )     ROW( 74, ad_select(false, A, B) )  \
    ROW( 75, ad_select(true, A, A) )     ROW( 76, ad_fdim(A, A) )           \
    ROW( 77, ad_fdim(A, 0) )             ROW( 78, ad_copysign(A, A) )       \
    ROW( 79, ad_copysign(A, 1) )         ROW( 80, ad_copysign(A, B) )       \
    ROW( 81, ad_copysign(1, A) )         ROW( 82, ad_hypot(A, 0) )          \
    ROW( 83, ad_hypot(A, B) )            ROW( 84, ad_atan2(A, B) )          \
    ROW( 85, ad_atan2(A, 1) )            ROW( 86, ad_ldexp(A, 0) )          \
    ROW( 87, ad_ldexp(ad_ldexp(A, 4), -4) )                                 \
    ROW( 88, ad_fmod(A, B) )             ROW( 89, ad_remainder(A, 1) )      \
    ROW( 90, ad_neg(ad_mul(A, B)) )                                         \
    ROW( 91, ad_add(ad_mul(A, B), ad_mul(B, A)) )                           \
    ROW( 92, ad_sub(ad_mul(A, B), ad_mul(B, A)) )                           \
    ROW( 93, ad_sub(ad_sub(A, B), ad_sub(B, A)) )                           \
    ROW( 94, ad_mul(ad_detach(A), B) )                                      \
    ROW( 95, ad_sub(A, ad_detach(A)) )                                      \
    ROW( 96, ad_add(ad_mul(A, 0.5), ad_mul(A, 0.5)) )                       \
    ROW( 97, ad_add(ad_add(A, 1e16), -1e16) )                               \
    ROW( 98, ad_mul(ad_mul(A, 1e300), 1e-300) )                             \
    ROW( 99, ad_mul(ad_select(true, 3, A), B) )                             \
    ROW( 100, ad_add(ad_mul(ad_powi(A, 0), 2), B) )                         \
    ROW( 101, ad_sub(A, ad_mul(A, B)) )  ROW( 102, ad_sub(ad_mul(A, B), A) ) \
    ROW( 103, ad_add(ad_mul(A, B), B) )                                     \
    ROW( 104, ad_add(ad_cos(A), ad_mul(A, B)) )                             \
    ROW( 105, ad_add(ad_relu(ad_mul(A, ad_neg(B))), ad_mul(A, A)) )         \
    ROW( 106, ad_add(ad_mul(A, A), ad_relu(ad_mul(A, ad_neg(B)))) )

#define DEFINE(id, e)                                                       \
    static void piece_##id(const ad_rev *x, ad_rev *y) { y[0] = ad_rec(e); }
PIECES(DEFINE)
#undef DEFINE

static const struct piece {
    void (*f)(const ad_rev *x, ad_rev *y);
    const char *text;
} pieces[] = {
#define ENTER(id, e) { piece_##id, #e },
    PIECES(ENTER)
#undef ENTER
};

static const double special[] = {
    0, -0.0, 1, -1, 2.5, -3, 1e-310, -5e-324, 1e300, -1e300, INF, -INF, QNAN
};

static void one_piece(const ad_rev *x, ad_rev *y, void *ctx)
{
    pieces[*(const size_t *)ctx].f(x, y);
}

static void tape_of(ad_vector_fn *f, void *ctx, size_t n, const double *x,
                    double *y, double *g)
{
    ad_rev in[MOST];
    ad_rev out[MOST];
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    ad_inputs(n, x, in);
    f(in, out, ctx);
    *y = out[0].v;
    for (size_t i = 0; i < n; i++)
        g[i] = 0;
    if (out[0].job != 0)
        CHECK(ad_gradient(t, out[0], n, in, g) == ADREV_OK, "a gradient");
    ad_use(before);
    ad_tape_free(t);
}

// Two ulps: the sum of two products may be rounded in another order. Where x y
// and y x are seen to be the same, their difference has slope 0, not NaN.
static bool as_on_tape(double got, double tape, bool shortened)
{
    return check_ulps((long double)got, (long double)tape) <= 2
        || (shortened && got == 0 && isnan(tape));
}

// C leaves open which of 0 and -0 is the smaller one.
static bool value_on_tape(size_t i, double got, double tape)
{
    bool tie = strstr(pieces[i].text, "ad_min") != NULL
            || strstr(pieces[i].text, "ad_max") != NULL;
    return same(got, tape) || (tie && got == 0 && tape == 0);
}

static void check_piece(size_t i, const char *how, ad_fn *fn, const double *x)
{
    double y = 0;
    double g[2];
    static answers a;
    tape_of(one_piece, &i, 2, x, &y, g);
    ask_all(fn, x, &a);
    check_status(pieces[i].text, fn, &a, ADREV_OK);
    CHECK(value_on_tape(i, a.out[ASK_EVAL][0], y), "%s, %s at (%g, %g): got "
          "%.17g, want %.17g", pieces[i].text, how, x[0], x[1],
          a.out[ASK_EVAL][0], y);
    bool shortened = strcmp(how, "plain") != 0;
    for (int k = 0; k < 2; k++) {
        CHECK(as_on_tape(a.out[ASK_GRADIENT][k], g[k], shortened),
              "%s, %s at (%g, %g), gradient [%d]: got %.17g, want %.17g",
              pieces[i].text, how, x[0], x[1], k, a.out[ASK_GRADIENT][k], g[k]);
        CHECK(as_on_tape(a.out[ASK_JACOBIAN][k], g[k], shortened),
              "%s, %s at (%g, %g), jacobian [%d]: got %.17g, want %.17g",
              pieces[i].text, how, x[0], x[1], k, a.out[ASK_JACOBIAN][k], g[k]);
    }
}

static void test_special(void)
{
    const double at[2] = { 0.75, 1.5 };
    for (size_t i = 0; i < COUNT(pieces); i++) {
        ad_fn *fn = recorded(pieces[i].text, one_piece, &i, 2, at, 1);
        ad_fn *plain = recorded_plain(pieces[i].text, one_piece, &i, 2, at, 1);
        for (size_t k = 0; k < COUNT(special) * COUNT(special); k++) {
            double x[2] = { special[k / COUNT(special)],
                            special[k % COUNT(special)] };
            check_piece(i, "simplified", fn, x);
            check_piece(i, "plain", plain, x);
        }
        ad_fn_free(fn);
        ad_fn_free(plain);
    }
}

// Recorded where the numbers are special, too.
static void test_recorded_special(void)
{
    const double at[][2] = { { QNAN, 1 }, { 0, -0.0 }, { INF, -INF } };
    for (size_t i = 0; i < COUNT(pieces); i++)
        for (size_t k = 0; k < COUNT(at); k++) {
            ad_fn *fn = recorded(pieces[i].text, one_piece, &i, 2, at[k], 1);
            check_piece(i, "recorded elsewhere", fn,
                        (const double[2]){ 2.5, -3 });
            check_piece(i, "recorded here", fn, at[k]);
            ad_fn_free(fn);
        }
}

// A guard that compared NaN: with NaN again it comes out as it did.
static void compare_nan(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[0];
    if (ad_lt(x[0], 1))
        y[0] = ad_rec(ad_mul(y[0], 2));
    if (ad_ge(x[0], 1))
        y[0] = ad_rec(ad_mul(y[0], 4));
    if (ad_eq(x[0], x[0]))
        y[0] = ad_rec(ad_mul(y[0], 8));
}

static void value_nan(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[1], ad_value(x[0])));
}

static void value_zero(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[1], 1 / ad_value(x[0])));
}

// Either the path is another one, or the value is that of the program.
static void check_honest(const char *name, ad_vector_fn *f, const double *at,
                         const double *x)
{
    double y = 0;
    double g[2];
    static answers a;
    ad_fn *fn = recorded(name, f, NULL, 2, at, 1);
    tape_of(f, NULL, 2, x, &y, g);
    ask_all(fn, x, &a);
    if (a.status[ASK_EVAL] == ADREV_EPATH)
        check_status(name, fn, &a, ADREV_EPATH);
    else
        CHECK(same(a.out[ASK_EVAL][0], y), "%s: recorded at %g, at %g: got "
              "%g, want %g or ADREV_EPATH", name, at[0], x[0],
              a.out[ASK_EVAL][0], y);
    ad_fn_free(fn);
}

static void test_guards_of_nan(void)
{
    const double nan[2] = { QNAN, 3 };
    const double five[2] = { 5, 3 };
    const double half[2] = { 0.5, 3 };
    const struct truth t = { { (long double)NAN }, { 1, 0 }, { 0 } };
    ad_fn *fn = recorded("NaN", compare_nan, NULL, 2, nan, 1);
    check_answers("NaN", fn, nan, &t);
    check_path("NaN to 5", fn, five, 1);
    check_path("NaN to 0.5", fn, half, 0);
    ad_fn_free(fn);
    fn = recorded("5", compare_nan, NULL, 2, five, 1);
    check_path("5 to NaN", fn, nan, 1);
    ad_fn_free(fn);

    const struct truth u = { { (long double)NAN }, { 0, (long double)NAN },
                             { 0 } };
    fn = recorded("ad_value of NaN", value_nan, NULL, 2, nan, 1);
    check_answers("ad_value of NaN", fn, nan, &u);
    ad_fn_free(fn);
    check_honest("ad_value of NaN", value_nan, nan, five);
    check_honest("ad_value of NaN", value_nan, five, nan);
    check_honest("ad_value of 0", value_zero, (const double[2]){ 0, 3 },
                 (const double[2]){ -0.0, 3 });
    check_honest("ad_value of -0", value_zero, (const double[2]){ -0.0, 3 },
                 (const double[2]){ 0, 3 });
}

/* --- what simplifying removes --------------------------------------------- */

static void twice_sine(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev a = ad_rec(ad_sin(x[0]));
    ad_rev b = ad_rec(ad_sin(x[0]));
    y[0] = ad_rec(ad_mul(a, b));
}

// Chains of the same: the products, then their sines.
static void twice_chain(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev a = ad_rec(ad_sin(ad_mul(x[0], x[1])));
    ad_rev b = ad_rec(ad_sin(ad_mul(x[0], x[1])));
    y[0] = ad_rec(ad_add(a, b));
}

static void both_orders(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev a = ad_rec(ad_mul(x[0], x[1]));
    ad_rev b = ad_rec(ad_mul(x[1], x[0]));
    y[0] = ad_rec(ad_sub(ad_add(a, x[0]), ad_add(x[0], b)));
}

static void squares(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(x[0], x[0]), ad_sqr(x[0])));
}

static void unused(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    DROP(ad_rec(ad_exp(ad_sub(x[1], x[0]))));
    y[0] = ad_rec(ad_mul(x[0], x[0]));
}

static void neutral(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_sub(ad_mul(x[0], 1), 0));
}

// What -(-x) leaves nobody needs.
static void minus_minus(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_neg(ad_neg(x[0])));
}

// The choice is the number 2, so its triple is a number, too.
static void of_constants(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(x[0], ad_mul(3, ad_select(true, 2, x[1]))));
}

// None of these is x, or 0, or 1, for every number.
static void not_neutral(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(x[0], 0));
    y[1] = ad_rec(ad_mul(x[0], 0));
    y[2] = ad_rec(ad_sub(x[0], x[0]));
    y[3] = ad_rec(ad_div(x[0], x[0]));
    y[4] = ad_rec(ad_sub(0, x[0]));
    y[5] = ad_rec(ad_div(0, x[0]));
}

static void two_names(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_hypot(x[0], x[1]));
    y[1] = ad_rec(ad_hypot(x[0], x[1]));
}

static void no_operation(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[1];
    y[1] = ad_rec(4);
}

static void one_array(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_sum(2, x);
    y[1] = ad_rec(ad_mul(y[0], y[0]));
}

static const struct reported {
    const char *name;
    ad_vector_fn *f;
    size_t m;
    ad_fn_report want;  // recorded, constant, common, identity, dead,
                        // operations, arrays, guards
} reported[] = {
    { "sin x sin x",       twice_sine,    1, { 3, 0, 1, 0, 0, 2, 0, 0 } },
    { "sin xy + sin xy",   twice_chain,   1, { 5, 0, 2, 0, 0, 3, 0, 0 } },
    { "xy + x - (x + yx)", both_orders,   1, { 5, 0, 2, 0, 0, 3, 0, 0 } },
    { "x x + sqr x",       squares,       1, { 3, 0, 1, 0, 0, 2, 0, 0 } },
    { "not used",          unused,        1, { 3, 0, 0, 0, 2, 1, 0, 0 } },
    { "x*1 - 0",           neutral,       1, { 2, 0, 0, 2, 0, 0, 0, 0 } },
    { "-(-x)",             minus_minus,   1, { 2, 0, 0, 1, 1, 0, 0, 0 } },
    { "3 select(true, 2)", of_constants,  1, { 3, 1, 0, 1, 0, 1, 0, 0 } },
    { "x + 0, 0 x ...",    not_neutral,   6, { 6, 0, 0, 0, 0, 6, 0, 0 } },
    { "two results",       two_names,     2, { 2, 0, 1, 0, 0, 1, 0, 0 } },
    { "no operation",      no_operation,  2, { 0, 0, 0, 0, 0, 0, 0, 0 } },
    { "an array",          one_array,     2, { 2, 0, 0, 0, 0, 2, 1, 0 } },
};

static void test_report(void)
{
    const double at[2] = { 0.5, 2 };
    for (size_t i = 0; i < COUNT(reported); i++) {
        const struct reported *r = &reported[i];
        ad_fn *fn = recorded(r->name, r->f, NULL, 2, at, r->m);
        ad_fn *plain = recorded_plain(r->name, r->f, NULL, 2, at, r->m);
        ad_fn_report all = {
            .recorded = r->want.recorded, .operations = r->want.recorded,
            .arrays = r->want.arrays
        };
        check_report(r->name, ad_fn_about(fn), r->want);
        check_report(r->name, ad_fn_about(plain), all);
        ad_fn_free(fn);
        ad_fn_free(plain);
    }
}

// Comparisons, steps and ad_value are guards; select and detach are not.
static void decide(const ad_rev *x, ad_rev *y, void *ctx)
{
    bool less = ad_lt(x[0], x[1]);
    ad_rev unused_exp = ad_rec(ad_exp(x[1]));
    (void)ctx;
    y[0] = ad_rec(ad_select(less, x[0], x[1]));
    if (ad_ne(unused_exp, 1))
        y[0] = ad_rec(ad_mul(y[0], ad_floor(x[0])));
    y[0] = ad_rec(ad_mul(y[0], ad_value(x[0])));
    y[0] = ad_rec(ad_mul(y[0], ad_detach(x[1])));
}

static void test_guards_counted(void)
{
    const double at[2] = { 1.5, 2 };
    for (int plain = 0; plain < 2; plain++) {
        ad_fn *fn = (plain ? recorded_plain : recorded)("decide", decide, NULL,
                                                        2, at, 1);
        ad_fn_report r = ad_fn_about(fn);
        CHECK(r.guards == 4, "%zu guards", r.guards);
        CHECK(r.recorded == r.constant + r.common + r.identity + r.dead
                          + r.operations, "recorded %zu, constant %zu, common "
              "%zu, identity %zu, dead %zu, operations %zu", r.recorded,
              r.constant, r.common, r.identity, r.dead, r.operations);
        // What only a guard needs, e here, is kept: at 0 it is 1.
        check_path("decide", fn, (const double[2]){ -1, 0 }, 1);
        check_path("decide", fn, (const double[2]){ 1.25, 2 }, 3);
        check_path("decide", fn, (const double[2]){ 1.25, 1 }, 0);
        ad_fn_free(fn);
    }
}

// A number that is read behind the recording's back stays what it was.
static void peek(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = ad_rec(ad_mul(x[1], *(const bool *)ctx ? ad_value(x[0]) : x[0].v));
}

static void test_peek(void)
{
    const double at[2] = { 3, 5 };
    const double x[2] = { 4, 5 };
    for (int noticed = 0; noticed < 2; noticed++) {
        bool by_value = noticed == 1;
        double y = 7;
        ad_fn *fn = NULL;
        const ad_fn_options once = { .once = true };    // see frozen.c
        ad_status s = ad_fn_record_with(&fn, &once, peek, &by_value, 2, at, 1);
        CHECK(s == ADREV_OK, "%s", ad_message(s));
        s = ad_fn_eval(fn, x, &y);
        CHECK(by_value ? s == ADREV_EPATH && y == 7 : s == ADREV_OK && y == 15,
              "%s, y is %g", ad_message(s), (double)y);
        ad_fn_free(fn);
    }
}

// Statements that are taken apart, and what they are then.
static void apart(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *which = ctx;
    ad_rev z[3];
    if (*which == 0)
        y[0] = ad_sqdist(2, x, x + 1);
    else if (*which == 1)
        y[0] = ad_logsumexp(3, x);
    else {
        ad_softmax(3, x, z);
        y[0] = z[0];
    }
}

static void test_apart(void)
{
    const double at[3] = { 0.1, 0.2, 0.3 };
    for (int which = 0; which < 3; which++) {
        ad_fn *fn = recorded("apart", apart, &which, 3, at, 1);
        ad_fn_report r = ad_fn_about(fn);
        CHECK(r.recorded == 1 && r.operations > 1 && r.arrays > 1
              && r.arrays <= r.operations, "%d: recorded %zu, operations %zu, "
              "arrays %zu", which, r.recorded, r.operations, r.arrays);
        ad_fn_free(fn);
    }
}

int main(void)
{
    test_zero_absorbs();
    test_zero_seeds();
    test_special();
    test_recorded_special();
    test_guards_of_nan();
    test_report();
    test_apart();
    test_peek();
    test_guards_counted();
    return check_done("function_simplified");
}
