/* 23  Hares and lynxes, 1900 to 1920: a model in plain C, and its derivatives.
 *
 *     23_hares examples/hares.txt [picture.svg]
 *
 * predators.c has the equations of Lotka and Volterra, and knows nothing of
 * adrev; adrev-port made predators_ad.h of it. The former draws the curves, the
 * latter fits them to the numbers of pelts that trappers brought home. (A fit
 * of the same model by Carpenter, with weak priors, finds the rates 0.55,
 * 0.028, 0.80, 0.024 and noise of 0.25.)
 *
 * Shows    a converted file; least squares and standard errors from ad_jac;
 *          sensitivities of a forecast
 * Needs    02, 06
 * Prints   Lotka and Volterra, fitted to 21 years in 27 steps:
 *            births of hares, for each   0.5402 +- 0.0595
 *            ... lost to each lynx       0.0272 +- 0.0038
 *            deaths of lynxes, of each   0.7964 +- 0.0839
 *            ... gained by each hare     0.0237 +- 0.0033
 *            hares at first             34.6024 +- 2.9294
 *            lynxes at first             5.8445 +- 0.4793
 *            counts are off by a factor of 1.27
 *
 * Exits with 0, or 2 usage, 3 data, 4 numerical failure, 5 output.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "chart.h"
#include "fail.h"
#include "predators.c"           // the program as it is
#include "predators_ad.h"        // what adrev-port makes of it

#include <errno.h>
#include <string.h>

enum { USAGE = 2, DATA = 3, NUMERICS = 4, OUTPUT = 5 };

enum { MOST_YEARS = 100, MISFITS = 2 * MOST_YEARS, FIRST_YEAR_MOST = 9999 };

/* --- the data: a year and both counts per line, # begins a comment -------- */

typedef struct series {
    int years;
    int first;
    double hares[MOST_YEARS];
    double lynxes[MOST_YEARS];
} series;

// Appends the row of a line, if there is one. Returns what is wrong, or NULL.
static const char *parse_line(char *line, series *s)
{
    int year;
    animals a;
    char more;

    line[strcspn(line, "#\n")] = '\0';
    if (sscanf(line, " %c", &more) < 1)
        return NULL;
    if (sscanf(line, "%d %lf %lf %c", &year, &a.hares, &a.lynxes, &more) != 3)
        return "not three numbers: a year, hares, lynxes";
    if (!(a.hares > 0 && isfinite(a.hares) && a.lynxes > 0
          && isfinite(a.lynxes)))
        return "a count is not positive";
    if (s->years == 0 && year >= 0 && year <= FIRST_YEAR_MOST)
        s->first = year;
    if (year != s->first + s->years)
        return "not the year after the one before";
    if (s->years == MOST_YEARS)
        return "too many years";
    s->hares[s->years] = a.hares;
    s->lynxes[s->years++] = a.lynxes;
    return NULL;
}

static void read_series(const char *path, series *s)
{
    char line[200];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail(DATA, "23_hares: cannot open %s: %s", path, strerror(errno));
    for (int n = 1; fgets(line, sizeof line, file) != NULL; n++) {
        const char *problem = strlen(line) + 1 == sizeof line
                            ? "the line is too long" : parse_line(line, s);
        if (problem != NULL)
            fail(DATA, "23_hares: %s:%d: %s", path, n, problem);
    }
    if (ferror(file))
        fail(DATA, "23_hares: cannot read %s: %s", path, strerror(errno));
    if (s->years < 4)
        fail(DATA, "23_hares: %s: %d years, but 6 parameters need 4", path,
             s->years);
    fclose(file);
}

/* --- the fit: Levenberg and Marquardt ------------------------------------- */

typedef struct fit {
    double p[PARAMETERS];
    double y[MISFITS];
    double J[MISFITS * PARAMETERS];
    double sum;                             // of the squared misfits
} fit;

// What predators_ad.h makes of misfits: the one line that recording needs.
static void recorded(const ad_rev *p, ad_rev *misfit, void *ctx)
{
    const series *s = ctx;
    misfits_ad(p, s->years, s->hares, s->lynxes, misfit);
}

static void evaluate(series *s, fit *f)
{
    size_t m = 2 * (size_t)s->years;
    ad_status status = ad_jac(recorded, s, PARAMETERS, f->p, m, f->y, f->J);
    if (status != ADREV_OK)
        fail(NUMERICS, "23_hares: %s", ad_message(status));
    f->sum = 0;
    for (size_t i = 0; i < m; i++)
        f->sum += f->y[i] * f->y[i];
}

// The lower factor of J'J, whose diagonal is enlarged: L L'. False: it has
// none.
static bool factor(const series *s, const fit *f, double damping,
                   double L[PARAMETERS][PARAMETERS])
{
    for (int i = 0; i < PARAMETERS; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int r = 0; r < 2 * s->years; r++)
                sum += f->J[r * PARAMETERS + i] * f->J[r * PARAMETERS + j];
            if (i == j)
                sum *= 1 + damping;
            for (int k = 0; k < j; k++)
                sum -= L[i][k] * L[j][k];
            if (i == j && !(sum > 0 && isfinite(sum)))
                return false;
            L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
        }
    return true;
}

// x = (L L')^-1 x
static void solve(double L[PARAMETERS][PARAMETERS], double x[PARAMETERS])
{
    for (int i = 0; i < PARAMETERS; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= L[i][k] * x[k];
        x[i] /= L[i][i];
    }
    for (int i = PARAMETERS; i-- > 0;) {
        for (int k = i + 1; k < PARAMETERS; k++)
            x[i] -= L[k][i] * x[k];
        x[i] /= L[i][i];
    }
}

// Moves p by one step. Returns whether that was hardly a step.
static bool move(const series *s, const fit *f, double damping,
                 double p[PARAMETERS])
{
    double L[PARAMETERS][PARAMETERS];
    double delta[PARAMETERS] = {0};
    bool small = true;

    if (!factor(s, f, damping, L))
        fail(NUMERICS, "23_hares: the counts do not determine the parameters");
    for (int r = 0; r < 2 * s->years; r++)
        for (int i = 0; i < PARAMETERS; i++)
            delta[i] -= f->J[r * PARAMETERS + i] * f->y[r];
    solve(L, delta);
    for (int i = 0; i < PARAMETERS; i++) {
        p[i] += delta[i];
        small = small && fabs(delta[i]) < 1e-8;
    }
    return small;
}

// From rates that everybody would try first. Returns the number of steps.
static int adjust(series *s, fit *f)
{
    const double first[PARAMETERS] = {
        log(0.5), log(0.02), log(0.5), log(0.02),
        log(s->hares[0]), log(s->lynxes[0])
    };
    double damping = 1e-2;

    memcpy(f->p, first, sizeof first);
    evaluate(s, f);
    for (int steps = 1; steps <= 200; steps++) {
        fit trial = *f;
        bool done = move(s, f, damping, trial.p);
        evaluate(s, &trial);
        damping *= trial.sum < f->sum ? 0.1 : 10;
        if (trial.sum < f->sum)
            *f = trial;
        if (done)
            return steps;
    }
    fail(NUMERICS, "23_hares: no convergence: do the counts rise and fall?");
}

/* --- the report ----------------------------------------------------------- */

static void report(const series *s, const fit *f, int steps)
{
    static const char *const name[PARAMETERS] = {
        "births of hares, for each", "... lost to each lynx",
        "deaths of lynxes, of each", "... gained by each hare",
        "hares at first", "lynxes at first"
    };
    const double noise = sqrt(f->sum / (2 * s->years - PARAMETERS));
    double L[PARAMETERS][PARAMETERS];

    if (!factor(s, f, 0, L))
        fail(NUMERICS, "23_hares: the counts do not determine the parameters");
    printf("Lotka and Volterra, fitted to %d years in %d steps:\n", s->years,
           steps);
    for (int i = 0; i < PARAMETERS; i++) {
        double unit[PARAMETERS] = {0};
        unit[i] = 1;
        solve(L, unit);
        printf("  %-26s %7.4f +- %.4f\n", name[i], exp(f->p[i]),
               exp(f->p[i]) * noise * sqrt(unit[i]));
    }
    printf("  counts are off by a factor of %.2f\n", exp(noise));
}

/* --- the picture ---------------------------------------------------------- */

enum { A_YEAR = 12, MOMENTS = MOST_YEARS * A_YEAR };

// The curves: plain C. And what trappers counted.
static void draw_counts(chart *c, const series *s, const fit *f)
{
    static animals seen[MOMENTS];
    double year[MOMENTS], count[2][MOMENTS];
    const int n = (s->years - 1) * A_YEAR + 1;

    forecast(f->p, n, STEPS_A_YEAR / A_YEAR, seen);
    for (int i = 0; i < n; i++) {
        year[i] = s->first + (double)i / A_YEAR;
        count[0][i] = seen[i].hares;
        count[1][i] = seen[i].lynxes;
    }
    for (int k = 0; k < 2; k++) {
        c->colour = k == 0 ? "#036" : "#c33";
        c->line = k + 1;
        chart_curve(c, n, year, count[k], "");
    }
    for (int i = 0; i < s->years; i++) {
        year[i] = s->first + i;
        count[0][i] = s->hares[i];
        count[1][i] = s->lynxes[i];
    }
    for (int k = 0; k < 2; k++) {
        c->colour = k == 0 ? "#036" : "#c33";
        c->line = k + 1;
        chart_points(c, s->years, year, count[k], k == 0 ? "hares" : "lynxes");
    }
}

// By how much per cent there are more hares for one per cent more of a rate.
static void draw_sensitivities(chart *c, const series *s, const fit *f)
{
    static const char *const colour[RATES] = { "#036", "#7ac", "#c33", "#e96" };
    static const char *const name[RATES] = { "by births", "by hunting",
                                             "by deaths", "by feeding" };
    double year[MOST_YEARS], more[MOST_YEARS];

    for (int k = 0; k < RATES; k++) {
        for (int i = 0; i < s->years; i++) {
            year[i] = s->first + i;
            more[i] = f->J[2 * i * PARAMETERS + k];
        }
        c->colour = colour[k];
        c->line = k + 1;
        chart_curve(c, s->years, year, more, name[k]);
    }
}

static double most_counted(const series *s)
{
    double most = 0;
    for (int i = 0; i < s->years; i++)
        most = fmax(most, fmax(s->hares[i], s->lynxes[i]));
    return most;
}

static double most_sensitive(const series *s, const fit *f)
{
    double most = 0;
    for (int i = 0; i < s->years; i++)
        for (int k = 0; k < RATES; k++)
            most = fmax(most, fabs(f->J[2 * i * PARAMETERS + k]));
    return most;
}

static void draw(const char *path, const series *s, const fit *f)
{
    const double last = s->first + s->years - 1;
    const double most = most_sensitive(s, f);
    chart c = { .left = s->first, .right = last, .panels = 2,
                .top = 1.3 * most_counted(s) };
    chart d = { .below = &c, .left = s->first, .right = last, .bottom = -most,
                .top = most };

    if (!chart_open(&c, path, "year", "pelts (thousands)"))
        fail(OUTPUT, "23_hares: cannot write %s: %s", path, strerror(errno));
    draw_counts(&c, s, f);
    chart_open(&d, NULL, "year", "hares: % for 1 % more of a rate");
    draw_sensitivities(&d, s, f);
    bool good = chart_close(&d);
    if (!chart_close(&c) || !good)
        fail(OUTPUT, "23_hares: cannot write %s: %s", path, strerror(errno));
}

int main(int argc, char *argv[])
{
    static series s;
    static fit f;

    if (argc != 2 && argc != 3)
        fail(USAGE, "usage: 23_hares examples/hares.txt [picture.svg]");
    read_series(argv[1], &s);
    const int steps = adjust(&s, &f);
    draw(argc == 3 ? argv[2] : "hares.svg", &s, &f);
    report(&s, &f, steps);
    if (fflush(stdout) != 0)
        fail(OUTPUT, "23_hares: cannot write the report: %s", strerror(errno));
    return 0;
}
