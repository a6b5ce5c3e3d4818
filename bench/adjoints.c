// SPDX-License-Identifier: MIT-0
/* adjoints.c - gradients of an integrated ODE and DAE: adjoint problems against
 * forward sensitivities.                           sh bench/alone.sh adjoints
 *
 *     adjoints [-r rounds]
 *
 * Heat in a rod of 40 cells with 41 conductivities, of which the first 1, 4, 16
 * or 41 are asked for; G is the sum of squares at the end. CVODES integrates
 * the ODE; IDAS the same as a DAE, whose second half is algebraic (the flows
 * between cells). Both have band matrices, and derivatives by adrev from one
 * recording. Seconds of CPU of the solution alone; the gradient by forward
 * sensitivities and by the adjoint problem in times of that; and the second
 * over the first. The gradients must agree.                                  */

#define ADREV_IMPLEMENTATION
#include "adrev_sundials.h"
#include "report.h"

#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_band.h>

enum { CELLS = 40, FLOWS = CELLS + 1, ALL = CELLS + FLOWS };
enum { ALONE, FORWARD, ADJOINT, WAYS };

static const double tolerance = 1e-6, end = 0.2;
static SUNContext context;

static double cpu(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* --- the rod -------------------------------------------------------------- */

// Of which ctx points to the number that are asked for; the others are 1.
static ad_rev flow(int i, ad_rev left, ad_rev right, const ad_rev *p,
                   const void *ctx)
{
    const ad_rev one = { .v = 1 };
    const ad_rev c = i < *(const int *)ctx ? p[i] : one;
    return ad_rec(ad_mul(ad_mul(CELLS, c), ad_sub(left, right)));
}

// The temperature of cell i: 0 before the first, 0 behind the last.
static ad_rev cell(const ad_rev *u, int i, int apart)
{
    const ad_rev edge = { 0 };
    return i < 0 || i >= CELLS ? edge : u[i * apart];
}

static void rod(ad_rev t, const ad_rev *u, const ad_rev *p, ad_rev *rate,
                void *ctx)
{
    ad_rev in = flow(0, cell(u, -1, 1), u[0], p, ctx);
    (void)t;
    for (int i = 0; i < CELLS; i++) {
        ad_rev out = flow(i + 1, u[i], cell(u, i + 1, 1), p, ctx);
        rate[i] = ad_rec(ad_add(ad_mul(CELLS, ad_sub(in, out)),
                                ad_exp(ad_mul(0.5, u[i]))));
        in = out;
    }
}

// y = flow, temperature, flow, temperature, ..., flow.
static void rod_dae(ad_rev t, const ad_rev *y, const ad_rev *rate,
                    const ad_rev *p, ad_rev *r, void *ctx)
{
    const ad_rev *u = y + 1;
    (void)t;
    for (int i = 0; i < FLOWS; i++)
        r[2 * i] = ad_rec(ad_sub(y[2 * i], flow(i, cell(u, i - 1, 2),
                                                cell(u, i, 2), p, ctx)));
    for (int i = 1; i < ALL; i += 2)
        r[i] = ad_rec(ad_sub(ad_sub(rate[i],
                                    ad_mul(CELLS, ad_sub(y[i - 1], y[i + 1]))),
                             ad_exp(ad_mul(0.5, y[i]))));
}

static double warm(int i)
{
    return sin(3.14159265358979 * (i + 1) / (CELLS + 1));
}

/* --- the solvers ---------------------------------------------------------- */

typedef struct run {
    ad_system *s;
    int n, parameters;
    void *memory;
    N_Vector y, rate, a, a_rate, q, slope;
    N_Vector *along, *along_rate;
    SUNMatrix A, B;
    SUNLinearSolver solver, solver_b;
    int failed;                 // the first code below 0
} run;

static void then(run *r, int code)
{
    if (r->failed == 0 && code < 0)
        r->failed = code;
}

static void begin(run *r, ad_system *s, int parameters)
{
    r->s = s;
    r->n = (int)s->n;
    r->parameters = parameters;
    r->failed = 0;
    for (int k = 0; k < parameters; k++)
        s->p[k] = 1;
    r->y = N_VNew_Serial(r->n, context);
    r->q = N_VNew_Serial(parameters, context);
    N_Vector *const all[4] = { &r->rate, &r->a, &r->a_rate, &r->slope };
    for (int k = 0; k < 4; k++)
        *all[k] = N_VClone(r->y);
    r->along = N_VCloneVectorArray(parameters, r->y);
    r->along_rate = N_VCloneVectorArray(parameters, r->y);
    r->A = SUNBandMatrix(r->n, 2, 2, context);
    r->B = SUNBandMatrix(r->n, 2, 2, context);
    r->solver = SUNLinSol_Band(r->y, r->A, context);
    r->solver_b = SUNLinSol_Band(r->a, r->B, context);
}

static void finish(run *r)
{
    N_Vector const all[6] = { r->y, r->rate, r->a, r->a_rate, r->q, r->slope };
    for (int k = 0; k < 6; k++)
        N_VDestroy(all[k]);
    N_VDestroyVectorArray(r->along, r->parameters);
    N_VDestroyVectorArray(r->along_rate, r->parameters);
    SUNLinSolFree(r->solver);
    SUNLinSolFree(r->solver_b);
    SUNMatDestroy(r->A);
    SUNMatDestroy(r->B);
    ad_system_free(r->s);
}

// The temperatures are every number of y, or every second.
static int stride(const run *r)
{
    return r->n == CELLS ? 1 : 2;
}

static void set_start(run *r)
{
    const int apart = stride(r);
    double *y = NV_DATA_S(r->y), *rate = NV_DATA_S(r->rate);
    N_VConst(0, r->rate);
    N_VConst(0, r->a);
    N_VConst(0, r->q);
    for (int k = 0; k < r->parameters; k++) {
        N_VConst(0, r->along[k]);
        N_VConst(0, r->along_rate[k]);
    }
    for (int i = 0; i < CELLS; i++)
        y[apart == 1 ? i : 2 * i + 1] = warm(i);
    if (apart == 1)
        return;
    for (int i = 0; i < FLOWS; i++) {
        const double left = i > 0 ? warm(i - 1) : 0;
        const double right = i < CELLS ? warm(i) : 0;
        y[2 * i] = CELLS * (left - right);
        if (i < r->parameters)
            NV_DATA_S(r->along[i])[2 * i] = y[2 * i];
    }
    for (int i = 1; i < ALL; i += 2) {
        rate[i] = CELLS * (y[i - 1] - y[i + 1]) + exp(0.5 * y[i]);
        for (int k = 0; k < r->parameters; k++)
            NV_DATA_S(r->along_rate[k])[i]
                = CELLS * (NV_DATA_S(r->along[k])[i - 1]
                           - NV_DATA_S(r->along[k])[i + 1]);
    }
}

// dG/dy to r->slope.
static void set_slope(run *r)
{
    const int apart = stride(r);
    N_VConst(0, r->slope);
    for (int i = apart - 1; i < r->n; i += apart)
        NV_Ith_S(r->slope, i) = 2 * NV_Ith_S(r->y, i);
}

static void sum_sensitivities(run *r, double g[])
{
    for (int k = 0; k < r->parameters; k++)
        g[k] = N_VDotProd(r->slope, r->along[k]);
}

static void cvodes(run *r, int how, double g[])
{
    double t = 0;
    int which = 0, points = 0;
    void *m = r->memory = CVodeCreate(CV_BDF, context);
    then(r, ad_cvodes_init(m, r->s, 0, r->y));
    then(r, CVodeSStolerances(m, tolerance, tolerance));
    then(r, CVodeSetMaxNumSteps(m, 5000));
    then(r, ad_cvodes_linear_solver(m, r->solver, r->A));
    if (how == FORWARD)
        then(r, ad_cvodes_sensitivities(m, r->s, (size_t)r->parameters, NULL,
                                        CV_SIMULTANEOUS, r->along));
    if (how == ADJOINT)
        then(r, CVodeAdjInit(m, 100, CV_HERMITE));
    then(r, how == ADJOINT ? CVodeF(m, end, r->y, &t, CV_NORMAL, &points)
                           : CVode(m, end, r->y, &t, CV_NORMAL));
    set_slope(r);
    if (how == FORWARD) {
        then(r, CVodeGetSens(m, &t, r->along));
        sum_sensitivities(r, g);
    }
    if (how == ADJOINT) {
        N_VScale(1, r->slope, r->a);
        then(r, ad_cvodes_backward(m, r->s, &which, CV_BDF, end, r->a, r->q));
        then(r, CVodeSStolerancesB(m, which, tolerance, tolerance));
        then(r, CVodeSetMaxNumStepsB(m, which, 5000));
        then(r, ad_cvodes_linear_solver_b(m, which, r->solver_b, r->B));
        then(r, CVodeB(m, 0, CV_NORMAL));
        then(r, CVodeGetQuadB(m, which, &t, r->q));
        memcpy(g, NV_DATA_S(r->q), (size_t)r->parameters * sizeof *g);
    }
    CVodeFree(&r->memory);
}

static void idas(run *r, int how, double g[])
{
    double t = 0;
    int which = 0, points = 0;
    void *m = r->memory = IDACreate(context);
    then(r, ad_ida_init(m, r->s, 0, r->y, r->rate));
    then(r, IDASStolerances(m, tolerance, tolerance));
    then(r, IDASetMaxNumSteps(m, 5000));
    then(r, ad_ida_linear_solver(m, r->solver, r->A));
    if (how == FORWARD)
        then(r, ad_ida_sensitivities(m, r->s, (size_t)r->parameters, NULL,
                                     IDA_SIMULTANEOUS, r->along,
                                     r->along_rate));
    if (how == ADJOINT)
        then(r, IDAAdjInit(m, 100, IDA_HERMITE));
    then(r, how == ADJOINT
         ? IDASolveF(m, end, &t, r->y, r->rate, IDA_NORMAL, &points)
         : IDASolve(m, end, &t, r->y, r->rate, IDA_NORMAL));
    set_slope(r);
    if (how == FORWARD) {
        then(r, IDAGetSens(m, &t, r->along));
        sum_sensitivities(r, g);
    }
    if (how == ADJOINT) {
        then(r, ad_ida_backward_at(r->s, end, r->y, r->rate, r->slope,
                                   r->solver_b, r->B, r->a, r->a_rate, r->q));
        then(r, ad_ida_backward(m, r->s, &which, end, r->a, r->a_rate, r->q));
        then(r, IDASStolerancesB(m, which, tolerance, tolerance));
        then(r, IDASetMaxNumStepsB(m, which, 5000));
        then(r, ad_ida_linear_solver_b(m, which, r->solver_b, r->B));
        then(r, IDASolveB(m, 0, IDA_NORMAL));
        then(r, IDAGetQuadB(m, which, &t, r->q));
        memcpy(g, NV_DATA_S(r->q), (size_t)r->parameters * sizeof *g);
    }
    IDAFree(&r->memory);
}

/* --- the table ------------------------------------------------------------ */

static bool agree(int n, const double a[], const double b[])
{
    double largest = 0, apart = 0;
    for (int k = 0; k < n; k++) {
        largest = fmax(largest, fabs(a[k]));
        apart = fmax(apart, fabs(a[k] - b[k]));
    }
    return apart < 1e-3 * largest;
}

static bool measure(bool dae, int parameters, size_t rounds)
{
    double times[WAYS][REPORT_ROUNDS], g[WAYS][FLOWS];
    run r;
    begin(&r, dae ? ad_system_dae(rod_dae, &parameters, ALL,
                                  (size_t)parameters)
                  : ad_system_ode(rod, &parameters, CELLS, (size_t)parameters),
          parameters);
    for (size_t k = 0; k < rounds + 1; k++)         // the first warms up
        for (int how = 0; how < WAYS; how++) {
            set_start(&r);
            const double start = cpu();
            (dae ? idas : cvodes)(&r, how, g[how]);
            times[how][k == 0 ? 0 : k - 1] = cpu() - start;
        }
    const bool right = r.failed == 0 && agree(parameters, g[FORWARD],
                                              g[ADJOINT]);
    printf("%-7s %10d", dae ? "IDAS" : "CVODES", parameters);
    print_seconds(summarise(rounds, times[ALONE], NULL).median);
    printf("  %8.2f  %8.2f  %8.2f%s\n",
           summarise(rounds, times[FORWARD], times[ALONE]).median,
           summarise(rounds, times[ADJOINT], times[ALONE]).median,
           summarise(rounds, times[ADJOINT], times[FORWARD]).median,
           right ? "" : "  WRONG");
    if (!right)
        printf("%d: %.9g, %.9g\n", r.failed, g[FORWARD][0], g[ADJOINT][0]);
    finish(&r);
    return right;
}

int main(int argc, char **argv)
{
    static const int parameters[] = { 1, 4, 16, FLOWS };
    const size_t rounds = take_rounds(&argc, &argv, 7);
    bool right = true;
    SUNContext_Create(NULL, &context);
    print_machine(ADREV_VERSION);
    printf("gradients, in times of the solution alone\n%-7s %10s %11s  %8s  %8s"
           "  %8s\n", "solver", "parameters", "alone", "forward", "adjoint",
           "ratio");
    for (int dae = 0; dae < 2; dae++)
        for (int k = 0; k < 4; k++)
            right &= measure(dae == 1, parameters[k], rounds);
    SUNContext_Free(&context);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
