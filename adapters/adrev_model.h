/* adrev_model.h - a model that a solver calls: what the adapters of optimisers
 * share.
 *
 * You write a function once, over recorded numbers. A model records it at the
 * first point that a solver asks for, evaluates the recording at all others,
 * and records again where the function takes another path (ad_traced). It
 * remembers why an evaluation failed, since most solvers have no place for
 * that.
 *
 *     ad_model *m = ad_model_scalar(f, ctx, n);           // R^n -> R
 *     ad_model *m = ad_model_vector(f, ctx, n, outputs);  // R^n -> R^outputs
 *     ad_model *m = ad_model_of(fn);                      // recorded already
 *     ad_model *m = ad_model_elements(assembly);          // adrev_assemble.h
 *     ... the solver's own calls, and those of its adapter ...
 *     if (ad_model_status(m) != ADREV_OK) ...
 *     ad_model_free(m);                                   // after the solver
 *
 * Numbers that f takes from ctx are constants of a recording: after they have
 * changed, call ad_model_clear. Everything is `static inline`: no file needs to
 * implement this header, but one must implement adrev_function.h.
 *
 * Not for ADREV_REAL float, nor with ADREV_NO_STDLIB.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_MODEL_H
#define ADREV_MODEL_H

#include "adrev_function.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

ADX_STATIC_ASSERT(sizeof(ad_real) == sizeof(double),
                  "adapters of optimisers need ADREV_REAL double");

typedef struct ad_model {
    ad_scalar_fn *scalar;       // one of these, or neither: ad_model_of
    ad_vector_fn *vector;
    void *ctx;
    size_t n;                   // inputs
    size_t m;                   // outputs

    ad_fn *fn;                  // of the path used last; NULL: none yet
    ad_traced *traced;          // all paths; NULL: ad_model_of
    struct ad_assembly *assembly;   // in place of fn: ad_model_elements
    double *p;                  // [parameters] its, 0 at first; NULL: none
    size_t moves;               // how often fn has changed
    ad_status status;
    bool stopped;               // the status stays: evaluate no more

    // For adapters.
    double *room;               // scratch memory, `room_size` numbers
    size_t room_size;
    void *blocks;               // memory that is freed with the model: a list,
                                // each begins with a pointer to the next
    void *solver;               // whom to tell when stopped
    double worst;               // what stands for a value that is not finite
    size_t known;               // finite values since a solver was given this
    double last;                // the value at the last point with one
} ad_model;

/* --- made and freed ------------------------------------------------------ */

static inline void adx_model_of_scalar(const ad_rev *x, ad_rev *y, void *model)
{
    const ad_model *m = (const ad_model *)model;
    y[0] = m->scalar(x, m->ctx);
}

static inline void adx_model_of_vector(const ad_rev *x, ad_rev *y, void *model)
{
    const ad_model *m = (const ad_model *)model;
    m->vector(x, y, m->ctx);
}

// Gives all memory back: call it after the solver's own object is gone. NULL is
// allowed.
static inline void ad_model_free(ad_model *m)
{
    if (m == NULL)
        return;
    while (m->blocks != NULL) {
        void *next = *(void **)m->blocks;
        free(m->blocks);
        m->blocks = next;
    }
    ad_traced_free(m->traced);
    free(m->room);
    free(m->p);
    free(m);
}

static inline ad_model *adx_model_new(ad_scalar_fn *scalar,
                                      ad_vector_fn *vector, void *ctx,
                                      size_t n, size_t m)
{
    if (scalar == NULL && vector == NULL)
        return NULL;
    ad_model *model = (ad_model *)calloc(1, sizeof *model);
    if (model == NULL)
        return NULL;
    model->scalar = scalar;
    model->vector = vector;
    model->ctx = ctx;
    model->n = n;
    model->m = m;
    model->worst = HUGE_VAL;
    model->traced = ad_traced_new(scalar != NULL ? adx_model_of_scalar
                                                 : adx_model_of_vector,
                                  model, n, m, 0);
    if (model->traced == NULL) {
        free(model);
        return NULL;
    }
    return model;
}

// A model of a function with one result, or with m. f is not run yet.
//
//   f            in    compiled with ADREV_TRACE, as for ad_fn_record
//   ctx          in    given to f; must outlive the model
//
//   returns      the model; NULL: out of memory, or f is NULL
static inline ad_model *ad_model_scalar(ad_scalar_fn *f, void *ctx, size_t n)
{
    return adx_model_new(f, NULL, ctx, n, 1);
}

static inline ad_model *ad_model_vector(ad_vector_fn *f, void *ctx, size_t n,
                                        size_t m)
{
    return adx_model_new(NULL, f, ctx, n, m);
}

// A model of a recorded function, which may be compiled or loaded. It stays
// yours, and must outlive the model. At points of another path it has no value.
// NULL: no memory; or fn is NULL or has parameters (ad_fn_select), since
// solvers take derivatives by all inputs.
static inline ad_model *ad_model_of(ad_fn *fn)
{
    ad_model *model = (ad_model *)calloc(1, sizeof *model);
    if (model == NULL || fn == NULL
        || ad_fn_variables(fn) < ad_fn_inputs(fn)) {
        free(model);
        return NULL;
    }
    model->fn = fn;
    model->n = ad_fn_inputs(fn);
    model->m = ad_fn_outputs(fn);
    model->worst = HUGE_VAL;
    return model;
}

#ifdef ADREV_ASSEMBLE_H
// A model of a sum of elements (adrev_assemble.h, which is included before this
// header, or its adapter). The assembly stays yours, may be compiled, and must
// outlive the model; set its parameters, m->p, before a solver runs. Where a
// guard of an element comes out differently it has no value. Dense Jacobians
// and Taylor coefficients there are not: ADREV_EHOOK. NULL: no memory, or a is
// NULL.
static inline ad_model *ad_model_elements(ad_assembly *a)
{
    const ad_assembly_size size = ad_assembly_about(a);
    ad_model *model = (ad_model *)calloc(1, sizeof *model);
    double *p = (double *)calloc(size.parameters + 1, sizeof *p);
    if (model == NULL || p == NULL || a == NULL) {
        free(model);
        free(p);
        return NULL;
    }
    model->assembly = a;
    model->p = p;
    model->n = size.variables;
    model->m = size.results;
    model->moves = 1;
    model->worst = HUGE_VAL;
    return model;
}
#endif

/* --- how it went --------------------------------------------------------- */

// Why the model has stopped, or why it has no value at the point evaluated
// last.
//
// ADREV_EPATH and ADREV_EEXTERNAL belong to a point: for a solver they are a
// value that is not finite, and it may go on to other points. With any other
// status the model stops: no more is evaluated until ad_model_clear, and each
// adapter makes its solver return.
//
//   returns      ADREV_OK; as ad_fn_record (of the recording) or ad_fn_eval;
//                ADREV_ENOMEM if m is NULL
static inline ad_status ad_model_status(const ad_model *m)
{
    return m == NULL ? ADREV_ENOMEM : m->status;
}

// Forgets the status and, unless the function is yours (ad_model_of,
// ad_model_elements), all recordings: the function is recorded again at the
// next point.
//
//   returns      ADREV_OK; ADREV_ENOMEM: nothing has changed
static inline ad_status ad_model_clear(ad_model *m)
{
    if (m->traced != NULL) {
        ad_traced *fresh = ad_traced_new(m->scalar != NULL
                                         ? adx_model_of_scalar
                                         : adx_model_of_vector,
                                         m, m->n, m->m, 0);
        if (fresh == NULL)
            return ADREV_ENOMEM;
        ad_traced_free(m->traced);
        m->traced = fresh;
        m->fn = NULL;
    }
    m->moves++;
    m->status = ADREV_OK;
    m->stopped = false;
    return ADREV_OK;
}

// How many numbers it takes, and how many it gives.
static inline size_t ad_model_inputs(const ad_model *m)
{
    return m->n;
}

static inline size_t ad_model_outputs(const ad_model *m)
{
    return m->m;
}

/* --- evaluation --------------------------------------------------------------
 * As the functions ad_fn_... of the same names, on whatever path x takes. What
 * they return is also what ad_model_status returns, until the next call.     */

static inline bool adx_model_finite(size_t n, const double x[])
{
    double sum = 0;                 // NaN as soon as one is not finite
    for (size_t i = 0; i < n; i++)
        sum += 0 * x[i];
    return sum == 0;
}

// Looks for the path that x takes, and records it if it is new.
static inline ad_status adx_model_move(ad_model *m, const double x[])
{
    m->moves++;
    return ad_traced_at(m->traced, x, &m->fn);
}

static inline ad_status adx_model_begin(ad_model *m, const double x[])
{
    if (m->stopped)
        return m->status;
    return m->fn != NULL || m->p != NULL ? ADREV_OK : adx_model_move(m, x);
}

// Whether x is on another path, which is now at hand: then ask again.
static inline bool adx_model_elsewhere(ad_model *m, const double x[],
                                       ad_status *status)
{
    if (*status != ADREV_EPATH || m->traced == NULL
        || !adx_model_finite(m->n, x))
        return false;
    *status = adx_model_move(m, x);
    return *status == ADREV_OK;
}

static inline ad_status adx_model_keep(ad_model *m, ad_status status)
{
    m->status = status;
    m->stopped = status != ADREV_OK && status != ADREV_EPATH
              && status != ADREV_EEXTERNAL;
    return status;
}

// One of two queries: of elements, or of m->fn.
#ifdef ADREV_ASSEMBLE_H
#define ADX_MODEL_EITHER(m, of_elements, of_fn)                             \
    ((m)->p != NULL ? (of_elements) : (of_fn))
#else
#define ADX_MODEL_EITHER(m, of_elements, of_fn)                             \
    ((m)->p != NULL ? ADREV_EHOOK : (of_fn))
#endif

// Returns the status of `call`, a query of the model at x.
#define ADX_MODEL_RETURN(m, x, call)                                        \
    do {                                                                    \
        ad_status adx_answer = adx_model_begin(m, x);                       \
        if (adx_answer == ADREV_OK)                                         \
            adx_answer = (call);                                            \
        if (adx_model_elsewhere(m, x, &adx_answer))                         \
            adx_answer = (call);                                            \
        return adx_model_keep(m, adx_answer);                               \
    } while (0)

#define ADX_MODEL_ASK(m, x, of_elements, of_fn)                             \
    ADX_MODEL_RETURN(m, x, ADX_MODEL_EITHER(m, of_elements, of_fn))

static inline ad_status ad_model_eval(ad_model *m, const double x[],
                                      double y[])
{
    ADX_MODEL_ASK(m, x, ad_assembly_eval(m->assembly, x, m->p, y),
                  ad_fn_eval(m->fn, x, y));
}

static inline ad_status ad_model_gradient(ad_model *m, const double x[],
                                          double *y, double g[])
{
    ADX_MODEL_ASK(m, x, ad_assembly_gradient(m->assembly, x, m->p, y, g),
                  ad_fn_gradient(m->fn, x, y, g));
}

static inline ad_status ad_model_linearize(ad_model *m, const double x[],
                                           double y[], double J[])
{
    ADX_MODEL_ASK(m, x, ADREV_EHOOK, ad_fn_linearize(m->fn, x, y, J));
}

static inline ad_status ad_model_jacobian(ad_model *m, const double x[],
                                          double J[])
{
    ADX_MODEL_ASK(m, x, ADREV_EHOOK, ad_fn_jacobian(m->fn, x, J));
}

static inline ad_status ad_model_jvp(ad_model *m, const double x[],
                                     const double v[], double dy[])
{
    ADX_MODEL_ASK(m, x, ad_assembly_jvp(m->assembly, x, m->p, v, dy),
                  ad_fn_jvp(m->fn, x, v, dy));
}

static inline ad_status ad_model_vjp(ad_model *m, const double x[],
                                     const double w[], double dx[])
{
    ADX_MODEL_ASK(m, x, ad_assembly_vjp(m->assembly, x, m->p, w, dx),
                  ad_fn_vjp(m->fn, x, w, dx));
}

static inline ad_status ad_model_hvp(ad_model *m, const double x[],
                                     const double w[], const double v[],
                                     double hv[])
{
    ADX_MODEL_ASK(m, x, ad_assembly_hvp(m->assembly, x, m->p, w, v, hv),
                  ad_fn_hvp(m->fn, x, w, v, hv));
}

static inline ad_status ad_model_taylor(ad_model *m, const double x[],
                                        const double v[], size_t order,
                                        double y[])
{
    ADX_MODEL_ASK(m, x, ADREV_EHOOK, ad_fn_taylor(m->fn, x, v, order, y));
}

#ifdef ADREV_CODE_H
// From now on the model's function is evaluated by machine code on the path
// that x takes (its elements on any): ad_fn_compile, ad_assembly_compile. For
// this include adrev_code.h, or a header that does, before this one, or its
// adapter.
//
//   x   [n]      in    where the function is recorded, if this path is new; of
//                      elements: NULL
//   options      in    NULL: all-zero. `functions` says what is compiled:
//                      solvers that ask for sparse matrices need
//                      ADREV_C_JACOBIAN_SPARSE and ADREV_C_HESSIAN_SPARSE
//
//   returns      ADREV_OK; as ad_model_status, if there is no recording;
//                ADREV_ECOMPILE: evaluated without machine code, as before;
//                ADREV_ENOMEM, also if m is NULL
static inline ad_status ad_model_compile(ad_model *m, const double x[],
                                         const ad_compile_options *options)
{
    if (m == NULL)
        return ADREV_ENOMEM;
#ifdef ADREV_ASSEMBLE_H
    if (m->p != NULL)
        return ad_assembly_compile(m->assembly, options);
#endif
    ad_status status = m->stopped ? m->status : ADREV_OK;
    if (status == ADREV_OK && m->traced != NULL)
        status = adx_model_keep(m, x == NULL ? ADREV_ESHAPE
                                             : adx_model_move(m, x));
    return status != ADREV_OK ? status : ad_fn_compile(m->fn, options);
}
#endif

// Of the model's present path: the form of its sparse Jacobian, or of the
// Hessian of its outputs times w, and values.
static inline ad_status adx_model_export(const ad_model *m, bool hessian,
                                         const ad_layout *layout,
                                         ad_export **out)
{
    if (hessian)
        return ADX_MODEL_EITHER(
            m, ad_assembly_hessian_export(m->assembly, layout, out),
            ad_fn_hessian_export(m->fn, layout, out));
    return ADX_MODEL_EITHER(
        m, ad_assembly_jacobian_export(m->assembly, layout, out),
        ad_fn_jacobian_export(m->fn, layout, out));
}

static inline ad_status adx_model_sparse(const ad_model *m, bool hessian,
                                         const double x[], const double w[],
                                         ad_export *form, double value[])
{
    if (hessian)
        return ADX_MODEL_EITHER(
            m, ad_assembly_hessian(m->assembly, x, m->p, w, form, value),
            ad_fn_hessian_values(m->fn, x, w, form, value));
    return ADX_MODEL_EITHER(
        m, ad_assembly_jacobian(m->assembly, x, m->p, form, value),
        ad_fn_jacobian_values(m->fn, x, form, value));
}

// Scratch memory of so many numbers, the same from call to call; NULL: none,
// and the model has stopped. It is allocated when it must grow.
static inline double *adx_model_room(ad_model *m, size_t count)
{
    if (count > m->room_size) {
        double *room = count > SIZE_MAX / sizeof *room ? NULL
                     : (double *)realloc(m->room, count * sizeof *room);
        if (room == NULL) {
            (void)adx_model_keep(m, ADREV_ENOMEM);
            return NULL;
        }
        m->room = room;
        m->room_size = count;
    }
    return m->room;
}

/* --- line searches -----------------------------------------------------------
 * A line search interpolates values and slopes, and an infinity among them ends
 * it. So where a model with one output has no finite value, the search is told
 * of a parabola: from the last point with a value, x0, it falls as the model
 * does there and then rises, so that it is least at a twentieth of the way to
 * x. Value and slope at x fit that parabola, and the value is above that at x0.
 * So the search comes back, and never ends at x.                             */

// That parabola at x: its value, and what to multiply x - x0 by for its
// gradient; NaN if no point with a value is known.
//
//   slope        in    of the gradient at x0 along x - x0
//   square       in    of the length of x - x0
static inline void adx_model_parabola(const ad_model *m, double slope,
                                      double square, double *value,
                                      double *factor)
{
    slope = fabs(slope);
    *value = *factor = (double)NAN;
    if (m->known == 0 || !(square > 0) || !isfinite(square)
        || !isfinite(slope))
        return;
    *value = m->last + 9 * slope;
    *factor = 19 * slope / square;
}

// The parabola and its gradient. last [2*n]: x0 and the model's gradient there.
static inline void adx_model_rise(const ad_model *m, const double last[],
                                  const double x[], double *value, double g[])
{
    double slope = 0;
    double square = 0;
    double factor;
    for (size_t i = 0; i < m->n; i++) {
        const double step = x[i] - last[i];
        slope += last[m->n + i] * step;
        square += step * step;
    }
    adx_model_parabola(m, slope, square, value, &factor);
    for (size_t i = 0; i < m->n; i++)
        g[i] = factor * (x[i] - last[i]);
}

// Value and gradient for a line search, at points one after the other. The
// memory of adx_model_room begins with `last`.
//
//   returns      whether that is the model; otherwise its status may say why
//                not
static inline bool adx_model_search(ad_model *m, const double x[],
                                    double *value, double g[])
{
    double *last = m->room;
    const ad_status status = ad_model_gradient(m, x, value, g);
    if (status != ADREV_OK || !isfinite(*value)
        || !adx_model_finite(m->n, g)) {
        adx_model_rise(m, last, x, value, g);
        return false;
    }
    memcpy(last, x, m->n * sizeof *x);
    memcpy(last + m->n, g, m->n * sizeof *g);
    m->last = *value;
    m->known++;
    return true;
}

#endif
