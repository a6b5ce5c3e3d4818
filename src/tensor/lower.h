#pragma once

/* === tensor/lower ===========================================================
 * From formulas to terms. Conditions and ranges go into the sets of the terms;
 * a sum of sums is one list of terms. What is multiplied or given to a function,
 * and is no number of an array, becomes a value of its own, at those points
 * only where it is needed, and along those indices only that it mentions.
 *
 * Reads are proved to be inside here, for the sizes that are given.
 *
 *   needs   tensor/api tensor/tree tensor/messages tensor/arena tensor/sets
 *           tensor/nests tensor/binding tensor/programs
 *   offers  adx_lowering adx_node_of adx_lowered adx_misfit adx_find_outside
 *           adx_say_signed adx_outside adx_bind_indices adx_forget_indices
 *           adx_set_pieces adx_add_set_piece adx_entry_of adx_lower_list
 *           adx_split_set
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_lowering {
    ad_tensor *t;
    ad_tensor_error *error;
    uint32_t *row_of;           // of each index that is bound: the row of sets
                                // that is its value; ADX_NOT_YET
    uint32_t *value_of;         // of the tree's arrays
    unsigned again;             // products that are made a second time
} adx_lowering;

static const adx_tensor_node *adx_node_of(const adx_lowering *k, uint32_t node)
{
    return &k->t->tree.node[node];
}

static bool adx_lowered(const adx_lowering *k)
{
    return k->t->arena.status == ADREV_OK;
}

// Says what does not fit.
static void adx_misfit(adx_lowering *k, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (adx_lowered(k) && k->error != NULL)
        adx_explain_at(k->error, &k->t->tree, at, format, &args);
    va_end(args);
    adx_arena_fail(&k->t->arena, ADREV_ESHAPE);
}

/* --- reads that are outside ---------------------------------------------- */

typedef struct adx_witness {
    int64_t *x;
    bool found;
} adx_witness;

static bool adx_take_witness(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    adx_witness *w = (adx_witness *)user;
    (void)x;
    (void)var;
    (void)count;
    w->found = true;            // w->x is x
    return false;
}

// A point of a set at which a row is below, or above, a bound. NULL: there is
// none, or no memory.
static int64_t *adx_find_outside(const adx_set *s, uint32_t row, int64_t bound,
                                 bool above)
{
    const int64_t *form = adx_form_of(s, row);
    if (s->empty || (above ? adx_extreme(s, form, true) < bound
                           : adx_extreme(s, form, false) >= bound))
        return NULL;
    adx_set *c = adx_copy_set(s);
    uint32_t r = c == NULL ? UINT32_MAX : adx_new_row(c, ADX_ROW_SIGN);
    if (r == UINT32_MAX)
        return NULL;
    adx_add_multiple(c, adx_form_of(c, r), above ? 1 : -1, adx_form_of(c, row));
    adx_form_of(c, r)[0] += above ? -bound : bound - 1;
    adx_simplify_set(c);
    adx_witness w = { ADX_GET(s->arena, c->vars, int64_t), false };
    const adx_nest *nest = c->empty ? NULL : adx_make_nest(c, UINT32_MAX);
    if (w.x == NULL || nest == NULL)
        return NULL;
    adx_walk_nest(nest, w.x, adx_take_witness, &w);
    if (!w.found)
        return NULL;
    // of variables that were replaced: what the rows of c say of all indices
    int64_t *value = ADX_GET(s->arena, c->rows, int64_t);
    for (uint32_t i = 0; value != NULL && i < c->rows; i++) {
        value[i] = adx_form_of(c, i)[0];
        for (uint32_t v = 0; v < c->vars; v++)
            value[i] += adx_form_of(c, i)[1 + v] * (c->gone[v] ? 0 : w.x[v]);
    }
    return value;
}

static void adx_say_signed(adx_saying *s, int64_t v)
{
    if (v < 0)
        adx_say_string(s, "-");
    adx_say_whole(s, (uint32_t)(v < 0 ? -v : v));
}

// "i=0, j=1"
static void adx_say_indices(const adx_lowering *k, adx_saying *s,
                            const int64_t value[])
{
    const adx_tree *tree = &k->t->tree;
    bool any = false;
    for (uint32_t i = 1; i < tree->index_count; i++)
        if (k->row_of[i] != ADX_NOT_YET) {
            adx_say_string(s, any ? ", " : " at ");
            any = true;
            adx_say_spot(s, tree, tree->index[i].name);
            adx_say_string(s, "=");
            adx_say_signed(s, value[k->row_of[i]]);
        }
}

// "x[i-j] is x[-1] at i=0, j=1; x?[i-j] reads 0 there"
static void adx_outside(adx_lowering *k, const adx_tensor_node *n,
                        const uint32_t rows[], const int64_t value[])
{
    const adx_tree *tree = &k->t->tree;
    char text[200];
    adx_saying s = { text, 0, sizeof text };
    const adx_spot whole = { n->spot.at, n->end - n->spot.at };
    adx_say_spot(&s, tree, whole);
    adx_say_string(&s, " is ");
    adx_say_spot(&s, tree, n->spot);
    for (uint32_t i = 0; i < n->count; i++) {
        adx_say_string(&s, i == 0 ? "[" : ",");
        adx_say_signed(&s, value[rows[i]]);
    }
    adx_say_string(&s, "]");
    adx_say_indices(k, &s, value);
    adx_misfit(k, n->spot.at, "%s", text);
}

/* --- forms --------------------------------------------------------------- */

static uint32_t adx_lower_form(adx_lowering *k, adx_set *s, uint32_t form);

// The value of a map at the form of a row, as a variable.
static uint32_t adx_look_up(adx_set *s, adx_int_table *table, uint32_t argument)
{
    for (uint32_t r = 0; r < s->rows; r++)      // is it there already?
        if (s->row[r].kind == ADX_ROW_VALUE && s->row[r].table == table
            && memcmp(adx_form_of(s, s->row[r].at), adx_form_of(s, argument),
                      s->width * sizeof *s->k) == 0) {
            uint32_t same = adx_new_row(s, ADX_ROW_FORM);
            if (same != UINT32_MAX)
                adx_add_multiple(s, adx_form_of(s, same), 1, adx_form_of(s, r));
            return same;
        }
    uint32_t v = adx_new_var(s, table->low, table->high);
    uint32_t row = adx_new_row(s, ADX_ROW_VALUE);
    uint32_t to = adx_new_row(s, ADX_ROW_FORM);
    if (v == UINT32_MAX || row == UINT32_MAX || to == UINT32_MAX)
        return UINT32_MAX;
    adx_form_of(s, row)[1 + v] = adx_form_of(s, to)[1 + v] = 1;
    s->row[row].at = argument;
    s->row[row].table = table;
    return to;
}

// A map of a form: the form must be in its range.
static uint32_t adx_lower_map(adx_lowering *k, adx_set *s,
                              const adx_multiple *m, size_t at)
{
    adx_int_table *table = k->t->program->map[m->of];
    uint32_t argument = adx_lower_form(k, s, m->argument);
    if (argument == UINT32_MAX || !adx_lowered(k))
        return UINT32_MAX;
    const int64_t *below = adx_find_outside(s, argument, table->from, false);
    const int64_t *above = adx_find_outside(s, argument,
                                            table->from + (int64_t)table->n,
                                            true);
    if (below != NULL || above != NULL) {
        const int64_t *value = below != NULL ? below : above;
        char text[160];
        adx_saying said = { text, 0, sizeof text };
        adx_say_string(&said, " is asked for ");
        adx_say_signed(&said, value[argument]);
        adx_say_indices(k, &said, value);
        adx_misfit(k, at, "'%w'%s", k->t->tree.map[m->of].name, text);
        return UINT32_MAX;
    }
    return adx_look_up(s, table, argument);
}

// A form of the text as a row. UINT32_MAX: it failed.
static uint32_t adx_lower_form(adx_lowering *k, adx_set *s, uint32_t form)
{
    const adx_affine *f = &k->t->tree.form[form];
    uint32_t to = adx_new_row(s, ADX_ROW_FORM);
    if (to == UINT32_MAX)
        return to;
    adx_form_of(s, to)[0] = f->constant;
    for (uint32_t i = 0; i < f->count && adx_lowered(k); i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        uint32_t row = m->kind == ADX_OF_INDEX ? k->row_of[m->of]
                     : m->kind == ADX_OF_MAP ? adx_lower_map(k, s, m, f->at)
                     : UINT32_MAX;
        if (m->kind == ADX_OF_SIZE)
            adx_form_of(s, to)[0] = adx_whole_add(s->arena,
                adx_form_of(s, to)[0], m->k, k->t->given.size[m->of]);
        else if (row != UINT32_MAX)
            adx_add_multiple(s, adx_form_of(s, to), m->k, adx_form_of(s, row));
    }
    return adx_lowered(k) ? to : UINT32_MAX;
}

/* --- indices ------------------------------------------------------------- */

// Indices become variables, and rows one behind the other; the first of them.
static uint32_t adx_bind_indices(adx_lowering *k, adx_set *s, uint32_t first,
                                 uint32_t count)
{
    uint32_t vars = s->vars;
    uint32_t rows = s->rows;
    for (uint32_t i = 0; i < count; i++) {
        const adx_tensor_index *x = &k->t->tree.index[first + i];
        int64_t from = 0;
        int64_t to = 0;
        if (!adx_size_form(k->t, x->from, &from)
            || !adx_size_form(k->t, x->to, &to))
            adx_arena_fail(&k->t->arena, ADREV_ESHAPE);
        adx_new_var(s, from, to - 1);
    }
    for (uint32_t i = 0; i < count && adx_lowered(k); i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r == UINT32_MAX)
            break;
        adx_form_of(s, r)[1 + vars + i] = 1;
        k->row_of[first + i] = r;
    }
    return rows;
}

static void adx_forget_indices(adx_lowering *k, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        k->row_of[first + i] = ADX_NOT_YET;
}

/* --- conditions ----------------------------------------------------------
 * A condition splits a set into disjoint ones.                               */

#define ADX_PIECES_MOST 64

typedef struct adx_set_pieces {
    adx_set *set[ADX_PIECES_MOST];
    uint32_t n;
} adx_set_pieces;

static void adx_add_set_piece(adx_lowering *k, adx_set_pieces *to, adx_set *s)
{
    if (s == NULL || s->empty)
        return;
    if (to->n == ADX_PIECES_MOST)
        adx_arena_fail(&k->t->arena, ADREV_ELIMIT);
    else
        to->set[to->n++] = s;
}

static void adx_split_set(adx_lowering *k, const adx_set *s, uint32_t node,
                      bool negated, adx_set_pieces *to);

// The set with sign*form + c as a condition.
static adx_set *adx_with_row(adx_lowering *k, const adx_set *s, uint32_t form,
                             adx_row_kind kind, int64_t sign, int64_t c)
{
    adx_set *to = adx_copy_set(s);
    uint32_t row = to == NULL ? UINT32_MAX : adx_lower_form(k, to, form);
    uint32_t r = row == UINT32_MAX ? row : adx_new_row(to, kind);
    if (r == UINT32_MAX)
        return NULL;
    adx_add_multiple(to, adx_form_of(to, r), sign, adx_form_of(to, row));
    adx_form_of(to, r)[0] += c;
    adx_simplify_set(to);
    return to;
}

static void adx_split_form(adx_lowering *k, const adx_set *s,
                           const adx_tensor_node *n, bool negated,
                           adx_set_pieces *to)
{
    bool zero = n->kind != ADX_TREE_NOT_NEGATIVE
             && (n->kind == ADX_TREE_ZERO) != negated;
    if (n->kind == ADX_TREE_NOT_NEGATIVE)
        adx_add_set_piece(k, to, adx_with_row(k, s, n->of, ADX_ROW_SIGN,
                                          negated ? -1 : 1, negated ? -1 : 0));
    else if (zero)
        adx_add_set_piece(k, to, adx_with_row(k, s, n->of, ADX_ROW_ZERO, 1, 0));
    else
        for (int64_t sign = -1; sign <= 1; sign += 2)
            adx_add_set_piece(k, to, adx_with_row(k, s, n->of, ADX_ROW_SIGN, sign,
                                              -1));
}

// Where all of the children from `node` on are true.
static void adx_split_all(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to)
{
    adx_set_pieces *now = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (now == NULL)
        return;
    adx_add_set_piece(k, now, adx_copy_set(s));
    for (; node != 0 && adx_lowered(k); node = adx_node_of(k, node)->next) {
        adx_set_pieces *next = ADX_GET(&k->t->arena, 1, adx_set_pieces);
        for (uint32_t i = 0; next != NULL && i < now->n; i++)
            adx_split_set(k, now->set[i], node, negated, next);
        if (next == NULL)
            return;
        now = next;
    }
    for (uint32_t i = 0; i < now->n; i++)
        adx_add_set_piece(k, to, now->set[i]);
}

// Where one of the children from `node` on is true, and none before it.
static void adx_split_any(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to)
{
    adx_set_pieces *rest = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (rest == NULL)
        return;
    adx_add_set_piece(k, rest, adx_copy_set(s));
    for (; node != 0 && adx_lowered(k); node = adx_node_of(k, node)->next) {
        adx_set_pieces *next = ADX_GET(&k->t->arena, 1, adx_set_pieces);
        for (uint32_t i = 0; next != NULL && i < rest->n; i++) {
            adx_split_set(k, rest->set[i], node, negated, to);
            adx_split_set(k, rest->set[i], node, !negated, next);
        }
        if (next == NULL)
            return;
        rest = next;
    }
}

// The entry of a relation with these columns, rows row[arity], as a row;
// UINT32_MAX: no memory.
static uint32_t adx_entry_of(adx_lowering *k, adx_set *s, uint32_t relation,
                             const uint32_t row[])
{
    const adx_tensor_program *p = k->t->program;
    uint32_t arity = k->t->tree.relation[relation].arity;
    adx_int_table *const *column = &p->column[p->column_of[relation]];
    for (uint32_t r = 0; r < s->rows; r++) {    // is it there already?
        bool same = s->row[r].kind == ADX_ROW_VALUE
                 && s->row[r].table == column[0];
        for (uint32_t c = 0; same && c < arity; c++) {
            bool found = false;
            for (uint32_t q = 0; q < s->rows && !found; q++)
                found = s->row[q].kind == ADX_ROW_VALUE
                     && s->row[q].table == column[c]
                     && memcmp(adx_form_of(s, s->row[q].at),
                               adx_form_of(s, s->row[r].at),
                               s->width * sizeof *s->k) == 0
                     && memcmp(adx_form_of(s, q), adx_form_of(s, row[c]),
                               s->width * sizeof *s->k) == 0;
            same = found;
        }
        if (same)
            return s->row[r].at;
    }
    uint32_t v = adx_new_var(s, 0, (int64_t)column[0]->n - 1);
    uint32_t entry = adx_new_row(s, ADX_ROW_FORM);
    if (v == UINT32_MAX || entry == UINT32_MAX)
        return UINT32_MAX;
    adx_form_of(s, entry)[1 + v] = 1;
    for (uint32_t c = 0; c < arity; c++) {
        uint32_t r = adx_new_row(s, ADX_ROW_VALUE);
        if (r == UINT32_MAX)
            return r;
        adx_add_multiple(s, adx_form_of(s, r), 1, adx_form_of(s, row[c]));
        s->row[r].table = column[c];
        s->row[r].at = entry;
    }
    return entry;
}

// Rows for the forms of a read or a membership. False: it failed.
static bool adx_lower_list(adx_lowering *k, adx_set *s,
                           const adx_tensor_node *n, uint32_t row[])
{
    for (uint32_t i = 0; i < n->count && adx_lowered(k); i++)
        row[i] = adx_lower_form(k, s, k->t->tree.list[n->first + i]);
    return adx_lowered(k);
}

// Bits for the values of the indices that a condition mentions.
typedef struct adx_grid {
    uint32_t index[ADX_BOUND_MOST];
    uint32_t n;
    int64_t low[ADX_BOUND_MOST];
    int64_t extent[ADX_BOUND_MOST];
} adx_grid;

static void adx_grid_form(adx_lowering *k, adx_grid *g, uint32_t form)
{
    const adx_affine *f = &k->t->tree.form[form];
    for (uint32_t i = 0; i < f->count; i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        bool there = m->kind != ADX_OF_INDEX || k->row_of[m->of] == ADX_NOT_YET;
        if (m->kind == ADX_OF_MAP)
            adx_grid_form(k, g, m->argument);
        for (uint32_t j = 0; j < g->n && !there; j++)
            there = g->index[j] == m->of;
        if (!there && g->n < ADX_BOUND_MOST)
            g->index[g->n++] = m->of;
    }
}

// The indices that are bound around a condition and that it mentions.
static void adx_find_grid(adx_lowering *k, adx_grid *g, uint32_t node)
{
    for (; node != 0; node = adx_node_of(k, node)->next) {
        const adx_tensor_node *n = adx_node_of(k, node);
        if (n->kind == ADX_TREE_MEMBER)
            for (uint32_t i = 0; i < n->count; i++)
                adx_grid_form(k, g, k->t->tree.list[n->first + i]);
        else if (n->kind == ADX_TREE_EXISTS)
            adx_find_grid(k, g, n->condition);
        else if (n->kind == ADX_TREE_OR || n->kind == ADX_TREE_AND)
            adx_find_grid(k, g, n->child);
        else
            adx_grid_form(k, g, n->of);
    }
}

// The bits of a grid at which a condition is true: of all pieces that `fill`
// makes of the set of the grid's indices.
static const adx_bitmap *adx_mark_grid(adx_lowering *k, adx_grid *g,
                                       const adx_tensor_node *n)
{
    adx_arena *a = &k->t->arena;
    adx_set *s = adx_new_set(a);
    adx_set_pieces *pieces = ADX_GET(a, 1, adx_set_pieces);
    uint32_t outer[ADX_BOUND_MOST];
    uint64_t size = 1;
    if (s == NULL || pieces == NULL)
        return NULL;
    for (uint32_t i = 0; i < g->n; i++) {
        outer[i] = k->row_of[g->index[i]];
        adx_bind_indices(k, s, g->index[i], 1);
        g->low[i] = s->low[s->vars - 1];
        g->extent[i] = s->high[s->vars - 1] - g->low[i] + 1;
        size = g->extent[i] <= 0 ? 0
             : size > ADX_BITS_MOST / (uint64_t)g->extent[i] ? UINT64_MAX
             : size * (uint64_t)g->extent[i];
    }
    uint32_t first = s->rows - g->n;
    adx_bitmap *bits = adx_new_bitmap(a, size);
    if (n->kind == ADX_TREE_EXISTS && bits != NULL && size > 0) {
        adx_bind_indices(k, s, n->first, n->count);
        adx_split_set(k, s, n->condition, false, pieces);
        adx_forget_indices(k, n->first, n->count);
    } else if (bits != NULL && size > 0) {
        uint32_t row[ADX_BOUND_MOST];
        if (adx_lower_list(k, s, n, row))
            adx_entry_of(k, s, n->of, row);
        adx_simplify_set(s);
        adx_add_set_piece(k, pieces, s);
    }
    for (uint32_t i = 0; i < pieces->n && adx_lowered(k); i++) {
        adx_set *c = pieces->set[i];
        int64_t *form = ADX_GET(a, c->width, int64_t);
        for (uint32_t j = 0; form != NULL && j < g->n; j++) {
            for (uint32_t v = 0; v <= c->vars; v++)
                form[v] *= g->extent[j];
            adx_add_multiple(c, form, 1, adx_form_of(c, first + j));
            form[0] -= g->low[j];
        }
        if (form != NULL)
            adx_mark_form(c, form, bits);
    }
    for (uint32_t i = 0; i < g->n; i++)
        k->row_of[g->index[i]] = outer[i];
    return adx_lowered(k) ? bits : NULL;
}

// A condition by bits: exists, and what is no entry of a relation.
static void adx_split_bits(adx_lowering *k, const adx_set *s, uint32_t node,
                           bool negated, adx_set_pieces *to)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    adx_grid *g = ADX_GET(&k->t->arena, 1, adx_grid);
    if (g == NULL)
        return;
    uint32_t next = n->next;            // of this node only
    k->t->tree.node[node].next = 0;
    adx_find_grid(k, g, node);
    k->t->tree.node[node].next = next;
    const adx_bitmap *bits = adx_mark_grid(k, g, n);
    adx_set *c = bits == NULL ? NULL : adx_copy_set(s);
    uint32_t r = c == NULL ? UINT32_MAX
               : adx_new_row(c, negated ? ADX_ROW_NO_BIT : ADX_ROW_BIT);
    if (r == UINT32_MAX)
        return;
    int64_t *form = adx_form_of(c, r);
    c->row[r].bits = bits;
    for (uint32_t j = 0; j < g->n; j++) {
        for (uint32_t v = 0; v <= c->vars; v++)
            form[v] *= g->extent[j];
        adx_add_multiple(c, form, 1, adx_form_of(c, k->row_of[g->index[j]]));
        form[0] -= g->low[j];
    }
    adx_simplify_set(c);
    adx_add_set_piece(k, to, c);
}

static void adx_split_member(adx_lowering *k, const adx_set *s,
                             const adx_tensor_node *n, adx_set_pieces *to)
{
    adx_set *c = adx_copy_set(s);
    uint32_t row[ADX_BOUND_MOST];
    if (c == NULL || !adx_lower_list(k, c, n, row)
        || adx_entry_of(k, c, n->of, row) == UINT32_MAX)
        return;
    adx_simplify_set(c);
    adx_add_set_piece(k, to, c);
}

// The disjoint parts of a set where a condition is true; negated: false.
static void adx_split_set(adx_lowering *k, const adx_set *s, uint32_t node,
                      bool negated, adx_set_pieces *to)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (!adx_lowered(k))
        return;
    switch (n->kind) {
    case ADX_TREE_AND:
        if (negated)
            adx_split_any(k, s, n->child, true, to);
        else
            adx_split_all(k, s, n->child, false, to);
        break;
    case ADX_TREE_OR:
        if (negated)
            adx_split_all(k, s, n->child, true, to);
        else
            adx_split_any(k, s, n->child, false, to);
        break;
    case ADX_TREE_MEMBER:
        if (negated)
            adx_split_bits(k, s, node, true, to);
        else
            adx_split_member(k, s, n, to);
        break;
    case ADX_TREE_EXISTS:
        adx_split_bits(k, s, node, negated, to);
        break;
    default:
        adx_split_form(k, s, n, negated, to);
        break;
    }
}

ADX_SELDOM_END
