// SPDX-License-Identifier: MIT-0
// tags:
// needs: quadmath.h
// libs: -lquadmath
/* second_partials.c - first and second partials of every row over all magnitudes.
 *
 * Each row of ADREV_OPS is recorded once and replayed at points from 1e-310 to
 * 1e308, of both signs and close to every singularity: gradient, Hessian, and
 * forward over reverse (ad_fn_hvp). It is a formula of adrev_tensor.h, too,
 * whose gradient and ad_tensor_hvp are asked there. The oracle knows closed
 * forms in quad precision, whose exponents reach 4932: there nothing overflows.
 * Each row of SWEEPS states its largest errors. Then the rows of
 * ADREV_EDGES_SECOND: the table itself against the oracle, and recorded
 * functions against the table.
 *
 * Where a value is subnormal it has lost digits, and a partial made from it has
 * no more: domains leave that out only where a row says so.                  */

#include "implementation.h"
#include "adrev_function.h"
#include "adrev_tensor.h"

#include "check.h"
#include "fronts.h"

#include <quadmath.h>
#include <stdlib.h>

#ifndef POINTS
#define POINTS (2000 / ONE_IN(4))   // of each sweep
#endif

typedef __float128 quad;

/* --- the oracle ----------------------------------------------------------- */

static quad quad_pi(void) { return acosq(-1); }
static quad quad_2_sqrt_pi(void) { return 2 / sqrtq(quad_pi()); }

static quad quad_sign(quad x) { return (quad)((x > 0) - (x < 0)); }

static quad quad_share(bool mine, bool other)
{
    return mine ? 1 : other ? 0 : (quad)1 / 2;
}

static quad quad_hypot3(quad x, quad y)
{
    quad r = sqrtq(x * x + y * y);
    return r * r * r;
}

static quad quad_square(quad x) { return x * x; }

// (1 - x)(1 + x), where both factors are exact.
static quad quad_leg(quad x) { return (1 - x) * (1 + x); }

// sum += B(2j)/(2j) x^(-2j), j from 1, and the same of its derivative.
static void quad_tail(quad x, quad *digamma, quad *trigamma)
{
    static const double b[][2] = {
        { 1, 6 }, { -1, 30 }, { 1, 42 }, { -1, 30 }, { 5, 66 },
        { -691, 2730 }, { 7, 6 }, { -3617, 510 }, { 43867, 798 },
        { -174611, 330 }, { 854513, 138 }, { -236364091, 2730 },
    };
    quad power = 1;
    *digamma = logq(x) - 1 / (2 * x);
    *trigamma = 1 / x + 1 / (2 * x * x);
    for (int j = 1; j <= 12; j++) {
        quad bernoulli = (quad)b[j - 1][0] / (quad)b[j - 1][1];
        power /= x * x;
        *digamma -= bernoulli / (2 * j) * power;
        *trigamma += bernoulli * power / x;
    }
}

// The recurrence to 50, where the first term left out is below 1e-35.
static void quad_gamma_up(quad x, quad *digamma, quad *trigamma)
{
    quad below = 0;
    quad squares = 0;
    for (; x < 50; x += 1) {
        below += 1 / x;
        squares += 1 / (x * x);
    }
    quad_tail(x, digamma, trigamma);
    *digamma -= below;
    *trigamma += squares;
}

static void quad_gammas(quad x, quad *digamma, quad *trigamma)
{
    if (x > 0) {
        quad_gamma_up(x, digamma, trigamma);
        return;
    }
    quad pi = quad_pi();
    quad r = x - rintq(x);
    quad_gamma_up(1 - x, digamma, trigamma);
    *digamma -= pi / tanq(pi * r);
    *trigamma = quad_square(pi / sinq(pi * r)) - *trigamma;
}

static quad quad_digamma(quad x)
{
    quad one = 0;
    quad two = 0;
    quad_gammas(x, &one, &two);
    return one;
}

static quad quad_trigamma(quad x)
{
    quad one = 0;
    quad two = 0;
    quad_gammas(x, &one, &two);
    return two;
}

// The derivative of order n of digamma, for whole n and x that is no pole.
static quad quad_polygamma(quad order, quad x)
{
    static const double b[][2] = {      // Bernoulli numbers
        { 1, 6 }, { -1, 30 }, { 1, 42 }, { -1, 30 }, { 5, 66 },
        { -691, 2730 }, { 7, 6 }, { -3617, 510 }, { 43867, 798 },
        { -174611, 330 }, { 854513, 138 }, { -236364091, 2730 },
    };
    int n = (int)order;
    quad sum = 0;
    if (n == 0)
        return quad_digamma(x);
    for (; x < 60 + n; x += 1)
        sum += powq(x, -n - 1);
    sum += powq(x, -n) / n + powq(x, -n - 1) / 2;
    for (int j = 1; j <= 12; j++)
        sum += (quad)b[j - 1][0] / (quad)b[j - 1][1] * tgammaq(2 * j + n)
             / tgammaq(2 * j + 1) / tgammaq(n + 1) * powq(x, -n - 2 * j);
    return (n % 2 ? 1 : -1) * tgammaq(n + 1) * sum;
}

// libquadmath has these; the derivative of order k.
static quad quad_bessel(quad (*f)(int n, quad x), int k, int n, quad x)
{
    return k == 0 ? f(n, x)
         : (quad_bessel(f, k - 1, n - 1, x) - quad_bessel(f, k - 1, n + 1, x))
           / 2;
}

static quad quad_waves(quad x)
{
    return fminq(1, sqrtq(2 / (quad_pi() * fabsq(x))));
}

// The incomplete gamma function P of shape a, by the trapezoidal rule, as in
// oracle.h, and its first two derivatives with respect to a.
struct quad_gamma {
    quad a, x;
    quad value;                 // the smaller of P and Q
    quad da, daa;
};

static const struct quad_gamma *quad_gamma_p(quad a, quad x)
{
    static struct quad_gamma g;
    const quad step = (quad)1 / 60;
    if (a == g.a && x == g.x)
        return &g;
    const quad l = logq(x) - quad_digamma(a);
    const quad from = a * logq(x) - lgammaq(a);
    const quad trigamma = quad_trigamma(a);
    const int side = l >= 0 ? 1 : -1;
    g = (struct quad_gamma){ a, x, 0, 0, 0 };
    for (int i = -300; i < 420; i++) {
        quad s = step * i;
        quad w = side * expq(s - expq(-s));
        quad f = expq(from + a * w - x * expq(w))
               * step * fabsq(w) * (1 + expq(-s));
        g.value += f;
        g.da -= side * f * (l + w);
        g.daa -= side * f * (quad_square(l + w) - trigamma);
    }
    return &g;
}

static quad quad_gamma_dx(quad a, quad x)
{
    return expq((a - 1) * logq(x) - x - lgammaq(a));
}

static quad quad_gamma_dxa(quad a, quad x)
{
    return quad_gamma_dx(a, x) * (logq(x) - quad_digamma(a));
}

static quad quad_gamma_dxx(quad a, quad x)
{
    return quad_gamma_dx(a, x) * (a - 1 - x) / x;
}

// The incomplete beta function of shapes a and b and its derivatives up to the
// second, by the series of the left tail, as in oracle.h, with its terms'
// derivatives; the right tail is the mirrored left one.
struct quad_beta {
    quad da, db;
    quad daa, dab, dbb;
};

static struct quad_beta quad_beta_tail(quad a, quad b, quad x, quad y)
{
    const quad c = a + b;
    struct quad_beta sum = { 0 };
    quad total = 0;
    quad t = expq(a * logq(x) + b * logq(y) + lgammaq(c) - lgammaq(a + 1)
                  - lgammaq(b));
    quad la = logq(x) - quad_digamma(a + 1) + quad_digamma(c);
    quad lb = logq(y) - quad_digamma(b) + quad_digamma(c);
    quad laa = quad_trigamma(c) - quad_trigamma(a + 1);
    quad lab = quad_trigamma(c);
    const quad lbb = -quad_trigamma(b);
    for (int n = 0; n < 300000; n++) {
        const quad above = 1 / (c + n), below = 1 / (a + 1 + n);
        const quad ratio = x * below / above;
        total += t;
        sum.da += t * la;
        sum.db += t * lb;
        sum.daa += t * (la * la + laa);
        sum.dab += t * (la * lb + lab);
        sum.dbb += t * (lb * lb + lab + lbb);
        if (ratio < (quad)0.999 && t * (1 + la * la + lb * lb) < total * (quad)1e-27)
            break;
        t *= ratio;
        la += above - below;
        lb += above;
        laa -= above * above - below * below;
        lab -= above * above;
    }
    return sum;
}

static const struct quad_beta *quad_beta_p(quad a, quad b, quad x)
{
    static struct quad_beta v;
    static quad at[3];
    if (at[0] == a && at[1] == b && at[2] == x)
        return &v;
    at[0] = a;
    at[1] = b;
    at[2] = x;
    if (x <= (quad)0.01 || (x < (quad)0.99 && x <= (a + 1) / (a + b + 2))) {
        v = quad_beta_tail(a, b, x, 1 - x);
        return &v;
    }
    const struct quad_beta m = quad_beta_tail(b, a, 1 - x, x);
    v = (struct quad_beta){ -m.db, -m.da, -m.dbb, -m.dab, -m.daa };
    return &v;
}

static quad quad_beta_dx(quad a, quad b, quad x)
{
    return expq((a - 1) * logq(x) + (b - 1) * logq(1 - x) + lgammaq(a + b)
                - lgammaq(a) - lgammaq(b));
}

static quad quad_beta_dxa(quad a, quad b, quad x)
{
    return quad_beta_dx(a, b, x)
         * (logq(x) - quad_digamma(a) + quad_digamma(a + b));
}

static quad quad_beta_dxx(quad a, quad b, quad x)
{
    return quad_beta_dx(a, b, x) * ((a - 1) / x - (b - 1) / (1 - x));
}

// clang-format off
#define ORACLE(ROW)                                                                                                     \
    /*   name       d/dx                      d/dy                d/dz    d2/dx2                  d2/dxdy       d2/dy2 */ \
    ROW( add,       1,                        1,                  0,      0,                      0,            0 )       \
    ROW( sub,       1,                        -1,                 0,      0,                      0,            0 )       \
    ROW( mul,       y,                        x,                  0,      0,                      1,            0 )       \
    ROW( div,       1 / y,                    -x / (y * y),       0,      0,                      -1 / (y * y), 2 * x / (y * y * y) ) \
    ROW( fma,       y,                        x,                  1,      0,                      1,            0 )       \
    ROW( neg,       -1,                       0,                  0,      0,                      0,            0 )       \
    ROW( sqr,       x + x,                    0,                  0,      2,                      0,            0 )       \
    ROW( abs,       quad_sign(x),             0,                  0,      0,                      0,            0 )       \
    ROW( min,       quad_share(x < y, y < x), quad_share(y < x, x < y), 0, 0,                     0,            0 )       \
    ROW( max,       quad_share(x > y, y > x), quad_share(y > x, x > y), 0, 0,                     0,            0 )       \
    ROW( clamp,     x >= y && x <= z,         x < y,              x >= y && x > z, 0,             0,            0 )       \
    ROW( select,    0,                        x != 0,             x == 0, 0,                      0,            0 )       \
    ROW( fdim,      x > y,                    -(x > y),           0,      0,                      0,            0 )       \
    ROW( fmod,      1,                        -truncq(x / y),     0,      0,                      0,            0 )       \
    ROW( remainder, 1,                        -rintq(x / y),      0,      0,                      0,            0 )       \
    ROW( copysign,  quad_sign(x) * quad_sign(y), 0,               0,      0,                      0,            0 )       \
    ROW( ldexp,     exp2q(y),                 0,                  0,      0,                      0,            0 )       \
    ROW( sqrt,      1 / (2 * sqrtq(x)),       0,                  0,      -1 / (4 * x * sqrtq(x)), 0,           0 )       \
    ROW( cbrt,      cbrtq(x) / (3 * x),       0,                  0,      -2 * cbrtq(x) / (9 * x * x), 0,       0 )       \
    ROW( hypot,     x / sqrtq(x * x + y * y), y / sqrtq(x * x + y * y), 0, y * y / quad_hypot3(x, y), -x * y / quad_hypot3(x, y), x * x / quad_hypot3(x, y) ) \
    ROW( pow,       y * powq(x, y - 1),       powq(x, y) * logq(x), 0,    y * (y - 1) * powq(x, y - 2), powq(x, y - 1) * (1 + y * logq(x)), powq(x, y) * quad_square(logq(x)) ) \
    ROW( powi,      y == 0 ? 0 : y * powq(x, y - 1), 0,           0,      y * (y - 1) == 0 ? 0 : y * (y - 1) * powq(x, y - 2), 0, 0 ) \
    ROW( exp,       expq(x),                  0,                  0,      expq(x),                0,            0 )       \
    ROW( exp2,      exp2q(x) * logq(2),        0,                  0,      exp2q(x) * logq(2) * logq(2), 0,        0 )       \
    ROW( expm1,     expq(x),                  0,                  0,      expq(x),                0,            0 )       \
    ROW( log,       1 / x,                    0,                  0,      -1 / (x * x),           0,            0 )       \
    ROW( log2,      1 / (logq(2) * x),             0,                  0,      -1 / (logq(2) * x * x),    0,            0 )       \
    ROW( log10,     1 / (logq(10) * x),            0,                  0,      -1 / (logq(10) * x * x),   0,            0 )       \
    ROW( log1p,     1 / (1 + x),              0,                  0,      -1 / quad_square(1 + x), 0,           0 )       \
    ROW( sin,       cosq(x),                  0,                  0,      -sinq(x),               0,            0 )       \
    ROW( cos,       -sinq(x),                 0,                  0,      -cosq(x),               0,            0 )       \
    ROW( tan,       1 / quad_square(cosq(x)), 0,                  0,      2 * tanq(x) / quad_square(cosq(x)), 0, 0 )      \
    ROW( asin,      1 / sqrtq(quad_leg(x)),   0,                  0,      x / (quad_leg(x) * sqrtq(quad_leg(x))), 0, 0 )  \
    ROW( acos,      -1 / sqrtq(quad_leg(x)),  0,                  0,      -x / (quad_leg(x) * sqrtq(quad_leg(x))), 0, 0 ) \
    ROW( atan,      1 / (1 + x * x),          0,                  0,      -2 * x / quad_square(1 + x * x), 0,   0 )       \
    ROW( atan2,     y / (x * x + y * y),      -x / (x * x + y * y), 0,    -2 * x * y / quad_square(x * x + y * y), (x - y) * (x + y) / quad_square(x * x + y * y), 2 * x * y / quad_square(x * x + y * y) ) \
    ROW( sinh,      coshq(x),                 0,                  0,      sinhq(x),               0,            0 )       \
    ROW( cosh,      sinhq(x),                 0,                  0,      coshq(x),               0,            0 )       \
    ROW( tanh,      1 / quad_square(coshq(x)), 0,                 0,      -2 * tanhq(x) / quad_square(coshq(x)), 0, 0 )   \
    ROW( asinh,     1 / sqrtq(1 + x * x),     0,                  0,      -x / ((1 + x * x) * sqrtq(1 + x * x)), 0, 0 )   \
    ROW( acosh,     1 / sqrtq((x - 1) * (x + 1)), 0,              0,      -x / ((x - 1) * (x + 1) * sqrtq((x - 1) * (x + 1))), 0, 0 ) \
    ROW( atanh,     1 / quad_leg(x),          0,                  0,      2 * x / quad_square(quad_leg(x)), 0,  0 )       \
    ROW( relu,      x > 0,                    0,                  0,      0,                      0,            0 )       \
    ROW( sigmoid,   1 / quad_square(2 * coshq(x / 2)), 0,         0,      -tanhq(x / 2) / quad_square(2 * coshq(x / 2)), 0, 0 ) \
    ROW( softplus,  1 / (1 + expq(-x)),       0,                  0,      1 / quad_square(2 * coshq(x / 2)), 0, 0 )       \
    ROW( erf,       quad_2_sqrt_pi() * expq(-x * x), 0,                0,      -2 * x * quad_2_sqrt_pi() * expq(-x * x), 0, 0 )     \
    ROW( erfc,      -quad_2_sqrt_pi() * expq(-x * x), 0,               0,      2 * x * quad_2_sqrt_pi() * expq(-x * x), 0, 0 )      \
    ROW( lgamma,    quad_digamma(x),          0,                  0,      quad_trigamma(x),       0,            0 )       \
    ROW( tgamma,    tgammaq(x) * quad_digamma(x), 0,              0,      tgammaq(x) * (quad_square(quad_digamma(x)) + quad_trigamma(x)), 0, 0 ) \
    ROW( digamma,   quad_polygamma(1, x),     0,                  0,      quad_polygamma(2, x),   0,            0 )       \
    ROW( gamma_p,   quad_gamma_p(x, y)->da,   quad_gamma_dx(x, y), 0,     quad_gamma_p(x, y)->daa, quad_gamma_dxa(x, y), quad_gamma_dxx(x, y) ) \
    ROW( gamma_q,   -quad_gamma_p(x, y)->da,  -quad_gamma_dx(x, y), 0,    -quad_gamma_p(x, y)->daa, -quad_gamma_dxa(x, y), -quad_gamma_dxx(x, y) ) \
    ROW( beta_p,    quad_beta_p(x, y, z)->da, quad_beta_p(x, y, z)->db, quad_beta_dx(x, y, z), quad_beta_p(x, y, z)->daa, quad_beta_p(x, y, z)->dab, quad_beta_p(x, y, z)->dbb ) \
    ROW( beta_q,    -quad_beta_p(x, y, z)->da, -quad_beta_p(x, y, z)->db, -quad_beta_dx(x, y, z), -quad_beta_p(x, y, z)->daa, -quad_beta_p(x, y, z)->dab, -quad_beta_p(x, y, z)->dbb ) \
    ROW( polygamma, 0,                        quad_polygamma(x + 1, y), 0, 0,                     0,            quad_polygamma(x + 2, y) ) \
    ROW( jn,        0,                        quad_bessel(jnq, 1, (int)x, y), 0, 0,               0,            quad_bessel(jnq, 2, (int)x, y) ) \
    ROW( yn,        0,                        quad_bessel(ynq, 1, (int)x, y), 0, 0,               0,            quad_bessel(ynq, 2, (int)x, y) ) \
    ROW( exp10,     powq(10, x) * logq(10),   0,                  0,      powq(10, x) * logq(10) * logq(10), 0, 0 )       \
    ROW( frac,      1,                        0,                  0,      0,                      0,            0 )       \
    ROW( log_add_exp, 1 / (1 + expq(y - x)),  1 / (1 + expq(x - y)), 0,   1 / quad_square(2 * coshq((x - y) / 2)), -1 / quad_square(2 * coshq((x - y) / 2)), 1 / quad_square(2 * coshq((x - y) / 2)) )

// Those with respect to z, of rows that have any.
#define ORACLE_OF_Z(ROW)                                                    \
    /*   name       d2/dxdz                   d2/dydz                  d2/dz2 */ \
    ROW( beta_p,    quad_beta_dxa(x, y, z),   quad_beta_dxa(y, x, 1 - z), quad_beta_dxx(x, y, z) ) \
    ROW( beta_q,    -quad_beta_dxa(x, y, z),  -quad_beta_dxa(y, x, 1 - z), -quad_beta_dxx(x, y, z) )
// clang-format on

typedef quad oracle_fn(quad x, quad y, quad z);

#define DEFINE_ONE(kind, name, expression)                                  \
    static quad oracle_##kind##_##name(quad x, quad y, quad z)              \
    {                                                                       \
        (void)x;                                                            \
        (void)y;                                                            \
        (void)z;                                                            \
        return expression;                                                  \
    }
#define DEFINE(name, dx, dy, dz, dxx, dxy, dyy)                             \
    DEFINE_ONE(x, name, dx) DEFINE_ONE(y, name, dy) DEFINE_ONE(z, name, dz) \
    DEFINE_ONE(xx, name, dxx) DEFINE_ONE(xy, name, dxy)                     \
    DEFINE_ONE(yy, name, dyy)
ORACLE(DEFINE)
#undef DEFINE
#define DEFINE(name, dxz, dyz, dzz)                                         \
    DEFINE_ONE(xz, name, dxz) DEFINE_ONE(yz, name, dyz)                     \
    DEFINE_ONE(zz, name, dzz)
ORACLE_OF_Z(DEFINE)
#undef DEFINE
#undef DEFINE_ONE

/* --- the rows as functions ------------------------------------------------ */

#define FRONT_select(name, x, y, z)  ad_select(p[0] != 0, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, (int)p[1])
#define FRONT_order(name, x, y, z)   ad_##name((int)p[0], y)

#define DEFINE(name, n, ...)                                                \
    static void perform_##name(const ad_rev *a, ad_rev *out, void *ctx)     \
    {                                                                       \
        const double *p = ctx;                                              \
        (void)p;                                                            \
        out[0] = ad_rec(CALL(name, n, a[0], a[1], a[2]));                   \
    }
ADREV_OPS(DEFINE)
#undef DEFINE

enum { X, Y, Z, XX, XY, YY, XZ, YZ, ZZ, PARTIALS, NONE, EACH, BETA };
static const char *const partial_names[PARTIALS] = {
    "d/dx", "d/dy", "d/dz", "d2/dx2", "d2/dxdy", "d2/dy2", "d2/dxdz",
    "d2/dydz", "d2/dz2"
};

static const struct row {
    const char *name;
    ad_vector_fn *perform;
    oracle_fn *oracle[XZ];
} rows[ADREV_OP_COUNT] = {
#define ENTER(name, ...)                                                    \
    [ADREV_OP_##name] = {                                                   \
        #name, perform_##name,                                              \
        { oracle_x_##name, oracle_y_##name, oracle_z_##name,                \
          oracle_xx_##name, oracle_xy_##name, oracle_yy_##name },           \
    },
    ADREV_OPS(ENTER)
#undef ENTER
};

// Those from XZ on.
static oracle_fn *const of_z[ADREV_OP_COUNT][3] = {
#define ENTER(name, ...)                                                    \
    [ADREV_OP_##name] = { oracle_xz_##name, oracle_yz_##name,               \
                          oracle_zz_##name },
    ORACLE_OF_Z(ENTER)
#undef ENTER
};

/* --- where the sweeps go -----------------------------------------------------
 * Point number i of a domain.                                                */

static uint64_t seed;

static double uniform(double from, double to)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return from + (to - from) * ((double)(seed >> 11) * 0x1p-53);
}

static double coin(void) { return uniform(-1, 1) < 0 ? -1 : 1; }
static double scale(double from, double to)
{
    return (double)powq(10, (quad)uniform(from, to));
}

enum { LOWEST = -310, HIGHEST = 308 };

// A number of decade i; all of them in turn.
static double decade(int i)
{
    int power = LOWEST + i % (HIGHEST - LOWEST + 1);
    return scale(power, power + (power == HIGHEST ? 0.25 : 1));
}

static double near_one(double side)
{
    return 1 + side * exp2(uniform(-53, -1));
}

static void all(int i, double *p)
{
    p[0] = coin() * decade(i);
    p[1] = coin() * scale(LOWEST, HIGHEST);
    p[2] = coin() * scale(LOWEST, HIGHEST);
}

// Also of one size, on the axes and near the diagonals.
static void plane(int i, double *p)
{
    double kind = uniform(0, 10);
    all(i, p);
    if (kind < 4)
        p[1] = p[0] * uniform(-10, 10);
    else if (kind < 6)
        p[1] = p[0] * coin() * near_one(coin());
    else if (kind < 7)
        p[1] = p[0] * coin();
    else if (kind < 8)
        p[coin() > 0] = 0;
    for (int k = 0; k < 2; k++)
        p[k] = fmin(fmax(p[k], -1.7e308), 1.7e308);
}

// A subnormal length has few digits: then so have its second partials.
static void lengths(int i, double *p)
{
    plane(i, p);
    if (fabs(p[0]) + fabs(p[1]) < 1e-307) {
        p[0] *= 1e4;
        p[1] *= 1e4;
    }
}

static void quotient(int i, double *p)
{
    plane(i, p);
    if (p[1] == 0)
        p[1] = 1;
}

static void ordered(int i, double *p)
{
    all(i, p);
    double low = fmin(p[1], p[2]);
    p[2] = fmax(p[1], p[2]);
    p[1] = low;
}

static void positive(int i, double *p) { p[0] = decade(i); }

static void interval(int i, double *p)
{
    p[0] = coin() * (i % 3 > 0 ? scale(LOWEST, 0) : near_one(-1));
}

static void above_one(int i, double *p)
{
    p[0] = i % 3 > 0 ? 1 + scale(-16, HIGHEST) : near_one(1);
}

static void above_minus_one(int i, double *p)
{
    p[0] = i % 3 == 0 ? -near_one(-1) : i % 3 == 1 ? decade(i)
                                                   : -scale(LOWEST, 0);
}

static void exponent(int i, double *p)
{
    p[0] = i % 2 ? uniform(-745, 709.7) : coin() * decade(i);
}

static void exponent_of_2(int i, double *p)
{
    p[0] = i % 2 ? uniform(-1074, 1024) : coin() * decade(i);
}

static void angle(int i, double *p)
{
    p[0] = i % 3 > 0 ? coin() * decade(i)
                     : floor(uniform(-50, 50)) * 1.5707963267948966
                       + coin() * scale(-16, -1);
}

static void bell(int i, double *p)
{
    p[0] = i % 2 ? uniform(-26.6, 26.6) : coin() * decade(i);
    if (fabs(p[0]) > 26.6 && fabs(p[0]) < 28)   // exp(-x*x) is subnormal
        p[0] *= 2;
}

static void power(int i, double *p)
{
    p[0] = decade(i);
    p[1] = uniform(LOWEST, HIGHEST) / log10(p[0]);
}

static void power_near_one(int i, double *p)
{
    p[0] = i % 2 ? near_one(coin()) : scale(-2, 2);
    p[1] = coin() * fmin(scale(-3, 3), HIGHEST / fabs(log10(p[0])));
}

static void power_small(int i, double *p)
{
    p[0] = decade(i);
    p[1] = coin() * scale(-20, 0);
}

static void integer_power(int i, double *p)
{
    p[0] = coin() * decade(i);
    p[1] = floor(uniform(-12, 13));
}

static void binary_scale(int i, double *p)
{
    p[0] = coin() * decade(i);
    p[1] = floor(uniform(-1074, 1024));
}

static void gamma_positive(int i, double *p)
{
    p[0] = i % 2 ? scale(-3, 3) : decade(i);
}

static void gamma_small(int i, double *p)
{
    p[0] = coin() * decade(i % -LOWEST);
}

static void gamma_range(int i, double *p)
{
    (void)i;
    p[0] = uniform(0.1, 171.6);
}

static void gamma_negative(int i, double *p)
{
    p[0] = i % 2 ? uniform(-168, 0) : -scale(0, 15);
    if (p[0] < -168 && p[0] > -200)     // the gamma function is subnormal
        p[0] -= 32;
    if (p[0] == floor(p[0]))
        p[0] = -0.5;
}

static void exponent_of_10(int i, double *p)
{
    exponent(i, p);
    p[0] *= 0.4342;
}

static void two_exponents(int i, double *p)
{
    p[0] = coin() * scale(LOWEST, 3);
    p[1] = i % 2 ? p[0] + uniform(-40, 40) : coin() * scale(LOWEST, 3);
}

static void bessel_small(int i, double *p)
{
    p[0] = i % 9 - 4;
    p[1] = scale(-40, 0);
}

static void bessel_wave(int i, double *p)
{
    p[0] = i % 9 - 4;
    p[1] = i % 4 ? uniform(1, 40) : scale(0, 5);
}

static void poly_positive(int i, double *p)
{
    p[0] = i % 6;
    p[1] = scale(-30, 30);
}

static void near_negative(int i, double *p)
{
    (void)i;
    p[0] = uniform(-40, 0);
}

static void poly_negative(int i, double *p)
{
    p[0] = i % 6;
    p[1] = uniform(-40, 0);
}

// A shape, and an argument in which the smaller tail is not below 1e-100.
static void shapes(int i, double *p)
{
    (void)i;
    p[0] = scale(-3, 4);
    p[1] = p[0] < 1 ? scale(-5, 2)
         : fmax(p[0] * 1e-3, p[0] + uniform(-9, 20) * sqrt(p[0]));
}

// Two shapes, and an argument in which the smaller tail is not below 1e-100.
static void two_shapes(int i, double *p)
{
    (void)i;
    p[0] = scale(-3, 3);
    p[1] = scale(-3, 3);
    const double mean = p[0] / (p[0] + p[1]);
    const double off = sqrt(mean * (1 - mean) / (p[0] + p[1] + 1));
    p[2] = coin() > 0 ? mean + uniform(-8, 8) * off : uniform(0, 1);
    if (!(p[2] > 0 && p[2] < 1))
        p[2] = coin() > 0 ? scale(-15, -1) : 1 - scale(-15, -1);
}

// What the nearest pole adds to the derivatives of order n and n + 1: the sum
// has no more digits.
static quad quad_poles(quad n, quad x)
{
    return tgammaq(n + 1) / powq(fabsq(x - rintq(x)), n + 1);
}

/* --- the sweeps --------------------------------------------------------------
 * The largest errors, with the C library of the GNU system.
 *
 * ulps   of the first partials, and of the second
 * terms  what cancels in one of them: where that partial is smaller, its error
 *        is in ulps of the terms; NONE, 0: nothing cancels                    */

// clang-format off
#define SWEEPS(ROW)                                                                                             \
    /*   op         domain           ulps: first second  terms of   are                          because */     \
    ROW( add,       all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( sub,       all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( mul,       all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( div,       quotient,        1.5,        2.5,    NONE,      0,                           "divisions" )  \
    ROW( fma,       all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( neg,       all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( sqr,       all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( abs,       all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( min,       plane,           0,          0,      NONE,      0,                           "exact" )      \
    ROW( max,       plane,           0,          0,      NONE,      0,                           "exact" )      \
    ROW( clamp,     ordered,         0,          0,      NONE,      0,                           "exact" )      \
    ROW( select,    all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( fdim,      plane,           0,          0,      NONE,      0,                           "exact" )      \
    ROW( fmod,      quotient,        1,          0,      NONE,      0,                           "a quotient" ) \
    ROW( remainder, quotient,        1,          0,      NONE,      0,                           "a quotient" ) \
    ROW( copysign,  all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( ldexp,     binary_scale,    0,          0,      NONE,      0,                           "exact" )      \
    ROW( sqrt,      positive,        1.5,        4.5,    NONE,      0,                           "the first partial, cubed" ) \
    ROW( cbrt,      all,             12,         24,     NONE,      0,                           "<math.h> is off by 3.7, to the fifth power" ) \
    ROW( hypot,     lengths,         1.5,        7,      NONE,      0,                           "hypot enters three times" ) \
    ROW( pow,       power,           3,          5.5,    XY,        powq(x, y - 1),              "a root, squared" ) \
    ROW( pow,       power_near_one,  3,          6,      XY,        powq(x, y - 1),              "a root, squared" ) \
    ROW( pow,       power_small,     2.5,        6,      XY,        powq(x, y - 1),              "a root, squared" ) \
    ROW( powi,      integer_power,   2.5,        4,      NONE,      0,                           "pow, and two roundings" ) \
    ROW( exp,       exponent,        1,          1,      NONE,      0,                           "the value itself" ) \
    ROW( exp2,      exponent_of_2,   2,          2.5,    NONE,      0,                           "two products" ) \
    ROW( expm1,     exponent,        1.5,        1.5,    NONE,      0,                           "v + 1, or exp" ) \
    ROW( log,       positive,        0.5,        1.5,    NONE,      0,                           "divisions" )  \
    ROW( log2,      positive,        1,          2,      NONE,      0,                           "divisions" )  \
    ROW( log10,     positive,        1,          2,      NONE,      0,                           "divisions" )  \
    ROW( log1p,     above_minus_one, 1.5,        3,      NONE,      0,                           "1 + x, and divisions" ) \
    ROW( sin,       angle,           1,          1,      NONE,      0,                           "as <math.h>" ) \
    ROW( cos,       angle,           1,          1,      NONE,      0,                           "as <math.h>" ) \
    ROW( tan,       angle,           3,          4,      NONE,      0,                           "tan enters three times" ) \
    ROW( asin,      interval,        2.5,        8,      NONE,      0,                           "the first partial, cubed" ) \
    ROW( acos,      interval,        2.5,        8,      NONE,      0,                           "the first partial, cubed" ) \
    ROW( atan,      all,             2.5,        4,      NONE,      0,                           "the first partial, squared" ) \
    ROW( atan2,     plane,           3.5,        7,      NONE,      0,                           "two first partials" ) \
    ROW( sinh,      exponent,        2,          2,      NONE,      0,                           "as <math.h>" ) \
    ROW( cosh,      exponent,        2,          2,      NONE,      0,                           "as <math.h>" ) \
    ROW( tanh,      exponent,        4,          4,      NONE,      0,                           "exp, and four roundings" ) \
    ROW( asinh,     all,             2,          4,      NONE,      0,                           "hypot enters three times" ) \
    ROW( acosh,     above_one,       3,          6.5,    NONE,      0,                           "two roots, three times each" ) \
    ROW( atanh,     interval,        2.5,        6,      NONE,      0,                           "the first partial, squared" ) \
    ROW( relu,      all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( sigmoid,   exponent,        4,          5,      NONE,      0,                           "exp, and five roundings" ) \
    ROW( softplus,  exponent,        2.5,        4,      NONE,      0,                           "exp, and four roundings" ) \
    ROW( erf,       bell,            2.5,        3.5,    NONE,      0,                           "exp of a compensated square" ) \
    ROW( erfc,      bell,            2.5,        3.5,    NONE,      0,                           "exp of a compensated square" ) \
    ROW( lgamma,    gamma_positive,  4,          5.5,    X,         1,                           "a zero at 1.46" ) \
    ROW( lgamma,    gamma_small,     4,          4,      X,         1,                           "recurrences" ) \
    ROW( lgamma,    gamma_negative,  9,          6,      X,         fabsq(quad_digamma(1 - x)),  "zeros between the poles" ) \
    ROW( tgamma,    gamma_small,     4,          6,      X,         fabsq(tgammaq(x)),           "digamma, squared" ) \
    ROW( tgamma,    gamma_range,     8,          9,      X,         fabsq(tgammaq(x)),           "<math.h> is off by 4" ) \
    ROW( tgamma,    gamma_negative,  9,          12,     X,         fabsq(tgammaq(x) * quad_digamma(1 - x)), "<math.h> is off by 4" ) \
    ROW( digamma,   gamma_positive,  4,          6,      NONE,      0,                           "recurrences" ) \
    ROW( digamma,   near_negative,   9,          9,      EACH,      quad_poles(1, x),            "zeros between the poles" ) \
    ROW( gamma_p,   shapes,          5,          8,      X,         1,                           "sums of panels" ) \
    ROW( gamma_q,   shapes,          5,          8,      X,         1,                           "sums of panels" ) \
    ROW( beta_p,    two_shapes,      8,          10,     BETA,      0,                           "sums of panels" ) \
    ROW( beta_q,    two_shapes,      8,          10,     BETA,      0,                           "sums of panels" ) \
    ROW( polygamma, poly_positive,   6,          6,      NONE,      0,                           "recurrences" ) \
    ROW( polygamma, poly_negative,   24,         24,     EACH,      quad_poles(x + 1, y),        "zeros between the poles" ) \
    ROW( jn,        bessel_small,    9,          9,      NONE,      0,                           "<math.h>" )   \
    ROW( jn,        bessel_wave,     5,          5,      EACH,      quad_waves(y),               "zeros" )      \
    ROW( yn,        bessel_small,    9,          9,      NONE,      0,                           "<math.h>" )   \
    ROW( yn,        bessel_wave,     5,          5,      EACH,      quad_waves(y),               "zeros" )      \
    ROW( exp10,     exponent_of_10,  2,          3.5,    NONE,      0,                           "pow, and two products" ) \
    ROW( frac,      all,             0,          0,      NONE,      0,                           "exact" )      \
    ROW( log_add_exp, two_exponents, 4,          5,      NONE,      0,                           "as sigmoid" )
// clang-format on

struct sweep {
    ad_opcode op;
    const char *domain;
    void (*point)(int i, double *p);
    double ulps[2];
    int cancels;
    oracle_fn *terms;
};

#define DEFINE(op, domain, first, second, partial, terms, because)          \
    static quad terms_##op##_##domain(quad x, quad y, quad z)               \
    {                                                                       \
        (void)x;                                                            \
        (void)y;                                                            \
        (void)z;                                                            \
        return terms;                                                       \
    }
SWEEPS(DEFINE)
#undef DEFINE

static const struct sweep sweeps[] = {
#define ENTER(op, domain, first, second, partial, terms, because)           \
    { ADREV_OP_##op, #domain, domain, { first, second }, partial,           \
      terms_##op##_##domain },
    SWEEPS(ENTER)
#undef ENTER
};

struct worst {
    double ulps;
    double got;
    double want;
    double at[3];
};

// In units of the last place of want, or of least if that is larger, as a
// double, subnormal ones included.
static double distance(double got, quad want, quad least)
{
    int exponent = 0;
    if (got == (double)want)
        return 0;
    if (isnan(got) || isnanq(want) || isinf(got) || isinf((double)want))
        return (double)INFINITY;
    frexpq(fmaxq(fabsq(want), least), &exponent);
    exponent = exponent - DBL_MANT_DIG < -1074 ? -1074
                                               : exponent - DBL_MANT_DIG;
    return (double)fabsq(ldexpq((quad)got - want, -exponent));
}

// What the second derivatives of the incomplete beta function are sums of.
static quad quad_beta_size(int partial, quad a, quad b, quad x)
{
    const struct quad_beta *v = quad_beta_p(a, b, x);
    const quad f = quad_beta_dx(a, b, x);
    return partial == XX ? fabsq(v->da) : partial == YY ? fabsq(v->db)
         : partial == XY ? fabsq(v->daa) + fabsq(v->dbb)
         : partial == XZ ? f * (1 - logq(x)) / a
         : partial == YZ ? f * (1 - logq(1 - x)) / b
         : partial == ZZ ? f * (fabsq(a - 1) / x + fabsq(b - 1) / (1 - x)) : 0;
}

static bool carries(ad_opcode op, int k)
{
    return k < ad_op_table()[op].arity && k != whole_argument((int)op)
        && !(op == ADREV_OP_select && k == 0);
}

static bool carries_partial(ad_opcode op, int partial)
{
    static const int of[PARTIALS][2] = {
        { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 0 }, { 0, 1 }, { 1, 1 },
        { 0, 2 }, { 1, 2 }, { 2, 2 }
    };
    return (partial < XZ || of_z[op][partial - XZ] != NULL)
        && carries(op, of[partial][0]) && carries(op, of[partial][1]);
}

static void compare(const struct sweep *s, const double *p, int partial,
                    double got, struct worst worst[PARTIALS])
{
    quad x[3] = { (quad)p[0], (quad)p[1], (quad)p[2] };
    if (!carries_partial(s->op, partial))
        return;
    oracle_fn *oracle = partial < XZ ? rows[s->op].oracle[partial]
                                     : of_z[s->op][partial - XZ];
    quad want = oracle(x[0], x[1], x[2]);
    quad least = s->cancels == BETA
               ? quad_beta_size(partial, x[0], x[1], x[2])
               : partial == s->cancels || s->cancels == EACH
               ? s->terms(x[0], x[1], x[2]) : 0;
    double off = distance(got, want, least);
    if (!(off <= worst[partial].ulps))
        worst[partial] = (struct worst){ off, got, (double)want,
                                         { p[0], p[1], p[2] } };
}

// out f = name(x, y, z), of as many as the row has
static ad_tensor *formula_of(ad_opcode op)
{
    static const char *const list[] = { "x", "x, y", "x, y, z" };
    const ad_op_info *row = &ad_op_table()[op];
    ad_tensor *t = NULL;
    char text[100];
    snprintf(text, sizeof text, "in %s; out f = %s(%s);", list[row->arity - 1],
             row->name, list[row->arity - 1]);
    CHECK(ad_tensor_new(&t, text, NULL, NULL) == ADREV_OK, "%s", text);
    return t;
}

// Column k of the Hessian: only argument k moves.
static void column_of_formula(ad_tensor *t, const ad_real x[3], int k,
                              ad_real out[3])
{
    const ad_real one = 1;
    const ad_real *v[3] = { NULL }, *in[3] = { x, x + 1, x + 2 };
    const ad_real *w[1] = { &one };
    ad_real *hv[3] = { out, out + 1, out + 2 };
    v[k] = &one;
    ad_status status = ad_tensor_hvp(t, in, w, v, hv);
    CHECK(status == ADREV_OK, "product of a formula: %s", ad_message(status));
}

static void sweep_formula(const struct sweep *s, ad_tensor *t, const double *p,
                          struct worst worst[PARTIALS])
{
    const ad_real x[3] = { p[0], p[1], p[2] };
    const ad_real *in[3] = { x, x + 1, x + 2 };
    ad_real y = 0;
    ad_real out[3] = { 0 };
    ad_real *g[3] = { out, out + 1, out + 2 };
    ad_status status = ad_tensor_gradient(t, in, &y, g);
    CHECK(status == ADREV_OK, "gradient of a formula: %s", ad_message(status));
    for (int k = 0; k < 3; k++)
        compare(s, p, X + k, out[k], worst);
    for (int k = 0; k < 2 && k < ad_op_table()[s->op].arity && !isinf(y); k++) {
        column_of_formula(t, x, k, out);
        compare(s, p, k == 0 ? XX : XY, out[0], worst);
        compare(s, p, k == 0 ? XY : YY, out[1], worst);
        compare(s, p, k == 0 ? XZ : YZ, out[2], worst);
    }
}

// Reverse, and forward over reverse; the second where the value is finite.
static void sweep_point(const struct sweep *s, ad_fn *fn, const double *p,
                        struct worst worst[PARTIALS])
{
    const ad_real one = 1;
    ad_real x[3] = { p[0], p[1], p[2] };
    ad_real y = 0;
    ad_real g[3] = { 0 };
    ad_real H[9] = { 0 };
    ad_status status = ad_fn_gradient(fn, x, &y, g);
    CHECK(status == ADREV_OK, "gradient: %s", ad_message(status));
    for (int k = 0; k < 3; k++)
        compare(s, p, X + k, g[k], worst);
    if (isinf(y))
        return;
    status = ad_fn_hessian(fn, x, &one, H);
    CHECK(status == ADREV_OK, "Hessian: %s", ad_message(status));
    compare(s, p, XX, H[0], worst);
    compare(s, p, XY, H[1], worst);
    compare(s, p, YY, H[4], worst);
    compare(s, p, XZ, H[2], worst);
    compare(s, p, YZ, H[5], worst);
    compare(s, p, ZZ, H[8], worst);
    for (int k = 0; k < 2; k++) {
        ad_real v[3] = { k == 0, k == 1, 0 };
        status = ad_fn_hvp(fn, x, &one, v, g);
        CHECK(status == ADREV_OK, "product: %s", ad_message(status));
        compare(s, p, k == 0 ? XX : XY, g[0], worst);
        compare(s, p, k == 0 ? XY : YY, g[1], worst);
        compare(s, p, k == 0 ? XZ : YZ, g[2], worst);
    }
}

static void run_sweep(const struct sweep *s)
{
    struct worst worst[PARTIALS] = { { 0 } };
    ad_fn *fn = NULL;
    ad_tensor *t = formula_of(s->op);
    // An integral in quad precision takes milliseconds.
    const bool slow = s->op == ADREV_OP_gamma_p || s->op == ADREV_OP_gamma_q
                   || s->op == ADREV_OP_beta_p || s->op == ADREV_OP_beta_q;
    const int points = slow ? POINTS / 50 : POINTS;
    seed = 88172645463325252u;
    for (int i = 0; i < points; i++) {
        double p[3] = { 0 };
        s->point(i, p);
        if (i == 0 || whole_argument((int)s->op) < 3 || s->op == ADREV_OP_select) {
            const ad_real at[3] = { p[0], p[1], p[2] };
            ad_fn_free(fn);
            if (!CHECK(ad_fn_record(&fn, rows[s->op].perform, p, 3, at, 1)
                           == ADREV_OK, "%s is recorded", rows[s->op].name))
                return;
        }
        sweep_point(s, fn, p, worst);
        sweep_formula(s, t, p, worst);
    }
    for (int k = 0; k < PARTIALS; k++)
        CHECK(worst[k].ulps <= s->ulps[k >= XX],
              "%s of %s, %s: %.3g ulps, allowed %g; worst at (%.17g, %.17g, "
              "%.17g): got %.17g, want %.17g", partial_names[k],
              rows[s->op].name, s->domain, worst[k].ulps, s->ulps[k >= XX],
              worst[k].at[0], worst[k].at[1], worst[k].at[2], worst[k].got,
              worst[k].want);
#ifdef REPORT
    printf("%-10s %-16s", rows[s->op].name, s->domain);
    for (int k = 0; k < PARTIALS; k++)
        printf(" %8.3g", worst[k].ulps);
    printf("\n");
#endif
    ad_fn_free(fn);
    ad_tensor_free(t);
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
#define ENTER(op, x, y, dxx, dxy, dyy, ulps, because)                       \
    { ADREV_OP_##op, { x, y, 0 }, { dxx, dxy, dyy }, ulps, because },
    ADREV_EDGES_SECOND(ENTER)
#undef ENTER
};

// Limits, to the oracle: infinity is 1e1000, and 0 is its inverse.
static quad limit(double x)
{
    quad far = powq(10, 1000);
    return isinf(x) ? copysignq(far, (quad)x) : x == 0 ? 1 / far : (quad)x;
}

static bool close_to(double got, quad want, double ulps)
{
    return (isnan(got) && isnanq(want)) || distance(got, want, 0) <= ulps;
}

static void run_edge(const struct edge *e)
{
    const ad_real away[3] = { (ad_real)0.5, 2, 0 };
    const ad_real one = 1;
    const double *x = e->x;
    double p[3] = { x[0], x[1], x[2] };
    ad_real H[9] = { 0 };
    ad_real column[2][3] = { { 0 } };
    ad_fn *fn = NULL;
    ad_tensor *t = formula_of(e->op);
    CHECK(ad_fn_record(&fn, rows[e->op].perform, p, 3, away, 1) == ADREV_OK
              && ad_fn_hessian(fn, x, &one, H) == ADREV_OK, "evaluation");
    for (int k = 0; k < 2 && k < ad_op_table()[e->op].arity; k++)
        column_of_formula(t, x, k, column[k]);
    for (int k = XX; k <= YY; k++) {
        quad truth = rows[e->op].oracle[k](limit(x[0]), limit(x[1]), 0);
        double want = e->want[k - XX];
        double got = H[k == YY ? 4 : k - XX];
        if (!carries_partial(e->op, k))
            continue;
        CHECK(close_to(want, truth, 1), "the table says %.17g for %s of "
              "%s(%.17g, %.17g), should be %.17g", want, partial_names[k],
              rows[e->op].name, x[0], x[1], (double)truth);
        CHECK(close_to(got, (quad)want, e->ulps), "%s(%.17g, %.17g) \"%s\", "
              "%s: got %.17g, want %.17g", rows[e->op].name, x[0], x[1],
              e->because, partial_names[k], got, want);
        got = column[k == YY][k == XX ? 0 : 1];
        CHECK(close_to(got, (quad)want, e->ulps), "a formula of %s(%.17g, "
              "%.17g) \"%s\", %s: got %.17g, want %.17g", rows[e->op].name,
              x[0], x[1], e->because, partial_names[k], got, want);
    }
    ad_fn_free(fn);
    ad_tensor_free(t);
}

int main(void)
{
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        run_edge(&edges[i]);
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++)
        run_sweep(&sweeps[i]);
    return check_done("second_partials");
}
