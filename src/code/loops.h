#pragma once

/* === code/loops =============================================================
 * C text of what code/repeats has found. In a block of its instances, which is
 * a range for each loop around it, a statement reads an argument in one of four
 * ways:
 *
 *   same      all instances read one number
 *   local     each reads what another statement of the same iteration, or of a
 *             loop around it, has just made: a variable
 *   carried   each reads what a statement of the iteration before has made: a
 *             variable that is set at the end of an iteration
 *   array     each reads an element of `work`, of an array of inputs or of a
 *             table of constants. The index is linear in the loop variables,
 *             plus an element of a table where it is not
 *
 * All instances are looked at, so that a loop is right whatever was found.
 * Where arguments come from elsewhere in the first or last iterations, the loop
 * is cut there, and its body written again, so that tables are rare.
 *
 * Everything is done twice: first without text, to learn which results have to
 * be in work.
 *
 *   needs   tape/memory function/operations function/program code/text
 *           code/layout code/statements code/repeats
 *   offers  adx_begin_loops adx_rolled_text adx_say_roots
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
    uint64_t array;
    long index;
    bool carried;
} adx_origin;

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
    long step = 0;
    adx_origin before = { 0, 0, false };
    for (uint32_t l = 0; l < f->depth; l++)
        t[l] = l < level ? (b->low[l] + b->high[l]) / 2 : f->count[l] / 2;
    for (t[level] = 0; t[level] < f->count[level]; t[level]++) {
        adx_origin now = adx_origin_of(k, f, t, level, which);
        bool other = now.array != before.array;
        uint32_t length = t[level] - begin;
        bool uneven = length > 1 && now.index - before.index != step;
        if (length == 1 && other && now.carried)
            begin = t[level];   // what is carried in may come from anywhere
        else if (length > 0 && (other || uneven)) {
            if (n == ADX_CUTS_OF_ONE)
                return;
            found[n++] = begin = t[level];
        }
        step = now.index - before.index;
        before = now;
    }
    for (size_t i = 0; i < n; i++)
        adx_add_cut(cuts, found[i]);
}

static void adx_cut_within(const adx_writing *k, uint32_t item,
                           const adx_roll_box *b, uint32_t level, adx_cuts *cuts)
{
    const adx_item *s = &k->rolled->item[item];
    for (uint32_t i = 0; s->count > 1 && i < s->items; i++)
        adx_cut_within(k, k->rolled->list[s->body + i], b, level, cuts);
    const adx_looped *f = &k->rolled->leaf[s->leaf];
    for (int a = 0; s->count == 1 && a < adx_reads_of(k, f); a++)
        adx_cut_for(k, f, b, level, a, cuts);
}

// Cuts of a loop, if it is long enough for its body to be written again.
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

// Numbers that the instances of a block have, one each: base + sum of step[l]
// t[l], plus an element of a table that depends on the loops with `apart`.
typedef struct adx_roll_index {
    const adx_writing *k;
    const adx_looped *leaf;
    const adx_roll_box *b;
    int which;
    bool constants;             // a table of constants, not an index
    long base;
    long step[ADX_ROLL_DEPTH];
    bool apart[ADX_ROLL_DEPTH];
    bool table;
} adx_roll_index;

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
        return (long)x;
    (void)adx_array_with(k, x, &at);
    return at;
}

// What is left of an element without its linear part.
static long adx_rest_at(const adx_roll_index *s, const uint32_t t[])
{
    long rest = adx_stream_at(s, t);
    for (uint32_t l = 0; l < s->leaf->depth; l++)
        rest -= s->step[l] * ((long)t[l] - (long)s->b->low[l]);
    return rest;
}

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
        if (!s.constants && b->high[l] - b->low[l] > 1) {
            t[l]++;
            s.step[l] = adx_stream_at(&s, t) - s.base;
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
        s.step[l] = s.apart[l] ? 0 : s.step[l];
        s.base -= s.step[l] * (long)b->low[l];
    }
    return s;
}

// Names a table: of the constants or places that an argument has; `k12x`, or
// `q12x` for what is carried into a loop.
static void adx_say_table_name(const adx_roll_index *s, char before)
{
    adx_say(s->k->text, "%c%lu%s", before,
            (unsigned long)adx_name_of(s->k, s->leaf),
            s->which == ADX_READS_GUARD ? "g"
            : s->which == ADX_READS_OUTPUT ? "o"
            : s->which == 0 ? "x" : s->which == 1 ? "y" : "z");
}

// Writes an element of the table; returns what stands behind it.
static void adx_say_table_element(const adx_roll_index *s, const uint32_t t[],
                                  size_t i)
{
    adx_text *text = s->k->text;
    const char *before = i == 0 ? "" : i % 10 == 0 ? ",\n            " : ", ";
    if (!s->constants) {
        adx_say(text, "%s%ld", before, adx_rest_at(s, t));
        return;
    }
    adx_say(text, "%s", before);
    adx_say_literal(text, *adx_constant_of(s->k->p,
                                           (uint32_t)adx_stream_at(s, t)));
}

// Declares the table of a stream, if it has one.
static void adx_declare_table(const adx_roll_index *s, char before)
{
    adx_text *text = s->k->text;
    adx_roll_box b = *s->b;
    uint32_t t[ADX_ROLL_DEPTH];
    size_t n = 1;
    bool narrow = true;
    if (!s->table)
        return;
    for (uint32_t l = 0; l < s->leaf->depth; l++) {
        if (!s->apart[l])
            b.high[l] = b.low[l] + 1;
        n *= b.high[l] - b.low[l];
    }
    memcpy(t, b.low, sizeof t);
    do
        narrow = narrow && adx_rest_at(s, t) >= 0
              && adx_rest_at(s, t) <= 0xffff;
    while (adx_next_instance(s->leaf->depth, t, b.low, b.high));
    adx_say_margin(s->k, s->b->depth);
    adx_say(text, "static const %s ", s->constants ? text->real
            : narrow ? "unsigned short" : "long");
    adx_say_table_name(s, before);
    adx_say(text, "[%lu] = {\n            ", (unsigned long)n);
    memcpy(t, b.low, sizeof t);
    size_t i = 0;
    do
        adx_say_table_element(s, t, i++);
    while (adx_next_instance(s->leaf->depth, t, b.low, b.high));
    adx_say(text, "\n");
    adx_say_margin(s->k, s->b->depth);
    adx_say(text, "};\n");
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

// Writes the number that an instance has.
static void adx_say_stream(const adx_roll_index *s, char before)
{
    adx_text *text = s->k->text;
    bool first = !s->table;
    long base = s->table ? 0 : s->base;
    for (uint32_t l = 0; s->table && l < s->leaf->depth; l++)
        base -= s->step[l] * (long)s->b->low[l];
    uint32_t begin = 0;
    while (begin + 1 < s->leaf->depth && s->step[begin] == 0)
        begin++;
    if (s->table)
        adx_say_from_table(s, before);
    else if (s->step[begin] < 0 && base > 0) {      // 9 - i, not -i + 9
        adx_say(text, "%ld", base);
        first = false;
        base = 0;
    }
    for (uint32_t l = begin; l < s->leaf->depth; l++) {
        if (s->step[l] == 0)
            continue;
        adx_say(text, s->step[l] < 0 ? first ? "-" : " - "
                                     : first ? "" : " + ");
        if (s->step[l] != 1 && s->step[l] != -1)
            adx_say(text, "%ld*", s->step[l] < 0 ? -s->step[l] : s->step[l]);
        adx_say(text, "%s", adx_loop_name[l]);
        first = false;
    }
    if (base != 0 || first)
        adx_say(text, first ? "%ld" : base < 0 ? " - %ld" : " + %ld",
                base < 0 && !first ? -base : base);
}

/* --- statements ----------------------------------------------------------- */

// A statement of a loop, while it is noted or written.
typedef struct adx_instance {
    adx_writing *k;
    const adx_looped *leaf;
    const adx_roll_box *b;
} adx_instance;

static void adx_say_access(const adx_instance *s, int which,
                           const adx_roll_read *a, char before)
{
    adx_writing *k = s->k;
    long at;
    if (a->way == ADX_ROLL_same) {
        adx_say_number(k, a->number);
    } else if (a->way == ADX_ROLL_local) {
        adx_say(k->text, "v%lu", (unsigned long)adx_name_of(
                    k, &k->rolled->leaf[a->leaf]));
    } else if (a->way == ADX_ROLL_carried) {
        adx_say(k->text, "c%lu%c", (unsigned long)adx_name_of(k, s->leaf),
                adx_argument_letter[which]);
    } else {
        adx_roll_index stream = adx_roll_stream(k, s->leaf, s->b, which);
        if (stream.constants) {
            adx_say_from_table(&stream, before);
            return;
        }
        adx_say(k->text, "%s[", adx_array_with(k, a->number, &at));
        adx_say_stream(&stream, before);
        adx_say(k->text, "]");
    }
}

static void adx_declare_for(const adx_instance *s, int which,
                            const adx_roll_read *a, char before)
{
    if (a->way != ADX_ROLL_array)
        return;
    adx_roll_index stream = adx_roll_stream(s->k, s->leaf, s->b, which);
    adx_declare_table(&stream, before);
}

static void adx_say_read(adx_text *t, char which, void *user)
{
    const adx_instance *s = (const adx_instance *)user;
    int a = which - 'x';
    adx_roll_read access = adx_access_of(s->k, s->leaf, a, s->b);
    (void)t;
    adx_say_access(s, a, &access, 'k');
}

// A guard: the number has a name, since its condition may be long.
static void adx_say_loop_guard(const adx_instance *s, const adx_node *node)
{
    adx_writing *k = s->k;
    adx_roll_index left = adx_roll_stream(k, s->leaf, s->b, ADX_READS_GUARD);
    char name[24];
    snprintf(name, sizeof name, "g%lu", (unsigned long)node->c);
    adx_declare_table(&left, 'k');
    adx_say_margin(k, s->b->depth);
    adx_say(k->text, "const %s %s = ", k->text->real, name);
    adx_say_read(k->text, 'x', (void *)(uintptr_t)s);
    adx_say(k->text, ";\n");
    adx_say_margin(k, s->b->depth);
    adx_say(k->text, "if (");
    adx_say_change(k, name, node->a, *adx_constant_of(k->p, node->b));
    adx_say(k->text, ") return (int)(");
    adx_say_stream(&left, 'k');
    adx_say(k->text, ");\n");
}

// Where an instance's result is in work.
static void adx_say_kept(const adx_instance *s)
{
    const adx_looped *f = s->leaf;
    adx_say(s->k->text, "work[");
    bool first = true;
    for (uint32_t l = 0; f->all && l < f->depth; l++) {
        unsigned long step = 1;
        for (uint32_t inner = l + 1; inner < f->depth; inner++)
            step *= f->count[inner];
        adx_say(s->k->text, first ? "" : " + ");
        if (step > 1)
            adx_say(s->k->text, "%lu*", step);
        adx_say(s->k->text, "%s", adx_loop_name[l]);
        first = false;
    }
    if (f->place > 0 || first)
        adx_say(s->k->text, first ? "%lu" : " + %lu",
                (unsigned long)f->place);
    adx_say(s->k->text, "]");
}

static void adx_say_loop_node(const adx_instance *s, const adx_node *node)
{
    adx_writing *k = s->k;
    adx_text *t = k->text;
    bool named = s->leaf->local || !s->leaf->stored;
    adx_say_margin(k, s->b->depth);
    if (named)
        adx_say(t, "const %s v%lu", t->real,
                (unsigned long)adx_name_of(k, s->leaf));
    else
        adx_say_kept(s);
    adx_say(t, " = ");
    adx_say_formula(t, adx_value_text(t, node->op), adx_say_read,
                    (void *)(uintptr_t)s);
    adx_say(t, ";\n");
    if (named && s->leaf->stored) {
        adx_say_margin(k, s->b->depth);
        adx_say_kept(s);
        adx_say(t, " = v%lu;\n", (unsigned long)adx_name_of(k, s->leaf));
    }
}

static void adx_say_loop_output(const adx_instance *s)
{
    adx_writing *k = s->k;
    adx_roll_index at = adx_roll_stream(k, s->leaf, s->b, ADX_READS_OUTPUT);
    size_t output = k->rolled->entry[s->leaf->first];
    adx_declare_table(&at, 'k');
    adx_say_margin(k, s->b->depth);
    adx_say(k->text, "%s[", k->results->array[
                output >= k->results->length[0]]);
    adx_say_stream(&at, 'k');
    adx_say(k->text, "] = ");
    adx_say_read(k->text, 'x', (void *)(uintptr_t)s);
    adx_say(k->text, ";\n");
}

static void adx_say_leaf(const adx_instance *s)
{
    const adx_node *node = adx_node_at(s->k, s->leaf->first);
    for (int a = 0; a < adx_reads_of(s->k, s->leaf); a++) {
        adx_roll_read access = adx_access_of(s->k, s->leaf, a, s->b);
        adx_declare_for(s, a, &access, 'k');
    }
    if (node == NULL)
        adx_say_loop_output(s);
    else if (node->op == ADX_OP_guard)
        adx_say_loop_guard(s, node);
    else
        adx_say_loop_node(s, node);
}

/* --- what has to be in work ------------------------------------------------ */

// A number is read from memory, or by a statement of that part.
static void adx_note_use(adx_writing *k, uint32_t x, uint32_t part,
                          bool memory)
{
    adx_rolled *r = k->rolled;
    if (!adx_is_result(k, x))
        return;
    uint32_t entry = r->entry_of[k->p->from[x]];
    adx_looped *f = &r->leaf[r->leaf_of[entry]];
    if (f == r->leaf) {
        k->stored[x] = k->stored[x] || memory || k->part[x] != part;
        return;
    }
    f->stored = true;
    f->all = f->all || r->index_of[entry] + 1 < f->instances;
}

static void adx_roll_access(const adx_instance *s, int which, uint32_t part)
{
    adx_rolled *r = s->k->rolled;
    const adx_roll_read a = adx_access_of(s->k, s->leaf, which, s->b);
    uint32_t t[ADX_ROLL_DEPTH];
    if (a.way == ADX_ROLL_local || a.way == ADX_ROLL_carried)
        r->leaf[a.leaf].local = true;
    if (a.way == ADX_ROLL_same)
        adx_note_use(s->k, a.number, part, false);
    if (a.way == ADX_ROLL_carried) {
        adx_roll_box begin = *s->b;
        begin.high[begin.depth - 1] = begin.low[begin.depth - 1] + 1;
        adx_roll_access(&(adx_instance){ s->k, s->leaf, &begin }, which, part);
    }
    memcpy(t, s->b->low, sizeof t);
    if (a.way == ADX_ROLL_array)
        do
            adx_note_use(s->k, adx_read_at(s->k, adx_entry_at(s->leaf, t),
                                            which), part, true);
        while (adx_next_instance(s->leaf->depth, t, s->b->low, s->b->high));
}

/* --- loops ---------------------------------------------------------------- */

// Does something for each argument of a body's own statements that is carried.
static void adx_say_carried(adx_writing *k, uint32_t item, const adx_roll_box *b,
                            bool begins)
{
    const adx_rolled *r = k->rolled;
    const adx_item *s = &r->item[item];
    for (uint32_t i = 0; i < s->items; i++) {
        const adx_item *child = &r->item[r->list[s->body + i]];
        const adx_looped *f = &r->leaf[child->leaf];
        for (int a = 0; child->leaf > 0 && a < adx_reads_of(k, f); a++) {
            const adx_roll_read access = adx_access_of(k, f, a, b);
            if (access.way != ADX_ROLL_carried)
                continue;
            adx_roll_box begin = *b;
            begin.high[b->depth - 1] = begin.low[b->depth - 1] + 1;
            const adx_instance in = { k, f, begins ? &begin : b };
            const adx_roll_read first = adx_access_of(k, f, a, &begin);
            if (begins)
                adx_declare_for(&in, a, &first, 'q');
            adx_say_margin(k, begins ? b->depth - 1 : b->depth);
            if (begins)
                adx_say(k->text, "    %s ", k->text->real);
            adx_say_access(&in, a, &access, 'k');
            adx_say(k->text, " = ");
            if (begins)
                adx_say_access(&in, a, &first, 'q');
            else
                adx_say(k->text, "v%lu", (unsigned long)adx_name_of(
                            k, &r->leaf[access.leaf]));
            adx_say(k->text, ";\n");
        }
    }
}

static void adx_roll_loop(adx_writing *k, uint32_t item, const adx_roll_box *b,
                        uint32_t part, bool notes);

static void adx_do_body(adx_writing *k, uint32_t item, const adx_roll_box *b,
                        uint32_t part, bool notes)
{
    adx_rolled *r = k->rolled;
    for (uint32_t i = 0; i < r->item[item].items; i++) {
        uint32_t child = r->list[r->item[item].body + i];
        const adx_looped *f = &r->leaf[r->item[child].leaf];
        const adx_instance s = { k, f, b };
        if (r->item[child].count > 1)
            adx_roll_loop(k, child, b, part, notes);
        else if (!notes)
            adx_say_leaf(&s);
        else
            for (int a = 0; a < adx_reads_of(k, f); a++)
                adx_roll_access(&s, a, part);
    }
}

// Writes a loop, piece by piece between its cuts; or only notes what it reads.
static void adx_roll_loop(adx_writing *k, uint32_t item, const adx_roll_box *b,
                        uint32_t part, bool notes)
{
    adx_text *t = k->text;
    const uint32_t level = b->depth;
    const char *name = adx_loop_name[level];
    const adx_cuts cuts = adx_find_cuts(k, item, b);
    adx_roll_box piece = *b;
    piece.depth++;
    for (size_t c = 0; c <= cuts.n; c++) {
        piece.low[level] = c == 0 ? 0 : cuts.at[c - 1];
        piece.high[level] = c < cuts.n ? cuts.at[c]
                                       : k->rolled->item[item].count;
        bool once = piece.high[level] - piece.low[level] == 1;
        if (notes) {
            adx_do_body(k, item, &piece, part, true);
            continue;
        }
        adx_say_margin(k, level);
        adx_say(t, "{\n");
        if (once) {
            adx_say_margin(k, level + 1);
            adx_say(t, "const long %s = %lu;\n", name,
                    (unsigned long)piece.low[level]);
            adx_say_margin(k, level + 1);
            adx_say(t, "(void)%s;\n", name);
        } else {
            adx_say_margin(k, level);
            adx_say(t, "    long %s;\n", name);
            adx_say_carried(k, item, &piece, true);
            adx_say_margin(k, level);
            adx_say(t, "    for (%s = %lu; %s < %lu; %s++) {\n", name,
                    (unsigned long)piece.low[level], name,
                    (unsigned long)piece.high[level], name);
        }
        adx_do_body(k, item, &piece, part, false);
        if (!once) {
            adx_say_carried(k, item, &piece, false);
            adx_say_margin(k, level);
            adx_say(t, "    }\n");
        }
        adx_say_margin(k, level);
        adx_say(t, "}\n");
    }
}

/* --- the whole program ----------------------------------------------------- */

// Which C function each item is in; outputs are in the last one.
static void adx_find_parts(adx_writing *k)
{
    adx_rolled *r = k->rolled;
    size_t text = 0;
    uint32_t part = 0;
    memset(k->part, 0, k->p->numbers * sizeof *k->part);
    for (size_t i = 0; i < r->roots; i++) {
        const adx_item *s = &r->item[r->root[i]];
        if (s->first < r->nodes) {
            if (text > 0 && text + s->text > k->split) {
                part++;
                text = 0;
            }
            text += s->text;
        }
        r->part_of[i] = part;
        if (s->count == 1 && s->first < r->nodes
            && adx_node_at(k, s->first)->op != ADX_OP_guard)
            k->part[adx_node_at(k, s->first)->r] = part;
    }
    k->parts = part + 1;
    for (size_t i = 0; part > 0 && i < r->roots; i++)
        if (r->item[r->root[i]].first >= r->nodes)
            r->part_of[i] = part + 1;
}

typedef struct adx_root_reads {
    adx_writing *k;
    uint32_t part;
} adx_root_reads;

static void adx_note_root_read(void *user, uint32_t x)
{
    const adx_root_reads *s = (const adx_root_reads *)user;
    adx_note_use(s->k, x, s->part, false);
}

static void adx_note_roots(adx_writing *k)
{
    adx_rolled *r = k->rolled;
    static const adx_roll_box none;
    for (size_t i = 0; i < r->roots; i++) {
        const adx_item *s = &r->item[r->root[i]];
        adx_root_reads reads = { k, r->part_of[i] };
        if (s->count > 1)
            adx_roll_loop(k, r->root[i], &none, r->part_of[i], true);
        else if (s->first < r->nodes)
            adx_visit_reads(k->p, adx_node_at(k, s->first),
                            adx_note_root_read, &reads);
        else
            adx_note_root_read(&reads, adx_read_at(k, s->first, 0));
    }
}

// Places in work: first what is in no loop, in its order, then statement by
// statement.
static void adx_find_loop_places(adx_writing *k)
{
    adx_rolled *r = k->rolled;
    uint32_t end = 0;
    for (size_t e = 0; e < r->nodes; e++) {
        const adx_node *s = adx_node_at(k, (uint32_t)e);
        uint32_t x = s->r;
        if (r->leaf_of[e] == 0 && s->op != ADX_OP_guard && k->stored[x])
            k->place[x] = end++;
    }
    for (size_t i = 1; i < r->leaves; i++)
        if (r->leaf[i].stored) {
            r->leaf[i].place = end;
            end += r->leaf[i].all ? r->leaf[i].instances : 1;
        }
    for (size_t e = 0; e < r->nodes; e++) {
        const adx_looped *f = &r->leaf[r->leaf_of[e]];
        uint32_t x = adx_node_at(k, (uint32_t)e)->r;
        if (f == r->leaf || !f->stored)     // a guard is never stored
            continue;
        k->stored[x] = true;
        k->place[x] = f->place + (f->all ? r->index_of[e] : 0);
    }
    k->places = end;
}

// Gives the function loops if they pay; else it stays as it is.
static void adx_begin_loops(adx_writing *k, adx_program *q)
{
    adx_node *nodes = adx_join_equal(q, k->used);
    if (nodes == NULL)
        return;
    k->rolled = adx_roll(k);
    if (k->rolled == NULL) {
        adx_part_equal(q, nodes, k->used);
        return;
    }
    adx_drop(q->memory, nodes);
    memset(k->stored, 0, q->numbers * sizeof *k->stored);
    memset(k->place, 0, q->numbers * sizeof *k->place);
    adx_find_parts(k);
    adx_note_roots(k);
    adx_find_loop_places(k);
}

// How many operations the text of a program with loops has; where a loop is cut,
// its body counts once.
static size_t adx_rolled_text(const adx_writing *k)
{
    const adx_rolled *r = k->rolled;
    size_t text = 0;
    for (size_t i = 0; i < r->roots; i++)
        if (r->item[r->root[i]].first < r->nodes)
            text += r->item[r->root[i]].text;
    return text;
}

static void adx_say_straight_output(adx_writing *k, uint32_t entry)
{
    size_t output = k->rolled->entry[entry];
    size_t first = k->results->length[0];
    adx_say(k->text, "    %s[%lu] = ", k->results->array[output >= first],
            (unsigned long)(output < first ? output : output - first));
    adx_say_number(k, k->p->output[output]);
    adx_say(k->text, ";\n");
}

// Writes the nodes of a part, or the outputs.
static void adx_say_roots(adx_writing *k, size_t part, bool outputs)
{
    const adx_rolled *r = k->rolled;
    static const adx_roll_box none;
    for (size_t i = 0; i < r->roots; i++) {
        const adx_item *s = &r->item[r->root[i]];
        if ((s->first >= r->nodes) != outputs
            || (!outputs && r->part_of[i] != part))
            continue;
        if (s->count > 1)
            adx_roll_loop(k, r->root[i], &none, (uint32_t)part, false);
        else if (outputs)
            adx_say_straight_output(k, s->first);
        else if (adx_node_at(k, s->first)->op == ADX_OP_guard)
            adx_say_guard(k, adx_node_at(k, s->first));
        else
            adx_say_node(k, adx_node_at(k, s->first));
    }
}

ADX_SELDOM_END
