// SPDX-License-Identifier: MIT-0
/* random_numbers.h - random numbers that are the same on every machine. */

#ifndef ADREV_TESTS_RANDOM_NUMBERS_H
#define ADREV_TESTS_RANDOM_NUMBERS_H

#include <stdint.h>

// xorshift64*: the same points on every machine.
static inline uint64_t oracle_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

static inline double oracle_uniform(uint64_t *state, double from, double to)
{
    double u = (double)(oracle_random(state) >> 11) * 0x1p-53;
    return from + (to - from) * u;
}

#endif
