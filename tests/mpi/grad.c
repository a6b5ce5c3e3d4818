// SPDX-License-Identifier: MIT-0
// tags: part
/* grad.c - sums of parts on several ranks (mpi.sh): the bits of a sum that is
 * added up here, on any number of ranks, by a tree and by slices, with parts
 * that move, and with threads; progress; what fails on one rank.
 *
 *     mpirun -n 4 grad        also on 1, 2 and 3 of these ranks              */

#define ADREV_IMPLEMENTATION
#ifndef THREADS
#define THREADS 0
#endif
#if THREADS
#include "adrev_parallel.h"
#endif
#include "adrev_mpi.h"
#include "check.h"
#include "heap.h"
#include "ranks.h"

#define MOST 60

typedef struct problem {
    size_t n;
    size_t failing;             // this part fails, with status `how`
    ad_status how;
    double slow;                // seconds of a part on rank 0
    size_t quiet;               // parts from this one on do not depend on x
} problem;

static ad_rev part(size_t i, const ad_rev *x, void *ctx)
{
    const problem *p = ctx;
    ad_real t = (ad_real)0.37 * (ad_real)i + (ad_real)0.1;
    ad_rev y = { .v = 1 / t };
    double begun = MPI_Wtime();
    while (p->slow > 0 && ranks_rank == 0 && MPI_Wtime() - begun < p->slow)
        continue;
    if (i + 1 == p->failing)
        ad_ignore(ad_fail(p->how, "a part fails"));
    if (i + 1 == p->failing && p->how == ADREV_EFOREIGN)
        return (ad_rev){ 1, 1, 7 };
    for (size_t j = 0; i < p->quiet && j < p->n; j++)
        y = ad_rec(ad_add(ad_mul(ad_sin(ad_add(y, t)), x[(i + j) % p->n]),
                          ad_div(x[j], t + (ad_real)j)));
    return y;
}

// The sum of parts lo to hi - 1 of `parts` by its definition: halves of a power
// of two.
static void add_up(problem *p, size_t lo, size_t span, size_t parts,
                   const ad_real x[], ad_real sum[])
{
    ad_real right[MOST + 1] = {0};
    if (span == 1) {
        ad_rev in[MOST];
        ad_tape *t = ad_tape_new();
        ad_use(t);
        ad_inputs(p->n, x, in);
        ad_rev y = part(lo, in, p);
        sum[p->n] = y.v;
        memset(sum, 0, p->n * sizeof *sum);
        if (y.job != 0)
            CHECK(ad_gradient(t, y, p->n, in, sum) == ADREV_OK, "a part");
        ad_tape_free(t);
        return;
    }
    add_up(p, lo, span / 2, parts, x, sum);
    if (lo + span / 2 >= parts)
        return;
    add_up(p, lo + span / 2, span / 2, parts, x, right);
    for (size_t i = 0; i <= p->n; i++)
        sum[i] += right[i];
}

static bool same(size_t n, const ad_real a[], const ad_real b[])
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

static void test_bits(ad_mpi *c, problem p, size_t parts)
{
    ad_real x[MOST], want[MOST + 1], g[MOST], y = 0;
    size_t span = 1;
    for (size_t i = 0; i < p.n; i++)
        x[i] = (ad_real)0.25 + (ad_real)(i * i % 7) / 64;
    while (span < parts)
        span *= 2;
    add_up(&p, 0, span, parts, x, want);
    memset(g, 0xff, sizeof g);
    ad_status s = ad_mpi_grad(c, parts, part, &p, p.n, x, &y, g);
    CHECK(s == ADREV_OK, "%s", ad_mpi_reason(c));
    CHECK(same(p.n, g, want), "%zu parts, %zu inputs on %d: g[0] %a, want %a",
          parts, p.n, ad_mpi_size(c), (double)g[0], (double)want[0]);
    CHECK(same(1, &y, &want[p.n]), "y is %a, want %a", (double)y,
          (double)want[p.n]);
    y = 0;
    s = ad_mpi_grad(c, parts, part, &p, p.n, x, &y, NULL);
    CHECK(s == ADREV_OK && same(1, &y, &want[p.n]), "the value alone: %s",
          ad_message(s));
    s = ad_mpi_grad(c, parts, part, &p, p.n, x, NULL, g);
    CHECK(s == ADREV_OK && same(p.n, g, want), "no value: %s", ad_message(s));
}

// Every part is somebody's; equal: and no rank has too many.
static void test_ranges(ad_mpi *c, size_t parts, bool equal)
{
    size_t begin, end;
    unsigned long all[2] = {0}, sum[2] = {0};
    ad_mpi_range(c, parts, &begin, &end);
    CHECK(begin <= end && end <= parts, "%zu to %zu of %zu", begin, end, parts);
    all[0] = end - begin;
    all[1] = end * (end - 1) / 2 - begin * (begin - 1) / 2;
    if (end == 0)
        all[1] = 0;
    MPI_Allreduce(all, sum, 2, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum[0] == parts && sum[1] == parts * (parts - 1) / 2,
          "each of %zu parts is somebody's", parts);
    double share = (double)parts / ad_mpi_size(c);
    CHECK(!equal || (double)(end - begin) <= share * 17 / 16 + 1,
          "%zu parts of %zu on one rank", end - begin, parts);
}

// Parts move away from rank 0, where they take longer. A machine with other
// work to do can hide that in one call, but not in all of them.
static void test_balance(ad_mpi *c)
{
    problem p = { .n = 5, .quiet = 1000, .slow = 0.002 };
    ad_real x[] = { 0.125, 0.25, 0.5, 1, 2 }, want[6], g[5], y = 0;
    size_t begin, end, before;
    const problem quick = { .n = 5, .quiet = 1000 };
    problem q = quick;
    add_up(&q, 0, 64, 60, x, want);
    ad_mpi_balance(c, true);
    ad_mpi_range(c, 60, &begin, &before);
    end = before;
    for (int i = 0, moved = 0; i < 3 || (i < 30 && !moved); i++) {
        ad_status s = ad_mpi_grad(c, 60, part, &p, 5, x, &y, g);
        CHECK(s == ADREV_OK && same(5, g, want) && same(1, &y, &want[5]),
              "call %d: %s", i, ad_message(s));
        ad_mpi_range(c, 60, &begin, &end);
        moved = ranks_rank != 0 || ad_mpi_size(c) == 1 || end < before;
        MPI_Bcast(&moved, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK(ranks_rank != 0 || ad_mpi_size(c) == 1 || end < before,
          "rank 0 has %zu parts, and had %zu", end, before);
    test_ranges(c, 60, false);
    ad_mpi_balance(c, false);
}

typedef struct watched {
    ad_mpi *c;
    size_t calls, last, stop;
} watched;

static bool watch(size_t done, size_t parts, void *user)
{
    watched *w = user;
    CHECK(ranks_rank == 0 && done <= parts && done >= w->last,
          "%zu of %zu done, %zu before", done, parts, w->last);
    w->calls++;
    w->last = done;
    ad_use(NULL);               // and leaves it so
    CHECK(ad_mpi_agree(w->c, ADREV_OK) == ADREV_EBUSY, "no call of an ad_mpi");
    return w->stop == 0 || w->calls < w->stop;
}

static void test_watch(ad_mpi *c)
{
    problem p = { .n = 2, .quiet = 1000, .slow = 0.001 };
    const ad_real x[] = { 0.5, 0.25 };
    ad_real g[2] = { 7, 7 }, y, want[3];
    watched w = { .c = c };
    add_up(&p, 0, 64, 40, x, want);
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_mpi_watch(c, 0, watch, &w);
    ad_status s = ad_mpi_grad(c, 40, part, &p, 2, x, &y, g);
    CHECK(s == ADREV_OK && same(2, g, want), "%s", ad_message(s));
    CHECK(ad_use(NULL) == t, "the tape of the caller");
    ad_tape_free(t);
    CHECK(ranks_rank != 0 || (w.calls > 5 && w.last == 40),
          "told %zu times, at last %zu", w.calls, w.last);
    w = (watched){ .c = c, .stop = 3 };
    g[0] = 7;
    s = ad_mpi_grad(c, 40, part, &p, 2, x, &y, g);
    CHECK(s == (ranks_rank == 0 ? ADREV_EEXTERNAL : ADREV_EREMOTE)
          && g[0] == 7, "%s", ad_message(s));
    ad_mpi_watch(c, 0, NULL, NULL);
    test_bits(c, (problem){ .n = 2, .quiet = 9 }, 9);
}

// A part fails: its rank says why, the others that it was another.
static void test_failures(ad_mpi *c)
{
    const ad_status how[] = { ADREV_ENOMEM, ADREV_EFOREIGN, ADREV_ENONFINITE };
    const ad_real x[] = { 0.5, 0.25, 1 };
    ad_real g[] = { 7, 7, 7 }, y = 7;
    for (size_t i = 1; i <= 12; i++) {
        problem p = { .n = 3, .quiet = 100, .failing = i, .how = how[i % 3] };
        size_t begin, end;
        ad_mpi_range(c, 12, &begin, &end);
        ad_status s = ad_mpi_grad(c, 12, part, &p, 3, x, &y, g);
        CHECK(s == (i - 1 >= begin && i - 1 < end ? how[i % 3]
                                                  : ADREV_EREMOTE),
              "part %zu fails: %s", i, ad_message(s));
        CHECK(g[0] == 7 && g[2] == 7 && y == 7, "results are untouched");
        if (i % 5 == 0)
            test_bits(c, (problem){ .n = 3, .quiet = 100 }, 12);
    }
}

// Wrong arguments on one rank alone; sizes that differ.
static void test_arguments(ad_mpi *c)
{
    problem p = { .n = 3, .quiet = 100 };
    const ad_real x[] = { 0.5, 0.25, 1, 2 };
    ad_real g[4], y;
    bool last = ranks_rank == ad_mpi_size(c) - 1;
    bool one = ad_mpi_size(c) == 1;
    ad_status mine = last ? ADREV_ESHAPE : ADREV_EREMOTE;
#define EXPECT(call, want)                                                  \
    do {                                                                    \
        ad_status got = (call);                                             \
        CHECK(got == (want), #call ": %s", ad_message(got));                \
    } while (0)
    EXPECT(ad_mpi_grad(c, 4, last ? NULL : part, &p, 3, x, &y, g), mine);
    EXPECT(ad_mpi_grad(c, 4, part, &p, 3, last ? NULL : x, &y, g), mine);
    EXPECT(ad_mpi_grad(c, 4, part, &p, last ? SIZE_MAX : 3, x, &y, g), mine);
    EXPECT(ad_mpi_grad(c, last ? 0 : 4, part, &p, 3, x, &y, g), mine);
    EXPECT(ad_mpi_grad(c, last ? SIZE_MAX : 4, part, &p, 3, x, &y, g), mine);
    EXPECT(ad_mpi_grad(c, 4, part, &p, 3, x, NULL, NULL), ADREV_ESHAPE);
    EXPECT(ad_mpi_grad(NULL, 4, part, &p, 3, x, &y, g), ADREV_ENOTAPE);
    if (!one) {
        ad_status s = ad_mpi_grad(c, 4, part, &p, last ? 4 : 3, x, &y, g);
        CHECK(s == ADREV_ESHAPE || s == ADREV_EREMOTE, "another length: %s",
              ad_message(s));
        s = ad_mpi_grad(c, last ? 5 : 4, part, &p, 3, x, &y, g);
        CHECK(s == ADREV_ESHAPE || s == ADREV_EREMOTE, "another number: %s",
              ad_message(s));
    }
    p.quiet = 0;
    EXPECT(ad_mpi_grad(c, 4, part, &p, 3, x, &y, g), ADREV_EPASSIVE);
    p.quiet = 1;
    EXPECT(ad_mpi_grad(c, 4, part, &p, 3, x, &y, g), ADREV_OK);
    EXPECT(ad_mpi_agree(c, last ? ADREV_ERACE : ADREV_OK),
           last ? ADREV_ERACE : ADREV_EREMOTE);
    EXPECT(ad_mpi_agree(c, ADREV_OK), ADREV_OK);
    if (ADREV_DEBUG && !one) {
        const ad_real other[] = { 0.5, 0.25, 1.5 };
        EXPECT(ad_mpi_grad(c, 4, part, &p, 3, last ? other : x, &y, g),
               ADREV_ESHAPE);
    }
#undef EXPECT
    test_bits(c, (problem){ .n = 4, .quiet = 9 }, 9);
}

// Ranks that do not mean the same sum: other numbers of parts or inputs, no
// gradient, parts that move. Nobody waits for ever.
static void test_other_sums(ad_mpi *c)
{
    problem p = { .n = 3, .quiet = 100 };
    const size_t most = 2 * (size_t)ad_mpi_size(c) + 1;
    const ad_real x[] = { 0.5, 0.25, 1, 2, 3, 4, 5 };
    ad_real g[7] = {0}, y;
    for (int odd = 0; odd < ad_mpi_size(c); odd++)
        for (size_t a = 1; a <= most; a++)
            for (size_t b = 1; b <= most + 3; b++) {
                bool here = ranks_rank == odd;
                bool moves = b == most + 3;
                size_t parts = here && b <= most ? b : a;
                size_t n = here && b == most + 1 ? 7 : 3;
                ad_mpi_balance(c, here && moves);
                ad_status s = ad_mpi_grad(c, parts, part, &p, n, x, &y,
                                          here && b == most + 2 ? NULL : g);
                ad_mpi_balance(c, false);
                CHECK(a == b ? s == ADREV_OK
                             : s == ADREV_ESHAPE || s == ADREV_EREMOTE,
                      "%zu parts on %d, else %zu: %s", b, odd, a,
                      ad_message(s));
            }
    test_bits(c, p, 9);
}

// Each allocation of one rank fails in turn.
static void test_memory(MPI_Comm comm, int failing)
{
    problem p = { .n = 3, .quiet = 100 };
    const ad_real x[] = { 0.5, 0.25, 1 };
    ad_real g[3], y;
    bool done = false;
    for (size_t k = 1; !done; k += ONE_IN(2)) {
        heap h = { .failing = ranks_rank == failing ? k : 0 };
        const ad_allocator memory = { heap_alloc, heap_free, &h };
        ad_mpi *c = ad_mpi_new_with(comm, &memory);
        if (c != NULL) {
            ad_mpi_balance(c, true);
            ad_status s = ad_mpi_grad(c, 9, part, &p, 3, x, &y, g);
            CHECK(s == ADREV_OK || s == (ranks_rank == failing ? ADREV_ENOMEM
                                                               : ADREV_EREMOTE),
                  "allocation %zu fails: %s", k, ad_message(s));
            done = s == ADREV_OK;
            s = ad_mpi_grad(c, 9, part, &p, 3, x, &y, g);
            CHECK(s == ADREV_OK || h.allocations >= k, "after %zu: %s", k,
                  ad_message(s));
        }
        ad_mpi_free(c);
        CHECK(h.live == 0, "%zu blocks are left", h.live);
    }
}

static void test_size(int size)
{
    MPI_Comm comm = ranks_first(size);
    if (comm == MPI_COMM_NULL)
        return;
    const size_t parts[] = { 1, 2, 3, 5, 8, 13, 100 };
    ad_mpi *c = ad_mpi_new(comm);
    CHECK(ad_mpi_size(c) == size && ad_mpi_rank(c) == ranks_rank, "ranks");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        test_bits(c, (problem){ .n = 3, .quiet = 1000 }, parts[i]);
        test_bits(c, (problem){ .n = MOST, .quiet = 1000 }, parts[i]);
    }
    test_bits(c, (problem){ .n = 5, .quiet = 4 }, 13);
    CHECK((ad_mpi_messages(c) == 0) == (size == 1), "messages");
    ad_mpi_free(c);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
#if THREADS
    ad_pool *pool = ad_pool_new(THREADS);
    CHECK(ad_pool_use(pool) == ADREV_OK, "a pool");
#endif
    for (int size = 1; size <= ranks_size; size++)
        test_size(size);
    ad_mpi *c = ad_mpi_new(MPI_COMM_WORLD);
    test_ranges(c, 1, true);
    test_ranges(c, 100, true);
    test_ranges(c, 4099, true);
    test_balance(c);
    if (!THREADS) {                 // which take turns as they like
        test_watch(c);
        test_memory(MPI_COMM_WORLD, 0);
        test_memory(MPI_COMM_WORLD, ranks_size - 1);
    }
    test_failures(c);
    test_arguments(c);
    if (ad_mpi_size(c) > 1)
        test_other_sums(c);
    ad_mpi_free(c);
#if THREADS
    CHECK(ad_pool_use(NULL) == ADREV_OK, "no pool");
    ad_pool_free(pool);
#endif
    CHECK(ad_mpi_new(MPI_COMM_NULL) == NULL, "no ranks");
    return ranks_done("grad");
}
