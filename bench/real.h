// SPDX-License-Identifier: MIT-0
/* real.h - three programs that people differentiate, in files of their own.
 *
 *   gmm   log-likelihood of 25 Gaussians at 1000 points, with a Wishart prior
 *   lstm  loss of a network of two layers that reads 1024 characters
 *   ba    bundle adjustment: 49 cameras, 7776 points, 31843 observations, of
 *         which each has two errors with 15 derivatives, and a weight with one
 *
 * The formulas are those of the ADBench collection
 * (tests/support/adbench_programs.h), the numbers are made in plain_real.c.
 * What is not differentiated (points, characters, measurements) follows the
 * inputs in x.
 */

#ifndef BENCH_REAL_H
#define BENCH_REAL_H

#include "skin.h"
#include "workloads.h"

enum {
    GMM_K = 25,
    GMM_N = 1000,
    GMM_MAX = 32,                   // largest dimension
    GMM_MOST = GMM_K * (GMM_MAX + 1) * (GMM_MAX + 2) / 2,   // inputs
    LSTM_L = 2,
    LSTM_B = 14,
    LSTM_STATE = 2 * LSTM_L * LSTM_B,
    BA_CAMERAS = 49,
    BA_POINTS = 7776,
    BA_SEEN = BENCH_BA_SEEN,
    BA_ROW = 15                     // camera 11, point 3, weight 1
};

// Parameters of the prior, and pi as the problem defines it.
#define GMM_GAMMA 0.75
#define GMM_M     2.0
#define GMM_PI    3.14159265359

static inline size_t gmm_triangle(size_t d)
{
    return d * (d + 1) / 2;
}

// The inputs in their order: alpha, mu, icf. Points follow.
typedef struct gmm_data {
    size_t d;
    const double *alpha;
    const double *mu;
    const double *icf;          // d logarithms, then the columns below
    const double *points;
} gmm_data;

static inline gmm_data gmm_of(const bench_case *c, const double *x)
{
    const size_t d = c->size;

    return (gmm_data){ d, x, x + GMM_K, x + GMM_K + GMM_K * d,
                       x + c->inputs };
}

// What of gmm's value has no derivative.
double gmm_constant(size_t d);

// Observation i: camera i % BA_CAMERAS sees point i % BA_POINTS.
static inline const double *ba_camera(const double *x, size_t i)
{
    return x + 11 * (i % BA_CAMERAS);
}

static inline const double *ba_point(const double *x, size_t i)
{
    return x + 11 * BA_CAMERAS + 3 * (i % BA_POINTS);
}

static inline const double *ba_weight(const double *x, size_t i)
{
    return x + 11 * BA_CAMERAS + 3 * BA_POINTS + i;
}

static inline const double *ba_measured(const double *x, size_t i)
{
    return ba_weight(x, BA_SEEN) + 2 * i;
}

bench_run plain_gmm, plain_lstm, plain_ba;
bench_run hand_gmm, hand_lstm, hand_ba;
bench_run adrev_gmm, adrev_lstm, adrev_ba;
bench_run replay_gmm, replay_ba;
bench_run compiled_gmm, compiled_ba;
void real_fill(const bench_case *c, double *x);
void hand_real_release(void);
void functions_real_release(void);

#endif
