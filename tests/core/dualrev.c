// SPDX-License-Identifier: MIT-0
// tags: slow last-bits
/* dualrev.c - the programs of dual-numbers reverse differentiation.
 *
 * Each program is written once and runs as three: recorded, with forward
 * numbers, and in long double. At the points of the paper it must give the
 * values and Jacobians printed there; at random points the reverse rows must
 * agree with the forward columns, and both with differences in long double. The
 * parallel programs run here one branch after the other; those about structs
 * are in tests/struct/structs.c.                                             */

#include "implementation.h"
#include "adrev.h"

#include "check.h"
#include "random_numbers.h"

#include <stdlib.h>
#include <string.h>

/* --- the programs for three kinds of numbers ------------------------------ */

#define K(c)      ((ad_real)(c))

#define NUM       ad_rev
#define REC(e)    ad_rec(e)
#define NAME(f)   rev_##f
#include "dualrev_programs.h"

#define NUM       ad_fwd
#define REC(e)    ad_dual(e)
#define NAME(f)   fwd_##f
#include "dualrev_programs.h"

#undef K

// The path that a long double program took, as a number: differences between
// two paths say nothing about a derivative.
static unsigned long path;

static bool noted(bool holds)
{
    path = path * 2 + 1 + holds;
    return holds;
}

#define K(c)      ((long double)(ad_real)(c))
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define SQRT(a)   sqrtl(a)
#define EXP(a)    expl(a)
#define LOG(a)    logl(a)
#define SIN(a)    sinl(a)
#define COS(a)    cosl(a)
#define LT(a, b)  noted((a) < (b))
#define NUM       long double
#define REC(e)    (e)
#define NAME(f)   wide_##f
#include "dualrev_programs.h"

struct program {
    const char *name;
    void (*rev)(const ad_rev *x, const struct beside *k, ad_rev *y);
    void (*fwd)(const ad_fwd *x, const struct beside *k, ad_fwd *y);
    void (*wide)(const long double *x, const struct beside *k, long double *y);
};

#define PROGRAM(name) { #name, rev_##name, fwd_##name, wide_##name }

/* --- one program at one point, in every mode ------------------------------ */

enum { MOST_IN = 32, MOST_OUT = 10, MOST = MOST_IN * MOST_OUT };

// Largest differences, as a part of the largest entry of a row: of values to
// long double, between modes (the order of sums), and to differences.
#define SINGLE     (sizeof(ad_real) == sizeof(float))
#define VALUE      (SINGLE ? 1e-4 : 1e-13)
#define AGREE      (SINGLE ? 1e-4 : 1e-13)
#define DIFFERENCE (SINGLE ? 1e-3 : 1e-12)

struct point {
    struct program f;
    size_t n;
    size_t m;
    struct beside k;
    double x[MOST_IN];
};

static ad_tape *tape;

static void say(const struct point *p, const char *how, size_t i, size_t j,
                bool right, double got, double want)
{
    CHECK(right, "%s at (%.17g, %.17g, ...), %s [%zu][%zu]: got %.17g, "
          "want %.17g", p->f.name, p->x[0], p->n > 1 ? p->x[1] : 0, how, i, j,
          got, want);
}

// Agreement within a part of the largest entry of a row: what is smaller than
// that came from cancellation, in either mode.
static void agree(const struct point *p, const char *how, const ad_real *got,
                  const ad_real *want, double part)
{
    for (size_t i = 0; i < p->m; i++) {
        double largest = 0;
        for (size_t j = 0; j < p->n; j++)
            largest = fmax(largest, fabs((double)want[i * p->n + j]));
        for (size_t j = 0; j < p->n; j++) {
            double a = (double)got[i * p->n + j];
            double b = (double)want[i * p->n + j];
            say(p, how, i, j, fabs(a - b) <= part * largest, a, b);
        }
    }
}

static void forward_columns(const struct point *p, const ad_rev *y, ad_real *J)
{
    for (size_t j = 0; j < p->n; j++) {
        ad_fwd x[MOST_IN];
        ad_fwd out[MOST_OUT];
        for (size_t i = 0; i < p->n; i++)
            x[i] = (ad_fwd){ (ad_real)p->x[i], i == j };
        p->f.fwd(x, &p->k, out);
        for (size_t i = 0; i < p->m; i++) {
            // Not the same bits: a compiler may contract one of the two.
            say(p, "value", i, j, fabs((double)out[i].v - (double)y[i].v)
                    <= VALUE * (1 + fabs((double)y[i].v)), (double)out[i].v,
                (double)y[i].v);
            J[i * p->n + j] = out[i].d;
        }
    }
}

static void pushed_columns(const struct point *p, const ad_rev *x,
                           const ad_rev *y, ad_real *J)
{
    for (size_t j = 0; j < p->n; j++) {
        ad_real direction[MOST_IN] = { 0 };
        ad_real column[MOST_OUT] = { 0 };
        direction[j] = 1;
        CHECK(ad_pushforward(tape, p->n, x, direction, p->m, y, column)
                  == ADREV_OK, "%s: pushforward", p->f.name);
        for (size_t i = 0; i < p->m; i++)
            J[i * p->n + j] = column[i];
    }
}

static void pulled_rows(const struct point *p, const ad_rev *x,
                        const ad_rev *y, ad_real *J)
{
    for (size_t i = 0; i < p->m; i++) {
        ad_real seed[MOST_OUT] = { 0 };
        seed[i] = 1;
        CHECK(ad_pullback(tape, p->m, y, seed, p->n, x, &J[i * p->n])
                  == ADREV_OK, "%s: pullback", p->f.name);
    }
}

static bool same_path(const struct point *p, const long double *x,
                      unsigned long there, long double *y)
{
    path = 0;
    p->f.wide(x, &p->k, y);
    return path == there;
}

// Central differences with Richardson extrapolation (Ridders): the entry of the
// tableau that differs least from its neighbours, rounding of y considered.
enum { LEVELS = 10 };

static long double extrapolate(long double t[LEVELS][LEVELS], long double noise)
{
    long double best = t[0][0];
    long double error = (long double)INFINITY;
    for (int l = 1; l < LEVELS; l++) {
        long double factor = 4;
        for (int e = 1; e <= l; e++, factor *= 4) {
            long double a = t[l][e - 1];
            long double b = t[l - 1][e - 1];
            t[l][e] = a + (a - b) / (factor - 1);
            long double off = fabsl(t[l][e] - a) + fabsl(t[l][e] - b)
                            + ldexpl(noise, l);
            if (off < error) {
                error = off;
                best = t[l][e];
            }
        }
    }
    return best;
}

// Column j; false if the program takes another path at one of the steps.
static bool differences(const struct point *p, size_t j, long double *column)
{
    long double table[MOST_OUT][LEVELS][LEVELS];
    long double x[MOST_IN] = { 0 };
    long double up[MOST_OUT] = { 0 };
    long double down[MOST_OUT] = { 0 };
    for (size_t i = 0; i < p->n; i++)
        x[i] = (long double)(ad_real)p->x[i];
    same_path(p, x, 0, up);
    unsigned long there = path;

    long double h = 0x1p-5L;
    long double center = x[j];
    for (int l = 0; l < LEVELS; l++, h /= 2) {
        x[j] = center + h;
        bool same = same_path(p, x, there, up);
        x[j] = center - h;
        if (!same_path(p, x, there, down) || !same)
            return false;
        for (size_t i = 0; i < p->m; i++)
            table[i][l][0] = (up[i] - down[i]) / (2 * h);
    }
    for (size_t i = 0; i < p->m; i++)
        column[i] = extrapolate(table[i], 0x1p5L * LDBL_EPSILON * fabsl(up[i]));
    return true;
}

static long columns_tried;
static long columns_left;

static void check_differences(const struct point *p, const ad_real *J)
{
    ad_real want[MOST];
    memcpy(want, J, p->m * p->n * sizeof *J);
    for (size_t j = 0; j < p->n; j++) {
        long double column[MOST_OUT];
        columns_tried++;
        if (!differences(p, j, column)) {
            columns_left++;
            continue;
        }
        for (size_t i = 0; i < p->m; i++)
            want[i * p->n + j] = (ad_real)column[i];
    }
    agree(p, "differences", J, want, DIFFERENCE);
}

static void check_values(const struct point *p, const ad_rev *y)
{
    long double x[MOST_IN];
    long double want[MOST_OUT];
    for (size_t i = 0; i < p->n; i++)
        x[i] = (long double)(ad_real)p->x[i];
    p->f.wide(x, &p->k, want);
    for (size_t i = 0; i < p->m; i++)
        say(p, "value", i, 0, fabsl((long double)y[i].v - want[i])
                <= (long double)VALUE * (1 + fabsl(want[i])),
            (double)y[i].v, (double)want[i]);
}

// All of it; leaves the values and the Jacobian.
static void differentiate(const struct point *p, ad_rev *y, ad_real *J)
{
    ad_real in[MOST_IN];
    ad_rev x[MOST_IN];
    ad_real other[MOST] = { 0 };
    bool constant = true;
    for (size_t i = 0; i < p->n; i++)
        in[i] = (ad_real)p->x[i];
    ad_tape_clear(tape);
    ad_inputs(p->n, in, x);
    p->f.rev(x, &p->k, y);
    check_values(p, y);
    forward_columns(p, y, other);

    // Without an active output there is no Jacobian: zero, and said so.
    for (size_t i = 0; i < p->m; i++)
        constant = constant && y[i].job == 0;
    ad_status s = ad_jacobian(tape, p->m, y, p->n, x, J);
    if (constant) {
        CHECK(s == ADREV_EPASSIVE, "%s: %s", p->f.name, ad_message(s));
        memset(J, 0, p->m * p->n * sizeof *J);
        return;
    }
    CHECK(s == ADREV_OK, "%s: %s", p->f.name, ad_message(s));
    agree(p, "forward", other, J, AGREE);
    pushed_columns(p, x, y, other);
    agree(p, "pushforward", other, J, AGREE);
    pulled_rows(p, x, y, other);
    agree(p, "pullback", other, J, 0);
    check_differences(p, J);
}

/* --- the printed values --------------------------------------------------- */

struct printed {
    struct point at;
    double y[MOST_OUT];
    double J[30];
    double relative;            // what the printed digits allow; 0: exact
};

#define EXACT 0
#define AT(name, n, m, ...) { PROGRAM(name), n, m, __VA_ARGS__ }

// clang-format off
static const struct printed printed[] = {
    { AT(same,      1, 1, { { 0 }, "" }, { 3 }),      { 3 },     { 1 },          EXACT },
    { AT(twin,      1, 2, { { 0 }, "" }, { 3 }),      { 3, 3 },  { 1, 1 },       EXACT },
    { AT(sum,       2, 1, { { 0 }, "" }, { 3, 2 }),   { 5 },     { 1, 1 },       EXACT },
    { AT(product,   2, 1, { { 0 }, "" }, { 3, 2 }),   { 6 },     { 2, 3 },       EXACT },
    { AT(root,      1, 1, { { 0 }, "" }, { 2 }),      { 2.2360679775 }, { 0.8944271910 }, 1e-10 },
    { AT(logarithm, 1, 1, { { 0 }, "" }, { 2 }),      { 0.6931471806 }, { 0.5 }, 1e-10 },
    { AT(logexp,    2, 1, { { 0 }, "" }, { 2, 0.5 }), { 3.341868451260 }, { 1, 3.648721270700 }, 1e-12 },
    { AT(let,       1, 1, { { 0 }, "" }, { 2 }),      { 10 },    { 7 },          EXACT },
    { AT(letrec,    1, 1, { { 0 }, "" }, { 2 }),      { 30 },    { 55 },         EXACT },
    { AT(letrec4,   1, 1, { { 0 }, "" }, { 2 }),      { 3 },     { 29 },         EXACT },
    { AT(functions, 1, 1, { { 0 }, "" }, { 2 }),      { 16 },    { 6 },          EXACT },
    { AT(functions2, 1, 1, { { 0 }, "" }, { 2 }),     { 24 },    { 6 },          EXACT },
    { AT(closure,   2, 1, { { 0 }, "" }, { 3, 2 }),   { 88 },    { 70, 52 },     EXACT },
    { AT(composition, 2, 1, { { 0 }, "" }, { 3, 2 }), { 4 },     { 2, -3 },      EXACT },
    { AT(fibonacci, 2, 1, { { 0 }, "" }, { 1, 1 }),   { 20736 }, { 25632, 15840 }, EXACT },
    { AT(fibonacci, 2, 1, { { 0 }, "" }, { 3, 2 }),   { 142129 }, { 67106, 41470 }, EXACT },
    { AT(doubling,  1, 1, { { 0 }, "" }, { 3 }),      { 9.437184 }, { 6.291456 }, 1e-15 },
    { AT(branch,    2, 1, { { 0 }, "" }, { 3, 2 }),   { 6 },     { 2, 3 },       EXACT },
    { AT(branch,    2, 1, { { 0 }, "" }, { 2, 3 }),   { 5 },     { 1, 1 },       EXACT },
    { AT(mutual,    1, 1, { { 0 }, "" }, { 0.5 }),    { 1.3 },   { 0.6 },        1e-15 },
    { AT(mutual,    1, 1, { { 0 }, "" }, { 5 }),      { 7.12 },  { 0.216 },      1e-15 },
    { AT(mutual,    1, 1, { { 0 }, "" }, { 12 }),     { 5.12 },  { 0.06 },       1e-15 },
    { AT(mutual,    1, 1, { { 0 }, "" }, { 50 }),     { 8.84 },  { 0.036 },      1e-15 },
    { AT(mutual,    1, 1, { { 0 }, "" }, { -3 }),     { -0.8 },  { 0.6 },        1e-15 },
    { AT(rotation,  7, 3, { { 1 }, "" }, { 1, 2, 3, 4, 5, 6, 7 }), { 270, 348, 342 },
      { 4, -44, 118, 64, 48, -16, 20,
        40, 22, 88, -48, 64, 48, 40,
        -22, 116, 44, 16, -20, 64, 48 }, EXACT },
    { AT(rotation,  7, 3, { { 0 }, "" }, { 1, 2, 3, 4, 5, 6, 7 }), { 270, 180, 342 },
      { 4, -44, 118, 64, 48, -16, 20,
        124, 22, 4, -48, 64, 20, 16,
        -22, 116, 44, 16, -20, 64, 48 }, EXACT },
    { AT(running,   2, 1, { { 0 }, "" }, { 12, 13 }), { 300 },   { 37, 12 },     EXACT },
    { AT(parallel_a, 2, 1, { { 0 }, "" }, { 3, 4 }),  { 47 },    { 25, 11 },     EXACT },
    { AT(parallel_b, 2, 1, { { 0 }, "" }, { 2, 3 }),  { 33 },    { 12, 20 },     EXACT },
    { AT(parallel_c, 2, 1, { { 0 }, "" }, { 2, 5 }),  { 261 },   { 65, 119 },    EXACT },
    { AT(parallel_large, 2, 1, { { 0 }, "" }, { 1, 2 }), { 1.0543919255 },
      { 0.3514639752, 0.3514639752 }, 1e-9 },
    { AT(graph,     1, 1, { { 0 }, "S" }, { 0.3 }),   { 0.3 },   { 1 },          EXACT },
    { AT(graph,     2, 1, { { 0 }, "ES" }, { 0.5, 0.3 }), { 0.154515098493 },
      { 0.212565891280, 0.418586022605 }, 1e-11 },
    { AT(graph,     1, 1, { { 0 }, "PSSS" }, { 0.3 }), { 3.47 }, { 1.9 },        1e-15 },
    { AT(graph,     4, 1, { { 0 }, "PESESES" }, { 0.5, 1.5, 2, 0.3 }), { 1.271529593825 },
      { 0.881186152835, 0.321179611036, 0.027126775579, 0.448606138444 }, 1e-10 },
    { AT(graph,     5, 1, { { 0 }, "PESEPSESSES" }, { 0.5, 1.5, -0.7, 2, 0.3 }), { 1.626216757027 },
      { 0.881186152835, 0.566409041037, 0.534711931151, 0.021890272091, 0.362008024279 }, 1e-10 },
    { AT(graph,     4, 1, { { 0 }, "PESPESPESSSSS" }, { 0.5, 1.5, -0.7, 0.3 }), { 3.390794080258 },
      { 0.880734989808, 0.757542812926, 1.447757696934, 1.027742334942 }, 1e-11 },
    { AT(product,   2, 1, { { 0 }, "" }, { 3, 4 }),   { 12 },    { 4, 3 },       EXACT },
    { AT(dot_product, 10, 1, { { 5 }, "" }, { 1, 2, 3, 4, 5, 3, 5, 7, 9, 11 }), { 125 },
      { 3, 5, 7, 9, 11, 1, 2, 3, 4, 5 }, EXACT },
    { AT(dot_product, 20, 1, { { 10 }, "" },
         { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21 }), { 825 },
      { 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, EXACT },
    { AT(sum_mat_vec, 12, 1, { { 3 }, "" }, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 5, 7 }), { 237 },
      { 3, 5, 7, 3, 5, 7, 3, 5, 7, 12, 15, 18 }, EXACT },
    { AT(particles, 16, 1, { { 4, 10 }, "" },
         { 0.5, 0.1, 1, 1, 1, 0.1, 1, 1, 1.5, 0.1, 1, 1, 2, 0.1, 1, 1 }), { 3.73810401764785 },
      { 0.53463047783755, 0.892251865516298, 0.266237907115025, 0.44432795948217,
        [12] = 0.53463047783755, 2.233332069311604, 0.266237907115025, 1.112165655858964 }, 1e-14 },
    { AT(particles, 16, 1, { { 4, 1000 }, "" },
         { 0.5, 0.1, 1, 1, 1, 0.1, 1, 1, 1.5, 0.1, 1, 1, 2, 0.1, 1, 1 }), { 0.00106762335129 },
      { 1.24312289199e-4, 1.74183869780e-4, 1.11515476324e-4, 1.56253233945e-4,
        [12] = 1.24312289199e-4, 3.61202296959e-4, 1.11515476324e-4, 3.24019825026e-4 }, 1e-11 },
};
// clang-format on

// The entries that are not printed are 0 in the table, and so passed over.
static void check_printed(const struct printed *p)
{
    ad_rev y[MOST_OUT];
    ad_real J[MOST] = { 0 };
    double part = sizeof(ad_real) == sizeof(float) ? 1e-3 : p->relative;
    bool all = p->relative == EXACT;
    differentiate(&p->at, y, J);
    for (size_t i = 0; i < p->at.m; i++)
        say(&p->at, "printed value", i, 0, fabs((double)y[i].v - p->y[i])
                <= part * fabs(p->y[i]), (double)y[i].v, p->y[i]);
    for (size_t i = 0; i < p->at.m * p->at.n; i++)
        if (all || p->J[i] != 0)
            say(&p->at, "printed slope", 0, i, fabs((double)J[i] - p->J[i])
                    <= part * fabs(p->J[i]), (double)J[i], p->J[i]);
}

/* --- random points -------------------------------------------------------- */

enum { TRIALS = 300 };

struct box {
    struct program f;
    size_t n;
    size_t m;
    double from;
    double to;
    struct beside k;
};

static const struct box boxes[] = {
    { PROGRAM(root), 1, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(logarithm), 1, 1, 0.2, 3, { { 0 }, "" } },
    { PROGRAM(logexp), 2, 1, 0.2, 3, { { 0 }, "" } },
    { PROGRAM(product), 2, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(let), 1, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(letrec), 1, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(letrec4), 1, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(functions), 1, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(functions2), 1, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(closure), 2, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(composition), 2, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(fibonacci), 2, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(doubling), 1, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(branch), 2, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(mutual), 1, 1, -3, 60, { { 0 }, "" } },
    { PROGRAM(rotation), 7, 3, -3, 3, { { 1 }, "" } },
    { PROGRAM(rotation), 7, 3, -3, 3, { { 0 }, "" } },
    { PROGRAM(running), 2, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(parallel_a), 2, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(parallel_b), 2, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(parallel_c), 2, 1, -3, 3, { { 0 }, "" } },
    { PROGRAM(dot_product), 20, 1, -3, 3, { { 10 }, "" } },
    { PROGRAM(sum_mat_vec), 20, 1, -3, 3, { { 4 }, "" } },
    { PROGRAM(neural), 29, 2, -1, 1, { { 3, 4, 2 }, "" } },
    { PROGRAM(particles), 16, 1, -2, 2, { { 4, 10 }, "" } },
};

static void run_boxes(void)
{
    uint64_t seed = 7;
    for (size_t b = 0; b < sizeof boxes / sizeof boxes[0]; b++)
        for (int t = 0; t < TRIALS; t++) {
            struct point p = { boxes[b].f, boxes[b].n, boxes[b].m,
                               boxes[b].k, { 0 } };
            ad_rev y[MOST_OUT];
            ad_real J[MOST] = { 0 };
            for (size_t i = 0; i < p.n; i++)
                p.x[i] = oracle_uniform(&seed, boxes[b].from, boxes[b].to);
            differentiate(&p, y, J);
        }
}

// The generator of the paper. A graph that has more constants than there is
// room for is cut short: the last parts become sources.
static char *grow(char *g, int size, int *room, uint64_t *seed)
{
    if (size > 0 && *room > 0 && oracle_uniform(seed, 0, 1) < 0.5) {
        *g++ = 'E';
        --*room;
        return grow(g, size, room, seed);
    }
    if (size > 0 && oracle_uniform(seed, 0, 1) < 1 - 1.0 / size) {
        *g++ = 'P';
        for (int i = 0; i < 3; i++)
            g = grow(g, size / 3, room, seed);
        return g;
    }
    *g++ = 'S';
    return g;
}

static void run_graphs(void)
{
    uint64_t seed = 11;
    for (int t = 0; t < 2000; t++) {
        char text[4096];
        int room = MOST_IN - 1;
        struct point p = { PROGRAM(graph), 0, 1, { { 0 }, text }, { 0 } };
        ad_rev y[MOST_OUT];
        ad_real J[MOST] = { 0 };
        *grow(text, 1 + t % 30, &room, &seed) = 0;
        p.n = graph_constants(text) + 1;
        for (size_t i = 0; i < p.n; i++)
            p.x[i] = oracle_uniform(&seed, -2, 2);
        differentiate(&p, y, J);
    }
}

/* --- sections 4 and 6 beyond single points -------------------------------- */

// x_{i+1} = x_i + x_i: each of n statements is visited once. Visits along all
// paths would be 2^n, and a recursive sweep would overflow the stack.
static void run_sharing(void)
{
    ad_real g = 0;
    ad_tape_clear(tape);
    ad_rev x = ad_input(1);
    ad_rev y = x;
    for (int i = 0; i < 100; i++)
        y = ad_rec(ad_add(y, y));
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "a gradient exists");
    CHECK_CLOSE(g, 0x1p100, 0);

    ad_tape_clear(tape);
    x = ad_input(1);
    y = x;
    for (int i = 0; i < 1000000; i++)
        y = ad_rec(ad_mul(0.5, ad_add(y, y)));
    ad_stats s = ad_tape_stats(tape);
    CHECK(ADREV_FUSE < 2 || s.statements == 1000000, "%zu statements",
          s.statements);
    CHECK(s.operands <= 2 * s.statements, "%zu operands", s.operands);
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "a gradient exists");
    CHECK_CLOSE(g, 1, 0);
    CHECK_CLOSE(y.v, 1, 0);
}

// f2 = 2 f1 + 3 f1, f3 = 4 f2 + 5 f1, f4 = f2 + 2 f3, and the adjoint of each.
static void run_order(void)
{
    ad_real g[4] = { 0 };
    ad_real want[4] = { 55, 9, 2, 1 };
    ad_rev f[4];
    ad_tape_clear(tape);
    f[0] = ad_input(1);
    f[1] = ad_rec(ad_add(ad_mul(2, f[0]), ad_mul(3, f[0])));
    f[2] = ad_rec(ad_add(ad_mul(4, f[1]), ad_mul(5, f[0])));
    f[3] = ad_rec(ad_add(f[1], ad_mul(2, f[2])));
    CHECK(ad_gradient(tape, f[3], 4, f, g) == ADREV_OK, "a gradient exists");
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(g[i], want[i], 0);
}

// The same recording with other seeds; a zero seed gives zeros.
static void run_seeds(void)
{
    ad_real in[7] = { 1, 2, 3, 4, 5, 6, 7 };
    struct beside k = { { 0 }, "" };
    ad_rev x[7];
    ad_rev y[3];
    ad_tape_clear(tape);
    ad_inputs(7, in, x);
    rev_rotation(x, &k, y);
    for (int s = 0; s < 8; s++) {
        ad_real seed[3] = { (s & 1) != 0, (s & 2) != 0, (s & 4) != 0 };
        ad_real g[7];
        ad_real sum[7] = { 0 };
        CHECK(ad_pullback(tape, 3, y, seed, 7, x, g) == ADREV_OK, "seed %d", s);
        for (int i = 0; i < 3; i++) {
            ad_real row[7] = { 0 };
            CHECK(ad_gradient(tape, y[i], 7, x, row) == ADREV_OK, "row %d", i);
            for (int j = 0; j < 7; j++)
                sum[j] += seed[i] * row[j];
        }
        for (int j = 0; j < 7; j++)
            CHECK_CLOSE(g[j], sum[j], 0);
    }
}

static void run_dot_1000(void)
{
    enum { LENGTH = 1000 };
    static ad_rev x[2 * LENGTH];
    static ad_real g[2 * LENGTH];
    struct beside k = { { LENGTH }, "" };
    ad_rev y;
    ad_tape_clear(tape);
    for (int i = 0; i < LENGTH; i++)
        x[i] = ad_input((ad_real)(i + 1));
    for (int i = 0; i < LENGTH; i++)
        x[LENGTH + i] = ad_input((ad_real)(2 * i + 3));
    rev_dot_product(x, &k, &y);
    if (sizeof(ad_real) == sizeof(double))
        CHECK_CLOSE(y.v, 668167500, 0);
    CHECK(ad_gradient(tape, y, 2 * LENGTH, x, g) == ADREV_OK, "gradient");
    for (int i = 0; i < LENGTH; i++) {
        CHECK_CLOSE(g[i], 2 * i + 3, 0);
        CHECK_CLOSE(g[LENGTH + i], i + 1, 0);
    }
}

/* --- the neural network --------------------------------------------------- */

// The printed digits, or what is left of them in single precision.
static void close_to(const char *what, double got, double want,
                     double relative, double least)
{
    if (sizeof(ad_real) == sizeof(float)) {
        relative = 1e-3;
        least = 1e-4;
    }
    CHECK(fabs(got - want) <= relative * fabs(want) + least,
          "%s: got %.17g, want %.17g", what, got, want);
}

// Inputs, W1, b1, W2, b2: W_ij = sin(i + j), b_i = x_i = sin(0.41 i).
static size_t network(const int *k, ad_rev *x)
{
    size_t n = 0;
    int from = k[0];
    for (int i = 0; i < k[0]; i++)
        x[n++] = ad_input((ad_real)sin(0.41 * i));
    for (int l = 1; l < 3; l++, from = k[l - 1]) {
        for (int i = 0; i < k[l]; i++)
            for (int j = 0; j < from; j++)
                x[n++] = ad_input((ad_real)sin(i + j));
        for (int i = 0; i < k[l]; i++)
            x[n++] = ad_input((ad_real)sin(0.41 * i));
    }
    return n;
}

static void run_network_small(void)
{
    static const double want[29] = {
        -0.119032428407, 0.122728111495, 0.251652991678,
        [15] = 0.156155283365, 0.012586835986, -0.142553890351, 0,
        -0.185620049426, -0.160381194204, -0.043436343611, 0,
        0.185620049426, 0.160381194204, 0.043436343611, 0,
        -0.185574174492, 0.185574174492,
    };
    struct beside k = { { 3, 4, 2 }, "" };
    ad_rev x[29];
    ad_rev y[2];
    ad_real g[29] = { 0 };
    ad_tape_clear(tape);
    CHECK(network(k.i, x) == 29, "parameters");
    rev_neural(x, &k, y);
    close_to("value", (double)y[0].v, 1.753822429088, 1e-12, 0);
    close_to("unweighted", (double)y[1].v, 1, 0, 0);
    CHECK(ad_gradient(tape, y[0], 29, x, g) == ADREV_OK, "gradient");
    for (int i = 0; i < 29; i++)
        if (i < 3 || i >= 15)
            close_to("slope", (double)g[i], want[i], 0, 1e-12);
    CHECK(ad_gradient(tape, y[1], 29, x, g) == ADREV_OK, "gradient");
    for (int i = 0; i < 29; i++)
        close_to("slope of the unweighted sum", (double)g[i], 0, 0, 1e-15);
}

static double norm(const ad_real *g, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += (double)g[i] * (double)g[i];
    return sqrt(s);
}

static void run_network_full(void)
{
    enum { PARAMETERS = 50 + 5000 + 100 + 5000 + 50 };
    static ad_rev x[PARAMETERS];
    static ad_real g[PARAMETERS];
    struct beside k = { { 50, 100, 50 }, "" };
    ad_rev y[2];
    ad_tape_clear(tape);
    CHECK(network(k.i, x) == PARAMETERS, "parameters");
    rev_neural(x, &k, y);
    close_to("value", (double)y[0].v, 26.9393328809285, 1e-14, 0);
    CHECK(ad_gradient(tape, y[0], PARAMETERS, x, g) == ADREV_OK, "gradient");
    close_to("inputs", norm(g, 50), 89.2385233, 1e-9, 0);
    close_to("W1", norm(g + 50, 5000), 17.8285720, 5e-9, 0);
    close_to("b1", norm(g + 5050, 100), 3.59499589, 2e-9, 0);
}

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++)
        check_printed(&printed[i]);
    run_boxes();
    run_graphs();
    run_sharing();
    run_order();
    run_seeds();
    run_dot_1000();
    run_network_small();
    run_network_full();
    CHECK(columns_left < columns_tried / 20, "%ld of %ld columns crossed a "
          "branch", columns_left, columns_tried);
    ad_tape_free(tape);
    return check_done("dualrev");
}
