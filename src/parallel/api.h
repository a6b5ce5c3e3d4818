#pragma once

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
