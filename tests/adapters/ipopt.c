// SPDX-License-Identifier: MIT-0
// tags: recorded
// needs: coin/IpStdCInterface.h -lipopt
// libs: -lipopt
/* ipopt.c - adrev_ipopt.h: known solutions, Ipopt's own derivative checker,
 * patterns of several paths, failures, memory.                               */

#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "implementation.h"
#include "adrev_assemble.h"

#include <adrev_ipopt.h>

#include "check.h"
#include "solvers.h"

#define QUIET "print_level=0 sb=yes tol=1e-10 "

static const double low[4] = { 1, 1, 1, 1 }, high[4] = { 5, 5, 5, 5 };
static const double least[2] = { 25, 40 }, most[2] = { HUGE_VAL, 40 };

static ad_ipopt problem_of(ad_model *m)
{
    const ad_ipopt p = { .model = m, .options = QUIET };
    return p;
}

static void test_hs071(bool first_order)
{
    ad_model *m = ad_model_vector(hs071, NULL, 4, 3);
    ad_ipopt p = problem_of(m);
    double x[4] = { 1, 5, 5, 1 }, g[2], lambda[2], z_low[4], z_high[4];
    p.x_lower = low;
    p.x_upper = high;
    p.g_lower = least;
    p.g_upper = most;
    p.g = g;
    p.lambda = lambda;
    p.z_lower = z_low;
    p.z_upper = z_high;
    p.first_order = first_order;
    enum ApplicationReturnStatus found = ad_ipopt_solve(&p, x);
    CHECK(found == Solve_Succeeded && ad_model_status(m) == ADREV_OK, "%d",
          found);
    CHECK_NEAR(p.f, hs071_least, 1e-8);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(x[i], hs071_x[i], 1e-6);
    CHECK(fabs(g[0] - 25) < 1e-6 && fabs(g[1] - 40) < 1e-6, "constraints");
    // The gradient of the Lagrangian is zero: with derivatives by differences.
    ld J[12];
    difference_jacobian(hs071_ld, NULL, 4, x, 3, J);
    for (int i = 0; i < 4; i++) {
        ld sum = J[i] + (ld)lambda[0] * J[4 + i] + (ld)lambda[1] * J[8 + i]
               - (ld)z_low[i] + (ld)z_high[i];
        CHECK(fabsl(sum) < 1e-6L, "multipliers: %Lg", sum);
    }
    ad_model_free(m);
}

// Whether Ipopt's checker says that first and second derivatives are right. Its
// report goes to a file.
static bool checked(ad_ipopt *p, double x[])
{
    char line[300], file[] = "build/ipopt-XXXXXX", options[300];
    bool right = false;
    const int made = mkstemp(file);
    if (made < 0)
        return false;
    close(made);
    snprintf(options, sizeof options, QUIET "derivative_test=second-order "
             "derivative_test_tol=1e-5 file_print_level=5 output_file=%s",
             file);
    p->options = options;
    ad_ipopt_solve(p, x);
    FILE *f = fopen(file, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        right = right || strstr(line, "No errors detected by derivative check");
    if (f != NULL)
        fclose(f);
    remove(file);
    return right;
}

static void test_checker(void)
{
    ad_model *m = ad_model_vector(hs071, NULL, 4, 3);
    ad_ipopt p = problem_of(m);
    double x[4] = { 1.5, 4.25, 3.5, 1.25 };
    p.g_lower = least;
    p.g_upper = most;
    CHECK(checked(&p, x), "Ipopt's derivative checker");
    ad_model_free(m);
}

// Hock and Schittkowski No. 6, with n = 2: min (1 - x0)^2, 10 (x1 - x0^2) = 0.
static void hs006(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_sqr(ad_sub(1, x[0])));
    y[1] = ad_rec(ad_mul(10, ad_sub(x[1], ad_sqr(x[0]))));
}

static void rosenbrock_vector(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = rosenbrock(x, ctx);
}

// Without bounds, without constraints, with a fixed variable.
static void test_forms(void)
{
    const double zero = 0, fixed_low[2] = { -HUGE_VAL, 0.25 };
    const double fixed_high[2] = { HUGE_VAL, 0.25 };
    ad_model *m = ad_model_vector(hs006, NULL, 2, 2);
    ad_ipopt p = problem_of(m);
    double x[2] = { -1.2, 1 };
    p.g_lower = p.g_upper = &zero;
    CHECK(ad_ipopt_solve(&p, x) == Solve_Succeeded && fabs(x[0] - 1) < 1e-8
          && fabs(x[1] - 1) < 1e-8, "HS006: (%g, %g)", x[0], x[1]);
    ad_model_free(m);

    m = ad_model_scalar(rosenbrock, NULL, 2);
    p = problem_of(m);
    x[0] = -1.2;
    x[1] = 1;
    CHECK(ad_ipopt_solve(&p, x) == Solve_Succeeded && fabs(x[0] - 1) < 1e-8
          && p.f < 1e-15, "no constraints: (%g, %g)", x[0], x[1]);

    // d/dx0 of rosenbrock at x1 = 1/4: 400 x0^3 - 98 x0 - 2 = 0.
    p.x_lower = fixed_low;
    p.x_upper = fixed_high;
    x[0] = 1;
    CHECK(ad_ipopt_solve(&p, x) == Solve_Succeeded && x[1] == 0.25
          && fabs(400 * x[0] * x[0] * x[0] - 98 * x[0] - 2) < 1e-6,
          "fixed: (%g, %g)", x[0], x[1]);
    ad_model_free(m);
}

// The path of x0 >= 2 has a smaller Hessian than the one with the solution.
// Three paths with three patterns of the Jacobian besides.
static void branches(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = two_paths(x, ctx);
    y[1] = ad_rec(ad_sub(x[0], x[2]));
    if (ad_lt(x[0], 4))
        y[1] = ad_rec(ad_add(y[1], ad_mul(0.25, ad_sub(x[1], 1))));
    y[2] = x[2];
    if (ad_gt(x[2], 3))
        y[2] = ad_rec(ad_sub(ad_mul(x[2], x[2]), 6));
}

static void test_paths(void)
{
    const double equal[2] = { 0, -HUGE_VAL }, at_most[2] = { 0, 100 };
    ad_model *m = ad_model_vector(branches, NULL, 3, 3);
    ad_ipopt p = problem_of(m);
    double x[3] = { 6, 3, 6 };
    p.g_lower = equal;
    p.g_upper = at_most;
    enum ApplicationReturnStatus found = ad_ipopt_solve(&p, x);
    CHECK(found == Solve_Succeeded && fabs(x[0] - 1) < 1e-7
          && fabs(x[1] - 1) < 1e-7 && fabs(x[2] - 1) < 1e-7
          && ad_model_status(m) == ADREV_OK
          && ad_traced_paths(m->traced, NULL) >= 2, "%d: (%g, %g, %g)", found,
          x[0], x[1], x[2]);
    ad_model_free(m);
}

// Patterns are put together, and values go to the right places.
static void test_patterns(void)
{
    const double at[3][3] = { { 6, 3, 6 }, { 1, 2, 1 }, { 3, 2, 3.5 } };
    ad_model *m = ad_model_vector(branches, NULL, 3, 3);
    adx_ipopt s;
    ad_ipopt p = problem_of(m);
    memset(&s, 0, sizeof s);
    s.problem = &p;
    s.model = m;
    s.n = 3;
    s.m = 2;
    s.y = malloc(3 * sizeof *s.y);
    s.w = malloc(3 * sizeof *s.w);
    s.x = malloc(3 * sizeof *s.x);
    CHECK(adx_ipopt_pattern_begin(&s.jacobian, 3)
          && adx_ipopt_pattern_begin(&s.hessian, 0), "begin");
    for (int k = 0; k < 3; k++) {
        CHECK(adx_ipopt_values(&s, at[k], true)
              && adx_ipopt_learn(&s) == ADREV_OK && adx_ipopt_fit(&s), "learn");
    }
    const int told = (int)s.jacobian.count - 3, bent = (int)s.hessian.count;
    CHECK(told >= 4 && told <= 12 && bent >= 3 && bent <= 9,
          "%d and %d entries", told, bent);
    for (int k = 0; k < 3; k++) {
        double value[12], dense[9], J[9] = { 0 }, hessian[9], H[9];
        double lower[9] = { 0 }, gradient[3];
        int row[12], column[12];
        double x[3] = { at[k][0], at[k][1], at[k][2] };
        double lambda[2] = { 2, 3 };
        const double w[3] = { 0.5, 2, 3 };
        CHECK(adx_ipopt_jacobian(3, NULL, true, 2, told, row, column, NULL, &s)
              && adx_ipopt_jacobian(3, x, true, 2, told, NULL, NULL, value, &s)
              && adx_ipopt_gradient(3, x, false, gradient, &s)
              && ad_fn_jacobian(m->fn, x, dense) == ADREV_OK, "Jacobian");
        for (int e = 0; e < told; e++)      // Ipopt adds what is there twice
            J[3 * (row[e] + 1) + column[e]] += value[e];
        memcpy(J, gradient, sizeof gradient);
        for (int e = 0; e < 9; e++)
            CHECK(J[e] == dense[e], "point %d, J %d", k, e);
        CHECK(adx_ipopt_hessian(3, NULL, false, 0.5, 2, lambda, true, bent, row,
                                column, NULL, &s)
              && adx_ipopt_hessian(3, x, false, 0.5, 2, lambda, true, bent,
                                   NULL, NULL, hessian, &s)
              && ad_fn_hessian(m->fn, x, w, H) == ADREV_OK, "Hessian");
        for (int e = 0; e < bent; e++)
            lower[3 * row[e] + column[e]] += hessian[e];
        for (int e = 0; e < 9; e++)
            CHECK(lower[e] == (e / 3 < e % 3 ? 0 : H[e]), "point %d, H %d", k,
                  e);
    }
    adx_ipopt_free(&s);
    ad_model_free(m);
}

static void test_wall(void)
{
    ad_scalar_fn *const walls[2] = { wall, wall_external };
    for (int w = 0; w < 2; w++) {
        ad_model *m = ad_model_scalar(walls[w], NULL, 2);
        ad_ipopt p = problem_of(m);
        double x[2] = { 5, 3 };
        enum ApplicationReturnStatus found = ad_ipopt_solve(&p, x);
        CHECK(found == Solve_Succeeded && fabs(p.f - wall_least) < 1e-10
              && ad_model_status(m) == ADREV_OK, "%d: %g", found, p.f);
        x[0] = -1;
        found = ad_ipopt_solve(&p, x);
        CHECK(found == Invalid_Number_Detected && (w == 0 ||
              ad_model_status(m) == ADREV_EEXTERNAL), "no value: %d", found);
        ad_model_free(m);
    }
}

// A status that stops: in the third evaluation, while Ipopt runs.
static void late(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = two_paths(x, NULL);
    if (ad_lt(x[0], 2))
        y[0] = frozen(x, ctx);
}

static Bool third(Index mode, Index iteration, Number f, Number primal,
                  Number dual, Number mu, Number step, Number regularization,
                  Number dual_step, Number primal_step, Index trials,
                  void *user)
{
    int *calls = user;
    (void)mode, (void)iteration, (void)f, (void)primal, (void)dual, (void)mu;
    (void)step, (void)regularization, (void)dual_step, (void)primal_step;
    (void)trials;
    return ++*calls < 3;
}

static void test_failures(void)
{
    ad_model *m = ad_model_vector(late, NULL, 2, 1);
    ad_ipopt p = problem_of(m);
    double x[2] = { 6, 3 };
    int calls = 0;
    enum ApplicationReturnStatus found = ad_ipopt_solve(&p, x);
    CHECK(found != Solve_Succeeded && found != Solved_To_Acceptable_Level
          && ad_model_status(m) == ADREV_EFROZEN, "stops: %d", found);
    ad_model_free(m);

    m = ad_model_scalar(frozen, NULL, 2);
    p = problem_of(m);
    CHECK(ad_ipopt_solve(&p, x) == Invalid_Number_Detected
          && ad_model_status(m) == ADREV_EFROZEN, "stopped at first");
    ad_model_free(m);

    m = ad_model_scalar(rosenbrock, NULL, 2);
    p = problem_of(m);
    x[0] = -1.2;
    x[1] = 1;
    p.each = third;
    p.user = &calls;
    CHECK(ad_ipopt_solve(&p, x) == User_Requested_Stop && calls == 3,
          "each: %d calls", calls);
    p.each = NULL;
    p.options = QUIET "tol";
    CHECK(ad_ipopt_solve(&p, x) == Invalid_Option, "no value");
    p.options = QUIET "max_iter=2";
    x[0] = -1.2;
    CHECK(ad_ipopt_solve(&p, x) == Maximum_Iterations_Exceeded, "an integer");
    p.options = QUIET "mu_init=1.0 mu_strategy=adaptive max_iter=50";
    CHECK(ad_ipopt_solve(&p, x) == Solve_Succeeded, "three kinds of options");
    p.model = NULL;
    CHECK(ad_ipopt_solve(&p, x) == Insufficient_Memory, "no model");
    CHECK(ad_ipopt_solve(NULL, x) == Invalid_Problem_Definition
          && ad_ipopt_solve(&p, NULL) == Invalid_Problem_Definition,
          "no problem, no x");
    ad_model_free(m);
}

// A solve allocates, but no evaluation does: three iterations and twenty take
// the same.
static void test_memory(void)
{
    double x[2] = { -1.2, 1 };
    long taken[3];
    ad_fn *fn = solvers_record(rosenbrock_vector, NULL, 2, x, 1);
    ad_model *m = ad_model_of(fn);
    ad_ipopt p = problem_of(m);
    for (int k = 0; k < 3; k++) {
        const long before = solvers_allocations;
        p.options = k == 1 ? QUIET "max_iter=3" : QUIET;
        x[0] = -1.2;
        x[1] = 1;
        CHECK(ad_ipopt_solve(&p, x) == (k == 1 ? Maximum_Iterations_Exceeded
                                               : Solve_Succeeded), "solved");
        taken[k] = solvers_allocations - before;
    }
    CHECK(taken[0] > 0 && taken[1] == taken[2], "%ld and %ld allocations",
          taken[1], taken[2]);
    ad_model_free(m);
    ad_fn_free(fn);
}

/* --- a sum of elements ----------------------------------------------------- */

// A chain of links of length 1 between (0, 0) and (6, 0): its height is least,
// each link's length a constraint.
enum { LINKS = 8, JOINTS = 2 * (LINKS - 1) };

// x: one end, the other, and what is added to that one's place.
static void chain_link(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev across = ad_rec(ad_sub(ad_add(x[2], x[4]), x[0]));
    y[0] = ad_rec(ad_div(ad_add(x[1], x[3]), 2));
    y[1] = ad_rec(ad_sub(ad_add(ad_sqr(across), ad_sqr(ad_sub(x[3], x[1]))),
                         1));
}

static void chain(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev sum = { 0 };
    for (int k = 0; k < LINKS; k++) {
        ad_rev in[5] = { { 0 } }, out[2];
        if (k > 0)
            memcpy(in, x + 2 * (k - 1), 2 * sizeof *x);
        if (k < LINKS - 1)
            memcpy(in + 2, x + 2 * k, 2 * sizeof *x);
        in[4].v = k == LINKS - 1 ? 6 : 0;
        chain_link(in, out, ctx);
        sum = ad_rec(ad_add(sum, out[0]));
        y[1 + k] = out[1];
    }
    y[0] = sum;
}

static ad_assembly *new_chain(void)
{
    static const size_t ends[4] = { 0, 1, 2, 3 };
    const double at[5] = { 0, 0, 1, 1, 0 };
    int32_t variable[LINKS][4], parameter[LINKS], result[LINKS][2];
    ad_fn *all = NULL, *fn = NULL;
    ad_assembly *a = NULL;
    for (int k = 0; k < LINKS; k++) {
        for (int i = 0; i < 4; i++) {
            const int j = 2 * (k - 1) + i;
            variable[k][i] = j < JOINTS ? j : -1;
        }
        parameter[k] = k == LINKS - 1;
        result[k][0] = 0;
        result[k][1] = 1 + k;
    }
    CHECK(ad_fn_record(&all, chain_link, NULL, 5, at, 2) == ADREV_OK
          && ad_fn_select(&fn, all, 4, ends, 0, NULL) == ADREV_OK, "a link");
    const ad_elements kind = { fn, LINKS, variable[0], parameter, result[0] };
    CHECK(ad_fn_assemble(&a, NULL, JOINTS, 2, 1 + LINKS, 1, &kind) == ADREV_OK,
          "a chain");
    ad_fn_free(fn);
    ad_fn_free(all);
    return a;
}

static void test_elements(void)
{
    const double zero[LINKS] = { 0 };
    double x[2][JOINTS], f[2];
    ad_assembly *a = new_chain();
    ad_model *m[2] = { ad_model_vector(chain, NULL, JOINTS, 1 + LINKS),
                       ad_model_elements(a) };
    m[1]->p[1] = 6;
    for (int k = 0; k < 2; k++) {
        ad_ipopt p = problem_of(m[k]);
        p.g_lower = p.g_upper = zero;
        for (int i = 0; i < JOINTS; i++)
            x[k][i] = i % 2 ? -1 : 0.75 * (i / 2 + 1);
        CHECK(ad_ipopt_solve(&p, x[k]) == Solve_Succeeded
              && ad_model_status(m[k]) == ADREV_OK, "a chain, %d", k);
        f[k] = p.f;
        ad_model_free(m[k]);
    }
    CHECK_NEAR(f[1], f[0], 1e-9L);
    for (int i = 0; i < JOINTS; i++) {
        CHECK(fabs(x[1][i] - x[0][i]) < 1e-6, "joint %d: %g, %g", i, x[1][i],
              x[0][i]);
        // It hangs as in a mirror.
        const double mirrored = i % 2 ? x[1][JOINTS - i]
                                      : 6 - x[1][JOINTS - 2 - i];
        CHECK(fabs(x[1][i] - mirrored) < 1e-6, "joint %d: %g, %g", i, x[1][i],
              mirrored);
    }
    ad_assembly_free(a);
}

int main(void)
{
    test_elements();
    test_hs071(false);
    test_hs071(true);
    test_checker();
    test_forms();
    test_patterns();
    test_paths();
    test_wall();
    test_failures();
    test_memory();
    return check_done("ipopt");
}
