// SPDX-License-Identifier: MIT-0
/* boost.cpp - templates of Boost.Math and odeint whose numbers are those of
 * adrev: values as with double; gradients, reverse and forward, against one
 * another and against differences. Rates of change are expressions that the
 * state takes. Built by boost.sh.              */

#include "adrev.h"

#include <boost/math/interpolators/barycentric_rational.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/quadrature/tanh_sinh.hpp>
#include <boost/math/quadrature/trapezoidal.hpp>
#include <boost/math/special_functions/chebyshev.hpp>
#include <boost/math/special_functions/sinc.hpp>
#include <boost/math/tools/polynomial.hpp>
#include <boost/math/tools/roots.hpp>
#include <boost/numeric/odeint.hpp>

#include <array>
#include <cstddef>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "check_cpp.h"

namespace quadrature = boost::math::quadrature;
namespace tools = boost::math::tools;
namespace odeint = boost::numeric::odeint;

static const std::size_t N = 4;

template <class T> using point = std::array<T, N>;
template <class T> using state = std::vector<T>;

/* --- integrals -------------------------------------------------------------
 * Of exp(-x0 t) sin(x1 t + x2) from 0 to x3.                                 */

#define DEFINE(name, ...)                                                   \
    struct name {                                                           \
        template <class T> T operator()(const point<T> &x) const            \
        {                                                                   \
            using std::exp;                                                 \
            using std::sin;                                                 \
            auto f = [&](T t) -> T {                                        \
                return exp(-x[0] * t) * sin(x[1] * t + x[2]);               \
            };                                                              \
            __VA_ARGS__                                                     \
        }                                                                   \
    };
DEFINE(trapezoidal,
    return quadrature::trapezoidal(f, T(0), T(x[3]), T(1e-10)); )
DEFINE(gauss,
    return quadrature::gauss<T, 15>::integrate(f, T(0), T(x[3])); )
DEFINE(gauss_kronrod,
    return quadrature::gauss_kronrod<T, 15>::integrate(f, T(0), T(x[3]), 5,
                                                       T(1e-10)); )
DEFINE(tanh_sinh,
    quadrature::tanh_sinh<T> rule;
    return rule.integrate(f, T(0), T(x[3])); )
#undef DEFINE

/* --- roots ------------------------------------------------------------------
 * Of y^3 + x0 y - x1. Bisection and its like find the value only: what they do
 * with the numbers ends at the midpoint of an interval, whose ends are not
 * functions of x. One step of Newton's method gives the root its derivative. */

template <class T> static T cubic(const point<T> &x, T y)
{
    return y * y * y + x[0] * y - x[1];
}

template <class T> static T newton_step(const point<T> &x, T y)
{
    const T at = ad_value(y);
    return at - cubic(x, at) / (3 * at * at + x[0]);
}

struct newton {
    template <class T> T operator()(const point<T> &x) const
    {
        auto f = [&](T y) {
            return std::make_pair(cubic(x, y), T(3 * y * y + x[0]));
        };
        return tools::newton_raphson_iterate(f, T(1), T(0), T(5), 50);
    }
};

struct halley {
    template <class T> T operator()(const point<T> &x) const
    {
        auto f = [&](T y) {
            return std::make_tuple(cubic(x, y), T(3 * y * y + x[0]), T(6 * y));
        };
        return tools::halley_iterate(f, T(1), T(0), T(5), 50);
    }
};

struct schroder {
    template <class T> T operator()(const point<T> &x) const
    {
        auto f = [&](T y) {
            return std::make_tuple(cubic(x, y), T(3 * y * y + x[0]), T(6 * y));
        };
        return tools::schroder_iterate(f, T(1), T(0), T(5), 50);
    }
};

struct bisect {
    template <class T> T operator()(const point<T> &x) const
    {
        auto f = [&](T y) { return cubic(x, y); };
        auto near = [](T a, T b) { return b - a < 1e-9; };
        std::pair<T, T> ends = tools::bisect(f, T(0), T(5), near);
        return newton_step(x, T((ends.first + ends.second) / 2));
    }
};

struct toms748 {
    template <class T> T operator()(const point<T> &x) const
    {
        auto f = [&](T y) { return cubic(x, y); };
        auto near = [](T a, T b) { return b - a < 1e-9; };
        std::uintmax_t most = 100;
        std::pair<T, T> ends = tools::toms748_solve(f, T(0), T(5), near, most);
        return newton_step(x, T((ends.first + ends.second) / 2));
    }
};

/* --- differential equations ------------------------------------------------ */

template <class T> struct oscillator {
    point<T> x;
    void operator()(const state<T> &y, state<T> &dy, T) const
    {
        dy[0] = y[1];
        dy[1] = -x[2] * y[0] - x[3] * y[1] * y[1];
    }
};

#define DEFINE(name, ...)                                                   \
    struct name {                                                           \
        template <class T> T operator()(const point<T> &x) const            \
        {                                                                   \
            const oscillator<T> rate = { x };                               \
            state<T> s = { x[0], x[1] };                                    \
            __VA_ARGS__                                                     \
            return s[0] * s[1];                                             \
        }                                                                   \
    };
#define DEFINE_FIXED(name, stepper)                                         \
    DEFINE(name, odeint::stepper<state<T>, T, state<T>, T> step;            \
           odeint::integrate_n_steps(step, rate, s, T(0), T(0.01), 20); )
DEFINE_FIXED(euler, euler)
DEFINE_FIXED(midpoint, modified_midpoint)
DEFINE_FIXED(runge_kutta4, runge_kutta4)
DEFINE_FIXED(cash_karp, runge_kutta_cash_karp54)
DEFINE_FIXED(fehlberg, runge_kutta_fehlberg78)
DEFINE(adams,
    odeint::adams_bashforth_moulton<4, state<T>, T, state<T>, T> step;
    odeint::integrate_n_steps(step, rate, s, T(0), T(0.01), 20); )
DEFINE(controlled,
    typedef odeint::runge_kutta_dopri5<state<T>, T, state<T>, T> stepper;
    odeint::integrate_adaptive(odeint::make_controlled<stepper>(T(1e-9),
                                                                T(1e-9)),
                               rate, s, T(0), T(0.7), T(0.01)); )
DEFINE(dense,
    typedef odeint::runge_kutta_dopri5<state<T>, T, state<T>, T> stepper;
    odeint::integrate_const(odeint::make_dense_output<stepper>(T(1e-9),
                                                               T(1e-9)),
                            rate, s, T(0), T(0.7), T(0.1)); )
DEFINE(bulirsch_stoer,
    odeint::bulirsch_stoer<state<T>, T, state<T>, T> step(T(1e-9), T(1e-9));
    odeint::integrate_adaptive(step, rate, s, T(0), T(0.7), T(0.01)); )
#undef DEFINE_FIXED
#undef DEFINE

/* --- functions ------------------------------------------------------------- */

struct polynomials {
    template <class T> T operator()(const point<T> &x) const
    {
        tools::polynomial<T> p(x.data(), 3u);
        return (p * p)(T(x[3])) + tools::evaluate_polynomial(&x[0], x[3], 4);
    }
};

struct chebyshev {
    template <class T> T operator()(const point<T> &x) const
    {
        return boost::math::chebyshev_clenshaw_recurrence(x.data(), 4,
                                                          T(x[0] / 3))
             + boost::math::chebyshev_next(x[1], x[2], x[3]);
    }
};

struct sinc {
    template <class T> T operator()(const point<T> &x) const
    {
        return boost::math::sinc_pi(x[0]) * x[1];
    }
};

struct barycentric {
    template <class T> T operator()(const point<T> &x) const
    {
        std::vector<T> at = { T(0), T(0.7), T(1.5), T(2.2) };
        std::vector<T> y(x.begin(), x.end());
        boost::math::barycentric_rational<T> b(at.data(), y.data(), 4, 2);
        return b(T(x[0] / 2));
    }
};

/* --- checks ---------------------------------------------------------------- */

static const point<double> at = { { 1.3, 1.7, 0.4, 0.9 } };

template <class F> static double slope(F f, std::size_t i)
{
    const double h = 1e-5;
    point<double> up = at, down = at;
    up[i] += h;
    down[i] -= h;
    return (f(up) - f(down)) / (2 * h);
}

template <class F> static void differentiate(const char *name, F f)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    point<ad_rev> x;
    ad_inputs(N, at.data(), x.data());
    const ad_rev y = f(x);
    const double plain = f(at);
    double g[N];
    bool right = ad_gradient(t, y, N, x.data(), g) == ADREV_OK
              && std::fabs(y.v - plain) <= 1e-12;
    for (std::size_t i = 0; i < N; i++) {
        point<ad_fwd> d;
        for (std::size_t j = 0; j < N; j++)
            d[j] = ad_fwd{ at[j], double(i == j) };
        const ad_fwd forward = f(d);
        const double difference = slope(f, i);
        right = right && std::fabs(forward.v - plain) <= 1e-12
             && std::fabs(forward.d - g[i]) <= 1e-11
             && std::fabs(difference - g[i]) <= 1e-6;
        if (!right)
            std::printf("  d/dx%d: %.12g, forward %.12g, difference %.12g\n", int(i),
                        g[i], forward.d, difference);
    }
    ad_tape_free(t);
    check(right, name, __FILE__, __LINE__);
}

#define DIFFERENTIATE(f) differentiate(#f, f())

int main()
{
    DIFFERENTIATE(trapezoidal);
    DIFFERENTIATE(gauss);
    DIFFERENTIATE(gauss_kronrod);
    DIFFERENTIATE(tanh_sinh);
    DIFFERENTIATE(newton);
    DIFFERENTIATE(halley);
    DIFFERENTIATE(schroder);
    DIFFERENTIATE(bisect);
    DIFFERENTIATE(toms748);
    DIFFERENTIATE(euler);
    DIFFERENTIATE(midpoint);
    DIFFERENTIATE(runge_kutta4);
    DIFFERENTIATE(cash_karp);
    DIFFERENTIATE(fehlberg);
    DIFFERENTIATE(adams);
    DIFFERENTIATE(controlled);
    DIFFERENTIATE(dense);
    DIFFERENTIATE(bulirsch_stoer);
    DIFFERENTIATE(polynomials);
    DIFFERENTIATE(chebyshev);
    DIFFERENTIATE(sinc);
    DIFFERENTIATE(barycentric);
    return check_done("boost");
}
