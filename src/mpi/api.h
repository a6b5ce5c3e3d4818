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
