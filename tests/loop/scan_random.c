// SPDX-License-Identifier: MIT-0
// tags:
/* scan_random.c - random loops against the same loops on the plain tape.
 *
 * A loop is drawn: states of several sizes with several taps, sequences with
 * taps before and behind, forward or backward, outputs, parameters, constants
 * and numbers that come twice, steps of random operations with branches, an
 * early end, carried data. Values must be those of the plain tape to the bit,
 * gradients under all schedules one another's to the bit and the plain ones
 * within rounding; tangents and gradients must agree; and what is connected is
 * what is connected on the plain tape.                                       */

#include "implementation.h"
#ifdef SCAN_RANDOM_REPLAYED
#include "adrev_function.h"
#endif
#include "adrev_loop.h"

#include "check.h"
#include "scan_plain.h"
#include "scan_store.h"

#ifndef LOOPS
#define LOOPS 400
#endif
#ifndef COMPILE_EVERY
#define COMPILE_EVERY 40        // of these loops, steps by machine code
#endif

enum { OPS = 14, POOL = 96, LONGEST = 24, NUMBERS = 160 };

static ad_tape *tape;

/* --- chance --------------------------------------------------------------- */

static unsigned long long chance;

static size_t draw(size_t n)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (size_t)((chance >> 16) % n);
}

static double draw_number(void)
{
    return (double)draw(2001) / 1000 - 1;
}

/* --- a loop --------------------------------------------------------------- */

struct operation {
    size_t kind;
    size_t a;
    size_t b;
    double k;
};

struct loop {
    size_t operations;
    struct operation op[OPS];
    size_t states;
    size_t size[3];
    size_t taps[3];
    int tap[3][3];
    size_t sequences;
    size_t wide[2];
    size_t seq_taps[2];
    int seq_tap[2][3];
    bool backward[2];
    size_t more[2];             // rows beyond those that are read
    size_t outputs;
    size_t out_size[2];
    size_t parameters;
    size_t steps;
    size_t result[16];          // of the step: which number of the pool
    size_t results;
    bool carries;
    bool asks;                  // for its index
    bool numbered;              // for its number
    bool ends;                  // by a comparison
    size_t inputs;              // numbers at the beginning
    double at[NUMBERS];
    int kind_of[NUMBERS];       // 0 input, 1 constant, 2 as before, 3 computed
    double weight[3 * NUMBERS];
};

static struct loop loop;

static int lowest(const int *tap, size_t taps, int other)
{
    int low = taps == 0 ? other : 0;
    for (size_t i = 0; i < taps; i++)
        low = tap[i] < low ? tap[i] : low;
    return low;
}

static size_t depth_of(size_t state)
{
    return (size_t)-lowest(loop.tap[state], loop.taps[state], -1);
}

// Tap 0 counts, whether it is read or not.
static size_t rows_of(size_t q)
{
    int high = 0;
    for (size_t i = 0; i < loop.seq_taps[q]; i++)
        high = loop.seq_tap[q][i] > high ? loop.seq_tap[q][i] : high;
    return loop.steps + loop.more[q]
         + (size_t)(high - lowest(loop.seq_tap[q], loop.seq_taps[q], 0));
}

static void draw_shape(void)
{
    loop.states = draw(4);
    for (size_t i = 0; i < loop.states; i++) {
        loop.size[i] = 1 + draw(3);
        loop.taps[i] = draw(4);
        for (size_t j = 0; j < loop.taps[i]; j++)
            loop.tap[i][j] = -1 - (int)draw(4);
    }
    loop.sequences = draw(3);
    for (size_t i = 0; i < loop.sequences; i++) {
        loop.wide[i] = 1 + draw(2);
        loop.seq_taps[i] = draw(4);
        for (size_t j = 0; j < loop.seq_taps[i]; j++)
            loop.seq_tap[i][j] = (int)draw(5) - 2;
        loop.backward[i] = draw(2);
        loop.more[i] = draw(3);
    }
    loop.outputs = draw(3);
    for (size_t i = 0; i < loop.outputs; i++)
        loop.out_size[i] = 1 + draw(2);
    loop.parameters = draw(4);
    loop.steps = draw(6) == 0 ? draw(3) : 1 + draw(LONGEST);
    loop.carries = draw(4) == 0;
    loop.asks = draw(6) == 0;
    loop.numbered = draw(4) == 0;
    loop.ends = draw(5) == 0;
}

static void draw_body(void)
{
    loop.operations = 1 + draw(OPS);
    for (size_t i = 0; i < loop.operations; i++)
        loop.op[i] = (struct operation){ draw(10), draw(1000), draw(1000),
                                         draw_number() };
    loop.results = 0;
    for (size_t i = 0; i < loop.states; i++)
        loop.results += loop.size[i];
    for (size_t i = 0; i < loop.outputs; i++)
        loop.results += loop.out_size[i];
    for (size_t i = 0; i < loop.results; i++)
        loop.result[i] = draw(1000);
}

// One row of numbers and parameters, as most loops have it.
static void draw_lean(void)
{
    loop.sequences = 0;
    loop.outputs = 0;
    loop.carries = false;
    for (size_t i = 0; i < loop.states; i++)
        loop.taps[i] = 0;
}

static void draw_loop(unsigned long long seed)
{
    chance = seed * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < 10; i++)
        draw(2);
    memset(&loop, 0, sizeof loop);
    draw_shape();
    bool lean = draw(4) == 0;
    if (lean)
        draw_lean();
    draw_body();
    for (size_t i = 0; lean && i < loop.results; i++)
        loop.result[i] &= ~(size_t)1;       // only last rows are results
    loop.inputs = loop.parameters;
    for (size_t i = 0; i < loop.states; i++)
        loop.inputs += depth_of(i) * loop.size[i];
    for (size_t i = 0; i < loop.sequences; i++)
        loop.inputs += rows_of(i) * loop.wide[i];
    for (size_t i = 0; i < NUMBERS; i++) {
        loop.at[i] = draw_number();
        loop.kind_of[i] = draw(2) ? 0 : (int)draw(4);
    }
    for (size_t i = 0; i < 3 * NUMBERS; i++)
        loop.weight[i] = draw(3) == 0 ? 0 : draw_number();
}

/* --- its step ------------------------------------------------------------- */

static ad_rev apply(const struct operation *o, ad_rev a, ad_rev b)
{
    switch (o->kind) {
    case 0: return ad_rec(ad_add(a, b));
    case 1: return ad_rec(ad_mul(a, b));
    case 2: return ad_rec(ad_sub(ad_mul(o->k, a), b));
    case 3: return ad_rec(ad_sin(a));
    case 4: return ad_rec(ad_tanh(ad_add(a, ad_mul(o->k, b))));
    case 5: return ad_gt(a, b) ? ad_rec(ad_mul(a, 0.5)) : ad_rec(ad_exp(
                   ad_neg(ad_sqr(b))));
    case 6: return ad_detach(a);
    case 7: return ad_rec(o->k);
    case 8: return ad_rec(ad_mul(ad_mul(0, a), b));
    default: return ad_rec(ad_div(a, ad_add(2, ad_sqr(b))));
    }
}

static size_t fill_pool(ad_step *s, ad_rev *pool)
{
    size_t n = 0;
    pool[n++] = ad_rec(0.5);
    for (size_t i = 0; i < loop.states; i++) {
        size_t taps = loop.taps[i] == 0 ? 1 : loop.taps[i];
        for (size_t j = 0; j < taps * loop.size[i]; j++)
            pool[n++] = s->state[i][j];
    }
    for (size_t i = 0; i < loop.sequences; i++) {
        size_t taps = loop.seq_taps[i] == 0 ? 1 : loop.seq_taps[i];
        for (size_t j = 0; j < taps * loop.wide[i]; j++)
            pool[n++] = s->sequence[i][j];
    }
    for (size_t i = 0; i < loop.parameters; i++)
        pool[n++] = s->parameter[i];
    if (loop.numbered)
        pool[n++] = ad_rec(ad_mul(0.1, number_of(s)));
    if (loop.asks)
        pool[n++] = ad_rec(0.01 * (double)index_of(s));
    if (loop.carries) {
        unsigned *carried = s->untraced;
        *carried = *carried * 1664525u + 1013904223u;
        pool[n++] = ad_rec((double)(*carried >> 8) / 16777216.0);
    }
    return n;
}

static void step(ad_step *s, void *ctx)
{
    ad_rev pool[POOL];
    size_t n = fill_pool(s, pool);
    size_t r = 0;
    (void)ctx;
    how.calls++;
    for (size_t i = 0; i < loop.operations; i++, n++)
        pool[n] = apply(&loop.op[i], pool[loop.op[i].a % n],
                        pool[loop.op[i].b % n]);
    for (size_t i = 0; i < loop.states; i++)
        for (size_t j = 0; j < loop.size[i]; j++) {
            ad_rev x = pool[loop.result[r++] % n];
            bool large = ad_gt(ad_sqr(x), 4);   // no loop runs away
            s->next[i][j] = large ? ad_rec(ad_sin(x)) : x;
        }
    for (size_t i = 0; i < loop.outputs; i++)
        for (size_t j = 0; j < loop.out_size[i]; j++)
            s->output[i][j] = pool[loop.result[r++] % n];
    if (loop.ends)
        s->stop = ad_gt(pool[n - 1], 0.6);
}

/* --- run ------------------------------------------------------------------ */

static ad_rev given[NUMBERS];       // at the beginning
static ad_rev independent[NUMBERS];
static size_t independents;
static ad_rev results[3][3 * NUMBERS];

static void begin_numbers(void)
{
    independents = 0;
    independent[independents++] = ad_input(0.3);
    for (size_t i = 0; i < loop.inputs; i++) {
        size_t other = loop.op[0].a + i;
        switch (i == 0 && loop.kind_of[i] == 2 ? 0 : loop.kind_of[i]) {
        case 0:
            given[i] = ad_input(loop.at[i]);
            independent[independents++] = given[i];
            break;
        case 1: given[i] = ad_rec(loop.at[i]); break;
        case 2: given[i] = given[other % i]; break;
        default:
            given[i] = ad_rec(ad_mul(loop.at[i],
                                     independent[other % independents]));
        }
    }
}

// Returns a weighted sum of all results.
static ad_rev run(void)
{
    ad_scan_state state[3];
    ad_scan_sequence sequence[2];
    ad_scan_output output[2];
    unsigned carried = 5;
    size_t from = 0;
    size_t to = 0;
    ad_rev *told = results[0];
    begin_numbers();
    for (size_t i = 0; i < 3 * NUMBERS; i++)
        told[i] = ad_rec(0);
    for (size_t i = 0; i < loop.states; i++) {
        size_t all = depth_of(i) * loop.size[i];
        state[i] = (ad_scan_state){ .size = loop.size[i],
                                    .initial = given + from,
                                    .last = told + to,
                                    .taps = loop.taps[i],
                                    .tap = loop.tap[i] };
        from += all;
        to += all;
        if (loop.result[i] % 2) {
            state[i].rows = told + to;
            to += loop.steps * loop.size[i];
        }
    }
    for (size_t i = 0; i < loop.sequences; i++) {
        sequence[i] = (ad_scan_sequence){ .size = loop.wide[i],
                                          .rows = rows_of(i),
                                          .row = given + from,
                                          .backward = loop.backward[i],
                                          .taps = loop.seq_taps[i],
                                          .tap = loop.seq_tap[i] };
        from += rows_of(i) * loop.wide[i];
    }
    for (size_t i = 0; i < loop.outputs; i++) {
        output[i] = (ad_scan_output){ .size = loop.out_size[i],
                                      .row = told + to };
        to += loop.steps * loop.out_size[i];
    }
    scan((ad_scan_desc){ .step = step, .steps = loop.steps,
                         .states = loop.states, .state = state,
                         .sequences = loop.sequences, .sequence = sequence,
                         .outputs = loop.outputs, .output = output,
                         .parameters = loop.parameters,
                         .parameter = given + from,
                         .untraced = loop.carries ? &carried : NULL,
                         .untraced_bytes = loop.carries ? sizeof carried : 0,
                         .open_ended = loop.ends && loop.asks });
    ad_rev y = ad_rec(ad_mul(0.5, independent[0]));
    for (size_t i = 0; i < to; i++)
        ad_acc(&y, ad_mul(loop.weight[i], told[i]));
    return y;
}

/* --- compare -------------------------------------------------------------- */

struct way {
    ad_schedule schedule;
    size_t every;
};

static const struct way ways[] = {
    { { ADREV_STORE_ALL, 0, NULL }, 0 }, { { ADREV_EVERY, 1, NULL }, 0 },
    { { ADREV_EVERY, 4, NULL }, 0 },     { { ADREV_EVERY, 99, NULL }, 0 },
    { { ADREV_BINOMIAL, 1, NULL }, 0 },  { { ADREV_BINOMIAL, 2, NULL }, 0 },
    { { ADREV_BINOMIAL, 3, NULL }, 0 },  { { ADREV_BINOMIAL, 9, NULL }, 0 },
    { { ADREV_BYTES, 300, NULL }, 0 },   { { ADREV_STORE_ALL, 0, NULL }, 3 },
    { { ADREV_BINOMIAL, 2, NULL }, 5 },  { { ADREV_EVERY, 2, NULL }, 7 },
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static struct shelf shelf;
static ad_store store[REPORTS];

static void go(const struct way *w)
{
    ad_tape_clear(tape);
    memset(&shelf, 0, sizeof shelf);
    start_program();
    how.schedule = w->schedule;
    store[0] = store_in(&shelf, w->every);
    how.store = w->every == 0 ? NULL : store;
}

struct answer {
    double value;
    double g[NUMBERS];
    ad_connection connected[NUMBERS];
};

static struct answer plain;
static struct answer first;
static struct answer got;

static void ask(unsigned long long seed, size_t way, struct answer *a)
{
    ad_rev y = run();
    a->value = y.v;
    CHECK(how.status == ADREV_OK, "loop %llu, way %zu: %s", seed, way,
          ad_message(how.status));
    ad_status s = ad_gradient(tape, y, independents, independent, a->g);
    CHECK(s == ADREV_OK, "loop %llu, way %zu: %s", seed, way, ad_message(s));
    s = ad_connected(tape, 1, &y, independents, independent, a->connected);
    CHECK(s == ADREV_OK, "loop %llu, way %zu: connected: %s", seed, way,
          ad_message(s));
    double dx[NUMBERS];
    double dy = 0;
    double want = 0;
    double sum = 0;
    for (size_t i = 0; i < independents; i++) {
        dx[i] = (double)(i % 5) - 1.5;
        want += dx[i] * a->g[i];
        sum += fabs(dx[i] * a->g[i]);
    }
    s = ad_pushforward(tape, independents, independent, dx, 1, &y, &dy);
    // two sums of what may be large and cancel
    CHECK(s == ADREV_OK && fabs(dy - want) <= 1e-12 * (1 + sum), "loop %llu, "
          "way %zu: %s, tangent %.17g, by the gradient %.17g", seed, way,
          ad_message(s), dy, want);
}

static void compare_one(unsigned long long seed, size_t w)
{
    double largest = 1;
    if (w == 0)
        memcpy(&first, &got, sizeof got);
    CHECK(same_bits(1, &got.value, &plain.value), "loop %llu, way %zu: %.17g, "
          "want %.17g", seed, w, got.value, plain.value);
    CHECK(same_bits(independents, got.g, first.g), "loop %llu, way %zu: other "
          "bits", seed, w);
    for (size_t i = 0; i < independents; i++)
        largest = fmax(largest, fabs(plain.g[i]));
    for (size_t i = 0; i < independents; i++) {
        CHECK(fabs(got.g[i] - plain.g[i]) <= 1e-13 * largest, "loop %llu, way "
              "%zu [%zu]: %.17g, want %.17g", seed, w, i, got.g[i],
              plain.g[i]);
        CHECK(got.connected[i] == plain.connected[i], "loop %llu, way %zu "
              "[%zu]: connected %d, want %d, gradient %g", seed, w, i,
              (int)got.connected[i], (int)plain.connected[i], plain.g[i]);
        CHECK(got.connected[i] == ADREV_CONNECTED || got.g[i] == 0,
              "loop %llu, way %zu [%zu]: disconnected, %g", seed, w, i,
              got.g[i]);
    }
    const ad_scan_report *p = &how.report[0];
    CHECK(p->evaluations >= p->steps, "loop %llu: %zu of %zu steps", seed,
          p->evaluations, p->steps);
    CHECK(p->evaluations - p->replayed <= how.calls, "loop %llu, way %zu: "
          "%zu evaluations, %zu replayed, %zu calls", seed, w,
          p->evaluations, p->replayed, how.calls);
}

#ifdef SCAN_RANDOM_REPLAYED
// Scans made again: by functions that the ones before have recorded. As long as
// these are the same, so are the bits.
static void compare_again(unsigned long long seed)
{
    enum { WARM = 3 };
    how.replays = ad_replays_new(NULL);
    for (size_t w = 0; w < WARM; w++) {
        go(&ways[4 * w % WAYS]);
        ask(seed, w, &got);
        memcpy(&first, &got, sizeof got);
        compare_one(seed, 4 * w % WAYS);
    }
    for (size_t w = 0; w < WAYS; w++) {
        size_t paths = how.replays->paths;
        go(&ways[w]);
        ask(seed, w, &got);
        bool same = w > 0 && how.replays->paths == paths;
        if (!same)
            memcpy(&first, &got, sizeof got);
        compare_one(seed, w);
    }
    ad_tape_clear(tape);
    ad_replays_free(how.replays);
    how.replays = NULL;
}
#endif

static void compare(unsigned long long seed)
{
    draw_loop(seed);
    how.plain = true;
    go(&ways[0]);
    ask(seed, 0, &plain);
    how.plain = false;
    for (size_t w = 0; w < WAYS; w++) {
        go(&ways[w]);
        ask(seed, w, &got);
        compare_one(seed, w);
    }
#ifdef SCAN_RANDOM_REPLAYED
    compare_again(seed);
    how.compiled = seed % COMPILE_EVERY == 0;
    if (how.compiled)
        compare_again(seed);
    how.compiled = false;
#endif
}

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    for (unsigned long long seed = 1; seed <= LOOPS; seed++)
        compare(seed);
    ad_tape_free(tape);
#ifdef SCAN_RANDOM_REPLAYED
    return check_done("scan_random_replayed");
#else
    return check_done("scan_random");
#endif
}
