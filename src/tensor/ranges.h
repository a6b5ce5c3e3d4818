#pragma once

/* === tensor/ranges ==========================================================
 * How a step of machine code is cut into parts. A part has a range of one loop:
 * of an index of the value, of its points as tensor/parts cuts them, or of the
 * runs of a block. What it writes, no other part writes or reads, so bits do
 * not depend on the parts. Sums of parts are those of tensor/parts.
 *
 * Thin values have memory for all runs, of which a step uses that of the first:
 * so a part uses that of its first run.
 *
 *   needs   tensor/arena tensor/binding tensor/programs tensor/sharing
 *           tensor/parts tensor/run tensor/pointwise tensor/fusion
 *           tensor/blocks
 *   offers  adx_cut_steps
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- how many points ----------------------------------------------------- */

// Counts the points of the loops of a value.
static double adx_points_of_step(const adx_fusion *f, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, value);
    double n = 0;
    if (f->shape[value] != NULL)
        return adx_box_size(&f->shape[value]->domain, v->dims);
    for (uint32_t i = 0; i < v->terms; i++)
        n += (double)adx_points_from(v->term[i].loop->nest, 0);
    return n;
}

// Returns into how many parts so many points are cut, if one loop can have
// `most`.
static uint32_t adx_parts_of_points(double points, int64_t most)
{
    double parts = points / ADX_PART_LEAST;
    if (points < (double)ADX_FORK_LEAST)
        return 1;
    parts = parts < ADX_PARTS_MOST ? parts : ADX_PARTS_MOST;
    return parts < (double)most ? (uint32_t)parts : (uint32_t)most;
}

/* --- ways ---------------------------------------------------------------- */

// Returns the index with the longest strides of those that have enough values;
// if none has, the one with most.
static void adx_cut_index(const adx_fusion *f, uint32_t value, adx_step_cut *to)
{
    const adx_box *all = &f->shape[value]->domain;
    uint32_t dims = adx_tensor_value_at(f->t, value)->dims;
    int64_t most = 0;
    double far = -1;
    for (uint32_t d = 0; d < dims; d++) {
        int64_t extent = all->high[d] - all->low[d] + 1;
        extent = extent < ADX_PARTS_MOST ? extent : ADX_PARTS_MOST;
        double stride = adx_stride_along(f, value, d);
        if (extent < most || (extent == most && stride <= far))
            continue;
        most = extent;
        far = stride;
        to->dim = d;
    }
    to->parts = adx_parts_of_points(adx_points_of_step(f, value), most);
    if (to->parts < 2)
        return;
    to->way = ADX_STEP_INDEX;
    to->from = all->low[to->dim];
    to->to = all->high[to->dim] + 1;
}

// Whether C code can have the points of a part of a term: eight sums are not
// cut.
static bool adx_can_cut_term(const adx_tensor_value *v, uint32_t j)
{
    const adx_tensor_term *term = &v->term[j];
    const adx_term_cut *c = &v->cut->term[j];
    uint32_t last = term->loop->nest->levels - 1;
    bool reduced = c->form.n > 0 && c->last == last && adx_reduces(v, term);
    for (uint32_t i = 0; i < c->form.n; i++)
        reduced = reduced || (c->level[i] == last && adx_reduces(v, term));
    return !reduced;
}

// Cuts a step as its value is cut.
static void adx_cut_terms(const adx_tensor_value *v, adx_step_cut *to)
{
    bool sums = adx_has_sums(v);
    for (uint32_t j = 0; j < v->terms && !sums; j++)
        if (!adx_can_cut_term(v, j))
            return;
    to->way = sums ? ADX_STEP_SUMS : ADX_STEP_TERMS;
    to->dim = v->cut->kind == ADX_CUT_RESULTS ? v->cut->dim : UINT32_MAX;
    to->from = v->cut->from;
    to->to = v->cut->to;
    to->parts = v->cut->parts;
    to->clears = v->cut->kind == ADX_CUT_POINTS
              && (!v->once || adx_clears_all(v));
}

// Cuts a block whose steps all write numbers of the run.
static void adx_cut_runs(const adx_fusion *f, uint32_t leader, adx_step_cut *to)
{
    const adx_outer o = adx_outer_of(f, leader);
    double points = 0;
    for (uint32_t i = 1; i < f->t->program->values; i++) {
        if (f->block[i] != leader)
            continue;
        points += adx_points_of_step(f, i);
        if (f->run_of[i] == 0)
            return;
    }
    to->parts = adx_parts_of_points(points, o.high - o.low + 1);
    if (to->parts < 2)
        return;
    to->way = ADX_STEP_RUNS;
    to->from = o.low;
    to->to = o.high + 1;
}

// Cuts the steps of a part, whose blocks are known. False: no memory.
static bool adx_cut_steps(adx_fusion *f)
{
    const adx_tensor_program *p = f->t->program;
    f->cut = ADX_GET(f->a, p->values, adx_step_cut);
    for (uint32_t i = 0; f->parts && f->cut != NULL && i < p->steps; i++) {
        uint32_t value = p->order[i];
        const adx_tensor_value *v = adx_tensor_value_at(f->t, value);
        adx_step_cut *to = &f->cut[value];
        to->dim = UINT32_MAX;
        if (!f->needed[value] || !f->spelled[value] || v->size == 0
            || adx_is_follower(f, value))
            continue;
        if (f->block[value] == value)
            adx_cut_runs(f, value, to);
        else if (f->shape[value] != NULL)
            adx_cut_index(f, value, to);
        else if (v->cut != NULL)
            adx_cut_terms(v, to);
    }
    return f->cut != NULL;
}

ADX_SELDOM_END
