#pragma once

/* === core/special ===========================================================
 * Functions that rows of the operator table call, and that are too long to
 * inline. They are compiled here only; code/text has them as text.
 *
 *   needs   core/config core/types core/operations
 *   offers  ADX_LONG ADX_LONG_SELDOM ADX_BESSELS
 * ========================================================================== */

/* --- functions as text ------------------------------------------------------
 * As in ADX_HELPERS, each row makes a function adx_name, and its text for
 * generated C: with a name, parameters and a body. A function stands behind
 * those that it calls. A PART is called from here only.
 *
 * pi_cot_pi     pi/tan(pi x). The argument is reduced so that neither end of a
 *               period loses digits
 * near_root     digamma at a distance h from its positive root, of at most 1/4:
 *               a Taylor series, whose next term is below 2^-60 of the first.
 *               The general formula would cancel here
 * digamma       below 1/2 by reflection, up to 10 by recurrence, and from there
 *               by the asymptotic series, whose next term is below 2^-58. The
 *               error is 3 ulp for x > 0; for x < 0 it is relative to the
 *               larger of the two terms that cancel. The root is
 *               1.46163214496836234126..., in two parts: float and the rest,
 *               double and the rest. `low` is what rounding took from `shift`
 * cot_dx        the derivative of order n, at most 20, of u = pi cot(pi x).
 *               Since u' = -(pi^2 + u^2), it is a polynomial in u, with
 *               coefficients p[j]: each round differentiates all terms p[j] u^j
 * polygamma     the derivative of order k of digamma. The recurrence raises x
 *               to at least 15 + k, where the asymptotic series follows, with
 *               the coefficients B(2j)/(2j)!; the first term that is left out
 *               is below 1e-17 of the first. An x far below zero is reflected
 *               to 1 - x. From the order 171 on, k! is infinite, and the
 *               recurrence endless
 * log_add_exp   log(exp(x) + exp(y)) without overflow
 * share_of_exp  how much of exp(x) + exp(y) is exp(x); a half at a tie, also of
 *               infinities. exp would magnify the rounding error `low` of x - y
 */

// clang-format off
#define ADX_LONG(ROW, PART)                                                 \
    PART( pi_cot_pi, (ad_real x),                                           \
        const ad_real pi = ADX_K(3.14159265358979323846);                   \
        const ad_real half = 1 / (ad_real)2;                                \
        ad_real r = x - adm_round(x);                                       \
        if (adm_fabs(r) < half / 2)                                         \
            return pi / adm_tan(pi * r);                                    \
        return pi * adm_tan(pi * (r > 0 ? half - r : -half - r)); )         \
    PART( near_root, (ad_real h),                                           \
        static const double c[22] = {                                       \
            0.96767224544762117043,  -0.44276316898359210609,               \
            0.25849976095565101062,  -0.16394270544240652750,               \
            0.10782405069126236576,  -0.072199561256454710926,              \
            0.048804288164143107225, -0.033161126474847359292,              \
            0.022597648232218104660, -0.015424765904948959139,              \
            0.010538791616612175388, -0.0072045343863568682410,             \
            0.0049267813957298534464, -0.0033698016554393280828,            \
            0.0023051263267349278369, -0.0015769367714301972593,            \
            0.0010788252019162965807, -0.00073807093899600512957,           \
            0.00050495326583460203518, -0.00034546802510630769956,          \
            0.00023635601564027052792, -0.00016170622091974803449           \
        };                                                                  \
        ad_real sum = 0;                                                    \
        int i;                                                              \
        for (i = 21; i >= 0; i--)                                           \
            sum = sum * h + (ad_real)c[i];                                  \
        return sum * h; )                                                   \
    ROW( digamma, (ad_real x),                                              \
        static const double bernoulli[8] = {                                \
            1 / 12., -1 / 120., 1 / 252., -1 / 240., 1 / 132., -691 / 32760., \
            1 / 12., -3617 / 8160.                                          \
        };                                                                  \
        const int narrow = sizeof(ad_real) == 4;                            \
        const ad_real root = narrow ? ADX_K(0x1.762d86p+0)                  \
                                    : ADX_K(1.4616321449683622458);         \
        const ad_real rest = narrow ? ADX_K(0x1.ab5f2p-27)                  \
                                    : ADX_K(9.5499954299656974e-17);        \
        ad_real below = 0, shift = 0, low = 0, sum = 0, r;                  \
        int i;                                                              \
        if (x == 0)                                                         \
            return -adm_copysign((ad_real)HUGE_VAL, x);                     \
        if (x < 0 && x == adm_floor(x))                                     \
            return (ad_real)NAN;                                            \
        if (x < 1 / (ad_real)2) {                                           \
            below = adx_pi_cot_pi(x);                                       \
            x = 1 - x;                                                      \
        }                                                                   \
        if (adm_fabs(x - root) < 1 / (ad_real)4)                            \
            return adx_near_root(x - root - rest) - below;                  \
        for (; x < 10; x++) {                                               \
            r = shift + 1 / x;                                              \
            low += 1 / x - (r - shift);                                     \
            shift = r;                                                      \
        }                                                                   \
        r = 1 / x / x;                                                      \
        for (i = 7; i >= 0; i--)                                            \
            sum = (sum + (ad_real)bernoulli[i]) * r;                        \
        return adm_log(x) - shift - (1 / (2 * x) + sum + low) - below; )    \
    ROW( log_add_exp, (ad_real x, ad_real y),                               \
        return x == y ? x + ADX_K(0.69314718055994530942)                   \
             : (x > y ? x : y) + adm_log1p(adm_exp(-adm_fabs(x - y))); )    \
    ROW( share_of_exp, (ad_real x, ad_real y),                              \
        ad_real d = x - y;                                                  \
        ad_real back = d - x;                                               \
        ad_real low = x - (d - back) - (y + back);                          \
        ad_real t = adm_exp(-adm_fabs(d));                                  \
        ad_real v = d >= 0 ? 1 / (1 + t) : t / (1 + t);                     \
        return x == y ? 1 / (ad_real)2                                      \
             : low - low == 0 ? v + v * (1 - v) * low : v; )

// Nearly all of their time is pow's.
#define ADX_LONG_SELDOM(ROW, PART)                                          \
    PART( cot_dx, (int n, double x),                                        \
        const double pi = 3.14159265358979323846;                           \
        double p[24] = { 0 };                                               \
        double u = (double)adx_pi_cot_pi((ad_real)x), sum = 0;              \
        int degree, j;                                                      \
        p[1] = 1;                                                           \
        for (degree = 1; degree <= n; degree++) {                           \
            double before = 0;                                              \
            for (j = 0; j <= degree + 1; j++) {                             \
                double old = p[j];                                          \
                p[j] = -pi * pi * (j + 1) * p[j + 1] - (j - 1) * before;    \
                before = old;                                               \
            }                                                               \
        }                                                                   \
        for (j = n + 1; j >= 0; j--)                                        \
            sum = sum * u + p[j];                                           \
        return (ad_real)sum; )                                              \
    ROW( polygamma, (ad_real k, ad_real x),                                 \
        static const double bernoulli[8] = {                                \
            1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600,              \
            1.0 / 47900160, -691.0 / 1307674368000, 1.0 / 74724249600,      \
            -3617.0 / 10670622842880000                                     \
        };                                                                  \
        double n = (double)k, z = (double)x, sum = 0, rising = 1, tail;     \
        const double sign = fmod(n, 2) == 0 ? 1 : -1;                       \
        ad_real less = 0, v;                                                \
        int j, far = 0;                                                     \
        if (!(n >= 0 && n <= 170 && n == floor(n)) || z != z)               \
            return (ad_real)NAN;                                            \
        if (n == 0)                                                         \
            return adx_digamma(x);                                          \
        if (z <= 0 && z == floor(z))                                        \
            return z - z != 0 || (z != 0 && sign > 0) ? (ad_real)NAN        \
                 : sign < 0 ? (ad_real)HUGE_VAL                             \
                 : -adm_copysign((ad_real)HUGE_VAL, x);                     \
        if (z < -20 && n <= 20) {                                           \
            far = 1;                                                        \
            less = adx_cot_dx((int)n, z);                                   \
            x = 1 - x;                                                      \
            z = (double)x;                                                  \
        }                                                                   \
        if (z < -1e6)                                                       \
            return (ad_real)NAN;                                            \
        for (; z < 15 + n; z++)                                             \
            sum += pow(z, -(n + 1));                                        \
        tail = pow(z, -n) / n + pow(z, -(n + 1)) / 2;                       \
        for (j = 1; j <= 8; j++) {                                          \
            const double i = 2 * (double)j;                                 \
            rising *= j == 1 ? n + 1 : (n + i - 2) * (n + i - 1);           \
            tail += bernoulli[j - 1] * rising * pow(z, -(n + i));           \
        }                                                                   \
        v = (ad_real)(-sign * tgamma(n + 1) * (sum + tail));                \
        return far ? (ad_real)sign * v - less : v; )
// clang-format on

#define ADX_DEFINE(name, parameters, ...)                                   \
    ADX_NOINLINE ADX_API ad_real adx_##name parameters { __VA_ARGS__ }
#define ADX_DEFINE_PART(name, parameters, ...)                              \
    static ad_real adx_##name parameters { __VA_ARGS__ }
ADX_LONG(ADX_DEFINE, ADX_DEFINE_PART)
ADX_SELDOM_BEGIN
ADX_LONG_SELDOM(ADX_DEFINE, ADX_DEFINE_PART)
ADX_SELDOM_END
#undef ADX_DEFINE
#undef ADX_DEFINE_PART

/* --- Bessel functions -------------------------------------------------------
 * Those of the C library, in double, which strict C11 does not declare. Of
 * order 0 and 1 they are its j0, j1, y0 and y1. An order beyond a million gives
 * NaN: the recurrences of some libraries take as many steps. So does yn of a
 * negative number, where POSIX allows -HUGE_VAL, too.                        */

#ifdef ADREV_NO_BESSEL
#define ADX_BESSEL(name) return (double)NAN + n + x;
#elif defined _WIN32
#define ADX_BESSEL(name)                                                    \
    extern double _##name(int, double);                                     \
    return _##name(n, x);
#else
#define ADX_BESSEL(name)                                                    \
    extern double name(int, double);                                        \
    return name(n, x);
#endif
static double adx_libm_jn(int n, double x) { ADX_BESSEL(jn) }
static double adx_libm_yn(int n, double x) { ADX_BESSEL(yn) }
#undef ADX_BESSEL

#define ADX_BESSELS(ROW)                                                    \
    ROW( jn, (ad_real n, ad_real x),                                        \
        return adm_fabs(n) <= 1000000 && n == adm_floor(n)                  \
             ? (ad_real)adx_libm_jn((int)n, (double)x) : (ad_real)NAN; )    \
    ROW( yn, (ad_real n, ad_real x),                                        \
        return adm_fabs(n) <= 1000000 && n == adm_floor(n) && x >= 0        \
             ? (ad_real)adx_libm_yn((int)n, (double)x) : (ad_real)NAN; )
#define ADX_DEFINE(name, parameters, ...)                                   \
    ADX_NOINLINE ADX_API ad_real adx_##name parameters { __VA_ARGS__ }
ADX_BESSELS(ADX_DEFINE)
#undef ADX_DEFINE
