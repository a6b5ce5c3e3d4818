// SPDX-License-Identifier: MIT-0
// tags: threads
// flags: -pthread
/* in_branches.c - what branches may do: record and use any values, fork again, run
 * array and external statements, take derivatives, use tapes of their own;
 * every function that makes forks; queries about values of branches; clear,
 * rewind and fixed memory.
 *
 * Each program runs on several pools and without one, and is compared with
 * itself without forks.                                                      */

#include "implementation.h"
#include "adrev_parallel.h"
#include "check.h"
#include "forks.h"
#include "random_numbers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;

/* --- programs that are compared with themselves without forks --------------
 * Each maps 12 numbers to 9.                                                 */

enum { INPUTS = 12, OUTPUTS = 9 };

typedef void plain_program(const ad_rev x[INPUTS], ad_rev y[OUTPUTS]);

#define PROGRAM_PLAIN(f)                                                    \
    static void f(const ad_rev x[INPUTS], ad_rev y[OUTPUTS])

// A few statements that mix two numbers.
static ad_rev mix(ad_rev a, ad_rev b)
{
    ad_rev s = ad_rec(ad_sin(ad_add(a, ad_mul(K(0.5), b))));
    return ad_rec(ad_add(s, ad_mul(K(0.25), ad_mul(a, b))));
}

static void spread(size_t n, const ad_rev from[], ad_rev y[OUTPUTS])
{
    for (size_t i = 0; i < OUTPUTS; i++)
        y[i] = mix(from[i % n], from[(i * 5 + 1) % n]);
}

// Any arity, 0 and 1 included, at any depth: it depends on the path.
typedef struct tree {
    const ad_rev *x;
    size_t depth;
    size_t path;
    ad_rev part[5];
    ad_rev y;
} tree;

static void grow(tree *t);

static void tree_branch(size_t i, void *ctx)
{
    tree *up = ctx;
    tree t = { .x = up->x, .depth = up->depth + 1,
               .path = up->path * 7 + i + 1 };
    grow(&t);
    up->part[i] = t.y;
}

static void grow(tree *t)
{
    size_t n = t->depth < 5 ? t->path % 5 : 0;
    t->y = t->x[t->path % INPUTS];
    each(n, tree_branch, t);
    for (size_t i = 0; i < n; i++)
        t->y = mix(t->y, t->part[i]);
    if (t->path % 3 == 0)
        t->y = mix(t->y, t->x[t->depth]);
}

PROGRAM_PLAIN(arities)
{
    ad_rev top[3];
    for (size_t i = 0; i < 3; i++) {
        tree t = { .x = x, .path = 3 + i };
        grow(&t);
        top[i] = t.y;
    }
    spread(3, top, y);
}

// Every branch uses the values of all its ancestors; its own is used by its
// parent, its grandparent, and by branches of a later fork.
enum { LEVELS = 5, EVERYONE = 1 << LEVELS };

typedef struct level {
    const ad_rev *x;
    const struct level *up;
    ad_rev *kept;               // of everyone: the branches of i are 2i, 2i + 1
    size_t path;
    ad_rev v;
} level;

static void descend(void *ctx)
{
    level *l = ctx;
    ad_rev s = l->x[l->path % INPUTS];
    for (const level *up = l->up; up != NULL; up = up->up)
        ad_acc(&s, ad_mul(up->v, K(0.125)));
    l->v = ad_rec(ad_sin(s));
    l->kept[l->path] = l->v;
    if (2 * l->path >= EVERYONE)
        return;

    level left = { .x = l->x, .up = l, .kept = l->kept, .path = 2 * l->path };
    level other = left;
    other.path++;
    both(descend, &left, descend, &other);
    s = mix(l->kept[2 * l->path], l->kept[2 * l->path + 1]);
    if (4 * l->path + 1 < EVERYONE)
        s = mix(s, l->kept[4 * l->path + 1]);
    l->kept[l->path] = s;
}

typedef struct later {
    const ad_rev *kept;
    ad_rev part[FAN];
} later;

static void use_later(size_t i, void *ctx)
{
    later *l = ctx;
    l->part[i] = mix(l->kept[(i * 3 + 1) % EVERYONE], l->kept[i + 1]);
    if (i % 2 == 0)
        l->part[i] = mix(l->part[i], l->kept[EVERYONE - 1]);
}

PROGRAM_PLAIN(ancestors)
{
    ad_rev kept[EVERYONE];
    level root = { .x = x, .kept = kept, .path = 1 };
    later l = { .kept = kept };
    kept[0] = x[3];
    descend(&root);
    each(20, use_later, &l);
    spread(20, l.part, y);
    y[0] = kept[EVERYONE - 1];          // of a leaf, as it is
    y[1] = mix(kept[1], l.part[3]);
    y[2] = l.part[2];
}

PROGRAM_PLAIN(recursion)
{
    for (int i = 0; i < OUTPUTS; i++) {
        fib f = { .x = x + i % 3, .n = i + 1 };
        fibonacci(&f);
        y[i] = ad_rec(ad_mul(f.y, f.y));
    }
}

// Forks from the branches of ifs, that of the same if in a branch again.
typedef struct choice {
    ad_rev a, b, y, z;
    int n;
} choice;

static void choose(void *ctx);

static void take_sum(void *ctx)
{
    choice *c = ctx;
    c->z = ad_rec(ad_sub(c->a, ad_mul(c->b, K(0.5))));
}

static void choose(void *ctx)
{
    choice *c = ctx;
    c->y = c->a;
    if (c->n == 0)
        return;
    if (ad_gt(c->a, c->b)) {
        choice next = { .a = ad_rec(ad_mul(c->a, K(0.75))), .b = c->b,
                        .n = c->n - 1 };
        both(choose, &next, take_sum, c);
        c->y = mix(next.y, c->z);
    } else if (c->n % 2 == 0) {
        choice next = { .a = c->b, .b = c->a, .n = c->n - 1 };
        both(take_sum, c, choose, &next);
        c->y = mix(c->z, next.y);
    } else {
        choice next = { .a = ad_rec(ad_add(c->a, c->b)), .b = c->b,
                        .n = c->n - 1 };
        choose(&next);
        c->y = mix(next.y, c->b);
    }
}

PROGRAM_PLAIN(decisions)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
        choice c = { .a = x[i], .b = x[i + 1], .n = 8 };
        choose(&c);
        y[i] = c.y;
    }
}

// Branches that do nothing, or nothing that is used.
typedef struct idle {
    const ad_rev *x;
    ad_rev part[FAN];
} idle;

static void nothing(size_t i, void *ctx)
{
    (void)i;
    (void)ctx;
}

static void do_little(size_t i, void *ctx)
{
    idle *s = ctx;
    switch (i % 7) {
    case 0: break;
    case 1: s->part[i] = ad_rec(ad_mul(K(2.5), ad_sin(K(0.5)))); break;
    case 2: mix(s->x[0], s->x[1]); break;
    case 3: s->part[i] = s->x[i % INPUTS]; break;
    case 4: s->part[i] = mix(s->x[1], s->x[2]); break;
    case 5: each(3, nothing, s); break;
    case 6:
        each(2, nothing, s);
        s->part[i] = mix(s->x[3], ad_rec(1));
        each(2, nothing, s);
        break;
    }
}

PROGRAM_PLAIN(little)
{
    idle s = { .x = x };
    each(21, do_little, &s);
    each(4, nothing, &s);
    spread(21, s.part, y);
    y[0] = s.part[4];
    y[1] = s.part[3];
}

// One number that all branches of forks of many sizes use.
PROGRAM_PLAIN(contended)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
        crowd c = { .x = x[0] };
        each(11 * i, press, &c);
        y[i] = mix(ad_sum(11 * i, c.part), x[i]);
    }
}

// Array statements over values of others, whatever their ids.
typedef struct arrays {
    const ad_rev *x;
    ad_rev out[4 * INPUTS];
    ad_rev of[4];
} arrays;

static void array_branch(size_t i, void *ctx)
{
    arrays *s = ctx;
    ad_rev *out = s->out + i * INPUTS;
    const ad_rev *x = s->x;
    if (i == 0) {
        ad_softmax(INPUTS, x, out);
        s->of[i] = ad_norm2(INPUTS, x);
    } else if (i == 1) {
        ad_matvec(3, 3, x, x + 9, out);
        ad_each(ADREV_OP_sin, 3, x + 2, NULL, NULL, out + 3);
        ad_scale(6, x[5], x + 6, out + 6);
        s->of[i] = ad_logsumexp(INPUTS, out);
    } else if (i == 2) {
        memcpy(out, x, INPUTS * sizeof *out);
        ad_axpy_s(4, x[0], x, 3, out, 1);
        s->of[i] = ad_sqdist(INPUTS, x, out);
    } else {
        ad_matmul(3, 4, 3, x, x, out);
        ad_trimatvec(3, x, x + 3, x + 6, out + 9);
        s->of[i] = ad_dot_s(6, x, 2, x + 11, -2);
    }
}

// Their results together, and those of several branches in one statement.
static void array_later(size_t i, void *ctx)
{
    arrays *s = ctx;
    s->of[i] = ad_rec(ad_add(ad_dot(4 * INPUTS - 5 * i, s->out,
                                    s->out + 5 * i),
                             ad_mul(s->of[i], K(0.5))));
}

PROGRAM_PLAIN(array_statements)
{
    arrays s = { .x = x };
    each(4, array_branch, &s);
    each(4, array_later, &s);
    spread(4, s.of, y);
    y[0] = ad_sum_s(4, s.out + 5, INPUTS);
    y[1] = ad_dot(INPUTS, s.out + INPUTS, s.out + 3 * INPUTS);
}

/* --- external statements in branches -------------------------------------- */

// y = (the sum of c x, the product of the first two), with c saved. It is
// called and destroyed on any thread.
typedef struct weights {
    long double stamp;          // wants the strictest alignment
    size_t n;
    ad_real c[INPUTS];
    ad_real first[2];
} weights;

static atomic_int wrong;        // calls with something else than was saved
static atomic_int recorded;
static atomic_int destroyed;
static atomic_int pullbacks;

static bool weights_back(const void *saved, size_t m, const ad_real dy[],
                         size_t n, ad_real dx[])
{
    const weights *w = saved;
    bool good = m == 2 && n == w->n && w->stamp == 42
             && (uintptr_t)saved % _Alignof(max_align_t) == 0;
    atomic_fetch_add(&wrong, !good);
    atomic_fetch_add(&pullbacks, 1);
    for (size_t i = 0; good && i < n; i++)
        dx[i] += w->c[i] * dy[0];
    dx[0] += w->first[1] * dy[1];
    dx[1] += w->first[0] * dy[1];
    return good;
}

static bool weights_forward(const void *saved, size_t n, const ad_real dx[],
                            size_t m, ad_real dy[])
{
    const weights *w = saved;
    atomic_fetch_add(&wrong, m != 2 || n != w->n);
    dy[0] = 0;
    for (size_t i = 0; i < n; i++)
        dy[0] += w->c[i] * dx[i];
    dy[1] = w->first[1] * dx[0] + w->first[0] * dx[1];
    return true;
}

static void weights_destroy(const void *saved)
{
    const weights *w = saved;
    atomic_fetch_add(&wrong, w->stamp != 42);
    atomic_fetch_add(&destroyed, 1);
}

static const ad_external_rule rule = { .name = "weights",
                                       .pullback = weights_back,
                                       .pushforward = weights_forward,
                                       .destroy = weights_destroy };

static void weigh(size_t n, const ad_rev x[], ad_rev y[2])
{
    weights w = { .stamp = 42, .n = n, .first = { x[0].v, x[1].v } };
    ad_real v[2] = { 0, x[0].v * x[1].v };
    for (size_t i = 0; i < n; i++) {
        w.c[i] = (ad_real)i * K(0.25) + K(0.5);
        v[0] += w.c[i] * x[i].v;
    }
    atomic_fetch_add(&recorded, 1);
    ad_external(&rule, &w, sizeof w, n, x, 2, v, y);
}

typedef struct outside {
    const ad_rev *x;
    ad_rev y[2 * FAN];
} outside;

// Some sizes need more scratch than any before, and some inputs are the
// results of an external statement of another branch, or constants.
static void weigh_branch(size_t i, void *ctx)
{
    outside *s = ctx;
    ad_rev of[INPUTS];
    for (size_t k = 0; k < INPUTS; k++)
        of[k] = s->x[(i + k) % INPUTS];
    of[2] = ad_rec(0.5);
    weigh(2 + i % (INPUTS - 2), of, &s->y[2 * i]);
    of[0] = s->y[2 * i + 1];
    of[3] = mix(of[3], s->y[2 * i]);
    weigh(INPUTS, of, &s->y[2 * i]);
}

static void weigh_later(size_t i, void *ctx)
{
    outside *s = ctx;
    weigh(2 + i, s->y + i, &s->y[20 + 2 * i]);
}

PROGRAM_PLAIN(externals)
{
    outside s = { .x = x };
    each(10, weigh_branch, &s);
    each(10, weigh_later, &s);
    weigh(INPUTS, s.y + 20, y);
    spread(40, s.y, y);
    y[3] = s.y[25];
}

/* --- derivatives inside branches ------------------------------------------ */

// A program of its own, with forks, and with values of the recording in which
// it runs: they are constants to its gradient.
typedef struct inner {
    ad_rev outer;
    const ad_rev *x;
    ad_rev part[4];
} inner;

static void inner_branch(size_t i, void *ctx)
{
    inner *s = ctx;
    s->part[i] = mix(s->x[i % 2], s->outer);
}

static ad_rev inner_program(const ad_rev *x, void *ctx)
{
    inner s = { .outer = ((const inner *)ctx)->outer, .x = x };
    each(4, inner_branch, &s);
    return ad_rec(ad_mul(ad_sum(4, s.part), s.outer));
}

static void inner_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    inner s = { .outer = ((const inner *)ctx)->outer, .x = x };
    each(4, inner_branch, &s);
    memcpy(y, s.part, sizeof s.part);
}

typedef struct derived {
    const ad_rev *x;
    ad_rev part[FAN];
    ad_status status[FAN];
} derived;

static void derive(size_t i, void *ctx)
{
    derived *d = ctx;
    inner s = { .outer = mix(d->x[i], d->x[0]) };
    ad_real at[2] = { d->x[i].v, K(0.5) };
    ad_real y = 0;
    ad_real g[2] = { 0 };
    ad_real J[8] = { 0 };
    d->status[i] = ad_grad(inner_program, &s, 2, at, &y, g);
    if (d->status[i] == ADREV_OK)
        d->status[i] = ad_jac(inner_rows, &s, 2, at, 4, NULL, J);
    d->part[i] = ad_rec(ad_add(ad_mul(s.outer, g[0] + y),
                               ad_mul(d->x[1], g[1] + J[5])));
}

PROGRAM_PLAIN(gradients_inside)
{
    derived d = { .x = x };
    each(9, derive, &d);
    for (int i = 0; i < 9; i++)
        right(d.status[i], "a gradient in a branch");
    spread(9, d.part, y);
}

// A tape of the branch's own, on which there are forks, too.
static void own_tape(size_t i, void *ctx)
{
    derived *d = ctx;
    ad_tape *own = ad_tape_new();
    ad_tape *before = ad_use(own);
    ad_rev in[2] = { ad_input(d->x[i].v), ad_input(K(0.25)) };
    inner s = { .outer = ad_rec(K(1.5)), .x = in };
    ad_real g[2] = { 0 };
    each(4, inner_branch, &s);
    d->status[i] = ad_gradient(own, ad_sum(4, s.part), 2, in, g);
    // what belongs to the other recording is foreign here
    DROP(ad_rec(ad_sin(d->x[i])));
    if (ad_tape_status(own) != ADREV_EFOREIGN)
        d->status[i] = ADREV_EFOREIGN;
    ad_use(before);
    ad_tape_free(own);
    d->part[i] = ad_rec(ad_mul(d->x[i], g[0] + g[1]));
}

PROGRAM_PLAIN(tapes_inside)
{
    derived d = { .x = x };
    each(9, own_tape, &d);
    for (int i = 0; i < 9; i++)
        right(d.status[i], "a tape of the branch's own");
    spread(9, d.part, y);
}

/* --- all that makes forks ------------------------------------------------- */

typedef struct parts {
    const ad_rev *x;
    size_t grain;
    ad_rev v[FAN];
    atomic_int calls[FAN];
    atomic_int bad;             // parts of a wrong length
} parts;

static void part_of(size_t begin, size_t end, void *ctx)
{
    parts *p = ctx;
    bool good = begin < end && end <= FAN
             && (p->grain == 0
                 || (begin % p->grain == 0
                     && (end - begin == p->grain
                         || (end == FAN && end - begin < p->grain))));
    atomic_fetch_add(&p->bad, !good);
    for (size_t i = begin; i < end && i < FAN; i++) {
        atomic_fetch_add(&p->calls[i], 1);
        p->v[i] = mix(p->x[i % INPUTS], p->x[(begin + i) % 3]);
    }
}

PROGRAM_PLAIN(parallel_loops)
{
    static const size_t grains[] = { 0, 1, 2, 7, 64, 127, 128, 129, 1000 };
    for (size_t k = 0; k < OUTPUTS; k++) {
        parts p = { .x = x, .grain = grains[k] };
        if (forking)
            ad_parallel_for(FAN, p.grain, part_of, &p);
        else
            for (size_t i = 0; i < FAN; i += p.grain > 0 ? p.grain : 1)
                part_of(i, p.grain == 0 ? i + 1 : i + p.grain < FAN
                               ? i + p.grain : FAN, &p);
        for (size_t i = 0; i < FAN; i++)
            CHECK(p.calls[i] == 1, "grain %zu: %zu was called %d times",
                  p.grain, i, p.calls[i]);
        CHECK(p.bad == 0, "grain %zu: %d wrong parts", p.grain, p.bad);
        y[k] = ad_dot(FAN / 2, p.v, p.v + FAN / 2);
    }
}

static ad_rev reduce_part(size_t begin, size_t end, void *ctx)
{
    const ad_rev *x = ctx;
    ad_rev s = mix(x[begin % INPUTS], x[(end - 1) % INPUTS]);
    for (size_t i = begin; i < end; i++)
        ad_acc(&s, ad_mul(x[i % INPUTS], K(0.01)));
    return s;
}

// Neither commutative nor associative.
static ad_rev combine(ad_rev a, ad_rev b, void *ctx)
{
    const ad_rev *x = ctx;
    return ad_rec(ad_add(ad_mul(a, K(0.5)), ad_mul(b, x[4])));
}

static ad_rev reduce(size_t n, size_t grain, bool sum, const ad_rev *x)
{
    ad_rev part[FAN];
    size_t k = 0;
    union { const ad_rev *in; void *out; } ctx = { .in = x };
    if (forking)
        return ad_parallel_reduce(n, grain, reduce_part,
                                  sum ? NULL : combine, ctx.out);
    for (size_t i = 0; i < n; i += grain)
        part[k++] = reduce_part(i, i + grain < n ? i + grain : n, ctx.out);
    if (sum || k == 0)
        return ad_sum(k, part);
    for (size_t i = 1; i < k; i++)
        part[0] = combine(part[0], part[i], ctx.out);
    return part[0];
}

PROGRAM_PLAIN(reductions)
{
    static const size_t grains[OUTPUTS] = { 1, 2, 3, 10, 50, 99, 100, 101, 7 };
    for (size_t k = 0; k < OUTPUTS; k++) {
        ad_rev s = reduce(100, grains[k], true, x);
        ad_rev c = reduce(k == 8 ? 1 : 100, grains[k], false, x);
        y[k] = mix(s, c);
    }
}

// Blocks, with more branches than a scope holds by itself, and with none.
typedef struct leaf {
    const ad_rev *x;
    size_t i;
    ad_rev y;
} leaf;

static void leaf_branch(void *ctx)
{
    leaf *l = ctx;
    l->y = mix(l->x[l->i % INPUTS], l->x[l->i % 5]);
}

static void leaf_block(void *ctx)
{
    leaf *l = ctx;
    leaf a = { .x = l->x, .i = l->i + 1 };
    leaf b = { .x = l->x, .i = l->i + 2 };
    if (!forking) {
        leaf_branch(&a);
        leaf_branch(&b);
    } else {
        ADREV_PARALLEL(scope) {
            ADREV_FORK(scope, leaf_branch, &a);
            ADREV_FORK(scope, leaf_branch, &b);
        }
    }
    l->y = mix(a.y, b.y);
}

static void block_of(size_t n, leaf l[])
{
    if (!forking) {
        for (size_t i = 0; i < n; i++)
            (i % 3 == 0 ? leaf_block : leaf_branch)(&l[i]);
        return;
    }
    ADREV_PARALLEL(scope) {
        for (size_t i = 0; i < n; i++) {
            if (i % 3 == 0)
                ADREV_FORK(scope, leaf_block, &l[i]);
            else
                ADREV_FORK(scope, leaf_branch, &l[i]);
        }
    }
}

PROGRAM_PLAIN(blocks)
{
    static const size_t counts[OUTPUTS] = { 0, 1, 2, 15, 16, 17, 33, 100, 5 };
    for (size_t k = 0; k < OUTPUTS; k++) {
        leaf l[FAN];
        ad_rev of[FAN];
        for (size_t i = 0; i < counts[k]; i++)
            l[i] = (leaf){ .x = x, .i = i + k };
        block_of(counts[k], l);
        for (size_t i = 0; i < counts[k]; i++)
            of[i] = l[i].y;
        y[k] = mix(x[k], ad_sum(counts[k], of));
    }
}

// Values that a branch makes its own: in place, constants among them, some
// of them its own already.
typedef struct captured {
    const ad_rev *x;
    ad_rev part[FAN];
    bool same[FAN];
} captured;

static void capture(size_t i, void *ctx)
{
    captured *c = ctx;
    ad_rev of[INPUTS];
    memcpy(of, c->x, sizeof of);
    of[1] = ad_rec(K(0.75));
    of[2] = mix(of[0], of[3]);
    ad_rev own = of[2];
    ad_capture(INPUTS, of, of);
    c->same[i] = of[1].job == 0 && of[1].v == K(0.75) && of[0].v == c->x[0].v
              && memcmp(&own, &of[2], sizeof own) == 0;
    ad_capture(0, NULL, NULL);
    c->part[i] = of[i % INPUTS];
    for (size_t k = 0; k < 30; k++)
        ad_acc(&c->part[i], ad_mul(of[k % INPUTS], of[i % INPUTS]));
    if (i % 2 == 0)
        ad_acc(&c->part[i], c->x[i % INPUTS]);      // and as before
}

PROGRAM_PLAIN(captures)
{
    captured c = { .x = x };
    each(12, capture, &c);
    for (int i = 0; i < 12; i++)
        CHECK(c.same[i], "branch %d: other values", i);
    ad_capture(12, c.part, c.part);
    spread(12, c.part, y);
}

// Branches entered and left by hand, backwards, and within one another.
static void hand(size_t n, void (*f)(size_t i, void *ctx), void *ctx)
{
    ad_fork fork;
    if (!forking) {
        for (size_t i = 0; i < n; i++)
            f(i, ctx);
        return;
    }
    ad_fork_open(&fork, n);
    bool any_order = ad_fork_parallel(&fork);
    for (size_t k = 0; k < n; k++) {
        size_t i = any_order ? n - 1 - k : k;
        ad_branch b;
        ad_branch_enter(&b, &fork, i);
        f(i, ctx);
        ad_branch_leave(&b);
    }
    ad_fork_close(&fork);
}

static void hand_inner(size_t i, void *ctx)
{
    idle *s = ctx;
    s->part[i] = mix(s->x[i], s->x[INPUTS - 1 - i]);
}

static void hand_branch(size_t i, void *ctx)
{
    idle *up = ctx;
    idle s = { .x = up->x };
    hand(i, hand_inner, &s);
    each(i, hand_inner, &s);
    up->part[i] = mix(ad_sum(i, s.part), up->x[i]);
}

PROGRAM_PLAIN(by_hand)
{
    idle s = { .x = x };
    hand(8, hand_branch, &s);
    hand(0, hand_branch, &s);
    spread(8, s.part, y);
}

static void enter_some(size_t i, void *ctx)
{
    if (i % 3 != 1)
        hand_inner(i, ctx);
}

// Branches that are never entered: as if they recorded nothing.
PROGRAM_PLAIN(never_entered)
{
    idle s = { .x = x };
    ad_fork fork;
    if (forking)
        ad_fork_open(&fork, 9);
    for (size_t i = 0; i < 9; i++) {
        ad_branch b;
        if (i % 3 != 1 && forking)
            ad_branch_enter(&b, &fork, i);
        enter_some(i, &s);
        if (i % 3 != 1 && forking)
            ad_branch_leave(&b);
    }
    if (forking)
        ad_fork_close(&fork);
    spread(9, s.part, y);
}

/* --- comparing ------------------------------------------------------------ */

static const struct plain {
    const char *name;
    plain_program *run;
} plain[] = {
#define ENTER(f) { #f, f }
    ENTER(arities), ENTER(ancestors), ENTER(recursion), ENTER(decisions),
    ENTER(little), ENTER(contended), ENTER(array_statements),
    ENTER(externals), ENTER(gradients_inside), ENTER(tapes_inside),
    ENTER(parallel_loops), ENTER(reductions), ENTER(blocks), ENTER(captures),
    ENTER(by_hand), ENTER(never_entered),
#undef ENTER
};

enum { PLAIN = sizeof plain / sizeof plain[0], ENTRIES = INPUTS * OUTPUTS };

typedef struct run {
    ad_rev x[INPUTS];
    ad_rev y[OUTPUTS];
    ad_real J[ENTRIES];
} run;

static void record(const struct plain *p, bool forked, run *r)
{
    forking = forked;
    for (size_t i = 0; i < INPUTS; i++)
        r->x[i] = ad_input(K(0.25) + K(0.1) * (ad_real)((i * 5) % INPUTS));
    p->run(r->x, r->y);
    forking = true;
    right(ad_tape_status(tape), p->name);
}

// The same sweep again, and the rows in sweeps of their own.
static void check_repeated(const struct plain *p, const run *r)
{
    ad_real again[ENTRIES];
    ad_real g[INPUTS];
    right(ad_jacobian(tape, OUTPUTS, r->y, INPUTS, r->x, again), p->name);
    CHECK(memcmp(again, r->J, sizeof again) == 0,
          "%s, %s: another Jacobian the second time", p->name, pool_name);
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (r->y[i].job == 0)
            continue;
        right(ad_gradient(tape, r->y[i], INPUTS, r->x, g), p->name);
        agree(p->name, INPUTS, g, r->J + i * INPUTS);
    }
}

// Of some rows and columns: 1, 4 and 8 at once, forwards and backwards.
static void check_widths(const struct plain *p, const run *r)
{
    static const size_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9, 12 };
    for (size_t a = 0; a < 8; a++)
        for (size_t b = 0; b < 9; b++) {
            size_t m = sizes[a];
            size_t n = sizes[b];
            ad_real J[ENTRIES];
            ad_real want[ENTRIES];
            for (size_t i = 0; i < m; i++)
                memcpy(want + i * n, r->J + i * INPUTS, n * sizeof *J);
            bool active = false;
            for (size_t i = 0; i < m; i++)
                active = active || r->y[i].job != 0;
            if (!active)
                continue;
            right(ad_jacobian(tape, m, r->y, n, r->x, J), p->name);
            for (size_t i = 0; i < m; i++)
                agree(p->name, n, J + i * n, want + i * n);
        }
}

// dx = w J and dy = J d, within a part of the sum of absolute terms.
static void check_products(const char *name, const run *r, const ad_real w[],
                           const ad_real d[], const ad_real dx[],
                           const ad_real dy[])
{
    double off[INPUTS + OUTPUTS] = { 0 };
    double size[INPUTS + OUTPUTS] = { 0 };
    for (size_t i = 0; i < OUTPUTS; i++)
        for (size_t j = 0; j < INPUTS; j++) {
            double slope = (double)r->J[i * INPUTS + j];
            off[j] += slope * (double)w[i];
            size[j] += fabs(slope * (double)w[i]);
            off[INPUTS + i] += slope * (double)d[j];
            size[INPUTS + i] += fabs(slope * (double)d[j]);
        }
    for (size_t k = 0; k < INPUTS + OUTPUTS; k++) {
        off[k] -= (double)(k < INPUTS ? dx[k] : dy[k - INPUTS]);
        CHECK(fabs(off[k]) <= AGREE * size[k], "%s, %s: %s: off by %g of %g",
              name, pool_name, k < INPUTS ? "pullback" : "pushforward",
              off[k], size[k]);
    }
}

// A zero seed gives zeros.
static void check_seeds(const struct plain *p, const run *r)
{
    for (int round = 0; round < 4; round++) {
        ad_real w[OUTPUTS];
        ad_real d[INPUTS];
        ad_real dx[INPUTS];
        ad_real dy[OUTPUTS];
        for (size_t i = 0; i < OUTPUTS; i++)
            w[i] = round == 3 ? 0 : K(oracle_uniform(&seed, -1, 1));
        for (size_t j = 0; j < INPUTS; j++)
            d[j] = round == 3 ? 0 : K(oracle_uniform(&seed, -1, 1));
        right(ad_pullback(tape, OUTPUTS, r->y, w, INPUTS, r->x, dx), p->name);
        right(ad_pushforward(tape, INPUTS, r->x, d, OUTPUTS, r->y, dy),
              p->name);
        check_products(p->name, r, w, d, dx, dy);
    }
}

static void test_plain(const struct plain *p)
{
    run alone;
    run forked;
    ad_tape_clear(tape);
    record(p, false, &alone);
    right(ad_jacobian(tape, OUTPUTS, alone.y, INPUTS, alone.x, alone.J),
          p->name);
    ad_tape_clear(tape);
    record(p, true, &forked);
    right(ad_jacobian(tape, OUTPUTS, forked.y, INPUTS, forked.x, forked.J),
          p->name);
    for (size_t i = 0; i < OUTPUTS; i++) {
        CHECK(alone.y[i].v == forked.y[i].v
                  && (alone.y[i].job == 0) == (forked.y[i].job == 0),
              "%s, %s: y[%zu]: got %.17g, want %.17g", p->name, pool_name, i,
              (double)forked.y[i].v, (double)alone.y[i].v);
        agree(p->name, INPUTS, forked.J + i * INPUTS, alone.J + i * INPUTS);
    }
    check_repeated(p, &forked);
    check_widths(p, &forked);
    check_seeds(p, &forked);
}

static void test_all_plain(void)
{
    for (size_t i = 0; i < PLAIN; i++) {
        test_plain(&plain[i]);
        ad_tape_clear(tape);
        CHECK(wrong == 0 && recorded == destroyed,
              "%s, %s: %d of %d destroyed, %d wrong calls", plain[i].name,
              pool_name, destroyed, recorded, wrong);
    }
    CHECK(pullbacks > 0, "no external statement was swept");
}

/* --- queries about values that branches made ------------------------------ */

typedef struct probe {
    ad_rev x;
    ad_rev in[4];               // an input of the branch
    ad_rev mid[4];
    ad_rev out[4];
} probe;

static void probe_branch(size_t i, void *ctx)
{
    probe *p = ctx;
    p->in[i] = ad_input((ad_real)(i + 1));
    p->mid[i] = ad_rec(ad_mul(p->x, p->in[i]));
    p->out[i] = ad_rec(ad_mul(p->mid[i], p->mid[i]));
}

static ad_real derivative(ad_rev y, ad_rev x)
{
    ad_real g = -77;
    ad_real forward = -77;
    ad_real one = 1;
    right(ad_gradient(tape, y, 1, &x, &g), "a value of a branch");
    right(ad_pushforward(tape, 1, &x, &one, 1, &y, &forward), "forward");
    CHECK(g == forward, "%s: reverse %g, forward %g", pool_name, (double)g,
          (double)forward);
    return g;
}

// At x = 2: out_i = (x i)^2, and z is the sum of out_i mid_i = (x i)^3.
static void test_inside(void)
{
    probe p = { .x = ad_input(2) };
    ad_fork_n(4, probe_branch, &p);
    ad_rev z = { 0 };
    for (int i = 0; i < 4; i++)
        ad_acc(&z, ad_mul(p.out[i], p.mid[i]));
    for (int i = 0; i < 4; i++) {
        ad_real k = (ad_real)(i + 1);
        int other = (i + 1) % 4;
        CHECK(derivative(p.out[i], p.x) == 4 * k * k, "out by x");
        CHECK(derivative(p.out[i], p.in[i]) == 8 * k, "out by in");
        CHECK(derivative(p.out[i], p.mid[i]) == 4 * k, "out by mid");
        CHECK(derivative(p.out[i], p.out[i]) == 1, "out by itself");
        CHECK(derivative(p.mid[i], p.out[i]) == 0, "mid by what follows it");
        CHECK(derivative(p.out[i], p.in[other]) == 0, "out by another in");
        CHECK(derivative(p.out[i], p.out[other]) == 0, "by another out");
        CHECK(derivative(z, p.in[i]) == 24 * k * k, "z by in");
        CHECK(derivative(z, p.mid[i]) == 12 * k * k, "z by mid");
        CHECK(derivative(z, p.out[i]) == 2 * k, "z by out");
        CHECK(derivative(p.out[i], z) == 0, "out by z");
    }
    CHECK(derivative(z, p.x) == 1200, "z by x");
    CHECK(derivative(p.x, p.x) == 1 && derivative(p.x, z) == 0, "x");
}

// Rows and columns from everywhere at once; the same value twice, constants.
static void test_mixed_jacobian(void)
{
    probe p = { .x = ad_input(2) };
    ad_real J[30];
    ad_fork_n(4, probe_branch, &p);
    ad_rev y[6] = { p.out[3], p.x, p.mid[0], ad_rec(4), p.out[3], p.in[2] };
    ad_rev x[5] = { p.mid[3], p.in[3], p.x, p.out[3], p.in[2] };
    ad_real want[30] = {
        16, 32, 64, 1, 0,   0, 0, 1, 0, 0,    0, 0, 1, 0, 0,
        0, 0, 0, 0, 0,      16, 32, 64, 1, 0, 0, 0, 0, 0, 1,
    };
    right(ad_jacobian(tape, 6, y, 5, x, J), "mixed");
    for (int i = 0; i < 30; i++)
        CHECK(J[i] == want[i], "%s: J[%d]: got %g, want %g", pool_name, i,
              (double)J[i], (double)want[i]);
    CHECK(ad_gradient(tape, y[3], 5, x, J) == ADREV_EPASSIVE, "constant y");
    CHECK(ad_gradient(tape, y[0], 4, y, J) == ADREV_EPASSIVE, "constant x");
    CHECK(J[0] == 16, "a failed query writes");
}

/* --- jobs in one call ----------------------------------------------------- */

static ad_rev fan_program(const ad_rev *x, void *ctx)
{
    fan f = { .x = x[0] };
    (void)ctx;
    ad_fork_n(20, ray, &f);
    return ad_rec(ad_mul(ad_sum(20, f.part), x[1]));
}

static void fan_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    fan f = { .x = x[0] };
    (void)ctx;
    ad_fork_n(20, ray, &f);
    for (int i = 0; i < 20; i++)
        y[i] = ad_rec(ad_mul(f.part[i], x[1]));
}

static void check_grad(const char *what)
{
    ad_real x[2] = { K(0.3), K(1.5) };
    ad_real y = 0;
    ad_real g[2] = { 0 };
    ad_real J[40] = { 0 };
    ad_real want[2] = { 0 };
    for (int i = 1; i <= 20; i++) {
        want[0] += x[1] * (ad_real)i * adm_cos(x[0] * (ad_real)i);
        want[1] += adm_sin(x[0] * (ad_real)i);
    }
    right(ad_grad(fan_program, NULL, 2, x, &y, g), what);
    agree(what, 2, g, want);
    right(ad_jac(fan_rows, NULL, 2, x, 20, NULL, J), what);
    memset(g, 0, sizeof g);
    for (int i = 0; i < 20; i++) {
        g[0] += J[2 * i];
        g[1] += J[2 * i + 1];
    }
    agree(what, 2, g, want);
}

static void test_whole_jobs(void)
{
    ad_rev x = ad_input(2);
    fan f = { .x = x };
    ad_fork_n(3, ray, &f);
    ad_rev y = ad_sum(3, f.part);
    ad_stats before = ad_tape_stats(tape);
    ad_real g = 0;
    ad_real again = 1;
    right(ad_gradient(tape, y, 1, &x, &g), "before");
    for (int i = 0; i < 40; i++)
        check_grad("on a tape");
    ad_stats after = ad_tape_stats(tape);
    CHECK(before.values == after.values && before.bytes == after.bytes,
          "%s: ad_grad leaves %zu values of %zu", pool_name, after.values,
          before.values);
    right(ad_gradient(tape, y, 1, &x, &again), "after");
    CHECK(g == again, "another gradient afterwards");

    ad_use(NULL);
    check_grad("without a tape");
    CHECK(ad_use(tape) == NULL, "a job leaves its tape current");

    ad_check_report report = { 0 };
    ad_real at[2] = { K(0.3), K(1.5) };
    right(ad_check(fan_program, NULL, 2, at, &report), "ad_check");
    CHECK(ad_check_passed(&report), "%s: ad_check does not pass", pool_name);
}

/* --- one tape again and again --------------------------------------------- */

typedef struct pair {
    ad_rev x[2];
    ad_rev a, b;
} pair;

static void left_of(void *ctx)
{
    pair *p = ctx;
    p->a = ad_rec(ad_mul(p->x[0], ad_mul(p->x[0], p->x[1])));
}

static void right_of(void *ctx)
{
    pair *p = ctx;
    p->b = ad_rec(ad_add(p->x[0], ad_mul(2, p->x[1])));
}

static void test_clear(void)
{
    for (int i = 0; i < 200; i++) {
        ad_tape_clear(tape);
        if (i % 7 == 3)
            check_arity((size_t)i % FAN);
        if (i % 5 == 2)
            continue;           // no forks, or nothing at all
        pair p = { .x = { ad_input(3), ad_input((ad_real)i) } };
        ad_real g[2] = { 0 };
        ad_fork2(left_of, &p, right_of, &p);
        ad_rev z = ad_rec(ad_add(p.a, p.b));
        right(ad_gradient(tape, z, 2, p.x, g), "again");
        CHECK(g[0] == (ad_real)(6 * i + 1) && g[1] == 11,
              "%s, %d: got (%g, %g)", pool_name, i, (double)g[0],
              (double)g[1]);
    }
}

// Rewinds over forks, to before them, between them, and behind them.
static void test_rewind(void)
{
    ad_real g[4] = { 0 };
    probe p = { .x = ad_input(2) };
    ad_mark start = ad_tape_mark(tape);
    size_t values = ad_tape_stats(tape).values;
    for (int round = 0; round < 40; round++) {
        ad_fork_n(4, probe_branch, &p);
        ad_rev old = p.out[1];
        ad_mark between = ad_tape_mark(tape);
        ad_rev z = ad_rec(ad_mul(p.out[2], p.mid[0]));
        probe q = { .x = p.out[1] };
        ad_fork_n(4, probe_branch, &q);
        ad_acc(&z, ad_mul(q.out[3], q.x));
        right(ad_gradient(tape, z, 4, p.in, g), "before the rewind");
        // z = 9 x^3 (in_1 ...) + 16 out_1^3, out_1 = (2 in_1)^2, in = 1, 2, 3
        CHECK(g[0] == 72 && g[1] == 196608 && g[2] == 48 && g[3] == 0,
              "%s: got %g %g %g %g", pool_name, (double)g[0], (double)g[1],
              (double)g[2], (double)g[3]);
        CHECK(ad_tape_rewind(tape, between) == ADREV_OK, "rewind");
        CHECK(ad_gradient(tape, q.out[0], 1, &p.x, g) == ADREV_EFOREIGN,
              "%s: a value of a rewound branch is used", pool_name);
        CHECK(ad_gradient(tape, z, 1, &p.x, g) == ADREV_EFOREIGN, "z");
        ad_fork_n(3, probe_branch, &p);     // 3 of 4: the last one is old
        ad_rev y = ad_rec(ad_add(p.out[3], ad_add(p.out[2], old)));
        right(ad_gradient(tape, y, 1, &p.x, g), "after the rewind");
        CHECK(g[0] == 4 * (16 + 9 + 4), "%s: got %g, want 116", pool_name,
              (double)g[0]);
        CHECK(ad_tape_rewind(tape, start) == ADREV_OK, "rewind");
        CHECK(ad_tape_stats(tape).values == values, "%s: values remain",
              pool_name);
        CHECK(ad_gradient(tape, old, 1, &p.x, g) == ADREV_EFOREIGN, "old");
        CHECK(ad_gradient(tape, p.x, 1, &p.x, g) == ADREV_OK && g[0] == 1,
              "x by itself");
    }
}

// What external statements saved in branches is destroyed when it goes.
static void test_destroy(void)
{
    ad_rev x[INPUTS];
    outside s = { .x = x };
    for (int i = 0; i < INPUTS; i++)
        x[i] = ad_input(K(0.5) + (ad_real)i);
    int before = recorded;
    CHECK(recorded == destroyed, "something is left over");
    ad_fork_n(10, weigh_branch, &s);
    ad_mark mark = ad_tape_mark(tape);
    ad_fork_n(10, weigh_later, &s);
    CHECK(recorded == before + 30 && destroyed == before, "too early");
    CHECK(ad_tape_rewind(tape, mark) == ADREV_OK, "rewind");
    CHECK(destroyed == before + 10, "%s: rewound: %d of 10 destroyed",
          pool_name, destroyed - before);
    ad_fork_n(5, weigh_later, &s);
    ad_tape_clear(tape);
    CHECK(destroyed == before + 35 && recorded == destroyed,
          "%s: cleared: %d of 35 destroyed", pool_name, destroyed - before);

    ad_tape *t = ad_tape_new();
    ad_use(t);
    for (int i = 0; i < INPUTS; i++)
        x[i] = ad_input(K(0.5) + (ad_real)i);
    ad_fork_n(10, weigh_branch, &s);
    ad_tape_free(t);
    ad_use(tape);
    CHECK(recorded == destroyed, "%s: freed: %d of %d destroyed", pool_name,
          destroyed, recorded);
}

/* --- no tape, fixed memory, a watched tape -------------------------------- */

static void test_no_tape(void)
{
    fan f = { .x = ad_rec(K(0.3)) };
    ad_rev y;
    ad_use(NULL);
    ad_fork_n(100, ray, &f);
    for (int i = 0; i < 100; i++)
        CHECK(f.part[i].job == 0
                  && f.part[i].v == adm_sin(K(0.3) * (ad_real)(i + 1)),
              "branch %d", i);
    y = reduce(100, 3, false, f.part);
    CHECK(y.job == 0, "a constant");
    by_hand(f.part, f.part + 50);
    blocks(f.part, f.part + 50);
    CHECK(ad_use(tape) == NULL, "a fork leaves a tape current");
}

static void test_reduce_nothing(void)
{
    ad_rev x[INPUTS];
    for (int i = 0; i < INPUTS; i++)
        x[i] = ad_input(1);
    ad_rev y = ad_parallel_reduce(0, 3, reduce_part, combine, x);
    CHECK(y.v == 0 && y.job == 0, "n = 0: the constant 0");
    y = ad_parallel_reduce(0, 0, reduce_part, NULL, x);
    CHECK(y.v == 0 && y.job == 0, "n = 0: the constant 0");
    ad_parallel_for(0, 0, part_of, NULL);
    ad_parallel_for(0, 5, part_of, NULL);
    ad_rev one = ad_parallel_reduce(1, 5, reduce_part, combine, x);
    ad_rev same = reduce_part(0, 1, x);
    CHECK(one.v == same.v, "n = 1: the part itself");
}

// The same parts with any pool, never more than 256 of them without a grain.
static size_t ends[2][1000];
static atomic_size_t end_count;

static void note_end(size_t begin, size_t end, void *ctx)
{
    atomic_fetch_add(&end_count, 1);
    for (size_t i = begin; i < end; i++)
        ((size_t *)ctx)[i] = end;
}

static void test_grain(void)
{
    static bool first = true;
    static size_t first_count;
    memset(ends[!first], 0, sizeof ends[0]);
    end_count = 0;
    ad_parallel_for(1000, 0, note_end, ends[!first]);
    CHECK(end_count <= 256 && end_count > 100, "%zu parts", end_count);
    if (first)
        first_count = end_count;
    first = false;
    CHECK(end_count == first_count && (ends[1][999] == 0
              || memcmp(ends[0], ends[1], sizeof ends[0]) == 0),
          "%s: other parts", pool_name);
}

enum { BUFFER = 1 << 23 };
static _Alignas(16) unsigned char buffer[BUFFER];

// Branches of a tape in fixed memory are parts of the one task, so that the
// buffer that was measured is enough.
static void test_fixed(void)
{
    ad_tape *outer = tape;
    for (size_t i = 0; i < PLAIN; i++) {
        run r;
        run again;
        tape = ad_tape_in(buffer, BUFFER);
        ad_use(tape);
        record(&plain[i], true, &r);
        right(ad_jacobian(tape, OUTPUTS, r.y, INPUTS, r.x, r.J),
              plain[i].name);
        ad_tape_clear(tape);
        record(&plain[i], false, &again);
        right(ad_jacobian(tape, OUTPUTS, again.y, INPUTS, again.x, again.J),
              plain[i].name);
        for (size_t k = 0; k < OUTPUTS; k++)
            agree(plain[i].name, INPUTS, r.J + k * INPUTS,
                  again.J + k * INPUTS);
        ad_tape_free(tape);
    }
    tape = outer;
    ad_use(tape);
}

static void test_full(void)
{
    ad_tape *t = ad_tape_in(buffer, 2000);
    ad_fork fork;
    ad_use(t);
    ad_fork_open(&fork, 2);
    CHECK(!ad_fork_parallel(&fork), "fixed memory: one branch at a time");
    ad_fork_close(&fork);
    fan f = { .x = ad_input(1) };
    ad_fork_n(3, ray, &f);
    right(ad_tape_status(t), "room for 3");
    ad_fork_n(FAN, ray, &f);
    CHECK(ad_tape_status(t) == ADREV_EFULL, "got \"%s\"",
          ad_message(ad_tape_status(t)));
    ad_tape_clear(t);
    f.x = ad_input(1);
    ad_fork_n(3, ray, &f);
    right(ad_tape_status(t), "room for 3");
    ad_use(tape);
}

static void unused_trace(void *user, const ad_operation *operation)
{
    (void)user;
    (void)operation;
}

static void test_watched(void)
{
    ad_hooks hooks = { .trace = unused_trace };
    ad_fork fork;
    ad_tape_hooks(tape, &hooks);
    ad_fork_open(&fork, 2);
    CHECK(!ad_fork_parallel(&fork), "traced: one branch at a time");
    ad_fork_close(&fork);
    ad_tape_hooks(tape, NULL);
    ad_fork_open(&fork, 2);
    CHECK(ad_fork_parallel(&fork), "neither");
    ad_fork_close(&fork);
}

/* --- all of it ------------------------------------------------------------ */

int main(void)
{
    static void (*const tests[])(void) = {
        test_all_plain, test_inside, test_mixed_jacobian, test_whole_jobs,
        test_clear, test_rewind, test_destroy, test_no_tape,
        test_reduce_nothing, test_grain, test_fixed, test_full, test_watched,
    };
    on_pools(sizeof tests / sizeof tests[0], tests);
    return check_done("in_branches");
}
