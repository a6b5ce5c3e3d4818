// SPDX-License-Identifier: MIT-0
/* sparse.c - what a sparse Hessian costs: of Rosenbrock's function, chained,
 *
 *     sum over i of 100 (x[i+1] - x[i] x[i])^2 + (1 - x[i])^2
 *
 *     sparse [-r rounds] [n ...]           default: 10^4, 10^5 and 10^6 numbers
 *
 *   gradient     of a tape, recorded and swept: the unit of the other times
 *   record       of the function, once
 *   pattern      with a colouring, once
 *   first        values for the first time: programs of derivatives are made
 *   values       then; the ratio is the median of rounds, behind it half the
 *                distance between the quartiles in percent
 *   bytes        most memory that the function has, for each number
 *   error        largest of an entry, against the formulas of the derivatives
 *
 * Then what directions cost, in units of one J v or one value, each the median
 * of rounds: a sparse Jacobian of seven directions; a dense Jacobian of 81 x 80
 * and a dense Hessian of 80 x 80, both with five diagonals (the unit of the
 * Hessian is one w J); and Taylor coefficients along a line of order 1 to 4,
 * and of order 2 where every operation is a division.
 *
 * Not representative: a tridiagonal matrix takes three directions; and little
 * is computed for each entry, so that memory is what all of it waits for. */

#define ADREV_IMPLEMENTATION
#include "../adrev_function.h"

#include "report.h"

// Entries of the diagonal are differences. A wrong partial shows at 1e-3 and
// above.
static const double tolerance = 1e-9;

typedef struct memory {
    size_t now;
    size_t most;
} memory;

// In front of each block, its size.
static void *counted(size_t bytes, void *user)
{
    memory *m = (memory *)user;
    max_align_t *block = (max_align_t *)malloc(bytes + sizeof *block);

    if (!block) {
        return NULL;
    }
    memcpy(block, &bytes, sizeof bytes);
    m->now += bytes;
    m->most = m->now > m->most ? m->now : m->most;
    return block + 1;
}

static void give_back(void *p, void *user)
{
    max_align_t *block = (max_align_t *)p - 1;
    size_t bytes;

    memcpy(&bytes, block, sizeof bytes);
    ((memory *)user)->now -= bytes;
    free(block);
}

static void chained(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev sum = ad_rec(0.0);

    for (size_t i = 0; i + 1 < n; i++) {
        const ad_rev step = ad_rec(ad_sub(x[i + 1], ad_sqr(x[i])));

        ad_acc(&sum, ad_add(ad_mul(100.0, ad_sqr(step)),
                            ad_sqr(ad_sub(1.0, x[i]))));
    }
    y[0] = sum;
}

// Row by row: the entry left of the diagonal, and that on it.
static void hessian_by_hand(size_t n, const double *x, double *h)
{
    for (size_t i = 0; i < n; i++) {
        const double as_left = 1200.0 * x[i] * x[i] + 2.0;

        if (i > 0) {
            *h++ = -400.0 * x[i - 1];
        }
        *h++ = (i > 0 ? 200.0 : 0.0)
             + (i + 1 < n ? as_left - 400.0 * x[i + 1] : 0.0);
    }
}

static double tape_gradient(ad_tape *t, size_t n, const double *x, ad_rev *in,
                            double *g)
{
    ad_rev y;
    const double begin = wall();

    ad_tape_clear(t);
    (ad_inputs)(n, x, in);
    chained(in, &y, &n);
    if (ad_gradient(t, y, n, in, g) != ADREV_OK) {
        g[0] = HUGE_VAL;
    }
    return wall() - begin;
}

static double sparse_values(ad_fn *fn, const double *x, double *h)
{
    const double one = 1.0;
    const double begin = wall();

    if (ad_fn_hessian_sparse(fn, x, &one, h) != ADREV_OK) {
        h[0] = HUGE_VAL;
    }
    return wall() - begin;
}

// One line of the table; whether the entries are right.
static bool row(size_t n, size_t rounds)
{
    memory used = { 0 };
    const ad_allocator counting = { counted, give_back, &used };
    const ad_fn_options options = { .allocator = &counting };
    double *x = get(n, sizeof *x);
    double *g = get(n, sizeof *g);
    double *h = get(2 * n, sizeof *h);
    double *want = get(2 * n, sizeof *want);
    ad_rev *in = get(n, sizeof *in);
    double gradient[REPORT_ROUNDS];
    double values[REPORT_ROUNDS];
    ad_sparsity about = { 0 };
    ad_fn *fn = NULL;
    ad_tape *t = ad_tape_new();

    for (size_t i = 0; i < n; i++) {
        x[i] = sin((double)i);
    }
    double record = wall();
    ad_status status = ad_fn_record_with(&fn, &options, chained, &n, n, x, 1);
    record = wall() - record;
    double pattern = wall();
    if (status == ADREV_OK) {
        status = ad_fn_hessian_pattern(fn, &about, NULL, NULL, NULL);
    }
    pattern = wall() - pattern;
    const double first = sparse_values(fn, x, h);

    ad_use(t);
    tape_gradient(t, n, x, in, g);
    for (size_t i = 0; i < rounds; i++) {
        gradient[i] = tape_gradient(t, n, x, in, g);
        values[i] = sparse_values(fn, x, h);
    }
    hessian_by_hand(n, x, want);
    const double error = about.nonzeros == 2 * n - 1
                       ? difference(2 * n - 1, h, want) : HUGE_VAL;
    const bool right = error <= tolerance && isfinite(g[0]);
    const summary ratio = summarise(rounds, values, gradient);

    printf("%8zu", n);
    print_seconds(summarise(rounds, gradient, NULL).median);
    print_seconds(record);
    print_seconds(pattern);
    print_seconds(first);
    print_seconds(summarise(rounds, values, NULL).median);
    printf(" %6.1f %3.0f%% %6.0f  %.1e %s\n", ratio.median,
           100.0 * ratio.spread, (double)used.most / (double)n, error,
           right ? "" : "  WRONG");
    ad_fn_free(fn);
    ad_tape_free(t);
    free(x);
    free(g);
    free(h);
    free(want);
    free(in);
    return right;
}

/* --- directions ---------------------------------------------------------- */

enum { BAND_N = 200, CALLS = 5 };

typedef struct band {
    size_t m, n, width;         // row i has columns i - width ... i + width
} band;

static void banded(const ad_rev *x, ad_rev *y, void *ctx)
{
    const band *b = (const band *)ctx;

    for (size_t i = 0; i < b->m; i++) {
        ad_rev sum = ad_rec(ad_sqr(x[i < b->n ? i : b->n - 1]));

        for (size_t j = i < b->width ? 0 : i - b->width;
             j <= i + b->width && j < b->n; j++) {
            ad_acc(&sum, ad_mul(0.1, ad_mul(x[j], ad_sub(x[i % b->n], x[j]))));
        }
        y[i] = sum;
    }
}

// Some 500 operations, of which one in five is of the math library.
static void mixed(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev s = ad_rec(ad_mul(x[0], x[1]));

    (void)ctx;
    for (int i = 0; i < 60; i++) {
        const ad_rev a = x[i % 8];
        const ad_rev b = x[(i + 3) % 8];
        const ad_rev t = ad_rec(ad_mul(ad_exp(ad_neg(ad_mul(a, b))),
                                       ad_sin(ad_add(a, s))));

        s = ad_rec(ad_add(ad_mul(s, 0.5),
                          ad_div(ad_mul(t, b), ad_add(2.0, ad_sqr(a)))));
    }
    y[0] = s;
}

// 480 divisions, eight at a time.
static void divisions(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev now[8];
    ad_rev next[8];

    (void)ctx;
    memcpy(now, x, sizeof now);
    for (int k = 0; k < 60; k++) {
        for (int i = 0; i < 8; i++) {
            next[i] = ad_rec(ad_div(x[(i + k) % 8], now[(i + 1) % 8]));
        }
        memcpy(now, next, sizeof now);
    }
    memcpy(y, now, sizeof now);
}

typedef ad_status evaluation(ad_fn *fn, const double *x, const double *v,
                             double *out);

static ad_status one_value(ad_fn *fn, const double *x, const double *v,
                           double *out)
{
    (void)v;
    return ad_fn_eval(fn, x, out);
}

static ad_status one_jacobian(ad_fn *fn, const double *x, const double *v,
                              double *out)
{
    (void)v;
    return ad_fn_jacobian(fn, x, out);
}

static ad_status one_hessian(ad_fn *fn, const double *x, const double *v,
                             double *out)
{
    return ad_fn_hessian(fn, x, v, out);
}

static ad_status one_sparse(ad_fn *fn, const double *x, const double *v,
                            double *out)
{
    (void)v;
    return ad_fn_jacobian_sparse(fn, x, out);
}

#define ORDER(k)                                                            \
    static ad_status order_##k(ad_fn *fn, const double *x, const double *v, \
                               double *out)                                 \
    {                                                                       \
        return ad_fn_taylor(fn, x, v, k, out);                              \
    }
ORDER(1) ORDER(2) ORDER(3) ORDER(4)

static double seconds_of(evaluation *f, ad_fn *fn, const double *x,
                         const double *v, double *out)
{
    const double begin = wall();

    for (int i = 0; i < CALLS; i++) {
        if (f(fn, x, v, out) != ADREV_OK) {
            return HUGE_VAL;
        }
    }
    return (wall() - begin) / CALLS;
}

// What f costs, in units of `unit`.
static bool compare(const char *what, ad_vector_fn *program, band b,
                    evaluation *unit, evaluation *f, size_t rounds)
{
    double x[BAND_N];
    double v[BAND_N];
    double *out = get(BAND_N * BAND_N, sizeof *out);
    double one[REPORT_ROUNDS];
    double all[REPORT_ROUNDS];
    ad_fn *fn = NULL;

    for (size_t i = 0; i < b.n; i++) {
        x[i] = 0.5 + 0.1 * sin((double)i);
        v[i] = 1.0;
    }
    bool right = ad_fn_record(&fn, program, &b, b.n, x, b.m) == ADREV_OK
              && isfinite(seconds_of(unit, fn, x, v, out))
              && isfinite(seconds_of(f, fn, x, v, out));
    for (size_t i = 0; i < rounds && right; i++) {
        one[i] = seconds_of(unit, fn, x, v, out);
        all[i] = seconds_of(f, fn, x, v, out);
    }
    if (right) {
        const summary ratio = summarise(rounds, all, one);

        printf("%-34s", what);
        print_seconds(summarise(rounds, one, NULL).median);
        print_seconds(summarise(rounds, all, NULL).median);
        printf(" %6.2f %3.0f%%\n", ratio.median, 100.0 * ratio.spread);
    } else {
        printf("%-34s WRONG\n", what);
    }
    ad_fn_free(fn);
    free(out);
    return right;
}

static bool directions(size_t rounds)
{
    const band seven = { BAND_N, BAND_N, 3 };
    const band dense = { 81, 80, 2 };
    const band line = { 1, 8, 0 };
    const band eight = { 8, 8, 0 };

    printf("\n%-34s      unit       all  ratio\n", "directions");
    return compare("sparse J, 7 directions, by J v", banded, seven, ad_fn_jvp,
                   one_sparse, rounds)
        && compare("dense J, 81 x 80, by J v", banded, dense, ad_fn_jvp,
                   one_jacobian, rounds)
        && compare("dense H, 80 x 80, by w J", banded, dense, ad_fn_vjp,
                   one_hessian, rounds)
        && compare("Taylor, order 1, by values", mixed, line, one_value,
                   order_1, rounds)
        && compare("Taylor, order 2, by values", mixed, line, one_value,
                   order_2, rounds)
        && compare("Taylor, order 2, divisions", divisions, eight, one_value,
                   order_2, rounds)
        && compare("Taylor, order 3, by values", mixed, line, one_value,
                   order_3, rounds)
        && compare("Taylor, order 4, by values", mixed, line, one_value,
                   order_4, rounds);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = { "10000", "100000", "1000000" };
    const size_t rounds = take_rounds(&argc, &argv, 9);

    print_machine(ADREV_VERSION);
    printf("\nsparse Hessian, Rosenbrock's function, chained\n"
           "       n  gradient    record   pattern     first    values"
           "  ratio         B/n  error\n");
    const bool right = print_rows(argc, argv, usual, rounds, row);

    return directions(rounds) && right ? EXIT_SUCCESS : EXIT_FAILURE;
}
