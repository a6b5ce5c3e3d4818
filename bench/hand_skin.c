// SPDX-License-Identifier: MIT-0
/* hand_skin.c - the Jacobian of the skinned hand by hand, column by column.
 *
 * An angle moves its own bone and those that hang on it, up to three: there are
 * nine such pairs in a finger. The derivative of a pose goes down the finger
 * as the pose does.
 */

#include "skin.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ANGLES = 4 };            // of a finger

typedef struct bone {
    double P[SKIN_MATRIX];
    double G[SKIN_MATRIX];
    double M[SKIN_MATRIX];
    double dG[ANGLES][SKIN_MATRIX];     // as far as they are not zero:
    double dM[ANGLES][SKIN_MATRIX];     // see moves()
} bone;

// Whether an angle of a finger moves the bone at this joint.
static bool moves(size_t angle, size_t joint)
{
    return joint > 0 && (angle == 0 ? 1 : angle) <= joint;
}

// c = a b where derivatives b have no last column.
static void times_derivative(const double *a, const double *b,
                             double *restrict c)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            c[4 * i + j] = a[4 * i] * b[j] + a[4 * i + 1] * b[4 + j]
                         + a[4 * i + 2] * b[8 + j];
        }
        c[4 * i + 3] = 0.0;
    }
}

// Turns columns k and k + 1 of P; dP becomes the derivative.
static void turn(double *P, size_t k, double angle, double *dP)
{
    const double c = cos(angle);
    const double s = sin(angle);

    memset(dP, 0, SKIN_MATRIX * sizeof *dP);
    for (size_t i = k; i < SKIN_MATRIX; i += 4) {
        const double a = P[i];
        const double b = P[i + 1];

        P[i] = a * c + b * s;
        P[i + 1] = b * c - a * s;
        dP[i] = P[i + 1];
        dP[i + 1] = -P[i];
    }
}

// The same turn of a derivative.
static void turn_also(double *dP, size_t k, double angle)
{
    double none[SKIN_MATRIX];

    turn(dP, k, angle, none);
}

static void place(const skin_data *d, const double *theta, bone *all, size_t q)
{
    const size_t joint = skin_joint(q);
    const double *bend = theta + skin_bends(q);
    const bone *up = &all[skin_parent(q)];
    bone *b = &all[q];
    double dP[ANGLES][SKIN_MATRIX];

    memcpy(b->P, d->base + q * SKIN_MATRIX, sizeof b->P);
    if (joint == 1) {
        turn(b->P, 0, bend[1], dP[1]);
        turn_also(dP[1], 1, bend[0]);
        turn(b->P, 1, bend[0], dP[0]);
    } else if (joint > 1) {
        turn(b->P, 1, bend[joint], dP[joint]);
    }
    if (q == 0) {
        memcpy(b->G, b->P, sizeof b->G);
    } else {
        skin_times(up->G, b->P, b->G);
    }
    skin_times(b->G, d->inverse + q * SKIN_MATRIX, b->M);
    for (size_t angle = 0; angle < ANGLES; angle++) {
        if (!moves(angle, joint)) {
            continue;
        }
        if (moves(angle, joint - 1)) {
            skin_times(up->dG[angle], b->P, b->dG[angle]);
        } else {
            times_derivative(up->G, dP[angle], b->dG[angle]);
        }
        skin_times(b->dG[angle], d->inverse + q * SKIN_MATRIX, b->dM[angle]);
    }
}

// The rotation by the angle |r| about r, and dR[k] = dR/dr[k].
static void rotation(const double *r, double *R, double dR[3][9])
{
    const double angle = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    const double c = cos(angle);
    const double s = sin(angle);
    const double a[3] = { r[0] / angle, r[1] / angle, r[2] / angle };

    for (int l = -1; l < 3; l++) {
        // R itself, then along r[l]: of the angle a[l], of the axis da.
        const bool value = l < 0;
        const double C = value ? c : -s * a[l];
        const double S = value ? s : c * a[l];
        const double rest = value ? 1.0 - c : s * a[l];
        double *to = value ? R : dR[l];
        double da[3] = { 0.0, 0.0, 0.0 };

        for (int i = 0; i < 3 && !value; i++) {
            da[i] = ((i == l) - a[i] * a[l]) / angle;
        }
        for (int i = 0; i < 3; i++) {
            const int j = (i + 1) % 3;
            const int k = (i + 2) % 3;
            const double across = a[i] * a[j] * rest
                                + (da[i] * a[j] + a[i] * da[j]) * (1.0 - c);
            const double turned = a[k] * S + da[k] * s;

            to[4 * i] = a[i] * a[i] * rest + 2.0 * a[i] * da[i] * (1.0 - c) + C;
            to[3 * i + j] = across - turned;
            to[3 * j + i] = across + turned;
        }
    }
}

static void apply(const double *R, const double *v, double *to)
{
    for (int e = 0; e < 3; e++) {
        to[e] = R[3 * e] * v[0] + R[3 * e + 1] * v[1] + R[3 * e + 2] * v[2];
    }
}

// Adds w M (rest, 1).
static void pull(const double *m, double w, const double *rest, double *at)
{
    for (int e = 0; e < 3; e++, m += 4) {
        at[e] += w * (m[0] * rest[0] + m[1] * rest[1] + m[2] * rest[2] + m[3]);
    }
}

// The rows of a point: what is measured minus where it is.
static void put(double *rows, size_t column, const double *v)
{
    for (size_t e = 0; e < 3; e++) {
        rows[SKIN_THETA * e + column] = -v[e];
    }
}

static void point(const skin_data *d, const bone *all, const double *R,
                  double dR[3][9], size_t i, double *at, double *rows)
{
    const double *rest = d->rest + 3 * i;
    double v[3];

    memset(at, 0, 3 * sizeof *at);
    memset(rows, 0, 3 * SKIN_THETA * sizeof *rows);
    for (size_t k = 0; k < SKIN_PULLS; k++) {
        const size_t q = skin_bone(i, k);
        const double w = d->weight[SKIN_PULLS * i + k];

        pull(all[q].M, w, rest, at);
        for (size_t angle = 0; angle < ANGLES; angle++) {
            double dv[3] = { 0.0, 0.0, 0.0 };

            if (moves(angle, skin_joint(q))) {
                pull(all[q].dM[angle], w, rest, dv);
                apply(R, dv, v);
                // two bones of a finger may pull the same point
                for (size_t e = 0; e < 3; e++) {
                    rows[SKIN_THETA * e + skin_bends(q) + angle] -= v[e];
                }
            }
        }
    }
    for (size_t l = 0; l < 3; l++) {
        apply(dR[l], at, v);
        put(rows, l, v);
        rows[SKIN_THETA * l + 3 + l] = -1.0;
    }
}

void hand_skin(const bench_case *c, const double *x, double *y, double *dy)
{
    const skin_data d = skin_of(x);
    bone all[SKIN_BONES];
    double R[9];
    double dR[3][9];

    (void)c;
    for (size_t q = 0; q < SKIN_BONES; q++) {
        place(&d, x, all, q);
    }
    rotation(x, R, dR);
    for (size_t i = 0; i < SKIN_POINTS; i++) {
        double at[3];
        double v[3];

        point(&d, all, R, dR, i, at, dy + 3 * SKIN_THETA * i);
        apply(R, at, v);
        for (size_t e = 0; e < 3; e++) {
            y[3 * i + e] = d.seen[3 * i + e] - (v[e] + x[3 + e]);
        }
    }
}
