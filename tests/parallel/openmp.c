// SPDX-License-Identifier: MIT-0
// tags:
// flags: -pthread
/* openmp.c - OpenMP in the place of the pool: loops under every schedule and
 * nested tasks that enter and leave the branches themselves, and OpenMP as the
 * executor of forks and sweeps. Value, gradient and job graph have the bits of
 * a run without any of it. tests/parallel/openmp.sh builds this with -fopenmp;
 * without, the same loops run on one thread.                                 */

#define _POSIX_C_SOURCE 200809L
#include "implementation.h"
#include "adrev_parallel.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#define OMP_TEXT(...) _Pragma(#__VA_ARGS__)
#define OMP(...) OMP_TEXT(omp __VA_ARGS__)
#else
#define OMP(...)
typedef enum { omp_sched_static, omp_sched_dynamic, omp_sched_guided,
               omp_sched_auto } omp_sched_t;
static int omp_get_thread_num(void) { return 0; }
static int omp_in_parallel(void) { return 0; }
static void omp_set_dynamic(int on) { (void)on; }
static void omp_set_max_active_levels(int n) { (void)n; }
static void omp_set_num_threads(int n) { (void)n; }
static void omp_set_schedule(omp_sched_t kind, int chunk)
{
    (void)kind;
    (void)chunk;
}
#endif

/* --- ways to run a fork --------------------------------------------------- */

typedef void branch_fn(size_t i, void *ctx);
typedef void fork_fn(size_t n, branch_fn *f, void *ctx);

static void fork_called(size_t n, branch_fn *f, void *ctx)
{
    for (size_t i = 0; i < n; i++)
        f(i, ctx);
}

static void fork_library(size_t n, branch_fn *f, void *ctx)
{
    ad_fork_n(n, f, ctx);
}

static void branch(ad_fork *fork, size_t i, branch_fn *f, void *ctx)
{
    ad_branch b;
    ad_branch_enter(&b, fork, i);
    f(i, ctx);
    ad_branch_leave(&b);
}

static void fork_loop(size_t n, branch_fn *f, void *ctx)
{
    ad_fork fork;
    ad_fork_open(&fork, n);
    for (size_t i = 0; i < n; i++)
        branch(&fork, i, f, ctx);
    ad_fork_close(&fork);
}

// Last branch first.
static void fork_backwards(size_t n, branch_fn *f, void *ctx)
{
    ad_fork fork;
    ad_fork_open(&fork, n);
    bool any_order = ad_fork_parallel(&fork);
    for (size_t i = 0; i < n; i++)
        branch(&fork, any_order ? n - 1 - i : i, f, ctx);
    ad_fork_close(&fork);
}

static void fork_for(size_t n, branch_fn *f, void *ctx)
{
    ad_fork fork;
    ad_fork_open(&fork, n);
    OMP(parallel for schedule(runtime) if(ad_fork_parallel(&fork)))
    for (size_t i = 0; i < n; i++)
        branch(&fork, i, f, ctx);
    ad_fork_close(&fork);
}

static void make_tasks(ad_fork *fork, size_t n, branch_fn *f, void *ctx)
{
    for (size_t i = 0; i < n; i++) {
        OMP(task firstprivate(i))
        branch(fork, i, f, ctx);
    }
    OMP(taskwait)
}

static void fork_tasks(size_t n, branch_fn *f, void *ctx)
{
    ad_fork fork;
    ad_fork_open(&fork, n);
    if (!ad_fork_parallel(&fork)) {
        for (size_t i = 0; i < n; i++)
            branch(&fork, i, f, ctx);
    } else if (omp_in_parallel()) {
        make_tasks(&fork, n, f, ctx);
    } else {
        OMP(parallel)
        OMP(single)
        make_tasks(&fork, n, f, ctx);
    }
    ad_fork_close(&fork);
}

/* --- executors ------------------------------------------------------------ */

typedef struct team {
    int threads;
    long calls;
} team;

static void count_call(team *w)
{
    OMP(atomic)
    w->calls++;
}

static void execute_for(size_t n, ad_call_fn *call, void *arg, void *user)
{
    team *w = user;
    count_call(w);
    OMP(parallel for schedule(dynamic, 1) num_threads(w->threads))
    for (size_t i = 0; i < n; i++)
        call(i, arg);
}

// clang 14 crashes where a task calls a pointer to a function.
static void call_one(size_t i, ad_call_fn *call, void *arg) { call(i, arg); }

static void call_tasks(size_t n, ad_call_fn *call, void *arg)
{
    for (size_t i = 0; i < n; i++) {
        OMP(task firstprivate(i))
        call_one(i, call, arg);
    }
    OMP(taskwait)
}

static void execute_tasks(size_t n, ad_call_fn *call, void *arg, void *user)
{
    team *w = user;
    count_call(w);
    if (omp_in_parallel()) {
        call_tasks(n, call, arg);
    } else {
        OMP(parallel num_threads(w->threads))
        OMP(single)
        call_tasks(n, call, arg);
    }
}

static void execute_backwards(size_t n, ad_call_fn *call, void *arg, void *user)
{
    count_call(user);
    for (size_t i = n; i-- > 0; )
        call(i, arg);
}

static const struct {
    const char *name;
    ad_execute_fn *execute;
} executor[] = {
    { "for", execute_for },
    { "tasks", execute_tasks },
    { "backwards", execute_backwards }
};
enum { EXECUTORS = sizeof executor / sizeof executor[0] };

/* --- a program ---------------------------------------------------------------
 * Two forks, the first with forks in some of its branches. Branches use inputs
 * and values of tasks that are done, more than once; some record nothing. The
 * sums are such that another order of the terms would give other bits.       */

enum { INPUTS = 6, FIRST = 12, INNER = 4, LATE = 5, MOST_JOBS = 100 };

typedef struct program {
    fork_fn *fork;
    ad_rev x[INPUTS];
    ad_rev first[FIRST];
    ad_rev late[LATE];
    int thread[FIRST];              // that ran it
} program;

typedef struct inner {
    const program *p;
    ad_rev base;
    ad_rev part[INNER];
} inner;

static void inner_branch(size_t i, void *ctx)
{
    inner *in = ctx;
    ad_rev y = in->base;
    for (size_t k = 0; k < 10 + 7 * i; k++)
        y = ad_rec(ad_sin(ad_add(y, ad_mul(in->p->x[k % INPUTS], 0.7))));
    in->part[i] = y;
}

static void first_branch(size_t i, void *ctx)
{
    program *p = ctx;
    ad_rev y = {0};
    p->thread[i] = omp_get_thread_num();
    for (size_t k = 0; k < i * i; k++)
        y = ad_rec(ad_add(ad_mul(0.9, ad_sin(y)), ad_cos(p->x[k % INPUTS])));
    if (i % 3 == 1) {
        inner in = { .p = p, .base = i == 1 ? p->x[0] : y };
        p->fork(INNER, inner_branch, &in);
        y = ad_rec(ad_mul(in.part[2], ad_add(y, ad_sum(INNER, in.part))));
    }
    p->first[i] = y;
}

static void late_branch(size_t i, void *ctx)
{
    program *p = ctx;
    ad_rev y = p->x[i];
    for (size_t k = 0; k < 40; k++)
        y = ad_rec(ad_sin(ad_add(y, p->first[(i + k) % FIRST])));
    p->late[i] = y;
}

static ad_rev run(program *p)
{
    ad_rev s = {0};
    p->fork(FIRST, first_branch, p);
    for (size_t i = 0; i < FIRST; i++)
        ad_acc(&s, ad_mul(p->first[i], p->first[(5 * i + 1) % FIRST]));
    p->fork(LATE, late_branch, p);
    p->fork(1, late_branch, p);
    return ad_rec(ad_add(s, ad_sum(LATE, p->late)));
}

typedef struct outcome {
    ad_status status;
    ad_real y;
    ad_real g[INPUTS];
    size_t jobs;
    ad_job job[MOST_JOBS];
    int threads;                    // that ran branches of the first fork
} outcome;

static int count_threads(const program *p)
{
    int n = 0;
    for (int i = 0; i < FIRST; i++) {
        int k = 0;
        while (p->thread[k] != p->thread[i])
            k++;
        n += k == i;
    }
    return n;
}

// On a tape of one's own.
static void run_on(ad_tape *t, fork_fn *fork, outcome *out)
{
    program p = { .fork = fork };
    ad_real x[INPUTS];
    memset(out, 0, sizeof *out);
    for (int i = 0; i < INPUTS; i++)
        x[i] = (ad_real)(0.3 * i - 0.8);
    ad_tape *before = ad_use(t);
    ad_inputs(INPUTS, x, p.x);
    ad_rev y = run(&p);
    out->y = y.v;
    out->status = ad_gradient(t, y, INPUTS, p.x, out->g);
    out->jobs = ad_tape_jobs(t, MOST_JOBS, out->job);
    out->threads = count_threads(&p);
    ad_use(before);
}

static void run_new(fork_fn *fork, outcome *out)
{
    ad_tape *t = ad_tape_new();
    run_on(t, fork, out);
    ad_tape_free(t);
}

// What is not the same; NULL: nothing.
static const char *other_gradient(const outcome *a, const outcome *b)
{
    if (a->status != ADREV_OK || b->status != ADREV_OK)
        return ad_message(a->status != ADREV_OK ? a->status : b->status);
    if (memcmp(&a->y, &b->y, sizeof a->y) != 0)
        return "another value";
    return memcmp(a->g, b->g, sizeof a->g) != 0 ? "another gradient" : NULL;
}

static const char *other(const outcome *a, const outcome *b)
{
    const char *what = other_gradient(a, b);
    if (what != NULL)
        return what;
    return a->jobs == b->jobs && memcmp(a->job, b->job, sizeof a->job) == 0
         ? NULL : "other jobs";
}

#define CHECK_SAME(got, text, ...)                                          \
    CHECK(other((got), &want) == NULL, text ": %s", __VA_ARGS__,            \
          other((got), &want))

static outcome want;                // by the library, on one thread
static outcome called;              // without any fork

static void test_reference(void)
{
    run_new(fork_called, &called);
    run_new(fork_library, &want);
    CHECK(want.status == ADREV_OK, "got \"%s\"", ad_message(want.status));
    CHECK(want.y == called.y, "value %.17g, want %.17g", (double)want.y,
          (double)called.y);
    for (int i = 0; i < INPUTS; i++)
        CHECK_NEAR(want.g[i], called.g[i],
                   sizeof(ad_real) == sizeof(float) ? 1e-3 : 1e-11);

    // 4 of the 12 branches fork, too; then forks of 5 and of 1.
    CHECK(want.jobs == 1 + 13 + 4 * 5 + 6 + 2 && want.jobs <= MOST_JOBS,
          "%u jobs", (unsigned)want.jobs);
    CHECK(called.jobs == 1, "%u jobs without forks", (unsigned)called.jobs);
}

/* --- clients -------------------------------------------------------------- */

static const int team_size[] = { 1, 2, 3, 8 };
enum { TEAMS = sizeof team_size / sizeof team_size[0] };

static void test_loop(void)
{
    outcome got;
    run_new(fork_loop, &got);
    CHECK_SAME(&got, "%s", "a loop");
    run_new(fork_backwards, &got);
    CHECK_SAME(&got, "%s", "a loop backwards");
}

static void test_for(void)
{
    static const struct { omp_sched_t kind; int chunk; } schedule[] = {
        { omp_sched_static, 0 }, { omp_sched_static, 1 },
        { omp_sched_static, 5 }, { omp_sched_dynamic, 1 },
        { omp_sched_dynamic, 3 }, { omp_sched_guided, 1 },
        { omp_sched_auto, 0 }
    };
    outcome got;
    for (int k = 0; k < TEAMS; k++)
        for (int levels = 1; levels <= 2; levels++)
            for (size_t i = 0; i < sizeof schedule / sizeof *schedule; i++) {
                omp_set_num_threads(team_size[k]);
                omp_set_max_active_levels(levels);
                omp_set_schedule(schedule[i].kind, schedule[i].chunk);
                run_new(fork_for, &got);
                CHECK_SAME(&got, "%d threads, schedule %d, %d levels",
                           team_size[k], (int)i, levels);
#ifdef _OPENMP
                // One by one in turn: every thread of the team gets some.
                CHECK(i != 1 || got.threads == team_size[k],
                      "%d threads ran branches, want %d", got.threads,
                      team_size[k]);
#endif
            }
    omp_set_schedule(omp_sched_dynamic, 1);
    omp_set_max_active_levels(1);
}

static void test_tasks(void)
{
    outcome got;
    for (int k = 0; k < TEAMS; k++)
        for (int repeat = 0; repeat < 5; repeat++) {
            omp_set_num_threads(team_size[k]);
            run_new(fork_tasks, &got);
            CHECK_SAME(&got, "%d threads", team_size[k]);
        }
}

// One tape for many recordings, in every way in turn.
static void test_again(void)
{
    static fork_fn *const way[] = { fork_for, fork_library, fork_tasks,
                                    fork_backwards, fork_loop };
    outcome got;
    ad_tape *t = ad_tape_new();
    omp_set_num_threads(3);
    for (int i = 0; i < 25; i++) {
        run_on(t, way[i % 5], &got);
        CHECK_SAME(&got, "recording %d", i);
        ad_tape_clear(t);
    }
    ad_tape_free(t);
}

/* --- executors and pools -------------------------------------------------- */

static void use_executor(int e, team *w)
{
    ad_status s = ad_executor_use(executor[e].execute, w);
    CHECK(s == ADREV_OK, "%s: \"%s\"", executor[e].name, ad_message(s));
}

static void use_no_executor(void)
{
    ad_status s = ad_executor_use(NULL, NULL);
    CHECK(s == ADREV_OK, "none: \"%s\"", ad_message(s));
}

static void test_executors(void)
{
    static fork_fn *const way[] = { fork_library, fork_for, fork_tasks };
    outcome got;
    for (int k = 0; k < TEAMS; k++)
        for (int e = 0; e < EXECUTORS; e++)
            for (int i = 0; i < 3; i++) {
                team w = { .threads = team_size[k] };
                use_executor(e, &w);
                run_new(way[i], &got);
                use_no_executor();
                CHECK_SAME(&got, "%s, %d threads, way %d", executor[e].name,
                           team_size[k], i);
                CHECK(w.calls > 0, "%s was never called", executor[e].name);
            }
}

// Both forks and sweeps are left to it, also under a pool.
static void test_executor_is_called(void)
{
    team w = { .threads = 2 };
    program p = { .fork = fork_library };
    ad_real g;
    ad_pool *pool = ad_pool_new(2);
    ad_tape *t = ad_tape_new();
    CHECK(ad_pool_use(pool) == ADREV_OK, "a pool");
    CHECK(ad_executor_use(execute_for, &w) == ADREV_OK, "and an executor");
    ad_use(t);
    for (int i = 0; i < INPUTS; i++)
        p.x[i] = ad_input(1);
    ad_rev y = run(&p);
    CHECK(w.calls == 7, "%ld calls for 7 forks", w.calls);
    w.calls = 0;
    ad_status s = ad_gradient(t, y, 1, p.x, &g);
    CHECK(s == ADREV_OK && w.calls > 0, "got \"%s\", %ld calls in the sweep",
          ad_message(s), w.calls);
    use_no_executor();
    w.calls = 0;
    s = ad_gradient(t, y, 1, p.x, &g);
    CHECK(s == ADREV_OK && w.calls == 0, "got \"%s\", %ld calls when it is no"
          " longer used", ad_message(s), w.calls);
    ad_use(NULL);
    ad_tape_free(t);
    ad_pool_free(pool);
}

// Recorded by OpenMP, swept by the library's threads, and the other way round.
static void test_pools(void)
{
    static fork_fn *const way[] = { fork_library, fork_for, fork_tasks };
    outcome got;
    omp_set_num_threads(2);
    for (unsigned threads = 1; threads <= 4; threads++) {
        ad_pool *pool = ad_pool_new(threads);
        CHECK(ad_pool_use(pool) == ADREV_OK, "a pool of %u", threads);
        for (int i = 0; i < 3; i++) {
            run_new(way[i], &got);
            CHECK_SAME(&got, "a pool of %u, way %d", threads, i);
        }
        ad_pool_free(pool);
    }
}

/* --- loops of the library ------------------------------------------------- */

typedef struct range {
    ad_rev x[INPUTS];
    ad_rev y[1000];
} range;

static void fill(size_t begin, size_t end, void *ctx)
{
    range *r = ctx;
    for (size_t i = begin; i < end; i++)
        r->y[i] = ad_rec(ad_sin(ad_mul(r->x[i % INPUTS], 1 + i)));
}

static ad_rev reduce(size_t begin, size_t end, void *ctx)
{
    const range *r = ctx;
    ad_rev s = {0};
    for (size_t i = begin; i < end; i++)
        ad_acc(&s, ad_mul(r->y[i], r->y[(7 * i) % 1000]));
    return s;
}

static ad_rev combine(ad_rev a, ad_rev b, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_add(a, ad_cos(b)));
}

static void run_loops(size_t grain, ad_real g[INPUTS])
{
    static range r;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    for (int i = 0; i < INPUTS; i++)
        r.x[i] = ad_input((ad_real)(0.1 * i));
    ad_parallel_for(1000, grain, fill, &r);
    ad_rev sum = ad_parallel_reduce(1000, grain, reduce, NULL, &r);
    ad_rev y = ad_parallel_reduce(900, grain, reduce, combine, &r);
    ad_status s = ad_gradient(t, ad_rec(ad_mul(sum, y)), INPUTS, r.x, g);
    CHECK(s == ADREV_OK, "got \"%s\"", ad_message(s));
    ad_tape_free(t);
}

static void test_loops(void)
{
    static const size_t grain[] = { 0, 1, 37, 2000 };
    for (int k = 0; k < 4; k++) {
        ad_real alone[INPUTS] = {0};
        run_loops(grain[k], alone);
        for (int e = 0; e < EXECUTORS; e++) {
            team w = { .threads = 2 + e };
            ad_real g[INPUTS] = {0};
            use_executor(e, &w);
            run_loops(grain[k], g);
            use_no_executor();
            CHECK(memcmp(g, alone, sizeof g) == 0,
                  "%s, grain %u: other bits", executor[e].name,
                  (unsigned)grain[k]);
        }
    }
}

/* --- several host threads ------------------------------------------------- */

enum { HOSTS = 4, REPEATS = 4 };

typedef struct host {
    int number;
    pthread_t thread;
    pthread_barrier_t *end;
    outcome got[REPEATS];
    ad_status status;           // the last that was an error
} host;

static void work(host *h)
{
    static fork_fn *const way[] = { fork_tasks, fork_for, fork_library,
                                    fork_library };
    team w = { .threads = 2 };
    for (int i = 0; i < REPEATS; i++) {
        int k = (h->number + i) % 4;
        ad_status s = k < 2 ? ADREV_OK
                            : ad_executor_use(executor[k - 2].execute, &w);
        run_new(way[k], &h->got[i]);
        if (s == ADREV_OK)
            s = ad_executor_use(NULL, NULL);
        if (s != ADREV_OK)
            h->status = s;
    }
}

static void *work_thread(void *argument)
{
    host *h = argument;
    omp_set_num_threads(2);
    work(h);
    pthread_barrier_wait(h->end);
    return NULL;
}

static void check_hosts(host h[HOSTS], const char *what)
{
    for (int i = 0; i < HOSTS; i++) {
        CHECK(h[i].status == ADREV_OK, "%s %d: \"%s\"", what, i,
              ad_message(h[i].status));
        for (int k = 0; k < REPEATS; k++) {
            CHECK_SAME(&h[i].got[k], "%s %d, run %d", what, i, k);
            memset(&h[i].got[k], 0, sizeof h[i].got[k]);
        }
    }
}

// Recordings side by side in one team, whose threads take the branches of any
// of them: one that waits in its own may be given another's.
static void test_one_team(void)
{
    static host h[HOSTS];
    for (int i = 0; i < HOSTS; i++)
        h[i].number = i;
    OMP(parallel for schedule(dynamic, 1) num_threads(3))
    for (int i = 0; i < HOSTS; i++)
        work(&h[i]);
    check_hosts(h, "loop");
    OMP(parallel num_threads(3))
    OMP(single)
    for (int i = 0; i < HOSTS; i++) {
        OMP(task firstprivate(i))
        work(&h[i]);
    }
    check_hosts(h, "task");
}

// A team for each. (Where a thread that made tasks has ended, LLVM's library
// uses memory that it has freed as soon as others run tasks, even without any
// of this: so all threads end together, and this comes last.)
static void test_hosts(void)
{
    static host h[HOSTS];
    pthread_barrier_t end;
    pthread_barrier_init(&end, NULL, HOSTS);
    for (int i = 0; i < HOSTS; i++) {
        h[i].number = i;
        h[i].end = &end;
        int error = pthread_create(&h[i].thread, NULL, work_thread, &h[i]);
        CHECK(error == 0, "error %d", error);
    }
    for (int i = 0; i < HOSTS; i++)
        pthread_join(h[i].thread, NULL);
    pthread_barrier_destroy(&end);
    check_hosts(h, "thread");
}

/* --- no recording, and fixed memory --------------------------------------- */

static void test_fixed_memory(void)
{
    static fork_fn *const way[] = { fork_library, fork_for, fork_tasks,
                                    fork_backwards };
    static long long memory[40000];
    outcome got;
    omp_set_num_threads(2);
    for (int i = 0; i < 4; i++) {
        ad_tape *t = ad_tape_in(memory, sizeof memory);
        run_on(t, way[i], &got);
        const char *what = other_gradient(&got, &called);
        CHECK(what == NULL, "way %d: %s", i, what);
        CHECK(got.threads == 1, "way %d: on %d threads", i, got.threads);
    }
}

static void test_no_tape(void)
{
    static fork_fn *const way[] = { fork_library, fork_for, fork_tasks };
    omp_set_num_threads(2);
    for (int i = 0; i < 3; i++) {
        program p = { .fork = way[i] };
        for (int k = 0; k < INPUTS; k++)
            p.x[k] = ad_rec((ad_real)(0.3 * k - 0.8));
        ad_rev y = run(&p);
        CHECK(y.job == 0 && y.v == want.y, "way %d: got %.17g, want %.17g", i,
              (double)y.v, (double)want.y);
    }
}

/* --- what may go wrong ---------------------------------------------------- */

// Only every other branch runs.
static void test_missing(void)
{
    ad_tape *t = ad_tape_new();
    ad_rev part[8] = {{0}};
    ad_real g = 0;
    ad_fork f;
    ad_use(t);
    ad_rev x = ad_input(3);
    ad_fork_open(&f, 8);
    OMP(parallel for schedule(dynamic, 1) num_threads(3))
    for (size_t i = 0; i < 8; i += 2) {
        ad_branch b;
        ad_branch_enter(&b, &f, i);
        part[i] = ad_rec(ad_mul(x, i));
        ad_branch_leave(&b);
    }
    ad_fork_close(&f);
    ad_status s = ad_gradient(t, ad_sum(8, part), 1, &x, &g);
    CHECK(s == ADREV_OK && g == 12, "%s: got %g, want 12", ad_message(s),
          (double)g);
    ad_tape_free(t);
}

// A branch that uses another's value, though the other is long done.
static void test_race(void)
{
    ad_tape *t = ad_tape_new();
    ad_rev part[2];
    ad_real g = 7;
    ad_fork f;
    ad_use(t);
    ad_rev x = ad_input(3);
    part[0] = part[1] = x;
    ad_fork_open(&f, 2);
    OMP(parallel num_threads(2))
    OMP(single)
    for (size_t i = 0; i < 2; i++) {
        OMP(task firstprivate(i))
        {
            ad_branch b;
            ad_branch_enter(&b, &f, i);
            part[i] = ad_rec(ad_mul(x, part[0]));
            ad_branch_leave(&b);
        }
        OMP(taskwait)
    }
    ad_fork_close(&f);
    ad_status s = ad_gradient(t, part[1], 1, &x, &g);
    CHECK(s == ADREV_ERACE && g == 7, "got \"%s\" and %g", ad_message(s),
          (double)g);
    CHECK(ad_tape_status(t) == ADREV_ERACE, "the tape says \"%s\"",
          ad_message(ad_tape_status(t)));
    ad_tape_clear(t);
    x = ad_input(3);
    s = ad_gradient(t, ad_rec(ad_sqr(x)), 1, &x, &g);
    CHECK(s == ADREV_OK && g == 6, "cleared: \"%s\" and %g", ad_message(s),
          (double)g);
    ad_tape_free(t);
}

// Neither pool nor executor may be changed in a branch.
static void test_busy(void)
{
    team w = { .threads = 2 };
    ad_status status[4][2];
    ad_tape *t = ad_tape_new();
    ad_fork f;
    ad_use(t);
    ad_fork_open(&f, 4);
    OMP(parallel for schedule(static, 1) num_threads(2))
    for (size_t i = 0; i < 4; i++) {
        ad_branch b;
        ad_branch_enter(&b, &f, i);
        status[i][0] = ad_executor_use(execute_for, &w);
        status[i][1] = ad_pool_use(NULL);
        ad_branch_leave(&b);
    }
    ad_fork_close(&f);
    for (int i = 0; i < 4; i++)
        CHECK(status[i][0] == ADREV_EBUSY && status[i][1] == ADREV_EBUSY,
              "branch %d: got \"%s\" and \"%s\"", i, ad_message(status[i][0]),
              ad_message(status[i][1]));
    CHECK(ad_executor_use(NULL, NULL) == ADREV_OK, "still busy");
    CHECK(ad_tape_status(t) == ADREV_OK, "got \"%s\"",
          ad_message(ad_tape_status(t)));
    ad_tape_free(t);
}

// Every thread is left as it was.
static void test_current(void)
{
    int left = 0;
    outcome got;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    omp_set_num_threads(4);
    run_new(fork_tasks, &got);
    run_new(fork_for, &got);
    OMP(parallel num_threads(4) reduction(+ : left))
    left += omp_get_thread_num() > 0 && ad_use(NULL) != NULL;
    CHECK(left == 0, "a tape is current on %d threads", left);
    CHECK(ad_use(NULL) == t, "another tape is current");
    ad_tape_free(t);
}

int main(void)
{
    omp_set_dynamic(0);
    omp_set_schedule(omp_sched_dynamic, 1);
    test_reference();
    test_loop();
    test_for();
    test_tasks();
    test_again();
    test_executors();
    test_executor_is_called();
    test_pools();
    test_loops();
    test_one_team();
    test_fixed_memory();
    test_no_tape();
    test_missing();
    test_race();
    test_busy();
    test_current();
    test_hosts();
    return check_done("openmp");
}
