// SPDX-License-Identifier: MIT-0
// tags: part
/* expressions_run.c - runs what expressions_print.c printed: expressions.sh.
 *
 *     expressions_run [all]        all: prints values and gradients, too
 *
 * Every case is evaluated at regular and at hostile points (zeros, infinities,
 * NaN, huge and tiny numbers): as it is written, with a statement for each of
 * its operations, and with forward numbers. Values must have the same bits,
 * and gradients agree with a sweep of this test's own over the operations.
 *
 * A gradient is a sum over paths, and a path a product of partials. A path with
 * a factor of 0 is 0, however it is cut. Of the others rounding leaves a few
 * ulps of the sum of their sizes if no product of neighbouring factors, nor a
 * sum of such, leaves the range of normal numbers. With a factor that is not
 * finite, the result is infinite or NaN as the paths say, if no sum of parts of
 * them can cancel to a zero, which would absorb it. Whatever meets neither
 * condition may depend on the cut, and is not compared; how much that is, is
 * checked, too.                                                             */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include "check.h"
#include "expressions.h"
#include "oracle.h"

#include <limits.h>
#include <stdlib.h>

enum { NODES = 400, REGULAR = 6, HOSTILE = 30, X = EXPR_INPUTS };

// Ulps of the sum of paths. With 3000 expressions 2.0 were seen with the
// partials of the library.
#define ULPS        4
#define ORACLE_ULPS 256

// Where partials and values stay below this, those of the oracle are compared.
#define BOUND 8

#if (defined __GNUC__ || defined __clang__) && ADREV_FUSE > 1
enum { FUSES = 1 };
#else
enum { FUSES = 0 };
#endif

static ad_tape *tape;
static uint64_t seed = 1;
static bool show;

/* --- the operations as functions ------------------------------------------ */

#define FRONT_select(name, x, y, z) ad_select(k > 0, x, y)
#include "rows.h"

static const struct row {
    const char *name;
    ad_rev (*rev)(const ad_rev *a, int k);
    ad_fwd (*fwd)(const ad_fwd *a, int k);
    oracle_fn *partial[3];      // NULL: a step function
} rows[] = {
#define ENTER(name, ...)                                                    \
    { #name, rev_##name, fwd_##name,                                        \
      { oracle_fx_##name, oracle_fy_##name, oracle_fz_##name } },
    ADREV_OPS(ENTER)
#undef ENTER
#define ENTER(name, ...)                                                    \
    { #name, rev_##name, fwd_##name, { NULL, NULL, NULL } },
    ADREV_STEPS(ENTER)
#undef ENTER
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static long used[ROWS];

static bool compare(int op, ad_real a, ad_real b)
{
    switch (op) {
#define ROW(name, sign) case ADREV_OP_##name: return a sign b;
    ADREV_COMPARISONS(ROW)
#undef ROW
    }
    return false;
}

/* --- one node ------------------------------------------------------------- */

static ad_real leaf_value(const expr_node *node, const expr_at *at)
{
    switch (node->kind) {
    case EXPR_X: return at->x[node->k];
    case EXPR_C: return at->c[node->k];
    case EXPR_P: return at->p[node->k];
    case EXPR_N: return (ad_real)at->n[node->k];
    default:     return node->literal;
    }
}

static bool is_step(const expr_node *node)
{
    return node->kind == EXPR_OP && rows[node->op].partial[0] == NULL;
}

// Which operand a selection takes; -1: the node is none.
static int taken(const expr_node *node, const ad_real *v)
{
    if (node->kind == EXPR_CHOOSE)
        return compare(node->op, v[node->arg[0]], v[node->arg[1]]) ? 2 : 3;
    if (node->kind == EXPR_OP && node->op == ADREV_OP_select)
        return node->k > 0 ? 0 : 1;
    return -1;
}

// Operands through which a derivative may come: from, up to.
static void moving(const expr_node *node, const ad_real *v, int *from, int *to)
{
    const int only = taken(node, v);
    *from = only < 0 ? 0 : only;
    *to = only + 1;
    if (node->kind == EXPR_OP && only < 0 && !is_step(node)) {
        *from = whole_argument(node->op) == 0;
        *to = whole_argument(node->op) == 1 ? 1
            : ad_op_table()[node->op].arity;
    }
}

static ad_fwd run_fwd(const expr_node *node, const ad_real *v, int direction)
{
    ad_fwd a[4];
    for (int j = 0; j < 4; j++)
        a[j] = (ad_fwd){ v[node->arg[j]], j == direction };
    if (node->kind == EXPR_OP)
        return rows[node->op].fwd(a, node->k);
    if (node->kind != EXPR_CHOOSE)
        return (ad_fwd){ a[0].v, 0 };
    return a[taken(node, v)];
}

static ad_rev run_step(const expr_node *node, const ad_rev *s)
{
    ad_rev a[4];
    for (int j = 0; j < 4; j++)
        a[j] = s[node->arg[j]];
    if (node->kind == EXPR_OP)
        return rows[node->op].rev(a, node->k);
    if (node->kind != EXPR_CHOOSE)
        return (ad_rev){ .v = a[0].v };
    return compare(node->op, a[0].v, a[1].v)
         ? ad_rec(ad_select(true, a[2], a[3]))
         : ad_rec(ad_select(false, a[2], a[3]));
}

/* --- what must come out --------------------------------------------------- */

typedef struct trace {
    ad_real v[NODES];
    ad_real slope[NODES][4];    // of the library
    long double truth[NODES][4];
    bool active[NODES];         // depends on an input, maybe with slope 0
    bool same[NODES];           // a recorded number as it is, maybe selected
    bool open;                  // C leaves open what a value is
    bool plain;                 // values and slopes are below BOUND
} trace;

static long double oracle_slope(const expr_node *node, const trace *t, int j)
{
    long double a[3];
    for (int i = 0; i < 3; i++)
        a[i] = (long double)t->v[node->arg[i]];
    if (taken(node, t->v) >= 0)
        return 1;
    if (whole_argument(node->op) < 3)
        a[whole_argument(node->op)] = node->k;
    return rows[node->op].partial[j](a[0], a[1], a[2]);
}

static void trace_case(const expr_case *c, const expr_at *at, trace *t)
{
    memset(t, 0, sizeof *t);
    t->plain = true;
    for (int i = 0; i < c->nodes; i++) {
        const expr_node *node = &c->node[i];
        int from;
        int to;
        moving(node, t->v, &from, &to);
        t->active[i] = node->kind == EXPR_X;
        t->same[i] = taken(node, t->v) < 0 ? node->kind <= EXPR_C
                   : t->same[node->arg[from]]
                     || c->node[node->arg[from]].steps > 0;
        if (node->kind < EXPR_OP) {
            t->v[i] = leaf_value(node, at);
        } else {
            t->v[i] = run_fwd(node, t->v, -1).v;
            for (int j = from; j < to; j++) {
                t->slope[i][j] = run_fwd(node, t->v, j).d;
                t->truth[i][j] = oracle_slope(node, t, j);
                t->active[i] = t->active[i] || t->active[node->arg[j]];
                t->plain = t->plain && fabs((double)t->slope[i][j]) <= BOUND;
            }
        }
        t->plain = t->plain && fabs((double)t->v[i]) <= BOUND;
        // The sign of a NaN depends on the compiler.
        t->open = t->open || (node->kind == EXPR_OP
                              && node->op == ADREV_OP_copysign
                              && isnan(t->v[node->arg[1]]));
    }
}

// All paths from one place to another that have no factor 0.
typedef struct paths {
    bool plus;                  // there is one of this sign
    bool minus;
    bool nan;                   // with a factor NaN
    bool plus_infinite;
    bool minus_infinite;
    long double least;          // of the finite ones: the smallest product
    long double size;           // and the sum of them all, without signs
} paths;

static bool any(const paths *p) { return p->plus || p->minus || p->nan; }
static bool wild(const paths *p)
{
    return p->nan || p->plus_infinite || p->minus_infinite;
}

// Adds to `to` the paths `p` with one more factor.
static void lengthen(paths *to, const paths *p, ad_real slope)
{
    if (slope == 0 || !any(p))
        return;
    if (isnan(slope)) {
        to->nan = true;
        return;
    }
    bool up = slope > 0;
    bool infinite = isinf(slope);
    bool plus = up ? p->plus : p->minus;
    bool minus = up ? p->minus : p->plus;
    to->plus = to->plus || plus;
    to->minus = to->minus || minus;
    to->nan = to->nan || p->nan;
    to->plus_infinite = to->plus_infinite || (infinite && plus)
                     || (up ? p->plus_infinite : p->minus_infinite);
    to->minus_infinite = to->minus_infinite || (infinite && minus)
                      || (up ? p->minus_infinite : p->plus_infinite);
    if (infinite || p->size == 0)
        return;
    long double least = p->least * fabsl((long double)slope);
    if (to->size == 0 || least < to->least)
        to->least = least;
    to->size += p->size * fabsl((long double)slope);
}

static const paths here = { .plus = true, .least = 1, .size = 1 };

// Paths from node `from`, or where that is negative from input ~from, to every
// node.
static void walk(const expr_case *c, const trace *t, int from, paths *to)
{
    memset(to, 0, (size_t)c->nodes * sizeof *to);
    if (from >= 0)
        to[from] = here;
    for (int i = from >= 0 ? from + 1 : 0; i < c->nodes; i++) {
        if (c->node[i].kind == EXPR_X && c->node[i].k == ~from)
            to[i] = here;
        for (int j = 0; j < 4; j++)
            lengthen(&to[i], &to[c->node[i].arg[j]], t->slope[i][j]);
    }
}

static bool in_range(const paths *p)
{
    const long double tiny = sizeof(ad_real) == 4 ? (long double)FLT_MIN
                                                  : (long double)DBL_MIN;
    const long double huge = sizeof(ad_real) == 4 ? (long double)FLT_MAX
                                                  : (long double)DBL_MAX;
    return p->size == 0 || (p->least >= tiny && p->size <= huge / 4);
}

// Whether the derivative by an input is the same however the case is cut.
// `leads`: to the result by factors that are not 0.
static bool decided(const expr_case *c, const trace *t, const bool *leads,
                    const paths *from_input)
{
    static paths part[NODES];
    const int last = c->nodes - 1;
    const bool is_wild = wild(&from_input[last]);
    for (int u = -1; u < last; u++) {
        const paths *p = u < 0 ? from_input : part;
        if (u >= 0 && (!leads[u] || !any(&from_input[u])))
            continue;
        if (u >= 0)
            walk(c, t, u, part);
        for (int i = 0; i <= last; i++) {
            if (!leads[i])
                continue;
            if (!in_range(&p[i]))
                return false;
            if (is_wild && p[i].plus && p[i].minus && (u >= 0 || i < last))
                return false;
        }
    }
    return true;
}

typedef struct wanted {
    bool decided[X];
    bool wild[X];
    long double d[X];           // by the slopes of the library
    long double truth[X];       // of the oracle
    long double size[X];
} wanted;

static void sweep(const expr_case *c, const trace *t, wanted *w)
{
    static paths from[NODES];
    long double adjoint[NODES] = { 0 };
    long double truth[NODES] = { 0 };
    bool leads[NODES] = { 0 };
    const int last = c->nodes - 1;
    memset(w, 0, sizeof *w);
    adjoint[last] = 1;
    truth[last] = 1;
    leads[last] = true;
    for (int i = last; i >= 0; i--) {
        const expr_node *node = &c->node[i];
        for (int j = 0; j < 4 && leads[i]; j++) {
            const long double s = (long double)t->slope[i][j];
            if (s == 0)
                continue;
            leads[node->arg[j]] = true;
            adjoint[node->arg[j]] += adjoint[i] * s;
            truth[node->arg[j]] += truth[i] * t->truth[i][j];
        }
        if (node->kind == EXPR_X && leads[i]) {
            w->d[node->k] += adjoint[i];
            w->truth[node->k] += truth[i];
        }
    }
    for (int i = 0; i < X; i++) {
        walk(c, t, ~i, from);
        const paths *p = &from[last];
        w->decided[i] = decided(c, t, leads, from);
        w->wild[i] = wild(p);
        w->size[i] = p->size;
        if (w->wild[i])
            w->d[i] = p->nan || (p->plus_infinite && p->minus_infinite)
                    ? (long double)NAN
                    : p->plus_infinite ? (long double)INFINITY
                                       : -(long double)INFINITY;
    }
}

/* --- comparing ------------------------------------------------------------ */

static int number;              // of the case, for messages
static int point;
static const char *how;
static long zeros, finite, infinite, undecided;
static long double worst;

static bool same_bits(ad_real a, ad_real b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

static void right(ad_status s)
{
    CHECK(s == ADREV_OK, "case %d, point %d, %s: %s", number, point, how,
          ad_message(s));
}

static void check_value(ad_real got, ad_real want)
{
    CHECK(same_bits(got, want), "case %d, point %d, %s: value %a, want %a",
          number, point, how, (double)got, (double)want);
}

static void check_slope(int i, ad_real slope, const wanted *w)
{
    const long double got = (long double)slope;
    const long double unit = sizeof(ad_real) == 4 ? (long double)FLT_EPSILON
                                                  : (long double)DBL_EPSILON;
    if (!w->decided[i])
        return;
    if (w->wild[i] || w->size[i] == 0) {
        CHECK(got == w->d[i] || (isnan(got) && isnan(w->d[i])),
              "case %d, point %d, %s: d/dx%d is %Lg, want %Lg", number, point,
              how, i, got, w->d[i]);
        return;
    }
    long double off = fabsl(got - w->d[i]) / (unit * w->size[i]);
    if (off > worst)
        worst = off;
    CHECK(off <= ULPS,
          "case %d, point %d, %s: d/dx%d is %.17Lg, want %.17Lg, of paths "
          "%.3Lg: %.3Lg ulps", number, point, how, i, got, w->d[i], w->size[i],
          off);
}

static void count_decided(const wanted *w)
{
    for (int i = 0; i < X; i++)
        *(!w->decided[i] ? &undecided : w->wild[i] ? &infinite
          : w->size[i] == 0 ? &zeros : &finite) += 1;
}

// The partials of the library against those of the oracle.
static void check_oracle(const trace *t, const wanted *w)
{
    const long double unit = sizeof(ad_real) == 4 ? (long double)FLT_EPSILON
                                                  : (long double)DBL_EPSILON;
    for (int i = 0; i < X && t->plain; i++)
        CHECK(fabsl(w->d[i] - w->truth[i]) <= ORACLE_ULPS * unit * w->size[i],
              "case %d, point %d: d/dx%d is %.17Lg, by the oracle %.17Lg",
              number, point, i, w->d[i], w->truth[i]);
}

/* --- running -------------------------------------------------------------- */

typedef struct result {
    ad_real v;
    bool active;
    ad_real g[X];
    ad_stats stats;
} result;

static void take_result(ad_tape *t, ad_rev y, const ad_rev *x, result *r)
{
    r->v = y.v;
    r->active = y.job != 0;
    r->stats = ad_tape_stats(t);
    memset(r->g, 0, sizeof r->g);
    right(ad_tape_status(t));
    if (r->active)
        right(ad_gradient(t, y, X, x, r->g));
}

static ad_rev run_rev(const expr_case *c, const expr_at *at, const ad_rev *x)
{
    ad_rev constant[EXPR_CONSTANTS];
    for (int i = 0; i < EXPR_CONSTANTS; i++)
        constant[i] = (ad_rev){ .v = at->c[i] };
    return c->rev(x, constant, at->p, at->n);
}

static void run_fused(const expr_case *c, const expr_at *at, result *r)
{
    ad_rev x[X];
    ad_tape_clear(tape);
    ad_inputs(X, at->x, x);
    ad_rev y = run_rev(c, at, x);
    take_result(tape, y, x, r);
}

static void run_steps(const expr_case *c, const expr_at *at, result *r)
{
    static ad_rev s[NODES];
    ad_rev x[X];
    ad_tape_clear(tape);
    ad_inputs(X, at->x, x);
    for (int i = 0; i < c->nodes; i++) {
        const expr_node *node = &c->node[i];
        if (node->kind == EXPR_X)
            s[i] = x[node->k];
        else if (node->kind < EXPR_OP)
            s[i] = (ad_rev){ .v = leaf_value(node, at) };
        else
            s[i] = run_step(node, s);
    }
    take_result(tape, s[c->nodes - 1], x, r);
}

// From inputs before a mark that was returned to: each use of them is a call.
static void run_rewound(const expr_case *c, const expr_at *at, result *r)
{
    ad_rev x[X];
    ad_tape_clear(tape);
    ad_inputs(X, at->x, x);
    const ad_mark mark = ad_tape_mark(tape);
    DROP(run_rev(c, at, x));
    right(ad_tape_rewind(tape, mark));
    ad_rev y = run_rev(c, at, x);
    take_result(tape, y, x, r);
}

// In exactly the memory it takes.
static void run_fixed(const expr_case *c, const expr_at *at, size_t bytes,
                      result *r)
{
    static max_align_t memory[4096];
    ad_rev x[X];
    *r = (result){ .v = 0 };
    if (!CHECK(bytes <= sizeof memory, "%zu bytes", bytes))
        return;
    ad_tape *fixed = ad_tape_in(memory, bytes);
    if (!CHECK(fixed != NULL, "case %d: no tape in %zu bytes", number, bytes))
        return;
    ad_use(fixed);
    ad_inputs(X, at->x, x);
    ad_rev y = run_rev(c, at, x);
    take_result(fixed, y, x, r);
    ad_use(tape);
    ad_tape_free(fixed);
}

static ad_fwd run_forward(const expr_case *c, const expr_at *at, int direction)
{
    ad_fwd x[X];
    ad_fwd constant[EXPR_CONSTANTS];
    for (int i = 0; i < X; i++)
        x[i] = (ad_fwd){ at->x[i], i == direction };
    for (int i = 0; i < EXPR_CONSTANTS; i++)
        constant[i] = (ad_fwd){ at->c[i], 0 };
    return c->fwd(x, constant, at->p, at->n);
}

/* --- counts ------------------------------------------------------------------
 * A statement of at most ADREV_FUSE recorded numbers is one entry of no more
 * operands. Where nothing is fused, every operation on what depends on an input
 * is one. A recorded number that is only selected need not be recorded again.
 */

static void check_counts(const expr_case *c, const trace *t, const result *r)
{
    size_t least = 0;           // statements
    size_t most = 0;
    size_t leaves = 0;
    size_t operations = 0;
    size_t selections = 0;
    bool fits = true;
    for (int i = 0; i < c->nodes; i++) {
        const expr_node *node = &c->node[i];
        fits = fits && node->all_leaves <= ADREV_FUSE;
        if (!t->active[i] || node->kind < EXPR_OP)
            continue;
        operations += taken(node, t->v) < 0;
        selections += taken(node, t->v) >= 0;
        if (node->steps == 0)
            continue;
        least += !t->same[i];
        most += 1;
        leaves += (size_t)node->leaves;
    }
    if (!FUSES) {
        least = operations;
        most = operations + selections;
    }
    // Parts of a split one are recorded even if what they lead to is not.
    CHECK(r->stats.statements >= least
          && (r->stats.statements <= most || (FUSES && !fits)),
          "case %d: %zu statements, want %zu to %zu", number,
          r->stats.statements, least, most);
    CHECK(!FUSES || !fits || r->stats.operands <= leaves,
          "case %d: %zu operands for %zu leaves", number, r->stats.operands,
          leaves);
}

/* --- points --------------------------------------------------------------- */

static int below(int n) { return (int)(oracle_random(&seed) % (unsigned)n); }

static ad_real pick(bool hostile)
{
    const ad_real most = sizeof(ad_real) == 4 ? (ad_real)FLT_MAX
                                              : (ad_real)DBL_MAX;
    const ad_real least = sizeof(ad_real) == 4 ? (ad_real)FLT_MIN
                                               : (ad_real)DBL_MIN;
    const ad_real root = (ad_real)sqrt((double)most);
    const ad_real pool[] = {
        0, (ad_real)-0.0, 0, (ad_real)INFINITY, -(ad_real)INFINITY,
        (ad_real)NAN, most, -most, least, -least, least / 8, root, -root,
        1 / root, -1 / root, 1, -1, (ad_real)0.5, 2, -3
    };
    if (hostile && below(2) == 0)
        return pool[below(sizeof pool / sizeof *pool)];
    return (ad_real)oracle_uniform(&seed, -2, 3);
}

static void make_point(expr_at *at, bool hostile)
{
    static const int pool[] = { 0, 0, -1, INT_MAX, INT_MIN };
    for (int i = 0; i < X; i++)
        at->x[i] = pick(hostile);
    for (int i = 0; i < EXPR_CONSTANTS; i++)
        at->c[i] = pick(hostile);
    for (int i = 0; i < EXPR_PLAIN; i++)
        at->p[i] = pick(hostile);
    for (int i = 0; i < EXPR_INTEGERS; i++)
        at->n[i] = hostile && below(3) == 0 ? pool[below(5)] : below(7) - 3;
}

// Of all bits of all values and gradients: NaN as one. And what is on the tape.
static uint64_t all_bits = 14695981039346656037u;
static size_t all_operands;

static void add_bits(ad_real v)
{
    uint64_t bits = 0;
    if (isnan(v))
        v = (ad_real)0.125;
    memcpy(&bits, &v, sizeof v);
    for (int i = 0; i < 8; i++)
        all_bits = (all_bits ^ (bits >> 8 * i & 255)) * 1099511628211u;
}

static void check_again(const char *name, const result *got,
                        const result *want)
{
    how = name;
    check_value(got->v, want->v);
    for (int i = 0; i < X; i++)
        CHECK(same_bits(got->g[i], want->g[i]),
              "case %d, point %d, %s: d/dx%d %a, want %a", number, point, how,
              i, (double)got->g[i], (double)want->g[i]);
}

static void run_point(const expr_case *c, const expr_at *at)
{
    static trace t;
    wanted w;
    result fused;
    result other;
    trace_case(c, at, &t);
    if (t.open)
        return;
    sweep(c, &t, &w);
    count_decided(&w);
    check_oracle(&t, &w);

    how = "as written";
    run_fused(c, at, &fused);
    size_t bytes = ad_tape_bytes(tape);
    check_value(fused.v, t.v[c->nodes - 1]);
    for (int i = 0; i < X; i++)
        check_slope(i, fused.g[i], &w);
    CHECK(fused.active == t.active[c->nodes - 1], "case %d: %s recorded",
          number, fused.active ? "is" : "is not");
    check_counts(c, &t, &fused);

    how = "in steps";
    run_steps(c, at, &other);
    check_value(other.v, t.v[c->nodes - 1]);
    for (int i = 0; i < X; i++)
        check_slope(i, other.g[i], &w);

    how = "forward";
    for (int i = 0; i < X; i++) {
        ad_fwd y = run_forward(c, at, i);
        check_value(y.v, t.v[c->nodes - 1]);
        check_slope(i, y.d, &w);
    }

    how = "rewound";
    run_rewound(c, at, &other);
    check_again("rewound", &other, &fused);
    how = "in fixed memory";
    run_fixed(c, at, bytes, &other);
    check_again("in fixed memory", &other, &fused);

    add_bits(fused.v);
    all_operands += fused.stats.operands;
    for (int i = 0; i < X; i++)
        add_bits(fused.g[i]);
    if (show) {
        printf("%d %d: %a;", number, point, (double)fused.v);
        for (int i = 0; i < X; i++)
            printf(" %a%s", (double)fused.g[i], w.decided[i] ? "" : "?");
        printf("\n");
    }
}

static void run_case(const expr_case *c)
{
    for (int i = 0; i < c->nodes; i++)
        if (c->node[i].kind == EXPR_OP)
            used[c->node[i].op]++;
    for (point = 0; point < REGULAR + HOSTILE; point++) {
        expr_at at;
        make_point(&at, point >= REGULAR);
        run_point(c, &at);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    show = argc > 1;
    tape = ad_tape_new();
    if (tape == NULL)
        return EXIT_FAILURE;
    ad_use(tape);
    for (number = 0; number < expr_case_count; number++)
        run_case(&expr_cases[number]);
    CHECK(finite > 10 * undecided / 3 && infinite > undecided,
          "%ld derivatives of %ld are not decided", undecided,
          zeros + finite + infinite + undecided);
    for (int i = 0; i < ROWS; i++)
        CHECK(used[i] > 0, "%s is in no expression", rows[i].name);
    printf("decided: %ld zero, %ld finite, %ld infinite or NaN; %ld not; "
           "%.2Lf ulps\n", zeros, finite, infinite, undecided, worst);
    printf("bits: %016llx, %zu operands\n", (unsigned long long)all_bits,
           all_operands);
    ad_tape_free(tape);
    return check_done("expressions");
}
