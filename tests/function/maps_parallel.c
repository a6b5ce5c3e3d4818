// SPDX-License-Identifier: MIT-0
// tags: recorded slow threads
// flags: -DADREV_TRACE=1 -pthread
/* maps_parallel.c - recorded functions at many points, on pools of threads.
 *
 * maps.h with pools of 1, 2, 3 and 8 threads, and without one: the checks of
 * maps.c, and the bits of all adjoints must be those without a pool. Then one
 * function in the branches of a fork, where nobody has used it before.      */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "implementation.h"
#include "adrev_parallel.h"
#include "adrev_function.h"

#include "check.h"
#include "maps.h"

enum { BRANCHES = 6, POINTS = 17 * ADREV_LANES_MOST + 7 };

// All the columns at several numbers of points. Returns what they add up to.
static uint64_t everything(void)
{
    enum { L = ADREV_LANES_MOST };
    static const size_t points[] = { 0, 1, L - 1, L, L + 1, 3 * L + 5,
                                     4 * L, 8 * L + 5 };
    maps_state = 88172645463325252u;
    maps_digest = 14695981039346656037u;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        maps_functions_at(points[i], points[i] < L + 1);
        maps_exact(points[i]);
    }
    maps_functions_at(2500, false);
    maps_exact(50000);
    return maps_digest;
}

/* --- in branches ---------------------------------------------------------- */

struct work {
    ad_fn *fn;
    const ad_real *x;
    ad_real y[BRANCHES][2 * POINTS];
    ad_real dx[BRANCHES][POINTS + 5];
    ad_status status[BRANCHES];
};

static void branch(size_t i, void *ctx)
{
    struct work *w = ctx;
    static ad_real one = 1;
    ad_real *x = (ad_real *)(uintptr_t)w->x;
    ad_real *dx = w->dx[i];
    ad_real *y = w->y[i];
    const ad_column from[] = { { x, 1 }, { x + 1, 1 }, { x + 2, 1 },
                               { x + 3, 0 }, { x + 4, 0 } };
    const ad_column into[] = { { dx, 1 }, { dx + 1, 1 }, { dx + 2, 1 },
                               { dx + 3, 0 }, { dx + 4, 0 } };
    const ad_column weight[] = { { &one, 0 }, { &one, 0 } };
    const ad_column out[] = { { y, 2 }, { y + 1, 2 } };
    w->status[i] = ad_fn_map_vjp(w->fn, POINTS, from, weight, into, out,
                                 NULL);
}

static void in_branches(void)
{
    static struct work w;
    ad_real x[POINTS + 5];
    memset(&w, 0, sizeof w);
    for (size_t i = 0; i < POINTS + 5; i++)
        x[i] = maps_uniform(-1, 1);
    w.x = x;
    w.fn = maps_record(&maps_functions[1], NULL);
    ad_fork_n(BRANCHES, branch, &w);
    for (size_t i = 0; i < BRANCHES; i++) {
        CHECK(w.status[i] == ADREV_OK, "branch %zu: %s", i,
              ad_message(w.status[i]));
        CHECK(memcmp(w.y[i], w.y[0], sizeof w.y[0]) == 0
                  && memcmp(w.dx[i], w.dx[0], sizeof w.dx[0]) == 0,
              "branch %zu: other bits", i);
    }
    for (size_t p = 0; p < POINTS; p++) {
        ad_real at[] = { x[p], x[p + 1], x[p + 2], x[3], x[4] };
        ad_real y[2];
        CHECK(ad_fn_eval(w.fn, at, y) == ADREV_OK
                  && memcmp(y, w.y[0] + 2 * p, sizeof y) == 0,
              "in a branch: point %zu", p);
    }
    ad_fn_free(w.fn);
}

int main(void)
{
    static const unsigned threads[] = { 1, 2, 3, 8 };
    uint64_t want = everything();
    maps_errors();
    maps_memory();
    in_branches();
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        ad_pool *pool = ad_pool_new(threads[i]);
        CHECK(pool != NULL && ad_pool_use(pool) == ADREV_OK, "no pool");
        CHECK(everything() == want, "%u threads: other bits", threads[i]);
        maps_errors();
        maps_memory();
        in_branches();
        CHECK(ad_pool_use(NULL) == ADREV_OK, "leaving the pool");
        ad_pool_free(pool);
    }
    return check_done("maps_parallel");
}
