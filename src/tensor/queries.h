#pragma once

/* === tensor/queries =========================================================
 * Binding, evaluations and counts: the interface. Binding checks what was
 * given, makes the program with its derivatives, and prepares its loops and
 * storage. An evaluation then needs only memory for those values that its
 * results need. Before each of them it is decided which values these are:
 * backwards from the results that are wanted, and without what is a product
 * with zeros of a NULL direction or weight.
 *
 *   needs   tape/memory tensor/api tensor/tree tensor/messages tensor/arena
 *           tensor/sets tensor/nests tensor/binding tensor/open
 *           tensor/programs tensor/sharing tensor/lower tensor/formulas
 *           tensor/derive tensor/parts tensor/prepare tensor/run
 *   offers  adx_each_place adx_bind_program adx_tensor_arrays
 *           adx_numbers_needed adx_evaluate_tensor adx_points_of_term
 *           adx_count_written adx_count_value adx_need_part adx_numbers_around
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- binding ------------------------------------------------------------- */

// Says that something must be given before the text can be bound.
static void adx_not_given(ad_tensor *t, ad_tensor_error *error, adx_spot name,
                          const char *what)
{
    adx_lowering k = { t, error, NULL, NULL, 0, false, 0 };
    adx_misfit(&k, name.at, what, name);
}

// Whether an end of a range depends on an open size.
static bool adx_is_open_range(const ad_tensor *t, uint32_t dim)
{
    const adx_dim *d = &t->tree.dim[dim];
    return adx_is_open_form(t, d->from) || adx_is_open_form(t, d->to);
}

// Checks that no map or relation, which is given as data, depends on sizes that
// are arguments of the C code.
static void adx_check_open_data(ad_tensor *t, ad_tensor_error *error)
{
    const adx_tree *tree = &t->tree;
    for (uint32_t i = 1; i < tree->map_count; i++)
        if (adx_is_open_range(t, tree->map[i].domain)
            || adx_is_open_range(t, tree->map[i].values))
            adx_not_given(t, error, tree->map[i].name, "the ranges of the map "
                          "'%w' depend on sizes that are arguments");
    for (uint32_t i = 1; i < tree->relation_count; i++)
        for (uint32_t c = 0; c < tree->relation[i].arity; c++)
            if (adx_is_open_range(t, tree->relation[i].first + c))
                adx_not_given(t, error, tree->relation[i].name, "the ranges of "
                              "the relation '%w' depend on sizes that are "
                              "arguments");
}

// Checks that sizes, maps and relations are given, and their values inside.
static void adx_check_given(ad_tensor *t, ad_tensor_error *error)
{
    const adx_tree *tree = &t->tree;
    for (uint32_t i = 1; i < tree->size_count; i++)
        if (t->given.size[i] < 0)
            adx_not_given(t, error, tree->size[i],
                          "the size '%w' is not given: ad_tensor_size");
    for (uint32_t i = 1; i < tree->map_count; i++)
        if (t->given.map[i] == NULL)
            adx_not_given(t, error, tree->map[i].name,
                          "the map '%w' is not given: ad_tensor_map");
    for (uint32_t i = 1; i < tree->relation_count; i++)
        if (t->given.relation[i].column == NULL)
            adx_not_given(t, error, tree->relation[i].name, "the relation '%w' "
                          "is not given: ad_tensor_relation or ad_tensor_csr");
    if (t->open != NULL)
        adx_check_open_data(t, error);
}

// Checks that a relation has the rows that it had when it was given.
static void adx_check_rows(ad_tensor *t, ad_tensor_error *error, uint32_t i)
{
    const adx_tensor_relation *r = &t->tree.relation[i];
    const adx_given_relation *g = &t->given.relation[i];
    int64_t from = 0;
    int64_t to = 0;
    adx_dim_range(t, &t->tree.dim[r->first], &from, &to);
    if (g->by_rows && (g->from != from || g->to != to))
        adx_not_given(t, error, r->name, "the rows of the relation '%w' were "
                      "given for another size: give them again");
}

// Makes a table of the numbers of a map, or of a column of a relation, and
// checks that each is in its range. NULL: no memory, or a number is not.
static adx_int_table *adx_make_table(ad_tensor *t, ad_tensor_error *error,
                                 adx_spot name, const int32_t value[], size_t n,
                                 int64_t from, const adx_dim *values)
{
    adx_int_table *to = ADX_GET(&t->arena, 1, adx_int_table);
    int64_t end = 0;
    if (to == NULL)
        return NULL;
    adx_dim_range(t, values, &to->low, &end);
    to->high = end - 1;
    to->value = value;
    to->from = from;
    to->n = n;
    for (size_t i = 0; i < n; i++)
        if (value[i] < to->low || value[i] > to->high) {
            char text[100];
            adx_saying s = { text, 0, sizeof text };
            adx_lowering k = { t, error, NULL, NULL, 0, false, 0 };
            adx_say_string(&s, "' has ");
            adx_say_signed(&s, value[i]);
            adx_say_string(&s, " at number ");
            adx_say_signed(&s, (int64_t)i);
            adx_say_string(&s, ", which is outside");
            adx_misfit(&k, name.at, "'%w%s", name, text);
            return NULL;
        }
    return to;
}

// Makes the tables of all maps and relations.
static void adx_make_tables(ad_tensor *t, ad_tensor_error *error)
{
    adx_tensor_program *p = t->program;
    const adx_tree *tree = &t->tree;
    uint32_t columns = 0;
    for (uint32_t i = 1; i < tree->relation_count; i++)
        columns += tree->relation[i].arity;
    p->map = ADX_GET(&t->arena, tree->map_count, adx_int_table *);
    p->column = ADX_GET(&t->arena, columns + 1, adx_int_table *);
    p->column_of = ADX_GET(&t->arena, tree->relation_count, uint32_t);
    if (p->map == NULL || p->column == NULL || p->column_of == NULL)
        return;
    for (uint32_t i = 1; i < tree->map_count; i++) {
        const adx_tensor_map *m = &tree->map[i];
        int64_t from = 0;
        int64_t to = 0;
        adx_dim_range(t, &tree->dim[m->domain], &from, &to);
        if ((size_t)(to - from) != t->given.map_n[i])
            adx_not_given(t, error, m->name, "the map '%w' was given for "
                          "another size: give it again");
        else
            p->map[i] = adx_make_table(t, error, m->name, t->given.map[i],
                                       t->given.map_n[i], from,
                                       &tree->dim[m->values]);
    }
    columns = 0;
    for (uint32_t i = 1; i < tree->relation_count; i++) {
        const adx_tensor_relation *r = &tree->relation[i];
        const adx_given_relation *g = &t->given.relation[i];
        p->column_of[i] = columns;
        adx_check_rows(t, error, i);
        for (uint32_t c = 0; c < r->arity && t->arena.status == ADREV_OK; c++)
            p->column[columns++] = adx_make_table(t, error, r->name,
                                                  g->column[c], g->entries, 0,
                                                  &tree->dim[r->first + c]);
    }
}

// Whether entry one comes before entry other; 0: they are the same.
static int adx_compare_entries(const adx_given_relation *g, uint32_t arity,
                               uint32_t one, uint32_t other)
{
    for (uint32_t c = 0; c < arity; c++)
        if (g->column[c][one] != g->column[c][other])
            return g->column[c][one] < g->column[c][other] ? -1 : 1;
    return 0;
}

// Sorts entries by merging, in room for twice as many.
static void adx_sort_relation(const adx_given_relation *g, uint32_t arity,
                              uint32_t *list, uint32_t *room)
{
    size_t n = g->entries;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t a = i;
            size_t b = i + width < n ? i + width : n;
            size_t middle = b;
            size_t end = i + 2 * width < n ? i + 2 * width : n;
            for (size_t to = i; to < end; to++) {
                bool left = b == end
                         || (a < middle
                             && adx_compare_entries(g, arity, list[a], list[b])
                                    <= 0);
                room[to] = left ? list[a++] : list[b++];
            }
        }
        memcpy(list, room, n * sizeof *list);
    }
}

// Checks that a relation has no entry twice.
static void adx_check_entries(ad_tensor *t, ad_tensor_error *error,
                              uint32_t relation)
{
    const adx_given_relation *g = &t->given.relation[relation];
    uint32_t arity = t->tree.relation[relation].arity;
    uint32_t *list = ADX_GET(&t->arena, g->entries, uint32_t);
    uint32_t *room = ADX_GET(&t->arena, g->entries, uint32_t);
    if (list == NULL || room == NULL)
        return;
    for (size_t i = 0; i < g->entries; i++)
        list[i] = (uint32_t)i;
    adx_sort_relation(g, arity, list, room);
    for (size_t i = 1; i < g->entries; i++)
        if (adx_compare_entries(g, arity, list[i - 1], list[i]) == 0) {
            char text[100];
            adx_saying s = { text, 0, sizeof text };
            adx_lowering k = { t, error, NULL, NULL, 0, false, 0 };
            adx_say_string(&s, "' has an entry twice: numbers ");
            adx_say_signed(&s, list[i - 1]);
            adx_say_string(&s, " and ");
            adx_say_signed(&s, list[i]);
            adx_misfit(&k, t->tree.relation[relation].name.at, "'%w%s",
                       t->tree.relation[relation].name, text);
            return;
        }
}

// The range of an index where sizes are open; low and extent are those of all
// numbers that the array can have.
static void adx_open_dim(ad_tensor *t, const adx_dim *dim, adx_tensor_value *v,
                         uint32_t d)
{
    uint32_t open = adx_open_of(t);
    int64_t *extent = ADX_GET(&t->arena, 1 + open, int64_t);
    if (extent == NULL || v->range.from == NULL || v->range.last == NULL)
        return;
    int64_t *from = v->range.from + (size_t)d * (1 + open);
    int64_t *last = v->range.last + (size_t)d * (1 + open);
    if (!adx_form_in_sizes(t, dim->from, from)
        || !adx_form_in_sizes(t, dim->to, last))
        adx_arena_fail(&t->arena, ADREV_ESHAPE);
    memcpy(extent, last, (1 + open) * sizeof *extent);
    adx_add_open(&t->arena, extent, -1, from, open);
    last[0]--;
    v->low[d] = adx_open_extreme(t, from, false);
    v->extent[d] = adx_open_extreme(t, extent, true);
    v->extent[d] = v->extent[d] < 0 ? 0 : v->extent[d];
}

// Makes values for the arrays of the text.
static void adx_make_arrays(ad_tensor *t, uint32_t value_of[])
{
    const adx_tree *tree = &t->tree;
    adx_tensor_program *p = t->program;
    for (uint32_t i = 1; i < tree->array_count; i++) {
        const adx_tensor_array *a = &tree->array[i];
        uint32_t columns = a->rank > 0 && tree->dim[a->first].relation != 0
            ? tree->relation[tree->dim[a->first].relation].arity : 0;
        uint32_t v = adx_new_value(t, a->formula == 0 ? ADX_VALUE_INPUT
                                   : ADX_VALUE_SUM, adx_places_of(tree, a));
        if (v == 0)
            return;
        adx_tensor_value *to = adx_tensor_value_at(t, v);
        to->array = i;
        to->order = a->order;
        value_of[i] = v;
        uint32_t d = 0;
        if (columns > 0)
            to->extent[d++] = (int64_t)
                t->given.relation[tree->dim[a->first].relation].entries;
        if (columns > 0 && to->range.last != NULL)
            to->range.last[0] = to->extent[0] - 1;
        for (uint32_t j = columns; j < a->rank; j++, d++) {
            int64_t end = 0;
            if (!adx_dim_range(t, &tree->dim[a->first + j], &to->low[d], &end))
                adx_arena_fail(&t->arena, ADREV_ESHAPE);
            to->extent[d] = end - to->low[d];
            if (t->open != NULL)
                adx_open_dim(t, &tree->dim[a->first + j], to, d);
        }
        adx_lay_out(t, to, t->given.stride[i]);
        if (a->formula == 0)
            p->input[a->order] = v;
        else if (a->out) {
            p->out[a->order] = v;
            to->result = true;
        }
    }
}

// Makes an empty program. Value 0 stands for none. False: no memory.
static bool adx_begin_tensor_program(ad_tensor *t)
{
    adx_arena *a = &t->arena;
    adx_tensor_program *p = ADX_GET(a, 1, adx_tensor_program);
    if (p == NULL)
        return false;
    p->room = 64;
    p->values = 1;
    p->value = ADX_GET(a, p->room, adx_tensor_value);
    p->order_room = 64;
    p->order = ADX_GET(a, p->order_room, uint32_t);
    p->input = ADX_GET(a, t->tree.inputs, uint32_t);
    p->tangent_in = ADX_GET(a, t->tree.inputs, uint32_t);
    p->adjoint_in = ADX_GET(a, t->tree.inputs, uint32_t);
    p->second_in = ADX_GET(a, t->tree.inputs, uint32_t);
    p->weight = ADX_GET(a, t->tree.outs, uint32_t);
    p->out = ADX_GET(a, t->tree.outs, uint32_t);
    p->tangent_out = ADX_GET(a, t->tree.outs, uint32_t);
    t->program = p;
    return a->status == ADREV_OK;
}

/* --- places of numbers --------------------------------------------------- */

typedef void adx_place_fn(void *user, ptrdiff_t at);

// Visits all numbers in the order of indices.
static void adx_each_place(const adx_tensor_value *v, uint32_t dim,
                           ptrdiff_t at, adx_place_fn *visit, void *user)
{
    if (v->size == 0)
        return;
    if (dim == v->dims) {
        visit(user, at);
        return;
    }
    for (int64_t i = 0; i < v->extent[dim]; i++)
        adx_each_place(v, dim + 1, at + (ptrdiff_t)i * v->stride[dim], visit,
                       user);
}

typedef struct adx_taking_places {
    adx_bitmap *taken;
    ptrdiff_t first;
} adx_taking_places;

static void adx_take_place(void *user, ptrdiff_t at)
{
    const adx_taking_places *k = (const adx_taking_places *)user;
    adx_set_bit(k->taken, (uint64_t)(at + k->first));
}

// Finds the inputs of which some numbers share a place, by a layout of the
// caller's: they can have no adjoints.
static void adx_find_crowded(ad_tensor *t)
{
    for (uint32_t i = 0; i < t->tree.inputs; i++) {
        adx_tensor_value *v = adx_tensor_value_at(t, t->program->input[i]);
        adx_arena a = { .memory = &t->memory };
        if (t->given.stride[v->array] == NULL || v->size == 0)
            continue;
        adx_taking_places k = { adx_new_bitmap(&a, v->span), v->first };
        if (k.taken == NULL)
            adx_arena_fail(&t->arena, a.status);
        else {
            adx_each_place(v, 0, 0, adx_take_place, &k);
            v->crowded = k.taken->set < v->size;
        }
        adx_free_arena(&a);
    }
}

// Binds a text to what was given: makes its program, with derivatives, loops
// and storage. The status is in the arena.
static void adx_bind_program(ad_tensor *t, ad_tensor_error *error)
{
    adx_arena *a = &t->arena;
    uint32_t *value_of = ADX_GET(a, t->tree.array_count, uint32_t);
    uint32_t *row_of = ADX_GET(a, t->tree.index_count, uint32_t);
    adx_check_given(t, error);
    if (value_of == NULL || row_of == NULL || a->status != ADREV_OK
        || !adx_begin_tensor_program(t))
        return;
    memset(row_of, 0xff, t->tree.index_count * sizeof *row_of);
    adx_make_tables(t, error);
    for (uint32_t i = 1; i < t->tree.relation_count; i++)
        if (a->status == ADREV_OK)
            adx_check_entries(t, error, i);
    adx_lowering k = { t, error, row_of, value_of, 0, false, 0 };
    if (a->status == ADREV_OK)
        adx_make_arrays(t, value_of);
    if (a->status == ADREV_OK)
        adx_find_crowded(t);
    if (a->status == ADREV_OK)
        adx_lower_formulas(&k);
    if (a->status == ADREV_OK)
        adx_derive_program(t);
    if (a->status == ADREV_OK)
        adx_prepare_program(t);
    if (a->status == ADREV_OK) {
        adx_clear_results(t, t->program->out, t->tree.outs);
        adx_clear_results(t, t->program->tangent_out, t->tree.outs);
        adx_clear_results(t, t->program->adjoint_in, t->tree.inputs);
        adx_clear_results(t, t->program->second_in, t->tree.inputs);
    }
}

ADX_API ad_status ad_tensor_bind(ad_tensor *t, ad_tensor_error *error)
{
    if (t == NULL)
        return ADREV_ESHAPE;
    if (t->program != NULL)
        return ADREV_OK;
    adx_bind_program(t, error);
    ad_status status = t->arena.status;
    if (status != ADREV_OK) {
        if (status == ADREV_ELIMIT && error != NULL)
            adx_explain_text(error,
                             "too large: an array, or the points at which "
                             "a condition is true, have more numbers than can "
                             "be counted");
        else if (status != ADREV_ESHAPE && error != NULL)
            adx_explain_status(error, status);
        adx_unbind_tensor(t);
    }
    return status;
}

/* --- evaluation ---------------------------------------------------------- */

// Arrays of the caller for an evaluation; any may be NULL.
typedef struct adx_tensor_arrays {
    ad_tensor_part part;
    const ad_real *const *x;
    const ad_real *const *v;
    const ad_real *const *w;
    ad_real *const *y;
    ad_real *const *dy;
    ad_real *const *dx;
    ad_real *const *hv;
} adx_tensor_arrays;

// Needs those results for which the caller has arrays, and computes them there.
static void adx_need_results(adx_evaluating *e, const uint32_t value[],
                             uint32_t n, ad_real *const to[])
{
    for (uint32_t i = 0; to != NULL && i < n; i++)
        if (to[i] != NULL && value[i] != 0) {
            e->needed[value[i]] = true;
            e->base[value[i]] = to[i];
        }
}

// Returns the caller's array of an input, a tangent or a weight. NULL: it is
// not given.
static const ad_real *adx_given_array(const adx_tensor_value *v,
                                      const adx_tensor_arrays *a)
{
    const ad_real *const *from = v->kind == ADX_VALUE_INPUT ? a->x
                               : v->kind == ADX_VALUE_TANGENT_IN ? a->v : a->w;
    return from == NULL ? NULL : from[v->order];
}

// Takes the arrays of the caller that are needed. False: an input is missing.
static bool adx_take_given(adx_evaluating *e, const adx_tensor_arrays *a)
{
    const adx_tensor_program *p = e->t->program;
    for (uint32_t i = 1; i < p->values; i++) {
        const adx_tensor_value *v = &p->value[i];
        if (v->kind > ADX_VALUE_WEIGHT || !e->needed[i])
            continue;
        const ad_real *from = adx_given_array(v, a);
        if (from == NULL && v->kind == ADX_VALUE_INPUT && v->size > 0)
            return false;
        if (from == NULL && v->size == 0)
            from = adx_one;
        memcpy(&e->base[i], &from, sizeof from);    // nobody writes there
    }
    return true;
}

// Makes results 0 that nothing adds to.
static void adx_clear_unmade(const adx_evaluating *e, const uint32_t value[],
                             const uint32_t like[], uint32_t n,
                             ad_real *const to[])
{
    for (uint32_t i = 0; to != NULL && i < n; i++)
        if (to[i] != NULL && value[i] == 0
            && adx_tensor_value_at(e->t, like[i])->size > 0)
            adx_clear_all(adx_tensor_value_at(e->t, like[i]), to[i]);
}

// Returns how much memory the needed values take that have no array of the
// caller's.
static uint64_t adx_numbers_needed(const adx_tensor_program *p,
                                   const bool needed[], ad_real *const base[])
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->steps; i++)
        if (needed[p->order[i]] && (base == NULL || base[p->order[i]] == NULL))
            n += p->value[p->order[i]].span;
    return n;
}

// Gives each needed value that has no array its place in the memory of the
// evaluation.
static void adx_place_values(adx_evaluating *e)
{
    const adx_tensor_program *p = e->t->program;
    ad_real *at = e->numbers->w;
    for (uint32_t i = 0; i < p->steps; i++) {
        const adx_tensor_value *v = &p->value[p->order[i]];
        if (!e->needed[p->order[i]] || e->base[p->order[i]] != NULL)
            continue;
        e->base[p->order[i]] = at + v->first;
        at += v->span;
    }
}

// Returns the code by which a part is evaluated; NULL: by loops. Code reads all
// arrays that it needs, so they must be there.
static const adx_tensor_code *adx_code_for(const adx_evaluating *e,
                                           const adx_tensor_arrays *a)
{
    const adx_tensor_program *p = e->t->program;
    const adx_tensor_code *code = e->t->code;
    if (code == NULL || code->step[a->part] == NULL)
        return NULL;
    for (uint32_t i = 1; i < p->values; i++)
        if (e->needed[i] && p->value[i].kind <= ADX_VALUE_WEIGHT
            && p->value[i].size > 0
            && adx_given_array(&p->value[i], a) == NULL)
            return NULL;
    for (uint32_t i = 1; i < p->values; i++)
        if (code->inlined[a->part][i])
            e->needed[i] = false;
    return code;
}

// Whether a step of a bundle is needed.
static bool adx_needs_bundle(const adx_evaluating *e, const uint32_t bundle[],
                             uint32_t leader)
{
    for (uint32_t i = 1; i < e->t->program->values; i++)
        if (bundle[i] == leader && e->needed[i])
            return true;
    return false;
}

// Evaluates the values that are needed, in their order; c: by code.
static void adx_run_program(adx_evaluating *e, ad_tensor_part part)
{
    const adx_tensor_program *p = e->t->program;
    const adx_tensor_code *c = e->code;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        uint32_t leader = c == NULL ? 0 : c->bundle[part][v];
        bool hosted = c != NULL && e->needed[c->host[part][v]];
        if (leader != 0 ? leader != v
                          || !adx_needs_bundle(e, c->bundle[part], v)
                        : !e->needed[v] || hosted)
            continue;
        if (c != NULL && c->step[part][v] != NULL)
            adx_run_coded(e, part, v);
        else
            adx_run_value(e, v);
    }
}

// Returns the next piece of one block of memory, for n elements of this size,
// and adds its bytes to *bytes. at: the block; NULL: bytes are only counted.
static void *adx_next_piece(char *at, size_t *bytes, uint64_t n, size_t size)
{
    void *piece = at == NULL ? NULL : at + *bytes;
    if (n > SIZE_MAX / 16 / size || *bytes > SIZE_MAX / 4)
        *bytes = SIZE_MAX / 2;  // no allocator has so much
    else
        *bytes += ((size_t)n * size + 15) / 16 * 16;
    return piece;
}

// Lists of an evaluation, in a piece of memory, and what loops need once or for
// each part. Returns how many bytes they have.
static size_t adx_place_lists(adx_evaluating *e, char *at)
{
    const adx_tensor_program *p = e->t->program;
    size_t parts = e->shares ? p->parts : 1;
    size_t cuts = e->shares || p->sums > 0 ? parts : 0;
    size_t n = 0;
    e->base = (ad_real **)adx_next_piece(at, &n, p->values, sizeof *e->base);
    e->x = (int64_t *)adx_next_piece(at, &n, parts * p->vars, sizeof *e->x);
    e->part.level = (adx_nest_level *)
        adx_next_piece(at, &n, cuts * p->vars, sizeof *e->part.level);
    e->part.bound = (adx_set_check *)
        adx_next_piece(at, &n, cuts * (p->bounds + 2), sizeof *e->part.bound);
    e->sums = (ad_real *)adx_next_piece(at, &n, e->shares ? p->all_sums
                                                          : p->sums,
                                        sizeof *e->sums);
    e->needed = (bool *)adx_next_piece(at, &n, p->values, sizeof *e->needed);
    e->picked = (bool *)adx_next_piece(at, &n, p->picks, sizeof *e->picked);
    return n;
}

// Takes the memory of an evaluation. False: there is none.
static bool adx_begin_evaluating(adx_evaluating *e, const adx_tensor_arrays *a)
{
    const adx_tensor_program *p = e->t->program;
    const ad_allocator *m = &e->t->memory;
    size_t spare = adx_spare_of_thread();
    e->shares = p->parts > 0 && adx_shares_parts();
    size_t bytes = adx_place_lists(e, NULL);
    e->lists = adx_take_workspace(&e->t->lists[spare], m,
                                  bytes / sizeof(ad_real) + 2);
    if (e->lists == NULL)
        return false;
    adx_place_lists(e, (char *)e->lists->w);
    memset(e->base, 0, p->values * sizeof *e->base);
    memset(e->needed, 0, p->values * sizeof *e->needed);
    adx_need_results(e, p->out, e->t->tree.outs, a->y);
    adx_need_results(e, p->tangent_out, e->t->tree.outs, a->dy);
    adx_need_results(e, p->adjoint_in, e->t->tree.inputs, a->dx);
    adx_need_results(e, p->second_in, e->t->tree.inputs, a->hv);
    adx_need_all(p, e->needed);
    e->code = adx_code_for(e, a);
    e->numbers = adx_take_workspace(&e->t->numbers[spare], m, (size_t)
                                    adx_numbers_needed(p, e->needed, e->base));
    return e->numbers != NULL;
}

// Gives the memory of an evaluation back, for the thread's next one.
static void adx_end_evaluating(adx_evaluating *e)
{
    const ad_allocator *m = &e->t->memory;
    size_t spare = adx_spare_of_thread();
    if (e->lists != NULL)
        adx_give_workspace(&e->t->lists[spare], m, e->lists);
    if (e->numbers != NULL)
        adx_give_workspace(&e->t->numbers[spare], m, e->numbers);
}

// Whether an adjoint is wanted whose numbers share places.
static bool adx_wants_crowded(const ad_tensor *t, const adx_tensor_arrays *a)
{
    for (uint32_t i = 0; i < t->tree.inputs; i++) {
        bool wanted = (a->dx != NULL && a->dx[i] != NULL)
                   || (a->hv != NULL && a->hv[i] != NULL);
        if (wanted && adx_tensor_value_at(t, t->program->input[i])->crowded)
            return true;
    }
    return false;
}

// Evaluates a part of the program. Results that no step makes are cleared.
static ad_status adx_evaluate_tensor(ad_tensor *t, const adx_tensor_arrays *a)
{
    ad_status status = ad_tensor_bind(t, NULL);
    if (status == ADREV_OK && adx_wants_crowded(t, a))
        status = ADREV_ESHAPE;
    if (status != ADREV_OK)
        return status;
    const adx_tensor_program *p = t->program;
    adx_evaluating e = { .t = t };
    status = !adx_begin_evaluating(&e, a) ? ADREV_ENOMEM
           : !adx_take_given(&e, a) ? ADREV_ESHAPE : ADREV_OK;
    if (status == ADREV_OK) {
        adx_place_values(&e);
        adx_run_program(&e, a->part);
        adx_clear_unmade(&e, p->tangent_out, p->out, t->tree.outs, a->dy);
        adx_clear_unmade(&e, p->adjoint_in, p->input, t->tree.inputs, a->dx);
        adx_clear_unmade(&e, p->second_in, p->input, t->tree.inputs, a->hv);
    }
    adx_end_evaluating(&e);
    return status;
}

ADX_API ad_status ad_tensor_eval(ad_tensor *t, const ad_real *const x[],
                                 ad_real *const y[])
{
    const adx_tensor_arrays a = { .part = ADREV_TENSOR_VALUE, .x = x, .y = y };
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_jvp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const v[], ad_real *const y[],
                                ad_real *const dy[])
{
    const adx_tensor_arrays a = {
        .part = ADREV_TENSOR_JVP, .x = x, .v = v, .y = y, .dy = dy
    };
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_vjp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const w[], ad_real *const y[],
                                ad_real *const dx[])
{
    const adx_tensor_arrays a = {
        .part = ADREV_TENSOR_VJP, .x = x, .w = w, .y = y, .dx = dx
    };
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_gradient(ad_tensor *t, const ad_real *const x[],
                                     ad_real *f, ad_real *const g[])
{
    const ad_real *const w[] = { adx_one };
    ad_real *const y[] = { f };
    const adx_tensor_arrays a = {
        .part = ADREV_TENSOR_VJP, .x = x, .w = w, .y = y, .dx = g
    };
    if (t == NULL || t->tree.outs != 1)
        return ADREV_ESHAPE;
    for (uint32_t i = 1; i < t->tree.array_count; i++)
        if (t->tree.array[i].out && t->tree.array[i].rank > 0)
            return ADREV_ESHAPE;
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_hvp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const w[],
                                const ad_real *const v[], ad_real *const hv[])
{
    const adx_tensor_arrays a = {
        .part = ADREV_TENSOR_HVP, .x = x, .v = v, .w = w, .hv = hv
    };
    return adx_evaluate_tensor(t, &a);
}

/* --- counts -------------------------------------------------------------- */

// Counts the points of strips.
static bool adx_count_points(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    (void)x;
    (void)var;
    *(uint64_t *)user += (uint64_t)count;
    return true;
}

// Returns how many points a term has: known, or counted by its loops.
static uint64_t adx_points_of_term(const adx_tensor_term *term, int64_t x[])
{
    uint64_t n = 0;
    if (term->loop->points != UINT64_MAX)
        return term->loop->points;
    adx_walk_nest(term->loop->nest, x, adx_count_points, &n);
    return n;
}

// Finds the numbers that a term writes, by running its loops. (The other ways
// may need the inverse of a map, which would live as long as the program.)
// False: no memory.
static bool adx_cover_by_loops(adx_arena *a, const adx_tensor_value *v,
                              const adx_tensor_term *term, int64_t x[],
                              adx_bitmap *bits)
{
    adx_set s = *term->set;
    adx_covering m = { .bits = bits };
    s.arena = a;
    int64_t *form = ADX_GET(a, s.width, int64_t);
    if (form == NULL)
        return false;
    adx_place_form(&s, v, term->out, false, form);
    if (!adx_make_sparse_form(&s, form, UINT32_MAX, &m.place))
        return false;
    adx_walk_nest(term->loop->nest, x, adx_cover_points, &m);
    return true;
}

// How many numbers are written. False: no memory.
static bool adx_count_written(const ad_tensor *t, const adx_tensor_value *v,
                              int64_t x[], uint64_t *n)
{
    adx_arena a = { .memory = &t->memory };
    if ((v->full && !v->gaps) || v->support != NULL) {
        *n = v->full ? v->size : v->support->set;
        return true;
    }
    adx_bitmap *bits = adx_new_bitmap(&a, v->size);
    for (uint32_t j = 0; j < v->terms && bits != NULL; j++)
        if (!adx_cover_by_loops(&a, v, &v->term[j], x, bits))
            bits = NULL;
    *n = bits == NULL ? 0 : bits->set;
    adx_free_arena(&a);
    return bits != NULL;
}

// A sum adds all points but the first of each number. False: no memory.
static bool adx_count_value(const ad_tensor *t, const adx_tensor_value *v,
                            int64_t x[], ad_tensor_cost *cost)
{
    uint64_t points = 0;
    uint64_t distinct = 0;
    bool ok = v->once || adx_count_written(t, v, x, &distinct);
    for (uint32_t j = 0; j < v->terms; j++) {
        const adx_tensor_term *term = &v->term[j];
        uint64_t n = adx_points_of_term(term, x);
        bool scaled = term->factors > 0 && term->k != 1 && term->k != -1;
        uint64_t factors = term->factors > 0 ? term->factors - 1 : 0;
        points += n;
        if (v->kind == ADX_VALUE_SUM)
            cost->mul += n * (factors + scaled);
    }
    distinct = v->once ? points : distinct;
    if (v->kind == ADX_VALUE_SUM)
        cost->add += points > distinct ? points - distinct : 0;
    else if (v->kind == ADX_VALUE_MOST)
        cost->fn += points > distinct ? points - distinct : 0;
    else if (v->op == ADREV_OP_div)
        cost->mul += points;
    else
        cost->fn += points;
    return ok;
}

// Finds what the results of a part need that are wanted; NULL: all.
static void adx_need_part(const ad_tensor *t, ad_tensor_part part,
                          const bool wanted[], bool needed[])
{
    const adx_tensor_program *p = t->program;
    const uint32_t *result = part == ADREV_TENSOR_VALUE ? p->out
                           : part == ADREV_TENSOR_JVP ? p->tangent_out
                           : part == ADREV_TENSOR_VJP ? p->adjoint_in
                           : p->second_in;
    uint32_t n = part >= ADREV_TENSOR_VJP ? t->tree.inputs : t->tree.outs;
    memset(needed, 0, p->values * sizeof *needed);
    for (uint32_t i = 0; i < n; i++)
        if (result[i] != 0 && (wanted == NULL || wanted[i]))
            needed[result[i]] = true;
    adx_need_all(p, needed);
}

// Counts the numbers of inputs and results.
static size_t adx_numbers_around(const ad_tensor *t)
{
    const adx_tensor_program *p = t->program;
    size_t n = 0;
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        n += (size_t)p->value[p->input[i]].size;
    for (uint32_t i = 0; i < t->tree.outs; i++)
        n += (size_t)p->value[p->out[i]].size;
    return n;
}

ADX_API ad_status ad_tensor_count(ad_tensor *t, ad_tensor_part part,
                                  const bool wanted[], ad_tensor_cost *cost)
{
    if (t == NULL || cost == NULL || part > ADREV_TENSOR_HVP)
        return ADREV_ESHAPE;
    ad_status status = ad_tensor_bind(t, NULL);
    if (status != ADREV_OK)
        return status;
    const adx_tensor_program *p = t->program;
    adx_evaluating e = { .t = t };
    e.needed = (bool *)adx_take(&t->memory, p->values, sizeof *e.needed);
    e.x = (int64_t *)adx_take(&t->memory, p->vars, sizeof *e.x);
    if (e.needed != NULL && e.x != NULL) {
        memset(cost, 0, sizeof *cost);
        adx_need_part(t, part, wanted, e.needed);
        for (uint32_t i = 0; i < p->steps; i++)
            if (e.needed[p->order[i]]
                && !adx_count_value(t, &p->value[p->order[i]], e.x, cost))
                status = ADREV_ENOMEM;
        cost->io = adx_numbers_around(t);
        cost->work = (size_t)adx_numbers_needed(p, e.needed, NULL)
                   * sizeof(ad_real);
    } else
        status = ADREV_ENOMEM;
    adx_drop(&t->memory, e.needed);
    adx_drop(&t->memory, e.x);
    return status;
}

ADX_SELDOM_END
