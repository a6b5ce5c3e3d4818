// SPDX-License-Identifier: MIT-0
/* bulk.h - the array operators of adrev_bulk.h, in two ways.
 *
 * First the table of their reverse rules with numbers computed by hand: values,
 * pullbacks and pushforwards, recorded on a growing tape and in fixed memory,
 * with constants among the arguments, and without a tape. Then programs in
 * pairs, one with an array operator, one element by element, at many lengths.
 *
 * bulk.c runs this alone, bulk_lanes.c with recorded functions, whose values
 * and second derivatives are compared, too, bulk_parallel.c on pools.       */

#ifndef ADREV_TESTS_BULK_H
#define ADREV_TESTS_BULK_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BULK_MOST = 4200, BULK_FIXED = 1 << 20 };

#define BULK_INF ((ad_real)INFINITY)
#define BULK_NAN ((ad_real)NAN)
#define BULK_UNTOUCHED ((ad_real)-12345.5)

static uint64_t bulk_state = 88172645463325252u;

static size_t bulk_below(size_t n)
{
    bulk_state ^= bulk_state << 13;
    bulk_state ^= bulk_state >> 7;
    bulk_state ^= bulk_state << 17;
    return (size_t)(bulk_state >> 20) % n;
}

static ad_real bulk_uniform(double from, double to)
{
    double u = (double)bulk_below(1u << 30) / (1 << 30);
    return (ad_real)(from + (to - from) * u);
}

static double bulk_tolerance(void)
{
    return sizeof(ad_real) == sizeof(float) ? 2e-4 : 1e-11;
}

// What pullbacks of a run were, bit by bit.
static uint64_t bulk_digest;

static void bulk_absorb_bits(size_t n, const ad_real *v)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, &v[i], sizeof v[i]);
        bulk_digest = (bulk_digest ^ bits) * 1099511628211u;
        bulk_digest ^= bulk_digest >> 29;
    }
}

#define BULK_OK(call)                                                       \
    CHECK((call) == ADREV_OK, "%s: %s", #call,                              \
          ad_message(ad_tape_status(adx_now.tape)))

/* --- functions and operators ---------------------------------------------- */

static void bulk_affine(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], x[2]));
    y[1] = ad_rec(ad_add(ad_mul(x[1], x[2]), x[3]));
}

static void bulk_matrix(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            y[2 * i + j] = ad_rec(ad_add(ad_mul(x[2 * i], x[4 + j]),
                                         ad_mul(x[2 * i + 1], x[6 + j])));
}

static void bulk_logadd(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_log(ad_add(ad_exp(x[0]), ad_exp(x[1]))));
}

static void bulk_add(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(x[0], x[1]));
}

static void bulk_mul(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], x[1]));
}

static void bulk_square(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], x[0]));
}

static void bulk_wx2c(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(x[1], ad_mul(x[0], x[0])), x[2]));
}

static void bulk_wx2c_captured(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev *wc = ctx;
    y[0] = ad_rec(ad_add(ad_mul(wc[0], ad_mul(x[0], x[0])), wc[1]));
}

static void bulk_xyy(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(x[0], x[1]), x[1]));
}

/* --- the table ---------------------------------------------------------------
 * Each row is a program, its arguments, results, weights, and adjoints.      */

static void table_map(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rows rows[] = { { x, 1, 1 }, { x + 3, 2, 0 } };
    BULK_OK(ad_map(bulk_wx2c, ctx, 3, 2, rows, 1, y));
}

// What is captured must stay as it is while the recording is there.
static ad_rev bulk_kept[2];

static void table_map_captured(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rows rows[] = { { x, 1, 1 } };
    (void)ctx;
    memcpy(bulk_kept, x + 3, sizeof bulk_kept);
    BULK_OK(ad_map(bulk_wx2c_captured, bulk_kept, 3, 1, rows, 1, y));
}

static void table_zip(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rows rows[] = { { x, 1, 1 }, { x + 3, 1, 1 } };
    BULK_OK(ad_map(bulk_xyy, ctx, 3, 2, rows, 1, y));
}

typedef struct table_op { ad_opcode op; size_t n; } table_op;
static table_op table_add4 = { ADREV_OP_add, 4 };
static table_op table_mul3 = { ADREV_OP_mul, 3 };
static table_op table_mul4 = { ADREV_OP_mul, 4 };
static table_op table_min4 = { ADREV_OP_min, 4 };
static table_op table_max4 = { ADREV_OP_max, 4 };
static table_op table_max7 = { ADREV_OP_max, 7 };

static void table_reduce_op(const ad_rev *x, ad_rev *y, void *ctx)
{
    const table_op *t = ctx;
    BULK_OK(ad_reduce_op(t->op, t->n, x, y));
}

static void table_prefix_op(const ad_rev *x, ad_rev *y, void *ctx)
{
    const table_op *t = ctx;
    BULK_OK(ad_prefix_op(t->op, t->n, x, y));
}

static void table_affine(const ad_rev *x, ad_rev *y, void *ctx)
{
    BULK_OK(ad_reduce(bulk_affine, ctx, 3, 2, x, NULL, y));
}

static void table_matrix(const ad_rev *x, ad_rev *y, void *ctx)
{
    BULK_OK(ad_reduce(bulk_matrix, ctx, 3, 4, x, NULL, y));
}

static void table_logadd(const ad_rev *x, ad_rev *y, void *ctx)
{
    BULK_OK(ad_reduce(bulk_logadd, ctx, 3, 1, x, NULL, y));
}

static void table_prefix_mul(const ad_rev *x, ad_rev *y, void *ctx)
{
    BULK_OK(ad_prefix(bulk_mul, ctx, 4, 1, x, y));
}

static void table_prefix_affine(const ad_rev *x, ad_rev *y, void *ctx)
{
    BULK_OK(ad_prefix(bulk_affine, ctx, 3, 2, x, y));
}

static void table_squares(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rows rows[] = { { x, 1, 1 } };
    ad_vector_fn *op = ctx == NULL ? NULL : bulk_add;
    BULK_OK(ad_map_reduce(bulk_square, op, ctx, 3, 1, rows, 1, NULL, y));
}

static void table_dot(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rows rows[] = { { x, 1, 1 }, { x + 3, 1, 1 } };
    BULK_OK(ad_map_reduce(bulk_mul, NULL, ctx, 3, 2, rows, 1, NULL, y));
}

static void table_prefix_squares(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rows rows[] = { { x, 1, 1 } };
    ad_vector_fn *op = ctx == NULL ? NULL : bulk_add;
    BULK_OK(ad_map_prefix(bulk_square, op, ctx, 3, 1, rows, 1, y));
}

static void table_replicate(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    BULK_OK(ad_replicate(4, 1, x, y));
}

static void table_transpose(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    BULK_OK(ad_transpose(2, 3, x, y));
}

static void table_index(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ptrdiff_t at[] = { 2 };
    (void)ctx;
    BULK_OK(ad_gather(1, at, 4, 1, x, y));
}

static void table_gather(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ptrdiff_t at[] = { 2, 0, 2, 3, 2 };
    (void)ctx;
    BULK_OK(ad_gather(5, at, 4, 1, x, y));
}

// Arguments: the destination, then the values.
static void table_scatter(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ptrdiff_t at[] = { 1, 3, -1, 9 };
    (void)ctx;
    memcpy(y, x, 4 * sizeof *y);
    BULK_OK(ad_scatter(4, at, x + 4, 4, 1, y));
}

static void table_scatter_twice(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ptrdiff_t at[] = { 1, 1 };
    (void)ctx;
    memcpy(y, x, 3 * sizeof *y);
    BULK_OK(ad_scatter(2, at, x + 3, 3, 1, y));
}

static void table_update(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    memcpy(y, x, 3 * sizeof *y);
    y[1] = x[3];
}

typedef struct table_bins { ad_opcode op; size_t m, n; ptrdiff_t at[4]; }
    table_bins;
static table_bins table_bins_add = { ADREV_OP_add, 3, 4, { 0, 2, 0, 5 } };
static table_bins table_bins_mul = { ADREV_OP_mul, 3, 3, { 0, 2, 0 } };
static table_bins table_bins_one = { ADREV_OP_mul, 1, 3, { 0, 0, 0 } };
static table_bins table_bins_max = { ADREV_OP_max, 2, 4, { 0, 1, 0, 1 } };

static void table_histogram(const ad_rev *x, ad_rev *y, void *ctx)
{
    const table_bins *t = ctx;
    memcpy(y, x, t->m * sizeof *y);
    BULK_OK(ad_histogram(t->op, t->n, t->at, x + t->m, t->m, y));
}

static void table_rotate(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ptrdiff_t *by = ctx;
    BULK_OK(ad_rotate(4, 1, *by, x, y));
}

static void table_reverse(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    BULK_OK(ad_slice(3, 1, x, 2, -1, 3, y));
}

static void table_slice(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    BULK_OK(ad_slice(5, 1, x, 1, 2, 2, y));
}

static void table_concat(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev *part[] = { x + 1, x, x + 1 };
    static const size_t n[] = { 2, 1, 1 };
    (void)ctx;
    BULK_OK(ad_concat(3, n, part, 1, y));
}

static void table_matvec(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_matvec(2, 2, x, x + 4, y);
}

typedef struct table_row {
    const char *name;
    ad_vector_fn *f;
    void *ctx;
    size_t n, m;
    double x[12], y[7], w[7], dx[12];
} table_row;

static int bulk_yes = 1;
static ptrdiff_t bulk_two = 2;
static ptrdiff_t bulk_back = -6;

static const table_row table[] = {
    { "map", table_map, NULL, 5, 3, { 1, 2, -1, 3, 7 }, { 10, 19, 10 },
      { 1, 10, 100 }, { 6, 120, -600, 141, 111 } },
    { "map captured", table_map_captured, NULL, 5, 3, { 1, 2, -1, 3, 7 },
      { 10, 19, 10 }, { 1, 10, 100 }, { 6, 120, -600, 141, 111 } },
    { "zip", table_zip, NULL, 6, 3, { 1, 2, 3, 4, 5, 6 }, { 8, 15, 24 },
      { 1, 1, 2 }, { 4, 5, 12, 2, 3, 8 } },
    { "reduce +", table_reduce_op, &table_add4, 4, 1, { 1, 2, 3, 4 }, { 10 },
      { 5 }, { 5, 5, 5, 5 } },
    { "reduce *", table_reduce_op, &table_mul4, 4, 1, { 2, 3, 4, 5 }, { 120 },
      { 1 }, { 60, 40, 30, 24 } },
    { "reduce * 0", table_reduce_op, &table_mul4, 4, 1, { 2, 0, 4, 5 }, { 0 },
      { 1 }, { 0, 40, 0, 0 } },
    { "reduce * 00", table_reduce_op, &table_mul4, 4, 1, { 2, 0, 4, 0 }, { 0 },
      { 1 }, { 0 } },
    { "reduce * -", table_reduce_op, &table_mul3, 3, 1, { -2, 3, .5 }, { -3 },
      { 2 }, { 3, -2, -12 } },
    { "max", table_reduce_op, &table_max4, 4, 1, { 3, 9, 4, 1 }, { 9 }, { 2 },
      { 0, 2, 0, 0 } },
    { "min", table_reduce_op, &table_min4, 4, 1, { 3, 9, 4, 1 }, { 1 }, { 2 },
      { 0, 0, 0, 2 } },
    { "max tie", table_reduce_op, &table_max4, 4, 1, { 5, 9, 9, 2 }, { 9 },
      { 1 }, { 0, 1, 0, 0 } },
    { "min tie", table_reduce_op, &table_min4, 4, 1, { 5, 2, 9, 2 }, { 2 },
      { 1 }, { 0, 1, 0, 0 } },
    { "affine 1", table_affine, NULL, 6, 2, { 2, 1, 3, 4, 5, 6 }, { 30, 41 },
      { 1, 0 }, { 15, 0, 10, 0, 6, 0 } },
    { "affine 2", table_affine, NULL, 6, 2, { 2, 1, 3, 4, 5, 6 }, { 30, 41 },
      { 0, 1 }, { 0, 15, 5, 5, 7, 1 } },
    { "affine", table_affine, NULL, 6, 2, { 2, 1, 3, 4, 5, 6 }, { 30, 41 },
      { 1, 10 }, { 15, 150, 60, 50, 76, 10 } },
    { "matrices", table_matrix, NULL, 12, 4,
      { 1, 2, 3, 4, 0, 1, 1, 1, 2, 0, 1, 3 }, { 7, 9, 15, 21 },
      { 1, 0, 0, 1 }, { 1, 3, 3, 3, 2, 10, 4, 14, 2, 4, 3, 7 } },
    { "logadd", table_logadd, NULL, 3, 1, { 0, 1, 2 }, { 2.407605964444380 },
      { 1 }, { 0.090030573170380, 0.244728471054798, 0.665240955774822 } },
    { "prefix +", table_prefix_op, &table_add4, 4, 4, { 1, 2, 3, 4 },
      { 1, 3, 6, 10 }, { 1, 10, 100, 1000 }, { 1111, 1110, 1100, 1000 } },
    { "prefix *", table_prefix_op, &table_mul4, 4, 4, { 2, 3, 4, 5 },
      { 2, 6, 24, 120 }, { 1, 1, 1, 1 }, { 76, 50, 36, 24 } },
    { "prefix * 0", table_prefix_op, &table_mul4, 4, 4, { 2, 0, 4, 5 },
      { 2, 0, 0, 0 }, { 1, 1, 1, 1 }, { 1, 50, 0, 0 } },
    { "prefix max", table_prefix_op, &table_max7, 7, 7,
      { 3, 1, 4, 2, 5, 9, 7 }, { 3, 3, 4, 4, 5, 9, 9 },
      { 1, 1, 1, 1, 1, 1, 1 }, { 2, 0, 2, 0, 1, 2, 0 } },
    { "prefix f", table_prefix_mul, NULL, 4, 4, { 2, 0, 4, 5 },
      { 2, 0, 0, 0 }, { 1, 1, 1, 1 }, { 1, 50, 0, 0 } },
    { "prefix affine", table_prefix_affine, NULL, 6, 6, { 2, 1, 3, 4, 5, 6 },
      { 2, 1, 6, 7, 30, 41 }, { 1, 1, 1, 1, 1, 1 }, { 19, 19, 18, 6, 13, 1 } },
    { "squares", table_squares, NULL, 3, 1, { 1, 2, 3 }, { 14 }, { 2 },
      { 4, 8, 12 } },
    { "squares op", table_squares, &bulk_yes, 3, 1, { 1, 2, 3 }, { 14 },
      { 2 }, { 4, 8, 12 } },
    { "dot", table_dot, NULL, 6, 1, { 1, 2, 3, 4, 5, 6 }, { 32 }, { 1 },
      { 4, 5, 6, 1, 2, 3 } },
    { "prefix squares", table_prefix_squares, NULL, 3, 3, { 1, 2, 3 },
      { 1, 5, 14 }, { 1, 10, 100 }, { 222, 440, 600 } },
    { "prefix squares op", table_prefix_squares, &bulk_yes, 3, 3, { 1, 2, 3 },
      { 1, 5, 14 }, { 1, 10, 100 }, { 222, 440, 600 } },
    { "replicate", table_replicate, NULL, 1, 4, { 7 }, { 7, 7, 7, 7 },
      { 1, 2, 3, 4 }, { 10 } },
    { "transpose", table_transpose, NULL, 6, 6, { 1, 2, 3, 4, 5, 6 },
      { 1, 4, 2, 5, 3, 6 }, { 1, 2, 3, 4, 5, 6 }, { 1, 3, 5, 2, 4, 6 } },
    { "index", table_index, NULL, 4, 1, { 1, 2, 3, 4 }, { 3 }, { 7 },
      { 0, 0, 7, 0 } },
    { "gather", table_gather, NULL, 4, 5, { 1, 2, 3, 4 }, { 3, 1, 3, 4, 3 },
      { 1, 10, 100, 1000, 10000 }, { 10, 0, 10101, 1000 } },
    { "scatter", table_scatter, NULL, 8, 4, { 1, 2, 3, 4, 5, 6, 7, 8 },
      { 1, 5, 3, 6 }, { 1, 10, 100, 1000 }, { 1, 0, 100, 0, 10, 1000, 0, 0 } },
    { "scatter twice", table_scatter_twice, NULL, 5, 3, { 1, 2, 3, 4, 5 },
      { 1, 5, 3 }, { 1, 10, 100 }, { 1, 0, 100, 0, 10 } },
    { "update", table_update, NULL, 4, 3, { 1, 2, 3, 4 }, { 1, 4, 3 },
      { 1, 10, 100 }, { 1, 0, 100, 10 } },
    { "histogram +", table_histogram, &table_bins_add, 7, 3,
      { 1, 2, 3, 4, 5, 6, 7 }, { 11, 2, 8 }, { 1, 10, 100 },
      { 1, 10, 100, 1, 100, 1, 0 } },
    { "histogram *", table_histogram, &table_bins_mul, 6, 3,
      { 1, 2, 3, 10, 20, 30 }, { 300, 2, 60 }, { 1, 1, 1 },
      { 300, 1, 20, 30, 3, 10 } },
    { "histogram * 0", table_histogram, &table_bins_one, 4, 1, { 2, 5, 0, 3 },
      { 0 }, { 1 }, { 0, 0, 30, 0 } },
    { "histogram max", table_histogram, &table_bins_max, 6, 2,
      { 5, 5, 3, 9, 7, 8 }, { 7, 9 }, { 1, 10 }, { 0, 0, 0, 10, 1, 0 } },
    { "rotate", table_rotate, &bulk_two, 4, 4, { 1, 2, 3, 4 },
      { 3, 4, 1, 2 }, { 1, 10, 100, 1000 }, { 100, 1000, 1, 10 } },
    { "rotate back", table_rotate, &bulk_back, 4, 4, { 1, 2, 3, 4 },
      { 3, 4, 1, 2 }, { 1, 10, 100, 1000 }, { 100, 1000, 1, 10 } },
    { "reverse", table_reverse, NULL, 3, 3, { 1, 2, 3 }, { 3, 2, 1 },
      { 1, 10, 100 }, { 100, 10, 1 } },
    { "slice", table_slice, NULL, 5, 2, { 1, 2, 3, 4, 5 }, { 2, 4 },
      { 1, 10 }, { 0, 1, 0, 10, 0 } },
    { "concat", table_concat, NULL, 3, 4, { 1, 2, 3 }, { 2, 3, 1, 2 },
      { 1, 10, 100, 1000 }, { 100, 1001, 10 } },
    { "matvec", table_matvec, NULL, 6, 2, { 1, 2, 3, 4, 5, 6 }, { 17, 39 },
      { 1, 10 }, { 5, 6, 50, 60, 31, 42 } },
};

enum { TABLE_ROWS = sizeof table / sizeof table[0] };

// All numbers of the table are exact but those of logadd.
#define BULK_EXACT(got, want, name)                                         \
    CHECK(fabs((double)((got) - (ad_real)(want)))                           \
          <= (strcmp(name, "logadd") == 0 ? bulk_tolerance() : 0),          \
          "%s, %zu: %.12g, not %.12g", name, i, (double)(got), (double)(want))

// `constant`: every other argument is.
static void table_on_tape(const table_row *r, ad_tape *t, bool constant)
{
    ad_rev x[12], y[8], in[12];
    ad_real w[8], dx[12], e[12], ty[8];
    size_t at[12];
    size_t n = 0;
    ad_tape_clear(t);
    ad_use(t);
    for (size_t i = 0; i < r->n; i++) {
        bool passive = constant && i % 2 == 1;
        x[i] = passive ? ad_rec((ad_real)r->x[i]) : ad_input((ad_real)r->x[i]);
        at[n] = i;
        in[n] = x[i];
        n += !passive;
    }
    r->f(x, y, r->ctx);
    ad_use(NULL);
    for (size_t i = 0; i < r->m; i++) {
        BULK_EXACT(y[i].v, r->y[i], r->name);
        w[i] = (ad_real)r->w[i];
    }
    ad_status s = ad_pullback(t, r->m, y, w, n, in, dx);
    if (constant && s == ADREV_EPASSIVE)
        return;                 // it is the maximum, for example
    CHECK(s == ADREV_OK, "%s: %s", r->name, ad_message(s));
    for (size_t i = 0; i < n; i++)
        BULK_EXACT(dx[i], r->dx[at[i]], r->name);
    for (size_t i = 0; i < n; i++) {
        memset(e, 0, sizeof e);
        e[i] = 1;
        s = ad_pushforward(t, n, in, e, r->m, y, ty);
        CHECK(s == ADREV_OK, "%s: %s", r->name, ad_message(s));
        ad_real sum = 0;
        for (size_t k = 0; k < r->m; k++)
            sum += ty[k] * w[k];
        BULK_EXACT(sum, r->dx[at[i]], r->name);
    }
}

static void table_without_tape(const table_row *r)
{
    ad_rev x[12], y[8];
    for (size_t i = 0; i < r->n; i++)
        x[i] = ad_rec((ad_real)r->x[i]);
    r->f(x, y, r->ctx);
    for (size_t i = 0; i < r->m; i++) {
        BULK_EXACT(y[i].v, r->y[i], r->name);
        CHECK(y[i].job == 0, "%s: no constant", r->name);
    }
}

static void bulk_table(void)
{
    ad_tape *t = ad_tape_new();
    void *memory = malloc(BULK_FIXED);
    for (size_t i = 0; i < TABLE_ROWS; i++) {
        table_on_tape(&table[i], t, false);
        table_on_tape(&table[i], t, true);
        ad_tape *fixed = ad_tape_in(memory, BULK_FIXED);
        table_on_tape(&table[i], fixed, false);
        table_on_tape(&table[i], fixed, true);
        table_without_tape(&table[i]);
    }
    ad_tape_free(t);
    free(memory);
}

/* --- programs in pairs -------------------------------------------------------
 * The same function with an array operator, and element by element.         */

typedef struct pair_size {
    size_t n;                   // elements
    ad_rev *kept;               // what functions capture
} pair_size;

// A point of a nonlinear window with two parameters, on one of two paths.
static void pair_window(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev a = ad_rec(ad_mul(x[3], ad_sub(ad_add(x[0], x[2]),
                                          ad_mul(x[1], 2.0))));
    if (ad_gt(x[1], 0.3))
        a = ad_rec(ad_sin(ad_mul(a, x[1])));
    y[0] = ad_rec(ad_add(a, ad_mul(x[4], x[1])));
    y[1] = ad_rec(ad_exp(ad_mul(y[0], 0.25)));
}

// Inputs: n + 2 numbers, 2 parameters.
static void pair_stencil(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    const ad_rows rows[] = { { x, 3, 1 }, { NULL, 0, 7 },
                             { x + k->n + 2, 2, 0 }, { NULL, 0, 0 } };
    BULK_OK(ad_map(pair_window, NULL, k->n, 4, rows, 2, y));
}

static void pair_stencil_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    for (size_t i = 0; i < k->n; i++) {
        ad_rev arg[] = { x[i], x[i + 1], x[i + 2], x[k->n + 2], x[k->n + 3] };
        pair_window(arg, y + 2 * i, NULL);
    }
}

// Windows from behind, and an argument between two others.
static void pair_backwards(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    const ad_rows rows[] = { { x + k->n - 1, 3, -1 }, { x + k->n + 2, 1, 0 },
                             { x + k->n + 3, 1, 0 } };
    BULK_OK(ad_map(pair_window, NULL, k->n, 3, rows, 2, y));
}

static void pair_backwards_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    for (size_t i = 0; i < k->n; i++) {
        const ad_rev *w = x + k->n - 1 - i;
        ad_rev arg[] = { w[0], w[1], w[2], x[k->n + 2], x[k->n + 3] };
        pair_window(arg, y + 2 * i, NULL);
    }
}

// Every third number alone, a parameter in front, one captured.
static void pair_apart_f(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev *kept = ctx;
    y[0] = ad_rec(ad_mul(ad_add(x[0], kept[1]), ad_mul(x[1], x[1])));
    y[1] = ad_gt(x[1], 0.0) ? kept[0] : x[1];
}

static void pair_apart(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    const ad_rows rows[] = { { x, 1, 0 }, { x + 3, 1, 3 } };
    memcpy(k->kept, x + 1, 2 * sizeof *x);
    BULK_OK(ad_map(pair_apart_f, k->kept, k->n, 2, rows, 2, y));
}

static void pair_apart_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    for (size_t i = 0; i < k->n; i++) {
        ad_rev arg[] = { x[0], x[3 + 3 * i] };
        ad_rev kept[] = { x[1], x[2] };
        pair_apart_f(arg, y + 2 * i, kept);
    }
}

// What is captured on some paths only.
static void pair_rarely_f(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev *kept = ctx;
    if (ad_gt(x[0], 0.8))
        y[0] = ad_rec(ad_mul(kept[0], ad_mul(x[0], x[0])));
    else if (ad_lt(x[0], -0.8))
        y[0] = kept[1];
    else
        y[0] = ad_rec(ad_sin(x[0]));
}

static void pair_rarely(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    const ad_rows rows[] = { { x + 2, 1, 1 } };
    memcpy(k->kept, x, 2 * sizeof *x);
    BULK_OK(ad_map(pair_rarely_f, k->kept, k->n, 1, rows, 1, y));
}

static void pair_rarely_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    ad_rev kept[] = { x[0], x[1] };
    for (size_t i = 0; i < k->n; i++)
        pair_rarely_f(x + 2 + i, y + i, kept);
}

// An operator that brings a number along.
static void pair_scaled(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev *kept = ctx;
    y[0] = ad_rec(ad_mul(ad_mul(x[0], x[1]), kept[0]));
}

static void pair_reduce(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    static const ad_real one = 1;
    k->kept[0] = x[k->n];
    BULK_OK(ad_reduce(pair_scaled, k->kept, k->n, 1, x, &one, y));
}

static void pair_reduce_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    ad_rev s = k->n == 0 ? ad_rec(1.0) : x[0];
    for (size_t i = 1; i < k->n; i++)
        s = ad_rec(ad_mul(ad_mul(s, x[i]), x[k->n]));
    y[0] = s;
}

static void pair_prefix(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    k->kept[0] = x[k->n];
    BULK_OK(ad_prefix(pair_scaled, k->kept, k->n, 1, x, y));
}

static void pair_prefix_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    for (size_t i = 0; i < k->n; i++)
        y[i] = i == 0 ? x[0]
             : ad_rec(ad_mul(ad_mul(y[i - 1], x[i]), x[k->n]));
}

// (a, b) of an affine map from each number.
static void pair_step(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(1.0, ad_mul(x[1], ad_sub(x[0], 1.0))));
    y[1] = ad_rec(ad_sin(x[0]));
}

static const ad_real pair_same[] = { 1, 0 };

static void pair_reduced(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    const ad_rows rows[] = { { x, 1, 1 }, { x + k->n, 1, 0 } };
    BULK_OK(ad_map_reduce(pair_step, bulk_affine, NULL, k->n, 2, rows, 2,
                          pair_same, y));
}

static void pair_reduced_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    ad_rev s[4] = { ad_rec(1.0), ad_rec(0.0) };
    for (size_t i = 0; i < k->n; i++) {
        ad_rev arg[] = { x[i], x[k->n] };
        ad_rev next[2];
        pair_step(arg, s + 2, NULL);
        bulk_affine(s, next, NULL);
        memcpy(s, next, sizeof next);
    }
    memcpy(y, s, 2 * sizeof *y);
}

static void pair_scanned(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    const ad_rows rows[] = { { x, 1, 1 }, { x + k->n, 1, 0 } };
    BULK_OK(ad_map_prefix(pair_step, bulk_affine, NULL, k->n, 2, rows, 2, y));
}

static void pair_scanned_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    ad_rev s[4];
    for (size_t i = 0; i < k->n; i++) {
        ad_rev arg[] = { x[i], x[k->n] };
        pair_step(arg, i == 0 ? y : s + 2, NULL);
        if (i > 0) {
            memcpy(s, y + 2 * (i - 1), 2 * sizeof *s);
            bulk_affine(s, y + 2 * i, NULL);
        }
    }
}

// The same with rows so wide that there are three levels from 1500 of them on.
enum { DEEP = 130, DEEP_MOST = 1500 };

static void pair_deep_op(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev pairs[] = { x[0], x[1], x[DEEP], x[DEEP + 1] };
    bulk_affine(pairs, y, ctx);
    memcpy(y + 2, x + 2, (DEEP - 2) * sizeof *y);
}

static void pair_deep(const ad_rev *x, ad_rev *y, void *ctx)
{
    static ad_rev rows[DEEP_MOST * DEEP], up[DEEP_MOST * DEEP];
    const pair_size *k = ctx;
    for (size_t i = 0; i < k->n; i++)
        memcpy(rows + i * DEEP, x + 2 * i, 2 * sizeof *x);
    BULK_OK(ad_prefix(pair_deep_op, NULL, k->n, DEEP, rows, up));
    for (size_t i = 0; i < k->n; i++)
        memcpy(y + 2 * i, up + i * DEEP, 2 * sizeof *y);
}

static void pair_deep_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    for (size_t i = 0; i < k->n; i++) {
        ad_rev s[4] = { ad_rec(1.0), ad_rec(0.0), x[2 * i], x[2 * i + 1] };
        if (i > 0)
            memcpy(s, y + 2 * (i - 1), 2 * sizeof *s);
        bulk_affine(s, y + 2 * i, NULL);
    }
}

// A polynomial by affine steps of 7 x 7: a wide operator.
enum { WIDE = 7, WIDE2 = WIDE * WIDE };

static void pair_wide_op(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_matmul(WIDE, WIDE, WIDE, x, x + WIDE2, y);
}

static void pair_wide_f(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < WIDE; i++)
        for (size_t j = 0; j < WIDE; j++)
            y[i * WIDE + j] = ad_rec(ad_add(i == j ? 0.9 : 0.0,
                ad_mul(x[0], 0.02 * (double)(i + 2 * j % 3))));
}

static void pair_wide(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    const ad_rows rows[] = { { x, 1, 1 } };
    ad_real one[WIDE2] = {0};
    for (size_t i = 0; i < WIDE; i++)
        one[i * WIDE + i] = 1;
    BULK_OK(ad_map_reduce(pair_wide_f, pair_wide_op, NULL, k->n, 1, rows,
                          WIDE2, one, y));
}

static void pair_wide_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    ad_rev s[2 * WIDE2], next[WIDE2];
    for (size_t i = 0; i < WIDE2; i++)
        s[i] = ad_rec(i % (WIDE + 1) == 0 ? 1.0 : 0.0);
    for (size_t i = 0; i < k->n; i++) {
        pair_wide_f(x + i, s + WIDE2, NULL);
        pair_wide_op(s, next, NULL);
        memcpy(s, next, sizeof next);
    }
    memcpy(y, s, sizeof next);
}

static void pair_sum(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    const ad_rows rows[] = { { x, 3, 1 }, { x + k->n + 2, 2, 0 } };
    BULK_OK(ad_map_reduce(pair_window, NULL, NULL, k->n, 2, rows, 2, NULL, y));
}

static void pair_sum_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    y[0] = y[1] = ad_rec(0.0);
    for (size_t i = 0; i < k->n; i++) {
        ad_rev arg[] = { x[i], x[i + 1], x[i + 2], x[k->n + 2], x[k->n + 3] };
        ad_rev z[2];
        pair_window(arg, z, NULL);
        y[0] = ad_rec(ad_add(y[0], z[0]));
        y[1] = ad_rec(ad_add(y[1], z[1]));
    }
}

static void pair_prefix_sum(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    const ad_rows rows[] = { { x, 1, 1 }, { x + k->n, 1, 0 } };
    BULK_OK(ad_map_prefix(pair_step, NULL, NULL, k->n, 2, rows, 2, y));
}

static void pair_prefix_sum_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    for (size_t i = 0; i < k->n; i++) {
        ad_rev arg[] = { x[i], x[k->n] };
        pair_step(arg, y + 2 * i, NULL);
        for (size_t j = 0; i > 0 && j < 2; j++)
            y[2 * i + j] = ad_rec(ad_add(y[2 * i + j], y[2 * i + j - 2]));
    }
}

// A map whose function is a loop over reductions of maps, and which captures a
// number of the recording outside, as do these. (What the loop changes is an
// argument: it would not stay as it is.)
static void pair_inner(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    y[0] = ad_rec(ad_mul(ad_add(x[0], ad_mul(x[2], k->kept[0])),
                         ad_cos(ad_add(x[0], x[1]))));
}

static void pair_nest_f(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    ad_rev s = k->kept[0];
    for (int i = 0; i < 2; i++) {
        ad_rev arg[2] = { s, x[0] };
        const ad_rows rows[] = { { x, 1, 1 }, { arg, 2, 0 } };
        if (ad_map_reduce(pair_inner, i == 0 ? NULL : bulk_add, ctx, 3, 2,
                          rows, 1, NULL, &s) != ADREV_OK)
            return;             // no CHECK: it may be any thread's
        s = ad_rec(ad_mul(ad_sin(s), arg[0]));
    }
    y[0] = s;
}

static void pair_nest_f_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    ad_rev s = k->kept[0];
    for (int i = 0; i < 2; i++) {
        ad_rev sum = ad_rec(0.0), z;
        for (size_t j = 0; j < 3; j++) {
            ad_rev arg[3] = { x[j], s, x[0] };
            pair_inner(arg, &z, ctx);
            sum = ad_rec(ad_add(sum, z));
        }
        s = ad_rec(ad_mul(ad_sin(sum), s));
    }
    y[0] = s;
}

static void pair_nest(const ad_rev *x, ad_rev *y, void *ctx)
{
    pair_size *k = ctx;
    const ad_rows rows[] = { { x, 3, 2 } };
    k->kept[0] = x[2 * k->n + 1];
    BULK_OK(ad_map(pair_nest_f, k, k->n, 1, rows, 1, y));
}

static void pair_nest_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    pair_size *k = ctx;
    k->kept[0] = x[2 * k->n + 1];
    for (size_t i = 0; i < k->n; i++)
        pair_nest_f_each(x + 2 * i, y + i, k);
}

// Rows of the table. The first inputs come twice: ties; some are 0.
static ad_rev pair_pick(const ad_rev *x, size_t i, size_t n)
{
    ad_rev zero = { 0, 0, 0 };
    return i % 97 == 96 ? zero : i % 7 == 6 ? x[i - 5] : x[i % n];
}

#define PAIR_OP(name, code, expression)                                     \
    static void pair_##name(const ad_rev *x, ad_rev *y, void *ctx)          \
    {                                                                       \
        const pair_size *k = ctx;                                           \
        for (size_t i = 0; i < k->n; i++)                                   \
            k->kept[i] = pair_pick(x, i, k->n);                             \
        BULK_OK(ad_prefix_op(code, k->n, k->kept, y));                      \
        BULK_OK(ad_reduce_op(code, k->n, k->kept, y + k->n));               \
    }                                                                       \
    static void pair_##name##_each(const ad_rev *x, ad_rev *y, void *ctx)   \
    {                                                                       \
        const pair_size *k = ctx;                                           \
        y[k->n] = ad_rec(adx_neutral(code));                                \
        for (size_t i = 0; i < k->n; i++) {                                 \
            ad_rev a = y[k->n], b = pair_pick(x, i, k->n);                  \
            y[i] = y[k->n] = i == 0 ? b : (expression);                     \
        }                                                                   \
    }
PAIR_OP(add, ADREV_OP_add, ad_rec(ad_add(a, b)))
PAIR_OP(mul, ADREV_OP_mul, ad_rec(ad_mul(a, b)))
PAIR_OP(max, ADREV_OP_max, ad_gt(b, a) ? b : a)
PAIR_OP(min, ADREV_OP_min, ad_lt(b, a) ? b : a)
#undef PAIR_OP

// Bins for all four at once: 5 of each.
static const ad_opcode pair_ops[] = { ADREV_OP_add, ADREV_OP_mul, ADREV_OP_max,
                                      ADREV_OP_min };

static ptrdiff_t pair_bin(size_t i) { return (ptrdiff_t)(i * i % 7) - 1; }

static void pair_bins(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    ptrdiff_t at[BULK_MOST];
    for (size_t i = 0; i < k->n; i++)
        at[i] = pair_bin(i);
    for (size_t o = 0; o < 4; o++) {
        memcpy(y + 5 * o, x + k->n, 5 * sizeof *y);
        BULK_OK(ad_histogram(pair_ops[o], k->n, at, x, 5, y + 5 * o));
    }
}

static void pair_bins_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    const pair_size *k = ctx;
    for (size_t o = 0; o < 4; o++) {
        memcpy(y + 5 * o, x + k->n, 5 * sizeof *y);
        for (size_t i = 0; i < k->n; i++) {
            ptrdiff_t b = pair_bin(i);
            if (b < 0 || b > 4)
                continue;
            ad_rev *z = &y[5 * o + (size_t)b];
            *z = o == 0 ? ad_rec(ad_add(*z, x[i]))
               : o == 1 ? ad_rec(ad_mul(*z, x[i]))
               : (o == 2 ? ad_gt(x[i], *z) : ad_lt(x[i], *z)) ? x[i] : *z;
        }
    }
}

// inputs a*n + b, results c*n + d; from and to: where the inputs are
typedef struct pair_row {
    const char *name;
    ad_vector_fn *f, *each;
    size_t a, b, c, d;
    double from, to;
    size_t most;
} pair_row;

static const pair_row pairs[] = {
    { "stencil", pair_stencil, pair_stencil_each, 1, 4, 2, 0, -1, 1, 4000 },
    { "backwards", pair_backwards, pair_backwards_each, 1, 4, 2, 0, -1, 1,
      300 },
    { "apart", pair_apart, pair_apart_each, 3, 3, 2, 0, -1, 1, 300 },
    { "rarely", pair_rarely, pair_rarely_each, 1, 2, 1, 0, -1, 1, 4000 },
    { "reduce", pair_reduce, pair_reduce_each, 1, 1, 0, 1, .99, 1.01, 4000 },
    { "prefix", pair_prefix, pair_prefix_each, 1, 1, 1, 0, .99, 1.01, 4000 },
    { "map and reduce", pair_reduced, pair_reduced_each, 1, 1, 0, 2, .9, 1.1,
      4000 },
    { "map and prefix", pair_scanned, pair_scanned_each, 1, 1, 2, 0, .9, 1.1,
      4000 },
    { "deep prefix", pair_deep, pair_deep_each, 2, 0, 2, 0, .99, 1.01,
      DEEP_MOST },
    { "wide", pair_wide, pair_wide_each, 1, 0, 0, WIDE2, .9, 1, 100 },
    { "sum", pair_sum, pair_sum_each, 1, 4, 0, 2, -1, 1, 4000 },
    { "prefix sum", pair_prefix_sum, pair_prefix_sum_each, 1, 1, 2, 0, .5, 1,
      300 },
    { "nest", pair_nest, pair_nest_each, 2, 2, 1, 0, -1, 1, 300 },
    { "add", pair_add, pair_add_each, 1, 0, 1, 1, .9, 1.1, 300 },
    { "mul", pair_mul, pair_mul_each, 1, 0, 1, 1, .9, 1.1, 300 },
    { "max", pair_max, pair_max_each, 1, 0, 1, 1, .9, 1.1, 300 },
    { "min", pair_min, pair_min_each, 1, 0, 1, 1, .9, 1.1, 300 },
    { "bins", pair_bins, pair_bins_each, 1, 5, 0, 20, .9, 1.1, 300 },
};

enum { PAIRS = sizeof pairs / sizeof pairs[0], PAIR_RESULTS = 2 * BULK_MOST };

// What a program yields: values, a pullback, a pushforward.
typedef struct pair_run {
    ad_real y[PAIR_RESULTS];
    ad_real dx[BULK_MOST];
    ad_real dy[PAIR_RESULTS];
    size_t bytes;
} pair_run;

static ad_rev pair_memory[BULK_MOST];

static void pair_go(const pair_row *r, ad_vector_fn *f, ad_tape *t, size_t n,
                    const ad_real *x, const ad_real *w, const ad_real *v,
                    pair_run *out)
{
    static ad_rev in[BULK_MOST], y[PAIR_RESULTS];
    pair_size size = { n, pair_memory };
    size_t inputs = r->a * n + r->b;
    size_t m = r->c * n + r->d;
    ad_tape_clear(t);
    ad_use(t);
    ad_inputs(inputs, x, in);
    f(in, y, &size);
    ad_use(NULL);
    out->bytes = ad_tape_bytes(t);
    for (size_t i = 0; i < m; i++)
        out->y[i] = y[i].v;
    memset(out->dx, 0, sizeof out->dx);
    memset(out->dy, 0, sizeof out->dy);
    ad_status s = ad_pullback(t, m, y, w, inputs, in, out->dx);
    CHECK(s == ADREV_OK || (s == ADREV_EPASSIVE && n == 0) || m == 0,
          "%s, n = %zu: %s", r->name, n, ad_message(s));
    s = ad_pushforward(t, inputs, in, v, m, y, out->dy);
    CHECK(s == ADREV_OK || (s == ADREV_EPASSIVE && n == 0) || m == 0,
          "%s, n = %zu: %s", r->name, n, ad_message(s));
}

static void pair_compare(const char *name, const char *what, size_t n,
                         size_t count, const ad_real *got, const ad_real *want)
{
    double most = 0, scale = 1;
    for (size_t i = 0; i < count; i++) {
        double off = fabs((double)got[i] - (double)want[i]);
        scale = fmax(scale, fabs((double)want[i]));
        most = off == off ? fmax(most, off) : (double)BULK_INF;
    }
    CHECK(most <= bulk_tolerance() * scale, "%s, n = %zu: %s off by %g of %g",
          name, n, what, most, scale);
}

// What simple calls yield: the same operations in the same order; where a
// compiler contracts some of them, nearly so.
static void pair_plain(const pair_row *r, size_t n, const ad_real *x,
                       const ad_real *y)
{
    static ad_rev in[BULK_MOST], out[PAIR_RESULTS];
    pair_size size = { n, pair_memory };
    size_t m = r->c * n + r->d;
    for (size_t i = 0; i < r->a * n + r->b; i++)
        in[i] = ad_rec(x[i]);
    r->f(in, out, &size);
#ifdef __FMA__
    double allowed = bulk_tolerance();
#else
    double allowed = 0;
#endif
    for (size_t i = 0; i < m; i++) {
        double want = (double)y[i];
        CHECK(out[i].v == y[i]
              || fabs((double)out[i].v - want) <= allowed * (1 + fabs(want)),
              "%s, n = %zu: %.17g, not %.17g", r->name, n, (double)out[i].v,
              want);
    }
}

static void pair_at(const pair_row *r, ad_tape *t, size_t n)
{
    static pair_run got, want;
    static ad_real x[BULK_MOST], w[PAIR_RESULTS], v[BULK_MOST];
    size_t inputs = r->a * n + r->b;
    size_t m = r->c * n + r->d;
    for (size_t i = 0; i < inputs; i++) {
        x[i] = bulk_uniform(r->from, r->to);
        v[i] = bulk_uniform(-1, 1);
    }
    for (size_t i = 0; i < m; i++)
        w[i] = bulk_uniform(-1, 1);
    pair_go(r, r->f, t, n, x, w, v, &got);
    pair_go(r, r->each, t, n, x, w, v, &want);
    pair_compare(r->name, "value", n, m, got.y, want.y);
    pair_compare(r->name, "adjoint", n, inputs, got.dx, want.dx);
    pair_compare(r->name, "tangent", n, m, got.dy, want.dy);
    pair_plain(r, n, x, got.y);
    bulk_absorb_bits(m, got.y);
    bulk_absorb_bits(inputs, got.dx);
    bulk_absorb_bits(m, got.dy);
}

static void bulk_pairs(ad_tape *t)
{
    static const size_t n[] = { 0, 1, 2, 3, 5, 31, 32, 33, 63, 64, 65, 97,
                                100, 200, 256, 257, 300, 512, 513, 1025,
                                DEEP_MOST, 4000 };
    for (size_t i = 0; i < PAIRS; i++)
        for (size_t k = 0; k < sizeof n / sizeof n[0]; k++)
            if (n[k] <= pairs[i].most)
                pair_at(&pairs[i], t, n[k]);
}

/* --- edges ---------------------------------------------------------------- */

// Infinities and NaN where they do not count; with histograms likewise.
static void edge_numbers(ad_tape *t)
{
    static const ptrdiff_t at[] = { 0, 0 };
    static const ad_real from[][3] = { { 0, BULK_INF, 2 }, { 0, 0, BULK_NAN },
                                       { (ad_real)1e300, (ad_real)1e300, 0 } };
    static const ad_real want[][3] = { { BULK_INF, 0, BULK_NAN },
                                       { 0, 0, 0 }, { 0, 0, BULK_INF } };
    if (sizeof(ad_real) == sizeof(float))
        return;                 // 1e300
    for (size_t i = 0; i < 3; i++) {
        ad_rev x[3], y[4];
        ad_real g[3];
        const ad_real w[] = { 0, 0, 1, 0 };
        ad_tape_clear(t);
        ad_use(t);
        ad_inputs(3, from[i], x);
        ad_rev bin = x[0];
        BULK_OK(ad_histogram(ADREV_OP_mul, 2, at, x + 1, 1, &bin));
        BULK_OK(ad_reduce_op(ADREV_OP_mul, 3, x, &y[3]));
        BULK_OK(ad_prefix_op(ADREV_OP_mul, 3, x, y));
        ad_use(NULL);
        CHECK(ad_gradient(t, y[3], 3, x, g) == ADREV_OK, "a product");
        for (size_t k = 0; k < 3; k++)
            CHECK_CLOSE(g[k], want[i][k], 0);
        CHECK(ad_gradient(t, bin, 3, x, g) == ADREV_OK, "a histogram");
        for (size_t k = 0; k < 3; k++)
            CHECK_CLOSE(g[k], want[i][k], 0);
        CHECK(ad_pullback(t, 3, y, w, 3, x, g) == ADREV_OK, "a prefix");
        for (size_t k = 0; k < 3; k++)
            CHECK_CLOSE(g[k], want[i][k], 0);
    }
}

static void edge_winners(void)
{
    static const ad_real at[][4] = {
        { BULK_NAN, 1, 2, 2 }, { BULK_INF, 1, BULK_INF, 2 },
        { -BULK_INF, -BULK_INF, 3, BULK_NAN },
        { BULK_NAN, BULK_NAN, BULK_NAN, BULK_NAN } };
    static const size_t most[] = { 2, 0, 2, 0 }, least[] = { 1, 1, 0, 0 };
    for (size_t i = 0; i < 4; i++) {
        ad_rev x[4], y[4], z;
        for (size_t k = 0; k < 4; k++)
            x[k] = (ad_rev){ at[i][k], (uint32_t)k + 1, 0 };
        CHECK(ad_reduce_op(ADREV_OP_max, 4, x, &z) == ADREV_OK, "max");
        CHECK(z.seq == most[i] + 1, "%zu: max is %u", i, z.seq);
        CHECK(ad_reduce_op(ADREV_OP_min, 4, x, &z) == ADREV_OK, "min");
        CHECK(z.seq == least[i] + 1, "%zu: min is %u", i, z.seq);
        CHECK(ad_prefix_op(ADREV_OP_min, 4, x, y) == ADREV_OK, "prefix");
        CHECK(y[3].seq == z.seq && y[0].seq == 1, "%zu: prefix", i);
    }
}

static void edge_empty(ad_tape *t)
{
    static const ad_opcode op[] = { ADREV_OP_add, ADREV_OP_mul, ADREV_OP_min,
                                    ADREV_OP_max };
    static const ad_real want[] = { 0, 1, BULK_INF, -BULK_INF };
    ad_rev y;
    for (size_t i = 0; i < 4; i++) {
        CHECK(ad_reduce_op(op[i], 0, NULL, &y) == ADREV_OK, "nothing");
        CHECK(y.v == want[i] && y.job == 0, "nothing is %g", (double)y.v);
        CHECK(ad_prefix_op(op[i], 0, NULL, NULL) == ADREV_OK, "nothing");
        CHECK(ad_histogram(op[i], 0, NULL, NULL, 0, NULL) == ADREV_OK,
              "nothing");
    }
    ad_use(t);
    CHECK(ad_map(bulk_square, NULL, 0, 0, NULL, 1, NULL) == ADREV_OK, "map");
    CHECK(ad_prefix(bulk_add, NULL, 0, 1, NULL, NULL) == ADREV_OK, "prefix");
    CHECK(ad_gather(0, NULL, 0, 1, NULL, NULL) == ADREV_OK, "gather");
    CHECK(ad_rotate(0, 1, 5, NULL, NULL) == ADREV_OK, "rotate");
    CHECK(ad_rotate(5, 0, 1, NULL, NULL) == ADREV_OK, "rows without numbers");
    CHECK(ad_slice(5, 0, NULL, 4, -1, 5, NULL) == ADREV_OK, "likewise");
    CHECK(ad_replicate(5, 0, NULL, NULL) == ADREV_OK, "likewise");
    CHECK(ad_transpose(5, 0, NULL, NULL) == ADREV_OK, "likewise");
    CHECK(ad_concat(2, (const size_t[]){ 1, 3 },
                    (const ad_rev *const[]){ NULL, NULL }, 0, NULL)
          == ADREV_OK, "likewise");
    CHECK(ad_concat(0, NULL, NULL, 1, NULL) == ADREV_OK, "concat");
    CHECK(ad_rearrange(0, NULL, NULL, (ad_rev[]){ { 3, 0, 0 } }, &y)
          == ADREV_OK && y.v == 3, "a number is an array without dimensions");
    ad_use(NULL);
}

static void edge_rearrange(void)
{
    static const size_t shape[] = { 2, 3, 4 }, order[] = { 2, 0, 1 };
    ad_rev x[24], y[24], z[24];
    static const size_t back_shape[] = { 4, 2, 3 }, back[] = { 1, 2, 0 };
    for (size_t i = 0; i < 24; i++)
        x[i] = ad_rec((ad_real)i);
    CHECK(ad_rearrange(3, shape, order, x, y) == ADREV_OK, "rearrange");
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++)
            for (size_t k = 0; k < 4; k++)
                CHECK(y[(k * 2 + i) * 3 + j].v == x[(i * 3 + j) * 4 + k].v,
                      "(%zu, %zu, %zu)", i, j, k);
    CHECK(ad_rearrange(3, back_shape, back, y, z) == ADREV_OK, "and back");
    CHECK(memcmp(x, z, sizeof x) == 0, "the inverse is (1, 2, 0)");
}

// Rows of 3.
static void edge_rows(void)
{
    static const ptrdiff_t at[] = { 1, 0, 1 }, to[] = { 2, -1, 2 };
    ad_rev x[12], y[12];
    for (size_t i = 0; i < 12; i++)
        x[i] = y[i] = ad_rec((ad_real)i);
    CHECK(ad_gather(3, at, 4, 3, x, y) == ADREV_OK, "gather");
    CHECK(y[0].v == 3 && y[4].v == 1 && y[8].v == 5, "rows are gathered");
    CHECK(ad_scatter(3, to, x, 4, 3, y) == ADREV_OK, "scatter");
    CHECK(y[6].v == 6 && y[8].v == 8 && y[5].v == 2, "rows are scattered");
    CHECK(ad_rotate(4, 3, -1, x, y) == ADREV_OK, "rotate");
    CHECK(y[0].v == 9 && y[3].v == 0 && y[11].v == 8, "rows are rotated");
    CHECK(ad_slice(4, 3, x, 3, -3, 2, y) == ADREV_OK, "slice");
    CHECK(y[0].v == 9 && y[3].v == 0, "rows are sliced");
    CHECK(ad_replicate(2, 3, x, y) == ADREV_OK, "replicate");
    CHECK(y[0].v == 0 && y[5].v == 2, "rows are replicated");
}

/* --- wrong calls ---------------------------------------------------------- */

static ad_rev bulk_wrong_y[8];

// Results from `from` on, so many, are constants and no numbers; others are as
// they were.
static bool bulk_no_results(size_t from, size_t n)
{
    bool right = true;
    for (size_t i = 0; i < 8; i++) {
        const ad_rev y = bulk_wrong_y[i];
        right = right && y.job == 0
             && (i >= from && i < from + n ? y.v != y.v
                                           : y.v == BULK_UNTOUCHED);
    }
    return right;
}

#define BULK_WRONG(status, from, n, call)                                   \
    do {                                                                    \
        ad_tape_clear(t);                                                   \
        ad_use(t);                                                          \
        for (size_t i_ = 0; i_ < 8; i_++) {                                 \
            bulk_wrong_y[i_] = ad_rec(BULK_UNTOUCHED);                      \
            x[i_] = ad_input(1);                                            \
        }                                                                   \
        ad_status got = (call);                                             \
        CHECK(got == (status), "%s: %s", #call, ad_message(got));           \
        CHECK(ad_tape_status(t) == (status), "%s: the tape", #call);        \
        CHECK(bulk_no_results(from, n), "%s: results", #call);              \
        ad_use(NULL);                                                       \
    } while (0)

static void bulk_wrong_indices(ad_tape *t)
{
    static const ptrdiff_t at[] = { 0, 8 }, below[] = { -1 };
    static const size_t shape[] = { 2, 3 }, same[] = { 0, 0 }, far[] = { 0, 2 };
    static const size_t n[] = { 2, 2 };
    ad_rev x[8], *y = bulk_wrong_y;
    const ad_rev *part[] = { x, y + 1 };
    BULK_WRONG(ADREV_ESHAPE, 0, 2, ad_gather(2, at, 8, 1, x, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 1, ad_gather(1, below, 8, 1, x, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 1, ad_gather(1, NULL, 8, 1, x, y));
    BULK_WRONG(ADREV_ESHAPE, 7, 1, ad_gather(1, at, 8, 1, y, y + 7));
    BULK_WRONG(ADREV_ESHAPE, 0, 0, ad_gather(1, at, 8, SIZE_MAX / 8, x, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_scatter(2, NULL, x, 8, 1, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_scatter(2, at, y, 8, 1, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_replicate(8, 1, y + 3, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_transpose(2, 4, y, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 0, ad_transpose(SIZE_MAX / 2, 4, x, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 6, ad_rearrange(2, shape, same, x, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 6, ad_rearrange(2, shape, far, x, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 0, ad_rearrange(17, shape, far, x, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 4, ad_concat(2, n, part, 1, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 1, ad_slice(8, 1, x, 8, 1, 1, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 3, ad_slice(8, 1, x, 6, 1, 3, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 4, ad_slice(8, 1, x, 2, -1, 4, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 2, ad_slice(8, 1, x, 2, PTRDIFF_MIN, 2, y));
    BULK_WRONG(ADREV_ESHAPE, 3, 4, ad_rotate(4, 1, 1, y, y + 3));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_histogram(ADREV_OP_sub, 1, at, x, 8, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_histogram(ADREV_OP_add, 1, NULL, x, 8,
               y));
    BULK_WRONG(ADREV_ESHAPE, 0, 1, ad_reduce_op(ADREV_OP_sub, 8, x, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 1, ad_reduce_op(ADREV_OP_add, 8, NULL, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 0, ad_reduce_op(ADREV_OP_add, 8, x, NULL));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_prefix_op(ADREV_OP_pow, 8, x, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 0, ad_prefix_op(ADREV_OP_add, 8, x, NULL));
}

// A function that fails: by itself, or as it uses what is not there.
static void wrong_shape(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_gather(1, NULL, 1, 1, x, y);
}

// Functions of one or two numbers, to two: in one of so many calls the second
// one is forgotten.
static void bulk_forgetful(const ad_rev *x, ad_rev *y, void *ctx)
{
    int *left = ctx;
    y[0] = ad_rec(ad_sqr(x[0]));
    if (--*left != 0)
        y[1] = y[0];
}

static void bulk_forget(ad_tape *t, int at, bool taped)
{
    ad_rev x[8], y[8];
    const ad_rows row[] = { { x, 1, 1 } };
    for (int i = 0; i < 5; i++) {
        int left = at;
        ad_tape_clear(t);
        ad_use(t);
        for (int j = 0; j < 8; j++)
            x[j] = ad_input(1);
        ad_use(taped ? t : NULL);
        ad_status s =
            i == 0 ? ad_map(bulk_forgetful, &left, 4, 1, row, 2, y)
          : i == 1 ? ad_reduce(bulk_forgetful, &left, 4, 2, x, NULL, y)
          : i == 2 ? ad_prefix(bulk_forgetful, &left, 4, 2, x, y)
          : i == 3 ? ad_map_reduce(bulk_forgetful, NULL, &left, 4, 1, row, 2,
                                   NULL, y)
                   : ad_map_prefix(bulk_forgetful, bulk_forgetful, &left, 4,
                                   1, row, 2, y);
        ad_use(NULL);
        CHECK(left > 0 ? s == ADREV_OK : s == ADREV_ESHAPE, "operator %d "
              "forgets in call %d: %s", i, at, ad_message(s));
        CHECK(ad_tape_status(t) == (taped ? s : ADREV_OK), "the tape");
    }
}

// In one of so many calls another tape, or none, is left current.
struct bulk_way {
    int left;
    ad_tape *to;
};

static void bulk_leaving(const ad_rev *x, ad_rev *y, void *ctx)
{
    struct bulk_way *way = ctx;
    y[0] = ad_rec(ad_sqr(x[0]));
    y[1] = y[0];
    if (--way->left == 0)
        ad_use(way->to);
}

static ad_status bulk_leave(int i, struct bulk_way *way, const ad_rev *x,
                            ad_rev *y)
{
    const ad_rows row[] = { { x, 1, 1 } };
    switch (i) {
    case 0: return ad_map(bulk_leaving, way, 4, 1, row, 2, y);
    case 1: return ad_reduce(bulk_leaving, way, 4, 2, x, NULL, y);
    case 2: return ad_prefix(bulk_leaving, way, 4, 2, x, y);
    case 3: return ad_map_reduce(bulk_leaving, NULL, way, 4, 1, row, 2, NULL,
                                 y);
    default: return ad_map_prefix(bulk_leaving, bulk_leaving, way, 4, 1, row, 2,
                                  y);
    }
}

static void bulk_left(ad_tape *t, int at, ad_tape *to)
{
    for (int i = 0; i < 5; i++) {
        ad_rev x[8], y[8];
        ad_real g[8];
        struct bulk_way way = { at, to };
        ad_tape_clear(t);
        ad_use(t);
        for (int j = 0; j < 8; j++)
            x[j] = ad_input(1);
        ad_status s = bulk_leave(i, &way, x, y);
        CHECK(s == (way.left > 0 ? ADREV_OK : ADREV_EMARK) && ad_use(t) == t,
              "operator %d leaves in call %d: %s", i, at, ad_message(s));
        if (s != ADREV_OK)
            continue;
        way.left = 1;
        s = ad_gradient(t, y[0], 8, x, g);
        CHECK(s == (way.left > 0 ? ADREV_OK : ADREV_EEXTERNAL)
              && ad_use(t) == t, "operator %d leaves in a sweep: %s", i,
              ad_message(s));
    }
    ad_use(NULL);
}

static void bulk_wrong_functions(ad_tape *t)
{
    ad_rev x[8], *y = bulk_wrong_y;
    ad_rev stale[2];
    const ad_rows row[] = { { x, 1, 1 } }, none[] = { { NULL, 1, 1 } };
    const ad_rows large[] = { { x, SIZE_MAX / 8, 1 } };
    const ad_rows far[] = { { x, 1, PTRDIFF_MAX } };
    BULK_WRONG(ADREV_ESHAPE, 0, 0, ad_map(bulk_square, NULL, 8, 1, row, 0, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_map(bulk_square, NULL, 8, 1, NULL, 1, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_map(bulk_square, NULL, 8, 1, none, 1, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_map(bulk_square, NULL, 8, 1, large, 1,
               y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_map(bulk_square, NULL, 8, 1, far, 1, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 0, ad_map(bulk_square, NULL, 8, 1, row, 1,
               NULL));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_map(NULL, NULL, 8, 1, row, 1, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 1, ad_reduce(NULL, NULL, 8, 1, x, NULL, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 1, ad_reduce(bulk_add, NULL, 0, 1, x, NULL, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_prefix(NULL, NULL, 8, 1, x, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 1, ad_map_reduce(NULL, bulk_add, NULL, 8, 1,
               row, 1, NULL, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_map_prefix(NULL, bulk_add, NULL, 8, 1,
               row, 1, y));
    BULK_WRONG(ADREV_ESHAPE, 0, 8, ad_map(wrong_shape, NULL, 8, 1, row, 1, y));
    ad_tape_clear(t);
    ad_use(t);
    stale[0] = stale[1] = ad_input(1);
    BULK_WRONG(ADREV_EFOREIGN, 0, 8, ad_map(bulk_wx2c_captured, stale, 8, 1,
               row, 1, y));
    BULK_WRONG(ADREV_EFOREIGN, 0, 1, ad_reduce(pair_scaled, stale, 8, 1, x,
               NULL, y));
    ad_use(t);
    CHECK(ad_reduce_op(ADREV_OP_add, 2, x, y) == ADREV_EFOREIGN
          && ad_prefix_op(ADREV_OP_add, 8, x, y) == ADREV_EFOREIGN
          && ad_map(bulk_square, NULL, 8, 1, row, 1, y) == ADREV_EFOREIGN,
          "a failed tape stays as it is");
    CHECK(bulk_no_results(0, 8), "results of a failed tape");
    ad_use(NULL);
    ad_tape_clear(t);
}

// f does something else in a sweep.
static void bulk_unfaithful(ad_tape *t)
{
    static ad_rev kept[2];
    ad_rev x[5], y[3];
    const ad_real w[] = { 1, 1, 1 };
    ad_real dx[5] = { 7, 7, 7, 7, 7 };
    ad_tape_clear(t);
    ad_use(t);
    for (size_t i = 0; i < 5; i++)
        x[i] = ad_input(1);
    memcpy(kept, x + 3, sizeof kept);
    const ad_rows row[] = { { x, 1, 1 } };
    BULK_OK(ad_map(bulk_wx2c_captured, kept, 3, 1, row, 1, y));
    kept[1] = x[0];
    ad_use(NULL);
    CHECK(ad_pullback(t, 3, y, w, 5, x, dx) == ADREV_EEXTERNAL,
          "a number that was not captured");
    CHECK(dx[0] == 7, "something is written");
}

/* --- memory, and work ----------------------------------------------------- */

static _Atomic size_t bulk_calls;

static void counted_long(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *operations = ctx;
    bulk_calls++;
    y[0] = x[0];
    for (int i = 0; i < *operations; i++)
        y[0] = ad_rec(ad_sin(ad_add(y[0], x[1])));
}

static void counted_mul(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    bulk_calls++;
    y[0] = ad_rec(ad_mul(x[0], x[1]));
}

static size_t bytes_of_map(ad_tape *t, size_t n, int operations)
{
    static ad_rev x[BULK_MOST], y[BULK_MOST];
    static ad_real v[BULK_MOST];
    const ad_rows rows[] = { { x, 1, 1 }, { x + n, 1, 0 } };
    ad_tape_clear(t);
    ad_use(t);
    ad_inputs(n + 1, v, x);
    size_t before = ad_tape_bytes(t);
    BULK_OK(ad_map(counted_long, &operations, n, 2, rows, 1, y));
    size_t bytes = ad_tape_bytes(t) - before;
    ad_use(NULL);
    return bytes;
}

// Kept are 8 bytes of each operand; the rest is what a sweep needs of each
// number, and does not grow with a second statement.
static void bulk_memory(ad_tape *t)
{
    size_t ten = bytes_of_map(t, 1000, 10);
    CHECK(ten == bytes_of_map(t, 1000, 500), "bytes depend on what f does");
    size_t numbers = 4 * sizeof(ad_real);
    CHECK(ten <= 1000 * numbers + 600, "%zu bytes", ten);
}

// Runs of op in prefixes by parts of 256 rows: of the results of all parts but
// the last, too, and of the prefixes of those.
static size_t prefix_runs(size_t n)
{
    size_t parts = (n - 1) / 256;
    return n - 1 + (parts == 0 ? 0 : 255 * parts + prefix_runs(parts));
}

// Runs of op: n - 1 for the value, as many for a sweep in each direction.
static void bulk_work(ad_tape *t, size_t n)
{
    static ad_rev x[BULK_MOST], y[BULK_MOST];
    static ad_real v[BULK_MOST], g[BULK_MOST];
    for (int prefix = 0; prefix < 2; prefix++) {
        ad_tape_clear(t);
        ad_use(t);
        ad_inputs(n, v, x);
        bulk_calls = 0;
        if (prefix)
            BULK_OK(ad_prefix(counted_mul, NULL, n, 1, x, y));
        else
            BULK_OK(ad_reduce(counted_mul, NULL, n, 1, x, NULL, y));
        size_t runs = prefix ? prefix_runs(n) : n - 1;
        CHECK(bulk_calls == runs, "%zu runs", bulk_calls);
        ad_use(NULL);
        ad_rev last = prefix ? y[n - 1] : y[0];
        CHECK(ad_gradient(t, last, n, x, g) == ADREV_OK, "gradient");
        CHECK(bulk_calls == 2 * runs, "%zu runs", bulk_calls);
        CHECK(ad_pushforward(t, n, x, g, 1, &last, g) == ADREV_OK, "push");
        CHECK(bulk_calls == 3 * runs, "%zu runs", bulk_calls);
    }
}

/* --- memory that runs out ------------------------------------------------- */

typedef struct bulk_heap {
    size_t allocations;
    size_t failing;             // the number of the first that fails; 0: none
    bool for_ever;
    size_t live;
} bulk_heap;

static void *bulk_alloc(size_t bytes, void *user)
{
    bulk_heap *h = user;
    h->allocations++;
    if (h->failing > 0 && h->allocations >= h->failing
        && (h->for_ever || h->allocations == h->failing))
        return NULL;
    h->live++;
    return malloc(bytes);
}

static void bulk_release(void *block, void *user)
{
    bulk_heap *h = user;
    h->live -= block != NULL;
    free(block);
}

static void bulk_ignore(void *user, const ad_operation *operation)
{
    (void)user;
    (void)operation;
}

static void bulk_ignore_array(void *user, const ad_array_operation *operation)
{
    (void)user;
    (void)operation;
}

typedef struct bulk_try {
    const pair_row *r;
    size_t n;
    pair_size size;
    bool traced;                // a hook watches
    bulk_heap heap;
} bulk_try;

// One run, of which CHECK in the program says nothing.
static void bulk_run_quietly(bulk_try *k, ad_tape *t, const ad_rev *in,
                             ad_rev *y)
{
    const ad_hooks hooks = { .trace = bulk_ignore,
                             .array = bulk_ignore_array };
    long failed = check_failed;
    long passed = check_passed;
    check_failed += CHECK_SHOWN;
    if (k->traced)
        ad_tape_hooks(t, &hooks);
    k->r->f(in, y, &k->size);
    ad_tape_hooks(t, NULL);
    check_failed = failed;
    check_passed = passed;
}

// What a recording and a sweep say, and what results are then: whether all went
// well.
static bool bulk_says(const bulk_try *k, ad_tape *t, const ad_rev *in,
                      const ad_rev *y, const ad_real *w)
{
    static ad_real dx[BULK_MOST];
    const pair_row *r = k->r;
    size_t m = r->c * k->n + r->d;
    // of several statements
    bool several = r->f == pair_bins || (r->c == 1 && r->d == 1);
    ad_status s = ad_tape_status(t);
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM
          || (k->traced && s == ADREV_EHOOK), "%s, %zu: %s", r->name,
          k->heap.failing, ad_message(s));
    for (size_t i = 0; i < m && s != ADREV_OK && !several; i++)
        CHECK(y[i].v != y[i].v && y[i].job == 0, "%s, %zu: result %zu",
              r->name, k->heap.failing, i);
    if (s != ADREV_OK)
        return false;
    dx[0] = BULK_UNTOUCHED;
    s = ad_pullback(t, m, y, w, r->a * k->n + r->b, in, dx);
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM || s == ADREV_EEXTERNAL,
          "%s, %zu: %s", r->name, k->heap.failing, ad_message(s));
    CHECK(s == ADREV_OK || dx[0] == BULK_UNTOUCHED, "%s, %zu: written",
          r->name, k->heap.failing);
    return s == ADREV_OK;
}

static bool bulk_starved(bulk_try *k)
{
    static ad_rev in[BULK_MOST], y[PAIR_RESULTS];
    static ad_real x[BULK_MOST], w[PAIR_RESULTS];
    const ad_allocator memory = { bulk_alloc, bulk_release, &k->heap };
    const pair_row *r = k->r;
    size_t inputs = r->a * k->n + r->b;
    k->heap.allocations = 0;
    ad_tape *t = ad_tape_new_with(&memory);
    if (t == NULL)
        return false;
    for (size_t i = 0; i < inputs; i++)
        x[i] = (ad_real)(r->from + (r->to - r->from) * (double)(i % 17) / 17);
    for (size_t i = 0; i < r->c * k->n + r->d; i++) {
        y[i] = ad_rec(BULK_UNTOUCHED);
        w[i] = 1;
    }
    ad_use(t);
    ad_inputs(inputs, x, in);
    bulk_run_quietly(k, t, in, y);
    ad_use(NULL);
    bool well = bulk_says(k, t, in, y, w);
    bool refused = ad_tape_status(t) == ADREV_EHOOK;
    ad_tape_free(t);
    CHECK(k->heap.live == 0, "%s, %zu: %zu blocks are left", r->name,
          k->heap.failing, k->heap.live);
    return well || refused;
}

static void bulk_starve(const pair_row *r, size_t n, int how)
{
    bulk_try k = { .r = r, .n = n, .size = { n, pair_memory },
                   .traced = how / 2 != 0,
                   .heap = { .for_ever = how % 2 != 0 } };
    size_t tries = 0;
    do                          // each allocation, of very many some
        k.heap.failing += 1 + k.heap.failing / 50;
    while ((!bulk_starved(&k) || k.heap.failing <= k.heap.allocations)
           && ++tries < 1000);
    CHECK(tries > 0 && tries < 1000, "%s: %zu", r->name, tries);
}

static void bulk_oom(void)
{
    for (size_t i = 0; i < PAIRS; i++)
        for (int how = 0; how < 4; how++)
            for (size_t n = 3; n < 600; n += n < 200 ? 67 : 320)
                if (n < 200 || pairs[i].f == pair_prefix)
                    bulk_starve(&pairs[i], n, how);
}

static void bulk_edges(ad_tape *t)
{
    edge_numbers(t);
    edge_winners();
    edge_empty(t);
    edge_rearrange();
    edge_rows();
    bulk_wrong_indices(t);
    bulk_wrong_functions(t);
    for (int at = 1; at < 10; at++) {
        bulk_forget(t, at, true);
        bulk_forget(t, at, false);
    }
    ad_tape *other = ad_tape_new();
    for (int at = 1; at < 12; at++)
        bulk_left(t, at, at % 2 == 0 ? other : NULL);
    ad_tape_free(other);
    bulk_unfaithful(t);
    bulk_memory(t);
    bulk_work(t, 2);
    bulk_work(t, 1000);
    bulk_work(t, 4000);
}

#endif
