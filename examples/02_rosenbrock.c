/* 02  Down the curved valley of Rosenbrock, in ten dimensions.
 *
 * Shows    ad_grad: a program, a point, the value and the gradient there
 * Needs    01
 * Prints   step  0: f = 2057.000
 *          step 20: f =    9.091
 *          step 40: f =    4.596
 *          step 60: f =    0.209
 *          step 80: f =    0.000 at (1.0000, ..., 1.0000): success
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include <stdio.h>

enum { N = 10, MOST_STEPS = 200 };

typedef struct point {
    double x[N];
    double f;
    double g[N];
} point;

static ad_rev rosenbrock(const ad_rev *x, void *ctx)
{
    ad_rev f = {0};
    (void)ctx;
    for (int i = 0; i + 1 < N; i++) {
        ad_expr off = ad_sub(x[i + 1], ad_sqr(x[i]));
        ad_acc(&f, ad_add(ad_mul(100, ad_sqr(off)), ad_sqr(ad_sub(1, x[i]))));
    }
    return f;
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += a[i] * b[i];
    return sum;
}

// From p along -H g, half as far each time, until f falls as it should.
static ad_status search(const point *p, double H[N][N], point *next)
{
    ad_status status = ADREV_OK;
    double promise = 0;
    for (int i = 0; i < N; i++)
        promise += dot(H[i], p->g) * p->g[i];

    for (double far = 1; status == ADREV_OK && far > 1e-9; far /= 2) {
        for (int i = 0; i < N; i++)
            next->x[i] = p->x[i] - far * dot(H[i], p->g);
        status = ad_grad(rosenbrock, NULL, N, next->x, &next->f, next->g);
        if (next->f <= p->f - 1e-4 * far * promise)
            break;
    }
    return status;
}

// BFGS: the smallest change of H, an estimate of the inverse Hessian, with
// which the step just made explains the change of the gradient.
static void learn(double H[N][N], const point *p, const point *next)
{
    double s[N];
    double y[N];
    double Hy[N];
    for (int i = 0; i < N; i++) {
        s[i] = next->x[i] - p->x[i];
        y[i] = next->g[i] - p->g[i];
    }
    for (int i = 0; i < N; i++)
        Hy[i] = dot(H[i], y);

    double sy = dot(s, y);
    double c = 1 + dot(y, Hy) / sy;
    for (int i = 0; i < N && sy > 0; i++)
        for (int j = 0; j < N; j++)
            H[i][j] += (c * s[i] * s[j] - Hy[i] * s[j] - s[i] * Hy[j]) / sy;
}

int main(void)
{
    point p = { .x = { -1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1 } };
    double H[N][N] = {{0}};
    for (int i = 0; i < N; i++)
        H[i][i] = 0.01;

    int k = 0;
    ad_status status = ad_grad(rosenbrock, NULL, N, p.x, &p.f, p.g);
    for (; status == ADREV_OK && dot(p.g, p.g) > 1e-12 && k < MOST_STEPS; k++) {
        if (k % 20 == 0)
            printf("step %2d: f = %8.3f\n", k, p.f);
        point next = p;
        status = search(&p, H, &next);
        learn(H, &p, &next);
        p = next;
    }
    printf("step %2d: f = %8.3f at (%.4f, ..., %.4f): %s\n", k, p.f, p.x[0],
           p.x[N - 1], ad_message(status));
    return status != ADREV_OK || k == MOST_STEPS;
}
