// SPDX-License-Identifier: MIT-0
/* petsc.c - what PETSc's SNES costs with adrev's Jacobians, with one written by
 * hand, and with PETSc's own differences.             sh bench/alone.sh petsc
 *
 *     petsc [-r rounds]
 *
 * Solid fuel ignition (Bratu) on a square of n x n cells, as in
 * adapters/examples/petsc_ignition.c: Newton's method from 0, each linear
 * system by GMRES and an incomplete factorisation. Seconds of CPU of its own
 * for the way by hand, times that for the others, of a solution and of a
 * Jacobian alone:
 *
 *     colours     SNESComputeJacobianDefaultColor, of a plain C function
 *     plain       SNESComputeJacobianDefault, the same, up to 40 x 40
 *     function    ad_system_equations
 *     compiled    the same, after ad_system_compile
 *     elements    ad_system_elements
 *     compiled    the same, after ad_assembly_compile
 *
 * Models were used before; `first` is what recording and the programs of the
 * derivatives cost besides, in milliseconds (not those of the compiler, which
 * is another process). Each way must end at the same temperature. Not
 * representative: one exponential a cell flatters differences.
 */

#define ADREV_IMPLEMENTATION
#include "adrev_assemble.h"
#include "adrev_petsc.h"
#include "report.h"
#include "ways.h"

enum { MOST = 80 };

static const double rate = 6;

/* --- the problem, three times --------------------------------------------- */

// x: a cell and its neighbours.
static void cell(const ad_rev *x, ad_rev *r, void *ctx)
{
    (void)ctx;
    r[0] = ad_rec(ad_sub(ad_sub(ad_mul(4, x[0]),
                                ad_add(ad_add(x[1], x[2]),
                                       ad_add(x[3], x[4]))),
                         ad_mul(h * h * rate, ad_exp(x[0]))));
}

static void neighbours(int k, int32_t v[5])
{
    const int i = k / side, j = k % side;
    v[0] = k;
    v[1] = point(i, j - 1);
    v[2] = point(i, j + 1);
    v[3] = point(i - 1, j);
    v[4] = point(i + 1, j);
}

static void residual(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    const ad_rev edge = { 0 };
    (void)p;
    for (int k = 0; k < side * side; k++) {
        int32_t v[5];
        ad_rev x[5];
        neighbours(k, v);
        for (int i = 0; i < 5; i++)
            x[i] = v[i] < 0 ? edge : y[v[i]];
        cell(x, &r[k], ctx);
    }
}

static ad_assembly *assemble(bool compiled)
{
    static int32_t variable[MOST * MOST][5], result[MOST * MOST];
    const double at[5] = { 1, 2, 3, 4, 5 };
    const size_t n = (size_t)side * (size_t)side;
    for (int k = 0; k < side * side; k++) {
        neighbours(k, variable[k]);
        result[k] = k;
    }
    return assemble_all(cell, 5, at, n, variable[0], result, n, compiled);
}

static PetscErrorCode residual_plain(SNES snes, Vec at, Vec to, void *ctx)
{
    const PetscScalar *y;
    PetscScalar *r;
    (void)snes;
    (void)ctx;
    PetscCall(VecGetArrayRead(at, &y));
    PetscCall(VecGetArrayWrite(to, &r));
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            const int k = i * side + j;
            const double in = (j > 0 ? y[k - 1] : 0)
                            + (j < side - 1 ? y[k + 1] : 0)
                            + (i > 0 ? y[k - side] : 0)
                            + (i < side - 1 ? y[k + side] : 0);
            r[k] = 4 * y[k] - in - h * h * rate * exp(y[k]);
        }
    PetscCall(VecRestoreArrayRead(at, &y));
    return VecRestoreArrayWrite(to, &r);
}

static PetscErrorCode jacobian_hand(SNES snes, Vec at, Mat J, Mat P, void *ctx)
{
    const PetscScalar *y;
    (void)snes;
    (void)J;
    (void)ctx;
    PetscCall(VecGetArrayRead(at, &y));
    for (int k = 0; k < side * side; k++) {
        PetscInt row = k, column[5];
        double value[5];
        int32_t v[5];
        int count = 0;
        neighbours(k, v);
        for (int i = 0; i < 5; i++)
            if (v[i] >= 0) {
                column[count] = v[i];
                value[count++] = i > 0 ? -1 : 4 - h * h * rate * exp(y[k]);
            }
        PetscCall(MatSetValues(P, 1, &row, count, column, value,
                               INSERT_VALUES));
    }
    PetscCall(VecRestoreArrayRead(at, &y));
    PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
    return MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY);
}

/* --- solvers -------------------------------------------------------------- */

typedef struct solver {
    SNES snes;
    Vec y;
    Mat J;
    ad_assembly *assembly;
    ad_system *system;
    double first;               // seconds that the first Jacobian takes more
} solver;

static ad_status compile(ad_system *s)
{
    static const double start[MOST * MOST];
    const ad_compile_options options = { .limit = 20000000 };
    return ad_system_compile(s, 0, start, NULL, &options);
}

static PetscErrorCode begin(solver *s, way how)
{
    const PetscInt n = side * side;
    const double start = cpu();
    PetscCall(SNESCreate(PETSC_COMM_SELF, &s->snes));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &s->y));
    if (how >= FUNCTION) {
        s->assembly = how < ELEMENTS ? NULL : assemble(how == COMPILED);
        s->system = how < ELEMENTS
                  ? ad_system_equations(residual, NULL, (size_t)n, 0)
                  : ad_system_elements(s->assembly, false);
        if (how == CODE && compile(s->system) != ADREV_OK)
            printf("not compiled\n");
        PetscCall(ad_petsc_snes(s->snes, s->system, NULL, NULL));
    } else {
        PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 5, NULL, &s->J));
        PetscCall(jacobian_hand(NULL, s->y, s->J, s->J, NULL));
        PetscCall(SNESSetFunction(s->snes, NULL, residual_plain, NULL));
        PetscCall(SNESSetJacobian(s->snes, s->J, s->J, how == HAND
                                  ? jacobian_hand : how == COLOURS
                                  ? SNESComputeJacobianDefaultColor
                                  : SNESComputeJacobianDefault, NULL));
    }
    PetscCall(SNESSetTolerances(s->snes, 1e-10, 1e-9, 0, 30, 100000000));
    PetscCall(SNESSetFromOptions(s->snes));
    PetscCall(SNESSolve(s->snes, NULL, s->y));
    s->first = cpu() - start;
    return 0;
}

static PetscErrorCode solve(solver *s, double *seconds, double *middle)
{
    const double start = cpu();
    PetscCall(VecZeroEntries(s->y));
    PetscCall(SNESSolve(s->snes, NULL, s->y));
    *seconds = cpu() - start;
    return read_middle(s->y, middle);
}

// Of a Jacobian at the solution.
static PetscErrorCode evaluate(solver *s, double *seconds)
{
    const double start = cpu();
    Mat J, P;
    int count = 0;
    PetscCall(SNESGetJacobian(s->snes, &J, &P, NULL, NULL));
    do {
        PetscCall(SNESComputeJacobian(s->snes, s->y, J, P));
        count++;
    } while (cpu() - start < 0.02);
    *seconds = (cpu() - start) / count;
    return 0;
}

static PetscErrorCode end(solver *s)
{
    PetscCall(SNESDestroy(&s->snes));
    PetscCall(VecDestroy(&s->y));
    PetscCall(MatDestroy(&s->J));
    ad_system_free(s->system);
    ad_assembly_free(s->assembly);
    return 0;
}

/* --- the table ------------------------------------------------------------ */

static bool takes_part(way how)
{
    return how != PLAIN || side <= 40;
}

static PetscErrorCode measure(size_t rounds, bool *right)
{
    static double whole[WAYS][REPORT_ROUNDS], alone[WAYS][REPORT_ROUNDS];
    solver s[WAYS];
    double middle[WAYS] = { 0 };
    memset(s, 0, sizeof s);
    for (int w = 0; w < WAYS; w++)
        if (takes_part((way)w))
            PetscCall(begin(&s[w], (way)w));
    for (size_t r = 0; r < rounds; r++)
        for (int w = 0; w < WAYS; w++)
            if (s[w].snes != NULL) {
                PetscCall(solve(&s[w], &whole[w][r], &middle[w]));
                PetscCall(evaluate(&s[w], &alone[w][r]));
            }
    print_row("solution", rounds, takes_part(PLAIN), whole);
    print_row("Jacobian", rounds, takes_part(PLAIN), alone);
    printf("         first (ms)  ");
    for (int w = 0; w < WAYS; w++) {
        print_first((way)w, s[w].first, whole[w][0]);
        if (s[w].snes != NULL && fabs(middle[w] - middle[HAND]) > 1e-6) {
            *right = false;
            printf("WRONG: %.9g, not %.9g", middle[w], middle[HAND]);
        }
        PetscCall(end(&s[w]));
    }
    printf("\n");
    return 0;
}

int main(int count, char **words)
{
    const size_t rounds = take_rounds(&count, &words, 7);
    bool right = true;
    PetscCall(PetscInitialize(&count, &words, NULL, NULL));
    print_machine(ADREV_VERSION);
    print_ways("cells");
    for (side = 20; side <= MOST; side *= 2) {
        h = 1.0 / (side + 1);
        PetscCall(measure(rounds, &right));
    }
    PetscCall(PetscFinalize());
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
