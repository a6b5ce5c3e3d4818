// SPDX-License-Identifier: MIT-0
// tags: part
/* rosenbrock.c - (1 - x)^2 + 100 (y - x^2)^2 and its gradient. */

#include "board.h"
#include "variant.h"

#if defined TAPE || defined WRITE
static ad_rev function(const ad_rev x[2])
{
    return ad_rec(ad_add(ad_sqr(ad_sub(1, x[0])),
                         ad_mul(100, ad_sqr(ad_sub(x[1], ad_sqr(x[0]))))));
}
#endif

#ifdef WRITE
static void model(const ad_rev *x, ad_rev *y, void *unused)
{
    (void)unused;
    y[0] = function(x);
}
#define MODELS { "model", model, 2, 1 }
#include "write.h"
#else
void prepare(void)
{
    in[0] = -1.25f;
    in[1] = 1;
    results = GIVES_DERIVATIVES ? 3 : 1;
    tape_open();
}

void evaluate(void)
{
    const number x[2] = { in[0], in[1] };
#if defined TAPE
    ad_rev v[2];
    number g[2] = { 0, 0 };
    ad_tape_clear(tape);
    ad_inputs(2, x, v);
    const ad_rev y = function(v);
    tape_check(ad_gradient(tape, y, 2, v, g));
    out[0] = ad_value(y);
    out[1] = g[0];
    out[2] = g[1];
#elif defined CODE
    number y[1], g[2], work[model_linearize_WORK];
    model_linearize(x, y, g, work);
    out[0] = y[0];
    out[1] = g[0];
    out[2] = g[1];
#else
    const number a = 1 - x[0];
    const number b = x[1] - x[0] * x[0];
    out[0] = a * a + 100 * (b * b);
#ifdef HAND
    out[1] = -2 * a - 400 * b * x[0];
    out[2] = 200 * b;
#endif
#endif
}
#endif
