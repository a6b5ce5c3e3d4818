// SPDX-License-Identifier: MIT-0
// tags: recorded
// needs: cvodes/cvodes.h -lsundials_cvodes -lsundials_sunlinsolklu
// libs: -lsundials_cvodes -lsundials_idas -lsundials_kinsol
// libs: -lsundials_nvecserial -lsundials_sunlinsolklu -lsundials_sunlinsolspgmr
/* sundials.c - adrev_sundials.h: CVODES, IDAS and KINSOL.
 *
 * Published values of Robertson's kinetics, and of its sensitivities; matrices
 * handed over against differences in long double; a Brusselator in one
 * dimension by dense, band and sparse matrices and by products; gradients of a
 * fit by the adjoint problem, by forward sensitivities and by differences of
 * solutions; equations with known solutions; failures.                       */

#include "implementation.h"
#include "adrev_function.h"

#include <adrev_sundials.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>

#include "check.h"
#include "equations.h"
#include "solvers.h"

// As in sunlinsol_klu.h, which needs another -I for <klu.h>; with that flag the
// test would not share a unit with others.
extern SUNLinearSolver SUNLinSol_KLU(N_Vector y, SUNMatrix A, SUNContext in);

static SUNContext context;

// SUNDIALS prints its errors unless it is given a handler.
static void quiet(int code, const char *module, const char *function,
                  char *text, void *user)
{
    (void)code;
    (void)module;
    (void)function;
    (void)text;
    (void)user;
}

typedef enum kind { DENSE, BAND, CSC, CSR, PRODUCTS, KINDS } kind;

static SUNMatrix matrix_of(kind how, size_t n, sunindextype width)
{
    const sunindextype rows = (sunindextype)n;
    return how == DENSE ? SUNDenseMatrix(rows, rows, context)
         : how == BAND ? SUNBandMatrix(rows, width, width, context)
         : how == PRODUCTS ? NULL
         : SUNSparseMatrix(rows, rows, 1, how == CSC ? CSC_MAT : CSR_MAT,
                           context);
}

static SUNLinearSolver solver_of(kind how, N_Vector y, SUNMatrix A)
{
    return how == DENSE ? SUNLinSol_Dense(y, A, context)
         : how == BAND ? SUNLinSol_Band(y, A, context)
         : how == PRODUCTS ? SUNLinSol_SPGMR(y, SUN_PREC_NONE, 30, context)
         : SUNLinSol_KLU(y, A, context);
}

/* --- Robertson (1966) ----------------------------------------------------- */

// ROBER of the Test Set for IVP Solvers (Mazzia and Magherini), at 1e11.
static const double rober[3] = { 0.2083340149701255e-07,
    0.8333360770334713e-13, 0.9999999791665050 };

static void test_rober(kind how)
{
    double start[3] = { 1, 0, 0 }, t = 0;
    ad_system *s = ad_system_ode(kinetics, NULL, 3, 3);
    memcpy(s->p, robertson_p, sizeof robertson_p);
    N_Vector y = N_VMake_Serial(3, start, context);
    void *cvodes = CVodeCreate(CV_BDF, context);
    SUNMatrix A = matrix_of(how, 3, 2);
    SUNLinearSolver solver = solver_of(how, y, A);
    CHECK(ad_cvodes_init(cvodes, s, 0, y) == CV_SUCCESS
          && CVodeSStolerances(cvodes, 1e-10, 1e-20) == CV_SUCCESS
          && CVodeSetMaxNumSteps(cvodes, 20000) == CV_SUCCESS
          && ad_cvodes_linear_solver(cvodes, solver, A) == CVLS_SUCCESS
          && CVode(cvodes, 1e11, y, &t, CV_NORMAL) == CV_SUCCESS, "ROBER");
    // About 5000 steps, each with an error of up to 1e-10.
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(start[i], rober[i], 1e-6L);
    CVodeFree(&cvodes);
    SUNLinSolFree(solver);
    SUNMatDestroy(A);
    N_VDestroy(y);
    ad_system_free(s);
}

static void compare_published(int k, N_Vector y, N_Vector along[])
{
    for (int i = 0; i < 3; i++) {
        // Five digits of a solution with a tolerance of 1e-4 a step.
        CHECK_NEAR(NV_DATA_S(y)[i], published[k][0][i], 1e-3L);
        for (int j = 0; j < 3; j++)
            CHECK_NEAR(NV_DATA_S(along[j])[i], published[k][1 + j][i], 2e-3L);
    }
}

static void test_sensitivities(int method, const double directions[])
{
    double start[3] = { 1, 0, 0 }, t = 0;
    ad_system *s = ad_system_ode(kinetics, NULL, 3, 3);
    memcpy(s->p, robertson_p, sizeof robertson_p);
    N_Vector y = N_VMake_Serial(3, start, context);
    N_Vector *along = N_VCloneVectorArray(3, y);
    for (int k = 0; k < 3; k++)
        N_VConst(0, along[k]);
    void *cvodes = CVodeCreate(CV_BDF, context);
    SUNMatrix A = matrix_of(DENSE, 3, 0);
    SUNLinearSolver solver = solver_of(DENSE, y, A);
    ad_cvodes_init(cvodes, s, 0, y);
    CVodeSStolerances(cvodes, 1e-7, 1e-12);
    ad_cvodes_linear_solver(cvodes, solver, A);
    CHECK(ad_cvodes_sensitivities(cvodes, s, 3, directions, method, along)
          == CV_SUCCESS, "sensitivities");
    for (int k = 0; k < 2; k++) {
        CHECK(CVode(cvodes, k == 0 ? 0.4 : 4, y, &t, CV_NORMAL) == CV_SUCCESS
              && CVodeGetSens(cvodes, &t, along) == CV_SUCCESS, "a solution");
        compare_published(k, y, along);
    }
    CVodeFree(&cvodes);
    SUNLinSolFree(solver);
    SUNMatDestroy(A);
    N_VDestroyVectorArray(along, 3);
    N_VDestroy(y);
    ad_system_free(s);
}

static void test_ida(kind how)
{
    double start[3] = { 1, 0, 0 }, rates[3] = { -0.04, 0.04, 0 }, t = 0;
    ad_system *s = ad_system_dae(conserved, NULL, 3, 3);
    memcpy(s->p, robertson_p, sizeof robertson_p);
    N_Vector y = N_VMake_Serial(3, start, context);
    N_Vector rate = N_VMake_Serial(3, rates, context);
    N_Vector *along = N_VCloneVectorArray(3, y);
    N_Vector *along_rate = N_VCloneVectorArray(3, y);
    for (int k = 0; k < 3; k++) {
        N_VConst(0, along[k]);
        N_VConst(0, along_rate[k]);
    }
    NV_DATA_S(along_rate[0])[0] = -1;       // of y0' = -p0 y0 + ..., y0 = 1
    NV_DATA_S(along_rate[0])[1] = 1;
    void *ida = IDACreate(context);
    SUNMatrix A = matrix_of(how, 3, 2);
    SUNLinearSolver solver = solver_of(how, y, A);
    CHECK(ad_ida_init(ida, s, 0, y, rate) == IDA_SUCCESS
          && IDASStolerances(ida, 1e-7, 1e-12) == IDA_SUCCESS
          && ad_ida_linear_solver(ida, solver, A) == IDALS_SUCCESS
          && ad_ida_sensitivities(ida, s, 3, NULL, IDA_SIMULTANEOUS, along,
                                  along_rate) == IDA_SUCCESS, "IDAS");
    for (int k = 0; k < 2; k++) {
        CHECK(IDASolve(ida, k == 0 ? 0.4 : 4, &t, y, rate, IDA_NORMAL)
              == IDA_SUCCESS && IDAGetSens(ida, &t, along) == IDA_SUCCESS,
              "a solution: %s", ad_message(ad_system_status(s)));
        compare_published(k, y, along);
    }
    IDAFree(&ida);
    SUNLinSolFree(solver);
    SUNMatDestroy(A);
    N_VDestroyVectorArray(along, 3);
    N_VDestroyVectorArray(along_rate, 3);
    N_VDestroy(rate);
    N_VDestroy(y);
    ad_system_free(s);
}

/* --- a Brusselator in one dimension --------------------------------------- */

// Entry (i, j) of any matrix.
static double entry(SUNMatrix A, size_t i, size_t j)
{
    const sunindextype row = (sunindextype)i, column = (sunindextype)j;
    if (SUNMatGetID(A) == SUNMATRIX_DENSE)
        return SM_ELEMENT_D(A, row, column);
    if (SUNMatGetID(A) == SUNMATRIX_BAND)
        return row - column > SM_LBAND_B(A) || column - row > SM_UBAND_B(A)
             ? 0 : SM_ELEMENT_B(A, row, column);
    const bool rows = SM_SPARSETYPE_S(A) == CSR_MAT;
    const sunindextype line = rows ? row : column;
    for (sunindextype k = SM_INDEXPTRS_S(A)[line];
         k < SM_INDEXPTRS_S(A)[line + 1]; k++)
        if (SM_INDEXVALS_S(A)[k] == (rows ? column : row))
            return SM_DATA_S(A)[k];
    return 0;
}

// J of the forward problem, -J' of the adjoint one, in every form.
static void test_matrices(kind how)
{
    enum { N = BRUSSELATOR };
    static ld J[N * N], want[N * N];
    static double got[N * N], y[N];
    ad_system *s = new_brusselator(y);
    N_Vector at = N_VMake_Serial(N, y, context);
    difference_jacobian(brusselator_ld, NULL, N, y, N, J);
    for (int back = 0; back < 2; back++) {
        SUNMatrix A = matrix_of(how, N, 2);
        SUNMatZero(A);
        const int code = back ? adx_cvodes_jacobian_b(0, at, at, at, A, s, at,
                                                      at, at)
                              : adx_cvodes_jacobian(0, at, at, A, s, at, at,
                                                    at);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                got[i * N + j] = entry(A, i, j);
                want[i * N + j] = back ? -J[j * N + i] : J[i * N + j];
            }
        // p = 0.02 is rounded: relative errors of 1e-16 times 4 in a / h^2.
        CHECK(code == 0 && solvers_near(N * N, got, want, 1e-14L),
              "matrix %d, back %d: code %d", (int)how, back, code);
        SUNMatDestroy(A);
    }
    N_VDestroy(at);
    ad_system_free(s);
}

// Integrates to t = 2 and back; G is the sum of all u there. a, q: out.
static void solve_brusselator(kind how, double y[], double a[], double q[])
{
    int which = 0, points = 0;
    double t = 0;
    ad_system *s = new_brusselator(y);
    N_Vector at = N_VMake_Serial(BRUSSELATOR, y, context);
    N_Vector adjoint = N_VMake_Serial(BRUSSELATOR, a, context);
    N_Vector sum = N_VMake_Serial(2, q, context);
    SUNMatrix A = matrix_of(how, BRUSSELATOR, 2);
    SUNMatrix B = matrix_of(how, BRUSSELATOR, 2);
    SUNLinearSolver solver = solver_of(how, at, A);
    SUNLinearSolver solver_b = solver_of(how, adjoint, B);
    void *cvodes = CVodeCreate(CV_BDF, context);
    ad_cvodes_init(cvodes, s, 0, at);
    CVodeSStolerances(cvodes, 1e-9, 1e-9);
    CVodeSetMaxNumSteps(cvodes, 5000);
    CHECK(ad_cvodes_linear_solver(cvodes, solver, A) == CVLS_SUCCESS
          && CVodeAdjInit(cvodes, 50, CV_HERMITE) == CV_SUCCESS
          && CVodeF(cvodes, 2, at, &t, CV_NORMAL, &points) == CV_SUCCESS,
          "forwards: %s", ad_message(ad_system_status(s)));
    for (int i = 0; i < BRUSSELATOR; i++)
        a[i] = i % 2 == 0;
    q[0] = q[1] = 0;
    CHECK(ad_cvodes_backward(cvodes, s, &which, CV_BDF, 2, adjoint, sum)
          == CV_SUCCESS, "an adjoint problem");
    CVodeSStolerancesB(cvodes, which, 1e-9, 1e-9);
    CVodeQuadSStolerancesB(cvodes, which, 1e-9, 1e-9);
    CVodeSetQuadErrConB(cvodes, which, SUNTRUE);
    CVodeSetMaxNumStepsB(cvodes, which, 5000);
    CHECK(ad_cvodes_linear_solver_b(cvodes, which, solver_b, B) == CVLS_SUCCESS
          && CVodeB(cvodes, 0, CV_NORMAL) == CV_SUCCESS
          && CVodeGetB(cvodes, which, &t, adjoint) == CV_SUCCESS
          && CVodeGetQuadB(cvodes, which, &t, sum) == CV_SUCCESS,
          "backwards: %s", ad_message(ad_system_status(s)));
    CVodeFree(&cvodes);
    SUNLinSolFree(solver);
    SUNLinSolFree(solver_b);
    SUNMatDestroy(A);
    SUNMatDestroy(B);
    N_VDestroy(at);
    N_VDestroy(adjoint);
    N_VDestroy(sum);
    ad_system_free(s);
}

static void test_brusselator(void)
{
    double y[KINDS][BRUSSELATOR], a[KINDS][BRUSSELATOR], q[KINDS][2];
    ld want_y[BRUSSELATOR], want_a[BRUSSELATOR], want_q[2];
    for (int how = 0; how < KINDS; how++) {
        solve_brusselator((kind)how, y[how], a[how], q[how]);
        for (int i = 0; how == 0 && i < BRUSSELATOR; i++) {
            want_y[i] = (ld)y[0][i];
            want_a[i] = (ld)a[0][i];
            want_q[i % 2] = (ld)q[0][i % 2];
        }
        // Some hundred steps of 1e-9 each, chosen by solvers that differ.
        CHECK(solvers_near(BRUSSELATOR, y[how], want_y, 1e-7L)
              && solvers_near(BRUSSELATOR, a[how], want_a, 1e-6L)
              && solvers_near(2, q[how], want_q, 1e-6L), "solver %d", how);
    }
}

/* --- a fit of hares and lynxes -------------------------------------------- */

// Pelts of the Hudson's Bay Company, 1900 to 1909, thousands
// (examples/hares.txt).
enum { YEARS = 10, RATES = 4, FITTED = RATES + 2 };

static const double pelts[YEARS][2] = {
    { 30.0, 4.0 }, { 47.2, 6.1 }, { 70.2, 9.8 }, { 77.4, 35.2 },
    { 36.3, 59.4 }, { 20.6, 41.7 }, { 18.1, 19.0 }, { 21.4, 13.0 },
    { 22.0, 8.3 }, { 25.4, 9.1 }
};

static const double fitted[FITTED] = { 0.52, 0.027, 0.84, 0.026, 33, 6 };

typedef struct fit {
    ad_system *s;
    void *cvodes;
    double y[2];
    N_Vector at;
    SUNMatrix A;
    SUNLinearSolver solver;
} fit;

static void begin_fit(fit *f, const double x[], double tolerance)
{
    f->s = ad_system_ode(hares, NULL, 2, RATES);
    memcpy(f->s->p, x, RATES * sizeof *x);
    memcpy(f->y, x + RATES, sizeof f->y);
    f->at = N_VMake_Serial(2, f->y, context);
    f->A = matrix_of(DENSE, 2, 0);
    f->solver = solver_of(DENSE, f->at, f->A);
    f->cvodes = CVodeCreate(CV_ADAMS, context);
    ad_cvodes_init(f->cvodes, f->s, 0, f->at);
    CVodeSStolerances(f->cvodes, tolerance, tolerance);
    CVodeSetMaxNumSteps(f->cvodes, 20000);
    ad_cvodes_linear_solver(f->cvodes, f->solver, f->A);
}

static void end_fit(fit *f)
{
    CVodeFree(&f->cvodes);
    SUNLinSolFree(f->solver);
    SUNMatDestroy(f->A);
    N_VDestroy(f->at);
    ad_system_free(f->s);
}

// The sum of squares, and its gradient by forward sensitivities unless NULL.
static double by_sensitivities(const double x[], double tolerance, double g[])
{
    static const double directions[FITTED * RATES]
        = { [0] = 1, [5] = 1, [10] = 1, [15] = 1 };
    double sum = 0, t = 0;
    fit f;
    begin_fit(&f, x, tolerance);
    N_Vector *along = N_VCloneVectorArray(FITTED, f.at);
    for (int k = 0; k < FITTED; k++) {
        N_VConst(0, along[k]);
        if (k >= RATES)
            NV_DATA_S(along[k])[k - RATES] = 1;
    }
    if (g != NULL) {
        memset(g, 0, FITTED * sizeof *g);
        CHECK(ad_cvodes_sensitivities(f.cvodes, f.s, FITTED, directions,
                                      CV_SIMULTANEOUS, along) == CV_SUCCESS,
              "sensitivities, also of initial values");
    }
    for (int i = 0; i < YEARS; i++) {
        if (i > 0)
            CHECK(CVode(f.cvodes, i, f.at, &t, CV_NORMAL) == CV_SUCCESS
                  && (g == NULL || CVodeGetSens(f.cvodes, &t, along)
                      == CV_SUCCESS), "year %d", i);
        for (int k = 0; k < 2; k++) {
            const double off = f.y[k] - pelts[i][k];
            sum += off * off;
            for (int j = 0; g != NULL && j < FITTED; j++)
                g[j] += 2 * off * NV_DATA_S(along[j])[k];
        }
    }
    N_VDestroyVectorArray(along, FITTED);
    end_fit(&f);
    return sum;
}

// The gradient by one adjoint problem that stops at each year.
static void by_adjoint(const double x[], double tolerance, double g[])
{
    double y[YEARS][2], a[2], q[RATES] = { 0 }, t = 0;
    int which = 0, points = 0;
    fit f;
    begin_fit(&f, x, tolerance);
    memcpy(y[0], f.y, sizeof f.y);
    CVodeAdjInit(f.cvodes, 100, CV_HERMITE);
    for (int i = 1; i < YEARS; i++) {
        CHECK(CVodeF(f.cvodes, i, f.at, &t, CV_NORMAL, &points) == CV_SUCCESS,
              "year %d", i);
        memcpy(y[i], f.y, sizeof f.y);
    }
    N_Vector adjoint = N_VMake_Serial(2, a, context);
    N_Vector sum = N_VMake_Serial(RATES, q, context);
    SUNMatrix B = matrix_of(DENSE, 2, 0);
    SUNLinearSolver solver = solver_of(DENSE, adjoint, B);
    a[0] = a[1] = 0;
    for (int i = YEARS - 1; i > 0; i--) {
        for (int k = 0; k < 2; k++)
            a[k] += 2 * (y[i][k] - pelts[i][k]);
        if (i == YEARS - 1) {
            CHECK(ad_cvodes_backward(f.cvodes, f.s, &which, CV_ADAMS, i,
                                     adjoint, sum) == CV_SUCCESS, "begins");
            CVodeSStolerancesB(f.cvodes, which, tolerance, tolerance);
            CVodeQuadSStolerancesB(f.cvodes, which, tolerance, tolerance);
            CVodeSetQuadErrConB(f.cvodes, which, SUNTRUE);
            CVodeSetMaxNumStepsB(f.cvodes, which, 20000);
            ad_cvodes_linear_solver_b(f.cvodes, which, solver, B);
        } else {
            CVodeReInitB(f.cvodes, which, i, adjoint);
            CVodeQuadReInitB(f.cvodes, which, sum);
        }
        CHECK(CVodeB(f.cvodes, i - 1, CV_NORMAL) == CV_SUCCESS
              && CVodeGetB(f.cvodes, which, &t, adjoint) == CV_SUCCESS
              && CVodeGetQuadB(f.cvodes, which, &t, sum) == CV_SUCCESS,
              "back to year %d", i - 1);
    }
    memcpy(g, q, sizeof q);
    for (int k = 0; k < 2; k++)
        g[RATES + k] = a[k] + 2 * (y[0][k] - pelts[0][k]);
    N_VDestroy(adjoint);
    N_VDestroy(sum);
    SUNLinSolFree(solver);
    SUNMatDestroy(B);
    end_fit(&f);
}

static void test_fit(void)
{
    double forward[FITTED], adjoint[FITTED];
    by_sensitivities(fitted, 1e-10, forward);
    by_adjoint(fitted, 1e-10, adjoint);
    for (int j = 0; j < FITTED; j++) {
        double x[FITTED], g = 0;
        memcpy(x, fitted, sizeof x);
        for (int k = -2; k <= 2; k++) {
            static const double weight[5] = { 1, -8, 0, 8, -1 };
            const double h = 1e-3 * fitted[j];
            x[j] = fitted[j] + k * h;
            if (k != 0)
                g += weight[k + 2] * by_sensitivities(x, 1e-13, NULL)
                   / (12 * h);
        }
        // Solutions of tolerance 1e-10 are right to about 1e-8 (200 steps and
        // a problem that amplifies); differences of order 4 with h = 1e-3 have
        // errors of 1e-9 (rounding of 1e-13 / h, and h^4 = 1e-12).
        CHECK_NEAR(forward[j], g, 2e-7L);
        CHECK_NEAR(adjoint[j], g, 2e-7L);
        CHECK_NEAR(adjoint[j], forward[j], 2e-7L);
    }
}

/* --- adjoint problems of DAEs ---------------------------------------------- */

// What a DAE and its adjoint problem need.
typedef struct dae_run {
    ad_system *s;
    void *ida;
    N_Vector y, rate, a, a_rate, q;
    SUNMatrix A, B;
    SUNLinearSolver solver, solver_b;
    int which;
    bool adjoint;               // IDAAdjInit; IDAFree fails if nothing follows
} dae_run;

// Takes s over.
static void begin_dae(dae_run *r, ad_system *s, kind how, double y[],
                      double rate[], double a[], double a_rate[], double q[])
{
    const sunindextype n = (sunindextype)s->n;
    r->s = s;
    r->y = N_VMake_Serial(n, y, context);
    r->rate = N_VMake_Serial(n, rate, context);
    r->a = N_VMake_Serial(n, a, context);
    r->a_rate = N_VMake_Serial(n, a_rate, context);
    r->q = N_VMake_Serial((sunindextype)s->parameters, q, context);
    r->A = matrix_of(how, s->n, n - 1);
    r->B = matrix_of(how, s->n, n - 1);
    r->solver = solver_of(how, r->y, r->A);
    r->solver_b = solver_of(how, r->a, r->B);
    r->ida = IDACreate(context);
    IDASetErrHandlerFn(r->ida, quiet, NULL);
    CHECK(ad_ida_init(r->ida, s, 0, r->y, r->rate) == IDA_SUCCESS
          && IDASStolerances(r->ida, 1e-10, 1e-14) == IDA_SUCCESS
          && IDASetMaxNumSteps(r->ida, 50000) == IDA_SUCCESS
          && ad_ida_linear_solver(r->ida, r->solver, r->A) == IDALS_SUCCESS,
          "IDAS");
    r->adjoint = false;
}

static void end_dae(dae_run *r)
{
    IDAFree(&r->ida);
    SUNLinSolFree(r->solver);
    SUNLinSolFree(r->solver_b);
    SUNMatDestroy(r->A);
    SUNMatDestroy(r->B);
    N_VDestroy(r->y);
    N_VDestroy(r->rate);
    N_VDestroy(r->a);
    N_VDestroy(r->a_rate);
    N_VDestroy(r->q);
    ad_system_free(r->s);
}

// Forwards to `end`.
static void forwards_dae(dae_run *r, double end)
{
    int points = 0;
    double t = 0;
    CHECK(r->adjoint || IDAAdjInit(r->ida, 100, IDA_HERMITE) == IDA_SUCCESS,
          "to go back");
    r->adjoint = true;
    CHECK(IDASolveF(r->ida, end, &t, r->y, r->rate, IDA_NORMAL, &points)
          == IDA_SUCCESS, "forwards: %s", ad_message(ad_system_status(r->s)));
}

// dG/dy at t into the adjoint; K' x = dG/dy is solved by a matrix of its own if
// B is NULL.
static void take_dae(dae_run *r, double t, double g[])
{
    N_Vector slope = N_VMake_Serial((sunindextype)r->s->n, g, context);
    SUNMatrix A = matrix_of(DENSE, r->s->n, 0);
    SUNLinearSolver solver = solver_of(DENSE, slope, A);
    CHECK(ad_ida_backward_at(r->s, t, r->y, r->rate, slope,
                             r->B != NULL ? r->solver_b : solver,
                             r->B != NULL ? r->B : A, r->a, r->a_rate, r->q)
          == IDA_SUCCESS, "dG/dy");
    SUNLinSolFree(solver);
    SUNMatDestroy(A);
    N_VDestroy(slope);
}

// Starts the adjoint problem at t.
static void start_dae(dae_run *r, double t, double tolerance)
{
    CHECK(ad_ida_backward(r->ida, r->s, &r->which, t, r->a, r->a_rate, r->q)
          == IDA_SUCCESS
          && IDASStolerancesB(r->ida, r->which, tolerance, tolerance)
             == IDA_SUCCESS
          && IDASetMaxNumStepsB(r->ida, r->which, 50000) == IDA_SUCCESS
          && IDAQuadSStolerancesB(r->ida, r->which, tolerance, tolerance)
             == IDA_SUCCESS
          && IDASetQuadErrConB(r->ida, r->which, SUNTRUE) == IDA_SUCCESS
          && ad_ida_linear_solver_b(r->ida, r->which, r->solver_b, r->B)
             == IDALS_SUCCESS, "an adjoint problem");
}

// Back to t; y and dy/dt there.
static void back_dae(dae_run *r, double to)
{
    double t = 0;
    CHECK(IDASolveB(r->ida, to, IDA_NORMAL) == IDA_SUCCESS
          && IDAGetB(r->ida, r->which, &t, r->a, r->a_rate) == IDA_SUCCESS
          && IDAGetQuadB(r->ida, r->which, &t, r->q) == IDA_SUCCESS
          && IDAGetAdjY(r->ida, to, r->y, r->rate) == IDA_SUCCESS,
          "backwards: %s", ad_message(ad_system_status(r->s)));
}

// (1 + t) (1 + y) y' + p = 0: (1 + y)^2 = (1 + y0)^2 - 2 p log(1 + t).
static void melting(ad_rev t, const ad_rev *y, const ad_rev *rate,
                    const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)ctx;
    r[0] = ad_rec(ad_add(ad_mul(ad_mul(ad_add(1, t), ad_add(1, y[0])), rate[0]),
                         p[0]));
}

static void test_adjoint_mass(kind how)
{
    const ld end = sqrtl(9 - logl(3));      // 1 + y at t = 2, p = 0.5
    double y = 2, rate = -0.5 / 3, a = 0, a_rate = 0, q = 0, g = 1;
    ad_system *s = ad_system_dae(melting, NULL, 1, 1);
    dae_run r;
    s->p[0] = 0.5;
    begin_dae(&r, s, how, &y, &rate, &a, &a_rate, &q);
    forwards_dae(&r, 2);
    CHECK_NEAR(y, end - 1, 1e-8L);
    take_dae(&r, 2, &g);
    // a F_r = 1, and (a F_r)' = a y' (1 + t), which is a' F_r + a (F_r)'.
    CHECK_NEAR(a, 1 / (3 * end), 1e-8L);
    CHECK_NEAR(a_rate, -(ld)a / 3, 1e-8L);
    start_dae(&r, 2, 1e-10);
    back_dae(&r, 0);
    CHECK(ad_ida_backward_gradient(s, 0, r.y, r.rate, r.a, r.a) == IDA_SUCCESS,
          "dG/dy");
    // Some 300 steps with errors of 1e-10 each.
    CHECK_NEAR(a, 3 / end, 1e-7L);
    CHECK_NEAR(q, -logl(3) / end, 1e-7L);
    end_dae(&r);
}

// Of Robertson's DAE, whose last equation and variable are algebraic: against
// the published derivatives, and forward sensitivities. G = y0 + 1e4 y1 + 3 y2.
static void test_adjoint_robertson(kind how)
{
    double y[3] = { 1, 0, 0 }, rate[3] = { -0.04, 0.04, 0 };
    double a[3] = { 0 }, a_rate[3] = { 0 }, q[3] = { 0 };
    double g[3] = { 1, 1e4, 3 };
    ad_system *s = ad_system_dae(conserved, NULL, 3, 3);
    dae_run r;
    memcpy(s->p, robertson_p, sizeof robertson_p);
    begin_dae(&r, s, how, y, rate, a, a_rate, q);
    forwards_dae(&r, 4);
    take_dae(&r, 4, g);
    CHECK(!s->bends && !s->squares, "a constant dF/d(dy/dt)");
    start_dae(&r, 4, 1e-9);
    back_dae(&r, 0);
    for (int j = 0; j < 3; j++) {
        ld want = 0, largest = 0;
        for (int i = 0; i < 3; i++) {
            const ld term = (ld)g[i] * (ld)published[1][1 + j][i];
            want += term;
            largest = fmaxl(largest, fabsl(term));
        }
        // Five digits are published of each term.
        CHECK(fabsl((ld)q[j] - want) < 1e-3L * largest, "dG/dp%d: %g, not %Lg",
              j, q[j], want);
    }
    CHECK(ad_ida_backward_gradient(s, 0, r.y, r.rate, r.a, r.a) == IDA_SUCCESS
          && a[2] == 0, "an algebraic variable follows");
    end_dae(&r);
}

// y' = -p0 y, 0 = z - p1 y^2, G = z at 1: known, and G depends on p1 at once.
static void tracked(ad_rev t, const ad_rev *y, const ad_rev *rate,
                    const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)t;
    (void)ctx;
    r[0] = ad_rec(ad_sub(y[0], ad_mul(p[1], ad_sqr(y[1]))));
    r[1] = ad_rec(ad_add(rate[1], ad_mul(p[0], y[1])));
}

static void test_adjoint_algebraic(kind how)
{
    double y[2] = { 0.75 * 4, 2 }, rate[2] = { -2 * 0.6 * 0.75 * 4, -0.6 * 2 };
    double a[2] = { 0 }, a_rate[2] = { 0 }, q[2] = { 0 }, g[2] = { 1, 0 };
    ad_system *s = ad_system_dae(tracked, NULL, 2, 2);
    dae_run r;
    s->p[0] = 0.6;
    s->p[1] = 0.75;
    begin_dae(&r, s, how, y, rate, a, a_rate, q);
    forwards_dae(&r, 1);
    take_dae(&r, 1, g);
    start_dae(&r, 1, 1e-10);
    back_dae(&r, 0);
    CHECK(ad_ida_backward_gradient(s, 0, r.y, r.rate, r.a, r.a) == IDA_SUCCESS,
          "dG/dy");
    const ld left = expl(-2 * 0.6L);        // G = p1 y0^2 exp(-2 p0)
    CHECK_NEAR(q[0], -2 * 0.75L * 4 * left, 1e-7L);
    CHECK_NEAR(q[1], 4 * left, 1e-7L);
    CHECK_NEAR(a[1], 2 * 0.75L * 2 * left, 1e-7L);
    CHECK(a[0] == 0, "an algebraic variable follows");
    end_dae(&r);
}

// The adjoint problem is linear: its residual at (v, c v) is what a product
// must give, and, where dF/d(dy/dt) is constant, a matrix.
static void test_adjoint_products(void)
{
    double y[2] = { 3, 2 }, rate[2] = { -1.5, -1.2 }, v[2] = { 0.7, -1.1 };
    double along[2], want[2], got[2];
    const double c = 6.5;
    for (int k = 0; k < 2; k++) {
        ad_system *s = k == 0 ? ad_system_dae(melting, NULL, 1, 1)
                              : ad_system_dae(tracked, NULL, 2, 2);
        const sunindextype n = (sunindextype)s->n;
        s->p[0] = 0.6;
        s->p[k] += 0.75;
        for (int i = 0; i < 2; i++)
            along[i] = c * v[i];
        N_Vector at = N_VMake_Serial(n, y, context), to = N_VClone(at);
        N_Vector at_rate = N_VMake_Serial(n, rate, context);
        N_Vector a = N_VMake_Serial(n, v, context);
        N_Vector a_rate = N_VMake_Serial(n, along, context);
        SUNMatrix A = matrix_of(DENSE, s->n, 0);
        CHECK(adx_ida_residual_b(2, at, at_rate, a, a_rate, to, s) == 0
              && s->bends == (k == 0), "a residual");
        memcpy(want, NV_DATA_S(to), s->n * sizeof *want);
        CHECK(adx_ida_product_b(2, at, at_rate, a, a, a, a, to, c, s, a, a)
              == 0, "a product");
        SUNMatZero(A);
        CHECK(adx_ida_jacobian_b(2, c, at, at_rate, a, a, a, A, s, a, a, a)
              == 0, "a matrix");
        for (size_t i = 0; i < s->n; i++) {
            CHECK_CLOSE(NV_DATA_S(to)[i], want[i], 2);
            got[i] = 0;
            for (size_t j = 0; j < s->n; j++)
                got[i] += entry(A, i, j) * v[j];
            if (k == 1)
                CHECK_CLOSE(got[i], want[i], 4);
        }
        SUNMatDestroy(A);
        N_VDestroy(at);
        N_VDestroy(to);
        N_VDestroy(at_rate);
        N_VDestroy(a);
        N_VDestroy(a_rate);
        ad_system_free(s);
    }
}

// The same fit by an ODE and as a DAE, which stops at each year.
static void test_adjoint_fit(void)
{
    double x[FITTED], want[FITTED], y[2], rate[2], seen[YEARS][2];
    double a[2] = { 0 }, a_rate[2] = { 0 }, q[RATES] = { 0 }, g[2];
    dae_run r;
    memcpy(x, fitted, sizeof x);
    by_adjoint(x, 1e-10, want);
    ad_system *s = ad_system_implicit(hares, NULL, 2, RATES);
    memcpy(s->p, x, RATES * sizeof *x);
    memcpy(y, x + RATES, sizeof y);
    rate[0] = x[0] * y[0] - x[1] * y[0] * y[1];
    rate[1] = x[3] * y[0] * y[1] - x[2] * y[1];
    begin_dae(&r, s, DENSE, y, rate, a, a_rate, q);
    memcpy(seen[0], y, sizeof y);
    for (int i = 1; i < YEARS; i++) {
        forwards_dae(&r, i);
        memcpy(seen[i], y, sizeof y);
    }
    for (int i = YEARS - 1; i > 0; i--) {
        for (int k = 0; k < 2; k++)
            g[k] = 2 * (seen[i][k] - pelts[i][k]);
        take_dae(&r, i, g);
        if (i == YEARS - 1)
            start_dae(&r, i, 1e-10);
        else
            CHECK(IDAReInitB(r.ida, r.which, i, r.a, r.a_rate) == IDA_SUCCESS
                  && IDAQuadReInitB(r.ida, r.which, r.q) == IDA_SUCCESS,
                  "year %d", i);
        back_dae(&r, i - 1);
    }
    for (int j = 0; j < FITTED; j++) {
        const double got = j < RATES ? q[j]
            : a[j - RATES] + 2 * (seen[0][j - RATES] - pelts[0][j - RATES]);
        CHECK_NEAR(got, want[j], 1e-6L);    // some 10^3 steps of 1e-10
    }
    end_dae(&r);
}

// y'^2 = p y: not linear in y'. And two algebraic equations for one variable.
static void squared(ad_rev t, const ad_rev *y, const ad_rev *rate,
                    const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)t;
    (void)ctx;
    r[0] = ad_rec(ad_sub(ad_sqr(rate[0]), ad_mul(p[0], y[0])));
}

static void crowded(ad_rev t, const ad_rev *y, const ad_rev *rate,
                    const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)t;
    (void)ctx;
    r[0] = ad_rec(ad_add(ad_add(rate[0], rate[1]), ad_mul(p[0], y[0])));
    r[1] = y[0];
}

// p y0 = 3, y1 = 1.
static void still(ad_rev t, const ad_rev *y, const ad_rev *rate,
                  const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)t;
    (void)rate;
    (void)ctx;
    r[0] = ad_rec(ad_sub(ad_mul(p[0], y[0]), 3));
    r[1] = ad_rec(ad_sub(y[1], 1));
}

static void test_adjoint_failures(void)
{
    double y[2] = { 1, 2 }, rate[2] = { 1, 1 }, a[2] = { 0 }, b[2] = { 1, 1 };
    double q = 0;
    int which = 0;
    dae_run r;
    ad_system *s = ad_system_dae(squared, NULL, 1, 1);
    s->p[0] = 1;
    begin_dae(&r, s, DENSE, y, rate, a, b, &q);
    CHECK(adx_ida_residual_b(0, r.y, r.rate, r.a, r.a_rate, r.a, s) == -1
          && ad_system_status(s) == ADREV_ESHAPE
          && ad_ida_backward(r.ida, s, &which, 1, r.a, r.a_rate, r.q)
             == IDA_ILL_INPUT, "not linear in dy/dt");
    CHECK(ad_ida_backward(r.ida, NULL, &which, 1, r.a, r.a_rate, r.q)
          == IDA_MEM_FAIL
          && ad_ida_backward_at(NULL, 0, r.y, r.rate, r.a, r.solver, r.A, r.a,
                                r.a_rate, r.q) == IDA_MEM_FAIL
          && ad_ida_backward_gradient(NULL, 0, r.y, r.rate, r.a, r.a)
             == IDA_MEM_FAIL
          && ad_ida_backward_at(s, 0, r.y, r.rate, r.a, r.solver, NULL, r.a,
                                r.a_rate, r.q) == IDA_ILL_INPUT
          && ad_ida_backward_gradient(s, 0, r.y, r.rate, r.a, NULL)
             == IDA_ILL_INPUT, "no system, no matrix, no vector");
    end_dae(&r);
    s = ad_system_dae(crowded, NULL, 2, 1);
    begin_dae(&r, s, DENSE, y, rate, a, b, &q);
    CHECK(ad_ida_backward_at(s, 0, r.y, r.rate, r.a, r.solver, r.A, r.a,
                             r.a_rate, r.q) == IDA_ILL_INPUT,
          "more algebraic equations than variables");
    end_dae(&r);
    s = ad_system_dae(still, NULL, 2, 1);
    s->p[0] = 4;
    begin_dae(&r, s, DENSE, y, rate, a, b, &q);
    y[0] = 0.75;
    rate[0] = rate[1] = a[0] = a[1] = 3;
    q = 0;
    CHECK(ad_ida_backward_at(s, 0, r.y, r.rate, r.rate, r.solver, r.A, r.a,
                             r.a_rate, r.q) == IDA_SUCCESS && a[0] == 0
          && a[1] == 0 && b[0] == 0, "no dy/dt at all");
    // y0 = 3 / p and y1 = 1, 3 of each: d/dp is -9 / p^2.
    CHECK_NEAR(q, -9.0L / 16, 1e-15L);
    end_dae(&r);
    s = ad_system_dae(tracked, NULL, 2, 2);
    double of_p[2] = { 0 };
    s->p[1] = 1;
    begin_dae(&r, s, DENSE, y, rate, a, b, of_p);
    y[1] = (double)NAN;
    CHECK(ad_ida_backward_at(s, 0, r.y, r.rate, r.a, r.solver, r.A, r.a,
                             r.a_rate, r.q) == IDA_RES_FAIL, "no number");
    end_dae(&r);
}

/* --- KINSOL ---------------------------------------------------------------- */

// Zero at y = 1; Newton's first step from 6 leads to where there is none.
static void logarithms(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)p;
    (void)ctx;
    r[0] = ad_rec(ad_log(y[0]));
}

static int solve_kinsol(ad_system *s, kind how, double start[],
                        ad_status *status)
{
    N_Vector y = N_VMake_Serial((sunindextype)s->n, start, context);
    N_Vector scale = N_VClone(y);
    SUNMatrix A = matrix_of(how, s->n, 1);
    SUNLinearSolver solver = solver_of(how, y, A);
    void *kinsol = KINCreate(context);
    N_VConst(1, scale);
    int code = ad_kinsol_init(kinsol, s, y);
    KINSetErrHandlerFn(kinsol, quiet, NULL);
    KINSetFuncNormTol(kinsol, 1e-12);
    KINSetScaledStepTol(kinsol, 1e-14);
    if (code == KIN_SUCCESS)
        code = ad_kinsol_linear_solver(kinsol, solver, A);
    if (code == KINLS_SUCCESS)
        code = KINSol(kinsol, y, KIN_LINESEARCH, scale, scale);
    *status = ad_system_status(s);
    KINFree(&kinsol);
    SUNLinSolFree(solver);
    SUNMatDestroy(A);
    N_VDestroy(scale);
    N_VDestroy(y);
    ad_system_free(s);
    return code;
}

static void test_kinsol(void)
{
    enum { N = 60 };
    int n = N;
    double y[N] = { 0, 1 }, first[N];
    ad_status status;
    ad_system *s = ad_system_equations(powell, NULL, 2, 1);
    s->p[0] = 1e4;
    CHECK(solve_kinsol(s, DENSE, y, &status) >= 0 && status == ADREV_OK,
          "Powell");
    CHECK_NEAR(y[0], 1.098159e-5, 1e-6L);
    CHECK_NEAR(y[1], 9.106146, 1e-6L);
    for (int how = 0; how < KINDS; how++) {
        double largest = 0;
        for (int i = 0; i < N; i++)
            y[i] = -1;
        CHECK(solve_kinsol(ad_system_equations(broyden, &n, N, 0), (kind)how,
                           y, &status) >= 0 && status == ADREV_OK,
              "Broyden, solver %d", how);
        for (int i = 0; i < N; i++) {
            const double r = (3 - 2 * y[i]) * y[i] + 1
                           - (i > 0 ? y[i - 1] : 0)
                           - (i < N - 1 ? 2 * y[i + 1] : 0);
            largest = fmax(largest, fabs(r));
            first[i] = how == 0 ? y[i] : first[i];
            largest = fmax(largest, fabs(y[i] - first[i]));
        }
        CHECK(largest < 1e-10, "Broyden, solver %d: %g", how, largest);
    }
    y[0] = 6;
    CHECK(solve_kinsol(ad_system_equations(logarithms, NULL, 1, 0), DENSE, y,
                       &status) >= 0 && fabs(y[0] - 1) < 1e-10,
          "back from where there is no logarithm: %g", y[0]);
}

/* --- failures -------------------------------------------------------------- */

// Its Jacobian is not finite at y = 0, where its value is.
static void root(ad_rev t, const ad_rev *y, const ad_rev *p, ad_rev *rate,
                 void *ctx)
{
    (void)t;
    (void)p;
    (void)ctx;
    rate[0] = ad_rec(ad_sqrt(y[0]));
}

// Falls to 1, then stays: two paths.
static void floored(ad_rev t, const ad_rev *y, const ad_rev *p, ad_rev *rate,
                    void *ctx)
{
    (void)t;
    (void)ctx;
    rate[0] = ad_gt(y[0], 1) ? ad_rec(ad_neg(p[0]))
                             : ad_rec(ad_sub(1, y[0]));
}

static int integrate(ad_system *s, double *y, double end, ad_status *status)
{
    double t = 0;
    N_Vector at = N_VMake_Serial(1, y, context);
    SUNMatrix A = matrix_of(DENSE, 1, 0);
    SUNLinearSolver solver = solver_of(DENSE, at, A);
    void *cvodes = CVodeCreate(CV_BDF, context);
    int code = ad_cvodes_init(cvodes, s, 0, at);
    CVodeSetErrHandlerFn(cvodes, quiet, NULL);
    CVodeSStolerances(cvodes, 1e-8, 1e-10);
    if (code == CV_SUCCESS)
        code = ad_cvodes_linear_solver(cvodes, solver, A);
    if (code == CV_SUCCESS)
        code = CVode(cvodes, end, at, &t, CV_NORMAL);
    *status = ad_system_status(s);
    CVodeFree(&cvodes);
    SUNLinSolFree(solver);
    SUNMatDestroy(A);
    N_VDestroy(at);
    ad_system_free(s);
    return code;
}

static void test_failures(void)
{
    double y = 1;
    ad_status status;
    int code = integrate(ad_system_ode(sinking, NULL, 1, 0), &y, 0.6, &status);
    CHECK(code == CV_SUCCESS, "before there is no value: %d", code);
    CHECK_NEAR(y, powl(0.1L, 2.0L / 3), 1e-5L);         // (1 - 3t/2)^(2/3)
    y = 1;
    code = integrate(ad_system_ode(sinking, NULL, 1, 0), &y, 2, &status);
    CHECK(code < 0 && status == ADREV_OK, "beyond: %d", code);
    y = -1;
    code = integrate(ad_system_ode(sinking, NULL, 1, 0), &y, 1, &status);
    CHECK(code == CV_FIRST_RHSFUNC_ERR, "no value at first: %d", code);
    y = 3;
    code = integrate(ad_system_ode(frozen_rate, NULL, 1, 0), &y, 1, &status);
    CHECK(code == CV_RHSFUNC_FAIL && status == ADREV_EFROZEN, "stops: %d",
          code);
    ad_system *s = ad_system_ode(floored, NULL, 1, 1);
    s->p[0] = 2;
    y = 5;
    code = integrate(s, &y, 6, &status);
    CHECK(code == CV_SUCCESS && status == ADREV_OK && fabs(y - 1) < 1e-6,
          "two paths: %d, %g", code, y);
}

// What callbacks return, one by one.
static void test_codes(void)
{
    double zero = 0;
    N_Vector y = N_VMake_Serial(1, &zero, context), out = N_VClone(y);
    SUNMatrix A = matrix_of(DENSE, 1, 0);
    ad_system *s = ad_system_ode(root, NULL, 1, 0);
    zero = 0.25;
    CHECK(adx_cvodes_f(0, y, out, s) == 0 && NV_DATA_S(out)[0] == 0.5,
          "a rate");
    zero = 0;
    CHECK(adx_cvodes_jacobian(0, y, y, A, s, y, y, y) == 1,
          "a Jacobian that is not finite");
    ad_system_free(s);

    static double wide[BRUSSELATOR];
    s = new_brusselator(wide);
    N_Vector at = N_VMake_Serial(BRUSSELATOR, wide, context);
    SUNMatrix narrow = matrix_of(BAND, BRUSSELATOR, 1);
    SUNMatZero(narrow);
    CHECK(adx_cvodes_jacobian(0, at, at, narrow, s, at, at, at) == -1
          && ad_system_status(s) == ADREV_ESHAPE, "a narrow band");
    const kind kinds[3] = { DENSE, BAND, CSR };
    for (int k = 0; k < 3; k++) {
        SUNMatrix small = matrix_of(kinds[k], BRUSSELATOR - 1, 2);
        CHECK(adx_cvodes_jacobian(0, at, at, A, s, at, at, at) == -1
              && ad_system_status(s) == ADREV_ESHAPE
              && adx_cvodes_jacobian(0, at, at, small, s, at, at, at) == -1
              && ad_system_status(s) == ADREV_ESHAPE, "a small matrix, %d", k);
        SUNMatDestroy(small);
    }
    CHECK(ad_cvodes_init(NULL, NULL, 0, y) == CV_MEM_FAIL
          && ad_cvodes_init(NULL, s, 0, y) == CV_ILL_INPUT
          && ad_ida_init(NULL, s, 0, at, at) == IDA_ILL_INPUT
          && ad_kinsol_init(NULL, s, at) == KIN_ILL_INPUT
          && ad_ida_init(NULL, NULL, 0, at, at) == IDA_MEM_FAIL
          && ad_kinsol_init(NULL, NULL, at) == KIN_MEM_FAIL, "wrong calls");
    CHECK(ad_cvodes_sensitivities(NULL, s, 3, NULL, CV_SIMULTANEOUS, &at)
          == CV_ILL_INPUT
          && ad_cvodes_sensitivities(NULL, s, 0, NULL, CV_SIMULTANEOUS, &at)
          == CV_ILL_INPUT
          && ad_ida_sensitivities(NULL, s, 3, NULL, IDA_STAGGERED, &at, &at)
          == IDA_ILL_INPUT, "more sensitivities than parameters, or none");
    CHECK(ad_cvodes_backward(NULL, s, NULL, CV_BDF, 0, y, NULL) == CV_ILL_INPUT
          && ad_cvodes_backward(NULL, s, NULL, CV_BDF, 0, at, at)
          == CV_ILL_INPUT, "wrong lengths");
    SUNMatDestroy(narrow);
    N_VDestroy(at);
    ad_system_free(s);
    SUNMatDestroy(A);
    N_VDestroy(out);
    N_VDestroy(y);
}

// Beyond y0 = 2 there is another entry, which the linear solver does not know.
static void growing(ad_rev t, const ad_rev *y, const ad_rev *p, ad_rev *rate,
                    void *ctx)
{
    (void)t;
    (void)p;
    (void)ctx;
    rate[0] = ad_lt(y[0], 2) ? y[0] : ad_rec(ad_mul(y[0], y[1]));
    rate[1] = y[1];
}

static void test_growing_pattern(void)
{
    double y[2] = { 1, 3 };
    N_Vector at = N_VMake_Serial(2, y, context);
    ad_system *s = ad_system_ode(growing, NULL, 2, 0);
    SUNMatrix A = matrix_of(CSR, 2, 0);
    CHECK(adx_cvodes_jacobian(0, at, at, A, s, at, at, at) == 0
          && SM_INDEXPTRS_S(A)[2] == 2, "two entries");
    y[0] = 4;
    CHECK(adx_cvodes_jacobian(0, at, at, A, s, at, at, at) == -1
          && ad_system_status(s) == ADREV_ESHAPE, "another pattern");
    CHECK(adx_cvodes_jacobian(0, at, at, A, s, at, at, at) == 0
          && SM_INDEXPTRS_S(A)[2] == 3 && entry(A, 0, 1) == 4
          && entry(A, 0, 0) == 3 && ad_system_status(s) == ADREV_OK,
          "and on with it");
    SUNMatDestroy(A);
    N_VDestroy(at);
    ad_system_free(s);
}

int main(void)
{
    static const double units[9] = { [0] = 1, [4] = 1, [8] = 1 };
    SUNContext_Create(NULL, &context);
    test_rober(DENSE);
    test_rober(CSR);
    test_sensitivities(CV_SIMULTANEOUS, NULL);
    test_sensitivities(CV_STAGGERED1, units);
    test_ida(DENSE);
    test_ida(CSC);
    test_ida(PRODUCTS);
    for (int how = 0; how < PRODUCTS; how++)
        test_matrices((kind)how);
    test_brusselator();
    test_fit();
    for (int how = 0; how < KINDS; how++) {
        test_adjoint_mass((kind)how);
        test_adjoint_algebraic((kind)how);
    }
    test_adjoint_robertson(DENSE);
    test_adjoint_robertson(CSR);
    test_adjoint_products();
    test_adjoint_fit();
    test_adjoint_failures();
    test_kinsol();
    test_failures();
    test_codes();
    test_growing_pattern();
    SUNContext_Free(&context);
    return check_done("sundials");
}
