// SPDX-License-Identifier: MIT-0
// tags:
// flags: -pthread
/* joined_values.c - values of branches that joined before: as results of ad_grad,
 * ad_jac and ad_check, on the tape and in later branches, where they are
 * constant as all older values are; and as numbers of a struct, whose adjoints
 * lie on another tape. Memory is full of numbers, so that what is read before
 * it is written shows.                                                      */

#include "implementation.h"
#include "adrev_parallel.h"
#include "adrev_struct.h"
#include "check.h"

#include <stdlib.h>

enum { BRANCHES = 20, LONG = 300 };

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

static const ad_allocator memory = { filled, give_back, NULL };

static ad_rev x;
static ad_rev part[BRANCHES];

// Long, so that its values lie beyond the adjoints of a short tape.
static void branch(size_t i, void *ctx)
{
    (void)ctx;
    ad_rev a = x;
    for (int k = 0; k < LONG; k++)
        a = ad_rec(ad_mul(a, 1));
    part[i] = ad_rec(ad_mul(a, (double)i + 1));
}

static ad_rev older(const ad_rev *u, void *ctx)
{
    (void)ctx;
    DROP(ad_rec(ad_mul(u[0], u[0])));
    return part[0];
}

// More rows than inputs: ad_jac sweeps forward.
static void rows(const ad_rev *u, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < BRANCHES; i++)
        y[i] = i % 2 != 0 ? part[i] : ad_rec(ad_mul(u[0], part[i]));
}

// One row, and many inputs: it sweeps in reverse.
static void row(const ad_rev *u, ad_rev *y, void *ctx)
{
    (void)u;
    (void)ctx;
    y[0] = part[BRANCHES - 1];
}

static void take_derivatives(const char *where)
{
    const ad_real at[BRANCHES] = { 2 };
    ad_real y = 0;
    ad_real g = 7;
    ad_real v[BRANCHES], J[BRANCHES];
    ad_check_report report = { 0 };
    ad_status s = ad_grad(older, NULL, 1, at, &y, &g);
    CHECK(s == ADREV_OK && y == part[0].v && g == 0, "%s: ad_grad: %s, %g, %g",
          where, ad_message(s), (double)y, (double)g);
    s = ad_jac(rows, NULL, 1, at, BRANCHES, v, J);
    CHECK(s == ADREV_OK, "%s: ad_jac: %s", where, ad_message(s));
    for (int i = 0; i < BRANCHES; i++)
        CHECK(J[i] == (i % 2 != 0 ? 0 : part[i].v), "%s: row %d: %g", where, i,
              (double)J[i]);
    s = ad_jac(row, NULL, BRANCHES, at, 1, v, J);
    CHECK(s == ADREV_OK && v[0] == part[BRANCHES - 1].v, "%s: ad_jac: %s",
          where, ad_message(s));
    for (int i = 0; i < BRANCHES; i++)
        CHECK(J[i] == 0, "%s: column %d: %g", where, i, (double)J[i]);
    s = ad_check(older, NULL, 1, at, &report);
    CHECK(s == ADREV_OK && ad_check_passed(&report), "%s: ad_check: %s", where,
          ad_message(s));
}

static void derive(size_t i, void *ctx)
{
    (void)i;
    (void)ctx;
    take_derivatives("in a branch");
}

#define PAIR(FIELD) FIELD(real, a) FIELD(real, b)
ADREV_STRUCT(pair, PAIR);

// y = a b, where a is of the tape and b of a branch.
static void test_struct(ad_tape *t)
{
    const pair_rev twin = { x, part[4] };
    pair g = { 7, 7 };
    ad_rev y = ad_rec(ad_mul(twin.a, twin.b));
    ad_status s = pair_gradient(t, y, &twin, &g);
    CHECK(s == ADREV_OK && g.b == x.v, "d/db: %s, %g", ad_message(s),
          (double)g.b);
    CHECK(g.a == 2 * 5 * x.v, "d/da: %g", (double)g.a);
}

static void test_all(bool swept)
{
    ad_tape *t = ad_tape_new_with(&memory);
    ad_use(t);
    x = ad_input((ad_real)0.5);
    ad_real g = 0;
    if (swept) {                // adjoints, but too few
        ad_fork_n(2, branch, NULL);
        ad_status s = ad_gradient(t, ad_sum(2, part), 1, &x, &g);
        CHECK(s == ADREV_OK && g == 3, "got %g, want 3", (double)g);
    }
    ad_fork_n(BRANCHES, branch, NULL);
    take_derivatives("on the tape");
    ad_fork_n(2, derive, NULL);
    test_struct(t);
    ad_status s = ad_gradient(t, part[3], 1, &x, &g);
    CHECK(s == ADREV_OK && g == 4, "afterwards: %s, %g", ad_message(s),
          (double)g);
    ad_tape_free(t);
}

int main(void)
{
    for (int how = 0; how < 2; how++)
        test_all(how != 0);
    return check_done("joined_values");
}
