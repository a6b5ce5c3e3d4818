#pragma once

/* === tensor/values ========================================================
 * Unnamed values, which hold what stands inside an expression: which variables
 * that mentions, the set in which it is computed, how it is read, and whether
 * it is written at all points of that set. The value has only those indices
 * that are mentioned, so it is computed once for all points that differ in
 * others.
 *
 *   needs   tensor/tree tensor/arena tensor/sets tensor/nests tensor/open
 *           tensor/programs tensor/lower
 *   offers  adx_target adx_mention adx_new_unnamed adx_set_of_unnamed
 *           adx_read_unnamed adx_dims_of adx_covers adx_is_everywhere_in
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Where an expression goes: numbers of a value, by rows of sets.
typedef struct adx_target {
    uint32_t value;
    uint32_t out;
} adx_target;

/* --- what is mentioned --------------------------------------------------- */

// Finds the variables of the set that a form mentions, also by maps.
static void adx_mention_form(const adx_lowering *k, const adx_set *s,
                             uint32_t form, bool var[])
{
    const adx_affine *f = &k->t->tree.form[form];
    for (uint32_t i = 0; i < f->count; i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        if (m->kind == ADX_OF_MAP)
            adx_mention_form(k, s, m->argument, var);
        if (m->kind != ADX_OF_INDEX || k->row_of[m->of] == ADX_NOT_YET)
            continue;
        const int64_t *row = adx_form_of(s, k->row_of[m->of]);
        for (uint32_t v = 0; v < s->vars; v++)
            var[v] = var[v] || row[1 + v] != 0;
    }
}

// Finds the variables of s that an expression, or a condition, depends on.
static void adx_mention(const adx_lowering *k, const adx_set *s, uint32_t node,
                        bool var[])
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (n->kind == ADX_TREE_READ || n->kind == ADX_TREE_MEMBER)
        for (uint32_t i = 0; i < n->count; i++)
            adx_mention_form(k, s, k->t->tree.list[n->first + i], var);
    if (n->kind == ADX_TREE_ZERO || n->kind == ADX_TREE_NOT_ZERO
        || n->kind == ADX_TREE_NOT_NEGATIVE)
        adx_mention_form(k, s, n->of, var);
    if (n->condition != 0)
        adx_mention(k, s, n->condition, var);
    for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
        adx_mention(k, s, c, var);
}

/* --- unnamed values ------------------------------------------------------ */

// Finds variables whose values follow from those of others by a map: memory
// need not have room for all of their values.
static void adx_find_determined(const adx_set *s, bool determined[])
{
    for (uint32_t r = 0; r < s->rows; r++) {
        const int64_t *form = adx_form_of(s, r);
        uint32_t count;
        uint32_t v = 0;
        if (s->row[r].kind != ADX_ROW_VALUE)
            continue;
        adx_divisor_of(s, form, &count, &v);
        const int64_t *argument = adx_form_of(s, s->row[r].at);
        bool free = count == 1 && v >= s->open && argument[1 + v] == 0;
        for (uint32_t i = 0; free && i < s->vars; i++)
            free = argument[1 + i] == 0 || !determined[i];
        if (free)
            determined[v] = true;
    }
}

// Makes a value with a number for each point of a set, which is simplified.
// Rows for its indices are added to the set.
static adx_target adx_new_unnamed(adx_lowering *k, adx_value_kind kind,
                                  adx_set *s)
{
    adx_arena *a = &k->t->arena;
    bool *determined = ADX_GET(a, s->width, bool);
    adx_target to = { 0, s->rows };
    uint32_t dims = 0;
    if (determined == NULL)
        return to;
    adx_find_determined(s, determined);
    for (uint32_t v = s->open; v < s->vars; v++)
        dims += !s->gone[v] && !determined[v];
    to.value = adx_new_value(k->t, kind, dims);
    dims = 0;
    for (uint32_t v = s->open; v < s->vars && adx_is_lowering(k); v++) {
        adx_tensor_value *new = &k->t->program->value[to.value];
        if (s->gone[v] || determined[v])
            continue;
        new->low[dims] = s->low[v];
        new->extent[dims] = s->high[v] - s->low[v] + 1;
        adx_range_of_var(k->t, &new->range, dims++, s, v);
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r != UINT32_MAX)
            adx_form_of(s, r)[1 + v] = 1;
    }
    if (adx_is_lowering(k))
        adx_lay_out(k->t, &k->t->program->value[to.value], NULL);
    return to;
}

// Returns the set in which an expression is computed: without variables that it
// does not mention, if that is exact. Both have the same variables.
static adx_set *adx_set_of_unnamed(adx_lowering *k, adx_set *s,
                                   const uint32_t node[], uint32_t nodes)
{
    adx_simplify_set(s);
    adx_set *c = adx_copy_set(s);
    bool *keep = ADX_GET(&k->t->arena, s->width, bool);
    if (c == NULL || keep == NULL)
        return NULL;
    for (uint32_t i = 0; i < nodes; i++)
        adx_mention(k, s, node[i], keep);
    return adx_project(c, keep) && c->vars == s->vars ? c : adx_copy_set(s);
}

// Returns the number of an unnamed value at the points of s: rows of the same
// variables.
static adx_access adx_read_unnamed(adx_set *s, const adx_set *of,
                                   adx_target unnamed, uint32_t dims)
{
    adx_access to = { unnamed.value, s->rows };
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r == UINT32_MAX)
            break;
        for (uint32_t v = 0; v <= s->vars && v <= of->vars; v++)
            adx_form_of(s, r)[v] = adx_form_of(of, unnamed.out + i)[v];
    }
    return to;
}

// Returns how many indices a value has.
static uint32_t adx_dims_of(const adx_lowering *k, uint32_t value)
{
    return k->t->program->value[value].dims;
}

// Whether two sets have the same form in rows of theirs. Variables that only
// one of them has are in none.
static bool adx_is_same_form(const adx_set *one, uint32_t r, const adx_set *two,
                             uint32_t q)
{
    const int64_t *a = adx_form_of(one, r);
    const int64_t *b = adx_form_of(two, q);
    bool same = a[0] == b[0];
    for (uint32_t v = 0; same && (v < one->vars || v < two->vars); v++)
        same = (v < one->vars ? a[1 + v] : 0) == (v < two->vars ? b[1 + v] : 0);
    return same;
}

// Whether rows of two sets are the same condition.
static bool adx_is_same_condition(const adx_set *one, uint32_t r,
                                  const adx_set *two, uint32_t q)
{
    const adx_set_row *a = &one->row[r];
    const adx_set_row *b = &two->row[q];
    return a->kind == b->kind && a->table == b->table && a->bits == b->bits
        && adx_is_same_form(one, r, two, q)
        && (a->kind != ADX_ROW_VALUE
            || adx_is_same_form(one, a->at, two, b->at));
}

// Returns the first row from r on that is a condition.
static uint32_t adx_next_condition(const adx_set *s, uint32_t r)
{
    while (r < s->rows && s->row[r].kind <= ADX_ROW_FORM)
        r++;
    return r;
}

// Whether the set of a term has the conditions and bounds of a set that it was
// made in. (A condition may have taken the place of a weaker one.)
static bool adx_covers(const adx_set *set, const adx_set *s)
{
    uint32_t q = adx_next_condition(set, 0);
    uint32_t r = adx_next_condition(s, 0);
    bool same = true;
    for (; same && r < s->rows && q < set->rows;
         r = adx_next_condition(s, r + 1), q = adx_next_condition(set, q + 1))
        same = adx_is_same_condition(s, r, set, q);
    same = same && r == s->rows && q == set->rows;
    for (uint32_t v = 0; v < s->vars && same; v++)
        same = s->low[v] == set->low[v] && s->high[v] == set->high[v]
            && s->gone[v] == set->gone[v];
    return same;
}

// Whether a value is written at all points of the set that it is made in.
static bool adx_is_everywhere_in(const adx_lowering *k, uint32_t value,
                                 const adx_set *of)
{
    const adx_tensor_value *v = &k->t->program->value[value];
    bool all = v->kind == ADX_VALUE_MOST;
    for (uint32_t i = 0; i < v->terms && !all; i++)
        all = adx_covers(v->term[i].set, of);
    return all;
}

ADX_SELDOM_END
