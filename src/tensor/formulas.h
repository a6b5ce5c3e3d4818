#pragma once

/* === tensor/formulas ========================================================
 * From expressions to terms: reads, products, functions, and unnamed values. A
 * formula is lowered from its root down: sums and brackets add terms to the
 * value at hand, with the points of the brackets' conditions; a product is a
 * term of its factors, of which those that are no reads are unnamed values; a
 * function is an unnamed value of its arguments.
 *
 *   needs   tensor/tree tensor/arena tensor/sets tensor/binding tensor/open
 *           tensor/programs tensor/sharing tensor/lower tensor/splits
 *           tensor/paths tensor/values
 *   offers  adx_lower_formulas
 * ========================================================================== */

ADX_SELDOM_BEGIN

static void adx_lower_sum(adx_lowering *k, adx_target to, const adx_set *s,
                          uint32_t node, ad_real times);

// Returns the pieces of a set where a condition is true; node 0: all of it.
static const adx_set_pieces *adx_sets_where(adx_lowering *k, adx_set *s,
                                            uint32_t node)
{
    if (node != 0)
        return adx_set_where(k, s, node);
    adx_set_pieces *all = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (all != NULL)
        adx_add_set_piece(k, all, s);
    return all;
}

/* --- unnamed values ------------------------------------------------------ */

static void adx_lower_into(adx_lowering *k, adx_target to, adx_set *s,
                           uint32_t node);
static void adx_lower_factors(adx_lowering *k, adx_target to, const adx_set *s,
                              const uint32_t node[], uint32_t nodes,
                              ad_real times);

// Makes a product of expressions an unnamed value; fixed: without a derivative.
// *all: whether it is written at all points of its set; may be NULL.
static adx_access adx_make_unnamed(adx_lowering *k, adx_set *s,
                                   const uint32_t node[], uint32_t nodes,
                                   bool fixed, bool *all)
{
    const adx_access none = { 0, 0 };
    adx_set *c = adx_set_of_unnamed(k, s, node, nodes);
    if (c == NULL)
        return none;
    adx_target unnamed = adx_new_unnamed(k, ADX_VALUE_SUM, c);
    if (!adx_is_lowering(k))
        return none;
    adx_set *reading = adx_copy_set(c);     // rows of the indices
    if (reading == NULL)
        return none;
    if (nodes == 1)
        adx_lower_into(k, unnamed, c, node[0]);
    else
        adx_lower_factors(k, unnamed, c, node, nodes, 1);
    if (!adx_is_lowering(k))
        return none;
    k->t->program->value[unnamed.value].fixed = fixed;
    if (all != NULL)
        *all = adx_is_everywhere_in(k, unnamed.value, reading);
    unnamed.value = adx_complete_value(k->t, unnamed.value);
    return adx_read_unnamed(s, reading, unnamed, adx_dims_of(k, unnamed.value));
}

// Makes one that is read at all points of s, also where it is 0.
static adx_access adx_unnamed_of(adx_lowering *k, adx_set *s,
                                 const uint32_t node[], uint32_t nodes,
                                 bool fixed)
{
    return adx_make_unnamed(k, s, node, nodes, fixed, NULL);
}

// Makes one that is a factor of a product. *s becomes the set of the points
// where the unnamed is written.
static adx_access adx_unnamed_factor(adx_lowering *k, adx_set **s,
                                     const uint32_t node[], uint32_t nodes,
                                     bool fixed)
{
    bool all = false;
    adx_access unnamed = adx_make_unnamed(k, *s, node, nodes, fixed, &all);
    if (adx_is_lowering(k) && !all)
        adx_restrict(k->t, s, unnamed);
    return unnamed;
}

/* --- reads --------------------------------------------------------------- */

// Returns how far an index is from the lower, or upper, end of a range, as a
// row. UINT32_MAX: no memory.
static uint32_t adx_bound_row(adx_lowering *k, adx_set *s, const adx_dim *dim,
                              uint32_t row, bool upper)
{
    uint32_t r = adx_new_row(s, ADX_ROW_FORM);
    int64_t *end = ADX_GET(s->arena, 1 + s->open, int64_t);
    if (r == UINT32_MAX || end == NULL
        || !adx_form_in_sizes(k->t, upper ? dim->to : dim->from, end))
        return UINT32_MAX;
    end[0] -= upper;
    adx_add_multiple(s, adx_form_of(s, r), upper ? -1 : 1,
                     adx_form_of(s, row));
    adx_add_open(s->arena, adx_form_of(s, r), upper ? 1 : -1, end, s->open);
    return r;
}

// Makes the indices of a read rows, and their bounds conditions if the read is
// guarded; else checks that they are inside. False: it failed.
static bool adx_lower_indices(adx_lowering *k, adx_set *s,
                              const adx_tensor_node *n, uint32_t row[])
{
    const adx_tensor_array *a = &k->t->tree.array[n->of];
    if (!adx_lower_list(k, s, n, row))
        return false;
    for (uint32_t i = 0; i < n->count && adx_is_lowering(k); i++) {
        const adx_dim *dim = &k->t->tree.dim[a->first + i];
        if (!n->guarded && s->open == 0) {
            int64_t from = 0;
            int64_t to = 0;
            adx_dim_range(k->t, dim, &from, &to);
            const int64_t *below = adx_find_outside(s, row[i], from, false);
            const int64_t *above = below != NULL ? NULL
                                 : adx_find_outside(s, row[i], to, true);
            if (below != NULL || above != NULL)
                adx_say_outside(k, n, row, below != NULL ? below : above);
            continue;
        }
        for (int upper = 0; upper < 2 && adx_is_lowering(k); upper++) {
            uint32_t r = adx_bound_row(k, s, dim, row[i], upper != 0);
            if (r == UINT32_MAX)
                return false;
            if (n->guarded)
                s->row[r].kind = ADX_ROW_SIGN;
            else
                adx_check_inside(k, s, n, row, r);
        }
    }
    adx_simplify_set(s);
    return adx_is_lowering(k);
}

// Returns the number of an array that is read, wherever it is.
static adx_access adx_read_number_at(adx_lowering *k, adx_set *s,
                                     const adx_tensor_node *n)
{
    const adx_tensor_array *a = &k->t->tree.array[n->of];
    const adx_access none = { 0, 0 };
    uint32_t row[ADX_BOUND_MOST];
    uint32_t columns = 0;
    uint32_t entry = UINT32_MAX;
    if (!adx_lower_indices(k, s, n, row))
        return none;
    uint32_t relation = a->rank == 0 ? 0 : k->t->tree.dim[a->first].relation;
    if (relation != 0) {
        columns = k->t->tree.relation[relation].arity;
        entry = adx_entry_of(k, s, relation, row);
        if (entry == UINT32_MAX)
            return none;
        adx_simplify_set(s);
    }
    adx_access to = { k->value_of[n->of], s->rows };
    for (uint32_t i = 0; i < n->count; i++) {
        if (i > 0 && i < columns)
            continue;
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r == UINT32_MAX)
            return none;
        adx_add_multiple(s, adx_form_of(s, r), 1,
                    adx_form_of(s, i < columns ? entry : row[i]));
    }
    return to;
}

// Finds what a view shows in place of one of its numbers. A view is a value
// whose only term is one number of another value. False: it is no view, or not
// one for all of this set.
static bool adx_see_through(adx_lowering *k, adx_set **s, adx_access *from,
                            ad_real *times)
{
    const adx_tensor_value *v = &k->t->program->value[from->value];
    const adx_tensor_term *term = v->term;
    uint32_t rows;
    if (v->kind != ADX_VALUE_SUM || v->terms != 1 || term->factors != 1
        || v->fixed || (term->k != 1 && term->k != -1))
        return false;
    uint32_t vars = (*s)->vars;
    adx_set *c = adx_copy_set(*s);
    uint32_t dims = adx_dims_of(k, term->factor[0].value);
    if (c == NULL || !adx_join_sets(c, from->row, term->set, term->out, v->dims,
                                    term->factor[0].row, dims, &rows)
        || !adx_all_gone(c, vars))
        return false;
    const adx_access to = { term->factor[0].value, rows };
    *from = to;
    *times *= term->k;
    *s = c;
    return true;
}

// Returns a read as a factor: the set becomes that of the points where it may
// be other than 0.
static adx_access adx_factor_read(adx_lowering *k, adx_set **s,
                                  const adx_tensor_node *n, ad_real *times)
{
    adx_access from = adx_read_number_at(k, *s, n);
    if (adx_is_lowering(k) && from.value != 0
        && !adx_see_through(k, s, &from, times))
        adx_restrict(k->t, s, from);
    return from;
}

// Whether an expression is a size that stays open.
static bool adx_is_open_size(const adx_lowering *k, const adx_tensor_node *n)
{
    return n->kind == ADX_TREE_SIZE && k->t->open != NULL
        && k->t->open->var[n->of] != 0;
}

// Returns an open size as a number.
static adx_access adx_size_number(adx_lowering *k, const adx_tensor_node *n)
{
    const adx_tensor_program *p = k->t->program;
    adx_access to = { 0, 0 };
    uint32_t open = k->t->open->var[n->of] - 1;
    for (uint32_t i = 1; i < p->values && to.value == 0; i++)
        if (p->value[i].kind == ADX_VALUE_SIZE && p->value[i].order == open)
            to.value = i;
    if (to.value == 0)
        to.value = adx_new_value(k->t, ADX_VALUE_SIZE, 0);
    if (to.value != 0) {
        adx_tensor_value *v = adx_tensor_value_at(k->t, to.value);
        v->order = open;
        v->fixed = v->known = v->full = true;
        adx_lay_out(k->t, v, NULL);
    }
    return to;
}

// Returns a number that is needed everywhere, 0 or not: an argument of a
// function.
static adx_access adx_argument_of(adx_lowering *k, adx_set *s, uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (adx_is_open_size(k, n))
        return adx_size_number(k, n);
    if (n->kind == ADX_TREE_READ && !n->guarded
        && (n->count == 0 || k->t->tree.array[n->of].rank == 0
            || k->t->tree.dim[k->t->tree.array[n->of].first].relation == 0))
        return adx_read_number_at(k, s, n);
    return adx_unnamed_of(k, s, &node, 1, false);
}

/* --- products ------------------------------------------------------------ */

#define ADX_FACTORS_MOST 64

// The factors of a product, n above the line and m below it, times k.
typedef struct adx_product_list {
    uint32_t above[ADX_FACTORS_MOST];
    uint32_t below[ADX_FACTORS_MOST];       // the line
    uint32_t n, m;
    ad_real k;
    bool zero;                              // a factor is the number 0
} adx_product_list;

// Lists the factors of a product. Numbers and sizes are multiplied into p->k;
// other factors go to `above` or, if they are divided by, to `below`. A square
// is its base twice, unless the list is nearly full.
static void adx_list_factor(adx_lowering *k, adx_product_list *p, uint32_t node,
                            bool below)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    bool open = adx_is_open_size(k, n);
    ad_real v = n->kind == ADX_TREE_SIZE ? (ad_real)k->t->given.size[n->of]
                                         : n->value;
    if (!open && (n->kind == ADX_TREE_NUMBER || n->kind == ADX_TREE_SIZE))
        p->k = below ? p->k / v : p->k * v;
    else if (n->kind == ADX_TREE_NEG) {
        p->k = -p->k;
        adx_list_factor(k, p, n->child, below);
    } else if (n->kind == ADX_TREE_MUL)
        for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
            adx_list_factor(k, p, c, below != adx_node_of(k, c)->inverse);
    else if (n->kind == ADX_TREE_POWER && n->power == 0)
        return;
    else if (n->kind == ADX_TREE_POWER && n->power == 1)
        adx_list_factor(k, p, n->child, below);
    else if (n->kind == ADX_TREE_POWER && n->power == 2
             && p->n < ADX_FACTORS_MOST - 1 && p->m < ADX_FACTORS_MOST - 1)
        for (int i = 0; i < 2; i++)
            if (below)
                p->below[p->m++] = n->child;
            else
                p->above[p->n++] = n->child;
    else if (p->n == ADX_FACTORS_MOST || p->m == ADX_FACTORS_MOST)
        adx_arena_fail(&k->t->arena, ADREV_ELIMIT);
    else if (below)
        p->below[p->m++] = node;
    else
        p->above[p->n++] = node;
}

// Makes a factor of a product: a number of an array, or of an unnamed value.
// *sign: the number by which the product must be multiplied.
static adx_access adx_take_factor(adx_lowering *k, adx_set **s, uint32_t node,
                                  ad_real *sign)
{
    const adx_tensor_node *f = adx_node_of(k, node);
    bool detach = f->kind == ADX_TREE_CALL && f->of == ADREV_OP_detach;
    *sign = 1;
    return adx_is_open_size(k, f) ? adx_size_number(k, f)
         : f->kind == ADX_TREE_READ ? adx_factor_read(k, s, f, sign)
         : adx_unnamed_factor(k, s, detach ? &f->child : &node, 1, detach);
}

// Makes several factors of a product. A factor that stands there twice is made
// once.
static void adx_take_each(adx_lowering *k, adx_set **s, const uint32_t node[],
                          uint32_t nodes, ad_real *times, adx_access factor[])
{
    ad_real sign = 1;
    for (uint32_t i = 0; i < nodes && adx_is_lowering(k); i++) {
        factor[i] = i > 0 && node[i] == node[i - 1]
            ? factor[i - 1] : adx_take_factor(k, s, node[i], &sign);
        *times *= sign;
    }
}

// Takes the factors of a product: reads of arrays or of unnamed values. *s
// becomes the set of the points where none of them is 0 for want of being
// written.
static uint32_t adx_take_factors(adx_lowering *k, adx_set **s,
                                 const uint32_t node[], uint32_t nodes,
                                 ad_real *times, adx_access factor[])
{
    uint32_t before = nodes > 2;        // all but the last one first
    if (before) {
        factor[0] = adx_unnamed_factor(k, s, node, nodes - 1, false);
        node += nodes - 1;
        nodes = 1;
    }
    adx_take_each(k, s, node, nodes, times, factor + before);
    if (adx_is_lowering(k))
        adx_simplify_set(*s);
    return before + nodes;
}

#define ADX_AGAIN_MOST 3

/* --- products in another order -------------------------------------------- */

// Whether an expression is there at all points, whatever its indices are: no
// condition, relation, map or guarded read is in it.
static bool adx_is_everywhere(const adx_lowering *k, uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    const adx_tree *tree = &k->t->tree;
    bool plain = n->kind != ADX_TREE_BRACKET && n->condition == 0
              && !n->guarded;
    if (plain && n->kind == ADX_TREE_READ) {
        const adx_tensor_array *a = &tree->array[n->of];
        plain = (a->rank == 0 || tree->dim[a->first].relation == 0)
             && adx_all_written(k->t, k->value_of[n->of]);
        for (uint32_t i = 0; i < n->count && plain; i++) {
            const adx_affine *f = &tree->form[tree->list[n->first + i]];
            for (uint32_t m = 0; m < f->count; m++)
                plain =
                    plain && tree->multiple[f->first + m].kind != ADX_OF_MAP;
        }
    }
    for (uint32_t c = n->child; c != 0 && plain; c = adx_node_of(k, c)->next)
        plain = adx_is_everywhere(k, c);
    return plain;
}

// Whether each condition bounds one variable, or says something of sizes.
static bool adx_is_open_box(const adx_set *s)
{
    uint32_t some = 0;
    bool box = true;
    for (uint32_t r = 0; r < s->rows; r++)
        box = box && (s->row[r].kind <= ADX_ROW_FORM
                      || (s->row[r].kind == ADX_ROW_SIGN
                          && adx_vars_of(s, adx_form_of(s, r), &some) <= 1));
    return box;
}

// Finds what a product of these factors depends on. False: the product is not
// plain, or has too many factors or variables.
static bool adx_begin_path(adx_lowering *k, adx_target to, const adx_set *s,
                           const uint32_t node[], uint32_t nodes,
                           adx_product_path *p)
{
    bool plain = !k->t->options.as_written && nodes > 1
              && nodes <= ADX_PATH_MOST && !s->empty && s->vars <= 64
              && (s->open == 0 ? adx_box_points(s) != UINT64_MAX
                               : adx_is_open_box(s));
    for (uint32_t i = 0; i < nodes && plain; i++)
        plain = adx_is_everywhere(k, node[i]);
    bool *has = plain ? ADX_GET(&k->t->arena, s->width, bool) : NULL;
    if (has == NULL)
        return false;
    p->factors = nodes;
    p->vars = s->vars;
    for (uint32_t v = s->open; v < s->vars; v++) {
        p->extent[v] = (double)(s->high[v] - s->low[v] + 1);
        p->live |= (uint64_t)!s->gone[v] << v;
        for (uint32_t d = 0; d < adx_dims_of(k, to.value); d++)
            if (adx_form_of(s, to.out + d)[1 + v] != 0)
                p->written |= (uint64_t)1 << v;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        memset(has, 0, s->width * sizeof *has);
        adx_mention(k, s, node[i], has);
        for (uint32_t v = 0; v < s->vars; v++)
            p->has[i] |= (uint64_t)has[v] << v;
        p->has[i] &= p->live;
    }
    return true;
}

// A product that is made by a path: of which set, and from which factors.
typedef struct adx_pairing {
    adx_lowering *k;
    const adx_product_path *path;
    adx_set *set;
    adx_access factor[ADX_PATH_MOST];
} adx_pairing;

// Returns the set of these variables alone.
static adx_set *adx_set_of_vars(const adx_set *s, uint64_t vars)
{
    adx_set *to = adx_copy_set(s);
    for (uint32_t v = s->open; to != NULL && v < s->vars; v++) {
        if (vars >> v & 1)
            continue;
        to->gone[v] = true;
        for (uint32_t r = 0; r < to->rows; r++) {
            if (adx_form_of(to, r)[1 + v] != 0
                && to->row[r].kind == ADX_ROW_SIGN)
                to->row[r].kind = ADX_ROW_GONE;         // its bound
            adx_form_of(to, r)[1 + v] = 0;
        }
    }
    return to;
}

// Adds rows for the indices of a value that has these variables. Returns the
// first one.
static uint32_t adx_rows_of_vars(adx_set *s, uint64_t vars)
{
    uint32_t first = s->rows;
    for (uint32_t v = 0; v < s->vars; v++)
        if (vars >> v & 1) {
            uint32_t r = adx_new_row(s, ADX_ROW_FORM);
            if (r != UINT32_MAX)
                adx_form_of(s, r)[1 + v] = 1;
        }
    return first;
}

static adx_access adx_pair_up(adx_pairing *p, uint32_t subset);

// Adds the terms of a subset to a value: a sum of one factor, or the product of
// two subsets.
static void adx_add_pair(adx_pairing *p, adx_target to, const adx_set *s,
                         adx_access one, adx_access other, ad_real times)
{
    if (!adx_is_lowering(p->k) || s == NULL)
        return;
    adx_tensor_term *term = adx_new_tensor_term(p->k->t, to.value, s, to.out,
                                                times);
    adx_add_factor(term, one);
    if (other.value != 0)
        adx_add_factor(term, other);
}

// Returns a value for the product of a subset of the factors, with its sums.
static adx_access adx_pair_up(adx_pairing *p, uint32_t subset)
{
    const adx_access none = { 0, 0 };
    uint32_t one = p->path->way[subset].one;
    uint64_t after = adx_path_after(p->path, subset);
    uint64_t at = adx_path_vars(p->path, subset);
    adx_access x = none;
    adx_access y = none;
    if (one == subset) {
        for (uint32_t i = 0; i < p->path->factors; i++)
            x = subset >> i & 1 ? p->factor[i] : x;
        if (at == after)
            return x;
    } else {
        at = adx_path_at(p->path, one, subset & ~one);
        x = adx_pair_up(p, one);
        y = adx_pair_up(p, subset & ~one);
    }
    if (!adx_is_lowering(p->k))
        return none;
    adx_set *all = adx_set_of_vars(p->set, after);
    adx_set *s = adx_set_of_vars(p->set, at);
    if (all == NULL || s == NULL)
        return none;
    adx_target unnamed = adx_new_unnamed(p->k, ADX_VALUE_SUM, all);
    unnamed.out = adx_rows_of_vars(s, after);
    adx_add_pair(p, unnamed, s, x, y, 1);
    if (!adx_is_lowering(p->k))
        return none;
    unnamed.value = adx_complete_value(p->k->t, unnamed.value);
    const adx_access to = { unnamed.value, adx_rows_of_vars(p->set, after) };
    return to;
}

// Lowers a product in the order that takes the fewest multiplications. False:
// that is the text's order.
static bool adx_lower_path(adx_lowering *k, adx_target to, adx_set *s,
                           const uint32_t node[], uint32_t nodes, ad_real times)
{
    adx_product_path *path = ADX_GET(&k->t->arena, 1, adx_product_path);
    if (path == NULL || !adx_begin_path(k, to, s, node, nodes, path)
        || !adx_find_path(&k->t->arena, path))
        return false;
    adx_pairing p = { .k = k, .path = path, .set = adx_copy_set(s) };
    adx_take_each(k, &p.set, node, nodes, &times, p.factor);
    if (!adx_is_lowering(k) || p.set->empty)
        return true;
    if (!adx_covers(p.set, s))
        return false;
    uint32_t whole = adx_path_whole(path);
    uint32_t one = path->way[whole].one;
    adx_access x = adx_pair_up(&p, one);
    adx_access y = adx_pair_up(&p, whole & ~one);
    if (adx_is_lowering(k))
        adx_add_pair(&p, to, adx_set_of_vars(p.set, adx_path_at(path, one,
                                                          whole & ~one)),
                     x, y, times);
    return true;
}

// A product without a quotient. If one factor is 0 at some points, those
// before it need not be computed there: so all are made again, for fewer
// points. (What was made first is needed by nobody.)
static void adx_lower_factors(adx_lowering *k, adx_target to, const adx_set *s,
                              const uint32_t node[], uint32_t nodes,
                              ad_real times)
{
    adx_set *c = adx_copy_set(s);
    adx_access factor[3];
    ad_real first = times;
    if (c == NULL)
        return;
    adx_simplify_set(c);
    adx_set *begin = adx_copy_set(c);
    if (begin == NULL || adx_lower_path(k, to, begin, node, nodes, times))
        return;
    uint32_t n = adx_take_factors(k, &c, node, nodes, &times, factor);
    if (adx_is_lowering(k) && nodes > 1 && !c->empty
        && k->again < ADX_AGAIN_MOST && !adx_covers(c, begin)) {
        k->again++;
        times = first;
        n = adx_take_factors(k, &c, node, nodes, &times, factor);
        k->again--;
    }
    if (!adx_is_lowering(k) || c->empty)
        return;
    adx_tensor_term *term = adx_new_tensor_term(k->t, to.value, c, to.out,
                                                times);
    for (uint32_t i = 0; i < n; i++)
        adx_add_factor(term, factor[i]);
}

// Returns a quotient: a product divided by another. Where the numerator is 0
// for want of being written, there is no division.
static adx_access adx_unnamed_quotient(adx_lowering *k, adx_set **s,
                                       const adx_product_list *p,
                                       ad_real *times)
{
    const adx_access none = { 0, 0 };
    uint32_t all[2 * ADX_FACTORS_MOST];
    memcpy(all, p->above, p->n * sizeof *all);
    memcpy(all + p->n, p->below, p->m * sizeof *all);
    adx_set *c = adx_set_of_unnamed(k, *s, all, p->n + p->m);
    if (c == NULL)
        return none;
    adx_target unnamed = adx_new_unnamed(k, ADX_VALUE_APPLICATION, c);
    adx_set *reading = adx_copy_set(c);
    if (reading == NULL || !adx_is_lowering(k))
        return none;
    k->t->program->value[unnamed.value].op = ADREV_OP_div;
    bool read = p->n == 1
             && adx_node_of(k, p->above[0])->kind == ADX_TREE_READ;
    const adx_access constant = {
        p->n == 0 ? adx_constant_value(k->t, *times) : 0, 0
    };
    *times = p->n == 0 ? 1 : *times;
    adx_access x = p->n == 0 ? constant
        : read ? adx_factor_read(k, &c, adx_node_of(k, p->above[0]), times)
        : adx_unnamed_factor(k, &c, p->above, p->n, false);
    adx_access y = !adx_is_lowering(k) ? none
        : p->m == 1 ? adx_argument_of(k, c, p->below[0])
                    : adx_unnamed_of(k, c, p->below, p->m, false);
    if (!adx_is_lowering(k))
        return none;
    adx_simplify_set(c);
    if (!c->empty) {
        adx_tensor_term *term = adx_new_tensor_term(k->t, unnamed.value, c,
                                                    unnamed.out, 1);
        adx_add_factor(term, x);
        adx_add_factor(term, y);
    }
    bool everywhere = adx_is_everywhere_in(k, unnamed.value, reading);
    unnamed.value = adx_complete_value(k->t, unnamed.value);
    adx_access to = adx_read_unnamed(*s, reading, unnamed,
                                     adx_dims_of(k, unnamed.value));
    if (!everywhere)
        adx_restrict(k->t, s, to);
    return to;
}

// Lowers a product with factors below the line: one value is the quotient, and
// the term reads it.
static void adx_lower_quotient(adx_lowering *k, adx_target to, const adx_set *s,
                               const adx_product_list *p)
{
    adx_set *c = adx_copy_set(s);
    ad_real times = p->k;
    if (c == NULL)
        return;
    adx_access q = adx_unnamed_quotient(k, &c, p, &times);
    if (!adx_is_lowering(k))
        return;
    adx_simplify_set(c);
    if (!c->empty)
        adx_add_factor(adx_new_tensor_term(k->t, to.value, c, to.out, times),
                       q);
}

// Whether terms of an expression of this kind can be terms of the value that it
// stands in.
static bool adx_is_additive(adx_tree_kind kind)
{
    return kind == ADX_TREE_ADD || kind == ADX_TREE_SUM
        || kind == ADX_TREE_BRACKET;
}

// Makes a product one or several terms of a value: as a quotient, as a sum
// times a number, or as a product of factors.
static void adx_lower_product(adx_lowering *k, adx_target to, const adx_set *s,
                              uint32_t node, ad_real times)
{
    adx_product_list *p = ADX_GET(&k->t->arena, 1, adx_product_list);
    if (p == NULL)
        return;
    p->k = times;
    adx_list_factor(k, p, node, false);
    if (!adx_is_lowering(k))
        return;
    bool signed_only = p->k == 1 || p->k == -1;
    if (p->m > 0)
        adx_lower_quotient(k, to, s, p);
    else if (p->n == 0)
        adx_new_tensor_term(k->t, to.value, s, to.out, p->k);
    else if (p->n == 1 && signed_only
             && adx_is_additive(adx_node_of(k, p->above[0])->kind))
        adx_lower_sum(k, to, s, p->above[0], p->k);
    else
        adx_lower_factors(k, to, s, p->above, p->n, p->k);
}

/* --- sums ---------------------------------------------------------------- */

// Adds terms: times * the expression at the points of s.
static void adx_lower_sum(adx_lowering *k, adx_target to, const adx_set *s,
                          uint32_t node, ad_real times)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (!adx_is_lowering(k) || s->empty)
        return;
    if (n->kind == ADX_TREE_ADD) {
        for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
            adx_lower_sum(k, to, s, c,
                          adx_node_of(k, c)->inverse ? -times : times);
        return;
    }
    bool sum = n->kind == ADX_TREE_SUM;
    if ((!sum && n->kind != ADX_TREE_BRACKET)
        || (times != 1 && times != -1)) {
        adx_lower_product(k, to, s, node, times);
        return;
    }
    adx_set *c = adx_copy_set(s);
    if (c == NULL)
        return;
    if (sum)
        adx_bind_indices(k, c, n->first, n->count);
    const adx_set_pieces *pieces = adx_sets_where(k, c, n->condition);
    for (uint32_t i = 0; pieces != NULL && i < pieces->n; i++)
        adx_lower_sum(k, to, pieces->set[i], n->child, times);
    if (sum)
        adx_forget_indices(k, n->first, n->count);
}

/* --- functions and extremes ---------------------------------------------- */

// Makes the value an application of an operation: its number at each point is
// that of arguments.
static void adx_lower_call(adx_lowering *k, adx_target to, adx_set *s,
                           const adx_tensor_node *n)
{
    adx_access x[3];
    uint32_t count = 0;
    for (uint32_t c = n->child; c != 0 && count < 3 && adx_is_lowering(k);
         c = adx_node_of(k, c)->next)
        x[count++] = adx_argument_of(k, s, c);
    if (!adx_is_lowering(k))
        return;
    adx_tensor_value *v = &k->t->program->value[to.value];
    v->kind = ADX_VALUE_APPLICATION;
    v->op = n->of;
    adx_simplify_set(s);
    adx_tensor_term *term = adx_new_tensor_term(k->t, to.value, s, to.out, 1);
    for (uint32_t i = 0; i < count; i++)
        adx_add_factor(term, x[i]);
}

// Makes a minimum or maximum a value of its own kind: its terms are the numbers
// that it compares.
static void adx_lower_most(adx_lowering *k, adx_target to, adx_set *s,
                           const adx_tensor_node *n)
{
    k->t->program->value[to.value].kind = ADX_VALUE_MOST;
    k->t->program->value[to.value].op =
        n->kind == ADX_TREE_MAXIMUM ? ADREV_OP_max : ADREV_OP_min;
    adx_bind_indices(k, s, n->first, n->count);
    // One piece, so that its points have an order: the first of those that are
    // largest has the derivative.
    const adx_set_pieces *pieces = adx_sets_where(k, s, n->condition);
    if (pieces != NULL && pieces->n > 1)
        pieces = adx_where_by_bits(k, s, n->condition);
    for (uint32_t i = 0; pieces != NULL && i < pieces->n && adx_is_lowering(k);
         i++) {
        adx_set *c = pieces->set[i];
        adx_access x = adx_argument_of(k, c, n->child);
        adx_simplify_set(c);
        if (adx_is_lowering(k))
            adx_add_factor(adx_new_tensor_term(k->t, to.value, c, to.out, 1),
                           x);
    }
    adx_forget_indices(k, n->first, n->count);
}

// Returns the product of two numbers at each point of a set, as a value: a
// factor of a power.
static adx_access adx_unnamed_product(adx_lowering *k, adx_set *s, adx_access x,
                                      adx_access y)
{
    const adx_access none = { 0, 0 };
    adx_set *c = adx_is_lowering(k) ? adx_copy_set(s) : NULL;
    if (c == NULL)
        return none;
    adx_target unnamed = adx_new_unnamed(k, ADX_VALUE_SUM, c);
    if (!adx_is_lowering(k))
        return none;
    adx_tensor_term *term = adx_new_tensor_term(k->t, unnamed.value, c,
                                                unnamed.out, 1);
    adx_add_factor(term, x);
    adx_add_factor(term, y);
    if (term != NULL)
        term->in_power = true;
    unnamed.value = adx_complete_value(k->t, unnamed.value);
    return adx_read_unnamed(s, c, unnamed, adx_dims_of(k, unnamed.value));
}

// Lowers x^n for |n| > 2: squares and products, each a value; or 1 / x^n.
static void adx_lower_power_of(adx_lowering *k, adx_target to, adx_set *s,
                               const adx_tensor_node *n)
{
    uint32_t left = (uint32_t)(n->power < 0 ? -(int64_t)n->power : n->power);
    const adx_tensor_node *base = adx_node_of(k, n->child);
    ad_real times = 1;
    adx_access all = { 0, 0 };
    const adx_access first = n->power < 0 ? adx_argument_of(k, s, n->child)
        : base->kind == ADX_TREE_READ ? adx_factor_read(k, &s, base, &times)
        : adx_unnamed_factor(k, &s, &n->child, 1, false);
    adx_access square = first;
    if (adx_is_lowering(k))
        adx_simplify_set(s);
    if (n->power % 2 == 0)
        times = 1;
    bool any = false;
    for (; left > 0 && adx_is_lowering(k); left >>= 1) {
        if (left & 1) {
            all = any ? adx_unnamed_product(k, s, all, square) : square;
            any = true;
        }
        if (left > 1)
            square = adx_unnamed_product(k, s, square, square);
    }
    if (!adx_is_lowering(k))
        return;
    adx_simplify_set(s);
    if (s->empty)
        return;
    if (n->power > 0)
        adx_add_factor(adx_new_tensor_term(k->t, to.value, s, to.out, times),
                       all);
    else {
        const adx_access one = { adx_constant_value(k->t, 1), 0 };
        adx_tensor_value *v = &k->t->program->value[to.value];
        v->kind = ADX_VALUE_APPLICATION;
        v->op = ADREV_OP_div;
        adx_tensor_term *term =
            adx_new_tensor_term(k->t, to.value, s, to.out, 1);
        adx_add_factor(term, one);
        adx_add_factor(term, all);
        if (term != NULL) {
            term->power = n->power;
            term->base = first;
        }
    }
}

// Lowers an expression into a value of its own, at the points of s.
static void adx_lower_into(adx_lowering *k, adx_target to, adx_set *s,
                           uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (s->empty)
        return;
    if (n->kind == ADX_TREE_CALL && n->of != ADREV_OP_detach)
        adx_lower_call(k, to, s, n);
    else if (n->kind == ADX_TREE_MAXIMUM || n->kind == ADX_TREE_MINIMUM)
        adx_lower_most(k, to, s, n);
    else if (n->kind == ADX_TREE_POWER && (n->power < 0 || n->power > 2))
        adx_lower_power_of(k, to, s, n);
    else
        adx_lower_sum(k, to, s, node, 1);
}

// Lowers the values of all formulas.
static void adx_lower_formulas(adx_lowering *k)
{
    const adx_tree *tree = &k->t->tree;
    for (uint32_t i = 1; i < tree->formula_count && adx_is_lowering(k); i++) {
        const adx_tensor_formula *f = &tree->formula[i];
        uint32_t rank = tree->array[f->array].rank;
        adx_set *s = adx_begin_set(k->t);
        if (s == NULL)
            return;
        const adx_target to = {
            k->value_of[f->array], adx_bind_indices(k, s, f->first, rank)
        };
        adx_lower_into(k, to, s, f->body);
        adx_forget_indices(k, f->first, rank);
        if (adx_is_lowering(k))
            k->value_of[f->array] = adx_complete_value(k->t, to.value);
    }
}

ADX_SELDOM_END
