// SPDX-License-Identifier: MIT-0
// tags:
// needs: long-double
/* edges.c - kinks, ties, limits and extreme arguments.
 *
 * First the rows of ADREV_EDGES: the table itself against the oracle, and the
 * library against the table, in reverse, forward and nested in an expression.
 * Then the partials of every operation over the whole range of its arguments,
 * from the smallest to the largest and close to every singularity, against
 * closed forms in long double: each row of SWEEPS states its largest error.
 *
 * With ADREV_REAL=float only the sweeps run: the table is in double.         */

#include "implementation.h"
#include "adrev.h"

#include "check.h"
#include "fronts.h"
#include "oracle.h"

#include <stdlib.h>

#ifndef POINTS
#define POINTS (20000 / ONE_IN(40))     // of each sweep
#endif

static ad_tape *tape;

/* --- the rows as functions ------------------------------------------------ */

#define FRONT_select(name, x, y, z)  ad_select(p[0] != 0, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, (int)p[1])
#define FRONT_order(name, x, y, z)   ad_##name((int)p[0], y)

// nested: -f(-x, y, -z), at the negated x and z; no rounding comes in.
#define DEFINE(name, n, ...)                                                \
    static ad_rev rev_##name(const ad_rev *a, const ad_real *p)             \
    {                                                                       \
        (void)p;                                                            \
        return ad_rec(CALL(name, n, a[0], a[1], a[2]));                     \
    }                                                                       \
    static ad_fwd fwd_##name(const ad_fwd *a, const ad_real *p)             \
    {                                                                       \
        (void)p;                                                            \
        return ad_dual(CALL(name, n, a[0], a[1], a[2]));                    \
    }                                                                       \
    static ad_rev nested_##name(const ad_rev *a, const ad_real *p)          \
    {                                                                       \
        (void)p;                                                            \
        return ad_rec(ad_sub(                                               \
            a[3], CALL(name, n, ad_neg(a[0]), a[1], ad_neg(a[2]))));        \
    }
ADREV_OPS(DEFINE)
#undef DEFINE

static const struct row {
    const char *name;
    ad_rev (*rev)(const ad_rev *a, const ad_real *p);
    ad_rev (*nested)(const ad_rev *a, const ad_real *p);
    ad_fwd (*fwd)(const ad_fwd *a, const ad_real *p);
    oracle_fn *value;
    oracle_fn *partial[3];
} rows[ADREV_OP_COUNT] = {
#define ENTER(name, ...)                                                    \
    [ADREV_OP_##name] = {                                                   \
        #name, rev_##name, nested_##name, fwd_##name, oracle_f_##name,      \
        { oracle_fx_##name, oracle_fy_##name, oracle_fz_##name },           \
    },
    ADREV_OPS(ENTER)
#undef ENTER
};

// select's condition and the integer parameters carry no derivative.
static bool carries(ad_opcode op, int k)
{
    return k < ad_op_table()[op].arity && k != whole_argument((int)op)
        && !(op == ADREV_OP_select && k == 0);
}

/* --- the edge table ------------------------------------------------------- */

struct edge {
    ad_opcode op;
    double x[3];
    double want[3];
    double ulps;
    const char *because;
};

static const struct edge edges[] = {
#define ENTER(op, x, y, z, dx, dy, dz, ulps, because)                       \
    { ADREV_OP_##op, { x, y, z }, { dx, dy, dz }, ulps, because },
    ADREV_EDGES(ENTER)
#undef ENTER
};

static void edge_check(const struct edge *e, const char *mode, int k,
                       ad_real got)
{
    long double off = check_ulps((long double)got, (long double)e->want[k]);
    CHECK(off <= (long double)e->ulps,
          "%s(%.17g, %.17g, %.17g) \"%s\", %s, d%d: got %.17g, want %.17g: "
          "%.3Lg ulps, allowed %g", rows[e->op].name, e->x[0], e->x[1],
          e->x[2], e->because, mode, k, (double)got, e->want[k], off, e->ulps);
}

// What to the oracle is as good as infinity, and its square is not.
static long double far(double x)
{
    return isinf(x) ? copysignl(1e2400L, (long double)x) : (long double)x;
}

// 1 ulp: the table is written with 17 digits, or rounds a true value.
static void edge_table(const struct edge *e)
{
    for (int k = 0; k < 3; k++) {
        long double truth = rows[e->op].partial[k](
            far(e->x[0]), far(e->x[1]), far(e->x[2]));
        long double off = check_ulps((long double)e->want[k], truth);
        CHECK(!carries(e->op, k) || off <= 1,
              "the table says %.17g for d%d of %s(%.17g, %.17g, %.17g), "
              "should be %.17Lg: %.3Lg ulps", e->want[k], k, rows[e->op].name,
              e->x[0], e->x[1], e->x[2], truth, off);
    }
}

static void edge_reverse(const struct edge *e, const ad_real *p)
{
    ad_real signs[4] = { -p[0], p[1], -p[2], 0 };
    ad_real g[4] = { 0 };
    ad_rev x[4];
    ad_inputs(4, p, x);
    ad_rev y = rows[e->op].rev(x, p);
    CHECK(ad_gradient(tape, y, 4, x, g) == ADREV_OK, "a gradient exists");
    for (int k = 0; k < 3; k++)
        if (carries(e->op, k))
            edge_check(e, "reverse", k, g[k]);

    ad_inputs(4, signs, x);
    y = rows[e->op].nested(x, p);
    CHECK(ad_gradient(tape, y, 4, x, g) == ADREV_OK, "a gradient exists");
    for (int k = 0; k < 3; k++)
        if (carries(e->op, k))
            edge_check(e, "nested", k, k == 1 ? -g[k] : g[k]);
}

static void edge_forward(const struct edge *e, const ad_real *p)
{
    for (int k = 0; k < 3; k++) {
        if (!carries(e->op, k))
            continue;
        ad_fwd x[4] = { { 0 } };
        ad_real slope = 0;
        ad_real direction[4] = { 0 };
        ad_rev u[4];
        direction[k] = 1;
        for (int i = 0; i < 3; i++)
            x[i] = (ad_fwd){ p[i], direction[i] };
        edge_check(e, "forward", k, rows[e->op].fwd(x, p).d);

        ad_inputs(4, p, u);
        ad_rev y = rows[e->op].rev(u, p);
        CHECK(ad_pushforward(tape, 4, u, direction, 1, &y, &slope) == ADREV_OK,
              "pushforward");
        edge_check(e, "pushforward", k, slope);
    }
}

static void run_edges(void)
{
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        const struct edge *e = &edges[i];
        ad_real p[4] = { (ad_real)e->x[0], (ad_real)e->x[1],
                         (ad_real)e->x[2], 0 };
        ad_tape_clear(tape);
        edge_table(e);
        edge_reverse(e, p);
        edge_forward(e, p);
    }
}

// An exponent of ldexp that is no int: a file can hold one.
static void run_exponents(void)
{
    const ad_real infinite = ADX_K(INFINITY);
    const ad_real nan = ADX_K(NAN);
    static const ad_real large[] = { ADX_K(3e9), ADX_K(1e30), ADX_K(INFINITY) };
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        CHECK_CLOSE(adx_f_ldexp(-2, large[i], 0), -infinite, 0);
        CHECK_CLOSE(adx_f_ldexp(-2, -large[i], 0), 0, 0);
        CHECK_CLOSE(adx_f_ldexp(0, large[i], 0), 0, 0);
        CHECK_CLOSE(adx_fx_ldexp(-2, large[i], 0, 0), infinite, 0);
        CHECK_CLOSE(adx_fx_ldexp(-2, -large[i], 0, 0), 0, 0);
    }
    CHECK_CLOSE(adx_f_ldexp(1, nan, 0), nan, 0);
    CHECK_CLOSE(adx_fx_ldexp(1, nan, 0, 0), nan, 0);
}

/* --- where the sweeps go -----------------------------------------------------
 * One function per kind of domain. They spend most of their points where
 * formulas break: at both ends of the exponent range and at singularities.   */

// Decimal exponents that a number and its reciprocal can have.
#define RANGE (sizeof(ad_real) == sizeof(float) ? 37 : 300)
#define DIGITS (sizeof(ad_real) == sizeof(float) ? FLT_MANT_DIG : DBL_MANT_DIG)
// The arguments at which exp under- and overflows.
#define EXP_LOW  (sizeof(ad_real) == sizeof(float) ? -103.0 : -745.0)
#define EXP_HIGH (sizeof(ad_real) == sizeof(float) ? 88.7 : 709.7)

static uint64_t seed;

static double from_to(double from, double to)
{
    return oracle_uniform(&seed, from, to);
}

static double coin(void) { return oracle_random(&seed) >> 63 ? 1 : -1; }

static double scale(double from, double to) { return pow(10, from_to(from, to)); }

static double positive(void) { return scale(-RANGE, RANGE); }

// 1 minus or plus something between half an ulp and a half.
static double near_one(double side)
{
    return 1 + side * exp2(from_to(-DIGITS, -1));
}

static void all(double *p)
{
    for (int k = 0; k < 3; k++)
        p[k] = coin() * positive();
}

// Both of the same size, too, and on the axes and diagonals.
static void plane(double *p)
{
    all(p);
    double kind = from_to(0, 10);
    if (kind < 5)
        p[1] = p[0] * from_to(-10, 10);
    else if (kind < 6)
        p[1] = p[0] * coin();
    else if (kind < 7)
        p[coin() > 0] = 0;
}

static void ordered(double *p)
{
    all(p);
    if (coin() > 0)
        p[0] = p[1 + (coin() > 0)];
    if (p[1] > p[2]) {
        double swap = p[1];
        p[1] = p[2];
        p[2] = swap;
    }
}

static void half_line(double *p) { p[0] = positive(); }

static void interval(double *p)
{
    double kind = from_to(0, 3);
    p[0] = coin() * (kind < 1 ? from_to(0, 1) : kind < 2 ? near_one(-1)
                                                         : scale(-RANGE, -1));
}

static void above_one(double *p)
{
    p[0] = coin() > 0 ? near_one(1) : 1 + scale(-1, RANGE - 1);
}

static void above_minus_one(double *p)
{
    double kind = from_to(0, 3);
    p[0] = kind < 1 ? -near_one(-1) : kind < 2 ? positive()
                                               : -scale(-RANGE, -0.1);
}

static void exponent(double *p)
{
    p[0] = coin() > 0 ? from_to(EXP_LOW, EXP_HIGH)
                      : coin() * scale(-RANGE, 1.5);
}

static void exponent_of_2(double *p)
{
    exponent(p);
    p[0] *= 1.4426;
}

static void exponent_of_10(double *p)
{
    exponent(p);
    p[0] *= 0.4342;
}

// Any size that still has an angle, and close to the multiples of pi/2.
static void angle(double *p)
{
    p[0] = coin() > 0 ? coin() * scale(-RANGE, 6)
                      : floor(from_to(-50, 50)) * 1.5707963267948966
                        + coin() * scale(-16, -1);
}

static void bell(double *p)
{
    double end = sqrt(-EXP_LOW);
    p[0] = coin() > 0 ? from_to(-end, end) : coin() * scale(-RANGE, 0);
}

// A power that stays in range: x any, x^y between the extremes.
static void power(double *p)
{
    p[0] = positive();
    p[1] = from_to(-RANGE, RANGE) / log10(p[0]);
}

static void power_near_one(double *p)
{
    p[0] = near_one(coin());
    p[1] = coin() * fmin(scale(-3, 3), RANGE / fabs(log10(p[0])));
}

static void integer_power(double *p)
{
    p[1] = floor(from_to(-12, 13));
    p[0] = coin() * pow(10, from_to(-RANGE, RANGE) / (fabs(p[1]) + 1));
}

static void binary_scale(double *p)
{
    p[0] = coin() * positive();
    p[1] = floor(from_to(-RANGE, RANGE) * 3);
}

// Whole turns up to 1e6: the quotient is exact.
static void turns(double *p)
{
    p[1] = coin() * scale(-3, 3);
    p[0] = p[1] * coin() * scale(-3, 6);
}

static void gamma_large(double *p) { p[0] = 6 + scale(-1, RANGE - 3); }
static void gamma_small(double *p) { p[0] = scale(-RANGE, 0); }
static void gamma_middle(double *p) { p[0] = from_to(1, 6); }
static void gamma_negative(double *p) { p[0] = from_to(-30, 0); }
static void gamma_range(double *p) { p[0] = from_to(2, 34); }
static void gamma_far(double *p) { p[0] = from_to(34, 170); }

// An order and an argument: small, and where the functions go up and down.
static void bessel_small(double *p)
{
    p[0] = floor(from_to(-4, 5));
    p[1] = scale(-5, 0);
}

static void bessel_wave(double *p)
{
    p[0] = floor(from_to(-4, 5));
    p[1] = from_to(1, 60);
}

static void poly_positive(double *p)
{
    p[0] = floor(from_to(0, 6));
    p[1] = scale(-RANGE / 10.0, RANGE / 10.0);
}

static void poly_negative(double *p)
{
    p[0] = floor(from_to(0, 3)) * 2;
    p[1] = from_to(-15, 0);
}

// A shape, and an argument in which the smaller tail is not below 1e-100.
static void shapes(double *p)
{
    p[0] = scale(-3, 2);
    p[1] = p[0] < 1 ? scale(-5, 2)
         : fmax(p[0] * 1e-3, p[0] + from_to(-9, 20) * sqrt(p[0]));
}

// Two shapes, and an argument in which the smaller tail is not below 1e-100.
static void two_shapes(double *p)
{
    p[0] = scale(-3, 2);
    p[1] = scale(-3, 2);
    const double mean = p[0] / (p[0] + p[1]);
    const double off = sqrt(mean * (1 - mean) / (p[0] + p[1] + 1));
    p[2] = coin() > 0 ? mean + from_to(-8, 8) * off : from_to(0, 1);
    if (!(p[2] > 0 && p[2] < 1))
        p[2] = coin() > 0 ? scale(-15, -1) : 1 - scale(-15, -1);
}

static void two_exponents(double *p)
{
    p[0] = coin() * scale(-RANGE, 3);
    p[1] = coin() > 0 ? p[0] + from_to(-40, 40) : coin() * scale(-RANGE, 3);
}

/* --- the sweeps --------------------------------------------------------------
 * The largest error of the partials, measured with a million points and the C
 * library of the GNU system; where LIBM has three, the second was measured with
 * musl, whose hypot and tgamma are less accurate, and is the bound of others;
 * the third with MinGW-w64, and 300000 points: its pow multiplies whole powers.
 *
 * ulps  of the partial; where a floor is given, of the larger of the two: the
 *       number 1, or |f|. With it the error at a zero of the partial is absolute.
 */

enum scale { NONE, ONE, VALUE };

#define WHOLE_POWER LIBM(2.5, 2.5, 17)

// clang-format off
#define SWEEPS(ROW)                                                                                 \
    /*   op         domain           ulps: d/dx d/dy d/dz  floor   because                       */ \
    ROW( add,       all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( sub,       all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( mul,       all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( div,       all,             0.5,  1.5, 0,         NONE,   "two divisions" )                \
    ROW( fma,       all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( neg,       all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( sqr,       all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( abs,       all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( min,       plane,           0,    0,   0,         NONE,   "exact" )                        \
    ROW( max,       plane,           0,    0,   0,         NONE,   "exact" )                        \
    ROW( clamp,     ordered,         0,    0,   0,         NONE,   "exact" )                        \
    ROW( select,    all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( fdim,      plane,           0,    0,   0,         NONE,   "exact" )                        \
    ROW( fmod,      turns,           0,    0,   0,         NONE,   "an integer" )                   \
    ROW( remainder, turns,           0,    0,   0,         NONE,   "an integer" )                   \
    ROW( copysign,  all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( ldexp,     binary_scale,    0,    0,   0,         NONE,   "exact" )                        \
    ROW( sqrt,      half_line,       1.5,  0,   0,         NONE,   "a root and a division" )        \
    ROW( cbrt,      all,             12,   0,   0,         NONE,   "<math.h> is off by 3.7, squared" )\
    ROW( hypot,     plane,  LIBM(1.5, 2, 2), LIBM(1.5, 2, 2), 0, NONE, "a quotient of hypot" )      \
    ROW( pow,       power,           2.5,  2.5, 0,         NONE,   "pow, and two roundings" )       \
    ROW( pow,       power_near_one,  2.5,  2.5, 0,         NONE,   "pow, and two roundings" )       \
    ROW( pow,       integer_power, WHOLE_POWER, WHOLE_POWER, 0, NONE,   "d/dy is NaN for x < 0" )   \
    ROW( powi,      integer_power, WHOLE_POWER, 0, 0,      NONE,   "pow, and two roundings" )       \
    ROW( exp,       exponent,        1,    0,   0,         NONE,   "the value itself" )             \
    ROW( exp2,      exponent_of_2,   2,    0,   0,         NONE,   "one product" )                  \
    ROW( expm1,     exponent,        1.5,  0,   0,         NONE,   "v + 1, or exp" )                \
    ROW( log,       half_line,       0.5,  0,   0,         NONE,   "one division" )                 \
    ROW( log2,      half_line,       1,    0,   0,         NONE,   "a rounded constant" )           \
    ROW( log10,     half_line,       1,    0,   0,         NONE,   "a rounded constant" )           \
    ROW( log1p,     above_minus_one, 1.5,  0,   0,         NONE,   "1 + x, and a division" )        \
    ROW( sin,       angle,           1,    0,   0,         NONE,   "as <math.h>" )                  \
    ROW( cos,       angle,           1,    0,   0,         NONE,   "as <math.h>" )                  \
    ROW( tan,       angle, LIBM(3, 3, ANY), 0,   0,         NONE,   "tan enters squared" )           \
    ROW( asin,      interval,        2.5,  0,   0,         NONE,   "a root of a product" )          \
    ROW( acos,      interval,        2.5,  0,   0,         NONE,   "a root of a product" )          \
    ROW( atan,      all,             2.5,  0,   0,         NONE,   "a square, and a division" )     \
    ROW( atan2,     plane,  LIBM(3.5, 4, 4), LIBM(3.5, 4, 4), 0, NONE, "hypot and two divisions" )  \
    ROW( sinh,      exponent,        2,    0,   0,         NONE,   "as <math.h>" )                  \
    ROW( cosh,      exponent,        2,    0,   0,         NONE,   "as <math.h>" )                  \
    ROW( tanh,      exponent,        4,    0,   0,         NONE,   "exp, and four roundings" )      \
    ROW( asinh,     all,             2,    0,   0,         NONE,   "hypot and a division" )         \
    ROW( acosh,     above_one,       3,    0,   0,         NONE,   "two roots" )                    \
    ROW( atanh,     interval,        2.5,  0,   0,         NONE,   "a product of two sums" )        \
    ROW( relu,      all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( sigmoid,   exponent,        4,    0,   0,         NONE,   "exp, and four roundings" )      \
    ROW( softplus,  exponent,        2.5,  0,   0,         NONE,   "exp, and two roundings" )       \
    ROW( erf,       bell,            2.5,  0,   0,         NONE,   "exp of a compensated square" )  \
    ROW( erfc,      bell,            2.5,  0,   0,         NONE,   "exp of a compensated square" )  \
    ROW( lgamma,    gamma_large,     4,    0,   0,         NONE,   "log and a series" )             \
    ROW( lgamma,    gamma_small,     6,    0,   0,         NONE,   "digamma's recurrence" )         \
    ROW( lgamma,    gamma_middle,    3,    0,   0,         ONE,    "zero at 1.46" )                 \
    ROW( lgamma,    gamma_negative,  9,    0,   0,         ONE,    "zeros between the poles" )      \
    ROW( tgamma,    gamma_small,     6,    0,   0,         NONE,   "as lgamma" )                    \
    ROW( tgamma,    gamma_middle, LIBM(8, 11, 11), 0, 0,   VALUE,  "zero at 1.46" )                 \
    ROW( tgamma,    gamma_range, LIBM(9, 9, 10), 0, 0,     NONE,   "digamma's recurrence" )         \
    ROW( tgamma,    gamma_far,       8,    0,   0,         NONE,   "<math.h> is off by 4" )         \
    ROW( tgamma,    gamma_negative,  14,   0,   0,         VALUE,  "zeros between the poles" )      \
    ROW( digamma,   gamma_large,     4,    0,   0,         NONE,   "a series" )                     \
    ROW( digamma,   gamma_middle,    5,    0,   0,         NONE,   "a recurrence" )                 \
    ROW( digamma,   gamma_negative,  9,    0,   0,         ONE,    "reflected" )                    \
    ROW( gamma_p,   shapes, LIBM(5, 5, 6), 5, 0,           NONE,   "sums of panels" )               \
    ROW( gamma_q,   shapes, LIBM(5, 5, 6), 5, 0,           NONE,   "sums of panels" )               \
    ROW( beta_p,    two_shapes, 8, LIBM(8, 8, 10), 4,      NONE,   "sums of panels" )               \
    ROW( beta_q,    two_shapes, 8, LIBM(8, 8, 10), 4,      NONE,   "sums of panels" )               \
    ROW( polygamma, poly_positive, 0, LIBM(9, 9, 14), 0,   NONE,   "a recurrence" )                 \
    ROW( polygamma, poly_negative, 0, LIBM(9, 9, 14), 0,   NONE,   "of odd order: no zeros" )       \
    ROW( jn,        bessel_small,    0,    9,   0,         NONE,   "<math.h>" )                     \
    ROW( jn,        bessel_wave,     0,    1,   0,         ONE,    "zeros" )                        \
    ROW( yn,        bessel_small,    0,    9,   0,         NONE,   "<math.h>" )                     \
    ROW( yn,        bessel_wave,     0,    9,   0,         ONE,    "zeros" )                        \
    ROW( exp10,     exponent_of_10, LIBM(2, 2, 2.5), 0, 0, NONE,   "pow, and a product" )           \
    ROW( frac,      all,             0,    0,   0,         NONE,   "exact" )                        \
    ROW( log_add_exp, two_exponents, 2.5,  2.5, 0,         NONE,   "a compensated difference" )
// clang-format on

struct sweep {
    ad_opcode op;
    const char *domain;
    void (*point)(double *p);
    double ulps[3];
    enum scale floor;
};

static const struct sweep sweeps[] = {
#define ENTER(op, domain, dx, dy, dz, scale, because)                       \
    { ADREV_OP_##op, #domain, domain, { dx, dy, dz }, scale },
    SWEEPS(ENTER)
#undef ENTER
};

struct worst {
    long double ulps;
    long double got;
    long double want;
    ad_real at[3];
};

// Ulps of want, or of the sweep's floor where that is larger.
static long double distance(const struct sweep *s, const ad_real *p,
                            long double got, long double want)
{
    long double least = s->floor == NONE ? 0 : 1;
    if (s->floor == VALUE)
        least = fabsl(rows[s->op].value((long double)p[0], (long double)p[1],
                                        (long double)p[2]));
    return fabsl(want) < least ? check_ulps(least + (got - want), least)
                               : check_ulps(got, want);
}

static void sweep_point(const struct sweep *s, struct worst *worst)
{
    double q[3] = { 0 };
    s->point(q);
    ad_real p[4] = { (ad_real)q[0], (ad_real)q[1], (ad_real)q[2], 0 };
    ad_real g[4] = { 0 };
    ad_rev x[4];
    ad_tape_clear(tape);
    ad_inputs(4, p, x);
    CHECK(ad_gradient(tape, rows[s->op].rev(x, p), 4, x, g) == ADREV_OK,
          "gradient");
    for (int k = 0; k < 3; k++) {
        long double want = rows[s->op].partial[k](
            (long double)p[0], (long double)p[1], (long double)p[2]);
        long double off = distance(s, p, (long double)g[k], want);
        if (carries(s->op, k) && !(off <= worst[k].ulps))
            worst[k] = (struct worst){ off, (long double)g[k], want,
                                       { p[0], p[1], p[2] } };
    }
}

static void run_sweep(const struct sweep *s)
{
    struct worst worst[3] = { { 0 } };
    // An integral takes 0.3 ms.
    const bool slow = s->op == ADREV_OP_gamma_p || s->op == ADREV_OP_gamma_q
                   || s->op == ADREV_OP_beta_p || s->op == ADREV_OP_beta_q;
    const int points = slow ? POINTS / 100 : POINTS;
    seed = 88172645463325252u;
    for (int i = 0; i < points; i++)
        sweep_point(s, worst);
    for (int k = 0; k < 3; k++)
        CHECK(worst[k].ulps <= (long double)s->ulps[k],
              "d%d of %s, %s: %.3Lg ulps, allowed %g; worst at (%.17g, %.17g, "
              "%.17g): got %.17Lg, want %.17Lg", k, rows[s->op].name,
              s->domain, worst[k].ulps, s->ulps[k], (double)worst[k].at[0],
              (double)worst[k].at[1], (double)worst[k].at[2], worst[k].got,
              worst[k].want);
#ifdef REPORT
    printf("%-10s %-16s %8.3Lg %8.3Lg %8.3Lg\n", rows[s->op].name, s->domain,
           worst[0].ulps, worst[1].ulps, worst[2].ulps);
#endif
}

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    if (sizeof(ad_real) == sizeof(double))
        run_edges();
    run_exponents();
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++)
        run_sweep(&sweeps[i]);
    ad_tape_free(tape);
    return check_done("edges");
}
