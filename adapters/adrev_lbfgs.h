/* adrev_lbfgs.h - the minimum of a model by libLBFGS.
 *
 *     #include "adrev_lbfgs.h"
 *
 *     ad_model *m = ad_model_scalar(f, NULL, 2);
 *     double x[2] = { -1.2, 1 }, value;
 *     int code = ad_lbfgs(m, x, &value, NULL, NULL, NULL);
 *     printf("%d, %s: f(%g, %g) = %g\n", code,
 *            ad_message(ad_model_status(m)), x[0], x[1], value);
 *     ad_model_free(m);
 *
 * Debian: liblbfgs-dev; link with -llbfgs -lm.
 *
 * The model and x stay yours; nothing of them is kept after the call.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_LBFGS_H
#define ADREV_LBFGS_H

#include "adrev_model.h"

#include <lbfgs.h>

ADX_STATIC_ASSERT(sizeof(lbfgsfloatval_t) == sizeof(double),
                  "adrev_lbfgs.h needs LBFGS_FLOAT 64");

typedef struct adx_lbfgs {
    ad_model *model;
    lbfgs_progress_t progress;
    void *instance;
    bool begun;
} adx_lbfgs;

// n may have been rounded up; numbers behind the model's are zero and stay so.
static inline lbfgsfloatval_t adx_lbfgs_evaluate(void *user,
                                                 const lbfgsfloatval_t *x,
                                                 lbfgsfloatval_t *g,
                                                 const int n,
                                                 const lbfgsfloatval_t step)
{
    adx_lbfgs *s = (adx_lbfgs *)user;
    ad_model *m = s->model;
    lbfgsfloatval_t value = 0;
    (void)step;
    s->begun = true;
    memset(g + m->n, 0, ((size_t)n - m->n) * sizeof *g);
    if (!adx_model_search(m, x, &value, g)
        && (m->stopped || !isfinite(value)))
        return HUGE_VAL;        // every line search gives up
    return value;
}

static inline int adx_lbfgs_progress(void *user, const lbfgsfloatval_t *x,
                                     const lbfgsfloatval_t *g,
                                     const lbfgsfloatval_t f,
                                     const lbfgsfloatval_t xnorm,
                                     const lbfgsfloatval_t gnorm,
                                     const lbfgsfloatval_t step, int n, int k,
                                     int evaluations)
{
    const adx_lbfgs *s = (const adx_lbfgs *)user;
    if (s->model->stopped)
        return LBFGSERR_CANCELED;
    (void)n;
    return s->progress == NULL ? 0
         : s->progress(s->instance, x, g, f, xnorm, gnorm, step,
                       (int)s->model->n, k, evaluations);
}

// Goes from x to a minimum nearby. As lbfgs(), whose arguments these are, but x
// is an array of any alignment with n numbers, n that of the model.
//
//   m                  a model with one output. Where it has no finite value,
//                      the line search is told of a rise that leads it back
//   x          [n]     in/out
//   value              out   may be NULL
//   progress           in    may be NULL; told of n numbers. What it returns
//                            other than 0 ends the search
//   instance           in    given to progress
//   parameters         in    NULL: the defaults. Orthant-wise searches (L1
//                            norms) need a backtracking line search
//
//   returns      as lbfgs(); LBFGSERR_CANCELED: the model has stopped, see
//                ad_model_status; LBFGSERR_INVALID_N: the model has several
//                outputs, no inputs, or too many; LBFGSERR_INVALIDPARAMETERS:
//                no finite value at the first x, or x is NULL; LBFGSERR_OUTOFMEMORY, also if
//                m is NULL
//   cost         for each point that is tried value and gradient, 3 to 5 values
//   memory       libLBFGS's own and three vectors, freed on return; none in an
//                evaluation after the first
//   threads      m must not be in use elsewhere
static inline int ad_lbfgs(ad_model *m, double x[], double *value,
                           lbfgs_progress_t progress, void *instance,
                           const lbfgs_parameter_t *parameters)
{
    adx_lbfgs s = { m, progress, instance, false };
    lbfgs_parameter_t p;
    if (m == NULL)
        return LBFGSERR_OUTOFMEMORY;
    if (m->m != 1 || m->n == 0 || m->n > INT_MAX - 16)
        return LBFGSERR_INVALID_N;
    if (x == NULL)
        return LBFGSERR_INVALIDPARAMETERS;
    lbfgsfloatval_t *at = lbfgs_malloc((int)m->n);  // aligned, zero behind n
    if (at == NULL || adx_model_room(m, 2 * m->n) == NULL) {
        lbfgs_free(at);
        return LBFGSERR_OUTOFMEMORY;
    }

    if (parameters != NULL)
        p = *parameters;
    else
        lbfgs_parameter_init(&p);
    memcpy(at, x, m->n * sizeof *x);
    m->known = 0;
    int code = lbfgs((int)m->n, at, value, adx_lbfgs_evaluate,
                     adx_lbfgs_progress, &s, &p);
    if (m->stopped)
        code = LBFGSERR_CANCELED;
    else if (s.begun && m->known == 0)
        code = LBFGSERR_INVALIDPARAMETERS;
    memcpy(x, at, m->n * sizeof *x);
    lbfgs_free(at);
    return code;
}

#endif
