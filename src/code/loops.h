#pragma once

/* === code/loops =============================================================
 * C text of what code/repeats has found, by what code/access says of it. A
 * statement in loops is written once for each block of its instances.
 * Everything is done twice: first without text, to learn which results have to
 * be in work.
 *
 *   needs   function/program code/text code/layout code/statements
 *           code/repeats code/order code/access
 *   offers  adx_say_constants adx_begin_loops adx_rolled_text adx_say_roots
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- constants ------------------------------------------------------------ */

static void adx_say_constants_name(const adx_writing *k)
{
    adx_say(k->text, "%s_%s_constants", k->text->name, k->what);
}

// Declares the array of the constants that loops read, if there are any.
static void adx_say_constants(const adx_writing *k)
{
    adx_text *t = k->text;
    if (k->rolled == NULL || k->rolled->constants == 0)
        return;
    adx_say(t, "%s%s ", adx_table_space(t), t->real);
    adx_say_constants_name(k);
    adx_say(t, "[%lu] = {", (unsigned long)k->rolled->constants);
    size_t line = t->bytes;
    for (size_t i = 0; i < k->rolled->constants; i++) {
        const bool begins = i == 0 || t->bytes - line > ADX_LIST_WIDTH;
        adx_say(t, "%s%s", i > 0 ? "," : "", begins ? "\n    " : "");
        line = begins ? t->bytes : line;
        adx_say_element_literal(t, *adx_constant_of(k->p,
                                                    k->rolled->constant[i]));
    }
    adx_say(t, "\n};\n");
}

/* --- statements ----------------------------------------------------------- */

// A statement of a loop, while it is noted or written.
typedef struct adx_instance {
    adx_writing *k;
    const adx_looped *leaf;
    const adx_roll_box *b;
} adx_instance;

// Writes what an instance reads for an argument, in the way that was found.
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
            adx_say_constants_name(k);
            adx_say(k->text, "[");
        } else
            adx_open_element(k->text, adx_array_with(k, a->number, &at));
        adx_say_stream(&stream, before);
        adx_say(k->text, "%s", stream.constants ? "]"
                                                : adx_close_element(k->text));
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
    adx_open_element(s->k->text, "work");
    bool first = true;
    for (uint32_t l = 0; f->all && l < f->depth; l++) {
        unsigned long stride = 1;
        for (uint32_t inner = l + 1; inner < f->depth; inner++)
            stride *= f->count[inner];
        adx_say(s->k->text, first ? "" : " + ");
        if (stride > 1)
            adx_say(s->k->text, "%lu*", stride);
        adx_say(s->k->text, "%s", adx_loop_name[l]);
        first = false;
    }
    if (f->place > 0 || first)
        adx_say(s->k->text, first ? "%lu" : " + %lu",
                (unsigned long)f->place);
    adx_say(s->k->text, "%s", adx_close_element(s->k->text));
}

// One declaration or assignment. Where other statements of the body read the
// result, it has a name; where memory needs it, it is in work.
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

// Writes an output, which is read as an argument is.
static void adx_say_loop_output(const adx_instance *s)
{
    adx_writing *k = s->k;
    adx_roll_index at = adx_roll_stream(k, s->leaf, s->b, ADX_READS_OUTPUT);
    size_t output = k->rolled->entry[s->leaf->first];
    adx_declare_table(&at, 'k');
    adx_say_margin(k, s->b->depth);
    bool second = output >= k->results->length[0];
    adx_open_element(k->text, k->results->array[second]);
    adx_say_stream(&at, 'k');
    adx_say(k->text, "%s = ", adx_close_element(k->text));
    adx_say_read(k->text, 'x', (void *)(uintptr_t)s);
    adx_say(k->text, ";\n");
}

// A statement of a loop, with the tables that its arguments need in front of
// it.
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

/* --- what has to be in work ---------------------------------------------- */

// A constant that loops read with others gets a place among them.
static void adx_note_constant(adx_writing *k, uint32_t x)
{
    adx_rolled *r = k->rolled;
    if (!adx_is_constant_number(k->p, x) || r->constant_at[x] > 0)
        return;
    r->constant[r->constants++] = x;
    r->constant_at[x] = (uint32_t)r->constants;
}

// A number is read from memory, or by a statement of that section.
static void adx_note_use(adx_writing *k, uint32_t x, uint32_t section,
                         bool memory)
{
    adx_rolled *r = k->rolled;
    if (!adx_is_result(k, x))
        return;
    uint32_t entry = r->entry_of[k->p->from[x]];
    adx_looped *f = &r->leaf[r->leaf_of[entry]];
    if (f == r->leaf) {
        k->stored[x] = k->stored[x] || memory || k->section[x] != section;
        return;
    }
    f->stored = true;
    f->all = f->all || r->index_of[entry] + 1 < f->instances;
}

// Notes what an argument needs before the loop is written: variables that are
// local, numbers that must be stored, constants that must be in the array.
static void adx_roll_access(const adx_instance *s, int which, uint32_t section)
{
    adx_rolled *r = s->k->rolled;
    const adx_roll_read a = adx_access_of(s->k, s->leaf, which, s->b);
    uint32_t t[ADX_ROLL_DEPTH];
    if (a.way == ADX_ROLL_local || a.way == ADX_ROLL_carried)
        r->leaf[a.leaf].local = true;
    if (a.way == ADX_ROLL_same)
        adx_note_use(s->k, a.number, section, false);
    if (a.way == ADX_ROLL_carried) {
        adx_roll_box begin = *s->b;
        begin.high[begin.depth - 1] = begin.low[begin.depth - 1] + 1;
        adx_roll_access(&(adx_instance){ s->k, s->leaf, &begin }, which,
                        section);
    }
    memcpy(t, s->b->low, sizeof t);
    if (a.way == ADX_ROLL_array)
        do {
            uint32_t x = adx_read_at(s->k, adx_entry_at(s->leaf, t), which);
            adx_note_constant(s->k, x);
            adx_note_use(s->k, x, section, true);
        } while (adx_next_instance(s->leaf->depth, t, s->b->low, s->b->high));
}

/* --- loops ---------------------------------------------------------------- */

// Does something for each argument of a body's own statements that is carried.
static void adx_say_carried(adx_writing *k, uint32_t item,
                            const adx_roll_box *b, bool begins)
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

static void adx_say_walk(const adx_writing *k, const adx_looped *f,
                         const adx_roll_box *b, int which)
{
    const adx_roll_index s = adx_roll_stream(k, f, b, which);
    adx_declare_walk(&s);
}

// Declares what the statements of a body walk by.
static void adx_say_walks(adx_writing *k, uint32_t item, const adx_roll_box *b)
{
    const adx_rolled *r = k->rolled;
    for (uint32_t i = 0; i < r->item[item].items; i++) {
        const uint32_t leaf = r->item[r->list[r->item[item].body + i]].leaf;
        const adx_looped *f = &r->leaf[leaf];
        for (int a = 0; leaf > 0 && a < adx_reads_of(k, f); a++)
            if (adx_access_of(k, f, a, b).way == ADX_ROLL_array)
                adx_say_walk(k, f, b, a);
        const adx_node *node = adx_node_at(k, f->first);
        if (leaf > 0 && node == NULL)
            adx_say_walk(k, f, b, ADX_READS_OUTPUT);
        else if (leaf > 0 && node->op == ADX_OP_guard)
            adx_say_walk(k, f, b, ADX_READS_GUARD);
    }
}

static void adx_roll_loop(adx_writing *k, uint32_t item, const adx_roll_box *b,
                          uint32_t section, bool notes);

// Does the items of a loop's body in their order: inner loops, and its own
// statements.
static void adx_do_body(adx_writing *k, uint32_t item, const adx_roll_box *b,
                        uint32_t section, bool notes)
{
    adx_rolled *r = k->rolled;
    for (uint32_t i = 0; i < r->item[item].items; i++) {
        uint32_t child = r->list[r->item[item].body + i];
        const adx_looped *f = &r->leaf[r->item[child].leaf];
        const adx_instance s = { k, f, b };
        if (r->item[child].count > 1)
            adx_roll_loop(k, child, b, section, notes);
        else if (!notes)
            adx_say_leaf(&s);
        else
            for (int a = 0; a < adx_reads_of(k, f); a++)
                adx_roll_access(&s, a, section);
    }
}

// Writes a loop, piece by piece between its cuts; or only notes what it reads.
static void adx_roll_loop(adx_writing *k, uint32_t item, const adx_roll_box *b,
                          uint32_t section, bool notes)
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
            adx_do_body(k, item, &piece, section, true);
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
            adx_say_walks(k, item, &piece);
            adx_say_margin(k, level);
            adx_say(t, "    for (%s = %lu; %s < %lu; %s++) {\n", name,
                    (unsigned long)piece.low[level], name,
                    (unsigned long)piece.high[level], name);
        }
        adx_do_body(k, item, &piece, section, false);
        if (!once) {
            adx_say_carried(k, item, &piece, false);
            adx_say_margin(k, level);
            adx_say(t, "    }\n");
        }
        adx_say_margin(k, level);
        adx_say(t, "}\n");
    }
}

/* --- the whole program --------------------------------------------------- */

// Which C function each item is in; outputs are in the last one.
static void adx_find_sections(adx_writing *k)
{
    adx_rolled *r = k->rolled;
    size_t text = 0;
    uint32_t section = 0;
    memset(k->section, 0, k->p->numbers * sizeof *k->section);
    for (size_t i = 0; i < r->roots; i++) {
        const adx_item *s = &r->item[r->root[i]];
        if (s->first < r->nodes) {
            if (text > 0 && text + s->text > k->split) {
                section++;
                text = 0;
            }
            text += s->text;
        }
        r->section_of[i] = section;
        if (s->count == 1 && s->first < r->nodes
            && adx_node_at(k, s->first)->op != ADX_OP_guard)
            k->section[adx_node_at(k, s->first)->r] = section;
    }
    k->sections = section + 1;
    for (size_t i = 0; section > 0 && i < r->roots; i++)
        if (r->item[r->root[i]].first >= r->nodes)
            r->section_of[i] = section + 1;
}

typedef struct adx_root_reads {
    adx_writing *k;
    uint32_t section;
} adx_root_reads;

static void adx_note_root_read(void *user, uint32_t x)
{
    const adx_root_reads *s = (const adx_root_reads *)user;
    adx_note_use(s->k, x, s->section, false);
}

// Notes what the items of the file need, before any of them is written.
static void adx_note_roots(adx_writing *k)
{
    adx_rolled *r = k->rolled;
    static const adx_roll_box none;
    for (size_t i = 0; i < r->roots; i++) {
        const adx_item *s = &r->item[r->root[i]];
        adx_root_reads reads = { k, r->section_of[i] };
        if (s->count > 1)
            adx_roll_loop(k, r->root[i], &none, r->section_of[i], true);
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

// The loops of a program in the order of levels; NULL without `failed`: none
// pay. (Programs of which little would be gained are left alone.)
static adx_rolled *adx_roll_levels(const adx_writing *k, adx_program *q,
                                   bool *failed)
{
    adx_order order = { NULL, NULL };
    adx_rolled *r = NULL;
    *failed = !adx_order_by_levels(k, q, &order);
    if (!*failed && adx_may_repeat(k, &order, failed)) {
        r = adx_roll(k, &order);
        *failed = r == NULL;
    }
    adx_free_order(q->memory, &order);
    return r;
}

// Gives the function loops if they pay, with its nodes in the order of levels
// or in their own; else it stays as it is. false: no memory.
static bool adx_begin_loops(adx_writing *k, adx_program *q, bool by_levels)
{
    bool failed = false;
    adx_rolled *r = NULL;
    if (!by_levels && !adx_may_repeat(k, NULL, &failed))
        return !failed;
    adx_node *nodes = adx_join_equal(q, k->used);
    if (nodes != NULL && by_levels)
        r = adx_roll_levels(k, q, &failed);
    else if (nodes != NULL)
        failed = (r = adx_roll(k, NULL)) == NULL;
    if (r == NULL || r->loops == 0) {
        adx_free_rolled(q->memory, r);
        if (nodes != NULL)
            adx_split_equal(q, nodes, k->used);
        return !failed && nodes != NULL;
    }
    k->rolled = r;
    r->was = nodes;
    memset(k->stored, 0, q->numbers * sizeof *k->stored);
    memset(k->place, 0, q->numbers * sizeof *k->place);
    adx_find_sections(k);
    adx_note_roots(k);
    adx_find_loop_places(k);
    return true;
}

// How many operations the text of a program with loops has; where a loop is
// cut, its body counts once.
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
    adx_say(k->text, "    ");
    adx_open_element(k->text, k->results->array[output >= first]);
    adx_say(k->text, "%lu%s = ",
            (unsigned long)(output < first ? output : output - first),
            adx_close_element(k->text));
    adx_say_number(k, k->p->output[output]);
    adx_say(k->text, ";\n");
}

// Writes the nodes of a section, or the outputs; sections come in their order.
static void adx_say_roots(adx_writing *k, size_t section, bool outputs)
{
    adx_rolled *r = k->rolled;
    static const adx_roll_box none;
    if (section == 0 && !outputs)
        r->next = 0;
    for (; r->next < r->roots; r->next++) {
        const adx_item *s = &r->item[r->root[r->next]];
        if ((s->first >= r->nodes) != outputs
            || (!outputs && r->section_of[r->next] != section))
            return;
        if (s->count > 1)
            adx_roll_loop(k, r->root[r->next], &none, (uint32_t)section, false);
        else if (outputs)
            adx_say_straight_output(k, s->first);
        else if (adx_node_at(k, s->first)->op == ADX_OP_guard)
            adx_say_guard(k, adx_node_at(k, s->first));
        else
            adx_say_node(k, adx_node_at(k, s->first));
    }
}

ADX_SELDOM_END
