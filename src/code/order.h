#pragma once

/* === code/order =============================================================
 * Another order of a program's nodes, in which more of them repeat. A number
 * that is computed once and read in many iterations spoils the iteration that
 * computes it: that one is not like the others. So nodes are put into the order
 * of levels: a node has the level behind the highest one of its arguments.
 * Within a level they are sorted by their symbols, and then by the places of
 * their arguments, so that loops go through arrays in order.
 *
 * A sum is a chain: each node reads the one before, which nobody else reads.
 * Its nodes stay together, behind all that they read, as one unit of the order;
 * chains of the same length follow one another. Guards, which nobody reads,
 * come last, in their own order.
 *
 * Every number is computed from the same numbers as before, so the bits are the
 * same. What suffers is locality: more numbers have to be in work.
 *
 *   needs   tape/memory function/program function/copy code/layout
 *           code/repeats
 *   offers  adx_order_by_levels
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Arrays have an element for each node, used or not, unless said otherwise.
typedef struct adx_reordering {
    adx_program *p;
    const bool *used;
    uint64_t *symbol;
    uint32_t *head;             // the first node of its chain; itself: of none
    uint32_t *length;           // of the chain that begins there
    uint32_t *level;            // of the chain that begins there; from 1 on
    uint32_t *rank;             // [numbers] place of what makes it
    uint32_t *readers;          // [numbers] how many nodes read it
    uint32_t *node;             // [n] the order
    uint32_t *other;            // [n] for sorting
    size_t n;
    uint32_t levels;            // the highest one, which is that of guards
} adx_reordering;

static bool adx_begin_ordering(adx_reordering *o)
{
    const adx_program *p = o->p;
    const ad_allocator *a = p->memory;
    uint32_t **const arrays[] = { &o->head, &o->length, &o->level };
    bool ok = true;
    for (size_t i = 0; i < p->nodes; i++)
        o->n += adx_is_used(p, &p->node[i], o->used);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = (uint32_t *)adx_take(a, p->nodes, sizeof **arrays[i]);
        ok = ok && *arrays[i] != NULL;
    }
    o->symbol = (uint64_t *)adx_take(a, p->nodes, sizeof *o->symbol);
    o->rank = (uint32_t *)adx_take(a, p->numbers, sizeof *o->rank);
    o->readers = (uint32_t *)adx_take(a, p->numbers, sizeof *o->readers);
    o->node = (uint32_t *)adx_take(a, o->n, sizeof *o->node);
    o->other = (uint32_t *)adx_take(a, o->n, sizeof *o->other);
    return ok && o->symbol != NULL && o->rank != NULL && o->readers != NULL
        && o->node != NULL && o->other != NULL;
}

static void adx_end_ordering(adx_reordering *o)
{
    const ad_allocator *a = o->p->memory;
    adx_drop(a, o->head);
    adx_drop(a, o->length);
    adx_drop(a, o->level);
    adx_drop(a, o->rank);
    adx_drop(a, o->readers);
    adx_drop(a, o->other);
}

/* --- chains and levels ---------------------------------------------------- */

static void adx_count_readers(adx_reordering *o)
{
    const adx_program *p = o->p;
    memset(o->readers, 0, p->numbers * sizeof *o->readers);
    for (size_t i = 0; i < p->nodes; i++)
        for (int a = 0; adx_is_used(p, &p->node[i], o->used)
                        && a < adx_varying(&p->node[i]); a++)
            o->readers[adx_read_by(&p->node[i], a)]++;
}

// Whether x is what node i goes on with.
static bool adx_is_link(const adx_reordering *o, size_t i, uint32_t x)
{
    uint32_t from = o->p->from[x];
    return from < ADX_FROM_INPUT && o->readers[x] == 1
        && o->symbol[from] == o->symbol[i];
}

// Finds the chain that node i goes on with. Where the order of arguments makes
// no difference, that is then its first one.
static void adx_find_chain(adx_reordering *o, size_t i)
{
    adx_node *s = &o->p->node[i];
    o->head[i] = (uint32_t)i;
    o->length[i] = 1;
    o->level[i] = 1;
    if (s->op == ADX_OP_guard)
        return;
    if (adx_commutes(s->op) && !adx_is_link(o, i, s->a)
        && adx_is_link(o, i, s->b)) {
        uint32_t a = s->a;
        s->a = s->b;
        s->b = a;
        s->c = s->a;
    }
    if (adx_is_link(o, i, s->a)) {
        o->head[i] = o->head[o->p->from[s->a]];
        o->length[o->head[i]]++;
    }
}

// Afterwards a link is another symbol than the node with which a chain begins.
static void adx_tell_links(adx_reordering *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->head[o->node[i]] != o->node[i])
            o->symbol[o->node[i]] |= (uint64_t)1 << 61;
}

// Raises the level of node i, or of its chain, above that of an argument.
static void adx_raise_level(adx_reordering *o, size_t i, uint32_t x)
{
    uint32_t from = o->p->from[x];
    uint32_t *level = &o->level[o->head[i]];
    if (from >= ADX_FROM_INPUT || o->head[from] == o->head[i])
        return;
    if (*level <= o->level[o->head[from]])
        *level = o->level[o->head[from]] + 1;
    if (*level > o->levels)
        o->levels = *level;
}

// Finds the chain and the level of each node: a node's is one more than the
// highest of those that it reads outside of its chain. Guards have the last
// level of all.
static void adx_find_levels(adx_reordering *o, const adx_writing *k)
{
    const adx_program *p = o->p;
    o->levels = 1;
    for (uint32_t x = 0; x < p->numbers; x++)
        o->rank[x] = x;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        if (!adx_is_used(p, s, o->used))
            continue;
        o->symbol[i] = adx_symbol_of(k, s);
        adx_find_chain(o, i);
        for (int a = 0; s->op != ADX_OP_guard && a < adx_varying(s); a++)
            adx_raise_level(o, i, adx_read_by(s, a));
    }
    o->levels++;
    for (size_t i = 0; i < p->nodes; i++)
        if (p->node[i].op == ADX_OP_guard)
            o->level[i] = o->levels;
}

// Lists the nodes level by level: a stable counting sort. begin[] has a place
// for each level and two more; afterwards it is where the next level begins.
static void adx_fill_levels(adx_reordering *o, uint32_t begin[])
{
    const adx_program *p = o->p;
    memset(begin, 0, (o->levels + 2) * sizeof *begin);
    for (size_t i = 0; i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], o->used))
            begin[o->level[o->head[i]] + 1]++;
    for (uint32_t l = 0; l < o->levels; l++)
        begin[l + 1] += begin[l];
    for (size_t i = 0; i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], o->used))
            o->node[begin[o->level[o->head[i]]]++] = (uint32_t)i;
}

/* --- the nodes of a level ------------------------------------------------- */

// Whether node i comes before node j of the same level.
static bool adx_is_before(const adx_reordering *o, uint32_t i, uint32_t j)
{
    uint32_t first = o->head[i];
    uint32_t second = o->head[j];
    const adx_node *s = &o->p->node[first];
    const adx_node *t = &o->p->node[second];
    if (first == second || s->op == ADX_OP_guard)
        return i < j;
    if (o->symbol[first] != o->symbol[second])
        return o->symbol[first] < o->symbol[second];
    if (o->length[first] != o->length[second])
        return o->length[first] < o->length[second];
    for (int a = 0; a < adx_varying(s); a++) {
        uint32_t mine = o->rank[adx_read_by(s, a)];
        uint32_t its = o->rank[adx_read_by(t, a)];
        if (mine != its)
            return mine < its;
    }
    return first < second;
}

// Merges two sorted pieces of a level: [low, middle) and [middle, high).
static void adx_merge_nodes(adx_reordering *o, size_t low, size_t middle,
                            size_t high)
{
    size_t a = low;
    size_t b = middle;
    if (!adx_is_before(o, o->node[middle], o->node[middle - 1]))
        return;
    for (size_t to = low; to < high; to++)
        o->other[to] = b == high
                    || (a < middle && !adx_is_before(o, o->node[b], o->node[a]))
                     ? o->node[a++] : o->node[b++];
    memcpy(&o->node[low], &o->other[low], (high - low) * sizeof *o->node);
}

// Sorts the nodes of a level; those of lower levels have their places.
static void adx_sort_level(adx_reordering *o, size_t low, size_t high)
{
    for (size_t width = 1; width < high - low; width *= 2)
        for (size_t at = low; at + width < high; at += 2 * width)
            adx_merge_nodes(o, at, at + width, high - at < 2 * width
                            ? high : at + 2 * width);
    for (size_t i = low; i < high; i++) {
        const adx_node *s = &o->p->node[o->node[i]];
        if (s->op != ADX_OP_guard)
            o->rank[s->r] = (uint32_t)i;
    }
}

// Orders the used nodes of q by levels. Some of their arguments may have
// changed places then. false: no memory. For programs without array nodes.
static bool adx_order_by_levels(const adx_writing *k, adx_program *q,
                                adx_order *order)
{
    const ad_allocator *a = q->memory;
    adx_reordering o = { .p = q, .used = k->used };
    uint32_t *begin = NULL;
    if (adx_begin_ordering(&o)) {
        adx_count_readers(&o);
        adx_find_levels(&o, k);
        begin = (uint32_t *)adx_take(a, o.levels + 2, sizeof *begin);
    }
    if (begin != NULL) {
        adx_fill_levels(&o, begin);
        for (uint32_t l = 1; l <= o.levels; l++)
            adx_sort_level(&o, begin[l - 1], begin[l]);
        adx_tell_links(&o);
    }
    *order = (adx_order){ o.node, o.symbol };
    bool ok = begin != NULL;
    adx_drop(a, begin);
    adx_end_ordering(&o);
    return ok;
}

ADX_SELDOM_END
