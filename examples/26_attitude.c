/* 26  Which way is up: a filter for gyroscope, accelerometer and magnetometer.
 *
 *     26_attitude attitude.txt [picture.svg]       default attitude.svg
 *
 * An extended Kalman filter of seven states (attitude.h) gets its Jacobians, 4
 * x 7 and 6 x 4, from a tape in two kilobytes of static memory, in every step.
 * The model is written down once (attitude_model.h). Samples are what a sensor
 * of 16 bits gives; they are simulated, by attitude_data.c.
 *
 * The same filter on a Cortex-M4F, with Jacobians from the tape, by hand, and
 * from C code that adrev has written, is tests/firmware/attitude.c;
 * docs/small-machines.md compares the three.
 *
 * Shows    ad_tape_in and ad_jacobian in a loop, with float and ADREV_FIXED
 * Needs    05, 13
 * Prints   500 samples, 20 s
 *          gyroscope alone: off by 33.7 degrees at the end
 *          filter: off by 25.9 degrees at first, at most 0.6 after 10 s
 *          bias (rad/s): 0.036 -0.024 0.048, found 0.034 -0.022 0.045
 *
 * Exits with 0, or 2 usage, 3 bad data, 4 numerical failure, 5 output.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_REAL float
#define ADREV_FIXED 1
#define ADREV_STATIC
#define ADREV_IMPLEMENTATION
#include "adrev.h"

typedef float number;

#include "attitude.h"
#include "attitude_model.h"
#include "chart.h"
#include "fail.h"

#include <errno.h>

enum { MOST = 2000, BEGUN = 10 * ATTITUDE_HERTZ };  // it has settled by then

static const double DEGREES = 180 / 3.14159265358979;

typedef struct record {
    int samples;
    int16_t sample[MOST][ATTITUDE_SAMPLE];
    double truth[MOST][ATTITUDE_Q];
    double bias[3];             // at the end
} record;

/* --- the file ------------------------------------------------------------- */

// Counts, and the true quaternion; false: the line is something else.
static bool read_sample(const char *line, int16_t sample[ATTITUDE_SAMPLE],
                        double truth[ATTITUDE_Q])
{
    char *end;
    for (int i = 0; i < ATTITUDE_SAMPLE; i++, line = end) {
        const long count = strtol(line, &end, 10);
        if (end == line || count < INT16_MIN || count > INT16_MAX)
            return false;
        sample[i] = (int16_t)count;
    }
    for (int i = 0; i < ATTITUDE_Q; i++, line = end) {
        truth[i] = strtod(line, &end);
        if (end == line || !(fabs(truth[i]) <= 1))
            return false;
    }
    return end[strspn(end, " \t\r\n")] == '\0';
}

static void read_record(const char *path, record *r)
{
    FILE *file = fopen(path, "r");
    char line[300];
    if (file == NULL)
        fail(3, "cannot read %s: %s", path, strerror(errno));
    for (int row = 1; fgets(line, sizeof line, file) != NULL; row++) {
        if (line[0] == '#') {
            (void)sscanf(line, "# bias at the end: %lf %lf %lf", &r->bias[0],
                         &r->bias[1], &r->bias[2]);
            continue;
        }
        if (r->samples == MOST
            || !read_sample(line, r->sample[r->samples], r->truth[r->samples]))
            fail(3, "%s:%d: no sample", path, row);
        r->samples++;
    }
    const bool good = feof(file) && r->samples > BEGUN;
    fclose(file);
    if (!good)
        fail(3, "%s: too few samples", path);
}

/* --- the filter ----------------------------------------------------------- */

// A step with both Jacobians from the tape.
static ad_status advance(ad_tape *t, attitude *f,
                         const int16_t sample[ATTITUDE_SAMPLE])
{
    number in[ATTITUDE_IN], q[ATTITUDE_Q], J[ATTITUDE_Q * ATTITUDE_IN];
    number y[ATTITUDE_SEEN], H[ATTITUDE_SEEN * ATTITUDE_Q];
    attitude_motion(f, sample, in);
    ad_status s = linear_turn(t, in, q, J);
    if (s != ADREV_OK)
        return s;
    attitude_predict(f, q, J);
    s = linear_sight(t, f->x, y, H);
    if (s != ADREV_OK)
        return s;
    attitude_correct(f, sample, y, H);
    return ADREV_OK;
}

// Without a filter: constants record nothing.
static void turn_alone(const attitude *alone,
                       const int16_t sample[ATTITUDE_SAMPLE],
                       number q[ATTITUDE_Q])
{
    number in[ATTITUDE_IN];
    ad_rev x[ATTITUDE_IN], out[ATTITUDE_Q];
    attitude_motion(alone, sample, in);
    for (int i = 0; i < ATTITUDE_IN; i++)
        x[i] = ad_rec(in[i]);
    turned(x, out);
    for (int i = 0; i < ATTITUDE_Q; i++)
        q[i] = ad_value(out[i]);
}

/* --- what came of it ------------------------------------------------------ */

// Degrees from one attitude to another; q and -q are the same.
static double off(const number q[ATTITUDE_Q], const double truth[ATTITUDE_Q])
{
    double apart = 0, against = 0;
    for (int i = 0; i < ATTITUDE_Q; i++) {
        apart += pow((double)q[i] - truth[i], 2);
        against += pow((double)q[i] + truth[i], 2);
    }
    return 4 * DEGREES * asin(sqrt(fmin(apart, against)) / 2);
}

// Degrees between the body's third axis and the vertical.
static double tilt(double q1, double q2)
{
    return DEGREES * acos(1 - 2 * (q1 * q1 + q2 * q2));
}

typedef struct course {                 // of the degrees, for the picture
    double time[MOST];
    double off[MOST], alone[MOST];
    double tilt[MOST], truth[MOST];
} course;

static void draw(const char *path, int n, const course *c)
{
    const double end = c->time[n - 1];
    chart above = { .right = end, .top = 180, .panels = 2, .radius = 2 };
    chart below = { .right = end, .top = 60, .below = &above };
    if (!chart_open(&above, path, "time (s)", "tilt (degrees)"))
        fail(5, "cannot open %s: %s", path, strerror(errno));
    chart_points(&above, n, c->time, c->truth, "true");
    chart_curve(&above, n, c->time, c->tilt, "filter");
    chart_open(&below, NULL, "time (s)", "off by (degrees)");
    below.line = 1;
    chart_curve(&below, n, c->time, c->off, "filter");
    below.line = 2;
    below.colour = "#777";
    chart_curve(&below, n, c->time, c->alone, "gyroscope alone");
    if (!chart_close(&below) || !chart_close(&above))
        fail(5, "cannot write %s: %s", path, strerror(errno));
}

static void report(const record *r, const course *c, const attitude *f)
{
    const int last = r->samples - 1;
    double most = 0;
    for (int k = BEGUN; k <= last; k++)
        most = fmax(most, c->off[k]);
    printf("%d samples, %d s\n", r->samples, r->samples / ATTITUDE_HERTZ);
    printf("gyroscope alone: off by %.1f degrees at the end\n", c->alone[last]);
    printf("filter: off by %.1f degrees at first, at most %.1f after %d s\n",
           c->off[0], most, BEGUN / ATTITUDE_HERTZ);
    printf("bias (rad/s): %.3f %.3f %.3f, found %.3f %.3f %.3f\n", r->bias[0],
           r->bias[1], r->bias[2], (double)f->x[4], (double)f->x[5],
           (double)f->x[6]);
}

int main(int argc, char **argv)
{
    static record r;
    static course c;
    static uint64_t memory[256];
    attitude f, alone = { .x = {0} };
    if (argc != 2 && argc != 3)
        fail(2, "usage: 26_attitude attitude.txt [picture.svg]");
    read_record(argv[1], &r);
    ad_tape *t = ad_tape_in(memory, sizeof memory);
    ad_use(t);
    attitude_begin(&f);
    for (int i = 0; i < ATTITUDE_Q; i++)
        alone.x[i] = (number)r.truth[0][i];
    for (int k = 0; k < r.samples; k++) {
        const double *truth = r.truth[k];
        if (k > 0)                      // it knows the first one
            turn_alone(&alone, r.sample[k], alone.x);
        if (advance(t, &f, r.sample[k]) != ADREV_OK)
            fail(4, "26_attitude: %s", ad_message(ad_tape_status(t)));
        c.time[k] = (k + 1) / (double)ATTITUDE_HERTZ;
        c.off[k] = off(f.x, truth);
        c.alone[k] = off(alone.x, truth);
        c.truth[k] = tilt(truth[1], truth[2]);
        c.tilt[k] = tilt((double)f.x[1], (double)f.x[2]);
    }
    report(&r, &c, &f);
    draw(argc == 3 ? argv[2] : "attitude.svg", r.samples, &c);
    return 0;
}
