// SPDX-License-Identifier: MIT-0
// tags:
// flags: -UADREV_BLOCK -DADREV_BLOCK=256
/* oom.c - the n-th allocation fails, for n = 1, 2, ... until nothing does:
 * once, or from then on for ever. Each step of a program either succeeds
 * or says ADREV_ENOMEM and leaves its outputs untouched; nothing leaks, and
 * with memory back the cleared tape works.                                  */

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

// The jobs that use a tape of their own allocate with malloc: count it, too.
static void *oom_malloc(size_t bytes);
static void oom_free(void *block);
#define malloc oom_malloc
#define free oom_free
#define ADREV_IMPLEMENTATION
#include "adrev.h"
#undef malloc
#undef free
#include "check.h"

#define UNTOUCHED 77
#define N 40                    // inputs

/* --- memory that runs out ------------------------------------------------- */

enum { BLOCKS = 4096 };

typedef struct heap {
    size_t allocations;         // asked for
    size_t failing;             // the number of the first that fails; 0: none
    bool for_ever;              // it and all later ones
    size_t live;
    void *block[BLOCKS];
} heap;

static bool fails(const heap *h)
{
    if (h->failing == 0 || h->allocations < h->failing)
        return false;
    return h->for_ever || h->allocations == h->failing;
}

static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    h->allocations++;
    CHECK(bytes > 0, "an allocation of 0 bytes");
    if (fails(h) || h->live == BLOCKS)
        return NULL;
    void *block = malloc(bytes);
    h->block[h->live++] = block;
    return block;
}

static void heap_free(void *block, void *user)
{
    heap *h = user;
    size_t i = 0;
    while (i < h->live && h->block[i] != block)
        i++;
    if (!CHECK(i < h->live, "a block is freed that this heap did not give"))
        return;
    h->block[i] = h->block[--h->live];
    free(block);
}

static heap standard;           // where ad_tape_new allocates

static void *oom_malloc(size_t bytes)
{
    return heap_alloc(bytes, &standard);
}

static void oom_free(void *block)
{
    if (block != NULL)
        heap_free(block, &standard);
}

static ad_allocator from(heap *h)
{
    return (ad_allocator){ heap_alloc, heap_free, h };
}

/* --- a program of several blocks ------------------------------------------ */

// y = sum over i of (i + 1) x[i]^2, in a few hundred statements
static ad_rev quadratic(const ad_rev *x, void *ctx)
{
    (void)ctx;
    ad_rev y = { 0 };
    for (int i = 0; i < N; i++) {
        ad_rev square = ad_rec(ad_mul(x[i], x[i]));
        ad_rev term = ad_rec(ad_mul(square, i + 1));
        y = ad_rec(ad_add(y, term));
    }
    return y;
}

static void rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    for (int i = 0; i < 3; i++)
        y[i] = ad_rec(ad_mul(quadratic(x, ctx), i + 1));
}

static void point(ad_real x[N])
{
    for (int i = 0; i < N; i++)
        x[i] = (ad_real)(i % 5 - 2);
}

static void check_row(const ad_real g[N], int weight)
{
    for (int i = 0; i < N; i++)
        CHECK(g[i] == (ad_real)(weight * 2 * (i + 1) * (i % 5 - 2)),
              "g[%d]: got %g", i, (double)g[i]);
}

static void fill(size_t n, ad_real out[])
{
    for (size_t i = 0; i < n; i++)
        out[i] = UNTOUCHED;
}

static void check_untouched(size_t n, const ad_real out[])
{
    for (size_t i = 0; i < n; i++)
        CHECK(out[i] == UNTOUCHED, "output %zu of %zu was touched", i, n);
}

// Success, or ENOMEM and nothing written. Returns whether it was success.
static bool clean(ad_status s, size_t n, const ad_real out[])
{
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "got \"%s\"", ad_message(s));
    if (s != ADREV_OK)
        check_untouched(n, out);
    return s == ADREV_OK;
}

/* --- the steps; each returns whether all went well ------------------------ */

static bool step_gradient(ad_tape *t, const ad_rev x[N], ad_rev y)
{
    ad_real g[N];
    fill(N, g);
    bool ok = clean(ad_gradient(t, y, N, x, g), N, g);
    if (ok)
        check_row(g, 1);
    return ok;
}

static bool step_pushforward(ad_tape *t, const ad_rev x[N], ad_rev y)
{
    ad_real dx[N] = { 1 };
    ad_real dy = UNTOUCHED;
    bool ok = clean(ad_pushforward(t, N, x, dx, 1, &y, &dy), 1, &dy);
    CHECK(!ok || dy == -4, "tangent: got %g, want -4", (double)dy);
    return ok;
}

static bool step_jacobian(ad_tape *t, const ad_rev x[N])
{
    ad_real J[3 * N];
    ad_rev y[3];
    fill(3 * N, J);
    rows(x, y, NULL);
    bool ok = clean(ad_jacobian(t, 3, y, N, x, J), 3 * N, J);
    for (int i = 0; ok && i < 3; i++)
        check_row(J + i * N, i + 1);
    return ok;
}

// The same y with arrays: the weights times the squares, which are the product
// of a triangular matrix that has only its diagonal.
static bool step_arrays(ad_tape *t, const ad_rev x[N])
{
    static const ad_rev below[N * (N - 1) / 2];
    ad_real weight[N];
    ad_rev square[N];
    ad_rev again[N];
    ad_rev y;
    for (int i = 0; i < N; i++)
        weight[i] = (ad_real)(i + 1);
    ad_trimatvec(N, x, below, x, square);
    ad_matvecc(1, N, weight, square, &y);
    ad_softmax(N, square, again);
    CHECK(y.v == 1640, "y of arrays: got %g", (double)y.v);
    return step_gradient(t, x, y);
}

static bool step_jobs(const ad_real at[N])
{
    ad_real out[4 * N];
    fill(4 * N, out);
    ad_status s = ad_grad(quadratic, NULL, N, at, out, out + 1);
    bool ok = clean(s, 4 * N, out);
    if (ok)
        check_row(out + 1, 1);
    fill(4 * N, out);
    s = ad_jac(rows, NULL, N, at, 3, out, out + 3);
    ok &= clean(s, 4 * N, out);
    for (int i = 0; s == ADREV_OK && i < 3; i++)
        check_row(out + 3 + i * N, i + 1);
    return ok;
}

// A refused reserve leaves the tape, and what is recorded on it, as it was.
static bool step_reserve(ad_tape *t)
{
    ad_stats before = ad_tape_stats(t);
    ad_status failed = ad_tape_status(t);
    ad_status s = ad_tape_reserve(t, 500, 1000);
    ad_stats after = ad_tape_stats(t);
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "got \"%s\"", ad_message(s));
    CHECK(ad_tape_status(t) == failed, "reserve changes the status");
    CHECK(after.values == before.values && after.bytes == before.bytes,
          "reserve changes the recording");
    return s == ADREV_OK;
}

static bool steps(ad_tape *t)
{
    ad_real at[N];
    ad_rev x[N];
    point(at);
    ad_inputs(N, at, x);
    ad_rev y = quadratic(x, NULL);
    CHECK(y.v == 1640 || ad_tape_status(t) == ADREV_ENOMEM, "y: got %g",
          (double)y.v);
    bool ok = step_gradient(t, x, y);
    ok &= step_pushforward(t, x, y);
    ok &= step_jacobian(t, x);
    ok &= step_arrays(t, x);
    ok &= step_jobs(at);
    ok &= step_reserve(t);
    ad_mark mark = ad_tape_mark(t);
    rows(x, (ad_rev[3]){ { 0 } }, NULL);
    // the status of the mark comes back, and that may be a failure, too
    CHECK(ad_tape_rewind(t, mark) == ADREV_OK, "rewind without memory");
    return ok & (ad_tape_status(t) == ADREV_OK);
}

/* --- the loop over n ------------------------------------------------------ */

static void works_again(ad_tape *t, heap *h)
{
    h->failing = 0;
    ad_tape_clear(t);
    CHECK(ad_tape_status(t) == ADREV_OK, "a cleared tape failed");
    CHECK(steps(t), "with memory back the tape does not work");
}

// Returns whether everything succeeded.
static bool run(size_t failing, bool for_ever)
{
    static heap h;
    h = (heap){ .failing = failing, .for_ever = for_ever };
    ad_allocator allocator = from(&h);
    ad_tape *t = ad_tape_new_with(&allocator);
    CHECK((t != NULL) == (failing != 1), "allocation 1 is the tape");
    if (t == NULL) {
        CHECK(h.live == 0, "%zu blocks leaked", h.live);
        return false;
    }
    // The tape has a copy.
    allocator = (ad_allocator){ NULL, NULL, NULL };
    ad_use(t);
    bool ok = steps(t);
    works_again(t, &h);
    ad_tape_free(t);
    CHECK(h.live == 0, "failing at %zu: %zu blocks leaked", failing, h.live);
    CHECK(standard.allocations == 0, "a tape with an allocator uses malloc");
    return ok;
}

// Without a current tape a job has one of its own.
static bool run_jobs(size_t failing, bool for_ever)
{
    standard = (heap){ .failing = failing, .for_ever = for_ever };
    ad_real at[N];
    point(at);
    bool ok = step_jobs(at);
    CHECK(ad_use(NULL) == NULL, "a job leaves its own tape current");
    CHECK(standard.allocations >= 2, "a job that does not allocate");
    CHECK(standard.live == 0, "failing at %zu: %zu blocks leaked", failing,
          standard.live);
    standard = (heap){ 0 };
    return ok;
}

static void until_success(bool (*attempt)(size_t, bool), bool for_ever)
{
    size_t n = 1;
    while (n < 1000 && !attempt(n, for_ever))
        n++;
    CHECK(n > 5, "only %zu allocations: nothing was tried", n - 1);
    CHECK(n < 1000, "it never succeeds");
    CHECK(attempt(0, false), "it fails with all the memory it asks for");
}

int main(void)
{
    until_success(run, true);
    until_success(run, false);
    until_success(run_jobs, true);
    until_success(run_jobs, false);
    return check_done("oom");
}
