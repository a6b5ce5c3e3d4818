#pragma once

/* === tensor/loops ===========================================================
 * C text of a term's loops, as tensor/nests has them: a level is a loop, or an
 * assignment where others give its variable, and conditions stand where their
 * last variable has its value. So points keep the order in which tensor/run
 * visits them.
 *
 *   needs   code/text tensor/api tensor/arena tensor/sets tensor/nests
 *           tensor/programs tensor/sharing tensor/parts tensor/storage
 *           tensor/emission
 *   offers  adx_doing ADX_DOING_TERM ADX_DOING_ZEROS ADX_DOING_FORGET
 *           adx_looping adx_say_size_level adx_say_part_check adx_say_bounds
 *           adx_say_level_unread adx_say_level
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- loops of a term ----------------------------------------------------- */

// What loops do at the points of a term.
typedef enum adx_doing {
    ADX_DOING_TERM,             // what its value says
    ADX_DOING_ZEROS,            // 0 where it writes
    ADX_DOING_FORGET            // what is picked from is not yet picked
} adx_doing;

typedef struct adx_looping {
    adx_emission *e;
    uint32_t value;
    const adx_tensor_term *term;
    const adx_nest *nest;
    adx_doing doing;
    const adx_nest_level *cut;  // its variable is that of a part: from lo to
                                // hi - 1; or NULL
    const adx_term_cut *part;   // only points where its form is so; or NULL
} adx_looping;

// Returns the least, or largest, that a form can be.
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

// Opens "if (x3 >= 0 && x3 <= 7) {" for a value that may be outside.
static void adx_say_within(adx_emission *e, const adx_nest_level *l,
                           bool below, bool above)
{
    unsigned long x = l->var;
    if (below && above)
        ADX_SAY_OPEN(e, "if (x%lu >= %lld && x%lu <= %lld)", x,
                     (long long)l->low, x, (long long)l->high);
    else if (below)
        ADX_SAY_OPEN(e, "if (x%lu >= %lld)", x, (long long)l->low);
    else if (above)
        ADX_SAY_OPEN(e, "if (x%lu <= %lld)", x, (long long)l->high);
}

// Opens "if (form >= low && form <= high) {".
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

// Writes " - (form))", the end of what begins with a bracket. NULL: nothing.
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

/* --- bounds that are forms in open sizes --------------------------------- */

// Whether a bound alone decides: it is never beyond the bounds that are
// numbers.
static bool adx_is_decisive(const adx_looping *k, const adx_nest_level *l,
                            const adx_set_check *bound)
{
    double most = adx_sparse_extreme(k->nest, &bound->form, true);
    return bound->k == 1 ? most <= -(double)l->low
         : bound->k == -1 && most <= (double)l->high;
}

// Returns the number of bounds from below, or above, and whether the level's
// number is among them.
static uint32_t adx_count_ends(const adx_looping *k, const adx_nest_level *l,
                               bool upper, bool *number)
{
    uint32_t n = 0;
    *number = true;
    for (uint32_t i = 0; i < l->bounds; i++) {
        if ((l->bound[i].k < 0) != upper)
            continue;
        n++;
        *number = *number && !adx_is_decisive(k, l, &l->bound[i]);
    }
    return n + *number;
}

// Writes "n_ - 1", the end of a range that one bound makes.
static void adx_say_one_end(adx_emission *e, const adx_set_check *b)
{
    adx_sparse_form f = b->form;
    bool unit = adx_is_unit(b->k);
    int64_t *minus = ADX_GET(e->a, f.n, int64_t);
    if (minus == NULL)
        return;
    for (uint32_t i = 0; i < f.n; i++)
        minus[i] = -f.k[i];
    if (b->k == 1) {
        f.k = minus;
        f.c = -f.c;
    }
    if (!unit) {
        adx_say(&e->text, "%s%s_floor(", b->k > 0 ? "-" : "", e->text.name);
        e->bounds |= ADX_CALLS_FLOOR;
    }
    adx_say_sparse(e, &f);
    if (!unit)
        adx_say(&e->text, ", %lld)", (long long)(b->k < 0 ? -b->k : b->k));
}

// Writes "f_least(9, n_ - 1)": the end of a range.
static void adx_say_end(const adx_looping *k, const adx_nest_level *l,
                        bool upper)
{
    adx_emission *e = k->e;
    bool number;
    uint32_t left = adx_count_ends(k, l, upper, &number);
    if (left > 1)
        e->bounds |= upper ? ADX_CALLS_LEAST : ADX_CALLS_MOST;
    uint32_t calls = left - 1;
    for (uint32_t i = 0; i <= l->bounds; i++) {
        bool last = i == l->bounds;
        if (last ? !number : (l->bound[i].k < 0) != upper)
            continue;
        if (--left > 0)
            adx_say(&e->text, "%s_%s(", e->text.name, upper ? "least" : "most");
        if (last)
            adx_say(&e->text, "%lld", (long long)(upper ? l->high : l->low));
        else
            adx_say_one_end(e, &l->bound[i]);
        adx_say(&e->text, left > 0 ? ", " : "");
    }
    while (calls-- > 0)
        adx_say(&e->text, ")");
}

// Declares the ends of a loop that depend on open sizes or on loops around.
static void adx_say_open_bounds(const adx_looping *k, const adx_nest_level *l)
{
    adx_text *t = &k->e->text;
    adx_say_indent(k->e);
    adx_say(t, "const long from%lu = ", (unsigned long)l->var);
    adx_say_end(k, l, false);
    adx_say(t, ", to%lu = ", (unsigned long)l->var);
    adx_say_end(k, l, true);
    adx_say(t, ";\n");
}

// Writes a loop whose ends are single forms.
static void adx_say_open_range(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    adx_say_indent(e);
    adx_say(&e->text, "for (long x%lu = ", x);
    adx_say_end(k, l, false);
    adx_say(&e->text, "; x%lu <= ", x);
    adx_say_end(k, l, true);
    adx_say(&e->text, "; x%lu++) {\n", x);
    e->open++;
}

static void adx_say_level_check(adx_emission *e, const adx_set_check *c);

// Returns k*x + form of a bound, as one form.
static adx_sparse_form adx_whole_bound(adx_emission *e, const adx_set_check *b,
                                       uint32_t var)
{
    adx_sparse_form to = b->form;
    to.var = ADX_GET(e->a, to.n + 1, uint32_t);
    to.k = ADX_GET(e->a, to.n + 1, int64_t);
    if (to.var == NULL || to.k == NULL)
        return b->form;
    for (uint32_t i = 0; i < b->form.n; i++) {
        to.var[i] = b->form.var[i];
        to.k[i] = b->form.k[i];
    }
    to.var[to.n] = var;
    to.k[to.n++] = b->k;
    return to;
}

// Opens "if (n_ - m_ >= 0) {": what must be true of a size and those before it.
static void adx_say_size_level(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    const ad_tensor *t = e->f->t;
    int64_t most = t->given.size[t->open->size[l->var]];
    for (int upper = 0; upper < 2; upper++) {
        if (upper ? l->high == most : l->low == t->open->least[l->var])
            continue;
        adx_say_indent(e);
        adx_say(&e->text, "if (");
        adx_say_variable(e, l->var);
        adx_say(&e->text, " %s %lld) {\n", upper ? "<=" : ">=",
                (long long)(upper ? l->high : l->low));
        e->open++;
    }
    for (uint32_t i = 0; i < l->bounds; i++) {
        adx_say_indent(e);
        adx_say(&e->text, "if (");
        const adx_sparse_form whole = adx_whole_bound(e, &l->bound[i], l->var);
        adx_say_sparse(e, &whole);
        adx_say(&e->text, " >= 0) {\n");
        e->open++;
    }
    for (uint32_t i = 0; i < l->checks; i++)
        adx_say_level_check(e, &l->check[i]);
}

/* --- parts (tensor/bundles) ---------------------------------------------- */

// Returns which of the variables of a part's form is that of a level;
// UINT32_MAX: none.
static uint32_t adx_variable_in_part(const adx_looping *k,
                                     const adx_nest_level *l)
{
    for (uint32_t i = 0; k->part != NULL && i < k->part->form.n; i++)
        if (k->nest->level + k->part->level[i] == l)
            return i;
    return UINT32_MAX;
}

// Returns the level whose column gives the variable of a part's form, if that
// rises with the entries, which are level l and are cut in its place; or NULL.
static const adx_nest_level *adx_column_of_part(const adx_looping *k,
                                                const adx_nest_level *l)
{
    const adx_tensor_value *v = adx_tensor_value_at(k->e->f->t, k->value);
    const adx_term_cut *c = k->part != NULL ? k->part
                          : k->cut != l ? NULL
                          : &v->cut->term[k->term - v->term];
    return c == NULL || c->form.n != 1 || c->level[0] <= c->last
        || l != k->nest->level + c->last ? NULL
                                         : k->nest->level + c->level[0];
}

// Returns the form of a part without variable i: as it is, less: or its
// negative; or, at a level before the last, the largest that it can be.
static adx_sparse_form adx_rest_of_part(const adx_looping *k, uint32_t i,
                                        bool less)
{
    const adx_term_cut *c = k->part;
    adx_sparse_form to = less ? c->less : c->rest;
    if (c->level[i] == c->last)
        return to;
    to.n = 0;
    to.c = less ? -c->form.c : c->form.c;
    for (uint32_t j = 0; j < c->form.n; j++) {
        const adx_nest_level *l = &k->nest->level[c->level[j]];
        int64_t by = less ? -c->form.k[j] : c->form.k[j];
        to.c += j == i ? 0 : by * (by > 0 ? l->high : l->low);
    }
    return to;
}

// Writes lo <= form and form < hi as bounds of a variable of the form.
static void adx_say_part_bounds(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    uint32_t i = adx_variable_in_part(k, l);
    for (int upper = 0; i != UINT32_MAX && upper < 2; upper++) {
        const adx_sparse_form rest = adx_rest_of_part(k, i, upper);
        int64_t by = upper ? -k->part->form.k[i] : k->part->form.k[i];
        adx_say_indent(e);
        adx_say(&e->text, by > 0 ? "from%lu = %s_most(from%lu, -%s_floor("
                                 : "to%lu = %s_least(to%lu, %s_floor(",
                x, e->text.name, x, e->text.name);
        adx_say_sparse(e, &rest);
        adx_say(&e->text, upper ? " + hi - 1, %lld));\n" : " - lo, %lld));\n",
                (long long)(by < 0 ? -by : by));
    }
}

// Moves from and to of the entries to those whose column is in a part.
static void adx_say_part_entries(const adx_looping *k, const adx_nest_level *l)
{
    const adx_tensor_value *v = adx_tensor_value_at(k->e->f->t, k->value);
    const adx_nest_level *column = adx_column_of_part(k, l);
    adx_emission *e = k->e;
    unsigned long x = l->var;
    if (column == NULL)
        return;
    const adx_term_cut *c = &v->cut->term[k->term - v->term];
    int64_t by = c->form.k[0];
    long long size = (long long)(by < 0 ? -by : by);
    unsigned long table = adx_table_number(e, column->table->value,
                                           column->table->n, ADX_TABLE_INTS);
    e->bounds = ADX_CALLS_ALL;
    for (int upper = 0; upper < 2; upper++) {
        ADX_SAY_BLOCK(e);
        // the least that lies in the part, and the least beyond it
        ADX_SAY_LINE(e, upper ? "const long least = %s_floor(%s%lld, %lld) + 1;"
                              : "const long least = -%s_floor(%s%lld, %lld);",
                     e->text.name, (by > 0) == upper ? "hi - 1 - " : "-lo + ",
                     (long long)c->form.c, size);
        ADX_SAY_LINE(e, "long a = from%lu, b = to%lu + 1;", x, x);
        ADX_SAY_OPEN(e, "while (a < b)");
        ADX_SAY_LINE(e, "const long m = a + (b - a) / 2;");
        ADX_SAY_OPEN(e, "if (t%lu[m] < least)", table);
        ADX_SAY_LINE(e, "a = m + 1;");
        adx_close_to(e, e->open - 1);
        ADX_SAY_OPEN(e, "else");
        ADX_SAY_LINE(e, "b = m;");
        adx_close_to(e, e->open - 2);
        ADX_SAY_LINE(e, upper ? "to%lu = a - 1;" : "from%lu = a;", x);
        adx_close_to(e, e->open - 1);
    }
}

// Opens "if (form >= lo && form < hi) {", where no range has the last variable,
// or the form has none. l NULL: before all loops.
static void adx_say_part_check(const adx_looping *k, const adx_nest_level *l)
{
    const adx_term_cut *c = k->part;
    if (c == NULL || (l == NULL) != (c->form.n == 0)
        || (l != NULL && (l->kind == ADX_LEVEL_RANGE
                          || l != k->nest->level + c->last)))
        return;
    adx_say_indent(k->e);
    adx_say(&k->e->text, "if (");
    adx_say_sparse(k->e, &c->form);
    adx_say(&k->e->text, " >= lo && ");
    adx_say_sparse(k->e, &c->form);
    adx_say(&k->e->text, " < hi) {\n");
    k->e->open++;
}

/* --- levels -------------------------------------------------------------- */

// Declares "from0" and "to0": the bounds of a level.
static void adx_say_bounds(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    if (k->nest->open > 0) {
        adx_say_open_bounds(k, l);
        return;
    }
    if (l->bounds > 0 || adx_variable_in_part(k, l) != UINT32_MAX)
        e->bounds = ADX_CALLS_ALL;
    if (l == k->cut && adx_column_of_part(k, l) == NULL)
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
    adx_say_part_bounds(k, l);
    adx_say_part_entries(k, l);
}

// Opens the loop of a level, over its range. A range whose ends are single
// forms, or are numbers, has a text of its own; else the ends become variables
// first.
static void adx_say_range_loop(const adx_looping *k, const adx_nest_level *l)
{
    unsigned long x = l->var;
    bool number;
    if (l->bounds > 0 && k->nest->open > 0
        && adx_count_ends(k, l, false, &number) == 1
        && adx_count_ends(k, l, true, &number) == 1) {
        adx_say_open_range(k, l);
        return;
    }
    if (l->bounds == 0 && l != k->cut
        && adx_variable_in_part(k, l) == UINT32_MAX
        && adx_column_of_part(k, l) == NULL) {
        adx_say_counted(k->e, x, l->low, l->high);
        return;
    }
    adx_say_scope(k->e);
    adx_say_bounds(k, l);
    ADX_SAY_OPEN(k->e, "for (long x%lu = from%lu; x%lu <= to%lu; x%lu++)", x, x,
                 x, x, x);
}

// Writes the code of a level that an equation gives: k*x + form = 0.
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
        ADX_SAY_LINE(e, "const long x%lu = %srest%lu;", x, l->k > 0 ? "-" : "",
                     x);
    else
        ADX_SAY_LINE(e, "const long x%lu = -(rest%lu / %lld);", x, x,
                 (long long)l->k);
    adx_say_within(e, l, low < (double)l->low, high > (double)l->high);
}

// Writes a value of a map.
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

// Writes the arguments for which a map has a value.
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

// Opens "if (...) {" for what is to be looked at once x has its value.
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
        ADX_SAY_OPEN(
            e,
            c->kind == ADX_ROW_BIT
                ? "if (is >= 0 && is < %llu && (t%lu[is / 64] >> is %% 64 & 1))"
                : "if (is < 0 || is >= %llu || !(t%lu[is / 64] >> is %% 64 & "
                  "1))",
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
    return used || k->term->most != 0
        || adx_variable_in_part(k, l) != UINT32_MAX;
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

// Writes the code of one level of a nest, and the conditions that are tested
// there.
static void adx_say_level(const adx_looping *k, const adx_nest_level *l)
{
    if (adx_is_level_idle(k, l))
        return;
    switch (l->kind) {
    case ADX_LEVEL_RANGE: adx_say_range_loop(k, l); break;
    case ADX_LEVEL_SOLVED: adx_say_solved(k, l); break;
    case ADX_LEVEL_VALUE: adx_say_looked_up(k, l); break;
    case ADX_LEVEL_ARGUMENTS: adx_say_arguments(k, l); break;
    }
    if (l->kind != ADX_LEVEL_RANGE)
        adx_say_level_unread(k, l);
    for (uint32_t i = 0; i < l->checks; i++)
        adx_say_level_check(k->e, &l->check[i]);
    adx_say_part_check(k, l);
}

ADX_SELDOM_END
