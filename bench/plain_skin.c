// SPDX-License-Identifier: MIT-0
/* plain_skin.c - the skinned hand in plain C. */

#include "skin.h"

#include <math.h>
#include <string.h>

// Columns k and k + 1 of a matrix, turned.
static void turn(double *P, size_t k, double angle)
{
    const double c = cos(angle);
    const double s = sin(angle);

    for (size_t i = k; i < SKIN_MATRIX; i += 4) {
        const double a = P[i];
        const double b = P[i + 1];

        P[i] = a * c + b * s;
        P[i + 1] = b * c - a * s;
    }
}

// Of each bone, from where it rests to where it is.
static void pose(const skin_data *d, const double *theta,
                 double M[][SKIN_MATRIX])
{
    double G[SKIN_BONES][SKIN_MATRIX];

    for (size_t q = 0; q < SKIN_BONES; q++) {
        const size_t joint = skin_joint(q);
        const double *bend = theta + skin_bends(q);
        double P[SKIN_MATRIX];

        memcpy(P, d->base + q * SKIN_MATRIX, sizeof P);
        if (joint == 1) {
            turn(P, 0, bend[1]);
        }
        if (joint > 0) {
            turn(P, 1, bend[joint == 1 ? 0 : joint]);
        }
        if (q == 0) {
            memcpy(G[q], P, sizeof P);
        } else {
            skin_times(G[skin_parent(q)], P, G[q]);
        }
        skin_times(G[q], d->inverse + q * SKIN_MATRIX, M[q]);
    }
}

// By the angle |r| about r, which is not zero.
static void rotation(const double *r, double *R)
{
    const double angle = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    const double c = cos(angle);
    const double s = sin(angle);
    const double a[3] = { r[0] / angle, r[1] / angle, r[2] / angle };

    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3;
        const int k = (i + 2) % 3;
        const double across = a[i] * a[j] * (1.0 - c);
        const double turned = a[k] * s;

        R[4 * i] = a[i] * a[i] * (1.0 - c) + c;
        R[3 * i + j] = across - turned;
        R[3 * j + i] = across + turned;
    }
}

void plain_skin(const bench_case *c, const double *x, double *y, double *dy)
{
    const skin_data d = skin_of(x);
    double M[SKIN_BONES][SKIN_MATRIX];
    double R[9];

    (void)c, (void)dy;
    pose(&d, x, M);
    rotation(x, R);
    for (size_t i = 0; i < SKIN_POINTS; i++) {
        const double *rest = d.rest + 3 * i;
        double at[3] = { 0.0, 0.0, 0.0 };

        for (size_t k = 0; k < SKIN_PULLS; k++) {
            const double *m = M[skin_bone(i, k)];
            const double w = d.weight[SKIN_PULLS * i + k];

            for (int e = 0; e < 3; e++, m += 4) {
                at[e] += w * (m[0] * rest[0] + m[1] * rest[1]
                              + m[2] * rest[2] + m[3]);
            }
        }
        for (size_t e = 0; e < 3; e++) {
            y[3 * i + e] = d.seen[3 * i + e]
                - (R[3 * e] * at[0] + R[3 * e + 1] * at[1]
                   + R[3 * e + 2] * at[2] + x[3 + e]);
        }
    }
}
