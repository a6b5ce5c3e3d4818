// SPDX-License-Identifier: MIT-0
// packages: petsc mpi
/* How hot a chip gets, on any number of ranks.
 *
 *     petsc_dm_chip [picture.svg]         or  mpirun -n 4 petsc_dm_chip ...
 *     petsc_dm_chip time
 *
 * Silicon of 10 x 10 x 0.5 mm at 300 K; a cooler takes 20 kW/m^2 K from its
 * back. Two cores of 2.5 x 2.5 mm give 40 and 25 W. Hot silicon conducts less,
 * (T/300)^-1.3 of what it does at 300 K, so the cores are hotter than a linear
 * model says. Each rank has the cells of its part of the grid as elements; the
 * ghost points beside it, the matrix and its pattern are PETSc's.
 *
 * `time`: seconds of CPU of a solution, with residual and Jacobian by adrev, by
 * hand, and with PETSc's differences by colours, as its users do today.
 *
 * Shows    adrev_petsc_dm.h: SNES on a DM, elements with parameters
 * Prints   linear     hottest 398.7 K
 *          silicon    hottest 413.2 K
 *          success
 */

#define ADREV_IMPLEMENTATION
#include "adrev_assemble.h"
#include "adrev_petsc_dm.h"
#include "chart.h"

#include <petscdmda.h>
#include <time.h>

enum { SIDE = 80, NEAR = 5 };
typedef enum way { BY_ADREV, BY_HAND, BY_COLOURS, WAYS } way;

static const double room = 300;             // K; unknowns are degrees above
static const double across = 148 * 0.5e-3;  // W/K: what the sheet conducts
static const double h = 10e-3 / SIDE;       // of a cell
static const double cooler = 2e4;           // W/m^2 K
static const double watts[2] = { 40, 25 };
static double law;                          // power of T/300; 0: linear

// The core that a cell is in; -1: none.
static int core(PetscInt i, PetscInt j)
{
    const bool left = i >= SIDE / 8 && i < SIDE / 8 * 3;
    const bool right = i >= SIDE / 8 * 5 && i < SIDE / 8 * 7;
    const bool middle = j >= SIDE / 8 * 3 && j < SIDE / 8 * 5;
    return middle && left ? 0 : middle && right ? 1 : -1;
}

// Degrees that it would heat a cell by against what the sheet conducts.
static double heating(int which)
{
    return watts[which] * 16 / (SIDE * SIDE) / across;
}

/* --- by adrev ------------------------------------------------------------- */

// u: a cell and its neighbours, then how it is heated.
static void cell(const ad_rev *u, ad_rev *r, void *unused)
{
    ad_rev out = ad_rec(ad_sub(ad_mul(cooler * h * h / across, u[0]),
                               u[NEAR]));
    (void)unused;
    for (int k = 1; k < NEAR; k++) {
        ad_rev rise = ad_rec(ad_div(ad_add(u[0], u[k]), 2 * room));
        ad_rev conducts = ad_rec(ad_exp(ad_mul(law, ad_log1p(rise))));
        ad_acc(&out, ad_mul(conducts, ad_sub(u[0], u[k])));
    }
    r[0] = out;
}

// The cells of this rank. Beyond the edge a cell sees itself: nothing flows.
static ad_assembly *assemble(DM dm)
{
    static int32_t variable[SIDE * SIDE][NEAR];
    static int32_t heat[SIDE * SIDE], result[SIDE * SIDE];
    static const PetscInt right[] = { 0, -1, 1, 0, 0 };
    static const PetscInt up[] = { 0, 0, 0, -1, 1 };
    const double at[NEAR + 1] = { 1, 2, 3, 4, 5, 6 };
    const size_t by[NEAR] = { 0, 1, 2, 3, 4 };
    DMDALocalInfo d;
    ad_fn *all = NULL, *fn = NULL;
    ad_assembly *a = NULL;
    size_t n = 0;
    DMDAGetLocalInfo(dm, &d);
    for (PetscInt j = d.ys; j < d.ys + d.ym; j++)
        for (PetscInt i = d.xs; i < d.xs + d.xm; i++, n++) {
            for (int k = 0; k < NEAR; k++) {
                const PetscInt x = i + right[k], y = j + up[k];
                const bool in = x >= 0 && x < SIDE && y >= 0 && y < SIDE;
                variable[n][k] = (int32_t)(((in ? y : j) - d.gys) * d.gxm
                                           + (in ? x : i) - d.gxs);
            }
            result[n] = variable[n][0];
            heat[n] = core(i, j);
        }
    const size_t points = (size_t)(d.gxm * d.gym);
    if (ad_fn_record(&all, cell, NULL, NEAR + 1, at, 1) == ADREV_OK
        && ad_fn_select(&fn, all, NEAR, by, 1, NULL) == ADREV_OK) {
        const ad_elements kind = { fn, n, variable[0], heat, result };
        ad_ignore(ad_fn_assemble(&a, NULL, points, 2, points, 1, &kind));
    }
    ad_fn_free(all);
    ad_fn_free(fn);
    return a;
}

/* --- by hand --------------------------------------------------------------- */

// What flows from u to v, and its derivatives by both.
static double flow(double u, double v, double *by_u, double *by_v)
{
    const double rise = 1 + (u + v) / (2 * room);
    const double conducts = pow(rise, law);
    const double change = law * conducts / rise / (2 * room) * (u - v);
    *by_u = change + conducts;
    *by_v = change - conducts;
    return conducts * (u - v);
}

static PetscErrorCode residual(DMDALocalInfo *d, PetscScalar **u,
                               PetscScalar **r, void *unused)
{
    double by_u, by_v;
    (void)unused;
    for (PetscInt j = d->ys; j < d->ys + d->ym; j++)
        for (PetscInt i = d->xs; i < d->xs + d->xm; i++) {
            const double at = u[j][i];
            r[j][i] = cooler * h * h / across * at;
            if (core(i, j) >= 0)
                r[j][i] -= heating(core(i, j));
            r[j][i] += i > 0 ? flow(at, u[j][i - 1], &by_u, &by_v) : 0;
            r[j][i] += i < SIDE - 1 ? flow(at, u[j][i + 1], &by_u, &by_v) : 0;
            r[j][i] += j > 0 ? flow(at, u[j - 1][i], &by_u, &by_v) : 0;
            r[j][i] += j < SIDE - 1 ? flow(at, u[j + 1][i], &by_u, &by_v) : 0;
        }
    return 0;
}

static PetscErrorCode jacobian(DMDALocalInfo *d, PetscScalar **u, Mat J, Mat P,
                               void *unused)
{
    (void)J;
    (void)unused;
    for (PetscInt j = d->ys; j < d->ys + d->ym; j++)
        for (PetscInt i = d->xs; i < d->xs + d->xm; i++) {
            const MatStencil own = { .i = i, .j = j };
            const MatStencil near[4] = { { .i = i - 1, .j = j },
                                         { .i = i + 1, .j = j },
                                         { .i = i, .j = j - 1 },
                                         { .i = i, .j = j + 1 } };
            double sum = cooler * h * h / across;
            for (int k = 0; k < 4; k++) {
                const PetscInt x = near[k].i, y = near[k].j;
                double by_u, by_v;
                if (x < 0 || x >= SIDE || y < 0 || y >= SIDE)
                    continue;
                (void)flow(u[j][i], u[y][x], &by_u, &by_v);
                sum += by_u;
                PetscCall(MatSetValuesStencil(P, 1, &own, 1, &near[k], &by_v,
                                              INSERT_VALUES));
            }
            PetscCall(MatSetValuesStencil(P, 1, &own, 1, &own, &sum,
                                          INSERT_VALUES));
        }
    PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
    return MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY);
}

/* --- solutions ------------------------------------------------------------- */

typedef struct chip {
    DM dm;
    SNES snes;
    ad_assembly *assembly;
    ad_system *system;
} chip;

static PetscErrorCode begin(chip *c, way how)
{
    const DMBoundaryType none = DM_BOUNDARY_NONE;
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, none, none, DMDA_STENCIL_STAR, SIDE,
                           SIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL,
                           &c->dm));
    PetscCall(DMSetUp(c->dm));
    PetscCall(SNESCreate(PETSC_COMM_WORLD, &c->snes));
    if (how == BY_ADREV) {
        c->assembly = assemble(c->dm);
        c->system = ad_system_elements(c->assembly, false);
        PetscCheck(c->system != NULL, PETSC_COMM_SELF, PETSC_ERR_MEM, "memory");
        c->system->p[0] = heating(0), c->system->p[1] = heating(1);
        PetscCall(ad_petsc_dm_snes(c->dm, c->system));
    } else {
        PetscCall(DMDASNESSetFunctionLocal(c->dm, INSERT_VALUES,
            (PetscErrorCode (*)(DMDALocalInfo *, void *, void *, void *))
                (void (*)(void))residual, NULL));
        if (how == BY_HAND)
            PetscCall(DMDASNESSetJacobianLocal(c->dm,
                (PetscErrorCode (*)(DMDALocalInfo *, void *, Mat, Mat, void *))
                    (void (*)(void))jacobian, NULL));
    }
    PetscCall(SNESSetDM(c->snes, c->dm));       // without a Jacobian: colours
    PetscCall(SNESSetTolerances(c->snes, 0, 1e-10, 0, 50, 10000));
    return SNESSetFromOptions(c->snes);
}

static PetscErrorCode end(chip *c)
{
    PetscCall(SNESDestroy(&c->snes));
    PetscCall(DMDestroy(&c->dm));
    ad_system_free(c->system);
    ad_assembly_free(c->assembly);
    return 0;
}

// The hottest place, and on the first rank the temperatures of the row through
// the middle of both cores.
static PetscErrorCode look(const chip *c, double *hottest, double line[SIDE])
{
    Vec u, ordered, here;
    VecScatter scatter;
    const PetscScalar *v;
    PetscMPIInt rank;
    PetscCall(SNESGetSolution(c->snes, &u));
    PetscCall(VecMax(u, NULL, hottest));
    PetscCall(DMDACreateNaturalVector(c->dm, &ordered));
    PetscCall(DMDAGlobalToNaturalBegin(c->dm, u, INSERT_VALUES, ordered));
    PetscCall(DMDAGlobalToNaturalEnd(c->dm, u, INSERT_VALUES, ordered));
    PetscCall(VecScatterCreateToZero(ordered, &scatter, &here));
    PetscCall(VecScatterBegin(scatter, ordered, here, INSERT_VALUES,
                              SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, ordered, here, INSERT_VALUES,
                            SCATTER_FORWARD));
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    PetscCall(VecGetArrayRead(here, &v));
    for (int i = 0; i < SIDE && rank == 0; i++)
        line[i] = room + v[SIDE / 2 * SIDE + i];
    PetscCall(VecRestoreArrayRead(here, &v));
    PetscCall(VecScatterDestroy(&scatter));
    PetscCall(VecDestroy(&ordered));
    return VecDestroy(&here);
}

static bool draw(const char *path, double line[2][SIDE])
{
    static const char *const names[] = { "linear", "silicon" };
    static const char *const colours[] = { "#036", "#c33" };
    chart c = { .left = 0, .right = 10, .bottom = room, .top = 420 };
    double x[SIDE];
    for (int i = 0; i < SIDE; i++)
        x[i] = 10 * (i + 0.5) / SIDE;
    if (!chart_open(&c, path, "mm through both cores", "temperature (K)"))
        return false;
    for (int k = 0; k < 2; k++) {
        c.colour = colours[k];
        c.line = 1 + k;
        chart_curve(&c, SIDE, x, line[k], names[k]);
    }
    return chart_close(&c);
}

static PetscErrorCode solve(const char *path)
{
    static double line[2][SIDE];
    const double laws[2] = { 0, -1.3 };
    ad_status status = ADREV_OK;
    PetscMPIInt rank;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    for (int k = 0; k < 2 && status == ADREV_OK; k++) {
        chip c = { 0 };
        double hottest = 0;
        law = laws[k];
        PetscCall(begin(&c, BY_ADREV));
        PetscCall(SNESSolve(c.snes, NULL, NULL));
        PetscCall(look(&c, &hottest, line[k]));
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s    hottest %.1f K\n",
                              k == 0 ? "linear " : "silicon", room + hottest));
        status = ad_system_status(c.system);
        PetscCall(end(&c));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", ad_message(status)));
    PetscCheck(path == NULL || rank != 0 || draw(path, line), PETSC_COMM_SELF,
               PETSC_ERR_FILE_WRITE, "cannot write %s", path);
    return 0;
}

// Of this rank: a solution from 300 K, and a Jacobian at the end.
static PetscErrorCode measure(void)
{
    static const char *const names[] = { "by adrev", "by hand", "by colours" };
    law = -1.3;
    for (int how = 0; how < WAYS; how++) {
        chip c = { 0 };
        Vec u;
        Mat J, P;
        double hottest = 0, line[SIDE];
        PetscCall(begin(&c, (way)how));
        PetscCall(SNESSolve(c.snes, NULL, NULL));       // what is made once
        PetscCall(SNESGetSolution(c.snes, &u));
        PetscCall(VecZeroEntries(u));
        const clock_t start = clock();
        PetscCall(SNESSolve(c.snes, NULL, u));
        const clock_t solved = clock();
        PetscCall(SNESGetJacobian(c.snes, &J, &P, NULL, NULL));
        for (int i = 0; i < 20; i++)
            PetscCall(SNESComputeJacobian(c.snes, u, J, P));
        const clock_t done = clock();
        PetscCall(look(&c, &hottest, line));
        PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                              "%-10s  %7.1f ms, Jacobian %6.0f us, %.6f K\n",
                              names[how],
                              1e3 * (double)(solved - start) / CLOCKS_PER_SEC,
                              5e4 * (double)(done - solved) / CLOCKS_PER_SEC,
                              room + hottest));
        PetscCall(end(&c));
    }
    return 0;
}

int main(int count, char **words)
{
    const char *word = count > 1 && *words[1] != '-' ? words[1] : NULL;
    PetscCall(PetscInitialize(&count, &words, NULL, NULL));
    PetscCall(word != NULL && strcmp(word, "time") == 0 ? measure()
                                                        : solve(word));
    return PetscFinalize() != 0;
}
