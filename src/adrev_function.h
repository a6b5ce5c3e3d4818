/* adrev_function.h - functions recorded once, evaluated anywhere.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_function.h"       // before adrev.h
 *
 * A function is run once and kept as a program of elementary operations. Its
 * value and its derivatives at any point are computed from the program:
 *
 *     #include <stdio.h>
 *
 *     static void f(const ad_rev *x, ad_rev *y, void *ctx)
 *     {
 *         (void)ctx;
 *         y[0] = ad_rec(ad_mul(ad_exp(x[0]), ad_sin(x[1])));
 *     }
 *
 *     int main(void)
 *     {
 *         ad_fn *fn;
 *         const double at[] = { 0, 0 }, x[] = { 1, 2 }, one = 1;
 *         double y, g[2], H[4];
 *         if (ad_fn_record(&fn, f, NULL, 2, at, 1) != ADREV_OK
 *             || ad_fn_gradient(fn, x, &y, g) != ADREV_OK
 *             || ad_fn_hessian(fn, x, &one, H) != ADREV_OK)
 *             return 1;
 *         printf("%.4f (%.4f, %.4f)\n", y, g[0], g[1]);
 *         printf("%.4f %.4f %.4f %.4f\n", H[0], H[1], H[2], H[3]);
 *         ad_fn_free(fn);
 *     }
 *
 *     2.4717 (2.4717, -1.1312)
 *     2.4717 -1.1312 -1.1312 -2.4717
 *
 * A program has no branches: every comparison that f made is kept as a guard.
 * Where a guard comes out differently, the answer is ADREV_EPATH and nothing is
 * written. Record the function again at that point, or let ad_traced do it.
 *
 * Derivatives are programs, too: the rows of the operator table are read as
 * formulas (function/emit), so differentiating a program yields a program.
 * adrev_code.h, which this header includes, writes programs as C code, as
 * machine code and as files.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   function/api          the interface
 *   core/hash             XXH3, by xxHash or its specification
 *   function/program      a program in memory
 *   function/unique       finds nodes that compute the same
 *   function/emit         adds nodes; reads the operator table as formulas
 *   function/copy         copies nodes from one program into another
 *   function/tangents     derivation: tangents
 *   function/adjoints     derivation: adjoints
 *   function/matrices     programs of whole matrices
 *   function/record       records a function by the trace hook
 *   function/places       which place a number has in a machine
 *   function/arrays       replays array nodes
 *   function/run          replays a machine at a point, or in lanes
 *   function/functions    ad_fn, with its programs and machines
 *   function/evaluation   values and derivatives at one point; calls
 *   function/directions   several rows or columns at once
 *   function/points       many points, block by block
 *   function/paths        guards, and functions with branches
 *   function/taylor       Taylor coefficients
 *   function/compare      finds what a recording does not see
 *   function/pattern      which entries of a matrix may be nonzero
 *   function/colour       which rows or columns share a direction
 *   function/plans        the entries of a sparse matrix
 *   function/dense        dense Jacobians and Hessians
 *   function/export       sparse matrices in the forms that solvers take
 *   function/life         functions are recorded, chosen, derived and freed
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#ifndef ADREV_TRACE
#define ADREV_TRACE 1
#endif
#include "adrev.h"

#if ADREV_FIXED
#error "adrev_function.h needs tapes that grow: not with ADREV_FIXED"
#endif

#ifdef ADX_TRACE_UNSET
#error define ADREV_TRACE as 1 (or 0) before the first header of adrev
#endif

#ifndef ADREV_FUNCTION_H
#define ADREV_FUNCTION_H

#include "function/api.h"

#endif // ADREV_FUNCTION_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_FUNCTION_IMPLEMENTED
#define ADREV_FUNCTION_IMPLEMENTED

#ifdef ADREV_BULK_IMPLEMENTED
#error order: adrev_function.h before adrev_bulk.h and adrev_loop.h
#endif

#include <stdatomic.h>

#include "core/hash.h"
#include "function/program.h"
#include "function/unique.h"
#include "function/emit.h"
#include "function/copy.h"
#include "function/tangents.h"
#include "function/adjoints.h"
#include "function/matrices.h"
#include "function/record.h"
#include "function/places.h"
#include "function/arrays.h"
#include "function/run.h"
#include "function/functions.h"
#include "function/evaluation.h"
#include "function/directions.h"
#include "function/points.h"
#include "function/paths.h"
#include "function/taylor.h"
#include "function/compare.h"
#include "function/pattern.h"
#include "function/colour.h"
#include "function/plans.h"
#include "function/dense.h"
#include "function/export.h"
#include "function/life.h"

#endif // ADREV_FUNCTION_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION

#include "adrev_code.h"
