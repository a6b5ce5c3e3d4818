/* Made from src/ by `make headers`: changes belong there. */
/* adrev_implicit.h - derivatives of what a solver found.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_implicit.h"       // includes adrev_function.h
 *
 * A solution x of g(x, p) = 0, or a minimum, becomes one statement that depends
 * on the parameters p, whichever solver found it:
 *
 *     #include <math.h>
 *     #include <stdio.h>
 *
 *     static void kepler(const ad_rev *z, ad_rev *g, void *ctx)  // E - e sin E
 *     {                                                           // - M
 *         (void)ctx;
 *         g[0] = ad_rec(ad_sub(ad_sub(z[0], ad_mul(z[1], ad_sin(z[0]))),
 *                              z[2]));
 *     }
 *
 *     int main(void)
 *     {
 *         const double at[] = { 1, 0.5, 1 }, v[] = { 0.3, 1.2 };  // e, M
 *         double E = 1.2, d[2];
 *         ad_fn *g;
 *         if (ad_fn_record(&g, kepler, NULL, 3, at, 1) != ADREV_OK)
 *             return 1;
 *         for (int i = 0; i < 40; i++)        // a solver of any kind
 *             E = v[1] + v[0] * sin(E);
 *         ad_tape *t = ad_tape_new();
 *         ad_use(t);
 *         ad_rev p[2], x;
 *         ad_inputs(2, v, p);
 *         const ad_implicit_desc solved = { .g = g, .n = 1, .x = &E };
 *         ad_implicit(&solved, p, &x);
 *         ad_status s = ad_gradient(t, x, 2, p, d);
 *         printf("%s: E = %.6f, dE/de = %.6f, dE/dM = %.6f\n", ad_message(s),
 *                ad_value(x), d[0], d[1]);
 *         ad_tape_free(t);
 *         ad_fn_free(g);
 *     }
 *
 *     success: E = 1.499232, dE/de = 1.019305, dE/dM = 1.021921
 *
 * The steps of the solver are not recorded, so their number and their errors do
 * not matter. Systems are solved by LU factors, or by a solver of the user's,
 * which is given the Jacobian as a sparse matrix, or as products with it. A
 * recorded function may have such a statement in it: then it finds the solution
 * again at each point, and has second derivatives there.
 *
 * It is a header of its own because it needs recorded functions, which are long
 * to compile, and nothing in them needs it.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   implicit/api         the interface
 *   implicit/solve       the Jacobian at a point, and systems with it
 *   implicit/statement   the statement, its sweeps and its replay
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev_function.h"

#ifndef ADREV_IMPLICIT_H
#define ADREV_IMPLICIT_H

/* === implicit/api ===========================================================
 * Solutions of equations as one statement: the types, and every public function
 * with its contract.
 *
 *   needs   function/api
 * ========================================================================== */

#ifdef __cplusplus
extern "C" {
#endif

// J = dg/dx at a solution, as a linear solver is given it.
typedef struct ad_implicit_matrix {
    size_t n;
    // Row by row: entries of row i are start[i] to start[i+1], columns
    // ascending. NULL and 0 unless the solver is `sparse`.
    size_t nonzeros;
    const size_t *start;        // [n+1]
    const size_t *column;       // [nonzeros]
    const ad_real *value;       // [nonzeros]
    const void *adx_point;
} ad_implicit_matrix;

// out = J v or, transposed, J' v: for solvers that need no matrix.
//
//   v, out [n]   in, out   may be the same array
//
//   returns      ADREV_OK; as ad_fn_jvp and ad_fn_vjp
//   cost         one tangent or adjoint of g
ADX_TRY ad_status ad_implicit_times(const ad_implicit_matrix *J,
                                    bool transposed, const ad_real v[],
                                    ad_real out[]);

// A linear solver of the user's. Several threads may call it at once.
//
// sparse       J is wanted row by row, from g's sparse Jacobian
// factor       prepares for J, which lives until `release`. Returns what
//              `solve` and `release` are given, not NULL; NULL: J is singular,
//              or factoring failed. The function may be NULL: nothing is
//              prepared
// solve        r[n] becomes J^-1 r or, transposed, J^-T r; false: it failed
// release      may be NULL
typedef struct ad_implicit_solver {
    bool sparse;
    void *(*factor)(void *user, const ad_implicit_matrix *J);
    bool (*solve)(void *user, void *factors, const ad_implicit_matrix *J,
                  bool transposed, ad_real r[]);
    void (*release)(void *user, void *factors);
    void *user;
} ad_implicit_solver;

// A solution x of g(x, p) = 0, whoever found it.
typedef struct ad_implicit_desc {
    ad_fn *g;               // inputs: x, then p; results: n. For a minimum, the
                            // gradient of the objective: ad_fn_derive_gradient
    size_t n;               // unknowns
    const ad_real *x;       // [n] the solution at the values of p
    ad_real tolerance;      // the largest step that Newton's method may still
                            // want to take there; 0: 1e-8 (float: 1e-3)
    ad_real scale;          // of that; 0: the largest |x|, or 1 if that is less
    const ad_implicit_solver *solver;   // copied; NULL: dense LU factors
    // Finds the solution for other parameters, when a recorded function is
    // evaluated there: x is that of the recording before, the solution after.
    // Several threads may call it at once. NULL: Newton's method, damped
    bool (*find)(void *user, const ad_real p[], ad_real x[]);
    void *user;
} ad_implicit_desc;

// The solution as one statement, which depends on p by the implicit function
// theorem: dx/dp = -(dg/dx)^-1 dg/dp. What the solver did is not looked at, nor
// recorded.
//
//   p   [q]      in    parameters; the inputs of g behind x. To solve inside of
//                      a function that is being recorded, read them as p[i].v:
//                      ad_value would bind the recording to this point
//   x   [n]      out   the values of d->x; NaN on failure. May be p
//
//   returns      ADREV_OK; ADREV_EUNSOLVED: d->x is no solution, as Newton's
//                step says; ADREV_ESINGULAR: dg/dx is singular, or the solver
//                failed; ADREV_ESHAPE: an array is NULL that must not be, or g
//                has other than n results, or inputs that derivatives are not
//                taken by (ad_fn_select); ADREV_ENOMEM; those of ad_fn_eval at
//                this point. With each of them the tape fails, too;
//                ad_tape_reason says more
//   cost         g's Jacobian, 2/3 n^3 for LU factors, a solve; each direction
//                of a sweep: a solve, and a tangent or adjoint of g. For second
//                derivatives another solve and an ad_fn_hvp of g. A recorded
//                function finds the solution again at each point, but not at
//                that of the recording: its values there are d->x. Directions
//                of its Jacobian or Hessian share one solution and its factors,
//                as many as ADREV_LANES_MOST
//   memory       n^2 + n + q numbers, or what the solver keeps, until the
//                statement leaves the tape
//   threads      g and the solver may be used by all sweeps of the tape
//   see          tests/implicit/implicit.c
ADX_API ad_status ad_implicit(const ad_implicit_desc *d, const ad_rev p[],
                              ad_rev x[]);

#ifdef __cplusplus
}
#endif

#endif // ADREV_IMPLICIT_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_IMPLICIT_IMPLEMENTED
#define ADREV_IMPLICIT_IMPLEMENTED

/* === implicit/solve =========================================================
 * A point (x, p), the Jacobian of g with respect to x there, and linear systems
 * with it: by LU factors of our own, or by the user's solver.
 *
 *   needs   tape/memory check/differences function/api implicit/api
 *   offers  adx_implicit adx_implicit_point adx_implicit_reals
 *           adx_choose_entries adx_factor_jacobian adx_solve_linear
 *           adx_close_point adx_open_point adx_find_by_newton
 *           adx_check_solution
 * ========================================================================== */

// What g, the sizes, and the user say; it does not change.
typedef struct adx_implicit {
    ad_fn *g;                   // held
    size_t n;                   // unknowns
    size_t q;                   // parameters
    double tolerance;
    double scale;               // 0: that of x
    ad_implicit_solver solver;  // solve NULL: LU factors
    bool (*find)(void *user, const ad_real p[], ad_real x[]);
    void *user;
    size_t *start;              // of a sparse J, [n+1]
    size_t *column;             // [nonzeros]
    size_t *entry;              // [nonzeros] which entry of g's Jacobian it is
    size_t nonzeros;
    size_t all;                 // entries of g's Jacobian
} adx_implicit;

// What one evaluation of an implicit statement needs at its point.
typedef struct adx_implicit_point {
    const adx_implicit *c;
    ad_real *z;                 // [n+q] x, then p
    ad_real *J;                 // [n*(n+q)], then [n*n] LU; or entries
    ad_real *chosen;            // [nonzeros]
    size_t *pivot;              // [n]
    ad_implicit_matrix matrix;
    void *factors;              // the user's solver's
    bool factored;              // `factors` must be released
} adx_implicit_point;

static ad_real *adx_implicit_reals(const adx_implicit *c, size_t n)
{
    return (ad_real *)adx_take(&c->g->memory, n, sizeof(ad_real));
}

/* --- dense LU factors ----------------------------------------------------- */

static size_t adx_largest_below(size_t n, const ad_real A[], size_t k)
{
    size_t most = k;
    for (size_t i = k + 1; i < n; i++)
        if (adm_fabs(A[i * n + k]) > adm_fabs(A[most * n + k]))
            most = i;
    return most;
}

static void adx_swap_rows(size_t n, ad_real A[], size_t i, size_t j)
{
    for (size_t k = 0; k < n && i != j; k++) {
        ad_real a = A[i * n + k];
        A[i * n + k] = A[j * n + k];
        A[j * n + k] = a;
    }
}

// P A = L U in the place of A, by rows. Unknowns may be of very different
// sizes, so a pivot is held against the largest entry of its own column, which
// `most` [n] keeps. False: A is singular, to rounding.
static bool adx_lu_factor(size_t n, ad_real A[], size_t pivot[],
                          ad_real most[])
{
    const ad_real eps = (ad_real)n * ADX_EPSILON;
    memset(most, 0, n * sizeof *most);
    for (size_t i = 0; i < n * n; i++)
        most[i % n] = adm_fabs(A[i]) > most[i % n] ? adm_fabs(A[i])
                                                    : most[i % n];
    for (size_t k = 0; k < n; k++) {
        pivot[k] = adx_largest_below(n, A, k);
        adx_swap_rows(n, A, k, pivot[k]);
        if (!(adm_fabs(A[k * n + k]) > eps * most[k]))
            return false;
        for (size_t i = k + 1; i < n; i++) {
            ad_real l = A[i * n + k] /= A[k * n + k];
            for (size_t j = k + 1; l != 0 && j < n; j++)
                A[i * n + j] -= l * A[k * n + j];
        }
    }
    return true;
}

static void adx_lu_solve(size_t n, const ad_real A[], const size_t pivot[],
                         ad_real r[])
{
    for (size_t k = 0; k < n; k++) {
        ad_real a = r[k];
        r[k] = r[pivot[k]];
        r[pivot[k]] = a;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            r[i] -= A[i * n + j] * r[j];
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++)
            r[i] -= A[i * n + j] * r[j];
        r[i] /= A[i * n + i];
    }
}

// A' = U' L' P
static void adx_lu_solve_transposed(size_t n, const ad_real A[],
                                    const size_t pivot[], ad_real r[])
{
    for (size_t i = 0; i < n; i++) {
        r[i] /= A[i * n + i];
        for (size_t j = i + 1; j < n; j++)
            r[j] -= A[i * n + j] * r[i];
    }
    for (size_t i = n; i-- > 0;)
        for (size_t j = 0; j < i; j++)
            r[j] -= A[i * n + j] * r[i];
    for (size_t k = n; k-- > 0;) {
        ad_real a = r[k];
        r[k] = r[pivot[k]];
        r[pivot[k]] = a;
    }
}

/* --- the Jacobian --------------------------------------------------------- */

ADX_API ad_status ad_implicit_times(const ad_implicit_matrix *J,
                                    bool transposed, const ad_real v[],
                                    ad_real out[])
{
    if (J == NULL || J->adx_point == NULL || v == NULL || out == NULL)
        return ADREV_ESHAPE;
    const adx_implicit_point *at = (const adx_implicit_point *)J->adx_point;
    const adx_implicit *c = at->c;
    ad_real *wide = adx_implicit_reals(c, c->n + c->q);
    if (wide == NULL)
        return ADREV_ENOMEM;
    ad_status status;
    if (transposed) {
        status = ad_fn_vjp(c->g, at->z, v, wide);
        if (status == ADREV_OK)
            memcpy(out, wide, c->n * sizeof *out);
    } else {
        memset(wide, 0, (c->n + c->q) * sizeof *wide);
        memcpy(wide, v, c->n * sizeof *v);
        status = ad_fn_jvp(c->g, at->z, wide, out);
    }
    adx_drop(&c->g->memory, wide);
    return status;
}

// Which entries of g's Jacobian are those of J.
static ad_status adx_choose_entries(adx_implicit *c)
{
    const ad_allocator *a = &c->g->memory;
    ad_sparsity about;
    ad_status status = ad_fn_jacobian_pattern(c->g, &about, NULL, NULL, NULL);
    if (status != ADREV_OK)
        return status;
    c->all = about.nonzeros;
    c->start = (size_t *)adx_take(a, c->n + 1, sizeof *c->start);
    c->column = (size_t *)adx_take(a, c->all, sizeof *c->column);
    c->entry = (size_t *)adx_take(a, c->all, sizeof *c->entry);
    if (c->start == NULL || c->column == NULL || c->entry == NULL)
        return ADREV_ENOMEM;
    status = ad_fn_jacobian_pattern(c->g, NULL, c->start, NULL, c->column);
    for (size_t i = 0, e = 0; status == ADREV_OK && i < c->n; i++) {
        c->start[i] = c->nonzeros;
        for (; e < c->start[i + 1]; e++)
            if (c->column[e] < c->n) {
                c->column[c->nonzeros] = c->column[e];
                c->entry[c->nonzeros++] = e;
            }
    }
    c->start[c->n] = c->nonzeros;
    return status;
}

static ad_status adx_sparse_jacobian(adx_implicit_point *at)
{
    const adx_implicit *c = at->c;
    ad_status status = ad_fn_jacobian_sparse(c->g, at->z, at->J);
    for (size_t i = 0; status == ADREV_OK && i < c->nonzeros; i++)
        at->chosen[i] = at->J[c->entry[i]];
    return status;
}

static ad_status adx_dense_factors(adx_implicit_point *at)
{
    const adx_implicit *c = at->c;
    size_t n = c->n;
    size_t wide = n + c->q;
    ad_status status = ad_fn_jacobian(c->g, at->z, at->J);
    for (size_t i = 0; status == ADREV_OK && i < n * n; i++)
        at->J[i] = at->J[i / n * wide + i % n];
    return status == ADREV_OK && !adx_lu_factor(n, at->J, at->pivot, at->chosen)
         ? ADREV_ESINGULAR : status;
}

static void adx_release_factors(adx_implicit_point *at)
{
    const ad_implicit_solver *s = &at->c->solver;
    if (at->factored && s->release != NULL)
        s->release(s->user, at->factors);
    at->factored = false;
}

// Prepares for systems with J at z.
static ad_status adx_factor_jacobian(adx_implicit_point *at)
{
    const ad_implicit_solver *s = &at->c->solver;
    if (s->solve == NULL)
        return adx_dense_factors(at);
    adx_release_factors(at);
    ad_status status = s->sparse ? adx_sparse_jacobian(at) : ADREV_OK;
    if (status != ADREV_OK || s->factor == NULL)
        return status;
    at->factors = s->factor(s->user, &at->matrix);
    at->factored = at->factors != NULL;
    return at->factored ? ADREV_OK : ADREV_ESINGULAR;
}

// r = J^-1 r, or J^-T r
static bool adx_solve_linear(const adx_implicit_point *at, bool transposed,
                             ad_real r[])
{
    const ad_implicit_solver *s = &at->c->solver;
    if (s->solve != NULL)
        return s->solve(s->user, at->factors, &at->matrix, transposed, r);
    if (transposed)
        adx_lu_solve_transposed(at->c->n, at->J, at->pivot, r);
    else
        adx_lu_solve(at->c->n, at->J, at->pivot, r);
    return true;
}

/* --- points --------------------------------------------------------------- */

static void adx_close_point(adx_implicit_point *at)
{
    const ad_allocator *a = &at->c->g->memory;
    adx_release_factors(at);
    adx_drop(a, at->z);
    adx_drop(a, at->J);
    adx_drop(a, at->chosen);
    adx_drop(a, at->pivot);
}

// Memory for a point, which must stay where it is. False: none; then it is to
// be closed, too.
static bool adx_open_point(adx_implicit_point *at, const adx_implicit *c)
{
    size_t n = c->n;
    bool dense = c->solver.solve == NULL;
    if (n + c->q > SIZE_MAX / 16 / n)
        return false;
    at->z = adx_implicit_reals(c, n + c->q);
    at->J = adx_implicit_reals(c, dense ? n * (n + c->q) : c->all);
    at->chosen = adx_implicit_reals(c, dense ? n : c->nonzeros);
    at->pivot = (size_t *)adx_take(&c->g->memory, dense ? n : 0,
                                   sizeof *at->pivot);
    at->matrix = (ad_implicit_matrix){ .n = n, .adx_point = at };
    if (c->solver.sparse) {
        at->matrix.nonzeros = c->nonzeros;
        at->matrix.start = c->start;
        at->matrix.column = c->column;
        at->matrix.value = at->chosen;
    }
    return at->z != NULL && at->J != NULL && at->chosen != NULL
        && at->pivot != NULL;
}

static double adx_largest_number(size_t n, const ad_real x[])
{
    double most = 0;
    for (size_t i = 0; i < n && most == most; i++)      // a NaN stays
        if (!((double)adm_fabs(x[i]) <= most))
            most = (double)adm_fabs(x[i]);
    return most;
}

static double adx_unknowns_scale(const adx_implicit_point *at)
{
    double most = adx_largest_number(at->c->n, at->z);
    return at->c->scale > 0 ? at->c->scale : most < 1 ? 1 : most;
}

// Newton's step at z, and its size against the scale of x; d[n] is J^-1 g.
static ad_status adx_newton_step(adx_implicit_point *at, ad_real d[],
                                 double *size)
{
    ad_status status = ad_fn_eval(at->c->g, at->z, d);
    if (status == ADREV_OK && !(adx_largest_number(at->c->n, d) < HUGE_VAL))
        status = ADREV_EUNSOLVED;
    if (status == ADREV_OK)
        status = adx_factor_jacobian(at);
    if (status == ADREV_OK && !adx_solve_linear(at, false, d))
        status = ADREV_ESINGULAR;
    if (status == ADREV_OK)
        *size = adx_largest_number(at->c->n, d) / adx_unknowns_scale(at);
    return status;
}

static double adx_residual(const adx_implicit_point *at, ad_real r[])
{
    bool ok = ad_fn_eval(at->c->g, at->z, r) == ADREV_OK;
    double sum = 0;
    for (size_t i = 0; ok && i < at->c->n; i++)
        sum += (double)r[i] * (double)r[i];
    return ok ? sum : HUGE_VAL;
}

// x -= t d, where t is halved until the residual is less than it was, unless
// the step is so small that rounding decides. False: it never is.
static bool adx_take_step(adx_implicit_point *at, const ad_real d[],
                          bool small, ad_real room[])
{
    size_t n = at->c->n;
    ad_real *before = room;
    ad_real *r = room + n;
    double was = adx_residual(at, r);
    ad_real t = 1;
    memcpy(before, at->z, n * sizeof *before);
    for (int halvings = 0; halvings < 40; halvings++, t /= 2) {
        for (size_t i = 0; i < n; i++)
            at->z[i] = before[i] - t * d[i];
        if (small || adx_residual(at, r) < was)
            return true;
    }
    return false;
}

enum { ADX_NEWTON_MOST = 60 };

// Newton's method from z, until steps are rounding errors. Then z is factored.
static bool adx_find_by_newton(adx_implicit_point *at)
{
    const adx_implicit *c = at->c;
    ad_real *d = adx_implicit_reals(c, 3 * c->n);
    double last = HUGE_VAL;
    bool ok = d != NULL;
    bool found = false;
    for (int i = 0; ok && !found && i < ADX_NEWTON_MOST; i++) {
        double size = HUGE_VAL;
        ok = adx_newton_step(at, d, &size) == ADREV_OK && size < HUGE_VAL;
        bool small = size <= c->tolerance;
        found = ok && (size <= 2 * (double)ADX_EPSILON
                       || (small && size >= last / 2));
        last = size;
        if (ok && !found)
            ok = adx_take_step(at, d, small, d + c->n);
    }
    adx_drop(&c->g->memory, d);
    return ok && found;
}

// Whether z is a solution; then it is factored.
static ad_status adx_check_solution(adx_implicit_point *at)
{
    ad_real *d = adx_implicit_reals(at->c, at->c->n);
    double size = HUGE_VAL;
    ad_status status = d == NULL ? ADREV_ENOMEM
                                 : adx_newton_step(at, d, &size);
    adx_drop(&at->c->g->memory, d);
    return status == ADREV_OK && !(size <= at->c->tolerance) ? ADREV_EUNSOLVED
                                                             : status;
}

/* === implicit/statement =====================================================
 * The statement, its sweeps and its replay. With J = dg/dx and z = (x, p):
 *
 *     xd = -J^-1 gp pd                pb = -gp' l,  J' l = xb
 *     J' ld = xbd - (H zd)x           pbd = -gp' ld - (H zd)p
 *
 * where H is the Hessian of l g. The adjoint of the unknowns is what g's would
 * be with weights -l, so each line is one ad_fn_jvp, ad_fn_vjp or ad_fn_hvp.
 *
 *   needs   tape/layout tape/memory array/operands function/api implicit/api
 *           implicit/solve
 * ========================================================================== */

// What the tape has a pointer to.
typedef struct adx_implicit_call {
    adx_implicit c;
    adx_implicit_point at;      // of the recording
} adx_implicit_call;

// l = J^-T yb; then wide[n+q] is l dg/dz.
static bool adx_implicit_adjoint(const adx_implicit_point *at,
                                 const ad_real yb[], ad_real l[],
                                 ad_real wide[])
{
    const adx_implicit *c = at->c;
    memcpy(l, yb, c->n * sizeof *l);
    return adx_solve_linear(at, true, l)
        && ad_fn_vjp(c->g, at->z, l, wide) == ADREV_OK;
}

// zd[n+q] = (xd, pd)
static bool adx_implicit_tangent(const adx_implicit_point *at,
                                 const ad_real pd[], ad_real zd[],
                                 ad_real r[])
{
    const adx_implicit *c = at->c;
    memset(zd, 0, c->n * sizeof *zd);
    if (c->q > 0)
        memcpy(zd + c->n, pd, c->q * sizeof *zd);
    if (ad_fn_jvp(c->g, at->z, zd, r) != ADREV_OK
        || !adx_solve_linear(at, false, r))
        return false;
    for (size_t i = 0; i < c->n; i++)
        zd[i] = -r[i];
    return true;
}

// pb -= l dg/dp, since dx/dp = -J^-1 dg/dp. In `wide` this part, of n = q
// numbers here, lies behind that of the m unknowns.
static bool adx_implicit_pullback(const void *saved, size_t m,
                                  const ad_real dy[], size_t n, ad_real dx[])
{
    const adx_implicit_call *k = *(adx_implicit_call *const *)saved;
    ad_real *l = adx_implicit_reals(&k->c, m + m + n);
    bool ok = l != NULL && adx_implicit_adjoint(&k->at, dy, l, l + m);
    for (size_t i = 0; ok && i < n; i++)
        dx[i] -= l[2 * m + i];
    adx_drop(&k->c.g->memory, l);
    return ok;
}

static bool adx_implicit_pushforward(const void *saved, size_t n,
                                     const ad_real dx[], size_t m,
                                     ad_real dy[])
{
    const adx_implicit_call *k = *(adx_implicit_call *const *)saved;
    ad_real *zd = adx_implicit_reals(&k->c, m + n);
    bool ok = zd != NULL && adx_implicit_tangent(&k->at, dx, zd, dy);
    if (ok)
        memcpy(dy, zd, m * sizeof *dy);
    adx_drop(&k->c.g->memory, zd);
    return ok;
}

static void adx_free_implicit(adx_implicit_call *k)
{
    ad_fn *g = k->c.g;
    ad_allocator memory = g->memory;
    adx_close_point(&k->at);
    adx_drop(&memory, k->c.start);
    adx_drop(&memory, k->c.column);
    adx_drop(&memory, k->c.entry);
    adx_drop(&memory, k);
    ad_fn_free(g);
}

static void adx_implicit_destroy(const void *saved)
{
    adx_free_implicit(*(adx_implicit_call *const *)saved);
}

/* --- at other points ------------------------------------------------------ */

// The solution for p, factored. For the parameters of the recording it is the
// one that was recorded.
static bool adx_find_solution(const adx_implicit_call *k,
                              adx_implicit_point *at, const ad_real p[])
{
    const adx_implicit *c = &k->c;
    memcpy(at->z, k->at.z, c->n * sizeof *at->z);
    if (c->q > 0)
        memcpy(at->z + c->n, p, c->q * sizeof *p);
    if (memcmp(at->z, k->at.z, (c->n + c->q) * sizeof *at->z) == 0)
        return adx_factor_jacobian(at) == ADREV_OK;
    if (c->find == NULL)
        return adx_find_by_newton(at);
    return c->find(c->user, p, at->z) && adx_check_solution(at) == ADREV_OK;
}

// Tangents of the adjoints; h[n+q], ld[n], wide[n+q] are room.
static bool adx_implicit_second(const adx_implicit_point *at,
                                const ad_external_point *e,
                                const ad_real l[], const ad_real zd[],
                                ad_real h[])
{
    const adx_implicit *c = at->c;
    ad_real *ld = h + c->n + c->q;
    ad_real *right = ld + c->n;
    ad_real *wide = right + c->n;
    if (ad_fn_hvp(c->g, at->z, l, zd, h) != ADREV_OK)
        return false;
    for (size_t i = 0; i < c->n; i++)
        right[i] = e->ybd[i] - h[i];
    if (!adx_implicit_adjoint(at, right, ld, wide))
        return false;
    for (size_t i = 0; i < c->q; i++)
        e->xbd[i] = -wide[c->n + i] - h[c->n + i];
    return true;
}

// What a call is given and asked for, along its direction r alone.
static ad_external_point adx_along(const ad_external_point *e, size_t r)
{
    ad_external_point one = *e;
    one.k = 1;
    one.xd = e->xd == NULL ? NULL : e->xd + r * e->n;
    one.yb = e->yb == NULL ? NULL : e->yb + r * e->m;
    one.ybd = e->ybd == NULL ? NULL : e->ybd + r * e->m;
    one.yd = e->yd == NULL ? NULL : e->yd + r * e->m;
    one.xb = e->xb == NULL ? NULL : e->xb + r * e->n;
    one.xbd = e->xbd == NULL ? NULL : e->xbd + r * e->n;
    return one;
}

// Derivatives along one direction. room: l[n], wide[n+q], zd[n+q], r[n], then
// that of the second derivatives
static bool adx_implicit_along(const adx_implicit_point *at,
                               const ad_external_point *e, ad_real room[])
{
    const adx_implicit *c = at->c;
    ad_real *l = room;
    ad_real *wide = l + c->n;
    ad_real *zd = wide + c->n + c->q;
    ad_real *r = zd + c->n + c->q;
    if (e->xd != NULL && !adx_implicit_tangent(at, e->xd, zd, r))
        return false;
    if (e->yd != NULL)
        memcpy(e->yd, zd, c->n * sizeof *e->yd);
    if (e->xb == NULL)
        return true;
    if (!adx_implicit_adjoint(at, e->yb, l, wide))
        return false;
    for (size_t i = 0; i < c->q; i++)
        e->xb[i] = -wide[c->n + i];
    return e->xbd == NULL || adx_implicit_second(at, e, l, zd, r + c->n);
}

// Gives what is asked for at a point whose solution and factors are known, one
// direction after another.
static bool adx_implicit_at(const adx_implicit_point *at,
                            const ad_external_point *e, ad_real room[])
{
    bool ok = true;
    if (e->y != NULL)
        memcpy(e->y, at->z, at->c->n * sizeof *e->y);
    for (size_t r = 0; r < e->k && ok; r++) {
        const ad_external_point one = adx_along(e, r);
        ok = adx_implicit_along(at, &one, room);
    }
    return ok;
}

// The solution is found, and its Jacobian factored, once for all directions.
static bool adx_implicit_replay(const void *saved, const ad_external_point *e)
{
    const adx_implicit_call *k = *(adx_implicit_call *const *)saved;
    const adx_implicit *c = &k->c;
    adx_implicit_point at = { .c = c };
    ad_real *room = adx_implicit_reals(c, 8 * c->n + 4 * c->q);
    bool ok = adx_open_point(&at, c) && room != NULL
           && adx_find_solution(k, &at, e->x) && adx_implicit_at(&at, e, room);
    adx_drop(&c->g->memory, room);
    adx_close_point(&at);
    return ok;
}

static const ad_external_rule adx_implicit_rule = {
    .name = "implicit", .pullback = adx_implicit_pullback,
    .pushforward = adx_implicit_pushforward, .destroy = adx_implicit_destroy,
    .replay = adx_implicit_replay, .abreast = true
};

/* --- the call ------------------------------------------------------------ */

static bool adx_is_impossible(const ad_implicit_desc *d, const ad_rev p[],
                              const ad_rev x[])
{
    return d == NULL || d->g == NULL || d->x == NULL || x == NULL || d->n == 0
        || d->n > d->g->n || d->g->m != d->n || d->g->variables < d->g->n
        || (p == NULL && d->g->n > d->n)
        || (d->solver != NULL && d->solver->solve == NULL);
}

// The solution at the values of p, checked and factored.
static ad_status adx_begin_implicit(adx_implicit_call *k,
                                    const ad_implicit_desc *d,
                                    const ad_rev p[])
{
    adx_implicit *c = &k->c;
    double usual = sizeof(ad_real) == sizeof(float) ? 1e-3 : 1e-8;
    c->n = d->n;
    c->q = c->g->n - d->n;
    c->tolerance = d->tolerance > 0 ? (double)d->tolerance : usual;
    c->scale = (double)d->scale;
    if (d->solver != NULL)
        c->solver = *d->solver;
    c->find = d->find;
    c->user = d->user;
    ad_status status = c->solver.sparse ? adx_choose_entries(c) : ADREV_OK;
    if (status == ADREV_OK && !adx_open_point(&k->at, c))
        status = ADREV_ENOMEM;
    if (status != ADREV_OK)
        return status;
    memcpy(k->at.z, d->x, c->n * sizeof *d->x);
    for (size_t i = 0; i < c->q; i++)
        k->at.z[c->n + i] = p[i].v;
    return adx_check_solution(&k->at);
}

static const char *adx_why_unsolved(ad_status status)
{
    return status == ADREV_EUNSOLVED
         ? "ad_implicit: x is no solution, for Newton's step from there is too"
           " large"
         : status == ADREV_ESINGULAR
         ? "ad_implicit: dg/dx is singular, or the linear solver failed" : NULL;
}

static ad_status adx_fail_implicit(ad_status status, size_t n, ad_rev x[])
{
    for (size_t i = 0; i < n; i++)
        x[i] = adx_no_result();
    return ad_fail(status, adx_why_unsolved(status));
}

ADX_API ad_status ad_implicit(const ad_implicit_desc *d, const ad_rev p[],
                              ad_rev x[])
{
    if (adx_is_impossible(d, p, x))
        return adx_failed(ADREV_ESHAPE);
    adx_implicit_call *k =
        (adx_implicit_call *)adx_take(&d->g->memory, 1, sizeof *k);
    if (k == NULL)
        return adx_fail_implicit(ADREV_ENOMEM, d->n, x);
    memset(k, 0, sizeof *k);
    k->c.g = d->g;
    k->at.c = &k->c;
    // relaxed: the caller holds it
    atomic_fetch_add_explicit(&d->g->holders, 1, memory_order_relaxed);
    ad_status status = adx_begin_implicit(k, d, p);
    if (status != ADREV_OK) {
        adx_free_implicit(k);
        return adx_fail_implicit(status, d->n, x);
    }
    // the values lie in what is the tape's from here on
    return (ad_external)(&adx_implicit_rule, &k, sizeof k, k->c.q, p, k->c.n,
                         k->at.z, x);
}

#endif // ADREV_IMPLICIT_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
