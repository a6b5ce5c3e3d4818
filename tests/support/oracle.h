// SPDX-License-Identifier: MIT-0
/* oracle.h - every operation of adrev once more, in long double.
 *
 * Written from the definitions of the functions, not from the rows of adrev.h:
 * value and closed-form partials, with the l-functions of <math.h>. A row of
 * ADREV_OPS without a row here does not compile where it is tested.
 *
 * The 64 bits of the x87 format leave 11 bits below a double: over the domains
 * of edges.c these partials are true to 0.011 ulp of a double (digamma; the
 * others to 0.002), compared with 60-digit arithmetic.                      */

#ifndef ADREV_TESTS_ORACLE_H
#define ADREV_TESTS_ORACLE_H

#include "random_numbers.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if LDBL_MANT_DIG < 64
#error "the oracle needs a long double wider than double"
#endif

// Errors that the C library decides: what it is on the GNU system, with musl
// 1.2.3 and with MinGW-w64. They were measured with a correct oracle
// (libquadmath for jn). Other libraries get the bounds of musl; theirs were not
// measured. No error is wrong (ANY) where the oracle itself is far off: MinGW
// takes sine and tangent from the x87, whose pi has 66 bits.
#if defined __GLIBC__
#define LIBM(gnu, musl, mingw) gnu
#elif defined __MINGW32__
#define LIBM(gnu, musl, mingw) mingw
#else
#define LIBM(gnu, musl, mingw) musl
#endif
#define ANY ((double)INFINITY)

#define ORACLE_LN2         0.69314718055994530941723212145817657L
#define ORACLE_LN10        2.30258509299404568401799145468436421L
#define ORACLE_PI          3.14159265358979323846264338327950288L
#define ORACLE_2_SQRT_PI   1.12837916709551257389615890312154517L

/* --- helpers with more than one expression -------------------------------- */

static inline long double oracle_sign(long double x)
{
    return isnan(x) ? x : (long double)((x > 0) - (x < 0));
}

// The share of a in min(a, b) or max(a, b), which picks a where that comes
// first: NaN counts as missing, a tie is halved.
static inline long double oracle_share(long double a, long double b,
                                       bool a_first, bool b_first)
{
    if (isnan(a) || isnan(b))
        return isnan(b) ? 1 : 0;
    return a_first ? 1 : b_first ? 0 : 0.5L;
}

// exp(-x*x); fmal gives the part of x*x that does not fit.
static inline long double oracle_gauss(long double x)
{
    long double h = x * x;
    return isinf(h) ? 0 : expl(-h) * (1 - fmal(x, x, -h));
}

// Below 0 the sign is that of the definition: musl 1.2.3 has the wrong one in
// every other interval below -13, behind its middle.
static inline long double oracle_tgamma(long double x)
{
    long double size = fabsl(tgammal(x));
    return !(x < 0) ? tgammal(x) : fmodl(floorl(x), 2) != 0 ? -size : size;
}

// The Bernoulli numbers B(2j)/2j of digamma's asymptotic series. From 24 on
// the first one left out is 1e-20 of the result.
enum { ORACLE_TERMS = 8, ORACLE_FAR = 24 };
static const long double oracle_bernoulli[ORACLE_TERMS] = {
    1.0L / 12, -1.0L / 120, 1.0L / 252, -1.0L / 240, 1.0L / 132,
    -691.0L / 32760, 1.0L / 12, -3617.0L / 8160,
};

static inline long double oracle_digamma_up(long double x)
{
    long double below = 0;
    long double sum = 0;
    for (; x < ORACLE_FAR; x += 1)
        below += 1 / x;
    for (int j = ORACLE_TERMS; j-- > 0;)
        sum = (sum + oracle_bernoulli[j]) / x / x;
    return logl(x) - 0.5L / x - sum - below;
}

// Around its zero r: digamma(x) - digamma(r), each term of the sum above with
// the factor x - r taken out, so that nothing cancels. r has two parts.
static inline long double oracle_digamma_zero(long double x)
{
    long double r = 0xb.b16c31ab5f1fb71p-3L;
    long double d = x - r + 1.8257096315963484214601e-20L;
    long double sum = 0;
    for (; r < ORACLE_FAR; x += 1, r += 1)
        sum += 1 / x / r;
    sum += log1pl(d / r) / d + 0.5L / x / r;
    long double u = 1 / x / x;
    long double w = 1 / r / r;
    long double powers = 1;         // (u^j - w^j)/(u - w)
    long double w_power = 1;
    for (int j = 0; j < ORACLE_TERMS; j++) {
        sum += oracle_bernoulli[j] * (x + r) * u * w * powers;
        w_power *= w;
        powers = powers * u + w_power;
    }
    return d * sum;
}

static inline long double oracle_digamma(long double x)
{
    if (x >= 1 && x <= 2)
        return oracle_digamma_zero(x);
    if (x > 0 || isnan(x))
        return isinf(x) ? x : oracle_digamma_up(x);
    long double r = x - rintl(x);
    if (r == 0)
        return x == 0 ? -copysignl((long double)INFINITY, x)
                      : (long double)NAN;
    // cot(pi r) through the smaller of r and 1/2 - |r|: both are exact.
    long double q = 0.5L - fabsl(r);
    long double cot = fabsl(r) <= 0.25L ? 1 / tanl(ORACLE_PI * r)
                    : copysignl(tanl(ORACLE_PI * q), r);
    return oracle_digamma_up(1 - x) - ORACLE_PI * cot;
}

// The derivative of order n of u = pi cot(pi x): a polynomial in u, p[j] u^j,
// since u' = -pi^2 - u^2.
static inline long double oracle_cot(int n, long double x)
{
    long double p[40] = { 0, 1 };
    long double u = ORACLE_PI / tanl(ORACLE_PI * (x - rintl(x)));
    long double sum = 0;
    for (int i = 1; i <= n; i++) {
        long double q[40] = { 0 };
        for (int j = 1; j <= i; j++) {
            q[j - 1] -= ORACLE_PI * ORACLE_PI * j * p[j];
            q[j + 1] -= j * p[j];
        }
        for (int j = 0; j <= i + 1; j++)
            p[j] = q[j];
    }
    for (int j = n + 1; j >= 0; j--)
        sum = sum * u + p[j];
    return sum;
}

// The derivative of order n of digamma, by the recurrence to 24 + n; far below
// 0 it is reflected.
static inline long double oracle_polygamma(long double n, long double x)
{
    long double sum = 0;
    long double binomial = 1;       // of 2j + n - 1 over n
    bool odd = fmodl(n, 2) != 0;
    if (n == 0)
        return oracle_digamma(x);
    if (x < 0 && x == rintl(x) && !odd)
        return (long double)NAN;
    if (x < -1000 && n < 38)
        return (odd ? -1 : 1) * oracle_polygamma(n, 1 - x)
             - oracle_cot((int)n, x);
    if (n < 0 || x < -1000 || isnan(x))
        return (long double)NAN;
    for (; x < ORACLE_FAR + n; x += 1)
        sum += powl(x, -n - 1);
    sum += powl(x, -n) / n + powl(x, -n - 1) / 2;
    for (int j = 1; j <= ORACLE_TERMS; j++) {
        int top = 2 * j;
        binomial = j == 1 ? n + 1
                 : binomial * (top + n - 2) / (top - 2) * (top + n - 1)
                   / (top - 1);
        sum += oracle_bernoulli[j - 1] * binomial * powl(x, -n - top);
    }
    return (odd ? 1 : -1) * tgammal(n + 1) * sum;
}

// Bessel functions of order n: J for all orders by Miller's recurrence from
// above, Y(0) and Y(1) by Neumann's series of them, and from there upwards.
enum { ORACLE_ORDERS = 400 };

// j[i] becomes J of order i at x > 0, up to the number that is returned.
static inline int oracle_miller(long double x, int n, long double *j)
{
    int top = (n + (int)x + 70) / 2 * 2;
    long double norm = 0;
    j[top + 1] = 0;
    j[top] = 1e-4000L;
    for (int i = top; i > 0; i--)
        j[i - 1] = 2 * (long double)i / x * j[i] - j[i + 1];
    for (int i = top; i > 0; i -= 2)
        norm += 2 * j[i];
    norm += j[0];
    for (int i = 0; i <= top; i++)
        j[i] /= norm;
    return top;
}

// Far out and at 0 a limit is asked for; close to 0 the first term of the power
// series is enough.
static inline long double oracle_jn(long double order, long double x)
{
    long double j[ORACLE_ORDERS];
    int n = abs((int)order);
    long double sign = n % 2 != 0 && (order < 0) != (x < 0) ? -1 : 1;
    x = fabsl(x);
    if (x < 1e-20L)
        return sign * powl(x / 2, n) / tgammal(n + 1.0L);
    if (!(x < 200))
        return isnan(x) ? x : 0;
    (void)oracle_miller(x, n, j);
    return sign * j[n];
}

static inline long double oracle_yn(long double order, long double x)
{
    const long double euler = 0.577215664901532860606512090082402431L;
    long double j[ORACLE_ORDERS];
    int n = abs((int)order);
    long double sign = n % 2 != 0 && order < 0 ? -1 : 1;
    if (!(x > 0 && x < 200))
        return x == 0 ? -sign * (long double)INFINITY
             : x > 0 ? 0 : (long double)NAN;
    if (x < 1e-20L)
        return n == 0 ? 2 / ORACLE_PI * (logl(x / 2) + euler)
             : -sign / ORACLE_PI * tgammal(n) * powl(2 / x, n);
    int top = oracle_miller(x, n, j);
    long double low = (logl(x / 2) + euler) * j[0];
    long double high = (logl(x / 2) + euler) * j[1] - j[0] / x;
    for (int k = top / 2 - 1; k > 0; k--) {
        long double s = k % 2 ? -1 : 1;
        low -= 2 * s * j[2 * k] / k;
        high += s * (j[2 * k - 1] - j[2 * k + 1]) / k;
    }
    for (int i = 0; i < n; i++) {
        long double next = (2 * (long double)i + 2) / x * high - low;
        low = high;
        high = next;
    }
    return sign * 2 / ORACLE_PI * low;
}

static inline long double oracle_jn_dy(long double n, long double y)
{
    return (oracle_jn(n - 1, y) - oracle_jn(n + 1, y)) / 2;
}

static inline long double oracle_yn_dy(long double n, long double y)
{
    long double v = oracle_yn(n, y);
    return y == 0 ? -v : (oracle_yn(n - 1, y) - oracle_yn(n + 1, y)) / 2;
}

// The incomplete gamma functions, and the derivative of P with respect to the
// shape a, from their definitions: of the density, and of the density times
// log t - digamma(a), which has one sign on either side of its zero. They are
// integrated from x away from there, with t = x exp(w) or x exp(-w), by the
// trapezoidal rule of w = exp(s - exp(-s)) (H. Takahasi, M. Mori).
struct oracle_gamma {
    long double a, x;
    long double p, q, da;
};

static inline const struct oracle_gamma *oracle_gamma(long double a,
                                                      long double x)
{
    static _Thread_local struct oracle_gamma g = { -1, -1, 0, 0, 0 };
    const long double step = 1.0L / 64;
    if (a == g.a && x == g.x)
        return &g;
    // For a large a what cancels at x = a is left out; at 0, Q is a E1(x).
    const bool large = a > 1e4L && a < 1e1000L && x == a;
    const long double l = large ? 1 / (2 * a) + 1 / (12 * a * a)
                        : a < 1e-100L ? 0 : logl(x) - oracle_digamma(a);
    const long double from = large ? logl(a / (2 * ORACLE_PI)) / 2 - 1 / (12 * a)
                           : a < 1e-100L ? -x
                           : a * logl(x) - x - lgammal(a);
    const int side = l >= 0 ? 1 : -1;
    long double area = 0, slope = 0;
    for (int i = -280; i < 450; i++) {
        long double s = step * i;
        long double w = side * expl(s - expl(-s));
        long double f = expl(from + a * w - x * expm1l(w))
                      * step * fabsl(w) * (1 + expl(-s));
        if (i > 0 && f < area * 1e-25L)
            break;
        area += f;
        slope += f * (a < 1e-100L ? 1 : l + w);
    }
    if (a < 1e-100L)
        area = 0;
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0))
        slope = (long double)NAN;
    else if (x == 0)
        slope = 0;
    g = (struct oracle_gamma){
        .a = a, .x = x, .p = side < 0 ? area : 1 - area,
        .q = side > 0 ? area : 1 - area, .da = side < 0 ? slope : -slope
    };
    return &g;
}

static inline long double oracle_gamma_dx(long double a, long double x)
{
    return a < 0 || (a == 0 && x == 0) ? (long double)NAN
         : x == 0 ? powl(x, a - 1) / tgammal(a)
         : a > 1e4L && a < 1e1000L && x == a
         ? expl(-1 / (12 * a)) / sqrtl(2 * ORACLE_PI * a)
         : expl((a - 1) * logl(x) - x - lgammal(a));
}

// digamma(x + by) - digamma(x): a difference of two would cancel if it is
// small.
static inline long double oracle_digamma_gap(long double x, long double by)
{
    long double v = 0;
    long double from = 1;
    long double to = 1;
    for (; x < ORACLE_FAR; x++)
        v += by / (x * (x + by));
    v += log1pl(by / x) + by / (2 * x * (x + by));
    for (int j = 0; j < ORACLE_TERMS; j++) {
        from /= x * x;
        to /= (x + by) * (x + by);
        v += oracle_bernoulli[j] * (from - to);
    }
    return v;
}

// The incomplete beta functions by the series of the left tail, all of whose
// terms are positive,
//
//     I = sum of T(n),  T(n+1)/T(n) = x (a+b+n)/(a+1+n)
//
// and its derivatives, term by term. The right tail is the mirrored left one.
// T is b times t, so that there is a derivative at b = 0.
struct oracle_beta {
    long double v, da, db;
};

static inline struct oracle_beta oracle_beta_tail(long double a, long double b,
                                                  long double x, long double y)
{
    struct oracle_beta sum = { 0, 0, 0 };
    // A logarithm of 30 would have lost 5 bits.
    long double t = a + b < 1000
                  ? powl(x, a) * powl(y, b) / tgammal(a + 1) / tgammal(b + 1)
                    * tgammal(a + b)
                  : expl(a * logl(x) + b * logl(y) + lgammal(a + b)
                         - lgammal(a + 1) - lgammal(b + 1));
    long double la = logl(x) + oracle_digamma_gap(a + 1, b) - 1 / (a + b);
    long double lb = logl(y) + oracle_digamma_gap(b + 1, a);
    for (int n = 0; n < 1000000; n++) {
        const long double ratio = x * (a + b + n) / (a + 1 + n);
        sum.v += t;
        sum.da += t * la;
        sum.db += t * (b * lb + a / (a + b));
        t *= ratio;
        la += 1 / (a + b + n) - 1 / (a + 1 + n);
        lb += 1 / (a + b + n);
        if (ratio < 0.9999L && t * (1 + fabsl(la) + lb) < sum.v * 1e-25L)
            break;
    }
    return (struct oracle_beta){ b * sum.v, b * sum.da, sum.db };
}

// Of the smaller tail, unless its series is slow: p or, with da and db those of
// p, q.
static inline struct oracle_beta oracle_beta_at(long double a, long double b,
                                                long double x, bool *upper)
{
    const long double nan = (long double)NAN;
    const long double y = 1 - x;
    *upper = x > 0.999L || (x >= 0.001L && x > (a + 1) / (a + b + 2));
    if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (a == 0 && b == 0)
        || (a == 0 && x == 0) || (b == 0 && x == 1))
        return (struct oracle_beta){ nan, nan, nan };
    if (x == 0 || x == 1 || a > 1e1000L || b > 1e1000L) {
        const bool all = x == 1 || b > 1e1000L;
        return (struct oracle_beta){ all != *upper, 0, 0 };
    }
    if (!*upper)
        return oracle_beta_tail(a, b, x, y);
    const struct oracle_beta m = oracle_beta_tail(b, a, y, x);
    return (struct oracle_beta){ m.v, -m.db, -m.da };
}

static inline struct oracle_beta oracle_beta(long double a, long double b,
                                             long double x, bool *upper)
{
    static _Thread_local struct {
        long double at[3];
        struct oracle_beta v;
        bool upper;
    } last = { { -1, -1, -1 }, { 0, 0, 0 }, false };
    if (last.at[0] != a || last.at[1] != b || last.at[2] != x) {
        last.at[0] = a;
        last.at[1] = b;
        last.at[2] = x;
        last.v = oracle_beta_at(a, b, x, &last.upper);
    }
    *upper = last.upper;
    return last.v;
}

static inline long double oracle_beta_value(long double a, long double b,
                                            long double x, bool q)
{
    bool upper = false;
    const long double v = oracle_beta(a, b, x, &upper).v;
    return upper == q ? v : 1 - v;
}

static inline long double oracle_beta_slope(long double a, long double b,
                                            long double x, int k)
{
    bool upper = false;
    const struct oracle_beta v = oracle_beta(a, b, x, &upper);
    if (!isnan(v.v) && (k == 0 ? b : a) == 0)
        return 0;               // p is 0 or 1 whatever the other shape
    return k == 0 ? v.da : v.db;
}

static inline long double oracle_beta_dx(long double a, long double b,
                                         long double x)
{
    bool upper = false;
    const long double v = oracle_beta(a, b, x, &upper).v;
    return isnan(v) ? v : a > 1e1000L || b > 1e1000L ? 0
         : a == 0 || b == 0 ? 0
         : powl(x, a - 1) * powl(1 - x, b - 1)
           * expl(lgammal(a + b) - lgammal(a) - lgammal(b));
}

// d/dy x^y; x^y log x has limit 0 where x^y does.
static inline long double oracle_pow_dy(long double x, long double y)
{
    return x == 0 && y > 0 ? 0 : powl(x, y) * logl(x);
}

static inline long double oracle_log_add_exp(long double x, long double y)
{
    return fmaxl(x, y) + log1pl(expl(fminl(x, y) - fmaxl(x, y)));
}

static inline long double oracle_softplus(long double x)
{
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static inline long double oracle_sigmoid_dx(long double x)
{
    long double t = expl(-fabsl(x));
    return t / (1 + t) / (1 + t);
}

/* --- the rows ------------------------------------------------------------- */

// clang-format off
#define ORACLE_OPS(ROW)                                                                                             \
    /*   name       value                     d/dx                     d/dy                    d/dz              */ \
    ROW( add,       x + y,                    1,                       1,                      0 )                  \
    ROW( sub,       x - y,                    1,                       -1,                     0 )                  \
    ROW( mul,       x * y,                    y,                       x,                      0 )                  \
    ROW( div,       x / y,                    1 / y,                   -x / y / y,             0 )                  \
    ROW( fma,       x * y + z,                y,                       x,                      1 )                  \
    ROW( neg,       0 - x,                    -1,                      0,                      0 )                  \
    ROW( sqr,       x * x,                    x + x,                   0,                      0 )                  \
    ROW( abs,       x < 0 ? -x : x,           oracle_sign(x),          0,                      0 )                  \
    ROW( min,       fminl(x, y),              oracle_share(x, y, x < y, y < x), oracle_share(y, x, y < x, x < y), 0 ) \
    ROW( max,       fmaxl(x, y),              oracle_share(x, y, x > y, y > x), oracle_share(y, x, y > x, x > y), 0 ) \
    ROW( clamp,     x < y ? y : fminl(x, z),  x >= y && x <= z,        x < y,                  x >= y && x > z )    \
    ROW( select,    x != 0 ? y : z,           0,                       x != 0,                 x == 0 )             \
    ROW( fdim,      x > y ? x - y : 0,        x > y,                   -(x > y),               0 )                  \
    ROW( fmod,      fmodl(x, y),              1,                       oracle_turns(x, fmodl(x, y), y), 0 )         \
    ROW( remainder, remainderl(x, y),         1,                       oracle_turns(x, remainderl(x, y), y), 0 )    \
    ROW( copysign,  signbit(y) ? -fabsl(x) : fabsl(x), oracle_sign(x) * (signbit(y) ? -1 : 1), 0, 0 )               \
    ROW( ldexp,     x * powl(2, y),           powl(2, y),              0,                      0 )                  \
    ROW( sqrt,      sqrtl(x),                 0.5L / sqrtl(x),         0,                      0 )                  \
    ROW( cbrt,      cbrtl(x),                 1 / (3 * cbrtl(x) * cbrtl(x)), 0,                0 )                  \
    ROW( hypot,     sqrtl(x * x + y * y),     x == 0 ? 0 : x / sqrtl(x * x + y * y), y == 0 ? 0 : y / sqrtl(x * x + y * y), 0 ) \
    ROW( pow,       powl(x, y),               y == 0 ? 0 : y * powl(x, y - 1), oracle_pow_dy(x, y), 0 )             \
    ROW( powi,      powl(x, y),               y == 0 ? 0 : y * powl(x, y - 1), 0,              0 )                  \
    ROW( exp,       expl(x),                  expl(x),                 0,                      0 )                  \
    ROW( exp2,      exp2l(x),                 exp2l(x) * ORACLE_LN2,   0,                      0 )                  \
    ROW( expm1,     expm1l(x),                expl(x),                 0,                      0 )                  \
    ROW( log,       logl(x),                  1 / x,                   0,                      0 )                  \
    ROW( log2,      log2l(x),                 1 / (x * ORACLE_LN2),    0,                      0 )                  \
    ROW( log10,     log10l(x),                1 / (x * ORACLE_LN10),   0,                      0 )                  \
    ROW( log1p,     log1pl(x),                1 / (1 + x),             0,                      0 )                  \
    ROW( sin,       sinl(x),                  cosl(x),                 0,                      0 )                  \
    ROW( cos,       cosl(x),                  -sinl(x),                0,                      0 )                  \
    ROW( tan,       tanl(x),                  1 / (cosl(x) * cosl(x)), 0,                      0 )                  \
    ROW( asin,      asinl(x),                 1 / sqrtl((1 - x) * (1 + x)), 0,                 0 )                  \
    ROW( acos,      acosl(x),                 -1 / sqrtl((1 - x) * (1 + x)), 0,                0 )                  \
    ROW( atan,      atanl(x),                 1 / (1 + x * x),         0,                      0 )                  \
    ROW( atan2,     atan2l(x, y),             y / (x * x + y * y),     -x / (x * x + y * y),   0 )                  \
    ROW( sinh,      sinhl(x),                 coshl(x),                0,                      0 )                  \
    ROW( cosh,      coshl(x),                 sinhl(x),                0,                      0 )                  \
    ROW( tanh,      tanhl(x),                 1 / coshl(x) / coshl(x), 0,                      0 )                  \
    ROW( asinh,     asinhl(x),                1 / sqrtl(1 + x * x),    0,                      0 )                  \
    ROW( acosh,     acoshl(x),                1 / sqrtl((x - 1) * (x + 1)), 0,                 0 )                  \
    ROW( atanh,     atanhl(x),                1 / ((1 - x) * (1 + x)), 0,                      0 )                  \
    ROW( relu,      x > 0 ? x : 0,            x > 0,                   0,                      0 )                  \
    ROW( sigmoid,   1 / (1 + expl(-x)),       oracle_sigmoid_dx(x),    0,                      0 )                  \
    ROW( softplus,  oracle_softplus(x),       1 / (1 + expl(-x)),      0,                      0 )                  \
    ROW( erf,       erfl(x),                  ORACLE_2_SQRT_PI * oracle_gauss(x),  0,          0 )                  \
    ROW( erfc,      erfcl(x),                 -ORACLE_2_SQRT_PI * oracle_gauss(x), 0,          0 )                  \
    ROW( lgamma,    lgammal(x),               oracle_digamma(x),       0,                      0 )                  \
    ROW( tgamma,    oracle_tgamma(x),         oracle_tgamma(x) * oracle_digamma(x), 0,         0 )                  \
    ROW( digamma,   oracle_digamma(x),        oracle_polygamma(1, x),  0,                      0 )                  \
    ROW( gamma_p,   oracle_gamma(x, y)->p,    oracle_gamma(x, y)->da,  oracle_gamma_dx(x, y),  0 )                  \
    ROW( gamma_q,   oracle_gamma(x, y)->q,    -oracle_gamma(x, y)->da, -oracle_gamma_dx(x, y), 0 )                  \
    ROW( beta_p,    oracle_beta_value(x, y, z, false), oracle_beta_slope(x, y, z, 0), oracle_beta_slope(x, y, z, 1), oracle_beta_dx(x, y, z) ) \
    ROW( beta_q,    oracle_beta_value(x, y, z, true), -oracle_beta_slope(x, y, z, 0), -oracle_beta_slope(x, y, z, 1), -oracle_beta_dx(x, y, z) ) \
    ROW( polygamma, oracle_polygamma(x, y),   0,                       oracle_polygamma(x + 1, y), 0 )              \
    ROW( jn,        oracle_jn(x, y),          0,                       oracle_jn_dy(x, y),     0 )                  \
    ROW( yn,        oracle_yn(x, y),          0,                       oracle_yn_dy(x, y),     0 )                  \
    ROW( exp10,     powl(10, x),              powl(10, x) * ORACLE_LN10, 0,                    0 )                  \
    ROW( frac,      x - truncl(x),            1,                       0,                      0 )                  \
    ROW( log_add_exp, oracle_log_add_exp(x, y), 1 / (1 + expl(y - x)), 1 / (1 + expl(x - y)),  0 )

#define ORACLE_STEPS(ROW)                                                   \
    ROW( floor,     floorl(x) )                                             \
    ROW( ceil,      ceill(x) )                                              \
    ROW( trunc,     truncl(x) )                                             \
    ROW( round,     roundl(x) )                                             \
    ROW( rint,      rintl(x) )                                              \
    ROW( nearbyint, nearbyintl(x) )                                         \
    ROW( sign,      oracle_sign(x) )
// clang-format on

// Minus the number of whole turns: the quotient is an integer but for rounding.
static inline long double oracle_turns(long double x, long double rest,
                                       long double y)
{
    return -rintl((x - rest) / y);
}

typedef long double oracle_fn(long double x, long double y, long double z);

#define ORACLE_FN(kind, name, expression)                                   \
    static inline long double oracle_##kind##_##name(                       \
        long double x, long double y, long double z)                        \
    {                                                                       \
        (void)x;                                                            \
        (void)y;                                                            \
        (void)z;                                                            \
        return expression;                                                  \
    }

#define ORACLE_DEFINE(name, value, d_x, d_y, d_z)                           \
    ORACLE_FN(f, name, value)                                               \
    ORACLE_FN(fx, name, d_x)                                                \
    ORACLE_FN(fy, name, d_y)                                                \
    ORACLE_FN(fz, name, d_z)
ORACLE_OPS(ORACLE_DEFINE)
#undef ORACLE_DEFINE

#define ORACLE_DEFINE(name, value) ORACLE_FN(f, name, value)
ORACLE_STEPS(ORACLE_DEFINE)
#undef ORACLE_DEFINE
#undef ORACLE_FN

#endif
