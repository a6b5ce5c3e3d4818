#pragma once

/* === code/layout ============================================================
 * Where a number is in C code: a constant is a literal, an input stays in its
 * array, and any other number is a local variable, v12. Two kinds of numbers
 * have to be in memory. What an array node reads or makes is an array; and if
 * the program is split into several C functions, what one of them makes and
 * another one reads cannot be a local variable. These numbers have places in
 * `work`. But results of an array node that are the function's results, one
 * after another, are written to the array of results at once: they are at home
 * there.
 *
 *   needs   tape/memory function/program function/copy function/pattern
 *           code/text
 *   offers  adx_results ADX_ARRAYS adx_writing adx_input_array adx_say_input
 *           adx_say_work adx_say_number adx_array_of ADX_HOME_ONE
 *           adx_end_writing adx_begin_writing
 * ========================================================================== */

ADX_SELDOM_BEGIN

// The function's arrays of results, and how many outputs are in each.
typedef struct adx_results {
    const char *array[2];
    size_t length[2];
} adx_results;

#define ADX_ARRAYS 4            // of inputs: x, w, v and, in kernels, c

// One C function while it is written.
typedef struct adx_writing {
    adx_text *text;
    const adx_program *p;
    const char *what;           // value, jvp ...
    const char *array[ADX_ARRAYS];  // names of the inputs, and how many of each
    size_t length[ADX_ARRAYS];
    size_t split;               // most statements of a C function
    bool unrolled;              // no loops are looked for
    bool *used;                 // [numbers] a result or a guard depends on it
    bool *stored;               // the number is in work
    uint32_t *place;            // where in work
    uint32_t *home;             // the output that a node with many results
                                // writes itself; ADX_NOWHERE
    const adx_results *results; // which arrays the results are in
    uint32_t *section;          // the C function that makes the number
    size_t places;              // numbers of work so far
    size_t sections;            // C functions that the program is split into
    size_t next;                // node, after the sections written so far
    bool guarded;               // there are guards
    bool block;                 // of points side by side: adx_lanes_of
    bool tells;                 // notes in `fault` if a result is not finite
    bool chosen;                // derivatives by some of the inputs only
    size_t unchecked;           // outputs at the end that may be not finite
    const adx_entries *entries; // of a sparse matrix; else NULL
    struct adx_rolled *rolled;  // its loops (code/repeats); NULL: it has none
} adx_writing;

// The array in which input x is, and its index there.
static const char *adx_input_array(const adx_writing *k, uint32_t x,
                                   uint32_t *at)
{
    size_t i = 0;
    for (; x >= k->length[i]; i++)
        x -= (uint32_t)k->length[i];
    *at = x;
    return k->array[i];
}

static void adx_say_input(adx_writing *k, uint32_t x)
{
    uint32_t at;
    if (k->block) {
        adx_say(k->text, "x%lu[l]", (unsigned long)x);
        return;
    }
    const char *array = adx_input_array(k, x, &at);
    adx_open_element(k->text, array);
    adx_say_index(k->text, "", at, adx_close_element(k->text));
}

static void adx_say_work(adx_writing *k, size_t place)
{
    if (k->block) {             // what its phases hand on: code/blocks
        adx_say(k->text, "t%lu[l]", (unsigned long)place);
        return;
    }
    adx_open_element(k->text, "work");
    adx_say_index(k->text, "", place, adx_close_element(k->text));
}

static void adx_say_number(adx_writing *k, uint32_t x)
{
    if (k->stored[x])
        adx_say_work(k, k->place[x]);
    else if (adx_is_constant_number(k->p, x))
        adx_say_literal(k->text, *adx_constant_of(k->p, x));
    else if (k->p->from[x] == ADX_FROM_INPUT)
        adx_say_input(k, x);
    else
        adx_say_index(k->text, "v", x, "");
}

// The array of inputs in which all elements of a range are; -1: there is none.
static int adx_array_of(const adx_writing *k, const adx_numbers *r,
                        size_t rows, size_t cols)
{
    uint32_t low;
    uint32_t high;
    uint32_t first = 0;
    adx_range_ends(r, rows, cols, &low, &high);
    for (int i = 0; i < ADX_ARRAYS; first += (uint32_t)k->length[i++])
        if (low >= first && high < first + k->length[i])
            return i;
    return -1;
}

// What `home` says of a number that has no home, besides ADX_NOWHERE.
#define ADX_HOME_NONE (ADX_NOWHERE - 1)     // a node reads it, or two outputs
#define ADX_HOME_ONE  (ADX_NOWHERE - 2)     // exactly one output is this number

// A node that reads numbers: the C function that it is in, and whether it is an
// array node, which reads memory.
typedef struct adx_reader {
    adx_writing *k;
    uint32_t section;
    bool in_range;
} adx_reader;

static void adx_note_reader(void *user, uint32_t x)
{
    adx_reader *r = (adx_reader *)user;
    adx_writing *k = r->k;
    uint32_t from = k->p->from[x];
    k->home[x] = ADX_HOME_NONE;
    if (r->in_range || (from < ADX_FROM_INPUT && k->section[x] != r->section))
        k->stored[x] = true;
}

// The same for the arguments of an array node. If all of an argument is in one
// array of inputs, the node reads it there, and nothing has to be stored. A
// gather reads its numbers one by one, wherever they are.
static void adx_note_ranges(adx_reader *r, const adx_many *m)
{
    for (int a = 0; a < 3; a++) {
        size_t rows;
        size_t cols;
        adx_extent(m, a, &rows, &cols);
        if (rows * cols == 0
            || adx_array_of(r->k, &m->arg[a], rows, cols) >= 0)
            continue;
        adx_add_span(r->k->place, r->k->p->numbers, &m->arg[a], rows, cols);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                adx_note_reader(r, adx_in_range(&m->arg[a], i, j));
    }
    r->in_range = false;
    for (size_t i = 0; m->kind == ADX_MANY_gather && i < m->n; i++)
        adx_note_reader(r, m->list[i]);
    r->in_range = true;
}

// Decides which numbers are stored in work, by one walk over the used nodes,
// which also counts them into C functions of `split` nodes each. Where there
// are several, the outputs are stored as well, because the function that writes
// the results has no nodes of its own.
static void adx_find_stored(adx_writing *k)
{
    const adx_program *p = k->p;
    size_t count = 0;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        if (!adx_is_used(p, s, k->used))
            continue;
        k->guarded |= s->op == ADX_OP_guard;
        adx_reader r = { k, (uint32_t)(count++ / k->split),
                         s->op == ADX_OP_many };
        if (r.in_range)
            adx_note_ranges(&r, adx_many_of(p, s));
        else
            adx_visit_reads(p, s, adx_note_reader, &r);
        for (size_t j = 0; j < adx_results_of(p, s); j++) {
            k->section[s->r + j] = r.section;
            k->stored[s->r + j] = k->stored[s->r + j] || r.in_range;
        }
    }
    k->sections = count == 0 ? 1 : (count + k->split - 1) / k->split;
    for (size_t i = 0; i < p->outputs && k->sections > 1; i++)
        if (p->from[p->output[i]] < ADX_FROM_INPUT)
            k->stored[p->output[i]] = true;
}

// Finds the nodes with many results whose results are at home: all of them are
// outputs, one after another, each is one output only, and no node reads them.
// But if a guard may fail, results must not have been written before; and a C
// function that makes only a part of the program has no results.
static void adx_find_homes(adx_writing *k)
{
    const adx_program *p = k->p;
    size_t at = 0;
    // how often each number is an output; what nodes read is known already
    for (size_t i = 0; i < p->outputs; i++) {
        uint32_t *home = &k->home[p->output[i]];
        *home = *home == ADX_NOWHERE ? ADX_HOME_ONE : ADX_HOME_NONE;
    }
    for (size_t a = 0; a < 2; a++)
        for (size_t i = 0, n; i < k->results->length[a]; i += n, at += n) {
            uint32_t x = p->output[at];
            uint32_t from = p->from[x];
            const adx_node *s = from < ADX_FROM_INPUT ? &p->node[from] : NULL;
            size_t most = k->results->length[a] - i;
            // Output `at` is the first result of an array node: are the next
            // outputs its other results?
            n = s == NULL || s->op != ADX_OP_many || s->r != x
              ? 1 : adx_results_of(p, s);
            bool all = n > 1 && n <= most && k->sections == 1 && !k->guarded;
            for (size_t j = 0; all && j < n; j++)
                all = p->output[at + j] == x + j
                   && k->home[x + j] == ADX_HOME_ONE;
            for (size_t j = 0; all && j < n; j++)
                k->stored[x + j] = false;
            n = all ? n : 1;
            k->home[x] = all ? (uint32_t)at : ADX_HOME_NONE;
        }
}

// Gives each stored number its place in work, in the order of their numbers.
// Within the span of a range no number is left out, so that it remains one;
// until then k->place counts the spans that begin and end (adx_add_span).
static void adx_find_places(adx_writing *k)
{
    const adx_program *p = k->p;
    uint32_t spans = 0;
    size_t end = 0;             // place of the next number
    for (size_t i = 0; p->manys > 0 && i < p->nodes; i++)
        if (p->node[i].op == ADX_OP_many && k->stored[p->node[i].r])
            adx_add_results_span(k->place, p->numbers, p->node[i].r,
                                 adx_many_of(p, &p->node[i]));
    for (size_t i = 0; i < p->numbers; i++) {
        spans += k->place[i];
        k->place[i] = (uint32_t)end;
        if (k->stored[i])
            k->places = end + 1;
        end += k->stored[i] || spans > 0;
    }
}

static void adx_end_writing(adx_writing *k)
{
    const ad_allocator *a = k->p->memory;
    adx_drop(a, k->used);
    adx_drop(a, k->stored);
    adx_drop(a, k->place);
    adx_drop(a, k->section);
    adx_drop(a, k->home);
}

// Decides for each number whether it is used, and where the text has it. False:
// no memory.
static bool adx_begin_writing(adx_writing *k)
{
    const adx_program *p = k->p;
    const ad_allocator *a = p->memory;
    k->used = (bool *)adx_take(a, p->numbers, sizeof *k->used);
    k->stored = (bool *)adx_take(a, p->numbers, sizeof *k->stored);
    k->place = (uint32_t *)adx_take(a, p->numbers, sizeof *k->place);
    k->section = (uint32_t *)adx_take(a, p->numbers, sizeof *k->section);
    k->home = (uint32_t *)adx_take(a, p->numbers, sizeof *k->home);
    if (k->used == NULL || k->stored == NULL || k->place == NULL
        || k->section == NULL || k->home == NULL)
        return false;
    memset(k->stored, 0, p->numbers * sizeof *k->stored);
    memset(k->home, 0xff, p->numbers * sizeof *k->home);    // ADX_NOWHERE
    memset(k->section, 0, p->numbers * sizeof *k->section);
    memset(k->place, 0, p->numbers * sizeof *k->place);
    adx_find_used(p, k->used);
    adx_find_stored(k);
    adx_find_homes(k);
    adx_find_places(k);
    return true;
}

ADX_SELDOM_END
