#pragma once

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
