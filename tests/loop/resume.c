// SPDX-License-Identifier: MIT-0
// tags: slow recorded
// flags: -DADREV_TRACE=1
// needs: sys/mman.h
/* resume.c - scans whose reverse sweep goes on in another process. A process is
 * ended at every put, before, within or after it, and the next one goes on from
 * what is there: with the bits of a sweep that nobody ended, and without
 * reversing any steps twice but those of one range. What belongs to another
 * scan, other values or other adjoints is not taken.                         */

#define _DEFAULT_SOURCE

#include "implementation.h"
#include "adrev_function.h"
#include "adrev_loop.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- a store that outlives a process --------------------------------------- */

enum { PLACES = 400, BLOB = 2000 };

enum ending { BEFORE, WITHIN, BEHIND };

static struct disk {
    struct { size_t bytes; char blob[BLOB]; } place[PLACES];
    size_t puts;
    size_t ends;            // at this put; 0: never
    enum ending how;
    size_t drops;
    size_t agreements;      // that this process asked for
    size_t missing;         // at this one, another process says no; 0: never
    size_t failing;         // this put fails
    // what the program reports
    ad_status status;
    double y, g[16];
    ad_scan_report report;
    size_t reversed;        // steps that ran as a part of the sweep
} *disk;                    // shared by all processes

static bool disk_put(void *user, size_t number, const void *state,
                     size_t bytes)
{
    (void)user;
    if (number >= PLACES || bytes > BLOB)
        _exit(2);
    bool last = ++disk->puts == disk->ends;
    if (last && disk->how == BEFORE)
        _exit(1);
    if (disk->puts == disk->failing)
        return false;
    size_t half = last && disk->how == WITHIN ? bytes / 2 : bytes;
    disk->place[number].bytes = bytes;
    memcpy(disk->place[number].blob, state, half);
    if (last)
        _exit(1);
    return true;
}

static bool disk_get(void *user, size_t number, void *state, size_t bytes)
{
    (void)user;
    if (number >= PLACES || disk->place[number].bytes != bytes)
        return false;
    memcpy(state, disk->place[number].blob, bytes);
    return true;
}

static bool disk_agree(void *user, bool mine)
{
    (void)user;
    return ++disk->agreements != disk->missing && mine;
}

static void disk_drop(void *user)
{
    (void)user;
    disk->drops++;
}

/* --- programs -------------------------------------------------------------- */

enum { STEPS = 230, EVERY = 20, N = 3 };

static bool sweeping;

static void step(ad_step *s, void *ctx)
{
    const int *kind = ctx;
    const ad_rev *x = s->state[0];          // tap -1, then tap -2
    const ad_rev u = s->sequence[0][0];
    const ad_rev later = s->sequence[0][1];
    const ad_rev *p = s->parameter;
    disk->reversed += sweeping;
    ad_rev y = ad_rec(ad_sin(ad_add(ad_mul(p[0], x[0]), u)));
    if (*kind == 1 && ad_lt(x[1], 0.2))     // paths
        y = ad_rec(ad_mul(y, ad_sub(1.25, later)));
    if (*kind == 2 && x[1].v > 0.06)        // what a recording does not see,
        y = ad_rec(ad_add(y, 0.125 * x[0].v));      // in early steps
    if (*kind == 3)                         // many paths, in no order
        y = ad_rec(ad_add(ad_sin(ad_mul(3.4, ad_mul(p[0], x[0]))),
                          ad_mul(0.01, ad_floor(ad_mul(4, x[0])))));
    s->next[0][0] = ad_rec(ad_add(y, ad_mul(ad_mul(0.25, x[1]), later)));
    s->next[0][1] = ad_rec(ad_mul(s->state[0][1], p[1]));
    s->output[0][0] = ad_rec(ad_mul(s->next[0][0], p[1]));
}

typedef struct task {
    int kind;
    ad_schedule_kind schedule;
    size_t n;
    size_t truncated;       // steps that are reversed; 0: all
    double start;
    double weight;
    bool resume;
    bool several;           // processes, of which this is one
} task;

// Three scalar inputs, and a sequence that depends on one of them.
static ad_status run_task(const task *w)
{
    static const int taps[] = { -1, -2 };
    static const int shifts[] = { 0, 3 };
    static ad_rev u[STEPS + 3], out[STEPS];
    const double at[N] = { w->start, 0.9, 0.995 };
    ad_rev x[N], first[4], last[4];
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_inputs(N, at, x);
    for (size_t i = 0; i < STEPS + 3; i++)
        u[i] = ad_rec(ad_mul(x[0], 0.001 * (double)(i % 7)));
    for (size_t i = 0; i < 4; i++)
        first[i] = ad_rec(ad_mul(x[0], 0.1 * (double)(i + 1)));
    const ad_store store = { .put = disk_put, .get = disk_get,
                             .drop = disk_drop, .every = EVERY,
                             .agree = w->several ? disk_agree : NULL,
                             .resume = w->resume };
    const ad_scan_state state = { .size = 2, .initial = first, .last = last,
                                  .taps = 2, .tap = taps };
    const ad_scan_sequence sequence = { .size = 1, .rows = STEPS + 3, .row = u,
                                        .backward = w->kind % 2 > 0,
                                        .taps = 2, .tap = shifts };
    const ad_scan_output output = { .size = 1, .row = out };
    const ad_scan_desc d = {
        .step = step, .ctx = (void *)(uintptr_t)&w->kind, .steps = STEPS,
        .states = 1, .state = &state, .sequences = 1, .sequence = &sequence,
        .outputs = 1, .output = &output, .parameters = 2, .parameter = x + 1,
        .truncated = w->truncated > 0, .reversed = w->truncated,
        .schedule = { w->schedule, w->n, &store }
    };
    ad_status status = ad_scan(&d, &disk->report);
    ad_rev y = ad_rec(ad_mul(w->weight, ad_add(ad_sum(STEPS, out),
                                               ad_mul(last[2], last[3]))));
    sweeping = true;
    disk->y = y.v;
    if (status == ADREV_OK)
        status = ad_gradient(t, y, N, x, disk->g);
    sweeping = false;
    ad_use(NULL);
    ad_tape_free(t);
    disk->status = status;
    return status;
}

// Runs the task in a process of its own, to its end or to the put where it is
// to end. Returns whether it came to its end.
static bool in_process(const task *w, size_t ends, enum ending how)
{
    int status = 0;
    fflush(stdout);
    disk->puts = disk->reversed = 0;
    disk->ends = ends;
    disk->how = how;
    pid_t child = fork();
    if (child == 0) {
        run_task(w);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child, "fork");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) <= 1, "process: %d",
          status);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void wipe(void)
{
    memset(disk, 0, sizeof *disk);
}

/* --- every put -------------------------------------------------------------- */

enum { RANGES = (STEPS + EVERY - 1) / EVERY };

// Ends the first process at put `ends`.
static void run_ended(const task *w, size_t ends, enum ending how,
                      const double want[N], size_t reversed)
{
    wipe();
    size_t rounds = 0;
    bool done = in_process(w, ends, how);
    // each further process ends when it has put the adjoints of one more range
    while (!done && rounds++ <= 2 * RANGES)
        done = in_process(w, RANGES + 2, how);
    CHECK(done, "kind %d, put %zu: does not come to its end", w->kind, ends);
    CHECK(disk->status == ADREV_OK, "\"%s\"", ad_message(disk->status));
    CHECK(memcmp(disk->g, want, N * sizeof *want) == 0,
          "kind %d, put %zu, %d: got %.17g %.17g %.17g, want %.17g %.17g %.17g",
          w->kind, ends, (int)how, disk->g[0], disk->g[1], disk->g[2], want[0],
          want[1], want[2]);
    CHECK(rounds == 0 || (disk->report.resumed > 0
                          && disk->reversed < reversed),
          "%zu steps found, %zu steps run, %zu in one process",
          disk->report.resumed, disk->reversed, reversed);
    CHECK(disk->drops == 1, "%zu drops", disk->drops);
}

static void run_all_puts(const task *w)
{
    double want[N], near[N];
    task plain = *w;
    wipe();
    plain.resume = false;
    CHECK(in_process(&plain, 0, BEFORE) && disk->status == ADREV_OK, "plain");
    memcpy(near, disk->g, sizeof near);
    wipe();
    CHECK(in_process(w, 0, BEFORE) && disk->status == ADREV_OK, "in one");
    memcpy(want, disk->g, sizeof want);
    size_t puts = disk->puts;
    size_t reversed = disk->reversed;
    CHECK(disk->report.resumed == 0 && puts > RANGES, "%zu puts", puts);
    for (size_t i = 0; i < N; i++)
        CHECK_NEAR(want[i], near[i], 1e-12);
    for (size_t ends = 1; ends <= puts; ends += ends < RANGES ? 5 : 1)
        run_ended(w, ends, (enum ending)(ends % 3), want, reversed);
}

/* --- what is not taken ------------------------------------------------------ */

// After a complete sweep all is in the store. The same again takes all of it;
// with anything different, nothing.
static void run_others(void)
{
    const task w = { .kind = 1, .start = 0.3, .weight = 1, .resume = true };
    task other[3] = { w, w, w };
    double want[N];
    other[0].start = 0.31;
    other[1].weight = -1;
    other[2].truncated = STEPS - 7;
    for (int i = 0; i < 3; i++) {
        wipe();
        CHECK(in_process(&other[i], 0, BEFORE), "the other one");
        memcpy(want, disk->g, sizeof want);
        wipe();
        CHECK(in_process(&w, 0, BEFORE), "the one");
        CHECK(in_process(&w, 0, BEFORE) && disk->report.resumed == STEPS
                  && disk->reversed == 0, "%zu steps", disk->report.resumed);
        CHECK(in_process(&other[i], 0, BEFORE), "the other one");
        CHECK(disk->report.resumed == 0, "%d: %zu steps", i,
              disk->report.resumed);
        CHECK(memcmp(disk->g, want, sizeof want) == 0, "%d: other bits", i);
    }
    // one bit of what was put last
    CHECK(in_process(&w, 0, BEFORE), "once more");
    memcpy(want, disk->g, sizeof want);
    for (size_t i = 1; i < PLACES; i += 3)
        disk->place[i].blob[BLOB / 20] ^= 1;
    for (size_t i = 2; i < PLACES; i += 3)
        disk->place[i].blob[BLOB / 20] ^= 1;
    CHECK(in_process(&w, 0, BEFORE), "the damaged one");
    CHECK(disk->report.resumed == 0 && memcmp(disk->g, want, sizeof want) == 0,
          "%zu steps", disk->report.resumed);
}

// Another process of the program does not have what this one has: this one goes
// on where the other one can, too. Whatever a process finds out about its
// steps, it asks the others as often as they ask.
static void run_disagreeing(int kind)
{
    const task w = { .kind = kind, .start = 0.3, .weight = 1, .resume = true,
                     .several = true };
    double want[N];
    wipe();
    CHECK(in_process(&w, 0, BEFORE) && disk->agreements == 1, "kind %d: asks "
          "%zu times", kind, disk->agreements);
    memcpy(want, disk->g, sizeof want);
    for (size_t i = 0; i <= RANGES; i += i == 0 ? 1 : 4) {
        size_t asked = i == 0 ? RANGES : i;
        disk->agreements = 0;
        disk->missing = i;
        memset(disk->g, 0, sizeof want);
        CHECK(in_process(&w, 0, BEFORE) && disk->agreements == asked
                  && memcmp(disk->g, want, sizeof want) == 0,
              "kind %d: %zu agreements, \"%s\"", kind, disk->agreements,
              ad_message(disk->status));
        CHECK(disk->report.resumed
                  == (i == 1 ? 0 : i == 0 ? STEPS
                      : STEPS - (RANGES - i + 1) * EVERY),
              "%zu: %zu steps", i, disk->report.resumed);
    }
}

// A put of adjoints that fails: the sweep fails, nothing is dropped, and the
// next process goes on.
static void run_failing(void)
{
    const task w = { .kind = 1, .start = 0.3, .weight = 1, .resume = true };
    wipe();
    disk->failing = RANGES + 4;
    CHECK(in_process(&w, 0, BEFORE) && disk->status == ADREV_EEXTERNAL,
          "\"%s\"", ad_message(disk->status));
    CHECK(disk->drops == 0, "%zu drops", disk->drops);
    disk->failing = 0;
    CHECK(in_process(&w, 0, BEFORE) && disk->status == ADREV_OK, "goes on");
    CHECK(disk->report.resumed == STEPS - (RANGES - 3) * EVERY
              && disk->drops == 1, "%zu steps", disk->report.resumed);
}

int main(void)
{
    disk = mmap(NULL, sizeof *disk, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (disk == MAP_FAILED)
        return EXIT_FAILURE;
    const task tasks[] = {
        { 0, ADREV_STORE_ALL, 0, 0, 0.3, 1, true, false },
        { 1, ADREV_BINOMIAL, 3, 0, 0.3, 1, true, false },
        { 1, ADREV_EVERY, 5, 101, 0.3, 2, true, false },
        { 2, ADREV_STORE_ALL, 0, 0, 0.3, 1, true, false },
        { 3, ADREV_STORE_ALL, 0, 0, 0.37, 1, true, false },
    };
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        run_all_puts(&tasks[i]);
    run_others();
    for (int kind = 0; kind < 4; kind++)
        run_disagreeing(kind);
    run_failing();
    return check_done("resume");
}
