// SPDX-License-Identifier: MIT-0
/* plain_real.c - gmm, lstm and ba in plain C, and their inputs; those of skin. */

#include "real.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------
 * Inputs
 * ------------------------------------------------------------------------- */

// splitmix64
static double uniform(uint64_t *state, double from, double to)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return from + (to - from) * (double)(z >> 11) * 0x1p-53;
}

static double *fill(uint64_t *state, size_t n, double from, double to,
                    double *x)
{
    for (size_t i = 0; i < n; i++) {
        *x++ = uniform(state, from, to);
    }
    return x;
}

static void fill_gmm(size_t d, double *x)
{
    uint64_t state = 1;

    x = fill(&state, GMM_K, -1.0, 1.0, x);
    x = fill(&state, GMM_K * d, 0.0, 1.0, x);
    x = fill(&state, GMM_K * gmm_triangle(d), -0.5, 0.5, x);
    fill(&state, GMM_N * d, -1.0, 2.0, x);
}

// Bits are 0 or 1.
static void fill_lstm(const bench_case *c, double *x)
{
    uint64_t state = 2;

    x = fill(&state, c->inputs + LSTM_STATE, -1.0, 1.0, x);
    for (size_t i = 0; i < c->steps * LSTM_B; i++) {
        x[i] = uniform(&state, 0.0, 2.0) < 1.0 ? 0.0 : 1.0;
    }
}

// All points are well in front of all cameras.
static void fill_ba(double *x)
{
    uint64_t state = 3;

    for (size_t i = 0; i < BA_CAMERAS; i++) {
        x = fill(&state, 3, -0.2, 0.2, x);
        x = fill(&state, 2, -1.0, 1.0, x);
        x = fill(&state, 1, -9.0, -6.0, x);
        x = fill(&state, 1, 300.0, 600.0, x);
        x = fill(&state, 2, -15.0, 15.0, x);
        x = fill(&state, 2, -0.1, 0.1, x);
    }
    x = fill(&state, 3 * BA_POINTS, -2.0, 2.0, x);
    x = fill(&state, BA_SEEN, 0.1, 1.0, x);
    fill(&state, 2 * BA_SEEN, -300.0, 300.0, x);
}

// Bones that hardly turn, so that the numbers of the last ones in a finger are
// not larger than those of the first.
static void fill_skin(double *x)
{
    uint64_t state = 4;

    x = fill(&state, 6, -0.5, 0.5, x);
    x = fill(&state, SKIN_THETA - 6, -0.5, 1.0, x);
    for (size_t i = 0; i < 2 * SKIN_BONES * SKIN_MATRIX; i++) {
        const bool diagonal = i % SKIN_MATRIX % 5 == 0;

        *x++ = diagonal + uniform(&state, -0.2, 0.2);
    }
    x = fill(&state, 3 * SKIN_POINTS, -1.0, 1.0, x);
    x = fill(&state, SKIN_PULLS * SKIN_POINTS, 0.0, 0.5, x);
    fill(&state, 3 * SKIN_POINTS, -2.0, 2.0, x);
}

void real_fill(const bench_case *c, double *x)
{
    switch (c->workload) {
    case BENCH_GMM:  fill_gmm(c->size, x); break;
    case BENCH_LSTM: fill_lstm(c, x); break;
    case BENCH_SKIN: fill_skin(x); break;
    default:         fill_ba(x); break;
    }
}

/* ---------------------------------------------------------------------------
 * gmm
 * ------------------------------------------------------------------------- */

double gmm_constant(size_t d)
{
    const double D = (double)d;
    const double N = D + GMM_M + 1.0;
    double gammas = D * (D - 1.0) / 4.0 * log(GMM_PI);

    for (size_t j = 1; j <= d; j++) {
        gammas += lgamma(N / 2.0 + (1.0 - (double)j) / 2.0);
    }
    return -GMM_N * D / 2.0 * log(2.0 * GMM_PI)
           - GMM_K * (N * D * (log(GMM_GAMMA) - log(2.0) / 2.0) - gammas);
}

// ||Q (x - mu)||^2, column by column as Q is stored: the inner loop
// vectorises.
static double distance(size_t d, const double *restrict diagonal,
                       const double *restrict below,
                       const double *restrict mu, const double *restrict x)
{
    double z[GMM_MAX];
    double sum = 0.0;

    for (size_t i = 0; i < d; i++) {
        z[i] = diagonal[i] * (x[i] - mu[i]);
    }
    for (size_t i = 0; i < d; i++) {
        const double c = x[i] - mu[i];

        for (size_t j = i + 1; j < d; j++) {
            z[j] += *below++ * c;
        }
    }
    for (size_t i = 0; i < d; i++) {
        sum += z[i] * z[i];
    }
    return sum;
}

static double log_sum_exp(size_t n, const double *v)
{
    double top = v[0];
    double sum = 0.0;

    for (size_t i = 1; i < n; i++) {
        top = v[i] > top ? v[i] : top;
    }
    for (size_t i = 0; i < n; i++) {
        sum += exp(v[i] - top);
    }
    return top + log(sum);
}

// Diagonal of component k and the sum of its logarithms; returns its prior.
static double component(const gmm_data *g, size_t k, double *diagonal,
                        double *q)
{
    const double *icf = g->icf + k * gmm_triangle(g->d);
    double square = 0.0;
    double sum = 0.0;

    for (size_t i = 0; i < g->d; i++) {
        diagonal[i] = exp(icf[i]);
        square += diagonal[i] * diagonal[i];
        sum += icf[i];
    }
    for (size_t i = g->d; i < gmm_triangle(g->d); i++) {
        square += icf[i] * icf[i];
    }
    *q = sum;
    return GMM_GAMMA * GMM_GAMMA / 2.0 * square - GMM_M * sum;
}

void plain_gmm(const bench_case *c, const double *x, double *y, double *dy)
{
    const gmm_data g = gmm_of(c, x);
    const size_t d = g.d;
    double diagonal[GMM_K][GMM_MAX];
    double base[GMM_K];
    double t[GMM_K];
    double sum = gmm_constant(d);

    (void)dy;
    for (size_t k = 0; k < GMM_K; k++) {
        sum += component(&g, k, diagonal[k], &base[k]);
        base[k] += g.alpha[k];
    }
    for (size_t s = 0; s < GMM_N; s++) {
        for (size_t k = 0; k < GMM_K; k++) {
            t[k] = base[k] - 0.5 * distance(d, diagonal[k],
                                            g.icf + k * gmm_triangle(d) + d,
                                            g.mu + k * d, g.points + s * d);
        }
        sum += log_sum_exp(GMM_K, t);
    }
    y[0] = sum - GMM_N * log_sum_exp(GMM_K, g.alpha);
}

/* ---------------------------------------------------------------------------
 * lstm
 * ------------------------------------------------------------------------- */

static double sigma(double y)
{
    return 1.0 / (1.0 + exp(-y));
}

// Weights and biases f, i, o, c of the layer; u becomes the new h.
static void layer(const double *w, double *restrict h, double *restrict s,
                  double *restrict u)
{
    const double *b = w + 4 * LSTM_B;

    for (size_t j = 0; j < LSTM_B; j++) {
        const double f = sigma(u[j] * w[j] + b[j]);
        const double i = sigma(h[j] * w[LSTM_B + j] + b[LSTM_B + j]);
        const double o = sigma(u[j] * w[2 * LSTM_B + j] + b[2 * LSTM_B + j]);
        const double a = tanh(h[j] * w[3 * LSTM_B + j] + b[3 * LSTM_B + j]);

        s[j] = s[j] * f + i * a;
        h[j] = o * tanh(s[j]);
        u[j] = h[j];
    }
}

void plain_lstm(const bench_case *c, const double *x, double *y, double *dy)
{
    const double *extra = x + 8 * LSTM_L * LSTM_B;
    const double *text = x + c->inputs + LSTM_STATE;
    double state[LSTM_STATE];
    double total = 0.0;

    (void)dy;
    memcpy(state, x + c->inputs, sizeof state);
    for (size_t t = 0; t + 1 < c->steps; t++, text += LSTM_B) {
        double u[LSTM_B];
        double sum = 2.0;

        for (size_t j = 0; j < LSTM_B; j++) {
            u[j] = text[j] * extra[j];
        }
        for (size_t i = 0; i < LSTM_L; i++) {
            double *h = state + 2 * LSTM_B * i;

            layer(x + 8 * LSTM_B * i, h, h + LSTM_B, u);
        }
        for (size_t j = 0; j < LSTM_B; j++) {
            u[j] = u[j] * extra[LSTM_B + j] + extra[2 * LSTM_B + j];
            sum += exp(u[j]);
        }
        sum = log(sum);
        for (size_t j = 0; j < LSTM_B; j++) {
            total += text[LSTM_B + j] * (u[j] - sum);
        }
    }
    y[0] = -total / (LSTM_B * (double)(c->steps - 1));
}

/* ---------------------------------------------------------------------------
 * ba
 * ------------------------------------------------------------------------- */

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

// o turned by the angle |r| about r.
static void rotate(const double *r, const double *o, double *y)
{
    const double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    const double angle = sqrt(square);
    double turned[3];

    if (square == 0.0) {
        cross(r, o, turned);
        for (int i = 0; i < 3; i++) {
            y[i] = o[i] + turned[i];
        }
    } else {
        const double c = cos(angle);
        const double s = sin(angle);
        const double a[3] = { r[0] / angle, r[1] / angle, r[2] / angle };
        const double along = (a[0] * o[0] + a[1] * o[1] + a[2] * o[2])
                           * (1.0 - c);

        cross(a, o, turned);
        for (int i = 0; i < 3; i++) {
            y[i] = o[i] * c + turned[i] * s + a[i] * along;
        }
    }
}

void plain_ba(const bench_case *c, const double *x, double *y, double *dy)
{
    (void)c, (void)dy;
    for (size_t i = 0; i < BA_SEEN; i++) {
        const double *camera = ba_camera(x, i);
        const double *point = ba_point(x, i);
        const double *seen = ba_measured(x, i);
        const double w = *ba_weight(x, i);
        const double o[3] = { point[0] - camera[3], point[1] - camera[4],
                              point[2] - camera[5] };
        double v[3];

        rotate(camera, o, v);
        const double px = v[0] / v[2];
        const double py = v[1] / v[2];
        const double s = px * px + py * py;
        const double scale = camera[6]
                           * (1.0 + camera[9] * s + camera[10] * s * s);

        y[2 * i] = w * (scale * px + camera[7] - seen[0]);
        y[2 * i + 1] = w * (scale * py + camera[8] - seen[1]);
        y[2 * BA_SEEN + i] = 1.0 - w * w;
    }
}
