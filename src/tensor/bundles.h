#pragma once

/* === tensor/bundles =========================================================
 * Steps whose outermost loops run over the same range become one loop, a
 * bundle, if they exchange numbers only within one run of it. A value that only
 * steps of its bundle read is thin: it has memory for one run. So what is
 * between the entries of a relation, or the cases of a batch, stays in the
 * cache.
 *
 * A step that adds to numbers of many runs keeps all of its bundle on one
 * thread. Where a pool is in use when the code is made, and tensor/parts cuts
 * that step, it is in no bundle, unless it reads much that would be thin.
 *
 * At the end of this room steps are cut into parts, which threads share.
 *
 *   needs   tensor/arena tensor/sets tensor/nests tensor/binding
 *           tensor/programs tensor/sharing tensor/derive tensor/parts
 *           tensor/run tensor/pointwise tensor/fusion
 *   offers  adx_outer adx_outer_of adx_is_follower adx_find_bundles
 *           adx_cut_steps
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_BUNDLE_VALUES 2000  // programs with more have no bundles
#define ADX_BUNDLE_RUNS   64    // runs of a bundle, at least
#define ADX_BUNDLE_READS  8     // points for each number of others: no bundle

// The outermost loop of a step; `dim` is the index of its value that it runs
// over, or UINT32_MAX.
typedef struct adx_outer {
    bool there;
    uint32_t dim;
    int64_t low, high;
} adx_outer;

/* --- outermost loops ----------------------------------------------------- */

// Returns the index that has the longest strides, as adx_order_indices has it
// first, if no edge is cut off along it.
static adx_outer adx_outer_of_points(const adx_fusion *f, uint32_t value)
{
    const adx_pointwise *p = f->shape[value];
    uint32_t dims = adx_tensor_value_at(f->t, value)->dims;
    adx_outer to = { false, 0, 0, 0 };
    for (uint32_t d = 1; d < dims; d++)
        if (adx_stride_along(f, value, d) > adx_stride_along(f, value, to.dim))
            to.dim = d;
    if (dims == 0 || p->core.low[to.dim] != p->domain.low[to.dim]
        || p->core.high[to.dim] != p->domain.high[to.dim])
        return to;
    to.low = p->core.low[to.dim];
    to.high = p->core.high[to.dim];
    to.there = to.high - to.low >= ADX_BUNDLE_RUNS;
    return to;
}

// Whether row r of a set is the variable v and nothing else.
static bool adx_is_row_of(const adx_set *s, uint32_t r, uint32_t v)
{
    const int64_t *row = adx_form_of(s, r);
    uint32_t count;
    uint32_t some = 0;
    adx_divisor_of(s, row, &count, &some);
    return count == 1 && some == v && row[0] == 0 && row[1 + v] == 1;
}

// Whether a step gains more from being cut than from a bundle that is not: it
// reads fewer numbers of other steps than it has points. A bundle of a step
// that reads as many gains twice its time on one thread.
static bool adx_is_better_cut(const adx_fusion *f, const adx_tensor_value *v)
{
    uint64_t numbers = 0;
    if (!f->shares || v->cut == NULL)
        return false;
    for (uint32_t i = 0; i < v->term[0].factors; i++) {
        const adx_tensor_value *x =
            adx_tensor_value_at(f->t, v->term[0].factor[i].value);
        numbers += x->kind <= ADX_VALUE_WEIGHT ? 0 : x->size;
    }
    return adx_points_from(v->term[0].loop->nest, 0)
           >= ADX_BUNDLE_READS * numbers;
}

// Returns the outermost loop of a step that is loops: all terms begin with the
// same plain range.
static adx_outer adx_outer_of_loops(const adx_fusion *f, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, value);
    adx_outer to = { v->kind == ADX_VALUE_SUM && v->terms > 0
                         && !adx_has_sums(v) && adx_clears_all(v), 0, 0, 0 };
    for (uint32_t j = 0; j < v->terms && to.there; j++) {
        const adx_nest *n = v->term[j].loop->nest;
        const adx_nest_level *l = n->level;
        to.there = v->term[j].most == 0 && !n->empty && n->levels > 0
                && l->kind == ADX_LEVEL_RANGE && l->bounds == 0
                && l->checks == 0 && !v->term[j].set->gone[l->var]
                && (n->levels > 1 || !adx_reduces(v, &v->term[j]))
                && l->high - l->low >= ADX_BUNDLE_RUNS
                && (j == 0 || (l->low == to.low && l->high == to.high));
        to.low = l->low;
        to.high = l->high;
    }
    for (to.dim = 0; to.there && to.dim < v->dims; to.dim++) {
        bool all = v->low[to.dim] == to.low
                && v->low[to.dim] + v->extent[to.dim] - 1 == to.high;
        for (uint32_t j = 0; j < v->terms; j++)
            all = all && adx_is_row_of(v->term[j].set, v->term[j].out + to.dim,
                                       v->term[j].loop->nest->level[0].var);
        if (all)
            return to;
    }
    // What is added to in many runs has all points of a term before those of
    // the next one.
    to.dim = UINT32_MAX;
    to.there = to.there && v->terms == 1 && !adx_is_better_cut(f, v);
    return to;
}

// Returns the outermost loop of a step, if it can be that of a bundle.
static adx_outer adx_outer_of(const adx_fusion *f, uint32_t value)
{
    const adx_outer none = { false, 0, 0, 0 };
    return !f->spelled[value] ? none
         : f->shape[value] != NULL ? adx_outer_of_points(f, value)
                                   : adx_outer_of_loops(f, value);
}

// Whether the loops of two steps can be one.
static bool adx_same_outer(const adx_outer *one, const adx_outer *other)
{
    return one->there && other->there && one->low == other->low
        && one->high == other->high;
}

/* --- what is read within a run ------------------------------------------- */

typedef struct adx_bundling {
    adx_fusion *f;
    adx_outer *outer;           // [values]
    uint32_t *place;            // of values in the order of steps
    bool *needed;               // memory
    uint32_t leader;            // of the bundle that is made; 0: none
    uint32_t *made;             // [values] 1 + the index that the run is, of
                                // those that the bundle has made
} adx_bundling;

static bool adx_reads_within(const adx_bundling *k, uint32_t by,
                             const adx_tensor_term *term, const adx_set *s,
                             uint32_t var, bool note);

// Returns the variable of a piece that has the value of index `dim` of `dims`.
// UINT32_MAX: none. (Where there are bundles, no sizes are open.)
static uint32_t adx_variable_of_index(const adx_term_piece *piece,
                                      uint32_t dims, uint32_t dim)
{
    const uint32_t width = 1 + dims + ADX_LOOKUPS_MOST;
    uint32_t found = UINT32_MAX;
    for (uint32_t v = 0; v < piece->set->vars; v++) {
        const int64_t *form = &piece->form[v * width];
        if (form[0] == 0 && form[1 + dim] == 1)
            found = v;
    }
    return found;
}

// The same as adx_reads_within, of what the pieces of x read: x is computed
// where it is read. The run is the index of x that is var in the reader's set.
static bool adx_inlined_within(const adx_bundling *k, adx_access x,
                               const adx_set *s, uint32_t var, bool note)
{
    const adx_pointwise *p = k->f->shape[x.value];
    uint32_t dims = adx_tensor_value_at(k->f->t, x.value)->dims;
    uint32_t dim = 0;
    while (var != UINT32_MAX && dim < dims
           && !adx_is_row_of(s, x.row + dim, var))
        dim++;
    bool along = var != UINT32_MAX && dim < dims;
    if (note && along && k->f->fate[x.value] == ADX_FATE_HOSTED)
        k->made[x.value] = 1 + dim;
    for (uint32_t i = 0; i < p->n; i++) {
        const adx_term_piece *piece = &p->piece[i];
        uint32_t run = along ? adx_variable_of_index(piece, dims, dim)
                             : UINT32_MAX;
        if (!adx_reads_within(k, x.value, piece->term, piece->set, run, note))
            return false;
    }
    return true;
}

// Whether every value that a term reads is there when the run of the bundle
// needs it. The run is the variable var of the set; UINT32_MAX: no variable is.
// A value that is computed where it is read is examined in turn. A value of the
// bundle itself must be read in the row that the same run has made. Any other
// value must have been computed before the leader of the bundle. note: notes
// what the bundle makes.
static bool adx_reads_within(const adx_bundling *k, uint32_t by,
                             const adx_tensor_term *term, const adx_set *s,
                             uint32_t var, bool note)
{
    const adx_fusion *f = k->f;
    for (uint32_t i = 0; i < term->factors; i++) {
        const adx_access x = term->factor[i];
        bool ok = true;
        if (adx_tensor_value_at(f->t, x.value)->kind <= ADX_VALUE_WEIGHT)
            continue;
        if (adx_is_computed_by(f, x.value, by))
            ok = adx_inlined_within(k, x, s, var, note);
        else if (k->made[x.value] != 0)
            ok = var != UINT32_MAX
              && adx_is_row_of(s, x.row + k->made[x.value] - 1, var);
        else
            ok = k->place[adx_latest_of(f, x.value)] < k->place[k->leader];
        if (!ok)
            return false;
    }
    return true;
}

// Whether a step reads what its bundle has made only within the same run; note:
// notes what it makes.
static bool adx_fits_bundle(const adx_bundling *k, uint32_t value,
                            const adx_outer *o, bool note)
{
    const adx_tensor_value *v = adx_tensor_value_at(k->f->t, value);
    const adx_pointwise *p = k->f->shape[value];
    if (note && o->dim != UINT32_MAX)
        k->made[value] = 1 + o->dim;
    for (uint32_t i = 0; p != NULL && i < p->n; i++) {
        const adx_term_piece *piece = &p->piece[i];
        uint32_t run = o->dim == UINT32_MAX ? UINT32_MAX
                     : adx_variable_of_index(piece, v->dims, o->dim);
        if (!adx_reads_within(k, value, piece->term, piece->set, run, note))
            return false;
    }
    for (uint32_t i = 0; p == NULL && i < v->terms; i++)
        if (!adx_reads_within(k, value, &v->term[i], v->term[i].set,
                              v->term[i].loop->nest->level[0].var, note))
            return false;
    return true;
}

/* --- hosts --------------------------------------------------------------- */

// Whether every step that reads a hosted value also needs the host of that
// value, so that the value is there whenever it is read. A result of the text
// is read from outside.
static bool adx_host_is_needed(const adx_bundling *k, uint32_t value)
{
    const adx_fusion *f = k->f;
    const adx_tensor_program *p = f->t->program;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t by = p->order[i];
        if (!f->needed[by] || !adx_is_read_by(f, value, by))
            continue;
        memset(k->needed, 0, p->values * sizeof *k->needed);
        k->needed[by] = true;
        adx_need_all(p, k->needed);
        if (!k->needed[f->host[value]])
            return false;
    }
    return !f->result[value];
}

// Values whose host may not be needed are better members of its bundle.
static void adx_free_members(const adx_bundling *k)
{
    adx_fusion *f = k->f;
    const adx_tensor_program *p = f->t->program;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (!f->needed[v] || f->fate[v] != ADX_FATE_HOSTED || f->result[v]
            || adx_host_is_needed(k, v))
            continue;
        if (adx_same_outer(&k->outer[v], &k->outer[adx_latest_of(f, v)])) {
            f->fate[v] = ADX_FATE_ALONE;
            f->host[v] = 0;
        }
    }
}

/* --- thin values --------------------------------------------------------- */

// Whether only steps of a bundle read a value, and it is always they who
// compute it.
static bool adx_can_be_thin(const adx_bundling *k, uint32_t value)
{
    const adx_fusion *f = k->f;
    const adx_tensor_program *p = f->t->program;
    if (f->result[value]
        || (f->fate[value] == ADX_FATE_HOSTED && !adx_host_is_needed(k, value)))
        return false;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t by = p->order[i];
        if (!f->needed[by] || !adx_is_read_by(f, value, by))
            continue;
        if (f->bundle[adx_latest_of(f, by)] != k->leader
            || f->fate[by] == ADX_FATE_VIEW
            || (f->fate[by] == ADX_FATE_HOSTED && !adx_host_is_needed(k, by)))
            return false;
    }
    return true;
}

/* --- bundles -------------------------------------------------------------- */

// Whether a step is of a bundle, and not the first one.
static bool adx_is_follower(const adx_fusion *f, uint32_t value)
{
    return f->bundle[value] != 0 && f->bundle[value] != value;
}

// Adds the steps that fit after the leader. Returns how many there are then.
static uint32_t adx_add_members(const adx_bundling *k)
{
    adx_fusion *f = k->f;
    const adx_tensor_program *p = f->t->program;
    uint32_t n = 1;
    for (uint32_t i = k->place[k->leader] + 1; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (!f->needed[v] || f->fate[v] != ADX_FATE_ALONE || f->bundle[v] != 0)
            continue;
        const adx_outer *to = &k->outer[v];
        if (!adx_same_outer(to, &k->outer[k->leader])
            || !adx_fits_bundle(k, v, to, false))
            continue;
        f->bundle[v] = k->leader;
        f->run_of[v] = to->dim == UINT32_MAX ? 0 : 1 + to->dim;
        adx_fits_bundle(k, v, to, true);
        n++;
    }
    return n;
}

// Makes a bundle of a step and of the steps behind it that fit, if a value of
// theirs can be thin.
static void adx_try_bundle(adx_bundling *k, uint32_t leader)
{
    adx_fusion *f = k->f;
    uint32_t values = f->t->program->values;
    const adx_outer *o = &k->outer[leader];
    bool any = false;
    if (!o->there)
        return;
    memset(k->made, 0, values * sizeof *k->made);
    k->leader = leader;
    if (!adx_fits_bundle(k, leader, o, true))
        return;
    f->bundle[leader] = leader;
    f->run_of[leader] = o->dim == UINT32_MAX ? 0 : 1 + o->dim;
    if (adx_add_members(k) > 1)
        for (uint32_t i = 1; i < values; i++)
            if (k->made[i] != 0 && adx_can_be_thin(k, i)) {
                f->thin[i] = k->made[i];
                any = true;
            }
    for (uint32_t i = 1; i < values && !any; i++)
        if (f->bundle[i] == leader)
            f->bundle[i] = 0;
}

// Finds bundles among the steps of a part. False: no memory.
static bool adx_find_bundles(adx_fusion *f)
{
    const adx_tensor_program *p = f->t->program;
    adx_bundling k = { .f = f };
    k.outer = ADX_GET(f->a, p->values, adx_outer);
    k.place = ADX_GET(f->a, p->values, uint32_t);
    k.needed = ADX_GET(f->a, p->values, bool);
    k.made = ADX_GET(f->a, p->values, uint32_t);
    if (f->a->status != ADREV_OK)
        return false;
    if (p->values > ADX_BUNDLE_VALUES || f->t->open != NULL)
        return true;
    for (uint32_t i = 0; i < p->steps; i++) {
        k.place[p->order[i]] = i;
        if (f->needed[p->order[i]])
            k.outer[p->order[i]] = adx_outer_of(f, p->order[i]);
    }
    adx_free_members(&k);
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (f->needed[v] && f->fate[v] == ADX_FATE_ALONE && f->bundle[v] == 0)
            adx_try_bundle(&k, v);
    }
    return f->a->status == ADREV_OK;
}

/* --- parts of steps ---------------------------------------------------------
 * A part of a step has a range of one loop: of an index of the value, of its
 * points as tensor/parts cuts them, or of the runs of a bundle. What it writes,
 * no other part writes or reads, so bits do not depend on the parts. Sums of
 * parts are those of tensor/parts.
 *
 * Thin values have memory for all runs, of which a step uses that of the first:
 * so a
 * part uses that of its first run.                                          */

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

// Cuts a bundle whose steps all write numbers of the run.
static void adx_cut_runs(const adx_fusion *f, uint32_t leader, adx_step_cut *to)
{
    const adx_outer o = adx_outer_of(f, leader);
    double points = 0;
    for (uint32_t i = 1; i < f->t->program->values; i++) {
        if (f->bundle[i] != leader)
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

// Cuts the steps of a part, whose bundles are known. False: no memory.
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
        if (f->bundle[value] == value)
            adx_cut_runs(f, value, to);
        else if (f->shape[value] != NULL)
            adx_cut_index(f, value, to);
        else if (v->cut != NULL)
            adx_cut_terms(v, to);
    }
    return f->cut != NULL;
}

ADX_SELDOM_END
