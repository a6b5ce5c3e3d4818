// SPDX-License-Identifier: MIT-0
/* adapters.c - what optimisers, CVODES, KINSOL and odeiv2 cost with adrev's
 * derivatives, with derivatives written by hand, and with finite differences.
 *                                                 sh bench/alone.sh adapters
 *
 *     adapters [-r rounds]
 *
 * Each row is a solution of the same problem by the same library from the same
 * start, in seconds of CPU of its own. `first` includes recording and the
 * programs of the derivatives; `again` has a model that was used before. Each
 * way must end at the same minimum.
 *
 * By hand is what users of these libraries do who care; differences are Ipopt's
 * own (jacobian_approximation), GSL's own (df = NULL), SUNDIALS' own (no
 * Jacobian function), and for the others forward ones. Not representative:
 * functions of a few operations, which flatter differences and derivatives by
 * hand. */

#define ADREV_IMPLEMENTATION
#include "adrev_gsl.h"
#include "adrev_ipopt.h"
#include "adrev_lbfgs.h"
#include "adrev_nlopt.h"
#include "adrev_sundials.h"
#include "examples/cart_pole.h"
#include "examples/packing.h"
#include "report.h"

#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>

typedef enum way { HAND, DIFFERENCES, FIRST, AGAIN, WAYS } way;

static long evaluations;            // of the plain function

static double cpu(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* --- libLBFGS: Rosenbrock's function of 1000 variables --------------------- */

enum { ROSENBROCK = 1000 };

static ad_rev rosenbrock(const ad_rev *x, void *ctx)
{
    ad_rev y = { 0 };
    (void)ctx;
    for (int i = 0; i < ROSENBROCK; i += 2)
        ad_acc(&y, ad_add(ad_sqr(ad_sub(1, x[i])),
                          ad_mul(100, ad_sqr(ad_sub(x[i + 1],
                                                    ad_sqr(x[i]))))));
    return y;
}

static double rosenbrock_plain(const double *x)
{
    double y = 0;
    for (int i = 0; i < ROSENBROCK; i += 2) {
        const double a = 1 - x[i], b = x[i + 1] - x[i] * x[i];
        y += a * a + 100 * b * b;
    }
    evaluations++;
    return y;
}

static double rosenbrock_hand(void *user, const double *x, double *g,
                              const int n, const double step)
{
    (void)user;
    (void)n;
    (void)step;
    for (int i = 0; i < ROSENBROCK; i += 2) {
        const double b = x[i + 1] - x[i] * x[i];
        g[i] = -2 * (1 - x[i]) - 400 * x[i] * b;
        g[i + 1] = 200 * b;
    }
    return rosenbrock_plain(x);
}

static double rosenbrock_differences(void *user, const double *x, double *g,
                                     const int n, const double step)
{
    double *at = user;
    const double y = rosenbrock_plain(x);
    (void)n;
    (void)step;
    memcpy(at, x, ROSENBROCK * sizeof *x);
    for (int i = 0; i < ROSENBROCK; i++) {
        const double h = 1e-8 * fmax(1, fabs(x[i]));
        at[i] = x[i] + h;
        g[i] = (rosenbrock_plain(at) - y) / h;
        at[i] = x[i];
    }
    return y;
}

static double solve_lbfgs(way how, ad_model *m)
{
    static double at[ROSENBROCK];
    double value = HUGE_VAL, *x = lbfgs_malloc(ROSENBROCK);
    for (int i = 0; i < ROSENBROCK; i++)
        x[i] = i % 2 ? 1 : -1.2;
    if (how >= FIRST)
        ad_lbfgs(m, x, &value, NULL, NULL, NULL);
    else
        lbfgs(ROSENBROCK, x, &value, how == HAND ? rosenbrock_hand
                                                 : rosenbrock_differences,
              NULL, at, NULL);
    lbfgs_free(x);
    return value;
}

static ad_model *model_rosenbrock(void)
{
    return ad_model_scalar(rosenbrock, NULL, ROSENBROCK);
}

/* --- GSL's multimin: the same ---------------------------------------------- */

static double rosenbrock_f(const gsl_vector *x, void *user)
{
    (void)user;
    return rosenbrock_plain(x->data);
}

// room: for differences; NULL: by hand.
static void rosenbrock_fdf(const gsl_vector *x, void *room, double *value,
                           gsl_vector *g)
{
    *value = room == NULL
           ? rosenbrock_hand(NULL, x->data, g->data, ROSENBROCK, 0)
           : rosenbrock_differences(room, x->data, g->data, ROSENBROCK, 0);
}

static void rosenbrock_df(const gsl_vector *x, void *room, gsl_vector *g)
{
    double value;
    rosenbrock_fdf(x, room, &value, g);
}

static double solve_multimin(way how, ad_model *m)
{
    static double start[ROSENBROCK], room[ROSENBROCK];
    gsl_multimin_function_fdf f
        = { rosenbrock_f, rosenbrock_df, rosenbrock_fdf, ROSENBROCK,
            how == DIFFERENCES ? room : NULL };
    if (how >= FIRST)
        f = ad_gsl_multimin(m);
    for (int i = 0; i < ROSENBROCK; i++)
        start[i] = i % 2 ? 1 : -1.2;
    gsl_vector_view x = gsl_vector_view_array(start, ROSENBROCK);
    gsl_multimin_fdfminimizer *s = gsl_multimin_fdfminimizer_alloc(
        gsl_multimin_fdfminimizer_vector_bfgs2, ROSENBROCK);
    gsl_multimin_fdfminimizer_set(s, &f, &x.vector, 0.01, 0.1);
    for (int i = 0; i < 500; i++) {
        const int code = how >= FIRST ? ad_gsl_multimin_iterate(s)
                                      : gsl_multimin_fdfminimizer_iterate(s);
        if (code != GSL_SUCCESS
            || gsl_multimin_test_gradient(s->gradient, 1e-5) == GSL_SUCCESS)
            break;
    }
    const double found = s->f;
    gsl_multimin_fdfminimizer_free(s);
    return found;
}

/* --- NLopt: ten circles in a square, by SLSQP ------------------------------ */

// Values and, unless it is NULL, the Jacobian.
static void overlaps_plain(const double *x, double *c, double *J)
{
    evaluations++;
    if (J != NULL)
        memset(J, 0, sizeof *J * LIMITS * PACKING);
    for (int i = 0, row = 0; i < CIRCLES; i++) {
        const double *a = x + 1 + 2 * i;
        for (int j = 0; j < i; j++, row++) {
            const double *b = x + 1 + 2 * j;
            const double u = a[0] - b[0], v = a[1] - b[1];
            c[row] = 4 * x[0] * x[0] - (u * u + v * v);
            if (J != NULL) {
                double *r = J + row * PACKING;
                r[0] = 8 * x[0];
                r[1 + 2 * i] = -2 * u;
                r[2 + 2 * i] = -2 * v;
                r[1 + 2 * j] = 2 * u;
                r[2 + 2 * j] = 2 * v;
            }
        }
        for (int k = 0; k < 2; k++, row += 2) {
            c[row] = x[0] - a[k];
            c[row + 1] = x[0] + a[k] - 1;
            if (J != NULL) {
                J[row * PACKING] = J[(row + 1) * PACKING] = 1;
                J[row * PACKING + 1 + 2 * i + k] = -1;
                J[(row + 1) * PACKING + 1 + 2 * i + k] = 1;
            }
        }
    }
}

static double radius_plain(unsigned n, const double *x, double *g, void *user)
{
    (void)user;
    if (g != NULL) {
        memset(g, 0, n * sizeof *g);
        g[0] = 1;
    }
    return x[0];
}

static void overlaps_hand(unsigned m, double *c, unsigned n, const double *x,
                          double *J, void *user)
{
    (void)m;
    (void)n;
    (void)user;
    overlaps_plain(x, c, J);
}

static void overlaps_differences(unsigned m, double *c, unsigned n,
                                 const double *x, double *J, void *user)
{
    double at[PACKING], beside[LIMITS];
    (void)user;
    overlaps_plain(x, c, NULL);
    if (J == NULL)
        return;
    memcpy(at, x, sizeof at);
    for (unsigned j = 0; j < n; j++) {
        at[j] = x[j] + 1e-8;
        overlaps_plain(at, beside, NULL);
        for (unsigned i = 0; i < m; i++)
            J[i * n + j] = (beside[i] - c[i]) / 1e-8;
        at[j] = x[j];
    }
}

static double solve_nlopt(way how, ad_model *m)
{
    ad_model *f = ad_model_scalar(radius, NULL, PACKING);
    nlopt_opt opt = nlopt_create(NLOPT_LD_SLSQP, PACKING);
    double x[PACKING], value = 0, tolerance[LIMITS];
    for (int i = 0; i < LIMITS; i++)
        tolerance[i] = 1e-9;
    x[0] = 0.1;
    for (int i = 0; i < CIRCLES; i++) {     // rows of 3, 2, 3, 2
        const int row = i / 5 * 2 + i % 5 / 3, at = i % 5 % 3;
        x[1 + 2 * i] = row % 2 ? 0.33 + 0.35 * at : 0.15 + 0.34 * at;
        x[2 + 2 * i] = 0.14 + 0.24 * row;
    }
    if (how >= FIRST) {
        ad_nlopt_maximise(opt, f);
        ad_nlopt_inequalities(opt, m, tolerance);
    } else {
        nlopt_set_max_objective(opt, radius_plain, NULL);
        nlopt_add_inequality_mconstraint(opt, LIMITS, how == HAND
                                         ? overlaps_hand : overlaps_differences,
                                         NULL, tolerance);
    }
    nlopt_set_lower_bounds1(opt, 0);
    nlopt_set_upper_bounds1(opt, 1);
    nlopt_set_xtol_rel(opt, 1e-8);
    nlopt_set_maxeval(opt, 500);
    nlopt_optimize(opt, x, &value);
    nlopt_destroy(opt);
    ad_model_free(f);
    return value;
}

static ad_model *model_nlopt(void)
{
    return ad_model_vector(overlaps, NULL, PACKING, LIMITS);
}

/* --- GSL: MGH10 of NIST, with geodesic acceleration ------------------------ */

enum { READINGS = 16 };

static const double ohms[READINGS] = {
    34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744,
    8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872
};

static void misfits(const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < READINGS; i++) {
        ad_rev power = ad_rec(ad_div(p[1], ad_add(50 + 5 * i, p[2])));
        r[i] = ad_rec(ad_sub(ad_mul(p[0], ad_exp(power)), ohms[i]));
    }
}

static int misfits_plain(const gsl_vector *p, void *user, gsl_vector *r)
{
    const double *x = p->data;
    (void)user;
    evaluations++;
    for (size_t i = 0; i < READINGS; i++) {
        const double t = 50 + 5 * (double)i + x[2];
        gsl_vector_set(r, i, x[0] * exp(x[1] / t) - ohms[i]);
    }
    return GSL_SUCCESS;
}

static int misfits_df(const gsl_vector *p, void *user, gsl_matrix *J)
{
    const double *x = p->data;
    (void)user;
    for (size_t i = 0; i < READINGS; i++) {
        const double t = 50 + 5 * (double)i + x[2], e = exp(x[1] / t);
        gsl_matrix_set(J, i, 0, e);
        gsl_matrix_set(J, i, 1, x[0] * e / t);
        gsl_matrix_set(J, i, 2, -x[0] * e * x[1] / (t * t));
    }
    return GSL_SUCCESS;
}

// e = exp(w), w = p1/t: with w' and w'' along v.
static int misfits_fvv(const gsl_vector *p, const gsl_vector *v, void *user,
                       gsl_vector *fvv)
{
    const double *x = p->data, *d = v->data;
    (void)user;
    for (size_t i = 0; i < READINGS; i++) {
        const double t = 50 + 5 * (double)i + x[2], e = exp(x[1] / t);
        const double w1 = d[1] / t - x[1] * d[2] / (t * t);
        const double w2 = -2 * d[1] * d[2] / (t * t)
                        + 2 * x[1] * d[2] * d[2] / (t * t * t);
        gsl_vector_set(fvv, i, 2 * d[0] * e * w1
                               + x[0] * e * (w1 * w1 + w2));
    }
    return GSL_SUCCESS;
}

static double solve_gsl(way how, ad_model *m)
{
    double start[3] = { 0.02, 4000, 250 }, sum = 0;
    int info = 0;
    gsl_multifit_nlinear_fdf fdf
        = { misfits_plain, how == HAND ? misfits_df : NULL,
            how == HAND ? misfits_fvv : NULL, READINGS, 3, NULL, 0, 0, 0 };
    gsl_multifit_nlinear_parameters p
        = gsl_multifit_nlinear_default_parameters();
    if (how >= FIRST)
        fdf = ad_gsl_multifit_nlinear(m);
    p.trs = gsl_multifit_nlinear_trs_lmaccel;
    gsl_multifit_nlinear_workspace *w = gsl_multifit_nlinear_alloc(
        gsl_multifit_nlinear_trust, &p, READINGS, 3);
    gsl_vector_view x = gsl_vector_view_array(start, 3);
    gsl_multifit_nlinear_init(&x.vector, &fdf, w);
    gsl_multifit_nlinear_driver(2000, 1e-8, 1e-8, 0, NULL, NULL, &info, w);
    for (size_t i = 0; i < READINGS; i++)
        sum += gsl_vector_get(w->f, i) * gsl_vector_get(w->f, i);
    gsl_multifit_nlinear_free(w);
    return sum;
}

static ad_model *model_gsl(void)
{
    return ad_model_vector(misfits, NULL, 3, READINGS);
}

/* --- Ipopt: a cart swings its pole up, 1005 variables ---------------------- */

enum { ENTRIES = 22 };              // of the Jacobian, for each step

// Rates and, unless it is NULL, d[2][3]: those of SPEED and SPIN with respect
// to angle, spin and force.
static void motion_plain(const double *x, double rate[4], double d[2][3])
{
    const double s = sin(x[ANGLE]), c = cos(x[ANGLE]), w = x[SPIN];
    const double pull = length * pole * s * w * w + x[FORCE];
    const double mass = cart + pole * s * s, bend = 2 * pole * s * c;
    const double by_angle = length * pole * c * w * w;
    const double by_spin = 2 * length * pole * s * w;
    rate[0] = x[SPEED];
    rate[1] = x[SPIN];
    rate[2] = (pull + pole * gravity * c * s) / mass;
    rate[3] = -(c * pull + (cart + pole) * gravity * s) / (length * mass);
    if (d == NULL)
        return;
    d[0][0] = (by_angle + pole * gravity * (c * c - s * s) - rate[2] * bend)
            / mass;
    d[0][1] = by_spin / mass;
    d[0][2] = 1 / mass;
    d[1][0] = -(c * by_angle - s * pull + (cart + pole) * gravity * c)
            / (length * mass) - rate[3] * bend / mass;
    d[1][1] = -c * by_spin / (length * mass);
    d[1][2] = -c / (length * mass);
}

static adx_ipopt_bool hand_f(adx_ipopt_index n, double *x, adx_ipopt_bool fresh,
                             double *f, void *user)
{
    const double h = seconds / STEPS;
    (void)n;
    (void)fresh;
    (void)user;
    *f = 0;
    for (int k = 0; k <= STEPS; k++)
        *f += (k == 0 || k == STEPS ? 0.5 * h : h)
            * x[k * EACH + FORCE] * x[k * EACH + FORCE];
    return true;
}

static adx_ipopt_bool hand_gradient(adx_ipopt_index n, double *x,
                                    adx_ipopt_bool fresh, double *g, void *user)
{
    const double h = seconds / STEPS;
    (void)fresh;
    (void)user;
    memset(g, 0, (size_t)n * sizeof *g);
    for (int k = 0; k <= STEPS; k++)
        g[k * EACH + FORCE] = (k == 0 || k == STEPS ? h : 2 * h)
                            * x[k * EACH + FORCE];
    return true;
}

static adx_ipopt_bool hand_g(adx_ipopt_index n, double *x, adx_ipopt_bool fresh,
                             adx_ipopt_index m, double *g, void *user)
{
    const double h = seconds / STEPS;
    double rate[2][4];
    (void)n;
    (void)m;
    (void)fresh;
    (void)user;
    evaluations++;
    motion_plain(x, rate[0], NULL);
    for (int k = 0; k < STEPS; k++) {
        const double *from = x + k * EACH, *to = from + EACH;
        motion_plain(to, rate[(k + 1) % 2], NULL);
        for (int i = 0; i < 4; i++)
            g[4 * k + i] = to[i] - from[i]
                         - 0.5 * h * (rate[0][i] + rate[1][i]);
    }
    return true;
}

// The variables of a moment on which each equation depends; -1: no more.
static const int depends[4][4] = {
    { PLACE, SPEED, -1, -1 }, { ANGLE, SPIN, -1, -1 },
    { ANGLE, SPEED, SPIN, FORCE }, { ANGLE, SPIN, FORCE, -1 }
};

static adx_ipopt_bool hand_jacobian(adx_ipopt_index n, double *x,
                                    adx_ipopt_bool fresh, adx_ipopt_index m,
                                    adx_ipopt_index count, adx_ipopt_index *row,
                                    adx_ipopt_index *column, double *value,
                                    void *user)
{
    const double h = seconds / STEPS;
    (void)n;
    (void)m;
    (void)fresh;
    (void)count;
    (void)user;
    for (int k = 0, e = 0; k < STEPS; k++)
        for (int side = 0; side < 2; side++) {
            double D[4][EACH] = { { 0 } }, d[2][3], rate[4];
            if (value != NULL) {
                motion_plain(x + (k + side) * EACH, rate, d);
                D[0][SPEED] = D[1][SPIN] = -0.5 * h;
                for (int i = 0; i < 2; i++) {
                    D[2 + i][ANGLE] = -0.5 * h * d[i][0];
                    D[2 + i][SPIN] = -0.5 * h * d[i][1];
                    D[2 + i][FORCE] = -0.5 * h * d[i][2];
                }
                for (int i = 0; i < 4; i++)
                    D[i][i] += side ? 1 : -1;
            }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4 && depends[i][j] >= 0; j++, e++) {
                    if (value != NULL) {
                        value[e] = D[i][depends[i][j]];
                        continue;
                    }
                    row[e] = 4 * k + i;
                    column[e] = (k + side) * EACH + depends[i][j];
                }
        }
    return true;
}

// Ipopt wants one, and does not call it.
static adx_ipopt_bool no_hessian(
    adx_ipopt_index n, double *x, adx_ipopt_bool fresh, double factor,
    adx_ipopt_index m, double *lambda, adx_ipopt_bool fresh_lambda,
    adx_ipopt_index count, adx_ipopt_index *row, adx_ipopt_index *column,
    double *value, void *user)
{
    (void)n, (void)x, (void)fresh, (void)factor, (void)m, (void)lambda;
    (void)fresh_lambda, (void)count, (void)row, (void)column, (void)value;
    (void)user;
    return false;
}

static void swing_bounds(double x[], double low[], double high[])
{
    const double most[EACH] = { 2, 20, 100, 100, 20 };
    for (int i = 0; i < VARIABLES; i++) {
        const int k = i / EACH, what = i % EACH;
        x[i] = (what == PLACE ? 1 : what == ANGLE ? pi : 0) * k / STEPS;
        low[i] = -most[what];
        high[i] = most[what];
        if (what != FORCE && (k == 0 || k == STEPS))
            low[i] = high[i] = x[i];
    }
}

static char quiet[] = "print_level=0 sb=yes tol=1e-7 max_iter=1000";
static char differences[] = "jacobian_approximation=finite-difference-values";
static char approximate[] = "hessian_approximation=limited-memory";
static bool exact = true;           // adrev's Hessian, too

static double solve_ipopt(way how, ad_model *m)
{
    static double x[VARIABLES], low[VARIABLES], high[VARIABLES];
    static double zero[EQUATIONS];
    double cost = 0;
    swing_bounds(x, low, high);
    if (how >= FIRST) {
        ad_ipopt p = { .model = m, .x_lower = low, .x_upper = high,
                       .g_lower = zero, .g_upper = zero, .options = quiet,
                       .first_order = !exact };
        ad_ipopt_solve(&p, x);
        return p.f;
    }
    IpoptProblem ipopt = CreateIpoptProblem(
        VARIABLES, low, high, EQUATIONS, zero, zero, ENTRIES * STEPS, 0, 0,
        hand_f, hand_g, hand_gradient, hand_jacobian, no_hessian);
    adx_ipopt_options(ipopt, quiet);
    adx_ipopt_options(ipopt, approximate);
    if (how == DIFFERENCES)
        adx_ipopt_options(ipopt, differences);
    IpoptSolve(ipopt, x, NULL, &cost, NULL, NULL, NULL, NULL);
    FreeIpoptProblem(ipopt);
    return cost;
}

static ad_model *model_ipopt(void)
{
    return ad_model_vector(swing, NULL, VARIABLES, 1 + EQUATIONS);
}

/* --- a Brusselator in one dimension, for CVODES and odeiv2 ------------------ */

// u' = 1 + u^2 v - 4 u + a u'', v' = 3 u - u^2 v + a v'', u = 1 and v = 3 at
// the ends (Hairer and Wanner); y = u0, v0, u1, v1, ...
enum { CELLS = 100, RATES = 2 * CELLS };

static const double spread = 0.02 * (CELLS + 1) * (CELLS + 1);     // a / h^2

static bool banded;                 // the matrix

static void brusselator(ad_rev t, const ad_rev *y, const ad_rev *p,
                        ad_rev *rate, void *ctx)
{
    (void)t;
    (void)p;
    (void)ctx;
    for (int i = 0; i < RATES; i++) {
        const ad_rev u = y[i & ~1], v = y[i | 1];
        const ad_rev end = { .v = i % 2 ? 3 : 1 };
        const ad_rev before = i < 2 ? end : y[i - 2];
        const ad_rev after = i >= RATES - 2 ? end : y[i + 2];
        const ad_rev far = ad_rec(ad_mul(spread,
                                         ad_sub(ad_add(before, after),
                                                ad_mul(2, y[i]))));
        rate[i] = i % 2
            ? ad_rec(ad_add(ad_sub(ad_mul(3, u), ad_mul(ad_sqr(u), v)), far))
            : ad_rec(ad_add(ad_add(ad_sub(ad_mul(ad_sqr(u), v), ad_mul(4, u)),
                                   1), far));
    }
}

static void brusselator_plain(const double *y, double *rate)
{
    evaluations++;
    for (int i = 0; i < RATES; i++) {
        const double u = y[i & ~1], v = y[i | 1], end = i % 2 ? 3 : 1;
        const double before = i < 2 ? end : y[i - 2];
        const double after = i >= RATES - 2 ? end : y[i + 2];
        rate[i] = (i % 2 ? 3 * u - u * u * v : 1 + u * u * v - 4 * u)
                + spread * (before + after - 2 * y[i]);
    }
}

// The Jacobian, entry by entry.
static void brusselator_hand(const double *y, void *to,
                             void (*enter)(void *to, int i, int j, double))
{
    for (int i = 0; i < RATES; i += 2) {
        const double u = y[i], v = y[i + 1];
        enter(to, i, i, 2 * u * v - 4 - 2 * spread);
        enter(to, i, i + 1, u * u);
        enter(to, i + 1, i, 3 - 2 * u * v);
        enter(to, i + 1, i + 1, -u * u - 2 * spread);
        for (int k = i; k < i + 2; k++) {
            if (k >= 2)
                enter(to, k, k - 2, spread);
            if (k < RATES - 2)
                enter(to, k, k + 2, spread);
        }
    }
}

static double brusselator_start(int i)
{
    return i % 2 ? 3 : 1 + sin(2 * pi * (i / 2 + 1) / (CELLS + 1));
}

/* --- CVODES ----------------------------------------------------------------- */

static int cvodes_plain(double t, N_Vector at, N_Vector to, void *user)
{
    (void)t;
    (void)user;
    brusselator_plain(NV_DATA_S(at), NV_DATA_S(to));
    return 0;
}

static void enter_cvodes(void *matrix, int i, int j, double value)
{
    SUNMatrix A = matrix;
    if (banded)
        SM_ELEMENT_B(A, i, j) = value;
    else
        SM_ELEMENT_D(A, i, j) = value;
}

static int cvodes_hand(double t, N_Vector at, N_Vector rate, SUNMatrix A,
                       void *user, N_Vector a, N_Vector b, N_Vector c)
{
    (void)t;
    (void)rate;
    (void)user;
    (void)a;
    (void)b;
    (void)c;
    brusselator_hand(NV_DATA_S(at), A, enter_cvodes);
    return 0;
}

// To t = 10. The value is the sum of all u there.
static double solve_cvodes(way how, ad_model *m)
{
    double t = 0, sum = 0;
    SUNContext context;
    SUNContext_Create(NULL, &context);
    N_Vector y = N_VNew_Serial(RATES, context);
    for (int i = 0; i < RATES; i++)
        NV_Ith_S(y, i) = brusselator_start(i);
    SUNMatrix A = banded ? SUNBandMatrix(RATES, 2, 2, context)
                         : SUNDenseMatrix(RATES, RATES, context);
    SUNLinearSolver solver = banded ? SUNLinSol_Band(y, A, context)
                                    : SUNLinSol_Dense(y, A, context);
    void *cvodes = CVodeCreate(CV_BDF, context);
    if (how >= FIRST)
        ad_cvodes_init(cvodes, (ad_system *)m->ctx, 0, y);
    else
        CVodeInit(cvodes, cvodes_plain, 0, y);
    CVodeSStolerances(cvodes, 1e-6, 1e-6);
    CVodeSetMaxNumSteps(cvodes, 5000);
    if (how >= FIRST)
        ad_cvodes_linear_solver(cvodes, solver, A);
    else
        CVodeSetLinearSolver(cvodes, solver, A);
    if (how == HAND)
        CVodeSetJacFn(cvodes, cvodes_hand);
    CVode(cvodes, 10, y, &t, CV_NORMAL);
    for (int i = 0; i < RATES; i += 2)
        sum += NV_Ith_S(y, i);
    CVodeFree(&cvodes);
    SUNLinSolFree(solver);
    SUNMatDestroy(A);
    N_VDestroy(y);
    SUNContext_Free(&context);
    return sum;
}

// Its context is the system.
static ad_model *model_brusselator(void)
{
    return ad_system_ode(brusselator, NULL, RATES, 0)->model;
}

/* --- GSL's odeiv2: the same ------------------------------------------------- */

static int odeiv2_plain(double t, const double y[], double rate[], void *user)
{
    (void)t;
    (void)user;
    brusselator_plain(y, rate);
    return GSL_SUCCESS;
}

static void enter_odeiv2(void *dfdy, int i, int j, double value)
{
    ((double *)dfdy)[i * RATES + j] = value;
}

static int odeiv2_hand(double t, const double y[], double *dfdy, double dfdt[],
                       void *user)
{
    (void)t;
    (void)user;
    memset(dfdy, 0, RATES * RATES * sizeof *dfdy);
    memset(dfdt, 0, RATES * sizeof *dfdt);
    brusselator_hand(y, dfdy, enter_odeiv2);
    return GSL_SUCCESS;
}

static int odeiv2_differences(double t, const double y[], double *dfdy,
                              double dfdt[], void *user)
{
    double at[RATES], rate[RATES], beside[RATES];
    (void)t;
    (void)user;
    memcpy(at, y, sizeof at);
    memset(dfdt, 0, RATES * sizeof *dfdt);
    brusselator_plain(y, rate);
    for (int j = 0; j < RATES; j++) {
        const double h = 1e-8 * fmax(1, fabs(y[j]));
        at[j] = y[j] + h;
        brusselator_plain(at, beside);
        for (int i = 0; i < RATES; i++)
            dfdy[i * RATES + j] = (beside[i] - rate[i]) / h;
        at[j] = y[j];
    }
    return GSL_SUCCESS;
}

static double solve_odeiv2(way how, ad_model *m)
{
    double y[RATES], t = 0, sum = 0;
    gsl_odeiv2_system system
        = { odeiv2_plain, how == HAND ? odeiv2_hand : odeiv2_differences,
            RATES, NULL };
    if (how >= FIRST)
        system = ad_gsl_odeiv2((ad_system *)m->ctx);
    for (int i = 0; i < RATES; i++)
        y[i] = brusselator_start(i);
    gsl_odeiv2_driver *driver = gsl_odeiv2_driver_alloc_y_new(
        &system, gsl_odeiv2_step_msbdf, 1e-6, 1e-6, 1e-6);
    gsl_odeiv2_driver_apply(driver, &t, 10, y);
    gsl_odeiv2_driver_free(driver);
    for (int i = 0; i < RATES; i += 2)
        sum += y[i];
    return sum;
}

/* --- KINSOL: heat of a reaction in a rod ------------------------------------ */

enum { ROD = 400 };                 // -y'' = 3 exp(y), y = 0 at both ends

static const double heating = 3.0 / ((ROD + 1) * (ROD + 1));

static void rod(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    const ad_rev end = { 0 };
    (void)p;
    (void)ctx;
    for (int i = 0; i < ROD; i++) {
        const ad_rev before = i > 0 ? y[i - 1] : end;
        const ad_rev after = i < ROD - 1 ? y[i + 1] : end;
        r[i] = ad_rec(ad_sub(ad_sub(ad_mul(2, y[i]), ad_add(before, after)),
                             ad_mul(heating, ad_exp(y[i]))));
    }
}

static int rod_plain(N_Vector at, N_Vector to, void *user)
{
    const double *y = NV_DATA_S(at);
    double *r = NV_DATA_S(to);
    (void)user;
    evaluations++;
    for (int i = 0; i < ROD; i++)
        r[i] = 2 * y[i] - (i > 0 ? y[i - 1] : 0)
             - (i < ROD - 1 ? y[i + 1] : 0) - heating * exp(y[i]);
    return 0;
}

static int rod_hand(N_Vector at, N_Vector r, SUNMatrix A, void *user, N_Vector a,
                    N_Vector b)
{
    const double *y = NV_DATA_S(at);
    (void)r;
    (void)user;
    (void)a;
    (void)b;
    for (int i = 0; i < ROD; i++) {
        enter_cvodes(A, i, i, 2 - heating * exp(y[i]));
        if (i > 0)
            enter_cvodes(A, i, i - 1, -1);
        if (i < ROD - 1)
            enter_cvodes(A, i, i + 1, -1);
    }
    return 0;
}

static double solve_kinsol(way how, ad_model *m)
{
    SUNContext context;
    SUNContext_Create(NULL, &context);
    N_Vector y = N_VNew_Serial(ROD, context), scale = N_VClone(y);
    SUNMatrix A = banded ? SUNBandMatrix(ROD, 1, 1, context)
                         : SUNDenseMatrix(ROD, ROD, context);
    SUNLinearSolver solver = banded ? SUNLinSol_Band(y, A, context)
                                    : SUNLinSol_Dense(y, A, context);
    void *kinsol = KINCreate(context);
    N_VConst(0, y);
    N_VConst(1, scale);
    if (how >= FIRST) {
        ad_kinsol_init(kinsol, (ad_system *)m->ctx, y);
        ad_kinsol_linear_solver(kinsol, solver, A);
    } else {
        KINInit(kinsol, rod_plain, y);
        KINSetLinearSolver(kinsol, solver, A);
    }
    if (how == HAND)
        KINSetJacFn(kinsol, rod_hand);
    KINSetFuncNormTol(kinsol, 1e-11);
    KINSetMaxNewtonStep(kinsol, 1e3);       // not 1, as from 0
    KINSetMaxSetupCalls(kinsol, 1);         // a Jacobian in each step
    KINSol(kinsol, y, KIN_NONE, scale, scale);
    const double middle = NV_Ith_S(y, ROD / 2);
    KINFree(&kinsol);
    SUNLinSolFree(solver);
    SUNMatDestroy(A);
    N_VDestroy(y);
    N_VDestroy(scale);
    SUNContext_Free(&context);
    return middle;
}

static ad_model *model_kinsol(void)
{
    return ad_system_equations(rod, NULL, ROD, 0)->model;
}

/* --- the table ------------------------------------------------------------ */

typedef struct problem {
    const char *library;
    const char *name;
    double (*solve)(way how, ad_model *m);
    ad_model *(*model)(void);
    double found;               // known, to 1e-4
    double scale;               // what errors are relative to
} problem;

static void free_model(ad_model *m)
{
    if (m->vector == adx_system_run)
        ad_system_free((ad_system *)m->ctx);
    else
        ad_model_free(m);
}

static const problem problems[] = {
    { "libLBFGS", "Rosenbrock, n = 1000", solve_lbfgs, model_rosenbrock, 0, 1 },
    { "GSL, bfgs2", "Rosenbrock, n = 1000", solve_multimin, model_rosenbrock, 0,
      1 },
    { "NLopt, SLSQP", "10 circles, 85 limits", solve_nlopt, model_nlopt, 0, 0 },
    { "GSL, lmaccel", "MGH10, with fvv", solve_gsl, model_gsl, 87.9458552,
      87.9458552 },
    { "Ipopt", "cart-pole, quasi-Newton", solve_ipopt, model_ipopt, 58.83,
      58.83 },
    { "Ipopt", "cart-pole, exact Hessian", solve_ipopt, model_ipopt, 58.83,
      58.83 },
    { "CVODES, band", "Brusselator, n = 200", solve_cvodes, model_brusselator, 0,
      0 },
    { "CVODES, dense", "Brusselator, n = 200", solve_cvodes, model_brusselator, 0,
      0 },
    { "GSL, msbdf", "Brusselator, n = 200", solve_odeiv2, model_brusselator, 0,
      0 },
    { "KINSOL, band", "heat in a rod, n = 400", solve_kinsol, model_kinsol, 0,
      0 },
    { "KINSOL, dense", "heat in a rod, n = 400", solve_kinsol, model_kinsol, 0,
      0 },
};

// Seconds of a solution, repeated for at least 20 ms.
static double timed(const problem *p, way how, ad_model *used, double *found)
{
    double spent = 0;
    int count = 0;
    do {
        ad_model *m = how == FIRST ? p->model() : used;
        const double begin = cpu();
        *found = p->solve(how, m);
        spent += cpu() - begin;
        count++;
        if (how == FIRST)
            free_model(m);
    } while (spent < 0.02);
    return spent / count;
}

static bool print_problem(const problem *p, size_t rounds)
{
    double times[WAYS][REPORT_ROUNDS], found[WAYS];
    bool right = true;
    ad_model *used = p->model();
    p->solve(AGAIN, used);
    for (size_t r = 0; r < rounds; r++)
        for (int w = 0; w < WAYS; w++)
            times[w][r] = timed(p, (way)w, used, &found[w]);
    printf("%-13s %-25s", p->library, p->name);
    for (int w = 0; w < WAYS; w++) {
        const double want = p->scale > 0 ? p->found : found[HAND];
        right = right && fabs(found[w] - want) < 1e-3 * fmax(p->scale, 1);
        if (w == HAND)
            print_seconds(summarise(rounds, times[HAND], NULL).median);
        else
            printf("  %8.2f", summarise(rounds, times[w],
                                        times[HAND]).median);
    }
    printf("%s\n", right ? "" : "  WRONG");
    for (int w = 0; !right && w < WAYS; w++)
        printf("  %.9g%s", found[w], w == AGAIN ? "\n" : "");
    free_model(used);
    return right;
}

int main(int argc, char **argv)
{
    const size_t rounds = take_rounds(&argc, &argv, 7);
    bool right = true;
    print_machine(ADREV_VERSION);
    printf("a solution, in times that of derivatives by hand\n"
           "%-13s %-25s %10s  %8s  %8s  %8s\n", "library", "problem", "by hand",
           "differ.", "first", "again");
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        banded = strstr(problems[i].library, "band") != NULL;
        exact = strstr(problems[i].name, "exact") != NULL;
        right &= print_problem(&problems[i], rounds);
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
