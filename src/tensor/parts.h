#pragma once

/* === tensor/parts ===========================================================
 * How the computation of a value is cut into parts, which several threads can
 * run at once. A cut is made when the text is bound, and by sizes only: bits do
 * not depend on the threads.
 *
 *   results  a part has the results lo <= i < hi along one dimension. Each term
 *            runs where its index along this dimension is one of them. So what
 *            is added to a number is added by one part, in the order in which
 *            one thread alone adds it.
 *   points   each number is written by one point: a part has some of the values
 *            of a variable.
 *   sums     of many points, and few numbers: a part has some of the points of
 *            a term, and sums of its own. These are added in the order of the
 *            parts, also where one thread runs them all.
 *
 * In all three a part of a term has the points where lo <= f(x) < hi for an
 * affine form f: a nest of which the bounds of the levels are narrower. Where
 * others give the variables of f (a sum over the entries of a relation, by
 * columns), that would leave each part all other levels to run through. Then
 * the points are listed by parts; lists take memory, and are made only if a
 * pool is in use when the text is bound.
 *
 * Who runs a term (tensor/run) asks for the nest, or the list; who has another
 * way to run it needs the numbers lo and hi alone.
 *
 *   needs   tape/layout parallel/pool tensor/api tensor/arena tensor/sets
 *           tensor/nests tensor/programs
 *   offers  ADX_PART_LEAST ADX_FORK_LEAST ADX_PARTS_MOST ADX_CUT_RESULTS
 *           ADX_CUT_POINTS ADX_CUT_SUMS adx_part_list adx_term_cut
 *           adx_value_cut adx_points_from adx_shares_parts adx_part_from
 *           adx_cut_value adx_part_memory adx_nest_of_part adx_walk_list
 *           adx_do_parts
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Least points of a part. Other numbers of points follow from it: of a value
// that is worth a fork, of a part with sums of its own, for each number of such
// sums (they are soon added then, and are no sums that code writes out), and
// within one pass of the levels that each part runs through.
#ifndef ADX_PART_LEAST
#define ADX_PART_LEAST 4096
#endif
#define ADX_FORK_LEAST ((uint64_t)ADX_PART_LEAST * 8)
#define ADX_SUMS_LEAST ((uint64_t)ADX_PART_LEAST * 4)
#define ADX_SUMS_EACH  ((uint64_t)ADX_PART_LEAST * 2 + 64)
#define ADX_PASS_LEAST ((uint64_t)ADX_PART_LEAST / 64 + 1)
#define ADX_SUMS_MOST  1024     // numbers
#define ADX_PARTS_MOST 64

typedef enum adx_cut_kind {
    ADX_CUT_RESULTS, ADX_CUT_POINTS, ADX_CUT_SUMS
} adx_cut_kind;

// The points of a term, sorted by parts: the values of the variables of the
// first levels. The points of a part keep their order.
typedef struct adx_part_list {
    const adx_set *set;
    const adx_nest *nest;
    int64_t from, to;
    uint32_t parts;
    adx_sparse_form form;       // f
    uint32_t levels;
    int32_t *x;                 // [points][levels]
    uint64_t *start;            // [parts + 1] points before those of a part
    const struct adx_part_list *next;
} adx_part_list;

// f, and what a nest needs to keep lo <= f(x) < hi.
typedef struct adx_term_cut {
    adx_sparse_form form;
    uint32_t *level;            // [form.n] of its variables
    uint32_t last;              // the latest of these; that of the entries, if
                                // a column gives the variable in order
    adx_sparse_form rest;       // f without the variable of this level
    adx_sparse_form less;       // -rest
    int64_t k;                  // of that variable
    int64_t from, to;           // of f
    uint32_t parts;             // of a cut of sums: of this term
    const adx_part_list *list;  // NULL: none
} adx_term_cut;

typedef struct adx_value_cut {
    adx_cut_kind kind;
    uint32_t dim;               // of results
    int64_t from, to;           // of f
    uint32_t parts;             // in all
    adx_term_cut *term;
} adx_value_cut;

/* --- how many points ----------------------------------------------------- */

static uint64_t adx_least_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Returns a*b, but 2^60 at most.
static uint64_t adx_times_at_most(uint64_t a, uint64_t b)
{
    return a != 0 && b > ((uint64_t)1 << 60) / a ? (uint64_t)1 << 60 : a * b;
}

// Returns how many points the levels `from` and later have, for each of those
// before. It is more than that where the bounds of one level depend on others.
static uint64_t adx_points_from(const adx_nest *nest, uint32_t from)
{
    uint64_t n = 1;
    for (uint32_t i = from; i < nest->levels; i++) {
        const adx_nest_level *l = &nest->level[i];
        const adx_int_table *t = l->table;
        if (l->kind == ADX_LEVEL_RANGE)
            n = adx_times_at_most(n, (uint64_t)(l->high - l->low + 1));
        else if (l->kind == ADX_LEVEL_ARGUMENTS)
            n = adx_times_at_most(n, t->n / (uint64_t)(t->high - t->low + 1)
                                     + 1);
    }
    return nest->empty ? 0 : n;
}

// Returns the level whose range is cut where the variable of a level is:
// another one if a column gives the variable, and rises with its entries.
static uint32_t adx_level_in_order(const adx_nest *nest, uint32_t level)
{
    const adx_nest_level *l = &nest->level[level];
    uint32_t e = 0;
    if (l->kind != ADX_LEVEL_VALUE || !l->table->ascending)
        return level;
    while (nest->level[e].var != l->argument.var[0])
        e++;
    return e;
}

// Returns as many parts as a nest allows that is cut at a level: the levels
// before are run through by each part, and where the level has no range, so is
// the level.
static uint64_t adx_parts_at_level(const adx_nest *nest, uint32_t level)
{
    if (level == 0 && nest->level[0].kind == ADX_LEVEL_RANGE)
        return ADX_PARTS_MOST;
    uint64_t pass = adx_points_from(nest, level) / ADX_PASS_LEAST;
    return nest->level[level].kind != ADX_LEVEL_RANGE || pass < 1 ? 1 : pass;
}

/* --- a cut --------------------------------------------------------------- */

// False: no memory.
static bool adx_make_term_cut(const adx_set *s, const int64_t form[],
                              const adx_nest *nest, adx_term_cut *to)
{
    uint32_t var = UINT32_MAX;
    to->level = ADX_GET(s->arena, s->vars, uint32_t);
    if (to->level == NULL
        || !adx_make_sparse_form(s, form, UINT32_MAX, &to->form))
        return false;
    for (uint32_t i = 0; i < to->form.n; i++) {
        uint32_t l = 0;
        while (nest->level[l].var != to->form.var[i])
            l++;
        to->level[i] = l;
        l = to->form.n == 1 ? adx_level_in_order(nest, l) : l;
        if (var == UINT32_MAX || l > to->last) {
            to->last = l;
            var = to->form.var[i];
            to->k = to->form.k[i];
        }
    }
    bool ok = adx_make_sparse_form(s, form, var, &to->rest)
           && adx_make_sparse_form(s, form, var, &to->less);
    for (uint32_t i = 0; ok && i < to->less.n; i++)
        to->less.k[i] = -to->less.k[i];
    to->less.c = -to->less.c;
    return ok;
}

// Returns the level at which most of a form is decided.
static uint32_t adx_level_of_cut(const adx_nest *nest, const adx_term_cut *c)
{
    uint32_t best = 0;
    int64_t most = -1;
    for (uint32_t i = 0; i < c->form.n; i++) {
        const adx_nest_level *l = &nest->level[c->level[i]];
        int64_t k = c->form.k[i];
        int64_t span = (k < 0 ? -k : k) * (l->high - l->low);
        if (span > most) {
            most = span;
            best = c->level[i];
        }
    }
    return best;
}

/* --- parts of results ---------------------------------------------------- */

// Whether picks are of different numbers in different parts: the index is one
// of those of the number that is picked from, too.
static bool adx_picks_along(const ad_tensor *t, const adx_tensor_term *term,
                            uint32_t dim)
{
    const adx_set *s = term->set;
    const int64_t *form = adx_form_of(s, term->out + dim);
    uint32_t dims = term->most == 0 ? 0 : t->program->value[term->most].dims;
    for (uint32_t i = 0; i < dims; i++)
        if (memcmp(form + 1, adx_form_of(s, term->at + i) + 1,
                   s->vars * sizeof *form) == 0)
            return true;
    return term->most == 0;
}

// Whether the variable that decides a form has a range; of several, the last
// one.
static bool adx_has_range(const adx_nest *nest, const adx_term_cut *c)
{
    uint32_t level = c->last;
    return c->form.n == 0 || nest->level[level].kind == ADX_LEVEL_RANGE;
}

// Whether a list of the points is no longer than a few times the numbers that a
// term has to do with, and can hold the values of all variables.
static bool adx_can_list(const ad_tensor *t, const adx_tensor_value *v,
                         const adx_tensor_term *term, const adx_nest *nest,
                         const adx_term_cut *c)
{
    adx_nest first = *nest;
    uint64_t numbers = v->size;
    first.levels = c->last + 1;
    for (uint32_t f = 0; f < term->factors; f++)
        numbers += t->program->value[term->factor[f].value].size;
    bool ok = true;
    for (uint32_t i = 0; i < first.levels; i++) {
        const adx_nest_level *l = &nest->level[i];
        numbers += l->table == NULL ? 0 : l->table->n;
        ok = ok && l->low >= INT32_MIN && l->high <= INT32_MAX;
    }
    return ok && adx_points_from(&first, 0) <= 4 * numbers;
}

// Returns how many parts a term allows along a dimension. 0: it cannot be cut.
static uint64_t adx_parts_of_term(const ad_tensor *t, const adx_tensor_value *v,
                                  const adx_tensor_term *term, uint32_t dim,
                                  const adx_nest *nest, const adx_term_cut *c,
                                  bool lists)
{
    if (!adx_picks_along(t, term, dim))
        return 0;
    if (!adx_has_range(nest, c))
        return lists && adx_can_list(t, v, term, nest, c) ? ADX_PARTS_MOST
             : c->form.n > 1 ? 0 : 1;
    return c->form.n == 0 ? 1
         : adx_parts_at_level(nest, c->form.n > 1 ? adx_level_of_cut(nest, c)
                                                  : c->last);
}

// Returns how many parts a value allows along a dimension. 0: no memory; 1:
// none.
static uint32_t adx_cut_results(ad_tensor *t, const adx_tensor_value *v,
                                const adx_nest *const nest[], uint64_t points,
                                bool lists, adx_value_cut *to)
{
    uint64_t parts = adx_least_of(points / ADX_PART_LEAST, ADX_PARTS_MOST);
    parts = adx_least_of(parts, (uint64_t)v->extent[to->dim]);
    to->from = v->low[to->dim];
    to->to = to->from + v->extent[to->dim];
    to->term = ADX_GET(&t->arena, v->terms, adx_term_cut);
    for (uint32_t j = 0; to->term != NULL && j < v->terms && parts > 1; j++) {
        const adx_tensor_term *term = &v->term[j];
        const int64_t *form = adx_form_of(term->set, term->out + to->dim);
        if (!adx_make_term_cut(term->set, form, nest[j], &to->term[j]))
            return 0;
        uint64_t most = adx_parts_of_term(t, v, term, to->dim, nest[j],
                                          &to->term[j], lists);
        // a term of few points may be in one part
        if (most == 0 || adx_points_from(nest[j], 0) > points / 16)
            parts = adx_least_of(parts, most);
    }
    return to->term == NULL ? 0 : parts < 1 ? 1 : (uint32_t)parts;
}

/* --- parts of points ----------------------------------------------------- */

// Returns the one variable of a form that is not known; UINT32_MAX: none, or
// several.
static uint32_t adx_only_unknown(const adx_set *s, const int64_t form[],
                                 const bool known[])
{
    uint32_t some = UINT32_MAX;
    for (uint32_t i = 0; i < s->vars; i++)
        if (form[1 + i] != 0 && !known[i]) {
            if (some != UINT32_MAX)
                return UINT32_MAX;
            some = i;
        }
    return some;
}

// Returns the variable that a row gives, if it is known what is written.
static uint32_t adx_given_by_row(const adx_set *s, uint32_t r, bool written,
                                 const bool known[])
{
    const adx_set_row *row = &s->row[r];
    if (row->kind == ADX_ROW_VALUE) {
        const int64_t *at = adx_form_of(s, row->at);
        for (uint32_t i = 0; i < s->vars; i++)
            if (at[1 + i] != 0 && !known[i])
                return UINT32_MAX;
    } else if (row->kind != ADX_ROW_ZERO && !written)
        return UINT32_MAX;
    return adx_only_unknown(s, adx_form_of(s, r), known);
}

// Whether the indices of what is written give all variables, so that each point
// has a number of its own. known [vars]: memory, all false.
static bool adx_has_own_numbers(const adx_tensor_value *v,
                                const adx_tensor_term *term, bool known[])
{
    const adx_set *s = term->set;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t r = 0; r < s->rows; r++) {
            bool written = r >= term->out && r < term->out + v->dims;
            uint32_t var = adx_given_by_row(s, r, written, known);
            if (var != UINT32_MAX)
                known[var] = more = true;
        }
    }
    for (uint32_t i = 0; i < s->vars; i++)
        if (!s->gone[i] && !known[i])
            return false;
    return true;
}

// Returns the first level whose range is long, or the one with the longest
// range. UINT32_MAX: none has a range.
static uint32_t adx_long_level(const adx_nest *nest)
{
    uint32_t best = UINT32_MAX;
    int64_t most = -1;
    for (uint32_t i = 0; i < nest->levels && most < ADX_PARTS_MOST; i++) {
        const adx_nest_level *l = &nest->level[i];
        if (l->kind == ADX_LEVEL_RANGE && l->high - l->low > most) {
            most = l->high - l->low;
            best = i;
        }
    }
    return best;
}

// Cuts a term along the variable of one level. Returns into how many parts of
// so many points, at least 1. 0: no memory.
static uint32_t adx_cut_points(const adx_set *s, const adx_nest *nest,
                               uint64_t least, adx_term_cut *c)
{
    uint32_t level = adx_long_level(nest);
    uint64_t parts = adx_least_of(adx_points_from(nest, 0) / least,
                                  ADX_PARTS_MOST);
    int64_t *form = ADX_GET(s->arena, s->width, int64_t);
    if (form == NULL)
        return 0;
    c->to = 1;
    if (level == UINT32_MAX)
        parts = 1;
    else {
        const adx_nest_level *l = &nest->level[level];
        form[1 + l->var] = 1;
        c->from = l->low;
        c->to = l->high + 1;
        parts = adx_least_of(parts, (uint64_t)(c->to - c->from));
        parts = adx_least_of(parts, adx_parts_at_level(nest, level));
    }
    return !adx_make_term_cut(s, form, nest, c) ? 0
         : parts < 1 ? 1 : (uint32_t)parts;
}

// Whether there is another thread to share with: a pool, or an executor, as for
// forks.
static bool adx_shares_parts(void)
{
#ifdef ADREV_PARALLEL_IMPLEMENTED
    return adx_mine_rows.statements == 0
        && (adx_mine.execute != NULL
            || (adx_mine.seat != NULL && adx_mine.pool->workers > 0));
#else
    return false;
#endif
}

/* --- lists of points ----------------------------------------------------- */

// Returns where part i of n begins.
static int64_t adx_part_from(int64_t from, int64_t to, uint32_t i, uint32_t n)
{
    uint64_t span = (uint64_t)(to - from);
    return from + (int64_t)(span / n * i + span % n * i / n);
}

// Returns the part that a value of f belongs to.
static uint32_t adx_part_with(const adx_part_list *l, int64_t f)
{
    uint64_t span = (uint64_t)(l->to - l->from);
    uint32_t i = (uint32_t)((uint64_t)(f - l->from) * l->parts / span);
    while (adx_part_from(l->from, l->to, i, l->parts) > f)
        i--;
    while (adx_part_from(l->from, l->to, i + 1, l->parts) <= f)
        i++;
    return i;
}

typedef struct adx_listing {
    adx_part_list *list;
    bool fills;                 // or else counts
} adx_listing;

// Puts a point into the list of its part. Before the list is filled, points are
// only counted.
static bool adx_list_point(void *user, const int64_t x[], uint32_t var,
                           int64_t count)
{
    const adx_listing *k = (const adx_listing *)user;
    adx_part_list *l = k->list;
    uint32_t part = adx_part_with(l, adx_sparse_at(&l->form, x));
    (void)var;
    (void)count;
    if (k->fills) {
        int32_t *to = l->x + l->start[part]++ * l->levels;
        for (uint32_t i = 0; i < l->levels; i++)
            to[i] = (int32_t)x[l->nest->level[i].var];
    } else
        l->start[part + 1]++;
    return true;
}

// Whether two sets have equal variables, ranges and rows.
static bool adx_same_sets(const adx_set *a, const adx_set *b)
{
    if (a->vars != b->vars || a->rows != b->rows)
        return false;
    for (uint32_t v = 0; v < a->vars; v++)
        if (a->low[v] != b->low[v] || a->high[v] != b->high[v])
            return false;
    for (uint32_t r = 0; r < a->rows; r++)
        if (a->row[r].kind != b->row[r].kind || a->row[r].at != b->row[r].at
            || a->row[r].table != b->row[r].table
            || a->row[r].bits != b->row[r].bits
            || memcmp(adx_form_of(a, r), adx_form_of(b, r),
                      (1 + a->vars) * sizeof *a->k) != 0)
            return false;
    return true;
}

static bool adx_same_forms(const adx_sparse_form *a, const adx_sparse_form *b)
{
    return a->c == b->c && a->n == b->n
        && memcmp(a->var, b->var, a->n * sizeof *a->var) == 0
        && memcmp(a->k, b->k, a->n * sizeof *a->k) == 0;
}

// Whether two terms have the same points in the same parts.
static bool adx_same_lists(const adx_part_list *a, const adx_part_list *b)
{
    bool same = a->levels == b->levels && a->parts == b->parts
             && a->from == b->from && a->to == b->to
             && adx_same_forms(&a->form, &b->form)
             && adx_same_sets(a->set, b->set);
    for (uint32_t i = 0; i < a->levels && same; i++)
        same = a->nest->level[i].var == b->nest->level[i].var;
    return same;
}

// Counts the points of each part, and then writes them down. False: no memory.
static bool adx_fill_list(ad_tensor *t, adx_part_list *l)
{
    adx_nest nest = *l->nest;
    int64_t *x = ADX_GET(&t->arena, nest.vars, int64_t);
    adx_listing k = { l, false };
    l->start = ADX_GET(&t->arena, l->parts + 1, uint64_t);
    if (x == NULL || l->start == NULL)
        return false;
    nest.levels = l->levels;
    adx_walk_nest(&nest, x, adx_list_point, &k);
    for (uint32_t i = 0; i < l->parts; i++)
        l->start[i + 1] += l->start[i];
    l->x = ADX_GET(&t->arena, l->start[l->parts] * l->levels, int32_t);
    if (l->x == NULL)
        return false;
    k.fills = true;
    adx_walk_nest(&nest, x, adx_list_point, &k);
    memmove(l->start + 1, l->start, l->parts * sizeof *l->start);
    l->start[0] = 0;
    return true;
}

// Lists the points of a term by parts. Terms of a value and of its tangent have
// one list. False: no memory.
static bool adx_list_parts(ad_tensor *t, const adx_set *s, const adx_nest *nest,
                           const adx_value_cut *cut, adx_term_cut *c)
{
    adx_part_list *l = ADX_GET(&t->arena, 1, adx_part_list);
    if (l == NULL)
        return false;
    l->set = s;
    l->nest = nest;
    l->from = cut->from;
    l->to = cut->to;
    l->parts = cut->parts;
    l->levels = c->last + 1;
    l->form = c->form;
    for (const adx_part_list *i = t->program->lists; i != NULL; i = i->next)
        if (adx_same_lists(i, l)) {
            c->list = i;
            return true;
        }
    l->next = t->program->lists;
    c->list = t->program->lists = l;
    return adx_fill_list(t, l);
}

/* --- the cut of a value -------------------------------------------------- */

// Whether a term of a value adds at picked points only.
static bool adx_picks_any(const adx_tensor_value *v)
{
    bool any = false;
    for (uint32_t j = 0; j < v->terms; j++)
        any = any || v->term[j].most != 0;
    return any;
}

// Cuts the points of a value's only term into parts, if that makes more parts
// than the best cut so far. A sum is cut in this way only if each point has a
// number of its own. False: no memory.
static bool adx_try_cut_of_points(ad_tensor *t, const adx_tensor_value *v,
                                  const adx_nest *const nest[],
                                  adx_value_cut *best)
{
    const adx_tensor_term *term = v->term;
    adx_value_cut c = { .kind = ADX_CUT_POINTS };
    if (v->terms != 1 || v->kind == ADX_VALUE_MOST || term->most != 0)
        return true;
    bool *known = ADX_GET(&t->arena, term->set->width, bool);
    c.term = ADX_GET(&t->arena, 1, adx_term_cut);
    if (known == NULL || c.term == NULL)
        return false;
    if (v->kind == ADX_VALUE_SUM && !v->once
        && !adx_has_own_numbers(v, term, known))
        return true;
    c.parts = adx_cut_points(term->set, nest[0], ADX_PART_LEAST, c.term);
    c.from = c.term->from;
    c.to = c.term->to;
    if (c.parts > best->parts)
        *best = c;
    return c.parts > 0;
}

// Cuts the points of a value of few numbers into parts with sums of their own,
// if that makes more parts than the best cut so far. False: no memory.
static bool adx_try_cut_of_sums(ad_tensor *t, const adx_tensor_value *v,
                                const adx_nest *const nest[], uint64_t points,
                                adx_value_cut *best)
{
    adx_value_cut c = { .kind = ADX_CUT_SUMS };
    if (v->kind != ADX_VALUE_SUM || adx_picks_any(v)
        || best->parts >= ADX_PARTS_MOST / 4
        || points < 2 * ADX_SUMS_LEAST
        || points / ADX_SUMS_EACH < v->span || v->span > ADX_SUMS_MOST)
        return true;
    c.term = ADX_GET(&t->arena, v->terms, adx_term_cut);
    if (c.term == NULL)
        return false;
    for (uint32_t j = 0; j < v->terms; j++) {
        c.term[j].parts = adx_cut_points(v->term[j].set, nest[j],
                                         ADX_SUMS_LEAST, &c.term[j]);
        if (c.term[j].parts == 0)
            return false;
        c.parts += c.term[j].parts;
    }
    if (c.parts > best->parts && c.parts > v->terms)
        *best = c;
    return true;
}

// Cuts the results along the dimension that makes the most parts, if these are
// more than those of the best cut so far. False: no memory.
static bool adx_try_cut_of_results(ad_tensor *t, const adx_tensor_value *v,
                                   const adx_nest *const nest[],
                                   uint64_t points, bool lists,
                                   adx_value_cut *best)
{
    for (uint32_t d = 0; d < v->dims; d++) {
        adx_value_cut c = { .dim = d };
        c.parts = adx_cut_results(t, v, nest, points, lists, &c);
        if (c.parts == 0)
            return false;
        if (c.parts > best->parts)
            *best = c;
    }
    return true;
}

// Finds the best cut of a value. Lists change no bits, so what else is chosen
// must not depend on them: they are tried last. False: no memory.
static bool adx_try_all_cuts(ad_tensor *t, const adx_tensor_value *v,
                             const adx_nest *const nest[], uint64_t points,
                             adx_value_cut *best)
{
    if (!adx_try_cut_of_results(t, v, nest, points, false, best)
        || !adx_try_cut_of_points(t, v, nest, best)
        || !adx_try_cut_of_sums(t, v, nest, points, best))
        return false;
    return best->kind == ADX_CUT_SUMS || best->parts >= ADX_PARTS_MOST / 4
        || !adx_shares_parts()
        || adx_try_cut_of_results(t, v, nest, points, true, best);
}

// Cuts a value into parts. nest [terms]. *cut is NULL where nothing is to be
// gained. False: no memory.
static bool adx_cut_value(ad_tensor *t, const adx_tensor_value *v,
                          const adx_nest *const nest[], adx_value_cut **cut)
{
    uint64_t points = 0;
    adx_value_cut best = { .parts = 1 };
    for (uint32_t j = 0; j < v->terms; j++)
        points += adx_points_from(nest[j], 0);
    if (points < ADX_FORK_LEAST || v->size == 0)
        return true;
    if (!adx_try_all_cuts(t, v, nest, points, &best))
        return false;
    if (best.parts < 2)
        return true;
    for (uint32_t j = 0; j < v->terms && best.kind == ADX_CUT_RESULTS; j++)
        if (!adx_has_range(nest[j], &best.term[j]) && adx_shares_parts()
            && adx_can_list(t, v, &v->term[j], nest[j], &best.term[j])
            && !adx_list_parts(t, v->term[j].set, nest[j], &best,
                               &best.term[j]))
            return false;
    *cut = ADX_GET(&t->arena, 1, adx_value_cut);
    if (*cut == NULL)
        return false;
    **cut = best;
    return true;
}

ADX_SELDOM_END

/* --- a part of a nest ---------------------------------------------------- */

// Memory for the nest of a part.
typedef struct adx_part_memory {
    adx_nest_level *level;
    adx_set_check *bound;
} adx_part_memory;

// Narrows the range of a variable of the form by what the others can be.
static void adx_narrow_level(const adx_term_cut *c, uint32_t which, int64_t lo,
                             int64_t hi, adx_nest *to)
{
    adx_nest_level *l = &to->level[c->level[which]];
    int64_t k = c->form.k[which];
    int64_t least = c->form.c;
    int64_t most = c->form.c;
    for (uint32_t i = 0; i < c->form.n; i++) {
        const adx_nest_level *other = &to->level[c->level[i]];
        int64_t a = c->form.k[i];
        if (i == which)
            continue;
        least += a * (a > 0 ? other->low : other->high);
        most += a * (a > 0 ? other->high : other->low);
    }
    int64_t first = k > 0 ? lo - most : hi - 1 - least;
    int64_t last = k > 0 ? hi - 1 - least : lo - most;
    first = adx_ceil_div(first, k);
    last = adx_floor_div(last, k);
    l->low = first > l->low ? first : l->low;
    l->high = last < l->high ? last : l->high;
    to->empty = to->empty || l->low > l->high;
}

// The entries whose column has values from low to high.
static void adx_narrow_entries(const adx_int_table *column, int64_t low,
                               int64_t high, adx_nest_level *l)
{
    for (int upper = 0; upper < 2; upper++) {
        int64_t from = l->low;
        int64_t to = l->high + 1;
        while (from < to) {
            int64_t at = from + (to - from) / 2;
            if (column->value[at] < low + upper * (high + 1 - low))
                from = at + 1;
            else
                to = at;
        }
        *(upper ? &l->high : &l->low) = from - upper;
    }
}

// Finds the bounds of the last level for what its variable is now.
static void adx_bound_part(const adx_term_cut *c, int64_t lo, int64_t hi,
                           adx_nest_level *l, adx_set_check *bound)
{
    if (l->bounds > 0)
        memcpy(bound, l->bound, l->bounds * sizeof *bound);
    l->bound = bound;
    for (int upper = 0; upper < 2; upper++) {
        adx_set_check *b = &bound[l->bounds++];
        memset(b, 0, sizeof *b);
        b->kind = ADX_ROW_SIGN;
        b->k = upper ? -c->k : c->k;
        b->form = upper ? c->less : c->rest;
        b->form.c += upper ? hi - 1 : -lo;
    }
}

// Returns the loops over the points where lo <= f(x) < hi.
static adx_nest adx_nest_of_part(const adx_nest *nest, const adx_term_cut *c,
                                 int64_t lo, int64_t hi,
                                 const adx_part_memory *m)
{
    adx_nest to = *nest;
    if (nest->empty || c->form.n == 0) {
        to.empty = nest->empty || c->form.c < lo || c->form.c >= hi;
        return to;
    }
    memcpy(m->level, nest->level, nest->levels * sizeof *m->level);
    to.level = m->level;
    for (uint32_t i = 0; i < c->form.n && !to.empty; i++)
        adx_narrow_level(c, i, lo, hi, &to);
    const adx_nest_level *l = &to.level[c->level[0]];
    if (c->form.n == 1 && c->last < c->level[0] && !to.empty) {
        adx_narrow_entries(l->table, l->low, l->high, &to.level[c->last]);
        to.empty = to.level[c->last].low > to.level[c->last].high;
    }
    if (c->form.n > 1)
        adx_bound_part(c, lo, hi, &to.level[c->last], m->bound);
    return to;
}

// Visits the points of a part that is listed.
static void adx_walk_list(const adx_part_list *l, uint32_t part,
                          const adx_nest_walk *w)
{
    for (uint64_t i = l->start[part]; i < l->start[part + 1]; i++) {
        for (uint32_t k = 0; k < l->levels; k++)
            w->x[w->nest->level[k].var] = l->x[i * l->levels + k];
        adx_walk_from(w, l->levels);
    }
}

/* --- on threads ---------------------------------------------------------- */

// Makes n calls, in any order, on any threads.
static void adx_do_parts(size_t n, void (*call)(size_t i, void *arg), void *arg)
{
#ifdef ADREV_PARALLEL_IMPLEMENTED
    adx_execute(adx_mine.execute, adx_mine.user, n, call, arg);
#else
    for (size_t i = 0; i < n; i++)
        call(i, arg);
#endif
}
