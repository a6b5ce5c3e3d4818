/* noise.h - even noise between -1 and 1, the same numbers everywhere, for the
 * examples.
 *
 *     uint32_t state = 17;
 *     double v = noise(&state);
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef NOISE_H
#define NOISE_H

#include <stdint.h>

static double noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state / 2147483648.0 - 1;
}

#endif
