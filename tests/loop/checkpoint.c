// SPDX-License-Identifier: MIT-0
// tags:
/* checkpoint.c - calls that are recorded when they are swept.
 *
 * Programs made of calls run with every hint: kept are the inputs, all, or what
 * fits into a budget. Derivatives must have the same bits, and those of the
 * same program without calls; f runs as often as is documented, nested calls
 * once more for each call around them; the tape of a chain of calls is as long
 * as one of them. Then numbers that f brings along, contexts that are copied,
 * numbers of other recordings, and where the memory goes.                    */

#include "implementation.h"
#include "adrev_loop.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(ad_real) == sizeof(double), "expected values in double");

enum { MOST = 12 };

static ad_tape *tape;

/* --- how calls are made now ----------------------------------------------- */

struct mode {
    const char *name;
    bool plain;             // no call at all
    bool hints;             // by ad_checkpoint_with
    ad_keep keep;
    size_t budget;
};

static const struct mode modes[] = {
    { "plain", true, false, ADREV_KEEP_INPUTS, 0 },
    { "no hints", false, false, ADREV_KEEP_INPUTS, 0 },
    { "inputs", false, true, ADREV_KEEP_INPUTS, 0 },
    { "all", false, true, ADREV_KEEP_ALL, 0 },
    { "automatic, nothing", false, true, ADREV_KEEP_AUTOMATIC, 0 },
    { "automatic, little", false, true, ADREV_KEEP_AUTOMATIC, 3000 },
    { "automatic, all", false, true, ADREV_KEEP_AUTOMATIC, 1 << 26 },
};

enum { MODES = sizeof modes / sizeof modes[0], MIXED = MODES };

static struct {
    size_t mode;            // MIXED: one after the other
    size_t next;
    size_t runs;            // of functions
    size_t counted;         // of these: by a counter of the library
    ad_status status;
} now;

static void start(size_t mode)
{
    memset(&now, 0, sizeof now);
    now.mode = mode;
}

static void call(ad_vector_fn *f, void *ctx, size_t n, const ad_rev *x,
                 size_t m, ad_rev *y)
{
    size_t i = now.mode == MIXED ? 1 + now.next++ % (MODES - 1) : now.mode;
    const struct mode *k = &modes[i];
    const ad_checkpoint_options options = {
        .keep = k->keep, .budget = k->budget, .evaluations = &now.counted
    };
    ad_status s = ADREV_OK;
    if (k->plain)
        f(x, y, ctx);
    else if (!k->hints)
        s = ad_checkpoint(f, ctx, n, x, m, y);
    else
        s = ad_checkpoint_with(&options, f, ctx, n, x, m, y);
    if (now.status == ADREV_OK)
        now.status = s;
}

static const char *mode_name(void)
{
    return now.mode == MIXED ? "mixed" : modes[now.mode].name;
}

/* --- programs ------------------------------------------------------------- */

static void square(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    now.runs++;
    y[0] = ad_rec(ad_sqr(x[0]));
}

static void square_plus(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    now.runs++;
    y[0] = ad_rec(ad_add(ad_mul(x[0], x[0]), x[0]));
}

static void cube(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    now.runs++;
    y[0] = ad_rec(ad_powi(x[0], 3));
}

// S10: h(g(f(x)))
static void chain_of_three(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[2];
    (void)ctx;
    call(square, NULL, 1, x, 1, z);
    call(square_plus, NULL, 1, z, 1, z + 1);
    call(cube, NULL, 1, z + 1, 1, y);
}

static int numbers[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 };

// x[0] sin(k x[1]), with k from ctx
static void sine_factor(const ad_rev *x, ad_rev *y, void *ctx)
{
    now.runs++;
    y[0] = ad_rec(ad_mul(x[0], ad_sin(ad_mul(*(const int *)ctx, x[1]))));
}

// S22: the product of sin(i x), i = 1 ... 5
static void sines(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[2] = { ad_rec(1), x[0] };
    (void)ctx;
    for (int i = 1; i <= 5; i++)
        call(sine_factor, &numbers[i], 2, z, 1, z);
    y[0] = z[0];
}

static size_t runs_of[16];      // of power_body, by exponent

// S23: square and multiply
static void power_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    int n = *(const int *)ctx;
    ad_rev half;
    now.runs++;
    runs_of[n]++;
    if (n == 0) {
        y[0] = ad_rec(1);
        return;
    }
    call(power_body, &numbers[n / 2], 1, x, 1, &half);
    half = ad_rec(ad_mul(half, half));
    y[0] = n % 2 ? ad_rec(ad_mul(half, x[0])) : half;
}

static void power(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    memset(runs_of, 0, sizeof runs_of);
    call(power_body, &numbers[13], 1, x, 1, y);
}

static void tree_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    int depth = *(const int *)ctx;
    now.runs++;
    y[0] = ad_rec(ad_mul(x[0], x[1]));
    y[1] = ad_rec(ad_sub(x[0], ad_mul(0.25, x[1])));
    for (int i = 0; i < 2 && depth > 0; i++) {
        ad_rev z[2] = { y[0], y[1] };
        call(tree_body, &numbers[depth - 1], 2, z, 2, y);
    }
}

// Calls of calls, two in each.
static void tree(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[2];
    (void)ctx;
    call(tree_body, &numbers[3], 2, x, 2, z);
    y[0] = ad_rec(ad_add(z[0], z[1]));
}

// Results of every kind: inputs, constants, the same twice, one for nobody.
static void odd_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    now.runs++;
    y[0] = x[1];
    y[1] = ad_rec(2.5);
    y[2] = ad_rec(ad_mul(x[0], x[1]));
    y[3] = y[2];
    y[4] = ad_rec(ad_sqrt(ad_sub(x[0], x[0])));     // slope infinite
    y[5] = x[1];
}

static void odd(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[6];
    const ad_rev in[3] = { x[0], x[1], ad_rec(7) };
    (void)ctx;
    call(odd_body, NULL, 3, in, 6, z);
    y[0] = ad_rec(ad_add(ad_mul(z[0], z[1]), ad_add(z[2], ad_mul(z[3], z[5]))));
}

static void array_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    now.runs++;
    ad_matvec(2, 2, x, x + 4, y);
    y[2] = ad_dot(2, y, x + 4);
}

static void arrays(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[3];
    (void)ctx;
    call(array_body, NULL, 6, x, 3, z);
    y[0] = ad_sum(3, z);
}

struct program {
    const char *name;
    ad_vector_fn *f;
    size_t n;
    double x[6];
    double value;           // exact
    double g[6];
};

static const struct program programs[] = {
    { "S10", chain_of_three, 1, { 2 }, 8000, { 43200 } },
    { "S23", power, 1, { 2 }, 8192, { 53248 } },
    // x1*2.5 + x0*x1 + x0*x1*x1
    { "odd results", odd, 2, { 3, 4 }, 70, { 20, 29.5 } },
    // [1 2; 3 4] (5, 6) = (17, 39), and their product with (5, 6)
    { "arrays", arrays, 6, { 1, 2, 3, 4, 5, 6 }, 375,
      { 30, 36, 35, 42, 44, 79 } },
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static ad_status record(ad_vector_fn *f, size_t n, const double *at, ad_rev *x,
                        ad_rev *y)
{
    ad_tape_clear(tape);
    ad_inputs(n, at, x);
    f(x, y, NULL);
    return now.status;
}

static bool same_bits(size_t n, const double *a, const double *b)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

static void run_program(const struct program *p)
{
    const double *want = p->g;
    for (size_t mode = 0; mode <= MIXED; mode++) {
        ad_rev x[6];
        ad_rev y;
        double g[6] = { 0 };
        start(mode);
        ad_status s = record(p->f, p->n, p->x, x, &y);
        CHECK(s == ADREV_OK, "%s, %s: %s", p->name, mode_name(),
              ad_message(s));
        CHECK(y.v == p->value, "%s, %s: %.17g, want %.17g", p->name,
              mode_name(), y.v, p->value);
        for (int again = 0; again < 3; again++) {
            s = ad_gradient(tape, y, p->n, x, g);
            CHECK(s == ADREV_OK, "%s, %s: %s", p->name, mode_name(),
                  ad_message(s));
            for (size_t i = 0; i < p->n; i++)
                CHECK(g[i] == want[i], "%s, %s [%zu]: %.17g, want %.17g",
                      p->name, mode_name(), i, g[i], want[i]);
        }
        for (size_t j = 0; j < p->n; j++) {
            double dx[6] = { 0 };
            double dy = 0;
            dx[j] = 1;
            s = ad_pushforward(tape, p->n, x, dx, 1, &y, &dy);
            CHECK(s == ADREV_OK && dy == want[j], "%s, %s: %s, tangent %zu: "
                  "%.17g, want %.17g", p->name, mode_name(), ad_message(s), j,
                  dy, want[j]);
        }
    }
}

// Programs that round: the same bits with all hints.
static void run_bits(const char *name, ad_vector_fn *f, size_t n,
                     const double *at, double tolerance)
{
    double value = 0;
    double plain[2] = { 0 };
    double first[2] = { 0 };
    for (size_t mode = 0; mode <= MIXED; mode++) {
        ad_rev x[2];
        ad_rev y;
        double g[2] = { 0 };
        start(mode);
        CHECK(record(f, n, at, x, &y) == ADREV_OK, "%s", name);
        if (mode == 0)
            value = y.v;
        CHECK(same_bits(1, &y.v, &value), "%s, %s: %.17g, want %.17g", name,
              mode_name(), y.v, value);
        for (int again = 0; again < 2; again++) {
            CHECK(ad_gradient(tape, y, n, x, g) == ADREV_OK, "%s", name);
            if (mode == 0)
                memcpy(plain, g, sizeof g);
            if (mode == 1 && again == 0)
                memcpy(first, g, sizeof g);
            for (size_t i = 0; i < n; i++)
                CHECK(fabs(g[i] - plain[i]) <= tolerance * fabs(plain[i]),
                      "%s, %s [%zu]: %.17g, plain %.17g", name, mode_name(), i,
                      g[i], plain[i]);
            CHECK(mode == 0 || same_bits(n, g, first), "%s, %s: other bits",
                  name, mode_name());
        }
    }
}

static void run_programs(void)
{
    static const double at[2] = { 0.3, 1.7 };
    for (size_t i = 0; i < PROGRAMS; i++)
        run_program(&programs[i]);
    run_bits("S22", sines, 1, at, 4e-15);       // sums of ten terms, reordered
    run_bits("tree", tree, 2, at, 4e-14);       // of some hundred

    ad_rev x;
    ad_rev y;
    double g = 0;
    start(MIXED);
    record(sines, 1, at, &x, &y);
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "gradient");
    CHECK_NEAR(y.v, 0.121520239910, 1e-11);     // as printed in the sheet
    CHECK_NEAR(g, 1.269457052151, 1e-12);
}

/* --- how often f runs ----------------------------------------------------- */

// First run, and one for each sweep; none if all is kept.
static void run_counts(void)
{
    static const double at[1] = { 2 };
    for (size_t mode = 1; mode < MODES; mode++) {
        bool kept = modes[mode].keep == ADREV_KEEP_ALL
                 || modes[mode].budget > 3000;
        ad_rev x;
        ad_rev y;
        double g = 0;
        start(mode);
        record(chain_of_three, 1, at, &x, &y);
        CHECK(now.runs == 3, "%s: %zu runs to record", mode_name(), now.runs);
        for (size_t sweep = 1; sweep < 4; sweep++) {
            CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "gradient");
            size_t want = kept ? 3 : 3 + 3 * sweep;
            bool little = modes[mode].budget == 3000;
            CHECK(now.runs == want || (little && now.runs < want), "%s, after "
                  "%zu sweeps: %zu runs, want %zu", mode_name(), sweep,
                  now.runs, want);
            CHECK(!modes[mode].hints || now.counted == now.runs,
                  "%s: %zu runs, counted %zu", mode_name(), now.runs,
                  now.counted);
        }
        // A call that no adjoint reaches is not run.
        size_t before = now.runs;
        static const double zero = 0;
        CHECK(ad_pullback(tape, 1, &y, &zero, 1, &x, &g) == ADREV_OK,
              "pullback");
        CHECK(now.runs == before && g == 0, "%s: %zu runs for adjoints 0",
              mode_name(), now.runs - before);
    }
}

// At depth d: d + 1.
static void run_depth(void)
{
    static const double at[1] = { 2 };
    static const int path[] = { 13, 6, 3, 1, 0 };
    ad_rev x;
    ad_rev y;
    double g = 0;
    start(2);
    record(power, 1, at, &x, &y);
    CHECK(now.runs == 5, "%zu runs to record", now.runs);
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "gradient");
    for (size_t d = 0; d < 5; d++)
        CHECK(runs_of[path[d]] <= d + 2 && runs_of[path[d]] >= 1,
              "depth %zu: %zu runs, most %zu", d + 1, runs_of[path[d]], d + 2);
    CHECK(runs_of[13] == 2, "depth 1: %zu runs", runs_of[13]);
    CHECK(now.counted == now.runs, "%zu runs, counted %zu", now.runs,
          now.counted);
}

/* --- memory --------------------------------------------------------------- */

struct heap {
    size_t live;
    size_t bytes;
    size_t most;
};

static void *heap_alloc(size_t bytes, void *user)
{
    struct heap *h = user;
    size_t *block = malloc(bytes + 16);
    if (block == NULL)
        return NULL;
    *block = bytes;
    h->live++;
    h->bytes += bytes;
    h->most = h->bytes > h->most ? h->bytes : h->most;
    return block + 16 / sizeof *block;
}

static void heap_free(void *memory, void *user)
{
    struct heap *h = user;
    size_t *block = (size_t *)memory - 16 / sizeof *block;
    h->live--;
    h->bytes -= *block;
    free(block);
}

// A call of *ctx statements.
static void long_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev a = x[0];
    now.runs++;
    for (int i = 0; i < *(const int *)ctx; i++)
        a = ad_rec(ad_mul(ad_add(a, 0.125), x[1]));
    y[0] = a;
}

struct cost {
    size_t most;            // bytes of all blocks, at a time
    size_t tape;            // as ad_tape_bytes has it
    size_t runs;
    double g[2];
};

static struct cost cost_of(const ad_checkpoint_options *options, int calls,
                           int length)
{
    static const double at[2] = { 0.5, 0.75 };
    static int l;
    struct heap h = { 0 };
    struct cost c = { 0 };
    const ad_allocator from = { heap_alloc, heap_free, &h };
    ad_tape *t = ad_tape_new_with(&from);
    ad_rev x[2];
    ad_use(t);
    ad_inputs(2, at, x);
    ad_rev z[2] = { x[0], x[1] };
    l = length;
    now.runs = 0;
    for (int i = 0; i < calls; i++) {
        if (options == NULL)
            long_body(z, z, &l);
        else
            CHECK(ad_checkpoint_with(options, long_body, &l, 2, z, 1, z)
                      == ADREV_OK, "call %d", i);
    }
    c.tape = ad_tape_bytes(t);
    CHECK(ad_gradient(t, z[0], 2, x, c.g) == ADREV_OK, "gradient");
    c.runs = now.runs;
    c.most = h.most;
    ad_tape_clear(t);
    // what a cleared tape keeps it may use again, but nothing is lost
    ad_tape_free(t);
    CHECK(h.live == 0, "%zu blocks leaked", h.live);
    ad_use(tape);
    return c;
}

static void run_chain(void)
{
    enum { M = 100, L = 2000 };
    const ad_checkpoint_options inputs = { .keep = ADREV_KEEP_INPUTS };
    const ad_checkpoint_options all = { .keep = ADREV_KEEP_ALL };
    struct cost one = cost_of(NULL, 1, L);
    struct cost plain = cost_of(NULL, M, L);
    struct cost kept = cost_of(&all, M, L);
    struct cost calls = cost_of(&inputs, M, L);
    struct cost twice = cost_of(&inputs, 2 * M, L);
    struct cost longer = cost_of(&inputs, M, 2 * L);
    // One recording, and for each call its inputs and a statement; blocks
    // grow, so allow twice of both.
    CHECK(calls.most <= 2 * one.most + M * 400, "%d calls: %zu bytes, one "
          "recorded: %zu", M, calls.most, one.most);
    CHECK(calls.most < plain.most / 20, "%zu bytes, plain %zu", calls.most,
          plain.most);
    CHECK(twice.most - calls.most <= M * 800, "twice the calls: %zu and %zu "
          "bytes", calls.most, twice.most);
    CHECK(calls.tape == longer.tape, "the tape: %zu and %zu bytes",
          calls.tape, longer.tape);
    CHECK(calls.tape <= M * 300 + 4096, "the tape: %zu bytes", calls.tape);
    CHECK(kept.most > plain.most / 2, "all kept: %zu bytes, plain %zu",
          kept.most, plain.most);
    CHECK(calls.runs == 2 * M && kept.runs == M, "%zu and %zu runs",
          calls.runs, kept.runs);
    for (int i = 0; i < 2; i++) {
        CHECK(same_bits(1, &calls.g[i], &kept.g[i]), "other bits");
        CHECK(fabs(calls.g[i] - plain.g[i]) <= 1e-12 * fabs(plain.g[i]),
              "[%d] %.17g, plain %.17g", i, calls.g[i], plain.g[i]);
    }
}

// As many recordings as fit, and no more memory than that.
static void run_budget(void)
{
    enum { M = 20, L = 8000 };
    ad_checkpoint_options options = { .keep = ADREV_KEEP_INPUTS };
    struct cost one = cost_of(NULL, 1, L);
    struct cost none = cost_of(&options, M, L);
    size_t before = 0;
    options.keep = ADREV_KEEP_AUTOMATIC;
    for (size_t half = 0; half <= 4 * M; half += 4) {
        options.budget = half * (one.tape / 2);
        struct cost c = cost_of(&options, M, L);
        size_t kept = 2 * M - c.runs;
        CHECK(c.runs <= 2 * M && kept <= M, "%zu runs", c.runs);
        // The budget is for recordings: here 26 bytes of each statement; its
        // adjoint takes 8 more when it is swept.
        CHECK(c.most <= none.most + options.budget / 26 * 34 + one.most,
              "budget %zu: %zu bytes, without %zu", options.budget, c.most,
              none.most);
        // A recording without its adjoints takes two thirds of one.tape or
        // more; blocks that are not full, less than as much again.
        CHECK(2 * kept <= 3 * half / 2 + 1 || kept == M, "budget of %zu "
              "halves: %zu kept", half, kept);
        CHECK(4 * (kept + 1) >= half || kept == M, "budget of %zu halves: "
              "%zu kept", half, kept);
        CHECK(kept >= before, "%zu kept, with less %zu", kept, before);
        before = kept;
        for (int i = 0; i < 2; i++)
            CHECK(same_bits(1, &c.g[i], &none.g[i]), "other bits");
    }
    CHECK(before == M, "room for all: %zu kept", before);
}

// A tape that is cleared has its budget again; rewound, likewise.
static void run_budget_again(void)
{
    static const double at[2] = { 0.5, 0.75 };
    static int length = 100;
    for (int i = 0; i < 4; i++) {
        const ad_checkpoint_options options = {
            .keep = ADREV_KEEP_AUTOMATIC, .budget = 1 << 20
        };
        ad_rev x[2];
        ad_rev y;
        double g[2];
        ad_tape_clear(tape);
        ad_inputs(2, at, x);
        ad_mark mark = ad_tape_mark(tape);
        for (int j = 0; j < 200; j++) {     // each of 100 statements
            start(2);
            CHECK(ad_checkpoint_with(&options, long_body, &length, 2, x, 1, &y)
                      == ADREV_OK, "call");
            CHECK(ad_gradient(tape, y, 2, x, g) == ADREV_OK, "gradient");
            CHECK(now.runs == 1, "recording %d, call %d: run %zu times", i, j,
                  now.runs);
            CHECK(ad_tape_rewind(tape, mark) == ADREV_OK, "rewind");
        }
    }
}

// Everything goes when the calls leave the tape.
static void run_leaks(void)
{
    for (size_t mode = 1; mode <= MIXED; mode++)
        for (int leave = 0; leave < 3; leave++) {
            static const double at[2] = { 0.3, 1.7 };
            struct heap h = { 0 };
            const ad_allocator from = { heap_alloc, heap_free, &h };
            ad_tape *t = ad_tape_new_with(&from);
            ad_rev x[2];
            ad_rev y;
            double g[2];
            size_t live[3];
            start(mode);
            ad_use(t);
            ad_inputs(2, at, x);
            ad_mark mark = ad_tape_mark(t);
            for (int i = 0; i < 3; i++) {
                tree(x, &y, NULL);
                CHECK(ad_gradient(t, y, 2, x, g) == ADREV_OK, "gradient");
                if (leave == 0)
                    CHECK(ad_tape_rewind(t, mark) == ADREV_OK, "rewind");
                if (leave == 1) {
                    ad_tape_clear(t);
                    ad_inputs(2, at, x);
                    mark = ad_tape_mark(t);
                }
                live[i] = h.live;
            }
            CHECK(leave == 2 || live[2] <= live[1], "%s: %zu blocks, then %zu",
                  mode_name(), live[1], live[2]);
            ad_tape_free(t);
            CHECK(h.live == 0, "%s: %zu blocks leaked", mode_name(), h.live);
            ad_use(tape);
        }
}

// A tape in fixed memory has nothing to put a recording into but itself; with
// an allocator it has.
static void run_fixed(void)
{
    static long double memory[1 << 13];
    static int length = 300;
    for (int given = 0; given < 2; given++) {
        static const double at[2] = { 0.5, 0.75 };
        struct heap h = { 0 };
        const ad_allocator from = { heap_alloc, heap_free, &h };
        const ad_checkpoint_options options = {
            .allocator = given ? &from : NULL
        };
        struct cost want = cost_of(NULL, 1, length);
        ad_tape *t = ad_tape_in(memory, sizeof memory);
        ad_rev x[2];
        ad_rev y = { 0 };
        double g[2] = { 0 };
        ad_use(t);
        ad_inputs(2, at, x);
        ad_status s = ad_checkpoint_with(&options, long_body, &length, 2, x, 1,
                                         &y);
        CHECK(s == ADREV_OK, "in fixed memory: %s", ad_message(s));
        CHECK(ad_gradient(t, y, 2, x, g) == ADREV_OK, "in fixed memory");
        for (int i = 0; i < 2; i++)
            CHECK(fabs(g[i] - want.g[i]) <= 1e-14 * fabs(want.g[i]),
                  "in fixed memory: %.17g, want %.17g", g[i], want.g[i]);
        CHECK(given == (h.live > 0), "%zu blocks", h.live);
        ad_tape_free(t);
        CHECK(h.live == 0, "%zu blocks leaked", h.live);
        ad_use(tape);
    }
}

/* --- contexts ------------------------------------------------------------- */

struct beside {
    double factor;
    ad_rev w[2];
    int which;
};

static void beside_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct beside *b = ctx;
    now.runs++;
    ad_rev w = b->w[b->which];
    y[0] = ad_rec(ad_add(ad_mul(ad_mul(b->factor, x[0]), w), ad_sqr(w)));
}

// Numbers that f brings along, in a context that stays and in one that does
// not: inputs, values of other statements, constants.
static void run_contexts(bool copied)
{
    for (size_t mode = 2; mode < MODES; mode++)
        for (int which = 0; which < 2; which++) {
            const ad_checkpoint_options options = {
                .keep = modes[mode].keep, .budget = modes[mode].budget,
                .context = copied ? sizeof(struct beside) : 0
            };
            struct beside b = { .factor = 2, .which = which };
            ad_rev y;
            double g[2] = { 0 };
            ad_tape_clear(tape);
            start(mode);
            const ad_rev x[2] = { ad_input(3), ad_input(5) };
            b.w[0] = x[1];
            b.w[1] = ad_rec(ad_mul(x[1], x[0]));
            CHECK(ad_checkpoint_with(&options, beside_body, &b, 1, x, 1, &y)
                      == ADREV_OK, "call");
            if (copied)
                memset(&b, 0x77, sizeof b);
            for (int again = 0; again < 2; again++) {
                CHECK(ad_gradient(tape, y, 2, x, g) == ADREV_OK, "gradient");
                // 2 a b + b^2, and 2 a^2 b + a^2 b^2
                double want[2] = { which ? 4 * 15 + 2 * 75 : 10,
                                   which ? 18 + 2 * 45 : 6 + 10 };
                CHECK(y.v == (which ? 90 + 225 : 30 + 25), "y: %g", y.v);
                for (int i = 0; i < 2; i++)
                    CHECK(g[i] == want[i], "%s, copied %d [%d]: %g, want %g",
                          mode_name(), copied, i, g[i], want[i]);
            }
            double dx[2] = { 1, 10 };
            double dy = 0;
            CHECK(ad_pushforward(tape, 2, x, dx, 1, &y, &dy) == ADREV_OK
                  && dy == g[0] + 10 * g[1], "tangent: %g", dy);
        }
}

// A number from outside through two calls, and as a result itself.
static ad_rev outside;

static void through_inner(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    now.runs++;
    y[0] = ad_rec(ad_mul(x[0], outside));
    y[1] = outside;
}

static void through_outer(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[2];
    (void)ctx;
    now.runs++;
    call(through_inner, NULL, 1, x, 2, z);
    y[0] = ad_rec(ad_mul(ad_mul(z[0], z[1]), outside));
}

static void run_through(void)
{
    for (size_t mode = 0; mode <= MIXED; mode++) {
        double g[2] = { 0 };
        ad_rev y;
        ad_tape_clear(tape);
        start(mode);
        const ad_rev x[2] = { ad_input(3), ad_input(2) };
        outside = ad_rec(ad_sqr(x[1]));
        call(through_outer, NULL, 1, x, 1, &y);     // a w^3, w = b^2
        CHECK(now.status == ADREV_OK && y.v == 192, "%s: %s, %g", mode_name(),
              ad_message(now.status), y.v);
        CHECK(ad_gradient(tape, y, 2, x, g) == ADREV_OK, "gradient");
        CHECK(g[0] == 64 && g[1] == 576, "%s: %g %g", mode_name(), g[0], g[1]);
    }
}

// The result is a number from outside and nothing else; no inputs at all.
static void only_outside(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)x;
    (void)ctx;
    now.runs++;
    y[0] = ad_rec(ad_mul(3, outside));
}

static void run_no_inputs(void)
{
    for (size_t mode = 0; mode <= MIXED; mode++) {
        double g = 0;
        ad_rev y;
        ad_tape_clear(tape);
        start(mode);
        outside = ad_input(2);
        call(only_outside, NULL, 0, NULL, 1, &y);
        CHECK(now.status == ADREV_OK && y.v == 6, "%s: %s, %g", mode_name(),
              ad_message(now.status), y.v);
        CHECK(ad_gradient(tape, y, 1, &outside, &g) == ADREV_OK && g == 3,
              "%s: %g", mode_name(), g);
    }
}

/* --- other recordings, constants, no tape --------------------------------- */

static void run_foreign(void)
{
    ad_tape *other = ad_tape_new();
    ad_use(other);
    ad_rev theirs = ad_input(2);
    ad_use(tape);
    for (int stale = 0; stale < 2; stale++)
        for (size_t mode = 1; mode < MODES; mode++) {
            ad_tape_clear(tape);
            ad_rev old = ad_input(2);
            if (stale)
                ad_tape_clear(tape);
            start(mode);
            ad_rev x = ad_input(3);
            ad_rev y = { .v = 77 };
            double g = 77;
            outside = stale ? old : theirs;
            call(only_outside, NULL, 1, &x, 1, &y);
            CHECK(now.status == ADREV_EFOREIGN, "%s: %s", mode_name(),
                  ad_message(now.status));
            CHECK(y.v != y.v && y.job == 0, "%s: a result", mode_name());
            CHECK(ad_tape_status(tape) == ADREV_EFOREIGN, "%s: the tape: %s",
                  mode_name(), ad_message(ad_tape_status(tape)));
            CHECK(ad_gradient(tape, x, 1, &x, &g) == ADREV_EFOREIGN
                  && g == 77, "%s", mode_name());
            ad_tape_clear(tape);
            run_program(&programs[0]);
        }
    // as an input
    start(2);
    ad_tape_clear(tape);
    ad_rev y = { .v = 77 };
    call(square, NULL, 1, &theirs, 1, &y);
    CHECK(now.status == ADREV_EFOREIGN && y.v != y.v, "as an input: %s",
          ad_message(now.status));
    ad_tape_clear(tape);
    ad_tape_free(other);
}

static void run_passive(void)
{
    for (size_t mode = 1; mode < MODES; mode++) {
        ad_rev y = { 0 };
        start(mode);
        ad_tape_clear(tape);
        ad_rev x = ad_input(3);
        const ad_rev three = ad_rec(3);
        call(square_plus, NULL, 1, &three, 1, &y);
        CHECK(now.status == ADREV_OK && y.v == 12 && y.job == 0,
              "%s: of constants: %g", mode_name(), y.v);
        CHECK(now.runs == 1, "%s: of constants: %zu runs", mode_name(),
              now.runs);
        ad_use(NULL);
        call(square_plus, NULL, 1, &x, 1, &y);
        ad_use(tape);
        CHECK(now.status == ADREV_OK && y.v == 12 && y.job == 0,
              "%s: without a tape: %g", mode_name(), y.v);
        CHECK(now.runs == 2, "%s: without a tape: %zu runs", mode_name(),
              now.runs);
    }
}

static void run_cleared(void)
{
    for (size_t mode = 1; mode < MODES; mode++) {
        static const double at[1] = { 2 };
        ad_rev x;
        ad_rev y;
        double g = 77;
        start(mode);
        record(power, 1, at, &x, &y);
        ad_tape_clear(tape);
        size_t before = now.runs;
        CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_EFOREIGN && g == 77,
              "%s: a call of the recording before", mode_name());
        CHECK(now.runs == before, "%s: it runs", mode_name());
        run_program(&programs[1]);
    }
}

// Shapes that cannot be.
static void run_shapes(void)
{
    const ad_checkpoint_options bad = { .keep = (ad_keep)9 };
    for (int i = 0; i < 4; i++) {
        ad_rev y = { .v = 77 };
        ad_tape_clear(tape);
        ad_rev x = ad_input(2);
        ad_status s =
            i == 0 ? ad_checkpoint(NULL, NULL, 1, &x, 1, &y)
          : i == 1 ? ad_checkpoint(square, NULL, 1, NULL, 1, &y)
          : i == 2 ? ad_checkpoint(square, NULL, 1, &x, 1, NULL)
                   : ad_checkpoint_with(&bad, square, NULL, 1, &x, 1, &y);
        CHECK(s == ADREV_ESHAPE, "%d: %s", i, ad_message(s));
        CHECK(i == 2 ? y.v == 77 : y.v != y.v, "%d: %g", i, y.v);
        CHECK(ad_tape_status(tape) == ADREV_ESHAPE, "%d: the tape", i);
    }
    ad_tape_clear(tape);
}

// Only the first result, in one call or the other.
static void forgetful(const ad_rev *x, ad_rev *y, void *ctx)
{
    int *left = ctx;
    y[0] = ad_rec(ad_sqr(x[0]));
    if (--*left != 0)
        y[1] = x[0];
}

static void run_forgetful(void)
{
    for (size_t mode = 1; mode < MODES; mode++)
        for (int how = 0; how < 3; how++) {
            int left = how == 2 ? 2 : 1;
            double g = 77;
            ad_rev y[2];
            ad_tape_clear(tape);
            start(mode);
            ad_rev x = ad_input(3);
            ad_use(how == 1 ? NULL : tape);
            call(forgetful, &left, 1, &x, 2, y);
            ad_use(tape);
            CHECK(now.status == (how == 2 ? ADREV_OK : ADREV_ESHAPE),
                  "%s, %d: %s", mode_name(), how, ad_message(now.status));
            CHECK(ad_tape_status(tape) == (how == 0 ? ADREV_ESHAPE : ADREV_OK),
                  "%s, %d: the tape", mode_name(), how);
            if (how < 2)
                continue;
            ad_status s = ad_gradient(tape, y[0], 1, &x, &g);
            CHECK(left == 1 ? s == ADREV_OK && g == 6
                            : s == ADREV_EEXTERNAL && g == 77,
                  "%s, in a sweep: %s, %g", mode_name(), ad_message(s), g);
        }
}

/* --- what f may do -------------------------------------------------------- */

static ad_rev quadratic(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_mul(x[0], x[0]));
}

// A derivative within: ad_grad records above what f has recorded so far.
static void derivative_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z = ad_rec(ad_mul(x[0], x[1]));
    double at = ad_value(z);
    double g = 0;
    (void)ctx;
    now.runs++;
    CHECK(ad_grad(quadratic, NULL, 1, &at, NULL, &g) == ADREV_OK, "within");
    y[0] = ad_rec(ad_mul(z, g));
}

static void comparing_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    now.runs++;
    y[0] = x[0];
    while (ad_lt(y[0], 100))
        y[0] = ad_rec(ad_mul(y[0], x[1]));
}

static void run_inside(void)
{
    for (size_t mode = 0; mode <= MIXED; mode++) {
        double g[2] = { 0 };
        ad_rev y;
        ad_tape_clear(tape);
        start(mode);
        const ad_rev x[2] = { ad_input(3), ad_input(2) };
        call(derivative_body, NULL, 2, x, 1, &y);
        CHECK(now.status == ADREV_OK && y.v == 72, "%s: %g", mode_name(), y.v);
        CHECK(ad_gradient(tape, y, 2, x, g) == ADREV_OK
              && g[0] == 24 && g[1] == 36, "%s: %g %g", mode_name(), g[0],
              g[1]);
        call(comparing_body, NULL, 2, x, 1, &y);    // 3 * 2^6
        CHECK(y.v == 192 && ad_gradient(tape, y, 2, x, g) == ADREV_OK
              && g[0] == 64 && g[1] == 576, "%s: %g %g", mode_name(), g[0],
              g[1]);
    }
}

// Many directions at a time: the Jacobian in one piece and row by row.
static void nine_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    now.runs++;
    for (int i = 0; i < 9; i++)
        y[i] = ad_rec(ad_mul(ad_add(x[0], i), x[i % 2]));
}

static void run_jacobian(void)
{
    for (size_t mode = 0; mode <= MIXED; mode++) {
        static const double at[2] = { 3, 2 };
        ad_rev x[2];
        ad_rev y[9];
        double J[18];
        double dy[9];
        ad_tape_clear(tape);
        start(mode);
        ad_inputs(2, at, x);
        call(nine_body, NULL, 2, x, 9, y);
        CHECK(ad_jacobian(tape, 9, y, 2, x, J) == ADREV_OK, "Jacobian");
        for (int i = 0; i < 9; i++) {
            double g[2];
            double first = i % 2 ? at[1] : 2 * at[0] + i;
            double second = i % 2 ? at[0] + i : 0;
            CHECK(ad_gradient(tape, y[i], 2, x, g) == ADREV_OK, "row");
            CHECK(g[0] == first && g[1] == second && J[2 * i] == first
                  && J[2 * i + 1] == second, "%s [%d]: %g %g", mode_name(), i,
                  g[0], g[1]);
        }
        static const double dx[2] = { 0, 1 };
        CHECK(ad_pushforward(tape, 2, x, dx, 9, y, dy) == ADREV_OK, "column");
        for (int i = 0; i < 9; i++)
            CHECK(dy[i] == J[2 * i + 1], "%s [%d]: %g", mode_name(), i, dy[i]);
    }
}

// y[i] = x[i] x[i + 1], in a ring.
static void ring_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    now.runs++;
    for (int i = 0; i < 8; i++)
        y[i] = ad_rec(ad_mul(x[i], x[(i + 1) % 8]));
}

// One run serves all rows that are swept together.
static void run_rows(void)
{
    static const double at[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    ad_rev x[8], y[8];
    double J[64];
    ad_tape_clear(tape);
    start(2);
    ad_inputs(8, at, x);
    call(ring_body, NULL, 8, x, 8, y);
    CHECK(ad_jacobian(tape, 8, y, 8, x, J) == ADREV_OK, "Jacobian");
    for (int i = 0; i < 64; i++) {
        double want = i % 8 == i / 8 ? at[(i / 8 + 1) % 8]
                    : i % 8 == (i / 8 + 1) % 8 ? at[i / 8] : 0;
        CHECK(J[i] == want, "[%d]: got %g, want %g", i, J[i], want);
    }
#ifdef ADX_LANES
    CHECK(now.runs == 2, "%zu runs", now.runs);
#endif
}

// What a checkpoint gets may be made of many inputs, which only its caller knows.
typedef struct tied {
    int copies, one, two;
} tied;

static void tie(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev p = ad_rec(ad_mul(x[0], 2)), q = ad_rec(ad_mul(x[0], 2));
    *(tied *)ctx = (tied){ ad_tie(p, q), ad_tie(p, ad_rec(2)), ad_tie(x[0], x[1]) };
    y[0] = ad_rec(ad_mul(x[0], x[1]));
}

static void run_tied(void)
{
    const ad_real at[2] = { 1, 1 };
    ad_real g[2];
    ad_rev x[2], y;
    tied got = { -1, -1, -1 };
    ad_tape_clear(tape);
    ad_inputs(2, at, x);
    const ad_status called = ad_checkpoint(tie, &got, 2, x, 1, &y);
    const ad_status swept = ad_gradient(tape, y, 2, x, g);
    CHECK(called == ADREV_OK && swept == ADREV_OK, "ties: %s, %s", ad_message(called),
          ad_message(swept));
    CHECK(got.copies == 0 && got.one == 2 && got.two == 2, "ties: %d %d %d",
          got.copies, got.one, got.two);
}

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    run_programs();
    run_counts();
    run_depth();
    run_chain();
    run_budget();
    run_budget_again();
    run_leaks();
    run_fixed();
    run_contexts(false);
    run_contexts(true);
    run_through();
    run_no_inputs();
    run_foreign();
    run_passive();
    run_cleared();
    run_shapes();
    run_forgetful();
    run_inside();
    run_jacobian();
    run_rows();
    run_tied();
    ad_tape_free(tape);
    return check_done("checkpoint");
}
