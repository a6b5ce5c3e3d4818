// SPDX-License-Identifier: MIT-0
// tags: slow
// flags: -pthread
/* include_all.c - all headers implemented in one file: no name of one is in the
 * way of another's, and they are included a second time without harm.        */

#define ADREV_IMPLEMENTATION
#include "adrev_all.h"

#include "adrev_tensor.h"
#include "adrev_struct.h"
#include "adrev_loop.h"
#include "adrev_assemble.h"
#include "adrev_function.h"
#include "adrev_parallel.h"

#include "check.h"

#define PAIR(FIELD) FIELD(real, a) FIELD(real, b)
ADREV_STRUCT(pair, PAIR);

static void halve(void *x) { *(ad_rev *)x = ad_rec(ad_div(*(ad_rev *)x, 2)); }

// A loop of three steps, recorded as a function.
static void step(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], x[1]));
}

static void f(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_schedule all = { .kind = ADREV_STORE_ALL };
    (void)ctx;
    y[0] = x[0];
    ad_loop(step, NULL, 3, 1, y, 1, &x[1], all);
}

int main(void)
{
    const ad_real x[2] = { 2, 3 };
    const ad_real want[2] = { 27, 54 };     // of y = x0 x1^3
    ad_real y = 0;
    ad_real g[2] = { 0, 0 };
    ad_fn *fn = NULL;
    CHECK(ad_fn_record(&fn, f, NULL, 2, x, 1) == ADREV_OK, "record");
    CHECK(ad_fn_gradient(fn, x, &y, g) == ADREV_OK && y == 54, "got %g",
          (double)y);
    for (int i = 0; i < 2; i++)
        CHECK(g[i] == want[i], "got %g, want %g", (double)g[i],
              (double)want[i]);
    ad_fn_free(fn);

    const pair plain = { 8, 12 };
    pair back = { 0, 0 };
    pair_rev twin;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    CHECK(pair_inputs(&plain, &twin) == ADREV_OK, "inputs");
    ad_rev half[2] = { twin.a, twin.b };
    ad_fork2(halve, &half[0], halve, &half[1]);
    ad_rev y_of_pair = ad_rec(ad_mul(half[0], half[1]));
    CHECK(pair_gradient(t, y_of_pair, &twin, &back) == ADREV_OK
          && back.a == 3 && back.b == 2, "got %g, %g", (double)back.a,
          (double)back.b);
    ad_tape_free(t);

    ad_tensor *formula = NULL;
    CHECK(ad_tensor_new(&formula, "in x[n]; out y = sum(i) x[i];", NULL, NULL)
          == ADREV_OK, "a text");
    ad_tensor_free(formula);
    return check_done("include_all");
}
