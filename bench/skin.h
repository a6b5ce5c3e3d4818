// SPDX-License-Identifier: MIT-0
/* skin.h - points on a hand that 22 bones move: ADBench's HAND, "simple".
 *
 * Five fingers of four bones, of which the first does not bend; the wrist
 * (bone 0) and the forearm (21) do not, either. A bone turns with the one that
 * it hangs on. A point follows four bones by weight, then the whole hand is
 * turned and moved; the results are what was measured minus where it is then.
 * Only the points that were measured are computed (ADBench's own programs move
 * the whole mesh), only by the bones that have a weight.
 */

#ifndef BENCH_SKIN_H
#define BENCH_SKIN_H

#include "workloads.h"

enum {
    SKIN_BONES = 22,
    SKIN_POINTS = 100,
    SKIN_PULLS = 4,             // bones that move a point
    SKIN_THETA = 26,            // rotation 3, shift 3, of each finger 4 angles
    SKIN_MATRIX = 12,           // 3 x 4, row by row: a last row is 0 0 0 1
    SKIN_DATA = 2 * SKIN_BONES * SKIN_MATRIX + SKIN_POINTS * (3 + 4 + 3)
};

// Constants, which follow the inputs in x.
typedef struct skin_data {
    const double *base;         // of each bone a matrix: where it hangs
    const double *inverse;      // from where it rests
    const double *rest;         // of each point
    const double *weight;       // of each point and bone that moves it
    const double *seen;         // of each point
} skin_data;

static inline skin_data skin_of(const double *x)
{
    const double *base = x + SKIN_THETA;
    const double *inverse = base + SKIN_BONES * SKIN_MATRIX;
    const double *rest = inverse + SKIN_BONES * SKIN_MATRIX;

    return (skin_data){ base, inverse, rest, rest + 3 * SKIN_POINTS,
                        rest + (3 + SKIN_PULLS) * SKIN_POINTS };
}

// Place of bone q in its finger, where the first does not bend; so do not the
// wrist and the forearm.
static inline size_t skin_joint(size_t q)
{
    return q == 0 ? 0 : (q - 1) % 4;
}

static inline size_t skin_parent(size_t q)
{
    return skin_joint(q) == 0 ? 0 : q - 1;
}

// Angles of the finger of bone q, if it is one: those of joint 1 about x and z,
// of joints 2 and 3 about x.
static inline size_t skin_bends(size_t q)
{
    return 6 + 4 * (q == 0 ? 0 : (q - 1) / 4);
}

// Bone k of those that move point i.
static inline size_t skin_bone(size_t i, size_t k)
{
    return (i + 6 * k) % SKIN_BONES;
}

// c = a b; also of a derivative a, whose last row is 0 0 0 0.
static inline void skin_times(const double *a, const double *b,
                              double *restrict c)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 4; j++) {
            c[4 * i + j] = a[4 * i] * b[j] + a[4 * i + 1] * b[4 + j]
                         + a[4 * i + 2] * b[8 + j];
        }
        c[4 * i + 3] += a[4 * i + 3];
    }
}

bench_run plain_skin, hand_skin, adrev_skin, replay_skin, compiled_skin;

#endif
