// SPDX-License-Identifier: MIT-0
/* arrays.c - programs of adrev.c with array statements: a vector or a matrix
 * is one operand. A column of its own in the table.
 */

#include "adrev_tool.h"
#include "real.h"

#include <math.h>
#include <stdlib.h>

static void run_dot(const bench_case *c, const double *x, double *y, double *dy)
{
    const ad_rev *in = tool_begin(c, x, 0);

    tool_finish(c, in, ad_dot(c->size, in, in + c->size), y, dy);
}

static void run_matvec(const bench_case *c, const double *x,
                       double *y, double *dy)
{
    const size_t n = c->size;
    ad_rev *in = tool_begin(c, x, n);
    ad_rev *product = in + c->inputs;

    ad_matvec(n, n, in, in + n * n, product);
    tool_finish(c, in, ad_sum(n, product), y, dy);
}

// Weights m x n row-major, then biases; returns what follows them.
static const ad_rev *dense_relu(size_t m, size_t n, const ad_rev *w,
                                const ad_rev *x, ad_rev *y)
{
    const ad_rev *b = w + m * n;

    ad_matvec(m, n, w, x, y);
    ad_each(ADREV_OP_add, m, y, b, NULL, y);
    ad_each(ADREV_OP_relu, m, y, NULL, NULL, y);
    return b + m;
}

static void run_nn(const bench_case *c, const double *x, double *y, double *dy)
{
    const ad_rev *in = tool_begin(c, x, 0);
    const ad_rev *next;
    ad_rev hidden[BENCH_NN_HIDDEN];
    ad_rev out[BENCH_NN_OUT];
    double weight[BENCH_NN_OUT];

    next = dense_relu(BENCH_NN_HIDDEN, BENCH_NN_IN, in,
                      in + c->inputs - BENCH_NN_IN, hidden);
    dense_relu(BENCH_NN_OUT, BENCH_NN_HIDDEN, next, hidden, out);
    ad_softmax(BENCH_NN_OUT, out, out);
    for (size_t i = 0; i < BENCH_NN_OUT; i++) {
        weight[i] = (double)(i + 1) / BENCH_NN_OUT;
    }
    tool_finish(c, in, ad_dotc(BENCH_NN_OUT, out, weight), y, dy);
}

/* ---------------------------------------------------------------------------
 * gmm: all points at once, as columns of d x n matrices
 * ------------------------------------------------------------------------- */

typedef struct batch {
    size_t d;
    ad_rev *points;         // d x n, constants
    ad_rev *centred;        // d x n
    ad_rev *z;              // d x n
    ad_rev *Q;              // d x d
    ad_rev *terms;          // K x n
} batch;

// Component k: its row of terms base - |Q (x - mu)|^2 / 2; returns its share
// of the prior.
static ad_rev gmm_component(batch *b, ad_rev alpha, const ad_rev *mu,
                            const ad_rev *icf, ad_rev *terms)
{
    const size_t d = b->d;
    const ad_rev half = { -0.5, 0, 0 };
    const ad_rev *below = icf + d;
    const ad_rev q = ad_sum(d, icf);
    const ad_rev base = ad_rec(ad_add(alpha, q));

    ad_each_s(ADREV_OP_exp, d, icf, 1, NULL, 0, NULL, 0, b->Q,
              (ptrdiff_t)d + 1);
    for (size_t i = 0; i < d; i++) {
        for (size_t j = i + 1; j < d; j++) {
            b->Q[j * d + i] = *below++;
        }
        ad_each_s(ADREV_OP_sub, GMM_N, b->points + i * GMM_N, 1, mu + i, 0,
                  NULL, 0, b->centred + i * GMM_N, 1);
    }
    ad_matmul(d, d, GMM_N, b->Q, b->centred, b->z);
    ad_each(ADREV_OP_sqr, d * GMM_N, b->z, NULL, NULL, b->z);
    for (size_t s = 0; s < GMM_N; s++) {
        terms[s] = base;
    }
    for (size_t i = 0; i < d; i++) {
        ad_axpy(GMM_N, half, b->z + i * GMM_N, terms);
    }
    return ad_rec(ad_sub(ad_mul(GMM_GAMMA * GMM_GAMMA / 2.0,
                                ad_dot(d * d, b->Q, b->Q)),
                         ad_mul(GMM_M, q)));
}

static ad_rev gmm_likelihood(batch *b, const ad_rev *in)
{
    const ad_rev *mu = in + GMM_K;
    const ad_rev *icf = mu + GMM_K * b->d;
    ad_rev prior[GMM_K];
    ad_rev each[GMM_N];

    for (size_t k = 0; k < GMM_K; k++) {
        prior[k] = gmm_component(b, in[k], mu + k * b->d,
                                 icf + k * gmm_triangle(b->d),
                                 b->terms + k * GMM_N);
    }
    for (size_t s = 0; s < GMM_N; s++) {
        each[s] = ad_logsumexp_s(GMM_K, b->terms + s, GMM_N);
    }
    return ad_rec(ad_add(ad_add(gmm_constant(b->d),
                                ad_sub(ad_sum(GMM_K, prior),
                                       ad_mul(GMM_N, ad_logsumexp(GMM_K, in)))),
                         ad_sum(GMM_N, each)));
}

static void run_gmm(const bench_case *c, const double *x, double *y, double *dy)
{
    const size_t d = c->size;
    const size_t dn = d * GMM_N;
    const double *points = x + c->inputs;
    ad_rev *in = tool_begin(c, x, 3 * dn + d * d + GMM_K * GMM_N);
    ad_rev *rest = in + c->inputs;
    batch b = { d, rest, rest + dn, rest + 2 * dn, rest + 3 * dn,
                rest + 3 * dn + d * d };

    for (size_t s = 0; s < GMM_N; s++) {
        for (size_t i = 0; i < d; i++) {
            b.points[i * GMM_N + s] = ad_rec(*points++);
        }
    }
    for (size_t i = 0; i < d * d; i++) {
        b.Q[i] = ad_rec(0);
    }
    tool_finish(c, in, gmm_likelihood(&b, in), y, dy);
}

static const bench_tool arrays = {
    .name = "arrays",
    .version = "",
    .run = {
        [BENCH_DOT] = run_dot,
        [BENCH_MATVEC] = run_matvec,
        [BENCH_NN] = run_nn,
        [BENCH_GMM] = run_gmm,
    },
};

BENCH_REGISTER(arrays)
