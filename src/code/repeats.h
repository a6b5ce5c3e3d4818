#pragma once

/* === code/repeats ===========================================================
 * Finds what repeats in a program, so that its C code has loops. The used nodes
 * are a sequence of symbols: the operation, and for each argument whether it is
 * a result, a constant or an element of which array of inputs. Where a piece of
 * the sequence comes again and again right behind itself, it becomes one item,
 * a loop, and the search begins again with the shorter sequence: so loops nest.
 * The order of the nodes stays as it is, and therefore the bits do.
 *
 * A piece that begins at i - p comes again at i if a few symbols from i on were
 * met p before, and if both pieces have the same hash. One table for each of a
 * few numbers of symbols knows where they were met last, and prefix sums give
 * the hash of any piece at once (Karp and Rabin, Efficient randomized
 * pattern-matching algorithms, 1987); so the search takes a time that is linear
 * in the sequence. What has been found is compared symbol by symbol.
 *
 * Outputs are a sequence of their own: their symbol is the statement whose
 * instances they are. What is then in no loop is folded once more, by symbols
 * that do not say which statement that is. A loop is in no loop of this fold,
 * so none nest deeper than ADX_ROLL_DEPTH.
 *
 *   needs   tape/memory core/cells function/program function/unique
 *           function/copy code/layout
 *   offers  ADX_ROLL_DEPTH ADX_ROLL_LEAST adx_item adx_looped adx_rolled
 *           adx_free_rolled adx_join_equal adx_split_equal ADX_CLASS_RESULT
 *           ADX_CLASS_CONSTANT adx_class_of adx_varying adx_read_by
 *           adx_symbol_of adx_order adx_free_order adx_may_repeat adx_new_item
 *           adx_fold_again adx_entry_at adx_next_instance adx_roll
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_ROLL_DEPTH 3
#define ADX_ROLL_LEAST 200      // statements that a loop must save
#define ADX_ROLL_WIDTHS 6       // lengths of what is looked up: 1, 4, 16 ...

// A statement or a loop.
typedef struct adx_item {
    uint64_t symbol;
    uint32_t first;             // entry of the sequence that comes first
    uint32_t entries;           // how many it has, in all iterations
    uint32_t count;             // iterations; 1: a statement
    uint32_t body;              // where the list of its items begins, in `list`
    uint32_t items;
    uint32_t text;              // statements that are written
    uint32_t leaf;              // of a statement in loops, else 0
} adx_item;

// A statement in loops. Its instance at t[] is entry first + sum of t[l]
// stride[l]; instances are counted in their order.
typedef struct adx_looped {
    uint32_t depth;
    uint32_t loop[ADX_ROLL_DEPTH];  // items, the outermost first
    uint32_t stride[ADX_ROLL_DEPTH];  // of the entry, for each loop
    uint32_t count[ADX_ROLL_DEPTH]; // iterations of each loop
    uint32_t first;             // entry of the first instance
    uint32_t instances;         // the product of the counts
    uint32_t place;             // in work, of its first instance
    bool local;                 // read by other statements of its body
    bool stored;                // its results are in work
    bool all;                   // of all instances; else of the last one only
} adx_looped;

typedef struct adx_rolled {
    adx_item *item;
    size_t items, item_room;
    uint32_t *list;             // lists of items; the first is that of the file
    size_t listed, list_room;
    uint32_t *root;             // the sequence now
    size_t roots;
    adx_looped *leaf;             // leaf[0] stands for what is in no loop
    size_t leaves, leaf_room;
    size_t nodes, entries;
    uint32_t *entry;            // [entries] its node, or its output
    uint32_t *entry_of;         // [nodes of the program]
    uint32_t *leaf_of;          // [entries]
    uint32_t *index_of;         // [entries] which instance; or how many
                                // statements in no loop come before
    uint32_t *section_of;       // [roots] C function
    size_t next;                // root, after what is written so far
    size_t loops;               // found; a nested one in each iteration
    size_t written;             // of these
    adx_node *was;              // the program's, before equal ones were joined
    uint32_t *constant;         // [constants] the array that loops read
    uint32_t *constant_at;      // [numbers] 1 + where it is there; 0: nowhere
    size_t constants;
    bool failed;                // no memory
} adx_rolled;

static void adx_free_rolled(const ad_allocator *a, adx_rolled *r)
{
    if (r == NULL)
        return;
    adx_drop(a, r->item);
    adx_drop(a, r->list);
    adx_drop(a, r->root);
    adx_drop(a, r->leaf);
    adx_drop(a, r->entry);
    adx_drop(a, r->entry_of);
    adx_drop(a, r->leaf_of);
    adx_drop(a, r->index_of);
    adx_drop(a, r->section_of);
    adx_drop(a, r->was);
    adx_drop(a, r->constant);
    adx_drop(a, r->constant_at);
    adx_drop(a, r);
}

/* --- numbers that are the same ----------------------------------------------
 * The table of known numbers (function/unique) forgets some, which are then
 * made again here and there. Before loops are looked for, all that are the same
 * become one.                                                                */

static uint64_t adx_equal_hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xd1342543de82ef95u;
    return (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
}

static adx_key adx_equal_key(const adx_program *p, uint32_t x)
{
    const adx_node *s = &p->node[p->from[x]];
    return adx_is_constant_number(p, x)
         ? adx_constant_key(*adx_constant_of(p, x))
         : adx_node_key(s->op, s->a, s->b, s->c);
}

// The number that x is the same as, if it is in the table; else x, which then
// is in it.
static uint32_t adx_first_equal(const adx_program *p, uint32_t table[],
                                int bits, uint32_t x)
{
    const adx_key key = adx_equal_key(p, x);
    size_t mask = ((size_t)1 << bits) - 1;
    size_t at = (size_t)(adx_equal_hash(key.word[0], key.word[1])
                         >> (64 - bits));
    for (; table[at] != 0; at = (at + 1) & mask) {
        const adx_key other = adx_equal_key(p, table[at] - 1);
        if (memcmp(&key, &other, sizeof key) == 0)
            return table[at] - 1;
    }
    table[at] = x + 1;
    return x;
}

static void adx_rename_reads(adx_node *s, const uint32_t as[])
{
    s->a = as[s->a];
    s->b = as[s->b];
    if (s->op != ADX_OP_guard)
        s->c = as[s->c];
    if (adx_commutes(s->op) && s->a > s->b) {       // as adx_emit has them
        uint32_t a = s->a;
        s->a = s->b;
        s->b = a;
        s->c = s->a;
    }
}

// Makes one of all numbers that are the same. Returns the nodes and outputs as
// they were; NULL: no memory, and nothing was done.
static adx_node *adx_join_equal(adx_program *q, bool used[])
{
    const ad_allocator *a = q->memory;
    int bits = 8;
    while ((size_t)1 << bits < 2 * q->numbers)
        bits++;
    size_t outputs = (q->outputs * sizeof *q->output + sizeof *q->node - 1)
                   / sizeof *q->node;
    adx_node *was = (adx_node *)adx_take(a, q->nodes + outputs, sizeof *was);
    uint32_t *as = (uint32_t *)adx_take(a, q->numbers, sizeof *as);
    uint32_t *table = (uint32_t *)adx_take(a, (size_t)1 << bits, sizeof *table);
    if (was != NULL && as != NULL && table != NULL) {
        memset(table, 0, ((size_t)1 << bits) * sizeof *table);
        memcpy(was, q->node, q->nodes * sizeof *was);
        memcpy(was + q->nodes, q->output, q->outputs * sizeof *q->output);
        for (uint32_t x = 0; x < q->numbers; x++) {
            bool input = q->from[x] == ADX_FROM_INPUT;
            if (!input && !adx_is_constant_number(q, x))
                adx_rename_reads(&q->node[q->from[x]], as);
            as[x] = input ? x : adx_first_equal(q, table, bits, x);
        }
        for (size_t i = 0; i < q->nodes; i++)
            if (q->node[i].op == ADX_OP_guard)
                adx_rename_reads(&q->node[i], as);
        for (size_t i = 0; i < q->outputs; i++)
            q->output[i] = as[q->output[i]];
        adx_find_used(q, used);
    } else {
        adx_drop(a, was);
        was = NULL;
    }
    adx_drop(a, as);
    adx_drop(a, table);
    return was;
}

// Undoes that.
static void adx_split_equal(adx_program *q, adx_node *was, bool used[])
{
    memcpy(q->node, was, q->nodes * sizeof *was);
    memcpy(q->output, was + q->nodes, q->outputs * sizeof *q->output);
    adx_drop(q->memory, was);
    adx_find_used(q, used);
}

/* --- symbols ------------------------------------------------------------- */

enum { ADX_CLASS_RESULT, ADX_CLASS_CONSTANT, ADX_CLASS_INPUT };

// What kind of number x is: a result, a constant, or an element of one of the
// arrays of inputs.
static unsigned adx_class_of(const adx_writing *k, uint32_t x)
{
    uint32_t at;
    if (adx_is_constant_number(k->p, x))
        return ADX_CLASS_CONSTANT;
    if (k->p->from[x] != ADX_FROM_INPUT)
        return ADX_CLASS_RESULT;
    const char *array = adx_input_array(k, x, &at);
    unsigned which = ADX_CLASS_INPUT;
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != array; i++)
        which++;
    return which;
}

// How many numbers a node reads that may vary from instance to instance.
static int adx_varying(const adx_node *s)
{
    return s->op == ADX_OP_guard ? 1 : adx_row_of(s->op)->arity;
}

static uint32_t adx_read_by(const adx_node *s, int which)
{
    return which == 0 ? s->a : which == 1 ? s->b : s->c;
}

static uint64_t adx_symbol_of(const adx_writing *k, const adx_node *s)
{
    uint64_t symbol = s->op;
    for (int i = 0; i < adx_varying(s); i++)
        symbol |= (uint64_t)adx_class_of(k, adx_read_by(s, i)) << (8 + 4 * i);
    if (s->op == ADX_OP_guard)
        symbol |= (uint64_t)s->b << 24;
    return symbol;
}

// Another order of the used nodes than that of the program.
typedef struct adx_order {
    uint32_t *node;             // [used nodes]
    uint64_t *symbol;           // [nodes]
} adx_order;

static void adx_free_order(const ad_allocator *a, adx_order *order)
{
    adx_drop(a, order->node);
    adx_drop(a, order->symbol);
}

// Entry `at` of the sequence: which node it is, and its symbol. `next`: the
// used node that it is in the order of the program; order NULL: in this one.
static size_t adx_ordered_node(const adx_order *order, size_t at, size_t next)
{
    return order == NULL ? next : order->node[at];
}

static uint64_t adx_ordered_symbol(const adx_writing *k, const adx_order *order,
                                   size_t node)
{
    return order == NULL ? adx_symbol_of(k, &k->p->node[node])
                         : order->symbol[node];
}

// alike: what makes the output does not matter.
static uint64_t adx_output_symbol(const adx_writing *k, const adx_rolled *r,
                                  size_t output, bool alike)
{
    uint32_t x = k->p->output[output];
    unsigned which = adx_class_of(k, x);
    uint64_t leaf = which == ADX_CLASS_RESULT && !alike
                  ? r->leaf_of[r->entry_of[k->p->from[x]]] : 0;
    bool second = output >= k->results->length[0];
    return (uint64_t)1 << 62 | leaf << 8 | (uint64_t)which << 1 | second;
}

/* --- whether anything repeats ----------------------------------------------
 * A run that saves ADX_ROLL_LEAST statements is as long as that, or longer, and
 * the same as what comes a period before. So ADX_ROLL_AGAIN pieces of
 * ADX_ROLL_WINDOW symbols that end at multiples of ADX_ROLL_STEP come again,
 * somewhere behind. Programs that have fewer are left alone after one walk.
 * (So rsync finds blocks of a file at any place of another one: Tridgell,
 * Efficient Algorithms for Sorting and Synchronization, 1999.)               */

#define ADX_ROLL_WINDOW 64
#define ADX_ROLL_STEP 16
#define ADX_ROLL_AGAIN ((ADX_ROLL_LEAST - ADX_ROLL_WINDOW) / ADX_ROLL_STEP - 2)
#define ADX_ROLL_MULTIPLIER 0xd1342543de82ef95u

typedef struct adx_sampling {
    uint32_t *met;              // [2^bits] hashes of pieces; 0: none
    int bits;                   // of the size of the table
    uint64_t last[ADX_ROLL_WINDOW]; // the latest symbols, a ring
    uint64_t hash;              // of these
    uint64_t oldest;            // factor of the symbol that falls out
    size_t n, again;            // symbols so far; hashes that were met before
} adx_sampling;

static uint64_t adx_symbol_hash(uint64_t symbol)
{
    uint64_t mixed = (symbol + 1) * 0x9e3779b97f4a7c15u;
    return mixed ^ mixed >> 29;
}

// Takes the next symbol into the hash of the latest ones, which rolls on (Karp
// & Rabin), and counts it if this hash has been met.
static void adx_sample(adx_sampling *s, uint64_t symbol)
{
    uint64_t *bucket = &s->last[s->n++ % ADX_ROLL_WINDOW];
    s->hash = s->hash * ADX_ROLL_MULTIPLIER + adx_symbol_hash(symbol)
            - *bucket * s->oldest;
    *bucket = adx_symbol_hash(symbol);
    uint64_t key = s->hash * 0x9e3779b97f4a7c15u;
    uint32_t *met = &s->met[key >> (64 - s->bits)];
    s->again += *met == (uint32_t)key;
    if (s->n % ADX_ROLL_STEP == 0)
        *met = (uint32_t)key;
}

// Whether loops may pay, in the order of the program (NULL) or in another one.
// false with `failed`: no memory. (Array nodes read ranges, whose places are
// decided elsewhere: with them there are no other loops.)
static bool adx_may_repeat(const adx_writing *k, const adx_order *order,
                           bool *failed)
{
    const adx_program *p = k->p;
    adx_sampling s = { .bits = 8, .oldest = 1 };
    *failed = false;
    if (p->manys > 0 || p->nodes < 2 * ADX_ROLL_LEAST
        || p->nodes + p->outputs >= UINT32_MAX / 2)
        return false;
    while ((size_t)1 << s.bits < p->nodes / 2)
        s.bits++;
    for (int i = 0; i < ADX_ROLL_WINDOW; i++)
        s.oldest *= ADX_ROLL_MULTIPLIER;
    const size_t room = (size_t)1 << s.bits;
    s.met = (uint32_t *)adx_take(p->memory, room, sizeof *s.met);
    *failed = s.met == NULL;
    if (*failed)
        return false;
    memset(s.met, 0, room * sizeof *s.met);
    for (size_t i = 0, at = 0; i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used))
            adx_sample(&s, adx_ordered_symbol(
                           k, order, adx_ordered_node(order, at++, i)));
    adx_drop(p->memory, s.met);
    return s.again >= ADX_ROLL_AGAIN;
}

/* --- runs ---------------------------------------------------------------- */

// A sequence while runs are looked for.
typedef struct adx_folding {
    adx_rolled *r;
    const uint32_t *from;       // [n] items
    size_t n;
    size_t low;                 // the sequence from here on is not folded yet
    uint64_t *hash;             // [n + 1] of the first so many symbols
    uint64_t *power;            // [n + 1]
    uint32_t *text;             // [n + 1] statements of the first so many items
    uint32_t *met[ADX_ROLL_WIDTHS];     // 1 + where; 0: nowhere
    int bits;                   // of a place in such a table
    size_t period, count;       // of the run that was found
} adx_folding;

static uint64_t adx_roll_hash(const adx_folding *f, size_t at, size_t n)
{
    return f->hash[at + n] - f->hash[at] * f->power[n];
}

// Prefix sums of hashes, powers and lengths of text, and empty tables. False:
// no memory.
static bool adx_begin_folding(adx_folding *f, const ad_allocator *a)
{
    bool ok = true;
    f->bits = 8;
    while ((size_t)1 << f->bits < 2 * f->n)
        f->bits++;
    f->hash = (uint64_t *)adx_take(a, f->n + 1, sizeof *f->hash);
    f->power = (uint64_t *)adx_take(a, f->n + 1, sizeof *f->power);
    f->text = (uint32_t *)adx_take(a, f->n + 1, sizeof *f->text);
    for (int i = 0; i < ADX_ROLL_WIDTHS; i++) {
        size_t size = (size_t)1 << f->bits;
        f->met[i] = (uint32_t *)adx_take(a, size, sizeof **f->met);
        ok = ok && f->met[i] != NULL;
        if (ok)
            memset(f->met[i], 0, size * sizeof **f->met);
    }
    if (!ok || f->hash == NULL || f->power == NULL || f->text == NULL)
        return false;
    f->hash[0] = 0;
    f->power[0] = 1;
    f->text[0] = 0;
    for (size_t i = 0; i < f->n; i++) {
        const adx_item *item = &f->r->item[f->from[i]];
        f->hash[i + 1] = f->hash[i] * ADX_ROLL_MULTIPLIER
                       + adx_symbol_hash(item->symbol);
        f->power[i + 1] = f->power[i] * ADX_ROLL_MULTIPLIER;
        f->text[i + 1] = f->text[i] + item->text;
    }
    return true;
}

static void adx_end_folding(adx_folding *f, const ad_allocator *a)
{
    adx_drop(a, f->hash);
    adx_drop(a, f->power);
    adx_drop(a, f->text);
    for (int i = 0; i < ADX_ROLL_WIDTHS; i++)
        adx_drop(a, f->met[i]);
}

// How often the piece of p symbols before i comes, one after another, as far as
// hashes say.
static size_t adx_count_folds(const adx_folding *f, size_t i, size_t p)
{
    size_t count = 1;
    uint64_t piece = adx_roll_hash(f, i - p, p);
    for (size_t at = i; at + p <= f->n && adx_roll_hash(f, at, p) == piece;
         at += p)
        count++;
    return count;
}

// Whether that is so, symbol by symbol.
static bool adx_are_pieces(const adx_folding *f, size_t i, size_t p,
                           size_t count)
{
    const adx_item *item = f->r->item;
    for (size_t at = i; at < i + (count - 1) * p; at++)
        if (item[f->from[at]].symbol != item[f->from[at - p]].symbol)
            return false;
    return true;
}

// Whether a run begins that has its second piece at i: the one that saves most.
static bool adx_find_folds(adx_folding *f, size_t i)
{
    size_t best = 0;
    size_t tried = 0;
    for (int w = 0; w < ADX_ROLL_WIDTHS; w++) {
        size_t width = (size_t)1 << 2 * w;
        if (i + width > f->n)
            break;
        uint64_t key = adx_roll_hash(f, i, width) * 0x9e3779b97f4a7c15u;
        uint32_t *met = &f->met[w][key >> (64 - f->bits)];
        size_t before = *met;
        *met = (uint32_t)i + 1;
        size_t p = i + 1 - before;
        if (before == 0 || before - 1 < f->low || p == tried)
            continue;
        tried = p;
        size_t count = adx_count_folds(f, i, p);
        size_t saves = (count - 1) * (f->text[i] - f->text[i - p]);
        if (count > 2 && saves >= ADX_ROLL_LEAST && saves > best
            && adx_are_pieces(f, i, p, count)) {
            best = saves;
            f->period = p;
            f->count = count;
        }
    }
    return best > 0;
}

static uint32_t adx_new_item(const ad_allocator *a, adx_rolled *r,
                             adx_item item)
{
    if (r->failed || !adx_make_room_for(a, (void **)&r->item, &r->item_room,
                                        r->items, sizeof *r->item)) {
        r->failed = true;
        return 0;
    }
    r->item[r->items] = item;
    return (uint32_t)r->items++;
}

static void adx_enter_item(const ad_allocator *a, adx_rolled *r, uint32_t item)
{
    if (r->failed || !adx_make_room_for(a, (void **)&r->list, &r->list_room,
                                        r->listed, sizeof *r->list)) {
        r->failed = true;
        return;
    }
    r->list[r->listed++] = item;
}

// Loops with the same bodies have the same symbol. One that is like none of the
// last few is taken for a new one.
static uint64_t adx_loop_symbol(const adx_rolled *r, const adx_item *loop)
{
    for (size_t back = 1, seen = 0; back < r->items && seen < 64; back++) {
        const adx_item *other = &r->item[r->items - back];
        if (other->count == 1)
            break;              // loops are behind all statements
        seen++;
        bool same = other->count == loop->count && other->items == loop->items;
        for (size_t i = 0; same && i < loop->items; i++)
            same = r->item[r->list[other->body + i]].symbol
                == r->item[r->list[loop->body + i]].symbol;
        if (same)
            return other->symbol;
    }
    return (uint64_t)1 << 63 | r->items;
}

// The run of f->count pieces, the first of which is at `begin`, as an item.
static uint32_t adx_new_loop(const ad_allocator *a, adx_folding *f,
                             size_t begin)
{
    adx_rolled *r = f->r;
    adx_item loop = { .first = r->item[f->from[begin]].first,
                      .count = (uint32_t)f->count, .body = (uint32_t)r->listed,
                      .items = (uint32_t)f->period };
    for (size_t i = begin; i < begin + f->period; i++) {
        loop.entries += r->item[f->from[i]].entries * (uint32_t)f->count;
        loop.text += r->item[f->from[i]].text;
        adx_enter_item(a, r, f->from[i]);
    }
    if (r->failed)
        return 0;
    loop.symbol = adx_loop_symbol(r, &loop);
    r->loops++;
    return adx_new_item(a, r, loop);
}

// Folds a sequence in place; returns its new length. (What is folded is never
// longer than what it comes from.)
static size_t adx_fold(const ad_allocator *a, adx_rolled *r, uint32_t *from,
                       size_t n)
{
    adx_folding f = { .r = r, .from = from, .n = n };
    size_t to = 0;
    bool ok = adx_begin_folding(&f, a);
    r->failed = r->failed || !ok;
    for (size_t i = 0; ok && i < n; i++) {
        if (!adx_find_folds(&f, i))
            continue;
        size_t begin = i - f.period;
        while (f.low < begin)
            from[to++] = from[f.low++];
        from[to++] = adx_new_loop(a, &f, begin);
        f.low = begin + f.count * f.period;
        i = f.low - 1;
    }
    while (ok && f.low < n)
        from[to++] = from[f.low++];
    adx_end_folding(&f, a);
    return ok ? to : n;
}

// As often as it helps, and as deep as loops may be.
static size_t adx_fold_again(const ad_allocator *a, adx_rolled *r,
                             uint32_t *from, size_t n)
{
    for (int depth = 0; depth < ADX_ROLL_DEPTH && !r->failed; depth++) {
        size_t loops = r->loops;
        n = adx_fold(a, r, from, n);
        if (r->loops == loops)
            break;
    }
    return n;
}

/* --- leaves -------------------------------------------------------------- */

static uint32_t adx_entry_at(const adx_looped *leaf, const uint32_t t[])
{
    uint32_t at = leaf->first;
    for (uint32_t l = 0; l < leaf->depth; l++)
        at += t[l] * leaf->stride[l];
    return at;
}

// The next t[] in the order of instances, with t[l] in low[l] .. high[l];
// false: there is none.
static bool adx_next_instance(uint32_t depth, uint32_t t[],
                              const uint32_t low[], const uint32_t high[])
{
    for (uint32_t l = depth; l-- > 0;) {
        if (++t[l] < high[l])
            return true;
        t[l] = low[l];
    }
    return false;
}

// Says of all instances of a statement which they are.
static void adx_number_instances(adx_rolled *r, uint32_t leaf)
{
    const adx_looped *f = &r->leaf[leaf];
    static const uint32_t none[ADX_ROLL_DEPTH];
    uint32_t t[ADX_ROLL_DEPTH] = { 0 };
    uint32_t index = 0;
    do {
        uint32_t at = adx_entry_at(f, t);
        r->leaf_of[at] = leaf;
        r->index_of[at] = index++;
    } while (adx_next_instance(f->depth, t, none, f->count));
}

// Makes the leaves of an item that is in the loops of `in`, which are fewer
// than ADX_ROLL_DEPTH if it is a loop.
static void adx_make_leaves(const ad_allocator *a, adx_rolled *r, uint32_t item,
                            const adx_looped *in)
{
    adx_item *s = &r->item[item];
    adx_looped leaf = *in;
    if (s->count > 1) {
        leaf.loop[leaf.depth] = item;
        leaf.count[leaf.depth] = s->count;
        leaf.stride[leaf.depth] = s->entries / s->count;
        leaf.depth++;
        leaf.instances *= s->count;
        r->written++;
        for (uint32_t i = 0; i < s->items && !r->failed; i++)
            adx_make_leaves(a, r, r->list[s->body + i], &leaf);
        return;
    }
    if (leaf.depth == 0) {
        r->index_of[s->first] = r->leaf[0].instances++;
        return;
    }
    if (!adx_make_room_for(a, (void **)&r->leaf, &r->leaf_room, r->leaves,
                           sizeof *r->leaf)) {
        r->failed = true;
        return;
    }
    leaf.first = s->first;
    s->leaf = (uint32_t)r->leaves;
    r->leaf[r->leaves++] = leaf;
    adx_number_instances(r, s->leaf);
}

/* --- a whole program ----------------------------------------------------- */

// Room for all entries, and leaf 0, to which everything belongs at first. NULL:
// no memory.
static adx_rolled *adx_begin_rolled(const adx_writing *k)
{
    const adx_program *p = k->p;
    const ad_allocator *a = p->memory;
    adx_rolled *r = (adx_rolled *)adx_take(a, 1, sizeof *r);
    if (r == NULL)
        return NULL;
    *r = (adx_rolled){ .leaves = 1 };
    size_t most = p->nodes + p->outputs;
    r->root = (uint32_t *)adx_take(a, most, sizeof *r->root);
    r->entry = (uint32_t *)adx_take(a, most, sizeof *r->entry);
    r->leaf_of = (uint32_t *)adx_take(a, most, sizeof *r->leaf_of);
    r->index_of = (uint32_t *)adx_take(a, most, sizeof *r->index_of);
    r->section_of = (uint32_t *)adx_take(a, most, sizeof *r->section_of);
    r->entry_of = (uint32_t *)adx_take(a, p->nodes, sizeof *r->entry_of);
    r->constant = (uint32_t *)adx_take(a, p->numbers, sizeof *r->constant);
    r->constant_at = (uint32_t *)adx_take(a, p->numbers,
                                          sizeof *r->constant_at);
    r->failed = r->root == NULL || r->entry == NULL || r->leaf_of == NULL
             || r->index_of == NULL || r->section_of == NULL
             || r->entry_of == NULL || r->constant == NULL
             || r->constant_at == NULL
             || !adx_make_room_for(a, (void **)&r->leaf, &r->leaf_room, 0,
                                   sizeof *r->leaf);
    if (!r->failed) {
        r->leaf[0] = (adx_looped){ .instances = 0 };
        memset(r->leaf_of, 0, most * sizeof *r->leaf_of);
        memset(r->constant_at, 0, p->numbers * sizeof *r->constant_at);
    }
    return r;
}

// Outputs that are in no loop yet, in whichever order they were computed: their
// places in work become a table. As single statements they would be a C
// function as long as they are many, which takes compilers a time that grows
// with the square of that. Each loop gets a symbol of its own, for it must not
// be folded: it may be as deep as loops may be.
static size_t adx_fold_alike(const adx_writing *k, adx_rolled *r,
                             uint32_t *from, size_t n)
{
    for (size_t i = 0; i < n && !r->failed; i++) {
        adx_item *s = &r->item[from[i]];
        s->symbol = s->count > 1
                  ? (uint64_t)1 << 63 | from[i]
                  : adx_output_symbol(k, r, r->entry[s->first], true);
    }
    return adx_fold(k->p->memory, r, from, n);
}

// Folds the statements of a sequence, from entry `begin` on, and makes their
// leaves.
static void adx_fold_entries(const adx_writing *k, adx_rolled *r, size_t begin)
{
    const ad_allocator *a = k->p->memory;
    uint32_t *from = r->root + r->roots;
    size_t n = adx_fold_again(a, r, from, r->entries - begin);
    static const adx_looped none = { .instances = 1 };
    if (begin > 0 && !r->failed)
        n = adx_fold_alike(k, r, from, n);
    for (size_t i = 0; i < n && !r->failed; i++)
        adx_make_leaves(a, r, from[i], &none);
    r->roots += n;
}

static uint32_t adx_new_statement(const ad_allocator *a, adx_rolled *r,
                                  uint64_t symbol, size_t what)
{
    r->entry[r->entries] = (uint32_t)what;
    return adx_new_item(a, r, (adx_item){ .symbol = symbol, .count = 1,
                                          .first = (uint32_t)r->entries++,
                                          .entries = 1, .text = 1 });
}

// Makes a statement of each used node, in the given order, and folds what
// repeats.
static void adx_roll_nodes(const adx_writing *k, adx_rolled *r,
                           const adx_order *order)
{
    const adx_program *p = k->p;
    for (size_t i = 0; i < p->nodes && !r->failed; i++) {
        if (!adx_is_used(p, &p->node[i], k->used))
            continue;
        size_t at = r->entries;
        size_t node = adx_ordered_node(order, at, i);
        r->entry_of[node] = (uint32_t)at;
        r->root[at] = adx_new_statement(
            p->memory, r, adx_ordered_symbol(k, order, node), node);
    }
    r->nodes = r->entries;
    if (!r->failed)
        adx_fold_entries(k, r, 0);
}

// The items of a program's nodes and outputs; without outputs if there are no
// loops. NULL: no memory.
static adx_rolled *adx_roll(const adx_writing *k, const adx_order *order)
{
    const adx_program *p = k->p;
    const ad_allocator *a = p->memory;
    adx_rolled *r = adx_begin_rolled(k);
    if (r == NULL)
        return NULL;
    if (!r->failed)
        adx_roll_nodes(k, r, order);
    for (size_t i = 0; i < p->outputs && !r->failed && r->loops > 0; i++)
        r->root[r->roots + i] =
            adx_new_statement(a, r, adx_output_symbol(k, r, i, false), i);
    if (!r->failed && r->loops > 0)
        adx_fold_entries(k, r, r->nodes);
    if (!r->failed)
        return r;
    adx_free_rolled(a, r);
    return NULL;
}

ADX_SELDOM_END
