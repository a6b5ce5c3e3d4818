// SPDX-License-Identifier: MIT-0
// tags:
// flags: -pthread
/* chain.c - a chain of n statements on a stack of 64 kB, or of 128 kB where the
 * system gives no less: nothing is recursive, and the cost is linear.
 *
 *     chain [n]        default 1000000; 100000000 needs gigabytes            */

#define _POSIX_C_SOURCE 200809L
#include "implementation.h"
#include "adrev.h"
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define STACK 65536

typedef struct chain {
    size_t n;
    ad_status status;
    size_t values;
    ad_real y;
    ad_real g;
    long double want_y;
    long double want_g;
} chain;

static void finish(chain *c, ad_tape *t, ad_rev x, ad_rev y)
{
    c->y = y.v;
    c->status = ad_gradient(t, y, 1, &x, &c->g);
    c->values = ad_tape_stats(t).values;
    ad_tape_free(t);
}

// x <- 1.000000001 x
static void *linear(void *argument)
{
    chain *c = argument;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    const ad_real factor = (ad_real)1.000000001;
    const ad_rev x = ad_input(2);
    ad_rev y = x;
    for (size_t i = 0; i < c->n; i++)
        y = ad_rec(ad_mul(y, factor));
    c->want_g = powl((long double)factor, (long double)c->n);
    c->want_y = 2 * c->want_g;
    finish(c, t, x, y);
    return NULL;
}

// x <- x + 0.001 sin x and x <- x - 0.001 sin x in turns, so that neither the
// value nor its derivative leaves the range of numbers.
static void *sine_map(void *argument)
{
    chain *c = argument;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    const ad_rev x = ad_input((ad_real)0.5);
    ad_rev y = x;
    ad_real step = (ad_real)0.001;
    c->want_g = 1;
    for (size_t i = 0; i < c->n; i++) {
        const long double at = (long double)y.v;
        const long double cosine = cosl(at);
        c->want_g *= 1 + (long double)step * cosine;
        y = ad_rec(ad_add(y, ad_mul(step, ad_sin(y))));
        step = -step;
    }
    c->want_y = (long double)y.v;
    finish(c, t, x, y);
    return NULL;
}

static int run(void *(*body)(void *), chain *c)
{
    pthread_t thread;
    pthread_attr_t attr;
    int error = pthread_attr_init(&attr);
    error = error != 0 ? error : pthread_attr_setstacksize(&attr, STACK);
    error = error != EINVAL ? error : pthread_attr_setstacksize(&attr, 2 * STACK);
    error = error != 0 ? error : pthread_create(&thread, &attr, body, c);
    error = error != 0 ? error : pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

// A rounding error of each step, in the value and in the product.
static void check_chain(void *(*body)(void *), size_t n, const char *name)
{
    chain c = { .n = n };
    int error = run(body, &c);
    CHECK(error == 0, "%s: no thread: error %d", name, error);
    CHECK(c.status == ADREV_OK, "%s: got \"%s\"", name, ad_message(c.status));
    CHECK(ADREV_FUSE < 6 ? c.values > n : c.values == n + 1,
          "%s: got %zu values, want %zu", name, c.values, n + 1);
    CHECK_NEAR(c.y, c.want_y, 1e-16L * (long double)(n + 10));
    CHECK_NEAR(c.g, c.want_g, 2e-16L * (long double)(n + 10));
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    check_chain(linear, n, "linear");
    check_chain(sine_map, n, "sine map");
    return check_done("chain");
}
