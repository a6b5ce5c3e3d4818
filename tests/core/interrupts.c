// SPDX-License-Identifier: MIT-0
// tags:
/* interrupts.c - with ADREV_FIXED an interrupt may record and sweep on a tape
 * of its own, wherever it meets the program: here after every instruction. The
 * program must have the same bits as undisturbed, and the interrupt its own,
 * and no harm if a recording of the interrupt has failed.
 * And a trap that leaves an operation by a jump leaves the tape as it was.
 * x86-64 under Linux, where a flag makes the processor trap.                */

#define _GNU_SOURCE
#define ADREV_FIXED 1
#define ADREV_NO_THREADS
#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "check.h"

#if defined __x86_64__ && defined __linux__ && defined __GLIBC__

#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

static _Alignas(max_align_t) char memory[6000];
static _Alignas(max_align_t) char its_memory[4000];
static ad_tape *its_tape;
static ad_rev its_value;
static long interrupts;
static long failures;                   // of its recordings, on purpose
static long wrong;
static uint32_t its_jobs[1 << 16];      // what its recordings were numbered

// What the interrupt does. Now and then it makes its tape anew.
static void handle(int signal)
{
    ad_real g[2] = { 0, 0 };
    (void)signal;
    interrupts++;
    if (its_tape == NULL || interrupts % 16 == 0)
        its_tape = ad_tape_in(its_memory, sizeof its_memory);
    ad_tape *before = ad_use(its_tape);
    ad_tape_clear(its_tape);
    ad_rev x[2] = { ad_input(3), ad_input((ad_real)interrupts) };
    its_value = ad_rec(ad_mul(x[0], ad_add(x[1], ad_sqr(x[0]))));
    ad_status status = ad_gradient(its_tape, its_value, 2, x, g);
    its_jobs[interrupts % (1 << 16)] = its_value.job;
    wrong += status != ADREV_OK || g[0] != 27 + (ad_real)interrupts
          || g[1] != 3;
    if (interrupts % 64 == 1) {         // more than its tape has room for
        ad_rev y = x[0];
        for (int i = 0; i < 400; i++)
            y = ad_rec(ad_mul(y, x[1]));
        failures += ad_gradient(its_tape, y, 2, x, g) == ADREV_EFULL;
    }
    ad_use(before);
}

// From here on the processor traps behind each instruction, or no longer.
#define FLAG(change)                                                        \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" change          \
                     "\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::: "memory", "cc")
#define TRAP() FLAG("orq $0x100, (%%rsp)")
#define CALM() FLAG("andq $~0x100, (%%rsp)")

typedef struct results {
    ad_status status[6];
    ad_real y;
    ad_real g[3];
    ad_real again[3];
    ad_real J[6];
    ad_real grad[3];
    size_t bytes;
} results;

static ad_rev scalar(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_add(ad_mul(x[0], x[1]), ad_div(x[2], x[0])));
}

// A bit of everything that a tape does.
static void record(results *r)
{
    const ad_real at[3] = { (ad_real)0.5, 2, (ad_real)-1.25 };
    ad_rev x[3];
    ad_rev y[2];

    ad_tape *t = ad_tape_in(memory, sizeof memory);
    ad_use(t);
    ad_inputs(3, at, x);
    ad_rev sum = ad_rec(0);
    for (int i = 0; i < 3; i++)
        ad_acc(&sum, ad_mul(x[i], ad_add(x[(i + 1) % 3], i)));
    ad_rev constant = { .v = 4 };
    y[0] = ad_rec(ad_mul(ad_mul(sum, sum), constant));
    ad_mark mark = ad_tape_mark(t);
    y[1] = ad_rec(ad_div(y[0], ad_add(x[2], 3)));
    ad_rev late = ad_input(7);
    y[1] = ad_rec(ad_sub(y[1], ad_mul(late, ad_dot(3, x, x))));
    r->status[0] = ad_gradient(t, y[1], 3, x, r->g);
    r->status[1] = ad_jacobian(t, 2, y, 3, x, r->J);
    r->y = y[1].v;
    r->bytes = ad_tape_bytes(t);
    r->status[2] = ad_tape_rewind(t, mark);
    r->status[3] = ad_grad(scalar, NULL, 3, at, NULL, r->grad);
    y[1] = ad_rec(ad_mul(y[0], x[1]));
    r->status[4] = ad_gradient(t, y[1], 3, x, r->again);
    ad_tape_clear(t);
    sum = ad_input(2);
    ad_tape_free(t);
    r->status[5] = ad_tape_status(t);
}

static void test_interrupts(void)
{
    struct sigaction action = { .sa_handler = handle };
    static results calm;
    static results hurried;

    record(&calm);
    sigaction(SIGTRAP, &action, NULL);
    TRAP();
    record(&hurried);
    CALM();
    CHECK(interrupts > 2000, "%ld interrupts only", interrupts);
    CHECK(wrong == 0, "%ld interrupts of %ld had other results", wrong,
          interrupts);
    CHECK(failures == (interrupts + 63) / 64, "%ld recordings failed", failures);
    for (int i = 0; i < 6; i++)
        CHECK(calm.status[i] == ADREV_OK && hurried.status[i] == ADREV_OK,
              "status %d: %s, %s", i, ad_message(calm.status[i]),
              ad_message(hurried.status[i]));
    CHECK(memcmp(&calm, &hurried, sizeof calm) == 0,
          "the interrupted program has other results: %g, not %g",
          (double)hurried.y, (double)calm.y);
}

// Each trap finds the program about to begin a recording, and begins one of its
// own. None ever has the program's number.
static void test_numbers(void)
{
    ad_real g = 0;
    for (int i = 0; i < 40; i++) {
        ad_rev x;
        long same = 0;
        const long from = interrupts;
        TRAP();
        ad_tape *t = ad_tape_in(memory, sizeof memory);
        ad_use(t);
        ad_tape_clear(t);
        x = ad_input(1);
        CALM();
        for (long k = from + 1; k <= interrupts; k++)
            same += its_jobs[k % (1 << 16)] == x.job;
        CHECK(same == 0, "turn %d: %ld interrupts had the program's number", i,
              same);
        CHECK(ad_gradient(t, its_value, 1, &x, &g) == ADREV_EFOREIGN,
              "turn %d: the interrupt's value is one of the program's", i);
        CHECK(ad_gradient(t, x, 1, &x, &g) == ADREV_OK && g == 1, "turn %d", i);
    }
    ad_use(NULL);
}

static sigjmp_buf out;

static void leave(int signal)
{
    siglongjmp(out, signal);
}

// With ADREV_FUSE 1, and so without GNU C, an operator in another one is a
// statement by itself, and remains.
#if ADREV_FUSE > 1
#define BELOW ad_sub(below, 1)
#else
#define BELOW below
#endif

// An operation that traps is as if it had not been.
static void test_trap(void)
{
    struct sigaction action = { .sa_handler = leave };
    ad_real g = 0;
    ad_tape *t = ad_tape_in(memory, sizeof memory);
    ad_use(t);
    ad_rev x = ad_input(2);
    ad_rev zero = ad_input(0);
    ad_rev below = ad_input(-1);
    volatile size_t bytes = ad_tape_bytes(t);
    volatile int trapped = 0;

    sigaction(SIGFPE, &action, NULL);
    feenableexcept(FE_DIVBYZERO | FE_INVALID);
    if (sigsetjmp(out, 1) == 0)
        DROP(ad_rec(ad_div(x, zero)));
    else
        trapped++;
    feenableexcept(FE_DIVBYZERO | FE_INVALID);  // a handler begins without
    if (sigsetjmp(out, 1) == 0)
        DROP(ad_rec(ad_mul(x, ad_log(BELOW))));
    else
        trapped++;
    feclearexcept(FE_ALL_EXCEPT);
    fedisableexcept(FE_ALL_EXCEPT);
    CHECK(trapped == 2, "%d of 2 operations trapped", trapped);
    CHECK(ad_tape_bytes(t) == bytes, "something was recorded all the same");
    ad_rev y = ad_rec(ad_mul(x, ad_sqr(x)));
    CHECK(ad_gradient(t, y, 1, &x, &g) == ADREV_OK && g == 12,
          "after the traps: %g", (double)g);
    ad_use(NULL);
}

int main(void)
{
    test_interrupts();
    test_numbers();
    test_trap();
    return check_done("interrupts");
}

#else

int main(void)
{
    printf("interrupts: needs x86-64, Linux and glibc\n");
    return check_done("interrupts");
}

#endif
