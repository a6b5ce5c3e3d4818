// SPDX-License-Identifier: MIT-0
/* unoptimised.c - a gradient of the statements that statements.sh prints, as a
 * multiple of the plain function. All is compiled as the script says: -O0.   */

#define ADREV_IMPLEMENTATION
#include "../adrev.h"

#include <stdio.h>
#include <time.h>

enum { VARIABLES = 40, TIMES = 500, ROUNDS = 9 };

void statements(ad_rev *x);
void plain_statements(double *x);

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void start(double *x)
{
    for (int i = 0; i < VARIABLES; i++)
        x[i] = 0.5 + 0.01 * i;
}

static double run_plain(void)
{
    double x[VARIABLES];
    double from = seconds();
    for (int k = 0; k < TIMES; k++) {
        start(x);
        plain_statements(x);
    }
    return seconds() - from;
}

static double run_gradient(ad_tape *t, ad_status *status)
{
    double x[VARIABLES];
    double g[VARIABLES];
    ad_rev in[VARIABLES];
    ad_rev y[VARIABLES];
    double from = seconds();
    for (int k = 0; k < TIMES && *status == ADREV_OK; k++) {
        start(x);
        ad_tape_clear(t);
        ad_inputs(VARIABLES, x, in);
        memcpy(y, in, sizeof y);
        statements(y);
        *status = ad_gradient(t, ad_sum(VARIABLES, y), VARIABLES, in, g);
    }
    return seconds() - from;
}

int main(void)
{
    ad_tape *t = ad_tape_new();
    ad_status status = ADREV_OK;
    double plain = 1e9;
    double gradient = 1e9;

    ad_use(t);
    for (int i = 0; i < ROUNDS; i++) {
        plain = fmin(plain, run_plain());
        gradient = fmin(gradient, run_gradient(t, &status));
    }
    printf("-O0: plain %.1f us, gradient %.1f us, %.1f times (%s)\n",
           plain / TIMES * 1e6, gradient / TIMES * 1e6, gradient / plain,
           ad_message(status));
    ad_tape_free(t);
    return status != ADREV_OK;
}
