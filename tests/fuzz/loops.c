// SPDX-License-Identifier: MIT-0
// tags: part
/* loops.c - any description of a scan, a checkpoint, a map or a fold.
 *
 * Each is run twice: on a tape that grows, where it is one statement, and in
 * fixed memory, where its steps simply run and are recorded. Both must give the
 * same answer, the same values, and the same derivatives within rounding. All
 * functions are bounded, with slopes near 1 or below. What cannot be must be
 * refused by both, and nothing may be read or written beyond the arrays.    */

#include <stdbool.h>
#include <stddef.h>

#define ADREV_REPLAY_FROM 4     // so that short loops are replayed, too
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"

#include "adrev_loop.h"

#include "fuzz.h"

enum {
    INPUTS = 8,                 // whose derivatives are compared
    STATES = 2, SEQUENCES = 2, OUTPUTS = 2, PARAMETERS = 2, TAPS = 2,
    WIDE = 2,                   // numbers of a row
    LONGEST = 12,               // steps and elements
    RESULTS = 256,
    FIXED = 1 << 20             // bytes of fixed memory
};

static const double tolerance = 1e-10;

/* --- what is run ---------------------------------------------------------- */

typedef struct kind {
    unsigned mix;               // which functions
    size_t stop;                // the step that is the last one; 0: none
    bool fails;                 // that step fails instead
    bool forgets;               // the last number is not set
    bool asks;                  // for the number of the step
    size_t n;                   // numbers of a function that is no step
    size_t m;
} kind;

static ad_rev mixed(unsigned how, ad_rev a, ad_rev b)
{
    switch (how % 4) {
    case 0:  return ad_rec(ad_mul(0.5, ad_sin(ad_add(a, b))));
    case 1:  return ad_rec(ad_mul(0.5, ad_tanh(ad_sub(a, b))));
    case 2:  return ad_rec(ad_sub(ad_mul(0.5, a), ad_mul(0.25, b)));
    default: return ad_rec(ad_select(ad_lt(a, b), ad_mul(0.5, a),
                                     ad_mul(0.25, b)));
    }
}

// The m numbers y of the n numbers x.
static void mix(const kind *k, size_t n, const ad_rev *x, size_t m, ad_rev *y)
{
    for (size_t i = 0; i < m; i++) {
        ad_rev a = n > 0 ? x[i % n] : ad_rec(0.5);
        ad_rev b = n > 0 ? x[(i + k->mix / 4) % n] : ad_rec(0.25);
        if (i + 1 < m || !k->forgets)
            y[i] = mixed(k->mix + (unsigned)i, a, b);
    }
}

static void function(const ad_rev *x, ad_rev *y, void *ctx)
{
    const kind *k = ctx;
    mix(k, k->n, x, k->m, y);
}

// An operator must be associative.
static void folded(const ad_rev *x, ad_rev *y, void *ctx)
{
    const kind *k = ctx;
    for (size_t i = 0; i < k->m; i++)
        y[i] = ((k->mix >> i) & 1) != 0 ? ad_rec(ad_add(x[i], x[k->m + i]))
                                        : ad_rec(ad_mul(x[i], x[k->m + i]));
}

typedef struct loop {
    kind k;
    ad_scan_desc d;
    ad_scan_state state[STATES];
    ad_scan_sequence sequence[SEQUENCES];
    ad_scan_output output[OUTPUTS];
    int tap[STATES + SEQUENCES][TAPS];
    unsigned char carried[4];
} loop;

static size_t taps_of(size_t taps) { return taps == 0 ? 1 : taps; }

static void step(ad_step *s, void *ctx)
{
    const loop *l = ctx;
    ad_rev x[32];
    size_t n = 0;
    for (size_t i = 0; i < l->d.states; i++)
        for (size_t j = 0; j < taps_of(l->state[i].taps) * l->state[i].size;
             j++)
            x[n++] = s->state[i][j];
    for (size_t i = 0; i < l->d.sequences; i++)
        for (size_t j = 0;
             j < taps_of(l->sequence[i].taps) * l->sequence[i].size; j++)
            x[n++] = s->sequence[i][j];
    for (size_t i = 0; i < l->d.parameters; i++)
        x[n++] = s->parameter[i];
    if (l->k.asks)
        x[n++] = ad_rec(ad_mul(0.01, ad_step_number(s)));
    for (size_t i = 0; i < l->d.states; i++)
        mix(&l->k, n, x, l->state[i].size, s->next[i]);
    for (size_t i = 0; i < l->d.outputs; i++)
        mix(&l->k, n, x, l->output[i].size, s->output[i]);
    if (l->d.untraced_bytes > 0) {
        unsigned char *carried = s->untraced;
        carried[0]++;
        s->stop = l->k.stop > 0 && carried[0] == l->k.stop;
        if (s->stop && l->k.fails)
            s->status = ADREV_ENOMEM;
    }
}

/* --- one run, on one of the tapes ----------------------------------------- */

typedef struct run {
    ad_rev x[INPUTS];
    ad_rev *arrays[16];
    size_t held;
    ad_rev y[RESULTS];
    size_t n;                   // of y
    double value[RESULTS];
    double g[INPUTS];
    ad_status status;           // of the call
    ad_status sweep;
} run;

static ad_rev *array(run *r, size_t n)
{
    ad_rev *a = fuzz_array(n, sizeof *a);
    FUZZ_MUST(r->held < 16, "arrays");
    return r->arrays[r->held++] = a;
}

// n numbers, most of them inputs.
static ad_rev *numbers(run *r, fuzz_input *in, size_t n)
{
    ad_rev *a = array(r, n);
    for (size_t i = 0; i < n; i++) {
        size_t k = fuzz_below(in, INPUTS + 1);
        a[i] = k < INPUTS ? r->x[k] : ad_rec(0.125);
    }
    return a;
}

static void results(run *r, size_t n, const ad_rev *y)
{
    for (size_t i = 0; y != NULL && i < n && r->n < RESULTS; i++)
        r->y[r->n++] = y[i];
}

// NULL where that is a mistake, now and then.
static ad_rev *maybe(fuzz_input *in, ad_rev *a)
{
    return fuzz_byte(in) == 255 ? NULL : a;
}

static size_t rare_size(fuzz_input *in, size_t usual)
{
    static const size_t sizes[] = { SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8,
                                    SIZE_MAX / 16 + 1 };
    return fuzz_byte(in) >= 252 ? sizes[fuzz_below(in, 4)] : usual;
}

/* --- scans ---------------------------------------------------------------- */

static size_t draw_taps(fuzz_input *in, int tap[], int lowest)
{
    size_t taps = fuzz_below(in, TAPS + 1);
    for (size_t i = 0; i < taps; i++)
        tap[i] = fuzz_rarely(in) ? fuzz_small(in)
                                 : lowest + (int)fuzz_below(in, 2);
    return taps;
}

static size_t depth_of(size_t taps, const int tap[])
{
    int depth = taps == 0 ? 1 : 0;
    for (size_t i = 0; i < taps; i++)
        depth = -tap[i] > depth ? -tap[i] : depth;
    return (size_t)depth;
}

static void draw_states(run *r, loop *l, fuzz_input *in, size_t steps)
{
    l->d.states = fuzz_below(in, STATES + 1);
    for (size_t i = 0; i < l->d.states; i++) {
        ad_scan_state *s = &l->state[i];
        s->size = fuzz_below(in, WIDE + 1);
        s->taps = draw_taps(in, l->tap[i], -2);
        s->tap = l->tap[i];
        size_t held = depth_of(s->taps, s->tap) * s->size;
        s->initial = maybe(in, numbers(r, in, held));
        s->last = fuzz_below(in, 3) ? array(r, held) : NULL;
        s->rows = fuzz_below(in, 3) ? array(r, steps * s->size) : NULL;
    }
}

static void draw_sequences(run *r, loop *l, fuzz_input *in, size_t steps)
{
    l->d.sequences = fuzz_below(in, SEQUENCES + 1);
    for (size_t i = 0; i < l->d.sequences; i++) {
        ad_scan_sequence *s = &l->sequence[i];
        s->size = fuzz_below(in, WIDE + 1);
        s->taps = draw_taps(in, l->tap[STATES + i], -1);
        s->tap = l->tap[STATES + i];
        s->rows = steps + (fuzz_rarely(in) ? 0 : 4);
        s->backward = fuzz_below(in, 2) != 0;
        s->row = maybe(in, numbers(r, in, s->rows * s->size));
    }
}

static void draw_loop(run *r, loop *l, fuzz_input *in)
{
    size_t steps = fuzz_below(in, LONGEST + 1);
    memset(l, 0, sizeof *l);
    l->k.mix = fuzz_byte(in);
    l->k.stop = fuzz_below(in, LONGEST);
    l->k.fails = fuzz_rarely(in);
    l->k.forgets = fuzz_byte(in) >= 250;
    l->k.asks = fuzz_below(in, 2) != 0;
    draw_states(r, l, in, steps);
    draw_sequences(r, l, in, steps);
    l->d.outputs = fuzz_below(in, OUTPUTS + 1);
    for (size_t i = 0; i < l->d.outputs; i++) {
        l->output[i].size = fuzz_below(in, WIDE + 1);
        l->output[i].row = fuzz_below(in, 3)
                         ? array(r, steps * l->output[i].size) : NULL;
    }
    l->d.parameters = fuzz_below(in, PARAMETERS + 1);
    l->d.parameter = maybe(in, numbers(r, in, l->d.parameters));
    l->d.step = fuzz_byte(in) == 255 ? NULL : step;
    l->d.ctx = l;
    l->d.steps = steps;
    l->d.state = l->state;
    l->d.sequence = l->sequence;
    l->d.output = l->output;
    l->d.untraced = l->carried;
    l->d.untraced_bytes = fuzz_below(in, 2) * sizeof l->carried;
    l->d.open_ended = fuzz_below(in, 2) != 0;
    l->d.truncated = fuzz_rarely(in);
    l->d.reversed = fuzz_below(in, LONGEST + 2);
    l->d.schedule.kind = (ad_schedule_kind)fuzz_below(in, 5);
    l->d.schedule.n = l->d.schedule.kind == ADREV_BYTES
                    ? 1024 * fuzz_below(in, 8) : fuzz_below(in, 8);
    l->d.whole = fuzz_below(in, 2) != 0;
    l->d.unreplayed = fuzz_below(in, 2) != 0;
}

static void run_scan(run *r, fuzz_input *in, loop *l)
{
    draw_loop(r, l, in);
    size_t steps = l->d.steps;
    r->status = ad_scan(&l->d, NULL);
    if (l->k.stop > 0)          // later rows are not written
        steps = 0;
    for (size_t i = 0; i < l->d.states; i++) {
        const ad_scan_state *s = &l->state[i];
        results(r, depth_of(s->taps, s->tap) * s->size, s->last);
        results(r, steps * s->size, s->rows);
    }
    for (size_t i = 0; i < l->d.outputs; i++)
        results(r, steps * l->output[i].size, l->output[i].row);
}

/* --- one call, maps and folds --------------------------------------------- */

static void run_checkpoint(run *r, fuzz_input *in, kind *k)
{
    const ad_checkpoint_options options = {
        .keep = (ad_keep)fuzz_below(in, 4),
        .budget = 64 * fuzz_below(in, 256),
        .context = fuzz_below(in, 2) * sizeof *k
    };
    size_t n = fuzz_below(in, 6);
    size_t m = fuzz_below(in, 6);
    ad_rev *x = maybe(in, numbers(r, in, n));
    ad_rev *y = array(r, m);
    *k = (kind){ .mix = fuzz_byte(in), .n = n, .m = m,
                 .forgets = fuzz_rarely(in) };
    r->status = ad_checkpoint_with(fuzz_below(in, 3) ? &options : NULL,
                                   function, k, rare_size(in, n), x, m, y);
    results(r, m, y);
}

static void draw_rows(run *r, fuzz_input *in, size_t n, size_t args,
                      ad_rows x[])
{
    for (size_t i = 0; i < args; i++) {
        size_t size = fuzz_below(in, WIDE + 1);
        ptrdiff_t move = (ptrdiff_t)fuzz_below(in, 4) - 1;
        size_t by = (size_t)(move < 0 ? -move : move);
        size_t all = n > 0 && size > 0 ? (n - 1) * by + size : 0;
        ad_rev *from = numbers(r, in, all);
        x[i] = (ad_rows){ move < 0 && all > 0 ? from + (n - 1) * by : from,
                          size, move };
    }
}

static void run_map(run *r, fuzz_input *in, kind *k, size_t what)
{
    size_t n = fuzz_below(in, LONGEST + 1);
    size_t args = fuzz_below(in, 3);
    size_t m = fuzz_below(in, WIDE + 1);
    ad_rows x[2];
    draw_rows(r, in, n, args, x);
    *k = (kind){ .mix = fuzz_byte(in), .m = m, .forgets = fuzz_rarely(in) };
    for (size_t i = 0; i < args; i++)
        k->n += x[i].size;
    size_t rows = what == 1 ? 1 : n;
    ad_rev *y = array(r, rows * m);
    size_t length = rare_size(in, n);
    r->status = what == 0 ? ad_map(function, k, length, args, x, m, y)
              : what == 1 ? ad_map_reduce(function, NULL, k, length, args, x,
                                          m, NULL, y)
              : ad_map_prefix(function, NULL, k, length, args, x, m, y);
    results(r, rows * m, y);
}

static void run_fold(run *r, fuzz_input *in, kind *k, bool prefix)
{
    size_t n = fuzz_below(in, 40);
    size_t d = fuzz_below(in, WIDE + 1);
    const ad_real neutral[WIDE] = { 0 };
    ad_rev *x = maybe(in, numbers(r, in, n * d));
    ad_rev *y = array(r, prefix ? n * d : d);
    *k = (kind){ .mix = fuzz_byte(in), .m = d };
    r->status = prefix ? ad_prefix(folded, k, n, d, x, y)
              : ad_reduce(folded, k, n, d, x,
                          fuzz_below(in, 2) ? neutral : NULL, y);
    results(r, prefix ? n * d : d, y);
}

static void run_rows_of_table(run *r, fuzz_input *in)
{
    static const ad_opcode ops[] = { ADREV_OP_add, ADREV_OP_min, ADREV_OP_max,
                                     ADREV_OP_sub };
    ad_opcode op = ops[fuzz_below(in, 4)];
    size_t n = fuzz_below(in, LONGEST + 1);
    size_t m = fuzz_below(in, 5);
    ptrdiff_t ix[LONGEST];
    ad_rev *x = numbers(r, in, n);
    ad_rev *y = array(r, n + m + 1);
    for (size_t i = 0; i < n; i++)
        ix[i] = (ptrdiff_t)fuzz_below(in, 8) - 2;
    size_t length = rare_size(in, n);
    switch (fuzz_below(in, 5)) {
    case 0:  r->status = ad_reduce_op(op, length, x, y); break;
    case 1:  r->status = ad_prefix_op(op, length, x, y); break;
    case 2:  r->status = ad_histogram(op, n, ix, x, m, y); break;
    case 3:  r->status = ad_gather(n, ix, n, 1, x, y); break;
    default: r->status = ad_rotate(n, 1, (ptrdiff_t)fuzz_byte(in) - 128, x, y);
    }
    results(r, n + m + 1, y);
}

/* --- both runs ------------------------------------------------------------ */

static void differentiate(run *r, ad_tape *t)
{
    ad_real w[RESULTS], g[INPUTS];
    for (size_t i = 0; i < r->n; i++) {
        w[i] = (ad_real)1 / (ad_real)(1 + i % 7);
        r->value[i] = (double)r->y[i].v;
    }
    r->sweep = ad_pullback(t, r->n, r->y, w, INPUTS, r->x, g);
    for (size_t j = 0; j < INPUTS && r->sweep == ADREV_OK; j++)
        r->g[j] = (double)g[j];
    // What depends on no input is a constant where the steps are recorded; of
    // one statement all results are variables, with a derivative of 0.
    if (r->sweep == ADREV_EPASSIVE)
        r->sweep = ADREV_OK;
}

static void do_run(run *r, ad_tape *t, fuzz_input in)
{
    static loop l;
    kind k;
    ad_real at[INPUTS];
    memset(r, 0, sizeof *r);
    for (int i = 0; i < INPUTS; i++)
        at[i] = (ad_real)(0.1 + 0.1 * i);
    ad_use(t);
    ad_inputs(INPUTS, at, r->x);
    switch (fuzz_below(&in, 9)) {
    case 0: case 1: case 2: run_scan(r, &in, &l); break;
    case 3:  run_checkpoint(r, &in, &k); break;
    case 4:  run_map(r, &in, &k, fuzz_below(&in, 3)); break;
    case 5:  run_fold(r, &in, &k, false); break;
    case 6:  run_fold(r, &in, &k, true); break;
    default: run_rows_of_table(r, &in);
    }
    FUZZ_MUST(r->status < ADREV_STATUS_COUNT, "no status");
    FUZZ_MUST(r->status == ADREV_OK || ad_tape_status(t) == r->status
                  || ad_tape_status(t) == ADREV_OK, "%s, but the tape: %s",
              ad_message(r->status), ad_message(ad_tape_status(t)));
    differentiate(r, t);
}

static void let_go(run *r)
{
    for (size_t i = 0; i < r->held; i++)
        free(r->arrays[i]);
}

static void compare(const run *a, const run *b)
{
    FUZZ_MUST(a->n == b->n, "other results");
    for (size_t i = 0; i < a->n; i++)
        FUZZ_MUST(a->value[i] == b->value[i]
                      || fabs(a->value[i] - b->value[i]) <= tolerance,
                  "y[%zu]: %.17g, in fixed memory %.17g", i, a->value[i],
                  b->value[i]);
    FUZZ_MUST(a->sweep == b->sweep, "sweep: %s, in fixed memory %s",
              ad_message(a->sweep), ad_message(b->sweep));
    for (int j = 0; j < INPUTS; j++)
        FUZZ_MUST(fabs(a->g[j] - b->g[j]) <= tolerance,
                  "g[%d]: %.17g, in fixed memory %.17g", j, a->g[j], b->g[j]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static run a, b;
    static max_align_t memory[FIXED / sizeof(max_align_t)];
    fuzz_heap heap = { .left = SIZE_MAX };
    const ad_allocator allocator = { fuzz_alloc, fuzz_free, &heap };
    fuzz_input in = { data, size };
    bool scarce = fuzz_rarely(&in);
    if (scarce)
        heap.left = 1 + fuzz_byte(&in);
    ad_tape *t = ad_tape_new_with(&allocator);
    ad_tape *fixed = ad_tape_in(memory, sizeof memory);
    do_run(&a, t, in);
    do_run(&b, fixed, in);
    if (!scarce) {
        // Room for the states that are kept is asked for where they are kept.
        FUZZ_MUST(a.status == b.status || b.status == ADREV_EFULL,
                  "%s, in fixed memory %s", ad_message(a.status),
                  ad_message(b.status));
        if (a.status == ADREV_OK && b.status == ADREV_OK)
            compare(&a, &b);
    }
    ad_tape_free(t);
    ad_tape_free(fixed);
    let_go(&a);
    let_go(&b);
    FUZZ_MUST(heap.live == 0, "%zu blocks leaked", heap.live);
    return 0;
}
