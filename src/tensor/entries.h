#pragma once

/* === tensor/entries =========================================================
 * Points as a list. Loops that try more values in vain than they find points
 * are run once, when the text is bound: the points become the entries of a
 * relation, in the order in which the loops find them. From then on the outer
 * loop is over the entries, and a column gives each variable. Levels in front
 * that have no part in the tests stay in front, and those behind the last test
 * stay behind. So points keep their order, and this changes no bits.
 *
 * Terms with the same loops have one list. A list takes four bytes for each
 * variable and point; all lists of a text, ADX_ENTRIES_MOST at most.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/nests tensor/binding
 *   offers  adx_always_has_value adx_use_entries
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Values that are tried in vain, at least; numbers in all columns of a text.
#ifndef ADX_ENTRIES_LEAST
#define ADX_ENTRIES_LEAST 64
#endif
#ifndef ADX_ENTRIES_MOST
#define ADX_ENTRIES_MOST ((uint64_t)1 << 26)
#endif

// The points of levels first ... first + levels - 1 of a nest. The level behind
// them may be a strip, which is not listed; points without one are not either.
typedef struct adx_entry_list {
    const adx_nest *nest;
    uint32_t first, levels;
    uint32_t walked;            // levels; with the strip
    uint64_t n;                 // entries
    adx_int_table *column;      // [levels]; NULL: the loops do better
    struct adx_entry_list *next;
} adx_entry_list;

/* --- which levels -------------------------------------------------------- */

// Whether a map gives the variable of a level at every point that gets there:
// no later level has checks, so no other row is about it.
static bool adx_always_has_value(const adx_set *s, const adx_nest_level *l)
{
    uint32_t v = 0;
    for (uint32_t r = 0; r < s->rows && l->kind == ADX_LEVEL_VALUE; r++)
        if (adx_is_definition(s, r, &v) && v == l->var
            && s->row[r].table == l->table)
            return true;
    return false;
}

// Whether a value may be tried in vain.
static bool adx_may_fail(const adx_set *s, const adx_nest_level *l)
{
    bool safe = l->kind == ADX_LEVEL_RANGE ? l->bounds == 0
                                           : adx_always_has_value(s, l);
    return !safe || l->checks > 0;
}

// Whether a level depends on a variable that is known before.
static bool adx_level_names(const adx_nest_level *l, uint32_t var)
{
    bool named = l->kind != ADX_LEVEL_RANGE
              && (adx_form_has(&l->form, var)
                  || adx_form_has(&l->argument, var));
    for (uint32_t i = 0; i < l->bounds && !named; i++)
        named = adx_form_has(&l->bound[i].form, var);
    for (uint32_t i = 0; i < l->checks && !named; i++)
        named = adx_form_has(&l->check[i].form, var)
             || (l->check[i].kind == ADX_ROW_VALUE
                 && adx_form_has(&l->check[i].argument, var));
    return named;
}

// Returns the levels that a list stands for: up to the last that may fail,
// without those in front that have no part in it. levels 0: there are none.
static adx_entry_list adx_listed_levels(const adx_set *s, const adx_nest *nest)
{
    adx_entry_list l = { .nest = nest };
    uint32_t end = nest->levels;
    bool free = true;
    while (end > 0 && !adx_may_fail(s, &nest->level[end - 1]))
        end--;
    bool strip = end > 0 && end == nest->levels
              && nest->level[end - 1].kind == ADX_LEVEL_RANGE
              && nest->level[end - 1].checks == 0;
    end -= strip;
    while (free && l.first + 1 < end) {
        const adx_nest_level *at = &nest->level[l.first];
        free = at->kind == ADX_LEVEL_RANGE && !adx_may_fail(s, at);
        for (uint32_t i = l.first + 1; i < end + strip && free; i++)
            free = !adx_level_names(&nest->level[i], at->var);
        l.first += free;
    }
    l.levels = end - (end > 0 ? l.first : 0);
    l.walked = l.levels + strip;
    for (uint32_t i = l.first; i < end; i++)
        if (nest->level[i].low < INT32_MIN || nest->level[i].high > INT32_MAX)
            l.levels = 0;
    return l;
}

/* --- equal loops --------------------------------------------------------- */

// Two lists, and the forms of their levels.
typedef struct adx_entry_pair {
    const adx_entry_list *a, *b;
} adx_entry_pair;

// Returns the place of a variable among the listed levels.
static uint32_t adx_place_in_list(const adx_entry_list *l, uint32_t var)
{
    uint32_t i = 0;
    while (i < l->walked && l->nest->level[l->first + i].var != var)
        i++;
    return i;
}

// Whether two forms are the same, by the variables' places in their lists.
static bool adx_are_forms_alike(const adx_entry_pair *p,
                                const adx_sparse_form *one,
                                const adx_sparse_form *other)
{
    bool same = one->n == other->n && one->c == other->c;
    for (uint32_t i = 0; i < one->n && same; i++) {
        uint32_t at = adx_place_in_list(p->a, one->var[i]);
        same = false;
        for (uint32_t j = 0; j < other->n && !same; j++)
            same = adx_place_in_list(p->b, other->var[j]) == at
                && other->k[j] == one->k[i];
    }
    return same;
}

// Whether n checks of two lists are the same, in the same order.
static bool adx_are_checks_alike(const adx_entry_pair *p, uint32_t n,
                                 const adx_set_check *one,
                                 const adx_set_check *other)
{
    bool same = true;
    for (uint32_t i = 0; i < n && same; i++)
        same = one[i].kind == other[i].kind && one[i].k == other[i].k
            && one[i].table == other[i].table && one[i].bits == other[i].bits
            && adx_are_forms_alike(p, &one[i].form, &other[i].form)
            && (one[i].kind != ADX_ROW_VALUE
                || adx_are_forms_alike(p, &one[i].argument,
                                       &other[i].argument));
    return same;
}

// Whether level i of two lists visits the same values under the same checks.
static bool adx_are_levels_alike(const adx_entry_pair *p, uint32_t i)
{
    const adx_nest_level *a = &p->a->nest->level[p->a->first + i];
    const adx_nest_level *b = &p->b->nest->level[p->b->first + i];
    bool same = a->kind == b->kind && a->low == b->low && a->high == b->high
             && a->bounds == b->bounds && a->checks == b->checks
             && adx_are_checks_alike(p, a->bounds, a->bound, b->bound)
             && adx_are_checks_alike(p, a->checks, a->check, b->check);
    return same
        && (a->kind == ADX_LEVEL_RANGE
            || (a->k == b->k && a->table == b->table
                && adx_are_forms_alike(p, &a->form, &b->form)
                && adx_are_forms_alike(p, &a->argument, &b->argument)));
}

// Returns the list of the same loops, if there is one.
static adx_entry_list *adx_find_entries(const ad_tensor *t,
                                        const adx_entry_list *of)
{
    adx_entry_list *l = t->program->entries;
    for (; l != NULL; l = l->next) {
        const adx_entry_pair p = { l, of };
        bool same = l->levels == of->levels && l->walked == of->walked;
        for (uint32_t i = 0; i < l->walked && same; i++)
            same = adx_are_levels_alike(&p, i);
        if (same)
            break;
    }
    return l;
}

/* --- finding points ------------------------------------------------------ */

typedef struct adx_entering {
    const adx_entry_list *list;
    uint64_t most;              // points; more are not looked for
    uint64_t n;
    uint64_t useful;            // values of levels, that lead to points
    int64_t *before;            // the values of the last point
    int32_t **column;           // that are filled
} adx_entering;

// Counts the values that lead to points: those that differ from the values of
// the point before, or stand behind one that does. A strip is one point.
static bool adx_count_entries(void *user, const int64_t x[], uint32_t var,
                              int64_t count)
{
    adx_entering *k = (adx_entering *)user;
    const adx_nest_level *level = k->list->nest->level + k->list->first;
    uint32_t last = k->list->levels - 1;
    uint32_t i = 0;
    (void)var;
    count = k->list->walked > k->list->levels ? 1 : count;
    while (k->n > 0 && i < last && x[level[i].var] == k->before[i])
        i++;
    for (; i < last; i++, k->useful++)
        k->before[i] = x[level[i].var];
    k->useful += (uint64_t)count;
    k->n += (uint64_t)count;
    return k->n <= k->most;
}

// Writes down the points of a strip as entries, or its first one if the strip
// is behind the list.
static bool adx_note_entries(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    adx_entering *k = (adx_entering *)user;
    const adx_nest_level *level = k->list->nest->level + k->list->first;
    count = k->list->walked > k->list->levels ? 1 : count;
    for (uint32_t i = 0; i < k->list->levels; i++) {
        int32_t *to = k->column[i] + k->n;
        int64_t from = x[level[i].var];
        for (int64_t j = 0; j < count; j++)
            to[j] = (int32_t)(from + (level[i].var == var ? j : 0));
    }
    k->n += (uint64_t)count;
    return true;
}

// Counts the points of strips.
static bool adx_count_values(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    (void)x;
    (void)var;
    *(uint64_t *)user += (uint64_t)count;
    return true;
}

// Returns how many values the loops try, level by level. x: [vars] memory;
// level: room for those of the list.
static uint64_t adx_count_tries(const adx_entry_list *l, int64_t x[],
                                adx_nest_level level[])
{
    adx_nest nest = *l->nest;
    uint64_t tries = 0;
    uint64_t left = 1;          // what the checks of the level before pass
    nest.level = level;
    memcpy(level, l->nest->level + l->first, l->levels * sizeof *level);
    for (uint32_t i = 0; i < l->levels; i++) {
        uint32_t checks = level[i].checks;
        bool one = level[i].kind == ADX_LEVEL_SOLVED
                || level[i].kind == ADX_LEVEL_VALUE;
        uint64_t n = 0;
        nest.levels = i + 1;
        level[i].checks = 0;
        adx_walk_nest(&nest, x, adx_count_values, &n);
        tries += one ? left : n;
        level[i].checks = checks;
        left = n;
        if (checks > 0 && i + 1 < l->levels) {
            left = 0;
            adx_walk_nest(&nest, x, adx_count_values, &left);
        }
    }
    return tries;
}

// Makes room for the columns. False: no memory.
static bool adx_make_entry_columns(ad_tensor *t, adx_entry_list *l,
                                   adx_entering *k)
{
    adx_int_table *column = ADX_GET(&t->arena, l->levels, adx_int_table);
    k->column = ADX_GET(&t->arena, l->levels, int32_t *);
    if (k->column == NULL)
        return false;
    for (uint32_t i = 0; column != NULL && i < l->levels; i++) {
        column[i].value = k->column[i] = ADX_GET(&t->arena, l->n, int32_t);
        column[i].n = (size_t)l->n;
        if (column[i].value == NULL)
            return false;
    }
    l->column = column;
    return column != NULL;
}

// Finds the least and the largest value, and whether they never fall.
static void adx_measure_column(adx_int_table *c)
{
    c->low = c->high = c->value[0];
    c->ascending = true;
    for (size_t i = 1; i < c->n; i++) {
        c->low = c->value[i] < c->low ? c->value[i] : c->low;
        c->high = c->value[i] > c->high ? c->value[i] : c->high;
        c->ascending = c->ascending && c->value[i - 1] <= c->value[i];
    }
}

// Looks for the points; fills the columns if more values are tried in vain than
// there are points. False: no memory.
static bool adx_find_points(ad_tensor *t, adx_entry_list *l)
{
    adx_tensor_program *p = t->program;
    adx_nest nest = *l->nest;
    adx_entering k = { .list = l };
    int64_t *x = ADX_GET(&t->arena, nest.vars, int64_t);
    adx_nest_level *room = ADX_GET(&t->arena, l->levels, adx_nest_level);
    k.before = ADX_GET(&t->arena, l->levels, int64_t);
    if (x == NULL || room == NULL || k.before == NULL)
        return false;
    nest.level += l->first;
    nest.levels = l->walked;
    k.most = (ADX_ENTRIES_MOST - p->entry_numbers) / l->levels;
    if (!adx_walk_nest(&nest, x, adx_count_entries, &k))
        return true;
    uint64_t vain = adx_count_tries(l, x, room) - k.useful;
    if (vain <= k.n || vain < ADX_ENTRIES_LEAST)
        return true;
    l->n = k.n;
    p->entry_numbers += k.n * l->levels;
    if (!adx_make_entry_columns(t, l, &k))
        return false;
    k.n = 0;
    adx_walk_nest(&nest, x, adx_note_entries, &k);
    for (uint32_t i = 0; i < l->levels && l->n > 0; i++)
        adx_measure_column(&l->column[i]);
    return true;
}

/* --- loops over entries -------------------------------------------------- */

// Returns the last level at which a variable of a form is known, + 1; 0: it has
// none.
static uint32_t adx_known_from(const adx_set *s, const adx_nest *nest,
                               uint32_t row)
{
    uint32_t last = 0;
    for (uint32_t l = 0; l < nest->levels; l++)
        if (adx_form_of(s, row)[1 + nest->level[l].var] != 0)
            last = l + 1;
    return last;
}

// Returns the set with an entry in place of the conditions that the list has
// seen to. NULL: no memory.
static adx_set *adx_set_of_entries(const adx_set *of, const adx_entry_list *l,
                                   const adx_nest *nest)
{
    adx_set *s = adx_copy_set(of);
    uint32_t end = l->first + l->levels;
    if (s == NULL)
        return NULL;
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind > ADX_ROW_FORM
            && adx_known_from(s, nest, r) <= end
            && (s->row[r].kind != ADX_ROW_VALUE
                || adx_known_from(s, nest, s->row[r].at) <= end))
            s->row[r].kind = ADX_ROW_GONE;
    s->empty = s->empty || l->n == 0;
    uint32_t e = adx_new_var(s, 0, l->n == 0 ? 0 : (int64_t)l->n - 1);
    uint32_t at = e == UINT32_MAX ? e : adx_new_row(s, ADX_ROW_FORM);
    if (at == UINT32_MAX)
        return NULL;
    adx_form_of(s, at)[1 + e] = 1;
    for (uint32_t i = 0; i < l->levels; i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_VALUE);
        if (r == UINT32_MAX)
            return NULL;
        adx_form_of(s, r)[1 + nest->level[l->first + i].var] = 1;
        s->row[r].at = at;
        s->row[r].table = &l->column[i];
    }
    return s;
}

// A level whose variable a column gives, of the entry that variable e is.
static bool adx_level_of_column(adx_arena *a, adx_nest_level *l, uint32_t e,
                                adx_int_table *column)
{
    const adx_nest_level to = {
        .kind = ADX_LEVEL_VALUE, .var = l->var, .low = l->low, .high = l->high,
        .k = 1,
        .argument = { 0, 1, ADX_GET(a, 1, uint32_t), ADX_GET(a, 1, int64_t) },
        .table = column
    };
    *l = to;
    if (a->status != ADREV_OK)
        return false;
    l->argument.var[0] = e;
    l->argument.k[0] = 1;
    return true;
}

// Returns the loops in front, over the entries, and behind. NULL: no memory.
static adx_nest *adx_nest_of_entries(const adx_set *s, const adx_entry_list *l,
                                     const adx_nest *of)
{
    adx_nest *to = ADX_GET(s->arena, 1, adx_nest);
    uint32_t e = s->vars - 1;
    if (to == NULL)
        return NULL;
    to->levels = of->levels + 1;
    to->vars = s->vars;
    to->empty = of->empty || l->n == 0;
    to->level = ADX_GET(s->arena, to->levels, adx_nest_level);
    if (to->level == NULL)
        return NULL;
    memcpy(to->level, of->level, l->first * sizeof *to->level);
    memcpy(to->level + l->first + 1, of->level + l->first,
           (of->levels - l->first) * sizeof *to->level);
    adx_nest_level *at = &to->level[l->first];
    at->kind = ADX_LEVEL_RANGE;
    at->var = e;
    at->low = s->low[e];
    at->high = s->high[e];
    at->bounds = at->checks = 0;
    for (uint32_t i = 0; i < l->levels; i++)
        if (!adx_level_of_column(s->arena, &at[1 + i], e, &l->column[i]))
            return NULL;
    return to;
}

// Makes the loops over a set ones over a list of its points, where that is
// better: another nest, and the set that belongs to it. False: no memory.
static bool adx_use_entries(ad_tensor *t, adx_set **set, const adx_nest **nest)
{
    const adx_entry_list wanted = adx_listed_levels(*set, *nest);
    if (wanted.levels == 0 || (*nest)->empty)
        return true;
    adx_entry_list *l = adx_find_entries(t, &wanted);
    if (l == NULL) {
        l = ADX_GET(&t->arena, 1, adx_entry_list);
        if (l == NULL)
            return false;
        *l = wanted;
        l->next = t->program->entries;
        t->program->entries = l;
        if (!adx_find_points(t, l))
            return false;
    }
    if (l->column == NULL)
        return true;
    adx_entry_list mine = wanted;
    mine.column = l->column;
    mine.n = l->n;
    *set = adx_set_of_entries(*set, &mine, *nest);
    *nest = *set == NULL ? NULL : adx_nest_of_entries(*set, &mine, *nest);
    return *nest != NULL;
}

ADX_SELDOM_END
