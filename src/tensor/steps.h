#pragma once

/* === tensor/steps ===========================================================
 * C text of a step: what is done at the points of loops, sums of parts, and the
 * steps of a bundle together. What is added to is cleared before, where its
 * terms do not write each number once. The order is that of tensor/run, so that
 * both have the same bits.
 *
 *   needs   code/text tensor/arena tensor/nests tensor/binding tensor/open
 *           tensor/programs tensor/sharing tensor/parts tensor/run
 *           tensor/pointwise tensor/bundles tensor/emission tensor/points
 *           tensor/loops
 *   offers  adx_say_step
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- what is done at a point --------------------------------------------- */

// Returns the indices of the number that the term of a loop writes.
static const int64_t *adx_written_at(adx_emission *e, const adx_looping *k)
{
    const adx_spot_of at = { k->term->set, NULL };
    const adx_access out = { k->value, k->term->out };
    return adx_indices_at(e, &at, out);
}

// Writes what a term of a sum does at one point: it adds its product to a
// number or, if nothing else adds to that number, stores it.
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

// Writes the code of a point of an application: its number is stored.
static void adx_say_application_term(adx_emission *e, const adx_looping *k)
{
    const adx_spot_of at = { k->term->set, NULL };
    uint32_t number = adx_say_application_at(e, k->value, &at);
    adx_say_indent(e);
    adx_say_place(e, k->value, adx_written_at(e, k), true);
    adx_say(&e->text, " = v%lu;\n", (unsigned long)number);
}

// Writes the code of a point of a maximum or minimum: the number is stored if
// it is better than the best so far, or is NaN.
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

// Writes "done[3*x0]": whether the number of a most at these indices is picked.
static void adx_say_done(adx_emission *e, const adx_looping *k,
                         const int64_t *index)
{
    const adx_tensor_value *most = adx_tensor_value_at(e->f->t, k->term->most);
    int64_t *place = ADX_GET(e->a, e->width, int64_t);
    if (place == NULL || index == NULL)
        return;
    place[0] = most->first;
    for (uint32_t d = 0; d < most->dims; d++) {
        for (uint32_t j = 0; j < e->width; j++)
            place[j] += most->stride[d] * index[(size_t)d * e->width + j];
        adx_add_least(e->a, place, -most->stride[d], most, d,
                      adx_open_of(e->f->t));
    }
    e->picks = true;
    adx_say(&e->text, "done[");
    adx_say_affine(e, place);
    adx_say(&e->text, "]");
}

// Writes the code of a point that makes its extreme be not picked yet.
static void adx_say_forgotten(adx_emission *e, const adx_looping *k)
{
    const adx_spot_of at = { k->term->set, NULL };
    const adx_access best = { k->term->most, k->term->at };
    adx_say_indent(e);
    adx_say_done(e, k, adx_indices_at(e, &at, best));
    adx_say(&e->text, " = 0;\n");
}

// Writes the first point at which the number that is picked is the largest one.
static void adx_say_pick(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_term *term = k->term;
    const adx_spot_of at = { term->set, NULL };
    const adx_access best = { term->most, term->at };
    const int64_t *picked = adx_indices_at(e, &at, term->picked);
    const int64_t *index = adx_indices_at(e, &at, best);
    const adx_sum_text to = { NULL, k->value, adx_written_at(e, k), 0 };
    adx_numbers_read o = { .e = e };
    adx_say_indent(e);
    adx_say(&e->text, "if (!");
    adx_say_done(e, k, index);
    adx_say(&e->text, " && ");
    adx_say_place(e, term->picked.value, picked, false);
    adx_say(&e->text, " == ");
    adx_say_place(e, term->most, index, false);
    adx_say(&e->text, ") {\n");
    e->open++;
    adx_say_indent(e);
    adx_say_done(e, k, index);
    adx_say(&e->text, " = 1;\n");
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

// Writes what the loops do at one point.
static void adx_say_at_point(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, k->value);
    adx_begin_body(e, k->term->set->vars);
    if (k->doing == ADX_DOING_ZEROS) {
        adx_say_indent(e);
        adx_say_place(e, k->value, adx_written_at(e, k), true);
        adx_say(&e->text, " = 0;\n");
    } else if (k->doing == ADX_DOING_FORGET)
        adx_say_forgotten(e, k);
    else if (k->term->most != 0)
        adx_say_pick(e, k);
    else if (v->kind == ADX_VALUE_SUM)
        adx_say_sum_term(e, k);
    else if (v->kind == ADX_VALUE_MOST)
        adx_say_most_term(e, k);
    else
        adx_say_application_term(e, k);
}

// Writes a*b at a point of a reduction, added to one of eight sums.
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

// Writes a reduction in eight sums, as adx_add_products forms them.
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

// Writes a loop over index d of a value.
static void adx_say_index_loop(adx_emission *e, uint32_t value, uint32_t d,
                               int64_t index[])
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    unsigned long x = d;
    if (v->range.from != NULL) {
        adx_say_open_index(e, v, d, index);
        return;
    }
    index[(size_t)d * e->width + 1 + d] = 1;
    if (adx_is_run_index(e, value, d))
        adx_say_run_index(e, d);
    else if (adx_is_cut(e, ADX_STEP_TERMS, d))
        ADX_SAY_OPEN(e, "for (long x%lu = lo; x%lu < hi; x%lu++)", x, x, x);
    else
        adx_say_counted(e, x, v->low[d], v->low[d] + v->extent[d] - 1);
}

/* --- loops of a value ---------------------------------------------------- */

// Writes the loops from a level on.
static void adx_say_levels(adx_emission *e, const adx_looping *k,
                           uint32_t first)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, k->value);
    bool reduces = k->doing == ADX_DOING_TERM && k->term->most == 0
                && adx_reduces(v, k->term);
    uint32_t levels = k->nest->levels - (reduces ? 1 : 0);
    for (uint32_t l = first; l < levels; l++)
        if (l < k->nest->open)
            adx_say_size_level(k, &k->nest->level[l]);
        else
            adx_say_level(k, &k->nest->level[l]);
    if (reduces)
        adx_say_reduction(e, k, &k->nest->level[levels]);
    else {
        if (e->open == 0)
            ADX_SAY_BLOCK(e);
        adx_say_at_point(e, k);
    }
}

// Writes loops over the points of a part that are listed (tensor/parts), or
// else over all of them.
static void adx_say_listed(adx_emission *e, adx_looping *k)
{
    const adx_part_list *l = k->part->list;
    uint32_t open = e->open;
    unsigned long start = adx_table_number(e, l->start, l->parts + 1,
                                           ADX_TABLE_WORDS);
    unsigned long x = adx_table_number(e, l->x, l->start[l->parts] * l->levels,
                                       ADX_TABLE_INTS);
    e->listed = true;
    ADX_SAY_OPEN(e, "if (which >= 0)");
    ADX_SAY_OPEN(e, "for (unsigned long long q = t%lu[which]; q < t%lu[which"
                 " + 1]; q++)", start, start);
    for (uint32_t i = 0; i < l->levels; i++) {
        unsigned long var = l->nest->level[i].var;
        ADX_SAY_LINE(e, "const long x%lu = t%lu[%lu*q + %lu];", var, x,
                     (unsigned long)l->levels, (unsigned long)i);
        ADX_SAY_LINE(e, "(void)x%lu;", var);
    }
    adx_say_levels(e, k, l->levels);
    adx_close_to(e, open);
    k->part = NULL;
    ADX_SAY_OPEN(e, "else");
}

// Writes the loops of a term, with what they do at each point.
static void adx_say_loops(adx_emission *e, uint32_t value,
                          const adx_tensor_term *term, adx_doing doing,
                          const adx_nest_level *cut)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    adx_looping k = {
        e, value, term, term->loop->nest, doing, cut,
        e->cut != NULL && e->cut->way == ADX_STEP_TERMS
            ? &v->cut->term[term - v->term] : NULL
    };
    uint32_t open = e->open;
    adx_begin_variables(e, term->set->vars);
    if (k.nest->empty)
        return;
    if (e->in_run) {
        ADX_SAY_BLOCK(e);
        adx_say_run_index(e, k.nest->level[0].var);
    }
    if (k.part != NULL && k.part->list != NULL)
        adx_say_listed(e, &k);
    adx_say_part_check(&k, NULL);
    adx_say_levels(e, &k, e->in_run ? 1 : 0);
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
    e->into_sums = value;
    adx_say_place(e, value, index, true);
    e->into_sums = 0;
    adx_say(&e->text, ";\n");
    adx_close_to(e, open);
}

// Writes the parts of one term, one after the other, or one of them: `first` is
// the number of the term's first one.
static void adx_say_parts_of(adx_emission *e, uint32_t value, uint32_t term,
                             unsigned long first)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const adx_term_cut *c = &v->cut->term[term];
    const adx_nest *nest = v->term[term].loop->nest;
    unsigned long parts = c->parts;
    uint64_t span = (uint64_t)(c->to - c->from);
    uint32_t open = e->open;
    if (e->cut == NULL)
        ADX_SAY_OPEN(e, "for (long part = 0; part < %lu; part++)", parts);
    else {
        ADX_SAY_OPEN(e, "if (which >= %lu && which < %lu)", first,
                     first + parts);
        ADX_SAY_LINE(e, "const long part = which - %lu;", first);
    }
    ADX_SAY_LINE(e, "for (long i = 0; i < %llu; i++) sums[i] = 0;",
                 (unsigned long long)v->span);
    for (int next = 0; c->form.n > 0 && next < 2; next++)
        ADX_SAY_LINE(e, "const long %s = %lld + %llu*(part + %d)"
                     " + %llu*(part + %d)/%lu;", next ? "hi" : "lo",
                     (long long)c->from, (unsigned long long)(span / parts),
                     next, (unsigned long long)(span % parts), next, parts);
    e->sums = true;
    e->into_sums = value;
    adx_say_loops(e, value, &v->term[term], ADX_DOING_TERM,
                  c->form.n > 0 ? &nest->level[c->last] : NULL);
    e->into_sums = 0;
    if (e->cut == NULL)
        adx_say_added_sums(e, value);
    adx_close_to(e, open);
}

/* --- a value by loops ---------------------------------------------------- */

// Writes code that gives all numbers of a value 0, or what a most begins with.
static void adx_say_all_zeros(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    adx_begin_variables(e, adx_open_of(e->f->t) + v->dims);
    int64_t *index = ADX_GET(e->a, (size_t)v->dims * e->width, int64_t);
    uint32_t open = e->open;
    for (uint32_t d = 0; index != NULL && d < v->dims; d++)
        adx_say_index_loop(e, value, d, index);
    adx_say_indent(e);
    adx_say_place(e, value, index, true);
    if (v->kind == ADX_VALUE_MOST)
        adx_say(&e->text, " = %s%s;\n", v->op == ADREV_OP_min ? "" : "-",
                adx_infinity(&e->text));
    else
        adx_say(&e->text, " = 0;\n");
    adx_close_to(e, open);
}

// Writes the code that clears what the terms of a value add to.
static void adx_say_zeros_of(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    if (adx_clears_all(v))
        adx_say_all_zeros(e, value);
    else if (!v->once)
        for (uint32_t j = 0; j < v->terms; j++)
            adx_say_loops(e, value, &v->term[j], ADX_DOING_ZEROS, NULL);
}

// Writes code by which nothing is picked yet by the terms from `term` on that
// pick from one value; a part says so of numbers of its own.
static void adx_say_no_picks(adx_emission *e, uint32_t value, uint32_t term)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    uint32_t most = v->term[term].most;
    e->picks = true;
    if (e->cut == NULL)
        ADX_SAY_LINE(
            e, "for (unsigned long i = 0; i < %llu; i++) done[i] = 0;",
            (unsigned long long)adx_tensor_value_at(e->f->t, most)->span);
    for (uint32_t j = term; e->cut != NULL && j < v->terms
                            && v->term[j].most == most; j++)
        adx_say_loops(e, value, &v->term[j], ADX_DOING_FORGET, NULL);
}

// Writes the code of a value as loops over the points of its terms.
static void adx_say_looped(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    uint32_t picking = 0;
    bool cleared = e->cut != NULL && e->cut->clears;
    if (!cleared && (!e->in_run || e->f->run_of[value] != 0))
        adx_say_zeros_of(e, value);
    for (uint32_t j = 0; j < v->terms; j++) {
        uint32_t most = v->term[j].most;
        if (most != 0 && most != picking)
            adx_say_no_picks(e, value, j);
        picking = most;
        adx_say_loops(e, value, &v->term[j], ADX_DOING_TERM, NULL);
    }
}

// Writes the computation of a value: point by point, as sums of parts, or as
// loops.
static void adx_say_value(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    if (v->size == 0)
        return;
    if (e->f->shape[value] != NULL)
        adx_say_pointwise(e, value);
    else if (adx_has_sums(v)) {
        unsigned long first = 0;
        if (e->cut == NULL)
            adx_say_all_zeros(e, value);
        for (uint32_t j = 0; j < v->terms; j++) {
            adx_say_parts_of(e, value, j, first);
            first += v->cut->term[j].parts;
        }
    } else
        adx_say_looped(e, value);
}

/* --- bundles (tensor/bundles) -------------------------------------------- */

// Opens "if (n7) {": a step of a bundle is needed.
static void adx_say_flag(adx_emission *e, uint32_t value)
{
    e->flag[value] = true;
    ADX_SAY_OPEN(e, "if (n%lu)", (unsigned long)value);
}

// Writes all steps of a bundle, in one loop. What is added to here and there is
// made 0 before.
static void adx_say_together(adx_emission *e, uint32_t leader)
{
    const adx_tensor_program *p = e->f->t->program;
    const adx_outer o = adx_outer_of(e->f, leader);
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (e->f->bundle[v] != leader || e->f->run_of[v] != 0)
            continue;
        adx_say_flag(e, v);
        adx_say_zeros_of(e, v);
        adx_close_to(e, 0);
    }
    if (e->cut != NULL)
        ADX_SAY_OPEN(e, "for (long e = lo; e < hi; e++)");
    else
        ADX_SAY_OPEN(e, "for (long e = %lld; e <= %lld; e++)", (long long)o.low,
                     (long long)o.high);
    e->in_run = true;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (e->f->bundle[v] != leader)
            continue;
        adx_say_flag(e, v);
        adx_say_value(e, v);
        adx_close_to(e, 1);
    }
    e->in_run = false;
    adx_close_to(e, 0);
}

// Writes the body of the C function that computes a value, and those that it
// hosts; or, of the first value of a bundle, of all of that. read, written,
// flag and the tables say which parameters it has.
static void adx_say_step(adx_emission *e, uint32_t value)
{
    uint32_t values = e->f->t->program->values;
    memset(e->size, 0, adx_open_of(e->f->t) * sizeof *e->size);
    memset(e->read, 0, values * sizeof *e->read);
    memset(e->written, 0, values * sizeof *e->written);
    memset(e->flag, 0, values * sizeof *e->flag);
    for (uint32_t i = 0; i < e->tables->n; i++)
        e->tables->table[i].read = false;
    e->picks = e->sums = e->in_run = e->listed = false;
    e->into_sums = 0;
    e->cut = e->f->cut == NULL || e->f->cut[value].way == ADX_STEP_WHOLE ? NULL
           : &e->f->cut[value];
    e->open = e->numbers = 0;
    e->local = NULL;
    if (e->f->bundle[value] == value)
        adx_say_together(e, value);
    else
        adx_say_value(e, value);
}

ADX_SELDOM_END
