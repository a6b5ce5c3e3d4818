/* adrev - automatic differentiation for C11.                          0.1.0
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev.h"
 *
 * Record a computation, sweep it once backwards, read the gradient:
 *
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         ad_tape *t = ad_tape_new();
 *         ad_use(t);
 *         ad_rev x = ad_input(1.5);
 *         ad_rev y = ad_rec(ad_mul(x, ad_sin(x)));
 *         double g = 0;
 *         ad_status s = ad_gradient(t, y, 1, &x, &g);
 *         printf("%s: y = %.6f, dy/dx = %.6f\n", ad_message(s),
 *                ad_value(y), g);
 *         ad_tape_free(t);
 *     }
 *
 *     success: y = 1.496242, dy/dx = 1.103601          sin x + x cos x
 *
 * Operators build an expression; ad_rec records the whole expression as one
 * statement on the tape of the calling thread. Plain C numbers are constants,
 * and so is what is computed from constants alone: they have no derivative. The
 * same operators on ad_fwd are forward mode, which needs no tape. In C++ one
 * writes ad_rev y = x * sin(x); (docs/cpp.md).
 *
 * Not included: complex numbers, GPU.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   core/config         switches; what compilers spell differently
 *   cpp/members         C++: constructors and conversions of numbers
 *   core/types          numbers, statuses, statistics; conventions
 *   core/operations     the operator table: values, partials, kinks
 *   core/api            the interface: every public function
 *   number/recording    the thread's recording; numbers and their ids
 *   number/expression   expressions, and how one becomes a statement
 *   number/operators    operators on expressions
 *   number/called       operators as function calls, without fusing
 *   number/fronts       what users write: ad_mul, ad_rec
 *   cpp/operators       C++: operators on numbers and expressions
 *   cpp/library         C++: functions of <cmath>, numeric_limits
 *   tape/layout         entries, blocks, jobs and failures of a tape
 *   tape/memory         blocks, or fixed memory; memory that is kept
 *   tape/entries        entries that are not statements: inputs
 *   tape/hooks          values of other recordings; trace hooks
 *   tape/apart          statements that are unusual
 *   tape/life           how a tape is made, cleared, rewound, freed
 *   tape/walk           from entry to entry; sizes
 *   sweep/sweep         the loops of reverse and forward sweeps
 *   sweep/queries       gradients, pullbacks, Jacobians of a recording
 *   sweep/session       ad_grad and ad_jac
 *   core/special        long functions: digamma, Bessel functions
 *   core/incomplete     the incomplete gamma functions
 *   core/beta           the incomplete beta functions
 *   core/cells          reads the cells of the operator table as operations
 *   core/exported       the operator table as data; operators by code
 *   array/operands      views of arrays, and how their ids are stored
 *   array/linear        statements that are sums of terms
 *   array/sums          sums, norms, operations on elements, softmax
 *   array/products      products of matrices
 *   array/external      forms without strides; ad_external
 *   check/differences   differences, and how they are judged
 *   check/examine       ad_check
 *   check/explain       what is not finite; where a number comes from
 *   check/tie           whether numbers that are equal are so nearby, too
 *   check/print         dumps, and the report of ad_check
 *
 * SPDX-License-Identifier: MIT-0           (the text stands at the end)
 */

#ifndef ADREV_H
#define ADREV_H

#if !defined __cplusplus                                                    \
    && (!defined __STDC_VERSION__ || __STDC_VERSION__ < 201112L)
#error adrev needs C11 or later: compile with -std=c11
#endif

// When gcc reports a mistake, it shows each macro on the way to it, three lines
// at a time, except for macros of a system header. For work on adrev itself
// ADREV_STRICT brings these lines back, and warnings about the header.
#if defined __GNUC__ && !defined __clang__ && !defined ADREV_STRICT
#pragma GCC system_header
#endif

#define ADREV_VERSION_MAJOR 0
#define ADREV_VERSION_MINOR 1
#define ADREV_VERSION_PATCH 0
#define ADREV_VERSION       "0.1.0"
#define ADREV_VERSION_NUMBER                                                \
    (ADREV_VERSION_MAJOR * 10000 + ADREV_VERSION_MINOR * 100               \
     + ADREV_VERSION_PATCH)

#include "core/config.h"
#include "cpp/members.h"
#include "core/types.h"
#include "core/operations.h"
#include "core/api.h"
#include "number/recording.h"
#include "number/expression.h"
#include "number/operators.h"
#include "number/called.h"
#include "number/fronts.h"
#include "cpp/operators.h"
#include "cpp/library.h"

#endif // ADREV_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_IMPLEMENTED
#define ADREV_IMPLEMENTED

#ifdef __cplusplus
#error "compile the file that defines ADREV_IMPLEMENTATION as C"
#endif

#include "tape/layout.h"
#include "tape/memory.h"
#include "tape/entries.h"
#include "tape/hooks.h"
#include "tape/apart.h"
#include "tape/life.h"
#include "tape/walk.h"
#include "sweep/sweep.h"
#include "sweep/queries.h"
#include "sweep/session.h"
#include "core/special.h"
#include "core/incomplete.h"
#include "core/beta.h"
#include "core/cells.h"
#include "core/exported.h"
#if ADREV_FIXED < 2
#include "array/operands.h"
#include "array/linear.h"
#include "array/sums.h"
#include "array/products.h"
#include "array/external.h"
#endif
#include "check/differences.h"
#include "check/examine.h"
#include "check/explain.h"
#include "check/tie.h"
#include "check/print.h"

#endif // ADREV_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION

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
