/* adrev_mpi.h - gradients of programs that run on many machines.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_mpi.h"            // includes adrev.h and <mpi.h>
 *
 *     mpicc -std=c11 main.c -lm && mpirun -n 4 ./a.out
 *
 * A sum whose parts the ranks share, with the same bits on any number of ranks:
 *
 *     #include <stdio.h>
 *
 *     static ad_rev misfit(size_t i, const ad_rev *x, void *ctx)
 *     {
 *         (void)ctx;
 *         double t = 0.1 * (double)i;                 // datum i
 *         return ad_rec(ad_sqr(ad_sub(ad_mul(x[0], ad_exp(ad_mul(x[1], -t))),
 *                                     2 / (1 + t))));
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *         const double x[] = { 2, 0.5 };
 *         double y = 0, g[2] = {0};
 *         MPI_Init(&argc, &argv);
 *         ad_mpi *c = ad_mpi_new(MPI_COMM_WORLD);
 *         ad_status s = ad_mpi_grad(c, 100, misfit, NULL, 2, x, &y, g);
 *         if (ad_mpi_rank(c) == 0)
 *             printf("%s: %.6f, gradient %.6f %.6f\n", ad_message(s), y, g[0],
 *                    g[1]);
 *         ad_mpi_free(c);
 *         MPI_Finalize();
 *     }
 *
 *     success: 2.599281, gradient 3.108554 5.190782
 *
 * A header of its own, which adrev_all.h does not include, because it needs an
 * implementation of MPI: Open MPI and MPICH are tested. Where adrev_parallel.h
 * is included before, each rank uses its pool of threads.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   mpi/api          the interface
 *   mpi/context      what a rank knows of the others; how it waits
 *   mpi/agreement    how a rank that fails stops the others
 *   mpi/messages     numbers that go from rank to rank
 *   mpi/ranks        making and freeing a communicator
 *   mpi/parts        parts of a sum, and the tree by which they are added
 *   mpi/sums         sums over ranks, by a tree or by slices
 *   mpi/grad         value and gradient of a sum of parts
 *   mpi/statements   what statements with messages have in common; their sweeps
 *   mpi/exchanges    messages between two ranks, and halos
 *   mpi/collectives  between all: pieces of arrays, broadcasts, reductions
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev.h"

#if ADREV_FIXED
#error "adrev_mpi.h needs tapes that grow: not with ADREV_FIXED"
#endif

#ifndef ADREV_MPI_H
#define ADREV_MPI_H

// MPI's own functions for C++ are not needed; they went out of MPI long ago.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include "mpi/api.h"

#endif // ADREV_MPI_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_MPI_IMPLEMENTED
#define ADREV_MPI_IMPLEMENTED

#include <sched.h>

#include "mpi/context.h"
#include "mpi/agreement.h"
#include "mpi/messages.h"
#include "mpi/ranks.h"
#include "mpi/parts.h"
#include "mpi/sums.h"
#include "mpi/grad.h"
#include "mpi/statements.h"
#include "mpi/exchanges.h"
#include "mpi/collectives.h"

#endif // ADREV_MPI_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
