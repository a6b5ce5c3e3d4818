/* adrev_ceres.h - residual blocks for the C interface of Ceres Solver.
 *
 *     #include "adrev_ceres.h"
 *
 *     // p[3] - exp(p[0] p[2] + p[1]): two parameters, then an observation
 *     ad_model *m = ad_model_vector(residual, NULL, 2 + 2, 1);
 *     ceres_problem_t *problem = ceres_create_problem();
 *     double x[2] = { 0, 0 }, *parameters[1] = { x };
 *     int size[1] = { 2 };
 *     for (int i = 0; i < 67; i++)
 *         ad_ceres_add(problem, m, seen[i], NULL, NULL, 1, size, parameters);
 *     ceres_solve(problem);
 *     ... x, ad_model_status(m) ...
 *     ceres_free_problem(problem);
 *     ad_model_free(m);
 *
 * One thread at a time uses a model; the C interface of Ceres solves on one.
 *
 * Debian: libceres-dev; link with -lceres -lm. The C interface of Ceres has no
 * options; ceres_solve prints a report, and says in no other way how it went.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_CERES_H
#define ADREV_CERES_H

#include "adrev_model.h"

#include <ceres/c_api.h>

// One residual block. The numbers follow it: x [n], then J [m*n].
typedef struct adx_ceres {
    void *next;
    ad_model *model;
    size_t blocks;
    size_t *sizes;              // [blocks] of parameters, behind J
    double *x;
    double *J;
} adx_ceres;

// Jacobians of parameter blocks are columns of J, each row by row.
static inline void adx_ceres_share(const adx_ceres *b, double **jacobians)
{
    size_t first = 0;
    for (size_t k = 0; k < b->blocks; first += b->sizes[k++])
        for (size_t i = 0; jacobians[k] != NULL && i < b->model->m; i++)
            memcpy(jacobians[k] + i * b->sizes[k],
                   b->J + i * b->model->n + first,
                   b->sizes[k] * sizeof *b->J);
}

// Returns 0 where there are no finite values: Ceres then tries a shorter step.
static inline int adx_ceres_evaluate(void *user, double **parameters,
                                     double *residuals, double **jacobians)
{
    adx_ceres *b = (adx_ceres *)user;
    ad_model *m = b->model;
    double *to = b->x;
    for (size_t k = 0; k < b->blocks; to += b->sizes[k++])
        memcpy(to, parameters[k], b->sizes[k] * sizeof *to);
    const ad_status status = jacobians == NULL
                           ? ad_model_eval(m, b->x, residuals)
                           : ad_model_linearize(m, b->x, residuals, b->J);
    if (status != ADREV_OK || !adx_model_finite(m->m, residuals)
        || (jacobians != NULL && !adx_model_finite(m->m * m->n, b->J)))
        return 0;
    if (jacobians != NULL)
        adx_ceres_share(b, jacobians);
    return 1;
}

// Adds the model's outputs as a residual block. Its inputs are the parameter
// blocks, one after the other, and then numbers that belong to this block, such
// as an observation: so one recording serves many blocks.
//
//   data [inputs - sum of sizes]  in   copied; NULL if there are none
//   loss, loss_data      as for ceres_problem_add_residual_block; NULL: squares
//   sizes  [blocks]      in    of the parameter blocks
//   parameters [blocks]  in    where they are; they stay yours
//
//   returns      the block; NULL: out of memory, or m is NULL, or it has fewer
//                inputs than there are parameters, or data is NULL though it has
//                more; or problem, sizes, parameters or a block is NULL
//   cost         of an evaluation: the residuals; with derivatives also a dense
//                Jacobian of all inputs, data among them
//   memory       of the block: freed with the model, so free the problem first.
//                None in an evaluation after the first
static inline ceres_residual_block_id_t *
ad_ceres_add(ceres_problem_t *problem, ad_model *m, const double *data,
             ceres_loss_function_t loss, void *loss_data, int blocks,
             int *sizes, double **parameters)
{
    size_t used = 0;
    if (problem == NULL || blocks < 0 || sizes == NULL || parameters == NULL)
        return NULL;
    for (int k = 0; k < blocks; k++)
        if (sizes[k] < 0 || parameters[k] == NULL)
            return NULL;
        else
            used += (size_t)sizes[k];
    if (m == NULL || used > m->n || (data == NULL && used < m->n)
        || m->m > INT_MAX)
        return NULL;
    const size_t numbers = m->n + m->m * m->n;
    adx_ceres *b = (adx_ceres *)calloc(1, sizeof *b
                                       + numbers * sizeof(double)
                                       + (size_t)blocks * sizeof(size_t));
    if (b == NULL)
        return NULL;

    b->next = m->blocks;
    m->blocks = b;
    b->model = m;
    b->blocks = (size_t)blocks;
    b->x = (double *)(void *)(b + 1);
    b->J = b->x + m->n;
    b->sizes = (size_t *)(void *)(b->x + numbers);
    for (int k = 0; k < blocks; k++)
        b->sizes[k] = (size_t)sizes[k];
    if (used < m->n)
        memcpy(b->x + used, data, (m->n - used) * sizeof *data);
    return ceres_problem_add_residual_block(
        problem, adx_ceres_evaluate, b, loss, loss_data, (int)m->m, blocks,
        sizes, parameters);
}

#endif
