/* 12  Where was the robot? 500 places on its way up and down a field.
 *
 * It measured every step, and drifted; it also saw where it had been in the
 * row before. Newton's method minimises the sum of squares of what does not
 * fit. The Hessian has 1500 rows, but entries only where two places were
 * measured against each other: nothing else of it is computed.
 *
 * Shows    ad_fn_record once; at every step ad_fn_gradient, ad_fn_eval, and
 *          ad_fn_hessian_sparse; the pattern, for a Cholesky factorisation
 * Needs    03
 * Prints   1500 unknowns, 9723 entries of the Hessian in 16 directions
 *          off by 3.80 m; misfit
 *           57810.08  gradient 5.2e+02  shift 5    length 0.5
 *           51618.05  gradient 2.2e+03  shift 341  length 1
 *           33078.56  gradient 1.9e+03  shift 341  length 1
 *           16959.80  gradient 2.7e+03  shift 0    length 1
 *            2714.06  gradient 1.2e+03  shift 0    length 1
 *             682.69  gradient 2.2e+01  shift 0    length 1
 *             673.01  gradient 9.0e-02  shift 0    length 1
 *             672.87  gradient 4.0e-02  shift 0    length 1
 *             672.86  gradient 2.1e-05  shift 0    length 1
 *          off by 0.43 m
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#include "fail.h"

enum { ROWS = 20, LENGTH = 25, PLACES = ROWS * LENGTH, N = 3 * PLACES };

// Of one place from another: how far ahead, how far to the left, what turn.
typedef struct seen { int from; int to; double at[3]; } seen;
typedef struct survey { int n; seen seen[2 * PLACES]; } survey;

static const double sigma[3] = { 0.1, 0.1, 0.03 };

// x: of each place two coordinates and the heading. The first is known.
static void misfit(const ad_rev *x, ad_rev *y, void *ctx)
{
    const survey *s = ctx;
    ad_rev sum = {0};
    for (int k = 0; k < 3; k++)
        ad_acc(&sum, ad_sqr(ad_mul(1000, x[k])));
    for (int i = 0; i < s->n; i++) {
        const ad_rev *a = x + 3 * s->seen[i].from, *b = x + 3 * s->seen[i].to;
        ad_rev u = ad_rec(ad_sub(b[0], a[0])), c = ad_rec(ad_cos(a[2]));
        ad_rev v = ad_rec(ad_sub(b[1], a[1])), d = ad_rec(ad_sin(a[2]));
        ad_rev at[3] = { ad_rec(ad_add(ad_mul(c, u), ad_mul(d, v))),
                         ad_rec(ad_sub(ad_mul(c, v), ad_mul(d, u))),
                         ad_rec(ad_sub(b[2], a[2])) };
        for (int k = 0; k < 3; k++)
            ad_acc(&sum, ad_sqr(ad_div(ad_sub(at[k], s->seen[i].at[k]),
                                       sigma[k])));
    }
    *y = ad_rec(ad_mul(0.5, sum));
}

// Way: where it was. Guess: where the steps lead, as they were measured.
static void drive(survey *s, double way[N], double guess[N])
{
    const double half = 3.14159265358979324;    // a turn: left, right, left ...
    uint64_t random = 12;
    for (int i = 0; i < PLACES; i++) {
        int row = i / LENGTH, done = i % LENGTH, side = row % 2 ? -1 : 1;
        double *a = guess + 3 * i, *b = a - 3;
        seen before = { i, row * LENGTH - 1 - done, { 0, -side, side * half } };
        seen step = { i - 1, i, { 1, 0, 0 } };
        if (done == 0)
            step = (seen){ i - 1, i, { 0, -side, -side * half } };
        for (int k = 0; k < 6; k++) {           // even noise
            random = random * 6364136223846793005u + 1442695040888963407u;
            (k < 3 ? &before : &step)->at[k % 3] += sigma[k % 3] * sqrt(12)
                * ((double)(random >> 11) * 0x1p-53 - 0.5);
        }
        if (row > 0)
            s->seen[s->n++] = before;
        if (i > 0) {
            s->seen[s->n++] = step;
            a[0] = b[0] + cos(b[2]) * step.at[0] - sin(b[2]) * step.at[1];
            a[1] = b[1] + sin(b[2]) * step.at[0] + cos(b[2]) * step.at[1];
            a[2] = b[2] + step.at[2];
        }
        way[3 * i] = side > 0 ? done : LENGTH - 1 - done;
        way[3 * i + 1] = row;
    }
}

static double off(const double way[N], const double x[N])
{
    double sum = 0;
    for (int i = 0; i < N; i += 3)
        sum += hypot(x[i] - way[i], x[i + 1] - way[i + 1]) / PLACES;
    return sum;
}

/* --- H + shift = L L': no entry of L lies left of the first in its row ---- */

static double L[N][N], *value;
static size_t start[N + 1], *column;

static bool factor(double shift)
{
    for (size_t i = 0; i < N; i++) {
        for (size_t j = column[start[i]]; j <= i; j++)
            L[i][j] = j == i ? shift : 0;
        for (size_t k = start[i]; k < start[i + 1]; k++)
            L[i][column[k]] += value[k];
        for (size_t j = column[start[i]]; j <= i; j++) {
            size_t a = column[start[i]], b = column[start[j]];
            for (size_t k = a > b ? a : b; k < j; k++)
                L[i][j] -= L[i][k] * L[j][k];
            L[i][j] = j < i ? L[i][j] / L[j][j] : sqrt(L[i][i]);
        }
        if (!(L[i][i] > 0))
            return false;               // not positive definite, or NaN
    }
    return true;
}

static void solve(double b[N])
{
    for (size_t i = 0; i < N; i++) {
        for (size_t k = column[start[i]]; k < i; k++)
            b[i] -= L[i][k] * b[k];
        b[i] /= L[i][i];
    }
    for (size_t i = N; i-- > 0; ) {
        b[i] /= L[i][i];
        for (size_t k = column[start[i]]; k < i; k++)
            b[k] -= L[i][k] * b[i];
    }
}

/* --- Newton's method ------------------------------------------------------ */

// One step down; returns the size of the gradient before it.
static double improve(ad_fn *fn, double x[N])
{
    static double g[N], d[N], next[N];
    const double one = 1;
    double y = 0, lower = 0, size = 0, slope = 0, shift = 0, t = 1;

    if (ad_fn_gradient(fn, x, &y, g) != ADREV_OK
        || ad_fn_hessian_sparse(fn, x, &one, value) != ADREV_OK)
        fail(3, "12_newton: out of memory");
    while (!factor(shift))
        shift = 4 * shift + 1;
    memcpy(d, g, sizeof d);
    solve(d);
    for (int i = 0; i < N; i++) {
        size = fmax(size, fabs(g[i]));
        slope += g[i] * d[i];
    }
    for (;; t /= 2) {
        for (int i = 0; i < N; i++)
            next[i] = x[i] - t * d[i];
        if (t < 1e-6 || (ad_fn_eval(fn, next, &lower) == ADREV_OK
                         && lower <= y - 1e-4 * t * slope + 1e-12 * y))
            break;
    }
    printf("%9.2f  gradient %.1e  shift %-3g  length %g\n", y, size, shift, t);
    memcpy(x, next, sizeof next);
    return size;
}

int main(void)
{
    static survey s;
    static double way[N], x[N];
    ad_sparsity about;
    ad_fn *fn = NULL;

    drive(&s, way, x);
    if (ad_fn_record(&fn, misfit, &s, N, x, 1) != ADREV_OK
        || ad_fn_hessian_pattern(fn, &about, NULL, NULL, NULL) != ADREV_OK
        || (column = malloc(about.nonzeros * sizeof *column)) == NULL
        || (value = malloc(about.nonzeros * sizeof *value)) == NULL
        || ad_fn_hessian_pattern(fn, NULL, start, NULL, column) != ADREV_OK)
        fail(3, "12_newton: out of memory");
    printf("%d unknowns, %zu entries of the Hessian in %zu directions\n"
           "off by %.2f m; misfit\n", N, about.nonzeros, about.directions,
           off(way, x));
    for (int step = 0; step < 50 && improve(fn, x) > 1e-4; step++)
        continue;
    printf("off by %.2f m\n", off(way, x));
    free(column);
    free(value);
    ad_fn_free(fn);
}
