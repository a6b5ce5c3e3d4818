// SPDX-License-Identifier: MIT-0
// tags: slow
/* scan.c - loops as one statement: values, gradients, what they cost.
 *
 * Every program of scan_programs.h runs under every schedule, in memory and
 * with a store. Values and gradients must be those of the table, and have the
 * same bits under all of them; evaluations, states kept and puts are counted
 * here and compared with the report and with the formulas. Then memory, what
 * depends on what, numbers that a step brings along, loops in loops and in
 * calls, and a larger problem against the same loop on the plain tape.
 * Second derivatives are in scan_second.c, what fails in loop_errors.c.
 *
 * What the sheet of B1 to B26 has beyond this and cannot be said with the
 * interface: states that are written at several places or read at tap 0 and
 * above (its B5 is written as the loop that it stands for); the derivative with
 * respect to a number of steps, an index (B20) or a generator's state (B21),
 * which are no recorded numbers, so that nobody can ask for them; B26, the
 * history that was thrown away: only schedules decide what is kept, and all of
 * them are tried.                                                            */

#include "implementation.h"
#include "adrev_loop.h"

#include "check.h"
#include "scan_programs.h"
#include "scan_store.h"

static ad_tape *tape;

/* --- schedules ------------------------------------------------------------ */

struct way {
    const char *name;
    ad_schedule_kind kind;
    size_t n;
    size_t every;           // of a store; 0: none
};

static const struct way ways[] = {
    { "all", ADREV_STORE_ALL, 0, 0 },
    { "every", ADREV_EVERY, 1, 0 },
    { "every", ADREV_EVERY, 2, 0 },
    { "every", ADREV_EVERY, 3, 0 },
    { "every", ADREV_EVERY, 7, 0 },
    { "every", ADREV_EVERY, 5000, 0 },
    { "binomial", ADREV_BINOMIAL, 1, 0 },
    { "binomial", ADREV_BINOMIAL, 2, 0 },
    { "binomial", ADREV_BINOMIAL, 3, 0 },
    { "binomial", ADREV_BINOMIAL, 4, 0 },
    { "binomial", ADREV_BINOMIAL, 10, 0 },
    { "binomial", ADREV_BINOMIAL, 5000, 0 },
    { "bytes", ADREV_BYTES, 300, 0 },
    { "bytes", ADREV_BYTES, 100, 0 },
    { "bytes", ADREV_BYTES, 1 << 20, 0 },
    { "all", ADREV_STORE_ALL, 0, 1 },
    { "all", ADREV_STORE_ALL, 0, 3 },
    { "every", ADREV_EVERY, 2, 4 },
    { "binomial", ADREV_BINOMIAL, 1, 2 },
    { "binomial", ADREV_BINOMIAL, 2, 5 },
    { "bytes", ADREV_BYTES, 64, 10 },
    { "binomial", ADREV_BINOMIAL, 3, 5000 },
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static struct shelf shelf[REPORTS];
static ad_store store[REPORTS];

// The recording before has its states on the shelf: it goes first.
static void go(const struct way *w)
{
    ad_tape_clear(tape);
    how.schedule = (ad_schedule){ .kind = w->kind, .n = w->n };
    how.store = w->every == 0 ? NULL : store;
    memset(shelf, 0, sizeof shelf);
    for (size_t i = 0; i < REPORTS; i++)
        store[i] = store_in(&shelf[i], w->every);
}

static void go_all(void)
{
    go(&ways[0]);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t parts(size_t n, size_t size)
{
    return n / size + (n % size != 0);
}

/* --- how often a step runs ------------------------------------------------ */

// Advances of the best schedule, from its recurrence: m steps to the next
// snapshot, the rest with one snapshot less, then the m with all of them.
static size_t best[128][12];

static void fill_best(void)
{
    for (size_t n = 1; n < 128; n++)
        best[n][1] = n * (n - 1) / 2;
    for (size_t s = 2; s < 12; s++)
        for (size_t n = 2; n < 128; n++) {
            best[n][s] = SIZE_MAX;
            for (size_t m = 1; m < n; m++)
                best[n][s] = smaller(best[n][s], m + best[n - m][s - 1]
                                                     + best[m][s]);
        }
}

static void check_binomial(void)
{
    // n, then s = 1, 2, 3, 4, 5, 8, 10, as the sheet prints them
    static const size_t printed[][8] = {
        { 10, 45, 20, 15, 14, 13, 10, 9 },
        { 16, 120, 45, 33, 27, 25, 22, 20 },
        { 56, 1540, 340, 210, 168, 140, 113, 100 },
        { 100, 4950, 845, 490, 374, 316, 245, 222 },
    };
    static const size_t s[] = { 1, 2, 3, 4, 5, 8, 10 };
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 7; j++) {
            size_t n = printed[i][0];
            CHECK(best[n][s[j]] == printed[i][j + 1], "the test's own table");
            CHECK(ad_binomial_repeats(n, s[j]) == printed[i][j + 1],
                  "%zu steps, %zu states: got %zu, want %zu", n, s[j],
                  ad_binomial_repeats(n, s[j]), printed[i][j + 1]);
        }
    for (size_t n = 1; n < 128; n++)
        for (size_t k = 1; k < 12; k++)
            CHECK(ad_binomial_repeats(n, k) == best[n][k],
                  "%zu steps, %zu states: got %zu, want %zu", n, k,
                  ad_binomial_repeats(n, k), best[n][k]);
    CHECK(ad_binomial_repeats(0, 3) == 0, "no steps");
    CHECK(ad_binomial_repeats(100, 100) == 99, "as many states as steps");
    CHECK(ad_binomial_repeats(100, 5000) == 99, "more states than steps");
    // C(8+3, 8) = 165 is the longest loop with at most three advances a step
    CHECK(ad_binomial_repeats(165, 8) == 3 * 165 - 55, "165 steps");
    // eight each, less C(28, 21)
    CHECK(ad_binomial_repeats(1000000, 20) == 8000000 - 1184040,
          "a million steps, 20 states: got %zu",
          ad_binomial_repeats(1000000, 20));
}

// The most evaluations of a sweep over a stretch of n steps.
static size_t stretch(const struct way *w, size_t n)
{
    if (n == 0)
        return 0;
    switch (w->kind) {
    case ADREV_STORE_ALL:
        return n;
    case ADREV_EVERY:
        return n + n - parts(n, w->n);
    case ADREV_BINOMIAL:
        return n + ad_binomial_repeats(n, w->n);
    default:
        return n + ad_binomial_repeats(n, 1);
    }
}

// Between two states that are put, those that the schedule keeps are kept
// anew.
static size_t stretch_again(const struct way *w, size_t n)
{
    size_t every = w->kind == ADREV_EVERY ? w->n : 1;
    bool again = w->kind == ADREV_EVERY || w->kind == ADREV_STORE_ALL;
    return stretch(w, n) + (n > 0 && again ? (parts(n, every) - 1) * every
                                           : 0);
}

static size_t sweep_most(const struct way *w, size_t n)
{
    if (w->every == 0 || n == 0)
        return stretch(w, n);
    size_t length = smaller(w->every, n);
    return n / length * stretch_again(w, length)
         + stretch_again(w, n % length);
}

static size_t snapshots_most(const struct way *w, size_t n)
{
    size_t length = w->every == 0 ? n : smaller(w->every, n);
    switch (w->kind) {
    case ADREV_STORE_ALL:
        return length;
    case ADREV_EVERY:
        return length == 0 ? 0 : parts(length, w->n) + smaller(w->n, length);
    case ADREV_BINOMIAL:
        return smaller(length, w->n);
    default:
        return length;
    }
}

static void say_way(const struct run *r, const struct way *w, bool right,
                    const char *what, size_t got, size_t want)
{
    CHECK(right, "%s {%d %d}, %s %zu, store %zu: %s: got %zu, expected %zu",
          r->name, r->k[0], r->k[1], w->name, w->n, w->every, what, got, want);
}

static void check_first_run(const struct run *r, const struct way *w)
{
    size_t all = 0;
    for (size_t i = 0; i < how.scans; i++) {
        const ad_scan_report *p = &how.report[i];
        all += p->evaluations;
        say_way(r, w, p->steps == r->steps, "steps", p->steps, r->steps);
        say_way(r, w, p->evaluations == r->steps, "evaluations of the first "
                "run", p->evaluations, r->steps);
        say_way(r, w, p->replayed == 0 && p->paths == 0, "replayed steps "
                "without recorded functions", p->replayed, 0);
        size_t puts = w->every == 0 ? 0 : parts(r->steps, w->every);
        say_way(r, w, p->put == puts && shelf[i].puts == puts, "states put",
                shelf[i].puts, puts);
        say_way(r, w, shelf[i].gets == 0 || w->every == 1, "states got",
                shelf[i].gets, 0);
    }
    if (!(r->kind & NESTED))
        say_way(r, w, all == how.calls, "calls, and as reported", all,
                how.calls);
}

// After a sweep: `before` is the evaluations of each scan before it.
static void check_sweep(const struct run *r, const struct way *w,
                        const size_t *before)
{
    size_t all = 0;
    for (size_t i = 0; i < how.scans; i++) {
        const ad_scan_report *p = &how.report[i];
        size_t n = p->steps;
        size_t got = p->evaluations - before[i];
        size_t most = sweep_most(w, n);
        size_t least = r->kind & CUT ? 0 : n;
        all += p->evaluations;
        if (w->every == 0 && !(r->kind & (EARLY | CUT))
            && w->kind != ADREV_BYTES) {
            // Exactly; but the last state of a binomial schedule, and others,
            // may be kept since the first run, which saves an advance to it.
            least = most;
            if (n > 0 && w->kind == ADREV_BINOMIAL)
                least = most - (n - 1);
        }
        say_way(r, w, got <= most, "evaluations of a sweep, most", got, most);
        say_way(r, w, got >= least, "evaluations of a sweep, least", got,
                least);
        say_way(r, w, p->recorded <= p->evaluations, "recorded, most",
                p->recorded, p->evaluations);
        say_way(r, w, p->snapshots <= snapshots_most(w, n), "states in memory",
                p->snapshots, snapshots_most(w, n));
    }
    if (!(r->kind & NESTED))
        say_way(r, w, all == how.calls, "calls, and as reported", all,
                how.calls);
}

/* --- one program under one schedule --------------------------------------- */

static void note_evaluations(size_t *before)
{
    for (size_t i = 0; i < REPORTS; i++)
        before[i] = how.report[i].evaluations;
}

static void check_pullback(const struct run *r, const struct way *w, ad_rev y,
                           const ad_rev *x, const double *g)
{
    static const double minus_two = -2;
    double dx[MOST] = { 0 };
    CHECK(ad_pullback(tape, 1, &y, &minus_two, r->n, x, dx) == ADREV_OK, "%s",
          r->name);
    for (size_t i = 0; i < r->n; i++)
        dx[i] /= -2;
    // A power of two changes no digit; 0 has a sign.
    for (size_t i = 0; i < r->n; i++)
        CHECK(dx[i] == g[i], "%s, %s %zu: twice the seed: %.17g and %.17g",
              r->name, w->name, w->n, dx[i], g[i]);
}

static void check_pushforward(const struct run *r, const struct way *w,
                              ad_rev y, const ad_rev *x)
{
    double column[MOST] = { 0 };
    for (size_t j = 0; j < r->n; j++) {
        double dx[MOST] = { 0 };
        dx[j] = 1;
        ad_status s = ad_pushforward(tape, r->n, x, dx, 1, &y, &column[j]);
        CHECK(s == ADREV_OK, "%s, %s %zu: %s", r->name, w->name, w->n,
              ad_message(s));
    }
    check_numbers(r, "tangent", r->n, column, r->g);
}

// first, g: of the first schedule; set if w is it
static void run_way(const struct run *r, const struct way *w, double *value,
                    double *g)
{
    ad_rev x[MOST];
    ad_rev y;
    double got[MOST] = { 0 };
    size_t before[REPORTS];

    go(w);
    ad_status s = record_run(tape, r, x, &y);
    CHECK(s == ADREV_OK, "%s, %s %zu: %s", r->name, w->name, w->n,
          ad_message(s));
    if (w == ways) {
        *value = y.v;
        check_numbers(r, "value", 1, value, &r->value);
    }
    CHECK(same_bits(1, &y.v, value), "%s, %s %zu: another value", r->name,
          w->name, w->n);
    check_first_run(r, w);
    for (int sweep = 0; sweep < 2; sweep++) {
        note_evaluations(before);
        s = ad_gradient(tape, y, r->n, x, got);
        CHECK(s == ADREV_OK, "%s, %s %zu: %s", r->name, w->name, w->n,
              ad_message(s));
        if (w == ways && sweep == 0) {
            memcpy(g, got, sizeof got);
            check_numbers(r, "gradient", r->n, g, r->g);
        }
        CHECK(same_bits(r->n, got, g), "%s, %s %zu, store %zu, sweep %d: other "
              "bits: %.17g and %.17g", r->name, w->name, w->n, w->every, sweep,
              got[0], g[0]);
        check_sweep(r, w, before);
    }
    if (r->steps < 1000)
        check_pullback(r, w, y, x, g);
}

static void run_ways(const struct run *r, bool forward)
{
    double value = 0;
    double g[MOST] = { 0 };
    for (size_t i = 0; i < WAYS; i++) {
        if (r->steps >= 1000 && sweep_most(&ways[i], r->steps) > 60000
            && (ways[i].kind != ADREV_BYTES || ways[i].n < 100))
            continue;
        run_way(r, &ways[i], &value, g);
        if (forward && (r->steps < 1000 || i < 2)) {
            ad_rev x[MOST];
            ad_rev y;
            go(&ways[i]);
            record_run(tape, r, x, &y);
            check_pushforward(r, &ways[i], y, x);
        }
    }
    ad_tape_clear(tape);
    for (size_t i = 0; i < REPORTS; i++)
        CHECK(shelf[i].puts == 0 || shelf[i].drops == 1, "%s: dropped %zu "
              "times", r->name, shelf[i].drops);
}

// The table's numbers hold for the plain tape, too: an error here is one of
// the test.
static void run_plain(const struct run *r)
{
    ad_rev x[MOST];
    ad_rev y;
    double g[MOST] = { 0 };
    how.plain = true;
    CHECK(record_run(tape, r, x, &y) == ADREV_OK, "%s", r->name);
    check_numbers(r, "plain value", 1, &y.v, &r->value);
    if (y.job != 0 && ad_gradient(tape, y, r->n, x, g) == ADREV_OK)
        check_numbers(r, "plain gradient", r->n, g, r->g);
    how.plain = false;
}

static void run_programs(void)
{
    for (size_t i = 0; i < RUNS; i++) {
        run_plain(&runs[i]);
        run_ways(&runs[i], true);
    }
    // Forward, a loop that is reversed in part has the tangents of all of it.
    for (size_t i = 0; i < CUTS; i++)
        run_ways(&cut[i], false);
}

/* --- several results ------------------------------------------------------ */

// All rows of a loop, its last state and a number from outside as results: the
// Jacobian in one piece, by rows and by columns.
static void run_jacobian(void)
{
    static const int taps[] = { -1, -2 };
    enum { N = 5, M = 12 };
    double J[3][M * N];
    for (size_t w = 0; w < WAYS; w++) {
        static const double at[N] = { 0.5, 0.25, 1, 2, 3 };
        ad_rev x[N];
        ad_rev y[M] = { { 0 } };
        const ad_scan_state state = { .size = 1, .initial = x + 2, .taps = 2,
                                      .tap = taps, .rows = y, .last = y + 9 };
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        ad_inputs(N, at, x);
        scan((ad_scan_desc){ .step = recurrence_step, .steps = 9, .states = 1,
                             .state = &state, .parameters = 2,
                             .parameter = x });
        y[11] = ad_rec(ad_mul(y[8], x[4]));
        CHECK(y[9].v == y[7].v && y[10].v == y[8].v, "the last rows");
        CHECK(ad_jacobian(tape, M, y, N, x, J[0]) == ADREV_OK, "Jacobian");
        for (size_t i = 0; i < M; i++)
            CHECK(ad_gradient(tape, y[i], N, x, J[1] + i * N) == ADREV_OK,
                  "row");
        for (size_t j = 0; j < N; j++) {
            double dx[N] = { 0 };
            double dy[M];
            dx[j] = 1;
            CHECK(ad_pushforward(tape, N, x, dx, M, y, dy) == ADREV_OK, "dy");
            for (size_t i = 0; i < M; i++)
                J[2][i * N + j] = dy[i];
        }
        for (size_t i = 0; i < M * N; i++)      // fractions: all exact
            CHECK(J[0][i] == J[1][i] && J[1][i] == J[2][i], "%s %zu [%zu]: "
                  "%.17g %.17g %.17g", ways[w].name, ways[w].n, i, J[0][i],
                  J[1][i], J[2][i]);
        CHECK(J[0][4 * N] == 45.0 / 16 && J[0][4 * N + 1] == 25.0 / 8,
              "B6 is among them");
        CHECK(J[0][11 * N + 4] == y[8].v, "the number from outside");
    }
}

/* --- what is written, and where ------------------------------------------- */

// `last` may be `initial`; a row that was not reached is not written.
static void run_results(void)
{
    ad_rev x[2];
    ad_rev row[6];
    ad_rev out[6];
    double g[2] = { 0 };
    for (size_t w = 0; w < WAYS; w++) {
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        x[0] = ad_input(1.5);
        x[1] = x[0];
        for (int i = 0; i < 6; i++)
            row[i] = out[i] = (ad_rev){ .v = 77 };
        const ad_scan_state state = { .size = 1, .initial = x, .last = x,
                                      .rows = row };
        const ad_scan_output output = { .size = 1, .row = out };
        scan((ad_scan_desc){ .step = twice_square_step, .steps = 2,
                             .states = 1, .state = &state, .outputs = 1,
                             .output = &output });
        CHECK(x[0].v == 5.0625 && row[1].v == 5.0625 && out[1].v == 5.0625,
              "x2 = %g", x[0].v);
        for (int i = 2; i < 6; i++)
            CHECK(row[i].v == 77 && out[i].v == 77, "written behind the end");
        CHECK(ad_gradient(tape, x[0], 1, x + 1, g) == ADREV_OK
              && g[0] == 13.5, "got %g", g[0]);
    }
    // stopped early
    for (size_t w = 0; w < WAYS; w++) {
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        x[0] = ad_input(2);
        for (int i = 0; i < 6; i++)
            row[i] = (ad_rev){ .v = 77 };
        const ad_scan_state state = { .size = 1, .initial = x, .rows = row,
                                      .last = x + 1 };
        size_t n = scan((ad_scan_desc){ .step = until_square_step, .steps = 6,
                                        .states = 1, .state = &state });
        CHECK(n == 3 && x[1].v == 256, "%zu steps to %g", n, x[1].v);
        for (int i = 3; i < 6; i++)
            CHECK(row[i].v == 77 && row[i].job == 0, "written behind the end");
    }
}

// What is carried comes back, at the step where the loop stopped.
static void run_untraced(void)
{
    for (size_t w = 0; w < WAYS; w++) {
        int n = 1;
        int m = 5;
        ad_rev x;
        ad_rev y;
        double g = 0;
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        x = ad_input(2);
        const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
        scan((ad_scan_desc){ .step = counting_step, .ctx = &m, .steps = 100,
                             .states = 1, .state = &state, .parameters = 1,
                             .parameter = &x, .untraced = &n,
                             .untraced_bytes = sizeof n });
        CHECK(n == 5, "carried to %d, want 5", n);
        n = 99;             // the scan has its own
        for (int i = 0; i < 2; i++) {
            CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK && g == 80,
                  "%s %zu: got %g, want 80", ways[w].name, ways[w].n, g);
            CHECK(n == 99, "a sweep writes to it");
        }
    }
}

// Constants in every place: nothing is recorded.
static void run_constants(void)
{
    ad_rev y = { 0 };
    const ad_rev x[] = { ad_rec(3), ad_rec(4) };
    const ad_scan_state state = { .size = 1, .initial = x, .last = &y };
    const ad_scan_desc d = { .step = times_step, .steps = 5, .states = 1,
                             .state = &state, .parameters = 1,
                             .parameter = x + 1 };
    go_all();
    ad_tape_clear(tape);
    start_program();
    ad_rev a = ad_input(3);
    scan(d);
    CHECK(y.job == 0 && y.v == 3072, "a loop of constants: %g", y.v);
    CHECK(how.calls == 5, "%zu calls", how.calls);

    // without a tape the steps run
    ad_use(NULL);
    const ad_scan_state from = { .size = 1, .initial = &a, .last = &y };
    scan((ad_scan_desc){ .step = times_step, .steps = 5, .states = 1,
                         .state = &from, .parameters = 1,
                         .parameter = x + 1 });
    CHECK(how.status == ADREV_OK, "%s", ad_message(how.status));
    CHECK(y.job == 0 && y.v == 3072, "without a tape: %g", y.v);
    CHECK(how.calls == 10, "%zu calls", how.calls);
    ad_use(tape);
}

// One number as state, sequence, parameter, and by ctx: its adjoints add up.
static void everywhere_step(ad_step *s, void *ctx)
{
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], s->parameter[0]),
                                  ad_mul(s->sequence[0][0],
                                         *(const ad_rev *)ctx)));
}

static void run_everywhere(void)
{
    double first[1] = { 0 };
    for (size_t w = 0; w < WAYS; w++) {
        double g = 0;
        ad_rev y;
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        ad_rev x = ad_input(1.5);
        const ad_rev u[] = { x, x, x };
        const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
        const ad_scan_sequence q = { .size = 1, .rows = 3, .row = u };
        scan((ad_scan_desc){ .step = everywhere_step, .ctx = &x, .steps = 3,
                             .states = 1, .state = &state, .sequences = 1,
                             .sequence = &q, .parameters = 1,
                             .parameter = &x });
        // x^4 + x^4 + x^3 + x^2
        CHECK(y.v == 2 * 5.0625 + 3.375 + 2.25, "%s: %g", ways[w].name, y.v);
        CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK
              && g == 8 * 3.375 + 3 * 2.25 + 2 * 1.5, "%s: got %.17g",
              ways[w].name, g);
        if (w == 0)
            first[0] = g;
        CHECK(same_bits(1, &g, first), "%s", ways[w].name);
    }
}

/* --- numbers that a step brings along ------------------------------------- */

struct brought {
    ad_rev w[8];
    size_t from;            // used from this step on
    int *choice;            // which of them, step by step; NULL: the step's own
};

static void brought_step(ad_step *s, void *ctx)
{
    const struct brought *b = ctx;
    size_t i = ad_step_index(s);
    ad_rev x = s->state[0][0];
    how.calls++;
    if (i < b->from) {
        s->next[0][0] = ad_rec(ad_mul(x, 0.5));
        return;
    }
    ad_rev w = b->w[b->choice == NULL ? i % 8 : (size_t)b->choice[i]];
    s->next[0][0] = ad_rec(ad_add(ad_mul(x, w), ad_sin(w)));
}

static ad_rev bring(const struct brought *b, ad_rev x, size_t steps)
{
    ad_rev y = { 0 };
    const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
    scan((ad_scan_desc){ .step = brought_step, .ctx = (void *)(uintptr_t)b,
                         .steps = steps, .states = 1, .state = &state });
    return y;
}

// Against the same loop written out.
static void brought_plainly(const struct brought *b, double x, size_t steps,
                            double *value, double *g)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev in[9];
    double at[9] = { x };
    for (int i = 0; i < 8; i++)
        at[i + 1] = 0.25 + 0.125 * i;
    ad_inputs(9, at, in);
    ad_rev y = in[0];
    for (size_t i = 0; i < steps; i++) {
        ad_rev w = in[1 + (b->choice == NULL ? i % 8 : (size_t)b->choice[i])];
        w = ad_rec(ad_mul(w, 2));
        y = i < b->from ? ad_rec(ad_mul(y, 0.5))
                        : ad_rec(ad_add(ad_mul(y, w), ad_sin(w)));
    }
    *value = y.v;
    CHECK(ad_gradient(t, y, 9, in, g) == ADREV_OK, "plain");
    ad_tape_free(t);
    ad_use(tape);
}

static void run_brought(const char *name, size_t from, int *choice,
                        size_t steps)
{
    // ctx must stay as long as the recording
    static struct brought b;
    double want[9];
    double value;
    double first[9] = { 0 };
    b = (struct brought){ .from = from, .choice = choice };
    brought_plainly(&b, 0.7, steps, &value, want);
    for (size_t w = 0; w < WAYS; w++) {
        ad_rev x[9];
        double g[9] = { 0 };
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        x[0] = ad_input(0.7);
        for (int i = 0; i < 8; i++) {
            x[i + 1] = ad_input(0.25 + 0.125 * i);
            b.w[i] = ad_rec(ad_mul(x[i + 1], 2));   // not an input itself
        }
        ad_rev y = bring(&b, x[0], steps);
        CHECK(how.status == ADREV_OK, "%s: %s", name, ad_message(how.status));
        CHECK(y.v == value, "%s, %s %zu: %.17g, want %.17g", name,
              ways[w].name, ways[w].n, y.v, value);
        CHECK(ad_gradient(tape, y, 9, x, g) == ADREV_OK, "%s", name);
        for (int i = 0; i < 9; i++)     // only sums of 13 terms may differ
            CHECK(fabs(g[i] - want[i]) <= 4e-15 * (1 + fabs(want[i])),
                  "%s, %s %zu [%d]: %.17g, want %.17g", name, ways[w].name,
                  ways[w].n, i, g[i], want[i]);
        if (w == 0)
            memcpy(first, g, sizeof g);
        CHECK(same_bits(9, g, first), "%s, %s %zu: other bits", name,
              ways[w].name, ways[w].n);
        double dx[9] = { 0 };
        double dy = 0;
        dx[3] = 1;
        CHECK(ad_pushforward(tape, 9, x, dx, 1, &y, &dy) == ADREV_OK
              && fabs(dy - want[3]) <= 4e-15 * (1 + fabs(want[3])),
              "%s: tangent %.17g, want %.17g", name, dy, want[3]);
    }
}

// A constant by ctx, and a parameter by both ways.
static void run_brought_twice(void)
{
    static struct brought b;
    double g[2] = { 0 };
    b = (struct brought){ .from = 0 };
    go_all();
    ad_tape_clear(tape);
    start_program();
    ad_rev x = ad_input(0.5);
    for (int i = 0; i < 8; i++)
        b.w[i] = i % 2 ? x : ad_rec(2);
    ad_rev y = bring(&b, x, 2);         // (2x + sin 2) x + sin x
    CHECK_CLOSE(y.v, (1 + sinl(2)) * 0.5L + sinl(0.5L), 2);
    CHECK(ad_gradient(tape, y, 1, &x, g) == ADREV_OK, "constants by ctx");
    CHECK_CLOSE(g[0], 4 * 0.5L + sinl(2) + cosl(0.5L), 2);
}

static void run_captured(void)
{
    static int same[12] = { 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 };
    static int late[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5 };
    static int mixed[12] = { 7, 0, 6, 1, 5, 2, 4, 3, 7, 7, 0, 0 };
    run_brought("its own", 0, NULL, 12);
    run_brought("one", 0, same, 12);
    run_brought("one in the last step", 0, late, 12);
    run_brought("another order", 0, mixed, 12);
    run_brought("from step 9", 9, NULL, 12);
    run_brought("one step", 0, NULL, 1);
    run_brought_twice();
}

/* --- loops in loops and in calls ------------------------------------------ */

static ad_rev held[2];      // what the inner steps bring along

static void holding_inner_step(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], held[0]), held[1]));
}

// The inner step uses a number of the outer step, and one from outside.
static void holding_step(ad_step *s, void *ctx)
{
    const ad_scan_state state = { .size = 1, .initial = s->parameter,
                                  .last = s->next[0] };
    (void)ctx;
    how.calls++;
    held[0] = s->state[0][0];
    scan_within((ad_scan_desc){ .step = holding_inner_step, .steps = 2,
                                .states = 1, .state = &state });
}

// x <- (p x + q) x + q, three times
static void run_held(void)
{
    double first[3] = { 0 };
    for (size_t w = 0; w < WAYS; w++) {
        static const double at[3] = { 0.5, 1, 0.25 };
        ad_rev in[3];
        ad_rev y = { 0 };
        double g[3] = { 0 };
        double want[3] = { 1, 0, 0 };
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        ad_inputs(3, at, in);
        held[1] = in[2];
        const ad_scan_state state = { .size = 1, .initial = in, .last = &y };
        scan((ad_scan_desc){ .step = holding_step, .steps = 3, .states = 1,
                             .state = &state, .parameters = 1,
                             .parameter = in + 1 });
        CHECK(how.status == ADREV_OK, "held: %s", ad_message(how.status));
        double x = at[0];
        for (int i = 0; i < 3; i++) {
            double slope = 2 * at[1] * x + at[2];
            for (int j = 0; j < 3; j++)
                want[j] *= slope;
            want[1] += x * x;
            want[2] += x + 1;
            x = (at[1] * x + at[2]) * x + at[2];
        }
        CHECK(y.v == x, "held: %.17g, want %.17g", y.v, x);
        CHECK(ad_gradient(tape, y, 3, in, g) == ADREV_OK, "held");
        if (w == 0)
            memcpy(first, g, sizeof g);
        CHECK(same_bits(3, g, first), "held, %s", ways[w].name);
        for (int j = 0; j < 3; j++)         // fractions, exact in any order
            CHECK(g[j] == want[j], "held, %s [%d]: %.17g, want %.17g",
                  ways[w].name, j, g[j], want[j]);
    }
}

// A nest of depth 3 runs the innermost step once more for each loop around it.
static size_t innermost;

static void deep_step(ad_step *s, void *ctx)
{
    int depth = *(const int *)ctx;
    static int below[] = { 0, 0, 1, 2, 3 };
    const ad_scan_state state = { .size = 1, .initial = s->state[0],
                                  .last = s->next[0] };
    if (depth == 1) {
        innermost++;
        s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], s->parameter[0]),
                                      1));
        return;
    }
    scan_within((ad_scan_desc){ .step = deep_step, .ctx = &below[depth],
                                .steps = 3, .states = 1, .state = &state,
                                .parameters = 1, .parameter = s->parameter });
}

// The sheet counts n = 3: 6 + 3, 27 + 9, 108 + 27, 405 + 81.
static void run_deep(void)
{
    static int depths[] = { 0, 1, 2, 3, 4 };
    size_t all = 1;
    for (int d = 1; d <= 4; d++) {
        ad_rev x[2];
        ad_rev y = { 0 };
        double g[2] = { 0 };
        all *= 3;
        go_all();
        ad_tape_clear(tape);
        start_program();
        innermost = 0;
        x[0] = ad_input(1);
        x[1] = ad_input(0.5);
        const ad_scan_state state = { .size = 1, .initial = x, .last = &y };
        scan((ad_scan_desc){ .step = deep_step, .ctx = &depths[d], .steps = 3,
                             .states = 1, .state = &state, .parameters = 1,
                             .parameter = x + 1 });
        CHECK(innermost == all, "depth %d: %zu calls to run it", d, innermost);
        CHECK(ad_gradient(tape, y, 2, x, g) == ADREV_OK, "depth %d", d);
        CHECK(innermost <= (size_t)(d + 1) * all, "depth %d: %zu calls, most "
              "%zu", d, innermost, (size_t)(d + 1) * all);
        double value = 1;
        double dw = 0;
        for (size_t i = 0; i < all; i++) {
            dw = dw * 0.5 + value;
            value = value * 0.5 + 1;
        }
        CHECK_CLOSE(y.v, value, 0);
        // powers of 1/2 are exact; of the others 81 roundings, halved each time
        CHECK_CLOSE(g[0], ldexp(1, -(int)all), 0);
        CHECK_CLOSE(g[1], dw, 2);
    }
}

static void scan_in_call(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev in[2] = { x[0], ad_rec(ad_exp(x[1])) };
    logistic(in, y, ctx);
    *y = ad_rec(ad_mul(*y, x[0]));
}

static void call_inside(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_mul(x[1], x[0]), ad_sub(1, x[0])));
}

static void call_step(ad_step *s, void *ctx)
{
    const ad_rev in[2] = { s->state[0][0], s->parameter[0] };
    (void)ctx;
    how.calls++;
    ad_checkpoint(call_inside, NULL, 2, in, 1, s->next[0]);
}

// A scan within ad_checkpoint, and ad_checkpoint within the steps of one.
static void run_calls(void)
{
    static int twenty[] = { 20 };
    static const double at[2] = { 3.5, -1.2 };
    double first[2] = { 0 };
    double value = 0;
    for (size_t w = 0; w < WAYS; w++) {
        ad_rev x[2];
        ad_rev y;
        double g[2] = { 0 };
        go(&ways[w]);
        if (how.store != NULL)
            continue;       // in a call it would be put again and again
        ad_tape_clear(tape);
        start_program();
        ad_inputs(2, at, x);
        if (w == 0) {       // written out
            how.plain = true;
            scan_in_call(x, &y, twenty);
            how.plain = false;
            value = y.v;
            CHECK(ad_gradient(tape, y, 2, x, first) == ADREV_OK, "plain");
            ad_tape_clear(tape);
            ad_inputs(2, at, x);
        }
        CHECK(ad_checkpoint(scan_in_call, twenty, 2, x, 1, &y) == ADREV_OK,
              "a scan in a call");
        CHECK(y.v == value, "%.17g, want %.17g", y.v, value);
        CHECK(ad_gradient(tape, y, 2, x, g) == ADREV_OK, "a scan in a call");
        for (int i = 0; i < 2; i++)     // sums of 20 terms in another order
            CHECK(fabs(g[i] - first[i]) <= 1e-14 * fabs(first[i]),
                  "%s %zu [%d]: %.17g, want %.17g", ways[w].name, ways[w].n, i,
                  g[i], first[i]);
    }
    const struct run *b25 = NULL;
    for (size_t i = 0; i < RUNS; i++)
        b25 = runs[i].f == logistic ? &runs[i] : b25;
    for (size_t w = 0; w < WAYS; w++) {
        ad_rev x[2];
        ad_rev y;
        double g[2] = { 0 };
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        ad_inputs(2, b25->x, x);
        const ad_scan_state state = { .size = 1, .initial = x + 1,
                                      .last = &y };
        scan((ad_scan_desc){ .step = call_step, .steps = 20, .states = 1,
                             .state = &state, .parameters = 1,
                             .parameter = x });
        CHECK(how.status == ADREV_OK, "%s", ad_message(how.status));
        CHECK(ad_gradient(tape, y, 2, x, g) == ADREV_OK, "calls in a scan");
        check_numbers(b25, "calls in a scan", 2, g, b25->g);
    }
}

/* --- ad_loop -------------------------------------------------------------- */

static void loop_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    ad_rev a = ad_rec(ad_mul(ad_mul(x[2], x[0]), ad_sub(1, x[0])));
    how.calls++;
    y[1] = ad_rec(ad_add(x[1], ad_mul(x[0], k[0])));
    y[0] = a;
}

static void run_loops(void)
{
    static int k[] = { 3 };
    static const double at[3] = { 0.3, 1, 3.5 };
    const struct way *plain = &ways[0];
    double first[3] = { 0 };
    for (size_t w = 0; w < WAYS; w++) {
        ad_rev x[3];
        ad_rev y[2];
        double g[3] = { 0 };
        go(&ways[w]);
        ad_tape_clear(tape);
        ad_inputs(3, at, x);
        ad_schedule schedule = how.schedule;
        schedule.store = how.store;
        memcpy(y, x, sizeof y);
        ad_status s = ad_loop(loop_body, k, 20, 2, y, 1, x + 2, schedule);
        CHECK(s == ADREV_OK, "%s", ad_message(s));
        CHECK(ad_gradient(tape, y[1], 3, x, g) == ADREV_OK, "ad_loop");
        if (&ways[w] == plain)
            memcpy(first, g, sizeof g);
        CHECK(same_bits(3, g, first), "ad_loop, %s", ways[w].name);
        CHECK(g[1] == 1, "the initial sum: %g", g[1]);

        ad_tape_clear(tape);
        ad_inputs(3, at, x);
        ad_rev in[3] = { x[0], x[1], x[2] };
        for (int i = 0; i < 20; i++)
            loop_body(in, in, k);
        CHECK(in[1].v == y[1].v, "ad_loop: %.17g, want %.17g", y[1].v,
              in[1].v);
        CHECK(ad_gradient(tape, in[1], 3, x, g) == ADREV_OK, "written out");
        for (int i = 0; i < 3; i++)     // sums of 20 terms in another order
            CHECK(fabs(g[i] - first[i]) <= 1e-14 * fabs(g[i]),
                  "ad_loop [%d]: %.17g, want %.17g", i, first[i], g[i]);
    }
    // no parameters, no steps
    ad_rev x = ad_input(3);
    ad_rev y = x;
    double g = 0;
    CHECK(ad_loop(loop_body, k, 0, 1, &y, 0, NULL, (ad_schedule){ 0 })
              == ADREV_OK && y.v == 3, "no steps");
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK && g == 1, "no steps");
}

/* --- memory --------------------------------------------------------------- */

// A state of k[1] numbers, k[0] operations on each.
static void long_step(ad_step *s, void *ctx)
{
    const int *k = ctx;
    how.calls++;
    for (int j = 0; j < k[1]; j++) {
        ad_rev x = s->state[0][j];
        for (int i = 0; i < k[0]; i++)
            x = ad_rec(ad_add(ad_mul(x, s->parameter[0]), 0.125));
        s->next[0][j] = x;
    }
}

struct cost {
    size_t tape;
    size_t kept;            // as reported
    size_t snapshots;
};

static struct cost cost_of(const struct way *w, size_t steps, int operations,
                           int size)
{
    static int k[2];
    static ad_rev x[MOST + 1];
    ad_rev last[MOST];
    double g[MOST + 1];
    const ad_scan_state state = { .size = (size_t)size, .initial = x,
                                  .last = last };
    k[0] = operations;
    k[1] = size;
    go(w);
    ad_tape_clear(tape);
    start_program();
    for (int i = 0; i < size; i++)
        x[i] = ad_input(i);
    x[size] = ad_input(0.5);
    scan((ad_scan_desc){ .step = long_step, .ctx = k, .steps = steps,
                         .states = 1, .state = &state, .parameters = 1,
                         .parameter = x + size });
    size_t bytes = ad_tape_bytes(tape);
    CHECK(ad_gradient(tape, last[0], (size_t)size + 1, x, g) == ADREV_OK,
          "%zu steps", steps);
    return (struct cost){ bytes, how.report[0].bytes,
                          how.report[0].snapshots };
}

static void run_memory(void)
{
    const size_t state = 5 * sizeof(double);
    for (size_t w = 0; w < WAYS; w++) {
        if (ways[w].every != 0)
            continue;
        struct cost one = cost_of(&ways[w], 40, 1, 5);
        struct cost ten = cost_of(&ways[w], 40, 10, 5);
        struct cost many = cost_of(&ways[w], 40, 200, 5);
        CHECK(one.tape == ten.tape && one.tape == many.tape,
              "%s %zu: tape: %zu, %zu, %zu bytes", ways[w].name, ways[w].n,
              one.tape, ten.tape, many.tape);
        CHECK(one.kept == ten.kept && one.kept == many.kept,
              "%s %zu: kept: %zu, %zu, %zu bytes", ways[w].name, ways[w].n,
              one.kept, ten.kept, many.kept);
        // states, and beside them a header, inputs, list of what is kept
        CHECK(one.kept <= one.snapshots * (state + 64) + 4096,
              "%s %zu: %zu states in %zu bytes", ways[w].name, ways[w].n,
              one.snapshots, one.kept);
        CHECK(one.kept >= one.snapshots * state, "%s %zu: %zu states in %zu "
              "bytes", ways[w].name, ways[w].n, one.snapshots, one.kept);
        // The tape has one statement: its length is not that of the loop.
        struct cost longer = cost_of(&ways[w], 120, 1, 5);
        CHECK(one.tape == longer.tape, "%s %zu: tape: %zu and %zu bytes",
              ways[w].name, ways[w].n, one.tape, longer.tape);
    }
}

static void run_growth(void)
{
    static const struct way binomial = { "binomial", ADREV_BINOMIAL, 5, 0 };
    static const struct way bytes = { "bytes", ADREV_BYTES, 400, 0 };
    static const struct way every = { "every", ADREV_EVERY, 10, 0 };
    const size_t state = 5 * sizeof(double);

    struct cost one = cost_of(&binomial, 100, 1, 5);
    struct cost two = cost_of(&binomial, 1000, 1, 5);
    struct cost three = cost_of(&binomial, 3000, 1, 5);
    CHECK(one.kept == two.kept && one.kept == three.kept,
          "binomial: %zu, %zu, %zu bytes", one.kept, two.kept, three.kept);
    CHECK(one.snapshots == 5 && three.snapshots == 5, "%zu and %zu states",
          one.snapshots, three.snapshots);

    one = cost_of(&bytes, 100, 1, 5);
    two = cost_of(&bytes, 1000, 1, 5);
    CHECK(one.kept == two.kept, "bytes: %zu, %zu", one.kept, two.kept);
    CHECK(one.snapshots * state <= 400 && one.snapshots > 0,
          "%zu states of %zu bytes in 400", one.snapshots, state);
    CHECK(one.snapshots >= 5, "room for ten, %zu used", one.snapshots);

    // every state, and the same again for twice the steps
    one = cost_of(&ways[0], 100, 1, 5);
    two = cost_of(&ways[0], 200, 1, 5);
    three = cost_of(&ways[0], 400, 1, 5);
    CHECK(two.snapshots == 200, "all: %zu states", two.snapshots);
    // Blocks of states may be rounded up, by no more than doubling.
    CHECK(two.kept - one.kept >= 100 * state
          && three.kept <= 2 * (400 * state + 4096),
          "all: %zu, %zu, %zu bytes", one.kept, two.kept, three.kept);

    one = cost_of(&every, 100, 1, 5);
    CHECK(one.snapshots <= 20, "every tenth: %zu states", one.snapshots);

    // twice the size, twice the bytes; the rest stays
    one = cost_of(&binomial, 100, 1, 5);
    two = cost_of(&binomial, 100, 1, 10);
    CHECK(two.kept <= 2 * one.kept + 4096, "%zu and %zu bytes", one.kept,
          two.kept);
}

/* --- blocks of an allocator ----------------------------------------------- */

struct counted {
    size_t live;
    size_t most;
    size_t bytes;
};

static void *counted_alloc(size_t bytes, void *user)
{
    struct counted *c = user;
    size_t *block = malloc(bytes + 16);
    if (block == NULL)
        return NULL;
    *block = bytes;
    c->live++;
    c->bytes += bytes;
    c->most = c->bytes > c->most ? c->bytes : c->most;
    return block + 16 / sizeof *block;
}

static void counted_free(void *memory, void *user)
{
    struct counted *c = user;
    size_t *block = (size_t *)memory - 16 / sizeof *block;
    c->live--;
    c->bytes -= *block;
    free(block);
}

// All memory comes from the allocator that the scan is given and goes when the
// statement leaves the tape: by clear, by rewind, by free.
static void run_allocator(void)
{
    for (size_t w = 0; w < WAYS; w++)
        for (int leave = 0; leave < 3; leave++) {
            struct counted c = { 0 };
            const ad_allocator from = { counted_alloc, counted_free, &c };
            ad_tape *t = ad_tape_new();
            ad_use(t);
            go(&ways[w]);
            start_program();
            ad_rev x = ad_input(0.95);
            ad_mark mark = ad_tape_mark(t);
            ad_rev y = { 0 };
            double g = 0;
            const ad_scan_state state = { .size = 1, .initial = &x,
                                          .last = &y };
            scan((ad_scan_desc){ .step = square_step, .steps = 12,
                                 .states = 1, .state = &state,
                                 .allocator = &from });
            CHECK(c.live > 0, "nothing is allocated there");
            // What the report does not count: the scan itself, lists of what is
            // where, and the stage, which later scans use again.
            CHECK(c.bytes <= how.report[0].bytes + 6000, "%s %zu, store %zu: "
                  "%zu bytes are kept, reported %zu", ways[w].name, ways[w].n,
                  ways[w].every, c.bytes, how.report[0].bytes);
            CHECK(ad_gradient(t, y, 1, &x, &g) == ADREV_OK, "gradient");
            size_t most = c.most;
            CHECK(how.report[0].bytes <= most, "%zu bytes reported, %zu taken",
                  how.report[0].bytes, most);
            if (leave == 0)
                ad_tape_clear(t);
            if (leave == 1)
                CHECK(ad_tape_rewind(t, mark) == ADREV_OK, "rewind");
            if (leave == 2)
                ad_tape_free(t);
            CHECK(c.live == 0, "%s %zu: %zu blocks live", ways[w].name,
                  ways[w].n, c.live);
            CHECK(shelf[0].puts == 0 || shelf[0].drops == 1,
                  "dropped %zu times", shelf[0].drops);
            if (leave < 2)
                ad_tape_free(t);
            CHECK(shelf[0].puts == 0 || shelf[0].drops == 1,
                  "dropped %zu times", shelf[0].drops);
            ad_use(tape);
        }
}

// A short loop costs what a short loop keeps: the tape of 100 of them, and
// beside it the states of each.
static void run_short(void)
{
    for (size_t w = 0; w < WAYS; w++) {
        struct counted c = { 0 };
        const ad_allocator from = { counted_alloc, counted_free, &c };
        ad_tape *t = ad_tape_new_with(&from);
        ad_use(t);
        if (ways[w].every == 0) {
            const ad_rev x = ad_input(0.95);
            ad_rev y = ad_input(1.01);
            double g = 0;
            const ad_scan_state state = { .size = 1, .initial = &y,
                                          .last = &y };
            go(&ways[w]);
            start_program();
            for (int i = 0; i < 100; i++)
                scan((ad_scan_desc){ .step = times_step, .steps = 10,
                                     .states = 1, .state = &state,
                                     .parameters = 1, .parameter = &x });
            CHECK(ad_gradient(t, y, 1, &x, &g) == ADREV_OK, "gradient");
            CHECK(how.report[0].bytes <= 2000, "%s %zu: %zu bytes reported",
                  ways[w].name, ways[w].n, how.report[0].bytes);
            // 64 kB each for two tapes, and 2 kB for each loop
            CHECK(c.most <= 4 * 65536 + 100 * 2000, "%s %zu: 100 loops of ten "
                  "steps take %zu bytes", ways[w].name, ways[w].n, c.most);
        }
        ad_tape_free(t);
        CHECK(c.live == 0, "%zu blocks live", c.live);
        ad_use(tape);
    }
}

// A large state, of which a few are kept: no room for more is taken.
static void large_step(ad_step *s, void *ctx)
{
    const int *n = ctx;
    for (int i = 0; i < *n; i++)
        s->next[0][i] = ad_rec(ad_mul(s->state[0][i], s->parameter[0]));
}

// Whether a state of so many numbers is more than there may be: refused.
static bool too_large(const struct way *w, size_t numbers)
{
    return w->kind == ADREV_BYTES && w->n < numbers * sizeof(ad_real);
}

static void run_large(void)
{
    enum { SIZE = 20000 };
    static int size = SIZE;
    static ad_rev x[SIZE];
    const size_t bytes = SIZE * sizeof(double);
    for (size_t w = 0; w < WAYS; w++) {
        struct counted c = { 0 };
        const ad_allocator from = { counted_alloc, counted_free, &c };
        double g = 0;
        if (ways[w].every != 0 || too_large(&ways[w], SIZE))
            continue;
        go(&ways[w]);
        start_program();
        for (int i = 0; i < SIZE; i++)
            x[i] = ad_input(i);
        ad_rev p = ad_input(1);
        const ad_scan_state state = { .size = SIZE, .initial = x, .last = x };
        scan((ad_scan_desc){ .step = large_step, .ctx = &size, .steps = 7,
                             .states = 1, .state = &state, .parameters = 1,
                             .parameter = &p, .allocator = &from });
        CHECK(ad_gradient(tape, x[5], 1, &p, &g) == ADREV_OK && g == 35,
              "large: %g", g);
        const ad_scan_report *r = &how.report[0];
        // and the last one, and some list of numbers beside
        CHECK(r->bytes <= (r->snapshots + 3) * bytes + 4096, "%s %zu: %zu "
              "bytes reported, %zu states", ways[w].name, ways[w].n, r->bytes,
              r->snapshots);
        // while it is swept: the state, its numbers and adjoints, a recording
        // of the step with 26 bytes and an adjoint for each
        CHECK(c.bytes <= r->bytes + 20 * bytes, "%s %zu: %zu bytes are kept, "
              "reported %zu", ways[w].name, ways[w].n, c.bytes, r->bytes);
        ad_tape_clear(tape);
        CHECK(c.live == 0, "%zu blocks live", c.live);
    }
}

// Loops whose end nobody knows: no more states than asked for, and a sweep
// that starts from the beginning if that is cheaper.
static void counted_out_step(ad_step *s, void *ctx)
{
    size_t *n = s->untraced;
    how.calls++;
    s->next[0][0] = ad_rec(ad_mul(s->state[0][0], s->parameter[0]));
    s->stop = ++*n == *(const size_t *)ctx;
}

static void run_open_one(size_t most, size_t n, size_t states, bool open,
                         bool bytes)
{
    static size_t end;
    size_t counter = 0;
    double g[2];
    ad_tape_clear(tape);
    start_program();
    const ad_rev x[2] = { ad_input(3), ad_input(-1) };
    ad_rev y = { 0 };
    const ad_scan_state state = { .size = 1, .initial = x, .last = &y };
    ad_scan_report *p = &how.report[0];
    end = n;
    ad_schedule schedule = { bytes ? ADREV_BYTES : ADREV_BINOMIAL,
                             bytes ? states * 16 : states, NULL };
    CHECK(ad_scan(&(ad_scan_desc){ .step = counted_out_step, .ctx = &end,
                                   .steps = most, .states = 1, .state = &state,
                                   .parameters = 1, .parameter = x + 1,
                                   .untraced = &counter,
                                   .untraced_bytes = sizeof counter,
                                   .schedule = schedule, .open_ended = open },
                  p) == ADREV_OK, "endless");
    CHECK(p->steps == n && p->evaluations == n && counter == n, "%zu steps",
          p->steps);
    for (int sweep = 0; sweep < 3; sweep++) {
        size_t before = p->evaluations;
        CHECK(ad_gradient(tape, y, 2, x, g) == ADREV_OK, "endless");
        CHECK(g[0] == (n % 2 ? -1 : 1)
              && g[1] == (n % 2 ? 3 : -3) * (double)n,
              "%zu of %zu, %zu states: %g %g", n, most, states, g[0], g[1]);
        size_t did = p->evaluations - before;
        CHECK(did <= n + ad_binomial_repeats(n, states), "%zu of %zu steps, "
              "%zu states, open %d, sweep %d: %zu evaluations, most %zu", n,
              most, states, open, sweep, did,
              n + ad_binomial_repeats(n, states));
        CHECK(most > n || open || sweep > 0
              || p->evaluations == n + 1 + ad_binomial_repeats(n, states),
              "%zu steps, %zu states: %zu evaluations", n, states,
              p->evaluations);
    }
    CHECK(p->snapshots <= states, "%zu states, allowed %zu", p->snapshots,
          states);
    CHECK(p->evaluations == how.calls, "%zu calls", how.calls);
}

static void run_open(void)
{
    static const size_t ends[] = { 1, 2, 3, 5, 10, 33, 100, 600 };
    static const size_t mosts[] = { 600, 1001, 1000000 };
    static const size_t states[] = { 1, 2, 3, 7, 20, 600 };
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < 6; k++)
            if (states[k] > 1 || ends[i] <= 100)
                run_open_one(ends[i], ends[i], states[k], false, false);
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 3; j++)
            for (size_t k = 0; k < 6; k++)
                for (int open = 0; open < 4; open++)
                    if (states[k] > 1 || ends[i] <= 100)
                        run_open_one(mosts[j], ends[i], states[k], open % 2,
                                     open / 2);
}

// In fixed memory the tape holds the statement, an allocator the states.
static void run_fixed(void)
{
    static long double memory[1 << 12];
    struct counted c = { 0 };
    const ad_allocator from = { counted_alloc, counted_free, &c };
    ad_tape *t = ad_tape_in(memory, sizeof memory);
    ad_use(t);
    go_all();
    start_program();
    ad_rev x = ad_input(1.1);
    ad_rev y = { 0 };
    double g = 0;
    const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
    scan((ad_scan_desc){ .step = square_step, .steps = 5, .states = 1,
                         .state = &state, .allocator = &from });
    CHECK(how.status == ADREV_OK, "%s", ad_message(how.status));
    CHECK(ad_gradient(t, y, 1, &x, &g) == ADREV_OK, "in fixed memory");
    CHECK_CLOSE(g, 32 * powl((long double)1.1, 31), 32);     // 31 roundings
    ad_tape_clear(t);
    CHECK(c.live == 0, "%zu blocks live", c.live);
    ad_tape_free(t);
    ad_use(tape);
}

/* --- what depends on what ------------------------------------------------- */

static void check_answers(const char *name, size_t m, const ad_rev *y,
                          size_t n, const ad_rev *x, const char *want)
{
    ad_connection got[MOST];
    ad_status s = ad_connected(tape, m, y, n, x, got);
    CHECK(s == ADREV_OK, "%s: %s", name, ad_message(s));
    for (size_t i = 0; s == ADREV_OK && i < n; i++) {
        ad_connection c = want[i] == 'c' ? ADREV_CONNECTED
                        : want[i] == 'd' ? ADREV_DISCONNECTED
                                         : ADREV_NOT_ASKED;
        CHECK(got[i] == c, "%s: input %zu: got %d, want %d", name, i,
              (int)got[i], (int)c);
    }
}

// Of n programs the first one with this number.
static void connected_of(size_t n, const struct run r[], ad_vector_fn *f,
                         int k, const char *want)
{
    size_t i = 0;
    while (i < n && (r[i].f != f || r[i].k[0] != k))
        i++;
    if (!CHECK(i < n, "no such program"))
        return;
    for (size_t w = 0; w < WAYS; w++) {
        ad_rev x[MOST];
        ad_rev y;
        go(&ways[w]);
        record_run(tape, &r[i], x, &y);
        check_answers(r[i].name, 1, &y, r[i].n, x, want);
    }
}

static void connected_run(ad_vector_fn *f, int k, const char *want)
{
    connected_of(RUNS, runs, f, k, want);
}

// Two steps back: of u[t-2] and what was there.
static void delayed(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = ad_rec(ad_mul(2, s->sequence[0][0]));
    s->next[1][0] = ad_rec(ad_mul(s->state[0][0], s->parameter[0]));
}

// What lies before the cut, and what no result of the steps behind it reads.
static void run_connected_cut(void)
{
    enum { STEPS = 5 };
    for (size_t w = 0; w < WAYS; w++) {
        ad_rev x[8], last[2];
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        for (int i = 0; i < 8; i++)
            x[i] = ad_input(i + 1);
        const ad_scan_state state[] = {
            { .size = 1, .initial = x, .last = last },
            { .size = 1, .initial = x + 1, .last = last + 1 },
        };
        const ad_scan_sequence u = { .size = 1, .rows = STEPS, .row = x + 3 };
        scan((ad_scan_desc){ .step = delayed, .steps = STEPS, .states = 2,
                             .state = state, .sequences = 1, .sequence = &u,
                             .parameters = 1, .parameter = x + 2,
                             .truncated = true, .reversed = 2 });
        check_answers("the last", 1, last, 8, x, "dddddddc");
        check_answers("the one before", 1, last + 1, 8, x, "ddcdddcd");
    }
}

// Answers from the steps themselves, closed over the recurrence.
static void run_connected(void)
{
    connected_run(apart, 0, "ccd");
    connected_run(apart, 1, "cdd");
    connected_run(recurrent, 0, "ccdcc");
    connected_run(zero_tap, 0, "ccccc");
    connected_run(partly, 0, "ccccc");
    connected_run(gather, 2, "ddddddccc");
    connected_run(random_walk, 0, "cc");
    connected_run(unused, 0, "c");
    connected_run(squares, 2, "c");
    connected_run(times, 0, "cd");
    connected_run(until, 0, "cccccccdddddd");
    connected_of(CUTS, cut, until_element, 3, "cccccccdddddddd");
    for (int k = 0; k < 10; k++)
        if (k == 0 || k == 1 || k == 3 || k == 5 || k == 9)
            connected_of(CUTS, cut, truncated, k, "ccccccc");
    run_connected_cut();
}

// The numbers for which nobody can ask: constants; and what only one row says.
static void run_asked(void)
{
    ad_rev x[4];
    ad_rev row[3][3] = { { { 0 } } };
    ad_connection got[4];
    go_all();
    ad_tape_clear(tape);
    start_program();
    x[0] = ad_input(1.1);
    x[1] = ad_rec(2);
    x[2] = ad_input(5);
    x[3] = ad_input(6);
    const ad_scan_state state[] = {
        { .size = 1, .initial = x, .rows = row[0] },
        { .size = 1, .initial = x + 1, .rows = row[1] },
        { .size = 1, .initial = x + 2, .rows = row[2] },
    };
    scan((ad_scan_desc){ .step = apart_step, .steps = 3, .states = 3,
                         .state = state });
    check_answers("a constant", 9, row[0], 4, x, "cndd");
    check_answers("the third alone", 1, &row[2][0], 4, x, "cndd");
    check_answers("nothing at all", 1, &x[3], 4, x, "dndc");
    // An outcome that is a constant depends on nothing.
    CHECK(row[1][2].v == 2, "a constant that is carried along");
    // Plain statements, calls and arrays are looked through likewise.
    ad_rev z = ad_rec(ad_mul(row[0][2], ad_mul(0, x[3])));
    check_answers("a product with 0", 1, &z, 4, x, "cndc");
    ad_rev both[2] = { x[2], x[3] };
    ad_rev sum = ad_sum(2, both);
    check_answers("a sum", 1, &sum, 4, x, "dncc");
    CHECK(ad_connected(tape, 1, &z, 4, NULL, got) == ADREV_ESHAPE, "NULL");
    CHECK(ad_connected(NULL, 1, &z, 4, x, got) == ADREV_ENOTAPE, "no tape");
    ad_rev old = z;
    ad_tape_clear(tape);
    x[0] = ad_input(1);
    CHECK(ad_connected(tape, 1, &old, 1, x, got) == ADREV_EFOREIGN,
          "of the recording before");
}

/* --- a larger problem: heat in a rod -------------------------------------- */

enum { CELLS = 30, TIMES = 150 };

static void heat_step(ad_step *s, void *ctx)
{
    const ad_rev *u = s->state[0];
    const ad_rev *c = s->parameter;         // conductivity between two cells
    (void)ctx;
    how.calls++;
    for (int i = 0; i < CELLS; i++) {
        ad_rev flow = { 0 };
        if (i > 0)
            ad_acc(&flow, ad_mul(c[i - 1], ad_sub(u[i - 1], u[i])));
        if (i < CELLS - 1)
            ad_acc(&flow, ad_mul(c[i], ad_sub(u[i + 1], u[i])));
        s->next[0][i] = ad_rec(ad_add(u[i], flow));
    }
    s->output[0][0] = ad_rec(ad_sqr(ad_sub(s->next[0][CELLS / 2],
                                           s->sequence[0][0])));
}

// Misfit of one cell to measurements; gradient with respect to the initial
// temperatures, the conductivities and the measurements.
static ad_rev heat(ad_rev *x)
{
    static ad_rev misfit[TIMES];
    const ad_scan_state state = { .size = CELLS, .initial = x };
    const ad_scan_sequence u = { .size = 1, .rows = TIMES,
                                 .row = x + 2 * CELLS - 1 };
    const ad_scan_output output = { .size = 1, .row = misfit };
    for (int i = 0; i < CELLS; i++)
        x[i] = ad_input(i % 7 - 3);
    for (int i = 0; i < CELLS - 1; i++)
        x[CELLS + i] = ad_input(0.1 + 0.01 * (i % 5));
    for (int i = 0; i < TIMES; i++)
        x[2 * CELLS - 1 + i] = ad_input(0.01 * (i % 13));
    scan((ad_scan_desc){ .step = heat_step, .steps = TIMES, .states = 1,
                         .state = &state, .sequences = 1, .sequence = &u,
                         .outputs = 1, .output = &output,
                         .parameters = CELLS - 1, .parameter = x + CELLS });
    return ad_sum(TIMES, misfit);
}

static void run_heat(void)
{
    enum { N = 2 * CELLS - 1 + TIMES };
    static double want[N];
    static double first[N];
    static double g[N];
    static ad_rev x[N];
    how.plain = true;
    ad_tape_clear(tape);
    double value = heat(x).v;
    ad_tape_clear(tape);
    ad_rev plain = heat(x);
    size_t long_tape = ad_tape_bytes(tape);
    CHECK(ad_gradient(tape, plain, N, x, want) == ADREV_OK, "plain");
    how.plain = false;
    for (size_t w = 0; w < WAYS; w++) {
        if (too_large(&ways[w], CELLS))
            continue;
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        ad_rev y = heat(x);
        CHECK(y.v == value, "heat, %s: %.17g, want %.17g", ways[w].name, y.v,
              value);
        CHECK(ad_gradient(tape, y, N, x, g) == ADREV_OK, "heat");
        if (w == 0)
            memcpy(first, g, sizeof g);
        CHECK(same_bits(N, g, first), "heat, %s %zu, store %zu: other bits",
              ways[w].name, ways[w].n, ways[w].every);
        CHECK(ad_tape_bytes(tape) < long_tape / 10, "%zu bytes of tape, %zu "
              "if it is written out", ad_tape_bytes(tape), long_tape);
    }
    double largest = 0;
    for (int i = 0; i < N; i++)
        largest = fmax(largest, fabs(want[i]));
    for (int i = 0; i < N; i++)     // sums of 150 terms in another order
        CHECK(fabs(first[i] - want[i]) <= 1e-14 * largest,
              "heat [%d]: %.17g, want %.17g", i, first[i], want[i]);
    // Forward against reverse, in one direction.
    static double dx[N];
    double dot = 0;
    double dy = 0;
    for (int i = 0; i < N; i++) {
        dx[i] = (i * 7 % 11) - 5;
        dot += dx[i] * first[i];
    }
    go_all();
    ad_tape_clear(tape);
    ad_rev y = heat(x);
    CHECK(ad_pushforward(tape, N, x, dx, 1, &y, &dy) == ADREV_OK, "heat");
    CHECK(fabs(dy - dot) <= 1e-13 * N * largest, "tangent %.17g, by the "
          "gradient %.17g", dy, dot);
}

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    fill_best();
    check_binomial();
    run_programs();
    run_jacobian();
    run_results();
    run_untraced();
    run_constants();
    run_everywhere();
    run_captured();
    run_held();
    run_deep();
    run_calls();
    run_loops();
    run_memory();
    run_growth();
    run_allocator();
    run_short();
    run_large();
    run_open();
    run_fixed();
    run_connected();
    run_asked();
    run_heat();
    ad_tape_free(tape);
    return check_done("scan");
}
