#pragma once

/* === tensor/lower ===========================================================
 * From formulas to terms. Conditions and ranges go into the sets of the terms;
 * a sum of sums is one list of terms. What is multiplied or given to a
 * function, and is no number of an array, becomes a value of its own, at those
 * points only where it is needed, and along those indices only that it
 * mentions.
 *
 * Reads are proved to be inside here, for the sizes that are given.
 *
 *   needs   tensor/api tensor/tree tensor/messages tensor/arena tensor/sets
 *           tensor/nests tensor/open
 *   offers  adx_lowering adx_node_of adx_is_lowering adx_misfit
 *           adx_find_outside adx_say_signed adx_say_outside adx_check_inside
 *           adx_lower_form adx_bind_indices adx_forget_indices
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_lowering {
    ad_tensor *t;
    ad_tensor_error *error;
    uint32_t *row_of;           // of each index that is bound: the row of sets
                                // that is its value; ADX_NOT_YET
    uint32_t *value_of;         // of the tree's arrays
    unsigned again;             // products that are made a second time
    bool overflows;             // a condition has too many parts
    uint32_t size_rows;         // rows of open sizes, if these are to be said:
                                // the first one; or 0
} adx_lowering;

static const adx_tensor_node *adx_node_of(const adx_lowering *k, uint32_t node)
{
    return &k->t->tree.node[node];
}

// Whether lowering goes on: nothing has failed so far.
static bool adx_is_lowering(const adx_lowering *k)
{
    return k->t->arena.status == ADREV_OK;
}

// Says what does not fit.
static void adx_misfit(adx_lowering *k, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (adx_is_lowering(k) && k->error != NULL)
        adx_explain_at(k->error, &k->t->tree, at, format, &args);
    va_end(args);
    adx_arena_fail(&k->t->arena, ADREV_ESHAPE);
}

/* --- reads that are outside ---------------------------------------------- */

// Returns what the rows of a set are at a point of it. NULL: it has none, or no
// memory; or, of open sizes, it would take *long to find one.
static int64_t *adx_find_point(const adx_set *c, bool *takes_long)
{
    adx_witness w = { ADX_GET(c->arena, c->vars, int64_t), false };
    const adx_nest *nest = c->empty ? NULL : adx_make_nest(c, UINT32_MAX, NULL);
    *takes_long = c->open > 0 && nest != NULL && adx_is_long_walk(nest);
    if (w.x == NULL || nest == NULL || *takes_long)
        return NULL;
    adx_walk_nest(nest, w.x, adx_take_witness, &w);
    if (!w.found)
        return NULL;
    // of variables that were replaced: what the rows of c say of all indices
    int64_t *value = ADX_GET(c->arena, c->rows, int64_t);
    for (uint32_t i = 0; value != NULL && i < c->rows; i++) {
        value[i] = adx_form_of(c, i)[0];
        for (uint32_t v = 0; v < c->vars; v++)
            value[i] += adx_form_of(c, i)[1 + v] * (c->gone[v] ? 0 : w.x[v]);
    }
    return value;
}

#define ADX_CORNERS_MOST 4      // open sizes

// Returns a point for sizes that are all at an end of their ranges.
static int64_t *adx_find_at_corners(const adx_set *s)
{
    uint32_t open = s->open < ADX_CORNERS_MOST ? s->open : ADX_CORNERS_MOST;
    int64_t *value = NULL;
    for (uint32_t i = 0; i < (uint32_t)1 << open && value == NULL; i++) {
        adx_set *c = adx_copy_set(s);
        bool takes_long;
        for (uint32_t v = 0; c != NULL && v < s->open; v++)
            adx_fix_var(c, v, i >> v % open & 1 ? s->high[v] : s->low[v]);
        if (c == NULL)
            return NULL;
        adx_simplify_set(c);
        value = adx_find_point(c, &takes_long);
    }
    return value;
}

// Returns a point of a set at which a row is below, or above, a bound. NULL:
// there is none, or no memory; or it would take too long to find out for all
// sizes.
static int64_t *adx_find_outside(const adx_set *s, uint32_t row, int64_t bound,
                                 bool above)
{
    const int64_t *form = adx_form_of(s, row);
    bool takes_long;
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
    int64_t *value = adx_find_point(c, &takes_long);
    if (takes_long) {
        value = adx_find_at_corners(c);
        if (value == NULL)
            adx_arena_fail(s->arena, ADREV_ELIMIT);
    }
    return value;
}

// Adds a whole number, with its sign, to a message.
static void adx_say_signed(adx_saying *s, int64_t v)
{
    if (v < 0)
        adx_say_string(s, "-");
    adx_say_whole(s, (uint32_t)(v < 0 ? -v : v));
}

// Adds "i=0, j=1" to a message.
static void adx_say_indices(const adx_lowering *k, adx_saying *s,
                            const int64_t value[])
{
    const adx_tree *tree = &k->t->tree;
    bool any = false;
    for (uint32_t i = 0; k->size_rows != 0 && i < k->t->open->n; i++) {
        adx_say_string(s, any ? ", " : " at ");
        any = true;
        adx_say_spot(s, tree, tree->size[k->t->open->size[i]]);
        adx_say_string(s, "=");
        adx_say_signed(s, value[k->size_rows + i]);
    }
    for (uint32_t i = 1; i < tree->index_count; i++)
        if (k->row_of[i] != ADX_NOT_YET) {
            adx_say_string(s, any ? ", " : " at ");
            any = true;
            adx_say_spot(s, tree, tree->index[i].name);
            adx_say_string(s, "=");
            adx_say_signed(s, value[k->row_of[i]]);
        }
}

// Says "x[i-j] is x[-1] at i=0, j=1; x?[i-j] reads 0 there".
static void adx_say_outside(adx_lowering *k, const adx_tensor_node *n,
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

// Checks that row r, which says how far index reads are inside, is never
// negative, whatever the open sizes are.
static void adx_check_inside(adx_lowering *k, const adx_set *s,
                             const adx_tensor_node *n, const uint32_t rows[],
                             uint32_t r)
{
    adx_set *c = adx_copy_set(s);
    if (c == NULL)
        return;
    k->size_rows = c->rows;
    for (uint32_t v = 0; v < c->open; v++) {
        uint32_t size = adx_new_row(c, ADX_ROW_FORM);
        if (size == UINT32_MAX)
            return;
        adx_form_of(c, size)[1 + v] = 1;
    }
    const int64_t *value = adx_find_outside(c, r, 0, false);
    if (value != NULL)
        adx_say_outside(k, n, rows, value);
    k->size_rows = 0;
}

/* --- forms --------------------------------------------------------------- */

static uint32_t adx_lower_form(adx_lowering *k, adx_set *s, uint32_t form);

// Returns the value of a map at the form of a row, as a variable.
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

// Returns a map of a form: the form must be in its range.
static uint32_t adx_lower_map(adx_lowering *k, adx_set *s,
                              const adx_multiple *m, size_t at)
{
    adx_int_table *table = k->t->program->map[m->of];
    uint32_t argument = adx_lower_form(k, s, m->argument);
    if (argument == UINT32_MAX || !adx_is_lowering(k))
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

// Makes a form of the text a row of the set. UINT32_MAX: it failed.
static uint32_t adx_lower_form(adx_lowering *k, adx_set *s, uint32_t form)
{
    const adx_affine *f = &k->t->tree.form[form];
    uint32_t to = adx_new_row(s, ADX_ROW_FORM);
    if (to == UINT32_MAX)
        return to;
    adx_form_of(s, to)[0] = f->constant;
    for (uint32_t i = 0; i < f->count && adx_is_lowering(k); i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        uint32_t row = m->kind == ADX_OF_INDEX ? k->row_of[m->of]
                     : m->kind == ADX_OF_MAP ? adx_lower_map(k, s, m, f->at)
                     : UINT32_MAX;
        if (m->kind == ADX_OF_SIZE && s->open > 0
            && k->t->open->var[m->of] != 0)
            adx_form_of(s, to)[k->t->open->var[m->of]] += m->k;
        else if (m->kind == ADX_OF_SIZE)
            adx_form_of(s, to)[0] = adx_whole_add(s->arena,
                adx_form_of(s, to)[0], m->k, k->t->given.size[m->of]);
        else if (row != UINT32_MAX)
            adx_add_multiple(s, adx_form_of(s, to), m->k, adx_form_of(s, row));
    }
    return adx_is_lowering(k) ? to : UINT32_MAX;
}

/* --- indices ------------------------------------------------------------- */

// The first and the last number of an index, as forms in open sizes.
static void adx_ends_of_index(adx_lowering *k, const adx_tensor_index *x,
                              int64_t *end[2])
{
    for (int i = 0; i < 2; i++) {
        end[i] = ADX_GET(&k->t->arena, 1 + adx_open_of(k->t), int64_t);
        if (end[i] != NULL
            && !adx_form_in_sizes(k->t, i == 0 ? x->from : x->to, end[i]))
            adx_arena_fail(&k->t->arena, ADREV_ESHAPE);
    }
    if (adx_is_lowering(k))
        end[1][0]--;
}

// Makes indices variables of the set, and rows, one behind the other. Returns
// the first row.
static uint32_t adx_bind_indices(adx_lowering *k, adx_set *s, uint32_t first,
                                 uint32_t count)
{
    uint32_t vars = s->vars;
    uint32_t rows = s->rows;
    for (uint32_t i = 0; i < count; i++) {
        const adx_tensor_index *x = &k->t->tree.index[first + i];
        int64_t *end[2];
        adx_ends_of_index(k, x, end);
        uint32_t v = !adx_is_lowering(k) ? UINT32_MAX
            : adx_new_var(s, adx_open_extreme(k->t, end[0], false),
                          adx_open_extreme(k->t, end[1], true));
        if (v != UINT32_MAX)
            s->called[v] = first + i;
    }
    for (uint32_t i = 0; i < count && adx_is_lowering(k); i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r == UINT32_MAX)
            break;
        adx_form_of(s, r)[1 + vars + i] = 1;
        k->row_of[first + i] = r;
    }
    for (uint32_t i = 0; i < count && s->open > 0 && adx_is_lowering(k); i++) {
        int64_t *end[2];
        adx_ends_of_index(k, &k->t->tree.index[first + i], end);
        if (adx_is_lowering(k))
            adx_bound_var(s, vars + i, end[0], end[1]);
    }
    return rows;
}

// Takes indices out of scope: no row stands for them any more.
static void adx_forget_indices(adx_lowering *k, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        k->row_of[first + i] = ADX_NOT_YET;
}

ADX_SELDOM_END
