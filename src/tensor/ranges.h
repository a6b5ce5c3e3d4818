#pragma once

/* === tensor/ranges ==========================================================
 * Ranges of indices where sizes are open: from one form in these sizes to
 * another. Such a form is a list of numbers, [1 + open sizes]: a constant, then
 * the coefficients, as in a set, whose first variables the open sizes are.
 *
 *   needs   tensor/arena tensor/sets tensor/tree tensor/binding
 *   offers  adx_open_of adx_is_open_form adx_form_in_sizes adx_open_extreme
 *           adx_begin_set adx_ranges adx_make_ranges adx_range_of_var
 *           adx_bound_var adx_add_open adx_covers_ranges adx_undecided
 * ========================================================================== */

ADX_SELDOM_BEGIN

static uint32_t adx_open_of(const ad_tensor *t)
{
    return t->open == NULL ? 0 : t->open->n;
}

// Something cannot be decided for all sizes: why, in words.
static void adx_undecided(ad_tensor *t, const char *why)
{
    if (t->arena.status == ADREV_OK)
        t->open->why = why;
    adx_arena_fail(&t->arena, ADREV_ESHAPE);
}

/* --- forms in sizes ------------------------------------------------------ */

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

// What a form is at least, or at most, for all sizes.
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

// to += k * a form in sizes.
static void adx_add_open(adx_arena *a, int64_t to[], int64_t k,
                         const int64_t form[], uint32_t open)
{
    for (uint32_t i = 0; i <= open; i++)
        to[i] = adx_whole_add(a, to[i], k, form[i]);
}

// The set of one point, for all sizes. NULL: no memory.
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

static void adx_make_ranges(ad_tensor *t, uint32_t dims, adx_ranges *to)
{
    size_t n = t->open == NULL ? 0 : (size_t)dims * (1 + t->open->n);
    to->from = n == 0 ? NULL : ADX_GET(&t->arena, n, int64_t);
    to->last = n == 0 ? NULL : ADX_GET(&t->arena, n, int64_t);
}

// Conditions of a set for one of its variables; where a bound is a number, it
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

/* --- sets that have all points of ranges --------------------------------- */

// Whether a row is not negative, wherever indices are in their ranges. index:
// the rows of the set that are the indices, each with a variable of its own or
// none.
static bool adx_holds_in(ad_tensor *t, const adx_set *s, const int64_t form[],
                         uint32_t row, uint32_t dims, const adx_ranges *in)
{
    int64_t *least = ADX_GET(s->arena, s->width, int64_t);
    if (least == NULL)
        return false;
    memcpy(least, form, (1 + s->vars) * sizeof *least);
    for (uint32_t d = 0; d < dims; d++) {
        const int64_t *index = adx_form_of(s, row + d);
        uint32_t v = 0;
        if (adx_vars_of(s, index, &v) == 0)
            continue;
        int64_t k = least[1 + v] * index[1 + v];    // of the index
        const int64_t *end = (k > 0 ? in->from : in->last)
                           + (size_t)d * (1 + s->open);
        adx_add_open(s->arena, least, -k, index, s->open);
        adx_add_open(s->arena, least, k, end, s->open);
        least[1 + v] = 0;
    }
    return adx_open_extreme(t, least, false) >= 0;
}

// Whether the bounds of a variable hold there, of a size: for all sizes.
static bool adx_bounds_hold_in(ad_tensor *t, const adx_set *s, uint32_t var,
                               uint32_t row, uint32_t dims,
                               const adx_ranges *in)
{
    int64_t *form = ADX_GET(s->arena, s->width, int64_t);
    if (form == NULL)
        return false;
    form[0] = -s->low[var];
    form[1 + var] = 1;
    if (!adx_holds_in(t, s, form, row, dims, in))
        return false;
    form[0] = s->high[var];
    form[1 + var] = -1;
    return adx_holds_in(t, s, form, row, dims, in);
}

// Whether each index is a variable of its own, or the only number of its range.
static bool adx_are_own_indices(const adx_set *s, uint32_t row, uint32_t dims,
                                const adx_ranges *in)
{
    for (uint32_t d = 0; d < dims; d++) {
        const int64_t *form = adx_form_of(s, row + d);
        size_t at = (size_t)d * (1 + s->open);
        size_t bytes = (1 + s->open) * sizeof *form;
        uint32_t v = 0;
        uint32_t other = 0;
        uint32_t count = adx_vars_of(s, form, &v);
        if (count == 0 && (memcmp(form, in->from + at, bytes) != 0
                           || memcmp(form, in->last + at, bytes) != 0))
            return false;
        if (count > 1 || (count == 1 && form[1 + v] != 1 && form[1 + v] != -1))
            return false;
        for (uint32_t i = 0; i < d; i++)
            if (count == 1
                && adx_vars_of(s, adx_form_of(s, row + i), &other) == 1
                && other == v)
                return false;
    }
    return true;
}

// Whether a set, of which rows are the indices, has all points of the ranges
// for all sizes. All its variables but the sizes are such indices. (What is
// true at the ends of ranges is true within; for sizes for which a range is
// empty, that asks for more than is needed.)
static bool adx_covers_ranges(ad_tensor *t, const adx_set *s, uint32_t row,
                              uint32_t dims, const adx_ranges *in)
{
    bool ok = !s->empty && adx_are_own_indices(s, row, dims, in);
    for (uint32_t v = 0; v < s->vars && ok; v++)
        ok = s->gone[v] || adx_bounds_hold_in(t, s, v, row, dims, in);
    for (uint32_t r = 0; r < s->rows && ok; r++)
        ok = s->row[r].kind <= ADX_ROW_FORM
          || (s->row[r].kind == ADX_ROW_SIGN
              && adx_holds_in(t, s, adx_form_of(s, r), row, dims, in));
    return ok;
}

ADX_SELDOM_END
