// SPDX-License-Identifier: MIT-0
// needs: cvodes/cvodes.h -lsundials_cvodes lbfgs.h -llbfgs
// libs: -lsundials_cvodes -lsundials_nvecserial -llbfgs
/* Hares and lynxes, 1900 to 1920: rates of an ODE fitted to counts, with the
 * gradient of one adjoint problem.
 *
 *     sundials_hares [picture.svg]
 *
 * The counts are pelts of the Hudson's Bay Company (examples/hares.txt). The
 * equations of Lotka and Volterra have four rates and two initial values; the
 * misfit is the sum of squares of log(model / count). CVODES integrates to 1920
 * and keeps checkpoints. Then the adjoint problem goes back from year to year,
 * and takes up the slopes of the misfit there: one such pass gives all six
 * derivatives, and would give six hundred at the same price. The equations are
 * written once. The picture shows counts and model, and below it the adjoint,
 * by which one hare, or one lynx, more in a moment changes the misfit at first.
 *
 * examples/23_hares.c fits the same model, by Runge and Kutta's steps and the
 * Jacobian of a tape, and finds the same numbers.
 *
 * Shows    adrev_sundials.h: Jacobians, an adjoint problem that stops
 * Prints   births of hares, for each   0.5402
 *          ... lost to each lynx       0.0272
 *          deaths of lynxes, of each   0.7964
 *          ... gained by each hare     0.0237
 *          hares at first             34.602
 *          lynxes at first             5.845
 *          success
 */

#define ADREV_IMPLEMENTATION
#include "adrev_sundials.h"
#include "chart.h"
#include "fail.h"
#include "minimise.h"

#include <errno.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>

enum { YEARS = 21, RATES = 4, UNKNOWNS = RATES + 2 };
enum { EACH = 20, MOMENTS = (YEARS - 1) * EACH + 1 };   // of the picture

static const double counts[YEARS][2] = {
    { 30.0, 4.0 }, { 47.2, 6.1 }, { 70.2, 9.8 }, { 77.4, 35.2 },
    { 36.3, 59.4 }, { 20.6, 41.7 }, { 18.1, 19.0 }, { 21.4, 13.0 },
    { 22.0, 8.3 }, { 25.4, 9.1 }, { 27.1, 7.4 }, { 40.3, 8.0 },
    { 57.0, 12.3 }, { 76.6, 19.5 }, { 52.3, 45.7 }, { 19.5, 51.1 },
    { 11.2, 29.7 }, { 7.6, 15.8 }, { 14.6, 9.7 }, { 16.2, 10.1 },
    { 24.7, 8.6 }
};

/* --- the model, over recorded numbers ------------------------------------- */

static void predators(ad_rev t, const ad_rev *y, const ad_rev *p, ad_rev *rate,
                      void *unused)
{
    ad_rev meet = ad_rec(ad_mul(y[0], y[1]));
    (void)t;
    (void)unused;
    rate[0] = ad_rec(ad_sub(ad_mul(p[0], y[0]), ad_mul(p[1], meet)));
    rate[1] = ad_rec(ad_sub(ad_mul(p[3], meet), ad_mul(p[2], y[1])));
}

/* --- solver's objects ----------------------------------------------------- */

typedef struct study {
    ad_system *system;
    SUNContext context;
    N_Vector y, a, q;               // numbers, adjoint, derivatives by rates
    SUNMatrix A, B;
    SUNLinearSolver solver, solver_b;
    void *cvodes;
    int which;
    double t[MOMENTS], model[2][MOMENTS], adjoint[2][MOMENTS];  // for a picture
} study;

static void begin(study *s)
{
    SUNContext_Create(NULL, &s->context);
    s->system = ad_system_ode(predators, NULL, 2, RATES);
    s->y = N_VNew_Serial(2, s->context);
    s->a = N_VNew_Serial(2, s->context);
    s->q = N_VNew_Serial(RATES, s->context);
    s->A = SUNDenseMatrix(2, 2, s->context);
    s->B = SUNDenseMatrix(2, 2, s->context);
    s->solver = SUNLinSol_Dense(s->y, s->A, s->context);
    s->solver_b = SUNLinSol_Dense(s->a, s->B, s->context);
}

static void end(study *s)
{
    SUNLinSolFree(s->solver);
    SUNLinSolFree(s->solver_b);
    SUNMatDestroy(s->A);
    SUNMatDestroy(s->B);
    N_VDestroy(s->y);
    N_VDestroy(s->a);
    N_VDestroy(s->q);
    SUNContext_Free(&s->context);
    ad_system_free(s->system);
}

// The first error of a row of calls stays.
static void then(int *code, int next)
{
    if (*code >= 0)
        *code = next;
}

/* --- misfit and gradient -------------------------------------------------- */

// Forwards; y[i]: the numbers of year i.
static int forwards(study *s, double y[][2])
{
    int points = 0, code = 0;
    double t = 0;
    s->cvodes = CVodeCreate(CV_ADAMS, s->context);
    then(&code, ad_cvodes_init(s->cvodes, s->system, 0, s->y));
    then(&code, CVodeSStolerances(s->cvodes, 1e-8, 1e-8));
    then(&code, CVodeSetMaxNumSteps(s->cvodes, 10000));
    CVodeSetErrFile(s->cvodes, NULL);
    then(&code, ad_cvodes_linear_solver(s->cvodes, s->solver, s->A));
    then(&code, CVodeAdjInit(s->cvodes, 100, CV_HERMITE));
    for (int k = 0; k < MOMENTS && code >= 0; k++) {
        s->t[k] = (double)k / EACH;
        if (k > 0)
            then(&code, CVodeF(s->cvodes, s->t[k], s->y, &t, CV_NORMAL,
                               &points));
        for (int i = 0; i < 2; i++)
            s->model[i][k] = NV_DATA_S(s->y)[i];
        if (k % EACH == 0)
            memcpy(y[k / EACH], NV_DATA_S(s->y), sizeof y[0]);
    }
    return code;
}

// Begins the adjoint problem at t, or goes on with it.
static int take_up(study *s, double t, bool first)
{
    int code = 0;
    if (!first) {
        then(&code, CVodeReInitB(s->cvodes, s->which, t, s->a));
        then(&code, CVodeQuadReInitB(s->cvodes, s->which, s->q));
        return code;
    }
    then(&code, ad_cvodes_backward(s->cvodes, s->system, &s->which, CV_ADAMS, t,
                                   s->a, s->q));
    then(&code, CVodeSStolerancesB(s->cvodes, s->which, 1e-8, 1e-8));
    then(&code, CVodeSetMaxNumStepsB(s->cvodes, s->which, 10000));
    then(&code, ad_cvodes_linear_solver_b(s->cvodes, s->which, s->solver_b,
                                          s->B));
    return code;
}

// Backwards: at each year the adjoint takes up the slope of the misfit there.
static int backwards(study *s, const double y[][2])
{
    int code = 0;
    double t = 0, *a = NV_DATA_S(s->a);
    N_VConst(0, s->a);
    N_VConst(0, s->q);
    for (int k = MOMENTS - 1; k >= 0 && code >= 0; k--) {
        const int year = k / EACH;
        if (k % EACH == 0) {
            for (int i = 0; i < 2; i++)
                a[i] += 2 * log(y[year][i] / counts[year][i]) / y[year][i];
            if (k > 0)
                then(&code, take_up(s, year, k == MOMENTS - 1));
        }
        for (int i = 0; i < 2; i++)
            s->adjoint[i][k] = a[i];
        if (k > 0) {
            then(&code, CVodeB(s->cvodes, s->t[k - 1], CV_NORMAL));
            then(&code, CVodeGetB(s->cvodes, s->which, &t, s->a));
            then(&code, CVodeGetQuadB(s->cvodes, s->which, &t, s->q));
        }
    }
    return code;
}

// x: logarithms of the rates and of the first numbers, so that all are
// positive.
static ad_status misfit(void *ctx, size_t n, const double x[], double *f,
                        double g[])
{
    study *s = ctx;
    double y[YEARS][2] = { { 0 } };
    for (size_t j = 0; j < n; j++)
        *(j < RATES ? &s->system->p[j] : &NV_DATA_S(s->y)[j - RATES])
            = exp(x[j]);
    int code = forwards(s, y);
    *f = 0;
    for (int i = 0; i < 2 * YEARS; i++) {
        const double off = log(y[i / 2][i % 2] / counts[i / 2][i % 2]);
        *f += off * off;
    }
    then(&code, backwards(s, (const double (*)[2])y));
    CVodeFree(&s->cvodes);
    for (size_t j = 0; j < n; j++)
        g[j] = exp(x[j]) * (j < RATES ? NV_DATA_S(s->q)[j]
                                      : NV_DATA_S(s->a)[j - RATES]);
    if (code < 0)
        *f = HUGE_VAL;          // the line search comes back
    return code < 0 && s->system->model->stopped ? ad_system_status(s->system)
                                                 : ADREV_OK;
}

/* --- the picture ---------------------------------------------------------- */

static bool draw(const char *path, const study *s)
{
    static double year[YEARS], seen[2][YEARS], t[MOMENTS];
    chart c = { .left = 1900, .right = 1920, .top = 100, .panels = 2 };
    chart d = { .below = &c, .left = 1900, .right = 1920 };
    for (int i = 0; i < YEARS; i++) {
        year[i] = 1900 + i;
        seen[0][i] = counts[i][0];
        seen[1][i] = counts[i][1];
    }
    for (int k = 0; k < MOMENTS; k++) {
        t[k] = 1900 + s->t[k];
        for (int i = 0; i < 2; i++) {
            d.top = fmax(d.top, s->adjoint[i][k]);
            d.bottom = fmin(d.bottom, s->adjoint[i][k]);
        }
    }
    if (!chart_open(&c, path, "year", "thousands of pelts"))
        return false;
    for (int i = 0; i < 2; i++) {
        c.colour = i == 0 ? "#c33" : "#036";
        c.line = 1 + i;
        chart_points(&c, YEARS, year, seen[i], "");
        chart_curve(&c, MOMENTS, t, s->model[i], i == 0 ? "hares" : "lynxes");
    }
    if (!chart_open(&d, NULL, "year", "adjoint: misfit per thousand"))
        return false;
    for (int i = 0; i < 2; i++) {
        d.colour = i == 0 ? "#c33" : "#036";
        d.line = 1 + i;
        chart_curve(&d, MOMENTS, t, s->adjoint[i], i == 0 ? "hares" : "lynxes");
    }
    return chart_close(&d) && chart_close(&c);
}

int main(int count, char **words)
{
    static const char *names[UNKNOWNS] = {
        "births of hares, for each", "... lost to each lynx",
        "deaths of lynxes, of each", "... gained by each hare",
        "hares at first", "lynxes at first"
    };
    static study s;
    double x[UNKNOWNS], g[UNKNOWNS], f = 0;
    const double start[UNKNOWNS] = { 0.5, 0.025, 0.8, 0.025, 30, 4 };
    begin(&s);
    if (s.system == NULL)
        fail(4, "sundials_hares: out of memory");
    for (int j = 0; j < UNKNOWNS; j++)
        x[j] = log(start[j]);
    minimum found = minimise_by(misfit, &s, UNKNOWNS, x);
    if (found.status == ADREV_OK)
        found.status = misfit(&s, UNKNOWNS, x, &f, g);  // for the picture
    for (int j = 0; j < UNKNOWNS; j++)
        printf("%-25s %8.*f\n", names[j], j < RATES ? 4 : 3, exp(x[j]));
    printf("%s\n", found.good ? ad_message(found.status) : "no minimum");
    if (count > 1 && !draw(words[1], &s))
        fail(5, "sundials_hares: cannot write %s: %s", words[1],
             strerror(errno));
    end(&s);
}
