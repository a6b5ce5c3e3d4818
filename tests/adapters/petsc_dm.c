// SPDX-License-Identifier: MIT-0
// tags: part
/* petsc_dm.c - adrev_petsc_dm.h on any number of ranks: see petsc_dm.sh.
 *
 * Reaction in a square, by cells that look at their neighbours; a chain of
 * springs, by springs that add to both ends; heat in a rod, as an ODE and as a
 * DAE; the energy of a rope, by TAO. Residuals, Jacobians, Hessians and
 * solutions against the same written by hand, or against closed forms. Products
 * against matrices. Failures of one rank end the call on all.                */

#define ADREV_IMPLEMENTATION
#include "adrev_assemble.h"
#include "adrev_petsc_dm.h"

#include "check.h"

#include <petscdmda.h>

static int rank, ranks;

// What this rank has of a DMDA of one or two dimensions.
static DMDALocalInfo info_of(DM dm)
{
    DMDALocalInfo d;
    DMDAGetLocalInfo(dm, &d);
    return d;
}

static DM grid(PetscInt columns, PetscInt rows)
{
    DM dm = NULL;
    const DMBoundaryType none = DM_BOUNDARY_NONE;
    if (rows == 1)
        DMDACreate1d(PETSC_COMM_WORLD, none, columns, 1, 1, NULL, &dm);
    else
        DMDACreate2d(PETSC_COMM_WORLD, none, none, DMDA_STENCIL_STAR, columns,
                     rows, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &dm);
    DMSetUp(dm);
    return dm;
}

// The number of a point in a local vector; -1: there is none.
static int32_t at(const DMDALocalInfo *d, PetscInt i, PetscInt j)
{
    return i < 0 || i >= d->mx || j < 0 || j >= d->my ? -1
         : (int32_t)((j - d->gys) * d->gxm + i - d->gxs);
}

static size_t all_points(const DMDALocalInfo *d)
{
    return (size_t)(d->gxm * d->gym);
}

/* --- reaction: 4 u - its neighbours = 0.05 exp(u) -------------------------- */

enum { MOST = 200 };

static const double heating = 0.05;

static void cell(const ad_rev *x, ad_rev *r, void *unused)
{
    (void)unused;
    r[0] = ad_rec(ad_sub(ad_sub(ad_mul(4, x[0]),
                                ad_add(ad_add(x[1], x[2]),
                                       ad_add(x[3], x[4]))),
                         ad_mul(heating, ad_exp(x[0]))));
}

static void heat_cell(const ad_rev *x, ad_rev *r, void *unused)
{
    (void)unused;
    r[0] = ad_rec(ad_add(ad_sub(x[1], ad_mul(2, x[0])), x[2]));
}

// One element a cell that this rank owns, of the cell and its neighbours.
static ad_assembly *cells(DM dm, ad_vector_fn *f, size_t each)
{
    static int32_t variable[MOST * 5], result[MOST];
    const DMDALocalInfo d = info_of(dm);
    const double x[5] = { 0 };
    size_t n = 0;
    for (PetscInt j = d.ys; j < d.ys + d.ym; j++)
        for (PetscInt i = d.xs; i < d.xs + d.xm; i++) {
            const int32_t near[5] = { at(&d, i, j), at(&d, i - 1, j),
                                      at(&d, i + 1, j), at(&d, i, j - 1),
                                      at(&d, i, j + 1) };
            memcpy(variable + n * each, near, each * sizeof *near);
            result[n++] = near[0];
        }
    ad_fn *fn = NULL;
    ad_assembly *a = NULL;
    CHECK(ad_fn_record(&fn, f, NULL, each, x, 1) == ADREV_OK, "recorded");
    const ad_elements kind = { fn, n, variable, NULL, result };
    CHECK(ad_fn_assemble(&a, NULL, all_points(&d), 0, all_points(&d), 1, &kind)
              == ADREV_OK, "assembled");
    ad_fn_free(fn);
    return a;
}

// The same by hand, at u.
static void check_reaction(DM dm, Vec u, Mat J, Vec r)
{
    const DMDALocalInfo d = info_of(dm);
    PetscScalar **v, **got;
    Vec local;
    Mat want;
    PetscReal norm = 1;
    DMCreateMatrix(dm, &want);
    DMGetLocalVector(dm, &local);
    DMGlobalToLocal(dm, u, INSERT_VALUES, local);
    DMDAVecGetArrayRead(dm, local, (void *)&v);
    DMDAVecGetArrayRead(dm, r, (void *)&got);
    for (PetscInt j = d.ys; j < d.ys + d.ym; j++)
        for (PetscInt i = d.xs; i < d.xs + d.xm; i++) {
            const PetscInt near[4][2] = { { i - 1, j }, { i + 1, j },
                                          { i, j - 1 }, { i, j + 1 } };
            MatStencil row = { .i = i, .j = j }, column[5] = { row };
            double value[5] = { 4 - heating * exp(v[j][i]) };
            double sum = 4 * v[j][i] - heating * exp(v[j][i]);
            PetscInt n = 1;
            for (int k = 0; k < 4; k++)
                if (at(&d, near[k][0], near[k][1]) >= 0) {
                    column[n].i = near[k][0];
                    column[n].j = near[k][1];
                    value[n++] = -1;
                    sum -= v[near[k][1]][near[k][0]];
                }
            MatSetValuesStencil(want, 1, &row, n, column, value, INSERT_VALUES);
            CHECK(fabs(got[j][i] - sum) < 1e-14, "residual: %g, not %g",
                  got[j][i], sum);
        }
    MatAssemblyBegin(want, MAT_FINAL_ASSEMBLY);
    MatAssemblyEnd(want, MAT_FINAL_ASSEMBLY);
    MatAXPY(want, -1, J, SAME_NONZERO_PATTERN);
    MatNorm(want, NORM_FROBENIUS, &norm);
    CHECK(norm < 1e-13, "Jacobian: off by %g", norm);
    DMDAVecRestoreArrayRead(dm, r, (void *)&got);
    DMDAVecRestoreArrayRead(dm, local, (void *)&v);
    DMRestoreLocalVector(dm, &local);
    MatDestroy(&want);
}

static SNES solver_of(DM dm)
{
    SNES snes = NULL;
    KSP ksp = NULL;
    SNESCreate(PETSC_COMM_WORLD, &snes);
    SNESSetDM(snes, dm);
    SNESGetKSP(snes, &ksp);
    KSPSetTolerances(ksp, 1e-12, 1e-50, 1e5, 1000);
    SNESSetTolerances(snes, 1e-12, 1e-12, 1e-12, 50, 1000);
    return snes;
}

// Solves from zero. *u is the solver's; *r, its residual, is freed by the
// caller.
static void solve(SNES snes, Vec *u, Vec *r)
{
    SNESConvergedReason reason = SNES_CONVERGED_ITERATING;
    PetscReal norm = 1;
    CHECK(SNESSolve(snes, NULL, NULL) == 0, "solved");
    SNESGetConvergedReason(snes, &reason);
    SNESGetSolution(snes, u);
    VecDuplicate(*u, r);
    SNESComputeFunction(snes, *u, *r);
    VecNorm(*r, NORM_2, &norm);
    CHECK(reason > 0 && norm < 1e-11, "%d, %g", (int)reason, norm);
}

static void test_reaction(void)
{
    DM dm = grid(9, 7);
    ad_assembly *a = cells(dm, cell, 5);
    ad_system *s = ad_system_elements(a, false);
    CHECK(ad_petsc_dm_snes(dm, s) == 0, "joins");
    SNES snes = solver_of(dm);
    Mat J = NULL;
    Vec u = NULL, r = NULL;
    solve(snes, &u, &r);
    SNESGetJacobian(snes, &J, NULL, NULL, NULL);
    CHECK(SNESComputeJacobian(snes, u, J, J) == 0, "Jacobian");
    check_reaction(dm, u, J, r);
    CHECK(ad_system_status(s) == ADREV_OK, "status");
    VecDestroy(&r);
    SNESDestroy(&snes);
    DMDestroy(&dm);
    ad_system_free(s);
    ad_assembly_free(a);
}

/* --- a chain of springs that become stiffer --------------------------------- */

enum { LINKS = 12 };                // between 13 points; the first is held

static void spring(const ad_rev *x, ad_rev *force, void *unused)
{
    (void)unused;
    ad_rev d = ad_rec(ad_sub(x[1], x[0]));
    force[1] = ad_rec(ad_add(d, ad_powi(d, 3)));
    force[0] = ad_rec(ad_neg(force[1]));
}

// Held by a spring; or pulled at.
static void end(const ad_rev *x, ad_rev *force, void *pull)
{
    const double p = *(const double *)pull;
    force[0] = p > 0 ? ad_rec(ad_add(ad_mul(0, x[0]), -p)) : x[0];
}

// Each spring is of the rank that owns its left point. Pulled at by p, all of
// them have the length that solves d + d^3 = p.
static void test_springs(void)
{
    static int32_t link[LINKS][2];
    DM dm = grid(LINKS + 1, 1);
    const DMDALocalInfo d = info_of(dm);
    const double x[2] = { 0, 1 }, held = 0, pull = 10;
    const int32_t first = at(&d, 0, 0), last = at(&d, LINKS, 0);
    ad_fn *fn[3] = { NULL, NULL, NULL };
    ad_assembly *a = NULL;
    size_t n = 0;
    for (PetscInt i = d.xs; i < d.xs + d.xm; i++)
        if (i < LINKS) {
            link[n][0] = at(&d, i, 0);
            link[n++][1] = at(&d, i + 1, 0);
        }
    CHECK(ad_fn_record(&fn[0], spring, NULL, 2, x, 2) == ADREV_OK
              && ad_fn_record(&fn[1], end, (void *)(uintptr_t)&held, 1, x, 1)
                 == ADREV_OK
              && ad_fn_record(&fn[2], end, (void *)(uintptr_t)&pull, 1, x, 1)
                 == ADREV_OK, "recorded");
    const ad_elements kind[3] = {
        { fn[0], n, link[0], NULL, link[0] },
        { fn[1], d.xs == 0, &first, NULL, &first },
        { fn[2], d.xs + d.xm == d.mx, &last, NULL, &last }
    };
    CHECK(ad_fn_assemble(&a, NULL, all_points(&d), 0, all_points(&d), 3, kind)
              == ADREV_OK, "assembled");
    ad_system *s = ad_system_elements(a, false);
    SNES snes = solver_of(dm);
    Vec u = NULL;
    const PetscScalar *v;
    CHECK(ad_petsc_dm_snes(dm, s) == 0 && SNESSolve(snes, NULL, NULL) == 0,
          "solved");
    SNESGetSolution(snes, &u);
    VecGetArrayRead(u, &v);
    for (PetscInt i = 0; i < d.xm; i++)
        CHECK(fabs(v[i] - (10 + 2.0 * (double)(d.xs + i))) < 1e-9,
              "point %d: %.12g", (int)(d.xs + i), v[i]);
    VecRestoreArrayRead(u, &v);
    SNESDestroy(&snes);
    DMDestroy(&dm);
    ad_system_free(s);
    ad_assembly_free(a);
    for (int i = 0; i < 3; i++)
        ad_fn_free(fn[i]);
}

/* --- heat: a sine decays ---------------------------------------------------- */

enum { POINTS = 15, STEPS = 8 };

// Local numbers: all of them, the first that this rank owns, and how many.
typedef struct part {
    int n, first, own;
} part;

static void rod(ad_rev t, const ad_rev *u, const ad_rev *rate, const ad_rev *p,
                ad_rev *r, void *ctx)
{
    const part *k = ctx;
    const ad_rev zero = { 0 };
    (void)t;
    (void)p;
    for (int i = 0; i < k->n; i++)
        r[i] = zero;
    for (int i = k->first; i < k->first + k->own; i++) {
        const ad_rev west = i > 0 ? u[i - 1] : zero;
        const ad_rev east = i < k->n - 1 ? u[i + 1] : zero;
        r[i] = ad_rec(ad_sub(rate[i], ad_add(ad_sub(west, ad_mul(2, u[i])),
                                             east)));
    }
}

// By Crank and Nicolson's rule each step multiplies it by the same factor.
static void test_heat(bool dae)
{
    DM dm = grid(POINTS, 1);
    const DMDALocalInfo d = info_of(dm);
    const double pi = 3.14159265358979323846, h = 0.1;
    const double decay = 2 * cos(pi / (POINTS + 1)) - 2;
    const double factor = (1 + h / 2 * decay) / (1 - h / 2 * decay);
    part own = { (int)d.gxm, (int)(d.xs - d.gxs), (int)d.xm };
    ad_assembly *a = dae ? NULL : cells(dm, heat_cell, 3);
    ad_system *s = dae ? ad_system_dae(rod, &own, (size_t)d.gxm, 0)
                       : ad_system_elements(a, true);
    TS ts = NULL;
    Vec u = NULL;
    PetscScalar *v;
    KSP ksp = NULL;
    SNES snes = NULL;
    CHECK(ad_petsc_dm_ts(dm, s) == 0, "joins");
    TSCreate(PETSC_COMM_WORLD, &ts);
    TSSetDM(ts, dm);
    TSSetType(ts, TSCN);
    TSSetTimeStep(ts, h);
    TSSetMaxSteps(ts, STEPS);
    TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER);
    TSSetMaxTime(ts, 100);
    TSGetSNES(ts, &snes);
    SNESGetKSP(snes, &ksp);
    KSPSetTolerances(ksp, 1e-13, 1e-50, 1e5, 1000);
    SNESSetTolerances(snes, 1e-14, 1e-13, 1e-13, 50, 1000);
    DMCreateGlobalVector(dm, &u);
    VecGetArray(u, &v);
    for (PetscInt i = 0; i < d.xm; i++)
        v[i] = sin(pi * (double)(d.xs + i + 1) / (POINTS + 1));
    VecRestoreArray(u, &v);
    CHECK(TSSolve(ts, u) == 0, "integrated: %s",
          ad_message(ad_system_status(s)));
    VecGetArray(u, &v);
    for (PetscInt i = 0; i < d.xm; i++)
        CHECK(fabs(v[i] - pow(factor, STEPS)
                          * sin(pi * (double)(d.xs + i + 1) / (POINTS + 1)))
                  < 1e-11, "heat, %d: %.15g", dae, v[i]);
    VecRestoreArray(u, &v);
    VecDestroy(&u);
    TSDestroy(&ts);
    DMDestroy(&dm);
    ad_system_free(s);
    ad_assembly_free(a);
}

/* --- failures --------------------------------------------------------------- */

// The last rank reads a number that changes: its recording is of no use.
static void drifting(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    static double changing;
    const part *k = ctx;
    (void)p;
    changing += rank == ranks - 1;
    for (int i = 0; i < k->n; i++)
        r[i] = ad_rec(ad_mul(ad_sub(y[i], 1), 1 + changing));
}

static void test_failures(void)
{
    DM dm = grid(POINTS, 1);
    const DMDALocalInfo d = info_of(dm);
    const bool last = rank == ranks - 1;
    part own = { (int)d.gxm, 0, 0 };
    part more = { (int)d.gxm + last, 0, 0 };
    ad_system *s = ad_system_equations(drifting, &own, (size_t)own.n, 0);
    ad_system *wide = ad_system_equations(drifting, &more, (size_t)more.n, 0);
    ad_system *dae = ad_system_dae(rod, &own, (size_t)own.n, 0);
    PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
    CHECK(ad_petsc_dm_snes(dm, last ? NULL : s)
              == (last ? PETSC_ERR_MEM : PETSC_ERR_LIB), "none on one rank");
    CHECK(ad_petsc_dm_snes(NULL, s) == PETSC_ERR_ARG_NULL, "no DM");
    CHECK(ad_petsc_dm_snes(dm, dae) == PETSC_ERR_ARG_WRONG
              && ad_petsc_dm_ts(dm, s) == PETSC_ERR_ARG_WRONG, "another kind");
    SNES snes = solver_of(dm);
    CHECK(ad_petsc_dm_snes(dm, wide) == 0, "joins");
    CHECK(SNESSolve(snes, NULL, NULL) == (last ? PETSC_ERR_ARG_SIZ
                                               : PETSC_ERR_LIB), "too wide");
    SNESDestroy(&snes);
    snes = solver_of(dm);
    CHECK(ad_petsc_dm_snes(dm, s) == 0, "joins");
    CHECK(SNESSolve(snes, NULL, NULL) == PETSC_ERR_LIB, "stops everywhere");
    CHECK((ad_system_status(s) == ADREV_OK) == !last, "rank %d: %s", rank,
          ad_message(ad_system_status(s)));
    PetscPopErrorHandler();
    SNESDestroy(&snes);
    DMDestroy(&dm);
    ad_system_free(s);
    ad_system_free(wide);
    ad_system_free(dae);
}

/* --- products --------------------------------------------------------------- */

// A force on one end only: neither J nor its part of a rank is symmetric.
static void lever(const ad_rev *x, ad_rev *force, void *unused)
{
    (void)unused;
    force[0] = ad_rec(ad_mul(ad_sqr(x[0]), x[1]));
    force[1] = ad_rec(ad_mul(0.5, x[1]));
}

// Of the points of a rod: from each to the next, by the rank that owns it.
// Where there are points beyond the ends, also from and to these.
static ad_assembly *links_of(DM dm, ad_vector_fn *f, size_t results)
{
    static int32_t link[LINKS + 2][2], first[LINKS + 2];
    const DMDALocalInfo d = info_of(dm);
    const double x[2] = { 0, 1 };
    ad_fn *fn = NULL;
    ad_assembly *a = NULL;
    size_t n = 0;
    for (PetscInt i = d.gxs < 0 ? -1 : d.xs;
         i < d.xs + d.xm && i + 1 < d.gxs + d.gxm; i++) {
        link[n][0] = (int32_t)(i - d.gxs);
        link[n++][1] = (int32_t)(i + 1 - d.gxs);
    }
    CHECK(ad_fn_record(&fn, f, NULL, 2, x, results) == ADREV_OK, "recorded");
    const ad_elements kind
        = { fn, n, link[0], NULL, results == 2 ? link[0] : first };
    CHECK(ad_fn_assemble(&a, NULL, all_points(&d), 0,
                         results == 2 ? all_points(&d) : 1, 1, &kind)
              == ADREV_OK, "assembled");
    ad_fn_free(fn);
    return a;
}

static void fill(Vec v, double by)
{
    PetscScalar *to;
    PetscInt low, high;
    VecGetOwnershipRange(v, &low, &high);
    VecGetArray(v, &to);
    for (PetscInt i = low; i < high; i++)
        to[i - low] = sin(by * (double)(i + 1));
    VecRestoreArray(v, &to);
}

// Whether a shell multiplies like the matrix; A' too.
static void check_products(Mat shell, Mat A, Vec v, const char *what)
{
    Vec got, want;
    PetscReal off = 1, norm = 0;
    VecDuplicate(v, &got);
    VecDuplicate(v, &want);
    fill(v, 1.7);
    for (int back = 0; back < 2; back++) {
        const PetscErrorCode code = back ? MatMultTranspose(shell, v, got)
                                         : MatMult(shell, v, got);
        if (back)
            MatMultTranspose(A, v, want);
        else
            MatMult(A, v, want);
        VecNorm(want, NORM_2, &norm);
        VecAXPY(got, -1, want);
        VecNorm(got, NORM_2, &off);
        CHECK(code == 0 && norm > 0.1 && off < 1e-13 * norm,
              "%s, back %d: %d, off by %g", what, back, (int)code, off);
    }
    VecDestroy(&got);
    VecDestroy(&want);
}

// What local vectors that the DM keeps have, it does not say.
static void spoil_local_vectors(DM dm)
{
    enum { KEPT = 4 };
    Vec v[KEPT];
    for (int i = 0; i < KEPT; i++) {
        DMGetLocalVector(dm, &v[i]);
        VecSet(v[i], 7);
    }
    for (int i = 0; i < KEPT; i++)
        DMRestoreLocalVector(dm, &v[i]);
}

// Points beyond the ends that no rank owns have no columns, and count as 0.
static void test_products(DMBoundaryType ends)
{
    DM dm = NULL;
    DMDACreate1d(PETSC_COMM_WORLD, ends, LINKS + 1, 1, 1, NULL, &dm);
    DMSetUp(dm);
    ad_assembly *a = links_of(dm, lever, 2);
    ad_system *s = ad_system_elements(a, false);
    SNES snes = solver_of(dm);
    Mat shell = NULL, A = NULL;
    Vec y, v;
    DMCreateGlobalVector(dm, &y);
    VecDuplicate(y, &v);
    DMCreateMatrix(dm, &A);
    fill(y, 0.4);
    CHECK(ad_petsc_dm_snes(dm, s) == 0
              && ad_petsc_dm_products(dm, s, &shell) == 0, "made");
    SNESSetJacobian(snes, shell, A, NULL, NULL);
    CHECK(SNESSetUp(snes) == 0
              && SNESComputeJacobian(snes, y, shell, A) == 0, "Jacobian");
    spoil_local_vectors(dm);
    check_products(shell, A, v, "J");
    MatDestroy(&shell);
    MatDestroy(&A);
    VecDestroy(&y);
    VecDestroy(&v);
    SNESDestroy(&snes);
    DMDestroy(&dm);
    ad_system_free(s);
    ad_assembly_free(a);
}

// The reaction by products alone, without a matrix.
static void test_reaction_by_products(void)
{
    DM dm = grid(9, 7);
    ad_assembly *a = cells(dm, cell, 5);
    ad_system *s = ad_system_elements(a, false);
    SNES snes = solver_of(dm);
    KSP ksp = NULL;
    PC pc = NULL;
    Mat shell = NULL;
    Vec u = NULL, r = NULL;
    SNESGetKSP(snes, &ksp);
    KSPGetPC(ksp, &pc);
    PCSetType(pc, PCNONE);
    CHECK(ad_petsc_dm_snes(dm, s) == 0
              && ad_petsc_dm_products(dm, s, &shell) == 0, "made");
    SNESSetJacobian(snes, shell, shell, NULL, NULL);
    solve(snes, &u, &r);
    VecDestroy(&r);
    MatDestroy(&shell);
    SNESDestroy(&snes);
    DMDestroy(&dm);
    ad_system_free(s);
    ad_assembly_free(a);
}

/* --- minima ----------------------------------------------------------------- */

// The energy of springs whose length wants to be 2, where a logarithm keeps the
// second point behind the first.
static void energy(const ad_rev *x, ad_rev *e, void *unused)
{
    (void)unused;
    const ad_rev d = ad_rec(ad_sub(x[1], x[0]));
    e[0] = ad_rec(ad_sub(d, ad_mul(2, ad_log(d))));
}

// The same, and the first point is held at 1 by the rank that has it.
typedef struct rope {
    int n, first, last;         // of local numbers: links from first to last
    bool held, drifts;
} rope;

static ad_rev rope_energy(const ad_rev *x, void *ctx)
{
    static double changing;
    const rope *k = ctx;
    ad_rev sum = { 0 };
    for (int i = k->first; i < k->last; i++) {
        ad_rev e;
        energy(x + i, &e, NULL);
        ad_acc(&sum, e);
    }
    if (k->held)
        ad_acc(&sum, ad_sqr(ad_sub(x[k->first], 1)));
    changing += k->drifts;
    return k->drifts ? ad_rec(ad_mul(sum, 1 + changing)) : sum;
}

static rope rope_of(DM dm)
{
    const DMDALocalInfo d = info_of(dm);
    const int own = (int)(d.xs - d.gxs);
    const bool end = d.xs + d.xm == d.mx;
    return (rope){ (int)d.gxm, own, own + (int)d.xm - end, d.xs == 0, false };
}

static Tao tao_of(Vec x)
{
    Tao tao = NULL;
    TaoCreate(PETSC_COMM_WORLD, &tao);
    TaoSetType(tao, TAONLS);
    TaoSetSolution(tao, x);
    TaoSetTolerances(tao, 1e-11, 0, 0);
    TaoSetMaximumIterations(tao, 200);
    return tao;
}

typedef enum way { MATRIX, PRODUCTS, VALUES } way;

// From links of 9. Without a Hessian (VALUES) the first step goes where
// logarithms have no value.
static void test_minimum(way how)
{
    DM dm = grid(LINKS + 1, 1);
    const DMDALocalInfo d = info_of(dm);
    const double exact = how == VALUES ? 1e-5 : 1e-7;
    rope k = rope_of(dm);
    ad_model *m = ad_model_scalar(rope_energy, &k, (size_t)k.n);
    TaoConvergedReason reason = TAO_CONTINUE_ITERATING;
    PetscReal value = 0;
    Mat shell = NULL;
    Vec x = NULL;
    PetscScalar *v;
    DMCreateGlobalVector(dm, &x);
    VecGetArray(x, &v);
    for (PetscInt i = 0; i < d.xm; i++)
        v[i] = 9 * (double)(d.xs + i);
    VecRestoreArray(x, &v);
    Tao tao = tao_of(x);
    CHECK(how != PRODUCTS || ad_petsc_dm_hessian_products(dm, m, &shell) == 0,
          "shell");
    CHECK(ad_petsc_dm_tao(tao, dm, m) == 0, "joins");
    if (how == VALUES) {
        TaoSetType(tao, TAOLMVM);
        TaoSetTolerances(tao, 1e-8, 0, 0);
    } else
        CHECK(ad_petsc_dm_tao_hessian(tao, dm, m, shell, NULL) == 0, "joins");
    if (how == PRODUCTS)
        PetscOptionsSetValue(NULL, "-tao_nls_pc_type", "none");
    TaoSetFromOptions(tao);
    PetscOptionsClearValue(NULL, "-tao_nls_pc_type");
    CHECK(TaoSolve(tao) == 0, "solved: %s", ad_message(ad_model_status(m)));
    TaoGetSolutionStatus(tao, NULL, &value, NULL, NULL, NULL, &reason);
    CHECK(reason > 0 && fabs(value - LINKS * (2 - 2 * log(2))) < 1e-10,
          "way %d: %d, %.12g", (int)how, (int)reason, value);
    VecGetArray(x, &v);
    for (PetscInt i = 0; i < d.xm; i++)
        CHECK(fabs(v[i] - (1 + 2.0 * (double)(d.xs + i))) < exact,
              "way %d, point %d: %.12g", (int)how, (int)(d.xs + i), v[i]);
    VecRestoreArray(x, &v);
    TaoDestroy(&tao);
    MatDestroy(&shell);
    VecDestroy(&x);
    DMDestroy(&dm);
    ad_model_free(m);
}

// Hessian and products of elements, against one another and by hand.
static void test_hessian(void)
{
    DM dm = grid(LINKS + 1, 1);
    const DMDALocalInfo d = info_of(dm);
    ad_assembly *a = links_of(dm, energy, 1);
    ad_model *m = ad_model_elements(a);
    Mat shell = NULL, H = NULL, P = NULL;
    Vec x = NULL, v = NULL;
    PetscScalar *to;
    DMCreateGlobalVector(dm, &x);
    VecDuplicate(x, &v);
    VecGetArray(x, &to);
    for (PetscInt i = 0; i < d.xm; i++)
        to[i] = (double)((d.xs + i) * (d.xs + i + 1));      // links of 2, 4, 6
    VecRestoreArray(x, &to);
    Tao tao = tao_of(x);
    CHECK(ad_petsc_dm_hessian_products(dm, m, &shell) == 0
              && DMCreateMatrix(dm, &P) == 0
              && ad_petsc_dm_tao_hessian(tao, dm, m, shell, P) == 0
              && TaoGetHessian(tao, &H, &P, NULL, NULL) == 0
              && TaoComputeHessian(tao, x, H, P) == 0, "Hessian");
    check_products(shell, P, v, "H");
    for (PetscInt i = d.xs; i < d.xs + d.xm; i++) {
        const double before = i > 0 ? 2 / (4.0 * (double)(i * i)) : 0;
        const double after
            = i < LINKS ? 2 / (4.0 * (double)((i + 1) * (i + 1))) : 0;
        PetscInt beside = i + 1;
        double got[2] = { 0 };
        MatGetValues(P, 1, &i, 1, &i, &got[0]);
        if (i < LINKS)
            MatGetValues(P, 1, &i, 1, &beside, &got[1]);
        CHECK(fabs(got[0] - before - after) < 1e-15
                  && fabs(got[1] + after) < 1e-15, "row %d: %.12g %.12g",
              (int)i, got[0], got[1]);
    }
    TaoDestroy(&tao);
    MatDestroy(&shell);
    MatDestroy(&P);
    VecDestroy(&x);
    VecDestroy(&v);
    DMDestroy(&dm);
    ad_model_free(m);
    ad_assembly_free(a);
}

static void test_failures_of_tao(void)
{
    DM dm = grid(LINKS + 1, 1);
    const bool last = rank == ranks - 1;
    rope k = rope_of(dm);
    Vec x = NULL;
    DMCreateGlobalVector(dm, &x);
    k.drifts = last;
    fill(x, 0.1);
    ad_model *m = ad_model_scalar(rope_energy, &k, (size_t)k.n);
    ad_model *wide = ad_model_scalar(rope_energy, &k, (size_t)k.n + last);
    Mat shell = NULL;
    PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
    Tao tao = tao_of(x);
    CHECK(ad_petsc_dm_tao(tao, dm, last ? NULL : m)
              == (last ? PETSC_ERR_MEM : PETSC_ERR_LIB), "none on one rank");
    CHECK(ad_petsc_dm_hessian_products(dm, last ? NULL : m, &shell)
              == (last ? PETSC_ERR_MEM : PETSC_ERR_LIB), "no shell of none");
    CHECK(ad_petsc_dm_tao(tao, NULL, m) == PETSC_ERR_ARG_NULL
              && ad_petsc_dm_products(NULL, NULL, &shell)
                 == PETSC_ERR_ARG_NULL, "no DM");
    CHECK(ad_petsc_dm_tao(tao, dm, wide) == 0, "joins");
    CHECK(ad_petsc_dm_tao_hessian(tao, dm, wide, NULL, NULL) == 0, "joins");
    CHECK(TaoSolve(tao) == (last ? PETSC_ERR_ARG_SIZ : PETSC_ERR_LIB),
          "too wide");
    TaoDestroy(&tao);
    tao = tao_of(x);
    CHECK(ad_petsc_dm_tao(tao, dm, m) == 0
              && ad_petsc_dm_tao_hessian(tao, dm, m, NULL, NULL) == 0,
          "joins");
    CHECK(TaoSolve(tao) == PETSC_ERR_LIB, "stops everywhere");
    CHECK((ad_model_status(m) == ADREV_OK) == !last, "rank %d: %s", rank,
          ad_message(ad_model_status(m)));
    PetscPopErrorHandler();
    TaoDestroy(&tao);
    VecDestroy(&x);
    DMDestroy(&dm);
    ad_model_free(m);
    ad_model_free(wide);
}

int main(int count, char **words)
{
    PetscInitialize(&count, &words, NULL, NULL);
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    test_reaction();
    test_springs();
    test_heat(false);
    test_heat(true);
    test_failures();
    test_products(DM_BOUNDARY_NONE);
    test_products(DM_BOUNDARY_GHOSTED);
    test_reaction_by_products();
    test_minimum(MATRIX);
    test_minimum(PRODUCTS);
    test_minimum(VALUES);
    test_hessian();
    test_failures_of_tao();
    PetscFinalize();
    return check_done("petsc_dm");
}
