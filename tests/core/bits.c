// SPDX-License-Identifier: MIT-0
// tags:
// flags: -ffp-contract=off
/* bits.c - every operation gives the same bits in every way it is computed.
 *
 * On a tape, where the compiler may know an argument; replayed at one point;
 * in lanes; and as machine code made of the generated C. Arguments are zeros of
 * both signs, infinities, NaN, the smallest and the largest numbers, and random
 * ones. A NaN has any sign, and a partial that is 0, too.                    */

#define _POSIX_C_SOURCE 200809L     // mkdtemp

#include <stdlib.h>

#define ADREV_IMPLEMENTATION
#include "adrev_function.h"

#include "check.h"
#include "fronts.h"

#include <string.h>

#ifndef POINTS
#define POINTS 20000            // at random, besides the special ones
#endif

/* --- what is computed ----------------------------------------------------- */

// As a user writes it, with arguments that the compiler sees.
#define LITERAL(ROW)                                                        \
    ROW( ad_pow(x, 2) )       ROW( ad_pow(x, -1) )      ROW( ad_pow(x, 0.5) ) \
    ROW( ad_pow(x, 3) )       ROW( ad_pow(2, x) )       ROW( ad_pow(10, x) ) \
    ROW( ad_powi(x, 2) )      ROW( ad_powi(x, -1) )     ROW( ad_powi(x, 0) ) \
    ROW( ad_max(x, 0) )       ROW( ad_max(0, x) )       ROW( ad_max(-0.0, x) ) \
    ROW( ad_min(x, 0) )       ROW( ad_min(0, x) )       ROW( ad_min(x, -0.0) ) \
    ROW( ad_max(x, ADX_NAN) ) ROW( ad_min(ADX_NAN, x) ) ROW( ad_fdim(x, 0) ) \
    ROW( ad_clamp(x, 0, 1) )  ROW( ad_clamp(x, -0.0, 0) ) ROW( ad_hypot(0, x) ) \
    ROW( ad_ldexp(x, 1100) )  ROW( ad_ldexp(x, -1080) ) ROW( ad_fmod(x, 1) ) \
    ROW( ad_copysign(x, -0.0) ) ROW( ad_copysign(1, x) ) ROW( ad_fma(x, 1, 0) ) \
    ROW( ad_add(x, 0) )       ROW( ad_sub(0, x) )       ROW( ad_mul(x, 0) ) \
    ROW( ad_div(0, x) )       ROW( ad_atan2(x, 0) )     ROW( ad_sub(x, -0.0) )

#define COUNT(...) + 1
enum {
    ROWS = 0 ADREV_OPS(COUNT),
    RESULTS = ROWS LITERAL(COUNT),
    INPUTS = 3
};

#define NAME(name, ...) #name,
#define TEXT(...) #__VA_ARGS__,
static const char *const names[RESULTS] = {
    ADREV_OPS(NAME) LITERAL(TEXT)
};

#define FRONT_select(name, x, y, z)  ad_select(true, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, 3)
#define FRONT_order(name, x, y, z)   ad_##name(3, y)

#define DEFINE(name, n, ...)                                                \
    static ad_rev row_##name(const ad_rev *a)                               \
        { return ad_rec(CALL(name, n, a[0], a[1], a[2])); }
ADREV_OPS(DEFINE)
#undef DEFINE

static ad_rev *literal(ad_rev x, ad_rev *y)
{
#define ENTER(...) *y++ = ad_rec(__VA_ARGS__);
    LITERAL(ENTER)
#undef ENTER
    return y;
}

static void everything(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
#define ENTER(name, ...) *y++ = row_##name(x);
    ADREV_OPS(ENTER)
#undef ENTER
    literal(x[0], y);
}

/* --- where ---------------------------------------------------------------- */

static const ad_real special[] = {
    0, -ADX_K(0.0), 1, -1, 2, -2, 3, ADX_K(0.5), -ADX_K(0.5), ADX_K(1.7), -20,
    ADX_K(1e-40), ADX_K(1e-310), -ADX_K(1e-310), ADX_K(1e30), -ADX_K(1e160),
    ADX_K(1.7e308), -ADX_K(1.7e308), ADX_K(INFINITY), -ADX_K(INFINITY),
    ADX_K(NAN)
};

enum { SPECIAL = sizeof special / sizeof *special, ALL = SPECIAL * SPECIAL };

static ad_real at[ALL + POINTS][INPUTS];

static ad_real uniform(double from, double to)
{
    static uint64_t seed = 88172645463325252u;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (ad_real)(from + (to - from) * ((double)(seed >> 11) * 0x1p-53));
}

static void choose_points(void)
{
    for (size_t i = 0; i < ALL; i++) {
        at[i][0] = special[i % SPECIAL];
        at[i][1] = special[i / SPECIAL];
        at[i][2] = special[(i + i / SPECIAL) % SPECIAL];
    }
    for (size_t i = ALL; i < ALL + POINTS; i++)
        for (int k = 0; k < INPUTS; k++)
            at[i][k] = uniform(-4, 4);
}

/* --- the ways -------------------------------------------------------------- */

static ad_real values[ALL + POINTS][RESULTS];           // of the tape
static ad_real partials[ALL][RESULTS][INPUTS];

static void on_tape(ad_tape *t)
{
    ad_rev x[INPUTS];
    ad_rev y[RESULTS];
    for (size_t i = 0; i < ALL + POINTS; i++) {
        ad_tape_clear(t);
        ad_inputs(INPUTS, at[i], x);
        everything(x, y, NULL);
        for (int k = 0; k < RESULTS; k++)
            values[i][k] = y[k].v;
        if (i < ALL)
            CHECK(ad_jacobian(t, RESULTS, y, INPUTS, x, partials[i][0])
                      == ADREV_OK, "Jacobian");
    }
}

static bool same(ad_real a, ad_real b)
{
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

static void compare(const char *way, size_t i, const ad_real y[])
{
    for (int k = 0; k < RESULTS; k++)
        CHECK(same(y[k], values[i][k]), "%s, %s at (%.17g, %.17g, %.17g): "
              "%.17g, on a tape %.17g", way, names[k], (double)at[i][0],
              (double)at[i][1], (double)at[i][2], (double)y[k],
              (double)values[i][k]);
}

static void compare_partials(const char *way, size_t i, int row,
                             const ad_real J[INPUTS])
{
    for (int k = 0; k < INPUTS; k++) {
        ad_real want = partials[i][row][k];
        CHECK(J[k] == want || same(J[k], want), "%s, d%d %s at (%.17g, %.17g, "
              "%.17g): %.17g, on a tape %.17g", way, k, names[row],
              (double)at[i][0], (double)at[i][1], (double)at[i][2],
              (double)J[k], (double)want);
    }
}

static void one_by_one(const char *way, ad_fn *fn)
{
    static ad_real y[RESULTS];
    static ad_real J[RESULTS][INPUTS];
    for (size_t i = 0; i < ALL + POINTS; i++) {
        ad_status status = ad_fn_eval(fn, at[i], y);
        CHECK(status == ADREV_OK, "%s: %s", way, ad_message(status));
        compare(way, i, y);
    }
    for (size_t i = 0; i < ALL; i++) {
        CHECK(ad_fn_jacobian(fn, at[i], J[0]) == ADREV_OK, "Jacobian");
        for (int k = 0; k < RESULTS; k++)
            compare_partials(way, i, k, J[k]);
    }
}

static void side_by_side(const char *way, ad_fn *fn)
{
    static ad_real y[ALL + POINTS][RESULTS];
    ad_column from[INPUTS];
    ad_column to[RESULTS];
    for (int k = 0; k < INPUTS; k++)
        from[k] = (ad_column){ &at[0][k], INPUTS };
    for (int k = 0; k < RESULTS; k++)
        to[k] = (ad_column){ &y[0][k], RESULTS };
    CHECK(ad_fn_map(fn, ALL + POINTS, from, to, NULL) == ADREV_OK, "map");
    for (size_t i = 0; i < ALL + POINTS; i++)
        compare(way, i, y[i]);
}

static ad_fn *recorded(ad_vector_fn *f)
{
    const ad_real somewhere[INPUTS] = { ADX_K(0.3), ADX_K(0.4), ADX_K(0.6) };
    ad_fn *fn = NULL;
    CHECK(ad_fn_record(&fn, f, NULL, INPUTS, somewhere, RESULTS) == ADREV_OK,
          "recorded");
    return fn;
}

static void compiled(void)
{
    char cache[] = "/tmp/adrev-bits-XXXXXX";
    char line[80];
    const ad_compile_options o = {
        .compiler = "cc", .cache = cache, .flags = "-O2 -ffp-contract=off",
        .functions = ADREV_C_VALUE | ADREV_C_JACOBIAN
    };
    ad_fn *fn = recorded(everything);
    if (CHECK(mkdtemp(cache) != NULL, "a cache")) {
        ad_status status = ad_fn_compile(fn, &o);
        CHECK(status == ADREV_OK, "compile: %s", ad_message(status));
        one_by_one("compiled", fn);
        side_by_side("compiled, side by side", fn);
        snprintf(line, sizeof line, "rm -r %s", cache);
        CHECK(system(line) == 0, "the cache goes");
    }
    ad_fn_free(fn);
}

int main(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    choose_points();
    on_tape(t);
    ad_fn *fn = recorded(everything);
    one_by_one("replayed", fn);
    side_by_side("in lanes", fn);
    ad_fn_free(fn);
    compiled();
    ad_tape_free(t);
    return check_done("bits");
}
