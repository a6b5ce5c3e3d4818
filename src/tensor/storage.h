#pragma once

/* === tensor/storage =========================================================
 * Numbers on entries. A value of which few numbers are written has memory for
 * these alone, if all loops that write and read it have one variable that says
 * which number it is: the entry of a relation, or of a list (tensor/entries).
 * Its only index is then the place of a number among those that are written;
 * a column says for each entry which one that is.
 *
 * Loops are chosen before, for the whole array. So this changes no bits.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/nests tensor/binding
 *           tensor/programs tensor/sharing tensor/matrices tensor/gathers
 *   offers  adx_stream_of adx_loop adx_store_on_entries
 * ========================================================================== */

// A place in memory along the loops; `stride` from one point of the innermost
// loop to the next.
typedef struct adx_stream_of {
    adx_sparse_form place;
    int64_t stride;
} adx_stream_of;

typedef struct adx_loop {
    const adx_nest *nest;
    const adx_nest *found_by;   // the loops by which the points were listed;
                                // `nest`, if they are not
    adx_stream_of out;
    adx_stream_of factor[3];
    adx_stream_of at;           // of a pick: in `most`
    adx_stream_of picked;
    uint64_t points;            // UINT64_MAX: to be counted
    const adx_matrices *matrices;       // NULL: it is no product of matrices
    const adx_gathers *gathers; // NULL: no strip with maps ends the nest
} adx_loop;

ADX_SELDOM_BEGIN

// Smaller arrays are stored as they are; of others, so many times the numbers
// that are written may not be more than all.
#ifndef ADX_STORED_LEAST
#define ADX_STORED_LEAST 4096
#endif
#define ADX_STORED_PART 4

// Columns of places. Equal ones are one.
typedef struct adx_place_column {
    adx_int_table table;
    struct adx_place_column *next;
} adx_place_column;

/* --- which number an entry is of ----------------------------------------- */

// Returns the row by which a map of one other variable gives variable v.
// UINT32_MAX: none.
static uint32_t adx_row_that_gives(const adx_set *s, uint32_t v)
{
    for (uint32_t r = 0; r < s->rows; r++) {
        uint32_t count;
        uint32_t u = 0;
        if (s->row[r].kind != ADX_ROW_VALUE)
            continue;
        adx_divisor_of(s, adx_form_of(s, r), &count, &u);
        if (count != 1 || u != v || !adx_is_unit(adx_form_of(s, r)[1 + v]))
            continue;
        const int64_t *argument = adx_form_of(s, s->row[r].at);
        const adx_int_table *t = s->row[r].table;
        adx_divisor_of(s, argument, &count, &u);
        if (count == 1 && u != v && adx_extreme(s, argument, false) >= t->from
            && adx_extreme(s, argument, true) < t->from + (int64_t)t->n)
            return r;
    }
    return UINT32_MAX;
}

// Returns the variable that says which number is accessed. UINT32_MAX: there is
// not one alone.
static uint32_t adx_entry_of_number(const adx_set *s, uint32_t row,
                                    uint32_t dims)
{
    uint32_t entry = UINT32_MAX;
    for (uint32_t v = 0; v < s->vars; v++) {
        bool used = false;
        uint32_t behind = v;
        uint32_t count;
        for (uint32_t d = 0; d < dims && !used; d++)
            used = adx_form_of(s, row + d)[1 + v] != 0;
        uint32_t r = used ? adx_row_that_gives(s, v) : UINT32_MAX;
        if (r != UINT32_MAX)
            adx_divisor_of(s, adx_form_of(s, s->row[r].at), &count, &behind);
        if (used && entry != UINT32_MAX && entry != behind)
            return UINT32_MAX;
        entry = used ? behind : entry;
    }
    return entry;
}

// Adds what variable v, times k, is at each value of the entry.
static void adx_add_variable(const adx_set *s, uint32_t v, int64_t k,
                             uint32_t entry, uint64_t n, int64_t place[])
{
    uint32_t r = v == entry ? UINT32_MAX : adx_row_that_gives(s, v);
    if (r == UINT32_MAX) {
        for (uint64_t i = 0; i < n; i++)
            place[i] += k * (s->low[entry] + (int64_t)i);
        return;
    }
    const int64_t *form = adx_form_of(s, r);
    const int64_t *argument = adx_form_of(s, s->row[r].at);
    const adx_int_table *t = s->row[r].table;
    int64_t at = argument[0] - t->from + argument[1 + entry] * s->low[entry];
    k *= form[1 + v];
    for (uint64_t i = 0; i < n; i++, at += argument[1 + entry])
        place[i] += k * (t->value[at] - form[0]);
}

// An access to a value, and the numbers that it has along its entry.
typedef struct adx_number_access {
    adx_tensor_term *term;
    uint32_t *row;              // of the access
    uint32_t entry;
    uint64_t n;
    int64_t *place;             // [n] in the whole array; then among those
                                // that are written
    adx_bitmap *visited;        // [n] entries that the loops come to
} adx_number_access;

// Finds the entries that the loops come to. False: no memory.
static bool adx_visit_entries(adx_arena *a, adx_number_access *x)
{
    const adx_set *s = x->term->set;
    int64_t one = 1;
    adx_covering m = { .place = { -s->low[x->entry], 1, &x->entry, &one } };
    int64_t *at = ADX_GET(a, s->vars, int64_t);
    m.bits = x->visited = adx_new_bitmap(a, x->n);
    if (at == NULL || m.bits == NULL)
        return false;
    adx_walk_nest(x->term->loop->nest, at, adx_cover_points, &m);
    return true;
}

// False: no variable says which number it is, there are too many, or there is
// no memory.
static bool adx_list_places(adx_arena *a, const adx_tensor_value *v,
                            adx_number_access *x)
{
    const adx_set *s = x->term->set;
    x->entry = adx_entry_of_number(s, *x->row, v->dims);
    if (x->entry == UINT32_MAX || s->empty)
        return false;
    x->n = (uint64_t)(s->high[x->entry] - s->low[x->entry]) + 1;
    if (x->n > v->size / ADX_STORED_PART)
        return false;
    adx_set of = *s;
    of.arena = a;
    int64_t *form = ADX_GET(a, s->width, int64_t);
    x->place = ADX_GET(a, (size_t)x->n, int64_t);
    if (form == NULL || x->place == NULL || !adx_visit_entries(a, x))
        return false;
    adx_place_form(&of, v, *x->row, false, form);
    for (uint64_t i = 0; i < x->n; i++)
        x->place[i] = form[0];
    for (uint32_t u = 0; u < s->vars; u++)
        if (form[1 + u] != 0)
            adx_add_variable(s, u, form[1 + u], x->entry, x->n, x->place);
    return true;
}

/* --- all accesses --------------------------------------------------------- */

typedef struct adx_storing {
    ad_tensor *t;
    const bool *needed;
    bool *whole;                // [values] stored as they are
    adx_place_column *column;
    adx_arena a;                // of one value
    uint32_t value;
    adx_number_access *access;
    uint32_t n, room;
    adx_bitmap *written;
    uint32_t *before;           // numbers that are written, before each word
} adx_storing;

// Notes that a term reads or writes the value, at this row of its set. False:
// no memory.
static bool adx_note_access(adx_storing *k, adx_tensor_term *term,
                            uint32_t *row)
{
    if (k->n == k->room) {
        uint32_t room = 2 * k->room + 8;
        adx_number_access *wide = ADX_GET(&k->a, room, adx_number_access);
        if (wide == NULL)
            return false;
        if (k->n > 0)
            memcpy(wide, k->access, k->n * sizeof *wide);
        k->access = wide;
        k->room = room;
    }
    adx_number_access *x = &k->access[k->n++];
    x->term = term;
    x->row = row;
    return adx_list_places(&k->a, adx_tensor_value_at(k->t, k->value), x);
}

// Finds all accesses to a value, those that write first. False: not all have an
// entry.
static bool adx_find_accesses(adx_storing *k)
{
    const adx_tensor_program *p = k->t->program;
    adx_tensor_value *v = adx_tensor_value_at(k->t, k->value);
    bool ok = true;
    k->n = 0;
    for (uint32_t j = 0; j < v->terms && ok; j++)
        ok = adx_note_access(k, &v->term[j], &v->term[j].out);
    for (uint32_t i = 0; i < p->steps && ok; i++) {
        v = adx_tensor_value_at(k->t, p->order[i]);
        for (uint32_t j = 0; k->needed[p->order[i]] && j < v->terms; j++)
            for (uint32_t f = 0; f < v->term[j].factors && ok; f++)
                if (v->term[j].factor[f].value == k->value)
                    ok = adx_note_access(k, &v->term[j],
                                         &v->term[j].factor[f].row);
    }
    return ok;
}

/* --- places among those that are written ---------------------------------- */

// Returns how many bits of a word are set.
static uint32_t adx_bits_in(uint64_t word)
{
    uint32_t n = 0;
    for (; word != 0; word &= word - 1)
        n++;
    return n;
}

// Finds what is written, and counts. False: it is too much, or no memory.
static bool adx_number_written(adx_storing *k)
{
    const adx_tensor_value *v = adx_tensor_value_at(k->t, k->value);
    uint32_t n = 0;
    k->written = adx_new_bitmap(&k->a, v->size);
    k->before = ADX_GET(&k->a, (size_t)(v->size / 64 + 1), uint32_t);
    if (k->written == NULL || k->before == NULL)
        return false;
    for (uint32_t j = 0; j < v->terms; j++)
        for (uint64_t i = 0; i < k->access[j].n; i++)
            if (adx_has_bit(k->access[j].visited, i))
                adx_set_bit(k->written, (uint64_t)k->access[j].place[i]);
    if (k->written->set > v->size / ADX_STORED_PART
        || k->written->set > INT32_MAX)
        return false;
    for (uint64_t w = 0; w <= v->size / 64; w++) {
        k->before[w] = n;
        n += adx_bits_in(k->written->word[w]);
    }
    return true;
}

// Whether the places are as far apart everywhere.
static bool adx_are_places_even(const adx_number_access *x)
{
    int64_t stride = x->n > 1 ? x->place[1] - x->place[0] : 0;
    for (uint64_t i = 1; i < x->n; i++)
        if (x->place[i] - x->place[i - 1] != stride)
            return false;
    return true;
}

// A table after the strip that ends a nest would make its sums others.
static bool adx_ends_in_strip(const adx_number_access *x)
{
    const adx_nest *nest = x->term->loop->nest;
    const adx_nest_level *last = &nest->level[nest->levels - 1];
    return last->var == x->entry && last->kind == ADX_LEVEL_RANGE
        && last->checks == 0;
}

// The places of an access among those that are written. False: others are
// read, too, or a table is of no use.
static bool adx_number_places(const adx_storing *k, adx_number_access *x)
{
    for (uint64_t i = 0; i < x->n; i++) {
        uint64_t at = (uint64_t)x->place[i];
        if (!adx_has_bit(x->visited, i)) {
            x->place[i] = 0;
            continue;
        }
        if (at >= k->written->n || !adx_has_bit(k->written, at))
            return false;
        uint64_t word = k->written->word[at / 64];
        x->place[i] = k->before[at / 64]
                    + adx_bits_in(word & (((uint64_t)1 << at % 64) - 1));
    }
    return adx_are_places_even(x) || !adx_ends_in_strip(x);
}

/* --- other indices -------------------------------------------------------- */

// Returns the column of the places of an access. NULL: no memory.
static adx_int_table *adx_column_of_places(adx_storing *k,
                                           const adx_number_access *x,
                                           uint64_t size)
{
    adx_place_column *c = k->column;
    int64_t from = x->term->set->low[x->entry];
    for (; c != NULL; c = c->next) {
        bool same = c->table.n == x->n && c->table.from == from
                 && c->table.high == (int64_t)size - 1;
        for (uint64_t i = 0; i < x->n && same; i++)
            same = c->table.value[i] == x->place[i];
        if (same)
            return &c->table;
    }
    c = ADX_GET(&k->t->arena, 1, adx_place_column);
    int32_t *value = ADX_GET(&k->t->arena, (size_t)x->n, int32_t);
    if (c == NULL || value == NULL)
        return NULL;
    for (uint64_t i = 0; i < x->n; i++)
        value[i] = (int32_t)x->place[i];
    c->table.value = value;
    c->table.from = from;
    c->table.n = (size_t)x->n;
    c->table.high = (int64_t)size - 1;
    c->next = k->column;
    k->column = c;
    return &c->table;
}

// Adds a level behind that of the entry. False: no memory.
static bool adx_add_level(adx_tensor_term *term, uint32_t entry,
                          const adx_nest_level *l)
{
    const adx_nest *of = term->loop->nest;
    adx_nest *to = ADX_GET(term->set->arena, 1, adx_nest);
    adx_nest_level *level = ADX_GET(term->set->arena, of->levels + 1,
                                    adx_nest_level);
    uint32_t at = 0;
    if (to == NULL || level == NULL)
        return false;
    while (of->level[at].var != entry)
        at++;
    memcpy(level, of->level, (at + 1) * sizeof *level);
    level[at + 1] = *l;
    memcpy(level + at + 2, of->level + at + 1,
           (of->levels - at - 1) * sizeof *level);
    *to = *of;
    to->level = level;
    to->levels++;
    to->vars = term->set->vars;
    if (term->loop->found_by == of)
        term->loop->found_by = to;
    term->loop->nest = to;
    return true;
}

// Returns a variable that is the column's value for the entry. UINT32_MAX: no
// memory.
static uint32_t adx_column_variable(const adx_number_access *x,
                                    adx_int_table *column)
{
    adx_set *s = x->term->set;
    for (uint32_t r = 0; r < s->rows; r++) {
        uint32_t v = 0;
        if (s->row[r].kind == ADX_ROW_VALUE && s->row[r].table == column
            && adx_is_definition(s, r, &v))
            return v;
    }
    uint32_t v = adx_new_var(s, column->low, column->high);
    uint32_t at = adx_new_row(s, ADX_ROW_FORM);
    uint32_t r = adx_new_row(s, ADX_ROW_VALUE);
    adx_nest_level l = { .kind = ADX_LEVEL_VALUE, .var = v, .low = column->low,
                         .high = column->high, .k = 1, .table = column };
    if (v == UINT32_MAX || at == UINT32_MAX || r == UINT32_MAX)
        return UINT32_MAX;
    adx_form_of(s, at)[1 + x->entry] = 1;
    adx_form_of(s, r)[1 + v] = 1;
    s->row[r].at = at;
    s->row[r].table = column;
    return adx_make_sparse_form(s, adx_form_of(s, at), UINT32_MAX, &l.argument)
           && adx_add_level(x->term, x->entry, &l) ? v : UINT32_MAX;
}

// Gives an access its only index. False: no memory.
static bool adx_set_index(adx_storing *k, const adx_number_access *x,
                          uint64_t size)
{
    adx_set *s = x->term->set;
    bool even = adx_are_places_even(x);
    adx_int_table *column = even ? NULL : adx_column_of_places(k, x, size);
    uint32_t v = even ? x->entry
               : column == NULL ? UINT32_MAX : adx_column_variable(x, column);
    uint32_t row = v == UINT32_MAX ? v : adx_new_row(s, ADX_ROW_FORM);
    if (row == UINT32_MAX)
        return false;
    int64_t stride = !even ? 1 : x->n > 1 ? x->place[1] - x->place[0] : 0;
    adx_form_of(s, row)[1 + v] = stride;
    adx_form_of(s, row)[0] = even ? x->place[0] - stride * s->low[v] : 0;
    *x->row = row;
    return true;
}

// Gives a value memory for the numbers alone that are written, and replaces the
// places of all accesses by indices of these.
static void adx_store_value(adx_storing *k)
{
    if (!adx_find_accesses(k) || !adx_number_written(k))
        return;
    for (uint32_t i = 0; i < k->n; i++)
        if (!adx_number_places(k, &k->access[i]))
            return;
    adx_tensor_value *v = adx_tensor_value_at(k->t, k->value);
    uint64_t size = k->written->set;
    for (uint32_t i = 0; i < k->n; i++)
        if (!adx_set_index(k, &k->access[i], size)) {
            adx_arena_fail(&k->t->arena, ADREV_ENOMEM);
            return;
        }
    v->dims = 1;
    v->low[0] = 0;
    v->extent[0] = (int64_t)size;
    v->first = 0;
    v->support = NULL;          // is of the whole array
    adx_lay_out(k->t, v, NULL);
}

// Finds values that stay as they are: results of the caller's, and what picks
// compare.
static void adx_find_whole(const ad_tensor *t, bool whole[])
{
    const adx_tensor_program *p = t->program;
    for (uint32_t i = 0; i < t->tree.outs; i++)
        whole[p->out[i]] = whole[p->tangent_out[i]] = true;
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        whole[p->adjoint_in[i]] = whole[p->second_in[i]] = true;
    for (uint32_t i = 1; i < p->values; i++)
        for (uint32_t j = 0; j < p->value[i].terms; j++)
            if (p->value[i].term[j].most != 0) {
                whole[p->value[i].term[j].most] = true;
                whole[p->value[i].term[j].picked.value] = true;
            }
}

// Looks for values that need memory for their entries only. All terms that are
// needed have their loops.
static void adx_store_on_entries(ad_tensor *t, const bool needed[])
{
    const adx_tensor_program *p = t->program;
    adx_storing k = { .t = t, .needed = needed };
    k.whole = ADX_GET(&t->arena, p->values, bool);
    if (k.whole == NULL)
        return;
    adx_find_whole(t, k.whole);
    for (uint32_t i = 0; i < p->steps && t->arena.status == ADREV_OK; i++) {
        const adx_tensor_value *v = adx_tensor_value_at(t, p->order[i]);
        k.value = p->order[i];
        k.a = (adx_arena){ .memory = &t->memory };
        k.access = NULL;
        k.room = 0;
        if (needed[k.value] && !k.whole[k.value] && v->kind != ADX_VALUE_MOST
            && v->terms > 0 && v->dims > 0 && v->size >= ADX_STORED_LEAST)
            adx_store_value(&k);
        if (k.a.status != ADREV_OK)
            adx_arena_fail(&t->arena, k.a.status);
        adx_free_arena(&k.a);
    }
}

ADX_SELDOM_END
