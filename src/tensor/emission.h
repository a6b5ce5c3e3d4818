#pragma once

/* === tensor/emission ========================================================
 * C text of tables, of forms of variables, and of places in memory, for the
 * loops of tensor/loops and the expressions of tensor/points. Their additions
 * and multiplications are those of tensor/run, in the same order, so the bits
 * are the same.
 *
 * In the text x0, x1, ... are variables of loops, b7 is value 7, t0 a table, v3
 * a number. n_ is the size n of the text, where it is open: an argument.
 *
 *   needs   code/text tensor/api tensor/tree tensor/arena tensor/sets
 *           tensor/nests tensor/binding tensor/open tensor/programs
 *           tensor/sharing tensor/pointwise tensor/fusion
 *   offers  adx_table_kind ADX_TABLE_INTS ADX_TABLE_COUNTS ADX_TABLE_WORDS
 *           adx_table_data adx_table_list adx_local_number ADX_CALLS_MOST
 *           ADX_CALLS_LEAST ADX_CALLS_FLOOR ADX_CALLS_ALL adx_emission
 *           adx_table_number adx_say_indent ADX_SAY_OPEN ADX_SAY_BLOCK
 *           ADX_SAY_LINE adx_close_to adx_say_size adx_say_variable
 *           adx_say_rest adx_begin_variables adx_is_cut adx_begin_body
 *           adx_say_affine adx_say_sparse adx_say_counted adx_spot_of
 *           adx_compose adx_indices_at adx_say_place
 * ========================================================================== */


ADX_SELDOM_BEGIN

/* --- tables -----------------------------------------------------------------
 * Values of maps, columns of relations, their inverses, and bits. Those that
 * any text of a file reads are numbered.                                     */

typedef enum adx_table_kind {
    ADX_TABLE_INTS, ADX_TABLE_COUNTS, ADX_TABLE_WORDS
} adx_table_kind;

// A table that the code reads.
typedef struct adx_table_data {
    const void *data;
    uint64_t n;
    adx_table_kind kind;
    bool read;                  // by the step that is written
} adx_table_data;

typedef struct adx_table_list {
    adx_table_data *table;
    uint32_t n, room;
} adx_table_list;

// What the body of a loop has computed: number v`number`, or x`number`, which a
// table gives.
typedef struct adx_local_number {
    struct adx_local_number *next;
    uint32_t value;
    const adx_int_table *table; // or NULL
    const int64_t *index;       // [dims][width] or, of a table, [1][width]
    uint32_t number;
} adx_local_number;

// Variables besides those of loops: numbers that tables give. A value with
// those that are computed with it has at most twice ADX_LOOKUPS_ALL.
#define ADX_VARIABLES_MORE (2 * ADX_LOOKUPS_ALL)

// Functions for bounds, in the file.
enum {
    ADX_CALLS_MOST = 1, ADX_CALLS_LEAST = 2, ADX_CALLS_FLOOR = 4,
    ADX_CALLS_ALL = 7
};

typedef struct adx_emission {
    adx_text text;
    adx_arena *a;
    const adx_fusion *f;
    adx_table_list *tables;
    bool *read, *written;       // [values] by this step
    bool *size;                 // [open sizes] by this step
    bool *helper;               // [ADX_HELPER_COUNT] by all steps
    bool picks;
    bool *flag;                 // [values] of a bundle: it asks whether they
                                // are needed
    bool in_run;                // of a bundle: the outermost loop is there
    const adx_step_cut *cut;    // of the step; NULL: all of it is done
    bool listed;                // it has lists of points: "which" is a part
    bool sums;                  // of parts, in memory of its own
    uint32_t into_sums;         // the value whose parts add to `sums`, or 0
    unsigned bounds;            // of ADX_CALLS_... those that are called, by
                                // any step
    bool rolled;                // a loop is not to be unrolled, in any step
    uint32_t width;             // of forms: 1 + variables
    uint32_t variables;         // those of the loops, then others
    uint32_t open;              // braces
    uint32_t numbers;           // v0 ... have been used
    adx_local_number *local;    // those in scope
} adx_emission;

// Returns the number of a table of constants, which is entered into the list if
// it is new. 0 without memory; the arena then has the status.
static uint32_t adx_table_number(adx_emission *e, const void *data, uint64_t n,
                                 adx_table_kind kind)
{
    adx_table_list *l = e->tables;
    uint32_t i = 0;
    while (i < l->n && l->table[i].data != data)
        i++;
    if (i == l->n && l->n == l->room) {
        adx_table_data *wide = ADX_GET(e->a, 2 * l->room + 8, adx_table_data);
        if (wide == NULL)
            return 0;
        if (l->n > 0)
            memcpy(wide, l->table, l->n * sizeof *wide);
        l->table = wide;
        l->room = 2 * l->room + 8;
    }
    if (i == l->n) {
        l->table[i].data = data;
        l->table[i].n = n;
        l->table[i].kind = kind;
        l->n++;
    }
    l->table[i].read = true;
    return i;
}

/* --- lines and forms ----------------------------------------------------- */

static void adx_say_indent(adx_emission *e)
{
    adx_say(&e->text, "%*s", 4 + 4 * (int)e->open, "");
}

// Begins a block: "for (...) {".
#define ADX_SAY_OPEN(e, ...)                                                   \
    (adx_say_indent(e), adx_say(&(e)->text, __VA_ARGS__),                   \
     adx_say(&(e)->text, " {\n"), (void)(e)->open++)
#define ADX_SAY_BLOCK(e)                                                       \
    (adx_say_indent(e), adx_say(&(e)->text, "{\n"), (void)(e)->open++)
#define ADX_SAY_LINE(e, ...)                                                   \
    (adx_say_indent(e), adx_say(&(e)->text, __VA_ARGS__),                   \
     adx_say(&(e)->text, "\n"))

// Ends blocks until `open` are left.
static void adx_close_to(adx_emission *e, uint32_t open)
{
    while (e->open > open) {
        e->open--;
        ADX_SAY_LINE(e, "}");
    }
}

// Writes "n_": the size n, as an argument. No other name of the text ends like
// this.
static void adx_say_size(adx_text *t, const ad_tensor *of, uint32_t open)
{
    const adx_spot name = of->tree.size[of->open->size[open]];
    adx_put_text(t, of->tree.text + name.at, name.length);
    adx_say(t, "_");
}

// Writes the name of a variable of loops, or of an open size.
static void adx_say_variable(adx_emission *e, uint32_t var)
{
    if (var >= adx_open_of(e->f->t)) {
        adx_say(&e->text, "x%lu", (unsigned long)var);
        return;
    }
    e->size[var] = true;
    adx_say_size(&e->text, e->f->t, var);
}

// Writes one term of a form, "+ 3*x1".
static bool adx_say_multiple(adx_emission *e, int64_t k, uint32_t var, bool any)
{
    if (k == 0)
        return any;
    uint64_t size = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
    adx_say(&e->text, any ? k < 0 ? " - " : " + " : k < 0 ? "-" : "");
    if (size > 1)
        adx_say(&e->text, "%llu*", (unsigned long long)size);
    adx_say_variable(e, var);
    return true;
}

// Writes the constant that ends a form; `any`: something stands before it.
static void adx_say_rest(adx_emission *e, int64_t c, bool any)
{
    if (c != 0 || !any)
        adx_say(&e->text, any ? c < 0 ? " - %llu" : " + %llu"
                              : c < 0 ? "-%llu" : "%llu",
                (unsigned long long)(c < 0 ? 0 - (uint64_t)c : (uint64_t)c));
}

// Sets how wide forms are from here on: they are of so many variables, open
// sizes and those of loops, and of numbers that tables give.
static void adx_begin_variables(adx_emission *e, uint32_t loops)
{
    e->width = 1 + loops + ADX_VARIABLES_MORE;
    e->variables = loops;
}

// The range of a part, "lo" and "hi", is of this.
static bool adx_is_cut(const adx_emission *e, adx_step_way way, uint32_t dim)
{
    return e->cut != NULL && e->cut->way == way && e->cut->dim == dim;
}

// Begins the inside of loops: no number is in a local variable yet.
static void adx_begin_body(adx_emission *e, uint32_t loops)
{
    e->local = NULL;
    e->variables = loops;
}

// Writes a form of all variables.
static void adx_say_affine(adx_emission *e, const int64_t form[])
{
    bool any = false;
    for (uint32_t v = 0; v + 1 < e->width; v++)
        any = adx_say_multiple(e, form[1 + v], v, any);
    adx_say_rest(e, form[0], any);
}

// Writes a form of the variables that it has.
static void adx_say_sparse(adx_emission *e, const adx_sparse_form *f)
{
    bool any = false;
    for (uint32_t i = 0; i < f->n; i++)
        any = adx_say_multiple(e, f->k[i], f->var[i], any);
    adx_say_rest(e, f->c, any);
}

// gcc unrolls loops of up to 16 turns before it looks for vectors, and then
// finds none. (bench: tensor, cp, compiled gradient, 0.23.)
#define ADX_ROLLED_LEAST 9
#define ADX_ROLLED_MOST  16

// Opens "for (long x1 = 0; x1 <= 15; x1++) {".
static void adx_say_counted(adx_emission *e, unsigned long x, int64_t low,
                            int64_t high)
{
    if (high - low + 1 >= ADX_ROLLED_LEAST
        && high - low + 1 <= ADX_ROLLED_MOST) {
        e->rolled = true;
        ADX_SAY_LINE(e, "%s_ROLLED", e->text.name);
    }
    ADX_SAY_OPEN(e, "for (long x%lu = %lld; x%lu <= %lld; x%lu++)", x,
                 (long long)low, x, (long long)high, x);
}

/* --- where numbers are --------------------------------------------------- */

// A term at a point: its variables as forms of those of the loops. map NULL:
// they are the same.
typedef struct adx_spot_of {
    const adx_set *set;
    const int64_t *map;         // [vars][width]
} adx_spot_of;

// Computes from[0] + sum from[1 + i]*form i, for n forms.
static void adx_compose(const adx_emission *e, const int64_t from[],
                        const int64_t form[], uint32_t n, int64_t to[])
{
    memset(to, 0, e->width * sizeof *to);
    to[0] = from[0];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; from[1 + i] != 0 && j < e->width; j++)
            to[j] = adx_whole_add(e->a, to[j], from[1 + i],
                                  form[(size_t)i * e->width + j]);
}

// Returns the indices of what a term reads or writes there. NULL: no memory.
static int64_t *adx_indices_at(adx_emission *e, const adx_spot_of *at,
                               adx_access from)
{
    uint32_t dims = adx_tensor_value_at(e->f->t, from.value)->dims;
    int64_t *index = ADX_GET(e->a, (size_t)dims * e->width, int64_t);
    for (uint32_t d = 0; index != NULL && d < dims; d++) {
        const int64_t *row = adx_form_of(at->set, from.row + d);
        int64_t *to = index + (size_t)d * e->width;
        if (at->map == NULL)
            memcpy(to, row, (1 + at->set->vars) * sizeof *to);
        else
            adx_compose(e, row, at->map, at->set->vars, to);
    }
    return index;
}

// Writes " + 512*(lo - 1)": thin values have the memory of the part's first
// run.
static void adx_say_first_run(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    uint32_t d = e->f->thin[value] - 1;
    if (e->f->thin[value] != 0 && adx_is_cut(e, ADX_STEP_RUNS, UINT32_MAX))
        adx_say(&e->text, " + (%lld)*(lo - (%lld))", (long long)v->stride[d],
                (long long)v->low[d]);
}

// Writes "b7[512*x0 + x1]".
static void adx_say_place(adx_emission *e, uint32_t value, const int64_t *index,
                          bool write)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    int64_t *place = ADX_GET(e->a, e->width, int64_t);
    if (v->kind == ADX_VALUE_SIZE) {
        adx_say(&e->text, "(%s)", e->text.real);
        adx_say_variable(e, v->order);
        return;
    }
    if (place == NULL || index == NULL)
        return;
    for (uint32_t d = 0; d < v->dims; d++) {
        if (e->f->thin[value] == 1 + d)
            continue;
        for (uint32_t j = 0; j < e->width; j++)
            place[j] = adx_whole_add(e->a, place[j], v->stride[d],
                                     index[(size_t)d * e->width + j]);
        adx_add_least(e->a, place, -v->stride[d], v, d, adx_open_of(e->f->t));
    }
    if (write && e->into_sums == value) {
        place[0] += v->first;
        adx_say(&e->text, "sums[");
        adx_say_affine(e, place);
        adx_say(&e->text, "]");
        return;
    }
    *(write ? &e->written[value] : &e->read[value]) = true;
    adx_say_index(&e->text, "b", value, "[");
    adx_say_affine(e, place);
    adx_say_first_run(e, value);
    adx_say(&e->text, "]");
}

ADX_SELDOM_END
