// SPDX-License-Identifier: MIT-0
// tags: recorded
/* model.c - adrev_model.h: what the adapters of optimisers share.
 *
 * Values and derivatives on two paths; which statuses stop a model and which
 * belong to a point; clearing; recorded functions of the user's.             */

#include "implementation.h"
#include "adrev_function.h"

#include <adrev_model.h>

#include "check.h"
#include "solvers.h"

static void test_derivatives(void)
{
    ad_model *m = ad_model_vector(hs071, NULL, 4, 3);
    const double x[4] = { 1.5, 4.25, 3.5, 1.25 }, v[4] = { 1, -2, 0.5, 3 };
    const double w[3] = { 1, -0.5, 2 };
    double y[3], J[12], J2[12], dy[3], dx[4], hv[4], t[9];
    ld want[12], yl[3], xl[4], bend[3];

    CHECK(ad_model_inputs(m) == 4 && ad_model_outputs(m) == 3, "sizes");
    difference_jacobian(hs071_ld, NULL, 4, x, 3, want);
    difference_bend(hs071_ld, NULL, 4, x, v, 3, bend);
    for (int i = 0; i < 4; i++)
        xl[i] = (ld)x[i];
    hs071_ld(xl, yl, NULL);
    CHECK(ad_model_linearize(m, x, y, J) == ADREV_OK
          && solvers_near(3, y, yl, 1e-15L)
          && solvers_near(12, J, want, 1e-13L), "linearize");
    CHECK(ad_model_jacobian(m, x, J2) == ADREV_OK
          && solvers_near(12, J2, want, 1e-13L), "jacobian");
    CHECK(ad_model_jvp(m, x, v, dy) == ADREV_OK, "jvp");
    CHECK(ad_model_vjp(m, x, w, dx) == ADREV_OK, "vjp");
    for (int i = 0; i < 3; i++) {
        ld sum = 0;
        for (int j = 0; j < 4; j++)
            sum += want[i * 4 + j] * (ld)v[j];
        CHECK_NEAR(dy[i], sum, 1e-12L);
    }
    for (int j = 0; j < 4; j++) {
        ld sum = 0;
        for (int i = 0; i < 3; i++)
            sum += want[i * 4 + j] * (ld)w[i];
        CHECK_NEAR(dx[j], sum, 1e-12L);
    }
    CHECK(ad_model_hvp(m, x, w, v, hv) == ADREV_OK, "hvp");
    ld bent = 0, vhv = 0;
    for (int i = 0; i < 3; i++)
        bent += (ld)w[i] * bend[i];
    for (int j = 0; j < 4; j++)
        vhv += (ld)hv[j] * (ld)v[j];
    CHECK_NEAR(vhv, bent, 1e-10L);
    CHECK(ad_model_taylor(m, x, v, 2, t) == ADREV_OK, "taylor");
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(2 * t[6 + i], bend[i], 1e-9L);
    CHECK(ad_model_status(m) == ADREV_OK, "status");
    ad_model_free(m);
}

static void test_paths(void)
{
    int runs = 0;
    ad_model *m = ad_model_scalar(two_paths, &runs, 2);
    const double left[2] = { -1, 3 }, right[2] = { 5, 2 };
    double y = 0, g[2];
    CHECK(ad_model_gradient(m, left, &y, g) == ADREV_OK && y == 8
          && g[0] == -4 && g[1] == 4, "left: %g", y);
    CHECK(ad_model_gradient(m, right, &y, g) == ADREV_OK && y == 8
          && g[0] == 2 && g[1] == 2, "right: %g", y);
    const int recorded = runs;
    CHECK(ad_model_eval(m, left, &y) == ADREV_OK && y == 8
          && ad_model_eval(m, right, &y) == ADREV_OK && y == 8
          && runs == recorded, "known paths are not recorded again");
    CHECK(ad_model_clear(m) == ADREV_OK
          && ad_model_eval(m, left, &y) == ADREV_OK && runs > recorded,
          "recorded again after clear");
    ad_model_free(m);
}

// A recorded function has its path only; that it has no value elsewhere does
// not stop the model.
static void test_of_function(void)
{
    const double left[2] = { -1, 3 }, right[2] = { 5, 2 };
    ad_model *paths = ad_model_scalar(two_paths, NULL, 2);
    double y = 7;
    CHECK(ad_model_of(NULL) == NULL && ad_model_scalar(NULL, NULL, 1) == NULL
          && ad_model_vector(NULL, NULL, 1, 1) == NULL, "no function");
    CHECK(ad_model_eval(paths, left, &y) == ADREV_OK, "recorded");
    const size_t one = 1;
    ad_fn *chosen = NULL;
    CHECK(ad_fn_select(&chosen, paths->fn, 1, &one, 0, NULL) == ADREV_OK
          && ad_model_of(chosen) == NULL, "a function with parameters");
    ad_fn_free(chosen);
    ad_model *m = ad_model_of(paths->fn);
    CHECK(ad_model_eval(m, right, &y) == ADREV_EPATH && y == 8
          && ad_model_status(m) == ADREV_EPATH && !m->stopped, "elsewhere");
    CHECK(ad_model_clear(m) == ADREV_OK && ad_model_status(m) == ADREV_OK,
          "cleared");
    CHECK(ad_model_eval(m, left, &y) == ADREV_OK && y == 8
          && ad_model_status(m) == ADREV_OK, "here");
    ad_model_free(m);
    ad_model_free(paths);
}

static void test_failures(void)
{
    const double x[2] = { 3, 2 }, behind[2] = { -3, 2 };
    const double nowhere[2] = { (double)NAN, 2 };
    double y = 7;
    ad_model *m = ad_model_scalar(frozen, NULL, 2);
    CHECK(ad_model_status(NULL) == ADREV_ENOMEM, "no model");
    CHECK(ad_model_eval(m, x, &y) == ADREV_EFROZEN && y == 7 && m->stopped,
          "frozen");
    m->scalar = rosenbrock;
    CHECK(ad_model_eval(m, x, &y) == ADREV_EFROZEN, "stays stopped");
    CHECK(ad_model_clear(m) == ADREV_OK && ad_model_eval(m, x, &y) == ADREV_OK
          && y == 4904, "until it is cleared: %g", y);
    ad_model_free(m);

    m = ad_model_scalar(wall_external, NULL, 2);
    CHECK(ad_model_eval(m, x, &y) == ADREV_OK, "external");
    CHECK(ad_model_eval(m, behind, &y) == ADREV_EEXTERNAL && !m->stopped,
          "no value there");
    CHECK(ad_model_eval(m, x, &y) == ADREV_OK
          && ad_model_status(m) == ADREV_OK, "but here again");
    ad_model_free(m);

    m = ad_model_scalar(two_paths, NULL, 2);
    CHECK(ad_model_eval(m, behind, &y) == ADREV_OK, "a path");
    size_t recordings = 0, after = 0;
    ad_traced_paths(m->traced, &recordings);
    (void)ad_model_eval(m, nowhere, &y);
    ad_traced_paths(m->traced, &after);
    CHECK(!m->stopped && after == recordings, "nothing is recorded at NaN");
    ad_model_free(m);
    ad_model_free(NULL);
}

int main(void)
{
    test_derivatives();
    test_paths();
    test_of_function();
    test_failures();
    return check_done("model");
}
