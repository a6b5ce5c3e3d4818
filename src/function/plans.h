#pragma once

/* === function/plans =========================================================
 * A plan says for each entry of a sparse matrix in which direction it is found,
 * and which result of that direction it is. The first directions belong to the
 * colours: each is the sum of the unit vectors of the columns (or rows) that
 * have this colour. Behind them are the directions of full rows (or columns),
 * which are computed apart, by the other kind of sweep. To fill a matrix, all
 * directions run in lanes, and the entries of each are collected.
 *
 *   needs   tape/memory function/api function/program function/adjoints
 *           function/places function/functions function/evaluation
 *           function/directions function/pattern function/colour
 *   offers  adx_free_pattern adx_new_pattern adx_plan adx_make_plan
 *           adx_follow_plan adx_symmetric adx_published adx_publish_pattern
 *           adx_pattern_of adx_tell_entries adx_jacobian_entries
 *           adx_hessian_entries
 * ========================================================================== */

struct adx_pattern {
    const ad_allocator *memory;
    adx_entries g;              // the entries that are asked for
    bool by_rows;               // rows are coloured, for reverse sweeps; else
                                // columns, for forward sweeps
    uint32_t *group;            // [column; by_rows: row] its colour
    uint32_t groups;            // colours
    uint32_t *apart;            // [row; by_rows: column] its index among the
    uint32_t aparts;            // full ones; ADX_UNCOLOURED: it is not full
    uint32_t *direction;        // [entry] its direction; those of full rows are
                                // behind those of colours
    uint32_t *at;               // [entry] which result of the direction it is
    uint32_t *entry;            // entries in the order of their directions
    uint32_t *first;            // [groups + aparts + 1] where those of each
                                // direction begin there
};

static void adx_free_pattern(adx_pattern *s)
{
    if (s == NULL)
        return;
    adx_free_graph(s->memory, &s->g);
    adx_drop(s->memory, s->group);
    adx_drop(s->memory, s->apart);
    adx_drop(s->memory, s->direction);
    adx_drop(s->memory, s->at);
    adx_drop(s->memory, s->entry);
    adx_drop(s->memory, s->first);
    adx_drop(s->memory, s);
}

static adx_pattern *adx_new_pattern(const ad_allocator *a)
{
    adx_pattern *s = (adx_pattern *)adx_take(a, 1, sizeof *s);
    if (s != NULL) {
        memset(s, 0, sizeof *s);
        s->memory = a;
    }
    return s;
}

// Takes the memory of a plan. False: no memory.
static bool adx_begin_plan(adx_pattern *s, size_t major, size_t minor)
{
    const ad_allocator *a = s->memory;
    size_t entries = s->g.start[s->g.rows];
    s->group = (uint32_t *)adx_take(a, minor, sizeof *s->group);
    s->apart = (uint32_t *)adx_take(a, major, sizeof *s->apart);
    s->direction = (uint32_t *)adx_take(a, entries, sizeof *s->direction);
    s->at = (uint32_t *)adx_take(a, entries, sizeof *s->at);
    s->entry = (uint32_t *)adx_take(a, entries, sizeof *s->entry);
    return s->group != NULL && s->apart != NULL && s->direction != NULL
        && s->at != NULL && s->entry != NULL;
}

// Lists the entries in the order of their directions, by a counting sort.
static bool adx_sort_entries(adx_pattern *s)
{
    uint32_t directions = s->groups + s->aparts;
    uint32_t entries = s->g.start[s->g.rows];
    s->first = (uint32_t *)adx_take(s->memory, (size_t)directions + 2,
                                    sizeof *s->first);
    if (s->first == NULL)
        return false;
    memset(s->first, 0, ((size_t)directions + 2) * sizeof *s->first);
    for (uint32_t k = 0; k < entries; k++)
        s->first[s->direction[k] + 2]++;
    for (uint32_t d = 0; d < directions; d++)
        s->first[d + 2] += s->first[d + 1];
    for (uint32_t k = 0; k < entries; k++)
        s->entry[s->first[s->direction[k] + 1]++] = k;
    return true;
}

// One way to compute a Jacobian. The columns of a pattern are coloured, and its
// rows are `major`; for reverse sweeps it is the transposed pattern.
typedef struct adx_plan {
    uint32_t *colour;           // [columns]
    uint32_t colours;           // directions for these
    uint32_t full;              // rows with more entries are computed apart
    uint32_t aparts;            // rows that are full: a direction each
} adx_plan;

// Makes a plan: colours the columns of g, whose transpose is t. Rows with more
// than `full` entries are left out of the colouring.
static bool adx_make_plan(const ad_allocator *a, const adx_entries *g,
                          const adx_entries *t, uint32_t full, adx_plan *plan)
{
    plan->full = full;
    plan->colour = (uint32_t *)adx_take(a, g->cols, sizeof *plan->colour);
    if (plan->colour == NULL || plan->full == UINT32_MAX)
        return false;
    for (size_t i = 0; i < g->rows; i++)
        plan->aparts += g->start[i + 1] - g->start[i] > plan->full;
    plan->colours = adx_best_colouring(a, g, t, plan->full, adx_colour_columns,
                                       plan->colour);
    return plan->colours != UINT32_MAX;
}

// Writes the direction of each entry: that of its row (if by_rows, column) if
// this is full, else that of the colour of its column (row). The results of a
// forward sweep are rows, and those of a reverse sweep columns.
static void adx_place_entries(adx_pattern *s)
{
    for (uint32_t i = 0; i < s->g.rows; i++)
        for (uint32_t k = s->g.start[i]; k < s->g.start[i + 1]; k++) {
            uint32_t j = s->g.col[k];
            uint32_t apart = s->apart[s->by_rows ? j : i];
            bool by_row = (apart != ADX_UNCOLOURED) != s->by_rows;
            s->direction[k] = apart != ADX_UNCOLOURED ? s->groups + apart
                            : s->group[s->by_rows ? i : j];
            s->at[k] = by_row ? j : i;
        }
}

// Makes the directions of the plan that was chosen. major: the rows of the
// pattern whose columns were coloured.
static bool adx_follow_plan(adx_pattern *s, const adx_plan *plan,
                            const adx_entries *major)
{
    if (!adx_begin_plan(s, major->rows, major->cols))
        return false;
    s->groups = plan->colours;
    memcpy(s->group, plan->colour, major->cols * sizeof *s->group);
    for (size_t i = 0; i < major->rows; i++) {
        bool apart = major->start[i + 1] - major->start[i] > plan->full;
        s->apart[i] = apart ? s->aparts++ : ADX_UNCOLOURED;
    }
    adx_place_entries(s);
    return adx_sort_entries(s);
}

// Plans a Jacobian by columns with forward sweeps, or by rows with reverse
// sweeps, whichever is less work. A reverse sweep counts twice. Full rows or
// columns take the other kind of sweep.
static bool adx_plan_jacobian(adx_pattern *s)
{
    const ad_allocator *a = s->memory;
    adx_entries t = {0};
    adx_plan columns = {0};
    adx_plan rows = {0};
    bool ok = adx_transpose(a, &s->g, &t)
           && adx_make_plan(a, &s->g, &t, adx_full_from(&s->g, a), &columns)
           && adx_make_plan(a, &t, &s->g, adx_full_from(&t, a), &rows);
    if (ok) {
        s->by_rows = 2 * rows.colours + rows.aparts
                   < columns.colours + 2 * columns.aparts;
        ok = s->by_rows ? adx_follow_plan(s, &rows, &t)
                        : adx_follow_plan(s, &columns, &s->g);
    }
    adx_drop(a, columns.colour);
    adx_drop(a, rows.colour);
    adx_free_graph(a, &t);
    return ok;
}

// Makes the pattern of both triangles from that of the lower one.
static bool adx_symmetric(const ad_allocator *a, const adx_entries *lower,
                          adx_entries *both)
{
    adx_entries t = {0};
    size_t n = lower->rows;
    bool ok = adx_transpose(a, lower, &t)
           && adx_new_graph(a, both, n, n, 2 * (size_t)lower->start[n]);
    uint32_t to = 0;
    for (uint32_t i = 0; ok && i < n; i++) {
        for (uint32_t k = lower->start[i]; k < lower->start[i + 1]; k++)
            both->col[to++] = lower->col[k];
        for (uint32_t k = t.start[i]; k < t.start[i + 1]; k++)
            if (t.col[k] != i)
                both->col[to++] = t.col[k];
        both->start[i + 1] = to;
    }
    adx_free_graph(a, &t);
    return ok;
}

// Whether no other column of row i has the colour of column j.
static bool adx_is_apart_in(const adx_entries *both, const uint32_t colour[],
                            uint32_t i, uint32_t j)
{
    for (uint32_t k = both->start[i]; k < both->start[i + 1]; k++)
        if (both->col[k] != j && colour[both->col[k]] == colour[j])
            return false;
    return true;
}

// Plans a Hessian. Entry (i, j) is read in row i of the direction of column j,
// if no other column with an entry in that row has the same colour; else in row
// j of the direction of column i. In a star colouring one of the two works. A
// full vertex has a colour of its own, and its entries are read in that
// direction.
static bool adx_plan_hessian(adx_pattern *s)
{
    const ad_allocator *a = s->memory;
    adx_entries both = {0};
    size_t n = s->g.rows;
    bool ok = adx_begin_plan(s, n, n) && adx_symmetric(a, &s->g, &both);
    uint32_t full = ok ? adx_full_from(&both, a) : UINT32_MAX;
    if (ok && full != UINT32_MAX)
        s->groups = adx_best_colouring(a, &both, &both, full,
                                       adx_colour_stars, s->group);
    ok = ok && full != UINT32_MAX && s->groups != UINT32_MAX;
    for (uint32_t i = 0; ok && i < n; i++)
        for (uint32_t k = s->g.start[i]; k < s->g.start[i + 1]; k++) {
            uint32_t j = s->g.col[k];
            bool hub = both.start[i + 1] - both.start[i] > full;
            bool alone = !hub && adx_is_apart_in(&both, s->group, i, j);
            s->direction[k] = s->group[alone ? j : i];
            s->at[k] = alone ? i : j;
        }
    ok = ok && adx_sort_entries(s);
    adx_free_graph(a, &both);
    return ok;
}

/* --- values -------------------------------------------------------------- */

// Makes a pattern and its plan.
static ad_status adx_make_pattern(ad_fn *fn, bool hessian, adx_pattern **out)
{
    const ad_allocator *a = &fn->memory;
    adx_program p;
    ad_status status = adx_make_scalar(&p, &fn->program, true);
    p.fixed = fn->program.fixed;
    adx_pattern *s = adx_new_pattern(a);
    bool ok = status == ADREV_OK && s != NULL;
    if (ok)
        ok = hessian ? adx_hessian_graph(&p, &s->g) && adx_plan_hessian(s)
                     : adx_jacobian_graph(&p, &s->g) && adx_plan_jacobian(s);
    if (status == ADREV_OK)
        status = p.status;
    adx_free_program(&p);
    if (!ok) {
        adx_free_pattern(s);
        return status == ADREV_OK ? ADREV_ENOMEM : status;
    }
    *out = s;
    return ADREV_OK;
}

// Returns a pattern if a thread has published it; else NULL. Patterns are made
// once, as machines are. The acquire here pairs with the release in
// adx_publish_pattern.
static adx_pattern *adx_published(_Atomic(adx_pattern *) *at)
{
    return atomic_load_explicit(at, memory_order_acquire);
}

// Publishes a pattern. If another thread has published one first, that one
// stays and is returned.
static adx_pattern *adx_publish_pattern(_Atomic(adx_pattern *) *at,
                                        adx_pattern *s)
{
    adx_pattern *other = NULL;
    if (atomic_compare_exchange_strong_explicit(at, &other, s,
                                                memory_order_acq_rel,
                                                memory_order_acquire))
        return s;
    adx_free_pattern(s);
    return other;
}

// The pattern of a function's Jacobian or Hessian. Two threads may make it at
// once; the first one to publish it wins.
static ad_status adx_pattern_of(ad_fn *fn, bool hessian, adx_pattern **out)
{
    adx_pattern *s = adx_published(&fn->pattern[hessian]);
    if (s == NULL) {
        ad_status status = adx_make_pattern(fn, hessian, &s);
        if (status != ADREV_OK)
            return status;
        s = adx_publish_pattern(&fn->pattern[hessian], s);
    }
    *out = s;
    return ADREV_OK;
}

// Copies the parts of a pattern that a caller asks for.
static void adx_tell_entries(const adx_entries *g, size_t start[],
                             size_t row[], size_t column[])
{
    for (size_t i = 0; start != NULL && i <= g->rows; i++)
        start[i] = g->start[i];
    for (size_t i = 0; i < g->rows; i++)
        for (size_t k = g->start[i]; k < g->start[i + 1]; k++) {
            if (row != NULL)
                row[k] = i;
            if (column != NULL)
                column[k] = g->col[k];
        }
}

// Writes those parts of a pattern that are asked for.
static ad_status adx_give_pattern(ad_fn *fn, bool hessian, ad_sparsity *about,
                                  size_t start[], size_t row[],
                                  size_t column[])
{
    adx_pattern *s;
    if (fn == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_pattern_of(fn, hessian, &s);
    if (status != ADREV_OK)
        return status;
    const adx_entries *g = &s->g;
    if (about != NULL)
        *about = (ad_sparsity){ g->start[g->rows],
                                (size_t)s->groups + s->aparts, s->aparts };
    adx_tell_entries(g, start, row, column);
    return ADREV_OK;
}

ADX_API ad_status ad_fn_jacobian_pattern(ad_fn *fn, ad_sparsity *about,
                                         size_t start[], size_t row[],
                                         size_t column[])
{
    return adx_give_pattern(fn, false, about, start, row, column);
}

ADX_API ad_status ad_fn_hessian_pattern(ad_fn *fn, ad_sparsity *about,
                                        size_t start[], size_t row[],
                                        size_t column[])
{
    return adx_give_pattern(fn, true, about, start, row, column);
}

// Where the entries of the directions `base` to `end` - 1 are written.
typedef struct adx_sparse {
    const adx_pattern *s;
    ad_real *value;             // [entries] of the matrix
    uint32_t base;
    uint32_t end;
} adx_sparse;

// Collects the entries of the directions that have been run. Lane l has
// direction base + first + l.
static void adx_take_sparse(void *user, const adx_machine *m,
                            const ad_real r[], size_t lanes, size_t first)
{
    const adx_sparse *k = (const adx_sparse *)user;
    for (size_t l = 0; l < lanes && k->base + first + l < k->end; l++) {
        const uint32_t *from = k->s->first + k->base + first + l;
        for (uint32_t i = from[0]; i < from[1]; i++) {
            uint32_t entry = k->s->entry[i];
            k->value[entry] = r[m->output[k->s->at[entry]] * lanes + l];
        }
    }
}

// Runs all directions of colours or, if `apart`, those of full rows or columns.
static ad_status adx_fill_sparse(ad_fn *fn, const adx_pattern *s,
                                 const ad_real x[], bool apart,
                                 ad_real value[])
{
    bool reverse = s->by_rows != apart;
    adx_sparse k = { s, value, apart ? s->groups : 0,
                     apart ? s->groups + s->aparts : s->groups };
    const adx_directions d = {
        fn, reverse ? ADX_KIND_vjp : ADX_KIND_jvp, 2,
        { { x, fn->n }, { NULL, reverse ? fn->m : fn->variables } },
        apart ? s->aparts : s->groups, reverse ? fn->variables : fn->m,
        apart ? s->apart : s->group
    };
    return adx_all_directions(&d, adx_take_sparse, &k);
}

// Computes all entries of the Jacobian; on failure it writes none.
static ad_status adx_jacobian_entries(ad_fn *fn, const adx_pattern *s,
                                      const ad_real x[], ad_real value[])
{
    size_t entries = s->g.start[s->g.rows];
    // The second call may fail after the first has written its entries.
    bool twice = (s->groups > 0 && s->aparts > 0)
              || (entries > 0 && adx_has_external(&fn->program));
    ad_real *to = twice ? (ad_real *)adx_take(&fn->memory, entries, sizeof *to)
                        : value;
    if (twice && to == NULL)
        return ADREV_ENOMEM;
    ad_status status = adx_fill_sparse(fn, s, x, false, to);
    if (status == ADREV_OK)
        status = adx_fill_sparse(fn, s, x, true, to);
    if (twice && status == ADREV_OK)
        memcpy(value, to, entries * sizeof *value);
    if (twice)
        adx_drop(&fn->memory, to);
    return status;
}

// Computes all entries of the lower triangle of the Hessian; on failure it
// writes none.
static ad_status adx_hessian_entries(ad_fn *fn, const adx_pattern *s,
                                     const ad_real x[], const ad_real w[],
                                     ad_real value[])
{
    size_t entries = s->g.start[s->g.rows];
    adx_sparse k = { s, value, 0, s->groups };
    const adx_directions d = {
        fn, ADX_KIND_hvp, 3,
        { { x, fn->n }, { w, fn->m }, { NULL, fn->variables } },
        s->groups, fn->variables, s->group
    };
    if (!adx_fails_late(&d))
        return adx_all_directions(&d, adx_take_sparse, &k);
    k.value = (ad_real *)adx_take(&fn->memory, entries, sizeof *value);
    if (k.value == NULL)
        return ADREV_ENOMEM;
    ad_status status = adx_all_directions(&d, adx_take_sparse, &k);
    if (status == ADREV_OK)
        memcpy(value, k.value, entries * sizeof *value);
    adx_drop(&fn->memory, k.value);
    return status;
}

// Computes the entries by machine code. *again: there is none, or a replay must
// do it instead; see adx_run_code.
static ad_status adx_run_sparse(ad_fn *fn, adx_kind kind, size_t gives,
                                const adx_given given[], size_t entries,
                                ad_real value[], bool *again)
{
    const adx_wanted wanted[] = { { 0, entries, value } };
    adx_evaluation e = { .fn = fn, .kind = kind };
    ad_status status = adx_run_code(&e, false, gives, given, 1, wanted, again);
    adx_end_evaluation(&e);
    return status;
}

ADX_API ad_status ad_fn_jacobian_sparse(ad_fn *fn, const ad_real x[],
                                        ad_real value[])
{
    adx_pattern *s;
    if (fn == NULL || adx_lacks(fn, fn->n, x))
        return ADREV_ESHAPE;
    ad_status status = adx_pattern_of(fn, false, &s);
    if (status != ADREV_OK)
        return status;
    size_t entries = s->g.start[s->g.rows];
    if (adx_lacks(fn, entries, value))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n } };
    bool again;
    status = adx_run_sparse(fn, ADX_KIND_jacobian_sparse, 1, given, entries,
                            value, &again);
    return status != ADREV_OK || !again
         ? status : adx_jacobian_entries(fn, s, x, value);
}

ADX_API ad_status ad_fn_hessian_sparse(ad_fn *fn, const ad_real x[],
                                       const ad_real w[], ad_real value[])
{
    adx_pattern *s;
    if (fn == NULL || adx_lacks(fn, fn->n, x) || w == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_pattern_of(fn, true, &s);
    if (status != ADREV_OK)
        return status;
    size_t entries = s->g.start[s->g.rows];
    if (adx_lacks(fn, entries, value))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m } };
    bool again;
    status = adx_run_sparse(fn, ADX_KIND_hessian_sparse, 2, given, entries,
                            value, &again);
    return status != ADREV_OK || !again
         ? status : adx_hessian_entries(fn, s, x, w, value);
}
