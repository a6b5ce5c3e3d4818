// SPDX-License-Identifier: MIT-0
/* tensor_hand.c - the programs of tensor.c in C by hand, values and gradients.
 *
 * Sums are in eight parts, since the compiler may not change their order.
 * Loops run along rows. Apart from TENSOR_CONV nothing is tested in an inner
 * loop. Sizes are variables. */

#include "tensor.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static double *room(size_t n)
{
    double *p = (double *)malloc((n ? n : 1) * sizeof *p);

    if (!p) {
        abort();
    }
    return p;
}

static double in_eight(const double s[8])
{
    return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
}

static double dot(size_t n, const double *restrict a, const double *restrict b)
{
    double s[8] = { 0 };
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        for (size_t j = 0; j < 8; j++) {
            s[j] += a[i + j] * b[i + j];
        }
    }
    for (; i < n; i++) {
        s[0] += a[i] * b[i];
    }
    return in_eight(s);
}

static double sum(size_t n, const double *restrict a)
{
    double s[8] = { 0 };
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        for (size_t j = 0; j < 8; j++) {
            s[j] += a[i + j];
        }
    }
    for (; i < n; i++) {
        s[0] += a[i];
    }
    return in_eight(s);
}

// y += k a
static void add(size_t n, double k, const double *restrict a,
                double *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] += k * a[i];
    }
}

/* ---------------------------------------------------------------------------
 * Least squares: A [m][n], x, b
 * ------------------------------------------------------------------------- */

static void squares_value(const tensor_data *d, double *y)
{
    const size_t n = d->size[1];
    double f = 0.0;

    for (size_t i = 0; i < d->size[0]; i++) {
        const double r = dot(n, d->x[0] + i * n, d->x[1]) - d->x[2][i];

        f += r * r;
    }
    *y = 0.5 * f;
}

// Each row is read once from memory.
static void squares_gradient(const tensor_data *d, double *y,
                             double *const g[])
{
    const size_t n = d->size[1];
    double f = 0.0;

    memset(g[1], 0, n * sizeof *g[1]);
    for (size_t i = 0; i < d->size[0]; i++) {
        const double r = dot(n, d->x[0] + i * n, d->x[1]) - d->x[2][i];

        f += r * r;
        add(n, r, d->x[0] + i * n, g[1]);
    }
    *y = 0.5 * f;
}

/* ---------------------------------------------------------------------------
 * Padded convolution: x [h][w], k [p][q]
 * ------------------------------------------------------------------------- */

// The loops that one writes.
static void conv_value(const tensor_data *d, double *y)
{
    const int h = (int)d->size[0];
    const int w = (int)d->size[1];
    const int p = (int)d->size[2];
    const int q = (int)d->size[3];

    for (int i = 0; i < h; i++) {
        for (int j = 0; j < w; j++) {
            double s = 0.0;

            for (int a = 0; a < p; a++) {
                for (int b = 0; b < q; b++) {
                    const int r = i + a - 1;
                    const int c = j + b - 1;

                    if (r >= 0 && r < h && c >= 0 && c < w) {
                        s += d->x[0][r * w + c] * d->x[1][a * q + b];
                    }
                }
            }
            y[i * w + j] = s;
        }
    }
}

// And their adjoint, which scatters.
static void conv_gradient(const tensor_data *d, double *y, double *const g[])
{
    const int h = (int)d->size[0];
    const int w = (int)d->size[1];
    const int p = (int)d->size[2];
    const int q = (int)d->size[3];

    (void)y;
    memset(g[0], 0, d->count[0] * sizeof *g[0]);
    for (int i = 0; i < h; i++) {
        for (int j = 0; j < w; j++) {
            const double s = d->w[i * w + j];

            for (int a = 0; a < p; a++) {
                for (int b = 0; b < q; b++) {
                    const int r = i + a - 1;
                    const int c = j + b - 1;

                    if (r >= 0 && r < h && c >= 0 && c < w) {
                        g[0][r * w + c] += s * d->x[1][a * q + b];
                    }
                }
            }
        }
    }
}

// A row of results of a kernel of nine; above and below may be rows of zeros.
// (With restrict, clang 14 makes no vectors of this.)
static void core_row(size_t w, const double *k,
                     const double *above, const double *at,
                     const double *below, double *y)
{
    const double k0 = k[0], k1 = k[1], k2 = k[2], k3 = k[3], k4 = k[4],
                 k5 = k[5], k6 = k[6], k7 = k[7], k8 = k[8];
    const size_t l = w - 1;

    y[0] = k[1] * above[0] + k[4] * at[0] + k[7] * below[0];
    if (w == 1) {
        return;
    }
    y[0] += k[2] * above[1] + k[5] * at[1] + k[8] * below[1];
    for (size_t j = 1; j < l; j++) {
        y[j] = k0 * above[j - 1] + k1 * above[j] + k2 * above[j + 1]
             + k3 * at[j - 1] + k4 * at[j] + k5 * at[j + 1]
             + k6 * below[j - 1] + k7 * below[j] + k8 * below[j + 1];
    }
    y[l] = k[0] * above[l - 1] + k[1] * above[l] + k[3] * at[l - 1]
         + k[4] * at[l] + k[6] * below[l - 1] + k[7] * below[l];
}

static void core(const tensor_data *d, const double *x, const double *k,
                 double *y)
{
    const size_t h = d->size[0];
    const size_t w = d->size[1];
    double *zero = room(w);

    memset(zero, 0, w * sizeof *zero);
    for (size_t i = 0; i < h; i++) {
        core_row(w, k, i > 0 ? x + (i - 1) * w : zero, x + i * w,
                 i + 1 < h ? x + (i + 1) * w : zero, y + i * w);
    }
    free(zero);
}

static void core_value(const tensor_data *d, double *y)
{
    core(d, d->x[0], d->x[1], y);
}

// The same with the kernel turned around.
static void core_gradient(const tensor_data *d, double *y, double *const g[])
{
    double k[9];

    (void)y;
    for (size_t i = 0; i < 9; i++) {
        k[i] = d->x[1][8 - i];
    }
    core(d, d->w, k, g[0]);
}

/* ---------------------------------------------------------------------------
 * Burgers: u [n][n], a, nu; the sum of squares after a step
 * ------------------------------------------------------------------------- */

// Columns 1 to n - 2 of a row after a step.
static void burgers_row(size_t n, double a, double nu,
                        const double *restrict above,
                        const double *restrict u,
                        const double *restrict below, double *restrict w)
{
    w[0] = u[0];
    for (size_t j = 1; j + 1 < n; j++) {
        w[j] = u[j]
             + nu * (above[j] + below[j] + u[j - 1] + u[j + 1] - 4.0 * u[j])
             - a * u[j] * (u[j] - above[j]);
    }
    w[n - 1] = u[n - 1];
}

static void burgers_value(const tensor_data *d, double *y)
{
    const size_t n = d->size[0];
    const double *u = d->x[0];
    double *w = room(n);
    double f = dot(n, u, u);

    for (size_t i = 1; i + 1 < n; i++) {
        u += n;
        burgers_row(n, *d->x[1], *d->x[2], u - n, u, u + n, w);
        f += dot(n, w, w);
    }
    *y = f + dot(n, u + n, u + n);
    free(w);
}

// What a row of u gets from the rows of adjoints t around it, which are zero at
// the boundary.
static void burgers_adjoint_row(size_t n, double a, double nu,
                                const double *restrict u,
                                const double *restrict t_above,
                                const double *restrict t,
                                const double *restrict t_below,
                                double *restrict g)
{
    g[0] = 2.0 * u[0] + nu * t[1];
    for (size_t j = 1; j + 1 < n; j++) {
        g[j] = t[j] * (1.0 - 4.0 * nu - a * (2.0 * u[j] - u[j - n]))
             + t_below[j] * (nu + a * u[j + n])
             + nu * (t_above[j] + t[j - 1] + t[j + 1]);
    }
    g[n - 1] = 2.0 * u[n - 1] + nu * t[n - 2];
}

// Adjoints t of row i, whose sum of squares is returned.
static double burgers_seed(const tensor_data *d, size_t i, double *restrict t)
{
    const size_t n = d->size[0];
    const double *u = d->x[0] + i * n;

    if (i == 0 || i + 1 == n) {
        memset(t, 0, n * sizeof *t);
        return dot(n, u, u);
    }
    burgers_row(n, *d->x[1], *d->x[2], u - n, u, u + n, t);
    const double f = dot(n, t, t);
    for (size_t j = 0; j < n; j++) {
        t[j] *= 2.0;
    }
    t[0] = t[n - 1] = 0.0;
    return f;
}

// Three rows of adjoints are there at a time.
static void burgers_gradient(const tensor_data *d, double *y,
                             double *const g[])
{
    const size_t n = d->size[0];
    const double a = *d->x[1];
    const double nu = *d->x[2];
    const double *u = d->x[0];
    double *t = room(3 * n);
    double *rows[3] = { t, t + n, t + 2 * n };
    double f = burgers_seed(d, 0, rows[1]);

    f += burgers_seed(d, 1, rows[2]);
    for (size_t j = 0; j < n; j++) {
        g[0][j] = 2.0 * u[j] + rows[2][j] * (nu + a * u[n + j]);
    }
    for (size_t i = 1; i + 1 < n; i++) {
        double *const oldest = rows[0];

        rows[0] = rows[1];
        rows[1] = rows[2];
        rows[2] = oldest;
        f += burgers_seed(d, i + 1, oldest);
        burgers_adjoint_row(n, a, nu, u + i * n, rows[0], rows[1], rows[2],
                            g[0] + i * n);
    }
    for (size_t j = 0; j < n; j++) {
        g[0][(n - 1) * n + j] = 2.0 * u[(n - 1) * n + j] + nu * rows[1][j];
    }
    *y = f;
    free(t);
}

/* ---------------------------------------------------------------------------
 * A sparse matrix times a vector: A [entries], x
 * ------------------------------------------------------------------------- */

static void spmv_value(const tensor_data *d, double *restrict y)
{
    const int *restrict column = d->column[1];
    const int *restrict start = d->start;
    const double *restrict A = d->x[0];
    const double *restrict x = d->x[1];

    for (size_t i = 0; i < d->size[0]; i++) {
        double s = 0.0;

        for (int e = start[i]; e < start[i + 1]; e++) {
            s += A[e] * x[column[e]];
        }
        y[i] = s;
    }
}

static void spmv_gradient(const tensor_data *d, double *restrict y,
                          double *const g[])
{
    const int *restrict column = d->column[1];
    const int *restrict start = d->start;
    const double *restrict A = d->x[0];
    const double *restrict x = d->x[1];
    double *restrict gA = g[0];
    double *restrict gx = g[1];

    memset(gx, 0, d->count[1] * sizeof *gx);
    for (size_t i = 0; i < d->size[0]; i++) {
        const double w = d->w[i];
        double s = 0.0;

        for (int e = start[i]; e < start[i + 1]; e++) {
            const int j = column[e];

            s += A[e] * x[j];
            gA[e] = w * x[j];
            gx[j] += w * A[e];
        }
        y[i] = s;
    }
}

/* ---------------------------------------------------------------------------
 * Products of matrices: A [m][k], B [k][n]
 * ------------------------------------------------------------------------- */

// Of B a block is copied at a time, to where it does not collide in the cache.
enum { STEPS = 32, WIDTH = 128 };

typedef double block[STEPS][WIDTH];

// Four rows of the block times a[0] to a[3], added to a row of C; and the same
// with b for the row after it.
static void add_four(size_t n, const double *restrict a,
                     const double *restrict b, const double (*B)[WIDTH],
                     double *restrict C, double *restrict D)
{
    for (size_t j = 0; j < n; j++) {
        C[j] += a[0] * B[0][j] + a[1] * B[1][j] + a[2] * B[2][j]
              + a[3] * B[3][j];
        D[j] += b[0] * B[0][j] + b[1] * B[1][j] + b[2] * B[2][j]
              + b[3] * B[3][j];
    }
}

// C += A B for `steps` of the sum and `width` columns, two rows at a time.
static void add_block(size_t m, size_t k, size_t n, size_t steps, size_t width,
                      const double *A, const double (*B)[WIDTH], double *C)
{
    for (size_t i = 0; i < m; i += 2, A += 2 * k, C += 2 * n) {
        const size_t rows = i + 1 < m ? 2 : 1;
        size_t s = 0;

        for (; rows == 2 && s + 4 <= steps; s += 4) {
            add_four(width, A + s, A + k + s, B + s, C, C + n);
        }
        for (size_t r = 0; r < rows; r++) {
            for (size_t rest = s; rest < steps; rest++) {
                add(width, A[r * k + rest], B[rest], C + r * n);
            }
        }
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void product(size_t m, size_t k, size_t n, const double *A,
                    const double *B, double *C)
{
    block copy;

    memset(C, 0, m * n * sizeof *C);
    for (size_t j = 0; j < n; j += WIDTH) {
        const size_t width = least(WIDTH, n - j);

        for (size_t s = 0; s < k; s += STEPS) {
            const size_t steps = least(STEPS, k - s);

            for (size_t i = 0; i < steps; i++) {
                memcpy(copy[i], B + (s + i) * n + j, width * sizeof **copy);
            }
            add_block(m, k, n, steps, width, A + s,
                      (const double (*)[WIDTH])copy, C + j);
        }
    }
}

// Eight columns of A at a time: as many rows of the result are being written.
static double *transposed(size_t m, size_t n, const double *restrict A)
{
    double *restrict to = room(m * n);

    for (size_t from = 0; from < n; from += 8) {
        const size_t end = least(from + 8, n);

        for (size_t i = 0; i < m; i++) {
            for (size_t j = from; j < end; j++) {
                to[j * m + i] = A[i * n + j];
            }
        }
    }
    return to;
}

static void matmul_value(const tensor_data *d, double *y)
{
    product(d->size[0], d->size[1], d->size[2], d->x[0], d->x[1], y);
}

static void matmul_gradient(const tensor_data *d, double *y, double *const g[])
{
    const size_t m = d->size[0];
    const size_t k = d->size[1];
    const size_t n = d->size[2];
    double *At = transposed(m, k, d->x[0]);
    double *Bt = transposed(k, n, d->x[1]);

    (void)y;
    product(m, n, k, d->w, Bt, g[0]);
    product(k, m, n, At, d->w, g[1]);
    free(At);
    free(Bt);
}

/* ---------------------------------------------------------------------------
 * Attention: Q [n][d], K [m][d], V [m][d], c
 * ------------------------------------------------------------------------- */

// exp(c s - the largest), and 1 / the sum of these.
static double exponentials(size_t m, double c, double *restrict s)
{
    double most = -HUGE_VAL;

    for (size_t j = 0; j < m; j++) {
        s[j] *= c;
        most = s[j] > most ? s[j] : most;
    }
    for (size_t j = 0; j < m; j++) {
        s[j] = exp(s[j] - most);
    }
    return 1.0 / sum(m, s);
}

// P [n][m], the weights of the rows of V
static double *weights(const tensor_data *data)
{
    const size_t n = data->size[0];
    const size_t m = data->size[1];
    const size_t d = data->size[2];
    double *P = room(n * m);
    double *Kt = transposed(m, d, data->x[1]);

    product(n, d, m, data->x[0], Kt, P);
    for (size_t i = 0; i < n; i++) {
        const double scale = exponentials(m, *data->x[3], P + i * m);

        for (size_t j = 0; j < m; j++) {
            P[i * m + j] *= scale;
        }
    }
    free(Kt);
    return P;
}

static void attention_value(const tensor_data *data, double *y)
{
    double *P = weights(data);

    product(data->size[0], data->size[1], data->size[2], P, data->x[2], y);
    free(P);
}

// From P and its adjoint to that of the products Q K', in place.
static void softmax_adjoint(size_t n, size_t m, double c,
                            const double *restrict P, double *restrict dP)
{
    for (size_t i = 0; i < n; i++, P += m, dP += m) {
        const double mean = dot(m, P, dP);

        for (size_t j = 0; j < m; j++) {
            dP[j] = c * P[j] * (dP[j] - mean);
        }
    }
}

static void attention_gradient(const tensor_data *data, double *y,
                               double *const g[])
{
    const size_t n = data->size[0];
    const size_t m = data->size[1];
    const size_t d = data->size[2];
    double *P = weights(data);
    double *Pt = transposed(n, m, P);
    double *Vt = transposed(m, d, data->x[2]);
    double *dP = room(n * m);

    product(n, m, d, P, data->x[2], y);
    product(m, n, d, Pt, data->w, g[2]);
    product(n, d, m, data->w, Vt, dP);
    softmax_adjoint(n, m, *data->x[3], P, dP);
    product(n, m, d, dP, data->x[1], g[0]);
    free(Pt);
    Pt = transposed(n, m, dP);
    product(m, n, d, Pt, data->x[0], g[1]);
    free(P);
    free(Pt);
    free(Vt);
    free(dP);
}

/* ---------------------------------------------------------------------------
 * A sparse tensor less its factorisation: X [entries], A, B, C [..][r]
 * ------------------------------------------------------------------------- */

static double dot3(size_t n, const double *restrict a,
                   const double *restrict b, const double *restrict c)
{
    double s[8] = { 0 };
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        for (size_t j = 0; j < 8; j++) {
            s[j] += a[i + j] * b[i + j] * c[i + j];
        }
    }
    for (; i < n; i++) {
        s[0] += a[i] * b[i] * c[i];
    }
    return in_eight(s);
}

// Where the rows of an entry begin.
static void cp_at(const tensor_data *d, size_t e, size_t at[3])
{
    for (size_t k = 0; k < 3; k++) {
        at[k] = (size_t)d->column[k][e] * d->size[3];
    }
}

static void cp_value(const tensor_data *d, double *y)
{
    double f = 0.0;
    size_t at[3];

    for (size_t e = 0; e < d->entries; e++) {
        cp_at(d, e, at);
        const double r = d->x[0][e]
                       - dot3(d->size[3], d->x[1] + at[0], d->x[2] + at[1],
                              d->x[3] + at[2]);

        f += r * r;
    }
    *y = f;
}

static void cp_add(size_t n, double k, const double *restrict a,
                   const double *restrict b, const double *restrict c,
                   double *restrict ga, double *restrict gb,
                   double *restrict gc)
{
    for (size_t s = 0; s < n; s++) {
        ga[s] += k * b[s] * c[s];
        gb[s] += k * a[s] * c[s];
        gc[s] += k * a[s] * b[s];
    }
}

static void cp_gradient(const tensor_data *d, double *y, double *const g[])
{
    double f = 0.0;
    size_t at[3];

    for (size_t i = 1; i < 4; i++) {
        memset(g[i], 0, d->count[i] * sizeof *g[i]);
    }
    for (size_t e = 0; e < d->entries; e++) {
        cp_at(d, e, at);
        const double *a = d->x[1] + at[0];
        const double *b = d->x[2] + at[1];
        const double *c = d->x[3] + at[2];
        const double r = d->x[0][e] - dot3(d->size[3], a, b, c);

        f += r * r;
        cp_add(d->size[3], -2.0 * r, a, b, c, g[1] + at[0], g[2] + at[1],
               g[3] + at[2]);
    }
    *y = f;
}

/* ---------------------------------------------------------------------------
 * A = diag(x): four traces; row 0 times column 0; four such products
 * ------------------------------------------------------------------------- */

static void traces_value(const tensor_data *d, double *y)
{
    *y = 4.0 * sum(d->count[0], d->x[0]);
}

static void traces_gradient(const tensor_data *d, double *y, double *const g[])
{
    traces_value(d, y);
    for (size_t i = 0; i < d->count[0]; i++) {
        g[0][i] = 4.0;
    }
}

static void some_value(const tensor_data *d, size_t k, double *y)
{
    double f = 0.0;

    for (size_t i = 0; i < k; i++) {
        f += d->x[0][i] * d->x[0][i];
    }
    *y = f;
}

static void some_gradient(const tensor_data *d, size_t k, double *y, double *g)
{
    some_value(d, k, y);
    memset(g, 0, d->count[0] * sizeof *g);
    for (size_t i = 0; i < k; i++) {
        g[i] = 2.0 * d->x[0][i];
    }
}

static void dot_value(const tensor_data *d, double *y)
{
    some_value(d, 1, y);
}

static void dot_gradient(const tensor_data *d, double *y, double *const g[])
{
    some_gradient(d, 1, y, g[0]);
}

static void dots_value(const tensor_data *d, double *y)
{
    some_value(d, 4, y);
}

static void dots_gradient(const tensor_data *d, double *y, double *const g[])
{
    some_gradient(d, 4, y, g[0]);
}

const tensor_tool tensor_hand = {
    .name = "by hand",
    .run = {
        [TENSOR_SQUARES] = { squares_value, squares_gradient },
        [TENSOR_CONV] = { conv_value, conv_gradient },
        [TENSOR_CORE] = { core_value, core_gradient },
        [TENSOR_BURGERS] = { burgers_value, burgers_gradient },
        [TENSOR_SPMV] = { spmv_value, spmv_gradient },
        [TENSOR_MATMUL] = { matmul_value, matmul_gradient },
        [TENSOR_ATTENTION] = { attention_value, attention_gradient },
        [TENSOR_CP] = { cp_value, cp_gradient },
        [TENSOR_TRACES] = { traces_value, traces_gradient },
        [TENSOR_DOT] = { dot_value, dot_gradient },
        [TENSOR_DOTS] = { dots_value, dots_gradient },
    },
};
