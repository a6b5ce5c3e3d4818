#pragma once

/* === tensor/sharing =========================================================
 * What is equal is computed once. A value has a key: a list of numbers which is
 * the same for values that are made of the same terms, whatever the variables
 * of their sets are called. A value whose key is known already is the earlier
 * one; a result of the caller's, which has an array of its own, becomes a copy
 * of it. Equal terms of one sum are counted: e + e is 2*e.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/open tensor/programs
 *   offers  adx_value_like adx_tensor_value_at adx_all_indices adx_writes_once
 *           adx_complete_value adx_constant_value
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Returns a value with the indices of another.
static uint32_t adx_value_like(ad_tensor *t, uint32_t like, adx_value_kind kind)
{
    uint32_t i = adx_new_value(t, kind, t->program->value[like].dims);
    if (i == 0)
        return 0;
    adx_tensor_value *v = &t->program->value[i];
    const adx_tensor_value *of = &t->program->value[like];
    for (uint32_t d = 0; d < v->dims; d++) {
        v->low[d] = of->low[d];
        v->extent[d] = of->extent[d];
        v->stride[d] = of->stride[d];
    }
    size_t ends = (size_t)v->dims * (1 + adx_open_of(t)) * sizeof(int64_t);
    if (v->range.from != NULL && of->range.from != NULL) {
        memcpy(v->range.from, of->range.from, ends);
        memcpy(v->range.last, of->range.last, ends);
    }
    v->size = of->size;
    v->span = of->span;
    v->first = of->first;
    return i;
}

static adx_tensor_value *adx_tensor_value_at(const ad_tensor *t, uint32_t value)
{
    return &t->program->value[value];
}

// Returns the set of all indices of a value; rows are its indices.
static adx_set *adx_all_indices(ad_tensor *t, const adx_tensor_value *v)
{
    adx_set *s = adx_begin_set(t);
    uint32_t formula = t->tree.array[v->array].formula;
    uint32_t open = adx_open_of(t);
    for (uint32_t i = 0; s != NULL && i < v->dims; i++) {
        size_t at = (size_t)i * (1 + open);
        uint32_t x = open == 0
            ? adx_new_var(s, v->low[i], v->low[i] + v->extent[i] - 1)
            : adx_new_var(s, adx_open_extreme(t, v->range.from + at, false),
                          adx_open_extreme(t, v->range.last + at, true));
        if (x != UINT32_MAX)
            s->called[x] = t->tree.formula[formula].first + i;
    }
    for (uint32_t i = 0; s != NULL && i < v->dims; i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r != UINT32_MAX)
            adx_form_of(s, r)[1 + open + i] = 1;
    }
    for (uint32_t i = 0; s != NULL && open > 0 && i < v->dims; i++)
        adx_bound_var(s, open + i, v->range.from + (size_t)i * (1 + open),
                      v->range.last + (size_t)i * (1 + open));
    if (s != NULL)
        adx_simplify_set(s);
    return s;
}

/* --- keys ----------------------------------------------------------------- */

// A list of numbers that grows. to NULL: they are only counted.
typedef struct adx_key_writer {
    int64_t *to;
    size_t n;
    const adx_set *set;
    uint32_t *name;             // of each variable in the key, from 1 on
    uint32_t names;
    uint32_t ends;              // numbers of a form in open sizes
} adx_key_writer;

// Adds a number to a key, or counts it only.
static void adx_put_key(adx_key_writer *w, int64_t x)
{
    if (w->to != NULL)
        w->to[w->n] = x;
    w->n++;
}

static void adx_put_key_pointer(adx_key_writer *w, const void *p)
{
    adx_put_key(w, (int64_t)(uintptr_t)p);
}

// Adds a number's bits, so that 0 and -0 are different.
static void adx_put_key_real(adx_key_writer *w, ad_real k)
{
    int64_t bits = 0;
    memcpy(&bits, &k, sizeof k);
    adx_put_key(w, bits);
}

// Adds a form to a key: its variables get names in the order in which they are
// met.
static void adx_put_key_form(adx_key_writer *w, uint32_t row)
{
    const int64_t *form = adx_form_of(w->set, row);
    adx_put_key(w, form[0]);
    for (uint32_t v = 0; v < w->set->vars; v++) {
        if (form[1 + v] == 0 || w->set->gone[v])
            continue;
        if (w->name[v] == 0)
            w->name[v] = ++w->names;
        adx_put_key(w, w->name[v]);
        adx_put_key(w, form[1 + v]);
    }
    adx_put_key(w, 0);
}

// Adds what is read: the value and its indices.
static void adx_put_key_access(adx_key_writer *w, const ad_tensor *t,
                               adx_access from)
{
    adx_put_key(w, from.value);
    for (uint32_t d = 0; d < t->program->value[from.value].dims; d++)
        adx_put_key_form(w, from.row + d);
}

// Adds the conditions of a set and the bounds of its variables.
static void adx_put_key_set(adx_key_writer *w)
{
    const adx_set *s = w->set;
    for (uint32_t r = 0; r < s->rows; r++) {
        if (s->row[r].kind <= ADX_ROW_FORM)
            continue;
        adx_put_key(w, (int64_t)s->row[r].kind);
        adx_put_key_pointer(w, s->row[r].table);
        adx_put_key_pointer(w, s->row[r].bits);
        adx_put_key_form(w, r);
        if (s->row[r].kind == ADX_ROW_VALUE)
            adx_put_key_form(w, s->row[r].at);
    }
    for (uint32_t v = 0; v < s->vars; v++) {
        if (s->gone[v])
            continue;
        adx_put_key(w, w->name[v]);
        adx_put_key(w, s->low[v]);
        adx_put_key(w, s->high[v]);
    }
}

// Adds a term without its constant. Two factors of a product have an order.
static void adx_put_key_term(adx_key_writer *w, const ad_tensor *t,
                             const adx_tensor_value *v,
                             const adx_tensor_term *term)
{
    bool turn = v->kind == ADX_VALUE_SUM && term->factors == 2
             && term->factor[0].value > term->factor[1].value;
    adx_put_key(w, term->factors);
    adx_put_key(w, term->absorbs);
    adx_put_key(w, term->in_power);
    adx_put_key(w, term->power);
    for (uint32_t d = 0; d < v->dims; d++)
        adx_put_key_form(w, term->out + d);
    for (uint32_t f = 0; f < term->factors; f++)
        adx_put_key_access(w, t, term->factor[turn ? 1 - f : f]);
    if (term->power != 0)
        adx_put_key_access(w, t, term->base);
    adx_put_key(w, term->most);
    if (term->most != 0) {
        const adx_access at = { term->most, term->at };
        adx_put_key_access(w, t, at);
        adx_put_key_access(w, t, term->picked);
    }
    adx_put_key_set(w);
}

// Adds what a value is but for its terms.
static void adx_put_key_value(adx_key_writer *w, const adx_tensor_value *v)
{
    adx_put_key(w, v->kind);
    adx_put_key(w, v->op);
    adx_put_key(w, v->which);
    adx_put_key(w, v->fixed);
    adx_put_key(w, v->dims);
    for (uint32_t d = 0; d < v->dims; d++) {
        adx_put_key(w, v->low[d]);
        adx_put_key(w, v->extent[d]);
    }
    for (uint32_t i = 0; v->range.from != NULL && i < v->dims * w->ends; i++) {
        adx_put_key(w, v->range.from[i]);
        adx_put_key(w, v->range.last[i]);
    }
}

typedef struct adx_value_key {
    int64_t *number;
    size_t n;
    uint64_t hash;
} adx_value_key;

static void adx_hash_key(adx_value_key *k)
{
    k->hash = 14695981039346656037u;
    for (size_t i = 0; i < k->n; i++) {
        k->hash = (k->hash ^ (uint64_t)k->number[i]) * 1099511628211u;
        k->hash ^= k->hash >> 29;
    }
}

// Whether two keys are equal, number by number.
static bool adx_same_key(const adx_value_key *a, const adx_value_key *b)
{
    return a->hash == b->hash && a->n == b->n
        && memcmp(a->number, b->number, a->n * sizeof *a->number) == 0;
}

// Adds a term's part of a key; its constant too, if `whole`.
static void adx_write_term(adx_key_writer *w, const ad_tensor *t,
                           const adx_tensor_value *v,
                           const adx_tensor_term *term, bool whole)
{
    w->set = term->set;
    w->names = term->set->open;
    memset(w->name, 0, term->set->width * sizeof *w->name);
    for (uint32_t i = 0; i < w->names; i++)
        w->name[i] = i + 1;
    adx_put_key_term(w, t, v, term);
    if (whole)
        adx_put_key_real(w, term->k);
}

// The key of a value, or that of one of its terms. False: no memory.
static bool adx_make_value_key(ad_tensor *t, const adx_tensor_value *v,
                               const adx_tensor_term *only, adx_value_key *key)
{
    uint32_t width = only != NULL ? only->set->width : 1;
    adx_key_writer w = { .ends = 1 + adx_open_of(t) };
    for (uint32_t i = 0; only == NULL && i < v->terms; i++)
        if (v->term[i].set->width > width)
            width = v->term[i].set->width;
    w.name = ADX_GET(&t->arena, width, uint32_t);
    if (w.name == NULL)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        w.n = 0;
        if (only != NULL)
            adx_write_term(&w, t, v, only, false);
        else
            adx_put_key_value(&w, v);
        for (uint32_t i = 0; only == NULL && i < v->terms; i++)
            adx_write_term(&w, t, v, &v->term[i], true);
        if (pass == 0)
            w.to = ADX_GET(&t->arena, w.n, int64_t);
        if (w.to == NULL)
            return false;
    }
    key->number = w.to;
    key->n = w.n;
    adx_hash_key(key);
    return true;
}

/* --- equal terms ---------------------------------------------------------- */

static uint32_t adx_complete_value(ad_tensor *t, uint32_t value);

// Whether each point of a term writes a number that no other point writes:
// every variable has an index of its own, but those that maps give.
static bool adx_writes_once(const adx_tensor_value *v,
                            const adx_tensor_term *term)
{
    const adx_set *s = term->set;
    const adx_map_vars maps = adx_find_map_vars(s);
    uint32_t own = 0;
    if (maps.given == NULL)
        return false;
    for (uint32_t i = 0; i < v->dims; i++) {
        uint32_t var = 0;
        uint32_t count = adx_vars_of(s, adx_form_of(s, term->out + i), &var);
        bool again = count != 1 || maps.given[var];
        for (uint32_t j = 0; j < i && !again; j++)
            again = adx_form_of(s, term->out + j)[1 + var] != 0;
        own += !again;
    }
    return own == maps.free;
}

// Adds a term that copies another value with the same indices, times k.
static void adx_copy_term(ad_tensor *t, uint32_t to, uint32_t from, ad_real k)
{
    const adx_access all = { from, 0 };
    adx_set *s = adx_all_indices(t, adx_tensor_value_at(t, from));
    if (s != NULL && adx_restrict(t, &s, all) && !s->empty)
        adx_add_factor(adx_new_tensor_term(t, to, s, 0, k), all);
}

// Makes term i stand for all that are equal to it; k is the sum of their
// constants. A term that adds many points to a number becomes a value of its
// own, with the constant 1, and a copy of that times k: so k multiplies each
// sum once, when it is complete, and not each point.
static void adx_scale_term(ad_tensor *t, uint32_t value, uint32_t i, ad_real k)
{
    adx_tensor_term *term = &adx_tensor_value_at(t, value)->term[i];
    if (term->factors == 0
        || adx_writes_once(adx_tensor_value_at(t, value), term)) {
        term->k = k;
        return;
    }
    adx_tensor_term once = *term;
    uint32_t sum = adx_value_like(t, value, ADX_VALUE_SUM);
    if (sum == 0)
        return;
    adx_lay_out(t, adx_tensor_value_at(t, sum), NULL);
    once.k = 1;
    adx_tensor_term *to = adx_new_tensor_term(t, sum, once.set, once.out, 1);
    if (to == NULL)
        return;
    once.set = to->set;
    *to = once;
    adx_tensor_value_at(t, sum)->fixed = adx_tensor_value_at(t, value)->fixed;
    sum = adx_complete_value(t, sum);
    uint32_t terms = adx_tensor_value_at(t, value)->terms;
    adx_copy_term(t, value, sum, k);
    adx_tensor_value *v = adx_tensor_value_at(t, value);
    if (v->terms > terms)
        v->term[i] = v->term[--v->terms];
}

// Returns the first term that is equal to term i, by a table of `room` keys.
static uint32_t adx_equal_term(const adx_value_key key[], uint32_t bucket[],
                               uint32_t room, uint32_t i)
{
    uint32_t at = (uint32_t)key[i].hash & (room - 1);
    for (; bucket[at] != 0; at = (at + 1) & (room - 1))
        if (adx_same_key(&key[bucket[at] - 1], &key[i]))
            return bucket[at] - 1;
    bucket[at] = i + 1;
    return i;
}

// Joins equal terms, unless they cancel.
static void adx_join_terms(ad_tensor *t, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(t, value);
    uint32_t n = v->terms;
    uint32_t room = 4;
    uint32_t left = 0;
    while (room < 2 * n)
        room *= 2;
    adx_value_key *key = ADX_GET(&t->arena, n, adx_value_key);
    uint32_t *bucket = ADX_GET(&t->arena, room, uint32_t);
    uint32_t *first = ADX_GET(&t->arena, n, uint32_t);
    ad_real *k = ADX_GET(&t->arena, n, ad_real);
    if (key == NULL || bucket == NULL || first == NULL || k == NULL)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (!adx_make_value_key(t, v, &v->term[i], &key[i]))
            return;
        first[i] = v->term[i].most != 0 ? i
                 : adx_equal_term(key, bucket, room, i);
        k[first[i]] += v->term[i].k;
    }
    for (uint32_t i = 0; i < n; i++)
        if (first[i] == i || k[first[i]] == 0) {
            first[left] = first[i];
            adx_tensor_value_at(t, value)->term[left++] =
                adx_tensor_value_at(t, value)->term[i];
        }
    adx_tensor_value_at(t, value)->terms = left;
    for (uint32_t i = 0; i < left && left < n; i++)
        if (k[first[i]] != 0
            && k[first[i]] != adx_tensor_value_at(t, value)->term[i].k)
            adx_scale_term(t, value, i, k[first[i]]);
}

/* --- equal values --------------------------------------------------------- */

// Values by their keys.
struct adx_shared_values {
    adx_value_key *key;
    uint32_t *value;            // 0: the place is free
    uint32_t n, room;
};

// Returns the place of a key, or a free one.
static uint32_t adx_shared_place(const adx_shared_values *s,
                                 const adx_value_key *key)
{
    uint32_t at = (uint32_t)key->hash & (s->room - 1);
    while (s->value[at] != 0 && !adx_same_key(&s->key[at], key))
        at = (at + 1) & (s->room - 1);
    return at;
}

// Returns a table of twice the size, with what the old one has. NULL: no
// memory.
static adx_shared_values *adx_widen_shared(adx_arena *a,
                                           const adx_shared_values *of)
{
    adx_shared_values *s = ADX_GET(a, 1, adx_shared_values);
    if (s == NULL)
        return NULL;
    s->room = of == NULL ? 64 : 2 * of->room;
    s->key = ADX_GET(a, s->room, adx_value_key);
    s->value = ADX_GET(a, s->room, uint32_t);
    if (s->key == NULL || s->value == NULL)
        return NULL;
    for (uint32_t i = 0; of != NULL && i < of->room; i++)
        if (of->value[i] != 0) {
            uint32_t at = adx_shared_place(s, &of->key[i]);
            s->key[at] = of->key[i];
            s->value[at] = of->value[i];
            s->n++;
        }
    return s;
}

// Returns the value with the key of this one, which is noted if there is none
// yet. 0: no memory.
static uint32_t adx_shared_value(ad_tensor *t, uint32_t value)
{
    adx_value_key key;
    adx_shared_values *s = t->program->shared;
    if (s == NULL || 2 * s->n >= s->room)
        s = t->program->shared = adx_widen_shared(&t->arena, s);
    if (s == NULL
        || !adx_make_value_key(t, adx_tensor_value_at(t, value), NULL, &key))
        return 0;
    uint32_t at = adx_shared_place(s, &key);
    if (s->value[at] != 0)
        return s->value[at];
    s->key[at] = key;
    s->value[at] = value;
    s->n++;
    return value;
}

// Whether a value is a number of another at each point.
static bool adx_is_copy(const adx_tensor_value *v)
{
    return v->kind == ADX_VALUE_SUM && v->terms == 1 && v->term->factors <= 1
        && (v->term->k == 1 || v->term->k == -1);
}

// A value has all its terms, and can be computed from here on. Returns the one
// to be read in its place.
static uint32_t adx_complete_value(ad_tensor *t, uint32_t value)
{
    adx_tensor_value *v = adx_tensor_value_at(t, value);
    if (v->kind == ADX_VALUE_SUM && v->terms > 1 && !t->options.as_written)
        adx_join_terms(t, value);
    uint32_t shared = t->arena.status != ADREV_OK ? 0
                    : adx_shared_value(t, value);
    v = adx_tensor_value_at(t, value);
    if (shared != 0 && shared != value) {
        if (!v->result)
            return shared;
        if (!adx_is_copy(v)) {
            v->kind = ADX_VALUE_SUM;
            v->terms = 0;
            adx_copy_term(t, value, shared, 1);
        }
    }
    adx_finish_value(t, value);
    return value;
}

// Returns a value of one number, which is a constant. 0: no memory.
static uint32_t adx_constant_value(ad_tensor *t, ad_real k)
{
    adx_set *s = adx_begin_set(t);
    uint32_t value = s == NULL ? 0 : adx_new_value(t, ADX_VALUE_SUM, 0);
    if (value == 0)
        return 0;
    adx_lay_out(t, &t->program->value[value], NULL);
    adx_new_tensor_term(t, value, s, 0, k);
    return adx_complete_value(t, value);
}

ADX_SELDOM_END
