// SPDX-License-Identifier: MIT-0
// tags: formulas
/* sharing.c - what is equal in a text is computed once: operations, values and
 * gradients of texts with equal parts, results that are equal, terms that stand
 * in a sum several times or cancel; and the time that binding takes.        */

#define _POSIX_C_SOURCE 200809L
#include "implementation.h"
#include "adrev_tensor.h"
#include "check.h"
#include "tensor_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void counts(const char *text, ad_tensor_part part, bool as_written,
                   unsigned add, unsigned mul, unsigned fn)
{
    ad_tensor_cost c = { 0 };
    ad_tensor *t = bound(text, as_written);
    OK(ad_tensor_count(t, part, NULL, &c));
    CHECK(c.add == add && c.mul == mul && c.fn == fn,
          "%s\npart %d, as written %d: (%d, %d, %d), not (%u, %u, %u)", text,
          (int)part, as_written, (int)c.add, (int)c.mul, (int)c.fn, add, mul,
          fn);
    ad_tensor_free(t);
}

static void value(const char *text, unsigned add, unsigned mul, unsigned fn)
{
    counts(text, ADREV_TENSOR_VALUE, false, add, mul, fn);
}

static void reverse(const char *text, unsigned add, unsigned mul, unsigned fn)
{
    counts(text, ADREV_TENSOR_VJP, false, add, mul, fn);
}

/* --- operations ------------------------------------------------------------ */

#define DIAGONAL "in x[5]; A[i<5,j<5] = [i==j] x[i]; "
#define TRACE "sum(i) A[i,i]"

static void run_values(void)
{
    // A1: one trace, and one multiplication
    const char *traces = DIAGONAL "out f = " TRACE " + " TRACE " + " TRACE
                         " + " TRACE ";";
    value(traces, 4, 1, 0);
    reverse(traces, 0, 1, 0);
    counts(traces, ADREV_TENSOR_VALUE, true, 19, 0, 0);

    value("in x[5]; out y[i] = exp(x[i])*exp(x[i]);", 0, 5, 5);
    value("in x[5]; out y[i] = (exp(x[i]) + 1)/(exp(x[i]) - 1);", 10, 5, 5);
    value("in x[5]; a[i] = sin(x[i]); b[j] = sin(x[j]);"
          "out y[i,j] = a[i]*b[j];", 0, 25, 5);
    value("in x[5], z[5]; out f = (sum(i) x[i]*z[i])*sum(j) z[j]*x[j];", 4, 6,
          0);
    value("in x, y; out f = x*y + y*x + x*y;", 0, 2, 0);
    value("in x; out f = 2*x + 3*x;", 0, 1, 0);
    value("in x[5]; out f[i] = x[i] + x[i];", 0, 5, 0);
    counts("in x[5]; out f[i] = x[i] + x[i];", ADREV_TENSOR_VALUE, true, 5, 0,
           0);
    value("in x[5]; out f[i] = x[i] + x[i] - x[i];", 0, 0, 0);
    value("in y[3], n[3]; out a = y[1]*(y[0]*(n[1] - n[0]))^2;", 1, 3, 0);
    // other constants, ranges, conditions, functions: other values
    value("in x[5]; out f = sum(i) exp(x[i]) - sum(i in 1:5) exp(x[i]);", 8, 0,
          9);
    value("in x[5]; out f = (sum(i<4) x[i])*sum(i<3) x[i];", 5, 1, 0);
    value("in x[5]; out f = (sum(i: i != 2) x[i])*sum(i: i != 3) x[i];", 6, 1,
          0);
    value("in x[5]; out f = sin(x[0])*cos(x[0])*sin(x[1]);", 0, 2, 3);
}

static void run_derivatives(void)
{
    // one exp, and one partial, which is its value
    reverse("in x[5]; out f = sum(i) exp(x[i])*exp(x[i]);", 0, 15, 5);
    // the partial of a tangent is that of the adjoint
    counts("in x[5]; out y[i] = tanh(x[i]);", ADREV_TENSOR_JVP, false, 0, 5, 5);
    reverse("in x[5]; out f = sum(i) (x[i]*x[i] + x[i]*x[i]);", 0, 11, 0);
    reverse("in x[5]; y[i] = tanh(x[i]); z[i] = tanh(x[i]);"
            "out f = sum(i) (y[i] + z[i]);", 0, 6, 5);
}

/* --- values ---------------------------------------------------------------- */

// Results that are equal are all there, also alone, and with other strides.
static void run_results(void)
{
    static const char text[] = "in x[3]; out y[i] = exp(x[i]);"
                               "out z[i] = exp(x[i]); out f = sum(i) z[i];"
                               "out g = sum(i) exp(x[i]);";
    const ad_real x[] = { 0, 1, 2 };
    const ad_real v[] = { 1, 2, 3 };
    const ad_real w[] = { 1, 1, 1 };
    const ad_real *in[] = { x };
    const ad_real *along[] = { v };
    const ptrdiff_t stride[] = { -2 };
    ad_tensor *t = bound(text, false);
    OK(ad_tensor_layout(t, "z", stride));
    for (unsigned which = 0; which < 16; which++) {
        ad_real y[2][3], z[2][5], f[2], g[2];
        ad_real *out[2][4];
        memset(z, 0, sizeof z);
        for (int k = 0; k < 2; k++) {
            out[k][0] = which & 1 ? y[k] : NULL;
            out[k][1] = which & 2 ? &z[k][4] : NULL;
            out[k][2] = which & 4 ? &f[k] : NULL;
            out[k][3] = which & 8 ? &g[k] : NULL;
        }
        OK(ad_tensor_jvp(t, in, along, out[0], out[1]));
        for (int k = 0; k < 2; k++) {
            ad_real sum = 0;
            for (int i = 0; i < 3; i++) {
                ad_real e = adm_exp(x[i]) * (k == 0 ? 1 : v[i]);
                sum += e;
                CHECK(!(which & 1) || y[k][i] == e, "y[%d], %u", i, which);
                CHECK(!(which & 2) || z[k][4 - 2 * i] == e, "z[%d], %u", i,
                      which);
            }
            CHECK(!(which & 4) || f[k] == sum, "f, %u", which);
            CHECK(!(which & 8) || g[k] == sum, "g, %u", which);
        }
    }
    ad_real dx[3];
    ad_real *gradient[] = { dx };
    const ad_real *seed[] = { w, NULL, w, w };
    OK(ad_tensor_vjp(t, in, seed, NULL, gradient));
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(dx[i], 3 * adm_exp(x[i]), 1e-5L);
    ad_tensor_free(t);
}

// f and its gradient, and H v, at x, y; of three variables.
static void expect(const char *text, ad_real f, ad_real by_x, ad_real by_y,
                   ad_real hv_x, ad_real hv_y)
{
    const ad_real x = 3, y = 5, one = 1, two = 2;
    const ad_real *in[] = { &x, &y };
    const ad_real *along[] = { &one, &two };
    const ad_real *w[] = { &one };
    ad_real got, dx, dy, hx, hy;
    ad_real *g[] = { &dx, &dy };
    ad_real *h[] = { &hx, &hy };
    for (int as_written = 0; as_written < 2; as_written++) {
        ad_tensor *t = bound(text, as_written);
        OK(ad_tensor_gradient(t, in, &got, g));
        OK(ad_tensor_hvp(t, in, w, along, h));
        CHECK_NEAR(got, f, 1e-5L);
        CHECK_NEAR(dx, by_x, 1e-5L);
        CHECK_NEAR(dy, by_y, 1e-5L);
        CHECK_NEAR(hx, hv_x, 1e-5L);
        CHECK_NEAR(hy, hv_y, 1e-5L);
        ad_tensor_free(t);
    }
}

static void run_gradients(void)
{
    expect("in x, y; out f = x*y + y*x + x*x + x*x;", 48, 22, 6, 8, 2);
    expect("in x, y; out f = x*y - y*x;", 0, 0, 0, 0, 0);
    expect("in x, y; out f = x*x*y - x*x + x*x*y;", 81, 54, 18, 42, 12);
    expect("in x, y; out f = (x + y)*(x + y)*detach(x + y);", 512, 128, 128, 48,
           48);
    expect("in x, y; out f = (sum(i<4) x)*(sum(j<4) y) + sum(i<2,j<3) x*y;",
           330, 110, 66, 44, 22);
    expect("in x, y; out f = 1/x + 1/x + y/x;", 7 / (ad_real)3,
           -7 / (ad_real)9, 1 / (ad_real)3,
           14 / (ad_real)27 - 2 / (ad_real)9, -1 / (ad_real)9);
}

/* --- time ------------------------------------------------------------------ */

static double seconds_to_bind(int n)
{
    char *text = malloc(60 * (size_t)n + 100);
    size_t at = (size_t)sprintf(text, "in x[9000]; out f = 0");
    double least = 1e9;
    for (int i = 0; i < n; i++)
        at += (size_t)sprintf(text + at, " + x[%d]*x[%d]", i,
                              i * 7 % n);
    sprintf(text + at, ";");
    for (int k = 0; k < 3; k++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        ad_tensor_free(bound(text, false));
        clock_gettime(CLOCK_MONOTONIC, &to);
        double s = (double)(to.tv_sec - from.tv_sec)
                 + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
        least = s < least ? s : least;
    }
    free(text);
    return least;
}

// Eight times as many terms take at most 25 times as long. (Comparing all pairs
// of them: 50 times.)
static void run_time(void)
{
    double few = seconds_to_bind(500);
    double many = seconds_to_bind(4000);
    CHECK(many < 25 * few, "binding: %g s for 500 terms, %g for 4000", few,
          many);
}

int main(void)
{
    run_values();
    run_derivatives();
    run_results();
    run_gradients();
    run_time();
    return check_done("sharing");
}
