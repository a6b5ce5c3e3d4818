/* adrev_system.h - a system of n equations that a solver integrates or solves:
 * what the adapters of SUNDIALS, of PETSc and of GSL's odeiv2 share.
 *
 * You write the equations once, over recorded numbers:
 *
 *     dy/dt = f(t, y, p)                  ad_system_ode(f, ctx, n, k)
 *     F(t, y, dy/dt, p) = 0               ad_system_dae(F, ctx, n, k)
 *     dy/dt - f(t, y, p) = 0              ad_system_implicit(f, ctx, n, k)
 *     g(y, p) = 0                         ad_system_equations(g, ctx, n, k)
 *     either, as a sum of elements        ad_system_elements(assembly, ode)
 *
 *     ad_system *s = ad_system_ode(f, NULL, 3, 2);
 *     s->p[0] = 0.04;  s->p[1] = 1e4;
 *     ... the solver's own calls, and those of its adapter ...
 *     if (ad_system_status(s) != ADREV_OK) ...
 *     ad_system_free(s);                  // after the solver
 *
 * All derivatives are of one recording, also those with respect to t and to the
 * parameters. Guards, statuses and threads are as in adrev_model.h: the system
 * has a model, whose inputs are y, dy/dt of a DAE, t, and p.
 *
 * Everything is `static inline`: no file needs to implement this header, but
 * one must implement adrev_function.h.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_SYSTEM_H
#define ADREV_SYSTEM_H

#include "adrev_model.h"

// Your equations. They read y, p (and rate, dy/dt) and set n results.
typedef void ad_ode_fn(ad_rev t, const ad_rev *y, const ad_rev *p,
                       ad_rev *rate, void *ctx);
typedef void ad_dae_fn(ad_rev t, const ad_rev *y, const ad_rev *rate,
                       const ad_rev *p, ad_rev *residual, void *ctx);
typedef void ad_equations_fn(const ad_rev *y, const ad_rev *p,
                             ad_rev *residual, void *ctx);

// A sparse matrix of a model, line by line: rows, or columns. That of a system
// is the Jacobian with respect to y; of a DAE it is dF/dy + c dF/d(dy/dt). The
// pattern has the entries of all paths so far.
typedef struct adx_system_matrix {
    bool by_rows;
    bool hessian;               // of the model's first result; otherwise the
                                // Jacobian
    bool diagonal;              // is always there: the matrix is square
    size_t lines;
    size_t columns;
    size_t first;               // of the model's columns, which is its column 0
    size_t unknowns;            // how many belong to it from there: `columns`,
                                // of a DAE twice as many
    ad_export *form;            // of the model's present path, of all inputs
    size_t moves;               // of the model, when `form` was made
    size_t *place;              // [entries of form] in value; SIZE_MAX: none
    bool *rate;                 // [entries of form] times c
    double *raw;                // [entries of form]
    bool direct;                // raw would be value: it is not used

    size_t changes;             // of the pattern
    size_t told;                // `changes` when a solver was given the pattern
    size_t count;
    size_t *start;              // [lines + 1] where each begins
    size_t *across;             // [count] row, or column
    double *value;              // [count]

    int64_t matrix[3];          // which matrix of a solver's has got the
                                // pattern: its state, and `changes` then
} adx_system_matrix;

typedef struct ad_system {
    double *p;                  // [parameters] their values, 0 at first: set
                                // them before a solution
    size_t n;                   // equations, and unknowns
    size_t parameters;
    ad_model *model;

    // For adapters.
    ad_ode_fn *ode;             // one of these
    ad_dae_fn *dae;
    ad_equations_fn *equations;
    ad_ode_fn *slope;           // of ad_system_implicit, which is a DAE
    void *ctx;
    double *x;                  // [inputs] where the model is evaluated; p is
                                // in it
    double *v;                  // [inputs] a direction, or adjoints
    size_t t_at;                // where t is in x; SIZE_MAX: equations
    size_t p_at;                // where p is in x
    adx_system_matrix by_columns;
    adx_system_matrix by_rows;
    adx_system_matrix by_p;     // with respect to p, by rows
    const double *directions;   // of sensitivities, [][parameters]; NULL: each
                                // parameter in turn
    size_t bent;                // moves of the model, when this was found out:
    bool bends;                 // dF/d(dy/dt) depends on t or y
    bool squares;               // it depends on dy/dt
} ad_system;

/* --- made and freed ------------------------------------------------------ */

static inline void adx_system_run(const ad_rev *x, ad_rev *y, void *system)
{
    const ad_system *s = (const ad_system *)system;
    if (s->ode != NULL)
        s->ode(x[s->t_at], x, x + s->p_at, y, s->ctx);
    else if (s->dae != NULL)
        s->dae(x[s->t_at], x, x + s->n, x + s->p_at, y,
               s->slope != NULL ? system : s->ctx);
    else
        s->equations(x, x + s->p_at, y, s->ctx);
}

static inline void adx_system_residual(ad_rev t, const ad_rev *y,
                                       const ad_rev *rate, const ad_rev *p,
                                       ad_rev *residual, void *system)
{
    const ad_system *s = (const ad_system *)system;
    s->slope(t, y, p, residual, s->ctx);
    for (size_t i = 0; i < s->n; i++)
        residual[i] = ad_rec(ad_sub(rate[i], residual[i]));
}

static inline void adx_system_matrix_free(adx_system_matrix *M)
{
    ad_export_free(M->form);
    free(M->place);
    free(M->rate);
    free(M->raw);
    free(M->start);
    free(M->across);
    free(M->value);
}

// Gives all memory back: call it after the solver's own objects are gone. NULL
// is allowed.
static inline void ad_system_free(ad_system *s)
{
    if (s == NULL)
        return;
    adx_system_matrix_free(&s->by_columns);
    adx_system_matrix_free(&s->by_rows);
    adx_system_matrix_free(&s->by_p);
    ad_model_free(s->model);
    free(s->x);
    free(s->v);
    free(s);
}

// One of the three functions is not NULL.
static inline ad_system *adx_system_new(ad_ode_fn *ode, ad_dae_fn *dae,
                                        ad_equations_fn *equations, void *ctx,
                                        size_t n, size_t parameters)
{
    const size_t most = SIZE_MAX / sizeof(double) / 4;
    if (n > most || parameters > most
        || (ode == NULL && dae == NULL && equations == NULL))
        return NULL;
    ad_system *s = (ad_system *)calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->ode = ode;
    s->dae = dae;
    s->equations = equations;
    s->ctx = ctx;
    s->n = n;
    s->parameters = parameters;
    s->p_at = dae != NULL ? 2 * n : n;
    s->by_columns.diagonal = true;
    s->by_columns.lines = s->by_columns.columns = n;
    s->by_columns.unknowns = s->p_at;
    s->by_rows = s->by_columns;
    s->by_rows.by_rows = s->by_p.by_rows = true;
    s->by_p.lines = n;
    s->by_p.columns = s->by_p.unknowns = parameters;
    s->t_at = equations == NULL ? s->p_at++ : SIZE_MAX;
    s->by_p.first = s->p_at;
    const size_t inputs = s->p_at + parameters;
    s->x = (double *)calloc(inputs + 1, sizeof *s->x);
    s->v = (double *)calloc(inputs + 1, sizeof *s->v);
    s->model = ad_model_vector(adx_system_run, s, inputs, n);
    if (s->x == NULL || s->v == NULL || s->model == NULL) {
        ad_system_free(s);
        return NULL;
    }
    s->p = s->x + s->p_at;
    return s;
}

// A system of n equations with so many parameters; nothing is recorded yet.
//
//   f, F, g      in    compiled with ADREV_TRACE, as for ad_fn_record
//   ctx          in    given to it; must outlive the system. Numbers from there
//                      are constants of a recording, see ad_system_clear
//   parameters   in    may be 0
//
//   returns      the system; NULL: out of memory, or the function is NULL
static inline ad_system *ad_system_ode(ad_ode_fn *f, void *ctx, size_t n,
                                       size_t parameters)
{
    return adx_system_new(f, NULL, NULL, ctx, n, parameters);
}

static inline ad_system *ad_system_dae(ad_dae_fn *F, void *ctx, size_t n,
                                       size_t parameters)
{
    return adx_system_new(NULL, F, NULL, ctx, n, parameters);
}

// The same ODE as a DAE, for what integrates these alone: IDAS, and methods of
// PETSc's TS that treat a part explicitly.
static inline ad_system *ad_system_implicit(ad_ode_fn *f, void *ctx, size_t n,
                                            size_t parameters)
{
    ad_system *s = adx_system_new(NULL, f != NULL ? adx_system_residual : NULL,
                                  NULL, ctx, n, parameters);
    if (s != NULL)
        s->slope = f;
    return s;
}

static inline ad_system *ad_system_equations(ad_equations_fn *g, void *ctx,
                                             size_t n, size_t parameters)
{
    return adx_system_new(NULL, NULL, g, ctx, n, parameters);
}

#ifdef ADREV_ASSEMBLE_H
static inline void adx_system_of_elements(const ad_rev *y, const ad_rev *p,
                                          ad_rev *residual, void *ctx)
{
    (void)y;
    (void)p;
    (void)residual;
    (void)ctx;
}

static inline void adx_system_ode_of_elements(ad_rev t, const ad_rev *y,
                                              const ad_rev *p, ad_rev *rate,
                                              void *ctx)
{
    (void)t;
    adx_system_of_elements(y, p, rate, ctx);
}

// The system g(y, p) = 0, or dy/dt = f(y, p), whose equations are a sum of
// elements (adrev_assemble.h, which is included before this header, or its
// adapter): for large ones, whose Jacobians need no colouring then, and may be
// compiled in a time that does not depend on their number. s->p has the
// parameters of the assembly; there are no derivatives by them.
//
//   a            in    with as many results as variables; must outlive the
//                      system
//   ode          in    whether they are rates
//
//   returns      the system; NULL: out of memory, or no such assembly
static inline ad_system *ad_system_elements(ad_assembly *a, bool ode)
{
    const ad_assembly_size size = ad_assembly_about(a);
    if (a == NULL || size.variables != size.results)
        return NULL;
    ad_system *s = adx_system_new(ode ? adx_system_ode_of_elements : NULL, NULL,
                                  ode ? NULL : adx_system_of_elements, NULL,
                                  size.variables, 0);
    ad_model *m = ad_model_elements(a);
    if (s == NULL || m == NULL) {
        ad_system_free(s);
        ad_model_free(m);
        return NULL;
    }
    ad_model_free(s->model);
    s->model = m;
    s->p = m->p;
    return s;
}
#endif

// Why the system has stopped, or why there is no value at the point evaluated
// last: as ad_model_status. ADREV_ESHAPE: the solver's matrix has
// other sizes, or too narrow a band; or a sparse one was given a pattern, and
// the path here has other entries: the pattern now has them, so have the linear
// solver analyse it again, and go on.
//
//   returns      as ad_model_status; ADREV_ENOMEM if s is NULL
static inline ad_status ad_system_status(const ad_system *s)
{
    return s == NULL ? ADREV_ENOMEM : ad_model_status(s->model);
}

// Forgets the status and the recordings: after numbers in ctx have changed.
//
//   returns      ADREV_OK; ADREV_ENOMEM: nothing has changed
static inline ad_status ad_system_clear(ad_system *s)
{
    return ad_model_clear(s->model);
}

/* --- evaluation -------------------------------------------------------------
 * At s->x, where adx_system_at has put a point. Each returns the status that
 * ad_system_status has afterwards.                                          */

static inline void adx_system_at(ad_system *s, double t, const double y[],
                                 const double rate[])
{
    memcpy(s->x, y, s->n * sizeof *y);
    if (rate != NULL)
        memcpy(s->x + s->n, rate, s->n * sizeof *rate);
    if (s->t_at != SIZE_MAX)
        s->x[s->t_at] = t;
}

static inline ad_status adx_system_eval(ad_system *s, double out[])
{
    return ad_model_eval(s->model, s->x, out);
}

// A direction in s->v, all zero but what is given: y, dy/dt = c y or `rate`.
static inline double *adx_system_direction(ad_system *s, const double y[],
                                           const double rate[], double c)
{
    memset(s->v, 0, (s->p_at + s->parameters) * sizeof *s->v);
    if (y != NULL)
        memcpy(s->v, y, s->n * sizeof *y);
    if (s->dae != NULL)
        for (size_t i = 0; i < s->n; i++)
            s->v[s->n + i] = rate != NULL ? rate[i] : c * y[i];
    return s->v;
}

// out = J v of the direction in s->v.
static inline ad_status adx_system_jvp(ad_system *s, double out[])
{
    return ad_model_jvp(s->model, s->x, s->v, out);
}

// s->v = J' w, with respect to all inputs.
static inline ad_status adx_system_vjp(ad_system *s, const double w[])
{
    return ad_model_vjp(s->model, s->x, w, s->v);
}

/* --- Jacobians ----------------------------------------------------------- */

typedef struct adx_system_cell {
    size_t line, across;
    size_t from;                // entry of the form; SIZE_MAX: of none
} adx_system_cell;

static inline int adx_system_order(const void *left, const void *right)
{
    const adx_system_cell *a = (const adx_system_cell *)left;
    const adx_system_cell *b = (const adx_system_cell *)right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->across == b->across ? 0 : a->across < b->across ? -1 : 1;
}

// The cells of the pattern so far, of the diagonal, and of the form, whose rows
// and columns are row[own], column[own]. Returns how many.
static inline size_t adx_system_cells(adx_system_matrix *M, size_t own,
                                      const int64_t row[],
                                      const int64_t column[],
                                      adx_system_cell cell[])
{
    size_t count = 0;
    for (size_t i = 0; i < M->lines; i++) {
        for (size_t k = M->changes == 0 ? 0 : M->start[i];
             M->changes > 0 && k < M->start[i + 1]; k++) {
            const adx_system_cell old = { i, M->across[k], SIZE_MAX };
            cell[count++] = old;
        }
        const adx_system_cell diagonal = { i, i, SIZE_MAX };
        if (M->diagonal)
            cell[count++] = diagonal;
    }
    for (size_t k = 0; k < own; k++) {
        const size_t i = (size_t)row[k], at = (size_t)column[k] - M->first;
        M->place[k] = SIZE_MAX;
        M->rate[k] = at >= M->columns;
        if (at < M->unknowns) {
            const size_t j = at % M->columns;
            const adx_system_cell entry
                = { M->by_rows ? i : j, M->by_rows ? j : i, k };
            cell[count++] = entry;
        }
    }
    return count;
}

// Sorts the cells, and makes a pattern of them, in which none is twice.
static inline ad_status adx_system_merge(adx_system_matrix *M, size_t count,
                                         adx_system_cell cell[])
{
    const size_t before = M->count;
    size_t *across = (size_t *)realloc(M->across,
                                       (count + 1) * sizeof *across);
    M->across = across == NULL ? M->across : across;
    double *value = (double *)realloc(M->value, (count + 1) * sizeof *value);
    M->value = value == NULL ? M->value : value;
    if (across == NULL || value == NULL)
        return ADREV_ENOMEM;
    qsort(cell, count, sizeof *cell, adx_system_order);
    size_t line = 0;
    M->count = 0;
    for (size_t k = 0; k < count; k++) {
        while (line <= cell[k].line)
            M->start[line++] = M->count;
        if (k == 0 || adx_system_order(&cell[k - 1], &cell[k]) != 0)
            M->across[M->count++] = cell[k].across;
        if (cell[k].from != SIZE_MAX)
            M->place[cell[k].from] = M->count - 1;
    }
    while (line <= M->lines)
        M->start[line++] = M->count;
    M->changes += M->changes == 0 || M->count != before;
    return ADREV_OK;
}

// Memory for a form of so many entries.
static inline bool adx_system_reserve(adx_system_matrix *M, size_t own)
{
    free(M->place);
    free(M->rate);
    free(M->raw);
    M->place = (size_t *)malloc((own + 1) * sizeof *M->place);
    M->rate = (bool *)malloc((own + 1) * sizeof *M->rate);
    M->raw = (double *)malloc((own + 1) * sizeof *M->raw);
    if (M->start == NULL)
        M->start = (size_t *)calloc(M->lines + 1, sizeof *M->start);
    return M->place != NULL && M->rate != NULL && M->raw != NULL
        && M->start != NULL;
}

// Makes M fit the model's present path.
static inline ad_status adx_system_fit(const ad_model *m, adx_system_matrix *M)
{
    ad_export_free(M->form);
    M->form = NULL;
    ad_export *form = NULL;
    ad_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.form = M->by_rows ? ADREV_CSR : ADREV_CSC;
    layout.triangle = ADREV_BOTH;
    layout.width = 64;
    ad_status status = adx_model_export(m, M->hessian, &layout, &form);
    if (status != ADREV_OK)
        return status;
    const size_t own = ad_export_entries(form, NULL, NULL);
    int64_t *index = (int64_t *)malloc((2 * own + 1) * sizeof *index);
    adx_system_cell *cell = (adx_system_cell *)malloc(
        (own + M->count + M->lines + 1) * sizeof *cell);
    status = ADREV_ENOMEM;
    if (adx_system_reserve(M, own) && index != NULL && cell != NULL)
        status = ad_export_pattern(form, NULL, index, index + own);
    if (status == ADREV_OK)
        status = adx_system_merge(M, adx_system_cells(M, own, index,
                                                      index + own, cell),
                                  cell);
    free(index);
    free(cell);
    if (status != ADREV_OK) {
        ad_export_free(form);
        return status;
    }
    M->form = form;
    M->moves = m->moves;
    M->direct = own == M->count;
    for (size_t k = 0; k < own && M->direct; k++)
        M->direct = M->place[k] == k && !M->rate[k];
    return ADREV_OK;
}

static inline ad_status adx_system_fill(ad_model *m, const double x[],
                                        adx_system_matrix *M, double c)
{
    const double one = 1;
    ad_status status = ADREV_OK;
    if (M->form == NULL || M->moves != m->moves)
        status = adx_system_fit(m, M);
    if (status == ADREV_OK)
        status = adx_model_sparse(m, M->hessian, x, &one, M->form,
                                  M->direct ? M->value : M->raw);
    if (status != ADREV_OK || M->direct)
        return status;
    memset(M->value, 0, M->count * sizeof *M->value);
    const size_t own = ad_export_entries(M->form, NULL, NULL);
    for (size_t k = 0; k < own; k++)
        if (M->place[k] != SIZE_MAX)
            M->value[M->place[k]] += M->rate[k] ? c * M->raw[k] : M->raw[k];
    return ADREV_OK;
}

// Values of M at x, and a pattern that fits the path there.
static inline ad_status adx_system_values(ad_model *m, const double x[],
                                          adx_system_matrix *M, double c)
{
    ADX_MODEL_RETURN(m, x, adx_system_fill(m, x, M, c));
}

static inline ad_status adx_system_jacobian(ad_system *s, adx_system_matrix *M,
                                            double c)
{
    return adx_system_values(s->model, s->x, M, c);
}

#ifdef ADREV_CODE_H
// As ad_model_compile: values, products and the sparse Jacobian, unless options
// say otherwise. Code of large systems may need a higher limit there.
//
//   t, y, rate   in    as for ad_system_entries
static inline ad_status ad_system_compile(ad_system *s, double t,
                                          const double y[], const double rate[],
                                          const ad_compile_options *options)
{
    ad_compile_options all;
    if (s == NULL)
        return ADREV_ENOMEM;
    memset(&all, 0, sizeof all);
    if (options != NULL)
        all = *options;
    if (all.functions == 0)
        all.functions = ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP
                      | ADREV_C_JACOBIAN_SPARSE;
    adx_system_at(s, t, y, rate);
    return ad_model_compile(s->model, s->x, &all);
}
#endif

// How many entries the Jacobian with respect to y has on the path at this
// point, with the whole diagonal: room for a sparse matrix.
//
//   t            in    of equations without time: any
//   y   [n]      in
//   rate [n]     in    dy/dt of a DAE; otherwise NULL
//
//   returns      0: the status says why
static inline size_t ad_system_entries(ad_system *s, double t,
                                       const double y[], const double rate[])
{
    if (s == NULL)
        return 0;
    adx_system_at(s, t, y, rate);
    return adx_system_jacobian(s, &s->by_columns, 1) == ADREV_OK
         ? s->by_columns.count : 0;
}

#endif
