#pragma once

/* === tensor/open ============================================================
 * Ranges of indices where sizes are open: from one form in these sizes to
 * another. Such a form is a list of numbers, [1 + open sizes]: a constant, then
 * the coefficients, as in a set, whose first variables the open sizes are.
 *
 *   needs   tensor/api tensor/tree tensor/arena tensor/sets tensor/nests
 *           tensor/binding
 *   offers  adx_open_of adx_say_undecided adx_is_open_form adx_form_in_sizes
 *           adx_open_extreme adx_add_open adx_begin_set adx_ranges
 *           adx_make_ranges adx_bound_var adx_range_of_var adx_set_of_ranges
 *           adx_is_long_walk adx_witness adx_take_witness adx_indexed
 *           adx_holds_at adx_are_covering adx_contains
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Returns how many sizes are open.
static uint32_t adx_open_of(const ad_tensor *t)
{
    return t->open == NULL ? 0 : t->open->n;
}

// Says that, and why, something cannot be decided for all sizes.
static void adx_say_undecided(ad_tensor *t, const char *why)
{
    if (t->arena.status == ADREV_OK)
        t->open->why = why;
    adx_arena_fail(&t->arena, ADREV_ESHAPE);
}

/* --- forms in sizes ------------------------------------------------------ */

// Whether an open size is in a form, also by maps.
static bool adx_is_open_form(const ad_tensor *t, uint32_t form)
{
    const adx_affine *f = &t->tree.form[form];
    bool open = false;
    for (uint32_t i = 0; i < f->count && t->open != NULL; i++) {
        const adx_multiple *m = &t->tree.multiple[f->first + i];
        open = open || (m->kind == ADX_OF_SIZE && t->open->var[m->of] != 0)
            || (m->kind == ADX_OF_MAP && adx_is_open_form(t, m->argument));
    }
    return open;
}

// A form without indices. False: a number is too large.
static bool adx_form_in_sizes(const ad_tensor *t, uint32_t form, int64_t to[])
{
    const adx_affine *f = &t->tree.form[form];
    int64_t most = 0;
    bool ok = adx_size_form(t, form, &most);
    memset(to, 0, (1 + adx_open_of(t)) * sizeof *to);
    to[0] = f->constant;
    for (uint32_t i = 0; i < f->count && ok; i++) {
        const adx_multiple *m = &t->tree.multiple[f->first + i];
        uint32_t var = t->open == NULL ? 0 : t->open->var[m->of];
        if (var == 0)
            to[0] += m->k * t->given.size[m->of];
        else
            to[var] += m->k;
    }
    return ok;
}

// Returns the least or largest value of a form, for all sizes.
static int64_t adx_open_extreme(ad_tensor *t, const int64_t form[], bool most)
{
    int64_t sum = form[0];
    for (uint32_t i = 0; i < adx_open_of(t); i++)
        sum = adx_whole_add(&t->arena, sum, form[1 + i],
                            (form[1 + i] > 0) == most
                                ? t->given.size[t->open->size[i]]
                                : t->open->least[i]);
    return sum;
}

// Computes to += k * a form in sizes.
static void adx_add_open(adx_arena *a, int64_t to[], int64_t k,
                         const int64_t form[], uint32_t open)
{
    for (uint32_t i = 0; i <= open; i++)
        to[i] = adx_whole_add(a, to[i], k, form[i]);
}

// Returns the set of one point, for all sizes. NULL: no memory.
static adx_set *adx_begin_set(ad_tensor *t)
{
    adx_set *s = adx_new_set(&t->arena);
    for (uint32_t i = 0; s != NULL && i < adx_open_of(t); i++)
        if (adx_new_var(s, t->open->least[i],
                        t->given.size[t->open->size[i]]) == UINT32_MAX)
            return NULL;
    if (s != NULL)
        s->open = adx_open_of(t);
    return s;
}

/* --- ranges of indices --------------------------------------------------- */

// from <= index <= last, for each index of a value. NULL: no size is open.
typedef struct adx_ranges {
    int64_t *from, *last;       // [dims][1 + open]
} adx_ranges;

// Takes memory for the ends of ranges; none is needed if no size is open.
static void adx_make_ranges(ad_tensor *t, uint32_t dims, adx_ranges *to)
{
    size_t n = t->open == NULL ? 0 : (size_t)dims * (1 + t->open->n);
    to->from = n == 0 ? NULL : ADX_GET(&t->arena, n, int64_t);
    to->last = n == 0 ? NULL : ADX_GET(&t->arena, n, int64_t);
}

// Bounds a variable of a set by forms in sizes. Where a bound is a number, it
// is that of the variable already.
static void adx_bound_var(adx_set *s, uint32_t var, const int64_t from[],
                          const int64_t last[])
{
    for (int upper = 0; upper < 2; upper++) {
        const int64_t *bound = upper ? last : from;
        bool open = false;
        for (uint32_t i = 0; i < s->open; i++)
            open = open || bound[1 + i] != 0;
        uint32_t r = open ? adx_new_row(s, ADX_ROW_SIGN) : UINT32_MAX;
        if (r == UINT32_MAX)
            continue;
        adx_add_open(s->arena, adx_form_of(s, r), upper ? 1 : -1, bound,
                     s->open);
        adx_form_of(s, r)[1 + var] = upper ? -1 : 1;
    }
}

// The range of a variable, as far as forms in sizes bound it from below and
// from above, as index d. It is never beyond the bounds of the variable.
static void adx_range_of_var(ad_tensor *t, const adx_ranges *to, uint32_t d,
                             const adx_set *s, uint32_t var)
{
    size_t at = (size_t)d * (1 + s->open);
    if (t->open == NULL || to->from == NULL || to->last == NULL)
        return;
    to->from[at] = s->low[var];
    to->last[at] = s->high[var];
    for (uint32_t r = s->rows; r-- > 0;) {
        const int64_t *form = adx_form_of(s, r);
        uint32_t some = 0;
        if (s->row[r].kind != ADX_ROW_SIGN || adx_vars_of(s, form, &some) != 1
            || some != var || (form[1 + var] != 1 && form[1 + var] != -1))
            continue;
        bool upper = form[1 + var] < 0;
        int64_t *bound = ADX_GET(s->arena, 1 + s->open, int64_t);
        if (bound == NULL)
            return;
        adx_add_open(s->arena, bound, upper ? 1 : -1, form, s->open);
        int64_t end = adx_open_extreme(t, bound, upper);
        if (upper ? end <= s->high[var] : end >= s->low[var])
            memcpy((upper ? to->last : to->from) + at, bound,
                   (1 + s->open) * sizeof *bound);
    }
}

// Returns the set of all indices in ranges; rows from 0 on are the indices.
static adx_set *adx_set_of_ranges(ad_tensor *t, const adx_ranges *in,
                                  uint32_t dims)
{
    adx_set *s = adx_begin_set(t);
    size_t n = 1 + adx_open_of(t);
    for (uint32_t d = 0; s != NULL && d < dims; d++)
        adx_new_var(s, adx_open_extreme(t, in->from + d * n, false),
                    adx_open_extreme(t, in->last + d * n, true));
    for (uint32_t d = 0; s != NULL && d < dims; d++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r != UINT32_MAX)
            adx_form_of(s, r)[n + d] = 1;
    }
    for (uint32_t d = 0; s != NULL && d < dims; d++)
        adx_bound_var(s, s->open + d, in->from + d * n, in->last + d * n);
    if (s != NULL)
        adx_simplify_set(s);
    return t->arena.status == ADREV_OK ? s : NULL;
}

/* --- what is true at all points ------------------------------------------ */

#define ADX_WALK_MOST 1e7

// Whether all that a nest may have to walk through, to find no point, is too
// much.
static bool adx_is_long_walk(const adx_nest *nest)
{
    double n = 1;
    for (uint32_t i = 0; i < nest->levels; i++)
        if (nest->level[i].kind == ADX_LEVEL_RANGE)
            n *= (double)(nest->level[i].high - nest->level[i].low + 1);
    return !nest->empty && n > ADX_WALK_MOST;
}

typedef struct adx_witness {
    int64_t *x;
    bool found;
} adx_witness;

// Stops a walk at its first point.
static bool adx_take_witness(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    adx_witness *w = (adx_witness *)user;
    (void)x;
    (void)var;
    (void)count;
    w->found = true;            // w->x is x
    return false;
}

// Returns the points of a set where a form is at least 0; less: where it is
// negative. NULL: no memory.
static adx_set *adx_set_with(const adx_set *s, const int64_t form[], bool less)
{
    adx_set *c = adx_copy_set(s);
    uint32_t r = c == NULL ? UINT32_MAX : adx_new_row(c, ADX_ROW_SIGN);
    if (r == UINT32_MAX)
        return NULL;
    for (uint32_t v = 0; v <= s->vars; v++)
        adx_form_of(c, r)[v] = less ? -form[v] : form[v];
    adx_form_of(c, r)[0] -= less;
    adx_simplify_set(c);
    return c;
}

// Whether it is known that a set, which is simplified, has no point.
static bool adx_has_no_point(const adx_set *s)
{
    if (s->empty)
        return true;
    adx_witness w = { ADX_GET(s->arena, s->vars, int64_t), false };
    const adx_nest *nest = adx_make_nest(s, UINT32_MAX, NULL);
    if (w.x == NULL || nest == NULL || adx_is_long_walk(nest))
        return false;
    adx_walk_nest(nest, w.x, adx_take_witness, &w);
    return !w.found;
}

// Whether a form is known to be at least 0 at all points of a set, which is
// simplified.
static bool adx_is_never_negative(const adx_set *s, const int64_t form[])
{
    if (s->empty || adx_extreme(s, form, false) >= 0)
        return true;
    const adx_set *less = adx_set_with(s, form, true);
    return less != NULL && adx_has_no_point(less);
}

// Whether each index is a variable of its own, or no variable; and there are no
// other variables.
static bool adx_are_own_indices(const adx_set *s, uint32_t row, uint32_t dims)
{
    uint32_t live = 0;
    uint32_t own = 0;
    for (uint32_t v = s->open; v < s->vars; v++)
        live += !s->gone[v];
    for (uint32_t d = 0; d < dims; d++) {
        const int64_t *form = adx_form_of(s, row + d);
        uint32_t v = 0;
        uint32_t other = 0;
        uint32_t count = adx_vars_of(s, form, &v);
        if (count > 1 || (count == 1 && !adx_is_unit(form[1 + v])))
            return false;
        for (uint32_t i = 0; i < d && count == 1; i++)
            if (adx_vars_of(s, adx_form_of(s, row + i), &other) == 1
                && other == v)
                return false;
        own += count;
    }
    return own == live;
}

// Indices of a set: rows from `row` on.
typedef struct adx_indexed {
    const adx_set *set;
    uint32_t row;
    uint32_t dims;
} adx_indexed;

// A form of the variables of `in`, at the indices that `at` has.
static void adx_form_at_indices(const adx_indexed *in, const int64_t form[],
                                const adx_indexed *at, int64_t to[])
{
    adx_arena *a = at->set->arena;
    uint32_t open = in->set->open;
    memset(to, 0, at->set->width * sizeof *to);
    adx_add_open(a, to, 1, form, open);
    for (uint32_t d = 0; d < in->dims; d++) {
        const int64_t *index = adx_form_of(in->set, in->row + d);
        uint32_t v = 0;
        if (adx_vars_of(in->set, index, &v) == 0)
            continue;
        int64_t k = form[1 + v] * index[1 + v];
        adx_add_multiple(at->set, to, k, adx_form_of(at->set, at->row + d));
        adx_add_open(a, to, -k, index, open);
    }
}

// Whether a form of the indices `in` is never negative where they are those
// `at`.
static bool adx_holds_at(const adx_indexed *in, const int64_t form[],
                         const adx_indexed *at)
{
    int64_t *there = ADX_GET(at->set->arena, at->set->width, int64_t);
    if (there == NULL)
        return false;
    adx_form_at_indices(in, form, at, there);
    return adx_is_never_negative(at->set, there);
}

// Whether the bounds of a variable of `in` hold at all points of `at`.
static bool adx_bounds_hold_at(const adx_indexed *in, uint32_t var,
                               const adx_indexed *at)
{
    int64_t *form = ADX_GET(at->set->arena, in->set->width, int64_t);
    if (form == NULL)
        return false;
    form[0] = -in->set->low[var];
    form[1 + var] = 1;
    if (!adx_holds_at(in, form, at))
        return false;
    form[0] = in->set->high[var];
    form[1 + var] = -1;
    return adx_holds_at(in, form, at);
}

// Whether an index that is no variable is the same at all points of `at`.
static bool adx_is_index_there(const adx_indexed *in, uint32_t d,
                               const adx_indexed *at)
{
    const int64_t *one = adx_form_of(in->set, in->row + d);
    const int64_t *other = adx_form_of(at->set, at->row + d);
    uint32_t some;
    return adx_vars_of(in->set, one, &some) > 0
        || (adx_vars_of(at->set, other, &some) == 0
            && memcmp(one, other, (1 + in->set->open) * sizeof *one) == 0);
}

// Whether a set has no other conditions than bounds and signs, and indices that
// are those of the other one.
static bool adx_is_comparable(const adx_indexed *in, const adx_indexed *at)
{
    const adx_set *s = in->set;
    bool ok = !s->empty && adx_are_own_indices(s, in->row, in->dims);
    for (uint32_t d = 0; d < in->dims && ok; d++)
        ok = adx_is_index_there(in, d, at);
    for (uint32_t r = 0; r < s->rows && ok; r++)
        ok = s->row[r].kind <= ADX_ROW_SIGN && s->row[r].kind != ADX_ROW_ZERO;
    return ok;
}

// The conditions of a set one after the other: those of its rows, then the
// bounds of its variables. False: there are no more.
static bool adx_next_form(const adx_set *s, uint32_t *i, int64_t form[])
{
    for (; *i < s->rows; ++*i)
        if (s->row[*i].kind == ADX_ROW_SIGN) {
            memcpy(form, adx_form_of(s, *i), s->width * sizeof *form);
            ++*i;
            return true;
        }
    for (; *i < s->rows + 2 * s->vars; ++*i) {
        uint32_t v = (*i - s->rows) / 2;
        bool upper = (*i - s->rows) % 2 != 0;
        if (s->gone[v])
            continue;
        memset(form, 0, s->width * sizeof *form);
        form[0] = upper ? s->high[v] : -s->low[v];
        form[1 + v] = upper ? -1 : 1;
        ++*i;
        return true;
    }
    return false;
}

// Whether it is known that some of the sets have each of the points of one.
static bool adx_are_covering(const adx_indexed in[], uint32_t n,
                             const adx_indexed *at)
{
    adx_indexed rest = *at;
    uint32_t i = 0;
    if (adx_has_no_point(at->set))
        return true;
    while (n > 0 && !adx_is_comparable(in, at)) {
        in++;
        n--;
    }
    if (n == 0)
        return false;
    int64_t *form = ADX_GET(at->set->arena, in->set->width, int64_t);
    int64_t *there = ADX_GET(at->set->arena, at->set->width + 64, int64_t);
    while (form != NULL && there != NULL && rest.set != NULL
           && adx_next_form(in->set, &i, form)) {
        adx_form_at_indices(in, form, &rest, there);
        if (adx_is_never_negative(rest.set, there))
            continue;
        const adx_indexed less = { adx_set_with(rest.set, there, true),
                                   at->row, at->dims };
        if (less.set == NULL || !adx_are_covering(in + 1, n - 1, &less))
            return false;
        rest.set = adx_set_with(rest.set, there, false);
    }
    return form != NULL && there != NULL && rest.set != NULL;
}

// Whether it is known that one set has all indices of another, for all sizes.
static bool adx_contains(const adx_indexed *in, const adx_indexed *at)
{
    const adx_set *s = in->set;
    bool ok = !s->empty && adx_are_own_indices(s, in->row, in->dims);
    if (at->set->empty)
        return true;
    for (uint32_t d = 0; d < in->dims && ok; d++)
        ok = adx_is_index_there(in, d, at);
    for (uint32_t v = 0; v < s->vars && ok; v++)
        ok = s->gone[v] || adx_bounds_hold_at(in, v, at);
    for (uint32_t r = 0; r < s->rows && ok; r++)
        ok = s->row[r].kind <= ADX_ROW_FORM
          || (s->row[r].kind == ADX_ROW_SIGN
              && adx_holds_at(in, adx_form_of(s, r), at));
    return ok;
}

ADX_SELDOM_END
