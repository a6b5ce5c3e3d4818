// SPDX-License-Identifier: MIT-0
// tags: threads
// flags: -DADREV_CHAOS=1 -pthread
/* parallel_errors.c - what goes wrong with forks: values of branches that may
 * still run, whatever the order in which they do; values from before a clear;
 * queries and pools where they must not be; every allocation that may fail;
 * external statements that fail; many threads on one pool.
 *
 * Whatever it is: the fork returns, the status says it, nothing leaks, and the
 * tape works again once it is cleared.                                       */

#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdlib.h>

// What the library allocates without an allocator of the user.
static void *standard_malloc(size_t bytes);
static void standard_free(void *block);
#define malloc standard_malloc
#define free standard_free
#define ADREV_IMPLEMENTATION
#include "adrev_parallel.h"
#undef malloc
#undef free
#include "check.h"
#include "forks.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define UNTOUCHED 77

/* --- memory that runs out, for any number of threads ---------------------- */

typedef struct heap {
    atomic_size_t asked;
    atomic_size_t live;
    size_t failing;             // the number of the first that fails; 0: none
    bool for_ever;              // it and all later ones
} heap;

static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    size_t n = atomic_fetch_add(&h->asked, 1) + 1;
    bool fails = h->failing != 0
              && (n == h->failing || (h->for_ever && n > h->failing));
    void *block = fails || bytes == 0 ? NULL : malloc(bytes);
    if (block != NULL)
        atomic_fetch_add(&h->live, 1);
    return block;
}

static void heap_free(void *block, void *user)
{
    heap *h = user;
    if (block != NULL)
        atomic_fetch_sub(&h->live, 1);
    free(block);
}

static void heap_reset(heap *h, size_t failing, bool for_ever)
{
    atomic_store(&h->asked, 0);
    atomic_store(&h->live, 0);
    h->failing = failing;
    h->for_ever = for_ever;
}

static heap standard;

static void *standard_malloc(size_t bytes)
{
    return heap_alloc(bytes, &standard);
}

static void standard_free(void *block)
{
    heap_free(block, &standard);
}

/* --- schedules: the order in which branches run --------------------------- */

typedef struct order {
    const size_t *of;           // a permutation of 0, 1, 2; others as they are
} order;

static void in_order(size_t n, ad_call_fn *call, void *arg, void *user)
{
    const order *o = user;
    for (size_t k = 0; k < n; k++)
        call(n == 3 ? o->of[k] : k, arg);
}

static void backwards(size_t n, ad_call_fn *call, void *arg, void *user)
{
    (void)user;
    for (size_t i = n; i-- > 0;)
        call(i, arg);
}

static const size_t permutations[6][3] = {
    { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 },
    { 2, 1, 0 },
};

static void check_status(ad_status want, const char *what)
{
    ad_status got = ad_tape_status(tape);
    CHECK(got == want, "%s, %s: got \"%s\", want \"%s\"", what, pool_name,
          ad_message(got), ad_message(want));
}

// A cleared tape is as good as new, whatever happened before.
static void check_again(const char *what)
{
    ad_tape_clear(tape);
    check_status(ADREV_OK, what);
    check_arity(5);
    ad_tape_clear(tape);
}

/* --- races ----------------------------------------------------------------
 * A branch publishes a value and uses what the others have published. Who runs
 * first finds nothing, and whoever is second is a race.                      */

enum use {
    ADD, ACCUMULATE, SUM, DOT, EXTERNAL, CAPTURE, NESTED, GRAD, USES
};

static const char *const use_names[USES] = {
    "an operation", "ad_acc", "ad_sum", "ad_dot", "ad_external", "ad_capture",
    "a branch within", "ad_grad within"
};

// Values that a branch publishes: of its own, of a branch of its that is done,
// of a branch of its that still runs.
enum origin { OWN, BRANCH, RUNNING, ORIGINS };

static const char *const origin_names[ORIGINS] = {
    "its own", "of a branch that is done", "of a branch that still runs"
};

typedef struct race {
    ad_rev x;
    ad_rev value[3];
    atomic_bool there[3];
    atomic_int used;            // how many published values were used
    atomic_int refused;         // by ad_grad, whose errors do not stay
    enum use use;
    enum origin origin;
    int wait;                   // turns to wait for one
} race;

static bool no_pullback(const void *saved, size_t m, const ad_real dy[],
                        size_t n, ad_real dx[])
{
    (void)saved;
    (void)m;
    (void)dy;
    (void)n;
    (void)dx;
    return true;
}

static const ad_external_rule harmless = { .name = "harmless",
                                           .pullback = no_pullback };

static void use_within(void *ctx)
{
    DROP(ad_rec(ad_sin(*(ad_rev *)ctx)));
}

static ad_rev grad_of(const ad_rev *x, void *ctx)
{
    return ad_rec(ad_mul(x[0], *(ad_rev *)ctx));
}

static void use_value(race *r, ad_rev v)
{
    ad_rev s = r->x;
    ad_rev pair[2] = { r->x, v };
    ad_real one = 1;
    switch (r->use) {
    case ADD: DROP(ad_rec(ad_add(r->x, v))); break;
    case ACCUMULATE: ad_acc(&s, v); break;
    case SUM: ad_sum(2, pair); break;
    case DOT: ad_dot(1, &r->x, &v); break;
    case EXTERNAL: ad_external(&harmless, NULL, 0, 2, pair, 1, &one, &s); break;
    case CAPTURE: ad_capture(1, &v, &s); break;
    case NESTED: ad_fork2(use_within, &v, use_within, pair); break;
    case GRAD:
        if (ad_grad(grad_of, &v, 1, &one, NULL, &one) == ADREV_ERACE)
            atomic_fetch_add(&r->refused, 1);
        break;
    case USES: break;
    }
}

typedef struct racer {
    race *r;
    size_t i;
} racer;

static void publish(racer *a)
{
    a->r->value[a->i] = ad_rec(ad_mul(a->r->x, (ad_real)(a->i + 2)));
    if (a->r->origin != BRANCH)
        atomic_store(&a->r->there[a->i], true);
}

static void meet(racer *a)
{
    race *r = a->r;
    bool found = false;
    for (int turn = 0; !found && turn <= r->wait; turn++) {
        for (size_t i = 0; i < 3; i++)
            if (i != a->i && atomic_load(&r->there[i])) {
                found = true;
                use_value(r, r->value[i]);
                atomic_fetch_add(&r->used, 1);
            }
        if (!found && r->wait > 0)
            sched_yield();
    }
}

static void publish_branch(void *ctx)
{
    publish(ctx);
}

static void publish_and_meet(void *ctx)
{
    publish(ctx);
    meet(ctx);
}

static void quiet(void *ctx)
{
    (void)ctx;
}

static void racing(size_t i, void *ctx)
{
    racer a = { ctx, i };
    race *r = ctx;
    if (r->origin == OWN) {
        publish(&a);
        meet(&a);
    } else if (r->origin == BRANCH) {
        ad_fork2(publish_branch, &a, quiet, NULL);
        atomic_store(&r->there[i], true);
        meet(&a);
    } else {
        ad_fork2(quiet, NULL, publish_and_meet, &a);
    }
}

static void check_race(enum use use, enum origin origin, int wait,
                       const char *what)
{
    race r = { .x = ad_input(2), .use = use, .origin = origin, .wait = wait };
    ad_real g = UNTOUCHED;
    ad_fork_n(3, racing, &r);
    ad_status got = ad_tape_status(tape);
    ad_status want = r.used > 0 && use != GRAD ? ADREV_ERACE : ADREV_OK;
    CHECK(use != GRAD || r.refused == r.used, "%s, %s: ad_grad refused %d of "
          "%d values %s", what, pool_name, r.refused, r.used,
          origin_names[origin]);
    CHECK(wait > 0 || r.used == 3, "%s: %d uses, not 3", what, r.used);
    CHECK(got == want, "%s, %s: %s of values %s: got \"%s\", want \"%s\"",
          what, pool_name, use_names[use], origin_names[origin],
          ad_message(got), ad_message(want));
    got = ad_gradient(tape, r.x, 1, &r.x, &g);
    CHECK(got == want && (want == ADREV_OK || g == UNTOUCHED),
          "a query says \"%s\"", ad_message(got));
    check_again("after a race");
}

static void check_races(int wait, const char *what)
{
    for (int use = 0; use < USES; use++)
        for (int origin = 0; origin < ORIGINS; origin++)
            check_race((enum use)use, (enum origin)origin, wait, what);
}

static void test_races(void)
{
    check_races(200, "at once");
    for (int p = 0; p < 6; p++) {
        order o = { permutations[p] };
        right(ad_executor_use(in_order, &o), "an order");
        check_races(0, "one after the other");
        right(ad_executor_use(NULL, NULL), "no order");
    }
}

// A value that is legal to everyone, and one that is to nobody yet: the third
// generation of one branch of a fork, used in the third of another.
typedef struct cousin {
    ad_rev x;
    ad_rev old;                 // of a fork that is done
    ad_rev *mine;
    const ad_rev *others;
    int depth;
    atomic_int *used;
} cousin;

static void grandchild(void *ctx)
{
    cousin *c = ctx;
    if (c->depth > 0) {
        cousin below = *c;
        below.depth--;
        ad_fork2(quiet, NULL, grandchild, &below);
        DROP(ad_rec(ad_mul(*c->mine, c->old)));       // its own grandchild's: legal
        return;
    }
    *c->mine = ad_rec(ad_mul(c->x, c->old));
    if (c->others->job != 0) {
        atomic_fetch_add(c->used, 1);
        DROP(ad_rec(ad_mul(*c->others, 2)));
    }
}

static void test_cousins(void)
{
    for (int legal = 0; legal < 2; legal++)
        for (int depth = 0; depth < 4; depth++) {
            atomic_int used = 0;
            ad_rev of[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
            race before = { .x = ad_input(3), .origin = BRANCH, .wait = 1 };
            racer maker = { &before, 0 };
            ad_fork2(publish_branch, &maker, quiet, NULL);
            cousin a = { before.x, before.value[0], &of[0], &of[1], depth,
                         &used };
            cousin b = a;
            b.mine = &of[1];
            b.others = &of[0];
            right(ad_executor_use(depth % 2 ? backwards : NULL, NULL), "order");
            if (legal) {                // one after the other: two forks
                ad_fork2(grandchild, &a, quiet, NULL);
                ad_fork2(quiet, NULL, grandchild, &b);
            } else {
                order o = { permutations[0] };
                right(ad_executor_use(in_order, &o), "order");
                ad_fork2(grandchild, &a, grandchild, &b);
            }
            right(ad_executor_use(NULL, NULL), "no order");
            CHECK(used == 1, "depth %d: %d uses", depth, used);
            check_status(legal ? ADREV_OK : ADREV_ERACE,
                         legal ? "a finished cousin" : "a cousin");
            check_again("after cousins");
        }
}

// A fork by hand: what comes between enter and leave is the branch's, in any
// order of the branches.
static void test_races_by_hand(void)
{
    for (int p = 0; p < 6; p++) {
        ad_rev x = ad_input(2);
        ad_rev v[3];
        ad_fork fork;
        ad_fork_open(&fork, 3);
        for (int k = 0; k < 3; k++) {
            ad_branch b;
            size_t i = permutations[p][k];
            ad_branch_enter(&b, &fork, i);
            v[i] = ad_rec(ad_sin(x));
            if (k == 2)
                DROP(ad_rec(ad_mul(v[permutations[p][0]], x)));
            ad_branch_leave(&b);
        }
        ad_fork_close(&fork);
        check_status(ADREV_ERACE, "by hand");
        check_again("by hand");
    }
}

/* --- values of nobody ----------------------------------------------------- */

typedef struct stale {
    ad_rev v;
    ad_rev kept;                // made in a branch
    ad_rev inner;               // made in ad_grad in a branch
    ad_status status;           // of that
} stale;

static ad_rev leak(const ad_rev *x, void *ctx)
{
    stale *s = ctx;
    s->inner = ad_rec(ad_sin(x[0]));
    return s->inner;
}

static void make_stale(void *ctx)
{
    stale *s = ctx;
    ad_real one = 1;
    ad_real g = 0;
    s->kept = ad_rec(ad_mul(s->v, 3));
    s->status = ad_grad(leak, s, 1, &one, NULL, &g);
}

static void fork_stale(stale *s)
{
    ad_fork2(make_stale, s, quiet, NULL);
    right(s->status, "ad_grad in a branch");
}

static void use_stale(void *ctx)
{
    DROP(ad_rec(ad_sin(*(const ad_rev *)ctx)));
}

static void check_foreign(ad_rev v, bool in_branch, const char *what)
{
    ad_real g = UNTOUCHED;
    ad_rev x = ad_input(1);
    CHECK(ad_gradient(tape, v, 1, &x, &g) == ADREV_EFOREIGN && g == UNTOUCHED,
          "%s, %s: a query knows it", what, pool_name);
    CHECK(ad_gradient(tape, x, 1, &v, &g) == ADREV_EFOREIGN, "%s: as x", what);
    if (in_branch)
        ad_fork2(quiet, NULL, use_stale, &v);
    else
        use_stale(&v);
    check_status(ADREV_EFOREIGN, what);
    check_again(what);
}

static void test_foreign(void)
{
    for (int in_branch = 0; in_branch < 2; in_branch++) {
        stale s = { .v = ad_input(2) };
        fork_stale(&s);
        check_foreign(s.inner, in_branch, "of ad_grad in a branch");
        ad_tape_clear(tape);

        s = (stale){ .v = ad_input(2) };
        fork_stale(&s);
        ad_tape_clear(tape);
        check_foreign(s.kept, in_branch, "of a branch, cleared");
        check_foreign(s.v, in_branch, "of the root, cleared");

        s = (stale){ .v = ad_input(2) };
        ad_mark mark = ad_tape_mark(tape);
        fork_stale(&s);
        CHECK(ad_tape_rewind(tape, mark) == ADREV_OK, "rewind");
        check_foreign(s.kept, in_branch, "of a branch, rewound");

        ad_tape *other = ad_tape_new();
        ad_use(other);
        s = (stale){ .v = ad_input(2) };
        fork_stale(&s);
        ad_use(tape);
        check_foreign(s.kept, in_branch, "of a branch of another tape");
        ad_tape_free(other);
        check_foreign(s.kept, in_branch, "of a branch of no tape");
    }
}

/* --- in use --------------------------------------------------------------- */

typedef struct busy {
    ad_rev x;
    ad_rev y;
    ad_tape *root;
    ad_pool *other;
    int what;                   // that is done in the branch
    ad_status got[11];
    bool touched;
} busy;

static void query_in_branch(void *ctx)
{
    busy *b = ctx;
    ad_real one = 1;
    ad_real g[4] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    ad_term term;
    ad_explanation sum;
    ad_tape *t = b->root;
    b->y = ad_rec(ad_mul(b->x, ad_rec(ad_sin(b->x))));
    b->got[0] = ad_gradient(t, b->x, 1, &b->x, &g[0]);
    b->got[1] = ad_pullback(t, 1, &b->x, &one, 1, &b->x, &g[1]);
    b->got[2] = ad_pushforward(t, 1, &b->x, &one, 1, &b->x, &g[2]);
    b->got[3] = ad_jacobian(t, 1, &b->x, 1, &b->x, &g[3]);
    b->got[4] = ad_explain(t, b->x, b->x, 1, &term, &sum);
    b->got[5] = ad_pool_use(b->other);
    b->got[6] = ad_pool_use(NULL);
    b->got[7] = ad_executor_use(backwards, NULL);
    b->got[8] = ad_executor_use(NULL, NULL);
    ad_tape *here = ad_use(NULL);       // of the same recording
    ad_use(here);
    b->got[9] = ad_gradient(here, b->y, 1, &b->x, &g[0]);
    b->got[10] = ad_pushforward(here, 1, &b->x, &one, 1, &b->y, &g[1]);
    for (int i = 0; i < 4; i++)
        b->touched = b->touched || g[i] != UNTOUCHED;
}

static void query_deeper(void *ctx)
{
    ad_fork2(quiet, NULL, query_in_branch, ctx);
}

// Nothing is lost: the recording goes on, and its gradient is right.
static void test_busy_queries(void)
{
    ad_pool *other = ad_pool_new(1);
    for (int deep = 0; deep < 2; deep++) {
        busy b = { .x = ad_input(2), .root = tape, .other = other };
        ad_real g = 0;
        ad_fork2(deep ? query_deeper : query_in_branch, &b, quiet, NULL);
        for (int i = 0; i < 11; i++)
            CHECK(b.got[i] == ADREV_EBUSY, "%s, depth %d: query %d: got "
                  "\"%s\"", pool_name, deep, i, ad_message(b.got[i]));
        CHECK(!b.touched, "a refused query writes");
        check_status(ADREV_OK, "queries in a branch");
        right(ad_gradient(tape, b.y, 1, &b.x, &g), "afterwards");
        CHECK_NEAR(g, sinl(2) + 2 * cosl(2), SINGLE ? 1e-6 : 1e-15);
        ad_tape_clear(tape);
    }
    ad_pool_free(other);
    CHECK(ad_pool_use(NULL) == ADREV_OK, "after the join it is free again");
}

static void disturb(void *ctx)
{
    busy *b = ctx;
    b->y = ad_rec(ad_mul(b->x, b->x));
    ad_tape *here = ad_use(NULL);
    ad_use(here);
    if (b->what == 0)
        ad_tape_clear(b->root);
    else if (b->what == 1)
        ad_tape_free(b->root);
    else if (b->what == 2)
        b->got[0] = ad_tape_rewind(b->root, (ad_mark){ 0 });
    else if (b->what == 3)
        ad_tape_clear(here);
    else if (b->what == 4)
        ad_tape_free(here);
}

static void use_result(void *ctx)
{
    busy *b = ctx;
    b->y = ad_rec(ad_mul(b->x, b->x));
}

// The tape is not cleared, nor freed; but it fails, for there is no status to
// return.
static void test_busy_clear(void)
{
    for (int what = 0; what < 5; what++) {
        busy b = { .x = ad_input(3), .root = tape, .what = what };
        busy good = { .x = b.x };
        size_t values = ad_tape_stats(tape).values;
        ad_fork2(disturb, &b, use_result, &good);
        CHECK(ad_tape_stats(tape).values >= values, "%d: values are lost",
              what);
        if (what != 2)
            check_status(ADREV_EBUSY, what % 3 == 0 ? "clear" : "free");
        else {
            ad_real g = 0;
            CHECK(b.got[0] == ADREV_EBUSY, "rewind: \"%s\"",
                  ad_message(b.got[0]));
            right(ad_gradient(tape, b.y, 1, &b.x, &g), "rewind in a branch");
            CHECK(g == 6, "got %g", (double)g);
        }
        check_again("cleared in a branch");
    }
}

// The same with an open fork and no branch at work.
static void test_busy_open(void)
{
    ad_rev x = ad_input(3);
    ad_real g = UNTOUCHED;
    ad_fork fork;
    ad_branch b;
    ad_fork_open(&fork, 2);
    CHECK(ad_gradient(tape, x, 1, &x, &g) == ADREV_EBUSY && g == UNTOUCHED,
          "a query while a fork is open");
    ad_branch_enter(&b, &fork, 1);
    ad_rev y = ad_rec(ad_mul(x, x));
    ad_branch_leave(&b);
    ad_fork_close(&fork);
    right(ad_gradient(tape, y, 1, &x, &g), "after it");
    CHECK(g == 6, "got %g", (double)g);
}

/* --- pools in use on other threads ---------------------------------------- */

typedef struct holder {
    ad_pool *pool;
    atomic_int stage;           // 1: it holds the pool; 2: it may let go
    ad_status status;
} holder;

static void *hold(void *ctx)
{
    holder *h = ctx;
    h->status = ad_pool_use(h->pool);
    atomic_store(&h->stage, 1);
    while (atomic_load(&h->stage) != 2)
        sched_yield();
    if (h->status == ADREV_OK)
        h->status = ad_pool_use(NULL);
    return NULL;
}

static void free_in_branch(void *ctx)
{
    ad_pool_free(ctx);
}

static void test_pool_free(void)
{
    holder h = { .pool = ad_pool_new(2) };
    pthread_t thread;
    CHECK(ad_pool_status(NULL) == ADREV_ENOTAPE, "no pool");
    ad_pool_free(NULL);
    CHECK(ad_pool_status(h.pool) == ADREV_OK, "a new pool");
    int error = pthread_create(&thread, NULL, hold, &h);
    CHECK(error == 0, "no thread: error %d", error);
    while (error == 0 && atomic_load(&h.stage) != 1)
        sched_yield();
    ad_pool_free(h.pool);
    CHECK(ad_pool_status(h.pool) == ADREV_EBUSY, "in use on another thread");
    right(ad_pool_use(h.pool), "it lives on");
    check_arity(20);
    ad_pool_free(h.pool);
    CHECK(ad_pool_status(h.pool) == ADREV_EBUSY, "here and there");
    check_arity(20);
    atomic_store(&h.stage, 2);
    pthread_join(thread, NULL);
    CHECK(h.status == ADREV_OK, "the other thread");

    ad_fork2(free_in_branch, h.pool, quiet, NULL);
    CHECK(ad_pool_status(h.pool) == ADREV_EBUSY, "in a branch");
    check_arity(20);
    ad_pool_free(h.pool);       // current here only
    check_arity(20);            // on no pool
}

/* --- memory --------------------------------------------------------------- */

enum { N = 40, ROWS = 3 };

typedef struct work {
    const ad_rev *x;
    ad_rev part[4][N];
    ad_rev y[ROWS];
} work;

static void square_one(size_t begin, size_t end, void *ctx)
{
    work *w = ctx;
    for (size_t i = begin; i < end; i++) {
        w->part[1][i] = ad_rec(ad_mul(w->x[i], w->x[i]));
        for (int k = 0; k < 20; k++)
            w->part[1][i] = ad_rec(ad_mul(w->part[1][i], 1));
    }
}

static void work_branch(size_t b, void *ctx)
{
    work *w = ctx;
    if (b == 0) {
        ad_scale(N, ad_rec(ad_add(1, ad_mul(0, w->x[0]))), w->x, w->part[0]);
    } else if (b == 1) {
        ad_parallel_for(N, 7, square_one, w);
    } else if (b == 2) {
        ad_capture(N, w->x, w->part[2]);
    } else {
        for (size_t i = 0; i < N; i++)
            w->part[3][i] = ad_rec(ad_mul(w->x[i], w->x[N - 1 - i]));
    }
}

// y = (sum of x^2, of i x^2, of x_i x_{N-1-i}), through forks.
static void work_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    work w = { .x = x };
    ad_real c[N];
    (void)ctx;
    for (int i = 0; i < N; i++)
        c[i] = (ad_real)i;
    ad_fork_n(4, work_branch, &w);
    y[0] = ad_dot(N, w.part[0], w.part[2]);
    y[1] = ad_dotc(N, w.part[1], c);
    y[2] = ad_sum(N, w.part[3]);
}

static ad_rev work_scalar(const ad_rev *x, void *ctx)
{
    ad_rev y[ROWS];
    work_rows(x, y, ctx);
    return y[1];
}

static void point(ad_real at[N])
{
    for (int i = 0; i < N; i++)
        at[i] = (ad_real)(i % 5 - 2);
}

static bool row_is_right(int row, const ad_real g[N])
{
    ad_real at[N];
    bool good = true;
    point(at);
    for (int i = 0; i < N; i++) {
        ad_real want = row == 0 ? 2 * at[i]
                     : row == 1 ? 2 * (ad_real)i * at[i] : 2 * at[N - 1 - i];
        good = good && g[i] == want;
    }
    return good;
}

// Success with the right numbers; or else out of memory, and nothing written.
static bool clean(ad_status s, const char *what, int row, const ad_real g[N])
{
    bool untouched = true;
    for (int i = 0; i < N; i++)
        untouched = untouched && g[i] == UNTOUCHED;
    CHECK(s == ADREV_OK ? row_is_right(row, g)
                        : s == ADREV_ENOMEM && untouched,
          "%s, %s: \"%s\", %s", what, pool_name, ad_message(s),
          untouched ? "untouched" : "written");
    return s == ADREV_OK;
}

static void fill(size_t n, ad_real g[])
{
    for (size_t i = 0; i < n; i++)
        g[i] = UNTOUCHED;
}

// Whether all went well.
static bool steps(ad_tape *t)
{
    ad_real at[N];
    ad_real J[ROWS * N];
    ad_rev x[N];
    ad_rev y[ROWS];
    point(at);
    ad_inputs(N, at, x);
    work_rows(x, y, NULL);
    bool ok = true;
    for (int i = 0; i < ROWS; i++) {
        fill(N, J);
        ok &= clean(ad_gradient(t, y[i], N, x, J), "gradient", i, J);
    }
    fill(ROWS * N, J);
    ad_status s = ad_jacobian(t, ROWS, y, N, x, J);
    for (int i = 0; i < ROWS; i++)
        ok &= clean(s, "Jacobian", i, J + i * N);
    fill(N, J);
    ok &= clean(ad_grad(work_scalar, NULL, N, at, NULL, J), "ad_grad", 1, J);
    return ok & (ad_tape_status(t) == ADREV_OK);
}

static bool run_out(size_t failing, bool for_ever)
{
    static heap h;
    ad_allocator allocator = { heap_alloc, heap_free, &h };
    heap_reset(&h, failing, for_ever);
    ad_tape *t = ad_tape_new_with(&allocator);
    if (t == NULL) {
        CHECK(failing == 1 && h.live == 0, "no tape");
        return false;
    }
    ad_use(t);
    bool ok = steps(t);
    bool reached = h.asked >= failing;
    h.failing = 0;
    ad_tape_clear(t);
    CHECK(ad_tape_status(t) == ADREV_OK, "a cleared tape failed");
    CHECK(steps(t), "%s: with memory back it does not work (%zu)", pool_name,
          failing);
    ad_tape_free(t);
    CHECK(h.live == 0, "%s, failing at %zu: %zu blocks leaked", pool_name,
          failing, (size_t)h.live);
    // Under a pool the number of allocations is another each time.
    return ok && (failing == 0 || !reached);
}

static void test_tape_memory(void)
{
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        size_t n = 1;
        while (n < 3000 && !run_out(n, for_ever))
            n++;
        CHECK(n > 10, "only %zu allocations: nothing was tried", n);
        CHECK(n < 3000, "%s: it never succeeds", pool_name);
        CHECK(run_out(0, false), "it fails with all memory");
    }
    ad_use(tape);
}

static void block(void *ctx)
{
    ad_rev *v = ctx;
    *v = ad_rec(ad_mul(*v, 2));
}

// What forks need besides a tape: the results of a reduction, and more branches
// than a block has room for.
static ad_rev multiple(size_t begin, size_t end, void *ctx)
{
    (void)end;
    return ad_rec(ad_mul(*(ad_rev *)ctx, (ad_real)(begin + 1)));
}

static ad_rev forked_sum(ad_rev x)
{
    ad_rev v[20];
    for (int i = 0; i < 20; i++)
        v[i] = x;
    ADREV_PARALLEL(scope) {
        for (int i = 0; i < 20; i++)
            ADREV_FORK(scope, block, &v[i]);
    }
    ad_rev all = ad_parallel_reduce(4, 1, multiple, NULL, &x);
    return ad_rec(ad_add(all, ad_sum(20, v)));
}

static void fork_on(ad_tape *t, const char *name)
{
    ad_use(t);
    ad_real g = 0;
    ad_rev x = ad_input(3);
    ad_rev y = forked_sum(x);
    ad_use(tape);
    ad_status s = ad_gradient(t, y, 1, &x, &g);
    CHECK(s == ADREV_OK && y.v == 150 && g == 50, "%s, %s: got \"%s\" and %g",
          pool_name, name, ad_message(s), (double)g);
    ad_tape_free(t);
}

// It comes from the tape's allocator; if the tape has none, from malloc.
static void test_allocator(void)
{
    static _Alignas(64) char memory[1 << 17];
    static heap h;
    ad_allocator allocator = { heap_alloc, heap_free, &h };
    heap_reset(&h, 0, false);
    heap_reset(&standard, 0, false);
    fork_on(ad_tape_new_with(&allocator), "an allocator");
    CHECK(standard.asked == 0, "%s: %zu blocks from malloc", pool_name,
          (size_t)standard.asked);
    CHECK(h.live == 0, "%s: %zu blocks leaked", pool_name, (size_t)h.live);

    fork_on(ad_tape_in(memory, sizeof memory), "fixed memory");
    ad_use(NULL);
    CHECK(forked_sum((ad_rev){ .v = 3 }).v == 150, "%s: no tape", pool_name);
    ad_use(tape);
    CHECK(standard.live == 0, "%s: malloc: %zu blocks leaked", pool_name,
          (size_t)standard.live);
}

// ad_job_predict, ad_dump_jobs_dot and tapes of jobs have no allocator of the
// user's; nor has ADREV_PARALLEL on a tape without one.
static void nothing_written(const char *text, size_t n, void *user)
{
    (void)text;
    (void)n;
    (void)user;
}

static bool run_out_block(size_t failing)
{
    ad_rev v[100];
    ad_real g = 0;
    ad_rev x = ad_input(3);
    ad_job job[110];
    double seconds = 0;
    for (int i = 0; i < 100; i++)
        v[i] = x;
    heap_reset(&standard, failing, false);
    ADREV_PARALLEL(scope) {
        for (int i = 0; i < 100; i++)
            ADREV_FORK(scope, block, &v[i]);
    }
    ad_status s = ad_gradient(tape, ad_sum(100, v), 1, &x, &g);
    ad_status left = ad_tape_status(tape);
    CHECK(s == ADREV_OK ? g == 200 : s == ADREV_ENOMEM,
          "%s: block: got \"%s\" and %g", pool_name, ad_message(s), (double)g);
    size_t n = ad_tape_jobs(tape, 110, job);
    n = n < 110 ? n : 110;
    ad_status predicted = ad_job_predict(n, job, 2, &seconds, NULL);
    ad_status dumped = ad_dump_jobs_dot(tape, nothing_written, NULL);
    CHECK(predicted == ADREV_OK || predicted == ADREV_ENOMEM, "predict: %s",
          ad_message(predicted));
    CHECK(dumped == left || dumped == ADREV_ENOMEM, "dot: %s",
          ad_message(dumped));
    bool reached = standard.asked >= failing;
    standard.failing = 0;
    ad_tape_clear(tape);
    return s == ADREV_OK && !reached;
}

static void test_other_memory(void)
{
    size_t n = 1;
    run_out_block(SIZE_MAX);
    while (n < 200 && !run_out_block(n))
        n++;
    CHECK(n < 200, "%s: it never succeeds", pool_name);
    check_again("after a block without memory");
}

// A job without a current tape, whose tape and branches use malloc.
static void test_job_memory(void)
{
    ad_real at[N];
    ad_real g[N];
    size_t n = 1;
    point(at);
    ad_use(NULL);
    for (bool ok = false; !ok && n < 3000; n++) {
        heap_reset(&standard, n, n % 2 == 0);
        fill(N, g);
        ok = clean(ad_grad(work_scalar, NULL, N, at, NULL, g), "ad_grad", 1,
                   g) && standard.asked < n;
        CHECK(standard.live == 0, "%s, failing at %zu: %zu blocks leaked",
              pool_name, n, (size_t)standard.live);
    }
    CHECK(n > 10 && n < 3000, "%zu allocations", n);
    standard.failing = 0;
    ad_use(tape);
}

// A pool has as many threads as there is memory for.
static void test_pool_memory(void)
{
    static heap h;
    ad_allocator allocator = { heap_alloc, heap_free, &h };
    CHECK(ad_pool_new_with(2, &(ad_allocator){ heap_alloc, NULL, &h }) == NULL
              && ad_pool_new_with(2, NULL) == NULL, "half an allocator");
    unsigned threads = 0;
    for (size_t n = 1; n < 100 && threads < 3; n++) {
        heap_reset(&h, n, true);
        ad_pool *pool = ad_pool_new_with(3, &allocator);
        CHECK(pool != NULL || h.live == 0, "%zu blocks leaked",
              (size_t)h.live);
        if (pool == NULL)
            continue;
        ad_status s = ad_pool_use(pool);
        CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "got \"%s\"",
              ad_message(s));
        threads = s == ADREV_OK ? ad_pool_threads(pool) : 0;
        CHECK(ad_pool_threads(pool) >= 1 && ad_pool_threads(pool) <= 3, "%u",
              ad_pool_threads(pool));
        check_arity(30);
        ad_pool_free(pool);
        CHECK(h.live == 0, "failing at %zu: %zu blocks leaked", n,
              (size_t)h.live);
    }
    CHECK(threads == 3, "never 3 threads");
}

/* --- external statements that fail ---------------------------------------- */

static atomic_int calls;
static int fail_at;             // the pullback that fails; 0: none

static bool twice_back(const void *saved, size_t m, const ad_real dy[],
                       size_t n, ad_real dx[])
{
    (void)saved;
    (void)m;
    (void)n;
    dx[0] += 2 * dy[0];
    return atomic_fetch_add(&calls, 1) + 1 != fail_at;
}

static const ad_external_rule twice = { .name = "twice",
                                        .pullback = twice_back };
static const ad_external_rule empty = { .name = "no pullback" };

static void double_it(size_t i, void *ctx)
{
    fan *f = ctx;
    ad_rev x[2] = { f->x, f->x };       // gcc 12 warns of one
    ad_real v[2] = { f->x.v * 2, 0 };
    const ad_external_rule *r = i == 99 ? &empty : &twice;
    ad_external(r, NULL, 0, 1, x, 1, v, &f->part[i]);
}

static void test_externals(void)
{
    enum { BRANCHES = 9 };
    fan f = { .x = ad_input(3) };
    ad_real one = 1;
    ad_real g = UNTOUCHED;
    ad_fork_n(BRANCHES, double_it, &f);
    ad_rev y = ad_sum(BRANCHES, f.part);
    for (fail_at = 1; fail_at <= BRANCHES; fail_at++) {
        calls = 0;
        g = UNTOUCHED;
        ad_status s = ad_gradient(tape, y, 1, &f.x, &g);
        CHECK(s == ADREV_EEXTERNAL && g == UNTOUCHED,
              "%s: pullback %d fails: got \"%s\" and %g", pool_name, fail_at,
              ad_message(s), (double)g);
    }
    fail_at = 0;
    right(ad_gradient(tape, y, 1, &f.x, &g), "none fails");
    CHECK(g == 2 * BRANCHES, "got %g", (double)g);
    CHECK(ad_pushforward(tape, 1, &f.x, &one, 1, &y, &g) == ADREV_EEXTERNAL,
          "%s: forward without a pushforward", pool_name);
    check_status(ADREV_OK, "a pullback that fails");
    ad_fork_n(100, double_it, &f);      // the last one has no pullback
    check_status(ADREV_EEXTERNAL, "no pullback");
    check_again("after no pullback");
}

/* --- many threads, one pool ----------------------------------------------- */

enum { HOSTS = 4, RECORDINGS = 30 };

typedef struct host {
    pthread_t thread;
    ad_pool *pool;
    size_t number;
    ad_status status;           // the last that was an error
    ad_real J[RECORDINGS][ROWS * N];
} host;

static void record_once(host *h, ad_tape *t, size_t i)
{
    ad_real at[N];
    ad_rev x[N];
    ad_rev y[ROWS];
    for (size_t k = 0; k < N; k++)
        at[k] = K(0.01) * (ad_real)(k * (h->number + 1) + i);
    ad_tape_clear(t);
    ad_inputs(N, at, x);
    work_rows(x, y, NULL);
    ad_status s = ad_jacobian(t, ROWS, y, N, x, h->J[i]);
    if (s != ADREV_OK)
        h->status = s;
}

static void *be_host(void *ctx)
{
    host *h = ctx;
    ad_tape *t = ad_tape_new();
    ad_status s = ad_pool_use(h->pool);
    if (s != ADREV_OK)
        h->status = s;
    ad_use(t);
    for (size_t i = 0; i < RECORDINGS; i++)
        record_once(h, t, i);
    ad_tape_free(t);
    s = ad_pool_use(NULL);
    if (s != ADREV_OK)
        h->status = s;
    return NULL;
}

static void test_hosts(void)
{
    static host hosts[HOSTS];
    static host alone;
    ad_pool *pool = ad_pool_new(3);
    for (size_t i = 0; i < HOSTS; i++) {
        hosts[i].number = i;
        hosts[i].pool = pool;
        int error = pthread_create(&hosts[i].thread, NULL, be_host, &hosts[i]);
        CHECK(error == 0, "no thread: error %d", error);
    }
    for (size_t i = 0; i < HOSTS; i++)
        pthread_join(hosts[i].thread, NULL);
    for (size_t i = 0; i < HOSTS; i++) {
        CHECK(hosts[i].status == ADREV_OK, "thread %zu: \"%s\"", i,
              ad_message(hosts[i].status));
        alone.number = i;
        be_host(&alone);
        CHECK(memcmp(alone.J, hosts[i].J, sizeof alone.J) == 0,
              "thread %zu: not the bits of one thread without a pool", i);
    }
    ad_pool_free(pool);
    ad_use(tape);
}

/* --- all of it ------------------------------------------------------------ */

int main(void)
{
    static void (*const tests[])(void) = {
        test_races, test_cousins, test_races_by_hand, test_foreign,
        test_busy_clear, test_busy_open, test_tape_memory,
        test_allocator, test_other_memory, test_job_memory, test_externals,
        test_busy_queries,
    };
    static void (*const once[])(void) = {
        test_pool_free, test_pool_memory, test_hosts,
    };
    on_pools(sizeof tests / sizeof tests[0], tests);
    pool_name = "no pool";
    tape = ad_tape_new();
    ad_use(tape);
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        ad_tape_clear(tape);
        once[i]();
    }
    ad_tape_free(tape);
    return check_done("parallel_errors");
}
