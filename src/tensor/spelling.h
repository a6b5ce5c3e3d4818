#pragma once

/* === tensor/spelling ========================================================
 * Steps as formulas of the language: what values, variables, tables, forms and
 * conditions are called, and terms. A term is a sum over those variables of its
 * set that do not say which number is written; the others stand behind `for`.
 *
 *   needs   check/print tensor/api tensor/tree tensor/sets tensor/nests
 *           tensor/binding tensor/print tensor/programs tensor/derive
 *   offers  adx_explainer adx_value_spelt adx_spell adx_spell_whole
 *           adx_spell_count adx_spell_table adx_row_spelling adx_spell_var
 *           adx_spell_terms adx_spell_bit adx_spell_formula
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_explainer {
    const ad_tensor *t;
    adx_tree_printer to;
    adx_writer out;             // the same
    bool *needed;               // [values]
    uint32_t *derived;          // [values] whose derivative it is, or 0
    uint32_t *unnamed;          // [values] number of an unnamed one, or 0
    ad_tensor_cost *cost;       // [steps]
    uint64_t *written;          // [steps] numbers
    int64_t *x;                 // [vars]
    bool *own;                  // [vars] it says which number is written
    const adx_set *set;         // whose variables are spelt
} adx_explainer;

// Returns the value as it was before its numbers got other places: texts speak
// of the indices of the formula.
static const adx_tensor_value *adx_value_spelt(const adx_explainer *e,
                                               uint32_t value)
{
    return &e->t->program->spelt[value];
}

static void adx_spell(const adx_explainer *e, const char *text)
{
    adx_put_string_of(&e->to, text);
}

static void adx_spell_whole(const adx_explainer *e, int64_t v)
{
    adx_spell(e, v < 0 ? "-" : "");
    adx_put_natural(&e->to, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

// Writes "3 points"; word: in the singular.
static void adx_spell_count(const adx_explainer *e, uint64_t n,
                            const char *word)
{
    adx_put_natural(&e->to, n);
    adx_spell(e, " ");
    adx_spell(e, word);
    adx_spell(e, n == 1 ? "" : "s");
}

/* --- names --------------------------------------------------------------- */

// Returns where the text names the input, or the result, of this order.
static adx_spot adx_spot_of_array(const adx_explainer *e, uint32_t order,
                                  bool out)
{
    const adx_tree *tree = &e->t->tree;
    uint32_t i = 1;
    while (tree->array[i].order != order || tree->array[i].out != out
           || (!out && tree->array[i].formula != 0))
        i++;
    return tree->array[i].name;
}

// Writes the name of a value: of an array, or of the value that it is a
// derivative of, with ' for a tangent and ~ for an adjoint; a value without a
// name has a number.
static void adx_spell_value(const adx_explainer *e, uint32_t value)
{
    const adx_tensor_value *v = adx_value_spelt(e, value);
    const adx_tensor_value *of = adx_value_spelt(e, e->derived[value]);
    if (v->kind == ADX_VALUE_WEIGHT) {
        adx_spell(e, "w(");
        adx_put_spot(&e->to, adx_spot_of_array(e, v->order, true));
        adx_spell(e, ")");
    } else if (v->array != 0)
        adx_put_spot(&e->to, e->t->tree.array[v->array].name);
    else if (e->derived[value] != 0) {
        adx_spell_value(e, e->derived[value]);
        adx_spell(e, of->tangent == value ? "'" : "~");
    } else {
        adx_spell(e, "#");
        adx_put_natural(&e->to, e->unnamed[value]);
    }
}

// Writes the name of a map, or of a column of a relation: r.0.
static void adx_spell_table(const adx_explainer *e, const adx_int_table *table)
{
    const adx_tree *tree = &e->t->tree;
    const adx_tensor_program *p = e->t->program;
    for (uint32_t i = 1; i < tree->map_count; i++)
        if (p->map[i] == table)
            adx_put_spot(&e->to, tree->map[i].name);
    for (uint32_t i = 1; i < tree->relation_count; i++)
        for (uint32_t c = 0; c < tree->relation[i].arity; c++)
            if (p->column[p->column_of[i] + c] == table) {
                adx_put_spot(&e->to, tree->relation[i].name);
                adx_spell(e, ".");
                adx_put_natural(&e->to, c);
            }
}

// Returns the row that makes a variable without a name the value of a map, of
// variables before it; or UINT32_MAX.
static uint32_t adx_row_spelling(const adx_set *s, uint32_t v)
{
    for (uint32_t r = 0; r < s->rows && s->called[v] == 0; r++) {
        uint32_t count;
        uint32_t var = 0;
        const int64_t *form = adx_form_of(s, r);
        if (s->row[r].kind != ADX_ROW_VALUE || form[1 + v] != 1 || form[0] != 0)
            continue;
        bool before = true;
        adx_divisor_of(s, form, &count, &var);
        for (uint32_t i = v; i < s->vars; i++)
            before = before && adx_form_of(s, s->row[r].at)[1 + i] == 0;
        if (count == 1 && before)
            return r;
    }
    return UINT32_MAX;
}

// Whether a variable is there, and is spelt as itself.
static bool adx_is_spelt(const adx_set *s, uint32_t v)
{
    return !s->gone[v] && adx_row_spelling(s, v) == UINT32_MAX;
}

// Returns where the text names the index that a variable stands for; an empty
// spot if it has none.
static adx_spot adx_spot_of_var(const adx_explainer *e, uint32_t v)
{
    return e->t->tree.index[e->set->called[v]].name;    // index 0: no text
}

// Whether two variables have the same name in the text.
static bool adx_same_name(const adx_explainer *e, uint32_t u, uint32_t v)
{
    adx_spot a = adx_spot_of_var(e, u);
    adx_spot b = adx_spot_of_var(e, v);
    const char *text = e->t->tree.text;
    return a.length == b.length
        && memcmp(text + a.at, text + b.at, a.length) == 0;
}

static void adx_spell_form(const adx_explainer *e, int64_t form[]);

// Writes a variable: i, or i.2 if there is another i; without a name #e, an
// entry of a relation.
static void adx_spell_var(const adx_explainer *e, uint32_t v)
{
    const adx_set *s = e->set;
    uint32_t r = adx_row_spelling(s, v);
    if (r != UINT32_MAX) {
        adx_spell_table(e, s->row[r].table);
        adx_spell(e, "[");
        adx_spell_form(e, adx_form_of(s, s->row[r].at));
        adx_spell(e, "]");
        return;
    }
    uint64_t same = 1;
    for (uint32_t u = 0; u < v; u++)
        same += adx_is_spelt(s, u) && adx_same_name(e, u, v);
    if (s->called[v] == 0)
        adx_spell(e, "#e");
    else
        adx_put_spot(&e->to, adx_spot_of_var(e, v));
    if (same > 1) {
        adx_spell(e, ".");
        adx_put_natural(&e->to, same);
    }
}

/* --- forms and conditions ------------------------------------------------ */

// Writes times*(c + sum k[i]*x[var[i]]), var NULL: x[i]; `positive`: only what
// is positive in it.
static void adx_spell_terms(const adx_explainer *e, const adx_sparse_form *f,
                            int64_t times, bool positive)
{
    bool any = false;
    for (uint32_t i = 0; i < f->n; i++) {
        int64_t by = times * f->k[i];
        if (by == 0 || (positive && by < 0))
            continue;
        adx_spell(e, by < 0 ? "-" : any ? "+" : "");
        if (by != 1 && by != -1) {
            adx_put_natural(&e->to, (uint64_t)(by < 0 ? -by : by));
            adx_spell(e, "*");
        }
        adx_spell_var(e, f->var == NULL ? i : f->var[i]);
        any = true;
    }
    int64_t c = times * f->c;
    c = positive && c < 0 ? 0 : c;
    if (c != 0 || !any) {
        adx_spell(e, any && c > 0 ? "+" : "");
        adx_spell_whole(e, c);
    }
}

// Returns a form of all variables.
static adx_sparse_form adx_all_of_form(const adx_explainer *e, int64_t form[])
{
    const adx_sparse_form all = { form[0], e->set->vars, NULL, form + 1 };
    return all;
}

// Writes a form of the variables.
static void adx_spell_form(const adx_explainer *e, int64_t form[])
{
    const adx_sparse_form all = adx_all_of_form(e, form);
    adx_spell_terms(e, &all, 1, false);
}

// Writes a form that is 0, or not negative: what is positive on the one side,
// what is negative on the other. If there are variables on the right only:
// turned.
static void adx_spell_comparison(const adx_explainer *e, int64_t form[],
                                 bool zero)
{
    const adx_sparse_form all = adx_all_of_form(e, form);
    bool left = false;
    for (uint32_t v = 0; v < e->set->vars; v++)
        left = left || form[1 + v] > 0;
    adx_spell_terms(e, &all, left ? 1 : -1, true);
    adx_spell(e, zero ? " == " : left ? " >= " : " <= ");
    adx_spell_terms(e, &all, left ? -1 : 1, true);
}

// Returns the relation of a column, and which column it is; 0: it is a map.
static uint32_t adx_relation_of(const adx_explainer *e,
                                const adx_int_table *table, uint32_t *column)
{
    const adx_tree *tree = &e->t->tree;
    for (uint32_t i = 1; i < tree->relation_count; i++)
        for (*column = 0; *column < tree->relation[i].arity; ++*column)
            if (e->t->program->column[e->t->program->column_of[i] + *column]
                == table)
                return i;
    return 0;
}

// Returns the row that says what is in another column of the same entry.
static uint32_t adx_row_of_column(const adx_explainer *e, uint32_t relation,
                                  uint32_t column, uint32_t row)
{
    const adx_set *s = e->set;
    const adx_tensor_program *p = e->t->program;
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind == ADX_ROW_VALUE
            && s->row[r].table == p->column[p->column_of[relation] + column]
            && memcmp(adx_form_of(s, s->row[r].at),
                      adx_form_of(s, s->row[row].at),
                      (1 + s->vars) * sizeof *s->k) == 0)
            return r;
    return UINT32_MAX;
}

// Writes "R[e] == (i,j)", all columns at once, with the row of the first of
// them.
static void adx_spell_value_row(const adx_explainer *e, uint32_t row)
{
    const adx_set *s = e->set;
    uint32_t column = 0;
    uint32_t relation = adx_relation_of(e, s->row[row].table, &column);
    uint32_t n = relation == 0 ? 1 : e->t->tree.relation[relation].arity;
    if (relation == 0)
        adx_spell_table(e, s->row[row].table);
    else
        adx_put_spot(&e->to, e->t->tree.relation[relation].name);
    adx_spell(e, "[");
    adx_spell_form(e, adx_form_of(s, s->row[row].at));
    adx_spell(e, n > 1 ? "] == (" : "] == ");
    for (uint32_t c = 0; c < n; c++) {
        uint32_t r = relation == 0 ? row
                   : adx_row_of_column(e, relation, c, row);
        adx_spell(e, c == 0 ? "" : ",");
        if (r == UINT32_MAX)
            adx_spell(e, "*");
        else
            adx_spell_form(e, adx_form_of(s, r));
    }
    adx_spell(e, n > 1 ? ")" : "");
}

// Writes "A written at 9*i+j", where the bits are those of a value; else "bit
// 9*i+j".
static void adx_spell_bit(const adx_explainer *e, const adx_bitmap *bits)
{
    const adx_tensor_program *p = e->t->program;
    for (uint32_t i = 1; i < p->values; i++)
        if (p->spelt[i].support == bits) {
            adx_spell_value(e, i);
            adx_spell(e, " written at ");
            return;
        }
    adx_spell(e, "bit ");
}

// Whether a row is a condition that is spelt by itself.
static bool adx_is_condition(const adx_explainer *e, uint32_t row)
{
    const adx_set *s = e->set;
    if (s->row[row].kind <= ADX_ROW_FORM)
        return false;
    if (s->row[row].kind != ADX_ROW_VALUE)
        return true;
    for (uint32_t v = 0; v < s->vars; v++)
        if (!s->gone[v] && adx_row_spelling(s, v) == row)
            return false;
    uint32_t column = 0;
    uint32_t relation = adx_relation_of(e, s->row[row].table, &column);
    for (uint32_t c = 0; relation != 0 && c < column; c++)
        if (adx_row_of_column(e, relation, c, row) != UINT32_MAX)
            return false;
    return true;
}

// Writes " of exists(k<n: R(i,k))": the words of the text, with the names
// there.
static void adx_spell_words(const adx_explainer *e, uint32_t node)
{
    adx_tree_kind kind = e->t->tree.node[node].kind;
    bool several = kind == ADX_TREE_AND || kind == ADX_TREE_OR;
    if (node == 0)
        return;
    adx_spell(e, several ? " of (" : " of ");
    adx_put_condition(&e->to, node);
    adx_spell(e, several ? ")" : "");
}

// Writes the condition that a row of the set is.
static void adx_spell_condition(const adx_explainer *e, uint32_t row)
{
    const adx_set_row *r = &e->set->row[row];
    int64_t *form = adx_form_of(e->set, row);
    switch (r->kind) {
    case ADX_ROW_ZERO:
    case ADX_ROW_SIGN:
        adx_spell_comparison(e, form, r->kind == ADX_ROW_ZERO);
        break;
    case ADX_ROW_VALUE:
        adx_spell_value_row(e, row);
        break;
    default:
        adx_spell(e, r->kind == ADX_ROW_BIT ? "" : "no ");
        adx_spell_bit(e, r->bits);
        adx_spell_form(e, form);
        adx_spell_words(e, r->bits->node);
    }
}

/* --- sets ---------------------------------------------------------------- */

// Finds the variables that say which number is written: those in its indices,
// and what maps make of them.
static void adx_find_own(const adx_explainer *e, const adx_tensor_term *term,
                         uint32_t dims)
{
    const adx_set *s = term->set;
    memset(e->own, 0, s->vars * sizeof *e->own);
    for (uint32_t i = 0; i < dims; i++)
        for (uint32_t v = 0; v < s->vars; v++)
            if (adx_form_of(s, term->out + i)[1 + v] != 0)
                e->own[v] = true;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t r = 0; r < s->rows; r++) {
            uint32_t count;
            uint32_t v = 0;
            if (s->row[r].kind != ADX_ROW_VALUE)
                continue;
            adx_divisor_of(s, adx_form_of(s, r), &count, &v);
            bool known = count == 1 && !e->own[v];
            for (uint32_t i = 0; i < s->vars && known; i++)
                known = adx_form_of(s, s->row[r].at)[1 + i] == 0 || e->own[i];
            e->own[v] = e->own[v] || known;
            more = more || known;
        }
    }
}

// Whether a row says something of variables that are not own.
static bool adx_is_of_others(const adx_explainer *e, uint32_t row)
{
    const adx_set *s = e->set;
    for (uint32_t v = 0; v < s->vars; v++)
        if (!e->own[v]
            && (adx_form_of(s, row)[1 + v] != 0
                || (s->row[row].kind == ADX_ROW_VALUE
                    && adx_form_of(s, s->row[row].at)[1 + v] != 0)))
            return true;
    return false;
}

// Writes "i<9" or "i in 1:8".
static void adx_spell_range(const adx_explainer *e, uint32_t v)
{
    adx_spell_var(e, v);
    adx_spell(e, e->set->low[v] == 0 ? "<" : " in ");
    if (e->set->low[v] != 0) {
        adx_spell_whole(e, e->set->low[v]);
        adx_spell(e, ":");
    }
    adx_spell_whole(e, e->set->high[v] + 1);
}

// Writes "i<9, j<9: i >= j", of the variables that are own, or of the others,
// with `begin` in front, or nothing if there are none. Returns whether there
// are some.
static bool adx_spell_set(const adx_explainer *e, bool own, const char *begin)
{
    const adx_set *s = e->set;
    bool any = false;
    for (uint32_t v = 0; v < s->vars; v++)
        if (e->own[v] == own && adx_is_spelt(s, v)) {
            adx_spell(e, any ? ", " : begin);
            adx_spell_range(e, v);
            any = true;
        }
    bool first = true;
    for (uint32_t r = 0; r < s->rows; r++)
        if (adx_is_condition(e, r) && adx_is_of_others(e, r) != own) {
            adx_spell(e, !first ? ", " : any ? ": " : begin);
            adx_spell_condition(e, r);
            any = true;
            first = false;
        }
    return any;
}

/* --- formulas ------------------------------------------------------------ */

// Writes a number that is read or written: its value and its indices.
static void adx_spell_access(const adx_explainer *e, adx_access a)
{
    const adx_tensor_value *v = adx_value_spelt(e, a.value);
    adx_spell_value(e, a.value);
    for (uint32_t i = 0; i < v->dims; i++) {
        adx_spell(e, i == 0 ? "[" : ",");
        adx_spell_form(e, adx_form_of(e->set, a.row + i));
    }
    adx_spell(e, v->dims > 0 ? "]" : "");
}

// Writes the product that a point adds, or the function that it is.
static void adx_spell_product(const adx_explainer *e, const adx_tensor_value *v,
                              const adx_tensor_term *term)
{
    ad_real k = term->k < 0 ? -term->k : term->k;
    bool call = (v->kind == ADX_VALUE_APPLICATION && v->op != ADREV_OP_div)
             || v->kind == ADX_VALUE_PARTIAL || v->kind == ADX_VALUE_SECOND;
    if (v->kind == ADX_VALUE_SECOND)
        adx_print(&e->out, "d%z ", (size_t)v->second->by + 1);
    if (v->kind == ADX_VALUE_PARTIAL || v->kind == ADX_VALUE_SECOND)
        adx_print(&e->out, "d%z ", (size_t)v->which + 1);
    if (call)
        adx_print(&e->out, "%s(", ad_op_table()[v->op].name);
    else if (k != 1 || term->factors == 0)
        adx_print(&e->out, term->factors == 0 ? "%g" : "%g*", (double)k);
    bool square = v->kind == ADX_VALUE_SUM && adx_is_square(e->t, term);
    for (uint32_t i = 0; i < term->factors; i++) {
        if (i == 1 && square) {
            adx_spell(e, "^2");
            break;
        }
        adx_spell(e, i == 0 ? "" : call ? ", "
                    : v->kind == ADX_VALUE_APPLICATION ? "/" : "*");
        adx_spell_access(e, term->factor[i]);
    }
    adx_spell(e, call ? ")" : "");
}

// Writes a term: what it sums over, its constant and its factors.
static void adx_spell_term(const adx_explainer *e, const adx_tensor_value *v,
                           const adx_tensor_term *term)
{
    const char *sum = v->kind != ADX_VALUE_MOST ? "sum("
                    : v->op == ADREV_OP_min ? "minimum(" : "maximum(";
    bool open = adx_spell_set(e, false, sum);
    if (term->most != 0) {
        const adx_access most = { term->most, term->at };
        adx_spell(e, open ? ", first " : "sum(first ");
        adx_spell_access(e, term->picked);
        adx_spell(e, " == ");
        adx_spell_access(e, most);
        open = true;
    }
    adx_spell(e, open ? ") " : "");
    adx_spell_product(e, v, term);
}

// Whether the indices of what is written say for which own variables.
static bool adx_is_solved(const adx_tensor_value *v,
                          const adx_tensor_term *term)
{
    const adx_set *s = term->set;
    for (uint32_t u = 0; u < s->vars; u++) {
        bool used = false;
        bool alone = false;
        for (uint32_t i = 0; i < v->dims; i++) {
            uint32_t count;
            uint32_t var = 0;
            const int64_t *form = adx_form_of(s, term->out + i);
            adx_divisor_of(s, form, &count, &var);
            used = used || form[1 + u] != 0;
            alone = alone || (count == 1 && var == u);
        }
        if (used && !alone)
            return false;
    }
    return true;
}

// An ad_write_fn that keeps a hash of the text alone.
static void adx_hash_spelt(const char *text, size_t n, void *user)
{
    uint64_t *hash = (uint64_t *)user;
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ (unsigned char)text[i]) * 0x100000001b3u;
}

// Returns a hash of what a term has on the left side; behind: of what is behind
// `for`.
static uint64_t adx_hash_of_term(const adx_explainer *e, uint32_t value,
                                 const adx_tensor_term *term, bool behind)
{
    uint64_t hash = 0xcbf29ce484222325u;
    adx_explainer h = *e;
    h.to.write = adx_hash_spelt;
    h.to.user = &hash;
    h.set = term->set;
    adx_find_own(&h, term, adx_value_spelt(e, value)->dims);
    if (behind)
        adx_spell_set(&h, true, "    for ");
    else
        adx_spell_access(&h, (adx_access){ value, term->out });
    return hash;
}

// Whether all terms have the same text there.
static bool adx_terms_agree(const adx_explainer *e, uint32_t value, bool behind)
{
    const adx_tensor_value *v = adx_value_spelt(e, value);
    bool same = true;
    for (uint32_t j = 1; j < v->terms && same; j++)
        same = adx_hash_of_term(e, value, &v->term[j], behind)
            == adx_hash_of_term(e, value, v->term, behind);
    return same;
}

// Whether a step is one sum for each number: the left side says for which.
static bool adx_is_one_sum(const adx_explainer *e, uint32_t value)
{
    const adx_tensor_value *v = adx_value_spelt(e, value);
    for (uint32_t j = 0; j < v->terms; j++)
        if (!adx_is_solved(v, &v->term[j]))
            return false;
    return adx_terms_agree(e, value, false);
}

// Writes a value as a formula: one sum if all terms write the same indices,
// else a line for each term.
static void adx_spell_formula(adx_explainer *e, uint32_t value)
{
    const adx_tensor_value *v = adx_value_spelt(e, value);
    bool one = adx_is_one_sum(e, value);
    bool once = one && adx_terms_agree(e, value, true);
    for (uint32_t j = 0; j < v->terms; j++) {
        const adx_tensor_term *term = &v->term[j];
        const adx_access out = { value, term->out };
        bool minus = term->k < 0;
        e->set = term->set;
        adx_find_own(e, term, v->dims);
        adx_spell(e, j == 0 ? "" : "     ");
        if (j == 0 || !one) {
            adx_spell_access(e, out);
            adx_spell(e, !one ? minus ? " -= " : " += "
                              : minus ? " = -" : " = ");
        } else
            adx_spell(e, minus ? "    - " : "    + ");
        adx_spell_term(e, v, term);
        if (!once || j + 1 == v->terms)
            adx_spell_set(e, true, "    for ");
        adx_spell(e, "\n");
    }
    if (v->terms == 0) {
        adx_spell_value(e, value);
        adx_spell(e, " = 0\n");
    }
}

ADX_SELDOM_END
