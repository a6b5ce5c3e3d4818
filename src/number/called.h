#pragma once

/* === number/called ==========================================================
 * Operators where expressions are not fused: each is a function call
 * (tape/apart) and a statement of its own. That is the least code, and plain
 * C11.
 *
 *   needs   number/recording
 * ========================================================================== */

#if !ADX_FUSES

typedef adx_number ad_expr_0, ad_expr_1, ad_expr_2, ad_expr_3, ad_expr_4,
                   ad_expr_5, ad_expr_6, ad_expr_7, ad_expr_8, ad_expr_9,
                   ad_expr_10, ad_expr_11, ad_expr_12, ad_expr_dual;

ADX_INLINE adx_number adx_constant(ad_real v)
{
    adx_number e = ADX_ZERO;
    e.v = v;
    return e;
}

ADX_INLINE adx_number adx_leaf(ad_rev x)
{
    adx_number e = adx_constant(x.v);
    e.id = adx_word(&x);
    e.kind = ADX_RECORDED;
    return e;
}

ADX_INLINE adx_number adx_from_fwd(ad_fwd x)
{
    adx_number e = adx_constant(x.v);
    e.d = x.d;
    e.kind = ADX_DUAL;
    return e;
}

#ifdef __cplusplus
ADX_INLINE adx_number adx_own(adx_number e) { return e; }
ADX_INLINE adx_number adx_own(ad_rev x) { return adx_leaf(x); }
ADX_INLINE adx_number adx_own(ad_fwd x) { return adx_from_fwd(x); }
template <class Number> ADX_INLINE adx_number adx_own(Number v)
{
    return adx_constant((ad_real)v);
}
#else
ADX_INLINE adx_number adx_own_expr(adx_number e) { return e; }
#define ADX_DEFINE(name, type)                                              \
    ADX_INLINE adx_number adx_own_##name(type v)                            \
        { return adx_constant((ad_real)v); }
ADX_OWN_TYPES(ADX_DEFINE)
#undef ADX_DEFINE
#define adx_own(x)                                                          \
    _Generic((x), ad_rev: adx_leaf, ad_fwd: adx_from_fwd,                   \
             adx_number: adx_own_expr, ADX_NUMBERS(adx_own))(x)
#endif

ADX_INLINE ad_real adx_plain_expr(adx_number e)
{
    return adx_call_value(ADX_HOW, e);
}

ADX_INLINE adx_number adx_detach_expr(adx_number e)
{
    return adx_call_detach(ADX_HOW, e);
}

// An operator applies its function to its operands, each of which is evaluated
// once.
typedef adx_number adx_op_1(ADX_CALLED_1);
typedef adx_number adx_op_2(ADX_CALLED_2);
typedef adx_number adx_op_3(ADX_CALLED_3);
typedef bool adx_op_test(ADX_CALLED_2);
ADX_INLINE adx_number adx_apply_1(adx_number a, adx_op_1 *f)
{
    return f(ADX_HOW, a);
}
ADX_INLINE adx_number adx_apply_2(adx_number a, adx_number b, adx_op_2 *f)
{
    return f(ADX_HOW, a, b);
}
ADX_INLINE adx_number adx_apply_3(adx_number a, adx_number b, adx_number c,
                                  adx_op_3 *f)
{
    return f(ADX_HOW, a, b, c);
}
ADX_INLINE bool adx_apply_test(adx_number a, adx_number b, adx_op_test *f)
{
    return f(ADX_HOW, a, b);
}

// The parts without a derivative of modf and frexp.
ADX_INLINE adx_number adx_apply_modf(adx_number a, ad_real *whole, adx_op_1 *f)
{
    *whole = adx_plain_expr(adx_call_trunc(ADX_HOW, a));
    return f(ADX_HOW, a);
}

ADX_INLINE adx_number adx_apply_frexp(adx_number a, int *exponent, adx_op_2 *f)
{
    const int k = adx_exponent_of(a.v);
    *exponent = k;
    if (ADREV_TRACE && ADX_TRACED && (a.kind & ADX_RECORDED))
        adx_observed_exponent(adx_numbered(a.v, a.id), k);
    return f(ADX_HOW, a, adx_constant(-(ad_real)k));
}

ADX_INLINE void adx_sincos_rev(adx_number a, ad_rev *s, ad_rev *c)
{
    *s = adx_call_rec(adx_call_sin(ADX_HOW, a));
    *c = adx_call_rec(adx_call_cos(ADX_HOW, a));
}

ADX_INLINE void adx_sincos_fwd(adx_number a, ad_fwd *s, ad_fwd *c)
{
    *s = adx_call_dual(ADX_HOW, adx_call_sin(ADX_HOW, a));
    *c = adx_call_dual(ADX_HOW, adx_call_cos(ADX_HOW, a));
}

#ifdef __cplusplus
#define ad_expr auto
#elif defined __GNUC__ || defined __clang__
#define ad_expr __auto_type
#else
typedef adx_number ad_expr;
#endif

#if (defined __GNUC__ || defined __clang__) && !defined __cplusplus
#define ADX_OPERAND(a)                                                      \
    __extension__({                                                         \
        ADX_QUIET                                                           \
        ADX_NOTE_PLACE                                                      \
        __auto_type adx_x_ = (a);                                           \
        ADX_LOUD                                                            \
        adx_own(adx_x_);                                                    \
    })
#elif !defined __cplusplus
// C without GNU's extensions. _Generic would mention an operand twice, and the
// text of an expression would double with each level. So an operator begins
// with three parentheses, and an operand that begins so is taken for what it
// is, the result of an operator. INNER is what stands between the first two;
// its commas, up to seven, do not disturb the count.
#define ADX_NINTH_(a, b, c, d, e, f, g, h, i, ...) i
#define ADX_NINTH(...)    ADX_NINTH_(__VA_ARGS__)
#define ADX_FOUND(...)    ~, ~, ~, ~, ~, ~, ~, ~, 1, ~
#define ADX_BEGINS(...)                                                     \
    ADX_NINTH(ADX_FOUND __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, ~)
#define ADX_INNER(...)    __VA_ARGS__
#define ADX_RESULT_0(...) 0
#define ADX_RESULT_1(...) ADX_RESULT_2(ADX_INNER __VA_ARGS__)
#define ADX_RESULT_2(...)                                                   \
    ADX_JOIN(ADX_THIRD_, ADX_BEGINS(__VA_ARGS__))(__VA_ARGS__)
#define ADX_THIRD_0(...)  0
#define ADX_THIRD_1(...)  ADX_THIRD_2(ADX_INNER __VA_ARGS__)
#define ADX_THIRD_2(...)  ADX_BEGINS(__VA_ARGS__)
#define ADX_IS_RESULT(a)  ADX_JOIN(ADX_RESULT_, ADX_BEGINS(a))(a)
#define ADX_OPERAND_0(a)  adx_own(a)
#define ADX_OPERAND_1(a)  a
#if ADREV_DEBUG
#define ADX_OPERAND(a)                                                      \
    (adx_here(__FILE__, __LINE__), ADX_JOIN(ADX_OPERAND_, ADX_IS_RESULT(a))(a))
#else
#define ADX_OPERAND(a) ADX_JOIN(ADX_OPERAND_, ADX_IS_RESULT(a))(a)
#endif
#elif ADREV_DEBUG
#define ADX_OPERAND(a) (adx_here(__FILE__, __LINE__), adx_own(a))
#else
#define ADX_OPERAND adx_own
#endif
// Two parentheses; the third is in the front.
#define ADX_TAKE_1      ((adx_apply_1(ADX_OPERAND
#define ADX_TAKE_2      ((adx_apply_2(ADX_OPERAND
#define ADX_TAKE_3      ((adx_apply_3(ADX_OPERAND
#define ADX_TAKE_TEST   adx_apply_test(ADX_OPERAND
#define ADX_TAKE_MODF   ((adx_apply_modf(ADX_OPERAND
#define ADX_TAKE_FREXP  ((adx_apply_frexp(ADX_OPERAND
#define ADX_TAKE_CHOICE ((adx_call_choose(ADX_HOW, !!
#define ADX_AND_Y       , ADX_OPERAND
#define ADX_AND_Z       , ADX_OPERAND
#define ADX_AND_WHOLE(whole)       , whole
#define ADX_AND_EXPONENT(exponent) , exponent
#define ADX_MAKE_1(name)    , adx_call_##name)))
#define ADX_MAKE_2(name)    , adx_call_##name)))
#define ADX_MAKE_3(name)    , adx_call_##name)))
#define ADX_MAKE_STEP(name) , adx_call_##name)))
#define ADX_MAKE_TEST(name) , adx_call_##name)
#define ADX_MAKE_CHOICE     )))
#define ad_rec(e)     adx_call_rec(ADX_OPERAND(e))
#define ad_dual(e)    adx_call_dual(ADX_HOW, ADX_OPERAND(e))
#define ad_expr_of(e) ADX_OPERAND(e)

#ifdef __cplusplus
ADX_INLINE ad_real ad_value(ad_rev x) { return adx_plain_rev(x); }
ADX_INLINE ad_real ad_value(ad_fwd x) { return adx_plain_fwd(x); }
ADX_INLINE ad_real ad_value(adx_number e) { return adx_plain_expr(e); }
template <class Plain, adrev::adx_if_plain<Plain> = 0>
ADX_INLINE ad_real ad_value(Plain x) { return static_cast<ad_real>(x); }
template <class Plain, adrev::adx_if_plain<Plain> = 0>
ADX_INLINE ad_real ad_detach(Plain x) { return static_cast<ad_real>(x); }
ADX_INLINE ad_rev ad_detach(ad_rev x) { return adx_detach_rev(x); }
ADX_INLINE ad_fwd ad_detach(ad_fwd x) { return adx_detach_fwd(x); }
ADX_INLINE adx_number ad_detach(adx_number e) { return adx_detach_expr(e); }
ADX_INLINE void adx_acc(ad_rev *s, adx_number e)
{
    adx_call_acc_rev(ADX_HOW, s, e);
}
ADX_INLINE void adx_acc(ad_fwd *s, adx_number e)
{
    adx_call_acc_fwd(ADX_HOW, s, e);
}
#define ad_acc(s, e) adx_acc((s), ADX_OPERAND(e))
ADX_INLINE void adx_sincos(adx_number a, ad_rev *s, ad_rev *c)
{
    adx_sincos_rev(a, s, c);
}
ADX_INLINE void adx_sincos(adx_number a, ad_fwd *s, ad_fwd *c)
{
    adx_sincos_fwd(a, s, c);
}
#define ad_sincos(a, s, c) adx_sincos(ADX_OPERAND(a), s, c)
#else
#define ad_value(x)                                                         \
    _Generic((x), ad_rev: adx_plain_rev, ad_fwd: adx_plain_fwd,             \
             adx_number: adx_plain_expr, float: adx_plain_float,            \
             default: adx_plain_number)(x)
#define ad_detach(x)                                                        \
    _Generic((x), ad_rev: adx_detach_rev, ad_fwd: adx_detach_fwd,           \
             adx_number: adx_detach_expr, float: adx_plain_float,           \
             default: adx_plain_number)(x)
#define ad_acc(s, e)                                                        \
    _Generic((s), ad_rev *: adx_call_acc_rev, ad_fwd *: adx_call_acc_fwd)(  \
        ADX_HOW, s, ADX_OPERAND(e))
#define ad_sincos(a, s, c)                                                  \
    _Generic((s), ad_rev *: adx_sincos_rev, ad_fwd *: adx_sincos_fwd)(      \
        ADX_OPERAND(a), s, c)
#endif

#endif // ADX_FUSES
