// SPDX-License-Identifier: MIT-0
// tags:
/* loop_errors.c - loops and calls that fail: a status, no results, nothing
 * leaked, and a tape that works again.
 *
 * Shapes that cannot be, steps that leave a result out or say that they failed,
 * numbers of other recordings, the n-th allocation, put or get that fails, for
 * every n, while recording and while sweeping; fixed memory of every size;
 * steps that take the tape away, or do something else when they run again.
 *
 * A body that changes its number of states cannot be written: the numbers are
 * those of the description.                                                  */

#include "implementation.h"
#ifdef LOOP_ERRORS_REPLAYED
#include "adrev_function.h"
#endif
#include "adrev_loop.h"

#include "check.h"
#include "scan_store.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 77

// Steps with carried data, or with numbers by ctx, are not replayed.
#ifdef LOOP_ERRORS_REPLAYED
#define BESIDE 0
#else
#define BESIDE 1
#endif

enum { STEPS = 12 };

static ad_tape *tape;

/* --- a loop that uses everything ------------------------------------------ */

// Two states, one of two numbers and one with two taps; a sequence with three
// taps, an output, parameters, carried data, a number by ctx.
struct loop {
    ad_rev in[3];               // initial
    ad_rev par[2];
    ad_rev seq[STEPS + 2];
    ad_rev by_ctx;
    ad_rev last[2];
    ad_rev last_of_taps[2];
    ad_rev rows[2 * STEPS];
    ad_rev out[STEPS];
    int carried;
    ad_scan_state state[2];
    ad_scan_sequence sequence[1];
    ad_scan_output output[1];
    ad_scan_desc d;
    ad_scan_report report;
};

enum { INPUTS = 3 + 2 + STEPS + 2 + 1 };

// How a step misbehaves, and when.
enum { GOOD, NOT_SET, PARTLY_SET, NO_OUTPUT, FAILS };

static struct {
    int run;                    // calls so far
    int at;                     // the call, from 1; 0: never
    int how;
    ad_status status;
} mis;

static void good_step(ad_step *s, void *ctx)
{
    const struct loop *l = ctx;
    const ad_rev *a = s->state[0];
    const ad_rev *b = s->state[1];
    const ad_rev *u = s->sequence[0];
    const ad_rev *p = s->parameter;
    int *carried = s->untraced;
    bool now = ++mis.run == mis.at;

    if (BESIDE)
        ++*carried;
    if (now && mis.how == FAILS) {
        s->status = mis.status;
        return;
    }
    if (!now || (mis.how != NOT_SET && mis.how != PARTLY_SET))
        s->next[0][1] = ad_rec(ad_mul(ad_sin(a[0]), p[1]));
    if (!now || mis.how != NOT_SET)
        s->next[0][0] = ad_rec(ad_add(ad_mul(a[1], p[0]), ad_mul(u[0], u[2])));
    s->next[1][0] = ad_rec(ad_add(ad_mul(b[0], l->by_ctx),
                                  ad_mul(0.5, ad_mul(b[1], u[1]))));
    if (!now || mis.how != NO_OUTPUT)
        s->output[0][0] = ad_rec(ad_mul(s->next[0][0], s->next[1][0]));
}

static const int two_taps[] = { -1, -2 };
static const int three_taps[] = { -1, 0, 1 };

// The description; its numbers are new inputs of the current tape.
static void make(struct loop *l)
{
    *l = (struct loop){ .carried = 3, .report = { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 } };
    for (int i = 0; i < 3; i++)
        l->in[i] = ad_input(0.25 * (i + 1));
    l->par[0] = ad_input(0.5);
    l->par[1] = ad_input(0.75);
    for (int i = 0; i < STEPS + 2; i++)
        l->seq[i] = ad_input(0.125 * i);
    l->by_ctx = BESIDE ? ad_input(0.9) : ad_rec(0.9);
    const ad_rev untouched = { .v = UNTOUCHED };
    for (int i = 0; i < 2; i++)
        l->last[i] = l->last_of_taps[i] = untouched;
    for (int i = 0; i < STEPS; i++)
        l->rows[2 * i] = l->rows[2 * i + 1] = l->out[i] = untouched;
    l->state[0] = (ad_scan_state){ .size = 2, .initial = l->in,
                                   .last = l->last, .rows = l->rows };
    // the second state starts with the first and the third number
    l->state[1] = (ad_scan_state){ .size = 1, .initial = l->in + 1,
                                   .last = l->last_of_taps, .taps = 2,
                                   .tap = two_taps };
    l->sequence[0] = (ad_scan_sequence){ .size = 1, .rows = STEPS + 2,
                                         .row = l->seq, .taps = 3,
                                         .tap = three_taps };
    l->output[0] = (ad_scan_output){ .size = 1, .row = l->out };
    l->d = (ad_scan_desc){
        .step = good_step, .ctx = l, .steps = STEPS, .states = 2,
        .state = l->state, .sequences = 1, .sequence = l->sequence,
        .outputs = 1, .output = l->output, .parameters = 2,
        .parameter = l->par, .untraced = BESIDE ? &l->carried : NULL,
        .untraced_bytes = BESIDE ? sizeof l->carried : 0
    };
}

static void gather_inputs(const struct loop *l, ad_rev x[INPUTS])
{
    memcpy(x, l->in, sizeof l->in);
    memcpy(x + 3, l->par, sizeof l->par);
    memcpy(x + 5, l->seq, sizeof l->seq);
    x[INPUTS - 1] = BESIDE ? l->by_ctx : l->in[0];
}

static bool untouched(const ad_rev *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i].v != UNTOUCHED || x[i].job != 0)
            return false;
    return true;
}

static bool no_results(const ad_rev *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i].v == x[i].v || x[i].job != 0)
            return false;
    return true;
}

// After a failure, `right`: of a description that is possible.
static void check_results(const char *name, const struct loop *l, bool right)
{
    static const ad_scan_report zero;
    if (right)
        CHECK(no_results(l->last, 2) && no_results(l->last_of_taps, 2)
              && no_results(l->rows, (size_t)2 * STEPS)
              && no_results(l->out, STEPS), "%s: results", name);
    else
        CHECK(untouched(l->rows, (size_t)2 * STEPS)
              && untouched(l->out, STEPS), "%s: rows are written", name);
    CHECK(l->carried == 3, "%s: carried data is written: %d", name,
          l->carried);
    CHECK(memcmp(&l->report, &zero, sizeof zero) == 0, "%s: report", name);
}

static const ad_schedule schedules[] = {
    { ADREV_STORE_ALL, 0, NULL },
    { ADREV_EVERY, 3, NULL },
    { ADREV_BINOMIAL, 2, NULL },
    { ADREV_BYTES, 200, NULL },
};

enum { SCHEDULES = sizeof schedules / sizeof schedules[0] };

static double right_g[INPUTS];
static double right_value;

// The same bits; but where a step could not be recorded as a function it runs
// again, and its adjoints are summed in another order.
static bool is_right(const double g[INPUTS])
{
    bool right = true;
    for (int j = 0; j < INPUTS; j++)
        right &= BESIDE ? g[j] == right_g[j]
                        : fabs(g[j] - right_g[j]) <= 1e-13 * fabs(right_g[j]);
    return right;
}

static ad_rev cost_of(const struct loop *l)
{
    ad_rev y = ad_rec(ad_add(l->last[0], l->last_of_taps[1]));
    for (int i = 0; i < STEPS; i++)
        ad_acc(&y, l->out[i]);
    return y;
}

// A loop where nothing fails, on the current tape, which is cleared.
static void works(ad_tape *t, const char *name, const ad_allocator *a)
{
    struct loop l;
    ad_rev x[INPUTS];
    double g[INPUTS] = { 0 };
    memset(&mis, 0, sizeof mis);
    ad_tape_clear(t);
    make(&l);
    gather_inputs(&l, x);
    l.d.allocator = a;
    ad_status s = ad_scan(&l.d, &l.report);
    CHECK(s == ADREV_OK, "after %s: %s", name, ad_message(s));
    CHECK(l.carried == (BESIDE ? 3 + STEPS : 3), "after %s: carried %d", name,
          l.carried);
    ad_rev y = cost_of(&l);
    s = ad_gradient(t, y, INPUTS, x, g);
    CHECK(s == ADREV_OK, "after %s: %s", name, ad_message(s));
    CHECK(BESIDE == (l.report.replayed == 0) || t != tape, "after %s: %zu "
          "steps replayed", name, l.report.replayed);
    if (right_value == 0) {
        right_value = y.v;
        memcpy(right_g, g, sizeof g);
    }
    CHECK(y.v == right_value && is_right(g), "after %s: other numbers", name);
    ad_tape_clear(t);
}

/* --- shapes --------------------------------------------------------------- */

static const int tap_zero[] = { -1, 0 };
static const int tap_positive[] = { -1, 1 };
static const int tap_lowest[] = { -1, INT_MIN };
static const int tap_highest[] = { 0, INT_MAX };
static const int tap_two[] = { -1, 2 };

enum { SHAPES = 35 };

// Bytes of a state: two numbers, two taps of one, and in 8 what is carried.
enum { STATE = (2 + 2) * sizeof(double) + 8 * BESIDE };

static ad_store no_put;
static ad_store no_get;
static ad_store no_every;

// Each makes one thing impossible; returns what.
static const char *spoil_arrays(struct loop *l, int which)
{
    switch (which) {
    case 0: l->d.step = NULL; return "no step";
    case 1: l->d.state = NULL; return "no states";
    case 2: l->state[1].initial = NULL; return "no initial rows";
    case 3: l->d.sequence = NULL; return "no sequences";
    case 4: l->sequence[0].row = NULL; return "no rows";
    case 5: l->d.output = NULL; return "no outputs";
    case 6: l->output[0].size = SIZE_MAX / 8; return "output too large";
    case 7: l->d.parameter = NULL; return "no parameters";
    case 8: l->d.untraced = NULL;
            l->d.untraced_bytes = 4; return "no carried data";
    case 9: l->state[1].tap = NULL; return "no taps of a state";
    case 10: l->sequence[0].tap = NULL; return "no taps of a sequence";
    default: return NULL;
    }
}

static const char *spoil_taps(struct loop *l, int which)
{
    switch (which) {
    case 11: l->state[1].tap = tap_zero; return "tap 0";
    case 12: l->state[1].tap = tap_positive; return "tap 1";
    case 13: l->state[1].tap = tap_lowest; return "tap INT_MIN";
    case 14: l->state[1].tap = tap_highest; return "tap INT_MAX";
    case 15: l->sequence[0].tap = tap_lowest;
             l->sequence[0].taps = 2; return "sequence tap INT_MIN";
    case 16: l->sequence[0].tap = tap_highest;
             l->sequence[0].taps = 2; return "sequence tap INT_MAX";
    case 17: l->sequence[0].tap = tap_two;
             l->sequence[0].taps = 2; return "a tap past the end";
    case 18: l->sequence[0].rows = STEPS + 1; return "one row too few";
    case 19: l->sequence[0].rows = 0; return "no row";
    case 20: l->sequence[0].rows = STEPS + 1;
             l->sequence[0].backward = true; return "too short, backward";
    case 21: l->d.steps = STEPS + 1; return "a step too many";
    case 22: l->d.steps = SIZE_MAX; return "endless, with a sequence";
    default: return NULL;
    }
}

static const char *spoil_sizes(struct loop *l, int which)
{
    switch (which) {
    case 23: l->state[0].size = SIZE_MAX / 4; return "a huge state";
    case 24: l->d.parameters = SIZE_MAX / 4; return "too many parameters";
    case 25: l->d.untraced_bytes = SIZE_MAX / 2; return "huge carried data";
    case 26: l->output[0].size = SIZE_MAX / 4; return "a huge output";
    case 27: l->d.schedule.kind = (ad_schedule_kind)9; return "no schedule";
    case 28: l->d.schedule.kind = ADREV_EVERY; return "every 0th";
    case 29: l->d.schedule.kind = ADREV_BINOMIAL; return "no states to keep";
    case 30: l->d.schedule.store = &no_put; return "a store without put";
    case 31: l->d.schedule.store = &no_get; return "a store without get";
    case 32: l->d.schedule.store = &no_every; return "a store of every 0th";
    case 33: l->d.schedule.kind = ADREV_BYTES; return "no bytes";
    case 34: l->d.schedule = (ad_schedule){ ADREV_BYTES, STATE - 1, NULL };
             return "fewer bytes than a state";
    default: return NULL;
    }
}

static void run_shapes(void)
{
    static struct shelf shelf;
    no_put = no_get = no_every = store_in(&shelf, 2);
    no_put.put = NULL;
    no_get.get = NULL;
    no_every.every = 0;
    for (int which = 0; which < SHAPES; which++) {
        struct loop l;
        ad_tape_clear(tape);
        memset(&mis, 0, sizeof mis);
        make(&l);
        const char *name = spoil_arrays(&l, which);
        if (name == NULL)
            name = spoil_taps(&l, which);
        if (name == NULL)
            name = spoil_sizes(&l, which);
        ad_status s = ad_scan(&l.d, &l.report);
        bool huge = which >= 23 && which <= 26;     // more than there can be
        CHECK(s == ADREV_ESHAPE || (huge && s == ADREV_ENOMEM), "%s: %s", name,
              ad_message(s));
        CHECK(ad_tape_status(tape) == s, "%s: the tape: %s", name,
              ad_message(ad_tape_status(tape)));
        CHECK(mis.run == 0, "%s: a step ran", name);
        check_results(name, &l, which >= 27);
        CHECK(which < 15 || which == 23 || no_results(l.last, 2),
              "%s: last rows", name);
        works(tape, name, NULL);
    }
    ad_status s = ad_scan(NULL, NULL);
    CHECK(s == ADREV_ESHAPE, "no description: %s", ad_message(s));
    works(tape, "no description", NULL);
}

// As many states as fit, and no room for more.
static void run_bytes(void)
{
    size_t of_one = 0;
    for (size_t n = 1; n <= STEPS; n++)
        for (size_t more = 0; more < STATE; more += STATE - 1) {
            struct loop l;
            ad_rev x[INPUTS];
            double g[INPUTS];
            memset(&mis, 0, sizeof mis);
            ad_tape_clear(tape);
            make(&l);
            gather_inputs(&l, x);
            l.d.schedule = (ad_schedule){ ADREV_BYTES, n * STATE + more,
                                          NULL };
            ad_status s = ad_scan(&l.d, &l.report);
            CHECK(s == ADREV_OK, "%zu states: %s", n, ad_message(s));
            s = ad_gradient(tape, cost_of(&l), INPUTS, x, g);
            CHECK(s == ADREV_OK && is_right(g), "%zu states: %s", n,
                  ad_message(s));
            CHECK(l.report.snapshots <= n && l.report.snapshots > n / 2,
                  "%zu states: %zu", n, l.report.snapshots);
            of_one = n == 1 ? l.report.bytes : of_one;
            CHECK(l.report.bytes <= of_one + (n - 1) * STATE, "%zu states: "
                  "%zu bytes, one: %zu", n, l.report.bytes, of_one);
        }
}

// A schedule that is none is refused also where it would not be followed: in
// fixed memory, without a tape, and of no step.
static void run_schedules(void)
{
    static ad_real room[1 << 16];
    for (int where = 0; where < 3; where++)
        for (int which = 27; which < 34; which++) {
            struct loop l;
            ad_tape *fixed = ad_tape_in(room, sizeof room);
            ad_tape_clear(tape);
            ad_use(where == 0 ? fixed : where == 1 ? NULL : tape);
            memset(&mis, 0, sizeof mis);
            make(&l);
            const char *name = spoil_sizes(&l, which);
            l.d.steps = where == 2 ? 0 : l.d.steps;
            ad_status s = ad_scan(&l.d, &l.report);
            CHECK(s == ADREV_ESHAPE, "%s, %d: %s", name, where,
                  ad_message(s));
            CHECK(mis.run == 0, "%s, %d: a step ran", name, where);
            ad_use(tape);
        }
}

static void f_of_loop(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], x[1]));
}

static void run_loop_shapes(void)
{
    const ad_schedule all = { ADREV_STORE_ALL, 0, NULL };
    for (int i = 0; i < 4; i++) {
        ad_tape_clear(tape);
        ad_rev x = ad_input(2);
        ad_rev p = ad_input(3);
        ad_status s =
            i == 0 ? ad_loop(NULL, NULL, 3, 1, &x, 1, &p, all)
          : i == 1 ? ad_loop(f_of_loop, NULL, 3, 1, NULL, 1, &p, all)
          : i == 2 ? ad_loop(f_of_loop, NULL, 3, 1, &x, 1, NULL, all)
                   : ad_loop(f_of_loop, NULL, 3, 1, &x, 1, &p,
                             (ad_schedule){ ADREV_BINOMIAL, 0, NULL });
        CHECK(s == ADREV_ESHAPE, "ad_loop %d: %s", i, ad_message(s));
        CHECK((i == 1 ? x.v == 2 : no_results(&x, 1))
              && ad_tape_status(tape) == ADREV_ESHAPE, "ad_loop %d: %g", i,
              x.v);
        works(tape, "ad_loop", NULL);
    }
}

// No step is no error; neither is a limit that nobody reaches.
static void endless_step(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = ad_rec(ad_mul(s->state[0][0], 2));
    s->stop = ad_gt(s->next[0][0], 1000);
}

static void run_limits(void)
{
    for (int i = 0; i < SCHEDULES; i++) {
        struct loop l;
        ad_rev x[INPUTS];
        double g[INPUTS] = { 0 };
        ad_tape_clear(tape);
        memset(&mis, 0, sizeof mis);
        make(&l);
        gather_inputs(&l, x);
        l.d.steps = 0;
        l.d.schedule = schedules[i];
        CHECK(ad_scan(&l.d, &l.report) == ADREV_OK && mis.run == 0,
              "no steps");
        CHECK(l.report.steps == 0 && l.report.evaluations == 0, "no steps");
        CHECK(l.last[0].v == 0.25 && l.last[1].v == 0.5
              && l.last_of_taps[0].v == 0.5 && l.last_of_taps[1].v == 0.75,
              "no steps: %g %g", l.last[0].v, l.last_of_taps[1].v);
        CHECK(untouched(l.rows, (size_t)2 * STEPS) && untouched(l.out, STEPS)
              && l.carried == 3, "no steps: rows");
        CHECK(ad_gradient(tape, l.last_of_taps[1], INPUTS - 1, x, g)
              == ADREV_OK && g[2] == 1 && g[0] == 0 && g[3] == 0,
              "no steps: %g", g[2]);

        for (int open = 0; open < 2; open++) {
            ad_tape_clear(tape);
            ad_rev a = ad_input(1);
            ad_rev y = { 0 };
            const ad_scan_state state = { .size = 1, .initial = &a,
                                          .last = &y };
            const ad_scan_desc d = { .step = endless_step, .steps = SIZE_MAX,
                                     .states = 1, .state = &state,
                                     .schedule = schedules[i],
                                     .open_ended = open };
            ad_status s = ad_scan(&d, &l.report);
            CHECK(s == ADREV_OK && y.v == 1024, "endless, schedule %d, open "
                  "%d: %s", i, open, ad_message(s));
            CHECK(l.report.steps == 10, "endless: %zu steps", l.report.steps);
            CHECK(ad_gradient(tape, y, 1, &a, g) == ADREV_OK && g[0] == 1024,
                  "endless: %g", g[0]);
        }
    }
}

/* --- steps that fail ------------------------------------------------------ */

static void run_step(const char *name, int how, ad_status status,
                     ad_status want)
{
    for (int i = 0; i < SCHEDULES; i++)
        for (int at = 1; at <= STEPS; at += at == 1 ? 1 : 5) {
            struct loop l;
            ad_tape_clear(tape);
            make(&l);
            memset(&mis, 0, sizeof mis);
            mis.at = at;
            mis.how = how;
            mis.status = status;
            l.d.schedule = schedules[i];
            ad_status s = ad_scan(&l.d, &l.report);
            CHECK(s == want, "%s in step %d: %s", name, at, ad_message(s));
            CHECK(ad_tape_status(tape) == want, "%s: the tape: %s", name,
                  ad_message(ad_tape_status(tape)));
            CHECK(mis.run == at, "%s: %d steps ran after it", name,
                  mis.run - at);
            check_results(name, &l, true);
            works(tape, name, NULL);
        }
}

static void run_steps(void)
{
    run_step("a row that is not set", NOT_SET, ADREV_OK, ADREV_ESHAPE);
    run_step("half a row", PARTLY_SET, ADREV_OK, ADREV_ESHAPE);
    run_step("an output that is not set", NO_OUTPUT, ADREV_OK, ADREV_ESHAPE);
    run_step("out of memory", FAILS, ADREV_ENOMEM, ADREV_ENOMEM);
    run_step("a file", FAILS, ADREV_EFILE, ADREV_EFILE);
}

// A step that fails when it runs again: the query says so, g is untouched, and
// when it is well again so is the recording.
static void run_again(void)
{
    static const int hows[] = { NOT_SET, PARTLY_SET, NO_OUTPUT, FAILS };
    for (int i = 0; i < SCHEDULES; i++)
        for (int h = 0; h < 4; h++)
            for (int at = 1; at <= 30; at++) {
                struct loop l;
                ad_rev x[INPUTS];
                double g[INPUTS];
                ad_tape_clear(tape);
                make(&l);
                gather_inputs(&l, x);
                memset(&mis, 0, sizeof mis);
                l.d.schedule = schedules[i];
                CHECK(ad_scan(&l.d, &l.report) == ADREV_OK, "good");
                ad_rev y = cost_of(&l);
                for (int j = 0; j < INPUTS; j++)
                    g[j] = UNTOUCHED;
                mis.run = 0;
                mis.at = at;
                mis.how = hows[h];
                mis.status = ADREV_EFILE;
                ad_status s = ad_gradient(tape, y, INPUTS, x, g);
                bool failed = mis.run >= at;
                CHECK(failed ? s != ADREV_OK : s == ADREV_OK, "step %d of the "
                      "sweep, how %d: %s", at, h, ad_message(s));
                for (int j = 0; s != ADREV_OK && j < INPUTS; j++)
                    CHECK(g[j] == UNTOUCHED, "g is touched");
                memset(&mis, 0, sizeof mis);
                s = ad_gradient(tape, y, INPUTS, x, g);
                CHECK(s == ADREV_OK && is_right(g), "the sweep after: %s",
                      ad_message(s));
            }
    works(tape, "steps that fail later", NULL);
}

/* --- other recordings ----------------------------------------------------- */

static void run_foreign(void)
{
    ad_tape *other = ad_tape_new();
    ad_use(other);
    const ad_rev theirs = ad_input(2);
    ad_use(tape);
    ad_rev old = ad_input(2);
    for (int which = 0; which < 10; which++) {
        struct loop l;
        ad_tape_clear(tape);
        make(&l);
        memset(&mis, 0, sizeof mis);
        const ad_rev x = which < 5 ? theirs : old;
        switch (which % 5) {
        case 0: l.in[0] = x; break;
        case 1: l.par[1] = x; break;
        case 2: l.seq[STEPS + 1] = x; break;
        case 3: l.by_ctx = x; break;
        default: l.in[2] = x; break;
        }
        ad_status s = ad_scan(&l.d, &l.report);
        CHECK(s == ADREV_EFOREIGN, "foreign %d: %s", which, ad_message(s));
        CHECK(ad_tape_status(tape) == ADREV_EFOREIGN, "foreign %d: the tape: "
              "%s", which, ad_message(ad_tape_status(tape)));
        check_results("foreign", &l, true);
        works(tape, "foreign", NULL);
    }
    ad_tape_free(other);
}

// A failed tape fails on: nothing runs twice, there are no results.
static void run_failed(void)
{
    struct loop l;
    ad_tape_clear(tape);
    make(&l);
    memset(&mis, 0, sizeof mis);
    l.par[0] = (ad_rev){ .v = 1, .seq = 5, .job = 0xFFFFFFF };
    CHECK(ad_scan(&l.d, &l.report) == ADREV_EFOREIGN, "a number of nobody");
    make(&l);
    ad_status s = ad_scan(&l.d, &l.report);
    CHECK(s == ADREV_EFOREIGN, "on a failed tape: %s", ad_message(s));
    check_results("a failed tape", &l, true);
    ad_rev y = { .v = UNTOUCHED };
    s = ad_checkpoint(f_of_loop, NULL, 2, l.par, 1, &y);
    CHECK(s == ADREV_EFOREIGN && no_results(&y, 1), "on a failed tape: %s, %g",
          ad_message(s), y.v);
    works(tape, "a failed tape", NULL);
}

/* --- a store that fails --------------------------------------------------- */

static bool with_failing_put(int i, size_t n)
{
    static struct shelf shelf;
    struct loop l;
    memset(&shelf, 0, sizeof shelf);
    shelf.failing_put = n;
    const ad_store store = store_in(&shelf, 3);
    ad_tape_clear(tape);
    make(&l);
    memset(&mis, 0, sizeof mis);
    l.d.schedule = schedules[i];
    l.d.schedule.store = &store;
    ad_status s = ad_scan(&l.d, &l.report);
    bool ok = shelf.puts < n;
    CHECK(s == (ok ? ADREV_OK : ADREV_EEXTERNAL), "put %zu fails: %s", n,
          ad_message(s));
    if (!ok) {
        CHECK(ad_tape_status(tape) == ADREV_EEXTERNAL, "the tape");
        check_results("put", &l, true);
    }
    ad_tape_clear(tape);
    CHECK(shelf.puts == 0 || shelf.drops == 1, "put %zu fails: dropped %zu "
          "times", n, shelf.drops);
    works(tape, "a put that fails", NULL);
    return ok;
}

static bool with_failing_get(int i, size_t n)
{
    static struct shelf shelf;
    struct loop l;
    ad_rev x[INPUTS];
    double g[INPUTS];
    memset(&shelf, 0, sizeof shelf);
    shelf.failing_get = n;
    const ad_store store = store_in(&shelf, 3);
    ad_tape_clear(tape);
    make(&l);
    gather_inputs(&l, x);
    memset(&mis, 0, sizeof mis);
    l.d.schedule = schedules[i];
    l.d.schedule.store = &store;
    CHECK(ad_scan(&l.d, &l.report) == ADREV_OK, "recording");
    CHECK(shelf.gets == 0, "got while recording");
    ad_rev y = cost_of(&l);
    for (int j = 0; j < INPUTS; j++)
        g[j] = UNTOUCHED;
    ad_status s = ad_gradient(tape, y, INPUTS, x, g);
    bool ok = shelf.gets < n;
    CHECK(s == (ok ? ADREV_OK : ADREV_EEXTERNAL), "get %zu fails: %s", n,
          ad_message(s));
    for (int j = 0; !ok && j < INPUTS; j++)
        CHECK(g[j] == UNTOUCHED, "get %zu fails: g is touched", n);
    shelf.failing_get = 0;
    CHECK(ad_gradient(tape, y, INPUTS, x, g) == ADREV_OK && is_right(g),
          "the sweep after get %zu", n);
    ad_tape_clear(tape);
    CHECK(shelf.drops == 1, "dropped %zu times", shelf.drops);
    return ok;
}

static void run_stores(void)
{
    for (int i = 0; i < SCHEDULES; i++) {
        size_t n = 1;
        while (n < 100 && !with_failing_put(i, n))
            n++;
        CHECK(n == STEPS / 3 + 1, "schedule %d: %zu puts", i, n - 1);
        n = 1;
        while (n < 100 && !with_failing_get(i, n))
            n++;
        CHECK(n > STEPS / 3 && n < 100, "schedule %d: %zu gets", i, n - 1);
    }
}

/* --- a store that several runs share -------------------------------------- */

// Keeps what was put last, whoever did.
struct slots {
    char state[STEPS][64];
};

static bool slots_put(void *user, size_t number, const void *state,
                      size_t bytes)
{
    struct slots *s = user;
    bool fits = number < STEPS && bytes <= sizeof s->state[0];
    if (fits)
        memcpy(s->state[number], state, bytes);
    return fits;
}

static bool slots_get(void *user, size_t number, void *state, size_t bytes)
{
    const struct slots *s = user;
    bool fits = number < STEPS && bytes <= sizeof s->state[0];
    if (fits)
        memcpy(state, s->state[number], bytes);
    return fits;
}

static void sine_step(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = ad_rec(ad_sin(s->state[0][0]));
}

// x = sin x, so many times.
static ad_rev sines(const ad_store *store, ad_rev x)
{
    const ad_scan_state state = { .size = 1, .initial = &x, .last = &x };
    const ad_scan_desc d = { .step = sine_step, .steps = 4, .states = 1,
                             .state = &state, .schedule.store = store };
    ad_scan(&d, NULL);
    return x;
}

// Two runs of the inner loop in each step: with the first store, and with the
// second one.
static void step_of_sines(ad_step *s, void *ctx)
{
    const ad_store *const *inner = ctx;
    s->next[0][0] = sines(inner[1], sines(inner[0], s->state[0][0]));
}

// 28 sines: 4, 4 and 4 in one loop each, the others in a nest. Whose stores are
// one and the same is noticed in the sweep.
static void run_one_store(void)
{
    static struct slots slots[6];
    static ad_store store[6];
    for (int same = -1; same < 15; same++) {
        size_t number = 0;
        ad_tape_clear(tape);
        for (int i = 0; i < 6; i++)
            store[i] = (ad_store){ .put = slots_put, .get = slots_get,
                                   .user = &slots[i], .every = 1 };
        for (size_t a = 0; a < 6; a++)
            for (size_t b = a + 1; b < 6; b++, number++)
                if ((int)number == same)
                    store[b].user = &slots[a];
        ad_rev x = ad_input(1.5);
        ad_rev y = x;
        const ad_store *inner[] = { &store[4], &store[5] };
        const ad_scan_state state = { .size = 1, .initial = &y, .last = &y };
        const ad_scan_desc d = { .step = step_of_sines, .ctx = inner,
                                 .steps = 2, .states = 1, .state = &state,
                                 .schedule.store = &store[3] };
        double want = 1;
        double g = UNTOUCHED;
        for (int i = 0; i < 3; i++)
            y = sines(&store[i], y);
        ad_status s = ad_scan(&d, NULL);
        CHECK(s == ADREV_OK, "pair %d: %s", same, ad_message(s));
        s = ad_gradient(tape, y, 1, &x, &g);
        double v = 1.5;
        for (int i = 0; i < 12 + 16; i++, v = sin(v))
            want *= cos(v);
        CHECK(same < 0 ? s == ADREV_OK : s == ADREV_EEXTERNAL, "pair %d: %s",
              same, ad_message(s));
        CHECK(same < 0 ? fabs(g - want) <= 1e-14 * want : g == UNTOUCHED,
              "pair %d: %g, want %g", same, g, want);
    }
    works(tape, "a store of two loops", NULL);
}

/* --- memory that runs out ------------------------------------------------- */

enum { BLOCKS = 4096 };

struct heap {
    size_t allocations;
    size_t failing;             // the first that fails, from 1; 0: none
    bool for_ever;
    size_t live;
    void *block[BLOCKS];
};

static void *heap_alloc(size_t bytes, void *user)
{
    struct heap *h = user;
    h->allocations++;
    CHECK(bytes > 0, "an allocation of 0 bytes");
    bool fails = h->failing > 0
              && (h->for_ever ? h->allocations >= h->failing
                              : h->allocations == h->failing);
    if (fails || h->live == BLOCKS)
        return NULL;
    return h->block[h->live++] = malloc(bytes);
}

static void heap_free(void *block, void *user)
{
    struct heap *h = user;
    size_t i = 0;
    while (i < h->live && h->block[i] != block)
        i++;
    if (!CHECK(i < h->live, "a block is freed that this heap did not give"))
        return;
    h->block[i] = h->block[--h->live];
    free(block);
}

// What a query may say when memory is short, and what it must not do then.
static bool query(const char *name, ad_status s, size_t n, double *out)
{
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM || s == ADREV_EEXTERNAL,
          "%s: %s", name, ad_message(s));
    for (size_t i = 0; s != ADREV_OK && i < n; i++)
        CHECK(out[i] == UNTOUCHED, "%s: result %zu is touched", name, i);
    for (size_t i = 0; i < n; i++)
        out[i] = UNTOUCHED;
    return s == ADREV_OK;
}

static bool sweep_all(ad_tape *t, ad_rev y, const ad_rev *x)
{
    double g[INPUTS];
    double dx[INPUTS] = { 0 };
    double dy = UNTOUCHED;
    ad_connection answer[INPUTS];
    bool ok = true;
    dx[4] = 1;
    for (int j = 0; j < INPUTS; j++)
        g[j] = UNTOUCHED;
    ad_status s = ad_gradient(t, y, INPUTS, x, g);
    CHECK(s != ADREV_OK || is_right(g), "other numbers when memory is short");
    ok &= query("gradient", s, INPUTS, g);
    s = ad_pushforward(t, INPUTS, x, dx, 1, &y, &dy);
    CHECK(s != ADREV_OK || fabs(dy - right_g[4]) <= 1e-14 * fabs(right_g[4]),
          "tangent %g, want %g", dy, right_g[4]);
    ok &= query("pushforward", s, 1, &dy);
    memset(answer, 0x5A, sizeof answer);
    ad_connection first = answer[0];
    s = ad_connected(t, 1, &y, INPUTS, x, answer);
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM || s == ADREV_EEXTERNAL,
          "connected: %s", ad_message(s));
    for (int j = 0; j < INPUTS; j++)
        CHECK(answer[j] == (s == ADREV_OK ? ADREV_CONNECTED : first),
              "connected: %d", (int)answer[j]);
    return ok & (s == ADREV_OK);
}

struct attempt {
    ad_schedule schedule;
    bool apart;             // the loop has an allocator of its own that fails
    bool sweeping;          // memory runs out when sweeping
};

// Returns whether everything succeeded.
static bool attempt_scan(const struct attempt *a, size_t failing,
                         bool for_ever)
{
    static struct heap h;
    static struct heap other;
    struct loop l;
    ad_rev x[INPUTS];
    h = other = (struct heap){ 0 };
    struct heap *short_of = a->apart ? &other : &h;
    const ad_allocator from = { heap_alloc, heap_free, &h };
    const ad_allocator apart = { heap_alloc, heap_free, &other };
    ad_tape *t = ad_tape_new_with(&from);
    if (!CHECK(t != NULL, "a tape"))
        return true;
    ad_use(t);
    make(&l);
    gather_inputs(&l, x);
    memset(&mis, 0, sizeof mis);
    l.d.schedule = a->schedule;
    l.d.allocator = a->apart ? &apart : NULL;
    short_of->allocations = 0;
    short_of->failing = a->sweeping ? 0 : failing;
    short_of->for_ever = for_ever;
    ad_status s = ad_scan(&l.d, &l.report);
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "scan: %s", ad_message(s));
    CHECK(ad_tape_status(t) == s, "scan: %s, the tape: %s", ad_message(s),
          ad_message(ad_tape_status(t)));
    bool ok = s == ADREV_OK;
    if (!ok)
        check_results("memory", &l, true);
    if (ok) {
        short_of->failing = 0;
        ad_rev y = cost_of(&l);
        if (a->sweeping) {
            short_of->allocations = 0;
            short_of->failing = failing;
            ok &= sweep_all(t, y, x);
            short_of->failing = 0;
        }
        CHECK(sweep_all(t, y, x), "the recording does not work any more");
    }
    short_of->failing = 0;
    works(t, "memory ran out", l.d.allocator);
    ad_use(tape);
    ad_tape_free(t);
    CHECK(h.live == 0 && other.live == 0, "allocation %zu fails: %zu and %zu "
          "blocks leaked", failing, h.live, other.live);
    return ok;
}

static void run_memory(void)
{
    for (int i = 0; i < 8 * SCHEDULES; i++) {
        const struct attempt a = {
            .schedule = schedules[i % SCHEDULES],
            .apart = i / SCHEDULES % 2, .sweeping = i / SCHEDULES / 2 % 2
        };
        bool for_ever = i / SCHEDULES / 4;
        size_t n = 1;
        while (n < 3000 && !attempt_scan(&a, n, for_ever))
            n++;
        CHECK(n < 3000, "it never succeeds");
        CHECK(n > 1 || a.sweeping, "nothing was allocated");
    }
}

/* --- calls when memory runs out ------------------------------------------- */

static ad_rev call_outside;

static void inner_call(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev a = x[0];
    for (int i = 0; i < 300; i++)
        a = ad_rec(ad_mul(ad_sin(a), x[1]));
    y[0] = a;
}

static void outer_call(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z;
    ad_checkpoint_with(ctx, inner_call, NULL, 2, x, 1, &z);
    y[0] = ad_rec(ad_add(ad_mul(z, call_outside), x[0]));
    y[1] = ad_rec(ad_mul(y[0], y[0]));
}

static const ad_checkpoint_options keeps[] = {
    { .keep = ADREV_KEEP_INPUTS },
    { .keep = ADREV_KEEP_ALL },
    { .keep = ADREV_KEEP_AUTOMATIC, .budget = 1 << 20 },
    { .keep = ADREV_KEEP_AUTOMATIC, .budget = 1 },
};

static bool attempt_call(const ad_checkpoint_options *o, bool sweeping,
                         size_t failing, bool for_ever)
{
    static struct heap h;
    static double right[3];
    h = (struct heap){ 0 };
    const ad_allocator from = { heap_alloc, heap_free, &h };
    ad_tape *t = ad_tape_new_with(&from);
    ad_rev x[3];
    ad_rev y[2] = { { .v = UNTOUCHED }, { .v = UNTOUCHED } };
    double g[3] = { UNTOUCHED, UNTOUCHED, UNTOUCHED };
    bool ok = true;
    if (!CHECK(t != NULL, "a tape"))
        return true;
    ad_use(t);
    for (int again = 0; again < 2; again++) {
        ad_tape_clear(t);
        for (int i = 0; i < 3; i++)
            x[i] = ad_input(0.5 + 0.25 * i);
        call_outside = x[2];
        h.allocations = 0;
        h.failing = again || sweeping ? 0 : failing;
        h.for_ever = for_ever;
        ad_status s = ad_checkpoint_with(o, outer_call,
                                         (void *)(uintptr_t)o, 2, x, 2, y);
        CHECK(s == ADREV_OK || (!again && s == ADREV_ENOMEM), "call: %s",
              ad_message(s));
        CHECK(ad_tape_status(t) == s, "call: %s, the tape: %s", ad_message(s),
              ad_message(ad_tape_status(t)));
        if (s != ADREV_OK) {
            CHECK(no_results(y, 2), "results");
            ok = false;
            continue;
        }
        h.allocations = 0;
        h.failing = again || !sweeping ? 0 : failing;
        s = ad_gradient(t, y[1], 3, x, g);
        if (s == ADREV_OK && right[0] == 0)
            memcpy(right, g, sizeof g);
        CHECK(s != ADREV_OK || memcmp(g, right, sizeof g) == 0, "numbers");
        CHECK(s == ADREV_OK || !again, "with memory back: %s", ad_message(s));
        ok &= query("call", s, 3, g);
        h.failing = 0;
        CHECK(ad_gradient(t, y[1], 3, x, g) == ADREV_OK
              && memcmp(g, right, sizeof g) == 0, "the recording does not "
              "work any more");
        query("call", ADREV_OK, 3, g);
    }
    ad_use(tape);
    ad_tape_free(t);
    CHECK(h.live == 0, "allocation %zu fails: %zu blocks leaked", failing,
          h.live);
    return ok;
}

static void run_call_memory(void)
{
    for (int i = 0; i < 16; i++) {
        size_t n = 1;
        while (n < 3000 && !attempt_call(&keeps[i % 4], i / 4 % 2, n, i / 8))
            n++;
        CHECK(n < 3000, "it never succeeds");
    }
}

/* --- fixed memory --------------------------------------------------------- */

// Too small by every number of bytes: full, and no results.
static void run_fixed(void)
{
    static long double memory[1 << 13];
    for (int apart = 0; apart < 2; apart++) {
        static struct heap h;
        const ad_allocator from = { heap_alloc, heap_free, &h };
        bool good = false;
        h = (struct heap){ 0 };
        for (size_t bytes = 256; bytes < sizeof memory && !good;
             bytes += bytes < 6000 ? 8 : 256) {
            struct loop l;
            ad_rev x[INPUTS];
            double g[INPUTS];
            ad_tape *t = ad_tape_in(memory, bytes);
            if (t == NULL)
                continue;
            ad_use(t);
            make(&l);
            gather_inputs(&l, x);
            memset(&mis, 0, sizeof mis);
            l.d.allocator = apart ? &from : NULL;
            ad_status before = ad_tape_status(t);
            ad_status s = ad_scan(&l.d, &l.report);
            CHECK(s == ADREV_OK || s == ADREV_EFULL, "%zu bytes, before: %s, "
                  "then: %s", bytes, ad_message(before), ad_message(s));
            CHECK(ad_tape_status(t) == s, "%zu bytes: %s, the tape: %s", bytes,
                  ad_message(s), ad_message(ad_tape_status(t)));
            if (s != ADREV_OK)
                check_results("fixed memory", &l, true);
            if (s == ADREV_OK) {
                ad_rev y = cost_of(&l);
                s = ad_gradient(t, y, INPUTS, x, g);
                good = s == ADREV_OK;
                CHECK(good || s == ADREV_EFULL || s == ADREV_EEXTERNAL,
                      "%zu bytes: %s", bytes, ad_message(s));
                // without an allocator the steps are recorded themselves
                for (int j = 0; good && j < INPUTS; j++)
                    CHECK(fabs(g[j] - right_g[j]) <= 1e-14
                              + 1e-14 * fabs(right_g[j]),
                          "in %zu bytes [%d]: %.17g, want %.17g", bytes, j,
                          g[j], right_g[j]);
            }
            ad_tape_clear(t);
            CHECK(ad_tape_status(t) == ADREV_OK, "a cleared tape failed");
            ad_tape_free(t);
            ad_use(tape);
            CHECK(h.live == 0, "%zu bytes: %zu blocks leaked", bytes, h.live);
        }
        CHECK(good, "no fixed memory is enough");
    }
}

/* --- hostile steps -------------------------------------------------------- */

static int hostile_kind;
static int hostile_at;
static ad_tape *hostile_tape;

static void be_hostile(void)
{
    ad_tape *current = ad_use(NULL);
    ad_use(current);
    switch (hostile_kind) {
    case 0: ad_tape_clear(current); break;      // whatever it is
    case 1: ad_tape_clear(tape); break;         // that of the loop
    case 2: ad_use(NULL); break;
    case 3: ad_use(hostile_tape); break;
    case 4: ad_use(tape); break;
    case 5: ad_tape_clear(current); ad_use(hostile_tape); break;
    case 6: (void)ad_input(1); break;           // an input of its own
    default:
        if (current != NULL)
            ad_ignore(ad_tape_rewind(current, ad_tape_mark(current)));
    }
}

static void hostile_step(ad_step *s, void *ctx)
{
    if (++mis.run == hostile_at)
        be_hostile();
    (void)ctx;
    s->next[0][0] = ad_rec(ad_mul(s->state[0][0], s->parameter[0]));
}

static void hostile_call(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], x[1]));
    if (++mis.run == hostile_at)
        be_hostile();
    y[0] = ad_rec(ad_mul(y[0], x[1]));
}

// Nothing crashes; if a status is ADREV_OK the numbers are right; the tape in
// use is the one from before, and works again when it is cleared. What is swept
// must not be touched, as by any external statement: kinds 1 and 4 come only
// while recording.
static void run_hostile_one(bool call, int schedule)
{
    ad_tape_clear(tape);
    ad_rev x[2] = { ad_input(3), ad_input(0.5) };
    ad_rev y = { .v = UNTOUCHED };
    double g[2] = { UNTOUCHED, UNTOUCHED };
    memset(&mis, 0, sizeof mis);
    const ad_scan_state state = { .size = 1, .initial = x, .last = &y };
    const ad_scan_desc d = { .step = hostile_step, .steps = 2, .states = 1,
                             .state = &state, .parameters = 1,
                             .parameter = x + 1,
                             .schedule = schedules[schedule] };
    ad_status s = call ? ad_checkpoint_with(&keeps[schedule], hostile_call,
                                            NULL, 2, x, 1, &y)
                       : ad_scan(&d, NULL);
    CHECK(ad_use(tape) == tape, "kind %d, call %d: another tape is current",
          hostile_kind, call);
    CHECK(s == ADREV_OK ? y.v == 0.75 : no_results(&y, 1), "kind %d, call %d, "
          "at %d: %s, %g", hostile_kind, call, hostile_at, ad_message(s), y.v);
    if (s == ADREV_OK && y.job != 0) {
        s = ad_gradient(tape, y, 2, x, g);
        CHECK(s == ADREV_OK ? g[0] == 0.25 && g[1] == 3
                            : g[0] == UNTOUCHED && g[1] == UNTOUCHED,
              "kind %d, call %d, at %d: %s, %g %g", hostile_kind, call,
              hostile_at, ad_message(s), g[0], g[1]);
        CHECK(ad_use(tape) == tape, "kind %d, call %d: another tape is "
              "current after a sweep", hostile_kind, call);
    }
    works(tape, "hostile steps", NULL);
    ad_tape_clear(hostile_tape);
}

static void run_hostile(void)
{
    hostile_tape = ad_tape_new();
    for (hostile_kind = 0; hostile_kind < 8; hostile_kind++)
        for (hostile_at = 1; hostile_at <= 4; hostile_at++)
            for (int i = 0; i < SCHEDULES; i++) {
                bool ours = hostile_kind == 1 || hostile_kind == 4;
                if (!ours || hostile_at <= 2)
                    run_hostile_one(false, i);
                if (!ours || hostile_at <= 1)
                    run_hostile_one(true, i);
            }
    ad_tape_free(hostile_tape);
}

/* --- steps that do something else when they run again --------------------- */

static int fickle_kind;

static void fickle_step(ad_step *s, void *ctx)
{
    const ad_rev *outside = ctx;
    ad_rev x = s->state[0][0];
    bool again = mis.run++ >= 4;
    s->next[0][0] = ad_rec(ad_mul(x, s->parameter[0]));
    if (!again)
        return;
    if (fickle_kind == 0)           // another number from outside
        s->next[0][0] = ad_rec(ad_add(s->next[0][0], *outside));
    if (fickle_kind == 1)           // an early end
        s->stop = true;
    if (fickle_kind == 2)           // other values
        s->next[0][0] = ad_rec(ad_add(s->next[0][0], 1));
    if (fickle_kind == 3)           // no dependence
        s->next[0][0] = ad_rec(1);
}

// Which numbers come out nobody can say; memory must be safe, and the current
// tape the same.
static void run_fickle(void)
{
    static ad_rev outside;
    for (fickle_kind = 0; fickle_kind < 4; fickle_kind++)
        for (int i = 0; i < SCHEDULES; i++) {
            ad_tape_clear(tape);
            ad_rev x[2] = { ad_input(3), ad_input(0.5) };
            outside = ad_input(5);
            ad_rev y = { 0 };
            double g[2] = { UNTOUCHED, UNTOUCHED };
            memset(&mis, 0, sizeof mis);
            const ad_scan_state state = { .size = 1, .initial = x,
                                          .last = &y };
            const ad_scan_desc d = { .step = fickle_step, .ctx = &outside,
                                     .steps = 4, .states = 1, .state = &state,
                                     .parameters = 1, .parameter = x + 1,
                                     .schedule = schedules[i],
                                     .unreplayed = true };
            CHECK(ad_scan(&d, NULL) == ADREV_OK, "fickle");
            ad_status s = ad_gradient(tape, y, 2, x, g);
            CHECK(s == ADREV_OK || g[0] == UNTOUCHED, "fickle %d: %s",
                  fickle_kind, ad_message(s));
            CHECK(fickle_kind != 0 || s != ADREV_OK, "a new number from "
                  "outside: %s", ad_message(s));
            CHECK(ad_use(tape) == tape, "fickle: another tape");
            works(tape, "fickle steps", NULL);
        }
}

/* --- results larger than any memory ---------------------------------------- */

static void *take_little(size_t bytes, void *user)
{
    (void)user;
    return bytes < (size_t)1 << 30 ? malloc(bytes) : NULL;
}

static void give_back(void *p, void *user)
{
    (void)user;
    free(p);
}

enum { HUGE_CALLS = 7 };

static void product(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], x[1]));
}

static void one_step(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = s->state[0][0];
}

// y has two numbers; the call says that it has `most`.
static ad_status call_huge(int which, size_t most, const ad_rev *x, ad_rev *y)
{
    const ad_rows rows = { x, 2, 1 };
    const bool output = which >= 5;
    const ad_scan_state state = { .size = output ? 1 : most, .initial = x,
                                  .last = output ? NULL : y };
    const ad_scan_output out = { .size = most, .row = y };
    const ad_scan_desc d = {
        .step = one_step, .steps = 1, .states = 1, .state = &state,
        .outputs = output, .output = &out,
        .schedule = { which == 6 ? ADREV_EVERY : ADREV_STORE_ALL, 1, NULL }
    };
    switch (which) {
    case 0: return ad_reduce(product, NULL, 1, most, x, NULL, y);
    case 1: return ad_map(product, NULL, 1, 1, &rows, most, y);
    case 2: return ad_map_prefix(product, product, NULL, 1, 1, &rows, most, y);
    case 3: return ad_checkpoint(product, NULL, 2, x, most, y);
    default: return ad_scan(&d, NULL);
    }
}

// No array has so many numbers: none is written to say that the call failed.
static void run_huge(void)
{
    const ad_allocator memory = { take_little, give_back, NULL };
    ad_tape *t = ad_tape_new_with(&memory);
    ad_tape *before = ad_use(t);
    for (int which = 0; which < HUGE_CALLS; which++)
        for (size_t most = SIZE_MAX / 2; most > SIZE_MAX >> 24; most /= 2) {
            ad_tape_clear(t);
            ad_rev x[2] = { ad_input(1), ad_input(2) };
            ad_rev y[2] = { { .v = UNTOUCHED }, { .v = UNTOUCHED } };
            ad_status s = call_huge(which, most, x, y);
            CHECK(s == ADREV_ESHAPE || s == ADREV_ENOMEM, "call %d, %zu "
                  "numbers: %s", which, most, ad_message(s));
            CHECK(untouched(y, 2), "call %d, %zu numbers: written", which,
                  most);
        }
    ad_use(before);
    ad_tape_free(t);
}

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    works(tape, "nothing", NULL);
    run_shapes();
    run_schedules();
    run_bytes();
    run_loop_shapes();
    run_limits();
    run_steps();
    run_again();
    run_foreign();
    run_failed();
    run_stores();
    run_one_store();
    run_memory();
    run_call_memory();
    run_fixed();
    run_hostile();
    run_fickle();
    run_huge();
    ad_tape_free(tape);
#ifdef LOOP_ERRORS_REPLAYED
    return check_done("loop_errors_replayed");
#else
    return check_done("loop_errors");
#endif
}
