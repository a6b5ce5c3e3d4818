// SPDX-License-Identifier: MIT-0
/* operators.cpp - operators and functions of C++ on numbers: each must record
 * what the macro of C records, byte for byte, and call the same hooks. Built by
 * operators.sh, once as C++11 and once as C++20; the other unit is border.c. */

#include "adrev.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "check_cpp.h"

static bool near(ad_real got, double want)
{
    double off = sizeof(ad_real) == 4 ? 1e-5 : 1e-13;
    return std::fabs(double(got) - want) <= off * (1 + std::fabs(want));
}

static bool same(ad_real a, ad_real b)
{
    return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

/* --- types ---------------------------------------------------------------- */

// What C knows of a number still holds.
static_assert(std::is_trivial<ad_rev>::value, "plain data");
static_assert(std::is_standard_layout<ad_rev>::value, "of C's layout");
static_assert(sizeof(ad_rev) == sizeof(ad_real) + 8, "nothing more");
static_assert(std::is_trivial<ad_fwd>::value, "plain data");
static_assert(std::is_standard_layout<ad_fwd>::value, "of C's layout");
static_assert(sizeof(ad_fwd) == 2 * sizeof(ad_real), "nothing more");
union in_a_union { ad_rev r; ad_fwd f; };

// A derivative is never lost unless the program says so, and is never made of
// nothing.
static_assert(!std::is_constructible<double, ad_rev>::value, "");
static_assert(!std::is_constructible<float, ad_fwd>::value, "");
static_assert(!std::is_convertible<ad_rev, int>::value, "");
static_assert(!std::is_convertible<ad_rev, bool>::value, "");
static_assert(std::is_constructible<int, ad_rev>::value, "");
static_assert(!std::is_constructible<ad_rev, ad_fwd>::value, "");
static_assert(!std::is_constructible<ad_fwd, ad_rev>::value, "");
static_assert(!std::is_constructible<ad_rev, const char *>::value, "");
static_assert(!std::is_constructible<ad_rev, std::string>::value, "");
static_assert(std::is_convertible<long double, ad_rev>::value, "");
static_assert(std::is_convertible<bool, ad_fwd>::value, "");

enum { THREE = 3 };
enum class strict { NO_NUMBER };
static_assert(std::is_convertible<decltype(THREE), ad_rev>::value, "");
static_assert(!std::is_constructible<ad_rev, strict>::value, "");

// An operator that does not exist is no error but no candidate.
template <class X, class Y, class = void>
struct multiplies { static const bool yes = false; };
template <class X, class Y>
struct multiplies<X, Y, decltype(void(std::declval<X>() * std::declval<Y>()))>
{
    static const bool yes = true;
};
static_assert(multiplies<ad_rev, double>::yes, "");
static_assert(multiplies<decltype(THREE), ad_fwd>::yes, "");
static_assert(!multiplies<ad_rev, strict>::yes, "");
static_assert(!multiplies<ad_rev, std::string>::yes, "");
static_assert(!multiplies<ad_rev, double *>::yes, "");

// Functions of the user's own are not in the way, nor we in theirs.
template <class T> T sqr(T x) { return x * x; }
template <class T> T sign(T x) { return x < 0 ? T(-1) : T(1); }
template <class T> T clamp(T x, T low, T high)
{
    return x < low ? low : high < x ? high : x;
}

/* --- a recording ---------------------------------------------------------- */

static ad_tape *tape;

struct recording {
    ad_stats size = {};
    ad_real v = 0;
    ad_real g[4] = { 0, 0, 0, 0 };
    ad_status status = ADREV_OK;
};

static void begin(ad_rev x[4], const double at[4])
{
    ad_tape_clear(tape);
    for (int i = 0; i < 4; i++)
        x[i] = ad_input(ad_real(at[i]));
    x[3] = ad_rec(ad_mul(x[3], 1));     // a statement, not an input
}

static recording end(ad_rev y, const ad_rev x[4])
{
    recording r;
    r.v = ad_value(y);
    r.size = ad_tape_stats(tape);
    r.status = y.job == 0 ? ADREV_OK : ad_gradient(tape, y, 4, x, r.g);
    return r;
}

static bool same(const recording &a, const recording &b)
{
    return a.status == ADREV_OK && b.status == ADREV_OK && same(a.v, b.v)
        && a.size.statements == b.size.statements
        && a.size.operands == b.size.operands && a.size.bytes == b.size.bytes
        && same(a.g[0], b.g[0]) && same(a.g[1], b.g[1]) && same(a.g[2], b.g[2])
        && same(a.g[3], b.g[3]);
}

typedef ad_rev rev_fn(ad_rev x, ad_rev y, ad_rev z, ad_rev w);
typedef ad_fwd fwd_fn(ad_fwd x, ad_fwd y, ad_fwd z, ad_fwd w);

// Records what C++ says and what C says: the same tape. w is a statement's
// result.
static void compare_rev(const char *what, const double at[4], rev_fn *cpp,
                        rev_fn *c, int line)
{
    ad_rev x[4];
    begin(x, at);
    recording one = end(cpp(x[0], x[1], x[2], x[3]), x);
    begin(x, at);
    recording other = end(c(x[0], x[1], x[2], x[3]), x);
    bool right = same(one, other);
    check(right, what, __FILE__, line);
    if (!right)
        std::printf("  %.17g, want %.17g; %zu operands, want %zu\n",
                    double(one.v), double(other.v), one.size.operands,
                    other.size.operands);
}

// The same forward numbers.
static void compare_fwd(const char *what, const double at[4], fwd_fn *cpp,
                        fwd_fn *c, int line)
{
    ad_fwd x[4];
    for (int i = 0; i < 4; i++)
        x[i] = ad_fwd(ad_real(at[i]), ad_real(0.5 + i));
    ad_fwd one = cpp(x[0], x[1], x[2], x[3]);
    ad_fwd other = c(x[0], x[1], x[2], x[3]);
    check(same(one.v, other.v) && same(one.d, other.d), what, __FILE__,
          line);
}

#define FUNCTION(type, e)                                                   \
    [](type x, type y, type z, type w) -> type {                            \
        (void)x; (void)y; (void)z; (void)w;                                 \
        return e;                                                           \
    }
#define SAME_REV(at, cpp, c)                                                \
    compare_rev(#cpp, at, FUNCTION(ad_rev, cpp), FUNCTION(ad_rev, ad_rec(c)), \
                __LINE__)
#define SAME(at, cpp, c)                                                    \
    SAME_REV(at, cpp, c);                                                   \
    compare_fwd("forward: " #cpp, at, FUNCTION(ad_fwd, cpp),                \
                FUNCTION(ad_fwd, ad_dual(c)), __LINE__)

/* --- every row of the table ----------------------------------------------- */

// Which name the row has in C++; ~ for those that it does not have.
#define CPP_1(name, x, y, z) name(x)
#define CPP_2(name, x, y, z) name(x, y)
#define CPP_3(name, x, y, z) name(x, y, z)
#define CPP_add(name, x, y, z)  ((x) + (y))
#define CPP_sub(name, x, y, z)  ((x) - (y))
#define CPP_mul(name, x, y, z)  ((x) * (y))
#define CPP_div(name, x, y, z)  ((x) / (y))
#define CPP_neg(name, x, y, z)  (-(x))
#define CPP_own(name, x, y, z)  C_ROW(name, x, y, z)
#define CPP_ldexp(name, x, y, z) ldexp(x, 3)
#define HOW_add ~, CPP_add
#define HOW_sub ~, CPP_sub
#define HOW_mul ~, CPP_mul
#define HOW_div ~, CPP_div
#define HOW_neg ~, CPP_neg
#define HOW_ldexp ~, CPP_ldexp
// These have no operator; the macro mixes with operators all the same.
#define HOW_sqr ~, CPP_own
#define HOW_clamp ~, CPP_own
#define HOW_select ~, CPP_own
#define HOW_powi ~, CPP_own
#define HOW_relu ~, CPP_own
#define HOW_sigmoid ~, CPP_own
#define HOW_softplus ~, CPP_own
#define HOW_sign ~, CPP_own
#define HOW_frac ~, CPP_own
#define HOW_exp10 ~, CPP_own
#define HOW_log_add_exp ~, CPP_own
#define HOW_digamma ~, CPP_own
#define HOW_polygamma ~, CPP_own
#define HOW_jn ~, CPP_own
#define HOW_gamma_p ~, CPP_own
#define HOW_gamma_q ~, CPP_own
#define HOW_beta_p ~, CPP_own
#define HOW_beta_q ~, CPP_own
#define HOW_yn ~, CPP_own
#define SECOND_(first, second, ...) second
#define SECOND(...) SECOND_(__VA_ARGS__)
#define CPP_ROW(name, n, x, y, z)                                           \
    SECOND(HOW_##name, CPP_##n, ~)(name, x, y, z)

#define C_1(name, x, y, z) ad_##name(x)
#define C_2(name, x, y, z) ad_##name(x, y)
#define C_3(name, x, y, z) ad_##name(x, y, z)
#define C_integer(name, x, y, z) ad_##name(x, 3)
#define C_select(name, x, y, z) ad_select(ad_gt(x, 0), y, z)
#define C_order(name, x, y, z) ad_##name(2, y)
#define IN_C_polygamma ~, C_order
#define IN_C_jn ~, C_order
#define IN_C_yn ~, C_order
#define IN_C_powi ~, C_integer
#define IN_C_ldexp ~, C_integer
#define IN_C_select ~, C_select
#define ARITY_clamp ~, C_3
#define ARITY_beta_p ~, C_3
#define ARITY_beta_q ~, C_3
#define ARITY_sqr ~, C_1
#define ARITY_relu ~, C_1
#define ARITY_sigmoid ~, C_1
#define ARITY_softplus ~, C_1
#define ARITY_sign ~, C_1
#define ARITY_frac ~, C_1
#define ARITY_exp10 ~, C_1
#define ARITY_digamma ~, C_1
#define C_ROW(name, x, y, z)                                                \
    SECOND(IN_C_##name, SECOND(ARITY_##name, C_2, ~), ~)(name, x, y, z)
#define C_OF(name, n, x, y, z)                                              \
    SECOND(IN_C_##name, C_##n, ~)(name, x, y, z)

// A function for each row: one of all rows would take long to compile.
#define DEFINE(name, n, f, fx, fy, fz, x0, x1, y0, y1, z0, z1, ...)         \
    static void test_##name()                                               \
    {                                                                       \
        static const double at[4] = {                                       \
            double(x0) * 0.4 + double(x1) * 0.6,                            \
            double(y0) * 0.3 + double(y1) * 0.7,                            \
            double(z0) * 0.2 + double(z1) * 0.8, 1.25                       \
        };                                                                  \
        SAME(at, CPP_ROW(name, n, x, y, z), C_OF(name, n, x, y, z));        \
        SAME_REV(at, w * CPP_ROW(name, n, x * 1, y, z) - x,                 \
                 ad_sub(ad_mul(w, C_OF(name, n, ad_mul(x, 1), y, z)), x));  \
        TWO_##n(name, at)                                                   \
    }
#define TWO_1(name, at)
#define TWO_2(name, at)                                                     \
    SAME_REV(at, CPP_ROW(name, 2, ad_value(x), y, z),                       \
             C_OF(name, 2, ad_value(x), y, z));                             \
    SAME_REV(at, CPP_ROW(name, 2, x, 2, z), C_OF(name, 2, x, 2, z));
#define TWO_3(name, at)                                                     \
    SAME(at, CPP_ROW(name, 3, x, 2.5f, z), C_OF(name, 3, x, 2.5f, z));
#define DEFINE_STEP(name, f, x0, x1, ...)                                   \
    static void test_##name()                                               \
    {                                                                       \
        static const double at[4] = { 0.3 * x0 + 0.7 * x1, 2, 3, 1.25 };    \
        SAME(at, w * CPP_ROW(name, 1, x * y, y, z),                         \
             ad_mul(w, C_OF(name, 1, ad_mul(x, y), y, z)));                 \
    }
#ifndef FEW                     // long to compile: once for each compiler
ADREV_OPS(DEFINE)
ADREV_STEPS(DEFINE_STEP)

static void test_rows()
{
#define RUN(name, ...) test_##name();
    ADREV_OPS(RUN)
    ADREV_STEPS(RUN)
#undef RUN
}
#endif

static void test_other_names()
{
    static const double at[4] = { 0.7, 1.9, 0.4, 1.25 };
    SAME(at, fabs(x - y), ad_abs(ad_sub(x, y)));
    SAME(at, fmin(x, y) * fmax(x * y, 1), ad_mul(ad_min(x, y),
                                              ad_max(ad_mul(x, y), 1)));
    SAME(at, hypot(x, y, z), ad_hypot(ad_hypot(x, y), z));
    SAME(at, pow(x, 3), ad_pow(x, 3));
    SAME(at, pow(x, 3), ad_powi(x, 3));
    SAME(at, pow(2, x * y), ad_pow(2, ad_mul(x, y)));
    SAME(at, scalbn(x, -2), ad_ldexp(x, -2));
}

/* --- statements ----------------------------------------------------------- */

// Wider than a statement: cut as in C. (A compiler may record the parts in
// another order, and so add contributions in another order.)
static ad_rev wide_in_cpp(ad_rev x, ad_rev y, ad_rev z, ad_rev w)
{
    return (x * y + y * z + z * w) * (x / y - y / z) * (x + 1) * (y - 2 * z)
         + sin(x * y * z * w) * (x - y * z)
         - fma(x, y, z * w) * fma(x * y + z * w, y * z + w * x,
                                  (z + x * y) * (x + y));
}

static ad_rev wide_in_c(ad_rev x, ad_rev y, ad_rev z, ad_rev w)
{
    ad_rev u = ad_rec(ad_add(ad_mul(ad_mul(ad_mul(
        ad_add(ad_add(ad_mul(x, y), ad_mul(y, z)), ad_mul(z, w)),
        ad_sub(ad_div(x, y), ad_div(y, z))), ad_add(x, 1)),
        ad_sub(y, ad_mul(2, z))),
        ad_mul(ad_sin(ad_mul(ad_mul(ad_mul(x, y), z), w)),
               ad_sub(x, ad_mul(y, z)))));
    return ad_rec(ad_sub(u, ad_mul(ad_fma(x, y, ad_mul(z, w)),
        ad_fma(ad_add(ad_mul(x, y), ad_mul(z, w)),
               ad_add(ad_mul(y, z), ad_mul(w, x)),
               ad_mul(ad_add(z, ad_mul(x, y)), ad_add(x, y))))));
}

static void test_width()
{
    const double at[4] = { 0.7, 1.9, 0.4, 1.25 };
    ad_rev x[4];
    begin(x, at);
    recording one = end(wide_in_cpp(x[0], x[1], x[2], x[3]), x);
    begin(x, at);
    recording two = end(wide_in_c(x[0], x[1], x[2], x[3]), x);
    CHECK(one.size.bytes > 0 && same(one.v, two.v));
    for (int i = 0; i < 4; i++)
        CHECK(near(one.g[i], double(two.g[i])));
}

template <class S> static S compound(S x, S y, S z, S w)
{
    S s = 0;
    s += x * y;
    s += w;
    s -= 2;
    s -= y / z;
    s *= s;
    s /= 1 + x;
    ++s;
    s++;
    --s;
    s--;
    s += s;
    s = -s + w * s;
    return s;
}

static ad_rev compound_in_c(ad_rev x, ad_rev y, ad_rev z, ad_rev w)
{
    ad_rev s = ad_rec(0);
    ad_acc(&s, ad_mul(x, y));
    ad_acc(&s, w);
    s = ad_rec(ad_sub(s, 2));
    s = ad_rec(ad_sub(s, ad_div(y, z)));
    s = ad_rec(ad_mul(s, s));
    s = ad_rec(ad_div(s, ad_add(1, x)));
    ad_acc(&s, 1);
    ad_acc(&s, 1);
    s = ad_rec(ad_sub(s, 1));
    s = ad_rec(ad_sub(s, 1));
    ad_acc(&s, s);
    s = ad_rec(ad_add(ad_neg(s), ad_mul(w, s)));
    return s;
}

static ad_rev compound_in_cpp(ad_rev x, ad_rev y, ad_rev z, ad_rev w)
{
    return compound(x, y, z, w);
}

static void test_compound()
{
    static const double at[4] = { 0.7, 1.9, 0.4, 1.25 };
    compare_rev("compound", at, compound_in_cpp, compound_in_c, __LINE__);
    ad_fwd x = { ad_real(0.7), 1 };
    ad_fwd y = compound<ad_fwd>(x, ad_real(1.9), ad_real(0.4), ad_real(1.25));
    const double h = 1e-6;
    double above = compound<double>(0.7 + h, 1.9, 0.4, 1.25);
    double below = compound<double>(0.7 - h, 1.9, 0.4, 1.25);
    CHECK(std::fabs((above - below) / (2 * h) - double(y.d)) < 1e-4);
    CHECK(near(y.v, compound<double>(0.7, 1.9, 0.4, 1.25)));
    ad_rev z = 2;
    CHECK(z++.v == 2 && z.v == 3 && (++z).v == 4 && z--.v == 4 && (--z).v == 2);
}

// Kept expressions: their operands may be gone.
static void test_auto()
{
    ad_rev x[4];
    const double at[4] = { 0.7, 1.9, 0.4, 1.25 };
    begin(x, at);
    auto product = [](ad_rev a, ad_rev b) { return a * b; };
    auto e = product(x[0] * 1, x[1] + 0);
    auto f = e + 1;
    f = 2 * f - ad_value(f);
    ad_rev y = e * e;
    recording r = end(y, x);
    CHECK(near(r.v, 0.7 * 0.7 * 1.9 * 1.9));
    CHECK(near(r.g[0], 2 * 0.7 * 1.9 * 1.9) && near(r.g[1], 2 * 1.9 * 0.49));
    CHECK(near(ad_value(f), 1 + 0.7 * 1.9));
}

// ?: of two types: the narrower becomes the wider, or both a number.
static void test_choice()
{
    const double at[4] = { 0.7, 1.9, 0.4, 1.25 };
    for (int yes = 0; yes <= 1; yes++) {
        ad_rev x[4];
        begin(x, at);
        ad_rev y[8] = {
            yes ? x[0] * x[1] : x[0], yes ? x[0] : 0, yes ? x[0] * x[1] : 0.0,
            yes ? x[0] * x[1] : x[0] * x[1] * x[2], yes ? 1 : sin(x[0] * x[1]),
            yes ? floor(x[0]) : 2, yes ? x[0] * x[1] : x[2] / x[1],
            yes ? floor(x[0]) : x[2] / x[1]
        };
        const double want[8] = {
            yes ? 0.7 * 1.9 : 0.7, yes ? 0.7 : 0, yes ? 0.7 * 1.9 : 0,
            yes ? 0.7 * 1.9 : 0.7 * 1.9 * 0.4, yes ? 1 : std::sin(0.7 * 1.9),
            yes ? 0. : 2., yes ? 0.7 * 1.9 : 0.4 / 1.9, yes ? 0 : 0.4 / 1.9
        };
        const double slope[8] = {
            yes ? 1.9 : 1, yes ? 1. : 0., yes ? 1.9 : 0, yes ? 1.9 : 1.9 * 0.4,
            yes ? 0 : 1.9 * std::cos(0.7 * 1.9), 0, yes ? 1.9 : 0, 0
        };
        for (int i = 0; i < 8; i++) {
            recording r = end(y[i], x);
            CHECK(r.status == ADREV_OK && near(r.v, want[i])
                  && near(r.g[0], slope[i]));
            CHECK(i != 3 || near(r.g[1], yes ? 0.7 : 0.7 * 0.4));
        }
        ad_fwd f = { ad_real(0.7), 1 };
        ad_fwd g = yes ? f * f : 0;
        ad_fwd h = yes ? 2 : f;
        CHECK(near(g.v, yes ? 0.49 : 0) && near(g.d, yes ? 1.4 : 0));
        CHECK(near(h.v, yes ? 2 : 0.7) && near(h.d, yes ? 0 : 1));
    }
}

/* --- what compares -------------------------------------------------------- */

#define COMPARED(symbol, x, y)                                              \
    CHECK(((x) symbol (y)) == (ad_value(x) symbol ad_value(y)))

static void test_comparisons()
{
    ad_tape_clear(tape);
    const double values[4] = { -1, 0, 2, 2 };
    for (double a : values)
        for (double b : values) {
            ad_rev x = ad_input(ad_real(a));
            ad_fwd f = ad_real(a);
            ad_rev y = ad_input(ad_real(b));
#define ALL(symbol)                                                         \
            COMPARED(symbol, x, y);                                         \
            COMPARED(symbol, x * 2, y + x);                                 \
            COMPARED(symbol, x, 0);                                         \
            COMPARED(symbol, b, x - y);                                     \
            COMPARED(symbol, f, b);
            ALL(<) ALL(<=) ALL(>) ALL(>=) ALL(==) ALL(!=)
#undef ALL
            CHECK(!x == (a == 0) && bool(x) == (a != 0) && bool(f) == (a != 0));
            CHECK((x ? 1 : 2) == (a != 0 ? 1 : 2));
            CHECK(int(x) == int(a) && long(x * 1.9) == long(a * 1.9));
            CHECK(size_t(abs(x)) == size_t(std::fabs(a)));
            CHECK(int(floor(x * 1.5)) == int(std::floor(a * 1.5)));
        }
}

// All members of numeric_limits are those of the value.
template <class Number> static void test_limits()
{
    typedef std::numeric_limits<Number> ours;
    typedef std::numeric_limits<ad_real> real;
    static_assert(std::is_same<decltype(ours::epsilon()), Number>::value, "");
    static_assert(std::numeric_limits<const Number>::is_specialized, "");
#define EQUAL(name) static_assert(ours::name == real::name, #name);
    EQUAL(is_specialized) EQUAL(is_signed) EQUAL(is_integer) EQUAL(is_exact)
    EQUAL(has_infinity) EQUAL(has_quiet_NaN) EQUAL(has_signaling_NaN)
    EQUAL(is_iec559) EQUAL(is_bounded) EQUAL(is_modulo) EQUAL(digits)
    EQUAL(digits10) EQUAL(max_digits10) EQUAL(radix) EQUAL(min_exponent)
    EQUAL(min_exponent10) EQUAL(max_exponent) EQUAL(max_exponent10)
    EQUAL(traps) EQUAL(tinyness_before) EQUAL(round_style)
#if __cplusplus < 202002L       // deprecated later
    EQUAL(has_denorm) EQUAL(has_denorm_loss)
#endif
#undef EQUAL
#define EQUAL(name)                                                         \
    { constexpr Number x = (ours::name)();                                  \
      CHECK(same(x.v, (real::name)())); }
    EQUAL(min) EQUAL(max) EQUAL(lowest) EQUAL(epsilon) EQUAL(round_error)
    EQUAL(infinity) EQUAL(quiet_NaN) EQUAL(signaling_NaN) EQUAL(denorm_min)
#undef EQUAL
}

static void test_kinds_of_numbers()
{
    typedef std::numeric_limits<ad_real> real;
    typedef std::numeric_limits<ad_rev> rev;
    test_limits<ad_rev>();
    test_limits<ad_fwd>();
    constexpr ad_rev least = rev::epsilon();
    CHECK(least.v == real::epsilon() && least.job == 0);
    CHECK(isnan(rev::quiet_NaN()) && isinf(-rev::infinity()));
    const double values[6] = {
        0, -1.5, HUGE_VAL, -HUGE_VAL, NAN, double((real::max)())
    };
    for (double a : values) {
        ad_rev x = ad_real(a);
        ad_fwd f = ad_real(a);
        CHECK(isnan(x) == std::isnan(a) && isnan(f * 1) == std::isnan(a));
        CHECK(isinf(x) == std::isinf(a) && isfinite(x) == std::isfinite(a));
        CHECK(std::isnan(a) || signbit(x) == std::signbit(a));
    }
    CHECK(ilogb(ad_rev(10)) == 3 && logb(ad_fwd(10)) == 3);
    CHECK(lround(ad_rev(-2.5)) == -3 && llrint(ad_rev(2.5) * 1) == 2);
}

// x = fraction * 2^k, and fraction + whole.
static void test_parts()
{
    ad_rev x[4];
    const double at[4] = { 10.75, 1.9, 0.4, 1.25 };
    begin(x, at);
    int k = 0;
    ad_rev y = frexp(x[0], &k);
    recording r = end(y, x);
    CHECK(k == 4 && r.v == ad_real(10.75 / 16) && r.g[0] == ad_real(0.0625));
    ad_rev whole;
    y = modf(x[0], &whole);
    r = end(y, x);
    CHECK(whole == 10 && r.v == ad_real(0.75) && r.g[0] == 1);
}

static void test_streams()
{
    std::ostringstream out;
    ad_rev x = 1.5;
    out << x << ' ' << x * 2 << ' ' << ad_fwd(2.5) << ' ' << (1 << 3);
    CHECK(out.str() == "1.5 3 2.5 8");
}

/* --- templates, containers ------------------------------------------------ */

template <class T> static T horner(const std::vector<T> &c, const T &x)
{
    using std::exp;
    T s = 0;
    for (size_t i = c.size(); i-- > 0; )
        s = s * x + c[i];
    return s * exp(-sqr(x)) + clamp(x, T(-1), T(3)) * sign(x);
}

static void test_templates()
{
    const std::vector<double> plain = { 1, -2, 0.5, 3 };
    std::vector<ad_rev> c(3);
    CHECK(c[2].v == 0 && c[2].job == 0);
    c.assign(plain.begin(), plain.end());
    ad_tape_clear(tape);
    const ad_rev x = ad_input(ad_real(0.7));
    ad_rev y = horner(c, x);
    ad_real g = 0;
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK);
    std::vector<ad_fwd> f(plain.begin(), plain.end());
    ad_fwd d = horner(f, ad_fwd(ad_real(0.7), 1));
    const double h = 1e-6;
    double slope = (horner(plain, 0.7 + h) - horner(plain, 0.7 - h)) / (2 * h);
    CHECK(near(y.v, horner(plain, 0.7)) && same(y.v, d.v));
    CHECK(near(g, double(d.d)) && std::fabs(double(g) - slope) < 1e-5);
    CHECK(ad_value(2.5f) == ad_real(2.5) && ad_value(THREE) == 3);
    CHECK((std::max)(x, y).v == (x.v < y.v ? y.v : x.v));
}

/* --- the border with C ---------------------------------------------------- */

struct pair { ad_rev a; ad_fwd b; };

extern "C" ad_rev border_rev(ad_rev x, const ad_rev *y, double z);
extern "C" ad_fwd border_fwd(ad_fwd x, ad_fwd y);
extern "C" pair border_pair(pair p);
extern "C" ad_rev border_back(ad_rev x) { return x * sin(x); }

static void test_border()
{
    ad_rev x[4];
    const double at[4] = { 0.7, 1.9, 0.4, 1.25 };
    begin(x, at);
    recording r = end(border_rev(x[0] * x[1], &x[2], 3), x);
    double p = 0.7 * 1.9;
    CHECK(near(r.v, p * std::sin(p) + 0.4 * 3));
    CHECK(near(r.g[0], 1.9 * (std::sin(p) + p * std::cos(p))));
    CHECK(near(r.g[2], 3));
    ad_fwd f = border_fwd(ad_fwd(2, 1), 3);
    CHECK(f.v == 6 && f.d == 3);
    pair q = { x[1] * 2, { 5, 7 } };
    q = border_pair(q);
    r = end(q.a, x);
    CHECK(near(r.g[1], 4) && q.b.v == 25 && q.b.d == 70);
}

/* --- hooks, places -------------------------------------------------------- */

#if ADREV_TRACE
static std::string told;

static void trace(void *, const ad_operation *operation)
{
    told += std::to_string(int(operation->code)) + ' ';
}

// A hook is told of the same operations, comparisons among them.
static void test_trace()
{
    const double at[4] = { 0.7, 1.9, 0.4, 1.25 };
    ad_hooks hooks = {};
    hooks.trace = trace;
    std::string in[2];
    ad_real v[2] = { 0, 0 };
    for (int c = 0; c < 2; c++) {
        ad_rev x[4];
        ad_tape_hooks(tape, nullptr);
        begin(x, at);
        ad_tape_hooks(tape, &hooks);
        told.clear();
        if (c) {
            ad_rev y = ad_rec(ad_mul(x[0], ad_sin(x[1])));
            if (ad_lt(x[0], x[1]))
                y = ad_rec(ad_sub(y, ad_pow(x[1], 2)));
            if (ad_ne(y, 0))
                ad_acc(&y, ad_floor(x[2]));
            v[c] = ad_value(ad_mul(y, 2));
        } else {
            ad_rev y = x[0] * sin(x[1]);
            if (x[0] < x[1])
                y -= pow(x[1], 2);
            if (y)
                y += floor(x[2]);
            ad_rev z = y > 1e6 ? y * x[1] : 2;
            told.resize(told.find_last_of(' ', told.size() - 2) + 1);
            CHECK(z.v == 2 && z.job == 0);
            v[c] = ad_value(y * 2);
        }
        in[c] = told;
    }
    ad_tape_hooks(tape, nullptr);
    CHECK(in[0] == in[1] && in[0].size() > 12 && v[0] == v[1]);
    ad_rev x = 3;
    ad_tape_clear(tape);
    x = ad_input(3);
    ad_tape_hooks(tape, &hooks);
    ad_rev wide = x > 2 ? x * x : x * x * x;
    ad_rev constant = x < 2 ? x * x : 1;
    ad_tape_hooks(tape, nullptr);
    ad_real g = 0;
    CHECK(ad_gradient(tape, wide, 1, &x, &g) == ADREV_OK && g == 6);
    CHECK(constant.v == 1 && constant.job == 0);
}
#endif

#if ADREV_DEBUG && ADREV_FUSE > 1
// The place is where an expression becomes a number.
static ad_rev returned(ad_rev x)
{
    return x * x;
}

static int place_of(ad_rev x)
{
    const char *file = nullptr;
    int line = 0;
    ad_tape_where(tape, x, &file, &line);
    return file != nullptr && std::strstr(file, "operators.cpp") ? line : -1;
}

static void test_places()
{
    ad_tape_clear(tape);
    ad_rev x = ad_input(2);
    ad_rev y = x * x; int here = __LINE__;
    CHECK(place_of(y) == here);
    y = sin(y); here = __LINE__;
    CHECK(place_of(y) == here);
    y = ad_rec(y * x); here = __LINE__;
    CHECK(place_of(y) == here);
    CHECK(place_of(returned(x)) > 0 && place_of(returned(x)) < here);
    y += x; here = __LINE__;
    CHECK(place_of(y) == here);
    y -= x * y; here = __LINE__;
    CHECK(place_of(y) == here);
    y *= 2; here = __LINE__;
    CHECK(place_of(y) == here);
    y /= sin(x); here = __LINE__;
    CHECK(place_of(y) == here);
    y = y + x; here = __LINE__;
    CHECK(place_of(y) == here);
    ++y; here = __LINE__;
    CHECK(place_of(y) == here);
    y--; here = __LINE__;
    CHECK(place_of(y) == here);
    std::vector<ad_rev> many(2, x);
    many[1] += y; here = __LINE__;
    CHECK(place_of(many[1]) == here);
}
#endif

int main()
{
    tape = ad_tape_new();
    ad_use(tape);
#ifndef FEW
    test_rows();
#endif
    test_other_names();
    test_width();
    test_compound();
    test_auto();
    test_choice();
    test_comparisons();
    test_kinds_of_numbers();
    test_parts();
    test_streams();
    test_templates();
    test_border();
#if ADREV_TRACE
    test_trace();
#endif
#if ADREV_DEBUG && ADREV_FUSE > 1
    test_places();
#endif
    ad_tape_free(tape);
    return check_done("operators.cpp");
}
