/* Made by adrev-port from predators.c: changes belong there.
 *
 *     misfits_ad of p
 */

#ifndef PREDATORS_AD_H
#define PREDATORS_AD_H

#include "predators.h"
#include <math.h>
#include "adrev.h"

typedef struct animals_ad {
    ad_rev hares;           // in thousands
    ad_rev lynxes;
} animals_ad;

// What becomes of them in a year, at the pace of this moment.
static animals_ad change_ad(const ad_rev rate[RATES], animals_ad now)
{
    ad_rev meetings = ad_rec(ad_mul(now.hares, now.lynxes));
    animals_ad a;
    a.hares = ad_rec(ad_sub(ad_mul(rate[BIRTH], now.hares),
                            ad_mul(rate[HUNT], meetings)));
    a.lynxes = ad_rec(ad_sub(ad_mul(rate[FEED], meetings),
                             ad_mul(rate[DEATH], now.lynxes)));
    return a;
}

static animals_ad after_ad(animals_ad now, double years, animals_ad a)
{
    ad_acc(&now.hares, ad_mul(years, a.hares));
    ad_acc(&now.lynxes, ad_mul(years, a.lynxes));
    return now;
}

// The classical Runge-Kutta step.
static animals_ad step_ad(const ad_rev rate[RATES], animals_ad now, double h)
{
    animals_ad a = change_ad(rate, now);
    animals_ad b = change_ad(rate, after_ad(now, h / 2, a));
    animals_ad c = change_ad(rate, after_ad(now, h / 2, b));
    animals_ad d = change_ad(rate, after_ad(now, h, c));
    now = after_ad(after_ad(now, h / 6, a), h / 3, b);
    return after_ad(after_ad(now, h / 3, c), h / 6, d);
}

static inline void forecast_ad(const ad_rev p[PARAMETERS], int n, int steps,
                               animals_ad seen[])
{
    ad_rev rate[RATES];
    for (int i = 0; i < RATES; i++)
        rate[i] = ad_rec(ad_exp(p[i]));

    animals_ad now = { ad_rec(ad_exp(p[HARES])), ad_rec(ad_exp(p[LYNXES])) };
    for (int k = 0; k < n; k++) {
        seen[k] = now;
        for (int i = 0; i < steps; i++)
            now = step_ad(rate, now, 1.0 / STEPS_A_YEAR);
    }
}

static inline void misfits_ad(const ad_rev p[PARAMETERS], int years,
                              const double hares[],
                              const double lynxes[], ad_rev misfit[])
{
    animals_ad seen[years];
    forecast_ad(p, years, STEPS_A_YEAR, seen);
    for (int k = 0; k < years; k++) {
        misfit[2 * k] = ad_rec(ad_log(ad_div(seen[k].hares, hares[k])));
        misfit[2 * k + 1] = ad_rec(ad_log(ad_div(seen[k].lynxes, lynxes[k])));
    }
}

#endif
