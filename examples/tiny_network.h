/* tiny_network.h - a network that a sensor calibrates itself with, for example
 * 27: no heap, and nothing of the C library.
 *
 * The sensor's reading depends on the pressure that it should tell, and on the
 * temperature. On a test bench it meets 8 pressures at 4 temperatures, and the
 * network learns the way back, point by point. A unit is a/(1 + |a|): exact
 * operations alone, so weights have the same bits on all machines.
 *
 * Needs a type `number`, float or double, which the caller defines before. With
 * adrev.h included before, there is the loss in recorded numbers, too.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef TINY_NETWORK_H
#define TINY_NETWORK_H

#include <stdint.h>

enum {
    TINY_UNITS = 6,
    TINY_WEIGHTS = 4 * TINY_UNITS + 1,      // of a unit: 2, shift, output
    TINY_IN = 3,                            // reading, temperature, pressure
    TINY_PRESSURES = 8,
    TINY_POINTS = 4 * TINY_PRESSURES
};

typedef struct tiny_network {
    number w[TINY_WEIGHTS];
    number step[TINY_WEIGHTS];
} tiny_network;

// Even between -1 and 1.
static inline number tiny_noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (number)((int32_t)*state >> 8) / 8388608;
}

static inline void tiny_begin(tiny_network *net)
{
    uint32_t state = 27;
    for (int i = 0; i < TINY_WEIGHTS; i++) {
        net->w[i] = tiny_noise(&state);
        net->step[i] = 0;
    }
}

// Point i of the bench, all of it between -1 and 1; the temperature changes
// after each.
static inline void tiny_point(int i, number in[TINY_IN])
{
    const number t = (number)(i % 4) / 2 - (number)0.75;
    const number p = (number)(i / 4) / 4 - (number)0.875;
    const number gain = (number)0.6 - (number)0.15 * t;
    in[0] = p * gain + (number)0.2 * t + (number)0.15 * (p * p)
          - (number)0.1 * (t * t);
    in[1] = t;
    in[2] = p;
}

// One step of descent along a gradient, with momentum.
static inline void tiny_learn(tiny_network *net, const number g[TINY_WEIGHTS])
{
    for (int i = 0; i < TINY_WEIGHTS; i++) {
        net->step[i] = (number)0.8 * net->step[i] - (number)0.02 * g[i];
        net->w[i] += net->step[i];
    }
}

#ifdef ADREV_H
// The square of what the network is off at a point.
static inline ad_rev tiny_loss(const ad_rev w[TINY_WEIGHTS],
                               const ad_rev in[TINY_IN])
{
    ad_rev y = w[TINY_WEIGHTS - 1];
    for (const ad_rev *u = w; u < w + 4 * TINY_UNITS; u += 4) {
        const ad_rev a = ad_rec(ad_add(ad_add(ad_mul(u[0], in[0]),
                                              ad_mul(u[1], in[1])), u[2]));
        ad_acc(&y, ad_mul(u[3], ad_div(a, ad_add(1, ad_abs(a)))));
    }
    return ad_rec(ad_sqr(ad_sub(y, in[2])));
}

// Loss and gradient at a point, on a tape that is current.
static inline ad_status tiny_gradient(ad_tape *t, const tiny_network *net,
                                      const number at[TINY_IN], number *loss,
                                      number g[TINY_WEIGHTS])
{
    ad_rev w[TINY_WEIGHTS], in[TINY_IN];
    ad_tape_clear(t);
    ad_inputs(TINY_WEIGHTS, net->w, w);
    for (int i = 0; i < TINY_IN; i++)
        in[i] = ad_rec(at[i]);
    const ad_rev y = tiny_loss(w, in);
    *loss = ad_value(y);
    return ad_gradient(t, y, TINY_WEIGHTS, w, g);
}
#endif

#endif
