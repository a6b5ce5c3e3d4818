/* adrev_parallel.h - fork and join, and a parallel reverse pass.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_parallel.h"       // includes adrev.h
 *
 * Each branch records what it computes. The reverse pass forks where the
 * program joined, and joins where it forked:
 *
 *     #include <stdio.h>
 *
 *     static ad_rev x, part[4];
 *
 *     static void branch(size_t i, void *ctx)
 *     {
 *         (void)ctx;
 *         part[i] = ad_rec(ad_sin(ad_mul(x, i + 1)));
 *     }
 *
 *     int main(void)
 *     {
 *         ad_pool *pool = ad_pool_new(0);
 *         ad_tape *t = ad_tape_new();
 *         if (ad_pool_use(pool) != ADREV_OK)
 *             return 1;
 *         ad_use(t);
 *         x = ad_input(0.5);
 *         ad_fork_n(4, branch, NULL);
 *         double g = 0;
 *         ad_status s = ad_gradient(t, ad_sum(4, part), 1, &x, &g);
 *         printf("%s: dy/dx = %.6f\n", ad_message(s), g);
 *         ad_tape_free(t);
 *         ad_pool_free(pool);
 *     }
 *
 *     success: dy/dx = 0.505811
 *
 * The gradient has the same bits with any number of threads, under every
 * schedule, and without a pool. A branch may use every value from before its
 * fork, and what follows the join may use the values of the branches. Two
 * branches of a fork may not use each other's values: that is ADREV_ERACE, in
 * whatever order they ran.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   parallel/api       the interface
 *   core/hash          XXH3, by xxHash or its specification
 *   parallel/threads   what is used of the system; deques
 *   parallel/pool      threads that steal work; how they sleep
 *   parallel/tasks     the tree of tasks of a recording
 *   parallel/imports   values of other tasks
 *   parallel/team      the tapes of a recording; rewinding
 *   parallel/sweep     sweeps of branches; parallel Jacobians
 *   parallel/forks     forks, branches and joins
 *   parallel/graph     the job graph: spans, predictions, drawing
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#if defined __wasi__ && !defined _REENTRANT
#error adrev_parallel.h needs threads, which WASI has not: use adrev.h alone
#endif

#include "adrev.h"

#if ADREV_FIXED
#error "adrev_parallel.h needs tapes that grow: not with ADREV_FIXED"
#endif

#ifndef ADREV_PARALLEL_H
#define ADREV_PARALLEL_H

#include "parallel/api.h"

#endif // ADREV_PARALLEL_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_PARALLEL_IMPLEMENTED
#define ADREV_PARALLEL_IMPLEMENTED

#if defined ADREV_FUNCTION_IMPLEMENTED || defined ADREV_BULK_IMPLEMENTED    \
    || defined ADREV_TENSOR_IMPLEMENTED || defined ADREV_MPI_IMPLEMENTED
#error order: adrev_parallel.h before the other headers, which run on its pool
#endif

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#if !defined _WIN32
#include <unistd.h>
#endif

#include "core/hash.h"
#include "parallel/threads.h"
#include "parallel/pool.h"
#include "parallel/tasks.h"
#include "parallel/imports.h"
#include "parallel/team.h"
#include "parallel/sweep.h"
#include "parallel/forks.h"
#include "parallel/graph.h"

#endif // ADREV_PARALLEL_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
