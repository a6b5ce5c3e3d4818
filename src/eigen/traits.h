#pragma once

/* === eigen/traits ===========================================================
 * What Eigen wants to know of a number: its limits, what its operations cost,
 * and of which type the result is where plain numbers mix with ours.
 *
 * ========================================================================== */

namespace Eigen {

// An operation costs a load or two and the write to the tape.
template <class Number> struct adx_traits : GenericNumTraits<Number>
{
    typedef Number Real;
    typedef Number NonInteger;
    typedef Number Nested;
    typedef Number Literal;
    enum {
        IsComplex = 0, IsInteger = 0, IsSigned = 1, RequireInitialization = 0,
        ReadCost = 2, AddCost = 8, MulCost = 8
    };
    static Real dummy_precision()
    {
        return NumTraits<ad_real>::dummy_precision();
    }
};

template <> struct NumTraits<ad_rev> : adx_traits<ad_rev> { };
template <> struct NumTraits<ad_fwd> : adx_traits<ad_fwd> { };

// Eigen's functions of numbers are also given expressions.
#if ADX_FUSES
#define ADX_DEFINE(N)                                                       \
    template <> struct NumTraits<ad_expr_##N> : adx_traits<ad_rev> { };
ADX_WIDTHS(ADX_DEFINE)
ADX_DEFINE(0)
#undef ADX_DEFINE
template <> struct NumTraits<ad_expr_dual> : adx_traits<ad_fwd> { };
#endif

template <class Operation>
struct ScalarBinaryOpTraits<ad_rev, ad_real, Operation>
    { typedef ad_rev ReturnType; };
template <class Operation>
struct ScalarBinaryOpTraits<ad_real, ad_rev, Operation>
    { typedef ad_rev ReturnType; };
template <class Operation>
struct ScalarBinaryOpTraits<ad_fwd, ad_real, Operation>
    { typedef ad_fwd ReturnType; };
template <class Operation>
struct ScalarBinaryOpTraits<ad_real, ad_fwd, Operation>
    { typedef ad_fwd ReturnType; };

} // namespace Eigen
