/* 13  What runs on the vehicle of 13_kalman.c: an extended Kalman filter.
 *
 * C99, float, no heap, no adrev: the model and its Jacobians are the functions
 * that 13_kalman wrote to 13_kalman_model.h. The drive is simulated: a minute
 * of it, with a beacon seen every half second.
 *
 * Shows    functions written by ad_fn_write_c in use
 * Needs    13_kalman, which is built and run first: sh examples/13_kalman.sh
 * Prints   after 60 s at (-8.3, 36.8)
 *          without beacons: off by 6.51 m
 *          with beacons: off by 0.16 m, at most 0.73 m, on average 0.23 m
 *          the filter expected 0.29 m
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "13_kalman_model.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N = 4, IN = 6, STEPS = 600, BEACONS = 3 };   // IN: state, and 2 more

typedef struct filter {
    float x[N];             // x, y, heading, speed
    float P[N][N];          // covariance of their errors
} filter;

static const float moved_sigma[2] = { 0.1f, 0.5f };     // turn, acceleration
static const float seen_sigma[2] = { 0.3f, 0.02f };     // distance, bearing

// x = f(x, u), P = F P F' + G Q G', with [F G] the Jacobian.
static void predicted(filter *f, const float u[2])
{
    float in[IN] = { f->x[0], f->x[1], f->x[2], f->x[3], u[0], u[1] };
    float J[N * IN], FP[N][N], work[predict_linearize_WORK];

    predict_linearize(in, f->x, J, work);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            FP[i][j] = 0;
            for (int k = 0; k < N; k++)
                FP[i][j] += J[i * IN + k] * f->P[k][j];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            f->P[i][j] = 0;
            for (int k = 0; k < N; k++)
                f->P[i][j] += FP[i][k] * J[j * IN + k];
            for (int k = 0; k < 2; k++)
                f->P[i][j] += J[i * IN + N + k] * J[j * IN + N + k]
                            * moved_sigma[k] * moved_sigma[k];
        }
}

// One number of a sighting after the other: no matrix to invert.
static void corrected(filter *f, const float beacon[2], const float seen[2])
{
    const float turn = 6.2831853f;
    for (int m = 0; m < 2; m++) {
        float in[IN] = { f->x[0], f->x[1], f->x[2], f->x[3],
                         beacon[0], beacon[1] };
        float y[2], J[2 * IN], PH[N], S = seen_sigma[m] * seen_sigma[m];
        float work[sight_linearize_WORK];
        const float *H = J + m * IN;

        sight_linearize(in, y, J, work);
        for (int i = 0; i < N; i++) {
            PH[i] = 0;
            for (int j = 0; j < N; j++)
                PH[i] += f->P[i][j] * H[j];
            S += H[i] * PH[i];
        }
        float off = seen[m] - y[m];
        if (m == 1)                                 // an angle
            off -= turn * floorf(off / turn + 0.5f);
        for (int i = 0; i < N; i++) {
            f->x[i] += PH[i] / S * off;
            for (int j = 0; j < N; j++)
                f->P[i][j] -= PH[i] * PH[j] / S;
        }
    }
}

// Even noise with deviation sigma.
static float noise(float sigma)
{
    static uint32_t state = 13;
    state = state * 1664525u + 1013904223u;
    return sigma * 3.4641016f * ((float)(state >> 8) / 16777216.0f - 0.5f);
}

static float distance(const float a[2], const float b[2])
{
    return hypotf(a[0] - b[0], a[1] - b[1]);
}

int main(void)
{
    static const float beacon[BEACONS][2] = { { 0, 30 }, { 20, 0 },
                                              { -20, 0 } };
    filter f = { { 0, 0, 0, 2 }, { { 0.01f }, { 0, 0.01f }, { 0, 0, 0.01f },
                                   { 0, 0, 0, 0.01f } } };
    float truth[IN] = { 0, 0, 0, 2 }, blind[IN] = { 0, 0, 0, 2 };
    float sum = 0, worst = 0;

    for (int k = 1; k <= STEPS; k++) {
        float work[predict_value_WORK], u[2], next[N];
        truth[4] = 0.15f + 0.1f * sinf(0.03f * (float)k);      // turn rate
        truth[5] = 0.5f * sinf(0.05f * (float)k);       // acceleration
        for (int i = 0; i < 2; i++)
            blind[N + i] = u[i] = truth[N + i] + noise(moved_sigma[i]);
        predict_value(truth, next, work);
        memcpy(truth, next, sizeof next);
        predict_value(blind, next, work);
        memcpy(blind, next, sizeof next);
        predicted(&f, u);
        if (k % 5 == 0) {
            float seen[2], in[IN], see_work[sight_value_WORK];
            memcpy(in, truth, sizeof in);
            memcpy(in + N, beacon[k / 5 % BEACONS], 2 * sizeof *in);
            sight_value(in, seen, see_work);
            for (int i = 0; i < 2; i++)
                seen[i] += noise(seen_sigma[i]);
            corrected(&f, in + N, seen);
        }
        sum += distance(f.x, truth) / STEPS;
        worst = fmaxf(worst, distance(f.x, truth));
    }
    printf("after %d s at (%.1f, %.1f)\n", STEPS / 10, (double)truth[0],
           (double)truth[1]);
    printf("without beacons: off by %.2f m\n", (double)distance(blind, truth));
    printf("with beacons: off by %.2f m, at most %.2f m, on average %.2f m\n",
           (double)distance(f.x, truth), (double)worst, (double)sum);
    printf("the filter expected %.2f m\n",
           (double)sqrtf(f.P[0][0] + f.P[1][1]));
    return 0;
}
