// SPDX-License-Identifier: MIT-0
// tags: part
/* formulas.c - how well an accelerometer is calibrated: at rest the length of
 * A r + b should be 1 for each reading r. The sum of squares and its gradient
 * by A and b; as formulas, too, of which adrev_tensor.h writes C code.      */

#include "board.h"
#include "variant.h"

enum { READINGS = 8, UNKNOWNS = 12, ALL = UNKNOWNS + 3 * READINGS };

#ifdef WRITE_FORMULAS
#define TEXT                                                                \
    "in A[m,m], b[m], r[n,m];\n"                                            \
    "y[i<n,k<m] = sum(l) A[k,l]*r[i,l] + b[k];\n"                           \
    "out f = sum(i) (sum(k) y[i,k]^2 - 1)^2;\n"
#define SIZES { "m", 3 }, { "n", READINGS }
#include "write_formulas.h"
#else
#if defined TAPE || defined WRITE
static ad_rev misfit(const ad_rev p[UNKNOWNS], const ad_rev r[3 * READINGS])
{
    ad_rev f = {0};
    for (int i = 0; i < READINGS; i++) {
        ad_rev square = {0};
        for (int k = 0; k < 3; k++) {
            const ad_rev *a = p + 3 * k, *x = r + 3 * i;
            ad_acc(&square, ad_sqr(ad_add(
                ad_add(ad_mul(a[0], x[0]), ad_mul(a[1], x[1])),
                ad_add(ad_mul(a[2], x[2]), p[9 + k]))));
        }
        ad_acc(&f, ad_sqr(ad_sub(square, 1)));
    }
    return f;
}
#endif

#ifdef WRITE
static void model(const ad_rev *x, ad_rev *y, void *unused)
{
    (void)unused;
    y[0] = misfit(x, x + UNKNOWNS);
}

#define MODELS { "model", model, ALL, 1 }
#include "write.h"
#else
// Unknowns, then readings.
static number at[ALL];

void prepare(void)
{
    uint32_t state = 3;
    for (int i = 0; i < ALL; i++) {
        state = state * 1664525u + 1013904223u;
        const number noise = (number)((int32_t)state >> 8) / 8388608;
        at[i] = i >= UNKNOWNS ? noise
              : (number)(i < 9 && i % 4 == 0) + noise / 8;
    }
    results = GIVES_DERIVATIVES ? 1 + UNKNOWNS : 1;
    tape_open();
}

#if defined FORMULAS
void evaluate(void)
{
    const number *const x[3] = { at, at + 9, at + UNKNOWNS };
    number f, g[UNKNOWNS], work[formulas_gradient_WORK];
    number *const by[3] = { g, g + 9, NULL };
    if (formulas_gradient(x, &f, by, work) != 0)
        board_quit(1);
    out[0] = f;
    for (int i = 0; i < UNKNOWNS; i++)
        out[1 + i] = g[i];
}
#elif defined CODE
void evaluate(void)
{
    number f, g[ALL], work[model_linearize_WORK];
    model_linearize(at, &f, g, work);
    out[0] = f;
    for (int i = 0; i < UNKNOWNS; i++)
        out[1 + i] = g[i];
}
#elif defined TAPE
void evaluate(void)
{
    ad_rev p[UNKNOWNS], r[3 * READINGS];
    number g[UNKNOWNS];
    ad_tape_clear(tape);
    ad_inputs(UNKNOWNS, at, p);
    for (int i = 0; i < 3 * READINGS; i++)
        r[i] = ad_rec(at[UNKNOWNS + i]);
    const ad_rev f = misfit(p, r);
    tape_check(ad_gradient(tape, f, UNKNOWNS, p, g));
    out[0] = ad_value(f);
    for (int i = 0; i < UNKNOWNS; i++)
        out[1 + i] = g[i];
}
#else
void evaluate(void)
{
    number f = 0, g[UNKNOWNS] = {0};
    for (int i = 0; i < READINGS; i++) {
        const number *x = at + UNKNOWNS + 3 * i;
        number y[3], off = -1;
        for (int k = 0; k < 3; k++) {
            const number *a = at + 3 * k;
            y[k] = a[0] * x[0] + a[1] * x[1] + a[2] * x[2] + at[9 + k];
            off += y[k] * y[k];
        }
        f += off * off;
        for (int k = 0; k < 3 && GIVES_DERIVATIVES; k++) {
            const number dy = 4 * off * y[k];
            for (int l = 0; l < 3; l++)
                g[3 * k + l] += dy * x[l];
            g[9 + k] += dy;
        }
    }
    out[0] = f;
    for (int i = 0; i < UNKNOWNS && GIVES_DERIVATIVES; i++)
        out[1 + i] = g[i];
}
#endif
#endif
#endif
