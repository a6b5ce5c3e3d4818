// SPDX-License-Identifier: MIT-0
/* adbench_arrays.h - the problems of adbench_programs.h over arrays: the same
 * objectives, of the same structures, with array statements of adrev.        */

#ifndef ADREV_TESTS_ADBENCH_ARRAYS_H
#define ADREV_TESTS_ADBENCH_ARRAYS_H

#include "adbench_programs.h"

#include <string.h>

static ad_rev *arrays_get(size_t n) { return adbench_get(n, sizeof(ad_rev)); }

static void arrays_constants(size_t n, const double *v, ad_rev *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = ad_rec(v[i]);
}

/* --- gmm ------------------------------------------------------------------ */

// Of all points at once: columns of a d x n matrix.
typedef struct gmm_batch {
    const struct gmm *g;
    ad_rev *points;         // d x n, constants
    ad_rev *centred;        // d x n
    ad_rev *z;              // d x n
    ad_rev *L;              // d x d
    ad_rev *squares;        // n
    ad_rev *terms;          // K x n
} gmm_batch;

static gmm_batch gmm_open(const struct gmm *g)
{
    size_t dn = g->d * g->n;
    gmm_batch b = { g, arrays_get(dn), arrays_get(dn), arrays_get(dn),
                    arrays_get(g->d * g->d), arrays_get(g->n),
                    arrays_get(g->K * g->n) };
    for (size_t s = 0; s < g->n; s++)
        for (size_t i = 0; i < g->d; i++)
            b.points[i * g->n + s] = ad_rec(g->points[s * g->stride + i]);
    return b;
}

static void gmm_close(gmm_batch *b)
{
    free(b->points);
    free(b->centred);
    free(b->z);
    free(b->L);
    free(b->squares);
    free(b->terms);
}

// Component k: its row of terms base - |L (x - mu)|^2 / 2, and its share of
// the Wishart term. The upper triangle of L holds constants.
static ad_rev gmm_component(gmm_batch *b, ad_rev alpha, const ad_rev *mu,
                            const ad_rev *icf, ad_rev *terms)
{
    const struct gmm *g = b->g;
    size_t d = g->d;
    size_t n = g->n;
    const ad_rev *below = icf + d;
    ad_rev q = ad_sum(d, icf);
    ad_rev base = ad_rec(ad_add(alpha, q));
    const ad_rev half = { .v = -0.5 };

    ad_each_s(ADREV_OP_exp, d, icf, 1, NULL, 0, NULL, 0, b->L,
              (ptrdiff_t)d + 1);
    for (size_t i = 0; i < d; i++)
        for (size_t j = i + 1; j < d; j++)
            b->L[j * d + i] = *below++;
    for (size_t i = 0; i < d; i++)
        ad_each_s(ADREV_OP_sub, n, b->points + i * n, 1, mu + i, 0, NULL, 0,
                  b->centred + i * n, 1);
    ad_matmul(d, d, n, b->L, b->centred, b->z);
    for (size_t s = 0; s < n; s++)
        terms[s] = base;
    ad_each(ADREV_OP_sqr, d * n, b->z, NULL, NULL, b->z);
    for (size_t i = 0; i < d; i++)
        ad_axpy(n, half, b->z + i * n, terms);

    ad_rev squares = ad_dot(d * d, b->L, b->L);
    return ad_rec(ad_sub(ad_mul(g->gamma * g->gamma / 2, squares),
                         ad_mul(g->m, q)));
}

static ad_rev gmm_arrays(const struct gmm *g, const ad_rev *in)
{
    size_t K = g->K;
    size_t n = g->n;
    const ad_rev *mu = in + K;
    const ad_rev *icf = mu + K * g->d;
    gmm_batch b = gmm_open(g);
    ad_rev *component = arrays_get(K);

    for (size_t k = 0; k < K; k++)
        component[k] = gmm_component(&b, in[k], mu + k * g->d,
                                     icf + k * gmm_triangle(g->d),
                                     b.terms + k * n);
    for (size_t s = 0; s < n; s++)
        b.squares[s] = ad_logsumexp_s(K, b.terms + s, (ptrdiff_t)n);
    ad_rev F = ad_rec(ad_add(ad_sum(n, b.squares), ad_sum(K, component)));
    F = ad_rec(ad_sub(F, ad_mul((double)n, ad_logsumexp(K, in))));
    gmm_close(&b);
    free(component);
    return ad_rec(ad_sub(F, (double)n * (double)g->d / 2 * log(2 * ADBENCH_PI)
                            + gmm_constant(g)));
}

/* --- lstm ----------------------------------------------------------------- */

// y = op(x w + c)
static void arrays_gate(ad_opcode op, size_t b, const ad_rev *x,
                        const ad_rev *w, const ad_rev *c, ad_rev *y)
{
    ad_each(ADREV_OP_fma, b, x, w, c, y);
    ad_each(op, b, y, NULL, NULL, y);
}

// gate: room for four of b numbers
static void lstm_layer_arrays(size_t b, const ad_rev *w, ad_rev *h, ad_rev *s,
                              ad_rev *u, ad_rev *gate)
{
    ad_rev *f = gate, *g = f + b, *o = g + b, *a = o + b;
    arrays_gate(ADREV_OP_sigmoid, b, u, w, w + 4 * b, f);
    arrays_gate(ADREV_OP_sigmoid, b, h, w + b, w + 5 * b, g);
    arrays_gate(ADREV_OP_sigmoid, b, u, w + 2 * b, w + 6 * b, o);
    arrays_gate(ADREV_OP_tanh, b, h, w + 3 * b, w + 7 * b, a);
    ad_each(ADREV_OP_mul, b, g, a, NULL, a);
    ad_each(ADREV_OP_fma, b, s, f, a, s);
    ad_each(ADREV_OP_tanh, b, s, NULL, NULL, a);
    ad_each(ADREV_OP_mul, b, o, a, NULL, h);
    for (size_t j = 0; j < b; j++)
        u[j] = h[j];
}

// log(2 + sum exp y) is a log-sum-exp with one more entry, log 2.
static ad_rev lstm_arrays(const struct lstm *p, const ad_rev *in)
{
    size_t b = p->b;
    const ad_rev *win = in + 8 * p->l * b;
    ad_rev *state = arrays_get(2 * p->l * b);
    ad_rev *gate = arrays_get(4 * b);
    ad_rev *u = arrays_get(b);
    ad_rev *y = arrays_get(b + 1);
    ad_rev total = { 0 };

    arrays_constants(2 * p->l * b, p->state, state);
    for (size_t t = 0; t + 1 < p->c; t++) {
        const double *next = p->text + (t + 1) * b;
        double bits = 0;
        arrays_constants(b, p->text + t * b, u);
        ad_each(ADREV_OP_mul, b, u, win, NULL, u);
        for (size_t i = 0; i < p->l; i++)
            lstm_layer_arrays(b, in + 8 * b * i, state + 2 * b * i,
                              state + 2 * b * i + b, u, gate);
        ad_each(ADREV_OP_fma, b, u, win + b, win + 2 * b, y);
        y[b] = ad_rec(log(2.0));
        for (size_t j = 0; j < b; j++)
            bits += next[j];
        ad_acc(&total, ad_sub(ad_dotc(b, y, next),
                              ad_mul(bits, ad_logsumexp(b + 1, y))));
    }
    free(state);
    free(gate);
    free(u);
    free(y);
    return ad_rec(ad_div(ad_neg(total), (double)b * (double)(p->c - 1)));
}

/* --- ba ------------------------------------------------------------------- */

static void arrays_cross(const ad_rev *a, const ad_rev *b, ad_rev *c)
{
    for (size_t i = 0; i < 3; i++) {
        size_t j = (i + 1) % 3, k = (i + 2) % 3;
        c[i] = ad_rec(ad_sub(ad_mul(a[j], b[k]), ad_mul(a[k], b[j])));
    }
}

// Y = o cos + (a x o) sin + a (a o) (1 - cos), three numbers at a time.
static void ba_rotate_arrays(const ad_rev *r, const ad_rev *o, ad_rev *Y)
{
    ad_rev angle = ad_norm2(3, r);
    ad_rev a[3], across[3];
    if (ad_eq(angle, 0)) {
        arrays_cross(r, o, across);
        ad_each(ADREV_OP_add, 3, o, across, NULL, Y);
        return;
    }
    ad_rev cosine = ad_rec(ad_cos(angle));
    ad_each_s(ADREV_OP_div, 3, r, 1, &angle, 0, NULL, 0, a, 1);
    arrays_cross(a, o, across);
    ad_scale(3, cosine, o, Y);
    ad_axpy(3, ad_rec(ad_sin(angle)), across, Y);
    ad_axpy(3, ad_rec(ad_mul(ad_dot(3, a, o), ad_sub(1, cosine))), a, Y);
}

static void ba_error_arrays(const ad_rev *in, const double *measured,
                            ad_rev *e)
{
    const ad_rev *C = in + 3, *u = in + 7, *k = in + 9;
    const ad_rev *X = in + BA_CAMERA, *w = X + BA_POINT;
    ad_rev o[3], Y[3], p[2], at[2];

    arrays_constants(2, measured, at);
    ad_each(ADREV_OP_sub, 3, X, C, NULL, o);
    ba_rotate_arrays(in, o, Y);
    ad_each_s(ADREV_OP_div, 2, Y, 1, &Y[2], 0, NULL, 0, p, 1);
    ad_rev s = ad_dot(2, p, p);
    ad_rev f = ad_rec(ad_mul(in[6], ad_add(ad_add(1, ad_mul(k[0], s)),
                                           ad_mul(k[1], ad_sqr(s)))));
    ad_each_s(ADREV_OP_fma, 2, p, 1, &f, 0, u, 1, p, 1);
    ad_each(ADREV_OP_sub, 2, p, at, NULL, p);
    ad_scale(2, *w, p, e);
}

/* --- hand ----------------------------------------------------------------- */

static void hand_bend_arrays(const double *base, ad_rev x, ad_rev z, ad_rev *P)
{
    const ad_rev none = { .v = 0 };
    ad_rev B[HAND_MATRIX];
    ad_rev sx = ad_rec(ad_sin(x)), cx = ad_rec(ad_cos(x));
    ad_rev sz = ad_rec(ad_sin(z)), cz = ad_rec(ad_cos(z));
    ad_rev R[HAND_MATRIX] = {
        cz, ad_rec(ad_neg(ad_mul(sz, cx))), ad_rec(ad_mul(sz, sx)), none,
        sz, ad_rec(ad_mul(cz, cx)), ad_rec(ad_neg(ad_mul(cz, sx))), none,
        none, sx, cx, none,
        none, none, none, ad_rec(1),
    };
    arrays_constants(HAND_MATRIX, base, B);
    ad_matmul(4, 4, 4, B, R, P);
}

static void hand_pose_arrays(const struct hand_model *h, const ad_rev *theta,
                             ad_rev M[][HAND_MATRIX])
{
    ad_rev G[HAND_BONES][HAND_MATRIX];
    ad_rev A[HAND_MATRIX];
    const ad_rev none = { 0 };
    for (size_t q = 0; q < HAND_BONES; q++) {
        bool stiff = q == 0 || q > 4 * HAND_FINGERS || (q - 1) % 4 == 0;
        size_t joint = (q - 1) % 4;
        const ad_rev *bend = stiff ? theta : theta + 6 + (q - 1) / 4 * 4;
        ad_rev P[HAND_MATRIX];
        arrays_constants(HAND_MATRIX, h->base[q], P);
        if (!stiff)
            hand_bend_arrays(h->base[q], bend[joint == 1 ? 0 : joint],
                             joint == 1 ? bend[1] : none, P);
        memcpy(G[q], P, sizeof P);
        if (h->parent[q] >= 0)
            ad_matmul(4, 4, 4, G[h->parent[q]], P, G[q]);
        arrays_constants(HAND_MATRIX, h->inverse[q], A);
        ad_matmul(4, 4, 4, G[q], A, M[q]);
    }
}

// Numbers of M lie 3 x 4 behind one another, bone by bone, so that a vertex is
// a product with constants: the weights times the place at rest.
static void hand_vertex_arrays(const struct hand_model *h, size_t v,
                               ad_rev M[][HAND_MATRIX], const ad_rev *R,
                               const ad_rev *shift, ad_rev *at)
{
    double c[HAND_BONES * 4];
    ad_rev skin[3];
    for (size_t q = 0; q < HAND_BONES; q++)
        for (size_t i = 0; i < 4; i++)
            c[4 * q + i] = h->weight[HAND_BONES * v + q]
                         * (i < 3 ? h->rest[3 * v + i] : 1);
    for (size_t e = 0; e < 3; e++) {
        ad_rev row[HAND_BONES * 4];
        for (size_t q = 0; q < HAND_BONES; q++)
            memcpy(row + 4 * q, M[q] + 4 * e, 4 * sizeof *row);
        skin[e] = ad_dotc(HAND_BONES * 4, row, c);
    }
    ad_matvec(3, 3, R, skin, at);
    ad_each(ADREV_OP_add, 3, at, shift, NULL, at);
}

static void hand_arrays(const struct hand *p, const ad_rev *theta,
                        const ad_rev *us, ad_rev *F)
{
    ad_rev M[HAND_BONES][HAND_MATRIX];
    ad_rev R[9], at[3][3], y[3];

    hand_pose_arrays(p->model, theta, M);
    rev_hand_rotation(theta, R);
    for (size_t i = 0; i < p->n; i++) {
        ad_rev *f = F + 3 * i;
        for (size_t k = 0; k < hand_corners(p); k++)
            hand_vertex_arrays(p->model, hand_corner(p, i, k), M, R,
                               theta + 3, at[k]);
        if (p->complicated) {
            const ad_rev *u = us + 2 * i;
            ad_scale(3, u[0], at[0], at[0]);
            ad_axpy(3, u[1], at[1], at[0]);
            ad_axpy(3, ad_rec(ad_sub(ad_sub(1, u[0]), u[1])), at[2], at[0]);
        }
        arrays_constants(3, p->measured + 3 * i, y);
        ad_each(ADREV_OP_sub, 3, y, at[0], NULL, f);
    }
}

#endif
