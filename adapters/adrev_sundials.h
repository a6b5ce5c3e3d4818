/* Made from src/ by `make headers`: changes belong there. */
/* adrev_sundials.h - ordinary differential equations by CVODES, differential-
 * algebraic ones by IDAS, and nonlinear equations by KINSOL, all of SUNDIALS,
 * with exact derivatives: Jacobians (dense, banded, sparse), products with
 * them, sensitivities, and adjoint problems.
 *
 *     #include "adrev_sundials.h"
 *
 *     ad_system *s = ad_system_ode(f, NULL, 3, 2);        // adrev_system.h
 *     SUNContext_Create(NULL, &context);
 *     N_Vector y = N_VMake_Serial(3, start, context);
 *     void *cvodes = CVodeCreate(CV_BDF, context);
 *     ad_cvodes_init(cvodes, s, 0, y);
 *     CVodeSStolerances(cvodes, 1e-8, 1e-10);
 *     SUNMatrix A = SUNDenseMatrix(3, 3, context);
 *     SUNLinearSolver solver = SUNLinSol_Dense(y, A, context);
 *     ad_cvodes_linear_solver(cvodes, solver, A);
 *     CVode(cvodes, 40, y, &t, CV_NORMAL);
 *     ... ad_system_status(s) ...
 *
 * Debian: libsundials-dev (6.4); link with -lsundials_cvodes,
 * -lsundials_idas or -lsundials_kinsol, and -lsundials_nvecserial.
 *
 * What SUNDIALS has calls for (tolerances, steps, output) stays with these.
 * Vectors are serial, OpenMP or Pthreads ones: all numbers in one place. Where
 * there is no finite value, SUNDIALS is told of a recoverable error and tries a
 * shorter step; when the model has stopped, of one that ends it, and
 * ad_system_status says why. The user data of the solver is the system: it is
 * yours, serves one solver at a time, and must outlive it. Vectors, matrices
 * and linear solvers stay yours. Solvers with systems of their own may run in
 * several threads. An evaluation on a path that is known allocates nothing.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   sundials/matrices   codes, matrices and products, which the solvers share
 *   sundials/cvodes     ODEs, their sensitivities and adjoint problems
 *   sundials/idas       DAEs, and their sensitivities
 *   sundials/adjoint    adjoint problems of DAEs
 *   sundials/kinsol     nonlinear equations
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_SUNDIALS_H
#define ADREV_SUNDIALS_H

#include "adrev_system.h"

#include <cvodes/cvodes.h>
#include <idas/idas.h>
#include <kinsol/kinsol.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

ADX_STATIC_ASSERT(sizeof(sunrealtype) == sizeof(double),
                  "adrev_sundials.h: SUNDIALS has to compute with double");

/* === sundials/matrices ======================================================
 * What the solvers share: what callbacks return, the way of a Jacobian to a
 * matrix of SUNDIALS, and products.
 *
 *   offers  adx_sundials_code adx_sundials_fits adx_sundials_known
 *           adx_sundials_lines adx_sundials_put adx_sundials_matrix
 *           adx_sundials_product adx_sundials_back adx_sundials_adjoint
 *           adx_sundials_seed
 * ====================================================================== */

/* --- what they share ----------------------------------------------------- */

// What a callback returns for the status and its n results: 0; 1: recoverable;
// -1: the end.
static inline int adx_sundials_code(const ad_system *s, ad_status status,
                                    size_t n, const double result[])
{
    if (status == ADREV_OK)
        return adx_model_finite(n, result) ? 0 : 1;
    return s->model->stopped || status == ADREV_ESHAPE ? -1 : 1;
}

// Whether a vector is one for s: of n numbers, all in one place.
static inline bool adx_sundials_fits(const ad_system *s, N_Vector v, size_t n)
{
    return v != NULL && v->ops->nvgetarraypointer != NULL && s != NULL
        && (size_t)N_VGetLength(v) == n;
}

// Whether a matrix is none, or one that can be filled.
static inline bool adx_sundials_known(SUNMatrix A)
{
    if (A == NULL)
        return true;
    const SUNMatrix_ID id = SUNMatGetID(A);
    return id == SUNMATRIX_DENSE || id == SUNMATRIX_BAND
        || id == SUNMATRIX_SPARSE;
}

// factor * M to the columns of A, which is zero.
static inline ad_status adx_sundials_dense(const ad_system *s,
                                           const adx_system_matrix *M,
                                           double factor, SUNMatrix A)
{
    for (size_t j = 0; j < s->n; j++) {
        double *column = SM_COLUMN_D(A, j);
        for (size_t k = M->start[j]; k < M->start[j + 1]; k++)
            column[M->across[k]] = factor * M->value[k];
    }
    return ADREV_OK;
}

static inline ad_status adx_sundials_band(const ad_system *s,
                                          const adx_system_matrix *M,
                                          double factor, SUNMatrix A)
{
    const sunindextype above = SM_UBAND_B(A), below = SM_LBAND_B(A);
    for (size_t j = 0; j < s->n; j++) {
        double *column = SM_COLUMN_B(A, j);
        for (size_t k = M->start[j]; k < M->start[j + 1]; k++) {
            const sunindextype off
                = (sunindextype)M->across[k] - (sunindextype)j;
            if (off < -above || off > below)
                return ADREV_ESHAPE;
            column[off] = factor * M->value[k];
        }
    }
    return ADREV_OK;
}

// Pattern and values. A pattern other than the first one is an error, since the
// linear solver has not analysed it.
static inline ad_status adx_sundials_sparse(const ad_system *s,
                                            adx_system_matrix *M,
                                            double factor, SUNMatrix A)
{
    const bool other = M->told != 0 && M->told != M->changes;
    M->told = M->changes;
    if (other)
        return ADREV_ESHAPE;
    if ((size_t)SM_NNZ_S(A) < M->count
        && SUNSparseMatrix_Reallocate(A, (sunindextype)M->count) != 0)
        return ADREV_ENOMEM;
    for (size_t i = 0; i <= s->n; i++)
        SM_INDEXPTRS_S(A)[i] = (sunindextype)M->start[i];
    for (size_t k = 0; k < M->count; k++) {
        SM_INDEXVALS_S(A)[k] = (sunindextype)M->across[k];
        SM_DATA_S(A)[k] = factor * M->value[k];
    }
    return ADREV_OK;
}

// Whose lines are those of A, or of A'.
static inline adx_system_matrix *adx_sundials_lines(ad_system *s, SUNMatrix A,
                                                    bool transposed)
{
    const bool rows = SUNMatGetID(A) == SUNMATRIX_SPARSE
                   && SM_SPARSETYPE_S(A) == CSR_MAT;
    return rows != transposed ? &s->by_rows : &s->by_columns;
}

// Whether A has n rows and n columns.
static inline bool adx_sundials_is_square(SUNMatrix A, size_t n)
{
    const SUNMatrix_ID id = SUNMatGetID(A);
    const sunindextype rows = id == SUNMATRIX_DENSE ? SM_ROWS_D(A)
                            : id == SUNMATRIX_BAND ? SM_ROWS_B(A)
                            : SM_ROWS_S(A);
    const sunindextype columns = id == SUNMATRIX_DENSE ? SM_COLUMNS_D(A)
                               : id == SUNMATRIX_BAND ? SM_COLUMNS_B(A)
                               : SM_COLUMNS_S(A);
    return (size_t)rows == n && (size_t)columns == n;
}

// A = factor times M, whose values have this status.
static inline int adx_sundials_put(ad_system *s, adx_system_matrix *M,
                                   ad_status status, double factor, SUNMatrix A)
{
    const SUNMatrix_ID id = SUNMatGetID(A);
    if (status == ADREV_OK) {
        status = !adx_sundials_is_square(A, s->n) ? ADREV_ESHAPE
               : id == SUNMATRIX_DENSE ? adx_sundials_dense(s, M, factor, A)
               : id == SUNMATRIX_BAND ? adx_sundials_band(s, M, factor, A)
               : adx_sundials_sparse(s, M, factor, A);
        if (status == ADREV_ESHAPE)
            s->model->status = status;      // the model itself may go on
        else
            adx_model_keep(s->model, status);
    }
    return adx_sundials_code(s, status, M->count, M->value);
}

// A = factor J, or J', at s->x.
static inline int adx_sundials_matrix(ad_system *s, SUNMatrix A, double c,
                                      double factor, bool transposed)
{
    adx_system_matrix *M = adx_sundials_lines(s, A, transposed);
    return adx_sundials_put(s, M, adx_system_jacobian(s, M, c), factor, A);
}

// product = the derivative along s->v.
static inline int adx_sundials_product(ad_system *s, N_Vector product)
{
    double *out = N_VGetArrayPointer(product);
    return adx_sundials_code(s, adx_system_jvp(s, out), s->n, out);
}

// out = factor times a part of J' w.
static inline int adx_sundials_back(ad_system *s, const double w[],
                                    double factor, size_t at, size_t n,
                                    double out[])
{
    const ad_status status = adx_system_vjp(s, w);
    if (status == ADREV_OK)
        for (size_t i = 0; i < n; i++)
            out[i] = factor * s->v[at + i];
    return adx_sundials_code(s, status, n, out);
}

// Whether these can be an adjoint, and what is summed up for the parameters.
static inline bool adx_sundials_adjoint(const ad_system *s, N_Vector a,
                                        N_Vector q)
{
    return adx_sundials_fits(s, a, s->n)
        && (q == NULL || adx_sundials_fits(s, q, s->parameters));
}

// The direction of sensitivity k in the parameters, into s->v.
static inline void adx_sundials_seed(ad_system *s, size_t k)
{
    double *p = s->v + s->p_at;
    if (s->directions == NULL)
        p[k] = 1;
    else
        memcpy(p, s->directions + k * s->parameters,
               s->parameters * sizeof *p);
}

/* === sundials/cvodes ========================================================
 * Ordinary differential equations: rates, Jacobians, forward sensitivities, and
 * the adjoint problem.
 *
 *   needs   sundials/matrices
 *   offers  adx_sundials_set_scales adx_sundials_directed
 * ====================================================================== */

/* --- CVODES --------------------------------------------------------------- */

static inline int adx_cvodes_f(sunrealtype t, N_Vector y, N_Vector rate,
                               void *system)
{
    ad_system *s = (ad_system *)system;
    double *out = N_VGetArrayPointer(rate);
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_code(s, adx_system_eval(s, out), s->n, out);
}

static inline int adx_cvodes_jacobian(sunrealtype t, N_Vector y, N_Vector fy,
                                      SUNMatrix A, void *system, N_Vector a,
                                      N_Vector b, N_Vector c)
{
    ad_system *s = (ad_system *)system;
    (void)fy;
    (void)a;
    (void)b;
    (void)c;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_matrix(s, A, 0, 1, false);
}

static inline int adx_cvodes_product(N_Vector v, N_Vector product,
                                     sunrealtype t, N_Vector y, N_Vector fy,
                                     void *system, N_Vector a)
{
    ad_system *s = (ad_system *)system;
    (void)fy;
    (void)a;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    adx_system_direction(s, N_VGetArrayPointer(v), NULL, 0);
    return adx_sundials_product(s, product);
}

// The rate of sensitivity k: df/dy s + df/dp dp.
static inline int adx_cvodes_sensitivity(int count, sunrealtype t, N_Vector y,
                                         N_Vector rate, int k, N_Vector along,
                                         N_Vector out, void *system,
                                         N_Vector a, N_Vector b)
{
    ad_system *s = (ad_system *)system;
    (void)count;
    (void)rate;
    (void)a;
    (void)b;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    adx_system_direction(s, N_VGetArrayPointer(along), NULL, 0);
    adx_sundials_seed(s, (size_t)k);
    return adx_sundials_product(s, out);
}

// Has CVODES integrate s, from y at t0: CVodeInit and CVodeSetUserData. Set
// s->p first. Tolerances are set next, by CVodeSStolerances or another.
//
//   returns      as CVodeInit; CV_MEM_FAIL: s is NULL; CV_ILL_INPUT: s is no
//                system of ad_system_ode, or y is no vector of n numbers in one
//                place
static inline int ad_cvodes_init(void *cvodes, ad_system *s, double t0,
                                 N_Vector y)
{
    if (s == NULL)
        return CV_MEM_FAIL;
    if (s->ode == NULL || !adx_sundials_fits(s, y, s->n))
        return CV_ILL_INPUT;
    const int code = CVodeInit(cvodes, adx_cvodes_f, t0, y);
    return code != CV_SUCCESS ? code : CVodeSetUserData(cvodes, s);
}

// CVodeSetLinearSolver, with the exact Jacobian for A, or with products where A
// is NULL (SPGMR and others). A is dense, band or sparse; a sparse one may have
// less room than it needs, and its first pattern stays (ad_system_status).
//
//   returns      as CVodeSetLinearSolver; CVLS_ILL_INPUT: another matrix
//   cost         of a Jacobian: a sparse Jacobian of all inputs, also of p
static inline int ad_cvodes_linear_solver(void *cvodes, SUNLinearSolver solver,
                                          SUNMatrix A)
{
    if (!adx_sundials_known(A))
        return CVLS_ILL_INPUT;
    const int code = CVodeSetLinearSolver(cvodes, solver, A);
    if (code != CVLS_SUCCESS)
        return code;
    return A != NULL ? CVodeSetJacFn(cvodes, adx_cvodes_jacobian)
                     : CVodeSetJacTimes(cvodes, NULL, adx_cvodes_product);
}

// Sizes of the parameters, which tolerances of sensitivities are relative to.
// They are copied.
typedef int adx_sundials_scales(void *memory, sunrealtype *p,
                                sunrealtype *scale, int *list);

static inline int adx_sundials_set_scales(void *memory, const ad_system *s,
                                          adx_sundials_scales *set)
{
    if (s->directions != NULL || s->parameters == 0)
        return 0;
    for (size_t k = 0; k < s->parameters; k++)
        s->v[k] = s->p[k] != 0 ? fabs(s->p[k]) : 1;
    return set(memory, NULL, s->v, NULL);
}

// Whether there are so many sensitivities of s with these directions.
static inline bool adx_sundials_directed(ad_system *s, size_t count,
                                         const double directions[])
{
    s->directions = directions;
    return count > 0 && count <= INT_MAX
        && (directions != NULL || count <= s->parameters);
}

// Forward sensitivities: s_k = dy/dp along directions[k], by exact derivatives
// of f: CVodeSensInit1, tolerances from those of the state
// (CVodeSensEEtolerances), and error control.
//
//   count        in    of sensitivities
//   directions [count][parameters]   in    kept, not copied; NULL: that of each
//                      parameter in turn. All zero: of an initial value
//   method       in    CV_SIMULTANEOUS, CV_STAGGERED or CV_STAGGERED1
//   start [count] in   the sensitivities of the initial values
//
//   returns      as CVodeSensInit1; CV_ILL_INPUT: no such directions
static inline int ad_cvodes_sensitivities(void *cvodes, ad_system *s,
                                          size_t count,
                                          const double directions[], int method,
                                          N_Vector start[])
{
    if (s == NULL)
        return CV_MEM_FAIL;
    if (!adx_sundials_directed(s, count, directions))
        return CV_ILL_INPUT;
    int code = CVodeSensInit1(cvodes, (int)count, method,
                              adx_cvodes_sensitivity, start);
    if (code == CV_SUCCESS && count <= s->parameters)
        code = adx_sundials_set_scales(cvodes, s, CVodeSetSensParams);
    if (code == CV_SUCCESS)
        code = CVodeSensEEtolerances(cvodes);
    return code != CV_SUCCESS ? code : CVodeSetSensErrCon(cvodes, SUNTRUE);
}

/* --- CVODES, backwards: a' = -(df/dy)' a ---------------------------------- */

static inline int adx_cvodes_f_b(sunrealtype t, N_Vector y, N_Vector a,
                                 N_Vector rate, void *system)
{
    ad_system *s = (ad_system *)system;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_back(s, N_VGetArrayPointer(a), -1, 0, s->n,
                             N_VGetArrayPointer(rate));
}

static inline int adx_cvodes_quadrature_b(sunrealtype t, N_Vector y, N_Vector a,
                                          N_Vector rate, void *system)
{
    ad_system *s = (ad_system *)system;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_back(s, N_VGetArrayPointer(a), -1, s->p_at,
                             s->parameters, N_VGetArrayPointer(rate));
}

static inline int adx_cvodes_jacobian_b(sunrealtype t, N_Vector y, N_Vector a,
                                        N_Vector fa, SUNMatrix A, void *system,
                                        N_Vector b, N_Vector c, N_Vector d)
{
    ad_system *s = (ad_system *)system;
    (void)a;
    (void)fa;
    (void)b;
    (void)c;
    (void)d;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_matrix(s, A, 0, -1, true);
}

static inline int adx_cvodes_product_b(N_Vector v, N_Vector product,
                                       sunrealtype t, N_Vector y, N_Vector a,
                                       N_Vector fa, void *system, N_Vector b)
{
    ad_system *s = (ad_system *)system;
    (void)a;
    (void)fa;
    (void)b;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_back(s, N_VGetArrayPointer(v), -1, 0, s->n,
                             N_VGetArrayPointer(product));
}

// The adjoint problem of s, from t back to where the forward one began
// (CVodeAdjInit, CVodeF): CVodeCreateB, CVodeInitB, CVodeQuadInitB.
//
// Let G be a function of y at t. With the adjoint a = dG/dy there, CVodeB ends
// with a(t0) = dG/dy(t0), and with q(t0) = dG/dp of all that lies between,
// y(t0) being fixed. For a sum over moments t_i stop at each of them (CVodeB,
// CVodeGetB, CVodeGetQuadB), add its dG/dy to a, and go on with CVodeReInitB
// and CVodeQuadReInitB. For an integral, make it a component of y.
//
//   which        out   the number of the problem, for CVodeSStolerancesB,
//                      CVodeQuadSStolerancesB, CVodeGetB and others
//   method       in    CV_BDF or CV_ADAMS
//   a   [n]      in    dG/dy at t
//   q   [parameters]   in    as a rule 0; NULL: no derivatives by p
//
//   returns      as these calls; CV_MEM_FAIL: s is NULL; CV_ILL_INPUT: no such
//                vectors. Quadratures are not in the error control, unless
//                CVodeSetQuadErrConB says so
//   cost         of each rate a reverse sweep of f, of the quadrature another
static inline int ad_cvodes_backward(void *cvodes, ad_system *s, int *which,
                                     int method, double t, N_Vector a,
                                     N_Vector q)
{
    if (s == NULL)
        return CV_MEM_FAIL;
    if (s->ode == NULL || !adx_sundials_adjoint(s, a, q))
        return CV_ILL_INPUT;
    int code = CVodeCreateB(cvodes, method, which);
    if (code == CV_SUCCESS)
        code = CVodeInitB(cvodes, *which, adx_cvodes_f_b, t, a);
    if (code == CV_SUCCESS)
        code = CVodeSetUserDataB(cvodes, *which, s);
    if (code == CV_SUCCESS && q != NULL)
        code = CVodeQuadInitB(cvodes, *which, adx_cvodes_quadrature_b, q);
    return code;
}

// As ad_cvodes_linear_solver, for an adjoint problem.
static inline int ad_cvodes_linear_solver_b(void *cvodes, int which,
                                            SUNLinearSolver solver, SUNMatrix A)
{
    if (!adx_sundials_known(A))
        return CVLS_ILL_INPUT;
    const int code = CVodeSetLinearSolverB(cvodes, which, solver, A);
    if (code != CVLS_SUCCESS)
        return code;
    return A != NULL ? CVodeSetJacFnB(cvodes, which, adx_cvodes_jacobian_b)
                     : CVodeSetJacTimesB(cvodes, which, NULL,
                                         adx_cvodes_product_b);
}

/* === sundials/idas ==========================================================
 * Differential-algebraic equations: residuals, Jacobians, forward
 * sensitivities.
 *
 *   needs   sundials/matrices sundials/cvodes
 * ====================================================================== */

/* --- IDAS ----------------------------------------------------------------- */

static inline int adx_ida_residual(sunrealtype t, N_Vector y, N_Vector rate,
                                   N_Vector residual, void *system)
{
    ad_system *s = (ad_system *)system;
    double *out = N_VGetArrayPointer(residual);
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    return adx_sundials_code(s, adx_system_eval(s, out), s->n, out);
}

static inline int adx_ida_jacobian(sunrealtype t, sunrealtype c, N_Vector y,
                                   N_Vector rate, N_Vector residual,
                                   SUNMatrix A, void *system, N_Vector a,
                                   N_Vector b, N_Vector d)
{
    ad_system *s = (ad_system *)system;
    (void)residual;
    (void)a;
    (void)b;
    (void)d;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    return adx_sundials_matrix(s, A, c, 1, false);
}

static inline int adx_ida_product(sunrealtype t, N_Vector y, N_Vector rate,
                                  N_Vector residual, N_Vector v,
                                  N_Vector product, sunrealtype c, void *system,
                                  N_Vector a, N_Vector b)
{
    ad_system *s = (ad_system *)system;
    (void)residual;
    (void)a;
    (void)b;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    adx_system_direction(s, N_VGetArrayPointer(v), NULL, c);
    return adx_sundials_product(s, product);
}

static inline int adx_ida_sensitivity(int count, sunrealtype t, N_Vector y,
                                      N_Vector rate, N_Vector residual,
                                      N_Vector along[], N_Vector rates[],
                                      N_Vector out[], void *system, N_Vector a,
                                      N_Vector b, N_Vector c)
{
    ad_system *s = (ad_system *)system;
    int code = 0;
    (void)residual;
    (void)a;
    (void)b;
    (void)c;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    for (int k = 0; k < count && code == 0; k++) {
        adx_system_direction(s, N_VGetArrayPointer(along[k]),
                             N_VGetArrayPointer(rates[k]), 0);
        adx_sundials_seed(s, (size_t)k);
        code = adx_sundials_product(s, out[k]);
    }
    return code;
}

// Has IDAS integrate s, a system of ad_system_dae, from y and dy/dt at t0:
// IDAInit and IDASetUserData. They must be consistent (IDACalcIC helps).
//
//   returns      as IDAInit; IDA_MEM_FAIL: s is NULL; IDA_ILL_INPUT: as
//                CV_ILL_INPUT of ad_cvodes_init
static inline int ad_ida_init(void *ida, ad_system *s, double t0, N_Vector y,
                              N_Vector rate)
{
    if (s == NULL)
        return IDA_MEM_FAIL;
    if (s->dae == NULL || !adx_sundials_fits(s, y, s->n)
        || !adx_sundials_fits(s, rate, s->n))
        return IDA_ILL_INPUT;
    const int code = IDAInit(ida, adx_ida_residual, t0, y, rate);
    return code != IDA_SUCCESS ? code : IDASetUserData(ida, s);
}

// IDASetLinearSolver with dF/dy + c dF/d(dy/dt), as ad_cvodes_linear_solver.
static inline int ad_ida_linear_solver(void *ida, SUNLinearSolver solver,
                                       SUNMatrix A)
{
    if (!adx_sundials_known(A))
        return IDALS_ILL_INPUT;
    const int code = IDASetLinearSolver(ida, solver, A);
    if (code != IDALS_SUCCESS)
        return code;
    return A != NULL ? IDASetJacFn(ida, adx_ida_jacobian)
                     : IDASetJacTimes(ida, NULL, adx_ida_product);
}

// Forward sensitivities of a DAE, as ad_cvodes_sensitivities. method:
// IDA_SIMULTANEOUS or IDA_STAGGERED; `rates`: the derivatives of `start` by t.
static inline int ad_ida_sensitivities(void *ida, ad_system *s, size_t count,
                                       const double directions[], int method,
                                       N_Vector start[], N_Vector rates[])
{
    if (s == NULL)
        return IDA_MEM_FAIL;
    if (!adx_sundials_directed(s, count, directions))
        return IDA_ILL_INPUT;
    int code = IDASensInit(ida, (int)count, method, adx_ida_sensitivity, start,
                           rates);
    if (code == IDA_SUCCESS && count <= s->parameters)
        code = adx_sundials_set_scales(ida, s, IDASetSensParams);
    if (code == IDA_SUCCESS)
        code = IDASensEEtolerances(ida);
    return code != IDA_SUCCESS ? code : IDASetSensErrCon(ida, SUNTRUE);
}

/* === sundials/adjoint =======================================================
 * The adjoint problem of differential-algebraic equations, and what it begins
 * with.
 *
 *   needs   function/api sundials/matrices
 * ====================================================================== */

/* --- IDAS, backwards ---------------------------------------------------------
 * With the adjoint a of the equations, (F_r' a)' = F_y' a, where F_y = dF/dy
 * and F_r = dF/d(dy/dt); so F_r' a is the adjoint of y. The solver integrates
 *
 *     F_r' a' + (dF_r/dt)' a - F_y' a = 0
 *
 * and, for parameters, F_p' a (Cao, Li, Petzold and Serban, 2003). dF_r/dt is
 * the derivative along (dy/dt, 1) in (y, t): a product with second derivatives,
 * where F_r is not constant.                                                 */

// Finds out what F_r depends on, on the model's present path.
static inline ad_status adx_ida_bend(ad_system *s)
{
    ad_fn *fn = s->model->fn;
    ad_sparsity about;
    if (s->bent == s->model->moves)
        return ADREV_OK;
    ad_status status = ad_fn_hessian_pattern(fn, &about, NULL, NULL, NULL);
    if (status != ADREV_OK)
        return status;
    size_t *row = (size_t *)malloc((2 * about.nonzeros + 1) * sizeof *row);
    if (row == NULL)
        return ADREV_ENOMEM;
    const size_t *column = row + about.nonzeros;
    status = ad_fn_hessian_pattern(fn, NULL, NULL, row, row + about.nonzeros);
    s->bends = s->squares = false;
    for (size_t k = 0; k < about.nonzeros && status == ADREV_OK; k++) {
        const bool by_row = row[k] >= s->n && row[k] < 2 * s->n;
        const bool by_column = column[k] >= s->n && column[k] < 2 * s->n;
        s->squares = s->squares || (by_row && by_column);
        s->bends = s->bends || (by_row && column[k] < s->p_at)
                || (by_column && row[k] < s->p_at);
    }
    free(row);
    if (status == ADREV_OK)
        s->bent = s->model->moves;
    return status;
}

// out += (dF_r/dt)' w, with the path that w was multiplied on.
static inline ad_status adx_ida_add_bend(ad_system *s, const double w[],
                                         double out[])
{
    ad_model *m = s->model;
    ad_status status = adx_ida_bend(s);
    if (status != ADREV_OK || !s->bends)
        return adx_model_keep(m, status);
    if (s->squares)
        return m->status = ADREV_ESHAPE;    // there is no d2y/dt2 here
    double *change = adx_model_room(m, m->n);
    if (change == NULL)
        return ADREV_ENOMEM;
    double *along = adx_system_direction(s, s->x + s->n, NULL, 0);
    along[s->t_at] = 1;
    status = ad_model_hvp(m, s->x, w, along, change);
    for (size_t i = 0; i < s->n && status == ADREV_OK; i++)
        out[i] += change[s->n + i];
    return status;
}

// out = F_r' w_rate + (dF_r/dt)' w - F_y' w; w_rate NULL: c w.
static inline ad_status adx_ida_adjoint(ad_system *s, const double w[],
                                        const double w_rate[], double c,
                                        double out[])
{
    ad_status status = adx_system_vjp(s, w);
    for (size_t i = 0; i < s->n && status == ADREV_OK; i++)
        out[i] = (w_rate == NULL ? c * s->v[s->n + i] : 0) - s->v[i];
    if (status == ADREV_OK && w_rate != NULL) {
        status = adx_system_vjp(s, w_rate);
        for (size_t i = 0; i < s->n && status == ADREV_OK; i++)
            out[i] += s->v[s->n + i];
    }
    return status != ADREV_OK ? status : adx_ida_add_bend(s, w, out);
}

static inline int adx_ida_residual_b(sunrealtype t, N_Vector y, N_Vector rate,
                                     N_Vector a, N_Vector a_rate,
                                     N_Vector residual, void *system)
{
    ad_system *s = (ad_system *)system;
    double *out = N_VGetArrayPointer(residual);
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    const ad_status status = adx_ida_adjoint(s, N_VGetArrayPointer(a),
                                             N_VGetArrayPointer(a_rate), 0,
                                             out);
    return adx_sundials_code(s, status, s->n, out);
}

static inline int adx_ida_quadrature_b(sunrealtype t, N_Vector y, N_Vector rate,
                                       N_Vector a, N_Vector a_rate, N_Vector q,
                                       void *system)
{
    ad_system *s = (ad_system *)system;
    (void)a_rate;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    return adx_sundials_back(s, N_VGetArrayPointer(a), 1, s->p_at,
                             s->parameters, N_VGetArrayPointer(q));
}

// Without dF_r/dt, which is small beside c F_r in short steps: Newton's method
// takes an approximation.
static inline int adx_ida_jacobian_b(sunrealtype t, sunrealtype c, N_Vector y,
                                     N_Vector rate, N_Vector a, N_Vector a_rate,
                                     N_Vector residual, SUNMatrix A,
                                     void *system, N_Vector b, N_Vector d,
                                     N_Vector e)
{
    ad_system *s = (ad_system *)system;
    (void)a;
    (void)a_rate;
    (void)residual;
    (void)b;
    (void)d;
    (void)e;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    return adx_sundials_matrix(s, A, -c, -1, true);
}

static inline int adx_ida_product_b(sunrealtype t, N_Vector y, N_Vector rate,
                                    N_Vector a, N_Vector a_rate,
                                    N_Vector residual, N_Vector v,
                                    N_Vector product, sunrealtype c,
                                    void *system, N_Vector b, N_Vector d)
{
    ad_system *s = (ad_system *)system;
    double *out = N_VGetArrayPointer(product);
    (void)a;
    (void)a_rate;
    (void)residual;
    (void)b;
    (void)d;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    const ad_status status = adx_ida_adjoint(s, N_VGetArrayPointer(v), NULL, c,
                                             out);
    return adx_sundials_code(s, status, s->n, out);
}

// The adjoint problem of a system of ad_system_dae, from t back to where the
// forward one began (IDAAdjInit, IDASolveF): IDACreateB, IDAInitB,
// IDAQuadInitB. Let G be a function of y at t. ad_ida_backward_at makes of
// dG/dy what it begins with; at the end q is dG/dp, y at the start being fixed,
// and ad_ida_backward_gradient says what dG/dy is there.
//
//   which        out   the number of the problem, for IDASStolerancesB, IDAGetB
//                      and others
//   a, a_rate [n]   in    the adjoint of the equations at t, and its derivative
//   q   [parameters]   in    NULL: no derivatives by p
//
//   returns      as these calls; IDA_MEM_FAIL: s is NULL; IDA_ILL_INPUT: no
//                such vectors; or F is not linear in dy/dt (should another path
//                of F be so, the integration ends with ADREV_ESHAPE)
//   cost         of each residual two reverse sweeps of F; one of second order
//                besides, if dF/d(dy/dt) depends on y or t
static inline int ad_ida_backward(void *ida, ad_system *s, int *which, double t,
                                  N_Vector a, N_Vector a_rate, N_Vector q)
{
    if (s == NULL)
        return IDA_MEM_FAIL;
    if (s->dae == NULL || !adx_sundials_adjoint(s, a, q)
        || !adx_sundials_fits(s, a_rate, s->n)
        || (s->model->fn != NULL && adx_ida_bend(s) == ADREV_OK && s->squares))
        return IDA_ILL_INPUT;
    int code = IDACreateB(ida, which);
    if (code == IDA_SUCCESS)
        code = IDAInitB(ida, *which, adx_ida_residual_b, t, a, a_rate);
    if (code == IDA_SUCCESS)
        code = IDASetUserDataB(ida, *which, s);
    if (code == IDA_SUCCESS && q != NULL)
        code = IDAQuadInitB(ida, *which, adx_ida_quadrature_b, q);
    return code;
}

// As ad_cvodes_linear_solver, for an adjoint problem.
static inline int ad_ida_linear_solver_b(void *ida, int which,
                                         SUNLinearSolver solver, SUNMatrix A)
{
    if (!adx_sundials_known(A))
        return IDALS_ILL_INPUT;
    const int code = IDASetLinearSolverB(ida, which, solver, A);
    if (code != IDALS_SUCCESS)
        return code;
    return A != NULL ? IDASetJacFnB(ida, which, adx_ida_jacobian_b)
                     : IDASetJacTimesB(ida, which, NULL, adx_ida_product_b);
}

/* --- what the adjoint problem of IDAS begins with ----------------------------
 * Equations without dy/dt are algebraic, and so are variables whose derivative
 * no equation has; there must be as many (a semi-explicit DAE of index 1). Let
 * K have the rows of F_r, but for algebraic equations those of F_y. With
 * K' x = dG/dy, x is what dG/dy adds to a; for algebraic equations it is what G
 * depends on p by way of these alone, at once. There a follows from the others:
 * algebraic rows of F_y' a are 0.                                            */

typedef struct adx_ida_start {
    ad_system *system;
    SUNLinearSolver solver;
    N_Vector x, b;              // K' x = b
    double *to, *from;          // their numbers
    size_t *line;               // [entries] where each entry is
    bool *equation;             // [n] is algebraic
    bool *variable;             // [n]
} adx_ida_start;

static inline void adx_ida_end(adx_ida_start *k)
{
    if (k->x != NULL)
        N_VDestroy(k->x);
    if (k->b != NULL)
        N_VDestroy(k->b);
    free(k->line);
    free(k->equation);
    free(k->variable);
}

static inline bool adx_ida_begin(adx_ida_start *k, const adx_system_matrix *M,
                                 N_Vector like)
{
    k->x = N_VClone(like);
    k->b = N_VClone(like);
    k->line = (size_t *)malloc((M->count + 1) * sizeof *k->line);
    k->equation = (bool *)malloc(M->lines + 1);
    k->variable = (bool *)malloc(M->lines + 1);
    if (k->x == NULL || k->b == NULL || k->line == NULL || k->equation == NULL
        || k->variable == NULL)
        return false;
    k->to = N_VGetArrayPointer(k->x);
    k->from = N_VGetArrayPointer(k->b);
    return true;
}

// Finds what is algebraic, and puts the values of K in place of those of M.
// Whether there are as many equations as variables.
static inline bool adx_ida_split(adx_ida_start *k, adx_system_matrix *M)
{
    const size_t own = ad_export_entries(M->form, NULL, NULL);
    const size_t *row = M->by_rows ? k->line : M->across;
    const size_t *column = M->by_rows ? M->across : k->line;
    size_t more = 0;                    // equations than variables, mod 2^64
    for (size_t i = 0; i < M->lines; i++) {
        k->equation[i] = k->variable[i] = true;
        for (size_t e = M->start[i]; e < M->start[i + 1]; e++)
            k->line[e] = i;
    }
    if (M->direct)                          // no dy/dt at all: K is F_y
        return true;
    for (size_t e = 0; e < own; e++)
        if (M->place[e] != SIZE_MAX && M->rate[e])
            k->equation[row[M->place[e]]] = k->variable[column[M->place[e]]]
                = false;
    memset(M->value, 0, M->count * sizeof *M->value);
    for (size_t e = 0; e < own; e++)
        if (M->place[e] != SIZE_MAX
            && (M->rate[e] || k->equation[row[M->place[e]]]))
            M->value[M->place[e]] += M->raw[e];
    for (size_t i = 0; i < M->lines; i++)
        more += (size_t)k->equation[i] - (size_t)k->variable[i];
    return more == 0;
}

// K' to A, and factors it.
static inline int adx_ida_factor(adx_ida_start *k, SUNMatrix A,
                                 adx_system_matrix *M, ad_status status)
{
    SUNMatZero(A);
    const int code = adx_sundials_put(k->system, M, status, 1, A);
    return code != 0 ? IDA_RES_FAIL
         : SUNLinSolInitialize(k->solver) != 0 ? IDA_LINIT_FAIL
         : SUNLinSolSetup(k->solver, A) != 0 ? IDA_LSETUP_FAIL : IDA_SUCCESS;
}

// dG/dy, which is in b, to a and q.
static inline int adx_ida_take(adx_ida_start *k, SUNMatrix A, double a[],
                               double q[])
{
    ad_system *s = k->system;
    if (SUNLinSolSolve(k->solver, A, k->x, k->b, 0) != 0)
        return IDA_LSOLVE_FAIL;
    for (size_t i = 0; i < s->n; i++) {
        k->from[i] = k->equation[i] ? k->to[i] : 0;
        a[i] = k->equation[i] ? 0 : a[i] + k->to[i];
    }
    if (q == NULL)
        return IDA_SUCCESS;
    if (adx_system_vjp(s, k->from) != ADREV_OK)
        return IDA_RES_FAIL;
    for (size_t j = 0; j < s->parameters; j++)
        q[j] -= s->v[s->p_at + j];
    return IDA_SUCCESS;
}

// The algebraic part of a, and a'.
static inline int adx_ida_follow(adx_ida_start *k, SUNMatrix A, double a[],
                                 double a_rate[])
{
    ad_system *s = k->system;
    for (int part = 0; part < 2; part++) {
        if (adx_ida_adjoint(s, a, NULL, 0, k->from) != ADREV_OK)
            return IDA_RES_FAIL;
        for (size_t i = 0; i < s->n; i++)
            k->from[i] = k->variable[i] == (part == 0) ? k->from[i] : 0;
        for (size_t i = 0; i < s->n && part == 1; i++)
            k->from[i] = -k->from[i];
        if (SUNLinSolSolve(k->solver, A, k->x, k->b, 0) != 0)
            return IDA_LSOLVE_FAIL;
        for (size_t i = 0; i < s->n; i++)
            if (part == 1)
                a_rate[i] = k->equation[i] ? 0 : k->to[i];
            else if (k->equation[i])
                a[i] = k->to[i];
    }
    return IDA_SUCCESS;
}

// Takes dG/dy at a moment into the adjoint: before ad_ida_backward, and, for a
// sum over moments, before IDAReInitB and IDAQuadReInitB at each of them.
//
//   y, rate [n]  in    what IDASolveF has found at t, or IDAGetAdjY
//   g   [n]      in    dG/dy, also by algebraic variables
//   solver, A    in    as for ad_ida_linear_solver_b, and may be the same; A is
//                      not NULL
//   a   [n]      in/out   0 at first
//   a_rate [n]   out
//   q   [parameters]   in/out   0 at first; NULL: no derivatives by p
//
//   returns      IDA_SUCCESS; IDA_MEM_FAIL: s is NULL, or out of memory;
//                IDA_ILL_INPUT: no such vectors or matrix, or algebraic
//                equations and variables are not as many; IDA_LSETUP_FAIL: K is
//                singular (of a higher index, or not semi-explicit);
//                IDA_LSOLVE_FAIL; IDA_RES_FAIL: see ad_system_status
static inline int ad_ida_backward_at(ad_system *s, double t, N_Vector y,
                                     N_Vector rate, N_Vector g,
                                     SUNLinearSolver solver, SUNMatrix A,
                                     N_Vector a, N_Vector a_rate, N_Vector q)
{
    if (s == NULL)
        return IDA_MEM_FAIL;
    if (s->dae == NULL || solver == NULL || A == NULL || !adx_sundials_known(A)
        || !adx_sundials_fits(s, y, s->n) || !adx_sundials_fits(s, rate, s->n)
        || !adx_sundials_fits(s, g, s->n) || !adx_sundials_adjoint(s, a, q)
        || !adx_sundials_fits(s, a_rate, s->n))
        return IDA_ILL_INPUT;
    adx_ida_start k = { s, solver, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
    adx_system_matrix *M = adx_sundials_lines(s, A, true);
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    const ad_status status = adx_system_jacobian(s, M, 1);
    int code = status != ADREV_OK ? IDA_RES_FAIL
             : !adx_ida_begin(&k, M, a) ? IDA_MEM_FAIL
             : !adx_ida_split(&k, M) ? IDA_ILL_INPUT
             : adx_ida_factor(&k, A, M, status);
    if (code == IDA_SUCCESS) {
        N_VScale(1, g, k.b);
        code = adx_ida_take(&k, A, N_VGetArrayPointer(a),
                            q == NULL ? NULL : N_VGetArrayPointer(q));
    }
    if (code == IDA_SUCCESS)
        code = adx_ida_follow(&k, A, N_VGetArrayPointer(a),
                              N_VGetArrayPointer(a_rate));
    adx_ida_end(&k);
    return code;
}

// dG/dy at a moment, of what lies behind it: F_r' a. It is 0 for algebraic
// variables, which follow from the others.
//
//   y, rate [n]  in    there
//   a   [n]      in    the adjoint there (IDAGetB)
//   g   [n]      out   may be a
//
//   returns      IDA_SUCCESS; IDA_MEM_FAIL: s is NULL; IDA_ILL_INPUT: no such
//                vectors; IDA_RES_FAIL: see ad_system_status
static inline int ad_ida_backward_gradient(ad_system *s, double t, N_Vector y,
                                           N_Vector rate, N_Vector a,
                                           N_Vector g)
{
    if (s == NULL)
        return IDA_MEM_FAIL;
    if (s->dae == NULL || !adx_sundials_fits(s, y, s->n)
        || !adx_sundials_fits(s, rate, s->n) || !adx_sundials_fits(s, a, s->n)
        || !adx_sundials_fits(s, g, s->n))
        return IDA_ILL_INPUT;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    return adx_sundials_back(s, N_VGetArrayPointer(a), 1, s->n, s->n,
                             N_VGetArrayPointer(g)) == 0 ? IDA_SUCCESS
                                                         : IDA_RES_FAIL;
}

/* === sundials/kinsol ========================================================
 * Nonlinear equations: residuals and Jacobians.
 *
 *   needs   sundials/matrices
 * ====================================================================== */

/* --- KINSOL --------------------------------------------------------------- */

static inline int adx_kinsol_g(N_Vector y, N_Vector residual, void *system)
{
    ad_system *s = (ad_system *)system;
    double *out = N_VGetArrayPointer(residual);
    adx_system_at(s, 0, N_VGetArrayPointer(y), NULL);
    return adx_sundials_code(s, adx_system_eval(s, out), s->n, out);
}

static inline int adx_kinsol_jacobian(N_Vector y, N_Vector residual,
                                      SUNMatrix A, void *system, N_Vector a,
                                      N_Vector b)
{
    ad_system *s = (ad_system *)system;
    (void)residual;
    (void)a;
    (void)b;
    adx_system_at(s, 0, N_VGetArrayPointer(y), NULL);
    return adx_sundials_matrix(s, A, 0, 1, false);
}

static inline int adx_kinsol_product(N_Vector v, N_Vector product, N_Vector y,
                                     sunbooleantype *fresh, void *system)
{
    ad_system *s = (ad_system *)system;
    *fresh = SUNFALSE;
    adx_system_at(s, 0, N_VGetArrayPointer(y), NULL);
    adx_system_direction(s, N_VGetArrayPointer(v), NULL, 0);
    return adx_sundials_product(s, product);
}

// Has KINSOL solve s, a system of ad_system_equations: KINInit and
// KINSetUserData. Where there is no finite residual it tries a shorter step.
//
//   like         in    a vector of n numbers, which is not changed
//
//   returns      as KINInit; KIN_MEM_FAIL: s is NULL; KIN_ILL_INPUT: as
//                CV_ILL_INPUT of ad_cvodes_init
static inline int ad_kinsol_init(void *kinsol, ad_system *s, N_Vector like)
{
    if (s == NULL)
        return KIN_MEM_FAIL;
    if (s->equations == NULL || !adx_sundials_fits(s, like, s->n))
        return KIN_ILL_INPUT;
    const int code = KINInit(kinsol, adx_kinsol_g, like);
    return code != KIN_SUCCESS ? code : KINSetUserData(kinsol, s);
}

// KINSetLinearSolver with the exact Jacobian or products, as
// ad_cvodes_linear_solver.
static inline int ad_kinsol_linear_solver(void *kinsol, SUNLinearSolver solver,
                                          SUNMatrix A)
{
    if (!adx_sundials_known(A))
        return KINLS_ILL_INPUT;
    const int code = KINSetLinearSolver(kinsol, solver, A);
    if (code != KINLS_SUCCESS)
        return code;
    return A != NULL ? KINSetJacFn(kinsol, adx_kinsol_jacobian)
                     : KINSetJacTimesVecFn(kinsol, adx_kinsol_product);
}

#endif
