// SPDX-License-Identifier: MIT-0
// tags: fuse
/* nested.c - ad_grad and ad_jac inside a recording, and what a sweep meets in
 * it: values and constants from outside, memory that is not zero, adjoints
 * that cancel; programs that misuse the tape they run on.                    */

#include "implementation.h"
#include "adrev.h"
#include "check.h"

#include <stdlib.h>

#define ROWS 9          // more than 8 inputs' worth: ad_jac sweeps forward

// Memory full of numbers: what is read before it is written shows.
static void *filled(size_t bytes, void *user)
{
    double *p = malloc(bytes + sizeof *p);
    (void)user;
    for (size_t i = 0; p != NULL && i < bytes / sizeof *p + 1; i++)
        p[i] = 1000;
    return p;
}

static void give_back(void *block, void *user)
{
    (void)user;
    free(block);
}

static ad_tape *filled_tape(void)
{
    static const ad_allocator allocator = { filled, give_back, NULL };
    return ad_tape_new_with(&allocator);
}

typedef struct scene {
    ad_rev outer;           // recorded outside
    ad_rev constant;
} scene;

static void rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    const scene *s = ctx;
    for (int i = 0; i < ROWS; i++) {
        ad_rev a = ad_rec(ad_mul(x[0], s->outer));
        y[i] = ad_rec(ad_add(ad_mul(a, s->constant), ad_sin(a)));
    }
}

static ad_rev first_row(const ad_rev *x, void *ctx)
{
    ad_rev y[ROWS];
    rows(x, y, ctx);
    return y[0];
}

// At x = 2, outer = 3, constant = 0.5: y = 0.5 * 3x + sin 3x.
static void test_outer_values(void)
{
    ad_tape *t = filled_tape();
    ad_use(t);
    ad_rev r = ad_input(1.5);
    scene s = { ad_rec(ad_mul(r, 2)), ad_rec(0.5) };
    ad_real g = 0;
    CHECK(ad_gradient(t, s.outer, 1, &r, &g) == ADREV_OK && g == 2, "outer");

    ad_real x = 2;
    ad_real J[ROWS] = { 0 };
    long double want = 1.5L + 3 * cosl(6);
    ad_status status = ad_jac(rows, &s, 1, &x, ROWS, NULL, J);
    CHECK(status == ADREV_OK, "ad_jac: %s", ad_message(status));
    for (int i = 0; i < ROWS; i++)
        CHECK_CLOSE(J[i], want, 4);
    status = ad_grad(first_row, &s, 1, &x, NULL, &g);
    CHECK(status == ADREV_OK, "ad_grad: %s", ad_message(status));
    CHECK_CLOSE(g, want, 4);

    ad_rev y = ad_rec(ad_sqr(s.outer));     // and the recording goes on
    CHECK(ad_gradient(t, y, 1, &r, &g) == ADREV_OK && g == 12, "after it");
    ad_tape_free(t);
}

// The adjoint of the sum is 1 - 1 when the sweep comes to the root at 0.
static void test_cancelled_sum(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x[2] = { ad_input(0), ad_input(1) };
    ad_rev s = { 0 };
    ad_acc(&s, x[1]);
    ad_acc(&s, ad_sqrt(x[0]));
    ad_rev before = s;
    ad_acc(&s, x[1]);
    ad_rev y = ad_rec(ad_sub(s, before));
    ad_real g[2] = { 7, 7 };
    CHECK(ad_gradient(t, y, 2, x, g) == ADREV_OK, "a gradient exists");
    CHECK(g[0] == 0 && g[1] == 1, "got (%g, %g), want (0, 1)", (double)g[0],
          (double)g[1]);
    ad_tape_free(t);
}

static void test_null_arrays(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x = ad_input(3);
    ad_rev y = ad_rec(ad_sqr(x));
    CHECK(ad_pullback(t, 1, &y, NULL, 0, NULL, NULL) == ADREV_ESHAPE, "dy");
    CHECK(ad_pullback(t, 0, NULL, NULL, 1, &x, NULL) == ADREV_ESHAPE, "dx");
    CHECK(ad_pushforward(t, 0, NULL, NULL, 1, &y, NULL) == ADREV_ESHAPE, "dy");
    CHECK(ad_pushforward(t, 1, &x, NULL, 0, NULL, NULL) == ADREV_ESHAPE, "dx");
    ad_tape_free(t);
}

static ad_rev clears(const ad_rev *x, void *tape)
{
    (void)x;
    ad_tape_clear(tape);
    return ad_rec(ad_sqr(ad_input(1)));
}

static void clears_all(const ad_rev *x, ad_rev *y, void *tape)
{
    (void)x;
    (void)y;
    ad_tape_clear(tape);
}

// A program that clears the tape under itself gets a status, no more.
static void test_clearing(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    for (size_t n = 0; n < 2; n++) {
        ad_real x = 1;
        ad_real g = 7;
        ad_tape_clear(t);
        ad_inputs(1, &x, &(ad_rev){ 0 });
        CHECK(ad_grad(clears, t, n, &x, NULL, &g) == ADREV_EMARK && g == 7,
              "ad_grad, n = %zu", n);
        CHECK(ad_jac(clears_all, t, n, &x, 0, NULL, &g) == ADREV_EMARK,
              "ad_jac, n = %zu", n);
    }
    ad_tape_clear(t);
    ad_rev x = ad_input(3);
    ad_real g = 0;
    CHECK(ad_gradient(t, ad_rec(ad_sqr(x)), 1, &x, &g) == ADREV_OK && g == 6,
          "the tape works again");
    ad_tape_free(t);
}

// One statement for an operation, however little is fused.
static void test_small_code(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x[2] = { ad_input(3), ad_input(4) };
    DROP(ad_rec(ad_sin(ad_mul(x[0], x[1]))));
    size_t want = ADREV_FUSE == 1 ? 2 : 1;
    CHECK(ad_tape_stats(t).statements == want, "got %zu statements, want %zu",
          ad_tape_stats(t).statements, want);
    ad_tape_free(t);
}

// A buffer of bytes_most runs the calls that were measured.
static void test_bytes_most(void)
{
    static _Alignas(16) unsigned char buffer[1 << 16];
    size_t bytes = sizeof buffer;
    for (int round = 0; round < 3; round++) {
        ad_tape *t = round == 0 ? ad_tape_new() : ad_tape_in(buffer, bytes);
        ad_use(t);
        scene s = { ad_input(3), ad_rec(0.5) };
        ad_real x = 2;
        ad_real g = 0;
        ad_status status = ad_grad(first_row, &s, 1, &x, NULL, &g);
        CHECK(status == (round == 2 ? ADREV_EFULL : ADREV_OK),
              "round %d in %zu bytes: %s", round, bytes, ad_message(status));
        bytes = round == 0 ? ad_tape_stats(t).bytes_most : bytes - 8;
        ad_tape_free(t);
    }
}

int main(void)
{
    test_outer_values();
    test_cancelled_sum();
    test_null_arrays();
    test_clearing();
    test_small_code();
    test_bytes_most();
    return check_done("nested");
}
