/* 04  A network of 33 weights learns to tell two half moons apart.
 *
 * Shows    ad_tape_mark and ad_tape_rewind: the tape holds the weights and one
 *          example at a time; the same program with constants only
 * Needs    02
 * Prints   epoch   0: loss 0.7038
 *          epoch 100: loss 0.1310
 *          epoch 200: loss 0.0154
 *          epoch 300: loss 0.0075
 *          epoch 400: loss 0.0049
 *          success
 *          #####################################....
 *          ###################################......
 *          #################################........
 *          #############......#############.........
 *          ###########..........#########...........
 *          ##########............######.............
 *          ########.................................
 *          #######..................................
 *          #####....................................
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include <stdio.h>

enum { HIDDEN = 8, WEIGHTS = 4 * HIDDEN + 1, EXAMPLES = 64, EPOCHS = 400 };

// Between -1 and 1, the same numbers everywhere.
static double noise(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return state / 2147483648.0 - 1;
}

// 1: the upper moon, -1: the lower one.
static double side(int example) { return example % 2 == 0 ? 1 : -1; }

static void draw(int example, double x[2])
{
    double angle = 3.14159 * example / (EXAMPLES - 1);
    x[0] = cos(angle) - 0.5 * side(example) + 0.15 * noise();
    x[1] = side(example) * (sin(angle) - 0.25) + 0.15 * noise();
}

// Above 0: upper moon.
static ad_rev network(const ad_rev *w, const double *x)
{
    ad_rev y = w[WEIGHTS - 1];
    for (const ad_rev *u = w; u < w + 4 * HIDDEN; u += 4) {
        ad_expr in = ad_add(ad_mul(u[0], x[0]), ad_mul(u[1], x[1]));
        ad_acc(&y, ad_mul(u[3], ad_tanh(ad_add(in, u[2]))));
    }
    return y;
}

// Sums the losses of the examples and their gradients.
static ad_status learn(ad_tape *t, double x[EXAMPLES][2],
                       const double w[WEIGHTS], double *loss, double *g)
{
    ad_rev in[WEIGHTS];
    ad_status status = ADREV_OK;

    ad_tape_clear(t);
    ad_inputs(WEIGHTS, w, in);
    ad_mark mark = ad_tape_mark(t);
    for (int i = 0; i < EXAMPLES && status == ADREV_OK; i++) {
        double part[WEIGHTS] = {0};
        ad_expr wrong = ad_mul(network(in, x[i]), -side(i));
        ad_rev y = ad_rec(ad_softplus(wrong));
        status = ad_gradient(t, y, WEIGHTS, in, part);
        *loss += ad_value(y);
        for (int j = 0; j < WEIGHTS; j++)
            g[j] += part[j];
        if (status == ADREV_OK)
            status = ad_tape_rewind(t, mark);
    }
    return status;
}

// What the network says all over the plane.
static void show(const double w[WEIGHTS])
{
    ad_rev constant[WEIGHTS];
    for (int j = 0; j < WEIGHTS; j++)
        constant[j] = ad_rec(w[j]);
    for (int row = 4; row >= -4; row--) {
        for (int k = -20; k <= 20; k++) {
            const double x[2] = { k / 10.0, row / 4.0 };
            putchar(ad_value(network(constant, x)) > 0 ? '#' : '.');
        }
        putchar('\n');
    }
}

int main(void)
{
    double x[EXAMPLES][2];
    double w[WEIGHTS];
    double step[WEIGHTS] = {0};
    ad_status status = ADREV_OK;
    ad_tape *t = ad_tape_new();
    ad_use(t);

    for (int i = 0; i < EXAMPLES; i++)
        draw(i, x[i]);
    for (int j = 0; j < WEIGHTS; j++)
        w[j] = noise();
    for (int k = 0; k <= EPOCHS && status == ADREV_OK; k++) {
        double loss = 0;
        double g[WEIGHTS] = {0};
        status = learn(t, x, w, &loss, g);
        if (k % 100 == 0)
            printf("epoch %3d: loss %.4f\n", k, loss / EXAMPLES);
        for (int j = 0; j < WEIGHTS; j++) {
            step[j] = 0.9 * step[j] - 0.2 * g[j] / EXAMPLES;
            w[j] += step[j];
        }
    }
    ad_tape_free(t);
    printf("%s\n", ad_message(status));
    show(w);
    return status != ADREV_OK;
}
