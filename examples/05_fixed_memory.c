/* 05  An accelerometer calibrates itself, without malloc.
 *
 * Shows    ad_tape_in, ad_tape_bytes, and what a tape too small says
 * Needs    01
 * Prints   1024 bytes: success
 *          offset  0.10 -0.05  0.20, gain  1.05  0.97  1.02
 *          exactly enough: success
 *          one byte less: the fixed memory of the tape is full: see ad_tape_missing
 *          16 bytes: no tape: the tape is NULL
 *
 * Firmware adds -DADREV_REAL=float -DADREV_FIXED=1 (README, small machines). It
 * may take the size of its buffer from a run like this.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_NO_STDLIB
#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include <stdio.h>

enum { N = 6, READINGS = 60 };

// An extended Kalman filter for three offsets (in g) and three gains.
typedef struct filter {
    ad_real x[N];
    ad_real P[N][N];        // covariance of x
} filter;

// What the sensor reads at rest in its i-th position.
static void read_sensor(int i, ad_real a[3])
{
    double up = (i % 7 - 3) / 3.5;
    double flat = sqrt(1 - up * up);
    a[0] = (ad_real)(0.10 + flat * cos(2.4 * i) / 1.05);
    a[1] = (ad_real)(-0.05 + flat * sin(2.4 * i) / 0.97);
    a[2] = (ad_real)(0.20 + up / 1.02);
}

// How strong the pull is if x is right. It ought to be 1.
static ad_rev pull(const ad_rev x[N], const ad_real a[3])
{
    ad_rev sum = {0};
    for (int k = 0; k < 3; k++)
        ad_acc(&sum, ad_sqr(ad_mul(x[3 + k], ad_sub(a[k], x[k]))));
    return ad_rec(ad_sqrt(sum));
}

static ad_status learn(ad_tape *t, filter *f, const ad_real a[3])
{
    ad_rev x[N];
    ad_real h[N];
    ad_real Ph[N] = {0};
    ad_real s = (ad_real)1e-4;      // variance of a reading

    ad_tape_clear(t);
    ad_inputs(N, f->x, x);
    ad_rev y = pull(x, a);
    ad_status status = ad_gradient(t, y, N, x, h);
    if (status != ADREV_OK)
        return status;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            Ph[i] += f->P[i][j] * h[j];
    for (int i = 0; i < N; i++)
        s += h[i] * Ph[i];
    for (int i = 0; i < N; i++) {
        f->x[i] += Ph[i] / s * (1 - ad_value(y));
        for (int j = 0; j < N; j++)
            f->P[i][j] -= Ph[i] * Ph[j] / s;
    }
    return ADREV_OK;
}

// *need is what the tape needed, as long as it sufficed.
static ad_status calibrate(filter *f, size_t bytes, size_t *need)
{
    static _Alignas(max_align_t) unsigned char memory[1024];
    ad_tape *t = ad_tape_in(memory, bytes);
    ad_status status = ad_tape_status(t);

    *f = (filter){ .x = { 0, 0, 0, 1, 1, 1 } };
    for (int i = 0; i < N; i++)
        f->P[i][i] = 1;
    ad_use(t);
    for (int i = 0; i < READINGS && status == ADREV_OK; i++) {
        ad_real a[3];
        read_sensor(i, a);
        status = learn(t, f, a);
    }
    *need = t == NULL ? 0 : ad_tape_bytes(t);
    ad_use(NULL);
    return status;
}

int main(void)
{
    filter f;
    size_t need;
    size_t ignored;
    ad_status status = calibrate(&f, 1024, &need);

    printf("1024 bytes: %s\n", ad_message(status));
    if (status != ADREV_OK)
        return 1;
    printf("offset");
    for (int i = 0; i < N; i++)
        printf("%s%6.2f", i == 3 ? ", gain" : "", (double)f.x[i]);

    status = calibrate(&f, need, &ignored);
    printf("\nexactly enough: %s\n", ad_message(status));
    status = calibrate(&f, need - 1, &ignored);
    printf("one byte less: %s\n", ad_message(status));
    status = calibrate(&f, 16, &ignored);
    printf("16 bytes: %s\n", ad_message(status));
    return 0;
}
