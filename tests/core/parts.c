// SPDX-License-Identifier: MIT-0
// tags: recorded
/* parts.c - functions of <math.h> with two results: ad_modf, ad_frexp and
 * ad_sincos.
 *
 * Values and other parts are those of <math.h>, bit by bit, over all magnitudes
 * and at zeros, infinities and NaNs; partials are 1, a power of two, and cosine
 * and sine. A recorded function holds where the other part is what it was. Also
 * special values of the operations that <math.h> does not have.              */

#define ADREV_TRACE 1
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"

#include "check.h"

#include <float.h>

#include <stdlib.h>

static ad_tape *tape;

static const double special[] = {
    0, -0.0, 1, -1, 0.5, -0.5, 2, -3, 7.25, -7.25, 1e-310, -1e-310, 0x1p-1074,
    0x1p-1022, 1e300, -1e300, 1.7e308, 0x1p52, 4503599627370495.5,
    (double)INFINITY, -(double)INFINITY, (double)NAN
};
enum { SPECIAL = sizeof special / sizeof *special };

static bool same(double a, double b)
{
    return (a != a && b != b) || (a == b && signbit(a) == signbit(b));
}

static ad_real slope_of(ad_rev y, ad_rev x)
{
    ad_real g = 0;
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "a gradient");
    return g;
}

static void check_modf(double v)
{
    double whole = 0;
    double want = modf(v, &whole);
    ad_real got[3] = { 0 };
    ad_rev x = ad_input(v);
    ad_rev y = ad_rec(ad_modf(x, &got[0]));
    ad_fwd f = ad_dual(ad_modf(((ad_fwd){ v, 2 }), &got[1]));
    ad_real plain = ad_value(ad_modf(v, &got[2]));
    CHECK(same(y.v, want) && same(f.v, want) && same(plain, want),
          "modf(%g): got %g, want %g", v, y.v, want);
    for (int i = 0; i < 3; i++)
        CHECK(same(got[i], whole), "modf(%g): got the whole %g, want %g", v,
              got[i], whole);
    CHECK(slope_of(y, x) == 1 && f.d == 2, "modf(%g): slope", v);
}

static void check_frexp(double v)
{
    int k = 0;
    int got[3] = { 7, 7, 7 };
    double want = frexp(v, &k);
    ad_rev x = ad_input(v);
    ad_rev y = ad_rec(ad_frexp(ad_neg(x), &got[0]));
    ad_fwd f = ad_dual(ad_frexp(((ad_fwd){ v, 1 }), &got[1]));
    ad_real plain = ad_value(ad_frexp(v, &got[2]));
    CHECK(same(y.v, -want) && same(f.v, want) && same(plain, want),
          "frexp(%g): got %g, want %g", v, -y.v, want);
    k = v - v == 0 ? k : 0;
    for (int i = 0; i < 3; i++)
        CHECK(got[i] == k, "frexp(%g): got exponent %d, want %d", v, got[i],
              k);
    CHECK(slope_of(y, x) == -ldexp(1, -k) && f.d == ldexp(1, -k),
          "frexp(%g): slope %g", v, f.d);
}

static void check_sincos(double v)
{
    ad_rev x = ad_input(v);
    ad_rev s, c;
    ad_fwd u, w;
    ad_sincos(ad_mul(2, x), &s, &c);
    ad_sincos(((ad_fwd){ 2 * v, 2 }), &u, &w);
    CHECK(same(s.v, sin(2 * v)) && same(c.v, cos(2 * v)), "sincos(%g)", 2 * v);
    CHECK(same(u.v, s.v) && same(w.v, c.v), "sincos(%g), forward", 2 * v);
    CHECK(same(slope_of(s, x), 2 * c.v) && same(u.d, 2 * c.v),
          "sincos(%g): slope of the sine", 2 * v);
    CHECK(same(slope_of(c, x) + 0, -2 * s.v + 0) && same(w.d + 0, -2 * s.v + 0),
          "sincos(%g): slope of the cosine", 2 * v);      // of 0: either zero
}

// The operand may be what the results go to, and is evaluated once.
static void check_once(void)
{
    int calls = 0;
    int k = 0;
    ad_real whole = 0;
    ad_rev x = ad_input(0.7);
    ad_rev c;
    ad_rev s = x;
    ad_sincos(s, &s, &c);
    CHECK(same(s.v, sin(0.7)) && same(c.v, cos(0.7)), "in place");
    ad_sincos((calls++, x), &s, &c);
    (void)ad_rec(ad_modf((calls++, x), &whole));
    (void)ad_rec(ad_frexp((calls++, x), &k));
    CHECK(calls == 3, "%d evaluations", calls);
    ad_rev y = ad_rec(ad_add(ad_modf(ad_modf(ad_mul(5, x), &whole), &whole),
                             ad_frexp(ad_frexp(x, &k), &k)));
    CHECK(same(y.v, 0.5 + 0.7) && whole == 0 && k == 0, "nested: %g", y.v);
    ad_sincos(2, &s, &c);
    CHECK(s.job == 0 && c.job == 0, "of a constant");
}

/* --- recorded ------------------------------------------------------------- */

static void parts(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_real whole;
    int k;
    (void)ctx;
    y[0] = ad_rec(ad_modf(x[0], &whole));
    y[0] = ad_rec(ad_add(ad_mul(y[0], 10), whole));
    y[1] = ad_rec(ad_frexp(x[1], &k));
    y[1] = ad_rec(ad_add(y[1], k));
    ad_sincos(x[0], &y[2], &y[3]);
}

static void try_recorded(const double from[2], const double to[2], bool holds)
{
    ad_fn *fn = NULL;
    ad_real y[4] = { 0 };
    ad_real H[4] = { 0 };
    const ad_real w[4] = { 0, 0, 1, 0 };
    double whole;
    int k;
    CHECK(ad_fn_record(&fn, parts, NULL, 2, from, 4) == ADREV_OK, "recorded: %s",
          ad_fn_reason());
    ad_status s = ad_fn_eval(fn, to, y);
    CHECK(s == (holds ? ADREV_OK : ADREV_EPATH), "from (%g, %g) to (%g, %g): "
          "%s", from[0], from[1], to[0], to[1], ad_message(s));
    double part = modf(to[0], &whole);
    double mantissa = frexp(to[1], &k);
    CHECK(!holds || (y[0] == part * 10 + whole && y[1] == mantissa + k
                     && y[2] == sin(to[0]) && y[3] == cos(to[0])),
          "values at (%g, %g)", to[0], to[1]);
    CHECK(!holds || (ad_fn_hessian(fn, to, w, H) == ADREV_OK
                     && H[0] == -sin(to[0])), "second derivative");
    ad_fn_free(fn);
}

static void check_recorded(void)
{
    static const double at[2] = { 2.25, 5 };
    static const double negative[2] = { -2.25, -5 };
    try_recorded(at, (double[]){ 2.75, 4 }, true);
    try_recorded(at, (double[]){ 2, 7.999 }, true);
    try_recorded(at, (double[]){ 3, 5 }, false);
    try_recorded(at, (double[]){ 2.5, 8 }, false);
    try_recorded(at, (double[]){ 2.5, 3.999 }, false);
    try_recorded(at, (double[]){ 2.5, -5 }, false);
    try_recorded(negative, (double[]){ -2.75, -4 }, true);
    try_recorded(negative, (double[]){ -2.75, -8 }, false);
    try_recorded(negative, (double[]){ -2.75, -3.999 }, false);
    try_recorded((double[]){ 2.5, 0 }, (double[]){ 2.5, 1 }, false);
}

/* --- values --------------------------------------------------------------- */

static void check_value(const char *f, ad_real got, double want, int ulps)
{
    long double off = check_ulps((long double)got, (long double)want);
    CHECK(off <= ulps, "%s: got %.17g, want %.17g", f, got, want);
}

// The decimals are mpmath's, with 30 digits.
// Every cell can be read, those of partials of partials included, which few
// programs meet: one that is too long would make their recording fail.
static void check_cells(void)
{
    for (uint32_t op = 0; op < ADX_OP_COUNT; op++)
        for (uint32_t i = 0; i < 3; i++) {
            adx_formula f;
            adx_parse_partial(op, i, &f);
            CHECK(!f.wrong && *f.at == 0, "partial %u of %s is no formula of at "
                  "most %d terms: %s", (unsigned)i, adx_row_of(op)->name,
                  (int)ADX_TERMS, adx_row_of(op)->partial[i]);
        }
}

// Shapes and arguments of every size have values that are probabilities, and
// derivatives of the right sign.
static void check_beta_of_any_size(void)
{
    static const double shapes[] = { 5e-324, 1e-310, 1e-300, 1e-20, 0.5, 2, 19.9,
                                     1e8, 1e17, 1e200, 1e300 };
    static const double at[] = { 5e-324, 1e-300, 1e-20, 0.3, 1 - 1e-10,
                                 1 - 0x1p-53 };
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    if (sizeof(ad_real) != sizeof(double))
        return;
    for (size_t i = 0; i < SHAPES * SHAPES * sizeof at / sizeof *at; i++) {
        const ad_real a = (ad_real)shapes[i % SHAPES];
        const ad_real b = (ad_real)shapes[i / SHAPES % SHAPES];
        const ad_real x = (ad_real)at[i / SHAPES / SHAPES];
        const ad_real p = ad_value(ad_beta_p(a, b, x));
        const ad_real q = ad_value(ad_beta_q(a, b, x));
        CHECK(p >= 0 && p <= 1 && p + q >= 1 - 1e-15 && p + q <= 1 + 1e-15,
              "beta(%g, %g, %g): %.17g and %.17g", a, b, x, p, q);
        CHECK(adx_beta_slope(1, 0, a, b, x) <= 0
                  && adx_beta_slope(0, 1, a, b, x) >= 0
                  && adx_beta_density(0, 0, a, b, x) >= 0,
              "slopes of beta(%g, %g, %g)", a, b, x);
    }
    // By the series in quad precision. The sum of the shapes has more than 64
    // bits, and what it loses would be 80 ulps.
    const ad_real v = ad_value(ad_beta_p(ADX_K(12345678901.37),
                                         ADX_K(3141592653589793.1),
                                         ADX_K(3.9296576083453372e-06)));
    if (LDBL_MANT_DIG >= 64)
        CHECK_CLOSE(v, ADX_K(0.01313359953434174912668474), 8);
}

// Third derivatives of the incomplete beta function: those of its density's
// slope, at shapes 3 and 4 a polynomial of degree 5.
static void check_beta_third(void)
{
    const ad_real x = ADX_K(0.3);
    const ad_real h = ADX_K(1e-3);
    const ad_real v = adx_beta_dxx(3, 4, x);
    const ad_real by_a = (adx_beta_dxx(3 + h, 4, x)
                          - adx_beta_dxx(3 - h, 4, x)) / (2 * h);
    const ad_real by_b = (adx_beta_dxx(3, 4 + h, x)
                          - adx_beta_dxx(3, 4 - h, x)) / (2 * h);
    const ad_real off = sizeof(ad_real) == 4 ? ADX_K(1e-1) : ADX_K(1e-4);
    CHECK_CLOSE(v, ADX_K(4.41), 40);
    CHECK_CLOSE(adx_partial_at(ADX_OP_beta_dxx, 2, 3, 4, x, v), -42, 40);
    CHECK(adm_fabs(adx_partial_at(ADX_OP_beta_dxx, 0, 3, 4, x, v) - by_a) < off
              && adm_fabs(adx_partial_at(ADX_OP_beta_dxx, 1, 3, 4, x, v) - by_b)
                     < off, "mixed third derivatives");
}

#define CHECK_VALUE(f, want, ulps) check_value(#f, ad_value(f), want, ulps)

static void check_beta(void)
{
    const ad_real nan = ADX_NAN;
    const ad_real infinite = ADX_INF;
    CHECK_VALUE(ad_beta_p(2, 3, 0.25), 0.26171875, 2);
    CHECK_VALUE(ad_beta_q(2, 3, 0.25), 0.73828125, 2);
    CHECK_VALUE(ad_beta_p(0, 3, 0.25), 1, 0);
    CHECK_VALUE(ad_beta_q(0, 3, 0.25), 0, 0);
    CHECK_VALUE(ad_beta_p(3, 0, 0.25), 0, 0);
    CHECK_VALUE(ad_beta_p(3, infinite, 0.25), 1, 0);
    CHECK_VALUE(ad_beta_p(infinite, 3, 0.25), 0, 0);
    CHECK_VALUE(ad_beta_p(3, 2, 0), 0, 0);
    CHECK_VALUE(ad_beta_p(3, 2, 1), 1, 0);
    CHECK_VALUE(ad_beta_q(3, 2, 1), 0, 0);
    CHECK_VALUE(ad_beta_p(infinite, infinite, 0.5), nan, 0);
    CHECK_VALUE(ad_beta_p(0, 0, 0.5), nan, 0);
    CHECK_VALUE(ad_beta_p(-1, 2, 0.5), nan, 0);
    CHECK_VALUE(ad_beta_p(1, ADX_K(-1e30), 0.5), nan, 0);
    CHECK_VALUE(ad_beta_q(1, 2, ADX_K(-1e30)), nan, 0);
    CHECK_VALUE(ad_beta_q(1, 2, 1.5), nan, 0);
    CHECK_VALUE(ad_beta_q(nan, 2, 0.5), nan, 0);
    CHECK_VALUE(ad_beta_q(1, 2, nan), nan, 0);
    check_beta_of_any_size();
    check_beta_third();
}

static void check_values(void)
{
    const ad_real nan = ADX_NAN;
    const ad_real infinite = ADX_INF;
    ad_real ten = 1;            // to the power k: exact
    CHECK_VALUE(ad_digamma(1), -0.577215664901532860607, 2);
    CHECK_VALUE(ad_digamma(0), -infinite, 0);
    CHECK_VALUE(ad_digamma(-0.0), infinite, 0);
    CHECK_VALUE(ad_digamma(-2), nan, 0);
    CHECK_VALUE(ad_digamma(infinite), infinite, 0);
    CHECK_VALUE(ad_digamma(-infinite), nan, 0);
    CHECK_VALUE(ad_digamma(nan), nan, 0);
    CHECK_VALUE(ad_digamma(1e305), 702.288453363183933625, 1);
    CHECK_VALUE(ad_polygamma(0, 0.5), -1.96351002602142347944, 3);
    CHECK_VALUE(ad_polygamma(3, 0.25), 1538.78214400918839602, 8);
    CHECK_VALUE(ad_polygamma(4, -0.25), 24473.1993941845825275, 64);
    CHECK_VALUE(ad_polygamma(1, -3), infinite, 0);
    CHECK_VALUE(ad_polygamma(2, -3), nan, 0);
    CHECK_VALUE(ad_polygamma(2, -0.0), infinite, 0);
    CHECK_VALUE(ad_polygamma(2, 0), -infinite, 0);
    CHECK_VALUE(ad_polygamma(-1, 2), nan, 0);
    CHECK_VALUE(ad_polygamma(171, 200), nan, 0);
    CHECK_VALUE(ad_polygamma(3, infinite), 0, 0);
    CHECK_VALUE(ad_gamma_p(2, 3), 0.800851726528544228083, 4);
    CHECK_VALUE(ad_gamma_q(2, 3), 0.199148273471455771917, 4);
    CHECK_VALUE(ad_gamma_p(0.5, 0.1), 0.345279153981422961, 64);
    CHECK_VALUE(ad_gamma_p(0, 1), 1, 0);
    CHECK_VALUE(ad_gamma_q(3, 0), 1, 0);
    CHECK_VALUE(ad_gamma_q(3, infinite), 0, 0);
    CHECK_VALUE(ad_gamma_p(infinite, 3), 0, 0);
    CHECK_VALUE(ad_gamma_p(infinite, infinite), nan, 0);
    CHECK_VALUE(ad_gamma_p(0, 0), nan, 0);
    CHECK_VALUE(ad_gamma_q(2, -1), nan, 0);
    CHECK_VALUE(ad_gamma_q(-2, 1), nan, 0);
    CHECK_VALUE(ad_gamma_q(nan, 1), nan, 0);
    // d2/da2 of Gamma(a, 1) / Gamma(a) at 0, where Gamma has a pole
    CHECK_CLOSE(adx_shape_slope(2, 0, 1), (ad_real)-0.44895008155498933, 8);
    CHECK_CLOSE(adx_shape_slope(0, 1, 1), nan, 0);
    CHECK_CLOSE(adx_shape_slope(9, 1, 1), nan, 0);
    CHECK_CLOSE(adx_shape_density(9, 1, 1), nan, 0);
    CHECK_VALUE(ad_j0(2), 0.223890779141235668051827, 2);
    CHECK_VALUE(ad_j1(2), 0.576724807756873387202448, 2);
    CHECK_VALUE(ad_y0(2), 0.510375672649745119596606, 2);
    CHECK_VALUE(ad_y1(2), -0.107032431540937546888371, 3);
    CHECK_VALUE(ad_jn(5, -2), -0.00703962975587168548, 4);
    CHECK_VALUE(ad_yn(-3, 2), 1.12778377684042778608, 4);
    CHECK_VALUE(ad_yn(2, -1), nan, 0);
    CHECK_VALUE(ad_yn(0, 0), -infinite, 0);
    CHECK_VALUE(ad_jn(2, infinite), 0, 0);
    CHECK_VALUE(ad_jn(2, nan), nan, 0);
    CHECK_VALUE(ad_jn(2000000, 1), nan, 0);
    CHECK_CLOSE(adx_f_jn((ad_real)0.5, 1, 0), nan, 0);
    CHECK_CLOSE(adx_f_yn(infinite, 1, 0), nan, 0);
    CHECK_CLOSE(adx_f_polygamma((ad_real)1.5, 1, 0), nan, 0);
    for (int k = 0; k <= 22; k++, ten *= 10)
        CHECK_VALUE(ad_exp10(k), ten, 0);
    CHECK_VALUE(ad_exp10(-infinite), 0, 0);
    CHECK_VALUE(ad_exp10(309), infinite, 0);
    CHECK_VALUE(ad_exp10(nan), nan, 0);
    CHECK_VALUE(ad_log_add_exp(1000, 1000), 1000.69314718055994531, 0);
    CHECK_VALUE(ad_log_add_exp(-1e300, 1e300), 1e300, 0);
    CHECK_VALUE(ad_log_add_exp(-infinite, -infinite), -infinite, 0);
    CHECK_VALUE(ad_log_add_exp(infinite, -infinite), infinite, 0);
    CHECK_VALUE(ad_log_add_exp(nan, infinite), nan, 0);
}
#undef CHECK_VALUE

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    for (int i = 0; i < SPECIAL; i++) {
        check_modf(special[i]);
        check_frexp(special[i]);
        check_sincos(special[i]);
    }
    check_once();
    check_recorded();
    check_cells();
    check_values();
    check_beta();
    ad_tape_free(tape);
    return check_done("parts");
}
