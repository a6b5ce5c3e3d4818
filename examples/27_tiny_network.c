/* 27  A sensor learns on the device what its readings mean.
 *
 * A network of 25 weights learns pressure from a reading and a temperature, in
 * float, on a tape in static memory: neither heap nor C library (but for printf
 * here). On boards it has the same bits: tests/firmware/training.c.
 *
 * Shows    a gradient in a loop of learning, with ADREV_FIXED
 * Needs    04, 05
 * Prints   epoch   0: off by 0.2613 (root mean square)
 *          epoch 100: off by 0.0311 (root mean square)
 *          epoch 200: off by 0.0211 (root mean square)
 *          epoch 300: off by 0.0175 (root mean square)
 *          epoch 400: off by 0.0169 (root mean square)
 *          a tape of 2048 bytes: success
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_REAL float
#define ADREV_FIXED 1
#define ADREV_STATIC
#define ADREV_IMPLEMENTATION
#include "adrev.h"

typedef float number;

#include "tiny_network.h"

#include <stdio.h>

enum { EPOCHS = 400, BYTES = 2048 };

int main(void)
{
    static uint64_t memory[BYTES / sizeof(uint64_t)];
    ad_tape *t = ad_tape_in(memory, sizeof memory);
    ad_status status = ADREV_OK;
    tiny_network net;
    ad_use(t);
    tiny_begin(&net);
    for (int epoch = 0; epoch <= EPOCHS && status == ADREV_OK; epoch++) {
        number sum = 0, loss = 0;
        for (int i = 0; i < TINY_POINTS && status == ADREV_OK; i++) {
            number in[TINY_IN], g[TINY_WEIGHTS];
            tiny_point(i, in);
            status = tiny_gradient(t, &net, in, &loss, g);
            if (status == ADREV_OK)
                tiny_learn(&net, g);
            sum += loss;
        }
        if (epoch % 100 == 0)
            printf("epoch %3d: off by %.4f (root mean square)\n", epoch,
                   sqrt((double)sum / TINY_POINTS));
    }
    printf("a tape of %d bytes: %s\n", BYTES, ad_message(status));
    return status != ADREV_OK;
}
