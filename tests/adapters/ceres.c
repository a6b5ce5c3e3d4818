// SPDX-License-Identifier: MIT-0
// tags: recorded
// needs: ceres/c_api.h -lceres
// libs: -lceres
/* ceres.c - adrev_ceres.h: a certified fit of NIST, one recording for all
 * residual blocks, a robust loss, Jacobians handed over against differences in
 * long double, failures.                                                     */

#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "implementation.h"
#include "adrev_function.h"

#include <adrev_ceres.h>

#include "check.h"
#include "solvers.h"

// ceres_solve prints a report.
static void solve(ceres_problem_t *problem)
{
    fflush(stdout);
    const int kept = dup(1);
    CHECK(freopen("/dev/null", "w", stdout) != NULL, "no /dev/null");
    ceres_solve(problem);
    fflush(stdout);
    dup2(kept, 1);
    close(kept);
}

/* --- Misra1a of NIST's Statistical Reference Datasets --------------------- */

static const double misra[14][2] = {
    { 77.6, 10.07 }, { 114.9, 14.73 }, { 141.1, 17.94 }, { 190.8, 23.93 },
    { 239.9, 29.61 }, { 289.0, 35.18 }, { 332.8, 40.02 }, { 378.4, 44.82 },
    { 434.8, 50.76 }, { 477.3, 55.05 }, { 536.8, 61.01 }, { 593.1, 66.40 },
    { 689.1, 75.47 }, { 760.0, 81.78 }
};

// Two parameters, then x and y of one observation.
static void misra1a(const ad_rev *b, ad_rev *r, void *ctx)
{
    int *runs = ctx;
    ++*runs;
    r[0] = ad_rec(ad_sub(ad_mul(b[0], ad_sub(1, ad_exp(
               ad_mul(ad_neg(b[1]), b[2])))), b[3]));
}

// `together`: the parameters are one block, else two.
static void test_misra1a(bool together)
{
    int runs = 0, sizes[2] = { together ? 2 : 1, 1 };
    double b[2] = { 250, 0.0005 };
    double *parameters[2] = { b, b + 1 };
    ad_model *m = ad_model_vector(misra1a, &runs, 4, 1);
    ceres_problem_t *problem = ceres_create_problem();
    for (int i = 0; i < 14; i++)
        CHECK(ad_ceres_add(problem, m, misra[i], NULL, NULL, together ? 1 : 2,
                           sizes, parameters) != NULL, "block");
    solve(problem);
    CHECK_NEAR(b[0], 2.3894212918e+02, 1e-4);
    CHECK_NEAR(b[1], 5.5015643181e-04, 1e-4);
    CHECK(ad_model_status(m) == ADREV_OK, "status");
    // Once to record, once to compare: not for each block.
    CHECK(runs <= 4, "%d runs", runs);
    ceres_free_problem(problem);
    ad_model_free(m);
}

// A line through points, of which one lies far off: Cauchy's loss finds it.
static void line(const ad_rev *x, ad_rev *r, void *ctx)
{
    (void)ctx;
    r[0] = ad_rec(ad_sub(ad_add(ad_mul(x[0], x[2]), x[1]), x[3]));
}

static void test_loss(void)
{
    double p[2] = { 0, 0 }, *parameters[1] = { p };
    int sizes[1] = { 2 };
    void *loss = ceres_create_cauchy_loss_function_data(0.01);
    ad_model *m = ad_model_vector(line, NULL, 4, 1);
    ceres_problem_t *problem = ceres_create_problem();
    for (int i = 0; i < 10; i++) {
        const double data[2] = { i, i == 7 ? 100 : 2 * i + 1 };
        CHECK(ad_ceres_add(problem, m, data, ceres_stock_loss_function, loss,
                           1, sizes, parameters) != NULL, "block");
    }
    solve(problem);
    CHECK(fabs(p[0] - 2) < 0.01 && fabs(p[1] - 1) < 0.05, "(%g, %g)", p[0],
          p[1]);
    ceres_free_problem(problem);
    ceres_free_stock_loss_function_data(loss);
    ad_model_free(m);
}

/* --- what is handed over ------------------------------------------------- */

static void test_derivatives(void)
{
    double x[4] = { 1.5, 4.25, 3.5, 1.25 };
    double *parameters[2] = { x, x + 1 };
    int sizes[2] = { 1, 2 };
    double r[3], first[3], second[6], *jacobians[2] = { first, second };
    ld want[12], y[3], xl[4];
    ad_model *m = ad_model_vector(hs071, NULL, 4, 3);
    ceres_problem_t *problem = ceres_create_problem();
    CHECK(ad_ceres_add(problem, m, x + 3, NULL, NULL, 2, sizes, parameters)
          != NULL, "block");
    difference_jacobian(hs071_ld, NULL, 4, x, 3, want);
    for (int i = 0; i < 4; i++)
        xl[i] = (ld)x[i];
    hs071_ld(xl, y, NULL);
    CHECK(adx_ceres_evaluate(m->blocks, parameters, r, jacobians) == 1
          && solvers_near(3, r, y, 1e-15L), "evaluate");
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(first[i], want[4 * i], 1e-12L);
        CHECK_NEAR(second[2 * i], want[4 * i + 1], 1e-12L);
        CHECK_NEAR(second[2 * i + 1], want[4 * i + 2], 1e-12L);
    }
    // Ceres does not ask for the Jacobian of a constant block, or for none.
    jacobians[0] = NULL;
    memset(second, 0, sizeof second);
    CHECK(adx_ceres_evaluate(m->blocks, parameters, r, jacobians) == 1,
          "one of two");
    CHECK_NEAR(second[5], want[10], 1e-12L);
    CHECK(adx_ceres_evaluate(m->blocks, parameters, r, NULL) == 1
          && solvers_near(3, r, y, 1e-15L), "values only");
    ceres_free_problem(problem);
    ad_model_free(m);
}

/* --- failures ------------------------------------------------------------ */

// Log of a parameter: the first step leaves its domain, Ceres comes back.
static void logarithm(const ad_rev *x, ad_rev *r, void *ctx)
{
    (void)ctx;
    r[0] = ad_rec(ad_sub(ad_log(x[0]), log(2.0)));
}

static void frozen_residual(const ad_rev *x, ad_rev *r, void *ctx)
{
    r[0] = frozen(x, ctx);
}

static void test_failures(void)
{
    double x[2] = { 40, 1 }, *parameters[1] = { x };
    int size[1] = { 1 }, two[1] = { 2 }, minus = -1;
    double r = 0;
    ad_model *m = ad_model_vector(logarithm, NULL, 1, 1);
    ceres_problem_t *problem = ceres_create_problem();
    CHECK(ad_ceres_add(problem, m, NULL, NULL, NULL, 1, size, parameters)
          != NULL, "block");
    solve(problem);
    CHECK(fabs(x[0] - 2) < 1e-3 && ad_model_status(m) == ADREV_OK, "%g", x[0]);
    x[0] = -1;
    CHECK(adx_ceres_evaluate(m->blocks, parameters, &r, NULL) == 0,
          "not finite");
    CHECK(ad_ceres_add(problem, m, NULL, NULL, NULL, 1, two, parameters)
          == NULL, "more parameters than inputs");
    CHECK(ad_ceres_add(problem, NULL, NULL, NULL, NULL, 1, size, parameters)
          == NULL, "no model");
    CHECK(ad_ceres_add(NULL, m, NULL, NULL, NULL, 1, size, parameters) == NULL
          && ad_ceres_add(problem, m, NULL, NULL, NULL, 1, NULL, parameters)
             == NULL
          && ad_ceres_add(problem, m, NULL, NULL, NULL, 1, size, NULL) == NULL
          && ad_ceres_add(problem, m, NULL, NULL, NULL, 1, &minus, parameters)
             == NULL, "no problem, no sizes, no parameters, a size below 0");
    ceres_free_problem(problem);
    ad_model_free(m);

    m = ad_model_vector(frozen_residual, NULL, 2, 1);
    problem = ceres_create_problem();
    CHECK(ad_ceres_add(problem, m, NULL, NULL, NULL, 1, size, parameters)
          == NULL, "no data for the other input");
    x[0] = x[1] = 3;
    CHECK(ad_ceres_add(problem, m, NULL, NULL, NULL, 1, two, parameters)
          != NULL, "block");
    solve(problem);
    CHECK(x[0] == 3 && x[1] == 3 && ad_model_status(m) == ADREV_EFROZEN,
          "stops: %s", ad_message(ad_model_status(m)));
    ceres_free_problem(problem);
    ad_model_free(m);
}

int main(void)
{
    CHECK(freopen("/dev/null", "w", stderr) != NULL, "its log");
    ceres_init();
    test_misra1a(true);
    test_misra1a(false);
    test_loss();
    test_derivatives();
    test_failures();
    return check_done("ceres");
}
