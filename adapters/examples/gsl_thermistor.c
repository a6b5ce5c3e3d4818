// SPDX-License-Identifier: MIT-0
// needs: gsl/gsl_multifit_nlinear.h -lgsl
// libs: -lgsl -lgslcblas
/* The resistance of a thermistor, R = a exp(b / (T + c)), fitted to 16 readings.
 *
 *     gsl_thermistor [picture.svg]
 *
 * The data are MGH10 of NIST's Statistical Reference Datasets, of which it says
 * that they are hard to fit: the way to the minimum is a narrow valley with
 * many bends. Levenberg's and Marquardt's steps are straight. With the second
 * derivatives of the residuals along each step, they follow the bends (geodesic
 * acceleration); the picture shows how the sum of squares falls in both cases.
 * NIST certifies 0.0056096 6181.346 345.2236, and 87.9458552 for the sum.
 *
 * Shows    adrev_gsl.h: residuals, Jacobian, second derivatives along a step
 * Prints   a = 0.0056096, b = 6181.346, c = 345.2236: success
 *          sum of squares 87.9458552
 *          steps that bend need fewer Jacobians
 */

#define ADREV_IMPLEMENTATION
#include "adrev_gsl.h"
#include "chart.h"
#include "fail.h"

#include <errno.h>

enum { READINGS = 16, MOST_STEPS = 2000 };

static const double ohms[READINGS] = {
    34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744,
    8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872
};

static double temperature(int i)
{
    return 50 + 5 * i;
}

/* --- the model, over recorded numbers ------------------------------------- */

static void misfits(const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < READINGS; i++) {
        ad_rev power = ad_rec(ad_div(p[1], ad_add(temperature(i), p[2])));
        r[i] = ad_rec(ad_sub(ad_mul(p[0], ad_exp(power)), ohms[i]));
    }
}

/* --- the fit -------------------------------------------------------------- */

typedef struct fit {
    double p[3];
    double squares;
    size_t jacobians;
    int steps;
    double step[MOST_STEPS];
    double fall[MOST_STEPS];        // log10 of the sum of squares
} fit;

static void watch(const size_t k, void *user,
                  const gsl_multifit_nlinear_workspace *w)
{
    fit *f = user;
    double sum = 0;
    for (size_t i = 0; i < READINGS; i++)
        sum += gsl_vector_get(w->f, i) * gsl_vector_get(w->f, i);
    if (f->steps == MOST_STEPS)
        return;
    f->step[f->steps] = (double)k;
    f->fall[f->steps++] = log10(sum);
    f->squares = sum;
}

static ad_status adjust(const gsl_multifit_nlinear_trs *trs, fit *f)
{
    double start[3] = { 0.02, 4000, 250 };
    int info = 0;
    ad_model *m = ad_model_vector(misfits, NULL, 3, READINGS);
    gsl_multifit_nlinear_fdf fdf = ad_gsl_multifit_nlinear(m);
    gsl_multifit_nlinear_parameters p
        = gsl_multifit_nlinear_default_parameters();
    p.trs = trs;
    gsl_multifit_nlinear_workspace *w = gsl_multifit_nlinear_alloc(
        gsl_multifit_nlinear_trust, &p, READINGS, 3);
    gsl_vector_view x = gsl_vector_view_array(start, 3);
    if (fdf.f == NULL || w == NULL)
        fail(4, "gsl_thermistor: out of memory");
    int code = gsl_multifit_nlinear_init(&x.vector, &fdf, w);
    if (code == GSL_SUCCESS)
        code = gsl_multifit_nlinear_driver(MOST_STEPS, 1e-12, 1e-12, 0, watch,
                                           f, &info, w);
    ad_status status = ad_model_status(m);
    if (code != GSL_SUCCESS)
        fail(4, "gsl_thermistor: %s, %s", gsl_strerror(code),
             ad_message(status));
    for (size_t i = 0; i < 3; i++)
        f->p[i] = gsl_vector_get(w->x, i);
    f->jacobians = fdf.nevaldf;
    gsl_multifit_nlinear_free(w);
    ad_model_free(m);
    return status;
}

/* --- the picture ---------------------------------------------------------- */

static bool draw(const char *path, const fit *straight, const fit *bent)
{
    enum { MOMENTS = 151 };
    double t[MOMENTS], r[MOMENTS], kilo[READINGS], at[READINGS];
    chart c = { .left = 45, .right = 130, .top = 40, .panels = 2 };
    chart d = { .below = &c, .right = straight->steps, .top = 10 };
    for (int i = 0; i < MOMENTS; i++) {
        t[i] = 50 + 0.5 * i;
        r[i] = straight->p[0] * exp(straight->p[1] / (t[i] + straight->p[2]))
             / 1000;
    }
    for (int i = 0; i < READINGS; i++) {
        at[i] = temperature(i);
        kilo[i] = ohms[i] / 1000;
    }
    if (!chart_open(&c, path, "temperature (degrees)", "resistance (kilo-ohm)"))
        return false;
    chart_curve(&c, MOMENTS, t, r, "a exp(b / (T + c))");
    chart_points(&c, READINGS, at, kilo, "readings");
    if (!chart_open(&d, NULL, "steps", "log10 of the sum of squares"))
        return false;
    chart_curve(&d, straight->steps, straight->step, straight->fall,
                "straight steps");
    d.colour = "#036";
    d.line = 3;
    chart_curve(&d, bent->steps, bent->step, bent->fall, "accelerated");
    return chart_close(&d) && chart_close(&c);
}

int main(int count, char **words)
{
    static fit straight, bent;
    ad_status status = adjust(gsl_multifit_nlinear_trs_lm, &straight);
    if (status == ADREV_OK)
        status = adjust(gsl_multifit_nlinear_trs_lmaccel, &bent);
    printf("a = %.7f, b = %.3f, c = %.4f: %s\n", bent.p[0], bent.p[1],
           bent.p[2], ad_message(status));
    printf("sum of squares %.7f\n", bent.squares);
    printf("steps that bend need %s Jacobians\n",
           bent.jacobians < straight.jacobians ? "fewer" : "no fewer");
    if (count > 1 && !draw(words[1], &straight, &bent))
        fail(5, "gsl_thermistor: cannot write %s: %s", words[1],
             strerror(errno));
}
