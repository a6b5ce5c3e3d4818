// SPDX-License-Identifier: MIT-0
// tags: threads
// flags: -pthread
/* after_failed_forks.c - what goes on after a fork that went wrong, and what branches must
 * not do: the next recording is right, or the status says why not.          */

#include "implementation.h"
#include "adrev_parallel.h"
#include "check.h"

#include <string.h>

#define EPSILON (sizeof(ad_real) == sizeof(float) ? (long double)FLT_EPSILON \
                                                : (long double)DBL_EPSILON)

static ad_rev x;
static ad_rev out[4];
static ad_tape *tape;

static void good(size_t i, void *ctx)
{
    (void)ctx;
    out[i] = ad_rec(ad_mul(ad_sin(x), (double)i + 1));
}

static void racing(size_t i, void *ctx)
{
    (void)ctx;
    out[i] = ad_rec(ad_mul(i == 0 ? x : out[0], 2));
}

// d/dx of the sum of the branches of `good`, which is 3 sin x.
static void check_good(const char *when)
{
    ad_real g = 0;
    ad_fork_n(2, good, NULL);
    ad_rev y = ad_rec(ad_add(out[0], out[1]));
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "%s: %s", when,
          ad_message(ad_tape_status(tape)));
    CHECK_NEAR(g, 3 * cos(0.5), 4 * EPSILON);
}

static ad_rev race(const ad_rev *at, void *ctx)
{
    (void)ctx;
    x = at[0];
    ad_fork_n(2, racing, NULL);
    return out[1];
}

static ad_rev no_race(const ad_rev *at, void *ctx)
{
    (void)ctx;
    x = at[0];
    ad_fork_n(2, good, NULL);
    return ad_rec(ad_add(out[0], out[1]));
}

// Back to before a race, or in an ad_grad of its own.
static void test_after_race(void)
{
    const ad_real at = 0.5;
    ad_real g = 0;
    // one thread: else the branches race for out[]
    CHECK(ad_pool_use(NULL) == ADREV_OK, "no pool");
    x = ad_input(0.5);
    ad_mark mark = ad_tape_mark(tape);
    ad_fork_n(2, racing, NULL);
    CHECK(ad_tape_status(tape) == ADREV_ERACE, "a race");
    ad_rev old = out[0];
    CHECK(ad_tape_rewind(tape, mark) == ADREV_OK, "rewind");
    check_good("after a race");
    CHECK(ad_gradient(tape, old, 1, &x, &g) == ADREV_EFOREIGN, "old value");
    ad_rev y = ad_rec(ad_mul(old, 2));
    CHECK(y.job == 0 && ad_tape_status(tape) == ADREV_EFOREIGN, "its use");

    ad_tape_clear(tape);
    CHECK(ad_grad(race, NULL, 1, &at, NULL, &g) == ADREV_ERACE, "a race");
    CHECK(ad_grad(no_race, NULL, 1, &at, NULL, &g) == ADREV_OK, "no race");
    CHECK_NEAR(g, 3 * cos(0.5), 4 * EPSILON);
}

// A function may begin with ad_use(its tape): in a branch it must not record.
static void uses_root(size_t i, void *ctx)
{
    (void)ctx;
    ad_tape *before = ad_use(tape);
    out[i] = ad_rec(ad_mul(x, 2));
    ad_use(before);
}

static void marks_root(size_t i, void *ctx)
{
    good(i, NULL);
    if (i == 0)
        *(ad_mark *)ctx = ad_tape_mark(tape);
}

static void test_root_in_branch(void)
{
    ad_mark mark;
    // one thread: else they race for the tape
    CHECK(ad_pool_use(NULL) == ADREV_OK, "no pool");
    x = ad_input(0.5);
    ad_fork_n(2, uses_root, NULL);
    CHECK(ad_tape_status(tape) == ADREV_EBUSY, "recorded beside the fork");
    ad_tape_clear(tape);
    x = ad_input(0.5);
    ad_fork_n(2, marks_root, &mark);
    CHECK(ad_tape_rewind(tape, mark) == ADREV_EMARK, "a mark within a fork");
    check_good("after the mark");
}

// One branch entered in the middle of another by the same thread.
static void test_within(void)
{
    ad_fork f;
    ad_branch a;
    ad_branch b;
    ad_real g = 0;
    x = ad_input(0.5);
    ad_fork_open(&f, 2);
    ad_branch_enter(&a, &f, 0);
    ad_rev u = ad_rec(ad_mul(x, 3));
    ad_branch_enter(&b, &f, 1);
    ad_rev v = ad_rec(ad_mul(ad_sqr(x), 5));
    ad_branch_leave(&b);
    u = ad_rec(ad_mul(u, u));
    ad_branch_leave(&a);
    ad_fork_close(&f);
    ad_rev y = ad_rec(ad_add(u, v));
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "gradient");
    CHECK_NEAR(g, 2 * 9 * 0.5 + 10 * 0.5, 2 * EPSILON);
}

static void test_twice(void)
{
    ad_fork f;
    ad_branch b;
    x = ad_input(0.5);
    ad_fork_open(&f, 1);
    for (int i = 0; i < 2; i++) {
        ad_branch_enter(&b, &f, 0);
        out[i] = ad_rec(ad_mul(x, 3));
        ad_branch_leave(&b);
    }
    ad_fork_close(&f);
    CHECK(ad_tape_status(tape) == ADREV_ESHAPE, "a branch entered twice");
}

static bool twofold(const void *saved, size_t m, const ad_real dy[], size_t n,
                    ad_real dx[])
{
    (void)saved;
    for (size_t i = 0; i < (m < n ? m : n); i++)
        dx[i] += 2 * dy[i];
    return true;
}

static void one_way(size_t i, void *ctx)
{
    static const ad_external_rule rule = { .name = "twofold",
                                           .pullback = twofold };
    const ad_real value = 2 * x.v;
    (void)ctx;
    ad_external(&rule, NULL, 0, 1, &x, 1, &value, &out[i]);
}

// Columns are cheaper here, but a statement of a branch only goes back.
static void test_one_way(void)
{
    ad_rev y[20];
    ad_real J[20] = { 0 };
    x = ad_input(0.5);
    ad_fork_n(2, one_way, NULL);
    for (int i = 0; i < 20; i++)
        y[i] = ad_rec(ad_mul(out[i % 2], i + 1));
    CHECK(ad_jacobian(tape, 20, y, 1, &x, J) == ADREV_OK, "Jacobian");
    for (int i = 0; i < 20; i++)
        CHECK(J[i] == 2 * (i + 1), "row %d: %g", i, (double)J[i]);
}

static ad_rev inner(const ad_rev *at, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_mul(ad_mul(at[0], x), out[0]));
}

// Imports of an inner job are not counted when it is over.
static void test_counts(void)
{
    ad_job job[8];
    ad_real g = 0;
    const ad_real at = 2;
    x = ad_input(0.5);
    ad_fork_n(2, good, NULL);
    for (int i = 0; i < 3; i++)
        CHECK(ad_grad(inner, NULL, 1, &at, NULL, &g) == ADREV_OK, "inner");
    CHECK_NEAR(g, 0.5 * sin(0.5), 4 * EPSILON);
    CHECK(ad_tape_jobs(tape, 8, job) == 4, "jobs");
    CHECK(job[0].values == 1 && job[3].values == 0 && job[3].imports == 0,
          "%zu values, %zu and %zu imports", job[0].values, job[3].values,
          job[3].imports);
}

static ad_rev told(void *user, ad_rev foreign)
{
    ++*(int *)user;
    foreign.job = 0;
    return foreign;
}

static ad_rev alien;

static void use_alien(size_t i, void *ctx)
{
    (void)ctx;
    out[i] = ad_rec(ad_mul(x, alien));
}

// Branches ask the hook that is set now.
static void test_hook(void)
{
    ad_tape *other = ad_tape_new();
    int calls = 0;
    ad_hooks hooks = { .foreign = told, .user = &calls };
    CHECK(ad_pool_use(NULL) == ADREV_OK, "no pool");
    ad_use(other);
    alien = ad_input(3);
    ad_use(tape);
    x = ad_input(0.5);
    ad_tape_hooks(tape, &hooks);
    ad_fork_n(2, use_alien, NULL);
    CHECK(calls == 2 && ad_tape_status(tape) == ADREV_OK, "%d calls", calls);
    ad_tape_hooks(tape, NULL);
    ad_fork_n(2, use_alien, NULL);
    CHECK(calls == 2 && ad_tape_status(tape) == ADREV_EFOREIGN, "%d calls",
          calls);
    ad_tape_free(other);
}

static void test_serial(void)
{
    ad_explanation sum;
    ad_nonfinite found;
    x = ad_input(0.5);
    ad_fork_n(2, good, NULL);
    CHECK(ad_explain(tape, out[0], x, 0, NULL, &sum) == ADREV_EFOREIGN,
          "explained");
    CHECK(ad_find_nonfinite(tape, out[0], &found) == ADREV_EFOREIGN, "found");
    ad_tape_clear(tape);
    ad_tape_serial(tape, true);
    x = ad_input(0.5);
    ad_fork_n(2, good, NULL);
    CHECK(ad_explain(tape, out[1], x, 0, NULL, &sum) == ADREV_OK, "explain");
    CHECK_NEAR(sum.derivative, 2 * cos(0.5), 4 * EPSILON);
    CHECK(ad_find_nonfinite(tape, out[1], &found) == ADREV_OK, "find");
    CHECK(ad_tape_jobs(tape, 0, NULL) == 1, "one job");
}

int main(void)
{
    static void (*const tests[])(void) = {
        test_after_race, test_root_in_branch, test_within, test_twice,
        test_one_way, test_counts, test_hook, test_serial
    };
    for (unsigned threads = 0; threads < 4; threads++)
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
            ad_pool *pool = threads == 0 ? NULL : ad_pool_new(threads);
            CHECK(ad_pool_use(pool) == ADREV_OK, "%u threads", threads);
            tape = ad_tape_new();
            ad_use(tape);
            tests[i]();
            ad_use(tape);
            ad_tape_free(tape);
            CHECK(ad_pool_use(NULL) == ADREV_OK, "left");
            ad_pool_free(pool);
        }
    return check_done("after_failed_forks");
}
