/* Made from src/ by `make headers`: changes belong there. */
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

/* === parallel/api ===========================================================
 * Forks, pools and job graphs: the switches, the types and the interface.
 *
 *   offers  adx_task adx_fork adx_team adx_worker
 * ========================================================================== */

/* --- configuration ----------------------------------------------------------
 * Both take effect in the file that defines ADREV_IMPLEMENTATION.           */

// ADREV_PTHREADS   1: POSIX threads; 0: C11 threads.
//   default 0; 1 where <threads.h> is missing, and on Linux with another C
//   library than glibc, whose C11 threads have little stack. With 1 threads
//   have at least 2 MB of it. ThreadSanitizer needs 1.
#ifndef ADREV_PTHREADS
#if defined __STDC_NO_THREADS__ || (defined __linux__ && !defined __GLIBC__)
#define ADREV_PTHREADS 1
#elif defined __has_include
#if __has_include(<threads.h>)
#define ADREV_PTHREADS 0
#else
#define ADREV_PTHREADS 1
#endif
#else
#define ADREV_PTHREADS 0
#endif
#endif

// ADREV_CHAOS      1: random delays and random refusals.           default 0
//   For tests: branches get stolen that otherwise never would be.
#ifndef ADREV_CHAOS
#define ADREV_CHAOS 0
#endif

/* --- types ------------------------------------------------------------------
 * A job is a sequential stretch of a program: from the beginning, a fork or a
 * join to the next fork, the next join or the end. A task is a branch, from its
 * fork to its end, and consists of one or more jobs. (Names as in Smeding &
 * Vakar, Parallel dual-numbers reverse AD.)                                 */

typedef struct ad_pool ad_pool;
typedef struct adx_task adx_task;
typedef struct adx_fork adx_fork;
typedef struct adx_team adx_team;
typedef struct adx_worker adx_worker;

// Makes n calls, in any order, on any threads, and returns when all are done.
typedef void ad_call_fn(size_t i, void *arg);
typedef void ad_execute_fn(size_t n, ad_call_fn *call, void *arg, void *user);

// An open fork. It may lie on the stack; the user touches no field of it.
typedef struct ad_fork {
    adx_team *adx_crew;             // NULL: nothing is recorded in branches
    adx_fork *adx_record;           // NULL: out of memory
    ad_tape *adx_tape;              // current where it was opened
    adx_worker *adx_host;           // current there while it is open
    size_t adx_n;
    ad_execute_fn *adx_execute;
    void *adx_user;
    bool adx_inline;                // branches are part of the task that forks
} ad_fork;

// A branch that runs.
typedef struct ad_branch {
    ad_fork *adx_fork;
    adx_task *adx_own;              // NULL: records nothing
    ad_tape *adx_tape;
    ad_tape *adx_before;            // what was current on the thread before
    size_t adx_index;
    size_t adx_scratch;
    bool adx_taken;                 // the tape was taken from the idle ones
    ad_execute_fn *adx_execute;
    void *adx_user;
} ad_branch;

// A job of a recording. Jobs are numbered as if one thread had run them. A fork
// of k branches takes k + 1 numbers; the last is that of what follows the join.
typedef struct ad_job {
    size_t branches;        // of the fork that ends this job; 0: the task ends
    size_t fork;            // the first job of that fork's first branch; the
                            // job that follows the join is fork + branches
    size_t join;            // in the last job of a branch: the job that follows
                            // the join; else 0
    size_t values;          // inputs and statements of its own
    size_t statements;
    size_t operands;
    size_t imports;         // values of other tasks that it uses, each once
    double primal;          // seconds if ad_tape_measure was on; else 0
    double reverse;         // the same, of the last reverse sweep
} ad_job;

// What a job graph allows. Times are 0 unless they were measured.
typedef struct ad_parallelism {
    size_t jobs;
    size_t forks;
    size_t tasks;           // branches, and the program itself
    size_t work;            // statements of all jobs
    size_t span;            // statements on the longest path
    double parallelism;     // work/span: the most that any number of threads
                            // can gain
    double primal_work, primal_span;        // seconds
    double reverse_work, reverse_span;
} ad_parallelism;

// The branches that a block collects: see ADREV_PARALLEL.
typedef struct ad_scope {
    void (**adx_f)(void *);
    void **adx_arg;
    size_t adx_n;
    size_t adx_room;
    void (*adx_first_f[16])(void *);
    void *adx_first_arg[16];
    void *adx_memory;
    ad_allocator adx_allocator;
    bool adx_open;
} ad_scope;

/* --- interface --------------------------------------------------------------
 * Everything below records on the current tape of the calling thread. Inside a
 * branch the current tape is one of the same recording. If no tape is current,
 * nothing is recorded, and branches run all the same.
 *
 * In a branch, do not clear, free, query or ad_use the tape of the recording
 * (ADREV_EBUSY), and do not leave another tape current. ad_grad, ad_jac and
 * tapes of the branch's own are fine. One thread records a tape in fixed
 * memory, or one whose operations are traced: the branches run one after
 * another, as if they were called.
 *
 * All threads call the allocator that was given to the tape (ad_tape_new_with),
 * and the callbacks of external statements. If rows of a Jacobian are swept in
 * parallel, several threads may call the callbacks of one statement at once.
 *
 * Memory: about 1.5 kB for a fork of two small branches. Stack: 700 bytes for
 * each level of nesting. Dumps and regions show what lies on the tape itself,
 * not what branches recorded; for that see ad_tape_serial.                  */

#ifdef __cplusplus
extern "C" {
#endif

/* --- pools --------------------------------------------------------------- */

// Threads that run branches.
//
//   threads      how many in all, with the one that forks; at most 512; 0: one
//                per processor. The pool has fewer if the system gives no more:
//                see ad_pool_threads
//
//   returns      a pool, to be freed with ad_pool_free; NULL: out of memory
//   memory       about 70 kB per thread
ADX_API ad_pool *ad_pool_new(unsigned threads);

// The same with an allocator of the caller's choice.
ADX_API ad_pool *ad_pool_new_with(unsigned threads,
                                  const ad_allocator *allocator);

// Ends the threads and frees the pool. The pool may be NULL, or current on this
// thread. If it is current on another thread, or runs a fork, the call is
// refused: the pool lives on, and ad_pool_status says ADREV_EBUSY.
ADX_API void ad_pool_free(ad_pool *pool);

// ADREV_EBUSY if the last ad_pool_free was refused, else ADREV_OK; of NULL
// ADREV_ENOTAPE.
ADX_TRY ad_status ad_pool_status(const ad_pool *pool);

// How many threads it has, with the one that forks.
ADX_API unsigned ad_pool_threads(const ad_pool *pool);

// From now on the forks of this thread, and the sweeps of recordings with
// forks, run on this pool; NULL: on this thread alone. Any number of threads
// may use a pool at once, each with recordings of its own.
//
//   returns      ADREV_OK; ADREV_EBUSY: in a branch; ADREV_ELIMIT: the pool has
//                1024 users already, its own threads among them; ADREV_ENOMEM.
//                On failure nothing has changed
//
// A thread that uses a pool must leave it (NULL) before it ends: otherwise the
// pool cannot be freed.
ADX_TRY ad_status ad_pool_use(ad_pool *pool);

/* --- forks --------------------------------------------------------------- */

// Runs f(a) and g(b), in parallel if a pool is current, and returns when both
// are done. If a branch fails, the tape has its status. A program without forks
// pays nothing. A fork of two branches that record one statement each takes
// 0.25 microseconds with its reverse pass, on one thread (bench/parallel.c).
//
// A thread that waits for a branch runs other branches meanwhile, on the same
// stack. So hold no lock across a fork, and expect thread-local data to have
// changed after it.
ADX_API void ad_fork2(void (*f)(void *), void *a, void (*g)(void *), void *b);

// The same for f(0, ctx), ..., f(n - 1, ctx).
ADX_API void ad_fork_n(size_t n, void (*f)(size_t i, void *ctx), void *ctx);

// Calls f for consecutive parts of 0, ..., n - 1, each of `grain` numbers
// except the last.
//
//   grain        0: 256 parts, or n if that is less. The parts never depend on
//                the number of threads, so results are the same with any number
ADX_API void ad_parallel_for(size_t n, size_t grain,
                             void (*f)(size_t begin, size_t end, void *ctx),
                             void *ctx);

// combine(...combine(combine(p0, p1), p2)..., pk), in this order, where pi is f
// of the i-th part.
//
//   combine      NULL: the sum, as one statement
//
//   returns      the result; for n = 0 the constant 0
ADX_API ad_rev ad_parallel_reduce(size_t n, size_t grain,
                                  ad_rev (*f)(size_t begin, size_t end,
                                              void *ctx),
                                  ad_rev (*combine)(ad_rev a, ad_rev b,
                                                    void *ctx),
                                  void *ctx);

// A block that collects branches and runs them where it ends:
//
//     ADREV_PARALLEL(scope) {
//         ADREV_FORK(scope, f, a);        // f(a), a void *
//         if (more)
//             ADREV_FORK(scope, g, b);
//     }                                   // all are done
//
// Leave the block only at its end: a break or return runs none of the branches.
#define ADREV_PARALLEL(scope)                                               \
    for (ad_scope scope = ad_scope_open(); scope.adx_open;                  \
         ad_scope_close(&scope))
#define ADREV_FORK(scope, f, arg) ad_scope_add(&(scope), (f), (arg))

ADX_API ad_scope ad_scope_open(void);
ADX_API void ad_scope_add(ad_scope *scope, void (*f)(void *), void *arg);
ADX_API void ad_scope_close(ad_scope *scope);

// Makes the values x values of this task. When a task uses a value of another
// task for the first time, that makes an input and an entry in a table: 40
// bytes in all, in 25 ns. Every further use finds the entry, in 5 ns
// (bench/parallel.c). A branch that uses the same values very often can take
// them over once by this function; from then on their use costs nothing.
//
//   x [n]        in
//   y [n]        out   the same values; may be x
ADX_API void ad_capture(size_t n, const ad_rev x[], ad_rev y[]);

// ad_jacobian with 8 rows or columns at a time on each thread. A recording with
// forks is swept as by ad_jacobian: its branches run in parallel, not its rows.
// Only one thread at a time sweeps a checkpoint or a scan (adrev_loop.h), and
// it runs the forks within by itself.
//
//   returns      as ad_jacobian
//   memory       for each thread what a sweep needs, from the allocator of the
//                tape: 64 bytes per value
ADX_TRY ad_status ad_parallel_jacobian(ad_tape *t, size_t m, const ad_rev y[],
                                       size_t n, const ad_rev x[],
                                       ad_real J[]);

/* --- other runtimes ---------------------------------------------------------
 * The parts of the forks above. A task runtime such as OpenMP or oneTBB, or a
 * plain loop, opens a fork, enters and leaves each branch once, on whatever
 * threads it likes, and closes the fork when all branches have been left:
 *
 *     ad_fork f;
 *     ad_fork_open(&f, n);
 *     #pragma omp parallel for
 *     for (size_t i = 0; i < n; i++) {
 *         ad_branch b;
 *         ad_branch_enter(&b, &f, i);
 *         ...
 *         ad_branch_leave(&b);
 *     }
 *     ad_fork_close(&f);
 *
 * A branch that is never entered counts as one that recorded nothing. A branch
 * is left on the thread that entered it, and a fork is closed on the thread
 * that opened it: no untied tasks. LLVM 14's OpenMP crashes now and then, with
 * or without this library: where nested teams need more than 32 threads, and in
 * tasks that run after another host thread with tasks has ended.             */

ADX_API void ad_fork_open(ad_fork *f, size_t n);
ADX_API void ad_branch_enter(ad_branch *b, ad_fork *f, size_t i);
ADX_API void ad_branch_leave(ad_branch *b);
ADX_API void ad_fork_close(ad_fork *f);

// Whether branches may run on different threads. They may not if the tape is in
// fixed memory or under a trace hook: then enter and leave them in order, on
// this thread.
ADX_API bool ad_fork_parallel(const ad_fork *f);

// From now on another runtime than the pool runs the forks of this thread, and
// its sweeps; in branches it is the same runtime. NULL: the pool again.
//
//   returns      ADREV_OK; ADREV_EBUSY: in a branch
ADX_TRY ad_status ad_executor_use(ad_execute_fn *execute, void *user);

// on: from now on the forks of this tape's recordings are plain calls. All of a
// recording is then on the tape, for ad_explain, ad_find_nonfinite, dumps and
// regions.
ADX_API void ad_tape_serial(ad_tape *t, bool on);

/* --- the job graph ------------------------------------------------------- */

// on: from now on the times of jobs are taken, at 25 ns for each of their ends.
ADX_API void ad_tape_measure(ad_tape *t, bool on);

// The jobs of a recording. A fork none of whose branches recorded anything does
// not appear.
//
//   job [room]   out   the first `room` of them
//
//   returns      how many there are
//   cost         one pass over the tape
ADX_API size_t ad_tape_jobs(const ad_tape *t, size_t room, ad_job job[]);

// What the graph of these n jobs allows; they must be all jobs of a recording.
// All 0 if n is impossible.
ADX_API ad_parallelism ad_job_parallelism(size_t n, const ad_job job[]);

// How many seconds the jobs take on that many workers, none of which is idle
// while a job is ready (Graham's bound: less than twice the best). Computed
// from the measured times, without the overhead of threads.
//
//   primal, reverse   out   may be NULL
//
//   returns      ADREV_OK, ADREV_ENOMEM, ADREV_ESHAPE
ADX_TRY ad_status ad_job_predict(size_t n, const ad_job job[],
                                 unsigned workers, double *primal,
                                 double *reverse);

// Writes the job graph for `dot -Tsvg`: a box for each job, with its values,
// statements and imports.
//
//   returns      the status of the tape, ADREV_ENOMEM
ADX_TRY ad_status ad_dump_jobs_dot(const ad_tape *t, ad_write_fn *write,
                                   void *user);

#ifdef __cplusplus
}
#endif

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

/* === core/hash ==============================================================
 * XXH3 of 64 and 128 bits: places in hash tables, checksums of saved functions,
 * names of compiled ones. By xxHash where <xxhash.h> is installed. Elsewhere,
 * and with ADREV_NO_XXHASH, by what stands here, which is written from xxHash's
 * specification (doc/xxhash_spec.md) and gives the same bits, so that files can
 * be exchanged. (Long data: 9 GB/s instead of 17, clang. Recording a function
 * takes as long as with xxHash.)
 *
 * adrev_parallel.h and adrev_function.h have this room, each for itself.
 *
 *   needs   core/config
 *   offers  adx_hash128 adx_xxh3 adx_xxh128
 * ========================================================================== */

#ifndef ADX_HASH
#define ADX_HASH 1

// ADREV_NO_XXHASH   do not look for <xxhash.h>.
#if defined __has_include && !defined ADREV_NO_XXHASH
#if __has_include(<xxhash.h>)
#define ADX_XXHASH
#endif
#endif

typedef struct adx_hash128 {
    uint64_t low;
    uint64_t high;
} adx_hash128;

#ifdef ADX_XXHASH

#define XXH_INLINE_ALL
#ifdef ADREV_NO_STDLIB
#define XXH_NO_STDLIB       // xxHash 0.8.2; before, its malloc has no caller
#endif
#include <xxhash.h>

ADX_INLINE uint64_t adx_xxh3(const void *data, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, n, seed);
}

ADX_UNUSED static adx_hash128 adx_xxh128(const void *data, size_t n)
{
    const XXH128_hash_t h = XXH3_128bits(data, n);
    return (adx_hash128){ h.low64, h.high64 };
}

#else

#define ADX_P32_1 UINT64_C(0x9E3779B1)
#define ADX_P32_2 UINT64_C(0x85EBCA77)
#define ADX_P32_3 UINT64_C(0xC2B2AE3D)
#define ADX_P64_1 UINT64_C(0x9E3779B185EBCA87)
#define ADX_P64_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define ADX_P64_3 UINT64_C(0x165667B19E3779F9)
#define ADX_P64_4 UINT64_C(0x85EBCA77C2B2AE63)
#define ADX_P64_5 UINT64_C(0x27D4EB2F165667C5)
#define ADX_PMX_1 UINT64_C(0x165667919E3779F9)
#define ADX_PMX_2 UINT64_C(0x9FB21C651E98DF25)

#define ADX_STRIPE 64           /* bytes */
#define ADX_STRIPES 16          /* of a block */
#define ADX_SECRET 192          /* bytes */

static const uint8_t adx_secret[ADX_SECRET] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c,
    0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb,
    0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6,
    0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97,
    0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31,
    0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, 0xea, 0xc5, 0xac, 0x83,
    0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26,
    0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc,
    0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e
};

// A number of 4 or 8 bytes, the lowest first.
ADX_INLINE uint64_t adx_read_little(const uint8_t *v, int bytes)
{
    uint64_t x = 0;
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&x, v, (size_t)bytes);
#else
    for (int i = bytes; i-- > 0;)
        x = x << 8 | v[i];
#endif
    return x;
}

ADX_INLINE uint64_t adx_read4(const uint8_t *v)
{
    return adx_read_little(v, 4);
}

ADX_INLINE uint64_t adx_read8(const uint8_t *v)
{
    return adx_read_little(v, 8);
}

ADX_INLINE uint64_t adx_secret8(size_t at)
{
    return adx_read8(adx_secret + at);
}

ADX_INLINE uint64_t adx_rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

// The lowest bytes of x, in the reverse order.
ADX_INLINE uint64_t adx_swap_bytes(uint64_t x, int bytes)
{
    uint64_t y = 0;
    for (int i = 0; i < bytes; i++)
        y = y << 8 | (x >> 8 * i & 0xff);
    return y;
}

// The two halves of a product of 128 bits, combined.
ADX_INLINE uint64_t adx_fold_product(uint64_t x, uint64_t y)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)x * y;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    const uint64_t low = 0xffffffff;
    const uint64_t ll = (x & low) * (y & low);
    const uint64_t hl = (x >> 32) * (y & low);
    const uint64_t lh = (x & low) * (y >> 32) + (hl & low) + (ll >> 32);
    return (lh << 32 | (ll & low))
         ^ ((x >> 32) * (y >> 32) + (hl >> 32) + (lh >> 32));
#endif
}

ADX_INLINE uint64_t adx_avalanche(uint64_t x)
{
    x = (x ^ x >> 37) * ADX_PMX_1;
    return x ^ x >> 32;
}

ADX_INLINE uint64_t adx_avalanche_short(uint64_t x)
{
    x = (x ^ x >> 33) * ADX_P64_2;
    x = (x ^ x >> 29) * ADX_P64_3;
    return x ^ x >> 32;
}

// Up to 16 bytes.
ADX_INLINE uint64_t adx_hash_short(const uint8_t *v, size_t n, uint64_t seed)
{
    if (n > 8) {
        const uint64_t low = adx_read8(v)
                           ^ ((adx_secret8(24) ^ adx_secret8(32)) + seed);
        const uint64_t high = adx_read8(v + n - 8)
                            ^ ((adx_secret8(40) ^ adx_secret8(48)) - seed);
        return adx_avalanche(n + adx_swap_bytes(low, 8) + high
                             + adx_fold_product(low, high));
    }
    if (n > 3) {
        const uint64_t mixed = seed ^ adx_swap_bytes(seed, 4) << 32;
        uint64_t x = (adx_read4(v + n - 4) | adx_read4(v) << 32)
                   ^ ((adx_secret8(8) ^ adx_secret8(16)) - mixed);
        x ^= adx_rotate_left(x, 49) ^ adx_rotate_left(x, 24);
        x *= ADX_PMX_2;
        x = (x ^ ((x >> 35) + n)) * ADX_PMX_2;
        return x ^ x >> 28;
    }
    if (n > 0) {
        const uint64_t x = v[n - 1] | (uint64_t)n << 8 | (uint64_t)v[0] << 16
                         | (uint64_t)v[n / 2] << 24;
        return adx_avalanche_short(
            x ^ ((adx_read4(adx_secret) ^ adx_read4(adx_secret + 4)) + seed));
    }
    return adx_avalanche_short(seed ^ adx_secret8(56) ^ adx_secret8(64));
}

ADX_INLINE uint64_t adx_mix_secret(const uint8_t *v, size_t at, uint64_t seed)
{
    return adx_fold_product(adx_read8(v) ^ (adx_secret8(at) + seed),
                            adx_read8(v + 8) ^ (adx_secret8(at + 8) - seed));
}

// 17 to 240 bytes.
static uint64_t adx_hash_medium(const uint8_t *v, size_t n, uint64_t seed)
{
    uint64_t sum = n * ADX_P64_1;
    if (n <= 128) {
        for (size_t i = (n - 1) / 32 + 1; i-- > 0;)
            sum += adx_mix_secret(v + 16 * i, 32 * i, seed)
                 + adx_mix_secret(v + n - 16 * i - 16, 32 * i + 16, seed);
        return adx_avalanche(sum);
    }
    for (size_t i = 0; i < 8; i++)
        sum += adx_mix_secret(v + 16 * i, 16 * i, seed);
    sum = adx_avalanche(sum);
    for (size_t i = 8; i < n / 16; i++)
        sum += adx_mix_secret(v + 16 * i, 16 * (i - 8) + 3, seed);
    return adx_avalanche(sum + adx_mix_secret(v + n - 16, 119, seed));
}

// Adds a stripe to the sums. `secret` is that for this stripe.
ADX_INLINE void adx_add_stripe(uint64_t sum[8], const uint8_t *v,
                               const uint8_t *secret)
{
    for (int i = 0; i < 8; i++) {
        const uint64_t x = adx_read8(v + 8 * i);
        const uint64_t mixed = x ^ adx_read8(secret + 8 * i);
        sum[i ^ 1] += x;
        sum[i] += (mixed & 0xffffffff) * (mixed >> 32);
    }
}

// After each block.
static void adx_scramble(uint64_t sum[8], const uint8_t *secret)
{
    for (int i = 0; i < 8; i++)
        sum[i] = (sum[i] ^ sum[i] >> 47 ^ adx_read8(secret + 8 * i))
               * ADX_P32_1;
}

// More than 240 bytes: the sums of all stripes. The last one ends with the
// data, and may overlap the one before.
static void adx_add_stripes(uint64_t sum[8], const uint8_t *v, size_t n,
                            const uint8_t *secret)
{
    const uint64_t first[8] = { ADX_P32_3, ADX_P64_1, ADX_P64_2, ADX_P64_3,
                                ADX_P64_4, ADX_P32_2, ADX_P64_5, ADX_P32_1 };
    memcpy(sum, first, sizeof first);
    for (size_t i = 0; i < (n - 1) / ADX_STRIPE; i++) {
        adx_add_stripe(sum, v + ADX_STRIPE * i, secret + 8 * (i % ADX_STRIPES));
        if (i % ADX_STRIPES == ADX_STRIPES - 1)
            adx_scramble(sum, secret + ADX_SECRET - ADX_STRIPE);
    }
    adx_add_stripe(sum, v + n - ADX_STRIPE, secret + ADX_SECRET - 71);
}

static uint64_t adx_merge(const uint64_t sum[8], uint64_t h,
                          const uint8_t *secret)
{
    for (int i = 0; i < 8; i += 2)
        h += adx_fold_product(sum[i] ^ adx_read8(secret + 8 * i),
                              sum[i + 1] ^ adx_read8(secret + 8 * i + 8));
    return adx_avalanche(h);
}

// The secret of a seed.
static void adx_make_secret(uint8_t secret[ADX_SECRET], uint64_t seed)
{
    for (size_t i = 0; i < ADX_SECRET; i += 8) {
        const uint64_t x = adx_secret8(i) + (i % 16 == 0 ? seed : 0 - seed);
        for (size_t k = 0; k < 8; k++)
            secret[i + k] = (uint8_t)(x >> 8 * k);
    }
}

ADX_NOINLINE static uint64_t adx_hash_long(const uint8_t *v, size_t n,
                                           uint64_t seed)
{
    uint64_t sum[8];
    uint8_t secret[ADX_SECRET];
    adx_make_secret(secret, seed);
    adx_add_stripes(sum, v, n, secret);
    return adx_merge(sum, n * ADX_P64_1, secret + 11);
}

ADX_INLINE uint64_t adx_xxh3(const void *data, size_t n, uint64_t seed)
{
    const uint8_t *v = (const uint8_t *)data;
    return n <= 16 ? adx_hash_short(v, n, seed)
         : n <= 240 ? adx_hash_medium(v, n, seed) : adx_hash_long(v, n, seed);
}

// The names of compiled functions are made of more than 240 bytes. Of less, two
// hashes of 64 bits, which are not those of XXH3.
ADX_UNUSED static adx_hash128 adx_xxh128(const void *data, size_t n)
{
    const uint8_t *v = (const uint8_t *)data;
    uint64_t sum[8];
    if (n <= 240)
        return (adx_hash128){ adx_xxh3(data, n, 0), adx_xxh3(data, n, 1) };
    adx_add_stripes(sum, v, n, adx_secret);
    return (adx_hash128){
        adx_merge(sum, n * ADX_P64_1, adx_secret + 11),
        adx_merge(sum, ~(n * ADX_P64_2), adx_secret + ADX_SECRET - 75)
    };
}

#endif // ADX_XXHASH
#endif // ADX_HASH

/* === parallel/threads =======================================================
 * What is used of the system: threads, a mutex, a condition variable, a clock.
 * On top of these: deques from which other threads steal.
 *
 *   needs   parallel/api
 *   offers  adx_mutex adx_condition adx_outcome ADX_THREAD_START
 *           ADX_THREAD_JOIN ADX_THREAD_YIELD ADX_MUTEX_INIT ADX_MUTEX_FREE
 *           ADX_LOCK ADX_UNLOCK ADX_CONDITION_INIT ADX_CONDITION_FREE
 *           ADX_CONDITION_WAIT ADX_CONDITION_WAKE adx_clock adx_processors
 *           adx_pause adx_range adx_seat adx_random adx_chaos adx_push_range
 *           adx_pop_range adx_steal adx_has_work
 * ========================================================================== */

#if ADREV_PTHREADS
#include <pthread.h>
#include <sched.h>
typedef pthread_t adx_thread;
typedef pthread_mutex_t adx_mutex;
typedef pthread_cond_t adx_condition;
typedef void *adx_outcome;
#define ADX_THREAD_START(thread, f, arg) adx_start_thread((thread), (f), (arg))
#define ADX_THREAD_JOIN(thread)    ((void)pthread_join((thread), NULL))
#define ADX_THREAD_YIELD()         ((void)sched_yield())
#define ADX_MUTEX_INIT(m)          (pthread_mutex_init((m), NULL) == 0)
#define ADX_MUTEX_FREE(m)          ((void)pthread_mutex_destroy(m))
#define ADX_LOCK(m)                ((void)pthread_mutex_lock(m))
#define ADX_UNLOCK(m)              ((void)pthread_mutex_unlock(m))
#define ADX_CONDITION_INIT(c)      (pthread_cond_init((c), NULL) == 0)
#define ADX_CONDITION_FREE(c)      ((void)pthread_cond_destroy(c))
#define ADX_CONDITION_WAIT(c, m)   ((void)pthread_cond_wait((c), (m)))
#define ADX_CONDITION_WAKE(c)      ((void)pthread_cond_broadcast(c))

// A thread that waits at a join runs other branches meanwhile, so it needs more
// stack than the 128 kB that musl gives by default.
#define ADX_THREAD_STACK ((size_t)1 << 21)

static bool adx_start_thread(adx_thread *thread, adx_outcome (*f)(void *),
                             void *arg)
{
    pthread_attr_t how;
    size_t size = 0;
    bool started = false;
    if (pthread_attr_init(&how) != 0)
        return false;
    if (pthread_attr_getstacksize(&how, &size) == 0
        && (size >= ADX_THREAD_STACK
            || pthread_attr_setstacksize(&how, ADX_THREAD_STACK) == 0))
        started = pthread_create(thread, &how, f, arg) == 0;
    (void)pthread_attr_destroy(&how);
    return started;
}
#else
#include <threads.h>
typedef thrd_t adx_thread;
typedef mtx_t adx_mutex;
typedef cnd_t adx_condition;
typedef int adx_outcome;
#define ADX_THREAD_START(thread, f, arg)                                    \
    (thrd_create((thread), (f), (arg)) == thrd_success)
#define ADX_THREAD_JOIN(thread)    ((void)thrd_join((thread), NULL))
#define ADX_THREAD_YIELD()         thrd_yield()
#define ADX_MUTEX_INIT(m)          (mtx_init((m), mtx_plain) == thrd_success)
#define ADX_MUTEX_FREE(m)          mtx_destroy(m)
#define ADX_LOCK(m)                ((void)mtx_lock(m))
#define ADX_UNLOCK(m)              ((void)mtx_unlock(m))
#define ADX_CONDITION_INIT(c)      (cnd_init(c) == thrd_success)
#define ADX_CONDITION_FREE(c)      cnd_destroy(c)
#define ADX_CONDITION_WAIT(c, m)   ((void)cnd_wait((c), (m)))
#define ADX_CONDITION_WAKE(c)      ((void)cnd_broadcast(c))
#endif

static double adx_clock(void)
{
    struct timespec now;
#ifdef TIME_UTC
    (void)timespec_get(&now, TIME_UTC);
#else
    (void)clock_gettime(CLOCK_REALTIME, &now);      // MinGW without UCRT
#endif
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static unsigned adx_processors(void)
{
#ifdef _SC_NPROCESSORS_ONLN
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#else
    long n = 1;
#endif
    return n < 1 ? 1 : n > 1000 ? 1000 : (unsigned)n;
}

// A short rest of the processor, not of the thread.
static void adx_pause(void)
{
#if (defined __GNUC__ || defined __clang__)                                 \
    && (defined __x86_64__ || defined __i386__)
    __builtin_ia32_pause();
#endif
}

/* --- deque ------------------------------------------------------------------
 * A thread that forks pushes what others may take at the bottom of its deque
 * and pops it there; thieves steal at the top, the oldest first (Chase & Lev;
 * Le et al., Correct and efficient work-stealing for weak memory models). The
 * ring has a fixed size; what does not fit is run at once.
 *
 * Items lie in the ring from top to bottom, at their index modulo its size.
 * Both indices only mean something by their difference, so they may wrap.
 *
 * Two threads may want the last item. The owner lowers bottom, then reads top;
 * a thief reads top, then bottom. In one order of all these sequentially
 * consistent accesses, at least one of them sees the other, and then the
 * exchange of top decides. tests/parallel/models/deque.pml is this protocol,
 * checked in all interleavings, and found wrong when an access is weakened.  */

#define ADX_DEQUE 4096u             // a power of 2: indices may wrap around

// Calls that one thread will make: call(i, arg) for lo <= i < hi.
typedef struct adx_range {
    ad_call_fn *call;
    void *arg;
    size_t lo, hi;
    atomic_uint thief;              // 1 + the seat of who stole it; 0: nobody
    atomic_bool done;               // by the thief
} adx_range;

// What a thread has in a pool: a worker, or a thread that uses the pool.
typedef struct adx_seat {
    _Atomic size_t top;             // ranges top ... bottom - 1 of the ring,
    char apart[64 - sizeof(size_t)];        // thieves write top, not bottom
    _Atomic size_t bottom;          // modulo its length, may be stolen
    ad_pool *pool;
    unsigned index;                 // of the seat in the pool
    uint32_t random;                // of adx_random
    unsigned helping;               // stolen ranges on the stack
    bool used;                      // guarded by the mutex of the pool
    adx_thread thread;
    _Atomic(adx_range *) ring[ADX_DEQUE];
} adx_seat;

// Marsaglia's xorshift: good enough to choose from whom to steal.
static uint32_t adx_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

// For tests: makes a thread late now and then, so that other schedules come up.
static void adx_chaos(void)
{
#if ADREV_CHAOS
    static ADX_THREAD uint32_t state;
    static atomic_uint threads;
    if (state == 0)
        state = 2654435761u * (1 + atomic_fetch_add(&threads, 1));
    uint32_t r = adx_random(&state);
    if (r % 8 == 0)
        for (uint32_t i = r / 8 % 64; i > 0; i--)
            ADX_THREAD_YIELD();
#endif
}

// Pushes an item at the bottom. False: the ring is full.
static bool adx_push_range(adx_seat *s, adx_range *range)
{
    // relaxed: its own last store
    size_t b = atomic_load_explicit(&s->bottom, memory_order_relaxed);
    // acquire: with the exchange of adx_steal, which has read the place by then
    size_t t = atomic_load_explicit(&s->top, memory_order_acquire);
    if (b - t >= ADX_DEQUE)
        return false;
    // relaxed: published by the store of bottom. For the thieves that store
    // would only have to be a release, but who pushes looks at `sleepers` next
    // (parallel/pool).
    atomic_store_explicit(&s->ring[b % ADX_DEQUE], range, memory_order_relaxed);
    atomic_store(&s->bottom, b + 1);
    return true;
}

// The newest item, unless a thief was faster. Lowering bottom first announces
// that the owner wants it. If others are left above it, no thief can reach it
// any more; if it is the last one, owner and thief compete for top.
static adx_range *adx_pop_range(adx_seat *s)
{
    // relaxed: its own last store, as is what it finds in the place
    size_t b = atomic_load_explicit(&s->bottom, memory_order_relaxed) - 1;
    atomic_store(&s->bottom, b);
    size_t t = atomic_load(&s->top);
    adx_range *range = NULL;

    if ((ptrdiff_t)(b - t) >= 0) {
        range = atomic_load_explicit(&s->ring[b % ADX_DEQUE],
                                    memory_order_relaxed);
        if (b != t)
            return range;
        if (!atomic_compare_exchange_strong(&s->top, &t, t + 1))
            range = NULL;
    }
    // relaxed: no item is published
    atomic_store_explicit(&s->bottom, b + 1, memory_order_relaxed);
    return range;
}

// The oldest item of another thread; NULL: there is none, or someone else was
// faster.
static adx_range *adx_steal(adx_seat *victim)
{
    size_t t = atomic_load(&victim->top);
    size_t b = atomic_load(&victim->bottom);
    if ((ptrdiff_t)(b - t) <= 0)
        return NULL;
    // relaxed: bottom was stored after the place. Whether the place still holds
    // this item is what the exchange asks.
    adx_range *range = atomic_load_explicit(&victim->ring[t % ADX_DEQUE],
                                          memory_order_relaxed);
    adx_chaos();
    return atomic_compare_exchange_strong(&victim->top, &t, t + 1) ? range
                                                                   : NULL;
}

static bool adx_has_work(const adx_seat *s)
{
    size_t t = atomic_load(&s->top);
    return (ptrdiff_t)(atomic_load(&s->bottom) - t) > 0;
}

/* === parallel/pool ==========================================================
 * n calls are halved until one is left. A thread pushes the upper half on its
 * deque and runs the lower half; then it pops the upper half and runs it. If
 * another thread has stolen the upper half, the first one waits, and meanwhile
 * runs what it can steal: first from the thief, whose deque most often holds
 * pieces of the awaited half.
 *
 * A thread that finds nothing to do for a while sleeps. It raises `sleepers`,
 * then looks a last time at all deques and at what it waits for. A thread that
 * pushes work or finishes looks at `sleepers` afterwards. All four accesses,
 * loads as well, are sequentially consistent, so at least one of the two
 * threads sees the other. A thread decides to sleep, and is woken, only under
 * the mutex (tests/parallel/models/join.pml).
 *
 *   needs   tape/layout tape/memory parallel/api parallel/threads
 *   offers  adx_mine adx_execute
 * ========================================================================== */

#define ADX_SEATS 1024u
#define ADX_SPIN  200           // short pauses before the processor is offered
#define ADX_YIELD 40            // offers before the thread sleeps
#define ADX_HELP  24            // stolen work on a stack beyond which a join
                                // helps nobody but its own thief

struct ad_pool {
    ad_allocator allocator;
    unsigned workers;
    unsigned users;                 // threads on which it is current
    bool stop;
    ad_status status;
    atomic_uint seats;
    atomic_uint sleepers;
    adx_mutex mutex;                // of all but the atomic fields
    adx_condition wake;
    _Atomic(adx_seat *) seat[ADX_SEATS];
};

// What the forks of a thread run on.
typedef struct adx_executor {
    ad_pool *pool;
    adx_seat *seat;                 // of this thread in the pool
    ad_execute_fn *execute;         // of the user's runtime; NULL: the pool
    void *user;
    size_t inside;                  // branches
} adx_executor;

static ADX_THREAD adx_executor adx_mine;

// Wakes all sleepers, if there are any.
static void adx_wake(ad_pool *p)
{
    if (atomic_load(&p->sleepers) == 0)
        return;
    ADX_LOCK(&p->mutex);
    // all are awake: until one of them sleeps again, nobody else need wake any
    atomic_store_explicit(&p->sleepers, 0, memory_order_relaxed);
    ADX_CONDITION_WAKE(&p->wake);
    ADX_UNLOCK(&p->mutex);
}

static void adx_run_range(adx_seat *s, ad_call_fn *call, void *arg, size_t lo,
                          size_t hi);

// Runs a stolen range and tells the thread that waits for it.
static void adx_run_stolen(adx_seat *s, adx_range *range)
{
    // relaxed: a hint for adx_work_while_waiting
    atomic_store_explicit(&range->thief, s->index + 1, memory_order_relaxed);
    s->helping++;
    adx_run_range(s, range->call, range->arg, range->lo, range->hi);
    s->helping--;
    // Release: what the calls wrote, to the thread that waits. From here on
    // the range may be gone.
    atomic_store(&range->done, true);
    adx_wake(s->pool);
}

// Steals from any thread, beginning with one chosen at random.
static adx_range *adx_find(adx_seat *s)
{
    ad_pool *p = s->pool;
    // relaxed: a new seat is seen sooner or later, before it sleeps in any case
    unsigned n = atomic_load_explicit(&p->seats, memory_order_relaxed);
    unsigned first = adx_random(&s->random) % n;

    for (unsigned k = 0; k < n; k++) {
        // acquire: with the release of adx_take_seat
        adx_seat *victim = atomic_load_explicit(&p->seat[(first + k) % n],
                                                memory_order_acquire);
        adx_range *range = victim == NULL || victim == s ? NULL
                                                       : adx_steal(victim);
        if (range != NULL)
            return range;
    }
    return NULL;
}

// Finds work for a thread that waits for a range. It looks first at the thread
// that stole the range, whose deque most often holds pieces of it. It takes
// work from others only while the stack is not deep in stolen work, because
// that work must end before the thread can go on with its own.
static adx_range *adx_work_while_waiting(adx_seat *s, const adx_range *awaited)
{
    unsigned thief = atomic_load_explicit(&awaited->thief,
                                          memory_order_relaxed);
    adx_range *range = NULL;
    if (thief != 0)
        range = adx_steal(atomic_load_explicit(&s->pool->seat[thief - 1],
                                              memory_order_acquire));
    return range == NULL && s->helping < ADX_HELP ? adx_find(s) : range;
}

static bool adx_any_work(const ad_pool *p)
{
    unsigned n = atomic_load(&p->seats);
    for (unsigned i = 0; i < n; i++)
        if (adx_has_work(atomic_load(&p->seat[i])))
            return true;
    return false;
}

// Whether there is something for this thread to do, by the same rules as
// adx_idle.
static bool adx_should_wake(const adx_seat *s, const adx_range *awaited)
{
    if (s->pool->stop || (awaited != NULL && atomic_load(&awaited->done)))
        return true;
    if (awaited == NULL || s->helping < ADX_HELP)
        return adx_any_work(s->pool);
    unsigned thief = atomic_load(&awaited->thief);
    return thief != 0 && adx_has_work(atomic_load(&s->pool->seat[thief - 1]));
}

// Sleeps until there may be something to do. False: the pool is being freed.
static bool adx_sleep(adx_seat *s, const adx_range *awaited)
{
    ad_pool *p = s->pool;

    ADX_LOCK(&p->mutex);
    // a thread that wakes the sleepers sets the count to 0, so one that goes on
    // sleeping counts itself again
    for (atomic_fetch_add(&p->sleepers, 1); !adx_should_wake(s, awaited);
         atomic_fetch_add(&p->sleepers, 1))
        ADX_CONDITION_WAIT(&p->wake, &p->mutex);
    // relaxed: of the changes under the mutex only those that raise the count
    // have to be seen by a thread without it
    atomic_fetch_sub_explicit(&p->sleepers, 1, memory_order_relaxed);
    bool go_on = !p->stop;
    ADX_UNLOCK(&p->mutex);
    return go_on;
}

// One turn of a thread that has nothing of its own to do: it runs what it can
// steal, or pauses, or after many turns without work sleeps. False: the pool is
// being freed.
static bool adx_idle(adx_seat *s, const adx_range *awaited, unsigned *turns)
{
    adx_range *range = awaited == NULL ? adx_find(s)
                                       : adx_work_while_waiting(s, awaited);
    if (range != NULL) {
        adx_run_stolen(s, range);
        *turns = 0;
        return true;
    }
    ++*turns;
    if (*turns < ADX_SPIN)
        adx_pause();
    else if (*turns < ADX_SPIN + ADX_YIELD)
        ADX_THREAD_YIELD();
    else {
        *turns = ADX_SPIN;
        return adx_sleep(s, awaited);
    }
    return true;
}

// Makes the calls lo .. hi as the opening says. When the lower half has been
// run, whatever it pushed on the deque is gone again. So the newest item is
// `upper`, or `upper` has been stolen and there is none.
static void adx_run_range(adx_seat *s, ad_call_fn *call, void *arg, size_t lo,
                          size_t hi)
{
    if (hi - lo == 1) {
        call(lo, arg);
        return;
    }
    size_t mid = lo + (hi - lo) / 2;
    adx_range upper = { .call = call, .arg = arg, .lo = mid, .hi = hi };

    atomic_init(&upper.thief, 0);
    atomic_init(&upper.done, false);
    bool pushed = adx_push_range(s, &upper);
    if (pushed)
        adx_wake(s->pool);
    adx_run_range(s, call, arg, lo, mid);
    adx_chaos();
    if (!pushed || adx_pop_range(s) != NULL)
        adx_run_range(s, call, arg, mid, hi);
    else
        for (unsigned turns = 0; !atomic_load(&upper.done);)
            adx_idle(s, &upper, &turns);
}

// Makes all calls of a fork or of a sweep: by the user's executor, by the pool,
// or one after the other. A thread that holds a statement (adx_rowing) does the
// last, for while it helped others it could come to wait for itself.
static void adx_execute(ad_execute_fn *execute, void *user, size_t n,
                        ad_call_fn *call, void *arg)
{
    bool alone = adx_mine_rows.statements > 0;
    if (execute != NULL && !alone)
        execute(n, call, arg, user);
    else if (adx_mine.seat != NULL && n > 1 && !alone)
        adx_run_range(adx_mine.seat, call, arg, 0, n);
    else
        for (size_t i = 0; i < n; i++)
            call(i, arg);
}

// The main function of a worker.
static adx_outcome adx_work(void *arg)
{
    adx_seat *s = (adx_seat *)arg;
    unsigned turns = 0;

    adx_mine.pool = s->pool;
    adx_mine.seat = s;
    while (adx_idle(s, NULL, &turns))
        continue;
    return (adx_outcome)0;
}

// A seat for this thread: one that is free, or a new one. The mutex is held.
static adx_seat *adx_take_seat(ad_pool *p)
{
    unsigned n = atomic_load(&p->seats);
    adx_seat *s = NULL;

    for (unsigned i = 0; i < n && s == NULL; i++)
        if (!atomic_load(&p->seat[i])->used)
            s = atomic_load(&p->seat[i]);
    if (s == NULL) {
        s = n == ADX_SEATS ? NULL
          : (adx_seat *)p->allocator.alloc(sizeof *s, p->allocator.user);
        if (s == NULL)
            return NULL;
        memset(s, 0, sizeof *s);
        s->pool = p;
        s->index = n;
        s->random = 2654435761u * (n + 1);
        atomic_store(&p->seat[n], s);
        atomic_store(&p->seats, n + 1);
    }
    s->used = true;
    return s;
}

#ifndef ADREV_NO_STDLIB
ADX_API ad_pool *ad_pool_new(unsigned threads)
{
    return ad_pool_new_with(threads, &adx_libc);
}
#endif

// Ends the threads, each of which leaves its loop when it sees `stop`, and
// frees everything.
static void adx_pool_end(ad_pool *p)
{
    ad_allocator allocator = p->allocator;

    ADX_LOCK(&p->mutex);
    p->stop = true;
    ADX_CONDITION_WAKE(&p->wake);
    ADX_UNLOCK(&p->mutex);
    for (unsigned i = 0; i < p->workers; i++)
        ADX_THREAD_JOIN(atomic_load(&p->seat[i])->thread);
    for (unsigned i = 0; i < atomic_load(&p->seats); i++)
        allocator.free(atomic_load(&p->seat[i]), allocator.user);
    ADX_CONDITION_FREE(&p->wake);
    ADX_MUTEX_FREE(&p->mutex);
    allocator.free(p, allocator.user);
}

// Each worker gets a seat before its thread starts. If the system gives no more
// threads, the pool has fewer. The caller counts as one of them.
ADX_API ad_pool *ad_pool_new_with(unsigned threads,
                                  const ad_allocator *allocator)
{
    if (!adx_is_allocator(allocator))
        return NULL;
    ad_pool *p = (ad_pool *)allocator->alloc(sizeof *p, allocator->user);
    if (p == NULL)
        return NULL;
    memset(p, 0, sizeof *p);
    p->allocator = *allocator;
    if (!ADX_MUTEX_INIT(&p->mutex)) {
        allocator->free(p, allocator->user);
        return NULL;
    }
    if (!ADX_CONDITION_INIT(&p->wake)) {
        ADX_MUTEX_FREE(&p->mutex);
        allocator->free(p, allocator->user);
        return NULL;
    }

    threads = threads == 0 ? adx_processors() : threads;
    threads = threads > ADX_SEATS / 2 ? ADX_SEATS / 2 : threads;
    for (bool more = true; more && p->workers + 1 < threads;) {
        ADX_LOCK(&p->mutex);
        adx_seat *s = adx_take_seat(p);
        more = s != NULL && ADX_THREAD_START(&s->thread, adx_work, s);
        if (s != NULL)
            s->used = more;
        p->workers += more;
        ADX_UNLOCK(&p->mutex);
    }
    return p;
}

ADX_API unsigned ad_pool_threads(const ad_pool *p)
{
    return p == NULL ? 1 : p->workers + 1;
}

ADX_API ad_status ad_pool_status(const ad_pool *p)
{
    return p == NULL ? ADREV_ENOTAPE : p->status;
}

// The thread gives its seat back, if it has one.
static void adx_leave_pool(void)
{
    ad_pool *p = adx_mine.pool;
    if (p == NULL)
        return;
    ADX_LOCK(&p->mutex);
    adx_mine.seat->used = false;
    p->users--;
    ADX_UNLOCK(&p->mutex);
    adx_mine.pool = NULL;
    adx_mine.seat = NULL;
}

ADX_API ad_status ad_pool_use(ad_pool *p)
{
    if (adx_mine.inside > 0)
        return ADREV_EBUSY;
    if (p == adx_mine.pool)
        return ADREV_OK;
    adx_seat *s = NULL;
    if (p != NULL) {
        ADX_LOCK(&p->mutex);
        s = adx_take_seat(p);
        p->users += s != NULL;
        ADX_UNLOCK(&p->mutex);
        if (s == NULL)
            return atomic_load(&p->seats) == ADX_SEATS ? ADREV_ELIMIT
                                                       : ADREV_ENOMEM;
    }
    adx_leave_pool();
    adx_mine.pool = p;
    adx_mine.seat = s;
    return ADREV_OK;
}

ADX_API void ad_pool_free(ad_pool *p)
{
    if (p == NULL)
        return;
    ADX_LOCK(&p->mutex);
    bool mine = adx_mine.pool == p;
    bool busy = p->users > (mine ? 1u : 0u) || (mine && adx_mine.inside > 0);
    p->status = busy ? ADREV_EBUSY : ADREV_OK;
    ADX_UNLOCK(&p->mutex);
    if (busy)
        return;
    if (mine)
        adx_leave_pool();
    adx_pool_end(p);
}

ADX_API ad_status ad_executor_use(ad_execute_fn *execute, void *user)
{
    if (adx_mine.inside > 0)
        return ADREV_EBUSY;
    adx_mine.execute = execute;
    adx_mine.user = user;
    return ADREV_OK;
}

/* === parallel/tasks =========================================================
 * A recording consists of the tape on which it began, its root, and further
 * tapes: one for each thread that runs a branch at the same time, taken when a
 * branch is entered and idle again when it is left. The statements of a task
 * lie on one tape. Branches that the same thread runs while the task waits lie
 * there too, in between: a fork is two entries, and a sweep of the task leaps
 * from one to the other (adx_leap). The job number in a value names the task
 * that made it.
 *
 * A value of another task is imported: the first use makes an input, and an
 * entry (input, value) in the import table. No task writes adjoints of another.
 * Let T be the lowest task from which the importing task and the value's task
 * both descend. The thread that sweeps T adds the adjoints of such inputs to
 * those of the values, at the fork of T, after all branches of that fork are
 * done, in the order of the program. To that end a table's entries are listed
 * by the depth of T, deepest first. At a join the lists of the branches become
 * lists of the task that forked, except those of its own depth, which stay with
 * the fork. A value of a branch that has joined is applied where the sweep of
 * the task that uses it comes to its latest fork.
 *
 * So every adjoint has one writer, and the order of all additions depends on
 * the program only. The same distinction finds races. Let T be the first task,
 * from the value's own task upwards, that has not joined. If T is neither the
 * task that uses the value nor above it, both may run at the same time (as in
 * the bags of Feng & Leiserson's determinacy race detector).
 *
 *   needs   number/recording tape/layout tape/memory sweep/sweep core/hash
 *           parallel/threads
 *   offers  adx_link adx_list adx_level adx_import adx_table adx_chunk
 *           adx_directory adx_here_on adx_ancestor adx_unjoined adx_task_of
 *           adx_enlist adx_new_task adx_forget
 * ========================================================================== */

// An input of one tape, and the value of another that it stands for.
typedef struct adx_link {
    uint32_t local;             // sequence number of the input
    uint32_t seq;               // of the value, on `tape`
    const ad_tape *tape;
} adx_link;

// Imports of one tape. Lists are chained and never moved.
typedef struct adx_list {
    struct adx_list *next;
    const ad_tape *tape;            // of the inputs
    size_t n;                       // entries
    size_t room;
    adx_link entry[];
} adx_list;

// Lists for the forks of one task, in the order of the program.
typedef struct adx_level {
    struct adx_level *next;
    size_t depth;                   // of that task
    adx_list *first;
    adx_list *last;
} adx_level;

// An entry of a task's import table, which finds the input that stands for a
// value.
typedef struct adx_import {
    uint64_t id;                    // 0: free
    size_t local;
} adx_import;

typedef struct adx_table {
    adx_import *bucket;
    size_t room;                    // a power of 2; or 0
    size_t n;
} adx_table;

struct adx_task {
    _Atomic uint32_t job;           // 0: there is no such task
    size_t depth;
    adx_task *parent;
    adx_task *jump;                 // an ancestor, see adx_ancestor
    ad_tape *tape;
    size_t sink;                    // a value for its constants
    adx_fork *fork;                 // its latest
    adx_level *level;               // for forks of those above, deepest first
    adx_table table;
    uint32_t near;                  // the task from which it imported last,
    const ad_tape *near_tape;       // and where that goes
    adx_level *near_level;
    size_t imports;
    size_t latest;                  // input that it imported
    atomic_bool joined;
    bool outermost;                 // on its tape: no other waits there
    adx_stretch stretch;
    const uint16_t *blank;          // up to here it has recorded nothing
    size_t scratch;                 // numbers that its sweep needs for each
                                    // direction
    double primal[2];               // begin and end
    double reverse[2];
};

struct adx_fork {
    adx_leap *self;                 // first, as in its second entry
    adx_leap leap;
    adx_task *task;
    adx_fork *before;               // of the same task
    adx_level branches;             // imports of its branches: see above
    adx_level own;                  // of the task, after this fork
    size_t imports;                 // of the task, before it
    bool measure;
    double primal[2];               // of the gap that it is for its task
    double reverse[2];
    size_t n;
    adx_task *branch[];             // NULL: nothing was recorded
};

#define ADX_CHUNK 128u              // tasks; a power of 2

// Tasks with consecutive numbers.
typedef struct adx_chunk {
    struct adx_chunk *older;
    uint32_t number;                // of the first, divided by ADX_CHUNK
    uint32_t used;
    adx_task task[ADX_CHUNK];
} adx_chunk;

// All chunks of a recording, in a hash table by number. It only grows, under a
// mutex, until the recording is cleared. Readers take no mutex: a larger table
// is published when it is complete, and the smaller one stays, because others
// may still be reading it.
typedef struct adx_directory {
    struct adx_directory *older;
    size_t room;                // of bucket, a power of 2
    size_t n;                   // chunks
    _Atomic(adx_chunk *) bucket[];
} adx_directory;

// What a tape of a recording has besides its entries.
struct adx_worker {
    adx_team *team;
    ad_tape *tape;
    adx_task *task;                 // that is being recorded; NULL: none
    adx_worker *next;               // of all
    adx_worker *idle;               // of those that no thread has
    adx_chunk *chunk;               // the latest
    adx_chunk *unused;
    adx_table spare;                // of a task that is done
    size_t scratch;                 // of all its tasks
    size_t running;                 // tasks that began here and have not ended
};

struct adx_team {
    adx_worker home;                // of the root
    adx_task main;
    adx_worker *workers;
    adx_worker *idle;
    _Atomic(adx_directory *) directory;
    adx_mutex mutex;                // of the two lists, and of the directory
    atomic_int failed;              // the first status of a branch,
    adx_failure failure;            // and where: under the mutex
    uint32_t limbo;                 // job of what is recorded between a fork
    bool measure;                   // and its branches: of no task
};

// The end of a tape.
static adx_place adx_here_on(const ad_tape *t)
{
    const adx_context *c = adx_live(t);
    adx_place place = { t->block, c->op, c->head, c->seq };
    return place;
}

/* --- the tree of tasks --------------------------------------------------- */

// Hangs a task below its parent. Its jump pointer (Myers) leads to the parent
// or, where the parent's last two jumps are equally long, as far as both
// together. So any ancestor is reached in a logarithmic number of steps.
static void adx_hang_task(adx_task *task, adx_task *parent)
{
    adx_task *j = parent->jump;
    task->parent = parent;
    task->depth = parent->depth + 1;
    task->jump = parent->depth - j->depth == j->depth - j->jump->depth
               ? j->jump : parent;
}

static const adx_task *adx_ancestor(const adx_task *task, size_t depth)
{
    while (task->depth > depth)
        task = task->jump->depth >= depth ? task->jump : task->parent;
    return task;
}

// acquire: with the release of ad_fork_close
static bool adx_joined(const adx_task *task)
{
    return atomic_load_explicit(&task->joined, memory_order_acquire);
}

// The first task from here upwards that has not joined. None above it has
// either, so the jump pointers can be used.
static const adx_task *adx_unjoined(const adx_task *task)
{
    while (adx_joined(task))
        task = adx_joined(task->jump) ? task->jump : task->parent;
    return task;
}

/* --- the directory ------------------------------------------------------- */

static size_t adx_place_of(const adx_directory *d, uint32_t number)
{
    size_t i = (size_t)adx_xxh3(&number, sizeof number, 0);
    return i & (d->room - 1);
}

// The task with that job number; NULL: it is not of this recording. A chunk
// holds the tasks whose numbers have the same quotient by ADX_CHUNK, so a
// reader looks up that quotient.
static adx_task *adx_task_of(adx_team *team, uint32_t job)
{
    // acquire: with adx_file, both
    adx_directory *d = atomic_load_explicit(&team->directory,
                                            memory_order_acquire);
    if (d == NULL || job == 0)
        return NULL;
    for (size_t i = adx_place_of(d, job / ADX_CHUNK);;
         i = (i + 1) & (d->room - 1)) {
        adx_chunk *c = atomic_load_explicit(&d->bucket[i],
                                            memory_order_acquire);
        if (c == NULL)
            return NULL;
        if (c->number == job / ADX_CHUNK) {
            adx_task *task = &c->task[job % ADX_CHUNK];
            // acquire: with adx_new_task
            return atomic_load_explicit(&task->job, memory_order_acquire)
                == job ? task : NULL;
        }
    }
}

// Puts a chunk into the hash table. The table is never more than half full.
static void adx_enlist(adx_directory *d, adx_chunk *c)
{
    size_t i = adx_place_of(d, c->number);
    // relaxed: under the mutex, or not yet published
    while (atomic_load_explicit(&d->bucket[i], memory_order_relaxed) != NULL)
        i = (i + 1) & (d->room - 1);
    atomic_store_explicit(&d->bucket[i], c, memory_order_release);
    d->n++;
}

// Makes a directory with twice the room and the same chunks. The mutex is held.
static bool adx_widen_directory(adx_team *team)
{
    const ad_allocator *a = &team->home.tape->allocator;
    adx_directory *d = atomic_load(&team->directory);
    size_t room = d == NULL ? 16 : 2 * d->room;
    size_t bytes = sizeof *d + room * sizeof d->bucket[0];
    adx_directory *wide = (adx_directory *)a->alloc(bytes, a->user);

    if (wide == NULL)
        return false;
    memset(wide, 0, bytes);
    wide->room = room;
    wide->older = d;
    for (size_t i = 0; d != NULL && i < d->room; i++)
        if (atomic_load(&d->bucket[i]) != NULL)
            adx_enlist(wide, atomic_load(&d->bucket[i]));
    atomic_store_explicit(&team->directory, wide, memory_order_release);
    return true;
}

// Publishes a chunk: from now on its tasks can be found.
static bool adx_file(adx_team *team, adx_chunk *c)
{
    ADX_LOCK(&team->mutex);
    adx_directory *d = atomic_load(&team->directory);
    bool room = (d != NULL && 2 * d->n < d->room) || adx_widen_directory(team);
    if (room)
        adx_enlist(atomic_load(&team->directory), c);
    ADX_UNLOCK(&team->mutex);
    return room;
}

// n job numbers in a row, the first of which is a multiple of n. n divides
// ADX_JOB_BATCH.
static uint32_t adx_new_jobs(uint32_t n)
{
    uint32_t first = (adx_next_job + n - 1) / n * n;
    if (first % ADX_JOB_BATCH == 0)
        first = adx_take_jobs();
    adx_next_job = first + n;
    return first;
}

// A chunk for the next tasks that begin on this worker: one that is no longer
// used, or new memory.
static adx_chunk *adx_new_chunk(adx_worker *w)
{
    adx_chunk *c = w->unused;
    if (c == NULL) {
        c = (adx_chunk *)adx_alloc(w->tape, sizeof *c);
        if (c == NULL)
            return NULL;
        memset(c, 0, sizeof *c);
    } else
        w->unused = c->older;
    uint32_t first = adx_new_jobs(ADX_CHUNK);
    c->number = first / ADX_CHUNK;
    c->used = first == 0;           // no task has number 0
    if (!adx_file(w->team, c)) {
        c->older = w->unused;
        w->unused = c;
        return NULL;
    }
    c->older = w->chunk;
    w->chunk = c;
    return c;
}

// A task that begins on this worker. Its job number is stored last, since only
// then others may find it.
static adx_task *adx_new_task(adx_worker *w, adx_task *parent)
{
    adx_chunk *c = w->chunk;
    if (c == NULL || c->used == ADX_CHUNK)
        c = adx_new_chunk(w);
    if (c == NULL)
        return NULL;
    adx_task *task = &c->task[c->used];
    uint32_t job = c->number * ADX_CHUNK + c->used++;
    memset(&task->fork, 0, sizeof *task - offsetof(adx_task, fork));
    task->tape = w->tape;
    adx_hang_task(task, parent);
    atomic_store_explicit(&task->job, job, memory_order_release);
    return task;
}

// Takes back a task that has no values. If it is the latest, its number is free
// again.
static void adx_forget(adx_worker *w, adx_task *task)
{
    // relaxed: nobody else knows it
    atomic_store_explicit(&task->job, 0, memory_order_relaxed);
    if (task == &w->chunk->task[w->chunk->used - 1])
        w->chunk->used--;
}

/* === parallel/imports =======================================================
 * The import table of a task: a hash table from the id of a value of another
 * task to the input that stands for it, with open addressing and linear
 * probing, at most half full. Most tasks import little, and a task that waits
 * keeps its table, so a table begins with 16 entries. A worker keeps one table
 * for its next task.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *           array/operands parallel/api core/hash parallel/tasks
 *   offers  adx_drop_table adx_bucket_of adx_enter_import adx_give_spare
 *           adx_import_value
 * ========================================================================== */

// The place of an id in the table, or the free one where it belongs. A table is
// at most half full, so the search ends.
static adx_import *adx_find_import(const adx_table *table, uint64_t id)
{
    size_t i = (size_t)adx_xxh3(&id, sizeof id, 0) & (table->room - 1);
    while (table->bucket[i].id != id && table->bucket[i].id != 0)
        i = (i + 1) & (table->room - 1);
    return &table->bucket[i];
}

static void adx_drop_table(ad_tape *t, adx_table *table)
{
    if (table->room > 0)
        adx_free(t, table->bucket, table->room * sizeof *table->bucket);
    memset(table, 0, sizeof *table);
}

static bool adx_new_table(ad_tape *t, adx_table *table, size_t room)
{
    table->bucket = (adx_import *)adx_alloc(t, room * sizeof *table->bucket);
    table->room = table->bucket == NULL ? 0 : room;
    table->n = 0;
    if (table->bucket == NULL)
        return false;
    memset(table->bucket, 0, room * sizeof *table->bucket);
    return true;
}

static bool adx_widen_table(ad_tape *t, adx_table *table)
{
    adx_table wide;
    if (!adx_new_table(t, &wide, table->room == 0 ? 16 : 2 * table->room))
        return false;
    for (size_t i = 0; i < table->room; i++)
        if (table->bucket[i].id != 0)
            *adx_find_import(&wide, table->bucket[i].id) = table->bucket[i];
    wide.n = table->n;
    adx_drop_table(t, table);
    *table = wide;
    return true;
}

// The place of an id, after the table has been widened if it must be; that
// moves all places, so `bucket` is what a search found before, or NULL. Returns
// NULL if there is no memory.
static adx_import *adx_bucket_of(ad_tape *t, adx_table *table,
                                 adx_import *bucket, uint64_t id)
{
    if (2 * table->n >= table->room) {
        if (!adx_widen_table(t, table))
            return NULL;
        bucket = NULL;
    }
    return bucket != NULL ? bucket : adx_find_import(table, id);
}

static void adx_enter_import(adx_table *table, adx_import *bucket, uint64_t id,
                             size_t local)
{
    bucket->id = id;
    bucket->local = local;
    table->n++;
}

static void adx_take_spare(adx_worker *w, adx_task *task)
{
    task->table = w->spare;
    memset(&w->spare, 0, sizeof w->spare);
}

// Keeps the table of a task that is done for the next task, unless it is large
// for what was in it: a table must be cleared as a whole.
static void adx_give_spare(adx_worker *w, adx_task *task)
{
    adx_table *table = &task->table;
    if (table->room > w->spare.room && table->room / 16 <= table->n) {
        adx_drop_table(w->tape, &w->spare);
        if (table->n > 0)
            memset(table->bucket, 0, table->room * sizeof *table->bucket);
        table->n = 0;
        w->spare = *table;
        memset(table, 0, sizeof *table);
    } else
        adx_drop_table(w->tape, table);
}

/* --- imports ------------------------------------------------------------- */

// Zeroed memory in an entry of the tape, which a rewind takes back.
static void *adx_add_zeroed(adx_context *c, size_t bytes)
{
    void *p = adx_add_bytes(c, ADX_DATA, bytes, 0);
    if (p != NULL)
        memset(p, 0, bytes);
    return p;
}

// Appends to the last list of a level, if that has room and its inputs are of
// the same tape; else begins a new one. Lists have room for 4, 8 ... 128
// entries, then for 4 again.
static bool adx_append_to(adx_level *level, adx_context *c, adx_link entry)
{
    adx_list *list = level->last;
    if (list == NULL || list->n == list->room || list->tape != c->tape) {
        size_t room = list == NULL || list->room >= 128 ? 4 : 2 * list->room;
        list = (adx_list *)adx_add_zeroed(c, sizeof *list
                                             + room * sizeof entry);
        if (list == NULL)
            return false;
        list->tape = c->tape;
        list->room = room;
        if (level->last == NULL)
            level->first = list;
        else
            level->last->next = list;
        level->last = list;
    }
    list->entry[list->n++] = entry;
    return true;
}

// The task's imports that are applied at a fork of the task at that depth.
// Levels are sorted, the deepest first.
static adx_level *adx_level_of(adx_task *task, adx_context *c, size_t depth)
{
    adx_level **at = &task->level;
    while (*at != NULL && (*at)->depth > depth)
        at = &(*at)->next;
    if (*at != NULL && (*at)->depth == depth)
        return *at;
    adx_level *level = (adx_level *)adx_add_zeroed(c, sizeof *level);
    if (level != NULL) {
        level->depth = depth;
        level->next = *at;
        *at = level;
    }
    return level;
}

// The task that made x; NULL: it is not of this recording.
static adx_task *adx_maker(adx_team *team, ad_rev x)
{
    return adx_member(team->home.tape, x) ? &team->main
                                          : adx_task_of(team, x.job);
}

// Finds where an import of x belongs: sets *tape to the tape of x and returns
// the list. There are two cases, by the first task from the maker of x upwards
// that has not joined. If that is this task, x was made by a branch that has
// joined, and the import is applied at this task's latest fork. If it is a task
// above this one, x is from before that task's open fork, and the import is
// listed by its depth. Otherwise both may run at the same time, which is a
// race. NULL: x is not of this recording, or is this task's own, or the tape
// has failed.
static adx_level *adx_import_level(adx_worker *w, ad_rev x,
                                   const ad_tape **tape)
{
    adx_task *me = w->task;
    adx_context *c = adx_live(w->tape);
    adx_task *maker = adx_maker(w->team, x);
    if (maker == NULL || maker == me)
        return NULL;
    *tape = maker->tape;
    const adx_task *top = adx_unjoined(maker);
    if (top == me)
        return me->fork == NULL ? NULL : &me->fork->own;
    if (adx_ancestor(me, top->depth) != top) {
        adx_fail(w->tape, ADREV_ERACE);
        return NULL;
    }
    // No task above joins while this one runs, so this stays true: the next
    // import from the same task need not ask.
    me->near = x.job;
    me->near_tape = maker->tape;
    me->near_level = adx_level_of(me, c, top->depth);
    return me->near_level;
}

// Adds one input, most often far from all limits: to the last entry if that is
// one of inputs, else in a new entry. (bench: parallel, an import, clang,
// 0.76.)
static size_t adx_new_input(adx_context *c)
{
    const ad_tape *t = c->tape;
    if (t->status != ADREV_OK || t->allocator.alloc == NULL
        || c->seq + ADX_BLOCK_MOST / ADX_LEAST >= ADREV_VALUES)
        return adx_add_inputs(c, 1);
    if (c->head != adx_top_of_block(t->block) && *c->head == ADX_INPUTS
        && c->head != t->sealed)
        c->op[-1].id++;
    else if (adx_gap(c) >= c->reserved + ADX_LEAST) {
        *c->op++ = (adx_operand){ 0, 1 };
        *--c->head = ADX_INPUTS;
    } else
        return adx_add_inputs(c, 1);
    return ++c->seq;
}

// The compound id of a value of this task, in whichever of the tape's segments
// it lies.
static uint64_t adx_own_value(const ad_tape *t, size_t seq)
{
    return adx_compound(t->segments == 1 ? t->segment[0].job
                        : adx_segment_of(t, seq)->job, seq);
}

// The first use of a value: makes an input of this task, and enters it in the
// list of imports that a sweep applies and in the table of this task. `near`
// remembers where the latest import went, since the next one is most often of
// the same task. Returns 0 if the value is not of this recording, or is the
// task's own, or if the tape has failed.
ADX_APART uint64_t adx_first_use(ad_tape *t, adx_import *bucket, uint64_t id)
{
    adx_worker *w = (adx_worker *)t->annexed;
    adx_task *me = w->task;
    adx_context *c = adx_live(t);
    ad_rev x = { 0, (uint32_t)id, (uint32_t)(id >> 32) };

    const ad_tape *tape = me->near_tape;
    adx_level *level = me->near == x.job ? me->near_level
                                         : adx_import_level(w, x, &tape);
    if (level == NULL)
        return 0;
    bucket = adx_bucket_of(t, &me->table, bucket, id);
    size_t local = bucket == NULL ? 0 : adx_new_input(c);
    adx_link link = { (uint32_t)local, x.seq, tape };
    if (local == 0 || !adx_append_to(level, c, link)) {
        adx_fail(t, ADREV_ENOMEM);
        return 0;
    }
    adx_enter_import(&me->table, bucket, id, local);
    me->imports++;
    me->latest = local;
    return adx_own_value(t, local);
}

// The annex's import. Every use of a value but the first is found in the table.
static uint64_t adx_import_value(ad_tape *t, uint64_t id)
{
    adx_worker *w = (adx_worker *)t->annexed;
    adx_task *me = w->task;
    if (me == NULL)
        return 0;
    if (me->table.room == 0)
        adx_take_spare(w, me);
    adx_import *bucket = me->table.room == 0 ? NULL
                     : adx_find_import(&me->table, id);
    return bucket != NULL && bucket->id == id ? adx_own_value(t, bucket->local)
                                          : adx_first_use(t, bucket, id);
}

ADX_API void ad_capture(size_t n, const ad_rev x[], ad_rev y[])
{
    if (adx_missing(n, x) || adx_missing(n, y))
        return;
    for (size_t i = 0; i < n; i++) {
        uint64_t id = adx_word(&x[i]);
        if (id >> 32 != adx_now.job && id >> 32 != 0)
            id = adx_known_id(id);
        adx_name(&y[i], x[i].v, id);
    }
}

/* === parallel/team ==========================================================
 * The tapes and threads of one recording, and how a rewind changes them. A team
 * is made with the first fork of a recording. It owns the tapes besides the
 * root: a thread takes one when it enters a branch, gives it back when it
 * leaves it, and all of them are cleared, or rewound, together with the root.
 *
 *   needs   number/recording tape/layout tape/memory tape/life parallel/api
 *           parallel/threads parallel/tasks parallel/imports
 *   offers  adx_parallel adx_worker_of adx_take_worker adx_give_worker
 *           adx_is_root adx_further_tape adx_sweeps_alone adx_owner_tape
 *           adx_clear_team adx_free_team adx_rewound
 * ========================================================================== */

/* --- the team of a recording --------------------------------------------- */

static const adx_annex adx_parallel;

// Makes the main task as it is in an empty recording. Its table is cleared and
// kept.
static void adx_new_main(adx_team *team)
{
    adx_task *task = &team->main;
    adx_table table = task->table;
    memset(task, 0, sizeof *task);
    if (table.room > 0)
        memset(table.bucket, 0, table.room * sizeof *table.bucket);
    table.n = 0;
    task->table = table;
    task->tape = team->home.tape;
    task->parent = task;
    task->jump = task;
}

// The worker of a tape; with the first fork of a recording its team is made.
// NULL: no memory.
static adx_worker *adx_worker_of(ad_tape *t)
{
    if (t->annex != NULL)
        return (adx_worker *)t->annexed;
    adx_team *team = (adx_team *)adx_alloc(t, sizeof *team);
    if (team == NULL)
        return NULL;
    memset(team, 0, sizeof *team);
    if (!ADX_MUTEX_INIT(&team->mutex)) {
        adx_free(t, team, sizeof *team);
        return NULL;
    }
    team->home.team = team;
    team->home.tape = t;
    team->home.task = &team->main;
    team->limbo = adx_new_job(NULL);
    adx_new_main(team);
    t->annexed = team;              // whose first field is the worker
    t->annex = &adx_parallel;
    return &team->home;
}

static adx_worker *adx_new_worker(adx_team *team)
{
    const ad_allocator *a = &team->home.tape->allocator;
    adx_worker *w = (adx_worker *)a->alloc(sizeof *w, a->user);
    if (w == NULL)
        return NULL;
    memset(w, 0, sizeof *w);
    w->team = team;
    w->tape = ad_tape_new_with(a);
    // The first block is made now: inputs at the very beginning of a tape have
    // no entry, but those of a task need one.
    if (w->tape == NULL || ad_tape_reserve(w->tape, 0, 1) != ADREV_OK) {
        ad_tape_free(w->tape);
        a->free(w, a->user);
        return NULL;
    }
    w->tape->open = 1;              // for good: it is not the user's
    w->tape->annexed = w;
    w->tape->annex = &adx_parallel;
    w->tape->segment[0].job = 0;
    return w;
}

// A tape for this thread until it gives it back: an idle one, or a new one.
static adx_worker *adx_take_worker(adx_team *team)
{
    ADX_LOCK(&team->mutex);
    adx_worker *w = team->idle;
    if (w != NULL)
        team->idle = w->idle;
    ADX_UNLOCK(&team->mutex);
    if (w == NULL) {
        w = adx_new_worker(team);
        if (w == NULL)
            return NULL;
        ADX_LOCK(&team->mutex);
        w->next = team->workers;
        team->workers = w;
        ADX_UNLOCK(&team->mutex);
    }
    w->tape->hooks.foreign = team->home.tape->hooks.foreign;
    w->tape->hooks.user = team->home.tape->hooks.user;
    w->tape->stops = team->home.tape->stops;
    return w;
}

static void adx_give_worker(adx_worker *w)
{
    ADX_LOCK(&w->team->mutex);
    w->idle = w->team->idle;
    w->team->idle = w;
    ADX_UNLOCK(&w->team->mutex);
}

static bool adx_is_root(const ad_tape *t)
{
    const adx_worker *w = (const adx_worker *)t->annexed;
    return w == &w->team->home;
}

static ad_tape *adx_further_tape(const ad_tape *t, size_t i)
{
    const adx_worker *w = (const adx_worker *)t->annexed;
    w = adx_is_root(t) ? w->team->workers : NULL;
    for (; w != NULL && i > 0; i--)
        w = w->next;
    return w == NULL ? NULL : w->tape;
}

// Whether a sweep of this tape meets no fork: there is none, or all lie below
// its floor.
static bool adx_sweeps_alone(const ad_tape *t)
{
    const adx_worker *w = (const adx_worker *)t->annexed;
    if (!adx_is_root(t) || w->team->main.fork == NULL)
        return true;
    const adx_place *last = &w->team->main.fork->leap.after;
    return t->floor.adx_block != NULL && t->floor.adx_block == last->block
        && (const uint16_t *)t->floor.adx_head <= last->head;
}

// The annex's owner: the tape of x, if x was made by a branch that has joined
// all the way up to the root, so that a sweep of the root reaches it; or NULL.
static const ad_tape *adx_owner_tape(const ad_tape *t, ad_rev x)
{
    adx_team *team = ((const adx_worker *)t->annexed)->team;
    const adx_task *task = adx_is_root(t) ? adx_task_of(team, x.job) : NULL;
    return task == NULL || adx_unjoined(task) != &team->main
        || adx_sweeps_alone(t) || x.seq == 0
        || x.seq > adx_live(task->tape)->seq ? NULL : task->tape;
}

// The tasks of a chunk are gone. Relaxed: no fork is open, so nobody looks.
static void adx_empty(adx_chunk *c)
{
    for (uint32_t i = 0; i < c->used; i++)
        atomic_store_explicit(&c->task[i].job, 0, memory_order_relaxed);
}

// Gives up the chunks that are newer than `last`, but keeps their memory.
static void adx_drop_chunks(adx_worker *w, const adx_chunk *last)
{
    while (w->chunk != NULL && w->chunk != last) {
        adx_chunk *c = w->chunk;
        w->chunk = c->older;
        adx_empty(c);
        c->older = w->unused;
        w->unused = c;
    }
}

static void adx_free_directories(adx_team *team, adx_directory *d)
{
    const ad_allocator *a = &team->home.tape->allocator;
    while (d != NULL) {
        adx_directory *older = d->older;
        a->free(d, a->user);
        d = older;
    }
}

// Fills the directory with the chunks that are left, and frees the smaller ones
// that it has replaced. No fork is open, so nobody reads them.
static void adx_file_again(adx_team *team)
{
    adx_directory *d = atomic_load(&team->directory);
    if (d == NULL)
        return;
    adx_free_directories(team, d->older);
    d->older = NULL;
    d->n = 0;
    memset(d->bucket, 0, d->room * sizeof d->bucket[0]);
    for (adx_worker *w = team->workers; w != NULL; w = w->next)
        for (adx_chunk *c = w->chunk; c != NULL; c = c->older)
            adx_enlist(d, c);
}

// Clears a worker's tape and gives up its tasks. The latest chunk stays, as
// full as it is, because the numbers of tasks are not used again.
static void adx_clear_worker(adx_worker *w)
{
    adx_chunk *c = w->chunk;
    if (c != NULL) {
        w->chunk = c->older;
        adx_drop_chunks(w, NULL);
        w->chunk = c;
        c->older = NULL;
        adx_empty(c);
    }
    w->scratch = 0;
    w->task = NULL;
    adx_reset_tape(w->tape, &w->tape->rest);
    w->tape->segment[0].job = 0;
}

static void adx_forget_failure(adx_team *team)
{
    atomic_store(&team->failed, ADREV_OK);
    memset(&team->failure, 0, sizeof team->failure);
}

// Clears the tapes of all workers when the root tape is cleared.
static void adx_clear_team(ad_tape *t)
{
    if (!adx_is_root(t))
        return;
    adx_team *team = ((adx_worker *)t->annexed)->team;
    for (adx_worker *w = team->workers; w != NULL; w = w->next)
        adx_clear_worker(w);
    adx_file_again(team);
    adx_new_main(team);
    adx_forget_failure(team);
}

// Frees the tapes of all workers when the root tape is freed. Tapes of workers
// have the same annex, and free nothing: their annex is taken away first.
static void adx_free_team(ad_tape *t)
{
    if (!adx_is_root(t))
        return;
    adx_team *team = ((adx_worker *)t->annexed)->team;
    const ad_allocator a = t->allocator;
    for (adx_worker *w = team->workers; w != NULL;) {
        adx_worker *next = w->next;
        adx_clear_worker(w);
        adx_drop_chunks(w, NULL);
        for (adx_chunk *c; (c = w->unused) != NULL;) {
            w->unused = c->older;
            adx_free(w->tape, c, sizeof *c);
        }
        adx_drop_table(w->tape, &w->spare);
        w->tape->annex = NULL;
        w->tape->open = 0;
        ad_tape_free(w->tape);
        a.free(w, a.user);
        w = next;
    }
    adx_free_directories(team, atomic_load(&team->directory));
    adx_drop_table(t, &team->main.table);
    ADX_MUTEX_FREE(&team->mutex);
    t->annex = NULL;
    adx_free(t, team, sizeof *team);
}

/* --- rewinding ----------------------------------------------------------- */

// Whether a place is behind the end of its tape: in the current block by its
// header, since headers are written downwards, or in a block that the tape no
// longer has.
static bool adx_is_beyond_end(const ad_tape *t, const adx_place *place)
{
    const adx_context *c = adx_live(t);
    if (place->block == t->block)
        return place->head < c->head;
    for (const adx_block *b = t->block; b != NULL; b = b->prev)
        if (b == place->block)
            return false;
    return true;
}

// Forgets the branches of a fork that a rewind has removed, and theirs.
static void adx_forget_branches(adx_fork *fork)
{
    for (size_t i = 0; i < fork->n; i++)
        if (fork->branch[i] != NULL) {
            atomic_store(&fork->branch[i]->job, 0);
            for (adx_fork *f = fork->branch[i]->fork; f != NULL; f = f->before)
                adx_forget_branches(f);
        }
}

// Drops the imports of a level whose inputs a rewind of t has removed. They are
// the last ones of this tape.
static void adx_cut_level(adx_level *level, const ad_tape *t)
{
    size_t seq = adx_live(t)->seq;
    adx_list *last = NULL;      // of the lists that stay

    for (adx_list *list = level->first; list != NULL; list = list->next) {
        while (list->tape == t && list->n > 0
               && list->entry[list->n - 1].local > seq)
            list->n--;
        if (list->n == 0)
            break;
        last = list;
    }
    if (last == NULL)
        level->first = NULL;
    else
        last->next = NULL;
    level->last = last;
}

// Of the tasks on a tape that have not been forgotten, the one that ends last.
// Tasks lie one in another where a thread ran branches while it waited, but
// outermost ones follow one another, so the search goes back no further than to
// the latest of those. *in becomes the newest chunk that is still needed.
static const adx_task *adx_latest_task(const adx_worker *w,
                                       const adx_chunk **in)
{
    const adx_task *latest = NULL;
    *in = NULL;
    for (const adx_chunk *c = w->chunk; c != NULL; c = c->older)
        for (uint32_t i = c->used; i-- > 0;) {
            const adx_task *task = &c->task[i];
            if (atomic_load(&task->job) == 0)
                continue;
            *in = *in == NULL ? c : *in;
            if (latest == NULL || task->stretch.to.seq > latest->stretch.to.seq)
                latest = task;
            if (task->outermost)
                return latest;
        }
    return latest;
}

// Rewinds a worker's tape to the end of the last task that is left on it.
static void adx_rewind_worker(adx_worker *w)
{
    const adx_chunk *in;
    const adx_task *latest = adx_latest_task(w, &in);
    if (latest == NULL) {
        adx_clear_worker(w);
        return;
    }
    const adx_place *end = &latest->stretch.to;
    ad_mark mark = {0};
    mark.adx_block = (void *)(uintptr_t)end->block;
    mark.adx_op = (void *)(uintptr_t)end->op;
    mark.adx_head = (void *)(uintptr_t)end->head;
    mark.adx_seq = (uint32_t)end->seq;
    mark.adx_one_way = w->tape->one_way;
    adx_drop_chunks(w, in);
    adx_return_to(w->tape, &mark);
    w->scratch = latest->stretch.scratch + latest->scratch;
}

// After forks of the root are gone, what their branches recorded goes too.
static void adx_rewind_team(adx_team *team)
{
    adx_forget_failure(team);
    for (adx_worker *w = team->workers; w != NULL; w = w->next)
        adx_rewind_worker(w);
    adx_file_again(team);
}

// Drops the imports of a task whose inputs a rewind has removed, from the lists
// and from the table, which is built again from the others.
static void adx_cut_imports(adx_task *me, ad_tape *t)
{
    if (me->fork != NULL)
        adx_cut_level(&me->fork->own, t);
    for (adx_level **at = &me->level; *at != NULL;) {
        adx_cut_level(*at, t);
        if ((*at)->first == NULL)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }

    // The table has no deletion, so it is filled again with what is left.
    adx_table old = me->table;
    memset(&me->table, 0, sizeof me->table);
    for (size_t i = 0; i < old.room; i++)
        if (old.bucket[i].id != 0 && old.bucket[i].local <= adx_live(t)->seq) {
            uint64_t id = old.bucket[i].id;
            adx_import *bucket = adx_bucket_of(t, &me->table, NULL, id);
            if (bucket == NULL)
                adx_fail(t, ADREV_ENOMEM);
            else
                adx_enter_import(&me->table, bucket, id, old.bucket[i].local);
        }
    adx_drop_table(t, &old);
    me->imports = me->table.n;
    me->latest = adx_live(t)->seq;
    me->near = 0;
}

// The annex's part of a rewind: forgets the forks behind the new end of the
// tape, and the imports whose inputs are gone. The workers' tapes are rewound
// only for the root, since in a branch other tasks may be recording on them.
static void adx_rewound(ad_tape *t)
{
    adx_worker *w = (adx_worker *)t->annexed;
    adx_task *me = w->task;
    if (me == NULL)
        return;
    bool root = me == &w->team->main;
    // If the rewind undoes a failure of a branch, the team has to forget it.
    bool dropped = root && t->status == ADREV_OK
                && atomic_load(&w->team->failed) != ADREV_OK;
    while (me->fork != NULL && adx_is_beyond_end(t, &me->fork->leap.after)) {
        adx_forget_branches(me->fork);
        me->fork = me->fork->before;
        dropped = true;
    }
    if (me->latest > adx_live(t)->seq)
        adx_cut_imports(me, t);
    if (dropped && root)
        adx_rewind_team(w->team);
}

/* === parallel/sweep =========================================================
 * A reverse sweep that comes to a join applies what the task has imported
 * since, then forks. Each branch is a stretch of a tape, swept by whichever
 * thread is free. When all branches are done, the sweep applies their imports
 * and goes on before the fork. A forward sweep does the same in the other
 * direction.
 *
 *   needs   tape/layout tape/memory tape/walk sweep/sweep sweep/queries
 *           parallel/api parallel/threads parallel/pool parallel/tasks
 *           parallel/imports parallel/team
 *   offers  adx_fork_of adx_leap_reverse adx_leap_forward
 * ========================================================================== */

static adx_fork *adx_fork_of(adx_leap *leap)
{
    return (adx_fork *)(void *)((char *)leap - offsetof(adx_fork, leap));
}

// Applies the imports of a level. In a reverse sweep the adjoints of inputs are
// added to those of the values that they stand for; in a forward sweep the
// tangents of values to those of the inputs.
static void adx_apply(const adx_level *level, size_t W, bool reverse)
{
    for (const adx_list *list = level->first; list != NULL; list = list->next)
        for (size_t i = 0; i < list->n; i++) {
            const adx_link *e = &list->entry[i];
            ad_real *input = &list->tape->adjoint[e->local * W];
            ad_real *value = &e->tape->adjoint[e->seq * W];
            const ad_real *from = reverse ? input : value;
            ad_real *to = reverse ? value : input;
            for (size_t w = 0; w < W; w++)
                to[w] += from[w];
        }
}

// Sweeps of a stretch. These are copies of the loops of their own, because in
// sweeps of whole tapes the compiler knows many arguments to be zero.
typedef bool adx_sweep_task_fn(const adx_task *task, ad_real a[]);

#define ADX_SWEEP_TASK(name, sweep, W)                                      \
    static bool name(const adx_task *task, ad_real a[])                     \
    {                                                                       \
        return sweep(task->tape, &task->stretch, a, W);                     \
    }
ADX_SWEEP_TASK(adx_task_reverse_1, adx_reverse, 1)
ADX_SWEEP_TASK(adx_task_reverse_4, adx_reverse, 4)
ADX_SWEEP_TASK(adx_task_reverse_8, adx_reverse, 8)
ADX_SWEEP_TASK(adx_task_forward_1, adx_forward, 1)
ADX_SWEEP_TASK(adx_task_forward_4, adx_forward, 4)
ADX_SWEEP_TASK(adx_task_forward_8, adx_forward, 8)
#undef ADX_SWEEP_TASK

// The sweep of a fork's branches.
typedef struct adx_sweeping {
    adx_fork *fork;
    adx_sweep_task_fn *sweep;   // of one task
    ad_execute_fn *execute;     // what runs the branches, with `user`
    void *user;
    bool reverse;
    atomic_bool failed;         // one of them
} adx_sweeping;

// Sweeps one branch. The user's functions find no tape current, and forks of
// their own run as in any branch.
static void adx_sweep_branch(size_t i, void *arg)
{
    adx_sweeping *s = (adx_sweeping *)arg;
    adx_task *task = s->fork->branch[i];
    if (task == NULL)
        return;
    ad_tape *before = adx_now.tape == NULL ? NULL : ad_use(NULL);
    ad_execute_fn *execute = adx_mine.execute;
    void *user = adx_mine.user;
    adx_mine.execute = s->execute;
    adx_mine.user = s->user;
    adx_mine.inside++;
    if (s->fork->measure && s->reverse)
        task->reverse[0] = adx_clock();
    if (!s->sweep(task, task->tape->adjoint))
        atomic_store(&s->failed, true);
    if (s->fork->measure && s->reverse)
        task->reverse[1] = adx_clock();
    adx_mine.inside--;
    adx_mine.execute = execute;
    adx_mine.user = user;
    if (before != NULL)
        ad_use(before);
}

static bool adx_sweep_branches(adx_fork *fork, adx_sweep_task_fn *sweep,
                               bool reverse)
{
    adx_sweeping s = { .fork = fork, .sweep = sweep, .reverse = reverse,
                       .execute = adx_mine.execute, .user = adx_mine.user };
    atomic_init(&s.failed, false);
    adx_execute(s.execute, s.user, fork->n, adx_sweep_branch, &s);
    return !atomic_load(&s.failed);
}

// A reverse sweep comes to the join. First it applies what the task itself has
// imported since then, which are values of these branches. Then the adjoints of
// the branches' values are complete, and the branches are swept. What they have
// imported in turn are values from before the fork.
static bool adx_leap_reverse(adx_leap *leap, size_t W)
{
    adx_fork *fork = adx_fork_of(leap);
    if (fork->measure)
        fork->reverse[0] = adx_clock();
    adx_apply(&fork->own, W, true);
    bool ok = adx_sweep_branches(fork, ADX_FOR_WIDTH(W, adx_task_reverse),
                                 true);
    adx_apply(&fork->branches, W, true);
    if (fork->measure)
        fork->reverse[1] = adx_clock();
    return ok;
}

// A forward sweep comes to the fork: it applies first what the branches import,
// then sweeps the branches, then applies what the task imports of them.
static bool adx_leap_forward(adx_leap *leap, size_t W)
{
    adx_fork *fork = adx_fork_of(leap);
    adx_apply(&fork->branches, W, false);
    bool ok = adx_sweep_branches(fork, ADX_FOR_WIDTH(W, adx_task_forward),
                                 false);
    adx_apply(&fork->own, W, false);
    return ok;
}

// Room for the adjoints of all workers. Tasks of one worker may be swept at the
// same time, so each has scratch room of its own: w->scratch is the sum of all.
static bool adx_afford_team(ad_tape *t, size_t W)
{
    adx_team *team = ((adx_worker *)t->annexed)->team;
    if (adx_sweeps_alone(t))
        return true;
    for (adx_worker *w = team->workers; w != NULL; w = w->next) {
        // for this call the tape needs the scratch room of all its tasks
        size_t scratch = w->tape->scratch;
        w->tape->scratch = w->scratch;
        bool room = adx_adjoints(w->tape, w->tape->rest.seq, W) != NULL;
        w->tape->scratch = scratch;
        if (!room)
            return false;
    }
    return true;
}

#define ADX_ZEROS ((size_t)1 << 15)     // adjoints that one thread clears

typedef struct adx_zeroing {
    const adx_team *team;
    size_t W;
} adx_zeroing;

static size_t adx_pieces(const ad_tape *t, size_t W)
{
    return ((t->rest.seq + 1) * W - 1) / ADX_ZEROS + 1;
}

// Clears piece i of the adjoints of all workers, which stand one after another
// in the order of the list.
static void adx_zero_piece(size_t i, void *arg)
{
    const adx_zeroing *z = (const adx_zeroing *)arg;
    const adx_worker *w = z->team->workers;
    while (i >= adx_pieces(w->tape, z->W)) {
        i -= adx_pieces(w->tape, z->W);
        w = w->next;
    }
    size_t n = (w->tape->rest.seq + 1) * z->W - i * ADX_ZEROS;
    memset(w->tape->adjoint + i * ADX_ZEROS, 0,
           (n < ADX_ZEROS ? n : ADX_ZEROS) * sizeof(ad_real));
}

// Clears the adjoints of all workers, in pieces that run as the calls of a fork
// do.
static void adx_zero_team(ad_tape *t, size_t W)
{
    adx_zeroing z = { ((adx_worker *)t->annexed)->team, W };
    size_t pieces = 0;
    if (adx_sweeps_alone(t))
        return;
    for (const adx_worker *w = z.team->workers; w != NULL; w = w->next)
        pieces += adx_pieces(w->tape, W);
    adx_execute(adx_mine.execute, adx_mine.user, pieces, adx_zero_piece, &z);
}

static const adx_annex adx_parallel = {
    adx_import_value, adx_owner_tape, adx_further_tape, adx_afford_team,
    adx_zero_team, adx_rewound, adx_clear_team, adx_free_team
};

/* --- rows of a Jacobian -----------------------------------------------------
 * Each call sweeps ADX_WIDEST rows, or columns, at once with adjoints of its
 * own. It takes an array of adjoints that is idle, so there are no more arrays
 * than threads.                                                              */

typedef struct adx_buffer {
    struct adx_buffer *next;
    _Alignas(16) ad_real a[];
} adx_buffer;

// A Jacobian that threads compute, some directions each.
typedef struct adx_jacobian {
    ad_tape *tape;
    size_t m, n;
    const ad_rev *y, *x;        // [m], [n]
    ad_real *J;                 // [m*n]
    bool forward;               // directions are inputs, not results
    adx_mutex mutex;            // of `idle`
    adx_buffer *idle;           // arrays of adjoints that no sweep uses now
    atomic_int status;          // the first failure
} adx_jacobian;

// Adjoints for one sweep, cleared: a buffer that an earlier sweep has given
// back, or a new one. At most as many are made as threads sweep at once.
static adx_buffer *adx_take_buffer(adx_jacobian *j)
{
    const ad_allocator *a = &j->tape->allocator;
    size_t n = (adx_live(j->tape)->seq + 1 + j->tape->scratch) * ADX_WIDEST;
    ADX_LOCK(&j->mutex);
    adx_buffer *b = j->idle;
    if (b != NULL)
        j->idle = b->next;
    ADX_UNLOCK(&j->mutex);
    if (b == NULL)
        b = (adx_buffer *)a->alloc(sizeof *b + n * sizeof(ad_real), a->user);
    if (b != NULL)
        memset(b->a, 0, n * sizeof(ad_real));
    return b;
}

static void adx_give_buffer(adx_jacobian *j, adx_buffer *b)
{
    ADX_LOCK(&j->mutex);
    b->next = j->idle;
    j->idle = b;
    ADX_UNLOCK(&j->mutex);
}

// Sweeps call i of ad_parallel_jacobian: ADX_WIDEST rows, or columns. The rows
// of J are different ones in each call, so nothing is shared but the status.
static void adx_some_rows(size_t i, void *arg)
{
    adx_jacobian *j = (adx_jacobian *)arg;
    size_t first = i * ADX_WIDEST;
    adx_buffer *b = adx_take_buffer(j);
    if (b == NULL) {
        atomic_store(&j->status, ADREV_ENOMEM);
        return;
    }
    adx_mine.inside++;
    // whether other calls sweep the same tape beside this one (adx_rowing)
    bool beside = (j->forward ? j->n : j->m) > ADX_WIDEST;
    adx_mine_rows.rows += beside;
    bool ok = j->forward
        ? adx_columns(j->tape, b->a, ADX_WIDEST, first, j->m, j->y, j->n,
                      j->x, j->J)
        : adx_rows(j->tape, b->a, ADX_WIDEST, first, j->m, j->y, j->n, j->x,
                   j->J);
    if (!ok)
        atomic_store(&j->status, ADREV_EEXTERNAL);
    adx_mine_rows.rows -= beside;
    adx_mine.inside--;
    adx_give_buffer(j, b);
}

// All sweeps read one tape and write adjoints of their own, so that they can
// run at the same time. A recording that has forks is swept by ad_jacobian,
// whose sweeps are parallel themselves; so is one with a statement that is
// swept always, because what it does must happen in the same order each time.
ADX_API ad_status ad_parallel_jacobian(ad_tape *t, size_t m, const ad_rev y[],
                                       size_t n, const ad_rev x[],
                                       ad_real J[])
{
    bool run;
    if (t == NULL || t->allocator.alloc == NULL || t->annex != NULL
        || t->always)
        return ad_jacobian(t, m, y, n, x, J);
    bool missing = m > ADX_MOST_ELEMENTS
                || adx_no_array(adx_size_times(m, n), J);
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    if (status != ADREV_OK)
        return status;
    adx_jacobian j = { .tape = t, .m = m, .n = n, .y = y, .x = x, .J = J };
    j.forward = adx_prefers_forward(t, m, n);
    atomic_init(&j.status, ADREV_OK);
    if (!ADX_MUTEX_INIT(&j.mutex))
        return ADREV_ENOMEM;
    ad_tape *before = ad_use(NULL);
    size_t count = j.forward ? n : m;
    adx_execute(adx_mine.execute, adx_mine.user,
                count / ADX_WIDEST + (count % ADX_WIDEST != 0), adx_some_rows,
                &j);
    ad_use(before);
    for (adx_buffer *b; (b = j.idle) != NULL;) {
        j.idle = b->next;
        t->allocator.free(b, t->allocator.user);
    }
    ADX_MUTEX_FREE(&j.mutex);
    return (ad_status)atomic_load(&j.status);
}

/* === parallel/forks =========================================================
 * How a fork is opened, its branches run, and joined; and the forms of a fork
 * for C programs. While a fork is open, nothing is recorded where it was
 * opened: its task is set aside, and the thread may run branches on the same
 * tape, unless that is the root's: then they are recorded on another one. Each
 * branch is a task; what it records is a stretch of one tape. A fork keeps its
 * branches in their order (adx_fork), and is two entries of the tape of its own
 * task, between which other tasks may have recorded.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries
 *           array/operands parallel/api parallel/threads parallel/pool
 *           parallel/tasks parallel/imports parallel/team parallel/sweep
 * ========================================================================== */

/* --- forks --------------------------------------------------------------- */

// Whether branches are recorded as a part of the task that forks, one after the
// other: where there cannot be a second tape, and within ad_grad in a branch,
// whose recording is swept while other branches run.
static bool adx_is_alone(const ad_tape *t)
{
    return t->allocator.alloc == NULL || adx_live(t)->trace || t->alone
        || (t->annex != NULL && !adx_is_root(t) && t->segments > 1);
}

// From now on whatever is recorded on w, whose tape is current here, belongs to
// this task. NULL: it belongs to no task, and is foreign wherever it is used.
static void adx_switch_task(adx_worker *w, adx_task *task)
{
    ad_tape *t = w->tape;
    uint32_t job = task == NULL ? w->team->limbo
                 : atomic_load_explicit(&task->job, memory_order_relaxed);
    w->task = task;
    t->segment[0].job = job;
    t->sealed = adx_now.head;       // imports begin an entry of their own
    t->start = NULL;
    adx_now.job = job;
    adx_now.sink = task == NULL ? 0 : task->sink;
    adx_now.since = adx_now.seq;    // what lies below depends on the schedule
}

// Notes the first failure of a branch. t is its tape, which knows where it was,
// or NULL.
static void adx_team_fail(adx_team *team, ad_status status, const ad_tape *t)
{
    ADX_LOCK(&team->mutex);
    if (atomic_load(&team->failed) == ADREV_OK) {
        if (t != NULL)
            team->failure = t->failure;
        atomic_store(&team->failed, (int)status);
    }
    ADX_UNLOCK(&team->mutex);
}

// While a fork is open, no task is recorded where it was opened: branches that
// this thread runs use the tape instead. The tape of the root is not used for
// that, since other branches look up values on it: another tape becomes
// current.
static bool adx_step_aside(ad_fork *f, adx_worker *w)
{
    if (w == &w->team->home) {
        w = adx_take_worker(w->team);
        if (w == NULL)
            return false;
        f->adx_host = w;
        ad_use(w->tape);
    }
    adx_switch_task(w, NULL);
    return true;
}

// Undoes adx_step_aside, and notes a failure of the tape that stood in.
static void adx_step_back(ad_fork *f)
{
    adx_worker *w = f->adx_host;
    ad_tape *t = w == NULL ? f->adx_tape : w->tape;
    if (adx_now.tape != t)
        ad_use(t);
    if (t->status != ADREV_OK)
        adx_team_fail(f->adx_crew, t->status, t);
    if (w == NULL)
        adx_switch_task((adx_worker *)t->annexed, f->adx_record->task);
    else {
        ad_use(f->adx_tape);
        adx_give_worker(w);
    }
}

// Writes the first of the two entries of a fork, which holds its adx_fork.
// NULL: the tape has failed.
static adx_fork *adx_add_fork(ad_tape *t, const adx_worker *w, size_t n)
{
    adx_place before = adx_here_on(t);
    adx_fork *fork = (adx_fork *)adx_add_bytes(
        &adx_now, ADX_LEAP, sizeof *fork + n * sizeof fork->branch[0], 0);
    if (fork == NULL)
        return NULL;
    memset(fork, 0, sizeof *fork + n * sizeof fork->branch[0]);
    fork->self = &fork->leap;
    fork->leap.reverse = adx_leap_reverse;
    fork->leap.forward = adx_leap_forward;
    fork->leap.before = before;
    fork->leap.after = adx_here_on(t);      // for now: where branches begin
    fork->task = w->task;
    fork->imports = w->task->imports;
    fork->n = n;
    fork->measure = w->team->measure;
    return fork;
}

// Writes the first entry, and steps aside. If the tape has failed already, or
// fails here, the branches run without one.
ADX_API void ad_fork_open(ad_fork *f, size_t n)
{
    ad_tape *t = adx_now.tape;
    memset(f, 0, sizeof *f);
    f->adx_tape = t;
    f->adx_n = n;
    f->adx_execute = adx_mine.execute;
    f->adx_user = adx_mine.user;
    if (t == NULL || t->status != ADREV_OK)
        return;
    f->adx_inline = adx_is_alone(t);
    if (f->adx_inline)
        return;

    adx_worker *w = adx_worker_of(t);
    if (w == NULL || n > SIZE_MAX / 64) {
        adx_fail(t, w == NULL ? ADREV_ENOMEM : ADREV_ELIMIT);
        return;
    }
    adx_fork *fork = adx_add_fork(t, w, n);
    if (fork == NULL)
        return;
    f->adx_crew = w->team;
    if (!adx_step_aside(f, w)) {
        adx_fail(t, ADREV_ENOMEM);
        return;
    }
    f->adx_record = fork;
    t->open++;
    if (fork->measure)
        fork->primal[0] = adx_clock();
}

ADX_API void ad_tape_serial(ad_tape *t, bool on)
{
    if (t != NULL)
        t->alone = on;
}

ADX_API bool ad_fork_parallel(const ad_fork *f) { return !f->adx_inline; }

// A tape for a branch: the one that is current on this thread, if it is of this
// recording and no task is being recorded there; else an idle one. NULL: no
// memory.
static adx_worker *adx_worker_here(adx_team *team, bool *taken)
{
    const ad_tape *t = adx_now.tape;
    *taken = false;
    if (t != NULL && t->annex == &adx_parallel && t->segments == 1) {
        adx_worker *w = (adx_worker *)t->annexed;
        // a task that is being recorded there must not be broken up
        if (w->team == team && w != &team->home && w->task == NULL)
            return w;
    }
    *taken = true;
    return adx_take_worker(team);
}

// Finds a tape for branch i, and makes its task. NULL: there is none, because
// of an earlier failure or a new one.
static adx_task *adx_find_task(ad_branch *b, ad_fork *f, size_t i)
{
    const adx_fork *fork = f->adx_record;
    if (fork == NULL)
        return NULL;
    adx_worker *w = i >= f->adx_n
                  ? NULL : adx_worker_here(f->adx_crew, &b->adx_taken);
    adx_task *task = w == NULL ? NULL : adx_new_task(w, fork->task);
    bool again = task != NULL && fork->branch[i] != NULL;
    if (task != NULL && !again)
        return task;
    if (again)                      // it has been entered before
        adx_forget(w, task);
    adx_team_fail(f->adx_crew, again || i >= f->adx_n ? ADREV_ESHAPE
                                                      : ADREV_ENOMEM, NULL);
    if (w != NULL && b->adx_taken)
        adx_give_worker(w);
    return NULL;
}

// Makes the tape of a task current, and begins its stretch at the end of that
// tape. The task's first value is its sink, to which its constants write their
// adjoints.
static void adx_begin_task(ad_branch *b, adx_task *task)
{
    ad_tape *t = task->tape;
    adx_worker *w = (adx_worker *)t->annexed;
    if (adx_now.tape != t)
        ad_use(t);
    task->outermost = w->running++ == 0;
    b->adx_own = task;
    b->adx_tape = t;
    b->adx_scratch = t->scratch;
    // The task's own scratch room is counted from 0.
    t->scratch = 0;
    task->sink = ++adx_now.seq;
    adx_switch_task(w, task);
    task->stretch.from = adx_here_on(t);
    task->blank = task->stretch.from.head;
    if (b->adx_fork->adx_record->measure)
        task->primal[0] = adx_clock();
}

// If there is no task, the branch runs without a tape. The thread's executor
// becomes that of the fork until the branch is left.
ADX_API void ad_branch_enter(ad_branch *b, ad_fork *f, size_t i)
{
    memset(b, 0, sizeof *b);
    b->adx_fork = f;
    b->adx_index = i;
    b->adx_execute = adx_mine.execute;
    b->adx_user = adx_mine.user;
    adx_mine.execute = f->adx_execute;
    adx_mine.user = f->adx_user;
    adx_mine.inside++;
    b->adx_before = adx_now.tape;
    adx_chaos();
    if (f->adx_inline) {
        if (adx_now.tape != f->adx_tape)    // another thread
            ad_use(NULL);
        return;
    }
    adx_task *task = adx_find_task(b, f, i);
    if (task == NULL)
        ad_use(NULL);
    else
        adx_begin_task(b, task);
}

// Ends the stretch of a task and hands it to the fork. A task that has recorded
// nothing is forgotten, so the fork has no branch there.
static void adx_end_task(ad_branch *b)
{
    ad_tape *t = b->adx_tape;
    adx_worker *w = (adx_worker *)t->annexed;
    adx_task *task = b->adx_own;

    if (adx_now.tape != t)
        ad_use(t);
    task->stretch.to = adx_here_on(t);
    // its scratch room begins behind that of the tasks that ended before
    task->stretch.scratch = w->scratch;
    w->running--;
    task->scratch = t->scratch;
    w->scratch += t->scratch;
    t->scratch = b->adx_scratch;
    if (t->status != ADREV_OK)
        adx_team_fail(w->team, t->status, t);
    adx_give_spare(w, task);
    if (task->stretch.to.head == task->blank) {
        adx_forget(w, task);
        // the id of its sink is free again, if it is the last one
        adx_now.seq -= adx_now.seq == task->sink;
    } else
        b->adx_fork->adx_record->branch[b->adx_index] = task;
    if (b->adx_fork->adx_record->measure)
        task->primal[1] = adx_clock();
    adx_switch_task(w, NULL);
    if (adx_now.tape != b->adx_before)
        ad_use(b->adx_before);
    if (b->adx_taken)
        adx_give_worker(w);
}

ADX_API void ad_branch_leave(ad_branch *b)
{
    adx_chaos();
    if (b->adx_own != NULL)
        adx_end_task(b);
    else if (adx_now.tape != b->adx_before)
        ad_use(b->adx_before);
    adx_mine.execute = b->adx_execute;
    adx_mine.user = b->adx_user;
    adx_mine.inside--;
}

// Appends the lists of one level to those of another.
static void adx_splice(adx_level *to, const adx_level *from)
{
    if (to->last == NULL)
        to->first = from->first;
    else
        to->last->next = from->first;
    to->last = from->last;
}

// The imports of a branch that has joined go to where they are applied: those
// of the depth of the task that forked stay with the fork, and those of lower
// depths are merged with that task's own levels.
static void adx_adopt_branch(adx_fork *fork, adx_task *branch)
{
    adx_level *level = branch->level;
    adx_level **at = &fork->task->level;

    if (level != NULL && level->depth == fork->task->depth) {
        adx_splice(&fork->branches, level);
        level = level->next;
    }
    while (level != NULL) {
        adx_level *next = level->next;
        while (*at != NULL && (*at)->depth > level->depth)
            at = &(*at)->next;
        if (*at != NULL && (*at)->depth == level->depth)
            adx_splice(*at, level);
        else {
            level->next = *at;
            *at = level;
        }
        level = next;
    }
}

// Removes the first entry, as if the fork had never been opened.
static void adx_take_back(ad_tape *t, const adx_fork *fork)
{
    const adx_place before = fork->leap.before;
    if (before.block == NULL)
        adx_enter_block(t, &adx_now, t->first);
    else {
        t->block = (adx_block *)before.block;
        adx_now.op = (adx_operand *)before.op;
        adx_now.head = (uint16_t *)before.head;
    }
    adx_settle_room(t, &adx_now, 0);
}

// Joins all branches, in their order. Whether there is any with a recording.
static bool adx_join_fork(adx_fork *fork)
{
    bool any = false;
    for (size_t i = 0; i < fork->n; i++)
        if (fork->branch[i] != NULL) {
            any = true;
            // release: with adx_joined
            atomic_store_explicit(&fork->branch[i]->joined, true,
                                  memory_order_release);
            adx_adopt_branch(fork, fork->branch[i]);
        }
    return any;
}

// Makes the first failure of a branch one of the task that forked.
static void adx_inherit(ad_tape *t, adx_team *team)
{
    ad_status failed = (ad_status)atomic_load(&team->failed);
    if (failed == ADREV_OK || t->status != ADREV_OK)
        return;
    adx_fail(t, failed);
    ADX_LOCK(&team->mutex);
    t->failure = team->failure;
    ADX_UNLOCK(&team->mutex);
}

// Statements of the root can go forward only if those of its branches can, and
// are swept always if one of theirs is.
static void adx_inherit_ways(ad_tape *t, const adx_team *team)
{
    for (const adx_worker *w = team->workers; w != NULL; w = w->next) {
        t->one_way |= w->tape->one_way;
        t->always |= w->tape->always;
    }
}

// Leaves out one id, so that the value before the fork is never the one just
// before what follows. Otherwise a running sum would be recorded where no
// branch was recorded in between, and not in other schedules.
static void adx_leave_gap(void)
{
    adx_operand *op = adx_entry(&adx_now, ADX_GAP, 1, 1);
    if (op != NULL) {
        op->d = 0;
        op->id = 1;
    }
}

// Writes the second entry of a fork, and appends the fork to those of the task.
// Without it the first entry would be of no use, so if nothing at all was
// recorded since, that one is removed. If only other tasks have recorded here,
// a sweep still has to leap over what they recorded: the entry is written, and
// the fork has no branches.
static void adx_record_fork(ad_tape *t, adx_fork *fork, bool any)
{
    if (!any && adx_now.op == fork->leap.after.op
        && t->block == fork->leap.after.block) {
        adx_take_back(t, fork);
        return;
    }
    adx_leap **second = (adx_leap **)adx_add_bytes(&adx_now, ADX_LEAP,
                                                   sizeof *second, 0);
    if (second == NULL)
        return;
    *second = &fork->leap;
    fork->leap.after = adx_here_on(t);
    t->calls = true;
    if (!any) {                 // only others have recorded here meanwhile
        fork->n = 0;
        return;
    }
    fork->before = fork->task->fork;
    fork->task->fork = fork;
    if (fork->measure)
        fork->primal[1] = adx_clock();
}

// The tape of the task becomes current again, the branches join, and their
// failures become the task's. Then the second entry is written. If the tape has
// failed, the fork is only linked to the task, so that a rewind finds it.
ADX_API void ad_fork_close(ad_fork *f)
{
    adx_fork *fork = f->adx_record;
    ad_tape *t = f->adx_tape;
    if (fork == NULL)
        return;
    adx_step_back(f);
    t->open--;
    f->adx_record = NULL;
    bool any = adx_join_fork(fork);
    adx_inherit(t, f->adx_crew);
    adx_task *task = fork->task;
    if (t->status == ADREV_OK && f->adx_host != NULL
        && (t->block != fork->leap.after.block
            || adx_now.op != fork->leap.after.op
            || adx_now.seq != fork->leap.after.seq))
        adx_fail(t, ADREV_EBUSY);   // a branch made it current, and recorded
    if (t->status != ADREV_OK) {    // for a rewind to find
        fork->leap.after = adx_here_on(t);
        fork->before = task->fork;
        task->fork = fork;
        return;
    }
    if (f->adx_host != NULL)
        adx_inherit_ways(t, f->adx_crew);
    // A task that has had only forks without branches has recorded nothing.
    bool blank = !any && fork->leap.before.head == task->blank;
    adx_record_fork(t, fork, any);
    if (blank)
        task->blank = adx_now.head;
    else if (f->adx_host == NULL && t->status == ADREV_OK)
        adx_leave_gap();
}

/* --- forms of forks ------------------------------------------------------ */

// A fork and what its branches call.
typedef struct adx_call {
    ad_fork fork;
    void (*f)(size_t i, void *ctx);
    void *ctx;
} adx_call;

static void adx_branch(size_t i, void *arg)
{
    adx_call *call = (adx_call *)arg;
    ad_branch branch;
    ad_branch_enter(&branch, &call->fork, i);
    call->f(i, call->ctx);
    ad_branch_leave(&branch);
}

ADX_API void ad_fork_n(size_t n, void (*f)(size_t i, void *ctx), void *ctx)
{
    adx_call call;
    if (n == 0)
        return;
    call.f = f;
    call.ctx = ctx;
    ad_fork_open(&call.fork, n);
    if (call.fork.adx_inline)
        for (size_t i = 0; i < n; i++)
            adx_branch(i, &call);
    else
        adx_execute(adx_mine.execute, adx_mine.user, n, adx_branch, &call);
    ad_fork_close(&call.fork);
}

typedef struct adx_two {
    void (*f[2])(void *);
    void *arg[2];
} adx_two;

static void adx_either(size_t i, void *ctx)
{
    const adx_two *two = (const adx_two *)ctx;
    two->f[i](two->arg[i]);
}

ADX_API void ad_fork2(void (*f)(void *), void *a, void (*g)(void *), void *b)
{
    adx_two two = { { f, g }, { a, b } };
    ad_fork_n(2, adx_either, &two);
}

// Where a fork takes memory of its own: the allocator of the current tape. All
// NULL: there is no tape, or it lies in fixed memory; then it is malloc, with
// ADREV_NO_STDLIB, too.
static ad_allocator adx_fork_memory(void)
{
    const ad_tape *t = adx_now.tape;
    return t == NULL ? (ad_allocator){ .user = NULL } : t->allocator;
}

static void *adx_take_for_fork(const ad_allocator *a, size_t n, size_t size)
{
    if (adx_is_allocator(a))
        return adx_take(a, n, size);
    return n > SIZE_MAX / size ? NULL : malloc(n * size);
}

static void adx_drop_of_fork(const ad_allocator *a, void *block)
{
    if (adx_is_allocator(a))
        adx_drop(a, block);
    else
        free(block);
}

// The parts of a range, of `grain` elements each.
typedef struct adx_parts {
    size_t n;
    size_t grain;
    // One of the two. `part` has the results of all parts.
    void (*f)(size_t begin, size_t end, void *ctx);
    ad_rev (*part)(size_t begin, size_t end, void *ctx);
    ad_rev *result;             // [parts]
    void *ctx;
} adx_parts;

static void adx_do_part(size_t i, void *ctx)
{
    const adx_parts *p = (const adx_parts *)ctx;
    size_t begin = i * p->grain;
    size_t end = p->n - begin < p->grain ? p->n : begin + p->grain;
    if (p->f != NULL)
        p->f(begin, end, p->ctx);
    else
        p->result[i] = p->part(begin, end, p->ctx);
}

// How many parts there are; by default 256 at most.
static size_t adx_cut_up(adx_parts *p)
{
    if (p->grain == 0)
        p->grain = p->n / 256 + (p->n % 256 != 0);
    return p->n == 0 ? 0 : (p->n - 1) / p->grain + 1;
}

ADX_API void ad_parallel_for(size_t n, size_t grain,
                             void (*f)(size_t begin, size_t end, void *ctx),
                             void *ctx)
{
    adx_parts p = { .n = n, .grain = grain, .f = f, .ctx = ctx };
    size_t parts = adx_cut_up(&p);
    ad_fork_n(parts, adx_do_part, &p);
}

ADX_API ad_rev ad_parallel_reduce(size_t n, size_t grain,
                                  ad_rev (*f)(size_t begin, size_t end,
                                              void *ctx),
                                  ad_rev (*combine)(ad_rev a, ad_rev b,
                                                    void *ctx),
                                  void *ctx)
{
    adx_parts p = { .n = n, .grain = grain, .part = f, .ctx = ctx };
    size_t parts = adx_cut_up(&p);
    if (parts == 0)
        return adx_passive(0);
    const ad_allocator memory = adx_fork_memory();
    p.result = (ad_rev *)adx_take_for_fork(&memory, parts, sizeof *p.result);
    if (p.result == NULL) {
        adx_failed(ADREV_ENOMEM);
        return adx_no_result();
    }
    ad_fork_n(parts, adx_do_part, &p);
    ad_rev y = combine == NULL ? ad_sum(parts, p.result) : p.result[0];
    for (size_t i = 1; combine != NULL && i < parts; i++)
        y = combine(y, p.result[i], ctx);
    adx_drop_of_fork(&memory, p.result);
    return y;
}

ADX_API ad_scope ad_scope_open(void)
{
    ad_scope scope;
    memset(&scope, 0, sizeof scope);
    scope.adx_allocator = adx_fork_memory();
    scope.adx_open = true;
    scope.adx_room = sizeof scope.adx_first_f / sizeof scope.adx_first_f[0];
    return scope;
}

// Runs a branch of the block. The block does not move while its branches run.
static void adx_scoped(size_t i, void *ctx)
{
    const ad_scope *scope = (const ad_scope *)ctx;
    if (scope->adx_memory == NULL)
        scope->adx_first_f[i](scope->adx_first_arg[i]);
    else
        scope->adx_f[i](scope->adx_arg[i]);
}

// Doubles the room. Functions and arguments are two arrays in one block of
// memory.
static bool adx_widen_scope(ad_scope *scope)
{
    size_t room = 2 * scope->adx_room;
    void *memory = adx_take_for_fork(&scope->adx_allocator, room,
                                     sizeof *scope->adx_f + sizeof(void *));
    if (memory == NULL)
        return false;
    void (**f)(void *) = (void (**)(void *))memory;
    void **arg = (void **)(f + room);
    bool first = scope->adx_memory == NULL;
    memcpy(f, first ? scope->adx_first_f : scope->adx_f,
           scope->adx_n * sizeof *f);
    memcpy(arg, first ? scope->adx_first_arg : scope->adx_arg,
           scope->adx_n * sizeof *arg);
    adx_drop_of_fork(&scope->adx_allocator, scope->adx_memory);
    scope->adx_memory = memory;
    scope->adx_f = f;
    scope->adx_arg = arg;
    scope->adx_room = room;
    return true;
}

// If there is no memory for more branches, those that were added so far are run
// now: the fork becomes two.
ADX_API void ad_scope_add(ad_scope *scope, void (*f)(void *), void *arg)
{
    if (scope->adx_n == scope->adx_room && !adx_widen_scope(scope)) {
        ad_fork_n(scope->adx_n, adx_scoped, scope);
        scope->adx_n = 0;
    }
    if (scope->adx_memory == NULL) {
        scope->adx_first_f[scope->adx_n] = f;
        scope->adx_first_arg[scope->adx_n] = arg;
    } else {
        scope->adx_f[scope->adx_n] = f;
        scope->adx_arg[scope->adx_n] = arg;
    }
    scope->adx_n++;
}

ADX_API void ad_scope_close(ad_scope *scope)
{
    ad_fork_n(scope->adx_n, adx_scoped, scope);
    adx_drop_of_fork(&scope->adx_allocator, scope->adx_memory);
    scope->adx_memory = NULL;
    scope->adx_open = false;
}

/* === parallel/graph =========================================================
 * The job graph is not stored. It is read off the tapes in one pass, where each
 * entry of a fork ends a job. Work is the sum over all jobs; the span is the
 * longest path. The time that a number of workers take is found by list
 * scheduling: a worker that is free begins the job that has been ready longest
 * (Graham, Bounds on multiprocessing timing anomalies, 1969).
 *
 *   needs   tape/layout tape/memory tape/entries tape/walk sweep/sweep
 *           check/print parallel/api parallel/team parallel/sweep
 * ========================================================================== */

ADX_SELDOM_BEGIN

ADX_API void ad_tape_measure(ad_tape *t, bool on)
{
    if (t == NULL || t->allocator.alloc == NULL)
        return;
    adx_worker *w = adx_worker_of(t);
    if (w == NULL)
        adx_fail(t, ADREV_ENOMEM);
    else
        w->team->measure = on;
}

typedef struct adx_survey {
    ad_job *job;
    size_t room;
    size_t next;                    // number
} adx_survey;

// The job that a walk over the entries of a task is in.
typedef struct adx_job_walk {
    adx_survey *list;
    size_t number;
    ad_job job;
    size_t imports;                 // of the task when the job began
    double primal;                  // when it began to be recorded
    double reverse;                 // when it had been swept
} adx_job_walk;

static void adx_list_job(adx_survey *s, size_t number, const ad_job *job)
{
    if (number < s->room)
        s->job[number] = *job;
}

static double adx_seconds(double from, double to)
{
    return from == 0 || to == 0 || to < from ? 0 : to - from;
}

// Ends a job, at a fork or with its task, which has that many imports by now.
// Imports are values of the tape, too, but are counted apart.
static void adx_end_job(adx_job_walk *w, size_t imports, double primal,
                        double reverse)
{
    w->job.imports = imports - w->imports;
    w->job.values -= w->job.imports;
    w->job.primal = adx_seconds(w->primal, primal);
    w->job.reverse = adx_seconds(reverse, w->reverse);
    adx_list_job(w->list, w->number, &w->job);
}

static void adx_survey_task(adx_survey *s, const ad_tape *t, adx_cursor at,
                            size_t number, size_t join, const adx_task *task);

// The jobs of a branch, NULL: one that has recorded nothing.
static void adx_survey_branch(adx_survey *s, const adx_task *b, size_t number,
                              size_t join)
{
    ad_job nothing = { .join = join };
    adx_cursor from = {0};
    if (b == NULL) {
        adx_list_job(s, number, &nothing);
        return;
    }
    from.until = &b->stretch.to;
    adx_put_cursor(b->tape, &from, &b->stretch.from);
    adx_survey_task(s, b->tape, from, number, join, b);
}

// A fork ends a job. Its n branches begin with the next n numbers, and the job
// behind its join, which begins here, has the number after those.
static void adx_survey_fork(adx_job_walk *w, const adx_fork *f)
{
    adx_survey *s = w->list;
    size_t first = s->next;

    w->job.branches = f->n;
    w->job.fork = first;
    adx_end_job(w, f->imports, f->primal[0], f->reverse[1]);
    s->next += f->n + 1;
    for (size_t i = 0; i < f->n; i++)
        adx_survey_branch(s, f->branch[i], first + i, first + f->n);
    *w = (adx_job_walk){ .list = s, .number = first + f->n,
                         .imports = f->imports, .primal = f->primal[1],
                         .reverse = f->reverse[0] };
}

// Lists the jobs of a task, from a cursor to its end, and those of its
// branches: the walk leaps from the first entry of a fork to the second.
static void adx_survey_task(adx_survey *s, const ad_tape *t, adx_cursor at,
                            size_t number, size_t join, const adx_task *task)
{
    adx_job_walk w = { .list = s, .number = number,
                       .job.values = task->parent == task ? at.seq : 0,
                       .primal = task->primal[0],
                       .reverse = task->reverse[1] };
    size_t before = at.seq;

    for (unsigned header; (header = adx_next_entry(t, &at)) != 0;
         before = at.seq) {
        w.job.values += header == ADX_GAP ? 0 : at.seq - before;
        if (header == ADX_LEAP) {
            const adx_fork *f = adx_fork_of(adx_leap_of(at.op));
            if (f->n > 0)           // without branches: no end of a job
                adx_survey_fork(&w, f);
            adx_put_cursor(t, &at, &f->leap.after);
        } else if (header == ADX_EXTENDED) {
            const adx_extended *e = adx_payload(at.op);
            w.job.statements++;
            w.job.operands += e->operands;
        } else if (!(header & ADX_OTHER)) {
            w.job.statements++;
            w.job.operands += at.operands;
        }
    }
    w.job.join = join;
    adx_end_job(&w, task->imports, task->primal[1], task->reverse[0]);
}

ADX_API size_t ad_tape_jobs(const ad_tape *t, size_t room, ad_job job[])
{
    adx_task alone = { .parent = &alone };
    adx_survey s = { job, room, 1 };
    if (t == NULL)
        return 0;
    const adx_worker *w = (const adx_worker *)t->annexed;
    adx_cursor at = { .seq = t->lead };
    adx_survey_task(&s, t, at, 0, 0, t->annex == NULL ? &alone : w->task);
    return s.next;
}

/* --- paths and schedules ----------------------------------------------------
 * Both go through a graph of jobs in one of its two directions: forward an edge
 * leads from a fork to its branches, and from their last jobs to what follows
 * the join; in reverse the other way.                                       */

typedef struct adx_graph {
    size_t n;
    const ad_job *job;
    bool reverse;
    size_t *wait;               // edges into a job that are still open
    size_t *first;              // of the jobs that join into a job; n: none
    size_t *sibling;            // the next that joins into the same
    size_t *fork;               // of a branch's first job: what forked
    size_t *ready;              // a queue of jobs, each of which enters once
    size_t head, tail;
    double *time;               // longest path, or time of completion
    void *memory;
} adx_graph;

// Takes the memory of a graph, in which there are no edges yet.
static bool adx_take_graph(adx_graph *g, size_t n)
{
    size_t bytes = 5 * sizeof(size_t) + sizeof(double);
    g->memory = n > SIZE_MAX / bytes ? NULL : malloc(n * bytes + 1);
    if (g->memory == NULL)
        return false;
    g->time = (double *)g->memory;
    g->wait = (size_t *)(g->time + n);
    g->first = g->wait + n;
    g->sibling = g->first + n;
    g->fork = g->sibling + n;
    g->ready = g->fork + n;
    for (size_t i = 0; i < n; i++) {
        g->time[i] = 0;
        g->wait[i] = 0;
        g->first[i] = g->sibling[i] = g->fork[i] = n;
    }
    return true;
}

// How many edges lead into job i. In reverse it waits for its branches, or for
// what it joins into; forward for the job that forked, and for all that join
// into it.
static size_t adx_count_edges(const adx_graph *g, size_t i)
{
    const ad_job *job = &g->job[i];
    if (g->reverse)
        return job->branches != 0 ? job->branches : job->join != 0;
    size_t edges = g->fork[i] < g->n;
    for (size_t k = g->first[i]; k < g->n; k = g->sibling[k])
        edges++;
    return edges;
}

// Builds the edges, and counts for each job those that lead into it. The list
// of jobs says what follows a job; here it is noted what precedes one: the job
// that forked, and the chain of jobs that join into it. What a job joins into
// is one number, so the jobs that join into the same one are chained.
static bool adx_open_graph(adx_graph *g, size_t n, const ad_job job[],
                           bool reverse)
{
    *g = (adx_graph){ .n = n, .job = job, .reverse = reverse };
    if (!adx_take_graph(g, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < job[i].branches && job[i].fork + k < n; k++)
            g->fork[job[i].fork + k] = i;
        if (job[i].branches == 0 && job[i].join != 0 && job[i].join < n) {
            g->sibling[i] = g->first[job[i].join];
            g->first[job[i].join] = i;
        }
    }
    for (size_t i = 0; i < n; i++)
        g->wait[i] = adx_count_edges(g, i);
    return true;
}

static void adx_close_graph(adx_graph *g) { free(g->memory); }

// An edge into job j is done at that time. With the last one the job is ready.
static void adx_arrive_at_job(adx_graph *g, size_t j, double time)
{
    if (j >= g->n)
        return;
    g->time[j] = time > g->time[j] ? time : g->time[j];
    if (--g->wait[j] == 0)
        g->ready[g->tail++] = j;
}

// The jobs that nothing precedes are ready.
static void adx_start_graph(adx_graph *g)
{
    for (size_t j = 0; j < g->n; j++)
        if (g->wait[j] == 0)
            g->ready[g->tail++] = j;
}

// Job j is done at that time, and with it all edges that leave it.
static void adx_complete(adx_graph *g, size_t j, double time)
{
    const ad_job *job = &g->job[j];
    if (g->reverse) {
        for (size_t k = g->first[j]; k < g->n; k = g->sibling[k])
            adx_arrive_at_job(g, k, time);
        if (g->fork[j] < g->n)
            adx_arrive_at_job(g, g->fork[j], time);
        return;
    }
    for (size_t k = 0; k < job->branches && job->fork + k < g->n; k++)
        adx_arrive_at_job(g, job->fork + k, time);
    if (job->branches == 0 && job->join != 0)
        adx_arrive_at_job(g, job->join, time);
}

typedef enum adx_measure {
    ADX_STATEMENTS, ADX_PRIMAL, ADX_REVERSE
} adx_measure;

static double adx_length_of(const ad_job *j, adx_measure what)
{
    return what == ADX_STATEMENTS ? (double)j->statements
         : what == ADX_PRIMAL ? j->primal : j->reverse;
}

// The longest path: each job begins when the last of those before it has ended.
static double adx_span_of(adx_graph *g, adx_measure what)
{
    double span = 0;
    adx_start_graph(g);
    while (g->head < g->tail) {
        size_t j = g->ready[g->head++];
        double end = g->time[j] + adx_length_of(&g->job[j], what);
        span = end > span ? end : span;
        adx_complete(g, j, end);
    }
    return span;
}

static double adx_work_of(size_t n, const ad_job job[], adx_measure what,
                          double *span)
{
    adx_graph g;
    double work = 0;
    for (size_t i = 0; i < n; i++)
        work += adx_length_of(&job[i], what);
    *span = 0;
    if (adx_open_graph(&g, n, job, false))
        *span = adx_span_of(&g, what);
    adx_close_graph(&g);
    return work;
}

ADX_API ad_parallelism ad_job_parallelism(size_t n, const ad_job job[])
{
    ad_parallelism p;
    double span;
    memset(&p, 0, sizeof p);
    if (adx_no_array(n, job))
        return p;
    p.jobs = n;
    p.tasks = n > 0;
    for (size_t i = 0; i < n; i++) {
        p.forks += job[i].branches > 0;
        p.tasks += job[i].branches;
    }
    p.work = (size_t)adx_work_of(n, job, ADX_STATEMENTS, &span);
    p.span = (size_t)span;
    p.parallelism = span > 0 ? (double)p.work / span : 1;
    p.primal_work = adx_work_of(n, job, ADX_PRIMAL, &p.primal_span);
    p.reverse_work = adx_work_of(n, job, ADX_REVERSE, &p.reverse_span);
    return p;
}

typedef struct adx_running {
    double end;
    size_t job;
} adx_running;

// The running jobs are a heap, with the first to end on top. Puts r in at the
// top.
static void adx_sink(adx_running heap[], size_t n, adx_running r)
{
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < n; i = k) {
        if (k + 1 < n && heap[k + 1].end < heap[k].end)
            k++;
        if (heap[k].end >= r.end)
            break;
        heap[i] = heap[k];
    }
    heap[i] = r;
}

// Puts r in at the end, place i.
static void adx_sift_up(adx_running heap[], size_t i, adx_running r)
{
    for (; i > 0 && heap[(i - 1) / 2].end > r.end; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = r;
}

// How long the jobs take on that many workers if each, when it is free, begins
// the job that has been ready longest. Time goes from end to end of a running
// job.
static bool adx_simulate(size_t n, const ad_job job[], bool reverse,
                         size_t workers, double *seconds)
{
    adx_graph g;
    size_t most = workers < n ? workers : n;
    adx_running *heap = (adx_running *)malloc((most + 1) * sizeof *heap);
    bool ok = adx_open_graph(&g, n, job, reverse) && heap != NULL;
    double now = 0;

    if (ok)
        adx_start_graph(&g);
    for (size_t busy = 0; ok && (busy > 0 || g.head < g.tail);) {
        // A worker is free and a job is ready: it begins now.
        if (busy < most && g.head < g.tail) {
            size_t j = g.ready[g.head++];
            double time = adx_length_of(&job[j], reverse ? ADX_REVERSE
                                                      : ADX_PRIMAL);
            adx_running r = { now + time, j };
            adx_sift_up(heap, busy++, r);
            continue;
        }
        // Otherwise time goes on to where the next job ends.
        adx_running done = heap[0];
        now = done.end;
        busy--;
        adx_sink(heap, busy, heap[busy]);
        adx_complete(&g, done.job, now);
    }
    *seconds = now;
    adx_close_graph(&g);
    free(heap);
    return ok;
}

ADX_API ad_status ad_job_predict(size_t n, const ad_job job[],
                                 unsigned workers, double *primal,
                                 double *reverse)
{
    size_t p = workers == 0 ? 1 : workers;
    if (adx_no_array(n, job))
        return ADREV_ESHAPE;
    bool ok = primal == NULL || adx_simulate(n, job, false, p, primal);
    if (ok && reverse != NULL)
        ok = adx_simulate(n, job, true, p, reverse);
    return ok ? ADREV_OK : ADREV_ENOMEM;
}

/* --- drawing ------------------------------------------------------------- */

static void adx_write_job(const adx_writer *w, size_t i, const ad_job *j)
{
    adx_print(w, "j%z [label=\"%z\\n%z values, %z statements\\n"
                 "%z imports\"];\n", i, i, j->values, j->statements,
                 j->imports);
    for (size_t k = 0; k < j->branches; k++)
        adx_print(w, "j%z -> j%z;\n", i, j->fork + k);
    if (j->branches == 0 && j->join != 0)
        adx_print(w, "j%z -> j%z;\n", i, j->join);
}

ADX_API ad_status ad_dump_jobs_dot(const ad_tape *t, ad_write_fn *write,
                                   void *user)
{
    if (t == NULL)
        return ADREV_ENOTAPE;
    size_t n = ad_tape_jobs(t, 0, NULL);
    ad_job *job = (ad_job *)adx_take(&t->allocator, n + 1, sizeof *job);
    adx_writer w = { write, user };
    if (job == NULL)
        return ADREV_ENOMEM;
    ad_tape_jobs(t, n, job);
    adx_print(&w, "digraph jobs {\nnode [shape=box];\n");
    for (size_t i = 0; i < n; i++)
        adx_write_job(&w, i, &job[i]);
    adx_print(&w, "}\n");
    adx_drop(&t->allocator, job);
    return ad_tape_status(t);
}

ADX_SELDOM_END

#endif // ADREV_PARALLEL_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
