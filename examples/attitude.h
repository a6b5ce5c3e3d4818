/* attitude.h - a filter that finds out how a body is turned, for example 26:
 * C99, no heap, and nothing but sqrt of the C library.
 *
 * Its state is a unit quaternion that turns the body's axes to those of the
 * earth (north, west, up), and what the gyroscope reads at rest, its bias. The
 * filter has no Jacobians of its own: between its functions the caller gives
 * them, by whatever makes them (26_attitude.c: by adrev).
 *
 *     attitude_motion(&f, sample, in);
 *     ...                      q = turned(in), J = dq/din
 *     attitude_predict(&f, q, J);
 *     ...                      y = sighted(f.x), H = dy/df.x
 *     attitude_correct(&f, sample, y, H);
 *
 * Needs a type `number`, float or double, which the caller defines before.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ATTITUDE_H
#define ATTITUDE_H

#include <math.h>
#include <stdint.h>

enum {
    ATTITUDE_Q = 4,             // the quaternion
    ATTITUDE_N = 7,             // the state: it and three biases
    ATTITUDE_IN = 7,            // of turned: it and three rates
    ATTITUDE_SEEN = 6,          // of sighted: where is up, and the field
    ATTITUDE_SAMPLE = 9,        // gyroscope, accelerometer, magnetometer
    ATTITUDE_HERTZ = 25
};

// What one count of a sensor is: 1/131 degree a second, 1/16384 g, and 0.15 uT
// of a field of 48 uT, which points north and 65 degrees downwards.
#define ATTITUDE_GYRO  ((number)(3.14159265358979 / 180 / 131))
#define ATTITUDE_ACCEL ((number)(1.0 / 16384))
#define ATTITUDE_MAG   ((number)(0.15 / 48))
#define ATTITUDE_NORTH ((number)0.422618261740699)
#define ATTITUDE_DOWN  ((number)0.906307787036650)

// Half of a step, in seconds.
#define ATTITUDE_HALF ((number)(0.5 / ATTITUDE_HERTZ))

typedef struct attitude {
    number x[ATTITUDE_N];
    number P[ATTITUDE_N][ATTITUDE_N];       // covariance of their errors
} attitude;

static inline number attitude_root(number a)
{
    return sizeof a == sizeof(float) ? (number)sqrtf((float)a)
                                     : (number)sqrt((double)a);
}

// Knows nothing but that the bias is below 0.1 rad/s or so.
static inline void attitude_begin(attitude *f)
{
    for (int i = 0; i < ATTITUDE_N; i++) {
        f->x[i] = i == 0;
        for (int j = 0; j < ATTITUDE_N; j++)
            f->P[i][j] = i != j ? 0 : i < ATTITUDE_Q ? (number)0.5
                                                     : (number)0.01;
    }
}

// The quaternion, and the rates that the gyroscope has measured.
static inline void attitude_motion(const attitude *f,
                                   const int16_t sample[ATTITUDE_SAMPLE],
                                   number in[ATTITUDE_IN])
{
    for (int i = 0; i < ATTITUDE_Q; i++)
        in[i] = f->x[i];
    for (int k = 0; k < 3; k++)
        in[ATTITUDE_Q + k] = sample[k] * ATTITUDE_GYRO - f->x[ATTITUDE_Q + k];
}

// P = F P F' + noise of the rates and of the bias. F is (A, -B; 0, 1), where
// (A B) is J: rates are measured less the bias.
static inline void attitude_predict(attitude *f, const number q[ATTITUDE_Q],
                                    const number J[ATTITUDE_Q * ATTITUDE_IN])
{
    enum { N = ATTITUDE_N, Q = ATTITUDE_Q };
    const number rate = (number)1e-4, drift = (number)1e-8;   // variances
    number F[N][N], FP[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            F[i][j] = i >= Q ? (number)(i == j) : j < Q ? J[i * N + j]
                                                        : -J[i * N + j];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            FP[i][j] = 0;
            for (int k = 0; k < N; k++)
                FP[i][j] += F[i][k] * f->P[k][j];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            number sum = i == j && i >= Q ? drift : 0;
            for (int k = 0; k < N; k++)
                sum += FP[i][k] * F[j][k];
            for (int k = Q; k < N && i < Q && j < Q; k++)
                sum += F[i][k] * F[j][k] * rate;
            f->P[i][j] = sum;
        }
    for (int i = 0; i < Q; i++)
        f->x[i] = q[i];
}

// One number of the sight after the other: no matrix to invert. y and H belong
// to the state before the first of them.
static inline void attitude_correct(attitude *f,
                                    const int16_t sample[ATTITUDE_SAMPLE],
                                    const number y[ATTITUDE_SEEN],
                                    const number H[ATTITUDE_SEEN * ATTITUDE_Q])
{
    enum { N = ATTITUDE_N, Q = ATTITUDE_Q };
    number moved[N] = {0}, length = 0;
    for (int m = 0; m < ATTITUDE_SEEN; m++) {
        const number *h = H + m * Q;
        const number unit = m < 3 ? ATTITUDE_ACCEL : ATTITUDE_MAG;
        number off = sample[3 + m] * unit - y[m];
        number S = m < 3 ? (number)9e-4 : (number)4e-4;     // variance
        number PH[N];
        for (int i = 0; i < N; i++) {
            PH[i] = 0;
            for (int j = 0; j < Q; j++)
                PH[i] += f->P[i][j] * h[j];
        }
        for (int j = 0; j < Q; j++) {
            S += h[j] * PH[j];
            off -= h[j] * moved[j];
        }
        for (int i = 0; i < N; i++) {
            moved[i] += PH[i] / S * off;
            for (int j = 0; j < N; j++)
                f->P[i][j] -= PH[i] * PH[j] / S;
        }
    }
    for (int i = 0; i < N; i++)
        f->x[i] += moved[i];
    for (int i = 0; i < Q; i++)
        length += f->x[i] * f->x[i];
    for (int i = 0; i < Q; i++)
        f->x[i] /= attitude_root(length);
}

#endif
