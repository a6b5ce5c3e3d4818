// SPDX-License-Identifier: MIT-0
// tags: threads last-bits
// flags: -DADREV_PTHREADS=1 -pthread
/* jacobian_rows.c - Jacobians row by row on several threads, and pools whose threads
 * cannot be made: the same numbers, to the last bit.                        */

#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

// The system gives this many threads more, then none.
static int threads_left = 1000;

static int few_threads(pthread_t *thread, const pthread_attr_t *how,
                       void *(*f)(void *), void *arg)
{
    if (threads_left <= 0)
        return 11;
    threads_left--;
    return pthread_create(thread, how, f, arg);
}

#define pthread_create few_threads
#define ADREV_IMPLEMENTATION
#include "adrev_parallel.h"
#undef pthread_create
#include "check.h"
#include "heap.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS = 37, OUTPUTS = 61, STEPS = 400 };

static ad_rev x[INPUTS];
static ad_rev y[OUTPUTS];

// A walk over the inputs; every output comes from another place of it.
static void record(size_t m, size_t n)
{
    ad_rev s = { 1, 0, 0 };
    for (size_t j = 0; j < n; j++)
        x[j] = ad_input((ad_real)(0.5 + 0.01 * (double)j));
    for (size_t i = 0; i < STEPS; i++) {
        s = ad_rec(ad_sin(ad_add(ad_mul(s, x[i % n]), x[(i * 7) % n])));
        y[i % m] = ad_rec(ad_mul(s, x[(i * 3) % n]));
    }
    y[0] = ad_dot(n, x, x);
}

static void check_shape(ad_tape *t, size_t m, size_t n)
{
    static ad_real J[OUTPUTS * INPUTS];
    static ad_real want[OUTPUTS * INPUTS];
    ad_tape_clear(t);
    record(m, n);
    memset(J, 0, sizeof J);
    memset(want, 1, sizeof want);
    CHECK(ad_jacobian(t, m, y, n, x, want) == ADREV_OK, "ad_jacobian");
    CHECK(ad_parallel_jacobian(t, m, y, n, x, J) == ADREV_OK, "in parallel");
    CHECK(memcmp(J, want, m * n * sizeof *J) == 0, "%zu x %zu: other bits", m,
          n);
    CHECK(adx_now.tape == t, "another tape is current");
}

static void check_shapes(ad_tape *t)
{
    check_shape(t, 1, 1);
    check_shape(t, 1, INPUTS);
    check_shape(t, OUTPUTS, 1);
    check_shape(t, OUTPUTS, INPUTS);
    check_shape(t, 8, INPUTS);
    check_shape(t, 17, 3);
    check_shape(t, 9, 9);
}

static void check_errors(ad_tape *t)
{
    ad_real J[4] = { 7, 7, 7, 7 };
    ad_tape_clear(t);
    record(2, 2);
    ad_rev old = y[1];
    CHECK(ad_parallel_jacobian(NULL, 2, y, 2, x, J) == ADREV_ENOTAPE, "tape");
    CHECK(ad_parallel_jacobian(t, 2, y, 2, x, NULL) == ADREV_ESHAPE, "J");
    CHECK(ad_parallel_jacobian(t, 0, y, 2, x, J) == ADREV_OK, "no rows");
    ad_tape_clear(t);
    record(2, 2);
    y[1] = old;
    CHECK(ad_parallel_jacobian(t, 2, y, 2, x, J) == ADREV_EFOREIGN, "old");
    CHECK(J[0] == 7 && J[3] == 7, "J is touched");
}

static void check_memory(void)
{
    heap h = { 0 };
    const ad_allocator mine = { heap_alloc, heap_free, &h };
    ad_real J[4];
    ad_tape *t = ad_tape_new_with(&mine);
    ad_use(t);
    record(2, 2);
    heap_fails(&h, 1, true);
    CHECK(ad_parallel_jacobian(t, 2, y, 2, x, J) == ADREV_ENOMEM, "no memory");
    heap_fails(&h, 0, false);
    CHECK(ad_parallel_jacobian(t, 2, y, 2, x, J) == ADREV_OK, "memory");
    ad_tape_free(t);
}

static void check_fork(size_t i, void *ctx)
{
    (void)ctx;
    y[i] = ad_rec(ad_mul(ad_sin(x[i % 3]), x[(i + 1) % 3]));
}

// With forks it is ad_jacobian.
static void check_forks(ad_tape *t)
{
    ad_real J[30];
    ad_real want[30];
    ad_tape_clear(t);
    record(1, 3);
    ad_fork_n(10, check_fork, NULL);
    CHECK(ad_jacobian(t, 10, y, 3, x, want) == ADREV_OK, "ad_jacobian");
    CHECK(ad_parallel_jacobian(t, 10, y, 3, x, J) == ADREV_OK, "forks");
    CHECK(memcmp(J, want, sizeof J) == 0, "other bits");
}

int main(void)
{
    for (int left = 0; left < 4; left++) {
        threads_left = left;
        ad_pool *pool = ad_pool_new(4);
        ad_tape *t = ad_tape_new();
        unsigned want = left < 3 ? (unsigned)left + 1 : 4;
        CHECK(pool != NULL && ad_pool_threads(pool) == want,
              "%d threads to be had: a pool of %u", left,
              ad_pool_threads(pool));
        CHECK(ad_pool_use(pool) == ADREV_OK, "use");
        ad_use(t);
        check_shapes(t);
        check_errors(t);
        check_forks(t);
        check_memory();
        ad_tape_free(t);
        ad_pool_free(pool);
    }
    return check_done("jacobian_rows");
}
