// SPDX-License-Identifier: MIT-0
/* functions_real.c - gmm, ba and skin as recorded functions, replayed and
 * compiled.
 *
 * gmm: the exponent of one component is recorded, so many rows of Q at a time,
 * and mapped over the points for each component; then a log-sum-exp is mapped
 * over the exponents, and its adjoints weight those of the first. What no point
 * has a part in is another function. All components as one function is not
 * faster where replayed, and too long to be compiled for blocks of points. ba:
 * one observation is recorded. skin: all of it; its Jacobian is compiled alone.
 * An evaluation that fails leaves numbers that the driver finds to be wrong.
 */

#define ADREV_STATIC            // other files have them, too
#define ADREV_IMPLEMENTATION
#include "../adrev_function.h"

#include "adrev_ba.h"
#include "adrev_skin.h"
#include "real.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------
 * Functions, kept from one timing to the next
 * ------------------------------------------------------------------------- */

enum {
    // Fewer stay in the first cache, more repeat less of x - mu.
    ROWS = 10,                              // of Q in a function
    GROUPS = (GMM_MAX + ROWS - 1) / ROWS,
    MOST = 2 + ROWS * (GMM_MAX + 1) + 2 * GMM_MAX
};

// Of one case, replayed or compiled.
typedef struct kept {
    bool compiled;
    const bench_case *of;
    ad_fn *group[GROUPS];       // gmm
    ad_fn *mixture;
    ad_fn *rest;
    ad_fn *errors;              // ba
    ad_fn *weight;
    ad_fn *points;              // skin
    double *room;
} kept;

static kept replayed;
static kept compiled = { .compiled = true };

static void empty(kept *k)
{
    for (size_t g = 0; g < GROUPS; g++) {
        ad_fn_free(k->group[g]);
    }
    ad_fn_free(k->mixture);
    ad_fn_free(k->rest);
    ad_fn_free(k->errors);
    ad_fn_free(k->weight);
    ad_fn_free(k->points);
    free(k->room);
    *k = (kept){ .compiled = k->compiled };
}

void functions_real_release(void)
{
    empty(&replayed);
    empty(&compiled);
}

// Recorded where all inputs are `at`; functions: see ad_compile_options. False:
// it failed.
static bool record(const kept *k, ad_fn **fn, ad_vector_fn *f, void *ctx,
                   size_t n, double at, size_t m, unsigned functions)
{
    const ad_compile_options options = { .cache = "../build/cache",
                                         .limit = 40000000,
                                         .functions = functions };
    double *x = malloc(n * sizeof *x);
    bool ok = x != NULL;

    for (size_t i = 0; ok && i < n; i++) {
        x[i] = at;
    }
    ok = ok && ad_fn_record(fn, f, ctx, n, x, m) == ADREV_OK
         && (!k->compiled || ad_fn_compile(*fn, &options) == ADREV_OK);
    free(x);
    return ok;
}

/* ---------------------------------------------------------------------------
 * gmm
 * ------------------------------------------------------------------------- */

// Rows from ... to - 1 of Q.
typedef struct rows {
    size_t from;
    size_t to;
} rows;

static rows rows_of(size_t d, size_t group)
{
    const size_t to = (group + 1) * ROWS;

    return (rows){ group * ROWS, to < d ? to : d };
}

// t - ||z||^2 / 2 for some rows z of Q (x - mu). in: t, x, mu, then row after
// row of Q. Array statements would not be evaluated by the points side by side
// (replay 5.9 instead of 2.7, gmm-d10).
static void exponent(const ad_rev *in, ad_rev *y, void *ctx)
{
    const rows *r = ctx;
    const ad_rev *x = in + 1;
    const ad_rev *mu = x + r->to;
    const ad_rev *q = mu + r->to;
    ad_rev c[GMM_MAX];
    ad_rev sum = { 0 };

    for (size_t i = 0; i < r->to; i++) {
        c[i] = ad_rec(ad_sub(x[i], mu[i]));
    }
    for (size_t j = r->from; j < r->to; j++) {
        ad_rev z = ad_rec(ad_mul(*q++, c[0]));

        for (size_t i = 1; i <= j; i++) {
            ad_acc(&z, ad_mul(*q++, c[i]));
        }
        ad_acc(&sum, ad_sqr(z));
    }
    y[0] = ad_rec(ad_sub(in[0], ad_mul(0.5, sum)));
}

static void mixture(const ad_rev *in, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_logsumexp(GMM_K, in);
}

// y: the terms that no point has a part in; then of each component the exponent
// at its mean and the diagonal.
static void rest(const ad_rev *in, ad_rev *y, void *ctx)
{
    const size_t d = *(const size_t *)ctx;
    const size_t below = gmm_triangle(d) - d;
    const ad_rev *icf = in + GMM_K + GMM_K * d;
    ad_rev *base = y + 1;
    ad_rev sum = ad_rec(ad_sub(gmm_constant(d),
                               ad_mul(GMM_N, ad_logsumexp(GMM_K, in))));

    for (size_t k = 0; k < GMM_K; k++, icf += below, base += 1 + d) {
        const ad_rev q = ad_sum(d, icf);

        *base = ad_rec(ad_add(in[k], q));
        ad_each(ADREV_OP_exp, d, icf, NULL, NULL, base + 1);
        icf += d;
        ad_acc(&sum, ad_sub(ad_mul(GMM_GAMMA * GMM_GAMMA / 2.0,
                                   ad_add(ad_dot(d, base + 1, base + 1),
                                          ad_dot(below, icf, icf))),
                            ad_mul(GMM_M, q)));
    }
    y[0] = sum;
}

// Where everything is, in the memory of `kept`.
typedef struct gmm {
    size_t d;
    size_t groups;
    double *in;                 // [inputs]
    double *points;             // [d][N]
    double *rests;              // [1 + K (1 + d)]
    double *adjoints;           // of the same
    double *part;               // [inputs]
    double *t[GROUPS];          // [K][N], up to that group
    double *shares;             // [K][N]
    double *each;               // [N]
    double *dy;                 // [inputs]
} gmm;

static size_t rest_results(size_t d)
{
    return 1 + GMM_K * (1 + d);
}

static gmm gmm_at(const bench_case *c, double *room, double *dy)
{
    const size_t d = c->size;
    gmm g = { .d = d, .groups = (d + ROWS - 1) / ROWS, .dy = dy };

    g.in = room;
    g.part = g.in + c->inputs;
    g.rests = g.part + c->inputs;
    g.adjoints = g.rests + rest_results(d);
    g.points = g.adjoints + rest_results(d);
    g.each = g.points + d * GMM_N;
    g.shares = g.each + GMM_N;
    for (size_t i = 0; i < g.groups; i++) {
        g.t[i] = g.shares + (i + 1) * GMM_K * GMM_N;
    }
    return g;
}

static bool record_gmm(kept *k, const bench_case *c)
{
    size_t d = c->size;
    const size_t groups = (d + ROWS - 1) / ROWS;
    bool ok = true;

    if (k->of == c) {
        return k->room != NULL;
    }
    empty(k);
    k->of = c;
    for (size_t i = 0; ok && i < groups; i++) {
        rows r = rows_of(d, i);
        const size_t n = 1 + 2 * r.to + gmm_triangle(r.to)
                       - gmm_triangle(r.from);

        ok = record(k, &k->group[i], exponent, &r, n, 0.5, 1, 0);
    }
    ok = ok && record(k, &k->mixture, mixture, NULL, GMM_K, 0.5, 1, 0)
         && record(k, &k->rest, rest, &d, c->inputs, 0.5, rest_results(d),
                   0);
    if (ok) {
        k->room = malloc((2 * c->inputs + 2 * rest_results(d)
                          + (d + 1 + (groups + 1) * GMM_K) * GMM_N)
                         * sizeof *k->room);
    }
    return k->room != NULL;
}

// The inputs of a group of component k, or where their adjoints go: `so_far` is
// the exponent without its rows, `in` the parameters or the gradient. points
// NULL: theirs are not wanted.
static void group_columns(const gmm *g, size_t group, size_t k,
                          ad_column so_far, double *in, double *rests,
                          double *points, ad_column *to)
{
    const size_t d = g->d;
    const rows r = rows_of(d, group);
    double *mu = in + GMM_K + k * d;
    double *below = in + GMM_K + GMM_K * d + k * gmm_triangle(d) + d;
    double *diagonal = rests + 1 + k * (1 + d) + 1;

    *to++ = so_far;
    for (size_t i = 0; i < r.to; i++) {
        *to++ = (ad_column){ points ? points + i * GMM_N : NULL, 1 };
    }
    for (size_t i = 0; i < r.to; i++) {
        *to++ = (ad_column){ mu + i, 0 };
    }
    for (size_t j = r.from; j < r.to; j++) {
        for (size_t i = 0; i < j; i++) {
            *to++ = (ad_column){ below + i * (2 * d - i - 1) / 2 + j - i - 1,
                                 0 };
        }
        *to++ = (ad_column){ diagonal + j, 0 };
    }
}

static void group_inputs(const gmm *g, size_t group, size_t k, ad_column *x)
{
    const ad_column base = { g->rests + 1 + k * (1 + g->d), 0 };
    const ad_column before = { group > 0 ? g->t[group - 1] + k * GMM_N : NULL,
                               1 };

    group_columns(g, group, k, group > 0 ? before : base, g->in, g->rests,
                  g->points, x);
}

static void group_adjoints(const gmm *g, size_t group, size_t k, ad_column *dx)
{
    const ad_column base = { g->adjoints + 1 + k * (1 + g->d), 0 };
    const ad_column none = { NULL, 0 };

    group_columns(g, group, k, group > 0 ? none : base, g->dy, g->adjoints,
                  NULL, dx);
}

static void map_exponents(const kept *k, const gmm *g)
{
    ad_column x[MOST];

    for (size_t i = 0; i < GMM_K; i++) {
        for (size_t group = 0; group < g->groups; group++) {
            const ad_column y = { g->t[group] + i * GMM_N, 1 };

            group_inputs(g, group, i, x);
            ad_ignore(ad_fn_map(k->group[group], GMM_N, x, &y, NULL));
        }
    }
}

static double map_mixture(const kept *k, const gmm *g)
{
    double one = 1.0;
    double sum = 0.0;
    const ad_column w = { &one, 0 };
    const ad_column y = { g->each, 1 };
    ad_column x[GMM_K];
    ad_column dx[GMM_K];

    for (size_t i = 0; i < GMM_K; i++) {
        x[i] = (ad_column){ g->t[g->groups - 1] + i * GMM_N, 1 };
        dx[i] = (ad_column){ g->shares + i * GMM_N, 1 };
    }
    memset(g->shares, 0, GMM_K * GMM_N * sizeof *g->shares);
    ad_ignore(ad_fn_map_vjp(k->mixture, GMM_N, x, &w, dx, &y, NULL));
    for (size_t s = 0; s < GMM_N; s++) {
        sum += g->each[s];
    }
    return sum;
}

static void map_adjoints(const kept *k, const gmm *g)
{
    ad_column x[MOST];
    ad_column dx[MOST];

    for (size_t i = 0; i < GMM_K; i++) {
        for (size_t group = 0; group < g->groups; group++) {
            const ad_column w = { g->shares + i * GMM_N, 1 };

            group_inputs(g, group, i, x);
            group_adjoints(g, group, i, dx);
            ad_ignore(ad_fn_map_vjp(k->group[group], GMM_N, x, &w, dx, NULL,
                                    NULL));
        }
    }
}

static void run_gmm(kept *k, const bench_case *c, const double *x, double *y,
                    double *dy)
{
    if (!record_gmm(k, c)) {
        return;
    }
    const gmm g = gmm_at(c, k->room, dy);
    const double *points = x + c->inputs;

    memcpy(g.in, x, c->inputs * sizeof *x);
    for (size_t s = 0; s < GMM_N; s++) {
        for (size_t i = 0; i < g.d; i++) {
            g.points[i * GMM_N + s] = *points++;
        }
    }
    memset(dy, 0, c->inputs * sizeof *dy);
    memset(g.adjoints, 0, rest_results(g.d) * sizeof *g.adjoints);
    ad_ignore(ad_fn_eval(k->rest, g.in, g.rests));
    map_exponents(k, &g);
    *y = g.rests[0] + map_mixture(k, &g);
    map_adjoints(k, &g);
    g.adjoints[0] = 1.0;
    ad_ignore(ad_fn_vjp(k->rest, g.in, g.adjoints, g.part));
    for (size_t i = 0; i < c->inputs; i++) {
        dy[i] += g.part[i];
    }
}

void replay_gmm(const bench_case *c, const double *x, double *y, double *dy)
{
    run_gmm(&replayed, c, x, y, dy);
}

void compiled_gmm(const bench_case *c, const double *x, double *y, double *dy)
{
    run_gmm(&compiled, c, x, y, dy);
}

/* ---------------------------------------------------------------------------
 * ba
 * ------------------------------------------------------------------------- */

// Observations gathered at a time. No power of two, or all columns would fall
// into the same lines of the cache.
enum { BLOCK = 480 };

// in: a camera, whose principal point is given from what was measured; a point;
// a weight. Recorded of a camera that is turned, as all of them are.
static void errors(const ad_rev *in, ad_rev *e, void *ctx)
{
    static const double seen[2] = { 0.0, 0.0 };

    (void)ctx;
    ba_errors(in, seen, e);
}

static void weight(const ad_rev *in, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_sub(1.0, ad_sqr(in[0])));
}

static bool record_ba(kept *k, const bench_case *c)
{
    if (k->of == c) {
        return k->room != NULL;
    }
    empty(k);
    k->of = c;
    if (record(k, &k->errors, errors, NULL, BA_ROW, 0.5, 2, 0)
        && record(k, &k->weight, weight, NULL, 1, 0.5, 1, 0)) {
        k->room = malloc(BA_ROW * BLOCK * sizeof *k->room);
    }
    return k->room != NULL;
}

// What observation i depends on, in the order of its row.
static void look(const double *x, size_t i, double in[BA_ROW])
{
    const double *seen = ba_measured(x, i);

    memcpy(in, ba_camera(x, i), 11 * sizeof *in);
    memcpy(in + 11, ba_point(x, i), 3 * sizeof *in);
    in[7] -= seen[0];
    in[8] -= seen[1];
    in[14] = *ba_weight(x, i);
}

// Of n observations: one adjoint of all of them after the other. They are
// added to what is there.
static void map_rows(const kept *k, size_t first, size_t n, const double *x,
                     double *y, double *dy)
{
    double unit[2] = { 1.0, 0.0 };
    double *row = dy + 2 * BA_ROW * first;
    const ad_column e[2] = { { y + 2 * first, 2 }, { y + 2 * first + 1, 2 } };
    ad_column columns[BA_ROW];

    for (size_t i = 0; i < n; i++) {
        double in[BA_ROW];

        look(x, first + i, in);
        for (size_t j = 0; j < BA_ROW; j++) {
            k->room[j * BLOCK + i] = in[j];
        }
    }
    for (size_t j = 0; j < BA_ROW; j++) {
        columns[j] = (ad_column){ k->room + j * BLOCK, 1 };
    }
    memset(row, 0, 2 * BA_ROW * n * sizeof *row);
    for (size_t i = 0; i < 2; i++, row += BA_ROW) {
        const ad_column w[2] = { { &unit[i], 0 }, { &unit[1 - i], 0 } };
        ad_column dx[BA_ROW];

        for (size_t j = 0; j < BA_ROW; j++) {
            dx[j] = (ad_column){ row + j, 2 * BA_ROW };
        }
        ad_ignore(ad_fn_map_vjp(k->errors, n, columns, w, dx,
                                i == 0 ? e : NULL, NULL));
    }
}

// One observation after the other.
static void linearize_rows(const kept *k, size_t first, size_t n,
                           const double *x, double *y, double *dy)
{
    for (size_t i = first; i < first + n; i++) {
        double in[BA_ROW];

        look(x, i, in);
        ad_ignore(ad_fn_linearize(k->errors, in, y + 2 * i,
                                  dy + 2 * BA_ROW * i));
    }
}

static void map_weights(const kept *k, size_t first, size_t n,
                        const double *x, double *y, double *dy)
{
    double one = 1.0;
    const ad_column w = { &one, 0 };
    const ad_column column = { k->room, 1 };
    const ad_column dx = { dy + 2 * BA_ROW * BA_SEEN + first, 1 };
    const ad_column term = { y + 2 * BA_SEEN + first, 1 };

    memcpy(column.v, ba_weight(x, first), n * sizeof *column.v);
    memset(dx.v, 0, n * sizeof *dx.v);
    ad_ignore(ad_fn_map_vjp(k->weight, n, &column, &w, &dx, &term, NULL));
}

// Machine code is faster by observations: values and both rows at once, without
// columns (gcc: 4.5 times the plain program; blocks are not compiled if
// there is a guard). A replay is faster by columns (5.3 instead of 13 times).
static void run_ba(kept *k, const bench_case *c, const double *x, double *y,
                   double *dy)
{
    if (!record_ba(k, c)) {
        return;
    }
    for (size_t i = 0; i < BA_SEEN; i += BLOCK) {
        const size_t n = BA_SEEN - i < BLOCK ? BA_SEEN - i : BLOCK;

        (k->compiled ? linearize_rows : map_rows)(k, i, n, x, y, dy);
        map_weights(k, i, n, x, y, dy);
    }
}

void replay_ba(const bench_case *c, const double *x, double *y, double *dy)
{
    run_ba(&replayed, c, x, y, dy);
}

void compiled_ba(const bench_case *c, const double *x, double *y, double *dy)
{
    run_ba(&compiled, c, x, y, dy);
}

/* ---------------------------------------------------------------------------
 * skin
 * ------------------------------------------------------------------------- */

static void points(const ad_rev *in, ad_rev *y, void *ctx)
{
    const double *x = ctx;

    skin_points(x, in, y);
}

static void run_skin(kept *k, const bench_case *c, const double *x, double *y,
                     double *dy)
{
    if (k->of != c) {
        empty(k);
        k->of = c;
        if (!record(k, &k->points, points, (void *)(uintptr_t)x, c->inputs, 0.5,
                    c->outputs, ADREV_C_LINEARIZE)) {
            return;
        }
    }
    ad_ignore(ad_fn_linearize(k->points, x, y, dy));
}

void replay_skin(const bench_case *c, const double *x, double *y, double *dy)
{
    run_skin(&replayed, c, x, y, dy);
}

void compiled_skin(const bench_case *c, const double *x, double *y, double *dy)
{
    run_skin(&compiled, c, x, y, dy);
}
