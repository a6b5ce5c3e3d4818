#pragma once

/* === tensor/pointwise =======================================================
 * Values whose numbers can be computed one after the other, each by one
 * expression: for each number there is at most one point of each piece. A piece
 * is a term, or a term for certain values of the variables that it is summed
 * over, if these have few values. It adds in a box of the value's indices. In
 * the core, where all boxes overlap, no condition is left. Where sizes are
 * open, all pieces add everywhere: the boxes are those of the largest sizes.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/nests tensor/open
 *           tensor/programs tensor/parts
 *   offers  adx_box ADX_LOOKUPS_MOST ADX_LOOKUPS_ALL adx_term_piece
 *           adx_pointwise adx_make_box adx_box_size adx_is_inside
 *           adx_free_points adx_has_sums adx_reduces adx_find_pieces
 * ========================================================================== */

ADX_SELDOM_BEGIN

// low <= index <= high, for each index of a value.
typedef struct adx_box {
    int64_t *low;
    int64_t *high;
} adx_box;

// A number that a map gives: table[argument], a form of the value's indices and
// of the numbers before this one.
typedef struct adx_lookup {
    const adx_int_table *table;
    int64_t *argument;          // [1 + open sizes + dims + ADX_LOOKUPS_MOST]
} adx_lookup;

#define ADX_LOOKUPS_MOST 6      // of a piece
#define ADX_LOOKUPS_ALL  24     // of a value

typedef struct adx_term_piece {
    const adx_tensor_term *term;
    const adx_set *set;         // of the term, for these values of variables
    int64_t *form;              // [vars][1 + open sizes + dims +
                                // ADX_LOOKUPS_MOST] the variables as forms of
                                // sizes, of the value's indices, and of numbers
                                // that maps give
    adx_lookup lookup[ADX_LOOKUPS_MOST];
    uint32_t lookups;
    adx_box box;
} adx_term_piece;

typedef struct adx_pointwise {
    adx_term_piece *piece;
    uint32_t n;
    uint32_t lookups;           // of all of them
    adx_box core;
    adx_box domain;             // where there must be a number; 0 outside of
                                // the pieces
} adx_pointwise;

#define ADX_PIECES_WRITTEN 32   // more are loops

// Takes memory for a box. False: there is none.
static bool adx_make_box(adx_arena *a, uint32_t dims, adx_box *to)
{
    to->low = ADX_GET(a, dims, int64_t);
    to->high = ADX_GET(a, dims, int64_t);
    return to->low != NULL && to->high != NULL;
}

// Returns how many points it has.
static double adx_box_size(const adx_box *b, uint32_t dims)
{
    double n = 1;
    for (uint32_t d = 0; d < dims; d++)
        n *= b->high[d] < b->low[d] ? 0
           : (double)(b->high[d] - b->low[d]) + 1;
    return n;
}

// Whether all of a box is in another.
static bool adx_is_inside(const adx_box *b, const adx_box *other, uint32_t dims)
{
    for (uint32_t d = 0; d < dims; d++)
        if (b->low[d] < other->low[d] || b->high[d] > other->high[d])
            return false;
    return true;
}

// Counts the points, if conditions only say which map gives which variable;
// else UINT64_MAX.
static uint64_t adx_free_points(const adx_set *s)
{
    const adx_map_vars maps = adx_find_map_vars(s);
    uint64_t n = s->empty ? 0 : 1;
    if (maps.given == NULL)
        return UINT64_MAX;
    for (uint32_t v = 0; v < s->vars && maps.all; v++)
        if (!s->gone[v] && !maps.given[v]) {
            uint64_t extent = (uint64_t)(s->high[v] - s->low[v]) + 1;
            if (n > UINT64_MAX / 2 / extent)
                return UINT64_MAX;
            n *= extent;
        }
    return maps.all || s->empty ? n : UINT64_MAX;
}

/* --- pieces -------------------------------------------------------------- */

typedef struct adx_finding {
    adx_arena *a;
    const adx_tensor_value *value;
    adx_pointwise *to;
    uint32_t open;
    uint32_t width;             // 1 + open sizes + dims + ADX_LOOKUPS_MOST
    uint32_t lookups;           // of all pieces
    const adx_set *all;         // indices of the value, where sizes are open
} adx_finding;

// Makes index d = sign*x[v] + c, as a form for x[v]; its bounds are those of
// the variable.
static void adx_own_index(const adx_finding *k, adx_term_piece *p, uint32_t d,
                          uint32_t v, const int64_t row[])
{
    int64_t sign = row[1 + v];
    int64_t one = row[0] + sign * p->set->low[v];
    int64_t other = row[0] + sign * p->set->high[v];
    for (uint32_t i = 0; i <= k->open; i++)
        p->form[v * k->width + i] = -sign * row[i];
    p->form[v * k->width + 1 + k->open + d] = sign;
    p->box.low[d] = one < other ? one : other;
    p->box.high[d] = one < other ? other : one;
}

// Returns the indices of a piece give variables that no map gives, one each.
// Returns how many they give; UINT32_MAX: an index is no such variable.
static uint32_t adx_own_indices(const adx_finding *k, adx_term_piece *p,
                                const bool given[], bool own[])
{
    const adx_set *s = p->set;
    uint32_t owned = 0;
    for (uint32_t d = 0; d < k->value->dims; d++) {
        const int64_t *row = adx_form_of(s, p->term->out + d);
        uint32_t v = 0;
        uint32_t count = adx_vars_of(s, row, &v);
        p->box.low[d] = p->box.high[d] = row[0];
        if (count > 1 || (count == 1 && (!adx_is_unit(row[1 + v]) || own[v]
                                         || given[v])))
            return UINT32_MAX;
        if (count == 0)
            continue;
        own[v] = true;
        owned++;
        adx_own_index(k, p, d, v, row);
    }
    return owned;
}

// Adds the variables that maps give, by rows in their order.
static bool adx_add_lookups(adx_finding *k, adx_term_piece *p,
                            const uint32_t row[], uint32_t n)
{
    const adx_set *s = p->set;
    k->lookups += n;
    if (n > ADX_LOOKUPS_MOST || k->lookups > ADX_LOOKUPS_ALL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *form = adx_form_of(s, row[i]);
        const int64_t *argument = adx_form_of(s, s->row[row[i]].at);
        adx_lookup *l = &p->lookup[p->lookups++];
        uint32_t count;
        uint32_t v = 0;
        adx_divisor_of(s, form, &count, &v);
        l->table = s->row[row[i]].table;
        l->argument = ADX_GET(k->a, k->width, int64_t);
        if (l->argument == NULL)
            return false;
        l->argument[0] = argument[0];
        for (uint32_t u = 0; u < s->vars; u++)
            for (uint32_t j = 0; argument[1 + u] != 0 && j < k->width; j++)
                l->argument[j] += argument[1 + u] * p->form[u * k->width + j];
        p->form[v * k->width] = -form[1 + v] * form[0];
        p->form[v * k->width + 1 + k->open + k->value->dims + i] = form[1 + v];
    }
    return true;
}

// Whether a piece adds at all indices, for all sizes; its box then is that of
// the largest ones.
static bool adx_is_everywhere_there(const adx_finding *k, adx_term_piece *p)
{
    const adx_tensor_value *v = k->value;
    const adx_indexed in = { p->set, p->term->out, v->dims };
    const adx_indexed at = { k->all, 0, v->dims };
    for (uint32_t i = 0; i < k->open; i++)
        p->form[i * k->width + 1 + i] = 1;
    for (uint32_t d = 0; d < v->dims; d++) {
        p->box.low[d] = v->low[d];
        p->box.high[d] = v->low[d] + v->extent[d] - 1;
    }
    return adx_contains(&in, &at);
}

// Adds a piece: every variable of its set is given by one index, or by a map.
// False: one is not, or there is a condition.
static bool adx_add_one_piece(adx_finding *k, const adx_tensor_term *term,
                              const adx_set *s)
{
    adx_term_piece *p = &k->to->piece[k->to->n];
    if (k->to->n == ADX_PIECES_WRITTEN)
        return false;
    p->term = term;
    p->set = s;
    p->form = ADX_GET(k->a, (size_t)s->vars * k->width, int64_t);
    bool *own = ADX_GET(k->a, s->vars, bool);
    const adx_map_vars maps = adx_find_map_vars(s);
    if (p->form == NULL || own == NULL || maps.given == NULL
        || !adx_make_box(k->a, k->value->dims, &p->box))
        return false;
    bool all = maps.all || (k->open > 0 && maps.rows == 0);
    if (!all || adx_own_indices(k, p, maps.given, own) != maps.free
        || !adx_add_lookups(k, p, maps.row, maps.rows)
        || (k->open > 0 && !adx_is_everywhere_there(k, p)))
        return false;
    k->to->n++;
    return true;
}

// Returns a copy of the term's set in which the first variables of `level` have
// values, the last one changing fastest. NULL: no memory.
static adx_set *adx_fix_vars(adx_finding *k, const adx_set *s,
                             const uint32_t var[], uint32_t n, uint64_t number)
{
    adx_set *c = adx_copy_set(s);
    for (uint32_t i = n; c != NULL && i-- > 0;) {
        uint64_t extent = (uint64_t)(s->high[var[i]] - s->low[var[i]]) + 1;
        adx_fix_var(c, var[i], s->low[var[i]] + (int64_t)(number % extent));
        number /= extent;
    }
    if (c != NULL)
        adx_simplify_set(c);
    return k->a->status == ADREV_OK ? c : NULL;
}

// Finds one variable in the form of each index of the value: the one with the
// most values. Once the other variables of the form are known, the index gives
// this one.
static void adx_find_owners(const adx_finding *k, const adx_tensor_term *term,
                            const adx_set *s, bool owner[])
{
    for (uint32_t d = 0; d < k->value->dims; d++) {
        const int64_t *row = adx_form_of(s, term->out + d);
        uint32_t best = UINT32_MAX;
        for (uint32_t v = s->open; v < s->vars; v++)
            if (row[1 + v] != 0 && (best == UINT32_MAX
                || s->high[v] - s->low[v] > s->high[best] - s->low[best]))
                best = v;
        if (best != UINT32_MAX)
            owner[best] = true;
    }
}

// Finds the variables that neither an index nor a map gives. Returns how many
// combinations of values they have; UINT64_MAX: too many.
static uint64_t adx_find_summed(const adx_finding *k,
                                const adx_tensor_term *term, const adx_set *s,
                                uint32_t var[], uint32_t *n)
{
    const adx_map_vars maps = adx_find_map_vars(s);
    bool *owner = ADX_GET(k->a, s->vars, bool);
    uint64_t values = 1;
    *n = 0;
    if (maps.given == NULL || owner == NULL)
        return UINT64_MAX;
    adx_find_owners(k, term, s, owner);
    for (uint32_t v = s->open; v < s->vars; v++) {
        if (owner[v] || s->gone[v] || maps.given[v])
            continue;
        if (s->high[v] - s->low[v] >= ADX_PIECES_WRITTEN)
            return UINT64_MAX;
        values *= (uint64_t)(s->high[v] - s->low[v]) + 1;
        if (values > ADX_PIECES_WRITTEN)
            return UINT64_MAX;
        var[(*n)++] = v;
    }
    return values;
}

// Whether the loops reach a piece before another, at the same indices: both are
// of one term. *differ: their variables are different forms of the indices, and
// it is not known.
static bool adx_comes_before(const adx_finding *k, const adx_nest *nest,
                             const adx_term_piece *one,
                             const adx_term_piece *other, bool *differ)
{
    for (uint32_t l = 0; l < nest->levels; l++) {
        size_t at = (size_t)nest->level[l].var * k->width;
        const int64_t *a = one->form + at;
        const int64_t *b = other->form + at;
        if (memcmp(a + 1, b + 1, (k->width - 1) * sizeof *a) != 0) {
            *differ = true;
            return false;
        }
        if (a[0] != b[0])
            return a[0] < b[0];
    }
    return false;
}

// Sorts the pieces of a term, from `first` on, as the loops reach them at any
// indices. False: that is not known.
static bool adx_sort_pieces(const adx_finding *k, const adx_nest *nest,
                            uint32_t first)
{
    adx_term_piece *p = k->to->piece;
    bool differ = false;
    for (uint32_t i = first + 1; i < k->to->n; i++) {
        const adx_term_piece now = p[i];
        uint32_t j = i;
        for (; j > first && adx_comes_before(k, nest, &now, &p[j - 1], &differ);
             j--)
            p[j] = p[j - 1];
        p[j] = now;
    }
    return !differ;
}

// Whether a value is the sum of sums of parts (tensor/parts).
static bool adx_has_sums(const adx_tensor_value *v)
{
    return v->cut != NULL && v->cut->kind == ADX_CUT_SUMS;
}

// Whether the innermost loop of a term adds up one number, in eight sums.
static bool adx_reduces(const adx_tensor_value *v, const adx_tensor_term *term)
{
    const adx_nest *nest = term->loop->nest;
    const adx_nest_level *last = nest->levels == nest->open ? NULL
                               : &nest->level[nest->levels - 1];
    return last != NULL && last->kind == ADX_LEVEL_RANGE && last->checks == 0
        && term->loop->out.stride == 0 && v->kind == ADX_VALUE_SUM && !v->once;
}

// Makes the pieces of a term: one for each combination of values of the
// variables that it is summed over. False: there are too many, or the term has
// no such pieces.
static bool adx_add_pieces(adx_finding *k, const adx_tensor_term *term)
{
    adx_set of = *term->set;
    of.arena = k->a;
    adx_set *s = adx_copy_set(&of);
    uint32_t *var = ADX_GET(k->a, of.vars, uint32_t);
    uint32_t n = 0;
    if (s == NULL || var == NULL || term->most != 0
        || adx_reduces(k->value, term))
        return false;
    adx_simplify_set(s);
    if (s->empty)
        return true;
    uint64_t values = adx_find_summed(k, term, s, var, &n);
    if (values == UINT64_MAX)
        return false;
    uint32_t first = k->to->n;
    for (uint64_t i = 0; i < values; i++) {
        adx_set *c = adx_fix_vars(k, s, var, n, i);
        uint32_t before = k->to->n;
        if (c == NULL || (!c->empty && !adx_add_one_piece(k, term, c)))
            return false;
        uint64_t rest = i;
        for (uint32_t j = n; k->to->n > before && j-- > 0;) {
            uint64_t extent = (uint64_t)(s->high[var[j]] - s->low[var[j]]) + 1;
            k->to->piece[before].form[(size_t)var[j] * k->width] =
                s->low[var[j]] + (int64_t)(rest % extent);
            rest /= extent;
        }
    }
    return adx_sort_pieces(k, term->loop->nest, first);
}

/* --- all of a value ------------------------------------------------------ */

// Finds the core, where all pieces add, and the domain, the box around all of
// them.
static void adx_find_core(adx_finding *k)
{
    const adx_tensor_value *v = k->value;
    adx_pointwise *to = k->to;
    bool all = v->cleared || v->full;
    for (uint32_t d = 0; d < v->dims; d++) {
        int64_t *core[] = { &to->core.low[d], &to->core.high[d] };
        int64_t *hull[] = { &to->domain.low[d], &to->domain.high[d] };
        *core[0] = *hull[0] = to->piece[0].box.low[d];
        *core[1] = *hull[1] = to->piece[0].box.high[d];
        for (uint32_t i = 1; i < to->n; i++) {
            const adx_box *b = &to->piece[i].box;
            *core[0] = b->low[d] > *core[0] ? b->low[d] : *core[0];
            *core[1] = b->high[d] < *core[1] ? b->high[d] : *core[1];
            *hull[0] = b->low[d] < *hull[0] ? b->low[d] : *hull[0];
            *hull[1] = b->high[d] > *hull[1] ? b->high[d] : *hull[1];
        }
        *hull[0] = all ? v->low[d] : *hull[0];
        *hull[1] = all ? v->low[d] + v->extent[d] - 1 : *hull[1];
    }
}

// Returns the pieces of a value, if each of its numbers is best computed on its
// own. NULL: it is not; or no memory, which a->status says.
static adx_pointwise *adx_find_pieces(adx_arena *a, ad_tensor *t,
                                      const adx_tensor_value *v)
{
    uint32_t open = adx_open_of(t);
    adx_finding k = { a, v, ADX_GET(a, 1, adx_pointwise), open,
                      1 + open + v->dims + ADX_LOOKUPS_MOST, 0, NULL };
    bool sum = v->kind == ADX_VALUE_SUM;
    if (k.to == NULL || v->size == 0 || adx_has_sums(v)
        || (!sum && v->kind != ADX_VALUE_APPLICATION
            && v->kind != ADX_VALUE_PARTIAL
            && v->kind != ADX_VALUE_SECOND))
        return NULL;
    k.to->piece = ADX_GET(a, ADX_PIECES_WRITTEN, adx_term_piece);
    if (k.to->piece == NULL || !adx_make_box(a, v->dims, &k.to->core)
        || !adx_make_box(a, v->dims, &k.to->domain))
        return NULL;
    k.all = open == 0 ? NULL : adx_set_of_ranges(t, &v->range, v->dims);
    if (open > 0 && k.all == NULL)
        return NULL;
    for (uint32_t i = 0; i < v->terms; i++)
        if (!adx_add_pieces(&k, &v->term[i]))
            return NULL;
    if (k.to->n == 0 || (k.to->n > 1 && !sum))
        return NULL;
    adx_find_core(&k);
    k.to->lookups = k.lookups;
    return adx_box_size(&k.to->core, v->dims) * 2
           < adx_box_size(&k.to->domain, v->dims) ? NULL : k.to;
}

ADX_SELDOM_END
