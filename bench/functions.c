// SPDX-License-Identifier: MIT-0
/* functions.c - programs of adrev.c and arrays.c, recorded once: replayed, and
 * compiled. Two columns of the table; recording is not in the times.
 *
 * burgers is one cell's update mapped over the grid, step by step; its reverse
 * sweep is the mapped adjoint of each step.
 *
 * An evaluation that fails leaves numbers that the driver finds to be wrong.
 */

#define ADREV_STATIC            // adrev.c has the functions of adrev.h, too
#define ADREV_IMPLEMENTATION
#include "../adrev_function.h"

#include "real.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------
 * The programs
 * ------------------------------------------------------------------------- */

static ad_rev product3(const ad_rev *a, const ad_rev *b)
{
    return ad_rec(ad_add(ad_add(ad_mul(a[0], b[0]), ad_mul(a[1], b[1])),
                         ad_mul(a[2], b[2])));
}

static void rotquat(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const int plus[3][2] = { { 1, 2 }, { 2, 2 }, { 0, 1 } };
    static const int minus[3][2] = { { 2, 1 }, { 0, 2 }, { 1, 0 } };
    const ad_rev *v = x;
    const ad_rev *u = x + 3;
    const ad_rev s = x[6];
    const ad_rev along = ad_rec(ad_mul(2.0, product3(u, v)));
    const ad_rev scale = ad_rec(ad_sub(ad_mul(s, s), product3(u, u)));
    const ad_rev twice = ad_rec(ad_mul(2.0, s));

    (void)ctx;
    for (int i = 0; i < 3; i++) {
        const ad_rev cross = ad_rec(ad_sub(
            ad_mul(u[plus[i][0]], v[plus[i][1]]),
            ad_mul(u[minus[i][0]], v[minus[i][1]])));

        y[i] = ad_rec(ad_add(ad_add(ad_mul(along, u[i]), ad_mul(scale, v[i])),
                             ad_mul(twice, cross)));
    }
}

static void dot(const ad_rev *x, ad_rev *y, void *ctx)
{
    const bench_case *c = ctx;

    y[0] = ad_dot(c->size, x, x + c->size);
}

static void matvec(const ad_rev *x, ad_rev *y, void *ctx)
{
    const bench_case *c = ctx;
    const size_t n = c->size;
    ad_rev *product = malloc(n * sizeof *product);

    if (product) {
        ad_matvec(n, n, x, x + n * n, product);
        y[0] = ad_sum(n, product);
    }
    free(product);
}

static const ad_rev *dense_relu(size_t m, size_t n, const ad_rev *w,
                                const ad_rev *x, ad_rev *y)
{
    const ad_rev *b = w + m * n;

    ad_matvec(m, n, w, x, y);
    ad_each(ADREV_OP_add, m, y, b, NULL, y);
    ad_each(ADREV_OP_relu, m, y, NULL, NULL, y);
    return b + m;
}

static void nn(const ad_rev *x, ad_rev *y, void *ctx)
{
    const bench_case *c = ctx;
    ad_rev hidden[BENCH_NN_HIDDEN];
    ad_rev out[BENCH_NN_OUT];
    double weight[BENCH_NN_OUT];
    const ad_rev *next = dense_relu(BENCH_NN_HIDDEN, BENCH_NN_IN, x,
                                    x + c->inputs - BENCH_NN_IN, hidden);

    dense_relu(BENCH_NN_OUT, BENCH_NN_HIDDEN, next, hidden, out);
    ad_softmax(BENCH_NN_OUT, out, out);
    for (size_t i = 0; i < BENCH_NN_OUT; i++) {
        weight[i] = (double)(i + 1) / BENCH_NN_OUT;
    }
    y[0] = ad_dotc(BENCH_NN_OUT, out, weight);
}

static void particles(const ad_rev *x, ad_rev *y, void *ctx)
{
    const bench_case *c = ctx;
    ad_rev sum = { 0 };

    for (size_t i = 0; i < c->size; i++) {
        ad_rev p[2] = { x[4 * i], x[4 * i + 1] };
        ad_rev v[2] = { x[4 * i + 2], x[4 * i + 3] };

        for (size_t k = 0; k < c->steps; k++) {
            for (int j = 0; j < 2; j++) {
                const ad_rev a = ad_rec(ad_div(
                    ad_sub(ad_mul(-BENCH_SPRING_K, p[j]),
                           ad_mul(BENCH_SPRING_D, v[j])), BENCH_SPRING_M));

                p[j] = ad_rec(ad_add(p[j], ad_mul(BENCH_SPRING_H, v[j])));
                v[j] = ad_rec(ad_add(v[j], ad_mul(BENCH_SPRING_H, a)));
            }
        }
        ad_acc(&sum, ad_mul(p[0], p[1]));
    }
    y[0] = sum;
}

// A cell and its neighbours (own, west, south, east, north) in u, then in v.
static void cell(const ad_rev *x, ad_rev *y, void *ctx)
{
    const bench_case *c = ctx;
    const double a = BENCH_BURGERS_DT * (double)(c->size - 1);
    const double r = BENCH_BURGERS_NU * a * (double)(c->size - 1);

    for (int k = 0; k < 2; k++) {
        const ad_rev *w = x + 5 * k;
        const ad_expr west = ad_mul(ad_mul(a, x[0]), ad_sub(w[0], w[1]));
        const ad_expr south = ad_mul(ad_mul(a, x[5]), ad_sub(w[0], w[2]));
        const ad_expr near = ad_add(ad_add(ad_add(w[3], w[1]), w[4]), w[2]);

        y[k] = ad_rec(ad_add(ad_sub(ad_sub(w[0], west), south),
                             ad_mul(r, ad_sub(near, ad_mul(4.0, w[0])))));
    }
}

/* ---------------------------------------------------------------------------
 * Functions, kept from one timing to the next
 * ------------------------------------------------------------------------- */

typedef struct kept {
    ad_fn *fn;
    const bench_case *of;
} kept;

static kept replayed;
static kept compiled;
static double *fields;          // of burgers, all steps; and adjoints

static void release(void)
{
    ad_fn_free(replayed.fn);
    ad_fn_free(compiled.fn);
    functions_real_release();
    free(fields);
    fields = NULL;
    memset(&replayed, 0, sizeof replayed);
    memset(&compiled, 0, sizeof compiled);
}

// Apart: what it needs is no part of what is timed. (rotquat, clang: 1 ns.)
ADX_NOINLINE static void record(kept *k, ad_vector_fn *f, const bench_case *c,
                                size_t n, const double *x, size_t m)
{
    const ad_compile_options options = { .cache = "../build/cache",
                                         .limit = 40000000 };

    ad_fn_free(k->fn);
    k->of = c;
    if (ad_fn_record(&k->fn, f, (void *)(size_t)c, n, x, m) == ADREV_OK
        && k == &compiled && ad_fn_compile(k->fn, &options) != ADREV_OK) {
        ad_fn_free(k->fn);
        k->fn = NULL;
    }
}

// Recorded the first time; NULL: it failed, and y and dy stay not a number.
static inline ad_fn *recorded(kept *k, ad_vector_fn *f, const bench_case *c,
                              size_t n, const double *x, size_t m)
{
    if (k->of != c) {
        record(k, f, c, n, x, m);
    }
    return k->fn;
}

static void run(kept *k, ad_vector_fn *f, const bench_case *c,
                const double *x, double *y, double *dy)
{
    ad_fn *fn = recorded(k, f, c, c->inputs, x, c->outputs);

    if (fn) {
        ad_ignore(ad_fn_linearize(fn, x, y, dy));
    }
}

#define RUN(name)                                                             \
    static void replay_##name(const bench_case *c, const double *x,           \
                              double *y, double *dy)                          \
    {                                                                         \
        run(&replayed, name, c, x, y, dy);                                    \
    }                                                                         \
    static void compiled_##name(const bench_case *c, const double *x,         \
                                double *y, double *dy)                        \
    {                                                                         \
        run(&compiled, name, c, x, y, dy);                                    \
    }
RUN(rotquat)
RUN(dot)
RUN(matvec)
RUN(nn)
RUN(particles)
#undef RUN

/* ---------------------------------------------------------------------------
 * burgers: all cells from the first inner one to the last as columns of points
 *
 * The two cells at the ends of each row between are points, too: one long map
 * costs less than a map for each row. Their results are overwritten, and their
 * adjoints are none of the map's.
 * ------------------------------------------------------------------------- */

static size_t points(size_t side)
{
    return (side - 2) * side - 2;
}

// Columns of the inner cells of the two fields at w.
static void inner(double *w, size_t side, ad_column to[2])
{
    for (size_t k = 0; k < 2; k++) {
        to[k] = (ad_column){ w + k * side * side + side + 1, 1 };
    }
}

// Columns of the cells and their neighbours, as `cell` has them.
static void neighbours(double *w, size_t side, ad_column to[10])
{
    ad_column own[2];

    inner(w, side, own);
    for (size_t k = 0; k < 2; k++) {
        double *at = own[k].v;
        double *near[5] = { at, at - 1, at - side, at + 1, at + side };

        for (size_t j = 0; j < 5; j++) {
            to[5 * k + j] = (ad_column){ near[j], 1 };
        }
    }
}

// The boundary of both fields goes to `to`; from the ends of the rows it is
// taken away if `move`.
static void copy_boundary(size_t side, double *from, double *to, int move)
{
    for (size_t k = 0; k < 2; k++, from += side * side, to += side * side) {
        memcpy(to, from, side * sizeof *to);
        memcpy(to + (side - 1) * side, from + (side - 1) * side,
               side * sizeof *to);
        for (size_t i = 1; i + 1 < side; i++) {
            for (size_t at = i * side; at < (i + 1) * side; at += side - 1) {
                to[at] = from[at];
                if (move) {
                    from[at] = 0.0;
                }
            }
        }
    }
}

static void forward_step(ad_fn *fn, size_t side, double *now, double *next)
{
    ad_column x[10];
    ad_column y[2];

    neighbours(now, side, x);
    inner(next, side, y);
    ad_ignore(ad_fn_map(fn, points(side), x, y, NULL));
    copy_boundary(side, now, next, 0);
}

// Adjoints `later` of the fields after a step become those before it.
static void reverse_step(ad_fn *fn, size_t side, double *now, double *later,
                         double *before)
{
    ad_column x[10];
    ad_column dx[10];
    ad_column w[2];

    memset(before, 0, 2 * side * side * sizeof *before);
    copy_boundary(side, later, before, 1);
    neighbours(now, side, x);
    neighbours(before, side, dx);
    inner(later, side, w);
    ad_ignore(ad_fn_map_vjp(fn, points(side), x, w, dx, NULL, NULL));
}

static void run_burgers(kept *kept_fn, const bench_case *c, const double *x,
                        double *y, double *dy)
{
    const size_t side = c->size;
    const size_t size = 2 * side * side;
    ad_fn *fn = recorded(kept_fn, cell, c, 10, x, 2);
    double *adjoint[2];

    if (!fields) {
        fields = malloc((c->steps + 3) * size * sizeof *fields);
    }
    if (!fn || !fields) {
        return;
    }
    memcpy(fields, x, size * sizeof *x);
    for (size_t k = 0; k < c->steps; k++) {
        forward_step(fn, side, fields + k * size, fields + (k + 1) * size);
    }
    const double *last = fields + c->steps * size;

    adjoint[0] = fields + (c->steps + 1) * size;
    adjoint[1] = adjoint[0] + size;
    *y = 0.0;
    for (size_t i = 0; i < size; i++) {
        *y += last[i] * last[i];
        adjoint[0][i] = 2.0 * last[i];
    }
    for (size_t k = c->steps; k-- > 0;) {
        reverse_step(fn, side, fields + k * size, adjoint[0], adjoint[1]);
        double *swap = adjoint[0];

        adjoint[0] = adjoint[1];
        adjoint[1] = swap;
    }
    memcpy(dy, adjoint[0], size * sizeof *dy);
}

static void replay_burgers(const bench_case *c, const double *x, double *y,
                           double *dy)
{
    run_burgers(&replayed, c, x, y, dy);
}

static void compiled_burgers(const bench_case *c, const double *x, double *y,
                             double *dy)
{
    run_burgers(&compiled, c, x, y, dy);
}

/* ---------------------------------------------------------------------------
 * The tools
 * ------------------------------------------------------------------------- */

static const bench_tool replay_tool = {
    .name = "replay",
    .version = ADREV_VERSION,
    .run = {
        [BENCH_ROTQUAT] = replay_rotquat,
        [BENCH_DOT] = replay_dot,
        [BENCH_MATVEC] = replay_matvec,
        [BENCH_NN] = replay_nn,
        [BENCH_PARTICLES] = replay_particles,
        [BENCH_BURGERS] = replay_burgers,
        [BENCH_GMM] = replay_gmm,
        [BENCH_BA] = replay_ba,
        [BENCH_SKIN] = replay_skin,
    },
    .release = release,
};

static const bench_tool compiled_tool = {
    .name = "compiled",
    .version = ADREV_VERSION,
    .run = {
        [BENCH_ROTQUAT] = compiled_rotquat,
        [BENCH_DOT] = compiled_dot,
        [BENCH_MATVEC] = compiled_matvec,
        [BENCH_NN] = compiled_nn,
        [BENCH_PARTICLES] = compiled_particles,
        [BENCH_BURGERS] = compiled_burgers,
        [BENCH_GMM] = compiled_gmm,
        [BENCH_BA] = compiled_ba,
        [BENCH_SKIN] = compiled_skin,
    },
    .release = release,
};

BENCH_REGISTER(replay_tool)
BENCH_REGISTER(compiled_tool)
