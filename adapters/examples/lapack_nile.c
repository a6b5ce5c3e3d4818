// needs: -llapack
// libs: -llapack -lblas
/* A Gaussian process fitted to the Nile: its volume at Aswan in each year from
 * 1871 to 1970, in 10^8 cubic metres (G. W. Cobb, Biometrika 65, 1978). The
 * marginal likelihood is one Cholesky factorisation, which is one statement.
 * Its gradient and its exact Hessian go to Newton's method, and the Hessian at
 * the maximum says how well the parameters are known.
 *
 * Shows    ad_lapack_solve_spd with the log-determinant, in a recorded function;
 *          ad_lapack_cholesky; the same calls with constants
 * Prints   100 years, mean 919.350
 *          log likelihood -638.340
 *            amplitude   118.9 / 1.205   10^8 m3
 *            length        2.6 / 1.376   years
 *            noise       116.1 / 1.103   10^8 m3
 *          log likelihood -639.743
 *            amplitude   110.5 / 1.571   10^8 m3
 *            length       23.7 / 1.516   years
 *            noise       137.5 / 1.075   10^8 m3
 *          largest difference of the gradient from central differences < 1e-6
 *
 * The likelihood has two maxima, which Newton's method finds from two starts:
 * the river has wet and dry years, and a slow trend. Behind each parameter
 * stands the factor of its standard error. With a name, draws both, with a band
 * of two deviations: lapack_nile nile.svg. `lapack_nile time` measures value
 * and gradient for 500 points.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#include "adrev_lapack.h"
#include "chart.h"
#include "fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { YEARS = 100, FIRST = 1871, GRID = 221, PARAMETERS = 3, MANY = 500 };

static const double volume[YEARS] = {
    1120, 1160,  963, 1210, 1160, 1160,  813, 1230, 1370, 1140,
     995,  935, 1110,  994, 1020,  960, 1180,  799,  958, 1140,
    1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100,  774,  840,
     874,  694,  940,  833,  701,  916,  692, 1020, 1050,  969,
     831,  726,  456,  824,  702, 1120, 1100,  832,  764,  821,
     768,  845,  864,  862,  698,  845,  744,  796, 1040,  759,
     781,  865,  845,  944,  984,  897,  822, 1010,  771,  676,
     649,  846,  812,  742,  801, 1040,  860,  874,  848,  890,
     744,  749,  838, 1050,  918,  986,  797,  923,  975,  815,
    1020,  906,  901, 1170,  912,  746,  919,  718,  714,  740
};

// Points and values, and memory for one likelihood.
typedef struct process {
    int n;
    double mean;
    double *t;              // [n]
    double *y;              // [n] without the mean
    ad_rev *K;              // [n*n]
    ad_rev *L;              // [n*n]
    ad_rev *b;              // [n]
    ad_rev *a;              // [n] K^-1 y
} process;

static process new_process(int n)
{
    size_t N = (size_t)n;
    process p = { n, 0, malloc(2 * N * sizeof(double)), NULL,
                  malloc((2 * N * N + 2 * N) * sizeof(ad_rev)), NULL, NULL,
                  NULL };
    if (p.t == NULL || p.K == NULL)
        fail(3, "lapack_nile: out of memory");
    p.y = p.t + N;
    p.L = p.K + N * N;
    p.b = p.L + N * N;
    p.a = p.b + N;
    return p;
}

static void free_process(process *p)
{
    free(p->t);
    free(p->K);
}

/* --- the likelihood -------------------------------------------------------- */

// Amplitude, length and noise by their logarithms. The lower triangle of
// K = s^2 exp(-(t - t')^2 / (2 l^2)) + noise^2 I: each element is a statement.
static void kernel(const ad_rev theta[PARAMETERS], const process *p)
{
    ad_rev s2 = ad_rec(ad_exp(ad_mul(2, theta[0])));
    ad_rev m = ad_rec(ad_mul(-0.5, ad_exp(ad_mul(-2, theta[1]))));
    ad_rev noise = ad_rec(ad_exp(ad_mul(2, theta[2])));
    for (int i = 0; i < p->n; i++) {
        for (int j = 0; j < i; j++) {
            double d = p->t[i] - p->t[j];
            p->K[i * p->n + j] = ad_rec(ad_mul(s2, ad_exp(ad_mul(m, d * d))));
        }
        p->K[i * p->n + i] = ad_rec(ad_add(s2, noise));
        p->b[i] = ad_rec(p->y[i]);
    }
}

// -log p(y) = (y' a + log det K + n log 2 pi) / 2,  K a = y
static ad_rev from_parts(const process *p, ad_rev logdet)
{
    const double constant = p->n * log(2 * 3.14159265358979323846);
    ad_rev fit = ad_dotc((size_t)p->n, p->a, p->y);
    return ad_rec(ad_mul(0.5, ad_add(ad_add(fit, logdet), constant)));
}

static ad_rev by_solve(const ad_rev theta[PARAMETERS], const process *p)
{
    ad_rev logdet;
    kernel(theta, p);
    ad_lapack_solve_spd((size_t)p->n, 1, p->K, p->b, p->a, &logdet);
    return from_parts(p, logdet);
}

static ad_rev by_cholesky(const ad_rev theta[PARAMETERS], const process *p)
{
    ad_rev sum = { 0 };
    kernel(theta, p);
    ad_lapack_cholesky((size_t)p->n, p->K, p->L);
    ad_lapack_cholesky_solve((size_t)p->n, 1, p->L, p->b, p->a);
    for (int i = 0; i < p->n; i++)
        ad_acc(&sum, ad_mul(2, ad_log(p->L[i * (p->n + 1)])));
    return from_parts(p, sum);
}

// In loops, each operation of which is on the tape.
static ad_rev by_loops(const ad_rev theta[PARAMETERS], const process *p)
{
    const int n = p->n;
    ad_rev sum = { 0 };
    ad_rev *L = p->K;
    kernel(theta, p);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            ad_rev s = ad_dot((size_t)j, &L[i * n], &L[j * n]);
            s = ad_rec(ad_sub(L[i * n + j], s));
            L[i * n + j] = i == j ? ad_rec(ad_sqrt(s))
                                  : ad_rec(ad_div(s, L[j * n + j]));
        }
    for (int i = 0; i < n; i++) {
        p->a[i] = ad_rec(ad_div(ad_sub(p->b[i], ad_dot((size_t)i, &L[i * n],
                                                      p->a)), L[i * n + i]));
        ad_acc(&sum, ad_mul(2, ad_log(L[i * n + i])));
    }
    for (int i = n - 1; i >= 0; i--) {
        size_t after = (size_t)(n - 1 - i);
        ad_rev s = ad_dot_s(after, &L[(i + 1) * n + i], n, &p->a[i + 1], 1);
        p->a[i] = ad_rec(ad_div(ad_sub(p->a[i], s), L[i * n + i]));
    }
    return from_parts(p, sum);
}

static void likelihood(const ad_rev *theta, ad_rev *y, void *ctx)
{
    y[0] = by_solve(theta, ctx);
}

/* --- Newton's method ------------------------------------------------------- */

// x = H^-1 g, 3 x 3, by the adapter itself; false: not positive definite.
static bool newton_step(const double H[9], const double g[3], double x[3])
{
    ad_rev A[9], b[3];
    for (int i = 0; i < 9; i++)
        A[i] = ad_rec(H[i]);
    for (int i = 0; i < 3; i++)
        b[i] = ad_rec(g[i]);
    bool good = ad_lapack_solve_spd(3, 1, A, b, b, NULL) == ADREV_OK;
    for (int i = 0; i < 3; i++)
        x[i] = ad_value(b[i]);
    return good;
}

static void need(ad_status status)
{
    if (status != ADREV_OK)
        fail(4, "lapack_nile: %s", ad_message(status));
}

// Minimises f from theta; H is the Hessian there. Steps that do not help are
// shortened by a multiple of the identity.
static double minimise(ad_fn *f, double theta[3], double H[9])
{
    const double one = 1;
    double y = 0, damping = 1;
    for (int i = 0; i < 100; i++) {
        double g[3], A[9], step[3], next[3], z = HUGE_VAL;
        need(ad_fn_gradient(f, theta, &y, g));
        need(ad_fn_hessian(f, theta, &one, H));
        if (fabs(g[0]) + fabs(g[1]) + fabs(g[2]) < 1e-9)
            return y;
        for (; !(z < y) && damping < 1e12; damping *= 4) {
            memcpy(A, H, sizeof A);
            for (int k = 0; k < 9; k += 4)
                A[k] += damping;
            if (!newton_step(A, g, step))
                continue;
            for (int k = 0; k < 3; k++)
                next[k] = theta[k] - step[k];
            if (ad_fn_eval(f, next, &z) != ADREV_OK)
                z = HUGE_VAL;
        }
        if (!(z < y))
            return y;               // rounding errors decide
        memcpy(theta, next, sizeof next);
        damping /= 64;
    }
    return y;
}

// The largest difference of the gradient from differences, relative.
static double off_differences(ad_fn *f, const double theta[3])
{
    const double h = 1e-4;
    double at[3], g[3], worst = 0;
    memcpy(at, theta, sizeof at);
    at[0] += 0.1;                   // where the gradient is not 0
    need(ad_fn_gradient(f, at, NULL, g));
    for (int i = 0; i < 3; i++) {
        double more = 0, less = 0, x = at[i];
        at[i] = x + h;
        need(ad_fn_eval(f, at, &more));
        at[i] = x - h;
        need(ad_fn_eval(f, at, &less));
        at[i] = x;
        worst = fmax(worst, fabs((more - less) / (2 * h) - g[i])
                            / (1 + fabs(g[i])));
    }
    return worst;
}

/* --- the picture ----------------------------------------------------------- */

// Mean and standard deviation of the process at the points of a grid.
static void predict(const double theta[3], const process *p,
                    const double at[GRID], double mean[GRID],
                    double deviation[GRID])
{
    const double s2 = exp(2 * theta[0]);
    static ad_rev B[YEARS * (GRID + 1)], X[YEARS * (GRID + 1)];
    ad_rev constant[3];
    for (int k = 0; k < 3; k++)
        constant[k] = ad_rec(theta[k]);
    kernel(constant, p);
    for (int i = 0; i < YEARS; i++) {
        for (int k = 0; k < GRID; k++) {
            double d = (p->t[i] - at[k]) * exp(-theta[1]);
            B[i * (GRID + 1) + k] = ad_rec(s2 * exp(-0.5 * d * d));
        }
        B[i * (GRID + 1) + GRID] = ad_rec(p->y[i]);
    }
    need(ad_lapack_solve_spd(YEARS, GRID + 1, p->K, B, X, NULL));
    for (int k = 0; k < GRID; k++) {
        double variance = s2;
        mean[k] = p->mean;
        for (int i = 0; i < YEARS; i++) {
            double c = ad_value(B[i * (GRID + 1) + k]);
            mean[k] += c * ad_value(X[i * (GRID + 1) + GRID]);
            variance -= c * ad_value(X[i * (GRID + 1) + k]);
        }
        deviation[k] = sqrt(variance);
    }
}

static void band(const chart *c, const double at[GRID],
                 const double mean[GRID], const double deviation[GRID])
{
    fprintf(c->file, "<path d='");
    for (int i = 0; i < 2 * GRID; i++) {
        int k = i < GRID ? i : 2 * GRID - 1 - i;
        double y = mean[k] + (i < GRID ? 2 : -2) * deviation[k];
        fprintf(c->file, "%c%.1f %.1f", i == 0 ? 'M' : 'L', chart_x(c, at[k]),
                chart_y(c, y));
    }
    fprintf(c->file, "Z' fill='%s' fill-opacity='0.15'/>\n",
            c->colour == NULL ? "#d33" : c->colour);
}

static void draw(const char *path, const double fast[3],
                 const double slow[3], const process *p)
{
    double at[GRID], mean[GRID], deviation[GRID], years[YEARS];
    chart c = { .left = 1865, .right = 1976, .bottom = 400, .top = 1400,
                .radius = 3.5 };
    for (int k = 0; k < GRID; k++)
        at[k] = 1866 + 0.5 * k - 0.5;
    for (int i = 0; i < YEARS; i++)
        years[i] = FIRST + i;
    predict(fast, p, at, mean, deviation);
    bool good = chart_open(&c, path, "year", "volume (10⁸ m³)");
    if (good) {
        band(&c, at, mean, deviation);
        chart_curve(&c, GRID, at, mean, "wet and dry years");
        predict(slow, p, at, mean, deviation);
        c.colour = "#393";
        c.line = 3;
        band(&c, at, mean, deviation);
        chart_curve(&c, GRID, at, mean, "a slow trend");
        c.colour = NULL;
        c.line = 1;
        chart_points(&c, YEARS, years, volume, "the Nile at Aswan");
        good = chart_close(&c);
    }
    if (!good)
        fail(5, "lapack_nile: cannot write %s", path);
}

/* --- timings ---------------------------------------------------------------- */

typedef ad_rev likelihood_fn(const ad_rev theta[PARAMETERS], const process *p);

static double now(void) { return 1e3 * (double)clock() / CLOCKS_PER_SEC; }

static int by_size(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

// Value and gradient: median of `runs`, after one that warms up; and memory.
static double measure(const char *name, likelihood_fn *f, const process *p,
                      int runs, double kept, double g[3])
{
    const double theta[3] = { 0.2, -1, -1.5 };
    double took[16];
    ad_tape *t = ad_tape_new();
    ad_use(t);
    for (int i = 0; i <= runs; i++) {
        ad_rev x[3];
        double before = now();
        ad_tape_clear(t);
        ad_inputs(3, theta, x);
        ad_rev y = f(x, p);
        need(ad_gradient(t, y, 3, x, g));
        took[i] = now() - before;
    }
    qsort(took + 1, (size_t)runs, sizeof *took, by_size);
    printf("%-34s %8.1f ms %8.1f MB\n", name, took[(runs + 1) / 2],
           ((double)ad_tape_bytes(t) + kept) / 1e6);
    ad_use(NULL);
    ad_tape_free(t);
    return took[(runs + 1) / 2];
}

// Six values by LAPACK, nothing recorded.
static void measure_differences(const process *p, const double g[3])
{
    const double theta[3] = { 0.2, -1, -1.5 }, h = 1e-4;
    double before = now(), worst = 0;
    for (int k = 0; k < 3; k++) {
        double d[2];
        for (int side = 0; side < 2; side++) {
            ad_rev x[3];
            for (int i = 0; i < 3; i++)
                x[i] = ad_rec(theta[i] + (i == k ? (side ? -h : h) : 0));
            d[side] = ad_value(by_solve(x, p));
        }
        worst = fmax(worst, fabs((d[0] - d[1]) / (2 * h) / g[k] - 1));
    }
    printf("%-34s %8.1f ms              off by %.0e\n",
           "central differences", now() - before, worst);
}

// The gradient as it is written by hand: with W = K^-1 - a a', each component
// is half the sum of W o dK/dtheta. The routines are declared in
// adrev_lapack.h.
static void measure_by_hand(const process *p, const double g[3])
{
    const double s2 = exp(2 * 0.2), m = -0.5 * exp(2), noise = exp(2 * -1.5);
    const int n = p->n, one = 1;
    const size_t N = (size_t)n;
    double *K = malloc(2 * N * N * sizeof *K), *a = malloc(N * sizeof *a);
    double before = now(), by_hand[3] = { 0 };
    int info = 0, wrong = 0;
    if (K == NULL || a == NULL)
        fail(3, "lapack_nile: out of memory");
    double *L = K + N * N;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double d = p->t[i] - p->t[j];
            K[i + j * n] = s2 * exp(m * d * d);
            L[i + j * n] = K[i + j * n] + (i == j ? noise : 0);
        }
    memcpy(a, p->y, N * sizeof *a);
    dpotrf_("L", &n, L, &n, &info, 1);
    wrong |= info;
    dtrsm_("L", "L", "N", "N", &n, &one, &(double){ 1 }, L, &n, a, &n, 1, 1, 1,
           1);
    dtrsm_("L", "L", "T", "N", &n, &one, &(double){ 1 }, L, &n, a, &n, 1, 1, 1,
           1);
    dpotri_("L", &n, L, &n, &info, 1);
    wrong |= info;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double d = p->t[i] - p->t[j];
            double w = (L[i + j * n] - a[i] * a[j]) * (i == j ? 0.5 : 1);
            by_hand[0] += w * 2 * K[i + j * n];
            by_hand[1] += w * K[i + j * n] * -2 * m * d * d;
            by_hand[2] += i == j ? w * 2 * noise : 0;
        }
    double took = now() - before;
    for (int k = 0; k < 3; k++)
        if (wrong || fabs(by_hand[k] / g[k] - 1) > 1e-6)
            fail(4, "lapack_nile: the gradient by hand differs");
    printf("%-34s %8.1f ms %8.1f MB\n", "by hand", took,
           2 * (double)(N * N) * sizeof *K / 1e6);
    free(K);
    free(a);
}

static void timings(void)
{
    process p = new_process(MANY);
    double g[3], other[3];
    const double square = (double)MANY * MANY * sizeof(double);
    for (int i = 0; i < MANY; i++) {
        p.t[i] = 10.0 * i / MANY;
        p.y[i] = sin(p.t[i]) + 0.2 * cos(37.0 * i);
    }
    printf("%d points: value and gradient\n", MANY);
    measure("one solve with log-determinant", by_solve, &p, 5, square, g);
    measure("Cholesky factor, then solve", by_cholesky, &p, 5, 2 * square,
            other);
    measure("loops, each row product on the tape", by_loops, &p, 1, 0, other);
    for (int i = 0; i < 3; i++)
        if (fabs(other[i] / g[i] - 1) > 1e-6)
            fail(4, "lapack_nile: gradients differ");
    measure_by_hand(&p, g);
    measure_differences(&p, g);
    free_process(&p);
}

// The maximum near theta, and the errors of its parameters.
static void report(ad_fn *f, double theta[3])
{
    const char *const names[3] = { "amplitude", "length", "noise" };
    double H[9] = { 0 }, inverse[9] = { 0 };
    printf("log likelihood %.3f\n", -minimise(f, theta, H));
    for (int k = 0; k < 3; k++) {
        const double unit[3] = { k == 0, k == 1, k == 2 };
        if (!newton_step(H, unit, &inverse[3 * k]))
            fail(4, "lapack_nile: no minimum");
        printf("  %-9s %7.1f / %.3f   %s\n", names[k], exp(theta[k]),
               exp(sqrt(inverse[4 * k])), k == 1 ? "years" : "10^8 m3");
    }
}

int main(int argc, char **argv)
{
    double fast[3] = { 4.6, 2, 5 }, slow[3] = { 4.6, 3.2, 5 };
    if (argc == 2 && strcmp(argv[1], "time") == 0) {
        timings();
        return 0;
    }
    process p = new_process(YEARS);
    for (int i = 0; i < YEARS; i++)
        p.mean += volume[i] / YEARS;
    for (int i = 0; i < YEARS; i++) {
        p.t[i] = FIRST + i;
        p.y[i] = volume[i] - p.mean;
    }
    printf("%d years, mean %.3f\n", YEARS, p.mean);

    ad_fn *f = NULL;
    if (ad_fn_record(&f, likelihood, &p, 3, fast, 1) != ADREV_OK)
        fail(4, "lapack_nile: %s", ad_fn_reason());
    report(f, fast);
    report(f, slow);
    printf("largest difference of the gradient from central differences %s"
           " 1e-6\n", off_differences(f, fast) < 1e-6 ? "<" : ">=");
    if (argc > 1)
        draw(argv[1], fast, slow, &p);
    ad_fn_free(f);
    free_process(&p);
    return 0;
}
