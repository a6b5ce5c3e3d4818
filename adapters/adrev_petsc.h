/* adrev_petsc.h - PETSc's solvers with exact derivatives: nonlinear equations
 * (SNES), ODEs and DAEs with their adjoints (TS), optimisation (TAO).
 *
 *     #include "adrev_petsc.h"
 *
 *     ad_system *s = ad_system_equations(g, NULL, 2, 0);  // adrev_system.h
 *     SNESCreate(PETSC_COMM_SELF, &snes);
 *     VecCreateSeq(PETSC_COMM_SELF, 2, &x);
 *     VecSet(x, 1);
 *     ad_petsc_snes(snes, s, NULL, NULL);
 *     SNESSetFromOptions(snes);
 *     SNESSolve(snes, NULL, x);
 *     ... ad_system_status(s) ...
 *
 * Jacobians and Hessians are sparse matrices (AIJ) whose pattern is found where
 * the solver begins, so that nobody allocates or colours anything; or matrices
 * of another type; or shells, which hold products alone.
 *
 * Where there is no finite value, PETSc gets numbers that are not finite, and
 * tries a shorter step (explicit methods of TS end with PETSC_ERR_FP). When the
 * model has stopped, the callback returns an error: PETSC_ERR_MEM,
 * PETSC_ERR_ARG_SIZ or PETSC_ERR_LIB, with the message of the status, which
 * ad_system_status or ad_model_status keeps. What PETSc does with errors is up
 * to its handler: with PetscReturnErrorHandler it prints nothing
 * (PetscPushErrorHandler).
 *
 * A solver is of one process (PETSC_COMM_SELF); for several see
 * adrev_petsc_dm.h. A system or model is yours, serves one solver at a time,
 * and one thread; the solver keeps a pointer to it, so free the solver first.
 * Matrices that a call makes belong to the solver; those that you give stay
 * yours, too. An evaluation on a path that is known allocates nothing.
 *
 * Debian: libpetsc-real-dev (3.18); compile and link with what
 * `pkg-config --cflags --libs petsc mpi` says.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_PETSC_H
#define ADREV_PETSC_H

#include "adrev_system.h"

#include <petscdm.h>
#include <petscsnes.h>
#include <petsctao.h>
#include <petscts.h>

#ifdef PETSC_USE_COMPLEX
#error "adrev_petsc.h needs a PETSc that computes with real numbers"
#endif
ADX_STATIC_ASSERT(sizeof(PetscScalar) == sizeof(double),
                  "adrev_petsc.h needs a PETSc that computes with double");

#define ADX_PETSC_FINE ((PetscErrorCode)0)

/* --- what they share ----------------------------------------------------- */

// PETSc's error for what a model returns; fine if it may go on elsewhere.
static inline PetscErrorCode adx_petsc_code(const ad_model *m, ad_status status)
{
    if (status == ADREV_OK || (m != NULL && !m->stopped))
        return ADX_PETSC_FINE;
    SETERRQ(PETSC_COMM_SELF,
            (PetscErrorCode)(status == ADREV_ENOMEM ? PETSC_ERR_MEM
                             : status == ADREV_ESHAPE ? PETSC_ERR_ARG_SIZ
                             : PETSC_ERR_LIB),
            "adrev: %s", ad_message(status));
}

// The error of this rank, or of another one: the same zero on all ranks of dm.
// Of one process (dm NULL): its own.
static inline PetscErrorCode adx_petsc_agree(DM dm, const ad_model *m,
                                             ad_status status)
{
    const PetscErrorCode own = adx_petsc_code(m, status);
    int failed = own != 0, any = 0;
    if (dm == NULL)
        return own;
    PetscCallMPI(MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX,
                               PetscObjectComm((PetscObject)dm)));
    if (own != 0)
        return own;
    PetscCheck(!any, PETSC_COMM_SELF, PETSC_ERR_LIB,
               "adrev: the model of another rank has stopped");
    return ADX_PETSC_FINE;
}

// The same, after n results; if there are none, they are NaN.
static inline PetscErrorCode adx_petsc_results_on(DM dm, const ad_model *m,
                                                  ad_status status, size_t n,
                                                  double result[])
{
    for (size_t i = 0; status != ADREV_OK && i < n; i++)
        result[i] = (double)NAN;
    return adx_petsc_agree(dm, m, status);
}

// Those of one process.
static inline PetscErrorCode adx_petsc_results(const ad_model *m,
                                               ad_status status, size_t n,
                                               double result[])
{
    return adx_petsc_results_on(NULL, m, status, n, result);
}

// Whether this is a solver of one process.
static inline PetscErrorCode adx_petsc_alone(PetscObject object)
{
    PetscMPIInt size = 1;
    PetscCheck(object != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL,
               "adrev: no solver");
    PetscCallMPI(MPI_Comm_size(PetscObjectComm(object), &size));
    PetscCheck(size == 1, PETSC_COMM_SELF, PETSC_ERR_WRONG_MPI_SIZE,
               "adrev: a solver of one process, not of %d", size);
    return ADX_PETSC_FINE;
}

static inline PetscErrorCode adx_petsc_fits(Vec v, size_t n)
{
    PetscInt own = 0;
    PetscCheck(v != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL,
               "adrev: no vector");
    PetscCall(VecGetLocalSize(v, &own));
    PetscCheck((size_t)own == n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "adrev: a vector of %" PetscInt_FMT " numbers, where the model "
               "has %zu", own, n);
    return ADX_PETSC_FINE;
}

// Copies n numbers.
static inline PetscErrorCode adx_petsc_take(Vec v, size_t n, double to[])
{
    const PetscScalar *from = NULL;
    PetscCall(adx_petsc_fits(v, n));
    PetscCall(VecGetArrayRead(v, &from));
    memcpy(to, from, n * sizeof *to);
    PetscCall(VecRestoreArrayRead(v, &from));
    return ADX_PETSC_FINE;
}

// Puts s at a point: rate is dy/dt of a DAE, or NULL.
static inline PetscErrorCode adx_petsc_at(ad_system *s, double t, Vec y,
                                          Vec rate)
{
    PetscCall(adx_petsc_take(y, s->n, s->x));
    if (rate != NULL)
        PetscCall(adx_petsc_take(rate, s->n, s->x + s->n));
    if (s->t_at != SIZE_MAX)
        s->x[s->t_at] = t;
    return ADX_PETSC_FINE;
}

// The values there.
static inline PetscErrorCode adx_petsc_eval(ad_system *s, Vec result)
{
    PetscScalar *out = NULL;
    PetscCall(adx_petsc_fits(result, s->n));
    PetscCall(VecGetArrayWrite(result, &out));
    const ad_status status = adx_system_eval(s, out);
    const PetscErrorCode code = adx_petsc_results(s->model, status, s->n, out);
    PetscCall(VecRestoreArrayWrite(result, &out));
    return code;
}

/* --- matrices ------------------------------------------------------------ */

static inline PetscErrorCode adx_petsc_assemble(Mat A)
{
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    return MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
}

// A matrix that is not assembled yet has no entries from now on, since TS sets
// them to zero before they are computed.
static inline PetscErrorCode adx_petsc_begin(Mat A)
{
    PetscBool assembled = PETSC_FALSE;
    PetscCall(MatAssembled(A, &assembled));
    if (assembled)
        return ADX_PETSC_FINE;
    PetscCall(MatSetUp(A));
    return adx_petsc_assemble(A);
}

// A sparse matrix, not assembled: of the type that -mat_type says, as a rule
// AIJ.
static inline PetscErrorCode adx_petsc_new(size_t rows, size_t columns,
                                           Mat *out)
{
    PetscCheck(rows <= PETSC_MAX_INT && columns <= PETSC_MAX_INT,
               PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "adrev: PetscInt is too narrow for this model");
    PetscCall(MatCreate(PETSC_COMM_SELF, out));
    PetscCall(MatSetSizes(*out, (PetscInt)rows, (PetscInt)columns,
                          (PetscInt)rows, (PetscInt)columns));
    return MatSetFromOptions(*out);
}

static inline PetscErrorCode adx_petsc_matrix_fits(Mat A, size_t rows,
                                                   size_t columns)
{
    PetscInt m = 0, n = 0;
    PetscCall(MatGetSize(A, &m, &n));
    PetscCheck((size_t)m == rows && (size_t)n == columns, PETSC_COMM_SELF,
               PETSC_ERR_ARG_SIZ, "adrev: a matrix of %" PetscInt_FMT " x %"
               PetscInt_FMT ", where the model has one of %zu x %zu", m, n,
               rows, columns);
    return ADX_PETSC_FINE;
}

// Whether A, which is AIJ, has the pattern of M.
static inline PetscErrorCode adx_petsc_is_like(Mat A,
                                               const adx_system_matrix *M,
                                               PetscBool *like)
{
    const PetscInt *start = NULL, *across = NULL;
    PetscInt rows = 0;
    PetscBool done = PETSC_FALSE;
    PetscCall(MatAssembled(A, like));
    if (!*like)
        return ADX_PETSC_FINE;
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &start,
                          &across, &done));
    *like = done;
    for (size_t i = 0; *like && i <= M->lines; i++)
        *like = (PetscBool)((size_t)start[i] == M->start[i]);
    size_t other = 0;
    for (size_t k = 0; *like && k < M->count; k++)
        other |= (size_t)across[k] ^ M->across[k];
    *like = (PetscBool)(*like && other == 0);
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &start,
                              &across, &done));
    return ADX_PETSC_FINE;
}

// Gives A the pattern of M, and its values.
static inline PetscErrorCode adx_petsc_preallocate(Mat A,
                                                   const adx_system_matrix *M)
{
    PetscInt *start = NULL, *across = NULL;
    PetscCheck(M->count <= PETSC_MAX_INT, PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE,
               "adrev: PetscInt is too narrow for this pattern");
    PetscCall(PetscMalloc2(M->lines + 1, &start, M->count + 1, &across));
    for (size_t i = 0; i <= M->lines; i++)
        start[i] = (PetscInt)M->start[i];
    for (size_t k = 0; k < M->count; k++)
        across[k] = (PetscInt)M->across[k];
    const PetscErrorCode code
        = MatSeqAIJSetPreallocationCSR(A, start, across, M->value);
    PetscCall(PetscFree2(start, across));
    return code;
}

// The values of M row by row, to a matrix of any type.
static inline PetscErrorCode adx_petsc_insert(Mat A, const adx_system_matrix *M)
{
    PetscCall(MatSetUp(A));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatZeroEntries(A));
    for (size_t i = 0; i < M->lines; i++)
        for (size_t k = M->start[i]; k < M->start[i + 1]; k++)
            PetscCall(MatSetValue(A, (PetscInt)i, (PetscInt)M->across[k],
                                  M->value[k], INSERT_VALUES));
    return adx_petsc_assemble(A);
}

// Which matrix this is, in which state of its pattern, and how often that of M
// has changed.
static inline PetscErrorCode adx_petsc_identify(Mat A,
                                                const adx_system_matrix *M,
                                                int64_t matrix[3])
{
    PetscObjectId id = 0;
    PetscObjectState state = 0;
    PetscCall(PetscObjectGetId((PetscObject)A, &id));
    PetscCall(MatGetNonzeroState(A, &state));
    matrix[0] = (int64_t)id;
    matrix[1] = (int64_t)state;
    matrix[2] = (int64_t)M->changes;
    return ADX_PETSC_FINE;
}

// A = M, whose lines are rows.
static inline PetscErrorCode adx_petsc_fill(Mat A, adx_system_matrix *M)
{
    PetscBool aij = PETSC_FALSE, like = PETSC_FALSE;
    PetscScalar *value = NULL;
    int64_t matrix[3];
    PetscCall(adx_petsc_matrix_fits(A, M->lines, M->columns));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &aij));
    if (!aij)
        return adx_petsc_insert(A, M);
    PetscCall(adx_petsc_identify(A, M, matrix));
    like = (PetscBool)(memcmp(matrix, M->matrix, sizeof matrix) == 0);
    if (!like)
        PetscCall(adx_petsc_is_like(A, M, &like));
    if (!like)
        PetscCall(adx_petsc_preallocate(A, M));
    PetscCall(adx_petsc_identify(A, M, M->matrix));
    if (!like)
        return ADX_PETSC_FINE;
    PetscCall(MatSeqAIJGetArrayWrite(A, &value));
    memcpy(value, M->value, M->count * sizeof *value);
    PetscCall(MatSeqAIJRestoreArrayWrite(A, &value));
    return ADX_PETSC_FINE;
}

// A = the matrix M of m at x, where status says whether it has values. Without
// them they are NaN, which ends the linear solver.
static inline PetscErrorCode adx_petsc_filled(const ad_model *m,
                                              ad_status status,
                                              adx_system_matrix *M, Mat A)
{
    PetscCall(adx_petsc_results(m, status, M->count, M->value));
    PetscCheck(M->changes > 0, PETSC_COMM_SELF, PETSC_ERR_LIB,
               "adrev: no pattern: %s", ad_message(status));
    return adx_petsc_fill(A, M);
}

/* --- products ------------------------------------------------------------ */

// What a shell has for its context.
typedef struct adx_petsc_shell {
    ad_system *system;          // whose Jacobian it is; NULL: a Hessian
    ad_model *model;
    DM dm;                      // on several ranks: of whose local vectors;
                                // otherwise NULL
    double shift;               // dF/dy + shift dF/d(dy/dt)
    double *x;                  // [inputs of the model] where
} adx_petsc_shell;

static inline PetscErrorCode adx_petsc_shell_free(Mat A)
{
    adx_petsc_shell *p = NULL;
    PetscCall(MatShellGetContext(A, &p));
    PetscCall(DMDestroy(&p->dm));
    free(p->x);
    free(p);
    return ADX_PETSC_FINE;
}

// out = J v, J' w (`back`) or H v of this process's model.
static inline PetscErrorCode adx_petsc_apply(const adx_petsc_shell *p, bool back,
                                             Vec v, Vec out)
{
    const ad_system *s = p->system;
    const double one = 1;
    const size_t n = s == NULL ? p->model->n : s->n;
    const PetscScalar *from = NULL;
    PetscScalar *to = NULL;
    ad_status status;
    PetscCall(VecGetArrayRead(v, &from));
    PetscCall(VecGetArrayWrite(out, &to));
    if (s == NULL)
        status = ad_model_hvp(p->model, p->x, &one, from, to);
    else if (back) {
        status = ad_model_vjp(p->model, p->x, from, s->v);
        for (size_t i = 0; i < n; i++)
            to[i] = s->dae != NULL ? s->v[i] + p->shift * s->v[n + i] : s->v[i];
    } else
        status = ad_model_jvp(p->model, p->x,
                              adx_system_direction(p->system, from, NULL,
                                                   p->shift), to);
    const PetscErrorCode code
        = adx_petsc_results_on(p->dm, p->model, status, n, to);
    PetscCall(VecRestoreArrayWrite(out, &to));
    PetscCall(VecRestoreArrayRead(v, &from));
    return code;
}

// out = A v, or A' v. On several ranks v is read with its ghost points, and
// what a rank gives to ghost points is added where they are owned: so the
// transposed of what ranks add up is what they add up of the transposed. A
// point beyond the boundary that nobody owns has no column in the matrix: v is
// zero there.
static inline PetscErrorCode adx_petsc_multiply(Mat A, bool back, Vec v, Vec out)
{
    adx_petsc_shell *p = NULL;
    Vec from = NULL, to = NULL;
    PetscCall(MatShellGetContext(A, &p));
    if (p->dm == NULL)
        return adx_petsc_apply(p, back, v, out);
    PetscCall(DMGetLocalVector(p->dm, &from));
    PetscCall(DMGetLocalVector(p->dm, &to));
    PetscCall(VecZeroEntries(from));
    PetscCall(DMGlobalToLocal(p->dm, v, INSERT_VALUES, from));
    const PetscErrorCode code = adx_petsc_apply(p, back, from, to);
    if (code == 0) {
        PetscCall(VecZeroEntries(out));
        PetscCall(DMLocalToGlobal(p->dm, to, ADD_VALUES, out));
    }
    PetscCall(DMRestoreLocalVector(p->dm, &to));
    PetscCall(DMRestoreLocalVector(p->dm, &from));
    return code;
}

static inline PetscErrorCode adx_petsc_product(Mat A, Vec v, Vec out)
{
    return adx_petsc_multiply(A, false, v, out);
}

static inline PetscErrorCode adx_petsc_product_back(Mat A, Vec w, Vec out)
{
    return adx_petsc_multiply(A, true, w, out);
}

// own: rows and columns of this process. dm: as in the shell.
static inline PetscErrorCode adx_petsc_new_shell(ad_system *s, ad_model *m,
                                                 DM dm, PetscInt own, Mat *out)
{
    adx_petsc_shell *p = (adx_petsc_shell *)calloc(1, sizeof *p);
    double *x = (double *)calloc(m->n + 1, sizeof *x);
    const PetscErrorCode code = adx_petsc_agree(
        dm, NULL, p == NULL || x == NULL ? ADREV_ENOMEM : ADREV_OK);
    if (code != 0) {
        free(p);
        free(x);
        return code;
    }
    p->system = s;
    p->model = m;
    p->dm = dm;
    p->x = x;
    if (dm != NULL)
        PetscCall(PetscObjectReference((PetscObject)dm));
    PetscCall(MatCreateShell(dm == NULL ? PETSC_COMM_SELF
                             : PetscObjectComm((PetscObject)dm), own, own,
                             PETSC_DETERMINE, PETSC_DETERMINE, p, out));
    PetscCall(MatShellSetOperation(*out, MATOP_DESTROY,
                                   (void (*)(void))adx_petsc_shell_free));
    PetscCall(MatShellSetOperation(*out, MATOP_MULT,
                                   (void (*)(void))adx_petsc_product));
    PetscCall(MatShellSetOperation(*out, MATOP_MULT_TRANSPOSE,
                                   (void (*)(void))adx_petsc_product_back));
    return ADX_PETSC_FINE;
}

// A matrix of products: J v and J' w, or H v, where the solver has evaluated J
// or H last. Give it to ad_petsc_snes, ad_petsc_ts or ad_petsc_tao_hessian, as
// J or H; a preconditioner needs another matrix, P.
//
//   out          out   to be freed with MatDestroy, before s or m
//
//   returns      0; PETSC_ERR_MEM: s or m is NULL, or out of memory
//   cost         of J v, J' w and H v 2 to 4 values of the model
static inline PetscErrorCode ad_petsc_products(ad_system *s, Mat *out)
{
    PetscCall(adx_petsc_code(NULL, s == NULL ? ADREV_ENOMEM : ADREV_OK));
    return adx_petsc_new_shell(s, s->model, NULL, (PetscInt)s->n, out);
}

static inline PetscErrorCode ad_petsc_hessian_products(ad_model *m, Mat *out)
{
    PetscCall(adx_petsc_code(NULL, m == NULL ? ADREV_ENOMEM : ADREV_OK));
    return adx_petsc_new_shell(NULL, m, NULL, (PetscInt)m->n, out);
}

// Moves A to a point, if it is a shell of this header.
static inline PetscErrorCode adx_petsc_move(Mat A, const double x[],
                                            double shift, PetscBool *moved)
{
    void (*product)(void) = NULL;
    adx_petsc_shell *p = NULL;
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELL, moved));
    if (*moved)
        PetscCall(MatShellGetOperation(A, MATOP_MULT, &product));
    *moved = (PetscBool)(product == (void (*)(void))adx_petsc_product);
    if (!*moved)
        return ADX_PETSC_FINE;
    PetscCall(MatShellGetContext(A, &p));
    memcpy(p->x, x, p->model->n * sizeof *x);
    p->shift = shift;
    return adx_petsc_assemble(A);
}

// J and P = the matrix M of m at x. J may be P, a shell, or a matrix of PETSc's
// that makes differences. valued: whether it has values.
static inline PetscErrorCode adx_petsc_matrices(ad_model *m, const double x[],
                                                adx_system_matrix *M,
                                                double shift, Mat J, Mat P,
                                                bool *valued)
{
    PetscBool moved = PETSC_FALSE, product = PETSC_FALSE;
    *valued = true;
    PetscCall(adx_petsc_move(J, x, shift, &moved));
    if (moved && J == P)
        return ADX_PETSC_FINE;
    const ad_status status = adx_system_values(m, x, M, shift);
    *valued = status == ADREV_OK && adx_model_finite(M->count, M->value);
    PetscCall(adx_petsc_filled(m, status, M, P));
    if (moved || J == P)
        return ADX_PETSC_FINE;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)J, &product, MATMFFD,
                                        MATSHELL, ""));
    return product ? adx_petsc_assemble(J) : adx_petsc_fill(J, M);
}

// J and P as the user gave them, or one new matrix of the size of M for both;
// freed with MatDestroy.
static inline PetscErrorCode adx_petsc_choose(const adx_system_matrix *M,
                                              Mat *J, Mat *P)
{
    *J = *J == NULL ? *P : *J;
    *P = *P == NULL ? *J : *P;
    if (*J == NULL) {
        PetscCall(adx_petsc_new(M->lines, M->columns, J));
        *P = *J;
        return PetscObjectReference((PetscObject)*P);
    }
    PetscCall(adx_petsc_matrix_fits(*J, M->lines, M->columns));
    PetscCall(adx_petsc_matrix_fits(*P, M->lines, M->columns));
    PetscCall(PetscObjectReference((PetscObject)*J));
    return PetscObjectReference((PetscObject)*P);
}

// The Jacobian of s at a point, with its pattern and the whole diagonal: as a
// first matrix for PETSc's own colouring, say.
//
//   reuse        in    MAT_INITIAL_MATRIX: J is made. MAT_REUSE_MATRIX: it is
//                      filled
//   t            in    of equations without time: any
//   rate         in    dy/dt of a DAE; otherwise NULL
//   shift        in    of a DAE: J = dF/dy + shift dF/d(dy/dt)
//   J            out, or in/out
//
//   returns      0; PETSC_ERR_MEM: s is NULL, or out of memory;
//                PETSC_ERR_ARG_SIZ: y, rate or J has another size;
//                PETSC_ERR_LIB: see ad_system_status. With J made, it is NULL
//                then
static inline PetscErrorCode ad_petsc_jacobian(ad_system *s, MatReuse reuse,
                                               double t, Vec y, Vec rate,
                                               double shift, Mat *J)
{
    if (reuse == MAT_INITIAL_MATRIX)
        *J = NULL;
    PetscCall(adx_petsc_code(NULL, s == NULL ? ADREV_ENOMEM : ADREV_OK));
    PetscCall(adx_petsc_at(s, t, y, s->dae != NULL ? rate : NULL));
    const ad_status status = adx_system_jacobian(s, &s->by_rows, shift);
    PetscCall(adx_petsc_code(NULL, status));
    if (reuse == MAT_INITIAL_MATRIX)
        PetscCall(adx_petsc_new(s->n, s->n, J));
    const PetscErrorCode code = adx_petsc_fill(*J, &s->by_rows);
    if (code != 0 && reuse == MAT_INITIAL_MATRIX)
        PetscCall(MatDestroy(J));
    return code;
}

/* --- SNES: g(y, p) = 0 ---------------------------------------------------- */

// Gives the solver's matrix its pattern before anybody asks for a Jacobian: for
// PETSc's colouring (-snes_fd_color), which ends the program without one.
static inline PetscErrorCode adx_petsc_snes_begin(SNES snes, ad_system *s)
{
    Mat P = NULL;
    PetscBool aij = PETSC_FALSE;
    PetscCall(SNESGetJacobian(snes, NULL, &P, NULL, NULL));
    if (P != NULL)
        PetscCall(PetscObjectBaseTypeCompare((PetscObject)P, MATSEQAIJ, &aij));
    if (!aij || adx_system_jacobian(s, &s->by_rows, 0) != ADREV_OK)
        return adx_petsc_code(s->model, s->model->status);
    return adx_petsc_fill(P, &s->by_rows);
}

static inline PetscErrorCode adx_petsc_snes_g(SNES snes, Vec y, Vec residual,
                                              void *system)
{
    ad_system *s = (ad_system *)system;
    PetscCall(adx_petsc_at(s, 0, y, NULL));
    PetscCall(adx_petsc_eval(s, residual));
    return s->by_rows.changes > 0 ? ADX_PETSC_FINE
                                  : adx_petsc_snes_begin(snes, s);
}

static inline PetscErrorCode adx_petsc_snes_jacobian(SNES snes, Vec y, Mat J,
                                                     Mat P, void *system)
{
    ad_system *s = (ad_system *)system;
    bool valued = true;
    PetscCall(adx_petsc_at(s, 0, y, NULL));
    PetscCall(adx_petsc_matrices(s->model, s->x, &s->by_rows, 0, J, P,
                                 &valued));
    return valued ? ADX_PETSC_FINE : SNESSetJacobianDomainError(snes);
}

// Has SNES solve s, a system of ad_system_equations: SNESSetFunction and
// SNESSetJacobian. Set s->p before SNESSolve.
//
//   J, P         in    for the Jacobian, and what the preconditioner is made
//                      of. NULL, NULL: one sparse matrix. J of
//                      ad_petsc_products and P NULL: products alone. Otherwise
//                      matrices of any type, which get the pattern that they
//                      need
//
//   returns      0; PETSC_ERR_MEM: s is NULL; PETSC_ERR_ARG_WRONG: s is no
//                system of equations; PETSC_ERR_ARG_SIZ: J or P has another
//                size; PETSC_ERR_ARG_NULL: snes is NULL;
//                PETSC_ERR_WRONG_MPI_SIZE: it is of several processes
//   cost         of a Jacobian: a sparse Jacobian of all inputs, also of p
static inline PetscErrorCode ad_petsc_snes(SNES snes, ad_system *s, Mat J,
                                           Mat P)
{
    Vec residual = NULL;
    PetscCall(adx_petsc_code(NULL, s == NULL ? ADREV_ENOMEM : ADREV_OK));
    PetscCheck(s->t_at == SIZE_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "adrev: SNES needs a system of ad_system_equations");
    PetscCall(adx_petsc_alone((PetscObject)snes));
    PetscCall(adx_petsc_choose(&s->by_rows, &J, &P));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, (PetscInt)s->n, &residual));
    PetscCall(SNESSetFunction(snes, residual, adx_petsc_snes_g, s));
    PetscCall(SNESSetJacobian(snes, J, P, adx_petsc_snes_jacobian, s));
    PetscCall(VecDestroy(&residual));
    PetscCall(MatDestroy(&J));
    return MatDestroy(&P);
}

/* --- TS: dy/dt = f(t, y, p), or F(t, y, dy/dt, p) = 0 -------------------- */

static inline PetscErrorCode adx_petsc_ts_f(TS ts, PetscReal t, Vec y, Vec rate,
                                            void *system)
{
    ad_system *s = (ad_system *)system;
    (void)ts;
    PetscCall(adx_petsc_at(s, t, y, NULL));
    return adx_petsc_eval(s, rate);
}

static inline PetscErrorCode adx_petsc_ts_residual(TS ts, PetscReal t, Vec y,
                                                   Vec rate, Vec residual,
                                                   void *system)
{
    ad_system *s = (ad_system *)system;
    (void)ts;
    PetscCall(adx_petsc_at(s, t, y, rate));
    return adx_petsc_eval(s, residual);
}

// After matrices at a point where the model may have no values: TS is told.
static inline PetscErrorCode adx_petsc_ts_told(TS ts, bool valued)
{
    SNES snes = NULL;
    if (valued)
        return ADX_PETSC_FINE;
    PetscCall(TSGetSNES(ts, &snes));
    return SNESSetJacobianDomainError(snes);
}

// J and P at the point where s is.
static inline PetscErrorCode adx_petsc_ts_matrices(TS ts, ad_system *s,
                                                   double shift, Mat J, Mat P)
{
    bool valued = true;
    PetscCall(adx_petsc_matrices(s->model, s->x, &s->by_rows, shift, J, P,
                                 &valued));
    return adx_petsc_ts_told(ts, valued);
}

static inline PetscErrorCode adx_petsc_ts_jacobian(TS ts, PetscReal t, Vec y,
                                                   Mat J, Mat P, void *system)
{
    ad_system *s = (ad_system *)system;
    PetscCall(adx_petsc_at(s, t, y, NULL));
    return adx_petsc_ts_matrices(ts, s, 0, J, P);
}

static inline PetscErrorCode adx_petsc_ts_implicit(TS ts, PetscReal t, Vec y,
                                                   Vec rate, PetscReal shift,
                                                   Mat J, Mat P, void *system)
{
    ad_system *s = (ad_system *)system;
    PetscCall(adx_petsc_at(s, t, y, rate));
    return adx_petsc_ts_matrices(ts, s, shift, J, P);
}

// Has TS integrate s: a system of ad_system_ode by TSSetRHSFunction and
// TSSetRHSJacobian, for explicit and implicit methods; one of ad_system_dae by
// TSSetIFunction and TSSetIJacobian. J and P as of ad_petsc_snes.
//
// Methods that treat a part explicitly (TSROSW, TSARKIMEX) do so with all that
// TSSetRHSFunction gives: for a stiff ODE take a system of ad_system_implicit.
//
//   returns      as ad_petsc_snes; PETSC_ERR_ARG_WRONG: s has no time
static inline PetscErrorCode ad_petsc_ts(TS ts, ad_system *s, Mat J, Mat P)
{
    PetscCall(adx_petsc_code(NULL, s == NULL ? ADREV_ENOMEM : ADREV_OK));
    PetscCheck(s->t_at != SIZE_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "adrev: TS needs a system of ad_system_ode or ad_system_dae");
    PetscCall(adx_petsc_alone((PetscObject)ts));
    PetscCall(adx_petsc_choose(&s->by_rows, &J, &P));
    PetscCall(adx_petsc_begin(J));
    PetscCall(adx_petsc_begin(P));
    if (s->dae != NULL) {
        PetscCall(TSSetIFunction(ts, NULL, adx_petsc_ts_residual, s));
        PetscCall(TSSetIJacobian(ts, J, P, adx_petsc_ts_implicit, s));
    } else {
        PetscCall(TSSetRHSFunction(ts, NULL, adx_petsc_ts_f, s));
        PetscCall(TSSetRHSJacobian(ts, J, P, adx_petsc_ts_jacobian, s));
    }
    PetscCall(MatDestroy(&J));
    return MatDestroy(&P);
}

// A = df/dp, or dF/dp, where s is.
static inline PetscErrorCode adx_petsc_ts_by_p(ad_system *s, Mat A)
{
    const ad_status status = adx_system_jacobian(s, &s->by_p, 0);
    return adx_petsc_filled(s->model, status, &s->by_p, A);
}

static inline PetscErrorCode adx_petsc_ts_f_by_p(TS ts, PetscReal t, Vec y,
                                                 Mat A, void *system)
{
    ad_system *s = (ad_system *)system;
    (void)ts;
    PetscCall(adx_petsc_at(s, t, y, NULL));
    return adx_petsc_ts_by_p(s, A);
}

static inline PetscErrorCode adx_petsc_ts_residual_by_p(TS ts, PetscReal t,
                                                        Vec y, Vec rate,
                                                        PetscReal shift, Mat A,
                                                        void *system)
{
    ad_system *s = (ad_system *)system;
    (void)ts;
    (void)shift;
    PetscCall(adx_petsc_at(s, t, y, rate));
    return adx_petsc_ts_by_p(s, A);
}

// Gives TSAdjointSolve the derivatives by p as well (TSSetRHSJacobianP, of a
// DAE TSSetIJacobianP): with TSSetCostGradients(ts, 1, &lambda, &mu), lambda =
// dG/dy at the end becomes that at the start, and mu becomes dG/dp. Call
// ad_petsc_ts first, and TSSetSaveTrajectory before TSSolve.
//
//   returns      as ad_petsc_ts; PETSC_ERR_ARG_WRONG: also if s has no
//                parameters
static inline PetscErrorCode ad_petsc_ts_parameters(TS ts, ad_system *s)
{
    Mat A = NULL;
    PetscCall(adx_petsc_code(NULL, s == NULL ? ADREV_ENOMEM : ADREV_OK));
    PetscCheck(s->t_at != SIZE_MAX && s->parameters > 0, PETSC_COMM_SELF,
               PETSC_ERR_ARG_WRONG, "adrev: a system with time and parameters");
    PetscCall(adx_petsc_new(s->n, s->parameters, &A));
    PetscCall(adx_petsc_begin(A));
    if (s->dae != NULL)
        PetscCall(TSSetIJacobianP(ts, A, adx_petsc_ts_residual_by_p, s));
    else
        PetscCall(TSSetRHSJacobianP(ts, A, adx_petsc_ts_f_by_p, s));
    return MatDestroy(&A);
}

/* --- TAO: minima ---------------------------------------------------------- */

// What a callback needs besides the model; it is freed with the solver.
typedef struct adx_petsc_tao {
    ad_model *model;
    adx_system_matrix M;        // of a callback with a matrix
    DM dm;                      // on several ranks; otherwise NULL
    Vec last, slope;            // there: the last point with a value, and the
                                // gradient at it; or NULL
} adx_petsc_tao;

static inline PetscErrorCode adx_petsc_tao_free(void *context)
{
    adx_petsc_tao *c = (adx_petsc_tao *)context;
    PetscCall(VecDestroy(&c->last));
    PetscCall(VecDestroy(&c->slope));
    PetscCall(DMDestroy(&c->dm));
    adx_system_matrix_free(&c->M);
    free(c);
    return ADX_PETSC_FINE;
}

// name: the solver keeps one context of each name.
static inline PetscErrorCode adx_petsc_tao_new(Tao tao, ad_model *m,
                                               const char *name,
                                               adx_petsc_tao **out)
{
    PetscContainer owner = NULL;
    adx_petsc_tao *c = (adx_petsc_tao *)calloc(1, sizeof *c);
    PetscCall(adx_petsc_code(NULL, c == NULL ? ADREV_ENOMEM : ADREV_OK));
    c->model = m;
    c->M.by_rows = true;
    c->M.lines = m->m;
    c->M.columns = c->M.unknowns = m->n;
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &owner));
    PetscCall(PetscContainerSetPointer(owner, c));
    PetscCall(PetscContainerSetUserDestroy(owner, adx_petsc_tao_free));
    PetscCall(PetscObjectCompose((PetscObject)tao, name, (PetscObject)owner));
    *out = c;
    return PetscContainerDestroy(&owner);
}

static inline PetscErrorCode adx_petsc_tao_joins(Tao tao, const ad_model *m,
                                                 bool scalar)
{
    PetscCall(adx_petsc_code(NULL, m == NULL ? ADREV_ENOMEM : ADREV_OK));
    PetscCheck(!scalar || m->m == 1, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "adrev: an objective has one output, not %zu", m->m);
    return adx_petsc_alone((PetscObject)tao);
}

// Copies x to the model's scratch memory.
static inline PetscErrorCode adx_petsc_tao_at(ad_model *m, Vec x, double **at)
{
    *at = adx_model_room(m, 3 * m->n);
    PetscCall(adx_petsc_code(m, *at == NULL ? ADREV_ENOMEM : ADREV_OK));
    *at += 2 * m->n;                    // behind what adx_model_search keeps
    return adx_petsc_take(x, m->n, *at);
}

static inline PetscErrorCode adx_petsc_tao_f(Tao tao, Vec x, PetscReal *value,
                                             Vec gradient, void *model)
{
    ad_model *m = (ad_model *)model;
    PetscScalar *g = NULL;
    double *at = NULL;
    (void)tao;
    PetscCall(adx_petsc_tao_at(m, x, &at));
    PetscCall(adx_petsc_fits(gradient, m->n));
    PetscCall(VecGetArrayWrite(gradient, &g));
    adx_model_search(m, at, value, g);
    PetscCall(VecRestoreArrayWrite(gradient, &g));
    return adx_petsc_code(m, m->status);
}

// Has TAO minimise a model with one output: TaoSetObjectiveAndGradient. Bounds,
// tolerances and the start (TaoSetSolution) are TAO's own calls. Where the
// model has no finite value, line searches come back (docs/adapters.md).
//
//   returns      0; PETSC_ERR_MEM: m is NULL; PETSC_ERR_ARG_SIZ: it has several
//                outputs; PETSC_ERR_WRONG_MPI_SIZE: tao is of several processes
//   cost         of value and gradient 3 to 5 values
static inline PetscErrorCode ad_petsc_tao(Tao tao, ad_model *m)
{
    PetscCall(adx_petsc_tao_joins(tao, m, true));
    m->known = 0;
    return TaoSetObjectiveAndGradient(tao, NULL, adx_petsc_tao_f, m);
}

static inline PetscErrorCode adx_petsc_tao_matrices(Tao tao, Vec x, Mat H,
                                                    Mat P, void *context)
{
    adx_petsc_tao *c = (adx_petsc_tao *)context;
    double *at = NULL;
    bool valued = true;
    (void)tao;
    PetscCall(adx_petsc_tao_at(c->model, x, &at));
    return adx_petsc_matrices(c->model, at, &c->M, 0, H, P, &valued);
}

// Gives TAO the exact Hessian, for its Newton methods (nls, ntr, ntl, bnls,
// bntr, bntl): TaoSetHessian. Call ad_petsc_tao as well.
//
//   H, P         in    as J and P of ad_petsc_snes; H may be of
//                      ad_petsc_hessian_products. Both triangles are filled
//
//   returns      as ad_petsc_tao; PETSC_ERR_ARG_SIZ: also if H or P has another
//                size
//   cost         of a Hessian: a sweep of second order for each direction of
//                its colouring
static inline PetscErrorCode ad_petsc_tao_hessian(Tao tao, ad_model *m, Mat H,
                                                  Mat P)
{
    adx_petsc_tao *c = NULL;
    PetscCall(adx_petsc_tao_joins(tao, m, true));
    PetscCall(adx_petsc_tao_new(tao, m, "adrev Hessian", &c));
    c->M.hessian = c->M.diagonal = true;
    c->M.lines = m->n;
    PetscCall(adx_petsc_choose(&c->M, &H, &P));
    PetscCall(TaoSetHessian(tao, H, P, adx_petsc_tao_matrices, c));
    PetscCall(MatDestroy(&H));
    return MatDestroy(&P);
}

static inline PetscErrorCode adx_petsc_tao_residual(Tao tao, Vec x,
                                                    Vec residual, void *context)
{
    const adx_petsc_tao *c = (const adx_petsc_tao *)context;
    ad_model *m = c->model;
    PetscScalar *out = NULL;
    double *at = NULL;
    (void)tao;
    PetscCall(adx_petsc_tao_at(m, x, &at));
    PetscCall(adx_petsc_fits(residual, m->m));
    PetscCall(VecGetArrayWrite(residual, &out));
    const PetscErrorCode code
        = adx_petsc_results(m, ad_model_eval(m, at, out), m->m, out);
    PetscCall(VecRestoreArrayWrite(residual, &out));
    return code;
}

// Has TAO minimise the sum of squares of the model's outputs, with their sparse
// Jacobian: TaoSetResidualRoutine and TaoSetJacobianResidualRoutine, for
// TAOBRGN and TAOPOUNDERS.
//
//   returns      as ad_petsc_tao
static inline PetscErrorCode ad_petsc_tao_least_squares(Tao tao, ad_model *m)
{
    adx_petsc_tao *c = NULL;
    Mat J = NULL, P = NULL;
    Vec residual = NULL;
    PetscCall(adx_petsc_tao_joins(tao, m, false));
    PetscCall(adx_petsc_tao_new(tao, m, "adrev residuals", &c));
    PetscCall(adx_petsc_choose(&c->M, &J, &P));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, (PetscInt)m->m, &residual));
    PetscCall(TaoSetResidualRoutine(tao, residual, adx_petsc_tao_residual, c));
    PetscCall(TaoSetJacobianResidualRoutine(tao, J, P, adx_petsc_tao_matrices,
                                            c));
    PetscCall(VecDestroy(&residual));
    PetscCall(MatDestroy(&J));
    return MatDestroy(&P);
}

#endif
