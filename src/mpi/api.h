#pragma once

/* === mpi/api ================================================================
 * Derivatives of programs that run on several ranks: the types, and every
 * public function with its contract.
 *
 * All functions of a communicator are called by the thread that called
 * MPI_Init_thread (MPI_THREAD_FUNNELED), or by one thread if that was not
 * asked for. Those that are called *collective* are called by all ranks, in the
 * same order.
 *
 * A failure on one rank ends what is under way on all of them: the rank that
 * failed has its own status, the others ADREV_EREMOTE. It ends what comes after
 * it, too, up to the next collective query or ad_mpi_agree; from there on
 * communicator and tapes are usable again. No rank waits for one that failed.
 *
 * ========================================================================== */

#ifdef __cplusplus
extern "C" {
#endif

// ADREV_MPI_SLICE   numbers from which sums go by slices.    default 100000
//   Below, sums over ranks go up a tree: 2 log2(ranks) messages one after the
//   other. From there on each rank adds up a slice: 2 (ranks - 1) short ones.
//   The bits are the same. In the file with ADREV_IMPLEMENTATION, alike on all
//   ranks.
#ifndef ADREV_MPI_SLICE
#define ADREV_MPI_SLICE 100000
#endif

// ADREV_MPI_PIECE   numbers of a message, at most.            default 131072
//   What is longer goes in pieces. In the file with ADREV_IMPLEMENTATION, alike
//   on all ranks.
#ifndef ADREV_MPI_PIECE
#define ADREV_MPI_PIECE 131072
#endif

// Ranks that compute together.
typedef struct ad_mpi ad_mpi;

// What ad_mpi_grad adds up: part `part`, at x.
typedef ad_rev ad_part_fn(size_t part, const ad_rev *x, void *ctx);

// Told of progress: so many parts of all are done. false: stop.
typedef bool ad_mpi_watch_fn(size_t done, size_t parts, void *user);

/* --- ranks --------------------------------------------------------------- */

// Ranks of a communicator, which is duplicated, so that messages are apart from
// those of the program. MPI must have been initialised. Collective.
//
//   returns      to be freed with ad_mpi_free; NULL on all ranks: one of them
//                is out of memory, or MPI is not initialised
//   memory       1 MiB, and 200 bytes for each rank
//   see          docs/mpi.md, tests/mpi/grad.c
ADX_API ad_mpi *ad_mpi_new(MPI_Comm comm);

// The same with the caller's allocator, which is copied.
ADX_API ad_mpi *ad_mpi_new_with(MPI_Comm comm, const ad_allocator *allocator);

// Frees it, before MPI_Finalize. Statements that use it must not be swept any
// more. Collective. NULL is allowed.
ADX_API void ad_mpi_free(ad_mpi *c);

// The calling rank, and how many there are; of NULL 0 and 1.
ADX_API int ad_mpi_rank(const ad_mpi *c);
ADX_API int ad_mpi_size(const ad_mpi *c);

// Whether all ranks are well. After a failure this makes the communicator
// usable again: messages that are under way are thrown away, and requests end.
// Collective.
//
//   mine         in    what this rank has to say, ADREV_OK if it is well
//
//   returns      ADREV_OK if it is on all ranks; mine; the failure of a
//                statement since the last query; ADREV_EREMOTE: of another rank
//   cost         2 log2(ranks) messages one after the other
ADX_TRY ad_status ad_mpi_agree(ad_mpi *c, ad_status mine);

// What ended the last query or call: a sentence; never NULL.
ADX_API const char *ad_mpi_reason(const ad_mpi *c);

// Messages that this rank has sent so far: statements, sweeps and sums, not
// what statuses take.
ADX_API uint64_t ad_mpi_messages(const ad_mpi *c);

/* --- sums of parts ------------------------------------------------------- */

// Value and gradient of a sum of parts: y = f(0, x) + f(1, x) + ..., each part
// by one rank. The result has the same bits whatever the number of ranks and of
// threads, because parts are added in a binary tree over their numbers, not
// over ranks. Collective.
//
//   parts        in    at least 1, the same on all ranks. Have a few hundred
//                      rather than one for each rank: then loads even out
//   f            in    called for each part, with all of x. It records on the
//                      tape that is current, and leaves no other current. With
//                      a pool (adrev_parallel.h, ad_pool_use), several threads
//                      of a rank call it at once
//   x    [n]     in    the same on all ranks
//   y            out   the sum; may be NULL
//   g    [n]     out   g[i] = dy/dx[i]; NULL: the value alone
//
//   returns      ADREV_OK, with y and g the same on all ranks; ADREV_ESHAPE: an
//                array or f is NULL, or ranks disagree on n or parts;
//                ADREV_EPASSIVE: no part depends on x; ADREV_ENOMEM; the status
//                of a part's recording; ADREV_EEXTERNAL: ad_mpi_watch_fn said
//                stop; ADREV_EREMOTE: one of these on another rank
//   cost         of each part, recording and sweep, and an addition of n
//                numbers; then the sum over ranks (ADREV_MPI_SLICE)
//   memory       the tape of one part; up to 2 log2(parts) vectors of n numbers
//   see          ad_mpi_range, docs/mpi.md
ADX_TRY ad_status ad_mpi_grad(ad_mpi *c, size_t parts, ad_part_fn *f,
                              void *ctx, size_t n, const ad_real x[],
                              ad_real *y, ad_real g[]);

// The parts that this rank computes: *begin to *end - 1. So it can read their
// data, and no other. Unless ad_mpi_balance is on, they never change.
ADX_API void ad_mpi_range(const ad_mpi *c, size_t parts, size_t *begin,
                          size_t *end);

// on: parts move between ranks from call to call, so that all ranks take the
// same time as measured in the call before. f must then be able to compute
// every part on every rank. No bit of the results changes. Alike on all ranks.
ADX_API void ad_mpi_balance(ad_mpi *c, bool on);

// Has rank 0 told how many parts all ranks have done, about every `seconds`,
// between two of its own parts and while it waits. NULL: nobody is told.
// On all ranks; only rank 0 is told.
ADX_API void ad_mpi_watch(ad_mpi *c, double seconds, ad_mpi_watch_fn *watch,
                          void *user);

#ifdef __cplusplus
}
#endif
