#pragma once

/* === tensor/programs ========================================================
 * What a text becomes when it is bound: values, which are arrays of numbers, in
 * an order in which each can be computed from those before it. A value is a sum
 * of terms. A term has a set; for each of its points a product of numbers read
 * from other values is added to a number of this value. The indices of what is
 * read and written are rows of the set, so a derivative exchanges the number
 * that is written with one that is read, and keeps the set.
 *
 * The numbers of a value that no point writes are 0. A term that reads a value
 * adds to its own set the conditions under which the number is written: so no
 * operation is done with a 0 that is there for this reason.
 *
 *   needs   core/cells tensor/api tensor/arena tensor/sets tensor/nests
 *           tensor/open
 *   offers  adx_access adx_tensor_term adx_value_kind ADX_VALUE_INPUT
 *           ADX_VALUE_TANGENT_IN ADX_VALUE_WEIGHT ADX_VALUE_SUM
 *           ADX_VALUE_APPLICATION ADX_VALUE_PARTIAL ADX_VALUE_SECOND
 *           ADX_VALUE_MOST ADX_VALUE_SIZE adx_tensor_second adx_tensor_value
 *           adx_new_value adx_lay_out adx_finish_value adx_new_tensor_term
 *           adx_add_factor adx_add_least adx_place_form adx_covering
 *           adx_cover_points adx_cover_form adx_all_written adx_join_sets
 *           adx_all_gone adx_restrict
 * ========================================================================== */

ADX_SELDOM_BEGIN

// A number of a value: its indices are rows `row` ... of a set.
typedef struct adx_access {
    uint32_t value;
    uint32_t row;
} adx_access;

// A term: at each point of the set, k times the factors is added to one number.
typedef struct adx_tensor_term {
    adx_set *set;
    uint32_t out;               // rows: the indices of what is written
    adx_access factor[3];
    uint32_t factors;
    ad_real k;                  // times this
    bool absorbs;               // one factor is a partial: where a factor is 0
                                // the product is, whatever the other is
    bool in_power;              // part of a power: derivatives absorb
    int32_t power;              // of a quotient: it is base^power, below 0
    adx_access base;
    // If `most` is a value: only the first point for each number of it, of
    // those at which `picked` is that number (rows `at`).
    uint32_t most;
    uint32_t at;
    adx_access picked;
    struct adx_loop *loop;      // tensor/run
} adx_tensor_term;

typedef enum adx_value_kind {
    ADX_VALUE_INPUT,            // the caller's: x, v or w, by `order`
    ADX_VALUE_TANGENT_IN,
    ADX_VALUE_WEIGHT,
    ADX_VALUE_SUM,              // of terms
    ADX_VALUE_APPLICATION,      // op of the factors of one term
    ADX_VALUE_PARTIAL,          // its partial with respect to argument `which`
    ADX_VALUE_SECOND,           // the derivative of that, `second`
    ADX_VALUE_MOST,             // the largest, or least, factor of all points;
                                // -infinity, or infinity, where there is none
    ADX_VALUE_SIZE              // the open size `order` as a number
} adx_value_kind;

// The derivative of a partial by argument `by`: the partial as terms, and which
// of them move with the argument (core/cells).
typedef struct adx_tensor_second {
    uint32_t by;
    uint64_t moving;
    adx_formula cell;
} adx_tensor_second;

typedef struct adx_tensor_value {
    adx_value_kind kind;
    uint32_t order;             // of an input, a tangent, a weight, a size
    uint32_t op;
    uint32_t which;
    const adx_tensor_second *second;
    uint32_t dims;
    int64_t *low;               // [dims] of indices
    int64_t *extent;
    ptrdiff_t *stride;
    uint64_t size;              // numbers
    adx_ranges range;           // of indices, where sizes are open: then low is
                                // the least index, extent the largest number
                                // of them
    uint64_t span;              // of memory
    ptrdiff_t first;            // from the lowest place to the least indices
    adx_tensor_term *term;
    uint32_t terms, room;
    bool fixed;                 // has no derivative
    bool result;                // the caller has an array for it
    bool full;                  // all numbers are written
    bool gaps;                  // of a most: some of them have no points
    bool known;                 // `full` or `support` says which
    bool cleared;               // all numbers are read, written or not
    bool once;                  // each number is written by one point
    bool crowded;               // an input: numbers share places
    const adx_bitmap *support;  // by adx_place_in; NULL: all
    struct adx_value_cut *cut;  // tensor/parts; NULL: one part
    uint32_t array;             // of the tree, or 0
    uint32_t tangent;           // the values of its derivatives, or 0
    uint32_t adjoint;
} adx_tensor_value;

typedef struct adx_shared_values adx_shared_values;     // tensor/sharing

struct adx_tensor_program {
    adx_tensor_value *value;           // from 1 on
    uint32_t values, room;
    uint32_t *order;            // of computing
    uint32_t steps, order_room;
    uint32_t primal;            // steps of values: the first ones
    uint32_t *input;            // values of the arrays, by their order
    uint32_t *tangent_in;
    uint32_t *weight;
    uint32_t *out;
    uint32_t *tangent_out;
    uint32_t *adjoint_in;
    uint32_t *second_in;        // tangents of adjoints
    adx_shared_values *shared;
    adx_int_table **map;            // of the tree's maps
    adx_int_table **column;         // of its relations: from column_of[r] on
    uint32_t *column_of;
    uint64_t picks;             // of the largest value that is a most
    uint32_t vars;              // of the largest set
    const struct adx_part_list *lists;
    adx_tensor_value *spelt;    // [values] as tensor/explain has them
    struct adx_entry_list *entries;     // tensor/entries
    uint64_t entry_numbers;     // in their columns
    uint32_t parts;             // most parts of a value
    uint32_t bounds;            // most bounds of a level
    uint64_t sums;              // numbers of sums of parts: of one part, and
    uint64_t all_sums;          // of all parts of a value
};

/* --- values -------------------------------------------------------------- */

// Adds a value. Returns its number; 0: no memory.
static uint32_t adx_new_value(ad_tensor *t, adx_value_kind kind, uint32_t dims)
{
    adx_tensor_program *p = t->program;
    adx_arena *a = &t->arena;
    if (p->values == p->room) {
        adx_tensor_value *wide = ADX_GET(a, 2 * p->room, adx_tensor_value);
        if (wide == NULL)
            return 0;
        memcpy(wide, p->value, p->values * sizeof *wide);
        p->value = wide;
        p->room *= 2;
    }
    adx_tensor_value *v = &p->value[p->values];
    memset(v, 0, sizeof *v);
    v->kind = kind;
    v->dims = dims;
    v->low = ADX_GET(a, dims, int64_t);
    v->extent = ADX_GET(a, dims, int64_t);
    v->stride = ADX_GET(a, dims, ptrdiff_t);
    adx_make_ranges(t, dims, &v->range);
    return a->status == ADREV_OK ? p->values++ : 0;
}

// Lays numbers one behind the other, the last index fastest. False: too many.
static bool adx_lay_out(ad_tensor *t, adx_tensor_value *v,
                        const ptrdiff_t stride[])
{
    uint64_t size = 1;
    for (uint32_t i = v->dims; i-- > 0;) {
        v->stride[i] = stride == NULL ? (ptrdiff_t)size : stride[i];
        if (v->extent[i] > 0
            && size > ((uint64_t)1 << 50) / (uint64_t)v->extent[i]) {
            adx_arena_fail(&t->arena, ADREV_ELIMIT);
            return false;
        }
        size *= (uint64_t)v->extent[i];
    }
    v->size = size;
    uint64_t span = size == 0 ? 0 : 1;
    for (uint32_t i = 0; i < v->dims && size > 0; i++) {
        uint64_t apart = v->stride[i] < 0 ? 0 - (uint64_t)v->stride[i]
                                        : (uint64_t)v->stride[i];
        if (v->extent[i] > 1
            && apart > ((uint64_t)1 << 50) / (uint64_t)v->extent[i]) {
            adx_arena_fail(&t->arena, ADREV_ELIMIT);
            return false;
        }
        if (v->extent[i] <= 1) {        // never taken, and any number
            v->stride[i] = 0;
            continue;
        }
        span += (uint64_t)(v->extent[i] - 1) * apart;
        if (v->stride[i] < 0)
            v->first = (ptrdiff_t)(v->first
                                   - (v->extent[i] - 1) * v->stride[i]);
    }
    v->span = span;
    return true;
}

// Says that a value can be computed from here on.
static void adx_finish_value(ad_tensor *t, uint32_t value)
{
    adx_tensor_program *p = t->program;
    if (p->steps == p->order_room) {
        uint32_t *wide = ADX_GET(&t->arena, 2 * p->order_room, uint32_t);
        if (wide == NULL)
            return;
        memcpy(wide, p->order, p->steps * sizeof *wide);
        p->order = wide;
        p->order_room *= 2;
    }
    p->order[p->steps++] = value;
}

// Adds a term to a value: k times a product of factors that are added later, at
// the points of a copy of this set. NULL: no memory.
static adx_tensor_term *adx_new_tensor_term(ad_tensor *t, uint32_t value,
                                            const adx_set *set, uint32_t out,
                                            ad_real k)
{
    adx_tensor_value *v = &t->program->value[value];
    if (v->terms == v->room) {
        uint32_t room = v->room == 0 ? 2 : 2 * v->room;
        adx_tensor_term *wide = ADX_GET(&t->arena, room, adx_tensor_term);
        if (wide == NULL)
            return NULL;
        if (v->terms > 0)
            memcpy(wide, v->term, v->terms * sizeof *wide);
        v->term = wide;
        v->room = room;
    }
    adx_tensor_term *to = &v->term[v->terms];
    memset(to, 0, sizeof *to);
    to->set = adx_copy_set(set);
    to->out = out;
    to->k = k;
    if (to->set == NULL)
        return NULL;
    v->terms++;
    return to;
}

// Multiplies a term by one more number. NULL: there was no memory for the term.
static void adx_add_factor(adx_tensor_term *term, adx_access from)
{
    if (term != NULL)
        term->factor[term->factors++] = from;
}

/* --- where numbers are --------------------------------------------------- */

// Computes to += k * the least index d.
static void adx_add_least(adx_arena *a, int64_t to[], int64_t k,
                          const adx_tensor_value *v, uint32_t d, uint32_t open)
{
    if (v->range.from == NULL)
        to[0] = adx_whole_add(a, to[0], k, v->low[d]);
    else
        adx_add_open(a, to, k, v->range.from + (size_t)d * (1 + open), open);
}

// The form of a number's place: by strides in memory, or else among `size`.
static void adx_place_form(const adx_set *s, const adx_tensor_value *v,
                           uint32_t row, bool memory, int64_t form[])
{
    int64_t stride = 1;
    memset(form, 0, s->width * sizeof *form);
    for (uint32_t i = v->dims; i-- > 0;) {
        int64_t by = memory ? v->stride[i] : stride;
        adx_add_multiple(s, form, by, adx_form_of(s, row + i));
        if (memory)
            adx_add_least(s->arena, form, -by, v, i, s->open);
        else
            form[0] = adx_whole_add(s->arena, form[0], -by, v->low[i]);
        stride *= v->extent[i];
    }
}

typedef struct adx_covering {
    adx_bitmap *bits;
    adx_sparse_form place;
    int64_t stride;             // from one value of the innermost variable to
    uint32_t var;               // the next
} adx_covering;

// Finds the numbers that a strip of points writes. False: all are covered, so
// no more need be looked at.
static bool adx_cover_points(void *user, const int64_t x[], uint32_t var,
                            int64_t count)
{
    const adx_covering *m = (const adx_covering *)user;
    int64_t at = adx_sparse_at(&m->place, x);
    int64_t stride = 0;
    for (uint32_t i = 0; var != UINT32_MAX && i < m->place.n; i++)
        if (m->place.var[i] == var)
            stride = m->place.k[i];
    for (int64_t i = 0; i < count; i++, at += stride)
        if (at >= 0 && (uint64_t)at < m->bits->n)
            adx_set_bit(m->bits, (uint64_t)at);
    return m->bits->set < m->bits->n;
}

// Covers what a form is at all points of a set. False: no memory.
static bool adx_cover_form(const adx_set *s, const int64_t form[],
                          adx_bitmap *bits)
{
    adx_covering m = { .bits = bits };
    int64_t *x = ADX_GET(s->arena, s->vars, int64_t);
    const adx_nest *nest = adx_make_nest(s, UINT32_MAX, NULL);
    if (x == NULL || nest == NULL
        || !adx_make_sparse_form(s, form, UINT32_MAX, &m.place))
        return false;
    adx_walk_nest(nest, x, adx_cover_points, &m);
    return true;
}

/* --- which numbers are written ------------------------------------------- */

// Returns the set of a term without the variables that are summed. NULL: it is
// not exactly that, or each index is not one variable.
static adx_set *adx_written_set(const adx_tensor_value *v,
                                const adx_tensor_term *term)
{
    adx_set *s = adx_copy_set(term->set);
    if (s == NULL)
        return NULL;
    bool *keep = ADX_GET(s->arena, s->width + 64, bool);
    if (keep == NULL)
        return NULL;
    for (uint32_t i = 0; i < v->dims; i++) {
        const int64_t *form = adx_form_of(s, term->out + i);
        uint32_t var = 0;
        uint32_t count = adx_vars_of(s, form, &var);
        if (count > 1 || (count == 1 && !adx_is_unit(form[1 + var])))
            return NULL;
        if (count == 1)
            keep[var] = true;
    }
    return adx_project(s, keep) ? s : NULL;
}

// Whether one term writes all numbers: without the variables that are summed
// its set is a box, as large as the value.
static bool adx_term_is_full(ad_tensor *t, const adx_tensor_value *v,
                             const adx_tensor_term *term)
{
    const adx_set *s = adx_written_set(v, term);
    if (s == NULL || t->open == NULL)
        return s != NULL && adx_box_points(s) == v->size;
    const adx_set *all = adx_set_of_ranges(t, &v->range, v->dims);
    const adx_indexed written = { s, term->out, v->dims };
    const adx_indexed range = { all, 0, v->dims };
    return all != NULL && adx_contains(&written, &range);
}

#define ADX_COVERING_MOST 6     // terms

// Whether several terms write all numbers together, where sizes are open.
static bool adx_terms_are_full(ad_tensor *t, const adx_tensor_value *v)
{
    adx_indexed *in = ADX_GET(&t->arena, v->terms, adx_indexed);
    const adx_set *all = adx_set_of_ranges(t, &v->range, v->dims);
    const adx_indexed at = { all, 0, v->dims };
    uint32_t n = 0;
    for (uint32_t i = 0; in != NULL && i < v->terms; i++) {
        const adx_set *s = adx_written_set(v, &v->term[i]);
        const adx_indexed one = { s, v->term[i].out, v->dims };
        if (s != NULL)
            in[n++] = one;
    }
    return in != NULL && all != NULL && adx_are_covering(in, n, &at);
}

// Whether all numbers are written, as far as that is easily seen.
static bool adx_all_written(ad_tensor *t, uint32_t value)
{
    adx_tensor_value *v = &t->program->value[value];
    if (!v->known) {
        v->known = true;
        v->full = v->kind <= ADX_VALUE_WEIGHT || v->size == 0;
        for (uint32_t i = 0; i < v->terms && !v->full; i++)
            v->full = adx_term_is_full(t, v, &v->term[i]);
        v->full = v->full || (t->open != NULL && v->terms > 1
                              && v->terms <= ADX_COVERING_MOST
                              && adx_terms_are_full(t, v));
        v->gaps = v->kind == ADX_VALUE_MOST && !v->full;
        v->full = v->full || v->gaps;
    }
    return v->full;
}

// Finds which numbers are written. NULL: no memory.
static adx_bitmap *adx_cover_written(adx_arena *a, const adx_tensor_value *v)
{
    adx_bitmap *bits = adx_new_bitmap(a, v->size);
    for (uint32_t i = 0; i < v->terms && bits != NULL; i++) {
        adx_set s = *v->term[i].set;
        s.arena = a;
        int64_t *form = ADX_GET(a, s.width, int64_t);
        if (form == NULL)
            return NULL;
        adx_place_form(&s, v, v->term[i].out, false, form);
        if (!adx_cover_form(&s, form, bits))
            return NULL;
    }
    return bits;
}

// Whether an open size is in a row.
static bool adx_has_sizes(const adx_set *s, uint32_t row)
{
    bool any = false;
    for (uint32_t v = 0; v < s->open; v++)
        any = any || adx_form_of(s, row)[1 + v] != 0;
    return any;
}

// Whether all variables of a row are indices of what is written.
static bool adx_is_of_indices(const adx_indexed *at, uint32_t row)
{
    const adx_set *s = at->set;
    for (uint32_t v = s->open; v < s->vars; v++) {
        bool index = adx_form_of(s, row)[1 + v] == 0;
        for (uint32_t d = 0; d < at->dims && !index; d++) {
            const int64_t *form = adx_form_of(s, at->row + d);
            uint32_t some = 0;
            index = adx_vars_of(s, form, &some) == 1 && some == v
                 && adx_is_unit(form[1 + v]);
        }
        if (!index)
            return false;
    }
    return true;
}

// Returns the set of a term without what is true of all indices of its value,
// so that no open size is left. NULL: one is left.
static adx_set *adx_set_without_sizes(ad_tensor *t, const adx_tensor_value *v,
                                      const adx_tensor_term *term)
{
    adx_set *s = adx_copy_set(term->set);
    const adx_set *all = adx_set_of_ranges(t, &v->range, v->dims);
    const adx_indexed in = { s, term->out, v->dims };
    const adx_indexed at = { all, 0, v->dims };
    bool left = s == NULL || all == NULL;
    for (uint32_t i = 0; !left && i < s->open; i++)
        left = s->low[i] > t->open->least[i]
            || s->high[i] < t->given.size[t->open->size[i]];
    for (uint32_t d = 0; !left && d < v->dims; d++)
        left = adx_has_sizes(s, term->out + d)
            || adx_open_extreme(t, v->range.from + (size_t)d * (1 + s->open),
                                true) != v->low[d];
    for (uint32_t r = 0; !left && r < s->rows; r++) {
        adx_set_row *row = &s->row[r];
        if (row->kind <= ADX_ROW_FORM
            || (!adx_has_sizes(s, r) && (row->kind != ADX_ROW_VALUE
                                         || !adx_has_sizes(s, row->at))))
            continue;
        left = row->kind != ADX_ROW_SIGN || !adx_is_of_indices(&in, r)
            || !adx_holds_at(&in, adx_form_of(s, r), &at);
        row->kind = ADX_ROW_GONE;
    }
    for (uint32_t i = 0; !left && i < s->open; i++)
        s->low[i] = s->high[i];
    return left ? NULL : s;
}

// Finds which numbers are written where sizes are open: of those that there are
// at given sizes, always the same. NULL: that is not so.
static adx_bitmap *adx_cover_open(ad_tensor *t, const adx_tensor_value *v)
{
    adx_bitmap *bits = adx_new_bitmap(&t->arena, v->size);
    for (uint32_t i = 0; i < v->terms && bits != NULL; i++) {
        const adx_set *s = adx_set_without_sizes(t, v, &v->term[i]);
        int64_t *form = s == NULL ? NULL
                      : ADX_GET(&t->arena, s->width, int64_t);
        if (form == NULL)
            return NULL;
        adx_place_form(s, v, v->term[i].out, false, form);
        if (!adx_cover_form(s, form, bits))
            return NULL;
    }
    return bits;
}

// Finds out which numbers are written. False: no memory, or it depends on open
// sizes.
static bool adx_find_support(ad_tensor *t, uint32_t value)
{
    if (adx_all_written(t, value) || t->program->value[value].support != NULL)
        return true;
    adx_bitmap *bits = t->open != NULL
        ? adx_cover_open(t, &t->program->value[value])
        : adx_cover_written(&t->arena, &t->program->value[value]);
    if (bits == NULL && t->open != NULL)
        adx_say_undecided(t, "which numbers of an array are 0 for want of "
                             "being written cannot be told for all sizes at "
                             "once: it may be for larger least sizes");
    adx_tensor_value *v = &t->program->value[value];
    v->support = bits;
    v->full = bits != NULL && bits->set == v->size;
    return bits != NULL;
}

// A set whose conditions are added to another: variable v of it becomes var[v].
// Open sizes are the same in both.
typedef struct adx_joining {
    adx_set *to;
    const adx_set *from;
    uint32_t *var;
} adx_joining;

// Returns a row of the other set. UINT32_MAX: no memory.
static uint32_t adx_join_row(const adx_joining *j, adx_row_kind kind,
                             uint32_t row)
{
    uint32_t r = adx_new_row(j->to, kind);
    if (r == UINT32_MAX)
        return r;
    int64_t *form = adx_form_of(j->to, r);
    const int64_t *of = adx_form_of(j->from, row);
    form[0] = of[0];
    for (uint32_t v = 0; v < j->from->vars; v++)
        if (of[1 + v] != 0)
            form[1 + j->var[v]] = of[1 + v];
    return r;
}

// Copies the conditions of a set to another one. False: no memory.
static bool adx_join_conditions(const adx_joining *j)
{
    for (uint32_t r = 0; r < j->from->rows; r++) {
        const adx_set_row *row = &j->from->row[r];
        if (row->kind <= ADX_ROW_FORM)
            continue;
        uint32_t at = row->kind == ADX_ROW_VALUE
                    ? adx_join_row(j, ADX_ROW_FORM, row->at) : 0;
        uint32_t to = adx_join_row(j, row->kind, r);
        if (at == UINT32_MAX || to == UINT32_MAX)
            return false;
        j->to->row[to] = *row;
        j->to->row[to].at = at;
    }
    return true;
}

// Adds the conditions of the set `from` to s, with the same indices: rows
// `yours` of `from` become equal to rows `mine` of s. `count` more rows of
// `from`, from row `more` on, are copied to s, where they begin at row *first.
// False: no memory.
static bool adx_join_sets(adx_set *s, uint32_t mine, const adx_set *from,
                          uint32_t yours, uint32_t dims, uint32_t more,
                          uint32_t count, uint32_t *first)
{
    const adx_joining j = { s, from, ADX_GET(s->arena, from->vars, uint32_t) };
    if (j.var == NULL)
        return false;
    for (uint32_t v = 0; v < from->vars; v++)
        if (v < from->open) {
            j.var[v] = v;
            s->low[v] = from->low[v] > s->low[v] ? from->low[v] : s->low[v];
            s->high[v] = from->high[v] < s->high[v] ? from->high[v]
                                                    : s->high[v];
        } else if (!from->gone[v]) {
            j.var[v] = adx_new_var(s, from->low[v], from->high[v]);
            if (j.var[v] == UINT32_MAX)
                return false;
            s->called[j.var[v]] = from->called[v];
        }
    if (!adx_join_conditions(&j))
        return false;
    *first = s->rows;
    for (uint32_t i = 0; i < count; i++)
        if (adx_join_row(&j, ADX_ROW_FORM, more + i) == UINT32_MAX)
            return false;
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t to = adx_join_row(&j, ADX_ROW_ZERO, yours + i);
        if (to == UINT32_MAX)
            return false;
        adx_add_multiple(s, adx_form_of(s, to), -1, adx_form_of(s, mine + i));
    }
    s->empty = s->empty || from->empty;
    adx_simplify_set(s);
    return true;
}

// Whether all variables from `first` on have been replaced.
static bool adx_all_gone(const adx_set *s, uint32_t first)
{
    for (uint32_t v = first; v < s->vars && !s->empty; v++)
        if (!s->gone[v])
            return false;
    return true;
}

// Returns the term that writes all numbers of a value that any of its terms
// writes, and its set without the variables that are summed. NULL: there is
// none such.
static const adx_tensor_term *adx_widest_term(const adx_tensor_value *v,
                                              const adx_set **set)
{
    for (uint32_t i = 0; i < v->terms; i++) {
        const adx_set *s = adx_written_set(v, &v->term[i]);
        const adx_indexed in = { s, v->term[i].out, v->dims };
        bool all = s != NULL;
        for (uint32_t j = 0; j < v->terms && all; j++) {
            const adx_indexed at = { v->term[j].set, v->term[j].out, v->dims };
            all = j == i || adx_contains(&in, &at);
        }
        *set = s;
        if (all)
            return &v->term[i];
    }
    return NULL;
}

// Restricts a set to the points where a number is written, when sizes are open.
// False: no single term writes everything that any term of the value writes.
static bool adx_restrict_open(ad_tensor *t, adx_set **set, adx_access to)
{
    const adx_tensor_value *v = &t->program->value[to.value];
    const adx_set *written = NULL;
    const adx_tensor_term *term = adx_widest_term(v, &written);
    uint32_t rows;
    uint32_t vars = (*set)->vars;
    adx_set *joined = term == NULL ? NULL : adx_copy_set(*set);
    if (joined == NULL
        || !adx_join_sets(joined, to.row, written, term->out, v->dims, 0, 0,
                          &rows)
        || !adx_all_gone(joined, vars))
        return false;
    *set = joined;
    return true;
}

// Restricts a set to the points where this number of a value is written. False:
// no memory.
static bool adx_restrict(ad_tensor *t, adx_set **set, adx_access to)
{
    const adx_tensor_value *v = &t->program->value[to.value];
    if (adx_all_written(t, to.value))
        return true;
    if (v->terms == 0) {
        (*set)->empty = true;
        return true;
    }
    adx_set *s = *set;
    if (v->terms == 1) {
        uint32_t rows;
        uint32_t vars = s->vars;
        adx_set *joined = adx_copy_set(s);
        if (joined == NULL
            || !adx_join_sets(joined, to.row, v->term->set, v->term->out,
                              v->dims, 0, 0, &rows))
            return false;
        if (adx_all_gone(joined, vars)) {
            *set = joined;
            return true;
        }
    }
    if (t->open != NULL && adx_restrict_open(t, set, to))
        return true;
    if (!adx_find_support(t, to.value))
        return false;
    if (v->full)
        return true;
    uint32_t r = adx_new_row(s, ADX_ROW_BIT);
    if (r == UINT32_MAX)
        return false;
    s->row[r].bits = v->support;
    adx_place_form(s, v, to.row, false, adx_form_of(s, r));
    adx_simplify_set(s);        // the number may be the same at all points
    return true;
}

ADX_SELDOM_END
