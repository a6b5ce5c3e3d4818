// SPDX-License-Identifier: MIT-0
/* random_programs.h - random programs: graphs of operations of the table, of
 * step functions, comparisons, branches, and numbers that are detached or
 * leave the recording.
 *
 *     random_make(&p, &seed)           a program, and a point in p.x at which
 *                                      values and slopes stay small
 *     random_run(x, y, &p)             runs it; an ad_vector_fn
 *     random_trace_at(&p, x, &t)       its values, slopes and decisions at x
 *     random_exact_at(&p, &t, ...)     gradient in long double, by the oracle
 *
 * Include it after adrev.h.                                                 */

#ifndef ADREV_TESTS_RANDOM_PROGRAMS_H
#define ADREV_TESTS_RANDOM_PROGRAMS_H

#include "rows.h"
#include "oracle.h"

#include <string.h>

enum {
    RANDOM_INPUTS = 6,
    RANDOM_OUTPUTS = 5,
    RANDOM_NODES = 40,
    RANDOM_VALUES = RANDOM_INPUTS + RANDOM_NODES
};

// Where a program is made, values and slopes stay below this.
#define RANDOM_BOUND 8

/* --- the operations ------------------------------------------------------- */

static const struct random_row {
    const char *name;
    int arity;
    ad_rev (*rev)(const ad_rev *a, int k);
    ad_fwd (*fwd)(const ad_fwd *a, int k);
    oracle_fn *value;
    oracle_fn *partial[3];      // NULL: a step function
} random_rows[] = {
#define ENTER(name, n, ...)                                                 \
    { #name, n, rev_##name, fwd_##name, oracle_f_##name,      \
      { oracle_fx_##name, oracle_fy_##name, oracle_fz_##name } },
    ADREV_OPS(ENTER)
#undef ENTER
#define ENTER(name, ...)                                                    \
    { #name, 1, rev_##name, fwd_##name, oracle_f_##name,      \
      { NULL, NULL, NULL } },
    ADREV_STEPS(ENTER)
#undef ENTER
};

enum { RANDOM_ROWS = sizeof random_rows / sizeof random_rows[0] };

/* --- programs ------------------------------------------------------------- */

enum random_kind {
    RANDOM_OP,              // a row of the table, or a step function
    RANDOM_CHOICE,          // select(a < b, c, a)
    RANDOM_BRANCH,          // a > b ? a c : b + c, with an if
    RANDOM_DETACH,          // detach(a)
    RANDOM_FREEZE           // a times the plain number b
};

// An operand is an earlier value, or else a constant.
typedef struct random_operand {
    int value;              // -1: the constant
    ad_real constant;
} random_operand;

typedef struct random_node {
    enum random_kind kind;
    int row;
    int k;                  // exponent, or condition
    random_operand arg[3];
} random_node;

typedef struct random_program {
    int n;
    int m;
    int nodes;
    ad_real x[RANDOM_INPUTS];
    random_node node[RANDOM_NODES];
    int output[RANDOM_OUTPUTS];
} random_program;

// What happens at a point. Values are numbered: inputs, then nodes.
typedef struct random_trace {
    ad_real v[RANDOM_VALUES];
    ad_real slope[RANDOM_NODES][3];
    bool active[RANDOM_VALUES];     // depends on an input, maybe with slope 0
    bool chose[RANDOM_NODES];
    ad_real decision[RANDOM_NODES]; // outcomes of what must not change,
    int decisions;                  // in order
    bool open;                      // C leaves open what a value is
    bool kink;                      // exactly where two pieces meet
} random_trace;

static ad_real random_operand_at(const random_trace *t, random_operand o)
{
    return o.value < 0 ? o.constant : t->v[o.value];
}

static bool random_active(const random_trace *t, const random_node *node,
                          int from, int to)
{
    for (int j = from; j < to; j++)
        if (node->arg[j].value >= 0 && t->active[node->arg[j].value])
            return true;
    return false;
}

static void random_decide(random_trace *t, bool active, ad_real outcome)
{
    if (active)
        t->decision[t->decisions++] = outcome;
}

// The sign of fmax(0, -0), and that of a NaN, depend on the compiler.
static bool random_is_open(const random_node *node, const ad_real *a)
{
    bool zeros = a[0] == 0 && a[1] == 0 && !signbit(a[0]) != !signbit(a[1]);
    return ((node->row == ADREV_OP_min || node->row == ADREV_OP_max) && zeros)
        || (node->row == ADREV_OP_copysign && isnan(a[1]));
}

// Exactly where two pieces meet differences take the mean of both.
static bool random_is_kink(const random_node *node, const ad_real *a,
                           ad_real v)
{
    switch (node->row) {
    case ADREV_OP_abs: case ADREV_OP_relu:
        return a[0] == 0;
    case ADREV_OP_copysign:         // the oracle does not keep the sign of 0
        return a[0] == 0 || a[1] == 0;
    case ADREV_OP_min: case ADREV_OP_max: case ADREV_OP_fdim:
        return a[0] == a[1];
    case ADREV_OP_clamp:
        return a[0] == a[1] || a[0] == a[2];
    case ADREV_OP_fmod:
        return v == 0;
    case ADREV_OP_hypot:
        return v == 0;
    }
    return false;
}

static void random_trace_op(random_trace *t, const random_node *node, int i,
                            int at, const ad_real *a)
{
    const struct random_row *row = &random_rows[node->row];
    for (int k = -1; k < 3; k++) {
        ad_fwd in[3];
        for (int j = 0; j < 3; j++)
            in[j] = (ad_fwd){ a[j], j == k };
        ad_fwd y = row->fwd(in, node->k);
        if (k < 0)
            t->v[at] = y.v;
        else
            t->slope[i][k] = y.d;
    }
    int whole = whole_argument(node->row);          // that is k
    bool first = node->row != ADREV_OP_select && whole != 0;
    bool rest = whole != 1;
    t->active[at] = (first && random_active(t, node, 0, 1))
                 || (rest && random_active(t, node, 1, row->arity));
    t->open = t->open || random_is_open(node, a);
    t->kink = t->kink || random_is_kink(node, a, t->v[at]);
    if (row->partial[0] == NULL) {
        random_decide(t, t->active[at], t->v[at]);
        t->active[at] = false;
    }
}

static void random_trace_node(random_trace *t, const random_node *node, int i,
                              int at)
{
    ad_real a[3];
    ad_real *s = t->slope[i];
    for (int j = 0; j < 3; j++)
        a[j] = random_operand_at(t, node->arg[j]);
    s[0] = s[1] = s[2] = 0;
    t->active[at] = random_active(t, node, 0, 3);
    switch (node->kind) {
    case RANDOM_OP:
        random_trace_op(t, node, i, at, a);
        break;
    case RANDOM_CHOICE:
        t->chose[i] = a[0] < a[1];
        random_decide(t, random_active(t, node, 0, 2), t->chose[i]);
        t->v[at] = t->chose[i] ? a[2] : a[0];
        s[t->chose[i] ? 2 : 0] = 1;
        t->active[at] = random_active(t, node, 0, 1)
                     || random_active(t, node, 2, 3);
        break;
    case RANDOM_BRANCH:
        t->chose[i] = a[0] > a[1];
        random_decide(t, random_active(t, node, 0, 2), t->chose[i]);
        t->v[at] = t->chose[i] ? a[0] * a[2] : a[1] + a[2];
        s[0] = t->chose[i] ? a[2] : 0;
        s[1] = !t->chose[i];
        s[2] = t->chose[i] ? a[0] : 1;
        t->active[at] = t->chose[i] ? random_active(t, node, 0, 1)
                                      || random_active(t, node, 2, 3)
                                    : random_active(t, node, 1, 3);
        break;
    case RANDOM_DETACH:
        t->v[at] = a[0];
        t->active[at] = random_active(t, node, 0, 1);
        break;
    case RANDOM_FREEZE:
        random_decide(t, random_active(t, node, 1, 2), a[1]);
        t->v[at] = a[0] * a[1];
        s[0] = a[1];
        t->active[at] = random_active(t, node, 0, 1);
        break;
    }
}

static void random_trace_start(const random_program *p, const ad_real *x,
                               random_trace *t)
{
    memset(t, 0, sizeof *t);
    for (int i = 0; i < p->n; i++) {
        t->v[i] = x[i];
        t->active[i] = true;
    }
}

static void random_trace_at(const random_program *p, const ad_real *x,
                            random_trace *t)
{
    random_trace_start(p, x, t);
    for (int i = 0; i < p->nodes; i++)
        random_trace_node(t, &p->node[i], i, p->n + i);
}

/* --- making them ---------------------------------------------------------- */

static int random_below(uint64_t *seed, int n)
{
    return (int)(oracle_random(seed) % (unsigned)n);
}

// Often one that an optimiser knows.
static ad_real random_constant(uint64_t *seed)
{
    static const ad_real known[] = { 0, (ad_real)-0.0, 1, -1, 2, 1 };
    int i = random_below(seed, 12);
    return i < 6 ? known[i] : (ad_real)oracle_uniform(seed, -3, 3);
}

static void random_draw(random_program *p, random_node *node, int i, int at,
                        uint64_t *seed)
{
    int kind = random_below(seed, 60);
    if (i > 0 && random_below(seed, 10) == 0) {     // an earlier one again
        *node = p->node[random_below(seed, i)];
        return;
    }
    node->kind = kind < 3 ? RANDOM_CHOICE : kind < 6 ? RANDOM_BRANCH
               : kind < 8 ? RANDOM_DETACH : kind < 9 ? RANDOM_FREEZE
               : RANDOM_OP;
    node->row = random_below(seed, RANDOM_ROWS);
    node->k = random_below(seed, 7) - 3;
    for (int j = 0; j < 3; j++) {
        // Mostly recent values, so that graphs become deep.
        int from = random_below(seed, 2) ? 0 : at > 6 ? at - 6 : 0;
        bool constant = random_below(seed, 6) == 0;
        node->arg[j].value = constant ? -1
                           : from + random_below(seed, at - from);
        node->arg[j].constant = random_constant(seed);
    }
}

static bool random_small(ad_real v)
{
    return fabs((double)v) <= RANDOM_BOUND;         // and no NaN
}

static inline void random_make(random_program *p, uint64_t *seed)
{
    random_trace t;
    p->n = 1 + random_below(seed, RANDOM_INPUTS);
    p->m = 1 + random_below(seed, RANDOM_OUTPUTS);
    p->nodes = 1 + random_below(seed, RANDOM_NODES);
    for (int i = 0; i < p->n; i++)
        p->x[i] = (ad_real)oracle_uniform(seed, -2, 2);
    random_trace_start(p, p->x, &t);
    for (int i = 0; i < p->nodes; i++) {
        bool good = false;
        while (!good) {
            random_trace before = t;
            random_draw(p, &p->node[i], i, p->n + i, seed);
            random_trace_node(&t, &p->node[i], i, p->n + i);
            good = random_small(t.v[p->n + i]) && !t.open;
            for (int j = 0; j < 3; j++)
                good = good && random_small(t.slope[i][j]);
            if (!good)
                t = before;
        }
    }
    // Mostly late values; sometimes an early one or an input.
    for (int i = 0; i < p->m; i++) {
        int all = p->n + p->nodes;
        p->output[i] = random_below(seed, 4)
                     ? all - 1 - random_below(seed, all / 3 + 1)
                     : random_below(seed, all);
    }
}

/* --- running them --------------------------------------------------------- */

static ad_rev random_run_node(const random_node *node, const ad_rev *a)
{
    switch (node->kind) {
    case RANDOM_OP:
        return random_rows[node->row].rev(a, node->k);
    case RANDOM_CHOICE:
        return ad_rec(ad_select(ad_lt(a[0], a[1]), a[2], a[0]));
    case RANDOM_BRANCH:
        if (ad_gt(a[0], a[1]))
            return ad_rec(ad_mul(a[0], a[2]));
        return ad_rec(ad_add(a[1], a[2]));
    case RANDOM_DETACH:
        return ad_detach(a[0]);
    case RANDOM_FREEZE:
        return ad_rec(ad_mul(a[0], ad_value(a[1])));
    }
    return a[0];
}

static void random_run(const ad_rev *x, ad_rev *y, void *ctx)
{
    const random_program *p = ctx;
    ad_rev v[RANDOM_VALUES];
    for (int i = 0; i < p->n; i++)
        v[i] = x[i];
    for (int i = 0; i < p->nodes; i++) {
        const random_node *node = &p->node[i];
        ad_rev a[3];
        for (int j = 0; j < 3; j++)
            a[j] = node->arg[j].value < 0 ? ad_rec(node->arg[j].constant)
                                          : v[node->arg[j].value];
        v[p->n + i] = random_run_node(node, a);
    }
    for (int i = 0; i < p->m; i++)
        y[i] = v[p->output[i]];
}

/* --- the oracle--------------------------------------------------------------
 * The program once more in long double, near a point at which it was traced:
 * decisions, steps and detached numbers stay what they were there. To every
 * operation is added what the double of the trace is off by, so that at the
 * point itself both have the same values, and the same derivatives.          */

static long double random_exact_op(const random_node *node, bool chose,
                                   const long double *a)
{
    switch (node->kind) {
    case RANDOM_CHOICE: return chose ? a[2] : a[0];
    case RANDOM_BRANCH: return chose ? a[0] * a[2] : a[1] + a[2];
    case RANDOM_FREEZE: return a[0] * a[1];
    default: return random_rows[node->row].value(a[0], a[1], a[2]);
    }
}

static long double random_exact_slope(const random_node *node, bool chose,
                                      int j, const long double *a)
{
    switch (node->kind) {
    case RANDOM_CHOICE:
        return j == (chose ? 2 : 0);
    case RANDOM_BRANCH:
        return j == 1 ? !chose : !chose ? j == 2 : a[2 - j];
    case RANDOM_FREEZE:
        return j == 0 ? a[1] : 0;
    case RANDOM_DETACH:
        return 0;
    default:
        return random_rows[node->row].partial[j](a[0], a[1], a[2]);
    }
}

// Whether a value stands still near the point.
static bool random_stands(const random_node *node)
{
    return node->kind == RANDOM_DETACH
        || (node->kind == RANDOM_OP && !random_rows[node->row].partial[0]);
}

// Arguments as the oracle takes them. Integers and conditions are constants.
static void random_exact_args(const random_trace *t, const random_node *node,
                              const long double *v, long double *a)
{
    for (int j = 0; j < 3; j++)
        a[j] = node->arg[j].value < 0 ? (long double)node->arg[j].constant
                                      : v[node->arg[j].value];
    if (node->kind == RANDOM_FREEZE)
        a[1] = (long double)random_operand_at(t, node->arg[1]);
    if (node->kind != RANDOM_OP)
        return;
    if (whole_argument(node->row) < 3)
        a[whole_argument(node->row)] = node->k;
    if (node->row == ADREV_OP_select)
        a[0] = node->k > 0;
}

// Whether argument j of a node can move.
static bool random_moves(const random_node *node, int j)
{
    if (node->arg[j].value < 0 || random_stands(node))
        return false;
    if (node->kind == RANDOM_OP && j == whole_argument(node->row))
        return false;
    if (node->kind == RANDOM_OP && node->row == ADREV_OP_select)
        return j > 0;
    return node->kind != RANDOM_OP || j < random_rows[node->row].arity;
}

typedef struct random_exact {
    long double offset[RANDOM_NODES];
    long double v[RANDOM_VALUES];
    long double slope[RANDOM_NODES][3];
} random_exact;

static inline void random_exact_values(const random_program *p,
                                       const random_trace *t,
                                       const long double *x, bool anchor,
                                       random_exact *e)
{
    for (int i = 0; i < p->n; i++)
        e->v[i] = x[i];
    for (int i = 0; i < p->nodes; i++) {
        const random_node *node = &p->node[i];
        long double known = (long double)t->v[p->n + i];
        long double a[3];
        random_exact_args(t, node, e->v, a);
        for (int j = 0; j < 3; j++)
            e->slope[i][j] = random_moves(node, j)
                           ? random_exact_slope(node, t->chose[i], j, a) : 0;
        if (random_stands(node)) {
            e->v[p->n + i] = known;
            continue;
        }
        long double v = random_exact_op(node, t->chose[i], a);
        if (anchor)
            e->offset[i] = known == v ? 0 : known - v;
        // Adding 0 would make a 0 of -0.
        e->v[p->n + i] = e->offset[i] == 0 ? v : v + e->offset[i];
    }
}

// The gradient of the weighted outputs at x, by the slopes of e.
static void random_exact_sweep(const random_program *p, const random_exact *e,
                               const long double *w, bool sizes,
                               long double *g)
{
    long double adjoint[RANDOM_VALUES] = { 0 };
    for (int i = 0; i < p->m; i++)
        adjoint[p->output[i]] += sizes ? fabsl(w[i]) : w[i];
    for (int i = p->nodes; i-- > 0;)
        for (int j = 0; j < 3; j++) {
            int to = p->node[i].arg[j].value;
            long double s = e->slope[i][j];
            if (to >= 0 && s != 0 && adjoint[p->n + i] != 0)
                adjoint[to] += adjoint[p->n + i] * (sizes ? fabsl(s) : s);
        }
    for (int i = 0; i < p->n; i++)
        g[i] = adjoint[i];
}

/* The size of all terms of a second derivative along d: what rounding is
 * proportional to. Second partials of single operations are differences here;
 * a few digits of them are enough. They may be small sums of large terms, for
 * which part of the slope stands.                                            */

static long double random_bend(const random_trace *t, const random_node *node,
                               bool chose, int j, int k, const long double *v)
{
    long double a[3];
    long double side[2];
    if (!random_moves(node, j) || !random_moves(node, k))
        return 0;
    for (int s = 0; s < 2; s++) {
        random_exact_args(t, node, v, a);
        a[k] += (s ? 1e-5L : -1e-5L) * (1 + fabsl(a[k]));
        side[s] = random_exact_slope(node, chose, j, a);
    }
    random_exact_args(t, node, v, a);
    long double bend = fabsl(side[1] - side[0]) / (2e-5L * (1 + fabsl(a[k])));
    return bend > 0 ? bend + fabsl(side[1]) / 4 : 0;
}

// d NULL: instead of a direction, the rounding of every value, in units of its
// size.
static inline void random_second_size(const random_program *p,
                                      const random_trace *t,
                                      const random_exact *e,
                                      const long double *w,
                                      const long double *d, long double *size)
{
    long double tangent[RANDOM_VALUES] = { 0 };
    long double adjoint[RANDOM_VALUES] = { 0 };
    long double both[RANDOM_VALUES] = { 0 };
    for (int i = 0; i < p->n; i++)
        tangent[i] = fabsl(d != NULL ? d[i] : e->v[i]);
    for (int i = 0; i < p->nodes; i++) {
        if (d == NULL)
            tangent[p->n + i] = fabsl(e->v[p->n + i]);
        for (int j = 0; j < 3; j++)
            if (p->node[i].arg[j].value >= 0)
                tangent[p->n + i] += fabsl(e->slope[i][j])
                                   * tangent[p->node[i].arg[j].value];
    }
    for (int i = 0; i < p->m; i++)
        adjoint[p->output[i]] += fabsl(w[i]);
    for (int i = p->nodes; i-- > 0;)
        for (int j = 0; j < 3; j++) {
            const random_node *node = &p->node[i];
            int to = node->arg[j].value;
            if (to < 0)
                continue;
            adjoint[to] += adjoint[p->n + i] * fabsl(e->slope[i][j]);
            both[to] += both[p->n + i] * fabsl(e->slope[i][j]);
            for (int k = 0; k < 3; k++)
                if (node->arg[k].value >= 0)
                    both[to] += adjoint[p->n + i]
                              * random_bend(t, node, t->chose[i], j, k, e->v)
                              * tangent[node->arg[k].value];
        }
    for (int i = 0; i < p->n; i++)
        size[i] = both[i];
}

#endif
