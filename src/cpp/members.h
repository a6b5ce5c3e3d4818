#pragma once

/* === cpp/members ============================================================
 * What numbers and expressions have in C++ besides their fields: constructors
 * and explicit conversions. All of them stay trivial and of the layout that
 * they have in C, so a number crosses the border as it is, may lie in a union
 * or in calloc's memory, and is not set where it is declared without a value.
 *
 * An expression holds numbers and ids, never references. So one that is kept
 * (auto e = x * y) is as good later as it was at first.
 *
 *   offers  ADX_REV_MEMBERS ADX_FWD_MEMBERS ADX_EXPR_MEMBERS
 * ========================================================================== */

#ifdef __cplusplus

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
template <class Any> struct adx_is_plain
    : adx_plain_kind<Any, __is_enum(Any)> { };

// How many operands something is (number/expression), an expression of forward
// numbers being 16. `ours` is 0 for plain numbers, and what is none is -1.
template <class Any> struct adx_kind
{
    static constexpr int width = adx_is_plain<Any>::yes ? 0 : -1;
    static constexpr bool ours = false;
    static constexpr bool expr = false;
};
template <class Any> struct adx_kind<const Any> : adx_kind<Any> { };
#define ADX_DUAL_WIDTH 16
#define ADX_DEFINE(name, n, is_expr)                                        \
    struct name;                                                            \
    template <> struct adx_kind<name>                                       \
    {                                                                       \
        static constexpr int width = n;                                     \
        static constexpr bool ours = true;                                  \
        static constexpr bool expr = is_expr;                               \
    };
ADX_DEFINE(ad_rev, 1, 0) ADX_DEFINE(ad_fwd, ADX_DUAL_WIDTH, 0)
#if ADX_FUSES
ADX_DEFINE(ad_expr_0, 0, 1) ADX_DEFINE(ad_expr_1, 1, 1)
ADX_DEFINE(ad_expr_2, 2, 1) ADX_DEFINE(ad_expr_3, 3, 1)
ADX_DEFINE(ad_expr_4, 4, 1) ADX_DEFINE(ad_expr_5, 5, 1)
ADX_DEFINE(ad_expr_6, 6, 1) ADX_DEFINE(ad_expr_7, 7, 1)
ADX_DEFINE(ad_expr_8, 8, 1) ADX_DEFINE(ad_expr_9, 9, 1)
ADX_DEFINE(ad_expr_10, 10, 1) ADX_DEFINE(ad_expr_11, 11, 1)
ADX_DEFINE(ad_expr_12, 12, 1) ADX_DEFINE(ad_expr_dual, ADX_DUAL_WIDTH, 1)
#else
ADX_DEFINE(adx_number, 0, 1)    // of either kind
#endif
#undef ADX_DEFINE

template <class Any> using adx_if_plain =
    typename adx_if<adx_is_plain<Any>::yes>::type;
template <class Any> using adx_if_whole =
    typename adx_if<adx_arithmetic<Any>::whole>::type;

// An expression that becomes an ad_rev or an ad_fwd; one that has room in an
// expression of another width.
template <class Any> using adx_if_recorded =
    typename adx_if<adx_kind<Any>::expr
                    && adx_kind<Any>::width != ADX_DUAL_WIDTH>::type;
template <class Any> using adx_if_forward =
    typename adx_if<adx_kind<Any>::expr
                    && adx_kind<Any>::width % ADX_DUAL_WIDTH == 0>::type;
template <class Wide, class Any> using adx_if_narrower =
    typename adx_if<adx_kind<Any>::expr
                    && adx_kind<Any>::width < adx_kind<Wide>::width
                    && (adx_kind<Wide>::width < ADX_DUAL_WIDTH
                        || adx_kind<Any>::width == 0)>::type;

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
    , const char *adx_file = __builtin_FILE(), int adx_line = __builtin_LINE()
#define ADX_CALLER_IS  , const char *adx_file, int adx_line
#define ADX_PASS_PLACE , adx_file, adx_line
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
#define ADX_CASTS                                                           \
    template <class Whole, unsigned how = ADX_SWITCHES,                     \
              adrev::adx_if_whole<Whole> = 0>                               \
    ADX_MEMBER explicit operator Whole() const                              \
    {                                                                       \
        return adx_cast(*this, static_cast<Whole *>(nullptr));              \
    }

#define ADX_REV_MEMBERS                                                     \
    ad_rev() = default;                                                     \
    template <class Plain, adx_if_plain<Plain> = 0>                         \
    constexpr ad_rev(Plain x) noexcept                                      \
        : v(static_cast<ad_real>(x)), seq(0), job(0) { }                    \
    template <class Expr, unsigned how = ADX_SWITCHES,                      \
              adx_if_recorded<Expr> = 0>                                    \
    ADX_MEMBER ad_rev(const Expr &e ADX_CALLER)                             \
    {                                                                       \
        adx_become(*this, e ADX_PASS_PLACE);                                \
    }                                                                       \
    ADX_CASTS

#define ADX_FWD_MEMBERS                                                     \
    ad_fwd() = default;                                                     \
    constexpr ad_fwd(ad_real v_, ad_real d_) noexcept : v(v_), d(d_) { }    \
    template <class Plain, adx_if_plain<Plain> = 0>                         \
    constexpr ad_fwd(Plain x) noexcept                                      \
        : v(static_cast<ad_real>(x)), d(0) { }                              \
    template <class Expr, unsigned how = ADX_SWITCHES,                      \
              adx_if_forward<Expr> = 0>                                     \
    ADX_MEMBER ad_fwd(const Expr &e ADX_CALLER)                             \
    {                                                                       \
        adx_become(*this, e ADX_PASS_PLACE);                                \
    }                                                                       \
    ADX_CASTS

// A plain number, or an expression with fewer operands, becomes one with more
// where both are results of a ?:.
#define ADX_EXPR_MEMBERS(name)                                              \
    name() = default;                                                       \
    template <class Plain, unsigned how = ADX_SWITCHES,                     \
              adx_if_plain<Plain> = 0>                                      \
    ADX_MEMBER name(Plain x) { adx_widen(*this, x); }                       \
    template <class Expr, unsigned how = ADX_SWITCHES,                      \
              adx_if_narrower<name, Expr> = 0>                              \
    ADX_MEMBER name(const Expr &e) { adx_widen(*this, e); }                 \
    ADX_CASTS

#endif // __cplusplus
