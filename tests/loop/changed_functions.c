// SPDX-License-Identifier: MIT-0
// tags: recorded
// flags: -DADREV_REPLAY_FROM=4
/* changed_functions.c - functions that sweeps run again, and that do something else by
 * then, since their context has changed: a mistake that may cost the derivative
 * but no memory. A sweep succeeds or says ADREV_EEXTERNAL; with the context as
 * it was, the gradient is what it was. Blocks that are given back are spoilt,
 * and kept until the end, so that a later use shows.                         */

#include "implementation.h"
#include "adrev_function.h"
#include "adrev_loop.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { N = 40 };

/* --- memory ---------------------------------------------------------------- */

typedef struct block {
    struct block *next;
    size_t bytes;
    bool live;
    _Alignas(16) unsigned char at[];
} block;

static block *blocks;
static size_t twice;            // given back twice

static void *take(size_t bytes, void *user)
{
    (void)user;
    block *b = (block *)malloc(sizeof *b + bytes);
    if (b == NULL)
        return NULL;
    b->next = blocks;
    b->bytes = bytes;
    b->live = true;
    blocks = b;
    return b->at;
}

static void give(void *p, void *user)
{
    (void)user;
    block *b = (block *)(void *)((char *)p - offsetof(block, at));
    twice += !b->live;
    b->live = false;
    memset(b->at, 0xdb, b->bytes);
}

// How many were never given back.
static size_t left_over(void)
{
    size_t live = 0;
    while (blocks != NULL) {
        block *b = blocks;
        blocks = b->next;
        live += b->live;
        free(b);
    }
    return live;
}

static const ad_allocator memory = { take, give, NULL };

/* --- what the functions do ------------------------------------------------- */

typedef enum habit {
    PLAIN, FACTOR, BRINGS, BRINGS_OTHER, BRINGS_MORE, BRANCHES, FORGETS,
    FOREIGN, HABITS
} habit;

static const char *const habits[HABITS] = {
    "plain", "another factor", "brings a", "brings b", "brings a and b",
    "branches", "forgets its result", "another tape's"
};

typedef struct context {
    habit how;
    ad_rev a, b;                // of the same recording
    ad_rev foreign;
} context;

static ad_rev shape(ad_rev x, const context *c)
{
    ad_rev y = ad_rec(ad_sin(ad_mul(x, c->how == FACTOR ? 1.5 : 0.75)));
    if (c->how == BRINGS || c->how == BRINGS_MORE)
        y = ad_rec(ad_mul(y, c->a));
    if (c->how == BRINGS_OTHER || c->how == BRINGS_MORE)
        y = ad_rec(ad_mul(y, c->b));
    if (c->how == BRANCHES && ad_gt(x, 0.5))
        y = ad_rec(ad_exp(y));
    if (c->how == FOREIGN)
        y = ad_rec(ad_mul(y, c->foreign));
    return y;
}

static void f(const ad_rev *x, ad_rev *y, void *ctx)
{
    const context *c = (const context *)ctx;
    if (c->how != FORGETS)
        y[0] = shape(x[0], c);
}

static void op(const ad_rev *x, ad_rev *y, void *ctx)
{
    const context *c = (const context *)ctx;
    if (c->how != FORGETS)
        y[0] = ad_rec(ad_add(shape(x[0], c), ad_mul(x[0], x[1])));
}

static void step(ad_step *s, void *ctx)
{
    const ad_rev x[2] = { s->state[0][0], s->parameter[0] };
    op(x, s->next[0], ctx);
}

/* --- statements that run them ---------------------------------------------- */

// From x [N], one result.
typedef ad_status statement(const ad_rev *x, context *c, ad_rev *y);

static const ad_real one = 1;

static ad_status mapped(const ad_rev *x, context *c, ad_rev *y)
{
    const ad_rows rows = { x, 1, 1 };
    ad_rev z[N];
    ad_status s = ad_map(f, c, N, 1, &rows, 1, z);
    *y = ad_sum(N, z);
    return s;
}

static ad_status reduced(const ad_rev *x, context *c, ad_rev *y)
{
    return ad_reduce(op, c, N, 1, x, &one, y);
}

static ad_status prefixed(const ad_rev *x, context *c, ad_rev *y)
{
    ad_rev z[N];
    ad_status s = ad_prefix(op, c, N, 1, x, z);
    *y = ad_sum(N, z);
    return s;
}

static ad_status map_reduced(const ad_rev *x, context *c, ad_rev *y)
{
    const ad_rows rows = { x, 1, 1 };
    return ad_map_reduce(f, op, c, N, 1, &rows, 1, &one, y);
}

static ad_status map_summed(const ad_rev *x, context *c, ad_rev *y)
{
    const ad_rows rows = { x, 1, 1 };
    return ad_map_reduce(f, NULL, c, N, 1, &rows, 1, NULL, y);
}

static ad_status map_prefixed(const ad_rev *x, context *c, ad_rev *y)
{
    const ad_rows rows = { x, 1, 1 };
    ad_rev z[N];
    ad_status s = ad_map_prefix(f, op, c, N, 1, &rows, 1, z);
    *y = ad_sum(N, z);
    return s;
}

static ad_status again(const ad_rev *x, context *c, ad_rev *y)
{
    return ad_checkpoint(op, c, 2, x, 1, y);
}

static ad_status kept(const ad_rev *x, context *c, ad_rev *y)
{
    const ad_checkpoint_options all = { .keep = ADREV_KEEP_ALL };
    return ad_checkpoint_with(&all, op, c, 2, x, 1, y);
}

static ad_status scanned(const ad_rev *x, context *c, ad_rev *y,
                         ad_schedule schedule)
{
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    const ad_scan_desc d = {
        .step = step, .ctx = c, .steps = N, .states = 1, .state = &state,
        .parameters = 1, .parameter = x + 1, .schedule = schedule
    };
    return ad_scan(&d, NULL);
}

static ad_status stored(const ad_rev *x, context *c, ad_rev *y)
{
    return scanned(x, c, y, (ad_schedule){ .kind = ADREV_STORE_ALL });
}

static ad_status seldom(const ad_rev *x, context *c, ad_rev *y)
{
    return scanned(x, c, y, (ad_schedule){ .kind = ADREV_BINOMIAL, .n = 3 });
}

static ad_status looped(const ad_rev *x, context *c, ad_rev *y)
{
    *y = x[0];
    return ad_loop(op, c, N, 1, y, 1, x + 1,
                   (ad_schedule){ .kind = ADREV_EVERY, .n = 7 });
}

static const struct {
    const char *name;
    statement *make;
} statements[] = {
    { "ad_map", mapped }, { "ad_reduce", reduced }, { "ad_prefix", prefixed },
    { "ad_map_reduce", map_reduced }, { "ad_map_reduce, sum", map_summed },
    { "ad_map_prefix", map_prefixed }, { "ad_checkpoint", again },
    { "ad_checkpoint, kept", kept }, { "ad_scan, all", stored },
    { "ad_scan, binomial", seldom }, { "ad_loop", looped },
};

/* --- sweeps ---------------------------------------------------------------- */

static void sweep_well(const char *name, const context *c, ad_status s)
{
    CHECK(s == ADREV_OK || s == ADREV_EEXTERNAL, "%s, then %s: %s", name,
          habits[c->how], ad_message(s));
}

// All the kinds of sweeps, while the context is another one.
static void sweep_changed(const char *name, ad_tape *t, const context *c,
                          ad_rev y, const ad_rev *in)
{
    static ad_real g[2 * (N + 2)];
    const ad_rev both[2] = { y, y };
    const ad_real ones[N + 2] = { 1, 1 };
    for (int i = 0; i < 3; i++)
        sweep_well(name, c, ad_gradient(t, y, N + 2, in, g));
    sweep_well(name, c, ad_pushforward(t, N + 2, in, ones, 1, &y, g));
    sweep_well(name, c, ad_jacobian(t, 2, both, N + 2, in, g));
}

static void change(size_t k, habit before, habit after)
{
    const char *name = statements[k].name;
    ad_real v[N + 2], g[N + 2], back[N + 2];
    ad_rev in[N + 2], y;
    ad_tape *other = ad_tape_new_with(&memory);
    ad_tape *t = ad_tape_new_with(&memory);
    ad_use(other);
    context c = { .how = before, .foreign = ad_input(2) };
    ad_use(t);
    for (int i = 0; i < N + 2; i++)
        v[i] = (ad_real)0.3 + (ad_real)i / 64;
    ad_inputs(N + 2, v, in);
    c.a = in[N];
    c.b = in[N + 1];
    ad_status s = statements[k].make(in, &c, &y);
    if (CHECK(s == ADREV_OK, "%s: %s", name, ad_message(s))) {
        s = ad_gradient(t, y, N + 2, in, g);
        CHECK(s == ADREV_OK, "%s: %s", name, ad_message(s));
        c.how = after;
        sweep_changed(name, t, &c, y, in);
        c.how = before;
        s = ad_gradient(t, y, N + 2, in, back);
        CHECK(s == ADREV_OK, "%s, %s again: %s", name, habits[before],
              ad_message(s));
        for (int i = 0; i < N + 2; i++)
            CHECK_NEAR(back[i], g[i], sizeof *g == 4 ? 1e-4L : 1e-12L);
    }
    ad_tape_free(t);
    ad_tape_free(other);
    CHECK(twice == 0, "%s, %s, then %s: %zu blocks given back twice", name,
          habits[before], habits[after], twice);
    size_t live = left_over();
    CHECK(live == 0, "%s, %s, then %s: %zu blocks are left", name,
          habits[before], habits[after], live);
    twice = 0;
}

int main(void)
{
    static const habit first[] = { PLAIN, BRINGS, BRINGS_MORE, BRANCHES };
    for (size_t k = 0; k < sizeof statements / sizeof *statements; k++)
        for (size_t i = 0; i < sizeof first / sizeof *first; i++)
            for (int how = 0; how < HABITS; how++)
                change(k, first[i], (habit)how);
    return check_done("changed_functions");
}
