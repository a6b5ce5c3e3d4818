#pragma once

/* === tensor/splits ==========================================================
 * A condition splits a set into disjoint ones. Comparisons become rows, and an
 * entry of a relation a variable. What is no such set is written down point by
 * point, as bits: exists, what is no entry of a relation, and conditions that
 * split into too many sets. The points are found by loops over sets, in which
 * what exists is a variable, too: so relations are joined by the buckets of
 * their columns, and not all values of all indices are tried.
 *
 *   needs   tensor/tree tensor/arena tensor/sets tensor/nests tensor/binding
 *           tensor/open tensor/programs tensor/lower
 *   offers  adx_set_pieces adx_add_set_piece adx_entry_of adx_lower_list
 *           adx_where_by_bits adx_set_where
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_PIECES_MOST 12

typedef struct adx_set_pieces {
    adx_set *set[ADX_PIECES_MOST];
    uint32_t n;
} adx_set_pieces;

// Adds a set to a list, unless it is empty. Too many sets overflow, and are
// written as bits.
static void adx_add_set_piece(adx_lowering *k, adx_set_pieces *to, adx_set *s)
{
    if (s == NULL || s->empty)
        return;
    if (to->n == ADX_PIECES_MOST)
        k->overflows = true;
    else
        to->set[to->n++] = s;
}

static void adx_split_set(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to);

// Returns the set with sign*form + c as a condition.
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

// Splits a set by a comparison of a form with 0, which may be negated: into one
// piece or, for a form that is not 0, two.
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
            adx_add_set_piece(
                k, to, adx_with_row(k, s, n->of, ADX_ROW_SIGN, sign, -1));
}

// Splits a set into the points where all of the children from `node` on are
// true.
static void adx_split_all(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to)
{
    adx_set_pieces *now = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (now == NULL)
        return;
    adx_add_set_piece(k, now, adx_copy_set(s));
    for (; node != 0 && adx_is_lowering(k); node = adx_node_of(k, node)->next) {
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

// Splits a set into the points where one of the children from `node` on is
// true, and none before it.
static void adx_split_any(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to)
{
    adx_set_pieces *rest = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (rest == NULL)
        return;
    adx_add_set_piece(k, rest, adx_copy_set(s));
    for (; node != 0 && adx_is_lowering(k); node = adx_node_of(k, node)->next) {
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

// Returns the entry of a relation with these columns, rows row[arity], as a
// row; UINT32_MAX: no memory.
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

// Makes rows of the forms of a read or a membership. False: it failed.
static bool adx_lower_list(adx_lowering *k, adx_set *s,
                           const adx_tensor_node *n, uint32_t row[])
{
    for (uint32_t i = 0; i < n->count && adx_is_lowering(k); i++)
        row[i] = adx_lower_form(k, s, k->t->tree.list[n->first + i]);
    return adx_is_lowering(k);
}

// Bits for the values of the indices that a condition mentions.
typedef struct adx_grid {
    uint32_t index[ADX_BOUND_MOST];
    uint32_t n;
    int64_t low[ADX_BOUND_MOST];
    int64_t extent[ADX_BOUND_MOST];
} adx_grid;

// Adds to a grid the indices that a form has and that have no row yet.
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

// Finds the indices that are bound around a condition and that it mentions.
static void adx_find_grid(adx_lowering *k, adx_grid *g, uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (n->kind == ADX_TREE_MEMBER)
        for (uint32_t i = 0; i < n->count; i++)
            adx_grid_form(k, g, k->t->tree.list[n->first + i]);
    else if (n->kind == ADX_TREE_EXISTS)
        adx_find_grid(k, g, n->condition);
    else if (n->kind == ADX_TREE_OR || n->kind == ADX_TREE_AND)
        for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
            adx_find_grid(k, g, c);
    else
        adx_grid_form(k, g, n->of);
}

// Whether a condition, or the range of an index that it mentions, depends on
// open sizes.
static bool adx_is_open_condition(const adx_lowering *k, uint32_t node,
                                  const adx_grid *g)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    const adx_tree *tree = &k->t->tree;
    bool open = false;
    for (uint32_t i = 0; i < g->n; i++)
        open = open || adx_is_open_form(k->t, tree->index[g->index[i]].from)
            || adx_is_open_form(k->t, tree->index[g->index[i]].to);
    for (uint32_t i = 0; n->kind == ADX_TREE_EXISTS && i < n->count; i++)
        open = open || adx_is_open_form(k->t, tree->index[n->first + i].from)
            || adx_is_open_form(k->t, tree->index[n->first + i].to);
    for (uint32_t i = 0; n->kind == ADX_TREE_MEMBER && i < n->count; i++)
        open = open || adx_is_open_form(k->t, tree->list[n->first + i]);
    if (n->kind == ADX_TREE_EXISTS)
        return open || adx_is_open_condition(k, n->condition, g);
    if (n->kind == ADX_TREE_OR || n->kind == ADX_TREE_AND)
        for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
            open = open || adx_is_open_condition(k, c, g);
    else if (n->kind != ADX_TREE_MEMBER)
        open = open || adx_is_open_form(k->t, n->of);
    return open;
}

/* --- conditions at a point ----------------------------------------------- */

// The value of a form for values of the indices. False: a map is asked outside
// of its range.
static bool adx_form_at(const adx_lowering *k, uint32_t form,
                        const int64_t value[], int64_t *to)
{
    const adx_affine *f = &k->t->tree.form[form];
    *to = f->constant;
    for (uint32_t i = 0; i < f->count; i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        int64_t x = m->kind == ADX_OF_SIZE ? k->t->given.size[m->of]
                  : m->kind == ADX_OF_INDEX ? value[m->of] : 0;
        if (m->kind == ADX_OF_MAP) {
            const adx_int_table *t = k->t->program->map[m->of];
            if (!adx_form_at(k, m->argument, value, &x) || x < t->from
                || (uint64_t)(x - t->from) >= t->n)
                return false;
            x = t->value[x - t->from];
        }
        *to = adx_whole_add(&k->t->arena, *to, m->k, x);
    }
    return true;
}

// Whether a relation has the entry that the forms of a node give at these
// values of the indices. The entries are found by their first column.
static bool adx_is_entry_at(adx_lowering *k, const adx_tensor_node *n,
                            const int64_t value[])
{
    const adx_tensor_program *p = k->t->program;
    adx_int_table *const *column = &p->column[p->column_of[n->of]];
    int64_t x[ADX_BOUND_MOST];
    for (uint32_t i = 0; i < n->count; i++)
        if (!adx_form_at(k, k->t->tree.list[n->first + i], value, &x[i]))
            return false;
    if (x[0] < column[0]->low || x[0] > column[0]->high
        || !adx_invert_table(&k->t->arena, column[0]))
        return false;
    const uint32_t *start = column[0]->start + (x[0] - column[0]->low);
    for (uint32_t e = start[0]; e < start[1]; e++) {
        bool same = true;
        for (uint32_t c = 1; c < n->count && same; c++)
            same = column[c]->value[column[0]->argument[e]] == x[c];
        if (same)
            return true;
    }
    return false;
}

static bool adx_is_true_at(adx_lowering *k, uint32_t node, int64_t value[]);

// Whether a condition is true for some values of the indices from `index` on.
static bool adx_is_true_for_some(adx_lowering *k, uint32_t index,
                                 uint32_t count, uint32_t node, int64_t value[])
{
    int64_t from = 0;
    int64_t to = 0;
    if (count == 0)
        return adx_is_true_at(k, node, value);
    adx_size_form(k->t, k->t->tree.index[index].from, &from);
    adx_size_form(k->t, k->t->tree.index[index].to, &to);
    for (int64_t i = from; i < to && adx_is_lowering(k); i++) {
        value[index] = i;
        if (adx_is_true_for_some(k, index + 1, count - 1, node, value))
            return true;
    }
    return false;
}

// Whether a condition is true at these values of the indices.
static bool adx_is_true_at(adx_lowering *k, uint32_t node, int64_t value[])
{
    const adx_tensor_node *n = adx_node_of(k, node);
    bool any = n->kind == ADX_TREE_OR;
    int64_t v = 0;
    if (any || n->kind == ADX_TREE_AND) {
        for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
            if (adx_is_true_at(k, c, value) == any)
                return any;
        return !any;
    }
    if (n->kind == ADX_TREE_MEMBER)
        return adx_is_entry_at(k, n, value);
    if (n->kind == ADX_TREE_EXISTS)
        return adx_is_true_for_some(k, n->first, n->count, n->condition, value);
    return adx_form_at(k, n->of, value, &v)
        && (n->kind == ADX_TREE_ZERO ? v == 0
            : n->kind == ADX_TREE_NOT_ZERO ? v != 0 : v >= 0);
}

// Finds the ranges of the indices of a grid. Returns how many points it has;
// UINT64_MAX: too many.
static uint64_t adx_measure_grid(const adx_lowering *k, adx_grid *g)
{
    uint64_t size = 1;
    for (uint32_t i = 0; i < g->n; i++) {
        int64_t to = 0;
        adx_size_form(k->t, k->t->tree.index[g->index[i]].from, &g->low[i]);
        adx_size_form(k->t, k->t->tree.index[g->index[i]].to, &to);
        g->extent[i] = to > g->low[i] ? to - g->low[i] : 0;
        size = g->extent[i] == 0 ? 0
             : size > ADX_BITS_MOST / (uint64_t)g->extent[i] ? UINT64_MAX
             : size * (uint64_t)g->extent[i];
    }
    return size;
}

/* --- points by loops ----------------------------------------------------- */

// The range of a form, as those of its indices and maps make it. False: a map
// may be asked outside of its own, or numbers are too large.
static bool adx_range_of_form(const adx_lowering *k, uint32_t form, double *low,
                              double *high)
{
    const adx_affine *f = &k->t->tree.form[form];
    *low = *high = (double)f->constant;
    for (uint32_t i = 0; i < f->count; i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        const adx_tensor_index *x = &k->t->tree.index[m->of];
        double end[2] = { 0, 0 };
        int64_t from = 0;
        int64_t to = 0;
        if (m->kind == ADX_OF_SIZE)
            end[0] = end[1] = (double)k->t->given.size[m->of];
        else if (m->kind == ADX_OF_MAP) {
            const adx_int_table *t = k->t->program->map[m->of];
            if (!adx_range_of_form(k, m->argument, &end[0], &end[1])
                || end[0] < (double)t->from
                || end[1] >= (double)t->from + (double)t->n)
                return false;
            end[0] = (double)t->low;
            end[1] = (double)t->high;
        } else if (adx_size_form(k->t, x->from, &from)
                   && adx_size_form(k->t, x->to, &to)) {
            end[0] = (double)from;
            end[1] = (double)to - 1;
        }
        *low += (double)m->k * end[m->k < 0];
        *high += (double)m->k * end[m->k > 0];
    }
    return *low > -0x1p50 && *high < 0x1p50;
}

// Whether all forms of a condition have a value wherever their indices are.
static bool adx_has_all_forms(const adx_lowering *k, uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    bool ok = true;
    double low;
    double high;
    if (n->kind == ADX_TREE_EXISTS)
        return adx_has_all_forms(k, n->condition);
    if (n->kind == ADX_TREE_MEMBER)
        for (uint32_t i = 0; i < n->count && ok; i++)
            ok = adx_range_of_form(k, k->t->tree.list[n->first + i], &low,
                                   &high);
    else if (n->kind == ADX_TREE_OR || n->kind == ADX_TREE_AND)
        for (uint32_t c = n->child; c != 0 && ok; c = adx_node_of(k, c)->next)
            ok = adx_has_all_forms(k, c);
    else
        ok = adx_range_of_form(k, n->of, &low, &high);
    return ok;
}

// The number of a point in a grid, of which the rows are indices.
static void adx_grid_place(const adx_lowering *k, const adx_grid *g,
                           const adx_set *s, int64_t form[])
{
    for (uint32_t j = 0; j < g->n; j++) {
        for (uint32_t v = 0; v <= s->vars; v++)
            form[v] *= g->extent[j];
        adx_add_multiple(s, form, 1, adx_form_of(s, k->row_of[g->index[j]]));
        form[0] -= g->low[j];
    }
}

// Conditions that are still to be joined; more: with those that follow in the
// tree.
typedef struct adx_to_join {
    uint32_t node;
    bool more;
    const struct adx_to_join *next;
} adx_to_join;

// Returns the set without variables that say nothing of the indices of a grid,
// as far as that is exact. NULL: no memory.
static const adx_set *adx_set_on_grid(const adx_lowering *k, const adx_grid *g,
                                      const adx_set *of)
{
    adx_set *s = adx_copy_set(of);
    bool *keep = s == NULL ? NULL : ADX_GET(s->arena, s->width, bool);
    if (keep == NULL)
        return NULL;
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t v = 0; v < s->vars; v++)
            keep[v] |= adx_form_of(s, k->row_of[g->index[i]])[1 + v] != 0;
    adx_project(s, keep);
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t v = 0; v < s->vars; v++)
            if (s->gone[v]
                && adx_form_of(s, k->row_of[g->index[i]])[1 + v] != 0)
                return of;
    return s;
}

// Covers the points of a grid that lie in a set.
static void adx_cover_joined(adx_lowering *k, const adx_grid *g,
                            const adx_set *of, adx_bitmap *bits)
{
    const adx_set *s = adx_set_on_grid(k, g, of);
    int64_t *form = s == NULL ? NULL : ADX_GET(s->arena, s->width, int64_t);
    if (form == NULL || s->empty)
        return;
    adx_grid_place(k, g, s, form);
    adx_cover_form(s, form, bits);
}

// Covers the points of a set where conditions are true.
static void adx_join_all(adx_lowering *k, const adx_grid *g, const adx_set *s,
                         const adx_to_join *todo, adx_bitmap *bits)
{
    if (todo == NULL)
        adx_cover_joined(k, g, s, bits);
    if (todo == NULL || !adx_is_lowering(k))
        return;
    const adx_tensor_node *n = adx_node_of(k, todo->node);
    const adx_to_join after = { n->next, true, todo->next };
    adx_to_join first = { n->child, n->kind == ADX_TREE_AND,
                          todo->more && n->next != 0 ? &after : todo->next };
    if (n->kind == ADX_TREE_AND)
        adx_join_all(k, g, s, &first, bits);
    else if (n->kind == ADX_TREE_OR)
        for (; first.node != 0; first.node = adx_node_of(k, first.node)->next)
            adx_join_all(k, g, s, &first, bits);
    else if (n->kind == ADX_TREE_EXISTS) {
        adx_set *c = adx_copy_set(s);
        if (c == NULL)
            return;
        adx_bind_indices(k, c, n->first, n->count);
        first.node = n->condition;
        adx_join_all(k, g, c, &first, bits);
        adx_forget_indices(k, n->first, n->count);
    } else {
        adx_set_pieces *pieces = ADX_GET(&k->t->arena, 1, adx_set_pieces);
        if (pieces != NULL)
            adx_split_set(k, s, todo->node, false, pieces);
        for (uint32_t i = 0; pieces != NULL && i < pieces->n; i++)
            adx_join_all(k, g, pieces->set[i], first.next, bits);
    }
}

// Covers by loops where a condition is true.
static void adx_cover_by_joins(adx_lowering *k, const adx_grid *g,
                               uint32_t node, adx_bitmap *bits)
{
    adx_set *s = adx_new_set(&k->t->arena);
    const adx_to_join all = { node, false, NULL };
    uint32_t around[ADX_BOUND_MOST];
    for (uint32_t i = 0; s != NULL && i < g->n; i++) {
        uint32_t v = adx_new_var(s, g->low[i], g->low[i] + g->extent[i] - 1);
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        around[i] = k->row_of[g->index[i]];
        k->row_of[g->index[i]] = r;
        if (v != UINT32_MAX && r != UINT32_MAX)
            adx_form_of(s, r)[1 + v] = 1;
    }
    if (adx_is_lowering(k) && bits->n > 0) {
        adx_simplify_set(s);
        adx_join_all(k, g, s, &all, bits);
    }
    for (uint32_t i = 0; s != NULL && i < g->n; i++)
        k->row_of[g->index[i]] = around[i];
}

// Covers, point by point, where a condition is true.
static void adx_cover_by_trial(adx_lowering *k, const adx_grid *g,
                               uint32_t node, adx_bitmap *bits)
{
    int64_t *value = ADX_GET(&k->t->arena, k->t->tree.index_count, int64_t);
    for (uint64_t at = 0; value != NULL && at < bits->n && adx_is_lowering(k);
         at++) {
        uint64_t rest = at;
        for (uint32_t i = g->n; i-- > 0;) {
            value[g->index[i]] = g->low[i]
                               + (int64_t)(rest % (uint64_t)g->extent[i]);
            rest /= (uint64_t)g->extent[i];
        }
        if (adx_is_true_at(k, node, value))
            adx_set_bit(bits, at);
    }
}

// Returns the bits of a grid at which a condition is true. NULL: no memory.
static const adx_bitmap *adx_cover_grid(adx_lowering *k, adx_grid *g,
                                       uint32_t node)
{
    adx_bitmap *bits = adx_new_bitmap(&k->t->arena, adx_measure_grid(k, g));
    if (bits == NULL)
        return NULL;
    if (adx_has_all_forms(k, node))
        adx_cover_by_joins(k, g, node, bits);
    else
        adx_cover_by_trial(k, g, node, bits);
    bits->node = node;
    return adx_is_lowering(k) ? bits : NULL;
}

// Splits a set by a condition that is written down as bits.
static void adx_split_bits(adx_lowering *k, const adx_set *s, uint32_t node,
                           bool negated, adx_set_pieces *to)
{
    adx_grid *g = ADX_GET(&k->t->arena, 1, adx_grid);
    if (g == NULL)
        return;
    adx_find_grid(k, g, node);
    if (k->t->open != NULL && adx_is_open_condition(k, node, g)) {
        adx_misfit(k, adx_node_of(k, node)->spot.at,
                   "this depends on sizes that are arguments: C code cannot "
                   "have a list of all cases");
        return;
    }
    const adx_bitmap *bits = adx_cover_grid(k, g, node);
    adx_set *c = bits == NULL ? NULL : adx_copy_set(s);
    uint32_t r = c == NULL ? UINT32_MAX
               : adx_new_row(c, negated ? ADX_ROW_NO_BIT : ADX_ROW_BIT);
    if (r == UINT32_MAX)
        return;
    c->row[r].bits = bits;
    adx_grid_place(k, g, c, adx_form_of(c, r));
    adx_simplify_set(c);
    adx_add_set_piece(k, to, c);
}

// A membership splits nothing: its entry becomes a variable of one set.
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
    if (!adx_is_lowering(k))
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

// Returns the part of a set where a condition is true, by bits. NULL: no
// memory.
static adx_set_pieces *adx_where_by_bits(adx_lowering *k, const adx_set *s,
                                         uint32_t node)
{
    adx_set_pieces *to = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (to != NULL)
        adx_split_bits(k, s, node, false, to);
    return to;
}

// Returns the disjoint parts of a set where a condition is true. NULL: no
// memory.
static adx_set_pieces *adx_set_where(adx_lowering *k, const adx_set *s,
                                     uint32_t node)
{
    adx_set_pieces *to = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (to == NULL)
        return NULL;
    k->overflows = false;
    adx_split_set(k, s, node, false, to);
    if (!k->overflows)
        return to;
    k->overflows = false;
    return adx_where_by_bits(k, s, node);
}

ADX_SELDOM_END
