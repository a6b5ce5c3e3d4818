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
 * that DMDAGetGhostCorners or a local section says. Its equations are those
 * of the same numbers. What a rank contributes to the equations of a ghost point
 * is added to those of the rank that owns it: so elements may be of cells that
 * look at their neighbours, or of edges and triangles, each of which one rank
 * has. Equations of ghost points to which a rank contributes nothing are 0.
 *
 * The Jacobian is the matrix that the DM makes (DMCreateMatrix), with its
 * pattern and its boundary conditions: entries go there by MatSetValuesLocal.
 *
 * Failure. Where one rank has no finite value, all have none, and PETSc takes a
 * shorter step. When the model of one rank has stopped, the callback returns an
 * error on all of them: no rank waits for another. On those that were well it
 * is PETSC_ERR_LIB, and ad_system_status says ADREV_OK.
 *
 * Memory: besides the system, nothing that lasts. Threads: as adrev_petsc.h; all
 * ranks make the same calls.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_PETSC_DM_H
#define ADREV_PETSC_DM_H

#include "adrev_petsc.h"

#include <petscdm.h>

/* --- all ranks together --------------------------------------------------- */

// The error of this rank, or of another one: the same zero on all of them.
static inline PetscErrorCode adx_petsc_agree(DM dm, const ad_model *m,
                                             ad_status status)
{
    const PetscErrorCode own = adx_petsc_code(m, status);
    int failed = own != 0, any = 0;
    PetscCallMPI(MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX,
                               PetscObjectComm((PetscObject)dm)));
    if (own != 0)
        return own;
    PetscCheck(!any, PETSC_COMM_SELF, PETSC_ERR_LIB,
               "adrev: the model of another rank has stopped");
    return ADX_PETSC_FINE;
}

// Puts s at a point of the local vectors; on all ranks, or on none.
static inline PetscErrorCode adx_petsc_dm_at(DM dm, ad_system *s, double t,
                                             Vec y, Vec rate)
{
    PetscInt own = 0;
    PetscCall(VecGetLocalSize(y, &own));
    const bool fits = (size_t)own == s->n;
    PetscCall(adx_petsc_agree(dm, NULL, fits ? ADREV_OK : ADREV_ESHAPE));
    return adx_petsc_at(s, t, y, rate);
}

static inline PetscErrorCode adx_petsc_dm_eval(DM dm, ad_system *s, Vec result)
{
    PetscScalar *out = NULL;
    PetscCall(VecGetArrayWrite(result, &out));
    const ad_status status = adx_system_eval(s, out);
    for (size_t i = 0; status != ADREV_OK && i < s->n; i++)
        out[i] = (double)NAN;
    PetscCall(VecRestoreArrayWrite(result, &out));
    return adx_petsc_agree(dm, s->model, status);
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

// P = the Jacobian at global vectors y and rate; J is P, or a matrix of PETSc's
// own that makes differences. valued: whether all entries of this rank are finite.
static inline PetscErrorCode adx_petsc_dm_matrices(DM dm, ad_system *s,
                                                   double t, Vec y, Vec rate,
                                                   double shift, Mat J, Mat P,
                                                   bool *valued)
{
    adx_system_matrix *M = &s->by_rows;
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
    const ad_status status = adx_system_values(s->model, s->x, M, shift);
    for (size_t k = 0; status != ADREV_OK && k < M->count; k++)
        M->value[k] = (double)NAN;
    *valued = status == ADREV_OK && adx_model_finite(M->count, M->value);
    PetscCall(adx_petsc_agree(dm, M->changes > 0 ? s->model : NULL, status));
    PetscCall(adx_petsc_dm_add(P, M));
    return J == P ? ADX_PETSC_FINE : adx_petsc_assemble(J);
}

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

// Has solvers with this DM solve g = 0, the sum of what the systems of all ranks
// contribute: DMSNESSetFunctionLocal and DMSNESSetJacobian. Set s->p, to the same
// on all ranks, before SNESSolve. Free s after the solver.
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

#endif
