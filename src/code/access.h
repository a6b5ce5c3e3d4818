#pragma once

/* === code/access ============================================================
 * What the statements of loops read. In a block of its instances, which is a
 * range for each loop around it, a statement reads an argument in one of four
 * ways:
 *
 *   same      all instances read one number
 *   local     each reads what another statement of the same iteration, or of a
 *             loop around it, has just made: a variable
 *   carried   each reads what a statement of the iteration before has made: a
 *             variable that is set at the end of an iteration
 *   array     each reads an element of `work`, of an array of inputs or of that
 *             of the constants that loops read. The index is linear in the
 *             loop variables, plus an element of a table where it is not; or,
 *             in one loop where that is less text, a variable to which each
 *             iteration adds an element of a table of differences
 *
 * All instances are looked at, so that a loop is right whatever was found.
 * Where arguments come from elsewhere in the first or last iterations, the loop
 * is cut there, and its body written again, so that tables are rare.
 *
 *   needs   function/program code/text code/layout code/statements
 *           code/repeats
 *   offers  ADX_ROLL_same ADX_ROLL_local ADX_ROLL_carried ADX_ROLL_array
 *           adx_roll_read adx_roll_box ADX_READS_GUARD ADX_READS_OUTPUT
 *           adx_loop_name adx_argument_letter adx_say_margin adx_node_at
 *           adx_read_at adx_reads_of adx_is_result adx_name_of adx_access_of
 *           adx_cuts adx_find_cuts adx_roll_index adx_roll_stream
 *           adx_declare_table adx_declare_walk adx_say_stream
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_CUTS 6              // of one loop at most
#define ADX_CUTS_OF_ONE 3       // of one argument; with more it gets a table

typedef enum adx_roll_way {
    ADX_ROLL_same, ADX_ROLL_local, ADX_ROLL_carried, ADX_ROLL_array
} adx_roll_way;

typedef struct adx_roll_read {
    adx_roll_way way;
    uint32_t leaf;              // that makes it: local, carried
    uint32_t number;            // that the first instance reads
} adx_roll_read;

typedef struct adx_roll_box {
    uint32_t depth;
    uint32_t low[ADX_ROLL_DEPTH], high[ADX_ROLL_DEPTH];
} adx_roll_box;

// What varies besides the three arguments: which guard, and which output.
enum { ADX_READS_GUARD = 3, ADX_READS_OUTPUT = 4 };

static const char *const adx_loop_name[ADX_ROLL_DEPTH] = { "i", "j", "l" };
static const char adx_argument_letter[] = "xyz";

// Begins a line: `deep` loops are around it.
static void adx_say_margin(const adx_writing *k, uint32_t deep)
{
    adx_say(k->text, "%*s", 4 + 8 * (int)deep, "");
}

/* --- what instances read -------------------------------------------------- */

static const adx_node *adx_node_at(const adx_writing *k, uint32_t entry)
{
    return entry >= k->rolled->nodes ? NULL
         : &k->p->node[k->rolled->entry[entry]];
}

static uint32_t adx_read_at(const adx_writing *k, uint32_t entry, int which)
{
    const adx_node *s = adx_node_at(k, entry);
    return s == NULL ? k->p->output[k->rolled->entry[entry]]
                     : adx_read_by(s, which);
}

// How many arguments the statement of a leaf has.
static int adx_reads_of(const adx_writing *k, const adx_looped *f)
{
    const adx_node *s = adx_node_at(k, f->first);
    return s == NULL ? 1 : adx_varying(s);
}

static bool adx_is_result(const adx_writing *k, uint32_t x)
{
    return k->p->from[x] < ADX_FROM_INPUT;
}

// The number of a leaf's first instance, which is in the names of variables.
static uint32_t adx_name_of(const adx_writing *k, const adx_looped *f)
{
    const adx_node *s = adx_node_at(k, f->first);
    return s == NULL ? f->first : s->op == ADX_OP_guard ? s->c : s->r;
}

// Whether x is what one statement makes in the same iteration as instance t[]
// of f, or in the one before. The statement is in the same loops, or in some of
// the outer ones; *leaf is which, or 0 if this is the first question.
static bool adx_is_made_beside(const adx_writing *k, const adx_looped *f,
                               const uint32_t t[], uint32_t x, bool before,
                               uint32_t *leaf)
{
    const adx_rolled *r = k->rolled;
    uint32_t at[ADX_ROLL_DEPTH];
    if (!adx_is_result(k, x))
        return false;
    uint32_t entry = r->entry_of[k->p->from[x]];
    uint32_t made = r->leaf_of[entry];
    const adx_looped *g = &r->leaf[made];
    if (made == 0 || (*leaf != 0 && made != *leaf) || g->depth > f->depth
        || (before && g->depth < f->depth)
        || memcmp(g->loop, f->loop, g->depth * sizeof *g->loop) != 0)
        return false;
    *leaf = made;
    memcpy(at, t, sizeof at);
    at[f->depth - 1] -= before;
    return adx_entry_at(g, at) == entry;
}

// How the instances of a box read an argument: all the same number; each a
// number of its own iteration (local) or of the iteration before (carried),
// which is a variable then; or else from an array. What is carried into the
// first iteration must itself be no local variable of the same loop.
static adx_roll_read adx_access_of(const adx_writing *k, const adx_looped *f,
                                   int which, const adx_roll_box *b)
{
    uint32_t t[ADX_ROLL_DEPTH];
    uint32_t last = f->depth - 1;
    uint32_t beside = 0;
    uint32_t before = 0;
    memcpy(t, b->low, sizeof t);
    uint32_t first = adx_read_at(k, adx_entry_at(f, t), which);
    bool same = true;
    bool local = true;
    bool carried = b->high[last] - b->low[last] > 1;
    do {
        uint32_t x = adx_read_at(k, adx_entry_at(f, t), which);
        same = same && x == first;
        local = local && adx_is_made_beside(k, f, t, x, false, &beside);
        carried = carried
               && (t[last] == b->low[last]
                   || adx_is_made_beside(k, f, t, x, true, &before));
    } while ((same || local || carried)
             && adx_next_instance(f->depth, t, b->low, b->high));
    if (carried && !same && !local) {
        adx_roll_box begin = *b;   // what is carried into the first iteration
        begin.high[last] = begin.low[last] + 1;
        adx_roll_read in = adx_access_of(k, f, which, &begin);
        carried = in.way != ADX_ROLL_local
               || k->rolled->leaf[in.leaf].depth < f->depth;
    }
    return (adx_roll_read){ local ? ADX_ROLL_local : same ? ADX_ROLL_same
                         : carried ? ADX_ROLL_carried : ADX_ROLL_array,
                         local ? beside : before, first };
}

/* --- where loops are cut -------------------------------------------------- */

// Where an argument comes from, as far as one loop is concerned.
typedef struct adx_origin {
    uint64_t array;             // a number of the array, or of the statement
    long index;                 // in it; of a statement its instance
    bool carried;               // made by the iteration before
} adx_origin;

// Where instance t reads an argument. Instances with the same array, whose
// indices differ by the same stride, can be in one loop.
static adx_origin adx_origin_of(const adx_writing *k, const adx_looped *f,
                                const uint32_t t[], uint32_t level, int which)
{
    const adx_rolled *r = k->rolled;
    uint32_t x = adx_read_at(k, adx_entry_at(f, t), which);
    uint32_t at = 0;
    uint32_t leaf = 0;
    unsigned class = adx_class_of(k, x);
    if (class == ADX_CLASS_CONSTANT)
        return (adx_origin){ (uint64_t)1 << 40 | x, 0, false };
    if (class != ADX_CLASS_RESULT) {
        (void)adx_input_array(k, x, &at);
        return (adx_origin){ (uint64_t)class << 40, (long)at, false };
    }
    if (adx_is_made_beside(k, f, t, x, false, &leaf))
        return (adx_origin){ (uint64_t)20 << 40 | leaf, 0, false };
    leaf = 0;
    if (level + 1 == f->depth && t[level] > 0
        && adx_is_made_beside(k, f, t, x, true, &leaf))
        return (adx_origin){ (uint64_t)21 << 40 | leaf, 0, true };
    uint32_t entry = r->entry_of[k->p->from[x]];
    return (adx_origin){ (uint64_t)22 << 40 | r->leaf_of[entry],
                         (long)r->index_of[entry], false };
}

typedef struct adx_cuts {
    uint32_t at[ADX_CUTS];
    size_t n;
    bool many;                  // more than there is room for
} adx_cuts;

static void adx_add_cut(adx_cuts *c, uint32_t at)
{
    size_t i = 0;
    while (i < c->n && c->at[i] < at)
        i++;
    if (i < c->n && c->at[i] == at)
        return;
    if (c->n == ADX_CUTS) {
        c->many = true;
        return;
    }
    memmove(&c->at[i + 1], &c->at[i], (c->n - i) * sizeof *c->at);
    c->at[i] = at;
    c->n++;
}

// Where an argument's origin breaks off along the loop of that level, in the
// middle of all other loops.
static void adx_cut_for(const adx_writing *k, const adx_looped *f,
                        const adx_roll_box *b, uint32_t level, int which,
                        adx_cuts *cuts)
{
    uint32_t t[ADX_ROLL_DEPTH] = { 0 };
    uint32_t found[ADX_CUTS_OF_ONE];
    size_t n = 0;
    uint32_t begin = 0;
    long stride = 0;
    adx_origin before = { 0, 0, false };
    for (uint32_t l = 0; l < f->depth; l++)
        t[l] = l < level ? (b->low[l] + b->high[l]) / 2 : f->count[l] / 2;
    for (t[level] = 0; t[level] < f->count[level]; t[level]++) {
        adx_origin now = adx_origin_of(k, f, t, level, which);
        bool other = now.array != before.array;
        uint32_t length = t[level] - begin;
        bool uneven = length > 1 && now.index - before.index != stride;
        if (length == 1 && other && now.carried)
            begin = t[level];   // what is carried in may come from anywhere
        else if (length > 0 && (other || uneven)) {
            if (n == ADX_CUTS_OF_ONE)
                return;
            found[n++] = begin = t[level];
        }
        stride = now.index - before.index;
        before = now;
    }
    for (size_t i = 0; i < n; i++)
        adx_add_cut(cuts, found[i]);
}

// Adds the cuts for all arguments of the statements within an item.
static void adx_cut_within(const adx_writing *k, uint32_t item,
                           const adx_roll_box *b, uint32_t level,
                           adx_cuts *cuts)
{
    const adx_item *s = &k->rolled->item[item];
    for (uint32_t i = 0; s->count > 1 && i < s->items; i++)
        adx_cut_within(k, k->rolled->list[s->body + i], b, level, cuts);
    const adx_looped *f = &k->rolled->leaf[s->leaf];
    for (int a = 0; s->count == 1 && a < adx_reads_of(k, f); a++)
        adx_cut_for(k, f, b, level, a, cuts);
}

// Where a loop is cut. Each cut writes its body once more, so there are none if
// that makes a long text of what the loop saves.
static adx_cuts adx_find_cuts(const adx_writing *k, uint32_t item,
                              const adx_roll_box *b)
{
    const adx_item *s = &k->rolled->item[item];
    adx_cuts cuts = { .n = 0 };
    adx_cut_within(k, item, b, b->depth, &cuts);
    if (cuts.many || (s->text > 64 && s->text * cuts.n > s->entries / 16))
        cuts.n = 0;
    return cuts;
}

/* --- indices -------------------------------------------------------------- */

// Numbers that the instances of a block have, one each: base + sum of stride[l]
// t[l], plus an element of a table that depends on the loops with `apart`. What
// stands in the table is no less than 0.
typedef struct adx_roll_index {
    const adx_writing *k;
    const adx_looped *leaf;
    const adx_roll_box *b;
    int which;                  // argument of the statement, or ADX_READS_...
    bool constants;             // indices of the array of constants
    long base;
    long stride[ADX_ROLL_DEPTH];
    bool apart[ADX_ROLL_DEPTH];
    bool table;                 // there is one: some `apart` is true
    bool walked;                // the table has differences
    long least, most;           // of what stands in the table, or of an index
                                // without its linear part
} adx_roll_index;

// The number that instance t has: the code of its guard, the place of its
// output, or the index of its argument.
static long adx_stream_at(const adx_roll_index *s, const uint32_t t[])
{
    const adx_writing *k = s->k;
    uint32_t entry = adx_entry_at(s->leaf, t);
    long at = 0;
    if (s->which == ADX_READS_GUARD)
        return (long)adx_node_at(k, entry)->c + 1;
    if (s->which == ADX_READS_OUTPUT) {
        size_t output = k->rolled->entry[entry];
        size_t first = k->results->length[0];
        return (long)(output < first ? output : output - first);
    }
    uint32_t x = adx_read_at(k, entry, s->which);
    if (s->constants)
        return (long)k->rolled->constant_at[x] - 1;
    (void)adx_array_with(k, x, &at);
    return at;
}

// What is left of an element without its linear part.
static long adx_rest_at(const adx_roll_index *s, const uint32_t t[])
{
    long rest = adx_stream_at(s, t);
    for (uint32_t l = 0; l < s->leaf->depth; l++)
        rest -= s->stride[l] * ((long)t[l] - (long)s->b->low[l]);
    return rest;
}

static size_t adx_digits_of(unsigned long number)
{
    size_t digits = 1;
    for (; number > 9; number /= 10)
        digits++;
    return digits;
}

// Of the elements of a list: bounds, and how much text they are.
typedef struct adx_list_bounds {
    long least, most;
    size_t text;
} adx_list_bounds;

static void adx_widen_bounds(adx_list_bounds *l, long element)
{
    l->least = element < l->least ? element : l->least;
    l->most = element > l->most ? element : l->most;
    l->text += element < 0 ? 2 + adx_digits_of(0ul - (unsigned long)element)
                           : 1 + adx_digits_of((unsigned long)element);
}

// Decides what stands in a table of indices, and finds its bounds. (In code
// that is compiled at once nothing is gained by less text, and a table of
// differences takes up to a fifth more time: each index waits for the one
// before.)
static void adx_find_bounds(adx_roll_index *s)
{
    uint32_t t[ADX_ROLL_DEPTH];
    memcpy(t, s->b->low, sizeof t);
    long before = adx_rest_at(s, t);
    size_t n = 0;
    adx_list_bounds rest = { before, before, 0 };
    adx_list_bounds walk = { 0, 0, 0 };
    if (s->table)
        do {
            const long now = adx_rest_at(s, t);
            adx_widen_bounds(&rest, now);
            adx_widen_bounds(&walk, now - before);
            before = now;
            n++;
        } while (adx_next_instance(s->leaf->depth, t, s->b->low, s->b->high));
    const size_t most = adx_digits_of((unsigned long)(rest.most - rest.least));
    s->walked = !s->k->text->loaded && s->leaf->depth == 1
             && walk.text < n * (most + 1);
    s->least = s->walked ? walk.least : rest.least;
    s->most = s->walked ? walk.most : rest.most;
}

// The indices that the instances of a box have for an argument. A loop whose
// index is no sum of strides has its rest in the table; what does not depend on
// it stays linear.
static adx_roll_index adx_roll_stream(const adx_writing *k, const adx_looped *f,
                                      const adx_roll_box *b, int which)
{
    adx_roll_index s = { .k = k, .leaf = f, .b = b, .which = which };
    uint32_t t[ADX_ROLL_DEPTH];
    memcpy(t, b->low, sizeof t);
    s.constants = which < ADX_READS_GUARD
               && adx_is_constant_number(k->p, adx_read_at(
                      k, adx_entry_at(f, t), which));
    s.base = adx_stream_at(&s, t);
    for (uint32_t l = 0; l < f->depth; l++)
        if (b->high[l] - b->low[l] > 1) {
            t[l]++;
            s.stride[l] = adx_stream_at(&s, t) - s.base;
            t[l]--;
        }
    do
        for (uint32_t l = 0; l < f->depth; l++) {
            uint32_t was = t[l];
            long rest = adx_rest_at(&s, t);
            t[l] = b->low[l];
            s.apart[l] = s.apart[l] || rest != adx_rest_at(&s, t);
            t[l] = was;
        }
    while (adx_next_instance(f->depth, t, b->low, b->high));
    for (uint32_t l = 0; l < f->depth; l++) {
        s.table = s.table || s.apart[l];
        s.stride[l] = s.apart[l] ? 0 : s.stride[l];
    }
    adx_find_bounds(&s);
    for (uint32_t l = 0; l < f->depth; l++)
        s.base -= s.stride[l] * (long)b->low[l];
    return s;
}

// Names what belongs to an argument: `12x`.
static void adx_say_stream_name(const adx_roll_index *s)
{
    adx_say(s->k->text, "%lu%c", (unsigned long)adx_name_of(s->k, s->leaf),
            s->which == ADX_READS_GUARD ? 'g'
            : s->which == ADX_READS_OUTPUT ? 'o'
            : adx_argument_letter[s->which]);
}

// Names a table: of the places of what an argument reads; `k12x`, or `q12x` for
// what is carried into a loop. In front of functions names also say
// which function, and where the block begins.
static void adx_say_table_name(const adx_roll_index *s, char before)
{
    bool apart = s->k->text->tables != ADX_TABLES_HERE;
    if (apart)
        adx_say(s->k->text, "%s_%s_", s->k->text->name, s->k->what);
    for (uint32_t l = 0; apart && l < s->leaf->depth; l++)
        adx_say(s->k->text, "%lu_", (unsigned long)s->b->low[l]);
    adx_say(s->k->text, "%c", before);
    adx_say_stream_name(s);
}

// Writes the elements of the table, as many in a line as fit; `b` has those
// instances that differ in it.
static void adx_say_table_elements(const adx_roll_index *s,
                                   const adx_roll_box *b)
{
    adx_text *text = s->k->text;
    uint32_t t[ADX_ROLL_DEPTH];
    size_t line = text->bytes;
    const char *before = "\n    ";
    memcpy(t, b->low, sizeof t);
    long last = s->walked ? adx_rest_at(s, t) : s->least;
    do {
        const long now = adx_rest_at(s, t);
        adx_put_text(text, before, strlen(before));
        adx_say_index(text, now < last ? "-" : "",
                      (size_t)(now < last ? last - now : now - last), "");
        last = s->walked ? now : last;
        bool full = text->bytes - line > ADX_LIST_WIDTH;
        before = full ? ",\n    " : ",";
        line = full ? text->bytes : line;
    } while (adx_next_instance(s->leaf->depth, t, b->low, b->high));
}

static const char *adx_element_type(const adx_roll_index *s)
{
    if (s->walked)
        return s->least >= -127 && s->most <= 127 ? "signed char"
             : s->least >= -32767 && s->most <= 32767 ? "short" : "long";
    return s->most - s->least <= 0xffff ? "unsigned short" : "long";
}

// Writes the table of an index as a constant array, for all loops with which it
// changes, even if text is muted: tables stand in front of it.
static void adx_put_table(const adx_roll_index *s, char before)
{
    adx_text *text = s->k->text;
    adx_roll_box b = *s->b;
    size_t n = 1;
    for (uint32_t l = 0; l < s->leaf->depth; l++) {
        if (!s->apart[l])
            b.high[l] = b.low[l] + 1;
        n *= b.high[l] - b.low[l];
    }
    bool muted = text->muted;
    text->muted = false;
    adx_say_margin(s->k, s->b->depth);
    adx_say(text, "%s%s ", adx_table_space(text), adx_element_type(s));
    adx_say_table_name(s, before);
    adx_say(text, "[%lu] = {", (unsigned long)n);
    adx_say_table_elements(s, &b);
    adx_say(text, "\n");
    adx_say_margin(s->k, s->b->depth);
    adx_say(text, "};\n");
    text->muted = muted;
}

// Writes the element of the table that belongs to an instance.
static void adx_say_from_table(const adx_roll_index *s, char before)
{
    adx_text *text = s->k->text;
    bool first = true;
    adx_say_table_name(s, before);
    adx_say(text, "[");
    for (uint32_t l = 0; l < s->leaf->depth; l++) {
        if (!s->apart[l])
            continue;
        unsigned long size = 1;
        for (uint32_t inner = l + 1; inner < s->leaf->depth; inner++)
            size *= s->apart[inner] ? s->b->high[inner] - s->b->low[inner] : 1;
        adx_say(text, first ? "" : " + ");
        if (size > 1)
            adx_say(text, "%lu*", size);
        if (s->b->low[l] > 0)
            adx_say(text, "(%s - %lu)", adx_loop_name[l],
                    (unsigned long)s->b->low[l]);
        else
            adx_say(text, "%s", adx_loop_name[l]);
        first = false;
    }
    adx_say(text, "]");
}

// Declares the table of a stream, if it has one, and goes on to the next index.
static void adx_declare_table(const adx_roll_index *s, char before)
{
    adx_text *text = s->k->text;
    if (s->table && text->tables != ADX_TABLES_DONE)
        adx_put_table(s, before);
    if (!s->walked)
        return;
    adx_say_margin(s->k, s->b->depth);
    adx_say(text, "w");
    adx_say_stream_name(s);
    adx_say(text, " += ");
    adx_say_from_table(s, before);
    adx_say(text, ";\n");
}

// Declares the variable to which a table of differences is added, before its
// loop.
static void adx_declare_walk(const adx_roll_index *s)
{
    if (!s->walked)
        return;
    adx_say_margin(s->k, s->b->depth - 1);
    adx_say(s->k->text, "    long w");
    adx_say_stream_name(s);
    adx_say(s->k->text, " = %ld;\n", s->base);
}

// Writes the number that an instance has.
static void adx_say_stream(const adx_roll_index *s, char before)
{
    adx_text *text = s->k->text;
    bool first = !s->table;
    long base = s->table ? s->least : s->base;
    for (uint32_t l = 0; s->table && l < s->leaf->depth; l++)
        base -= s->stride[l] * (long)s->b->low[l];
    uint32_t begin = 0;
    while (begin + 1 < s->leaf->depth && s->stride[begin] == 0)
        begin++;
    if (s->walked) {
        adx_say(text, "w");
        adx_say_stream_name(s);
        return;
    }
    if (s->table)
        adx_say_from_table(s, before);
    else if (s->stride[begin] < 0 && base > 0) {    // 9 - i, not -i + 9
        adx_say(text, "%ld", base);
        first = false;
        base = 0;
    }
    for (uint32_t l = begin; l < s->leaf->depth; l++) {
        if (s->stride[l] == 0)
            continue;
        adx_say(text, s->stride[l] < 0 ? first ? "-" : " - "
                                       : first ? "" : " + ");
        if (s->stride[l] != 1 && s->stride[l] != -1)
            adx_say(text, "%ld*", labs(s->stride[l]));
        adx_say(text, "%s", adx_loop_name[l]);
        first = false;
    }
    if (base != 0 || first)
        adx_say(text, first ? "%ld" : base < 0 ? " - %ld" : " + %ld",
                base < 0 && !first ? -base : base);
}

ADX_SELDOM_END
