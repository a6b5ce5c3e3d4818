#pragma once

/* === tensor/emission ========================================================
 * C text that computes one value of a part: the loops of tensor/run or, of
 * values that are computed number by number, loops around one expression. Its
 * additions and multiplications are those of tensor/run, in the same order, so
 * the bits are the same.
 *
 * In the text x0, x1, ... are variables of loops, b7 is value 7, t0 a table, v3
 * a number.
 *
 *   needs   core/derived core/cells code/text tensor/arena tensor/sets
 *           tensor/nests tensor/binding tensor/programs tensor/sharing
 *           tensor/parts tensor/run tensor/pointwise tensor/fusion
 *           tensor/blocks
 *   offers  adx_table_kind ADX_TABLE_INTS ADX_TABLE_WORDS adx_table_data
 *           adx_table_list adx_emission adx_say_step
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- tables -----------------------------------------------------------------
 * Values of maps, columns of relations, their inverses, and bits. Those that
 * any text of a file reads are numbered.                                     */

typedef enum adx_table_kind {
    ADX_TABLE_INTS, ADX_TABLE_COUNTS, ADX_TABLE_WORDS
} adx_table_kind;

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

// Variables besides those of loops: numbers that tables give. A value with those
// that are computed with it has at most twice ADX_LOOKUPS_ALL.
#define ADX_VARIABLES_MORE (2 * ADX_LOOKUPS_ALL)

typedef struct adx_emission {
    adx_text text;
    adx_arena *a;
    const adx_fusion *f;
    adx_table_list *tables;
    bool *read, *written;       // [values] by this step
    bool *helper;               // [ADX_HELPER_COUNT] by all steps
    bool picks;
    bool *flag;                 // [values] of a block: it asks whether they
                                // are needed
    bool in_run;                // of a block: the outermost loop is there
    bool sums;                  // of parts, in memory of its own
    bool into_sums;             // what the value writes goes there
    bool bounds;                // functions for bounds are called, by any step
    uint32_t width;             // of forms: 1 + variables
    uint32_t variables;         // those of the loops, then others
    uint32_t open;              // braces
    uint32_t numbers;           // v0 ... have been used
    adx_local_number *local;    // those in scope
} adx_emission;

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
#define ADX_SAY_OPEN(e, ...)                                                    \
    (adx_say_indent(e), adx_say(&(e)->text, __VA_ARGS__),                   \
     adx_say(&(e)->text, " {\n"), (void)(e)->open++)
#define ADX_SAY_BLOCK(e)                                                        \
    (adx_say_indent(e), adx_say(&(e)->text, "{\n"), (void)(e)->open++)
#define ADX_SAY_LINE(e, ...)                                                    \
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

// One term of a form, "+ 3*x1".
static bool adx_say_multiple(adx_emission *e, int64_t k, uint32_t var, bool any)
{
    if (k == 0)
        return any;
    uint64_t size = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
    adx_say(&e->text, any ? k < 0 ? " - " : " + " : k < 0 ? "-" : "");
    if (size > 1)
        adx_say(&e->text, "%llu*", (unsigned long long)size);
    adx_say(&e->text, "x%lu", (unsigned long)var);
    return true;
}

static void adx_say_rest(adx_emission *e, int64_t c, bool any)
{
    if (c != 0 || !any)
        adx_say(&e->text, any ? c < 0 ? " - %llu" : " + %llu"
                              : c < 0 ? "-%llu" : "%llu",
                (unsigned long long)(c < 0 ? 0 - (uint64_t)c : (uint64_t)c));
}

// Forms of so many variables of loops, and of numbers that tables give.
static void adx_begin_variables(adx_emission *e, uint32_t loops)
{
    e->width = 1 + loops + ADX_VARIABLES_MORE;
    e->variables = loops;
}

static void adx_begin_body(adx_emission *e, uint32_t loops)
{
    e->local = NULL;
    e->variables = loops;
}

static void adx_say_affine(adx_emission *e, const int64_t form[])
{
    bool any = false;
    for (uint32_t v = 0; v + 1 < e->width; v++)
        any = adx_say_multiple(e, form[1 + v], v, any);
    adx_say_rest(e, form[0], any);
}

static void adx_say_sparse(adx_emission *e, const adx_sparse_form *f)
{
    bool any = false;
    for (uint32_t i = 0; i < f->n; i++)
        any = adx_say_multiple(e, f->k[i], f->var[i], any);
    adx_say_rest(e, f->c, any);
}

/* --- where numbers are --------------------------------------------------- */

// A term at a point: its variables as forms of those of the loops. map NULL:
// they are the same.
typedef struct adx_spot_of {
    const adx_set *set;
    const int64_t *map;         // [vars][width]
} adx_spot_of;

// from[0] + sum from[1 + i]*form i, for n forms.
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

// The indices of what a term reads or writes there. NULL: no memory.
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

// "b7[512*x0 + x1]"
static void adx_say_place(adx_emission *e, uint32_t value, const int64_t *index,
                          bool write)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    int64_t *place = ADX_GET(e->a, e->width, int64_t);
    if (place == NULL || index == NULL)
        return;
    for (uint32_t d = 0; d < v->dims; d++) {
        if (e->f->thin[value] == 1 + d)
            continue;
        for (uint32_t j = 0; j < e->width; j++)
            place[j] = adx_whole_add(e->a, place[j], v->stride[d],
                                     index[(size_t)d * e->width + j]);
        place[0] = adx_whole_add(e->a, place[0], -v->stride[d], v->low[d]);
    }
    if (write && e->into_sums) {
        place[0] += v->first;
        adx_say(&e->text, "sums[");
        adx_say_affine(e, place);
        adx_say(&e->text, "]");
        return;
    }
    *(write ? &e->written[value] : &e->read[value]) = true;
    adx_say_index(&e->text, "b", value, "[");
    adx_say_affine(e, place);
    adx_say(&e->text, "]");
}

/* --- numbers ------------------------------------------------------------- */

#define ADX_IN_MEMORY UINT32_MAX

// A number that is read: v`local`, or one of a value.
typedef struct adx_number_read {
    uint32_t local;
    uint32_t value;
    const int64_t *index;
} adx_number_read;

typedef struct adx_numbers_read {
    adx_emission *e;
    adx_number_read x[3];
    uint32_t result;            // the number that is v in formulas
} adx_numbers_read;

static uint32_t adx_say_value_at(adx_emission *e, uint32_t value,
                                 const int64_t *index, const adx_box *region);

static void adx_say_operand(adx_emission *e, const adx_number_read *x)
{
    if (x->local != ADX_IN_MEMORY)
        adx_say_index(&e->text, "v", x->local, "");
    else
        adx_say_place(e, x->value, x->index, false);
}

// What is in scope: the number of a value, or of a table, at indices. NULL: it
// is not there.
static const adx_local_number *adx_find_local(const adx_emission *e,
                                              uint32_t value,
                                              const adx_int_table *table,
                                              const int64_t *index, uint32_t n)
{
    const adx_local_number *l = e->local;
    while (l != NULL && (l->value != value || l->table != table
                         || (n > 0 && memcmp(l->index, index, (size_t)n
                                             * e->width * sizeof *index) != 0)))
        l = l->next;
    return l;
}

static void adx_keep_local(adx_emission *e, uint32_t value,
                           const adx_int_table *table, const int64_t *index,
                           uint32_t number)
{
    adx_local_number *to = ADX_GET(e->a, 1, adx_local_number);
    if (to == NULL)
        return;
    to->value = value;
    to->table = table;
    to->index = index;
    to->number = number;
    to->next = e->local;
    e->local = to;
}

// The local number of a value that is computed here: it is written now, unless
// it is there.
static uint32_t adx_local_of(adx_emission *e, uint32_t value,
                             const int64_t *index)
{
    uint32_t dims = adx_tensor_value_at(e->f->t, value)->dims;
    const adx_local_number *l = adx_find_local(e, value, NULL, index, dims);
    if (l != NULL)
        return l->number;
    uint32_t number = adx_say_value_at(e, value, index, NULL);
    adx_keep_local(e, value, NULL, index, number);
    return number;
}

// The variable that a table gives for an argument.
static uint32_t adx_variable_of(adx_emission *e, const adx_int_table *table,
                                int64_t *argument)
{
    const adx_local_number *l = adx_find_local(e, 0, table, argument, 1);
    if (l != NULL)
        return l->number;
    uint32_t number = e->variables++;
    if (e->variables >= e->width) {
        adx_arena_fail(e->a, ADREV_ELIMIT);
        return 0;
    }
    adx_say_indent(e);
    adx_say(&e->text, "const long x%lu = t%lu[", (unsigned long)number,
            (unsigned long)adx_table_number(e, table->value, table->n,
                                            ADX_TABLE_INTS));
    argument[0] -= table->from;
    adx_say_affine(e, argument);
    argument[0] += table->from;
    adx_say(&e->text, "];\n");
    adx_keep_local(e, 0, table, argument, number);
    return number;
}

// What a term of the value `by` reads there.
static adx_number_read adx_operand_at(adx_emission *e, uint32_t by,
                                  const adx_spot_of *at, adx_access from)
{
    adx_number_read x = { ADX_IN_MEMORY, from.value, adx_indices_at(e, at, from) };
    const adx_fusion *f = e->f;
    if (x.index != NULL && adx_is_computed_by(f, from.value, by))
        x.local = adx_local_of(e, from.value, x.index);
    return x;
}

static void adx_take_numbers(adx_emission *e, uint32_t by,
                              const adx_spot_of *at,
                              const adx_tensor_term *term, adx_numbers_read *to)
{
    to->e = e;
    for (uint32_t i = 0; i < term->factors; i++)
        to->x[i] = adx_operand_at(e, by, at, term->factor[i]);
}

// k*a*b; k may be 1.
static void adx_say_product_of(adx_emission *e, const adx_numbers_read *o, uint32_t n,
                            ad_real k)
{
    if (k != 1 || n == 0)
        adx_say_literal(&e->text, k);
    for (uint32_t i = 0; i < n; i++) {
        adx_say(&e->text, i > 0 || k != 1 ? " * " : "");
        adx_say_operand(e, &o->x[i]);
    }
}

// What is added to: a name, a number of a value, or else v`number`.
typedef struct adx_sum_text {
    const char *name;
    uint32_t value;
    const int64_t *index;
    uint32_t number;
} adx_sum_text;

static void adx_say_sum_text(adx_emission *e, const adx_sum_text *to)
{
    if (to->name != NULL)
        adx_say(&e->text, "%s", to->name);
    else if (to->value != 0)
        adx_say_place(e, to->value, to->index, true);
    else
        adx_say_index(&e->text, "v", to->number, "");
}

// to += k*a*b, in one rounding where the text is fused (tensor/run).
static void adx_say_added(adx_emission *e, const adx_sum_text *to,
                          const adx_numbers_read *o, uint32_t n, ad_real k)
{
    bool fused = e->f->t->options.fused && n == 2;
    bool less = k == -1 && n > 0;
    adx_say_indent(e);
    adx_say_sum_text(e, to);
    if (fused) {
        adx_say(&e->text, " = fma%s(%s", e->text.single ? "f" : "",
                less ? "-" : "");
        adx_say_product_of(e, o, 1, less ? 1 : k);
        adx_say(&e->text, ", ");
        adx_say_operand(e, &o->x[1]);
        adx_say(&e->text, ", ");
        adx_say_sum_text(e, to);
        adx_say(&e->text, ");\n");
        return;
    }
    adx_say(&e->text, less ? " -= " : " += ");
    adx_say_product_of(e, o, n, less ? 1 : k);
    adx_say(&e->text, ";\n");
}

/* --- functions ----------------------------------------------------------- */

static void adx_say_letter(adx_text *t, char which, void *user)
{
    const adx_numbers_read *o = (const adx_numbers_read *)user;
    if (which == 'v')
        adx_say_index(t, "v", o->result, "");
    else
        adx_say_operand(o->e, &o->x[which - 'x']);
}

// Whether a formula mentions the letter v alone.
static bool adx_mentions_result(const char *text)
{
    for (const char *at = text; (at = strchr(at, 'v')) != NULL; at++) {
        bool before = at > text && (adx_is_letter(at[-1])
                                    || adx_is_digit(at[-1]));
        if (!before && !adx_is_letter(at[1]) && !adx_is_digit(at[1]))
            return true;
    }
    return false;
}

// A formula of numbers, as a new number.
static uint32_t adx_say_formula_of(adx_emission *e, const char *formula,
                                   adx_numbers_read *o)
{
    adx_say_indent(e);
    adx_say_index(&e->text, e->text.single ? "const float v" : "const double v",
                  e->numbers, " = ");
    adx_mark_helpers(formula, e->helper);
    adx_say_formula(&e->text, formula, adx_say_letter, o);
    adx_say(&e->text, ";\n");
    return e->numbers++;
}

static adx_number_read adx_local_read(uint32_t number)
{
    const adx_number_read x = { number, 0, NULL };
    return x;
}

static uint32_t adx_say_constant_number(adx_emission *e, ad_real v)
{
    adx_say_indent(e);
    adx_say_index(&e->text, e->text.single ? "const float v" : "const double v",
                  e->numbers, " = ");
    adx_say_literal(&e->text, v);
    adx_say(&e->text, ";\n");
    return e->numbers++;
}

// The tangent of a term of a cell, of those of its arguments.
static uint32_t adx_say_term_tangent(adx_emission *e, const adx_term *term,
                                     uint64_t moving, adx_numbers_read *o,
                                     const uint32_t tangent[])
{
    uint32_t sum = e->numbers++;
    const char *chain = adx_row_of(ADX_OP_chain)->value;
    ADX_SAY_LINE(e, "%s v%lu = 0;", e->text.real, (unsigned long)sum);
    for (int i = 0; i < adx_row_of(term->op)->arity; i++) {
        if ((moving >> term->arg[i] & 1) == 0)
            continue;
        adx_numbers_read both = { .e = e };
        both.x[0] = adx_local_read(
            adx_say_formula_of(e, adx_row_of(term->op)->partial[i], o));
        both.x[1] = adx_local_read(tangent[term->arg[i]]);
        adx_say_indent(e);
        adx_say_index(&e->text, "v", sum, " += ");
        adx_mark_helpers(chain, e->helper);
        adx_say_formula(&e->text, chain, adx_say_letter, &both);
        adx_say(&e->text, ";\n");
    }
    return sum;
}

// The derivative of a partial, as tensor/run makes it of the partial's terms. o
// has the arguments and the result of the function.
static uint32_t adx_say_second(adx_emission *e, const adx_tensor_value *v,
                               adx_numbers_read *o)
{
    const adx_tensor_second *s = v->second;
    adx_number_read value[ADX_TERM_FIRST + ADX_TERMS];
    uint32_t tangent[ADX_TERM_FIRST + ADX_TERMS] = { 0 };
    memcpy(value, o->x, sizeof o->x);
    value[ADX_TERM_VALUE] = adx_local_read(o->result);
    tangent[s->by] = adx_say_constant_number(e, 1);
    tangent[ADX_TERM_VALUE] =
        adx_say_formula_of(e, adx_row_of(v->op)->partial[s->by], o);
    for (uint8_t k = 0; k < s->cell.terms; k++) {
        const adx_term *term = &s->cell.term[k];
        adx_numbers_read of = { .e = e };
        for (int i = 0; i < 3; i++)
            of.x[i] = value[term->arg[i]];
        of.result = term->op == ADX_TERM_NUMBER
                  ? adx_say_constant_number(e, term->v)
                  : adx_say_formula_of(e, adx_row_of(term->op)->value, &of);
        value[ADX_TERM_FIRST + k] = adx_local_read(of.result);
        ADX_SAY_LINE(e, "(void)v%lu;", (unsigned long)of.result);
        tangent[ADX_TERM_FIRST + k] =
            (s->moving >> (ADX_TERM_FIRST + k) & 1) == 0 ? 0
            : adx_say_term_tangent(e, term, s->moving, &of, tangent);
    }
    ADX_SAY_LINE(e, "(void)v%lu, (void)v%lu;", (unsigned long)tangent[s->by],
                 (unsigned long)tangent[ADX_TERM_VALUE]);
    return tangent[s->cell.result];
}

// A function, its partial, or the derivative of that, as a number.
static uint32_t adx_say_row_at(adx_emission *e, uint32_t value,
                               const adx_spot_of *at)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const char *formula = adx_formula_of(v);
    adx_numbers_read o = { .e = e };
    adx_take_numbers(e, value, at, &v->term[0], &o);
    bool second = v->kind == ADX_VALUE_SECOND;
    if (second || (v->kind == ADX_VALUE_PARTIAL
                   && adx_mentions_result(formula))) {
        o.result = adx_say_formula_of(e, adx_row_of(v->op)->value, &o);
        if (second)
            ADX_SAY_LINE(e, "(void)v%lu;", (unsigned long)o.result);
    }
    return second ? adx_say_second(e, v, &o)
                  : adx_say_formula_of(e, formula, &o);
}

/* --- number by number ---------------------------------------------------- */

// "if (x0 >= 1 && x1 <= 3)": where a piece adds, as far as a region does not
// say so. False: nothing is to be asked.
static bool adx_say_inside(adx_emission *e, const adx_term_piece *p, uint32_t dims,
                           const adx_box *region)
{
    bool any = false;
    for (uint32_t d = 0; region != NULL && d < dims; d++)
        for (int upper = 0; upper < 2; upper++) {
            int64_t bound = upper ? p->box.high[d] : p->box.low[d];
            if (upper ? region->high[d] <= bound : region->low[d] >= bound)
                continue;
            if (!any)
                adx_say_indent(e);
            adx_say(&e->text, "%sx%lu %s %lld", any ? " && " : "if (",
                    (unsigned long)d, upper ? "<=" : ">=", (long long)bound);
            any = true;
        }
    if (any) {
        adx_say(&e->text, ") {\n");
        e->open++;
    }
    return any;
}

static bool adx_never_inside(const adx_term_piece *p, uint32_t dims,
                             const adx_box *region)
{
    for (uint32_t d = 0; region != NULL && d < dims; d++)
        if (region->low[d] > p->box.high[d] || region->high[d] < p->box.low[d])
            return true;
    return false;
}

// Which numbers that maps give a piece needs: for its factors, or for others.
static void adx_find_used_lookups(const adx_emission *e,
                                  const adx_term_piece *p, uint32_t dims,
                                  bool used[])
{
    uint32_t own = 1 + dims + ADX_LOOKUPS_MOST;
    memset(used, 0, ADX_LOOKUPS_MOST * sizeof *used);
    for (uint32_t i = 0; i < p->term->factors; i++) {
        const adx_access x = p->term->factor[i];
        uint32_t n = adx_tensor_value_at(e->f->t, x.value)->dims;
        for (uint32_t r = x.row; r < x.row + n; r++)
            for (uint32_t v = 0; v < p->set->vars; v++)
                for (uint32_t l = 0; l < p->lookups; l++)
                    used[l] |= adx_form_of(p->set, r)[1 + v] != 0
                            && p->form[(size_t)v * own + 1 + dims + l] != 0;
    }
    for (uint32_t l = p->lookups; l-- > 0;)
        for (uint32_t i = 0; i < l && used[l]; i++)
            used[i] |= p->lookup[l].argument[1 + dims + i] != 0;
}

// The variables of a piece of a value whose indices are forms.
static adx_spot_of adx_piece_at(adx_emission *e, const adx_term_piece *p,
                                uint32_t dims, const int64_t *index)
{
    uint32_t own = 1 + dims + ADX_LOOKUPS_MOST;
    int64_t *map = ADX_GET(e->a, (size_t)p->set->vars * e->width, int64_t);
    int64_t *all = ADX_GET(e->a, (size_t)own * e->width, int64_t);
    const adx_spot_of at = { p->set, all == NULL ? NULL : map };
    bool used[ADX_LOOKUPS_MOST];
    if (map == NULL || all == NULL)
        return at;
    if (dims > 0)
        memcpy(all, index, (size_t)dims * e->width * sizeof *all);
    adx_find_used_lookups(e, p, dims, used);
    for (uint32_t i = 0; i < p->lookups; i++) {
        int64_t *argument = ADX_GET(e->a, e->width, int64_t);
        if (argument == NULL)
            return at;
        if (!used[i])
            continue;
        adx_compose(e, p->lookup[i].argument, all, dims + i, argument);
        uint32_t x = adx_variable_of(e, p->lookup[i].table, argument);
        all[(size_t)(dims + i) * e->width + 1 + x] = 1;
    }
    for (uint32_t v = 0; v < p->set->vars; v++)
        adx_compose(e, p->form + (size_t)v * own, all, dims + p->lookups,
                    map + (size_t)v * e->width);
    return at;
}

// Adds what one piece adds to number v`number`.
static void adx_say_piece(adx_emission *e, uint32_t value, const adx_term_piece *p,
                          const int64_t *index, const adx_box *region,
                          uint32_t number)
{
    uint32_t dims = adx_tensor_value_at(e->f->t, value)->dims;
    uint32_t open = e->open;
    adx_local_number *local = e->local;
    adx_numbers_read o = { .e = e };
    if (adx_never_inside(p, dims, region))
        return;
    bool asked = adx_say_inside(e, p, dims, region);
    const adx_spot_of at = adx_piece_at(e, p, dims, index);
    if (at.map == NULL && p->set->vars > 0)
        return;
    adx_take_numbers(e, value, &at, p->term, &o);
    const adx_sum_text to = { .number = number };
    adx_say_added(e, &to, &o, p->term->factors, p->term->k);
    if (asked) {
        adx_close_to(e, open);
        e->local = local;
    }
}

// Whether a number of a value is one product, that nothing is added to.
static bool adx_is_one_product(const adx_emission *e, uint32_t value,
                               const adx_box *region)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const adx_pointwise *p = e->f->shape[value];
    return v->kind == ADX_VALUE_SUM && v->once && p->n == 1
        && (region == NULL || adx_is_inside(region, &p->piece[0].box, v->dims));
}

// The number of a value at indices that are forms, in a region of them: NULL: in
// its core. Returns which v it is.
static uint32_t adx_say_sum_at(adx_emission *e, uint32_t value,
                               const int64_t *index, const adx_box *region)
{
    const adx_pointwise *p = e->f->shape[value];
    uint32_t dims = adx_tensor_value_at(e->f->t, value)->dims;
    if (adx_is_one_product(e, value, region)) {
        adx_numbers_read o = { .e = e };
        const adx_spot_of at = adx_piece_at(e, &p->piece[0], dims, index);
        adx_take_numbers(e, value, &at, p->piece[0].term, &o);
        adx_say_indent(e);
        adx_say(&e->text, "const %s v%lu = ", e->text.real,
                (unsigned long)e->numbers);
        adx_say_product_of(e, &o, p->piece[0].term->factors,
                        p->piece[0].term->k);
        adx_say(&e->text, ";\n");
        return e->numbers++;
    }
    uint32_t number = e->numbers++;
    ADX_SAY_LINE(e, "%s v%lu = 0;", e->text.real, (unsigned long)number);
    for (uint32_t i = 0; i < p->n; i++)
        adx_say_piece(e, value, &p->piece[i], index, region, number);
    return number;
}

static uint32_t adx_say_value_at(adx_emission *e, uint32_t value,
                                 const int64_t *index, const adx_box *region)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const adx_pointwise *p = e->f->shape[value];
    bool inside = region == NULL
               || adx_is_inside(region, &p->piece[0].box, v->dims);
    uint32_t number;
    if (v->kind == ADX_VALUE_SUM || !inside)
        number = adx_say_sum_at(e, value, index, region);
    else {
        const adx_spot_of at = adx_piece_at(e, &p->piece[0], v->dims, index);
        number = adx_say_row_at(e, value, &at);
    }
    if (region == NULL && e->f->fate[value] == ADX_FATE_HOSTED) {
        adx_say_indent(e);
        adx_say_place(e, value, index, true);
        adx_say(&e->text, " = v%lu;\n", (unsigned long)number);
    }
    return number;
}

// The indices, those with long strides first. NULL: no memory.
static uint32_t *adx_order_indices(adx_emission *e, uint32_t value)
{
    uint32_t dims = adx_tensor_value_at(e->f->t, value)->dims;
    uint32_t *order = ADX_GET(e->a, dims, uint32_t);
    for (uint32_t d = 0; order != NULL && d < dims; d++) {
        uint32_t i = d;
        for (; i > 0 && adx_stride_along(e->f, value, d)
                        > adx_stride_along(e->f, value, order[i - 1]); i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
    return order;
}

// Whether an index of a value is that of the runs of its block.
static bool adx_is_run_index(const adx_emission *e, uint32_t value, uint32_t d)
{
    return e->in_run && e->f->run_of[value] == 1 + d;
}

static void adx_say_run_index(adx_emission *e, uint32_t var)
{
    ADX_SAY_LINE(e, "const long x%lu = e;", (unsigned long)var);
    ADX_SAY_LINE(e, "(void)x%lu;", (unsigned long)var);
}

// Loops over the indices in a region.
static void adx_say_region(adx_emission *e, uint32_t value,
                           const adx_box *region, const uint32_t order[])
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    int64_t *index = ADX_GET(e->a, (size_t)v->dims * e->width, int64_t);
    uint32_t open = e->open;
    if (index == NULL || adx_box_size(region, v->dims) == 0)
        return;
    if (e->in_run)
        ADX_SAY_BLOCK(e);
    for (uint32_t i = 0; i < v->dims; i++) {
        unsigned long x = order[i];
        if (region->low[x] == region->high[x]) {
            index[x * e->width] = region->low[x];
            continue;
        }
        index[x * e->width + 1 + x] = 1;
        if (adx_is_run_index(e, value, order[i]))
            adx_say_run_index(e, order[i]);
        else
            ADX_SAY_OPEN(e, "for (long x%lu = %lld; x%lu <= %lld; x%lu++)", x,
                         (long long)region->low[x], x,
                         (long long)region->high[x], x);
    }
    if (e->open == open)
        ADX_SAY_BLOCK(e);
    adx_begin_body(e, v->dims);
    uint32_t number = adx_say_value_at(e, value, index, region);
    adx_say_indent(e);
    adx_say_place(e, value, index, true);
    adx_say(&e->text, " = v%lu;\n", (unsigned long)number);
    adx_close_to(e, open);
}

// The core, and what is around it.
static void adx_say_pointwise(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const adx_pointwise *p = e->f->shape[value];
    const uint32_t *order = adx_order_indices(e, value);
    adx_box r;
    adx_begin_variables(e, v->dims);
    if (order == NULL || !adx_make_box(e->a, v->dims, &r))
        return;
    adx_say_region(e, value, &p->core, order);
    for (uint32_t d = 0; d < v->dims; d++)
        for (int upper = 0; upper < 2; upper++) {
            for (uint32_t i = 0; i < v->dims; i++) {
                r.low[i] = i < d ? p->core.low[i] : p->domain.low[i];
                r.high[i] = i < d ? p->core.high[i] : p->domain.high[i];
            }
            *(upper ? &r.low[d] : &r.high[d]) =
                upper ? p->core.high[d] + 1 : p->core.low[d] - 1;
            adx_say_region(e, value, &r, order);
        }
}

/* --- loops of a term ----------------------------------------------------- */

// What is done at the points of a term.
typedef enum adx_doing {
    ADX_DOING_TERM,             // what its value says
    ADX_DOING_ZEROS,            // 0 where it writes
    ADX_DOING_BEGIN             // of a most: -infinity
} adx_doing;

typedef struct adx_looping {
    adx_emission *e;
    uint32_t value;
    const adx_tensor_term *term;
    const adx_nest *nest;
    adx_doing doing;
    const adx_nest_level *cut;  // its variable is that of a part: from lo to
                                // hi - 1; or NULL
} adx_looping;

// The least, or largest, that a form can be.
static double adx_sparse_extreme(const adx_nest *n, const adx_sparse_form *f,
                                 bool most)
{
    double sum = (double)f->c;
    for (uint32_t i = 0; i < f->n; i++)
        for (uint32_t l = 0; l < n->levels; l++)
            if (n->level[l].var == f->var[i])
                sum += (double)f->k[i] * (double)((f->k[i] > 0) == most
                                   ? n->level[l].high : n->level[l].low);
    return sum;
}

// "if (x3 >= 0 && x3 <= 7) {" for a value that may be outside.
static void adx_say_within(adx_emission *e, const adx_nest_level *l,
                           bool below, bool above)
{
    unsigned long x = l->var;
    if (below && above)
        ADX_SAY_OPEN(e, "if (x%lu >= %lld && x%lu <= %lld)", x, (long long)l->low,
                 x, (long long)l->high);
    else if (below)
        ADX_SAY_OPEN(e, "if (x%lu >= %lld)", x, (long long)l->low);
    else if (above)
        ADX_SAY_OPEN(e, "if (x%lu <= %lld)", x, (long long)l->high);
}

// "if (form >= low && form <= high) {"
static void adx_say_asked(adx_emission *e, const adx_sparse_form *f,
                          int64_t low, int64_t high)
{
    adx_say_indent(e);
    adx_say(&e->text, "if (");
    adx_say_sparse(e, f);
    adx_say(&e->text, " >= %lld && ", (long long)low);
    adx_say_sparse(e, f);
    adx_say(&e->text, " <= %lld) {\n", (long long)high);
    e->open++;
}

// " - (form))", the end of what begins with a bracket. NULL: nothing.
static void adx_say_less(adx_emission *e, const adx_sparse_form *f)
{
    if (f == NULL)
        return;
    adx_say(&e->text, " - (");
    adx_say_sparse(e, f);
    adx_say(&e->text, "))");
}

// Names that are declared next belong to a block.
static void adx_say_scope(adx_emission *e)
{
    if (e->open == 0)
        ADX_SAY_BLOCK(e);
}

// "from0" and "to0": the bounds of a level.
static void adx_say_bounds(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    e->bounds = e->bounds || l->bounds > 0;
    if (l == k->cut)
        ADX_SAY_LINE(e, "long from%lu = lo, to%lu = hi - 1;", x, x);
    else
        ADX_SAY_LINE(e, "long from%lu = %lld, to%lu = %lld;", x,
                     (long long)l->low, x, (long long)l->high);
    for (uint32_t i = 0; i < l->bounds; i++) {
        int64_t by = l->bound[i].k;
        bool lower = by > 0;
        adx_say_indent(e);
        adx_say(&e->text, lower ? "from%lu = %s_most(from%lu, -%s_floor("
                                : "to%lu = %s_least(to%lu, %s_floor(",
                x, e->text.name, x, e->text.name);
        adx_say_sparse(e, &l->bound[i].form);
        adx_say(&e->text, ", %lld));\n", (long long)(by < 0 ? -by : by));
    }
}

static void adx_say_range(const adx_looping *k, const adx_nest_level *l)
{
    unsigned long x = l->var;
    if (l->bounds == 0 && l != k->cut) {
        ADX_SAY_OPEN(k->e, "for (long x%lu = %lld; x%lu <= %lld; x%lu++)", x,
                 (long long)l->low, x, (long long)l->high, x);
        return;
    }
    adx_say_scope(k->e);
    adx_say_bounds(k, l);
    ADX_SAY_OPEN(k->e, "for (long x%lu = from%lu; x%lu <= to%lu; x%lu++)", x, x, x,
             x, x);
}

// k*x + form = 0
static void adx_say_solved(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    bool unit = adx_is_unit(l->k);
    double low = adx_sparse_extreme(k->nest, &l->form, l->k > 0)
               / (double)-l->k;
    double high = adx_sparse_extreme(k->nest, &l->form, l->k < 0)
                / (double)-l->k;
    adx_say_scope(e);
    adx_say_indent(e);
    adx_say(&e->text, "const long rest%lu = ", x);
    adx_say_sparse(e, &l->form);
    adx_say(&e->text, ";\n");
    if (!unit)
        ADX_SAY_OPEN(e, "if (rest%lu %% %lld == 0)", x, (long long)l->k);
    if (unit)
        ADX_SAY_LINE(e, "const long x%lu = %srest%lu;", x, l->k > 0 ? "-" : "", x);
    else
        ADX_SAY_LINE(e, "const long x%lu = -(rest%lu / %lld);", x, x,
                 (long long)l->k);
    adx_say_within(e, l, low < (double)l->low, high > (double)l->high);
}

// A value of a map.
static void adx_say_looked_up(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    adx_sparse_form argument = l->argument;
    uint32_t table = adx_table_number(e, l->table->value, l->table->n,
                                      ADX_TABLE_INTS);
    bool plain = l->k == 1 && l->form.n == 0 && l->form.c == 0;
    argument.c -= l->table->from;
    if (adx_sparse_extreme(k->nest, &argument, false) < 0
        || adx_sparse_extreme(k->nest, &argument, true) >= (double)l->table->n)
        adx_say_asked(e, &argument, 0, (int64_t)l->table->n - 1);
    adx_say_scope(e);
    adx_say_indent(e);
    adx_say(&e->text, "const long x%lu = %st%lu[", x,
            plain ? "" : l->k < 0 ? "-(" : "(", (unsigned long)table);
    adx_say_sparse(e, &argument);
    adx_say(&e->text, "]");
    adx_say_less(e, plain ? NULL : &l->form);
    adx_say(&e->text, ";\n");
    adx_say_within(e, l, !plain || l->table->low < l->low,
                   !plain || l->table->high > l->high);
}

// The arguments for which a map has a value.
static void adx_say_arguments(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    const adx_int_table *t = l->table;
    adx_sparse_form of = l->form;
    adx_sparse_form less = l->argument;
    unsigned long start = adx_table_number(e, t->start,
                                           (uint64_t)(t->high - t->low) + 2,
                                           ADX_TABLE_COUNTS);
    unsigned long argument = adx_table_number(e, t->argument, t->n,
                                              ADX_TABLE_COUNTS);
    of.c -= t->low;
    less.c -= t->from;
    bool plain = l->k == 1 && less.n == 0 && less.c == 0;
    bool inside = plain && l->low <= 0 && l->high >= (int64_t)t->n - 1;
    if (adx_sparse_extreme(k->nest, &of, false) < 0
        || adx_sparse_extreme(k->nest, &of, true) > (double)(t->high - t->low))
        adx_say_asked(e, &of, 0, t->high - t->low);
    adx_say_indent(e);
    adx_say(&e->text, "for (unsigned long q%lu = t%lu[", x, start);
    adx_say_sparse(e, &of);
    adx_say(&e->text, "]; q%lu < t%lu[", x, start);
    of.c++;
    adx_say_sparse(e, &of);
    adx_say(&e->text, "]; q%lu++) {\n", x);
    e->open++;
    adx_say_indent(e);
    adx_say(&e->text, "const long x%lu = %s(long)t%lu[q%lu]", x,
            plain ? "" : l->k < 0 ? "-(" : "(", argument, x);
    adx_say_less(e, plain ? NULL : &less);
    adx_say(&e->text, ";\n");
    adx_say_within(e, l, !inside, !inside);
}

// "if (...) {" for what is to be looked at once x has its value.
static void adx_say_level_check(adx_emission *e, const adx_set_check *c)
{
    uint32_t table = c->kind == ADX_ROW_VALUE
        ? adx_table_number(e, c->table->value, c->table->n, ADX_TABLE_INTS)
        : c->kind == ADX_ROW_BIT || c->kind == ADX_ROW_NO_BIT
        ? adx_table_number(e, c->bits->word, c->bits->n / 64 + 1,
                           ADX_TABLE_WORDS) : 0;
    bool bit = c->kind == ADX_ROW_BIT || c->kind == ADX_ROW_NO_BIT;
    ADX_SAY_BLOCK(e);
    adx_say_indent(e);
    adx_say(&e->text, "const long is = ");
    adx_say_sparse(e, &c->form);
    adx_say(&e->text, ";\n");
    if (c->kind == ADX_ROW_ZERO || c->kind == ADX_ROW_SIGN)
        ADX_SAY_OPEN(e, "if (is %s 0)", c->kind == ADX_ROW_ZERO ? "==" : ">=");
    else if (bit)
        ADX_SAY_OPEN(e, c->kind == ADX_ROW_BIT
                 ? "if (is >= 0 && is < %llu && (t%lu[is / 64] >> is %% 64 & 1))"
                 : "if (is < 0 || is >= %llu || !(t%lu[is / 64] >> is %% 64 & 1))",
                 (unsigned long long)c->bits->n, (unsigned long)table);
    else {
        adx_say_indent(e);
        adx_say(&e->text, "const long at = ");
        adx_say_sparse(e, &c->argument);
        adx_say_rest(e, -c->table->from, true);
        adx_say(&e->text, ";\n");
        ADX_SAY_OPEN(e, "if (at >= 0 && at < %llu && t%lu[at] == is)",
                 (unsigned long long)c->table->n, (unsigned long)table);
    }
}

static bool adx_form_has(const adx_sparse_form *f, uint32_t var)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->var[i] == var)
            return true;
    return false;
}

// Whether what is read or written, or a level after this one, depends on its
// variable.
static bool adx_is_level_used(const adx_looping *k, const adx_nest_level *l)
{
    uint32_t v = l->var;
    const adx_loop *loop = k->term->loop;
    bool used = adx_form_has(&loop->out.place, v);
    for (uint32_t i = 0; i < k->term->factors; i++) {
        const adx_access x = k->term->factor[i];
        uint32_t dims = adx_tensor_value_at(k->e->f->t, x.value)->dims;
        for (uint32_t d = 0; d < dims; d++)
            used |= adx_form_of(k->term->set, x.row + d)[1 + v] != 0;
    }
    for (const adx_nest_level *m = l;
         m < k->nest->level + k->nest->levels; m++) {
        used |= adx_form_has(&m->form, v) || adx_form_has(&m->argument, v);
        for (uint32_t i = 0; i < m->bounds; i++)
            used |= adx_form_has(&m->bound[i].form, v);
        for (uint32_t i = 0; i < m->checks; i++)
            used |= adx_form_has(&m->check[i].form, v)
                 || adx_form_has(&m->check[i].argument, v);
    }
    return used || k->term->most != 0;
}

// Whether a level says nothing: a map gives a variable that nobody uses.
static bool adx_is_level_idle(const adx_looping *k, const adx_nest_level *l)
{
    adx_sparse_form at = l->argument;
    if (l->kind != ADX_LEVEL_VALUE || l->checks > 0 || l->k != 1
        || l->form.n > 0 || adx_is_level_used(k, l))
        return false;
    at.c -= l->table->from;
    return l->table->low - l->form.c >= l->low
        && l->table->high - l->form.c <= l->high
        && adx_sparse_extreme(k->nest, &at, false) >= 0
        && adx_sparse_extreme(k->nest, &at, true) < (double)l->table->n;
}

// Compilers warn of variables that nobody reads: factors may not, where they
// have one number along an index.
static void adx_say_level_unread(const adx_looping *k, const adx_nest_level *l)
{
    if (!adx_form_has(&k->term->loop->out.place, l->var))
        ADX_SAY_LINE(k->e, "(void)x%lu;", (unsigned long)l->var);
}

static void adx_say_level(const adx_looping *k, const adx_nest_level *l)
{
    if (adx_is_level_idle(k, l))
        return;
    switch (l->kind) {
    case ADX_LEVEL_RANGE: adx_say_range(k, l); break;
    case ADX_LEVEL_SOLVED: adx_say_solved(k, l); break;
    case ADX_LEVEL_VALUE: adx_say_looked_up(k, l); break;
    case ADX_LEVEL_ARGUMENTS: adx_say_arguments(k, l); break;
    }
    if (l->kind != ADX_LEVEL_RANGE)
        adx_say_level_unread(k, l);
    for (uint32_t i = 0; i < l->checks; i++)
        adx_say_level_check(k->e, &l->check[i]);
}

/* --- what is done at a point --------------------------------------------- */

static const int64_t *adx_written_at(adx_emission *e, const adx_looping *k)
{
    const adx_spot_of at = { k->term->set, NULL };
    const adx_access out = { k->value, k->term->out };
    return adx_indices_at(e, &at, out);
}

static void adx_say_sum_term(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, k->value);
    const adx_spot_of at = { k->term->set, NULL };
    const adx_sum_text to = { NULL, k->value, adx_written_at(e, k), 0 };
    adx_numbers_read o = { .e = e };
    adx_take_numbers(e, k->value, &at, k->term, &o);
    if (!v->once) {
        adx_say_added(e, &to, &o, k->term->factors, k->term->k);
        return;
    }
    adx_say_indent(e);
    adx_say_sum_text(e, &to);
    adx_say(&e->text, " = ");
    adx_say_product_of(e, &o, k->term->factors, k->term->k);
    adx_say(&e->text, ";\n");
}

static void adx_say_row_term(adx_emission *e, const adx_looping *k)
{
    const adx_spot_of at = { k->term->set, NULL };
    uint32_t number = adx_say_row_at(e, k->value, &at);
    adx_say_indent(e);
    adx_say_place(e, k->value, adx_written_at(e, k), true);
    adx_say(&e->text, " = v%lu;\n", (unsigned long)number);
}

static void adx_say_most_term(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, k->value);
    const adx_spot_of at = { k->term->set, NULL };
    const int64_t *to = adx_written_at(e, k);
    adx_numbers_read o = { .e = e };
    unsigned long number = e->numbers++;
    adx_take_numbers(e, k->value, &at, k->term, &o);
    adx_say_indent(e);
    adx_say(&e->text, "const %s v%lu = ", e->text.real, number);
    adx_say_operand(e, &o.x[0]);
    adx_say(&e->text, ";\n");
    adx_say_indent(e);
    adx_say(&e->text, "if (v%lu != v%lu || v%lu %s ", number, number, number,
            v->op == ADREV_OP_min ? "<" : ">");
    adx_say_place(e, k->value, to, true);
    adx_say(&e->text, ")\n    ");
    adx_say_indent(e);
    adx_say_place(e, k->value, to, true);
    adx_say(&e->text, " = v%lu;\n", number);
}

static void adx_say_begun_most(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, k->value);
    adx_say_indent(e);
    adx_say_place(e, k->value, adx_written_at(e, k), true);
    adx_say(&e->text, " = %s%s;\n", v->op == ADREV_OP_min ? "" : "-",
            adx_infinity(&e->text));
}

// The first point at which the number that is picked is the largest one.
static void adx_say_pick(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_term *term = k->term;
    const adx_tensor_value *most = adx_tensor_value_at(e->f->t, term->most);
    const adx_spot_of at = { term->set, NULL };
    const adx_access best = { term->most, term->at };
    const int64_t *picked = adx_indices_at(e, &at, term->picked);
    const int64_t *index = adx_indices_at(e, &at, best);
    int64_t *place = ADX_GET(e->a, e->width, int64_t);
    const adx_sum_text to = { NULL, k->value, adx_written_at(e, k), 0 };
    adx_numbers_read o = { .e = e };
    if (place == NULL || index == NULL)
        return;
    place[0] = most->first;
    for (uint32_t d = 0; d < most->dims; d++) {
        for (uint32_t j = 0; j < e->width; j++)
            place[j] += most->stride[d] * index[(size_t)d * e->width + j];
        place[0] -= most->stride[d] * most->low[d];
    }
    e->picks = true;
    adx_say_indent(e);
    adx_say(&e->text, "if (!done[");
    adx_say_affine(e, place);
    adx_say(&e->text, "] && ");
    adx_say_place(e, term->picked.value, picked, false);
    adx_say(&e->text, " == ");
    adx_say_place(e, term->most, index, false);
    adx_say(&e->text, ") {\n");
    e->open++;
    adx_say_indent(e);
    adx_say(&e->text, "done[");
    adx_say_affine(e, place);
    adx_say(&e->text, "] = 1;\n");
    adx_take_numbers(e, k->value, &at, term, &o);
    if (!e->f->t->options.fused) {
        adx_say_added(e, &to, &o, term->factors, term->k);
        return;
    }
    adx_say_indent(e);
    adx_say_sum_text(e, &to);
    adx_say(&e->text, " = fma%s(", e->text.single ? "f" : "");
    adx_say_literal(&e->text, term->k);
    adx_say(&e->text, ", ");
    adx_say_operand(e, &o.x[0]);
    adx_say(&e->text, ", ");
    adx_say_sum_text(e, &to);
    adx_say(&e->text, ");\n");
}

static void adx_say_at_point(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, k->value);
    adx_begin_body(e, k->term->set->vars);
    if (k->doing == ADX_DOING_ZEROS) {
        adx_say_indent(e);
        adx_say_place(e, k->value, adx_written_at(e, k), true);
        adx_say(&e->text, " = 0;\n");
    } else if (k->doing == ADX_DOING_BEGIN)
        adx_say_begun_most(e, k);
    else if (k->term->most != 0)
        adx_say_pick(e, k);
    else if (v->kind == ADX_VALUE_SUM)
        adx_say_sum_term(e, k);
    else if (v->kind == ADX_VALUE_MOST)
        adx_say_most_term(e, k);
    else
        adx_say_row_term(e, k);
}

// a*b at a point of a reduction, added to one of eight sums.
static void adx_say_eighth(adx_emission *e, const adx_looping *k,
                           const char *sum)
{
    const adx_spot_of at = { k->term->set, NULL };
    adx_numbers_read o = { .e = e };
    adx_begin_body(e, k->term->set->vars);
    const adx_sum_text to = { .name = sum };
    adx_take_numbers(e, k->value, &at, k->term, &o);
    adx_say_added(e, &to, &o, k->term->factors, 1);
}

// A reduction in eight sums, as adx_add_products forms them.
static void adx_say_reduction(adx_emission *e, const adx_looping *k,
                              const adx_nest_level *l)
{
    unsigned long x = l->var;
    uint32_t open = e->open;
    ad_real times = k->term->k;
    bool fused = e->f->t->options.fused && times != 1 && times != -1;
    const adx_sum_text to = { NULL, k->value, adx_written_at(e, k), 0 };
    ADX_SAY_BLOCK(e);
    adx_say_bounds(k, l);
    ADX_SAY_OPEN(e, "if (from%lu <= to%lu)", x, x);
    uint32_t inside = e->open;
    ADX_SAY_LINE(e, "%s sum[8] = { 0 };", e->text.real);
    ADX_SAY_LINE(e, "long i = from%lu;", x);
    ADX_SAY_OPEN(e, "for (; i + 7 <= to%lu; i += 8)", x);
    ADX_SAY_OPEN(e, "for (int j = 0; j < 8; j++)");
    ADX_SAY_LINE(e, "const long x%lu = i + j;", x);
    adx_say_level_unread(k, l);
    adx_say_eighth(e, k, "sum[j]");
    adx_close_to(e, inside);
    // gcc warns of a loop that is known never to run
    if (l->bounds > 0 || l == k->cut || (l->high - l->low + 1) % 8 != 0) {
        ADX_SAY_OPEN(e, "for (; i <= to%lu; i++)", x);
        ADX_SAY_LINE(e, "const long x%lu = i;", x);
        adx_say_level_unread(k, l);
        adx_say_eighth(e, k, "sum[0]");
        adx_close_to(e, inside);
    }
    adx_say_indent(e);
    adx_say_sum_text(e, &to);
    adx_say(&e->text, fused ? " = fma%s(" : times == -1 ? " -= " : " += ",
            e->text.single ? "f" : "");
    if (times != 1 && times != -1) {
        adx_say_literal(&e->text, times);
        adx_say(&e->text, fused ? ", " : " * ");
    }
    adx_say(&e->text, "(((sum[0] + sum[4]) + (sum[1] + sum[5]))\n        ");
    adx_say_indent(e);
    adx_say(&e->text, "+ ((sum[2] + sum[6]) + (sum[3] + sum[7])))");
    if (fused) {
        adx_say(&e->text, ", ");
        adx_say_sum_text(e, &to);
        adx_say(&e->text, ")");
    }
    adx_say(&e->text, ";\n");
    adx_close_to(e, open);
}

// A loop over index d of a value.
static void adx_say_index_loop(adx_emission *e, uint32_t value, uint32_t d,
                               int64_t index[])
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    unsigned long x = d;
    index[(size_t)d * e->width + 1 + d] = 1;
    if (adx_is_run_index(e, value, d))
        adx_say_run_index(e, d);
    else
        ADX_SAY_OPEN(e, "for (long x%lu = %lld; x%lu < %lld; x%lu++)", x,
                 (long long)v->low[d], x,
                 (long long)(v->low[d] + v->extent[d]), x);
}

/* --- loops of a value ---------------------------------------------------- */

static void adx_say_loops(adx_emission *e, uint32_t value,
                          const adx_tensor_term *term, adx_doing doing,
                          const adx_nest_level *cut)
{
    const adx_looping k = { e, value, term, term->loop->nest, doing, cut };
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    uint32_t open = e->open;
    bool reduces = doing == ADX_DOING_TERM && term->most == 0
                && adx_reduces(v, term);
    uint32_t levels = k.nest->levels - (reduces ? 1 : 0);
    adx_begin_variables(e, term->set->vars);
    if (k.nest->empty)
        return;
    if (e->in_run) {
        ADX_SAY_BLOCK(e);
        adx_say_run_index(e, k.nest->level[0].var);
    }
    for (uint32_t l = e->in_run ? 1 : 0; l < levels; l++)
        adx_say_level(&k, &k.nest->level[l]);
    if (reduces)
        adx_say_reduction(e, &k, &k.nest->level[levels]);
    else {
        if (e->open == open)
            ADX_SAY_BLOCK(e);
        adx_say_at_point(e, &k);
    }
    adx_close_to(e, open);
}

/* --- sums of parts (tensor/parts) ---------------------------------------- */

// Adds the sums of a part to the value.
static void adx_say_added_sums(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    uint32_t open = e->open;
    adx_begin_variables(e, v->dims);
    int64_t *index = ADX_GET(e->a, (size_t)v->dims * e->width, int64_t);
    for (uint32_t d = 0; index != NULL && d < v->dims; d++)
        adx_say_index_loop(e, value, d, index);
    adx_say_indent(e);
    adx_say_place(e, value, index, true);
    adx_say(&e->text, " += ");
    e->into_sums = true;
    adx_say_place(e, value, index, true);
    e->into_sums = false;
    adx_say(&e->text, ";\n");
    adx_close_to(e, open);
}

// The parts of one term, one after the other.
static void adx_say_parts_of(adx_emission *e, uint32_t value, uint32_t term)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const adx_term_cut *c = &v->cut->term[term];
    const adx_nest *nest = v->term[term].loop->nest;
    unsigned long parts = c->parts;
    uint64_t span = (uint64_t)(c->to - c->from);
    uint32_t open = e->open;
    ADX_SAY_OPEN(e, "for (long part = 0; part < %lu; part++)", parts);
    ADX_SAY_LINE(e, "for (long i = 0; i < %llu; i++) sums[i] = 0;",
                 (unsigned long long)v->span);
    for (int next = 0; c->form.n > 0 && next < 2; next++)
        ADX_SAY_LINE(e, "const long %s = %lld + %llu*(part + %d)"
                     " + %llu*(part + %d)/%lu;", next ? "hi" : "lo",
                     (long long)c->from, (unsigned long long)(span / parts),
                     next, (unsigned long long)(span % parts), next, parts);
    e->sums = e->into_sums = true;
    adx_say_loops(e, value, &v->term[term], ADX_DOING_TERM,
                  c->form.n > 0 ? &nest->level[c->last] : NULL);
    e->into_sums = false;
    adx_say_added_sums(e, value);
    adx_close_to(e, open);
}

/* --- a value by loops ---------------------------------------------------- */

// 0 for all numbers of a value.
static void adx_say_all_zeros(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    adx_begin_variables(e, v->dims);
    int64_t *index = ADX_GET(e->a, (size_t)v->dims * e->width, int64_t);
    uint32_t open = e->open;
    for (uint32_t d = 0; index != NULL && d < v->dims; d++)
        adx_say_index_loop(e, value, d, index);
    adx_say_indent(e);
    adx_say_place(e, value, index, true);
    adx_say(&e->text, " = 0;\n");
    adx_close_to(e, open);
}

static void adx_say_zeros_of(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    if (adx_clears_all(v))
        adx_say_all_zeros(e, value);
    else if (!v->once)
        for (uint32_t j = 0; j < v->terms; j++)
            adx_say_loops(e, value, &v->term[j], ADX_DOING_ZEROS, NULL);
}

static void adx_say_looped(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    uint32_t picking = 0;
    if (!e->in_run || e->f->run_of[value] != 0)
        adx_say_zeros_of(e, value);
    for (uint32_t j = 0; j < v->terms && v->kind == ADX_VALUE_MOST; j++)
        adx_say_loops(e, value, &v->term[j], ADX_DOING_BEGIN, NULL);
    for (uint32_t j = 0; j < v->terms; j++) {
        uint32_t most = v->term[j].most;
        if (most != 0 && most != picking)
            ADX_SAY_LINE(e, "for (unsigned long i = 0; i < %llu; i++) done[i] = 0;",
                     (unsigned long long)
                         adx_tensor_value_at(e->f->t, most)->span);
        picking = most;
        e->picks = e->picks || most != 0;
        adx_say_loops(e, value, &v->term[j], ADX_DOING_TERM, NULL);
    }
}

static void adx_say_value(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    if (v->size == 0)
        return;
    if (e->f->shape[value] != NULL)
        adx_say_pointwise(e, value);
    else if (adx_has_sums(v)) {
        adx_say_all_zeros(e, value);
        for (uint32_t j = 0; j < v->terms; j++)
            adx_say_parts_of(e, value, j);
    } else
        adx_say_looped(e, value);
}

/* --- blocks (tensor/blocks) ---------------------------------------------- */

// "if (n7) {": a step of a block is needed.
static void adx_say_flag(adx_emission *e, uint32_t value)
{
    e->flag[value] = true;
    ADX_SAY_OPEN(e, "if (n%lu)", (unsigned long)value);
}

// All steps of a block, in one loop. What is added to here and there is made 0
// before.
static void adx_say_together(adx_emission *e, uint32_t leader)
{
    const adx_tensor_program *p = e->f->t->program;
    const adx_outer o = adx_outer_of(e->f, leader);
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (e->f->block[v] != leader || e->f->run_of[v] != 0)
            continue;
        adx_say_flag(e, v);
        adx_say_zeros_of(e, v);
        adx_close_to(e, 0);
    }
    ADX_SAY_OPEN(e, "for (long e = %lld; e <= %lld; e++)", (long long)o.low,
                 (long long)o.high);
    e->in_run = true;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (e->f->block[v] != leader)
            continue;
        adx_say_flag(e, v);
        adx_say_value(e, v);
        adx_close_to(e, 1);
    }
    e->in_run = false;
    adx_close_to(e, 0);
}

// Writes the body of the C function that computes a value, and those that it
// hosts; or, of the first value of a block, of all of that. read, written, flag
// and the tables say which parameters it has.
static void adx_say_step(adx_emission *e, uint32_t value)
{
    uint32_t values = e->f->t->program->values;
    memset(e->read, 0, values * sizeof *e->read);
    memset(e->written, 0, values * sizeof *e->written);
    memset(e->flag, 0, values * sizeof *e->flag);
    for (uint32_t i = 0; i < e->tables->n; i++)
        e->tables->table[i].read = false;
    e->picks = e->sums = e->into_sums = e->in_run = false;
    e->open = e->numbers = 0;
    e->local = NULL;
    if (e->f->block[value] == value)
        adx_say_together(e, value);
    else
        adx_say_value(e, value);
}

ADX_SELDOM_END
