/* Made from src/ by `make headers`: changes belong there. */
/* adrev_eigen.h - numbers of adrev in matrices of Eigen.              0.1.0
 *
 *     #include "adrev_eigen.h"          // in C++; ADREV_IMPLEMENTATION in C
 *
 *     typedef Eigen::Matrix<ad_rev, Eigen::Dynamic, 1> vector;
 *
 *     ad_rev f(const Eigen::MatrixXd &A, const vector &x)
 *     {
 *         return (A * x - x).squaredNorm();
 *     }
 *
 * Products, norms, decompositions (LU, QR, LLT, LDLT, eigenvalues) are recorded
 * as Eigen computes them: a statement for each of its operations, or for a few.
 * Where there is one, an array statement of adrev on x.data() is cheaper by
 * far, and so is ad_external for the solution of equations. Plain matrices mix
 * with recorded ones, or forward ones, element by element, and A * x is a
 * product with a recorded vector x; other products want A.lazyProduct(B), or
 * A.cast<ad_rev>() * B.
 *
 * An Eigen expression refers to its operands, those of adrev do not: what Eigen
 * says of `auto` holds here, too.
 *
 *   see          examples/21_elbow.cpp, tests/cpp/eigen.cpp, docs/cpp.md
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   eigen/traits   what Eigen wants to know of a number
 *
 * SPDX-License-Identifier: MIT-0           (the text stands at the end)
 */

#include "adrev.h"

#ifndef ADREV_EIGEN_H
#define ADREV_EIGEN_H

#ifndef __cplusplus
#error "adrev_eigen.h is for C++"
#endif

#include <Eigen/Core>

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

#endif // ADREV_EIGEN_H

/* ===========================================================================
 * MIT No Attribution (MIT-0)
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to
 * deal in the Software without restriction, including without limitation the
 * rights to use, copy, modify, merge, publish, distribute, sublicense, and/or
 * sell copies of the Software, and to permit persons to whom the Software is
 * furnished to do so.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING
 * FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS
 * IN THE SOFTWARE.
 * ======================================================================== */
