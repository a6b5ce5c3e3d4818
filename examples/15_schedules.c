/* 15  What a gradient costs in time if it may use little memory, as a picture.
 *
 * A pendulum with friction swings for 5000 steps; wanted is the gradient of its
 * last place by length, friction and start. Some states are kept: every k-th
 * one (and, going back, those in between), or s of them where they save most;
 * the last line also uses a file for every 250th.
 *
 * Shows    the schedules of ad_scan side by side
 * Needs    02, 14
 * Usage    15_schedules [picture.svg]
 * Prints   all states: 5000 in memory, 2.00 runs of a step for each
 *          every k-th     runs     binomial     runs
 *                 510     2.90            6     8.71
 *                 429     2.92            7     7.71
 *                 349     2.93            8     7.00
 *                 270     2.95           10     6.13
 *                 225     2.96           12     5.52
 *                 189     2.97           17     4.73
 *                 165     2.98           25     4.27
 *                 150     2.98           50     3.72
 *                 142     2.99          100     2.98
 *                 150     2.99          200     2.96
 *                 184     2.99          350     2.93
 *                 270     3.00          500     2.90
 *          with a file of 20: 8 in memory, 5.12 runs
 *          gradients: the same to the last bit
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_loop.h"
#include "chart.h"
#include "fail.h"

enum { STEPS = 5000, PARAMETERS = 2, SIZES = 12 };

// Angle and speed; gravity over length, friction.
static void swing(ad_step *s, void *ctx)
{
    const ad_rev *x = s->state[0], *p = s->parameter;
    const double dt = 0.002;
    (void)ctx;
    ad_expr force = ad_add(ad_mul(p[0], ad_sin(x[0])), ad_mul(p[1], x[1]));
    ad_rev speed = ad_rec(ad_sub(x[1], ad_mul(dt, force)));
    s->next[0][0] = ad_rec(ad_add(x[0], ad_mul(dt, speed)));
    s->next[0][1] = speed;
}

typedef struct cost {
    double states;          // most that were in memory
    double put;             // in the file
    double runs;            // of a step, for each step
    double gradient[4];
} cost;

static cost measure(ad_tape *t, ad_schedule schedule)
{
    const double x[] = { 1.2, 0, 9.81, 0.1 };
    ad_rev in[4], last[2];
    ad_scan_report report;
    cost c = {0};
    ad_tape_clear(t);
    ad_inputs(4, x, in);
    const ad_scan_state state = { .size = 2, .initial = in, .last = last };
    const ad_scan_desc d = {
        .step = swing, .steps = STEPS, .states = 1, .state = &state,
        .parameters = PARAMETERS, .parameter = in + 2, .schedule = schedule
    };
    ad_status status = ad_scan(&d, &report);
    if (status == ADREV_OK)
        status = ad_gradient(t, last[0], 4, in, c.gradient);
    if (status != ADREV_OK)
        fail(4, "15_schedules: %s", ad_message(status));
    c.states = (double)report.snapshots;
    c.put = (double)report.put;
    c.runs = (double)report.evaluations / STEPS;
    return c;
}

/* --- a file --------------------------------------------------------------- */

static bool in_file(FILE *f, size_t number, size_t bytes)
{
    return fseek(f, (long)(number * bytes), SEEK_SET) == 0;
}

static bool put(void *user, size_t number, const void *state, size_t bytes)
{
    return in_file(user, number, bytes)
        && fwrite(state, 1, bytes, user) == bytes;
}

static bool get(void *user, size_t number, void *state, size_t bytes)
{
    return in_file(user, number, bytes)
        && fread(state, 1, bytes, user) == bytes;
}

// Eight states in memory between two in the file.
static cost measure_file(ad_tape *t)
{
    FILE *f = tmpfile();
    if (f == NULL)
        fail(3, "15_schedules: no temporary file");
    const ad_store file = { .put = put, .get = get, .user = f, .every = 250 };
    cost c = measure(t, (ad_schedule){ ADREV_BINOMIAL, 8, &file });
    ad_tape_clear(t);           // nobody asks for the file any more
    fclose(f);
    return c;
}

static bool same(const cost *a, const cost *b)
{
    return memcmp(a->gradient, b->gradient, sizeof a->gradient) == 0;
}

static bool draw(const char *name, const cost every[], const cost binomial[])
{
    double x[2][SIZES], y[2][SIZES];
    for (int i = 0; i < SIZES; i++) {
        x[0][i] = every[i].states;
        y[0][i] = every[i].runs;
        x[1][i] = binomial[i].states;
        y[1][i] = binomial[i].runs;
    }
    chart c = { .left = 0, .right = 550, .top = 10 };
    if (!chart_open(&c, name, "states in memory", "runs of a step, per step"))
        return false;
    chart_curve(&c, SIZES, x[1], y[1], "binomial");
    chart_points(&c, SIZES, x[0], y[0], "every k-th");
    return chart_close(&c);
}

int main(int argc, char **argv)
{
    static const size_t stride[SIZES] = {
        10, 12, 15, 20, 25, 32, 40, 50, 71, 100, 150, 250
    };
    static const size_t kept[SIZES] = {
        6, 7, 8, 10, 12, 17, 25, 50, 100, 200, 350, 500
    };
    cost every[SIZES], binomial[SIZES];
    ad_tape *t = ad_tape_new();
    ad_use(t);
    cost all = measure(t, (ad_schedule){ ADREV_STORE_ALL, 0, NULL });
    bool agree = true;
    if (argc > 2)
        fail(2, "usage: %s [picture.svg]", argv[0]);

    printf("all states: %.0f in memory, %.2f runs of a step for each\n",
           all.states, all.runs);
    printf("%10s %8s   %10s %8s\n", "every k-th", "runs", "binomial", "runs");
    for (int i = 0; i < SIZES; i++) {
        every[i] = measure(t, (ad_schedule){ ADREV_EVERY, stride[i], NULL });
        binomial[i] = measure(t, (ad_schedule){ ADREV_BINOMIAL, kept[i],
                                                NULL });
        agree = agree && same(&every[i], &all) && same(&binomial[i], &all);
        printf("%10.0f %8.2f   %10.0f %8.2f\n", every[i].states,
               every[i].runs, binomial[i].states, binomial[i].runs);
    }
    cost file = measure_file(t);
    agree = agree && same(&file, &all);
    printf("with a file of %.0f: %.0f in memory, %.2f runs\n", file.put,
           file.states, file.runs);
    printf("gradients: %s to the last bit\n", agree ? "the same" : "DIFFER");
    ad_tape_free(t);
    if (argc > 1 && !draw(argv[1], every, binomial))
        fail(3, "15_schedules: cannot write %s", argv[1]);
    return !agree;
}
