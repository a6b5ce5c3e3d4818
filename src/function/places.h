#pragma once

/* === function/places ========================================================
 * A machine is a program made ready for replay. It is made in these steps:
 *
 *   1  Nodes on which neither a result nor a guard depends are left out.
 *   2  A product that only one sum uses becomes one node with that sum.
 *   3  Nodes are reordered, but none comes before a node whose result it reads.
 *      Either nodes of one operation come together, or each node follows the
 *      one for which it waits.
 *   4  Each number gets a place in memory. After its last use that place is
 *      free for the next result, so that a replay touches little memory. In
 *      programs with array nodes every number has a place of its own, so that
 *      ranges stay ranges.
 *   5  A node that uses the result of the node before it has a code for
 *      that: it finds that result in a register.
 *
 *   needs   tape/memory core/cells function/program function/copy
 *   offers  adx_machine adx_machine_room adx_need_room adx_free_machine
 *           ADX_CODE ADX_AFTER_X ADX_AFTER_Y ADX_AFTER_Z ADX_CODES ADX_AFTER
 *           adx_make_machine
 * ========================================================================== */

// A constant, and its place.
typedef struct adx_preset {
    uint32_t at;
    ad_real v;
} adx_preset;

typedef struct adx_machine {
    const ad_allocator *memory;
    adx_node *node;             // ends with ADX_OP_end; codes: see function/run
    size_t nodes;
    size_t calls;               // of the math library: the sum of adx_cost_of
    adx_many *many;             // a node's r is the place of its first result
    size_t manys;
    size_t room;                // numbers of the external node that has most,
                                // see adx_machine_room
    adx_preset *preset;         // constants
    size_t presets;
    uint32_t *output;
    size_t outputs;
    size_t inputs;              // places 0 ... inputs - 1
    size_t places;
    adx_spare spare;            // kept for the next evaluation
} adx_machine;

// External nodes have room behind the places: for a point, and for what each
// lane has there.
static size_t adx_machine_room(const adx_machine *m, size_t lanes)
{
    return m->places * lanes + m->room * (lanes + 1);
}

static void adx_need_room(adx_machine *m, const adx_many *k)
{
    size_t room = k->kind == ADX_MANY_external
                ? adx_listed(k) + adx_many_results(k) : 0;
    m->room = room > m->room ? room : m->room;
}

/* --- places -------------------------------------------------------------- */

#define ADX_WINDOW 512          // nodes that may change places
#define ADX_SLENDER 4           // mean nodes of a level: adx_batch_window

// A window of nodes that are being put into another order. A node waits for
// another node of the window if it reads the result of that node. A chain is a
// sequence of nodes each of which waits for the one before.
typedef struct adx_window {
    adx_node node[ADX_WINDOW];
    uint16_t op[ADX_WINDOW];
    uint16_t level[ADX_WINDOW];     // nodes of the longest chain before it
    uint16_t height[ADX_WINDOW];    // nodes of the longest chain behind it
    uint16_t heir[ADX_WINDOW];      // the first node of the chain behind it
    uint16_t order[2][ADX_WINDOW];
    uint16_t count[ADX_WINDOW + 1];
} adx_window;

typedef struct adx_placing {
    const adx_program *p;
    adx_machine *machine;
    bool *used;
    adx_node *node;             // the nodes of p, fused; in the end only the
    size_t nodes;               // used ones, in the order of the machine
    uint32_t *uses;             // [number] how often it is read
    uint32_t *place;            // [number] its place
    uint32_t *last;             // [number] the node that reads it last
    uint32_t *idle;             // a stack of free places
    size_t idle_n;
    adx_window *window;
} adx_placing;

static void adx_free_machine(adx_machine *m)
{
    if (m == NULL)
        return;
    adx_drop_spare(&m->spare, m->memory);
    for (size_t i = 0; m->many != NULL && i < m->manys; i++)
        adx_drop_many(m->memory, &m->many[i]);
    adx_drop(m->memory, m->many);
    adx_drop(m->memory, m->node);
    adx_drop(m->memory, m->preset);
    adx_drop(m->memory, m->output);
    adx_drop(m->memory, m);
}

static void adx_end_placing(adx_placing *k)
{
    const ad_allocator *a = k->p->memory;
    adx_drop(a, k->used);
    adx_drop(a, k->node);
    adx_drop(a, k->uses);
    adx_drop(a, k->place);
    adx_drop(a, k->last);
    adx_drop(a, k->idle);
    adx_drop(a, k->window);
}

// Copies what array nodes need. The machine has its own lists; rules are
// shared.
static bool adx_copy_manys(adx_machine *m, const adx_program *p)
{
    m->many = (adx_many *)adx_take(m->memory, p->manys, sizeof *m->many);
    if (m->many == NULL)
        return false;
    for (size_t i = 0; i < p->manys; i++) {
        const adx_many *k = &p->many[i];
        m->many[i] = *k;
        m->many[i].list = NULL;
        m->many[i].shared = k->shared == NULL ? NULL
                          : adx_share_rule(k->shared);
        m->manys = i + 1;
        size_t n = adx_listed(k);
        if (n == 0)
            continue;
        uint32_t *list = (uint32_t *)adx_take(m->memory, n, sizeof *list);
        if (list == NULL)
            return false;
        memcpy(list, k->list, n * sizeof *list);
        m->many[i].list = list;
        adx_need_room(m, k);
    }
    return true;
}

// Takes all memory. False: there is not enough, and what was taken is still to
// be freed.
static bool adx_begin_placing(adx_placing *k, const adx_program *p)
{
    const ad_allocator *a = p->memory;
    memset(k, 0, sizeof *k);
    k->p = p;
    k->used = (bool *)adx_take(a, p->numbers, sizeof *k->used);
    k->node = (adx_node *)adx_take(a, p->nodes, sizeof *k->node);
    k->uses = (uint32_t *)adx_take(a, p->numbers, sizeof *k->uses);
    k->place = (uint32_t *)adx_take(a, p->numbers, sizeof *k->place);
    k->last = (uint32_t *)adx_take(a, p->numbers, sizeof *k->last);
    k->idle = (uint32_t *)adx_take(a, p->numbers, sizeof *k->idle);
    k->window = (adx_window *)adx_take(a, 1, sizeof *k->window);
    adx_machine *m = (adx_machine *)adx_take(a, 1, sizeof *m);
    if (m != NULL) {
        memset(m, 0, sizeof *m);
        m->memory = a;
        m->node = (adx_node *)adx_take(a, p->nodes + 1, sizeof *m->node);
        m->preset = (adx_preset *)adx_take(a, p->numbers, sizeof *m->preset);
        m->output = (uint32_t *)adx_take(a, p->outputs, sizeof *m->output);
    }
    k->machine = m;
    return k->used != NULL && k->node != NULL && k->uses != NULL
        && k->place != NULL && k->last != NULL && k->idle != NULL
        && k->window != NULL && m != NULL && m->node != NULL
        && m->preset != NULL && m->output != NULL && adx_copy_manys(m, p);
}

static void adx_count_use(void *user, uint32_t number)
{
    ((uint32_t *)user)[number]++;
}

// Counts how often each number is read, and copies the nodes.
static void adx_count_uses(adx_placing *k)
{
    const adx_program *p = k->p;
    memset(k->uses, 0, p->numbers * sizeof *k->uses);
    for (size_t i = 0; i < p->outputs; i++)
        k->uses[p->output[i]]++;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        k->node[i] = *s;
        if (!adx_is_used(p, s, k->used))
            continue;
        if (s->op == ADX_OP_guard || s->op == ADX_OP_many)
            adx_visit_reads(p, s, adx_count_use, k->uses);
        else
            for (int j = 0; j < adx_row_of(s->op)->arity; j++)
                k->uses[j == 0 ? s->a : j == 1 ? s->b : s->c]++;
    }
}

// Returns the node of x if it is a product whose result is read once; else
// NULL.
static adx_node *adx_single_product(adx_placing *k, uint32_t x)
{
    uint32_t from = k->p->from[x];
    if (from >= ADX_FROM_INPUT || k->uses[x] != 1)
        return NULL;
    adx_node *s = &k->node[from];
    bool product = s->op == ADX_OP_chain
                || (ADX_FUSES_MUL && (s->op == ADREV_OP_mul
                                      || s->op == ADREV_OP_sqr));
    return product ? s : NULL;
}

// Makes one node of a product and of the sum or difference that alone reads it.
// In a difference only the second argument can be such a product.
static void adx_fuse(adx_placing *k)
{
    for (size_t i = 0; i < k->p->nodes; i++) {
        adx_node *s = &k->node[i];
        bool sub = s->op == ADREV_OP_sub;
        if ((s->op != ADREV_OP_add && !sub) || !k->used[s->r])
            continue;
        adx_node *left = sub ? NULL : adx_single_product(k, s->a);
        adx_node *product = left == NULL ? adx_single_product(k, s->b) : left;
        if (product == NULL)
            continue;
        k->used[product->r] = false;
        *s = (adx_node){ product->op == ADX_OP_chain
                         ? sub ? ADX_OP_chain_sub : ADX_OP_chain_add
                         : sub ? ADX_OP_mul_sub : ADX_OP_mul_add,
                         s->r, product->a, product->b,
                         left == NULL ? s->a : s->b };
    }
}

static void adx_drop_unused(adx_placing *k)
{
    for (size_t i = 0; i < k->p->nodes; i++)
        if (adx_is_used(k->p, &k->node[i], k->used))
            k->node[k->nodes++] = k->node[i];
}

// Sorts the indices in `from` by their keys, which are below `keys`: a stable
// counting sort.
static void adx_sort_by(adx_window *w, size_t n, const uint16_t key[],
                        size_t keys, const uint16_t from[], uint16_t to[])
{
    memset(w->count, 0, (keys + 1) * sizeof *w->count);
    for (size_t i = 0; i < n; i++)
        w->count[key[i] + 1]++;
    for (size_t i = 0; i < keys; i++)
        w->count[i + 1] = (uint16_t)(w->count[i + 1] + w->count[i]);
    for (size_t i = 0; i < n; i++)
        to[w->count[key[from[i]]]++] = from[i];
}

// Orders the nodes level by level, and within a level operation by operation. A
// node waits only for nodes of lower levels.
static void adx_order_by_level(adx_window *w, size_t n, size_t levels)
{
    adx_sort_by(w, n, w->op, ADX_OP_end, w->order[0], w->order[1]);
    adx_sort_by(w, n, w->level, levels, w->order[1], w->order[0]);
}

// Notes that node i waits for `maker` (1 + its index; 0: the maker is not in
// the window).
static void adx_raise_window(adx_window *w, size_t i, uint32_t maker)
{
    if (maker > 0 && w->height[maker - 1] <= w->height[i]) {
        w->height[maker - 1] = (uint16_t)(w->height[i] + 1);
        w->heir[maker - 1] = (uint16_t)i;
    }
}

// Orders the nodes with the longest chains behind them first. Each node is
// followed by its heir, if that waits for nothing else, so that a result is
// used at once. A node has a lower height than all nodes for which it waits. So
// when its turn comes by height, at the latest, it no longer waits. made[x]: 1
// + the node that will make number x; 0: x is there.
static void adx_order_by_height(adx_window *w, size_t n, size_t levels,
                                uint32_t made[])
{
    size_t done = 0;
    for (size_t i = 0; i < n; i++) {
        w->height[i] = 0;
        made[w->node[i].r] = (uint32_t)i + 1;
    }
    for (size_t i = n; i-- > 0;) {
        adx_raise_window(w, i, made[w->node[i].a]);
        adx_raise_window(w, i, made[w->node[i].b]);
        adx_raise_window(w, i, made[w->node[i].c]);
    }
    adx_sort_by(w, n, w->height, levels, w->order[0], w->order[1]);
    for (size_t i = n; i-- > 0;)
        for (size_t at = w->order[1][i];; at = w->heir[at]) {
            const adx_node *s = &w->node[at];
            if (made[s->r] == 0 || made[s->a] + made[s->b] + made[s->c] > 0)
                break;
            w->order[0][done++] = (uint16_t)at;
            made[s->r] = 0;
            if (w->height[at] == 0)
                break;
        }
}

// Puts n nodes into another order; none of them is a guard or has many results.
// If a level has ADX_SLENDER nodes or more on average, they go by level, else
// by height. of[] has room for an index of each number, and is 0 before and
// after.
static void adx_batch_window(adx_window *w, size_t n, adx_node node[],
                             uint32_t of[])
{
    size_t levels = 0;
    for (size_t i = 0; i < n; i++) {
        const adx_node *s = &node[i];
        uint32_t l = of[s->a] > of[s->b] ? of[s->a] : of[s->b];
        l = l > of[s->c] ? l : of[s->c];
        of[s->r] = l + 1;
        levels = l + 1 > levels ? l + 1 : levels;
        w->node[i] = *s;
        w->op[i] = (uint16_t)s->op;
        w->level[i] = (uint16_t)l;
        w->order[0][i] = (uint16_t)i;
    }
    for (size_t i = 0; i < n; i++)
        of[node[i].r] = 0;
    if (n < ADX_SLENDER * levels)
        adx_order_by_height(w, n, levels, of);
    else
        adx_order_by_level(w, n, levels);
    for (size_t i = 0; i < n; i++)
        node[i] = w->node[w->order[0][i]];
}

// Orders the nodes, window by window. Guards and array nodes stay where they
// are, and end a window. Nodes of the same operation next to one another save
// jumps, and the processor can do more at a time. If a program has few of
// these, each node follows the one for which it waits, which hands its result
// on in a register. (BENCHMARKS.md says what each is worth.)
static void adx_batch(adx_placing *k)
{
    size_t n = 0;               // nodes in the window so far
    memset(k->last, 0, k->p->numbers * sizeof *k->last);
    for (size_t i = 0; i <= k->nodes; i++) {
        const adx_node *s = i < k->nodes ? &k->node[i] : NULL;
        bool fixed = s == NULL || s->op == ADX_OP_guard
                  || s->op == ADX_OP_many;
        if (fixed || n == ADX_WINDOW) {
            adx_batch_window(k->window, n, k->node + i - n, k->last);
            n = 0;
        }
        n += !fixed;
    }
}

// Finds the last node that reads each number. Outputs are read behind all
// nodes.
static void adx_find_last_uses(adx_placing *k)
{
    const adx_program *p = k->p;
    memset(k->last, 0, p->numbers * sizeof *k->last);
    for (size_t i = 0; i < k->nodes; i++) {
        const adx_node *s = &k->node[i];
        const adx_many *many = adx_many_of(p, s);
        k->last[s->r] = (uint32_t)i;
        for (size_t j = 0; many != NULL && j < adx_listed(many); j++)
            k->last[many->list[j]] = (uint32_t)i;
        if (many != NULL)
            continue;
        k->last[s->a] = (uint32_t)i;
        k->last[s->b] = (uint32_t)i;
        if (s->op != ADX_OP_guard)
            k->last[s->c] = (uint32_t)i;
    }
    for (size_t i = 0; i < p->outputs; i++)
        k->last[p->output[i]] = UINT32_MAX;
}

// Finds the spans of numbers that array nodes read and make.
static void adx_find_spans(const adx_placing *k, uint32_t begin[])
{
    const adx_program *p = k->p;
    memset(begin, 0, p->numbers * sizeof *begin);
    for (size_t i = 0; i < k->nodes; i++) {
        const adx_many *many = adx_many_of(p, &k->node[i]);
        for (int a = 0; many != NULL && a < 3; a++) {
            size_t rows;
            size_t cols;
            adx_extent(many, a, &rows, &cols);
            adx_add_span(begin, p->numbers, &many->arg[a], rows, cols);
        }
        if (many != NULL)
            adx_add_results_span(begin, p->numbers, k->node[i].r, many);
    }
}

// Gives places of their own to inputs, to constants, and to the spans of array
// nodes, in the order of their numbers: so ranges remain ranges.
static void adx_place_given(adx_placing *k)
{
    const adx_program *p = k->p;
    adx_machine *m = k->machine;
    uint32_t *begin = k->idle;          // not needed yet
    uint32_t spans = 0;
    adx_find_spans(k, begin);
    m->inputs = p->inputs;
    for (size_t i = 0; i < p->numbers; i++) {
        bool preset = adx_is_constant_number(p, i) && k->used[i];
        spans += begin[i];
        if (spans > 0)
            k->last[i] = UINT32_MAX;
        k->place[i] = i < p->inputs || spans > 0 || preset
                    ? (uint32_t)m->places++ : ADX_NOWHERE;
        if (preset)
            m->preset[m->presets++] =
                (adx_preset){ k->place[i], *adx_constant_of(p, i) };
    }
}

// Frees the place of x if node `node` was the last to read it.
static void adx_release(adx_placing *k, uint32_t x, size_t node)
{
    if (k->p->from[x] < ADX_FROM_INPUT && k->last[x] == node) {
        k->idle[k->idle_n++] = k->place[x];
        k->last[x] = UINT32_MAX;        // once
    }
}

// Gives an array node its places: its operands are ranges and a list.
static void adx_place_many(adx_placing *k, size_t i)
{
    const adx_node *s = &k->node[i];
    adx_many *many = &k->machine->many[s->a];
    for (int a = 0; a < 3; a++) {
        size_t rows;
        size_t cols;
        adx_extent(many, a, &rows, &cols);
        if (rows > 0)
            many->arg[a].base = k->place[many->arg[a].base];
        else                    // loops may read arguments that do not exist
            many->arg[a] = many->arg[0];
    }
    for (size_t j = 0; j < adx_listed(many); j++) {
        uint32_t x = many->list[j];
        many->list[j] = k->place[x];
        adx_release(k, x, i);
    }
    *k->machine->node++ = (adx_node){ s->op, k->place[s->r], s->a, s->b, s->c };
}

// Writes node i into the machine, with places in place of numbers.
static void adx_place_node(adx_placing *k, size_t i)
{
    const adx_node *s = &k->node[i];
    bool guard = s->op == ADX_OP_guard;
    if (s->op == ADX_OP_many) {
        adx_place_many(k, i);
        return;
    }
    adx_node to = { s->op, 0, k->place[s->a], k->place[s->b],
                    guard ? s->c : k->place[s->c] };
    if (!guard && k->place[s->r] == ADX_NOWHERE)
        k->place[s->r] = k->idle_n > 0 ? k->idle[--k->idle_n]
                                       : (uint32_t)k->machine->places++;
    if (!guard)
        to.r = k->place[s->r];
    // The arguments are released only now, because a result must not overlap
    // them (function/arrays).
    adx_release(k, s->a, i);
    adx_release(k, s->b, i);
    if (!guard)
        adx_release(k, s->c, i);
    *k->machine->node++ = to;
}

// A node that uses the result of the node before it has a code of its own,
// which says its operation and which argument that result is. It finds the
// argument in a register; through memory it would wait longer than most
// operations take. (Replay of twenty times x = x a + b: 0.54.)
enum {
    ADX_CODE = 0xff,            // of the operation
    ADX_AFTER_X = 0x100, ADX_AFTER_Y = 0x200, ADX_AFTER_Z = 0x300,
    ADX_CODES = 0x400
};
ADX_STATIC_ASSERT((int)ADX_OP_end <= (int)ADX_CODE, "an operation has 8 bits");

// Only frequent operations have such codes.
#define ADX_AFTER_ROW(X, name) X(ADREV_OP_##name, adx_f_##name(x, y, z))
#define ADX_AFTER(X, Y, Z)                                                  \
    ADX_AFTER_ROW(X, neg) ADX_AFTER_ROW(X, sqr) ADX_AFTER_ROW(X, exp)       \
    ADX_AFTER_ROW(X, sin) ADX_AFTER_ROW(X, cos)                             \
    ADX_AFTER_ROW(X, add) ADX_AFTER_ROW(Y, add)                             \
    ADX_AFTER_ROW(X, sub) ADX_AFTER_ROW(Y, sub)                             \
    ADX_AFTER_ROW(X, mul) ADX_AFTER_ROW(Y, mul)                             \
    ADX_AFTER_ROW(X, div) ADX_AFTER_ROW(Y, div)                             \
    X(ADX_OP_chain, x * y) Y(ADX_OP_chain, x * y)                           \
    ADX_FUSED(X) ADX_FUSED(Y) ADX_FUSED(Z)

// Gives these codes to the nodes that can have one.
static void adx_fuse_after(adx_node *s)
{
#define ADX_X(code, value) [code + ADX_AFTER_X] = true,
#define ADX_Y(code, value) [code + ADX_AFTER_Y] = true,
#define ADX_Z(code, value) [code + ADX_AFTER_Z] = true,
    static const bool known[ADX_CODES] = { ADX_AFTER(ADX_X, ADX_Y, ADX_Z) };
#undef ADX_X
#undef ADX_Y
#undef ADX_Z
    for (; s->op != ADX_OP_end; s++) {
        adx_node *next = s + 1;
        uint32_t after = next->a == s->r ? ADX_AFTER_X
                       : next->b == s->r ? ADX_AFTER_Y
                       : next->c == s->r ? ADX_AFTER_Z : 0;
        if (s->op != ADX_OP_guard && s->op != ADX_OP_many
            && known[next->op + after])
            next->op += after;
    }
}

// Makes the machine of a program, in the steps that the opening of this room
// lists. NULL: no memory.
static adx_machine *adx_make_machine(const adx_program *p)
{
    adx_placing k;
    if (!adx_begin_placing(&k, p)) {
        adx_free_machine(k.machine);
        adx_end_placing(&k);
        return NULL;
    }
    adx_machine *m = k.machine;
    adx_node *first = m->node;
    adx_find_used(p, k.used);
    adx_count_uses(&k);
    adx_fuse(&k);
    adx_drop_unused(&k);
    adx_batch(&k);
    adx_find_last_uses(&k);
    adx_place_given(&k);
    for (size_t i = 0; i < k.nodes; i++)
        adx_place_node(&k, i);
    *m->node = (adx_node){ .op = ADX_OP_end };
    m->node = first;
    m->nodes = k.nodes;
    for (size_t i = 0; i < k.nodes; i++)
        m->calls += (size_t)adx_cost_of(first[i].op);
    adx_fuse_after(first);
    m->outputs = p->outputs;
    for (size_t i = 0; i < p->outputs; i++)
        m->output[i] = k.place[p->output[i]];
    adx_end_placing(&k);
    return m;
}
