// SPDX-License-Identifier: MIT-0
// tags: recorded
// needs: gsl/gsl_multifit_nlinear.h -lgsl
// libs: -lgsl -lgslcblas
/* gsl.c - adrev_gsl.h: fits with the certified values of NIST's Statistical
 * Reference Datasets (itl.nist.gov/div898/strd), known minima, derivatives
 * handed over against differences in long double, odeiv2, failures, memory.  */

#include "implementation.h"
#include "adrev_function.h"

#include <adrev_gsl.h>
#include <gsl/gsl_blas.h>

#include "check.h"
#include "solvers.h"

/* --- reference datasets -------------------------------------------------- */

typedef struct dataset {
    const char *name;
    ad_vector_fn *residuals;
    size_t n, p;
    const double *y, *x;
    double start[2][4];         // NIST's two
    double certified[4];
    double deviation[4];        // standard deviations, 0: not compared
    double squares;             // residual sum of squares
} dataset;

static const double misra_y[14] = { 10.07, 14.73, 17.94, 23.93, 29.61, 35.18,
    40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78 };
static const double misra_x[14] = { 77.6, 114.9, 141.1, 190.8, 239.9, 289.0,
    332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0 };
static const double mgh09_y[11] = { 1.957e-1, 1.947e-1, 1.735e-1, 1.6e-1,
    8.44e-2, 6.27e-2, 4.56e-2, 3.42e-2, 3.23e-2, 2.35e-2, 2.46e-2 };
static const double mgh09_x[11] = { 4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1,
    0.0833, 0.0714, 0.0625 };
static const double mgh10_y[16] = { 34780, 28610, 23650, 19630, 16370, 13720,
    11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872 };
static const double mgh10_x[16] = { 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100,
    105, 110, 115, 120, 125 };

static void misra1a(const ad_rev *b, ad_rev *r, void *ctx)
{
    const dataset *d = ctx;
    for (size_t i = 0; i < d->n; i++)
        r[i] = ad_rec(ad_sub(ad_mul(b[0], ad_sub(1, ad_exp(
                   ad_mul(ad_neg(b[1]), d->x[i])))), d->y[i]));
}

static void mgh09(const ad_rev *b, ad_rev *r, void *ctx)
{
    const dataset *d = ctx;
    for (size_t i = 0; i < d->n; i++) {
        const double x = d->x[i];
        ad_rev above = ad_rec(ad_mul(b[0], ad_add(x * x, ad_mul(x, b[1]))));
        ad_rev below = ad_rec(ad_add(ad_add(x * x, ad_mul(x, b[2])), b[3]));
        r[i] = ad_rec(ad_sub(ad_div(above, below), d->y[i]));
    }
}

static void mgh10(const ad_rev *b, ad_rev *r, void *ctx)
{
    const dataset *d = ctx;
    for (size_t i = 0; i < d->n; i++)
        r[i] = ad_rec(ad_sub(ad_mul(b[0], ad_exp(ad_div(
                   b[1], ad_add(d->x[i], b[2])))), d->y[i]));
}

static const dataset sets[] = {
    { "Misra1a", misra1a, 14, 2, misra_y, misra_x,
      { { 500, 0.0001 }, { 250, 0.0005 } },
      { 2.3894212918e+02, 5.5015643181e-04 },
      { 2.7070075241e+00, 7.2668688436e-06 }, 1.2455138894e-01 },
    { "MGH09", mgh09, 11, 4, mgh09_y, mgh09_x,
      { { 25, 39, 41.5, 39 }, { 0.25, 0.39, 0.415, 0.39 } },
      { 1.9280693458e-01, 1.9128232873e-01, 1.2305650693e-01,
        1.3606233068e-01 }, { 0 }, 3.0750560385e-04 },
    { "MGH10", mgh10, 16, 3, mgh10_y, mgh10_x,
      { { 2, 400000, 25000 }, { 0.02, 4000, 250 } },
      { 5.6096364710e-03, 6.1813463463e+03, 3.4522363462e+02 }, { 0 },
      8.7945855171e+01 },
};

// As a function of a model, so that GSL's own way to the solution is taken.
static gsl_multifit_nlinear_workspace *
fit(ad_model *m, const double start[], const gsl_multifit_nlinear_trs *trs,
    gsl_multifit_nlinear_fdf *fdf, int *code)
{
    gsl_multifit_nlinear_parameters p
        = gsl_multifit_nlinear_default_parameters();
    int info = 0;
    p.trs = trs;
    *fdf = ad_gsl_multifit_nlinear(m);
    gsl_multifit_nlinear_workspace *w = gsl_multifit_nlinear_alloc(
        gsl_multifit_nlinear_trust, &p, fdf->n, fdf->p);
    gsl_vector_const_view x = gsl_vector_const_view_array(start, fdf->p);
    *code = gsl_multifit_nlinear_init(&x.vector, fdf, w);
    if (*code == GSL_SUCCESS)
        *code = gsl_multifit_nlinear_driver(5000, 1e-14, 1e-14, 0, NULL, NULL,
                                            &info, w);
    return w;
}

static void compare(const dataset *d, const gsl_multifit_nlinear_workspace *w,
                    const char *trs)
{
    double squares = 0;
    gsl_blas_ddot(w->f, w->f, &squares);
    CHECK(fabs(squares / d->squares - 1) < 1e-9, "%s, %s: squares %.10g",
          d->name, trs, squares);
    for (size_t i = 0; i < d->p; i++)
        CHECK(fabs(gsl_vector_get(w->x, i) / d->certified[i] - 1) < 1e-6,
              "%s, %s: parameter %zu is %.10g", d->name, trs, i,
              gsl_vector_get(w->x, i));
    gsl_matrix *c = gsl_matrix_alloc(d->p, d->p);
    gsl_multifit_nlinear_covar(w->J, 0, c);
    for (size_t i = 0; i < d->p; i++) {
        double s = sqrt(gsl_matrix_get(c, i, i) * squares
                        / (double)(d->n - d->p));
        CHECK(d->deviation[i] == 0 || fabs(s / d->deviation[i] - 1) < 1e-6,
              "%s, %s: deviation %zu is %.10g", d->name, trs, i, s);
    }
    gsl_matrix_free(c);
}

static void test_reference_data(void)
{
    const gsl_multifit_nlinear_trs *const trs[2] = {
        gsl_multifit_nlinear_trs_lm, gsl_multifit_nlinear_trs_lmaccel
    };
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
        for (int t = 0; t < 2; t++) {
            const dataset *d = &sets[k];
            gsl_multifit_nlinear_fdf fdf;
            int code = 0;
            ad_model *m = ad_model_vector(d->residuals, (void *)(size_t)d, d->p,
                                          d->n);
            gsl_multifit_nlinear_workspace *w = fit(m, d->start[1], trs[t],
                                                    &fdf, &code);
            CHECK(ad_model_status(m) == ADREV_OK, "status");
            CHECK(fdf.nevaldf > 1 && (fdf.nevalfvv > 1) == (t == 1),
                  "derivatives of the model are used");
            compare(d, w, trs[t]->name);
            gsl_multifit_nlinear_free(w);
            ad_model_free(m);
        }
}

/* --- what is handed over ------------------------------------------------- */

// Vectors with strides, a matrix whose rows lie further apart.
static void test_derivatives(bool external)
{
    double x[8] = { 1.5, 0, 4.25, 0, 3.5, 0, 1.25, 0 };
    double v[8] = { 1, 0, -2, 0, 0.5, 0, 3, 0 };
    const double side[4] = { 1.5, 4.25, 3.5, 1.25 };
    const double along[4] = { 1, -2, 0.5, 3 };
    double J[3 * 7] = { 0 }, f[9] = { 0 }, fvv[9] = { 0 }, dense[12];
    ld want[12], bend[3], sl[4], y[3];
    ad_model *m = ad_model_vector(hs071, NULL, 4, 3);
    gsl_multifit_nlinear_fdf fdf = ad_gsl_multifit_nlinear(m);
    gsl_vector_view xs = gsl_vector_view_array_with_stride(x, 2, 4);
    gsl_vector_view vs = gsl_vector_view_array_with_stride(v, 2, 4);
    gsl_vector_view fs = gsl_vector_view_array_with_stride(f, 3, 3);
    gsl_vector_view bs = gsl_vector_view_array_with_stride(fvv, 3, 3);
    gsl_matrix_view Js = gsl_matrix_view_array_with_tda(J, 3, 4, 7);

    difference_jacobian(hs071_ld, NULL, 4, side, 3, want);
    difference_bend(hs071_ld, NULL, 4, side, along, 3, bend);
    for (int i = 0; i < 4; i++)
        sl[i] = (ld)side[i];
    hs071_ld(sl, y, NULL);
    CHECK(fdf.f(&xs.vector, fdf.params, &fs.vector) == GSL_SUCCESS
          && fdf.df(&xs.vector, fdf.params, &Js.matrix) == GSL_SUCCESS, "call");
    if (external)           // as for a model without Taylor coefficients
        CHECK(adx_gsl_bend(m, side, along, m->room + 8, m->room + 17, dense)
              == ADREV_OK, "bend");
    CHECK(fdf.fvv(&xs.vector, &vs.vector, fdf.params, &bs.vector)
          == GSL_SUCCESS, "fvv");
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(f[3 * i], y[i], 1e-15L);
        CHECK_NEAR(fvv[3 * i], bend[i], 1e-9L);
        if (external)
            CHECK_NEAR(dense[i], bend[i], 1e-9L);
    }
    for (int i = 0; i < 3; i++) {
        memcpy(dense + 4 * i, J + 7 * i, 4 * sizeof *dense);
        CHECK(J[7 * i + 4] == 0 && J[7 * i + 6] == 0, "between rows");
    }
    CHECK(solvers_near(12, dense, want, 1e-13L), "df");
    ad_model_free(m);
}

// A model with an external statement has second derivatives, too.
static void two_externals(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev back[2] = { x[1], x[0] };
    y[0] = wall_external(x, ctx);
    y[1] = wall_external(back, ctx);
    y[2] = ad_rec(ad_mul(x[0], x[1]));
}

static void test_external(void)
{
    double x[2] = { 0.5, 2 }, v[2] = { 3, -1 }, out[3];
    ad_model *m = ad_model_vector(two_externals, NULL, 2, 3);
    gsl_multifit_nlinear_fdf fdf = ad_gsl_multifit_nlinear(m);
    gsl_vector_view xs = gsl_vector_view_array(x, 2);
    gsl_vector_view vs = gsl_vector_view_array(v, 2);
    gsl_vector_view os = gsl_vector_view_array(out, 3);
    CHECK(fdf.fvv(&xs.vector, &vs.vector, fdf.params, &os.vector)
          == GSL_SUCCESS, "fvv");
    CHECK_NEAR(out[0], 9 / 0.25 + 2, 1e-14);
    CHECK_NEAR(out[1], 1 / 4.0 + 2 * 9, 1e-14);
    CHECK_NEAR(out[2], -6, 1e-14);
    CHECK(ad_model_status(m) == ADREV_OK, "status");
    ad_model_free(m);
}

/* --- minimisation -------------------------------------------------------- */

static int minimum(const gsl_multimin_fdfminimizer_type *type, ad_model *m,
                   double x[2], double *value)
{
    gsl_multimin_function_fdf fdf = ad_gsl_multimin(m);
    gsl_multimin_fdfminimizer *s = gsl_multimin_fdfminimizer_alloc(type, 2);
    gsl_vector_view at = gsl_vector_view_array(x, 2);
    gsl_multimin_fdfminimizer_set(s, &fdf, &at.vector, 1, 0.1);
    int code = GSL_CONTINUE;
    for (int k = 0; k < 20000 && code == GSL_CONTINUE; k++) {
        code = ad_gsl_multimin_iterate(s);
        if (code == GSL_SUCCESS)
            code = gsl_multimin_test_gradient(s->gradient, 1e-7);
    }
    *value = s->f;
    for (size_t i = 0; i < 2; i++)
        x[i] = gsl_vector_get(s->x, i);
    gsl_multimin_fdfminimizer_free(s);
    return code;
}

static void test_minima(void)
{
    const gsl_multimin_fdfminimizer_type *const types[] = {
        gsl_multimin_fdfminimizer_vector_bfgs2,
        gsl_multimin_fdfminimizer_vector_bfgs,
        gsl_multimin_fdfminimizer_conjugate_fr,
        gsl_multimin_fdfminimizer_conjugate_pr,
        gsl_multimin_fdfminimizer_steepest_descent
    };
    ad_scalar_fn *const f[4] = { rosenbrock, wall, wall_external, two_paths };
    const double start[4][2] = { { -1.2, 1 }, { 5, 3 }, { 5, 3 }, { 6, 3 } };
    const double least[4] = { 0, wall_least, wall_least, 0 };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int k = 0; k < 4; k++) {
            ad_model *m = ad_model_scalar(f[k], NULL, 2);
            double x[2] = { start[k][0], start[k][1] }, value = 0;
            int code = minimum(types[t], m, x, &value);
            // Without progress, it is where rounding lets it no further.
            CHECK((code == GSL_SUCCESS || code == GSL_ENOPROG)
                  && fabs(value - least[k]) < 1e-8
                  && ad_model_status(m) == ADREV_OK,
                  "%s, %d: %s, f(%g, %g) - least = %g", types[t]->name, k,
                  gsl_strerror(code), x[0], x[1], value - least[k]);
            ad_model_free(m);

            m = ad_model_scalar(frozen, NULL, 2);
            CHECK(minimum(types[t], m, x, &value) == GSL_EBADFUNC
                  && ad_model_status(m) == ADREV_EFROZEN, "%s stops",
                  types[t]->name);
            ad_model_free(m);
        }
}

static void test_minimum_strides(void)
{
    double x[4] = { -1.2, 0, 1, 0 }, g[6] = { 0 }, value = 0;
    const double side[2] = { -1.2, 1 };
    ld want[2];
    ad_model *m = ad_model_scalar(rosenbrock, NULL, 2);
    gsl_multimin_function_fdf fdf = ad_gsl_multimin(m);
    gsl_vector_view xs = gsl_vector_view_array_with_stride(x, 2, 2);
    gsl_vector_view gs = gsl_vector_view_array_with_stride(g, 3, 2);
    difference_jacobian(rosenbrock_ld, NULL, 2, side, 1, want);
    fdf.fdf(&xs.vector, fdf.params, &value, &gs.vector);
    CHECK_NEAR(value, 24.2, 1e-15);
    CHECK_NEAR(g[0], want[0], 1e-13L);
    CHECK_NEAR(g[3], want[1], 1e-13L);
    g[0] = g[3] = 0;
    fdf.df(&xs.vector, fdf.params, &gs.vector);
    CHECK_NEAR(g[0], want[0], 1e-13L);
    CHECK_NEAR(g[3], want[1], 1e-13L);
    CHECK_NEAR(fdf.f(&xs.vector, fdf.params), 24.2, 1e-15);
    ad_model_free(m);
}

/* --- failures ------------------------------------------------------------ */

// Residuals x0 - 2 and log(x0) - x1: the first step from (0.1, 9) leaves the
// domain. Least at (2, log 2), where they are 0.
static void logarithm(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_sub(ad_log(x[0]), x[1]));
    y[1] = ad_rec(ad_mul(3, ad_sub(x[1], log(2.0))));
}

static void frozen_residuals(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = frozen(x, ctx);
    y[1] = x[1];
}

static void test_fit_failures(void)
{
    const double far[2] = { 40, -3 }, wrong[2] = { -1, 0 };
    gsl_multifit_nlinear_fdf fdf;
    int code = 0;
    ad_model *m = ad_model_vector(logarithm, NULL, 2, 2);
    gsl_multifit_nlinear_workspace *w
        = fit(m, far, gsl_multifit_nlinear_trs_lm, &fdf, &code);
    CHECK(fabs(gsl_vector_get(w->x, 0) - 2) < 1e-9
          && ad_model_status(m) == ADREV_OK, "back from where there is no "
          "logarithm: %g", gsl_vector_get(w->x, 0));
    gsl_multifit_nlinear_free(w);
    w = fit(m, wrong, gsl_multifit_nlinear_trs_lm, &fdf, &code);
    CHECK(code == GSL_EBADFUNC, "no residuals at first: %d", code);
    gsl_multifit_nlinear_free(w);
    ad_model_free(m);

    m = ad_model_vector(frozen_residuals, NULL, 2, 2);
    w = fit(m, far, gsl_multifit_nlinear_trs_lmaccel, &fdf, &code);
    CHECK(code == GSL_EBADFUNC && ad_gsl_error(m) == GSL_EBADFUNC
          && ad_model_status(m) == ADREV_EFROZEN, "stops: %d", code);
    CHECK(ad_gsl_multimin(m).f == NULL, "several outputs");
    gsl_multifit_nlinear_free(w);
    ad_model_free(m);
    CHECK(ad_gsl_multimin(NULL).f == NULL
          && ad_gsl_multifit_nlinear(NULL).f == NULL
          && ad_gsl_error(NULL) == GSL_ENOMEM, "no model");
}

// With fvv: the model and its function keep all memory.
static void test_memory(void)
{
    const dataset *d = &sets[0];
    gsl_multifit_nlinear_fdf fdf;
    int code = 0;
    long before = 0;
    ad_fn *fn = solvers_record(misra1a, (void *)(size_t)d, 2, d->start[1], 14);
    ad_model *m = ad_model_of(fn);
    for (int k = 0; k < 2; k++) {
        before = solvers_allocations;
        gsl_multifit_nlinear_free(
            fit(m, d->start[1], gsl_multifit_nlinear_trs_lmaccel, &fdf, &code));
    }
    CHECK(before > 0 && solvers_allocations == before, "%ld allocations",
          solvers_allocations - before);
    ad_model_free(m);
    ad_fn_free(fn);
}

/* --- odeiv2 --------------------------------------------------------------- */

// A pendulum that is pushed: y'' = -sin y - p0 y' + p1 cos(t y').
static void pendulum(ad_rev t, const ad_rev *y, const ad_rev *p, ad_rev *rate,
                     void *ctx)
{
    (void)ctx;
    rate[0] = y[1];
    rate[1] = ad_rec(ad_sub(ad_mul(p[1], ad_cos(ad_mul(t, y[1]))),
                            ad_add(ad_sin(y[0]), ad_mul(p[0], y[1]))));
}

// x: y, t.
static void pendulum_ld(const ld *x, ld *rate, const void *ctx)
{
    (void)ctx;
    rate[0] = x[1];
    rate[1] = 0.75L * cosl(x[2] * x[1]) - sinl(x[0]) - 0.25L * x[1];
}

// y' = -p0 (y - cos t), stiff (Prothero and Robinson's kind): from 0.
static void chase(ad_rev t, const ad_rev *y, const ad_rev *p, ad_rev *rate,
                  void *ctx)
{
    (void)ctx;
    rate[0] = ad_rec(ad_mul(p[0], ad_sub(ad_cos(t), y[0])));
}

// Frees s.
static int integrate(ad_system *s, const gsl_odeiv2_step_type *type, double *y,
                     double end, ad_status *status)
{
    double t = 0;
    gsl_odeiv2_system system = ad_gsl_odeiv2(s);
    gsl_odeiv2_driver *driver
        = gsl_odeiv2_driver_alloc_y_new(&system, type, 1e-6, 1e-10, 1e-10);
    gsl_odeiv2_driver_set_nmax(driver, 100000);
    const int code = gsl_odeiv2_driver_apply(driver, &t, end, y);
    *status = ad_system_status(s);
    gsl_odeiv2_driver_free(driver);
    ad_system_free(s);
    return code;
}

static void test_ode_derivatives(void)
{
    const double x[3] = { 0.6, -1.1, 2.2 };
    double dfdy[4], dfdt[2], rate[2];
    ld J[6], f[2], lx[3];
    ad_system *s = ad_system_ode(pendulum, NULL, 2, 2);
    s->p[0] = 0.25;
    s->p[1] = 0.75;
    gsl_odeiv2_system system = ad_gsl_odeiv2(s);
    difference_jacobian(pendulum_ld, NULL, 3, x, 2, J);
    for (int i = 0; i < 3; i++)
        lx[i] = (ld)x[i];
    pendulum_ld(lx, f, NULL);
    const ld by_y[4] = { J[0], J[1], J[3], J[4] }, by_t[2] = { J[2], J[5] };
    CHECK(system.dimension == 2
          && GSL_ODEIV_FN_EVAL(&system, x[2], x, rate) == GSL_SUCCESS
          && solvers_near(2, rate, f, 1e-15L), "rates");
    CHECK(GSL_ODEIV_JA_EVAL(&system, x[2], x, dfdy, dfdt) == GSL_SUCCESS
          && solvers_near(4, dfdy, by_y, 1e-13L)
          && solvers_near(2, dfdt, by_t, 1e-13L), "df/dy and df/dt");
    ad_system_free(s);
}

static void test_odeiv2(void)
{
    const double k = 1e4, end = 2;
    double y = 0;
    ad_status status;
    ad_system *s = ad_system_ode(chase, NULL, 1, 1);
    s->p[0] = k;
    int code = integrate(s, gsl_odeiv2_step_msbdf, &y, end, &status);
    CHECK(code == GSL_SUCCESS && status == ADREV_OK, "stiff: %d", code);
    // k (k cos t + sin t) / (k^2 + 1); what began at 0 is gone. Stiff steps of
    // 1e-10 each.
    CHECK_NEAR(y, k * (k * cos(end) + sin(end)) / (k * k + 1), 1e-8L);
    y = 1;
    code = integrate(ad_system_ode(sinking, NULL, 1, 0), gsl_odeiv2_step_rk8pd,
                     &y, 0.6, &status);
    CHECK(code == GSL_SUCCESS, "before there is no value: %d", code);
    CHECK_NEAR(y, powl(0.1L, 2.0L / 3), 1e-7L);         // (1 - 3t/2)^(2/3)
    y = 1;
    code = integrate(ad_system_ode(sinking, NULL, 1, 0), gsl_odeiv2_step_rk8pd,
                     &y, 2, &status);
    CHECK(code != GSL_SUCCESS && code != GSL_EBADFUNC && status == ADREV_OK,
          "shorter steps do not help beyond: %d", code);
    y = 3;
    code = integrate(ad_system_ode(frozen_rate, NULL, 1, 0),
                     gsl_odeiv2_step_rkf45, &y, 1, &status);
    CHECK(code == GSL_EBADFUNC && status == ADREV_EFROZEN, "stops: %d", code);
    CHECK(ad_gsl_odeiv2(NULL).function == NULL, "no system");
}

int main(void)
{
    test_reference_data();
    test_derivatives(false);
    test_derivatives(true);
    test_external();
    test_minima();
    test_minimum_strides();
    test_fit_failures();
    test_memory();
    test_ode_derivatives();
    gsl_set_error_handler_off();        // odeiv2 itself calls it
    test_odeiv2();
    return check_done("gsl");
}
