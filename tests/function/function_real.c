// SPDX-License-Identifier: MIT-0
// tags: recorded slow
/* function_real.c - real problems as recorded functions.
 *
 *     ba      one look of a camera at a point, recorded once and mapped over
 *             all observations, writes the sparse Jacobian in place
 *     gmm     one point recorded, mapped over all points with the parameters
 *             shared; what no point has a part in is another function. Small
 *             ones as a whole, with Hessian times vector
 *     hand    recorded as a whole: dense and sparse Jacobian
 *     lstm    recorded as a whole: gradient
 *
 * They are the ADBench problems, with files in $ADBENCH or ../shared/adbench
 * beside the checkout. The cases made here, with the closed form (gmm) and
 * complex steps (the others) to compare with, need no files. Differences are
 * measured as in adbench.c.                                                 */

#include "implementation.h"
#include "adrev_function.h"

#include "adbench_files.h"
#include "adbench_oracle.h"
#include "check.h"

#define NUM       ad_rev
#define REC(e)    ad_rec(e)
#define NAME(f)   rev_##f
#include "adbench_programs.h"

#include "adbench_arrays.h"

_Static_assert(sizeof(ad_real) == sizeof(double), "references in double");

static bool arrays;         // the programs over arrays, not those of scalars

static const char *kind_of_program(void)
{
    return arrays ? "arrays" : "scalars";
}

/* --- measures ------------------------------------------------------------- */

struct tolerance {
    double value;
    double normal;
    double component;
};

static const struct tolerance tight = { 1e-13, 1e-13, 1e-11 };

// q - g cancels in bundle adjustment; the value is a difference of hundreds.
static const struct tolerance wide = { 1e-11, 1e-13, 1e-10 };

struct errors {
    double normal;
    double component;
    size_t not_zero;        // entries that should be
};

// The larger one; NaN is larger than everything.
static double worse(double a, double b)
{
    return isnan(b) || b > a ? b : a;
}

static void measure(struct errors *worst, size_t n, const double *got,
                    const double *want)
{
    double M = 0;
    for (size_t i = 0; i < n; i++)
        M = fmax(M, fabs(want[i]));
    for (size_t i = 0; i < n; i++) {
        double off = fabs(got[i] - want[i]);
        worst->not_zero += want[i] == 0 && got[i] != 0;
        if (off == 0)
            continue;
        worst->normal = worse(worst->normal, off / M);
        worst->component = worse(worst->component,
                                 off / fmax(fabs(want[i]), M / 1000));
    }
}

static void judge(const char *name, const char *what, struct errors e,
                  struct tolerance t)
{
    CHECK(e.normal <= t.normal, "%s, %s: normal error %.2e, allowed %.0e",
          name, what, e.normal, t.normal);
    CHECK(e.component <= t.component,
          "%s, %s: component error %.2e, allowed %.0e", name, what,
          e.component, t.component);
    CHECK(e.not_zero == 0, "%s, %s: %zu entries should be 0", name, what,
          e.not_zero);
}

static void check_derivative(const char *name, const char *what, size_t n,
                             const double *got, const double *want,
                             struct tolerance t)
{
    struct errors e = { 0 };
    measure(&e, n, got, want);
    judge(name, what, e, t);
}

static void check_values(const char *name, const char *what, size_t n,
                         const double *got, const double *want,
                         struct tolerance t)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = worse(worst,
                      fabs(got[i] - want[i]) / fmax(1, fabs(want[i])));
    CHECK(worst <= t.value, "%s, %s: value off by %.2e, allowed %.0e", name,
          what, worst, t.value);
}

static bool right(const char *name, const char *what, ad_status got,
                  ad_status want)
{
    return CHECK(got == want, "%s, %s: %s", name, what, ad_message(got));
}

// The same numbers; a zero has no sign here.
static size_t different(size_t n, const double *a, const double *b)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += a[i] != b[i];
    return count;
}

static double *numbers(size_t n) { return adbench_get(n, sizeof(double)); }

/* --- ba: one look, mapped ------------------------------------------------- */

enum { LOOK = BA_INPUTS + 2, PATHS = 2 };

// in: camera, point, weight, and what was measured, which is as good as a
// principal point that lies elsewhere.
static void ba_look(const ad_rev *in, ad_rev *e, void *ctx)
{
    static const double origin[2] = { 0, 0 };
    ad_rev x[BA_INPUTS];
    (void)ctx;
    memcpy(x, in, sizeof x);
    for (size_t k = 0; k < 2; k++)
        x[7 + k] = ad_rec(ad_sub(in[7 + k], in[BA_INPUTS + k]));
    rev_ba_error(x, origin, e);
}

static void ba_term(const ad_rev *in, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = rev_ba_weight(in[0]);
}

// The recorded functions, and what they are mapped over.
struct ba_maps {
    ad_fn *look[PATHS];         // of cameras that are turned, and of the others
    ad_fn *term;
    double *in;                 // LOOK columns of p
    uint32_t *left[PATHS];
};

struct ba_result {
    double *R;                  // errors, 2 p
    double *W;                  // weight terms, p
    double *values;             // 31 p
    size_t *rows;               // 3 p + 1
    size_t *columns;            // 31 p
};

static struct ba_result ba_result(const struct ba *b)
{
    struct ba_result r;
    r.R = numbers(2 * b->p);
    r.W = numbers(b->p);
    r.values = numbers(31 * b->p);
    r.rows = adbench_get(3 * b->p + 1, sizeof *r.rows);
    r.columns = adbench_get(31 * b->p, sizeof *r.columns);
    return r;
}

static void ba_free(struct ba_result *r)
{
    free(r->R);
    free(r->W);
    free(r->values);
    free(r->rows);
    free(r->columns);
}

// What observation i depends on, in the order of its columns.
static void ba_inputs(const struct ba *b, size_t i, double x[LOOK])
{
    const struct ba_seen *s = &b->seen[i];
    memcpy(x, b->cameras + BA_CAMERA * s->camera, BA_CAMERA * sizeof *x);
    memcpy(x + BA_CAMERA, b->points + BA_POINT * s->point,
           BA_POINT * sizeof *x);
    x[BA_INPUTS - 1] = b->weights[i];
    x[BA_INPUTS] = s->at[0];
    x[BA_INPUTS + 1] = s->at[1];
}

// Recorded anywhere: only whether the camera is turned matters.
static struct ba_maps ba_record(const char *name, const struct ba *b)
{
    struct ba_maps m = { .in = numbers(LOOK * b->p) };
    for (size_t path = 0; path < PATHS; path++) {
        double at[LOOK];
        for (size_t j = 0; j < LOOK; j++)
            at[j] = j < 3 && path == 1 ? 0 : 0.3 + 0.1 * (double)j;
        right(name, "record", ad_fn_record(&m.look[path], ba_look, NULL, LOOK,
                                           at, 2), ADREV_OK);
        m.left[path] = adbench_get(b->p, sizeof *m.left[path]);
    }
    const double two = 2;
    right(name, "record the term",
          ad_fn_record(&m.term, ba_term, NULL, 1, &two, 1), ADREV_OK);
    for (size_t i = 0; i < b->p; i++) {
        double x[LOOK];
        ba_inputs(b, i, x);
        for (size_t j = 0; j < LOOK; j++)
            m.in[j * b->p + i] = x[j];
    }
    return m;
}

static void ba_unrecord(struct ba_maps *m)
{
    for (size_t path = 0; path < PATHS; path++) {
        ad_fn_free(m->look[path]);
        free(m->left[path]);
    }
    ad_fn_free(m->term);
    free(m->in);
}

static void ba_columns_in(const struct ba *b, const struct ba_maps *m,
                          ad_column x[LOOK])
{
    for (size_t j = 0; j < LOOK; j++)
        x[j] = (ad_column){ m->in + j * b->p, 1 };
}

// Row k of every observation, where it stands in the matrix. The columns of
// the measurement are not wanted.
static ad_status ba_map_row(const struct ba *b, struct ba_maps *m, size_t path,
                            size_t k, struct ba_result *r)
{
    double weight[2] = { k == 0, k == 1 };
    ad_column x[LOOK];
    ad_column dx[LOOK] = { { NULL, 0 } };
    ad_column w[2] = { { &weight[0], 0 }, { &weight[1], 0 } };
    ad_column y[2] = { { r->R, 2 }, { r->R + 1, 2 } };
    ba_columns_in(b, m, x);
    for (size_t j = 0; j < BA_INPUTS; j++)
        dx[j] = (ad_column){ r->values + 15 * k + j, 30 };
    return ad_fn_map_vjp(m->look[path], b->p, x, w, dx, k == 0 ? y : NULL,
                         m->left[path]);
}

// The same matrix by columns: `values` as in the result.
static ad_status ba_map_column(const struct ba *b, struct ba_maps *m,
                               size_t path, size_t j, double *values)
{
    double unit[2] = { 0, 1 };
    ad_column x[LOOK], dx[LOOK];
    ad_column dy[2] = { { values + j, 30 }, { values + 15 + j, 30 } };
    ba_columns_in(b, m, x);
    for (size_t i = 0; i < LOOK; i++)
        dx[i] = (ad_column){ &unit[i == j], 0 };
    return ad_fn_map_jvp(m->look[path], b->p, x, dx, dy, m->left[path]);
}

// Every observation is on one of the paths, and left by the other.
static ad_status ba_expected(const char *name, const struct ba *b,
                             struct ba_maps *m, size_t path)
{
    size_t left = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < b->p; i++) {
        const double *turn = b->cameras + BA_CAMERA * b->seen[i].camera;
        bool turned = turn[0] != 0 || turn[1] != 0 || turn[2] != 0;
        left += turned != (path == 0);
        wrong += (m->left[path][i] != 0) != (turned != (path == 0));
    }
    CHECK(wrong == 0, "%s, path %zu: %zu observations on the wrong one", name,
          path, wrong);
    return left ? ADREV_EPATH : ADREV_OK;
}

static void ba_structure(const struct ba *b, struct ba_result *r)
{
    for (size_t i = 0; i < b->p; i++) {
        size_t *column = r->columns + 30 * i;
        for (size_t j = 0; j < BA_CAMERA; j++)
            column[j] = BA_CAMERA * b->seen[i].camera + j;
        for (size_t j = 0; j < BA_POINT; j++)
            column[BA_CAMERA + j] = BA_CAMERA * b->n
                                  + BA_POINT * b->seen[i].point + j;
        column[BA_INPUTS - 1] = BA_CAMERA * b->n + BA_POINT * b->m + i;
        memcpy(column + 15, column, 15 * sizeof *column);
        r->columns[30 * b->p + i] = column[BA_INPUTS - 1];
    }
    for (size_t row = 0; row <= 2 * b->p; row++)
        r->rows[row] = 15 * row;
    for (size_t i = 1; i <= b->p; i++)
        r->rows[2 * b->p + i] = 30 * b->p + i;
}

static void ba_jacobian(const char *name, const struct ba *b,
                        struct ba_maps *m, struct ba_result *r)
{
    double one = 1;
    const ad_column x = { m->in + (BA_INPUTS - 1) * b->p, 1 };
    const ad_column w = { &one, 0 };
    const ad_column dx = { r->values + 30 * b->p, 1 };
    const ad_column y = { r->W, 1 };

    for (size_t path = 0; path < PATHS; path++)
        for (size_t k = 0; k < 2; k++) {
            ad_status s = ba_map_row(b, m, path, k, r);
            right(name, "map a row", s, ba_expected(name, b, m, path));
        }
    right(name, "map the weights",
          ad_fn_map_vjp(m->term, b->p, &x, &w, &dx, &y, NULL), ADREV_OK);
    ba_structure(b, r);
}

// step 0: a reference of one observation for all
static void check_ba(const char *name, const char *what, const struct ba *b,
                     const struct ba_result *r, const double *R,
                     const double *W, const double *values, size_t step,
                     struct tolerance t)
{
    struct errors e = { 0 };
    const double *weights = values + (step ? 30 * b->p : 30);
    for (size_t i = 0; i < b->p; i++) {
        size_t k = i * step;
        check_values(name, what, 2, r->R + 2 * i, R + 2 * k, t);
        check_values(name, what, 1, r->W + i, W + k, t);
        measure(&e, 15, r->values + 30 * i, values + 30 * k);
        measure(&e, 15, r->values + 30 * i + 15, values + 30 * k + 15);
        measure(&e, 1, r->values + 30 * b->p + i, weights + k);
    }
    judge(name, what, e, t);
}

// An observation by itself: the same numbers, or the same guard.
static void ba_single(const char *name, const struct ba *b,
                      const struct ba_maps *m, const struct ba_result *r)
{
    size_t wrong = 0;
    for (size_t i = 0; i < b->p && i < 200; i++)
        for (size_t path = 0; path < PATHS; path++) {
            double x[LOOK], dx[LOOK], y[2];
            ba_inputs(b, i, x);
            if (m->left[path][i] != 0) {
                wrong += ad_fn_eval(m->look[path], x, y) != ADREV_EPATH
                      || ad_fn_guard().index + 1 != m->left[path][i];
                continue;
            }
            wrong += ad_fn_eval(m->look[path], x, y) != ADREV_OK
                  || different(2, y, r->R + 2 * i) > 0;
            for (size_t k = 0; k < 2; k++) {
                const double w[2] = { k == 0, k == 1 };
                wrong += ad_fn_vjp(m->look[path], x, w, dx) != ADREV_OK
                      || different(15, dx, r->values + 30 * i + 15 * k) > 0;
            }
        }
    CHECK(wrong == 0, "%s: %zu times not as one at a time", name, wrong);
}

// The matrix again, by columns.
static void ba_forward(const char *name, const struct ba *b, struct ba_maps *m,
                       const struct ba_result *r, struct tolerance t)
{
    struct errors e = { 0 };
    double *values = numbers(30 * b->p);
    for (size_t path = 0; path < PATHS; path++)
        for (size_t j = 0; j < BA_INPUTS; j++) {
            ad_status s = ba_map_column(b, m, path, j, values);
            right(name, "map a column", s, ba_expected(name, b, m, path));
        }
    for (size_t row = 0; row < 2 * b->p; row++)
        measure(&e, 15, values + 15 * row, r->values + 15 * row);
    judge(name, "columns against rows", e, t);
    free(values);
}

// All observations as one function: cameras, points, weights in one array.
static void ba_whole(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct ba *b = ctx;
    const ad_rev *points = x + BA_CAMERA * b->n;
    const ad_rev *weights = points + BA_POINT * b->m;
    for (size_t i = 0; i < b->p; i++) {
        const struct ba_seen *s = &b->seen[i];
        ad_rev in[BA_INPUTS];
        memcpy(in, x + BA_CAMERA * s->camera, BA_CAMERA * sizeof *in);
        memcpy(in + BA_CAMERA, points + BA_POINT * s->point,
               BA_POINT * sizeof *in);
        in[BA_INPUTS - 1] = weights[i];
        (arrays ? ba_error_arrays : rev_ba_error)(in, s->at, y + 2 * i);
        y[2 * b->p + i] = rev_ba_weight(weights[i]);
    }
}

struct sparse {
    ad_sparsity about;
    size_t *start;
    size_t *row;
    size_t *column;
    double *value;
};

// The sparse Jacobian at x, its entries in order.
static struct sparse sparse_of(const char *name, ad_fn *fn, const double *x)
{
    struct sparse s = { .start = NULL };
    size_t m = ad_fn_outputs(fn);
    right(name, "pattern", ad_fn_jacobian_pattern(fn, &s.about, NULL, NULL,
                                                  NULL), ADREV_OK);
    s.start = adbench_get(m + 1, sizeof *s.start);
    s.row = adbench_get(s.about.nonzeros, sizeof *s.row);
    s.column = adbench_get(s.about.nonzeros, sizeof *s.column);
    s.value = numbers(s.about.nonzeros);
    right(name, "pattern", ad_fn_jacobian_pattern(fn, NULL, s.start, s.row,
                                                  s.column), ADREV_OK);
    right(name, "sparse", ad_fn_jacobian_sparse(fn, x, s.value), ADREV_OK);

    size_t wrong = s.start[0] != 0 || s.start[m] != s.about.nonzeros;
    for (size_t i = 0; i < m; i++)
        for (size_t k = s.start[i]; k < s.start[i + 1]; k++)
            wrong += s.row[k] != i || s.column[k] >= ad_fn_inputs(fn)
                  || (k > s.start[i] && s.column[k] <= s.column[k - 1]);
    CHECK(wrong == 0, "%s: %zu entries out of order", name, wrong);
    CHECK(s.about.apart <= s.about.directions, "%s: directions apart", name);
    return s;
}

static void sparse_free(struct sparse *s)
{
    free(s->start);
    free(s->row);
    free(s->column);
    free(s->value);
}

// The matrix of the whole: of the same entries, but for the two of every
// observation that are stored zeros.
static void ba_sparse(const char *name, const struct ba *b,
                      const struct ba_result *r, struct tolerance t)
{
    size_t n = BA_CAMERA * b->n + BA_POINT * b->m + b->p;
    double *x = numbers(n);
    double *full = numbers(31 * b->p);
    ad_fn *fn = NULL;
    struct ba problem = *b;
    struct errors e = { 0 };
    memcpy(x, b->cameras, BA_CAMERA * b->n * sizeof *x);
    memcpy(x + BA_CAMERA * b->n, b->points, BA_POINT * b->m * sizeof *x);
    memcpy(x + n - b->p, b->weights, b->p * sizeof *x);
    right(name, "record the whole",
          ad_fn_record(&fn, ba_whole, &problem, n, x, 3 * b->p), ADREV_OK);

    struct sparse s = sparse_of(name, fn, x);
    size_t found = 0;
    for (size_t row = 0; row < 3 * b->p; row++) {
        size_t k = s.start[row];
        size_t first = r->rows[row];
        size_t length = r->rows[row + 1] - first;
        for (size_t i = first; i < first + length; i++)
            if (k < s.start[row + 1] && s.column[k] == r->columns[i]) {
                full[i] = s.value[k++];
                found++;
            }
        measure(&e, length, full + first, r->values + first);
    }
    CHECK(found == s.about.nonzeros, "%s, %s: %zu entries too many", name,
          kind_of_program(), s.about.nonzeros - found);
    CHECK(arrays || s.about.nonzeros <= 29 * b->p, "%s: %zu entries, not %zu",
          name, s.about.nonzeros, 29 * b->p);
    // Cameras can share 11 directions, points 3, weights 1.
    CHECK(s.about.directions <= 2 * BA_INPUTS, "%s: %zu directions", name,
          s.about.directions);
    judge(name, "sparse against mapped", e, t);
    sparse_free(&s);
    ad_fn_free(fn);
    free(full);
    free(x);
}

static struct ba_result test_ba(const char *name, const struct ba *b,
                                struct tolerance t)
{
    struct ba_maps m = ba_record(name, b);
    struct ba_result r = ba_result(b);
    ba_jacobian(name, b, &m, &r);
    ba_single(name, b, &m, &r);
    if (b->p <= 500) {
        ba_forward(name, b, &m, &r, t);
        for (int i = 0; i < 2; i++) {
            arrays = i == 1;
            ba_sparse(name, b, &r, t);
        }
    }
    ba_unrecord(&m);
    return r;
}

/* --- gmm: a point mapped, the rest a function ----------------------------- */

// What the points share: base[K], the exponent at the mean, then of each
// component diagonal[d], and the d(d-1)/2 numbers below it, and mean[d].
struct gmm_shape {
    size_t diagonal;            // where they begin
    size_t below;
    size_t mu;
    size_t n;                   // where x begins
};

static struct gmm_shape gmm_shape(const struct gmm *g)
{
    struct gmm_shape s;
    s.diagonal = g->K;
    s.below = s.diagonal + g->K * g->d;
    s.mu = s.below + g->K * (gmm_triangle(g->d) - g->d);
    s.n = s.mu + g->K * g->d;
    return s;
}

static void gmm_point(const ad_rev *in, ad_rev *y, void *ctx)
{
    const struct gmm *g = ctx;
    const struct gmm_shape s = gmm_shape(g);
    size_t d = g->d;
    size_t below = gmm_triangle(d) - d;
    ad_rev *c = arrays_get(2 * d + g->K);
    ad_rev *z = c + d;
    ad_rev *t = z + d;
    for (size_t k = 0; k < g->K; k++) {
        ad_each(ADREV_OP_sub, d, in + s.n, in + s.mu + k * d, NULL, c);
        ad_trimatvec(d, in + s.diagonal + k * d, in + s.below + k * below, c,
                     z);
        t[k] = ad_rec(ad_sub(in[k], ad_mul(0.5, ad_dot(d, z, z))));
    }
    y[0] = ad_logsumexp(g->K, t);
    free(c);
}

// y: the terms that no point has a part in; base[K]; diagonal[K d]
static void gmm_rest(const ad_rev *in, ad_rev *y, void *ctx)
{
    const struct gmm *g = ctx;
    size_t d = g->d;
    double n = (double)g->n;
    const ad_rev *icf = in + g->K + g->K * d;
    ad_rev *Q = arrays_get(d * d);
    y[0] = ad_rec(ad_sub(-n * (double)d / 2 * log(2 * ADBENCH_PI)
                         - gmm_constant(g),
                         ad_mul(n, ad_logsumexp(g->K, in))));
    for (size_t k = 0; k < g->K; k++, icf += gmm_triangle(d)) {
        ad_rev q = ad_sum(d, icf);
        rev_gmm_matrix(d, icf, Q);
        ad_acc(&y[0], rev_gmm_wishart(g, Q, q));
        y[1 + k] = ad_rec(ad_add(in[k], q));
        for (size_t i = 0; i < d; i++)
            y[1 + g->K + k * d + i] = Q[i * d + i];
    }
    free(Q);
}

struct gmm_maps {
    ad_fn *point;
    ad_fn *rest;
    double *rests;          // results of rest, [1 + K + K d]
    double *in;             // parameters, then points, as columns may not be
    double *lse;            // const; [n]
    double *adjoint;        // of the results of rest
    double *part;           // of the gradient
    ad_column *x;
    ad_column *dx;
};

static struct gmm_maps gmm_record(const char *name, struct gmm *g)
{
    struct gmm_shape s = gmm_shape(g);
    size_t points = g->stride ? g->n * g->d : g->d;
    size_t rests = 1 + g->K * (1 + g->d);
    struct gmm_maps m = {
        .rests = numbers(rests), .in = numbers(gmm_inputs(g) + points),
        .lse = numbers(g->n), .adjoint = numbers(rests),
        .part = numbers(gmm_inputs(g)),
        .x = adbench_get(s.n + g->d, sizeof *m.x),
        .dx = adbench_get(s.n + g->d, sizeof *m.dx),
    };
    double *at = numbers(s.n + g->d);
    memcpy(m.in, g->in, gmm_inputs(g) * sizeof *m.in);
    memcpy(m.in + gmm_inputs(g), g->points, points * sizeof *m.in);
    for (size_t i = 0; i < s.n + g->d; i++)
        at[i] = 0.2 + 0.1 * (double)(i % 5);
    right(name, "record a point",
          ad_fn_record(&m.point, gmm_point, g, s.n + g->d, at, 1), ADREV_OK);
    right(name, "record the rest",
          ad_fn_record(&m.rest, gmm_rest, g, gmm_inputs(g), at, rests),
          ADREV_OK);
    free(at);
    return m;
}

static void gmm_unrecord(struct gmm_maps *m)
{
    ad_fn_free(m->point);
    ad_fn_free(m->rest);
    free(m->rests);
    free(m->in);
    free(m->lse);
    free(m->adjoint);
    free(m->part);
    free(m->x);
    free(m->dx);
}

// Means and what is below a diagonal are inputs themselves: their adjoints go
// to J at once.
static void gmm_columns(const struct gmm *g, struct gmm_maps *m, double *J)
{
    struct gmm_shape s = gmm_shape(g);
    size_t d = g->d;
    size_t below = gmm_triangle(d) - d;
    for (size_t i = 0; i < g->K * (1 + d); i++) {
        m->x[i] = (ad_column){ m->rests + 1 + i, 0 };
        m->dx[i] = (ad_column){ m->adjoint + 1 + i, 0 };
    }
    for (size_t i = 0; i < g->K * below; i++) {
        size_t at = g->K + g->K * d + i / below * gmm_triangle(d) + d
                  + i % below;
        m->x[s.below + i] = (ad_column){ m->in + at, 0 };
        m->dx[s.below + i] = (ad_column){ J + at, 0 };
    }
    for (size_t i = 0; i < g->K * d; i++) {
        m->x[s.mu + i] = (ad_column){ m->in + g->K + i, 0 };
        m->dx[s.mu + i] = (ad_column){ J + g->K + i, 0 };
    }
    for (size_t i = 0; i < d; i++) {
        m->x[s.n + i] = (ad_column){ m->in + gmm_inputs(g) + i,
                                     (ptrdiff_t)g->stride };
        m->dx[s.n + i] = (ad_column){ NULL, 0 };
    }
}

static double gmm_gradient(const char *name, const struct gmm *g,
                           struct gmm_maps *m, double *J)
{
    double one = 1;
    const ad_column w = { &one, 0 };
    const ad_column y = { m->lse, 1 };
    memset(J, 0, gmm_inputs(g) * sizeof *J);
    memset(m->adjoint, 0, (1 + g->K * (1 + g->d)) * sizeof *J);
    m->adjoint[0] = 1;
    gmm_columns(g, m, J);
    right(name, "the rest", ad_fn_eval(m->rest, m->in, m->rests), ADREV_OK);
    right(name, "map", ad_fn_map_vjp(m->point, g->n, m->x, &w, m->dx, &y,
                                     NULL), ADREV_OK);
    right(name, "adjoints of the rest",
          ad_fn_vjp(m->rest, m->in, m->adjoint, m->part), ADREV_OK);
    double F = m->rests[0];
    for (size_t i = 0; i < g->n; i++)
        F += m->lse[i];
    for (size_t i = 0; i < gmm_inputs(g); i++)
        J[i] += m->part[i];
    return F;
}

// Values alone, and some points by themselves: the same bits.
static void gmm_values(const char *name, const struct gmm *g,
                       struct gmm_maps *m)
{
    size_t inputs = gmm_shape(g).n + g->d;
    double *lse = numbers(g->n);
    double *x = numbers(inputs);
    const ad_column y = { lse, 1 };
    size_t wrong = 0;
    right(name, "map values", ad_fn_map(m->point, g->n, m->x, &y, NULL),
          ADREV_OK);
    CHECK(memcmp(lse, m->lse, g->n * sizeof *lse) == 0,
          "%s: other values without a gradient", name);
    for (size_t s = 0; s < g->n && s < 70; s++) {
        double one = 0;
        for (size_t i = 0; i < inputs; i++)
            x[i] = m->x[i].v[(ptrdiff_t)s * m->x[i].step];
        wrong += ad_fn_eval(m->point, x, &one) != ADREV_OK || one != lse[s];
    }
    CHECK(wrong == 0, "%s: %zu values not as one at a time", name, wrong);
    free(x);
    free(lse);
}

/* --- gmm as a whole, with second derivatives ------------------------------ */

static void gmm_whole(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = arrays ? gmm_arrays(ctx, x) : rev_gmm(ctx, x);
}

static double direction(size_t i)
{
    return (i % 2 == 0 ? 1 : -1) * (0.5 + 0.1 * (double)(i % 7));
}

// (g(x + h v) - g(x - h v)) / 2h from the closed form, for h and 2h: what is
// left of the error is of order h^4.
static void gmm_differences(const struct gmm *g, const double *v, double h,
                            double *hv)
{
    size_t n = gmm_inputs(g);
    double *x = numbers(n);
    double *J = numbers(n);
    struct gmm moved = *g;
    moved.in = x;
    memset(hv, 0, n * sizeof *hv);
    for (int k = -2; k <= 2; k++) {
        if (k == 0)
            continue;
        for (size_t i = 0; i < n; i++)
            x[i] = g->in[i] + k * h * v[i];
        oracle_gmm(&moved, J);
        double c = (k < 0 ? -1 : 1) * (k % 2 == 0 ? -1.0 : 8.0) / (12 * h);
        for (size_t i = 0; i < n; i++)
            hv[i] += c * J[i];
    }
    free(J);
    free(x);
}

// Rounding: 1e-16/h of what is added up, which cancels in small entries.
static const struct tolerance by_differences = { 0, 1e-10, 1e-8 };

static void gmm_hessian(const char *name, ad_fn *fn, const double *x,
                        const double *v, const double *hv)
{
    const double one = 1;
    size_t n = ad_fn_inputs(fn);
    double *H = numbers(n * n);
    double *sum = numbers(n);
    size_t wrong = 0;
    right(name, "hessian", ad_fn_hessian(fn, x, &one, H), ADREV_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            sum[i] += H[i * n + j] * v[j];
            wrong += fabs(H[i * n + j] - H[j * n + i])
                   > 1e-12 * (fabs(H[i * n + i]) + fabs(H[j * n + j]));
        }
    check_derivative(name, "hvp against the Hessian", n, hv, sum, tight);
    CHECK(wrong == 0, "%s: %zu entries of the Hessian are not symmetric",
          name, wrong);
    free(sum);
    free(H);
}

// Recorded anywhere over arrays; of scalars only at the point itself, because
// the largest of the exponents is kept as a number.
static void gmm_second(const char *name, struct gmm *g, const double *want_J,
                       struct tolerance t)
{
    size_t n = gmm_inputs(g);
    double *v = numbers(n), *hv = numbers(n);
    double *work = numbers(n), *J = numbers(n);
    const double one = 1;
    for (int k = 0; k < 2; k++) {
        ad_fn *fn = NULL;
        arrays = k == 1;
        for (size_t i = 0; i < n; i++) {
            v[i] = direction(i);
            work[i] = arrays ? 0.1 + 0.01 * (double)i : g->in[i];
        }
        right(name, "record the whole",
              ad_fn_record(&fn, gmm_whole, g, n, work, 1), ADREV_OK);
        right(name, "gradient", ad_fn_gradient(fn, g->in, NULL, J), ADREV_OK);
        check_derivative(name, kind_of_program(), n, J, want_J, t);
        right(name, "hvp", ad_fn_hvp(fn, g->in, &one, v, hv), ADREV_OK);
        gmm_differences(g, v, 0x1p-12, work);
        check_derivative(name, "hvp against differences", n, hv, work,
                         by_differences);
        gmm_hessian(name, fn, g->in, v, hv);
        ad_fn_free(fn);
    }
    free(J);
    free(work);
    free(hv);
    free(v);
}

// want_F and want_J: a reference beside the closed form, or NULL
static void test_gmm(const char *name, struct gmm *g, const double *want_F,
                     const double *want_J, struct tolerance t)
{
    size_t n = gmm_inputs(g);
    struct gmm_maps m = gmm_record(name, g);
    double *J = numbers(n);
    double *hand = numbers(n);
    double F = gmm_gradient(name, g, &m, J);
    double F_hand = oracle_gmm(g, hand);

    check_values(name, "mapped, closed form", 1, &F, &F_hand, t);
    check_derivative(name, "mapped, closed form", n, J, hand, t);
    if (want_F && want_J) {
        check_values(name, "mapped, reference", 1, &F, want_F, t);
        check_derivative(name, "mapped, reference", n, J, want_J, t);
    }
    gmm_values(name, g, &m);
    if (g->n * n <= 3000)
        gmm_second(name, g, want_J ? want_J : hand, t);
    gmm_unrecord(&m);
    free(hand);
    free(J);
}

/* --- hand ----------------------------------------------------------------- */

static void hand_whole(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct hand *p = ctx;
    (arrays ? hand_arrays : rev_hand)(p, x, x + HAND_THETA, y);
}

static size_t hand_inputs(const struct hand *p)
{
    return HAND_THETA + (p->complicated ? 2 * p->n : 0);
}

static size_t hand_columns(const struct hand *p)
{
    return HAND_THETA + (p->complicated ? 2 : 0);
}

// By columns, first two for all us together: of residual i, those of u[i].
static void hand_compress(const struct hand *p, const double *full, double *J)
{
    size_t m = 3 * p->n;
    size_t n = hand_inputs(p);
    for (size_t i = 0; i < m; i++) {
        double *to = J + i;
        for (size_t k = 0; k < (p->complicated ? 2 : 0); k++, to += m)
            *to = full[i * n + HAND_THETA + 2 * (i / 3) + k];
        for (size_t j = 0; j < HAND_THETA; j++, to += m)
            *to = full[i * n + j];
    }
}

// What is compressed away must be 0.
static void check_hand(const char *name, const char *what,
                       const struct hand *p, const double *full,
                       const double *want, struct tolerance t)
{
    size_t size = 3 * p->n * hand_columns(p);
    size_t n = hand_inputs(p);
    size_t wrong = 0;
    double *J = numbers(size);
    hand_compress(p, full, J);
    check_derivative(name, what, size, J, want, t);
    for (size_t i = 0; i < 3 * p->n; i++)
        for (size_t j = HAND_THETA; j < n; j++)
            wrong += (j - HAND_THETA) / 2 != i / 3 && full[i * n + j] != 0;
    CHECK(wrong == 0, "%s, %s: %zu entries of other points", name, what,
          wrong);
    free(J);
}

// The size of the global rotation is compared as a number: a guard.
static void hand_guard(const char *name, ad_fn *fn, const double *x)
{
    size_t m = ad_fn_outputs(fn);
    double *moved = numbers(ad_fn_inputs(fn));
    double *y = numbers(m);
    memcpy(moved, x, ad_fn_inputs(fn) * sizeof *x);
    moved[0] += 0.25;
    y[0] = 12345;
    right(name, "turned", ad_fn_eval(fn, moved, y), ADREV_EPATH);
    CHECK(y[0] == 12345, "%s: results of another path", name);
    free(y);
    free(moved);
}

static void hand_jacobians(const char *name, const struct hand *p, ad_fn *fn,
                           const double *x, const double *want,
                           struct tolerance t)
{
    size_t m = 3 * p->n;
    size_t n = hand_inputs(p);
    double *J = numbers(m * n);
    double *full = numbers(m * n);
    size_t apart = 0;

    right(name, "dense", ad_fn_jacobian(fn, x, J), ADREV_OK);
    check_hand(name, "dense", p, J, want, t);
    struct sparse s = sparse_of(name, fn, x);
    for (size_t k = 0; k < s.about.nonzeros; k++)
        full[s.row[k] * n + s.column[k]] = s.value[k];
    check_hand(name, "sparse", p, full, want, t);
    for (size_t k = 0; k < m * n; k++)
        apart += full[k] == 0 && J[k] != 0;
    CHECK(apart == 0, "%s: %zu entries are not in the pattern", name, apart);
    CHECK(s.about.directions <= hand_columns(p), "%s: %zu directions", name,
          s.about.directions);
    sparse_free(&s);
    free(full);
    free(J);
}

// Recorded at other angles, but for the rotation as a whole.
static void test_hand(const char *name, const struct hand *p,
                      const double *want_F, const double *want_J,
                      struct tolerance t)
{
    size_t n = hand_inputs(p);
    size_t m = 3 * p->n;
    double *x = numbers(n);
    double *at = numbers(n);
    double *F = numbers(m);
    struct hand problem = *p;
    memcpy(x, p->theta, HAND_THETA * sizeof *x);
    memcpy(x + HAND_THETA, p->us, (n - HAND_THETA) * sizeof *x);
    for (size_t i = 0; i < n; i++)
        at[i] = i < 3 ? x[i] : 0.1 + 0.01 * (double)(i % 9);
    for (int i = 0; i < 2; i++) {
        ad_fn *fn = NULL;
        arrays = i == 1;
        right(name, "record", ad_fn_record(&fn, hand_whole, &problem, n, at,
                                           m), ADREV_OK);
        right(name, "value", ad_fn_eval(fn, x, F), ADREV_OK);
        check_values(name, kind_of_program(), m, F, want_F, t);
        hand_jacobians(name, p, fn, x, want_J, t);
        hand_guard(name, fn, x);
        ad_fn_free(fn);
    }
    free(F);
    free(at);
    free(x);
}

/* --- lstm ----------------------------------------------------------------- */

static void lstm_whole(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = arrays ? lstm_arrays(ctx, x) : rev_lstm(ctx, x);
}

// Cells beyond which only the program over arrays is recorded: without
// optimisation of scalars each takes some microseconds.
#if defined __OPTIMIZE__ || !defined __GNUC__
#define MOST_CELLS SIZE_MAX
#else
#define MOST_CELLS 2000u
#endif

static void test_lstm(const char *name, struct lstm *p, const double *want_F,
                      const double *want_J, struct tolerance t)
{
    size_t n = lstm_inputs(p);
    double *at = numbers(n);
    double *J = numbers(n);
    for (size_t i = 0; i < n; i++)
        at[i] = 0.5;
    for (int i = p->l * p->b * p->c > MOST_CELLS; i < 2; i++) {
        ad_fn *fn = NULL;
        double F = 0;
        arrays = i == 1;
        right(name, "record", ad_fn_record(&fn, lstm_whole, p, n, at, 1),
              ADREV_OK);
        right(name, "gradient", ad_fn_gradient(fn, p->in, &F, J), ADREV_OK);
        check_values(name, kind_of_program(), 1, &F, want_F, t);
        check_derivative(name, kind_of_program(), n, J, want_J, t);
        ad_fn_free(fn);
    }
    free(J);
    free(at);
}

/* --- the reference cases -------------------------------------------------- */

static const char *data;        // the folder

static FILE *open_data(const char *folder, const char *name)
{
    char path[4 * READER_WORD];
    int n = snprintf(path, sizeof path, "%s/%s%s%s", data, folder,
                     *folder ? "/" : "", name);
    return n > 0 && (size_t)n < sizeof path ? fopen(path, "r") : NULL;
}

static void case_gmm(struct reader *r, const struct reference *f,
                     struct tolerance t)
{
    struct gmm g = read_gmm(r, strcmp(f->kind, "gmm_replicate") == 0);
    if (r->error)
        return;
    const double *F = reference_of(f, "F", 1);
    const double *J = reference_of(f, "J", gmm_inputs(&g));
    if (CHECK(F && J, "%s: sections", f->name))
        test_gmm(f->name, &g, F, J, t);
}

static void case_lstm(struct reader *r, const struct reference *f,
                      struct tolerance t)
{
    struct lstm p = read_lstm(r);
    if (r->error)
        return;
    const double *F = reference_of(f, "F", 1);
    const double *J = reference_of(f, "J", lstm_inputs(&p));
    if (CHECK(F && J, "%s: sections", f->name))
        test_lstm(f->name, &p, F, J, t);
}

static void check_indices(const char *name, size_t n, const size_t *got,
                          const double *want)
{
    size_t wrong = 0;
    for (size_t i = 0; want && i < n; i++)
        wrong += (double)got[i] != want[i];
    CHECK(want && wrong == 0, "%s: %zu indices differ", name, wrong);
}

// FNV-1a of the indices as 32-bit numbers, lowest byte first.
static unsigned long long hash_of(size_t n, const size_t *index)
{
    unsigned long long h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        for (unsigned shift = 0; shift < 32; shift += 8)
            h = ((h ^ (index[i] >> shift & 255)) * 1099511628211u)
              & 0xffffffffffffffffu;
    return h;
}

static void case_ba(struct reader *r, const struct reference *f,
                    struct tolerance t)
{
    struct ba b = read_ba(r, strcmp(f->kind, "ba_replicated") == 0);
    if (r->error)
        return;
    bool one = reference_of(f, "R1", 2) != NULL;
    size_t p = one ? 1 : b.p;
    const double *R = reference_of(f, one ? "R1" : "R", 2 * p);
    const double *W = reference_of(f, one ? "W1" : "W", p);
    const double *V = reference_of(f, one ? "VALS1" : "VALS", 31 * p);
    if (!CHECK(R && W && V, "%s: sections", f->name))
        return;
    struct ba_result y = test_ba(f->name, &b, t);
    check_ba(f->name, "reference", &b, &y, R, W, V, !one, t);
    if (one) {
        CHECK(hash_of(3 * b.p + 1, y.rows) == f->hash[0], "%s: rows", f->name);
        CHECK(hash_of(31 * b.p, y.columns) == f->hash[1], "%s: columns",
              f->name);
    } else {
        check_indices(f->name, 3 * p + 1, y.rows,
                      reference_of(f, "ROWS", 3 * p + 1));
        check_indices(f->name, 31 * p, y.columns,
                      reference_of(f, "COLS", 31 * p));
    }
    ba_free(&y);
}

static void case_hand(struct reader *r, const struct reference *f,
                      const char *model, struct tolerance t)
{
    struct hand_model h = { .vertices = 0 };
    struct reader m[3] = { reader_open(open_data(model, "bones.txt")),
                           reader_open(open_data(model, "vertices.txt")),
                           reader_open(open_data(model, "triangles.txt")) };
    read_bones(&m[0], &h);
    read_vertices(&m[1], &h);
    read_triangles(&m[2], &h);
    for (size_t i = 0; i < 3; i++)
        if (m[i].error)
            reader_fail(r, m[i].error);
    struct hand p = read_hand(r, &h,
                              strcmp(f->kind, "hand_complicated") == 0);
    if (!r->error) {
        size_t rows = 3 * p.n;
        const double *F = reference_of(f, "F", rows);
        const double *J = reference_of(f, "J", rows * hand_columns(&p));
        if (CHECK(F && J, "%s: sections", f->name))
            test_hand(f->name, &p, F, J, t);
    }
    for (size_t i = 0; i < 3; i++)
        reader_close(&m[i]);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void run_case(const struct listed *c)
{
    struct tolerance t = { c->value, c->normal, c->component };
    struct reader ref = reader_open(open_data("", c->reference));
    struct reader r = reader_open(open_data("", c->input));
    struct reference f = read_reference(&ref);

    if (CHECK(!ref.error, "%s: %s", c->reference, ref.error)) {
        if (begins(c->kind, "gmm"))
            case_gmm(&r, &f, t);
        else if (begins(c->kind, "lstm"))
            case_lstm(&r, &f, t);
        else if (begins(c->kind, "ba"))
            case_ba(&r, &f, t);
        else if (CHECK(begins(c->kind, "hand"), "kind %s", c->kind))
            case_hand(&r, &f, c->model, t);
        CHECK(!r.error, "%s: %s", c->input, r.error);
    }
    reader_close(&r);
    reader_close(&ref);
}

static void run_references(void)
{
    const char *set = getenv("ADBENCH");
    data = set ? set : "../shared/adbench";
    FILE *manifest = open_data("", "MANIFEST.txt");
    if (!manifest) {
        printf("function_real: skipped, no data (set ADBENCH)\n");
        return;
    }
    struct reader r = reader_open(manifest);
    for (size_t n = read_size(&r, 1, SOME); n > 0 && !r.error; n--) {
        struct listed c = read_listed(&r);
        if (!r.error)
            run_case(&c);
    }
    reader_end(&r);
    CHECK(!r.error, "MANIFEST.txt: %s", r.error);
    reader_close(&r);
}

/* --- cases made here ------------------------------------------------------ */

static double *fill(size_t n, double from, double to, double *x)
{
    for (size_t i = 0; i < n; i++)
        *x++ = uniform(from, to);
    return x;
}

// More points than go side by side, and not a multiple of that.
static void own_gmm(void)
{
    enum { D = 3, M = 4, N = 150,
           INPUTS = M * (1 + D + D * (D + 1) / 2) };
    double in[INPUTS + N * D];
    struct gmm g = { .d = D, .K = M, .n = N, .stride = D, .in = in,
                     .points = in + INPUTS, .gamma = 0.75, .m = 3 };
    seed = 1;
    fill(N * D, -2, 2, fill(INPUTS, -0.7, 0.7, in));
    test_gmm("own gmm", &g, NULL, NULL, tight);
    g.n = 12;
    test_gmm("own small gmm", &g, NULL, NULL, tight);
}

static void own_lstm(void)
{
    enum { L = 3, C = 8, B = 3, INPUTS = 8 * L * B + 3 * B };
    double in[INPUTS + 2 * L * B + C * B];
    double F, J[INPUTS];
    struct lstm p = { .l = L, .c = C, .b = B, .in = in, .state = in + INPUTS,
                      .text = in + INPUTS + 2 * L * B };
    seed = 2;
    double *text = fill(INPUTS + 2 * L * B, -1, 1, in);
    for (size_t i = 0; i < C * B; i++)
        text[i] = i % B > 0 && uniform(0, 2) < 1;       // bit 0: never
    complex_jacobian(complex_lstm, &p, INPUTS, in, 1, &F, J);
    test_lstm("own lstm", &p, &F, J, tight);
}

// Camera 0 is not turned at all.
static void make_cameras(size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        x = fill(3, i > 0 ? -0.8 : 0, i > 0 ? 0.8 : 0, x);
        x = fill(2, -1, 1, x);
        x = fill(1, -9, -6, x);
        x = fill(1, 300, 600, x);
        x = fill(2, -15, 15, x);
        x = fill(2, -0.1, 0.1, x);
    }
}

static void own_ba(void)
{
    enum { CAMERAS = 5, POINTS = 30, SEEN = 210,
           X = BA_CAMERA * CAMERAS + BA_POINT * POINTS + SEEN };
    double x[X];
    struct ba_seen seen[SEEN];
    struct ba b = { .n = CAMERAS, .m = POINTS, .p = SEEN, .cameras = x,
                    .points = x + BA_CAMERA * CAMERAS,
                    .weights = x + X - SEEN, .seen = seen };
    struct ba_result want = ba_result(&b);
    seed = 3;
    make_cameras(CAMERAS, x);
    fill(SEEN, 0.1, 1, fill(BA_POINT * POINTS, -2, 2, x + BA_CAMERA * CAMERAS));
    for (size_t i = 0; i < SEEN; i++) {
        double in[LOOK];
        double w = b.weights[i];
        seen[i].camera = i * i % CAMERAS;
        seen[i].point = (size_t)uniform(0, POINTS);
        fill(2, -300, 300, seen[i].at);
        ba_inputs(&b, i, in);
        complex_jacobian(complex_ba, seen[i].at, BA_INPUTS, in, 2,
                         want.R + 2 * i, want.values + 30 * i);
        want.W[i] = 1 - w * w;
        want.values[30 * SEEN + i] = -2 * w;
    }
    struct ba_result got = test_ba("own ba", &b, wide);
    check_ba("own ba", "complex steps", &b, &got, want.R, want.W, want.values,
             1, wide);
    ba_free(&got);
    ba_free(&want);
}

// Near the unit matrix, so that a chain of them neither grows nor vanishes.
static void make_matrix(double a[HAND_MATRIX])
{
    for (size_t i = 0; i < HAND_MATRIX; i++)
        a[i] = (i % 5 == 0) + (i < 12 ? uniform(-0.3, 0.3) : 0);
}

enum { OWN_VERTICES = 12, OWN_TRIANGLES = 9 };

struct own_model {
    struct hand_model h;
    double rest[3 * OWN_VERTICES];
    double weight[HAND_BONES * OWN_VERTICES];
    size_t corner[3 * OWN_TRIANGLES];
};

static size_t below(size_t n) { return (size_t)uniform(0, (double)n); }

static void make_model(struct own_model *m)
{
    memset(m, 0, sizeof *m);
    seed = 4;
    m->h.vertices = OWN_VERTICES;
    m->h.triangles = OWN_TRIANGLES;
    m->h.rest = m->rest;
    m->h.weight = m->weight;
    m->h.corner = m->corner;
    for (int q = 0; q < HAND_BONES; q++) {
        m->h.parent[q] = q == 0 ? -1 : q == 21 || q % 4 == 1 ? 0 : q - 1;
        make_matrix(m->h.base[q]);
        make_matrix(m->h.inverse[q]);
    }
    fill(3 * OWN_VERTICES, -1, 1, m->rest);
    for (size_t v = 0; v < OWN_VERTICES; v++) {
        m->weight[HAND_BONES * v + 4 * (v % 5) + 4] = uniform(0.2, 0.5);
        m->weight[HAND_BONES * v + 4 * (v % 5) + 2] = uniform(0.2, 0.5);
        m->weight[HAND_BONES * v + v % 2 * 21] = uniform(0.1, 0.3);
    }
    for (size_t i = 0; i < 3 * OWN_TRIANGLES; i++)
        m->corner[i] = below(OWN_VERTICES);
}

// size: of the global rotation; below 1e-4 there is none
static void own_hand(const struct hand_model *h, bool complicated, double size)
{
    enum { N = 7, MOST = HAND_THETA + 2 * N };
    const char *name = complicated ? "own hand, complicated"
                                   : "own hand, simple";
    double x[MOST], measured[3 * N], F[3 * N];
    double full[3 * N * MOST], J[3 * N * MOST];
    size_t at[N];
    struct hand p = { .model = h, .complicated = complicated, .n = N, .at = at,
                      .measured = measured, .us = x + HAND_THETA, .theta = x };
    for (size_t i = 0; i < N; i++)
        at[i] = below(complicated ? OWN_TRIANGLES : OWN_VERTICES);
    fill(3 * N, -2, 2, measured);
    fill(2 * N, 0.1, 0.6, fill(HAND_THETA - 3, -1, 1,
                               fill(3, 0.5 * size, size, x)));
    complex_jacobian(complex_hand, &p, hand_inputs(&p), x, 3 * N, F, full);
    hand_compress(&p, full, J);
    test_hand(name, &p, F, J, tight);
}

static void run_own(void)
{
    static struct own_model m;
    own_gmm();
    own_lstm();
    own_ba();
    make_model(&m);
    for (int complicated = 0; complicated < 2; complicated++) {
        own_hand(&m.h, complicated, 0.9);
        own_hand(&m.h, complicated, 5e-5);
    }
}

int main(void)
{
    run_own();
    run_references();
    return check_done("function_real");
}
