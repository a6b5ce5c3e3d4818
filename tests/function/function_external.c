// SPDX-License-Identifier: MIT-0
// tags: recorded slow threads
// flags: -DADREV_TRACE=1 -pthread
/* function_external.c - external statements in recorded functions.
 *
 * Every question to functions with them, against the same functions made of
 * elementary operations, and a linear solve against its closed form; calls of
 * such functions; replays that fail at each of their calls, at some points, at
 * some directions; memory that runs out; what is destroyed, when, how often;
 * what cannot be done; threads. With -DON_POOL maps run on a pool.          */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ADREV_IMPLEMENTATION
#ifdef ON_POOL
#include "adrev_parallel.h"
#endif
#include "adrev_function.h"

#include "check.h"
#include "heap.h"

#include <pthread.h>

enum { MOST = 80, POINTS = 2 * ADREV_LANES_MOST + 65 };

#define UNTOUCHED (-12345.5)
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* --- a rule with two results, and what it sees ---------------------------- */

// y0 = c0 sin(x0) x1 + x2 x2,  y1 = c1 x0 x1 x2 + exp(x2)
typedef struct twist_saved {
    long double stamp;          // wants the strictest alignment
    double here[3];             // the point of the recording: not for replays
    double *c;                  // [2], freed by destroy
} twist_saved;

static atomic_int made;         // statements
static atomic_int destroyed;
static atomic_int calls;        // of replays
static atomic_int fail_at;      // the call that fails; 0: none
static atomic_int fail_from;    // and all from this one
static atomic_bool wrong;       // a replay was asked what it must not be
static bool abreast;            // rules take several directions at once

static const double refused = 50;       // a replay fails where x0 is more

static void first_derivatives(const double c[2], const double x[3],
                              double J[2][3])
{
    J[0][0] = c[0] * cos(x[0]) * x[1];
    J[0][1] = c[0] * sin(x[0]);
    J[0][2] = 2 * x[2];
    J[1][0] = c[1] * x[1] * x[2];
    J[1][1] = c[1] * x[0] * x[2];
    J[1][2] = c[1] * x[0] * x[1] + exp(x[2]);
}

static void second_derivatives(const double c[2], const double x[3],
                               double H[2][3][3])
{
    memset(H, 0, 2 * sizeof H[0]);
    H[0][0][0] = -c[0] * sin(x[0]) * x[1];
    H[0][0][1] = H[0][1][0] = c[0] * cos(x[0]);
    H[0][2][2] = 2;
    H[1][0][1] = H[1][1][0] = c[1] * x[2];
    H[1][0][2] = H[1][2][0] = c[1] * x[1];
    H[1][1][2] = H[1][2][1] = c[1] * x[0];
    H[1][2][2] = exp(x[2]);
}

static bool twist_back(const void *saved, size_t m, const double dy[],
                       size_t n, double dx[])
{
    const twist_saved *s = saved;
    double J[2][3];
    first_derivatives(s->c, s->here, J);
    for (size_t k = 0; k < m; k++)
        for (size_t i = 0; i < n; i++)
            dx[i] += dy[k] * J[k][i];
    return true;
}

static bool twist_forward(const void *saved, size_t n, const double dx[],
                          size_t m, double dy[])
{
    const twist_saved *s = saved;
    double J[2][3];
    first_derivatives(s->c, s->here, J);
    for (size_t k = 0; k < m; k++) {
        dy[k] = 0;
        for (size_t i = 0; i < n; i++)
            dy[k] += J[k][i] * dx[i];
    }
    return true;
}

static void twist_destroy(const void *saved)
{
    const twist_saved *s = saved;
    wrong = wrong || s->stamp != 42;
    free(s->c);
    destroyed++;
}

static bool is_zero(size_t n, const double *out)
{
    for (size_t i = 0; out != NULL && i < n; i++)
        if (out[i] != 0)
            return false;
    return true;
}

// One of the four things that may be asked, with zeros to be filled.
static bool is_sound(const ad_external_point *at)
{
    bool adjoint = at->yb != NULL;
    bool moving = at->xd != NULL;
    return at->x != NULL && (at->y != NULL) == !adjoint
        && (at->xb != NULL) == adjoint && (at->yd != NULL) == (!adjoint && moving)
        && (at->xbd != NULL) == (adjoint && moving)
        && (at->ybd != NULL) == (adjoint && moving)
        && (at->k > 0) == (adjoint || moving)
        && at->k <= (abreast ? ADREV_LANES_MOST : 1)
        && is_zero(at->m, at->y) && is_zero(at->k * at->m, at->yd)
        && is_zero(at->k * at->n, at->xb) && is_zero(at->k * at->n, at->xbd);
}

// Direction r of a call, as a call of its own.
static ad_external_point direction_of(const ad_external_point *at, size_t r)
{
    ad_external_point one = *at;
    one.k = 1;
#define ROW(field, n) one.field = at->field == NULL ? NULL : at->field + r * (n)
    ROW(xd, at->n);
    ROW(yb, at->m);
    ROW(ybd, at->m);
    ROW(yd, at->m);
    ROW(xb, at->n);
    ROW(xbd, at->n);
#undef ROW
    return one;
}

// Whether the call is to work. No tape may be current.
static bool replay_begins(const ad_external_point *at)
{
    int call = ++calls;
    ad_tape *current = ad_use(NULL);
    wrong = wrong || !is_sound(at) || current != NULL;
    ad_use(current);
    return call != fail_at && (fail_from == 0 || call < fail_from);
}

static bool has_nan(size_t n, const double *x)
{
    for (size_t i = 0; x != NULL && i < n; i++)
        if (x[i] != x[i])
            return true;
    return false;
}

static void twist_direction(const twist_saved *s, const ad_external_point *at)
{
    double J[2][3];
    double H[2][3][3];
    first_derivatives(s->c, at->x, J);
    second_derivatives(s->c, at->x, H);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < 3; i++) {
            if (at->yd != NULL)
                at->yd[k] += J[k][i] * at->xd[i];
            if (at->xb != NULL)
                at->xb[i] += at->yb[k] * J[k][i];
            if (at->xbd == NULL)
                continue;
            at->xbd[i] += at->ybd[k] * J[k][i];
            for (size_t j = 0; j < 3; j++)
                at->xbd[i] += at->yb[k] * H[k][i][j] * at->xd[j];
        }
}

static bool twist_replay(const void *saved, const ad_external_point *at)
{
    const twist_saved *s = saved;
    const double *x = at->x;
    bool ok = replay_begins(at);
    wrong = wrong || at->n != 3 || at->m != 2 || s->stamp != 42
         || (uintptr_t)saved % _Alignof(max_align_t) != 0;
    if (at->y != NULL) {
        at->y[0] = s->c[0] * sin(x[0]) * x[1] + x[2] * x[2];
        at->y[1] = s->c[1] * x[0] * x[1] * x[2] + exp(x[2]);
    }
    for (size_t r = 0; r < at->k; r++) {
        const ad_external_point one = direction_of(at, r);
        twist_direction(s, &one);
    }
    return ok && !(x[0] > refused) && !has_nan(2 * at->k, at->yb);
}

static const ad_external_rule twist_rule = {
    .name = "twist", .pullback = twist_back, .pushforward = twist_forward,
    .destroy = twist_destroy, .replay = twist_replay
};

static const ad_external_rule twist_abreast = {
    .name = "twist", .pullback = twist_back, .pushforward = twist_forward,
    .destroy = twist_destroy, .replay = twist_replay, .abreast = true
};

static const ad_external_rule not_replayed = {
    .name = "not replayed", .pullback = twist_back, .destroy = twist_destroy
};

static ad_status twist_by(const ad_external_rule *rule, double c0,
                          const ad_rev x[3], ad_rev y[2])
{
    twist_saved s = { .stamp = 42, .here = { x[0].v, x[1].v, x[2].v } };
    s.c = malloc(2 * sizeof *s.c);
    if (s.c == NULL)
        abort();
    s.c[0] = c0;
    s.c[1] = 0.25;
    const double v[2] = {
        s.c[0] * sin(x[0].v) * x[1].v + x[2].v * x[2].v,
        s.c[1] * x[0].v * x[1].v * x[2].v + exp(x[2].v)
    };
    made++;
    return ad_external(rule, &s, sizeof s, 3, x, 2, v, y);
}

static void twist(bool external, double c0, const ad_rev x[3], ad_rev y[2])
{
    if (external) {
        twist_by(abreast ? &twist_abreast : &twist_rule, c0, x, y);
        return;
    }
    y[0] = ad_rec(ad_add(ad_mul(ad_mul(c0, ad_sin(x[0])), x[1]),
                         ad_mul(x[2], x[2])));
    y[1] = ad_rec(ad_add(ad_mul(ad_mul(ad_mul(0.25, x[0]), x[1]), x[2]),
                         ad_exp(x[2])));
}

/* --- a linear solve ------------------------------------------------------- */

enum { D = 3 };                 // unknowns; operands: A row by row, then b

// x = A^-1 b by elimination without pivots; A is dominated by its diagonal.
static void eliminate(double A[D][D], double b[D])
{
    for (size_t k = 0; k < D; k++)
        for (size_t i = k + 1; i < D; i++) {
            double l = A[i][k] / A[k][k];
            for (size_t j = k; j < D; j++)
                A[i][j] -= l * A[k][j];
            b[i] -= l * b[k];
        }
    for (size_t i = D; i-- > 0;) {
        for (size_t j = i + 1; j < D; j++)
            b[i] -= A[i][j] * b[j];
        b[i] /= A[i][i];
    }
}

// out = A^-1 b, or A^-T b
static void solved(const double A[], bool transposed, const double b[],
                   double out[D])
{
    double M[D][D];
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            M[i][j] = transposed ? A[j * D + i] : A[i * D + j];
    memmove(out, b, D * sizeof *out);
    eliminate(M, out);
}

static void solve_moving(const ad_external_point *at, const double y[D],
                         double yd[D])
{
    memcpy(yd, at->xd + D * D, D * sizeof *yd);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            yd[i] -= at->xd[i * D + j] * y[j];
    solved(at->x, false, yd, yd);
}

// l = A^-T yb: b_bar = l, A_bar = -l y'; and all that in a direction.
static void solve_adjoint(const ad_external_point *at, const double y[D])
{
    double l[D];
    double ld[D];
    double yd[D];
    solved(at->x, true, at->yb, l);
    for (size_t i = 0; i < D; i++) {
        at->xb[D * D + i] = l[i];
        for (size_t j = 0; j < D; j++)
            at->xb[i * D + j] = -l[i] * y[j];
    }
    if (at->xbd == NULL)
        return;
    solve_moving(at, y, yd);
    memcpy(ld, at->ybd, sizeof ld);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            ld[j] -= at->xd[i * D + j] * l[i];
    solved(at->x, true, ld, ld);
    for (size_t i = 0; i < D; i++) {
        at->xbd[D * D + i] = ld[i];
        for (size_t j = 0; j < D; j++)
            at->xbd[i * D + j] = -ld[i] * y[j] - l[i] * yd[j];
    }
}

static bool solve_replay(const void *saved, const ad_external_point *at)
{
    double y[D];
    (void)saved;
    bool ok = replay_begins(at);
    solved(at->x, false, at->x + D * D, y);
    if (at->y != NULL)
        memcpy(at->y, y, sizeof y);
    for (size_t r = 0; r < at->k; r++) {
        const ad_external_point one = direction_of(at, r);
        if (at->yd != NULL)
            solve_moving(&one, y, one.yd);
        if (at->xb != NULL)
            solve_adjoint(&one, y);
    }
    return ok;
}

// On a tape it is not swept here.
static bool no_pullback(const void *saved, size_t m, const double dy[],
                        size_t n, double dx[])
{
    (void)saved;
    (void)m;
    (void)dy;
    (void)n;
    (void)dx;
    return false;
}

static const ad_external_rule solve_rule = {
    .name = "solve", .pullback = no_pullback, .replay = solve_replay
};

static const ad_external_rule solve_abreast = {
    .name = "solve", .pullback = no_pullback, .replay = solve_replay,
    .abreast = true
};

static void solve_in_steps(const ad_rev Ab[], ad_rev b[D])
{
    ad_rev A[D * D];
    memcpy(A, Ab, sizeof A);
    memcpy(b, Ab + D * D, D * sizeof *b);
    for (size_t k = 0; k < D; k++)
        for (size_t i = k + 1; i < D; i++) {
            ad_rev l = ad_rec(ad_div(A[i * D + k], A[k * D + k]));
            for (size_t j = k; j < D; j++)
                A[i * D + j] = ad_rec(ad_sub(A[i * D + j],
                                             ad_mul(l, A[k * D + j])));
            b[i] = ad_rec(ad_sub(b[i], ad_mul(l, b[k])));
        }
    for (size_t i = D; i-- > 0;) {
        for (size_t j = i + 1; j < D; j++)
            b[i] = ad_rec(ad_sub(b[i], ad_mul(A[i * D + j], b[j])));
        b[i] = ad_rec(ad_div(b[i], A[i * D + i]));
    }
}

static void solve(bool external, const ad_rev Ab[], ad_rev x[D])
{
    double A[D * D];
    double v[D];
    if (!external) {
        solve_in_steps(Ab, x);
        return;
    }
    for (size_t i = 0; i < D * D; i++)
        A[i] = Ab[i].v;
    for (size_t i = 0; i < D; i++)
        v[i] = Ab[D * D + i].v;
    solved(A, false, v, v);
    ad_external(abreast ? &solve_abreast : &solve_rule, NULL, 0, D * (D + 1),
                Ab, D, v, x);
}

/* --- functions, with external statements or without ----------------------- */

static const bool with = true;
static const bool without = false;

// An operand twice, a constant among them, a statement behind a statement.
static void tangle(const ad_rev *x, ad_rev *y, void *ctx)
{
    bool external = *(const bool *)ctx;
    ad_rev p = ad_rec(ad_mul(ad_sin(x[0]), x[1]));
    ad_rev first[3] = { p, ad_rec(ad_add(x[2], 0.3)), p };
    ad_rev t[2];
    ad_rev u[2];
    twist(external, 1.5, first, t);
    ad_rev second[3] = { ad_rec(0.7), x[3], ad_rec(ad_mul(t[1], 0.1)) };
    twist(external, -0.5, second, u);
    y[0] = ad_rec(ad_mul(t[0], u[1]));
    y[1] = ad_rec(ad_add(u[0], x[0]));
    y[2] = u[0];
}

static void one_result(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev all[3];
    tangle(x, all, ctx);
    y[0] = ad_rec(ad_mul(all[0], ad_add(all[1], all[2])));
}

static void network(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev Ab[D * (D + 1)];
    for (size_t i = 0; i < D; i++) {
        for (size_t j = 0; j < D; j++)
            Ab[i * D + j] = ad_rec(ad_add(i == j ? 4.0 : 0.0,
                                          ad_sin(x[(i + 2 * j) % 5])));
        Ab[D * D + i] = ad_rec(ad_mul(x[i], x[4]));
    }
    solve(*(const bool *)ctx, Ab, y);
}

// Its operands are inputs, its results outputs.
static void bare_solve(const ad_rev *x, ad_rev *y, void *ctx)
{
    solve(*(const bool *)ctx, x, y);
}

// The same with a diagonal that dominates, wherever it is asked.
static void shifted_solve(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev Ab[D * (D + 1)];
    for (size_t i = 0; i < COUNT(Ab); i++)
        Ab[i] = i < D * D && i % (D + 1) == 0 ? ad_rec(ad_add(x[i], 3)) : x[i];
    solve(*(const bool *)ctx, Ab, y);
}

// More rows and columns than lanes; sparse.
static void ring(const ad_rev *x, ad_rev *y, void *ctx)
{
    for (size_t i = 0; i < MOST; i++) {
        ad_rev at[3] = { x[i], x[(i + 1) % MOST], x[i] };
        ad_rev t[2];
        twist(*(const bool *)ctx, 1, at, t);
        y[i] = ad_rec(ad_mul(t[0], t[1]));
    }
}

// The same, dense.
static void wide(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev sum[3] = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };
    ad_rev t[2];
    for (size_t i = 0; i < MOST; i++)
        ad_acc(&sum[i % 3], ad_mul(x[i], 0.01 * (double)(i + 1)));
    twist(*(const bool *)ctx, 1, sum, t);
    for (size_t i = 0; i < MOST; i++)
        y[i] = ad_rec(ad_mul(t[i % 2], x[i]));
}

// A call of a function that calls one; and the branch is taken or not.
static void nested(const ad_rev *x, ad_rev *y, void *ctx)
{
    bool external = *(const bool *)ctx;
    const double at[4] = { 0.2, 0.4, 0.6, 0.8 };
    ad_rev first[3];
    ad_rev again[4];
    ad_fn *inner = NULL;
    CHECK(ad_fn_record(&inner, tangle, (void *)(uintptr_t)ctx, 4, at, 3)
              == ADREV_OK, "inner");
    CHECK(ad_fn_call(inner, x, first) == ADREV_OK, "call");
    for (size_t i = 0; i < 4; i++)
        again[i] = i < 3 ? ad_rec(ad_mul(0.1, first[i])) : x[0];
    CHECK(ad_fn_call(inner, again, y) == ADREV_OK, "again");
    ad_fn_free(inner);
    ad_rev t[2];
    twist(external, 2, again, t);
    if (ad_gt(t[1], -1000.0))
        y[2] = ad_rec(ad_add(y[2], t[0]));
}

static ad_fn *record_with(const ad_fn_options *o, ad_vector_fn *f,
                          const bool *external, size_t n, const double x[],
                          size_t m)
{
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record_with(&fn, o, f, (void *)(uintptr_t)external, n,
                                    x, m);
    CHECK(s == ADREV_OK, "recording: %s", ad_message(s));
    if (fn == NULL)
        exit(1);
    return fn;
}

static ad_fn *record(ad_vector_fn *f, const bool *external, size_t n,
                     size_t m)
{
    double x[MOST];
    for (size_t i = 0; i < MOST; i++)
        x[i] = 0.1 + 0.05 * (double)(i % 9);
    return record_with(NULL, f, external, n, x, m);
}

// Where calls are counted.
static ad_fn *record_once(ad_vector_fn *f, const bool *external, size_t n,
                          size_t m)
{
    static const ad_fn_options once = { .once = true };
    double x[MOST];
    for (size_t i = 0; i < MOST; i++)
        x[i] = 0.1 + 0.05 * (double)(i % 9);
    return record_with(&once, f, external, n, x, m);
}

/* --- all questions -------------------------------------------------------- */

enum question { EVAL, JVP, VJP, GRADIENT, JACOBIAN, LINEAR, HVP, HESSIAN,
                SPARSE_J, SPARSE_H, MAP, MAP_JVP, MAP_VJP, QUESTIONS };

static const char *const names[QUESTIONS] = {
    "eval", "jvp", "vjp", "gradient", "jacobian", "linearize", "hvp",
    "hessian", "sparse jacobian", "sparse hessian", "map", "map_jvp", "map_vjp"
};

typedef struct asked {
    double x[MOST];             // the point; maps: the first of them
    double v[MOST];
    double w[MOST];
    double out[MOST * MOST];    // maps: results by point
} asked;

static void fill(asked *a, double start)
{
    for (size_t i = 0; i < MOST; i++) {
        a->x[i] = start + 0.3 * sin((double)i);
        a->v[i] = 1 - 0.4 * (double)(i % 5);
        a->w[i] = 0.5 + 0.25 * (double)(i % 3);
    }
    for (size_t i = 0; i < COUNT(a->out); i++)
        a->out[i] = UNTOUCHED;
}

// Input i of point p.
static double point_input(const asked *a, size_t p, size_t i)
{
    return a->x[i] + 0.01 * (double)p;
}

static ad_status ask_map(enum question q, ad_fn *fn, asked *a, size_t points,
                         uint32_t left[])
{
    static _Thread_local double x[POINTS * MOST];
    ad_column from[MOST], v[MOST], w[MOST], to[MOST];
    size_t n = ad_fn_inputs(fn);
    size_t m = ad_fn_outputs(fn);
    size_t results = q == MAP_VJP ? n : m;
    for (size_t p = 0; p < points; p++)
        for (size_t i = 0; i < n; i++)
            x[p * n + i] = point_input(a, p, i);
    for (size_t i = 0; i < MOST; i++) {
        from[i] = (ad_column){ x + i, (ptrdiff_t)n };
        v[i] = (ad_column){ a->v + i, 0 };
        w[i] = (ad_column){ a->w + i, 0 };
        to[i] = (ad_column){ a->out + i, (ptrdiff_t)results };
    }
    return q == MAP ? ad_fn_map(fn, points, from, to, left)
         : q == MAP_JVP ? ad_fn_map_jvp(fn, points, from, v, to, left)
         : ad_fn_map_vjp(fn, points, from, w, to, NULL, left);
}

// Sparse ones as dense ones.
static ad_status ask_sparse(bool hessian, ad_fn *fn, asked *a)
{
    static _Thread_local size_t row[MOST * MOST], column[MOST * MOST];
    static _Thread_local double value[MOST * MOST];
    ad_sparsity about = {0};
    size_t n = ad_fn_inputs(fn);
    for (size_t i = 0; i < COUNT(value); i++)
        value[i] = UNTOUCHED;
    ad_status s = hessian
        ? ad_fn_hessian_pattern(fn, &about, NULL, row, column)
        : ad_fn_jacobian_pattern(fn, &about, NULL, row, column);
    if (s == ADREV_OK)
        s = hessian ? ad_fn_hessian_sparse(fn, a->x, a->w, value)
                    : ad_fn_jacobian_sparse(fn, a->x, value);
    for (size_t k = 0; k < COUNT(value); k++)
        if (s != ADREV_OK)
            a->out[k] = value[k];
    if (s != ADREV_OK)
        return s;
    memset(a->out, 0, (hessian ? n : ad_fn_outputs(fn)) * n * sizeof(double));
    for (size_t k = 0; k < about.nonzeros; k++) {
        a->out[row[k] * n + column[k]] = value[k];
        if (hessian)
            a->out[column[k] * n + row[k]] = value[k];
    }
    return s;
}

static ad_status ask(enum question q, ad_fn *fn, asked *a)
{
    switch ((int)q) {
    case EVAL: return ad_fn_eval(fn, a->x, a->out);
    case JVP: return ad_fn_jvp(fn, a->x, a->v, a->out);
    case VJP: return ad_fn_vjp(fn, a->x, a->w, a->out);
    case GRADIENT: return ad_fn_gradient(fn, a->x, NULL, a->out);
    case JACOBIAN: return ad_fn_jacobian(fn, a->x, a->out);
    case LINEAR: return ad_fn_linearize(fn, a->x, NULL, a->out);
    case HVP: return ad_fn_hvp(fn, a->x, a->w, a->v, a->out);
    case HESSIAN: return ad_fn_hessian(fn, a->x, a->w, a->out);
    case SPARSE_J: return ask_sparse(false, fn, a);
    case SPARSE_H: return ask_sparse(true, fn, a);
    }
    for (size_t i = 0; q == MAP_VJP && i < 7 * ad_fn_inputs(fn); i++)
        a->out[i] = 0;
    return ask_map(q, fn, a, 7, NULL);
}

static bool untouched(enum question q, const asked *a)
{
    double was = q == MAP_VJP ? 0 : UNTOUCHED;
    for (size_t i = 0; i < COUNT(a->out); i++)
        if (a->out[i] != was && a->out[i] != UNTOUCHED)
            return false;
    return true;
}

static bool near(double got, double want)
{
    return fabs(got - want) <= 1e-11 * (1 + fabs(want));
}

// Every question to both, at points that are not those of the recording.
static void compare(const char *name, ad_fn *got, ad_fn *want)
{
    static asked a, b;
    for (int q = 0; q < QUESTIONS; q++)
        for (int k = 0; k < 3; k++) {
            if (q == GRADIENT && ad_fn_outputs(got) != 1)
                continue;
            fill(&a, 0.2 + 0.3 * k);
            fill(&b, 0.2 + 0.3 * k);
            ad_status s = ask((enum question)q, got, &a);
            CHECK(s == ADREV_OK, "%s, %s: %s", name, names[q], ad_message(s));
            CHECK(ask((enum question)q, want, &b) == ADREV_OK, "%s", name);
            for (size_t i = 0; i < COUNT(a.out); i++)
                CHECK(near(a.out[i], b.out[i]),
                      "%s, %s [%zu]: got %.17g, want %.17g", name, names[q], i,
                      a.out[i], b.out[i]);
        }
    CHECK(!wrong, "%s: a replay was asked what it must not be", name);
}

typedef struct example {
    const char *name;
    ad_vector_fn *f;
    size_t n;
    size_t m;
} example;

static const example examples[] = {
    { "tangle", tangle, 4, 3 },     { "one result", one_result, 4, 1 },
    { "network", network, 5, 3 },   { "solve", shifted_solve, 12, 3 },
    { "nested", nested, 4, 3 },     { "ring", ring, MOST, MOST },
    { "wide", wide, MOST, MOST },
};

static ad_fn *record_example(const example *e, const bool *external)
{
    return record(e->f, external, e->n, e->m);
}

static void test_answers(void)
{
    for (size_t i = 0; i < COUNT(examples); i++) {
        const example *e = &examples[i];
        ad_fn *got = record_example(e, &with);
        ad_fn *want = record_example(e, &without);
        ad_fn_report about = ad_fn_about(got);
        CHECK(about.arrays > 0 && about.arrays <= about.operations, "%s: %zu",
              e->name, about.arrays);
        compare(e->name, got, want);
        ad_fn_free(got);
        ad_fn_free(want);
    }
}

/* --- the solve in closed form --------------------------------------------- */

static void invert(const double A[], double inverse[D][D])
{
    for (size_t j = 0; j < D; j++) {
        double e[D] = {0};
        e[j] = 1;
        solved(A, false, e, e);
        for (size_t i = 0; i < D; i++)
            inverse[i][j] = e[i];
    }
}

// d2 x / dp dq with p = A[i][j] or b[i] (j = D), q = A[k][l] or b[k] (l = D): B
// e_i B[j][k] x[l] + B e_k B[l][i] x[j], B = A^-1, where for b, x is -1 and the
// rest 0.
static double solve_hessian(double B[D][D], const double x[D],
                            const double w[D], size_t p, size_t q)
{
    size_t i = p < D * D ? p / D : p - D * D;
    size_t j = p < D * D ? p % D : D;
    size_t k = q < D * D ? q / D : q - D * D;
    size_t l = q < D * D ? q % D : D;
    double sum = 0;
    for (size_t r = 0; r < D; r++) {
        double first = j == D ? 0 : B[r][i] * B[j][k] * (l == D ? -1 : x[l]);
        double other = l == D ? 0 : B[r][k] * B[l][i] * (j == D ? -1 : x[j]);
        sum += w[r] * (first + other);
    }
    return sum;
}

static void test_closed_form(void)
{
    static asked a;
    double B[D][D];
    double x[D];
    enum { N = D * (D + 1) };
    ad_fn *fn = NULL;
    fill(&a, 0.4);
    for (size_t i = 0; i < D; i++)
        a.x[i * D + i] += 3;
    fn = record_with(NULL, bare_solve, &with, N, a.x, D);
    a.x[1] += 0.25;             // elsewhere
    a.x[4] += 1;
    a.x[10] -= 2;
    invert(a.x, B);
    solved(a.x, false, a.x + D * D, x);
    CHECK(ad_fn_hessian(fn, a.x, a.w, a.out) == ADREV_OK, "hessian");
    for (size_t p = 0; p < N; p++)
        for (size_t q = 0; q < N; q++)
            CHECK(near(a.out[p * N + q], solve_hessian(B, x, a.w, p, q)),
                  "d2x/dp%zu dq%zu: got %.17g, want %.17g", p, q,
                  a.out[p * N + q], solve_hessian(B, x, a.w, p, q));
    CHECK(ad_fn_jacobian(fn, a.x, a.out) == ADREV_OK, "jacobian");
    for (size_t r = 0; r < D; r++)
        for (size_t p = 0; p < N; p++) {
            double want = p < D * D ? -B[r][p / D] * x[p % D]
                                    : B[r][p - D * D];
            CHECK(near(a.out[r * N + p], want), "dx%zu/dp%zu", r, p);
        }
    ad_fn_free(fn);
}

/* --- patterns ------------------------------------------------------------- */

static void check_nonzeros(ad_fn *fn, size_t jacobian, size_t hessian)
{
    ad_sparsity about = {0};
    CHECK(ad_fn_jacobian_pattern(fn, &about, NULL, NULL, NULL) == ADREV_OK,
          "pattern");
    CHECK(about.nonzeros == jacobian, "%zu, %zu", about.nonzeros, jacobian);
    CHECK(ad_fn_hessian_pattern(fn, &about, NULL, NULL, NULL) == ADREV_OK,
          "pattern");
    CHECK(about.nonzeros == hessian, "%zu, %zu", about.nonzeros, hessian);
}

static void test_patterns(void)
{
    size_t row[2 * MOST];
    size_t column[2 * MOST];
    ad_fn *fn = record(ring, &with, MOST, MOST);
    check_nonzeros(fn, 2 * MOST, 2 * MOST);
    CHECK(ad_fn_jacobian_pattern(fn, NULL, NULL, row, column) == ADREV_OK,
          "pattern");
    for (size_t k = 0; k < COUNT(row); k++)
        CHECK(column[k] == row[k] || column[k] == (row[k] + 1) % MOST,
              "(%zu, %zu)", row[k], column[k]);
    ad_fn_free(fn);
    fn = record(bare_solve, &with, D * (D + 1), D);
    check_nonzeros(fn, D * D * (D + 1), 12 * 13 / 2);
    ad_fn_free(fn);
}

/* --- many points ---------------------------------------------------------- */

// The same bits as one at a time.
static void check_points(enum question q, ad_fn *fn, const asked *a,
                         size_t points, const uint32_t left[])
{
    static asked one;
    size_t n = ad_fn_inputs(fn);
    size_t results = q == MAP_VJP ? n : ad_fn_outputs(fn);
    for (size_t p = 0; p < points; p++) {
        one = *a;
        for (size_t i = 0; i < n; i++)
            one.x[i] = point_input(a, p, i);
        ad_status s = ask(q == MAP ? EVAL : q == MAP_JVP ? JVP : VJP, fn,
                          &one);
        uint32_t want = s == ADREV_OK ? 0 : s == ADREV_EEXTERNAL ? UINT32_MAX
                      : 1 + (uint32_t)ad_fn_guard().index;
        CHECK(left[p] == want, "%s, point %zu: left %u, want %u", names[q], p,
              left[p], want);
        for (size_t i = 0; i < results; i++) {
            double got = a->out[p * results + i];
            double none = q == MAP_VJP ? 0 : UNTOUCHED;
            double right = s == ADREV_OK ? one.out[i] : none;
            CHECK(got == right, "%s, point %zu [%zu]: got %.17g, want %.17g",
                  names[q], p, i, got, right);
        }
    }
}

static ad_status map_all(enum question q, ad_fn *fn, double start,
                         size_t points)
{
    static asked a;
    static uint32_t left[POINTS];
    fill(&a, start);
    for (size_t i = 0; q == MAP_VJP && i < COUNT(a.out); i++)
        a.out[i] = 0;
    ad_status s = ask_map(q, fn, &a, points, left);
    check_points(q, fn, &a, points, left);
    return s;
}

static const size_t some_points[] = { 1, 3, ADREV_LANES_MOST,
                                      ADREV_LANES_MOST + 1, POINTS };

static void test_maps(void)
{
    ad_fn *fn = record(tangle, &with, 4, 3);
    for (int q = MAP; q <= MAP_VJP; q++)
        for (size_t i = 0; i < COUNT(some_points); i++)
            CHECK(map_all((enum question)q, fn, 0.2, some_points[i])
                      == ADREV_OK, "%s", names[q]);
    ad_fn_free(fn);
}

// Not passed where x0 > 50.4; the replay fails where it is more than 50. In
// front of the guard, or behind it.
static void partial(const ad_rev *x, ad_rev *y, void *ctx)
{
    bool before = *(const bool *)ctx;
    ad_rev t[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
    if (before)
        twist(true, 1, x, t);
    bool less = ad_lt(x[0], 50.4);
    if (!before)
        twist(true, 1, x, t);
    y[0] = ad_rec(ad_mul(t[0], less ? 0.5 : 2.0));
    y[1] = t[1];
}

// No call behind a guard that no lane has passed.
static void test_all_left(void)
{
    static asked a;
    const bool before = false;
    ad_fn *fn = record(partial, &before, 3, 2);
    fill(&a, 60);
    calls = 0;
    CHECK(ask(MAP, fn, &a) == ADREV_EPATH && calls == 0, "%d calls", calls);
    ad_fn_free(fn);
}

static void test_some_points(void)
{
    for (int before = 0; before < 2; before++) {
        const bool first = before != 0;
        ad_fn *fn = record(partial, &first, 3, 2);
        for (int q = MAP; q <= MAP_VJP; q++) {
            CHECK(map_all((enum question)q, fn, 49.8, POINTS)
                      == ADREV_EEXTERNAL, "%s, some fail", names[q]);
            CHECK(map_all((enum question)q, fn, 50.35, POINTS)
                      == ADREV_EEXTERNAL, "%s, some fail", names[q]);
            CHECK(map_all((enum question)q, fn, 60, POINTS)
                      == (first ? ADREV_EEXTERNAL : ADREV_EPATH),
                  "%s, all are left", names[q]);
        }
        for (int q = 0; q < MAP; q++) {
            static asked a;
            fill(&a, 60);
            calls = 0;
            ad_status s = ask((enum question)q, fn, &a);
            // Second derivatives do not need the value in front of the guard.
            CHECK(q == GRADIENT || s == ADREV_EPATH
                      || (first && s == ADREV_EEXTERNAL),
                  "%s: %s", names[q], ad_message(s));
            CHECK(untouched((enum question)q, &a) && (first || calls == 0),
                  "%s: %d calls", names[q], calls);
        }
        ad_fn_free(fn);
    }
}

/* --- zeros ---------------------------------------------------------------- */

// At x1 = 0 the root has an infinite slope, with weight 0: the adjoint of the
// statement is NaN until it is looked at with care.
static void root(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev t[2];
    twist(*(const bool *)ctx, 1, x, t);
    y[0] = ad_rec(ad_mul(0, ad_sqrt(ad_mul(t[0], x[1]))));
    y[1] = ad_rec(ad_mul(x[0], x[2]));
}

static void test_zeros(void)
{
    static asked a;
    ad_fn *fn = record(root, &with, 3, 2);
    fill(&a, 0.5);
    a.x[1] = 0;
    a.x[2] = 0;
    CHECK(ask(VJP, fn, &a) == ADREV_OK, "vjp");
    CHECK(a.out[0] == 0 && a.out[1] == 0 && a.out[2] == a.w[1] * a.x[0],
          "%g %g %g", a.out[0], a.out[1], a.out[2]);
    fill(&a, 0.5);
    a.x[1] = 0;
    a.x[2] = 0;
    CHECK(ask(JACOBIAN, fn, &a) == ADREV_OK, "jacobian");
    CHECK(a.out[0] == 0 && a.out[5] == a.x[0], "%g %g", a.out[0], a.out[5]);
    fill(&a, 0.5);
    a.x[1] = 0;
    a.x[2] = 0;
    memset(a.out, 0, sizeof a.out);
    uint32_t left[7];
    CHECK(ask_map(MAP_VJP, fn, &a, 7, left) == ADREV_OK, "map_vjp");
    check_points(MAP_VJP, fn, &a, 7, left);
    ad_fn_free(fn);
}

// At x1 = 0 the adjoints of the statement are 0, but not their tangents.
static void crossing(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev at[3] = { x[0], x[2], x[0] };
    ad_rev t[2];
    twist(*(const bool *)ctx, 1, at, t);
    y[0] = ad_rec(ad_mul(ad_add(t[0], t[1]), x[1]));
}

static void test_crossing(void)
{
    static asked a, b;
    ad_fn *got = record(crossing, &with, 3, 1);
    ad_fn *want = record(crossing, &without, 3, 1);
    fill(&a, 0.5);
    a.x[1] = 0;
    b = a;
    CHECK(ask(HESSIAN, got, &a) == ADREV_OK
              && ask(HESSIAN, want, &b) == ADREV_OK, "hessian");
    for (size_t i = 0; i < 9; i++)
        CHECK(near(a.out[i], b.out[i]), "[%zu]: %g, %g", i, a.out[i],
              b.out[i]);
    ad_fn_free(got);
    ad_fn_free(want);
}

// No call for what is zero, none for what is known.
static void test_calls(void)
{
    static asked a;
    ad_fn *fn = record(shifted_solve, &with, D * (D + 1), D);
    fill(&a, 0.3);
    CHECK(ask(JACOBIAN, fn, &a) == ADREV_OK, "jacobian");
    calls = 0;
    ask(EVAL, fn, &a);
    CHECK(calls == 1, "value: %d", calls);
    calls = 0;
    ask(JVP, fn, &a);
    CHECK(calls == 1, "jvp: %d", calls);
    calls = 0;
    ask(VJP, fn, &a);
    CHECK(calls == 1 || calls == 2, "vjp: %d", calls);
    calls = 0;
    ask(HVP, fn, &a);
    CHECK(calls == 1 || calls == 2, "hvp: %d", calls);
    calls = 0;
    ask(JACOBIAN, fn, &a);
    CHECK(calls == D || calls == D + 1, "jacobian: %d", calls);
    memset(a.w, 0, sizeof a.w);
    calls = 0;
    CHECK(ask(VJP, fn, &a) == ADREV_OK && is_zero(12, a.out) && calls <= 1,
          "zero weights: %d", calls);
    ad_fn_free(fn);
}

// Lanes at one point are one call for the value and one for the adjoints.
static void test_abreast(void)
{
    static asked a;
    abreast = true;
    ad_fn *fn = record(shifted_solve, &with, D * (D + 1), D);
    for (int q = JACOBIAN; q <= HESSIAN; q++) {
        fill(&a, 0.3);
        calls = 0;
        CHECK(ask((enum question)q, fn, &a) == ADREV_OK && calls <= 2,
              "%s: %d calls", names[q], calls);
    }
    ad_fn_free(fn);
    fn = record(wide, &with, MOST, MOST);       // several runs of lanes
    fill(&a, 0.3);
    calls = 0;
    CHECK(ask(HESSIAN, fn, &a) == ADREV_OK, "hessian");
    CHECK(calls <= 2 * ((MOST + ADREV_LANES_MOST - 1) / ADREV_LANES_MOST),
          "wide: %d calls", calls);
    ad_fn_free(fn);
    test_zeros();
    test_crossing();
    test_some_points();
    abreast = false;
}

/* --- what is kept, and what is not ---------------------------------------- */

static void twice_and_dead(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev t[2];
    ad_rev u[2];
    ad_rev dead[2];
    (void)ctx;
    twist(true, 1, x, t);
    twist(true, 1, x, u);
    twist(true, 1, x, dead);
    y[0] = ad_rec(ad_sub(t[0], u[1]));
}

static void dead_only(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev dead[2];
    (void)ctx;
    twist(true, 1, x, dead);
    y[0] = ad_rec(ad_exp(x[0]));
}

static void count_bytes(const char *text, size_t bytes, void *user)
{
    (void)text;
    *(size_t *)user += bytes;
}

static void test_kept(void)
{
    static asked a;
    const ad_fn_options plain = { .plain = true };
    fill(&a, 0.3);
    ad_fn *fn = record(twice_and_dead, &with, 3, 1);
    calls = 0;
    CHECK(ask(EVAL, fn, &a) == ADREV_OK && calls == 2, "%d calls", calls);
    CHECK(ad_fn_about(fn).dead == 1 && ad_fn_about(fn).arrays == 2,
          "%zu dead", ad_fn_about(fn).dead);
    ad_fn_free(fn);
    fn = record_with(&plain, twice_and_dead, &with, 3, a.x, 1);
    calls = 0;
    CHECK(ask(EVAL, fn, &a) == ADREV_OK && calls == 3, "%d calls", calls);
    ad_fn_free(fn);
}

static void test_refused(void)
{
    static asked a;
    size_t bytes = 0;
    fill(&a, 0.3);
    ad_fn *fn = record(tangle, &with, 4, 3);
    CHECK(ad_fn_taylor(fn, a.x, a.v, 3, a.out) == ADREV_EEXTERNAL
              && untouched(EVAL, &a), "taylor");
    for (unsigned bit = 1; bit <= 64; bit *= 2) {
        const ad_c_options o = { .functions = bit };
        CHECK(bit == ADREV_C_GRADIENT
                  || ad_fn_write_c(fn, &o, count_bytes, &bytes, NULL)
                     == ADREV_EEXTERNAL, "C code %u", bit);
    }
    CHECK(ad_fn_save(fn, count_bytes, &bytes) == ADREV_EEXTERNAL, "save");
    CHECK(bytes == 0, "%zu bytes", bytes);
    ad_status s = ad_fn_compile(fn, NULL);
    CHECK(s == ADREV_EEXTERNAL || (!ADREV_COMPILE && s == ADREV_ECOMPILE),
          "compile: %s", ad_message(s));
    CHECK(ask(EVAL, fn, &a) == ADREV_OK, "still a function");
    ad_fn_free(fn);
    fn = record(dead_only, &with, 3, 1);
    CHECK(ad_fn_write_c(fn, NULL, count_bytes, &bytes, NULL) == ADREV_OK
              && ad_fn_save(fn, count_bytes, &bytes) == ADREV_OK
              && ad_fn_taylor(fn, a.x, a.v, 3, a.out) == ADREV_OK,
          "nothing needs it");
    ad_fn_free(fn);
}

/* --- failures ------------------------------------------------------------- */

// Each call fails in turn: it and the following, or it alone, which is
// forgiven.
static void fail_each(const example *e, enum question q)
{
    static asked a, right;
    ad_fn *fn = record_example(e, &with);
    fill(&right, 0.4);
    CHECK(ask(q, fn, &right) == ADREV_OK, "%s", names[q]);
    fill(&right, 0.4);
    calls = 0;
    CHECK(ask(q, fn, &right) == ADREV_OK, "%s", names[q]);
    int count = calls;
    for (int k = 1; k <= count; k += 1 + count / 40) {
        fill(&a, 0.4);
        calls = 0;
        fail_from = k;
        ad_status s = ask(q, fn, &a);
        CHECK(s == ADREV_EEXTERNAL, "%s, %s, call %d of %d: %s", e->name,
              names[q], k, count, ad_message(s));
        CHECK(q >= MAP || untouched(q, &a), "%s, %s, call %d of %d", e->name,
              names[q], k, count);
        fail_from = 0;
        calls = 0;
        fail_at = k;
        fill(&a, 0.4);
        CHECK(ask(q, fn, &a) == ADREV_OK
                  && memcmp(a.out, right.out, sizeof a.out) == 0,
              "%s, %s, only call %d of %d", e->name, names[q], k, count);
        fail_at = 0;
    }
    ad_fn_free(fn);
}

static void test_failures(void)
{
    for (size_t i = 0; i < COUNT(examples); i++)
        for (int q = 0; q < QUESTIONS; q++)
            if (q != GRADIENT || examples[i].m == 1)
                fail_each(&examples[i], (enum question)q);
}

static bool first_order(const void *saved, const ad_external_point *at)
{
    return at->xbd == NULL && twist_replay(saved, at);
}

static void first_order_only(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_external_rule rule = {
        .name = "first order", .pullback = twist_back,
        .destroy = twist_destroy, .replay = first_order
    };
    (void)ctx;
    twist_by(&rule, 1, x, y);
}

static void test_first_order(void)
{
    ad_fn *fn = record(first_order_only, &with, 3, 2);
    static asked a;
    for (int q = 0; q < QUESTIONS; q++) {
        bool second = q == HVP || q == HESSIAN || q == SPARSE_H;
        fill(&a, 0.4);
        ad_status s = ask((enum question)q, fn, &a);
        CHECK(q == GRADIENT || s == (second ? ADREV_EEXTERNAL : ADREV_OK),
              "%s: %s", names[q], ad_message(s));
        CHECK(!second || untouched((enum question)q, &a), "%s", names[q]);
    }
    ad_fn_free(fn);
}

// Good statements, and then one that cannot be recorded.
static void spoiled(const ad_rev *x, ad_rev *y, void *ctx)
{
    tangle(x, y, ctx);
    twist_by(&not_replayed, 1, x, y);
    twist(true, 1, x, y);
}

static void test_not_replayed(void)
{
    const double x[4] = { 0.1, 0.2, 0.3, 0.4 };
    ad_fn *fn = (ad_fn *)(uintptr_t)x;
    made = 0;
    destroyed = 0;
    CHECK(ad_fn_record(&fn, spoiled, (void *)(uintptr_t)&with, 4, x, 3)
              == ADREV_EEXTERNAL && fn == NULL, "no replay");
    CHECK(made == 4 && destroyed == 4, "%d of %d destroyed", destroyed, made);
}

/* --- calls ---------------------------------------------------------------- */

static void test_on_tape(void)
{
    double got[4];
    double want[4];
    const double x[4] = { 0.5, -0.3, 0.8, 1.2 };
    const double w[3] = { 1, 2, -1 };
    const double v[4] = { 1, -1, 0.5, 2 };
    ad_rev in[4];
    ad_rev y[3];
    made = 0;
    destroyed = 0;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    for (int k = 0; k < 2; k++) {
        ad_fn *fn = record_once(tangle, k == 0 ? &with : &without, 4, 3);
        ad_tape_clear(t);
        ad_inputs(4, x, in);
        CHECK(ad_fn_call(fn, in, y) == ADREV_OK, "call");
        ad_fn_free(fn);
        double *out = k == 0 ? got : want;
        CHECK(ad_pullback(t, 3, y, w, 4, in, out) == ADREV_OK, "pullback");
        if (k == 0)
            CHECK(destroyed == 0, "held by the tape");
    }
    for (size_t i = 0; i < 4; i++)
        CHECK(near(got[i], want[i]), "%g, %g", got[i], want[i]);
    CHECK(made == 2 && destroyed == 2, "%d of %d destroyed", destroyed, made);
    ad_inputs(4, x, in);
    tangle(in, y, (void *)(uintptr_t)&with);
    CHECK(ad_pushforward(t, 4, in, v, 3, y, want) == ADREV_OK, "directly");
    ad_fn *fn = record_once(tangle, &with, 4, 3);
    CHECK(ad_fn_call(fn, in, y) == ADREV_OK, "call");
    CHECK(ad_pushforward(t, 4, in, v, 3, y, got) == ADREV_OK, "called");
    for (size_t i = 0; i < 3; i++)
        CHECK(near(got[i], want[i]), "%g, %g", got[i], want[i]);
    ad_fn_free(fn);
    ad_use(NULL);
    ad_tape_free(t);
    CHECK(made == destroyed, "%d of %d destroyed", destroyed, made);
}

typedef struct callee {
    ad_fn *fn;
} callee;

static void calling(const ad_rev *x, ad_rev *y, void *ctx)
{
    CHECK(ad_fn_call(((callee *)ctx)->fn, x, y) == ADREV_OK, "call");
}

// The statement lives as long as any function that has it.
static void test_holders(void)
{
    static asked a;
    double x[4] = { 0.1, 0.2, 0.3, 0.4 };
    callee first = { NULL };
    callee second = { NULL };
    ad_fn *third = NULL;
    made = 0;
    destroyed = 0;
    first.fn = record_once(tangle, &with, 4, 3);
    CHECK(ad_fn_record(&second.fn, calling, &first, 4, x, 3) == ADREV_OK
              && ad_fn_record(&third, calling, &second, 4, x, 3) == ADREV_OK,
          "calls");
    fill(&a, 0.4);
    CHECK(ask(HESSIAN, first.fn, &a) == ADREV_OK, "first");
    ad_fn_free(first.fn);
    ad_fn_free(second.fn);
    CHECK(made == 2 && destroyed == 0, "%d of %d destroyed", destroyed, made);
    fill(&a, 0.4);
    CHECK(ask(HESSIAN, third, &a) == ADREV_OK, "third");
    ad_fn *want = record(tangle, &without, 4, 3);
    compare("third", third, want);
    ad_fn_free(want);
    ad_fn_free(third);
    CHECK(made == 2 && destroyed == 2, "%d of %d destroyed", destroyed, made);
}

// A gradient within a recording: the statement is on the tape for a while only,
// and uses a number of the outer function.
typedef struct outer {
    ad_rev x;
} outer;

static ad_rev inner(const ad_rev *x, void *ctx)
{
    ad_rev at[3] = { x[0], ((outer *)ctx)->x, x[0] };
    ad_rev t[2];
    twist(true, 1, at, t);
    return ad_gt(t[0], -100.0) ? t[1] : t[0];
}

static void rewinding(const ad_rev *x, ad_rev *y, void *ctx)
{
    outer o = { x[0] };
    const double at[1] = { 0.5 };
    double g[1] = { 0 };
    (void)ctx;
    ad_status s = ad_grad(inner, &o, 1, at, NULL, g);
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "inner: %s", ad_message(s));
    twist(true, g[0] > 100 ? 2 : 1, x, y);
}

static void test_rewound(void)
{
    static asked a;
    const ad_fn_options plain = { .plain = true, .once = true };
    made = 0;
    destroyed = 0;
    fill(&a, 0.4);
    ad_fn *simple = record_once(rewinding, &with, 3, 2);
    ad_fn *whole = record_with(&plain, rewinding, &with, 3, a.x, 2);
    for (int q = 0; q < QUESTIONS; q++) {
        fill(&a, 0.4);
        CHECK(q == GRADIENT || ask((enum question)q, simple, &a) == ADREV_OK,
              "%s", names[q]);
        fill(&a, 0.4);
        CHECK(q == GRADIENT || ask((enum question)q, whole, &a) == ADREV_OK,
              "%s", names[q]);
    }
    ad_fn_free(simple);
    ad_fn_free(whole);
    CHECK(made == 4 && destroyed == 4, "%d of %d destroyed", destroyed, made);
}

// All operands are inputs of its own: constants.
static void own_inputs(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev own[3] = { ad_input(0.5), ad_input(0.25), ad_rec(1.0) };
    ad_rev t[2];
    (void)ctx;
    twist(true, 1, own, t);
    y[0] = ad_rec(ad_mul(x[0], t[0]));
}

static void test_constants(void)
{
    static asked a;
    ad_fn *fn = record(own_inputs, &with, 1, 1);
    fill(&a, 0.4);
    CHECK(ask(GRADIENT, fn, &a) == ADREV_OK
              && near(a.out[0], sin(0.5) * 0.25 + 1), "%g", a.out[0]);
    CHECK(ask(HESSIAN, fn, &a) == ADREV_OK && a.out[0] == 0, "%g", a.out[0]);
    ad_fn_free(fn);
}

/* --- memory --------------------------------------------------------------- */

// Recording and one question, until no allocation fails. f may do without some.
static void run_out(ad_vector_fn *f, size_t n, size_t m, enum question q)
{
    static asked a, right;
    double x[MOST] = { 0.1, 0.2, 0.3, 0.4 };
    bool failed = true;
    fill(&right, 0.4);
    ad_fn *fn = record_with(NULL, f, &with, n, x, m);
    CHECK(ask(q, fn, &right) == ADREV_OK, "%s", names[q]);
    ad_fn_free(fn);
    for (size_t k = 1; failed; k++) {
        heap h = { .failing = k };
        const ad_allocator memory = { heap_alloc, heap_free, &h };
        const ad_fn_options o = { .allocator = &memory };
        fill(&a, 0.4);
        ad_status s = ad_fn_record_with(&fn, &o, f, (void *)(uintptr_t)&with,
                                        n, x, m);
        if (s == ADREV_OK)
            s = ask(q, fn, &a);
        bool right_bits = memcmp(a.out, right.out, sizeof a.out) == 0;
        CHECK(s == ADREV_OK ? right_bits
                            : s == ADREV_ENOMEM && untouched(q, &a),
              "%s, allocation %zu: %s", names[q], k, ad_message(s));
        ad_fn_free(fn);
        CHECK(h.live == 0 && made == destroyed,
              "%s, allocation %zu: %zu blocks, %d of %d destroyed", names[q],
              k, h.live, destroyed, made);
        failed = h.allocations >= k;
    }
}

static void test_memory(void)
{
    made = 0;
    destroyed = 0;
#ifdef ON_POOL                  // the heap counts for one thread
    return;
#endif
    for (int q = 0; q < QUESTIONS; q++) {
        run_out(one_result, 4, 1, (enum question)q);
        if (q == JACOBIAN || q == LINEAR || q == SPARSE_J || q == HESSIAN)
            run_out(tangle, 4, 3, (enum question)q);
    }
    run_out(rewinding, 3, 2, VJP);
}

#ifdef ON_POOL
static void distance(const ad_rev x[], ad_rev y[], void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_lgamma(ad_add(x[0], 2)));
}

// The C library's lgamma sets a variable that all threads share: compiled code
// must not call it, either.
static void test_compiled_on_pool(void)
{
    enum { ALL = 20000 };           // for all threads
    static double x[ALL], y[ALL];
    for (int i = 0; i < ALL; i++)
        x[i] = i * 0.001;
    ad_fn *fn = NULL;
    CHECK(ad_fn_record(&fn, distance, NULL, 1, x, 1) == ADREV_OK, "record");
    ad_status s = ad_fn_compile(fn, NULL);
    CHECK(s == ADREV_OK || (!ADREV_COMPILE && s == ADREV_ECOMPILE),
          "compile: %s", ad_message(s));
    const ad_column in = { x, 1 };
    const ad_column out = { y, 1 };
    for (int k = 0; k < 50; k++)    // until several threads are awake
        CHECK(ad_fn_map(fn, ALL, &in, &out, NULL) == ADREV_OK, "map");
    for (int i = 0; i < ALL; i++)
        CHECK(y[i] == lgamma(x[i] + 2), "point %d: %g", i, y[i]);
    ad_fn_free(fn);
}
#endif

/* --- threads -------------------------------------------------------------- */

typedef struct thread_work {
    ad_fn *fn;
    asked a;
    uint64_t sum;
} thread_work;

static void *work(void *user)
{
    thread_work *k = user;
    k->sum = 0;
    for (int q = 0; q < QUESTIONS; q++) {
        fill(&k->a, 0.4);
        if (ask((enum question)q, k->fn, &k->a) == ADREV_OK)
            k->sum = adx_xxh3(k->a.out, sizeof k->a.out, k->sum);
    }
    return NULL;
}

static void test_threads(void)
{
    static thread_work k[2];
    made = 0;
    destroyed = 0;
    for (int round = 0; round < 5; round++) {
        pthread_t thread[2];
        ad_fn *fn = record(one_result, &with, 4, 1);
        for (int i = 0; i < 2; i++) {
            k[i].fn = fn;
            pthread_create(&thread[i], NULL, work, &k[i]);
        }
        for (int i = 0; i < 2; i++)
            pthread_join(thread[i], NULL);
        CHECK(k[0].sum == k[1].sum && k[0].sum != 0, "other bits");
        ad_fn_free(fn);
        CHECK(made == destroyed, "%d of %d destroyed", destroyed, made);
    }
}

int main(void)
{
#ifdef ON_POOL
    ad_pool *pool = ad_pool_new(3);
    CHECK(pool != NULL && ad_pool_use(pool) == ADREV_OK, "no pool");
#endif
    test_answers();
    abreast = true;
    test_answers();
    abreast = false;
    test_closed_form();
    test_patterns();
    test_maps();
    test_some_points();
    test_all_left();
    test_zeros();
    test_crossing();
    test_calls();
    test_abreast();
    test_kept();
    test_refused();
    test_failures();
    test_first_order();
    test_not_replayed();
    test_on_tape();
    test_holders();
    test_rewound();
    test_constants();
    test_memory();
    test_threads();
    CHECK(!wrong, "a replay was asked what it must not be");
#ifdef ON_POOL
    test_compiled_on_pool();
    ad_ignore(ad_pool_use(NULL));
    ad_pool_free(pool);
#endif
    return check_done("function_external");
}
