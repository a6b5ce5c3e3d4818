// SPDX-License-Identifier: MIT-0
// tags: slow
// needs: long-double
/* operations.c - every operation, in every way it can be used.
 *
 * Each row of ADREV_OPS is called through its front ad_name at 200 random
 * points of its box, in every mode of the table below, and its value and
 * partials are compared with the oracle: an independent long double function
 * and central differences of it. A ledger proves that no row missed a mode.
 *
 * Also to be built with ADREV_REAL=float, ADREV_FUSE from 1 to 12,
 * ADREV_DEBUG=1 and ADREV_TRACE=0; the last leaves out the traced modes.    */

#ifndef ADREV_TRACE
#define ADREV_TRACE 1
#endif
#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include "check.h"
#include "fronts.h"
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 200 / ONE_IN(10), EVENTS = 64 };

#define MODES(ROW)                                                          \
    ROW( VALUE,   "value" )                                                 \
    ROW( REVERSE, "reverse, each choice of active operands" )               \
    ROW( PASSIVE, "reverse, operands that are constants by their history" ) \
    ROW( FORWARD, "forward numbers, each choice of active operands" )       \
    ROW( PUSHED,  "forward over the tape" )                                 \
    ROW( FUSED,   "inside a larger expression" )                            \
    ROW( SPLIT,   "the same, every operation recorded" )                    \
    ROW( TRACED,  "watched by a hook, and replayed" )                       \
    ROW( MIXED,   "with operands of every arithmetic type" )

#define ENTER(name, text) MODE_##name,
enum mode { MODES(ENTER) MODE_COUNT };
#undef ENTER

#define ENTER(name, text) text,
static const char *const mode_names[MODE_COUNT] = { MODES(ENTER) };
#undef ENTER

static bool seen[ADREV_OP_COUNT][MODE_COUNT];

/* --- one function per row and way of writing it ------------------------------
 * a: recorded or forward numbers, p: the same as plain numbers. Bit i of mask
 * says that operand i is taken from a. a[3] is a number beside the operation.
 */

typedef ad_rev rev_fn(unsigned mask, const ad_rev *a, const ad_real *p);
typedef ad_fwd fwd_fn(unsigned mask, const ad_fwd *a, const ad_real *p);
typedef ad_rev fused_fn(const ad_rev *a, const ad_real *p);

#define FRONT_select(name, x, y, z)  ad_select(p[0] != 0, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, (int)p[1])
#define FRONT_order(name, x, y, z)   ad_##name((int)p[0], y)

#define MASKS_1(CASE, name)                                                 \
    CASE(name, 1, 0, p[0], 0, 0)                                            \
    CASE(name, 1, 1, a[0], 0, 0)

#define MASKS_2(CASE, name)                                                 \
    CASE(name, 2, 0, p[0], p[1], 0)                                         \
    CASE(name, 2, 1, a[0], p[1], 0)                                         \
    CASE(name, 2, 2, p[0], a[1], 0)                                         \
    CASE(name, 2, 3, a[0], a[1], 0)

#define MASKS_3(CASE, name)                                                 \
    CASE(name, 3, 0, p[0], p[1], p[2])                                      \
    CASE(name, 3, 1, a[0], p[1], p[2])                                      \
    CASE(name, 3, 2, p[0], a[1], p[2])                                      \
    CASE(name, 3, 3, a[0], a[1], p[2])                                      \
    CASE(name, 3, 4, p[0], p[1], a[2])                                      \
    CASE(name, 3, 5, a[0], p[1], a[2])                                      \
    CASE(name, 3, 6, p[0], a[1], a[2])                                      \
    CASE(name, 3, 7, a[0], a[1], a[2])

#define CASE_REV(name, n, mask, x, y, z)                                    \
    case mask: return ad_rec(CALL(name, n, x, y, z));
#define CASE_FWD(name, n, mask, x, y, z)                                    \
    case mask: return ad_dual(CALL(name, n, x, y, z));

// Only signs come in from around it, so nothing is rounded: u - f(-x, y, -z).
#define DEFINE(name, n, ...)                                                \
    static ad_rev rev_##name(unsigned mask, const ad_rev *a,                \
                             const ad_real *p)                              \
    {                                                                       \
        switch (mask) { MASKS_##n(CASE_REV, name) }                         \
        return a[3];                                                        \
    }                                                                       \
    static ad_fwd fwd_##name(unsigned mask, const ad_fwd *a,                \
                             const ad_real *p)                              \
    {                                                                       \
        switch (mask) { MASKS_##n(CASE_FWD, name) }                         \
        return a[3];                                                        \
    }                                                                       \
    static ad_rev fused_##name(const ad_rev *a, const ad_real *p)           \
    {                                                                       \
        (void)p;                                                            \
        return ad_rec(ad_sub(                                               \
            a[3], CALL(name, n, ad_neg(a[0]), a[1], ad_neg(a[2]))));        \
    }
ADREV_OPS(DEFINE)
#undef DEFINE

/* --- mixed operands ----------------------------------------------------------
 * An int, an unsigned, ... is the number ad_real makes of it: not one bit of
 * value or derivative may differ.                                            */

static ad_tape *tape;

static void same(const char *what, ad_rev got, ad_rev want, ad_rev a)
{
    ad_real dg = 0;
    ad_real dw = 0;
    CHECK((got.job == 0) == (want.job == 0), "%s: constant or not", what);
    if (got.job != 0)
        CHECK(ad_gradient(tape, got, 1, &a, &dg) == ADREV_OK, "%s", what);
    if (want.job != 0)
        CHECK(ad_gradient(tape, want, 1, &a, &dw) == ADREV_OK, "%s", what);
    CHECK(check_ulps((long double)got.v, (long double)want.v) <= 0,
          "%s: got %.17g, want %.17g", what, (double)got.v, (double)want.v);
    CHECK(check_ulps((long double)dg, (long double)dw) <= 0,
          "%s: slope got %.17g, want %.17g", what, (double)dg, (double)dw);
}

// A number that the compiler does not know: it would compute with it at
// compile time, and round better than <math.h>.
static double unknown(double k)
{
    static volatile double one = 1;
    return k * one;
}

#define MIXED_TYPES(ROW, name)                                              \
    ROW(_FIRST, name, int, -2)                                              \
    ROW(_LAST, name, int, 2)                                                \
    ROW(_FIRST, name, unsigned, 3)                                          \
    ROW(_LAST, name, long long, -1)                                         \
    ROW(_FIRST, name, float, 0.7)                                           \
    ROW(_LAST, name, double, 1.3)                                           \
    ROW(_FIRST, name, bool, true)

// The row with c of the type in question, against the same with c as ad_real.
#define SAME(name, type, mask, got)                                         \
    same(#name " with " #type, ad_rec(got),                                 \
         rev_##name(mask, (const ad_rev[4]){ a, a, a, a },                  \
                    (const ad_real[4]){ (ad_real)c, (ad_real)c,             \
                                        (ad_real)c, (ad_real)c }), a)

// The number is the first or the last operand; of three, also the others.
#define MIX_1(at, name, type, k)                                            \
    {                                                                       \
        type c = (type)unknown(k);                                          \
        SAME(name, type, 0, ad_##name(c));                                  \
    }
#define MIX_2(at, name, type, k)                                            \
    {                                                                       \
        type c = (type)unknown(k);                                          \
        MIX_2##at(name, type);                                              \
    }
#define MIX_3(at, name, type, k)                                            \
    {                                                                       \
        type c = (type)unknown(k);                                          \
        MIX_3##at(name, type);                                              \
    }
#define MIX_2_FIRST(name, type) SAME(name, type, 2, ad_##name(c, a))
#define MIX_2_LAST(name, type)  SAME(name, type, 1, ad_##name(a, c))
#define MIX_3_FIRST(name, type) SAME(name, type, 2, ad_##name(c, a, c))
#define MIX_3_LAST(name, type)  SAME(name, type, 5, ad_##name(a, c, a))
#define MIX_select(at, name, type, k)                                       \
    {                                                                       \
        type c = (type)unknown(k);                                          \
        MIX_select##at(name, type);                                         \
    }
#define MIX_select_FIRST(name, type) SAME(name, type, 4, ad_select(c != 0, c, a))
#define MIX_select_LAST(name, type)  SAME(name, type, 2, ad_select(c != 0, a, c))

// The exponent or order is an int parameter; the other may be of any type.
#define MIX_integer(at, name, type, k)                                      \
    {                                                                       \
        type c = (type)unknown(k);                                          \
        SAME(name, type, 0, ad_##name(c, (int)c));                          \
    }

#define MIX_order(at, name, type, k)                                        \
    {                                                                       \
        type c = (type)unknown(k);                                          \
        SAME(name, type, 0, ad_##name((int)c, c));                          \
    }

#define MIXES_select ~, MIX_select
#define MIXES_polygamma ~, MIX_order
#define MIXES_jn     ~, MIX_order
#define MIXES_yn     ~, MIX_order
#define MIXES_powi   ~, MIX_integer
#define MIXES_ldexp  ~, MIX_integer

#define DEFINE(name, n, ...)                                                \
    static void mixed_##name(ad_rev a)                                      \
    {                                                                       \
        (void)a;                                                            \
        MIXED_TYPES(SECOND(MIXES_##name, MIX_##n, ~), name)                 \
    }
ADREV_OPS(DEFINE)
#undef DEFINE

/* --- the rows as data ----------------------------------------------------- */

struct row {
    rev_fn *rev;
    fused_fn *fused;
    fwd_fn *fwd;
    void (*mixed)(ad_rev a);
    oracle_fn *value;
    oracle_fn *partial[3];
};

static const struct row rows[ADREV_OP_COUNT] = {
#define ENTER(name, ...)                                                    \
    [ADREV_OP_##name] = {                                                   \
        rev_##name, fused_##name, fwd_##name, mixed_##name,                 \
        oracle_f_##name,                                                    \
        { oracle_fx_##name, oracle_fy_##name, oracle_fz_##name },           \
    },
    ADREV_OPS(ENTER)
#undef ENTER
};

/* --- what is allowed ---------------------------------------------------------
 * Ulps of value and of partials against the oracle; one that is not listed has
 * VALUE_ULPS and SLOPE_ULPS. <math.h> itself is good to 1 or 2 ulp.          */

enum { VALUE_ULPS = 2, SLOPE_ULPS = 4 };

// clang-format off
#define LOOSER(ROW)                                                                       \
    /*   op      value slope  because                                                  */ \
    ROW( digamma, 8,   4,     "a recurrence up to 10; a zero at 1.46" )                   \
    ROW( gamma_p, 6,   6,     "sums of panels" )                                          \
    ROW( gamma_q, 6,   6,     "sums of panels" )                                          \
    ROW( beta_p,  6,   6,     "sums of panels" )                                          \
    ROW( beta_q,  6,   6,     "sums of panels" )                                          \
    ROW( polygamma, 6, 6,     "a recurrence up to 15" )                                   \
    ROW( jn,     LIBM(6, 22, 22), 12, "<math.h>" )                                            \
    ROW( yn,     8,    8,     "<math.h>" )                                                \
    ROW( cbrt,   4,    12,    "<math.h> is off by 3.7 ulp, and enters squared" )          \
    ROW( erfc,   3,    4,     "<math.h> is off by 2 ulp" )                                \
    ROW( lgamma, 3,    40,    "digamma has a zero at 1.46, and is off by 8 ulp of 1 there" ) \
    ROW( tgamma, 5,    40,    "<math.h> is off by 4 ulp; digamma as in lgamma" )
// clang-format on

struct limit {
    ad_opcode op;
    double value;
    double slope;
};

static struct limit limit_of(ad_opcode op)
{
    static const struct limit looser[] = {
#define ENTER(name, value, slope, because) { ADREV_OP_##name, value, slope },
        LOOSER(ENTER)
#undef ENTER
    };
    struct limit usual = { op, VALUE_ULPS, SLOPE_ULPS };
    for (size_t i = 0; i < sizeof looser / sizeof looser[0]; i++)
        if (looser[i].op == op)
            return looser[i];
    return usual;
}

/* --- the oracle --------------------------------------------------------------
 * The partials that count are closed forms in long double. They are written
 * by hand, so they are themselves compared with differences of the values at
 * every point, as closely as differences can tell.                           */

struct truth {
    long double v;
    long double d[3];
};

static long double moved(oracle_fn *f, const ad_real *p, int k, long double h)
{
    long double x[3] = { (long double)p[0], (long double)p[1],
                         (long double)p[2] };
    x[k] += h;
    return f(x[0], x[1], x[2]);
}

// Central differences with Richardson extrapolation (Ridders): of the tableau
// the entry is taken that differs least from its neighbours, plus what the
// rounding of f can do: where f is an integral of exp(u), a u near 10 that is
// rounded moves it by 5 units. Steps that leave the domain give NaN, which
// loses.
enum { LEVELS = 11 };

static long double differences(oracle_fn *f, const ad_real *p, int k,
                               long double *error)
{
    long double table[LEVELS][LEVELS];
    long double noise = 8 * LDBL_EPSILON
                      * (1 + fabsl(moved(f, p, k, 0)));
    long double best = (long double)NAN;
    long double h = 0.5L;
    *error = (long double)INFINITY;
    for (int i = 0; i < LEVELS; i++, h /= 2) {
        long double factor = 4;
        table[0][i] = (moved(f, p, k, h) - moved(f, p, k, -h)) / (2 * h);
        for (int j = 1; j <= i; j++, factor *= 4) {
            long double a = table[j - 1][i];
            long double b = table[j - 1][i - 1];
            table[j][i] = a + (a - b) / (factor - 1);
            long double e = fabsl(table[j][i] - a) + fabsl(table[j][i] - b)
                          + noise / h;
            if (e < *error) {
                *error = e;
                best = table[j][i];
            }
        }
    }
    return best;
}

// Which operands can carry a derivative: those that the front promotes.
static unsigned operands_of(ad_opcode op)
{
    unsigned all = (1u << ad_op_table()[op].arity) - 1;
    return op == ADREV_OP_select ? 6
         : all & ~(1u << whole_argument((int)op));
}

// 1e-13: what 64 bits and steps of 0.01 leave of a slope near 1.
static long double slope_at(ad_opcode op, const ad_real *p, int k)
{
    long double error = 0;
    long double d = moved(rows[op].partial[k], p, k, 0);
    long double difference = differences(rows[op].value, p, k, &error);
    CHECK(error <= 1e-13L * (1 + fabsl(d)) && fabsl(d - difference) <= error,
          "%s(%.17g, %.17g, %.17g), oracle d%d: formula %.20Lg, differences "
          "%.20Lg +- %.2Lg", ad_op_table()[op].name, (double)p[0],
          (double)p[1], (double)p[2], k, d, difference, error);
    return d;
}

static struct truth truth_at(ad_opcode op, const ad_real *p)
{
    struct truth t = { moved(rows[op].value, p, 0, 0), { 0 } };
    for (int k = 0; k < 3; k++)
        if (operands_of(op) >> k & 1)
            t.d[k] = slope_at(op, p, k);
    return t;
}

/* --- comparing ------------------------------------------------------------ */

static struct {
    ad_opcode op;
    const ad_real *p;
    struct truth truth;
    struct limit limit;
} now;

static void right(enum mode mode, const char *what, long double got,
                  long double want, long double ulps)
{
    long double off = check_ulps(got, want);
    seen[now.op][mode] = true;
    CHECK(off <= ulps,
          "%s(%.17g, %.17g, %.17g), %s, %s: got %.17Lg, want %.20Lg: "
          "%.3Lg ulps, allowed %.3Lg",
          ad_op_table()[now.op].name, (double)now.p[0], (double)now.p[1],
          (double)now.p[2], mode_names[mode], what, got, want, off, ulps);
}

static void right_value(enum mode mode, ad_real got)
{
    right(mode, "value", (long double)got, now.truth.v,
          (long double)now.limit.value);
}

static void right_slope(enum mode mode, int k, ad_real got, bool active)
{
    static const char *const names[] = { "d/dx", "d/dy", "d/dz" };
    right(mode, names[k], (long double)got, active ? now.truth.d[k] : 0,
          active ? (long double)now.limit.slope : 0);
}

static void check_ok(ad_status status)
{
    CHECK(status == ADREV_OK, "%s(%.17g, %.17g, %.17g): %s",
          ad_op_table()[now.op].name, (double)now.p[0], (double)now.p[1],
          (double)now.p[2], ad_message(status));
}

/* --- the modes ------------------------------------------------------------ */

static void check_slopes(enum mode mode, unsigned mask, ad_rev y,
                         const ad_rev *x)
{
    ad_real g[4] = { 0 };
    right_value(mode, y.v);
    CHECK(y.job == 0 || mask != 0, "%s of constants is a constant",
          ad_op_table()[now.op].name);
    if (y.job == 0) {
        for (int k = 0; k < 3; k++)
            right_slope(mode, k, 0, mask >> k & 1);
        return;
    }
    check_ok(ad_gradient(tape, y, 4, x, g));
    for (int k = 0; k < 3; k++)
        right_slope(mode, k, g[k], mask >> k & 1);
}

static void run_reverse(const ad_real *p)
{
    unsigned all = operands_of(now.op);
    for (unsigned mask = 0; mask < 8; mask++) {
        if ((mask & all) != mask)
            continue;
        ad_rev x[4];
        ad_inputs(4, p, x);
        check_slopes(MODE_REVERSE, mask, rows[now.op].rev(mask, x, p), x);

        ad_rev c[4] = { x[0], x[1], x[2], x[3] };
        for (int k = 0; k < 3; k++)
            if (!(mask >> k & 1))
                c[k] = ad_rec(p[k]);
        check_slopes(MODE_PASSIVE, mask, rows[now.op].rev(all, c, p), x);
    }
}

static void run_forward(const ad_real *p)
{
    unsigned all = operands_of(now.op);
    for (unsigned mask = 0; mask < 8; mask++) {
        if ((mask & all) != mask)
            continue;
        for (int k = 0; k < 3; k++) {
            ad_fwd x[4];
            for (int i = 0; i < 4; i++)
                x[i] = (ad_fwd){ p[i], i == k };
            ad_fwd y = rows[now.op].fwd(mask, x, p);
            right_value(MODE_FORWARD, y.v);
            right_slope(MODE_FORWARD, k, y.d, mask >> k & 1);
        }
    }
}

static void run_pushed(const ad_real *p)
{
    unsigned all = operands_of(now.op);
    ad_rev x[4];
    ad_inputs(4, p, x);
    ad_rev y = rows[now.op].rev(all, x, p);
    for (int k = 0; k < 3; k++) {
        ad_real direction[4] = { 0 };
        ad_real slope = 0;
        direction[k] = 1;
        check_ok(ad_pushforward(tape, 4, x, direction, 1, &y, &slope));
        right_slope(MODE_PUSHED, k, slope, all >> k & 1);
    }
}

static ad_rev negated(ad_rev a) { return ad_rec(ad_neg(a)); }

// The same as fused, every operation recorded.
static ad_rev split(const ad_rev *a, const ad_real *p)
{
    ad_rev b[4] = { negated(a[0]), a[1], negated(a[2]), a[3] };
    ad_rev f = rows[now.op].rev(operands_of(now.op), b, p);
    return ad_rec(ad_sub(a[3], f));
}

// u - f(-x, y, -z) at u = 0.
static void run_nested(enum mode mode, fused_fn *f, const ad_real *p)
{
    unsigned all = operands_of(now.op);
    ad_real signs[4] = { -p[0], p[1], -p[2], 0 };
    ad_real g[4] = { 0 };
    ad_rev x[4];
    ad_inputs(4, signs, x);
    ad_rev y = f(x, p);
    right_value(mode, -y.v);
    check_ok(ad_gradient(tape, y, 4, x, g));
    for (int k = 0; k < 3; k++)
        right_slope(mode, k, k == 1 ? -g[k] : g[k], all >> k & 1);
    CHECK_CLOSE(g[3], 1, 0);
}

/* --- traced: the hook's story must be enough to compute everything again -- */

#if ADREV_TRACE
static struct story {
    ad_operation event[EVENTS];
    int n;
} story;

static void listen(void *user, const ad_operation *operation)
{
    struct story *s = user;
    if (s->n < EVENTS)
        s->event[s->n++] = *operation;
}

// A value of the replay, and its derivative in one direction.
struct replayed {
    ad_rev id;
    long double v;
    long double d;
};

static struct replayed find(const struct replayed *known, int n, ad_rev x)
{
    struct replayed constant = { x, (long double)x.v, 0 };
    for (int i = 0; i < n; i++)
        if (known[i].id.job == x.job && known[i].id.seq == x.seq)
            return known[i];
    CHECK(x.job == 0, "an operand that the hook has not been told of");
    return constant;
}

// The row that the table names like this, found by name: the code must fit.
static ad_opcode by_name(const char *name)
{
    static const char *const names[] = {
#define ENTER(op, ...) [ADREV_OP_##op] = #op,
        ADREV_OPS(ENTER) ADREV_STEPS(ENTER) ADREV_COMPARISONS(ENTER)
#undef ENTER
        [ADREV_OP_detach] = "detach"
    };
    int op = 0;
    while (op < ADREV_OP_COUNT && strcmp(names[op], name) != 0)
        op++;
    return (ad_opcode)op;
}

static struct replayed replay_one(const ad_operation *e,
                                  const struct replayed *known, int n)
{
    struct replayed a[3] = { { { 0, 0, 0 }, 0, 0 } };
    ad_opcode op = by_name(ad_op_table()[e->code].name);
    CHECK(op == e->code, "code %d is named %s", (int)e->code,
          ad_op_table()[e->code].name);
    for (int k = 0; k < ad_op_table()[e->code].arity; k++)
        a[k] = find(known, n, e->arg[k]);
    struct replayed y = {
        e->result, rows[op].value(a[0].v, a[1].v, a[2].v), 0
    };
    for (int k = 0; k < 3; k++)
        if (a[k].d != 0)
            y.d += a[k].d * rows[op].partial[k](a[0].v, a[1].v, a[2].v);
    return y;
}

// Value and slope in direction k, from nothing but the story and the inputs.
static struct replayed replay(const ad_rev *x, int k, ad_rev y)
{
    struct replayed known[EVENTS + 4];
    int n = 0;
    for (; n < 4; n++)
        known[n] = (struct replayed){ x[n], (long double)x[n].v, n == k };
    for (int i = 0; i < story.n; i++, n++)
        known[n] = replay_one(&story.event[i], known, n);
    return find(known, n, y);
}

static void check_replay(const ad_rev *x, ad_rev y, bool nested)
{
    unsigned all = operands_of(now.op);
    for (int k = 0; k < 3; k++) {
        struct replayed r = replay(x, k, y);
        right_value(MODE_TRACED, (ad_real)(nested ? -r.v : r.v));
        right_slope(MODE_TRACED, k, (ad_real)(nested && k == 1 ? -r.d : r.d),
                    all >> k & 1);
    }
}

static void run_traced(const ad_real *p)
{
    ad_hooks hooks = { .trace = listen, .user = &story };
    ad_real signs[4] = { -p[0], p[1], -p[2], 0 };
    unsigned all = operands_of(now.op);
    ad_rev x[4];
    ad_tape_hooks(tape, &hooks);

    ad_inputs(4, p, x);
    story.n = 0;
    ad_rev y = rows[now.op].rev(all, x, p);
    CHECK(story.n == 1 && story.event[0].code == now.op
              && story.event[0].result.seq == y.seq,
          "%s is told as one operation", ad_op_table()[now.op].name);
    check_slopes(MODE_TRACED, all, y, x);
    check_replay(x, y, false);

    run_nested(MODE_TRACED, rows[now.op].fused, p);
    ad_inputs(4, signs, x);
    story.n = 0;
    y = rows[now.op].fused(x, p);
    check_replay(x, y, true);
    ad_tape_hooks(tape, NULL);
}
#endif

/* --- step functions and comparisons ------------------------------------------
 * Their result is a constant in every mode; a hook is told of them.              */

#define DEFINE(name, ...)                                                   \
    static ad_rev step_rev_##name(ad_rev a) { return ad_rec(ad_##name(a)); } \
    static ad_fwd step_fwd_##name(ad_fwd a) { return ad_dual(ad_##name(a)); } \
    static ad_rev step_in_##name(ad_rev a)                                  \
        { return ad_rec(ad_mul(a, ad_##name(ad_mul(2, a)))); }
ADREV_STEPS(DEFINE)
#undef DEFINE

static const struct step {
    ad_opcode op;
    ad_rev (*rev)(ad_rev a);
    ad_fwd (*fwd)(ad_fwd a);
    ad_rev (*in)(ad_rev a);
    oracle_fn *value;
} steps[] = {
#define ENTER(name, ...)                                                    \
    { ADREV_OP_##name, step_rev_##name, step_fwd_##name, step_in_##name,    \
      oracle_f_##name },
    ADREV_STEPS(ENTER)
#undef ENTER
};

static void run_step(const struct step *s, ad_real p)
{
    long double want = s->value((long double)p, 0, 0);
    long double twice = s->value(2 * (long double)p, 0, 0);
    ad_rev x = ad_input(p);
    ad_rev y = s->rev(x);
    ad_fwd f = s->fwd((ad_fwd){ p, 1 });
    ad_real g = 0;
    CHECK_CLOSE(y.v, want, 0);
    CHECK(y.job == 0, "a step function yields a constant");
    CHECK_CLOSE(f.v, want, 0);
    CHECK_CLOSE(f.d, 0, 0);
    CHECK(ad_gradient(tape, s->in(x), 1, &x, &g) == ADREV_OK
              || twice == 0, "a gradient exists");
    CHECK_CLOSE(g, twice, 0);
}

#define DEFINE(name, operator)                                              \
    static bool compare_##name(ad_rev a, ad_rev b)                          \
    {                                                                       \
        bool holds = ad_##name(a, b);                                       \
        bool plain = ad_value(a) operator ad_value(b);                      \
        CHECK(holds == plain, #name);                                       \
        CHECK(ad_##name(a, ad_value(b)) == plain, #name " with a number");  \
        CHECK(ad_##name(ad_value(a), ad_add(b, 0)) == plain,                \
              #name " with an expression");                                 \
        CHECK(ad_##name(((ad_fwd){ ad_value(a), 1 }),                       \
                        ((ad_fwd){ ad_value(b), 2 })) == plain,             \
              #name " of forward numbers");                                 \
        return holds;                                                       \
    }
ADREV_COMPARISONS(DEFINE)
#undef DEFINE

static const struct comparison {
    ad_opcode op;
    bool (*holds)(ad_rev a, ad_rev b);
} comparisons[] = {
#define ENTER(name, operator) { ADREV_OP_##name, compare_##name },
    ADREV_COMPARISONS(ENTER)
#undef ENTER
};

static void run_comparisons(void)
{
    ad_real v[] = { -1, 0, 1, (ad_real)INFINITY, (ad_real)NAN };
    for (size_t c = 0; c < sizeof comparisons / sizeof comparisons[0]; c++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++)
                comparisons[c].holds(ad_input(v[i]), ad_input(v[j]));
}

#if ADREV_TRACE
static void check_told(ad_opcode op, int arity, ad_rev a, ad_rev b,
                       long double outcome)
{
    const ad_operation *e = &story.event[0];
    CHECK(ad_op_table()[op].arity == arity, "arity of %s",
          ad_op_table()[op].name);
    CHECK(by_name(ad_op_table()[op].name) == op, "name of %d", (int)op);
    if (!CHECK(story.n >= 1 && e->code == op, "%s is told",
               ad_op_table()[op].name))
        return;
    CHECK(e->result.job == 0, "its outcome is a constant");
    CHECK_CLOSE(e->result.v, outcome, 0);
    CHECK(e->arg[0].job == a.job && e->arg[0].seq == a.seq, "first operand");
    if (arity == 2)
        CHECK(e->arg[1].job == b.job && e->arg[1].seq == b.seq, "second");
}

static void run_traced_steps(void)
{
    ad_hooks hooks = { .trace = listen, .user = &story };
    ad_tape_hooks(tape, &hooks);
    ad_rev a = ad_input((ad_real)1.75);
    ad_rev b = ad_input((ad_real)-0.5);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        story.n = 0;
        ad_rev y = steps[i].rev(a);
        check_told(steps[i].op, 1, a, b, (long double)y.v);
    }
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        story.n = 0;
        bool holds = comparisons[i].holds(a, b);
        check_told(comparisons[i].op, 2, a, b, holds);
    }
    story.n = 0;
    bool below = ad_lt(a.v, 3);
    (void)below;
    DROP(ad_rec(ad_floor(2.5)));
    DROP(ad_rec(ad_sin(2.5)));
    CHECK(story.n == 0, "nothing is told of plain numbers");
    ad_tape_hooks(tape, NULL);
}
#endif

/* --- all of it ------------------------------------------------------------ */

// Every third point takes the other way where a row has several: the box shows
// only one, and what is 0 there would hide a wrong slope.
static void other_way(ad_opcode op, int i, ad_real *p)
{
    ad_real x = p[0];
    if (op == ADREV_OP_min || op == ADREV_OP_max) {
        p[0] = p[1];
        p[1] = x;
    } else if (op == ADREV_OP_clamp) {
        p[0] = i % 2 ? x - 5 : x + 5;
    } else if (op == ADREV_OP_select) {
        p[0] = 0;
    } else if (op == ADREV_OP_fdim || op == ADREV_OP_abs
               || op == ADREV_OP_relu) {
        p[0] = -x - 4;
    } else if (op == ADREV_OP_copysign) {
        p[1] = -p[1];
    }
}

static void sample(ad_opcode op, uint64_t *state, int i, ad_real *p)
{
    const double *box = ad_op_table()[op].box;
    for (int k = 0; k < 3; k++)
        p[k] = (ad_real)oracle_uniform(state, box[2 * k], box[2 * k + 1]);
    p[3] = 0;
    if (whole_argument((int)op) < 3)
        p[whole_argument((int)op)] =
            (ad_real)floor((double)p[whole_argument((int)op)]);
    if (i % 3 == 0)
        other_way(op, i, p);
}

static void run_row(ad_opcode op)
{
    uint64_t state = 88172645463325252u + (uint64_t)op;
    for (int i = 0; i < POINTS; i++) {
        ad_real p[4];
        sample(op, &state, i, p);
        ad_tape_clear(tape);
        now.op = op;
        now.p = p;
        now.limit = limit_of(op);
        now.truth = truth_at(op, p);
        right_value(MODE_VALUE, rows[op].rev(0, (ad_rev[4]){ { 0 } }, p).v);
        run_reverse(p);
        run_forward(p);
        run_pushed(p);
        run_nested(MODE_FUSED, rows[op].fused, p);
        run_nested(MODE_SPLIT, split, p);
#if ADREV_TRACE
        run_traced(p);
#endif
    }
    rows[op].mixed(ad_input((ad_real)0.6));
    seen[op][MODE_MIXED] = true;
}

static void check_ledger(void)
{
#define ROW(name, ...)                                                      \
    for (int m = 0; m < MODE_COUNT; m++)                                    \
        CHECK(seen[ADREV_OP_##name][m] || (!ADREV_TRACE && m == MODE_TRACED), \
              "%s never ran: %s", #name, mode_names[m]);
    ADREV_OPS(ROW)
#undef ROW
}

int main(void)
{
    uint64_t state = 1;
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
#define ROW(name, ...) run_row(ADREV_OP_##name);
    ADREV_OPS(ROW)
#undef ROW
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++)
        for (int i = 0; i < POINTS; i++)
            run_step(&steps[s], (ad_real)oracle_uniform(&state, -3, 3));
    run_comparisons();
#if ADREV_TRACE
    run_traced_steps();
#endif
    check_ledger();
    ad_tape_free(tape);
    return check_done("operations");
}
