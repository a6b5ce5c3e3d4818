// SPDX-License-Identifier: MIT-0
/* loops.c - loop, lstm and sir as one statement each (ad_scan), every state stored.
 *
 * Three columns of the table: the step is recorded on a small tape each time
 * (scan); or, built with -DLOOPS_REPLAYED, recorded once and replayed, or
 * compiled, in the first round: its function is kept for the others.
 */

#define ADREV_STATIC            // adrev.c has the functions of adrev.h, too
#define ADREV_IMPLEMENTATION
#ifdef LOOPS_REPLAYED
#include "../adrev_function.h"
#endif
#include "../adrev_loop.h"

#include "real.h"
#include "workloads.h"

#include <stdlib.h>
#include <string.h>

static ad_tape *tape;

#ifdef LOOPS_REPLAYED
static ad_replays *kept[2][BENCH_WORKLOADS];     // replayed, compiled

static ad_replays *replays_of(const bench_case *c, bool compiled)
{
    ad_replays **r = &kept[compiled][c->workload];

    if (!*r) {
        *r = ad_replays_new(NULL);
    }
    return *r;
}
#else
static ad_replays *replays_of(const bench_case *c, bool compiled)
{
    (void)c;
    (void)compiled;
    return NULL;
}
#endif

static void release(void)
{
    ad_tape_free(tape);
    tape = NULL;
#ifdef LOOPS_REPLAYED
    for (size_t i = 0; i < BENCH_WORKLOADS; i++) {
        ad_replays_free(kept[0][i]);
        ad_replays_free(kept[1][i]);
    }
    memset(kept, 0, sizeof kept);
#endif
}

static size_t bytes(void) { return ad_tape_bytes(tape); }

static void begin(const bench_case *c, const double *x, ad_rev *in)
{
    if (!tape) {
        tape = ad_tape_new();
    }
    ad_tape_clear(tape);
    ad_use(tape);
    ad_inputs(c->inputs, x, in);
}

static void finish(const bench_case *c, const ad_rev *in, ad_rev out,
                   double *y, double *dy)
{
    if (ad_gradient(tape, out, c->inputs, in, dy) == ADREV_OK) {
        *y = out.v;
    }
    ad_use(NULL);
}

/* ---------------------------------------------------------------------------
 * loop
 * ------------------------------------------------------------------------- */

static void wander(ad_step *s, void *ctx)
{
    const ad_rev x = s->state[0][0];
    const ad_rev *p = s->parameter;
    const ad_rev y = ad_rec(ad_add(
        ad_add(ad_mul(ad_sin(x), p[0]),
               ad_mul(ad_exp(ad_mul(ad_neg(x), x)), p[1])), p[2]));

    (void)ctx;
    s->next[0][0] = y;
    s->next[1][0] = ad_rec(ad_add(s->state[1][0], y));
}

static void run_loop(const bench_case *c, const double *x, double *y,
                     double *dy, bool compiled)
{
    ad_rev in[4], zero = { 0 }, sum = { 0 };
    const ad_scan_state states[] = {
        { .size = 1, .initial = in },
        { .size = 1, .initial = &zero, .last = &sum },
    };
    const ad_scan_desc d = {
        .step = wander, .steps = c->steps, .states = 2, .state = states,
        .parameters = 3, .parameter = in + 1, .compiled = compiled,
        .replays = replays_of(c, compiled),
    };

    begin(c, x, in);
    ad_scan(&d, NULL);
    finish(c, in, ad_rec(ad_div(sum, (double)c->steps)), y, dy);
}

/* ---------------------------------------------------------------------------
 * lstm: the state of both layers and the sum so far; characters are a sequence
 * ------------------------------------------------------------------------- */

#define SIGMA(z) ad_div(1.0, ad_add(1.0, ad_exp(ad_neg(z))))
#define GATE(k, of)                                                           \
    ad_add(ad_mul(of, w[(k) * LSTM_B + j]), w[((k) + 4) * LSTM_B + j])

static void layer(const ad_rev *w, const ad_rev *state, ad_rev *next,
                  ad_rev *u)
{
    const ad_rev *h = state;
    const ad_rev *s = state + LSTM_B;

    for (size_t j = 0; j < LSTM_B; j++) {
        const ad_expr f = SIGMA(GATE(0, u[j]));
        const ad_expr i = SIGMA(GATE(1, h[j]));
        const ad_expr o = SIGMA(GATE(2, u[j]));
        const ad_expr a = ad_tanh(GATE(3, h[j]));
        const ad_rev cell = ad_rec(ad_add(ad_mul(s[j], f), ad_mul(i, a)));

        next[LSTM_B + j] = cell;
        next[j] = ad_rec(ad_mul(o, ad_tanh(cell)));
        u[j] = next[j];
    }
}

#undef SIGMA
#undef GATE

static void character(ad_step *s, void *ctx)
{
    const ad_rev *extra = s->parameter + 8 * LSTM_L * LSTM_B;
    const ad_rev *text = s->sequence[0];
    ad_rev u[LSTM_B];
    ad_rev sum = ad_rec(2.0);
    ad_rev total = s->state[1][0];

    (void)ctx;
    for (size_t j = 0; j < LSTM_B; j++) {
        u[j] = ad_rec(ad_mul(text[j], extra[j]));
    }
    for (size_t i = 0; i < LSTM_L; i++) {
        layer(s->parameter + 8 * LSTM_B * i, s->state[0] + 2 * LSTM_B * i,
              s->next[0] + 2 * LSTM_B * i, u);
    }
    for (size_t j = 0; j < LSTM_B; j++) {
        u[j] = ad_rec(ad_add(ad_mul(u[j], extra[LSTM_B + j]),
                             extra[2 * LSTM_B + j]));
        ad_acc(&sum, ad_exp(u[j]));
    }
    sum = ad_rec(ad_log(sum));
    for (size_t j = 0; j < LSTM_B; j++) {
        ad_acc(&total, ad_mul(text[LSTM_B + j], ad_sub(u[j], sum)));
    }
    s->next[1][0] = total;
}

static void run_lstm(const bench_case *c, const double *x, double *y,
                     double *dy, bool compiled)
{
    static const int taps[] = { 0, 1 };
    const size_t words = c->steps * LSTM_B;
    ad_rev *in = malloc((c->inputs + LSTM_STATE + words) * sizeof *in);
    ad_rev zero = { 0 }, sum = { 0 };

    if (!in) {
        return;
    }
    begin(c, x, in);
    for (size_t i = 0; i < LSTM_STATE + words; i++) {
        in[c->inputs + i] = ad_rec(x[c->inputs + i]);
    }
    const ad_scan_state states[] = {
        { .size = LSTM_STATE, .initial = in + c->inputs },
        { .size = 1, .initial = &zero, .last = &sum },
    };
    const ad_scan_sequence text = {
        .size = LSTM_B, .rows = c->steps, .taps = 2, .tap = taps,
        .row = in + c->inputs + LSTM_STATE,
    };
    const ad_scan_desc d = {
        .step = character, .steps = c->steps - 1, .states = 2,
        .state = states, .sequences = 1, .sequence = &text,
        .parameters = c->inputs, .parameter = in, .compiled = compiled,
        .replays = replays_of(c, compiled),
    };

    ad_scan(&d, NULL);
    finish(c, in, ad_rec(ad_div(ad_neg(sum), LSTM_B
                                * (double)(c->steps - 1))), y, dy);
    free(in);
}

/* ---------------------------------------------------------------------------
 * sir
 * ------------------------------------------------------------------------- */

static void slope(const ad_rev *p, const ad_rev *at, ad_rev *k)
{
    const ad_rev infections = ad_rec(ad_div(
        ad_mul(ad_mul(p[0], at[0]), at[1]), BENCH_SIR_N));

    k[0] = ad_rec(ad_neg(infections));
    k[1] = ad_rec(ad_sub(infections, ad_mul(p[1], at[1])));
}

static void epidemic(ad_step *s, void *ctx)
{
    const double h = BENCH_SIR_H;
    const ad_rev *x = s->state[0];
    const ad_rev *p = s->parameter;
    ad_rev k[4][2], at[2];

    (void)ctx;
    slope(p, x, k[0]);
    for (int i = 1; i < 4; i++) {
        for (int j = 0; j < 2; j++) {
            at[j] = ad_rec(ad_add(x[j], ad_mul(i < 3 ? h / 2 : h,
                                               k[i - 1][j])));
        }
        slope(p, at, k[i]);
    }
    for (int j = 0; j < 2; j++) {
        s->next[0][j] = ad_rec(ad_add(x[j], ad_mul(h / 6, ad_add(
            ad_add(ad_add(k[0][j], ad_mul(2.0, k[1][j])),
                   ad_mul(2.0, k[2][j])), k[3][j]))));
    }
    s->next[1][0] = ad_rec(ad_add(s->state[1][0], s->next[0][1]));
}

static void run_sir(const bench_case *c, const double *x, double *y,
                    double *dy, bool compiled)
{
    ad_rev in[3], zero = { 0 }, sum = { 0 };

    begin(c, x, in);
    const ad_rev start[2] = { ad_rec(ad_sub(BENCH_SIR_N, in[2])), in[2] };
    const ad_scan_state states[] = {
        { .size = 2, .initial = start },
        { .size = 1, .initial = &zero, .last = &sum },
    };
    const ad_scan_desc d = {
        .step = epidemic, .steps = c->steps, .states = 2, .state = states,
        .parameters = 2, .parameter = in, .compiled = compiled,
        .replays = replays_of(c, compiled),
    };

    ad_scan(&d, NULL);
    finish(c, in, ad_rec(ad_div(sum, (double)c->steps)), y, dy);
}

/* ---------------------------------------------------------------------------
 * The tools
 * ------------------------------------------------------------------------- */

#define RUN(name, how, compiled)                                              \
    static void how##_##name(const bench_case *c, const double *x, double *y, \
                             double *dy)                                      \
    {                                                                         \
        run_##name(c, x, y, dy, compiled);                                    \
    }

#ifndef LOOPS_REPLAYED

RUN(loop, scan, false)
RUN(lstm, scan, false)
RUN(sir, scan, false)
static const bench_tool scan_tool = {
    .name = "scan",
    .version = ADREV_VERSION,
    .run = {
        [BENCH_LOOP] = scan_loop,
        [BENCH_LSTM] = scan_lstm,
        [BENCH_SIR] = scan_sir,
    },
    .bytes = bytes,
    .release = release,
};
BENCH_REGISTER(scan_tool)

#else

RUN(loop, replay, false)
RUN(lstm, replay, false)
RUN(sir, replay, false)
RUN(loop, compiled, true)
RUN(lstm, compiled, true)
RUN(sir, compiled, true)
static const bench_tool replay_tool = {
    .name = "scan repl",
    .version = ADREV_VERSION,
    .run = {
        [BENCH_LOOP] = replay_loop,
        [BENCH_LSTM] = replay_lstm,
        [BENCH_SIR] = replay_sir,
    },
    .bytes = bytes,
    .release = release,
};
static const bench_tool compiled_tool = {
    .name = "scan comp",
    .version = ADREV_VERSION,
    .run = {
        [BENCH_LOOP] = compiled_loop,
        [BENCH_LSTM] = compiled_lstm,
        [BENCH_SIR] = compiled_sir,
    },
    .bytes = bytes,
    .release = release,
};
BENCH_REGISTER(replay_tool)
BENCH_REGISTER(compiled_tool)

#endif
