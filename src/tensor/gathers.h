#pragma once

/* === tensor/gathers =========================================================
 * Strips along which maps give the other variables: of the entries e of a
 * relation, i = t0[e] and j = t1[e]. Such a strip ends a nest, with no
 * conditions behind it; at most a range comes after the maps, the same at each
 * point. It goes to a kernel as one (tensor/run), which asks the maps for some
 * points at a time: what they give says where the numbers are that are read and
 * written. Maps that no number depends on are not asked.
 *
 * Points keep their order, and each is done as if it stood alone. So this
 * changes no bits.
 *
 *   needs   tensor/arena tensor/sets tensor/nests tensor/entries
 *   offers  ADX_GATHER_MOST adx_gather_form adx_gathers adx_make_gathers
 *           adx_gathering adx_has_even_places adx_first_place
 *           adx_gather_places adx_ask_maps adx_gather_numbers
 * ========================================================================== */

// Most points at a time, and most maps that are asked at each.
#ifndef ADX_GATHER_MOST
#define ADX_GATHER_MOST 128
#endif
#define ADX_LOOKED_UP_MOST 8

// A form along the strip: `rest` at its variable's value 0, and so much more
// for each step along it, and for what maps give.
typedef struct adx_gather_form {
    adx_sparse_form rest;
    int64_t stride;
    uint32_t n;
    uint32_t *of;               // which lookup
    int64_t *k;
} adx_gather_form;

// Of x = sign*(table[argument] - c) forms have sign and c in their own
// constants.
typedef struct adx_map_asked {
    uint32_t var;
    const adx_int_table *table;
    adx_gather_form argument;   // less the table's `from`
} adx_map_asked;

// A strip whose variables maps give: what they are asked, and where numbers
// are.
typedef struct adx_gathers {
    uint32_t level;             // of the strip
    uint32_t var;
    uint32_t lookups;
    adx_map_asked lookup[ADX_LOOKED_UP_MOST];
    const adx_nest_level *inner;        // the range after the maps; NULL: none
    adx_gather_form out;        // the number that is written
    adx_gather_form factor[3];  // those that are read
} adx_gathers;

ADX_SELDOM_BEGIN

/* --- what a strip asks ---------------------------------------------------- */

// Returns the level of a strip behind which there are only maps that always
// give a value, and perhaps a range. UINT32_MAX: there is none.
static uint32_t adx_level_of_strip(const adx_set *s, const adx_nest *nest)
{
    uint32_t l = nest->levels;
    uint32_t maps = 0;
    if (l > 0 && nest->level[l - 1].kind == ADX_LEVEL_RANGE
        && nest->level[l - 1].bounds == 0 && nest->level[l - 1].checks == 0)
        l--;
    for (; l > 0 && nest->level[l - 1].checks == 0
           && adx_always_has_value(s, &nest->level[l - 1]); l--)
        maps++;
    return l > 0 && maps > 0 && nest->level[l - 1].checks == 0
        && nest->level[l - 1].kind == ADX_LEVEL_RANGE ? l - 1 : UINT32_MAX;
}

// Returns the number of the lookup that gives a variable; UINT32_MAX: none
// does.
static uint32_t adx_lookup_of(const adx_gathers *g, uint32_t var)
{
    for (uint32_t i = 0; i < g->lookups; i++)
        if (g->lookup[i].var == var)
            return i;
    return UINT32_MAX;
}

// Adds the lookup of a variable behind the strip, and what its argument needs.
// False: no memory, or too many.
static bool adx_add_lookup(adx_arena *a, const adx_nest *nest, uint32_t var,
                           adx_gathers *g);

// A form of the nest's variables, without that of the inner range. False: no
// memory, or too many lookups.
static bool adx_make_gather_form(adx_arena *a, const adx_nest *nest,
                                 const adx_sparse_form *from, adx_gathers *g,
                                 adx_gather_form *to)
{
    to->rest.c = from->c;
    to->rest.var = ADX_GET(a, from->n, uint32_t);
    to->rest.k = ADX_GET(a, from->n, int64_t);
    to->of = ADX_GET(a, from->n, uint32_t);
    to->k = ADX_GET(a, from->n, int64_t);
    if (a->status != ADREV_OK)
        return false;
    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t var = from->var[i];
        uint32_t level = 0;
        while (nest->level[level].var != var)
            level++;
        if (level < g->level) {
            to->rest.var[to->rest.n] = var;
            to->rest.k[to->rest.n++] = from->k[i];
        } else if (level == g->level)
            to->stride = from->k[i];
        else if (nest->level[level].kind == ADX_LEVEL_VALUE) {
            int64_t k = from->k[i] * nest->level[level].k;
            if (!adx_add_lookup(a, nest, var, g))
                return false;
            to->rest.c -= k * nest->level[level].form.c;
            to->of[to->n] = adx_lookup_of(g, var);
            to->k[to->n++] = k;
        }
    }
    return true;
}

// Adds the map that gives a variable of the nest to the look-ups of a gather,
// unless it is there. False: the kernel cannot do that, or no memory.
static bool adx_add_lookup(adx_arena *a, const adx_nest *nest, uint32_t var,
                           adx_gathers *g)
{
    const adx_nest_level *l = nest->level;
    adx_map_asked to = { .var = var };
    if (adx_lookup_of(g, var) != UINT32_MAX)
        return true;
    while (l->var != var)
        l++;
    to.table = l->table;
    if (!adx_make_gather_form(a, nest, &l->argument, g, &to.argument)
        || g->lookups == ADX_LOOKED_UP_MOST)
        return false;
    to.argument.rest.c -= l->table->from;
    g->lookup[g->lookups++] = to;
    return true;
}

// Returns the strip that ends a nest of a set: places of what is written, and
// of n factors. NULL: there is none, or no memory.
static const adx_gathers *adx_make_gathers(
    const adx_set *s, const adx_nest *nest, const adx_sparse_form *out,
    const adx_sparse_form *const factor[], uint32_t n)
{
    adx_gathers *g = ADX_GET(s->arena, 1, adx_gathers);
    uint32_t level = adx_level_of_strip(s, nest);
    if (g == NULL || level == UINT32_MAX)
        return NULL;
    const adx_nest_level *last = &nest->level[nest->levels - 1];
    g->level = level;
    g->var = nest->level[level].var;
    g->inner = last->kind == ADX_LEVEL_RANGE ? last : NULL;
    bool ok = adx_make_gather_form(s->arena, nest, out, g, &g->out);
    for (uint32_t f = 0; f < n; f++)
        ok = ok && adx_make_gather_form(s->arena, nest, factor[f], g,
                                        &g->factor[f]);
    return ok ? g : NULL;
}

ADX_SELDOM_END

/* --- some points of a strip ----------------------------------------------- */

// Points at which the variable of the strip has the values from `first` on, or
// list[0], list[every], ...
typedef struct adx_gathering {
    const adx_gathers *g;
    const int64_t *x;           // of the levels before
    int64_t first;
    const int32_t *list;        // NULL: none
    uint32_t every;
    int64_t n;
    const int32_t *given[ADX_LOOKED_UP_MOST];   // by maps: theirs, or in `room`
    int32_t room[ADX_LOOKED_UP_MOST][ADX_GATHER_MOST];
} adx_gathering;

// Whether the places of a form are as far apart everywhere.
static bool adx_has_even_places(const adx_gathering *s,
                                const adx_gather_form *f)
{
    return f->n == 0 && (s->list == NULL || f->stride == 0);
}

// Returns the place of a form's number at the first point of the strip.
static int64_t adx_first_place(const adx_gathering *s, const adx_gather_form *f)
{
    return adx_sparse_at(&f->rest, s->x)
         + (s->list == NULL ? f->stride * s->first : 0);
}

// Computes at[i] += k*given[i]; a k of 1 takes no product.
ADX_INLINE void adx_add_given(int64_t n, int64_t k, const int32_t *given,
                              int64_t *at)
{
    for (int64_t i = 0; i < n; i++)
        at[i] += k * given[i];
}

// Finds what a form is at all points.
static void adx_gather_places(const adx_gathering *s, const adx_gather_form *f,
                              int64_t at[])
{
    int64_t first = adx_first_place(s, f);
    int64_t stride = f->stride;
    int64_t n = s->n;
    if (stride == 0)
        for (int64_t i = 0; i < n; i++)
            at[i] = first;
    else if (s->list == NULL)
        for (int64_t i = 0; i < n; i++)
            at[i] = first + stride * i;
    else
        for (int64_t i = 0; i < n; i++)
            at[i] = first + stride * s->list[i * s->every];
    for (uint32_t j = 0; j < f->n; j++)
        if (f->k[j] == 1)
            adx_add_given(n, 1, s->given[f->of[j]], at);
        else
            adx_add_given(n, f->k[j], s->given[f->of[j]], at);
}

// Asks the maps.
static void adx_ask_maps(adx_gathering *s)
{
    int64_t at[ADX_GATHER_MOST];
    for (uint32_t j = 0; j < s->g->lookups; j++) {
        const adx_gather_form *f = &s->g->lookup[j].argument;
        const int32_t *value = s->g->lookup[j].table->value;
        bool next = adx_has_even_places(s, f) && f->stride == 1;
        s->given[j] = next ? value + adx_first_place(s, f) : s->room[j];
        if (next)
            continue;
        adx_gather_places(s, f, at);
        for (int64_t i = 0; i < s->n; i++)
            s->room[j][i] = value[at[i]];
    }
}

// Returns the numbers at the places of a form, and how far apart they are:
// where they lie, if that is the same from each to the next; or else in `room`.
static const ad_real *adx_gather_numbers(const adx_gathering *s,
                                         const adx_gather_form *f,
                                         const ad_real *from, ad_real room[],
                                         int64_t *stride)
{
    int64_t at[ADX_GATHER_MOST];
    *stride = f->stride;
    if (adx_has_even_places(s, f))
        return from + adx_first_place(s, f);
    *stride = 1;
    adx_gather_places(s, f, at);
    for (int64_t i = 0; i < s->n; i++)
        room[i] = from[at[i]];
    return room;
}
