// SPDX-License-Identifier: MIT-0
// tags: recorded
/* scan_again.c - scans made again and again with the same ad_replays: what the
 * first one recorded runs the steps of the next ones forwards, hands on what
 * going back needs, and in simple loops runs past the layers of others.
 *
 * The oracle is the loop in long double, with its derivatives carried along. */

#define ADREV_TRACE 1
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"

#include "adrev_loop.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

static ad_tape *tape;

// Of a bound for double, that for ad_real.
#define WITHIN(bound)   ((sizeof(ad_real) < 8 ? 0x1p29L : 1) * (bound))

// The same, unless it is too small for a float.
static void near(ad_real got, long double want, long double bound)
{
    if (sizeof(ad_real) == 8 || fabsl(want) > 1e-30L)
        CHECK_NEAR(got, want, WITHIN(bound));
}

/* --- a loop with everything that is handed on ------------------------------
 *
 *     x <- sin(x) a + exp(-y y) b + n/1000 c     if x > 0, n: the step's number
 *     x <- tanh(x + y) - a x - b                 if not
 *     y <- x y / (1 + c y y) + 0.1 x
 *
 * until y > stop. With an output for each step, x y, asked for or not; with the
 * rows of the state, of which x y is made outside; or with two sequences, u
 * read at two places and v from its end: then x is larger by (u y - u' v)/10,
 * where u is a cos(n), one step ahead of u', and v sin(n).                   */

enum { IN = 5 };                // x, y, a, b, c

typedef struct dual {           // a value and its derivatives
    long double v;
    long double d[IN];
} dual;

static dual number(long double v)
{
    return (dual){ .v = v };
}

// f(x), with f'(x).
static dual chain(dual x, long double v, long double slope)
{
    for (int i = 0; i < IN; i++)
        x.d[i] *= slope;
    x.v = v;
    return x;
}

static dual plus(dual x, dual y)
{
    for (int i = 0; i < IN; i++)
        x.d[i] += y.d[i];
    x.v += y.v;
    return x;
}

static dual times(dual x, dual y)
{
    dual r = number(x.v * y.v);
    for (int i = 0; i < IN; i++)
        r.d[i] = x.d[i] * y.v + x.v * y.d[i];
    return r;
}

static dual minus(dual x) { return chain(x, -x.v, -1); }

static double stop_at;          // of the loop that runs now

typedef enum extras { BARE, OUTPUTS, UNWANTED, ROWS, SEQUENCES } extras;

// The weighted sum of x, y and the outputs of the last `reversed` steps, before
// which x and y are constants.
static dual oracle(const double at[IN], size_t steps, size_t reversed,
                   extras with, size_t *ran)
{
    dual in[IN];
    dual sum = number(0);
    for (int i = 0; i < IN; i++) {
        in[i] = number((long double)(ad_real)at[i]);
        in[i].d[i] = 1;
    }
    dual x = in[0];
    dual y = in[1];
    *ran = 0;
    for (size_t n = 0; n < steps; n++) {
        if (n > 0 && n + reversed == steps)
            for (int i = 0; i < IN; i++)
                x.d[i] = y.d[i] = sum.d[i] = 0;
        dual ex = chain(times(y, y), expl(-y.v * y.v), -expl(-y.v * y.v));
        dual t = plus(x, y);
        t = chain(t, tanhl(t.v), 1 - tanhl(t.v) * tanhl(t.v));
        dual next = x.v > 0
            ? plus(plus(times(chain(x, sinl(x.v), cosl(x.v)), in[2]),
                        times(ex, in[3])),
                   times(number((long double)n / 1000), in[4]))
            : plus(plus(t, minus(times(in[2], x))), minus(in[3]));
        if (with == SEQUENCES) {
            dual u = times(number(0.1L * cosl((long double)n + 1)), in[2]);
            dual before = times(number(0.1L * cosl((long double)n)), in[2]);
            long double v = sinl((long double)n);
            next = plus(next, plus(times(u, y), times(before, number(-v))));
        }
        dual below = plus(number(1), times(in[4], times(y, y)));
        below = chain(below, 1 / below.v, -1 / (below.v * below.v));
        y = plus(times(times(x, y), below), times(number(0.1L), x));
        x = next;
        if (with == OUTPUTS || with == ROWS)
            sum = plus(sum, times(x, y));
        ++*ran;
        if (y.v > (long double)stop_at)
            break;
    }
    return plus(plus(sum, x), times(number(2), y));
}

// What ctx points to: replays are of a step and its ctx.
static extras which[] = { BARE, OUTPUTS, UNWANTED, ROWS, SEQUENCES };
static void *about(extras with) { return &which[with]; }

static void wander(ad_step *s, void *ctx)
{
    const ad_rev x = s->state[0][0], y = s->state[0][1];
    const ad_rev *p = s->parameter;
    const extras *with = ctx;
    if (ad_gt(x, 0))
        s->next[0][0] = ad_rec(ad_add(
            ad_add(ad_mul(ad_sin(x), p[0]),
                   ad_mul(ad_exp(ad_neg(ad_mul(y, y))), p[1])),
            ad_mul(ad_div(ad_step_number(s), 1000.0), p[2])));
    else
        s->next[0][0] = ad_rec(ad_sub(
            ad_sub(ad_tanh(ad_add(x, y)), ad_mul(p[0], x)), p[1]));
    if (*with == SEQUENCES)
        ad_acc(&s->next[0][0], ad_mul(0.1, ad_sub(
            ad_mul(s->sequence[0][1], y),
            ad_mul(s->sequence[0][0], s->sequence[1][0]))));
    s->next[0][1] = ad_rec(ad_add(
        ad_div(ad_mul(x, y), ad_add(1, ad_mul(p[2], ad_mul(y, y)))),
        ad_mul(0.1, x)));
    if (*with == OUTPUTS || *with == UNWANTED)
        s->output[0][0] = ad_rec(ad_mul(s->next[0][0], s->next[0][1]));
    s->stop = ad_gt(s->next[0][1], stop_at);
}

typedef struct run {
    const char *name;
    double at[IN];
    double stop;
    size_t steps;
    size_t reversed;            // 0: all
    extras with;
    bool compiled;
} run;

enum { LONGEST = 400 };

static void go(const run *r, ad_schedule schedule, ad_replays *replays,
               const char *when, ad_real g[IN])
{
    static ad_rev out[LONGEST], rows[LONGEST][2], u[LONGEST + 1], v[LONGEST];
    static const int taps[] = { -1, 0 };
    ad_rev in[IN], last[2];
    ad_scan_report report;
    size_t ran;
    stop_at = r->stop;
    ad_tape_clear(tape);
    for (int i = 0; i < IN; i++)
        in[i] = ad_input((ad_real)r->at[i]);
    for (size_t n = 0; r->with == SEQUENCES && n <= r->steps; n++) {
        u[n] = ad_rec(ad_mul(in[2], cos((double)n)));
        if (n < r->steps)
            v[r->steps - 1 - n] = ad_rec(sin((double)n));
    }
    const ad_scan_sequence sequences[] = {
        { .size = 1, .rows = r->steps + 1, .row = u, .taps = 2, .tap = taps },
        { .size = 1, .rows = r->steps, .row = v, .backward = true }
    };
    const ad_scan_state state = { .size = 2, .initial = in, .last = last,
                                  .rows = r->with == ROWS ? rows[0] : NULL };
    const ad_scan_output output = { .size = 1,
                                    .row = r->with == OUTPUTS ? out : NULL };
    const ad_scan_desc d = {
        .step = wander, .ctx = about(r->with), .steps = r->steps, .states = 1,
        .state = &state, .output = &output,
        .outputs = r->with == OUTPUTS || r->with == UNWANTED,
        .sequences = r->with == SEQUENCES ? 2 : 0, .sequence = sequences,
        .parameters = 3, .parameter = in + 2, .schedule = schedule,
        .compiled = r->compiled, .replays = replays,
        .truncated = r->reversed > 0, .reversed = r->reversed
    };
    ad_status s = ad_scan(&d, &report);
    ad_rev y = ad_rec(ad_add(last[0], ad_mul(2, last[1])));
    for (size_t i = 0; i < report.steps; i++)
        if (r->with == OUTPUTS)
            ad_acc(&y, out[i]);
        else if (r->with == ROWS)
            ad_acc(&y, ad_mul(rows[i][0], rows[i][1]));
    dual want = oracle(r->at, r->steps,
                       r->reversed > 0 ? r->reversed : r->steps, r->with, &ran);
    CHECK(s == ADREV_OK && report.steps == ran, "%s, %s: %s, %zu of %zu steps",
          r->name, when, ad_message(s), report.steps, ran);
    CHECK_NEAR(y.v, want.v, WITHIN(1e-12L));
    s = ad_gradient(tape, y, IN, in, g);
    CHECK(s == ADREV_OK, "%s, %s: %s", r->name, when, ad_message(s));
    long double largest = 1;
    for (int i = 0; i < IN; i++)
        largest = fmaxl(largest, fabsl(want.d[i]));
    for (int i = 0; i < IN; i++)
        CHECK(fabsl((long double)g[i] - want.d[i]) <= WITHIN(1e-11L) * largest,
              "%s, %s, kind %d, %zu: dy/d%d = %.17g, want %.17Lg", r->name,
              when, (int)schedule.kind, schedule.n, i, (double)g[i], want.d[i]);
    if (sizeof(ad_real) < 8)        // adjoints get lost: nothing goes back
        return;
    if (schedule.kind == ADREV_BINOMIAL && r->reversed == 0 && ran == r->steps)
        CHECK(report.evaluations
              == ran + 1 + ad_binomial_repeats(ran, schedule.n),
              "%s, %s: %zu evaluations", r->name, when, report.evaluations);
    if (schedule.kind == ADREV_STORE_ALL && r->reversed == 0)
        CHECK(report.evaluations == 2 * ran, "%s, %s: %zu evaluations",
              r->name, when, report.evaluations);
}

static const ad_schedule schedules[] = {
    { ADREV_STORE_ALL, 0, NULL }, { ADREV_EVERY, 1, NULL },
    { ADREV_EVERY, 7, NULL }, { ADREV_BINOMIAL, 3, NULL },
    { ADREV_BINOMIAL, 40, NULL }, { ADREV_BYTES, 300, NULL },
    { ADREV_STORE_ALL, 0, NULL }
};
enum { SCHEDULES = sizeof schedules / sizeof schedules[0] };

#define ONE_PATH { 0.3, 0.2, 0.9, 0.7, 0.2 }
#define BOTH_PATHS { -0.3, 0.1, 0.9, -0.6, 0.3 }        // by turns
#define ENDING { 0.1, 0.0, 0.9, 0.3, 2.0 }              // after 129 steps
#define BOTH_ENDING { -0.3, 0.1, 0.9, -0.6, 2.5 }       // after 295

static const run runs[] = {
    { "one path", ONE_PATH, 9, 300, 0, BARE, false },
    { "outputs", ONE_PATH, 9, 300, 0, OUTPUTS, false },
    { "unwanted", ONE_PATH, 9, 300, 0, UNWANTED, false },
    { "rows", ONE_PATH, 9, 300, 0, ROWS, false },
    { "both paths", BOTH_PATHS, 9, 200, 0, BARE, false },
    { "sequences", ONE_PATH, 9, 300, 0, SEQUENCES, false },
    { "sequences, paths", BOTH_PATHS, 9, 300, 0, SEQUENCES, false },
    { "sequences, cut off", ONE_PATH, 9, 300, 111, SEQUENCES, false },
    { "sequences, stops", ENDING, 0.6, 300, 0, SEQUENCES, false },
    { "cut off", ONE_PATH, 9, 300, 111, BARE, false },
    { "both cut off", BOTH_PATHS, 9, 300, 111, BARE, false },
    { "stops", ENDING, 0.6, 300, 0, BARE, false },
    { "both stop", BOTH_ENDING, 0.25, 300, 0, BARE, false },
    { "compiled", ONE_PATH, 9, 300, 0, BARE, true },
    { "compiled, outputs", ONE_PATH, 9, 300, 0, OUTPUTS, true },
    { "compiled, rows", ONE_PATH, 9, 300, 0, ROWS, true },
    { "compiled, sequences", ONE_PATH, 9, 300, 0, SEQUENCES, true },
    { "compiled, sequences, paths", BOTH_PATHS, 9, 300, 0, SEQUENCES, true },
    { "compiled, paths", BOTH_PATHS, 9, 200, 0, BARE, true },
    { "compiled, stops", ENDING, 0.6, 300, 0, BARE, true },
    { "compiled, both", BOTH_ENDING, 0.25, 300, 0, BARE, true }
};
enum { RUNS = sizeof runs / sizeof runs[0] };

// Once the functions are known, all schedules give the same bits.
static void test_schedules(void)
{
    for (size_t i = 0; i < RUNS; i++) {
        ad_replays *replays = ad_replays_new(NULL);
        ad_real first[IN], g[IN];
        for (int warm = 0; warm < 3; warm++)
            go(&runs[i], schedules[0], replays, "at first", first);
        for (size_t k = 0; k < SCHEDULES; k++) {
            go(&runs[i], schedules[k], replays, "again", g);
            CHECK(memcmp(g, first, sizeof g) == 0, "%s, kind %d, %zu: other "
                  "bits", runs[i].name, (int)schedules[k].kind,
                  schedules[k].n);
        }
        CHECK(replays->path[0].kept > 0, "%s: nothing is handed on",
              runs[i].name);
        ad_tape_clear(tape);
        ad_replays_free(replays);
    }
}

// Loops of one ad_replays that differ: in their numbers, so that steps take
// paths that nobody knows where memory still has what known ones handed on; and
// in their length.
static void test_others(void)
{
    for (int compiled = 0; compiled < 2; compiled++) {
        ad_replays *replays = ad_replays_new(NULL);
        ad_real g[IN];
        run r = { "others", ONE_PATH, 9, 300, 0, BARE, compiled };
        const run both = { "others", BOTH_PATHS, 9, 300, 0, BARE, compiled };
        go(&r, schedules[0], replays, "first", g);
        go(&r, schedules[0], replays, "known", g);
        for (int k = 0; k < 3; k++)
            go(&both, schedules[0], replays, "another path", g);
        static const size_t steps[] = { 300, 20, 400, 400, 300, 1, 2, 300 };
        for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
            r.steps = steps[k];
            go(&r, schedules[k % SCHEDULES], replays, "another length", g);
            go(&r, schedules[0], replays, "another length", g);
        }
        ad_tape_clear(tape);
        ad_replays_free(replays);
    }
}

// How many steps of 300 the functions are compared with: 0, 1, 2, 4, ... 256
// forwards, and as many backwards.
static void test_looks(void)
{
    ad_replays *replays = ad_replays_new(NULL);
    ad_real g[IN];
    for (int k = 0; k < 3; k++) {
        ad_rev in[IN], last[2];
        ad_scan_report report;
        const run r = { "looks", ONE_PATH, 9, 300, 0, BARE, false };
        go(&r, schedules[0], replays, "first", g);
        ad_tape_clear(tape);
        for (int i = 0; i < IN; i++)
            in[i] = ad_input((ad_real)r.at[i]);
        const ad_scan_state state = { .size = 2, .initial = in, .last = last };
        const ad_scan_desc d = {
            .step = wander, .ctx = about(BARE), .steps = 300, .states = 1,
            .state = &state, .parameters = 3, .parameter = in + 2,
            .replays = replays
        };
        CHECK(ad_scan(&d, &report) == ADREV_OK && report.checks == 10,
              "%zu checks forwards", report.checks);
        for (int again = 0; again < 2; again++) {
            ad_status s = ad_gradient(tape, last[0], IN, in, g);
            CHECK(s == ADREV_OK && report.checks == 20, "%zu checks in all",
                  report.checks);
        }
    }
    ad_tape_clear(tape);
    ad_replays_free(replays);
}

// Once it ends after some steps, once after the first: by a path that is known.
static void test_at_once(void)
{
    ad_replays *replays = ad_replays_new(NULL);
    ad_real g[IN];
    run r = { "at once", ENDING, 0.6, 300, 0, BARE, false };
    for (int k = 0; k < 3; k++)
        go(&r, schedules[0], replays, "later", g);
    r.at[0] = 3;
    r.at[1] = 0.5;
    go(&r, schedules[0], replays, "now", g);
    ad_tape_clear(tape);
    ad_replays_free(replays);
}

// Several scans of one ad_replays on one tape. The first one has room for what
// the path hands on that was known then, not for that of others.
static void test_alive(void)
{
    static const double at[2][IN] = { { -0.3, 0.1, 0.5, 0.5, 0.3 }, ONE_PATH };
    ad_replays *replays = ad_replays_new(NULL);
    ad_real g[IN];
    run r = { "alone", { -0.3, 0.1, 0.5, 0.5, 0.3 }, 9, 300, 0, BARE, false };
    for (int k = 0; k < 2; k++)
        go(&r, schedules[0], replays, "first", g);
    ad_tape_clear(tape);
    ad_rev in[3][IN], last[3][2];
    for (int k = 0; k < 3; k++) {
        double from = k == 0 ? 0.3 : at[k % 2][0];
        for (int i = 0; i < IN; i++)
            in[k][i] = ad_input((ad_real)(i == 0 ? from : at[k % 2][i]));
        const ad_scan_state state = { .size = 2, .initial = in[k],
                                      .last = last[k] };
        const ad_scan_desc d = {
            .step = wander, .ctx = about(BARE), .steps = 300, .states = 1,
            .state = &state, .parameters = 3, .parameter = in[k] + 2,
            .schedule = { ADREV_EVERY, 7, NULL }, .replays = replays
        };
        CHECK(ad_scan(&d, NULL) == ADREV_OK, "scan %d", k);
        if (k == 1)
            CHECK(ad_gradient(tape, last[k][0], IN, in[k], g) == ADREV_OK,
                  "another path");
    }
    CHECK(replays->paths == 2
          && replays->path[0].kept < replays->path[1].kept, "%zu paths",
          replays->paths);
    for (int i = 0; i < 6; i++) {       // all of them once, and once more
        int k = 2 - i % 3;
        size_t ran;
        ad_rev y = ad_rec(ad_add(last[k][0], ad_mul(2, last[k][1])));
        double from[IN];
        memcpy(from, at[k % 2], sizeof from);
        from[0] = k == 0 ? 0.3 : from[0];
        dual want = oracle(from, 300, 300, BARE, &ran);
        CHECK(ad_gradient(tape, y, IN, in[k], g) == ADREV_OK, "of %d", k);
        for (int j = 0; j < IN; j++)
            CHECK(fabsl((long double)g[j] - want.d[j]) <= WITHIN(1e-11L),
                  "%d: dy/d%d = %.17g, want %.17Lg", k, j, (double)g[j],
                  want.d[j]);
    }
    ad_tape_clear(tape);
    ad_replays_free(replays);
}

/* --- whose functions they are --------------------------------------------- */

static void grow(ad_step *s, void *ctx)
{
    const double *rate = ctx;
    s->next[0][0] = ad_rec(ad_mul(s->state[0][0], *rate));
}

// Functions of a step with another ctx are left as they are: a loop with the
// first ctx goes on with them.
static void test_owner(void)
{
    static double rate[2] = { 1.01, 0.99 };
    enum { GROWN = 100 };
    ad_replays *replays = ad_replays_new(NULL);
    for (int i = 0; i < 3; i++) {
        ad_tape_clear(tape);
        ad_rev x = ad_input(2), y;
        ad_real g = 0;
        ad_scan_report report;
        const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
        const ad_scan_desc d = { .step = grow, .ctx = &rate[i % 2],
                                 .steps = GROWN, .states = 1, .state = &state,
                                 .replays = replays };
        CHECK(ad_scan(&d, &report) == ADREV_OK, "scan %d", i);
        CHECK((report.replayed > 0) == (i == 2), "scan %d: %zu steps replayed",
              i, report.replayed);
        CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "sweep %d", i);
        near(g, powl((long double)rate[i % 2], GROWN), 1e-12L);
    }
    ad_tape_clear(tape);            // the last scan on it has the recordings
    ad_replays_free(replays);
}

/* --- steps that are not what was recorded --------------------------------- */

// Reads a number past the recording.
static void past(ad_step *s, void *ctx)
{
    const ad_rev x = s->state[0][0];
    (void)ctx;
    s->next[0][0] = ad_rec(ad_mul(ad_sin(x), 1 + x.v / 10));
}

// The same in a branch that numbers from 1 on take.
static void branches_past(ad_step *s, void *ctx)
{
    const ad_rev x = s->state[0][0];
    (void)ctx;
    s->next[0][0] = x.v < 1 ? ad_rec(ad_mul(0.99, ad_sin(x)))
                            : ad_rec(ad_add(0.5, ad_tanh(x)));
}

static void once_past(ad_step_fn *step, long double v, ad_schedule schedule,
                      bool compiled, ad_replays *replays, const char *when)
{
    bool branch = step == branches_past;
    ad_tape_clear(tape);
    ad_rev x = ad_input((ad_real)v), y;
    ad_real g;
    const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
    const ad_scan_desc d = {
        .step = step, .steps = 100, .states = 1, .state = &state,
        .compiled = compiled, .schedule = schedule, .replays = replays
    };
    long double dv = 1;
    v = (long double)x.v;
    for (int n = 0; n < 100; n++) {
        long double t = tanhl(v);
        dv *= !branch ? cosl(v) * (1 + 0.1L * v)
            : v < 1 ? 0.99L * cosl(v) : 1 - t * t;
        v = !branch ? sinl(v) * (1 + 0.1L * v)
          : v < 1 ? 0.99L * sinl(v) : 0.5L + t;
    }
    ad_status s = ad_scan(&d, NULL);
    CHECK(s == ADREV_OK, "%s: %s", when, ad_message(s));
    CHECK_NEAR(y.v, v, WITHIN(1e-12L));
    for (int sweep = 0; sweep < 2; sweep++) {
        s = ad_gradient(tape, y, 1, &x, &g);
        CHECK(s == ADREV_OK, "%s, kind %d: %s", when, (int)schedule.kind,
              ad_message(s));
        near(g, dv, 1e-11L);
    }
}

static void test_past(void)
{
    for (size_t k = 0; k < SCHEDULES; k++)
        for (int compiled = 0; compiled < 2; compiled++) {
            once_past(past, 0.7L, schedules[k], compiled, NULL, "alone");
            ad_replays *replays = ad_replays_new(NULL);
            for (int n = 0; n < 3; n++)
                once_past(past, 0.7L, schedules[k], compiled, replays, "past");
            ad_tape_clear(tape);
            ad_replays_free(replays);
            replays = ad_replays_new(NULL);
            for (int n = 0; n < 4; n++)
                once_past(branches_past, n < 2 ? 0.5L : 1.3L, schedules[k],
                          compiled, replays, "branches");
            ad_tape_clear(tape);
            ad_replays_free(replays);
        }
}

// Functions have run most steps forwards, and only the sweep finds that they
// are not what the steps do: values are out, so that it fails.
static bool turned;

static void turns(ad_step *s, void *ctx)
{
    const ad_rev x = s->state[0][0];
    (void)ctx;
    s->next[0][0] = ad_rec(ad_mul(ad_sin(x), turned ? 0.5 : 0.9));
}

static void test_turned(void)
{
    ad_replays *replays = ad_replays_new(NULL);
    for (int k = 0; k < 4; k++) {
        turned = k == 3;
        ad_tape_clear(tape);
        ad_rev x = ad_input((ad_real)0.7), y;
        ad_real g = 7;
        const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
        const ad_scan_desc d = { .step = turns, .steps = 100, .states = 1,
                                 .state = &state, .replays = replays };
        CHECK(ad_scan(&d, NULL) == ADREV_OK, "%d", k);
        turned = k >= 2;
        ad_status s = ad_gradient(tape, y, 1, &x, &g);
        CHECK(k == 2 ? s == ADREV_EEXTERNAL && g == 7 : s == ADREV_OK,
              "%d: %s", k, ad_message(s));
        CHECK(k < 3 || fabs((double)y.v) < 1e-29, "%g", (double)y.v);
    }
    ad_tape_clear(tape);
    ad_replays_free(replays);
}

/* --- zeros -----------------------------------------------------------------
 * b is multiplied by a state that is 0: its derivative is zero, and yet the
 * last state is connected with it, and not with c.                          */

static void fade(ad_step *s, void *ctx)
{
    const ad_rev x = s->state[0][0], zero = s->state[0][1];
    (void)ctx;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->parameter[0], x),
                                  ad_mul(s->parameter[1], zero)));
    s->next[0][1] = zero;
}

static void test_connected(void)
{
    ad_replays *replays = ad_replays_new(NULL);
    for (int k = 0; k < 3; k++) {
        ad_rev in[5], last[2];
        ad_real g[5];
        ad_connection found[5];
        ad_tape_clear(tape);
        for (int i = 0; i < 5; i++)
            in[i] = ad_input(i == 1 ? 0.0 : 0.5);
        const ad_scan_state state = { .size = 2, .initial = in, .last = last };
        const ad_scan_desc d = {
            .step = fade, .steps = 100, .states = 1, .state = &state,
            .parameters = 3, .parameter = in + 2, .replays = replays
        };
        ad_status s = ad_scan(&d, NULL);
        CHECK(s == ADREV_OK && ad_gradient(tape, last[0], 5, in, g) == s
              && g[0] != 0 && g[2] != 0 && g[3] == 0 && g[4] == 0, "%d: %s", k,
              ad_message(s));
        s = ad_connected(tape, 1, last, 5, in, found);
        CHECK(s == ADREV_OK, "%d: %s", k, ad_message(s));
        for (int i = 0; i < 5; i++)
            CHECK(found[i] == (i < 4 ? ADREV_CONNECTED : ADREV_DISCONNECTED),
                  "%d: %d", k, i);
    }
    ad_tape_clear(tape);
    ad_replays_free(replays);
}

/* --- infinities ------------------------------------------------------------
 * exp(x) overflows where it is not selected, and the slope of the root is
 * infinite at 0, and multiplied by zero. The derivatives are those of the tape,
 * where a zero absorbs.                                                      */

static const ad_real exp_ends = sizeof(ad_real) < 8 ? 85 : 700;

static void overflow(ad_step *s, void *ctx)
{
    const ad_rev x = s->state[0][0], y = s->state[0][1];
    const ad_rev above = ad_rec(ad_sub(x, exp_ends / 2));
    (void)ctx;
    s->next[0][0] = ad_rec(ad_add(x, s->parameter[0]));
    s->next[0][1] = ad_rec(ad_add(
        ad_add(y, ad_mul(s->parameter[1], ad_sqrt(ad_max(above, 0.0)))),
        ad_select(ad_lt(x, exp_ends), ad_exp(x), 1.0)));
}

static void overflow_rows(ad_replays *replays, bool compiled, ad_real *v,
                          ad_real g[4])
{
    ad_rev in[4], last[2];
    ad_tape_clear(tape);
    for (int i = 0; i < 4; i++)
        in[i] = ad_input(i < 2 ? (ad_real)0.5 : i < 3 ? exp_ends / 78 : 0);
    const ad_scan_state state = { .size = 2, .initial = in, .last = last };
    const ad_scan_desc d = {
        .step = overflow, .steps = 100, .states = 1, .state = &state,
        .parameters = 2, .parameter = in + 2, .compiled = compiled,
        .replays = replays, .unreplayed = replays == NULL
    };
    ad_status s = ad_scan(&d, NULL);
    CHECK(s == ADREV_OK, "overflow: %s", ad_message(s));
    ad_rev y = ad_rec(ad_add(last[0], last[1]));
    *v = y.v;
    s = ad_gradient(tape, y, 4, in, g);
    CHECK(s == ADREV_OK, "overflow: %s", ad_message(s));
}

static void test_overflow(void)
{
    ad_real v, g[4], want_v, want[4];
    overflow_rows(NULL, false, &want_v, want);
    for (int compiled = 0; compiled < 2; compiled++) {
        ad_replays *replays = ad_replays_new(NULL);
        for (int k = 0; k < 4; k++) {
            overflow_rows(replays, compiled, &v, g);
            CHECK_CLOSE(v, want_v, 0);
            CHECK(isfinite(v), "%g", (double)v);
            for (int i = 0; i < 4; i++)
                CHECK_CLOSE(g[i], want[i], 4);
        }
        ad_tape_clear(tape);
        ad_replays_free(replays);
    }
}

/* --- steps through one number ----------------------------------------------
 * All that a step of the first loop computes goes through the new x, so that
 * its slope is accumulated apart from the adjoint of x. In the second one
 * something goes past it, by an array statement.
 *
 *     x <- sin(x) a + exp(-x x) b + c
 *     s <- s + x, or s/2 + (x a) b + x c with the old x and the new one
 *
 * In the third one two numbers are results of one array statement; in the last
 * one the slope of a root is infinite, times zero, and nothing comes of it.
 *
 *     x <- (sin(x a) + sin(s a)) b/2        s <- (x a) (s a) + c
 *     x <- sin(sqrt(relu(x - 9)) exp(a)) + sin(x) c + b        s <- s + x    */

static ad_rev wandered(const ad_step *s)
{
    const ad_rev x = s->state[0][0];
    const ad_rev *p = s->parameter;
    return ad_rec(ad_add(
        ad_add(ad_mul(ad_sin(x), p[0]),
               ad_mul(ad_exp(ad_mul(ad_neg(x), x)), p[1])), p[2]));
}

static void narrow(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = wandered(s);
    s->next[0][1] = ad_rec(ad_add(s->state[0][1], s->next[0][0]));
}

static void passed(ad_step *s, void *ctx)
{
    ad_rev both[2];
    (void)ctx;
    both[0] = ad_rec(ad_mul(s->state[0][0], s->parameter[0]));
    both[1] = s->next[0][0] = wandered(s);
    s->next[0][1] = ad_rec(ad_add(ad_mul(0.5, s->state[0][1]),
                                  ad_dot(2, both, s->parameter + 1)));
}

static void scaled(ad_step *s, void *ctx)
{
    const ad_rev *x = s->state[0];
    ad_rev y[2];
    (void)ctx;
    ad_scale(2, s->parameter[0], x, y);
    const ad_rev both = ad_rec(ad_add(ad_sin(y[0]), ad_sin(y[1])));
    s->next[0][0] = ad_rec(ad_mul(ad_mul(both, 0.5), s->parameter[1]));
    s->next[0][1] = ad_rec(ad_add(ad_mul(y[0], y[1]), s->parameter[2]));
}

static void rooted(ad_step *s, void *ctx)
{
    const ad_rev x = s->state[0][0];
    const ad_rev *p = s->parameter;
    (void)ctx;
    s->next[0][0] = ad_rec(ad_add(
        ad_sin(ad_mul(ad_sqrt(ad_relu(ad_sub(x, 9.0))), ad_exp(p[0]))),
        ad_add(ad_mul(ad_sin(x), p[2]), p[1])));
    s->next[0][1] = ad_rec(ad_add(s->state[0][1], s->next[0][0]));
}

static const struct narrow_loop {
    const char *name;
    ad_step_fn *step;
} narrow_loops[] = {
    { "through one number", narrow }, { "past it", passed },
    { "two of an array", scaled }, { "roots of zero", rooted },
};
enum { NARROW_LOOPS = sizeof narrow_loops / sizeof narrow_loops[0] };

enum { NARROW_STEPS = 100 };
static const double narrow_at[IN] = { 0.3, 0.1, 0.9, 0.7, 0.2 };

static void narrow_step(ad_step_fn *step, const dual in[IN], dual *x, dual *sum)
{
    const dual before = *x;
    const dual square = times(before, before);
    const dual sine = chain(before, sinl(before.v), cosl(before.v));
    if (step == scaled) {
        const dual y = times(before, in[2]);
        const dual z = times(*sum, in[2]);
        *x = times(plus(chain(y, sinl(y.v), cosl(y.v)),
                        chain(z, sinl(z.v), cosl(z.v))),
                   times(number(0.5L), in[3]));
        *sum = plus(times(y, z), in[4]);
    } else if (step == rooted) {
        *x = plus(times(sine, in[4]), in[3]);
        *sum = plus(*sum, *x);
    } else {
        const dual e = chain(square, expl(-square.v), -expl(-square.v));
        *x = plus(plus(times(sine, in[2]), times(e, in[3])), in[4]);
        *sum = step == narrow ? plus(*sum, *x)
             : plus(times(number(0.5L), *sum),
                    plus(times(times(before, in[2]), in[3]),
                         times(*x, in[4])));
    }
}

static dual narrow_oracle(ad_step_fn *step)
{
    dual in[IN];
    for (int i = 0; i < IN; i++) {
        in[i] = number((long double)(ad_real)narrow_at[i]);
        in[i].d[i] = 1;
    }
    dual x = in[0];
    dual sum = in[1];
    for (int n = 0; n < NARROW_STEPS; n++)
        narrow_step(step, in, &x, &sum);
    return plus(x, sum);
}

static void go_narrow(const struct narrow_loop *l, bool compiled,
                      ad_schedule schedule, ad_replays *replays, ad_real g[IN])
{
    ad_rev in[IN], last[2];
    ad_tape_clear(tape);
    for (int i = 0; i < IN; i++)
        in[i] = ad_input((ad_real)narrow_at[i]);
    const ad_scan_state state = { .size = 2, .initial = in, .last = last };
    const ad_scan_desc d = {
        .step = l->step, .steps = NARROW_STEPS, .states = 1, .state = &state,
        .parameters = 3, .parameter = in + 2, .schedule = schedule,
        .compiled = compiled, .replays = replays
    };
    ad_status s = ad_scan(&d, NULL);
    CHECK(s == ADREV_OK, "%s: %s", l->name, ad_message(s));
    ad_rev y = ad_rec(ad_add(last[0], last[1]));
    s = ad_gradient(tape, y, IN, in, g);
    CHECK(s == ADREV_OK, "%s: %s", l->name, ad_message(s));
    const dual want = narrow_oracle(l->step);
    near(y.v, want.v, 1e-12L);
    for (int i = 0; i < IN; i++)
        near(g[i], want.d[i], 1e-11L);
}

static void test_narrow(void)
{
    for (int i = 0; i < 2 * NARROW_LOOPS; i++) {
        const struct narrow_loop *l = &narrow_loops[i % NARROW_LOOPS];
        const bool compiled = i >= NARROW_LOOPS;
        ad_replays *replays = ad_replays_new(NULL);
        ad_real first[IN], g[IN];
        for (int warm = 0; warm < 3; warm++)
            go_narrow(l, compiled, schedules[0], replays, first);
        for (size_t k = 0; k < SCHEDULES; k++) {
            go_narrow(l, compiled, schedules[k], replays, g);
            CHECK(memcmp(g, first, sizeof g) == 0, "%s, compiled %d, schedule "
                  "%zu: other bits", l->name, compiled, k);
        }
        ad_tape_clear(tape);
        ad_replays_free(replays);
    }
}

/* --- memory -------------------------------------------------------------- */

static long live, allocations, failing;

static void *starve(size_t bytes, void *user)
{
    (void)user;
    if (++allocations == failing)
        return NULL;
    void *p = malloc(bytes);
    live += p != NULL;
    return p;
}

static void give_back(void *p, void *user)
{
    (void)user;
    live -= p != NULL;
    free(p);
}

// Every n-th allocation fails, of the second scan: either it fails, or its
// answers are right; nothing is lost.
static void test_starved(void)
{
    const ad_allocator a = { starve, give_back, NULL };
    const run r = { "starved", BOTH_PATHS, 9, 200, 0, BARE, false };
    for (long n = 1, done = 0; !done; n++) {
        ad_rev in[IN], last[2];
        size_t ran;
        failing = 0;
        stop_at = 9;
        ad_tape *t = ad_tape_new_with(&a);
        ad_replays *replays = ad_replays_new(&a);
        CHECK(t != NULL && replays != NULL, "nothing fails yet");
        ad_use(t);
        for (int k = 0; k < 2; k++) {
            ad_tape_clear(t);
            for (int i = 0; i < IN; i++)
                in[i] = ad_input((ad_real)r.at[i]);
            const ad_scan_state state = { .size = 2, .initial = in,
                                          .last = last };
            const ad_scan_desc d = {
                .step = wander, .ctx = about(BARE), .steps = r.steps,
                .states = 1, .state = &state, .parameters = 3,
                .parameter = in + 2, .replays = replays
            };
            allocations = 0;
            failing = k == 0 ? 0 : n;
            ad_status s = ad_scan(&d, NULL);
            ad_real g[IN];
            ad_rev y = ad_rec(ad_add(last[0], ad_mul(2, last[1])));
            if (s == ADREV_OK)
                s = ad_gradient(t, y, IN, in, g);
            done = allocations < failing;
            CHECK(s == ADREV_OK || (!done && k == 1), "%ld: %s", n,
                  ad_message(s));
            dual want = oracle(r.at, r.steps, r.steps, BARE, &ran);
            for (int i = 0; s == ADREV_OK && i < IN; i++)
                near(g[i], want.d[i], 1e-10L);
        }
        failing = 0;
        ad_tape_free(t);
        ad_replays_free(replays);
        ad_use(tape);
        CHECK(live == 0, "%ld: %ld blocks are left", n, live);
        live = 0;
    }
}

/* --- going back several steps at a time ------------------------------------
 * The same gradient as of the loop on a tape: where the path changes in
 * between, also if nothing was handed on that would tell it; where a slope is
 * infinite; where the step's number matters; however many steps are left.    */

typedef void several_fn(const ad_rev x[], const ad_rev p[], ad_rev number,
                        ad_rev next[]);

static void on_two_paths(const ad_rev x[], const ad_rev p[], ad_rev number,
                         ad_rev next[])
{
    (void)number;
    const ad_rev ax = ad_rec(ad_mul(x[0], p[0]));
    next[0] = ad_gt(x[0], 2)
        ? ad_rec(ad_sub(ad_sin(ax), p[1]))
        : ad_rec(ad_add(x[0], ad_mul(p[1], ad_exp(ad_neg(ax)))));
    next[1] = ad_rec(ad_add(x[1], ad_mul(x[0], x[0])));
}

static void on_two_short_paths(const ad_rev x[], const ad_rev p[],
                               ad_rev number, ad_rev next[])
{
    (void)number;
    next[0] = ad_gt(x[0], 2) ? ad_rec(ad_sub(ad_mul(x[0], p[0]), 3))
                             : ad_rec(ad_add(x[0], ad_mul(p[1], x[0])));
    next[1] = ad_rec(ad_add(x[1], ad_mul(x[0], x[0])));
}

// x comes to 0, where the root is infinitely steep and |x| flat.
static void past_a_tip(const ad_rev x[], const ad_rev p[], ad_rev number,
                       ad_rev next[])
{
    const ad_rev size = ad_rec(ad_abs(x[0]));
    (void)number;
    next[0] = ad_rec(ad_sub(x[0], 0.5));
    next[1] = ad_rec(ad_add(x[1], ad_mul(p[0], ad_sqrt(size))));
}

static void by_number(const ad_rev x[], const ad_rev p[], ad_rev number,
                      ad_rev next[])
{
    next[0] = ad_rec(ad_sub(ad_mul(x[0], p[0]), ad_mul(p[1], number)));
    next[1] = ad_rec(ad_add(x[1], ad_mul(x[0], x[0])));
}

static const struct several {
    const char *name;
    several_fn *f;
} several[] = {
    { "two paths", on_two_paths }, { "short paths", on_two_short_paths },
    { "a tip", past_a_tip }, { "by number", by_number }
};

static void several_step(ad_step *s, void *ctx)
{
    const struct several *c = ctx;
    const ad_rev x[] = { s->state[0][0], s->state[1][0] };
    ad_rev next[2];
    c->f(x, s->parameter, ad_step_number(s), next);
    s->next[0][0] = next[0];
    s->next[1][0] = next[1];
}

// Of the sum of the last state. r NULL: the loop itself is recorded.
static void several_gradient(const struct several *c, size_t steps,
                             ad_replays *r, ad_real g[4])
{
    const double at[] = { 1.5, 0, 0.75, 0.625 };
    ad_rev in[4];
    ad_rev x[2];
    ad_tape_clear(tape);
    for (int i = 0; i < 4; i++)
        in[i] = ad_input((ad_real)at[i]);
    memcpy(x, in, sizeof x);
    if (r != NULL) {
        ad_scan_state state[] = { { .size = 1, .initial = in, .last = x },
                                  { .size = 1, .initial = in + 1,
                                    .last = x + 1 } };
        const ad_scan_desc d = {
            .step = several_step, .ctx = (void *)c, .steps = steps,
            .states = 2, .state = state, .parameters = 2, .parameter = in + 2,
            .replays = r
        };
        CHECK(ad_scan(&d, NULL) == ADREV_OK, "%s: %zu steps", c->name, steps);
    }
    for (size_t s = 0; r == NULL && s < steps; s++) {
        ad_rev next[2];
        c->f(x, in + 2, ad_rec((ad_real)s), next);
        memcpy(x, next, sizeof x);
    }
    ad_rev y = ad_rec(ad_add(x[0], x[1]));
    CHECK(ad_gradient(tape, y, 4, in, g) == ADREV_OK && isfinite(g[0]),
          "%s: %zu steps", c->name, steps);
}

static void test_several(void)
{
    const size_t most = sizeof(ad_real) < 8 ? 80 : 150;
    for (size_t i = 0; i < sizeof several / sizeof *several; i++)
        for (size_t steps = 1; steps < most; steps += steps < 80 ? 1 : 7) {
            ad_replays *r = ad_replays_new(NULL);
            ad_real want[4];
            ad_real g[4];
            several_gradient(&several[i], steps, NULL, want);
            for (int again = 0; again < 3; again++) {
                several_gradient(&several[i], steps, r, g);
                for (int j = 0; j < 4; j++)
                    CHECK_NEAR(g[j], want[j], WITHIN(1e-13L));
            }
            ad_tape_clear(tape);
            ad_replays_free(r);
        }
}

int main(void)
{
    tape = ad_tape_new();
    ad_use(tape);
    test_schedules();
    test_others();
    test_looks();
    test_at_once();
    test_alive();
    test_owner();
    test_past();
    test_turned();
    test_connected();
    test_overflow();
    test_narrow();
    test_starved();
    test_several();
    ad_tape_free(tape);
    return check_done("scan_again");
}
