/* adrev_lapack.h - LAPACK's routines as statements of a recording.
 *
 *     #define ADREV_IMPLEMENTATION            // in exactly one .c file
 *     #include "adrev_lapack.h"
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         const double a[] = { 4, 1, 2, 3 }, b[] = { 1, 2 };
 *         double g[4];
 *         ad_rev A[4], B[2], x[2];
 *         ad_tape *t = ad_tape_new();
 *         ad_use(t);
 *         ad_inputs(4, a, A);
 *         ad_inputs(2, b, B);
 *         ad_lapack_solve(2, 1, A, B, x);
 *         ad_status s = ad_gradient(t, x[0], 4, A, g);
 *         printf("%s: %g, (%g, %g, %g, %g)\n", ad_message(s), ad_value(x[0]),
 *                g[0], g[1], g[2], g[3]);
 *         ad_tape_free(t);
 *     }
 *
 *     success: 0.1, (-0.03, -0.18, 0.01, 0.06)
 *
 * Compile with -llapack -lblas -lm (Debian: liblapack-dev; libopenblas-dev is
 * several times as fast, with the same names). For functions that are recorded,
 * include adrev_function.h before this header.
 *
 * Each call is one external statement (ad_external): forward and reverse
 * sweeps, recorded functions, second derivatives (ad_fn_hvp, ad_fn_hessian). A
 * sweep solves with the factors that the call has kept; a replay factors again,
 * once for all directions at a point.
 *
 * Matrices are those of the array statements of adrev.h: row by row, or with
 * strides (_s): element (i, j) of A is A[i*ars + j*acs], so that a leading
 * dimension is (ld, 1), or (1, ld) for columns. Inputs may overlap one another;
 * results may lie where inputs do. The values of recorded numbers do not lie
 * side by side, so they are gathered in any case, and that is done column by
 * column, as LAPACK wants them: no layout costs a second copy.
 *
 * A symmetric matrix is given by its lower triangle with the diagonal; what
 * lies above is not read. The derivative with respect to an element below the
 * diagonal is that of both mirrored elements together.
 *
 * Failure. A matrix with an element that is not finite, one that is singular (a
 * pivot is exactly 0), and one that is not positive definite have no factors,
 * and LAPACK says so. That is no number that could go on as an infinity or a
 * NaN, but data that cannot be used. So the call returns ADREV_ESINGULAR, the
 * tape fails with it, ad_tape_reason says what it was, and results are NaN. In
 * a recorded function the status at such a point is ADREV_EEXTERNAL. Right
 * sides that are not finite give results that are not finite. Other statuses:
 * ADREV_ESHAPE (an array is NULL, or an impossible length), ADREV_ELIMIT (more
 * than 2^28 rows or columns, 32000 for eigenvalues), ADREV_ENOMEM.
 *
 * Memory of a statement: what is said below, by malloc, freed when the
 * statement leaves the tape; on the tape about 200 bytes, and 4 per operand if
 * ids are not evenly spaced. Several threads may sweep at once.
 *
 * Formulas: M. Giles, "An extended collection of matrix derivative results for
 * forward and reverse mode algorithmic differentiation", 2008; I. Murray,
 * "Differentiation of the Cholesky decomposition", 2016.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   lapack/routines     what is called of LAPACK and BLAS
 *   lapack/statements   a call as an external statement: operands; triangles
 *   lapack/solve        A X = B, and log |det A|
 *   lapack/definite     the same of positive definite ones; Cholesky factors
 *   lapack/triangular   systems with a triangle, and with a Cholesky factor
 *   lapack/eigen        eigenvalues and eigenvectors
 *   lapack/squares      least squares
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_LAPACK_H
#define ADREV_LAPACK_H

#include "adrev.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lapack/routines.h"
#include "lapack/statements.h"
#include "lapack/solve.h"
#include "lapack/definite.h"
#include "lapack/triangular.h"
#include "lapack/eigen.h"
#include "lapack/squares.h"

#endif
