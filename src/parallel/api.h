#pragma once

/* === parallel/api ===========================================================
 * Forks, pools and job graphs: switches, types and the interface.
 *
 *   offers  adx_task adx_fork adx_team adx_worker
 * ========================================================================== */

/* --- configuration ----------------------------------------------------------
 * Both count where ADREV_IMPLEMENTATION is.                                 */

// ADREV_PTHREADS   1: threads of POSIX instead of C11's.
//   default 0; 1 where <threads.h> is missing. ThreadSanitizer needs 1.
#ifndef ADREV_PTHREADS
#if defined __STDC_NO_THREADS__
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
//   For tests: branches are stolen that otherwise never would be.
#ifndef ADREV_CHAOS
#define ADREV_CHAOS 0
#endif

/* --- types ------------------------------------------------------------------
 * A job is a sequential stretch of a program: from a fork, a join or the
 * beginning to the next fork, join or end. A task is a branch, from its fork
 * to its end, and has one or more jobs. (Names as in Smeding & Vakar,
 * Parallel dual-numbers reverse AD.)                                        */

typedef struct ad_pool ad_pool;
typedef struct adx_task adx_task;
typedef struct adx_fork adx_fork;
typedef struct adx_team adx_team;
typedef struct adx_worker adx_worker;

// Makes n calls, in any order, on any threads, and returns when all are done.
typedef void ad_call_fn(size_t i, void *arg);
typedef void ad_execute_fn(size_t n, ad_call_fn *call, void *arg, void *user);

// An open fork. It may lie on the stack; nothing of it is for the user.
typedef struct ad_fork {
    adx_team *adx_crew;             // NULL: nothing is recorded in branches
    adx_fork *adx_record;           // NULL: no memory
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

// A job of a recording. Jobs are numbered as if one thread had run them: a fork
// of k branches takes k + 1 numbers, the last for what follows the join.
typedef struct ad_job {
    size_t branches;        // of the fork that ends it; 0: the task ends
    size_t fork;            // the first branch's first job; what follows the
                            // join is fork + branches
    size_t join;            // of the last job of a branch: what follows the
                            // join; else 0
    size_t values;          // inputs and statements of its own
    size_t statements;
    size_t operands;
    size_t imports;         // uses of values of other tasks, each once
    double primal;          // seconds, if ad_tape_measure was on; else 0
    double reverse;         // of the last reverse sweep
} ad_job;

// What a job graph allows. Times are 0 unless they were measured.
typedef struct ad_parallelism {
    size_t jobs;
    size_t forks;
    size_t tasks;           // branches, and the program itself
    size_t work;            // statements of all jobs
    size_t span;            // statements on the longest path
    double parallelism;     // work/span: no number of threads gives more
    double primal_work, primal_span;        // seconds
    double reverse_work, reverse_span;
} ad_parallelism;

// Batches of branches that a block collects: see ADREV_PARALLEL.
typedef struct ad_scope {
    void (**adx_f)(void *);
    void **adx_arg;
    size_t adx_n;
    size_t adx_room;
    void (*adx_first_f[16])(void *);
    void *adx_first_arg[16];
    void *adx_memory;
    bool adx_open;
} ad_scope;

/* --- interface --------------------------------------------------------------
 * Everything below records on the current tape of the calling thread and in
 * its name: a branch finds a tape current that belongs to the recording. If
 * no tape is current, nothing is recorded, and branches run all the same.
 *
 * In a branch: do not clear, free, query or ad_use the tape of the recording
 * (ADREV_EBUSY), and leave no other tape current. ad_grad, ad_jac and tapes of
 * the branch's own are fine. A tape in fixed memory, and one whose operations
 * are traced, is recorded by one thread: the branches run one after another,
 * as if they were called.
 *
 * An allocator given to the tape (ad_tape_new_with) is called from all
 * threads, callbacks of external statements, too, those of one statement by
 * several at once if rows of a Jacobian are swept in parallel.
 *
 * Memory: about 1.5 kB for a fork of two small branches. Stack: 700 bytes for
 * each level of nesting. Dumps and regions show what lies on the tape itself,
 * not what branches recorded; for those see ad_tape_serial.                 */

#ifdef __cplusplus
extern "C" {
#endif

/* --- pools --------------------------------------------------------------- */

// Threads that run branches.
//
//   threads      in all, the one that forks among them, at most 512; 0: one
//                per processor. Fewer if the system gives no more: see
//                ad_pool_threads
//
//   returns      a pool, to be freed with ad_pool_free; NULL: out of memory
//   memory       about 70 kB per thread
ADX_API ad_pool *ad_pool_new(unsigned threads);

// The same with memory of its own choice.
ADX_API ad_pool *ad_pool_new_with(unsigned threads,
                                  const ad_allocator *allocator);

// Ends the threads. The pool may be NULL, or current on this thread only.
// Refused while it is current on another thread, or runs a fork: then it
// lives on, and ad_pool_status says ADREV_EBUSY.
ADX_API void ad_pool_free(ad_pool *pool);

// Whether the last ad_pool_free was refused; else ADREV_OK. NULL: ENOTAPE.
ADX_TRY ad_status ad_pool_status(const ad_pool *pool);

// How many threads it has, the one that forks among them.
ADX_API unsigned ad_pool_threads(const ad_pool *pool);

// From now on forks of this thread, and the sweeps of recordings with forks,
// run on this pool; NULL: on this thread alone. Any number of threads may use
// a pool at once, each with recordings of its own.
//
//   returns      ADREV_OK; ADREV_EBUSY: in a branch; ADREV_ELIMIT: 1024
//                threads, its own among them, use the pool; ADREV_ENOMEM.
//                Nothing has changed then
//
// A thread that uses a pool must leave it (NULL) before it ends: otherwise the
// pool cannot be freed.
ADX_TRY ad_status ad_pool_use(ad_pool *pool);

/* --- forks --------------------------------------------------------------- */

// Runs f(a) and g(b), in parallel if a pool is current; returns when both are
// done. What went wrong in a branch is the status of the tape. No fork at all
// costs nothing; a fork of two branches that record one statement each, 0.25
// microseconds with its reverse pass, on one thread (bench/parallel.c).
//
// A thread that waits for a branch runs others meanwhile, on the same stack: no
// lock may be held across a fork, and what is thread-local may have changed.
ADX_API void ad_fork2(void (*f)(void *), void *a, void (*g)(void *), void *b);

// The same for f(0, ctx), ..., f(n - 1, ctx).
ADX_API void ad_fork_n(size_t n, void (*f)(size_t i, void *ctx), void *ctx);

// f for consecutive parts of 0, ..., n - 1, of `grain` each but the last.
//
//   grain        0: 256 parts, or n if that is less; never a question of
//                threads, so that results are the same with any number
ADX_API void ad_parallel_for(size_t n, size_t grain,
                             void (*f)(size_t begin, size_t end, void *ctx),
                             void *ctx);

// combine(...combine(combine(p0, p1), p2)..., pk), where pi is f of the i-th
// part, in that order.
//
//   combine      NULL: the sum, as one statement
//
//   returns      the result; of n = 0 the constant 0
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
// Leave it at its end only: a break or return runs none of them.
#define ADREV_PARALLEL(scope)                                               \
    for (ad_scope scope = ad_scope_open(); scope.adx_open;                  \
         ad_scope_close(&scope))
#define ADREV_FORK(scope, f, arg) ad_scope_add(&(scope), (f), (arg))

ADX_API ad_scope ad_scope_open(void);
ADX_API void ad_scope_add(ad_scope *scope, void (*f)(void *), void *arg);
ADX_API void ad_scope_close(ad_scope *scope);

// x as values of this task. The first use of a value of another task makes an
// input and an entry in a table, 40 bytes in all, in 25 ns; every further use
// finds it there, in 5 ns (bench/parallel.c). Where a branch uses the same
// values very often, this makes them its own once, and their use costs nothing.
//
//   x [n]        in
//   y [n]        out   the same values; may be x
ADX_API void ad_capture(size_t n, const ad_rev x[], ad_rev y[]);

// ad_jacobian, 8 rows or columns on each thread at a time. A recording with
// forks is swept as by ad_jacobian: its branches in parallel, not its rows. A
// checkpoint or a scan (adrev_loop.h) is swept for one thread at a time, which
// then runs the forks within it alone.
//
//   returns      as ad_jacobian
//   memory       on each thread, from the allocator of the tape, what a sweep
//                needs: 64 bytes per value
ADX_TRY ad_status ad_parallel_jacobian(ad_tape *t, size_t m, const ad_rev y[],
                                       size_t n, const ad_rev x[],
                                       ad_real J[]);

/* --- other runtimes ---------------------------------------------------------
 * What the forks above are made of. A runtime of tasks, as OpenMP or oneTBB,
 * or a loop, opens a fork, enters and leaves its branches on whatever threads
 * it likes, each once, and closes it when all have left:
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
 * A branch that is never entered is as one that recorded nothing. A branch is
 * left on the thread that entered it, and a fork closed on the one that opened
 * it: no untied tasks. LLVM 14's OpenMP crashes now and then, with or without
 * this library, where nested teams need more than 32 threads, and in tasks that
 * run when another host thread with tasks has ended.                        */

ADX_API void ad_fork_open(ad_fork *f, size_t n);
ADX_API void ad_branch_enter(ad_branch *b, ad_fork *f, size_t i);
ADX_API void ad_branch_leave(ad_branch *b);
ADX_API void ad_fork_close(ad_fork *f);

// Whether branches may run on different threads: not of a tape in fixed memory
// or under a trace hook. Then enter and leave them in order, on this thread.
ADX_API bool ad_fork_parallel(const ad_fork *f);

// Forks of this thread, and its sweeps, by another runtime than the pool; in
// branches it is the same. NULL: by the pool again.
//
//   returns      ADREV_OK; ADREV_EBUSY: in a branch
ADX_TRY ad_status ad_executor_use(ad_execute_fn *execute, void *user);

// Whether forks of this tape's recordings are plain calls from now on: all of a
// recording is on the tape then, for ad_explain, ad_find_nonfinite, dumps and
// regions.
ADX_API void ad_tape_serial(ad_tape *t, bool on);

/* --- the job graph ------------------------------------------------------- */

// Whether the times of jobs are taken from now on: 25 ns at each of their ends.
ADX_API void ad_tape_measure(ad_tape *t, bool on);

// The jobs of a recording. A fork of which no branch recorded anything has left
// no trace.
//
//   job [room]   out   the first of them
//
//   returns      how many there are
//   cost         one pass over the tape
ADX_API size_t ad_tape_jobs(const ad_tape *t, size_t room, ad_job job[]);

// What the graph of these n jobs, all of a recording, allows; all 0 if there
// cannot be so many.
ADX_API ad_parallelism ad_job_parallelism(size_t n, const ad_job job[]);

// Seconds that the jobs take on so many workers, of which none is idle while a
// job is ready (Graham's bound: less than twice the best), by the measured
// times; overhead of threads is not in them.
//
//   primal, reverse   out   may be NULL
//
//   returns      ADREV_OK, ADREV_ENOMEM, ADREV_ESHAPE
ADX_TRY ad_status ad_job_predict(size_t n, const ad_job job[],
                                 unsigned workers, double *primal,
                                 double *reverse);

// The job graph for `dot -Tsvg`: boxes with values, statements and imports.
//
//   returns      the status of the tape, ADREV_ENOMEM
ADX_TRY ad_status ad_dump_jobs_dot(const ad_tape *t, ad_write_fn *write,
                                   void *user);

#ifdef __cplusplus
}
#endif
