// SPDX-License-Identifier: MIT-0
// tags: recorded
// needs: nlopt.h -lnlopt
// libs: -lnlopt
/* nlopt.c - adrev_nlopt.h: known minima by many algorithms of NLopt, gradients
 * handed over against differences in long double, failures, memory.          */

#include "implementation.h"
#include "adrev_function.h"

#include <adrev_nlopt.h>

#include "check.h"
#include "solvers.h"

static const nlopt_algorithm by_gradient[] = {
    NLOPT_LD_SLSQP, NLOPT_LD_MMA, NLOPT_LD_CCSAQ, NLOPT_LD_LBFGS, NLOPT_LD_VAR1,
    NLOPT_LD_VAR2, NLOPT_LD_TNEWTON_PRECOND_RESTART
};
enum { ALGORITHMS = sizeof by_gradient / sizeof *by_gradient };

// From x by the algorithm, without constraints. Returns NLopt's result.
static nlopt_result minimum(nlopt_algorithm a, ad_model *m, double x[2],
                            double *value)
{
    nlopt_opt opt = nlopt_create(a, 2);
    CHECK(ad_nlopt_minimise(opt, m) == NLOPT_SUCCESS, "objective");
    nlopt_set_ftol_rel(opt, 1e-14);
    nlopt_set_maxeval(opt, 20000);
    nlopt_result result = nlopt_optimize(opt, x, value);
    nlopt_destroy(opt);
    return result;
}

static void test_rosenbrock(void)
{
    for (int a = 0; a < ALGORITHMS; a++) {
        ad_model *m = ad_model_scalar(rosenbrock, NULL, 2);
        double x[2] = { -1.2, 1 }, value = 0;
        nlopt_result result = minimum(by_gradient[a], m, x, &value);
        CHECK(result > 0 && value < 1e-9 && fabs(x[0] - 1) < 1e-4
              && fabs(x[1] - 1) < 1e-4, "%s: %d, f(%g, %g) = %g",
              nlopt_algorithm_name(by_gradient[a]), result, x[0], x[1], value);
        CHECK(ad_model_status(m) == ADREV_OK, "status");
        ad_model_free(m);
    }
}

// Objective and constraints of hs071, each a model of its own.
static ad_rev hs071_f(const ad_rev *x, void *ctx)
{
    ad_rev y[3];
    hs071(x, y, ctx);
    return y[0];
}

static void hs071_product(const ad_rev *x, ad_rev *c, void *ctx)
{
    ad_rev y[3];
    hs071(x, y, ctx);
    c[0] = ad_rec(ad_sub(25, y[1]));
}

static void hs071_squares(const ad_rev *x, ad_rev *c, void *ctx)
{
    ad_rev y[3];
    hs071(x, y, ctx);
    c[0] = ad_rec(ad_sub(y[2], 40));
}

static void test_hs071(void)
{
    ad_model *f = ad_model_scalar(hs071_f, NULL, 4);
    ad_model *product = ad_model_vector(hs071_product, NULL, 4, 1);
    ad_model *squares = ad_model_vector(hs071_squares, NULL, 4, 1);
    nlopt_opt opt = nlopt_create(NLOPT_LD_SLSQP, 4);
    double x[4] = { 1, 5, 5, 1 }, value = 0;
    const double tolerance = 1e-10;

    nlopt_set_lower_bounds1(opt, 1);
    nlopt_set_upper_bounds1(opt, 5);
    CHECK(ad_nlopt_minimise(opt, f) > 0
          && ad_nlopt_inequalities(opt, product, &tolerance) > 0
          && ad_nlopt_equalities(opt, squares, &tolerance) > 0, "set");
    nlopt_set_xtol_rel(opt, 1e-10);
    nlopt_set_maxeval(opt, 1000);
    nlopt_result result = nlopt_optimize(opt, x, &value);
    CHECK(result > 0, "%s", nlopt_result_to_string(result));
    CHECK_NEAR(value, hs071_least, 1e-7);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(x[i], hs071_x[i], 1e-5);

    // The first variable fixed at 1.5: the others are found.
    nlopt_set_lower_bound(opt, 0, 1.5);
    nlopt_set_upper_bound(opt, 0, 1.5);
    x[0] = 1.5;
    result = nlopt_optimize(opt, x, &value);
    CHECK(result > 0 && x[0] == 1.5 && value > hs071_least + 1
          && fabs(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] - 40)
             < 1e-8, "fixed: %d, %g", result, value);
    nlopt_destroy(opt);
    ad_model_free(f);
    ad_model_free(product);
    ad_model_free(squares);
}

// The problem of NLopt's tutorial, as a vector of constraints: least y with
// y >= (2x)^3 and y >= (1 - x)^3, at (1/3, 8/27). Its objective is sqrt(y).
static ad_rev root(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_sqrt(x[1]));
}

static void cubes(const ad_rev *x, ad_rev *c, void *ctx)
{
    (void)ctx;
    c[0] = ad_rec(ad_sub(ad_pow(ad_mul(2, x[0]), 3), x[1]));
    c[1] = ad_rec(ad_sub(ad_pow(ad_sub(1, x[0]), 3), x[1]));
}

static void test_vector_of_constraints(void)
{
    const nlopt_algorithm with[] = { NLOPT_LD_MMA, NLOPT_LD_CCSAQ,
                                     NLOPT_LD_SLSQP };
    for (int a = 0; a < 3; a++) {
        ad_model *f = ad_model_scalar(root, NULL, 2);
        ad_model *c = ad_model_vector(cubes, NULL, 2, 2);
        nlopt_opt opt = nlopt_create(with[a], 2);
        double x[2] = { 1.234, 5.678 }, value = 0;
        nlopt_set_lower_bound(opt, 1, 0);
        CHECK(ad_nlopt_minimise(opt, f) > 0
              && ad_nlopt_inequalities(opt, c, NULL) > 0, "set");
        nlopt_set_xtol_rel(opt, 1e-9);
        nlopt_set_maxeval(opt, 2000);
        nlopt_result result = nlopt_optimize(opt, x, &value);
        CHECK(result > 0 && fabs(x[0] - 1.0 / 3) < 1e-6
              && fabs(x[1] - 8.0 / 27) < 1e-6, "%s: %d, (%g, %g)",
              nlopt_algorithm_name(with[a]), result, x[0], x[1]);
        nlopt_destroy(opt);
        ad_model_free(f);
        ad_model_free(c);
    }
}

// What NLopt is given, as it is given.
static void test_derivatives(void)
{
    const double x[4] = { 1.5, 4.25, 3.5, 1.25 };
    ad_model *m = ad_model_vector(hs071, NULL, 4, 3);
    ad_model *f = ad_model_scalar(hs071_f, NULL, 4);
    double y[3], J[12], g[4];
    ld want[12];
    difference_jacobian(hs071_ld, NULL, 4, x, 3, want);
    adx_nlopt_values(3, y, 4, x, J, m);
    CHECK(solvers_near(12, J, want, 1e-13L), "Jacobian");
    double value = adx_nlopt_value(4, x, g, f);
    CHECK(solvers_near(4, g, want, 1e-13L), "gradient");
    CHECK(value == y[0] && value == adx_nlopt_value(4, x, NULL, f), "value");
    ad_model_free(m);
    ad_model_free(f);
}

// Of two constraints one has a value, of two more a gradient.
static void partly(const ad_rev *x, ad_rev *c, void *ctx)
{
    (void)ctx;
    c[0] = ad_rec(ad_mul(3, x[0]));
    c[1] = ad_rec(ad_log(x[0]));
    c[2] = ad_rec(ad_sqrt(x[1]));
    c[3] = ad_rec(ad_mul(5, x[1]));
}

static void test_partly(void)
{
    const double x[2] = { -1, 0 };
    const double values[4] = { -3, HUGE_VAL, HUGE_VAL, 0 };
    const double rows[8] = { 3, 0, 0, 0, 0, 0, 0, 5 };
    ad_model *m = ad_model_vector(partly, NULL, 2, 4);
    double c[4], J[8];
    adx_nlopt_values(4, c, 2, x, J, m);
    for (int i = 0; i < 4; i++)
        CHECK(c[i] == values[i], "constraint %d: %g", i, c[i]);
    for (int i = 0; i < 8; i++)
        CHECK(J[i] == rows[i], "entry %d: %g", i, J[i]);
    ad_model_free(m);
}

// No value in part of the plane: not a number, or a statement that fails.
static void test_wall(void)
{
    ad_scalar_fn *const walls[2] = { wall, wall_external };
    for (int w = 0; w < 2; w++)
        for (int a = 0; a < ALGORITHMS; a++) {
            ad_model *m = ad_model_scalar(walls[w], NULL, 2);
            double x[2] = { 5, 3 }, value = 0;
            nlopt_result result = minimum(by_gradient[a], m, x, &value);
            CHECK(result > 0 && fabs(value - wall_least) < 1e-6,
                  "%s, wall %d: %d, f(%g, %g) = %g",
                  nlopt_algorithm_name(by_gradient[a]), w, result, x[0], x[1],
                  value);
            ad_model_free(m);
        }
}

static ad_rev negative(const ad_rev *x, void *ctx)
{
    return ad_rec(ad_neg(wall(x, ctx)));
}

static void test_maximum(void)
{
    ad_model *m = ad_model_scalar(negative, NULL, 2);
    nlopt_opt opt = nlopt_create(NLOPT_LD_MMA, 2);
    double x[2] = { 5, 3 }, value = 0;
    CHECK(ad_nlopt_maximise(opt, m) > 0, "set");
    nlopt_set_ftol_rel(opt, 1e-12);
    CHECK(nlopt_optimize(opt, x, &value) > 0
          && fabs(value + wall_least) < 1e-8, "%g", value);
    x[0] = -1;
    CHECK(adx_nlopt_value(2, x, NULL, m) == -HUGE_VAL, "worst of a maximum");
    nlopt_destroy(opt);
    ad_model_free(m);
}

static void test_paths(void)
{
    int runs = 0;
    ad_model *m = ad_model_scalar(two_paths, &runs, 2);
    double x[2] = { 6, 3 }, value = 1;
    nlopt_result result = minimum(NLOPT_LD_SLSQP, m, x, &value);
    CHECK(result > 0 && value < 1e-12 && ad_model_status(m) == ADREV_OK
          && ad_traced_paths(m->traced, NULL) == 2, "%d: %g", result, value);
    ad_model_free(m);
}

static void test_failures(void)
{
    ad_model *m = ad_model_scalar(frozen, NULL, 2);
    ad_model *three = ad_model_scalar(rosenbrock, NULL, 3);
    ad_model *several = ad_model_vector(cubes, NULL, 2, 2);
    double x[2] = { 1, 2 }, value = 0;
    for (int a = 0; a < ALGORITHMS; a++) {
        CHECK(ad_model_clear(m) == ADREV_OK, "clear");
        nlopt_result result = minimum(by_gradient[a], m, x, &value);
        CHECK(result == NLOPT_FORCED_STOP
              && ad_model_status(m) == ADREV_EFROZEN, "%s: %d",
              nlopt_algorithm_name(by_gradient[a]), result);
    }
    nlopt_opt opt = nlopt_create(NLOPT_LD_LBFGS, 2);
    CHECK(ad_nlopt_minimise(opt, NULL) == NLOPT_OUT_OF_MEMORY, "no model");
    CHECK(ad_nlopt_minimise(NULL, m) == NLOPT_INVALID_ARGS, "no opt");
    CHECK(ad_nlopt_maximise(opt, three) == NLOPT_INVALID_ARGS, "inputs");
    CHECK(ad_nlopt_minimise(opt, several) == NLOPT_INVALID_ARGS, "outputs");
    CHECK(ad_nlopt_inequalities(opt, several, NULL) == NLOPT_INVALID_ARGS,
          "an algorithm without constraints");
    nlopt_destroy(opt);

    // Constraints that fail stop NLopt, too.
    ad_model *f = ad_model_scalar(rosenbrock, NULL, 2);
    opt = nlopt_create(NLOPT_LD_SLSQP, 2);
    CHECK(ad_model_clear(m) == ADREV_OK && ad_nlopt_minimise(opt, f) > 0
          && ad_nlopt_inequalities(opt, m, NULL) > 0, "set");
    CHECK(nlopt_optimize(opt, x, &value) == NLOPT_FORCED_STOP
          && ad_model_status(m) == ADREV_EFROZEN
          && ad_model_status(f) == ADREV_OK, "constraint");
    nlopt_destroy(opt);
    ad_model_free(m);
    ad_model_free(f);
    ad_model_free(three);
    ad_model_free(several);
}

// After the first solve, a second one allocates nothing of adrev's.
static void rosenbrock_vector(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = rosenbrock(x, ctx);
}

static void test_memory(void)
{
    const double start[2] = { -1.2, 1 };
    ad_fn *fn = solvers_record(rosenbrock_vector, NULL, 2, start, 1);
    ad_model *m = ad_model_of(fn);
    double x[2] = { -1.2, 1 }, value = 0;
    CHECK(minimum(NLOPT_LD_LBFGS, m, x, &value) > 0, "first");
    const long before = solvers_allocations;
    x[0] = -1.2;
    x[1] = 1;
    CHECK(minimum(NLOPT_LD_LBFGS, m, x, &value) > 0 && before > 0
          && solvers_allocations == before, "%ld allocations",
          solvers_allocations - before);
    ad_model_free(m);
    ad_fn_free(fn);
}

int main(void)
{
    test_rosenbrock();
    test_hs071();
    test_vector_of_constraints();
    test_derivatives();
    test_partly();
    test_wall();
    test_maximum();
    test_paths();
    test_failures();
    test_memory();
    return check_done("nlopt");
}
