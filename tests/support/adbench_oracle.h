// SPDX-License-Identifier: MIT-0
/* adbench_oracle.h - the same problems once more, without adrev.
 *
 * gmm: value and gradient in closed form. The others: the formulas with
 * complex numbers, whose derivative is that of every analytic function:
 * f(x + i h) = f(x) + i h f'(x) up to h^2, and with h = 1e-30 exactly so.   */

#ifndef ADREV_TESTS_ADBENCH_ORACLE_H
#define ADREV_TESTS_ADBENCH_ORACLE_H

#include "adbench_programs.h"

#include <complex.h>
#include <stdint.h>
#include <string.h>

typedef double complex cnum;

/* --- gmm ------------------------------------------------------------------ */

// Numbers of one component, and where its derivatives are added up.
struct part {
    const double *mu;
    const double *q;        // logarithms of the diagonal
    const double *below;
    double *dmu;
    double *dq;
    double *dbelow;
    double alpha;
};

static inline struct part gmm_part(const struct gmm *g, size_t k, double *J)
{
    size_t mu = g->K + k * g->d;
    size_t icf = g->K + g->K * g->d + k * gmm_triangle(g->d);
    return (struct part){
        .mu = g->in + mu, .q = g->in + icf, .below = g->in + icf + g->d,
        .dmu = J + mu, .dq = J + icf, .dbelow = J + icf + g->d,
        .alpha = g->in[k],
    };
}

// Where Q[j][i] stands below the diagonal, j > i.
static inline size_t gmm_below(size_t d, size_t j, size_t i)
{
    return i * d - i * (i + 1) / 2 + (j - i - 1);
}

static inline double gmm_entry(size_t d, const struct part *p, size_t j,
                               size_t i)
{
    return i == j ? exp(p->q[i]) : p->below[gmm_below(d, j, i)];
}

// t = alpha + sum q - ||z||^2/2 with z = Q (x - mu)
static inline double gmm_exponent(size_t d, const struct part *p,
                                  const double *x, double *z)
{
    double t = p->alpha;
    for (size_t j = 0; j < d; j++) {
        z[j] = 0;
        for (size_t i = 0; i <= j; i++)
            z[j] += gmm_entry(d, p, j, i) * (x[i] - p->mu[i]);
        t += p->q[j] - z[j] * z[j] / 2;
    }
    return t;
}

// What a point with share r in this component adds to its derivatives.
static inline void gmm_share(size_t d, const struct part *p, const double *x,
                             const double *z, double r)
{
    for (size_t i = 0; i < d; i++) {
        double c = x[i] - p->mu[i];
        p->dq[i] += r * (1 - gmm_entry(d, p, i, i) * c * z[i]);
        for (size_t j = i; j < d; j++)
            p->dmu[i] += r * gmm_entry(d, p, j, i) * z[j];
        for (size_t j = i + 1; j < d; j++)
            p->dbelow[gmm_below(d, j, i)] -= r * c * z[j];
    }
}

static inline double oracle_log_sum_exp(size_t n, const double *v)
{
    double top = v[0];
    double sum = 0;
    for (size_t i = 1; i < n; i++)
        top = v[i] > top ? v[i] : top;
    for (size_t i = 0; i < n; i++)
        sum += exp(v[i] - top);
    return top + log(sum);
}

// The terms that no point has a part in.
static inline double gmm_prior(const struct gmm *g, double *J)
{
    double lse = oracle_log_sum_exp(g->K, g->in);
    double F = -(double)g->n * lse - gmm_constant(g)
             - (double)(g->n * g->d) / 2 * log(2 * ADBENCH_PI);
    for (size_t k = 0; k < g->K; k++) {
        struct part p = gmm_part(g, k, J);
        J[k] -= (double)g->n * exp(p.alpha - lse);
        for (size_t j = 0; j < g->d; j++) {
            F -= g->m * p.q[j];
            p.dq[j] += g->gamma * g->gamma * exp(2 * p.q[j]) - g->m;
            for (size_t i = 0; i <= j; i++) {
                double e = g->gamma * gmm_entry(g->d, &p, j, i);
                F += e * e / 2;
                if (i < j)
                    p.dbelow[gmm_below(g->d, j, i)] += g->gamma * e;
            }
        }
    }
    return F;
}

static inline double oracle_gmm(const struct gmm *g, double *J)
{
    double *z = adbench_get(g->K * g->d, sizeof *z);
    double *t = adbench_get(g->K, sizeof *t);
    memset(J, 0, gmm_inputs(g) * sizeof *J);
    double F = gmm_prior(g, J);
    for (size_t s = 0; s < g->n; s++) {
        const double *x = g->points + s * g->stride;
        for (size_t k = 0; k < g->K; k++) {
            struct part p = gmm_part(g, k, J);
            t[k] = gmm_exponent(g->d, &p, x, z + k * g->d);
        }
        double lse = oracle_log_sum_exp(g->K, t);
        F += lse;
        for (size_t k = 0; k < g->K; k++) {
            struct part p = gmm_part(g, k, J);
            J[k] += exp(t[k] - lse);
            gmm_share(g->d, &p, x, z + k * g->d, exp(t[k] - lse));
        }
    }
    free(z);
    free(t);
    return F;
}

/* --- complex numbers ------------------------------------------------------ */

typedef void complex_program(const void *problem, const cnum *x, cnum *y);

// y[m] and J[m x n] of a program at x[n].
static inline void complex_jacobian(complex_program *f, const void *problem,
                                    size_t n, const double *x, size_t m,
                                    double *y, double *J)
{
    const double h = 1e-30;
    cnum *in = adbench_get(n, sizeof *in);
    cnum *out = adbench_get(m, sizeof *out);
    for (size_t j = 0; j < n; j++)
        in[j] = x[j];
    for (size_t j = 0; j < n; j++) {
        const double stepped[2] = { x[j], h };
        memcpy(&in[j], stepped, sizeof stepped);
        f(problem, in, out);
        in[j] = x[j];
        for (size_t i = 0; i < m; i++) {
            y[i] = creal(out[i]);
            J[i * n + j] = cimag(out[i]) / h;
        }
    }
    free(in);
    free(out);
}

/* --- lstm ----------------------------------------------------------------- */

static inline cnum complex_sigma(cnum y) { return 1 / (1 + cexp(-y)); }

// One lane of one layer; w[8 b] are its numbers, lane j of each.
static inline cnum complex_cell(const cnum *w, size_t b, size_t j, cnum u,
                                cnum *h, cnum *s)
{
    cnum f = complex_sigma(u * w[j] + w[4 * b + j]);
    cnum g = complex_sigma(*h * w[b + j] + w[5 * b + j]);
    cnum o = complex_sigma(u * w[2 * b + j] + w[6 * b + j]);
    cnum a = ctanh(*h * w[3 * b + j] + w[7 * b + j]);
    *s = *s * f + g * a;
    *h = o * ctanh(*s);
    return *h;
}

static inline void complex_lstm(const void *problem, const cnum *in, cnum *F)
{
    const struct lstm *p = problem;
    const size_t b = p->b;
    const cnum *extra = in + 8 * p->l * b;
    cnum *state = adbench_get(2 * p->l * b, sizeof *state);
    cnum total = 0;
    for (size_t i = 0; i < 2 * p->l * b; i++)
        state[i] = p->state[i];
    for (size_t t = 0; t + 1 < p->c; t++) {
        const double *next = p->text + (t + 1) * b;
        cnum sum = 2;
        double bits = 0;
        for (size_t j = 0; j < b; j++) {
            cnum u = p->text[t * b + j] * extra[j];
            for (size_t i = 0; i < p->l; i++)
                u = complex_cell(in + 8 * b * i, b, j, u,
                                 &state[2 * b * i + j],
                                 &state[2 * b * i + b + j]);
            u = u * extra[b + j] + extra[2 * b + j];
            sum += cexp(u);
            total += next[j] * u;
            bits += next[j];
        }
        total -= bits * clog(sum);
    }
    *F = -total / (double)(b * (p->c - 1));
    free(state);
}

/* --- ba ------------------------------------------------------------------- */

// The problem is what was measured, 2 numbers. A rotation by exactly 0 needs
// no branch: its step has an angle.
static inline void complex_ba(const void *problem, const cnum *in, cnum *e)
{
    const double *measured = problem;
    cnum o[3], Y[3];
    cnum angle = csqrt(in[0] * in[0] + in[1] * in[1] + in[2] * in[2]);
    bool none = creal(angle) == 0 && cimag(angle) == 0;
    cnum a[3] = { none ? 0 : in[0] / angle, none ? 0 : in[1] / angle,
                  none ? 0 : in[2] / angle };
    cnum c = ccos(angle), s = csin(angle);
    for (size_t i = 0; i < 3; i++)
        o[i] = in[11 + i] - in[3 + i];
    cnum along = a[0] * o[0] + a[1] * o[1] + a[2] * o[2];
    Y[0] = o[0] * c + (a[1] * o[2] - a[2] * o[1]) * s + a[0] * along * (1 - c);
    Y[1] = o[1] * c + (a[2] * o[0] - a[0] * o[2]) * s + a[1] * along * (1 - c);
    Y[2] = o[2] * c + (a[0] * o[1] - a[1] * o[0]) * s + a[2] * along * (1 - c);
    cnum px = Y[0] / Y[2], py = Y[1] / Y[2];
    cnum square = px * px + py * py;
    cnum L = 1 + in[9] * square + in[10] * square * square;
    e[0] = in[14] * (in[6] * L * px + in[7] - measured[0]);
    e[1] = in[14] * (in[6] * L * py + in[8] - measured[1]);
}

/* --- hand ----------------------------------------------------------------- */

static inline void complex_product(const cnum *a, const cnum *b, cnum *c)
{
    for (size_t i = 0; i < 16; i++) {
        c[i] = 0;
        for (size_t k = 0; k < 4; k++)
            c[i] += a[i - i % 4 + k] * b[4 * k + i % 4];
    }
}

// a becomes a b, b real.
static inline void complex_times(cnum *a, const double *b)
{
    cnum by[16], c[16];
    for (size_t i = 0; i < 16; i++)
        by[i] = b[i];
    complex_product(a, by, c);
    memcpy(a, c, sizeof c);
}

// a becomes a times a rotation about axis 0 (x) or 2 (z).
static inline void complex_turn(cnum *a, size_t axis, cnum angle)
{
    size_t i = (axis + 1) % 3, j = (axis + 2) % 3;
    cnum R[16] = { 1, 0, 0, 0,  0, 1, 0, 0,  0, 0, 1, 0,  0, 0, 0, 1 };
    cnum c[16];
    R[5 * i] = R[5 * j] = ccos(angle);
    R[4 * i + j] = -csin(angle);
    R[4 * j + i] = csin(angle);
    complex_product(a, R, c);
    memcpy(a, c, sizeof c);
}

// Bone q of its parent's G: B, then the bends of joint (q - 1) % 4.
static inline void complex_bone(const struct hand_model *h, size_t q,
                                const cnum *theta, cnum G[][16])
{
    static const double one[16] = { 1, 0, 0, 0,  0, 1, 0, 0,
                                    0, 0, 1, 0,  0, 0, 0, 1 };
    for (size_t i = 0; i < 16; i++)
        G[q][i] = h->parent[q] < 0 ? one[i] : G[h->parent[q]][i];
    complex_times(G[q], h->base[q]);
    for (size_t f = 0; f < 5; f++) {
        if (q == 4 * f + 2)
            complex_turn(G[q], 2, theta[7 + 4 * f]);
        for (size_t joint = 2; joint <= 4; joint++)
            if (q == 4 * f + joint)
                complex_turn(G[q], 0, theta[joint == 2 ? 6 + 4 * f
                                                       : 5 + joint + 4 * f]);
    }
}

// By the formula of Rodrigues.
static inline void complex_rotate(const cnum *r, cnum *v)
{
    cnum angle = csqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    if (creal(angle) < 0.0001)
        return;
    cnum a[3] = { r[0] / angle, r[1] / angle, r[2] / angle };
    cnum x[3] = { v[0], v[1], v[2] };
    cnum along = a[0] * x[0] + a[1] * x[1] + a[2] * x[2];
    for (size_t i = 0; i < 3; i++) {
        size_t j = (i + 1) % 3, k = (i + 2) % 3;
        v[i] = x[i] * ccos(angle) + (a[j] * x[k] - a[k] * x[j]) * csin(angle)
             + a[i] * along * (1 - ccos(angle));
    }
}

static inline void complex_vertex(const struct hand_model *h, size_t v,
                                  cnum M[][16], const cnum *theta, cnum *at)
{
    memset(at, 0, 3 * sizeof *at);
    for (size_t q = 0; q < HAND_BONES; q++)
        for (size_t e = 0; e < 3; e++) {
            cnum sum = M[q][4 * e + 3];
            for (size_t k = 0; k < 3; k++)
                sum += M[q][4 * e + k] * h->rest[3 * v + k];
            at[e] += h->weight[HAND_BONES * v + q] * sum;
        }
    complex_rotate(theta, at);
    for (size_t e = 0; e < 3; e++)
        at[e] += theta[3 + e];
}

// x: theta, then us.
static inline void complex_hand(const void *problem, const cnum *x, cnum *F)
{
    const struct hand *p = problem;
    cnum M[HAND_BONES][16], at[3];
    for (size_t q = 0; q < HAND_BONES; q++)
        complex_bone(p->model, q, x, M);
    for (size_t q = 0; q < HAND_BONES; q++)
        complex_times(M[q], p->model->inverse[q]);
    for (size_t i = 0; i < p->n; i++) {
        const cnum *u = x + HAND_THETA + (p->complicated ? 2 * i : 0);
        for (size_t e = 0; e < 3; e++)
            F[3 * i + e] = p->measured[3 * i + e];
        for (size_t k = 0; k < hand_corners(p); k++) {
            cnum share = !p->complicated ? 1 : k < 2 ? u[k] : 1 - u[0] - u[1];
            complex_vertex(p->model, hand_corner(p, i, k), M, x, at);
            for (size_t e = 0; e < 3; e++)
                F[3 * i + e] -= share * at[e];
        }
    }
}

/* --- numbers for cases made here ------------------------------------------ */

static uint64_t seed;

// splitmix64, a number in [from, to)
static inline double uniform(double from, double to)
{
    uint64_t z = seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return from + (to - from) * (double)(z >> 11) * 0x1p-53;
}

#endif
