// SPDX-License-Identifier: MIT-0
// tags:
/* sparse_limit.c - patterns with more entries than are counted, and exports with
 * more than an index of 32 bits can count: ADREV_ELIMIT. The limits, 2^32 and
 * 2^31, are made small, since no test has memory for so many.               */

#define ADREV_TRACE 1
#define ADX_ENTRIES_MOST 24
#define ADX_INDEX_MOST 16
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#include "check.h"

enum { MOST = 6 };

// Every result depends on all inputs, and every second derivative on two.
static void product(const ad_rev *x, ad_rev *y, void *ctx)
{
    size_t n = *(const size_t *)ctx;
    ad_rev p = x[0];
    for (size_t i = 1; i < n; i++)
        p = ad_rec(ad_mul(p, x[i]));
    for (size_t i = 0; i < n; i++)
        y[i] = ad_rec(ad_mul(p, (ad_real)(i + 1)));
}

// n*n entries, and 1 more: where the last one ends, counted from 1.
static void check_export(ad_fn *fn, size_t n)
{
    ad_export *e = NULL;
    const ad_layout narrow = { .base = 1 }, wide = { .base = 1, .width = 64 };
    ad_status s = ad_fn_jacobian_export(fn, &narrow, &e);
    CHECK(s == (n * n < ADX_INDEX_MOST ? ADREV_OK : ADREV_ELIMIT),
          "export of %zu: %s", n, ad_message(s));
    ad_export_free(e);
    CHECK(ad_fn_jacobian_export(fn, &wide, &e) == ADREV_OK, "64 bits");
    ad_export_free(e);
}

int main(void)
{
    const ad_real x[MOST] = { 1, 2, 3, 4, 5, 6 };
    for (size_t n = 2; n <= MOST; n++) {
        ad_sparsity about = {0};
        ad_fn *fn = NULL;
        CHECK(ad_fn_record(&fn, product, &n, n, x, n) == ADREV_OK, "record");
        ad_status s = ad_fn_jacobian_pattern(fn, &about, NULL, NULL, NULL);
        CHECK(s == (n * n <= ADX_ENTRIES_MOST ? ADREV_OK : ADREV_ELIMIT),
              "Jacobian of %zu: %s", n, ad_message(s));
        CHECK(about.nonzeros == (s == ADREV_OK ? n * n : 0),
              "%zu entries", about.nonzeros);
        if (s == ADREV_OK)
            check_export(fn, n);
        s = ad_fn_hessian_pattern(fn, NULL, NULL, NULL, NULL);
        CHECK(s == ADREV_OK || (n == MOST && s == ADREV_ELIMIT),
              "Hessian of %zu: %s", n, ad_message(s));
        CHECK(n < MOST || s == ADREV_ELIMIT, "Hessian of %zu: %s", n,
              ad_message(s));
        ad_fn_free(fn);
    }
    return check_done("sparse_limit");
}
