// SPDX-License-Identifier: MIT-0
// tags: recorded slow threads
// flags: -pthread
/* bulk_parallel.c - the array operators of adrev_bulk.h on pools of threads.
 *
 * The checks of bulk.c on pools of 1, 2, 3 and 4 threads and without one, and
 * in the branches of a fork; all bits must be the same. With
 * -DBULK_FUNCTIONS=1 maps run in lanes.                                      */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef BULK_FUNCTIONS
#define BULK_FUNCTIONS 0
#endif

#define ADREV_IMPLEMENTATION
#include "adrev_parallel.h"
#if BULK_FUNCTIONS
#include "adrev_function.h"
#endif
#include "adrev_loop.h"

#include "check.h"
#include "bulk.h"

static uint64_t bulk_everything(void)
{
    ad_tape *t = ad_tape_new();
    bulk_digest = 1469598103934665603u;
    bulk_state = 88172645463325252u;
    bulk_pairs(t);
    ad_tape_free(t);
    return bulk_digest;
}

/* --- in branches ---------------------------------------------------------- */

enum { BRANCHES = 5, POINTS = 300 };

typedef struct in_branch {
    ad_rev x[POINTS];
    ad_rev p[2];
    ad_rev y[BRANCHES][2];
    bool each;
} in_branch;

// With a number that belongs to the task outside as what f captures.
static void branch_f(const ad_rev *x, ad_rev *y, void *ctx)
{
    const in_branch *k = ctx;
    y[0] = ad_rec(ad_sin(ad_mul(k->p[0], x[0])));
    y[1] = ad_rec(ad_mul(x[0], ad_mul(k->p[1], x[0])));
}

static void branch(size_t i, void *ctx)
{
    in_branch *k = ctx;
    const ad_rows rows[] = { { k->x + i, 1, 1 } };
    if (!k->each) {
        ad_map_reduce(branch_f, NULL, k, POINTS - BRANCHES, 1, rows, 2, NULL,
                      k->y[i]);
        return;
    }
    k->y[i][0] = k->y[i][1] = ad_rec(0.0);
    for (size_t j = 0; j < POINTS - BRANCHES; j++) {
        ad_rev z[2];
        branch_f(k->x + i + j, z, k);
        for (size_t r = 0; r < 2; r++)
            k->y[i][r] = ad_rec(ad_add(k->y[i][r], z[r]));
    }
}

static void run_branches(ad_tape *t, bool each, ad_real g[])
{
    static in_branch k;
    ad_rev in[POINTS + 2];
    ad_tape_clear(t);
    ad_use(t);
    for (size_t i = 0; i < POINTS + 2; i++)
        in[i] = ad_input((ad_real)(0.01 * (double)(i % 101)));
    memcpy(k.x, in, sizeof k.x);
    memcpy(k.p, in + POINTS, sizeof k.p);
    k.each = each;
    ad_fork_n(BRANCHES, branch, &k);
    ad_rev y = ad_sum(2 * BRANCHES, k.y[0]);
    ad_use(NULL);
    ad_status s = ad_gradient(t, y, POINTS + 2, in, g);
    CHECK(s == ADREV_OK, "in branches: %s", ad_message(s));
}

static uint64_t bulk_branches(void)
{
    ad_real g[2][POINTS + 2];
    ad_tape *t = ad_tape_new();
    run_branches(t, false, g[0]);
    run_branches(t, true, g[1]);
    pair_compare("branches", "adjoint", POINTS, POINTS + 2, g[0], g[1]);
    bulk_digest = 0;
    bulk_absorb_bits(POINTS + 2, g[0]);
    ad_tape_free(t);
    return bulk_digest;
}

/* --- many numbers moved --------------------------------------------------- */

enum { MOVED = 300007, HIGH = 541, BROAD = 553 };

static ad_rev moved_x[MOVED], moved_y[MOVED];

// Whether number i of y is number from(i) of x, for n of them.
#define MOVED_FROM(what, n, from)                                           \
    for (size_t i = 0; i < (n); i++) {                                      \
        size_t k = (from);                                                  \
        if (moved_y[i].seq != moved_x[k].seq                                \
            || moved_y[i].v != moved_x[k].v) {                              \
            CHECK(false, "%s: number %zu is not %zu", what, i, k);          \
            break;                                                          \
        }                                                                   \
    }                                                                       \
    memset(moved_y, 0, sizeof moved_y)

static void bulk_moves(void)
{
    enum { ROWS = MOVED / 3 };
    static ptrdiff_t ix[MOVED];
    static const size_t shape[] = { 11, HIGH, 50 }, order[] = { 2, 0, 1 };
    const size_t part[] = { 5, 0, MOVED - 6 };
    const ad_rev *const parts[] = { moved_x + 1, NULL, moved_x + 6 };
    for (size_t i = 0; i < MOVED; i++) {
        moved_x[i] = (ad_rev){ (ad_real)(i % 1000), (uint32_t)i + 1, 1 };
        ix[i] = (ptrdiff_t)(i * 7919 % ROWS);
    }
    ad_gather(MOVED, ix, MOVED, 1, moved_x, moved_y);
    MOVED_FROM("gather", MOVED, i * 7919 % ROWS);
    ad_gather(ROWS, ix, ROWS, 3, moved_x, moved_y);
    MOVED_FROM("gather rows", 3 * ROWS, i / 3 * 7919 % ROWS * 3 + i % 3);
    ad_replicate(ROWS, 3, moved_x + 7, moved_y);
    MOVED_FROM("replicate", 3 * ROWS, 7 + i % 3);
    ad_replicate(2, MOVED / 2, moved_x, moved_y);
    MOVED_FROM("replicate long rows", MOVED - 1, i % (MOVED / 2));
    ad_slice(ROWS, 3, moved_x, ROWS - 1, -1, ROWS, moved_y);
    MOVED_FROM("reverse", 3 * ROWS, (ROWS - 1 - i / 3) * 3 + i % 3);
    ad_slice(MOVED, 1, moved_x, 1, 2, MOVED / 2, moved_y);
    MOVED_FROM("slice", MOVED / 2, 1 + 2 * i);
    ad_rotate(MOVED, 1, -1000, moved_x, moved_y);
    MOVED_FROM("rotate", MOVED, (i + MOVED - 1000) % MOVED);
    ad_concat(3, part, parts, 1, moved_y);
    MOVED_FROM("concat", MOVED - 1, i + 1);
    ad_transpose(HIGH, BROAD - 5, moved_x, moved_y);
    MOVED_FROM("transpose", HIGH * (BROAD - 5),
               i % HIGH * (BROAD - 5) + i / HIGH);
    ad_transpose(2, MOVED / 2, moved_x, moved_y);
    MOVED_FROM("transpose 2 rows", MOVED - 1, i % 2 * (MOVED / 2) + i / 2);
    ad_transpose(MOVED / 2, 2, moved_x, moved_y);
    MOVED_FROM("transpose 2 columns", MOVED - 1,
               i % (MOVED / 2) * 2 + i / (MOVED / 2));
    ad_rearrange(3, shape, order, moved_x, moved_y);
    MOVED_FROM("rearrange", 11 * HIGH * 50,
               i % (11 * HIGH) * 50 + i / (11 * HIGH));
}

// Calls that an executor of the user's own was given.
static void bulk_in_order(size_t n, ad_call_fn *call, void *arg, void *user)
{
    *(size_t *)user += n;
    for (size_t i = n; i-- > 0;)
        call(i, arg);
}

static void bulk_executed(void)
{
    size_t calls = 0;
    CHECK(ad_executor_use(bulk_in_order, &calls) == ADREV_OK, "executor");
    bulk_moves();
    CHECK(ad_executor_use(NULL, NULL) == ADREV_OK, "the pool again");
    CHECK(calls >= 12 * 10, "%zu parts", calls);
}

int main(void)
{
    ad_tape *t = ad_tape_new();
    bulk_table();
    bulk_edges(t);
    bulk_oom();
    ad_tape_free(t);
    bulk_moves();
    bulk_executed();
    uint64_t alone = bulk_everything();
    uint64_t branches = bulk_branches();
    for (unsigned threads = 1; threads <= 4; threads++) {
        ad_pool *pool = ad_pool_new(threads);
        CHECK(ad_pool_use(pool) == ADREV_OK, "no pool");
        CHECK(bulk_everything() == alone, "%u threads: other bits", threads);
        CHECK(bulk_branches() == branches,
              "%u threads, in branches: other bits", threads);
        bulk_moves();
        CHECK(ad_pool_use(NULL) == ADREV_OK, "left");
        ad_pool_free(pool);
    }
    return check_done("bulk_parallel");
}
