/* predators.c - hares and lynxes after Lotka and Volterra, in plain C.
 *
 * Nothing here knows of adrev. predators_ad.h was made from it by
 *
 *     adrev-port examples/predators.c --function misfits \
 *         --with p:PARAMETERS -o examples/predators_ad.h
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "predators.h"

#include <math.h>

// What becomes of them in a year, at the pace of this moment.
static animals change(const double rate[RATES], animals now)
{
    double meetings = now.hares * now.lynxes;
    animals a;
    a.hares = rate[BIRTH] * now.hares - rate[HUNT] * meetings;
    a.lynxes = rate[FEED] * meetings - rate[DEATH] * now.lynxes;
    return a;
}

static animals after(animals now, double years, animals a)
{
    now.hares += years * a.hares;
    now.lynxes += years * a.lynxes;
    return now;
}

// The classical Runge-Kutta step.
static animals step(const double rate[RATES], animals now, double h)
{
    animals a = change(rate, now);
    animals b = change(rate, after(now, h / 2, a));
    animals c = change(rate, after(now, h / 2, b));
    animals d = change(rate, after(now, h, c));
    now = after(after(now, h / 6, a), h / 3, b);
    return after(after(now, h / 3, c), h / 6, d);
}

void forecast(const double p[PARAMETERS], int n, int steps, animals seen[])
{
    double rate[RATES];
    for (int i = 0; i < RATES; i++)
        rate[i] = exp(p[i]);

    animals now = { exp(p[HARES]), exp(p[LYNXES]) };
    for (int k = 0; k < n; k++) {
        seen[k] = now;
        for (int i = 0; i < steps; i++)
            now = step(rate, now, 1.0 / STEPS_A_YEAR);
    }
}

void misfits(const double p[PARAMETERS], int years, const double hares[],
             const double lynxes[], double misfit[])
{
    animals seen[years];
    forecast(p, years, STEPS_A_YEAR, seen);
    for (int k = 0; k < years; k++) {
        misfit[2 * k] = log(seen[k].hares / hares[k]);
        misfit[2 * k + 1] = log(seen[k].lynxes / lynxes[k]);
    }
}
