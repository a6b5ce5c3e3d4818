#pragma once

/* === tensor/points ==========================================================
 * C text of numbers: in memory, or expressions of others; of functions, their
 * partials, and the derivatives of these; and of values that are computed
 * number by number: loops over regions of their indices, the core and what is
 * around it, with one expression inside.
 *
 *   needs   core/cells code/text tensor/arena tensor/sets tensor/binding
 *           tensor/open tensor/programs tensor/sharing tensor/pointwise
 *           tensor/fusion tensor/emission
 *   offers  adx_numbers_read adx_say_operand adx_take_numbers
 *           adx_say_product_of adx_sum_text adx_say_sum_text adx_say_added
 *           adx_say_application_at adx_is_run_index adx_say_run_index
 *           adx_say_open_index adx_say_pointwise
 * ========================================================================== */

ADX_SELDOM_BEGIN

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
    bool absorbs;               // of a product: a zero does (tensor/programs)
} adx_numbers_read;

static uint32_t adx_say_value_at(adx_emission *e, uint32_t value,
                                 const int64_t *index, const adx_box *region);

// Writes a number that is read: a local variable, or its place in memory.
static void adx_say_operand(adx_emission *e, const adx_number_read *x)
{
    if (x->local != ADX_IN_MEMORY)
        adx_say_index(&e->text, "v", x->local, "");
    else
        adx_say_place(e, x->value, x->index, false);
}

// Returns what is in scope: the number of a value, or of a table, at indices.
// NULL: it is not there.
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

// Notes that a local variable holds a number, so that it is not read again.
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

// Returns the local number of a value that is computed here: it is written now,
// unless it is there.
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

// Returns the variable that a table gives for an argument.
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

// Finds what a term of the value `by` reads there.
static adx_number_read adx_operand_at(adx_emission *e, uint32_t by,
                                      const adx_spot_of *at, adx_access from)
{
    adx_number_read x =
        { ADX_IN_MEMORY, from.value, adx_indices_at(e, at, from) };
    const adx_fusion *f = e->f;
    if (x.index != NULL && adx_is_computed_by(f, from.value, by))
        x.local = adx_local_of(e, from.value, x.index);
    return x;
}

// Finds the numbers that a term reads, and writes the code that has to stand
// before.
static void adx_take_numbers(adx_emission *e, uint32_t by,
                             const adx_spot_of *at,
                             const adx_tensor_term *term, adx_numbers_read *to)
{
    to->e = e;
    to->absorbs = term->absorbs;
    for (uint32_t i = 0; i < term->factors; i++)
        to->x[i] = adx_operand_at(e, by, at, term->factor[i]);
}

// Writes a factor: "a", or "(b == 0 ? 0 : a)", as adx_beside has it
// (tensor/run).
static void adx_say_factor(adx_emission *e, const adx_numbers_read *o,
                           uint32_t i)
{
    if (o->absorbs) {
        adx_say(&e->text, "(");
        adx_say_operand(e, &o->x[1 - i]);
        adx_say(&e->text, " == 0 ? 0 : ");
    }
    adx_say_operand(e, &o->x[i]);
    adx_say(&e->text, o->absorbs ? ")" : "");
}

// Writes k*a*b; k may be 1.
static void adx_say_product_of(adx_emission *e, const adx_numbers_read *o,
                               uint32_t n, ad_real k)
{
    if (k != 1 || n == 0)
        adx_say_literal(&e->text, k);
    for (uint32_t i = 0; i < n; i++) {
        adx_say(&e->text, i > 0 || k != 1 ? " * " : "");
        adx_say_factor(e, o, i);
    }
}

// The text of a sum that is added to: a name, a number of a value, or else
// v`number`.
typedef struct adx_sum_text {
    const char *name;
    uint32_t value;
    const int64_t *index;
    uint32_t number;
} adx_sum_text;

// Writes what is added to: a variable by its name or number, or a place.
static void adx_say_sum_text(adx_emission *e, const adx_sum_text *to)
{
    if (to->name != NULL)
        adx_say(&e->text, "%s", to->name);
    else if (to->value != 0)
        adx_say_place(e, to->value, to->index, true);
    else
        adx_say_index(&e->text, "v", to->number, "");
}

// Writes to += k*a*b, in one rounding where the text is fused (tensor/run).
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
        adx_say_factor(e, o, 1);
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

// Writes what a letter of a cell stands for: v the result, x, y and z the
// operands.
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

// Writes a formula of numbers as a new number.
static uint32_t adx_say_formula_of(adx_emission *e, const char *formula,
                                   adx_numbers_read *o)
{
    adx_say_indent(e);
    adx_say_index(&e->text, e->text.single ? "const float v" : "const double v",
                  e->numbers, " = ");
    adx_find_helpers(formula, e->helper);
    adx_say_formula(&e->text, formula, adx_say_letter, o);
    adx_say(&e->text, ";\n");
    return e->numbers++;
}

// Returns how code reads a number that is a local variable.
static adx_number_read adx_local_read(uint32_t number)
{
    const adx_number_read x = { number, 0, NULL };
    return x;
}

// Writes a constant as a new number.
static uint32_t adx_say_constant_number(adx_emission *e, ad_real v)
{
    adx_say_indent(e);
    adx_say_index(&e->text, e->text.single ? "const float v" : "const double v",
                  e->numbers, " = ");
    adx_say_literal(&e->text, v);
    adx_say(&e->text, ";\n");
    return e->numbers++;
}

// Writes the tangent of a term of a cell, from the tangents of its arguments.
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
        adx_find_helpers(chain, e->helper);
        adx_say_formula(&e->text, chain, adx_say_letter, &both);
        adx_say(&e->text, ";\n");
    }
    return sum;
}

// Writes the derivative of a partial, as tensor/run makes it of the partial's
// terms. o has the arguments and the result of the function.
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

// Writes a function, its partial, or the derivative of that, as a number.
static uint32_t adx_say_application_at(adx_emission *e, uint32_t value,
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

// Writes "if (x0 >= 1 && x1 <= 3)": where a piece adds, as far as a region does
// not say so. False: nothing is to be asked.
static bool adx_say_inside(adx_emission *e, const adx_term_piece *p,
                           uint32_t dims, const adx_box *region)
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

// Whether a piece adds nowhere in a region.
static bool adx_never_inside(const adx_term_piece *p, uint32_t dims,
                             const adx_box *region)
{
    for (uint32_t d = 0; region != NULL && d < dims; d++)
        if (region->low[d] > p->box.high[d] || region->high[d] < p->box.low[d])
            return true;
    return false;
}

// Finds which numbers that maps give a piece needs: for its factors, or for
// others.
static void adx_find_used_lookups(const adx_emission *e,
                                  const adx_term_piece *p, uint32_t dims,
                                  bool used[])
{
    uint32_t first = 1 + adx_open_of(e->f->t) + dims;
    uint32_t own = first + ADX_LOOKUPS_MOST;
    memset(used, 0, ADX_LOOKUPS_MOST * sizeof *used);
    for (uint32_t i = 0; i < p->term->factors; i++) {
        const adx_access x = p->term->factor[i];
        uint32_t n = adx_tensor_value_at(e->f->t, x.value)->dims;
        for (uint32_t r = x.row; r < x.row + n; r++)
            for (uint32_t v = 0; v < p->set->vars; v++)
                for (uint32_t l = 0; l < p->lookups; l++)
                    used[l] |= adx_form_of(p->set, r)[1 + v] != 0
                            && p->form[(size_t)v * own + first + l] != 0;
    }
    for (uint32_t l = p->lookups; l-- > 0;)
        for (uint32_t i = 0; i < l && used[l]; i++)
            used[i] |= p->lookup[l].argument[first + i] != 0;
}

// Returns the variables of a piece of a value whose indices are forms.
static adx_spot_of adx_piece_at(adx_emission *e, const adx_term_piece *p,
                                uint32_t dims, const int64_t *index)
{
    uint32_t open = adx_open_of(e->f->t);
    uint32_t own = 1 + open + dims + ADX_LOOKUPS_MOST;
    int64_t *map = ADX_GET(e->a, (size_t)p->set->vars * e->width, int64_t);
    int64_t *all = ADX_GET(e->a, (size_t)own * e->width, int64_t);
    const adx_spot_of at = { p->set, all == NULL ? NULL : map };
    bool used[ADX_LOOKUPS_MOST];
    if (map == NULL || all == NULL)
        return at;
    for (uint32_t i = 0; i < open; i++)
        all[(size_t)i * e->width + 1 + i] = 1;
    if (dims > 0)
        memcpy(all + (size_t)open * e->width, index,
               (size_t)dims * e->width * sizeof *all);
    adx_find_used_lookups(e, p, dims, used);
    for (uint32_t i = 0; i < p->lookups; i++) {
        int64_t *argument = ADX_GET(e->a, e->width, int64_t);
        if (argument == NULL)
            return at;
        if (!used[i])
            continue;
        adx_compose(e, p->lookup[i].argument, all, open + dims + i, argument);
        uint32_t x = adx_variable_of(e, p->lookup[i].table, argument);
        all[(size_t)(open + dims + i) * e->width + 1 + x] = 1;
    }
    for (uint32_t v = 0; v < p->set->vars; v++)
        adx_compose(e, p->form + (size_t)v * own, all, open + dims + p->lookups,
                    map + (size_t)v * e->width);
    return at;
}

// Adds what one piece adds to number v`number`.
static void adx_say_piece(adx_emission *e, uint32_t value,
                          const adx_term_piece *p, const int64_t *index,
                          const adx_box *region, uint32_t number)
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

// Writes the number of a value at indices that are forms, in a region of them:
// NULL: in its core. Returns which v it is.
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

// Writes the code of one number of a value. region: a box in which the index is
// known to lie; NULL: none is known. A hosted value is also stored. Returns the
// number of the variable.
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
        number = adx_say_application_at(e, value, &at);
    }
    if (region == NULL && e->f->fate[value] == ADX_FATE_HOSTED) {
        adx_say_indent(e);
        adx_say_place(e, value, index, true);
        adx_say(&e->text, " = v%lu;\n", (unsigned long)number);
    }
    return number;
}

// Returns the indices, those with long strides first. NULL: no memory.
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

// Whether an index of a value is that of the runs of its bundle.
static bool adx_is_run_index(const adx_emission *e, uint32_t value, uint32_t d)
{
    return e->in_run && e->f->run_of[value] == 1 + d;
}

// Declares the variable that all steps of a bundle share, which is the bundle's
// loop e.
static void adx_say_run_index(adx_emission *e, uint32_t var)
{
    ADX_SAY_LINE(e, "const long x%lu = e;", (unsigned long)var);
    ADX_SAY_LINE(e, "(void)x%lu;", (unsigned long)var);
}

// Opens "for (long x1 = 0; x1 <= n_ - 1; x1++) {", along index d of a value. An
// index with one number, whatever the sizes are, is no loop.
static void adx_say_open_index(adx_emission *e, const adx_tensor_value *v,
                               uint32_t d, int64_t index[])
{
    uint32_t open = adx_open_of(e->f->t);
    size_t n = 1 + open;
    const int64_t *from = v->range.from + d * n;
    const int64_t *last = v->range.last + d * n;
    unsigned long x = open + d;
    int64_t *form = ADX_GET(e->a, e->width, int64_t);
    if (form == NULL)
        return;
    memcpy(form, from, n * sizeof *form);
    if (memcmp(from, last, n * sizeof *form) == 0) {
        memcpy(index + (size_t)d * e->width, form, e->width * sizeof *form);
        return;
    }
    index[(size_t)d * e->width + 1 + x] = 1;
    adx_say_indent(e);
    adx_say(&e->text, "for (long x%lu = ", x);
    adx_say_affine(e, form);
    adx_say(&e->text, "; x%lu <= ", x);
    memcpy(form, last, n * sizeof *form);
    adx_say_affine(e, form);
    adx_say(&e->text, "; x%lu++) {\n", x);
    e->open++;
}

// Writes the loop over an index from low to high, or what a part has of it.
static void adx_say_index_from(adx_emission *e, uint32_t d, int64_t low,
                               int64_t high)
{
    unsigned long x = d;
    bool cut = adx_is_cut(e, ADX_STEP_INDEX, d);
    bool all = cut && low == e->cut->from && high == e->cut->to - 1;
    if (cut && !all) {
        ADX_SAY_BLOCK(e);
        ADX_SAY_LINE(e, "const long from%lu = %s_most(lo, %lld),"
                     " to%lu = %s_least(hi - 1, %lld);", x, e->text.name,
                     (long long)low, x, e->text.name, (long long)high);
        e->bounds = ADX_CALLS_ALL;
        ADX_SAY_OPEN(e, "for (long x%lu = from%lu; x%lu <= to%lu; x%lu++)", x,
                     x, x, x, x);
    } else if (cut)
        ADX_SAY_OPEN(e, "for (long x%lu = lo; x%lu < hi; x%lu++)", x, x, x);
    else
        adx_say_counted(e, x, low, high);
}

// Writes loops over the indices in a region.
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
        if (v->range.from != NULL) {
            adx_say_open_index(e, v, order[i], index);
            continue;
        }
        if (region->low[x] == region->high[x]) {
            index[x * e->width] = region->low[x];
            if (adx_is_cut(e, ADX_STEP_INDEX, order[i]))
                ADX_SAY_OPEN(e, "if (lo <= %lld && hi > %lld)",
                             (long long)region->low[x],
                             (long long)region->low[x]);
            continue;
        }
        index[x * e->width + 1 + x] = 1;
        if (adx_is_run_index(e, value, order[i]))
            adx_say_run_index(e, order[i]);
        else
            adx_say_index_from(e, order[i], region->low[x], region->high[x]);
    }
    if (e->open == open)
        ADX_SAY_BLOCK(e);
    adx_begin_body(e, adx_open_of(e->f->t) + v->dims);
    uint32_t number = adx_say_value_at(e, value, index, region);
    adx_say_indent(e);
    adx_say_place(e, value, index, true);
    adx_say(&e->text, " = v%lu;\n", (unsigned long)number);
    adx_close_to(e, open);
}

// Writes the core, and what is around it.
static void adx_say_pointwise(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const adx_pointwise *p = e->f->shape[value];
    const uint32_t *order = adx_order_indices(e, value);
    adx_box r;
    adx_begin_variables(e, adx_open_of(e->f->t) + v->dims);
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

ADX_SELDOM_END
