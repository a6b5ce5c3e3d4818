/* 14  A string whose stiffness is found from how it sounds: the gradient of
 *     1 000 000 time steps, of which 100 states are kept.
 *
 * u'' = c(x)^2 u_xx on 40 points between fixed ends, by leapfrog: each row is
 * made from the two before it. What is compared with a measurement is the last
 * row; derivatives are wanted by the initial shape and by the stiffness at
 * every point.
 *
 * Shows    ad_scan with a state of two taps, a binomial schedule, its report
 * Needs    02
 * Usage    14_wave [steps [states kept]]
 * Prints   1000000 steps of 40 points: misfit 9.9427
 *          100 states and the tape: 80 kB; all of them would take 640 MB
 *          4.8 runs of a step for each
 *          d misfit/d shape     0.45925 along a line, by differences 0.45925
 *          d misfit/d stiffness 17010 along a line, by differences 17010
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_loop.h"
#include "fail.h"

#include <math.h>

enum { POINTS = 40, INPUTS = 2 * POINTS };

// (c dt/dx)^2, of a string that is stiffer in one place.
static double stiffness(int i)
{
    double x = (i + 1.0) / (POINTS + 1) - 0.6;
    return 0.25 + 0.1 * exp(-80 * x * x);
}

static double plucked(int i)
{
    double x = (i + 1.0) / (POINTS + 1);
    return exp(-60 * (x - 0.3) * (x - 0.3));
}

static void leap(ad_step *s, void *ctx)
{
    const ad_rev *before = s->state[0], *now = before + POINTS;
    const ad_rev *k = s->parameter, wall = {0};
    (void)ctx;
    for (int i = 0; i < POINTS; i++) {
        ad_rev west = i > 0 ? now[i - 1] : wall;
        ad_rev east = i < POINTS - 1 ? now[i + 1] : wall;
        ad_expr bend = ad_sub(ad_add(west, east), ad_mul(2, now[i]));
        ad_expr go_on = ad_sub(ad_mul(2, now[i]), before[i]);
        s->next[0][i] = ad_rec(ad_add(go_on, ad_mul(k[i], bend)));
    }
}

// The distance from what is measured: the shape it began with.
static ad_rev misfit(size_t steps, size_t kept, const ad_rev *x,
                     ad_scan_report *report)
{
    static const int taps[] = { -2, -1 };
    ad_rev shape[2 * POINTS], last[2 * POINTS], sum = {0};
    for (int i = 0; i < 2 * POINTS; i++)
        shape[i] = x[i % POINTS];           // at rest: two equal rows
    const ad_scan_state string = { .size = POINTS, .initial = shape,
                                   .last = last, .taps = 2, .tap = taps };
    const ad_scan_desc d = {
        .step = leap, .steps = steps, .states = 1, .state = &string,
        .parameters = POINTS, .parameter = x + POINTS,
        .schedule = { ADREV_BINOMIAL, kept, NULL }
    };
    ad_status status = ad_scan(&d, report);
    if (status != ADREV_OK)
        fail(4, "14_wave: %s", ad_message(status));
    for (int i = 0; i < POINTS; i++) {
        ad_expr error = ad_sub(last[POINTS + i], plucked(i));
        ad_acc(&sum, ad_div(ad_sqr(error), 2));
    }
    return sum;
}

// The same without derivatives, a little along a direction.
static double near(size_t steps, const double *x, const double *v, double h)
{
    ad_rev at[INPUTS];
    for (int i = 0; i < INPUTS; i++)
        at[i] = ad_rec(x[i] + h * v[i]);
    return ad_value(misfit(steps, 1, at, NULL));
}

static void compare(const char *what, size_t steps, double h, const double *x,
                    const double *g, int from)
{
    double v[INPUTS] = {0}, along = 0;
    for (int i = 0; i < POINTS; i++) {
        v[from + i] = (1 + sin(3.0 * i)) / POINTS;
        along += g[from + i] * v[from + i];
    }
    double slope = near(steps, x, v, h) - near(steps, x, v, -h);
    printf("d misfit/d %-9s %.5g along a line, by differences %.5g\n", what,
           along, slope / (2 * h));
}

static size_t argument(int argc, char **argv, int i, size_t otherwise)
{
    if (argc <= i)
        return otherwise;
    char *end;
    long n = strtol(argv[i], &end, 10);
    if (*end != '\0' || n < 1 || n > 100000000)
        fail(2, "usage: %s [steps [states kept]]", argv[0]);
    return (size_t)n;
}

int main(int argc, char **argv)
{
    size_t steps = argument(argc, argv, 1, 1000000);
    size_t kept = argument(argc, argv, 2, 100);
    double x[INPUTS], g[INPUTS] = {0};
    ad_rev in[INPUTS];
    ad_scan_report report;
    for (int i = 0; i < POINTS; i++) {
        x[i] = plucked(i);
        x[POINTS + i] = stiffness(i);
    }

    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_inputs(INPUTS, x, in);
    ad_rev y = misfit(steps, kept, in, &report);
    ad_status status = ad_gradient(t, y, INPUTS, in, g);
    if (status != ADREV_OK)
        fail(4, "14_wave: %s", ad_message(status));
    printf("%zu steps of %d points: misfit %.4f\n", steps, POINTS,
           ad_value(y));
    size_t bytes = report.bytes + ad_tape_bytes(t);
    printf("%zu states and the tape: %zu kB; all of them would take %.0f MB\n",
           report.snapshots, (bytes + 9999) / 10000 * 10,
           (double)steps * sizeof(double) * 2 * POINTS / 1e6);
    printf("%.1f runs of a step for each\n",
           (double)report.evaluations / (double)steps);
    ad_use(NULL);
    compare("shape", steps, 1e-3, x, g, 0);
    compare("stiffness", steps, 1e-7, x, g, POINTS);
    ad_tape_free(t);
}
