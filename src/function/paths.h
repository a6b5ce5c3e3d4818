#pragma once

/* === function/paths =========================================================
 * Collections of functions that were recorded on different paths of one
 * function f.
 *
 * Each path has a list of its guards. Each guard has a hash of all nodes before
 * it. If two paths have the same hash at a guard, but another outcome of it,
 * they do the same up to there, and part there. So if a point leaves a path at
 * a guard, only a path that parts from it at this guard can be right. If such a
 * path is tried and the point leaves it, too, that happens at a later guard; or
 * at the same one, if that has more than two outcomes.
 *
 *   needs   tape/memory core/hash function/api function/program function/run
 *           function/functions
 * ========================================================================== */

// A guard of a path. Paths with the same `before` and another outcome part
// here.
typedef struct adx_branch_point {
    size_t guard;               // its number in the program
    uint64_t before;            // fingerprint of the nodes before it
    ad_real was;                // its outcome
} adx_branch_point;

typedef struct adx_path {
    ad_fn *fn;
    uint64_t fingerprint;       // of all nodes: equal for two recordings of
                                // one path
    adx_branch_point *branch_point;
    size_t branch_points;
} adx_path;

struct ad_traced {
    ad_allocator memory;
    ad_fn_options options;      // of recordings; allocator: &memory
    ad_vector_fn *f;
    void *ctx;
    size_t n, m;                // inputs and results of f
    size_t limit;               // paths that are kept, at most
    size_t paths;
    size_t recordings;          // so far, also of paths that are not kept
    ad_real *y;                 // [m]
    adx_path *path;             // the one used last comes first
    size_t room;
    ad_real *lost;              // [n] if is_lost: a point whose recording does
    bool is_lost;               // not pass its own guards there
};

static void adx_free_path(adx_path *path)
{
    adx_drop(&path->fn->memory, path->branch_point);
    ad_fn_free(path->fn);
}

ADX_API ad_traced *ad_traced_new_with(const ad_fn_options *options,
                                      ad_vector_fn *f, void *ctx, size_t n,
                                      size_t m, size_t limit)
{
    static const ad_fn_options none;
    const ad_fn_options *o = options == NULL ? &none : options;
    const ad_allocator *memory = adx_allocator_or(o->allocator);
    ad_traced *t = memory == NULL ? NULL
                                  : (ad_traced *)adx_take(memory, 1, sizeof *t);
    if (t == NULL)
        return NULL;
    memset(t, 0, sizeof *t);
    t->memory = *memory;
    t->options = *o;
    t->options.allocator = &t->memory;
    t->f = f;
    t->ctx = ctx;
    t->n = n;
    t->m = m;
    t->limit = limit == 0 ? 64 : limit;
    t->y = (ad_real *)adx_take(&t->memory, m, sizeof *t->y);
    t->lost = (ad_real *)adx_take(&t->memory, n, sizeof *t->lost);
    if (t->y == NULL || t->lost == NULL) {
        ad_traced_free(t);
        return NULL;
    }
    return t;
}

#ifndef ADREV_NO_STDLIB
ADX_API ad_traced *ad_traced_new(ad_vector_fn *f, void *ctx, size_t n,
                                 size_t m, size_t limit)
{
    return ad_traced_new_with(NULL, f, ctx, n, m, limit);
}
#endif

ADX_API void ad_traced_free(ad_traced *traced)
{
    if (traced == NULL)
        return;
    for (size_t i = 0; i < traced->paths; i++)
        adx_free_path(&traced->path[i]);
    const ad_allocator memory = traced->memory;
    adx_drop(&memory, traced->path);
    adx_drop(&memory, traced->y);
    adx_drop(&memory, traced->lost);
    adx_drop(&memory, traced);
}

ADX_API size_t ad_traced_paths(const ad_traced *traced, size_t *recordings)
{
    if (recordings != NULL)
        *recordings = traced == NULL ? 0 : traced->recordings;
    return traced == NULL ? 0 : traced->paths;
}

static uint64_t adx_hash_constant(const adx_program *p, uint32_t x, uint64_t h)
{
    if (!adx_is_fixed(p, x))
        return h;
    const ad_real *v = adx_constant_of(p, x);
    return adx_xxh3(v, sizeof *v, h);
}

typedef struct adx_hashing {
    const adx_program *p;
    uint64_t h;
} adx_hashing;

static void adx_hash_read(void *user, uint32_t x)
{
    adx_hashing *k = (adx_hashing *)user;
    k->h = adx_hash_constant(k->p, x, k->h);
}

// Continues the hash h by a node and by the values of the constants that it
// reads. Of a guard only what it compares is hashed, not its outcome.
static uint64_t adx_hash_node(const adx_program *p, const adx_node *s,
                              uint64_t h)
{
    if (s->op == ADX_OP_guard)
        return adx_xxh3(&s->a, sizeof s->a, h);
    adx_hashing k = { p, adx_xxh3(s, sizeof *s, h) };
    const adx_many *m = adx_many_of(p, s);
    if (m != NULL) {
        const uint32_t shape[] = { (uint32_t)m->kind, m->op, m->m, m->k, m->n };
        k.h = adx_xxh3(shape, sizeof shape, k.h);
        k.h = adx_xxh3(m->arg, sizeof m->arg, k.h);
        k.h = adx_xxh3(m->list, adx_listed(m) * sizeof *m->list,
                                   k.h);
        if (m->shared != NULL)
            k.h = adx_xxh3(&m->shared->rule, sizeof m->shared->rule,
                                       k.h);
    }
    adx_visit_reads(p, s, adx_hash_read, &k);
    return k.h;
}

// Lists the guards of a path, and computes its fingerprint. False: no memory.
static bool adx_find_branch_points(adx_path *path)
{
    const adx_program *p = &path->fn->program;
    uint64_t h = 0;
    size_t guards = 0;
    for (size_t i = 0; i < p->nodes; i++)
        guards += p->node[i].op == ADX_OP_guard;
    path->branch_point = (adx_branch_point *)adx_take(&path->fn->memory, guards,
                                            sizeof *path->branch_point);
    if (path->branch_point == NULL)
        return false;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        h = adx_hash_node(p, s, h);
        if (s->op != ADX_OP_guard)
            continue;
        path->branch_point[path->branch_points++] =
            (adx_branch_point){ s->c, h, *adx_constant_of(p, s->b) };
        h = adx_hash_constant(p, s->b, h);
    }
    for (size_t i = 0; i < p->outputs; i++)
        h = adx_hash_constant(p, p->output[i], h);
    path->fingerprint = adx_xxh3(
        p->output, p->outputs * sizeof *p->output, h);
    return true;
}

// Puts a path to the front, in the place of number i.
static void adx_to_front(ad_traced *t, size_t i, adx_path path)
{
    memmove(&t->path[1], &t->path[0], i * sizeof *t->path);
    t->path[0] = path;
}

// Puts a newly recorded path to the front. It replaces an older recording of
// the same path; else, if there are too many paths, the one that has been
// unused for longest. False: no memory, and the path is not kept.
static bool adx_keep_path(ad_traced *t, ad_fn *fn)
{
    adx_path path = { .fn = fn };
    size_t i = 0;
    if (!adx_make_room_for(&t->memory, (void **)&t->path, &t->room, t->paths,
                           sizeof *t->path)
        || !adx_find_branch_points(&path))
        return false;
    while (i < t->paths && t->path[i].fingerprint != path.fingerprint)
        i++;
    if (i < t->paths)
        adx_free_path(&t->path[i]);
    else if (t->paths == t->limit)
        adx_free_path(&t->path[--i]);
    else
        t->paths++;
    adx_to_front(t, i, path);
    return true;
}

// Records f at x. The recorded function may fail at its own guards at this very
// point. Then it is not kept, and f is not recorded at this point again.
static ad_status adx_record_here(ad_traced *t, const ad_real x[], ad_fn **fn)
{
    size_t bytes = t->n * sizeof *x;
    if (t->is_lost && t->n > 0 && x != NULL && memcmp(x, t->lost, bytes) == 0)
        return ADREV_EPATH;
    ad_fn *made;
    ad_status status = ad_fn_record_with(&made, &t->options, t->f, t->ctx,
                                         t->n, x, t->m);
    if (status != ADREV_OK)
        return status;
    t->recordings++;
    status = ad_fn_eval(made, x, t->y);
    if (status == ADREV_EPATH && t->n > 0)
        memcpy(t->lost, x, bytes);
    t->is_lost = t->is_lost || status == ADREV_EPATH;
    if (status == ADREV_EPATH || !adx_keep_path(t, made)) {
        ad_fn_free(made);
        return status == ADREV_EPATH ? status : ADREV_ENOMEM;
    }
    *fn = status == ADREV_OK ? made : NULL;
    return status;
}

// Finds the guard of a path by its number, by bisection. NULL: the path has no
// such guard.
static const adx_branch_point *adx_branch_point_of(const adx_path *path,
                                                   size_t guard)
{
    size_t low = 0;
    size_t high = path->branch_points;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (path->branch_point[middle].guard < guard)
            low = middle + 1;
        else
            high = middle;
    }
    return low < path->branch_points && path->branch_point[low].guard == guard
         ? &path->branch_point[low] : NULL;
}

// Finds the first path, from number i on, that parts from another path at the
// guard where a point left that one. No other path can be that of the point.
static size_t adx_next_path(const ad_traced *t, const adx_branch_point *left,
                            size_t i)
{
    for (; i < t->paths; i++) {
        const adx_branch_point *f =
            adx_branch_point_of(&t->path[i], left->guard);
        if (f != NULL && f->before == left->before
            && !adx_same_value(f->was, left->was))
            break;
    }
    return i;
}

ADX_API ad_status ad_traced_at(ad_traced *traced, const ad_real x[],
                               ad_fn **fn)
{
    if (traced == NULL || fn == NULL)
        return ADREV_ESHAPE;
    *fn = NULL;
    adx_branch_point last = { SIZE_MAX, 0, 0 };
    for (size_t i = 0; i < traced->paths;) {
        adx_path path = traced->path[i];
        ad_status status = ad_fn_eval(path.fn, x, traced->y);
        if (status == ADREV_OK) {
            adx_to_front(traced, i, path);
            *fn = path.fn;
        }
        if (status != ADREV_EPATH)
            return status;
        const adx_branch_point *left =
            adx_branch_point_of(&path, adx_last_guard.index);
        bool same = left == NULL || left->guard == last.guard;
        // At the same guard as before, the paths before i have been tried.
        i = left == NULL ? i + 1
                         : adx_next_path(traced, left, same ? i + 1 : 0);
        last = left == NULL ? last : *left;
    }
    return adx_record_here(traced, x, fn);
}
