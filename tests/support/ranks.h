// SPDX-License-Identifier: MIT-0
/* ranks.h - programs on several ranks. Include it after check.h.
 *
 *     ranks_begin(&argc, &argv);
 *     return ranks_done("grad");       rank 0 prints the line of all ranks    */

#ifndef ADREV_TESTS_RANKS_H
#define ADREV_TESTS_RANKS_H

#include <stdlib.h>
#include <string.h>

// The distance of 1 from the next number.
#define EPSILON                                                             \
    (sizeof(ad_real) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON)

static int ranks_rank;
static int ranks_size;

static inline void ranks_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_size);
}

// The first `size` ranks; MPI_COMM_NULL on the others.
static inline MPI_Comm ranks_first(int size)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, ranks_rank < size ? 0 : MPI_UNDEFINED,
                   ranks_rank, &comm);
    return comm;
}

static inline int ranks_done(const char *name)
{
    long mine[2] = { check_passed, check_failed };
    long all[2] = { 0, 0 };
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (ranks_rank == 0)
        printf("%s: %ld passed, %ld failed\n", name, all[0], all[1]);
    fflush(stdout);
    MPI_Finalize();
    return all[1] != 0;
}

#endif
