// SPDX-License-Identifier: MIT-0
// tags: recorded
/* elements.c - models and systems that are sums of elements, in adrev_model.h
 * and adrev_system.h: the same answers as those of one recorded function; what
 * an assembly cannot answer; guards; sizes.                                  */

#include "implementation.h"
#include "adrev_assemble.h"

#include <adrev_system.h>

#include "check.h"
#include "solvers.h"

enum { SIDE = 5, CELLS = SIDE * SIDE };

/* --- a reaction on a grid ------------------------------------------------- */

// x: a cell, its neighbours, and a rate. A cell above 4 reacts otherwise.
static void cell(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev in = ad_rec(ad_sub(ad_add(ad_add(x[1], x[2]), ad_add(x[3], x[4])),
                              ad_mul(4, x[0])));
    y[0] = ad_lt(x[0], 4) ? ad_rec(ad_add(in, ad_mul(x[5], ad_exp(x[0]))))
                          : in;
}

static int beside(int i, int j)
{
    return i < 0 || i >= SIDE || j < 0 || j >= SIDE ? -1 : i * SIDE + j;
}

// The variables of each cell.
static void neighbours(int32_t variable[CELLS][5])
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int32_t *v = variable[i * SIDE + j];
            v[0] = beside(i, j);
            v[1] = beside(i, j - 1);
            v[2] = beside(i, j + 1);
            v[3] = beside(i - 1, j);
            v[4] = beside(i + 1, j);
        }
}

static ad_assembly *new_assembly(void)
{
    static const size_t fields[5] = { 0, 1, 2, 3, 4 };
    const double at[6] = { 1, 2, 3, 4, 5, 6 };
    int32_t variable[CELLS][5], parameter[CELLS], result[CELLS];
    ad_fn *all = NULL, *fn = NULL;
    ad_assembly *a = NULL;
    neighbours(variable);
    for (int k = 0; k < CELLS; k++) {
        parameter[k] = 0;
        result[k] = k;
    }
    CHECK(ad_fn_record(&all, cell, NULL, 6, at, 1) == ADREV_OK
          && ad_fn_select(&fn, all, 5, fields, 0, NULL) == ADREV_OK, "a cell");
    const ad_elements kind = { fn, CELLS, variable[0], parameter, result };
    CHECK(ad_fn_assemble(&a, NULL, CELLS, 1, CELLS, 1, &kind) == ADREV_OK,
          "an assembly");
    ad_fn_free(fn);
    ad_fn_free(all);
    return a;
}

// The same as one function.
static void grid(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    int32_t variable[CELLS][5];
    neighbours(variable);
    for (int k = 0; k < CELLS; k++) {
        const ad_rev edge = { 0 };
        ad_rev x[6];
        for (int i = 0; i < 5; i++)
            x[i] = variable[k][i] < 0 ? edge : y[variable[k][i]];
        x[5] = p[0];
        cell(x, &r[k], ctx);
    }
}

static void ode_grid(ad_rev t, const ad_rev *y, const ad_rev *p, ad_rev *r,
                     void *ctx)
{
    (void)t;
    grid(y, p, r, ctx);
}

// Sums of at most five terms, in another order.
static bool same(size_t n, const double got[], const double want[])
{
    ld exact[5 * CELLS];
    for (size_t i = 0; i < n; i++)
        exact[i] = (ld)want[i];
    return solvers_near(n, got, exact, 4 * (ld)DBL_EPSILON);
}

/* --- systems -------------------------------------------------------------- */

static void compare(ad_system *got, ad_system *want, const char *name)
{
    double y[CELLS], w[CELLS], a[CELLS], b[CELLS];
    for (int i = 0; i < CELLS; i++) {
        y[i] = 0.1 * (i % 7);
        w[i] = 1 - 0.3 * (i % 5);
    }
    got->p[0] = want->p[0] = 0.7;
    adx_system_at(got, 2, y, NULL);
    adx_system_at(want, 2, y, NULL);
    CHECK(adx_system_eval(got, a) == ADREV_OK
          && adx_system_eval(want, b) == ADREV_OK && same(CELLS, a, b),
          "%s: values", name);
    adx_system_direction(got, w, NULL, 0);
    adx_system_direction(want, w, NULL, 0);
    CHECK(adx_system_jvp(got, a) == ADREV_OK
          && adx_system_jvp(want, b) == ADREV_OK && same(CELLS, a, b),
          "%s: J v", name);
    CHECK(adx_system_vjp(got, w) == ADREV_OK
          && adx_system_vjp(want, w) == ADREV_OK
          && same(CELLS, got->v, want->v), "%s: J' w", name);
    for (int rows = 0; rows < 2; rows++) {
        adx_system_matrix *A = rows ? &got->by_rows : &got->by_columns;
        adx_system_matrix *B = rows ? &want->by_rows : &want->by_columns;
        CHECK(adx_system_jacobian(got, A, 0) == ADREV_OK
              && adx_system_jacobian(want, B, 0) == ADREV_OK
              && A->count == B->count && A->count == CELLS + 4 * SIDE
                                                   * (SIDE - 1)
              && memcmp(A->across, B->across, A->count * sizeof *A->across) == 0
              && same(A->count, A->value, B->value), "%s: J, rows %d", name,
              rows);
    }
    CHECK(ad_system_entries(got, 0, y, NULL) == CELLS + 4 * SIDE * (SIDE - 1),
          "%s: entries", name);
    // Another path: no value here, but elsewhere.
    y[3] = 5;
    adx_system_at(got, 2, y, NULL);
    CHECK(adx_system_eval(got, a) == ADREV_EPATH
          && ad_system_status(got) == ADREV_EPATH && !got->model->stopped,
          "%s: a guard", name);
    y[3] = 0.5;
    adx_system_at(got, 2, y, NULL);
    CHECK(adx_system_eval(got, a) == ADREV_OK
          && ad_system_clear(got) == ADREV_OK
          && adx_system_eval(got, b) == ADREV_OK && same(CELLS, a, b),
          "%s: and on", name);
    ad_system_free(got);
    ad_system_free(want);
}

static void test_systems(void)
{
    ad_assembly *a = new_assembly();
    compare(ad_system_elements(a, false),
            ad_system_equations(grid, NULL, CELLS, 1), "equations");
    compare(ad_system_elements(a, true),
            ad_system_ode(ode_grid, NULL, CELLS, 1), "ODE");
    CHECK(ad_system_elements(NULL, true) == NULL, "no assembly");
    ad_assembly_free(a);
}

// Machine code of all cells, and of one: the same answers. (Contraction is
// off.)
static void test_compiled(void)
{
    double y[CELLS], w[CELLS], a[2][CELLS], b[2][CELLS];
    const double *J[2];
    ad_assembly *assembly = new_assembly();
    for (int i = 0; i < CELLS; i++) {
        y[i] = 0.1 * (i % 7);
        w[i] = 1 - 0.3 * (i % 5);
    }
    for (int k = 0; k < 2; k++) {
        ad_system *s[2];
        for (int c = 0; c < 2; c++) {
            ad_compile_report report;
            const ad_compile_options options = { .report = &report };
            s[c] = k == 0 ? ad_system_equations(grid, NULL, CELLS, 1)
                          : ad_system_elements(assembly, false);
            s[c]->p[0] = 0.7;
            if (c == 1)
                CHECK(ad_system_compile(s[c], 0, y, NULL, &options)
                      == ADREV_OK && report.bytes > 0, "compiles: %s",
                      report.text);
            adx_system_at(s[c], 0, y, NULL);
            CHECK(adx_system_eval(s[c], a[c]) == ADREV_OK
                  && adx_system_vjp(s[c], w) == ADREV_OK
                  && adx_system_jacobian(s[c], &s[c]->by_rows, 0) == ADREV_OK,
                  "evaluates");
            memcpy(b[c], s[c]->v, sizeof b[c]);
            J[c] = s[c]->by_rows.value;
        }
        CHECK(same(CELLS, a[1], a[0]) && same(CELLS, b[1], b[0])
              && same(CELLS + 4 * SIDE * (SIDE - 1), J[1], J[0]),
              "compiled, %d", k);
        ad_system_free(s[0]);
        ad_system_free(s[1]);
    }
    ad_assembly_free(assembly);
    ad_model *m = ad_model_vector(cell, NULL, 6, 1);
    CHECK(ad_model_compile(NULL, y, NULL) == ADREV_ENOMEM
          && ad_system_compile(NULL, 0, y, NULL, NULL) == ADREV_ENOMEM
          && ad_model_compile(m, NULL, NULL) == ADREV_ESHAPE, "no model, no x");
    ad_model_free(m);
}

/* --- models ---------------------------------------------------------------- */

// Springs: the sum of p (x[i+1] - x[i])^4.
static void spring(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[2], ad_sqr(ad_sqr(ad_sub(x[1], x[0])))));
}

static ad_assembly *new_springs(void)
{
    const double at[3] = { 0, 1, 1 };
    const size_t ends[2] = { 0, 1 };
    const int32_t variable[3][2] = { { -1, 0 }, { 0, 1 }, { 1, 2 } };
    const int32_t parameter[3] = { 0, 1, 1 }, result[3] = { 0, 0, 0 };
    ad_fn *all = NULL, *fn = NULL;
    ad_assembly *a = NULL;
    CHECK(ad_fn_record(&all, spring, NULL, 3, at, 1) == ADREV_OK
          && ad_fn_select(&fn, all, 2, ends, 0, NULL) == ADREV_OK, "a spring");
    const ad_elements kind = { fn, 3, variable[0], parameter, result };
    CHECK(ad_fn_assemble(&a, NULL, 3, 2, 1, 1, &kind) == ADREV_OK, "springs");
    ad_fn_free(fn);
    ad_fn_free(all);
    return a;
}

static void test_models(void)
{
    const double x[3] = { 1, 3, 2 }, one = 1, v[3] = { 1, 1, 0 };
    double y = 0, g[3], hv[3], J[3];
    ad_assembly *a = new_springs();
    ad_model *m = ad_model_elements(a);
    m->p[0] = 10;
    m->p[1] = 1;
    CHECK(ad_model_inputs(m) == 3 && ad_model_outputs(m) == 1, "sizes");
    CHECK(ad_model_gradient(m, x, &y, g) == ADREV_OK && y == 10 + 16 + 1
          && g[0] == 40 - 32 && g[1] == 32 + 4 && g[2] == -4, "a gradient");
    CHECK(ad_model_hvp(m, x, &one, v, hv) == ADREV_OK && hv[0] == 120
          && hv[1] == 12 && hv[2] == -12, "H v: %g %g %g", hv[0], hv[1], hv[2]);
    // H with both triangles, and its diagonal.
    adx_system_matrix H;
    memset(&H, 0, sizeof H);
    H.by_rows = H.hessian = H.diagonal = true;
    H.lines = H.columns = H.unknowns = 3;
    CHECK(adx_system_values(m, x, &H, 0) == ADREV_OK && H.count == 7
          && H.value[0] == 120 + 48 && H.value[1] == -48 && H.value[2] == -48
          && H.value[3] == 48 + 12 && H.value[6] == 12, "a Hessian");
    adx_system_matrix_free(&H);
    CHECK(ad_model_jacobian(m, x, J) == ADREV_EHOOK && m->stopped
          && ad_model_eval(m, x, &y) == ADREV_EHOOK
          && ad_model_clear(m) == ADREV_OK
          && ad_model_eval(m, x, &y) == ADREV_OK, "no dense Jacobian");
    CHECK(ad_model_elements(NULL) == NULL && ad_system_elements(a, false)
          == NULL, "no assembly, and one that is no system");
    ad_model_free(m);
    ad_assembly_free(a);
}

int main(void)
{
    test_systems();
    test_compiled();
    test_models();
    return check_done("elements");
}
