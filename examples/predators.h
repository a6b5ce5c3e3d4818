/* predators.h - hares and lynxes after Lotka and Volterra, in plain C.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef PREDATORS_H
#define PREDATORS_H

// The parameters are the logarithms of four rates and of both numbers at first.
enum { BIRTH, HUNT, DEATH, FEED, RATES, HARES = RATES, LYNXES, PARAMETERS };

enum { STEPS_A_YEAR = 24 };

typedef struct animals {
    double hares;           // in thousands
    double lynxes;
} animals;

// How many there are at n times, `steps` steps and that part of a year apart.
void forecast(const double p[PARAMETERS], int n, int steps, animals seen[]);

// misfit[2 k], [2 k + 1]: logarithms of forecast by count, in the year k.
void misfits(const double p[PARAMETERS], int years, const double hares[],
             const double lynxes[], double misfit[]);

#endif
