// SPDX-License-Identifier: MIT-0
// tags: recorded
// packages: petsc mpi
/* petsc.c - adrev_petsc.h: SNES, TS and TAO.
 *
 * Jacobians and products against differences in long double; equations with
 * known solutions, by matrices of several types and by shells; Robertson's
 * kinetics as an ODE and as a DAE; gradients of TSAdjointSolve against
 * differences, in long double, of the same steps; minima with known values;
 * patterns that grow; failures.                                              */

#include "implementation.h"
#include "adrev_function.h"

#include <adrev_petsc.h>

#include "check.h"
#include "equations.h"
#include "solvers.h"

// What LeakSanitizer is told of memory that others leave behind: MPI, its
// thread, and PETSc where an explicit method of TS ends with an error. Nothing
// of ours runs below these functions elsewhere. (Whole stacks: PETSc has no
// frame pointers.)
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:PetscInitialize\nleak:PetscFinalize\nleak:event_base_loop\n"
           "leak:beyond_explicitly\n";
}

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "fast_unwind_on_malloc=0:malloc_context_size=60";
}

// A vector of numbers that stay ours.
static Vec vector_of(size_t n, double x[])
{
    Vec v = NULL;
    VecCreateSeqWithArray(PETSC_COMM_SELF, 1, (PetscInt)n, x, &v);
    return v;
}

typedef enum kind { SPARSE, DENSE, GIVEN, PRODUCTS, BOTH, DIFFERENCES, COLOURS,
                    KINDS } kind;

// J and P of each kind; the caller's to be freed.
static void matrices_of(kind how, ad_system *s, Mat *J, Mat *P)
{
    const PetscInt n = (PetscInt)s->n;
    *J = *P = NULL;
    if (how == DENSE)
        MatCreateSeqDense(PETSC_COMM_SELF, n, n, NULL, J);
    if (how == GIVEN)                       // with another pattern
        MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 1, NULL, J);
    if (how == PRODUCTS || how == BOTH)
        ad_petsc_products(s, J);
    if (how == BOTH || how == DIFFERENCES)
        MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 3, NULL, P);
}

/* --- SNES ----------------------------------------------------------------- */

typedef struct found {
    PetscErrorCode code;
    SNESConvergedReason reason;
    ad_status status;
    PetscInt steps;
} found;

static found solve_snes(ad_system *s, kind how, double start[])
{
    found f = { 0, SNES_CONVERGED_ITERATING, ADREV_OK, 0 };
    SNES snes = NULL;
    KSP ksp = NULL;
    PC pc = NULL;
    Mat J = NULL, P = NULL;
    Vec y = vector_of(s->n, start);
    SNESCreate(PETSC_COMM_SELF, &snes);
    matrices_of(how, s, &J, &P);
    CHECK(ad_petsc_snes(snes, s, J, P) == 0, "joins");
    if (how == DIFFERENCES) {               // of the function that it has now
        CHECK(MatCreateSNESMF(snes, &J) == 0
              && ad_petsc_snes(snes, s, J, P) == 0, "joins once more");
    }
    if (how == COLOURS) {
        PetscOptionsSetValue(NULL, "-snes_fd_color", NULL);
        SNESSetFromOptions(snes);
        PetscOptionsClearValue(NULL, "-snes_fd_color");
    }
    SNESSetTolerances(snes, 1e-14, 1e-14, 1e-14, 200, 10000);
    SNESGetKSP(snes, &ksp);
    KSPGetPC(ksp, &pc);
    if (how == PRODUCTS)
        PCSetType(pc, PCNONE);
    if (how == PRODUCTS || how == BOTH || how == DIFFERENCES)
        KSPSetTolerances(ksp, 1e-12, 1e-50, 1e5, 1000);
    f.code = SNESSolve(snes, NULL, y);
    SNESGetConvergedReason(snes, &f.reason);
    SNESGetIterationNumber(snes, &f.steps);
    f.status = ad_system_status(s);
    MatDestroy(&J);
    MatDestroy(&P);
    SNESDestroy(&snes);
    VecDestroy(&y);
    ad_system_free(s);
    return f;
}

static void test_powell(void)
{
    double y[2] = { 0, 1 };
    ad_system *s = ad_system_equations(powell, NULL, 2, 1);
    s->p[0] = 1e4;
    const found f = solve_snes(s, SPARSE, y);
    CHECK(f.code == 0 && f.reason > 0 && f.status == ADREV_OK,
          "Powell: %d, %d", (int)f.code, (int)f.reason);
    CHECK_NEAR(y[0], 1.098159e-5, 1e-6L);
    CHECK_NEAR(y[1], 9.106146, 1e-6L);
}

// Newton's steps are the same with exact derivatives, whatever holds them.
static void test_broyden(void)
{
    enum { N = 60 };
    int n = N;
    PetscInt steps = 0;
    for (int how = 0; how < KINDS; how++) {
        double y[N], largest = 0;
        for (int i = 0; i < N; i++)
            y[i] = -1;
        const found f = solve_snes(ad_system_equations(broyden, &n, N, 0),
                                   (kind)how, y);
        CHECK(f.code == 0 && f.reason > 0 && f.status == ADREV_OK,
              "Broyden, %d: %d, %d", how, (int)f.code, (int)f.reason);
        for (int i = 0; i < N; i++) {
            const double r = (3 - 2 * y[i]) * y[i] + 1
                           - (i > 0 ? y[i - 1] : 0)
                           - (i < N - 1 ? 2 * y[i + 1] : 0);
            largest = fmax(largest, fabs(r));
        }
        CHECK(largest < 1e-12, "Broyden, %d: %g", how, largest);
        steps = how == 0 ? f.steps : steps;
        CHECK(f.steps < 8 && (f.steps == steps || how >= DIFFERENCES),
              "Broyden, %d: %d steps", how, (int)f.steps);
    }
}

// Zero at y = 1. From 6 Newton's first step leads to where there is no number.
static void logarithm(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)p;
    (void)ctx;
    r[0] = ad_rec(ad_log(y[0]));
}

// The same with a statement that fails there.
static void logarithm_external(const ad_rev *y, const ad_rev *p, ad_rev *r,
                               void *ctx)
{
    const double value = -log(y[0].v);
    (void)p;
    (void)ctx;
    ad_external(&minus_log_rule, &y[0].v, sizeof y[0].v, 1, y, 1, &value, r);
}

// Beyond y0 = 2, row 0 has y2 in place of y1. Zero at (1, 1, 1) on both.
static void branches(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)p;
    (void)ctx;
    r[0] = ad_lt(y[0], 2) ? ad_rec(ad_sub(ad_mul(y[0], y[1]), 1))
                          : ad_rec(ad_sub(ad_mul(y[0], y[2]), 1));
    r[1] = ad_rec(ad_sub(ad_mul(y[1], ad_sqr(y[2])), 1));
    r[2] = ad_rec(ad_sub(ad_sqr(y[2]), 1));
}

static void frozen_equation(const ad_rev *y, const ad_rev *p, ad_rev *r,
                            void *ctx)
{
    frozen_rate(y[0], y, p, r, ctx);
}

static void test_snes_points(void)
{
    ad_equations_fn *const both[2] = { logarithm, logarithm_external };
    for (int i = 0; i < 2; i++) {
        double y = 6;
        found f = solve_snes(ad_system_equations(both[i], NULL, 1, 0), SPARSE,
                             &y);
        CHECK(f.code == 0 && f.reason > 0 && f.status == ADREV_OK
              && fabs(y - 1) < 1e-12, "back from where there is no logarithm: "
              "%d, %d, %g", (int)f.code, (int)f.reason, y);
        y = -1;
        f = solve_snes(ad_system_equations(both[i], NULL, 1, 0), SPARSE, &y);
        CHECK(f.code == 0 && f.reason == SNES_DIVERGED_FNORM_NAN
              && f.status == (i == 0 ? ADREV_OK : ADREV_EEXTERNAL),
              "no value at the start: %d, %d, %s", (int)f.code, (int)f.reason,
              ad_message(f.status));
    }
    double y[3] = { 5, 3, 4 };
    found f = solve_snes(ad_system_equations(branches, NULL, 3, 0), SPARSE, y);
    CHECK(f.code == 0 && f.reason > 0 && fabs(y[0] - 1) < 1e-12
          && fabs(y[1] - 1) < 1e-12, "two paths: %d, %g %g", (int)f.reason,
          y[0], y[1]);
    f = solve_snes(ad_system_equations(frozen_equation, NULL, 1, 0), SPARSE, y);
    CHECK(f.code == PETSC_ERR_LIB && f.status == ADREV_EFROZEN, "stops: %d",
          (int)f.code);
}

/* --- Jacobians ------------------------------------------------------------ */

static double entry(Mat A, size_t i, size_t j)
{
    const PetscInt row = (PetscInt)i, column = (PetscInt)j;
    double value = 0;
    MatGetValues(A, 1, &row, 1, &column, &value);
    return value;
}

// Of a Brusselator, against differences: all entries, and products.
static void test_jacobian(void)
{
    enum { N = BRUSSELATOR };
    static ld J[N * N], want[N], back[N];
    static double y[N], got[N * N], v[N], out[N];
    Mat A = NULL, B = NULL;
    ad_system *s = new_brusselator(y);
    Vec at = vector_of(N, y), along = vector_of(N, v), to = vector_of(N, out);
    difference_jacobian(brusselator_ld, NULL, N, y, N, J);
    CHECK(ad_petsc_jacobian(s, MAT_INITIAL_MATRIX, 0, at, NULL, 0, &A) == 0
          && ad_petsc_jacobian(s, MAT_REUSE_MATRIX, 0, at, NULL, 0, &A) == 0,
          "a Jacobian");
    for (size_t k = 0; k < N * N; k++)
        got[k] = entry(A, k / N, k % N);
    // p = 0.02 is rounded: relative errors of 1e-16 times 4 in a / h^2.
    CHECK(solvers_near(N * N, got, J, 1e-14L), "its entries");
    for (size_t j = 0; j < N; j++)
        v[j] = 0.3 - 0.1 * (double)(j % 7);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            want[i] += J[i * N + j] * (ld)v[j];
            back[j] += J[i * N + j] * (ld)v[i];
        }
    CHECK(ad_petsc_products(s, &B) == 0
          && adx_petsc_ts_jacobian(NULL, 0, at, B, A, s) == 0
          && MatMult(B, along, to) == 0 && solvers_near(N, out, want, 1e-14L)
          && MatMultTranspose(B, along, to) == 0
          && solvers_near(N, out, back, 1e-14L), "products");
    MatDestroy(&A);
    MatDestroy(&B);
    VecDestroy(&at);
    VecDestroy(&along);
    VecDestroy(&to);
    ad_system_free(s);
}

// r0 = y0 y1' + t, r1 = p y1 y0'^2 - y0, at shift c: known entries.
static void tangled(ad_rev t, const ad_rev *y, const ad_rev *rate,
                    const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)ctx;
    r[0] = ad_rec(ad_add(ad_mul(y[0], rate[1]), t));
    r[1] = ad_rec(ad_sub(ad_mul(p[0], ad_mul(y[1], ad_sqr(rate[0]))), y[0]));
}

static void test_shift(void)
{
    double y[2] = { 2, 3 }, rate[2] = { 5, 7 }, v[2] = { 1, -1 }, out[2];
    const double p = 0.5, c = 10;
    const double want[4] = { 7, c * 2, 2 * p * 3 * 5 * c - 1, p * 25 };
    ad_system *s = ad_system_dae(tangled, NULL, 2, 1);
    s->p[0] = p;
    Vec at = vector_of(2, y), at_rate = vector_of(2, rate);
    Vec along = vector_of(2, v), to = vector_of(2, out);
    Mat A = NULL, B = NULL, C = NULL;
    CHECK(ad_petsc_jacobian(s, MAT_INITIAL_MATRIX, 1, at, at_rate, c, &A) == 0,
          "a Jacobian of a DAE");
    for (size_t k = 0; k < 4; k++)
        CHECK_CLOSE(entry(A, k / 2, k % 2), want[k], 0);
    CHECK(ad_petsc_products(s, &B) == 0
          && adx_petsc_ts_implicit(NULL, 1, at, at_rate, c, B, A, s) == 0
          && MatMult(B, along, to) == 0 && out[0] == want[0] - want[1]
          && out[1] == want[2] - want[3], "J v: %g %g", out[0], out[1]);
    CHECK(MatMultTranspose(B, along, to) == 0 && out[0] == want[0] - want[2]
          && out[1] == want[1] - want[3], "J' w: %g %g", out[0], out[1]);
    CHECK(adx_petsc_new(2, 1, &C) == 0
          && adx_petsc_ts_residual_by_p(NULL, 1, at, at_rate, c, C, s) == 0
          && entry(C, 0, 0) == 0 && entry(C, 1, 0) == 75, "dF/dp");
    MatDestroy(&A);
    MatDestroy(&B);
    MatDestroy(&C);
    VecDestroy(&at);
    VecDestroy(&at_rate);
    VecDestroy(&along);
    VecDestroy(&to);
    ad_system_free(s);
}

/* --- TS ------------------------------------------------------------------- */

static TS new_ts(ad_system *s, TSType type, double step, double end, Mat J,
                 Mat P)
{
    TS ts = NULL;
    TSCreate(PETSC_COMM_SELF, &ts);
    CHECK(ad_petsc_ts(ts, s, J, P) == 0, "joins");
    TSSetType(ts, type);
    TSSetTimeStep(ts, step);
    TSSetMaxTime(ts, end);
    TSSetMaxSteps(ts, 100000);
    TSSetExactFinalTime(ts, TS_EXACTFINALTIME_MATCHSTEP);
    return ts;
}

// An ODE, by a matrix or by products and a matrix; or a DAE; or the ODE as one.
static void test_robertson(char what, kind how)
{
    double start[3] = { 1, 0, 0 }, least[3] = { 1e-9, 1e-13, 1e-9 };
    Mat J = NULL, P = NULL;
    Vec y = vector_of(3, start), absolute = vector_of(3, least);
    ad_system *s = what == 'F' ? ad_system_dae(conserved, NULL, 3, 3)
                 : what == 'i' ? ad_system_implicit(kinetics, NULL, 3, 3)
                 : ad_system_ode(kinetics, NULL, 3, 3);
    memcpy(s->p, robertson_p, sizeof robertson_p);
    matrices_of(how, s, &J, &P);
    TS ts = new_ts(s, what == 'i' ? TSROSW : TSBDF, 1e-5, 0.4, J, P);
    TSSetTolerances(ts, 0, absolute, 1e-6, NULL);
    for (int k = 0; k < 2; k++) {
        TSSetMaxTime(ts, k == 0 ? 0.4 : 4);
        CHECK(TSSolve(ts, y) == 0, "a solution: %s",
              ad_message(ad_system_status(s)));
        for (int i = 0; i < 3; i++)         // five digits were printed
            CHECK_NEAR(start[i], published[k][0][i], 1e-3L);
    }
    MatDestroy(&J);
    MatDestroy(&P);
    TSDestroy(&ts);
    VecDestroy(&y);
    VecDestroy(&absolute);
    ad_system_free(s);
}

// y' = -2 p t y: y = exp(-p t^2). Methods with an explicit part take all of it.
static void fading(ad_rev t, const ad_rev *y, const ad_rev *p, ad_rev *rate,
                   void *ctx)
{
    (void)ctx;
    rate[0] = ad_rec(ad_mul(ad_mul(-2, p[0]), ad_mul(t, y[0])));
}

static void test_time(void)
{
    const TSType types[4] = { TSRK, TSBDF, TSARKIMEX, TSROSW };
    for (int k = 0; k < 8; k++) {
        double start = 1;
        Vec y = vector_of(1, &start);
        ad_system *s = k < 4 ? ad_system_ode(fading, NULL, 1, 1)
                             : ad_system_implicit(fading, NULL, 1, 1);
        s->p[0] = 0.75;
        TS ts = new_ts(s, k == 4 ? TSCN : types[k % 4], 1e-3, 1.5, NULL, NULL);
        TSSetTolerances(ts, 1e-9, NULL, 1e-9, NULL);
        CHECK(TSSolve(ts, y) == 0, "a solution, %d", k);
        CHECK_NEAR(start, expl(-0.75L * 2.25L), 1e-5L);     // of order 2 or more
        TSDestroy(&ts);
        VecDestroy(&y);
        ad_system_free(s);
    }
}

enum { STEPS = 40 };
static const ld step = 0.05L;

static void hares_ld(const ld *y, const ld *p, ld *rate)
{
    rate[0] = p[0] * y[0] - p[1] * y[0] * y[1];
    rate[1] = p[3] * y[0] * y[1] - p[2] * y[1];
}

// The classical method of Runge and Kutta; x: four rates and two numbers.
static void steps_ld(const ld *x, ld *sum, const void *ctx)
{
    ld y[2] = { x[4], x[5] }, k[4][2], at[2];
    (void)ctx;
    for (int i = 0; i < STEPS; i++) {
        hares_ld(y, x, k[0]);
        for (int stage = 1; stage < 4; stage++) {
            const ld h = stage == 3 ? step : step / 2;
            for (int j = 0; j < 2; j++)
                at[j] = y[j] + h * k[stage - 1][j];
            hares_ld(at, x, k[stage]);
        }
        for (int j = 0; j < 2; j++)
            y[j] += step / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
    }
    *sum = y[0] + 2 * y[1];
}

// The adjoint of an explicit method is exact for its steps.
static void test_adjoint(void)
{
    double x[6] = { 0.52, 0.027, 0.84, 0.026, 33, 6 }, got[6] = { 0 };
    ld want[6];
    ad_system *s = ad_system_ode(hares, NULL, 2, 4);
    memcpy(s->p, x, 4 * sizeof *x);
    Vec y = vector_of(2, x + 4);
    Vec mu = vector_of(4, got), lambda = vector_of(2, got + 4);
    difference_jacobian(steps_ld, NULL, 6, x, 1, want);
    TS ts = new_ts(s, TSRK, (double)step, STEPS * (double)step, NULL, NULL);
    TSRKSetType(ts, TSRK4);
    CHECK(ad_petsc_ts_parameters(ts, s) == 0, "parameters");
    TSSetSaveTrajectory(ts);
    CHECK(TSSolve(ts, y) == 0, "forwards");
    got[4] = 1;
    got[5] = 2;
    CHECK(TSSetCostGradients(ts, 1, &lambda, &mu) == 0
          && TSAdjointSolve(ts) == 0, "backwards");
    // 40 steps of some ten operations each; differences are right to 1e-13.
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(got[i], want[i], 1e-12L);
    TSDestroy(&ts);
    VecDestroy(&y);
    VecDestroy(&mu);
    VecDestroy(&lambda);
    ad_system_free(s);
}

// y' = p y as y' - p y = 0 in steps of the trapezoidal rule: y and dy/dp are
// known powers of (1 + hp/2) / (1 - hp/2).
static void decay(ad_rev t, const ad_rev *y, const ad_rev *rate,
                  const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)t;
    (void)ctx;
    r[0] = ad_rec(ad_sub(rate[0], ad_mul(p[0], y[0])));
}

static void test_adjoint_of_dae(void)
{
    const double p = -0.7, h = 0.125;
    const ld up = 1 + (ld)h * (ld)p / 2, down = 1 - (ld)h * (ld)p / 2;
    const ld power = powl(up / down, 8);
    double start = 3, by_y = 1, by_p = 0;
    ad_system *s = ad_system_dae(decay, NULL, 1, 1);
    s->p[0] = p;
    Vec y = vector_of(1, &start), mu = vector_of(1, &by_p);
    Vec lambda = vector_of(1, &by_y);
    TS ts = new_ts(s, TSCN, h, 1, NULL, NULL);
    SNES snes = NULL;
    TSGetSNES(ts, &snes);
    SNESSetTolerances(snes, 1e-12, 1e-12, 0, 50, 1000);
    CHECK(ad_petsc_ts_parameters(ts, s) == 0, "parameters");
    TSSetSaveTrajectory(ts);
    CHECK(TSSolve(ts, y) == 0, "forwards");
    CHECK_NEAR(start, 3 * power, 1e-14L);
    CHECK(TSSetCostGradients(ts, 1, &lambda, &mu) == 0
          && TSAdjointSolve(ts) == 0, "backwards");
    CHECK_NEAR(by_y, power, 1e-14L);
    CHECK_NEAR(by_p, 3 * 8 * power * (ld)h / (up * down), 1e-13L);
    TSDestroy(&ts);
    VecDestroy(&y);
    VecDestroy(&mu);
    VecDestroy(&lambda);
    ad_system_free(s);
}

static PetscErrorCode integrate(ad_system *s, TSType type, double *y,
                                double end, TSConvergedReason *reason,
                                ad_status *status)
{
    Vec at = vector_of(1, y);
    TS ts = new_ts(s, type, 0.01, end, NULL, NULL);
    TSSetMaxSNESFailures(ts, -1);
    TSSetTolerances(ts, 1e-9, NULL, 1e-9, NULL);
    const PetscErrorCode code = TSSolve(ts, at);
    TSGetConvergedReason(ts, reason);
    *status = ad_system_status(s);
    TSDestroy(&ts);
    VecDestroy(&at);
    ad_system_free(s);
    return code;
}

// The step in which PETSc forgets a vector.
static void beyond_explicitly(void)
{
    double y = 1;
    TSConvergedReason reason;
    ad_status status;
    const PetscErrorCode code = integrate(ad_system_ode(sinking, NULL, 1, 0),
                                          TSRK, &y, 2, &reason, &status);
    CHECK(code == PETSC_ERR_FP, "beyond, explicitly: %d", (int)code);
}

static void test_ts_failures(void)
{
    double y = 1;
    TSConvergedReason reason;
    ad_status status;
    PetscErrorCode code = integrate(ad_system_ode(sinking, NULL, 1, 0), TSBDF,
                                    &y, 0.6, &reason, &status);
    CHECK(code == 0 && reason > 0 && status == ADREV_OK,
          "before there is no value: %d, %d", (int)code, (int)reason);
    CHECK_NEAR(y, powl(0.1L, 2.0L / 3), 1e-5L);         // (1 - 3t/2)^(2/3)
    beyond_explicitly();
    y = 1;
    code = integrate(ad_system_ode(sinking, NULL, 1, 0), TSBDF, &y, 2, &reason,
                     &status);
    CHECK(code == PETSC_ERR_NOT_CONVERGED, "and implicitly: %d", (int)code);
    y = 3;
    code = integrate(ad_system_ode(frozen_rate, NULL, 1, 0), TSRK, &y, 1,
                     &reason, &status);
    CHECK(code == PETSC_ERR_LIB && status == ADREV_EFROZEN && y == 3,
          "stops: %d", (int)code);
}

/* --- TAO ------------------------------------------------------------------ */

typedef struct minimum {
    PetscErrorCode code;
    TaoConvergedReason reason;
    double value;
    PetscInt steps;
} minimum;

static minimum run_tao(Tao tao, size_t n, double start[])
{
    minimum f = { 0, TAO_CONTINUE_ITERATING, 0, 0 };
    Vec x = vector_of(n, start);
    TaoSetSolution(tao, x);
    TaoSetTolerances(tao, 1e-10, 0, 0);
    f.code = TaoSolve(tao);
    TaoGetSolutionStatus(tao, &f.steps, &f.value, NULL, NULL, NULL, &f.reason);
    TaoDestroy(&tao);
    VecDestroy(&x);
    return f;
}

static minimum minimise(ad_model *m, TaoType type, bool hessian, bool products,
                        double start[])
{
    Tao tao = NULL;
    Mat H = NULL;
    TaoCreate(PETSC_COMM_SELF, &tao);
    TaoSetType(tao, type);
    CHECK(ad_petsc_tao(tao, m) == 0, "joins");
    if (products)
        ad_petsc_hessian_products(m, &H);
    if (hessian)
        CHECK(ad_petsc_tao_hessian(tao, m, H, NULL) == 0, "a Hessian");
    const minimum f = run_tao(tao, m->n, start);
    MatDestroy(&H);
    return f;
}

static void test_tao(void)
{
    static const struct { TaoType type; bool hessian, products; } ways[] = {
        { TAOLMVM, false, false }, { TAOCG, false, false },
        { TAOBLMVM, false, false }, { TAONLS, true, false },
        { TAONTR, true, false }, { TAOBNLS, true, false },
        { TAONLS, true, true }
    };
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        double x[2] = { -1.2, 1 };
        ad_model *m = ad_model_scalar(rosenbrock, NULL, 2);
        minimum f = minimise(m, ways[k].type, ways[k].hessian,
                             ways[k].products, x);
        CHECK(f.code == 0 && f.reason > 0 && f.value < 1e-15
              && fabs(x[0] - 1) < 1e-7 && fabs(x[1] - 1) < 1e-7
              && f.steps < (ways[k].hessian ? 40 : 200),
              "Rosenbrock, %s: %d, %g after %d", ways[k].type, (int)f.reason,
              f.value, (int)f.steps);
        ad_model_free(m);

        ad_scalar_fn *const walls[2] = { wall, wall_external };
        for (int w = 0; w < 2; w++) {
            x[0] = 5, x[1] = 3;
            m = ad_model_scalar(walls[w], NULL, 2);
            f = minimise(m, ways[k].type, ways[k].hessian, ways[k].products, x);
            CHECK(f.code == 0 && f.reason > 0 && ad_model_status(m) == ADREV_OK
                  && fabs(f.value - wall_least) < 1e-10, "wall %d, %s: %d, %d, "
                  "f(%g, %g)", w, ways[k].type, (int)f.code, (int)f.reason,
                  x[0], x[1]);
            ad_model_free(m);
        }
    }
    double x[2] = { 5, 3 };
    ad_model *m = ad_model_scalar(two_paths, NULL, 2);
    minimum f = minimise(m, TAONLS, true, false, x);
    CHECK(f.code == 0 && f.value < 1e-12, "two paths: %g", f.value);
    ad_model_free(m);
}

// Against known second derivatives of Rosenbrock's function.
static void test_hessian(void)
{
    double x[2] = { -1.2, 1 }, v[2] = { 1, -2 }, out[2];
    const ld H[3] = { 1200 * 1.44L - 400 + 2, 480, 200 };
    bool valued = false;
    ad_model *m = ad_model_scalar(rosenbrock, NULL, 2);
    Tao tao = NULL;
    adx_petsc_tao *c = NULL;
    Mat A = NULL, B = NULL;
    Vec along = vector_of(2, v), to = vector_of(2, out);
    TaoCreate(PETSC_COMM_SELF, &tao);
    CHECK(adx_petsc_tao_new(tao, m, "H", &c) == 0, "a context");
    c->M.hessian = c->M.diagonal = true;
    c->M.lines = 2;
    CHECK(adx_petsc_new(2, 2, &A) == 0
          && ad_petsc_hessian_products(m, &B) == 0
          && adx_petsc_matrices(m, x, &c->M, 0, B, A, &valued) == 0 && valued,
          "a Hessian");
    CHECK_NEAR(entry(A, 0, 0), H[0], 1e-15L);
    CHECK_NEAR(entry(A, 0, 1), H[1], 1e-15L);
    CHECK_NEAR(entry(A, 1, 0), H[1], 1e-15L);
    CHECK_NEAR(entry(A, 1, 1), H[2], 1e-15L);
    CHECK(MatMult(B, along, to) == 0, "H v");
    CHECK_NEAR(out[0], H[0] - 2 * H[1], 1e-14L);
    CHECK_NEAR(out[1], H[1] - 2 * H[2], 1e-14L);
    MatDestroy(&A);
    MatDestroy(&B);
    VecDestroy(&along);
    VecDestroy(&to);
    TaoDestroy(&tao);
    ad_model_free(m);
}

// y = p0 exp(-p1 i), which is met exactly at (5, 0.3).
static void misfits(const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 6; i++)
        r[i] = ad_rec(ad_sub(ad_mul(p[0], ad_exp(ad_mul(ad_neg(p[1]), i))),
                             5 * exp(-0.3 * i)));
}

static void test_least_squares(void)
{
    const TaoType types[2] = { TAOBRGN, TAOPOUNDERS };
    for (int k = 0; k < 2; k++) {
        double x[2] = { 1, 1 };
        ad_model *m = ad_model_vector(misfits, NULL, 2, 6);
        Tao tao = NULL;
        TaoCreate(PETSC_COMM_SELF, &tao);
        TaoSetType(tao, types[k]);
        if (k == 0)
            TaoBRGNSetRegularizerWeight(tao, 0);
        CHECK(ad_petsc_tao_least_squares(tao, m) == 0, "joins");
        const minimum f = run_tao(tao, 2, x);
        CHECK(f.code == 0 && f.reason > 0 && fabs(x[0] - 5) < 1e-4
              && fabs(x[1] - 0.3) < 1e-4, "%s: %d, %d, %.9g %.9g", types[k],
              (int)f.code, (int)f.reason, x[0], x[1]);
        ad_model_free(m);
    }
}

static void test_tao_failures(void)
{
    double x[2] = { -3, 2 };
    ad_model *m = ad_model_scalar(wall, NULL, 2);
    minimum f = minimise(m, TAOLMVM, false, false, x);
    CHECK(f.code != 0 && ad_model_status(m) == ADREV_OK, "no value at first");
    x[0] = 4;
    f = minimise(m, TAOLMVM, false, false, x);
    CHECK(f.code == 0 && f.reason > 0, "and from another start");
    x[0] = -3;
    f = minimise(m, TAOLMVM, false, false, x);
    CHECK(f.code != 0, "the former solution is forgotten");
    ad_model_free(m);
    m = ad_model_scalar(frozen, NULL, 2);
    f = minimise(m, TAOLMVM, false, false, x);
    CHECK(f.code == PETSC_ERR_LIB && ad_model_status(m) == ADREV_EFROZEN,
          "stops: %d", (int)f.code);
    ad_model_free(m);
}

/* --- wrong calls ---------------------------------------------------------- */

static void test_wrong(void)
{
    double few[2] = { 1, 1 };
    int n = 3;
    SNES snes = NULL;
    TS ts = NULL;
    Tao tao = NULL;
    Mat A = NULL, square = NULL;
    Vec x = vector_of(2, few);
    SNESCreate(PETSC_COMM_SELF, &snes);
    TSCreate(PETSC_COMM_SELF, &ts);
    TaoCreate(PETSC_COMM_SELF, &tao);
    MatCreateSeqDense(PETSC_COMM_SELF, 2, 2, NULL, &square);
    ad_system *s = ad_system_equations(broyden, &n, 3, 0);
    ad_system *ode = ad_system_ode(sinking, NULL, 1, 0);
    ad_model *m = ad_model_vector(misfits, NULL, 2, 6);
    CHECK(ad_petsc_snes(snes, NULL, NULL, NULL) == PETSC_ERR_MEM
          && ad_petsc_ts(ts, NULL, NULL, NULL) == PETSC_ERR_MEM
          && ad_petsc_ts_parameters(ts, NULL) == PETSC_ERR_MEM
          && ad_petsc_tao(tao, NULL) == PETSC_ERR_MEM
          && ad_petsc_tao_hessian(tao, NULL, NULL, NULL) == PETSC_ERR_MEM
          && ad_petsc_tao_least_squares(tao, NULL) == PETSC_ERR_MEM
          && ad_petsc_products(NULL, &A) == PETSC_ERR_MEM
          && ad_petsc_hessian_products(NULL, &A) == PETSC_ERR_MEM
          && ad_petsc_jacobian(NULL, MAT_INITIAL_MATRIX, 0, x, NULL, 0, &A)
             == PETSC_ERR_MEM && A == NULL, "no system, no model");
    CHECK(ad_petsc_snes(NULL, s, NULL, NULL) == PETSC_ERR_ARG_NULL
          && ad_petsc_ts(NULL, ode, NULL, NULL) == PETSC_ERR_ARG_NULL
          && ad_petsc_tao_least_squares(NULL, m) == PETSC_ERR_ARG_NULL
          && ad_petsc_jacobian(s, MAT_INITIAL_MATRIX, 0, NULL, NULL, 0, &A)
             == PETSC_ERR_ARG_NULL, "no solver, no vector");
    CHECK(ad_petsc_snes(snes, ode, NULL, NULL) == PETSC_ERR_ARG_WRONG
          && ad_petsc_ts(ts, s, NULL, NULL) == PETSC_ERR_ARG_WRONG
          && ad_petsc_ts_parameters(ts, ode) == PETSC_ERR_ARG_WRONG,
          "a system of another kind");
    CHECK(ad_petsc_snes(snes, s, square, NULL) == PETSC_ERR_ARG_SIZ
          && ad_petsc_ts(ts, ode, NULL, square) == PETSC_ERR_ARG_SIZ
          && ad_petsc_tao(tao, m) == PETSC_ERR_ARG_SIZ
          && ad_petsc_tao_hessian(tao, m, NULL, NULL) == PETSC_ERR_ARG_SIZ,
          "wrong sizes");
    CHECK(ad_petsc_jacobian(s, MAT_INITIAL_MATRIX, 0, x, NULL, 0, &A)
          == PETSC_ERR_ARG_SIZ && A == NULL, "a vector of two for three");
    CHECK(ad_petsc_snes(snes, s, NULL, NULL) == 0
          && SNESSolve(snes, NULL, x) != 0, "a start of two for three");
    SNESDestroy(&snes);
    TSDestroy(&ts);
    TaoDestroy(&tao);
    MatDestroy(&square);
    VecDestroy(&x);
    ad_system_free(s);
    ad_system_free(ode);
    ad_model_free(m);
}

int main(int count, char **words)
{
    PetscInitialize(&count, &words, NULL, NULL);
    PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
    test_jacobian();
    test_shift();
    test_powell();
    test_broyden();
    test_snes_points();
    for (const char *what = "fFi"; *what != 0; what++) {
        test_robertson(*what, SPARSE);
        test_robertson(*what, BOTH);
    }
    test_time();
    test_adjoint();
    test_adjoint_of_dae();
    test_ts_failures();
    test_tao();
    test_hessian();
    test_least_squares();
    test_tao_failures();
    test_wrong();
    PetscPopErrorHandler();
    PetscFinalize();
    return check_done("petsc");
}
