/* adrev_sundials.h - ordinary differential equations by CVODES, differential-
 * algebraic ones by IDAS, and nonlinear equations by KINSOL, all of SUNDIALS,
 * with exact derivatives: Jacobians (dense, banded, sparse), products with
 * them, sensitivities, and adjoint problems.
 *
 *     #include "adrev_sundials.h"
 *
 *     ad_system *s = ad_system_ode(f, NULL, 3, 2);        // adrev_system.h
 *     SUNContext_Create(NULL, &context);
 *     N_Vector y = N_VMake_Serial(3, start, context);
 *     void *cvodes = CVodeCreate(CV_BDF, context);
 *     ad_cvodes_init(cvodes, s, 0, y);
 *     CVodeSStolerances(cvodes, 1e-8, 1e-10);
 *     SUNMatrix A = SUNDenseMatrix(3, 3, context);
 *     SUNLinearSolver solver = SUNLinSol_Dense(y, A, context);
 *     ad_cvodes_linear_solver(cvodes, solver, A);
 *     CVode(cvodes, 40, y, &t, CV_NORMAL);
 *     ... ad_system_status(s) ...
 *
 * Debian: libsundials-dev (6.4); link with -lsundials_cvodes,
 * -lsundials_idas or -lsundials_kinsol, and -lsundials_nvecserial.
 *
 * What SUNDIALS has calls for (tolerances, steps, output) stays with these.
 * Vectors are serial, OpenMP or Pthreads ones: all numbers in one place. Where
 * there is no finite value, SUNDIALS is told of a recoverable error and tries a
 * shorter step; when the model has stopped, of one that ends it, and
 * ad_system_status says why. The user data of the solver is the system: it is
 * yours, serves one solver at a time, and must outlive it. Vectors, matrices
 * and linear solvers stay yours. Solvers with systems of their own may run in
 * several threads. An evaluation on a path that is known allocates nothing.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   sundials/matrices   codes, matrices and products, which the solvers share
 *   sundials/cvodes     ODEs, their sensitivities and adjoint problems
 *   sundials/idas       DAEs, and their sensitivities
 *   sundials/adjoint    adjoint problems of DAEs
 *   sundials/kinsol     nonlinear equations
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_SUNDIALS_H
#define ADREV_SUNDIALS_H

#include "adrev_system.h"

#include <cvodes/cvodes.h>
#include <idas/idas.h>
#include <kinsol/kinsol.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

ADX_STATIC_ASSERT(sizeof(sunrealtype) == sizeof(double),
                  "adrev_sundials.h: SUNDIALS has to compute with double");

#include "sundials/matrices.h"
#include "sundials/cvodes.h"
#include "sundials/idas.h"
#include "sundials/adjoint.h"
#include "sundials/kinsol.h"

#endif
