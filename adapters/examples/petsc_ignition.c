// SPDX-License-Identifier: MIT-0
// packages: petsc mpi
/* Solid fuel: how hot it gets, and when it explodes.
 *
 *     petsc_ignition [picture.svg]
 *
 * A square of fuel is held at temperature 0 along its edges. It reacts, the
 * faster the hotter it is (Frank-Kamenetskii; Bratu):
 *
 *     du/dt = u_xx + u_yy + rate exp(u)
 *
 * Up to a critical rate the heat flows off, and there are two steady states, of
 * which the colder one is stable; beyond it there is none. The curve of steady
 * states turns there, so SNES is given the temperature in the middle and asked
 * for the rate: this takes the place of that among the unknowns, and the
 * Jacobian has a full column. Then TS follows the heat from 0 on, below the
 * critical rate and above. The equations are written once; matrices, their
 * patterns and their memory are the adapter's and PETSc's.
 *
 * Shows    adrev_petsc.h: SNES with a parameter, TS with an implicit method
 * Prints   critical rate        6.807
 *          temperature there    1.393
 *          at rate 6.5          1.004
 *          at rate 7.5 explodes at t = 0.508
 *          at rate 10  explodes at t = 0.179
 *          success
 */

#define ADREV_IMPLEMENTATION
#include "adrev_petsc.h"
#include "chart.h"

enum { SIDE = 31, CELLS = SIDE * SIDE, MIDDLE = CELLS / 2 };
enum { STATES = 60, MOMENTS = 2000, RUNS = 3 };

static const double hottest = 6, hot = 10;      // of the curve; exploded

static const double rates[RUNS] = { 6.5, 7.5, 10 };

typedef struct history {
    int count;
    double t[MOMENTS], u[MOMENTS];  // in the middle
} history;

/* --- the model, over recorded numbers ------------------------------------- */

// h^2 times the flow of heat to each cell and what the reaction adds.
static void heat(const ad_rev *u, ad_rev rate, ad_rev *sum)
{
    const double h = 1.0 / (SIDE + 1);
    const ad_rev edge = { 0 };
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            const int k = i * SIDE + j;
            const ad_rev west = j > 0 ? u[k - 1] : edge;
            const ad_rev east = j < SIDE - 1 ? u[k + 1] : edge;
            const ad_rev south = i > 0 ? u[k - SIDE] : edge;
            const ad_rev north = i < SIDE - 1 ? u[k + SIDE] : edge;
            ad_rev made = ad_rec(ad_mul(ad_mul(h * h, rate), ad_exp(u[k])));
            ad_rev in = ad_rec(ad_add(ad_add(west, east), ad_add(south, north)));
            sum[k] = ad_rec(ad_add(ad_sub(in, ad_mul(4, u[k])), made));
        }
}

// y: temperatures, but in the middle the rate; p: the temperature there.
static void steady(const ad_rev *y, const ad_rev *p, ad_rev *r, void *unused)
{
    ad_rev u[CELLS];
    (void)unused;
    memcpy(u, y, sizeof u);
    u[MIDDLE] = p[0];
    heat(u, y[MIDDLE], r);
}

// p: the rate.
static void warming(ad_rev t, const ad_rev *u, const ad_rev *p, ad_rev *rate,
                    void *unused)
{
    const double h = 1.0 / (SIDE + 1);
    (void)t;
    (void)unused;
    heat(u, p[0], rate);
    for (int k = 0; k < CELLS; k++)
        rate[k] = ad_rec(ad_mul(1 / (h * h), rate[k]));
}

/* --- steady states -------------------------------------------------------- */

static PetscErrorCode find_states(ad_system *s, double u[], double rate[])
{
    SNES snes;
    KSP ksp;
    PC pc;
    Vec y;
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, CELLS, &y));
    PetscCall(SNESCreate(PETSC_COMM_SELF, &snes));
    PetscCall(ad_petsc_snes(snes, s, NULL, NULL));
    PetscCall(SNESGetKSP(snes, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCLU));
    PetscCall(SNESSetTolerances(snes, 1e-12, 1e-10, 1e-10, 50, 10000));
    PetscCall(SNESSetFromOptions(snes));
    for (int k = 0; k < STATES; k++) {          // each from the one before
        SNESConvergedReason reason;
        const PetscScalar *found;
        s->p[0] = u[k] = hottest * (k + 1) / STATES;
        PetscCall(SNESSolve(snes, NULL, y));
        PetscCall(SNESGetConvergedReason(snes, &reason));
        PetscCheck(reason > 0, PETSC_COMM_SELF, PETSC_ERR_NOT_CONVERGED,
                   "no steady state at %g: %s", u[k],
                   SNESConvergedReasons[reason]);
        PetscCall(VecGetArrayRead(y, &found));
        rate[k] = found[MIDDLE];
        PetscCall(VecRestoreArrayRead(y, &found));
    }
    PetscCall(SNESDestroy(&snes));
    return VecDestroy(&y);
}

// The largest rate, and where: of the parabola through the largest of the
// states and its neighbours.
static double critical(const double u[], const double rate[], double *where)
{
    int top = 1;
    for (int k = 1; k < STATES - 1; k++)
        top = rate[k] > rate[top] ? k : top;
    const double slope = (rate[top + 1] - rate[top - 1]) / 2;
    const double bend = rate[top + 1] - 2 * rate[top] + rate[top - 1];
    *where = u[top] - slope / bend * (u[top] - u[top - 1]);
    return rate[top] - slope * slope / (2 * bend);
}

/* --- in time -------------------------------------------------------------- */

// From 0 to t = 1.5, or until it is too hot.
static PetscErrorCode follow(ad_system *s, double rate, history *h)
{
    TS ts;
    Vec u;
    s->p[0] = rate;
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, CELLS, &u));
    PetscCall(TSCreate(PETSC_COMM_SELF, &ts));
    PetscCall(ad_petsc_ts(ts, s, NULL, NULL));
    PetscCall(TSSetType(ts, TSBDF));
    PetscCall(TSSetTimeStep(ts, 1e-4));
    PetscCall(TSSetTolerances(ts, 1e-5, NULL, 1e-5, NULL));
    PetscCall(TSSetMaxSteps(ts, MOMENTS));
    PetscCall(TSSetSolution(ts, u));
    PetscCall(TSSetFromOptions(ts));
    for (h->count = 0; h->count < MOMENTS; h->count++) {
        const PetscScalar *now;
        double *middle = &h->u[h->count];
        PetscCall(TSGetTime(ts, &h->t[h->count]));
        PetscCall(VecGetArrayRead(u, &now));
        *middle = now[MIDDLE];
        PetscCall(VecRestoreArrayRead(u, &now));
        if (*middle > hot || h->t[h->count] > 1.5)
            break;
        PetscCall(TSStep(ts));
    }
    PetscCall(TSDestroy(&ts));
    return VecDestroy(&u);
}

/* --- what was found ------------------------------------------------------- */

static bool draw(const char *path, const double u[], const double rate[],
                 const history h[])
{
    static const char *names[RUNS] = { "rate 6.5", "rate 7.5", "rate 10" };
    static const char *colours[RUNS] = { "#036", "#a60", "#c33" };
    chart c = { .left = 0, .right = 8, .top = hottest, .panels = 2 };
    chart d = { .below = &c, .left = 0, .right = 1.5, .top = hottest };
    if (!chart_open(&c, path, "rate", "temperature in the middle"))
        return false;
    chart_curve(&c, STATES, rate, u, "steady states");
    if (!chart_open(&d, NULL, "time", "temperature in the middle"))
        return false;
    for (int k = 0; k < RUNS; k++) {
        int shown = 0;
        while (shown < h[k].count && h[k].u[shown] < hottest)
            shown++;
        d.colour = colours[k];
        d.line = 1 + k;
        chart_curve(&d, shown, h[k].t, h[k].u, names[k]);
    }
    return chart_close(&d) && chart_close(&c);
}

static PetscErrorCode report(const char *path, ad_system *states,
                             ad_system *ode)
{
    static double u[STATES], rate[STATES];
    static history h[RUNS];
    double where = 0;
    PetscCall(find_states(states, u, rate));
    printf("critical rate        %.3f\n", critical(u, rate, &where));
    printf("temperature there    %.3f\n", where);
    for (int k = 0; k < RUNS; k++) {
        PetscCall(follow(ode, rates[k], &h[k]));
        const int last = h[k].count;
        if (h[k].u[last] > hot)
            printf("at rate %-3g explodes at t = %.3f\n", rates[k],
                   h[k].t[last]);
        else
            printf("at rate %-3g          %.3f\n", rates[k], h[k].u[last]);
    }
    printf("%s\n", ad_message(ad_system_status(ode)));
    PetscCheck(path == NULL || draw(path, u, rate, h), PETSC_COMM_SELF,
               PETSC_ERR_FILE_WRITE, "cannot write %s", path);
    return 0;
}

int main(int count, char **words)
{
    PetscCall(PetscInitialize(&count, &words, NULL, NULL));
    ad_system *states = ad_system_equations(steady, NULL, CELLS, 1);
    ad_system *ode = ad_system_ode(warming, NULL, CELLS, 1);
    const PetscErrorCode code = report(count > 1 ? words[1] : NULL, states, ode);
    ad_system_free(states);
    ad_system_free(ode);
    PetscCall(PetscFinalize());
    return code != 0;
}
