#pragma once

/* === tensor/prepare =======================================================
 * What a program needs before it is evaluated for the first time, and keeps:
 * the loops of its terms, with the innermost one along numbers that are evenly
 * spaced; and how its values are cut into parts.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/nests tensor/binding
 *           tensor/programs tensor/entries tensor/sharing tensor/derive
 *           tensor/parts tensor/matrices tensor/gathers tensor/storage
 *   offers  adx_find_results adx_prepare_program adx_clear_results
 * ========================================================================== */

// Finds the places of the numbers that a term reads or writes, and how far they
// are apart along the innermost loop. False: no memory.
static bool adx_make_stream(ad_tensor *t, const adx_set *s, adx_access from,
                            uint32_t inner, adx_stream_of *to)
{
    int64_t *form = ADX_GET(&t->arena, s->width, int64_t);
    if (form == NULL)
        return false;
    adx_place_form(s, adx_tensor_value_at(t, from.value), from.row, true, form);
    to->stride = inner == UINT32_MAX ? 0 : form[1 + inner];
    return adx_make_sparse_form(s, form, UINT32_MAX, &to->place);
}

// Returns how well a variable serves as the innermost one: numbers that are
// next to one another, or the same. *far: how far apart they are, together.
static int adx_score_inner(ad_tensor *t, const adx_tensor_term *term,
                           uint32_t value, uint32_t var, int64_t form[],
                           int64_t *far)
{
    int score = 0;
    *far = 0;
    for (uint32_t i = 0; i <= term->factors; i++) {
        const adx_access to = i == 0 ? (adx_access){ value, term->out }
                                     : term->factor[i - 1];
        adx_place_form(term->set, adx_tensor_value_at(t, to.value), to.row,
                       true, form);
        int64_t stride = form[1 + var];
        score += stride == 0 ? (i == 0 ? 2 : 3) : adx_is_unit(stride) ? 3 : 0;
        *far = adx_whole_add(&t->arena, *far, stride < 0 ? -1 : 1, stride);
    }
    return score;
}

// Whether a map is asked for what depends on a variable: other variables get
// their values after this one.
static bool adx_is_argument(const adx_set *s, uint32_t v)
{
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind == ADX_ROW_VALUE
            && adx_form_of(s, s->row[r].at)[1 + v] != 0)
            return true;
    return false;
}

// Returns the variable that should be the innermost one, and the strides along
// all.
static uint32_t adx_choose_inner(ad_tensor *t, const adx_tensor_term *term,
                                 uint32_t value, int64_t stride[])
{
    const adx_set *s = term->set;
    int64_t *form = ADX_GET(&t->arena, s->width, int64_t);
    uint32_t best = UINT32_MAX;
    int most = -1;
    for (uint32_t v = s->open; form != NULL && v < s->vars; v++) {
        int score = adx_score_inner(t, term, value, v, form, &stride[v]);
        if (s->gone[v] || s->high[v] - s->low[v] < 3 || adx_is_argument(s, v))
            continue;
        if (score >= most) {
            most = score;
            best = v;
        }
    }
    return best;
}

// Returns the loops of a term. NULL: no memory.
static adx_loop *adx_make_loop(ad_tensor *t, uint32_t value,
                               adx_tensor_term *term)
{
    adx_loop *l = ADX_GET(&t->arena, 1, adx_loop);
    const adx_set *s = term->set;
    if (l == NULL)
        return NULL;
    bool picks = term->most != 0
              || adx_tensor_value_at(t, value)->kind == ADX_VALUE_MOST;
    int64_t *stride = ADX_GET(&t->arena, s->width, int64_t);
    if (stride == NULL)
        return NULL;
    uint32_t best = adx_choose_inner(t, term, value, stride);
    if (t->open == NULL)
        l->matrices = adx_find_matrices(t, value, term, stride, &l->nest);
    if (l->matrices == NULL)
        l->nest = picks ? adx_make_nest(s, ADX_IN_ORDER, NULL)
                        : adx_make_nest(s, best, stride);
    l->found_by = l->nest;
    return l->nest != NULL
           && (l->matrices != NULL || t->open != NULL
               || adx_use_entries(t, &term->set, &l->nest)) ? l : NULL;
}

// Finds where the loops of a term read and write. False: no memory.
static bool adx_make_streams(ad_tensor *t, uint32_t value,
                             const adx_tensor_term *term)
{
    adx_loop *l = term->loop;
    const adx_set *s = term->set;
    bool picks = term->most != 0
              || adx_tensor_value_at(t, value)->kind == ADX_VALUE_MOST;
    uint32_t inner = l->nest->levels == l->nest->open ? UINT32_MAX
                   : l->nest->level[l->nest->levels - 1].var;
    const adx_access out = { value, term->out };
    bool ok = adx_make_stream(t, s, out, inner, &l->out);
    for (uint32_t i = 0; i < term->factors; i++)
        ok = ok && adx_make_stream(t, s, term->factor[i], inner, &l->factor[i]);
    if (term->most != 0) {
        const adx_access at = { term->most, term->at };
        ok = ok && adx_make_stream(t, s, at, inner, &l->at)
          && adx_make_stream(t, s, term->picked, inner, &l->picked);
    }
    const adx_sparse_form *const read[] = {
        &l->factor[0].place, &l->factor[1].place, &l->factor[2].place
    };
    if (ok && l->matrices == NULL && !picks && t->open == NULL)
        l->gathers = adx_make_gathers(s, l->nest, &l->out.place, read,
                                      term->factors);
    l->points = adx_box_points(s);
    if (s->vars > t->program->vars)
        t->program->vars = s->vars;
    return ok;
}

// Finds the results of a part: all that a query of it can give.
static ADX_UNUSED void adx_find_results(const ad_tensor *t, ad_tensor_part part,
                                        bool result[])
{
    const adx_tensor_program *p = t->program;
    for (uint32_t i = 0; i < t->tree.outs && part != ADREV_TENSOR_HVP; i++)
        result[p->out[i]] = true;
    for (uint32_t i = 0; i < t->tree.outs && part == ADREV_TENSOR_JVP; i++)
        result[p->tangent_out[i]] = true;
    for (uint32_t i = 0; i < t->tree.inputs && part >= ADREV_TENSOR_VJP; i++)
        result[part == ADREV_TENSOR_VJP ? p->adjoint_in[i]
                                        : p->second_in[i]] = true;
    result[0] = false;          // results that nothing adds to
}

// Decides how a value is cut into parts, and what memory that takes.
static void adx_prepare_cut(ad_tensor *t, adx_tensor_value *v)
{
    adx_tensor_program *p = t->program;
    const adx_nest **nest = ADX_GET(&t->arena, v->terms, const adx_nest *);
    bool ok = nest != NULL;
    for (uint32_t j = 0; ok && j < v->terms; j++) {
        ok = v->term[j].loop != NULL;
        nest[j] = ok ? v->term[j].loop->nest : NULL;
    }
    if (!ok || !adx_cut_value(t, v, nest, &v->cut) || v->cut == NULL)
        return;
    if (v->cut->parts > p->parts)
        p->parts = v->cut->parts;
    for (uint32_t j = 0; j < v->terms; j++)
        for (uint32_t l = 0; l < nest[j]->levels; l++)
            if (nest[j]->level[l].bounds > p->bounds)
                p->bounds = nest[j]->level[l].bounds;
    if (v->cut->kind == ADX_CUT_SUMS && v->span > p->sums)
        p->sums = v->span;
    if (v->cut->kind == ADX_CUT_SUMS && v->span * v->cut->parts > p->all_sums)
        p->all_sums = v->span * v->cut->parts;
}

// Copies values and terms for tensor/explain: as they are before loops are over
// lists and numbers on entries. False: no memory.
static bool adx_keep_spelt(ad_tensor *t)
{
    adx_tensor_program *p = t->program;
    p->spelt = ADX_GET(&t->arena, p->values, adx_tensor_value);
    if (p->spelt == NULL)
        return false;
    memcpy(p->spelt, p->value, p->values * sizeof *p->spelt);
    for (uint32_t i = 1; i < p->values; i++) {
        adx_tensor_value *v = &p->spelt[i];
        const adx_tensor_term *of = v->term;
        v->term = ADX_GET(&t->arena, v->terms, adx_tensor_term);
        v->low = ADX_GET(&t->arena, v->dims, int64_t);
        v->extent = ADX_GET(&t->arena, v->dims, int64_t);
        if (v->term == NULL || v->low == NULL || v->extent == NULL)
            return false;
        if (v->terms > 0)
            memcpy(v->term, of, v->terms * sizeof *of);
        for (uint32_t d = 0; d < v->dims; d++) {
            v->low[d] = p->value[i].low[d];
            v->extent[d] = p->value[i].extent[d];
        }
    }
    return true;
}

// Chooses the loops of a value's terms.
static void adx_choose_loops(ad_tensor *t, uint32_t value)
{
    adx_tensor_value *v = adx_tensor_value_at(t, value);
    adx_all_written(t, value);
    v->once = v->terms == 1 && v->term[0].most == 0
           && v->kind == ADX_VALUE_SUM && adx_writes_once(v, &v->term[0]);
    bool all = v->kind != ADX_VALUE_SUM;        // reads what is 0, too
    for (uint32_t j = 0; j < v->terms; j++) {
        adx_tensor_term *term = &v->term[j];
        for (uint32_t f = 0; all && f < term->factors; f++)
            if (!adx_all_written(t, term->factor[f].value))
                adx_tensor_value_at(t, term->factor[f].value)->cleared = true;
        term->loop = adx_make_loop(t, value, term);
        if (term->loop == NULL)
            adx_arena_fail(&t->arena, ADREV_ENOMEM);
        t->program->spelt[value].term[j].loop = term->loop;
    }
}

// Prepares all values that results need.
static void adx_prepare_program(ad_tensor *t)
{
    adx_tensor_program *p = t->program;
    bool *needed = ADX_GET(&t->arena, p->values, bool);
    if (needed == NULL || !adx_keep_spelt(t))
        return;
    for (uint32_t i = 0; i < t->tree.outs; i++)
        needed[p->out[i]] = needed[p->tangent_out[i]] = true;
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        needed[p->adjoint_in[i]] = needed[p->second_in[i]] = true;
    adx_need_all(p, needed);
    for (uint32_t i = 0; i < p->steps && t->arena.status == ADREV_OK; i++)
        if (needed[p->order[i]])
            adx_choose_loops(t, p->order[i]);
    if (t->arena.status == ADREV_OK && t->open == NULL)
        adx_store_on_entries(t, needed);
    for (uint32_t i = 0; i < p->steps && t->arena.status == ADREV_OK; i++) {
        adx_tensor_value *v = adx_tensor_value_at(t, p->order[i]);
        if (!needed[p->order[i]])
            continue;
        for (uint32_t j = 0; j < v->terms; j++)
            if (!adx_make_streams(t, p->order[i], &v->term[j]))
                adx_arena_fail(&t->arena, ADREV_ENOMEM);
        if (v->kind == ADX_VALUE_MOST && v->span > p->picks)
            p->picks = v->span;
        if (t->open == NULL)
            adx_prepare_cut(t, v);
    }
}

// Numbers that the caller is given must all be there.
static void adx_clear_results(ad_tensor *t, const uint32_t value[], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (value[i] != 0 && !adx_all_written(t, value[i]))
            adx_tensor_value_at(t, value[i])->cleared = true;
}
