#pragma once

/* === cpp/library ============================================================
 * The functions of <cmath>, found by the types of their arguments: write
 * sin(x), or `using std::sin; sin(x)` where x may be a double, too. They are
 * made from the operator table, without the rows that are not in <cmath>
 * (ad_sqr, ad_clamp, ad_jn ...): those would get in the way of functions of the
 * same name in the user's program. And numeric_limits.
 *
 * Of <cmath> there is no nextafter, nexttoward, remquo, nor a special function
 * of C++17. ilogb, logb and the roundings to integers are those of ad_value.
 *
 *   needs   cpp/members number/recording number/expression number/operators
 *           number/fronts cpp/operators
 * ========================================================================== */

#ifdef __cplusplus

#pragma push_macro("ADX_NOTE_PLACE")
#undef ADX_NOTE_PLACE
#if ADREV_DEBUG
#define ADX_NOTE_PLACE adx_here(nullptr, 0);
#else
#define ADX_NOTE_PLACE
#endif
#if !ADX_FUSES
#pragma push_macro("ADX_OPERAND")
#undef ADX_OPERAND
#define ADX_OPERAND ::adx_own
#endif

namespace adrev {

// Parentheses keep a macro of that name away. ADX_OMIT: no function.
#define ADX_OMIT(name, row)
#define ADX_CMATH_1(name, row)                                              \
    template <class X> ADX_INLINE ADX_CHECKED                               \
    typename adx_result_1<X>::type (name)(X x)                              \
    {                                                                       \
        return adx_give<typename adx_result_1<X>::type>(ad_##row(x));       \
    }
#define ADX_CMATH_2(name, row)                                              \
    template <class X, class Y> ADX_INLINE ADX_CHECKED                      \
    typename adx_result_2<X, Y>::type (name)(X x, Y y)                      \
    {                                                                       \
        typedef typename adx_result_2<X, Y>::type result;                   \
        return adx_give<result>(ad_##row(x, y));                            \
    }
#define ADX_CMATH_3(name, row)                                              \
    template <class X, class Y, class Z> ADX_INLINE ADX_CHECKED             \
    typename adx_result_3<X, Y, Z>::type (name)(X x, Y y, Z z)              \
    {                                                                       \
        typedef typename adx_result_3<X, Y, Z>::type result;                \
        return adx_give<result>(ad_##row(x, y, z));                         \
    }
#define ADX_CMATH_int(name, row)                                            \
    template <class X> ADX_INLINE ADX_CHECKED                               \
    typename adx_result_1<X>::type (name)(X x, int k)                       \
    {                                                                       \
        return adx_give<typename adx_result_1<X>::type>(ad_##row(x, k));    \
    }
#define ADX_CMATH_STEP(name, row)                                           \
    template <class X> ADX_INLINE ADX_CHECKED                               \
    typename adx_result_1<X>::step (name)(X x)                              \
    {                                                                       \
        return adx_give<typename adx_result_1<X>::step>(ad_##row(x));       \
    }

// What a row makes, unless it is named here.
#define ADX_ROW_add      ~, ADX_OMIT
#define ADX_ROW_sub      ~, ADX_OMIT
#define ADX_ROW_mul      ~, ADX_OMIT
#define ADX_ROW_div      ~, ADX_OMIT
#define ADX_ROW_neg      ~, ADX_OMIT
#define ADX_ROW_sqr      ~, ADX_OMIT
#define ADX_ROW_clamp    ~, ADX_OMIT
#define ADX_ROW_select   ~, ADX_OMIT
#define ADX_ROW_powi     ~, ADX_OMIT
#define ADX_ROW_relu     ~, ADX_OMIT
#define ADX_ROW_sigmoid  ~, ADX_OMIT
#define ADX_ROW_softplus ~, ADX_OMIT
#define ADX_ROW_sign     ~, ADX_OMIT
#define ADX_ROW_frac     ~, ADX_OMIT
#define ADX_ROW_exp10    ~, ADX_OMIT
#define ADX_ROW_digamma  ~, ADX_OMIT
#define ADX_ROW_gamma_p  ~, ADX_OMIT
#define ADX_ROW_gamma_q  ~, ADX_OMIT
#define ADX_ROW_beta_p   ~, ADX_OMIT
#define ADX_ROW_beta_q   ~, ADX_OMIT
#define ADX_ROW_jn       ~, ADX_OMIT
#define ADX_ROW_yn       ~, ADX_OMIT
#define ADX_ROW_polygamma   ~, ADX_OMIT
#define ADX_ROW_log_add_exp ~, ADX_OMIT
#define ADX_ROW_ldexp    ~, ADX_CMATH_int
#define ADX_SECOND_(first, second, ...) second
#define ADX_SECOND(...)                 ADX_SECOND_(__VA_ARGS__)
#define ADX_DEFINE(name, n, ...)                                            \
    ADX_SECOND(ADX_ROW_##name, ADX_CMATH_##n, ~)(name, name)
#define ADX_DEFINE_STEP(name, ...)                                          \
    ADX_SECOND(ADX_ROW_##name, ADX_CMATH_STEP, ~)(name, name)
ADREV_OPS(ADX_DEFINE)
ADREV_STEPS(ADX_DEFINE_STEP)
#undef ADX_DEFINE
#undef ADX_DEFINE_STEP

// Other names of the same.
ADX_CMATH_1(fabs, abs)
ADX_CMATH_2(fmin, min)
ADX_CMATH_2(fmax, max)
ADX_CMATH_int(scalbn, ldexp)

template <class X, class Y, class Z> ADX_INLINE ADX_CHECKED
auto (hypot)(X x, Y y, Z z) -> decltype(
    hypot(adx_any<typename adx_result_2<X, Y>::type>(), z))
{
    return hypot(hypot(x, y), z);
}

// x = fraction * 2^k, and x = fraction + whole; k and whole are constants.
template <class X> ADX_INLINE
typename adx_result_1<X>::type (frexp)(X x, int *k)
{
    return adx_give<typename adx_result_1<X>::type>(ad_frexp(x, k));
}
template <class X, class Whole> ADX_INLINE
typename adx_result_1<X>::type (modf)(X x, Whole *whole)
{
    ad_real part = 0;
    typename adx_result_1<X>::type rest =
        adx_give<typename adx_result_1<X>::type>(ad_modf(x, &part));
    *whole = part;
    return rest;
}

// Integers, and what kind of number it is. These are comparisons, so a recorded
// function notices when they come out differently.
#define ADX_DEFINE(type, name)                                              \
    template <class X, adx_if_ours<X> = 0> ADX_INLINE                       \
    type (name)(X x) { return ::name(ad_value(x)); }
ADX_DEFINE(int, ilogb)
ADX_DEFINE(ad_real, logb)
ADX_DEFINE(long, lrint)
ADX_DEFINE(long, lround)
ADX_DEFINE(long long, llrint)
ADX_DEFINE(long long, llround)
#undef ADX_DEFINE
#define ADX_DEFINE(name, test)                                              \
    template <class X, adx_if_ours<X> = 0> ADX_INLINE                       \
    bool (name)(X x) { return test; }
ADX_DEFINE(isnan, ad_ne(x, x))
ADX_DEFINE(isinf, ad_gt(ad_abs(x), std::numeric_limits<ad_real>::max()))
ADX_DEFINE(isfinite, ad_le(ad_abs(x), std::numeric_limits<ad_real>::max()))
ADX_DEFINE(signbit, ad_lt(ad_copysign(1, x), 0))
#undef ADX_DEFINE

#undef ADX_OMIT
#undef ADX_CMATH_1
#undef ADX_CMATH_2
#undef ADX_CMATH_3
#undef ADX_CMATH_int
#undef ADX_CMATH_STEP
#undef ADX_ROW_add
#undef ADX_ROW_sub
#undef ADX_ROW_mul
#undef ADX_ROW_div
#undef ADX_ROW_neg
#undef ADX_ROW_sqr
#undef ADX_ROW_clamp
#undef ADX_ROW_select
#undef ADX_ROW_powi
#undef ADX_ROW_relu
#undef ADX_ROW_sigmoid
#undef ADX_ROW_softplus
#undef ADX_ROW_sign
#undef ADX_ROW_frac
#undef ADX_ROW_exp10
#undef ADX_ROW_digamma
#undef ADX_ROW_gamma_p
#undef ADX_ROW_gamma_q
#undef ADX_ROW_beta_p
#undef ADX_ROW_beta_q
#undef ADX_ROW_jn
#undef ADX_ROW_yn
#undef ADX_ROW_polygamma
#undef ADX_ROW_log_add_exp
#undef ADX_ROW_ldexp
#undef ADX_SECOND_
#undef ADX_SECOND

// The limits of ad_real, as constants of type Number.
template <class Number> struct adx_limits : std::numeric_limits<ad_real>
{
    typedef std::numeric_limits<ad_real> real;
#define ADX_DEFINE(name)                                                    \
    static constexpr Number (name)() noexcept { return Number((real::name)()); }
    ADX_DEFINE(min) ADX_DEFINE(max) ADX_DEFINE(lowest) ADX_DEFINE(epsilon)
    ADX_DEFINE(round_error) ADX_DEFINE(infinity) ADX_DEFINE(quiet_NaN)
    ADX_DEFINE(signaling_NaN) ADX_DEFINE(denorm_min)
#undef ADX_DEFINE
};

} // namespace adrev

namespace std {
template <> class numeric_limits<adrev::ad_rev>
    : public adrev::adx_limits<adrev::ad_rev> { };
template <> class numeric_limits<adrev::ad_fwd>
    : public adrev::adx_limits<adrev::ad_fwd> { };
}

#if !ADX_FUSES
#pragma pop_macro("ADX_OPERAND")
#endif
#pragma pop_macro("ADX_NOTE_PLACE")

#endif // __cplusplus
