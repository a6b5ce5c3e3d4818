// SPDX-License-Identifier: MIT-0
/* plain.c - the programs in plain C, and their inputs.
 *
 * Their times are the denominators of the table, so they are written as one
 * would write them without a thought of derivatives: nothing is held back that
 * a compiler may use, and nothing is reassociated that it must not.
 */

#include "real.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------
 * Inputs
 * ------------------------------------------------------------------------- */

// 1, 2, 3, ...: v and the quaternion of rotquat; mul has 3 and 4.
static void fill_count(const bench_case *c, double *x)
{
    for (size_t i = 0; i < c->inputs; i++) {
        x[i] = c->workload == BENCH_MUL ? 3.0 + (double)i : 1.0 + (double)i;
    }
}

// Both grow, so that the sum is neither exact nor dominated by few terms.
static void fill_dot(size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = 0.001 * (double)i;
        x[n + i] = 1.0 + 0.0001 * (double)i;
    }
}

// Integers, so that the value is exact: 1, 2, 3, ... times 3, 5, 7, ...
static void fill_matvec(size_t n, double *x)
{
    double *v = x + n * n;

    for (size_t i = 0; i < n * n; i++) {
        x[i] = (double)(i + 1);
    }
    for (size_t j = 0; j < n; j++) {
        v[j] = (double)(2 * j + 3);
    }
}

// Weights, then biases; returns where the next layer begins.
static double *fill_layer(size_t m, size_t n, double *x)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            *x++ = sin((double)(i + j));
        }
    }
    for (size_t i = 0; i < m; i++) {
        *x++ = sin(0.41 * (double)i);
    }
    return x;
}

static void fill_nn(double *x)
{
    x = fill_layer(BENCH_NN_HIDDEN, BENCH_NN_IN, x);
    x = fill_layer(BENCH_NN_OUT, BENCH_NN_HIDDEN, x);
    for (size_t i = 0; i < BENCH_NN_IN; i++) {
        x[i] = sin(0.41 * (double)i);
    }
}

// Position and velocity of each particle: p_x, p_y, v_x, v_y.
static void fill_particles(size_t count, double *x)
{
    for (size_t i = 0; i < count; i++) {
        x[4 * i] = 0.5 * (double)(i + 1);
        x[4 * i + 1] = 0.1;
        x[4 * i + 2] = 1.0;
        x[4 * i + 3] = 1.0;
    }
}

// Smooth waves in both components; on the boundary u is 1 and v is not.
static void fill_burgers(size_t side, double *x)
{
    const double turn = 2.0 * 3.14159265358979323846 / (double)(side - 1);

    for (size_t i = 0; i < side; i++) {
        for (size_t j = 0; j < side; j++) {
            double *cell = x + i * side + j;
            const double north = sin(turn * (double)i);

            cell[0] = 1.0 + 0.5 * sin(turn * (double)j) * north;
            cell[side * side] = 1.0 + 0.3 * cos(turn * (double)j) * north;
        }
    }
}

size_t bench_data(const bench_case *c)
{
    switch (c->workload) {
    case BENCH_GMM:  return GMM_N * c->size;
    case BENCH_LSTM: return LSTM_STATE + c->steps * LSTM_B;
    case BENCH_BA:   return 2 * BA_SEEN;
    case BENCH_SKIN: return SKIN_DATA;
    default:         return 0;
    }
}

void bench_fill(const bench_case *c, double *x)
{
    static const double loop[] = { 0.3, 0.9, 0.7, 0.2 };
    static const double sir[] = { 1.66, 0.44, 1.0 };

    switch (c->workload) {
    case BENCH_DOT:       fill_dot(c->size, x); break;
    case BENCH_MATVEC:    fill_matvec(c->size, x); break;
    case BENCH_NN:        fill_nn(x); break;
    case BENCH_PARTICLES: fill_particles(c->size, x); break;
    case BENCH_LOOP:
    case BENCH_FORWARD:   memcpy(x, loop, sizeof loop); break;
    case BENCH_SIR:       memcpy(x, sir, sizeof sir); break;
    case BENCH_BURGERS:   fill_burgers(c->size, x); break;
    case BENCH_GMM:
    case BENCH_LSTM:
    case BENCH_BA:
    case BENCH_SKIN:      real_fill(c, x); break;
    default:              fill_count(c, x); break;
    }
}

/* ---------------------------------------------------------------------------
 * Programs
 * ------------------------------------------------------------------------- */

// The time is that of a call through a pointer.
static void run_mul(const bench_case *c, const double *x, double *y, double *dy)
{
    (void)c, (void)dy;
    y[0] = x[0] * x[1];
}

// 2(u.v)u + (s^2 - u.u)v + 2s(u x v) with the cross product as the paper prints
// it: its second component is u_z*v_z - u_x*v_z.
static void run_rotquat(const bench_case *c, const double *x,
                        double *y, double *dy)
{
    const double *v = x;
    const double *u = x + 3;
    const double s = x[6];
    const double uv = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    const double uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    const double along = 2.0 * uv;
    const double scale = s * s - uu;
    const double twice = 2.0 * s;

    (void)c, (void)dy;
    y[0] = along * u[0] + scale * v[0] + twice * (u[1] * v[2] - u[2] * v[1]);
    y[1] = along * u[1] + scale * v[1] + twice * (u[2] * v[2] - u[0] * v[2]);
    y[2] = along * u[2] + scale * v[2] + twice * (u[0] * v[1] - u[1] * v[0]);
}

// One chain: each addition waits for the one before. Without leave to
// reassociate, no compiler makes it faster.
static double dot(size_t n, const double *x, const double *y)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

static void run_dot(const bench_case *c, const double *x, double *y, double *dy)
{
    (void)dy;
    y[0] = dot(c->size, x, x + c->size);
}

// The matrix row by row, then the vector.
static void run_matvec(const bench_case *c, const double *x,
                       double *y, double *dy)
{
    const size_t n = c->size;
    double sum = 0.0;

    (void)dy;
    for (size_t i = 0; i < n; i++) {
        sum += dot(n, x + i * n, x + n * n);
    }
    y[0] = sum;
}

// Weights m x n row-major, then biases; returns what follows them.
static const double *dense_relu(size_t m, size_t n, const double *w,
                                const double *x, double *y)
{
    const double *b = w + m * n;

    for (size_t i = 0; i < m; i++) {
        double s = b[i];

        for (size_t j = 0; j < n; j++) {
            s += w[i * n + j] * x[j];
        }
        y[i] = s >= 0.0 ? s : 0.0;
    }
    return b + m;
}

// Overwrites h. The entries are not negative, so that top is their maximum.
// The weights make the result depend on them: the plain sum would be 1.
static double weighted_softmax(size_t n, double *h)
{
    double top = 0.0;
    double total = 0.0;
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        top = h[i] > top ? h[i] : top;
    }
    for (size_t i = 0; i < n; i++) {
        h[i] = exp(h[i] - top);
        total += h[i];
    }
    for (size_t i = 0; i < n; i++) {
        sum += (double)(i + 1) / (double)n * (h[i] / total);
    }
    return sum;
}

// The parameters come first, the 50 inputs of the network last.
static void run_nn(const bench_case *c, const double *x, double *y, double *dy)
{
    const double *in = x + BENCH_NN_INPUTS - BENCH_NN_IN;
    double hidden[BENCH_NN_HIDDEN];
    double out[BENCH_NN_OUT];

    (void)c, (void)dy;
    x = dense_relu(BENCH_NN_HIDDEN, BENCH_NN_IN, x, in, hidden);
    dense_relu(BENCH_NN_OUT, BENCH_NN_HIDDEN, x, hidden, out);
    y[0] = weighted_softmax(BENCH_NN_OUT, out);
}

// One particle. Divisions by a mass of 1 vanish here; a tape has to do them.
static void spring(size_t steps, double *p, double *v)
{
    for (size_t k = 0; k < steps; k++) {
        for (int i = 0; i < 2; i++) {
            const double a = (-BENCH_SPRING_K * p[i] - BENCH_SPRING_D * v[i])
                           / BENCH_SPRING_M;

            p[i] = p[i] + BENCH_SPRING_H * v[i];
            v[i] = v[i] + BENCH_SPRING_H * a;
        }
    }
}

// Sum of p_x*p_y over the particles, which do not interact.
static void run_particles(const bench_case *c, const double *x,
                          double *y, double *dy)
{
    double sum = 0.0;

    (void)dy;
    for (size_t i = 0; i < c->size; i++) {
        double p[2] = { x[4 * i], x[4 * i + 1] };
        double v[2] = { x[4 * i + 2], x[4 * i + 3] };

        spring(c->steps, p, v);
        sum += p[0] * p[1];
    }
    y[0] = sum;
}

// Mean of x_1, ..., x_n with x' = sin(x)*a + exp(-x*x)*b + c.
static void run_loop(const bench_case *c, const double *in,
                     double *y, double *dy)
{
    double x = in[0];
    double sum = 0.0;

    (void)dy;
    for (size_t k = 0; k < c->steps; k++) {
        x = sin(x) * in[1] + exp(-x * x) * in[2] + in[3];
        sum += x;
    }
    y[0] = sum / (double)c->steps;
}

// A product of many factors, each of which is a statement of its own.
static void run_external(const bench_case *c, const double *x,
                         double *y, double *dy)
{
    static const double factors[] = BENCH_FACTORS;
    double z = x[0];

    (void)dy;
    for (size_t k = 0; k < c->steps; k++) {
        z *= factors[k % 2];
    }
    y[0] = z;
}

// One step of one component w, which is u or v, inside the boundary.
static void advance(size_t side, double a, double r, const double *u,
                    const double *v, const double *w, double *restrict next)
{
    for (size_t i = 1; i + 1 < side; i++) {
        for (size_t k = i * side + 1; k + 1 < (i + 1) * side; k++) {
            next[k] = w[k] - a * u[k] * (w[k] - w[k - 1])
                           - a * v[k] * (w[k] - w[k - side])
                           + r * (w[k + 1] + w[k - 1] + w[k + side]
                                  + w[k - side] - 4.0 * w[k]);
        }
    }
}

static double *burgers_room;
static size_t burgers_cells;

// Two fields now and two fields next, kept between calls.
static double *burgers_fields(size_t cells)
{
    if (cells > burgers_cells) {
        free(burgers_room);
        burgers_room = malloc(4 * cells * sizeof *burgers_room);
        burgers_cells = burgers_room ? cells : 0;
    }
    return burgers_room;
}

// Sum of the squares of both components at the end. Cells of the boundary
// keep their values: they are in both pairs of fields from the start.
static void run_burgers(const bench_case *c, const double *x,
                        double *y, double *dy)
{
    const size_t side = c->size;
    const size_t cells = side * side;
    const double a = BENCH_BURGERS_DT * (double)(side - 1);
    const double r = BENCH_BURGERS_NU * a * (double)(side - 1);
    double *now = burgers_fields(cells);
    double *next = now + 2 * cells;

    (void)dy;
    memcpy(now, x, 2 * cells * sizeof *now);
    memcpy(next, x, 2 * cells * sizeof *next);

    for (size_t k = 0; k < c->steps; k++) {
        double *swap = now;

        advance(side, a, r, now, now + cells, now, next);
        advance(side, a, r, now, now + cells, now + cells, next + cells);
        now = next;
        next = swap;
    }
    y[0] = dot(2 * cells, now, now);
}

// Susceptible and infected.
static void sir_slope(const double *p, double s, double i, double *k)
{
    const double infections = p[0] * s * i / BENCH_SIR_N;

    k[0] = -infections;
    k[1] = infections - p[1] * i;
}

static void run_sir(const bench_case *c, const double *p, double *y,
                    double *dy)
{
    const double h = BENCH_SIR_H;
    double s = BENCH_SIR_N - p[2];
    double i = p[2];
    double sum = 0.0;

    (void)dy;
    for (size_t n = 0; n < c->steps; n++) {
        double k1[2], k2[2], k3[2], k4[2];

        sir_slope(p, s, i, k1);
        sir_slope(p, s + h / 2 * k1[0], i + h / 2 * k1[1], k2);
        sir_slope(p, s + h / 2 * k2[0], i + h / 2 * k2[1], k3);
        sir_slope(p, s + h * k3[0], i + h * k3[1], k4);
        s += h / 6 * (k1[0] + 2.0 * k2[0] + 2.0 * k3[0] + k4[0]);
        i += h / 6 * (k1[1] + 2.0 * k2[1] + 2.0 * k3[1] + k4[1]);
        sum += i;
    }
    y[0] = sum / (double)c->steps;
}

static void release(void)
{
    free(burgers_room);
    burgers_room = NULL;
    burgers_cells = 0;
}

const bench_tool bench_plain = {
    .name = "plain",
    .version = "",
    .run = {
        [BENCH_MUL] = run_mul,
        [BENCH_ROTQUAT] = run_rotquat,
        [BENCH_DOT] = run_dot,
        [BENCH_MATVEC] = run_matvec,
        [BENCH_NN] = run_nn,
        [BENCH_PARTICLES] = run_particles,
        [BENCH_LOOP] = run_loop,
        [BENCH_EXTERNAL] = run_external,
        [BENCH_FORWARD] = run_loop,
        [BENCH_BURGERS] = run_burgers,
        [BENCH_GMM] = plain_gmm,
        [BENCH_LSTM] = plain_lstm,
        [BENCH_BA] = plain_ba,
        [BENCH_SKIN] = plain_skin,
        [BENCH_SIR] = run_sir,
    },
    .release = release,
};
