// SPDX-License-Identifier: MIT-0
/* tao.c - what PETSc's TAO costs with adrev's gradients and Hessians, with those
 * written by hand, and with PETSc's own differences.     sh bench/alone.sh tao
 *
 *     tao [-r rounds]
 *
 * A soap film under a load: the heights of n x n points on a square are those
 * for which area - load * volume is least; by Newton's method with a line
 * search (TAONLS), from 0. Seconds of CPU of its own for the way by hand, times
 * that for the others, of a solution, and of a Hessian alone:
 *
 *     colours     the gradient by hand, TaoDefaultComputeHessianColor of it
 *     plain       TaoDefaultComputeGradient of a plain C function, and no
 *                 Hessian: TAOLMVM. 10 x 10 only
 *     function    ad_model_scalar
 *     compiled    the same, after ad_model_compile
 *     elements    ad_model_elements
 *     compiled    the same, after ad_assembly_compile
 *
 * Models were used before; `first` is what recording and the programs of the
 * derivatives cost besides, in milliseconds (not those of the compiler, which
 * is another process). Each way must end at the same height.                 */

#define ADREV_IMPLEMENTATION
#include "adrev_assemble.h"
#include "adrev_petsc.h"
#include "report.h"
#include "ways.h"

enum { MOST = 40, CORNERS = 3 };

static const double load = 1.5;

/* --- the problem ---------------------------------------------------------- */

static int triangles(void)
{
    return 2 * (side + 1) * (side + 1);
}

// The corners of a triangle, that with the right angle first; -1: at the frame.
static void corners(int k, int32_t v[CORNERS])
{
    const int square = k / 2, odd = k % 2, beside = odd ? 1 : -1;
    const int i = square / (side + 1) - odd, j = square % (side + 1) - odd;
    v[0] = point(i, j);
    v[1] = point(i + beside, j);
    v[2] = point(i, j + beside);
}

// x: the heights of its corners.
static ad_rev triangle(const ad_rev *x)
{
    const ad_rev p = ad_rec(ad_mul(1 / h, ad_sub(x[1], x[0])));
    const ad_rev q = ad_rec(ad_mul(1 / h, ad_sub(x[2], x[0])));
    const ad_rev sum = ad_rec(ad_add(ad_add(x[0], x[1]), x[2]));
    return ad_rec(ad_mul(h * h / 2,
                         ad_sub(ad_sqrt(ad_add(1, ad_add(ad_sqr(p),
                                                         ad_sqr(q)))),
                                ad_mul(load / 3, sum))));
}

static void element(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = triangle(x);
}

static ad_rev film(const ad_rev *x, void *ctx)
{
    const ad_rev frame = { 0 };
    ad_rev sum = { 0 };
    (void)ctx;
    for (int k = 0; k < triangles(); k++) {
        int32_t v[CORNERS];
        ad_rev at[CORNERS];
        corners(k, v);
        for (int i = 0; i < CORNERS; i++)
            at[i] = v[i] < 0 ? frame : x[v[i]];
        ad_acc(&sum, triangle(at));
    }
    return sum;
}

// By hand: p and q of a triangle, and its share of the value.
static double triangle_plain(const double *x, const int32_t v[CORNERS],
                             double *p, double *q)
{
    double at[CORNERS];
    for (int i = 0; i < CORNERS; i++)
        at[i] = v[i] < 0 ? 0 : x[v[i]];
    *p = (at[1] - at[0]) / h;
    *q = (at[2] - at[0]) / h;
    return h * h / 2 * (sqrt(1 + *p * *p + *q * *q)
                        - load / 3 * (at[0] + at[1] + at[2]));
}

static PetscErrorCode film_plain(Tao tao, Vec at, PetscReal *value, void *ctx)
{
    const PetscScalar *x;
    (void)tao;
    (void)ctx;
    PetscCall(VecGetArrayRead(at, &x));
    *value = 0;
    for (int k = 0; k < triangles(); k++) {
        int32_t v[CORNERS];
        double p, q;
        corners(k, v);
        *value += triangle_plain(x, v, &p, &q);
    }
    return VecRestoreArrayRead(at, &x);
}

static PetscErrorCode film_hand(Tao tao, Vec at, PetscReal *value, Vec slope,
                                void *ctx)
{
    const PetscScalar *x;
    PetscScalar *g;
    (void)tao;
    (void)ctx;
    PetscCall(VecZeroEntries(slope));
    PetscCall(VecGetArrayRead(at, &x));
    PetscCall(VecGetArray(slope, &g));
    *value = 0;
    for (int k = 0; k < triangles(); k++) {
        int32_t v[CORNERS];
        double p, q;
        corners(k, v);
        *value += triangle_plain(x, v, &p, &q);
        const double r = 2 * sqrt(1 + p * p + q * q) / h;
        const double d[CORNERS] = { -(p + q) / r, p / r, q / r };
        for (int i = 0; i < CORNERS; i++)
            if (v[i] >= 0)
                g[v[i]] += d[i] - h * h * load / 6;
    }
    PetscCall(VecRestoreArray(slope, &g));
    return VecRestoreArrayRead(at, &x);
}

static PetscErrorCode gradient_hand(Tao tao, Vec at, Vec slope, void *ctx)
{
    PetscReal value;
    return film_hand(tao, at, &value, slope, ctx);
}

static PetscErrorCode hessian_hand(Tao tao, Vec at, Mat H, Mat P, void *ctx)
{
    const PetscScalar *x;
    (void)tao;
    (void)P;
    (void)ctx;
    PetscCall(MatZeroEntries(H));
    PetscCall(VecGetArrayRead(at, &x));
    for (int k = 0; k < triangles(); k++) {
        int32_t v[CORNERS];
        PetscInt index[CORNERS];
        double p, q;
        corners(k, v);
        (void)triangle_plain(x, v, &p, &q);
        const double s = 1 + p * p + q * q, r = 2 * s * sqrt(s);
        const double a = (1 + q * q) / r, b = -p * q / r, c = (1 + p * p) / r;
        const double block[CORNERS * CORNERS] = {
            a + 2 * b + c, -a - b, -b - c,  -a - b, a, b,  -b - c, b, c
        };
        for (int i = 0; i < CORNERS; i++)
            index[i] = v[i];            // PETSc leaves out what is below 0
        PetscCall(MatSetValues(H, CORNERS, index, CORNERS, index, block,
                               ADD_VALUES));
    }
    PetscCall(VecRestoreArrayRead(at, &x));
    PetscCall(MatAssemblyBegin(H, MAT_FINAL_ASSEMBLY));
    return MatAssemblyEnd(H, MAT_FINAL_ASSEMBLY);
}

/* --- solvers -------------------------------------------------------------- */

typedef struct solver {
    Tao tao;
    Vec x;
    Mat H;
    MatFDColoring colours;
    ad_assembly *assembly;
    ad_model *model;
    double first;               // seconds that the first solution takes more
} solver;

static ad_assembly *assemble(bool compiled)
{
    static int32_t variable[2 * (MOST + 1) * (MOST + 1)][CORNERS];
    static int32_t result[2 * (MOST + 1) * (MOST + 1)];
    const double at[CORNERS] = { 0.1, 0.2, 0.3 };
    for (int k = 0; k < triangles(); k++)
        corners(k, variable[k]);
    return assemble_all(element, CORNERS, at, (size_t)triangles(), variable[0],
                        result, 1, compiled);
}

static ad_status compile(ad_model *m)
{
    static const double start[MOST * MOST];
    const ad_compile_options options
        = { .limit = 20000000, .functions = ADREV_C_VALUE | ADREV_C_GRADIENT
                                          | ADREV_C_HESSIAN_SPARSE };
    return ad_model_compile(m, start, &options);
}

static PetscErrorCode begin_adrev(solver *s, way how)
{
    const size_t n = (size_t)(side * side);
    s->assembly = how < ELEMENTS ? NULL : assemble(how == COMPILED);
    s->model = how < ELEMENTS ? ad_model_scalar(film, NULL, n)
                              : ad_model_elements(s->assembly);
    if (how == CODE && compile(s->model) != ADREV_OK)
        printf("not compiled\n");
    PetscCall(ad_petsc_tao(s->tao, s->model));
    return ad_petsc_tao_hessian(s->tao, s->model, NULL, NULL);
}

// PETSc's own colouring of the pattern by hand.
static PetscErrorCode begin_colours(solver *s)
{
    MatColoring colouring;
    ISColoring colours;
    PetscCall(MatColoringCreate(s->H, &colouring));
    PetscCall(MatColoringSetType(colouring, MATCOLORINGSL));
    PetscCall(MatColoringApply(colouring, &colours));
    PetscCall(MatColoringDestroy(&colouring));
    PetscCall(MatFDColoringCreate(s->H, colours, &s->colours));
    PetscCall(MatFDColoringSetFunction(
        s->colours, (PetscErrorCode (*)(void))(void (*)(void))gradient_hand, NULL));
    PetscCall(MatFDColoringSetFromOptions(s->colours));
    PetscCall(MatFDColoringSetUp(s->H, colours, s->colours));
    PetscCall(ISColoringDestroy(&colours));
    return TaoSetHessian(s->tao, s->H, s->H, TaoDefaultComputeHessianColor,
                         s->colours);
}

static PetscErrorCode begin_petsc(solver *s, way how)
{
    const PetscInt n = side * side;
    if (how == PLAIN) {
        PetscCall(TaoSetObjective(s->tao, film_plain, NULL));
        return TaoSetGradient(s->tao, NULL, TaoDefaultComputeGradient, NULL);
    }
    PetscCall(TaoSetObjectiveAndGradient(s->tao, NULL, film_hand, NULL));
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 7, NULL, &s->H));
    PetscCall(hessian_hand(NULL, s->x, s->H, s->H, NULL));
    return how == COLOURS ? begin_colours(s)
         : TaoSetHessian(s->tao, s->H, s->H, hessian_hand, NULL);
}

static PetscErrorCode begin(solver *s, way how)
{
    const double start = cpu();
    PetscCall(TaoCreate(PETSC_COMM_SELF, &s->tao));
    PetscCall(TaoSetType(s->tao, how == PLAIN ? TAOLMVM : TAONLS));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, side * side, &s->x));
    PetscCall(TaoSetSolution(s->tao, s->x));
    PetscCall(how >= FUNCTION ? begin_adrev(s, how) : begin_petsc(s, how));
    PetscCall(TaoSetTolerances(s->tao, 1e-9, 0, 0));
    PetscCall(TaoSetFromOptions(s->tao));
    PetscCall(TaoSolve(s->tao));
    s->first = cpu() - start;
    return 0;
}

static PetscErrorCode solve(solver *s, double *seconds, double *middle)
{
    const double start = cpu();
    PetscCall(VecZeroEntries(s->x));
    PetscCall(TaoSolve(s->tao));
    *seconds = cpu() - start;
    return read_middle(s->x, middle);
}

// Of a Hessian at the solution.
static PetscErrorCode evaluate(solver *s, double *seconds)
{
    const double start = cpu();
    Mat H = NULL, P = NULL;
    int count = 0;
    PetscCall(TaoGetHessian(s->tao, &H, &P, NULL, NULL));
    do {
        PetscCall(TaoComputeHessian(s->tao, s->x, H, P));
        count++;
    } while (cpu() - start < 0.02);
    *seconds = (cpu() - start) / count;
    return 0;
}

static PetscErrorCode end(solver *s)
{
    PetscCall(MatFDColoringDestroy(&s->colours));
    PetscCall(TaoDestroy(&s->tao));
    PetscCall(VecDestroy(&s->x));
    PetscCall(MatDestroy(&s->H));
    ad_model_free(s->model);
    ad_assembly_free(s->assembly);
    return 0;
}

/* --- the table ------------------------------------------------------------ */

static bool takes_part(way how)
{
    return how != PLAIN || side == 10;
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
            if (takes_part((way)w)) {
                PetscCall(solve(&s[w], &whole[w][r], &middle[w]));
                if (w != PLAIN)
                    PetscCall(evaluate(&s[w], &alone[w][r]));
            }
    print_row("solution", rounds, takes_part(PLAIN), whole);
    print_row("Hessian", rounds, false, alone);
    printf("         first (ms)  ");
    for (int w = 0; w < WAYS; w++) {
        print_first((way)w, s[w].first, whole[w][0]);
        const double exact = w == PLAIN ? 1e-4 : 1e-6;  // as its gradient
        if (takes_part((way)w) && !(fabs(middle[w] - middle[HAND]) < exact)) {
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
    print_ways("points");
    for (side = 10; side <= MOST; side *= 2) {
        h = 1.0 / (side + 1);
        PetscCall(measure(rounds, &right));
    }
    PetscCall(PetscFinalize());
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
