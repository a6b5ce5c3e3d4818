// SPDX-License-Identifier: MIT-0
// tags:
/* numbers.c - what a number is: plain data, a constant until it is an input.
 *
 * Copies of every kind, constants and numbers without a tape, operands of every
 * type, the branch not taken, the zero factor, steps, ties, and running sums in
 * every situation. Everything here is exact: nothing is allowed to differ.   */

#include "implementation.h"
#include "adrev.h"

#include "check.h"
#include "random_numbers.h"

#include <stdlib.h>
#include <string.h>

static ad_tape *tape;

static const ad_real infinite = (ad_real)INFINITY;
static const ad_real nothing = (ad_real)NAN;

// dy/dx in four ways, which must agree; NaN agrees with NaN.
static ad_real slope(ad_rev y, ad_rev x)
{
    ad_real one = 1;
    ad_real g = 0;
    ad_real p = 0;
    ad_real t = 0;
    ad_real J = 0;
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "gradient");
    CHECK(ad_pullback(tape, 1, &y, &one, 1, &x, &p) == ADREV_OK, "pullback");
    CHECK(ad_pushforward(tape, 1, &x, &one, 1, &y, &t) == ADREV_OK, "pushed");
    CHECK(ad_jacobian(tape, 1, &y, 1, &x, &J) == ADREV_OK, "jacobian");
    CHECK_CLOSE(p, g, 0);
    CHECK_CLOSE(t, g, 0);
    CHECK_CLOSE(J, g, 0);
    return g;
}

static bool same_number(ad_rev a, ad_rev b)
{
    return a.v == b.v && a.seq == b.seq && a.job == b.job;
}

static ad_fwd seeded(double v) { return (ad_fwd){ (ad_real)v, 1 }; }

/* --- plain data ----------------------------------------------------------- */

static ad_rev zero_static;

static void run_zero_bytes(void)
{
    ad_rev *heap = calloc(4, sizeof *heap);
    ad_rev zero_set;
    ad_rev x = ad_input(3);
    if (!heap)
        exit(EXIT_FAILURE);
    memset(&zero_set, 0, sizeof zero_set);
    ad_rev zeros[4] = { zero_static, zero_set, heap[0], heap[3] };
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
        CHECK_CLOSE(ad_value(zeros[i]), 0, 0);
        CHECK(ad_rec(ad_mul(zeros[i], 2)).job == 0, "zero bytes: a constant");
        ad_rev y = ad_rec(ad_add(ad_mul(x, x), zeros[i]));
        CHECK_CLOSE(y.v, 9, 0);
        CHECK_CLOSE(slope(y, x), 6, 0);
        CHECK(ad_gradient(tape, y, 1, &zeros[i], &(ad_real){ 0 })
                  == ADREV_EPASSIVE, "no gradient with respect to a constant");
    }
    free(heap);
}

struct shape {
    ad_rev width;
    int colour;
    ad_rev height[2];
};

static ad_rev area(struct shape s)
{
    return ad_rec(ad_mul(s.width, ad_add(s.height[0], s.height[1])));
}

static void run_copies(void)
{
    struct shape s = { ad_input(2), 7, { ad_input(3), ad_input(4) } };
    struct shape copy = s;
    unsigned char bytes[sizeof s];
    memcpy(bytes, &copy, sizeof s);
    memset(&copy, 0xff, sizeof copy);
    struct shape back;
    memcpy(&back, bytes, sizeof back);
    struct shape *heap = malloc(sizeof *heap);
    if (!heap)
        exit(EXIT_FAILURE);
    *heap = back;
    struct shape *moved = realloc(heap, 100 * sizeof *heap);
    if (!moved)
        exit(EXIT_FAILURE);
    memmove(moved + 50, moved, sizeof *moved);

    ad_rev y = area(moved[50]);
    CHECK_CLOSE(y.v, 14, 0);
    CHECK(moved[50].colour == 7, "an int in a struct stays");
    CHECK_CLOSE(slope(y, s.width), 7, 0);
    CHECK_CLOSE(slope(y, s.height[0]), 2, 0);
    CHECK_CLOSE(slope(y, s.height[1]), 2, 0);
    CHECK(same_number(moved[50].width, s.width), "the same number");
    free(moved);
}

static int by_value(const void *a, const void *b)
{
    const ad_rev *x = a;
    const ad_rev *y = b;
    return ad_gt(*x, *y) - ad_lt(*x, *y);
}

// Sorted by value, weighted by rank: the weights go back to where they were.
static void run_qsort(void)
{
    enum { COUNT = 100 };
    ad_rev x[COUNT];
    ad_rev sorted[COUNT];
    ad_real g[COUNT] = { 0 };
    uint64_t seed = 3;
    for (int i = 0; i < COUNT; i++)
        x[i] = ad_input((ad_real)oracle_uniform(&seed, -9, 9));
    memcpy(sorted, x, sizeof x);
    qsort(sorted, COUNT, sizeof *sorted, by_value);
    ad_rev y = { 0 };
    for (int i = 0; i < COUNT; i++)
        ad_acc(&y, ad_mul(i, sorted[i]));
    CHECK(ad_gradient(tape, y, COUNT, x, g) == ADREV_OK, "gradient");
    for (int i = 0; i < COUNT; i++) {
        int rank = 0;
        for (int j = 0; j < COUNT; j++)
            rank += x[j].v < x[i].v;
        CHECK_CLOSE(g[i], rank, 0);
    }
}

/* --- constants, and numbers without a tape -------------------------------- */

static void run_detach(void)
{
    ad_rev x = ad_input(3);
    ad_rev stopped = ad_detach(x);
    CHECK_CLOSE(ad_value(stopped), 3, 0);
    CHECK(stopped.job == 0, "detached: a constant");
    CHECK_CLOSE(slope(ad_rec(ad_mul(x, stopped)), x), 3, 0);
    CHECK_CLOSE(slope(ad_rec(ad_mul(x, ad_detach(ad_sqr(x)))), x), 9, 0);
    CHECK_CLOSE(ad_value(ad_detach(ad_mul(x, 2))), 6, 0);
    CHECK_CLOSE(slope(x, x), 1, 0);

    ad_fwd d = seeded(3);
    CHECK_CLOSE(ad_detach(d).d, 0, 0);
    CHECK_CLOSE(ad_detach(d).v, 3, 0);
    CHECK_CLOSE(ad_dual(ad_mul(d, ad_detach(d))).d, 3, 0);
    CHECK_CLOSE(ad_dual(ad_mul(d, ad_detach(ad_sqr(d)))).d, 9, 0);
    CHECK_CLOSE(d.d, 1, 0);
}

static void run_constants(void)
{
    ad_rev x = ad_input(3);
    ad_rev c = ad_rec(2);
    size_t before = ad_tape_stats(tape).values;
    ad_rev d = ad_rec(ad_exp(ad_mul(c, ad_sin(c))));
    CHECK(c.job == 0 && d.job == 0, "of constants alone: a constant");
    CHECK(same_number(ad_rec(x), x), "of an ad_rev: that value");
    CHECK(ad_tape_stats(tape).values == before, "nothing was recorded");
    CHECK_CLOSE(slope(ad_rec(ad_mul(x, c)), x), 2, 0);

    // Recorded and forward numbers meet as values only.
    CHECK_CLOSE(ad_dual(ad_mul(seeded(5), ad_value(x))).d, 3, 0);
    CHECK_CLOSE(ad_dual(ad_mul(x, x)).d, 0, 0);
    CHECK_CLOSE(slope(ad_rec(ad_mul(ad_value(seeded(5)), x)), x), 5, 0);
}

static void run_no_tape(void)
{
    ad_rev x = ad_input(3);
    ad_rev y = ad_rec(ad_mul(x, x));
    CHECK(ad_use(NULL) == tape, "the tape that was current");

    ad_rev u = ad_input(4);
    CHECK_CLOSE(u.v, 4, 0);
    CHECK(u.job == 0, "an input without a tape is a constant");
    ad_real in[2] = { 1, 2 };
    ad_rev out[2];
    ad_inputs(2, in, out);
    CHECK(out[0].job == 0 && out[1].job == 0 && out[1].v == 2, "so are more");
    ad_rev z = ad_rec(ad_add(ad_mul(x, u), ad_sin(0)));
    CHECK_CLOSE(z.v, 12, 0);
    CHECK(z.job == 0, "nothing is recorded, the value is right");
    ad_acc(&z, ad_mul(x, 2));
    CHECK_CLOSE(z.v, 18, 0);
    CHECK(z.job == 0, "a sum neither");

    CHECK(ad_use(tape) == NULL, "none was current");
    CHECK(ad_tape_status(tape) == ADREV_OK, "the tape has not failed");
    CHECK_CLOSE(slope(y, x), 6, 0);
    CHECK_CLOSE(slope(ad_rec(ad_mul(x, z)), x), 18, 0);
}

// A value that outlived its recording, or is of another tape: found at use.
static void run_foreign(void)
{
    ad_real g = 7;
    ad_rev x = ad_input(3);
    ad_tape_clear(tape);
    ad_rev u = ad_input(2);
    CHECK(ad_gradient(tape, x, 1, &u, &g) == ADREV_EFOREIGN, "a stale output");
    CHECK(ad_gradient(tape, u, 1, &x, &g) == ADREV_EFOREIGN, "a stale input");
    CHECK_CLOSE(g, 7, 0);
    ad_rev y = ad_rec(ad_mul(x, u));
    CHECK_CLOSE(y.v, 6, 0);
    CHECK(ad_tape_status(tape) == ADREV_EFOREIGN, "a stale operand");
    CHECK(ad_gradient(tape, u, 1, &u, &g) == ADREV_EFOREIGN, "is remembered");
    ad_tape_clear(tape);
    CHECK(ad_tape_status(tape) == ADREV_OK, "until the tape is cleared");

    ad_tape *other = ad_tape_new();
    if (!other)
        exit(EXIT_FAILURE);
    u = ad_input(2);
    ad_use(other);
    DROP(ad_rec(ad_mul(u, ad_input(3))));
    CHECK(ad_tape_status(other) == ADREV_EFOREIGN, "of another tape");
    CHECK(ad_tape_status(tape) == ADREV_OK, "whose tape does not suffer");
    ad_use(tape);
    ad_tape_free(other);
}

/* --- operands ------------------------------------------------------------- */

enum colour { RED, GREEN, BLUE };

#define ALL_TYPES(ROW)                                                      \
    ROW(bool) ROW(char) ROW(signed char) ROW(unsigned char) ROW(short)      \
    ROW(unsigned short) ROW(int) ROW(unsigned) ROW(long)                    \
    ROW(unsigned long) ROW(long long) ROW(unsigned long long) ROW(float)    \
    ROW(double) ROW(long double) ROW(enum colour) ROW(const int)            \
    ROW(volatile double)

// x - 1 x, as each type says 1, before and behind x.
#define TYPE(type)                                                          \
    {                                                                       \
        type c = (type)1;                                                   \
        ad_rev y = ad_rec(ad_sub(ad_mul(x, 3), ad_mul(ad_mul(c, x), c)));   \
        CHECK_CLOSE(y.v, 6, 0);                                             \
        CHECK_CLOSE(slope(y, x), 2, 0);                                     \
        CHECK_CLOSE(ad_dual(ad_mul(c, seeded(3))).d, 1, 0);                 \
        CHECK(ad_lt(c, x) && !ad_gt(c, x) && ad_ge(x, c), #type);           \
        CHECK_CLOSE(ad_rec(c).v, 1, 0);                                     \
    }

static void run_types(void)
{
    const ad_rev x = ad_input(3);
    ALL_TYPES(TYPE)
    CHECK_CLOSE(ad_rec(ad_add(-1LL, 0u)).v, -1, 0);
    CHECK_CLOSE(ad_rec(ad_add(18446744073709551615u, 0)).v,
                (ad_real)18446744073709551615.0, 0);
}

static int calls;

static ad_rev counted(ad_rev x)
{
    calls++;
    return x;
}

// Of the three kinds of operand text, each is evaluated once.
static void run_once(void)
{
    ad_rev a[3] = { ad_input(2), ad_input(3), ad_input(5) };
    const ad_rev *p = a;
    int i = 0;
    ad_rev y = ad_rec(ad_add(ad_mul(a[i++], 2), ad_mul(*p++, counted(a[2]))));
    CHECK(i == 1 && p == a + 1 && calls == 1, "evaluated once");
    CHECK_CLOSE(y.v, 14, 0);
    ad_acc(&a[i++], counted(y));
    CHECK(i == 2 && calls == 2, "evaluated once");
    CHECK_CLOSE(a[1].v, 17, 0);
    y = ad_rec(ad_select(calls++ > 0, counted(a[0]), counted(a[2])));
    CHECK(calls == 5, "both sides of a select, each once");
    CHECK_CLOSE(y.v, 2, 0);
}

static void run_comparisons(void)
{
    ad_rev x = ad_input(2);
    ad_fwd d = seeded(2);
    CHECK(ad_lt(x, 3) && ad_lt(1.5f, x) && !ad_lt(x, x), "lt");
    CHECK(ad_le(x, x) && ad_le(x, 2u) && !ad_le(3, x), "le");
    CHECK(ad_gt(x, -1) && ad_gt(ad_mul(2, x), x) && !ad_gt(x, 2), "gt");
    CHECK(ad_ge(x, d) && ad_ge(d, x) && !ad_ge(1, d), "ge");
    CHECK(ad_eq(x, ad_sqrt(4)) && ad_eq(d, 2) && !ad_eq(x, 2.5), "eq");
    CHECK(ad_ne(x, true) && !ad_ne(2, ad_add(d, 0)), "ne");
    CHECK(!ad_lt(x, nothing) && !ad_ge(x, nothing) && !ad_eq(nothing, nothing)
              && ad_ne(nothing, nothing), "NaN is unordered");
    CHECK(ad_eq(ad_mul(0, x), ad_neg(ad_mul(0, x))), "0 is -0");
}

static void run_steps(void)
{
    ad_rev x = ad_input((ad_real)2.5);
    ad_rev y = ad_rec(ad_mul(x, ad_floor(x)));
    CHECK_CLOSE(y.v, 5, 0);
    CHECK_CLOSE(slope(y, x), 2, 0);
    CHECK_CLOSE(slope(ad_rec(ad_mul(x, ad_sign(ad_neg(x)))), x), -1, 0);
    CHECK(ad_rec(ad_ceil(ad_sqr(x))).job == 0, "a step yields a constant");
    CHECK_CLOSE(ad_rec(ad_trunc(ad_neg(x))).v, -2, 0);
    CHECK_CLOSE(ad_rec(ad_round(x)).v, 3, 0);
    CHECK_CLOSE(ad_rec(ad_rint(x)).v, 2, 0);
    CHECK_CLOSE(ad_rec(ad_sign(nothing)).v, nothing, 0);
    ad_fwd d = ad_dual(ad_round(((ad_fwd){ (ad_real)2.4, infinite })));
    CHECK_CLOSE(d.d, 0, 0);
    d = ad_dual(ad_mul(seeded(2.5), ad_floor(seeded(2.5))));
    CHECK_CLOSE(d.d, 2, 0);
}

/* --- ties ----------------------------------------------------------------- */

static void run_ties(void)
{
    ad_rev a = ad_input(1);
    ad_rev b = ad_input(1);
    ad_rev c = ad_input(1);
    ad_rev y = ad_rec(ad_max(a, b));
    CHECK_CLOSE(slope(y, a), 0.5, 0);
    CHECK_CLOSE(slope(y, b), 0.5, 0);
    CHECK_CLOSE(slope(ad_rec(ad_min(a, a)), a), 1, 0);
    CHECK_CLOSE(slope(ad_rec(ad_max(a, 1)), a), 0.5, 0);
    CHECK_CLOSE(slope(ad_rec(ad_fmin(1, b)), b), 0.5, 0);
    y = ad_rec(ad_max(ad_max(a, b), c));
    CHECK_CLOSE(slope(y, a), 0.25, 0);
    CHECK_CLOSE(slope(y, c), 0.5, 0);
    y = ad_rec(ad_min(ad_fmax(a, b), ad_sub(c, 1)));
    CHECK_CLOSE(slope(y, a), 0, 0);
    CHECK_CLOSE(slope(y, c), 1, 0);
    y = ad_rec(ad_clamp(a, b, c));
    CHECK_CLOSE(slope(y, a), 1, 0);
    CHECK_CLOSE(slope(y, b), 0, 0);

    CHECK_CLOSE(ad_dual(ad_max(seeded(1), 1)).d, 0.5, 0);
    CHECK_CLOSE(ad_dual(ad_max(seeded(1), seeded(1))).d, 1, 0);
    CHECK_CLOSE(ad_dual(ad_abs(seeded(0))).d, 0, 0);
    CHECK_CLOSE(ad_dual(ad_relu(seeded(0))).d, 0, 0);
}

// NaN counts as missing in min and max, on either side.
static void run_missing(void)
{
    ad_rev x = ad_input(1);
    ad_rev n = ad_input(nothing);
    ad_rev y[4] = {
        ad_rec(ad_min(x, n)), ad_rec(ad_min(n, x)),
        ad_rec(ad_max(x, n)), ad_rec(ad_max(n, x)),
    };
    for (int i = 0; i < 4; i++) {
        CHECK_CLOSE(y[i].v, 1, 0);
        CHECK_CLOSE(slope(y[i], x), 1, 0);
        CHECK_CLOSE(slope(y[i], n), 0, 0);
    }
}

/* --- the branch not taken ----------------------------------------------------
 * At x = -1 a root has value and slope NaN, at 0 an infinite slope.          */

static void run_select_fused(void)
{
    ad_rev x = ad_input(-1);
    ad_rev y = ad_rec(ad_select(ad_gt(x, 0), ad_sqrt(x), ad_sqr(x)));
    CHECK_CLOSE(y.v, 1, 0);
    CHECK_CLOSE(slope(y, x), -2, 0);
    y = ad_rec(ad_select(ad_le(x, 0), ad_mul(3, x), ad_mul(x, ad_sqrt(x))));
    CHECK_CLOSE(y.v, -3, 0);
    CHECK_CLOSE(slope(y, x), 3, 0);
    y = ad_rec(ad_add(x, ad_mul(ad_select(false, ad_sqrt(x), 5), x)));
    CHECK_CLOSE(y.v, -6, 0);
    CHECK_CLOSE(slope(y, x), 6, 0);
    y = ad_rec(ad_select(1, ad_select(0, ad_log(x), ad_neg(x)), ad_sqrt(x)));
    CHECK_CLOSE(y.v, 1, 0);
    CHECK_CLOSE(slope(y, x), -1, 0);
    CHECK(ad_rec(ad_select(true, 2, ad_sqrt(x))).v == 2, "a number taken");
}

static void run_select_split(void)
{
    ad_rev x = ad_input(-1);
    ad_rev bad = ad_rec(ad_sqrt(x));
    ad_rev worse = ad_rec(ad_mul(bad, bad));
    ad_rev good = ad_rec(ad_sqr(x));
    ad_rev y = ad_rec(ad_select(ad_gt(x, 0), worse, good));
    CHECK_CLOSE(y.v, 1, 0);
    CHECK_CLOSE(slope(y, x), -2, 0);
    CHECK_CLOSE(slope(y, good), 1, 0);
    CHECK_CLOSE(slope(y, bad), 0, 0);
    y = ad_rec(ad_mul(ad_select(ad_lt(x, 0), good, worse), 3));
    CHECK_CLOSE(slope(y, x), -6, 0);

    // All inputs at once, in both directions of the Jacobian.
    ad_rev in[3] = { x, bad, good };
    ad_rev out[2] = { y, good };
    ad_real J[6] = { 0 };
    ad_real want[6] = { -6, 0, 3, -2, 0, 1 };
    CHECK(ad_jacobian(tape, 2, out, 3, in, J) == ADREV_OK, "wide");
    for (int i = 0; i < 6; i++)
        CHECK_CLOSE(J[i], want[i], 0);
    ad_rev outs[4] = { y, good, good, y };
    ad_real column[4] = { 0 };
    CHECK(ad_jacobian(tape, 4, outs, 1, in, column) == ADREV_OK, "tall");
    CHECK_CLOSE(column[0], -6, 0);
    CHECK_CLOSE(column[1], -2, 0);
}

// The adjoint that arrives is infinite: the root above has its kink there.
static void run_select_infinite(void)
{
    ad_rev x = ad_input(0);
    ad_rev u = ad_input(2);
    ad_rev chosen = ad_rec(ad_select(true, ad_mul(2, x), ad_mul(3, u)));
    ad_rev y = ad_rec(ad_sqrt(chosen));
    CHECK_CLOSE(slope(y, x), infinite, 0);
    CHECK_CLOSE(slope(y, u), 0, 0);
    y = ad_rec(ad_sqrt(ad_select(true, x, ad_mul(3, u))));
    CHECK_CLOSE(slope(y, x), infinite, 0);
    CHECK_CLOSE(slope(y, u), 0, 0);

    ad_rev bad = ad_rec(ad_log(ad_sub(u, 2)));
    chosen = ad_rec(ad_select(false, bad, ad_mul(2, x)));
    y = ad_rec(ad_sqrt(chosen));
    CHECK_CLOSE(slope(y, x), infinite, 0);
    CHECK_CLOSE(slope(y, bad), 0, 0);
    CHECK_CLOSE(slope(y, u), 0, 0);
}

static void run_select_forward(void)
{
    ad_fwd x = seeded(-1);
    ad_fwd y = ad_dual(ad_select(ad_gt(x, 0), ad_sqrt(x), ad_sqr(x)));
    CHECK_CLOSE(y.v, 1, 0);
    CHECK_CLOSE(y.d, -2, 0);
    ad_fwd bad = ad_dual(ad_sqrt(x));
    CHECK_CLOSE(bad.d, nothing, 0);
    y = ad_dual(ad_mul(ad_select(false, bad, ad_neg(x)), 2));
    CHECK_CLOSE(y.d, -2, 0);
    CHECK_CLOSE(ad_dual(ad_select(false, bad, 4)).d, 0, 0);
    CHECK_CLOSE(ad_dual(ad_select(1.5 > 1, 4, bad)).d, 0, 0);
    CHECK_CLOSE(ad_dual(ad_sqrt(ad_select(true, seeded(0), bad))).d, infinite, 0);
}

// Conditions of any scalar type, sides with any number of operands.
static void run_select_shapes(void)
{
    ad_rev x = ad_input(3);
    ad_rev e[6];
    for (int i = 0; i < 6; i++)
        e[i] = ad_input((ad_real)i);
    ad_rev many = ad_rec(ad_select(
        x.v > 5, x,
        ad_add(ad_add(ad_add(e[0], e[1]), ad_add(e[2], e[3])),
               ad_add(ad_mul(e[4], 2), ad_mul(e[5], 3)))));
    CHECK_CLOSE(many.v, 29, 0);
    CHECK_CLOSE(slope(many, e[4]), 2, 0);
    CHECK_CLOSE(slope(many, e[5]), 3, 0);
    CHECK_CLOSE(slope(many, x), 0, 0);
    CHECK(same_number(ad_rec(ad_select(&x != NULL, x, e[1])), x)
              || slope(ad_rec(ad_select(true, x, e[1])), x) == 1, "one of two");
    CHECK_CLOSE(ad_rec(ad_select(0x100000000, 1, 2)).v, 1, 0);
    CHECK_CLOSE(ad_rec(ad_select((unsigned char)0, 1, 2)).v, 2, 0);
}

/* --- the zero factor ---------------------------------------------------------
 * A factor of exactly zero in the chain rule gives zero, whatever the other. */

static void run_zero_fused(void)
{
    ad_rev x = ad_input(0);
    ad_rev u = ad_input(5);
    CHECK_CLOSE(slope(ad_rec(ad_sqrt(x)), x), infinite, 0);
    CHECK_CLOSE(slope(ad_rec(ad_mul(0, ad_sqrt(x))), x), 0, 0);
    CHECK_CLOSE(slope(ad_rec(ad_mul(ad_sqrt(x), -0.0)), x), 0, 0);
    CHECK_CLOSE(slope(ad_rec(ad_mul(x, ad_sqrt(x))), x), 0, 0);
    CHECK_CLOSE(slope(ad_rec(ad_sqrt(ad_sqr(x))), x), 0, 0);
    CHECK_CLOSE(slope(ad_rec(ad_sqrt(ad_mul(0, u))), u), 0, 0);
    CHECK_CLOSE(slope(ad_rec(ad_mul(0, ad_sqrt(ad_sub(x, 1)))), x), 0, 0);
    CHECK_CLOSE(slope(ad_rec(ad_add(u, ad_mul(0, ad_log(x)))), u), 1, 0);
    CHECK_CLOSE(slope(ad_rec(ad_hypot(x, ad_mul(0, u))), x), 0, 0);
}

// A zero times each term of a sum: whichever has the infinite slope, and with
// every number of terms before it and after it.
static void run_zero_among(void)
{
    ad_rev x = ad_input(0);
    ad_rev zero = ad_input(0);
    ad_rev u[3] = { ad_input(5), ad_input(6), ad_input(7) };
    ad_rev y;
#define AMONG(sum)                                                          \
    y = ad_rec(ad_mul(sum, zero));                                          \
    CHECK_CLOSE(slope(y, x), 0, 0);                                         \
    y = ad_rec(ad_div(zero, ad_add(2, sum)));                               \
    CHECK_CLOSE(slope(y, x), 0, 0);
    AMONG(ad_add(ad_sqrt(x), u[0]))
    AMONG(ad_add(u[0], ad_sqrt(x)))
    AMONG(ad_add(u[0], ad_add(u[1], ad_sqrt(x))))
    AMONG(ad_add(u[0], ad_add(ad_sqrt(x), u[1])))
    AMONG(ad_add(u[0], ad_add(u[1], ad_add(u[2], ad_sqrt(x)))))
    AMONG(ad_add(u[0], ad_add(u[1], ad_add(ad_sqrt(x), u[2]))))
    AMONG(ad_add(ad_sqr(u[0]), ad_sqrt(x)))
    AMONG(ad_add(ad_sqrt(x), ad_sqr(u[0])))
#undef AMONG
    y = ad_rec(ad_mul(ad_add(u[0], ad_sqrt(x)), u[1]));
    CHECK_CLOSE(slope(y, x), infinite, 0);
}

static void run_zero_split(void)
{
    ad_rev x = ad_input(0);
    ad_rev root = ad_rec(ad_sqrt(x));
    ad_rev y = ad_rec(ad_mul(0, root));
    CHECK_CLOSE(slope(y, x), 0, 0);
    ad_rev square = ad_rec(ad_sqr(x));
    y = ad_rec(ad_sqrt(square));
    CHECK_CLOSE(slope(y, x), 0, 0);
    y = ad_rec(ad_mul(x, root));
    CHECK_CLOSE(slope(y, x), 0, 0);
    ad_rev bad = ad_rec(ad_sqrt(ad_sub(x, 1)));
    y = ad_rec(ad_add(ad_mul(bad, 0), ad_mul(3, x)));
    CHECK_CLOSE(slope(y, x), 3, 0);
}

static void run_zero_seed(void)
{
    ad_rev x = ad_input(0);
    ad_rev u = ad_input(4);
    ad_rev y[2] = { ad_rec(ad_sqrt(x)), ad_rec(ad_mul(u, u)) };
    ad_rev in[2] = { x, u };
    ad_real seed[2] = { 0, 1 };
    ad_real g[2] = { 7, 7 };
    ad_real J[4] = { 0 };
    CHECK(ad_pullback(tape, 2, y, seed, 2, in, g) == ADREV_OK, "pullback");
    CHECK_CLOSE(g[0], 0, 0);
    CHECK_CLOSE(g[1], 8, 0);
    CHECK(ad_pushforward(tape, 2, in, seed, 2, y, g) == ADREV_OK, "pushed");
    CHECK_CLOSE(g[0], 0, 0);
    CHECK_CLOSE(g[1], 8, 0);
    CHECK(ad_jacobian(tape, 2, y, 2, in, J) == ADREV_OK, "jacobian");
    CHECK_CLOSE(J[0], infinite, 0);
    CHECK_CLOSE(J[1], 0, 0);
    CHECK_CLOSE(J[2], 0, 0);
    CHECK_CLOSE(J[3], 8, 0);
}

// The same in all sweeps of a Jacobian: of m rows where there are more
// columns, of n columns where there are more rows. x[0] enters with partial 0
// beside an infinite adjoint or tangent.
static void check_zero_jacobian(size_t m, size_t n)
{
    ad_rev x[12];
    ad_rev y[12] = { { 0 } };
    ad_real J[12 * 12];
    const ad_real zero[12] = { 0 };

    ad_tape_clear(tape);
    ad_inputs(n, zero, x);
    for (size_t i = 0; i < m; i++) {
        ad_rev flat = ad_rec(ad_add(ad_mul(0, x[0]), x[n - 1]));
        y[i] = ad_rec(ad_sqrt(flat));
    }
    CHECK(ad_jacobian(tape, m, y, n, x, J) == ADREV_OK, "%zu x %zu", m, n);
    for (size_t i = 0; i < m * n; i++)
        CHECK(J[i] == (i % n == n - 1 ? infinite : 0), "%zu x %zu: got %g", m,
              n, (double)J[i]);
}

static void run_zero_jacobian(void)
{
    for (size_t few = 2; few <= 12; few++) {
        check_zero_jacobian(few, 12);
        check_zero_jacobian(12, few);
    }
}

// Beside an infinite adjoint in one row, finite ones in the others.
static void run_infinite_row(void)
{
    const ad_real at[4] = { 3, 1, 1, 1 };
    ad_rev x[4];
    ad_real J[8];
    ad_inputs(4, at, x);
    ad_rev square = ad_rec(ad_sqr(x[0]));
    ad_rev root = ad_rec(ad_sqrt(ad_sub(square, 9)));
    ad_rev twice = ad_rec(ad_mul(square, 2));
    ad_rev y[2] = { root, twice };
    CHECK(ad_jacobian(tape, 2, y, 4, x, J) == ADREV_OK, "2 x 4");
    CHECK_CLOSE(J[0], infinite, 0);
    CHECK_CLOSE(J[4], 12, 0);
    for (size_t i = 1; i < 4; i++)
        CHECK(J[i] == 0 && J[4 + i] == 0, "column %zu", i);
}

// A running sum, to which a term is added whose slope is infinite, but which
// does not move: in one direction, and in several at once.
static void run_infinite_sum(void)
{
    const ad_real at[3] = { 0, 2, 1 };
    ad_rev x[3];
    ad_rev y[12];
    ad_real J[12 * 3];
    ad_inputs(3, at, x);
    for (size_t i = 0; i < 12; i++) {
        ad_rev sum = ad_rec(ad_mul(3, x[1]));
        y[i] = ad_rec(ad_add(sum, ad_sqrt(x[0])));
    }
    CHECK_CLOSE(slope(y[11], x[1]), 3, 0);
    CHECK(ad_jacobian(tape, 12, y, 3, x, J) == ADREV_OK, "12 x 3");
    for (size_t i = 0; i < 12; i++)
        CHECK(J[3 * i] == infinite && J[3 * i + 1] == 3 && J[3 * i + 2] == 0,
              "row %zu", i);
}

static void run_zero_forward(void)
{
    ad_fwd x = seeded(0);
    ad_fwd still = { 0, 0 };
    CHECK_CLOSE(ad_dual(ad_sqrt(x)).d, infinite, 0);
    CHECK_CLOSE(ad_dual(ad_sqrt(still)).d, 0, 0);
    CHECK_CLOSE(ad_dual(ad_mul(0, ad_sqrt(x))).d, 0, 0);
    CHECK_CLOSE(ad_dual(ad_mul(x, ad_sqrt(x))).d, 0, 0);
    CHECK_CLOSE(ad_dual(ad_mul(x, ad_dual(ad_sqrt(x)))).d, 0, 0);
    CHECK_CLOSE(ad_dual(ad_sqrt(ad_sqr(x))).d, 0, 0);
    CHECK_CLOSE(ad_dual(ad_mul(0, ad_sqrt(ad_sub(x, 1)))).d, 0, 0);
    CHECK_CLOSE(ad_dual(ad_mul(0, ((ad_fwd){ 1, nothing }))).d, 0, 0);
}

// Otherwise non-finite numbers follow IEEE, and are not hidden.
static void run_not_hidden(void)
{
    ad_rev x = ad_input(0);
    ad_rev root = ad_rec(ad_sqrt(x));
    ad_rev twice = ad_rec(ad_sqrt(x));
    CHECK_CLOSE(slope(ad_rec(ad_sub(root, twice)), x), nothing, 0);
    CHECK_CLOSE(slope(ad_rec(ad_sub(ad_sqrt(x), ad_sqrt(x))), x), nothing, 0);
    CHECK_CLOSE(slope(ad_rec(ad_mul(-2, root)), x), -infinite, 0);
    ad_rev n = ad_input(nothing);
    CHECK_CLOSE(slope(ad_rec(ad_mul(n, x)), x), nothing, 0);
    CHECK_CLOSE(slope(ad_rec(ad_mul(n, x)), n), 0, 0);
}

/* --- running sums --------------------------------------------------------- */

static void run_acc_start(void)
{
    ad_rev x = ad_input(3);
    ad_rev s = { 0 };
    ad_acc(&s, 2);
    CHECK_CLOSE(s.v, 2, 0);
    CHECK(s.job == 0, "numbers added to a constant: a constant");
    ad_acc(&s, ad_mul(x, x));
    CHECK_CLOSE(s.v, 11, 0);
    CHECK_CLOSE(slope(s, x), 6, 0);
    ad_acc(&s, 4u);
    CHECK_CLOSE(s.v, 15, 0);
    CHECK_CLOSE(slope(s, x), 6, 0);
    ad_acc(&s, x);
    CHECK_CLOSE(slope(s, x), 7, 0);

    // The sum starts at an input, which itself must stay.
    ad_rev t = x;
    ad_acc(&t, x);
    CHECK_CLOSE(t.v, 6, 0);
    CHECK_CLOSE(slope(t, x), 2, 0);
    CHECK_CLOSE(x.v, 3, 0);
    CHECK_CLOSE(slope(x, x), 1, 0);
}

static void run_acc_self(void)
{
    ad_rev x = ad_input(3);
    ad_rev s = { 0 };
    ad_acc(&s, x);
    ad_acc(&s, s);
    CHECK_CLOSE(s.v, 6, 0);
    CHECK_CLOSE(slope(s, x), 2, 0);
    ad_acc(&s, ad_mul(s, s));
    CHECK_CLOSE(s.v, 42, 0);
    CHECK_CLOSE(slope(s, x), 26, 0);
    ad_rev before = s;
    ad_acc(&s, ad_mul(s, -1));
    CHECK_CLOSE(s.v, 0, 0);
    CHECK_CLOSE(slope(s, x), 0, 0);
    CHECK_CLOSE(slope(before, x), 26, 0);
}

// Used between two terms, by other statements and as a copy.
static void run_acc_between(void)
{
    ad_rev x = ad_input(3);
    ad_rev s = { 0 };
    ad_acc(&s, ad_mul(2, x));
    ad_rev copy = s;
    ad_rev square = ad_rec(ad_sqr(s));
    ad_acc(&s, ad_mul(5, x));
    ad_rev late = ad_rec(ad_mul(copy, s));
    ad_acc(&s, square);
    ad_acc(&copy, x);
    ad_acc(&s, ad_input(100));
    CHECK_CLOSE(square.v, 36, 0);
    CHECK_CLOSE(late.v, 126, 0);
    CHECK_CLOSE(copy.v, 9, 0);
    CHECK_CLOSE(s.v, 157, 0);
    CHECK_CLOSE(slope(square, x), 24, 0);
    CHECK_CLOSE(slope(late, x), 84, 0);
    CHECK_CLOSE(slope(copy, x), 3, 0);
    CHECK_CLOSE(slope(s, x), 31, 0);
}

static void run_acc_nested(void)
{
    enum { ROWS = 7, COLUMNS = 5 };
    ad_rev x[ROWS][COLUMNS];
    ad_rev total = { 0 };
    ad_rev other = { 0 };
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            x[i][j] = ad_input((ad_real)(i + j));
    for (int i = 0; i < ROWS; i++) {
        ad_rev row = { 0 };
        for (int j = 0; j < COLUMNS; j++) {
            ad_acc(&row, ad_mul(j + 1, x[i][j]));
            ad_acc(&other, x[i][j]);
        }
        ad_acc(&total, ad_mul(i, row));
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            CHECK_CLOSE(slope(total, x[i][j]), i * (j + 1), 0);
            CHECK_CLOSE(slope(other, x[i][j]), 1, 0);
        }
}

static void run_acc_forward(void)
{
    ad_fwd s = { 0 };
    ad_fwd x = seeded(3);
    ad_acc(&s, 2);
    ad_acc(&s, ad_sqr(x));
    ad_acc(&s, s);
    CHECK_CLOSE(s.v, 22, 0);
    CHECK_CLOSE(s.d, 12, 0);
}

static void run_acc_rewound(void)
{
    ad_rev x = ad_input(3);
    ad_rev s = { 0 };
    ad_acc(&s, ad_mul(2, x));
    for (int i = 0; i < 3; i++) {
        ad_mark mark = ad_tape_mark(tape);
        ad_rev t = s;
        ad_acc(&t, ad_mul(i, x));
        CHECK_CLOSE(slope(t, x), 2 + i, 0);
        CHECK(ad_tape_rewind(tape, mark) == ADREV_OK, "rewind");
        CHECK_CLOSE(slope(s, x), 2, 0);
    }
    ad_acc(&s, x);
    CHECK_CLOSE(slope(s, x), 3, 0);
}

/* Linear programs at random: sums, copies, products with integers, in any order.
 * The shadow of a number is its row of integer coefficients, so everything is
 * exact in single precision, too.                                            */

enum { INPUTS = 5, SUMS = 6, STEPS = 60, LARGEST = 1 << 18 };

struct shadow {
    ad_rev r;
    long c[INPUTS + 1];         // of each input, and the constant
};

static struct shadow fresh(ad_rev r, int input, long constant)
{
    struct shadow s = { r, { 0 } };
    if (input >= 0)
        s.c[input] = 1;
    s.c[INPUTS] = constant;
    return s;
}

static bool small(const struct shadow *s)
{
    long size = 0;
    for (int i = 0; i <= INPUTS; i++)
        size += labs(s->c[i]) * (i < INPUTS ? i + 1 : 1);
    return size < LARGEST;
}

static void add_to(struct shadow *s, const struct shadow *t, long times)
{
    for (int i = 0; i <= INPUTS; i++)
        s->c[i] += times * t->c[i];
}

static void random_step(struct shadow *s, const struct shadow *x,
                        uint64_t *seed)
{
    struct shadow *a = &s[oracle_random(seed) % SUMS];
    struct shadow b = s[oracle_random(seed) % SUMS];
    const struct shadow *u = &x[oracle_random(seed) % INPUTS];
    int k = (int)(oracle_random(seed) % 7) - 3;
    switch (oracle_random(seed) % 9) {
    case 0:
        ad_acc(&a->r, u->r);
        add_to(a, u, 1);
        break;
    case 1:
    case 2:
        ad_acc(&a->r, ad_mul(k, u->r));
        add_to(a, u, k);
        break;
    case 3:
        ad_acc(&a->r, b.r);
        add_to(a, &b, 1);
        break;
    case 4:
        ad_acc(&a->r, ad_sub(ad_mul(b.r, k), u->r));
        add_to(a, &b, k);
        add_to(a, u, -1);
        break;
    case 5:
        ad_acc(&a->r, k);
        a->c[INPUTS] += k;
        break;
    case 6:
        a->r = ad_rec(ad_add(ad_add(b.r, a->r), ad_add(u->r, u->r)));
        add_to(a, &b, 1);
        add_to(a, u, 2);
        break;
    case 7:
        *a = b;
        break;
    default:
        a->r = ad_rec(ad_neg(a->r));
        add_to(a, &(struct shadow){ a->r, { a->c[0], a->c[1], a->c[2],
                                            a->c[3], a->c[4], a->c[5] } }, -2);
    }
    if (!small(a))
        *a = fresh(ad_rec(1), -1, 1);
}

static void check_shadows(const struct shadow *s, const struct shadow *x,
                          int many)
{
    ad_rev y[2 * SUMS] = { { 0, 0, 0 } };
    ad_rev in[INPUTS];
    ad_real J[2 * SUMS * INPUTS] = { 0 };
    bool constant = true;
    for (int i = 0; i < INPUTS; i++)
        in[i] = x[i].r;
    for (int i = 0; i < many; i++) {
        y[i] = s[i % SUMS].r;
        constant = constant && y[i].job == 0;
    }
    ad_status status = ad_jacobian(tape, (size_t)many, y, INPUTS, in, J);
    CHECK(status == (constant ? ADREV_EPASSIVE : ADREV_OK), "%s",
          ad_message(status));
    for (int i = 0; i < many; i++)
        for (int j = 0; j < INPUTS; j++)
            CHECK_CLOSE(J[i * INPUTS + j], s[i % SUMS].c[j], 0);
    for (int i = 0; i < many && i < SUMS; i++) {
        long v = s[i].c[INPUTS];
        for (int j = 0; j < INPUTS; j++) {
            v += s[i].c[j] * (j + 1);
            if (y[i].job != 0)
                CHECK_CLOSE(slope(y[i], in[j]), s[i].c[j], 0);
        }
        CHECK_CLOSE(y[i].v, v, 0);
    }
}

static void run_acc_random(void)
{
    uint64_t seed = 5;
    for (int program = 0; program < 300; program++) {
        struct shadow x[INPUTS];
        struct shadow s[SUMS];
        ad_tape_clear(tape);
        for (int i = 0; i < INPUTS; i++)
            x[i] = fresh(ad_input((ad_real)(i + 1)), i, 0);
        for (int i = 0; i < SUMS; i++)
            s[i] = fresh((ad_rev){ 0 }, -1, 0);
        for (int i = 0; i < STEPS; i++)
            random_step(s, x, &seed);
        check_shadows(s, x, SUMS);
        check_shadows(s, x, 3);
        check_shadows(s, x, 2 * SUMS);
    }
}

int main(void)
{
    void (*const runs[])(void) = {
        run_zero_bytes, run_copies, run_qsort, run_detach, run_constants,
        run_no_tape, run_foreign, run_types, run_once, run_comparisons,
        run_steps, run_ties, run_missing, run_select_fused, run_select_split,
        run_select_infinite, run_select_forward, run_select_shapes,
        run_zero_fused, run_zero_among, run_zero_split, run_zero_seed,
        run_zero_jacobian, run_infinite_row, run_infinite_sum,
        run_zero_forward, run_not_hidden, run_acc_start, run_acc_self,
        run_acc_between, run_acc_nested, run_acc_forward, run_acc_rewound,
        run_acc_random,
    };
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        ad_tape_clear(tape);
        runs[i]();
    }
    ad_tape_free(tape);
    return check_done("numbers");
}
