#pragma once

/* === core/beta =============================================================
 * The incomplete beta functions, and their derivatives with respect to the
 * shapes a and b, as text and as functions (see core/special and
 * core/incomplete). They are compiled here only.
 *
 *     I(a, b, x) is the integral of f(t) from 0 to x
 *     f(t) = t^(a-1) (1-t)^(b-1) / B(a, b)
 *
 * With y = 1 - x, c = a + b, t/(1-t) = x/y exp(-u), and
 *
 *     D  = x^a y^b Gamma(c+1) / (Gamma(a+1) Gamma(b+1)),  W = a b / c
 *     La = log t - digamma(a+1) + digamma(c+1)
 *     Lb = log(1-t) - digamma(b+1) + digamma(c+1)
 *
 * f(t) dt is D W (t/x)^a ((1-t)/y)^b du, and a derivative with respect to a or
 * b multiplies it by a polynomial in La and Lb. The first one, La + b/(a c),
 * has one sign on either side of its zero, and its whole integral is 0: so it
 * is integrated from x away from there, and nothing cancels. What of Gamma(a)
 * is infinite at 0 is in W, so that a shape may be 0.
 *
 * The integrand is a bell in u, with singularities where t/(1-t) is -1, at a
 * distance pi from the line. Sixteen points of Gauss and Legendre see all of a
 * panel that is at most 3 wide near t = 1/2, and everywhere short where the
 * integrand is steep or bent.
 *
 * log_share       log x, for y = 1 - x
 * polygamma_gap   the size of the difference of the polygamma functions of
 *                 order n, 0 or 1, at z and z + b, as a sum of differences that
 *                 do not cancel: two digammas would lose 1e5 ulps
 * beta_slope_at   b x - a y, exact but for the last rounding
 * beta_factor     D / (x y)^p. Shapes below 20 are raised to at least 20; what
 *                 that changes is divided by powers that are left out of the
 *                 sum
 * log1p_bend      log(1 + z) - z for |z| <= 1/4
 * beta_logs       l: La, Lb, dLa/da, dLb/db and dLa/db, which is dLb/da, at x;
 *                 the derivatives of them only for `order` 2
 * beta_bell       the polynomial of order j in a and k in b, times W
 * beta_fall       minus the logarithm of (t/x)^a ((1-t)/y)^b, `at` being what
 *                 log t and log(1-t) are more than at x
 * beta_tail       the derivative of order j in a and k in b of the integral
 *                 from 0 to x
 * beta_part       the same of that side of x where nothing cancels, or of the
 *                 smaller one; `side` is 1 if that is the right one, of which
 *                 derivatives are minus those of I. Shapes near 0 that both
 *                 underflow are scaled: I depends on their ratio. One alone
 *                 makes its side too long to be integrated
 * beta_known      0 or 1 where I is that because the other side is empty, -1
 *                 where it has no value, 2 anywhere else
 * beta_value      I, or (upper) 1 - I
 * beta_slope      the derivative of I of order j in a and k in b, at x: 1 or 2
 *                 together
 * beta_density    the same of f, of at most 1. At x = 0 and 1 these are limits
 *
 *   needs   core/config core/types core/operations
 *   offers  ADX_INCOMPLETE_BETA
 * ========================================================================== */

// clang-format off
#define ADX_INCOMPLETE_BETA(ROW, PART)                                      \
    PART( long double, log_share, (long double x, long double y),           \
        return x < y ? logl(x) : log1pl(-y); )                              \
    PART( long double, polygamma_gap, (int n, double from, double by),      \
        static const double bernoulli[8] = {                                \
            1 / 12., -1 / 120., 1 / 252., -1 / 240., 1 / 132., -691 / 32760., \
            1 / 12., -3617 / 8160.                                          \
        };                                                                  \
        const long double b = (long double)by;                              \
        long double z = (long double)from, sum = 0, power, ratio, gap;      \
        int j;                                                              \
        for (; z < 20; z += 1) {                                            \
            gap = b / (z + b) / z;                                          \
            sum += n == 0 ? gap : gap / z + gap / (z + b);                  \
        }                                                                   \
        ratio = log1pl(b / z);                                              \
        gap = -expm1l(-ratio);                                              \
        sum += n == 0 ? ratio + gap / (2 * z)                               \
                      : gap / z + gap * (2 - gap) / (2 * z * z);            \
        power = n == 0 ? 1 : 1 / z;                                         \
        for (j = 1; j <= 8; j++) {                                          \
            gap = -expm1l(-(2 * j + n) * ratio);                            \
            power = power / z / z;                                          \
            gap *= n == 0 ? 1 : 2 * j;                                      \
            sum += (long double)bernoulli[j - 1] * power * gap;             \
        }                                                                   \
        return sum; )                                                       \
    PART( long double, beta_slope_at, (double shape_a, double shape_b,      \
                                       long double x, long double y),       \
        const long double a = (long double)shape_a;                         \
        const long double b = (long double)shape_b;                         \
        const long double c = a + b;                                        \
        const long double rest = a > b ? b - (c - a) : a - (c - b);         \
        const long double most = x < y ? fmal(x, c, -a) : -fmal(y, c, -b);  \
        return most + (x < y ? x : -y) * rest; )                            \
    PART( long double, beta_factor, (double shape_a, double shape_b,        \
                                     long double x, long double y, int p),  \
        const long double turn = 6.28318530717958647692528676655900577L;    \
        const long double a = (long double)shape_a;                         \
        const long double b = (long double)shape_b;                         \
        const long double slope = adx_beta_slope_at(shape_a, shape_b, x, y); \
        const long double least = a < b ? a : b;                            \
        const long double log_x = adx_log_share(x, y);                      \
        const long double log_y = adx_log_share(y, x);                      \
        const int up_a = a < 20 ? 20 - (int)a : 0;                          \
        const int up_b = b < 20 ? 20 - (int)b : 0;                          \
        const long double far_a = a + up_a, far_b = b + up_b;               \
        const long double c = far_a + far_b;                                \
        long double rising = 1, h, k, sum;                                  \
        int i;                                                              \
        for (i = 0; i < up_a; i++)                                          \
            rising *= (far_a - i) / far_a;                                  \
        for (i = 0; i < up_b; i++)                                          \
            rising *= (far_b - i) / far_b;                                  \
        for (i = 0; i < up_a + up_b; i++)                                   \
            rising *= c / (c - i);                                          \
        if (least >= 20 && fabsl(slope) <= least / 2) {                     \
            h = adx_log1p_less(slope / far_a);                              \
            k = adx_log1p_less(-slope / far_b);                             \
            sum = far_a * h + far_b * k;                                    \
        } else {                                                            \
            h = log1pl(far_b / far_a);                                      \
            k = log1pl(far_a / far_b);                                      \
            sum = a * (h + log_x) + b * (k + log_y);                        \
        }                                                                   \
        h = (long double)adx_stirling((double)far_a);                       \
        k = (long double)adx_stirling((double)far_b);                       \
        sum -= h + k + p * (log_x + log_y);                                 \
        h = (long double)adx_stirling((double)c);                           \
        h = expl(sum + h);                                                  \
        k = sqrtl(c / far_a / far_b / turn);                                \
        return rising * h * k; )                                            \
    PART( double, log1p_bend, (double z),                                   \
        const double r = z / (2 + z);                                       \
        const double s = r * r;                                             \
        double sum = 0;                                                     \
        int j;                                                              \
        for (j = 21; j >= 3; j -= 2)                                        \
            sum = sum * s + 1. / j;                                         \
        return r * (2 * s * sum - z); )                                     \
    PART( void, beta_logs, (int order, double a, double b, long double x,   \
                            long double y, double *l),                      \
        long double h = adx_log_share(x, y), k;                             \
        k = adx_polygamma_gap(0, a + 1, b);                                 \
        l[0] = (double)(h + k);                                             \
        h = adx_log_share(y, x);                                            \
        k = adx_polygamma_gap(0, b + 1, a);                                 \
        l[1] = (double)(h + k);                                             \
        if (order < 2)                                                      \
            return;                                                         \
        l[2] = -(double)adx_polygamma_gap(1, a + 1, b);                     \
        l[3] = -(double)adx_polygamma_gap(1, b + 1, a);                     \
        l[4] = (double)adx_polygamma(1, (ad_real)(a + b + 1)); )            \
    PART( double, beta_bell, (int j, int k, double a, double b,             \
                              const double *l),                             \
        const double c = a + b, w = a / c * b;                              \
        const double wa = b / c * (b / c), wb = a / c * (a / c);            \
        const double way = j > 0 ? wa : wb, log = j > 0 ? l[0] : l[1];      \
        if (j == 1 && k == 1)                                               \
            return w * (l[0] * l[1] + l[4]) + wa * l[1] + wb * l[0]         \
                 + 2 * (a / c) * (b / c) / c;                               \
        return j + k == 0 ? w : j + k == 1 ? w * log + way                  \
             : w * (log * log + (j > 0 ? l[2] : l[3]))                      \
               + 2 * way * (log - 1 / c); )                                 \
    PART( double, beta_fall, (double u, double a, double b, double x,       \
                              double y, double slope, double *at),          \
        const double left = x * expm1(-u), right = y * expm1(u);            \
        at[1] = left > -0.5 ? -log1p(left) : -log(y + x * exp(-u));         \
        at[0] = right < 0.5 ? -log1p(right)                                 \
              : u < 700 ? -log(x + y * exp(u)) : at[1] - u;                 \
        if (x < y ? left < -0.25 : right > 0.25)                            \
            return -(a * at[0] + b * at[1]);                                \
        return (a + b) * (x < y ? adx_log1p_bend(left) + x * adx_bend(-u)   \
                              : adx_log1p_bend(right) + y * adx_bend(u))    \
             - slope * u; )                                                 \
    PART( double, beta_tail, (int j, int k, double a, double b,             \
                              long double wide_x, long double wide_y),      \
        const double x = (double)wide_x, y = (double)wide_y;                \
        const double slope = (double)adx_beta_slope_at(a, b, wide_x,   \
                                                       wide_y);      \
        double l[5] = { 0 }, at[2], m[5];                                   \
        double u = 0, sum = 0, fall = 0;                                    \
        int i, panel;                                                       \
        adx_beta_logs(j + k, a, b, wide_x, wide_y, l);                      \
        for (i = 2; i < 5; i++)                                             \
            m[i] = l[i];                                                    \
        for (panel = 0; panel < 500 && fall < 50; panel++) {                \
            const double t = x / (x + y * exp(u));                          \
            const double rest = y / (y + x * exp(-u));                      \
            const double bow = 4 / sqrt((a + b) * t * rest);                \
            const double bent = t < 0.5 ? bow : log1p(bow);                 \
            const double even = (8 + fall / 2) / fabs(a * rest - b * t);    \
            const double place = log(x) - log(y) - u;                       \
            const double clear = t < 1e-20 && (a + b) * t < 1e-20 ? HUGE_VAL \
                               : fmax(3, place > 0 ? place / 2 : -place);   \
            const double h = fmin(fmin(even, bent), clear) / 2;             \
            double inner = 0;                                               \
            for (i = 0; i < 16; i++) {                                      \
                const double s = u + h * (1 + adx_gauss_node(i));           \
                const double e = adx_beta_fall(s, a, b, x, y, slope, at);   \
                m[0] = l[0] + at[0];                                        \
                m[1] = l[1] + at[1];                                        \
                inner += adx_gauss_weight(i) * exp(-e)                      \
                       * adx_beta_bell(j, k, a, b, m);                      \
            }                                                               \
            sum += h * inner;                                               \
            u += 2 * h;                                                     \
            fall = adx_beta_fall(u, a, b, x, y, slope, at);                 \
        }                                                                   \
        wide_x = adx_beta_factor(a, b, wide_x, wide_y, 0);                  \
        return wide_x == 0 ? 0 : (double)(wide_x * (long double)sum); )                                 \
    PART( double, beta_part, (int j, int k, double a, double b, double z,   \
                              int *side),                                   \
        const double up = a + b < 1e-290 ? 1e200 : 1;                       \
        const long double x = (long double)z;                               \
        const long double y = 1 - x;                                        \
        const int first = j >= k;                                           \
        double l[5] = { 0 }, value;                                         \
        a *= up;                                                            \
        b *= up;                                                            \
        adx_beta_logs(0, a, b, x, y, l);                                    \
        *side = first != (first ? a * l[0] < -b / (a + b)                   \
                                : b * l[1] < -a / (a + b));                 \
        *side = a < 1e-290 || (*side && b >= 1e-290);                       \
        value = *side ? adx_beta_tail(k, j, b, a, y, x)                     \
                      : adx_beta_tail(j, k, a, b, x, y);                    \
        if (j + k == 0 && value > 0.75) {                                   \
            *side = !*side;                                                 \
            value = *side ? adx_beta_tail(0, 0, b, a, y, x)                 \
                          : adx_beta_tail(0, 0, a, b, x, y);                \
        }                                                                   \
        return value * (j + k > 0 ? up : 1) * (j + k > 1 ? up : 1); )       \
    PART( int, beta_known, (double a, double b, double x),                  \
        const double c = a + b;                                             \
        const int at_0 = a == 0 || (c - c != 0 && a - a == 0);              \
        const int at_1 = b == 0 || (c - c != 0 && b - b == 0);              \
        if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (at_0 && at_1)       \
            || (at_0 && x == 0) || (at_1 && x == 1)                         \
            || (a - a != 0 && b - b != 0))                                  \
            return -1;                                                      \
        return at_0 || x == 1 ? 1 : at_1 || x == 0 ? 0 : 2; )               \
    PART( double, beta_value, (double a, double b, double x, int upper),    \
        const int known = adx_beta_known(a, b, x);                          \
        double value;                                                       \
        int side;                                                           \
        if (known != 2)                                                     \
            return known < 0 ? (double)NAN : (double)(known != upper);      \
        value = adx_beta_part(0, 0, a, b, x, &side);                        \
        return side == upper ? value : 1 - value; )                         \
    ROW( beta_p, (ad_real x, ad_real y, ad_real z),                         \
        return (ad_real)adx_beta_value((double)x, (double)y, (double)z, 0); ) \
    ROW( beta_q, (ad_real x, ad_real y, ad_real z),                         \
        return (ad_real)adx_beta_value((double)x, (double)y, (double)z, 1); ) \
    ROW( beta_slope, (int j, int k, ad_real x, ad_real y, ad_real z),       \
        const double a = (double)x, b = (double)y;                          \
        double value;                                                       \
        int side;                                                           \
        if (adx_beta_known(a, b, (double)z) < 0)                            \
            return (ad_real)NAN;                                            \
        if (z == 0 || z == 1 || a + b - (a + b) != 0)                       \
            return 0;                                                       \
        value = adx_beta_part(j, k, a, b, (double)z, &side);                \
        return (ad_real)(side ? -value : value); )                          \
    ROW( beta_density, (int j, int k, ad_real x, ad_real y, ad_real z),     \
        const double a = (double)x, b = (double)y;                          \
        const long double share = (long double)z;                           \
        const long double other = 1 - share;                                \
        double l[5] = { 0 }, value;                                         \
        long double factor;                                                 \
        if (adx_beta_known(a, b, (double)z) < 0)                            \
            return (ad_real)NAN;                                            \
        if (z == 1)                                                         \
            return adx_beta_density(k, j, y, x, 0);                         \
        if (a + b - (a + b) != 0 || (z == 0 && (a > 1 || b == 0)))          \
            return 0;                                                       \
        if (z == 0)                                                         \
            return j > 0 ? -(ad_real)HUGE_VAL : a < 1 ? (ad_real)HUGE_VAL   \
                 : k > 0 ? 1 : y;                                           \
        adx_beta_logs(j + k, a, b, share, other, l);                        \
        value = adx_beta_bell(j, k, a, b, l);                               \
        factor = adx_beta_factor(a, b, share, other, 1);                    \
        return factor == 0 ? 0 : (ad_real)(factor * (long double)value); )
// clang-format on

#define ADX_DEFINE(name, parameters, ...)                                   \
    ADX_NOINLINE ADX_API ad_real adx_##name parameters { __VA_ARGS__ }
#define ADX_DEFINE_PART(type, name, parameters, ...)                        \
    static type adx_##name parameters { __VA_ARGS__ }
ADX_SELDOM_BEGIN
ADX_INCOMPLETE_BETA(ADX_DEFINE, ADX_DEFINE_PART)
ADX_SELDOM_END
#undef ADX_DEFINE
#undef ADX_DEFINE_PART
