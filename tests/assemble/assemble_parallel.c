// SPDX-License-Identifier: MIT-0
// tags: recorded slow threads
// flags: -DADREV_TRACE=1 -pthread
/* assemble_parallel.c - sums of elements on pools of threads: the checks of
 * assemblies.h with pools of 1, 2 and 8 threads, and without one, and the same
 * bits. Large ones, which are cut into parts; and one assembly that several
 * threads use at once, where nobody has used it before.                     */

#include <stdbool.h>
#include <stddef.h>

#include "implementation.h"
#include "adrev_parallel.h"
#include "adrev_assemble.h"

#include "check.h"
#include "assemblies.h"

// A chain of springs with random stiffness, and ends that are shuffled.
typedef struct chain {
    size_t count;
    int32_t *variable, *parameter, *result;
    ad_real *x, *p, *v, *w, *to;
    ad_fn *fn;
} chain;

static chain new_chain(size_t count)
{
    chain c = { .count = count, .fn = element_of(0, NULL) };
    c.variable = room(2 * count, sizeof *c.variable);
    c.parameter = room(count, sizeof *c.parameter);
    c.result = room(count, sizeof *c.result);
    c.x = room(count, sizeof *c.x);
    c.p = room(count, sizeof *c.p);
    c.v = room(count, sizeof *c.v);
    c.w = room(count, sizeof *c.w);
    c.to = room(4 * count, sizeof *c.to);
    for (size_t e = 0; e < count; e++) {
        c.variable[2 * e] = (int32_t)e;
        c.variable[2 * e + 1] = (int32_t)below(count);
        c.parameter[e] = (int32_t)below(count);
        c.result[e] = (int32_t)below(count);
        c.x[e] = number();
        c.p[e] = number();
        c.v[e] = number();
        c.w[e] = number();
    }
    return c;
}

static void end_chain(chain *c)
{
    void *all[] = { c->variable, c->parameter, c->result, c->x, c->p, c->v,
                    c->w, c->to };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    ad_fn_free(c->fn);
}

static ad_assembly *assemble_chain(const chain *c)
{
    const ad_elements of = { c->fn, c->count, c->variable, c->parameter,
                             c->result };
    ad_assembly *a = NULL;
    EXPECT(ad_fn_assemble(&a, NULL, c->count, c->count, c->count, 1, &of),
           ADREV_OK);
    return a;
}

static void ask_chain(const chain *c, ad_assembly *a, ad_real *to)
{
    size_t n;
    EXPECT(ad_assembly_eval(a, c->x, c->p, to), ADREV_OK);
    digest(c->count, to);
    EXPECT(ad_assembly_vjp(a, c->x, c->p, c->w, to), ADREV_OK);
    digest(c->count, to);
    EXPECT(ad_assembly_hvp(a, c->x, c->p, c->w, c->v, to), ADREV_OK);
    digest(c->count, to);
    EXPECT(ad_assembly_hessian_pattern(a, &n, NULL, NULL, NULL), ADREV_OK);
    EXPECT(ad_assembly_hessian(a, c->x, c->p, c->w, NULL, to), ADREV_OK);
    digest(n, to);
}

// Results upwards and then downwards, but for one to which nobody adds: what
// elements contribute in a row is cut where results are cut into parts.
static void ask_straight(chain *c)
{
    const size_t up = c->count / 2;
    for (size_t e = 0; e < c->count; e++)
        c->result[e] = e == 9 ? -1
                     : (int32_t)(e < up ? e : c->count - 1 - (e - up));
    ad_assembly *a = assemble_chain(c);
    EXPECT(ad_assembly_eval(a, c->x, c->p, c->to), ADREV_OK);
    for (size_t e = 0; e < c->count; e++) {
        const ad_real in[] = { c->x[c->variable[2 * e]],
                               c->x[c->variable[2 * e + 1]],
                               c->p[c->parameter[e]] };
        ad_real want;
        EXPECT(ad_fn_eval(c->fn, in, &want), ADREV_OK);
        if (c->result[e] >= 0)
            CHECK_CLOSE(c->to[c->result[e]], want, 0);
    }
    CHECK(c->to[9] == 0, "nobody adds to it");
    digest(c->count, c->to);
    ad_assembly_free(a);
}

static uint64_t digest_of_all(void)
{
    assemblies_state = 88172645463325252u;
    assemblies_digest = 14695981039346656037u;
    assemblies_all(12);
    assemblies_grid(100);
    chain c = new_chain(20000);
    ad_assembly *a = assemble_chain(&c);
    ask_chain(&c, a, c.to);
    ad_assembly_free(a);
    ask_straight(&c);
    end_chain(&c);
    return assemblies_digest;
}

/* --- one assembly in branches --------------------------------------------- */

enum { BRANCHES = 6, SHORT = 300 };

struct shared {
    const chain *c;
    ad_assembly *a;
    ad_status status[BRANCHES];
    ad_real dx[BRANCHES][SHORT], H[BRANCHES][4 * SHORT];
};

static void branch(size_t i, void *ctx)
{
    struct shared *s = ctx;
    const chain *c = s->c;
    s->status[i] = ad_assembly_hessian(s->a, c->x, c->p, c->w, NULL, s->H[i]);
    if (s->status[i] == ADREV_OK)
        s->status[i] = ad_assembly_vjp(s->a, c->x, c->p, c->w, s->dx[i]);
}

static void check_branches(void)
{
    static struct shared s;
    chain c = new_chain(SHORT);
    memset(&s, 0, sizeof s);
    s.c = &c;
    s.a = assemble_chain(&c);
    ad_fork_n(BRANCHES, branch, &s);
    for (size_t i = 0; i < BRANCHES; i++) {
        EXPECT(s.status[i], ADREV_OK);
        CHECK(memcmp(s.dx[i], s.dx[0], sizeof s.dx[0]) == 0
              && memcmp(s.H[i], s.H[0], sizeof s.H[0]) == 0, "branch %zu", i);
    }
    ad_assembly_free(s.a);
    end_chain(&c);
}

int main(void)
{
    static const unsigned threads[] = { 1, 2, 8 };
    uint64_t alone = digest_of_all();
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        ad_pool *pool = ad_pool_new(threads[i]);
        EXPECT(ad_pool_use(pool), ADREV_OK);
        CHECK(digest_of_all() == alone, "other bits with %u threads",
              threads[i]);
        check_branches();
        EXPECT(ad_pool_use(NULL), ADREV_OK);
        ad_pool_free(pool);
    }
    return check_done("assemble_parallel");
}
