/* adam.h - steps down a gradient, each variable at its own pace, for the
 * examples.
 *
 *     static adam state;                   // zeros
 *     adam_step(&state, 0.01, n, x, g);    // 0.01: how far, at first
 *
 * A step goes along the mean of the last ten or so gradients, divided by the
 * root of the mean of their squares (Kingma and Ba).
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADAM_H
#define ADAM_H

#include <math.h>
#include <stddef.h>

enum { ADAM_MOST = 2000 };          // variables

typedef struct adam {
    double mean[ADAM_MOST], square[ADAM_MOST];
    int steps;
} adam;

static void adam_step(adam *a, double rate, size_t n, double x[],
                      const double g[])
{
    a->steps++;
    for (size_t i = 0; i < n && i < ADAM_MOST; i++) {
        a->mean[i] += 0.1 * (g[i] - a->mean[i]);
        a->square[i] += 0.01 * (g[i] * g[i] - a->square[i]);
        double mean = a->mean[i] / (1 - pow(0.9, a->steps));
        double square = a->square[i] / (1 - pow(0.99, a->steps));
        x[i] -= rate * mean / (sqrt(square) + 1e-8);
    }
}

#endif
