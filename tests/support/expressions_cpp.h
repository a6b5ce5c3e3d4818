// SPDX-License-Identifier: MIT-0
/* expressions_cpp.h - what expressions_print.c prints, in C++: expressions_cpp.sh
 * has made a cpp_add of each ad_add, which is the operator or function of C++.
 * Of plain numbers alone, of which C++ makes an int or a double, it is ad_add.
 */

#ifndef ADREV_TESTS_EXPRESSIONS_CPP_H
#define ADREV_TESTS_EXPRESSIONS_CPP_H

#include "adrev.h"

extern "C" {
#include "expressions.h"
}

template <class X> struct is_plain { static constexpr bool yes = true; };
template <> struct is_plain<ad_rev> { static constexpr bool yes = false; };
template <> struct is_plain<ad_fwd> { static constexpr bool yes = false; };
#define NOT_PLAIN(N)                                                        \
    template <> struct is_plain<ad_expr_##N>                                \
        { static constexpr bool yes = false; };
ADX_WIDTHS(NOT_PLAIN) NOT_PLAIN(0) NOT_PLAIN(dual)
template <bool yes> struct when { };
template <> struct when<true> { typedef int type; };

#define ONE(name, e)                                                        \
    template <class X, typename when<!is_plain<X>::yes>::type = 0>          \
    ADX_INLINE auto cpp_##name(X x) -> decltype(e) { return e; }            \
    template <class X, typename when<is_plain<X>::yes>::type = 0>           \
    ADX_INLINE auto cpp_##name(X x) -> ad_expr_0                            \
        { return ad_##name(x); }
#define TWO(name, e)                                                        \
    template <class X, class Y, typename when<                              \
        !(is_plain<X>::yes && is_plain<Y>::yes)>::type = 0>                 \
    ADX_INLINE auto cpp_##name(X x, Y y) -> decltype(e)                     \
        { return e; }                                                       \
    template <class X, class Y, typename when<                              \
        is_plain<X>::yes && is_plain<Y>::yes>::type = 0>                    \
    ADX_INLINE auto cpp_##name(X x, Y y) -> ad_expr_0                       \
        { return ad_##name(x, y); }
#define FUNCTION_1(name) ONE(name, name(x))
#define FUNCTION_2(name) TWO(name, name(x, y))

#define TEST(name, e)                                                       \
    template <class X, class Y, typename when<                              \
        !(is_plain<X>::yes && is_plain<Y>::yes)>::type = 0>                 \
    ADX_INLINE bool cpp_##name(X x, Y y) { return e; }                      \
    template <class X, class Y, typename when<                              \
        is_plain<X>::yes && is_plain<Y>::yes>::type = 0>                    \
    ADX_INLINE bool cpp_##name(X x, Y y)                                    \
        { return ad_##name(x, y); }

TWO(add, x + y) TWO(sub, x - y) TWO(mul, x * y) TWO(div, x / y) ONE(neg, -x)
FUNCTION_1(abs) FUNCTION_2(min) FUNCTION_2(max) FUNCTION_2(fdim)
FUNCTION_2(copysign) FUNCTION_1(sqrt) FUNCTION_1(floor) FUNCTION_1(ceil)
FUNCTION_1(trunc) FUNCTION_1(round) FUNCTION_1(rint) FUNCTION_1(nearbyint)
FUNCTION_2(fmod) FUNCTION_2(remainder) FUNCTION_1(cbrt) FUNCTION_2(hypot)
FUNCTION_2(pow) FUNCTION_1(exp) FUNCTION_1(exp2) FUNCTION_1(expm1)
FUNCTION_1(log) FUNCTION_1(log2) FUNCTION_1(log10) FUNCTION_1(log1p)
FUNCTION_1(sin) FUNCTION_1(cos) FUNCTION_1(tan) FUNCTION_1(asin)
FUNCTION_1(acos) FUNCTION_1(atan) FUNCTION_2(atan2) FUNCTION_1(sinh)
FUNCTION_1(cosh) FUNCTION_1(tanh) FUNCTION_1(asinh) FUNCTION_1(acosh)
FUNCTION_1(atanh) FUNCTION_1(erf) FUNCTION_1(erfc) FUNCTION_1(lgamma)
FUNCTION_1(tgamma)
TEST(lt, x < y) TEST(le, x <= y) TEST(gt, x > y) TEST(ge, x >= y)
TEST(eq, x == y) TEST(ne, x != y)
template <class X, class Y, class Z, typename when<
    !(is_plain<X>::yes && is_plain<Y>::yes && is_plain<Z>::yes)>::type = 0>
ADX_INLINE auto cpp_fma(X x, Y y, Z z)
    -> decltype(fma(x, y, z)) { return fma(x, y, z); }
template <class X, class Y, class Z, typename when<
    is_plain<X>::yes && is_plain<Y>::yes && is_plain<Z>::yes>::type = 0>
ADX_INLINE auto cpp_fma(X x, Y y, Z z) -> ad_expr_0
    { return ad_fma(x, y, z); }

// The rest is the same.
#define cpp_rec(e)  ad_rev(e)
#define cpp_dual(e) ad_fwd(e)
#define cpp_sqr ad_sqr
#define cpp_clamp ad_clamp
#define cpp_select ad_select
#define cpp_powi ad_powi
#define cpp_ldexp ad_ldexp
#define cpp_relu ad_relu
#define cpp_sigmoid ad_sigmoid
#define cpp_softplus ad_softplus
#define cpp_sign ad_sign
#define cpp_frac ad_frac
#define cpp_exp10 ad_exp10
#define cpp_log_add_exp ad_log_add_exp
#define cpp_digamma ad_digamma
#define cpp_polygamma ad_polygamma
#define cpp_jn ad_jn
#define cpp_gamma_p ad_gamma_p
#define cpp_gamma_q ad_gamma_q
#define cpp_beta_p ad_beta_p
#define cpp_beta_q ad_beta_q
#define cpp_yn ad_yn
#define cpp_acc ad_acc
#define cpp_value ad_value
#define cpp_detach ad_detach

#endif
