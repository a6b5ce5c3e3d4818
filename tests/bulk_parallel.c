// SPDX-License-Identifier: MIT-0
// plan: listed
// flags: -pthread
// needs: xxhash.h
/* bulk_parallel.c - the array operators of adrev_loop.h on pools of threads.
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
#include "../adrev_parallel.h"
#if BULK_FUNCTIONS
#include "../adrev_function.h"
#endif
#include "../adrev_loop.h"

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

int main(void)
{
    ad_tape *t = ad_tape_new();
    bulk_table();
    bulk_edges(t);
    bulk_oom();
    ad_tape_free(t);
    uint64_t alone = bulk_everything();
    uint64_t branches = bulk_branches();
    for (unsigned threads = 1; threads <= 4; threads++) {
        ad_pool *pool = ad_pool_new(threads);
        CHECK(ad_pool_use(pool) == ADREV_OK, "no pool");
        CHECK(bulk_everything() == alone, "%u threads: other bits", threads);
        CHECK(bulk_branches() == branches,
              "%u threads, in branches: other bits", threads);
        ad_pool_use(NULL);
        ad_pool_free(pool);
    }
    return check_done("bulk_parallel");
}
