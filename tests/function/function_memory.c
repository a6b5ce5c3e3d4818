// SPDX-License-Identifier: MIT-0
// tags: recorded slow threads
// flags: -pthread
/* function_memory.c - recorded functions: memory that is counted, and runs out;
 * threads; a large program.                                                 */

#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

// A function without an allocator uses malloc: count it, too.
static void *counted_malloc(size_t bytes);
static void counted_free(void *block);
#define malloc counted_malloc
#define free counted_free
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#undef malloc
#undef free

#include "check.h"
#include "recorded.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* --- memory that is counted, and runs out --------------------------------- */

typedef struct heap {
    size_t allocations;         // asked for
    size_t failing;             // the number of the first that fails; 0: none
    bool for_ever;              // it and all later ones
    size_t live;                // blocks
    size_t bytes;
    size_t bytes_most;
    bool wrong;                 // a block came back that this heap did not give
    pthread_mutex_t lock;
} heap;

#define HEAP { .lock = PTHREAD_MUTEX_INITIALIZER }

// In front of each block, and aligned as by malloc.
struct block {
    max_align_t first;
    heap *owner;
    size_t bytes;
};

static struct block *heap_take(heap *h, size_t bytes)
{
    h->allocations++;
    bool at = h->failing > 0 && h->allocations >= h->failing;
    if (at && (h->for_ever || h->allocations == h->failing))
        return NULL;
    struct block *b = malloc(sizeof *b + bytes);
    if (b == NULL)
        return NULL;
    b->owner = h;
    b->bytes = bytes;
    h->live++;
    h->bytes += bytes;
    h->bytes_most = h->bytes > h->bytes_most ? h->bytes : h->bytes_most;
    return b;
}

// NaN to those who take it for numbers, far outside of every array to those who
// take it for an index, and no mark for `none`.
static void *filled(void *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)memory)[i] = i % 2 == 0 ? 0xf7 : 0xff;
    return memory;
}

// What was not written, or is read after it was given back, is no number.
static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    pthread_mutex_lock(&h->lock);
    struct block *b = heap_take(h, bytes);
    pthread_mutex_unlock(&h->lock);
    return b == NULL ? NULL : filled(b + 1, bytes);
}

static void heap_free(void *memory, void *user)
{
    heap *h = user;
    struct block *b = (struct block *)memory - 1;
    pthread_mutex_lock(&h->lock);
    if (b->owner == h) {
        h->live--;
        h->bytes -= b->bytes;
        free(filled(b, sizeof *b + b->bytes));
    } else {
        h->wrong = true;
    }
    pthread_mutex_unlock(&h->lock);
}

static heap standard = HEAP;    // what malloc is in the library

static void *counted_malloc(size_t bytes)
{
    return heap_alloc(bytes, &standard);
}

static void counted_free(void *block)
{
    if (block != NULL)
        heap_free(block, &standard);
}
/* --- memory that runs out ------------------------------------------------- */

// A bit of everything: guards, steps, constants, common and dead operations,
// an array, one result or two.
static void mixture(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t *results = ctx;
    ad_rev s = ad_rec(ad_mul(ad_sin(x[0]), ad_exp(x[1])));
    DROP(ad_rec(ad_tan(s)));
    if (ad_lt(s, 100))
        s = ad_rec(ad_add(s, ad_mul(ad_floor(x[2]), ad_sin(x[0]))));
    for (int i = 0; i < 20; i++)
        s = ad_rec(ad_add(ad_mul(s, 0.5), ad_mul(x[i % 3], x[(i + 1) % 3])));
    y[0] = s;
    y[*results - 1] = ad_rec(ad_mul(ad_dot(3, x, x),
                                    ad_log(ad_add(ad_sqr(s), 1))));
}

static const double mixture_at[3] = { 0.5, 0.25, 2.5 };
static const double mixture_x[3] = { -0.75, 1.25, 2.125 };

static bool same_answers(const answers *a, const answers *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static size_t one_result = 1;
static size_t two_results = 2;

static answers mixture_answers(size_t *results)
{
    static answers a;
    ad_fn *fn = recorded("mixture", mixture, results, 3, mixture_at, *results);
    ask_all(fn, mixture_x, &a);
    check_status("mixture", fn, &a, ADREV_OK);
    ad_fn_free(fn);
    return a;
}

static ad_status record_from(heap *h, size_t *results, ad_fn **fn)
{
    const ad_allocator from = { heap_alloc, heap_free, h };
    const ad_fn_options options = { .allocator = &from, .once = true };
    *fn = (ad_fn *)(uintptr_t)0x10;
    return ad_fn_record_with(fn, &options, mixture, results, 3, mixture_at,
                             *results);
}

// Returns whether nothing failed.
static bool record_failing(size_t failing, bool for_ever)
{
    heap h = HEAP;
    ad_fn *fn = NULL;
    h.failing = failing;
    h.for_ever = for_ever;
    ad_status s = record_from(&h, &two_results, &fn);
    if (s == ADREV_OK) {
        ad_fn_free(fn);
    } else {
        CHECK(s == ADREV_ENOMEM && fn == NULL, "record, %zu fails: %s",
              failing, ad_message(s));
    }
    CHECK(h.live == 0 && !h.wrong, "record, %zu fails: %zu blocks leak",
          failing, h.live);
    CHECK(ad_use(NULL) == NULL, "record, %zu fails: a tape is current",
          failing);
    return s == ADREV_OK;
}

// A question to a function, with little memory; then it is asked again, and all
// others.
static bool ask_failing(enum question q, size_t failing, bool for_ever,
                        size_t *results, const answers *want)
{
    heap h = HEAP;
    ad_fn *fn = NULL;
    static answers a;
    if (!CHECK(record_from(&h, results, &fn) == ADREV_OK, "record"))
        return true;
    if (for_ever)       // asked before, where the path is another
        ask_all(fn, (const double[3]){ (double)NAN, 0, -9 }, &a);
    h.failing = h.allocations + failing;
    h.for_ever = for_ever;
    for (size_t i = 0; i < COUNT(a.out[q]); i++)
        a.out[q][i] = UNTOUCHED;
    ad_status s = ask(q, fn, mixture_x, &a);
    CHECK(s == want->status[q] || s == ADREV_ENOMEM, "%s, %zu fails: %s",
          question_names[q], failing, ad_message(s));
    CHECK(s == ADREV_OK || touched(a.out[q], 0, COUNT(a.out[q])) == 0,
          "%s, %zu fails: an output was touched", question_names[q], failing);
    h.failing = 0;
    ask_all(fn, mixture_x, &a);
    CHECK(same_answers(&a, want), "%s, %zu fails: other answers afterwards",
          question_names[q], failing);
    ad_fn_free(fn);
    CHECK(h.live == 0 && !h.wrong, "%s, %zu fails: %zu blocks leak",
          question_names[q], failing, h.live);
    return s != ADREV_ENOMEM;
}

// Question q with one allocation after the other failing, until it succeeds.
static void until_success(enum question q, bool for_ever, size_t *results,
                          const answers *want)
{
    size_t n = 1;
    while (n < 1000 && !ask_failing(q, n, for_ever, results, want))
        n++;
    CHECK(n < 1000, "%s never succeeds", question_names[q]);
    CHECK(n > 3 || for_ever || want->status[q] != ADREV_OK,
          "%s: asked first, only %zu allocations", question_names[q], n - 1);
}

static void test_memory(void)
{
    const answers one = mixture_answers(&one_result);
    const answers two = mixture_answers(&two_results);
    size_t before = standard.allocations;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        size_t n = 1;
        while (n < 1000 && !record_failing(n, for_ever))
            n++;
        CHECK(n > 3 && n < 1000, "record: %zu allocations", n - 1);
        for (int q = 0; q < ASK_COUNT; q++) {
            until_success((enum question)q, for_ever, &one_result, &one);
            until_success((enum question)q, for_ever, &two_results, &two);
        }
    }
    CHECK(standard.allocations == before,
          "a function with an allocator uses malloc");
}

// A report that cannot be counted says what is known; later it can.
static void test_report_without_memory(void)
{
    heap h = HEAP;
    ad_fn *fn = NULL;
    if (!CHECK(record_from(&h, &two_results, &fn) == ADREV_OK, "record"))
        return;
    ad_fn_report r = ad_fn_about(fn);
    ad_fn_report known = r;
    known.dead = known.operations = known.arrays = 0;
    h.failing = h.allocations + 1;
    check_report("no memory", ad_fn_about(fn), known);
    h.failing = 0;
    CHECK(r.recorded == r.constant + r.common + r.identity + r.dead
                      + r.operations, "recorded %zu, operations %zu",
          r.recorded, r.operations);
    check_report("again", ad_fn_about(fn), r);
    ad_fn_free(fn);
    CHECK(h.live == 0 && !h.wrong, "a report: %zu blocks leak", h.live);
}

// Without an allocator all memory comes from malloc, and goes back.
static void test_malloc(void)
{
    size_t live = standard.live;
    size_t before = standard.allocations;
    mixture_answers(&two_results);
    CHECK(standard.allocations > before, "malloc is not used");
    CHECK(standard.live == live && !standard.wrong, "%zu blocks leak",
          standard.live - live);
}

// Asked again and again a function holds no more.
static void test_steady(void)
{
    heap h = HEAP;
    ad_fn *fn = NULL;
    static answers a;
    if (!CHECK(record_from(&h, &two_results, &fn) == ADREV_OK, "record"))
        return;
    ask_all(fn, mixture_x, &a);
    size_t bytes = h.bytes;
    for (int i = 0; i < 50; i++)
        ask_all(fn, mixture_x, &a);
    CHECK(h.bytes == bytes, "%zu bytes at first, then %zu", bytes, h.bytes);
    ad_fn_free(fn);
}

/* --- threads -------------------------------------------------------------- */

enum { THREADS = 6, POINTS = 12, ROUNDS = 12 };

// Threads write down what they got: CHECK is the main thread's alone.
struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    ad_fn *fn;
    int number;
    answers a[POINTS];
    ad_guard guard[POINTS];
};

static void point_of(int i, double *x)
{
    for (int k = 0; k < 3; k++)
        x[k] = mixture_at[k] + 0.03125 * ((i * (k + 3)) % 7);
    if (i % 4 == 3)
        x[2] += 2;                      // floor(x[2]) is the second guard
    if (i % 6 == 5)
        x[1] += 9;                      // exp(x[1]) the first
}

// Each thread begins with another point and another question.
static void *work(void *argument)
{
    struct worker *w = argument;
    double x[3];
    pthread_barrier_wait(w->start);
    point_of(w->number, x);
    ask((enum question)(w->number % ASK_COUNT), w->fn, x, &w->a[0]);
    for (int k = 0; k < POINTS; k++) {
        int i = (k + w->number) % POINTS;
        point_of(i, x);
        ask_all(w->fn, x, &w->a[i]);
        w->guard[i] = ad_fn_guard();
    }
    return NULL;
}

static void check_workers(const struct worker *w, const struct worker *alone)
{
    for (int i = 0; i < POINTS; i++) {
        CHECK(same_answers(&w->a[i], &alone->a[i]),
              "thread %d, point %d: other answers than alone", w->number, i);
        if (alone->a[i].status[ASK_HESSIAN] == ADREV_EPATH)
            CHECK(w->guard[i].index == (i % 6 == 5 ? 0 : 1),
                  "thread %d, point %d: guard %zu", w->number, i,
                  w->guard[i].index);
    }
}

static void run_threads(heap *h, const struct worker *alone)
{
    static struct worker workers[THREADS];
    pthread_barrier_t start;
    ad_fn *fn = NULL;
    if (!CHECK(record_from(h, &two_results, &fn) == ADREV_OK, "record"))
        return;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ .start = &start, .fn = fn, .number = i };
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0,
              "thread %d", i);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    for (int i = 0; i < THREADS; i++)
        check_workers(&workers[i], alone);
    ad_fn_free(fn);
}

static void test_threads(void)
{
    static struct worker alone;
    heap h = HEAP;
    int paths = 0;
    ad_fn *fn = recorded("mixture", mixture, &two_results, 3, mixture_at, 2);
    for (int i = 0; i < POINTS; i++) {
        double x[3];
        point_of(i, x);
        ask_all(fn, x, &alone.a[i]);
        bool other = i % 4 == 3 || i % 6 == 5;
        check_status("mixture", fn, &alone.a[i],
                     other ? ADREV_EPATH : ADREV_OK);
        paths += other;
    }
    CHECK(paths > 2 && paths < POINTS - 2, "%d points of another path", paths);
    ad_fn_free(fn);
    for (int i = 0; i < ROUNDS; i++)
        run_threads(&h, &alone);
    CHECK(h.live == 0 && !h.wrong, "%zu blocks leak", h.live);
}

/* --- a large one-------------------------------------------------------------
 * v = v + h sin v, x[1] added now and then: a chain as deep as it is long, on a
 * stack on which nothing can recurse along it.                               */

struct chain {
    size_t steps;
    heap h;
    double seconds;
    double x[2];
    double y, g[2], hv[2], H[4];
    ad_status status;
    ad_fn_report report;
};

enum { STEPS = 50000 };         // two operations each

static void run_chain(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct chain *c = ctx;
    double h = 1.0 / (double)c->steps;
    ad_rev v = x[0];
    for (size_t i = 0; i < c->steps; i++)
        v = ad_rec(ad_fma(h, i % 1000 ? ad_rec(ad_sin(v))
                                      : ad_rec(ad_mul(x[1], x[1])), v));
    y[0] = v;
}

static void *evaluate_chain(void *argument)
{
    struct chain *c = argument;
    const double at[2] = { 1, 1 };
    const double one = 1;
    const double v[2] = { 1, -2 };
    const ad_allocator from = { heap_alloc, heap_free, &c->h };
    const ad_fn_options options = { .allocator = &from };
    ad_fn *fn = NULL;
    clock_t before = clock();
    ad_status s = ad_fn_record_with(&fn, &options, run_chain, c, 2, at, 1);
    s = s ? s : ad_fn_gradient(fn, c->x, &c->y, c->g);
    s = s ? s : ad_fn_hvp(fn, c->x, &one, v, c->hv);
    s = s ? s : ad_fn_hessian(fn, c->x, &one, c->H);
    c->seconds = (double)(clock() - before) / (double)CLOCKS_PER_SEC;
    if (fn != NULL)
        c->report = ad_fn_about(fn);
    ad_fn_free(fn);
    c->status = s;
    return NULL;
}

// The same recurrence with its derivatives, in long double.
static void check_chain(const struct chain *c)
{
    long double h = (long double)(1.0 / (double)c->steps);
    long double v = (long double)c->x[0];
    long double u = (long double)c->x[1];
    long double d[2] = { 1, 0 };
    long double H[3] = { 0, 0, 0 };     // 00, 01, 11
    for (size_t i = 0; i < c->steps; i++) {
        bool in = i % 1000 == 0;
        long double s = in ? 0 : h * sinl(v);
        long double k = in ? 0 : h * cosl(v);
        H[0] += k * H[0] - s * d[0] * d[0];
        H[1] += k * H[1] - s * d[0] * d[1];
        H[2] += k * H[2] - s * d[1] * d[1] + (in ? 2 * h : 0);
        d[0] += k * d[0];
        d[1] += k * d[1] + (in ? 2 * h * u : 0);
        v += in ? h * u * u : s;
    }
    // Rounding adds up along the chain, as the root of its length or so.
    const long double far = 1e-13L;
    CHECK_NEAR(c->y, v, far);
    CHECK_NEAR(c->g[0], d[0], far);
    CHECK_NEAR(c->g[1], d[1], far);
    CHECK_NEAR(c->H[0], H[0], far);
    CHECK_NEAR(c->H[1], H[1], far);
    CHECK_NEAR(c->H[2], H[1], far);
    CHECK_NEAR(c->H[3], H[2], far);
    CHECK_NEAR(c->hv[0], H[0] - 2 * H[1], far * 4);
    CHECK_NEAR(c->hv[1], H[1] - 2 * H[2], far * 4);
}

static void start_chain(struct chain *c)
{
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (size_t)1 << 20);
    CHECK(pthread_create(&thread, &small, evaluate_chain, c) == 0, "a thread");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
    CHECK(c->status == ADREV_OK, "%zu steps: %s", c->steps,
          ad_message(c->status));
    CHECK(c->h.live == 0 && !c->h.wrong, "%zu blocks leak", c->h.live);
}

// Ten times as long: ten times the memory, but for what blocks are rounded up
// by, and ten times the seconds, but for what else the machine does.
static void test_large(void)
{
    static struct chain small = { .steps = STEPS / 10, .h = HEAP,
                                  .x = { 0.5, 2 } };
    static struct chain large = { .steps = STEPS, .h = HEAP,
                                  .x = { 0.5, 2 } };
    start_chain(&small);
    start_chain(&large);
    check_chain(&small);
    check_chain(&large);
    CHECK(large.report.recorded == 2 * STEPS, "%zu operations",
          large.report.recorded);
    // Of x[1]*x[1] nearly all are found again, however long ago they were.
    CHECK(large.report.common > STEPS / 1000 * 3 / 4, "%zu common",
          large.report.common);
    CHECK(large.h.bytes_most < 21 * small.h.bytes_most, "%zu bytes, then %zu",
          small.h.bytes_most, large.h.bytes_most);
    CHECK(large.h.allocations < 3 * small.h.allocations + 200,
          "%zu allocations, then %zu", small.h.allocations,
          large.h.allocations);
    CHECK(large.seconds < 40 * small.seconds + 0.05, "%g s, then %g s",
          small.seconds, large.seconds);
}

int main(void)
{
    test_memory();
    test_report_without_memory();
    test_malloc();
    test_steady();
    test_threads();
    test_large();
    CHECK(standard.live == 0 && !standard.wrong, "%zu blocks leak",
          standard.live);
    return check_done("function_memory");
}
