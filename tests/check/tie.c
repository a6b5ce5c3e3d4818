// SPDX-License-Identifier: MIT-0
// tags: threads
// flags: -pthread
/* tie.c - ad_tie counts the inputs that the difference of two numbers depends
 * on: of copies, maxima and sums that cancel none, whatever else is recorded;
 * and it says 2 where it cannot know.                                       */

#include "implementation.h"
#include "adrev.h"
#include "adrev_parallel.h"
#include "check.h"

#define TIE(x, y, want)                                                     \
    CHECK(ad_tie(x, y) == (want) && ad_tie(y, x) == (want),                 \
          "ad_tie(%s, %s) = %d and %d, want %d", #x, #y, ad_tie(x, y),      \
          ad_tie(y, x), want)

static ad_tape *tape;

static ad_rev number(ad_real v) { return (ad_rev){ .v = v }; }

static void begin(size_t n, const ad_real at[], ad_rev x[])
{
    tape = ad_tape_new();
    ad_use(tape);
    ad_inputs(n, at, x);
}

// Nobody asks the tape for derivatives: it stays as it is.
static void end(void)
{
    CHECK(ad_tape_status(tape) == ADREV_OK, "the tape has failed");
    ad_tape_free(tape);
}

/* --- closed forms --------------------------------------------------------- */

static void test_copies(void)
{
    ad_rev x[4];
    begin(4, (const ad_real[]){ 2, 2, 3, 0 }, x);
    const ad_rev two = number(2), copy = x[0];
    TIE(copy, x[0], 0);
    TIE(two, number(3), 0);
    TIE(x[0], two, 1);
    TIE(x[0], x[1], 2);
    const ad_rev most = ad_rec(ad_max(ad_max(x[0], 1), ad_mul(0.5, x[2])));
    TIE(most, x[0], 0);
    TIE(most, x[1], 2);
    TIE(ad_rec(ad_abs(x[0])), x[0], 0);
    TIE(ad_rec(ad_min(x[2], ad_mul(3, x[2]))), x[2], 0);
    TIE(ad_rec(ad_max(x[0], x[1])), x[0], 2);       // half of each
    TIE(ad_rec(ad_mul(x[3], x[3])), number(0), 0);
    end();
}

static void test_differences(void)
{
    ad_rev x[3];
    begin(3, (const ad_real[]){ 2, 2, 5 }, x);
    const ad_rev d = ad_rec(ad_sub(x[0], x[1]));
    const ad_rev zero = number(0);
    TIE(d, zero, 2);
    TIE(ad_rec(ad_sub(d, d)), zero, 0);
    TIE(ad_rec(ad_log(ad_div(x[0], x[1]))), zero, 2);
    TIE(ad_rec(ad_sub(1, ad_div(x[0], x[1]))), zero, 2);
    TIE(ad_rec(ad_sub(ad_add(x[0], x[1]), ad_mul(2, x[0]))), zero, 2);
    TIE(ad_rec(ad_sub(ad_add(d, x[1]), x[0])), zero, 0);
    TIE(ad_rec(ad_add(d, x[1])), x[0], 0);
    TIE(ad_rec(ad_sub(ad_mul(x[2], x[0]), ad_mul(5, x[0]))), zero, 1);
    const ad_rev part = ad_rec(ad_mul(x[2], 1.1)), more = ad_rec(ad_mul(part, 3));
    TIE(ad_rec(ad_div(more, 3.3)), x[2], 0);        // but for rounding
    TIE(ad_rec(ad_sub(ad_sqr(x[0]), 4)), zero, 1);
    TIE(ad_rec(ad_mul(ad_sqrt(d), x[2])), zero, 2);     // infinite slopes
    end();
}

// A running sum, which is an entry of its own kind, and one that cancels it.
static void test_sums(void)
{
    ad_rev x[40];
    ad_real at[40];
    for (int i = 0; i < 40; i++)
        at[i] = i % 4;
    begin(40, at, x);
    ad_rev s = number(0), r = number(0);
    for (int i = 0; i < 20; i++)
        ad_acc(&s, ad_mul(x[i], 3));
    for (int i = 0; i < 20; i++)
        ad_acc(&r, ad_mul(x[19 - i], 3));
    TIE(s, r, 0);
    ad_acc(&r, ad_sub(x[1], x[5]));
    TIE(s, r, 2);
    for (int i = 20; i < 40; i++)                   // more than the list holds
        ad_acc(&s, ad_mul(x[i], x[39 - i]));
    ad_rev z[40], w = number(0), v = number(0);
    for (int i = 0; i < 40; i++)
        z[i] = ad_rec(ad_mul(x[i], 2));
    for (int i = 0; i < 40; i++)
        ad_acc(&w, z[i]);
    for (int i = 0; i < 40; i++)
        ad_acc(&v, z[39 - i]);
    TIE(w, v, 2);
    end();
}

// Inputs between statements, and statements that stand far behind.
static void test_far(void)
{
    ad_rev x;
    begin(1, (const ad_real[]){ 2 }, &x);
    const ad_rev kept = ad_rec(ad_mul(x, 3));
    const ad_rev later = ad_input(2), y = ad_rec(ad_mul(later, 3));
    ad_rev s = number(0);
    for (int i = 0; i < 100000; i++)
        s = ad_rec(ad_sin(ad_add(s, later)));
    TIE(kept, y, 2);
    TIE(kept, ad_rec(ad_mul(x, 3)), 0);
    TIE(later, number(2), 1);
    TIE(y, ad_rec(ad_mul(3, later)), 0);
    for (int i = 0; i < 1000000; i++)
        s = ad_rec(ad_add(s, later));
    TIE(kept, ad_rec(ad_mul(x, 3)), 2);             // too far
    end();
}

/* --- what is not known ---------------------------------------------------- */

static void test_unknown(void)
{
    ad_rev x[2];
    begin(2, (const ad_real[]){ 1, 1 }, x);
    const ad_rev two = number(2), sum = ad_sum(2, x);
    TIE(sum, two, 2);
    TIE(sum, sum, 0);
    TIE(ad_rec(ad_mul(0, sum)), number(0), 0);
    const ad_mark mark = ad_tape_mark(tape);
    const ad_rev gone = ad_rec(ad_add(x[0], 1));
    CHECK(ad_tape_rewind(tape, mark) == ADREV_OK, "rewind");
    TIE(ad_rec(ad_add(x[0], 1)), two, 1);
    TIE(gone, two, 2);
    ad_use(NULL);
    TIE(x[0], x[1], 2);
    TIE(x[0], x[0], 0);
    ad_use(tape);
    TIE(x[0], number(1), 1);
    end();

    begin(2, (const ad_real[]){ 1, 1 }, x);
    TIE(sum, two, 2);                               // of a tape that is gone
    ad_fail(ADREV_EHOOK, "on purpose");
    TIE(x[0], number(1), 2);
    ad_tape_free(tape);
}

static void test_fixed_memory(void)
{
    static _Alignas(16) char memory[4096];
    const ad_real at[2] = { 1, 1 };
    ad_rev x[2];
    tape = ad_tape_in(memory, sizeof memory);
    ad_use(tape);
    ad_inputs(2, at, x);
    TIE(ad_rec(ad_max(x[0], 0.5)), x[0], 0);
    TIE(ad_rec(ad_sub(x[0], x[1])), number(0), 2);
    end();
}

typedef struct branch {
    ad_rev x[2];
    int of_copy, of_own, of_one, of_two;
} branch;

static void run(void *ctx)
{
    branch *b = ctx;
    const ad_rev y = ad_rec(ad_mul(b->x[0], 2)), z = ad_rec(ad_mul(b->x[0], 2));
    b->of_copy = ad_tie(b->x[0], b->x[0]);
    b->of_own = ad_tie(y, z);
    b->of_one = ad_tie(y, number(2));
    b->of_two = ad_tie(b->x[0], b->x[1]);
}

// What a branch gets may be made of many inputs.
static void test_forks(void)
{
    ad_rev x[2];
    begin(2, (const ad_real[]){ 1, 1 }, x);
    branch b = { .x = { x[0], x[1] } }, c = b;
    ad_fork2(run, &b, run, &c);
    CHECK(b.of_copy == 0 && b.of_own == 0 && b.of_one == 2 && b.of_two == 2,
          "in a branch: %d %d %d %d", b.of_copy, b.of_own, b.of_one, b.of_two);
    TIE(x[0], x[1], 2);
    TIE(ad_rec(ad_mul(x[0], 2)), ad_rec(ad_mul(x[0], 2)), 0);
    end();
}

int main(void)
{
    test_copies();
    test_differences();
    test_sums();
    test_far();
    test_unknown();
    test_fixed_memory();
    test_forks();
    return check_done("ties");
}
