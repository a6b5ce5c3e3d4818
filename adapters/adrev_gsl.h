/* adrev_gsl.h - minimisation, nonlinear least squares and ordinary differential
 * equations by the GNU Scientific Library, with exact derivatives.
 *
 *     #include "adrev_gsl.h"
 *
 *     ad_model *m = ad_model_vector(residuals, &data, 3, 40);
 *     gsl_multifit_nlinear_fdf fdf = ad_gsl_multifit_nlinear(m);
 *     gsl_multifit_nlinear_parameters p
 *         = gsl_multifit_nlinear_default_parameters();
 *     gsl_multifit_nlinear_workspace *w = gsl_multifit_nlinear_alloc(
 *         gsl_multifit_nlinear_trust, &p, fdf.n, fdf.p);
 *     gsl_multifit_nlinear_init(&start.vector, &fdf, w);
 *     int code = gsl_multifit_nlinear_driver(100, 1e-10, 1e-10, 0, NULL, NULL,
 *                                            &info, w);
 *     ... w->x, ad_model_status(m) ...
 *     gsl_multifit_nlinear_free(w);
 *     ad_model_free(m);
 *
 * Debian: libgsl-dev; link with -lgsl -lgslcblas -lm.
 *
 * A model or a system is yours, serves one solver at a time, and must outlive
 * it: GSL keeps a pointer to it. Solvers with models of their own may run in
 * several threads. Vectors may have any stride. GSL's error handler, which
 * aborts, is never called by what is here.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_GSL_H
#define ADREV_GSL_H

#include "adrev_model.h"
#include "adrev_system.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_multimin.h>
#include <gsl/gsl_odeiv2.h>

// What GSL is told of the model's status.
//
//   returns      GSL_SUCCESS; GSL_ENOMEM; GSL_EBADFUNC: any other
static inline int ad_gsl_error(const ad_model *m)
{
    const ad_status status = ad_model_status(m);
    return status == ADREV_OK ? GSL_SUCCESS
         : status == ADREV_ENOMEM ? GSL_ENOMEM : GSL_EBADFUNC;
}

// The numbers of v side by side: where they are, or in `copy`.
static inline const double *adx_gsl_read(const gsl_vector *v, double copy[])
{
    if (v->stride == 1)
        return v->data;
    for (size_t i = 0; i < v->size; i++)
        copy[i] = v->data[i * v->stride];
    return copy;
}

// Where results for v can be computed: in it, or in `copy`.
static inline double *adx_gsl_place(const gsl_vector *v, double copy[])
{
    return v->stride == 1 ? v->data : copy;
}

static inline void adx_gsl_write(gsl_vector *v, const double from[])
{
    if (from != v->data)
        for (size_t i = 0; i < v->size; i++)
            v->data[i * v->stride] = from[i];
}

/* --- multimin ------------------------------------------------------------ */

// The room is: the last point, its gradient (adx_model_search), x, g.
static inline void adx_gsl_min_fdf(const gsl_vector *x, void *model,
                                   double *value, gsl_vector *g)
{
    ad_model *m = (ad_model *)model;
    double *room = m->room;
    double *slope = g == NULL ? room + 3 * m->n
                              : adx_gsl_place(g, room + 3 * m->n);
    if (!adx_model_search(m, adx_gsl_read(x, room + 2 * m->n), value, slope)
        && m->stopped)
        *value = (double)NAN;
    if (g != NULL)
        adx_gsl_write(g, slope);
}

static inline double adx_gsl_min_f(const gsl_vector *x, void *model)
{
    double value = (double)NAN;
    adx_gsl_min_fdf(x, model, &value, NULL);
    return value;
}

static inline void adx_gsl_min_df(const gsl_vector *x, void *model,
                                  gsl_vector *g)
{
    double value = 0;
    adx_gsl_min_fdf(x, model, &value, g);
}

// The model, which has one output, as a function for gsl_multimin_fdfminimizer.
// Where it has no finite value, the line search is told of a rise that leads it
// back.
//
//   returns      f NULL: no model, no memory, or several outputs
//   cost         of value and gradient 3 to 5 values
//   memory       four vectors, which the model keeps
static inline gsl_multimin_function_fdf ad_gsl_multimin(ad_model *m)
{
    gsl_multimin_function_fdf fdf = { NULL, NULL, NULL, 0, NULL };
    if (m == NULL || m->m != 1 || adx_model_room(m, 4 * m->n) == NULL)
        return fdf;
    m->known = 0;
    fdf.f = adx_gsl_min_f;
    fdf.df = adx_gsl_min_df;
    fdf.fdf = adx_gsl_min_fdf;
    fdf.n = m->n;
    fdf.params = m;
    return fdf;
}

// A step of s, whose function is of ad_gsl_multimin.
//
//   returns      as gsl_multimin_fdfminimizer_iterate; GSL_EBADFUNC or
//                GSL_ENOMEM: the model has stopped, see ad_model_status
static inline int ad_gsl_multimin_iterate(gsl_multimin_fdfminimizer *s)
{
    const ad_model *m = (const ad_model *)s->fdf->params;
    int code = m->stopped ? GSL_FAILURE : gsl_multimin_fdfminimizer_iterate(s);
    return m->stopped ? ad_gsl_error(m) : code;
}

/* --- multifit_nlinear -------------------------------------------------------
 * The room is: x, v, then numbers of results.                               */

// Residuals of a trial point without finite ones: so large that it is refused,
// but their norm is still finite, which GSL's comparison needs.
#define ADX_GSL_REFUSED 1e150

static inline int adx_gsl_fit_f(const gsl_vector *x, void *model,
                                gsl_vector *f)
{
    ad_model *m = (ad_model *)model;
    double *room = m->room;
    double *y = adx_gsl_place(f, room + 2 * m->n);
    const ad_status status = ad_model_eval(m, adx_gsl_read(x, room), y);
    if (m->stopped)
        return ad_gsl_error(m);
    if (status != ADREV_OK || !adx_model_finite(m->m, y)) {
        if (m->known == 0)
            return GSL_EBADFUNC;
        for (size_t i = 0; i < m->m; i++)
            y[i] = ADX_GSL_REFUSED;
    } else
        m->known++;
    adx_gsl_write(f, y);
    return GSL_SUCCESS;
}

static inline int adx_gsl_fit_df(const gsl_vector *x, void *model,
                                 gsl_matrix *J)
{
    ad_model *m = (ad_model *)model;
    const size_t n = m->n;
    double *room = m->room;
    double *to = J->tda == n ? J->data : room + 2 * n;
    if (ad_model_jacobian(m, adx_gsl_read(x, room), to) != ADREV_OK)
        return ad_gsl_error(m);
    if (!adx_model_finite(m->m * n, to))
        return GSL_EBADFUNC;
    if (to != J->data)
        for (size_t i = 0; i < m->m; i++)
            memcpy(J->data + i * J->tda, to + i * n, n * sizeof *to);
    return GSL_SUCCESS;
}

// v' H v of each result, for functions that have no Taylor coefficients. w [m]
// and hv [n] are scratch.
static inline ad_status adx_gsl_bend(ad_model *m, const double x[],
                                     const double v[], double w[], double hv[],
                                     double out[])
{
    ad_status status = ADREV_OK;
    memset(w, 0, m->m * sizeof *w);
    for (size_t i = 0; i < m->m && status == ADREV_OK; i++) {
        w[i] = 1;
        status = ad_model_hvp(m, x, w, v, hv);
        w[i] = 0;
        out[i] = 0;
        for (size_t j = 0; j < m->n; j++)
            out[i] += hv[j] * v[j];
    }
    return status;
}

// The second derivative along v is twice the second Taylor coefficient.
static inline int adx_gsl_fit_fvv(const gsl_vector *x, const gsl_vector *v,
                                  void *model, gsl_vector *fvv)
{
    ad_model *m = (ad_model *)model;
    double *room = m->room;
    const double *at = adx_gsl_read(x, room);
    const double *along = adx_gsl_read(v, room + m->n);
    double *work = room + 2 * m->n;
    double *y = work + 2 * m->m;
    ad_status status = ad_model_taylor(m, at, along, 2, work);
    for (size_t i = 0; i < m->m; i++)
        y[i] *= 2;
    if (status == ADREV_EEXTERNAL)
        status = adx_gsl_bend(m, at, along, work, y + m->m, y);
    if (status != ADREV_OK)
        return ad_gsl_error(m);
    if (!adx_model_finite(m->m, y))
        return GSL_EBADFUNC;
    adx_gsl_write(fvv, y);
    return GSL_SUCCESS;
}

// The model, whose outputs are residuals, as a function for
// gsl_multifit_nlinear: residuals, Jacobian, and second derivatives along a
// direction (for gsl_multifit_nlinear_trs_lmaccel).
//
// A trial point without finite residuals is refused, and GSL tries a shorter
// step. GSL returns GSL_EBADFUNC if the first point has none, if a derivative
// is not finite, or if the model has stopped (GSL_ENOMEM: for want of memory):
// see ad_model_status.
//
//   returns      f NULL: no model, or no memory
//   cost         for each call one evaluation of residuals, a Jacobian, or
//                Taylor coefficients of order 2; for a model with external
//                statements, one Hessian product for each residual instead of
//                these
//   memory       2n + max(nm, 3m + n) numbers, which the model keeps; for a
//                model with external statements, fvv also allocates in each call
static inline gsl_multifit_nlinear_fdf ad_gsl_multifit_nlinear(ad_model *m)
{
    gsl_multifit_nlinear_fdf fdf
        = { NULL, NULL, NULL, 0, 0, NULL, 0, 0, 0 };
    if (m == NULL)
        return fdf;
    const size_t more = m->n * m->m > 3 * m->m + m->n ? m->n * m->m
                                                      : 3 * m->m + m->n;
    if (adx_model_room(m, 2 * m->n + more) == NULL)
        return fdf;
    m->known = 0;
    fdf.f = adx_gsl_fit_f;
    fdf.df = adx_gsl_fit_df;
    fdf.fvv = adx_gsl_fit_fvv;
    fdf.n = m->m;
    fdf.p = m->n;
    fdf.params = m;
    return fdf;
}

/* --- odeiv2 --------------------------------------------------------------- */

// What odeiv2 is told: GSL_EDOM has it try a shorter step, the others end it.
static inline int adx_gsl_ode_code(const ad_system *s, ad_status status,
                                   size_t n, const double result[])
{
    if (status == ADREV_OK && adx_model_finite(n, result))
        return GSL_SUCCESS;
    return s->model->stopped ? ad_gsl_error(s->model) : GSL_EDOM;
}

static inline int adx_gsl_ode_f(double t, const double y[], double rate[],
                                void *system)
{
    ad_system *s = (ad_system *)system;
    adx_system_at(s, t, y, NULL);
    return adx_gsl_ode_code(s, adx_system_eval(s, rate), s->n, rate);
}

static inline int adx_gsl_ode_jacobian(double t, const double y[],
                                       double *dfdy, double dfdt[],
                                       void *system)
{
    ad_system *s = (ad_system *)system;
    const adx_system_matrix *M = &s->by_rows;
    adx_system_at(s, t, y, NULL);
    ad_status status = adx_system_jacobian(s, &s->by_rows, 0);
    if (status == ADREV_OK) {
        memset(dfdy, 0, s->n * s->n * sizeof *dfdy);
        for (size_t i = 0; i < s->n; i++)
            for (size_t k = M->start[i]; k < M->start[i + 1]; k++)
                dfdy[i * s->n + M->across[k]] = M->value[k];
        adx_system_direction(s, NULL, NULL, 0)[s->t_at] = 1;
        status = adx_system_jvp(s, dfdt);
    }
    const int code = adx_gsl_ode_code(s, status, s->n, dfdt);
    return code != GSL_SUCCESS ? code
         : adx_gsl_ode_code(s, status, M->count, M->value);
}

// The system, of ad_system_ode, for the steppers of odeiv2: rates, and for
// implicit ones (gsl_odeiv2_step_msbdf and others) df/dy and df/dt. Set s->p
// first.
//
// Where a rate or a derivative is not finite, odeiv2 tries a shorter step. It
// returns GSL_EBADFUNC or GSL_ENOMEM if the model has stopped: see
// ad_system_status.
//
//   returns      function NULL: no system, or not of that kind
//   cost         of derivatives: a sparse Jacobian, and a product for df/dt
//   memory       none in an evaluation, after the first one on its path
static inline gsl_odeiv2_system ad_gsl_odeiv2(ad_system *s)
{
    gsl_odeiv2_system system = { NULL, NULL, 0, NULL };
    if (s == NULL || s->ode == NULL)
        return system;
    system.function = adx_gsl_ode_f;
    system.jacobian = adx_gsl_ode_jacobian;
    system.dimension = s->n;
    system.params = s;
    return system;
}

#endif
