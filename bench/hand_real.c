// SPDX-License-Identifier: MIT-0
/* hand_real.c - the derivatives of gmm, lstm and ba by hand. */

#include "real.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *room_base;
static size_t room_size;

// Memory that is kept between calls.
static double *room(size_t n)
{
    if (n > room_size) {
        free(room_base);
        room_base = malloc(n * sizeof *room_base);
        room_size = room_base ? n : 0;
    }
    return room_base;
}

void hand_real_release(void)
{
    free(room_base);
    room_base = NULL;
    room_size = 0;
}

/* ---------------------------------------------------------------------------
 * gmm
 *
 * With r the share of a component in a point, c = x - mu and z = Q c:
 *
 *   dF/dmu = sum r Q^T z        dF/dq_i = sum r (1 - Q_ii c_i z_i)
 *   dF/dQ_ji = -sum r c_i z_j   dF/dalpha = sum r - n softmax(alpha)
 * ------------------------------------------------------------------------- */

// A component: what is constant over the points, and at the present point.
typedef struct component {
    double diagonal[GMM_MAX];
    double base;
    double c[GMM_MAX];
    double z[GMM_MAX];
} component;

// Component k before the first point: returns its prior, and begins its
// derivatives with those of the prior. q is the sum of the logarithms.
static double open_component(const gmm_data *g, size_t k, component *p,
                             double *dicf)
{
    const size_t d = g->d;
    const double *icf = g->icf + k * gmm_triangle(d);
    const double gamma2 = GMM_GAMMA * GMM_GAMMA;
    double square = 0.0;
    double q = 0.0;

    for (size_t i = 0; i < d; i++) {
        const double e = exp(icf[i]);

        p->diagonal[i] = e;
        dicf[i] = gamma2 * e * e - GMM_M;
        square += e * e;
        q += icf[i];
    }
    for (size_t i = d; i < gmm_triangle(d); i++) {
        dicf[i] = gamma2 * icf[i];
        square += icf[i] * icf[i];
    }
    p->base = g->alpha[k] + q;
    return gamma2 / 2.0 * square - GMM_M * q;
}

static double exponent(size_t d, component *restrict p,
                       const double *restrict below,
                       const double *restrict mu, const double *restrict x)
{
    double sum = 0.0;

    for (size_t i = 0; i < d; i++) {
        p->c[i] = x[i] - mu[i];
        p->z[i] = p->diagonal[i] * p->c[i];
    }
    for (size_t i = 0; i < d; i++) {
        for (size_t j = i + 1; j < d; j++) {
            p->z[j] += *below++ * p->c[i];
        }
    }
    for (size_t i = 0; i < d; i++) {
        sum += p->z[i] * p->z[i];
    }
    return p->base - 0.5 * sum;
}

// What a point with share r adds. Along a column of Q both loops are one: the
// derivatives of the column, and the product of the column with z.
static void add_share(size_t d, double r, component *restrict p,
                      const double *restrict below, double *restrict dmu,
                      double *restrict dicf)
{
    double *dbelow = dicf + d;

    for (size_t i = 0; i < d; i++) {
        const double rc = r * p->c[i];

        dmu[i] += r * p->diagonal[i] * p->z[i];
        dicf[i] += r - rc * p->diagonal[i] * p->z[i];
        for (size_t j = i + 1; j < d; j++) {
            *dbelow++ -= rc * p->z[j];
        }
    }
    for (size_t i = 0; i < d; i++) {
        double sum = 0.0;

        for (size_t j = i + 1; j < d; j++) {
            sum += *below++ * p->z[j];
        }
        dmu[i] += r * sum;
    }
}

// v becomes its softmax.
static double log_sum_exp(size_t n, double *v)
{
    double top = v[0];
    double sum = 0.0;

    for (size_t i = 1; i < n; i++) {
        top = v[i] > top ? v[i] : top;
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = exp(v[i] - top);
        sum += v[i];
    }
    for (size_t i = 0; i < n; i++) {
        v[i] /= sum;
    }
    return top + log(sum);
}

// Value and derivatives of point s.
static double gmm_point(const gmm_data *g, size_t s, component *p, double *dy)
{
    const size_t d = g->d;
    const size_t triangle = gmm_triangle(d);
    double *dmu = dy + GMM_K;
    double *dicf = dmu + GMM_K * d;
    double t[GMM_K];
    double value;

    for (size_t k = 0; k < GMM_K; k++) {
        t[k] = exponent(d, &p[k], g->icf + k * triangle + d, g->mu + k * d,
                        g->points + s * d);
    }
    value = log_sum_exp(GMM_K, t);
    for (size_t k = 0; k < GMM_K; k++) {
        dy[k] += t[k];
        add_share(d, t[k], &p[k], g->icf + k * triangle + d, dmu + k * d,
                  dicf + k * triangle);
    }
    return value;
}

void hand_gmm(const bench_case *c, const double *x, double *y, double *dy)
{
    const gmm_data g = gmm_of(c, x);
    const size_t triangle = gmm_triangle(g.d);
    double *dicf = dy + GMM_K + GMM_K * g.d;
    component p[GMM_K];
    double softmax[GMM_K];
    double sum = gmm_constant(g.d);

    memset(dy, 0, (GMM_K + GMM_K * g.d) * sizeof *dy);
    for (size_t k = 0; k < GMM_K; k++) {
        sum += open_component(&g, k, &p[k], dicf + k * triangle);
    }
    for (size_t s = 0; s < GMM_N; s++) {
        sum += gmm_point(&g, s, p, dy);
    }
    memcpy(softmax, g.alpha, sizeof softmax);
    y[0] = sum - GMM_N * log_sum_exp(GMM_K, softmax);
    for (size_t k = 0; k < GMM_K; k++) {
        dy[k] -= GMM_N * softmax[k];
    }
}

/* ---------------------------------------------------------------------------
 * lstm
 * ------------------------------------------------------------------------- */

// Kept of a cell: the gates, its input, the state before, tanh of the one
// after.
typedef struct cell {
    double f, i, o, a;
    double u, h, s;
    double t;
} cell;

// Kept of a step: its cells, the output, the softmax of the logits.
typedef struct step {
    cell cells[LSTM_L][LSTM_B];
    double out[LSTM_B];
    double share[LSTM_B];
} step;

static double sigma(double y)
{
    return 1.0 / (1.0 + exp(-y));
}

static void layer(const double *w, double *restrict h, double *restrict s,
                  double *restrict u, cell *restrict kept)
{
    const double *b = w + 4 * LSTM_B;

    for (size_t j = 0; j < LSTM_B; j++) {
        cell k = { .u = u[j], .h = h[j], .s = s[j] };

        k.f = sigma(u[j] * w[j] + b[j]);
        k.i = sigma(h[j] * w[LSTM_B + j] + b[LSTM_B + j]);
        k.o = sigma(u[j] * w[2 * LSTM_B + j] + b[2 * LSTM_B + j]);
        k.a = tanh(h[j] * w[3 * LSTM_B + j] + b[3 * LSTM_B + j]);
        s[j] = s[j] * k.f + k.i * k.a;
        k.t = tanh(s[j]);
        h[j] = k.o * k.t;
        u[j] = h[j];
        kept[j] = k;
    }
}

// bu is the adjoint of the layer's result and becomes that of its input. bh
// and bs are those of the state after the step, and become those before.
static void layer_reverse(const double *w, const cell *restrict kept,
                          double *restrict bh, double *restrict bs,
                          double *restrict bu, double *restrict bw)
{
    double *bb = bw + 4 * LSTM_B;

    for (size_t j = 0; j < LSTM_B; j++) {
        const cell k = kept[j];
        const double h = bh[j] + bu[j];
        const double s = bs[j] + h * k.o * (1.0 - k.t * k.t);
        const double f = s * k.s * k.f * (1.0 - k.f);
        const double i = s * k.a * k.i * (1.0 - k.i);
        const double o = h * k.t * k.o * (1.0 - k.o);
        const double a = s * k.i * (1.0 - k.a * k.a);

        bs[j] = s * k.f;
        bu[j] = f * w[j] + o * w[2 * LSTM_B + j];
        bh[j] = i * w[LSTM_B + j] + a * w[3 * LSTM_B + j];
        bw[j] += f * k.u;
        bw[LSTM_B + j] += i * k.h;
        bw[2 * LSTM_B + j] += o * k.u;
        bw[3 * LSTM_B + j] += a * k.h;
        bb[j] += f;
        bb[LSTM_B + j] += i;
        bb[2 * LSTM_B + j] += o;
        bb[3 * LSTM_B + j] += a;
    }
}

// One character; returns what it adds to the total.
static double lstm_step(const double *x, const double *text, double *state,
                        step *kept)
{
    const double *extra = x + 8 * LSTM_L * LSTM_B;
    double u[LSTM_B];
    double sum = 2.0;
    double total = 0.0;
    double lse;

    for (size_t j = 0; j < LSTM_B; j++) {
        u[j] = text[j] * extra[j];
    }
    for (size_t i = 0; i < LSTM_L; i++) {
        double *h = state + 2 * LSTM_B * i;

        layer(x + 8 * LSTM_B * i, h, h + LSTM_B, u, kept->cells[i]);
    }
    for (size_t j = 0; j < LSTM_B; j++) {
        kept->out[j] = u[j];
        u[j] = u[j] * extra[LSTM_B + j] + extra[2 * LSTM_B + j];
        kept->share[j] = exp(u[j]);
        sum += kept->share[j];
    }
    lse = log(sum);
    for (size_t j = 0; j < LSTM_B; j++) {
        kept->share[j] /= sum;
        total += text[LSTM_B + j] * (u[j] - lse);
    }
    return total;
}

// scale: adjoint of the total
static void lstm_step_reverse(const double *x, const double *text,
                              const step *kept, double scale, double *bstate,
                              double *dy)
{
    const size_t extra = 8 * LSTM_L * LSTM_B;
    double u[LSTM_B];
    double bits = 0.0;

    for (size_t j = 0; j < LSTM_B; j++) {
        bits += text[LSTM_B + j];
    }
    for (size_t j = 0; j < LSTM_B; j++) {
        const double b = scale * (text[LSTM_B + j] - bits * kept->share[j]);

        dy[extra + LSTM_B + j] += b * kept->out[j];
        dy[extra + 2 * LSTM_B + j] += b;
        u[j] = b * x[extra + LSTM_B + j];
    }
    for (size_t i = LSTM_L; i-- > 0; ) {
        double *bh = bstate + 2 * LSTM_B * i;

        layer_reverse(x + 8 * LSTM_B * i, kept->cells[i], bh, bh + LSTM_B, u,
                      dy + 8 * LSTM_B * i);
    }
    for (size_t j = 0; j < LSTM_B; j++) {
        dy[extra + j] += u[j] * text[j];
    }
}

void hand_lstm(const bench_case *c, const double *x, double *y, double *dy)
{
    const size_t n = c->steps - 1;
    const double *text = x + c->inputs + LSTM_STATE;
    const double scale = -1.0 / (LSTM_B * (double)n);
    step *kept = (step *)room(n * sizeof *kept / sizeof(double));
    double state[LSTM_STATE];
    double bstate[LSTM_STATE] = { 0.0 };
    double total = 0.0;

    memcpy(state, x + c->inputs, sizeof state);
    memset(dy, 0, c->inputs * sizeof *dy);
    for (size_t t = 0; t < n; t++) {
        total += lstm_step(x, text + t * LSTM_B, state, &kept[t]);
    }
    for (size_t t = n; t-- > 0; ) {
        lstm_step_reverse(x, text + t * LSTM_B, &kept[t], scale, bstate, dy);
    }
    y[0] = scale * total;
}

/* ---------------------------------------------------------------------------
 * ba
 * ------------------------------------------------------------------------- */

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

// A rotation of o, with what its derivatives need.
typedef struct rotation {
    double angle, c, s;     // angle 0: y = o + r x o
    double a[3];            // axis
    double o[3];
    double along;           // a.o
    double slope[3];        // dy/dangle
} rotation;

static void rotate(const double *r, rotation *q, double *y)
{
    double turned[3];

    q->angle = sqrt(dot(r, r));
    if (q->angle == 0.0) {
        cross(r, q->o, turned);
        for (int i = 0; i < 3; i++) {
            y[i] = q->o[i] + turned[i];
        }
        return;
    }
    q->c = cos(q->angle);
    q->s = sin(q->angle);
    for (int i = 0; i < 3; i++) {
        q->a[i] = r[i] / q->angle;
    }
    q->along = dot(q->a, q->o);
    cross(q->a, q->o, turned);
    for (int i = 0; i < 3; i++) {
        const double rest = q->a[i] * q->along;

        y[i] = q->o[i] * q->c + turned[i] * q->s + rest * (1.0 - q->c);
        q->slope[i] = turned[i] * q->c + (rest - q->o[i]) * q->s;
    }
}

// b is the adjoint of y; br and bo become those of r and o. For the adjoint v
// of the axis: b.(da x o) = da.(o x b).
static void rotate_reverse(const double *r, const rotation *q,
                           const double *b, double *br, double *bo)
{
    double turned[3];

    cross(q->o, b, turned);
    if (q->angle == 0.0) {
        cross(b, r, bo);
        for (int i = 0; i < 3; i++) {
            br[i] = turned[i];
            bo[i] += b[i];
        }
        return;
    }
    const double rest = 1.0 - q->c;
    const double ba = dot(b, q->a);
    double v[3];
    double back[3];

    for (int i = 0; i < 3; i++) {
        v[i] = q->s * turned[i] + rest * (q->along * b[i] + ba * q->o[i]);
    }
    const double radial = dot(b, q->slope) - dot(q->a, v) / q->angle;

    cross(b, q->a, back);
    for (int i = 0; i < 3; i++) {
        br[i] = q->a[i] * radial + v[i] / q->angle;
        bo[i] = q->c * b[i] + q->s * back[i] + rest * ba * q->a[i];
    }
}

// One row: the error w (f L p[k] + u[k] - seen) and its 15 derivatives. y is
// the point before the camera, s = |p|^2, L = 1 + k1 s + k2 s^2.
static void ba_row(const double *camera, const rotation *q, const double *y,
                   const double *p, double w, double seen, int k, double *e,
                   double *row)
{
    const double f = camera[6];
    const double s = p[0] * p[0] + p[1] * p[1];
    const double L = 1.0 + camera[9] * s + camera[10] * s * s;
    const double error = f * L * p[k] + camera[7 + k] - seen;
    const double bs = w * f * p[k] * (camera[9] + 2.0 * camera[10] * s);
    double bp[2] = { 2.0 * bs * p[0], 2.0 * bs * p[1] };
    double b[3];

    bp[k] += w * f * L;
    b[0] = bp[0] / y[2];
    b[1] = bp[1] / y[2];
    b[2] = -(b[0] * p[0] + b[1] * p[1]);
    rotate_reverse(camera, q, b, row, row + 11);
    for (int i = 0; i < 3; i++) {
        row[3 + i] = -row[11 + i];
    }
    row[6] = w * L * p[k];
    row[7 + k] = w;
    row[8 - k] = 0.0;
    row[9] = w * f * p[k] * s;
    row[10] = row[9] * s;
    row[14] = error;
    *e = w * error;
}

void hand_ba(const bench_case *c, const double *x, double *y, double *dy)
{
    (void)c;
    for (size_t i = 0; i < BA_SEEN; i++) {
        const double *camera = ba_camera(x, i);
        const double *point = ba_point(x, i);
        const double *seen = ba_measured(x, i);
        const double w = *ba_weight(x, i);
        double *rows = dy + 2 * BA_ROW * i;
        rotation q = { .angle = 0.0 };
        double v[3];

        for (int k = 0; k < 3; k++) {
            q.o[k] = point[k] - camera[3 + k];
        }
        rotate(camera, &q, v);
        const double p[2] = { v[0] / v[2], v[1] / v[2] };

        for (int k = 0; k < 2; k++) {
            ba_row(camera, &q, v, p, w, seen[k], k, &y[2 * i + (size_t)k],
                   rows + BA_ROW * k);
        }
        y[2 * BA_SEEN + i] = 1.0 - w * w;
        dy[2 * BA_ROW * BA_SEEN + i] = -2.0 * w;
    }
}
