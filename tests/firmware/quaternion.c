// SPDX-License-Identifier: MIT-0
// tags: part
/* quaternion.c - a vector v turned by a quaternion (w, u), and the 3 x 7
 * Jacobian: t = 2 u x v, y = v + w t + u x t.                               */

#include "board.h"
#include "variant.h"

#if defined TAPE || defined WRITE
#define NUMBER ad_rev
#define ADD ad_add
#define SUB ad_sub
#define MUL ad_mul
#define REC ad_rec
#else
#define NUMBER number
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define REC(a) (a)
#endif

#ifndef CODE
static void function(const NUMBER x[7], NUMBER y[3])
{
    const NUMBER *u = x + 1, *v = x + 4;
    NUMBER t[3];
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        t[i] = REC(MUL(2, SUB(MUL(u[j], v[k]), MUL(u[k], v[j]))));
    }
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        y[i] = REC(ADD(ADD(v[i], MUL(x[0], t[i])),
                       SUB(MUL(u[j], t[k]), MUL(u[k], t[j]))));
    }
}
#endif

#ifdef WRITE
static void model(const ad_rev *x, ad_rev *y, void *unused)
{
    (void)unused;
    function(x, y);
}
#define MODELS { "model", model, 7, 3 }
#include "write.h"
#else
void prepare(void)
{
    static const float x[7] = { 0.5f, 0.125f, -0.75f, 0.25f, 1, 2, 3 };
    for (int i = 0; i < 7; i++)
        in[i] = x[i];
    results = GIVES_DERIVATIVES ? 24 : 3;
    tape_open();
}

void evaluate(void)
{
    number x[7], y[3];
    for (int i = 0; i < 7; i++)
        x[i] = in[i];
#ifdef TAPE
    number J[21];
    ad_rev v[7], r[3];
    ad_tape_clear(tape);
    ad_inputs(7, x, v);
    function(v, r);
    tape_check(ad_jacobian(tape, 3, r, 7, v, J));
    for (int i = 0; i < 3; i++)
        y[i] = ad_value(r[i]);
    for (int i = 0; i < 21; i++)
        out[3 + i] = J[i];
#elif defined CODE
    number J[21], work[model_linearize_WORK];
    model_linearize(x, y, J, work);
    for (int i = 0; i < 21; i++)
        out[3 + i] = J[i];
#else
    function(x, y);
#endif
    for (int i = 0; i < 3; i++)
        out[i] = y[i];
}
#endif
