// SPDX-License-Identifier: MIT-0
/* scan_programs.h - loops with known derivatives, written as scans.
 *
 * B1 to B25 and L1 to L9 are those of two sheets about the derivatives of
 * loops; `runs` has their values, gradients and Hessians. The numbers come
 * from the same programs written as plain loops over second-order jets with
 * 60 digits (forward, nothing of this library), and agree with the fractions
 * and digits of the sheets.
 *
 * Include it after adrev_loop.h, in the one file of the program.             */

#ifndef ADREV_TESTS_SCAN_PROGRAMS_H
#define ADREV_TESTS_SCAN_PROGRAMS_H

#include "scan_plain.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- B1 to B5: a state with one tap --------------------------------------- */

static void square_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_sqr(s->state[0][0]));
}

// k[0] steps
static void squares(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    scan((ad_scan_desc){ .step = square_step, .steps = (size_t)k[0],
                         .states = 1, .state = &state });
}

// 100 x0 + 10 x1 + x2
static void externals(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev row[2] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x, .rows = row };
    (void)ctx;
    scan((ad_scan_desc){ .step = square_step, .steps = 2, .states = 1,
                         .state = &state });
    *y = ad_rec(ad_add(ad_add(ad_mul(100, x[0]), ad_mul(10, row[0])), row[1]));
}

static void adjoint_step(ad_step *s, void *ctx)
{
    ad_rev slope = ad_rec(ad_mul(2, s->sequence[0][0]));
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], slope),
                                  s->sequence[1][0]));
}

// The reverse pass of two squares as a scan: a, b, c are the adjoints from
// outside, x1 and x0 the states that it meets.
static void backward_scan(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    const ad_scan_sequence sequence[] = {
        { .size = 1, .rows = 2, .row = x + 3 },
        { .size = 1, .rows = 2, .row = x + 1 },
    };
    (void)ctx;
    scan((ad_scan_desc){ .step = adjoint_step, .steps = 2, .states = 1,
                         .state = &state, .sequences = 2,
                         .sequence = sequence });
}

/* --- B6, B7, B15, B16: several taps --------------------------------------- */

// The first tap listed is the last row.
static void recurrence_step(ad_step *s, void *ctx)
{
    const ad_rev *a = s->parameter;
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(a[0], s->state[0][0]),
                                  ad_mul(a[1], s->state[0][1])));
}

static void recurrence_other_step(ad_step *s, void *ctx)
{
    const ad_rev *a = s->parameter;
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(a[0], s->state[0][1]),
                                  ad_mul(a[1], s->state[0][0])));
}

// k[0]: 0 the last, 1 the sum; k[1]: whether the taps are listed the other way
static void fibonacci(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const int taps[] = { -1, -2, -1 };
    const int *k = ctx;
    ad_rev row[5] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x + 2, .rows = row,
                                  .taps = 2, .tap = taps + k[1] };
    scan((ad_scan_desc){ .step = k[1] ? recurrence_other_step
                                      : recurrence_step,
                         .steps = 5, .states = 1, .state = &state,
                         .parameters = 2, .parameter = x });
    *y = k[0] ? total(5, row) : row[4];
}

static void gap(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const int taps[] = { -1, -3 };
    ad_rev last[3] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x + 2, .last = last,
                                  .taps = 2, .tap = taps };
    (void)ctx;
    scan((ad_scan_desc){ .step = recurrence_step, .steps = 4, .states = 1,
                         .state = &state, .parameters = 2, .parameter = x });
    *y = last[2];
}

static void zero_tap_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_add(s->parameter[0], s->state[0][0]),
                                  ad_mul(0, s->state[0][1])));
}

// A tap of which nothing but zero comes: connected all the same.
static void zero_tap(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const int taps[] = { -1, -4 };
    ad_rev last[4] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x + 1, .last = last,
                                  .taps = 2, .tap = taps };
    (void)ctx;
    scan((ad_scan_desc){ .step = zero_tap_step, .steps = 10, .states = 1,
                         .state = &state, .parameters = 1, .parameter = x });
    *y = ad_rec(ad_sqr(last[3]));
}

static void partly_step(ad_step *s, void *ctx)
{
    const ad_rev *x = s->state[0];
    ad_rev t = ad_rec(ad_add(ad_mul(0, x[0]), x[1]));
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_div(ad_mul(ad_mul(s->sequence[0][0],
                                                ad_sqr(t)),
                                         s->parameter[0]), 2));
}

static void partly(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const int taps[] = { -2, -1 };
    ad_rev last[2] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x + 2, .last = last,
                                  .taps = 2, .tap = taps };
    const ad_scan_sequence sequence = { .size = 1, .rows = 2, .row = x };
    (void)ctx;
    scan((ad_scan_desc){ .step = partly_step, .steps = 2, .states = 1,
                         .state = &state, .sequences = 1,
                         .sequence = &sequence, .parameters = 1,
                         .parameter = x + 4 });
    *y = last[1];
}

/* --- B8, B10: outputs of each step ---------------------------------------- */

static void per_step_step(ad_step *s, void *ctx)
{
    ad_rev x = s->state[0][0];
    ad_rev square = ad_rec(ad_sqr(x));
    (void)ctx;
    how.calls++;
    s->output[0][0] = ad_rec(ad_add(ad_mul(3, x), square));
    s->next[0][0] = ad_rec(ad_div(square, 2));
}

static void per_step(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev out[3] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x };
    const ad_scan_output output = { .size = 1, .row = out };
    (void)ctx;
    scan((ad_scan_desc){ .step = per_step_step, .steps = 3, .states = 1,
                         .state = &state, .outputs = 1, .output = &output });
    *y = ad_rec(ad_add(ad_add(out[0], ad_mul(10, out[1])),
                       ad_mul(100, out[2])));
}

static void cube_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->output[0][0] = ad_rec(ad_powi(s->sequence[0][0], 3));
}

static void mapped(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev out[3] = { { 0 } };
    const ad_scan_sequence sequence = { .size = 1, .rows = 3, .row = x };
    const ad_scan_output output = { .size = 1, .row = out };
    (void)ctx;
    scan((ad_scan_desc){ .step = cube_step, .steps = 3, .sequences = 1,
                         .sequence = &sequence, .outputs = 1,
                         .output = &output });
    *y = ad_rec(ad_add(ad_add(out[0], ad_mul(2, out[1])), ad_mul(3, out[2])));
}

static void twice_step(ad_step *s, void *ctx)
{
    ad_rev sum = ad_rec(ad_add(ad_add(s->sequence[0][0], s->state[0][0]),
                               s->parameter[0]));
    (void)ctx;
    how.calls++;
    s->next[0][0] = sum;
    s->output[0][0] = sum;
}

// One value returned as a state and as an output. k[0]: 0 the sum of the
// outputs, 1 of the states, 2 of both
static void twice(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const int tap = -3;
    const int *k = ctx;
    ad_rev row[10] = { { 0 } };
    ad_rev out[10] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x + 10, .rows = row,
                                  .taps = 1, .tap = &tap };
    const ad_scan_sequence sequence = { .size = 1, .rows = 10, .row = x };
    const ad_scan_output output = { .size = 1, .row = out };
    scan((ad_scan_desc){ .step = twice_step, .steps = 10, .states = 1,
                         .state = &state, .sequences = 1,
                         .sequence = &sequence, .outputs = 1,
                         .output = &output, .parameters = 1,
                         .parameter = x + 13 });
    *y = k[0] == 0 ? total(10, out) : k[0] == 1 ? total(10, row)
       : ad_rec(ad_add(total(10, out), total(10, row)));
}

static void twice_square_step(ad_step *s, void *ctx)
{
    square_step(s, ctx);
    s->output[0][0] = s->next[0][0];
}

static void twice_squares(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev last = { 0 };
    ad_rev out[3] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x, .last = &last };
    const ad_scan_output output = { .size = 1, .row = out };
    (void)ctx;
    scan((ad_scan_desc){ .step = twice_square_step, .steps = 3, .states = 1,
                         .state = &state, .outputs = 1, .output = &output });
    *y = ad_rec(ad_add(ad_add(out[0], ad_mul(2, out[1])),
                       ad_add(ad_mul(3, out[2]), ad_mul(10, last))));
}

/* --- B9, B11: sequences and parameters ------------------------------------ */

static void horner_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], s->sequence[0][0]),
                                  1));
}

// k[0]: whether the sequence runs backward
static void sequence(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    const ad_scan_sequence u = { .size = 1, .rows = 3, .row = x + 1,
                                 .backward = k[0] != 0 };
    scan((ad_scan_desc){ .step = horner_step, .steps = 3, .states = 1,
                         .state = &state, .sequences = 1, .sequence = &u });
}

static void around_step(ad_step *s, void *ctx)
{
    const ad_rev *u = s->sequence[0];
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_add(ad_div(s->state[0][0], 2),
                                         ad_mul(u[0], u[1])), u[2]));
}

static void around(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const int taps[] = { -1, 0, 1 };
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    const ad_scan_sequence u = { .size = 1, .rows = 5, .row = x + 1,
                                 .taps = 3, .tap = taps };
    (void)ctx;
    scan((ad_scan_desc){ .step = around_step, .steps = 3, .states = 1,
                         .state = &state, .sequences = 1, .sequence = &u });
}

static void tanh_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_tanh(ad_mul(s->parameter[0], s->state[0][0])));
}

static void tanhs(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_scan_state state = { .size = 1, .initial = x + 1, .last = y };
    (void)ctx;
    scan((ad_scan_desc){ .step = tanh_step, .steps = 3, .states = 1,
                         .state = &state, .parameters = 1, .parameter = x });
}

static void term_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->output[0][0] = ad_rec(ad_mul(s->sequence[0][0],
                                    ad_pow(s->parameter[0],
                                           s->sequence[1][0])));
}

// The exponents are a sequence of 1000 numbers, of which 4 are used.
static void polynomial(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev range[1000];
    ad_rev out[4] = { { 0 } };
    const ad_scan_sequence u[] = {
        { .size = 1, .rows = 4, .row = x },
        { .size = 1, .rows = 1000, .row = range },
    };
    const ad_scan_output output = { .size = 1, .row = out };
    (void)ctx;
    for (int i = 0; i < 1000; i++)
        range[i] = ad_rec(i);
    scan((ad_scan_desc){ .step = term_step, .steps = 4, .sequences = 2,
                         .sequence = u, .outputs = 1, .output = &output,
                         .parameters = 1, .parameter = x + 4 });
    *y = total(4, out);
}

/* --- B12: until ----------------------------------------------------------- */

static void until_step(ad_step *s, void *ctx)
{
    ad_rev x = ad_rec(ad_add(ad_mul(1.3, s->state[0][0]), s->sequence[0][0]));
    (void)ctx;
    how.calls++;
    s->next[0][0] = x;
    s->stop = ad_gt(x, 5);
}

static void until(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev row[12] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x, .rows = row };
    const ad_scan_sequence u = { .size = 1, .rows = 12, .row = x + 1 };
    (void)ctx;
    size_t ran = scan((ad_scan_desc){ .step = until_step, .steps = 12,
                                      .states = 1, .state = &state,
                                      .sequences = 1, .sequence = &u });
    *y = total(ran < 12 ? ran : 12, row);
}

static void until_element_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->output[0][0] = ad_rec(ad_sqr(s->sequence[0][0]));
    s->stop = ad_gt(s->sequence[0][0], 5);
}

// k[0]: steps that are reversed; 0: all
static void until_element(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    ad_rev out[15] = { { 0 } };
    const ad_scan_sequence u = { .size = 1, .rows = 15, .row = x };
    const ad_scan_output output = { .size = 1, .row = out };
    size_t ran = scan((ad_scan_desc){ .step = until_element_step, .steps = 15,
                                      .sequences = 1, .sequence = &u,
                                      .outputs = 1, .output = &output,
                                      .truncated = k[0] != 0,
                                      .reversed = (size_t)k[0] });
    *y = total(ran < 15 ? ran : 15, out);
}

static void until_square_step(ad_step *s, void *ctx)
{
    square_step(s, ctx);
    s->stop = ad_gt(s->next[0][0], 20);
}

static void until_square(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev row[10] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x, .rows = row };
    (void)ctx;
    size_t ran = scan((ad_scan_desc){ .step = until_square_step, .steps = 10,
                                      .states = 1, .state = &state });
    *y = total(ran < 10 ? ran : 10, row);
}

/* --- B13: truncated ------------------------------------------------------- */

static void filter_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->parameter[0], s->state[0][0]),
                                  s->sequence[0][0]));
}

// k[0]: steps that are reversed, -1: all; k[1]: 0 the last, 1 the sum of
// x1 ... x5, 2 half the squares of x0 ... x5
static void truncated(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    ad_rev row[5] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x, .rows = row };
    const ad_scan_sequence u = { .size = 1, .rows = 5, .row = x + 2 };
    scan((ad_scan_desc){ .step = filter_step, .steps = 5, .states = 1,
                         .state = &state, .sequences = 1, .sequence = &u,
                         .parameters = 1, .parameter = x + 1,
                         .truncated = k[0] >= 0,
                         .reversed = k[0] < 0 ? 0 : (size_t)k[0] });
    if (k[1] < 2) {
        *y = k[1] == 0 ? row[4] : total(5, row);
        return;
    }
    *y = ad_rec(ad_sqr(x[0]));
    for (int i = 0; i < 5; i++)
        ad_acc(y, ad_sqr(row[i]));
    *y = ad_rec(ad_div(*y, 2));
}

/* --- B14: what depends on what -------------------------------------------- */

static void apart_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_sqr(s->state[0][0]));
    s->next[1][0] = s->state[1][0];
    s->next[2][0] = ad_rec(ad_add(s->state[0][0], 1));
}

// k[0]: 0 the sum of all states, 1 of the first alone
static void apart(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    ad_rev row[3][3] = { { { 0 } } };
    const ad_scan_state state[] = {
        { .size = 1, .initial = x, .rows = row[0] },
        { .size = 1, .initial = x + 1, .rows = row[1] },
        { .size = 1, .initial = x + 2, .rows = row[2] },
    };
    scan((ad_scan_desc){ .step = apart_step, .steps = 3, .states = 3,
                         .state = state });
    *y = total(k[0] ? 3 : 9, row[0]);
}

static void late_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(s->sequence[0][0], s->state[0][0]));
    s->next[1][0] = ad_rec(ad_add(s->state[0][0], s->parameter[0]));
}

// m depends on the sequence through the other state alone.
static void recurrent(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_rev zero;
    ad_rev m[3] = { { 0 } };
    const ad_scan_state state[] = {
        { .size = 1, .initial = x + 3 },
        { .size = 1, .initial = &zero, .rows = m },
    };
    const ad_scan_sequence u = { .size = 1, .rows = 3, .row = x };
    (void)ctx;
    scan((ad_scan_desc){ .step = late_step, .steps = 3, .states = 2,
                         .state = state, .sequences = 1, .sequence = &u,
                         .parameters = 1, .parameter = x + 4 });
    *y = total(3, m);
}

/* --- B17 to B22 ----------------------------------------------------------- */

static void double_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_mul(2, s->state[0][0]));
}

static void middle(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev row[4] = { { 0 } };
    const ad_scan_state state = { .size = 1, .initial = x, .rows = row };
    (void)ctx;
    scan((ad_scan_desc){ .step = double_step, .steps = 4, .states = 1,
                         .state = &state });
    *y = ad_rec(ad_add(ad_add(ad_sqr(x[0]), ad_sqr(row[1])), row[3]));
}

static void coupled_step(ad_step *s, void *ctx)
{
    ad_rev t = ad_rec(ad_add(ad_mul(s->state[0][0], s->state[0][1]),
                             s->state[1][0]));
    (void)ctx;
    how.calls++;
    s->next[0][0] = t;
    s->next[1][0] = ad_rec(ad_div(ad_mul(t, s->state[1][0]), 2));
}

static void coupled(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const int taps[] = { -2, -1 };
    ad_rev row[3] = { { 0 } };
    ad_rev last = { 0 };
    const ad_scan_state state[] = {
        { .size = 1, .initial = x, .rows = row, .taps = 2, .tap = taps },
        { .size = 1, .initial = x + 2, .last = &last },
    };
    (void)ctx;
    scan((ad_scan_desc){ .step = coupled_step, .steps = 3, .states = 2,
                         .state = state });
    *y = ad_rec(ad_add(total(3, row), last));
}

static void matrix_step(ad_step *s, void *ctx)
{
    const ad_rev *W = s->parameter;
    const ad_rev *x = s->state[0];
    (void)ctx;
    how.calls++;
    for (int i = 0; i < 2; i++)
        s->next[0][i] = ad_rec(ad_add(ad_mul(W[2 * i], x[0]),
                                      ad_mul(W[2 * i + 1], x[1])));
}

static void matvec_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    ad_matvec(2, 2, s->parameter, s->state[0], s->next[0]);
}

// k[0]: whether by an array statement
static void matrix(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    ad_rev last[2] = { { 0 } };
    const ad_scan_state state = { .size = 2, .initial = x + 4, .last = last };
    scan((ad_scan_desc){ .step = k[0] ? matvec_step : matrix_step, .steps = 3,
                         .states = 1, .state = &state, .parameters = 4,
                         .parameter = x });
    *y = ad_rec(ad_add(last[0], ad_mul(2, last[1])));
}

// Results that are inputs, chosen by numbers beside the program.
static void gather_step(ad_step *s, void *ctx)
{
    const int *k = ctx;
    how.calls++;
    for (int j = 0; j < 3; j++)
        s->output[0][j] = s->parameter[3 * k[index_of(s)] + j];
}

static void gather(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev out[6] = { { 0 } };
    const ad_scan_output output = { .size = 3, .row = out };
    scan((ad_scan_desc){ .step = gather_step, .ctx = ctx, .steps = 2,
                         .outputs = 1, .output = &output, .parameters = 9,
                         .parameter = x });
    *y = total(6, out);
}

static void random_step(ad_step *s, void *ctx)
{
    uint32_t *seed = s->untraced;
    (void)ctx;
    how.calls++;
    *seed = (1103515245u * *seed + 12345u) & 0x7FFFFFFFu;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->parameter[0], s->state[0][0]),
                                  (double)*seed / 2147483648.0));
}

static void random_walk(const ad_rev *x, ad_rev *y, void *ctx)
{
    uint32_t seed = 1;
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    (void)ctx;
    scan((ad_scan_desc){ .step = random_step, .steps = 4, .states = 1,
                         .state = &state, .parameters = 1,
                         .parameter = x + 1, .untraced = &seed,
                         .untraced_bytes = sizeof seed });
}

static void times_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_mul(s->state[0][0], s->parameter[0]));
}

// k[0] steps
static void times(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    scan((ad_scan_desc){ .step = times_step, .steps = (size_t)k[0],
                         .states = 1, .state = &state, .parameters = 1,
                         .parameter = x + 1 });
}

/* --- B23 to B25 ----------------------------------------------------------- */

static void inner_step(ad_step *s, void *ctx)
{
    ad_rev j = *(const int *)ctx ? number_of(s)
                                 : ad_rec((ad_real)index_of(s));
    s->next[0][0] = ad_rec(ad_add(ad_div(ad_mul(s->state[0][0],
                                                s->parameter[0]), 2), j));
}

static void outer_step(ad_step *s, void *ctx)
{
    const ad_rev *x = s->state[0];
    const ad_scan_state state = { .size = 1, .initial = x,
                                  .last = s->next[0] };
    how.calls++;
    scan_within((ad_scan_desc){ .step = inner_step, .ctx = ctx,
                                .steps = index_of(s) + 1, .states = 1,
                                .state = &state, .parameters = 1,
                                .parameter = x });
}

// k[0]: whether the inner steps take their number as one of the recording
static void nested(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    scan((ad_scan_desc){ .step = outer_step, .ctx = ctx, .steps = 3,
                         .states = 1, .state = &state });
}

static void feeder_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_div(ad_sqr(s->state[0][0]), 2), 1));
}

static void fed_step(ad_step *s, void *ctx)
{
    ad_rev u = s->sequence[0][0];
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], u), u));
}

static void feeding(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev row[4] = { { 0 } };
    const ad_scan_state first = { .size = 1, .initial = x, .rows = row };
    const ad_scan_state second = { .size = 1, .initial = x + 1, .last = y };
    const ad_scan_sequence u = { .size = 1, .rows = 4, .row = row };
    (void)ctx;
    scan((ad_scan_desc){ .step = feeder_step, .steps = 4, .states = 1,
                         .state = &first });
    scan((ad_scan_desc){ .step = fed_step, .steps = 4, .states = 1,
                         .state = &second, .sequences = 1, .sequence = &u });
}

static void logistic_step(ad_step *s, void *ctx)
{
    ad_rev x = s->state[0][0];
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_mul(ad_mul(s->parameter[0], x),
                                  ad_sub(1, x)));
}

// k[0] steps
static void logistic(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    const ad_scan_state state = { .size = 1, .initial = x + 1, .last = y };
    scan((ad_scan_desc){ .step = logistic_step, .steps = (size_t)k[0],
                         .states = 1, .state = &state, .parameters = 1,
                         .parameter = x });
}

/* --- L1 to L9 ------------------------------------------------------------- */

static void power(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    (void)ctx;
    scan((ad_scan_desc){ .step = times_step, .steps = 3, .states = 1,
                         .state = &state, .parameters = 1, .parameter = x });
}

static void pair_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = s->state[1][0];
    s->next[1][0] = ad_rec(ad_add(s->state[0][0], s->state[1][0]));
}

// k[0]: which of the two
static void pairs(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    ad_rev last[2] = { { 0 } };
    const ad_scan_state state[] = {
        { .size = 1, .initial = x, .last = last },
        { .size = 1, .initial = x, .last = last + 1 },
    };
    scan((ad_scan_desc){ .step = pair_step, .steps = 10, .states = 2,
                         .state = state });
    *y = last[k[0]];
}

// b + x + k, with k from ctx; NULL: 0
static void sum_step(ad_step *s, void *ctx)
{
    ad_rev b = ad_rec(ad_add(s->state[0][0], s->parameter[0]));
    s->next[0][0] = ctx == NULL ? b : ad_rec(ad_add(b, *(const int *)ctx));
}

// The state of the outer loop is not used in its step; the first inner loop
// has no steps.
static void unused_step(ad_step *s, void *ctx)
{
    static const ad_rev zero;
    const ad_scan_state state = { .size = 1, .initial = &zero,
                                  .last = s->next[0] };
    (void)ctx;
    how.calls++;
    scan_within((ad_scan_desc){ .step = sum_step, .steps = index_of(s),
                                .states = 1, .state = &state, .parameters = 1,
                                .parameter = s->parameter });
}

static void unused(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    (void)ctx;
    scan((ad_scan_desc){ .step = unused_step, .steps = 3, .states = 1,
                         .state = &state, .parameters = 1, .parameter = x });
}

// The counter of the outer loop in the inner one.
static void counted_step(ad_step *s, void *ctx)
{
    static int counter[2] = { 0, 1 };
    static const ad_rev zero;
    const ad_scan_state state = { .size = 1, .initial = &zero,
                                  .last = s->next[0] };
    (void)ctx;
    how.calls++;
    scan_within((ad_scan_desc){ .step = sum_step,
                                .ctx = &counter[index_of(s)], .steps = 2,
                                .states = 1, .state = &state, .parameters = 1,
                                .parameter = s->parameter });
}

static void counted(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    (void)ctx;
    scan((ad_scan_desc){ .step = counted_step, .steps = 2, .states = 1,
                         .state = &state, .parameters = 1, .parameter = x });
}

static void over_step(ad_step *s, void *ctx)
{
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_mul(ad_mul(s->state[0][0], s->parameter[0]),
                                  s->sequence[0][0]));
}

// A sequence of constants.
static void over(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev row[] = { ad_rec(3), ad_rec(4), ad_rec(5) };
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    const ad_scan_sequence u = { .size = 1, .rows = 3, .row = row };
    (void)ctx;
    scan((ad_scan_desc){ .step = over_step, .steps = 3, .states = 1,
                         .state = &state, .sequences = 1, .sequence = &u,
                         .parameters = 1, .parameter = x });
}

static void counting_step(ad_step *s, void *ctx)
{
    int *n = s->untraced;
    times_step(s, ctx);
    s->stop = ++*n >= *(const int *)ctx;
}

// while n < k[0], with n carried along and from 1
static void counting(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *k = ctx;
    int n = 1;
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    scan((ad_scan_desc){ .step = counting_step, .ctx = ctx,
                         .steps = n < k[0] ? 1000 : 0, .states = 1,
                         .state = &state, .parameters = 1, .parameter = x,
                         .untraced = &n, .untraced_bytes = sizeof n });
}

static void two_step(ad_step *s, void *ctx)
{
    ad_rev a = s->state[0][0];
    ad_rev p = s->state[1][0];
    ad_rev y = ad_rec(ad_add(number_of(s), 1));
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(a, s->parameter[0]), ad_mul(p, y)));
    s->next[1][0] = ad_rec(ad_sub(ad_mul(p, s->parameter[1]), a));
}

static void two(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev last[2] = { { 0 } };
    const ad_scan_state state[] = {
        { .size = 1, .initial = x, .last = last },
        { .size = 1, .initial = x + 1, .last = last + 1 },
    };
    (void)ctx;
    scan((ad_scan_desc){ .step = two_step, .steps = 4, .states = 2,
                         .state = state, .parameters = 2,
                         .parameter = x + 2 });
    *y = ad_rec(ad_add(ad_mul(3, last[0]), last[1]));
}

// k[0]: whether the parity comes from the untraced counter
static void parity_step(ad_step *s, void *ctx)
{
    const int *k = ctx;
    int *counter = s->untraced;
    size_t y = k[0] ? (size_t)(*counter)++ : index_of(s);
    const ad_rev *a = s->parameter;
    how.calls++;
    s->next[0][0] = y % 2 == 0 ? ad_rec(ad_mul(s->state[0][0], a[0]))
                               : ad_rec(ad_add(s->state[0][0], ad_sqr(a[1])));
}

static void parity(const ad_rev *x, ad_rev *y, void *ctx)
{
    int counter = 0;
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    scan((ad_scan_desc){ .step = parity_step, .ctx = ctx, .steps = 5,
                         .states = 1, .state = &state, .parameters = 2,
                         .parameter = x + 1, .untraced = &counter,
                         .untraced_bytes = sizeof counter });
}

/* --- a long one ----------------------------------------------------------- */

static void wave_step(ad_step *s, void *ctx)
{
    ad_rev x = s->state[0][0];
    const ad_rev *a = s->parameter;
    ad_rev sine = ad_rec(ad_mul(ad_sin(x), a[0]));
    ad_rev bell = ad_rec(ad_mul(ad_exp(ad_neg(ad_sqr(x))), a[1]));
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_add(sine, bell), a[2]));
    s->next[1][0] = ad_rec(ad_add(s->state[1][0], s->next[0][0]));
}

// The mean of the states of k[0] steps.
static void wave(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_rev zero;
    const int *k = ctx;
    ad_rev sum = { 0 };
    const ad_scan_state state[] = {
        { .size = 1, .initial = x },
        { .size = 1, .initial = &zero, .last = &sum },
    };
    scan((ad_scan_desc){ .step = wave_step, .steps = (size_t)k[0],
                         .states = 2, .state = state, .parameters = 3,
                         .parameter = x + 1 });
    *y = ad_rec(ad_div(sum, k[0]));
}

/* --- what is known of them ------------------------------------------------ */

// Differences allowed, as a part of the largest of the numbers that belong
// together. 0: the numbers are fractions of powers of two, so every operation
// is exact.
#define ROUNDED   2e-14     // up to 31 roundings, of which each counts once
#define SENSITIVE 1e-12     // 20 steps that amplify differences up to 100 times
#define LONG      1e-12     // sums of 1000 terms

enum {
    NESTED = 1,             // steps run in steps: calls of both are not counted
    INDEX = 2,              // a step asks for its number
    EARLY = 4,              // ends before the most steps
    CUT = 8                 // not all steps are reversed: the loop is cut off,
                            // or those before get no adjoint
};

struct run {
    const char *name;
    ad_vector_fn *f;        // with k as its context, one result
    int k[2];
    size_t steps;           // of each of its scans that has a report
    double tolerance;
    int kind;
    size_t n;
    const double *x;
    double value;
    const double *g;
    const double *H;        // upper triangle, row by row; NULL: zero
};

#define LIST(...) (const double[]){ __VA_ARGS__ }

static const double first_seven[120] = {
    [0] = 2, [15] = 2, [29] = 2, [42] = 2, [54] = 2, [65] = 2, [75] = 2
};

// clang-format off
static const struct run runs[] = {
    { "B1", squares, { 2 }, 2, 0, 0,
      1, LIST(1.5),
      5.0625,
      LIST(13.5),
      LIST(27) },
    { "B1", squares, { 2 }, 2, 0, 0,
      1, LIST(3),
      81,
      LIST(108),
      LIST(108) },
    { "B2", squares, { 5 }, 5, ROUNDED, 0,
      1, LIST(1.1),
      21.113776745352606,
      LIST(614.2189598648031),
      LIST(17309.80705073536) },
    { "B3", squares, { 4 }, 4, ROUNDED, 0,
      1, LIST(0.95),
      0.44012666865176536,
      LIST(7.412659682556049),
      LIST(117.0419949877271) },
    { "B4", externals, { 0 }, 2, 0, 0,
      1, LIST(1.5),
      177.5625,
      LIST(143.5),
      LIST(47) },
    { "B5", backward_scan, { 0 }, 2, 0, 0,
      5, LIST(1, 10, 100, 2.25, 1.5),
      143.5,
      LIST(13.5, 3, 1, 6, 29),
      LIST(0, 0, 0, 6, 9, 0, 0, 0, 2, 0, 0, 0, 0, 4, 0) },
    { "B6", fibonacci, { 0 }, 5, 0, 0,
      4, LIST(1, 1, 1, 1),
      13,
      LIST(30, 20, 5, 8),
      LIST(62, 34, 10, 20, 18, 10, 10, 0, 0, 0) },
    { "B6", fibonacci, { 0, 1 }, 5, 0, 0,
      4, LIST(1, 1, 1, 1),
      13,
      LIST(30, 20, 5, 8),
      LIST(62, 34, 10, 20, 18, 10, 10, 0, 0, 0) },
    { "B6", fibonacci, { 0 }, 5, 0, 0,
      4, LIST(0.5, 0.25, 1, 2),
      0.578125,
      LIST(2.8125, 3.125, 0.078125, 0.25),
      LIST(12.125, 11, 0.3125, 1.25, 9, 0.625, 1.25, 0, 0, 0) },
    { "B6", fibonacci, { 0, 1 }, 5, 0, 0,
      4, LIST(0.5, 0.25, 1, 2),
      0.578125,
      LIST(2.8125, 3.125, 0.078125, 0.25),
      LIST(12.125, 11, 0.3125, 1.25, 9, 0.625, 1.25, 0, 0, 0) },
    { "B6", fibonacci, { 1 }, 5, 0, 0,
      4, LIST(0.5, 0.25, 1, 2),
      4.546875,
      LIST(12.625, 12.5, 0.671875, 1.9375),
      LIST(32.375, 24.75, 1.125, 5.75, 17, 3.5, 4.5, 0, 0, 0) },
    { "B6", fibonacci, { 1, 1 }, 5, 0, 0,
      4, LIST(0.5, 0.25, 1, 2),
      4.546875,
      LIST(12.625, 12.5, 0.671875, 1.9375),
      LIST(32.375, 24.75, 1.125, 5.75, 17, 3.5, 4.5, 0, 0, 0) },
    { "B7", gap, { 0 }, 4, 0, 0,
      5, LIST(2, 3, 1, 1, 1),
      73,
      LIST(86, 22, 33, 12, 28),
      LIST(90, 18, 36, 12, 38, 2, 14, 4, 4, 0, 0, 0, 0, 0, 0) },
    { "B8", per_step, { 0 }, 3, 0, 0,
      1, LIST(2),
      1110,
      LIST(2947),
      LIST(7552) },
    { "B8", per_step, { 0 }, 3, 0, 0,
      1, LIST(1),
      60.5625,
      LIST(207.5),
      LIST(599.5) },
    { "B8", mapped, { 0 }, 3, 0, 0,
      3, LIST(1, 2, -1),
      14,
      LIST(3, 24, 9),
      LIST(6, 0, 0, 24, 0, -18) },
    { "B9", sequence, { 0 }, 3, 0, 0,
      4, LIST(2, 3, 5, 7),
      253,
      LIST(105, 70, 49, 36),
      LIST(0, 35, 21, 15, 0, 14, 10, 0, 7, 0) },
    { "B9", sequence, { 1 }, 3, 0, 0,
      4, LIST(2, 3, 5, 7),
      229,
      LIST(105, 76, 45, 30),
      LIST(0, 35, 21, 15, 0, 15, 10, 0, 6, 0) },
    { "B9", around, { 0 }, 3, 0, 0,
      6, LIST(0, 1, 2, 3, 4, 5),
      23.25,
      LIST(0.125, 0.5, 1.75, 5.25, 3.5, 1),
      LIST(0, 0, 0, 0, 0, 0, 0, 0.25, 0, 0, 0, 0, 0.5, 0, 0, 0, 1, 0, 0, 0,
           0) },
    { "B10", twice, { 0 }, 10, 0, 0,
      14, LIST(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14),
      521,
      LIST(4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 4, 3, 3, 22),
      NULL },
    { "B10", twice, { 1 }, 10, 0, 0,
      14, LIST(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14),
      521,
      LIST(4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 4, 3, 3, 22),
      NULL },
    { "B10", twice, { 2 }, 10, 0, 0,
      14, LIST(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14),
      1042,
      LIST(8, 6, 6, 6, 4, 4, 4, 2, 2, 2, 8, 6, 6, 44),
      NULL },
    { "B10", twice_squares, { 0 }, 3, ROUNDED, 0,
      1, LIST(1.2),
      61.48482047999998,
      LIST(388.8748031999999),
      LIST(2210.3563519999993) },
    { "B11", tanhs, { 0 }, 3, ROUNDED, 0,
      2, LIST(0.9, 0.5),
      0.31511059307011163,
      LIST(0.8840018162675479, 0.46883043687744647),
      LIST(0.8410836423596557, 0.8058808010222446, -0.7361189714382528) },
    { "B11", polynomial, { 0 }, 4, 0, 0,
      5, LIST(1, 2, -3, 4, 2),
      25,
      LIST(1, 2, 4, 8, 38),
      LIST(0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 4, 0, 12, 42) },
    { "B12", until, { 0 }, 6, ROUNDED, EARLY,
      13, LIST(0.2, 0.4, 0.4454545454545455, 0.49090909090909096,
         0.5363636363636364, 0.5818181818181818, 0.6272727272727273,
         0.6727272727272727, 0.7181818181818183, 0.7636363636363637,
         0.8090909090909091, 0.8545454545454545, 0.9),
      19.590069800000002,
      LIST(16.582839000000003, 12.75603, 9.0431, 6.187, 3.99, 2.3, 1, 0, 0,
           0, 0, 0, 0),
      NULL },
    { "B12", until_element, { 0 }, 7, 0, EARLY,
      15, LIST(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14),
      91,
      LIST(0, 2, 4, 6, 8, 10, 12, 0, 0, 0, 0, 0, 0, 0, 0),
      first_seven },
    { "B12", until_square, { 0 }, 3, 0, EARLY,
      1, LIST(1.5),
      32.94140625,
      LIST(153.1875),
      LIST(666.875) },
    { "B12", until_square, { 0 }, 3, 0, EARLY,
      1, LIST(2),
      276,
      LIST(1060),
      LIST(3634) },
    { "B12", until_square, { 0 }, 2, 0, EARLY,
      1, LIST(3),
      90,
      LIST(114),
      LIST(110) },
    { "B13", truncated, { -1, 0 }, 5, 0, 0,
      7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      8.09375,
      LIST(0.03125, 9.3125, 0.0625, 0.125, 0.25, 0.5, 1),
      LIST(0, 0.3125, 0, 0, 0, 0, 0, 17.5, 0.5, 0.75, 1, 1, 0, 0, 0, 0, 0,
           0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) },
    { "B13", truncated, { -1, 1 }, 5, 0, 0,
      7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      22.90625,
      LIST(0.96875, 22.3125, 1.9375, 1.875, 1.75, 1.5, 1),
      LIST(0, 3.5625, 0, 0, 0, 0, 0, 34.5, 3.25, 2.75, 2, 1, 0, 0, 0, 0, 0,
           0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) },
    { "B13", truncated, { -1, 2 }, 5, 0, 0,
      7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      66.87353515625,
      LIST(3.6240234375, 137.451171875, 5.248046875, 7.49609375, 9.4921875,
           10.234375, 8.09375),
      LIST(1.3330078125, 15.3046875, 0.666015625, 0.33203125, 0.1640625,
           0.078125, 0.03125, 375.73828125, 20.11328125, 23.234375, 23.484375,
           19, 9.3125, 1.33203125, 0.6640625, 0.328125, 0.15625, 0.0625,
           1.328125, 0.65625, 0.3125, 0.125, 1.3125, 0.625, 0.25, 1.25, 0.5, 1) },
    { "B14", apart, { 0 }, 3, ROUNDED, 0,
      3, LIST(1.1, 2, 5),
      17.591788810000004,
      LIST(31.637736800000013, 3, 0),
      LIST(132.24741600000004, 0, 0, 0, 0, 0) },
    { "B14", apart, { 1 }, 3, ROUNDED, 0,
      3, LIST(1.1, 2, 5),
      4.817688810000002,
      LIST(23.11373680000001, 0, 0),
      LIST(115.72741600000005, 0, 0, 0, 0, 0) },
    { "B14", recurrent, { 0 }, 3, 0, 0,
      5, LIST(1, 2, 3, 4, 5),
      31,
      LIST(2, 1, 0, 3, 3),
      NULL },
    { "B15", zero_tap, { 0 }, 10, 0, 0,
      5, LIST(0.5, 7, 8, 9, 3),
      64,
      LIST(160, 0, 0, 0, 16),
      LIST(200, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2) },
    { "B16", partly, { 0 }, 2, 0, 0,
      5, LIST(1, 1, 1, 1, 2),
      1,
      LIST(2, 1, 0, 4, 1.5),
      LIST(2, 2, 0, 8, 3, 0, 0, 4, 1.5, 0, 0, 0, 12, 6, 1.5) },
    { "B16", partly, { 0 }, 2, 0, 0,
      5, LIST(2, 2, 1, 1, 2),
      8,
      LIST(8, 4, 0, 32, 12),
      LIST(4, 4, 0, 32, 12, 0, 0, 16, 6, 0, 0, 0, 96, 48, 12) },
    { "B16", partly, { 0 }, 2, 0, 0,
      5, LIST(1, 1, 1, 1, 1),
      0.125,
      LIST(0.25, 0.125, 0, 0.5, 0.375),
      LIST(0.25, 0.25, 0, 1, 0.75, 0, 0, 0.5, 0.375, 0, 0, 0, 1.5, 1.5,
           0.75) },
    { "B17", middle, { 0 }, 4, 0, 0,
      1, LIST(3),
      201,
      LIST(118),
      LIST(34) },
    { "B18", coupled, { 0 }, 3, 0, 0,
      3, LIST(1, 2, 3),
      5200.0390625,
      LIST(8170.5625, 7005.125, 7959.65625),
      LIST(9695.875, 13563.96875, 11008.9375, 7875.03125, 9603.4375, 10642) },
    { "B19", matrix, { 0 }, 3, 0, 0,
      6, LIST(1, 2, 3, 4, 1, -1),
      -91,
      LIST(27, -51, 38, -78, 199, 290),
      LIST(14, -6, 12, 4, 51, 24, -6, -4, -18, 36, 87, 8, 12, 78, 40, -40,
           60, 138, 0, 0, 0) },
    { "B19", matrix, { 1 }, 3, 0, 0,
      6, LIST(1, 2, 3, 4, 1, -1),
      -91,
      LIST(27, -51, 38, -78, 199, 290),
      LIST(14, -6, 12, 4, 51, 24, -6, -4, -18, 36, 87, 8, 12, 78, 40, -40,
           60, 138, 0, 0, 0) },
    { "B20", gather, { 1, 2 }, 2, 0, INDEX,
      9, LIST(1, 2, 3, 4, 5, 6, 7, 8, 9),
      39,
      LIST(0, 0, 0, 1, 1, 1, 1, 1, 1),
      NULL },
    { "B20", gather, { 2, 2 }, 2, 0, INDEX,
      9, LIST(1, 2, 3, 4, 5, 6, 7, 8, 9),
      48,
      LIST(0, 0, 0, 0, 0, 0, 2, 2, 2),
      NULL },
    { "B21", random_walk, { 0 }, 4, 0, 0,
      2, LIST(1, 0.5),
      0.8595287303905934,
      LIST(0.0625, 1.3697953780647367),
      LIST(0, 0.5, 4.893092840909958) },
    { "B22", times, { 0 }, 0, 0, 0,
      2, LIST(3, 4),
      3,
      LIST(1, 0),
      NULL },
    { "B22", times, { 1 }, 1, 0, 0,
      2, LIST(3, 4),
      12,
      LIST(4, 3),
      LIST(0, 1, 0) },
    { "B23", nested, { 0 }, 3, 0, NESTED | INDEX,
      1, LIST(1),
      2.656997799873352,
      LIST(0.19656658172607422),
      LIST(1.038914680480957) },
    { "B23", nested, { 1 }, 3, 0, NESTED | INDEX,
      1, LIST(1),
      2.656997799873352,
      LIST(0.19656658172607422),
      LIST(1.038914680480957) },
    { "B23", nested, { 0 }, 3, 0, NESTED | INDEX,
      1, LIST(2),
      13.625,
      LIST(84),
      LIST(696) },
    { "B23", nested, { 1 }, 3, 0, NESTED | INDEX,
      1, LIST(2),
      13.625,
      LIST(84),
      LIST(696) },
    { "B24", feeding, { 0 }, 4, 0, 0,
      2, LIST(1, 2),
      266.9834381788969,
      LIST(995.1379633247852, 65.49022226035595),
      LIST(5094.051500231028, 261.79852053523064, 0) },
    { "B25", logistic, { 20 }, 20, SENSITIVE, 0,
      2, LIST(3.5, 0.3),
      0.38292828725611106,
      LIST(-0.6947673473287269, -0.5490321973892921),
      LIST(116.10609361701255, 486.9234173857233, 2127.575011130373) },
    { "L1", power, { 0 }, 3, 0, 0,
      1, LIST(2),
      16,
      LIST(32),
      LIST(48) },
    { "L2", pairs, { 0 }, 10, 0, 0,
      1, LIST(3),
      267,
      LIST(89),
      NULL },
    { "L2", pairs, { 1 }, 10, 0, 0,
      1, LIST(3),
      432,
      LIST(144),
      NULL },
    { "L3", unused, { 0 }, 3, 0, NESTED | INDEX | CUT,
      1, LIST(5),
      10,
      LIST(2),
      NULL },
    { "L4", counted, { 0 }, 2, 0, NESTED | INDEX | CUT,
      1, LIST(5),
      12,
      LIST(2),
      NULL },
    { "L5", over, { 0 }, 3, 0, 0,
      1, LIST(2),
      960,
      LIST(1920),
      LIST(2880) },
    { "L6", counting, { 5 }, 4, 0, EARLY,
      1, LIST(2),
      32,
      LIST(80),
      LIST(160) },
    { "L6", counting, { 1 }, 0, 0, EARLY,
      1, LIST(2),
      2,
      LIST(1),
      NULL },
    { "L7", two, { 0 }, 4, 0, 0,
      4, LIST(1, 2, 0.5, 3),
      415.3125,
      LIST(-136.9375, 276.125, 44.25, 666.25),
      LIST(0, 0, -96.25, -107.75, 0, 70.25, 387, 32, 86, 599) },
    { "L8", times, { 0 }, 0, 0, 0,
      2, LIST(7, 4),
      7,
      LIST(1, 0),
      NULL },
    { "L9", parity, { 0 }, 5, 0, INDEX,
      3, LIST(1, 2, 3),
      62,
      LIST(8, 57, 36),
      LIST(0, 12, 0, 30, 30, 12) },
    { "L9", parity, { 1 }, 5, 0, 0,
      3, LIST(1, 2, 3),
      62,
      LIST(8, 57, 36),
      LIST(0, 12, 0, 30, 30, 12) },
    { "loop", wave, { 1000 }, 1000, LONG, 0,
      4, LIST(0.3, 0.9, 0.7, 0.2),
      1.204275481999602,
      LIST(0.0004528332210906826, 0.8696441091303555, 0.21924876615415728,
           0.9321702651883769),
      LIST(-0.0012953960979866829, 0.0010768564119205512,
           -0.0008814740522645918, -8.796804609728356e-05, 0.42795276309930386,
           -0.4224511361947321, 0.14782873376844985, -0.24051918209369433,
           -0.5314610975944644, -0.17500205563312973) },
};

// Of truncated loops the derivatives are not those of the values.
static const struct run cut[] = {
    { "B12", until_element, { 3 }, 7, 0, EARLY | CUT,
      15, LIST(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14),
      91, LIST(0, 0, 0, 0, 8, 10, 12, 0, 0, 0, 0, 0, 0, 0, 0), NULL },
    { "B13", truncated, { 5, 0 }, 5, 0, CUT, 7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      8.09375, LIST(0.03125, 9.3125, 0.0625, 0.125, 0.25, 0.5, 1), NULL },
    { "B13", truncated, { 9, 0 }, 5, 0, CUT, 7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      8.09375, LIST(0.03125, 9.3125, 0.0625, 0.125, 0.25, 0.5, 1), NULL },
    { "B13", truncated, { 3, 0 }, 5, 0, CUT, 7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      8.09375, LIST(0, 145.0 / 16, 0, 0, 0.25, 0.5, 1), NULL },
    { "B13", truncated, { 1, 0 }, 5, 0, CUT, 7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      8.09375, LIST(0, 99.0 / 16, 0, 0, 0, 0, 1), NULL },
    { "B13", truncated, { 3, 1 }, 5, 0, CUT, 7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      22.90625, LIST(0, 281.0 / 16, 0, 0, 1.75, 1.5, 1), NULL },
    { "B13", truncated, { 2, 2 }, 5, 0, CUT, 7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      66.87353515625, LIST(1, 24283.0 / 256, 0, 0, 0, 655.0 / 64, 259.0 / 32),
      NULL },
    { "B13", truncated, { 0, 0 }, 5, 0, CUT, 7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      8.09375, LIST(0, 0, 0, 0, 0, 0, 0), NULL },
    { "B13", truncated, { 0, 1 }, 5, 0, CUT, 7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      22.90625, LIST(0, 0, 0, 0, 0, 0, 0), NULL },
    { "B13", truncated, { 0, 2 }, 5, 0, CUT, 7, LIST(1, 0.5, 1, 2, 3, 4, 5),
      66.87353515625, LIST(1, 0, 0, 0, 0, 0, 0), NULL },
};
// clang-format on

enum { RUNS = sizeof runs / sizeof runs[0], CUTS = sizeof cut / sizeof cut[0] };

#undef LIST

// Numbers that belong together: differences as a part of the largest.
static void check_numbers(const struct run *r, const char *what, size_t n,
                          const double *got, const double *want)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, want == NULL ? 0 : fabs(want[i]));
    for (size_t i = 0; i < n; i++) {
        double w = want == NULL ? 0 : want[i];
        CHECK(fabs(got[i] - w) <= r->tolerance * largest,
              "%s {%d %d} at (%g, ...): %s[%zu]: got %.17g, want %.17g",
              r->name, r->k[0], r->k[1], r->x[0], what, i, got[i], w);
    }
}

// Records a program on the current tape, which is cleared.
static ad_status record_run(ad_tape *t, const struct run *r, ad_rev *x,
                            ad_rev *y)
{
    ad_tape_clear(t);
    ad_inputs(r->n, r->x, x);
    *y = ad_rec(0);
    start_program();
    r->f(x, y, (void *)(uintptr_t)r->k);
    return how.status == ADREV_OK ? ad_tape_status(t) : how.status;
}

#endif
