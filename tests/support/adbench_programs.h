// SPDX-License-Identifier: MIT-0
/* adbench_programs.h - four real problems: a Gaussian mixture (gmm), a
 * recurrent network (lstm), bundle adjustment (ba), and a skinned hand (hand).
 *
 * They are the objectives of the ADBench collection. Data that nobody
 * differentiates are plain doubles in the structures below. The programs are
 * written once for any number; the file that includes this defines
 *
 *     NUM         the type of a number: ad_rev or ad_fwd
 *     REC(e)      an expression as a NUM: ad_rec or ad_dual
 *     NAME(f)     the function's name for this type
 *
 * and may do so several times: they are undefined here at the end. Without NUM
 * it gets the structures alone.                                             */

#ifndef ADREV_TESTS_ADBENCH_PROGRAMS_H
#define ADREV_TESTS_ADBENCH_PROGRAMS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

// The objectives are defined with this many digits of pi.
#define ADBENCH_PI 3.14159265359

// in: K weights alpha, K x d means mu, K x T numbers icf with T = d(d+1)/2, of
// each component first d logarithms of the diagonal, then the columns below.
struct gmm {
    size_t d;               // dimension, at least 2
    size_t K;               // components
    size_t n;               // points
    size_t stride;          // d, or 0: one point n times
    const double *in;
    const double *points;   // n x d
    double gamma;           // parameters of the Wishart term
    double m;
};

static inline size_t gmm_triangle(size_t d) { return d * (d + 1) / 2; }

static inline size_t gmm_inputs(const struct gmm *g)
{
    return g->K * (1 + g->d + gmm_triangle(g->d));
}

// The constant of the Wishart term, K C: it has no derivative.
static inline double gmm_constant(const struct gmm *g)
{
    double d = (double)g->d;
    double N = d + g->m + 1;
    double gammas = d * (d - 1) / 4 * log(ADBENCH_PI);
    for (size_t j = 1; j <= g->d; j++)
        gammas += lgamma(N / 2 + (1 - (double)j) / 2);
    return (double)g->K * (N * d * (log(g->gamma) - log(2.0) / 2) - gammas);
}

// in: of each layer Wf Wi Wo Wc Bf Bi Bo Bc, then win wout bout, b each.
struct lstm {
    size_t l;               // layers
    size_t c;               // characters
    size_t b;               // bits of a character, and lanes of a layer
    const double *in;
    const double *state;    // of each layer h and s at the start
    const double *text;     // c x b, 0 or 1
};

static inline size_t lstm_inputs(const struct lstm *p)
{
    return 8 * p->l * p->b + 3 * p->b;
}

// One camera: rotation r (3), centre C (3), focal length f, principal point
// u0 v0, radial coefficients k1 k2.
enum { BA_CAMERA = 11, BA_POINT = 3, BA_INPUTS = BA_CAMERA + BA_POINT + 1 };

struct ba_seen {
    size_t camera;
    size_t point;
    double at[2];           // measured
};

struct ba {
    size_t n;               // cameras
    size_t m;               // points
    size_t p;               // observations
    const double *cameras;
    const double *points;
    const double *weights;
    const struct ba_seen *seen;
};

// A matrix is 4 x 4, row by row, with a last row 0 0 0 1.
enum { HAND_BONES = 22, HAND_FINGERS = 5, HAND_THETA = 26, HAND_MATRIX = 16 };

struct hand_model {
    int parent[HAND_BONES];                 // -1: none
    double base[HAND_BONES][HAND_MATRIX];   // relative to the parent
    double inverse[HAND_BONES][HAND_MATRIX];    // of the absolute one
    size_t vertices;
    size_t triangles;
    const double *rest;                     // 3 of each vertex
    const double *weight;                   // HAND_BONES of each vertex
    const size_t *corner;                   // 3 of each triangle
};

struct hand {
    const struct hand_model *model;
    bool complicated;
    size_t n;               // correspondences
    const size_t *at;       // vertex; complicated: triangle
    const double *measured; // 3 of each
    const double *us;       // complicated: 2 of each
    const double *theta;
};

// Which vertices make correspondence i: one, or three.
static inline size_t hand_corners(const struct hand *p)
{
    return p->complicated ? 3 : 1;
}

static inline size_t hand_corner(const struct hand *p, size_t i, size_t k)
{
    return p->complicated ? p->model->corner[3 * p->at[i] + k] : p->at[i];
}

// The objectives are nothing without memory.
static inline void *adbench_get(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p)
        exit(EXIT_FAILURE);
    return p;
}

#endif

#ifdef NUM

/* --- gmm ------------------------------------------------------------------ */

// The lower triangle of Q, d x d: exponentials on the diagonal, below it the
// numbers that follow, column by column.
static void NAME(gmm_matrix)(size_t d, const NUM *icf, NUM *Q)
{
    const NUM *below = icf + d;
    for (size_t i = 0; i < d; i++) {
        Q[i * d + i] = REC(ad_exp(icf[i]));
        for (size_t j = i + 1; j < d; j++)
            Q[j * d + i] = *below++;
    }
}

// ||Q (x - mu)||^2
static NUM NAME(gmm_distance)(size_t d, const NUM *Q, const NUM *mu,
                              const double *x)
{
    NUM sum = REC(0);
    for (size_t j = 0; j < d; j++) {
        NUM z = REC(0);
        for (size_t i = 0; i <= j; i++)
            ad_acc(&z, ad_mul(Q[j * d + i], ad_sub(x[i], mu[i])));
        ad_acc(&sum, ad_sqr(z));
    }
    return sum;
}

// max(v) + log sum exp(v - max(v)). The maximum cancels: a plain number.
static NUM NAME(log_sum_exp)(size_t n, const NUM *v)
{
    double top = ad_value(v[0]);
    NUM sum = REC(0);
    for (size_t i = 1; i < n; i++)
        top = fmax(top, ad_value(v[i]));
    for (size_t i = 0; i < n; i++)
        ad_acc(&sum, ad_exp(ad_sub(v[i], top)));
    return REC(ad_add(top, ad_log(sum)));
}

// gamma^2/2 ||Q||^2 - m sum q, of one component
static NUM NAME(gmm_wishart)(const struct gmm *g, const NUM *Q, NUM q)
{
    NUM sum = REC(0);
    for (size_t j = 0; j < g->d; j++)
        for (size_t i = 0; i <= j; i++)
            ad_acc(&sum, ad_sqr(Q[j * g->d + i]));
    return REC(ad_sub(ad_mul(g->gamma * g->gamma / 2, sum),
                      ad_mul(g->m, q)));
}

static NUM NAME(gmm)(const struct gmm *g, const NUM *in)
{
    size_t d = g->d;
    size_t K = g->K;
    const NUM *alpha = in;
    const NUM *mu = alpha + K;
    const NUM *icf = mu + K * d;
    NUM *Q = adbench_get(K * d * d, sizeof *Q);
    NUM *base = adbench_get(K, sizeof *base);
    NUM *t = adbench_get(K, sizeof *t);
    double n = (double)g->n;
    NUM F = REC(-n * (double)d / 2 * log(2 * ADBENCH_PI)
                - gmm_constant(g));

    for (size_t k = 0; k < K; k++) {
        NUM q = REC(0);
        for (size_t i = 0; i < d; i++)
            ad_acc(&q, icf[k * gmm_triangle(d) + i]);
        NAME(gmm_matrix)(d, icf + k * gmm_triangle(d), Q + k * d * d);
        base[k] = REC(ad_add(alpha[k], q));
        ad_acc(&F, NAME(gmm_wishart)(g, Q + k * d * d, q));
    }
    for (size_t s = 0; s < g->n; s++) {
        const double *x = g->points + s * g->stride;
        for (size_t k = 0; k < K; k++) {
            NUM zz = NAME(gmm_distance)(d, Q + k * d * d, mu + k * d, x);
            t[k] = REC(ad_sub(base[k], ad_mul(0.5, zz)));
        }
        ad_acc(&F, NAME(log_sum_exp)(K, t));
    }
    F = REC(ad_sub(F, ad_mul(n, NAME(log_sum_exp)(K, alpha))));
    free(Q);
    free(base);
    free(t);
    return F;
}

/* --- lstm ----------------------------------------------------------------- */

#define SIGMA(y) ad_div(1, ad_add(1, ad_exp(ad_neg(y))))

// One layer: u becomes the new h. The gates i and c read the old h.
static void NAME(lstm_layer)(size_t b, const NUM *w, NUM *h, NUM *s, NUM *u)
{
    const NUM *Wf = w, *Wi = w + b, *Wo = w + 2 * b, *Wc = w + 3 * b;
    const NUM *Bf = w + 4 * b, *Bi = w + 5 * b;
    const NUM *Bo = w + 6 * b, *Bc = w + 7 * b;
    for (size_t j = 0; j < b; j++) {
        NUM f = REC(SIGMA(ad_add(ad_mul(u[j], Wf[j]), Bf[j])));
        NUM g = REC(SIGMA(ad_add(ad_mul(h[j], Wi[j]), Bi[j])));
        NUM o = REC(SIGMA(ad_add(ad_mul(u[j], Wo[j]), Bo[j])));
        NUM a = REC(ad_tanh(ad_add(ad_mul(h[j], Wc[j]), Bc[j])));
        s[j] = REC(ad_add(ad_mul(s[j], f), ad_mul(g, a)));
        h[j] = REC(ad_mul(o, ad_tanh(s[j])));
        u[j] = h[j];
    }
}

// sum of next[j] (y[j] - log(2 + sum exp y)) for the character that follows
static NUM NAME(lstm_likelihood)(size_t b, const NUM *wout, const NUM *bout,
                                 const double *next, NUM *u)
{
    NUM total = REC(0);
    NUM sum = REC(2);
    for (size_t j = 0; j < b; j++) {
        u[j] = REC(ad_add(ad_mul(u[j], wout[j]), bout[j]));
        ad_acc(&sum, ad_exp(u[j]));
    }
    NUM lse = REC(ad_log(sum));
    for (size_t j = 0; j < b; j++)
        ad_acc(&total, ad_mul(next[j], ad_sub(u[j], lse)));
    return total;
}

static NUM NAME(lstm)(const struct lstm *p, const NUM *in)
{
    size_t b = p->b;
    const NUM *win = in + 8 * p->l * b;
    NUM *state = adbench_get(2 * p->l * b, sizeof *state);
    NUM *u = adbench_get(b, sizeof *u);
    NUM total = REC(0);

    for (size_t i = 0; i < 2 * p->l * b; i++)
        state[i] = REC(p->state[i]);
    for (size_t t = 0; t + 1 < p->c; t++) {
        for (size_t j = 0; j < b; j++)
            u[j] = REC(ad_mul(p->text[t * b + j], win[j]));
        for (size_t i = 0; i < p->l; i++)
            NAME(lstm_layer)(b, in + 8 * b * i, state + 2 * b * i,
                             state + 2 * b * i + b, u);
        ad_acc(&total, NAME(lstm_likelihood)(b, win + b, win + 2 * b,
                                             p->text + (t + 1) * b, u));
    }
    free(state);
    free(u);
    return REC(ad_div(ad_neg(total), (double)b * (double)(p->c - 1)));
}

#undef SIGMA

/* --- ba ------------------------------------------------------------------- */

#define DOT(a, b)                                                           \
    ad_add(ad_add(ad_mul(a[0], b[0]), ad_mul(a[1], b[1])), ad_mul(a[2], b[2]))
#define CROSS(a, b, i)                                                      \
    ad_sub(ad_mul(a[((i) + 1) % 3], b[((i) + 2) % 3]),                      \
           ad_mul(a[((i) + 2) % 3], b[((i) + 1) % 3]))

// The rotation by r, an axis times an angle. The angle 0 has a branch of its
// own: r/|r| does not exist there, the derivative does.
static void NAME(ba_rotate)(const NUM *r, const NUM *o, NUM *Y)
{
    NUM square = REC(DOT(r, r));
    if (ad_eq(square, 0)) {
        for (size_t i = 0; i < 3; i++)
            Y[i] = REC(ad_add(o[i], CROSS(r, o, i)));
        return;
    }
    NUM angle = REC(ad_sqrt(square));
    NUM cosine = REC(ad_cos(angle));
    NUM sine = REC(ad_sin(angle));
    NUM a[3];
    for (size_t i = 0; i < 3; i++)
        a[i] = REC(ad_div(r[i], angle));
    NUM along = REC(ad_mul(DOT(a, o), ad_sub(1, cosine)));
    for (size_t i = 0; i < 3; i++)
        Y[i] = REC(ad_add(ad_add(ad_mul(o[i], cosine),
                                 ad_mul(CROSS(a, o, i), sine)),
                          ad_mul(a[i], along)));
}

// in: a camera, a point, a weight; e: what the camera sees beside the
// measurement, weighted.
static void NAME(ba_error)(const NUM *in, const double *measured, NUM *e)
{
    const NUM *C = in + 3, *f = in + 6, *u = in + 7, *k = in + 9;
    const NUM *X = in + BA_CAMERA, *w = X + BA_POINT;
    NUM o[3], Y[3], p[2];

    for (size_t i = 0; i < 3; i++)
        o[i] = REC(ad_sub(X[i], C[i]));
    NAME(ba_rotate)(in, o, Y);
    for (size_t i = 0; i < 2; i++)
        p[i] = REC(ad_div(Y[i], Y[2]));
    NUM s = REC(ad_add(ad_sqr(p[0]), ad_sqr(p[1])));
    NUM L = REC(ad_add(ad_add(1, ad_mul(k[0], s)), ad_mul(k[1], ad_sqr(s))));
    for (size_t i = 0; i < 2; i++) {
        NUM q = REC(ad_add(ad_mul(ad_mul(f[0], L), p[i]), u[i]));
        e[i] = REC(ad_mul(w[0], ad_sub(q, measured[i])));
    }
}

static NUM NAME(ba_weight)(NUM w) { return REC(ad_sub(1, ad_sqr(w))); }

#undef DOT

/* --- hand ----------------------------------------------------------------- */

// c = a b; the last row of each is 0 0 0 1.
static void NAME(hand_product)(const NUM *a, const NUM *b, NUM *c)
{
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            NUM sum = REC(0);
            for (size_t k = 0; k < 4; k++)
                ad_acc(&sum, ad_mul(a[4 * i + k], b[4 * k + j]));
            c[4 * i + j] = sum;
        }
}

static void NAME(hand_constant)(const double *a, NUM *c)
{
    for (size_t i = 0; i < HAND_MATRIX; i++)
        c[i] = REC(a[i]);
}

// B Rz(z) Rx(x): bones bend about these axes only.
static void NAME(hand_bend)(const double *base, NUM x, NUM z, NUM *P)
{
    NUM B[HAND_MATRIX];
    NUM sx = REC(ad_sin(x)), cx = REC(ad_cos(x));
    NUM sz = REC(ad_sin(z)), cz = REC(ad_cos(z));
    NUM R[HAND_MATRIX] = {
        cz, REC(ad_neg(ad_mul(sz, cx))), REC(ad_mul(sz, sx)), REC(0),
        sz, REC(ad_mul(cz, cx)), REC(ad_neg(ad_mul(cz, sx))), REC(0),
        REC(0), sx, cx, REC(0),
        REC(0), REC(0), REC(0), REC(1),
    };
    NAME(hand_constant)(base, B);
    NAME(hand_product)(B, R, P);
}

// M of every bone: from its place at rest to where theta puts it.
static void NAME(hand_pose)(const struct hand_model *h, const NUM *theta,
                            NUM M[][HAND_MATRIX])
{
    NUM G[HAND_BONES][HAND_MATRIX];
    NUM A[HAND_MATRIX];
    for (size_t q = 0; q < HAND_BONES; q++) {
        bool stiff = q == 0 || q > 4 * HAND_FINGERS;
        size_t finger = stiff ? 0 : (q - 1) / 4;    // 4 bones each, the first
        size_t joint = stiff ? 0 : (q - 1) % 4;     // of which does not bend
        const NUM *bend = theta + 6 + 4 * finger;
        NUM P[HAND_MATRIX];
        if (joint == 0)
            NAME(hand_constant)(h->base[q], P);
        else if (joint == 1)
            NAME(hand_bend)(h->base[q], bend[0], bend[1], P);
        else
            NAME(hand_bend)(h->base[q], bend[joint], REC(0), P);
        if (h->parent[q] < 0)
            for (size_t i = 0; i < HAND_MATRIX; i++)
                G[q][i] = P[i];
        else
            NAME(hand_product)(G[h->parent[q]], P, G[q]);
        NAME(hand_constant)(h->inverse[q], A);
        NAME(hand_product)(G[q], A, M[q]);
    }
}

// The rotation of the whole hand; below 1e-4 there is none.
static void NAME(hand_rotation)(const NUM *r, NUM *R)
{
    NUM square = REC(ad_add(ad_add(ad_sqr(r[0]), ad_sqr(r[1])), ad_sqr(r[2])));
    bool none = sqrt(ad_value(square)) < 0.0001;
    for (size_t i = 0; i < 9; i++)
        R[i] = REC(i % 4 == 0);
    if (none)
        return;
    NUM angle = REC(ad_sqrt(square));
    NUM c = REC(ad_cos(angle)), s = REC(ad_sin(angle));
    NUM a[3];
    for (size_t i = 0; i < 3; i++)
        a[i] = REC(ad_div(r[i], angle));
    for (size_t i = 0; i < 3; i++) {
        size_t j = (i + 1) % 3, k = (i + 2) % 3;
        NUM ij = REC(ad_mul(ad_mul(a[i], a[j]), ad_sub(1, c)));
        NUM square_i = REC(ad_sqr(a[i]));
        R[4 * i] = REC(ad_add(square_i, ad_mul(ad_sub(1, square_i), c)));
        R[3 * i + j] = REC(ad_sub(ij, ad_mul(a[k], s)));
        R[3 * j + i] = REC(ad_add(ij, ad_mul(a[k], s)));
    }
}

// Where vertex v is: R (sum of weight M rest) + theta[3..6).
static void NAME(hand_vertex)(const struct hand_model *h, size_t v,
                              NUM M[][HAND_MATRIX], const NUM *R,
                              const NUM *shift, NUM *at)
{
    const double *x = h->rest + 3 * v;
    NUM skin[3] = { REC(0), REC(0), REC(0) };
    for (size_t q = 0; q < HAND_BONES; q++) {
        double weight = h->weight[HAND_BONES * v + q];
        for (size_t e = 0; e < 3 && weight != 0; e++) {
            const NUM *m = M[q] + 4 * e;
            ad_acc(&skin[e], ad_mul(weight,
                   ad_add(ad_add(ad_mul(m[0], x[0]), ad_mul(m[1], x[1])),
                          ad_add(ad_mul(m[2], x[2]), m[3]))));
        }
    }
    for (size_t e = 0; e < 3; e++) {
        const NUM *row = R + 3 * e;
        at[e] = REC(ad_add(ad_add(ad_add(ad_mul(row[0], skin[0]),
                                         ad_mul(row[1], skin[1])),
                                  ad_mul(row[2], skin[2])), shift[e]));
    }
}

// F[3 i + e]: measured point i minus the vertex, or, complicated, minus the
// point of a triangle that us[2 i] and us[2 i + 1] choose.
static void NAME(hand)(const struct hand *p, const NUM *theta, const NUM *us,
                       NUM *F)
{
    const struct hand_model *h = p->model;
    NUM M[HAND_BONES][HAND_MATRIX];
    NUM R[9];
    NUM at[3][3];

    NAME(hand_pose)(h, theta, M);
    NAME(hand_rotation)(theta, R);
    for (size_t i = 0; i < p->n; i++) {
        const double *y = p->measured + 3 * i;
        const NUM *u = p->complicated ? us + 2 * i : NULL;
        for (size_t k = 0; k < hand_corners(p); k++)
            NAME(hand_vertex)(h, hand_corner(p, i, k), M, R, theta + 3, at[k]);
        for (size_t e = 0; e < 3; e++)
            F[3 * i + e] = p->complicated
                ? REC(ad_sub(y[e], ad_add(ad_add(ad_mul(u[0], at[0][e]),
                                                 ad_mul(u[1], at[1][e])),
                              ad_mul(ad_sub(ad_sub(1, u[0]), u[1]),
                                     at[2][e]))))
                : REC(ad_sub(y[e], at[0][e]));
    }
}

#undef CROSS
#undef NUM
#undef REC
#undef NAME

#endif
