/* 06  An influenza in a boarding school, 1978: how contagious was it?
 *
 *     06_influenza examples/influenza.txt [picture.svg]
 *
 * Fits the SIR model  S' = -beta S I / N,  I' = beta S I / N - gamma I,
 * R' = gamma I  to the number of boys in bed, differentiating through the
 * integrator. (Fits that do not ask for I0 but put one ill boy on day 0 find
 * R0 = 3.76: within the standard error.)
 *
 * Shows    least squares and standard errors from ad_jac; one model for
 *          fitting and, with constants, for plotting
 * Needs    02, 04
 * Prints   SIR model fitted to 14 days in 8 steps:
 *            transmission rate beta 1.788 +- 0.106 per day
 *            recovery rate gamma    0.456 +- 0.019 per day
 *            infected at first I0   2.093 +- 0.877 boys
 *            R0 = beta / gamma      3.924 +- 0.188
 *
 *           day  count  model  residual
 *             1      3    2.1       0.9
 *             2      8    7.8       0.2
 *             3     26   28.3      -2.3
 *             4     76   90.2     -14.2
 *             5    225  209.2      15.8
 *             6    298  297.5       0.5
 *             7    258  285.1     -27.1
 *             8    233  223.5       9.5
 *             9    189  160.6      28.4
 *            10    128  110.9      17.1
 *            11     68   75.0      -7.0
 *            12     29   50.2     -21.2
 *            13     14   33.4     -19.4
 *            14      4   22.2     -18.2
 *          root mean square residual: 16.0 boys
 *
 * Exits with 0, or 2 usage, 3 data, 4 numerical failure, 5 output.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "chart.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2, DATA = 3, NUMERICS = 4, OUTPUT = 5 };

enum { BOYS = 763, LAST_DAY = 365, MOST_ROWS = LAST_DAY + 1, LINE = 200 };

_Noreturn static void fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("06_influenza: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(code);
}

/* --- the data: a day and a count per line, # begins a comment ------------- */

typedef struct series {
    int n;
    double day[MOST_ROWS];
    double count[MOST_ROWS];
} series;

// A line without its end. Returns what is wrong with it, or NULL.
static const char *read_line(FILE *file, char line[LINE])
{
    int n = 0;
    for (int c = getc(file); c != EOF && c != '\n'; c = getc(file)) {
        if (c == '\0')
            return "a NUL byte";
        if (n == LINE - 1)
            return "the line is too long";
        line[n++] = (char)c;
    }
    line[n] = '\0';
    return NULL;
}

// Appends the row of a line, if there is one. Returns as read_line.
static const char *parse_line(char *line, series *s)
{
    static const char blank[] = " \t\r";
    char *after_day;
    char *end;

    line[strcspn(line, "#")] = '\0';
    if (line[strspn(line, blank)] == '\0')
        return NULL;
    long day = strtol(line, &after_day, 10);
    long count = strtol(after_day, &end, 10);
    end += strspn(end, blank);
    if (after_day == line || end == after_day || *end != '\0')
        return "not two whole numbers, a day and a count";
    if (day < 0 || day > LAST_DAY)
        return "the day is negative or too large";
    if (count < 0 || count > BOYS)
        return "the count is negative or larger than the school";
    if (s->n > 0 && (double)day <= s->day[s->n - 1])
        return "the day does not come after the one before";

    s->day[s->n] = (double)day;
    s->count[s->n] = (double)count;
    s->n++;
    return NULL;
}

static void read_series(const char *path, series *s)
{
    char line[LINE];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail(DATA, "cannot open %s: %s", path, strerror(errno));

    long number = 1;
    for (int c = getc(file); c != EOF; c = getc(file), number++) {
        ungetc(c, file);
        const char *problem = read_line(file, line);
        if (problem == NULL)
            problem = parse_line(line, s);
        if (problem != NULL)
            fail(DATA, "%s:%ld: %s", path, number, problem);
    }
    if (ferror(file))
        fail(DATA, "cannot read %s: %s", path, strerror(errno));
    if (s->n < 4)
        fail(DATA, "%s: %d rows, but 3 parameters need 4", path, s->n);
    fclose(file);
}

/* --- the model: parameters are the logarithms of beta, gamma and I0 ------- */

enum { PARAMETERS = 3, STEPS_PER_DAY = 10 };

typedef struct state {
    ad_rev s;               // susceptible
    ad_rev i;               // infected, and in bed
    ad_rev r;               // recovered
} state;

static state slope(state y, const ad_rev rate[2])
{
    ad_rev infections = ad_rec(ad_mul(ad_mul(rate[0], y.s), ad_div(y.i, BOYS)));
    ad_rev recoveries = ad_rec(ad_mul(rate[1], y.i));
    return (state){ ad_rec(ad_neg(infections)),
                    ad_rec(ad_sub(infections, recoveries)), recoveries };
}

static state ahead(state y, double h, state d)
{
    return (state){ ad_rec(ad_add(y.s, ad_mul(h, d.s))),
                    ad_rec(ad_add(y.i, ad_mul(h, d.i))),
                    ad_rec(ad_add(y.r, ad_mul(h, d.r))) };
}

// The classical Runge-Kutta step.
static state step(state y, double h, const ad_rev rate[2])
{
    state a = slope(y, rate);
    state b = slope(ahead(y, h / 2, a), rate);
    state c = slope(ahead(y, h / 2, b), rate);
    state d = slope(ahead(y, h, c), rate);
    y = ahead(ahead(y, h / 6, a), h / 3, b);
    return ahead(ahead(y, h / 3, c), h / 6, d);
}

// In bed on each day of the series.
static void model(const ad_rev *p, ad_rev *in_bed, void *ctx)
{
    const series *s = ctx;
    const ad_rev rate[2] = { ad_rec(ad_exp(p[0])), ad_rec(ad_exp(p[1])) };
    ad_rev ill = ad_rec(ad_exp(p[2]));
    state y = { .s = ad_rec(ad_sub(BOYS, ill)), .i = ill };

    in_bed[0] = y.i;
    for (int i = 1; i < s->n; i++) {
        double days = s->day[i] - s->day[i - 1];
        int steps = (int)ceil(days * STEPS_PER_DAY);
        for (int k = 0; k < steps; k++)
            y = step(y, days / steps, rate);
        in_bed[i] = y.i;
    }
}

/* --- the fit: Levenberg and Marquardt ------------------------------------- */

typedef struct fit {
    double p[PARAMETERS];
    double y[MOST_ROWS];                    // the model at p
    double J[MOST_ROWS * PARAMETERS];       // and its Jacobian
    double sum;                             // of the squared residuals
} fit;

static void evaluate(series *s, fit *f)
{
    size_t n = (size_t)s->n;
    ad_status status = ad_jac(model, s, PARAMETERS, f->p, n, f->y, f->J);
    if (status != ADREV_OK)
        fail(NUMERICS, "%s", ad_message(status));

    f->sum = 0;
    for (int i = 0; i < s->n; i++)
        f->sum += (f->y[i] - s->count[i]) * (f->y[i] - s->count[i]);
}

// The inverse of J'J, the diagonal of which is enlarged, by cofactors.
static void invert(const series *s, const fit *f, double damping,
                   double inverse[3][3])
{
    static const int next[] = { 1, 2, 0, 1 };
    double A[3][3] = {{0}};

    for (const double *J = f->J; J < f->J + 3 * s->n; J += 3)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                A[i][j] += J[i] * J[j] * (i == j ? 1 + damping : 1);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            inverse[j][i] = A[next[i]][next[j]] * A[next[i + 1]][next[j + 1]]
                          - A[next[i]][next[j + 1]] * A[next[i + 1]][next[j]];

    double det = 0;
    for (int j = 0; j < 3; j++)
        det += A[0][j] * inverse[j][0];
    if (!(det > 0 && isfinite(det)))
        fail(NUMERICS, "the counts do not determine the parameters");
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            inverse[i][j] /= det;
}

// Moves p by one step. Returns whether that was hardly a step.
static bool move(const series *s, const fit *f, double damping, double p[3])
{
    double inverse[3][3];
    bool small = true;

    invert(s, f, damping, inverse);
    for (int j = 0; j < 3; j++) {
        double delta = 0;
        for (int k = 0; k < 3 * s->n; k++)
            delta += inverse[j][k % 3] * f->J[k]
                     * (s->count[k / 3] - f->y[k / 3]);
        p[j] += delta;
        small = small && fabs(delta) < 1e-6;
    }
    return small;
}

// The best of some rates and ratios R0, so that the first step begins near.
static void start(series *s, fit *best)
{
    best->sum = HUGE_VAL;
    for (int i = 0; i < 50; i++) {
        fit trial = { .p = { 0.5 * (i % 10) - 2 } };
        trial.p[1] = trial.p[0] - 0.4 * (i / 10 + 1);
        trial.p[2] = log(fmax(1, s->count[0]));
        evaluate(s, &trial);
        if (trial.sum < best->sum)
            *best = trial;
    }
}

// Returns the number of steps.
static int adjust(series *s, fit *f)
{
    double damping = 1e-3;
    start(s, f);
    for (int steps = 1; steps <= 100; steps++) {
        fit trial = *f;
        bool done = move(s, f, damping, trial.p) && damping <= 1e-3;
        evaluate(s, &trial);
        damping *= trial.sum < f->sum ? 0.1 : 10;
        if (trial.sum < f->sum)
            *f = trial;
        if (done)
            return steps;
    }
    fail(NUMERICS, "no convergence: do the counts rise and fall?");
}

/* --- the report ----------------------------------------------------------- */

static void report_value(const char *name, double logarithm, double error,
                         const char *unit)
{
    double value = exp(logarithm);
    printf("  %-22s %.3f +- %.3f%s\n", name, value, value * error, unit);
}

static void report(const series *s, const fit *f, int steps)
{
    double c[3][3];
    double sigma = sqrt(f->sum / (s->n - PARAMETERS));
    invert(s, f, 0, c);

    printf("SIR model fitted to %d days in %d steps:\n", s->n, steps);
    report_value("transmission rate beta", f->p[0], sigma * sqrt(c[0][0]),
                 " per day");
    report_value("recovery rate gamma", f->p[1], sigma * sqrt(c[1][1]),
                 " per day");
    report_value("infected at first I0", f->p[2], sigma * sqrt(c[2][2]),
                 " boys");
    report_value("R0 = beta / gamma", f->p[0] - f->p[1],
                 sigma * sqrt(c[0][0] + c[1][1] - 2 * c[0][1]), "");

    printf("\n day  count  model  residual\n");
    for (int i = 0; i < s->n; i++)
        printf("%4.0f%7.0f%7.1f%10.1f\n", s->day[i], s->count[i], f->y[i],
               s->count[i] - f->y[i]);
    printf("root mean square residual: %.1f boys\n", sqrt(f->sum / s->n));
}

// The curve: the same model on many days, of constants. Nothing is recorded.
static void draw(const char *path, const series *s, const fit *f)
{
    static series fine = { .n = MOST_ROWS };
    ad_rev p[PARAMETERS];
    ad_rev in_bed[MOST_ROWS];
    char name[60];
    double first = s->day[0];
    double days = s->day[s->n - 1] - first;
    chart c = { .left = first - 0.5, .right = first + days + 0.5, .top = 1 };

    for (int j = 0; j < PARAMETERS; j++)
        p[j] = ad_rec(f->p[j]);
    for (int i = 0; i < fine.n; i++)
        fine.day[i] = first + days * i / (fine.n - 1);
    model(p, in_bed, &fine);
    for (int i = 0; i < fine.n; i++)
        c.top = fmax(c.top, fine.count[i] = ad_value(in_bed[i]));
    for (int i = 0; i < s->n; i++)
        c.top = fmax(c.top, s->count[i]);

    snprintf(name, sizeof name, "SIR model, R&#8320; = %.2f",
             exp(f->p[0] - f->p[1]));
    if (!chart_open(&c, path, "day", "boys in bed"))
        fail(OUTPUT, "cannot open %s: %s", path, strerror(errno));
    chart_curve(&c, fine.n, fine.day, fine.count, name);
    chart_points(&c, s->n, s->day, s->count, "counted");
    if (!chart_close(&c))
        fail(OUTPUT, "cannot write %s: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
    static series s;
    static fit f;

    if (argc < 2 || argc > 3)
        fail(USAGE, "usage: 06_influenza counts.txt [picture.svg]");
    read_series(argv[1], &s);

    ad_tape *t = ad_tape_new();
    ad_use(t);
    int steps = adjust(&s, &f);
    ad_tape_free(t);

    report(&s, &f, steps);
    if (fflush(stdout) != 0 || ferror(stdout))
        fail(OUTPUT, "cannot write the report: %s", strerror(errno));
    draw(argc == 3 ? argv[2] : "influenza.svg", &s, &f);
    return 0;
}
