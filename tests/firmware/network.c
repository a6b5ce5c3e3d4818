// SPDX-License-Identifier: MIT-0
// tags: part
/* network.c - a network with 2 inputs, 8 hidden units (tanh) and one output:
 * the square of its error, and a step of gradient descent in its 33 weights. */

#include "board.h"
#include "variant.h"

#include <math.h>

enum { HIDDEN = 8, WEIGHTS = 4 * HIDDEN + 1 };

static number weight[WEIGHTS];  // 8 x 2 of the inputs, 8, 8 of the output, 1

void prepare(void)
{
    uint32_t state = 1;
    for (int i = 0; i < WEIGHTS; i++) {
        state = state * 1103515245u + 12345u;
        weight[i] = (number)(state >> 16 & 0x7fff) / 32768 - (number)0.5;
    }
    in[0] = 0.25f;
    in[1] = -0.5f;
    in[2] = 0.75f;
    results = GIVES_DERIVATIVES ? 1 + WEIGHTS : 1;
    tape_open();
}

#ifdef TAPE
static ad_rev output(const ad_rev w[WEIGHTS], const number x[2])
{
    ad_rev o = w[4 * HIDDEN];
#ifdef ARRAYS
    const ad_rev v[2] = { { .v = x[0] }, { .v = x[1] } };
    ad_rev h[HIDDEN];
    ad_matvec(HIDDEN, 2, w, v, h);
    ad_each(ADREV_OP_add, HIDDEN, h, w + 2 * HIDDEN, NULL, h);
    ad_each(ADREV_OP_tanh, HIDDEN, h, NULL, NULL, h);
    o = ad_rec(ad_add(o, ad_dot(HIDDEN, w + 3 * HIDDEN, h)));
#else
    for (int i = 0; i < HIDDEN; i++)
        ad_acc(&o, ad_mul(w[3 * HIDDEN + i],
                          ad_tanh(ad_add(ad_add(ad_mul(w[2 * i], x[0]),
                                                ad_mul(w[2 * i + 1], x[1])),
                                         w[2 * HIDDEN + i]))));
#endif
    return o;
}

void evaluate(void)
{
    const number x[2] = { in[0], in[1] };
    number g[WEIGHTS];
    ad_rev w[WEIGHTS];
    ad_tape_clear(tape);
    ad_inputs(WEIGHTS, weight, w);
    const ad_rev e = ad_rec(ad_sqr(ad_sub(output(w, x), in[2])));
    tape_check(ad_gradient(tape, e, WEIGHTS, w, g));
    out[0] = ad_value(e);
    for (int i = 0; i < WEIGHTS; i++) {
        out[1 + i] = g[i];
        weight[i] -= (number)0.0625 * g[i];
    }
}
#else
static number hidden(int i, const number x[2])
{
    const number a = weight[2 * i] * x[0] + weight[2 * i + 1] * x[1]
                   + weight[2 * HIDDEN + i];
    return sizeof a == sizeof(float) ? (number)tanhf((float)a)
                                     : (number)tanh((double)a);
}

void evaluate(void)
{
    const number x[2] = { in[0], in[1] };
    number h[HIDDEN], o = weight[4 * HIDDEN];
    for (int i = 0; i < HIDDEN; i++) {
        h[i] = hidden(i, x);
        o += weight[3 * HIDDEN + i] * h[i];
    }
    const number e = o - in[2];
    out[0] = e * e;
#ifdef HAND
    const number d = 2 * e;
    out[1 + 4 * HIDDEN] = d;
    for (int i = 0; i < HIDDEN; i++) {
        const number a = d * weight[3 * HIDDEN + i] * (1 - h[i] * h[i]);
        out[1 + 2 * i] = a * x[0];
        out[2 + 2 * i] = a * x[1];
        out[1 + 2 * HIDDEN + i] = a;
        out[1 + 3 * HIDDEN + i] = d * h[i];
    }
    for (int i = 0; i < WEIGHTS; i++)
        weight[i] -= (number)0.0625 * out[1 + i];
#endif
}
#endif
