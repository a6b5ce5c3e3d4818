#pragma once

/* === tensor/fusion ==========================================================
 * Which values are computed where they are read. A value that is read once, at
 * one point for each of its numbers, is an expression there and never stored. A
 * value that is read more often may be computed, and stored, where its first
 * reader meets each of its numbers once. All others are computed on their own.
 * No operation is done twice, and none in another order.
 *
 *   needs   core/cells code/text tensor/api tensor/arena tensor/sets
 *           tensor/binding tensor/open tensor/programs tensor/sharing
 *           tensor/derive tensor/parts tensor/storage tensor/prepare
 *           tensor/pointwise
 *   offers  ADX_FATE_ALONE ADX_FATE_INLINED ADX_FATE_VIEW ADX_FATE_HOSTED
 *           adx_fusion adx_formula_of adx_is_computed_by adx_is_stored
 *           adx_latest_of adx_is_read_by adx_stride_along adx_fuse_part
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef enum adx_fate {
    ADX_FATE_ALONE,             // by loops of its own
    ADX_FATE_INLINED,           // an expression of its only reader
    ADX_FATE_VIEW,              // a number of another value, at all readers
    ADX_FATE_HOSTED             // stored by its first reader
} adx_fate;

// Of the values of a part, by their number.
typedef struct adx_fusion {
    adx_arena *a;
    ad_tensor *t;
    bool parts;                 // steps are cut (tensor/bundles)
    bool shares;                // and threads share them
    bool *needed;
    bool *result;
    bool *spelled;              // it has C text
    adx_pointwise **shape;      // NULL: loops
    adx_fate *fate;
    uint32_t *host;             // the reader that computes it
    bool *hosts;                // others are stored where it is computed
    uint32_t *bundle;           // the first of its steps (tensor/bundles); or 0
    uint32_t *run_of;           // 1 + the index that runs are of, or 0
    uint32_t *thin;             // the same, of values with memory for one run
    adx_step_cut *cut;          // of steps (tensor/bundles); NULL: none is cut
    bool *view;                 // its numbers are those of another value
    bool *fixed;                // some reader needs it in memory
    uint32_t *reads;            // how many there are
    uint32_t *reader;           // the first one
    uint32_t *reads_there;      // how many of them are of the first one
    uint32_t *depth;            // of expressions in one another
    uint32_t *lookups;          // in them
} adx_fusion;

#define ADX_INLINE_DEPTH  16
#define ADX_INLINE_PIECES 12
#define ADX_KERNEL_LEAST  32    // of each dimension

// C text of what an operation's value is: the operation or its partial.
static const char *adx_formula_of(const adx_tensor_value *v)
{
    const ad_op_info *info = adx_row_of(v->op);
    return v->kind == ADX_VALUE_PARTIAL ? info->partial[v->which] : info->value;
}

// Whether the derivative of a partial has C text: all that its terms call.
static bool adx_is_second_spelled(const adx_tensor_second *s, bool helper[])
{
    for (uint8_t k = 0; k < s->cell.terms; k++) {
        const adx_term *term = &s->cell.term[k];
        if (term->op == ADX_TERM_NUMBER)
            continue;
        const ad_op_info *info = adx_row_of(term->op);
        if (!adx_find_helpers(info->value, helper))
            return false;
        for (int i = 0; i < info->arity; i++)
            if ((s->moving >> term->arg[i] & 1) != 0
                && !adx_find_helpers(info->partial[i], helper))
                return false;
    }
    return true;
}

// Whether the formulas of a value have C text.
static bool adx_is_spelled(const adx_tensor_value *v)
{
    bool helper[ADX_HELPER_COUNT] = {0};
    if (v->kind != ADX_VALUE_APPLICATION && v->kind != ADX_VALUE_PARTIAL
        && v->kind != ADX_VALUE_SECOND)
        return true;
    return adx_find_helpers(adx_row_of(v->op)->value, helper)
        && adx_find_helpers(adx_formula_of(v), helper)
        && (v->kind != ADX_VALUE_SECOND
            || (adx_find_helpers(adx_row_of(v->op)->partial[v->second->by],
                                 helper)
                && adx_is_second_spelled(v->second, helper)));
}

/* --- who reads ----------------------------------------------------------- */

// Whether two reads at a point are always of the same number.
static bool adx_same_access(const adx_fusion *f, const adx_set *s,
                            adx_access one, adx_access other)
{
    return one.value == other.value
        && adx_same_rows(s, one.row, other.row,
                         adx_tensor_value_at(f->t, one.value)->dims);
}

// Counts a read, and how many of them its first reader does.
static void adx_note_read(adx_fusion *f, uint32_t by, uint32_t value)
{
    if (f->reads[value] == 0)
        f->reader[value] = by;
    f->reads[value]++;
    if (f->reader[value] == by)
        f->reads_there[value]++;
}

// Notes a read from memory: of all numbers, or at more points than one.
static void adx_note_fixed(adx_fusion *f, uint32_t by, uint32_t value)
{
    adx_note_read(f, by, value);
    f->fixed[value] = true;
}

// Reads of a term; a number read twice at a point counts once.
static void adx_note_reads(adx_fusion *f, uint32_t by,
                           const adx_tensor_term *term, const adx_set *s)
{
    bool loops = term->most != 0 || !f->spelled[by]
              || adx_tensor_value_at(f->t, by)->kind == ADX_VALUE_MOST;
    for (uint32_t i = 0; i < term->factors; i++) {
        bool again = false;
        for (uint32_t j = 0; j < i; j++)
            again = again || adx_same_access(f, s, term->factor[i],
                                             term->factor[j]);
        if (!again)
            adx_note_read(f, by, term->factor[i].value);
        f->fixed[term->factor[i].value] |= loops;
    }
    if (term->most != 0) {      // by pointers, all along
        adx_note_fixed(f, by, term->most);
        adx_note_fixed(f, by, term->picked.value);
    }
}

// Counts the reads of all terms of a value, or of its pieces.
static void adx_note_reads_of(adx_fusion *f, uint32_t by)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, by);
    const adx_pointwise *p = f->shape[by];
    for (uint32_t i = 0; p != NULL && i < p->n; i++)
        adx_note_reads(f, by, p->piece[i].term, p->piece[i].set);
    for (uint32_t i = 0; p == NULL && i < v->terms; i++)
        adx_note_reads(f, by, &v->term[i], v->term[i].set);
    if (f->view[by])            // its readers read this one
        f->fixed[p->piece[0].term->factor[0].value] = true;
}

/* --- where it is computed ------------------------------------------------ */

// Whether rows of a set are different for different points.
static bool adx_rows_tell_points(const adx_set *s, uint32_t row, uint32_t dims)
{
    const adx_map_vars maps = adx_find_map_vars(s);
    uint32_t own = 0;
    if (maps.given == NULL)
        return false;
    for (uint32_t v = s->open; v < s->vars; v++) {
        bool alone = false;
        if (s->gone[v] || maps.given[v])
            continue;
        for (uint32_t d = 0; d < dims && !alone; d++) {
            uint32_t some = 0;
            uint32_t count = adx_vars_of(s, adx_form_of(s, row + d), &some);
            alone = count == 1 && some == v;
        }
        own += alone;
    }
    return own == maps.free;
}

// Whether all that is read there is in the core of a value, which has all of it
// where sizes are open.
static bool adx_reads_core(const adx_set *s, uint32_t row, uint32_t dims,
                           const adx_box *core)
{
    for (uint32_t d = 0; d < dims && s->open == 0; d++) {
        const int64_t *form = adx_form_of(s, row + d);
        if (adx_extreme(s, form, false) < core->low[d]
            || adx_extreme(s, form, true) > core->high[d])
            return false;
    }
    return true;
}

// Whether a term reads all numbers of a value, for all sizes.
static bool adx_reads_all(const adx_fusion *f, const adx_set *s, adx_access at)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, at.value);
    const adx_set *all = adx_set_of_ranges(f->t, &v->range, v->dims);
    const adx_indexed one = { s, at.row, v->dims };
    const adx_indexed range = { all, 0, v->dims };
    return all != NULL && adx_contains(&one, &range);
}

// Returns the fate of a value that a term of its first reader reads here.
static adx_fate adx_fate_here(const adx_fusion *f, const adx_set *s,
                              adx_access at)
{
    uint32_t dims = adx_tensor_value_at(f->t, at.value)->dims;
    const adx_pointwise *p = f->shape[at.value];
    if (s->empty || !adx_rows_tell_points(s, at.row, dims)
        || !adx_reads_core(s, at.row, dims, &p->core))
        return ADX_FATE_ALONE;
    uint64_t points = s->open > 0 ? UINT64_MAX : adx_free_points(s);
    bool all = points != UINT64_MAX
            && (double)points == adx_box_size(&p->domain, dims)
            && adx_is_inside(&p->domain, &p->core, dims);
    if (s->open > 0)
        all = adx_reads_all(f, s, at);
    if (f->reads[at.value] == 1 && !f->result[at.value]
        && (all || !f->hosts[at.value]))
        return ADX_FATE_INLINED;
    return all ? ADX_FATE_HOSTED : ADX_FATE_ALONE;
}

// Looks for the place where the first reader reads a value.
static adx_fate adx_find_fate(const adx_fusion *f, uint32_t value)
{
    uint32_t by = f->reader[value];
    const adx_tensor_value *v = adx_tensor_value_at(f->t, by);
    const adx_pointwise *p = f->shape[by];
    uint32_t n = p != NULL ? p->n : v->terms;
    for (uint32_t i = 0; i < n; i++) {
        const adx_tensor_term *term = p != NULL ? p->piece[i].term
                                                : &v->term[i];
        const adx_set *s = p != NULL ? p->piece[i].set : term->set;
        for (uint32_t j = 0; j < term->factors; j++)
            if (term->factor[j].value == value)
                return adx_fate_here(f, s, term->factor[j]);
    }
    return ADX_FATE_ALONE;
}

// Whether each number of a value is a number of another, which is stored.
static bool adx_is_view(const adx_fusion *f, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, value);
    const adx_pointwise *p = f->shape[value];
    return p != NULL && p->n == 1 && v->kind == ADX_VALUE_SUM && v->once
           && v->full && p->piece[0].term->factors == 1
           && (p->piece[0].term->k == 1 || p->piece[0].term->k == -1)
           && !f->result[value];
}

// Decides where a value is computed. Values are looked at in their order: those
// that one reads before it.
static void adx_decide_fate(adx_fusion *f, uint32_t value)
{
    const adx_pointwise *p = f->shape[value];
    f->depth[value]++;
    f->lookups[value] += p == NULL ? 0 : p->lookups;
    if (p == NULL || f->lookups[value] > ADX_LOOKUPS_ALL
        || p->n > ADX_INLINE_PIECES || f->reads[value] == 0 || f->fixed[value]
        || f->depth[value] > ADX_INLINE_DEPTH)
        return;
    if (f->view[value])
        f->fate[value] = ADX_FATE_VIEW;
    if (f->view[value] || f->reads_there[value] != 1)
        return;
    f->fate[value] = adx_find_fate(f, value);
    uint32_t by = f->reader[value];
    if (f->fate[value] == ADX_FATE_ALONE)
        return;
    if (f->lookups[by] + f->lookups[value] > ADX_LOOKUPS_ALL) {
        f->fate[value] = ADX_FATE_ALONE;
        return;
    }
    f->lookups[by] += f->lookups[value];
    f->host[value] = by;
    f->hosts[by] = f->hosts[by] || f->fate[value] == ADX_FATE_HOSTED
                || f->hosts[value];
    if (f->depth[value] > f->depth[by])
        f->depth[by] = f->depth[value];
}

// Whether a value is computed where `by` reads it.
static bool adx_is_computed_by(const adx_fusion *f, uint32_t value, uint32_t by)
{
    return f->fate[value] == ADX_FATE_VIEW
        || (f->fate[value] != ADX_FATE_ALONE && f->host[value] == by);
}

// Whether a value has memory.
static bool adx_is_stored(const adx_fusion *f, uint32_t value)
{
    return f->fate[value] == ADX_FATE_ALONE
        || f->fate[value] == ADX_FATE_HOSTED;
}

/* --- who reads it too early -------------------------------------------------
 * Loops run in the order of values. A number that is hosted is there when the
 * loops of its host's last host have run, which may be after other readers.  */

// Returns the last loops that may compute a value.
static uint32_t adx_latest_of(const adx_fusion *f, uint32_t value)
{
    while (f->host[value] != 0)
        value = f->host[value];
    return value;
}

// Returns the first ones: its own, if it has some.
static uint32_t adx_earliest_of(const adx_fusion *f, uint32_t value)
{
    while (f->fate[value] == ADX_FATE_INLINED)
        value = f->host[value];
    return value;
}

// Whether a term of a value reads the other.
static bool adx_is_read_by(const adx_fusion *f, uint32_t value, uint32_t by)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, by);
    for (uint32_t i = 0; i < v->terms; i++)
        for (uint32_t j = 0; j < v->term[i].factors; j++)
            if (v->term[i].factor[j].value == value)
                return true;
    return false;
}

// Whether someone but its host may read a value before it is stored.
static bool adx_is_read_early(const adx_fusion *f, const uint32_t place[],
                              uint32_t value)
{
    const adx_tensor_program *p = f->t->program;
    uint32_t stored = place[adx_latest_of(f, value)];
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t by = p->order[i];
        if (f->needed[by] && by != f->host[value]
            && place[adx_earliest_of(f, by)] <= stored
            && adx_is_read_by(f, value, by))
            return true;
    }
    return false;
}

// Gives values that would be read too early loops of their own.
static void adx_take_out_early_ones(adx_fusion *f)
{
    const adx_tensor_program *p = f->t->program;
    uint32_t *place = ADX_GET(f->a, p->values, uint32_t);
    bool changed = place != NULL;
    for (uint32_t i = 0; changed && i < p->steps; i++)
        place[p->order[i]] = i;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < p->steps; i++) {
            uint32_t v = p->order[i];
            if (f->fate[v] == ADX_FATE_HOSTED
                && adx_is_read_early(f, place, v)) {
                f->fate[v] = ADX_FATE_ALONE;
                f->host[v] = 0;
                changed = true;
            }
        }
    }
}

// Returns how far apart in memory what is read and written lies along an index.
static double adx_stride_along(const adx_fusion *f, uint32_t value, uint32_t d)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, value);
    const adx_pointwise *p = f->shape[value];
    uint32_t open = adx_open_of(f->t);
    uint32_t width = 1 + open + v->dims + ADX_LOOKUPS_MOST;
    double far = fabs((double)v->stride[d]);
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j < p->piece[i].term->factors; j++) {
            const adx_access from = p->piece[i].term->factor[j];
            const adx_tensor_value *x = adx_tensor_value_at(f->t, from.value);
            for (uint32_t v2 = 0; v2 < p->piece[i].set->vars; v2++)
                for (uint32_t k = 0; k < x->dims && p->piece[i].form[v2 * width
                     + 1 + open + d] != 0; k++)
                    far += fabs((double)x->stride[k]
                        * (double)adx_form_of(p->piece[i].set,
                                              from.row + k)[1 + v2]);
        }
    return far;
}

/* --- of a part ----------------------------------------------------------- */

// Takes the arrays of a fusion, all zero. False: no memory.
static bool adx_begin_fusion(adx_fusion *f, adx_arena *a, ad_tensor *t)
{
    uint32_t n = t->program->values;
    f->a = a;
    f->t = t;
    f->needed = ADX_GET(a, n, bool);
    f->result = ADX_GET(a, n, bool);
    f->spelled = ADX_GET(a, n, bool);
    f->shape = ADX_GET(a, n, adx_pointwise *);
    f->fate = ADX_GET(a, n, adx_fate);
    f->host = ADX_GET(a, n, uint32_t);
    f->hosts = ADX_GET(a, n, bool);
    f->bundle = ADX_GET(a, n, uint32_t);
    f->run_of = ADX_GET(a, n, uint32_t);
    f->thin = ADX_GET(a, n, uint32_t);
    f->view = ADX_GET(a, n, bool);
    f->fixed = ADX_GET(a, n, bool);
    f->reads = ADX_GET(a, n, uint32_t);
    f->reader = ADX_GET(a, n, uint32_t);
    f->reads_there = ADX_GET(a, n, uint32_t);
    f->depth = ADX_GET(a, n, uint32_t);
    f->lookups = ADX_GET(a, n, uint32_t);
    return a->status == ADREV_OK;
}

// Whether a product of matrices is best left to the kernel of tensor/matrices.
static bool adx_has_kernel(const adx_tensor_value *v)
{
    for (uint32_t i = 0; i < v->terms; i++) {
        const adx_loop *l = v->term[i].loop;
        if (l->matrices != NULL
            && l->matrices->product.m >= ADX_KERNEL_LEAST
            && l->matrices->product.k >= ADX_KERNEL_LEAST
            && l->matrices->product.n >= ADX_KERNEL_LEAST)
            return true;
    }
    return false;
}

// Decides for a part, of which all results are wanted; loaded: for machine
// code, so large products of matrices have no text, and steps are cut. False:
// no memory.
static bool adx_fuse_part(adx_fusion *f, adx_arena *a, ad_tensor *t,
                          ad_tensor_part part, bool loaded)
{
    const adx_tensor_program *p = t->program;
    if (!adx_begin_fusion(f, a, t))
        return false;
    f->parts = loaded;
    f->shares = loaded && adx_shares_parts();
    adx_find_results(t, part, f->needed);
    memcpy(f->result, f->needed, p->values * sizeof *f->needed);
    adx_need_all(p, f->needed);
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (f->needed[v]) {
            f->spelled[v] = adx_is_spelled(adx_tensor_value_at(t, v))
                && !(loaded && adx_has_kernel(adx_tensor_value_at(t, v)));
            if (f->spelled[v])
                f->shape[v] = adx_find_pieces(a, t, adx_tensor_value_at(t, v));
            f->view[v] = adx_is_view(f, v);
            adx_note_reads_of(f, v);
        }
    }
    for (uint32_t i = 0; i < p->steps; i++)
        if (f->needed[p->order[i]])
            adx_decide_fate(f, p->order[i]);
    adx_take_out_early_ones(f);
    return a->status == ADREV_OK;
}

ADX_SELDOM_END
