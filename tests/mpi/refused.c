// SPDX-License-Identifier: MIT-0
// tags: part
/* refused.c - where statements with messages are refused (mpi.sh): in branches,
 * parts of sums, recorded functions and maps; a scan next to recorded
 * functions, which runs its steps all the same; and scans with a store whose
 * ranks find out different things.                                           */

#define ADREV_IMPLEMENTATION
#define ADREV_TRACE 1
#include "adrev_parallel.h"
#include "adrev_function.h"
#include "adrev_mpi.h"          // before adrev_loop.h, which it knows all the same
#include "adrev_loop.h"
#include "check.h"
#include "ranks.h"

static ad_mpi *c;

static void sum_all(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev squared = ad_rec(ad_sqr(x[0]));
    ad_ignore(ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, &squared, y));
}

static ad_rev x, part[3];

static void branch(size_t i, void *ctx)
{
    (void)ctx;
    part[i] = ad_rec(ad_mul(x, i + 1));
    if (i == 1)
        ad_ignore(ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, &part[i], &part[i]));
}

// Branches without a tape, and on threads of a pool: none of them calls MPI, so
// nobody is told before the fork is over.
static ad_status busy[3];
static bool told;

static void odd_branch(size_t i, void *ctx)
{
    ad_mpi_request **posted = ctx;
    ad_rev y = ad_rec(ad_mul(x, i + 1));
    busy[i] = i == 0 ? ad_mpi_wait(c, posted)
            : i == 1 ? ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, &y, &y)
            : ad_mpi_agree(c, ADREV_OK);
    if (c->stopped)
        told = true;
}

// Only rank 0 has branches; the other ranks wait for it in a reduction.
static void test_branches(ad_tape *t, bool recorded, const char *what)
{
    ad_mpi_request *posted;
    ad_rev y, got;
    const bool here = ranks_rank == 0;
    ad_tape_clear(t);
    x = ad_input(ranks_rank + 1);
    CHECK(ad_mpi_irecv(c, 0, 1, &got, &posted) == ADREV_OK, "irecv");
    MPI_Barrier(MPI_COMM_WORLD);
    if (!recorded)
        ad_use(NULL);
    if (here)
        ad_fork_n(3, odd_branch, &posted);
    for (int i = 0; here && i < 3; i++)
        CHECK(busy[i] == ADREV_EBUSY, "%s %d: %s", what, i,
              ad_message(busy[i]));
    CHECK(!told && posted != NULL, "%s: MPI was called", what);
    const ad_status want = here ? ADREV_EBUSY : ADREV_EREMOTE;
    ad_status s = ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, &x, &y);
    CHECK(s == want, "%s: %s", what, ad_message(s));
    s = ad_mpi_agree(c, ADREV_OK);
    CHECK(s == want, "%s: %s", what, ad_message(s));
    ad_use(t);
    CHECK(ad_mpi_wait(c, &posted) != ADREV_OK && posted == NULL, "%s", what);
    ad_ignore(ad_mpi_agree(c, ADREV_OK));
    ad_tape_clear(t);
}

// After what failed on all ranks alike: the tape says why, and the next program
// works.
static void check(ad_tape *t, ad_status want, const char *what)
{
    ad_rev y;
    ad_real g = 0;
    CHECK(ad_tape_status(t) == want || ad_tape_status(t) == ADREV_EREMOTE,
          "%s: %s", what, ad_tape_reason(t));
    ad_status s = ad_mpi_agree(c, ad_tape_status(t));
    CHECK(s == want || s == ADREV_EREMOTE, "%s: %s", what, ad_message(s));
    ad_tape_clear(t);
    x = ad_input(ranks_rank + 1);
    sum_all(&x, &y, NULL);
    s = ad_mpi_gradient(c, t, y, 1, &x, &g);
    CHECK(s == ADREV_OK && g == 2 * (ranks_rank + 1), "after %s: %s, %g", what,
          ad_mpi_reason(c), g);
    ad_tape_clear(t);
    x = ad_input(ranks_rank + 1);
}

/* --- parts of a sum ------------------------------------------------------ */

// Even chunks of parts first, so that those which are stopped leave gaps.
static void even_first(size_t n, ad_call_fn *call, void *arg, void *user)
{
    (void)user;
    for (size_t odd = 0; odd < 2; odd++)
        for (size_t i = odd; i < n; i += 2)
            call(i, arg);
}

static bool watch(size_t done, size_t parts, void *user)
{
    (void)user;
    return done < parts / 2;
}

static ad_rev square(size_t i, const ad_rev *in, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_mul(ad_sqr(in[0]), (ad_real)i));
}

static ad_rev failing(size_t i, const ad_rev *in, void *ctx)
{
    ad_ignore(ad_fail(ADREV_ENONFINITE, "a part on purpose"));
    return square(i, in, ctx);
}

static ad_rev constant(size_t i, const ad_rev *in, void *ctx)
{
    (void)in, (void)ctx;
    return (ad_rev){ .v = (ad_real)i };
}

// A sum that is stopped has more nodes than a row; mpi.sh has their bounds
// checked. And what a rank says of sums.
static void test_stopped(void)
{
    ad_real at = 2, y, g = 0;
    const size_t parts = 64 * 43;       // chunks of 43 have rows of several
    ad_mpi *one = ad_mpi_new(MPI_COMM_SELF);
    CHECK(ad_executor_use(even_first, NULL) == ADREV_OK, "an executor");
    ad_mpi_watch(one, 0, watch, NULL);
    ad_status s = ad_mpi_grad(one, parts, square, NULL, 1, &at, &y, &g);
    CHECK(s == ADREV_EEXTERNAL, "stopped: %s", ad_message(s));
    ad_mpi_watch(one, 0, NULL, NULL);
    CHECK(ad_executor_use(NULL, NULL) == ADREV_OK, "no executor");
    s = ad_mpi_grad(one, 4, failing, NULL, 1, &at, &y, &g);
    CHECK(s == ADREV_ENONFINITE && strcmp(ad_mpi_reason(one),
                                          "a part on purpose") == 0,
          "%s: %s", ad_message(s), ad_mpi_reason(one));
    s = ad_mpi_grad(one, 4, square, NULL, 1, &at, &y, &g);
    CHECK(s == ADREV_OK && g == 24 && strcmp(ad_mpi_reason(one),
                                             ad_message(ADREV_OK)) == 0,
          "%s, %g: %s", ad_message(s), (double)g, ad_mpi_reason(one));
    s = ad_mpi_grad(one, 4, constant, NULL, 1, &at, &y, &g);
    CHECK(s == ADREV_EPASSIVE && strcmp(ad_mpi_reason(one), ad_message(s)) == 0,
          "%s: %s", ad_message(s), ad_mpi_reason(one));
    ad_rev x1 = {0};
    CHECK(ad_mpi_bcast(one, 0, 1, &x1) == ADREV_OK
          && strcmp(ad_mpi_reason(one), ad_message(ADREV_OK)) == 0, "%s",
          ad_mpi_reason(one));
    ad_mpi_free(one);
}

static ad_mpi_request *posted;
static ad_mpi *used;            // c, or another one

enum { WAYS = 10 };

// Uses an ad_mpi in way k, as no part may.
static ad_status meddle(int k, const ad_rev *in, ad_rev *y)
{
    ad_tape *t = ad_use(NULL);
    ad_real g = 0;
    ad_rev kept;
    ad_mpi_request *r = NULL;
    ad_use(t);
    switch (k) {
        case 0: return ad_mpi_allreduce(used, ADREV_MPI_SUM, 1, in, y);
        case 1: return ad_mpi_send(used, (ranks_rank + 1) % ranks_size, 1, in);
        case 2: return ad_mpi_irecv(used, 0, 1, &kept, &r);
        case 3: return ad_mpi_wait(used, &posted);
        case 4: return ad_mpi_gradient(used, t, *y, 1, in, &g);
        case 5: return ad_mpi_pushforward(used, t, 1, in, &g, 1, y, &g);
        case 6: return ad_mpi_jacobian(used, t, 1, y, 1, in, &g);
        case 7: return ad_mpi_grad(used, 1, NULL, NULL, 1, &g, &g, &g);
        case 8: return ad_mpi_agree(used, ADREV_OK);
        default: return ad_mpi_all(used, true) ? ADREV_OK : ADREV_EBUSY;
    }
}

// What the parts of this rank were told.
static ad_status meddled[4];

static ad_rev meddling(size_t i, const ad_rev *in, void *ctx)
{
    ad_rev y = ad_rec(ad_sqr(in[0]));
    meddled[i] = meddle(*(const int *)ctx, in, &y);
    return y;
}

// A part on one rank alone, then several on each.
static void test_parts(ad_tape *t, ad_mpi *other)
{
    const ad_real at = 0.5;
    ad_rev got;
    used = other;
    for (int k = 0; k < WAYS; k++)
        for (size_t parts = 1; parts <= 4; parts += 3) {
            ad_real g = 7, y = 7;
            size_t begin, end;
            ad_mpi_range(c, parts, &begin, &end);
            CHECK(ad_mpi_irecv(used, 0, 1, &got, &posted) == ADREV_OK, "irecv");
            MPI_Barrier(MPI_COMM_WORLD);
            meddled[begin % 4] = ADREV_EBUSY;
            ad_status s = ad_mpi_grad(c, parts, meddling, &k, 1, &at, &y, &g);
            CHECK((s == ADREV_EBUSY && begin < end) || s == ADREV_EREMOTE,
                  "way %d, %zu parts: %s", k, parts, ad_message(s));
            CHECK(parts > 1 || begin == end || s == ADREV_EBUSY, "way %d: %s",
                  k, ad_message(s));
            CHECK(meddled[begin % 4] == ADREV_EBUSY, "way %d: %s", k,
                  ad_message(meddled[begin % 4]));
            CHECK(y == 7 && g == 7 && posted != NULL, "nothing has changed");
            // whoever waits for another ad_mpi is told at its next call
            if (used != c) {
                s = ad_mpi_agree(used, ADREV_OK);
                CHECK(s == ADREV_EREMOTE || (s == ADREV_EBUSY && begin < end),
                      "way %d of another ad_mpi: %s", k, ad_message(s));
            }
            CHECK(ad_mpi_wait(used, &posted) == ADREV_EREMOTE, "it has ended");
            ad_ignore(ad_mpi_agree(used, ADREV_OK));
            ad_tape_clear(t);
        }
}

/* --- stores whose ranks differ -------------------------------------------- */

enum { STEPS = 12, EVERY = 3, PLACES = 3 * STEPS };

// What a rank has put.
static struct place { size_t bytes; char blob[400]; } place[PLACES];
static size_t lost;             // adjoints of this range are not there; 0: all
static size_t asked;

static bool put(void *user, size_t number, const void *state, size_t bytes)
{
    (void)user;
    if (number >= PLACES || bytes > sizeof place->blob)
        return false;
    place[number].bytes = bytes;
    memcpy(place[number].blob, state, bytes);
    return true;
}

static bool get(void *user, size_t number, void *state, size_t bytes)
{
    (void)user;
    if (number >= PLACES || place[number].bytes != bytes
        || (lost > 0 && number % 3 > 0 && number / 3 == lost))
        return false;
    memcpy(state, place[number].blob, bytes);
    return true;
}

static bool agree(void *user, bool mine)
{
    (void)user;
    asked++;
    return ad_mpi_all(c, mine);
}

// As agree should be, not get.
static bool get_together(void *user, size_t number, void *state, size_t bytes)
{
    return ad_mpi_all(c, get(user, number, state, bytes));
}

// Rank 0 replays its steps. The others' cannot be replayed, which they find out
// on the way.
static void odd_step(ad_step *s, void *ctx)
{
    (void)ctx;
    ad_rev y = ad_rec(ad_mul(0.5, ad_add(s->state[0][0], 1)));
    if (ranks_rank > 0 && s->state[0][0].v < 0.7)
        y = ad_rec(ad_add(y, 0.125 * s->state[0][0].v - 0.125 * y.v));
    s->next[0][0] = y;
}

// The sum over ranks of the squares of what the steps come to.
static ad_status run_store(const ad_store *store, ad_tape *t, ad_real *g)
{
    ad_rev last, all;
    ad_tape_clear(t);
    x = ad_input(0.25);
    const ad_scan_state state = { .size = 1, .initial = &x, .last = &last };
    const ad_scan_desc scan = { .step = odd_step, .steps = STEPS, .states = 1,
        .state = &state, .schedule = { ADREV_STORE_ALL, 0, store } };
    ad_ignore(ad_scan(&scan, NULL));
    sum_all(&last, &all, NULL);
    return ad_mpi_gradient(c, t, all, 1, &x, g);
}

static void test_stores(ad_tape *t)
{
    ad_store store = { .put = put, .get = get, .every = EVERY, .resume = true,
                       .agree = agree };
    ad_real g = 0, want = 0;
    CHECK(run_store(&store, t, &want) == ADREV_OK && asked == 1, "nothing is "
          "there: asked %zu times, %s", asked, ad_mpi_reason(c));
    for (int k = 0; k <= 4; k++) {
        // the adjoints of the third range of four; then those of rank k alone
        asked = 0;
        lost = k == 0 || ranks_rank != k - 1 ? 0 : 2;
        bool some = k >= 1 && k <= ranks_size;
        ad_status s = run_store(&store, t, &g);
        CHECK(s == ADREV_OK && g == want && asked == (some ? 2 : 4),
              "lost on %d: asked %zu times, %g, want %g: %s", k - 1, asked,
              (double)g, (double)want, ad_mpi_reason(c));
    }
    if (!ADREV_DEBUG)
        return;
    store.agree = NULL;
    store.get = get_together;
    lost = 0;
    ad_status s = run_store(&store, t, &g);
    CHECK(s == ADREV_EEXTERNAL || s == ADREV_EREMOTE, "get that asks others: %s",
          ad_message(s));
    CHECK(s == ADREV_EREMOTE || strstr(ad_mpi_reason(c), "agree") != NULL,
          "%s", ad_mpi_reason(c));
    check(t, ADREV_OK, "a get that asks others");
}

int main(int argc, char **argv)
{
    const ad_real at[] = { 1, 2, 3 };
    ranks_begin(&argc, &argv);
    c = ad_mpi_new(MPI_COMM_WORLD);
    ad_tape *t = ad_tape_new();
    ad_fn *fn = NULL;
    ad_rev in[3], y[3];
    ad_use(t);
    x = ad_input(ranks_rank + 1);
    ad_fork_n(3, branch, NULL);
    check(t, ADREV_EBUSY, "a branch");

    ad_mpi *other = ad_mpi_new(MPI_COMM_WORLD);
    test_parts(t, c);
    test_parts(t, other);
    test_stopped();
    test_branches(t, true, "a branch");
    test_branches(t, false, "a branch without a tape");
    ad_pool *pool = ad_pool_new(2);
    CHECK(ad_pool_use(pool) == ADREV_OK, "a pool");
    test_parts(t, c);
    test_parts(t, other);
    test_branches(t, true, "a branch on a pool");
    test_branches(t, false, "a branch on a pool without a tape");
    ad_ignore(ad_pool_use(NULL));
    ad_pool_free(pool);
    check(t, ADREV_OK, "parts");
    test_stores(t);
    check(t, ADREV_OK, "stores");

    ad_use(NULL);
    ad_status s = ad_fn_record(&fn, sum_all, NULL, 1, at, 1);
    CHECK(s == ADREV_EHOOK || s == ADREV_EREMOTE, "a function: %s",
          ad_message(s));
    ad_fn_free(fn);
    s = ad_mpi_agree(c, ADREV_OK);
    CHECK(s == ADREV_EHOOK || s == ADREV_EREMOTE, "a function: %s",
          ad_message(s));
    ad_use(t);
    check(t, ADREV_OK, "a function");

    ad_inputs(3, at, in);
    const ad_rows rows = { in, 1, 1 };
    ad_ignore(ad_map(sum_all, NULL, 3, 1, &rows, 1, y));
    check(t, ADREV_EHOOK, "a map");

    // a loop of which other steps would be replayed: x becomes the sum of the
    // squares of all ranks, three times
    x = ad_input(0.5);
    ad_rev state = x;
    ad_real g = 0;
    s = ad_loop(sum_all, NULL, 3, 1, &state, 0, NULL,
                (ad_schedule){ ADREV_BINOMIAL, 2, NULL });
    CHECK(s == ADREV_OK, "a loop: %s", ad_tape_reason(t));
    s = ad_mpi_gradient(c, t, state, 1, &x, &g);
    double p = ranks_size, v[3] = { 0.5, p * 0.25, 0 };
    v[2] = p * v[1] * v[1];
    // of the last sum's terms, rank 0 and all others pass it on alike
    CHECK_NEAR(g, 2 * v[0] * 2 * v[1] * 2 * v[2] * p * p, 1e-14);
    CHECK(s == ADREV_OK, "a loop: %s", ad_mpi_reason(c));
    ad_tape_free(t);
    ad_mpi_free(other);
    ad_mpi_free(c);
    return ranks_done("refused");
}
