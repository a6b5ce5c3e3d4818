#pragma once

/* === tensor/explain =========================================================
 * What became of a text, as text to read: the tree, and of one part its steps,
 * each as a formula (tensor/spelling), with the numbers that it writes, its
 * loops and its operations; which terms are products of matrices, and how a
 * step is cut into parts.
 *
 *   needs   tape/memory tensor/api tensor/tree tensor/sets tensor/nests
 *           tensor/binding tensor/print tensor/programs tensor/sharing
 *           tensor/parts tensor/matrices tensor/queries tensor/spelling
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- which numbers are written ------------------------------------------- */

// Finds the least and the largest index that terms write, as far as bounds say.
static void adx_find_box(const adx_tensor_value *v, uint32_t dim, int64_t *low,
                         int64_t *high)
{
    *low = INT64_MAX;
    *high = INT64_MIN;
    for (uint32_t j = 0; j < v->terms; j++) {
        const adx_set *s = v->term[j].set;
        const int64_t *form = adx_form_of(s, v->term[j].out + dim);
        int64_t least = adx_extreme(s, form, false);
        int64_t most = adx_extreme(s, form, true);
        *low = least < *low ? least : *low;
        *high = most > *high ? most : *high;
    }
    *low = *low < v->low[dim] ? v->low[dim] : *low;
    *high = *high > v->low[dim] + v->extent[dim] - 1
          ? v->low[dim] + v->extent[dim] - 1 : *high;
}

// Says how many numbers of a value a step writes, and in which box they lie.
static void adx_spell_written(const adx_explainer *e, const adx_tensor_value *v,
                              uint64_t written)
{
    uint64_t box = 1;
    adx_spell(e, "      writes ");
    if (written == v->size) {
        adx_spell(e, v->size > 1 ? "all " : "");
        adx_spell_count(e, v->size, "number");
        adx_spell(e, "\n");
        return;
    }
    adx_put_natural(&e->to, written);
    adx_spell(e, " of ");
    adx_spell_count(e, v->size, "number");
    for (uint32_t i = 0; i < v->dims && written > 0; i++) {
        int64_t low;
        int64_t high;
        adx_find_box(v, i, &low, &high);
        adx_spell(e, i == 0 ? ", in [" : ",");
        adx_spell_whole(e, low);
        adx_spell(e, ":");
        adx_spell_whole(e, high + 1);
        box *= (uint64_t)(high - low + 1);
    }
    adx_spell(e, written == 0 ? "\n" : box == written ? "], a box\n" : "]\n");
}

/* --- loops --------------------------------------------------------------- */

// Returns the least or largest value of a form, as far as the ranges of the
// levels tell.
static int64_t adx_extreme_spelt(const adx_explainer *e,
                                 const adx_sparse_form *f, bool most)
{
    int64_t sum = f->c;
    for (uint32_t i = 0; i < f->n; i++)
        sum += f->k[i] * ((f->k[i] > 0) == most ? e->set->high[f->var[i]]
                                                : e->set->low[f->var[i]]);
    return sum;
}

// Whether a bound of a level can be inside the range of its variable.
static bool adx_is_bound_spelt(const adx_explainer *e, const adx_nest_level *l,
                               const adx_set_check *b)
{
    int64_t least = adx_extreme_spelt(e, &b->form, false);
    return b->k > 0 ? -least > b->k * l->low : least < -b->k * l->high;
}

// Writes a form times a number, divided by another.
static void adx_spell_quotient(const adx_explainer *e, const adx_sparse_form *f,
                               int64_t times, int64_t by)
{
    bool group = f->n > 1 || f->c != 0;
    adx_spell(e, group ? "(" : "");
    adx_spell_terms(e, f, times, false);
    adx_spell(e, group ? ")/" : "/");
    adx_spell_whole(e, by);
}

// Writes the x from which, or before which, k*x + form >= 0.
static void adx_spell_bound(const adx_explainer *e, const adx_set_check *b)
{
    adx_sparse_form f = b->form;
    bool lower = b->k > 0;
    f.c += b->k == -1;
    if (adx_is_unit(b->k)) {
        adx_spell_terms(e, &f, -b->k, false);
        return;
    }
    adx_spell(e, lower ? "ceil(" : "floor(");
    adx_spell_quotient(e, &f, lower ? -1 : 1, lower ? b->k : -b->k);
    adx_spell(e, lower ? ")" : ")+1");
}

// Whether a bound is of this end, and moves.
static bool adx_is_moving(const adx_explainer *e, const adx_nest_level *l,
                          const adx_set_check *b, bool lower)
{
    return (b->k > 0) == lower && b->form.n > 0 && adx_is_bound_spelt(e, l, b);
}

// Returns one end of a range without the bounds that move.
static int64_t adx_fixed_end(const adx_nest_level *l, bool lower)
{
    int64_t end = lower ? l->low : l->high;
    for (uint32_t i = 0; i < l->bounds; i++) {
        const adx_set_check *b = &l->bound[i];
        if (b->form.n > 0 || (b->k > 0) != lower)
            continue;
        int64_t at = lower ? adx_ceil_div(-b->form.c, b->k)
                           : adx_floor_div(b->form.c, -b->k);
        end = lower == (at > end) ? at : end;
    }
    return lower ? end : end + 1;
}

// Whether no bound that moves is always inside a fixed end.
static bool adx_counts(const adx_explainer *e, const adx_nest_level *l,
                       bool lower, int64_t end)
{
    for (uint32_t i = 0; i < l->bounds; i++) {
        const adx_set_check *b = &l->bound[i];
        if (!adx_is_moving(e, l, b, lower))
            continue;
        int64_t most = adx_extreme_spelt(e, &b->form, true);
        if (lower ? adx_ceil_div(-most, b->k) >= end
                  : adx_floor_div(most, -b->k) + 1 <= end)
            return false;
    }
    return true;
}

// Writes one end of a range: a number, a bound, or the largest, or least, of
// several.
static void adx_spell_end(const adx_explainer *e, const adx_nest_level *l,
                          bool lower)
{
    int64_t end = adx_fixed_end(l, lower);
    bool fixed = adx_counts(e, l, lower, end);
    uint32_t n = fixed;
    for (uint32_t i = 0; i < l->bounds; i++)
        n += adx_is_moving(e, l, &l->bound[i], lower);
    adx_spell(e, n < 2 ? "" : lower ? "max(" : "min(");
    if (fixed)
        adx_spell_whole(e, end);
    for (uint32_t i = 0; i < l->bounds; i++)
        if (adx_is_moving(e, l, &l->bound[i], lower)) {
            adx_spell(e, fixed ? ", " : "");
            fixed = true;
            adx_spell_bound(e, &l->bound[i]);
        }
    adx_spell(e, n < 2 ? "" : ")");
}

// Writes a value of a map: its name and its argument.
static void adx_spell_look_up(const adx_explainer *e,
                              const adx_int_table *table,
                              const adx_sparse_form *argument)
{
    adx_spell_table(e, table);
    adx_spell(e, "[");
    adx_spell_terms(e, argument, 1, false);
    adx_spell(e, "]");
}

// Writes a condition that loops test.
static void adx_spell_check(const adx_explainer *e, const adx_set_check *c)
{
    adx_spell(e, c->kind == ADX_ROW_NO_BIT ? " if no " : " if ");
    if (c->kind == ADX_ROW_VALUE) {
        adx_spell_look_up(e, c->table, &c->argument);
        adx_spell(e, " == ");
    } else if (c->kind >= ADX_ROW_BIT)
        adx_spell_bit(e, c->bits);
    adx_spell_terms(e, &c->form, 1, false);
    adx_spell(e, c->kind == ADX_ROW_ZERO ? " == 0"
                : c->kind == ADX_ROW_SIGN ? " >= 0" : "");
}

// Writes k*x + form, with the variable of the level.
static void adx_spell_with(const adx_explainer *e, const adx_nest_level *l,
                           const adx_sparse_form *f)
{
    bool minus = f->n > 0 ? f->k[0] < 0 : f->c < 0;
    adx_spell(e, l->k < 0 ? "-" : "");
    adx_spell_var(e, l->var);
    if (f->n > 0 || f->c != 0) {
        adx_spell(e, minus ? "" : "+");
        adx_spell_terms(e, f, 1, false);
    }
}

// Writes "j = (i-1)/2 if whole"; with 1 or -1 it would have been replaced.
static void adx_spell_solved(const adx_explainer *e, const adx_nest_level *l)
{
    int64_t times = l->k > 0 ? -1 : 1;
    adx_spell_var(e, l->var);
    adx_spell(e, " = ");
    adx_spell_quotient(e, &l->form, times, -l->k * times);
    adx_spell(e, " if whole");
}

// Says what one level of a nest does: a range, a solved variable, a value of a
// map, or the arguments of a map; and what it checks.
static void adx_spell_level(const adx_explainer *e, const adx_nest_level *l)
{
    const adx_set *s = e->set;
    bool value = l->kind == ADX_LEVEL_VALUE;
    if (l->kind == ADX_LEVEL_RANGE) {
        adx_spell_var(e, l->var);
        adx_spell(e, " in ");
        adx_spell_end(e, l, true);
        adx_spell(e, ":");
        adx_spell_end(e, l, false);
    } else if (l->kind == ADX_LEVEL_SOLVED)
        adx_spell_solved(e, l);
    else if (value && adx_row_spelling(s, l->var) != UINT32_MAX)
        adx_spell_var(e, l->var);
    else if (value) {
        adx_spell_with(e, l, &l->form);
        adx_spell(e, " = ");
        adx_spell_look_up(e, l->table, &l->argument);
    } else {
        adx_spell_var(e, l->var);
        adx_spell(e, " with ");
        adx_spell_table(e, l->table);
        adx_spell(e, "[");
        adx_spell_with(e, l, &l->argument);
        adx_spell(e, "] = ");
        bool same = l->form.n == 1
                 && adx_row_spelling(s, l->form.var[0]) != UINT32_MAX;
        if (same)
            adx_spell(e, "that");
        else
            adx_spell_terms(e, &l->form, 1, false);
    }
    for (uint32_t i = 0; i < l->checks; i++)
        adx_spell_check(e, &l->check[i]);
}

// Writes the loops of a term and how many points they find.
static void adx_spell_loops(adx_explainer *e, const adx_tensor_term *term)
{
    const adx_nest *nest = term->loop->found_by;
    e->set = term->set;
    adx_spell(e, "      ");
    for (uint32_t i = 0; i < nest->levels; i++) {
        adx_spell(e, i == 0 ? "loops over " : "; ");
        adx_spell_level(e, &nest->level[i]);
    }
    adx_spell(e, nest->levels > 0 ? ": " : "");
    adx_spell_count(e, adx_points_of_term(term, e->x), "point");
    adx_spell(e, nest == term->loop->nest ? "\n" : ", listed\n");
}

// Writes "as 3 products of matrices, [i,l] times [l,j]".
static void adx_spell_matrices(adx_explainer *e, const adx_tensor_term *term)
{
    const adx_matrices *m = term->loop->matrices;
    uint64_t products = 1;
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->loops; i++)
        products *= (uint64_t)m->loop[i].n;
    e->set = term->set;
    adx_spell(e, "      as ");
    adx_spell_count(e, products, "product");
    for (int i = 0; i < 2; i++) {
        adx_spell(e, i == 0 ? " of matrices, [" : "] times [");
        adx_spell_var(e, m->var[i]);
        adx_spell(e, ",");
        adx_spell_var(e, m->var[i + 1]);
    }
    adx_spell(e, e->t->options.gemm == NULL ? "]\n" : "], by gemm\n");
}

// Writes "in 16 parts, by i": by the index that differs between them.
static void adx_spell_cut(adx_explainer *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->t, value);
    const adx_value_cut *c = v->cut;
    if (c == NULL)
        return;
    e->set = v->term->set;
    adx_spell(e, "      in ");
    adx_put_natural(&e->to, c->parts);
    adx_spell(e, c->kind == ADX_CUT_SUMS ? " parts with sums of their own"
                                         : " parts, by ");
    if (c->kind != ADX_CUT_SUMS)
        adx_spell_terms(e, &c->term->form, 1, false);
    adx_spell(e, "\n");
}

/* --- steps --------------------------------------------------------------- */

// Writes how many operations of each kind there are.
static void adx_spell_cost(const adx_explainer *e, const ad_tensor_cost *cost)
{
    adx_spell_count(e, cost->add, "addition");
    adx_spell(e, ", ");
    adx_spell_count(e, cost->mul, "multiplication");
    adx_spell(e, ", ");
    adx_spell_count(e, cost->fn, "function");
}

// Says everything about one step: its formula, what it writes, its loops, its
// parts and its cost.
static void adx_spell_step(adx_explainer *e, uint32_t step, uint64_t number)
{
    uint32_t value = e->t->program->order[step];
    const adx_tensor_value *v = adx_value_spelt(e, value);
    adx_spell(e, number < 10 ? "\n  " : number < 100 ? "\n " : "\n");
    adx_put_natural(&e->to, number);
    adx_spell(e, "  ");
    adx_spell_formula(e, value);
    adx_spell_written(e, v, e->written[step]);
    for (uint32_t j = 0; j < v->terms; j++) {
        adx_spell_loops(e, &v->term[j]);
        adx_spell_matrices(e, &v->term[j]);
    }
    if (e->t->program->value[value].size < v->size)
        adx_spell(e, "      stored on entries\n");
    adx_spell_cut(e, value);
    adx_spell(e, "      ");
    adx_spell_cost(e, &e->cost[step]);
    adx_spell(e, "\n");
}

// Whether a value of this kind is needed.
static bool adx_has_kind(const adx_explainer *e, adx_value_kind kind)
{
    for (uint32_t i = 1; i < e->t->program->values; i++)
        if (e->needed[i] && adx_value_spelt(e, i)->kind == kind)
            return true;
    return false;
}

// Whether a step has a condition that was written down as bits.
static bool adx_has_bits(const adx_explainer *e)
{
    const adx_tensor_program *p = e->t->program;
    for (uint32_t i = 1; i < p->values; i++)
        for (uint32_t j = 0; e->needed[i] && j < p->spelt[i].terms; j++) {
            const adx_set *s = p->spelt[i].term[j].set;
            for (uint32_t r = 0; r < s->rows; r++)
                if (s->row[r].kind >= ADX_ROW_BIT)
                    return true;
        }
    return false;
}

// Whether a step is an unnamed value, or a derivative of one.
static bool adx_has_unnamed(const adx_explainer *e)
{
    for (uint32_t i = 1; i < e->t->program->values; i++) {
        uint32_t of = i;
        while (e->derived[of] != 0)
            of = e->derived[of];
        if (e->needed[i] && e->unnamed[of] != 0)
            return true;
    }
    return false;
}

// Says what the names in the steps mean, if there are any.
static void adx_spell_names(const adx_explainer *e, ad_tensor_part part)
{
    adx_spell(e, part == ADREV_TENSOR_VALUE ? "\nSteps of the value:\n"
                : part == ADREV_TENSOR_JVP ? "\nSteps of the tangents (jvp):\n"
                : part == ADREV_TENSOR_VJP ? "\nSteps of the adjoints (vjp):\n"
                : "\nSteps of the tangents of the adjoints (hvp):\n");
    if (part == ADREV_TENSOR_JVP || part == ADREV_TENSOR_HVP)
        adx_spell(e, "    x' is the tangent of x; those of the inputs are "
                    "given\n");
    if (part >= ADREV_TENSOR_VJP)
        adx_spell(e, "    x~ is the adjoint of x; w(y), the weight of a result "
                    "y, is given\n");
    if (part == ADREV_TENSOR_HVP)
        adx_spell(e, "    x~' is the tangent of the adjoint of x\n");
    if (e->t->tree.relation_count > 1)
        adx_spell(e, "    R[#e] is entry #e of a relation R, R.0[#e] its first "
                     "number\n");
    if (adx_has_unnamed(e))
        adx_spell(e, "    #1, #2 ... are parts of formulas, without a name in "
                    "the text\n");
    if (adx_has_kind(e, ADX_VALUE_PARTIAL))
        adx_spell(e, "    d1 f(..) is the partial of f by its first "
                    "argument\n");
    if (adx_has_kind(e, ADX_VALUE_SECOND))
        adx_spell(e, "    d2 d1 f(..) is the derivative of that by the second "
                     "one\n");
    if (adx_has_bits(e))
        adx_spell(e, "    bits say where a condition is true, or a value is "
                     "written:\n    they were found when the text was "
                     "bound\n");
}

// Writes `next` where a list goes on: something of the same kind came before.
static void adx_spell_between(const adx_explainer *e, uint32_t *listed,
                              bool next)
{
    adx_spell(e, *listed == 0 ? "\nwith " : next ? ", " : "; ");
    ++*listed;
}

// Writes "A by strides (1,4)", where ad_tensor_layout gave some.
static void adx_spell_strides(const adx_explainer *e, uint32_t *listed)
{
    const adx_tree *tree = &e->t->tree;
    bool next = false;
    for (uint32_t i = 1; i < tree->array_count; i++) {
        const ptrdiff_t *stride = e->t->given.stride[i];
        uint32_t n = adx_places_of(tree, &tree->array[i]);
        if (stride == NULL || n == 0)
            continue;
        adx_spell_between(e, listed, next);
        next = true;
        adx_put_spot(&e->to, tree->array[i].name);
        for (uint32_t d = 0; d < n; d++) {
            adx_spell(e, d == 0 ? " by strides (" : ",");
            adx_spell_whole(e, stride[d]);
        }
        adx_spell(e, ")");
    }
}

// Says the sizes, the entries of relations, and the strides that were given.
static void adx_spell_sizes(const adx_explainer *e)
{
    const adx_tree *tree = &e->t->tree;
    uint32_t listed = 0;
    for (uint32_t i = 1; i < tree->size_count; i++) {
        adx_spell_between(e, &listed, true);
        adx_put_spot(&e->to, tree->size[i]);
        adx_spell(e, " = ");
        adx_spell_whole(e, e->t->given.size[i]);
    }
    for (uint32_t i = 1; i < tree->relation_count; i++) {
        size_t n = e->t->given.relation[i].entries;
        adx_spell_between(e, &listed, i > 1);
        adx_put_spot(&e->to, tree->relation[i].name);
        adx_spell(e, " of ");
        adx_put_natural(&e->to, n);
        adx_spell(e, n == 1 ? " entry" : " entries");
    }
    adx_spell_strides(e, &listed);
    adx_spell(e, listed > 0 ? "\n" : "");
}

// Says what a program does: its sizes and names, its steps, and the cost of all
// of them together.
static void adx_spell_program(adx_explainer *e, ad_tensor_part part)
{
    const adx_tensor_program *p = e->t->program;
    ad_tensor_cost all = { 0 };
    uint64_t number = 0;
    adx_spell_sizes(e);
    adx_spell_names(e, part);
    for (uint32_t i = 0; i < p->steps; i++)
        if (e->needed[p->order[i]]) {
            adx_spell_step(e, i, ++number);
            all.add += e->cost[i].add;
            all.mul += e->cost[i].mul;
            all.fn += e->cost[i].fn;
        }
    adx_spell(e, "\nTogether: ");
    adx_spell_cost(e, &all);
    adx_spell(e, ";\n    ");
    adx_spell_count(e, adx_numbers_around(e->t), "number");
    adx_spell(e, " of inputs and results; ");
    adx_spell_count(e, adx_numbers_needed(p, e->needed, NULL) * sizeof(ad_real),
                   "byte");
    adx_spell(e, " for the steps\n");
}

/* --- the interface ------------------------------------------------------- */

// Finds whose derivative each value is, and numbers for unnamed ones.
static void adx_name_values(adx_explainer *e)
{
    const adx_tensor_program *p = e->t->program;
    uint32_t unnamed = 0;
    memset(e->derived, 0, p->values * sizeof *e->derived);
    memset(e->unnamed, 0, p->values * sizeof *e->unnamed);
    for (uint32_t i = p->values; i-- > 1;) {    // of equal ones, the first
        if (p->value[i].tangent != 0)
            e->derived[p->value[i].tangent] = i;
        if (p->value[i].adjoint != 0)
            e->derived[p->value[i].adjoint] = i;
    }
    for (uint32_t i = 0; i < p->steps; i++) {
        const adx_tensor_value *v = &p->value[p->order[i]];
        bool made = v->terms == 0 || v->term->loop != NULL;
        if (v->array == 0 && e->derived[p->order[i]] == 0 && made)
            e->unnamed[p->order[i]] = ++unnamed;
    }
}

// Counts what each step does. False: no memory.
static bool adx_count_steps(adx_explainer *e)
{
    const adx_tensor_program *p = e->t->program;
    bool ok = true;
    for (uint32_t i = 0; i < p->steps && ok; i++) {
        const adx_tensor_value *v = &p->value[p->order[i]];
        memset(&e->cost[i], 0, sizeof *e->cost);
        if (e->needed[p->order[i]])
            ok = adx_count_value(e->t, v, e->x, &e->cost[i])
              && adx_count_written(e->t, v, e->x, &e->written[i]);
    }
    return ok;
}

// Takes the memory of an explanation. False: there is none.
static bool adx_begin_explaining(adx_explainer *e)
{
    const ad_allocator *m = &e->t->memory;
    const adx_tensor_program *p = e->t->program;
    e->needed = (bool *)adx_take(m, p->values, sizeof *e->needed);
    e->derived = (uint32_t *)adx_take(m, p->values, sizeof *e->derived);
    e->unnamed = (uint32_t *)adx_take(m, p->values, sizeof *e->unnamed);
    e->cost = (ad_tensor_cost *)adx_take(m, p->steps, sizeof *e->cost);
    e->written = (uint64_t *)adx_take(m, p->steps, sizeof *e->written);
    e->x = (int64_t *)adx_take(m, p->vars, sizeof *e->x);
    e->own = (bool *)adx_take(m, p->vars, sizeof *e->own);
    return e->needed != NULL && e->derived != NULL && e->unnamed != NULL
        && e->cost != NULL && e->written != NULL && e->x != NULL
        && e->own != NULL;
}

static void adx_end_explaining(adx_explainer *e)
{
    const ad_allocator *m = &e->t->memory;
    adx_drop(m, e->needed);
    adx_drop(m, e->derived);
    adx_drop(m, e->unnamed);
    adx_drop(m, e->cost);
    adx_drop(m, e->written);
    adx_drop(m, e->x);
    adx_drop(m, e->own);
}

ADX_API ad_status ad_tensor_explain(ad_tensor *t, ad_tensor_part part,
                                    ad_write_fn *write, void *user)
{
    if (t == NULL || write == NULL || part > ADREV_TENSOR_HVP)
        return ADREV_ESHAPE;
    const adx_tensor_program *p = t->program;
    adx_explainer e = { .t = t, .to = { &t->tree, write, user },
                        .out = { write, user } };
    bool ok = p == NULL || adx_begin_explaining(&e);
    if (ok && p != NULL) {
        adx_need_part(t, part, NULL, e.needed);
        adx_name_values(&e);
        ok = adx_count_steps(&e);
    }
    if (ok)
        adx_print_tree(&t->tree, write, user);
    if (ok && p != NULL)
        adx_spell_program(&e, part);
    adx_end_explaining(&e);
    return ok ? ADREV_OK : ADREV_ENOMEM;
}

ADX_SELDOM_END
