/* adrev_nlopt.h - objectives and constraints of NLopt, with exact gradients.
 *
 *     #include "adrev_nlopt.h"
 *
 *     ad_model *f = ad_model_scalar(cost, NULL, 2);
 *     ad_model *c = ad_model_vector(limits, NULL, 2, 3);     // c(x) <= 0
 *     nlopt_opt opt = nlopt_create(NLOPT_LD_SLSQP, 2);
 *     ad_nlopt_minimise(opt, f);
 *     ad_nlopt_inequalities(opt, c, NULL);
 *     nlopt_set_xtol_rel(opt, 1e-8);
 *     nlopt_result result = nlopt_optimize(opt, x, &value);
 *     ... ad_model_status(f), ad_model_status(c) ...
 *     nlopt_destroy(opt);
 *     ad_model_free(f);
 *     ad_model_free(c);
 *
 * Debian: libnlopt-dev; link with -lnlopt -lm. Bounds, tolerances and the rest
 * are NLopt's own calls.
 *
 * Where a model has no finite value, NLopt is told HUGE_VAL (of an objective to
 * be maximised -HUGE_VAL), with a gradient of zeros. When a model stops (see
 * ad_model_status), NLopt is made to return NLOPT_FORCED_STOP.
 *
 * A model is yours, serves one nlopt_opt at a time, and must outlive it: opt
 * keeps a pointer to it. Optimisers with models of their own may run in several
 * threads. Nothing is allocated in an evaluation after the first.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_NLOPT_H
#define ADREV_NLOPT_H

#include "adrev_model.h"

#include <nlopt.h>

// value[m] and, unless it is NULL, J[m*n] at x, where both are finite; where a
// value or a row is not, `worst` and zeros.
static inline void adx_nlopt_evaluate(ad_model *m, const double *x,
                                      double *value, double *J)
{
    const ad_status status = J == NULL ? ad_model_eval(m, x, value)
                           : m->m == 1 ? ad_model_gradient(m, x, value, J)
                           : ad_model_linearize(m, x, value, J);
    if (m->stopped)
        nlopt_force_stop((nlopt_opt)m->solver);

    for (size_t i = 0; i < m->m; i++) {
        double *row = J == NULL ? NULL : J + i * m->n;
        if (status == ADREV_OK && isfinite(value[i])
            && (row == NULL || adx_model_finite(m->n, row)))
            continue;
        value[i] = m->worst;
        if (row != NULL)
            memset(row, 0, m->n * sizeof *row);
    }
}

static inline double adx_nlopt_value(unsigned n, const double *x, double *g,
                                     void *model)
{
    double value = 0;
    (void)n;
    adx_nlopt_evaluate((ad_model *)model, x, &value, g);
    return value;
}

static inline void adx_nlopt_values(unsigned m, double *value, unsigned n,
                                    const double *x, double *J, void *model)
{
    (void)m;
    (void)n;
    adx_nlopt_evaluate((ad_model *)model, x, value, J);
}

// Whether this is a model for opt, which will be told when it stops.
static inline nlopt_result adx_nlopt_join(nlopt_opt opt, ad_model *m,
                                          double worst)
{
    if (m == NULL)
        return NLOPT_OUT_OF_MEMORY;
    if (opt == NULL || nlopt_get_dimension(opt) != m->n || m->m > UINT_MAX)
        return NLOPT_INVALID_ARGS;
    m->solver = opt;
    m->worst = worst;
    return NLOPT_SUCCESS;
}

// Makes the model, which has one output, the objective of opt.
//
//   returns      as nlopt_set_min_objective; NLOPT_OUT_OF_MEMORY if f is NULL;
//                NLOPT_INVALID_ARGS if numbers of inputs differ, or if the
//                model has several outputs
//   cost         of an evaluation: a value, with its gradient 3 to 5 values
static inline nlopt_result ad_nlopt_minimise(nlopt_opt opt, ad_model *f)
{
    nlopt_result result = adx_nlopt_join(opt, f, HUGE_VAL);
    if (result < 0 || f->m != 1)
        return result < 0 ? result : NLOPT_INVALID_ARGS;
    return nlopt_set_min_objective(opt, adx_nlopt_value, f);
}

static inline nlopt_result ad_nlopt_maximise(nlopt_opt opt, ad_model *f)
{
    nlopt_result result = adx_nlopt_join(opt, f, -HUGE_VAL);
    if (result < 0 || f->m != 1)
        return result < 0 ? result : NLOPT_INVALID_ARGS;
    return nlopt_set_max_objective(opt, adx_nlopt_value, f);
}

// Adds the constraints c(x) <= 0, or c(x) = 0, one for each output of the
// model.
//
//   tolerance [outputs]  in    of each; NULL: zero
//
//   returns      as nlopt_add_inequality_mconstraint (NLOPT_INVALID_ARGS also
//                if the algorithm has no such constraints); as ad_nlopt_minimise
//   cost         of an evaluation: the values; with derivatives also a dense
//                Jacobian
static inline nlopt_result ad_nlopt_inequalities(nlopt_opt opt, ad_model *c,
                                                 const double *tolerance)
{
    nlopt_result result = adx_nlopt_join(opt, c, HUGE_VAL);
    if (result < 0)
        return result;
    return nlopt_add_inequality_mconstraint(opt, (unsigned)c->m,
                                            adx_nlopt_values, c, tolerance);
}

static inline nlopt_result ad_nlopt_equalities(nlopt_opt opt, ad_model *c,
                                               const double *tolerance)
{
    nlopt_result result = adx_nlopt_join(opt, c, HUGE_VAL);
    if (result < 0)
        return result;
    return nlopt_add_equality_mconstraint(opt, (unsigned)c->m,
                                          adx_nlopt_values, c, tolerance);
}

#endif
