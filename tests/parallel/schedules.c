// SPDX-License-Identifier: MIT-0
// tags: slow threads
// flags: -DADREV_CHAOS=1 -pthread
/* schedules.c - the same bits under every schedule: random programs, particles
 * and recursions without a pool, on pools of 1 to 64 threads, and by runtimes
 * that take branches backwards, in random order, or on threads of their own.
 *
 * Values, job graphs, adjoints of everything that was recorded, Jacobians,
 * pullbacks and tangents are compared byte for byte; and, within rounding,
 * with the program that does not fork at all. ADREV_CHAOS delays threads at
 * random, so that schedules are tried that otherwise hardly occur.
 *
 *     schedules [n [seed]]     n random programs; default 30                */

#define _POSIX_C_SOURCE 200809L
#include "implementation.h"
#include "adrev_parallel.h"
#include "check.h"
#include "oracle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define K(c)   ((ad_real)(c))
#define SINGLE (sizeof(ad_real) == sizeof(float))

static bool forking = true;     // false: the program without forks

static void each(size_t n, void (*f)(size_t i, void *ctx), void *ctx)
{
    if (forking)
        ad_fork_n(n, f, ctx);
    else
        for (size_t i = 0; i < n; i++)
            f(i, ctx);
}

/* --- random programs -------------------------------------------------------
 * A task records values of values that it may see: its own, those of all its
 * ancestors, and all those of branches that are done. It forks, goes on, and
 * forks again. What it does depends on its own random numbers only, so that it
 * is the same program under every schedule.                                  */

enum { INPUTS = 6, TASKS = 60, SEEN = 1200, OUTPUTS = 5 };

typedef struct task {
    uint64_t random;
    int budget;                 // of tasks, this one included
    int depth;
    size_t n;                   // values that it sees
    size_t own;                 // where those begin that it, or its branches,
    ad_rev v[SEEN];             // made
} task;

typedef struct family {
    task *parent;
    task *child[8];
} family;

static size_t below(task *t, size_t n)
{
    return (size_t)(oracle_random(&t->random) >> 20) % n;
}

// Mostly something recent, or else anything: an ancestor's, a branch's.
static ad_rev pick(task *t)
{
    size_t from = below(t, 2) == 0 || t->n < 8 ? 0 : t->n - 8;
    return t->v[from + below(t, t->n - from)];
}

static void keep(task *t, ad_rev y)
{
    if (t->n < SEEN)
        t->v[t->n++] = y;
}

// Sums along a slice of what the task sees, whoever made it.
static ad_rev slice(task *t)
{
    size_t n = 1 + below(t, t->n < 20 ? t->n : 20);
    const ad_rev *a = t->v + below(t, t->n - n + 1);
    const ad_rev *b = t->v + below(t, t->n - n + 1);
    ad_real scale = 1 / (ad_real)n;
    if (below(t, 2) == 0)
        return ad_rec(ad_sin(ad_mul(scale, ad_sum(n, a))));
    return ad_rec(ad_sin(ad_mul(scale, ad_dot(n, a, b))));
}

static bool pull(const void *saved, size_t m, const ad_real dy[], size_t n,
                 ad_real dx[])
{
    const ad_real *c = saved;
    for (size_t k = 0; k < n; k++)
        dx[k] += c[k] * dy[0] + dy[m - 1];
    return true;
}

static bool push(const void *saved, size_t n, const ad_real dx[], size_t m,
                 ad_real dy[])
{
    const ad_real *c = saved;
    dy[0] = dy[m - 1] = 0;
    for (size_t k = 0; k < n; k++) {
        dy[0] += c[k] * dx[k];
        dy[m - 1] += dx[k];
    }
    return true;
}

static const ad_external_rule rule = { .name = "sums", .pullback = pull,
                                       .pushforward = push };

// A statement of the user's, with up to 6 inputs and 2 outputs.
static void outside(task *t)
{
    ad_rev x[6];
    ad_rev y[2];
    ad_real c[6];
    ad_real v[2] = { 0, 0 };
    size_t n = 1 + below(t, 6);
    for (size_t k = 0; k < n; k++) {
        x[k] = pick(t);
        c[k] = K(0.125) * (ad_real)below(t, 5);
        v[0] += c[k] * x[k].v;
        v[1] += x[k].v;
    }
    ad_external(&rule, c, sizeof c, n, x, 2, v, y);
    keep(t, ad_rec(ad_sin(y[0])));
    keep(t, ad_rec(ad_cos(y[1])));
}

// A gradient within the program, with forks and values of the program in it.
typedef struct within {
    const ad_rev *x;
    ad_rev v;
    ad_rev part[3];
} within;

static void within_branch(size_t i, void *ctx)
{
    within *w = ctx;
    w->part[i] = ad_rec(ad_mul(ad_sin(w->x[0]), ad_add(w->v, (ad_real)i)));
}

static ad_rev within_sum(const ad_rev *x, void *ctx)
{
    within w = { .x = x, .v = *(const ad_rev *)ctx };
    each(3, within_branch, &w);
    return ad_sum(3, w.part);
}

static void derive(task *t)
{
    ad_rev v = pick(t);
    ad_real at = K(0.1) * (ad_real)below(t, 9);
    ad_real g = 77;
    ad_ignore(ad_grad(within_sum, &v, 1, &at, NULL, &g));   // 77: failed
    keep(t, ad_rec(ad_sin(ad_mul(g, pick(t)))));
}

static void step(task *t)
{
    ad_rev a = pick(t);
    ad_rev b = pick(t);
    switch (below(t, 11)) {
    case 0: keep(t, ad_rec(ad_sin(ad_add(a, b)))); break;
    case 1: keep(t, ad_rec(ad_mul(a, ad_cos(b)))); break;
    case 2: keep(t, ad_rec(ad_sub(ad_mul(K(0.5), a), ad_mul(b, b)))); break;
    case 3: keep(t, ad_input(K(0.1) * (ad_real)below(t, 10))); break;
    case 4:
        for (int i = 0; i < 5; i++)
            ad_acc(&a, ad_mul(K(0.1), ad_sin(pick(t))));
        keep(t, a);
        break;
    case 5: keep(t, slice(t)); break;
    case 6:
        ad_capture(1, &a, &a);
        keep(t, ad_rec(ad_tanh(ad_sub(ad_mul(a, b), a))));
        break;
    case 7: keep(t, ad_rec(ad_div(a, ad_add(2, ad_mul(b, b))))); break;
    case 8: keep(t, ad_rec(K(0.75))); break;
    case 9: outside(t); break;
    case 10: derive(t); break;
    }
    // values stay small, whatever the program does
    ad_rev *last = &t->v[t->n - 1];
    if (ad_gt(ad_abs(*last), 2))
        *last = ad_rec(ad_sin(*last));
}

static void run_task(task *t);

static void branch(size_t i, void *ctx)
{
    family *f = ctx;
    if (f->child[i] != NULL)
        run_task(f->child[i]);
}

// What one branch sees is settled before any of them runs.
static task *make_child(task *t, int budget)
{
    task *child = malloc(sizeof *child);
    if (child == NULL)
        return NULL;
    child->random = oracle_random(&t->random) | 1;
    child->budget = budget;
    child->depth = t->depth + 1;
    child->n = t->n;
    child->own = t->n;
    memcpy(child->v, t->v, t->n * sizeof *t->v);
    return child;
}

static void fork_branches(task *t)
{
    family f = { .parent = t };
    size_t n = below(t, 5);
    n = below(t, 10) == 0 ? 8 : n;
    for (size_t i = 0; i < n; i++) {
        int share = t->budget > 1 ? 1 + (int)below(t, (size_t)t->budget) : 1;
        share = share < t->budget / 2 ? share : t->budget / 2;
        t->budget -= share;
        f.child[i] = share > 0 ? make_child(t, share) : NULL;
    }
    each(n, branch, &f);
    for (size_t i = 0; i < n; i++) {
        task *child = f.child[i];
        for (size_t k = child ? child->own : 0; child && k < child->n; k++)
            keep(t, child->v[k]);
        free(child);
    }
}

static void run_task(task *t)
{
    size_t segments = 1 + below(t, 3);
    for (size_t s = 0; s < segments; s++) {
        size_t steps = below(t, 6);
        for (size_t i = 0; i < steps; i++)
            step(t);
        if (t->budget > 1 && t->depth < 8)
            fork_branches(t);
    }
}

/* --- what a program leaves ------------------------------------------------ */

enum { JOBS = 1024 };

typedef struct trace {
    size_t n;                   // values recorded by anyone, inputs first
    ad_rev x[SEEN];
    ad_rev y[OUTPUTS];
    ad_real value[SEEN];
    ad_real adjoint[SEEN];      // of the weighted outputs
    ad_real g[SEEN];            // of the first output
    ad_real J[OUTPUTS * INPUTS];
    ad_real dy[OUTPUTS];        // along a direction in all inputs
    size_t jobs;
    ad_job job[JOBS];
} trace;

typedef void program_fn(uint64_t seed, trace *t);

static void random_program(uint64_t seed, trace *t)
{
    task *root = calloc(1, sizeof *root);
    if (root == NULL)
        return;
    root->random = seed;
    root->budget = TASKS;
    for (int i = 0; i < INPUTS; i++)
        keep(root, ad_input(K(0.3) * (ad_real)(i + 1)));
    while (root->budget > 2)
        run_task(root);
    step(root);
    t->n = 0;
    for (size_t i = 0; i < root->n; i++)
        if (root->v[i].job != 0)
            t->x[t->n++] = root->v[i];
    t->y[0] = ad_rec(ad_sin(ad_sum(root->n, root->v)));
    for (size_t i = 1; i < OUTPUTS; i++)
        t->y[i] = t->x[below(root, t->n)];
    free(root);
}

typedef struct swarm {
    const ad_rev *x;
    trace *t;
    int n;
} swarm;

static void move(size_t i, void *ctx)
{
    swarm *s = ctx;
    ad_rev p[2] = { s->x[0], ad_rec(ad_mul(s->x[1], (ad_real)(i + 1))) };
    ad_rev v[2] = { s->x[2], s->x[3] };
    for (int t = 0; t < 50; t++)
        for (int d = 0; d < 2; d++) {
            ad_rev a = ad_rec(ad_sub(ad_mul(K(-0.5), p[d]),
                                     ad_mul(K(0.2), v[d])));
            p[d] = ad_rec(ad_add(p[d], ad_mul(s->x[4], v[d])));
            v[d] = ad_rec(ad_add(v[d], ad_mul(s->x[5], a)));
        }
    s->t->x[INPUTS + i] = ad_rec(ad_mul(p[0], p[1]));
}

static void move_rest(size_t i, void *ctx)
{
    swarm *s = ctx;
    swarm rest = { s->x, s->t, s->n - 1 };
    if (i == 0)
        move((size_t)s->n - 1, s);
    else if (s->n > 1)
        each(2, move_rest, &rest);
}

// The same particles twice, in a loop and right-nested.
static void particles(uint64_t seed, trace *t)
{
    for (int i = 0; i < INPUTS; i++)
        t->x[i] = ad_input(K(0.05) * (ad_real)(i + 1));
    swarm s = { t->x, t, 8 };
    each(8, move, &s);
    t->y[0] = ad_sum(8, t->x + INPUTS);
    t->y[1] = t->x[INPUTS + seed % 8];
    if (seed % 2 == 0)
        each(2, move_rest, &s);
    t->y[2] = ad_norm2(8, t->x + INPUTS);
    t->y[3] = t->x[INPUTS];
    t->y[4] = ad_rec(ad_mul(t->y[1], t->y[2]));
    t->n = INPUTS + 8;
}

// A recursion whose leaves are values of the root, and whose nodes use what
// their left branch recorded.
typedef struct node {
    const ad_rev *x;
    int n;
    ad_rev inside;
    ad_rev y;
} node;

static void recurse(size_t i, void *ctx)
{
    node *of = (node *)ctx + i;
    node sub[2] = { { .x = of->x, .n = of->n - 1 },
                    { .x = of->x, .n = of->n - 2 } };
    of->inside = of->x[of->n & 3];
    of->y = of->inside;
    if (of->n < 2)
        return;
    each(2, recurse, sub);
    of->inside = ad_rec(ad_mul(sub[0].inside, K(0.5)));
    of->y = ad_rec(ad_sin(ad_add(ad_add(sub[0].y, sub[1].y),
                                 ad_mul(sub[1].inside, of->x[4]))));
}

static void recursion(uint64_t seed, trace *t)
{
    t->n = 0;
    for (int i = 0; i < INPUTS; i++)
        t->x[t->n++] = ad_input(K(0.1) * (ad_real)(i + 1));
    node top[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++)
        top[i] = (node){ .x = t->x, .n = 5 + i + (int)(seed % 3) };
    each(OUTPUTS, recurse, top);
    for (int i = 0; i < OUTPUTS; i++) {
        t->y[i] = top[i].y;
        t->x[t->n++] = top[i].inside;
    }
}

/* --- schedules ------------------------------------------------------------ */

// Branches from the last to the first.
static void backwards(size_t n, ad_call_fn *call, void *arg, void *user)
{
    (void)user;
    for (size_t i = n; i-- > 0;)
        call(i, arg);
}

static atomic_uint_fast64_t shuffles;

static void shuffled(size_t n, ad_call_fn *call, void *arg, void *user)
{
    uint64_t random = atomic_fetch_add(&shuffles, 1) + 1;
    size_t *order = malloc(n * sizeof *order);
    (void)user;
    random *= 0x9e3779b97f4a7c15u;
    for (size_t i = 0; order != NULL && i < n; i++) {
        size_t k = (size_t)(oracle_random(&random) >> 20) % (i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (size_t i = 0; i < n; i++)
        call(order != NULL ? order[i] : i, arg);
    free(order);
}

// On threads that are made for it, and gone afterwards.
typedef struct crew {
    ad_call_fn *call;
    void *arg;
    size_t n;
    atomic_size_t next;
} crew;

static void *crew_member(void *ctx)
{
    crew *c = ctx;
    for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->n;)
        c->call(i, c->arg);
    return NULL;
}

static void own_threads(size_t n, ad_call_fn *call, void *arg, void *user)
{
    crew c = { .call = call, .arg = arg, .n = n };
    pthread_t thread[2];
    bool started[2];
    (void)user;
    for (int i = 0; i < 2; i++)
        started[i] = pthread_create(&thread[i], NULL, crew_member, &c) == 0;
    crew_member(&c);
    for (int i = 0; i < 2; i++)
        if (started[i])
            pthread_join(thread[i], NULL);
}

typedef struct schedule {
    const char *name;
    unsigned threads;           // 0: no pool
    ad_execute_fn *execute;     // NULL: the pool
    int repeat;
    ad_pool *pool;
} schedule;

static schedule schedules[] = {
    { "no pool", 0, NULL, 1, NULL },
    { "1 thread", 1, NULL, 1, NULL },
    { "2 threads", 2, NULL, 8, NULL },
    { "3 threads", 3, NULL, 6, NULL },
    { "4 threads", 4, NULL, 6, NULL },
    { "8 threads", 8, NULL, 4, NULL },
    { "16 threads", 16, NULL, 3, NULL },
    { "64 threads", 64, NULL, 2, NULL },
    { "backwards", 0, backwards, 1, NULL },
    { "shuffled", 0, shuffled, 5, NULL },
    { "own threads", 0, own_threads, 1, NULL },
};

enum { SCHEDULES = sizeof schedules / sizeof schedules[0] };

static void use(const schedule *s)
{
    CHECK(ad_pool_use(s->pool) == ADREV_OK, "%s: pool", s->name);
    CHECK(ad_executor_use(s->execute, NULL) == ADREV_OK, "%s: executor",
          s->name);
}

/* --- comparing ------------------------------------------------------------ */

static const char *what;        // the program, for messages
static uint64_t number;
static const char *how;         // the schedule
static long compared;

static void right(ad_status s, const char *query)
{
    CHECK(s == ADREV_OK, "%s %llu, %s: %s: %s", what,
          (unsigned long long)number, how, query, ad_message(s));
}

static void query(ad_tape *t, trace *r)
{
    ad_real w[OUTPUTS];
    ad_real d[INPUTS];
    for (int i = 0; i < OUTPUTS; i++)
        w[i] = K(1.25) - K(0.5) * (ad_real)i;
    for (int i = 0; i < INPUTS; i++)
        d[i] = K(0.2) * (ad_real)i - K(0.5);
    right(ad_pullback(t, OUTPUTS, r->y, w, r->n, r->x, r->adjoint), "pullback");
    right(ad_gradient(t, r->y[0], r->n, r->x, r->g), "gradient");
    right(ad_jacobian(t, OUTPUTS, r->y, INPUTS, r->x, r->J), "Jacobian");
    right(ad_pushforward(t, INPUTS, r->x, d, OUTPUTS, r->y, r->dy),
          "pushforward");
}

static void run(ad_tape *t, program_fn *program, trace *r)
{
    memset(r, 0, sizeof *r);
    ad_tape_clear(t);
    program(number, r);
    for (size_t i = 0; i < r->n; i++)
        r->value[i] = r->x[i].v;
    r->jobs = ad_tape_jobs(t, JOBS, r->job);
    query(t, r);
}

#define SAME(field)                                                         \
    CHECK(memcmp(a->field, b->field, sizeof a->field) == 0,                 \
          "%s %llu, %s: not the same " #field, what,                        \
          (unsigned long long)number, how)

static void check_same(const trace *a, const trace *b)
{
    CHECK(a->n == b->n && a->jobs == b->jobs,
          "%s %llu, %s: %zu values in %zu jobs, without a pool %zu in %zu",
          what, (unsigned long long)number, how, b->n, b->jobs, a->n,
          a->jobs);
    SAME(value);
    SAME(adjoint);
    SAME(g);
    SAME(J);
    SAME(dy);
    SAME(job);
    compared++;
}

#undef SAME

static void check_near_all(const char *of, size_t n, const ad_real a[],
                           const ad_real b[])
{
    // Slopes are at most about 1, but there may be many paths: they may cancel.
    double part = SINGLE ? 1e-3 : 1e-11;
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)a[i]));
    for (size_t i = 0; i < n; i++)
        CHECK(fabs((double)a[i] - (double)b[i]) <= part * largest,
              "%s %llu, %s: %s[%zu]: without forks %.17g, with forks %.17g",
              what, (unsigned long long)number, how, of, i, (double)a[i],
              (double)b[i]);
}

// The same program without forks has the same values, and nearly the same
// derivatives: sums have another order. Adjoints of all that was recorded.
static void check_alone(ad_tape *t, program_fn *program, const trace *forked)
{
    static trace alone;
    forking = false;
    run(t, program, &alone);
    forking = true;
    CHECK(alone.n == forked->n && alone.jobs == 1, "%s: %zu and %zu values, "
          "%zu jobs", what, alone.n, forked->n, alone.jobs);
    // gradients within the program are numbers of it, rounded otherwise
    check_near_all("value", alone.n, alone.value, forked->value);
    check_near_all("adjoint", alone.n, alone.adjoint, forked->adjoint);
    check_near_all("g", alone.n, alone.g, forked->g);
    check_near_all("J", OUTPUTS * INPUTS, alone.J, forked->J);
    check_near_all("dy", OUTPUTS, alone.dy, forked->dy);
}

// Recorded under one schedule, swept under another.
static void check_other_sweep(ad_tape *t, const trace *reference, trace *r,
                              size_t other)
{
    how = "swept under another schedule";
    use(&schedules[other]);
    query(t, r);
    check_same(reference, r);
}

static void check_program(const char *name, program_fn *program, uint64_t seed)
{
    static trace reference;
    static trace r;
    ad_tape *kept = ad_tape_new();      // in use from schedule to schedule
    what = name;
    number = seed;
    for (size_t i = 0; i < SCHEDULES; i++)
        for (int k = 0; k < schedules[i].repeat; k++) {
            ad_tape *t = k % 2 == 0 ? kept : ad_tape_new();
            how = schedules[i].name;
            use(&schedules[i]);
            ad_use(t);
            run(t, program, i == 0 ? &reference : &r);
            if (i == 0)
                check_alone(t, program, &reference);
            else
                check_same(&reference, &r);
            if (i > 0 && k == 0)
                check_other_sweep(t, &reference, &r, (i * 7 + seed) % 8);
            if (t != kept)
                ad_tape_free(t);
        }
    ad_tape_free(kept);
}

// A pool for every fork: threads that start while branches are handed out, and
// end while others still look for some.
static void check_new_pools(void)
{
    static trace reference;
    static trace r;
    ad_tape *t = ad_tape_new();
    what = "recursion";
    number = 0;
    how = "new pools";
    use(&schedules[0]);
    ad_use(t);
    run(t, recursion, &reference);
    for (unsigned i = 0; i < 60; i++) {
        ad_pool *pool = ad_pool_new(1 + i % 5);
        CHECK(ad_pool_use(pool) == ADREV_OK, "pool %u", i);
        run(t, recursion, &r);
        check_same(&reference, &r);
        ad_pool_free(pool);
    }
    ad_tape_free(t);
}

enum { USUAL = 30 / ONE_IN(5) };        // random programs

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : USUAL;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (size_t i = 0; i < SCHEDULES; i++)
        if (schedules[i].threads > 0)
            schedules[i].pool = ad_pool_new(schedules[i].threads);
    for (uint64_t i = 0; i < n; i++)
        check_program("random program", random_program, seed + i);
    for (uint64_t i = 0; i < 3; i++) {
        check_program("particles", particles, i);
        check_program("recursion", recursion, i);
    }
    check_new_pools();
    use(&schedules[0]);
    for (size_t i = 0; i < SCHEDULES; i++)
        ad_pool_free(schedules[i].pool);
    CHECK(n < USUAL || compared >= 1000 / ONE_IN(5), "only %ld schedules",
          compared);
    return check_done("schedules");
}
