// SPDX-License-Identifier: MIT-0
// tags: part
/* training.c - the network of examples/27_tiny_network.c, trained on the board.
 * Results are the losses of some epochs, which must fall, and the weights. A
 * round is one point: loss, gradient, step. With BRIEF, for a trace of all
 * instructions, there is no training before the rounds.                     */

#include "board.h"
#include "variant.h"

#include "../../examples/tiny_network.h"

#ifdef WRITE
enum { INPUTS = TINY_WEIGHTS + TINY_IN };

static void model(const ad_rev *x, ad_rev *y, void *unused)
{
    (void)unused;
    y[0] = tiny_loss(x, x + TINY_WEIGHTS);
}

#define MODELS { "model", model, INPUTS, 1 }
#include "write.h"
#else
#ifdef BRIEF
enum { EPOCHS = 0 };
#else
enum { EPOCHS = 100 };
#endif

static tiny_network net;

#if defined TAPE
static void gradient(const number in[TINY_IN], number *loss,
                     number g[TINY_WEIGHTS])
{
    tape_check(tiny_gradient(tape, &net, in, loss, g));
}
#elif defined CODE
static void gradient(const number in[TINY_IN], number *loss,
                     number g[TINY_WEIGHTS])
{
    number x[TINY_WEIGHTS + TINY_IN], dx[TINY_WEIGHTS + TINY_IN];
    number work[model_linearize_WORK];
    for (int i = 0; i < TINY_WEIGHTS; i++)
        x[i] = net.w[i];
    for (int i = 0; i < TINY_IN; i++)
        x[TINY_WEIGHTS + i] = in[i];
    model_linearize(x, loss, dx, work);
    for (int i = 0; i < TINY_WEIGHTS; i++)
        g[i] = dx[i];
}
#else
static void gradient(const number in[TINY_IN], number *loss,
                     number g[TINY_WEIGHTS])
{
    const number *w = net.w;
    number a[TINY_UNITS], size[TINY_UNITS], y = w[4 * TINY_UNITS];
    for (int i = 0; i < TINY_UNITS; i++) {
        a[i] = w[4 * i] * in[0] + w[4 * i + 1] * in[1] + w[4 * i + 2];
        size[i] = 1 + (a[i] < 0 ? -a[i] : a[i]);
        y += w[4 * i + 3] * (a[i] / size[i]);
    }
    const number off = y - in[2];
    *loss = off * off;
#if GIVES_DERIVATIVES
    g[4 * TINY_UNITS] = 2 * off;
    for (int i = 0; i < TINY_UNITS; i++) {
        const number da = 2 * off * w[4 * i + 3] / (size[i] * size[i]);
        g[4 * i] = da * in[0];
        g[4 * i + 1] = da * in[1];
        g[4 * i + 2] = da;
        g[4 * i + 3] = 2 * off * (a[i] / size[i]);
    }
#else
    (void)g;
#endif
}
#endif

static number learn(int point)
{
    number in[TINY_IN], g[TINY_WEIGHTS], loss;
    tiny_point(point, in);
    gradient(in, &loss, g);
#if GIVES_DERIVATIVES
    tiny_learn(&net, g);
#endif
    return loss;
}

void evaluate(void)
{
    static int point;
    out[0] = learn(point++);
}

void prepare(void)
{
    tape_open();
    tiny_begin(&net);
    results = 1;
    for (int epoch = 0; epoch < EPOCHS && GIVES_DERIVATIVES; epoch++) {
        number sum = 0;
        for (int i = 0; i < TINY_POINTS; i++)
            sum += learn(i);
        if (epoch % 10 == 0)
            out[results++] = sum;
    }
    if (results > 1 && !(out[results - 1] < out[1] / 50)) {
        board_write("the loss does not fall ");
        board_quit(1);
    }
    for (int i = 0; i < TINY_WEIGHTS && EPOCHS > 0; i++)
        out[results++] = net.w[i];
}
#endif
