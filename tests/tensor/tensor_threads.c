// SPDX-License-Identifier: MIT-0
// tags: formulas threads
// flags: -DADX_PART_LEAST=1 -DADX_GATHER_MOST=5 -DADX_STORED_LEAST=2 -pthread
/* tensor_threads.c - tensor programs in parts: on pools of 1, 2 and 8 threads,
 * and by executors that run the parts backwards, or in an order of their own.
 * All results must have the bits of one thread without a pool.
 *
 * The programs are those of programs.h, larger ones with picks, strides and
 * relations that are not sorted, and random ones. Then branches of a fork and
 * threads that evaluate one text at once, and every allocation fails in turn.
 *
 * Parts are small here (ADX_PART_LEAST), so that small programs have many; and
 * few points are gathered at a time (ADX_GATHER_MOST).                       */

#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define ADREV_IMPLEMENTATION
#include "adrev_parallel.h"
#include "adrev_tensor.h"
#include "check.h"
#include "programs.h"
#include "tensor_bind.h"

enum {
    ARRAYS = DRAW_ARRAYS, NUMBERS = 8192, RANDOM_PROGRAMS = 400 / ONE_IN(4),
    BRANCHES = 5, THREADS = 4, POOLS = 3
};

/* --- who runs the parts --------------------------------------------------- */

static atomic_size_t parts_run;

static void backwards(size_t n, ad_call_fn *call, void *arg, void *user)
{
    (void)user;
    atomic_fetch_add(&parts_run, n);
    for (size_t i = n; i-- > 0;)
        call(i, arg);
}

// Odd ones first.
static void odd_first(size_t n, ad_call_fn *call, void *arg, void *user)
{
    (void)user;
    atomic_fetch_add(&parts_run, n);
    for (size_t i = 1; i < n; i += 2)
        call(i, arg);
    for (size_t i = 0; i < n; i += 2)
        call(i, arg);
}

static const unsigned pool_threads[POOLS] = { 1, 2, 8 };
static ad_pool *pool[POOLS];

/* --- all queries of a text ------------------------------------------------ */

typedef struct numbers {
    ad_real n[ARRAYS][NUMBERS];
} numbers;

typedef struct results {
    numbers y, dy, dx, hv;
    ad_status status[4];
} results;

typedef struct asked {
    const ad_real *x[ARRAYS], *v[ARRAYS], *w[ARRAYS];
} asked;

static numbers given[3];

// Numbers whose sums depend on the order.
static void give(asked *a)
{
    uint32_t state = 1;
    for (int i = 0; i < ARRAYS; i++) {
        for (int k = 0; k < NUMBERS; k++)
            for (int which = 0; which < 3; which++) {
                state = state * 1664525u + 1013904223u;
                given[which].n[i][k] =
                    (ad_real)(state >> 8) / (ad_real)(1 << 24) - (ad_real)0.4;
            }
        a->x[i] = given[0].n[i] + NUMBERS / 2;
        a->v[i] = given[1].n[i] + NUMBERS / 2;
        a->w[i] = given[2].n[i] + NUMBERS / 2;
    }
}

// In the middle, because strides may be negative.
static void rows_of(numbers *of, ad_real *row[])
{
    for (int i = 0; i < ARRAYS; i++)
        row[i] = of->n[i] + NUMBERS / 2;
}

static void ask(ad_tensor *t, const asked *a, results *r)
{
    ad_real *y[ARRAYS], *dy[ARRAYS], *dx[ARRAYS], *hv[ARRAYS];
    memset(r, 7, sizeof *r);
    rows_of(&r->y, y);
    rows_of(&r->dy, dy);
    rows_of(&r->dx, dx);
    rows_of(&r->hv, hv);
    r->status[0] = ad_tensor_eval(t, a->x, y);
    r->status[1] = ad_tensor_jvp(t, a->x, a->v, NULL, dy);
    r->status[2] = ad_tensor_vjp(t, a->x, a->w, NULL, dx);
    r->status[3] = ad_tensor_hvp(t, a->x, a->w, a->v, hv);
}

static void same(const char *name, const char *how, const results *got,
                 const results *want)
{
    for (int i = 0; i < 4; i++)
        CHECK(got->status[i] == want->status[i], "%s, %s: query %d: %s", name,
              how, i, ad_message(got->status[i]));
    CHECK(memcmp(&got->y, &want->y, sizeof got->y) == 0, "%s, %s: y", name,
          how);
    CHECK(memcmp(&got->dy, &want->dy, sizeof got->dy) == 0, "%s, %s: dy", name,
          how);
    CHECK(memcmp(&got->dx, &want->dx, sizeof got->dx) == 0, "%s, %s: dx", name,
          how);
    CHECK(memcmp(&got->hv, &want->hv, sizeof got->hv) == 0, "%s, %s: hv", name,
          how);
}

static void ask_executor(const char *name, ad_tensor *t, const asked *a,
                         ad_execute_fn *execute, const results *want)
{
    static results got;
    CHECK(ad_executor_use(execute, NULL) == ADREV_OK, "executor");
    ask(t, a, &got);
    CHECK(ad_executor_use(NULL, NULL) == ADREV_OK, "no executor");
    same(name, execute == backwards ? "backwards" : "odd ones first", &got,
         want);
}

static void ask_pool(const char *name, ad_tensor *t, const asked *a, int i,
                     const results *want)
{
    static results got;
    char how[20];
    snprintf(how, sizeof how, "%u threads", pool_threads[i]);
    CHECK(ad_pool_use(pool[i]) == ADREV_OK, "pool");
    ask(t, a, &got);
    CHECK(ad_pool_use(NULL) == ADREV_OK, "no pool");
    same(name, how, &got, want);
}

// All queries on threads. Returns how many parts there were.
static size_t ask_threads(const char *name, ad_tensor *t, const asked *a,
                          int pools, const results *want)
{
    size_t before = atomic_load(&parts_run);
    ask_executor(name, t, a, backwards, want);
    ask_executor(name, t, a, odd_first, want);
    for (int i = POOLS - pools; i < POOLS; i++)
        ask_pool(name, t, a, i, want);
    return atomic_load(&parts_run) - before;
}

// Without a pool. Then on threads, also with `listed`: the same text, bound
// where parts are shared.
static size_t ask_all(const char *name, ad_tensor *t, ad_tensor *listed,
                      const asked *a, int pools, results *want)
{
    if (t == NULL || listed == NULL)
        return 0;
    ask(t, a, want);
    CHECK(want->status[0] == ADREV_OK && want->status[1] == ADREV_OK
              && want->status[2] == ADREV_OK
              && (want->status[3] == ADREV_OK
                  || want->status[3] == ADREV_EEXTERNAL),
          "%s: a query fails", name);
    return ask_threads(name, t, a, pools, want)
         + ask_threads(name, listed, a, pools, want);
}

static void share(bool on)
{
    CHECK(ad_executor_use(on ? backwards : NULL, NULL) == ADREV_OK, "executor");
}

/* --- programs ------------------------------------------------------------- */

// Larger ones, in which something is special.
typedef struct special {
    const char *name, *text;
    struct { const char *name; size_t n; } size[3];
    bool relation;              // R, whose entries are not sorted
    bool map;                   // src and dst
    bool strides;               // A in another order, y backwards
} special;

static const special special_list[] = {
    { "product", "in A[m,k], B[k,n]; out C[i,j] = sum(l) A[i,l]*B[l,j];",
      { { "m", 9 }, { "k", 21 }, { "n", 17 } }, false, false, false },
    { "product of some rows", "in A[m,k], B[k,n], D[m,n];"
      " out C[i,j] = D[i,j] + [3 <= i < m-2] sum(l) A[i,l]*B[l,j];",
      { { "m", 190 }, { "k", 21 }, { "n", 17 } }, false, false, false },
    { "strides", "in A[m,n], x[n]; out y[i] = sum(j) A[i,j]*x[j];",
      { { "m", 37 }, { "n", 51 } }, false, false, true },
    { "squares", "in x[n]; out f = sum(i) x[i]^2; out g = sum(i<5) x[3*i];",
      { { "n", 1001 } }, false, false, false },
    { "picks", "in A[m,n]; t[i] = maximum(j) A[i,j]*A[i,j];"
      "u[j] = minimum(i) sin(A[i,j]); out f = sum(i) t[i]; out y[j] = u[j]*t[0];",
      { { "m", 23 }, { "n", 31 } }, false, false, false },
    { "picks of all", "in A[m,n], k; out t = maximum(i,j) k*A[i,j];"
      "out y[i] = A[i,0]*t;",
      { { "m", 23 }, { "n", 31 } }, false, false, false },
    { "picks but one", "in A[m,n]; t[i] = maximum(j: j != 7) A[i,j];"
      " u[j] = minimum(i: i < 3 | i > 5) A[i,j]*A[i,j];"
      " out f = sum(i) t[i]; out y[j] = u[j]*t[0];",
      { { "m", 23 }, { "n", 31 } }, false, false, false },
    { "triangle", "in A[n,n]; out y[i] = sum(j: j <= i) A[i,j]*A[j,i];"
      "out z[j] = sum(i: 2*i <= j) A[i,j];",
      { { "n", 41 } }, false, false, false },
    { "border", "in u[n,n];"
      " out w[i,j] = u[i,j] + [0 < i < n-1, 0 < j < n-1]"
      " u[i-1,j]*u[i+1,j]*u[i,j+1] + [i == 0] u[j,0] + [i+j == n] 3;",
      { { "n", 33 } }, false, false, false },
    { "strided convolution", "in x[n], k[m];"
      " out y[i<n] = sum(j) x?[2*i-j+3]*k[j];"
      " out z[i<n] = sum(j) x?[j-i]*k[j];",
      { { "n", 301 }, { "m", 7 } }, false, false, false },
    { "sparse", "rel R[m,n]; in A[R], x[n];"
      " out y[i] = sum(j) A[i,j]*x[j]; out f = sum(i,j: R(i,j)) A[i,j]^2;",
      { { "m", 60 }, { "n", 60 } }, true, false, false },
    { "rows of a relation", "rel R[m,n]; in A[R], B[m,d], C[n,d];"
      " out y[i,s] = sum(j: R(i,j)) A[i,j]*B[i,s]*C[j,s];"
      " out z[q<m] = maximum(s) B[q,s]*B[q,s];",
      { { "m", 60 }, { "n", 60 }, { "d", 6 } }, true, false, false },
    { "listed", "rel R[m,n]; in x[m], z[n];"
      " p[i<m,j<n] = [exists(k<3: R(i,k), R(k,j))] exp(x[i]*z[j]);"
      " out y[i] = sum(j) p[i,j]*z[j]; out u[j] = sum(i) p[i,j];",
      { { "m", 60 }, { "n", 60 } }, true, false, false },
    { "graph", "map src[e]->n, dst[e]->n; in h[n,d];"
      " out g[i<n,k] = exp(sum(a: dst[a]==i) h[src[a],k]);"
      " out p[i<n] = sum(a: dst[a]==i) h[src[a],0]^2;",
      { { "e", 300 }, { "n", 50 }, { "d", 5 } }, false, true, false },
    { "halves of a map", "map src[e]->n, dst[e]->n; in h[e];"
      " out y[i<n] = sum(a in 0:150: dst[a]==i) h[a]"
      " + sum(a in 150:300: dst[a]==i) h[a];",
      { { "e", 300 }, { "n", 50 } }, false, true, false },
    { "shifted by a map", "map src[e]->n, dst[e]->n; in h[0:n+m], c[m];"
      " out y[k<e] = sum(i<m) h[src[k]+i]*c[i];"
      " out z[i<m] = sum(k<e) h[dst[k]+i]^2;",
      { { "e", 300 }, { "n", 50 }, { "m", 12 } }, false, true, false },
};

enum { SPECIALS = sizeof special_list / sizeof special_list[0], ENTRIES = 500 };

static void give_special(ad_tensor *t, const special *s)
{
    int column[2][ENTRIES];
    for (int i = 0; i < 3 && s->size[i].name != NULL; i++)
        CHECK(ad_tensor_size(t, s->size[i].name, s->size[i].n) == ADREV_OK,
              "%s: size", s->name);
    for (int e = 0; e < ENTRIES; e++) {         // no two are the same
        int at = (int)((e * 1237L + 91) % 3600);
        column[0][e] = at / 60 % (s->map ? 50 : 60);
        column[1][e] = at % (s->map ? 50 : 60);
    }
    const int *from[] = { column[0], column[1] };
    const ptrdiff_t across[] = { 1, 40 }, back[] = { -2 };
    bool ok = true;
    if (s->relation)
        ok = ad_tensor_relation(t, "R", ENTRIES, from) == ADREV_OK;
    if (s->map)
        ok = ad_tensor_map(t, "src", column[0]) == ADREV_OK
          && ad_tensor_map(t, "dst", column[1]) == ADREV_OK;
    if (s->strides)
        ok = ad_tensor_layout(t, "A", across) == ADREV_OK
          && ad_tensor_layout(t, "y", back) == ADREV_OK;
    CHECK(ok, "%s: not given", s->name);
}

static ad_tensor *made(const char *name, const char *text,
                       const ad_allocator *memory)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    const ad_tensor_options options = { .allocator = memory };
    CHECK(ad_tensor_new(&t, text, &options, &e) == ADREV_OK, "%s: %s", name,
          e.text);
    return t;
}

static ad_tensor *special_made(const special *s, const ad_allocator *memory)
{
    ad_tensor_error e = { 0 };
    ad_tensor *t = made(s->name, s->text, memory);
    if (t == NULL)
        return NULL;
    give_special(t, s);
    CHECK(ad_tensor_bind(t, &e) == ADREV_OK, "%s: %s", s->name, e.text);
    return t;
}

static ad_tensor *program_made(const program *p)
{
    ad_tensor_error e = { 0 };
    ad_tensor *t = made(p->name, p->text, NULL);
    if (t == NULL)
        return NULL;
    bool ok = true;
    for (int i = 0; i < PROGRAM_SIZES && p->size[i].name != NULL; i++)
        ok = ok && !ad_tensor_size(t, p->size[i].name, p->size[i].n);
    for (int i = 0; i < PROGRAM_MAPS && p->map[i].name != NULL; i++)
        ok = ok && !ad_tensor_map(t, p->map[i].name, p->map[i].value);
    if (p->relation != NULL)
        ok = ok && !ad_tensor_relation(t, p->relation, p->entries, p->column);
    CHECK(ok && ad_tensor_bind(t, &e) == ADREV_OK, "%s: %s", p->name, e.text);
    return t;
}

static void run_programs(asked *a)
{
    static results want;
    int cut = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        const program *p = program_at(i);
        program_compute(p);
        ad_tensor *t = program_made(p);
        share(true);
        ad_tensor *listed = program_made(p);
        share(false);
        cut += ask_all(p->name, t, listed, a, POOLS, &want) > 0;
        ad_tensor_free(t);
        ad_tensor_free(listed);
    }
    // Two equal traces are one, which is too short.
    CHECK(cut >= PROGRAMS - 1, "only %d of %d are cut", cut, PROGRAMS);
    for (int i = 0; i < SPECIALS; i++) {
        const special *s = &special_list[i];
        ad_tensor *t = special_made(s, NULL);
        share(true);
        ad_tensor *listed = special_made(s, NULL);
        share(false);
        CHECK(ask_all(s->name, t, listed, a, POOLS, &want) > 0,
              "%s: nothing is cut", s->name);
        ad_tensor_free(t);
        ad_tensor_free(listed);
    }
}

static void run_random(asked *a)
{
    static tree p;
    static tree_text text;
    static results want;
    ad_tensor_error error;
    size_t cut = 0;
    for (uint64_t number = 1; number <= RANDOM_PROGRAMS; number++) {
        uint64_t seed = number;
        char name[40];
        if (!draw_program(&p, &seed, number % 4 == 0 ? DRAW_WIDE
                                     : number % 4 == 1 ? DRAW_AFFINE
                                                       : DRAW_EXACT))
            continue;
        snprintf(name, sizeof name, "seed %u", (unsigned)number);
        ad_tensor *t = bind_tree(&p, NULL, &text, &error);
        share(true);
        ad_tensor *listed = bind_tree(&p, NULL, &text, &error);
        share(false);
        if (ask_all(name, t, listed, a, number % 8 == 0, &want) > 0)
            cut++;
        ad_tensor_free(t);
        ad_tensor_free(listed);
    }
    CHECK(cut > RANDOM_PROGRAMS / 4, "only %zu random programs are cut", cut);
}

/* --- several evaluations at once ------------------------------------------ */

typedef struct crowd {
    ad_tensor *t;
    const asked *a;
    const results *want;
    results got[BRANCHES];
    atomic_int next;
} crowd;

static void branch(size_t i, void *ctx)
{
    crowd *c = ctx;
    ask(c->t, c->a, &c->got[i]);
}

// A thread of its own, on the same pool, whose branches evaluate, too.
static void *in_thread(void *ctx)
{
    crowd *c = ctx;
    static results got[THREADS];
    int i = atomic_fetch_add(&c->next, 1);
    if (ad_pool_use(pool[1]) != ADREV_OK)
        return NULL;
    for (int k = 0; k < 3; k++)
        ask(c->t, c->a, &got[i]);
    if (ad_pool_use(NULL) != ADREV_OK)
        return NULL;
    return &got[i];
}

static void run_threads(const char *name, crowd *c)
{
    pthread_t thread[THREADS];
    bool started[THREADS];
    atomic_store(&c->next, 0);
    for (int i = 0; i < THREADS; i++)
        started[i] = pthread_create(&thread[i], NULL, in_thread, c) == 0;
    for (int i = 0; i < THREADS; i++) {
        void *got = NULL;
        if (!CHECK(started[i] && pthread_join(thread[i], &got) == 0
                       && got != NULL, "%s: thread %d", name, i))
            continue;
        same(name, "in threads", got, c->want);
    }
}

static void run_crowds(asked *a)
{
    static results want;
    static crowd c;
    for (int i = 0; i < SPECIALS; i++) {
        const special *s = &special_list[i];
        share(true);
        c.t = special_made(s, NULL);
        share(false);
        c.a = a;
        c.want = &want;
        ask(c.t, a, &want);
        for (int k = 0; k < POOLS; k++) {
            CHECK(ad_pool_use(pool[k]) == ADREV_OK, "pool");
            ad_fork_n(BRANCHES, branch, &c);
            CHECK(ad_pool_use(NULL) == ADREV_OK, "no pool");
            for (int b = 0; b < BRANCHES; b++)
                same(s->name, "in branches", &c.got[b], &want);
        }
        run_threads(s->name, &c);
        ad_tensor_free(c.t);
    }
}

/* --- memory that runs out -------------------------------------------------- */

typedef struct heap {
    atomic_size_t asked, live;
    size_t failing;             // the number of the one that fails; 0: none
} heap;

static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    size_t n = atomic_fetch_add(&h->asked, 1) + 1;
    void *block = n == h->failing ? NULL : malloc(bytes);
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

// Results are untouched when a query fails.
static bool untouched(const numbers *n)
{
    static numbers sevens;
    memset(&sevens, 7, sizeof sevens);
    return memcmp(n, &sevens, sizeof *n) == 0;
}

static void run_out(const special *s, asked *a)
{
    static results got, want;
    heap h = { .failing = 0 };
    const ad_allocator memory = { heap_alloc, heap_free, &h };
    ad_tensor *t = special_made(s, &memory);
    ask(t, a, &want);
    CHECK(ad_pool_use(pool[1]) == ADREV_OK, "pool");
    size_t before = atomic_load(&h.live);
    bool failed = true;
    for (size_t n = 1; failed && n < 100; n++) {
        atomic_store(&h.asked, 0);
        h.failing = n;
        ask(t, a, &got);
        const numbers *of[] = { &got.y, &got.dy, &got.dx, &got.hv };
        failed = false;
        for (int i = 0; i < 4; i++)
            if (got.status[i] == ADREV_ENOMEM) {
                failed = true;
                CHECK(untouched(of[i]), "%s: allocation %zu fails, results are "
                      "touched", s->name, n);
            }
        // panels of products are kept for each thread
        CHECK(atomic_load(&h.live) <= before + ADX_TENSOR_SPARES,
              "%s: allocation %zu leaks", s->name, n);
    }
    same(s->name, "after failures", &got, &want);
    CHECK(ad_pool_use(NULL) == ADREV_OK, "no pool");
    ad_tensor_free(t);
    CHECK(atomic_load(&h.live) == 0, "%s: a block is left", s->name);
}

// While it is bound.
static void run_out_of_binding(const special *s)
{
    heap h = { .failing = 0 };
    const ad_allocator memory = { heap_alloc, heap_free, &h };
    ad_status status = ADREV_ENOMEM;
    ad_tensor *t = made(s->name, s->text, &memory);
    give_special(t, s);
    share(true);
    for (size_t n = 1; status == ADREV_ENOMEM; n++) {
        atomic_store(&h.asked, 0);
        h.failing = n;
        status = ad_tensor_bind(t, NULL);
    }
    share(false);
    CHECK(status == ADREV_OK, "%s: %s", s->name, ad_message(status));
    ad_tensor_free(t);
    CHECK(atomic_load(&h.live) == 0, "%s: a block is left", s->name);
}

int main(void)
{
    static asked a;
    for (int i = 0; i < POOLS; i++) {
        pool[i] = ad_pool_new(pool_threads[i]);
        CHECK(pool[i] != NULL, "no pool");
    }
    give(&a);
    run_programs(&a);
    run_random(&a);
    run_crowds(&a);
    for (int i = 0; i < SPECIALS; i++) {
        run_out(&special_list[i], &a);
        run_out_of_binding(&special_list[i]);
    }
    for (int i = 0; i < POOLS; i++)
        ad_pool_free(pool[i]);
    return check_done("tensor_threads");
}
