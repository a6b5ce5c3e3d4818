#pragma once

/* === core/operations ========================================================
 * One row per elementary operation. Values, partials, forward mode, the codes
 * of the trace, the text for generated C, the reference (`make docs`) and
 * tests/core/operations.c are made from the rows; none of them names an
 * operation itself. To add an operation, add a row here and a front in
 * number/fronts.
 *
 *   needs   core/config core/types
 *   offers  ADX_JOIN ADX_K ADX_HAS_LGAMMA_R adx_digamma adx_polygamma
 *           adx_beta_density ADX_HELPERS ADX_COST_SHORT ADX_COST_CALL
 *           ADX_COST_LONG ADX_COST ADX_MAY_CALL ADX_LINEAR ADX_COMMUTES
 *           ADX_IDENTITY ADX_WHOLE_X ADX_WHOLE_Y ADX_ADDS ADX_TIMES ADX_SCALES
 *           ADX_ATTRIBUTES ADX_IS_ONE adx_f_* adx_fx_* adx_fy_* adx_fz_*
 * ========================================================================== */

/* --- the C library at ad_real -----------------------------------------------
 * In the rows, adm_sin is <math.h>'s sin for double and sinf for float.     */

#define ADX_OF_double(name) name
#define ADX_OF_float(name)  name##f
#define ADX_JOIN_(a, b)     a##b
#define ADX_JOIN(a, b)      ADX_JOIN_(a, b)
#define ADX_K(constant)     ((ad_real)constant)

#define ADX_LIBM1(ROW)                                                      \
    ROW(fabs) ROW(floor) ROW(ceil) ROW(trunc) ROW(round) ROW(rint)          \
    ROW(nearbyint) ROW(sqrt) ROW(cbrt) ROW(exp) ROW(exp2) ROW(expm1)        \
    ROW(log) ROW(log2) ROW(log10) ROW(log1p) ROW(sin) ROW(cos) ROW(tan)     \
    ROW(asin) ROW(acos) ROW(atan) ROW(sinh) ROW(cosh) ROW(tanh) ROW(asinh)  \
    ROW(acosh) ROW(atanh) ROW(erf) ROW(erfc) ROW(tgamma)

#define ADX_LIBM2(ROW)                                                      \
    ROW(fmin) ROW(fmax) ROW(fdim) ROW(fmod) ROW(remainder) ROW(copysign)    \
    ROW(hypot) ROW(pow) ROW(atan2)

#define ADX_DEFINE(name)                                                    \
    ADX_INLINE ad_real adm_##name(ad_real x)                                \
        { return ADX_JOIN(ADX_OF_, ADREV_REAL)(name)(x); }
ADX_LIBM1(ADX_DEFINE)
#undef ADX_DEFINE

#define ADX_DEFINE(name)                                                    \
    ADX_INLINE ad_real adm_##name(ad_real x, ad_real y)                     \
        { return ADX_JOIN(ADX_OF_, ADREV_REAL)(name)(x, y); }
ADX_LIBM2(ADX_DEFINE)
#undef ADX_DEFINE

ADX_INLINE ad_real adm_fma(ad_real x, ad_real y, ad_real z)
{
    return ADX_JOIN(ADX_OF_, ADREV_REAL)(fma)(x, y, z);
}

ADX_INLINE ad_real adm_ldexp(ad_real x, int k)
{
    return ADX_JOIN(ADX_OF_, ADREV_REAL)(ldexp)(x, k);
}

// lgamma also sets signgam, which all threads share: a race, although nothing
// here reads it. lgamma_r does not, but <math.h> hides it from strict C11.
#if !defined ADREV_NO_THREADS && defined __ELF__                            \
    && (defined __linux__ || defined __FreeBSD__ || defined __NetBSD__      \
        || defined __OpenBSD__)
#define ADX_HAS_LGAMMA_R 1
#else
#define ADX_HAS_LGAMMA_R 0
#endif

#if ADX_HAS_LGAMMA_R
ADX_EXTERN double adx_lgamma_double(double x, int *sign) __asm__("lgamma_r");
ADX_EXTERN float adx_lgamma_float(float x, int *sign) __asm__("lgammaf_r");

ADX_INLINE ad_real adm_lgamma(ad_real x)
{
    int sign = 0;
    return ADX_JOIN(adx_lgamma_, ADREV_REAL)(x, &sign);
}
#else
ADX_INLINE ad_real adm_lgamma(ad_real x)
{
    return ADX_JOIN(ADX_OF_, ADREV_REAL)(lgamma)(x);
}
#endif

// In core/special: these are too long to inline, or not in <math.h>. The orders
// k and n are whole.
ADX_API ad_real adx_digamma(ad_real x);
ADX_API ad_real adx_polygamma(ad_real k, ad_real x);
ADX_API ad_real adx_log_add_exp(ad_real x, ad_real y);
ADX_API ad_real adx_share_of_exp(ad_real x, ad_real y);
ADX_API ad_real adx_jn(ad_real n, ad_real x);
ADX_API ad_real adx_yn(ad_real n, ad_real x);

// In core/incomplete: gamma_p and gamma_q of shape x at y; the derivatives of
// whole order x with respect to the shape y, at z, of P and of its density.
ADX_API ad_real adx_gamma_p(ad_real x, ad_real y);
ADX_API ad_real adx_gamma_q(ad_real x, ad_real y);
ADX_API ad_real adx_shape_slope(ad_real x, ad_real y, ad_real z);
ADX_API ad_real adx_shape_density(ad_real x, ad_real y, ad_real z);

// In core/beta: beta_p and beta_q of shapes x and y at z; derivatives
// of whole order j in x and k in y, at z, of the first and of its density.
ADX_API ad_real adx_beta_p(ad_real x, ad_real y, ad_real z);
ADX_API ad_real adx_beta_q(ad_real x, ad_real y, ad_real z);
ADX_API ad_real adx_beta_slope(int j, int k, ad_real x, ad_real y, ad_real z);
ADX_API ad_real adx_beta_density(int j, int k, ad_real x, ad_real y, ad_real z);

/* --- values and partials that need more than one expression -----------------
 * Each row makes a function adx_name, and its text for generated C. A ROW has a
 * name, parameters and a body. A PARTIAL is a function that partials call, so
 * in recorded functions it is an operation, too: it has a name, the number n of
 * its arguments x, y, z, attributes, its own partials, which may also use its
 * value v, and a body. An argument may matter although its partial is 0: then
 * it is a function of the others, and stands for the value of the operation
 * whose partial this is.
 *
 * share        how much of the larger of x and y is x: 1 or 0, and a half at a
 *              tie. If one of them is NaN, fmax and fmin return the other, and
 *              all of it is the other's
 * ldexp        exponents beyond 9999 or -9999 do no more than these
 * cosine       x/r for the length r; 0 at the origin, which is the subgradient
 *              of least norm
 * sound        1 where v has all its digits: not 0, subnormal, infinite or NaN
 * magnify      a power of 2: the length of x and y times it is sound
 * hypot_dx     x/r for r = hypot(x, y), even where r is not sound
 * over_square  x/(x*x + y*y) without the squares: they overflow at 1e155
 * over_square_dx  (y*y - x*x)/(x*x + y*y)^2; where x is close to y, the
 *              difference of the squares would cancel
 * asin_dx      1/sqrt(1 - x*x), and atanh_dx 1/(1 - x*x): near 1 the square
 *              would cancel
 * atan_dx      1/(1 + x*x); for large x the square would overflow
 * tanh_dx      1 - tanh(x)^2: the square is exact enough while it is below 1/4.
 *              Beyond that, 4t/(1 + t)^2 with t = exp(-2|x|) cancels nothing,
 *              while 1 - v*v has relative error 1e-8 at 10 and is 0 at 20
 * expm1_dx     exp(x) from v = expm1(x); where v + 1 cancels, from x
 * sigmoid      exp(-|x|) never overflows, and x <= 0 loses nothing
 * sigmoid_dx   v(1 - v) with t = exp(-|x|): 1 - v cancels for large x
 * softplus     log(1 + exp(x)) without overflow
 * gauss        exp(-x*x) to 2 ulp. exp would magnify the rounding error of x*x
 *              (27 ulp at x = 5); fma gives this error exactly, and the result
 *              is corrected by it
 * pow          x^y. Where a compiler sees an exponent 2 or -1, or a base 2, it
 *              takes a product, a quotient or exp2: here all of them are
 * pow_root     the root of |v| for v = x^y, which may be sound where v is not
 * pow_dx       y x^(y-1): from v = x^y where that is sound, else from its root,
 *              in the order in which nothing overflows before the result does
 * pow_dy       x^y log x; its limit 0 where x^y is 0
 * pow_dxx      y (y-1) x^(y-2), unless y - 2 is rounded: in x^(y-2) that error
 *              is up to 700 times as large, and the root has none
 * pow_dxy      x^(y-1) (1 + y log x), from the root for the same reason
 * weight       exp(x - most): where both are the same infinity, 1
 * exp10        10^x. clang turns pow(10, x) into exp10, which is not in
 *              <math.h>, and which need not give the same bits: the base is
 *              written so that it does not see it
 * frac         x without its whole part, as modf has it: with the sign of x,
 *              and 0 if x is infinite
 * exp_share    how much of exp(x) + exp(y) is exp(x)
 * gamma_da     derivative of order x, with respect to its shape y, of the
 *              incomplete gamma function P, at z
 * gamma_dx     the same of its density. y - 1 - z would be NaN at 0
 * beta_da      derivatives of the incomplete beta function with respect to its
 *              shapes a and b, up to the second, and of its density `dx` and
 *              the density's slope `dxx`: third derivatives with respect to
 *              shapes, and those of them with respect to z, are NaN
 * beta_end     the slope of the density at z = 0 and 1, where it is a limit
 * absorb       a product of the chain rule: a zero absorbs any other factor  */

#define ADX_HELPERS(ROW, PARTIAL)                                           \
    PARTIAL( share, 2, ADX_COST_SHORT,                                      \
        0, 0, 0,                                                            \
        return x > y ? 1 : x < y ? 0                                        \
             : x == y ? 1 / (ad_real)2 : y != y ? 1 : 0; )                  \
    ROW( sign, (ad_real x),                                                 \
        return x > 0 ? 1 : x < 0 ? -1 : x; )                                \
    ROW( absorb, (ad_real f, ad_real d),                                    \
        return f == 0 || d == 0 ? 0 : f * d; )                              \
    ROW( ldexp, (ad_real x, ad_real y),                                     \
        return y != y ? y                                                   \
             : adm_ldexp(x, y > 9999 ? 9999 : y < -9999 ? -9999 : (int)y); )\
    PARTIAL( cosine, 2, ADX_COST_SHORT,                                     \
        y == 0 ? 0 : 1 / y, y == 0 ? 0 : -v / y, 0,                         \
        return x == 0 ? 0 : x / y; )                                        \
    ROW( sound, (ad_real v),                                                \
        ad_real least = sizeof(ad_real) == 4 ? ADX_K(1e-37)                 \
                                             : ADX_K(1e-307);               \
        return adm_fabs(v) > least && v - v == 0; )                         \
    ROW( magnify, (ad_real x, ad_real y),                                   \
        ad_real s = adm_fabs(x) + adm_fabs(y);                              \
        return s > 1 ? 1 / (ad_real)4                                       \
             : adx_sound(s) != 0 ? 1 : ADX_K(9.007199254740992e15); )       \
    PARTIAL( hypot_dx, 3, ADX_COST_SHORT | ADX_MAY_CALL,                    \
        z == 0 ? 0 : adx_hypot_dx(y, x, z) / adm_sqrt(z) *                  \
            (adx_hypot_dx(y, x, z) / adm_sqrt(z)),                          \
        z == 0 ? 0 : -v * adx_hypot_dx(y, x, z) / z,                        \
        0,                                                                  \
        ad_real h = 0;                                                      \
        if (x == 0 || adx_sound(z) != 0)                                    \
            return adx_cosine(x, z);                                        \
        h = adx_magnify(x, y);                                              \
        if (x - x == 0)                                                     \
            return h * x / adm_hypot(h * x, h * y);                         \
        return y - y == 0 ? adx_sign(x) : y - y; )                          \
    PARTIAL( over_square, 2, ADX_COST_CALL,                                 \
        adx_over_square_dx(x, y),                                           \
        -2 * adx_absorb(v, adx_over_square(y, x)),                          \
        0,                                                                  \
        ad_real h = adx_magnify(x, y);                                      \
        ad_real r = adm_hypot(h * x, h * y);                                \
        return r - r == 0 ? h * x / r / r * h : 0 / r; )                    \
    PARTIAL( over_square_dx, 2, ADX_COST_CALL,                              \
        -2 * adx_absorb(adx_over_square(x, y), v + 2 * adx_over_square(y,   \
            x) * adx_over_square(y, x)),                                    \
        -2 * adx_absorb(adx_over_square(y, x), v - 2 * adx_over_square(x,   \
            y) * adx_over_square(x, y)),                                    \
        0,                                                                  \
        ad_real h = adx_magnify(x, y);                                      \
        ad_real r = adm_hypot(h * x, h * y);                                \
        ad_real less = (h * y - h * x) / r / r;                             \
        ad_real more = (h * y + h * x) / r / r;                             \
        return r - r == 0 ? adx_absorb(less, more) * h * h : 0 / r; )       \
    PARTIAL( asin_dx, 1, ADX_COST_SHORT | ADX_MAY_CALL,                     \
        x * v * v * v, 0, 0,                                                \
        return 1 / adm_sqrt((1 - x) * (1 + x)); )                           \
    PARTIAL( atanh_dx, 1, ADX_COST_SHORT,                                   \
        2 * x * v * v, 0, 0,                                                \
        return 1 / ((1 - x) * (1 + x)); )                                   \
    PARTIAL( atan_dx, 1, ADX_COST_SHORT,                                    \
        -2 * adx_absorb(x, v) * v, 0, 0,                                    \
        return adm_fabs(x) < ADX_K(1e8) ? 1 / (1 + x * x) : 1 / x / x; )    \
    PARTIAL( tanh_dx, 2, ADX_COST_CALL,                                     \
        -2 * y * v, 0, 0,                                                   \
        ad_real t = 0;                                                      \
        if (y * y < 1 / (ad_real)4)                                         \
            return 1 - y * y;                                               \
        t = adm_exp(-2 * adm_fabs(x));                                      \
        return 4 * t / ((1 + t) * (1 + t)); )                               \
    PARTIAL( expm1_dx, 2, ADX_COST_CALL,                                    \
        v, 0, 0,                                                            \
        return y > -1 / (ad_real)2 ? y + 1 : adm_exp(x); )                  \
    ROW( sigmoid, (ad_real x),                                              \
        ad_real t = adm_exp(-adm_fabs(x));                                  \
        return x >= 0 ? 1 / (1 + t) : t / (1 + t); )                        \
    PARTIAL( sigmoid_dx, 1, ADX_COST_CALL,                                  \
        -v * adm_tanh(x / 2), 0, 0,                                         \
        ad_real t = adm_exp(-adm_fabs(x));                                  \
        return t / ((1 + t) * (1 + t)); )                                   \
    ROW( softplus, (ad_real x),                                             \
        return (x > 0 ? x : 0) + adm_log1p(adm_exp(-adm_fabs(x))); )        \
    PARTIAL( gauss, 1, ADX_COST_CALL,                                       \
        -2 * adx_absorb(x, v), 0, 0,                                        \
        ad_real h = x * x;                                                  \
        ad_real low = adm_fma(x, x, -h);                                    \
        ad_real v = adm_exp(-h);                                            \
        return v == 0 ? v : v - v * low; )                                  \
    ROW( pow, (ad_real x, ad_real y),                                       \
        return y == 2 ? x * x : y == -1 ? 1 / x : x == 2 ? adm_exp2(y)      \
             : adm_pow(x, y); )                                             \
    ROW( pow_root, (ad_real x, ad_real y, ad_real v),                       \
        return v != v ? v : adx_pow(adm_fabs(x), y / 2); )                  \
    PARTIAL( pow_dx, 3, ADX_COST_CALL,                                      \
        adx_pow_dxx(x, y, z), adx_pow_dxy(x, y, z), 0,                      \
        ad_real h = 0;                                                      \
        if (y == 0)                                                         \
            return 0;                                                       \
        if (adx_sound(z) != 0)                                              \
            return adm_fabs(z) > 1 && adm_fabs(x) > 1 ? y * (z / x)         \
                                                      : y * z / x;          \
        h = adx_pow_root(x, y, z);                                          \
        return adx_sound(h) != 0 ? adm_copysign(h, z) / x * y * h           \
                                 : adx_absorb(y, adx_pow(x, y - 1)); )      \
    PARTIAL( pow_dy, 3, ADX_COST_CALL,                                      \
        adx_pow_dxy(x, y, z), adx_absorb(v, adm_log(x)), 0,                 \
        ad_real h = 0;                                                      \
        if (adx_sound(z) != 0)                                              \
            return z * adm_log(x);                                          \
        h = adx_pow_root(x, y, z);                                          \
        return adx_sound(h) != 0 ? h * adm_log(x) * h                       \
             : z == 0 && x >= 0 ? 0 : z * adm_log(x); )                     \
    PARTIAL( pow_dxx, 3, ADX_COST_LONG,                                     \
        adx_absorb(y, adx_pow_dxx(x, y - 1, adx_pow(x, y - 1))),            \
        adx_pow_dx(x, y - 1, adx_pow(x, y - 1)) + adx_absorb(y,             \
            adx_pow_dxy(x, y - 1, adx_pow(x, y - 1))),                      \
        0,                                                                  \
        ad_real less = y - 2;                                               \
        ad_real w = adx_pow(x, less);                                       \
        ad_real h = 0;                                                      \
        if (y == 0 || y == 1)                                               \
            return 0;                                                       \
        if (less + 2 == y && adx_sound(w) != 0)                             \
            return y * (y - 1) * w;                                         \
        h = adx_pow_root(x, y, z);                                          \
        return adx_sound(h) != 0                                            \
             ? adm_copysign(h, z) / x * y * (h / x * (y - 1))               \
             : adx_absorb(y * (y - 1), w); )                                \
    PARTIAL( pow_dxy, 3, ADX_COST_LONG,                                     \
        adx_pow_dx(x, y - 1, adx_pow(x, y - 1)) + adx_absorb(y,             \
            adx_pow_dxy(x, y - 1, adx_pow(x, y - 1))),                      \
        adx_absorb(adx_pow_dy(x, y - 1, adx_pow(x, y - 1)), 2 +             \
            adx_absorb(y, adm_log(x))),                                     \
        0,                                                                  \
        ad_real h = adx_pow_root(x, y, z);                                  \
        ad_real d = 1 + adx_absorb(y, adm_log(x));                          \
        if (adx_sound(h) == 0)                                              \
            return adx_absorb(adx_pow(x, y - 1), d);                        \
        return x < 1 && y < 1 ? h / x * h * d : h / x * d * h; )            \
    PARTIAL( weight, 2, ADX_COST_CALL,                                      \
        v, -v, 0,                                                           \
        return x == y ? 1 : adm_exp(x - y); )                               \
    ROW( exp10, (ad_real x),                                                \
        return adm_pow(x != x ? x : 10, x); )                               \
    ROW( frac, (ad_real x),                                                 \
        return x - x == 0 ? adm_copysign(x - adm_trunc(x), x)               \
             : x != x ? x : adm_copysign(0, x); )                           \
    PARTIAL( exp_share, 2, ADX_COST_CALL,                                   \
        v * adx_exp_share(y, x), -v * adx_exp_share(y, x), 0,               \
        return adx_share_of_exp(x, y); )                                    \
    PARTIAL( gamma_da, 3, ADX_COST_LONG,                                    \
        0, adx_gamma_da(x + 1, y, z), adx_gamma_dx(x, y, z),                \
        return adx_shape_slope(x, y, z); )                                  \
    PARTIAL( gamma_dx, 3, ADX_COST_LONG,                                    \
        0, adx_gamma_dx(x + 1, y, z),                                       \
        z == 0 ? (y == 1 ? 0 : adx_gamma_dx(x, y - 1, z)) - v               \
            : adx_absorb(v, (y - 1 - z) / z)                                \
            + adx_absorb(x / z, adx_gamma_dx(x - 1, y, z)),                 \
        return adx_shape_density(x, y, z); )                                \
    ROW( beta_end, (ad_real x, ad_real y, ad_real z),                       \
        const ad_real far = (ad_real)HUGE_VAL;                              \
        if (z == 1)                                                         \
            return -adx_beta_end(y, x, 0);                                  \
        if (z != 0 || !(x > 0 && y >= 0 && x + y - (x + y) == 0))           \
            return (ad_real)NAN;                                            \
        return x > 2 || y == 0 ? 0 : x == 2 ? y * (y + 1)                   \
             : x == 1 ? y * (1 - y) : x < 1 ? -far : far; )                 \
    PARTIAL( beta_dx, 3, ADX_COST_LONG,                                     \
        adx_beta_dax(x, y, z), adx_beta_dbx(x, y, z), adx_beta_dxx(x, y, z),\
        return adx_beta_density(0, 0, x, y, z); )                           \
    PARTIAL( beta_dxx, 3, ADX_COST_LONG,                                    \
        adx_beta_dax(x, y, z) * ((x - 1) / z - (y - 1) / (1 - z))           \
            + adx_beta_dx(x, y, z) / z,                                     \
        adx_beta_dbx(x, y, z) * ((x - 1) / z - (y - 1) / (1 - z))           \
            - adx_beta_dx(x, y, z) / (1 - z),                               \
        v * ((x - 1) / z - (y - 1) / (1 - z)) - adx_beta_dx(x, y, z)        \
            * ((x - 1) / z / z + (y - 1) / (1 - z) / (1 - z)),              \
        return !(z > 0 && z < 1) ? adx_beta_end(x, y, z)                    \
             : adx_absorb(adx_beta_density(0, 0, x, y, z),                  \
                          (x - 1) / z - (y - 1) / (1 - z)); )               \
    PARTIAL( beta_dax, 3, ADX_COST_LONG,                                    \
        0 / (z - z), 0 / (z - z),                                           \
        v * ((x - 1) / z - (y - 1) / (1 - z))                               \
            + adx_beta_dx(x, y, z) / z,                                     \
        return adx_beta_density(1, 0, x, y, z); )                           \
    PARTIAL( beta_dbx, 3, ADX_COST_LONG,                                    \
        0 / (z - z), 0 / (z - z),                                           \
        v * ((x - 1) / z - (y - 1) / (1 - z))                               \
            - adx_beta_dx(x, y, z) / (1 - z),                               \
        return adx_beta_density(0, 1, x, y, z); )                           \
    PARTIAL( beta_da, 3, ADX_COST_LONG,                                     \
        adx_beta_daa(x, y, z), adx_beta_dab(x, y, z), adx_beta_dax(x, y, z),\
        return adx_beta_slope(1, 0, x, y, z); )                             \
    PARTIAL( beta_db, 3, ADX_COST_LONG,                                     \
        adx_beta_dab(x, y, z), adx_beta_dbb(x, y, z), adx_beta_dbx(x, y, z),\
        return adx_beta_slope(0, 1, x, y, z); )                             \
    PARTIAL( beta_daa, 3, ADX_COST_LONG,                                    \
        0 / (z - z), 0 / (z - z), 0 / (z - z),                              \
        return adx_beta_slope(2, 0, x, y, z); )                             \
    PARTIAL( beta_dab, 3, ADX_COST_LONG,                                    \
        0 / (z - z), 0 / (z - z), 0 / (z - z),                              \
        return adx_beta_slope(1, 1, x, y, z); )                             \
    PARTIAL( beta_dbb, 3, ADX_COST_LONG,                                    \
        0 / (z - z), 0 / (z - z), 0 / (z - z),                              \
        return adx_beta_slope(0, 2, x, y, z); )

#define ADX_DEFINE(name, parameters, ...)                                   \
    ADX_INLINE ad_real adx_##name parameters { __VA_ARGS__ }
#define ADX_PARAMETERS_1 (ad_real x)
#define ADX_PARAMETERS_2 (ad_real x, ad_real y)
#define ADX_PARAMETERS_3 (ad_real x, ad_real y, ad_real z)
#define ADX_DEFINE_PARTIAL(name, n, how, fx, fy, fz, ...)                   \
    ADX_DEFINE(name, ADX_PARAMETERS_##n, __VA_ARGS__)
ADX_HELPERS(ADX_DEFINE, ADX_DEFINE_PARTIAL)
#undef ADX_DEFINE
#undef ADX_DEFINE_PARTIAL

/* --- legend -----------------------------------------------------------------
 * name    ad_name, ADREV_OP_name; as in <math.h> where it is there
 * n       number of arguments x, y, z
 * value   C expression in x, y, z
 * d/dx    partial, C expression in x, y, z and v (the value just computed);
 * d/dy    0 where the argument does not exist, or is an integer parameter
 * d/dz
 * box     where tests/core/operations.c samples: from, to for each argument.
 *         Value and partials are smooth inside; edges are in ADREV_EDGES.
 * attributes   what it costs, and what else is true of it
 * Constants are integers or ADX_K(17 digits): the text is emitted verbatim. */

enum {
    ADX_COST_SHORT,             // a few instructions
    ADX_COST_CALL,              // a call of the math library
    ADX_COST_LONG,              // as much as two such calls, or more
    ADX_COST = 3,               // the bits of these
    ADX_MAY_CALL = 4,           // short, but compilers may call a function:
                                // sqrt sets errno for negative numbers
    ADX_LINEAR = 8,             // its partials are constants
    ADX_COMMUTES = 16,          // x and y may change places, to the last bit
    ADX_IDENTITY = 32,          // an identity may give the result although no
                                // argument is constant: -(-x) is x
    ADX_WHOLE_X = 64,           // this argument is a constant, and whole: an
    ADX_WHOLE_Y = 128,          // order, or an exponent
    ADX_ADDS = 256,             // ADREV_COUNT: it counts as an addition;
    ADX_TIMES = 512,            // as a multiplication; with neither, as fn
    ADX_SCALES = 1024           // and its partials take a multiplication each
};

// clang-format off
#define ADREV_OPS(ROW)                                                                                                   \
    /*   name      n  value                     d/dx                      d/dy                  d/dz     box: x, y, z          attributes */ \
    ROW( add,      2, x + y,                    1,                        1,                    0,       -3,3, -3,3, 0,0,      ADX_ADDS | ADX_LINEAR | ADX_COMMUTES ) \
    ROW( sub,      2, x - y,                    1,                        -1,                   0,       -3,3, -3,3, 0,0,      ADX_ADDS | ADX_LINEAR ) \
    ROW( mul,      2, x * y,                    y,                        x,                    0,       -3,3, -3,3, 0,0,      ADX_TIMES | ADX_COMMUTES ) \
    ROW( div,      2, x / y,                    1 / y,                    -(v / y),             0,       -3,3, .5,3, 0,0,      ADX_TIMES | ADX_SCALES ) \
    ROW( fma,      3, adm_fma(x, y, z),         y,                        x,                    1,       -3,3, -3,3, -3,3,     ADX_ADDS | ADX_TIMES ) \
    ROW( neg,      1, -x,                       -1,                       0,                    0,       -3,3, 0,0, 0,0,       ADX_TIMES | ADX_LINEAR | ADX_IDENTITY ) \
    ROW( sqr,      1, x * x,                    2 * x,                    0,                    0,       -3,3, 0,0, 0,0,       ADX_TIMES | ADX_SCALES ) \
    ROW( abs,      1, adm_fabs(x),              adx_sign(x),              0,                    0,       .1,3, 0,0, 0,0,       ADX_COST_SHORT ) \
    ROW( min,      2, x <= y || y != y ? x : y, adx_share(-x, -y),        adx_share(-y, -x),    0,       -3,0, .1,3, 0,0,      ADX_COST_SHORT ) \
    ROW( max,      2, x >= y || y != y ? x : y, adx_share(x, y),          adx_share(y, x),      0,       -3,0, .1,3, 0,0,      ADX_COST_SHORT ) \
    ROW( clamp,    3, x < y ? y : x > z ? z : x, x < y || x > z ? 0 : 1,  x < y ? 1 : 0,        x < y ? 0 : x > z ? 1 : 0, -1,1, -3,-2, 2,3, ADX_COST_SHORT ) \
    ROW( select,   3, x != 0 ? y : z,           0,                        x != 0 ? 1 : 0,       x != 0 ? 0 : 1, 1,2, -3,3, -3,3, ADX_COST_SHORT | ADX_IDENTITY ) \
    ROW( fdim,     2, adm_fdim(x, y),           x > y ? 1 : 0,            x > y ? -1 : 0,       0,       1,3, -3,0, 0,0,       ADX_COST_SHORT | ADX_MAY_CALL ) \
    ROW( fmod,     2, adm_fmod(x, y),           1,                        adm_rint(v / y - x / y), 0,      4.2,5.5, 1.9,2, 0,0, ADX_COST_CALL ) \
    ROW( remainder, 2, adm_remainder(x, y),     1,                        adm_rint(v / y - x / y), 0,      5.1,5.6, 1.9,2, 0,0, ADX_COST_LONG ) \
    ROW( frac,     1, adx_frac(x),              1,                        0,                    0,       .1,.9, 0,0, 0,0,      ADX_COST_CALL ) \
    ROW( copysign, 2, adm_copysign(x, y),       adx_sign(x) * adm_copysign(1, y), 0,            0,       .1,3, -3,-1, 0,0,     ADX_COST_SHORT ) \
    ROW( ldexp,    2, adx_ldexp(x, y),          adx_ldexp(1, y),          0,                    0,       -3,3, -2,5, 0,0,      ADX_COST_CALL | ADX_WHOLE_Y ) \
    ROW( sqrt,     1, adm_sqrt(x),              1 / (2 * v),              0,                    0,       .1,9, 0,0, 0,0,       ADX_COST_SHORT | ADX_MAY_CALL ) \
    ROW( cbrt,     1, adm_cbrt(x),              1 / (3 * v * v),          0,                    0,       .1,9, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( hypot,    2, adm_hypot(x, y),          adx_hypot_dx(x, y, v),    adx_hypot_dx(y, x, v), 0,      -3,3, .1,3, 0,0,      ADX_COST_CALL ) \
    ROW( pow,      2, adx_pow(x, y),            adx_pow_dx(x, y, v),      adx_pow_dy(x, y, v),  0,       .1,3, -3,3, 0,0,      ADX_COST_LONG ) \
    ROW( powi,     2, adx_pow(x, y),            adx_pow_dx(x, y, v),      0,                    0,       -3,-1, -4,5, 0,0,     ADX_COST_LONG | ADX_WHOLE_Y ) \
    ROW( exp,      1, adm_exp(x),               v,                        0,                    0,       -5,5, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( exp2,     1, adm_exp2(x),              v * ADX_K(0.69314718055994530942), 0,           0,       -5,5, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( exp10,    1, adx_exp10(x),             v * ADX_K(2.3025850929940456840), 0,            0,       -5,5, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( expm1,    1, adm_expm1(x),             adx_expm1_dx(x, v),       0,                    0,       -5,5, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( log,      1, adm_log(x),               1 / x,                    0,                    0,       .1,9, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( log2,     1, adm_log2(x),              ADX_K(1.4426950408889634074) / x, 0,            0,       .1,9, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( log10,    1, adm_log10(x),             ADX_K(0.43429448190325182765) / x, 0,           0,       .1,9, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( log1p,    1, adm_log1p(x),             1 / (1 + x),              0,                    0,       -.9,9, 0,0, 0,0,      ADX_COST_CALL ) \
    ROW( sin,      1, adm_sin(x),               adm_cos(x),               0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( cos,      1, adm_cos(x),               -adm_sin(x),              0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( tan,      1, adm_tan(x),               1 + v * v,                0,                    0,       -1.4,1.4, 0,0, 0,0,   ADX_COST_CALL ) \
    ROW( asin,     1, adm_asin(x),              adx_asin_dx(x),           0,                    0,       -.9,.9, 0,0, 0,0,     ADX_COST_LONG ) \
    ROW( acos,     1, adm_acos(x),              -adx_asin_dx(x),          0,                    0,       -.9,.9, 0,0, 0,0,     ADX_COST_CALL ) \
    ROW( atan,     1, adm_atan(x),              adx_atan_dx(x),           0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( atan2,    2, adm_atan2(x, y),          adx_over_square(y, x),    -adx_over_square(x, y), 0,     -3,3, .5,3, 0,0,      ADX_COST_LONG ) \
    ROW( sinh,     1, adm_sinh(x),              adm_cosh(x),              0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( cosh,     1, adm_cosh(x),              adm_sinh(x),              0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( tanh,     1, adm_tanh(x),              adx_tanh_dx(x, v),        0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( asinh,    1, adm_asinh(x),             1 / adm_hypot(1, x),      0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( acosh,    1, adm_acosh(x),             1 / (adm_sqrt(x - 1) * adm_sqrt(x + 1)), 0,     0,       1.1,9, 0,0, 0,0,      ADX_COST_LONG ) \
    ROW( atanh,    1, adm_atanh(x),             adx_atanh_dx(x),          0,                    0,       -.9,.9, 0,0, 0,0,     ADX_COST_LONG ) \
    ROW( relu,     1, x <= 0 ? 0 : x,           x <= 0 ? 0 : 1,           0,                    0,       .1,3, 0,0, 0,0,       ADX_COST_SHORT ) \
    ROW( sigmoid,  1, adx_sigmoid(x),           adx_sigmoid_dx(x),        0,                    0,       -6,6, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( softplus, 1, adx_softplus(x),          adx_sigmoid(x),           0,                    0,       -6,6, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( log_add_exp, 2, adx_log_add_exp(x, y), adx_exp_share(x, y),      adx_exp_share(y, x),  0,       0,3, 0,3, 0,0,        ADX_COST_LONG ) \
    ROW( erf,      1, adm_erf(x),               ADX_K(1.1283791670955125739) * adx_gauss(x),  0, 0,      -3,3, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( erfc,     1, adm_erfc(x),              ADX_K(-1.1283791670955125739) * adx_gauss(x), 0, 0,      -3,3, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( lgamma,   1, adm_lgamma(x),            adx_digamma(x),           0,                    0,       .2,9, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( tgamma,   1, adm_tgamma(x),            v * adx_digamma(x),       0,                    0,       .2,5, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( digamma,  1, adx_digamma(x),           adx_polygamma(1, x),      0,                    0,       .2,9, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( gamma_p,  2, adx_gamma_p(x, y),        adx_gamma_da(1, x, y),    adx_gamma_dx(0, x, y), 0,      .5,9, .5,9, 0,0,      ADX_COST_LONG ) \
    ROW( gamma_q,  2, adx_gamma_q(x, y),        -adx_gamma_da(1, x, y),   -adx_gamma_dx(0, x, y), 0,     .5,9, .5,9, 0,0,      ADX_COST_LONG ) \
    ROW( polygamma, 2, adx_polygamma(x, y),     0,                        adx_polygamma(x + 1, y), 0,    1,5, .2,9, 0,0,       ADX_COST_LONG | ADX_WHOLE_X ) \
    ROW( jn,       2, adx_jn(x, y),             0,                        adx_jn(x - 1, y) / 2 - adx_jn(x + 1, y) / 2, 0, -3,4, .5,1.7, 0,0, ADX_COST_LONG | ADX_WHOLE_X ) \
    ROW( yn,       2, adx_yn(x, y),             0,                        y == 0 ? -v : adx_yn(x - 1, y) / 2 - adx_yn(x + 1, y) / 2, 0, -3,4, 1.1,2, 0,0, ADX_COST_LONG | ADX_WHOLE_X ) \
    ROW( beta_p,   3, adx_beta_p(x, y, z),      adx_beta_da(x, y, z),     adx_beta_db(x, y, z), adx_beta_dx(x, y, z), .5,9, .5,9, .1,.9, ADX_COST_LONG ) \
    ROW( beta_q,   3, adx_beta_q(x, y, z),      -adx_beta_da(x, y, z),    -adx_beta_db(x, y, z), -adx_beta_dx(x, y, z), .5,9, .5,9, .1,.9, ADX_COST_LONG )

/* Piecewise constant functions: derivative 0 everywhere, jumps included. Their
 * result is a constant of the recording. The box crosses several steps.      */

#define ADREV_STEPS(ROW)                                                                    \
    /*   name       value              box: x  attributes */                                \
    ROW( floor,     adm_floor(x),      -3,3,      ADX_COST_CALL )                           \
    ROW( ceil,      adm_ceil(x),       -3,3,      ADX_COST_CALL )                           \
    ROW( trunc,     adm_trunc(x),      -3,3,      ADX_COST_CALL )                           \
    ROW( round,     adm_round(x),      -3,3,      ADX_COST_CALL )                           \
    ROW( rint,      adm_rint(x),       -3,3,      ADX_COST_CALL )                           \
    ROW( nearbyint, adm_nearbyint(x),  -3,3,      ADX_COST_CALL )                           \
    ROW( sign,      adx_sign(x),       -3,3,      ADX_COST_SHORT )

/* Comparisons look at values only. While a hook watches, it is told of them. */

#define ADREV_COMPARISONS(ROW)                                                              \
    ROW( lt, < )  ROW( le, <= )  ROW( gt, > )  ROW( ge, >= )  ROW( eq, == )  ROW( ne, != )

/* --- conventions at kinks, ties, limits and extreme arguments ---------------
 * Tested as they stand, in double precision: the first partials by
 * tests/core/edges.c, the second ones, which a recorded function has
 * (adrev_function.h), by tests/core/second_partials.c. Both try all magnitudes,
 * too.
 * ulps    largest error of a partial; 0: the very same bits, NaN for NaN     */

#define ADX_NAN ((double)NAN)
#define ADX_INF ((double)INFINITY)
#define ADREV_EDGES(ROW)                                                                                                                  \
    /*   op        x        y      z    want d/dx                d/dy                    d/dz ulps  because */                            \
    ROW( abs,      0,       0,     0,   0,                       0,                      0,   0, "kink: the middle of [-1, 1]" )          \
    ROW( min,      1,       1,     0,   0.5,                     0.5,                    0,   0, "tie: shared equally" )                  \
    ROW( max,      1,       1,     0,   0.5,                     0.5,                    0,   0, "tie: shared equally" )                  \
    ROW( max,      1,       ADX_NAN,   0,   1,                       0,                      0,   0, "as fmax: NaN counts as missing" )   \
    ROW( min,      ADX_NAN,     1,     0,   0,                       1,                      0,   0, "as fmin: NaN counts as missing" )   \
    ROW( clamp,    0,       0,     1,   1,                       0,                      0,   0, "on the bound: still inside" )           \
    ROW( clamp,    2,       0,     1,   0,                       0,                      1,   0, "above: follows the bound" )             \
    ROW( fdim,     1,       1,     0,   0,                       0,                      0,   0, "tie: as relu" )                         \
    ROW( relu,     0,       0,     0,   0,                       0,                      0,   0, "kink: sparse choice, as everywhere" )   \
    ROW( copysign, 0,       1,     0,   0,                       0,                      0,   0, "kink: as abs" )                         \
    ROW( sqrt,     0,       0,     0,   ADX_INF,                0,                      0,   0, "true limit, not NaN" )                   \
    ROW( cbrt,     0,       0,     0,   ADX_INF,                0,                      0,   0, "true limit, not NaN" )                   \
    ROW( cbrt,     1e-300,  0,     0,   3.3333333333333333e199,  0,                      0,   4, "v*v does not underflow" )               \
    ROW( hypot,    0,       0,     0,   0,                       0,                      0,   0, "subgradient of least norm" )            \
    ROW( hypot,    3e200,   4e200, 0,   0.6,                     0.8,                    0,   2, "no square overflows" )                  \
    ROW( hypot,    3e-200,  4e-200, 0,  0.6,                     0.8,                    0,   2, "no square underflows" )                 \
    ROW( hypot,    ADX_INF, 1,     0,   1,                       0,                      0,   0, "true limit" )                           \
    ROW( hypot,    1,       -ADX_INF, 0, 0,                      -1,                     0,   0, "true limit" )                           \
    ROW( hypot,    1.7e308, 1.7e308, 0, 0.70710678118654752,     0.70710678118654752,    0,   2, "where the value overflows" )            \
    ROW( atan2,    1e200,   1e200, 0,   5e-201,                  -5e-201,                0,   4, "no square overflows" )                  \
    ROW( atan2,    1,       ADX_INF, 0, 0,                       0,                      0,   0, "true limit" )                           \
    ROW( atan2,    ADX_INF, ADX_INF, 0, 0,                       0,                      0,   0, "true limit" )                           \
    ROW( atan2,    0,       0,     0,   ADX_NAN,                     ADX_NAN,                    0,   0, "no limit exists" )              \
    ROW( atan,     1e200,   0,     0,   0,                       0,                      0,   0, "1e-400 rounds to 0" )                   \
    ROW( atan,     1e150,   0,     0,   1e-300,                  0,                      0,   2, "x*x is near overflow" )                 \
    ROW( pow,      0,       1.5,   0,   0,                       0,                      0,   0, "limits: 1.5 sqrt(0), 0 log 0" )         \
    ROW( pow,      0,       1,     0,   1,                       0,                      0,   0, "x^1 has slope 1 at 0 too" )             \
    ROW( pow,      0,       2,     0,   0,                       0,                      0,   0, "x^2 at its minimum" )                   \
    ROW( pow,      0,       0.5,   0,   ADX_INF,                0,                      0,   0, "true limit, as sqrt" )                   \
    ROW( pow,      0,       0,     0,   0,                       -ADX_INF,              0,   0, "x^0 = 1; log 0" )                        \
    ROW( pow,      ADX_INF, -1,    0,   0,                       0,                      0,   0, "true limits" )                          \
    ROW( pow,      -2,      0,     0,   0,                       ADX_NAN,                    0,   0, "x^0 = 1; log of a negative number" )    \
    ROW( pow,      -2,      3,     0,   12,                      ADX_NAN,                    0,   0, "integer exponent: d/dx exists" )    \
    ROW( pow,      1e-200,  2,     0,   2e-200,                  0,                      0,   2, "value underflows, partial does not" )   \
    ROW( powi,     0,       1,     0,   1,                       0,                      0,   0, "x^1 has slope 1 at 0 too" )             \
    ROW( powi,     0,       0,     0,   0,                       0,                      0,   0, "constant 1" )                           \
    ROW( powi,     -2,      -1,    0,   -0.25,                   0,                      0,   2, "negative base and exponent" )           \
    ROW( exp,      -750,    0,     0,   0,                       0,                      0,   0, "underflows like the value" )            \
    ROW( expm1,    -40,     0,     0,   4.248354255291589e-18,   0,                      0,   2, "v + 1 would be 0" )                     \
    ROW( expm1,    1e-20,   0,     0,   1,                       0,                      0,   0, "no cancellation at 0" )                 \
    ROW( log,      0,       0,     0,   ADX_INF,                0,                      0,   0, "true limit" )                            \
    ROW( log1p,    -0.9999999999999999, 0, 0, 9007199254740992,  0,                      0,   0, "1 + x is exact near -1" )               \
    ROW( log1p,    -1,      0,     0,   ADX_INF,                0,                      0,   0, "true limit" )                            \
    ROW( asin,     1,       0,     0,   ADX_INF,                0,                      0,   0, "true limit" )                            \
    ROW( asin,     0.9999999999999999, 0, 0, 67108864,           0,                      0,   2, "1 - x*x would lose half the digits" )   \
    ROW( acosh,    1,       0,     0,   ADX_INF,                0,                      0,   0, "true limit" )                            \
    ROW( acosh,    1e200,   0,     0,   1e-200,                  0,                      0,   3, "x*x would overflow" )                   \
    ROW( asinh,    1e200,   0,     0,   1e-200,                  0,                      0,   3, "x*x would overflow" )                   \
    ROW( atanh,    1,       0,     0,   ADX_INF,                0,                      0,   0, "true limit" )                            \
    ROW( tanh,     15,      0,     0,   3.743049187535369e-13,   0,                      0,   4, "1 - v*v is off by 1.7e-4 here" )        \
    ROW( tanh,     20,      0,     0,   1.699341702116636e-17,   0,                      0,   4, "1 - v*v is 0 here" )                    \
    ROW( tanh,     -20,     0,     0,   1.699341702116636e-17,   0,                      0,   4, "even" )                                 \
    ROW( tanh,     400,     0,     0,   0,                       0,                      0,   0, "1e-347 rounds to 0" )                   \
    ROW( sigmoid,  40,      0,     0,   4.248354255291589e-18,   0,                      0,   3, "v (1 - v) would be 0" )                 \
    ROW( sigmoid,  -1000,   0,     0,   0,                       0,                      0,   0, "no overflow" )                          \
    ROW( softplus, 1000,    0,     0,   1,                       0,                      0,   0, "no overflow" )                          \
    ROW( erf,      5,       0,     0,   1.5670866531017336e-11,  0,                      0,   3, "exp(-x*x) with the error of x*x" )      \
    ROW( erfc,     20,      0,     0,   -2.1610374743867985e-174, 0,                     0,   3, "exp(-x*x) with the error of x*x" )      \
    ROW( erf,      1e200,   0,     0,   0,                       0,                      0,   0, "x*x overflows to the right limit" )     \
    ROW( lgamma,   -1,      0,     0,   ADX_NAN,                     0,                      0,   0, "pole: both signs occur" )           \
    ROW( lgamma,   1e300,   0,     0,   690.77552789821371,      0,                      0,   2, "log x" )                                \
    ROW( lgamma,   1,       0,     0,   -0.57721566490153286,    0,                      0,   4, "minus Euler's constant" )               \
    ROW( lgamma,   -0.5,    0,     0,   0.03648997397857652,     0,                      0, 200, "cancels: the absolute error is 1e-16" ) \
    ROW( lgamma,   0,       0,     0,   -ADX_INF,                0,                      0,   0, "true limit, on the side of this zero" ) \
    ROW( digamma,  0,       0,     0,   ADX_INF,                 0,                      0,   0, "true limit" )                           \
    ROW( digamma,  -1,      0,     0,   ADX_INF,                 0,                      0,   0, "pole: the same sign on both sides" )    \
    ROW( digamma,  ADX_INF, 0,     0,   0,                       0,                      0,   0, "true limit" )                           \
    ROW( digamma,  1e300,   0,     0,   1e-300,                  0,                      0,   2, "1/x" )                                  \
    ROW( polygamma, 1,      -1,    0,   0,                       ADX_NAN,                0,   0, "pole: both signs occur" )               \
    ROW( polygamma, 2,      0,     0,   0,                       ADX_INF,                0,   0, "true limit" )                           \
    ROW( polygamma, 0,      1,     0,   0,                       1.6449340668482264,     0,   4, "order 0 is digamma" )                   \
    ROW( polygamma, 1,      ADX_INF, 0, 0,                       0,                      0,   0, "true limit" )                           \
    ROW( gamma_p,  2,       0,     0,   0,                       0,                      0,   0, "true limits" )                          \
    ROW( gamma_p,  1,       0,     0,   0,                       1,                      0,   0, "exp(-x)" )                              \
    ROW( gamma_p,  0.5,     0,     0,   0,                       ADX_INF,                0,   0, "true limit" )                           \
    ROW( gamma_p,  0,       1,     0,   -0.21938393439552028,    0,                      0,   3, "minus E1(x)" )                          \
    ROW( gamma_q,  0,       1e-3,  0,   6.3315393641361493,      -0.0,                   0,   3, "E1(x)" )                                \
    ROW( gamma_p,  1e-300,  1,     0,   -0.21938393439552028,    3.6787944117144232e-301, 0,  3, "digamma(a) is -1e300" )                 \
    ROW( gamma_p,  0,       0,     0,   ADX_NAN,                 ADX_NAN,                0,   0, "no limit exists" )                      \
    ROW( gamma_p,  3,       ADX_INF, 0, 0,                       0,                      0,   0, "true limits" )                          \
    ROW( gamma_p,  ADX_INF, 3,     0,   0,                       0,                      0,   0, "true limits" )                          \
    ROW( gamma_p,  -1,      2,     0,   ADX_NAN,                 ADX_NAN,                0,   0, "no probability" )                       \
    ROW( gamma_p,  2,       1e-200, 0,  0,                       1e-200,                 0,   2, "D underflows, its density does not" )   \
    ROW( gamma_q,  1e6,     1e6,   0,   0.00039894231364662522,-0.00039894224715624403, 0,  4, "log(x/a) would cancel" )                  \
    ROW( beta_p,   2,       3,     0,   0,                       0,                      0,  0, "true limits" )                          \
    ROW( beta_p,   1,       2,     0,   0,                       0,                      2,  0, "2 - 2 x" )                              \
    ROW( beta_p,   0.5,     1,     0,   0,                       0,                      ADX_INF, 0, "true limit" )                      \
    ROW( beta_p,   2,       1,     1,   0,                       0,                      2,  0, "2 x" )                                  \
    ROW( beta_q,   1,       0.5,   1,   0,                       0,                      -ADX_INF, 0, "true limit" )                     \
    ROW( beta_p,   0,       1,     0.5, -0.69314718055994531,    0,                      0,  3, "log x" )                                \
    ROW( beta_q,   1,       0,     0.5, 0,                       -0.69314718055994531,   0,  3, "log(1 - x)" )                           \
    ROW( beta_p,   0,       0,     0.5, ADX_NAN,                 ADX_NAN,                ADX_NAN, 0, "no limit exists" )                 \
    ROW( beta_p,   0,       1,     0,   ADX_NAN,                 ADX_NAN,                ADX_NAN, 0, "no limit exists" )                 \
    ROW( beta_p,   ADX_INF, 2,     0.5, 0,                       0,                      0,  0, "true limits" )                          \
    ROW( beta_p,   2,       ADX_INF, 0.5, 0,                       0,                      0,  0, "true limits" )                        \
    ROW( beta_p,   -1,      2,     0.5, ADX_NAN,                 ADX_NAN,                ADX_NAN, 0, "no probability" )                  \
    ROW( beta_p,   2,       3,     2,   ADX_NAN,                 ADX_NAN,                ADX_NAN, 0, "no probability" )                  \
    ROW( beta_p,   1e-300,  1,     0.5, -0.69314718055994531,    1.0626935403832140e-300, 2e-300, 3, "digamma(a) is -1e300" )            \
    ROW( beta_p,   2,       1,     1e-200, 0,                       0,                      2e-200, 2, "x^2 underflows, its density does not" )\
    ROW( jn,       0,       0,     0,   0,                       0,                      0,   0, "even" )                                 \
    ROW( jn,       1,       0,     0,   0,                       0.5,                    0,   0, "straight at 0" )                        \
    ROW( jn,       -1,      0,     0,   0,                       -0.5,                   0,   0, "minus order 1" )                        \
    ROW( jn,       2,       ADX_INF, 0, 0,                       0,                      0,   0, "true limit" )                           \
    ROW( jn,       3,       1e-100, 0,  0,                       6.25e-202,              0,   2, "x^2/16" )                               \
    ROW( yn,       0,       0,     0,   0,                       ADX_INF,                0,   0, "true limit" )                           \
    ROW( yn,       1,       0,     0,   0,                       ADX_INF,                0,   0, "true limit" )                           \
    ROW( yn,       -1,      0,     0,   0,                       -ADX_INF,               0,   0, "true limit: minus order 1" )            \
    ROW( yn,       0,       1e-100, 0,  0,                       6.3661977236758134e99,  0,   2, "2/(pi x)" )                             \
    ROW( yn,       1,       ADX_INF, 0, 0,                       0,                      0,   0, "true limit" )                           \
    ROW( yn,       0,       -1,    0,   0,                       ADX_NAN,                0,   0, "no real value there" )                  \
    ROW( exp10,    -400,    0,     0,   0,                       0,                      0,   0, "underflows like the value" )            \
    ROW( exp10,    2,       0,     0,   230.25850929940457,      0,                      0,   2, "the value is 100" )                     \
    ROW( frac,     ADX_INF, 0,     0,   1,                       0,                      0,   0, "of an infinity 0 is left" )             \
    ROW( frac,     -2,      0,     0,   1,                       0,                      0,   0, "a jump: as beside it" )                 \
    ROW( log_add_exp, 0,    0,     0,   0.5,                     0.5,                    0,   0, "tie" )                                  \
    ROW( log_add_exp, ADX_INF, ADX_INF, 0, 0.5,                  0.5,                    0,   0, "tie: shared equally" )                  \
    ROW( log_add_exp, -ADX_INF, 1, 0,   0,                       1,                      0,   0, "true limit" )                           \
    ROW( log_add_exp, 40,   0,     0,   1,                       4.248354255291589e-18,  0,   3, "1 - d/dx would be 0" )                  \
    ROW( log_add_exp, 1e308, -1e308, 0, 1,                       0,                      0,   0, "x - y overflows" )                      \
    ROW( fmod,     7,       2,     0,   1,                       -3,                     0,   0, "minus the quotient" )                   \
    ROW( remainder, 1.7e308, 1e308, 0,  1,                       -2,                     0,   0, "v - x would overflow" )                 \
    ROW( select,   0,       ADX_NAN,   2,   0,                       0,                      1,   0, "the branch not taken has weight 0" )

#define ADREV_EDGES_SECOND(ROW)                                                                                                           \
    /*   op        x        y           want d2/dx2              d2/dxdy                 d2/dy2  ulps  because */                         \
    ROW( sqrt,     0,       0,          -ADX_INF,                0,                      0,      0, "true limit" )                        \
    ROW( sqrt,     ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( cbrt,     ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( hypot,    1,       1e-100,     1e-200,                  -1e-100,                1,      3, "1 - (x/v)^2 would be 0" )            \
    ROW( hypot,    ADX_INF, 1,          0,                       0,                      0,      0, "true limits" )                       \
    ROW( pow,      0,       2,          2,                       0,                      0,      0, "true limits" )                       \
    ROW( pow,      1e-200,  2,          2,                       -9.2003403719761827e-198, 0,    3, "value underflows, partials do not" ) \
    ROW( pow,      1e-163,  1e-19,      -1e307,                  1e163,                  140866.13089730055, 4, "no factor overflows" )   \
    ROW( pow,      ADX_INF, -1,         0,                       0,                      0,      0, "true limits" )                       \
    ROW( pow,      -2,      3,          -12,                     ADX_NAN,                ADX_NAN, 2, "integer exponent: d2/dx2 exists" )  \
    ROW( powi,     0,       2,          2,                       0,                      0,      0, "its own curvature at 0 too" )        \
    ROW( powi,     -1e-200, 3,          -6e-200,                 0,                      0,      2, "value underflows, partial does not" ) \
    ROW( powi,     7e208,   3,          4.2e209,                 0,                      0,      3, "value overflows, partial does not" ) \
    ROW( log,      0,       0,          -ADX_INF,                0,                      0,      0, "true limit" )                        \
    ROW( log1p,    ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( asin,     1e-8,    0,          1.0000000000000002e-8,   0,                      0,      2, "(1 - x)(1 + x) would cancel" )       \
    ROW( asin,     1e-300,  0,          1e-300,                  0,                      0,      0, "x, not 0" )                          \
    ROW( asin,     1,       0,          ADX_INF,                 0,                      0,      0, "true limit" )                        \
    ROW( acos,     1e-300,  0,          -1e-300,                 0,                      0,      0, "-x, not 0" )                         \
    ROW( atan,     1e100,   0,          -2e-300,                 0,                      0,      4, "no square overflows" )               \
    ROW( atan,     1.7e308, 0,          0,                       0,                      0,      0, "2 x overflows" )                     \
    ROW( atan,     ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( atan2,    1,       1.0000000000000002, -0.49999999999999989, -1.1102230246251563e-16, 0.49999999999999989, 4, "of the squares' difference nothing is lost" ) \
    ROW( atan2,    1,       ADX_INF,    0,                       0,                      0,      0, "true limits" )                       \
    ROW( tanh,     20,      0,          -3.398683404233272e-17,  0,                      0,      4, "1 - v*v is 0 here" )                 \
    ROW( tanh,     ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( asinh,    ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( acosh,    1,       0,          -ADX_INF,                0,                      0,      0, "true limit" )                        \
    ROW( atanh,    1e-300,  0,          2e-300,                  0,                      0,      0, "2 x, not 0" )                        \
    ROW( atanh,    1,       0,          ADX_INF,                 0,                      0,      0, "true limit" )                        \
    ROW( sigmoid,  ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( softplus, -ADX_INF, 0,         0,                       0,                      0,      0, "true limit" )                        \
    ROW( erf,      1.7e308, 0,          0,                       0,                      0,      0, "2 x overflows" )                     \
    ROW( erf,      ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( lgamma,   -1e10 - 0.5, 0,      9.8696044009893586,      0,                      0,      3, "reflected" )                         \
    ROW( lgamma,   ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( lgamma,   0,       0,          ADX_INF,                 0,                      0,      0, "true limit" )                        \
    ROW( digamma,  0,       0,          -ADX_INF,                0,                      0,      0, "true limit, on the side of this zero" ) \
    ROW( digamma,  ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( digamma,  1e-50,   0,          -2e150,                  0,                      0,      4, "-2/x^3" )                            \
    ROW( polygamma, 2,      ADX_INF,    0,                       0,                      0,      0, "true limit" )                        \
    ROW( gamma_p,  2,       0,          0,                       0,                      1,      0, "x exp(-x)" )                         \
    ROW( gamma_p,  3,       ADX_INF,    0,                       0,                      0,      0, "true limits" )                       \
    ROW( jn,       0,       0,          0,                       0,                      -0.5,   0, "its largest value" )                 \
    ROW( jn,       2,       0,          0,                       0,                      0.25,   0, "x^2/8" )                             \
    ROW( jn,       1,       ADX_INF,    0,                       0,                      0,      0, "true limit" )                        \
    ROW( yn,       0,       0,          0,                       0,                      -ADX_INF, 0, "true limit" )                      \
    ROW( yn,       0,       1e-100,     0,                       0,                      -6.3661977236758134e199, 2, "-2/(pi x^2)" )      \
    ROW( exp10,    0,       0,          5.3018981104783981,      0,                      0,      2, "log(10)^2" )                         \
    ROW( log_add_exp, 0,    0,          0.25,                    -0.25,                  0.25,   0, "tie" )                               \
    ROW( log_add_exp, ADX_INF, 1,       0,                       0,                      0,      0, "true limits" )
// clang-format on

/* --- what is made from the rows here ------------------------------------- */

#define ADX_ENUM(name, ...) ADREV_OP_##name,
typedef enum ad_opcode {
    ADREV_OPS(ADX_ENUM) ADREV_STEPS(ADX_ENUM) ADREV_COMPARISONS(ADX_ENUM)
    ADREV_OP_detach,            // ad_detach: only a trace hook meets it
    ADREV_OP_COUNT
} ad_opcode;
#undef ADX_ENUM

// The attributes of all codes, in their order: a list for an initializer.
#define ADX_LAST_OF_ROW(name, n, f, fx, fy, fz, x0, x1, y0, y1, z0, z1, how) how,
#define ADX_LAST_OF_STEP(name, f, x0, x1, how) how,
#define ADX_SHORT_ONE(...)                     ADX_COST_SHORT,
#define ADX_ATTRIBUTES                                                      \
    ADREV_OPS(ADX_LAST_OF_ROW) ADREV_STEPS(ADX_LAST_OF_STEP)                \
    ADREV_COMPARISONS(ADX_SHORT_ONE) ADX_SHORT_ONE(detach)

// Whether a cell is 1.
#define ADX_IS_ONE(cell) ((#cell)[0] == '1' && (#cell)[1] == '\0')

// A row as data: for documentation, generated code and tests.
typedef struct ad_op_info {
    const char *name;
    int arity;
    const char *value;          // C expressions
    const char *partial[3];
    double box[6];              // x from, to, y from, to, z from, to
} ad_op_info;

#define ADX_DEFINE(name, n, f, fx, fy, fz, ...)                             \
    ADX_INLINE ad_real adx_f_##name(ad_real x, ad_real y, ad_real z)        \
        { (void)x; (void)y; (void)z; return f; }                            \
    ADX_INLINE ad_real adx_fx_##name(ad_real x, ad_real y, ad_real z,       \
                                     ad_real v)                             \
        { (void)x; (void)y; (void)z; (void)v; return fx; }                  \
    ADX_INLINE ad_real adx_fy_##name(ad_real x, ad_real y, ad_real z,       \
                                     ad_real v)                             \
        { (void)x; (void)y; (void)z; (void)v; return fy; }                  \
    ADX_INLINE ad_real adx_fz_##name(ad_real x, ad_real y, ad_real z,       \
                                     ad_real v)                             \
        { (void)x; (void)y; (void)z; (void)v; return fz; }
ADREV_OPS(ADX_DEFINE)
#undef ADX_DEFINE

#define ADX_DEFINE(name, f, ...)                                            \
    ADX_INLINE ad_real adx_f_##name(ad_real x) { return f; }
ADREV_STEPS(ADX_DEFINE)
#undef ADX_DEFINE
