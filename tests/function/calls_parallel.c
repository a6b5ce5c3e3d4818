// SPDX-License-Identifier: MIT-0
// tags: recorded threads
// flags: -DADREV_TRACE=1 -pthread
/* calls_parallel.c - recorded functions called in the branches of forks, on
 * pools of threads and without one: values and gradient have closed forms, and
 * the same bits everywhere.                                                 */

#include <stdbool.h>
#include <stddef.h>

#include "implementation.h"
#include "adrev_parallel.h"
#include "adrev_function.h"

#include "check.h"

#include <string.h>

enum { N = 24 };

static ad_fn *fn;
static ad_rev x[N];
static ad_rev y[N];
static ad_status status[N];

// a^2 sin b
static void inner(const ad_rev *in, ad_rev *out, void *ctx)
{
    (void)ctx;
    out[0] = ad_rec(ad_mul(ad_sqr(in[0]), ad_sin(in[1])));
}

static void branch(size_t i, void *ctx)
{
    (void)ctx;
    ad_rev in[2] = { x[i], x[(i + 1) % N] };
    status[i] = ad_fn_call(fn, in, &y[i]);
}

static void gradient(ad_real g[N + 1])
{
    ad_real at[N];
    const ad_real where[2] = { 1, 1 };
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    for (int i = 0; i < N; i++)
        at[i] = (ad_real)(0.1 * i - 1);
    ad_status s = ad_fn_record(&fn, inner, NULL, 2, where, 1);
    CHECK(s == ADREV_OK, "record: %s", ad_message(s));
    ad_inputs(N, at, x);
    ad_fork_n(N, branch, NULL);
    for (int i = 0; i < N; i++)
        CHECK(status[i] == ADREV_OK, "branch %d: %s", i,
              ad_message(status[i]));
    ad_fn_free(fn);
    ad_rev sum = ad_sum(N, y);
    g[N] = sum.v;
    s = ad_gradient(t, sum, N, x, g);
    CHECK(s == ADREV_OK, "gradient: %s", ad_message(s));
    for (int i = 0; i < N; i++) {
        long double a = (long double)at[i];
        long double b = (long double)at[(i + 1) % N];
        long double c = (long double)at[(i + N - 1) % N];
        long double want = 2 * a * sinl(b) + c * c * cosl(a);
        CHECK(fabsl((long double)g[i] - want) < 1e-15L, "g[%d]: got %.17g, "
              "want %.17Lg", i, (double)g[i], want);
    }
    ad_use(before);
    ad_tape_free(t);
}

int main(void)
{
    static const unsigned threads[] = { 1, 2, 3, 8 };
    ad_real want[N + 1];
    ad_real g[N + 1];
    gradient(want);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        ad_pool *pool = ad_pool_new(threads[i]);
        CHECK(pool != NULL && ad_pool_use(pool) == ADREV_OK, "no pool");
        for (int again = 0; again < 20; again++) {
            gradient(g);
            CHECK(memcmp(g, want, sizeof g) == 0, "%u threads: other bits",
                  threads[i]);
        }
        CHECK(ad_pool_use(NULL) == ADREV_OK, "leaving the pool");
        ad_pool_free(pool);
    }
    return check_done("calls_parallel");
}
