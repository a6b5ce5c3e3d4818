/* attitude_data.c - simulates what the sensors of examples/attitude.txt read:
 *
 *     cc -std=c11 attitude_data.c -o attitude_data -lm
 *     ./attitude_data > attitude.txt
 *
 * No sensor has measured this. A rigid body turns by Euler's equations, with
 * three moments of inertia, friction, and torques that are slow waves; it is
 * shaken, too. A line for each sample: counts of gyroscope (the mean since the
 * last one), accelerometer and magnetometer along the axes of the body, in
 * units of attitude.h, with noise and a bias of the gyroscope that grows; then
 * the true quaternion and, at the end, the true bias in rad/s.
 *
 * SPDX-License-Identifier: MIT-0
 */

typedef double number;

#include "attitude.h"
#include "noise.h"

#include <stdio.h>

enum { SAMPLES = 500, STEPS = 20, STATE = 7 };      // steps between samples

// Quaternion and rates: how fast they change at a time.
static void speed(double time, const double s[STATE], double ds[STATE])
{
    static const double inertia[3] = { 1.0e-3, 1.6e-3, 2.2e-3 };    // kg m^2
    static const double wave[3] = { 0.73, 0.51, 0.37 };             // rad/s
    static const double torque[3] = { 1.6e-3, 1.2e-3, 0.9e-3 };     // N m
    const double friction = 1.0e-3;                                 // N m s
    const double *q = s, *w = s + 4;
    ds[0] = -0.5 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        ds[1 + i] = 0.5 * (q[0] * w[i] + q[1 + j] * w[k] - q[1 + k] * w[j]);
        ds[4 + i] = (torque[i] * cos(wave[i] * time + i) - friction * w[i]
                     + (inertia[j] - inertia[k]) * w[j] * w[k])
                  / inertia[i];
    }
}

// A step of the classical Runge-Kutta method.
static void advance(double time, double dt, double s[STATE])
{
    static const double part[4] = { 0, 0.5, 0.5, 1 };
    double ds[4][STATE] = {{0}}, length = 0;
    for (int r = 0; r < 4; r++) {
        double at[STATE];
        for (int i = 0; i < STATE; i++)
            at[i] = s[i] + part[r] * dt * ds[r > 0 ? r - 1 : 0][i];
        speed(time + part[r] * dt, at, ds[r]);
    }
    for (int i = 0; i < STATE; i++)
        s[i] += dt / 6 * (ds[0][i] + 2 * ds[1][i] + 2 * ds[2][i] + ds[3][i]);
    for (int i = 0; i < 4; i++)
        length += s[i] * s[i];
    for (int i = 0; i < 4; i++)
        s[i] /= sqrt(length);
}

// A vector of the earth in the axes of the body.
static void to_body(const double q[4], const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const double *u = q + 1;
        const double along = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
        out[i] = (2 * q[0] * q[0] - 1) * v[i] + 2 * along * u[i]
               + 2 * q[0] * (v[j] * u[k] - v[k] * u[j]);
    }
}

// What is read: in counts, with even noise of this standard deviation.
static void read_sensor(const double v[3], double sigma, double unit)
{
    static uint32_t state = 26;
    for (int k = 0; k < 3; k++)
        printf("%.0f ", round((v[k] + sigma * sqrt(3) * noise(&state)) / unit));
}

int main(void)
{
    static const double bias[3] = { 0.03, -0.02, 0.04 };        // rad/s
    static const double field[3] = { ATTITUDE_NORTH, 0, -ATTITUDE_DOWN };
    double s[STATE] = { 0.8, 0.4, -0.4, 0.2, 0, 0, 0 };
    double now[3] = {0};
    printf("# simulated by attitude_data.c: counts of gyroscope, accelerometer,"
           " magnetometer;\n# the true quaternion\n");
    for (int n = 0; n < SAMPLES; n++) {
        double rate[3] = {0}, up[3], seen[3];
        for (int step = 0; step < STEPS; step++) {
            advance((n * STEPS + step) / (double)(STEPS * ATTITUDE_HERTZ),
                    1.0 / (STEPS * ATTITUDE_HERTZ), s);
            for (int k = 0; k < 3; k++)
                rate[k] += s[4 + k] / STEPS;
        }
        const double time = (n + 1) / (double)ATTITUDE_HERTZ;
        const double pull[3] = { 0.02 * sin(13 * time), 0.02 * sin(17 * time),
                                 1 + 0.02 * sin(19 * time) };
        for (int k = 0; k < 3; k++) {
            now[k] = bias[k] * (1 + time / 100);
            rate[k] += now[k];
        }
        to_body(s, pull, up);
        to_body(s, field, seen);
        read_sensor(rate, 0.005, ATTITUDE_GYRO);
        read_sensor(up, 0.02, ATTITUDE_ACCEL);
        read_sensor(seen, 0.015, ATTITUDE_MAG);
        printf("%.5f %.5f %.5f %.5f\n", s[0], s[1], s[2], s[3]);
    }
    printf("# bias at the end: %.4f %.4f %.4f\n", now[0], now[1], now[2]);
    return fflush(stdout) != 0 || ferror(stdout);
}
