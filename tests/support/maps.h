// SPDX-License-Identifier: MIT-0
/* maps.h - a recorded function at many points, checked point by point.
 *
 * What ad_fn_map, ad_fn_map_jvp and ad_fn_map_vjp write is compared with
 * ad_fn_eval, ad_fn_jvp and ad_fn_vjp at each point: the same bits. Where
 * adjoints of several points meet in one number, with their sum in long double.
 * Numbers between and beyond the columns must stay as they were.
 *
 * maps.c runs this alone, maps_parallel.c on pools of threads.              */

#ifndef ADREV_TESTS_MAPS_H
#define ADREV_TESTS_MAPS_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAPS_MOST = 320, MAPS_PAD = 5 };      // inputs; numbers around columns

#define MAPS_UNTOUCHED ((ad_real)-12345.5)
#define MAPS_INF       ((ad_real)INFINITY)
#define MAPS_NAN       ((ad_real)NAN)

static uint64_t maps_state = 88172645463325252u;

static size_t maps_below(size_t n)
{
    maps_state ^= maps_state << 13;
    maps_state ^= maps_state >> 7;
    maps_state ^= maps_state << 17;
    return (size_t)(maps_state >> 20) % n;
}

static ad_real maps_uniform(double from, double to)
{
    double u = (double)maps_below(1u << 30) / (1 << 30);
    return (ad_real)(from + (to - from) * u);
}

static bool maps_same(ad_real a, ad_real b)
{
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

// What adjoints of a run were, and whether it met what it is for.
static uint64_t maps_digest;
static size_t maps_points_left;
static size_t maps_points_nan;

static void maps_absorb_bits(size_t n, const ad_real *v)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        ad_real x = v[i] == v[i] ? v[i] : 0;
        memcpy(&bits, &x, sizeof x);
        maps_digest = (maps_digest ^ bits) * 1099511628211u;
        maps_digest ^= maps_digest >> 29;
    }
}

/* --- memory that is counted, and runs out --------------------------------- */

struct maps_heap {
    atomic_size_t allocations;
    atomic_size_t live;
    size_t failing;
    bool for_ever;
};

static void *maps_alloc(size_t bytes, void *user)
{
    struct maps_heap *h = user;
    size_t n = atomic_fetch_add(&h->allocations, 1) + 1;
    bool fails = h->failing > 0 && n >= h->failing;
    if (fails && (h->for_ever || n == h->failing))
        return NULL;
    void *p = malloc(bytes);
    if (p != NULL)
        atomic_fetch_add(&h->live, 1);
    return p;
}

static void maps_free(void *block, void *user)
{
    struct maps_heap *h = user;
    if (block != NULL)
        atomic_fetch_sub(&h->live, 1);
    free(block);
}

/* --- functions ------------------------------------------------------------ */

static void maps_smooth(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev p = ad_rec(ad_mul(x[0], x[1]));
    y[0] = ad_rec(ad_add(ad_sin(p), ad_exp(x[2])));
    y[1] = ad_rec(ad_div(ad_log(x[3]), ad_add(x[4], ad_sqr(p))));
    y[2] = x[1];
    y[3] = ad_rec(2.5);
    y[4] = ad_rec(ad_pow(x[3], x[4]));
    y[5] = ad_rec(ad_lgamma(ad_add(x[0], ad_atan2(x[1], x[2]))));
}

// A step of the equation of Burgers, and what is lost in it.
static void maps_stencil(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev slope = ad_rec(ad_mul(ad_sub(x[2], x[0]), x[3]));
    ad_rev bend = ad_rec(ad_add(ad_sub(x[0], ad_mul(2, x[1])), x[2]));
    y[0] = ad_rec(ad_add(x[1], ad_sub(ad_mul(x[4], bend),
                                      ad_mul(x[1], slope))));
    y[1] = ad_rec(ad_sqr(ad_sub(y[0], x[1])));
}

// A product and the sum or difference it goes into are one step: of values, and
// of derivatives, where the order of the operations matters.
static void maps_sums(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_sub(ad_mul(x[0], x[1]), ad_mul(x[2], x[3])));
    y[1] = ad_rec(ad_add(x[3], ad_mul(x[1], x[2])));
    y[2] = ad_rec(ad_add(ad_cos(x[0]), ad_mul(x[0], x[3])));
    y[3] = ad_rec(ad_add(ad_mul(x[0], x[3]), ad_cos(x[0])));
}

// Guards: two comparisons, a step, and a number that leaves the recording.
static void maps_guarded(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_floor(x[2])));
    y[1] = ad_lt(x[0], x[1]) ? ad_rec(ad_sub(x[1], x[0]))
                             : ad_rec(ad_mul(x[0], x[1]));
    y[2] = ad_gt(x[1], 0.5) ? ad_rec(ad_exp(ad_mul(x[1], x[2]))) : x[0];
}

// At 0 there are infinite slopes, and NaN below.
static void maps_singular(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_sqrt(x[0]), x[1]));
    y[1] = ad_rec(ad_add(ad_sqrt(x[0]), ad_mul(x[1], 0)));
    y[2] = ad_rec(ad_mul(ad_log(x[1]), ad_sqrt(ad_mul(x[0], x[1]))));
    y[3] = ad_rec(ad_select(true, ad_sqr(x[2]), ad_sqrt(x[0])));
    y[4] = ad_rec(ad_max(x[0], ad_cbrt(x[2])));
}

enum { MAPS_WIDE = 40, MAPS_WIDE_M = 2 * MAPS_WIDE + 5 };

static void maps_arrays(const ad_rev *x, ad_rev *y, void *ctx)
{
    enum { N = MAPS_WIDE };
    (void)ctx;
    ad_rev z[N];
    y[0] = ad_sum(N, x);
    y[1] = ad_dot_s(N / 2, x, 2, x + N - 1, -1);
    y[2] = ad_norm2(N, x);
    y[3] = ad_logsumexp(N, x);
    y[4] = ad_sqdist(N / 2, x, x + N / 2);
    ad_softmax(N, x, y + 5);
    ad_matvec(6, 5, x, x + 30, z);
    ad_matmul(2, 3, 2, x, x + 8, z + 6);
    ad_each(ADREV_OP_sin, N - 10, x, NULL, NULL, z + 10);
    ad_trimatvec(4, x, x + 10, x + 20, z + 30);
    ad_scale(6, x[3], x + 7, z + 34);
    ad_axpy(6, x[0], x + 5, z + 34);
    for (int i = 0; i < N; i++)
        y[5 + N + i] = i == 0 || (i > 29 && i < 34) ? z[30 + i % 10] : z[i];
}

// Every input, and a long chain.
static void maps_many(const ad_rev *x, ad_rev *y, void *ctx)
{
    size_t n = *(size_t *)ctx;
    y[0] = x[0];
    y[1] = ad_rec(0);
    for (size_t i = 1; i < n; i++) {
        y[0] = ad_rec(ad_add(ad_mul(y[0], 0.5), ad_sin(x[i])));
        y[1] = ad_rec(ad_fma(x[i], y[0], y[1]));
    }
}

enum { MAPS_ROWS = 3, MAPS_COLS = 10, MAPS_PRODUCTS = 4 * MAPS_COLS + 4 };

// Sums of one product, and of columns that lie well in memory.
static void maps_products(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev *v = x + MAPS_ROWS * MAPS_COLS;
    const ad_rev *w = v + MAPS_COLS;
    (void)ctx;
    ad_matvec_s(MAPS_ROWS, MAPS_COLS, x, 1, MAPS_ROWS, v, 1, y, 1);
    ad_matmul(2, 1, 2, w, w + 2, y + MAPS_ROWS);
}

static size_t maps_300 = 300;

static const struct maps_function {
    const char *name;
    ad_vector_fn *f;
    void *ctx;
    size_t n;
    size_t m;
    double from, to;            // inputs
    bool special;               // some are 0, infinite, NaN
} maps_functions[] = {
    { "smooth",   maps_smooth,   NULL, 5, 6, 0.3, 1.7, false },
    { "stencil",  maps_stencil,  NULL, 5, 2, -1, 1, false },
    { "guarded",  maps_guarded,  NULL, 3, 3, 0.2, 1.2, false },
    { "singular", maps_singular, NULL, 3, 5, 0.1, 2, true },
    { "arrays",   maps_arrays,   NULL, MAPS_WIDE, MAPS_WIDE_M, -2, 2, false },
    { "products", maps_products, NULL, MAPS_PRODUCTS, MAPS_ROWS + 4, -2, 2,
                  true },
    { "sums",     maps_sums,     NULL, 4, 4, -2, 2, false },
    { "many",     maps_many,     &maps_300, 300, 2, -1, 1, false },
};

enum { MAPS_FUNCTIONS = sizeof maps_functions / sizeof maps_functions[0] };

static ad_fn *maps_record(const struct maps_function *f,
                          const ad_fn_options *options)
{
    ad_fn *fn = NULL;
    ad_real x[MAPS_MOST];
    for (size_t i = 0; i < f->n; i++)
        x[i] = (ad_real)(f->from + (f->to - f->from) * (double)(i + 1)
                         / (double)(f->n + 1));
    ad_status s = ad_fn_record_with(&fn, options, f->f, f->ctx, f->n, x,
                                    f->m);
    CHECK(s == ADREV_OK, "%s: %s", f->name, ad_message(s));
    return fn;
}

/* --- columns -------------------------------------------------------------- */

// Numbers, and columns of them.
struct maps_table {
    size_t count;
    size_t columns;
    ad_real *v;
    ad_column column[MAPS_MOST];
};

enum maps_kind { MAPS_STEPS, MAPS_ONES, MAPS_OVERLAP, MAPS_SHARED };

static ptrdiff_t maps_step(enum maps_kind kind, size_t i)
{
    static const ptrdiff_t steps[] = { 1, 0, 2, -1, 3 };
    return kind == MAPS_STEPS ? steps[i % 5] : kind == MAPS_SHARED ? 0 : 1;
}

// STEPS: each column apart, with steps 1, 0, 2, -1, 3, 1, ...; results: never
// 0. ONES: all 1. OVERLAP: column i begins at number i of the same vector, but
// for the last, which is a parameter. SHARED: all parameters.
static struct maps_table maps_columns(enum maps_kind kind, bool results,
                                      size_t columns, size_t points)
{
    struct maps_table t = { .columns = columns };
    bool overlap = kind == MAPS_OVERLAP;
    size_t each = 3 * points + 2 * MAPS_PAD;
    t.count = overlap ? points + columns + 2 * MAPS_PAD : columns * each;
    t.v = malloc((t.count + 1) * sizeof *t.v);
    for (size_t i = 0; i < t.count; i++)
        t.v[i] = MAPS_UNTOUCHED;
    for (size_t i = 0; i < columns; i++) {
        ptrdiff_t step = maps_step(kind, i);
        size_t from = overlap ? MAPS_PAD + i : i * each + MAPS_PAD;
        if (results && step == 0)
            step = 2;
        if (overlap && i + 1 == columns && !results)
            step = 0;
        if (step < 0 && points > 0)
            from += points - 1;
        t.column[i] = (ad_column){ t.v + from, step };
    }
    return t;
}

static struct maps_table maps_copy(const struct maps_table *t)
{
    struct maps_table c = *t;
    c.v = malloc((t->count + 1) * sizeof *t->v);
    memcpy(c.v, t->v, t->count * sizeof *t->v);
    for (size_t i = 0; i < t->columns; i++)
        if (t->column[i].v != NULL)
            c.column[i].v = c.v + (t->column[i].v - t->v);
    return c;
}

static ad_real *maps_at(const ad_column *c, size_t p)
{
    return c->v + (ptrdiff_t)p * c->step;
}

static void maps_gather(const struct maps_table *t, size_t p, ad_real *out)
{
    for (size_t i = 0; i < t->columns; i++)
        out[i] = *maps_at(&t->column[i], p);
}

static void maps_fill(const struct maps_table *t, size_t points, double from,
                      double to, bool special)
{
    const ad_real rare[] = { 0, 0, 0, -1, (ad_real)-0.0, MAPS_INF, MAPS_NAN };
    for (size_t i = 0; i < t->columns; i++)
        for (size_t p = 0; p < points; p++) {
            ad_real *x = maps_at(&t->column[i], p);
            *x = maps_uniform(from, to);
            if (special && maps_below(3) == 0)
                *x = rare[maps_below(sizeof rare / sizeof rare[0])];
        }
}

static bool maps_equal(const struct maps_table *a, const struct maps_table *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (!maps_same(a->v[i], b->v[i]))
            return false;
    return true;
}

static void maps_check_equal(const struct maps_table *got,
                             const struct maps_table *want, const char *what,
                             const char *name, size_t points)
{
    for (size_t i = 0; i < got->count; i++)
        CHECK(maps_same(got->v[i], want->v[i]),
              "%s: %s of %zu points: number %zu: got %a, want %a", name, what,
              points, i, (double)got->v[i], (double)want->v[i]);
}

/* --- one set of columns, all three calls ---------------------------------- */

struct maps_case {
    const struct maps_function *f;
    ad_fn *fn;
    size_t points;
    struct maps_table x;
    uint32_t *want_left;
    bool some_left;
};

static void maps_check_left(const struct maps_case *c, ad_status s,
                            const uint32_t *left, const char *what)
{
    CHECK(s == (c->some_left ? ADREV_EPATH : ADREV_OK), "%s: %s: %s",
          c->f->name, what, ad_message(s));
    for (size_t p = 0; p < c->points && left != NULL; p++)
        CHECK(left[p] == c->want_left[p], "%s: %s: left[%zu]: got %u, want %u",
              c->f->name, what, p, left[p], c->want_left[p]);
}

static uint32_t *maps_left(size_t points)
{
    uint32_t *left = malloc((points + 1) * sizeof *left);
    for (size_t p = 0; p <= points; p++)
        left[p] = 0xABCDEF;
    return left;
}

// Which points are left, by ad_fn_eval; and y as it should be.
static void maps_expect(struct maps_case *c, struct maps_table *y)
{
    ad_real x[MAPS_MOST];
    ad_real out[MAPS_MOST];
    c->some_left = false;
    for (size_t p = 0; p < c->points; p++) {
        maps_gather(&c->x, p, x);
        ad_status s = ad_fn_eval(c->fn, x, out);
        CHECK(s == ADREV_OK || s == ADREV_EPATH, "%s: %s", c->f->name,
              ad_message(s));
        bool bad = s == ADREV_EPATH;
        c->want_left[p] = bad ? (uint32_t)(1 + ad_fn_guard().index) : 0;
        c->some_left |= bad;
        maps_points_left += bad;
        for (size_t i = 0; i < c->f->m && !bad; i++)
            maps_points_nan += isnan(out[i]) != 0;
        for (size_t i = 0; i < c->f->m && !bad; i++)
            if (y->column[i].v != NULL)
                *maps_at(&y->column[i], p) = out[i];
    }
}

// NULL columns: one result in three is not wanted.
static void maps_drop(struct maps_table *t, size_t first)
{
    for (size_t i = first; i < t->columns; i += 3)
        t->column[i].v = NULL;
}

static void maps_values(struct maps_case *c, enum maps_kind kind, bool some)
{
    struct maps_table y = maps_columns(kind, true, c->f->m, c->points);
    uint32_t *left = maps_left(c->points);
    if (some)
        maps_drop(&y, 1);
    struct maps_table want = maps_copy(&y);
    struct maps_table again = maps_copy(&y);
    maps_expect(c, &want);
    ad_status s = ad_fn_map(c->fn, c->points, c->x.column, y.column, left);
    maps_check_left(c, s, left, "map");
    CHECK(left[c->points] == 0xABCDEF, "%s: left is too long", c->f->name);
    maps_check_equal(&y, &want, "map", c->f->name, c->points);
    s = ad_fn_map(c->fn, c->points, c->x.column, again.column, NULL);
    maps_check_left(c, s, NULL, "map");
    CHECK(maps_equal(&again, &want), "%s: map without left", c->f->name);
    free(y.v);
    free(want.v);
    free(again.v);
    free(left);
}

static void maps_tangents(struct maps_case *c, enum maps_kind kind, bool some)
{
    struct maps_table dx = maps_columns(kind, false, c->f->n, c->points);
    struct maps_table dy = maps_columns(kind, true, c->f->m, c->points);
    uint32_t *left = maps_left(c->points);
    ad_real x[MAPS_MOST];
    ad_real v[MAPS_MOST];
    ad_real out[MAPS_MOST];
    if (some)
        maps_drop(&dy, 0);
    struct maps_table want = maps_copy(&dy);
    maps_fill(&dx, c->points, -1, 1, c->f->special);
    for (size_t p = 0; p < c->points; p++) {
        maps_gather(&c->x, p, x);
        maps_gather(&dx, p, v);
        ad_status s = ad_fn_jvp(c->fn, x, v, out);
        CHECK((s == ADREV_OK) == (c->want_left[p] == 0), "%s: jvp: %s",
              c->f->name, ad_message(s));
        for (size_t i = 0; i < c->f->m && s == ADREV_OK; i++)
            if (want.column[i].v != NULL)
                *maps_at(&want.column[i], p) = out[i];
    }
    ad_status s = ad_fn_map_jvp(c->fn, c->points, c->x.column, dx.column,
                                dy.column, left);
    maps_check_left(c, s, left, "map_jvp");
    maps_check_equal(&dy, &want, "map_jvp", c->f->name, c->points);
    s = ad_fn_map_jvp(c->fn, c->points, c->x.column, dx.column, dy.column,
                      NULL);
    maps_check_left(c, s, NULL, "map_jvp");
    CHECK(maps_equal(&dy, &want), "%s: map_jvp without left", c->f->name);
    free(dx.v);
    free(dy.v);
    free(want.v);
    free(left);
}

// What has been added to a number.
struct maps_sum {
    long double sum;
    long double size;
    ad_real only;
    size_t count;
};

static struct maps_sum *maps_adjoints(const struct maps_case *c,
                                      const struct maps_table *w,
                                      const struct maps_table *dx)
{
    struct maps_sum *sum = calloc(dx->count + 1, sizeof *sum);
    ad_real x[MAPS_MOST];
    ad_real weight[MAPS_MOST];
    ad_real out[MAPS_MOST];
    for (size_t p = 0; p < c->points; p++) {
        maps_gather(&c->x, p, x);
        maps_gather(w, p, weight);
        ad_status s = ad_fn_vjp(c->fn, x, weight, out);
        CHECK((s == ADREV_OK) == (c->want_left[p] == 0), "%s: vjp: %s",
              c->f->name, ad_message(s));
        for (size_t i = 0; i < c->f->n && s == ADREV_OK; i++) {
            if (dx->column[i].v == NULL)
                continue;
            struct maps_sum *t = sum + (maps_at(&dx->column[i], p) - dx->v);
            t->sum += (long double)out[i];
            t->size += fabsl((long double)out[i]);
            t->only = out[i];
            t->count++;
        }
    }
    return sum;
}

// One contribution: the bits. More: a sum of k terms of this size, of which
// those of a block are added before.
static void maps_check_adjoints(const struct maps_case *c,
                                const struct maps_table *got,
                                const struct maps_table *before,
                                const struct maps_sum *sum)
{
    bool single = sizeof(ad_real) == sizeof(float);
    long double eps = ldexpl(1, single ? 1 - FLT_MANT_DIG : 1 - DBL_MANT_DIG);
    for (size_t i = 0; i < got->count; i++) {
        const struct maps_sum *t = &sum[i];
        ad_real want = t->count == 0 ? before->v[i]
                     : t->count == 1 ? before->v[i] + t->only
                     : (ad_real)(t->sum + (long double)before->v[i]);
        long double off = fabsl((long double)got->v[i] - t->sum
                                - (long double)before->v[i]);
        long double allowed = eps * (t->size
                                     + fabsl((long double)before->v[i]))
                            * (long double)(2 + (t->count < 64 ? t->count
                                                               : 64));
        CHECK(maps_same(got->v[i], want) || (t->count > 1 && off <= allowed),
              "%s: map_vjp of %zu points: number %zu of %zu terms: "
              "got %a, want %a", c->f->name, c->points, i, t->count,
              (double)got->v[i], (double)want);
    }
}

static void maps_pullbacks(struct maps_case *c, enum maps_kind kind,
                           bool some)
{
    struct maps_table w = maps_columns(kind, false, c->f->m, c->points);
    struct maps_table dx = maps_columns(kind, false, c->f->n, c->points);
    enum maps_kind apart = kind == MAPS_OVERLAP ? MAPS_ONES : kind;
    struct maps_table y = maps_columns(apart, true, c->f->m, c->points);
    uint32_t *left = maps_left(c->points);
    maps_fill(&w, c->points, -1, 1, c->f->special);
    maps_fill(&dx, c->points, -1, 1, false);
    if (some) {
        maps_drop(&dx, 2);
        maps_drop(&y, 0);
    }
    struct maps_table before = maps_copy(&dx);
    struct maps_table again = maps_copy(&dx);
    struct maps_table want = maps_copy(&y);
    maps_expect(c, &want);
    struct maps_sum *sum = maps_adjoints(c, &w, &dx);
    ad_status s = ad_fn_map_vjp(c->fn, c->points, c->x.column, w.column,
                                dx.column, y.column, left);
    maps_check_left(c, s, left, "map_vjp");
    maps_check_adjoints(c, &dx, &before, sum);
    maps_absorb_bits(dx.count, dx.v);
    maps_check_equal(&y, &want, "map_vjp: values", c->f->name, c->points);
    s = ad_fn_map_vjp(c->fn, c->points, c->x.column, w.column, again.column,
                      NULL, NULL);
    maps_check_left(c, s, NULL, "map_vjp");
    CHECK(maps_equal(&dx, &again), "%s: map_vjp: other bits the second time",
          c->f->name);
    free(w.v), free(dx.v), free(y.v), free(before.v), free(again.v);
    free(want.v), free(sum), free(left);
}

static void maps_all(const struct maps_function *f, ad_fn *fn, size_t points,
                     enum maps_kind kind)
{
    struct maps_case c = { .f = f, .fn = fn, .points = points };
    c.x = maps_columns(kind, false, f->n, points);
    c.want_left = maps_left(points);
    maps_fill(&c.x, points, f->from, f->to, f->special);
    for (int some = 0; some < 2; some++) {
        enum maps_kind out = kind == MAPS_OVERLAP ? MAPS_ONES : kind;
        maps_values(&c, out, some);
        maps_tangents(&c, out, some);
        maps_pullbacks(&c, kind == MAPS_ONES ? MAPS_STEPS : kind, some);
    }
    free(c.x.v);
    free(c.want_left);
}

// In OVERLAP and SHARED results have columns of their own.
static void maps_functions_at(size_t points, bool wide)
{
    for (size_t i = 0; i < MAPS_FUNCTIONS; i++) {
        const struct maps_function *f = &maps_functions[i];
        if (f->n > 10 && !wide)
            continue;
        ad_fn *fn = maps_record(f, NULL);
        maps_all(f, fn, points, MAPS_STEPS);
        maps_all(f, fn, points, MAPS_ONES);
        maps_all(f, fn, points, MAPS_OVERLAP);
        if (points < 200)
            maps_all(f, fn, points, MAPS_SHARED);
        ad_fn_free(fn);
    }
}

/* --- closed forms --------------------------------------------------------- */

// y = a x[p]^2 + x[p+1], with a shared: dx and da of the sum.
static void maps_square(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(x[2], ad_sqr(x[0])), x[1]));
}

// Integers: every sum is exact.
static void maps_exact(size_t points)
{
    const ad_real at[] = { 1, 1, 1 };
    ad_real one = 1;
    ad_real a = 3;
    ad_real da = 5;
    ad_real *x = malloc((points + 1) * sizeof *x);
    ad_real *dx = calloc(points + 1, sizeof *dx);
    ad_real want = 5;
    ad_fn *fn = NULL;
    for (size_t p = 0; p <= points; p++)
        x[p] = (ad_real)(p % 7);
    ad_status s = ad_fn_record(&fn, maps_square, NULL, 3, at, 1);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    ad_column columns[] = { { x, 1 }, { x + 1, 1 }, { &a, 0 } };
    ad_column adjoints[] = { { dx, 1 }, { dx + 1, 1 }, { &da, 0 } };
    ad_column w = { &one, 0 };
    s = ad_fn_map_vjp(fn, points, columns, &w, adjoints, NULL, NULL);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    for (size_t p = 0; p <= points; p++) {
        ad_real g = (p < points ? 6 * x[p] : 0) + (p > 0 ? 1 : 0);
        want += p < points ? x[p] * x[p] : 0;
        CHECK(dx[p] == g, "dx[%zu]: got %g, want %g", p, (double)dx[p],
              (double)g);
    }
    CHECK(da == want, "parameter: got %g, want %g", (double)da,
          (double)want);
    ad_fn_free(fn);
    free(x);
    free(dx);
}

/* --- errors --------------------------------------------------------------- */

static void maps_errors(void)
{
    const struct maps_function *f = &maps_functions[2];
    ad_fn *fn = maps_record(f, NULL);
    ad_real v[3] = { (ad_real)0.4, (ad_real)0.7, (ad_real)0.9 };
    ad_real out[3] = { MAPS_UNTOUCHED, MAPS_UNTOUCHED, MAPS_UNTOUCHED };
    ad_column x[3] = { { v, 0 }, { v + 1, 0 }, { v + 2, 0 } };
    ad_column y[3] = { { out, 1 }, { out + 1, 1 }, { out + 2, 1 } };
    ad_column hole[3] = { { v, 0 }, { NULL, 0 }, { v + 2, 0 } };
#define REFUSED(call)                                                       \
    CHECK((call) == ADREV_ESHAPE, #call ": %s", ad_message(call))
    REFUSED(ad_fn_map(fn, 1, NULL, y, NULL));
    REFUSED(ad_fn_map(fn, 1, x, NULL, NULL));
    REFUSED(ad_fn_map(fn, 1, hole, y, NULL));
    REFUSED(ad_fn_map_jvp(fn, 1, NULL, x, y, NULL));
    REFUSED(ad_fn_map_jvp(fn, 1, x, NULL, y, NULL));
    REFUSED(ad_fn_map_jvp(fn, 1, x, x, NULL, NULL));
    REFUSED(ad_fn_map_jvp(fn, 1, hole, x, y, NULL));
    REFUSED(ad_fn_map_jvp(fn, 1, x, hole, y, NULL));
    REFUSED(ad_fn_map_vjp(fn, 1, NULL, x, y, NULL, NULL));
    REFUSED(ad_fn_map_vjp(fn, 1, x, NULL, y, NULL, NULL));
    REFUSED(ad_fn_map_vjp(fn, 1, x, x, NULL, NULL, NULL));
    REFUSED(ad_fn_map_vjp(fn, 1, hole, x, y, NULL, NULL));
    REFUSED(ad_fn_map_vjp(fn, 1, x, hole, y, NULL, NULL));
#undef REFUSED
    for (int i = 0; i < 3; i++)
        CHECK(out[i] == MAPS_UNTOUCHED, "an error touches the results");
    ad_fn_free(fn);
}

/* --- memory that runs out ------------------------------------------------- */

enum { MAPS_HARD = 4 * ADREV_LANES_MOST + 3 };

// Step 0, 1, 2: the three calls. What is written is v [3 * points].
static ad_status maps_hard_step(ad_fn *fn, int step, ad_real *in, ad_real *v)
{
    const size_t n = MAPS_HARD;
    const ad_column x[3] = { { in, 1 }, { in + 1, 1 }, { in + 2, 0 } };
    const ad_column out[3] = { { v, 1 }, { v + n, 1 }, { v + 2 * n, 1 } };
    const ad_column dx[3] = { { v, 1 }, { v + 1, 1 }, { v + 2 * n, 0 } };
    return step == 0 ? ad_fn_map(fn, n, x, out, NULL)
         : step == 1 ? ad_fn_map_jvp(fn, n, x, x, out, NULL)
                     : ad_fn_map_vjp(fn, n, x, x, dx, NULL, NULL);
}

static bool maps_hard_steps(ad_fn *fn, ad_real *in, size_t failing)
{
    enum { COUNT = 3 * MAPS_HARD };
    ad_real *v = malloc(COUNT * sizeof *v);
    bool ok = true;
    for (int step = 0; step < 3; step++) {
        for (size_t i = 0; i < COUNT; i++)
            v[i] = MAPS_UNTOUCHED;
        ad_status s = maps_hard_step(fn, step, in, v);
        size_t touched = 0;
        for (size_t i = 0; i < COUNT; i++)
            touched += v[i] != MAPS_UNTOUCHED;
        CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "failing at %zu, step %d: "
              "%s", failing, step, ad_message(s));
        CHECK((s == ADREV_OK) == (touched > 0), "failing at %zu, step %d: "
              "%s, %zu numbers touched", failing, step, ad_message(s),
              touched);
        ok &= s == ADREV_OK;
    }
    free(v);
    return ok;
}

static bool maps_hard(size_t failing, bool for_ever)
{
    static const struct maps_function f = { "hard", maps_smooth, NULL, 3, 3,
                                            0.5, 1, false };
    struct maps_heap h = { .failing = 0 };
    ad_allocator a = { maps_alloc, maps_free, &h };
    ad_fn_options options = { .allocator = &a };
    ad_real in[MAPS_HARD + 3];
    struct maps_function g = f;
    g.f = maps_guarded;
    ad_fn *fn = maps_record(&g, &options);
    for (size_t i = 0; i < MAPS_HARD + 3; i++)
        in[i] = (ad_real)(0.6 + 1e-4 * (double)i);
    h.failing = failing > 0 ? h.allocations + failing : 0;
    h.for_ever = for_ever;
    bool ok = maps_hard_steps(fn, in, failing);
    h.failing = 0;
    CHECK(maps_hard_steps(fn, in, 0), "with memory back it fails");
    ad_fn_free(fn);
    CHECK(h.live == 0, "failing at %zu: %zu blocks leaked", failing,
          (size_t)h.live);
    return ok;
}

// On a pool the number of allocations may vary: three good runs are the end.
static void maps_memory(void)
{
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        size_t n = 1;
        for (size_t good = 0; n < 2000 && good < 3; n++)
            good = maps_hard(n, for_ever) ? good + 1 : 0;
        CHECK(n > 5 && n < 2000, "%zu allocations", n - 1);
    }
}

#endif
