#pragma once

/* === cpp/members ============================================================
 * What numbers and expressions have in C++ besides their fields: constructors
 * and explicit conversions. All of them stay trivial and of the layout that
 * they have in C, so a number crosses the border as it is, may lie in a union
 * or in calloc's memory, and is not set where it is declared without a value.
 *
 * An expression holds numbers and ids, never references. So an expression that
 * is stored in a variable (auto e = x * y) can be used later as well.
 *
 *   offers  adx_any ADX_DUAL_WIDTH ADX_OPERAND_TYPE ADX_SWITCHES ADX_CALLER_IS
 *           ADX_NO_PLACE ADX_MEMBER
 * ========================================================================== */

#ifdef __cplusplus

#include <iosfwd>
#include <limits>

namespace adrev {

template <bool yes> struct adx_if { };
template <> struct adx_if<true> { typedef int type; };

// Plain numbers: the arithmetic types, and enumerations that become integers by
// themselves.
template <class Any> struct adx_arithmetic
{
    static constexpr bool yes = false;
    static constexpr bool whole = false;
};
#define ADX_DEFINE(type, is_whole)                                          \
    template <> struct adx_arithmetic<type>                                 \
    {                                                                       \
        static constexpr bool yes = true;                                   \
        static constexpr bool whole = is_whole;                             \
    };
ADX_DEFINE(float, 0) ADX_DEFINE(double, 0) ADX_DEFINE(long double, 0)
ADX_DEFINE(bool, 1) ADX_DEFINE(char, 1) ADX_DEFINE(signed char, 1)
ADX_DEFINE(unsigned char, 1) ADX_DEFINE(short, 1)
ADX_DEFINE(unsigned short, 1) ADX_DEFINE(int, 1) ADX_DEFINE(unsigned, 1)
ADX_DEFINE(long, 1) ADX_DEFINE(unsigned long, 1) ADX_DEFINE(long long, 1)
ADX_DEFINE(unsigned long long, 1)
#undef ADX_DEFINE

template <class Any> Any adx_any();
struct adx_no { char no[2]; };
char adx_counts(long double);
adx_no adx_counts(...);

template <class Any, bool is_enum> struct adx_plain_kind
{
    static constexpr bool yes = adx_arithmetic<Any>::yes;
};
template <class Any> struct adx_plain_kind<Any, true>
{
    static constexpr bool yes = sizeof(adx_counts(adx_any<Any>())) == 1;
};
template <class Any> struct adx_plain_type
    : adx_plain_kind<Any, __is_enum(Any)> { };

// How many operands something is (number/expression), an expression of forward
// numbers being 16. `ours` is 0 for plain numbers, and what is none is -1.
template <class Any> struct adx_sort
{
    static constexpr int width = adx_plain_type<Any>::yes ? 0 : -1;
    static constexpr bool ours = false;
    static constexpr bool expr = false;
};
template <class Any> struct adx_sort<const Any> : adx_sort<Any> { };
#define ADX_DUAL_WIDTH 16
#define ADX_OPERAND_TYPE(name, n, is_expr)                                  \
    struct name;                                                            \
    template <> struct adx_sort<name>                                       \
    {                                                                       \
        static constexpr int width = n;                                     \
        static constexpr bool ours = true;                                  \
        static constexpr bool expr = is_expr;                               \
    };

template <class Any> using adx_if_plain =
    typename adx_if<adx_plain_type<Any>::yes>::type;
template <class Any> using adx_if_whole =
    typename adx_if<adx_arithmetic<Any>::whole>::type;

// An expression that becomes an ad_rev or an ad_fwd; one that has room in an
// expression of another width.
template <class Any> using adx_if_recorded =
    typename adx_if<adx_sort<Any>::expr
                    && adx_sort<Any>::width != ADX_DUAL_WIDTH>::type;
template <class Any> using adx_if_forward =
    typename adx_if<adx_sort<Any>::expr
                    && adx_sort<Any>::width % ADX_DUAL_WIDTH == 0>::type;
template <class Wide, class Any> using adx_if_narrower =
    typename adx_if<adx_sort<Any>::expr
                    && adx_sort<Any>::width < adx_sort<Wide>::width
                    && (adx_sort<Wide>::width < ADX_DUAL_WIDTH
                        || adx_sort<Any>::width == 0)>::type;

// What becomes a number of this type, and how one becomes an integer: from,
// whole, widen (cpp/operators).
template <class Number, unsigned how> struct adx_convert;

} // namespace adrev

// A file's switches. What the compiler makes of a template may not be shared
// with files that were compiled with others.
#define ADX_SWITCHES                                                        \
    (ADREV_FUSE | (ADREV_TRACE != 0) << 8 | (ADREV_DEBUG != 0) << 9         \
     | (ADREV_COUNT != 0) << 10)

// With ADREV_DEBUG an expression is recorded with the place where it becomes a
// number.
#if ADREV_DEBUG
#define ADX_CALLER                                                          \
    , const char *adx_at_file = __builtin_FILE(),                           \
    int adx_at_line = __builtin_LINE()
#define ADX_CALLER_IS  , const char *adx_at_file, int adx_at_line
#define ADX_PASS_PLACE , adx_at_file, adx_at_line
#define ADX_NO_PLACE   , nullptr, 0
#else
#define ADX_CALLER
#define ADX_CALLER_IS
#define ADX_PASS_PLACE
#define ADX_NO_PLACE
#endif

#if (defined __GNUC__ || defined __clang__) && defined __OPTIMIZE__
#define ADX_MEMBER inline __attribute__((always_inline))
#else
#define ADX_MEMBER inline
#endif

// The whole part, and whether it is not 0: what a cast to an integer is, and an
// `if`. There is no conversion to a floating type, which would lose the
// derivative: ad_value says so.
#define ADX_CASTS(name)                                                     \
    template <class Whole, unsigned how = ADX_SWITCHES,                     \
              adrev::adx_if_whole<Whole> = 0>                               \
    ADX_MEMBER explicit operator Whole() const                              \
    {                                                                       \
        return adx_convert<name, how>::whole(*this,                         \
                                             static_cast<Whole *>(nullptr)); \
    }

#define ADX_REV_MEMBERS(name, real)                                         \
    name() = default;                                                       \
    template <class Plain, adx_if_plain<Plain> = 0>                         \
    constexpr name(Plain x) noexcept                                        \
        : v(static_cast<real>(x)), seq(0), job(0) { }                       \
    template <class Expr, unsigned how = ADX_SWITCHES,                      \
              adx_if_recorded<Expr> = 0>                                    \
    ADX_MEMBER name(const Expr &e ADX_CALLER)                               \
    {                                                                       \
        *this = adx_convert<name, how>::from(e ADX_PASS_PLACE);             \
    }                                                                       \
    ADX_CASTS(name)

#define ADX_FWD_MEMBERS(name, real)                                         \
    name() = default;                                                       \
    constexpr name(real v_, real d_) noexcept : v(v_), d(d_) { }            \
    template <class Plain, adx_if_plain<Plain> = 0>                         \
    constexpr name(Plain x) noexcept : v(static_cast<real>(x)), d(0) { }    \
    template <class Expr, unsigned how = ADX_SWITCHES,                      \
              adx_if_forward<Expr> = 0>                                     \
    ADX_MEMBER name(const Expr &e ADX_CALLER)                               \
    {                                                                       \
        *this = adx_convert<name, how>::from(e ADX_PASS_PLACE);             \
    }                                                                       \
    ADX_CASTS(name)

// A plain number, or an expression with fewer operands, becomes one with more
// where both are results of a ?:.
#define ADX_EXPR_MEMBERS(name)                                              \
    name() = default;                                                       \
    template <class Plain, unsigned how = ADX_SWITCHES,                     \
              adx_if_plain<Plain> = 0>                                      \
    ADX_MEMBER name(Plain x)                                                \
    {                                                                       \
        *this = adx_convert<name, how>::widen(x);                           \
    }                                                                       \
    template <class Expr, unsigned how = ADX_SWITCHES,                      \
              adx_if_narrower<name, Expr> = 0>                              \
    ADX_MEMBER name(const Expr &e)                                          \
    {                                                                       \
        *this = adx_convert<name, how>::widen(e);                           \
    }                                                                       \
    ADX_CASTS(name)

#endif // __cplusplus
