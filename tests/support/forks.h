// SPDX-License-Identifier: MIT-0
/* forks.h - what the tests of forks share: forks that can be left out, a few
 * programs, and every test on several pools. Include it after
 * adrev_parallel.h and check.h, in the one file of the program.
 *
 * CHECK counts in plain variables: branches write down what they saw, and the
 * program checks it after the join.                                         */

#ifndef ADREV_TESTS_FORKS_H
#define ADREV_TESTS_FORKS_H

#define K(c)   ((ad_real)(c))
#define SINGLE (sizeof(ad_real) == sizeof(float))

// Largest difference, as a part of the largest entry: the order of sums.
#define AGREE (SINGLE ? 1e-4 : 1e-13)

static ad_tape *tape;
static const char *pool_name = "no pool";       // what is current

static inline void right(ad_status s, const char *what)
{
    CHECK(s == ADREV_OK, "%s, %s: %s", what, pool_name, ad_message(s));
}

// The same numbers, but for the order of sums.
static inline void agree(const char *what, size_t n, const ad_real got[],
                         const ad_real want[])
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (size_t i = 0; i < n; i++)
        CHECK(fabs((double)got[i] - (double)want[i]) <= AGREE * largest,
              "%s, %s: [%zu]: got %.17g, want %.17g", what, pool_name, i,
              (double)got[i], (double)want[i]);
}

// false: branches are called one after the other, as part of the task.
static bool forking = true;

static inline void both(void (*f)(void *), void *a, void (*g)(void *),
                        void *b)
{
    if (forking) {
        ad_fork2(f, a, g, b);
    } else {
        f(a);
        g(b);
    }
}

static inline void each(size_t n, void (*f)(size_t i, void *ctx), void *ctx)
{
    if (forking)
        ad_fork_n(n, f, ctx);
    else
        for (size_t i = 0; i < n; i++)
            f(i, ctx);
}

/* --- small programs ------------------------------------------------------- */

enum { FAN = 128 };             // most branches of a fork

// sin(x), sin(2x), ...: a branch of each.
typedef struct fan {
    ad_rev x;
    ad_rev part[FAN];
} fan;

static inline void ray(size_t i, void *ctx)
{
    fan *f = ctx;
    f->part[i] = ad_rec(ad_sin(ad_mul(f->x, (ad_real)(i + 1))));
}

// Forks in a recursion whose leaves are values of the root.
typedef struct fib {
    const ad_rev *x;
    int n;
    ad_rev y;
} fib;

static inline void fibonacci(void *ctx)
{
    fib *f = ctx;
    f->y = f->x[f->n & 1];
    if (f->n < 2)
        return;
    fib a = { .x = f->x, .n = f->n - 1 };
    fib b = { .x = f->x, .n = f->n - 2 };
    both(fibonacci, &a, fibonacci, &b);
    f->y = ad_rec(ad_add(a.y, b.y));
}

// One number that all branches use again and again.
typedef struct crowd {
    ad_rev x;
    ad_rev part[FAN];
} crowd;

static inline void press(size_t i, void *ctx)
{
    crowd *c = ctx;
    ad_rev s = { 0 };
    for (int k = 0; k < 50; k++)
        ad_acc(&s, ad_mul(c->x, (ad_real)k));
    c->part[i] = s;
}

// y = x + the sum of sin(i x), for i = 1, ..., n.
static inline void check_arity(size_t n)
{
    ad_real g = 0;
    fan f = { .x = ad_input(K(0.3)) };
    ad_fork_n(n, ray, &f);
    ad_rev y = ad_rec(ad_add(f.x, ad_sum(n, f.part)));
    long double want = 1;
    for (size_t i = 1; i <= n; i++)
        want += (long double)i
              * cosl((long double)f.x.v * (long double)i);
    right(ad_gradient(tape, y, 1, &f.x, &g), "arity");
    double size = (double)(n * n + 1);
    CHECK(fabs((double)((long double)g - want)) <= AGREE * size,
          "%zu branches, %s: got %.17g, want %.17Lg", n, pool_name, (double)g,
          want);
}

/* --- pools ---------------------------------------------------------------- */

// Each test on a cleared tape, without a pool and on some.
static inline void on_pools(size_t n, void (*const tests[])(void))
{
    static const unsigned threads[] = { 0, 1, 2, 5 };
    static const char *const names[] = { "no pool", "1 thread", "2 threads",
                                         "5 threads" };
    for (int i = 0; i < 4; i++) {
        ad_pool *pool = threads[i] > 0 ? ad_pool_new(threads[i]) : NULL;
        pool_name = names[i];
        CHECK(threads[i] == 0 || (pool != NULL
                  && ad_pool_threads(pool) == threads[i]), "%s", names[i]);
        right(ad_pool_use(pool), "ad_pool_use");
        tape = ad_tape_new();
        ad_use(tape);
        for (size_t k = 0; k < n; k++) {
            ad_tape_clear(tape);
            tests[k]();
        }
        ad_tape_free(tape);
        ad_pool_free(pool);
    }
}

#endif
