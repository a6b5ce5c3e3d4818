#pragma once

/* === tensor/nests ===========================================================
 * Loops over the points of a set, each point once. Variables get their values
 * one after the other. A variable runs over a range, of which rows give the
 * bounds; or an equation or a map gives its value; or it runs over the
 * arguments for which a map has a known value. A row is looked at where its
 * last variable has its value. Rows that Fourier and Motzkin add narrow the
 * ranges of the variables before.
 *
 * Open sizes are the first levels. Who walks a nest meets all of their numbers;
 * code asks there for what must be true of the sizes.
 *
 *   needs   tensor/arena tensor/sets
 *   offers  adx_sparse_form adx_sparse_at adx_form_has adx_make_sparse_form
 *           ADX_LEVEL_RANGE ADX_LEVEL_SOLVED ADX_LEVEL_VALUE
 *           ADX_LEVEL_ARGUMENTS adx_set_check adx_nest_level adx_nest
 *           ADX_NOT_YET ADX_IN_ORDER adx_is_unit adx_make_nest adx_point_fn
 *           adx_nest_walk adx_walk_from adx_walk_nest
 * ========================================================================== */

// c + sum k[i]*x[var[i]]
typedef struct adx_sparse_form {
    int64_t c;
    uint32_t n;
    uint32_t *var;
    int64_t *k;
} adx_sparse_form;

// Returns the value of a form at x.
static int64_t adx_sparse_at(const adx_sparse_form *f, const int64_t x[])
{
    int64_t sum = f->c;
    for (uint32_t i = 0; i < f->n; i++)
        sum += f->k[i] * x[f->var[i]];
    return sum;
}

// Whether a form has the variable.
static bool adx_form_has(const adx_sparse_form *f, uint32_t var)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->var[i] == var)
            return true;
    return false;
}

// The form without variable v, UINT32_MAX: with all. False: no memory.
static bool adx_make_sparse_form(const adx_set *s, const int64_t form[],
                                 uint32_t v, adx_sparse_form *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->vars; i++)
        n += form[1 + i] != 0 && i != v;
    to->c = form[0];
    to->n = 0;
    to->var = ADX_GET(s->arena, n, uint32_t);
    to->k = ADX_GET(s->arena, n, int64_t);
    if (to->var == NULL || to->k == NULL)
        return false;
    for (uint32_t i = 0; i < s->vars; i++)
        if (form[1 + i] != 0 && i != v) {
            to->var[to->n] = i;
            to->k[to->n++] = form[1 + i];
        }
    return true;
}

typedef enum adx_level_kind {
    ADX_LEVEL_RANGE,
    ADX_LEVEL_SOLVED,           // k*x + form = 0
    ADX_LEVEL_VALUE,            // k*x + form = table[argument], k = 1 or -1
    ADX_LEVEL_ARGUMENTS         // table[k*x + argument] = form, k = 1 or -1
} adx_level_kind;

// Rows that are looked at once x[var] is known; of a range, k*x + form >= 0 are
// bounds.
typedef struct adx_set_check {
    adx_row_kind kind;
    int64_t k;
    adx_sparse_form form;            // without x[var], if it is a bound
    adx_sparse_form argument;
    const adx_int_table *table;
    const adx_bitmap *bits;
} adx_set_check;

// How x[var] gets its values once those of the levels before it are known.
typedef struct adx_nest_level {
    adx_level_kind kind;
    uint32_t var;
    int64_t low, high;          // bounds that hold everywhere
    int64_t k;                  // unless it is a range: see the kind, as of
    adx_sparse_form form;       // these
    adx_sparse_form argument;
    const adx_int_table *table;
    adx_set_check *bound;       // [bounds] of a range: what narrows it
    uint32_t bounds;
    adx_set_check *check;       // [checks] what a value must pass
    uint32_t checks;
} adx_nest_level;

typedef struct adx_nest {
    adx_nest_level *level;
    uint32_t levels;
    uint32_t open;              // the first ones are those of open sizes
    uint32_t vars;
    bool empty;
} adx_nest;

/* --- the order of the variables ------------------------------------------ */

// While a nest is made.
typedef struct adx_ordering {
    adx_set *s;
    adx_nest *nest;
    uint32_t *when;             // level at which a variable is known; or its
                                // number of levels: not yet
    bool *used;                 // rows that a level is made by
    bool in_order;              // of the variables' numbers
    const int64_t *stride;      // [vars] or NULL
} adx_ordering;

#define ADX_NOT_YET UINT32_MAX
#define ADX_IN_ORDER (UINT32_MAX - 1)

// Whether all variables of a form but v are known, and v is there.
static bool adx_is_last(const adx_ordering *k, const int64_t form[], uint32_t v)
{
    for (uint32_t i = 0; i < k->s->vars; i++)
        if (form[1 + i] != 0 && i != v && k->when[i] == ADX_NOT_YET)
            return false;
    return v == UINT32_MAX || form[1 + v] != 0;
}

static bool adx_is_unit(int64_t k) { return k == 1 || k == -1; }

// Returns how v would get its value now, by which row, and for how many values.
static adx_level_kind adx_ways_to(const adx_ordering *k, uint32_t v,
                                  uint32_t *row, double *count)
{
    const adx_set *s = k->s;
    adx_level_kind best = ADX_LEVEL_RANGE;
    *count = (double)(s->high[v] - s->low[v] + 1);
    *row = UINT32_MAX;
    for (uint32_t r = 0; r < s->rows; r++) {
        const int64_t *form = adx_form_of(s, r);
        adx_row_kind kind = s->row[r].kind;
        adx_level_kind way = ADX_LEVEL_RANGE;
        double n = 0;
        if (kind == ADX_ROW_ZERO && adx_is_last(k, form, v))
            way = ADX_LEVEL_SOLVED;
        else if (kind == ADX_ROW_VALUE) {
            const int64_t *argument = adx_form_of(s, s->row[r].at);
            const adx_int_table *t = s->row[r].table;
            if (argument[1 + v] == 0 && adx_is_unit(form[1 + v])
                && adx_is_last(k, form, v)
                && adx_is_last(k, argument, UINT32_MAX))
                way = ADX_LEVEL_VALUE;
            else if (form[1 + v] == 0 && adx_is_unit(argument[1 + v])
                     && adx_is_last(k, argument, v)
                     && adx_is_last(k, form, UINT32_MAX)) {
                way = ADX_LEVEL_ARGUMENTS;
                n = 1 + (double)t->n / (double)(t->high - t->low + 1);
            }
        }
        if (way != ADX_LEVEL_RANGE && n < *count) {
            best = way;
            *count = n;
            *row = r;
        }
    }
    return best;
}

// A variable that could be the next.
typedef struct adx_next_level {
    uint32_t var;
    adx_level_kind kind;
    uint32_t row;               // that gives it
    int rank;                   // 0: others give it; 1: it has a range; 2: a
                                // map will give it; 3: it should be the
                                // innermost one
    double count;               // of its values
} adx_next_level;

// Whether a map gives most values of a variable, so that a loop over the map's
// arguments takes the place of one over the variable.
static bool adx_will_be_given(const adx_set *s, uint32_t v)
{
    for (uint32_t r = 0; r < s->rows; r++) {
        const int64_t *form = adx_form_of(s, r);
        uint32_t count;
        uint32_t some = 0;
        if (s->row[r].kind != ADX_ROW_VALUE || !adx_is_unit(form[1 + v]))
            continue;
        adx_divisor_of(s, form, &count, &some);
        const adx_int_table *t = s->row[r].table;
        if (count == 1 && adx_form_of(s, s->row[r].at)[1 + v] == 0
            && s->high[v] - s->low[v] >= (t->high - t->low) / 2)
            return true;
    }
    return false;
}

// Whether a variable gets its value before another. Given variables come first,
// those with the fewest values before others. Of ranges, those with long
// strides are the outer ones, so that numbers that are next to one another are
// used together.
static bool adx_is_earlier(const adx_ordering *k, const adx_next_level *one,
                           const adx_next_level *other)
{
    if (one->rank != other->rank)
        return one->rank < other->rank;
    if (one->rank == 1 && k->stride != NULL
        && k->stride[one->var] != k->stride[other->var])
        return k->stride[one->var] > k->stride[other->var];
    return one->count < other->count;
}

// Returns the next variable; UINT32_MAX: there is none.
static adx_next_level adx_next_var(const adx_ordering *k, uint32_t inner)
{
    adx_next_level best = { UINT32_MAX, ADX_LEVEL_RANGE, UINT32_MAX, 0, 0 };
    for (uint32_t v = 0; v < k->s->vars; v++) {
        adx_next_level next = { v, ADX_LEVEL_RANGE, UINT32_MAX, 0, 0 };
        if (k->s->gone[v] || k->when[v] != ADX_NOT_YET)
            continue;
        next.kind = adx_ways_to(k, v, &next.row, &next.count);
        bool range = next.kind == ADX_LEVEL_RANGE;
        if (k->in_order)
            next.count = range ? 2 : next.count;
        else
            next.rank = !range ? 0 : v == inner ? 3
                      : adx_will_be_given(k->s, v) ? 2 : 1;
        if (best.var == UINT32_MAX || adx_is_earlier(k, &next, &best))
            best = next;
    }
    return best;
}

/* --- levels -------------------------------------------------------------- */

// Whether a form has variables of later levels.
static bool adx_has_later(const adx_ordering *k, const int64_t form[],
                          uint32_t level)
{
    for (uint32_t v = 0; v < k->s->vars; v++)
        if (form[1 + v] != 0 && k->when[v] > level)
            return true;
    return false;
}

// Adds rows that follow from those of `s` when the later variables are
// forgotten: they only narrow ranges.
static void adx_narrow_ranges(adx_ordering *k)
{
    adx_set *s = k->s;
    for (uint32_t l = k->nest->levels; l-- > (s->open > 0 ? 0 : 1);) {
        uint32_t v = k->nest->level[l].var;
        uint32_t rows = s->rows;
        adx_combine_all(s, v, rows, ADX_ROWS_MOST);
        // with the bounds of v itself
        for (uint32_t i = 0; i < rows && s->rows < ADX_ROWS_MOST; i++) {
            int64_t a = adx_form_of(s, i)[1 + v];
            if (s->row[i].kind != ADX_ROW_SIGN || a == 0)
                continue;
            uint32_t to = adx_new_row(s, ADX_ROW_SIGN);
            if (to == UINT32_MAX)
                return;
            int64_t *form = adx_form_of(s, to);
            adx_add_multiple(s, form, 1, adx_form_of(s, i));
            form[0] = adx_whole_add(s->arena, form[0], a,
                                    a > 0 ? s->high[v] : s->low[v]);
            form[1 + v] = 0;
        }
        for (uint32_t i = rows; i < s->rows; i++) {
            const int64_t *form = adx_form_of(s, i);
            if (adx_extreme(s, form, false) >= 0)
                s->row[i].kind = ADX_ROW_GONE;
            else if (s->open > 0 && adx_extreme(s, form, true) < 0)
                k->nest->empty = true;
            else if (s->open > 0 && adx_has_later(k, form, l))
                s->row[i].kind = ADX_ROW_GONE;
        }
    }
}

// Returns the level at which all variables of a row are known. UINT32_MAX: it
// has none.
static uint32_t adx_level_of_row(const adx_ordering *k, uint32_t r)
{
    const adx_set *s = k->s;
    uint32_t last = UINT32_MAX;
    const int64_t *form = adx_form_of(s, r);
    const int64_t *argument = s->row[r].kind == ADX_ROW_VALUE
                            ? adx_form_of(s, s->row[r].at) : form;
    for (uint32_t v = 0; v < s->vars; v++)
        if ((form[1 + v] != 0 || argument[1 + v] != 0)
            && (last == UINT32_MAX || k->when[v] > last))
            last = k->when[v];
    return last;
}

// Adds a row to what its level looks at.
static bool adx_place_row(adx_ordering *k, uint32_t r)
{
    const adx_set *s = k->s;
    uint32_t at = adx_level_of_row(k, r);
    if (at == UINT32_MAX)
        return true;
    adx_nest_level *l = &k->nest->level[at];
    bool bound = s->row[r].kind == ADX_ROW_SIGN && l->kind == ADX_LEVEL_RANGE;
    adx_set_check *to = bound ? &l->bound[l->bounds++] : &l->check[l->checks++];
    to->kind = s->row[r].kind;
    to->table = s->row[r].table;
    to->bits = s->row[r].bits;
    to->k = bound ? adx_form_of(s, r)[1 + l->var] : 0;
    return adx_make_sparse_form(s, adx_form_of(s, r),
                                bound ? l->var : UINT32_MAX, &to->form)
           && (to->kind != ADX_ROW_VALUE
               || adx_make_sparse_form(s, adx_form_of(s, s->row[r].at),
                                       UINT32_MAX, &to->argument));
}

// Puts every row that no level is made by at the level where it is looked at.
// False: no memory.
static bool adx_place_rows(adx_ordering *k)
{
    const adx_set *s = k->s;
    for (uint32_t l = 0; l < k->nest->levels; l++) {
        k->nest->level[l].bound = ADX_GET(s->arena, s->rows, adx_set_check);
        k->nest->level[l].check = ADX_GET(s->arena, s->rows, adx_set_check);
        if (k->nest->level[l].bound == NULL || k->nest->level[l].check == NULL)
            return false;
    }
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind > ADX_ROW_FORM && !k->used[r]
            && !adx_place_row(k, r))
            return false;
    return true;
}

/* --- bounds where sizes are open: no more than are needed ----------------- */

// Returns the most that one form can be above another.
static int64_t adx_most_above(const adx_set *s, const adx_sparse_form *one,
                              const adx_sparse_form *other)
{
    int64_t *form = ADX_GET(s->arena, s->width, int64_t);
    if (form == NULL)
        return INT64_MAX;
    form[0] = one->c - other->c;
    for (uint32_t i = 0; i < one->n; i++)
        form[1 + one->var[i]] += one->k[i];
    for (uint32_t i = 0; i < other->n; i++)
        form[1 + other->var[i]] -= other->k[i];
    return adx_extreme(s, form, true);
}

// Whether a bound of a level follows from another one; of two that are equal,
// the later from the earlier.
static bool adx_bound_follows(const adx_set *s, const adx_nest_level *l,
                              uint32_t i)
{
    for (uint32_t j = 0; j < l->bounds; j++) {
        if (j == i || l->bound[j].k != l->bound[i].k)
            continue;
        int64_t above = adx_most_above(s, &l->bound[j].form, &l->bound[i].form);
        if (above < 0 || (above == 0 && (j < i || adx_most_above(
                              s, &l->bound[i].form, &l->bound[j].form) > 0)))
            return true;
    }
    return false;
}

// Makes a bound that is a number that of the level. False: it is no number.
static bool adx_take_plain_bound(adx_nest_level *l, const adx_set_check *b)
{
    if (b->form.n > 0 || !adx_is_unit(b->k))
        return false;
    if (b->k > 0 && -b->form.c > l->low)
        l->low = -b->form.c;
    if (b->k < 0 && b->form.c < l->high)
        l->high = b->form.c;
    return true;
}

// Makes bounds that are numbers the range's own, and drops those that follow
// from others.
static void adx_tidy_bounds(const adx_set *s, adx_nest *nest)
{
    for (uint32_t i = 0; i < nest->levels; i++) {
        adx_nest_level *l = &nest->level[i];
        for (uint32_t j = 0; j < l->bounds;)
            if (adx_take_plain_bound(l, &l->bound[j])
                || adx_bound_follows(s, l, j))
                l->bound[j] = l->bound[--l->bounds];
            else
                j++;
        nest->empty = nest->empty || l->low > l->high;
    }
}

// Makes the next level of a nest: a range, or a variable that a form, a map or
// the arguments of a map give. False: no memory.
static bool adx_begin_level(adx_ordering *k, adx_nest_level *l,
                            const adx_next_level *next)
{
    adx_set *s = k->s;
    adx_level_kind kind = next->kind;
    uint32_t v = next->var;
    uint32_t row = next->row;
    l->kind = kind;
    l->var = v;
    l->low = s->low[v];
    l->high = s->high[v];
    k->when[v] = k->nest->levels;
    if (kind == ADX_LEVEL_RANGE)
        return true;
    const int64_t *form = adx_form_of(s, row);
    k->used[row] = true;
    l->table = s->row[row].table;
    l->k = form[1 + v];
    bool ok = adx_make_sparse_form(s, form, v, &l->form);
    if (kind == ADX_LEVEL_SOLVED)
        return ok;
    const int64_t *argument = adx_form_of(s, s->row[row].at);
    if (kind == ADX_LEVEL_ARGUMENTS) {
        l->k = argument[1 + v];
        ok = ok && adx_invert_table(s->arena, s->row[row].table);
    }
    return ok && adx_make_sparse_form(s, argument, v, &l->argument);
}

// Makes loops over a set, which is simplified. inner: the variable that should
// be the innermost one; UINT32_MAX: none; ADX_IN_ORDER: points are visited in
// the order of their variables. stride [vars]: how far apart in memory what is
// read and written lies along each variable; may be NULL. NULL: no memory.
static adx_nest *adx_make_nest(const adx_set *set, uint32_t inner,
                               const int64_t stride[])
{
    adx_ordering k = { .s = adx_copy_set(set),
                       .in_order = inner == ADX_IN_ORDER, .stride = stride };
    adx_arena *a = set->arena;
    k.nest = ADX_GET(a, 1, adx_nest);
    k.when = ADX_GET(a, set->vars, uint32_t);
    k.used = ADX_GET(a, ADX_ROWS_MOST + set->rows, bool);
    if (k.s == NULL || k.nest == NULL || k.when == NULL || k.used == NULL)
        return NULL;
    k.nest->level = ADX_GET(a, set->vars, adx_nest_level);
    if (k.nest->level == NULL)
        return NULL;
    memset(k.when, 0xff, set->vars * sizeof *k.when);   // ADX_NOT_YET
    k.nest->vars = set->vars;
    k.nest->empty = set->empty;
    k.nest->open = set->open;
    for (uint32_t v = 0; v < set->open; v++, k.nest->levels++) {
        const adx_next_level size = { v, ADX_LEVEL_RANGE, UINT32_MAX, 0, 0 };
        adx_begin_level(&k, &k.nest->level[v], &size);
    }
    for (;;) {
        const adx_next_level next = adx_next_var(&k, inner);
        if (next.var == UINT32_MAX)
            break;
        if (!adx_begin_level(&k, &k.nest->level[k.nest->levels], &next))
            return NULL;
        k.nest->levels++;
    }
    adx_narrow_ranges(&k);
    bool placed = adx_place_rows(&k);
    if (placed && set->open > 0)
        adx_tidy_bounds(k.s, k.nest);
    return placed && a->status == ADREV_OK ? k.nest : NULL;
}

/* --- walks --------------------------------------------------------------- */

// Told of the points that differ in x[var] only, which runs over `count` values
// from x[var] on; var UINT32_MAX: of one point. False ends the walk.
typedef bool adx_point_fn(void *user, const int64_t x[], uint32_t var,
                          int64_t count);

typedef struct adx_nest_walk {
    const adx_nest *nest;
    adx_point_fn *visit;
    void *user;
    int64_t *x;                 // [vars]
} adx_nest_walk;

// Whether a check is passed at the point x.
static bool adx_passes(const adx_set_check *c, const int64_t x[])
{
    int64_t v = adx_sparse_at(&c->form, x);
    if (c->kind == ADX_ROW_ZERO)
        return v == 0;
    if (c->kind == ADX_ROW_SIGN)
        return v >= 0;
    if (c->kind == ADX_ROW_VALUE) {
        int64_t at = adx_sparse_at(&c->argument, x) - c->table->from;
        return at >= 0 && (uint64_t)at < c->table->n
            && c->table->value[at] == v;
    }
    bool set = v >= 0 && (uint64_t)v < c->bits->n
            && adx_has_bit(c->bits, (uint64_t)v);
    return set == (c->kind == ADX_ROW_BIT);
}

static bool adx_walk_from(const adx_nest_walk *w, uint32_t level);

// Goes on to the next level once x[var] has its value. False: the visitor has
// stopped the walk.
static bool adx_walk_on(const adx_nest_walk *w, uint32_t level)
{
    const adx_nest_level *l = &w->nest->level[level];
    for (uint32_t i = 0; i < l->checks; i++)
        if (!adx_passes(&l->check[i], w->x))
            return true;
    return adx_walk_from(w, level + 1);
}

// Returns the bits that must be 1 along a level, one for each value of its
// variable; *first: the number of that at value 0. NULL: there are none.
static const adx_bitmap *adx_bits_along(const adx_nest_level *l,
                                        const int64_t x[], int64_t *first)
{
    const adx_set_check *c = l->check;
    if (l->checks == 0 || c->kind != ADX_ROW_BIT)
        return NULL;
    bool along = false;
    for (uint32_t i = 0; i < c->form.n; i++)
        along = along || (c->form.var[i] == l->var && c->form.k[i] == 1);
    *first = along ? adx_sparse_at(&c->form, x) - x[l->var] : 0;
    return along ? c->bits : NULL;
}

// Returns how many bits from this one on are 0, as far as one word says.
static int64_t adx_zeros_from(const adx_bitmap *b, int64_t at)
{
    if (at < 0 || (uint64_t)at >= b->n)
        return 0;
    return b->word[at / 64] >> (at % 64) == 0 ? 64 - at % 64 : 0;
}

// Walks a range: narrows it by the bounds that earlier variables give, and
// visits each of its points. The last level, if it has no checks, is visited as
// a whole. Points whose bits are zero are skipped. False: the visitor has
// stopped the walk.
static bool adx_walk_range(const adx_nest_walk *w, uint32_t level)
{
    const adx_nest_level *l = &w->nest->level[level];
    int64_t low = l->low;
    int64_t high = l->high;
    for (uint32_t i = 0; i < l->bounds; i++) {
        int64_t k = l->bound[i].k;
        int64_t rest = adx_sparse_at(&l->bound[i].form, w->x);
        if (k > 0) {
            int64_t least = k == 1 ? -rest : adx_ceil_div(-rest, k);
            low = least > low ? least : low;
        } else {
            int64_t most = k == -1 ? rest : adx_floor_div(rest, -k);
            high = most < high ? most : high;
        }
    }
    if (low > high)
        return true;
    w->x[l->var] = low;
    if (level + 1 == w->nest->levels && l->checks == 0)
        return w->visit(w->user, w->x, l->var, high - low + 1);
    int64_t first = 0;
    const adx_bitmap *bits = adx_bits_along(l, w->x, &first);
    for (; low <= high; low++) {
        int64_t zeros = bits == NULL ? 0 : adx_zeros_from(bits, first + low);
        w->x[l->var] = low;
        if (zeros > 0)
            low += zeros - 1;
        else if (!adx_walk_on(w, level))
            return false;
    }
    return true;
}

// Walks the arguments at which a map has a given value. False: the visitor has
// stopped the walk.
static bool adx_walk_arguments(const adx_nest_walk *w, uint32_t level)
{
    const adx_nest_level *l = &w->nest->level[level];
    const adx_int_table *t = l->table;
    int64_t v = adx_sparse_at(&l->form, w->x);
    if (v < t->low || v > t->high)
        return true;
    int64_t rest = adx_sparse_at(&l->argument, w->x);
    for (uint32_t i = t->start[v - t->low]; i < t->start[v - t->low + 1]; i++) {
        int64_t x = (t->from + t->argument[i] - rest) * l->k;
        if (x < l->low || x > l->high)
            continue;
        w->x[l->var] = x;
        if (!adx_walk_on(w, level))
            return false;
    }
    return true;
}

// A variable with one value at most.
static bool adx_walk_one(const adx_nest_walk *w, uint32_t level)
{
    const adx_nest_level *l = &w->nest->level[level];
    int64_t rest = adx_sparse_at(&l->form, w->x);
    if (l->kind == ADX_LEVEL_VALUE) {
        int64_t at = adx_sparse_at(&l->argument, w->x) - l->table->from;
        if (at < 0 || (uint64_t)at >= l->table->n)
            return true;
        rest -= l->table->value[at];
    }
    if (rest % l->k != 0)
        return true;
    int64_t x = -(rest / l->k);
    if (x < l->low || x > l->high)
        return true;
    w->x[l->var] = x;
    return adx_walk_on(w, level);
}

// Visits all points of the levels from `level` on. False: a visit wants no
// more.
static bool adx_walk_from(const adx_nest_walk *w, uint32_t level)
{
    if (level == w->nest->levels)
        return w->visit(w->user, w->x, UINT32_MAX, 1);
    switch (w->nest->level[level].kind) {
    case ADX_LEVEL_RANGE: return adx_walk_range(w, level);
    case ADX_LEVEL_ARGUMENTS: return adx_walk_arguments(w, level);
    case ADX_LEVEL_SOLVED: case ADX_LEVEL_VALUE: break;
    }
    return adx_walk_one(w, level);
}

// Visits all points of a nest, in strips of the innermost loop. x: [vars]
// memory. False: the visitor has stopped the walk.
static bool adx_walk_nest(const adx_nest *nest, int64_t x[],
                          adx_point_fn *visit, void *user)
{
    const adx_nest_walk w = { nest, visit, user, x };
    return nest->empty || adx_walk_from(&w, 0);
}
