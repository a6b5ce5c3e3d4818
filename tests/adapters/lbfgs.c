// SPDX-License-Identifier: MIT-0
// tags: recorded
// needs: lbfgs.h -llbfgs
// libs: -llbfgs
/* lbfgs.c - adrev_lbfgs.h: known minima with every line search of libLBFGS,
 * gradients handed over against differences in long double, the rise beyond the
 * domain of a model, failures, memory.                                       */

#include "implementation.h"
#include "adrev_function.h"

#include <adrev_lbfgs.h>

#include "check.h"
#include "solvers.h"

static const int line_searches[] = {
    LBFGS_LINESEARCH_MORETHUENTE, LBFGS_LINESEARCH_BACKTRACKING_WOLFE,
    LBFGS_LINESEARCH_BACKTRACKING_STRONG_WOLFE,
    LBFGS_LINESEARCH_BACKTRACKING_ARMIJO
};
enum { LINE_SEARCHES = sizeof line_searches / sizeof *line_searches };

static int minimum(int search, ad_model *m, double x[], double *value)
{
    lbfgs_parameter_t p;
    lbfgs_parameter_init(&p);
    p.linesearch = search;
    p.epsilon = 1e-6;
    return ad_lbfgs(m, x, value, NULL, NULL, &p);
}

// Armijo's condition alone, the last one, does not keep the curvature positive
// that L-BFGS needs here.
static void test_rosenbrock(void)
{
    for (int s = 0; s < LINE_SEARCHES - 1; s++) {
        ad_model *m = ad_model_scalar(rosenbrock, NULL, 2);
        double x[2] = { -1.2, 1 }, value = 1;
        int code = minimum(line_searches[s], m, x, &value);
        CHECK(code == LBFGS_SUCCESS && value < 1e-12 && fabs(x[0] - 1) < 1e-5
              && fabs(x[1] - 1) < 1e-5 && ad_model_status(m) == ADREV_OK,
              "search %d: %d, f(%g, %g) = %g", line_searches[s], code, x[0],
              x[1], value);
        ad_model_free(m);
    }
}

// Chains of each length, with memory that ends where x does.
static ad_rev chain(const ad_rev *x, void *ctx)
{
    ad_rev y = { 0 };
    for (size_t i = 0; i < *(const size_t *)ctx; i++)
        ad_acc(&y, ad_sqr(ad_sub(x[i], i + 1)));
    return y;
}

static void test_sizes(void)
{
    for (size_t n = 1; n <= 19; n++) {
        ad_model *m = ad_model_scalar(chain, &n, n);
        double *x = malloc(n * sizeof *x);
        for (size_t i = 0; i < n; i++)
            x[i] = 0;
        int code = ad_lbfgs(m, x, NULL, NULL, NULL, NULL);
        bool right = code == LBFGS_SUCCESS;
        for (size_t i = 0; i < n; i++)
            right = right && fabs(x[i] - (double)(i + 1)) < 1e-4;
        CHECK(right, "%zu variables: %d", n, code);
        free(x);
        ad_model_free(m);
    }
}

// (x0 - 3)^2 + (x1 - 0.25)^2 + |x0| + |x1| is least at (2.5, 0).
static ad_rev square(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_add(ad_sqr(ad_sub(x[0], 3)), ad_sqr(ad_sub(x[1], 0.25))));
}

static void test_orthantwise(void)
{
    ad_model *m = ad_model_scalar(square, NULL, 2);
    double x[2] = { 1, 1 }, value = 0;
    lbfgs_parameter_t p;
    lbfgs_parameter_init(&p);
    p.linesearch = LBFGS_LINESEARCH_BACKTRACKING;
    p.orthantwise_c = 1;
    int code = ad_lbfgs(m, x, &value, NULL, NULL, &p);
    CHECK(code == LBFGS_SUCCESS && fabs(x[0] - 2.5) < 1e-5 && x[1] == 0,
          "%d: (%g, %g)", code, x[0], x[1]);
    ad_model_free(m);
}

static void test_wall(void)
{
    ad_scalar_fn *const walls[2] = { wall, wall_external };
    for (int w = 0; w < 2; w++)
        for (int s = 0; s < LINE_SEARCHES; s++) {
            ad_model *m = ad_model_scalar(walls[w], NULL, 2);
            double x[2] = { 5, 3 }, value = 0;
            int code = minimum(line_searches[s], m, x, &value);
            CHECK(code == LBFGS_SUCCESS && fabs(value - wall_least) < 1e-12
                  && ad_model_status(m) == ADREV_OK,
                  "search %d, wall %d: %d, f(%g, %g) = %g", line_searches[s],
                  w, code, x[0], x[1], value);
            ad_model_free(m);
        }
}

// What the line search is told: the gradient; beyond the wall, a parabola
// through the value and the slope at the last point, least at a twentieth.
static void test_derivatives(void)
{
    ad_model *m = ad_model_scalar(rosenbrock, NULL, 2);
    adx_lbfgs s = { m, NULL, NULL, false };
    double x[2] = { -1.2, 1 }, g[16];
    ld want[2];
    adx_model_room(m, 4);
    double value = adx_lbfgs_evaluate(&s, x, g, 16, 0);
    difference_jacobian(rosenbrock_ld, NULL, 2, x, 1, want);
    CHECK_NEAR(value, 24.2, 1e-15);
    CHECK(solvers_near(2, g, want, 1e-13L), "gradient");
    for (int i = 2; i < 16; i++)
        CHECK(g[i] == 0, "%d behind n", i);
    ad_model_free(m);

    m = ad_model_scalar(wall, NULL, 2);
    s.model = m;
    adx_model_room(m, 4);
    double from[2] = { 5, 3 }, g0[2], g1[2], beyond[2] = { -3, 2 };
    double v0 = adx_lbfgs_evaluate(&s, from, g0, 2, 0);
    double v1 = adx_lbfgs_evaluate(&s, beyond, g1, 2, 0);
    double slope0 = 0, slope1 = 0;
    for (int i = 0; i < 2; i++) {
        slope0 += g0[i] * (beyond[i] - from[i]);
        slope1 += g1[i] * (beyond[i] - from[i]);
    }
    CHECK_NEAR(slope1, -19 * slope0, 1e-14);            // v0 + slope0 t + ...
    CHECK_NEAR(v1, v0 + slope0 + (slope1 - slope0) / 2, 1e-14);
    ad_model_free(m);
}

static int told(void *instance, const lbfgsfloatval_t *x,
                const lbfgsfloatval_t *g, const lbfgsfloatval_t f,
                const lbfgsfloatval_t xnorm, const lbfgsfloatval_t gnorm,
                const lbfgsfloatval_t step, int n, int k, int evaluations)
{
    int *calls = instance;
    (void)x;
    (void)g;
    (void)f;
    (void)xnorm;
    (void)gnorm;
    (void)step;
    (void)k;
    (void)evaluations;
    CHECK(n == 2, "n is that of the model: %d", n);
    return ++*calls == 3 ? 42 : 0;
}

static void test_failures(void)
{
    ad_model *m = ad_model_scalar(frozen, NULL, 2);
    ad_model *good = ad_model_scalar(rosenbrock, NULL, 2);
    ad_model *nothing = ad_model_scalar(wall, NULL, 2);
    ad_model *pair = ad_model_vector(hs071, NULL, 4, 3);
    double x[4] = { 1, 2, 3, 4 }, value = 0;
    int calls = 0;
    for (int s = 0; s < LINE_SEARCHES; s++) {
        CHECK(ad_model_clear(m) == ADREV_OK, "clear");
        int code = minimum(line_searches[s], m, x, &value);
        CHECK(code == LBFGSERR_CANCELED && ad_model_status(m) == ADREV_EFROZEN
              && x[0] == 1 && x[1] == 2, "search %d: %d", s, code);
        x[0] = -1;
        code = minimum(line_searches[s], nothing, x, &value);
        CHECK(code == LBFGSERR_INVALIDPARAMETERS
              && ad_model_status(nothing) == ADREV_OK && x[0] == -1,
              "no value at first, search %d: %d", s, code);
        x[0] = 1;
    }
    CHECK(ad_lbfgs(NULL, x, &value, NULL, NULL, NULL) == LBFGSERR_OUTOFMEMORY,
          "no model");
    CHECK(ad_lbfgs(good, NULL, &value, NULL, NULL, NULL)
          == LBFGSERR_INVALIDPARAMETERS, "no x");
    CHECK(ad_lbfgs(pair, x, &value, NULL, NULL, NULL) == LBFGSERR_INVALID_N,
          "several outputs");
    CHECK(minimum(99, good, x, &value) == LBFGSERR_INVALID_LINESEARCH,
          "its own errors");
    x[0] = -1.2;
    CHECK(ad_lbfgs(good, x, &value, told, &calls, NULL) == 42 && calls == 3,
          "progress: %d calls", calls);
    ad_model_free(m);
    ad_model_free(good);
    ad_model_free(nothing);
    ad_model_free(pair);
}

static void test_paths(void)
{
    ad_model *m = ad_model_scalar(two_paths, NULL, 2);
    double x[2] = { 6, 3 }, value = 1;
    int code = ad_lbfgs(m, x, &value, NULL, NULL, NULL);
    CHECK(code == LBFGS_SUCCESS && value < 1e-9
          && ad_traced_paths(m->traced, NULL) == 2, "%d: %g", code, value);
    ad_model_free(m);
}

static void rosenbrock_vector(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = rosenbrock(x, ctx);
}

static void test_memory(void)
{
    double x[2] = { -1.2, 1 }, value = 0;
    ad_fn *fn = solvers_record(rosenbrock_vector, NULL, 2, x, 1);
    ad_model *m = ad_model_of(fn);
    CHECK(ad_lbfgs(m, x, &value, NULL, NULL, NULL) == 0, "first");
    const long before = solvers_allocations;
    x[0] = -1.2;
    CHECK(ad_lbfgs(m, x, &value, NULL, NULL, NULL) == 0 && before > 0
          && solvers_allocations == before, "%ld allocations",
          solvers_allocations - before);
    ad_model_free(m);
    ad_fn_free(fn);
}

int main(void)
{
    test_rosenbrock();
    test_sizes();
    test_orthantwise();
    test_wall();
    test_derivatives();
    test_failures();
    test_paths();
    test_memory();
    return check_done("lbfgs");
}
