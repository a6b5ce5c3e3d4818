// SPDX-License-Identifier: MIT-0
// tags:
// needs: long-double
/* random.c - random programs: every way to a derivative must lead to the same.
 *
 * A program is a random graph of operations of the table, steps included, with
 * values and slopes kept below a bound. Every operation is a statement, of
 * recorded numbers or of expressions that leave them as they are
 * (expressions.sh has long ones); Jacobians of 1 to 20 outputs and inputs,
 * single rows and columns, random seeds and directions and forward numbers are
 * compared with a sweep of this test's own, in long double: closely where it
 * takes the slopes of single operations from forward numbers, and that once
 * with the slopes of the oracle.
 *
 * The error allowed is a part of the sum of the absolute values of all paths,
 * for that is what rounding is proportional to.                              */

#include "implementation.h"
#include "adrev.h"

#include "check.h"
#include "rows.h"
#include "oracle.h"

#include <stdlib.h>

#ifndef PROGRAMS
#define PROGRAMS (3000 / ONE_IN(10))
#endif

enum { INPUTS = 20, OUTPUTS = 20, NODES = 60, VALUES = INPUTS + NODES };

// Values and slopes stay below this.
#define BOUND 8

// Ulps of the sum of paths. In 20000 programs 2.5 were seen with the slopes of
// the library, and 99 with those of the oracle: lgamma's, close to its zero.
#define ULPS        4
#define ORACLE_ULPS 256

static ad_tape *tape;
static uint64_t seed = 1;

static int below(int n) { return (int)(oracle_random(&seed) % (unsigned)n); }

static ad_real uniform(double from, double to)
{
    return (ad_real)oracle_uniform(&seed, from, to);
}

/* --- the operations as functions ------------------------------------------ */

// The same of operands that are expressions.
#define DEFINE(name, n, ...)                                                \
    static ad_rev expr_##name(const ad_rev *a, int k)                       \
    {                                                                       \
        (void)k;                                                            \
        return ad_rec(CALL(name, n, ad_mul(a[0], 1), ad_sub(a[1], 0),       \
                           ad_neg(ad_neg(a[2]))));                          \
    }
#define DEFINE_STEP(name, ...) DEFINE(name, 1, 0)
ADREV_OPS(DEFINE)
ADREV_STEPS(DEFINE_STEP)
#undef DEFINE
#undef DEFINE_STEP

static const struct row {
    const char *name;
    oracle_fn *partial[3];
    ad_rev (*expr)(const ad_rev *a, int k);     // of expressions
    ad_rev (*rev)(const ad_rev *a, int k);
    ad_fwd (*fwd)(const ad_fwd *a, int k);
} rows[] = {
#define ENTER(name, ...)                                                    \
    { #name, { oracle_fx_##name, oracle_fy_##name, oracle_fz_##name },      \
      expr_##name, rev_##name, fwd_##name },
    ADREV_OPS(ENTER)
#undef ENTER
#define ENTER(name, ...)                                                    \
    { #name, { NULL, NULL, NULL }, expr_##name, rev_##name, fwd_##name },
    ADREV_STEPS(ENTER)
#undef ENTER
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* --- programs ------------------------------------------------------------- */

// An operand is an earlier value, or else a constant.
struct operand {
    int value;                  // -1: the constant
    ad_real constant;
};

struct node {
    int row;
    int k;                      // exponent, or condition
    struct operand arg[3];
    ad_real slope[3];           // of the library
    long double truth[3];       // of the oracle
};

struct program {
    int n;
    int m;
    int nodes;
    ad_real v[VALUES];          // inputs, then nodes
    struct node node[NODES];
    int output[OUTPUTS];
};

static ad_fwd alone(const struct program *p, const struct node *node, int k)
{
    ad_fwd a[3];
    for (int i = 0; i < 3; i++) {
        const struct operand *o = &node->arg[i];
        a[i] = (ad_fwd){ o->value < 0 ? o->constant : p->v[o->value], i == k };
    }
    return rows[node->row].fwd(a, node->k);
}

static long double oracle_slope(const struct program *p,
                                const struct node *node, int k)
{
    long double a[3];
    ad_opcode op = (ad_opcode)node->row;
    int whole = whole_argument((int)op);
    if (!rows[node->row].partial[k] || k == whole)
        return 0;
    for (int i = 0; i < 3; i++)
        a[i] = (long double)(node->arg[i].value < 0 ? node->arg[i].constant
                                                    : p->v[node->arg[i].value]);
    if (whole < 3)
        a[whole] = node->k;
    if (op == ADREV_OP_select)
        a[0] = node->k > 0;
    return rows[node->row].partial[k](a[0], a[1], a[2]);
}

// Whether a slope is near a zero, or so steep, that its last bits say nothing:
// those of the arguments are worth a thousand of its own. (Of lgamma at
// -1.5735, where digamma is 0 nearby.)
static bool is_sensitive(struct program *p, struct node *node, int k)
{
    const double by = 1 + 0x1p-20;
    const struct node kept = *node;
    for (int i = 0; i < 3; i++) {
        struct operand *o = &node->arg[i];
        o->constant = (ad_real)(by * (double)(o->value < 0 ? o->constant
                                                           : p->v[o->value]));
        o->value = -1;
    }
    const long double moved = oracle_slope(p, node, k);
    *node = kept;
    return fabsl(moved - node->truth[k])
         > 1000 * 0x1p-20L * fabsl(node->truth[k]);
}

// A node of value number at, if it keeps to the bounds.
static bool try_node(struct program *p, struct node *node, int at)
{
    node->row = below(ROWS);
    node->k = below(7) - 3;
    for (int i = 0; i < 3; i++) {
        bool constant = below(8) == 0;
        // Mostly recent values, so that graphs become deep.
        int from = below(2) ? 0 : at > 6 ? at - 6 : 0;
        node->arg[i].value = constant ? -1 : from + below(at - from);
        node->arg[i].constant = uniform(-3, 3);
    }
    p->v[at] = alone(p, node, -1).v;
    bool inside = fabs((double)p->v[at]) <= BOUND;
    for (int i = 0; i < 3; i++) {
        node->slope[i] = alone(p, node, i).d;
        node->truth[i] = oracle_slope(p, node, i);
        inside = inside && fabs((double)node->slope[i]) <= BOUND
              && !is_sensitive(p, node, i);
    }
    return inside;
}

static long used[ROWS];

static void make_program(struct program *p)
{
    p->n = 1 + below(INPUTS);
    p->m = 1 + below(OUTPUTS);
    p->nodes = 1 + below(NODES);
    for (int i = 0; i < p->n; i++)
        p->v[i] = uniform(-2, 2);
    for (int i = 0; i < p->nodes; i++)
        while (!try_node(p, &p->node[i], p->n + i))
            continue;
    for (int i = 0; i < p->nodes; i++)
        used[p->node[i].row]++;
    // Mostly late values; sometimes an early one or an input.
    for (int i = 0; i < p->m; i++) {
        int all = p->n + p->nodes;
        p->output[i] = below(4) ? all - 1 - below(all / 3 + 1) : below(all);
    }
}

/* --- running them --------------------------------------------------------- */

static void run_rev(const struct program *p, bool expressions,
                    const ad_rev *x, ad_rev *y)
{
    ad_rev v[VALUES];
    for (int i = 0; i < p->n; i++)
        v[i] = x[i];
    for (int i = 0; i < p->nodes; i++) {
        const struct node *node = &p->node[i];
        ad_rev a[3];
        for (int j = 0; j < 3; j++)
            a[j] = node->arg[j].value < 0 ? ad_rec(node->arg[j].constant)
                                          : v[node->arg[j].value];
        const struct row *row = &rows[node->row];
        v[p->n + i] = (expressions ? row->expr : row->rev)(a, node->k);
    }
    for (int i = 0; i < p->m; i++)
        y[i] = v[p->output[i]];
}

static void run_fwd(const struct program *p, const ad_real *dx, ad_fwd *y)
{
    ad_fwd v[VALUES];
    for (int i = 0; i < p->n; i++)
        v[i] = (ad_fwd){ p->v[i], dx[i] };
    for (int i = 0; i < p->nodes; i++) {
        const struct node *node = &p->node[i];
        ad_fwd a[3];
        for (int j = 0; j < 3; j++)
            a[j] = node->arg[j].value < 0
                 ? (ad_fwd){ node->arg[j].constant, 0 }
                 : v[node->arg[j].value];
        v[p->n + i] = rows[node->row].fwd(a, node->k);
    }
    for (int i = 0; i < p->m; i++)
        y[i] = v[p->output[i]];
}

/* --- the oracle: a sweep in long double, and the sizes of all paths ------- */

struct jacobian {
    long double d[OUTPUTS][INPUTS];
    long double truth[OUTPUTS][INPUTS];
    long double size[OUTPUTS][INPUTS];
};

static void sweep(const struct program *p, struct jacobian *J, int output)
{
    long double adjoint[VALUES] = { 0 };
    long double truth[VALUES] = { 0 };
    long double paths[VALUES] = { 0 };
    int from = p->output[output];
    adjoint[from] = 1;
    truth[from] = 1;
    paths[from] = 1;
    for (int i = p->nodes; i-- > 0;)
        for (int j = 0; j < 3; j++) {
            const struct node *node = &p->node[i];
            long double slope = (long double)node->slope[j];
            int to = node->arg[j].value;
            if (to < 0)
                continue;
            adjoint[to] += adjoint[p->n + i] * slope;
            truth[to] += truth[p->n + i] * node->truth[j];
            paths[to] += paths[p->n + i] * fabsl(slope);
        }
    for (int i = 0; i < p->n; i++) {
        J->d[output][i] = adjoint[i];
        J->truth[output][i] = truth[i];
        J->size[output][i] = paths[i];
    }
}

/* --- comparing ------------------------------------------------------------ */

static int number;              // of the program, for messages
static const char *how;

static void within(int ulps, long double got, long double want,
                   long double size)
{
    long double unit = sizeof(ad_real) == sizeof(float)
                     ? (long double)FLT_EPSILON : (long double)DBL_EPSILON;
    long double least = sizeof(ad_real) == sizeof(float)
                      ? (long double)FLT_MIN : (long double)DBL_MIN;
    CHECK(fabsl(got - want) <= ulps * unit * size + least,
          "program %d, %s: got %.17Lg, want %.17Lg, of paths %.3Lg: %.3Lg ulps",
          number, how, got, want, size, fabsl(got - want) / (unit * size));
}

static void near(ad_real got, long double want, long double size)
{
    within(ULPS, (long double)got, want, size);
}

static void right(ad_status s)
{
    CHECK(s == ADREV_OK, "program %d, %s: %s", number, how, ad_message(s));
}

static void check_jacobian(const struct program *p, const struct jacobian *J,
                           const ad_rev *x, const ad_rev *y)
{
    ad_real got[OUTPUTS * INPUTS] = { 0 };
    right(ad_jacobian(tape, (size_t)p->m, y, (size_t)p->n, x, got));
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++)
            near(got[i * p->n + j], J->d[i][j], J->size[i][j]);
}

static void check_row(const struct program *p, const struct jacobian *J,
                      const ad_rev *x, const ad_rev *y)
{
    ad_real g[INPUTS] = { 0 };
    int i = below(p->m);
    if (y[i].job == 0)
        return;
    right(ad_gradient(tape, y[i], (size_t)p->n, x, g));
    for (int j = 0; j < p->n; j++)
        near(g[j], J->d[i][j], J->size[i][j]);
}

// Adjoints and tangents for random seeds, and that they fit together.
static void check_seeds(const struct program *p, const struct jacobian *J,
                        const ad_rev *x, const ad_rev *y)
{
    ad_real dy[OUTPUTS] = { 0 };
    ad_real dx[INPUTS] = { 0 };
    ad_real pulled[INPUTS] = { 0 };
    ad_real pushed[OUTPUTS] = { 0 };
    ad_fwd out[OUTPUTS];
    for (int i = 0; i < p->m; i++)
        dy[i] = below(4) ? uniform(-1, 1) : 0;
    for (int j = 0; j < p->n; j++)
        dx[j] = below(4) ? uniform(-1, 1) : 0;
    right(ad_pullback(tape, (size_t)p->m, y, dy, (size_t)p->n, x, pulled));
    right(ad_pushforward(tape, (size_t)p->n, x, dx, (size_t)p->m, y, pushed));
    run_fwd(p, dx, out);

    long double all = 0;
    for (int j = 0; j < p->n; j++) {
        long double want = 0;
        long double size = 0;
        for (int i = 0; i < p->m; i++) {
            want += (long double)dy[i] * J->d[i][j];
            size += fabsl((long double)dy[i]) * J->size[i][j];
        }
        near(pulled[j], want, size);
        all += size * fabsl((long double)dx[j]);
    }
    long double left = 0;
    long double across = 0;
    for (int i = 0; i < p->m; i++) {
        long double want = 0;
        long double size = 0;
        for (int j = 0; j < p->n; j++) {
            want += (long double)dx[j] * J->d[i][j];
            size += fabsl((long double)dx[j]) * J->size[i][j];
        }
        near(pushed[i], want, size);
        near(out[i].d, want, size);
        left += (long double)dy[i] * (long double)pushed[i];
    }
    for (int j = 0; j < p->n; j++)
        across += (long double)dx[j] * (long double)pulled[j];
    near((ad_real)left, (long double)(ad_real)across, all);
}

static bool any_active(int m, const ad_rev *y)
{
    for (int i = 0; i < m; i++)
        if (y[i].job != 0)
            return true;
    return false;
}

static void check_recording(const struct program *p, const struct jacobian *J,
                            const ad_rev *x, const ad_rev *y)
{
    for (int i = 0; i < p->m; i++)
        CHECK_CLOSE(y[i].v, p->v[p->output[i]], 0);
    if (!any_active(p->m, y))
        return;
    check_jacobian(p, J, x, y);
    check_row(p, J, x, y);
    for (int t = 0; t < 3; t++)
        check_seeds(p, J, x, y);
    check_jacobian(p, J, x, y);     // again, after all the others
}

static void run_program(void)
{
    static struct program p;
    static struct jacobian J;
    make_program(&p);
    how = "slopes of the library and the oracle";
    for (int i = 0; i < p.m; i++) {
        sweep(&p, &J, i);
        for (int j = 0; j < p.n; j++)
            within(ORACLE_ULPS, J.d[i][j], J.truth[i][j], J.size[i][j]);
    }
    for (int expressions = 0; expressions < 2; expressions++) {
        ad_rev x[INPUTS];
        ad_rev y[OUTPUTS];
        how = expressions ? "of expressions" : "of numbers";
        ad_tape_clear(tape);
        ad_inputs((size_t)p.n, p.v, x);
        run_rev(&p, expressions, x, y);
        right(ad_tape_status(tape));
        check_recording(&p, &J, x, y);
    }
}

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    for (number = 0; number < PROGRAMS; number++)
        run_program();
    const long least = PROGRAMS / (ONE_IN(2) > 1 ? 20 : 12);
    for (int i = 0; i < ROWS; i++)
        CHECK(used[i] >= least, "%s was used %ld times", rows[i].name, used[i]);
    ad_tape_free(tape);
    return check_done("random");
}
