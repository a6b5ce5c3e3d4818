// SPDX-License-Identifier: MIT-0
/* hand.c - the derivatives by hand.
 *
 * They say what the right answer is, and how near to the plain program a
 * derivative can come. Each is a reverse sweep as someone would write it who
 * knows the program: what the reverse sweep needs is kept, sums are fused,
 * inner loops vectorise. The value is computed as in the plain program.
 */

#include "real.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *room_base;
static size_t room_size;

// Memory that is kept between calls, so that only the first one pays for pages.
static double *room(size_t n)
{
    if (n > room_size) {
        free(room_base);
        room_base = malloc(n * sizeof *room_base);
        room_size = room_base ? n : 0;
    }
    return room_base;
}

static void release(void)
{
    free(room_base);
    room_base = NULL;
    room_size = 0;
    hand_real_release();
}

/* ---------------------------------------------------------------------------
 * mul, rotquat
 * ------------------------------------------------------------------------- */

static void run_mul(const bench_case *c, const double *x, double *y, double *dy)
{
    (void)c;
    y[0] = x[0] * x[1];
    dy[0] = x[1];
    dy[1] = x[0];
}

// y = 2(u.v)u + (s^2 - u.u)v + 2s(u x v). cross[i] is component i of the
// paper's u x v; its derivatives with respect to v and u are the two matrices
// below. Row i of the Jacobian is (v part, u part, s part).
static void run_rotquat(const bench_case *c, const double *x,
                        double *y, double *dy)
{
    const double *v = x;
    const double *u = x + 3;
    const double s = x[6];
    const double uv = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    const double uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    const double scale = s * s - uu;
    const double cross[3] = { u[1] * v[2] - u[2] * v[1],
                              u[2] * v[2] - u[0] * v[2],
                              u[0] * v[1] - u[1] * v[0] };
    const double cross_v[3][3] = { {   0.0, -u[2],        u[1] },
                                   {   0.0,   0.0, u[2] - u[0] },
                                   { -u[1],  u[0],         0.0 } };
    const double cross_u[3][3] = { {   0.0,  v[2], -v[1] },
                                   { -v[2],   0.0,  v[2] },
                                   {  v[1], -v[0],   0.0 } };

    (void)c;
    for (int i = 0; i < 3; i++) {
        double *row = dy + 7 * i;

        y[i] = 2.0 * uv * u[i] + scale * v[i] + 2.0 * s * cross[i];
        for (int j = 0; j < 3; j++) {
            row[j] = 2.0 * (u[i] * u[j] + s * cross_v[i][j]);
            row[3 + j] = 2.0 * (u[i] * v[j] - v[i] * u[j] + s * cross_u[i][j]);
        }
        row[i] += scale;
        row[3 + i] += 2.0 * uv;
        row[6] = 2.0 * (s * v[i] + cross[i]);
    }
}

/* ---------------------------------------------------------------------------
 * dot, matvec, nn
 * ------------------------------------------------------------------------- */

// The gradient is a copy. It is made while the chain of additions waits for
// itself: at lengths beyond the caches the inputs are read once only.
static double dot_gradient(size_t n, const double *restrict x,
                           const double *restrict y, double *restrict dx,
                           double *restrict dy)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++) {
        s += x[i] * y[i];
        dx[i] = y[i];
        dy[i] = x[i];
    }
    return s;
}

static void run_dot(const bench_case *c, const double *x, double *y, double *dy)
{
    const size_t n = c->size;

    y[0] = dot_gradient(n, x, x + n, dy, dy + n);
}

// The value does not need dv, so that a row's chain of additions hides the work
// on the gradient.
static double matvec_row(size_t n, const double *restrict a,
                         const double *restrict v, double *restrict da,
                         double *restrict dv)
{
    double s = 0.0;

    for (size_t j = 0; j < n; j++) {
        s += a[j] * v[j];
        da[j] = v[j];
        dv[j] += a[j];
    }
    return s;
}

// d/dA = 1 v^T, d/dv = A^T 1.
static void run_matvec(const bench_case *c, const double *x,
                       double *y, double *dy)
{
    const size_t n = c->size;
    double sum = 0.0;

    memset(dy + n * n, 0, n * sizeof *dy);
    for (size_t i = 0; i < n; i++) {
        sum += matvec_row(n, x + i * n, x + n * n, dy + i * n, dy + n * n);
    }
    y[0] = sum;
}

// Weights m x n row-major, then biases.
static void dense_relu(size_t m, size_t n, const double *w, const double *x,
                       double *y)
{
    for (size_t i = 0; i < m; i++) {
        double s = w[m * n + i];

        for (size_t j = 0; j < n; j++) {
            s += w[i * n + j] * x[j];
        }
        y[i] = s >= 0.0 ? s : 0.0;
    }
}

// Turns the adjoint of y into those of w, b and x. A unit that relu closed has
// y == 0; one that is exactly on the edge does not occur.
static void dense_relu_reverse(size_t m, size_t n, const double *restrict w,
                               const double *restrict x,
                               const double *restrict y,
                               const double *restrict by,
                               double *restrict bw, double *restrict bx)
{
    memset(bx, 0, n * sizeof *bx);
    for (size_t i = 0; i < m; i++) {
        const double b = y[i] > 0.0 ? by[i] : 0.0;

        bw[m * n + i] = b;
        for (size_t j = 0; j < n; j++) {
            bw[i * n + j] = b * x[j];
            bx[j] += b * w[i * n + j];
        }
    }
}

// With q the softmax, f = sum w_i q_i: df/dh_i = q_i (w_i - f). The shift by
// the largest entry cancels.
static double weighted_softmax(size_t n, const double *h, double *bh)
{
    double top = 0.0;
    double total = 0.0;
    double f = 0.0;

    for (size_t i = 0; i < n; i++) {
        top = h[i] > top ? h[i] : top;
    }
    for (size_t i = 0; i < n; i++) {
        bh[i] = exp(h[i] - top);
        total += bh[i];
    }
    for (size_t i = 0; i < n; i++) {
        bh[i] /= total;
        f += (double)(i + 1) / (double)n * bh[i];
    }
    for (size_t i = 0; i < n; i++) {
        bh[i] *= (double)(i + 1) / (double)n - f;
    }
    return f;
}

static void run_nn(const bench_case *c, const double *x, double *y, double *dy)
{
    const size_t second = BENCH_NN_HIDDEN * BENCH_NN_IN + BENCH_NN_HIDDEN;
    const size_t in = BENCH_NN_INPUTS - BENCH_NN_IN;
    double hidden[BENCH_NN_HIDDEN];
    double bhidden[BENCH_NN_HIDDEN];
    double out[BENCH_NN_OUT];
    double bout[BENCH_NN_OUT];

    (void)c;
    dense_relu(BENCH_NN_HIDDEN, BENCH_NN_IN, x, x + in, hidden);
    dense_relu(BENCH_NN_OUT, BENCH_NN_HIDDEN, x + second, hidden, out);
    y[0] = weighted_softmax(BENCH_NN_OUT, out, bout);

    dense_relu_reverse(BENCH_NN_OUT, BENCH_NN_HIDDEN, x + second, hidden, out,
                       bout, dy + second, bhidden);
    dense_relu_reverse(BENCH_NN_HIDDEN, BENCH_NN_IN, x, x + in, hidden,
                       bhidden, dy, dy + in);
}

/* ---------------------------------------------------------------------------
 * particles
 * ------------------------------------------------------------------------- */

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

// The program is linear in p and v: nothing needs to be kept.
static void spring_reverse(size_t steps, double *bp, double *bv)
{
    const double h = BENCH_SPRING_H;
    const double ha = h / BENCH_SPRING_M;

    for (size_t k = 0; k < steps; k++) {
        for (int i = 0; i < 2; i++) {
            const double b = bp[i];

            bp[i] = b - ha * BENCH_SPRING_K * bv[i];
            bv[i] = bv[i] - ha * BENCH_SPRING_D * bv[i] + h * b;
        }
    }
}

// The loss is bilinear: the adjoint of p_x is p_y, and the other way round.
static void run_particles(const bench_case *c, const double *x,
                          double *y, double *dy)
{
    double sum = 0.0;

    for (size_t i = 0; i < c->size; i++) {
        double p[2] = { x[4 * i], x[4 * i + 1] };
        double v[2] = { x[4 * i + 2], x[4 * i + 3] };
        double bp[2];
        double bv[2] = { 0.0, 0.0 };

        spring(c->steps, p, v);
        sum += p[0] * p[1];
        bp[0] = p[1];
        bp[1] = p[0];
        spring_reverse(c->steps, bp, bv);
        memcpy(dy + 4 * i, bp, sizeof bp);
        memcpy(dy + 4 * i + 2, bv, sizeof bv);
    }
    y[0] = sum;
}

/* ---------------------------------------------------------------------------
 * loop, forward
 * ------------------------------------------------------------------------- */

// Kept per step: sin x, exp(-x*x), and the derivative of the new x by the old.
typedef struct loop_step {
    double s;
    double e;
    double slope;
} loop_step;

// x' = s*a + e*b + c. The steps are kept together in one structure: the sweep
// reads memory in one stream. Dividing by n is left to the end.
static void run_loop(const bench_case *c, const double *in,
                     double *y, double *dy)
{
    const size_t n = c->steps;
    loop_step *step = (loop_step *)room(3 * n);
    double x = in[0];
    double sum = 0.0;
    double bx = 0.0;
    double ba = 0.0;
    double bb = 0.0;
    double bc = 0.0;

    for (size_t k = 0; k < n; k++) {
        const double s = sin(x);
        const double e = exp(-x * x);

        step[k].slope = cos(x) * in[1] - 2.0 * x * e * in[2];
        step[k].s = s;
        step[k].e = e;
        x = s * in[1] + e * in[2] + in[3];
        sum += x;
    }
    for (size_t k = n; k-- > 0; bx *= step[k].slope) {
        bx += 1.0;
        ba += bx * step[k].s;
        bb += bx * step[k].e;
        bc += bx;
    }
    y[0] = sum / (double)n;
    dy[0] = bx / (double)n;
    dy[1] = ba / (double)n;
    dy[2] = bb / (double)n;
    dy[3] = bc / (double)n;
}

static void run_external(const bench_case *c, const double *x,
                         double *y, double *dy)
{
    static const double factors[] = BENCH_FACTORS;
    double z = x[0];
    double bz = 1.0;

    for (size_t k = 0; k < c->steps; k++) {
        z *= factors[k % 2];
    }
    for (size_t k = c->steps; k-- > 0;) {
        bz *= factors[k % 2];
    }
    y[0] = z;
    dy[0] = bz;
}

// Dual arithmetic written out: xd is the tangent of x.
static void run_forward(const bench_case *c, const double *in,
                        double *y, double *dy)
{
    static const double d[] = BENCH_DIRECTION;
    double x = in[0];
    double xd = d[0];
    double sum = 0.0;
    double sumd = 0.0;

    for (size_t k = 0; k < c->steps; k++) {
        const double s = sin(x);
        const double sd = cos(x) * xd;
        const double e = exp(-x * x);
        const double ed = e * (-2.0 * x * xd);

        xd = sd * in[1] + s * d[1] + ed * in[2] + e * d[2] + d[3];
        x = s * in[1] + e * in[2] + in[3];
        sum += x;
        sumd += xd;
    }
    y[0] = sum / (double)c->steps;
    dy[0] = sumd / (double)c->steps;
}

/* ---------------------------------------------------------------------------
 * burgers
 *
 * All fields are kept. The reverse step gathers, so that it vectorises like the
 * program: a cell collects from the neighbours whose stencils it is in. For
 * that, adjoints of boundary cells, which no step propagates, are moved to the
 * result at once, and each field has a row of zeros below and above it.
 * ------------------------------------------------------------------------- */

typedef struct burgers {
    size_t side;
    size_t cells;
    size_t steps;
    double a;
    double r;
    double *fields;
} burgers;

// Component 0 (u) or 1 (v) at a time. The adjoints are at times steps + 1 and
// steps + 2.
static double *field(const burgers *g, size_t time, size_t component)
{
    const size_t stride = g->cells + 2 * g->side;

    return g->fields + (2 * time + component) * stride + g->side;
}

// Every later field has the boundary of the first one.
static void copy_boundary(size_t n, const double *x, double *w)
{
    memcpy(w, x, n * sizeof *w);
    memcpy(w + n * (n - 1), x + n * (n - 1), n * sizeof *w);
    for (size_t i = 1; i + 1 < n; i++) {
        w[i * n] = x[i * n];
        w[i * n + n - 1] = x[i * n + n - 1];
    }
}

// The zeros around the adjoints must stay zeros, those around the fields must
// be numbers: they are multiplied by adjoints that are zero.
static void open_fields(const burgers *g, const double *x)
{
    const size_t n = g->side;

    for (size_t time = 0; time < g->steps + 3; time++) {
        for (size_t i = 0; i < 2; i++) {
            double *w = field(g, time, i);

            memset(w - n, 0, n * sizeof *w);
            memset(w + g->cells, 0, n * sizeof *w);
            copy_boundary(n, x + i * g->cells, w);
        }
    }
    memcpy(field(g, 0, 0), x, g->cells * sizeof *x);
    memcpy(field(g, 0, 1), x + g->cells, g->cells * sizeof *x);
}

static void advance(const burgers *g, const double *u, const double *v,
                    const double *w, double *restrict next)
{
    const size_t n = g->side;
    const double a = g->a;
    const double r = g->r;

    for (size_t i = 1; i + 1 < n; i++) {
        for (size_t k = i * n + 1; k + 1 < (i + 1) * n; k++) {
            next[k] = w[k] - a * u[k] * (w[k] - w[k - 1])
                           - a * v[k] * (w[k] - w[k - n])
                           + r * (w[k + 1] + w[k - 1] + w[k + n] + w[k - n]
                                  - 4.0 * w[k]);
        }
    }
}

// Adjoints bu, bv of the new fields give that of one old component. b is bu or
// bv; back is the distance over which this component carries: 1 for u, a row
// for v. The first three lines are the linear part of the step.
static void retreat(const burgers *g, const double *u, const double *v,
                    const double *bu, const double *bv, const double *b,
                    size_t back, double *restrict old)
{
    const size_t n = g->side;
    const double a = g->a;
    const double r = g->r;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = i * n; k < (i + 1) * n; k++) {
            old[k] = b[k] * (1.0 - a * (u[k] + v[k]) - 4.0 * r)
                   + b[k + 1] * (a * u[k + 1] + r)
                   + b[k + n] * (a * v[k + n] + r)
                   + r * (b[k - 1] + b[k - n])
                   - a * (bu[k] * (u[k] - u[k - back])
                          + bv[k] * (v[k] - v[k - back]));
        }
    }
}

static void move(double *from, double *to)
{
    *to += *from;
    *from = 0.0;
}

// A corner is moved twice, the second time as a zero.
static void move_boundary(size_t n, double *b, double *dy)
{
    const size_t last = n * (n - 1);

    for (size_t i = 0; i < n; i++) {
        move(b + i, dy + i);
        move(b + last + i, dy + last + i);
        move(b + n * i, dy + n * i);
        move(b + n * i + n - 1, dy + n * i + n - 1);
    }
}

// Value of the loss; its derivative 2w is the adjoint of the last fields.
static double loss(const burgers *g)
{
    double sum = 0.0;

    for (size_t i = 0; i < 2; i++) {
        const double *w = field(g, g->steps, i);
        double *b = field(g, g->steps + 1, i);

        for (size_t k = 0; k < g->cells; k++) {
            sum += w[k] * w[k];
            b[k] = 2.0 * w[k];
        }
    }
    return sum;
}

// Backwards through the fields, with two pairs of adjoints in turn. What is
// left at time 0 is the gradient inside; dy has collected the boundary.
static void sweep(const burgers *g, double *dy)
{
    size_t now = g->steps + 1;
    size_t then = g->steps + 2;

    memset(dy, 0, 2 * g->cells * sizeof *dy);
    for (size_t k = g->steps; k-- > 0; ) {
        const size_t swap = now;
        const double *u = field(g, k, 0);
        const double *v = field(g, k, 1);
        double *bu = field(g, now, 0);
        double *bv = field(g, now, 1);

        move_boundary(g->side, bu, dy);
        move_boundary(g->side, bv, dy + g->cells);
        retreat(g, u, v, bu, bv, bu, 1, field(g, then, 0));
        retreat(g, u, v, bu, bv, bv, g->side, field(g, then, 1));
        now = then;
        then = swap;
    }
    for (size_t k = 0; k < g->cells; k++) {
        dy[k] += field(g, now, 0)[k];
        dy[g->cells + k] += field(g, now, 1)[k];
    }
}

static void run_burgers(const bench_case *c, const double *x,
                        double *y, double *dy)
{
    const size_t n = c->size;
    const double a = BENCH_BURGERS_DT * (double)(n - 1);
    const double r = BENCH_BURGERS_NU * a * (double)(n - 1);
    const burgers g = { n, n * n, c->steps, a, r,
                        room(2 * (c->steps + 3) * (n * n + 2 * n)) };

    open_fields(&g, x);
    for (size_t k = 0; k < c->steps; k++) {
        const double *u = field(&g, k, 0);
        const double *v = field(&g, k, 1);

        advance(&g, u, v, u, field(&g, k + 1, 0));
        advance(&g, u, v, v, field(&g, k + 1, 1));
    }
    y[0] = loss(&g);
    sweep(&g, dy);
}

/* ---------------------------------------------------------------------------
 * sir: the state before each step is kept, its slopes are computed again
 * ------------------------------------------------------------------------- */

static void sir_slope(const double *p, const double *at, double *k)
{
    const double infections = p[0] * at[0] * at[1] / BENCH_SIR_N;

    k[0] = -infections;
    k[1] = infections - p[1] * at[1];
}

// Adds to the adjoints of p; to those of the state, and of an earlier slope by
// the factor with which it led there.
static void sir_back(const double *p, const double *at, const double *bk,
                     double *bp, double *bat, double h, double *bearlier)
{
    const double b = (bk[1] - bk[0]) / BENCH_SIR_N;
    const double bs = b * p[0] * at[1];
    const double bi = b * p[0] * at[0] - p[1] * bk[1];

    bp[0] += b * at[0] * at[1];
    bp[1] -= bk[1] * at[1];
    bat[0] += bs;
    bat[1] += bi;
    bearlier[0] += h * bs;
    bearlier[1] += h * bi;
}

static void sir_ahead(const double *from, double h, const double *k,
                      double *to)
{
    to[0] = from[0] + h * k[0];
    to[1] = from[1] + h * k[1];
}

static void sir_stages(const double *p, const double *x, double at[4][2],
                       double k[4][2])
{
    const double h = BENCH_SIR_H;

    at[0][0] = x[0];
    at[0][1] = x[1];
    for (int j = 0; j < 4; j++) {
        if (j > 0) {
            sir_ahead(x, j < 3 ? h / 2 : h, k[j - 1], at[j]);
        }
        sir_slope(p, at[j], k[j]);
    }
}

static void run_sir(const bench_case *c, const double *p, double *y,
                    double *dy)
{
    const double h = BENCH_SIR_H;
    double *x = room(2 * (c->steps + 1));
    double at[4][2], k[4][2];
    double bx[2] = { 0.0, 0.0 };
    double unused[2] = { 0.0, 0.0 };

    x[0] = BENCH_SIR_N - p[2];
    x[1] = p[2];
    *y = dy[0] = dy[1] = 0.0;
    for (size_t n = 0; n < c->steps; n++, x += 2) {
        sir_stages(p, x, at, k);
        for (int j = 0; j < 2; j++) {
            x[2 + j] = x[j] + h / 6 * (k[0][j] + 2.0 * k[1][j] + 2.0 * k[2][j]
                                       + k[3][j]);
        }
        *y += x[3];
    }
    for (size_t n = c->steps; n-- > 0;) {
        double bk[4][2];

        x -= 2;
        sir_stages(p, x, at, k);
        bx[1] += 1.0;
        for (int j = 0; j < 8; j++) {
            bk[j / 2][j % 2] = (j < 2 || j > 5 ? h / 6 : h / 3) * bx[j % 2];
        }
        for (int j = 3; j >= 0; j--) {
            sir_back(p, at[j], bk[j], dy, bx, j == 3 ? h : h / 2,
                     j > 0 ? bk[j - 1] : unused);
        }
    }
    dy[2] = bx[1] - bx[0];
    for (int j = 0; j < 3; j++) {
        dy[j] /= (double)c->steps;
    }
    *y /= (double)c->steps;
}

const bench_tool bench_hand = {
    .name = "hand",
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
        [BENCH_FORWARD] = run_forward,
        [BENCH_BURGERS] = run_burgers,
        [BENCH_GMM] = hand_gmm,
        [BENCH_LSTM] = hand_lstm,
        [BENCH_BA] = hand_ba,
        [BENCH_SKIN] = hand_skin,
        [BENCH_SIR] = run_sir,
    },
    .release = release,
};
