// SPDX-License-Identifier: MIT-0
// tags: recorded slow
/* dense.c - dense Jacobians and Hessians of large functions.
 *
 * With few entries they come by way of the colouring, with many they do not:
 * which it was, and the values, against closed forms and bit by bit against one
 * direction after another; memory that runs out at
 * each allocation leaves the matrix as it was, or right.                     */

#define ADREV_IMPLEMENTATION
#include "adrev_function.h"

#include "check.h"
#include "heap.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 140 };
#define UNTOUCHED ((ad_real)-12345.5)

static ad_real x[MOST];
static long double at[MOST];    // x, for what is wanted
static ad_real w[MOST];
static ad_real got[MOST * MOST];
static long double want[MOST][MOST];

/* --- functions and their derivatives -------------------------------------- */

typedef struct problem {
    const char *name;
    size_t n, m;
    bool plan;                  // few directions suffice
    ad_vector_fn *f;
    void (*derive)(const struct problem *p);    // J, or H if m is 1
} problem;

static void start_matrix(void)
{
    for (size_t i = 0; i < MOST; i++)
        for (size_t j = 0; j < MOST; j++)
            want[i][j] = 0;
}

// y_i = sin(x_i) x_(i+1), i < n - 1
static void band(const ad_rev *in, ad_rev *y, void *ctx)
{
    const problem *p = ctx;
    for (size_t i = 0; i < p->m; i++)
        y[i] = ad_rec(ad_mul(ad_sin(in[i]), in[i + 1]));
}

static void band_derive(const problem *p)
{
    for (size_t i = 0; i < p->m; i++) {
        want[i][i] = cosl(at[i]) * at[i + 1];
        want[i][i + 1] = sinl(at[i]);
    }
}

// As many rows of two as there are columns, and one that has all of them.
static void arrow(const ad_rev *in, ad_rev *y, void *ctx)
{
    const problem *p = ctx;
    ad_rev sum = {0};
    for (size_t j = 0; j < p->n; j++)
        ad_acc(&sum, ad_sqr(in[j]));
    y[0] = sum;
    for (size_t i = 1; i < p->m; i++)
        y[i] = ad_rec(ad_mul(in[i % p->n], in[0]));
}

static void arrow_derive(const problem *p)
{
    for (size_t j = 0; j < p->n; j++)
        want[0][j] = 2 * at[j];
    for (size_t i = 1; i < p->m; i++) {
        want[i][0] += at[i % p->n];
        want[i][i % p->n] += at[0];
    }
}

// y_i = x_i * (sum of all x)
static void crowd(const ad_rev *in, ad_rev *y, void *ctx)
{
    const problem *p = ctx;
    ad_rev sum = ad_sum(p->n, in);
    for (size_t i = 0; i < p->m; i++)
        y[i] = ad_rec(ad_mul(in[i], sum));
}

static void crowd_derive(const problem *p)
{
    long double sum = 0;
    for (size_t j = 0; j < p->n; j++)
        sum += at[j];
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++)
            want[i][j] = at[i] + (i == j ? sum : 0);
}

// y_i = x_j x_(j+1), j = i mod (n - 1)
static void pairs(const ad_rev *in, ad_rev *y, void *ctx)
{
    const problem *p = ctx;
    for (size_t i = 0; i < p->m; i++) {
        size_t j = i % (p->n - 1);
        y[i] = ad_rec(ad_mul(in[j], in[j + 1]));
    }
}

static void pairs_derive(const problem *p)
{
    for (size_t i = 0; i < p->m; i++) {
        size_t j = i % (p->n - 1);
        want[i][j] = at[j + 1];
        want[i][j + 1] = at[j];
    }
}

// The sum of sin(x_i) x_(i+1); where no plan helps, of x_0 x_i, too: H has a
// band, or a full row besides.
static void chain(const ad_rev *in, ad_rev *y, void *ctx)
{
    const problem *p = ctx;
    ad_rev sum = {0};
    for (size_t i = 0; i + 1 < p->n; i++)
        ad_acc(&sum, ad_mul(ad_sin(in[i]), in[i + 1]));
    for (size_t i = 2; i < p->n && !p->plan; i++)
        ad_acc(&sum, ad_mul(in[0], in[i]));
    y[0] = sum;
}

static void chain_derive(const problem *p)
{
    for (size_t i = 0; i + 1 < p->n; i++) {
        want[i][i] -= sinl(at[i]) * at[i + 1];
        want[i][i + 1] += cosl(at[i]);
        want[i + 1][i] += cosl(at[i]);
    }
    for (size_t i = 2; i < p->n && !p->plan; i++) {
        want[0][i] += 1;
        want[i][0] += 1;
    }
}

// The square of the sum: every entry of H is 2.
static void square(const ad_rev *in, ad_rev *y, void *ctx)
{
    const problem *p = ctx;
    y[0] = ad_rec(ad_sqr(ad_sum(p->n, in)));
}

static void square_derive(const problem *p)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->n; j++)
            want[i][j] = 2;
}

static const problem jacobians[] = {
    { "band, small", 31, 30, false, band, band_derive },
    { "band",       121, 120, true, band, band_derive },
    { "band, again", 100, 99, true, band, band_derive },
    { "arrow",      120, 120, false, arrow, arrow_derive },
    { "arrow, wide", 140, 60, false, arrow, arrow_derive },
    { "arrow, tall", 60, 140, false, arrow, arrow_derive },
    { "pairs, tall", 60, 140, true, pairs, pairs_derive },
    { "crowd",      120, 120, false, crowd, crowd_derive },
    { "crowd, wide", 140, 90, false, crowd, crowd_derive },
};

static const problem hessians[] = {
    { "chain, small", 20, 1, false, chain, chain_derive },
    { "chain",      120, 1, true, chain, chain_derive },
    { "hub",        120, 1, false, chain, chain_derive },
    { "square",     120, 1, false, square, square_derive },
};

/* --- values ---------------------------------------------------------------- */

static void set_inputs(void)
{
    for (size_t i = 0; i < MOST; i++) {
        x[i] = (ad_real)(0.3 + 0.01 * (double)(i * 37 % 101));
        at[i] = (long double)x[i];
        w[i] = 1;
    }
}

static ad_status ask(ad_fn *fn, const problem *p)
{
    return p->m == 1 ? ad_fn_hessian(fn, x, w, got) : ad_fn_jacobian(fn, x, got);
}

static void check_values(const problem *p)
{
    size_t rows = p->m == 1 ? p->n : p->m;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < p->n; j++)
            if (want[i][j] == 0)
                CHECK_CLOSE(got[i * p->n + j], 0, 0);
            else
                CHECK_NEAR(got[i * p->n + j], want[i][j],
                           sizeof(ad_real) == 4 ? 1e-5L : 1e-14L);
    if (p->m == 1)
        for (size_t i = 0; i < p->n; i++)
            for (size_t j = 0; j < i; j++)
                CHECK_CLOSE(got[i * p->n + j], got[j * p->n + i], 0);
}

// Without the plan, direction by direction, the bits are the same.
static void check_bits(ad_fn *fn, const problem *p)
{
    ad_real plain[MOST * MOST];
    size_t n = p->n;
    size_t rows = p->m == 1 ? n : p->m;
    if (p->m == 1) {
        for (size_t j = 0; j < n; j++) {
            ad_real v[MOST] = { 0 };
            ad_real hv[MOST];
            v[j] = 1;
            CHECK(ad_fn_hvp(fn, x, w, v, hv) == ADREV_OK, "%s", p->name);
            for (size_t i = j; i < n; i++)
                plain[i * n + j] = plain[j * n + i] = hv[i];
        }
    } else
        CHECK(adx_jacobian_in_lanes(fn, x, plain) == ADREV_OK, "%s", p->name);
    CHECK(memcmp(plain, got, rows * n * sizeof *plain) == 0, "%s: same bits",
          p->name);
}

static void test_values(const problem *p)
{
    ad_fn *fn;
    problem copy = *p;
    start_matrix();
    p->derive(p);
    CHECK(ad_fn_record(&fn, p->f, &copy, p->n, x, p->m) == ADREV_OK, "%s",
          p->name);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < MOST * MOST; i++)
            got[i] = UNTOUCHED;
        CHECK(ask(fn, p) == ADREV_OK, "%s", p->name);
        check_values(p);
    }
    const adx_pattern *plan;
    CHECK(adx_thrifty_plan(fn, p->m == 1, &plan) == ADREV_OK
          && (plan != NULL) == p->plan, "%s: by way of the colouring, or not",
          p->name);
    check_bits(fn, p);

    // What linearize returns is the same.
    if (p->m > 1) {
        ad_real y[MOST];
        ad_real J[MOST * MOST];
        CHECK(ad_fn_linearize(fn, x, y, J) == ADREV_OK
              && memcmp(J, got, p->m * p->n * sizeof *J) == 0, "%s", p->name);
    }
    ad_fn_free(fn);
}

/* --- memory --------------------------------------------------------------- */

static void test_memory(const problem *p)
{
    heap h = { 0 };
    const ad_allocator some = { heap_alloc, heap_free, &h };
    const ad_fn_options options = { .allocator = &some };
    problem copy = *p;
    size_t n = 0;
    ad_status status;
    start_matrix();
    p->derive(p);
    do {
        ad_fn *fn;
        CHECK(ad_fn_record_with(&fn, &options, p->f, &copy, p->n, x, p->m)
              == ADREV_OK, "%s", p->name);
        for (size_t i = 0; i < MOST * MOST; i++)
            got[i] = UNTOUCHED;
        heap_fails(&h, n + 1, true);
        status = ask(fn, p);
        CHECK(status == ADREV_OK || status == ADREV_ENOMEM, "%s: %s", p->name,
              ad_message(status));
        if (status == ADREV_OK)
            check_values(p);
        else
            CHECK(got[0] == UNTOUCHED && got[p->n * p->n / 2] == UNTOUCHED,
                  "%s: as it was", p->name);
        heap_fails(&h, 0, false);
        CHECK(ask(fn, p) == ADREV_OK, "%s, then with memory", p->name);
        check_values(p);
        ad_fn_free(fn);
        CHECK(h.live == 0, "%zu allocations are left", h.live);
        n++;
    } while (status != ADREV_OK || n < 40);
}

int main(void)
{
    set_inputs();
    for (size_t i = 0; i < sizeof jacobians / sizeof *jacobians; i++)
        test_values(&jacobians[i]);
    for (size_t i = 0; i < sizeof hessians / sizeof *hessians; i++)
        test_values(&hessians[i]);
    test_memory(&jacobians[1]);
    test_memory(&hessians[1]);
    return check_done("dense");
}
