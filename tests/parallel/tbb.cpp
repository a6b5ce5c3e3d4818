// SPDX-License-Identifier: MIT-0
// flags: -std=c++17 -pthread
// with: parallel_unit.c
/* tbb.cpp - the parallel header in C++17, and oneTBB in the place of the pool:
 * parallel_for and task_group that enter and leave the branches themselves,
 * and as executors of forks and sweeps. Value, gradient and job graph have the
 * bits of a run on one thread. The implementation is a unit in C. Built by
 * tests/parallel/tbb.sh.                                                             */

#include "adrev_parallel.h"
#include "adrev_parallel.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int passed;
static int failed;

// check.h is C.
static void check(bool right, const std::string &what, int line)
{
    passed += right;
    failed += !right;
    if (!right && failed <= 20)
        std::printf("%s:%d: %s\n", __FILE__, line, what.c_str());
}

#define CHECK(condition) check((condition), #condition, __LINE__)

/* --- ways to run a fork --------------------------------------------------- */

// Both close what they opened, also when an exception passes.
struct open_fork {
    ad_fork f;
    explicit open_fork(size_t n) { ad_fork_open(&f, n); }
    ~open_fork() { ad_fork_close(&f); }
    open_fork(const open_fork &) = delete;
    open_fork &operator=(const open_fork &) = delete;
};

struct entered {
    ad_branch b;
    entered(open_fork &f, size_t i) { ad_branch_enter(&b, &f.f, i); }
    ~entered() { ad_branch_leave(&b); }
    entered(const entered &) = delete;
    entered &operator=(const entered &) = delete;
};

typedef void branch_fn(size_t i, void *ctx);
typedef void fork_fn(size_t n, branch_fn *f, void *ctx);

static void fork_library(size_t n, branch_fn *f, void *ctx)
{
    ad_fork_n(n, f, ctx);
}

static void fork_for(size_t n, branch_fn *f, void *ctx)
{
    open_fork fork(n);
    tbb::parallel_for(size_t(0), n, [&](size_t i) {
        entered b(fork, i);
        f(i, ctx);
    });
}

// One task per branch, whatever the partitioner thinks of it.
static void fork_simple(size_t n, branch_fn *f, void *ctx)
{
    open_fork fork(n);
    tbb::blocked_range<size_t> all(0, n, 1);
    tbb::parallel_for(all, [&](const tbb::blocked_range<size_t> &part) {
        for (size_t i = part.begin(); i < part.end(); i++) {
            entered b(fork, i);
            f(i, ctx);
        }
    }, tbb::simple_partitioner());
}

static void fork_group(size_t n, branch_fn *f, void *ctx)
{
    open_fork fork(n);
    tbb::task_group group;
    for (size_t i = 0; i < n; i++)
        group.run([&fork, i, f, ctx] {
            entered b(fork, i);
            f(i, ctx);
        });
    group.wait();
}

static const struct {
    const char *name;
    fork_fn *fork;
} way[] = {
    { "library", fork_library }, { "parallel_for", fork_for },
    { "simple partitioner", fork_simple }, { "task_group", fork_group }
};

/* --- executors ------------------------------------------------------------ */

static std::atomic<long> calls;         // of executors

static void execute_for(size_t n, ad_call_fn *call, void *arg, void *user)
{
    calls += user == &calls;
    tbb::parallel_for(size_t(0), n, [=](size_t i) { call(i, arg); });
}

static void execute_group(size_t n, ad_call_fn *call, void *arg, void *user)
{
    tbb::task_group group;
    calls += user == &calls;
    for (size_t i = 1; i < n; i++)
        group.run([=] { call(i, arg); });
    if (n > 0)
        call(0, arg);
    group.wait();
}

// Whoever waits in here takes no branches of other forks.
static void execute_isolated(size_t n, ad_call_fn *call, void *arg, void *user)
{
    tbb::this_task_arena::isolate([=] { execute_for(n, call, arg, user); });
}

static const struct {
    const char *name;
    ad_execute_fn *execute;
} executor[] = {
    { "parallel_for", execute_for }, { "task_group", execute_group },
    { "isolated", execute_isolated }
};

/* --- a program ------------------------------------------------------------ */

enum { INPUTS = 5, OUTER = 16, INNER = 6 };

struct program {
    fork_fn *fork;
    ad_rev x[INPUTS];
    ad_rev part[OUTER];
};

struct inner {
    const program *p;
    ad_rev base;
    ad_rev part[INNER];
};

static void inner_branch(size_t i, void *ctx)
{
    inner *in = static_cast<inner *>(ctx);
    ad_rev y = in->base;
    for (size_t k = 0; k < 20 + 9 * i; k++)
        y = ad_rec(ad_sin(ad_add(y, ad_mul(in->p->x[k % INPUTS], 0.7))));
    in->part[i] = y;
}

static void outer_branch(size_t i, void *ctx)
{
    program *p = static_cast<program *>(ctx);
    ad_rev y = {};
    for (size_t k = 0; k < i * i; k++)
        y = ad_rec(ad_add(ad_mul(0.9, ad_sin(y)), ad_cos(p->x[k % INPUTS])));
    if (i % 3 == 1) {
        inner in = { p, i == 1 ? p->x[0] : y, {} };
        p->fork(INNER, inner_branch, &in);
        y = ad_rec(ad_mul(in.part[2], ad_add(y, ad_sum(INNER, in.part))));
    }
    p->part[i] = y;
}

static ad_rev run(program *p)
{
    ad_rev s = {};
    p->fork(OUTER, outer_branch, p);
    for (size_t i = 0; i < OUTER; i++)
        ad_acc(&s, ad_mul(p->part[i], p->part[(5 * i + 1) % OUTER]));
    p->fork(OUTER, outer_branch, p);
    return ad_rec(ad_add(s, ad_sum(OUTER, p->part)));
}

struct outcome {
    ad_status status = ADREV_ENOTAPE;
    ad_real y = 0;
    ad_real g[INPUTS] = {};
    std::vector<ad_job> job;
};

static std::vector<ad_job> jobs_of(const ad_tape *t)
{
    std::vector<ad_job> job(ad_tape_jobs(t, 0, nullptr));
    ad_tape_jobs(t, job.size(), job.data());
    return job;
}

// On a tape of its own, whatever is current.
static outcome run_new(fork_fn *fork)
{
    outcome out;
    program p = {};
    p.fork = fork;
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    for (int i = 0; i < INPUTS; i++)
        p.x[i] = ad_input(ad_real(0.3 * i - 0.8));
    ad_rev y = run(&p);
    out.y = y.v;
    out.status = ad_gradient(t, y, INPUTS, p.x, out.g);
    out.job = jobs_of(t);
    ad_use(before);
    ad_tape_free(t);
    return out;
}

static bool same_job(const ad_job &a, const ad_job &b)
{
    return a.branches == b.branches && a.fork == b.fork && a.join == b.join
        && a.values == b.values && a.statements == b.statements
        && a.operands == b.operands && a.imports == b.imports;
}

// What is not the same; empty: nothing.
static std::string other(const outcome &a, const outcome &b)
{
    if (a.status != ADREV_OK || b.status != ADREV_OK)
        return ad_message(a.status != ADREV_OK ? a.status : b.status);
    if (std::memcmp(&a.y, &b.y, sizeof a.y) != 0)
        return "another value";
    if (std::memcmp(a.g, b.g, sizeof a.g) != 0)
        return "another gradient";
    bool right = a.job.size() == b.job.size();
    for (size_t i = 0; right && i < a.job.size(); i++)
        right = same_job(a.job[i], b.job[i]);
    return right ? "" : "other jobs";
}

static outcome want;                    // by the library, on one thread

static void check_same(const outcome &got, const std::string &who, int line)
{
    std::string what = other(got, want);
    check(what.empty(), who + ": " + what, line);
}

#define CHECK_SAME(got, who) check_same((got), (who), __LINE__)

// Differences: the program without a recording.
static void test_reference()
{
    want = run_new(fork_library);
    CHECK(want.status == ADREV_OK);
    CHECK(want.job.size() == 1 + 2 * (OUTER + 1 + 5 * (INNER + 1)));
    if (sizeof(ad_real) == sizeof(float))
        return;
    for (int j = 0; j < INPUTS; j++) {
        const double h = 1e-5;
        double y[2];
        for (int side = 0; side < 2; side++) {
            program p = {};
            p.fork = fork_library;
            for (int i = 0; i < INPUTS; i++)
                p.x[i] = ad_rec(0.3 * i - 0.8 + (i == j) * (side - 0.5) * h);
            y[side] = double(run(&p).v);
        }
        double slope = (y[1] - y[0]) / h;
        CHECK(std::fabs(double(want.g[j]) - slope)
              <= 1e-6 * (1 + std::fabs(slope)));
    }
}

/* --- clients and executors ------------------------------------------------ */

static void test_clients()
{
    for (int threads : { 1, 2, 3, 8 })
        for (const auto &w : way)
            for (int repeat = 0; repeat < 3; repeat++) {
                tbb::task_arena arena(threads);
                outcome got = arena.execute([&] { return run_new(w.fork); });
                CHECK_SAME(got, w.name + (", " + std::to_string(threads))
                                + " threads");
            }
}

// The same, by this executor; null: by the library's own.
static outcome run_by(ad_execute_fn *execute, fork_fn *fork)
{
    ad_status status = ad_executor_use(execute, &calls);
    outcome out = run_new(fork);
    if (status == ADREV_OK)
        status = ad_executor_use(nullptr, nullptr);
    if (status != ADREV_OK)
        out.status = status;
    return out;
}

static void test_executors()
{
    for (int threads : { 1, 2, 3, 8 })
        for (const auto &e : executor)
            for (const auto &w : way) {
                tbb::task_arena arena(threads);
                calls = 0;
                outcome got = arena.execute([&] {
                    return run_by(e.execute, w.fork);
                });
                CHECK_SAME(got, std::string(e.name) + " under " + w.name + ", "
                                + std::to_string(threads) + " threads");
                CHECK(calls > 0);
            }
}

static void test_pool()
{
    for (unsigned threads = 1; threads <= 3; threads++) {
        ad_pool *pool = ad_pool_new(threads);
        CHECK(ad_pool_use(pool) == ADREV_OK);
        for (const auto &w : way)
            CHECK_SAME(run_new(w.fork), std::string("a pool under ") + w.name);
        ad_pool_free(pool);
    }
}

/* --- several host threads ------------------------------------------------- */

// Every run on a recording of its own; its branches go to all the threads.
static outcome run_as(int k)
{
    return run_by(k % 2 == 1 ? executor[k % 3].execute : nullptr,
                  way[k % 4].fork);
}

static void test_hosts()
{
    enum { HOSTS = 4, RUNS = 24 };
    std::vector<outcome> got(RUNS);
    std::vector<std::thread> host;
    for (int h = 0; h < HOSTS; h++)
        host.emplace_back([&got, h] {
            for (int k = h; k < RUNS; k += HOSTS)
                got[size_t(k)] = run_as(k);
        });
    for (auto &h : host)
        h.join();
    for (int k = 0; k < RUNS; k++)
        CHECK_SAME(got[size_t(k)], "of a thread, run " + std::to_string(k));

    // A thread that waits for its branches may begin another of these runs.
    got.assign(RUNS, outcome());
    tbb::parallel_for(0, int(RUNS), [&](int k) {
        got[size_t(k)] = run_new(way[k % 4].fork);
    }, tbb::simple_partitioner());
    for (int k = 0; k < RUNS; k++)
        CHECK_SAME(got[size_t(k)], "of a loop, run " + std::to_string(k));
}

/* --- exceptions ----------------------------------------------------------- */

// The loop is given up: branches that had not begun are never entered.
static void test_exception()
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x = ad_input(2);
    ad_rev part[OUTER] = {};
    bool caught = false;
    try {
        open_fork fork(OUTER);
        tbb::parallel_for(size_t(0), size_t(OUTER), [&](size_t i) {
            entered b(fork, i);
            part[i] = ad_rec(ad_mul(x, double(i)));
            if (i == 5)
                throw std::runtime_error("five");
        });
    } catch (const std::runtime_error &) {
        caught = true;
    }
    CHECK(caught);
    ad_real sum = 0;
    for (const ad_rev &p : part)
        sum += p.v;
    ad_real g = 0;
    CHECK(ad_gradient(t, ad_sum(OUTER, part), 1, &x, &g) == ADREV_OK);
    CHECK(g == sum / 2 && g >= 5);
    CHECK(ad_use(nullptr) == t);
    ad_tape_free(t);
}

/* --- the rest of the header, from C++ ------------------------------------- */

static ad_rev scope_x;
static ad_rev scope_y[3];

static void scope_branch(void *ctx)
{
    ad_rev *y = static_cast<ad_rev *>(ctx);
    *y = ad_rec(ad_sqr(ad_mul(scope_x, int(y - scope_y))));
}

static void append(const char *text, size_t length, void *user)
{
    static_cast<std::string *>(user)->append(text, length);
}

static void test_interface()
{
    ad_pool *pool = ad_pool_new_with(2, nullptr);
    ad_pool_free(pool);
    pool = ad_pool_new(2);
    CHECK(ad_pool_status(pool) == ADREV_OK && ad_pool_threads(pool) == 2);
    CHECK(ad_pool_use(pool) == ADREV_OK);
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_tape_measure(t, true);
    scope_x = ad_input(3);
    ADREV_PARALLEL(scope) {
        ADREV_FORK(scope, scope_branch, &scope_y[0]);
        ADREV_FORK(scope, scope_branch, &scope_y[1]);
    }
    ad_fork2(scope_branch, &scope_y[1], scope_branch, &scope_y[2]);
    ad_parallel_for(3, 1, [](size_t i, size_t end, void *) {
        for (; i < end; i++)
            scope_y[i] = ad_rec(ad_mul(scope_y[i], 2));
    }, nullptr);
    ad_rev y = ad_parallel_reduce(3, 1, [](size_t i, size_t end, void *) {
        ad_rev mine[3] = {};
        ad_capture(end - i, scope_y + i, mine);
        return ad_sum(end - i, mine);
    }, nullptr, nullptr);
    ad_real g = 0;
    CHECK(ad_gradient(t, y, 1, &scope_x, &g) == ADREV_OK);
    CHECK(g == 2 * 2 * 3 * (1 + 4));

    std::vector<ad_job> job = jobs_of(t);
    ad_parallelism p = ad_job_parallelism(job.size(), job.data());
    CHECK(p.forks == 4 && p.jobs == job.size() && p.tasks == 1 + 2 + 2 + 3 + 3);
    CHECK(p.parallelism >= 1 && p.primal_work >= p.primal_span);
    double primal = -1;
    double reverse = -1;
    CHECK(ad_job_predict(job.size(), job.data(), 2, &primal, &reverse)
          == ADREV_OK);
    CHECK(primal >= 0 && reverse >= 0);
    std::string dot;
    CHECK(ad_dump_jobs_dot(t, append, &dot) == ADREV_OK);
    CHECK(dot.compare(0, 7, "digraph") == 0);
    ad_tape_free(t);
    ad_pool_free(pool);
}

int main()
{
    // More threads than there may be processors.
    tbb::global_control most(tbb::global_control::max_allowed_parallelism, 8);
    test_reference();
    test_clients();
    test_executors();
    test_pool();
    test_hosts();
    test_exception();
    test_interface();
    std::printf("tbb: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
