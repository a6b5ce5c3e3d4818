// SPDX-License-Identifier: MIT-0
// tags:
/* frozen.c - what a recording does not see is noticed nonetheless: numbers that
 * were read as x.v, other functions than was recorded, inputs and results that
 * are not there. And no false alarm: kinks, guards, domains, noise, chaos.   */

#include "implementation.h"
#include "adrev_function.h"
#include "check.h"
#include "heap.h"

#include <stdlib.h>

#define SINGLE (sizeof(ad_real) == sizeof(float))
enum { MOST = 6 };

static const ad_fn_options once = { .once = true };

/* --- functions ------------------------------------------------------------- */

// Of x[3] to y[2], with a number of calls.
typedef struct program {
    const char *name;
    ad_vector_fn *f;
    ad_status want;         // of ad_fn_record
} program;

static int calls;

#define F(name, ...)                                                        \
    static void name(const ad_rev *x, ad_rev *y, void *ctx)                 \
    {                                                                       \
        (void)ctx;                                                          \
        calls++;                                                            \
        y[1] = ad_rec(ad_mul(x[1], x[2]));                                  \
        __VA_ARGS__                                                         \
    }

// Frozen.
F(read_in_a_product, y[0] = ad_rec(ad_mul(x[0], x[0].v));)
F(read_alone,        y[0] = ad_rec(ad_mul(x[0], 3)); y[1].v = x[1].v;
                     y[1].job = 0;)
F(read_a_result,     ad_rev u = ad_rec(ad_sin(x[0]));
                     y[0] = ad_rec(ad_add(x[0], cos((double)u.v)));)
F(read_beside_much,  y[0] = ad_rec(ad_add(ad_mul(x[0], 1e-3 * (double)x[1].v), 1));)
F(read_for_a_root,   double r = sqrt((double)(x[0].v * x[0].v + 1));
                     y[0] = ad_rec(ad_mul(r, x[2]));)
F(read_in_a_loop,    y[0] = x[0];
                     for (int i = 0; i < 20; i++)
                         y[0] = ad_rec(ad_add(y[0], ad_sin(y[0].v)));)
F(counts_calls,      y[0] = ad_rec(ad_mul(x[0], calls));)
F(sets_by_turns,     if (calls % 2 == 1)
                         y[0] = x[0];)
static ad_rev square(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_sqr(x[0]));
}
F(inner_gradient,    ad_real g = 0;
                     if (ad_grad(square, NULL, 1, &(ad_real){ x[0].v }, NULL,
                                 &g) == ADREV_OK)
                         y[0] = ad_rec(ad_mul(g, x[1]));)

// Not frozen.
F(plain,             y[0] = ad_rec(ad_mul(x[0], ad_exp(x[1])));)
F(constant,          (void)x; y[0] = ad_rec(5); y[1] = ad_rec(6);)
F(detached,          y[0] = ad_rec(ad_mul(x[0], ad_detach(x[0])));)
F(by_value,          y[0] = ad_rec(ad_mul(x[0], ad_value(x[0])));)
F(kink,              y[0] = ad_rec(ad_abs(ad_sub(x[0], x[0])));)
F(branch,            y[0] = ad_gt(x[0], 0.9) ? x[0] : x[1];)
F(steps,             y[0] = ad_rec(ad_add(ad_floor(ad_mul(10, x[0])), x[1]));)
F(near_its_domain,   y[0] = ad_rec(ad_log(ad_sub(ad_mul(x[0], 1.0001), 1)));)
F(outside,           y[0] = ad_rec(ad_sqrt(ad_neg(x[0])));)
F(infinite,          y[0] = ad_rec(ad_div(1, ad_sub(x[0], x[0])));)
F(cancels,           y[0] = ad_rec(ad_sub(ad_add(x[0], 1e12),
                                          ad_mul(ad_add(x[1], 1e6), 1e6)));)
F(noise,             y[0] = ad_rec(ad_sin(ad_mul(x[0], 1e15)));)
F(no_derivative,     y[0] = ad_rec(ad_sub(ad_mul(x[0], x[1]),
                                          ad_mul(x[1], x[0])));)
F(chaos,             y[0] = ad_rec(ad_div(x[0], 3));
                     for (int i = 0; i < 300; i++)
                         y[0] = ad_rec(ad_mul(ad_mul(3.9, y[0]),
                                              ad_sub(1, y[0])));)
F(arrays,            ad_rev u[3]; ad_softmax(3, x, u);
                     y[0] = ad_rec(ad_sub(ad_logsumexp(3, x),
                                          ad_dot(3, x, u)));)
F(own_tape,          ad_tape *t = ad_use(NULL);
                     ad_tape *own = ad_tape_new();
                     ad_use(own);
                     ad_rev u = ad_rec(ad_sin(ad_input(2)));
                     ad_use(t);
                     ad_tape_free(own);
                     y[0] = ad_rec(ad_mul(u.v, x[0]));)

static const program programs[] = {
#define FROZEN(name) { #name, name, ADREV_EFROZEN }
#define FREE(name)   { #name, name, ADREV_OK }
    FROZEN(read_in_a_product), FROZEN(read_alone), FROZEN(read_a_result),
    FROZEN(read_beside_much), FROZEN(read_for_a_root), FROZEN(read_in_a_loop),
    FROZEN(counts_calls), FROZEN(sets_by_turns), FROZEN(inner_gradient),
    FREE(plain), FREE(constant), FREE(detached), FREE(by_value), FREE(kink),
    FREE(branch), FREE(steps), FREE(near_its_domain), FREE(outside),
    FREE(infinite), FREE(cancels), FREE(noise), FREE(no_derivative),
    FREE(chaos), FREE(arrays), FREE(own_tape)
};

static void test_programs(void)
{
    const ad_real at[][3] = { { 1, 2, 0.5 }, { -3, 0.25, 40 }, { 0, 1, 0 },
                              { (ad_real)1e6, (ad_real)1e-6, 3 } };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (size_t k = 0; k < 4; k++) {
            const program *p = &programs[i];
            ad_fn *fn = (ad_fn *)(uintptr_t)at;
            calls = 0;
            ad_status s = ad_fn_record(&fn, p->f, NULL, 3, at[k], 2);
            // Where a product with x.v is one with 0, it stays 0; what is small
            // beside the rest is lost in the rounding of a float.
            bool hidden = k == 2 || (SINGLE && k != 0);
            CHECK(s == p->want || (hidden && s == ADREV_OK && p->want != ADREV_OK),
                  "%s at point %zu: %s", p->name, k, ad_message(s));
            CHECK((fn != NULL) == (s == ADREV_OK), "a function");
            CHECK(calls <= 2, "%d calls", calls);
            ad_fn_free(fn);
            calls = 0;
            s = ad_fn_record_with(&fn, &once, p->f, NULL, 3, at[k], 2);
            CHECK(s == ADREV_OK && calls == 1, "%s: once, %d calls: %s",
                  p->name, calls, ad_message(s));
            ad_fn_free(fn);
        }
}

/* --- points of one's own --------------------------------------------------- */

static void hidden_branch(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    if (x[0].v > 0)
        y[0] = ad_rec(ad_sqr(x[0]));
    else
        y[0] = ad_rec(ad_neg(x[0]));
}

static void test_check(void)
{
    const ad_real at = 2;
    ad_fn *fn = NULL;
    ad_real x = 3;
    CHECK(ad_fn_record(&fn, hidden_branch, NULL, 1, &at, 1) == ADREV_OK,
          "the same branch nearby");
    CHECK(ad_fn_check(fn, hidden_branch, NULL, &x) == ADREV_OK, "and here");
    x = -3;
    CHECK(ad_fn_check(fn, hidden_branch, NULL, &x) == ADREV_EFROZEN,
          "the other branch");
    CHECK(ad_fn_check(NULL, hidden_branch, NULL, &x) == ADREV_ESHAPE
          && ad_fn_check(fn, NULL, NULL, &x) == ADREV_ESHAPE
          && ad_fn_check(fn, hidden_branch, NULL, NULL) == ADREV_ESHAPE,
          "null");
    ad_fn_free(fn);
    x = 0;                      // on the edge of the branch
    CHECK(ad_fn_record(&fn, hidden_branch, NULL, 1, &x, 1) == ADREV_EFROZEN
          && fn == NULL, "the other branch is near");

    const ad_real point[3] = { 1, 2, 0.5 };
    const ad_real other[3] = { 0.5, 2, 3 };
    CHECK(ad_fn_record(&fn, branch, NULL, 3, point, 2) == ADREV_OK, "branch");
    CHECK(ad_fn_check(fn, branch, NULL, other) == ADREV_EPATH,
          "a branch that is known");
    ad_guard guard = ad_fn_guard();
    CHECK(guard.index == 0, "guard %zu", guard.index);
    CHECK(ad_fn_check(fn, read_in_a_product, NULL, point) == ADREV_OK
          && ad_fn_check(fn, plain, NULL, point) == ADREV_EFROZEN,
          "another function");
    ad_fn_free(fn);
}

// The current tape, the guard that was last told, and the trace are as before.
static void test_nothing_else(void)
{
    const ad_real at[3] = { (ad_real)0.9001, 2, 0.5 };
    const ad_real other[3] = { 0.5, 2, 3 };
    ad_real y[2];
    ad_fn *fn = NULL;
    ad_fn *second = NULL;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x = ad_input(2);
    CHECK(ad_fn_record(&fn, steps, NULL, 3, at, 2) == ADREV_OK
          && ad_fn_eval(fn, other, y) == ADREV_EPATH, "steps");
    ad_guard before = ad_fn_guard();
    CHECK(ad_fn_record(&second, branch, NULL, 3, at, 2) == ADREV_OK, "branch");
    ad_guard after = ad_fn_guard();
    CHECK(before.index == after.index && before.line == after.line, "guard");
    ad_real g = 0;
    CHECK(ad_gradient(t, ad_rec(ad_sqr(x)), 1, &x, &g) == ADREV_OK && g == 4
          && ad_tape_stats(t).values == 2, "the tape of the caller");
    CHECK(ad_use(NULL) == t, "is current");
    ad_tape_free(t);
    ad_fn_free(fn);
    ad_fn_free(second);
}

static void test_traced(void)
{
    const ad_real at[3] = { 1, 2, 0.5 };
    ad_fn *fn = NULL;
    ad_traced *t = ad_traced_new(read_in_a_product, NULL, 3, 2, 0);
    CHECK(ad_traced_at(t, at, &fn) == ADREV_EFROZEN && fn == NULL, "frozen");
    ad_traced_free(t);
    t = ad_traced_new(branch, NULL, 3, 2, 0);
    CHECK(ad_traced_at(t, at, &fn) == ADREV_OK && fn != NULL, "branch");
    ad_traced_free(t);
}

/* --- arrays that are shorter than f believes -------------------------------- */

typedef struct reach {
    size_t x;               // uses this input
    size_t y;               // sets so many results
    bool number;            // takes its number only
} reach;

static void reaches(const ad_rev *x, ad_rev *y, void *ctx)
{
    const reach *r = ctx;
    ad_rev u = r->number ? ad_rec(ad_value(x[r->x])) : x[r->x];
    for (size_t i = 0; i < r->y; i++)
        y[i] = ad_rec(ad_mul(x[0], u));
}

static void test_beyond(void)
{
    const ad_real x[MOST] = { 1, 2, 3, 4, 5, 6 };
    for (size_t n = 1; n <= MOST; n++)
        for (size_t m = 1; m <= MOST; m++)
            for (size_t i = 0; i < n + 4; i++)
                for (size_t k = 0; k < m + 4; k++) {
                    reach r = { i, k, false };
                    ad_fn *fn = (ad_fn *)(uintptr_t)x;
                    ad_status s = ad_fn_record(&fn, reaches, &r, n, x, m);
                    ad_status want = (i >= n && k > 0) || k > m ? ADREV_EBEYOND
                                   : k < m ? ADREV_ESHAPE : ADREV_OK;
                    CHECK(s == want && (fn == NULL) == (want != ADREV_OK),
                          "n %zu, m %zu, input %zu, %zu results: %s", n, m, i,
                          k, ad_message(s));
                    ad_fn_free(s == ADREV_OK ? fn : NULL);
                }
    reach r = { 2, 1, true };
    ad_fn *fn = NULL;
    CHECK(ad_fn_record(&fn, reaches, &r, 2, x, 1) == ADREV_EBEYOND,
          "its number only");
}

// Results are added to: they begin at 0.
static void adds(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < 3; i++)
        ad_acc(&y[0], ad_mul(x[i], x[i]));
}

static void hands_on(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t *which = ctx;
    y[0] = x[*which];
}

static void test_results(void)
{
    const ad_real x[3] = { 1, 2, 3 };
    ad_real y = 0;
    ad_real g[3];
    ad_fn *fn = NULL;
    CHECK(ad_fn_record(&fn, adds, NULL, 3, x, 1) == ADREV_OK
          && ad_fn_gradient(fn, x, &y, g) == ADREV_OK && y == 14 && g[2] == 6,
          "added to: %g", (double)y);
    ad_fn_free(fn);
    size_t which = 3;
    CHECK(ad_fn_record(&fn, hands_on, &which, 3, x, 1) == ADREV_EBEYOND,
          "an input that is not there as a result");
    which = 2;
    CHECK(ad_fn_record(&fn, hands_on, &which, 3, x, 1) == ADREV_OK, "an input");
    ad_fn_free(fn);
}

/* --- memory ------------------------------------------------------------------ */

static void test_memory(void)
{
    const ad_real x[3] = { 1, 2, 0.5 };
    ad_vector_fn *const fs[] = { plain, arrays, branch, read_in_a_product };
    for (size_t i = 0; i < 4; i++) {
        ad_status s = ADREV_ENOMEM;
        size_t k = 0;
        for (; k < 200 && s == ADREV_ENOMEM; k++) {
            heap h = { .failing = k + 1 };
            const ad_allocator memory = { heap_alloc, heap_free, &h };
            const ad_fn_options o = { .allocator = &memory };
            ad_fn *fn = NULL;
            s = ad_fn_record_with(&fn, &o, fs[i], NULL, 3, x, 2);
            CHECK(s == ADREV_ENOMEM || h.allocations <= k, "allocation %zu: %s", k,
                  ad_message(s));
            for (size_t j = 0; j < 9 && s == ADREV_OK; j++) {
                heap_fails(&h, j + 1, false);
                ad_status c = ad_fn_check(fn, fs[i], NULL, x);
                CHECK(c == ADREV_OK || c == ADREV_ENOMEM, "check: %s",
                      ad_message(c));
            }
            ad_fn_free(fn);
            CHECK(h.live == 0, "%zu blocks leak", h.live);
        }
        CHECK(s == (i == 3 ? ADREV_EFROZEN : ADREV_OK) && k > 5, "%zu: %s", i,
              ad_message(s));
    }
}

int main(void)
{
    test_programs();
    test_check();
    test_nothing_else();
    test_traced();
    test_beyond();
    test_results();
    test_memory();
    return check_done("frozen");
}
