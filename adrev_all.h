/* Made from src/ by `make headers`: changes belong there. */
/* adrev_all.h - all headers of adrev, in an order that works.          0.1.0
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_all.h"            // link with -lm -pthread
 *
 * Functions can be recorded (adrev_function.h) and forks run on all threads
 * (adrev_parallel.h). Recording a tape is a little slower in a file of which
 * that is true: see ADREV_TRACE in adrev.h. In files without recorded functions
 * define ADREV_TRACE as 0 before, or include only what they use.
 *
 * Two headers wait for what they need. adrev_eigen.h joins if Eigen has been
 * included before, in C++. adrev_real.h joins if ADREV_SOURCE is defined, and
 * this header may be included again for each such file. adrev_mpi.h, which
 * needs an implementation of MPI, is never included here.
 *
 * `make single` joins all of this into one file, adrev_single.h, which is used
 * in the same way.
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#ifndef ADREV_TRACE
#define ADREV_TRACE 1
#endif

#if !defined __wasi__ || defined _REENTRANT     // which has threads
#include "adrev_parallel.h"         // first: the others run on its pool
#endif
#include "adrev_function.h"         // before what records and compiles by it
#include "adrev_assemble.h"
#include "adrev_loop.h"
#include "adrev_implicit.h"
#include "adrev_struct.h"
#include "adrev_tensor.h"

#if defined __cplusplus && defined EIGEN_WORLD_VERSION
#include "adrev_eigen.h"
#endif

#ifdef ADREV_SOURCE
#include "adrev_real.h"
#endif
