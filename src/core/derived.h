#pragma once

/* === core/derived ===========================================================
 * The rows of the operator table, and behind them the operations that only
 * partials need: the rows PARTIAL of core/operations, and a few others. So a
 * partial is made of operations, and has partials itself.
 *
 *   needs   core/config core/types core/operations core/api
 *   offers  ADX_CHAIN ADX_DERIVED ADX_OP_* ADX_OP_COUNT ADX_EVERY adx_compute
 *           adx_partial_at adx_row_of
 * ========================================================================== */

// clang-format off
#define ADX_CHAIN(ROW)                                                                                     \
    ROW( chain,      2, adx_absorb(x, y),       y,                              x,                 0 )
#define ADX_OTHERS(ROW)                                                                                    \
    ROW( or,         2, x != 0 || y != 0,       0,                              0,                 0 )     \
    ROW( and,        2, x != 0 && y != 0,       0,                              0,                 0 )
// clang-format on
#define ADX_NO_ROW(...)
#define ADX_PARTIALS(ROW) ADX_HELPERS(ADX_NO_ROW, ROW)
// The columns of the two differ, so a ROW may use the names only.
#define ADX_DERIVED(ROW)  ADX_OTHERS(ROW) ADX_PARTIALS(ROW)

#define ADX_ENUM(name, ...) ADX_OP_##name,
enum {
    ADX_OP_BEFORE = ADREV_OP_COUNT - 1,
    ADX_CHAIN(ADX_ENUM)
    ADX_DERIVED(ADX_ENUM)
    ADX_OP_COUNT
};
#undef ADX_ENUM

// adx_f_name(x, y, z): the value of an operation, whatever its arity.
#define ADX_DEFINE(name, n, f, ...)                                         \
    ADX_INLINE ad_real adx_f_##name(ad_real x, ad_real y, ad_real z)        \
        { (void)x; (void)y; (void)z; return f; }
#define ADX_ARGUMENTS_1 (x)
#define ADX_ARGUMENTS_2 (x, y)
#define ADX_ARGUMENTS_3 (x, y, z)
#define ADX_DEFINE_PARTIAL(name, n, ...)                                    \
    ADX_DEFINE(name, n, adx_##name ADX_ARGUMENTS_##n, )
ADX_CHAIN(ADX_DEFINE)
ADX_OTHERS(ADX_DEFINE)
ADX_PARTIALS(ADX_DEFINE_PARTIAL)
#undef ADX_DEFINE
#undef ADX_DEFINE_PARTIAL

ADX_INLINE ad_real adx_f_detach(ad_real x) { return x; }

// ADX_DO(code, value), of x, y and z, for every operation of one result but
// chain: whether a zero absorbs there is for the place of use to say. ADX_DO is a
// name that each place defines, and not an argument, because ADREV_OPS gives its
// visitor the columns of a row and nothing else: ADX_EVERY_ROW cannot be told
// whom to pass them on to.
#define ADX_EVERY_STEP(name, ...) ADX_DO(ADREV_OP_##name, adx_f_##name(x))
#define ADX_EVERY_ROW(name, ...)  ADX_DO(ADREV_OP_##name, adx_f_##name(x, y, z))
#define ADX_EVERY_DERIVED(name, ...)                                        \
    ADX_DO(ADX_OP_##name, adx_f_##name(x, y, z))
#define ADX_EVERY_COMPARISON(name, operator)                                \
    ADX_DO(ADREV_OP_##name, x operator y)
#define ADX_EVERY                                                           \
    ADREV_OPS(ADX_EVERY_ROW) ADREV_STEPS(ADX_EVERY_STEP)                    \
    ADREV_COMPARISONS(ADX_EVERY_COMPARISON) ADX_EVERY_STEP(detach, )        \
    ADX_DERIVED(ADX_EVERY_DERIVED)

// The value of an operation, for use outside of loops.
ADX_APART ad_real adx_compute(uint32_t op, ad_real x, ad_real y, ad_real z)
{
    switch (op) {
#define ADX_DO(code, value) case code: return (ad_real)(value);
    ADX_EVERY
#undef ADX_DO
    case ADX_OP_chain: return adx_f_chain(x, y, z);
    default: return 0;
    }
}

#define ADX_CASE(code, fx, fy, fz)                                          \
    case code: return (ad_real)(i == 0 ? (fx) : i == 1 ? (fy) : (fz));
#define ADX_CASE_OF_ROW(name, ...)                                          \
    ADX_CASE(ADREV_OP_##name, adx_fx_##name(x, y, z, v),                    \
             adx_fy_##name(x, y, z, v), adx_fz_##name(x, y, z, v))
#define ADX_CASE_OF_OTHER(name, n, f, fx, fy, fz)                           \
    ADX_CASE(ADX_OP_##name, fx, fy, fz)
#define ADX_CASE_OF_PARTIAL(name, n, fx, fy, fz, ...)                       \
    ADX_CASE(ADX_OP_##name, fx, fy, fz)

// The partial of an operation, whose value is v, with respect to argument i.
ADX_APART ad_real adx_partial_at(uint32_t op, uint32_t i, ad_real x, ad_real y,
                                 ad_real z, ad_real v)
{
    switch (op) {
    ADREV_OPS(ADX_CASE_OF_ROW)
    ADX_CHAIN(ADX_CASE_OF_OTHER)
    ADX_OTHERS(ADX_CASE_OF_OTHER)
    ADX_PARTIALS(ADX_CASE_OF_PARTIAL)
    default: return 0;
    }
}
#undef ADX_CASE
#undef ADX_CASE_OF_ROW
#undef ADX_CASE_OF_OTHER
#undef ADX_CASE_OF_PARTIAL

#define ADX_CALL_TEXT_1 "(x)"
#define ADX_CALL_TEXT_2 "(x, y)"
#define ADX_CALL_TEXT_3 "(x, y, z)"

// Name, arity, value and partials of an operation, as text.
static ADX_UNUSED const ad_op_info *adx_row_of(uint32_t op)
{
#define ADX_INFO(name, n, f, fx, fy, fz)                                    \
    { #name, n, #f, { #fx, #fy, #fz }, { 0, 0, 0, 0, 0, 0 } },
#define ADX_INFO_PARTIAL(name, n, fx, fy, fz, ...)                          \
    { #name, n, "adx_" #name ADX_CALL_TEXT_##n, { #fx, #fy, #fz },          \
      { 0, 0, 0, 0, 0, 0 } },
    static const ad_op_info derived[] = {
        ADX_CHAIN(ADX_INFO) ADX_OTHERS(ADX_INFO) ADX_PARTIALS(ADX_INFO_PARTIAL)
    };
#undef ADX_INFO
#undef ADX_INFO_PARTIAL
    return op < ADREV_OP_COUNT ? &ad_op_table()[op]
                               : &derived[op - ADREV_OP_COUNT];
}
