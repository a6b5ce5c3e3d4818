// SPDX-License-Identifier: MIT-0
// tags: recorded
/* recorded_paths.c - functions of several paths, functions that are called in other
 * recordings, and Taylor coefficients.
 *
 * The paths that are kept are those of a list in this file. What a call yields
 * is compared with the same program written out. Taylor coefficients are
 * compared with series in long double, which are computed here from the
 * differential equations of the functions.                                  */

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

// Paths are kept with malloc: count it, too.
static void *counted_malloc(size_t bytes);
static void counted_free(void *block);
#define malloc counted_malloc
#define free counted_free
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#undef malloc
#undef free

#include "check.h"

#include <stdint.h>
#include <string.h>

#define UNTOUCHED ((ad_real)-12345.5)
#define COUNT(a)  (sizeof(a) / sizeof(a)[0])

/* --- memory that is counted, and runs out --------------------------------- */

static struct heap {
    size_t allocations;
    size_t failing;
    bool for_ever;
    size_t live;
} heap;

static void *counted_malloc(size_t bytes)
{
    heap.allocations++;
    bool fails = heap.failing > 0 && heap.allocations >= heap.failing;
    if (fails && (heap.for_ever || heap.allocations == heap.failing))
        return NULL;
    void *p = malloc(bytes);
    heap.live += p != NULL;
    return p;
}

static void counted_free(void *block)
{
    heap.live -= block != NULL;
    free(block);
}

static void fail_from(size_t n, bool for_ever)
{
    heap.failing = n > 0 ? heap.allocations + n : 0;
    heap.for_ever = for_ever;
}

static bool untouched(size_t n, const ad_real *v)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&v[i], &(ad_real){ UNTOUCHED }, sizeof *v) != 0)
            return false;
    return true;
}

static void reset(size_t n, ad_real *v)
{
    for (size_t i = 0; i < n; i++)
        v[i] = UNTOUCHED;
}

static uint64_t state = 88172645463325252u;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 20) % n;
}

/* --- paths ---------------------------------------------------------------- */

// floor(x[0]) turns: as many paths as there are whole numbers.
static void turns(const ad_rev *x, ad_rev *y, void *ctx)
{
    ++*(size_t *)ctx;
    y[0] = x[1];
    for (int i = 0; ad_gt(x[0], i); i++)
        y[0] = ad_rec(ad_mul(y[0], x[1]));
}

static void check_turns(ad_fn *fn, size_t path, const ad_real *x)
{
    ad_real y = UNTOUCHED;
    ad_real g[2] = { UNTOUCHED, UNTOUCHED };
    ad_status s = ad_fn_gradient(fn, x, &y, g);
    long double power = powl((long double)x[1], (long double)path);
    CHECK(s == ADREV_OK, "path %zu: %s", path, ad_message(s));
    CHECK_CLOSE(y, power * (long double)x[1], 32);
    CHECK_CLOSE(g[1], power * (long double)(path + 1), 64);
    CHECK(g[0] == 0, "path %zu: d/dx0 is %g", path, (double)g[0]);
}

// The paths that must be kept, the last used first.
struct recent {
    size_t path[128];
    size_t count;
    size_t limit;
    size_t recordings;
};

static void visit(struct recent *r, size_t path)
{
    size_t at = 0;
    while (at < r->count && r->path[at] != path)
        at++;
    if (at == r->count) {
        r->recordings++;
        r->count += r->count < r->limit;
        at = r->count - 1;
    }
    memmove(r->path + 1, r->path, at * sizeof *r->path);
    r->path[0] = path;
}

static void check_limit(size_t limit, size_t paths, size_t visits)
{
    struct recent r = { .limit = limit == 0 ? 64 : limit };
    size_t calls = 0;
    ad_traced *t = ad_traced_new(turns, &calls, 2, 1, limit);
    CHECK(ad_traced_paths(t, NULL) == 0 && calls == 0, "new: not empty");
    for (size_t i = 0; i < visits; i++) {
        size_t path = i < 2 * paths ? i % paths : below(paths);
        ad_real x[] = { (ad_real)((double)path - 0.5),
                        (ad_real)(0.9 + 0.01 * (double)below(20)) };
        ad_fn *fn = NULL;
        size_t recordings = 77;
        ad_status s = ad_traced_at(t, x, &fn);
        CHECK(s == ADREV_OK && fn != NULL, "limit %zu, path %zu: %s", limit,
              path, ad_message(s));
        check_turns(fn, path, x);
        visit(&r, path);
        size_t kept = ad_traced_paths(t, &recordings);
        CHECK(kept == r.count && recordings == r.recordings
                  && calls >= recordings && calls <= 2 * recordings,
              "limit %zu, visit %zu: %zu paths, want %zu; %zu recordings, "
              "want %zu; %zu calls", limit, i, kept, r.count, recordings,
              r.recordings, calls);
    }
    ad_traced_free(t);
}

// A loop that ends when it is done, and branches in it.
static void collatz(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev a = x[0];
    int count = 0;
    while (ad_gt(a, 1.5) && count++ < 50)
        a = ad_eq(ad_sub(ad_mul(2, ad_floor(ad_mul(a, 0.5))), ad_floor(a)), 0)
                ? ad_rec(ad_mul(a, 0.5)) : ad_rec(ad_add(ad_mul(a, 3), 1));
    y[0] = a;
    y[1] = ad_rec(ad_sin(ad_mul(a, count)));
}

static void check_collatz(void)
{
    ad_traced *t = ad_traced_new(collatz, NULL, 1, 2, 0);
    for (int i = 1; i < 60; i++)
        for (int k = 0; k < 3; k++) {
            ad_real x = (ad_real)(i + 1e-9 * k);
            ad_real y[2], J[2], want_y[2], want_J[2];
            ad_fn *fn = NULL;
            ad_status s = ad_traced_at(t, &x, &fn);
            CHECK(s == ADREV_OK, "%s", ad_message(s));
            s = ad_jac(collatz, NULL, 1, &x, 2, want_y, want_J);
            CHECK(s == ADREV_OK, "%s", ad_message(s));
            s = ad_fn_eval(fn, &x, y);
            CHECK(s == ADREV_OK, "%s", ad_message(s));
            s = ad_fn_jacobian(fn, &x, J);
            CHECK(s == ADREV_OK, "%s", ad_message(s));
            for (int r = 0; r < 2; r++) {
                CHECK_CLOSE(y[r], want_y[r], 0);
                CHECK_CLOSE(J[r], want_J[r], 4);
            }
        }
    ad_traced_free(t);
}

// Whether x and another number of the recording are used.
static void sometimes_foreign(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = ad_rec(ad_mul(x[0], 2));
    if (ad_gt(x[0], 1))
        y[0] = ad_rec(ad_mul(x[0], *(ad_rev *)ctx));
}

static void check_traced_errors(void)
{
    size_t calls = 0;
    size_t recordings = 0;
    ad_tape *tape = ad_tape_new();
    ad_tape *before = ad_use(tape);
    ad_rev other = ad_input(3);
    ad_use(before);
    ad_traced *t = ad_traced_new(sometimes_foreign, &other, 1, 1, 4);
    ad_real x = 0;
    ad_fn *fn = NULL;
    CHECK(ad_traced_at(t, &x, &fn) == ADREV_OK, "x = 0");
    x = 2;
    ad_status s = ad_traced_at(t, &x, &fn);
    CHECK(s == ADREV_EFOREIGN, "foreign: %s", ad_message(s));
    CHECK(ad_traced_paths(t, &recordings) == 1, "a failed path is kept");
    x = (ad_real)0.5;
    CHECK(ad_traced_at(t, &x, &fn) == ADREV_OK, "x = 0.5");
    CHECK(ad_traced_at(t, NULL, &fn) == ADREV_ESHAPE, "x is NULL");
    CHECK(ad_traced_at(t, &x, NULL) == ADREV_ESHAPE, "fn is NULL");
    ad_traced_free(t);
    ad_traced_free(NULL);
    ad_tape_free(tape);
    CHECK(calls == 0, "%zu", calls);
}

static bool unlike(const void *saved, const ad_external_point *at)
{
    (void)saved;
    if (at->y != NULL)
        at->y[0] = 2 * at->x[0];
    return true;
}

static bool pass_back(const void *saved, size_t m, const ad_real dy[],
                      size_t n, ad_real dx[])
{
    (void)saved;
    (void)m;
    (void)n;
    dx[0] += dy[0];
    return true;
}

// Its replay is not what it was recorded with: no point is on its own path.
static void off_its_path(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_external_rule rule = { .pullback = pass_back,
                                           .replay = unlike };
    ad_rev z;
    ++*(size_t *)ctx;
    ad_external(&rule, NULL, 0, 1, x, 1, &x[0].v, &z);
    y[0] = ad_gt(z, 1) ? ad_rec(ad_sin(z)) : z;
}

static void check_lost(void)
{
    size_t calls = 0;
    size_t recordings = 0;
    ad_real x = (ad_real)0.75;
    ad_real y = 0;
    ad_fn *fn = NULL;
    ad_traced *t = ad_traced_new(off_its_path, &calls, 1, 1, 0);
    for (int i = 0; i < 3; i++) {
        ad_status s = ad_traced_at(t, &x, &fn);
        CHECK(s == ADREV_EPATH && fn == NULL, "lost: %s", ad_message(s));
    }
    CHECK(calls == 1 && ad_traced_paths(t, &recordings) == 0
              && recordings == 1, "%zu calls, %zu recordings", calls,
          recordings);
    x = (ad_real)0.25;
    CHECK(ad_traced_at(t, &x, &fn) == ADREV_OK && fn != NULL
              && ad_fn_eval(fn, &x, &y) == ADREV_OK && y == 0.5,
          "elsewhere: y is %g", (double)y);
    ad_traced_free(t);
}

// A path for each of 5 points, with memory for some of it.
static bool traced_attempt(size_t failing, bool for_ever)
{
    size_t live = heap.live;
    size_t calls = 0;
    fail_from(failing, for_ever);
    ad_traced *t = ad_traced_new(turns, &calls, 2, 1, 2);
    bool ok = t != NULL;
    for (size_t i = 0; i < 5 && t != NULL; i++) {
        ad_real x[] = { (ad_real)((double)(i % 3) - 0.5), 1 };
        ad_fn *fn = NULL;
        ad_status s = ad_traced_at(t, x, &fn);
        CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "%s", ad_message(s));
        ad_real y = 0;
        if (s == ADREV_OK)
            s = ad_fn_eval(fn, x, &y);
        CHECK(s == ADREV_ENOMEM || (s == ADREV_OK && y == 1), "y: got %g",
              (double)y);
        ok &= s == ADREV_OK;
    }
    fail_from(0, false);
    for (size_t i = 0; i < 3 && t != NULL; i++) {
        ad_real x[] = { (ad_real)((double)i - 0.5), 1 };
        ad_fn *fn = NULL;
        CHECK(ad_traced_at(t, x, &fn) == ADREV_OK, "with memory back");
        check_turns(fn, i, x);
    }
    ad_traced_free(t);
    CHECK(heap.live == live, "failing at %zu: %zu blocks leaked", failing,
          heap.live - live);
    return ok;
}

// How often a function is evaluated until the right path is found.
static size_t evaluations;

static bool count_replay(const void *saved, const ad_external_point *at)
{
    (void)saved;
    evaluations++;
    if (at->y != NULL)
        at->y[0] = at->x[0];
    return true;
}

enum { SIDES = 6, FLOORS = 5 };

// 2^6 times 5 paths.
static void maze(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_external_rule rule = { .pullback = pass_back,
                                           .replay = count_replay };
    (void)ctx;
    ad_external(&rule, NULL, 0, 1, x, 1, &x[0].v, y);
    for (size_t k = 0; k < SIDES; k++)
        y[0] = ad_gt(x[k], 0) ? ad_rec(ad_add(y[0], 1))
                              : ad_rec(ad_mul(y[0], 2));
    y[0] = ad_rec(ad_add(y[0], ad_value(ad_floor(x[SIDES]))));
}

static ad_real maze_value(const ad_real *x)
{
    ad_real y = x[0];
    for (size_t k = 0; k < SIDES; k++)
        y = x[k] > 0 ? y + 1 : y * 2;
    return y + floor(x[SIDES]);
}

static void check_search(void)
{
    ad_traced *t = ad_traced_new(maze, NULL, SIDES + 1, 1, 1000);
    size_t most = 0;
    uint32_t random = 7;
    for (size_t i = 0; i < 4000; i++) {
        ad_real x[SIDES + 1];
        for (size_t k = 0; k <= SIDES; k++) {
            random = random * 1664525 + 1013904223;
            x[k] = (ad_real)(random >> 16 & 255) / 256;
            x[k] = k < SIDES ? x[k] - (ad_real)0.5 : x[k] * FLOORS;
        }
        ad_fn *fn = NULL;
        evaluations = 0;
        CHECK(ad_traced_at(t, x, &fn) == ADREV_OK, "point %zu", i);
        most = evaluations > most ? evaluations : most;
        ad_real y = 0;
        CHECK(ad_fn_eval(fn, x, &y) == ADREV_OK && y == maze_value(x),
              "point %zu: got %g, want %g", i, (double)y,
              (double)maze_value(x));
    }
    size_t recordings = 0;
    size_t paths = ad_traced_paths(t, &recordings);
    CHECK(paths == 64 * FLOORS && recordings == 64 * FLOORS, "%zu recordings", recordings);
    // The last path, one for each turn, each floor, and one to record.
    CHECK(most > 4 && most <= 1 + SIDES + FLOORS + 1, "%zu evaluations", most);
    ad_traced_free(t);
}

static void until_success(bool (*attempt)(size_t, bool))
{
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        size_t n = 1;
        while (n < 2000 && !attempt(n, for_ever))
            n++;
        CHECK(n > 2 && n < 2000, "%zu allocations", n - 1);
    }
}

static void check_paths(void)
{
    check_limit(1, 3, 60);
    check_limit(3, 5, 400);
    check_limit(4, 4, 100);
    check_limit(0, 70, 400);
    check_limit(100, 90, 300);
    check_limit(SIZE_MAX, 20, 60);
    check_collatz();
    check_traced_errors();
    check_lost();
    check_search();
    until_success(traced_attempt);
}

/* --- calls -------------------------------------------------------------------
 * inner is called, by a function or as it is written here: the same program. */

enum { IN = 3, OUT = 3 };

static void inner(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_sin(x[0]), ad_exp(ad_mul(x[1], x[2]))));
    y[1] = ad_rec(ad_div(x[0], ad_add(2, ad_sqr(x[1]))));
    y[2] = ad_norm2(IN, x);
}

struct caller {
    ad_fn *fn;                  // NULL: inner itself
    ad_status status;
};

static void apply(struct caller *c, const ad_rev *x, ad_rev *y)
{
    if (c->fn == NULL) {
        inner(x, y, NULL);
        return;
    }
    ad_status s = ad_fn_call(c->fn, x, y);
    if (c->status == ADREV_OK)
        c->status = s;
}

// Calls of calls, with recorded numbers, constants, and the same one twice.
static void outer(const ad_rev *x, ad_rev *y, void *ctx)
{
    struct caller *c = ctx;
    ad_rev a[OUT];
    ad_rev b[OUT];
    ad_rev mixed[IN] = { x[1], ad_rec(0.5), x[1] };
    apply(c, x, a);
    apply(c, a, b);
    apply(c, mixed, a);
    y[0] = ad_rec(ad_add(ad_mul(a[0], b[0]), b[1]));
    y[1] = ad_rec(ad_mul(a[1], b[2]));
    y[2] = b[1];
}

static const ad_real where[][IN] = {
    { (ad_real)0.3, (ad_real)0.7, (ad_real)-0.4 },
    { (ad_real)1.3, (ad_real)-0.2, (ad_real)0.6 },
    { (ad_real)-0.8, (ad_real)0.1, (ad_real)0.9 },
};

static ad_fn *record(ad_vector_fn *f, void *ctx, size_t n, const ad_real *x,
                     size_t m)
{
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, f, ctx, n, x, m);
    CHECK(s == ADREV_OK && fn != NULL, "record: %s", ad_message(s));
    return fn;
}

static void check_close_to(size_t n, const ad_real *got, const ad_real *want,
                           const char *what)
{
    long double size = 0;
    for (size_t i = 0; i < n; i++)
        size = fmaxl(size, fabsl((long double)want[i]));
    for (size_t i = 0; i < n; i++)
        CHECK(fabsl((long double)got[i] - (long double)want[i])
                  <= 1e-14L * size,
              "%s: number %zu: got %.17g, want %.17g", what, i,
              (double)got[i], (double)want[i]);
}

// Jacobian in one piece, by rows and by columns.
static void check_sweeps(ad_tape *t, const ad_rev *x, const ad_rev *y,
                         const ad_real *want)
{
    ad_real J[OUT * IN];
    ad_real rows[OUT * IN];
    ad_real columns[OUT * IN];
    ad_status s = ad_jacobian(t, OUT, y, IN, x, J);
    CHECK(s == ADREV_OK, "jacobian: %s", ad_message(s));
    for (int i = 0; i < OUT; i++) {
        s = ad_gradient(t, y[i], IN, x, rows + i * IN);
        CHECK(s == ADREV_OK, "gradient: %s", ad_message(s));
    }
    for (int j = 0; j < IN; j++) {
        ad_real v[IN] = { 0 };
        ad_real dy[OUT];
        v[j] = 1;
        s = ad_pushforward(t, IN, x, v, OUT, y, dy);
        CHECK(s == ADREV_OK, "pushforward: %s", ad_message(s));
        for (int i = 0; i < OUT; i++)
            columns[i * IN + j] = dy[i];
    }
    check_close_to(OUT * IN, J, want, "ad_jacobian of a call");
    check_close_to(OUT * IN, rows, want, "ad_gradient of a call");
    check_close_to(OUT * IN, columns, want, "ad_pushforward of a call");
}

// On a tape; freed: the function is, before the sweep.
static void check_on_tape(bool freed)
{
    for (size_t p = 0; p < COUNT(where); p++) {
        size_t live = heap.live;
        struct caller written = { NULL, ADREV_OK };
        struct caller called = { record(inner, NULL, IN, where[0], OUT),
                                 ADREV_OK };
        ad_real want[OUT];
        ad_real J[OUT * IN];
        ad_rev x[IN];
        ad_rev y[OUT];
        ad_status s = ad_jac(outer, &written, IN, where[p], OUT, want, J);
        CHECK(s == ADREV_OK, "written out: %s", ad_message(s));
        ad_tape *t = ad_tape_new();
        ad_tape *before = ad_use(t);
        ad_inputs(IN, where[p], x);
        outer(x, y, &called);
        CHECK(called.status == ADREV_OK, "call: %s",
              ad_message(called.status));
        if (freed)
            ad_fn_free(called.fn);
        for (int i = 0; i < OUT; i++)
            CHECK_CLOSE(y[i].v, want[i], 2);
        check_sweeps(t, x, y, J);
        ad_use(before);
        ad_tape_free(t);
        if (!freed)
            ad_fn_free(called.fn);
        CHECK(heap.live == live, "%zu blocks leaked", heap.live - live);
    }
}

// In a recording: all derivatives of it, of first and second order.
static void check_nested(bool freed)
{
    struct caller written = { NULL, ADREV_OK };
    struct caller called = { record(inner, NULL, IN, where[1], OUT),
                             ADREV_OK };
    const ad_real w[OUT] = { 1, -2, (ad_real)0.5 };
    ad_fn *want_fn = record(outer, &written, IN, where[0], OUT);
    ad_fn *fn = record(outer, &called, IN, where[0], OUT);
    CHECK(called.status == ADREV_OK, "nested: %s", ad_message(called.status));
    if (freed)
        ad_fn_free(called.fn);
    for (size_t p = 0; p < COUNT(where); p++) {
        ad_real a[OUT * IN];
        ad_real b[OUT * IN];
        const ad_real *x = where[p];
        CHECK(ad_fn_eval(fn, x, a) == ADREV_OK, "eval");
        CHECK(ad_fn_eval(want_fn, x, b) == ADREV_OK, "eval");
        check_close_to(OUT, a, b, "value of nested calls");
        struct caller plain = { NULL, ADREV_OK };
        CHECK(ad_jac(outer, &plain, IN, x, OUT, NULL, b) == ADREV_OK, "tape");
        CHECK(ad_fn_jacobian(fn, x, a) == ADREV_OK, "jacobian");
        check_close_to(OUT * IN, a, b, "Jacobian of nested calls");
        CHECK(ad_fn_hessian(fn, x, w, a) == ADREV_OK, "hessian");
        CHECK(ad_fn_hessian(want_fn, x, w, b) == ADREV_OK, "hessian");
        check_close_to(IN * IN, a, b, "Hessian of nested calls");
    }
    if (!freed)
        ad_fn_free(called.fn);
    ad_fn_free(fn);
    ad_fn_free(want_fn);
}

static void check_constants(void)
{
    ad_fn *fn = record(inner, NULL, IN, where[0], OUT);
    ad_real want[OUT];
    ad_rev x[IN];
    ad_rev y[OUT];
    CHECK(ad_fn_eval(fn, where[1], want) == ADREV_OK, "eval");
    for (int tape = 0; tape < 2; tape++) {
        ad_tape *t = tape == 1 ? ad_tape_new() : NULL;
        ad_tape *before = ad_use(t);
        for (int i = 0; i < IN; i++)
            x[i] = ad_rec(where[1][i]);
        ad_status s = ad_fn_call(fn, x, y);
        CHECK(s == ADREV_OK, "constants: %s", ad_message(s));
        for (int i = 0; i < OUT; i++)
            CHECK(y[i].v == want[i] && y[i].job == 0 && y[i].seq == 0,
                  "constants: y[%d] is %g, job %u", i, (double)y[i].v,
                  y[i].job);
        CHECK(t == NULL || ad_tape_stats(t).values == 0, "it is recorded");
        ad_use(before);
        ad_tape_free(t);
    }
    ad_fn_free(fn);
}

static void branching(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_lt(x[0], 1) ? ad_rec(ad_sqr(x[0])) : ad_rec(ad_exp(x[0]));
}

static void calls_branching(const ad_rev *x, ad_rev *y, void *ctx)
{
    struct caller *c = ctx;
    ad_rev z = ad_rec(ad_mul(2, x[0]));
    c->status = ad_fn_call(c->fn, &z, y);
    y[0] = ad_rec(ad_mul(y[0], x[0]));
}

static void check_call_guard(void)
{
    ad_real at = 0;
    ad_real x = 2;
    ad_rev y = { UNTOUCHED, 7, 7 };
    ad_fn *fn = record(branching, NULL, 1, &at, 1);
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    ad_rev in = ad_input(x);
    ad_status s = ad_fn_call(fn, &in, &y);
    CHECK(s == ADREV_EPATH && ad_fn_guard().index == 0, "a call: %s",
          ad_message(s));
    CHECK(y.job == 0, "a call that failed: a recorded number");
    ad_use(before);
    ad_tape_free(t);
    // in a recording; and then the guard is one of its own
    struct caller c = { fn, ADREV_OK };
    ad_fn *whole = record(calls_branching, &c, 1, &at, 1);
    CHECK(c.status == ADREV_OK, "%s", ad_message(c.status));
    ad_real v = UNTOUCHED;
    ad_real g = UNTOUCHED;
    x = (ad_real)0.25;
    CHECK(ad_fn_gradient(whole, &x, &v, &g) == ADREV_OK, "gradient");
    CHECK(v == (ad_real)0.0625 && g == (ad_real)0.75, "4 x^3: got %g, %g",
          (double)v, (double)g);
    x = (ad_real)0.75;
    g = UNTOUCHED;
    s = ad_fn_gradient(whole, &x, NULL, &g);
    CHECK(s == ADREV_EPATH && g == UNTOUCHED, "guard of a call: %s",
          ad_message(s));
    ad_fn_free(whole);
    whole = NULL;
    s = ad_fn_record(&whole, calls_branching, &c, 1, &x, 1);
    CHECK(c.status == ADREV_EPATH && s == ADREV_EPATH && whole == NULL,
          "in a recording: %s, then %s", ad_message(c.status), ad_message(s));
    ad_fn_free(whole);
    ad_fn_free(fn);
}

// A step of a loop whose state is replaced.
static void step(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], x[1]));
    y[1] = ad_rec(ad_add(x[0], x[1]));
}

static void in_place(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev s[2] = { x[0], x[1] };
    for (int i = 0; i < 3; i++) {
        ad_status status = ad_fn_call(ctx, s, s);
        CHECK(status == ADREV_OK, "%s", ad_message(status));
    }
    y[0] = s[0];
    y[1] = s[1];
}

static void check_in_place(void)
{
    const ad_real x[2] = { 2, 3 };
    ad_real y[2], J[4], want_y[2], want_J[4];
    ad_fn *fn = record(step, NULL, 2, x, 2);
    ad_fn *whole = record(in_place, fn, 2, x, 2);
    CHECK(ad_jac(in_place, fn, 2, x, 2, want_y, want_J) == ADREV_OK, "tape");
    CHECK(ad_fn_eval(whole, x, y) == ADREV_OK, "eval");
    CHECK(ad_fn_jacobian(whole, x, J) == ADREV_OK, "jacobian");
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(J[i], want_J[i], 0);
    for (int i = 0; i < 2; i++)
        CHECK_CLOSE(y[i], want_y[i], 0);
    ad_fn_free(whole);
    ad_fn_free(fn);
}

// Each function has memory of its own, which only gets its own blocks back.
struct owner {
    size_t live;
    bool wrong;
};

static void *owned_alloc(size_t bytes, void *user)
{
    struct owner *o = user;
    void **p = malloc(bytes + 16);
    if (p == NULL)
        return NULL;
    *p = user;
    o->live++;
    return (char *)p + 16;
}

static void owned_free(void *block, void *user)
{
    struct owner *o = user;
    if (block == NULL)
        return;
    void **p = (void **)(void *)((char *)block - 16);
    o->wrong = o->wrong || *p != user;
    o->live--;
    free(p);
}

static void check_owners(void)
{
    struct owner owner[2] = { { 0, false }, { 0, false } };
    ad_allocator memory[2];
    ad_fn *fn[2] = { NULL, NULL };
    struct caller called = { NULL, ADREV_OK };
    for (int i = 0; i < 2; i++) {
        memory[i] = (ad_allocator){ owned_alloc, owned_free, &owner[i] };
        const ad_fn_options o = { .allocator = &memory[i] };
        ad_status s = ad_fn_record_with(&fn[i], &o, i == 0 ? inner : outer,
                                        &called, IN, where[0], OUT);
        CHECK(s == ADREV_OK && called.status == ADREV_OK, "%s",
              ad_message(s));
        called.fn = fn[0];
    }
    ad_real J[OUT * IN];
    CHECK(ad_fn_jacobian(fn[1], where[1], J) == ADREV_OK, "jacobian");
    ad_fn_free(fn[1]);
    ad_fn_free(fn[0]);
    for (int i = 0; i < 2; i++)
        CHECK(!owner[i].wrong && owner[i].live == 0,
              "memory %d: %zu blocks, or those of another", i, owner[i].live);
}

// The recording's own gradient, which would be a constant.
static void of_itself(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_tape *t = ad_use(NULL);
    ad_use(t);
    ad_real g = 0;
    ad_rev s = ad_rec(ad_sin(x[0]));
    *(ad_status *)ctx = ad_gradient(t, s, 1, x, &g);
    y[0] = ad_rec(ad_mul(x[0], g));
}

static ad_rev sine(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_sin(x[0]));
}

// One of another tape, at a number that a guard watches.
static void of_another(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_real at = ad_value(x[0]);
    ad_real g = 0;
    *(ad_status *)ctx = ad_grad(sine, NULL, 1, &at, NULL, &g);
    y[0] = ad_rec(ad_mul(x[1], g));
}

enum { FANS = 20 };             // results of one input: forward mode

static void fan(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < FANS; i++)
        y[i] = ad_rec(ad_sin(ad_mul(i, x[0])));
}

// A Jacobian and a check in between operations, of which some come before.
static void of_a_fan(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_real at = (ad_real)0.25;
    ad_real J[FANS];
    ad_check_report report = { 0 };
    ad_status *s = (ad_status *)ctx;
    ad_rev before = ad_rec(ad_exp(x[0]));
    *s = ad_jac(fan, NULL, 1, &at, FANS, NULL, J);
    for (int i = 0; i < FANS && *s == ADREV_OK; i++)
        CHECK_CLOSE(J[i], i * cosl(0.25L * i), 16);
    ad_rev between = ad_rec(ad_mul(before, J[2]));
    if (*s == ADREV_OK)
        *s = ad_check(sine, NULL, 1, &at, &report);
    CHECK(ad_check_passed(&report), "a check within a recorded function");
    y[0] = ad_rec(ad_mul(between, x[0]));
}

static void check_inner_jacobian(void)
{
    const ad_real x = (ad_real)0.5;
    ad_real y = 0, g = 0;
    ad_status inside = ADREV_OK;
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, of_a_fan, &inside, 1, &x, 1);
    CHECK(s == ADREV_OK && inside == ADREV_OK, "of a fan: %s, %s",
          ad_message(s), ad_message(inside));
    CHECK(ad_fn_gradient(fn, &x, &y, &g) == ADREV_OK, "gradient");
    CHECK_CLOSE(y, 2 * cosl(0.5L) * 0.5L * expl(0.5L), 8);
    CHECK_CLOSE(g, 2 * cosl(0.5L) * 1.5L * expl(0.5L), 8);
    ad_fn_free(fn);
}

static void check_inner_gradients(void)
{
    const ad_real x[2] = { (ad_real)0.5, 3 };
    ad_real y = 0;
    ad_status inside = ADREV_OK;
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, of_itself, &inside, 1, x, 1);
    CHECK(s == ADREV_EHOOK && fn == NULL, "of itself: %s", ad_message(s));
    ad_fn_free(fn);
    s = ad_fn_record(&fn, of_another, &inside, 2, x, 1);
    CHECK(s == ADREV_OK && inside == ADREV_OK, "of another: %s, %s",
          ad_message(s), ad_message(inside));
    CHECK(ad_fn_eval(fn, x, &y) == ADREV_OK, "eval");
    CHECK_CLOSE(y, 3 * cosl(0.5L), 2);
    ad_fn_free(fn);
}

static ad_rev through_call(const ad_rev *x, void *ctx)
{
    ad_rev y[OUT];
    struct caller *c = ctx;
    outer(x, y, c);
    return ad_rec(ad_add(y[0], ad_mul(y[1], y[2])));
}

static void check_checked(void)
{
    struct caller c = { record(inner, NULL, IN, where[0], OUT), ADREV_OK };
    ad_check_report report = { 0 };
    ad_status s = ad_check(through_call, &c, IN, where[2], &report);
    CHECK(s == ADREV_OK && ad_check_passed(&report), "ad_check: %s",
          ad_message(s));
    CHECK(c.status == ADREV_OK, "%s", ad_message(c.status));
    ad_rev y[OUT];
    ad_rev x[IN] = { { 0 } };
    CHECK(ad_fn_call(c.fn, NULL, y) == ADREV_ESHAPE, "x is NULL");
    CHECK(ad_fn_call(c.fn, x, NULL) == ADREV_ESHAPE, "y is NULL");
    ad_fn_free(c.fn);
}

// Many calls, rewound and cleared: nothing is kept.
static void check_rewind(void)
{
    size_t live = heap.live;
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    ad_fn *fn = record(inner, NULL, IN, where[0], OUT);
    ad_rev x[IN];
    ad_rev y[OUT];
    ad_inputs(IN, where[0], x);
    ad_mark mark = ad_tape_mark(t);
    for (int i = 0; i < 100; i++) {
        CHECK(ad_fn_call(fn, x, y) == ADREV_OK, "call %d", i);
        if (i % 10 == 9)
            CHECK(ad_tape_rewind(t, mark) == ADREV_OK, "rewind");
    }
    CHECK(ad_fn_call(fn, x, y) == ADREV_OK, "call");
    ad_fn_free(fn);
    ad_tape_clear(t);
    ad_use(before);
    ad_tape_free(t);
    CHECK(heap.live == live, "%zu blocks leaked", heap.live - live);
}

static bool call_attempt(size_t failing, bool for_ever)
{
    size_t live = heap.live;
    ad_fn *fn = record(inner, NULL, IN, where[0], OUT);
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    ad_rev x[IN];
    ad_rev y[OUT] = { { 0, 7, 7 }, { 0, 7, 7 }, { 0, 7, 7 } };
    ad_real g[IN];
    reset(IN, g);
    ad_inputs(IN, where[0], x);
    fail_from(failing, for_ever);
    ad_status s = ad_fn_call(fn, x, y);
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "call: %s", ad_message(s));
    CHECK(s == ADREV_OK || (y[0].job == 0 && y[2].job == 0),
          "failing at %zu: a call that failed yields recorded numbers",
          failing);
    ad_fn_free(fn);
    if (s == ADREV_OK) {
        s = ad_gradient(t, y[0], IN, x, g);
        CHECK(s == ADREV_OK || (s == ADREV_ENOMEM && untouched(IN, g))
                  || s == ADREV_EEXTERNAL, "sweep: %s", ad_message(s));
    }
    fail_from(0, false);
    ad_use(before);
    ad_tape_free(t);
    CHECK(heap.live == live, "failing at %zu: %zu blocks leaked", failing,
          heap.live - live);
    return s == ADREV_OK;
}

static void check_calls(void)
{
    check_on_tape(false);
    check_on_tape(true);
    check_nested(false);
    check_nested(true);
    check_constants();
    check_owners();
    check_in_place();
    check_inner_gradients();
    check_inner_jacobian();
    check_call_guard();
    check_checked();
    check_rewind();
    until_success(call_attempt);
}

/* --- series in long double ------------------------------------------------ */

enum { ORDER = 22 };

typedef struct series {
    long double c[ORDER + 1];
} series;

static series number(long double c)
{
    series s = { { 0 } };
    s.c[0] = c;
    return s;
}

static series sum(series a, series b, long double factor)
{
    for (int k = 0; k <= ORDER; k++)
        a.c[k] += factor * b.c[k];
    return a;
}

static series product(series a, series b)
{
    series s = { { 0 } };
    for (int k = 0; k <= ORDER; k++)
        for (int i = 0; i <= k; i++)
            s.c[k] += a.c[i] * b.c[k - i];
    return s;
}

static series ratio(series a, series b)
{
    series s = { { 0 } };
    for (int k = 0; k <= ORDER; k++) {
        s.c[k] = a.c[k];
        for (int i = 1; i <= k; i++)
            s.c[k] -= b.c[i] * s.c[k - i];
        s.c[k] /= b.c[0];
    }
    return s;
}

// v with v(0) = value and v' = slope u'.
static series integral(long double value, series slope, series u)
{
    series v = number(value);
    for (int k = 1; k <= ORDER; k++) {
        for (int i = 1; i <= k; i++)
            v.c[k] += i * u.c[i] * slope.c[k - i];
        v.c[k] /= k;
    }
    return v;
}

// Solves v' = u' f(v): one more coefficient is right in each turn.
#define SOLVE(name, value, slope)                                           \
    static series name(series u)                                            \
    {                                                                       \
        long double x = u.c[0];                                             \
        series v = number(value);                                           \
        (void)x;                                                            \
        for (int k = 0; k <= ORDER; k++)                                    \
            v = integral(value, slope, u);                                  \
        return v;                                                           \
    }

static series square(series u)
{
    return product(u, u);
}

static series one_and(series u, long double factor)
{
    return sum(number(1), u, factor);
}

SOLVE(s_exp, expl(x), v)
SOLVE(s_tanh, tanhl(x), one_and(square(v), -1))
SOLVE(s_tan, tanl(x), one_and(square(v), 1))
SOLVE(s_sqrt, sqrtl(x), ratio(number(0.5L), v))
SOLVE(s_cbrt, cbrtl(x), ratio(number(1 / 3.0L), square(v)))
SOLVE(s_sigmoid, 1 / (1 + expl(-x)), product(v, one_and(v, -1)))
SOLVE(s_log, logl(x), ratio(number(1), u))
SOLVE(s_log1p, log1pl(x), ratio(number(1), one_and(u, 1)))
SOLVE(s_expm1, expm1l(x), one_and(v, 1))
SOLVE(s_atan, atanl(x), ratio(number(1), one_and(square(u), 1)))
SOLVE(s_atanh, atanhl(x), ratio(number(1), one_and(square(u), -1)))
SOLVE(s_asin, asinl(x), ratio(number(1), s_sqrt(one_and(square(u), -1))))
SOLVE(s_acos, acosl(x), ratio(number(-1), s_sqrt(one_and(square(u), -1))))
SOLVE(s_asinh, asinhl(x), ratio(number(1), s_sqrt(one_and(square(u), 1))))
SOLVE(s_acosh, acoshl(x),
      ratio(number(1), s_sqrt(sum(square(u), number(1), -1))))
SOLVE(s_softplus, log1pl(expl(x)), s_sigmoid(u))

#define TWO_SQRT_PI 1.12837916709551257389615890312154517L
#define LN2         0.69314718055994530941723212145817657L
#define LN10        2.30258509299404568401799145468436421L

static series gauss(series u)
{
    return s_exp(sum(number(0), square(u), -1));
}

static series scaled(series u, long double factor)
{
    return sum(number(0), u, factor);
}

SOLVE(s_erf, erfl(x), scaled(gauss(u), TWO_SQRT_PI))
SOLVE(s_erfc, erfcl(x), scaled(gauss(u), -TWO_SQRT_PI))

static series s_exp2(series u)
{
    return s_exp(scaled(u, LN2));
}

static series s_log2(series u)
{
    return scaled(s_log(u), 1 / LN2);
}

static series s_log10(series u)
{
    return scaled(s_log(u), 1 / LN10);
}

static series s_sinh(series u)
{
    return scaled(sum(s_exp(u), s_exp(scaled(u, -1)), -1), 0.5L);
}

static series s_cosh(series u)
{
    return scaled(sum(s_exp(u), s_exp(scaled(u, -1)), 1), 0.5L);
}

// sin and cos together: derivatives of one another.
static series circular(series u, bool sine)
{
    series s = number(0);
    series c = number(0);
    for (int k = 0; k <= ORDER; k++) {
        s = integral(sinl(u.c[0]), c, u);
        c = integral(cosl(u.c[0]), scaled(s, -1), u);
    }
    return sine ? s : c;
}

static series s_sin(series u)
{
    return circular(u, true);
}

static series s_cos(series u)
{
    return circular(u, false);
}

// Sum over j >= 0 of (x + j)^-k, by Euler and Maclaurin from x + 30 on.
static long double zeta(int k, long double x)
{
    long double s = 0;
    for (int j = 0; j < 30; j++, x += 1)
        s += powl(x, -k);
    s += powl(x, 1 - k) / (k - 1) + powl(x, -k) / 2;
    s += k * powl(x, -k - 1) / 12;
    s -= k * (k + 1.0L) * (k + 2) * powl(x, -k - 3) / 720;
    s += k * (k + 1.0L) * (k + 2) * (k + 3) * (k + 4) * powl(x, -k - 5)
       / 30240;
    s -= k * (k + 1.0L) * (k + 2) * (k + 3) * (k + 4) * (k + 5) * (k + 6)
       * powl(x, -k - 7) / 1209600;
    return s;
}

static long double digamma(long double x)
{
    long double s = 0;
    for (int j = 0; j < 30; j++, x += 1)
        s -= 1 / x;
    long double y = 1 / (x * x);
    return s + logl(x) - 1 / (2 * x)
         - y * (1 / 12.0L - y * (1 / 120.0L - y * (1 / 252.0L
         - y * (1 / 240.0L - y / 132))));
}

// lgamma(x + h) = lgamma(x) + digamma(x) h + sum of (-h)^k zeta(k, x)/k
static series s_lgamma(series u)
{
    series v = number(0);
    series h = u;
    h.c[0] = 0;
    for (int k = ORDER; k > 1; k--)
        v = product(sum(v, number((k % 2 == 0 ? 1 : -1) * zeta(k, u.c[0])
                                  / k), 1), h);
    v = product(sum(v, number(digamma(u.c[0])), 1), h);
    v.c[0] = lgammal(u.c[0]);
    return v;
}

static series s_tgamma(series u)
{
    return s_exp(s_lgamma(u));
}

/* --- Taylor coefficients of functions of one argument --------------------- */

#define ALONE(ROW)                                                          \
    ROW(exp, 0.5) ROW(exp2, 1.5) ROW(expm1, 0.1) ROW(log, 1.25)             \
    ROW(log2, 2.5) ROW(log10, 0.8) ROW(log1p, 0.5) ROW(sin, 0.7)            \
    ROW(cos, 2.1) ROW(tan, 0.4) ROW(asin, 0.3) ROW(acos, -0.4)              \
    ROW(atan, 0.6) ROW(sinh, 0.9) ROW(cosh, -0.7) ROW(tanh, 0.4)            \
    ROW(asinh, 0.8) ROW(acosh, 2.5) ROW(atanh, 0.2) ROW(sqrt, 2.0)          \
    ROW(cbrt, 1.5) ROW(sigmoid, 0.3) ROW(softplus, -0.6) ROW(erf, 0.4)      \
    ROW(erfc, 0.9) ROW(lgamma, 2.75) ROW(tgamma, 1.6) ROW(tanh, 3.0)        \
    ROW(exp, -4.0) ROW(sqrt, 0.1) ROW(lgamma, 0.5) ROW(atan, -3.0)

#define DEFINE(name)                                                        \
    static void f_##name(const ad_rev *x, ad_rev *y, void *ctx)             \
    {                                                                       \
        (void)ctx;                                                          \
        y[0] = ad_rec(ad_##name(x[0]));                                     \
    }
#define ONCE(ROW)                                                           \
    ROW(exp) ROW(exp2) ROW(expm1) ROW(log) ROW(log2) ROW(log10) ROW(log1p)  \
    ROW(sin) ROW(cos) ROW(tan) ROW(asin) ROW(acos) ROW(atan) ROW(sinh)      \
    ROW(cosh) ROW(tanh) ROW(asinh) ROW(acosh) ROW(atanh) ROW(sqrt)          \
    ROW(cbrt) ROW(sigmoid) ROW(softplus) ROW(erf) ROW(erfc) ROW(lgamma)     \
    ROW(tgamma)
ONCE(DEFINE)
#undef DEFINE

// The largest of three neighbours: a coefficient may vanish, and is then as
// exact as those beside it, which are about as large as they were given the
// radius of convergence.
static long double envelope(const series *s, int k)
{
    long double most = fabsl(s->c[k]);
    long double left = k > 0 ? fabsl(s->c[k - 1]) : 0;
    long double right = k < ORDER ? fabsl(s->c[k + 1]) : 0;
    return fmaxl(most, fmaxl(left, right));
}

// 4e-16 per order and operation: errors of all lower coefficients add up.
static void check_series(const char *name, size_t m, size_t order,
                         const ad_real *y, const series *want)
{
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k <= order; k++) {
            long double off = fabsl((long double)y[k * m + i]
                                    - want[i].c[k]);
            long double size = envelope(&want[i], (int)k);
            CHECK(off <= 1e-14L * (long double)(k + 4) * size,
                  "%s: order %zu of y[%zu]: got %.17g, want %.17Lg, off by "
                  "%.2Lg of %.2Lg", name, k, i, (double)y[k * m + i],
                  want[i].c[k], off, size);
        }
}

static const size_t orders[] = { 0, 1, 2, 10, 20 };

static void check_taylor(const char *name, ad_fn *fn, const ad_real *x,
                         const ad_real *v, const series *want)
{
    enum { MOST = 16 };
    size_t m = ad_fn_outputs(fn);
    for (size_t i = 0; i < COUNT(orders); i++) {
        ad_real y[(ORDER + 2) * MOST];
        size_t count = (orders[i] + 1) * m;
        reset(COUNT(y), y);
        ad_status s = ad_fn_taylor(fn, x, v, orders[i], y);
        CHECK(s == ADREV_OK, "%s: order %zu: %s", name, orders[i],
              ad_message(s));
        CHECK(untouched(COUNT(y) - count, y + count), "%s: order %zu: "
              "written beyond", name, orders[i]);
        check_series(name, m, orders[i], y, want);
    }
}

static void check_alone(const char *name, ad_vector_fn *f,
                        series (*of)(series), double at)
{
    const double along[] = { 1, -0.5, 0.125, 0 };
    ad_real x = (ad_real)at;
    ad_fn *fn = record(f, NULL, 1, &x, 1);
    for (size_t i = 0; i < COUNT(along); i++) {
        ad_real v = (ad_real)along[i];
        series u = number((long double)x);
        u.c[1] = (long double)v;
        series want = of(u);
        check_taylor(name, fn, &x, &v, &want);
    }
    ad_fn_free(fn);
}

/* --- and of compositions, which are checked against products, too --------- */

enum { VN = 4, VM = 9 };

static void composed(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_div(1, ad_sub(1, x[0])));
    y[1] = ad_rec(ad_pow(x[1], x[2]));
    y[2] = ad_rec(ad_pow(x[1], 2.5));
    y[3] = ad_rec(ad_powi(ad_add(x[0], x[3]), -3));
    y[4] = ad_rec(ad_exp(ad_sin(ad_mul(x[0], x[3]))));
    y[5] = ad_rec(ad_hypot(x[1], x[2]));
    y[6] = ad_rec(ad_atan2(x[0], x[1]));
    y[7] = ad_rec(ad_fma(x[0], x[1], ad_tanh(ad_log(x[2]))));
    y[8] = ad_rec(ad_max(ad_sqr(x[0]), ad_abs(ad_neg(x[3]))));
}

static void series_composed(const series *x, series *y)
{
    y[0] = ratio(number(1), one_and(x[0], -1));
    y[1] = s_exp(product(x[2], s_log(x[1])));
    y[2] = s_exp(scaled(s_log(x[1]), 2.5L));
    y[3] = sum(x[0], x[3], 1);
    y[3] = ratio(number(1), product(y[3], square(y[3])));
    y[4] = s_exp(s_sin(product(x[0], x[3])));
    y[5] = s_sqrt(sum(square(x[1]), square(x[2]), 1));
    y[6] = s_atan(ratio(x[0], x[1]));
    y[7] = sum(product(x[0], x[1]), s_tanh(s_log(x[2])), 1);
    y[8] = x[3];
}

static void arrayed(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_real A[2 * VN] = { 1, 2, 0, -1, 0, 3, 1, 1 };
    (void)ctx;
    y[0] = ad_norm2(VN, x);
    y[1] = ad_logsumexp(VN, x);
    y[2] = ad_dot_s(VN, x, 1, x + VN - 1, -1);
    ad_softmax(VN, x, y + 3);
    ad_matvecc(2, VN, A, x, y + 7);
    y[7] = ad_sqdist(2, x, x + 2);
}

static void series_arrayed(const series *x, series *y)
{
    series e = number(0);
    series s = number(0);
    for (int i = 0; i < VN; i++) {
        s = sum(s, square(x[i]), 1);
        e = sum(e, s_exp(x[i]), 1);
    }
    y[0] = s_sqrt(s);
    y[1] = s_log(e);
    y[2] = scaled(sum(product(x[0], x[3]), product(x[1], x[2]), 1), 2);
    for (int i = 0; i < VN; i++)
        y[3 + i] = ratio(s_exp(x[i]), e);
    y[7] = sum(square(sum(x[0], x[2], -1)), square(sum(x[1], x[3], -1)), 1);
    y[8] = sum(sum(scaled(x[1], 3), x[2], 1), x[3], 1);
}

// Quotients of which both parts move, or one does.
static void divided(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < VN; i++) {
        y[i] = ad_rec(ad_div(x[i], x[(i + 1) % VN]));
        y[VN + i] = ad_rec(ad_div(y[0], ad_add(x[i], 3)));
    }
    y[8] = ad_rec(ad_div(2, ad_div(x[1], 3)));
}

static void series_divided(const series *x, series *y)
{
    for (int i = 0; i < VN; i++) {
        y[i] = ratio(x[i], x[(i + 1) % VN]);
        y[VN + i] = ratio(y[0], sum(number(3), x[i], 1));
    }
    y[8] = ratio(number(6), x[1]);
}

// Orders 1 and 2 by ad_fn_jvp and ad_fn_hvp.
static void check_products(const char *name, ad_fn *fn, const ad_real *x,
                           const ad_real *v)
{
    ad_real y[3 * VM];
    ad_real dy[VM];
    ad_real hv[VN];
    CHECK(ad_fn_taylor(fn, x, v, 2, y) == ADREV_OK, "%s: taylor", name);
    CHECK(ad_fn_jvp(fn, x, v, dy) == ADREV_OK, "%s: jvp", name);
    for (int i = 0; i < VM; i++) {
        ad_real w[VM] = { 0 };
        long double want = 0;
        long double size = 0;
        w[i] = 1;
        CHECK(ad_fn_hvp(fn, x, w, v, hv) == ADREV_OK, "%s: hvp", name);
        for (int j = 0; j < VN; j++) {
            want += (long double)(v[j] * hv[j]) / 2;
            size += fabsl((long double)(v[j] * hv[j]));
        }
        CHECK(fabsl((long double)y[2 * VM + i] - want)
                  <= 2e-15L * (size + fabsl((long double)dy[i])),
              "%s: second order of y[%d]: got %.17g, want %.17Lg", name, i,
              (double)y[2 * VM + i], want);
        CHECK(fabsl((long double)y[VM + i] - (long double)dy[i])
                  <= 1e-15L * (1 + fabsl((long double)dy[i])),
              "%s: first order of y[%d]: got %.17g, want %.17g", name, i,
              (double)y[VM + i], (double)dy[i]);
    }
}

static void check_vector(const char *name, ad_vector_fn *f,
                         void (*of)(const series *, series *))
{
    const ad_real at[VN] = { (ad_real)0.3, (ad_real)1.2, (ad_real)0.8,
                             (ad_real)0.55 };
    const ad_real along[][VN] = { { 1, 0, 0, 0 }, { 0, 0, 1, 0 },
                                  { (ad_real)0.1, (ad_real)-0.3,
                                    (ad_real)0.2, (ad_real)0.25 } };
    ad_fn *fn = record(f, NULL, VN, at, VM);
    for (size_t d = 0; d < COUNT(along); d++) {
        series u[VN];
        series want[VM];
        for (int i = 0; i < VN; i++) {
            u[i] = number((long double)at[i]);
            u[i].c[1] = (long double)along[d][i];
        }
        of(u, want);
        check_taylor(name, fn, at, along[d], want);
        check_products(name, fn, at, along[d]);
    }
    ad_fn_free(fn);
}

/* --- values to the last bit, guards, zeros, errors ------------------------ */

static void zeros(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_sqrt(x[0]), x[1]));
    y[1] = ad_rec(ad_sqrt(x[0]));
}

static void check_zeros(void)
{
    const ad_real at[] = { 1, 1 };
    const ad_real x[] = { 0, 0 };
    const ad_real v[] = { 0, 1 };
    ad_fn *fn = record(zeros, NULL, 2, at, 2);
    ad_real y[4];
    ad_real dy[2];
    CHECK(ad_fn_taylor(fn, x, v, 1, y) == ADREV_OK, "taylor");
    CHECK(ad_fn_jvp(fn, x, v, dy) == ADREV_OK, "jvp");
    CHECK(dy[0] == 0 && dy[1] == 0, "jvp: %g, %g", (double)dy[0],
          (double)dy[1]);
    CHECK_CLOSE(y[2], dy[0], 0);
    CHECK_CLOSE(y[3], dy[1], 0);
    ad_fn_free(fn);
}

static void check_taylor_guard(void)
{
    ad_real at = 0;
    ad_real x = 2;
    ad_real one = 1;
    ad_real y[4];
    ad_fn *fn = record(branching, NULL, 1, &at, 1);
    reset(4, y);
    ad_status s = ad_fn_taylor(fn, &x, &one, 3, y);
    CHECK(s == ADREV_EPATH && untouched(4, y), "guard: %s", ad_message(s));
    CHECK(ad_fn_taylor(fn, NULL, &one, 3, y) == ADREV_ESHAPE, "x is NULL");
    CHECK(ad_fn_taylor(fn, &at, NULL, 3, y) == ADREV_ESHAPE, "v is NULL");
    CHECK(ad_fn_taylor(fn, &at, &one, 3, NULL) == ADREV_ESHAPE, "y is NULL");
    ad_fn_free(fn);
}

static bool same_pullback(const void *saved, size_t m, const ad_real dy[],
                          size_t n, ad_real dx[])
{
    (void)saved, (void)m, (void)n;
    dx[0] += dy[0];
    return true;
}

static void with_external(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_external_rule rule = { .name = "same",
                                           .pullback = same_pullback };
    (void)ctx;
    ad_external(&rule, NULL, 0, 1, x, 1, &x[0].v, y);
}

static void check_external(void)
{
    ad_real at = 2;
    ad_real one = 1;
    ad_real y[4];
    ad_fn *fn = NULL;
    reset(4, y);
    ad_status s = ad_fn_record(&fn, with_external, NULL, 1, &at, 1);
    if (s == ADREV_OK)
        s = ad_fn_taylor(fn, &at, &one, 3, y);
    CHECK(s == ADREV_EEXTERNAL && untouched(4, y), "external: %s",
          ad_message(s));
    ad_fn_free(fn);
}

static bool taylor_attempt(size_t failing, bool for_ever)
{
    const ad_real at[VN] = { (ad_real)0.3, (ad_real)1.2, (ad_real)0.8,
                             (ad_real)0.55 };
    size_t live = heap.live;
    ad_fn *fn = record(failing % 2 == 0 ? composed : arrayed, NULL, VN, at,
                       VM);
    ad_real y[4 * VM];
    reset(COUNT(y), y);
    fail_from(failing, for_ever);
    ad_status s = ad_fn_taylor(fn, at, at, 3, y);
    fail_from(0, false);
    CHECK(s == ADREV_OK || (s == ADREV_ENOMEM && untouched(COUNT(y), y)),
          "failing at %zu: %s", failing, ad_message(s));
    for (size_t order = 1; order <= 3; order++) {
        CHECK(ad_fn_taylor(fn, at, at, order, y) == ADREV_OK,
              "order %zu with memory back", order);
        fail_from(1, true);
        CHECK(ad_fn_taylor(fn, at, at, order, y) == ADREV_OK,
              "order %zu: memory is not kept", order);
        fail_from(0, false);
    }
    ad_fn_free(fn);
    CHECK(heap.live == live, "failing at %zu: %zu blocks leaked", failing,
          heap.live - live);
    return s == ADREV_OK;
}

static void lengths(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_norm2(3, x);
}

// Lengths of vectors of any size: along the vector itself the coefficients are
// |x|, |x|, 0; across it |x|, 0, |v|^2/(2 |x|).
static void check_lengths(void)
{
    const ad_real along[3] = { 3, 0, -4 };
    const ad_real across[3] = { 4, 0, 3 };
    const ad_real huge = sizeof(ad_real) == 4 ? (ad_real)1e30 : (ad_real)1e200;
    const ad_real scales[] = { 1, huge, 1 / huge };
    for (size_t k = 0; k < COUNT(scales); k++) {
        ad_real x[3], v[3], y[3];
        ad_fn *fn = NULL;
        for (int i = 0; i < 3; i++) {
            x[i] = along[i] * scales[k];
            v[i] = across[i] * scales[k];
        }
        fn = record(lengths, NULL, 3, x, 1);
        CHECK(ad_fn_taylor(fn, x, x, 2, y) == ADREV_OK, "along");
        CHECK_CLOSE(y[0], 5 * (long double)scales[k], 4);
        CHECK_CLOSE(y[1], 5 * (long double)scales[k], 4);
        CHECK(fabs((double)(y[2] / scales[k])) < 1e-5, "along: %g",
              (double)y[2]);
        CHECK(ad_fn_taylor(fn, x, v, 2, y) == ADREV_OK, "across");
        CHECK(fabs((double)(y[1] / scales[k])) < 1e-5, "across: %g",
              (double)y[1]);
        CHECK_CLOSE(y[2], 2.5L * (long double)scales[k], 8);
        ad_fn_free(fn);
    }
    const ad_real zero[3] = { 0 };
    ad_real y[2];
    ad_fn *fn = record(lengths, NULL, 3, along, 1);
    CHECK(ad_fn_taylor(fn, zero, along, 1, y) == ADREV_OK && y[0] == 0
              && y[1] == 0, "at 0: %g, %g", (double)y[0], (double)y[1]);
    ad_fn_free(fn);
}

// At 0 a quotient is infinite, but it does not move if its parts do not.
static void check_still_quotient(void)
{
    const ad_real at[VN] = { 2, 0, 1, 1 };
    const ad_real along[VN] = { 0, 0, 1, 0 };
    ad_real y[3 * VM];
    ad_fn *fn = record(divided, NULL, VN, (ad_real[]){ 1, 2, 3, 4 }, VM);
    CHECK(ad_fn_taylor(fn, at, along, 2, y) == ADREV_OK, "taylor");
    CHECK(isinf(y[0]) && y[VM] == 0 && y[2 * VM] == 0, "%g %g %g",
          (double)y[0], (double)y[VM], (double)y[2 * VM]);
    CHECK(y[2] == 1 && y[VM + 2] == 1 && y[2 * VM + 2] == 0, "%g %g %g",
          (double)y[2], (double)y[VM + 2], (double)y[2 * VM + 2]);
    ad_fn_free(fn);
}

static void check_coefficients(void)
{
#define ENTER(name, at) check_alone(#name, f_##name, s_##name, at);
    ALONE(ENTER)
#undef ENTER
    check_vector("composed", composed, series_composed);
    check_vector("arrays", arrayed, series_arrayed);
    check_vector("quotients", divided, series_divided);
    check_still_quotient();
    check_zeros();
    check_taylor_guard();
    check_external();
    check_lengths();
    until_success(taylor_attempt);
}

int main(void)
{
    check_paths();
    check_calls();
    check_coefficients();
    CHECK(heap.live == 0, "%zu blocks leaked", heap.live);
    return check_done("recorded_paths");
}
