// SPDX-License-Identifier: MIT-0
// tags: slow
// needs: long-double
/* adbench.c - derivatives of real problems against references.
 *
 * The references of the ADBench problems are the derivatives in 128 bits; the
 * files lie in $ADBENCH, or in ../shared/adbench beside the checkout. Where
 * they are not, the cases made here are left: inputs of the same formats from
 * splitmix64, written to a file, read back, and compared with the closed form
 * (gmm) and complex steps (the others).
 *
 * A derivative is measured in two ways. M is the largest entry of a gradient,
 * of the matrix of a hand, of a row of bundle adjustment:
 *
 *     normal       |got - want| / M
 *     component    |got - want| / max(|want|, M/1000)
 *
 * and what is exactly 0 must be exactly 0. Every program is there twice, of
 * scalars and over arrays (adbench_arrays.h). A value may be off by its
 * tolerance times max(1, |want|).                                            */

#include "implementation.h"
#include "adrev.h"

#include "adbench_files.h"
#include "adbench_oracle.h"
#include "check.h"

#define NUM       ad_rev
#define REC(e)    ad_rec(e)
#define NAME(f)   rev_##f
#include "adbench_programs.h"

#define NUM       ad_fwd
#define REC(e)    ad_dual(e)
#define NAME(f)   fwd_##f
#include "adbench_programs.h"

#include "adbench_arrays.h"

_Static_assert(sizeof(ad_real) == sizeof(double), "references in double");

static ad_tape *tape;
static bool arrays;         // the programs over arrays, not those of scalars

/* --- measures ------------------------------------------------------------- */

struct tolerance {
    double value;
    double normal;
    double component;
};

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

static void judge(const char *name, const char *against, struct errors e,
                  struct tolerance t)
{
    CHECK(e.normal <= t.normal,
          "%s against %s: normal error %.2e, allowed %.0e", name, against,
          e.normal, t.normal);
    CHECK(e.component <= t.component,
          "%s against %s: component error %.2e, allowed %.0e", name, against,
          e.component, t.component);
    CHECK(e.not_zero == 0, "%s against %s: %zu entries should be 0", name,
          against, e.not_zero);
}

static void check_derivative(const char *name, const char *against, size_t n,
                             const double *got, const double *want,
                             struct tolerance t)
{
    struct errors e = { 0 };
    measure(&e, n, got, want);
    judge(name, against, e, t);
}

static void check_values(const char *name, const char *against, size_t n,
                         const double *got, const double *want,
                         struct tolerance t)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = worse(worst,
                      fabs(got[i] - want[i]) / fmax(1, fabs(want[i])));
    CHECK(worst <= t.value, "%s against %s: value off by %.2e, allowed %.0e",
          name, against, worst, t.value);
}

// A direction for forward mode: all coordinates differ, none is small.
static double direction(size_t i)
{
    return (i % 2 == 0 ? 1 : -1) * (0.5 + 0.1 * (double)(i % 7));
}

// One derivative in forward mode against a row of J times the direction.
static void check_forward(const char *name, ad_fwd y, double value, size_t n,
                          const double *row, size_t step, struct tolerance t)
{
    double sum = 0;
    double size = 0;
    for (size_t j = 0; j < n; j++) {
        sum += row[j * step] * direction(j);
        size += fabs(row[j * step] * direction(j));
    }
    CHECK(fabs(y.v - value) <= t.value * fmax(1, fabs(value)),
          "%s: forward value %.17g, recorded %.17g", name, y.v, value);
    CHECK(fabs(y.d - sum) <= t.component * size,
          "%s: forward %.17g, by rows %.17g", name, y.d, sum);
}

static ad_rev *open_tape(size_t n, const double *x)
{
    ad_rev *in = adbench_get(n, sizeof *in);
    ad_tape_clear(tape);
    ad_inputs(n, x, in);
    return in;
}

static ad_fwd *open_forward(size_t n, const double *x)
{
    ad_fwd *in = adbench_get(n, sizeof *in);
    for (size_t i = 0; i < n; i++)
        in[i] = (ad_fwd){ x[i], direction(i) };
    return in;
}

static void expect_ok(const char *name, ad_status s)
{
    CHECK(s == ADREV_OK, "%s: %s", name, ad_message(s));
}

/* --- gmm and lstm: one gradient ------------------------------------------- */

static double gradient_gmm(const char *name, const struct gmm *g, double *J)
{
    ad_rev *in = open_tape(gmm_inputs(g), g->in);
    ad_rev F = arrays ? gmm_arrays(g, in) : rev_gmm(g, in);
    expect_ok(name, ad_gradient(tape, F, gmm_inputs(g), in, J));
    free(in);
    return F.v;
}

static double gradient_lstm(const char *name, const struct lstm *p, double *J)
{
    ad_rev *in = open_tape(lstm_inputs(p), p->in);
    ad_rev F = arrays ? lstm_arrays(p, in) : rev_lstm(p, in);
    expect_ok(name, ad_gradient(tape, F, lstm_inputs(p), in, J));
    free(in);
    return F.v;
}

// want_F and want_J: a reference beside the closed form, or NULL
static void test_gmm(const char *name, const struct gmm *g,
                     const double *want_F, const double *want_J,
                     struct tolerance t)
{
    size_t n = gmm_inputs(g);
    double *J = adbench_get(n, sizeof *J);
    double *hand = adbench_get(n, sizeof *hand);
    double F = gradient_gmm(name, g, J);
    double F_hand = oracle_gmm(g, hand);
    ad_fwd *in = open_forward(n, g->in);

    check_values(name, "closed form", 1, &F, &F_hand, t);
    check_derivative(name, "closed form", n, J, hand, t);
    if (want_F && want_J) {
        check_values(name, "reference", 1, &F, want_F, t);
        check_derivative(name, "reference", n, J, want_J, t);
    }
    check_forward(name, fwd_gmm(g, in), F, n, J, 1, t);
    free(in);
    free(hand);
    free(J);
}

static void test_lstm(const char *name, const char *against,
                      const struct lstm *p, const double *want_F,
                      const double *want_J, struct tolerance t)
{
    size_t n = lstm_inputs(p);
    double *J = adbench_get(n, sizeof *J);
    double F = gradient_lstm(name, p, J);
    ad_fwd *in = open_forward(n, p->in);
    check_values(name, against, 1, &F, want_F, t);
    check_derivative(name, against, n, J, want_J, t);
    check_forward(name, fwd_lstm(p, in), F, n, J, 1, t);
    free(in);
    free(J);
}

/* --- ba: a sparse Jacobian, one small dense one per observation ----------- */

struct ba_result {
    double *R;          // errors, 2 p
    double *W;          // weight terms, p
    double *values;     // 31 p
    size_t *rows;       // 3 p + 1
    size_t *columns;    // 31 p
};

static struct ba_result ba_result(const struct ba *b)
{
    struct ba_result r;
    r.R = adbench_get(2 * b->p, sizeof *r.R);
    r.W = adbench_get(b->p, sizeof *r.W);
    r.values = adbench_get(31 * b->p, sizeof *r.values);
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
static void ba_inputs(const struct ba *b, size_t i, double x[BA_INPUTS])
{
    const struct ba_seen *s = &b->seen[i];
    memcpy(x, b->cameras + BA_CAMERA * s->camera, BA_CAMERA * sizeof *x);
    memcpy(x + BA_CAMERA, b->points + BA_POINT * s->point,
           BA_POINT * sizeof *x);
    x[BA_INPUTS - 1] = b->weights[i];
}

static void ba_forward(const struct ba *b, size_t i, const double *x,
                       const struct ba_result *r, struct tolerance t)
{
    ad_fwd in[BA_INPUTS];
    ad_fwd e[2];
    for (size_t j = 0; j < BA_INPUTS; j++)
        in[j] = (ad_fwd){ x[j], direction(j) };
    fwd_ba_error(in, b->seen[i].at, e);
    for (size_t k = 0; k < 2; k++)
        check_forward("ba", e[k], r->R[2 * i + k], BA_INPUTS,
                      r->values + 30 * i + 15 * k, 1, t);
    ad_fwd w = { x[BA_INPUTS - 1], direction(0) };
    check_forward("ba: weight", fwd_ba_weight(w), r->W[i], 1,
                  r->values + 30 * b->p + i, 1, t);
}

// A row has the columns of a camera, of a point, and of a weight.
static void ba_columns(const struct ba *b, size_t i, size_t *column)
{
    for (size_t j = 0; j < BA_CAMERA; j++)
        column[j] = BA_CAMERA * b->seen[i].camera + j;
    for (size_t j = 0; j < BA_POINT; j++)
        column[BA_CAMERA + j] = BA_CAMERA * b->n
                              + BA_POINT * b->seen[i].point + j;
    column[BA_INPUTS - 1] = BA_CAMERA * b->n + BA_POINT * b->m + i;
}

static void ba_structure(const struct ba *b, struct ba_result *r)
{
    for (size_t i = 0; i < b->p; i++) {
        ba_columns(b, i, r->columns + 30 * i);
        ba_columns(b, i, r->columns + 30 * i + 15);
        r->columns[30 * b->p + i] = r->columns[30 * i + 14];
    }
    for (size_t row = 0; row <= 2 * b->p; row++)
        r->rows[row] = 15 * row;
    for (size_t i = 1; i <= b->p; i++)
        r->rows[2 * b->p + i] = 30 * b->p + i;
}

// 1 - w^2 of every weight: the matrix is a diagonal, which the adjoints of
// the weights hold when every term has weight 1.
static void ba_weights(const struct ba *b, struct ba_result *r)
{
    ad_rev *w = open_tape(b->p, b->weights);
    ad_rev *y = adbench_get(b->p, sizeof *y);
    double *one = adbench_get(b->p, sizeof *one);
    for (size_t i = 0; i < b->p; i++) {
        y[i] = rev_ba_weight(w[i]);
        r->W[i] = y[i].v;
        one[i] = 1;
    }
    expect_ok("ba: weights", ad_pullback(tape, b->p, y, one, b->p, w,
                                         r->values + 30 * b->p));
    free(one);
    free(y);
    free(w);
}

static void ba_jacobian(const struct ba *b, struct ba_result *r,
                        struct tolerance t)
{
    ad_status s = ADREV_OK;
    ba_weights(b, r);
    for (size_t i = 0; i < b->p && s == ADREV_OK; i++) {
        double x[BA_INPUTS];
        ad_rev in[BA_INPUTS];
        ad_rev e[2];
        ba_inputs(b, i, x);
        ad_tape_clear(tape);
        ad_inputs(BA_INPUTS, x, in);
        (arrays ? ba_error_arrays : rev_ba_error)(in, b->seen[i].at, e);
        r->R[2 * i] = e[0].v;
        r->R[2 * i + 1] = e[1].v;
        s = ad_jacobian(tape, 2, e, BA_INPUTS, in, r->values + 30 * i);
        if (i < 1000)
            ba_forward(b, i, x, r, t);
    }
    expect_ok("ba", s);
    ba_structure(b, r);
}

// step 0: a reference of one observation for all
static void check_ba(const char *name, const char *against, const struct ba *b,
                     const struct ba_result *r, const double *R,
                     const double *W, const double *values, size_t step,
                     struct tolerance t)
{
    struct errors e = { 0 };
    const double *weights = values + (step ? 30 * b->p : 30);
    for (size_t i = 0; i < b->p; i++) {
        size_t k = i * step;
        check_values(name, against, 2, r->R + 2 * i, R + 2 * k, t);
        check_values(name, against, 1, r->W + i, W + k, t);
        measure(&e, 15, r->values + 30 * i, values + 30 * k);
        measure(&e, 15, r->values + 30 * i + 15, values + 30 * k + 15);
        measure(&e, 1, r->values + 30 * b->p + i, weights + k);
    }
    judge(name, against, e, t);
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

/* --- hand: a dense Jacobian ----------------------------------------------- */

static size_t hand_columns(const struct hand *p)
{
    return HAND_THETA + (p->complicated ? 2 : 0);
}

// Column k of us: residual i depends on us[2 i + k] alone, so that one forward
// sweep along all of them gives it.
static void hand_us(const struct hand *p, const ad_rev *us, size_t k,
                    const ad_rev *F, double *column)
{
    double *along = adbench_get(2 * p->n, sizeof *along);
    for (size_t i = 0; i < p->n; i++)
        along[2 * i + k] = 1;
    expect_ok("hand: us", ad_pushforward(tape, 2 * p->n, us, along, 3 * p->n,
                                         F, column));
    free(along);
}

// J is stored column by column, those of us first.
static void hand_jacobian(const char *name, const struct hand *p, double *F,
                          double *J)
{
    size_t m = 3 * p->n;
    ad_rev theta[HAND_THETA];
    ad_rev *us = adbench_get(2 * p->n, sizeof *us);
    ad_rev *y = adbench_get(m, sizeof *y);
    double *rows = adbench_get(m * HAND_THETA, sizeof *rows);

    ad_tape_clear(tape);
    ad_inputs(HAND_THETA, p->theta, theta);
    if (p->complicated)
        ad_inputs(2 * p->n, p->us, us);
    (arrays ? hand_arrays : rev_hand)(p, theta, us, y);
    for (size_t i = 0; i < m; i++)
        F[i] = y[i].v;
    for (size_t k = 0; p->complicated && k < 2; k++, J += m)
        hand_us(p, us, k, y, J);
    expect_ok(name, ad_jacobian(tape, m, y, HAND_THETA, theta, rows));
    for (size_t j = 0; j < HAND_THETA; j++)
        for (size_t i = 0; i < m; i++)
            J[j * m + i] = rows[i * HAND_THETA + j];
    free(rows);
    free(y);
    free(us);
}

static void hand_forward(const char *name, const struct hand *p,
                         const double *F, const double *J,
                         struct tolerance t)
{
    size_t m = 3 * p->n;
    ad_fwd *theta = open_forward(HAND_THETA, p->theta);
    ad_fwd *us = adbench_get(2 * p->n, sizeof *us);
    ad_fwd *y = adbench_get(m, sizeof *y);
    for (size_t i = 0; p->complicated && i < 2 * p->n; i++)
        us[i].v = p->us[i];
    fwd_hand(p, theta, us, y);
    J += (hand_columns(p) - HAND_THETA) * m;
    for (size_t i = 0; i < m; i++)
        check_forward(name, y[i], F[i], HAND_THETA, J + i, m, t);
    free(y);
    free(us);
    free(theta);
}

static void test_hand(const char *name, const char *against,
                      const struct hand *p, const double *want_F,
                      const double *want_J, struct tolerance t)
{
    size_t m = 3 * p->n;
    double *F = adbench_get(m, sizeof *F);
    double *J = adbench_get(m * hand_columns(p), sizeof *J);
    hand_jacobian(name, p, F, J);
    check_values(name, against, m, F, want_F, t);
    check_derivative(name, against, m * hand_columns(p), J, want_J, t);
    hand_forward(name, p, F, J, t);
    free(J);
    free(F);
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

static bool right_dims(const struct reference *f, size_t a, size_t b, size_t c)
{
    return CHECK(f->dims[0] == a && f->dims[1] == b && f->dims[2] == c,
                 "%s: reference for %zu %zu %zu", f->name, f->dims[0],
                 f->dims[1], f->dims[2]);
}

static void case_gmm(struct reader *r, const struct reference *f,
                     struct tolerance t)
{
    struct gmm g = read_gmm(r, strcmp(f->kind, "gmm_replicate") == 0);
    if (r->error || !right_dims(f, g.d, g.K, g.n))
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
    if (r->error || !right_dims(f, p.l, p.c, p.b))
        return;
    const double *F = reference_of(f, "F", 1);
    const double *J = reference_of(f, "J", lstm_inputs(&p));
    if (CHECK(F && J, "%s: sections", f->name))
        test_lstm(f->name, "reference", &p, F, J, t);
}

static void case_ba(struct reader *r, const struct reference *f,
                    struct tolerance t)
{
    struct ba b = read_ba(r, strcmp(f->kind, "ba_replicated") == 0);
    if (r->error || !right_dims(f, b.n, b.m, b.p))
        return;
    bool one = reference_of(f, "R1", 2) != NULL;
    size_t p = one ? 1 : b.p;
    const double *R = reference_of(f, one ? "R1" : "R", 2 * p);
    const double *W = reference_of(f, one ? "W1" : "W", p);
    const double *V = reference_of(f, one ? "VALS1" : "VALS", 31 * p);
    if (!CHECK(R && W && V, "%s: sections", f->name))
        return;
    struct ba_result y = ba_result(&b);
    ba_jacobian(&b, &y, t);
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

// Three files, of which the later ones refer to the ones before.
static struct hand_model read_model(FILE *bones, FILE *vertices,
                                    FILE *triangles, struct reader r[3])
{
    struct hand_model h = { .vertices = 0 };
    r[0] = reader_open(bones);
    r[1] = reader_open(vertices);
    r[2] = reader_open(triangles);
    read_bones(&r[0], &h);
    read_vertices(&r[1], &h);
    read_triangles(&r[2], &h);
    return h;
}

static void case_hand(struct reader *r, const struct reference *f,
                      const char *model, struct tolerance t)
{
    struct reader m[3];
    struct hand_model h = read_model(open_data(model, "bones.txt"),
                                     open_data(model, "vertices.txt"),
                                     open_data(model, "triangles.txt"), m);
    for (size_t i = 0; i < 3; i++)
        if (m[i].error)
            reader_fail(r, m[i].error);
    struct hand p = read_hand(r, &h,
                              strcmp(f->kind, "hand_complicated") == 0);
    size_t rows = 3 * p.n;
    size_t columns = hand_columns(&p);
    if (!r->error && right_dims(f, p.n, rows, columns)) {
        const double *F = reference_of(f, "F", rows);
        const double *J = reference_of(f, "J", rows * columns);
        if (CHECK(F && J, "%s: sections", f->name))
            test_hand(f->name, "reference", &p, F, J, t);
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

    if (CHECK(!ref.error, "%s: %s", c->reference, ref.error)
        && CHECK(strcmp(f.name, c->name) == 0
                     && strcmp(f.kind, c->kind) == 0,
                 "%s: another case", c->reference)) {
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
        printf("adbench: skipped, no data (set ADBENCH)\n");
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

static size_t below(size_t n) { return (size_t)uniform(0, (double)n); }

static FILE *make_file(uint64_t start)
{
    FILE *f = tmpfile();
    seed = start;
    if (!f)
        exit(EXIT_FAILURE);
    return f;
}

static void put(FILE *f, size_t n, double from, double to)
{
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%.17g%s", uniform(from, to), i + 1 < n ? " " : "\n");
}

// reach: of the points; far away every exponential underflows
static FILE *make_gmm(size_t d, size_t K, size_t n, bool replicate,
                      double reach)
{
    FILE *f = make_file(1);
    fprintf(f, "%zu %zu %zu\n", d, K, n);
    put(f, K, -1, 1);
    put(f, K * d, 0, 1);
    put(f, K * gmm_triangle(d), -0.7, 0.7);
    put(f, replicate ? d : n * d, -reach, reach);
    fprintf(f, "%.17g %d\n", uniform(0.5, 1.5), 2);
    return f;
}

static FILE *make_lstm(size_t l, size_t c, size_t b)
{
    FILE *f = make_file(2);
    fprintf(f, "%zu %zu %zu\n", l, c, b);
    put(f, 8 * l * b, -1, 1);
    put(f, 3 * b, -1, 1);
    put(f, 2 * l * b, -1, 1);
    for (size_t i = 0; i < c * b; i++)
        fprintf(f, "%zu\n", i % b == 0 ? 0 : below(2));     // bit 0: never
    return f;
}

// Camera 0 is not turned at all.
static void put_camera(FILE *f, bool turned)
{
    if (turned)
        put(f, 3, -0.8, 0.8);
    else
        fprintf(f, "0 0 0\n");
    put(f, 2, -1, 1);
    put(f, 1, -9, -6);
    put(f, 1, 300, 600);
    put(f, 2, -15, 15);
    put(f, 2, -0.1, 0.1);
}

static FILE *make_ba(size_t n, size_t m, size_t p)
{
    FILE *f = make_file(3);
    fprintf(f, "%zu %zu %zu\n", n, m, p);
    for (size_t i = 0; i < n; i++)
        put_camera(f, i > 0);
    put(f, 3 * m, -2, 2);
    put(f, p, 0.1, 1);
    for (size_t i = 0; i < p; i++) {
        fprintf(f, "%zu %zu ", i % n, below(m));
        put(f, 2, -300, 300);
    }
    return f;
}

static FILE *make_ba_replicated(size_t n, size_t m, size_t p)
{
    FILE *f = make_file(4);
    fprintf(f, "%zu %zu %zu\n", n, m, p);
    put_camera(f, true);
    put(f, 3, -2, 2);
    put(f, 1, 0.1, 1);
    put(f, 2, -300, 300);
    return f;
}

// Near the unit matrix, so that a chain of them neither grows nor vanishes.
static void put_matrix(FILE *f)
{
    for (size_t i = 0; i < HAND_MATRIX; i++)
        fprintf(f, ":%.17g", i < 12 ? (i % 5 == 0) + uniform(-0.3, 0.3)
                                    : i == 15 ? 1 : 0);
}

static FILE *make_bones(void)
{
    FILE *f = make_file(5);
    for (int q = 0; q < HAND_BONES; q++) {
        bool root = q == 21 || q % 4 == 1;
        fprintf(f, "bone%d:%d", q, q == 0 ? -1 : root ? 0 : q - 1);
        put_matrix(f);
        put_matrix(f);
        fprintf(f, "\n");
    }
    return f;
}

static FILE *make_vertices(size_t n)
{
    FILE *f = make_file(6);
    for (size_t v = 0; v < n; v++) {
        for (size_t i = 0; i < 8; i++)
            fprintf(f, "%.17g:", uniform(-1, 1));
        fprintf(f, "3:%zu:%.17g:%zu:%.17g:%zu:%.17g\n", 4 * (v % 5) + 4,
                uniform(0.2, 0.5), 4 * (v % 5) + 2, uniform(0.2, 0.5),
                v % 2 * 21, uniform(0.1, 0.3));
    }
    return f;
}

static FILE *make_triangles(size_t n, size_t vertices)
{
    FILE *f = make_file(7);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%zu:%zu:%zu\n", below(vertices), below(vertices),
                below(vertices));
    return f;
}

// size: of the global rotation; below 1e-4 there is none
static FILE *make_hand(size_t n, size_t limit, bool complicated, double size)
{
    FILE *f = make_file(8);
    fprintf(f, "%zu %d\n", n, HAND_THETA);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%zu ", below(limit));
        put(f, 3, -2, 2);
    }
    put(f, complicated ? 2 * n : 0, 0.1, 0.6);
    put(f, 3, 0.5 * size, size);
    put(f, HAND_THETA - 3, -1, 1);
    return f;
}

/* --- and their derivatives ------------------------------------------------ */

static const struct tolerance tight = { 1e-13, 1e-13, 1e-11 };

// q - g cancels in bundle adjustment; the value is a difference of hundreds.
static const struct tolerance wide = { 1e-11, 1e-13, 1e-10 };

static void own_gmm(size_t d, size_t K, size_t n, bool replicate,
                    double reach)
{
    struct reader r = reader_open(make_gmm(d, K, n, replicate, reach));
    struct gmm g = read_gmm(&r, replicate);
    if (CHECK(!r.error, "own gmm: %s", r.error))
        test_gmm("own gmm", &g, NULL, NULL, tight);
    reader_close(&r);
}

static void own_lstm(size_t l, size_t c, size_t b)
{
    struct reader r = reader_open(make_lstm(l, c, b));
    struct lstm p = read_lstm(&r);
    if (CHECK(!r.error, "own lstm: %s", r.error)) {
        double F = 0;
        double *J = adbench_get(lstm_inputs(&p), sizeof *J);
        complex_jacobian(complex_lstm, &p, lstm_inputs(&p), p.in, 1, &F, J);
        test_lstm("own lstm", "complex steps", &p, &F, J, tight);
        free(J);
    }
    reader_close(&r);
}

static void own_ba(FILE *f, bool replicate)
{
    struct reader r = reader_open(f);
    struct ba b = read_ba(&r, replicate);
    if (CHECK(!r.error, "own ba: %s", r.error)) {
        struct ba_result got = ba_result(&b);
        struct ba_result want = ba_result(&b);
        ba_jacobian(&b, &got, wide);
        for (size_t i = 0; i < b.p; i++) {
            double x[BA_INPUTS];
            double w = b.weights[i];
            ba_inputs(&b, i, x);
            complex_jacobian(complex_ba, b.seen[i].at, BA_INPUTS, x, 2,
                             want.R + 2 * i, want.values + 30 * i);
            want.W[i] = 1 - w * w;
            want.values[30 * b.p + i] = -2 * w;
        }
        check_ba("own ba", "complex steps", &b, &got, want.R, want.W,
                 want.values, 1, wide);
        ba_free(&want);
        ba_free(&got);
    }
    reader_close(&r);
}

static struct hand_model own_model(struct reader r[3])
{
    struct hand_model h = read_model(make_bones(), make_vertices(12),
                                     make_triangles(9, 12), r);
    for (size_t i = 0; i < 3; i++)
        CHECK(!r[i].error, "own model: %s", r[i].error);
    return h;
}

// The oracle has a column for every u: of residual i, those of u[i] are
// columns 0 and 1, and all the others are 0.
static void hand_compress(const struct hand *p, const double *full, double *J)
{
    size_t m = 3 * p->n;
    size_t n = HAND_THETA + (p->complicated ? 2 * p->n : 0);
    for (size_t i = 0; i < m; i++) {
        double *to = J + i;
        for (size_t k = 0; k < (p->complicated ? 2 : 0); k++, to += m)
            *to = full[i * n + HAND_THETA + 2 * (i / 3) + k];
        for (size_t j = 0; j < HAND_THETA; j++, to += m)
            *to = full[i * n + j];
    }
}

static void own_hand(const struct hand_model *h, bool complicated, double size)
{
    size_t limit = complicated ? h->triangles : h->vertices;
    struct reader r = reader_open(make_hand(7, limit, complicated, size));
    struct hand p = read_hand(&r, h, complicated);
    if (CHECK(!r.error, "own hand: %s", r.error)) {
        size_t m = 3 * p.n;
        size_t us = complicated ? 2 * p.n : 0;
        size_t n = HAND_THETA + us;
        double *x = adbench_get(n, sizeof *x);
        double *F = adbench_get(m, sizeof *F);
        double *full = adbench_get(m * n, sizeof *full);
        double *J = adbench_get(m * hand_columns(&p), sizeof *J);
        memcpy(x, p.theta, HAND_THETA * sizeof *x);
        memcpy(x + HAND_THETA, p.us, us * sizeof *x);
        complex_jacobian(complex_hand, &p, n, x, m, F, full);
        hand_compress(&p, full, J);
        test_hand(complicated ? "own hand, complicated" : "own hand, simple",
                  "complex steps", &p, F, J, tight);
        free(J);
        free(full);
        free(F);
        free(x);
    }
    reader_close(&r);
}

static void run_own(void)
{
    struct reader r[3];
    struct hand_model h = own_model(r);

    own_gmm(2, 1, 5, false, 2);
    own_gmm(3, 4, 20, false, 2);
    own_gmm(6, 3, 10, false, 2);
    own_gmm(6, 3, 10, false, 50);
    own_gmm(3, 2, 9, true, 2);
    own_lstm(1, 3, 4);
    own_lstm(3, 8, 3);
    own_ba(make_ba(4, 6, 30), false);
    own_ba(make_ba_replicated(3, 4, 10), true);
    for (int complicated = 0; complicated < 2; complicated++) {
        own_hand(&h, complicated, 0.9);
        own_hand(&h, complicated, 0);
        own_hand(&h, complicated, 5e-5);
    }
    for (size_t i = 0; i < 3; i++)
        reader_close(&r[i]);
}

/* --- files that are not right --------------------------------------------- */

static const struct hand_model *model;      // of the files below

static void any_gmm(struct reader *r) { read_gmm(r, false); }
static void any_replicate(struct reader *r) { read_gmm(r, true); }
static void any_lstm(struct reader *r) { read_lstm(r); }
static void any_ba(struct reader *r) { read_ba(r, false); }
static void any_ba_one(struct reader *r) { read_ba(r, true); }
static void any_simple(struct reader *r) { read_hand(r, model, false); }
static void any_complicated(struct reader *r) { read_hand(r, model, true); }
static void any_reference(struct reader *r) { read_reference(r); }

static void any_bones(struct reader *r)
{
    struct hand_model h = { .vertices = 0 };
    read_bones(r, &h);
}

static void any_vertices(struct reader *r)
{
    struct hand_model h = { .vertices = 0 };
    read_vertices(r, &h);
}

static void any_triangles(struct reader *r)
{
    struct hand_model h = { .vertices = 12 };
    read_triangles(r, &h);
}

typedef void any_read(struct reader *r);

// The text up to at, another word, and what follows: must be an error.
static void refused(const char *name, any_read *read, const char *text,
                    size_t at, const char *word, const char *rest)
{
    FILE *f = make_file(0);
    fwrite(text, 1, at, f);
    fprintf(f, "%s%s", word, rest);
    struct reader r = reader_open(f);
    read(&r);
    CHECK(r.error != NULL, "%s: '%s' at character %zu is not noticed", name,
          word, at);
    reader_close(&r);
}

// Every word in turn is the first that is missing, or is not a number. A file
// of lines may end after any of them, and a line may begin with a name.
static void damaged(const char *name, any_read *read, bool lines, FILE *f)
{
    struct reader whole = reader_open(f);
    const char *text = whole.at;
    for (size_t at = 0; text[at] != '\0'; ) {
        size_t n = strcspn(text + at, " :\n");
        if (!lines || (at > 0 && text[at - 1] != '\n')) {
            refused(name, read, text, at, "", "");
            refused(name, read, text, at, "x", text + at + n);
            refused(name, read, text, at, "1e999", text + at + n);
        }
        at += n;
        at += strspn(text + at, " :\n");
    }
    if (!lines)
        refused(name, read, text, strlen(text), "1\n", "");
    reader_close(&whole);

    struct reader none = reader_open(NULL);
    read(&none);
    CHECK(none.error != NULL, "%s: no file", name);
    reader_close(&none);
}

// Each of the first words, the sizes, is none, negative, huge, or one more
// than the file holds.
static void wrong_sizes(const char *name, any_read *read, size_t words,
                        FILE *f)
{
    static const char *const bad[] = { "0", "-1", "2.5", "4097", "10000000",
                                       "99999999999999999999" };
    struct reader whole = reader_open(f);
    const char *text = whole.at;
    size_t at = 0;
    for (size_t i = 0; i < words; i++) {
        char more[32];
        char *end;
        snprintf(more, sizeof more, "%ld", strtol(text + at, &end, 10) + 1);
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
            refused(name, read, text, at, bad[k], end);
        refused(name, read, text, at, more, end);
        at = (size_t)(end - text) + 1;
    }
    reader_close(&whole);
}

// Word number k of a file, counted from 0, is another one.
static void wrong_word(const char *name, any_read *read, FILE *f, size_t k,
                       const char *word)
{
    struct reader whole = reader_open(f);
    const char *text = whole.at;
    size_t at = 0;
    for (; k > 0; k--) {
        at += strcspn(text + at, " :\n");
        at += strspn(text + at, " :\n");
    }
    refused(name, read, text, at, word,
            text + at + strcspn(text + at, " :\n"));
    reader_close(&whole);
}

static FILE *make_reference(void)
{
    FILE *f = make_file(9);
    fprintf(f, "ADREVREF 1\ncase own\nkind gmm\ndims 3 2 1 1\n"
               "section F 1\n1.5\nsection HASH 2\n7 18446744073709551615\n"
               "end\n");
    return f;
}

static void run_damaged(void)
{
    struct reader r[3];
    struct hand_model h = own_model(r);
    model = &h;

    damaged("gmm", any_gmm, false, make_gmm(2, 2, 3, false, 2));
    damaged("lstm", any_lstm, false, make_lstm(1, 3, 2));
    damaged("ba", any_ba, false, make_ba(2, 2, 3));
    damaged("simple", any_simple, false, make_hand(2, 9, false, 1));
    damaged("complicated", any_complicated, false, make_hand(2, 9, true, 1));
    damaged("bones", any_bones, true, make_bones());
    damaged("vertices", any_vertices, true, make_vertices(3));
    damaged("triangles", any_triangles, true, make_triangles(3, 12));

    wrong_sizes("gmm", any_gmm, 3, make_gmm(2, 2, 3, false, 2));
    wrong_sizes("gmm", any_replicate, 2, make_gmm(2, 2, 3, true, 2));
    wrong_sizes("lstm", any_lstm, 3, make_lstm(1, 3, 2));
    wrong_sizes("ba", any_ba, 3, make_ba(2, 2, 3));
    wrong_sizes("simple", any_simple, 2, make_hand(2, 9, false, 1));

    wrong_word("gamma", any_replicate, make_gmm(2, 1, 3, true, 2), 11, "-1");
    wrong_word("bit", any_lstm, make_lstm(1, 3, 2), 30, "2");
    wrong_word("camera", any_ba, make_ba(2, 2, 3), 34, "2");
    wrong_word("point", any_ba, make_ba(2, 2, 3), 35, "2");
    wrong_word("zero", any_ba_one, make_ba_replicated(1, 1, 1), 0, "0");
    wrong_word("vertex", any_simple, make_hand(2, 9, false, 1), 2, "12");
    wrong_word("triangle", any_complicated, make_hand(2, 9, true, 1), 2, "9");
    wrong_word("parent", any_bones, make_bones(), 35, "1");
    wrong_word("matrix", any_bones, make_bones(), 17, "2");
    wrong_word("bone", any_vertices, make_vertices(2), 9, "22");
    wrong_word("bones", any_vertices, make_vertices(2), 8, "23");
    wrong_word("corner", any_triangles, make_triangles(2, 12), 1, "12");
    for (size_t i = 0; i < 3; i++)
        reader_close(&r[i]);
}

static void run_damaged_references(void)
{
    struct reader good = reader_open(make_reference());
    struct reference f = read_reference(&good);
    CHECK(!good.error, "own reference: %s", good.error);
    CHECK(reference_of(&f, "F", 1) && *reference_of(&f, "F", 1) == 1.5
              && !reference_of(&f, "F", 2) && !reference_of(&f, "J", 1)
              && f.hash[0] == 7 && f.hash[1] == 18446744073709551615u,
          "own reference: numbers");
    reader_close(&good);

    // Names stand at 3, 5, 12 and 16.
    for (size_t k = 0; k <= 20; k++)
        if (k != 3 && k != 5 && k != 12 && k != 16)
            wrong_word("reference", any_reference, make_reference(), k, "x");
    wrong_word("reference", any_reference, make_reference(), 13, "2");
    wrong_word("reference", any_reference, make_reference(), 17, "0");
}

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    for (int i = 0; i < 2; i++) {
        arrays = i == 1;
        run_own();
        run_references();
    }
    run_damaged();
    run_damaged_references();
    ad_tape_free(tape);
    return check_done("adbench");
}
