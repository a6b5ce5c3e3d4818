// SPDX-License-Identifier: MIT-0
// tags: recorded
/* places.c - memory of evaluations of recorded functions.
 *
 * Numbers beside array nodes share places, and ranges of array nodes remain
 * ranges: values against a plain program, and how much memory they take.     */

#include "implementation.h"
#include "adrev_function.h"
#include "check.h"
#include "heap.h"

#include <math.h>
#include <stdlib.h>

enum { N = 8, LONG = 2000, POINTS = 100 };

// An array statement, a long chain of numbers, a gather of numbers out of
// order, and another array statement.
static void beside(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev z[N];
    ad_rev sum = ad_dot(N, x, x);
    for (int i = 0; i < LONG; i++)
        sum = ad_rec(ad_sin(ad_add(ad_mul(sum, x[i % N]), x[(i + 3) % N])));
    for (int i = 0; i < N; i++)
        z[i] = ad_rec(ad_cos(ad_mul(x[(5 * i) % N], sum)));
    y[0] = ad_dot(N, z, x);
    y[1] = ad_rec(ad_add(ad_norm2(N, z), sum));
}

static void beside_plain(const ad_real x[N], ad_real y[2])
{
    ad_real z[N];
    ad_real sum = 0;
    y[0] = y[1] = 0;
    for (int i = 0; i < N; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < LONG; i++)
        sum = (ad_real)sin(sum * x[i % N] + x[(i + 3) % N]);
    for (int i = 0; i < N; i++) {
        z[i] = (ad_real)cos(x[(5 * i) % N] * sum);
        y[0] += z[i] * x[i];
        y[1] += z[i] * z[i];
    }
    y[1] = (ad_real)sqrt(y[1]) + sum;
}

static void test_map(ad_fn *fn, heap *h)
{
    static ad_real x[N][POINTS];
    static ad_real y[2][POINTS];
    ad_column from[N];
    ad_column to[2] = { { y[0], 1 }, { y[1], 1 } };
    for (int i = 0; i < N; i++) {
        from[i] = (ad_column){ x[i], 1 };
        for (int l = 0; l < POINTS; l++)
            x[i][l] = (ad_real)(0.3 + 0.01 * l - 0.1 * i);
    }
    h->largest = 0;
    ad_status s = ad_fn_map(fn, POINTS, from, to, NULL);
    CHECK(s == ADREV_OK, "map: %s", ad_message(s));
    // the nodes take 20 bytes each, a number of all lanes 256
    CHECK(h->largest < 40 * 2 * (size_t)LONG, "%zu bytes at once",
          h->largest);
    for (int l = 0; l < POINTS; l++) {
        ad_real at[N];
        ad_real want[2];
        for (int i = 0; i < N; i++)
            at[i] = x[i][l];
        beside_plain(at, want);
        for (int j = 0; j < 2; j++)
            CHECK(fabs(y[j][l] - want[j]) < 1e-6, "point %d: %g, not %g", l,
                  (double)y[j][l], (double)want[j]);
    }
}

static void test_code(ad_fn *fn)
{
    ad_c_size size[ADREV_C_COUNT];
    const ad_c_options options = { .functions = ADREV_C_VALUE, .split = 10000 };
    ad_status s = ad_fn_c_size(fn, &options, size, NULL);
    CHECK(s == ADREV_OK && size[0].work >= N && size[0].work <= 3 * N,
          "%s: %lu numbers of work", ad_message(s),
          (unsigned long)size[0].work);
}

int main(void)
{
    const ad_real at[N] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8 };
    heap h = { 0 };
    const ad_allocator memory = { heap_alloc, heap_free, &h };
    const ad_fn_options options = { .allocator = &memory };
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record_with(&fn, &options, beside, NULL, N, at, 2);
    CHECK(s == ADREV_OK, "record: %s", ad_message(s));
    if (fn != NULL) {
        test_map(fn, &h);
        test_code(fn);
    }
    ad_fn_free(fn);
    return check_done("places");
}
