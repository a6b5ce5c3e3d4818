// SPDX-License-Identifier: MIT-0
/* adrev_skin.h - the skinned hand, for the tape and for recorded functions.
 * Included behind adrev.h, whichever way it was included.
 */

#ifndef BENCH_ADREV_SKIN_H
#define BENCH_ADREV_SKIN_H

#include "skin.h"

#include <string.h>

static inline void skin_product(const ad_rev *a, const ad_rev *b, ad_rev *c)
{
    for (size_t i = 0; i < 3; i++, a += 4, c += 4) {
        for (size_t j = 0; j < 4; j++) {
            const ad_expr sum = ad_add(ad_add(ad_mul(a[0], b[j]),
                                              ad_mul(a[1], b[4 + j])),
                                       ad_mul(a[2], b[8 + j]));

            c[j] = j < 3 ? ad_rec(sum) : ad_rec(ad_add(sum, a[3]));
        }
    }
}

static inline void skin_constant(const double *a, ad_rev *c)
{
    for (size_t i = 0; i < SKIN_MATRIX; i++) {
        c[i] = ad_rec(a[i]);
    }
}

static inline void skin_turn(ad_rev *P, size_t k, ad_rev angle)
{
    const ad_rev c = ad_rec(ad_cos(angle));
    const ad_rev s = ad_rec(ad_sin(angle));

    for (size_t i = k; i < SKIN_MATRIX; i += 4) {
        const ad_rev a = P[i];
        const ad_rev b = P[i + 1];

        P[i] = ad_rec(ad_add(ad_mul(a, c), ad_mul(b, s)));
        P[i + 1] = ad_rec(ad_sub(ad_mul(b, c), ad_mul(a, s)));
    }
}

static inline void skin_pose(const skin_data *d, const ad_rev *theta,
                             ad_rev M[][SKIN_MATRIX])
{
    ad_rev G[SKIN_BONES][SKIN_MATRIX];

    for (size_t q = 0; q < SKIN_BONES; q++) {
        const size_t joint = skin_joint(q);
        const ad_rev *bend = theta + skin_bends(q);
        ad_rev P[SKIN_MATRIX];
        ad_rev A[SKIN_MATRIX];

        skin_constant(d->base + q * SKIN_MATRIX, P);
        skin_constant(d->inverse + q * SKIN_MATRIX, A);
        if (joint == 1) {
            skin_turn(P, 0, bend[1]);
        }
        if (joint > 0) {
            skin_turn(P, 1, bend[joint == 1 ? 0 : joint]);
        }
        if (q == 0) {
            memcpy(G[q], P, sizeof P);
        } else {
            skin_product(G[skin_parent(q)], P, G[q]);
        }
        skin_product(G[q], A, M[q]);
    }
}

static inline void skin_rotation(const ad_rev *r, ad_rev *R)
{
    const ad_rev angle = ad_rec(ad_sqrt(ad_add(ad_add(ad_sqr(r[0]),
                                                      ad_sqr(r[1])),
                                               ad_sqr(r[2]))));
    const ad_rev c = ad_rec(ad_cos(angle));
    const ad_rev s = ad_rec(ad_sin(angle));
    const ad_rev a[3] = { ad_rec(ad_div(r[0], angle)),
                          ad_rec(ad_div(r[1], angle)),
                          ad_rec(ad_div(r[2], angle)) };

    for (size_t i = 0; i < 3; i++) {
        const size_t j = (i + 1) % 3;
        const size_t k = (i + 2) % 3;
        const ad_rev across = ad_rec(ad_mul(ad_mul(a[i], a[j]),
                                            ad_sub(1.0, c)));
        const ad_rev turned = ad_rec(ad_mul(a[k], s));

        R[4 * i] = ad_rec(ad_add(ad_mul(ad_sqr(a[i]), ad_sub(1.0, c)), c));
        R[3 * i + j] = ad_rec(ad_sub(across, turned));
        R[3 * j + i] = ad_rec(ad_add(across, turned));
    }
}

// theta [26], y [300]; x as in plain_skin.
static inline void skin_points(const double *x, const ad_rev *theta, ad_rev *y)
{
    const skin_data d = skin_of(x);
    ad_rev M[SKIN_BONES][SKIN_MATRIX];
    ad_rev R[9];

    skin_pose(&d, theta, M);
    skin_rotation(theta, R);
    for (size_t i = 0; i < SKIN_POINTS; i++) {
        const double *rest = d.rest + 3 * i;
        ad_rev at[3] = { { 0 } };

        for (size_t k = 0; k < SKIN_PULLS; k++) {
            const ad_rev *m = M[skin_bone(i, k)];
            const double w = d.weight[SKIN_PULLS * i + k];

            for (size_t e = 0; e < 3; e++, m += 4) {
                ad_acc(&at[e], ad_mul(w, ad_add(ad_add(ad_mul(m[0], rest[0]),
                                                       ad_mul(m[1], rest[1])),
                                                ad_add(ad_mul(m[2], rest[2]),
                                                       m[3]))));
            }
        }
        for (size_t e = 0; e < 3; e++) {
            const ad_rev *row = R + 3 * e;

            y[3 * i + e] = ad_rec(ad_sub(d.seen[3 * i + e],
                ad_add(ad_add(ad_mul(row[0], at[0]), ad_mul(row[1], at[1])),
                       ad_add(ad_mul(row[2], at[2]), theta[3 + e]))));
        }
    }
}

#endif
