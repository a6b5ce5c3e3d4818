/* 24  How does a motor swing a pole up with the least effort?
 *
 * A cart carries a pole that hangs down; after two seconds the pole stands, one
 * metre further on. The motion is cut into 100 intervals (trapezoidal
 * collocation; M. Kelly, An introduction to trajectory optimization, 2017).
 * Each is an element: its effort, and multipliers times what the equations of
 * motion leave. The sum of all is the Lagrangian. Newton's method makes its
 * gradient zero; the Hessian is the whole KKT matrix, written into the banded
 * matrix in which it is solved.
 *
 * Shows    ad_fn_assemble: one recorded element, an index map, fixed variables;
 *          ad_export_into: entries into a solver's own array
 * Needs    12
 * Prints   909 unknowns, 5059 entries in rows of 40
 *           1  effort  22.1196  gradient 2.8e+00  length 0.0625
 *           2  effort  28.0607  gradient 2.6e+00  length 0.125
 *           3  effort  26.7482  gradient 2.1e+00  length 0.25
 *           4  effort  27.2291  gradient 1.7e+00  length 0.25
 *           5  effort  27.9642  gradient 1.5e+00  length 0.25
 *           6  effort  28.5430  gradient 1.3e+00  length 0.25
 *           7  effort  28.9272  gradient 1.1e+00  length 0.25
 *           8  effort  29.1602  gradient 9.4e-01  length 0.25
 *           9  effort  29.2935  gradient 7.9e-01  length 0.25
 *          10  effort  29.3667  gradient 6.5e-01  length 0.25
 *          11  effort  29.4341  gradient 6.3e-01  length 0.5
 *          12  effort  29.4473  gradient 4.3e-01  length 0.5
 *          13  effort  29.4486  gradient 2.2e-01  length 1
 *          14  effort  29.4484  gradient 1.5e-03  length 1
 *          15  effort  29.4484  gradient 1.6e-06  length 1
 *          16  effort  29.4484  gradient below 1e-9
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_assemble.h"
#include "fail.h"

// Of a node: place, angle, their speeds, force, and multipliers of the interval
// that begins there.
enum { INTERVALS = 100, STATES = 4, NODE = 9, READS = NODE + 5,
       N = NODE * (INTERVALS + 1), BAND = 13, ROW = 3 * BAND + 1 };
static const double duration = 2, distance = 1, half_turn = 3.141592653589793;

static void cart_pole(const ad_rev x[], ad_rev d[])
{
    ad_rev s = ad_rec(ad_sin(x[1]));
    ad_rev c = ad_rec(ad_cos(x[1]));
    ad_rev pull = ad_rec(ad_add(ad_mul(ad_mul(0.15, s), ad_sqr(x[3])), x[4]));
    ad_rev mass = ad_rec(ad_sub(1.3, ad_mul(0.3, ad_sqr(c))));
    d[0] = x[2];
    d[1] = x[3];
    d[2] = ad_rec(ad_div(ad_add(pull, ad_mul(2.943, ad_mul(c, s))), mass));
    d[3] = ad_rec(ad_div(ad_add(ad_mul(c, pull), ad_mul(12.753, s)),
                         ad_mul(-0.5, mass)));
}

// x: a node, and state and force of the next one.
static void interval(const ad_rev *x, ad_rev *y, void *ctx)
{
    const double half = duration / INTERVALS / 2;
    ad_rev a[STATES], b[STATES];
    (void)ctx;
    cart_pole(x, a);
    cart_pole(x + NODE, b);
    y[0] = ad_rec(ad_mul(half / 2, ad_add(ad_sqr(x[4]), ad_sqr(x[NODE + 4]))));
    for (int i = 0; i < STATES; i++)
        ad_acc(&y[0], ad_mul(x[5 + i],
            ad_sub(ad_sub(x[NODE + i], x[i]),
                   ad_mul(half, ad_add(a[i], b[i])))));
}

// Element (i, j) of a banded matrix; rows may have grown to the right.
static double *at(double A[], int i, int j)
{
    return &A[i * ROW + j - i + BAND];
}

// Solves A x = b, with pivots; x comes in place of b.
static void solve(double A[], double b[])
{
    for (int k = 0; k < N; k++) {
        int end = k + BAND < N - 1 ? k + BAND : N - 1, pivot = k;
        for (int i = k + 1; i <= end; i++)
            if (fabs(*at(A, i, k)) > fabs(*at(A, pivot, k)))
                pivot = i;
        for (int j = k; j <= k + 2 * BAND; j++) {
            double t = *at(A, k, j);
            *at(A, k, j) = *at(A, pivot, j);
            *at(A, pivot, j) = t;
        }
        double t = b[k];
        b[k] = b[pivot];
        b[pivot] = t;
        for (int i = k + 1; i <= end; i++) {
            double l = *at(A, i, k) / *at(A, k, k);
            for (int j = k; j <= k + 2 * BAND; j++)
                *at(A, i, j) -= l * *at(A, k, j);
            b[i] -= l * b[k];
        }
    }
    for (int i = N - 1; i >= 0; i--) {
        for (int j = i + 1; j < N && j <= i + 2 * BAND; j++)
            b[i] -= *at(A, i, j) * b[j];
        b[i] /= *at(A, i, i);
    }
}

static double norm(const double v[])
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += v[i] * v[i];
    return sqrt(sum);
}

static void must(ad_status status)
{
    if (status != ADREV_OK)
        fail(1, "24_swing_up: %s", ad_message(status));
}

// The Lagrangian of all intervals. The states at both ends are fixed, and so
// are the multipliers of the last node, which begins no interval.
static ad_assembly *lagrangian(const bool fixed[])
{
    static int32_t variable[INTERVALS * READS], result[INTERVALS];
    const double point[READS] = { 0, 0.1 };
    ad_fn *fn;
    ad_assembly *all;
    for (int i = 0; i < INTERVALS * READS; i++)
        variable[i] = i / READS * NODE + i % READS;
    must(ad_fn_record(&fn, interval, NULL, READS, point, 1));
    const ad_elements of = { fn, INTERVALS, variable, NULL, result };
    const ad_assembly_options o = { .fixed = fixed };
    must(ad_fn_assemble(&all, &o, N, 0, 1, 1, &of));
    ad_fn_free(fn);
    return all;
}

// Where the entries of the Hessian are in the banded matrix: row i begins BAND
// columns before the diagonal, so all columns are counted from there.
static ad_export *band(ad_assembly *all)
{
    static int32_t start[N + 1], column[N * ROW];
    const ad_layout both = { .form = ADREV_CSR, .triangle = ADREV_BOTH };
    const ad_matrix to = { N, N + 3 * BAND, N * ROW, start, NULL, column, 0,
                           BAND };
    ad_export *e;
    for (int i = 0; i < N * ROW; i++)
        column[i] = i / ROW + i % ROW;
    for (int i = 0; i <= N; i++)
        start[i] = i * ROW;
    must(ad_assembly_hessian_export(all, &both, &e));
    must(ad_export_into(e, &to, NULL));
    return e;
}

int main(void)
{
    static bool fixed[N];
    static double x[N], g[N], step[N], next[N], A[N * ROW];
    const double one = 1;
    double y;
    for (int k = 0; k <= INTERVALS; k++) {
        x[k * NODE] = distance * k / INTERVALS;
        x[k * NODE + 1] = half_turn * k / INTERVALS;
        for (int i = 0; i < STATES; i++) {
            fixed[k * NODE + i] = k == 0 || k == INTERVALS;
            fixed[k * NODE + 5 + i] = k == INTERVALS;
        }
    }
    ad_assembly *all = lagrangian(fixed);
    ad_export *e = band(all);
    printf("%d unknowns, %zu entries in rows of %d\n", N,
           ad_export_entries(e, NULL, NULL), ROW);
    must(ad_assembly_gradient(all, x, NULL, &y, g));
    for (int n = 1; n <= 60 && norm(g) > 1e-9; n++) {
        memset(A, 0, sizeof A);
        must(ad_assembly_hessian(all, x, NULL, &one, e, A));
        for (int i = 0; i < N; i++) {
            step[i] = -g[i];
            if (fixed[i])
                *at(A, i, i) = 1;
        }
        solve(A, step);
        double before = norm(g), length = 1;
        do {
            for (int i = 0; i < N; i++)
                next[i] = x[i] + length * step[i];
            must(ad_assembly_gradient(all, next, NULL, &y, g));
            length /= 2;
        } while (!(norm(g) < before) && length > 1e-6);
        memcpy(x, next, sizeof x);
        printf("%2d  effort %8.4f  gradient ", n, y);
        if (norm(g) > 1e-9)
            printf("%.1e  length %g\n", norm(g), 2 * length);
        else
            printf("below 1e-9\n");
    }
    ad_export_free(e);
    ad_assembly_free(all);
}
