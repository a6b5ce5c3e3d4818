#pragma once

/* === code/lists =============================================================
 * Lists of integers, such as the pattern of a sparse matrix, as initialisers of
 * constant arrays. A list in which differences of successive elements repeat is
 * one of loops, as a program is (code/repeats). C has no loops in initialisers,
 * but its preprocessor writes a piece again: a loop becomes a macro of its
 * first element, and macros for 10, 100 ... iterations, which call one another:
 *
 *     #define f_r1_1(v) v, v, v + 1
 *     #define f_r1_10(v) f_r1_1(v), f_r1_1(v + 2), f_r1_1(v + 4) ...
 *     0, f_r1_10(1), f_r1_10(21), f_r1_1(41), 49
 *
 *   needs   tape/memory code/text code/repeats
 *   offers  adx_say_list
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_initialiser {
    adx_text *t;
    const uint32_t *v;          // the list
    adx_rolled *r;              // its loops; `leaf` is the number of the macro
    uint32_t macros;            // how many have been written
    bool inside;                // of a macro, where v is the first element
    bool begun;                 // an element stands before the next one
    size_t line;                // bytes of the text before this line
} adx_initialiser;

// Writes what stands before the next element.
static void adx_separate(adx_initialiser *l)
{
    if (l->begun)
        adx_say(l->t, ",");
    if (l->t->bytes - l->line > ADX_LIST_WIDTH) {
        adx_say(l->t, l->inside ? " \\\n    " : "\n    ");
        l->line = l->t->bytes;
    } else if (l->begun)
        adx_say(l->t, " ");
    l->begun = true;
}

// Writes an element, or its distance from the macro's first one.
static void adx_say_entry(adx_initialiser *l, long value)
{
    if (!l->inside)
        adx_say(l->t, "%ld", value);
    else if (value == 0)
        adx_say(l->t, "v");
    else
        adx_say(l->t, value < 0 ? "v - %ld" : "v + %ld",
                value < 0 ? -value : value);
}

static long adx_list_stride(const adx_initialiser *l, const adx_item *loop)
{
    return (long)l->v[loop->first + loop->entries / loop->count]
         - (long)l->v[loop->first];
}

// The macro of a loop like this one; 0: there is none yet. (Loops are behind
// all elements.)
static uint32_t adx_macro_of(const adx_initialiser *l, const adx_item *loop)
{
    for (size_t i = l->r->items; l->r->item[i - 1].count > 1; i--)
        if (l->r->item[i - 1].symbol == loop->symbol
            && l->r->item[i - 1].leaf != 0)
            return l->r->item[i - 1].leaf;
    return 0;
}

// Writes calls for so many iterations, the first of which begins with `value`.
static void adx_call_macro(adx_initialiser *l, const adx_item *loop,
                           uint32_t macro, size_t iterations, long value)
{
    size_t power = 1;
    while (10 * power <= iterations && 10 * power <= loop->count)
        power *= 10;
    if (l->inside && power == iterations && power > 1)
        power /= 10;            // its own definition
    for (; power > 0; power /= 10)
        for (; iterations >= power; iterations -= power) {
            adx_separate(l);
            adx_say(l->t, "%s_r%lu_%lu(", l->t->name, (unsigned long)macro,
                    (unsigned long)power);
            adx_say_entry(l, value);
            adx_say(l->t, ")");
            value += (long)power * adx_list_stride(l, loop);
        }
}

// Writes a sequence of elements and loops, less a number.
static void adx_say_elements(adx_initialiser *l, const uint32_t item[],
                             size_t n, long less)
{
    for (size_t i = 0; i < n; i++) {
        const adx_item *s = &l->r->item[item[i]];
        const long value = (long)l->v[s->first] - less;
        if (s->count > 1) {
            adx_call_macro(l, s, adx_macro_of(l, s), s->count, value);
            continue;
        }
        adx_separate(l);
        adx_say_entry(l, value);
    }
}

static void adx_begin_macro(adx_initialiser *l, uint32_t macro, size_t power)
{
    l->line = l->t->bytes;
    l->begun = false;
    adx_say(l->t, "#define %s_r%lu_%lu(v) ", l->t->name, (unsigned long)macro,
            (unsigned long)power);
}

// Defines the macros of a loop, after those of the loops in it.
static void adx_define_loop(adx_initialiser *l, uint32_t item)
{
    adx_item *loop = &l->r->item[item];
    if (loop->count == 1 || adx_macro_of(l, loop) != 0)
        return;
    for (uint32_t i = 0; i < loop->items; i++)
        adx_define_loop(l, l->r->list[loop->body + i]);
    loop->leaf = ++l->macros;
    adx_begin_macro(l, loop->leaf, 1);
    adx_say_elements(l, &l->r->list[loop->body], loop->items,
                     (long)l->v[loop->first]);
    for (size_t power = 10; power <= loop->count; power *= 10) {
        adx_say(l->t, "\n");
        adx_begin_macro(l, loop->leaf, power);
        adx_call_macro(l, loop, loop->leaf, power, 0);
    }
    adx_say(l->t, "\n");
}

static void adx_define_loops(adx_initialiser *l)
{
    l->inside = true;
    for (size_t i = 0; i < l->r->roots; i++)
        adx_define_loop(l, l->r->root[i]);
    l->inside = false;
}

static void adx_undefine_loops(const adx_initialiser *l)
{
    for (size_t i = l->r->items; l->r->item[i - 1].count > 1; i--) {
        const adx_item *loop = &l->r->item[i - 1];
        for (size_t power = 1; loop->leaf != 0 && power <= loop->count;
             power *= 10)
            adx_say(l->t, "\n#undef %s_r%lu_%lu", l->t->name,
                    (unsigned long)loop->leaf, (unsigned long)power);
    }
}

// The loops of a list. Elements are the same symbol that are as far from the
// element before. NULL: no memory.
static adx_rolled *adx_roll_list(const ad_allocator *a, const uint32_t v[],
                                 size_t n)
{
    uint32_t before = 0;
    adx_rolled *r = (adx_rolled *)adx_take(a, 1, sizeof *r);
    if (r == NULL)
        return NULL;
    *r = (adx_rolled){ .root = (uint32_t *)adx_take(a, n, sizeof *r->root) };
    r->failed = r->root == NULL;
    for (size_t i = 0; i < n && !r->failed; before = v[i++])
        r->root[i] = adx_new_item(a, r, (adx_item){
            .symbol = (uint64_t)1 << 33 | (uint32_t)(v[i] - before),
            .count = 1, .first = (uint32_t)i, .entries = 1, .text = 1 });
    if (!r->failed)
        r->roots = adx_fold_again(a, r, r->root, n);
    if (!r->failed)
        return r;
    adx_free_rolled(a, r);
    return NULL;
}

static void adx_say_rolled_list(adx_initialiser *l)
{
    adx_define_loops(l);
    l->line = l->t->bytes;
    l->begun = false;
    adx_say(l->t, "    ");
    adx_say_elements(l, l->r->root, l->r->roots, 0);
    adx_undefine_loops(l);
}

// Writes the elements of an initialiser, from the beginning of a line on; at
// least one, since there are no empty arrays. Without memory the text fails.
static void adx_say_list(adx_text *t, const ad_allocator *a, bool unrolled,
                         const uint32_t v[], size_t n)
{
    adx_rolled *r = NULL;
    if (!unrolled && !t->muted && n >= ADX_ROLL_LEAST) {
        r = adx_roll_list(a, v, n);
        t->failed = t->failed || r == NULL;
    }
    adx_initialiser l = { .t = t, .v = v, .r = r, .line = t->bytes };
    if (r != NULL && r->loops > 0)
        adx_say_rolled_list(&l);
    else {
        adx_say(t, n == 0 ? "    0" : "    ");
        for (size_t i = 0; i < n; i++) {
            adx_separate(&l);
            adx_say_entry(&l, (long)v[i]);
        }
    }
    adx_say(t, "\n");
    adx_free_rolled(a, r);
}

ADX_SELDOM_END
