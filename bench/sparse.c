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

int main(int argc, char **argv)
{
    static const char *const usual[] = { "10000", "100000", "1000000" };
    const size_t rounds = take_rounds(&argc, &argv, 9);

    print_machine(ADREV_VERSION);
    printf("\nsparse Hessian, Rosenbrock's function, chained\n"
           "       n  gradient    record   pattern     first    values"
           "  ratio         B/n  error\n");
    return print_rows(argc, argv, usual, rounds, row) ? EXIT_SUCCESS
                                                      : EXIT_FAILURE;
}
