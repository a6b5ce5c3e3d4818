// SPDX-License-Identifier: MIT-0
// tags: recorded threads
// flags: -pthread -DADREV_REPLAY_FROM=4
/* loop_more.c - calls and loops where something else takes part: forks within
 * them, rows of a Jacobian on several threads, context that f changes, results
 * over arguments, fixed memory, steps that cannot be replayed.               */

#define ADREV_TRACE 1
#define ADREV_IMPLEMENTATION
#include "adrev_parallel.h"

#include "adrev_function.h"

#include "adrev_loop.h"

#include "check.h"

#include <stdlib.h>

static ad_tape *tape;

static void expect(const char *what, ad_status got, ad_status want)
{
    CHECK(got == want, "%s: %s", what, ad_message(got));
}

/* --- forks within ----------------------------------------------------------- */

static ad_rev outside[3];
static ad_rev part[3];

static void branch(size_t i, void *ctx)
{
    const ad_rev *x = ctx;
    part[i] = ad_rec(ad_mul(ad_sin(x[0]), outside[i]));
}

static void forks(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_fork_n(3, branch, (void *)(uintptr_t)x);
    y[0] = ad_rec(ad_add(ad_add(part[0], part[1]), part[2]));
}

// What a branch takes from outside f is refused, not lost.
static void test_captured_in_branches(void)
{
    ad_tape_clear(tape);
    ad_rev x = ad_input(0.7), y = x;
    for (int i = 0; i < 3; i++)
        outside[i] = ad_input(i + 1.0);
    expect("captured by a branch", ad_checkpoint(forks, NULL, 1, &x, 1, &y),
           ADREV_EFOREIGN);
    ad_tape_clear(tape);
    x = ad_input(0.7);
    for (int i = 0; i < 3; i++)
        outside[i] = ad_input(i + 1.0);
    const ad_rows rows = { &x, 1, 0 };
    expect("by that of a map", ad_map(forks, NULL, 1, 1, &rows, 1, &y),
           ADREV_EFOREIGN);
}

/* --- rows side by side ---------------------------------------------------------- */

enum { N = 7, ROWS = 12 };

static void wander(ad_step *s, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < N; i++)
        s->next[0][i] = ad_rec(ad_mul(ad_sin(s->state[0][i]),
                                      s->parameter[i]));
}

static void call(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < N; i++)
        y[i] = ad_rec(ad_mul(x[i], x[(i + 1) % N]));
}

// The same with work for other threads in between.
enum { MAPPED = 1024, WIDE = 96 };

static void term(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_cos(x[1])));
}

static void one_sum(size_t i, void *ctx)
{
    ad_rev *z = ctx;
    z[WIDE + i] = ad_rec(ad_mul(z[i], ad_sin(z[i])));
}

static void call_others(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_real zero = 0;
    const ad_rows rows[] = { { x, 1, 0 }, { x + 1, 1, 0 } };
    ad_rev z[2 * WIDE], sum = ad_rec(0.0);
    (void)ctx;
    memcpy(z, x, WIDE * sizeof *z);
    ad_map_reduce(term, NULL, NULL, MAPPED, 2, rows, 1, &zero, &sum);
    ad_fork_n(WIDE, one_sum, z);
    for (size_t i = 0; i < WIDE; i++)
        y[i] = ad_rec(ad_add(z[WIDE + i], ad_mul(1e-4, sum)));
}

static void step_others(ad_step *s, void *ctx)
{
    call_others(s->state[0], s->next[0], ctx);
}

// A row that waits for others' work helps no row that waits for it.
static void test_rows_of_others(void)
{
    static ad_real J[2][WIDE * WIDE];
    ad_rev x[WIDE], last[WIDE];
    ad_tape_clear(tape);
    for (size_t i = 0; i < WIDE; i++)
        x[i] = ad_input(0.3 + 0.01 * (ad_real)i);
    const ad_scan_state state = { .size = WIDE, .initial = x, .last = last };
    const ad_scan_desc d = { .step = step_others, .steps = 2, .states = 1,
                             .state = &state };
    expect("scan", ad_scan(&d, NULL), ADREV_OK);
    expect("checkpoint",
           ad_checkpoint(call_others, NULL, WIDE, last, WIDE, last), ADREV_OK);
    expect("rows", ad_jacobian(tape, WIDE, last, WIDE, x, J[0]), ADREV_OK);
    for (unsigned threads = 2; threads <= 4; threads++) {
        ad_pool *pool = ad_pool_new(threads);
        expect("pool", ad_pool_use(pool), ADREV_OK);
        for (int k = 0; k < 3; k++) {
            memset(J[1], 0, sizeof J[1]);
            expect("rows that have others work",
                   ad_parallel_jacobian(tape, WIDE, last, WIDE, x, J[1]),
                   ADREV_OK);
            CHECK(memcmp(J[0], J[1], sizeof J[0]) == 0, "other bits");
        }
        expect("no pool", ad_pool_use(NULL), ADREV_OK);
        ad_pool_free(pool);
    }
}

static void test_rows(void)
{
    static ad_real at[2 * N], J[2][ROWS * 2 * N];
    ad_rev x[2 * N], last[N], y[ROWS];
    ad_tape_clear(tape);
    for (size_t i = 0; i < 2 * N; i++)
        at[i] = 0.3 + 0.1 * (ad_real)i;
    ad_inputs(2 * N, at, x);
    const ad_scan_state state = { .size = N, .initial = x, .last = last };
    const ad_scan_desc d = { .step = wander, .steps = 40, .states = 1,
                             .state = &state, .parameters = N,
                             .parameter = x + N,
                             .schedule = { ADREV_BINOMIAL, 4, NULL } };
    expect("scan", ad_scan(&d, NULL), ADREV_OK);
    expect("checkpoint", ad_checkpoint(call, NULL, N, last, N, last),
           ADREV_OK);
    for (size_t i = 0; i < ROWS; i++)
        y[i] = ad_rec(ad_mul(last[i % N], last[i / N]));
    expect("rows", ad_jacobian(tape, ROWS, y, 2 * N, x, J[0]), ADREV_OK);
    ad_pool *pool = ad_pool_new(4);
    expect("pool", ad_pool_use(pool), ADREV_OK);
    for (int k = 0; k < 20; k++) {
        memset(J[1], 0, sizeof J[1]);
        expect("rows on threads",
               ad_parallel_jacobian(tape, ROWS, y, 2 * N, x, J[1]), ADREV_OK);
        CHECK(memcmp(J[0], J[1], sizeof J[0]) == 0, "other bits");
    }
    expect("no pool", ad_pool_use(NULL), ADREV_OK);
    ad_pool_free(pool);
}

/* --- what f changes, where results lie ---------------------------------------- */

static void draw(const ad_rev *x, ad_rev *y, void *ctx)
{
    double *state = ctx;
    *state = *state * 3 + 1;
    y[0] = ad_rec(ad_mul(x[0], *state));
}

static void test_context(void)
{
    double state = 2;
    ad_tape_clear(tape);
    ad_rev x = ad_input(1.5), y;
    const ad_checkpoint_options o = { .context = sizeof state };
    expect("context", ad_checkpoint_with(&o, draw, &state, 1, &x, 1, &y),
           ADREV_OK);
    for (int sweep = 0; sweep < 3; sweep++) {
        ad_real g = 0;
        expect("sweep", ad_gradient(tape, y, 1, &x, &g), ADREV_OK);
        CHECK(g == 7 && y.v == (ad_real)10.5, "sweep %d: %g, %g", sweep,
              (double)g, (double)y.v);
    }
}

static void swap(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(x[0], x[1]));
    y[1] = ad_rec(ad_mul(x[0], x[1]));
}

static void swapped(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[2] = { x[0], x[1] };
    (void)ctx;
    CHECK(ad_checkpoint(swap, NULL, 2, z, 2, z) == ADREV_OK, "over itself");
    y[0] = ad_rec(ad_add(z[0], ad_mul(10, z[1])));
}

// z = (a + b, ab) over (a, b) = (2, 3): 65, with gradient (31, 21).
static void test_overlap(void)
{
    static const ad_real at[] = { 2, 3 };
    ad_fn *fn = NULL;
    ad_real y = 0, g[2] = { 0, 0 };
    ad_rev x[2], out;
    ad_tape_clear(tape);
    ad_inputs(2, at, x);
    swapped(x, &out, NULL);
    expect("on a tape", ad_gradient(tape, out, 2, x, g), ADREV_OK);
    CHECK(out.v == 65 && g[0] == 31 && g[1] == 21, "on a tape: %g %g",
          (double)g[0], (double)g[1]);
    expect("record", ad_fn_record(&fn, swapped, NULL, 2, at, 1), ADREV_OK);
    expect("recorded", ad_fn_gradient(fn, at, &y, g), ADREV_OK);
    CHECK(y == 65 && g[0] == 31 && g[1] == 21, "recorded: %g, %g %g",
          (double)y, (double)g[0], (double)g[1]);
    ad_fn_free(fn);
    ad_tape *before = ad_use(NULL);
    ad_rev z[2] = { { 2, 0, 0 }, { 3, 0, 0 } };
    swapped(z, &out, NULL);
    ad_use(before);
    CHECK(out.v == 65, "without a tape: %g", (double)out.v);
}

/* --- truncated loops ----------------------------------------------------------- */

static void power(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = ad_rec(ad_mul(s->state[0][0], s->parameter[0]));
    s->output[0][0] = s->next[0][0];
}

static void cut(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev row[4];
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    const ad_scan_output output = { 1, row };
    const ad_scan_desc d = { .step = power, .steps = 4, .states = 1,
                             .state = &state, .outputs = 1, .output = &output,
                             .parameters = 1, .parameter = x + 1,
                             .truncated = true, .reversed = 2 };
    (void)ctx;
    CHECK(ad_scan(&d, NULL) == ADREV_OK, "truncated");
}

// x p^4, of which the last two steps are differentiated: by p, 2 x p^3.
static void check_cut(const char *where, ad_real y, const ad_real g[2],
                      ad_real x, ad_real p)
{
    CHECK(y == x * p * p * p * p && g[0] == 0 && g[1] == 2 * x * p * p * p,
          "%s: %g, %g %g", where, (double)y, (double)g[0], (double)g[1]);
}

static void test_truncated(void)
{
    static const ad_real at[] = { 1, 2 }, other[] = { 1, 3 };
    static double memory[4000];
    ad_real y = 0, g[2] = { 0, 0 };
    ad_rev x[2], out;
    ad_fn *fn = NULL;
    expect("record", ad_fn_record(&fn, cut, NULL, 2, at, 1), ADREV_OK);
    expect("elsewhere", ad_fn_gradient(fn, other, &y, g), ADREV_OK);
    check_cut("elsewhere", y, g, 1, 3);
    ad_fn_free(fn);

    ad_tape *fixed = ad_tape_in(memory, sizeof memory);
    ad_tape *before = ad_use(fixed);
    ad_inputs(2, other, x);
    cut(x, &out, NULL);
    expect("fixed memory", ad_gradient(fixed, out, 2, x, g), ADREV_OK);
    check_cut("fixed memory", out.v, g, 1, 3);
    ad_use(before);
}

/* --- steps that are not replayed -------------------------------------------------- */

// Whatever fails while a step is tried as a function is no failure.
static void inner(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = ad_rec(ad_sin(s->state[0][0]));
}

static void nested(ad_step *s, void *ctx)
{
    const ad_scan_state state = { .size = 1, .initial = s->state[0],
                                  .last = s->next[0] };
    const ad_scan_desc d = { .step = inner, .steps = 8, .states = 1,
                             .state = &state };
    (void)ctx;
    s->status = ad_scan(&d, NULL);
}

static void test_nested(void)
{
    ad_tape_clear(tape);
    ad_rev x = ad_input(1.2), y;
    ad_scan_report report;
    ad_real g = 0;
    const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
    const ad_scan_desc d = { .step = nested, .steps = 70, .states = 1,
                             .state = &state };
    expect("nested", ad_scan(&d, &report), ADREV_OK);
    expect("nested", ad_gradient(tape, y, 1, &x, &g), ADREV_OK);
    CHECK(report.replayed == 0 && report.paths == 0, "a long loop in a step is "
          "not unrolled to be replayed");
    double want = 1, z = 1.2;
    for (int i = 0; i < 560; i++) {
        want *= cos(z);
        z = sin(z);
    }
    CHECK_NEAR(g, want, sizeof g == 8 ? 1e-12 : 1e-3);
}

// A step that reads a number past the recording: what was recorded does not
// hold elsewhere, and that is noticed.
static void past(ad_step *s, void *ctx)
{
    const ad_rev x = s->state[0][0];
    (void)ctx;
    s->next[0][0] = x.v < 1 ? ad_rec(ad_mul(x, s->parameter[0]))
                            : ad_rec(ad_add(x, ad_mul(0.01, ad_sin(x))));
}

static void test_past(void)
{
    ad_real g[2][2];
    for (int k = 0; k < 2; k++) {
        ad_tape_clear(tape);
        ad_rev x[2] = { ad_input(0.2), ad_input(1.1) }, y;
        const ad_scan_state state = { .size = 1, .initial = x, .last = &y };
        const ad_scan_desc d = { .step = past, .steps = 100, .states = 1,
                                 .state = &state, .parameters = 1,
                                 .parameter = x + 1, .unreplayed = k == 0 };
        expect("past", ad_scan(&d, NULL), ADREV_OK);
        expect("past", ad_gradient(tape, y, 2, x, g[k]), ADREV_OK);
    }
    for (int i = 0; i < 2; i++)
        CHECK_NEAR(g[1][i], g[0][i], 1e-5);
}

static void past_of(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[0].v < 0.5 ? ad_rec(ad_mul(x[0], 2)) : ad_rec(ad_mul(x[0], 3));
}

static void test_past_in_map(void)
{
    enum { MANY = 100 };
    ad_rev x[MANY], y[MANY];
    ad_real g[MANY];
    ad_tape_clear(tape);
    for (int i = 0; i < MANY; i++)
        x[i] = ad_input((ad_real)i / MANY);
    const ad_rows rows = { x, 1, 1 };
    expect("map", ad_map(past_of, NULL, MANY, 1, &rows, 1, y), ADREV_OK);
    expect("map", ad_gradient(tape, ad_sum(MANY, y), MANY, x, g), ADREV_OK);
    for (int i = 0; i < MANY; i++)
        CHECK(g[i] == (i < 50 ? 2 : 3) && y[i].v == x[i].v * g[i],
              "%d: %g, %g", i, (double)y[i].v, (double)g[i]);
}

// The same numbers in other places are another step.
static void first_of(ad_step *s, void *ctx)
{
    const bool *sequence = ctx;
    ad_rev by = *sequence ? s->sequence[0][0] : s->parameter[1];
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], s->parameter[0]),
                                  by));
}

static void test_shared_replays(void)
{
    ad_replays *shared = ad_replays_new(NULL);
    bool sequence = false;
    ad_real g[2][2];
    for (int k = 0; k < 4; k++) {
        ad_rev row[8], x[3], y;
        sequence = k % 2;
        ad_tape_clear(tape);
        for (int i = 0; i < 3; i++)
            x[i] = ad_input(0.5 + 0.1 * i);
        for (int i = 0; i < 8; i++)
            row[i] = x[2];
        const ad_scan_state state = { .size = 1, .initial = x, .last = &y };
        const ad_scan_sequence rows = { .size = 1, .rows = 8, .row = row };
        const ad_scan_desc d = {
            .step = first_of, .ctx = &sequence, .steps = 8, .states = 1,
            .state = &state, .sequences = sequence, .sequence = &rows,
            .parameters = sequence ? 1 : 2, .parameter = x + 1,
            .replays = shared
        };
        expect("shared", ad_scan(&d, NULL), ADREV_OK);
        expect("shared", ad_gradient(tape, y, 2, x + 1, g[k % 2]), ADREV_OK);
        CHECK(k == 0 || memcmp(g[0], g[1], sizeof g[0]) == 0, "%d: %g %g, "
              "%g %g", k, (double)g[0][0], (double)g[0][1], (double)g[1][0],
              (double)g[1][1]);
    }
    ad_tape_clear(tape);
    ad_replays_free(shared);
}

/* --- numbers -------------------------------------------------------------------- */

static void counted(ad_step *s, void *ctx)
{
    long double *wide = s->untraced;
    (void)ctx;
    *wide += 1;
    s->next[0][0] = ad_rec(ad_mul(s->state[0][0], (double)*wide));
}

static void test_untraced(void)
{
    ad_tape_clear(tape);
    long double wide = 0;
    ad_rev x = ad_input(2), y;
    ad_real g = 0;
    const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
    ad_scan_desc d = { .step = counted, .steps = 5, .states = 1,
                       .state = &state, .untraced = &wide,
                       .untraced_bytes = sizeof wide,
                       .schedule = { ADREV_BINOMIAL, 2, NULL } };
    expect("untraced", ad_scan(&d, NULL), ADREV_OK);
    expect("untraced", ad_gradient(tape, y, 1, &x, &g), ADREV_OK);
    CHECK(g == 120 && y.v == 240 && wide == 5, "%g %g", (double)g,
          (double)y.v);
    d.untraced_bytes = SIZE_MAX - 3;
    expect("too much", ad_scan(&d, NULL), ADREV_ESHAPE);
    ad_tape_clear(tape);
}

static void test_repeats(void)
{
    CHECK(ad_binomial_repeats(100000, 1) == 4999950000u, "one state");
    for (size_t s = 1; s < 5; s++)
        CHECK(ad_binomial_repeats(SIZE_MAX, s) > SIZE_MAX / 8
              || ad_binomial_repeats(SIZE_MAX, s)
                 >= ad_binomial_repeats((size_t)1 << 30, s), "%zu states", s);
    CHECK(ad_binomial_repeats(SIZE_MAX, 1) == SIZE_MAX, "saturates");
}

int main(void)
{
    tape = ad_tape_new();
    ad_use(tape);
    test_captured_in_branches();
    test_rows();
    test_rows_of_others();
    test_context();
    test_overlap();
    test_truncated();
    test_nested();
    test_past();
    test_past_in_map();
    test_shared_replays();
    test_untraced();
    test_repeats();
    ad_tape_free(tape);
    return check_done("loop_more");
}
