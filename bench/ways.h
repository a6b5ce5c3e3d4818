// SPDX-License-Identifier: MIT-0
/* ways.h - what bench/petsc.c and bench/tao.c share: the ways of getting
 * derivatives on a square of side x side points, and their table. After
 * adrev_assemble.h, PETSc and report.h. */

typedef enum way { HAND, COLOURS, PLAIN, FUNCTION, CODE, ELEMENTS, COMPILED,
                   WAYS } way;

static int side;                    // points, or cells
static double h;                    // from one to the next

static double cpu(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

// The number of a point; -1: beyond the edge.
static int32_t point(int i, int j)
{
    return i < 0 || i >= side || j < 0 || j >= side ? -1 : i * side + j;
}

// Elements of one result each, over all points; m results.
static ad_assembly *assemble_all(ad_vector_fn *element, size_t width,
                                 const double *at, size_t count,
                                 const int32_t *variable, const int32_t *result,
                                 size_t m, bool compiled)
{
    ad_fn *fn = NULL;
    ad_assembly *a = NULL;
    if (ad_fn_record(&fn, element, NULL, width, at, 1) != ADREV_OK)
        return NULL;
    const ad_elements kind = { fn, count, variable, NULL, result };
    if (ad_fn_assemble(&a, NULL, (size_t)(side * side), 0, m, 1, &kind)
            == ADREV_OK && compiled && ad_assembly_compile(a, NULL) != ADREV_OK)
        printf("not compiled\n");
    ad_fn_free(fn);
    return a;
}

// What the solution is in the middle.
static PetscErrorCode read_middle(Vec x, double *middle)
{
    const PetscScalar *v;
    PetscCall(VecGetArrayRead(x, &v));
    *middle = v[side * side / 2 + side / 2];
    return VecRestoreArrayRead(x, &v);
}

static void print_ways(const char *points)
{
    printf("times that of derivatives by hand\n%-16s %11s  %8s  %8s  %8s  %8s"
           "  %8s  %8s\n", points, "by hand", "colours", "plain", "function",
           "compiled", "elements", "compiled");
}

// plain: whether that way took part.
static void print_row(const char *name, size_t rounds, bool plain,
                      double times[WAYS][REPORT_ROUNDS])
{
    printf("%d x %d  %-9s", side, side, name);
    for (int w = 0; w < WAYS; w++)
        if (w == HAND)
            print_seconds(summarise(rounds, times[HAND], NULL).median);
        else if (w == PLAIN && !plain)
            printf("  %8s", "-");
        else
            printf("  %8.2f", summarise(rounds, times[w],
                                        times[HAND]).median);
    printf("\n");
}

// In milliseconds, what the first solution took more than another one.
static void print_first(way how, double first, double again)
{
    if (how >= FUNCTION)
        printf("  %8.1f", 1e3 * (first - again));
    else
        printf("  %8s", "");
}
