/* 09  A transistor amplifier: which of its parts decide the gain?
 *
 *     09_linear_solve [PART VALUE ...]
 *
 * The node voltages solve A x = b, a system that is not symmetric. LAPACK
 * factors A once; the derivative solves with the same factors, transposed.
 *
 *     source -Rs- 1 base of Q1             3 collector of Q1, base of Q2 -Rc1-
 *                 2 emitter of Q1 -Re-     4 collector of Q2, the output -Rc2-
 *                 2 -Rf- 4 feeds back      (what ends open goes to ground)
 *
 * Shows    ad_external with a pullback, a pushforward and a destroy: a linear
 *          solve as one statement; ad_pushforward. (adapters/adrev_lapack.h
 *          has such statements, also for recorded functions.)
 * Needs    04; LAPACK (liblapack-dev). Without it, it is not built
 * Prints   1 V at the source, at the nodes 0.9989 0.9899 -0.3619 22.3649 V
 *          gain 22.36; it changes, if a part is 1 % larger, by
 *            Rs       600 ohm  -0.0011 %
 *            rpi1    5000 ohm  +0.0013 %
 *            Re       100 ohm  -0.9460 %
 *            Rc1    10000 ohm  +0.0055 %
 *            rpi2    2500 ohm  +0.0221 %
 *            Rc2     4700 ohm  +0.0091 %
 *            Rf      2200 ohm  +0.9471 %
 *            gm1     0.02 S    +0.0103 %
 *            gm2     0.04 S    +0.0276 %
 *          largest difference from central differences < 1e-8
 *          largest difference from forward mode < 1e-12
 *
 * Exits with 0, or 2 usage, 3 memory, 4 no solution.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "fail.h"

#include <stdio.h>
#include <stdlib.h>

enum { USAGE = 2, MEMORY = 3, NUMERICS = 4 };

/* --- x = A^-1 b ----------------------------------------------------------- */

// Fortran: matrices lie column by column, the length of a string comes last.
void dgetrf_(const int *m, const int *n, double A[], const int *lda,
             int pivot[], int *info);
void dgetrs_(const char *transposed, const int *n, const int *columns,
             const double lu[], const int *lda, const int pivot[], double b[],
             const int *ldb, int *info, size_t length);

// What the derivative needs. On the tape lies only a pointer to it.
typedef struct factors {
    double *x;              // [n]
    double *work;           // [n]
    int *pivot;             // [n]
    double lu[];            // [n*n]
} factors;

static factors *new_factors(size_t n)
{
    size_t numbers = n * n + 2 * n;
    factors *f = malloc(sizeof *f + numbers * sizeof(double) + n * sizeof(int));
    if (f != NULL) {
        f->x = f->lu + n * n;
        f->work = f->x + n;
        f->pivot = (int *)(f->work + n);
    }
    return f;
}

// b = A^-1 b ("N"), or b = A^-T b ("T")
static bool backsolve(const factors *f, const char *transposed, int n,
                      double b[])
{
    const int one = 1;
    int info = 0;
    dgetrs_(transposed, &n, &one, f->lu, &n, f->pivot, b, &n, &info, 1);
    return info == 0;
}

// b_bar = A^-T x_bar,  A_bar = -b_bar x'
static bool solve_back(const void *saved, size_t n, const double x_bar[],
                       size_t inputs, double bar[])
{
    const factors *f = *(factors *const *)saved;
    (void)inputs;
    memcpy(f->work, x_bar, n * sizeof(double));
    if (!backsolve(f, "T", (int)n, f->work))
        return false;

    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            bar[i + j * n] -= f->work[i] * f->x[j];
    for (size_t i = 0; i < n; i++)
        bar[i + n * n] += f->work[i];
    return true;
}

// x_dot = A^-1 (b_dot - A_dot x)
static bool solve_forward(const void *saved, size_t inputs, const double dot[],
                          size_t n, double x_dot[])
{
    const factors *f = *(factors *const *)saved;
    (void)inputs;
    memcpy(x_dot, dot + n * n, n * sizeof(double));
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            x_dot[i] -= dot[i + j * n] * f->x[j];
    return backsolve(f, "N", (int)n, x_dot);
}

static void solve_destroy(const void *saved)
{
    free(*(factors *const *)saved);
}

static const ad_external_rule solve_rule = { .name = "linear solve",
                                             .pullback = solve_back,
                                             .pushforward = solve_forward,
                                             .destroy = solve_destroy };

// Ab[n*(n+1)] holds the columns of A, then b. Returns 0; k if the k-th pivot is
// exactly 0; below 0 if there is no memory. Errors of the tape are the tape's.
static int solve(int n, const ad_rev Ab[], ad_rev x[])
{
    size_t N = (size_t)n;
    int info = 0;
    factors *f = new_factors(N);
    if (f == NULL)
        return -1;

    for (size_t i = 0; i < N * N; i++)
        f->lu[i] = ad_value(Ab[i]);
    for (size_t i = 0; i < N; i++)
        f->x[i] = ad_value(Ab[N * N + i]);
    dgetrf_(&n, &n, f->lu, &n, f->pivot, &info);
    if (info == 0 && !backsolve(f, "N", n, f->x))
        info = -1;
    if (info != 0) {
        free(f);
        return info;
    }
    // now f is the tape's: if nothing is recorded it is destroyed at once
    ad_external(&solve_rule, &f, sizeof f, N * (N + 1), Ab, N, f->x, x);
    return 0;
}

/* --- the amplifier -------------------------------------------------------- */

enum { NODES = 4, PARTS = 9, OUTPUT = 4 };

// From one node to another flows a current proportional to the voltage of a
// third against a fourth: for a resistor the same two. Node 0 is ground; the
// source, 1 V, is on the far side of Rs.
typedef struct part {
    const char *name;
    const char *unit;
    int from;
    int to;
    int plus;
    int minus;
} part;

static const part parts[PARTS] = {
    { "Rs",   "ohm", 1, 0, 1, 0 }, { "rpi1", "ohm", 1, 2, 1, 2 },
    { "Re",   "ohm", 2, 0, 2, 0 }, { "Rc1",  "ohm", 3, 0, 3, 0 },
    { "rpi2", "ohm", 3, 0, 3, 0 }, { "Rc2",  "ohm", 4, 0, 4, 0 },
    { "Rf",   "ohm", 4, 2, 4, 2 },
    { "gm1",  "S",   3, 2, 1, 2 }, { "gm2",  "S",   4, 0, 3, 0 },
};

static const double typical[PARTS] = { 600, 5000, 100, 10000, 2500, 4700, 2200,
                                       0.02, 0.04 };

static bool is_resistor(int k) { return parts[k].plus == parts[k].from; }

static void add(ad_rev Ab[], int row, int column, double sign, ad_rev g)
{
    if (row > 0 && column > 0)
        ad_acc(&Ab[row - 1 + (column - 1) * NODES], ad_mul(sign, g));
}

// The voltages of the nodes: at each of them the currents add up to 0.
static void analyse(const ad_rev value[PARTS], ad_rev voltage[NODES])
{
    ad_rev Ab[NODES * (NODES + 1)] = {{0}};

    for (int k = 0; k < PARTS; k++) {
        const part *p = &parts[k];
        ad_rev g = is_resistor(k) ? ad_rec(ad_div(1, value[k])) : value[k];
        add(Ab, p->from, p->plus, 1, g);
        add(Ab, p->from, p->minus, -1, g);
        add(Ab, p->to, p->plus, -1, g);
        add(Ab, p->to, p->minus, 1, g);
        if (k == 0)
            ad_acc(&Ab[NODES * NODES], g);
    }
    int pivot = solve(NODES, Ab, voltage);
    if (pivot < 0)
        fail(MEMORY, "09_linear_solve: out of memory");
    if (pivot > 0)
        fail(NUMERICS, "09_linear_solve: the matrix is singular, its pivot %d"
             " is 0: some voltage is not determined", pivot);
}

// The gain for constants: nothing is recorded.
static double gain(const double value[PARTS])
{
    ad_rev constant[PARTS];
    ad_rev voltage[NODES];
    for (int k = 0; k < PARTS; k++)
        constant[k] = ad_rec(value[k]);
    analyse(constant, voltage);
    return ad_value(voltage[OUTPUT - 1]);
}

/* --- its derivative ------------------------------------------------------- */

// What a part changes by if it changes in proportion. Cut, it stays cut.
static double whole(double value) { return isinf(value) ? 0 : value; }

// The largest difference of relative derivatives from central differences.
static double off_differences(const double value[PARTS], const double g[PARTS])
{
    const double h = 1e-5;
    double worst = 0;
    for (int k = 0; k < PARTS; k++) {
        double moved[PARTS];
        memcpy(moved, value, sizeof moved);
        moved[k] = value[k] * (1 + h);
        double more = gain(moved);
        moved[k] = value[k] * (1 - h);
        double less = gain(moved);
        double slope = g[k] * whole(value[k]);
        worst = fmax(worst, fabs((more - less) / (2 * h) - slope));
    }
    return worst / fabs(gain(value));
}

// And from forward mode, one part at a time.
static double off_forward(ad_tape *t, const double value[PARTS],
                          const ad_rev in[PARTS], ad_rev out,
                          const double g[PARTS])
{
    double worst = 0;
    for (int k = 0; k < PARTS; k++) {
        double dot[PARTS] = {0};
        double change = 0;
        dot[k] = whole(value[k]);
        if (ad_pushforward(t, PARTS, in, dot, 1, &out, &change) != ADREV_OK)
            return HUGE_VAL;
        worst = fmax(worst, fabs(change - g[k] * dot[k]));
    }
    return worst / fabs(ad_value(out));
}

static void set(double value[PARTS], const char *name, const char *text)
{
    char *end = NULL;
    double v = text == NULL ? 0 : strtod(text, &end);
    int k = 0;
    while (k < PARTS && strcmp(parts[k].name, name) != 0)
        k++;
    if (text == NULL || k == PARTS || end == text || *end != '\0' || !(v > 0)
        || (isinf(v) && !is_resistor(k)))
        fail(USAGE, "usage: 09_linear_solve [PART VALUE ...], as in  Rf 1800;"
             " a cut resistor has inf");
    value[k] = v;
}

int main(int argc, char **argv)
{
    double value[PARTS];
    double g[PARTS] = {0};
    ad_rev in[PARTS];
    ad_rev voltage[NODES];

    memcpy(value, typical, sizeof value);
    for (int i = 1; i < argc; i += 2)
        set(value, argv[i], argv[i + 1]);

    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_inputs(PARTS, value, in);
    analyse(in, voltage);
    ad_rev out = voltage[OUTPUT - 1];
    ad_status status = ad_gradient(t, out, PARTS, in, g);
    if (status != ADREV_OK)
        fail(MEMORY, "09_linear_solve: %s", ad_message(status));
    if (!isfinite(ad_value(out)))
        fail(NUMERICS, "09_linear_solve: the gain is not a finite number");

    printf("1 V at the source, at the nodes");
    for (int i = 0; i < NODES; i++)
        printf(" %.4f", ad_value(voltage[i]));
    printf(" V\ngain %.2f; it changes, if a part is 1 %% larger, by\n",
           ad_value(out));
    for (int k = 0; k < PARTS; k++)
        printf("  %-4s %7g %-3s %+8.4f %%\n", parts[k].name, value[k],
               parts[k].unit, g[k] * whole(value[k]) / ad_value(out));
    printf("largest difference from central differences %s 1e-8\n",
           off_differences(value, g) < 1e-8 ? "<" : ">=");
    printf("largest difference from forward mode %s 1e-12\n",
           off_forward(t, value, in, out, g) < 1e-12 ? "<" : ">=");
    ad_tape_free(t);
    return 0;
}
