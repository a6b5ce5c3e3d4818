// SPDX-License-Identifier: MIT-0
/* recording.c - what it costs to record a function, simplified: the loop of
 * workloads.h, its mean with respect to four numbers,
 *
 *     recording [-r rounds] [n ...]    default: 10^3, 10^5 and 10^7 operations
 *
 *   gradient     of a tape, recorded and swept, for each operation
 *   first        of the function recorded for the first time, in new memory
 *   record       recorded again
 *   ratio        of that to the gradient: the median of rounds, behind it half
 *                the distance between the quartiles in percent
 *   error        of the recorded function's gradient, against the tape's
 *
 * Not representative: of nine operations two are a sine and an exponential, and
 * none is found twice. */

#define ADREV_IMPLEMENTATION
#include "../adrev_function.h"

#include "report.h"

enum { STEP_OPERATIONS = 9 };

static const double start[4] = { 0.3, 0.9, 0.7, 0.2 };
static const double tolerance = 1e-9;

static void loop(const ad_rev *in, ad_rev *y, void *ctx)
{
    const size_t steps = *(const size_t *)ctx;
    ad_rev x = in[0];
    ad_rev sum = { 0 };

    for (size_t k = 0; k < steps; k++) {
        x = ad_rec(ad_add(ad_add(ad_mul(ad_sin(x), in[1]),
                                 ad_mul(ad_exp(ad_mul(ad_neg(x), x)), in[2])),
                          in[3]));
        ad_acc(&sum, x);
    }
    y[0] = ad_rec(ad_div(sum, (double)steps));
}

static double tape_gradient(ad_tape *t, size_t steps, double *g)
{
    ad_rev in[4];
    ad_rev y;
    const double begin = wall();

    ad_tape_clear(t);
    ad_use(t);
    ad_inputs(4, start, in);
    loop(in, &y, &steps);
    ad_use(NULL);
    if (ad_gradient(t, y, 4, in, g) != ADREV_OK) {
        g[0] = HUGE_VAL;
    }
    return wall() - begin;
}

// The function that was there before is freed first.
static double record(ad_fn **fn, size_t steps)
{
    ad_fn_free(*fn);
    *fn = NULL;

    const ad_fn_options once = { .once = true };    // what is timed here
    const double begin = wall();
    const ad_status status = ad_fn_record_with(fn, &once, loop, &steps, 4,
                                               start, 1);
    const double end = wall();

    return status == ADREV_OK ? end - begin : HUGE_VAL;
}

// One line of the table; whether the function is right.
static bool row(size_t n, size_t rounds)
{
    const size_t steps = n / STEP_OPERATIONS + 1;
    const double each = (double)(steps * STEP_OPERATIONS);
    double gradient[REPORT_ROUNDS];
    double again[REPORT_ROUNDS];
    double want[4];
    double g[4];
    ad_fn *fn = NULL;
    ad_tape *t = ad_tape_new();
    const double first = record(&fn, steps);

    tape_gradient(t, steps, want);
    record(&fn, steps);
    for (size_t i = 0; i < rounds; i++) {
        gradient[i] = tape_gradient(t, steps, want);
        again[i] = record(&fn, steps);
    }
    const double error = ad_fn_gradient(fn, start, NULL, g) == ADREV_OK
                       ? difference(4, g, want) : HUGE_VAL;
    const bool right = error <= tolerance;
    const summary ratio = summarise(rounds, again, gradient);

    printf("%10zu", n);
    print_seconds(summarise(rounds, gradient, NULL).median / each);
    print_seconds(first / each);
    print_seconds(summarise(rounds, again, NULL).median / each);
    printf(" %6.1f %3.0f%%  %.1e %s\n", ratio.median, 100.0 * ratio.spread,
           error, right ? "" : "  WRONG");
    ad_fn_free(fn);
    ad_tape_free(t);
    return right;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = { "1000", "100000", "10000000" };
    const size_t rounds = take_rounds(&argc, &argv, 15);

    print_machine(ADREV_VERSION);
    printf("\nrecording the loop, for each operation\n"
           "operations  gradient     first    record  ratio       error\n");
    return print_rows(argc, argv, usual, rounds, row) ? EXIT_SUCCESS
                                                      : EXIT_FAILURE;
}
