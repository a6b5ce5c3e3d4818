/* Made from src/ by `make headers`: changes belong there. */
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
 * If an MPI function fails and does not end the program (MPI_ERRORS_RETURN),
 * the communicator is broken: the rank tells all others, each call there
 * returns ADREV_EREMOTE, and ad_mpi_free is the only one that is left.
 * docs/mpi.md says what MPI must still do for that.
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
//                is out of memory; MPI is not initialised; the files with
//                ADREV_IMPLEMENTATION were compiled with other switches; it is
//                an intercommunicator
//   memory       1 MiB, and 220 bytes for each rank
//   see          docs/mpi.md, tests/mpi/grad.c
ADX_API ad_mpi *ad_mpi_new(MPI_Comm comm);

// The same with the caller's allocator, which is copied.
//
//   threads      with a pool, several threads of a rank call it at once in
//                ad_mpi_grad, as in a fork (adrev_parallel.h)
ADX_API ad_mpi *ad_mpi_new_with(MPI_Comm comm, const ad_allocator *allocator);

// Frees it, before MPI_Finalize. Statements that use it must not be swept any
// more. Collective. NULL is allowed. Of a broken one, memory that MPI may still
// read is not freed. Cost: two short messages to each other rank.
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

// Whether `mine` is true on all ranks, and none has failed. Collective. Unlike
// ad_mpi_agree it may be called in the middle of a sweep: in the `agree` of a
// scan's store, whose adjoints all ranks must have, or none (ad_store).
//
//   returns      of c NULL: mine
//   see          docs/mpi.md, tests/mpi/killed.c
ADX_API bool ad_mpi_all(ad_mpi *c, bool mine);

// What ended the last query or call: a sentence; never NULL. After a success it
// says so. If a part of a sum failed, it is the reason of that part's tape
// (ad_fail), whose text must then outlive the part.
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
//                      tape that is current, and leaves no other current.
//                      Statements and queries of any ad_mpi fail there. With
//                      a pool (adrev_parallel.h, ad_pool_use), several threads
//                      of a rank call it at once
//   x    [n]     in    the same on all ranks
//   y            out   the sum; may be NULL
//   g    [n]     out   g[i] = dy/dx[i]; NULL: the value alone
//
//   returns      ADREV_OK, with y and g the same on all ranks; ADREV_ESHAPE: an
//                array or f is NULL, or ranks disagree on n or parts;
//                ADREV_EPASSIVE: no part depends on x; ADREV_ENOMEM; the status
//                of a part's recording; ADREV_EBUSY: a part uses an ad_mpi;
//                ADREV_EEXTERNAL: ad_mpi_watch_fn said stop; ADREV_EREMOTE: one
//                of these on another rank
//   cost         of each part, recording and sweep, and an addition of n
//                numbers; then the sum over ranks (ADREV_MPI_SLICE)
//   memory       the tape of one part; up to 2 log2(parts) vectors of n
//                numbers. With a pool both for each thread, and the vectors
//                for each of 4 chunks a thread; and a copy of each vector that
//                is sent, until it is taken
//   see          ad_mpi_range, docs/mpi.md
ADX_TRY ad_status ad_mpi_grad(ad_mpi *c, size_t parts, ad_part_fn *f,
                              void *ctx, size_t n, const ad_real x[],
                              ad_real *y, ad_real g[]);

// The parts that this rank computes: *begin to *end - 1. So it can read their
// data, and no other. They change only while ad_mpi_balance is on.
ADX_API void ad_mpi_range(const ad_mpi *c, size_t parts, size_t *begin,
                          size_t *end);

// on: parts move between ranks from call to call, so that all ranks take the
// same time as measured in the call before. f must then be able to compute
// every part on every rank. No bit of the results changes. Alike on all ranks.
ADX_API void ad_mpi_balance(ad_mpi *c, bool on);

// Makes rank 0 call `watch` with how many parts all ranks have done, about
// every `seconds`, between two of its own parts and while it waits. All ranks
// make this call. The function may use a tape of its own; calls of an ad_mpi
// fail in it (ADREV_EBUSY). NULL: none is called.
ADX_API void ad_mpi_watch(ad_mpi *c, double seconds, ad_mpi_watch_fn *watch,
                          void *user);

/* --- statements --------------------------------------------------------------
 * Each call is one statement on the tape of every rank that makes it, recorded
 * even if all numbers are constants; without a tape, values are exchanged and
 * nothing is recorded. A number that is received is a variable of its own, on
 * each rank. In a reverse sweep each message comes back as adjoints, in the
 * reverse order; in a forward sweep it goes again, with tangents. No sweep
 * waits for itself where the program did not.
 *
 * Sweep by ad_mpi_gradient and its kin: in other sweeps these statements fail
 * (ADREV_EEXTERNAL; ad_mpi_reason says so), and so do those of another ad_mpi
 * than that of the query: a recording has one. They may stand in ad_checkpoint
 * and ad_scan, if all ranks run the same steps, with the same schedule; what a
 * step starts, the same step finishes. Before a query all requests have been
 * waited for (with ADREV_DEBUG it fails otherwise: ADREV_ESHAPE). Recorded
 * functions and maps refuse them (ADREV_EHOOK), so no query gives second
 * derivatives across ranks; docs/mpi.md has a way to H v. Branches of a fork
 * and parts of ad_mpi_grad refuse them, too (ADREV_EBUSY).
 *
 * All return, and leave on the tape if they fail, in which case results are NaN
 * (but x of a halo or a broadcast may stay as it was):
 *
 *   ADREV_OK
 *   ADREV_ESHAPE     an array, a rank or a length is impossible; two sides of
 *                    one rank have the same key; or the message that came has
 *                    another length, or is of another statement
 *   ADREV_ENOMEM     also for messages that are under way
 *   ADREV_EHOOK, ADREV_EBUSY     where such a statement cannot be
 *   ADREV_EREMOTE    another rank failed. What was started before a failure
 *                    ends so, too, if it is waited for after the agreement;
 *                    but then the tape is well, and no rank is stopped
 *   the status of a tape that failed before, which ends the call on all ranks
 *
 * Memory: about 150 bytes, 64 for each message (of gatherv, scatterv,
 * allgatherv and alltoallv: for each rank), 4 for each number that is sent
 * unless ids are evenly spaced. Cost: as forward, with a copy of the numbers.
 */

// What goes to a neighbour, and what comes from there, by indices of one array.
typedef struct ad_mpi_side {
    int rank;               // the neighbour; MPI_PROC_NULL: there is none
    size_t sends;
    const size_t *from;     // [sends] numbers that go there
    size_t receives;
    const size_t *to;       // [receives] where those that come from there go
    int send_key;           // 0 to 63: what is sent with a key is received with
    int receive_key;        // it. Two sides of one rank have different ones
} ad_mpi_side;

// Something that has been started.
typedef struct ad_mpi_request ad_mpi_request;

// Exchanges the borders of a domain: for each side, x[from] go to the
// neighbour, and x[to] become what it sent. All is sent before anything is
// received. In a periodic domain both neighbours may be the same rank, or this
// one: so give what goes to the left another key than what goes to the right.
//
//   side [sides] in    read during the call only
//   x    [n]     in/out  no index twice in all of `to`
//   see          tests/mpi/plate.c
ADX_API ad_status ad_mpi_halo(ad_mpi *c, size_t sides,
                              const ad_mpi_side side[], size_t n, ad_rev x[]);

// The same in two steps, between which the inner points can be computed.
//
//   request      out   to be finished, once; NULL on failure
ADX_API ad_status ad_mpi_halo_start(ad_mpi *c, size_t sides,
                                    const ad_mpi_side side[], size_t n,
                                    const ad_rev x[],
                                    ad_mpi_request **request);
ADX_API ad_status ad_mpi_halo_finish(ad_mpi *c, ad_mpi_request **request,
                                     size_t n, ad_rev x[]);

// Sends x to one rank and receives y from another, or from the same.
//
//   to, from     in    MPI_PROC_NULL: nothing goes, or comes (y stays)
//   y   [m]      out   not x
ADX_API ad_status ad_mpi_sendrecv(ad_mpi *c, int to, size_t n,
                                  const ad_rev x[], int from, size_t m,
                                  ad_rev y[]);

// Between two ranks messages are taken in the order in which they were sent.
// A sender does not wait, unless more than 64 MiB of its messages are under
// way.
ADX_API ad_status ad_mpi_send(ad_mpi *c, int to, size_t n, const ad_rev x[]);
ADX_API ad_status ad_mpi_recv(ad_mpi *c, int from, size_t m, ad_rev y[]);

// The same in two steps. Receives take messages in the order of ad_mpi_irecv,
// in whatever order they are waited for. x may be changed at once; y is written
// by ad_mpi_wait.
//
//   request      out   to be waited for, once, which sets it to NULL
ADX_API ad_status ad_mpi_isend(ad_mpi *c, int to, size_t n, const ad_rev x[],
                               ad_mpi_request **request);
ADX_API ad_status ad_mpi_irecv(ad_mpi *c, int from, size_t m, ad_rev y[],
                               ad_mpi_request **request);
ADX_API ad_status ad_mpi_wait(ad_mpi *c, ad_mpi_request **request);

// What follows is collective.

// x of rank `root` goes to all others.
//
//   x   [n]      in/out  on `root` as it was; elsewhere overwritten
ADX_API ad_status ad_mpi_bcast(ad_mpi *c, int root, size_t n, ad_rev x[]);

// How numbers of all ranks become one, element by element. Of MIN and MAX tied
// ranks share the derivative equally, and NaN counts as missing, as for ad_min
// and ad_max. Derivatives of PROD are right at zeros.
typedef enum ad_mpi_op {
    ADREV_MPI_SUM, ADREV_MPI_PROD, ADREV_MPI_MIN, ADREV_MPI_MAX
} ad_mpi_op;

// y = the sum (or else) of the x of all ranks, on `root` or on all. Elsewhere y
// is not used. The bits depend on the number of ranks, not on when they come.
//
//   y   [n]      out   may be x
ADX_API ad_status ad_mpi_reduce(ad_mpi *c, ad_mpi_op op, int root, size_t n,
                                const ad_rev x[], ad_rev y[]);
ADX_API ad_status ad_mpi_allreduce(ad_mpi *c, ad_mpi_op op, size_t n,
                                   const ad_rev x[], ad_rev y[]);

// The arrays of all ranks, one behind the other, on `root` or on all.
//
//   x   [n]          in    what this rank has
//   count [ranks]    in    how many numbers each rank has; gatherv: on `root`
//   y   [sum]        out   not x; gatherv: on `root`
ADX_API ad_status ad_mpi_gatherv(ad_mpi *c, int root, size_t n,
                                 const ad_rev x[], const size_t count[],
                                 ad_rev y[]);
ADX_API ad_status ad_mpi_allgatherv(ad_mpi *c, size_t n, const ad_rev x[],
                                    const size_t count[], ad_rev y[]);

// The other way: each rank gets a piece of x of `root`.
//
//   count [ranks], x [sum]   in    on `root`
//   y   [n]                  out   not x
ADX_API ad_status ad_mpi_scatterv(ad_mpi *c, int root, const size_t count[],
                                  const ad_rev x[], size_t n, ad_rev y[]);

// Each rank sends a piece of x to each rank, in the order of ranks, and y has
// what they sent here.
//
//   sends, receives [ranks]  in    numbers that go to each rank, and come from
//                                  it
ADX_API ad_status ad_mpi_alltoallv(ad_mpi *c, const size_t sends[],
                                   const ad_rev x[], const size_t receives[],
                                   ad_rev y[]);

/* --- derivatives of a distributed recording ---------------------------------
 * All are collective. t is the tape of this rank, x are its own inputs, and
 * their number may differ from rank to rank. Every number is a variable of its
 * own on each rank: if all ranks have the same y (ad_mpi_allreduce), the
 * derivative is that of rank 0's y, and no gradient is too large by the number
 * of ranks.
 *
 *   returns      ADREV_OK; those of the queries of adrev.h with the same name;
 *                what failed while t was recorded; ADREV_ESHAPE: ranks ask for
 *                different things; ADREV_ELIMIT: more messages overtake each
 *                other than MPI has tags (2^31 with Open MPI); ADREV_EREMOTE:
 *                another rank failed. Outputs are untouched then, but for J
 *   cost         as the query of one rank, the messages, and two agreements
 *   see          docs/mpi.md, tests/mpi/plate.c                              */

// Gradient of y of rank 0 with respect to the inputs of all ranks.
//
//   y            in    looked at on rank 0 only
//   g   [n]      out   with respect to x of this rank
ADX_TRY ad_status ad_mpi_gradient(ad_mpi *c, ad_tape *t, ad_rev y, size_t n,
                                  const ad_rev x[], ad_real g[]);

// Adjoints of the inputs of all ranks for weights of outputs of all ranks.
//
//   y   [m]      in    outputs of this rank; m may be 0
//   dy  [m]      in    their weights
//   dx  [n]      out
ADX_TRY ad_status ad_mpi_pullback(ad_mpi *c, ad_tape *t, size_t m,
                                  const ad_rev y[], const ad_real dy[],
                                  size_t n, const ad_rev x[], ad_real dx[]);

// Tangents of the outputs of all ranks along a direction of all inputs.
//
//   dx  [n]      in    the direction's part of this rank
//   dy  [m]      out   tangents of y of this rank
ADX_TRY ad_status ad_mpi_pushforward(ad_mpi *c, ad_tape *t, size_t n,
                                     const ad_rev x[], const ad_real dx[],
                                     size_t m, const ad_rev y[], ad_real dy[]);

// Derivatives of the m outputs of rank 0 with respect to the inputs of all
// ranks, 8 rows at a time.
//
//   m            in    alike on all ranks
//   y   [m]      in    looked at on rank 0 only
//   J [m x n]    out   with respect to x of this rank; on failure some rows may
//                      be written
ADX_TRY ad_status ad_mpi_jacobian(ad_mpi *c, ad_tape *t, size_t m,
                                  const ad_rev y[], size_t n,
                                  const ad_rev x[], ad_real J[]);

#ifdef __cplusplus
}
#endif

#endif // ADREV_MPI_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_MPI_IMPLEMENTED
#define ADREV_MPI_IMPLEMENTED

#include <sched.h>

/* === mpi/context ============================================================
 * What a rank knows of the others, and how it waits for them. There are two
 * communicators: one for the numbers of statements and sums, one for what ranks
 * tell each other about themselves.
 *
 * Messages are found by MPI_Iprobe and then received, and MPI's collective
 * operations are not used, for three reasons. A rank that waits can be told
 * that another has failed, and stop waiting. The length of a message is known
 * before it is written anywhere. And a rank that waits lets others run that
 * share its processor.
 *
 *   needs   parallel/pool mpi/api
 *   offers  adx_mpi_word ADX_MPI_WORDS ADX_MPI_BY_ID ADX_MPI_ID_TAGS
 *           ADX_MPI_LAST_ID ADX_MPI_NOTE ADX_MPI_DONE ADX_MPI_CALL
 *           ADX_MPI_SAID ADX_MPI_TREE ADX_MPI_SLOTS ADX_MPI_MEET
 *           adx_mpi_parcel adx_mpi_exchange adx_mpi_flag adx_mpi_count
 *           adx_mpi_real adx_mpi_ok adx_mpi_arrived adx_mpi_rest
 *           adx_mpi_finished adx_mpi_status_of ADX_MPI_APART adx_mpi_in_part
 *           adx_mpi_is_apart adx_mpi_ready
 * ========================================================================== */

// What ranks tell each other about themselves, as seven words.
typedef struct adx_mpi_word {
    uint64_t epoch;             // of the one who says it
    uint64_t status;
    uint64_t print;             // what is asked for, and its sizes
    uint64_t sent;              // messages with numbers, to the one who is told
    uint64_t said[3];           // words with the tags below ADX_MPI_SAID
} adx_mpi_word;

#define ADX_MPI_WORDS 7

_Static_assert(sizeof(adx_mpi_word) == ADX_MPI_WORDS * sizeof(uint64_t),
               "adx_mpi_word must be seven words without gaps");
_Static_assert(ADREV_MPI_PIECE <= 100000000,
               "ADREV_MPI_PIECE is out of range");

// Adjoints and tangents have the tags from here on: ADX_MPI_ID_TAGS of them, if
// MPI has so many.
#define ADX_MPI_BY_ID 1024
#ifndef ADX_MPI_ID_TAGS
#define ADX_MPI_ID_TAGS INT32_MAX
#endif

// The largest id of a message. A float has all integers up to this one.
#define ADX_MPI_LAST_ID (sizeof(ad_real) > 4 ? UINT32_MAX : 0xffffffu)

// Tags of the second communicator.
enum {
    ADX_MPI_NOTE,               // the rank has failed: to all others
    ADX_MPI_DONE,               // parts that it has done: to rank 0
    ADX_MPI_CALL,               // the collective statement that it makes: to
                                // the next rank
    ADX_MPI_SAID,               // up to here words that need not be read soon
    ADX_MPI_TREE = ADX_MPI_SAID,    // up and down the tree of an agreement
    ADX_MPI_SLOTS,              // up to here one of each can be under way
    ADX_MPI_MEET = ADX_MPI_SLOTS,   // how many messages the rank has sent
    ADX_MPI_BROKEN              // MPI has failed there, or it was told so
};

// A message that is being sent. Its memory is that of the requests of its
// pieces, and its numbers, if they are not the caller's.
typedef struct adx_mpi_parcel adx_mpi_parcel;
struct adx_mpi_parcel {
    adx_mpi_parcel *next;
    size_t n;                   // numbers
    size_t pieces;
    MPI_Request request[];      // [pieces]
};

typedef struct adx_mpi_exchange adx_mpi_exchange;   // mpi/statements

// Something that has been started: the links whose messages will be received.
// Its memory is also that of their numbers.
struct ad_mpi_request {
    ad_mpi_request *next;
    ad_mpi *c;
    adx_mpi_exchange *exchange; // NULL: it was a send
    bool *got;                  // [links]
    ad_real *v;                 // numbers that have come
    size_t m;                   // how many will
    size_t *to;                 // halo: [m] where they go; else NULL
    ad_rev *y;                  // irecv: where they go
    uint64_t failures;          // of the communicator, when it was started
};

#ifdef ADREV_PARALLEL_IMPLEMENTED
typedef atomic_bool adx_mpi_flag;
typedef atomic_size_t adx_mpi_count;
#else
typedef bool adx_mpi_flag;
typedef size_t adx_mpi_count;
#endif

struct ad_mpi {
    ad_allocator memory;
    MPI_Comm data;
    MPI_Comm control;
    int rank, size;

    // Epochs are the times between agreements. What is told says in which it
    // was said: what is old does not count any more.
    uint64_t epoch;
    ad_status own;              // what failed on this rank in this epoch
    bool stopped;               // a rank has failed in this epoch
    bool broken;                // an MPI function failed, here or elsewhere:
                                // nothing works any more
    const char *why;            // what ended the last call

    adx_mpi_word *met;          // [size] what others said when they met; epoch
                                // 0: nothing yet
    uint64_t *sent;             // [size] messages with numbers, to each rank
    uint64_t *taken;            // [size] from each rank
    uint64_t messages;          // of statements, sweeps and sums
    adx_mpi_word *meeting;      // [size] what this rank said to them then
    MPI_Request *told;          // [2*size] notes of this epoch; then `meeting`
    MPI_Request saying[ADX_MPI_SLOTS];  // words that may not have been read yet
    adx_mpi_word word[ADX_MPI_SLOTS];   // they, by tag; and the note
    uint64_t said[ADX_MPI_SAID];    // how many, by tag
    uint64_t *heard;            // [ADX_MPI_SAID*size] how many were read here
    adx_mpi_parcel *going;      // messages that may not have been taken yet
    size_t going_numbers;
    ad_real *spare;             // [ADREV_MPI_PIECE] fronts, and what is thrown
                                // away
    uint32_t *next_id;          // [size] of the next message to each rank
    uint32_t id_tags;           // tags by which ids are found
    ad_mpi_request *posted;     // what has been started, oldest first
    uint64_t failures;          // agreements that ended what had been started
    ad_real *room;              // [room_size] rows of adjoints that come
    size_t room_size;
    bool summing;               // parts of a sum are being computed
    unsigned sum_stamp;         // of its messages: 24 bits, as a float has
    adx_mpi_flag refused;       // a branch or a part of another sum was; the
                                // others are not told yet
    uint64_t *keys;             // [2*size] of the sides of a halo; 0 between
                                // calls

    // Sums of parts.
    size_t parts;               // for which the cuts are; 0: none
    uint64_t *cut;              // [size + 1] rank r has cut[r] ... cut[r+1] - 1
    uint64_t *cut_next;         // [size + 1] those of the next call
    bool balance;
    uint64_t *done;             // [size] parts that ranks have done
    ad_mpi_watch_fn *watch;
    void *watch_user;
    double watch_seconds;
    double watch_told;          // when it was told last
    uint64_t watch_parts;       // of the sum that is going on; 0: of none
};

// The type of a number.
static MPI_Datatype adx_mpi_real(void)
{
    return sizeof(ad_real) == sizeof(double) ? MPI_DOUBLE : MPI_FLOAT;
}

// Gives up the communicator. MPI says nothing of what works after a failure, so
// nothing is tried any more but to tell the others, once. Each of them tells
// all others, too: so one such message is enough for each rank.
ADX_COLD static void adx_mpi_break(ad_mpi *c, const char *why)
{
    static const adx_mpi_word word = {0};
    if (c->broken)
        return;
    c->broken = true;
    c->stopped = true;
    c->why = why;
    for (int r = 0; r < c->size; r++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (r != c->rank
            && MPI_Isend(&word, ADX_MPI_WORDS, MPI_UINT64_T, r, ADX_MPI_BROKEN,
                         c->control, &request) == MPI_SUCCESS
            && request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);     // nobody waits for it
    }
}

// Whether an MPI function worked. (By default MPI ends the program if not.)
static bool adx_mpi_ok(ad_mpi *c, int code)
{
    if (code != MPI_SUCCESS)
        adx_mpi_break(c, "an MPI function failed: the communicator cannot be "
                      "used any more");
    return code == MPI_SUCCESS;
}

// Whether a message is there.
static bool adx_mpi_arrived(ad_mpi *c, MPI_Comm comm, int from, int tag,
                            MPI_Status *status)
{
    int there = 0;
    return adx_mpi_ok(c, MPI_Iprobe(from, tag, comm, &there, status))
        && there != 0;
}

// Between two looks at messages. The first ones follow at once, since most
// messages are there soon; then others may have the processor. Where a message
// does not come for long, MPI may have failed on a rank.
static void adx_mpi_rest(ad_mpi *c, unsigned looks)
{
    MPI_Status status;
    if (looks % 64 == 63 && !c->broken
        && adx_mpi_arrived(c, c->control, MPI_ANY_SOURCE, ADX_MPI_BROKEN,
                           &status))
        adx_mpi_break(c, "MPI failed on another rank: the communicator cannot "
                      "be used any more");
    if (looks > 64)
        sched_yield();
}

// Whether n requests are finished; wait: until they are. MPI_Wait would go on
// waiting if MPI has failed on the other rank.
static bool adx_mpi_finished(ad_mpi *c, size_t n, MPI_Request request[],
                             bool wait)
{
    unsigned looks = 0;
    for (size_t i = 0; i < n && !c->broken;) {
        int done = 0;
        adx_mpi_ok(c, MPI_Test(&request[i], &done, MPI_STATUS_IGNORE));
        if (done == 0 && !wait)
            return false;
        if (done == 0)
            adx_mpi_rest(c, looks++);
        i += done != 0;
    }
    return !c->broken;
}

// What a call returns in the present state.
static ad_status adx_mpi_status_of(const ad_mpi *c)
{
    return c->own != ADREV_OK ? c->own
         : c->stopped || c->broken ? ADREV_EREMOTE : ADREV_OK;
}

#define ADX_MPI_APART "a branch of a fork, or a part of ad_mpi_grad, cannot " \
                      "exchange messages with other ranks"

// Whether this thread computes a part of a sum.
static ADX_THREAD bool adx_mpi_in_part;

// Whether this is a branch, which may run on any thread.
static bool adx_mpi_in_branch(void)
{
    const ad_tape *t = adx_now.tape;
#ifdef ADREV_PARALLEL_IMPLEMENTED
    if (t == NULL)
        return adx_mine.inside > 0;
#endif
    return t != NULL && t->open > 0;
}

// Whether this is a part of a sum, of c or of another one, or a branch.
static bool adx_mpi_is_apart(const ad_mpi *c)
{
    return c->summing || adx_mpi_in_part || adx_mpi_in_branch();
}

// Whether all ranks can be asked for something. They cannot in a part of a sum,
// where other ranks compute other parts, nor in a branch: neither calls MPI, as
// this may be one of several threads. A part fails, and its sum tells the
// others; those that a branch has, or another ad_mpi, are told at the next
// call.
static ad_status adx_mpi_ready(ad_mpi *c)
{
    if (c == NULL)
        return ADREV_ENOTAPE;
    if (!adx_mpi_is_apart(c))
        return ADREV_OK;
    if (!c->summing)
        c->refused = true;
    return ad_fail(ADREV_EBUSY, ADX_MPI_APART);
}

/* === mpi/agreement ==========================================================
 * How a rank that fails stops the others, and how all of them come together
 * again.
 *
 * A rank that fails sends a note to each other one. Who waits for a message
 * looks for notes, too, and gives up; it goes on to the next agreement, as the
 * program does after an error. An agreement ends an epoch: all ranks learn the
 * worst status. If it is not ADREV_OK, they tell each other how many messages
 * with numbers they have sent in all, and throw away those that nobody has
 * taken, and do the same with words. So nothing is left of what failed. No rank
 * waits for its own words to be read before it has read those of others: MPI
 * need not keep any.
 *
 * Who looks for notes also tells of the progress of a sum, if that is wanted.
 *
 * Where an MPI function fails, there are no agreements any more: see
 * adx_mpi_break (mpi/context). Whoever waits looks for that, too.
 *
 * A note can come early: from a rank that fails right after an agreement, to
 * one that still waits in it. So as many notes are read in an agreement as the
 * rank says that it has sent; those of the next epoch are there when it has
 * begun.
 *
 *   needs   tape/memory mpi/api mpi/context
 *   offers  adx_mpi_say adx_mpi_hear adx_mpi_stop adx_mpi_begin_watch
 *           adx_mpi_look adx_mpi_reap adx_mpi_agree
 * ========================================================================== */

/* --- notes --------------------------------------------------------------- */

static void adx_mpi_send_word(ad_mpi *c, int to, int tag,
                              const adx_mpi_word *word, MPI_Request *request)
{
    adx_mpi_ok(c, MPI_Isend(word, ADX_MPI_WORDS, MPI_UINT64_T, to, tag,
                            c->control, request));
}

// Says a word with a tag below ADX_MPI_SLOTS. The one before with this tag must
// have been read: c->saying[tag].
static void adx_mpi_say(ad_mpi *c, int to, int tag, adx_mpi_word word)
{
    c->word[tag] = word;
    if (tag < ADX_MPI_SAID)
        c->said[tag]++;
    adx_mpi_send_word(c, to, tag, &c->word[tag], &c->saying[tag]);
}

// Reads a word that has arrived.
static adx_mpi_word adx_mpi_hear(ad_mpi *c, int from, int tag)
{
    adx_mpi_word word = {0};
    if (tag < ADX_MPI_SAID)
        c->heard[tag * c->size + from]++;
    adx_mpi_ok(c, MPI_Recv(&word, ADX_MPI_WORDS, MPI_UINT64_T, from, tag,
                           c->control, MPI_STATUS_IGNORE));
    return word;
}

// Fails: this rank now, the others as soon as they look. ADREV_EREMOTE is no
// failure of its own.
ADX_COLD static void adx_mpi_stop(ad_mpi *c, ad_status status, const char *why)
{
    if (c->own == ADREV_OK && status != ADREV_EREMOTE)
        c->own = status;
    if (c->stopped)
        return;                 // they know
    c->why = why == NULL ? ad_message(status) : why;
    c->stopped = true;
    c->said[ADX_MPI_NOTE]++;
    c->word[ADX_MPI_NOTE] = (adx_mpi_word){ .epoch = c->epoch,
                                            .status = (uint64_t)status };
    for (int r = 0; r < c->size && !c->broken; r++)
        if (r != c->rank)
            adx_mpi_send_word(c, r, ADX_MPI_NOTE, &c->word[ADX_MPI_NOTE],
                              &c->told[r]);
}

/* --- progress of a sum --------------------------------------------------- */

ADX_API void ad_mpi_watch(ad_mpi *c, double seconds, ad_mpi_watch_fn *watch,
                          void *user)
{
    if (c == NULL)
        return;
    c->watch = watch;
    c->watch_user = user;
    c->watch_seconds = seconds;
}

static void adx_mpi_begin_watch(ad_mpi *c, uint64_t parts)
{
    memset(c->done, 0, (size_t)c->size * sizeof *c->done);
    c->watch_parts = c->watch == NULL ? 0 : parts;
    c->watch_told = MPI_Wtime();
}

// The other ranks tell rank 0 how many parts they have done, if it has read
// what they told it before.
static void adx_mpi_tell_first(ad_mpi *c)
{
    if (!adx_mpi_finished(c, 1, &c->saying[ADX_MPI_DONE], false))
        return;
    adx_mpi_say(c, 0, ADX_MPI_DONE, (adx_mpi_word){
        .epoch = c->epoch, .status = c->done[c->rank] });
}

// Rank 0 tells the user what all have done.
static void adx_mpi_tell_user(ad_mpi *c)
{
    MPI_Status status;
    while (!c->broken && adx_mpi_arrived(c, c->control, MPI_ANY_SOURCE,
                                         ADX_MPI_DONE, &status)) {
        adx_mpi_word word = adx_mpi_hear(c, status.MPI_SOURCE, ADX_MPI_DONE);
        if (word.epoch == c->epoch)
            c->done[status.MPI_SOURCE] = word.status;
    }
    uint64_t sum = 0;
    for (int r = 0; r < c->size; r++)
        sum += c->done[r];
    if (!c->watch((size_t)sum, (size_t)c->watch_parts, c->watch_user))
        adx_mpi_stop(c, ADREV_EEXTERNAL,
                     "ad_mpi_watch: the function said stop");
}

// Tells of progress when it is time.
static void adx_mpi_tell(ad_mpi *c)
{
    double now = MPI_Wtime();
    if (now - c->watch_told < c->watch_seconds)
        return;
    c->watch_told = now;
    if (c->rank == 0)
        adx_mpi_tell_user(c);
    else
        adx_mpi_tell_first(c);
}

// Fails if something was refused where other ranks could not be told.
static void adx_mpi_tell_refused(ad_mpi *c)
{
    if (!c->refused)
        return;
    c->refused = false;
    adx_mpi_stop(c, ADREV_EBUSY, ADX_MPI_APART);
}

// Reads notes. Returns whether to go on.
static bool adx_mpi_look(ad_mpi *c)
{
    MPI_Status status;
    adx_mpi_tell_refused(c);
    if (c->watch_parts > 0 && !c->stopped)
        adx_mpi_tell(c);
    while (!c->broken && adx_mpi_arrived(c, c->control, MPI_ANY_SOURCE,
                                         ADX_MPI_NOTE, &status)) {
        adx_mpi_word note = adx_mpi_hear(c, status.MPI_SOURCE, ADX_MPI_NOTE);
        if (note.epoch == c->epoch && !c->stopped) {
            c->stopped = true;
            c->why = ad_message(ADREV_EREMOTE);
        }
    }
    return !c->stopped && !c->broken;
}

/* --- messages that are under way ----------------------------------------- */

// Frees messages that have been taken. all: waits for them.
static void adx_mpi_reap(ad_mpi *c, bool all)
{
    adx_mpi_parcel **at = &c->going;
    while (*at != NULL && !c->broken) {
        adx_mpi_parcel *p = *at;
        if (!adx_mpi_finished(c, p->pieces, p->request, all)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        c->going_numbers -= p->n;
        adx_drop(&c->memory, p);
    }
}

// Throws away what has been sent to this rank and not been taken.
static void adx_mpi_drain(ad_mpi *c)
{
    MPI_Status status;
    unsigned looks = 0;
    for (int r = 0; r < c->size && !c->broken; r++)
        while (c->taken[r] < c->met[r].sent && !c->broken) {
            if (!adx_mpi_arrived(c, c->data, r, MPI_ANY_TAG, &status)) {
                adx_mpi_rest(c, looks++);
                continue;
            }
            adx_mpi_ok(c, MPI_Recv(c->spare, ADREV_MPI_PIECE, adx_mpi_real(),
                                   r, status.MPI_TAG, c->data,
                                   MPI_STATUS_IGNORE));
            c->taken[r]++;
        }
    adx_mpi_reap(c, true);
}

/* --- agreements ---------------------------------------------------------- */

static adx_mpi_word adx_mpi_await_word(ad_mpi *c, int from, int tag)
{
    MPI_Status status;
    unsigned looks = 0;
    while (!c->broken && !adx_mpi_arrived(c, c->control, from, tag, &status))
        adx_mpi_rest(c, looks++);
    return c->broken ? (adx_mpi_word){0} : adx_mpi_hear(c, from, tag);
}

// The worse of two. ADREV_EREMOTE only says that there is a worse one.
static uint64_t adx_mpi_worse(uint64_t a, uint64_t b)
{
    return a == ADREV_OK || (a == ADREV_EREMOTE && b != ADREV_OK) ? b : a;
}

// Says a word of the tree. Whoever it is for waits for it, now or soon.
static void adx_mpi_pass(ad_mpi *c, int to, adx_mpi_word word)
{
    adx_mpi_say(c, to, ADX_MPI_TREE, word);
    adx_mpi_finished(c, 1, &c->saying[ADX_MPI_TREE], true);
}

// The worst status of all ranks, by a binomial tree; and whether one asks for
// something else than another.
static ad_status adx_mpi_tree(ad_mpi *c, ad_status mine, uint64_t print,
                              bool *differ)
{
    adx_mpi_word word = { .epoch = c->epoch, .status = (uint64_t)mine,
                          .print = print };
    int stride = 1;
    for (; (c->rank & stride) == 0 && stride < c->size; stride *= 2)
        if (c->rank + stride < c->size) {
            adx_mpi_word other = adx_mpi_await_word(c, c->rank + stride,
                                                    ADX_MPI_TREE);
            word.status = adx_mpi_worse(word.status, other.status);
            word.sent |= other.sent | (other.print != print);
        }
    if (c->rank != 0 && !c->broken) {
        adx_mpi_pass(c, c->rank - stride, word);
        word = adx_mpi_await_word(c, c->rank - stride, ADX_MPI_TREE);
    }
    for (stride /= 2; stride > 0 && !c->broken; stride /= 2)
        if (c->rank + stride < c->size)
            adx_mpi_pass(c, c->rank + stride, word);
    *differ = word.sent != 0 && word.status == ADREV_OK;
    return c->broken ? ADREV_EREMOTE
         : *differ ? ADREV_ESHAPE : (ad_status)word.status;
}

// Tells every rank how many messages it was sent, and how many words, and waits
// for all of them.
// Returns the worst status that one of them has.
static ad_status adx_mpi_meet(ad_mpi *c, ad_status mine)
{
    uint64_t worst = (uint64_t)mine;
    for (int r = 0; r < c->size && !c->broken; r++) {
        adx_mpi_word *word = &c->meeting[r];
        *word = (adx_mpi_word){ .epoch = c->epoch + 1,
                                .status = (uint64_t)mine, .sent = c->sent[r] };
        memcpy(word->said, c->said, sizeof word->said);
        if (r == c->rank)
            c->met[r] = *word;
        else
            adx_mpi_send_word(c, r, ADX_MPI_MEET, word, &c->told[c->size + r]);
    }
    for (int r = 0; r < c->size && !c->broken; r++) {
        if (c->met[r].epoch == 0)
            c->met[r] = adx_mpi_await_word(c, r, ADX_MPI_MEET);
        worst = adx_mpi_worse(worst, c->met[r].status);
    }
    adx_mpi_finished(c, (size_t)c->size, c->told + c->size, true);
    return c->broken ? ADREV_EREMOTE : (ad_status)worst;
}

// Whether rank r says words with this tag to this one.
static bool adx_mpi_is_told(const ad_mpi *c, int r, int tag)
{
    return r != c->rank
        && (tag == ADX_MPI_NOTE || (tag == ADX_MPI_DONE && c->rank == 0)
            || (tag == ADX_MPI_CALL && (r + 1) % c->size == c->rank));
}

// Reads what others have said up to this agreement, and waits until they have
// read what this rank has said.
static void adx_mpi_hear_rest(ad_mpi *c)
{
    for (int r = 0; r < c->size; r++)
        for (int tag = 0; tag < ADX_MPI_SAID; tag++)
            while (!c->broken && adx_mpi_is_told(c, r, tag)
                   && c->heard[tag * c->size + r] < c->met[r].said[tag])
                adx_mpi_await_word(c, r, tag);
    adx_mpi_finished(c, (size_t)c->size, c->told, true);
    adx_mpi_finished(c, ADX_MPI_SAID, c->saying, true);
}

// With ADREV_DEBUG: whether all messages that were sent here have been taken.
// Says nothing where a rank has failed already.
static ad_status adx_mpi_settled(ad_mpi *c, ad_status mine, bool strict)
{
    ad_status worst = adx_mpi_meet(c, mine);
    for (int r = 0; worst == ADREV_OK && strict && r < c->size; r++)
        if (c->met[r].sent != c->taken[r]) {
            c->own = ADREV_ESHAPE;
            c->why = "a rank sent a message here that was not asked for";
            return ADREV_ESHAPE;
        }
    return mine;
}

// Ends an epoch. Returns ADREV_OK if all ranks say so, then or since the last
// agreement; the status of this rank; or ADREV_EREMOTE.
//
//   print        in    of what is asked for: other numbers for other things
//   strict       in    messages that were sent must have been taken
static ad_status adx_mpi_agree(ad_mpi *c, ad_status mine, uint64_t print,
                               bool strict)
{
    adx_mpi_tell_refused(c);
    if (mine != ADREV_OK)
        adx_mpi_stop(c, mine, NULL);
    mine = adx_mpi_status_of(c);
    if (c->broken)
        return mine;
    if (ADREV_DEBUG)
        mine = adx_mpi_settled(c, mine, strict);
    bool differ = false;
    ad_status worst = adx_mpi_tree(c, mine, print, &differ);
    if (worst != ADREV_OK && !c->broken) {
        c->failures++;
        if (!ADREV_DEBUG)
            adx_mpi_meet(c, mine);
        adx_mpi_drain(c);
        adx_mpi_hear_rest(c);
    }
    if (mine == ADREV_OK && worst != ADREV_OK && !c->broken) {
        mine = differ ? ADREV_ESHAPE : ADREV_EREMOTE;
        c->why = differ ? "ranks ask for different things, or sizes differ"
                        : ad_message(ADREV_EREMOTE);
    }
    if (mine == ADREV_OK && worst == ADREV_OK)
        c->why = ad_message(ADREV_OK);
    memset(c->met, 0, (size_t)c->size * sizeof *c->met);
    c->own = ADREV_OK;
    c->epoch++;
    c->stopped = c->broken;
    return c->broken && mine == ADREV_OK ? ADREV_EREMOTE : mine;
}

/* === mpi/messages ===========================================================
 * Numbers that go from rank to rank. Who sends does not wait: the numbers are
 * copied, and go when the other takes them. So no order of statements can make
 * a sweep wait for itself. Who receives waits until the message is there, or
 * until a rank has failed.
 *
 * A message begins with four numbers: its stamp, which says to what kind of
 * statement it belongs, its id (mpi/statements; else 0), and its length, as two
 * numbers of 24 bits and more, which a float has. So the length is right before
 * anything is written, and statements that do not belong together are noticed.
 * Messages of more than ADREV_MPI_PIECE numbers go in pieces.
 *
 *   needs   tape/memory mpi/api mpi/context mpi/agreement
 *   offers  adx_mpi_outgoing adx_mpi_post adx_mpi_relieve adx_mpi_send
 *           adx_mpi_has_gone adx_mpi_receive
 * ========================================================================== */

// Numbers that may be under way from this rank before ad_mpi_send waits: 64
// MiB.
#ifndef ADX_MPI_GOING
#define ADX_MPI_GOING ((size_t)1 << 23)
#endif

// Numbers before those of a message.
enum {
    ADX_MPI_AT_STAMP, ADX_MPI_AT_ID, ADX_MPI_AT_LENGTH, ADX_MPI_AT_MORE,
    ADX_MPI_FRONT
};

_Static_assert(ADREV_MPI_PIECE >= ADX_MPI_FRONT,
               "ADREV_MPI_PIECE must have room for the front of a message");

static size_t adx_mpi_pieces(size_t n)
{
    return (n + ADX_MPI_FRONT + ADREV_MPI_PIECE - 1) / ADREV_MPI_PIECE;
}

// Where the pieces of a message are.
static ad_real *adx_mpi_numbers(adx_mpi_parcel *p)
{
    char *end = (char *)&p->request[p->pieces];
    size_t past = (size_t)(end - (char *)p) % sizeof(ad_real);
    return (ad_real *)(void *)(end + (past == 0 ? 0 : sizeof(ad_real) - past));
}

// A message of n numbers, to be filled behind its front. NULL: this rank has
// failed.
static ad_real *adx_mpi_outgoing(ad_mpi *c, size_t n, adx_mpi_parcel **parcel)
{
    size_t pieces = adx_mpi_pieces(n);
    size_t bytes = sizeof **parcel + pieces * sizeof(MPI_Request)
                 + (n + ADX_MPI_FRONT + 1) * sizeof(ad_real);
    *parcel = n > ADX_MOST_ELEMENTS / 4 || pieces > INT32_MAX
            ? NULL : (adx_mpi_parcel *)adx_take(&c->memory, bytes, 1);
    if (*parcel == NULL) {
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
        return NULL;
    }
    (*parcel)->n = n;
    (*parcel)->pieces = pieces;
    return adx_mpi_numbers(*parcel) + ADX_MPI_FRONT;
}

// Sends it. The message frees itself.
static bool adx_mpi_post(ad_mpi *c, adx_mpi_parcel *p, int to, int tag,
                         unsigned stamp, uint32_t id)
{
    ad_real *at = adx_mpi_numbers(p);
    size_t left = p->n + ADX_MPI_FRONT;
    at[ADX_MPI_AT_STAMP] = (ad_real)stamp;
    at[ADX_MPI_AT_ID] = (ad_real)id;
    at[ADX_MPI_AT_LENGTH] = (ad_real)(p->n & 0xffffff);
    at[ADX_MPI_AT_MORE] = (ad_real)(p->n >> 24);
    for (size_t i = 0; i < p->pieces; i++)
        p->request[i] = MPI_REQUEST_NULL;
    for (size_t i = 0; i < p->pieces && !c->broken; i++) {
        int piece = (int)(left < ADREV_MPI_PIECE ? left : ADREV_MPI_PIECE);
        adx_mpi_ok(c, MPI_Isend(at, piece, adx_mpi_real(), to, tag, c->data,
                                &p->request[i]));
        c->sent[to]++;
        at += piece;
        left -= (size_t)piece;
    }
    c->messages++;
    c->going_numbers += p->n;
    p->next = c->going;
    c->going = p;
    adx_mpi_reap(c, false);
    return !c->stopped;
}

// Waits while too much is under way. Only where nobody waits for what this rank
// does next: a statement that sends and receives would wait for itself.
static bool adx_mpi_relieve(ad_mpi *c)
{
    for (unsigned looks = 0; c->going_numbers > ADX_MPI_GOING
                             && adx_mpi_look(c); looks++) {
        adx_mpi_rest(c, looks);
        adx_mpi_reap(c, false);
    }
    return !c->stopped;
}

// Sends n numbers. False: a rank has failed.
static bool adx_mpi_send(ad_mpi *c, int to, int tag, unsigned stamp, size_t n,
                         const ad_real v[])
{
    adx_mpi_parcel *p;
    ad_real *at = adx_mpi_outgoing(c, n, &p);
    if (at == NULL)
        return false;
    if (n > 0)
        memcpy(at, v, n * sizeof *v);
    return adx_mpi_post(c, p, to, tag, stamp, 0);
}

/* --- receiving ----------------------------------------------------------- */

// With ADREV_DEBUG: whether that rank has gone on to an agreement without
// having failed. (If it has failed, its note is under way.)
static bool adx_mpi_has_gone(ad_mpi *c, int rank)
{
    MPI_Status status;
    adx_mpi_word *met = &c->met[rank];
    if (met->epoch == 0
        && adx_mpi_arrived(c, c->control, rank, ADX_MPI_MEET, &status))
        *met = adx_mpi_hear(c, rank, ADX_MPI_MEET);
    return met->epoch != 0 && met->status == ADREV_OK;
}

// Whether what is waited for will never come from there.
static bool adx_mpi_left(ad_mpi *c, int from)
{
    if (!adx_mpi_has_gone(c, from) || c->met[from].sent != c->taken[from])
        return false;
    adx_mpi_stop(c, ADREV_ESHAPE, "a rank waits for a message of one that went "
                 "on to a query: a call was forgotten there");
    return true;
}

// Waits for a message, whose numbers then are *n. False: a rank has failed.
static bool adx_mpi_await(ad_mpi *c, int from, int tag, int *n)
{
    MPI_Status status;
    for (unsigned looks = 0; !adx_mpi_arrived(c, c->data, from, tag, &status);
         looks++) {
        if (looks % 16 == 0 && !adx_mpi_look(c))
            return false;
        if (ADREV_DEBUG && looks % 64 == 1 && adx_mpi_left(c, from))
            return false;
        adx_mpi_rest(c, looks);
    }
    return !c->broken
        && adx_mpi_ok(c, MPI_Get_count(&status, adx_mpi_real(), n));
}

static bool adx_mpi_take_piece(ad_mpi *c, int from, int tag, int n,
                               ad_real to[])
{
    c->taken[from]++;
    return adx_mpi_ok(c, MPI_Recv(to, n, adx_mpi_real(), from, tag, c->data,
                                  MPI_STATUS_IGNORE));
}

// Whether this is the front of the message that is expected.
static bool adx_mpi_is_front(ad_mpi *c, const ad_real front[], unsigned stamp,
                             size_t n)
{
    bool kind = front[ADX_MPI_AT_STAMP] == (ad_real)stamp;
    if (kind && front[ADX_MPI_AT_LENGTH] == (ad_real)(n & 0xffffff)
        && front[ADX_MPI_AT_MORE] == (ad_real)(n >> 24))
        return true;
    adx_mpi_stop(c, ADREV_ESHAPE, kind
                 ? "a message has another length than is expected"
                 : "a message of another statement than is expected: ranks "
                   "make different calls");
    return false;
}

// Takes the message of n numbers that comes next. Its first piece goes through
// `spare`, because of its front. id: what it says there; may be NULL.
//
// False: a rank has failed; what was written until then stays.
static bool adx_mpi_receive(ad_mpi *c, int from, int tag, unsigned stamp,
                            size_t n, ad_real to[], uint32_t *id)
{
    int count = 0;
    if (!adx_mpi_look(c) || !adx_mpi_await(c, from, tag, &count)
        || !adx_mpi_take_piece(c, from, tag, count, c->spare)
        || !adx_mpi_is_front(c, c->spare, stamp, n))
        return false;
    size_t have = (size_t)count - ADX_MPI_FRONT;
    if (id != NULL)
        *id = (uint32_t)c->spare[ADX_MPI_AT_ID];
    if (have > 0)
        memcpy(to, c->spare + ADX_MPI_FRONT, have * sizeof *to);
    while (have < n) {
        if (!adx_mpi_await(c, from, tag, &count))
            return false;
        if ((size_t)count > n - have) {
            adx_mpi_stop(c, ADREV_ESHAPE, "a message has more pieces than its "
                         "length: ranks have different ADREV_MPI_PIECE");
            return false;
        }
        if (!adx_mpi_take_piece(c, from, tag, count, to + have))
            return false;
        have += (size_t)count;
    }
    return true;
}

/* === mpi/ranks ==============================================================
 * Making and freeing what a rank knows of the others.
 *
 *   needs   tape/memory mpi/api mpi/context mpi/agreement
 * ========================================================================== */

// Requests that nobody has waited for.
static void adx_mpi_free_requests(ad_mpi *c)
{
    while (c->posted != NULL) {
        ad_mpi_request *r = c->posted;
        c->posted = r->next;
        adx_drop(&c->memory, r->exchange);
        adx_drop(&c->memory, r);
    }
}

// Frees the object alone: its communicators and messages are gone.
static void adx_mpi_free_memory(ad_mpi *c)
{
    const ad_allocator memory = c->memory;
    adx_drop(&memory, c->met);
    adx_drop(&memory, c->sent);
    adx_drop(&memory, c->taken);
    adx_drop(&memory, c->meeting);
    adx_drop(&memory, c->told);
    adx_drop(&memory, c->heard);
    adx_drop(&memory, c->cut);
    adx_drop(&memory, c->cut_next);
    adx_drop(&memory, c->done);
    adx_drop(&memory, c->spare);
    adx_drop(&memory, c->next_id);
    adx_drop(&memory, c->keys);
    adx_drop(&memory, c->room);
    adx_drop(&memory, c);
}

// How many tags there are for ids: the same on all ranks. MPI has 32767 at
// least.
static uint32_t adx_mpi_count_tags(void)
{
    void *largest = NULL;
    int known = 0;
    int most = 32767;
    if (MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&largest, &known)
            == MPI_SUCCESS && known)
        most = *(const int *)largest;
    most -= ADX_MPI_BY_ID - 1;
    return (uint32_t)(most < ADX_MPI_ID_TAGS ? most : ADX_MPI_ID_TAGS);
}

// Without communicators; NULL: no memory.
static ad_mpi *adx_mpi_new_memory(const ad_allocator *memory, int rank,
                                  int size)
{
    size_t n = (size_t)size;
    ad_mpi *c = (ad_mpi *)adx_take(memory, 1, sizeof *c);
    if (c == NULL)
        return NULL;
    memset(c, 0, sizeof *c);
    c->memory = *memory;
    c->rank = rank;
    c->size = size;
    c->why = ad_message(ADREV_OK);
    for (int i = 0; i < ADX_MPI_SLOTS; i++)
        c->saying[i] = MPI_REQUEST_NULL;
    c->id_tags = adx_mpi_count_tags();
    c->met = (adx_mpi_word *)adx_take(memory, n, sizeof *c->met);
    c->sent = (uint64_t *)adx_take(memory, n, sizeof *c->sent);
    c->taken = (uint64_t *)adx_take(memory, n, sizeof *c->taken);
    c->meeting = (adx_mpi_word *)adx_take(memory, n, sizeof *c->meeting);
    c->heard = (uint64_t *)adx_take(memory, ADX_MPI_SAID * n, sizeof *c->heard);
    c->told = (MPI_Request *)adx_take(memory, 2 * n, sizeof *c->told);
    c->cut = (uint64_t *)adx_take(memory, n + 1, sizeof *c->cut);
    c->cut_next = (uint64_t *)adx_take(memory, n + 1, sizeof *c->cut_next);
    c->done = (uint64_t *)adx_take(memory, n, sizeof *c->done);
    c->next_id = (uint32_t *)adx_take(memory, n, sizeof *c->next_id);
    c->keys = (uint64_t *)adx_take(memory, 2 * n, sizeof *c->keys);
    c->spare = (ad_real *)adx_take(memory, ADREV_MPI_PIECE, sizeof *c->spare);
    if (c->meeting == NULL || c->heard == NULL
        || c->met == NULL || c->sent == NULL || c->taken == NULL
        || c->told == NULL || c->cut == NULL || c->cut_next == NULL
        || c->done == NULL || c->next_id == NULL || c->keys == NULL
        || c->spare == NULL) {
        adx_mpi_free_memory(c);
        return NULL;
    }
    memset(c->met, 0, n * sizeof *c->met);
    memset(c->sent, 0, n * sizeof *c->sent);
    memset(c->heard, 0, ADX_MPI_SAID * n * sizeof *c->heard);
    memset(c->taken, 0, n * sizeof *c->taken);
    memset(c->next_id, 0, n * sizeof *c->next_id);
    memset(c->keys, 0, 2 * n * sizeof *c->keys);
    memset(c->cut_next, 0, (n + 1) * sizeof *c->cut_next);
    for (size_t i = 0; i < 2 * n; i++)
        c->told[i] = MPI_REQUEST_NULL;
    return c;
}

// What must be the same on all ranks, as one number.
static int adx_mpi_switches(void)
{
    uint64_t h = sizeof(ad_real) + 16 * (uint64_t)ADREV_DEBUG;
    h = h * 0x9e3779b97f4a7c15u + ADREV_MPI_SLICE;
    h = h * 0x9e3779b97f4a7c15u + ADREV_MPI_PIECE;
    return (int)(h >> 34);
}

// Duplicates the communicator twice, if all ranks have memory and the same
// switches.
static bool adx_mpi_duplicate(ad_mpi *c, MPI_Comm comm)
{
    const int mine[3] = { c != NULL, adx_mpi_switches(), -adx_mpi_switches() };
    int least[3] = {0};
    if (MPI_Allreduce(mine, least, 3, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS
        || least[0] == 0 || least[1] != -least[2]
        || MPI_Comm_dup(comm, &c->data) != MPI_SUCCESS)
        return false;
    if (MPI_Comm_dup(comm, &c->control) == MPI_SUCCESS)
        return true;
    MPI_Comm_free(&c->data);
    return false;
}

ADX_API ad_mpi *ad_mpi_new_with(MPI_Comm comm, const ad_allocator *allocator)
{
    int begun = 0;
    int ended = 0;
    int rank = 0;
    int size = 0;
    int between = 0;            // two groups of ranks
    if (MPI_Initialized(&begun) != MPI_SUCCESS || !begun
        || MPI_Finalized(&ended) != MPI_SUCCESS || ended
        || comm == MPI_COMM_NULL
        || MPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between
        || MPI_Comm_rank(comm, &rank) != MPI_SUCCESS
        || MPI_Comm_size(comm, &size) != MPI_SUCCESS)
        return NULL;
    ad_mpi *c = !adx_is_allocator(allocator) ? NULL
              : adx_mpi_new_memory(allocator, rank, size);
    if (adx_mpi_duplicate(c, comm))
        return c;
    if (c != NULL)
        adx_mpi_free_memory(c);
    return NULL;
}

#ifndef ADREV_NO_STDLIB
ADX_API ad_mpi *ad_mpi_new(MPI_Comm comm)
{
    return ad_mpi_new_with(comm, &adx_libc);
}
#endif

// Whether MPI has done with n requests, as far as it still says so.
static bool adx_mpi_has_done(size_t n, MPI_Request request[])
{
    int done = 1;
    for (size_t i = 0; done != 0 && i < n; i++)
        if (MPI_Test(&request[i], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            done = 0;
    return done != 0;
}

// Frees messages that are under way where nobody takes them any more. False:
// MPI still reads one of them, or what this rank told others.
static bool adx_mpi_free_going(ad_mpi *c)
{
    while (c->going != NULL) {
        adx_mpi_parcel *p = c->going;
        if (!adx_mpi_has_done(p->pieces, p->request))
            return false;
        c->going = p->next;
        adx_drop(&c->memory, p);
    }
    return adx_mpi_has_done(ADX_MPI_SLOTS, c->saying)
        && adx_mpi_has_done(2 * (size_t)c->size, c->told);
}

// Messages that nobody has taken are thrown away, as after a failure. Memory
// that MPI may read stays, if that is broken.
ADX_API void ad_mpi_free(ad_mpi *c)
{
    if (c == NULL)
        return;
    adx_mpi_stop(c, ADREV_EREMOTE, NULL);
    ad_ignore(adx_mpi_agree(c, ADREV_EREMOTE, 0, false));
    if (!c->broken) {
        adx_mpi_ok(c, MPI_Barrier(c->control));
        MPI_Comm_free(&c->data);
        MPI_Comm_free(&c->control);
    }
    adx_mpi_free_requests(c);
    if (adx_mpi_free_going(c))
        adx_mpi_free_memory(c);
}

ADX_API int ad_mpi_rank(const ad_mpi *c)
{
    return c == NULL ? 0 : c->rank;
}

ADX_API int ad_mpi_size(const ad_mpi *c)
{
    return c == NULL ? 1 : c->size;
}

ADX_API ad_status ad_mpi_agree(ad_mpi *c, ad_status mine)
{
    ad_status status = adx_mpi_ready(c);
    return status != ADREV_OK ? status : adx_mpi_agree(c, mine, 0, false);
}

ADX_API const char *ad_mpi_reason(const ad_mpi *c)
{
    return c == NULL ? ad_message(ADREV_ENOTAPE) : c->why;
}

ADX_API uint64_t ad_mpi_messages(const ad_mpi *c)
{
    return c == NULL ? 0 : c->messages;
}

/* === mpi/parts ==============================================================
 * Parts of a sum, which rank has them, and the tree by which they are added.
 *
 * Node (level, index) of the tree is the sum of parts index*2^level to (index +
 * 1)*2^level - 1: that of its left child and its right one or, where there are
 * no parts to the right, its left child alone. So each node's bits are given by
 * the parts, whoever adds them up. What a rank has done is a *row*: the nodes
 * that make up its parts, as large as possible, from left to right. Rows of
 * neighbours become one by adding the nodes of the right one, one by one.
 *
 *   needs   tape/memory mpi/api
 *   offers  ADX_MPI_MOST_PARTS adx_mpi_node adx_mpi_row adx_mpi_take_vector
 *           adx_mpi_free_row adx_mpi_push adx_mpi_next_node adx_mpi_round
 *           adx_mpi_cuts
 * ========================================================================== */

#define ADX_MPI_MOST_PARTS ((uint64_t)1 << 48)

typedef struct adx_mpi_node {
    unsigned level;
    uint64_t index;
    ad_real *v;                 // [length]
} adx_mpi_node;

// The nodes of consecutive parts. There are at most two of a level.
typedef struct adx_mpi_row {
    const ad_allocator *memory;
    uint64_t parts;             // of the whole sum
    size_t length;              // numbers of a node
    size_t count;
    ad_real *idle;              // of a node no longer needed; or NULL
    adx_mpi_node node[100];
} adx_mpi_row;

// Memory for a node; NULL: there is none.
static ad_real *adx_mpi_take_vector(adx_mpi_row *row)
{
    ad_real *v = row->idle;
    row->idle = NULL;
    return v != NULL ? v : (ad_real *)adx_take(row->memory, row->length,
                                               sizeof *v);
}

static void adx_mpi_drop_vector(adx_mpi_row *row, ad_real *v)
{
    if (row->idle == NULL)
        row->idle = v;
    else
        adx_drop(row->memory, v);
}

static void adx_mpi_free_row(adx_mpi_row *row)
{
    for (size_t i = 0; i < row->count; i++)
        adx_drop(row->memory, row->node[i].v);
    adx_drop(row->memory, row->idle);
    row->count = 0;
    row->idle = NULL;
}

// Whether there are no parts to the right of this node.
static bool adx_mpi_is_last(const adx_mpi_node *node, uint64_t parts)
{
    return (node->index + 1) << node->level >= parts;
}

// Adds the last two nodes, if they are the children of one.
static bool adx_mpi_add_last(adx_mpi_row *row)
{
    if (row->count < 2)
        return false;
    adx_mpi_node *left = &row->node[row->count - 2];
    const adx_mpi_node *right = left + 1;
    if (left->level != right->level || left->index % 2 != 0
        || right->index != left->index + 1)
        return false;
    ad_real *restrict to = left->v;
    const ad_real *restrict from = right->v;
    for (size_t i = 0; i < row->length; i++)
        to[i] += from[i];
    left->level++;
    left->index /= 2;
    row->count--;
    adx_mpi_drop_vector(row, right->v);
    return true;
}

// The last node becomes its parent, if it has no sibling to the right.
static bool adx_mpi_raise_last(adx_mpi_row *row)
{
    adx_mpi_node *last = &row->node[row->count - 1];
    if (last->index % 2 != 0 || (last->index == 0 && row->count == 1)
        || !adx_mpi_is_last(last, row->parts))
        return false;
    last->level++;
    last->index /= 2;
    return true;
}

// Adds a node at the right end of a row, which takes over its memory.
static void adx_mpi_push(adx_mpi_row *row, adx_mpi_node node)
{
    row->node[row->count++] = node;
    while (adx_mpi_add_last(row) || adx_mpi_raise_last(row))
        continue;
}

// The first node of the row of parts from *at to `end`; *at goes behind it.
// What adx_mpi_push makes of these parts one by one is a row of these nodes.
static adx_mpi_node adx_mpi_next_node(uint64_t *at, uint64_t end,
                                      uint64_t parts)
{
    adx_mpi_node node = { .index = *at };
    for (;;) {
        const adx_mpi_node wider = { .level = node.level + 1,
                                     .index = node.index / 2 };
        uint64_t to = (wider.index + 1) << wider.level;
        bool whole = node.index == 0 && *at == 0
                  && adx_mpi_is_last(&node, parts);
        if (whole || node.index % 2 != 0
            || (to > end && (end < parts || to < parts)))
            break;
        node = wider;
    }
    uint64_t to = (node.index + 1) << node.level;
    *at = to < end ? to : end;
    return node;
}

/* --- who has which ------------------------------------------------------- */

// The number near to `ideal` that is divided by the highest power of 2: so rows
// are short. The loads of ranks differ by a sixteenth at most.
static uint64_t adx_mpi_round(uint64_t ideal, uint64_t share)
{
    uint64_t least = ideal - share / 32;
    uint64_t most = ideal + share / 32;
    uint64_t power = 1;
    while (most / (2 * power) * (2 * power) >= least && 2 * power <= most)
        power *= 2;
    return most / power * power;
}

// Parts are shared equally, unless there are cuts that were made for their
// number (mpi/grad).
static void adx_mpi_cuts(const ad_mpi *c, uint64_t parts, int rank,
                         uint64_t *begin, uint64_t *end)
{
    uint64_t size = (uint64_t)c->size;
    if (c->balance && c->parts == parts) {
        *begin = c->cut[rank];
        *end = c->cut[rank + 1];
        return;
    }
    uint64_t r = (uint64_t)rank;
    uint64_t share = parts / size;
    *begin = r == 0 ? 0 : adx_mpi_round(share * r + parts % size * r / size,
                                        share);
    r++;
    *end = r == size ? parts
         : adx_mpi_round(share * r + parts % size * r / size, share);
}

ADX_API void ad_mpi_range(const ad_mpi *c, size_t parts, size_t *begin,
                          size_t *end)
{
    uint64_t from = 0;
    uint64_t to = 0;
    if (c != NULL && parts <= ADX_MPI_MOST_PARTS)
        adx_mpi_cuts(c, parts, c->rank, &from, &to);
    *begin = (size_t)from;
    *end = (size_t)to;
}

/* === mpi/sums ===============================================================
 * The sum of the rows of all ranks, on all ranks: short nodes up a tree of
 * ranks and down again, long ones by slices, of which each rank adds up one.
 * The additions are those of the tree of parts either way.
 *
 * Ranks that disagree on the sum must not wait for each other's nodes. So the
 * stamps of messages say which sum it is, and a rank that has no nodes sends an
 * empty message in their place. Then each rank looks at a stamp of each that it
 * waits for, whatever that one does.
 *
 *   needs   mpi/api mpi/agreement mpi/messages mpi/parts
 *   offers  adx_mpi_send_sum adx_mpi_receive_sum adx_mpi_spread adx_mpi_sum
 * ========================================================================== */

#define ADX_MPI_SUM 2           // tag of messages of sums

static bool adx_mpi_send_sum(ad_mpi *c, int to, size_t n, const ad_real v[])
{
    return adx_mpi_send(c, to, ADX_MPI_SUM, c->sum_stamp, n, v);
}

static bool adx_mpi_receive_sum(ad_mpi *c, int from, size_t n, ad_real v[])
{
    return adx_mpi_receive(c, from, ADX_MPI_SUM, c->sum_stamp, n, v, NULL);
}

// Sends n numbers of each node of a row, from `begin` on.
static bool adx_mpi_send_row(ad_mpi *c, int to, const adx_mpi_row *row,
                             size_t begin, size_t n)
{
    bool well = row->count > 0 || adx_mpi_send_sum(c, to, 0, NULL);
    for (size_t i = 0; well && i < row->count; i++)
        well = adx_mpi_send_sum(c, to, n, row->node[i].v + begin);
    return well;
}

// Takes the nodes of the ranks from `from` to `to` - 1, which `from` sends, and
// adds them to the row.
static bool adx_mpi_take_row(ad_mpi *c, adx_mpi_row *row, int from, int to)
{
    uint64_t at, end, unused;
    adx_mpi_cuts(c, row->parts, from, &at, &unused);
    adx_mpi_cuts(c, row->parts, to - 1, &unused, &end);
    if (at == end)
        return adx_mpi_receive_sum(c, from, 0, NULL);
    while (at < end) {
        adx_mpi_node node = adx_mpi_next_node(&at, end, row->parts);
        node.v = adx_mpi_take_vector(row);
        if (node.v == NULL) {
            adx_mpi_stop(c, ADREV_ENOMEM, NULL);
            return false;
        }
        bool well = adx_mpi_receive_sum(c, from, row->length, node.v);
        adx_mpi_push(row, node);
        if (!well)
            return false;
    }
    return true;
}

// Sends a vector from rank 0 to all others, down a binomial tree.
static bool adx_mpi_spread(ad_mpi *c, size_t n, ad_real v[])
{
    int stride = 1;
    while ((c->rank & stride) == 0 && stride < c->size)
        stride *= 2;
    if (c->rank != 0 && !adx_mpi_receive_sum(c, c->rank - stride, n, v))
        return false;
    for (stride /= 2; stride > 0; stride /= 2)
        if (c->rank + stride < c->size
            && !adx_mpi_send_sum(c, c->rank + stride, n, v))
            return false;
    return true;
}

// Up the tree: rank r takes the rows of the ranks to its right, then sends its
// own to the left.
static bool adx_mpi_sum_by_tree(ad_mpi *c, adx_mpi_row *row)
{
    int stride = 1;
    for (; (c->rank & stride) == 0 && stride < c->size; stride *= 2) {
        int from = c->rank + stride;
        int to = from + stride < c->size ? from + stride : c->size;
        if (from < c->size && !adx_mpi_take_row(c, row, from, to))
            return false;
    }
    return c->rank == 0
        || adx_mpi_send_row(c, c->rank - stride, row, 0, row->length);
}

// The numbers of slice r: *from to *to - 1.
static size_t adx_mpi_slice(const ad_mpi *c, size_t n, int r, size_t *from)
{
    size_t size = (size_t)c->size;
    size_t at = (size_t)r;
    *from = n / size * at + n % size * at / size;
    at++;
    return n / size * at + n % size * at / size - *from;
}

// Adds up the slice of this rank in a row of its own.
static bool adx_mpi_add_slices(ad_mpi *c, const adx_mpi_row *row,
                               adx_mpi_row *slice, size_t begin)
{
    for (int r = 0; r < c->size; r++) {
        size_t own = 0;
        uint64_t at, end;
        adx_mpi_cuts(c, row->parts, r, &at, &end);
        if (at == end && r != c->rank && !adx_mpi_receive_sum(c, r, 0, NULL))
            return false;
        while (at < end) {
            adx_mpi_node node = adx_mpi_next_node(&at, end, row->parts);
            node.v = adx_mpi_take_vector(slice);
            if (node.v == NULL) {
                adx_mpi_stop(c, ADREV_ENOMEM, NULL);
                return false;
            }
            bool well = true;
            if (r == c->rank)
                memcpy(node.v, row->node[own++].v + begin,
                       slice->length * sizeof *node.v);
            else
                well = adx_mpi_receive_sum(c, r, slice->length, node.v);
            adx_mpi_push(slice, node);
            if (!well)
                return false;
        }
    }
    return true;
}

// Sends each rank its slice of the row's nodes. The ranks after this one come
// first, so that not all send to the same.
static bool adx_mpi_send_slices(ad_mpi *c, const adx_mpi_row *row)
{
    for (int k = 1; k < c->size; k++) {
        int to = (c->rank + k) % c->size;
        size_t from;
        size_t n = adx_mpi_slice(c, row->length, to, &from);
        if (!adx_mpi_send_row(c, to, row, from, n))
            return false;
    }
    return true;
}

// Sends the sum of this rank's slice to all others, and takes theirs.
static bool adx_mpi_exchange_slices(ad_mpi *c, const ad_real mine[], size_t n,
                                    ad_real all[])
{
    size_t from;
    size_t count = adx_mpi_slice(c, n, c->rank, &from);
    memcpy(all + from, mine, count * sizeof *all);
    for (int k = 1; k < c->size; k++)
        if (!adx_mpi_send_sum(c, (c->rank + k) % c->size, count, mine))
            return false;
    for (int k = 1; k < c->size; k++) {
        int r = (c->rank + c->size - k) % c->size;
        count = adx_mpi_slice(c, n, r, &from);
        if (!adx_mpi_receive_sum(c, r, count, all + from))
            return false;
    }
    return true;
}

// Each rank gets its slice of all nodes, adds them up in the tree's order, and
// sends the sum to the others. So every rank moves 2 (ranks - 1) / ranks of the
// numbers.
static bool adx_mpi_sum_by_slices(ad_mpi *c, adx_mpi_row *row, ad_real all[])
{
    size_t from;
    adx_mpi_row slice = { .memory = row->memory, .parts = row->parts };
    slice.length = adx_mpi_slice(c, row->length, c->rank, &from);
    bool well = adx_mpi_send_slices(c, row)
             && adx_mpi_add_slices(c, row, &slice, from)
             && adx_mpi_exchange_slices(c, slice.node[0].v, row->length, all);
    adx_mpi_free_row(&slice);
    return well;
}

// all[row->length]: the sum of the rows of all ranks. False: a rank has failed.
static bool adx_mpi_sum(ad_mpi *c, adx_mpi_row *row, ad_real all[])
{
    if (row->length >= ADREV_MPI_SLICE && c->size > 1)
        return adx_mpi_sum_by_slices(c, row, all);
    if (!adx_mpi_sum_by_tree(c, row))
        return false;
    if (c->rank == 0)
        memcpy(all, row->node[0].v, row->length * sizeof *all);
    return adx_mpi_spread(c, row->length, all);
}

/* === mpi/grad ===============================================================
 * Value and gradient of a sum of parts. A rank goes through its parts one by
 * one, on one tape; with a pool, in several chunks, each with a tape of its
 * own.
 *
 *   needs   number/recording tape/memory sweep/session parallel/api
 *           parallel/pool mpi/api mpi/context mpi/agreement mpi/parts mpi/sums
 *   offers  adx_mpi_print
 * ========================================================================== */

// What one call of ad_mpi_grad computes.
typedef struct adx_mpi_task {
    ad_mpi *c;
    ad_part_fn *f;
    void *ctx;
    size_t n;
    const ad_real *x;
    bool value_only;
    uint64_t parts;
    size_t length;              // of a node: the gradient, the value, and how
                                // many parts depend on x
    const adx_context *caller;  // of the thread that may call MPI
    adx_mpi_flag stop;
    adx_mpi_count done;
} adx_mpi_task;

// Consecutive parts, on one thread.
typedef struct adx_mpi_chunk {
    adx_mpi_task *task;
    uint64_t begin, end;
    ad_status status;
    const char *why;            // it failed; NULL: only the status says it
    adx_mpi_row row;
} adx_mpi_chunk;

/* --- parts --------------------------------------------------------------- */

// Value and gradient of part i, into a vector. The tape has the inputs only, as
// before.
static ad_status adx_mpi_part(const adx_mpi_task *k, ad_tape *t, uint64_t i,
                              const ad_rev in[], ad_real v[])
{
    size_t g = k->length - 2;
    ad_use(t);                  // ad_mpi_watch_fn may have left another one
    ad_rev y = k->f((size_t)i, in, k->ctx);
    ad_use(t);
    ad_status status = adx_check_results(t, 1, &y);
    if (status != ADREV_OK)
        return status;
    v[g] = y.v;
    v[g + 1] = y.job != 0 || k->value_only;
    if (k->value_only)
        return ADREV_OK;
    if (y.job != 0)
        return ad_gradient(t, y, k->n, in, v);
    memset(v, 0, g * sizeof *v);
    return ADREV_OK;
}

// After a part, on the thread that may call MPI: whether to go on.
static bool adx_mpi_between(adx_mpi_task *k)
{
    k->c->done[k->c->rank] = k->done;
    return adx_mpi_look(k->c);
}

// Does the parts of a chunk on tape t, which is current.
static ad_status adx_mpi_parts(adx_mpi_chunk *p, ad_tape *t, ad_rev in[])
{
    adx_mpi_task *k = p->task;
    ad_status status = ADREV_OK;
    adx_begin_inputs(k->n, k->x, in, k->value_only);
    adx_close_off(k->n, in);
    for (uint64_t i = p->begin; i < p->end && status == ADREV_OK; i++) {
        ad_mark mark = ad_tape_mark(t);
        ad_real *v = adx_mpi_take_vector(&p->row);
        if (v == NULL)
            return ADREV_ENOMEM;
        status = adx_mpi_part(k, t, i, in, v);
        adx_mpi_push(&p->row, (adx_mpi_node){ .index = i, .v = v });
        if (status == ADREV_OK && !adx_is_closed_off(k->n, in))
            status = ADREV_EBEYOND;
        if (status == ADREV_OK)
            status = ad_tape_rewind(t, mark);
        k->done++;
        if (&adx_now == k->caller && !adx_mpi_between(k))
            k->stop = true;
        if (k->stop)
            return status;
    }
    return status;
}

static void adx_mpi_do_chunk(adx_mpi_chunk *p)
{
    const ad_allocator *memory = &p->task->c->memory;
    ad_rev *in = (ad_rev *)adx_take(memory, p->task->n + ADX_BEYOND,
                                    sizeof *in);
    ad_tape *t = in == NULL ? NULL : ad_tape_new_with(memory);
    ad_tape *before = ad_use(t);
    bool nested = adx_mpi_in_part;      // in a branch of another part
    adx_mpi_in_part = true;
    p->status = t == NULL ? ADREV_ENOMEM : adx_mpi_parts(p, t, in);
    adx_mpi_in_part = nested;
    if (t != NULL && t->status != ADREV_OK && t->status == p->status)
        p->why = ad_tape_reason(t);
    ad_use(before);
    ad_tape_free(t);
    adx_drop(memory, in);
    if (p->status != ADREV_OK)
        p->task->stop = true;
}

// One chunk, or a few for each thread of a pool.
static size_t adx_mpi_chunks(uint64_t parts)
{
#ifdef ADREV_PARALLEL_IMPLEMENTED
    size_t threads = adx_mine.execute != NULL ? 16
                   : adx_mine.seat == NULL
                   ? 1 : (size_t)adx_mine.pool->workers + 1;
    uint64_t chunks = threads == 1 ? 1 : 4 * (uint64_t)threads;
    return (size_t)(chunks < parts ? chunks : parts > 0 ? parts : 1);
#else
    (void)parts;
    return 1;
#endif
}

static void adx_mpi_call_chunk(size_t i, void *user)
{
    adx_mpi_do_chunk((adx_mpi_chunk *)user + i);
}

// The rows of all chunks become one, that of the first; after a failure they
// are freed. So they are if the sum was stopped: then they have gaps, and
// together more nodes than a row has room for.
static ad_status adx_mpi_join_chunks(adx_mpi_task *k, size_t chunks,
                                     adx_mpi_chunk chunk[])
{
    const adx_mpi_chunk *failed = NULL;
    for (size_t i = 0; failed == NULL && i < chunks; i++)
        failed = chunk[i].status != ADREV_OK ? &chunk[i] : NULL;
    for (size_t i = 1; i < chunks; i++) {
        adx_mpi_row *row = &chunk[i].row;
        for (size_t j = 0; !k->stop && j < row->count; j++)
            adx_mpi_push(&chunk[0].row, row->node[j]);
        row->count = k->stop ? row->count : 0;
        adx_mpi_free_row(row);
    }
    if (failed == NULL)
        return ADREV_OK;
    adx_mpi_stop(k->c, failed->status, failed->why);
    return failed->status;
}

// Does the parts of this rank. They become one row, that of the first chunk.
static ad_status adx_mpi_own_parts(adx_mpi_task *k, size_t chunks,
                                   adx_mpi_chunk chunk[])
{
    uint64_t begin, end;
    adx_mpi_cuts(k->c, k->parts, k->c->rank, &begin, &end);
    for (size_t i = 0; i < chunks; i++) {
        uint64_t n = end - begin;
        chunk[i] = (adx_mpi_chunk){ .task = k,
            .begin = begin + n / chunks * i + n % chunks * i / chunks };
        chunk[i].row.memory = &k->c->memory;
        chunk[i].row.parts = k->parts;
        chunk[i].row.length = k->length;
        if (i > 0)
            chunk[i - 1].end = chunk[i].begin;
    }
    chunk[chunks - 1].end = end;
#ifdef ADREV_PARALLEL_IMPLEMENTED
    if (chunks > 1)
        ad_fork_n(chunks, adx_mpi_call_chunk, chunk);
    else
#endif
        adx_mpi_call_chunk(0, chunk);
    return adx_mpi_join_chunks(k, chunks, chunk);
}

/* --- moving parts between ranks ------------------------------------------ */

ADX_API void ad_mpi_balance(ad_mpi *c, bool on)
{
    if (c != NULL && c->balance != on) {
        c->balance = on;
        c->parts = 0;
    }
}

// New cuts, so that all ranks take as long as rank r took for each of its
// parts.
static void adx_mpi_move_cuts(const ad_mpi *c, uint64_t parts,
                              const ad_real seconds[], uint64_t cut[])
{
    double all = 0;
    double before = 0;
    uint64_t begin, end;
    int r = 0;
    for (int i = 0; i < c->size; i++)
        all += (double)seconds[i];
    cut[0] = 0;
    cut[c->size] = parts;
    for (int i = 1; i < c->size; i++) {
        double want = all * i / c->size;
        while (r + 1 < c->size && before + (double)seconds[r] < want)
            before += (double)seconds[r++];
        adx_mpi_cuts(c, parts, r, &begin, &end);
        double part = (want - before) / (double)seconds[r];
        part = part > 0 ? part < 1 ? part : 1 : 0;      // NaN: 0
        uint64_t ideal = begin + (uint64_t)(part * (double)(end - begin));
        cut[i] = adx_mpi_round(ideal, parts / (uint64_t)c->size);
        if (cut[i] < cut[i - 1])
            cut[i] = cut[i - 1];
        if (cut[i] > parts)
            cut[i] = parts;
    }
}

// Rank 0 is told how long each rank took, and says who has which parts in the
// next call. A cut goes as two numbers of 24 bits, which a float has.
static void adx_mpi_rebalance(ad_mpi *c, uint64_t parts, double took)
{
    size_t n = 2 * ((size_t)c->size + 1);
    ad_real seconds = (ad_real)took;
    ad_real *all = (ad_real *)adx_take(&c->memory, n + (size_t)c->size,
                                       sizeof *all);
    if (all == NULL) {
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
        return;
    }
    ad_real *times = all + n;
    bool well = c->rank == 0 || adx_mpi_send_sum(c, 0, 1, &seconds);
    times[0] = seconds;
    for (int r = 1; well && c->rank == 0 && r < c->size; r++)
        well = adx_mpi_receive_sum(c, r, 1, &times[r]);
    if (well && c->rank == 0) {
        uint64_t *cut = c->cut_next;
        adx_mpi_move_cuts(c, parts, times, cut);
        for (int i = 0; i <= c->size; i++) {
            all[2 * i] = (ad_real)(cut[i] >> 24);
            all[2 * i + 1] = (ad_real)(cut[i] & 0xffffff);
        }
    }
    well = well && adx_mpi_spread(c, n, all);
    for (int i = 0; well && i <= c->size; i++)
        c->cut_next[i] = ((uint64_t)all[2 * i] << 24)
                       + (uint64_t)all[2 * i + 1];
    adx_drop(&c->memory, all);
}

/* --- the query ----------------------------------------------------------- */

// What all ranks must have alike, as one word; with ADREV_DEBUG also x.
static uint64_t adx_mpi_print(uint64_t kind, uint64_t a, uint64_t b, size_t n,
                              const ad_real x[])
{
    uint64_t print = ((kind * 0x9e3779b97f4a7c15u + a) * 0x9e3779b97f4a7c15u
                      + b) * 0x9e3779b97f4a7c15u;
    const unsigned char *byte = (const unsigned char *)x;
    for (size_t i = 0; ADREV_DEBUG && x != NULL && i < n * sizeof *x; i++)
        print = (print ^ byte[i]) * 0x100000001b3u;
    return print;
}

// The sum over all ranks of what this one has done, in all[k->length].
static void adx_mpi_finish(adx_mpi_task *k, adx_mpi_row *row, double took,
                           ad_real all[])
{
    ad_mpi *c = k->c;
    if (adx_mpi_look(c) && adx_mpi_sum(c, row, all) && c->balance)
        adx_mpi_rebalance(c, k->parts, took);
}

// Computes the parts of this rank, chunk by chunk, and in *all the sum over all
// ranks.
static ad_status adx_mpi_compute(adx_mpi_task *k, size_t chunks, ad_real **all)
{
    const ad_allocator *memory = &k->c->memory;
    adx_mpi_chunk *chunk = (adx_mpi_chunk *)adx_take(memory, chunks,
                                                     sizeof *chunk);
    *all = (ad_real *)adx_take(memory, k->length, sizeof **all);
    ad_status status = chunk == NULL || *all == NULL ? ADREV_ENOMEM : ADREV_OK;
    if (status == ADREV_OK) {
        double begun = MPI_Wtime();
        status = adx_mpi_own_parts(k, chunks, chunk);
        if (status == ADREV_OK)
            adx_mpi_finish(k, &chunk[0].row, MPI_Wtime() - begun, *all);
        adx_mpi_free_row(&chunk[0].row);
    }
    adx_drop(memory, chunk);
    return status;
}

// What says which sum it is: the sizes, and which rank has which parts.
static unsigned adx_mpi_stamp_of(const adx_mpi_task *k)
{
    const ad_mpi *c = k->c;
    unsigned parts = !c->balance ? 0 : c->parts != k->parts ? 1 : 2;
    return (unsigned)(adx_mpi_print(parts, k->parts, 2 * k->n + k->value_only,
                                    0, NULL) >> 40);
}

// Records and sweeps the parts, and adds up, if nothing has failed before.
static ad_status adx_mpi_do_task(adx_mpi_task *k, ad_real **all)
{
    ad_status status = adx_mpi_status_of(k->c);
    if (status != ADREV_OK)
        return status;
    ad_tape *before = ad_use(NULL);
    adx_mpi_begin_watch(k->c, k->parts);
    k->c->sum_stamp = adx_mpi_stamp_of(k);
    k->c->summing = true;
    status = adx_mpi_compute(k, adx_mpi_chunks(k->parts), all);
    k->c->summing = false;
    k->c->watch_parts = 0;
    ad_use(before);
    return status;
}

// Tells the user that all is done. As before, no call of an ad_mpi works there:
// other ranks make none.
static void adx_mpi_tell_last(ad_mpi *c, size_t parts)
{
    if (c->watch == NULL || c->rank != 0)
        return;
    ad_tape *before = ad_use(NULL);
    c->summing = true;
    c->watch(parts, parts, c->watch_user);
    c->summing = false;
    ad_use(before);
}

// Gives the sum to the user; the cuts of the next call are those of now.
static void adx_mpi_deliver(const adx_mpi_task *k, const ad_real all[],
                            ad_real *y, ad_real g[])
{
    ad_mpi *c = k->c;
    if (y != NULL)
        *y = all[k->length - 2];
    if (!k->value_only)
        memcpy(g, all, k->n * sizeof *g);
    memcpy(c->cut, c->cut_next, ((size_t)c->size + 1) * sizeof *c->cut);
    c->parts = c->balance ? k->parts : 0;
    adx_mpi_tell_last(c, (size_t)k->parts);
}

ADX_API ad_status ad_mpi_grad(ad_mpi *c, size_t parts, ad_part_fn *f,
                              void *ctx, size_t n, const ad_real x[],
                              ad_real *y, ad_real g[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    bool value_only = g == NULL || n == 0;
    bool wrong = f == NULL || parts == 0 || parts > ADX_MPI_MOST_PARTS
              || adx_no_array(n, x) || (y == NULL && value_only);
    adx_mpi_task k = { .c = c, .f = f, .ctx = ctx, .n = n, .x = x,
                       .value_only = value_only, .parts = parts,
                       .length = value_only ? 2 : n + 2, .caller = &adx_now };
    uint64_t print = adx_mpi_print(1, parts, n + value_only, wrong ? 0 : n, x);
    ad_real *all = NULL;
    status = wrong ? ADREV_ESHAPE : adx_mpi_do_task(&k, &all);
    status = adx_mpi_agree(c, status, print, false);
    if (status == ADREV_OK && all[k.length - 1] == 0) {
        status = ADREV_EPASSIVE;        // on all ranks: no failure of one
        c->why = ad_message(status);
    }
    if (status == ADREV_OK)
        adx_mpi_deliver(&k, all, y, g);
    adx_drop(&c->memory, all);
    return status;
}

/* === mpi/statements =========================================================
 * What all statements with messages have in common: when they are refused, what
 * happens if they fail, how a tape with them is swept; and exchanges, which are
 * all but reductions and broadcasts.
 *
 * An exchange has *links*. A link sends some of the operands to a rank, and
 * receives some of the results from there. Its rule is the same with adjoints,
 * the other way round. A message has a number, its id, which the sender gives
 * it and tells the receiver. Adjoints and tangents are found by it, since
 * messages may be waited for in another order than they were sent: its tag is
 * the id, modulo the number of tags that MPI has.
 *
 *   needs   number/recording tape/layout tape/memory sweep/sweep sweep/queries
 *           array/external mpi/api mpi/context mpi/agreement mpi/messages
 *           mpi/grad
 *   offers  ADX_MPI_KEYS ADX_MPI_BY_KEY adx_mpi_kind ADX_MPI_SEND ADX_MPI_HALO
 *           ADX_MPI_BCAST ADX_MPI_REDUCE ADX_MPI_GATHER ADX_MPI_SCATTER
 *           ADX_MPI_ALLGATHER ADX_MPI_ALLTOALL ADX_MPI_ALL adx_mpi_link
 *           adx_mpi_spoil adx_mpi_fail adx_mpi_refuse adx_mpi_enter
 *           adx_mpi_meet_call adx_mpi_enter_all adx_mpi_is_rank adx_mpi_room
 *           adx_mpi_new_exchange adx_mpi_send_links adx_mpi_fetch
 *           adx_mpi_is_asked adx_mpi_external adx_mpi_record
 *           adx_mpi_run_exchange
 * ========================================================================== */

// Tags of messages with numbers. Values are found by the key of their side;
// adjoints and tangents by their ids (ADX_MPI_BY_ID).
#define ADX_MPI_KEYS 64
#define ADX_MPI_BY_KEY 64

// What a stamp says: what statement a message belongs to. Those of sums are
// below (mpi/sums).
typedef enum adx_mpi_kind {
    ADX_MPI_SEND = 2, ADX_MPI_HALO, ADX_MPI_BCAST, ADX_MPI_REDUCE,
    ADX_MPI_GATHER, ADX_MPI_SCATTER, ADX_MPI_ALLGATHER, ADX_MPI_ALLTOALL,
    ADX_MPI_ALL
} adx_mpi_kind;

typedef struct adx_mpi_link {
    int rank;
    int send_tag, receive_tag;  // of values
    uint32_t out_id, in_id;
    size_t out, out_at;         // operands that go, from this one on
    size_t in, in_at;           // results that come
    bool sends, receives;       // also if there are no numbers in it
} adx_mpi_link;

// What the statement saves.
struct adx_mpi_exchange {
    ad_mpi *c;
    adx_mpi_kind kind;
    size_t links;
    adx_mpi_link link[];
};

/* --- refusals and failures ----------------------------------------------- */

static void adx_mpi_spoil(size_t m, ad_rev y[])
{
    for (size_t i = 0; !adx_no_array(m, y) && i < m; i++)
        y[i] = adx_passive(ADX_K(NAN));
}

// Fails the statement: its tape, this rank, and the others. Results become NaN.
ADX_COLD static ad_status adx_mpi_fail(ad_mpi *c, ad_status status,
                                       const char *why, size_t m, ad_rev y[])
{
    adx_mpi_stop(c, status, why);
    if (adx_now.tape != NULL)
        adx_fail_because(adx_now.tape, status, why == NULL ? c->why : why);
    adx_mpi_spoil(m, y);
    return status;
}

// The failure of a rank, here or elsewhere, as what a statement returns.
ADX_COLD static ad_status adx_mpi_refuse(ad_mpi *c, size_t m, ad_rev y[])
{
    return adx_mpi_fail(c, adx_mpi_status_of(c), c->why, m, y);
}

// Whether a statement can be made here and now. If not, results become NaN.
//
//   wrong        in    arguments are impossible
static ad_status adx_mpi_enter(ad_mpi *c, bool wrong, size_t m, ad_rev y[])
{
    ad_tape *t = adx_now.tape;
    if (c == NULL) {
        adx_mpi_spoil(m, y);
        return ad_fail(ADREV_ENOTAPE, "a statement with messages: ad_mpi is "
                       "NULL");
    }
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK) {
        adx_mpi_spoil(m, y);
        return status;
    }
    if (adx_always_status() != ADREV_OK)
        return adx_mpi_fail(c, t->status, ad_tape_reason(t), m, y);
    if (!adx_mpi_look(c))       // first: what is wrong may come from it
        return adx_mpi_refuse(c, m, y);
    if (wrong)
        return adx_mpi_fail(c, ADREV_ESHAPE, "a message: an array, a rank or a "
                            "length is impossible", m, y);
    c->why = ad_message(ADREV_OK);
    return ADREV_OK;
}

// With ADREV_DEBUG: whether the rank before this one makes the same collective
// call. If any two ranks make different ones, so do two neighbours in this
// ring. Its own word may be read later: it waits for that before it says the
// next one.
static bool adx_mpi_same_call(ad_mpi *c, uint64_t print)
{
    MPI_Status status;
    int before = (c->rank + c->size - 1) % c->size;
    for (unsigned looks = 0; !adx_mpi_finished(c, 1, &c->saying[ADX_MPI_CALL],
                                               false); looks++) {
        if (!adx_mpi_look(c))
            return false;
        adx_mpi_rest(c, looks);
    }
    adx_mpi_say(c, (c->rank + 1) % c->size, ADX_MPI_CALL,
                (adx_mpi_word){ .epoch = c->epoch, .print = print });
    for (unsigned looks = 0;; looks++) {
        bool gone = adx_mpi_has_gone(c, before);
        if (adx_mpi_arrived(c, c->control, before, ADX_MPI_CALL, &status)) {
            adx_mpi_word word = adx_mpi_hear(c, before, ADX_MPI_CALL);
            if (word.epoch == c->epoch)
                return word.print == print;
        } else if (!adx_mpi_look(c) || gone)
            return false;
        adx_mpi_rest(c, looks);
    }
}

// Whether all ranks make the same collective call, as far as is looked at. If
// not, this rank has failed.
//
//   kind, what, n  in    alike on all ranks
static bool adx_mpi_meet_call(ad_mpi *c, adx_mpi_kind kind, int what, size_t n)
{
    if (!ADREV_DEBUG || c->size == 1
        || adx_mpi_same_call(c, ((uint64_t)kind * 1009 + (uint64_t)what)
                                * 0x9e3779b97f4a7c15u + n))
        return true;
    if (!c->stopped)
        adx_mpi_stop(c, ADREV_ESHAPE, "ranks make different collective calls, "
                     "or one was forgotten");
    return false;
}

// As adx_mpi_enter, for a collective statement.
static ad_status adx_mpi_enter_all(ad_mpi *c, bool wrong, size_t m, ad_rev y[],
                                   adx_mpi_kind kind, int what, size_t n)
{
    ad_status status = adx_mpi_enter(c, wrong, m, y);
    return status != ADREV_OK || adx_mpi_meet_call(c, kind, what, n)
         ? status : adx_mpi_refuse(c, m, y);
}

static bool adx_mpi_is_rank(const ad_mpi *c, int rank)
{
    return c != NULL && rank >= 0 && rank < c->size;
}

// Room for the rows of a message that comes; NULL: this rank has failed.
static ad_real *adx_mpi_room(ad_mpi *c, size_t n)
{
    void *room = c->room;
    bool well = n <= ADX_MOST_ELEMENTS
             && adx_extend(&c->memory, &room, &c->room_size, n,
                           sizeof *c->room);
    c->room = (ad_real *)room;
    if (!well)
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
    return well ? c->room : NULL;
}

/* --- values -------------------------------------------------------------- */

// For so many links; NULL: no memory.
static adx_mpi_exchange *adx_mpi_new_exchange(ad_mpi *c, adx_mpi_kind kind,
                                              size_t links)
{
    size_t bytes = adx_size_plus(sizeof(adx_mpi_exchange),
                                 adx_size_times(links, sizeof(adx_mpi_link)));
    adx_mpi_exchange *s = (adx_mpi_exchange *)adx_take(&c->memory, bytes, 1);
    if (s == NULL)
        return NULL;
    memset(s, 0, bytes);
    s->c = c;
    s->kind = kind;
    s->links = links;
    for (size_t i = 0; i < links; i++)
        s->link[i].send_tag = s->link[i].receive_tag = ADX_MPI_BY_KEY;
    return s;
}

static size_t adx_mpi_exchange_bytes(const adx_mpi_exchange *s)
{
    return sizeof *s + s->links * sizeof s->link[0];
}

// Sends all messages of an exchange before anything is received.
static bool adx_mpi_send_links(adx_mpi_exchange *s, const ad_rev x[])
{
    ad_mpi *c = s->c;
    for (size_t i = 0; i < s->links; i++) {
        adx_mpi_link *k = &s->link[i];
        adx_mpi_parcel *p;
        if (!k->sends)
            continue;
        k->out_id = c->next_id[k->rank]++ & ADX_MPI_LAST_ID;
        ad_real *to = adx_mpi_outgoing(c, k->out, &p);
        for (size_t j = 0; to != NULL && j < k->out; j++)
            to[j] = x[k->out_at + j].v;
        if (to == NULL || !adx_mpi_post(c, p, k->rank, k->send_tag, s->kind,
                                        k->out_id))
            return false;
    }
    return true;
}

static bool adx_mpi_receive_link(adx_mpi_exchange *s, adx_mpi_link *k,
                                 ad_real v[])
{
    return adx_mpi_receive(s->c, k->rank, k->receive_tag, s->kind, k->in,
                           v == NULL ? NULL : v + k->in_at, &k->in_id);
}

// Takes the messages that earlier requests have waited for, and that come
// before those of link `only` of request `last`, or before all that come now.
static bool adx_mpi_fetch(ad_mpi *c, int rank, int tag,
                          const ad_mpi_request *last, size_t only)
{
    for (ad_mpi_request *r = c->posted; r != NULL; r = r->next) {
        bool alive = r->exchange != NULL && r->failures == c->failures;
        for (size_t i = 0; alive && i < r->exchange->links; i++) {
            adx_mpi_link *k = &r->exchange->link[i];
            if (r == last && i > only)
                return true;
            if (r->got[i] || !k->receives || k->rank != rank
                || k->receive_tag != tag)
                continue;
            if (!adx_mpi_receive_link(r->exchange, k, r->v))
                return false;
            r->got[i] = true;
        }
        if (r == last)
            return true;
    }
    return true;
}

// v[m]: the results.
static bool adx_mpi_receive_links(adx_mpi_exchange *s, ad_real v[])
{
    for (size_t i = 0; i < s->links; i++) {
        adx_mpi_link *k = &s->link[i];
        if (k->receives
            && (!adx_mpi_fetch(s->c, k->rank, k->receive_tag, NULL, 0)
                || !adx_mpi_receive_link(s, k, v)))
            return false;
    }
    return true;
}

/* --- the rule ------------------------------------------------------------ */

// Whose query sweeps now, on this thread; NULL: nobody's.
static ADX_THREAD ad_mpi *adx_mpi_asked;

// Whether statements of c can be swept now. Those of another one than that of
// the query cannot: nobody would notice there if a rank failed.
static bool adx_mpi_is_asked(ad_mpi *c)
{
    if (adx_mpi_asked == NULL)
        c->why = "statements with messages are swept by ad_mpi_gradient and "
                 "its kin";
    else if (adx_mpi_asked != c)
        adx_mpi_stop(adx_mpi_asked, ADREV_EEXTERNAL, "a recording has "
                     "statements of another ad_mpi than that of the query");
    return adx_mpi_asked == c;
}

static int adx_mpi_id_tag(const ad_mpi *c, uint32_t id)
{
    return ADX_MPI_BY_ID + (int)(id % c->id_tags);
}

// Sends `n` numbers of each of k rows, which are `stride` apart.
static bool adx_mpi_send_rows(const adx_mpi_exchange *s, int to, uint32_t id,
                              size_t k, size_t n, const ad_real v[],
                              size_t stride)
{
    adx_mpi_parcel *p;
    ad_real *at = adx_mpi_outgoing(s->c, k * n, &p);
    if (at == NULL)
        return false;
    for (size_t r = 0; n > 0 && r < k; r++)
        memcpy(at + r * n, v + r * stride, n * sizeof *v);
    return adx_mpi_post(s->c, p, to, adx_mpi_id_tag(s->c, id), s->kind, id);
}

// Receives k rows of n numbers into `room`; NULL: a rank has failed.
static const ad_real *adx_mpi_receive_rows(const adx_mpi_exchange *s, int from,
                                           uint32_t id, size_t k, size_t n)
{
    uint32_t come;
    ad_real *room = adx_mpi_room(s->c, k * n + 1);
    if (room == NULL || !adx_mpi_receive(s->c, from, adx_mpi_id_tag(s->c, id),
                                         s->kind, k * n, room, &come))
        return NULL;
    if (come == id)
        return room;
    adx_mpi_stop(s->c, ADREV_ELIMIT, "more messages overtake each other than "
                 "MPI has tags");
    return NULL;
}

// The adjoints of what was received go back; those of what was sent come.
static bool adx_mpi_exchange_rows(const void *saved, size_t k, size_t m,
                                  const ad_real dy[], size_t n, ad_real dx[])
{
    const adx_mpi_exchange *s = (const adx_mpi_exchange *)saved;
    if (!adx_mpi_is_asked(s->c))
        return false;
    for (size_t i = 0; i < s->links; i++) {
        const adx_mpi_link *e = &s->link[i];
        if (e->receives && !adx_mpi_send_rows(s, e->rank, e->in_id, k, e->in,
                                              e->in == 0 ? NULL : dy + e->in_at,
                                              m))
            return false;
    }
    for (size_t i = 0; i < s->links; i++) {
        const adx_mpi_link *e = &s->link[i];
        const ad_real *from = !e->sends ? NULL
                            : adx_mpi_receive_rows(s, e->rank, e->out_id, k,
                                                   e->out);
        if (e->sends && from == NULL)
            return false;
        for (size_t r = 0; e->sends && r < k; r++)
            for (size_t j = 0; j < e->out; j++)
                dx[r * n + e->out_at + j] += from[r * e->out + j];
    }
    return true;
}

static bool adx_mpi_exchange_back(const void *saved, size_t m,
                                  const ad_real dy[], size_t n, ad_real dx[])
{
    return adx_mpi_exchange_rows(saved, 1, m, dy, n, dx);
}

// The pushforward: tangents go the way of the values. All links send before any
// receives, so that no two ranks wait for each other.
static bool adx_mpi_exchange_on(const void *saved, size_t n,
                                const ad_real dx[], size_t m, ad_real dy[])
{
    const adx_mpi_exchange *s = (const adx_mpi_exchange *)saved;
    (void)n;
    (void)m;
    if (!adx_mpi_is_asked(s->c))
        return false;
    for (size_t i = 0; i < s->links; i++) {
        const adx_mpi_link *e = &s->link[i];
        if (e->sends && !adx_mpi_send_rows(s, e->rank, e->out_id, 1, e->out,
                                           e->out == 0 ? NULL : dx + e->out_at,
                                           0))
            return false;
    }
    for (size_t i = 0; i < s->links; i++) {
        const adx_mpi_link *e = &s->link[i];
        const ad_real *from = !e->receives ? NULL
                            : adx_mpi_receive_rows(s, e->rank, e->in_id, 1,
                                                   e->in);
        if (e->receives && from == NULL)
            return false;
        if (e->receives && e->in > 0)
            memcpy(dy + e->in_at, from, e->in * sizeof *dy);
    }
    return true;
}

static const ad_external_rule adx_mpi_exchange_rule = {
    .name = "mpi", .pullback = adx_mpi_exchange_back,
    .pullback_n = adx_mpi_exchange_rows, .pushforward = adx_mpi_exchange_on,
    .always = true
};

/* --- statements ---------------------------------------------------------- */

// Records a statement whose messages have gone and come.
static ad_status adx_mpi_external(ad_mpi *c, const ad_external_rule *rule,
                                  const void *saved, size_t bytes, size_t n,
                                  const ad_rev x[], size_t m, const ad_real v[],
                                  ad_rev y[])
{
    ad_status status = (ad_external)(rule, saved, bytes, n, x, m, v, y);
    const ad_tape *t = adx_now.tape;
    if (status != ADREV_OK)
        adx_mpi_stop(c, status, t == NULL ? NULL : ad_tape_reason(t));
    return status;
}

// Records an exchange, and frees it.
static ad_status adx_mpi_record(adx_mpi_exchange *s, size_t n,
                                const ad_rev x[], size_t m, const ad_real v[],
                                ad_rev y[])
{
    ad_mpi *c = s->c;
    ad_status status = adx_mpi_external(c, &adx_mpi_exchange_rule, s,
                                        adx_mpi_exchange_bytes(s), n, x, m, v,
                                        y);
    adx_drop(&c->memory, s);
    return status;
}

// Does an exchange as one statement, and frees it. s NULL: no memory for it.
static ad_status adx_mpi_run_exchange(ad_mpi *c, adx_mpi_exchange *s, size_t n,
                                      const ad_rev x[], size_t m, ad_rev y[])
{
    ad_real *v = s == NULL ? NULL
               : (ad_real *)adx_take(&c->memory, m, sizeof *v);
    ad_status status = ADREV_OK;
    if (v == NULL)
        status = adx_mpi_fail(c, ADREV_ENOMEM, NULL, m, y);
    else if (!adx_mpi_send_links(s, x) || !adx_mpi_receive_links(s, v))
        status = adx_mpi_refuse(c, m, y);
    else {
        status = adx_mpi_record(s, n, x, m, v, y);
        s = NULL;
    }
    adx_drop(&c->memory, v);
    adx_drop(&c->memory, s);
    return status;
}

/* --- derivatives of a recording that is spread over ranks -------------------
 * Each rank sweeps its own tape; the statements in it exchange adjoints or
 * tangents. All agree before and after, so that none begins a sweep that
 * another does not, and none returns what another could not complete.        */

// The status of a query before its sweep, on all ranks.
static ad_status adx_mpi_begin_query(ad_mpi *c, ad_tape *t, ad_status status,
                                     uint64_t kind, size_t m)
{
    if (status != ADREV_OK && t != NULL && t->status == status)
        adx_mpi_stop(c, status, ad_tape_reason(t));
    return adx_mpi_agree(c, status, adx_mpi_print(kind, m, 0, 0, NULL), true);
}

// Sweeps the tape of this rank; a[] are its adjoints or tangents.
static ad_status adx_mpi_sweep(ad_mpi *c, const ad_tape *t, adx_sweep_fn *sweep,
                               ad_real a[])
{
    ad_mpi *before = adx_mpi_asked;
    adx_mpi_asked = c;
    bool well = adx_sweep(t, sweep, a);
    adx_mpi_asked = before;
    ad_status status = adx_mpi_status_of(c);
    return adx_mpi_agree(c, well || status != ADREV_OK ? status
                                                       : ADREV_EEXTERNAL,
                         0, false);
}

// A reverse sweep on all ranks, from dy[] on this one. A rank with a wrong
// argument takes part in the agreement, too: then none of them sweeps.
static ad_status adx_mpi_pull_back(ad_mpi *c, ad_tape *t, size_t m,
                                   const ad_rev y[], const ad_real dy[],
                                   size_t n, const ad_rev x[], ad_real dx[],
                                   uint64_t kind)
{
    bool missing = adx_no_array(m, dy) || adx_no_array(n, dx);
    bool run;
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    ad_real *adj = status != ADREV_OK ? NULL
                 : adx_cleared(t, 1, t->floor.adx_seq);
    if (status == ADREV_OK && adj == NULL)
        status = ADREV_ENOMEM;
    status = adx_mpi_begin_query(c, t, status, kind, 0);
    if (status != ADREV_OK)
        return status;
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0)
            *adx_derivative(t, adj, y[i], 1) += dy[i];
    status = adx_mpi_sweep(c, t, adx_reverse_1, adj);
    if (status == ADREV_OK)
        adx_read(t, n, x, adj, run, dx);
    return status;
}

ADX_API ad_status ad_mpi_gradient(ad_mpi *c, ad_tape *t, ad_rev y, size_t n,
                                  const ad_rev x[], ad_real g[])
{
    static const ad_real one = 1;
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    return adx_mpi_pull_back(c, t, c->rank == 0, &y, &one, n, x, g, 2);
}

ADX_API ad_status ad_mpi_pullback(ad_mpi *c, ad_tape *t, size_t m,
                                  const ad_rev y[], const ad_real dy[],
                                  size_t n, const ad_rev x[], ad_real dx[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    return adx_mpi_pull_back(c, t, m, y, dy, n, x, dx, 3);
}

ADX_API ad_status ad_mpi_pushforward(ad_mpi *c, ad_tape *t, size_t n,
                                     const ad_rev x[], const ad_real dx[],
                                     size_t m, const ad_rev y[], ad_real dy[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    bool missing = adx_no_array(m, dy) || adx_no_array(n, dx);
    bool run;
    status = adx_check_query(t, m, y, n, x, missing, &run);
    ad_real *tan = status != ADREV_OK ? NULL : adx_cleared(t, 1, 0);
    if (status == ADREV_OK && tan == NULL)
        status = ADREV_ENOMEM;
    status = adx_mpi_begin_query(c, t, status, 4, 0);
    if (status != ADREV_OK)
        return status;
    for (size_t j = 0; j < n; j++)
        *adx_derivative(t, tan, x[j], 1) += dx[j];
    status = adx_mpi_sweep(c, t, adx_forward_1, tan);
    for (size_t i = 0; status == ADREV_OK && i < m; i++)
        dy[i] = y[i].job == 0 ? 0 : *adx_derivative(t, tan, y[i], 1);
    return status;
}

// One sweep for rows `first` to `first + width - 1`.
static ad_status adx_mpi_rows(ad_mpi *c, ad_tape *t, size_t width, size_t first,
                              size_t m, const ad_rev y[], size_t n,
                              const ad_rev x[], ad_real J[])
{
    size_t rows = m - first < width ? m - first : width;
    ad_real *adj = adx_cleared(t, width, t->floor.adx_seq);
    for (size_t w = 0; c->rank == 0 && w < rows; w++)
        if (y[first + w].job != 0)
            adx_derivative(t, adj, y[first + w], width)[w] += 1;
    ad_status status = adx_mpi_sweep(c, t, ADX_FOR_WIDTH(width, adx_reverse),
                                     adj);
    for (size_t j = 0; status == ADREV_OK && j < n; j++) {
        const ad_real *column = adx_derivative(t, adj, x[j], width);
        for (size_t w = 0; w < rows; w++)
            J[(first + w) * n + j] = column[w];
    }
    return status;
}

ADX_API ad_status ad_mpi_jacobian(ad_mpi *c, ad_tape *t, size_t m,
                                  const ad_rev y[], size_t n,
                                  const ad_rev x[], ad_real J[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    bool missing = m > ADX_MOST_ELEMENTS
                || adx_no_array(adx_size_times(m, n), J);
    bool run;
    status = adx_check_query(t, c->rank == 0 ? m : 0, y, n, x,
                                       missing, &run);
    size_t width = adx_width(m, ADX_WIDEST);
    if (status == ADREV_OK && !adx_afford(t, width))
        status = ADREV_ENOMEM;
    status = adx_mpi_begin_query(c, t, status, 5, m);
    for (size_t i = 0; status == ADREV_OK && i < m; i += width)
        status = adx_mpi_rows(c, t, width, i, m, y, n, x, J);
    return status;
}

/* === mpi/exchanges ==========================================================
 * Messages between two ranks, and halos.
 *
 *   needs   tape/memory mpi/api mpi/context mpi/agreement mpi/messages
 *           mpi/statements
 * ========================================================================== */

/* --- one message --------------------------------------------------------- */

// A link that sends n numbers, and receives m; MPI_PROC_NULL: it does not.
static adx_mpi_exchange *adx_mpi_pair(ad_mpi *c, int to, size_t n, int from,
                                      size_t m)
{
    adx_mpi_exchange *s = adx_mpi_new_exchange(c, ADX_MPI_SEND, 2);
    if (s == NULL)
        return NULL;
    s->link[0].rank = to;
    s->link[0].sends = to != MPI_PROC_NULL;
    s->link[0].out = n;
    s->link[1].rank = from;
    s->link[1].receives = from != MPI_PROC_NULL;
    s->link[1].in = m;
    return s;
}

ADX_API ad_status ad_mpi_sendrecv(ad_mpi *c, int to, size_t n,
                                  const ad_rev x[], int from, size_t m,
                                  ad_rev y[])
{
    bool wrong = adx_no_array(n, x) || adx_no_array(m, y)
              || (to != MPI_PROC_NULL && !adx_mpi_is_rank(c, to))
              || (from != MPI_PROC_NULL && !adx_mpi_is_rank(c, from));
    size_t come = from == MPI_PROC_NULL ? 0 : m;
    ad_status status = adx_mpi_enter(c, wrong, come, y);
    if (status != ADREV_OK)
        return status;
    return adx_mpi_run_exchange(c, adx_mpi_pair(c, to, n, from, come),
                                to == MPI_PROC_NULL ? 0 : n, x, come, y);
}

ADX_API ad_status ad_mpi_send(ad_mpi *c, int to, size_t n, const ad_rev x[])
{
    bool wrong = adx_no_array(n, x) || !adx_mpi_is_rank(c, to);
    ad_status status = adx_mpi_enter(c, wrong, 0, NULL);
    if (status != ADREV_OK)
        return status;
    status = adx_mpi_run_exchange(c, adx_mpi_pair(c, to, n, MPI_PROC_NULL, 0),
                                  n, x, 0, NULL);
    return adx_mpi_relieve(c) ? status : adx_mpi_refuse(c, 0, NULL);
}

ADX_API ad_status ad_mpi_recv(ad_mpi *c, int from, size_t m, ad_rev y[])
{
    bool wrong = adx_no_array(m, y) || !adx_mpi_is_rank(c, from);
    ad_status status = adx_mpi_enter(c, wrong, m, y);
    if (status != ADREV_OK)
        return status;
    return adx_mpi_run_exchange(c, adx_mpi_pair(c, MPI_PROC_NULL, 0, from, m),
                                0, NULL, m, y);
}

/* --- requests ------------------------------------------------------------ */

// A request that has not begun to receive anything. It takes over s, even if
// there is no memory for it: then NULL.
static ad_mpi_request *adx_mpi_new_request(ad_mpi *c, adx_mpi_exchange *s,
                                           size_t m, bool placed)
{
    size_t links = s == NULL ? 0 : s->links;
    size_t bytes = adx_size_times(m, placed ? sizeof(size_t) + sizeof(ad_real)
                                            : sizeof(ad_real));
    bytes = adx_size_plus(bytes, sizeof(ad_mpi_request) + links);
    ad_mpi_request *r = (ad_mpi_request *)adx_take(&c->memory, bytes, 1);
    if (r == NULL) {
        adx_drop(&c->memory, s);
        return NULL;
    }
    memset(r, 0, sizeof *r);
    r->c = c;
    r->exchange = s;
    r->m = m;
    r->to = placed ? (size_t *)(void *)(r + 1) : NULL;
    r->v = (ad_real *)(void *)((char *)(r + 1)
                               + (placed ? m * sizeof(size_t) : 0));
    r->got = (bool *)(void *)(r->v + m);
    memset(r->got, 0, links * sizeof *r->got);
    r->failures = c->failures;
    ad_mpi_request **end = &c->posted;
    while (*end != NULL)
        end = &(*end)->next;
    *end = r;
    return r;
}

// Takes it out of the list, and frees it.
static void adx_mpi_free_request(ad_mpi_request *r)
{
    ad_mpi *c = r->c;
    ad_mpi_request **at = &c->posted;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    adx_drop(&c->memory, r->exchange);
    adx_drop(&c->memory, r);
}

// Whether it was started before a failure, which all ranks know and which ended
// it: so it stops nobody, and the tape records on.
static bool adx_mpi_has_ended(const ad_mpi_request *r)
{
    ad_mpi *c = r->c;
    if (r->exchange == NULL || r->failures == c->failures)
        return false;
    c->why = "what is waited for was started before a failure, which ended it";
    return true;
}

// Takes the messages of a request. False: a rank has failed.
static bool adx_mpi_complete(ad_mpi_request *r)
{
    ad_mpi *c = r->c;
    for (size_t i = 0; i < r->exchange->links; i++) {
        const adx_mpi_link *k = &r->exchange->link[i];
        if (k->receives
            && !adx_mpi_fetch(c, k->rank, k->receive_tag, r, i))
            return false;
    }
    return true;
}

// Records what has come, as results y, and frees the request.
static ad_status adx_mpi_end_request(ad_mpi_request *r, ad_rev y[])
{
    adx_mpi_exchange *s = r->exchange;
    r->exchange = NULL;
    ad_status status = adx_mpi_record(s, 0, NULL, r->m, r->v, y);
    adx_mpi_free_request(r);
    return status;
}

ADX_API ad_status ad_mpi_isend(ad_mpi *c, int to, size_t n, const ad_rev x[],
                               ad_mpi_request **request)
{
    bool wrong = adx_no_array(n, x) || !adx_mpi_is_rank(c, to)
              || request == NULL;
    if (request != NULL)
        *request = NULL;
    ad_status status = adx_mpi_enter(c, wrong, 0, NULL);
    if (status == ADREV_OK)     // who sends does not wait
        status = adx_mpi_run_exchange(c, adx_mpi_pair(c, to, n, MPI_PROC_NULL,
                                                      0), n, x, 0, NULL);
    if (status == ADREV_OK) {
        *request = adx_mpi_new_request(c, NULL, 0, false);
        if (*request == NULL)
            status = adx_mpi_fail(c, ADREV_ENOMEM, NULL, 0, NULL);
    }
    return status;
}

ADX_API ad_status ad_mpi_irecv(ad_mpi *c, int from, size_t m, ad_rev y[],
                               ad_mpi_request **request)
{
    bool wrong = adx_no_array(m, y) || !adx_mpi_is_rank(c, from)
              || request == NULL;
    if (request != NULL)
        *request = NULL;
    ad_status status = adx_mpi_enter(c, wrong, m, y);
    if (status != ADREV_OK)
        return status;
    adx_mpi_exchange *s = adx_mpi_pair(c, MPI_PROC_NULL, 0, from, m);
    *request = s == NULL ? NULL : adx_mpi_new_request(c, s, m, false);
    if (*request == NULL)
        return adx_mpi_fail(c, ADREV_ENOMEM, NULL, m, y);
    (*request)->y = y;
    return ADREV_OK;
}

// A request that is given up: results are NaN.
static ad_status adx_mpi_give_up(ad_mpi_request *r, ad_rev y[])
{
    ad_status status = adx_mpi_refuse(r->c, y == NULL ? 0 : r->m, y);
    adx_mpi_free_request(r);
    return status;
}

ADX_API ad_status ad_mpi_wait(ad_mpi *c, ad_mpi_request **request)
{
    ad_mpi_request *r = request == NULL ? NULL : *request;
    bool wrong = r == NULL || r->c != c || r->to != NULL;
    ad_status status = adx_mpi_enter(c, wrong, 0, NULL);
    if (wrong || adx_mpi_is_apart(c))
        return status;
    *request = NULL;
    if (status == ADREV_OK && r->exchange == NULL) {
        adx_mpi_free_request(r);
        return ADREV_OK;
    }
    if (status == ADREV_OK && adx_mpi_has_ended(r)) {
        adx_mpi_spoil(r->m, r->y);
        adx_mpi_free_request(r);
        return ADREV_EREMOTE;
    }
    if (status != ADREV_OK || !adx_mpi_complete(r))
        return adx_mpi_give_up(r, r->y);
    return adx_mpi_end_request(r, r->y);
}

/* --- halos --------------------------------------------------------------- */

static bool adx_mpi_no_indices(size_t count, const size_t index[], size_t n)
{
    bool wrong = adx_no_array(count, index);
    for (size_t i = 0; !wrong && i < count; i++)
        wrong = index[i] >= n;
    return wrong;
}

// Whether the sides of a halo are impossible. Otherwise how many numbers go and
// come in all.
static bool adx_mpi_wrong_sides(const ad_mpi *c, size_t sides,
                                const ad_mpi_side side[], size_t n,
                                const ad_rev x[], size_t *out, size_t *in)
{
    bool wrong = adx_no_array(sides, side) || adx_no_array(n, x);
    *out = *in = 0;
    for (size_t i = 0; !wrong && i < sides; i++) {
        const ad_mpi_side *k = &side[i];
        if (k->rank == MPI_PROC_NULL)
            continue;
        wrong = !adx_mpi_is_rank(c, k->rank)
             || k->send_key < 0 || k->send_key >= ADX_MPI_KEYS
             || k->receive_key < 0 || k->receive_key >= ADX_MPI_KEYS
             || adx_mpi_no_indices(k->sends, k->from, n)
             || adx_mpi_no_indices(k->receives, k->to, n);
        *out = adx_size_plus(*out, k->sends);
        *in = adx_size_plus(*in, k->receives);
    }
    return wrong || *out > ADX_MOST_ELEMENTS || *in > ADX_MOST_ELEMENTS;
}

_Static_assert(ADX_MPI_KEYS <= 64, "the keys of a rank must be bits of a word");

// Whether two sides of one rank have the same key. Then the order of sides
// would say what goes where; but what a rank sends up, the other gets from
// below.
static bool adx_mpi_same_keys(const ad_mpi *c, size_t sides,
                              const ad_mpi_side side[])
{
    bool same = false;
    for (size_t i = 0; i < sides; i++) {
        if (side[i].rank == MPI_PROC_NULL)
            continue;
        uint64_t *keys = c->keys + 2 * (size_t)side[i].rank;
        const uint64_t send = (uint64_t)1 << side[i].send_key;
        const uint64_t receive = (uint64_t)1 << side[i].receive_key;
        same |= (keys[0] & send) != 0 || (keys[1] & receive) != 0;
        keys[0] |= send;
        keys[1] |= receive;
    }
    for (size_t i = 0; i < sides; i++)
        if (side[i].rank != MPI_PROC_NULL)
            memset(c->keys + 2 * (size_t)side[i].rank, 0, 2 * sizeof *c->keys);
    return same;
}

// As adx_mpi_enter, for a halo.
static ad_status adx_mpi_enter_halo(ad_mpi *c, bool wrong, size_t sides,
                                    const ad_mpi_side side[])
{
    ad_status status = adx_mpi_enter(c, wrong, 0, NULL);
    if (status == ADREV_OK && adx_mpi_same_keys(c, sides, side))
        status = adx_mpi_fail(c, ADREV_ESHAPE, "a halo: two sides of one rank "
                              "have the same key", 0, NULL);
    return status;
}

// The links of a halo.
static adx_mpi_exchange *adx_mpi_halo_links(ad_mpi *c, size_t sides,
                                            const ad_mpi_side side[])
{
    adx_mpi_exchange *s = adx_mpi_new_exchange(c, ADX_MPI_HALO, sides);
    size_t out = 0;
    size_t in = 0;
    for (size_t i = 0; s != NULL && i < sides; i++) {
        adx_mpi_link *k = &s->link[i];
        k->rank = side[i].rank;
        if (k->rank == MPI_PROC_NULL)
            continue;
        k->sends = k->receives = true;
        k->send_tag = ADX_MPI_BY_KEY + ADX_MPI_KEYS + side[i].send_key;
        k->receive_tag = ADX_MPI_BY_KEY + ADX_MPI_KEYS + side[i].receive_key;
        k->out_at = out;
        k->in_at = in;
        out += k->out = side[i].sends;
        in += k->in = side[i].receives;
    }
    return s;
}

// The numbers that go, in the order of sides; NULL: no memory.
static ad_rev *adx_mpi_gather_sides(const ad_mpi *c, size_t sides,
                                    const ad_mpi_side side[], size_t out,
                                    const ad_rev x[])
{
    ad_rev *list = (ad_rev *)adx_take(&c->memory, out, sizeof *list);
    size_t k = 0;
    for (size_t i = 0; list != NULL && i < sides; i++)
        for (size_t j = 0; side[i].rank != MPI_PROC_NULL && j < side[i].sends;
             j++)
            list[k++] = x[side[i].from[j]];
    return list;
}

// Lists where the numbers that come go, in the order of sides. to NULL: puts
// them there, from y into x.
static void adx_mpi_place_sides(size_t sides, const ad_mpi_side side[],
                                size_t to[], const ad_rev y[], ad_rev x[])
{
    size_t k = 0;
    for (size_t i = 0; i < sides; i++)
        for (size_t j = 0; side[i].rank != MPI_PROC_NULL
                           && j < side[i].receives; j++, k++)
            if (to != NULL)
                to[k] = side[i].to[j];
            else
                x[side[i].to[j]] = y[k];
}

ADX_API ad_status ad_mpi_halo(ad_mpi *c, size_t sides,
                              const ad_mpi_side side[], size_t n, ad_rev x[])
{
    size_t out, in;
    bool wrong = adx_mpi_wrong_sides(c, sides, side, n, x, &out, &in);
    ad_status status = adx_mpi_enter_halo(c, wrong, sides, side);
    if (status != ADREV_OK)
        return status;
    ad_rev *list = adx_mpi_gather_sides(c, sides, side, out, x);
    ad_rev *y = list == NULL ? NULL
              : (ad_rev *)adx_take(&c->memory, in, sizeof *y);
    if (y == NULL)
        status = adx_mpi_fail(c, ADREV_ENOMEM, NULL, 0, NULL);
    else {
        status = adx_mpi_run_exchange(c, adx_mpi_halo_links(c, sides, side),
                                      out, list, in, y);
        adx_mpi_place_sides(sides, side, NULL, y, x);
    }
    adx_drop(&c->memory, y);
    adx_drop(&c->memory, list);
    return status;
}

// Sends, records that, and frees s; what comes is left to the request.
static ad_status adx_mpi_start_halo(adx_mpi_exchange *s, ad_mpi_request *r,
                                    size_t out, const ad_rev list[])
{
    ad_mpi *c = s->c;
    for (size_t i = 0; i < s->links; i++) {
        s->link[i].receives = false;
        r->exchange->link[i].sends = false;
    }
    if (adx_mpi_send_links(s, list))
        return adx_mpi_record(s, out, list, 0, NULL, NULL);
    adx_drop(&c->memory, s);
    return adx_mpi_refuse(c, 0, NULL);
}

ADX_API ad_status ad_mpi_halo_start(ad_mpi *c, size_t sides,
                                    const ad_mpi_side side[], size_t n,
                                    const ad_rev x[],
                                    ad_mpi_request **request)
{
    size_t out, in;
    bool wrong = adx_mpi_wrong_sides(c, sides, side, n, x, &out, &in)
              || request == NULL;
    if (request != NULL)
        *request = NULL;
    ad_status status = adx_mpi_enter_halo(c, wrong, sides, side);
    if (status != ADREV_OK)
        return status;
    ad_rev *list = adx_mpi_gather_sides(c, sides, side, out, x);
    adx_mpi_exchange *s = adx_mpi_halo_links(c, sides, side);
    adx_mpi_exchange *come = adx_mpi_halo_links(c, sides, side);
    ad_mpi_request *r = come == NULL ? NULL
                      : adx_mpi_new_request(c, come, in, true);
    if (list == NULL || s == NULL || r == NULL) {
        adx_drop(&c->memory, s);
        status = adx_mpi_fail(c, ADREV_ENOMEM, NULL, 0, NULL);
    } else {
        adx_mpi_place_sides(sides, side, r->to, NULL, NULL);
        status = adx_mpi_start_halo(s, r, out, list);
    }
    if (status == ADREV_OK)
        *request = r;
    else if (r != NULL)
        adx_mpi_free_request(r);
    adx_drop(&c->memory, list);
    return status;
}

ADX_API ad_status ad_mpi_halo_finish(ad_mpi *c, ad_mpi_request **request,
                                     size_t n, ad_rev x[])
{
    ad_mpi_request *r = request == NULL ? NULL : *request;
    bool wrong = r == NULL || r->c != c || r->to == NULL
              || adx_no_array(n, x) || adx_mpi_no_indices(r->m, r->to, n);
    ad_status status = adx_mpi_enter(c, wrong, 0, NULL);
    if (wrong || adx_mpi_is_apart(c))
        return status;
    *request = NULL;
    ad_rev *y = (ad_rev *)adx_take(&c->memory, r->m, sizeof *y);
    bool ended = y != NULL && status == ADREV_OK && adx_mpi_has_ended(r);
    if (y == NULL)
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
    if (ended) {
        adx_mpi_spoil(r->m, y);
        status = ADREV_EREMOTE;
    } else if (y == NULL || status != ADREV_OK || !adx_mpi_complete(r))
        status = adx_mpi_refuse(c, 0, NULL);
    else {
        status = adx_mpi_record(r->exchange, 0, NULL, r->m, r->v, y);
        r->exchange = NULL;
    }
    for (size_t i = 0; i < r->m && (ended || status == ADREV_OK); i++)
        x[r->to[i]] = y[i];
    adx_drop(&c->memory, y);
    adx_mpi_free_request(r);
    return status;
}

/* === mpi/collectives ========================================================
 * Statements in which all ranks take part. In a gather, and what is like it,
 * ranks send pieces of arrays to each other: each pair of ranks has a message
 * of its own.
 *
 * Broadcasts and reductions go by a binomial tree of ranks. The adjoint of a
 * broadcast is a sum up the tree, that of a sum a broadcast.
 *
 * Other reductions keep for each number the partial of the result with respect
 * to it. For MIN and MAX that is 1 shared by those that tie, which are counted
 * on the way up. For a product it is the product of all others: on the way down
 * each rank is told the product of all ranks to its left, and to its right.
 *
 *   needs   tape/memory tape/hooks mpi/api mpi/context mpi/agreement
 *           mpi/messages mpi/statements
 * ========================================================================== */

/* --- pieces of arrays ----------------------------------------------------- */

#define ADX_MPI_COLLECTIVE_TAG 3

// The sum of counts of all ranks; SIZE_MAX: impossible.
static size_t adx_mpi_total(const ad_mpi *c, const size_t count[])
{
    size_t sum = 0;
    for (int r = 0; c != NULL && r < c->size; r++)
        sum = count == NULL ? SIZE_MAX : adx_size_plus(sum, count[r]);
    return sum;
}

// A link with each rank, of which nothing goes or comes yet.
static adx_mpi_exchange *adx_mpi_links_with_all(ad_mpi *c, adx_mpi_kind kind)
{
    adx_mpi_exchange *s = adx_mpi_new_exchange(c, kind, (size_t)c->size);
    for (int r = 0; s != NULL && r < c->size; r++) {
        s->link[r].rank = r;
        s->link[r].send_tag = ADX_MPI_COLLECTIVE_TAG;
        s->link[r].receive_tag = ADX_MPI_COLLECTIVE_TAG;
    }
    return s;
}

// Every rank receives its count, one behind the other.
static void adx_mpi_receive_pieces(adx_mpi_exchange *s, const size_t count[])
{
    size_t at = 0;
    for (size_t r = 0; s != NULL && r < s->links; r++) {
        s->link[r].receives = true;
        s->link[r].in_at = at;
        at += s->link[r].in = count[r];
    }
}

static void adx_mpi_send_pieces(adx_mpi_exchange *s, const size_t count[])
{
    size_t at = 0;
    for (size_t r = 0; s != NULL && r < s->links; r++) {
        s->link[r].sends = true;
        s->link[r].out_at = at;
        at += s->link[r].out = count[r];
    }
}

ADX_API ad_status ad_mpi_gatherv(ad_mpi *c, int root, size_t n,
                                 const ad_rev x[], const size_t count[],
                                 ad_rev y[])
{
    bool here = c != NULL && c->rank == root;
    size_t m = here ? adx_mpi_total(c, count) : 0;
    bool wrong = !adx_mpi_is_rank(c, root) || adx_no_array(n, x)
              || (here && (adx_no_array(m, y) || count[root] != n));
    ad_status status = adx_mpi_enter_all(c, wrong, m, y,
                                         ADX_MPI_GATHER, root, 0);
    if (status != ADREV_OK)
        return status;
    adx_mpi_exchange *s = adx_mpi_links_with_all(c, ADX_MPI_GATHER);
    if (here)
        adx_mpi_receive_pieces(s, count);
    if (s != NULL) {
        s->link[root].sends = true;
        s->link[root].out = n;
    }
    return adx_mpi_run_exchange(c, s, n, x, m, y);
}

ADX_API ad_status ad_mpi_allgatherv(ad_mpi *c, size_t n, const ad_rev x[],
                                    const size_t count[], ad_rev y[])
{
    size_t m = adx_mpi_total(c, count);
    bool wrong = adx_no_array(n, x) || adx_no_array(m, y)
              || (c != NULL && count[c->rank] != n);
    ad_status status = adx_mpi_enter_all(c, wrong, m, y,
                                         ADX_MPI_ALLGATHER, 0, 0);
    if (status != ADREV_OK)
        return status;
    adx_mpi_exchange *s = adx_mpi_links_with_all(c, ADX_MPI_ALLGATHER);
    adx_mpi_receive_pieces(s, count);
    for (size_t r = 0; s != NULL && r < s->links; r++) {
        s->link[r].sends = true;
        s->link[r].out = n;
    }
    return adx_mpi_run_exchange(c, s, n, x, m, y);
}

ADX_API ad_status ad_mpi_scatterv(ad_mpi *c, int root, const size_t count[],
                                  const ad_rev x[], size_t m, ad_rev y[])
{
    bool here = c != NULL && c->rank == root;
    size_t n = here ? adx_mpi_total(c, count) : 0;
    bool wrong = !adx_mpi_is_rank(c, root) || adx_no_array(m, y)
              || (here && (adx_no_array(n, x) || count[root] != m));
    ad_status status = adx_mpi_enter_all(c, wrong, m, y,
                                         ADX_MPI_SCATTER, root, 0);
    if (status != ADREV_OK)
        return status;
    adx_mpi_exchange *s = adx_mpi_links_with_all(c, ADX_MPI_SCATTER);
    if (here)
        adx_mpi_send_pieces(s, count);
    if (s != NULL) {
        s->link[root].receives = true;
        s->link[root].in = m;
    }
    return adx_mpi_run_exchange(c, s, n, x, m, y);
}

ADX_API ad_status ad_mpi_alltoallv(ad_mpi *c, const size_t sends[],
                                   const ad_rev x[], const size_t receives[],
                                   ad_rev y[])
{
    size_t n = adx_mpi_total(c, sends);
    size_t m = adx_mpi_total(c, receives);
    bool wrong = adx_no_array(n, x) || adx_no_array(m, y)
              || (c != NULL && sends[c->rank] != receives[c->rank]);
    ad_status status = adx_mpi_enter_all(c, wrong, m, y,
                                         ADX_MPI_ALLTOALL, 0, 0);
    if (status != ADREV_OK)
        return status;
    adx_mpi_exchange *s = adx_mpi_links_with_all(c, ADX_MPI_ALLTOALL);
    adx_mpi_send_pieces(s, sends);
    adx_mpi_receive_pieces(s, receives);
    return adx_mpi_run_exchange(c, s, n, x, m, y);
}

/* --- what a broadcast or a reduction saves -------------------------------- */

// What the statement saves.
typedef struct adx_mpi_tree_sum {
    ad_mpi *c;
    adx_mpi_kind kind;
    int root;
    bool all;                   // allreduce
    size_t n;
    bool partial;               // partials follow; otherwise all are 1
} adx_mpi_tree_sum;

_Static_assert(sizeof(adx_mpi_tree_sum) % _Alignof(ad_real) == 0,
               "partials must be aligned");

static const ad_real *adx_mpi_partials(const adx_mpi_tree_sum *s)
{
    return s->partial ? (const ad_real *)(const void *)(s + 1) : NULL;
}

/* --- the tree ------------------------------------------------------------ */

// Ranks are counted from the root. Below rank r are r + 1, r + 2, r + 4 ..., up
// to the lowest bit that r has; above it is r without that bit.
typedef struct adx_mpi_place {
    ad_mpi *c;
    unsigned stamp;
    int root;
    int from_root;              // this rank, counted from the root
    int bit;                    // its lowest bit; root: beyond all ranks
} adx_mpi_place;

static adx_mpi_place adx_mpi_place_of(ad_mpi *c, adx_mpi_kind kind, int root)
{
    adx_mpi_place p = { c, kind, root,
                        (c->rank - root + c->size) % c->size, 1 };
    while ((p.from_root & p.bit) == 0 && p.bit < c->size)
        p.bit *= 2;
    return p;
}

// The rank `stride` below this one; -1: there is none.
static int adx_mpi_below(const adx_mpi_place *p, int stride)
{
    int r = p->from_root + stride;
    return r < p->c->size ? (r + p->root) % p->c->size : -1;
}

static int adx_mpi_above(const adx_mpi_place *p)
{
    return (p->from_root - p->bit + p->root) % p->c->size;
}

static bool adx_mpi_give(const adx_mpi_place *p, int to, size_t n,
                         const ad_real v[])
{
    return adx_mpi_send(p->c, to, ADX_MPI_COLLECTIVE_TAG, p->stamp, n, v);
}

static bool adx_mpi_get(const adx_mpi_place *p, int from, size_t n,
                        ad_real v[])
{
    return adx_mpi_receive(p->c, from, ADX_MPI_COLLECTIVE_TAG, p->stamp, n, v,
                           NULL);
}

// v[n] of the root to all.
static bool adx_mpi_down(const adx_mpi_place *p, size_t n, ad_real v[])
{
    if (p->from_root != 0 && !adx_mpi_get(p, adx_mpi_above(p), n, v))
        return false;
    for (int stride = p->bit / 2; stride > 0; stride /= 2) {
        int to = adx_mpi_below(p, stride);
        if (to >= 0 && !adx_mpi_give(p, to, n, v))
            return false;
    }
    return true;
}

typedef void adx_mpi_combine(size_t n, ad_real v[], const ad_real w[]);

// v[n] becomes what `combine` makes of all of them, on the root.
static bool adx_mpi_up(const adx_mpi_place *p, size_t n, ad_real v[],
                       adx_mpi_combine *combine)
{
    for (int stride = 1; stride < p->bit; stride *= 2) {
        int from = adx_mpi_below(p, stride);
        if (from < 0)
            continue;
        ad_real *room = adx_mpi_room(p->c, n + 1);
        if (room == NULL || !adx_mpi_get(p, from, n, room))
            return false;
        combine(n, v, room);
    }
    return p->from_root == 0 || adx_mpi_give(p, adx_mpi_above(p), n, v);
}

static void adx_mpi_add(size_t n, ad_real v[], const ad_real w[])
{
    for (size_t i = 0; i < n; i++)
        v[i] += w[i];
}

// v and w are pairs: a number, and how many ranks have it. Each number of v
// becomes the larger one; where both are equal, the counts are added. A NaN is
// a number that no rank has.
static void adx_mpi_larger(size_t n, ad_real v[], const ad_real w[])
{
    for (size_t i = 0; i < n; i += 2) {
        bool none = v[i] != v[i];
        bool tie = v[i] == w[i] || (none && w[i] != w[i]);
        if (tie)
            v[i + 1] += w[i + 1];
        else if (none || w[i] > v[i])
            memcpy(v + i, w + i, 2 * sizeof *v);
    }
}

/* --- the rule ------------------------------------------------------------ */

// dx += partial * a for k rows; a factor of exactly zero gives zero.
static void adx_mpi_pull(const adx_mpi_tree_sum *s, size_t k, const ad_real a[],
                         ad_real dx[])
{
    const ad_real *partial = adx_mpi_partials(s);
    for (size_t r = 0; r < k; r++)
        for (size_t i = 0; i < s->n; i++) {
            ad_real d = partial == NULL ? 1 : partial[i];
            ad_real b = a[r * s->n + i];
            dx[r * s->n + i] += d == 0 || b == 0 ? 0 : d * b;
        }
}

// A vector for the rows of a sweep; NULL: this rank has failed.
static ad_real *adx_mpi_new_rows(ad_mpi *c, size_t n)
{
    ad_real *a = (ad_real *)adx_take(&c->memory, n, sizeof *a);
    if (a == NULL)
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
    else
        memset(a, 0, n * sizeof *a);
    return a;
}

// Of a broadcast: the adjoints of all copies go up. Of a reduction: that of the
// result goes down, after those of all results have gone up.
static bool adx_mpi_tree_rows(const void *saved, size_t k, size_t m,
                              const ad_real dy[], size_t n, ad_real dx[])
{
    const adx_mpi_tree_sum *s = (const adx_mpi_tree_sum *)saved;
    size_t all = k * s->n;
    bool bcast = s->kind == ADX_MPI_BCAST;
    if (!adx_mpi_is_asked(s->c))
        return false;
    const adx_mpi_place p = adx_mpi_place_of(s->c, s->kind, s->root);
    ad_real *a = adx_mpi_new_rows(s->c, all);
    if (a == NULL)
        return false;
    if (m > 0)
        memcpy(a, dy, all * sizeof *a);
    bool well = (!bcast && !s->all) || adx_mpi_up(&p, all, a, adx_mpi_add);
    well = well && (bcast || adx_mpi_down(&p, all, a));
    if (well && n > 0)
        adx_mpi_pull(s, k, a, dx);
    adx_drop(&s->c->memory, a);
    return well;
}

static bool adx_mpi_tree_back(const void *saved, size_t m, const ad_real dy[],
                              size_t n, ad_real dx[])
{
    return adx_mpi_tree_rows(saved, 1, m, dy, n, dx);
}

// Tangents take the way of the numbers: up the tree as a sum, down it as a
// broadcast.
static bool adx_mpi_tree_on(const void *saved, size_t n, const ad_real dx[],
                            size_t m, ad_real dy[])
{
    const adx_mpi_tree_sum *s = (const adx_mpi_tree_sum *)saved;
    bool bcast = s->kind == ADX_MPI_BCAST;
    if (!adx_mpi_is_asked(s->c))
        return false;
    const adx_mpi_place p = adx_mpi_place_of(s->c, s->kind, s->root);
    ad_real *a = adx_mpi_new_rows(s->c, s->n);
    if (a == NULL)
        return false;
    if (n > 0)
        adx_mpi_pull(s, 1, dx, a);
    bool well = bcast || adx_mpi_up(&p, s->n, a, adx_mpi_add);
    well = well && ((!bcast && !s->all) || adx_mpi_down(&p, s->n, a));
    if (well && m > 0)
        memcpy(dy, a, m * sizeof *dy);
    adx_drop(&s->c->memory, a);
    return well;
}

static const ad_external_rule adx_mpi_tree_rule = {
    .name = "mpi", .pullback = adx_mpi_tree_back,
    .pullback_n = adx_mpi_tree_rows, .pushforward = adx_mpi_tree_on,
    .always = true
};

/* --- questions ----------------------------------------------------------- */

static void adx_mpi_and(size_t n, ad_real v[], const ad_real w[])
{
    for (size_t i = 0; i < n; i++)
        v[i] = w[i] == 0 ? 0 : v[i];
}

ADX_API bool ad_mpi_all(ad_mpi *c, bool mine)
{
    ad_real all = mine;
    if (c == NULL)
        return mine;
    if (adx_mpi_ready(c) != ADREV_OK || !adx_mpi_look(c))
        return false;
    if (ADREV_DEBUG && adx_fetching_alone) {
        adx_mpi_stop(c, ADREV_EEXTERNAL, "ad_mpi_all in get of a store: ranks "
                     "may call it more or less often; it belongs into agree");
        return false;
    }
    const adx_mpi_place p = adx_mpi_place_of(c, ADX_MPI_ALL, 0);
    return adx_mpi_meet_call(c, ADX_MPI_ALL, 0, 0)
        && adx_mpi_up(&p, 1, &all, adx_mpi_and)
        && adx_mpi_down(&p, 1, &all) && all != 0;
}

/* --- broadcasts ---------------------------------------------------------- */

ADX_API ad_status ad_mpi_bcast(ad_mpi *c, int root, size_t n, ad_rev x[])
{
    bool here = c != NULL && c->rank == root;
    bool wrong = adx_no_array(n, x) || !adx_mpi_is_rank(c, root);
    ad_status status = adx_mpi_enter_all(c, wrong, here ? 0 : n, x,
                                         ADX_MPI_BCAST, root, n);
    if (status != ADREV_OK)
        return status;
    const adx_mpi_tree_sum s = { .c = c, .kind = ADX_MPI_BCAST, .root = root,
                                 .n = n };
    const adx_mpi_place p = adx_mpi_place_of(c, ADX_MPI_BCAST, root);
    ad_real *v = adx_mpi_new_rows(c, n);
    for (size_t i = 0; v != NULL && here && i < n; i++)
        v[i] = x[i].v;
    if (v == NULL || !adx_mpi_down(&p, n, v))
        status = adx_mpi_refuse(c, here ? 0 : n, x);
    else if (here)
        status = adx_mpi_external(c, &adx_mpi_tree_rule, &s, sizeof s, n, x, 0,
                                  NULL, NULL);
    else
        status = adx_mpi_external(c, &adx_mpi_tree_rule, &s, sizeof s, 0, NULL,
                                  n, v, x);
    adx_drop(&c->memory, v);
    return status;
}

/* --- reductions ---------------------------------------------------------- */

// Values and partials of MIN and MAX; of MIN those of MAX of negative numbers.
// pair[2n] is scratch.
static bool adx_mpi_reduce_extreme(const adx_mpi_place *p, ad_real sign,
                                   size_t n, ad_real v[], ad_real partial[],
                                   ad_real pair[])
{
    for (size_t i = 0; i < n; i++) {
        pair[2 * i] = sign * v[i];
        pair[2 * i + 1] = 1;
    }
    if (!adx_mpi_up(p, 2 * n, pair, adx_mpi_larger)
        || !adx_mpi_down(p, 2 * n, pair))
        return false;
    for (size_t i = 0; i < n; i++) {
        ad_real y = sign * pair[2 * i];
        bool mine = v[i] == y || (v[i] != v[i] && y != y);
        partial[i] = mine ? 1 / pair[2 * i + 1] : 0;
        v[i] = y;
    }
    return true;
}

// Values and partials of a product. below[levels][n]: the products of the
// subtrees below. triple[3n]: the product of all, of those to the left, and of
// those to the right.
static bool adx_mpi_products_down(const adx_mpi_place *p, size_t levels,
                                  size_t n, const ad_real v[],
                                  ad_real partial[], const ad_real below[],
                                  ad_real triple[])
{
    ad_real *left = triple + n;
    ad_real *right = triple + 2 * n;
    if (p->from_root != 0 && !adx_mpi_get(p, adx_mpi_above(p), 3 * n, triple))
        return false;
    for (size_t i = 0; i < n; i++) {
        ad_real others = right[i];
        for (size_t l = levels; l-- > 0;)
            others = below[l * n + i] * others;
        partial[i] = left[i] * others;
    }
    // `right` grows to the left from here on: of the highest child it is what
    // came from above
    for (size_t l = levels; l-- > 0;) {
        int to = adx_mpi_below(p, 1 << l);
        ad_real *message = to < 0 ? NULL : adx_mpi_room(p->c, 3 * n + 1);
        if (to < 0)
            continue;
        if (message == NULL)
            return false;
        for (size_t i = 0; i < n; i++) {
            ad_real before = left[i] * v[i];
            for (size_t k = 0; k < l; k++)
                before *= below[k * n + i];
            message[i] = triple[i];
            message[n + i] = before;
            message[2 * n + i] = right[i];
            right[i] = below[l * n + i] * right[i];
        }
        if (!adx_mpi_give(p, to, 3 * n, message))
            return false;
    }
    return true;
}

// Products up the tree: v becomes the product over all ranks, which the root
// knows first. What came from below is kept level by level, so that on the way
// down partial[] becomes the product of the numbers of all other ranks. Nothing
// is divided, so zeros do no harm. False: a message failed, or no memory.
static bool adx_mpi_reduce_product(const adx_mpi_place *p, size_t n,
                                   ad_real v[], ad_real partial[])
{
    ad_mpi *c = p->c;
    size_t levels = 0;
    while (1 << levels < p->bit)
        levels++;
    ad_real *below = adx_mpi_new_rows(c, adx_size_times(levels + 4, n));
    if (below == NULL)
        return false;
    ad_real *triple = below + levels * n;
    ad_real *own = triple + 3 * n;
    bool well = true;
    if (n > 0)
        memcpy(own, v, n * sizeof *v);
    for (size_t l = 0; well && l < levels; l++) {
        int from = adx_mpi_below(p, 1 << l);
        ad_real *product = below + l * n;
        for (size_t i = 0; i < n; i++)
            product[i] = 1;
        well = from < 0 || adx_mpi_get(p, from, n, product);
        for (size_t i = 0; i < n; i++)
            v[i] *= product[i];
    }
    for (size_t i = 0; i < n; i++) {
        triple[i] = v[i];
        triple[n + i] = triple[2 * n + i] = 1;
    }
    well = well
        && (p->from_root == 0 || adx_mpi_give(p, adx_mpi_above(p), n, v))
        && adx_mpi_products_down(p, levels, n, own, partial, below, triple);
    if (well && n > 0)
        memcpy(v, triple, n * sizeof *v);
    adx_drop(&c->memory, below);
    return well;
}

// v[n] becomes the result, where it is wanted; partial[n] unless it is a sum.
static bool adx_mpi_reduce_values(const adx_mpi_place *p, ad_mpi_op op,
                                  bool all, size_t n, ad_real v[],
                                  ad_real partial[], ad_real pair[])
{
    switch (op) {
        case ADREV_MPI_PROD: return adx_mpi_reduce_product(p, n, v, partial);
        case ADREV_MPI_MIN:
        case ADREV_MPI_MAX:
            return adx_mpi_reduce_extreme(p, op == ADREV_MPI_MIN ? -1 : 1, n, v,
                                          partial, pair);
        case ADREV_MPI_SUM:
        default:
            return adx_mpi_up(p, n, v, adx_mpi_add)
                && (!all || adx_mpi_down(p, n, v));
    }
}

// here: this rank gets the result.
static ad_status adx_mpi_reduce(ad_mpi *c, ad_mpi_op op, int root, bool all,
                                size_t n, const ad_rev x[], ad_rev y[])
{
    bool here = all || (c != NULL && c->rank == root);
    bool sum = op == ADREV_MPI_SUM;
    bool wrong = adx_no_array(n, x) || (here && adx_no_array(n, y))
              || n > ADX_MOST_ELEMENTS / 8 || !adx_mpi_is_rank(c, root)
              || (unsigned)op > ADREV_MPI_MAX;
    size_t m = here ? n : 0;
    ad_status status = adx_mpi_enter_all(c, wrong, m, y, ADX_MPI_REDUCE,
                                         (all ? -8 : 8 * root) + (int)op, n);
    if (status != ADREV_OK)
        return status;
    const adx_mpi_place p = adx_mpi_place_of(c, ADX_MPI_REDUCE, root);
    size_t bytes = sizeof(adx_mpi_tree_sum) + (sum ? 0 : n * sizeof(ad_real));
    adx_mpi_tree_sum *s = (adx_mpi_tree_sum *)adx_take(&c->memory, bytes, 1);
    ad_real *v = adx_mpi_new_rows(c, 3 * n);
    for (size_t i = 0; v != NULL && i < n; i++)
        v[i] = x[i].v;
    if (s == NULL)
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
    if (s == NULL || v == NULL
        || !adx_mpi_reduce_values(&p, op, all, n, v,
                                  (ad_real *)(void *)(s + 1), v + n))
        status = adx_mpi_refuse(c, m, y);
    else {
        *s = (adx_mpi_tree_sum){ c, ADX_MPI_REDUCE, root, all, n, !sum };
        status = adx_mpi_external(c, &adx_mpi_tree_rule, s, bytes, n, x, m, v,
                                  y);
    }
    adx_drop(&c->memory, v);
    adx_drop(&c->memory, s);
    return status;
}

ADX_API ad_status ad_mpi_reduce(ad_mpi *c, ad_mpi_op op, int root, size_t n,
                                const ad_rev x[], ad_rev y[])
{
    return adx_mpi_reduce(c, op, root, false, n, x, y);
}

ADX_API ad_status ad_mpi_allreduce(ad_mpi *c, ad_mpi_op op, size_t n,
                                   const ad_rev x[], ad_rev y[])
{
    return adx_mpi_reduce(c, op, 0, true, n, x, y);
}

#endif // ADREV_MPI_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
