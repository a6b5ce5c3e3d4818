/* 03  A vector turned by a quaternion: its 21 derivatives.
 *
 * Shows    ad_jac; the same text in forward mode; what a Jacobian must obey
 * Needs    01
 * Prints   dy/d:  q0      q1      q2      q3      v0      v1      v2  |    y
 *            0.1956  0.5822  0.7022  0.0133  0.1333 -0.9333 -0.3333  | -2.7333
 *            0.7111 -1.0222  0.3111 -0.4000  0.6667  0.3333 -0.6667  | -0.6667
 *            0.4089  0.3689  0.8622 -0.0933  0.7333 -0.1333  0.6667  |  2.4667
 *          forward mode agrees: yes, J q = 0: yes
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include <stdio.h>

enum { M = 3, N = 7 };

#define CROSS(a, b, i)                                                      \
    ad_sub(ad_mul((a)[((i) + 1) % 3], (b)[((i) + 2) % 3]),                  \
           ad_mul((a)[((i) + 2) % 3], (b)[((i) + 1) % 3]))
#define SQUARE(q)                                                           \
    ad_add(ad_add(ad_sqr((q)[0]), ad_sqr((q)[1])),                          \
           ad_add(ad_sqr((q)[2]), ad_sqr((q)[3])))

// One text for both modes. Four numbers q of any length turn the three that
// follow:  y = v + w t + u x t,  q = (w, u),  t = 2 (u x v) / |q|^2.
#define DEFINE_TURN(name, number, keep)                                     \
    static void name(const number *q, number *y, void *ctx)                 \
    {                                                                       \
        number s = keep(ad_div(2, SQUARE(q)));                              \
        number t[3];                                                        \
        for (int i = 0; i < 3; i++)                                         \
            t[i] = keep(ad_mul(s, CROSS(q + 1, q + 4, i)));                 \
        for (int i = 0; i < 3; i++)                                         \
            y[i] = keep(ad_add(ad_add(q[4 + i], ad_mul(q[0], t[i])),        \
                               CROSS(q + 1, t, i)));                        \
        (void)ctx;                                                          \
    }

DEFINE_TURN(turn, ad_rev, ad_rec)
DEFINE_TURN(turn_forward, ad_fwd, ad_dual)

static void print(const double y[M], const double J[M * N])
{
    puts("dy/d:  q0      q1      q2      q3      v0      v1      v2  |    y");
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++)
            printf("%8.4f", J[i * N + j]);
        printf("  |%8.4f\n", y[i]);
    }
}

// The largest difference to the columns that forward mode finds.
static double off_forward(const double x[N], const double J[M * N])
{
    double worst = 0;
    for (int j = 0; j < N; j++) {
        ad_fwd in[N];
        ad_fwd out[M];
        for (int k = 0; k < N; k++)
            in[k] = (ad_fwd){ x[k], k == j };
        turn_forward(in, out, NULL);
        for (int i = 0; i < M; i++)
            worst = fmax(worst, fabs(out[i].d - J[i * N + j]));
    }
    return worst;
}

// A quaternion twice as long turns alike, so J q is 0.
static double off_scale(const double x[N], const double J[M * N])
{
    double worst = 0;
    for (int i = 0; i < M; i++) {
        double sum = 0;
        for (int j = 0; j < 4; j++)
            sum += J[i * N + j] * x[j];
        worst = fmax(worst, fabs(sum));
    }
    return worst;
}

int main(void)
{
    const double x[N] = { 4, 1, -2, 3, 1, 2, 3 };
    double y[M];
    double J[M * N];

    ad_status status = ad_jac(turn, NULL, N, x, M, y, J);
    if (status != ADREV_OK) {
        fprintf(stderr, "%s\n", ad_message(status));
        return 1;
    }
    print(y, J);
    printf("forward mode agrees: %s, J q = 0: %s\n",
           off_forward(x, J) < 1e-14 ? "yes" : "no",
           off_scale(x, J) < 1e-14 ? "yes" : "no");
    return 0;
}
