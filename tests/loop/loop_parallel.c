// SPDX-License-Identifier: MIT-0
// tags: recorded threads
// flags: -pthread
/* loop_parallel.c - calls and loops in the branches of forks, on pools of
 * threads and without one: the same bits everywhere, and the numbers of the
 * same program without calls, loops and forks.                               */

#include <stdbool.h>
#include <stddef.h>

#include "implementation.h"
#include "adrev_parallel.h"
#include "adrev_loop.h"

#include "check.h"

#include <string.h>

enum { N = 24, STEPS = 40 };

static ad_rev x[N];
static ad_rev y[N];
static ad_rev shared;           // by every branch, from before the fork
static ad_status status[N];

static void body(const ad_rev *in, ad_rev *out, void *ctx)
{
    (void)ctx;
    out[0] = in[0];
    for (int i = 0; i < STEPS; i++)
        out[0] = ad_rec(ad_sin(ad_add(ad_mul(out[0], in[1]), shared)));
}

static void step(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = ad_rec(ad_sin(ad_add(ad_mul(s->state[0][0],
                                                s->parameter[0]), shared)));
}

static bool plainly;

static const ad_schedule schedules[] = {
    { ADREV_STORE_ALL, 0, NULL }, { ADREV_EVERY, 6, NULL },
    { ADREV_BINOMIAL, 3, NULL },
};

static const ad_checkpoint_options keeps[] = {
    { .keep = ADREV_KEEP_INPUTS }, { .keep = ADREV_KEEP_ALL },
    { .keep = ADREV_KEEP_AUTOMATIC, .budget = 1 << 20 },
};

static void branch(size_t i, void *ctx)
{
    const ad_rev in[2] = { x[i], x[(i + 1) % N] };
    const ad_scan_state state = { .size = 1, .initial = in, .last = &y[i] };
    (void)ctx;
    status[i] = ADREV_OK;
    if (plainly)
        body(in, &y[i], NULL);
    else if (i % 2)
        status[i] = ad_checkpoint_with(&keeps[i / 2 % 3], body, NULL, 2, in, 1,
                                       &y[i]);
    else
        status[i] = ad_scan(&(ad_scan_desc){ .step = step, .steps = STEPS,
                                             .states = 1, .state = &state,
                                             .parameters = 1,
                                             .parameter = in + 1,
                                             .schedule
                                                 = schedules[i / 2 % 3] },
                            NULL);
}

static void gradient(ad_real g[N + 2])
{
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    ad_rev in[N + 1];
    for (int i = 0; i <= N; i++)
        in[i] = ad_input((ad_real)(0.07 * i - 0.6));
    memcpy(x, in, sizeof x);
    shared = ad_rec(ad_mul(in[N], in[0]));
    if (plainly)
        for (size_t i = 0; i < N; i++)
            branch(i, NULL);
    else
        ad_fork_n(N, branch, NULL);
    for (int i = 0; i < N; i++)
        CHECK(status[i] == ADREV_OK, "branch %d: %s", i,
              ad_message(status[i]));
    ad_rev sum = ad_sum(N, y);
    g[N + 1] = sum.v;
    for (int again = 0; again < 2; again++) {
        ad_status s = ad_gradient(t, sum, N + 1, in, g);
        CHECK(s == ADREV_OK, "gradient: %s", ad_message(s));
    }
    ad_use(before);
    ad_tape_free(t);
}

/* --- forks within calls and steps ----------------------------------------- */

struct inside {
    ad_rev in[2];
    ad_rev out[4];
};

static void inside_branch(size_t i, void *ctx)
{
    struct inside *k = ctx;
    k->out[i] = k->in[0];
    for (size_t j = 0; j <= i; j++)
        k->out[i] = ad_rec(ad_mul(ad_sin(k->out[i]), k->in[1]));
}

static ad_rev forked(ad_rev a, ad_rev b)
{
    struct inside k = { .in = { a, b } };
    if (plainly)
        for (size_t i = 0; i < 4; i++)
            inside_branch(i, &k);
    else
        ad_fork_n(4, inside_branch, &k);
    return ad_sum(4, k.out);
}

static void forking_body(const ad_rev *in, ad_rev *out, void *ctx)
{
    (void)ctx;
    out[0] = forked(in[0], in[1]);
}

static void forking_step(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = forked(s->state[0][0], s->parameter[0]);
}

static void forking(ad_real g[3])
{
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    const ad_rev in[2] = { ad_input((ad_real)0.8), ad_input((ad_real)0.9) };
    ad_rev z[2] = { in[0], in[1] };
    const ad_scan_state state = { .size = 1, .initial = z, .last = z };
    ad_status s = ADREV_OK;
    if (plainly) {
        forking_body(z, z, NULL);
        for (int i = 0; i < 5; i++)
            z[0] = forked(z[0], z[1]);
    } else {
        s = ad_checkpoint(forking_body, NULL, 2, z, 1, z);
        CHECK(s == ADREV_OK, "a call that forks: %s", ad_message(s));
        s = ad_scan(&(ad_scan_desc){ .step = forking_step, .steps = 5,
                                     .states = 1, .state = &state,
                                     .parameters = 1, .parameter = z + 1,
                                     .schedule = { ADREV_BINOMIAL, 2, NULL }},
                    NULL);
        CHECK(s == ADREV_OK, "steps that fork: %s", ad_message(s));
    }
    g[2] = z[0].v;
    s = ad_gradient(t, z[0], 2, in, g);
    CHECK(s == ADREV_OK, "gradient: %s", ad_message(s));
    ad_use(before);
    ad_tape_free(t);
}

int main(void)
{
    ad_real fork_plain[3] = { 0 };
    ad_real fork_want[3] = { 0 };
    static const unsigned threads[] = { 1, 2, 3, 8 };
    ad_real plain[N + 2];
    ad_real want[N + 2];
    ad_real g[N + 2];
    plainly = true;
    gradient(plain);
    forking(fork_plain);
    plainly = false;
    gradient(want);
    forking(fork_want);
    for (int i = 0; i < 3; i++)
        CHECK(fabs(fork_want[i] - fork_plain[i])
                  <= 1e-13 * (1 + fabs(fork_plain[i])), "forks [%d]: %.17g, "
              "want %.17g", i, (double)fork_want[i], (double)fork_plain[i]);
    for (int i = 0; i < N + 2; i++)     // sums of 40 terms in another order
        CHECK(fabs(want[i] - plain[i]) <= 1e-13 * (1 + fabs(plain[i])),
              "[%d]: %.17g, want %.17g", i, (double)want[i],
              (double)plain[i]);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        ad_pool *pool = ad_pool_new(threads[i]);
        CHECK(pool != NULL && ad_pool_use(pool) == ADREV_OK, "no pool");
        for (int again = 0; again < 20; again++) {
            gradient(g);
            CHECK(memcmp(g, want, sizeof g) == 0, "%u threads: other bits",
                  threads[i]);
            forking(g);
            CHECK(memcmp(g, fork_want, sizeof fork_want) == 0, "%u threads, "
                  "forks: other bits", threads[i]);
        }
        CHECK(ad_pool_use(NULL) == ADREV_OK, "leaving the pool");
        ad_pool_free(pool);
    }
    return check_done("loop_parallel");
}
