/* 16  A spring: how long it is, and how far a kilogram stretches it.
 *
 * Six weights were hung on it. What is to be small is written as formulas; the
 * gradient, and the Hessian times a direction, come with them.
 *
 * Shows    ad_tensor_new, ad_tensor_size, ad_tensor_bind, ad_tensor_gradient,
 *          ad_tensor_hvp: two steps of conjugate gradients
 * Needs    01
 * Prints   misfit 0.043954 m^2 at 0.1000 m and 0.0000 m/kg
 *          misfit 0.000930 m^2 at 0.1333 m and 0.0595 m/kg
 *          misfit 0.000009 m^2 at 0.1008 m and 0.0794 m/kg
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_tensor.h"
#include "fail.h"

enum { WEIGHTS = 6, UNKNOWNS = 2 };

// r: by how much a length is off, in metres.
static const char text[] = "in A[m,n], x[n], b[m];\n"
                           "r[i] = sum(j) A[i,j]*x[j] - b[i];\n"
                           "out f = 0.5*sum(i) r[i]^2;\n";

static double dot(const double u[UNKNOWNS], const double v[UNKNOWNS])
{
    return u[0] * v[0] + u[1] * v[1];
}

int main(void)
{
    const double A[WEIGHTS][UNKNOWNS] = {   // 1, and the weight in kilograms
        { 1, 0.2 }, { 1, 0.5 }, { 1, 1 }, { 1, 1.5 }, { 1, 2 }, { 1, 2.5 }
    };
    const double b[WEIGHTS] = { 0.117, 0.140, 0.179, 0.220, 0.263, 0.297 };
    const double one = 1, *seed = &one;
    double x[UNKNOWNS] = { 0.1, 0 };        // metres, metres for each kilogram
    double f = 0, before = 1;
    double g[UNKNOWNS], d[UNKNOWNS] = { 0 }, Hd[UNKNOWNS];
    const double *in[] = { A[0], x, b }, *along[] = { NULL, d, NULL };
    double *by[] = { NULL, g, NULL }, *twice[] = { NULL, Hd, NULL };
    ad_tensor_error error = { .text = "16_least_squares: no such size" };
    ad_tensor *t;

    if (ad_tensor_new(&t, text, NULL, &error) != ADREV_OK)
        fail(3, "%s", error.text);
    if (ad_tensor_size(t, "m", WEIGHTS) != ADREV_OK
        || ad_tensor_size(t, "n", UNKNOWNS) != ADREV_OK
        || ad_tensor_bind(t, &error) != ADREV_OK)
        fail(3, "%s", error.text);

    for (int step = 0; step <= UNKNOWNS; step++) {
        if (ad_tensor_gradient(t, in, &f, by) != ADREV_OK)
            fail(4, "16_least_squares: out of memory");
        printf("misfit %.6f m^2 at %.4f m and %.4f m/kg\n", f, x[0], x[1]);
        for (int i = 0; i < UNKNOWNS; i++)
            d[i] = dot(g, g) / before * d[i] - g[i];
        before = dot(g, g);
        if (ad_tensor_hvp(t, in, &seed, along, twice) != ADREV_OK)
            fail(4, "16_least_squares: out of memory");
        for (int i = 0; i < UNKNOWNS; i++)
            x[i] += before / dot(d, Hd) * d[i];
    }
    ad_tensor_free(t);
    return 0;
}
