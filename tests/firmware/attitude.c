// SPDX-License-Identifier: MIT-0
// tags: part
/* attitude.c - the filter of examples/26_attitude.c on the samples of
 * examples/attitude.txt, which firmware.sh makes record.h of. A round is one
 * step: both Jacobians, the prediction, six corrections. PLAIN has the values
 * of the model and no filter.
 *
 * All samples but two come before the rounds. With BRIEF, for a trace of all
 * instructions, only a few.                                                  */

#include "board.h"
#include "variant.h"

#include "../../examples/attitude.h"
#if defined TAPE || defined WRITE
#include "../../examples/attitude_model.h"
#endif

#ifdef WRITE
static void turn(const ad_rev *x, ad_rev *y, void *unused)
{
    (void)unused;
    turned(x, y);
}

static void sight(const ad_rev *x, ad_rev *y, void *unused)
{
    (void)unused;
    sighted(x, y);
}

#define MODELS { "turn", turn, ATTITUDE_IN, ATTITUDE_Q },                   \
               { "sight", sight, ATTITUDE_Q, ATTITUDE_SEEN }
#include "write.h"
#else
#ifdef __AVR__                  // its program copies other constants to memory
#define IN_FLASH __flash
#else
#define IN_FLASH
#endif
#include "record.h"

enum {
    SAMPLES = sizeof record / sizeof record[0],
#ifdef BRIEF
    BEFORE = 2
#else
    BEFORE = SAMPLES - 2
#endif
};

static attitude filter;
static int next;

static const int16_t *sample_of(int i)
{
#ifdef __AVR__
    static int16_t sample[ATTITUDE_SAMPLE];
    for (int k = 0; k < ATTITUDE_SAMPLE; k++)
        sample[k] = record[i][k];
    return sample;
#else
    return record[i];
#endif
}

#if defined CODE
static void turn_by(const number in[7], number q[4], number J[28])
{
    number work[turn_linearize_WORK];
    turn_linearize(in, q, J, work);
}

static void sight_by(const number q[4], number y[6], number H[24])
{
    number work[sight_linearize_WORK];
    sight_linearize(q, y, H, work);
}
#elif defined TAPE
static void turn_by(const number in[7], number q[4], number J[28])
{
    tape_check(linear_turn(tape, in, q, J));
}

static void sight_by(const number q[4], number y[6], number H[24])
{
    tape_check(linear_sight(tape, q, y, H));
}
#else
// J = n (D - q (q'D)), where D is the Jacobian before the length is 1 again.
static void turn_by(const number in[7], number q[4], number J[28])
{
    const number h = ATTITUDE_HALF;
    const number a = in[0], b = in[1], c = in[2], d = in[3];
    const number u = h * in[4], v = h * in[5], w = h * in[6];
    q[0] = a - (b * u + c * v + d * w);
    q[1] = b + (a * u + c * w - d * v);
    q[2] = c + (a * v + d * u - b * w);
    q[3] = d + (a * w + b * v - c * u);
    const number n = 1 / attitude_root(q[0] * q[0] + q[1] * q[1]
                                       + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++)
        q[i] *= n;
#if GIVES_DERIVATIVES
    const number D[28] = { 1, -u, -v, -w, -h * b, -h * c, -h * d,
                           u, 1, w, -v, h * a, -h * d, h * c,
                           v, -w, 1, u, h * d, h * a, -h * b,
                           w, v, -u, 1, -h * c, h * b, h * a };
    for (int j = 0; j < 7; j++) {
        number along = 0;
        for (int i = 0; i < 4; i++)
            along += q[i] * D[7 * i + j];
        for (int i = 0; i < 4; i++)
            J[7 * i + j] = n * (D[7 * i + j] - q[i] * along);
    }
#else
    (void)J;
#endif
}

static void sight_by(const number q[4], number y[6], number H[24])
{
    const number a = q[0], b = q[1], c = q[2], d = q[3];
    const number north = ATTITUDE_NORTH, down = ATTITUDE_DOWN;
    y[0] = 2 * (b * d - a * c);
    y[1] = 2 * (c * d + a * b);
    y[2] = a * a - b * b - c * c + d * d;
    y[3] = north * (a * a + b * b - c * c - d * d) - down * y[0];
    y[4] = north * 2 * (b * c - a * d) - down * y[1];
    y[5] = north * 2 * (b * d + a * c) - down * y[2];
#if GIVES_DERIVATIVES
    const number up[12] = { -c, d, -a, b, b, a, d, c, a, -b, -c, d };
    const number to[12] = { a, b, -c, -d, -d, c, b, -a, c, d, a, b };
    for (int i = 0; i < 12; i++) {
        H[i] = 2 * up[i];
        H[12 + i] = 2 * (north * to[i] - down * up[i]);
    }
#else
    (void)H;
#endif
}
#endif

void evaluate(void)
{
    number in[7], q[4], y[6], J[28], H[24];
    const int16_t *sample = sample_of(next);
    attitude_motion(&filter, sample, in);
    turn_by(in, q, J);
#if GIVES_DERIVATIVES
    attitude_predict(&filter, q, J);
    sight_by(filter.x, y, H);
    attitude_correct(&filter, sample, y, H);
    for (int i = 0; i < ATTITUDE_N; i++) {
        out[i] = filter.x[i];
        out[ATTITUDE_N + i] = filter.P[i][i];
    }
#else
    sight_by(q, y, H);
    for (int i = 0; i < ATTITUDE_Q; i++)
        out[i] = filter.x[i] = q[i];
    for (int i = 0; i < ATTITUDE_SEEN; i++)
        out[ATTITUDE_Q + i] = y[i];
#endif
    next++;
}

void prepare(void)
{
    results = GIVES_DERIVATIVES ? 2 * ATTITUDE_N : ATTITUDE_Q + ATTITUDE_SEEN;
    tape_open();
    attitude_begin(&filter);
    while (next < BEFORE)
        evaluate();
}
#endif
