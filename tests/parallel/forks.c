// SPDX-License-Identifier: MIT-0
// tags: slow threads
// flags: -pthread
/* forks.c - programs that fork and join: the worked examples of the sheet with
 * their job graphs, its random graphs and particles, forks of every arity,
 * forks nested deep and many in a row; what job graphs allow and predict.
 *
 * Each program runs on several pools and without one, and is compared with the
 * sheet's values, closed forms and forward numbers.
 *
 *     forks [n]        n forks in a row; default 100000, -DFEW=1: 10000       */

#include "implementation.h"
#include "adrev_parallel.h"
#include "check.h"
#include "forks.h"
#include "random_numbers.h"

#include <stdlib.h>
#include <string.h>

/* --- the programs of the sheet, forked ------------------------------------
 * Every operation is recorded by itself, so that jobs have the sheet's number
 * of values; so the literal of example B is an input here.                   */

// Forward numbers, in one thread; most of the programs there are not ours.
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#define NUM       ad_fwd
#define REC(e)    ad_dual(e)
#define NAME(f)   fwd_##f
#include "dualrev_programs.h"
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

// What the branches of a small program share.
typedef struct scene {
    const ad_rev *x;
    const struct beside *k;
    ad_rev a, b, p, q, r, s;
} scene;

#define PROGRAM(f)                                                          \
    static void f(const ad_rev *x, const struct beside *k, ad_rev *y)
#define BRANCH(f)                                                           \
    static void f(void *ctx)

BRANCH(a_left)
{
    scene *s = ctx;
    ad_rev xy = ad_rec(ad_mul(s->x[0], s->x[1]));
    s->a = ad_rec(ad_mul(xy, s->x[0]));
}

BRANCH(a_right)
{
    scene *s = ctx;
    ad_rev yy = ad_rec(ad_add(s->x[1], s->x[1]));
    s->b = ad_rec(ad_add(yy, s->x[0]));
}

PROGRAM(parallel_a)
{
    scene s = { .x = x, .k = k };
    both(a_left, &s, a_right, &s);
    y[0] = ad_rec(ad_add(s.a, s.b));
}

BRANCH(b_left)
{
    scene *s = ctx;
    s->a = ad_rec(ad_mul(s->x[0], s->x[1]));
}

BRANCH(b_p)
{
    scene *s = ctx;
    s->p = ad_rec(ad_add(s->x[0], ad_input(1)));
}

BRANCH(b_q)
{
    scene *s = ctx;
    s->q = ad_rec(ad_mul(s->x[1], s->x[1]));
}

BRANCH(b_right)
{
    scene *s = ctx;
    both(b_p, s, b_q, s);
    s->b = ad_rec(ad_mul(s->p, s->q));
}

PROGRAM(parallel_b)
{
    scene s = { .x = x, .k = k };
    both(b_left, &s, b_right, &s);
    y[0] = ad_rec(ad_add(s.a, s.b));
}

BRANCH(c_a)
{
    scene *s = ctx;
    s->a = ad_rec(ad_mul(s->x[0], s->x[0]));
}

BRANCH(c_b)
{
    scene *s = ctx;
    s->b = ad_rec(ad_mul(s->x[1], s->x[1]));
}

static void c_second(size_t i, void *ctx)
{
    scene *s = ctx;
    if (i == 0)
        s->p = ad_rec(ad_mul(s->s, s->x[0]));
    else if (i == 1)
        s->q = ad_rec(ad_mul(s->s, s->x[1]));
    else
        s->r = ad_rec(ad_add(s->s, s->s));
}

PROGRAM(parallel_c)
{
    scene s = { .x = x, .k = k };
    both(c_a, &s, c_b, &s);
    s.s = ad_rec(ad_add(s.a, s.b));
    each(3, c_second, &s);
    ad_rev pq = ad_rec(ad_add(s.p, s.q));
    y[0] = ad_rec(ad_add(pq, s.r));
}

// D: a right-nested map. The rest of the last element is empty.
typedef struct list {
    const ad_rev *x;
    ad_rev *y;
    size_t n;
} list;

BRANCH(d_head)
{
    list *l = ctx;
    l->y[0] = ad_rec(ad_mul(l->x[0], K(3)));
}

BRANCH(d_map)
{
    list *l = ctx;
    list rest = { l->x + 1, l->y + 1, l->n - 1 };
    if (l->n > 0)
        both(d_head, l, d_map, &rest);
}

PROGRAM(parallel_d)
{
    list l = { x, y, 4 };
    (void)k;
    d_map(&l);
}

// E: three forks, and after each a use of its branches.
BRANCH(e_left)
{
    scene *s = ctx;
    s->a = ad_rec(ad_mul(s->s, s->x[0]));
}

BRANCH(e_right)
{
    scene *s = ctx;
    s->b = ad_rec(ad_add(s->s, s->x[1]));
}

PROGRAM(parallel_e)
{
    scene s = { .x = x, .k = k, .s = x[0] };
    for (int i = 0; i < 3; i++) {
        both(e_left, &s, e_right, &s);
        s.s = ad_rec(ad_mul(s.a, s.b));
    }
    y[0] = s.s;
}

typedef struct rotated {
    ad_rev v[2];
} rotated;

BRANCH(rotate300)
{
    rotated *r = ctx;
    for (int i = 300; i >= 1; i--) {
        ad_real angle = K(0.1 + 0.05 * sin(i));
        ad_real c = adm_cos(angle);
        ad_real s = adm_sin(angle);
        ad_rev u = ad_rec(ad_sub(ad_mul(r->v[0], c), ad_mul(r->v[1], s)));
        r->v[1] = ad_rec(ad_add(ad_mul(r->v[0], s), ad_mul(r->v[1], c)));
        r->v[0] = u;
    }
}

PROGRAM(parallel_large)
{
    rotated a = { { x[0], x[1] } };
    rotated b = { { x[1], x[0] } };
    (void)k;
    both(rotate300, &a, rotate300, &b);
    y[0] = ad_rec(ad_add(ad_add(a.v[0], a.v[1]), ad_add(b.v[0], b.v[1])));
}

typedef struct subgraph {
    const char *g;
    const ad_rev *a;
    ad_rev s;
    ad_rev y;
} subgraph;

BRANCH(run_graph)
{
    subgraph *p = ctx;
    const char *g = p->g;
    p->y = p->s;
    if (*g == 'S')
        return;
    if (*g == 'E') {
        subgraph before = { .g = g + 1, .a = p->a + 1, .s = p->s };
        run_graph(&before);
        ad_rev t = ad_rec(ad_add(p->a[0], before.y));
        p->y = ad_rec(ad_div(ad_mul(p->a[0], before.y),
                             ad_log(ad_add(ad_mul(t, t), 2))));
        return;
    }
    const char *right_g = g + 1 + graph_length(g + 1);
    const ad_rev *right_a = p->a + graph_constants(g + 1);
    subgraph first = { .g = right_g + graph_length(right_g),
                       .a = right_a + graph_constants(right_g), .s = p->s };
    run_graph(&first);
    subgraph u = { .g = g + 1, .a = p->a, .s = ad_rec(ad_add(first.y, 2)) };
    subgraph v = { .g = right_g, .a = right_a,
                   .s = ad_rec(ad_add(first.y, 1)) };
    both(run_graph, &u, run_graph, &v);
    p->y = ad_rec(ad_add(u.y, ad_mul(K(0.9), v.y)));
}

PROGRAM(graph)
{
    subgraph g = { .g = k->graph, .a = x,
                   .s = x[graph_constants(k->graph)] };
    run_graph(&g);
    y[0] = g.y;
}

// Particles: k is { particles, steps }; p_x p_y v_x v_y of each.
typedef struct swarm {
    const ad_rev *x;
    ad_rev *term;
    int n;
    int steps;
} swarm;

static void particle(size_t i, void *ctx)
{
    swarm *s = ctx;
    ad_rev p[2] = { s->x[4 * i], s->x[4 * i + 1] };
    ad_rev v[2] = { s->x[4 * i + 2], s->x[4 * i + 3] };
    for (int t = 0; t < s->steps; t++)
        for (int d = 0; d < 2; d++) {
            ad_rev a = ad_rec(ad_sub(ad_mul(K(-0.5), p[d]),
                                     ad_mul(K(0.2), v[d])));
            p[d] = ad_rec(ad_add(p[d], ad_mul(K(0.05), v[d])));
            v[d] = ad_rec(ad_add(v[d], ad_mul(K(0.05), a)));
        }
    s->term[i] = ad_rec(ad_mul(p[0], p[1]));
}

BRANCH(first_particle)
{
    particle(0, ctx);
}

BRANCH(all_particles)
{
    swarm *s = ctx;
    swarm rest = { s->x + 4, s->term + 1, s->n - 1, s->steps };
    if (s->n > 0)
        both(first_particle, s, all_particles, &rest);
}

PROGRAM(particles_nested)
{
    ad_rev term[8];
    swarm s = { x, term, k->i[0], k->i[1] };
    all_particles(&s);
    y[0] = ad_sum((size_t)s.n, term);
}

PROGRAM(particles_n)
{
    ad_rev term[8];
    swarm s = { x, term, k->i[0], k->i[1] };
    each((size_t)s.n, particle, &s);
    y[0] = ad_sum((size_t)s.n, term);
}

/* --- values of the sheet -------------------------------------------------- */

enum { MOST = 16 };

typedef void rev_program(const ad_rev *x, const struct beside *k, ad_rev *y);
typedef void fwd_program(const ad_fwd *x, const struct beside *k, ad_fwd *y);

struct sheet {
    const char *name;
    rev_program *rev;
    fwd_program *fwd;
    size_t n;
    struct beside k;
    double x[MOST];
    double y;
    double g[MOST];
    double off;                 // of the printed digits, relative
};

#define PARTICLES                                                           \
    { 0.5, 0.1, 1, 1, 1, 0.1, 1, 1, 1.5, 0.1, 1, 1, 2, 0.1, 1, 1 }

// The sheet prints the first and the last particle: ANY stands between them.
#define ANY 1e300

static const struct sheet sheet[] = {
    { "A", parallel_a, fwd_parallel_a, 2, { { 0 }, "" }, { 3, 4 }, 47,
      { 25, 11 }, 0 },
    { "B", parallel_b, fwd_parallel_b, 2, { { 0 }, "" }, { 2, 3 }, 33,
      { 12, 20 }, 0 },
    { "C", parallel_c, fwd_parallel_c, 2, { { 0 }, "" }, { 2, 5 }, 261,
      { 65, 119 }, 0 },
    { "large", parallel_large, fwd_parallel_large, 2, { { 0 }, "" }, { 1, 2 },
      1.0543919255, { 0.3514639752, 0.3514639752 }, 1e-9 },
    { "source", graph, fwd_graph, 1, { { 0 }, "S" }, { 0.3 }, 0.3, { 1 }, 0 },
    { "extend", graph, fwd_graph, 2, { { 0 }, "ES" }, { 0.5, 0.3 },
      0.154515098493, { 0.212565891280, 0.418586022605 }, 1e-11 },
    { "split of sources", graph, fwd_graph, 1, { { 0 }, "PSSS" }, { 0.3 },
      3.47, { 1.9 }, 1e-15 },
    { "split", graph, fwd_graph, 4, { { 0 }, "PESESES" },
      { 0.5, 1.5, 2, 0.3 }, 1.271529593825,
      { 0.881186152835, 0.321179611036, 0.027126775579, 0.448606138444 },
      1e-10 },
    { "split in a split", graph, fwd_graph, 5, { { 0 }, "PESEPSESSES" },
      { 0.5, 1.5, -0.7, 2, 0.3 }, 1.626216757027,
      { 0.881186152835, 0.566409041037, 0.534711931151, 0.021890272091,
        0.362008024279 }, 1e-10 },
    { "right-nested splits", graph, fwd_graph, 4, { { 0 }, "PESPESPESSSSS" },
      { 0.5, 1.5, -0.7, 0.3 }, 3.390794080258,
      { 0.880734989808, 0.757542812926, 1.447757696934, 1.027742334942 },
      1e-11 },
    { "particles, nested, 10 steps", particles_nested, fwd_particles, 16,
      { { 4, 10 }, "" }, PARTICLES, 3.73810401764785,
      { .53463047783755, .892251865516298, .266237907115025, .44432795948217,
        ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY,
        .53463047783755, 2.233332069311604, .266237907115025,
        1.112165655858964 }, 1e-13 },
    { "particles, 10 steps", particles_n, fwd_particles, 16,
      { { 4, 10 }, "" }, PARTICLES, 3.73810401764785,
      { .53463047783755, .892251865516298, .266237907115025, .44432795948217,
        ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY,
        .53463047783755, 2.233332069311604, .266237907115025,
        1.112165655858964 }, 1e-13 },
    { "particles, nested, 1000 steps", particles_nested, fwd_particles, 16,
      { { 4, 1000 }, "" }, PARTICLES, 0.00106762335129,
      { 1.24312289199e-4, 1.74183869780e-4, 1.11515476324e-4,
        1.56253233945e-4, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY,
        1.24312289199e-4, 3.61202296959e-4, 1.11515476324e-4,
        3.24019825026e-4 }, 1e-11 },
    { "particles, 1000 steps", particles_n, fwd_particles, 16,
      { { 4, 1000 }, "" }, PARTICLES, 0.00106762335129,
      { 1.24312289199e-4, 1.74183869780e-4, 1.11515476324e-4,
        1.56253233945e-4, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY,
        1.24312289199e-4, 3.61202296959e-4, 1.11515476324e-4,
        3.24019825026e-4 }, 1e-11 },
};

static void check_forward(const struct sheet *s, const ad_real g[])
{
    ad_real want[MOST];
    for (size_t j = 0; j < s->n; j++) {
        ad_fwd x[MOST];
        ad_fwd y[MOST];
        for (size_t i = 0; i < s->n; i++)
            x[i] = (ad_fwd){ K(s->x[i]), i == j };
        s->fwd(x, &s->k, y);
        want[j] = y[0].d;
    }
    // 1000 steps are 6000 sums, of which each mode has its own order
    if (SINGLE || s->k.i[1] <= 10)
        agree(s->name, s->n, g, want);
    else
        for (size_t j = 0; j < s->n; j++)
            CHECK_NEAR(g[j], want[j], 1e-11);
}

static void check_sheet(const struct sheet *s)
{
    ad_rev x[MOST];
    ad_rev y[MOST];
    ad_real g[MOST] = { 0 };
    double off = SINGLE ? 1e-4 : s->off;
    ad_tape_clear(tape);
    for (size_t i = 0; i < s->n; i++)
        x[i] = ad_input(K(s->x[i]));
    s->rev(x, &s->k, y);
    CHECK(fabs((double)y[0].v - s->y) <= off * fabs(s->y),
          "%s, %s: got %.17g, want %.17g", s->name, pool_name,
          (double)y[0].v, s->y);
    right(ad_gradient(tape, y[0], s->n, x, g), s->name);
    for (size_t i = 0; i < s->n; i++) {
        double want = s->g[i];
        CHECK(want >= ANY || fabs((double)g[i] - want) <= off * fabs(want),
              "%s, %s: g[%zu]: got %.17g, want %.17g", s->name, pool_name, i,
              (double)g[i], want);
    }
    check_forward(s, g);
}

static void test_sheet(void)
{
    for (size_t i = 0; i < sizeof sheet / sizeof sheet[0]; i++)
        check_sheet(&sheet[i]);
}

// 2 cos(sum of angles), with the angles that single or double precision holds.
static void test_large(void)
{
    ad_rev x[2] = { ad_input(1), ad_input(2) };
    ad_rev y;
    ad_real g[2] = { 0 };
    struct beside k = { { 0 }, "" };
    long double sum = 0;
    for (int i = 300; i >= 1; i--)
        sum += (long double)K(0.1 + 0.05 * sin(i));
    parallel_large(x, &k, &y);
    right(ad_gradient(tape, y, 2, x, g), "large");
    for (int i = 0; i < 2; i++)
        CHECK(fabsl((long double)g[i] - 2 * cosl(sum)) <= (SINGLE ? 1e-4L
                                                                  : 1e-13L),
              "g[%d]: got %.17g, want %.17Lg", i, (double)g[i],
              2 * cosl(sum));
}

/* --- job graphs ----------------------------------------------------------- */

struct job {
    size_t branches, fork, join, values, imports;
};

enum { MOST_JOBS = 16 };

struct jobs {
    const char *name;
    rev_program *rev;
    size_t inputs;
    size_t n;
    struct job job[MOST_JOBS];
};

static const struct jobs jobs[] = {
    { "A", parallel_a, 2, 4,
      { { 2, 1, 0, 2, 0 }, { 0, 0, 3, 2, 2 }, { 0, 0, 3, 2, 2 },
        { 0, 0, 0, 1, 2 } } },
    { "B", parallel_b, 2, 7,
      { { 2, 1, 0, 2, 0 }, { 0, 0, 3, 1, 2 }, { 2, 4, 0, 0, 0 },
        { 0, 0, 0, 1, 2 }, { 0, 0, 6, 2, 1 }, { 0, 0, 6, 1, 1 },
        { 0, 0, 3, 1, 2 } } },
    { "C", parallel_c, 2, 8,
      { { 2, 1, 0, 2, 0 }, { 0, 0, 3, 1, 1 }, { 0, 0, 3, 1, 1 },
        { 3, 4, 0, 1, 2 }, { 0, 0, 7, 1, 2 }, { 0, 0, 7, 1, 2 },
        { 0, 0, 7, 1, 1 }, { 0, 0, 0, 2, 3 } } },
    { "D", parallel_d, 4, 13,
      { { 2, 1, 0, 4, 0 },
        { 0, 0, 3, 1, 1 }, { 2, 4, 0, 0, 0 }, { 0, 0, 0, 0, 0 },
        { 0, 0, 6, 1, 1 }, { 2, 7, 0, 0, 0 }, { 0, 0, 3, 0, 0 },
        { 0, 0, 9, 1, 1 }, { 2, 10, 0, 0, 0 }, { 0, 0, 6, 0, 0 },
        { 0, 0, 12, 1, 1 }, { 0, 0, 12, 0, 0 }, { 0, 0, 9, 0, 0 } } },
    { "E", parallel_e, 2, 10,
      { { 2, 1, 0, 2, 0 }, { 0, 0, 3, 1, 1 }, { 0, 0, 3, 1, 2 },
        { 2, 4, 0, 1, 2 }, { 0, 0, 6, 1, 2 }, { 0, 0, 6, 1, 2 },
        { 2, 7, 0, 1, 2 }, { 0, 0, 9, 1, 2 }, { 0, 0, 9, 1, 2 },
        { 0, 0, 0, 1, 2 } } },
};

static void check_job(const char *name, size_t i, const ad_job *got,
                      const struct job *want)
{
    CHECK(got->branches == want->branches
              && (want->branches == 0 || got->fork == want->fork)
              && got->join == want->join,
          "%s, %s: job %zu: got %zu branches at %zu, join %zu; want %zu at "
          "%zu, join %zu", name, pool_name, i, got->branches, got->fork,
          got->join, want->branches, want->fork, want->join);
    CHECK(got->values == want->values, "%s, %s: job %zu: got %zu values, "
          "want %zu", name, pool_name, i, got->values, want->values);
    CHECK(got->imports == want->imports, "%s, %s: job %zu: got %zu imports, "
          "want %zu", name, pool_name, i, got->imports, want->imports);
    CHECK(got->primal == 0 && got->reverse == 0, "%s: job %zu has times",
          name, i);
}

static void check_jobs(const struct jobs *want)
{
    ad_job job[MOST_JOBS];
    ad_rev x[4];
    ad_rev y[4];
    struct beside k = { { 0 }, "" };
    ad_real g[4];
    ad_tape_clear(tape);
    for (size_t i = 0; i < want->inputs; i++)
        x[i] = ad_input((ad_real)(i + 2));
    want->rev(x, &k, y);
    for (int round = 0; round < 2; round++) {
        memset(job, 0, sizeof job);
        size_t n = ad_tape_jobs(tape, MOST_JOBS, job);
        CHECK(n == want->n, "%s, %s: got %zu jobs, want %zu", want->name,
              pool_name, n, want->n);
        CHECK(ad_tape_jobs(tape, 0, NULL) == n, "%s: no room", want->name);
        for (size_t i = 0; i < n && i < want->n; i++)
            check_job(want->name, i, &job[i], &want->job[i]);
        // a sweep does not change the graph
        right(ad_gradient(tape, y[0], want->inputs, x, g), want->name);
    }
    ad_parallelism p = ad_job_parallelism(want->n, job);
    CHECK(p.jobs == want->n && p.jobs == 1 + p.forks + (p.tasks - 1),
          "%s: %zu jobs, %zu forks, %zu tasks", want->name, p.jobs, p.forks,
          p.tasks);
}

// Jobs that do not fit are left out; what follows the array is untouched.
static void test_job_room(void)
{
    ad_rev x[2] = { ad_input(2), ad_input(3) };
    ad_rev y;
    ad_job job[4];
    struct beside k = { { 0 }, "" };
    parallel_b(x, &k, &y);
    memset(job, 0x5a, sizeof job);
    CHECK(ad_tape_jobs(tape, 3, job) == 7, "7 jobs");
    CHECK(job[0].values == 2 && job[2].branches == 2, "the first of them");
    CHECK(job[3].values == (size_t)0x5a5a5a5a5a5a5a5aULL, "written beyond");
}

BRANCH(nothing)
{
    (void)ctx;
}

BRANCH(forks_nothing)
{
    both(nothing, ctx, nothing, ctx);
}

// A fork of which no branch records anything leaves no trace.
static void test_no_job(void)
{
    for (int i = 0; i < 10; i++)
        both(forks_nothing, NULL, nothing, NULL);
    CHECK(ad_tape_jobs(tape, 0, NULL) == 1, "%s: got %zu jobs, want 1",
          pool_name, ad_tape_jobs(tape, 0, NULL));
}

static void test_jobs(void)
{
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        check_jobs(&jobs[i]);
    ad_tape_clear(tape);
    test_job_room();
    ad_tape_clear(tape);
    test_no_job();
    ad_job job = { 0 };
    ad_tape_clear(tape);
    DROP(ad_rec(ad_sin(ad_input(1))));
    CHECK(ad_tape_jobs(tape, 1, &job) == 1 && job.values == 2
              && job.statements == 1 && job.branches == 0 && job.join == 0,
          "a recording without forks is one job");
}

// Example B as the sheet counts it: 8 values, 6 on the longest path. As times,
// three workers need no more than that path, two one more if they are unlucky.
static void test_parallelism(void)
{
    static const double time[7] = { 2, 1, 0, 1, 2, 1, 1 };
    ad_job job[7];
    double primal = 0;
    double reverse = 0;
    memset(job, 0, sizeof job);
    for (size_t i = 0; i < 7; i++) {
        job[i].branches = jobs[1].job[i].branches;
        job[i].fork = jobs[1].job[i].fork;
        job[i].join = jobs[1].job[i].join;
        job[i].statements = (size_t)time[i];
        job[i].primal = time[i];
        job[i].reverse = 10 * time[i];
    }
    ad_parallelism p = ad_job_parallelism(7, job);
    CHECK(p.jobs == 7 && p.forks == 2 && p.tasks == 5, "jobs: got %zu %zu %zu",
          p.jobs, p.forks, p.tasks);
    CHECK(p.work == 8 && p.span == 6, "got work %zu, span %zu", p.work, p.span);
    CHECK(fabs(p.parallelism - 8.0 / 6) < 1e-15, "got %g", p.parallelism);
    CHECK(p.primal_work == 8 && p.primal_span == 6 && p.reverse_work == 80
              && p.reverse_span == 60, "times: got %g %g %g %g",
          p.primal_work, p.primal_span, p.reverse_work, p.reverse_span);
    for (unsigned w = 1; w < 5; w++) {
        right(ad_job_predict(7, job, w, &primal, &reverse), "predict");
        double least = w == 1 ? 8 : 6;
        double most = w == 1 ? 8 : w == 2 ? 7 : 6;
        CHECK(primal >= least && primal <= most && reverse >= 10 * least
                  && reverse <= 10 * most, "%u workers: got %g and %g", w,
              primal, reverse);
    }
    right(ad_job_predict(7, job, 3, NULL, &reverse), "reverse alone");
    right(ad_job_predict(7, job, 3, &primal, NULL), "primal alone");
    CHECK(primal == 6 && reverse == 60, "got %g and %g", primal, reverse);
}

// k branches of one second: k/w rounds.
static void test_rounds(void)
{
    enum { BRANCHES = 12 };
    ad_job job[BRANCHES + 2];
    memset(job, 0, sizeof job);
    job[0].branches = BRANCHES;
    job[0].fork = 1;
    for (size_t i = 1; i <= BRANCHES; i++) {
        job[i].join = BRANCHES + 1;
        job[i].primal = 1;
        job[i].reverse = 2;
        job[i].statements = 5;
    }
    ad_parallelism p = ad_job_parallelism(BRANCHES + 2, job);
    CHECK(p.work == 60 && p.span == 5 && p.parallelism == 12
              && p.forks == 1 && p.tasks == 13, "got %zu %zu %g", p.work,
          p.span, p.parallelism);
    for (unsigned w = 1; w <= 14; w++) {
        double primal = 0;
        double reverse = 0;
        double rounds = ceil((double)BRANCHES / w);
        right(ad_job_predict(BRANCHES + 2, job, w, &primal, &reverse),
              "predict");
        CHECK(primal == rounds && reverse == 2 * rounds,
              "%u workers: got %g and %g, want %g rounds", w, primal, reverse,
              rounds);
    }
    job[0].branches = 0;
    p = ad_job_parallelism(1, job);
    CHECK(p.jobs == 1 && p.tasks == 1 && p.forks == 0 && p.work == 0, "alone");
    CHECK(!isnan(p.parallelism), "no work: not a number");
}

// A measured recording keeps to the bounds of any greedy schedule.
static void test_measured(void)
{
    enum { ROOM = 4096 };
    static ad_job job[ROOM];
    ad_rev x[16];
    ad_rev y;
    ad_real g[16];
    struct beside k = { { 4, 2000 }, "" };
    ad_tape_clear(tape);
    ad_tape_measure(tape, true);
    for (int i = 0; i < 16; i++)
        x[i] = ad_input(K(1.0 / (i + 1)));
    particles_nested(x, &k, &y);
    right(ad_gradient(tape, y, 16, x, g), "measured");
    size_t n = ad_tape_jobs(tape, ROOM, job);
    ad_tape_measure(tape, false);
    ad_parallelism p = ad_job_parallelism(n, job);
    CHECK(p.primal_span > 0 && p.primal_work >= p.primal_span
              && p.reverse_span > 0 && p.reverse_work >= p.reverse_span,
          "times: got %g %g %g %g", p.primal_work, p.primal_span,
          p.reverse_work, p.reverse_span);
    CHECK(p.parallelism > 3 && p.parallelism <= 4.01, "got %g",
          p.parallelism);
    for (unsigned w = 1; w <= 64; w *= 4) {
        double t = 0;
        right(ad_job_predict(n, job, w, &t, NULL), "predict");
        CHECK(t >= p.primal_span * (1 - 1e-9)
                  && t >= p.primal_work / w * (1 - 1e-9)
                  && t <= (p.primal_work / w + p.primal_span) * (1 + 1e-9),
              "%u workers: %g s of %g, span %g", w, t, p.primal_work,
              p.primal_span);
    }
}

typedef struct text {
    size_t n;
    char s[1 << 14];
} text;

static void append(const char *s, size_t n, void *user)
{
    text *t = user;
    size_t room = sizeof t->s - 1 - t->n;
    n = n < room ? n : room;
    memcpy(t->s + t->n, s, n);
    t->n += n;
}

// Two arrows for each branch; how it looks is nobody's contract.
static void test_dot(void)
{
    static text t;
    ad_rev x[2] = { ad_input(2), ad_input(3) };
    ad_rev y;
    struct beside k = { { 0 }, "" };
    size_t arrows = 0;
    t = (text){ 0 };
    parallel_b(x, &k, &y);
    right(ad_dump_jobs_dot(tape, append, &t), "dot");
    for (const char *p = t.s; (p = strstr(p, "->")) != NULL; p += 2)
        arrows++;
    CHECK(strncmp(t.s, "digraph", 7) == 0 && strchr(t.s, '}') != NULL,
          "not a graph: %s", t.s);
    CHECK(arrows == 8, "got %zu arrows, want 8:\n%s", arrows, t.s);
}

/* --- closed forms --------------------------------------------------------- */

// n depends on values, too.
static void test_arities(void)
{
    uint64_t seed = 1;
    static const size_t sizes[] = { 0, 1, 2, 3, 8, 17, 100, 127 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ad_tape_clear(tape);
        check_arity(sizes[i]);
    }
    for (int i = 0; i < 30; i++)
        check_arity((size_t)oracle_uniform(&seed, 0, FAN));
}

// Sums of integers: no rounding, whatever the order.
static void test_integers(void)
{
    ad_rev x[2] = { ad_input(3), ad_input(5) };
    fib f = { .x = x, .n = 16 };
    ad_real g[2] = { 0 };
    fibonacci(&f);
    right(ad_gradient(tape, f.y, 2, x, g), "fibonacci");
    CHECK(g[0] == 610 && g[1] == 987, "%s: got (%g, %g), want (610, 987)",
          pool_name, (double)g[0], (double)g[1]);

    crowd c = { .x = x[0] };
    ad_fork_n(100, press, &c);
    ad_rev y = ad_rec(ad_add(ad_sum(100, c.part), ad_mul(7, x[1])));
    right(ad_gradient(tape, y, 2, x, g), "one input of 100 branches");
    CHECK(g[0] == 122500 && g[1] == 7, "%s: got (%g, %g), want (122500, 7)",
          pool_name, (double)g[0], (double)g[1]);
}

/* --- deep, long, many ----------------------------------------------------- */

typedef struct deep {
    ad_rev x;
    size_t depth;
    bool left;                  // whether the deep branch is the left one
    ad_rev y;
} deep;

static void flat(void *ctx)
{
    deep *d = ctx;
    d->y = ad_rec(ad_mul(d->x, 2));
}

static void deeper(void *ctx)
{
    deep *d = ctx;
    d->y = d->x;
    if (d->depth == 0)
        return;
    deep a = { .x = d->x, .depth = d->depth - 1, .left = d->left };
    deep b = { .x = d->x };
    if (d->left)
        ad_fork2(deeper, &a, flat, &b);
    else
        ad_fork2(flat, &b, deeper, &a);
    d->y = ad_rec(ad_add(a.y, b.y));
}

#ifndef DEPTH
#define DEPTH 2000              // less where frames are large: plans/asan.txt
#endif

static void test_deep(void)
{
    for (int left = 0; left < 2; left++) {
        ad_real g[2] = { 0 };
        ad_tape_clear(tape);
        deep d = { .x = ad_input(1), .depth = DEPTH, .left = left };
        deeper(&d);
        right(ad_gradient(tape, d.y, 1, &d.x, g), "deep");
        ad_real one = 1;
        right(ad_pushforward(tape, 1, &d.x, &one, 1, &d.y, g + 1), "deep");
        CHECK(d.y.v == 2 * DEPTH + 1 && g[0] == 2 * DEPTH + 1
                  && g[0] == g[1],
              "%s: got %g, %g and %g, want %d", pool_name, (double)d.y.v,
              (double)g[0], (double)g[1], 2 * DEPTH + 1);
        CHECK(ad_tape_jobs(tape, 0, NULL) == 1 + 3 * DEPTH, "%zu jobs",
              ad_tape_jobs(tape, 0, NULL));
    }
}

static void copy(void *ctx)
{
    deep *d = ctx;
    d->y = ad_rec(ad_mul(d->x, 1));
}

// Each fork uses what the one before left.
static void test_row(size_t n)
{
    deep a = { .x = ad_input(1) };
    deep b = a;
    const ad_rev x = a.x;
    ad_real g = 0;
    for (size_t i = 0; i < n; i++) {
        ad_fork2(copy, &a, copy, &b);
        a.x = ad_rec(ad_add(a.y, b.y));
        b.x = x;
    }
    right(ad_gradient(tape, a.x, 1, &x, &g), "forks in a row");
    CHECK(g == (ad_real)(n + 1) && a.x.v == g, "%s: got %g, want %zu",
          pool_name, (double)g, n + 1);
    CHECK(ad_tape_jobs(tape, 0, NULL) == 1 + 3 * n, "%zu jobs",
          ad_tape_jobs(tape, 0, NULL));
}

// x + x halved, a million times in each of two branches: every statement is
// visited once, by a sweep that is not recursive.
static void chain(void *ctx)
{
    deep *d = ctx;
    d->y = d->x;
    for (size_t i = 0; i < d->depth; i++)
        d->y = ad_rec(ad_mul(K(0.5), ad_add(d->y, d->y)));
}

static void test_chain(size_t n)
{
    ad_job job[4] = { { 0 } };
    ad_real g = 0;
    deep a = { .x = ad_input(1), .depth = n };
    deep b = a;
    ad_fork2(chain, &a, chain, &b);
    ad_rev y = ad_rec(ad_add(a.y, ad_mul(b.y, 2)));
    right(ad_gradient(tape, y, 1, &a.x, &g), "chain");
    CHECK(g == 3 && y.v == 3, "%s: got %g", pool_name, (double)g);
    CHECK(ad_tape_jobs(tape, 4, job) == 4, "4 jobs");
    for (int i = 1; i < 3; i++)
        CHECK(ADREV_FUSE < 2 ? job[i].statements > n
                             : job[i].statements == n,
              "job %d: %zu statements, want %zu", i, job[i].statements, n);
}

/* --- all of it ------------------------------------------------------------ */

static size_t row_length = 100000 / ONE_IN(10);

static void test_long_row(void)
{
    test_row(row_length);
}

static void test_million(void)
{
    test_chain(1000000);
}

int main(int argc, char **argv)
{
    static void (*const tests[])(void) = {
        test_sheet, test_large, test_jobs, test_measured, test_dot,
        test_arities, test_integers, test_deep, test_long_row, test_million,
    };
    if (argc > 1)
        row_length = (size_t)strtoull(argv[1], NULL, 10);
    test_parallelism();
    test_rounds();
    on_pools(sizeof tests / sizeof tests[0], tests);
    return check_done("forks");
}
