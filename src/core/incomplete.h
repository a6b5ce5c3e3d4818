#pragma once

/* === core/incomplete ========================================================
 * The incomplete gamma functions, and their derivatives with respect to the
 * shape a, as text and as functions (see core/special; a PART has its type
 * first). They are compiled here only.
 *
 *     P(a, x) is the integral of f(t) from 0 to x, Q(a, x) = 1 - P(a, x)
 *     f(t) = t^(a-1) exp(-t) / Gamma(a)
 *
 * With D = x^a exp(-x) / Gamma(a+1), L = log x - digamma(a+1), t = x exp(u)
 *
 *     f(t) dt = a D exp(a u - x (exp(u) - 1)) du
 *
 * and each derivative with respect to a multiplies it by a polynomial in L + u:
 * Bell's, of the cumulants L + u, -digamma'(a+1), -digamma''(a+1) and so on.
 * The first one has one sign on either side of t = exp(digamma(a)), so it is
 * integrated from x away from there, and nothing cancels. Sixteen points of
 * Gauss and Legendre see all of a panel that is short where the integrand is
 * steep or bent.
 *
 * The value is that integral, too, where a is large and x near it; elsewhere it
 * is the series or the continued fraction (A. Gil, J. Segura, N. Temme:
 * Efficient and accurate algorithms for the computation and inversion of the
 * incomplete gamma function ratios, 2012). D takes a long double, as its
 * exponent may be -700: where that has 53 bits, tails lose as many ulps.
 *
 * log1p_less    log(1 + x) - x for |x| <= 1/2
 * bend          exp(u) - 1 - u
 * stirling      log Gamma(x+1) less Stirling's formula, for x >= 20
 * gamma_factor  D / x^p. An a below 20 is raised to at least 20
 * gamma_slope   L
 * gamma_bell    a B(k) + k B(k-1): the polynomial of order k, times a. `part`
 *               has the polygammas
 * gauss_node    the places in [-1, 1] of the rule of Gauss and Legendre with
 *               sixteen points, and gauss_weight their weights
 * gamma_tail    the integral, to the right of x or (side -1) to the left of it,
 *               of the derivative of order k, over D
 * gamma_value   P, or Q
 * shape_slope   the derivative of P of order x with respect to its shape y, at
 *               z. From the order 9 on NaN
 * shape_density the same of f. The limits at z = 0 serve also a shape that is
 *               smaller by 1, as the partial of f needs it
 *
 * No long double waits for a call while an expression is computed: tcc would
 * leave it on the stack of the floating unit, where the callee has no room. For
 * the same reason no argument is cast to long double where it is passed.
 *
 *   needs   core/config core/types core/operations
 *   offers  ADX_INCOMPLETE
 * ========================================================================== */

// clang-format off
#define ADX_INCOMPLETE(ROW, PART)                                           \
    PART( long double, log1p_less, (long double x),                         \
        const long double r = x / (2 + x);                                  \
        const long double s = r * r;                                        \
        long double sum = 0, power = 1, before = -1;                        \
        int j;                                                              \
        for (j = 3; sum != before; j += 2) {                                \
            before = sum;                                                   \
            sum += power / j;                                               \
            power *= s;                                                     \
        }                                                                   \
        return r * (2 * s * sum - x); )                                     \
    PART( double, bend, (double u),                                         \
        double s = 1;                                                       \
        int j;                                                              \
        if (!(fabs(u) < 0.5))                                               \
            return expm1(u) - u;                                            \
        for (j = 15; j >= 3; j--)                                           \
            s = 1 + s * u / j;                                              \
        return u * u / 2 * s; )                                             \
    PART( double, stirling, (double x),                                     \
        const double r = 1 / (x * x);                                       \
        return (1 / 12. - r * (1 / 360. - r * (1 / 1260. - r * (1 / 1680.   \
             - r * (1 / 1188. - r * (691 / 360360.)))))) / x; )             \
    PART( long double, gamma_factor, (long double a, long double x, int p), \
        const long double turn = 6.28318530717958647692528676655900577L;    \
        const long double place = logl(x);                                  \
        long double rising = 1, far = a, h, root;                           \
        for (; far < 20; far += 1)                                          \
            rising *= far + 1;                                              \
        h = logl(far);                                                      \
        if (far != a)                                                       \
            h = (far - p) * place - (far - a) * place - x - far * h + far;  \
        else if (x > far / 2 && x < far + far / 2) {                        \
            h = adx_log1p_less((x - far) / far);                            \
            h = far * h - p * place;                                        \
        } else {                                                            \
            h = logl(x / far);                                              \
            h = far * h - (x - far) - p * place;                            \
        }                                                                   \
        root = (long double)adx_stirling((double)far);                      \
        h = expl(h - root);                                                 \
        root = sqrtl(turn * far);                                           \
        return rising * h / root; )                                         \
    PART( double, gamma_slope, (long double a, long double x),              \
        static const double bernoulli[8] = {                                \
            1 / 12., -1 / 120., 1 / 252., -1 / 240., 1 / 132., -691 / 32760., \
            1 / 12., -3617 / 8160.                                          \
        };                                                                  \
        long double z = 1 + a, rest = 0, sum = 0, r;                        \
        int i;                                                              \
        for (; z < 20; z += 1)                                              \
            rest += 1 / z;                                                  \
        r = 1 / z / z;                                                      \
        for (i = 7; i >= 0; i--)                                            \
            sum = (sum + (long double)bernoulli[i]) * r;                    \
        rest += 1 / (2 * z) + sum;                                          \
        if (x > z / 2 && x < 2 * z)                                         \
            return (double)(log1pl((x - z) / z) + rest);                    \
        r = logl(x);                                                        \
        z = logl(z);                                                        \
        return (double)(r - z + rest); )                                    \
    PART( double, gamma_bell, (int k, double a, double l, const double *part), \
        double b[9] = { 1 };                                                \
        int i, n;                                                           \
        for (n = 0; n < k; n++) {                                           \
            double choose = 1;                                              \
            b[n + 1] = l * b[n];                                            \
            for (i = 1; i <= n; i++) {                                      \
                choose = choose * (n - i + 1) / i;                          \
                b[n + 1] -= choose * part[i] * b[n - i];                    \
            }                                                               \
        }                                                                   \
        return k == 0 ? a : a * b[k] + k * b[k - 1]; )                      \
    PART( double, gauss_node, (int i),                                      \
        static const double node[8] = {                                     \
            0.9894009349916499326, 0.9445750230732325760,                   \
            0.8656312023878317438, 0.7554044083550030339,                   \
            0.6178762444026437484, 0.4580167776572273863,                   \
            0.2816035507792589132, 0.0950125098376374401                    \
        };                                                                  \
        return i < 8 ? -node[i] : node[i - 8]; )                            \
    PART( double, gauss_weight, (int i),                                    \
        static const double weight[8] = {                                   \
            0.0271524594117540948, 0.0622535239386478928,                   \
            0.0951585116824927848, 0.1246289712555338720,                   \
            0.1495959888165767320, 0.1691565193950025381,                   \
            0.1826034150449235888, 0.1894506104550684962                    \
        };                                                                  \
        return weight[i % 8]; )                                             \
    PART( double, gamma_tail, (int k, double a, double x, double l, int side), \
        double part[9] = { 0 };                                             \
        double u = 0, sum = 0, fall = 0;                                    \
        int i, panel;                                                       \
        for (i = 1; i < k; i++)                                             \
            part[i] = (double)adx_polygamma((ad_real)i, (ad_real)(a + 1));  \
        for (panel = 0; panel < 500 && fall < 50; panel++) {                \
            const double steep = x * exp(side * u);                         \
            const double even = (8 + fall / 2) / fabs(a - steep);           \
            const double bent = log1p(4 / sqrt(steep));                     \
            const double h = (even < bent ? even : bent) / 2;               \
            double inner = 0;                                               \
            for (i = 0; i < 16; i++) {                                      \
                const double s = u + h * (1 + adx_gauss_node(i));           \
                const double e = side * (a - x) * s - x * adx_bend(side * s); \
                inner += adx_gauss_weight(i) * exp(e)                       \
                       * adx_gamma_bell(k, a, l + side * s, part);          \
            }                                                               \
            sum += h * inner;                                               \
            u += 2 * h;                                                     \
            fall = x * adx_bend(side * u) - side * (a - x) * u;             \
        }                                                                   \
        return sum; )                                                       \
    PART( long double, gamma_series, (long double a, long double x),        \
        long double sum = 0, term = 1;                                      \
        int i;                                                              \
        for (i = 1; term > sum / 1e19L; i++) {                              \
            sum += term;                                                    \
            term *= x / (a + i);                                            \
        }                                                                   \
        return sum; )                                                       \
    PART( long double, gamma_fraction, (long double a, long double x),      \
        long double b = x + 1 - a;                                          \
        long double d = 1 / b;                                              \
        long double product = d, c = b, factor = 0, q;                      \
        int i;                                                              \
        for (i = 1; i < 500 && fabsl(factor - 1) > 1e-18L; i++) {           \
            q = i * (a - i);                                                \
            b += 2;                                                         \
            c = i == 1 ? b : b + q / c;                                     \
            d = 1 / (q * d + b);                                            \
            factor = c * d;                                                 \
            product *= factor;                                              \
        }                                                                   \
        return product; )                                                   \
    PART( double, gamma_value, (double a, double x, int upper),             \
        long double p = (long double)a, q = (long double)x, value;          \
        double l;                                                           \
        int right;                                                          \
        if (!(a >= 0 && x >= 0) || (a == x && (a == 0 || a - a != 0)))      \
            return (double)NAN;                                             \
        if (a == 0 || x == 0 || a - a != 0 || x - x != 0)                   \
            return (a == 0 || x - x != 0) != upper;                         \
        l = adx_gamma_slope(p, q);                                          \
        right = a * l >= -1;                                                \
        if (!right && (a < 60 || x < a * 0.7))                              \
            value = adx_gamma_series(p, q);                                 \
        else if (right && x > 4 && (x > a * 1.4 || (a < 60 && x > a + 3)))  \
            value = adx_gamma_fraction(p, q) * p;                           \
        else                                                                \
            value = (long double)adx_gamma_tail(0, a, x, l, right ? 1 : -1); \
        p = adx_gamma_factor(p, q, 0);                                      \
        value *= p;                                                         \
        return (double)(right == upper ? value : 1 - value); )              \
    ROW( gamma_p, (ad_real x, ad_real y),                                   \
        return (ad_real)adx_gamma_value((double)x, (double)y, 0); )         \
    ROW( gamma_q, (ad_real x, ad_real y),                                   \
        return (ad_real)adx_gamma_value((double)x, (double)y, 1); )         \
    ROW( shape_slope, (ad_real x, ad_real y, ad_real z),                    \
        const double k = (double)x, a = (double)y, p = (double)z;           \
        const long double wide_a = (long double)a, wide_p = (long double)p; \
        double l, value;                                                    \
        int right;                                                          \
        if (!(k >= 1 && k <= 8 && k == floor(k) && a >= 0 && p >= 0)        \
            || (a == p && (a == 0 || a - a != 0)))                          \
            return (ad_real)NAN;                                            \
        if (p == 0 || p - p != 0 || a - a != 0)                             \
            return 0;                                                       \
        l = adx_gamma_slope(wide_a, wide_p);                                \
        right = a * l >= -1;                                                \
        value = adx_gamma_tail((int)k, a, p, l, right ? 1 : -1);            \
        l = (double)adx_gamma_factor(wide_a, wide_p, 0);                    \
        value *= l;                                                         \
        return (ad_real)(right ? -value : value); )                         \
    ROW( shape_density, (ad_real x, ad_real y, ad_real z),                  \
        const double k = (double)x, a = (double)y, p = (double)z;           \
        const long double wide_a = (long double)a, wide_p = (long double)p; \
        const double odd = fmod(k, 2) == 0 ? 1 : -1;                        \
        double part[9] = { 0 }, l;                                          \
        long double factor;                                                 \
        int i;                                                              \
        if (!(k >= 0 && k <= 8 && k == floor(k) && p >= 0)                  \
            || !(p == 0 ? a > -1 : a >= 0)                                  \
            || (a == p && (a == 0 || a - a != 0)))                          \
            return (ad_real)NAN;                                            \
        if (p - p != 0 || a - a != 0 || (p == 0 && a > 1))                  \
            return 0;                                                       \
        if (p == 0)                                                         \
            return k == 0 && a == 1 ? 1                                     \
                 : (ad_real)(a > 0 ? odd * HUGE_VAL : -odd * HUGE_VAL);     \
        for (i = 1; i < k; i++)                                             \
            part[i] = (double)adx_polygamma((ad_real)i, (ad_real)(a + 1));  \
        l = adx_gamma_slope(wide_a, wide_p);                                \
        l = adx_gamma_bell((int)k, a, l, part);                             \
        factor = adx_gamma_factor(wide_a, wide_p, 1);                       \
        return (ad_real)((long double)l * factor); )

// clang-format on

#define ADX_DEFINE(name, parameters, ...)                                   \
    ADX_NOINLINE ADX_API ad_real adx_##name parameters { __VA_ARGS__ }
#define ADX_DEFINE_PART(type, name, parameters, ...)                        \
    static type adx_##name parameters { __VA_ARGS__ }
ADX_SELDOM_BEGIN
ADX_INCOMPLETE(ADX_DEFINE, ADX_DEFINE_PART)
ADX_SELDOM_END
#undef ADX_DEFINE
#undef ADX_DEFINE_PART
