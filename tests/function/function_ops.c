// SPDX-License-Identifier: MIT-0
// tags: recorded slow
/* function_ops.c - every operation, in every way a recorded function is asked.
 *
 * Each row of ADREV_OPS is recorded at one point of its box, with each choice
 * of constant operands, and evaluated at others: value, tangent, adjoint,
 * gradient, Jacobian, product with the Hessian and Hessian, against closed
 * forms in long double and, for the second partials, their differences. Then
 * the rows of ADREV_EDGES, recorded away from the edge. Step functions and
 * comparisons must come out as they were recorded. A ledger proves that no row
 * missed a mode.                                                            */

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"
#include "fronts.h"
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDINGS = 24 / ONE_IN(4), REPLAYS = 5, MOST = 4 };

#define UNTOUCHED ((ad_real)-12345.5)

#define MODES(ROW)                                                          \
    ROW( VALUE,    "ad_fn_eval" )                                           \
    ROW( JVP,      "ad_fn_jvp" )                                            \
    ROW( VJP,      "ad_fn_vjp" )                                            \
    ROW( GRADIENT, "ad_fn_gradient" )                                       \
    ROW( JACOBIAN, "ad_fn_jacobian" )                                       \
    ROW( HVP,      "ad_fn_hvp" )                                            \
    ROW( HESSIAN,  "ad_fn_hessian" )

#define ENTER(name, text) MODE_##name,
enum mode { MODES(ENTER) MODE_COUNT };
#undef ENTER

#define ENTER(name, text) text,
static const char *const mode_names[MODE_COUNT] = { MODES(ENTER) };
#undef ENTER

static bool seen[ADREV_OP_COUNT][MODE_COUNT];

/* --- asking------------------------------------------------------------------
 * Of a function with one result, whatever the mode yields: the value, n first
 * or n x n second derivatives. Weights and directions are powers of two, which
 * cost no rounding.                                                          */

static size_t answers(enum mode mode, size_t n)
{
    return mode == MODE_VALUE ? 1 : mode < MODE_HVP ? n : n * n;
}

static bool untouched(size_t from, size_t to, const ad_real *out)
{
    for (size_t i = from; i < to; i++)
        if (out[i] != UNTOUCHED)
            return false;
    return true;
}

// Column k of out, where a mode goes along one direction.
static ad_status ask_along(enum mode mode, ad_fn *fn, size_t n, size_t k,
                           const ad_real *x, ad_real *out)
{
    const ad_real two = 2;
    ad_real v[MOST] = { 0 };
    ad_real column[MOST] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    v[k] = 4;
    ad_status s = mode == MODE_JVP ? ad_fn_jvp(fn, x, v, column)
                                   : ad_fn_hvp(fn, x, &two, v, column);
    if (s == ADREV_OK && mode == MODE_JVP)
        out[k] = column[0] / 4;
    for (size_t i = 0; i < n && mode == MODE_HVP && s == ADREV_OK; i++)
        out[i * n + k] = column[i] / 8;
    CHECK(s == ADREV_OK || untouched(0, MOST, column),
          "%s: %s, but an output was touched", mode_names[mode],
          ad_message(s));
    return s;
}

static ad_status ask_whole(enum mode mode, ad_fn *fn, const ad_real *x,
                           ad_real *out)
{
    const ad_real two = 2;
    ad_real y = UNTOUCHED;
    ad_status s = ADREV_OK;
    switch ((int)mode) {
    case MODE_VALUE: return ad_fn_eval(fn, x, out);
    case MODE_VJP: return ad_fn_vjp(fn, x, &two, out);
    case MODE_JACOBIAN: return ad_fn_jacobian(fn, x, out);
    case MODE_HESSIAN: return ad_fn_hessian(fn, x, &two, out);
    }
    s = ad_fn_gradient(fn, x, &y, out);
    CHECK((y == UNTOUCHED) == (s != ADREV_OK), "gradient: the value is set");
    return s;
}

static ad_status ask(enum mode mode, ad_fn *fn, size_t n, const ad_real *x,
                     ad_real out[MOST * MOST])
{
    ad_status s = ADREV_OK;
    for (size_t i = 0; i < MOST * MOST; i++)
        out[i] = UNTOUCHED;
    if (mode != MODE_JVP && mode != MODE_HVP)
        s = ask_whole(mode, fn, x, out);
    else
        for (size_t k = 0; k < n && s == ADREV_OK; k++)
            s = ask_along(mode, fn, n, k, x, out);
    size_t count = s == ADREV_OK ? answers(mode, n) : 0;
    bool doubled = mode == MODE_VJP || mode == MODE_HESSIAN;
    for (size_t i = 0; i < count && doubled; i++)
        out[i] /= 2;
    CHECK(untouched(count, MOST * MOST, out),
          "%s: %s, but an output beyond %zu was touched", mode_names[mode],
          ad_message(s), count);
    return s;
}

// The same bits, and NaN for NaN.
static bool same(ad_real a, ad_real b)
{
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

/* --- the rows as functions---------------------------------------------------
 * Operand i is a[i] where bit i of mask is set, else the plain number p[i].
 * nested: u - f(-x, y, -z), where nothing more is rounded.                   */

#define FRONT_select(name, x, y, z)  ad_select(p[0] != 0, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, (int)p[1])
#define FRONT_order(name, x, y, z)   ad_##name((int)p[0], y)

#define CASE(name, n, mask, x, y, z)                                        \
    case mask: return ad_rec(CALL(name, n, x, y, z));
#define MASKS_1(name)                                                       \
    CASE(name, 1, 0, p[0], 0, 0) CASE(name, 1, 1, a[0], 0, 0)
#define MASKS_2(name)                                                       \
    CASE(name, 2, 0, p[0], p[1], 0) CASE(name, 2, 1, a[0], p[1], 0)         \
    CASE(name, 2, 2, p[0], a[1], 0) CASE(name, 2, 3, a[0], a[1], 0)
#define MASKS_3(name)                                                       \
    CASE(name, 3, 0, p[0], p[1], p[2]) CASE(name, 3, 1, a[0], p[1], p[2])   \
    CASE(name, 3, 2, p[0], a[1], p[2]) CASE(name, 3, 3, a[0], a[1], p[2])   \
    CASE(name, 3, 4, p[0], p[1], a[2]) CASE(name, 3, 5, a[0], p[1], a[2])   \
    CASE(name, 3, 6, p[0], a[1], a[2]) CASE(name, 3, 7, a[0], a[1], a[2])

#define DEFINE(name, n, ...)                                                \
    static ad_rev direct_##name(unsigned mask, const ad_rev *a,             \
                                const ad_real *p)                           \
    {                                                                       \
        switch (mask) { MASKS_##n(name) }                                   \
        return a[3];                                                        \
    }                                                                       \
    static ad_rev nested_##name(const ad_rev *a, const ad_real *p)          \
    {                                                                       \
        (void)p;                                                            \
        return ad_rec(ad_sub(                                               \
            a[3], CALL(name, n, ad_neg(a[0]), a[1], ad_neg(a[2]))));        \
    }
ADREV_OPS(DEFINE)
#undef DEFINE

static const struct row {
    const char *name;
    ad_rev (*direct)(unsigned mask, const ad_rev *a, const ad_real *p);
    ad_rev (*nested)(const ad_rev *a, const ad_real *p);
    oracle_fn *value;
    oracle_fn *partial[3];
} rows[ADREV_OP_COUNT] = {
#define ENTER(name, ...)                                                    \
    [ADREV_OP_##name] = {                                                   \
        #name, direct_##name, nested_##name, oracle_f_##name,               \
        { oracle_fx_##name, oracle_fy_##name, oracle_fz_##name },           \
    },
    ADREV_OPS(ENTER)
#undef ENTER
};

// Which operands can be recorded numbers.
static unsigned operands_of(ad_opcode op)
{
    unsigned all = (1u << ad_op_table()[op].arity) - 1;
    return op == ADREV_OP_select ? 6
         : all & ~(1u << whole_argument((int)op));
}

// HISTORY: the constants are recorded numbers that never were an input.
enum form { DIRECT, HISTORY, NESTED, FORMS };

// What f is told: which operands are its inputs, and the constants.
struct task {
    ad_opcode op;
    unsigned mask;
    enum form form;
    const ad_real *p;
};

static void perform(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct task *t = ctx;
    ad_rev a[MOST];
    int n = 0;
    for (int k = 0; k < MOST; k++) {
        a[k] = ad_rec(t->p[k]);
        if (t->form == NESTED || t->mask >> k & 1)
            a[k] = x[n++];
    }
    if (t->form == NESTED)
        y[0] = rows[t->op].nested(a, t->p);
    else
        y[0] = rows[t->op].direct(t->form == DIRECT ? t->mask
                                                    : operands_of(t->op),
                                  a, t->p);
}

/* --- what is allowed---------------------------------------------------------
 * Ulps of value, first and second partials; one that is not listed has the
 * three below. Second partials are sums: they are allowed a part of the first
 * partial, too, which stands for the size of the terms.                      */

enum { VALUE_ULPS = 2, SLOPE_ULPS = 4, SECOND_ULPS = 12 };

// clang-format off
#define LOOSER(ROW)                                                                         \
    /*   op      value slope second  because                                             */ \
    ROW( digamma, 8,   4,     12,    "a recurrence up to 10; a zero at 1.46" )              \
    ROW( gamma_p, 6,   6,     12,    "sums of panels" )                                     \
    ROW( gamma_q, 6,   6,     12,    "sums of panels" )                                     \
    ROW( beta_p,  6,   6,     12,    "sums of panels" )                                     \
    ROW( beta_q,  6,   6,     12,    "sums of panels" )                                     \
    ROW( polygamma, 6, 6,     12,    "a recurrence up to 15" )                              \
    ROW( jn,     6,    12,    12,    "<math.h>" )                                           \
    ROW( yn,     8,    8,     24,    "<math.h>" )                                           \
    ROW( cbrt,   4,    12,   24,     "<math.h> is off by 3.7 ulp, and enters squared" )     \
    ROW( erfc,   3,    4,    12,     "<math.h> is off by 2 ulp" )                           \
    ROW( lgamma, 3,    40,   24,     "digamma has a zero at 1.46, and is off by 8 ulp of 1 there" ) \
    ROW( tgamma, 5,    40,   48,     "<math.h> is off by 4 ulp; digamma as in lgamma" )
// clang-format on

// Rows that are linear in pieces: their second partials are 0.
static bool linear(ad_opcode op)
{
    static const ad_opcode all[] = {
        ADREV_OP_add, ADREV_OP_sub, ADREV_OP_neg, ADREV_OP_abs, ADREV_OP_min,
        ADREV_OP_max, ADREV_OP_clamp, ADREV_OP_select, ADREV_OP_fdim,
        ADREV_OP_fmod, ADREV_OP_remainder, ADREV_OP_copysign, ADREV_OP_ldexp,
        ADREV_OP_relu,
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] == op)
            return true;
    return false;
}

struct limit {
    ad_opcode op;
    double value;
    double slope;
    double second;
};

static struct limit limit_of(ad_opcode op)
{
    static const struct limit looser[] = {
#define ENTER(name, ...) { ADREV_OP_##name, LIMITS(__VA_ARGS__, 0) },
#define LIMITS(value, slope, second, ...) value, slope, second
        LOOSER(ENTER)
#undef LIMITS
#undef ENTER
    };
    struct limit usual = { op, VALUE_ULPS, SLOPE_ULPS, SECOND_ULPS };
    for (size_t i = 0; i < sizeof looser / sizeof looser[0]; i++)
        if (looser[i].op == op)
            return looser[i];
    return usual;
}

/* --- the oracle for second partials------------------------------------------
 * Differences of the closed forms of the first ones, extrapolated: of the
 * tableau the entry that differs least from its neighbours, plus what the
 * rounding of the closed forms can do. NaN, beyond a domain, loses.          */

enum { LEVELS = 9 };

struct second {
    long double d;
    long double error;
};

static long double moved(oracle_fn *f, const ad_real *p, int k, long double h)
{
    long double x[3] = { (long double)p[0], (long double)p[1],
                         (long double)p[2] };
    x[k] += h;
    return f(x[0], x[1], x[2]);
}

static struct second differences(oracle_fn *f, const ad_real *p, int k)
{
    long double table[LEVELS][LEVELS];
    long double noise = 16 * LDBL_EPSILON * (1 + fabsl(moved(f, p, k, 0)));
    struct second best = { (long double)NAN, (long double)INFINITY };
    long double h = 0.125L;
    for (int i = 0; i < LEVELS; i++, h /= 2) {
        long double factor = 4;
        table[0][i] = (moved(f, p, k, h) - moved(f, p, k, -h)) / (2 * h);
        for (int j = 1; j <= i; j++, factor *= 4) {
            long double a = table[j - 1][i];
            long double b = table[j - 1][i - 1];
            table[j][i] = a + (a - b) / (factor - 1);
            long double e = fabsl(table[j][i] - a) + fabsl(table[j][i] - b)
                          + noise / h;
            if (4 * e < best.error)
                best = (struct second){ table[j][i], 4 * e };
        }
    }
    return best;
}

struct truth {
    long double v;
    long double d[MOST];                // the fourth is u of NESTED
    struct second dd[MOST][MOST];
};

// 1e-12: the differences must be worth comparing with.
static struct second second_at(ad_opcode op, const ad_real *p, int j, int k)
{
    if (linear(op))
        return (struct second){ 0, 0 };
    struct second s = differences(rows[op].partial[j], p, k);
    CHECK(s.error <= 1e-12L * (1 + fabsl(s.d)),
          "%s(%.17g, %.17g, %.17g), oracle d%d%d: %.20Lg +- %.2Lg",
          rows[op].name, (double)p[0], (double)p[1], (double)p[2], j, k, s.d,
          s.error);
    return s;
}

static struct truth truth_at(ad_opcode op, const ad_real *p)
{
    unsigned all = operands_of(op);
    struct truth t = { .v = moved(rows[op].value, p, 0, 0) };
    for (int j = 0; j < 3; j++) {
        if (!(all >> j & 1))
            continue;
        t.d[j] = moved(rows[op].partial[j], p, 0, 0);
        for (int k = 0; k < 3; k++)
            if (all >> k & 1)
                t.dd[j][k] = second_at(op, p, j, k);
    }
    return t;
}

/* --- comparing ------------------------------------------------------------ */

static struct now {
    const struct task *task;
    const char *mode;
    const ad_real *p;
    struct limit limit;
    struct truth truth;
} now;

static void right(const char *what, ad_real got, long double want,
                  long double allowed)
{
    long double off = fabsl((long double)got - want);
    bool equal = (long double)got == want || (got != got && isnan(want));
    CHECK(equal || off <= allowed,
          "%s(%.17g, %.17g, %.17g), operands %u, form %d, %s, %s: got %.17g, "
          "want %.20Lg: off by %.3Lg, allowed %.3Lg", rows[now.task->op].name,
          (double)now.p[0], (double)now.p[1], (double)now.p[2],
          now.task->mask, (int)now.task->form, now.mode, what, (double)got,
          want, off, allowed);
}

// Units in the last place of a number of this size.
static long double units(double ulps, long double size)
{
    long double unit = sizeof(ad_real) == sizeof(float)
                     ? (long double)FLT_EPSILON : (long double)DBL_EPSILON;
    return (long double)ulps * unit * fabsl(size);
}

static int sign_of(int k) { return k == 0 || k == 2 ? -1 : 1; }

static void right_first(ad_real got, int k)
{
    static const char *const names[] = { "d/dx", "d/dy", "d/dz", "d/du" };
    long double want = now.truth.d[k];
    if (now.task->form == NESTED)
        want = k == 3 ? 1 : -sign_of(k) * want;
    right(names[k], got, want, k == 3 ? 0 : units(now.limit.slope, want));
}

static void right_second(ad_real got, int j, int k)
{
    static const char *const names[MOST][MOST] = {
        { "dxdx", "dxdy", "dxdz", "dxdu" }, { "dydx", "dydy", "dydz", "dydu" },
        { "dzdx", "dzdy", "dzdz", "dzdu" }, { "dudx", "dudy", "dudz", "dudu" },
    };
    struct second s = now.truth.dd[j][k];
    long double size = fabsl(s.d);
    if (!linear(now.task->op) && j < 3 && k < 3)
        size = fmaxl(size, fabsl(now.truth.d[j]) / 4);
    if (now.task->form == NESTED)
        s.d *= -sign_of(j) * sign_of(k);
    right(names[j][k], got, s.d, s.error + units(now.limit.second, size));
}

/* --- one row -------------------------------------------------------------- */

static int inputs_of(const struct task *t, int operand[MOST])
{
    int n = 0;
    for (int k = 0; k < MOST; k++)
        if (t->form == NESTED || t->mask >> k & 1)
            operand[n++] = k;
    return n;
}

static void check_answer(enum mode mode, int n, const int *operand,
                         const ad_real *out, ad_real plain)
{
    now.mode = mode_names[mode];
    seen[now.task->op][mode] = true;
    if (mode == MODE_VALUE) {
        CHECK(same(out[0], plain), "%s(%.17g, %.17g, %.17g): recorded %.17g, "
              "else %.17g", rows[now.task->op].name, (double)now.p[0],
              (double)now.p[1], (double)now.p[2], (double)out[0],
              (double)plain);
        right("value", now.task->form == NESTED ? -out[0] : out[0],
              now.truth.v, units(now.limit.value, now.truth.v));
        return;
    }
    for (int i = 0; i < n && mode < MODE_HVP; i++)
        right_first(out[i], operand[i]);
    for (int i = 0; i < n && mode >= MODE_HVP; i++)
        for (int k = 0; k < n; k++)
            right_second(out[i * n + k], operand[i], operand[k]);
}

// The inputs of the task for operands p, and what f yields there unrecorded.
static ad_real inputs_for(struct task *t, int n, const int *operand,
                          const ad_real *p, ad_real *x)
{
    ad_rev a[MOST] = { 0 };
    ad_rev y;
    for (int i = 0; i < n; i++) {
        int k = operand[i];
        x[i] = t->form == NESTED ? (ad_real)sign_of(k) * p[k] : p[k];
        if (k == 3)
            x[i] = 0;
        a[i] = ad_rec(x[i]);
    }
    perform(a, &y, t);
    return y.v;
}

static void evaluate(struct task *t, ad_fn *fn, const ad_real *p)
{
    int operand[MOST];
    int n = inputs_of(t, operand);
    ad_real x[MOST] = { 0 };
    ad_real out[MOST * MOST];
    ad_real plain = inputs_for(t, n, operand, p, x);
    now.task = t;
    now.p = p;
    now.limit = limit_of(t->op);
    now.truth = truth_at(t->op, p);
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        ad_status s = ask((enum mode)mode, fn, (size_t)n, x, out);
        CHECK(s == ADREV_OK, "%s: %s", rows[t->op].name, ad_message(s));
        if (s == ADREV_OK)
            check_answer((enum mode)mode, n, operand, out, plain);
    }
}

static ad_fn *record(struct task *t, const ad_real *p, bool plain)
{
    const ad_fn_options options = { .plain = plain };
    int operand[MOST];
    int n = inputs_of(t, operand);
    ad_real x[MOST] = { 0 };
    ad_fn *fn = NULL;
    inputs_for(t, n, operand, p, x);
    ad_status s = ad_fn_record_with(&fn, &options, perform, t, (size_t)n, x,
                                    1);
    CHECK(s == ADREV_OK && fn != NULL, "%s: record: %s", rows[t->op].name,
          ad_message(s));
    return fn;
}

// Every third point takes the other way where a row has several.
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

// Recorded at p, evaluated there and elsewhere: constants stay what they were.
static void run_task(struct task t, const ad_real *p, uint64_t *state,
                     bool plain)
{
    ad_fn *fn = record(&t, p, plain);
    if (fn == NULL)
        return;
    CHECK(ad_fn_about(fn).guards == 0, "%s: a guard", rows[t.op].name);
    unsigned free = t.form == NESTED ? operands_of(t.op) : t.mask;
    evaluate(&t, fn, p);
    for (int i = 0; i < REPLAYS; i++) {
        ad_real q[MOST];
        sample(t.op, state, i, q);
        for (int k = 0; k < 3; k++)
            if (!(free >> k & 1))
                q[k] = p[k];
        evaluate(&t, fn, q);
    }
    ad_fn_free(fn);
}

static void run_row(ad_opcode op)
{
    uint64_t state = 88172645463325252u + (uint64_t)op;
    unsigned all = operands_of(op);
    // An integral takes 20 us.
    const bool slow = op == ADREV_OP_beta_p || op == ADREV_OP_beta_q;
    for (int i = 0; i < (slow ? RECORDINGS / 4 : RECORDINGS); i++) {
        ad_real p[MOST];
        sample(op, &state, i, p);
        for (unsigned mask = 0; mask < 8; mask++)
            for (int form = DIRECT; form <= HISTORY; form++)
                if ((mask & all) == mask)
                    run_task((struct task){ op, mask, (enum form)form, p }, p,
                             &state, i % 2);
        run_task((struct task){ op, all, NESTED, p }, p, &state, i % 2);
    }
}

/* --- edges: recorded inside the box, evaluated where it is sharp ---------- */

struct edge {
    ad_opcode op;
    double x[3];
    double want[3];
    double ulps;
    const char *because;
};

static const struct edge edges[] = {
#define ENTER(op, x, y, z, dx, dy, dz, ulps, because)                       \
    { ADREV_OP_##op, { x, y, z }, { dx, dy, dz }, ulps, because },
    ADREV_EDGES(ENTER)
#undef ENTER
};

static void edge_check(const struct edge *e, const struct task *t,
                       enum mode mode, int k, ad_real got)
{
    double want = t->form == NESTED ? -sign_of(k) * e->want[k] : e->want[k];
    long double off = check_ulps((long double)got, (long double)want);
    CHECK(off <= (long double)e->ulps,
          "%s(%.17g, %.17g, %.17g) \"%s\", operands %u, form %d, %s, d%d: got "
          "%.17g, want %.17g: %.3Lg ulps, allowed %g", rows[e->op].name,
          e->x[0], e->x[1], e->x[2], e->because, t->mask, (int)t->form,
          mode_names[mode], k, (double)got, want, off, e->ulps);
}

// First partials as the table says; of linear pieces no second ones.
static void edge_evaluate(const struct edge *e, struct task *t,
                          ad_fn *fn, const ad_real *p)
{
    int operand[MOST];
    int n = inputs_of(t, operand);
    ad_real x[MOST] = { 0 };
    ad_real out[MOST * MOST];
    ad_real plain = inputs_for(t, n, operand, p, x);
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        ad_status s = ask((enum mode)mode, fn, (size_t)n, x, out);
        CHECK(s == ADREV_OK, "%s: %s", rows[e->op].name, ad_message(s));
        if (s != ADREV_OK)
            continue;
        if (mode == MODE_VALUE)
            CHECK(same(out[0], plain), "%s at \"%s\": recorded %.17g, else "
                  "%.17g", rows[e->op].name, e->because, (double)out[0],
                  (double)plain);
        for (int i = 0; i < n && mode > MODE_VALUE && mode < MODE_HVP; i++)
            if (operand[i] < 3 && operands_of(t->op) >> operand[i] & 1)
                edge_check(e, t, (enum mode)mode, operand[i], out[i]);
        for (int i = 0; i < n * n && mode >= MODE_HVP && linear(t->op); i++)
            CHECK(out[i] == 0, "%s at \"%s\", %s: second partial %g",
                  rows[e->op].name, e->because, mode_names[mode],
                  (double)out[i]);
    }
}

static void run_edge(const struct edge *e, uint64_t *state)
{
    ad_real at[MOST] = { (ad_real)e->x[0], (ad_real)e->x[1],
                         (ad_real)e->x[2], 0 };
    unsigned all = operands_of(e->op);
    for (unsigned mask = 1; mask <= 8; mask++)
        for (int plain = 0; plain < 2; plain++) {
            ad_real p[MOST];
            sample(e->op, state, 1, p);
            // What is not an input is that of the edge.
            for (int k = 0; k < 3; k++)
                if (!((mask < 8 ? mask : all) >> k & 1))
                    p[k] = at[k];
            struct task t = { e->op, mask, DIRECT, p };
            if (mask == 8)
                t = (struct task){ e->op, all, NESTED, p };
            else if ((mask & all) != mask)
                continue;
            ad_fn *fn = record(&t, p, plain);
            if (fn != NULL)
                edge_evaluate(e, &t, fn, at);
            ad_fn_free(fn);
        }
}

static void run_edges(void)
{
    uint64_t state = 271828;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        run_edge(&edges[i], &state);
}

/* --- second partials at extreme arguments------------------------------------
 * From closed forms. The size of the largest term is allowed 16 ulps: nothing
 * may over- or underflow on the way to a result that does not.               */

#define S_TANH(x)    (-2 * tanhl(x) / coshl(x) / coshl(x))
#define S_SIGMOID(x) (expl(-(x)) * (expl(-(x)) - 1) / powl(1 + expl(-(x)), 3))
#define S_ERF(x)     (-2 * (x) * ORACLE_2_SQRT_PI * expl(-(x) * (x)))
#define S_ASIN(x)    ((x) / powl((1 - (x)) * (1 + (x)), 1.5L))
#define S_ACOSH(x)   (-(x) / powl(((x) - 1) * ((x) + 1), 1.5L))
#define BELOW_1      0.99999999999999988897769753748L
#define ABOVE_1      1.00000000010000000827403709990L

// clang-format off
#define SECONDS(ROW)                                                                      \
    /*   op       x        y      j  k  want                     because               */ \
    ROW( tanh,    15,      0,     0, 0, S_TANH(15.0L),           "as the first one" )     \
    ROW( tanh,    -20,     0,     0, 0, S_TANH(-20.0L),          "odd" )                  \
    ROW( tanh,    400,     0,     0, 0, 0,                       "rounds to 0" )          \
    ROW( sigmoid, 40,      0,     0, 0, S_SIGMOID(40.0L),        "1 - 2 v is -1" )        \
    ROW( sigmoid, -40,     0,     0, 0, -S_SIGMOID(40.0L),       "odd" )                  \
    ROW( sigmoid, -1000,   0,     0, 0, 0,                       "no overflow" )          \
    ROW( sigmoid, 0,       0,     0, 0, 0,                       "odd" )                  \
    ROW( softplus, 0,      0,     0, 0, 0.25L,                   "the slope of sigmoid" ) \
    ROW( softplus, 1000,   0,     0, 0, 0,                       "no overflow" )          \
    ROW( softplus, 40,     0,     0, 0, expl(-40.0L),            "the slope of sigmoid" ) \
    ROW( expm1,   -40,     0,     0, 0, expl(-40.0L),            "v + 1 would be 0" )     \
    ROW( expm1,   1e-20,   0,     0, 0, 1,                       "no cancellation" )      \
    ROW( exp,     -750,    0,     0, 0, 0,                       "underflows" )           \
    ROW( atan,    1e9,     0,     0, 0, -2e-27L,                 "the far formula" )      \
    ROW( atan,    1e150,   0,     0, 0, 0,                       "2e-450 rounds to 0" )   \
    ROW( atan2,   2,       0,     0, 1, 0.25L,                   "(x^2 - y^2)/r^4" )      \
    ROW( atan2,   0,       2,     1, 0, -0.25L,                  "(x^2 - y^2)/r^4" )      \
    ROW( atan2,   1e100,   1e100, 0, 0, -5e-201L,                "no square overflows" )  \
    ROW( hypot,   3e200,   4e200, 0, 0, 1.28e-201L,              "no cube overflows" )    \
    ROW( hypot,   3e200,   4e200, 0, 1, -9.6e-202L,              "no cube overflows" )    \
    ROW( hypot,   0,       3,     0, 0, 1 / 3.0L,                "the slope rises from 0" ) \
    ROW( hypot,   -3,      0,     1, 1, 1 / 3.0L,                "the slope rises from 0" ) \
    ROW( hypot,   0,       3,     0, 1, 0,                       "x y/r^3" )              \
    ROW( hypot,   3e-200,  4e-200, 1, 1, 7.2e198L,               "no cube underflows" )   \
    ROW( asinh,   1e10,    0,     0, 0, -1e-20L,                 "-1/x^2" )               \
    ROW( asinh,   1e200,   0,     0, 0, 0,                       "1e-400 rounds to 0" )   \
    ROW( acosh,   1e10,    0,     0, 0, -1e-20L,                 "-1/x^2" )               \
    ROW( acosh,   1.0000000001, 0, 0, 0, S_ACOSH(ABOVE_1),       "close to 1" )           \
    ROW( erf,     5,       0,     0, 0, S_ERF(5.0L),             "-2 x times the first" ) \
    ROW( erfc,    20,      0,     0, 0, -S_ERF(20.0L),           "-2 x times the first" ) \
    ROW( erf,     0,       0,     0, 0, 0,                       "odd" )                  \
    ROW( asinh,   0,       0,     0, 0, 0,                       "odd" )                  \
    ROW( asin,    0.9999999999999999, 0, 0, 0, S_ASIN(BELOW_1),  "close to 1" )           \
    ROW( acos,    -0.9999999999999999, 0, 0, 0, S_ASIN(BELOW_1), "close to -1" )          \
    ROW( atanh,   0.9999999999999999, 0, 0, 0,                                            \
         2 * BELOW_1 / powl(1 - BELOW_1 * BELOW_1, 2),           "close to 1" )           \
    ROW( log1p,   -0.9999999999999999, 0, 0, 0, -0x1p106L,       "1 + x is exact" )       \
    ROW( log,     1e-100,  0,     0, 0, -1e200L,                 "-1/x^2" )               \
    ROW( sqrt,    1e-200,  0,     0, 0, -2.5e299L,               "x sqrt x underflows" )  \
    ROW( sqrt,    0,       0,     0, 0, (long double)-INFINITY,  "true limit, not NaN" )  \
    ROW( cbrt,    1e-150,  0,     0, 0, -2e250L / 9,             "x^2 underflows" )       \
    ROW( sqr,     1e200,   0,     0, 0, 2,                       "whatever x is" )        \
    ROW( div,     0,       2,     1, 0, -0.25L,                  "-1/y^2" )               \
    ROW( div,     0,       2,     1, 1, 0,                       "2 x/y^3" )              \
    ROW( div,     1,       1e-100, 1, 1, 2e300L,                 "2 x/y^3" )              \
    ROW( div,     1,       1e-100, 0, 1, -1e200L,                "-1/y^2" )               \
    ROW( pow,     0,       0,     0, 0, 0,                       "constant 1" )           \
    ROW( pow,     -2,      0,     0, 0, 0,                       "constant 1" )           \
    ROW( pow,     0,       1,     0, 0, 0,                       "x is straight" )        \
    ROW( pow,     0,       2,     0, 0, 2,                       "x^2 at its minimum" )   \
    ROW( pow,     0,       2,     0, 1, 0,                       "x (1 + 2 log x)" )      \
    ROW( pow,     0,       2,     1, 0, 0,                       "x (1 + 2 log x)" )      \
    ROW( pow,     0,       2,     1, 1, 0,                       "x^2 log^2 x" )          \
    ROW( pow,     2,       0,     0, 0, 0,                       "constant 1 along x" )   \
    ROW( pow,     2,       0,     0, 1, 0.5L,                    "1/x: not along y" )     \
    ROW( pow,     2,       0,     1, 0, 0.5L,                    "1/x: not along y" )     \
    ROW( pow,     0,       3,     0, 0, 0,                       "6 x" )                  \
    ROW( pow,     -2,      3,     0, 0, -12,                     "6 x" )                  \
    ROW( pow,     1e-200,  2,     0, 0, 2,                       "the value underflows" ) \
    ROW( powi,    0,       0,     0, 0, 0,                       "constant 1" )           \
    ROW( powi,    0,       1,     0, 0, 0,                       "x is straight" )        \
    ROW( powi,    0,       2,     0, 0, 2,                       "x^2 at its minimum" )   \
    ROW( powi,    0,       3,     0, 0, 0,                       "6 x" )                  \
    ROW( powi,    -2,      -1,    0, 0, -0.25L,                  "2/x^3" )                \
    ROW( lgamma,  1,       0,     0, 0, ORACLE_PI * ORACLE_PI / 6, "trigamma(1)" )        \
    ROW( lgamma,  -0.5,    0,     0, 0, ORACLE_PI * ORACLE_PI / 2 + 4, "reflected" )      \
    ROW( lgamma,  1e300,   0,     0, 0, 1e-300L,                 "1/x" )                  \
    ROW( lgamma,  1e-100,  0,     0, 0, 1e200L,                  "1/x^2" )
// clang-format on

static const struct extreme {
    ad_opcode op;
    double x[2];
    int j;
    int k;
    const char *because;
} extremes[] = {
#define ENTER(op, x, y, j, k, want, because)                                \
    { ADREV_OP_##op, { x, y }, j, k, because },
    SECONDS(ENTER)
#undef ENTER
};

// Decimal powers are not exact: what rounding x and y does is allowed, too.
static long double wanted(size_t i)
{
    size_t row = 0;
#define ENTER(op, x, y, j, k, want, because)                                \
    if (row++ == i)                                                         \
        return want;
    SECONDS(ENTER)
#undef ENTER
    return 0;
}

static void run_extreme(size_t i, uint64_t *state, bool plain)
{
    const struct extreme *e = &extremes[i];
    ad_real at[MOST] = { (ad_real)e->x[0], (ad_real)e->x[1] };
    ad_real p[MOST];
    ad_real out[MOST * MOST];
    unsigned all = operands_of(e->op);
    struct task t = { e->op, all, DIRECT, p };
    size_t n = all == 3 ? 2 : 1;
    int whole = whole_argument((int)e->op);
    sample(e->op, state, 1, p);
    if (whole < 3)
        p[whole] = at[whole];
    ad_fn *fn = record(&t, p, plain);
    for (int mode = MODE_HVP; mode <= MODE_HESSIAN && fn != NULL; mode++) {
        ad_status s = ask((enum mode)mode, fn, n, at, out);
        ad_real got = out[(size_t)e->j * n + (size_t)e->k];
        long double off = check_ulps((long double)got, wanted(i));
        CHECK(s == ADREV_OK && off <= 16,
              "%s(%.17g, %.17g) \"%s\", %s, d%d%d: %s: got %.17g, want %.17Lg: "
              "%.3Lg ulps", rows[e->op].name, e->x[0], e->x[1], e->because,
              mode_names[mode], e->j, e->k, ad_message(s), (double)got,
              wanted(i), off);
    }
    ad_fn_free(fn);
}

static void run_extremes(void)
{
    uint64_t state = 314159;
    for (size_t i = 0; i < sizeof extremes / sizeof extremes[0]; i++) {
        run_extreme(i, &state, false);
        run_extreme(i, &state, true);
    }
}

/* --- comparisons-------------------------------------------------------------
 * y = x0 x1 where the comparison holds, else x0 + x1. The operands are the
 * inputs, or one is the number c, or both are expressions.                   */

enum { HOWS = 4 };

#define DEFINE(name, operator)                                              \
    static bool holds_##name(const ad_rev *x, int how, ad_real c)           \
    {                                                                       \
        switch (how) {                                                      \
        case 0: return ad_##name(x[0], x[1]);                               \
        case 1: return ad_##name(x[0], c);                                  \
        case 2: return ad_##name(c, x[1]);                                  \
        }                                                                   \
        return ad_##name(ad_mul(x[0], 2), ad_mul(2, x[1]));                 \
    }                                                                       \
    static bool plain_##name(ad_real a, ad_real b) { return a operator b; }
ADREV_COMPARISONS(DEFINE)
#undef DEFINE

struct comparison {
    ad_opcode op;
    const char *name;
    bool (*holds)(const ad_rev *x, int how, ad_real c);
    bool (*plain)(ad_real a, ad_real b);
    int how;
    ad_real c;
};

static const struct comparison comparisons[] = {
#define ENTER(name, operator)                                               \
    { ADREV_OP_##name, #name, holds_##name, plain_##name, 0, 0 },
    ADREV_COMPARISONS(ENTER)
#undef ENTER
};

static void compare(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct comparison *c = ctx;
    if (c->holds(x, c->how, c->c))
        y[0] = ad_rec(ad_mul(x[0], x[1]));
    else
        y[0] = ad_rec(ad_add(x[0], x[1]));
}

static bool outcome(const struct comparison *c, const ad_real *x)
{
    switch (c->how) {
    case 1: return c->plain(x[0], c->c);
    case 2: return c->plain(c->c, x[1]);
    }
    return c->plain(x[0], x[1]);
}

// A product and a sum, and their derivatives.
static void check_branch(const struct comparison *c, enum mode mode,
                         const ad_real *x, const ad_real *out)
{
    bool product = outcome(c, x);
    ad_real want[4] = { product ? x[0] * x[1] : x[0] + x[1] };
    if (mode > MODE_VALUE) {
        want[0] = product ? x[1] : 1;
        want[1] = product ? x[0] : 1;
    }
    if (mode >= MODE_HVP) {
        want[0] = want[3] = 0;
        want[1] = want[2] = product;
    }
    for (size_t i = 0; i < answers(mode, 2); i++)
        CHECK(check_ulps((long double)out[i], (long double)want[i]) <= 0,
              "%s at (%g, %g), %s, %zu: got %g, want %g", c->name,
              (double)x[0], (double)x[1], mode_names[mode], i, (double)out[i],
              (double)want[i]);
}

static void compare_at(const struct comparison *c, ad_fn *fn, bool recorded,
                       const ad_real *x)
{
    ad_real out[MOST * MOST];
    bool path = outcome(c, x) == recorded;
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        ad_status s = ask((enum mode)mode, fn, 2, x, out);
        CHECK(s == (path ? ADREV_OK : ADREV_EPATH), "%s %d at (%g, %g), %s: %s",
              c->name, c->how, (double)x[0], (double)x[1], mode_names[mode],
              ad_message(s));
        seen[c->op][mode] = true;
        if (s == ADREV_OK && path)
            check_branch(c, (enum mode)mode, x, out);
        if (s == ADREV_EPATH)
            CHECK(ad_fn_guard().index == 0, "%s: guard %zu", c->name,
                  ad_fn_guard().index);
    }
}

static void run_comparison(struct comparison c, const ad_real *at)
{
    static const ad_real v[] = {
        -1, (ad_real)-0.0, 0, 2, (ad_real)INFINITY, (ad_real)NAN
    };
    ad_fn *fn = NULL;
    c.c = at[1];
    if (c.how == 2)
        c.c = at[0];
    ad_status s = ad_fn_record(&fn, compare, &c, 2, at, 1);
    if (!CHECK(s == ADREV_OK, "%s: %s", c.name, ad_message(s)))
        return;
    CHECK(ad_fn_about(fn).guards == 1, "%s: %zu guards", c.name,
          ad_fn_about(fn).guards);
    for (int i = 0; i < 36; i++)
        compare_at(&c, fn, outcome(&c, at),
                   (const ad_real[2]){ v[i / 6], v[i % 6] });
    ad_fn_free(fn);
}

static void run_comparisons(void)
{
    static const ad_real at[][2] = {
        { 1, 2 }, { 2, 1 }, { 3, 3 }, { 0, (ad_real)-0.0 },
        { (ad_real)NAN, 1 }, { 1, (ad_real)INFINITY },
    };
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++)
        for (size_t k = 0; k < sizeof at / sizeof at[0]; k++)
            for (int how = 0; how < HOWS; how++) {
                struct comparison c = comparisons[i];
                c.how = how;
                run_comparison(c, at[k]);
            }
}

/* --- step functions, and ad_detach-------------------------------------------
 * y = x step(2 x): the step is a constant of the recording. y = x detach(2 x):
 * it is not, but has no derivative.                                          */

#define DEFINE(name, ...)                                                   \
    static ad_rev step_##name(ad_rev x)                                     \
        { return ad_rec(ad_##name(ad_mul(2, x))); }
ADREV_STEPS(DEFINE)
#undef DEFINE

static ad_rev step_detach(ad_rev x) { return ad_rec(ad_detach(ad_mul(2, x))); }

static long double twice(long double x, long double y, long double z)
{
    (void)y;
    (void)z;
    return x;
}

struct step {
    ad_opcode op;
    const char *name;
    ad_rev (*step)(ad_rev x);
    oracle_fn *value;
};

static const struct step steps[] = {
#define ENTER(name, ...)                                                    \
    { ADREV_OP_##name, #name, step_##name, oracle_f_##name },
    ADREV_STEPS(ENTER)
#undef ENTER
    { ADREV_OP_detach, "detach", step_detach, twice }
};

static void take_step(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct step *s = ctx;
    y[0] = ad_rec(ad_mul(x[0], s->step(x[0])));
}

static ad_real height(const struct step *s, ad_real x)
{
    if (s->op == ADREV_OP_sign && x == 0)
        return 2 * x;           // core/operations: the sign of a zero is that zero
    return (ad_real)s->value(2 * (long double)x, 0, 0);
}

// 0 and -0 are the same step, if the result is right. NaN is one, too.
static bool may_answer(const struct step *s, ad_real at, ad_real x,
                       ad_status status)
{
    ad_real was = height(s, at);
    ad_real is = height(s, x);
    if (status != ADREV_OK && status != ADREV_EPATH)
        return false;
    if (s->op == ADREV_OP_detach || same(was, is))
        return status == ADREV_OK;
    return status == ADREV_EPATH || (was == is);
}

static void check_step(const struct step *s, enum mode mode, ad_real x,
                       ad_real got)
{
    ad_real h = height(s, x);
    ad_real want = mode == MODE_VALUE ? x * h : mode < MODE_HVP ? h : 0;
    bool right = mode == MODE_VALUE ? same(got, want)
               : check_ulps((long double)got, (long double)want) <= 0;
    CHECK(right, "x %s(2 x) at %.17g, %s: got %.17g, want %.17g", s->name,
          (double)x, mode_names[mode], (double)got, (double)want);
}

static void run_step(const struct step *s, ad_real at, size_t n,
                     const ad_real *x)
{
    ad_fn *fn = NULL;
    struct step ctx = *s;
    ad_real out[MOST * MOST];
    ad_status status = ad_fn_record(&fn, take_step, &ctx, 1, &at, 1);
    if (!CHECK(status == ADREV_OK, "%s: %s", s->name, ad_message(status)))
        return;
    CHECK(ad_fn_about(fn).guards == (s->op != ADREV_OP_detach),
          "%s: %zu guards", s->name, ad_fn_about(fn).guards);
    for (size_t i = 0; i < n; i++)
        for (int mode = 0; mode < MODE_COUNT; mode++) {
            status = ask((enum mode)mode, fn, 1, &x[i], out);
            seen[s->op][mode] = true;
            CHECK(may_answer(s, at, x[i], status), "%s recorded at %g, %s at "
                  "%g: %s", s->name, (double)at, mode_names[mode],
                  (double)x[i], ad_message(status));
            if (status == ADREV_OK)
                check_step(s, (enum mode)mode, x[i], out[0]);
        }
    ad_fn_free(fn);
}

static void run_steps(void)
{
    ad_real x[24] = {
        0, (ad_real)-0.0, (ad_real)0.1, (ad_real)-0.1, (ad_real)0.25,
        (ad_real)-0.25, (ad_real)0.5, (ad_real)-0.5, (ad_real)0.75, 1,
        (ad_real)INFINITY, (ad_real)-INFINITY, (ad_real)NAN,
    };
    uint64_t state = 161803;
    for (int i = 13; i < 24; i++)
        x[i] = (ad_real)oracle_uniform(&state, -1.5, 1.5);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        for (int k = 0; k < 24; k++)
            run_step(&steps[i], x[k], 24, x);
}

/* --- all of it ------------------------------------------------------------ */

static void check_ledger(void)
{
    for (int op = 0; op < ADREV_OP_COUNT; op++)
        for (int mode = 0; mode < MODE_COUNT; mode++)
            CHECK(seen[op][mode], "%s never ran: %s", ad_op_table()[op].name,
                  mode_names[mode]);
}

int main(void)
{
#define ROW(name, ...) run_row(ADREV_OP_##name);
    ADREV_OPS(ROW)
#undef ROW
    if (sizeof(ad_real) == sizeof(double)) {
        run_edges();
        run_extremes();
    }
    run_comparisons();
    run_steps();
    check_ledger();
    return check_done("function_ops");
}
