// SPDX-License-Identifier: MIT-0
/* arrays.c - programs of adrev.c with array statements: a vector or a matrix
 * is one operand. A column of its own in the table.
 */

#include "../adrev.h"

#include "workloads.h"

#include <stdlib.h>

static ad_tape *tape;
static ad_tape *others;         // current outside of a run
static ad_rev *room;
static size_t room_size;

static void release(void)
{
    ad_tape_free(tape);
    free(room);
    tape = NULL;
    room = NULL;
    room_size = 0;
}

static size_t bytes(void)
{
    return ad_tape_bytes(tape);
}

// A new recording with its inputs; extra numbers follow them.
static ad_rev *begin(const bench_case *c, const double *x, size_t extra)
{
    if (c->inputs + extra > room_size) {
        free(room);
        room = malloc((c->inputs + extra) * sizeof *room);
        room_size = room ? c->inputs + extra : 0;
    }
    if (!tape) {
        tape = ad_tape_new();
    }
    others = ad_use(tape);
    ad_tape_clear(tape);
    ad_inputs(c->inputs, x, room);
    return room;
}

static void finish(const bench_case *c, const ad_rev *in, ad_rev out,
                   double *y, double *dy)
{
    *y = ad_value(out);
    ad_gradient(tape, out, c->inputs, in, dy);
    ad_use(others);
}

static void run_dot(const bench_case *c, const double *x, double *y, double *dy)
{
    const ad_rev *in = begin(c, x, 0);

    finish(c, in, ad_dot(c->size, in, in + c->size), y, dy);
}

static void run_matvec(const bench_case *c, const double *x,
                       double *y, double *dy)
{
    const size_t n = c->size;
    ad_rev *in = begin(c, x, n);
    ad_rev *product = in + c->inputs;

    ad_matvec(n, n, in, in + n * n, product);
    finish(c, in, ad_sum(n, product), y, dy);
}

// Weights m x n row-major, then biases; returns what follows them.
static const ad_rev *dense_relu(size_t m, size_t n, const ad_rev *w,
                                const ad_rev *x, ad_rev *y)
{
    const ad_rev *b = w + m * n;

    ad_matvec(m, n, w, x, y);
    ad_each(ADREV_OP_add, m, y, b, NULL, y);
    ad_each(ADREV_OP_relu, m, y, NULL, NULL, y);
    return b + m;
}

static void run_nn(const bench_case *c, const double *x, double *y, double *dy)
{
    const ad_rev *in = begin(c, x, 0);
    const ad_rev *next;
    ad_rev hidden[BENCH_NN_HIDDEN];
    ad_rev out[BENCH_NN_OUT];
    double weight[BENCH_NN_OUT];

    next = dense_relu(BENCH_NN_HIDDEN, BENCH_NN_IN, in,
                      in + c->inputs - BENCH_NN_IN, hidden);
    dense_relu(BENCH_NN_OUT, BENCH_NN_HIDDEN, next, hidden, out);
    ad_softmax(BENCH_NN_OUT, out, out);
    for (size_t i = 0; i < BENCH_NN_OUT; i++) {
        weight[i] = (double)(i + 1) / BENCH_NN_OUT;
    }
    finish(c, in, ad_dotc(BENCH_NN_OUT, out, weight), y, dy);
}

static const bench_tool arrays = {
    .name = "arrays",
    .version = "",
    .run = {
        [BENCH_DOT] = run_dot,
        [BENCH_MATVEC] = run_matvec,
        [BENCH_NN] = run_nn,
    },
    .bytes = bytes,
    .release = release,
};

BENCH_REGISTER(arrays)
