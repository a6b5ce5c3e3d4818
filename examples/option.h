/* option.h - the market of 11_monte_carlo: its random numbers, the formula of
 * Black and Scholes, and a table of prices and Greeks.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef OPTION_H
#define OPTION_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { STOCK, VOLATILITY, RATE, YEARS, N };

static const double market[N] = { 100, 0.2, 0.05, 1 };
static const double strike = 100;

typedef struct estimate {
    double price;
    double error;
    double g[N];            // its derivatives by the market
} estimate;

// The i-th number of SplitMix64, between 0 and 1.
static double uniform(uint64_t i)
{
    uint64_t z = i * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

// A normal number that depends on i only (Box and Muller).
static double normal(uint64_t i)
{
    double angle = 6.28318530717958648 * uniform(2 * i + 2);
    return sqrt(-2 * log(uniform(2 * i + 1))) * cos(angle);
}

// What a European call is worth, with the derivatives as textbooks have them.
static estimate formula(void)
{
    double S = market[STOCK];
    double T = market[YEARS];
    double r = market[RATE];
    double noise = market[VOLATILITY] * sqrt(T);
    double d = (log(S / strike) + r * T) / noise + noise / 2;
    double delta = erfc(-d / sqrt(2)) / 2;
    double density = exp(-d * d / 2) / sqrt(6.28318530717958648);
    double bond = strike * exp(-r * T) * erfc((noise - d) / sqrt(2)) / 2;
    estimate e = { .price = S * delta - bond };
    e.g[STOCK] = delta;
    e.g[VOLATILITY] = S * density * sqrt(T);
    e.g[RATE] = bond * T;
    e.g[YEARS] = bond * r + S * density * noise / (2 * T);
    return e;
}

static void print(const char *name, const estimate *e)
{
    printf("%-11s %10.4f +- %.4f %6.3f %7.3f %7.3f %7.3f\n", name, e->price,
           e->error, e->g[STOCK], e->g[VOLATILITY], e->g[RATE], -e->g[YEARS]);
}

static double seconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
