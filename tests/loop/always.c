// SPDX-License-Identifier: MIT-0
// tags: slow recorded
// flags: -DADREV_TRACE=1 -pthread
/* always.c - statements that are to be swept always, as those that send
 * messages, within checkpoints, loops and forks: each sweep comes to each of
 * them once, in the reverse of their order, whatever is constant and whatever
 * has no adjoint. Recorded functions and maps refuse them.                   */

#include <stdbool.h>
#include <stddef.h>

#include "implementation.h"
#include "adrev_parallel.h"
#include "adrev_function.h"
#include "adrev_loop.h"

#include "check.h"
#include "told.h"

#include <stdlib.h>
#include <string.h>

static ad_tape *tape;

/* --- a statement that is noticed ------------------------------------------ */

static _Thread_local char here;
static const char *alone;               // the one thread that may sweep,
static volatile bool others;            // and whether others have

static bool tell_back(const void *saved, size_t m, const ad_real dy[],
                      size_t n, ad_real dx[])
{
    for (volatile int i = 0; alone != NULL && i < 10000; i++)
        ;                               // so that others have time
    others |= alone != NULL && alone != &here;
    for (size_t i = 0; i < m && i < n; i++)
        dx[i] += 2 * dy[i];
    return tell(*(const char *)saved);
}

static bool tell_forward(const void *saved, size_t n, const ad_real dx[],
                         size_t m, ad_real dy[])
{
    for (size_t i = 0; i < m && i < n; i++)
        dy[i] = 2 * dx[i];
    return tell(*(const char *)saved);
}

static const ad_external_rule message = {
    .name = "message", .pullback = tell_back, .pushforward = tell_forward,
    .always = true
};

// Twice x.
static ad_rev post(char name, ad_rev x)
{
    const ad_real v = 2 * x.v;
    ad_rev y = { 0 };
    ad_external(&message, &name, 1, 1, &x, 1, &v, &y);
    return y;
}

static void post_nothing(char name)
{
    ad_external(&message, &name, 1, 0, NULL, 0, NULL, NULL);
}

/* --- checkpoints ---------------------------------------------------------- */

// y[0] = 4 x[0], with a message beside it that concerns nobody.
static void twice(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    post_nothing('p');
    y[0] = post('r', post('q', x[0]));
}

static void silent(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], 3));
}

static void only_message(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)x;
    (void)y;
    (void)ctx;
    post_nothing('s');
}

static void nested(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev c = { .v = 5 };
    ad_rev z;
    (void)ctx;
    ad_checkpoint(silent, NULL, 1, x, 1, y);
    ad_checkpoint(twice, NULL, 1, &c, 1, &z);
    ad_checkpoint(only_message, NULL, 0, NULL, 0, NULL);
}

static const ad_checkpoint_options keeps[] = {
    { .keep = ADREV_KEEP_INPUTS }, { .keep = ADREV_KEEP_ALL },
    { .keep = ADREV_KEEP_AUTOMATIC, .budget = 1 << 20 },
    { .keep = ADREV_KEEP_AUTOMATIC, .budget = 1 },
};

static void run_calls(const ad_checkpoint_options *o)
{
    const ad_rev c = { .v = 5 };
    ad_rev x = ad_input(3);
    ad_rev y, z, unused[2];
    ad_real g = 0;
    ad_checkpoint_with(o, silent, NULL, 1, &c, 1, &z);
    CHECK(z.job == 0, "a call with constants, and without messages");
    ad_checkpoint_with(o, twice, NULL, 1, &x, 1, &y);
    CHECK(y.v == 12, "got %g", (double)y.v);
    ad_checkpoint_with(o, twice, NULL, 1, &c, 1, &unused[0]);
    ad_checkpoint_with(o, nested, NULL, 1, &x, 1, &unused[1]);
    ad_checkpoint_with(o, only_message, NULL, 0, NULL, 0, NULL);
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK && g == 4, "got %g",
          (double)g);
    expect_told("ssrqprqprqp", "backwards");
    CHECK(ad_pushforward(tape, 1, &x, &(ad_real){ 1 }, 1, &y, &g) == ADREV_OK
              && g == 4, "got %g", (double)g);
    expect_told("pqrpqrpqrss", "forwards");
    z = ad_rec(ad_mul(x, x));
    CHECK(ad_gradient(tape, z, 1, &x, &g) == ADREV_OK && g == 6, "got %g",
          (double)g);
    expect_told("ssrqprqprqp", "without adjoints");
    ad_tape_clear(tape);
}

/* --- loops ---------------------------------------------------------------- */

enum { STEPS = 40, MANY = 100 };        // and so many that steps are replayed

// A letter for each step: the message comes only from these.
static void step(ad_step *s, void *ctx)
{
    const size_t i = ad_step_index(s);
    const bool *loud = ctx;
    s->next[0][0] = ad_rec(ad_mul(s->state[0][0], s->parameter[0]));
    if (*loud && i % 2 == 0)
        post_nothing((char)('a' + i / 2));
}

// The step is the same for a recording, so it could be replayed.
static size_t steps;

static void plain_step(ad_step *s, void *ctx)
{
    (void)ctx;
    steps++;
    s->next[0][0] = post('m', ad_rec(ad_mul(s->state[0][0], s->parameter[0])));
}

static const ad_schedule schedules[] = {
    { ADREV_STORE_ALL, 0, NULL }, { ADREV_EVERY, 6, NULL },
    { ADREV_BINOMIAL, 3, NULL },
};

static void run_scan(const ad_schedule *schedule)
{
    static const bool loud[] = { true, false };
    const ad_rev start = { .v = 1 };
    ad_rev x = ad_input(1);
    ad_rev y;
    ad_real g = 0;
    char want[STEPS + 1] = "";
    for (size_t i = 0; i < STEPS / 2; i++)
        want[i] = (char)('a' + STEPS / 2 - 1 - i);
    const ad_scan_state one = { .size = 1, .initial = &start, .last = &y };
    const ad_scan_state other = { .size = 1, .initial = &start };
    ad_scan_desc d = { .step = step, .ctx = (void *)(uintptr_t)&loud[0],
                       .steps = STEPS, .states = 1, .state = &one,
                       .parameters = 1, .parameter = &x,
                       .schedule = *schedule };
    CHECK(ad_scan(&d, NULL) == ADREV_OK, "scan");
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK && g == STEPS, "got %g",
          (double)g);
    expect_told(want, "backwards");
    ad_rev z = ad_rec(ad_mul(x, x));
    CHECK(ad_gradient(tape, z, 1, &x, &g) == ADREV_OK && g == 2, "got %g",
          (double)g);
    expect_told(want, "without adjoints");

    ad_tape_clear(tape);            // no results, and no numbers
    x = ad_input(1);
    d.state = &other;
    d.parameter = &start;
    CHECK(ad_scan(&d, NULL) == ADREV_OK, "scan without results");
    z = ad_rec(ad_mul(x, x));
    CHECK(ad_gradient(tape, z, 1, &x, &g) == ADREV_OK && g == 2, "got %g",
          (double)g);
    expect_told(want, "without results");
    d.ctx = (void *)(uintptr_t)&loud[1];
    size_t statements = ad_tape_stats(tape).statements;
    CHECK(ad_scan(&d, NULL) == ADREV_OK, "scan without messages");
    CHECK(ad_tape_stats(tape).statements == statements, "is a statement");
    d.state = &one;
    CHECK(ad_scan(&d, NULL) == ADREV_OK && y.job == 0, "is not a constant");
    ad_tape_clear(tape);
}

// No step with a message is replayed, though it does the same at each point, or
// run to find out whether it can be.
static void run_replays(void)
{
    ad_replays *replays = ad_replays_new(NULL);
    for (int round = 0; round < 3; round++) {
        ad_rev x = ad_input((ad_real)0.5);
        const ad_rev start = { .v = 1 };
        ad_rev y;
        ad_real g = 0;
        ad_scan_report report;
        const ad_scan_state state = { .size = 1, .initial = &start,
                                      .last = &y };
        const ad_scan_desc d = { .step = plain_step, .steps = MANY,
                                 .states = 1, .state = &state,
                                 .parameters = 1, .parameter = &x,
                                 .replays = replays };
        CHECK(ad_scan(&d, &report) == ADREV_OK, "scan");
        CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "gradient");
        CHECK(y.v == 1 && g == 2 * MANY, "got %g, %g", (double)y.v,
              (double)g);
        CHECK(report.replayed == 0, "%zu steps replayed", report.replayed);
        CHECK(steps == 2 * MANY, "%zu runs of the step", steps);
        steps = 0;
        CHECK(tells == MANY && strspn(told, "m") == MANY, "told %s", told);
        expect_told(told, "replays");
        ad_tape_clear(tape);
    }
    ad_replays_free(replays);
}

// Rows of a Jacobian through a loop: a sweep of several rows runs each step
// once more, with its messages in the order of a single row, each in all
// directions.
static void several(ad_step *s, void *ctx)
{
    const ad_rev *x = s->state[0];
    const ad_rev *outside = ctx;
    steps++;
    for (int i = 0; i < 3; i++)
        s->next[0][i] = post((char)('x' + i), ad_rec(ad_mul(
            ad_mul(x[i], 0.5), ad_mul(s->sequence[0][0], s->parameter[i]))));
    s->output[0][0] = ad_rec(ad_add(x[0], ad_mul(x[1], *outside)));
}

static void run_loop_rows(void)
{
    enum { SHORT = 5, INPUTS = 3 + 3 + SHORT + 1, ROWS = 3 + SHORT };
    ad_rev x[INPUTS], y[ROWS], z[2];
    ad_real v[INPUTS], J[ROWS * INPUTS], g[INPUTS];
    for (int i = 0; i < INPUTS; i++)
        v[i] = 1 + (ad_real)i / 8;
    ad_inputs(INPUTS, v, x);
    const ad_scan_state state = { .size = 3, .initial = x, .last = y };
    const ad_scan_sequence sequence = { .size = 1, .rows = SHORT, .row = x + 6 };
    const ad_scan_output output = { .size = 1, .row = y + 3 };
    const ad_scan_desc d = { .step = several, .ctx = x + 6 + SHORT,
                             .steps = SHORT, .states = 1,
                             .state = &state, .sequences = 1,
                             .sequence = &sequence, .outputs = 1,
                             .output = &output, .parameters = 3,
                             .parameter = x + 3,
                             .schedule = { ADREV_EVERY, 2, NULL } };
    CHECK(ad_scan(&d, NULL) == ADREV_OK, "scan");
    steps = 0;
    CHECK(ad_jacobian(tape, ROWS, y, INPUTS, x, J) == ADREV_OK, "Jacobian");
#ifdef ADX_LANES
    // steps 0, 2 and 4 are kept, 1 and 3 run again, and all five are recorded
    CHECK(steps == SHORT + 2, "%zu runs of the step", steps);
#endif
    expect_told(told, "rows");
    for (size_t i = 0; i < ROWS; i++) {
        CHECK(ad_gradient(tape, y[i], INPUTS, x, g) == ADREV_OK, "row");
        for (size_t j = 0; j < INPUTS; j++)
            CHECK_CLOSE(J[i * INPUTS + j], g[j], 2);
    }
    expect_told(told, "row by row");
    z[0] = ad_rec(ad_mul(x[0], x[1]));
    z[1] = ad_rec(ad_mul(x[0], 2));
    CHECK(ad_jacobian(tape, 2, z, INPUTS, x, J) == ADREV_OK, "Jacobian");
    CHECK(tells >= 2 * 3 * SHORT && tells % (3 * SHORT) == 0,
          "%zu messages without adjoints", tells);
    expect_told(told, "rows without adjoints");
    steps = 0;
}

/* --- forks ---------------------------------------------------------------- */

static void branch(size_t i, void *ctx)
{
    ad_rev *y = ctx;
    if (i == 1)
        post_nothing('b');
    else
        y[i] = ad_rec(ad_mul(y[i], 2));
}

// A call with a fork of which one branch has nothing but a message.
static void forked(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[3] = { x[0], x[0], x[0] };
    (void)ctx;
    ad_fork_n(3, branch, z);
    y[0] = z[2];
}

static void run_forks(void)
{
    const ad_rev c = { .v = 5 };
    ad_rev x = ad_input(3);
    ad_rev y;
    ad_real g = 0;
    forked(&x, &y, NULL);
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK && g == 2, "got %g",
          (double)g);
    expect_told("b", "a branch");
    ad_checkpoint(forked, NULL, 1, &c, 1, &y);
    CHECK(y.v == 10, "got %g", (double)y.v);
    y = ad_rec(ad_mul(x, x));
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK && g == 6, "got %g",
          (double)g);
    expect_told("bb", "a branch of a call");
}

// The rows of a Jacobian are swept in one order, however many threads there
// are.
static void run_rows(void)
{
    ad_rev x[32], y[32];
    ad_real J[32 * 32];
    char want[sizeof told] = "";
    ad_tape *own = ad_tape_new();       // without forks
    ad_use(own);
    for (size_t i = 0; i < 32; i++)
        x[i] = ad_input((ad_real)i);
    for (size_t i = 0; i < 32; i++)
        y[i] = post("ab"[i % 2], x[i]);
    CHECK(ad_jacobian(own, 32, y, 32, x, J) == ADREV_OK, "Jacobian");
    memcpy(want, told, sizeof want);
    expect_told(want, "rows");
    alone = &here;
    ad_pool *pool = ad_pool_new(3);
    ad_ignore(ad_pool_use(pool));
    CHECK(ad_parallel_jacobian(own, 32, y, 32, x, J) == ADREV_OK, "parallel");
    expect_told(want, "parallel rows");
    CHECK(!others, "another thread sweeps, too");
    alone = NULL;
    for (size_t i = 0; i < 32 * 32; i++)
        CHECK(J[i] == (i % 33 == 0 ? 2 : 0), "%zu: %g", i, (double)J[i]);
    ad_ignore(ad_pool_use(NULL));
    ad_pool_free(pool);
    ad_use(tape);
    ad_tape_free(own);
}

/* --- what cannot have them ------------------------------------------------ */

static void whole_scan(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    const ad_scan_desc d = { .step = plain_step, .steps = STEPS, .states = 1,
                             .state = &state, .parameters = 1, .parameter = x,
                             .whole = true };
    (void)ctx;
    ad_scan(&d, NULL);
}

static void within_call(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_checkpoint(twice, NULL, 1, x, 1, y);
}

static void run_refused(void)
{
    static ad_vector_fn *const f[] = { twice, nested, whole_scan, within_call };
    const ad_real at[1] = { 1 };
    for (size_t i = 0; i < sizeof f / sizeof f[0]; i++) {
        ad_fn *fn = NULL;
        CHECK(ad_fn_record(&fn, f[i], NULL, 1, at, 1) == ADREV_EHOOK,
              "function %zu", i);
        CHECK(strstr(ad_fn_reason(), "always") != NULL, "reason: %s",
              ad_fn_reason());
        ad_fn_free(fn);
        if (f[i] == whole_scan)
            continue;
        ad_rev x[4] = { { 0 } }, y[4];
        ad_inputs(4, (ad_real[]){ 1, 2, 3, 4 }, x);
        const ad_rows rows = { x, 1, 1 };
        CHECK(ad_map(f[i], NULL, 4, 1, &rows, 1, y) == ADREV_EHOOK, "map %zu",
              i);
        CHECK(strstr(ad_tape_reason(tape), "always") != NULL, "reason: %s",
              ad_tape_reason(tape));
        CHECK(y[0].v != y[0].v, "not a NaN");
        ad_tape_clear(tape);
    }
    expect_told("", "what is refused");
}

// Whatever such a call does, its results depend on all that it is given, and no
// message is sent to find that out.
static void run_connected(void)
{
    ad_rev x[2], y[1];
    ad_connection answer[2];
    ad_tape *own = ad_tape_new();       // forks are none of its business
    ad_use(own);
    ad_inputs(2, (ad_real[]){ 1, 2 }, x);
    ad_checkpoint(twice, NULL, 2, x, 1, y);
    CHECK(ad_connected(own, 1, y, 2, x, answer) == ADREV_OK, "connected");
    CHECK(answer[0] == ADREV_CONNECTED && answer[1] == ADREV_CONNECTED,
          "%d %d", (int)answer[0], (int)answer[1]);
    expect_told("", "connections");
    ad_use(tape);
    ad_tape_free(own);
}

int main(void)
{
    tape = ad_tape_new();
    if (tape == NULL)
        return EXIT_FAILURE;
    ad_use(tape);
    for (size_t i = 0; i < sizeof keeps / sizeof keeps[0]; i++)
        run_calls(&keeps[i]);
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++)
        run_scan(&schedules[i]);
    void (*const runs[])(void) = { run_replays, run_loop_rows, run_forks,
                                   run_rows, run_refused, run_connected };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        runs[i]();
        ad_tape_clear(tape);
    }
    ad_tape_free(tape);
    return check_done("always");
}
