// SPDX-License-Identifier: MIT-0
// needs: ceres/c_api.h -lceres
// libs: -lceres
/* A robot drives two laps, counts the turns of its wheels, and in the second lap
 * sees where it was in the first. Where was it really?
 *
 *     ceres_laps [picture.svg | time]
 *
 * Its path is 80 poses: a place and a heading. Between two of them that it has
 * measured lies a residual block: what the first sees of the second, without
 * what it should see. Wheels slip, so the path that adds up all of them drifts
 * away; Ceres finds the one that fits everything best. `ceres_laps time`
 * compares derivatives by adrev, by hand and by differences.
 *
 * Shows    adrev_ceres.h: one model for all blocks, two parameter blocks each
 * Prints   by wheels       off by 3.181 m at the end
 *          by all of it    off by 0.084 m, success
 */

#define _POSIX_C_SOURCE 200809L         // dup: Ceres prints a report

#define ADREV_IMPLEMENTATION
#include "adrev_ceres.h"
#include "chart.h"
#include "fail.h"
#include "noise.h"

#include <time.h>
#include <unistd.h>

enum { LAP = 40, POSES = 2 * LAP, SEEN = POSES - 1 + LAP, X = 0, Y, HEADING };

static const double pi = 3.14159265358979323846;
static const double sharp = 20;         // a metre in deviations; and of angles
static const double turned = 50;

// Pose `to` as pose `from` sees it.
typedef struct sight {
    int from, to;
    double pose[3];
} sight;

/* --- the residual --------------------------------------------------------- */

// x: two poses, and the second one as it was seen from the first.
static void misfit(const ad_rev *x, ad_rev *r, void *unused)
{
    const ad_rev *a = x, *b = x + 3, *seen = x + 6;
    (void)unused;
    ad_rev c = ad_rec(ad_cos(a[HEADING])), s = ad_rec(ad_sin(a[HEADING]));
    ad_rev dx = ad_rec(ad_sub(b[X], a[X])), dy = ad_rec(ad_sub(b[Y], a[Y]));
    ad_rev d = ad_rec(ad_sub(ad_sub(b[HEADING], a[HEADING]), seen[HEADING]));
    r[X] = ad_rec(ad_mul(sharp, ad_sub(ad_add(ad_mul(c, dx), ad_mul(s, dy)),
                                       seen[X])));
    r[Y] = ad_rec(ad_mul(sharp, ad_sub(ad_sub(ad_mul(c, dy), ad_mul(s, dx)),
                                       seen[Y])));
    r[HEADING] = ad_rec(ad_mul(turned, ad_atan2(ad_sin(d), ad_cos(d))));
}

// Holds the first pose where it is.
static void hold(const ad_rev *x, ad_rev *r, void *unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++)
        r[i] = ad_rec(ad_mul(1e3, ad_sub(x[i], x[3 + i])));
}

/* --- the same by hand, and by differences ---------------------------------- */

static void misfit_plain(const double a[3], const double b[3],
                         const double seen[3], double r[3])
{
    const double c = cos(a[HEADING]), s = sin(a[HEADING]);
    const double dx = b[X] - a[X], dy = b[Y] - a[Y];
    const double d = b[HEADING] - a[HEADING] - seen[HEADING];
    r[X] = sharp * (c * dx + s * dy - seen[X]);
    r[Y] = sharp * (c * dy - s * dx - seen[Y]);
    r[HEADING] = turned * atan2(sin(d), cos(d));
}

static int by_hand(void *user, double **x, double *r, double **J)
{
    const double *a = x[0], *b = x[1];
    const double c = sharp * cos(a[HEADING]), s = sharp * sin(a[HEADING]);
    const double dx = b[X] - a[X], dy = b[Y] - a[Y];
    const double of_a[9] = { -c, -s, c * dy - s * dx, s, -c, -c * dx - s * dy,
                             0, 0, -turned };
    const double of_b[9] = { c, s, 0, -s, c, 0, 0, 0, turned };
    misfit_plain(a, b, ((const sight *)user)->pose, r);
    if (J != NULL && J[0] != NULL)
        memcpy(J[0], of_a, sizeof of_a);
    if (J != NULL && J[1] != NULL)
        memcpy(J[1], of_b, sizeof of_b);
    return 1;
}

static int by_differences(void *user, double **x, double *r, double **J)
{
    const double *seen = ((const sight *)user)->pose;
    misfit_plain(x[0], x[1], seen, r);
    for (int k = 0; k < 2; k++)
        for (int j = 0; J != NULL && J[k] != NULL && j < 3; j++) {
            double at[2][3], beside[3];
            memcpy(at[0], x[0], sizeof at[0]);
            memcpy(at[1], x[1], sizeof at[1]);
            const double h = 1e-8 * fmax(1, fabs(at[k][j]));
            at[k][j] += h;
            misfit_plain(at[0], at[1], seen, beside);
            for (int i = 0; i < 3; i++)
                J[k][3 * i + j] = (beside[i] - r[i]) / h;
        }
    return 1;
}

/* --- the drive ------------------------------------------------------------- */

static void seen_from(const double a[3], const double b[3], double pose[3])
{
    const double nothing[3] = { 0 };
    double r[3];
    misfit_plain(a, b, nothing, r);
    pose[X] = r[X] / sharp;
    pose[Y] = r[Y] / sharp;
    pose[HEADING] = r[HEADING] / turned;
}

// Where it was, what it has seen, and where it thinks that it was.
static void drive(double truth[POSES][3], sight seen[SEEN],
                  double path[POSES][3])
{
    uint32_t state = 5;
    for (int i = 0; i < POSES; i++) {
        const double angle = 2 * pi * i / LAP;
        truth[i][X] = 10 * cos(angle);
        truth[i][Y] = 6 * sin(angle) + sin(2 * angle);
        truth[i][HEADING] = atan2(6 * cos(angle) + 2 * cos(2 * angle),
                                  -10 * sin(angle));
    }
    for (int k = 0; k < SEEN; k++) {
        const bool wheels = k < POSES - 1;
        sight *s = &seen[k];
        s->from = wheels ? k : k - (POSES - 1);
        s->to = wheels ? k + 1 : s->from + LAP;
        seen_from(truth[s->from], truth[s->to], s->pose);
        s->pose[X] += 0.05 * noise(&state);
        s->pose[Y] += 0.05 * noise(&state);
        s->pose[HEADING] += 0.02 * noise(&state) + (wheels ? 0.005 : 0);
    }
    memcpy(path[0], truth[0], sizeof path[0]);
    for (int k = 0; k < POSES - 1; k++) {
        const double *a = path[k], *d = seen[k].pose;
        double c = cos(a[HEADING]), s = sin(a[HEADING]);
        path[k + 1][X] = a[X] + c * d[X] - s * d[Y];
        path[k + 1][Y] = a[Y] + s * d[X] + c * d[Y];
        path[k + 1][HEADING] = a[HEADING] + d[HEADING];
    }
}

/* --- the solution ----------------------------------------------------------- */

// Ceres prints its report to nowhere.
static void solve_quietly(ceres_problem_t *problem)
{
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    FILE *nowhere = fopen("/dev/null", "w");
    if (kept < 0 || nowhere == NULL)
        fail(3, "ceres_laps: no /dev/null");
    dup2(fileno(nowhere), STDOUT_FILENO);
    ceres_solve(problem);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    fclose(nowhere);
}

// By adrev's derivatives, or by those of `function`.
static void solve(ad_model *model, ad_model *held, ceres_cost_function_t function,
                  sight seen[SEEN], double path[POSES][3])
{
    ceres_problem_t *problem = ceres_create_problem();
    const double first[3] = { path[0][X], path[0][Y], path[0][HEADING] };
    double *start[1] = { path[0] };
    int sizes[2] = { 3, 3 };
    ad_ceres_add(problem, held, first, NULL, NULL, 1, sizes, start);
    for (int k = 0; k < SEEN; k++) {
        double *two[2] = { path[seen[k].from], path[seen[k].to] };
        if (function == NULL)
            ad_ceres_add(problem, model, seen[k].pose, NULL, NULL, 2, sizes,
                         two);
        else
            ceres_problem_add_residual_block(problem, function, &seen[k], NULL,
                                             NULL, 3, 2, sizes, two);
    }
    solve_quietly(problem);
    ceres_free_problem(problem);
}

static double off(double path[POSES][3], double truth[POSES][3])
{
    const int last = POSES - 1;
    return hypot(path[last][X] - truth[last][X], path[last][Y] - truth[last][Y]);
}

static void curve(chart *c, double path[POSES][3], const char *name,
                  const char *colour, int line)
{
    double x[POSES], y[POSES];
    for (int i = 0; i < POSES; i++) {
        x[i] = path[i][X];
        y[i] = path[i][Y];
    }
    c->colour = colour;
    c->line = line;
    chart_curve(c, POSES, x, y, name);
}

static void timings(ad_model *model, ad_model *held, sight seen[SEEN],
                    double start[POSES][3])
{
    static const char *names[4] = { "by hand", "differences", "adrev, first",
                                    "adrev, again" };
    for (int way = 0; way < 4; way++) {
        const int times = way == 2 ? 1 : 20;
        double path[POSES][3];
        const clock_t before = clock();
        for (int i = 0; i < times; i++) {
            memcpy(path, start, sizeof path);
            solve(model, held, way == 0 ? by_hand
                  : way == 1 ? by_differences : NULL, seen, path);
        }
        printf("%-14s %8.2f ms\n", names[way],
               1e3 * (double)(clock() - before) / CLOCKS_PER_SEC / times);
    }
}

int main(int count, char **words)
{
    static double truth[POSES][3], path[POSES][3], fitted[POSES][3];
    static sight seen[SEEN];
    ceres_init();
    drive(truth, seen, path);
    ad_model *model = ad_model_vector(misfit, NULL, 6 + 3, 3);
    ad_model *held = ad_model_vector(hold, NULL, 3 + 3, 3);
    const bool timed = count > 1 && strcmp(words[1], "time") == 0;
    if (timed)
        timings(model, held, seen, path);
    memcpy(fitted, path, sizeof path);
    solve(model, held, NULL, seen, fitted);
    if (!timed) {
        printf("by wheels       off by %.3f m at the end\n", off(path, truth));
        printf("by all of it    off by %.3f m, %s\n", off(fitted, truth),
               ad_message(ad_model_status(model)));
    }
    ad_model_free(model);
    ad_model_free(held);
    if (count > 1 && !timed) {
        chart c = { .left = -14, .right = 14, .bottom = -9, .top = 12,
                    .equal = true };
        bool good = chart_open(&c, words[1], "metres", "metres");
        if (good) {
            curve(&c, truth, "where it was", "#999", 1);
            curve(&c, path, "by its wheels", "#c33", 2);
            curve(&c, fitted, "by all that it has seen", "#036", 3);
            good = chart_close(&c);
        }
        if (!good)
            fail(5, "ceres_laps: cannot write %s", words[1]);
    }
}
