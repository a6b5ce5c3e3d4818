/* adrev_petsc_dm.h - PETSc's solvers on several ranks, with exact derivatives of
 * what each rank computes on its part of a grid or mesh (a DM).
 *
 *     #include "adrev_assemble.h"
 *     #include "adrev_petsc_dm.h"
 *
 *     DMDACreate2d(PETSC_COMM_WORLD, ..., &dm);
 *     ad_system *s = ad_system_elements(assembly, false);  // of this rank
 *     ad_petsc_dm_snes(dm, s);
 *     SNESSetDM(snes, dm);
 *     SNESSetFromOptions(snes);
 *     SNESSolve(snes, NULL, NULL);
 *     ... ad_system_status(s) ...
 *
 * Each rank has a system of its own, whose unknowns are the numbers of a local
 * vector of the DM: those that the rank owns, and ghost points, in the order
 * that DMDAGetGhostCorners or a local section says. Its equations are those of
 * the same numbers. What a rank contributes to the equations of a ghost point
 * is added to those of the rank that owns it: so elements may be of cells that
 * look at their neighbours, or of edges and triangles, each of which one rank
 * has. Equations of ghost points to which a rank contributes nothing are 0. For
 * TAO each rank has a model with one result, and their sum is minimised.
 *
 * The Jacobian is the matrix that the DM makes (DMCreateMatrix), with its
 * pattern and its boundary conditions: entries go there by MatSetValuesLocal.
 * Or it is a shell of products (ad_petsc_dm_products).
 *
 * Failure. Where one rank has no finite value, all have none, and PETSc takes a
 * shorter step. When the model of one rank has stopped, the callback returns an
 * error on all of them: no rank waits for another. On those that were well it
 * is PETSC_ERR_LIB, and ad_system_status says ADREV_OK.
 *
 * Memory: besides system or model, nothing that lasts but what shells and TAO
 * keep. Threads: as adrev_petsc.h; all
 * ranks make the same calls.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_PETSC_DM_H
#define ADREV_PETSC_DM_H

#include "adrev_petsc.h"

/* --- all ranks together --------------------------------------------------- */

// Whether local vectors have n numbers, as the model of each rank says.
static inline PetscErrorCode adx_petsc_dm_fits(DM dm, Vec local, size_t n)
{
    PetscInt own = 0;
    PetscCall(VecGetLocalSize(local, &own));
    return adx_petsc_agree(dm, NULL, (size_t)own == n ? ADREV_OK
                                                      : ADREV_ESHAPE);
}

// Puts s at a point of the local vectors; on all ranks, or on none.
static inline PetscErrorCode adx_petsc_dm_at(DM dm, ad_system *s, double t,
                                             Vec y, Vec rate)
{
    PetscCall(adx_petsc_dm_fits(dm, y, s->n));
    return adx_petsc_at(s, t, y, rate);
}

static inline PetscErrorCode adx_petsc_dm_eval(DM dm, ad_system *s, Vec result)
{
    PetscScalar *out = NULL;
    PetscCall(VecGetArrayWrite(result, &out));
    const PetscErrorCode code = adx_petsc_results_on(
        dm, s->model, adx_system_eval(s, out), s->n, out);
    PetscCall(VecRestoreArrayWrite(result, &out));
    return code;
}

// Adds the entries of M to A, whose rows and columns have local numbers.
static inline PetscErrorCode adx_petsc_dm_add(Mat A,
                                              const adx_system_matrix *M)
{
    enum { MOST = 64 };
    PetscInt column[MOST];
    PetscCall(MatZeroEntries(A));
    for (size_t i = 0; i < M->lines; i++)
        for (size_t k = M->start[i]; k < M->start[i + 1];) {
            const PetscInt row = (PetscInt)i;
            const double *value = M->value + k;
            PetscInt n = 0;
            while (n < MOST && k < M->start[i + 1])
                column[n++] = (PetscInt)M->across[k++];
            PetscCall(MatSetValuesLocal(A, 1, &row, n, column, value,
                                        ADD_VALUES));
        }
    return adx_petsc_assemble(A);
}

// P = what the matrices M of all ranks' models add up to, at their local points
// x. J is P, a shell, or a matrix of PETSc's own that makes differences.
// valued: whether all entries of this rank are finite.
static inline PetscErrorCode adx_petsc_dm_fill(DM dm, ad_model *m,
                                               const double x[],
                                               adx_system_matrix *M,
                                               double shift, Mat J, Mat P,
                                               bool *valued)
{
    PetscBool moved = PETSC_FALSE;
    *valued = true;
    PetscCall(adx_petsc_move(J, x, shift, &moved));
    if (moved && J == P)
        return ADX_PETSC_FINE;
    const ad_status status = adx_system_values(m, x, M, shift);
    for (size_t k = 0; status != ADREV_OK && k < M->count; k++)
        M->value[k] = (double)NAN;
    *valued = status == ADREV_OK && adx_model_finite(M->count, M->value);
    PetscCall(adx_petsc_agree(dm, M->changes > 0 ? m : NULL, status));
    PetscCall(adx_petsc_dm_add(P, M));
    return moved || J == P ? ADX_PETSC_FINE : adx_petsc_assemble(J);
}

// P = the Jacobian at global vectors y and rate; J as above.
static inline PetscErrorCode adx_petsc_dm_matrices(DM dm, ad_system *s,
                                                   double t, Vec y, Vec rate,
                                                   double shift, Mat J, Mat P,
                                                   bool *valued)
{
    Vec at = NULL, moving = NULL;
    PetscCall(DMGetLocalVector(dm, &at));
    PetscCall(DMGlobalToLocal(dm, y, INSERT_VALUES, at));
    if (rate != NULL) {
        PetscCall(DMGetLocalVector(dm, &moving));
        PetscCall(DMGlobalToLocal(dm, rate, INSERT_VALUES, moving));
    }
    const PetscErrorCode code = adx_petsc_dm_at(dm, s, t, at, moving);
    if (rate != NULL)
        PetscCall(DMRestoreLocalVector(dm, &moving));
    PetscCall(DMRestoreLocalVector(dm, &at));
    PetscCall(code);
    return adx_petsc_dm_fill(dm, s->model, s->x, &s->by_rows, shift, J, P,
                             valued);
}

/* --- products ------------------------------------------------------------- */

static inline PetscErrorCode adx_petsc_dm_shell(DM dm, ad_system *s,
                                                ad_model *m, Mat *out)
{
    Vec global = NULL;
    PetscInt own = 0;
    PetscCheck(dm != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL,
               "adrev: no DM");
    PetscCall(adx_petsc_agree(dm, NULL, m == NULL ? ADREV_ENOMEM : ADREV_OK));
    PetscCall(DMGetGlobalVector(dm, &global));
    PetscCall(VecGetLocalSize(global, &own));
    PetscCall(DMRestoreGlobalVector(dm, &global));
    return adx_petsc_new_shell(s, m, dm, own, out);
}

// A matrix of products on all ranks: J v and J' w of what the systems add up
// to, or H v of the models. For SNES and TS give it to SNESSetJacobian or
// TSSetRHSJacobian and the like, with NULL for the function; for TAO to
// ad_petsc_dm_tao_hessian. A preconditioner needs another matrix, P.
//
//   out          out   to be freed with MatDestroy, before s or m
//
//   returns      0; PETSC_ERR_ARG_NULL: dm is NULL; PETSC_ERR_MEM or
//                PETSC_ERR_LIB: s or m is NULL, or out of memory, on this rank
//                or on another one
//   cost         of a product: ghost points are exchanged twice, and a sum of one
//                number over all ranks
static inline PetscErrorCode ad_petsc_dm_products(DM dm, ad_system *s, Mat *out)
{
    return adx_petsc_dm_shell(dm, s, s == NULL ? NULL : s->model, out);
}

static inline PetscErrorCode ad_petsc_dm_hessian_products(DM dm, ad_model *m,
                                                          Mat *out)
{
    return adx_petsc_dm_shell(dm, NULL, m, out);
}

/* --- what solvers of systems share ------------------------------------------ */

// Whether all ranks have a system, with time or without.
static inline PetscErrorCode adx_petsc_dm_joins(DM dm, ad_system *s, bool time)
{
    PetscCheck(dm != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL,
               "adrev: no DM");
    PetscCall(adx_petsc_agree(dm, NULL, s == NULL ? ADREV_ENOMEM : ADREV_OK));
    const bool right = (s->t_at != SIZE_MAX) == time && s->slope == NULL;
    PetscCheck(right, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "adrev: %s", time ? "TS needs a system of rates or of a DAE"
                                 : "SNES needs a system of equations");
    s->by_rows.diagonal = false;        // of ghost points there is none
    return ADX_PETSC_FINE;
}

/* --- SNES ------------------------------------------------------------------ */

static inline PetscErrorCode adx_petsc_dm_g(DM dm, Vec y, Vec residual,
                                            void *system)
{
    ad_system *s = (ad_system *)system;
    PetscCall(adx_petsc_dm_at(dm, s, 0, y, NULL));
    return adx_petsc_dm_eval(dm, s, residual);
}

static inline PetscErrorCode adx_petsc_dm_jacobian(SNES snes, Vec y, Mat J,
                                                   Mat P, void *system)
{
    DM dm = NULL;
    bool valued = true;
    PetscCall(SNESGetDM(snes, &dm));
    PetscCall(adx_petsc_dm_matrices(dm, (ad_system *)system, 0, y, NULL, 0, J, P,
                                    &valued));
    return valued ? ADX_PETSC_FINE : SNESSetJacobianDomainError(snes);
}

// Has solvers with this DM solve g = 0, the sum of what the systems of all
// ranks contribute: DMSNESSetFunctionLocal and DMSNESSetJacobian. Set s->p, to
// the same on all ranks, before SNESSolve. Free s after the solver.
//
//   s            in    of this rank: a system of equations, with as many unknowns
//                      as a local vector of dm has numbers
//
//   returns      0; PETSC_ERR_ARG_NULL: dm is NULL; PETSC_ERR_MEM or
//                PETSC_ERR_LIB: s is NULL on this rank, or on another one;
//                PETSC_ERR_ARG_WRONG: s is no system of equations. With another
//                size SNESSolve returns PETSC_ERR_ARG_SIZ or PETSC_ERR_LIB
//   cost         beside the exchange of ghost points two sums of one number over
//                all ranks; and of a Jacobian, a sparse one of the rank's own
//                system
//   see          tests/adapters/petsc_dm.c
static inline PetscErrorCode ad_petsc_dm_snes(DM dm, ad_system *s)
{
    PetscCall(adx_petsc_dm_joins(dm, s, false));
    PetscCall(DMSNESSetFunctionLocal(dm, adx_petsc_dm_g, s));
    return DMSNESSetJacobian(dm, adx_petsc_dm_jacobian, s);
}

/* --- TS -------------------------------------------------------------------- */

static inline PetscErrorCode adx_petsc_dm_residual(DM dm, PetscReal t, Vec y,
                                                   Vec rate, Vec residual,
                                                   void *system)
{
    ad_system *s = (ad_system *)system;
    PetscCall(adx_petsc_dm_at(dm, s, t, y, rate));
    return adx_petsc_dm_eval(dm, s, residual);
}

static inline PetscErrorCode adx_petsc_dm_f(DM dm, PetscReal t, Vec y, Vec rate,
                                            void *system)
{
    return adx_petsc_dm_residual(dm, t, y, NULL, rate, system);
}

static inline PetscErrorCode adx_petsc_dm_implicit(TS ts, PetscReal t, Vec y,
                                                   Vec rate, PetscReal shift,
                                                   Mat J, Mat P, void *system)
{
    DM dm = NULL;
    bool valued = true;
    PetscCall(TSGetDM(ts, &dm));
    PetscCall(adx_petsc_dm_matrices(dm, (ad_system *)system, t, y, rate, shift,
                                    J, P, &valued));
    return adx_petsc_ts_told(ts, valued);
}

static inline PetscErrorCode adx_petsc_dm_explicit(TS ts, PetscReal t, Vec y,
                                                   Mat J, Mat P, void *system)
{
    return adx_petsc_dm_implicit(ts, t, y, NULL, 0, J, P, system);
}

// Has TS with this DM integrate the systems of all ranks: rates of
// ad_system_ode or ad_system_elements, or a DAE of ad_system_dae, whose
// equations of ghost points are 0.
//
//   returns      as ad_petsc_dm_snes; PETSC_ERR_ARG_WRONG: s has no time, or is
//                of ad_system_implicit, which has equations of ghost points
//   cost         as ad_petsc_dm_snes
static inline PetscErrorCode ad_petsc_dm_ts(DM dm, ad_system *s)
{
    PetscCall(adx_petsc_dm_joins(dm, s, true));
    if (s->dae != NULL) {
        PetscCall(DMTSSetIFunctionLocal(dm, adx_petsc_dm_residual, s));
        return DMTSSetIJacobian(dm, adx_petsc_dm_implicit, s);
    }
    PetscCall(DMTSSetRHSFunctionLocal(dm, adx_petsc_dm_f, s));
    return DMTSSetRHSJacobian(dm, adx_petsc_dm_explicit, s);
}

/* --- TAO ------------------------------------------------------------------- */

static inline PetscErrorCode adx_petsc_dm_tao_new(Tao tao, DM dm, ad_model *m,
                                                  const char *name,
                                                  adx_petsc_tao **out)
{
    PetscCheck(tao != NULL && dm != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL,
               "adrev: no solver, or no DM");
    PetscCall(adx_petsc_agree(dm, NULL, m == NULL ? ADREV_ENOMEM
                                        : m->m != 1 ? ADREV_ESHAPE : ADREV_OK));
    PetscCall(adx_petsc_tao_new(tao, m, name, out));
    (*out)->dm = dm;
    return PetscObjectReference((PetscObject)dm);
}

// Value and gradient of this rank's model at local vectors; without finite ones
// the value is NaN.
static inline PetscErrorCode adx_petsc_dm_tao_own(const adx_petsc_tao *c, Vec at,
                                                  double *value, Vec gradient)
{
    ad_model *m = c->model;
    const PetscScalar *x = NULL;
    PetscScalar *g = NULL;
    PetscCall(adx_petsc_dm_fits(c->dm, at, m->n));
    PetscCall(VecGetArrayRead(at, &x));
    PetscCall(VecGetArrayWrite(gradient, &g));
    const ad_status status = ad_model_gradient(m, x, value, g);
    if (status != ADREV_OK || !isfinite(*value) || !adx_model_finite(m->n, g))
        *value = (double)NAN;
    const PetscErrorCode code = adx_petsc_results_on(c->dm, m, status, m->n, g);
    PetscCall(VecRestoreArrayWrite(gradient, &g));
    PetscCall(VecRestoreArrayRead(at, &x));
    return code;
}

// What all ranks add up to.
static inline PetscErrorCode adx_petsc_dm_tao_sum(const adx_petsc_tao *c, Vec x,
                                                  PetscReal *value,
                                                  Vec gradient)
{
    Vec at = NULL, g = NULL;
    double own = 0;
    PetscCall(DMGetLocalVector(c->dm, &at));
    PetscCall(DMGetLocalVector(c->dm, &g));
    PetscCall(DMGlobalToLocal(c->dm, x, INSERT_VALUES, at));
    const PetscErrorCode code = adx_petsc_dm_tao_own(c, at, &own, g);
    if (code == 0) {
        PetscCall(VecZeroEntries(gradient));
        PetscCall(DMLocalToGlobal(c->dm, g, ADD_VALUES, gradient));
        PetscCallMPI(MPI_Allreduce(&own, value, 1, MPI_DOUBLE, MPI_SUM,
                                   PetscObjectComm((PetscObject)c->dm)));
    }
    PetscCall(DMRestoreLocalVector(c->dm, &g));
    PetscCall(DMRestoreLocalVector(c->dm, &at));
    return code;
}

// Where one rank has no value, all are told of one parabola, as in
// adx_model_search.
static inline PetscErrorCode adx_petsc_dm_tao_f(Tao tao, Vec x, PetscReal *value,
                                                Vec gradient, void *context)
{
    adx_petsc_tao *c = (adx_petsc_tao *)context;
    ad_model *m = c->model;
    PetscScalar slope = 0, square = 0;
    double factor = 0;
    (void)tao;
    PetscCall(adx_petsc_dm_tao_sum(c, x, value, gradient));
    if (c->last == NULL) {
        PetscCall(VecDuplicate(x, &c->last));
        PetscCall(VecDuplicate(x, &c->slope));
    }
    if (isfinite(*value)) {
        m->last = *value;
        m->known++;
        PetscCall(VecCopy(x, c->last));
        return VecCopy(gradient, c->slope);
    }
    PetscCall(VecWAXPY(gradient, -1, c->last, x));
    PetscCall(VecDot(gradient, c->slope, &slope));
    PetscCall(VecDot(gradient, gradient, &square));
    adx_model_parabola(m, slope, square, value, &factor);
    return VecScale(gradient, factor);
}

// Has TAO minimise the sum of what the models of all ranks have for their
// result: TaoSetObjectiveAndGradient. TaoSetSolution gets a global vector of
// dm. Free m after the solver.
//
//   m            in    of this rank: a model with one output, and with as many
//                      inputs as a local vector of dm has numbers
//
//   returns      0; PETSC_ERR_ARG_NULL: tao or dm is NULL; PETSC_ERR_MEM,
//                PETSC_ERR_ARG_SIZ or PETSC_ERR_LIB: m is NULL or has several
//                outputs on this rank, or on another one. With another number of
//                inputs TaoSolve returns PETSC_ERR_ARG_SIZ or PETSC_ERR_LIB
//   cost         beside the exchange of ghost points, there and back, three sums
//                of one number over all ranks
//   memory       two global vectors, which the solver keeps
//   see          tests/adapters/petsc_dm.c
static inline PetscErrorCode ad_petsc_dm_tao(Tao tao, DM dm, ad_model *m)
{
    adx_petsc_tao *c = NULL;
    PetscCall(adx_petsc_dm_tao_new(tao, dm, m, "adrev objective", &c));
    m->known = 0;
    return TaoSetObjectiveAndGradient(tao, NULL, adx_petsc_dm_tao_f, c);
}

static inline PetscErrorCode adx_petsc_dm_tao_matrices(Tao tao, Vec x, Mat H,
                                                       Mat P, void *context)
{
    adx_petsc_tao *c = (adx_petsc_tao *)context;
    Vec at = NULL;
    const PetscScalar *local = NULL;
    bool valued = true;
    (void)tao;
    PetscCall(DMGetLocalVector(c->dm, &at));
    PetscCall(DMGlobalToLocal(c->dm, x, INSERT_VALUES, at));
    PetscErrorCode code = adx_petsc_dm_fits(c->dm, at, c->model->n);
    if (code == 0) {
        PetscCall(VecGetArrayRead(at, &local));
        code = adx_petsc_dm_fill(c->dm, c->model, local, &c->M, 0, H, P,
                                 &valued);
        PetscCall(VecRestoreArrayRead(at, &local));
    }
    PetscCall(DMRestoreLocalVector(c->dm, &at));
    return code;
}

// Gives TAO the exact Hessian of that sum: TaoSetHessian. Call ad_petsc_dm_tao
// as well.
//
//   H, P         in    NULL, NULL: one matrix of the DM (DMCreateMatrix).
//                      Otherwise such matrices; H may be of
//                      ad_petsc_dm_hessian_products, and P then NULL
//
//   returns      as ad_petsc_dm_tao
//   cost         of a Hessian: a sparse one of the rank's own model
static inline PetscErrorCode ad_petsc_dm_tao_hessian(Tao tao, DM dm,
                                                     ad_model *m, Mat H, Mat P)
{
    adx_petsc_tao *c = NULL;
    Mat made = NULL;
    PetscCall(adx_petsc_dm_tao_new(tao, dm, m, "adrev Hessian", &c));
    c->M.hessian = true;                // without the diagonal of ghost points
    c->M.lines = m->n;
    if (H == NULL && P == NULL)
        PetscCall(DMCreateMatrix(dm, &made));
    H = H != NULL ? H : P != NULL ? P : made;
    PetscCall(TaoSetHessian(tao, H, P != NULL ? P : H,
                            adx_petsc_dm_tao_matrices, c));
    return MatDestroy(&made);
}

#endif
