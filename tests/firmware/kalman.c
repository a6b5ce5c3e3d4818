// SPDX-License-Identifier: MIT-0
// tags: part
/* kalman.c - the prediction of an extended Kalman filter with 4 states (place,
 * speed, heading): x' = f(x), P' = F P F^T + Q with F = df/dx.               */

#include "board.h"
#include "variant.h"

#include <math.h>

#define STEP ((number)0.125)

#if defined TAPE || defined WRITE
static void function(const ad_rev x[4], ad_rev y[4])
{
    const ad_rev way = ad_rec(ad_mul(STEP, x[2]));
    y[0] = ad_rec(ad_add(x[0], ad_mul(way, ad_cos(x[3]))));
    y[1] = ad_rec(ad_add(x[1], ad_mul(way, ad_sin(x[3]))));
    y[2] = ad_rec(ad_sub(x[2], ad_mul(STEP / 8, ad_sqr(x[2]))));
    y[3] = ad_rec(ad_add(x[3], ad_mul(STEP / 4, x[2])));
}
#endif

#ifdef WRITE
static void model(const ad_rev *x, ad_rev *y, void *unused)
{
    (void)unused;
    function(x, y);
}
#define MODELS { "model", model, 4, 4 }
#include "write.h"
#else
static number P[16];

void prepare(void)
{
    static const float x[4] = { 1, 2, 0.5f, 0.25f };
    for (int i = 0; i < 4; i++) {
        in[i] = x[i];
        P[5 * i] = 1;
    }
    results = GIVES_DERIVATIVES ? 20 : 4;
    tape_open();
}

#if GIVES_DERIVATIVES
static void spread(const number F[16])
{
    number A[16];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            A[4 * i + j] = 0;
            for (int k = 0; k < 4; k++)
                A[4 * i + j] += F[4 * i + k] * P[4 * k + j];
        }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            P[4 * i + j] = i == j ? (number)0.015625 : 0;
            for (int k = 0; k < 4; k++)
                P[4 * i + j] += A[4 * i + k] * F[4 * j + k];
        }
}
#endif

#ifdef TAPE
void evaluate(void)
{
    number x[4], F[16];
    ad_rev v[4], y[4];
    for (int i = 0; i < 4; i++)
        x[i] = in[i];
    ad_tape_clear(tape);
    ad_inputs(4, x, v);
    function(v, y);
    tape_check(ad_jacobian(tape, 4, y, 4, v, F));
    for (int i = 0; i < 4; i++)
        out[i] = ad_value(y[i]);
    spread(F);
    for (int i = 0; i < 16; i++)
        out[4 + i] = P[i];
}
#elif defined CODE
void evaluate(void)
{
    const number x[4] = { in[0], in[1], in[2], in[3] };
    number y[4], F[16], work[model_linearize_WORK];
    model_linearize(x, y, F, work);
    for (int i = 0; i < 4; i++)
        out[i] = y[i];
    spread(F);
    for (int i = 0; i < 16; i++)
        out[4 + i] = P[i];
}
#else
static number cosine(number a)
{
    return sizeof a == sizeof(float) ? (number)cosf((float)a)
                                     : (number)cos((double)a);
}

static number sine(number a)
{
    return sizeof a == sizeof(float) ? (number)sinf((float)a)
                                     : (number)sin((double)a);
}

void evaluate(void)
{
    const number x[4] = { in[0], in[1], in[2], in[3] };
    const number way = STEP * x[2], c = cosine(x[3]), s = sine(x[3]);
    out[0] = x[0] + way * c;
    out[1] = x[1] + way * s;
    out[2] = x[2] - STEP / 8 * (x[2] * x[2]);
    out[3] = x[3] + STEP / 4 * x[2];
#ifdef HAND
    const number F[16] = { 1, 0, STEP * c, -way * s, 0, 1, STEP * s, way * c,
                           0, 0, 1 - STEP / 4 * x[2], 0, 0, 0, STEP / 4, 1 };
    spread(F);
    for (int i = 0; i < 16; i++)
        out[4 + i] = P[i];
#endif
}
#endif
#endif
