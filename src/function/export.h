#pragma once

/* === function/export ========================================================
 * Sparse matrices in the forms that solvers take. An export has a pattern of
 * its own: the entries of the matrix, perhaps mirrored, transposed, or with a
 * whole diagonal, sorted by row or by column. Each entry knows which one of the
 * matrix it is (`from`), and where it is in the solver's array (`place`).
 *
 *   needs   tape/memory function/api function/functions function/evaluation
 *           function/pattern function/plans
 *   offers  adx_unsorted adx_sort_lines adx_end_unsorted adx_begin_unsorted
 *           adx_new_export adx_export_fits adx_is_plain_export
 *           adx_write_export
 * ========================================================================== */

struct ad_export {
    ad_allocator memory;
    ad_layout layout;
    size_t rows, columns;
    bool symmetric;             // of a Hessian
    size_t of_rows, of_columns, of_entries;     // counts of the matrix
    size_t entries;
    uint32_t *start;            // [lines + 1] of rows; ADREV_CSC: of columns
    uint32_t *across;           // [entries] the other index
    uint32_t *from;             // [entries] of the matrix; ADX_NO_ENTRY: 0
    bool plain;                 // from[k] == k
    size_t *place;              // [entries] NULL: k
    adx_spare spare;            // values in the order of the matrix
};

#define ADX_NO_ENTRY UINT32_MAX

// The largest index of 32 bits. Tests set a lower limit.
#ifndef ADX_INDEX_MOST
#define ADX_INDEX_MOST INT32_MAX
#endif

ADX_API void ad_export_free(ad_export *e)
{
    if (e == NULL)
        return;
    ad_allocator memory = e->memory;
    adx_drop_spare(&e->spare, &memory);
    adx_drop(&memory, e->start);
    adx_drop(&memory, e->across);
    adx_drop(&memory, e->from);
    adx_drop(&memory, e->place);
    adx_drop(&memory, e);
}

/* --- the pattern ---------------------------------------------------------- */

static bool adx_is_by_columns(const ad_export *e)
{
    return e->layout.form == ADREV_CSC;
}

static size_t adx_lines(const ad_export *e)
{
    return adx_is_by_columns(e) ? e->columns : e->rows;
}

static size_t adx_across(const ad_export *e)
{
    return adx_is_by_columns(e) ? e->rows : e->columns;
}

// Entries in any order, while they are sorted.
typedef struct adx_unsorted {
    size_t n;
    uint32_t *index[2];         // line, and index across
    uint32_t *from;             // the entry's number in the matrix
    uint32_t *order[2];         // the entries, sorted so far; the two take
                                // turns
    uint32_t *count;            // [lines or indices across, + 1]
} adx_unsorted;

static void adx_put_entry(const ad_export *e, adx_unsorted *u, uint32_t row,
                          uint32_t column, uint32_t from)
{
    bool turned = e->layout.transposed != adx_is_by_columns(e);
    u->index[turned][u->n] = row;
    u->index[!turned][u->n] = column;
    u->from[u->n++] = from;
}

// Lists the entries of the matrix (of a Hessian, its lower triangle) as the
// layout has them. The triangle is that of the exported matrix. Its upper
// triangle is the lower one transposed; if the whole export is transposed, the
// two transpositions cancel.
static void adx_put_entries(const ad_export *e, const adx_entries *g,
                            adx_unsorted *u)
{
    ad_triangle triangle = e->layout.triangle;
    bool both = e->symmetric && triangle == ADREV_BOTH;
    bool upper = e->symmetric && triangle != ADREV_BOTH
              && (triangle == ADREV_UPPER) != e->layout.transposed;
    for (uint32_t i = 0; i < g->rows; i++)
        for (uint32_t k = g->start[i]; k < g->start[i + 1]; k++) {
            uint32_t j = g->col[k];
            adx_put_entry(e, u, upper ? j : i, upper ? i : j, k);
            if (both && i != j)
                adx_put_entry(e, u, j, i, k);
        }
}

static size_t adx_diagonal_of(const adx_entries *g)
{
    return g->rows < g->cols ? g->rows : g->cols;
}

// Adds the entries of the diagonal that the matrix lacks. Its rows are sorted.
static void adx_put_diagonal(const ad_export *e, const adx_entries *g,
                             adx_unsorted *u)
{
    for (uint32_t i = 0; i < adx_diagonal_of(g); i++) {
        uint32_t k = g->start[i];
        while (k < g->start[i + 1] && g->col[k] < i)
            k++;
        if (k == g->start[i + 1] || g->col[k] != i)
            adx_put_entry(e, u, i, i, ADX_NO_ENTRY);
    }
}

// Sorts order[from] by one index, into the other order, by a counting sort.
// Entries with equal indices stay in their order. count[i] becomes the end of
// the entries with index i.
static void adx_sort_entries_by(adx_unsorted *u, int by, size_t indices,
                                int from)
{
    const uint32_t *index = u->index[by];
    memset(u->count, 0, (indices + 1) * sizeof *u->count);
    for (size_t k = 0; k < u->n; k++)
        u->count[index[k] + 1]++;
    for (size_t i = 0; i < indices; i++)
        u->count[i + 1] += u->count[i];
    for (size_t k = 0; k < u->n; k++) {
        uint32_t entry = u->order[from][k];
        u->order[!from][u->count[index[entry]]++] = entry;
    }
}

// Sorts the entries by line, and within a line by the other index: the result
// is in order[0]. count[i] becomes the end of line i.
static void adx_sort_lines(adx_unsorted *u, size_t lines, size_t across)
{
    for (uint32_t k = 0; k < u->n; k++)
        u->order[0][k] = k;
    adx_sort_entries_by(u, 1, across, 0);
    adx_sort_entries_by(u, 0, lines, 1);
}

static void adx_sort_export(ad_export *e, adx_unsorted *u)
{
    adx_sort_lines(u, adx_lines(e), adx_across(e));
    e->entries = u->n;
    e->plain = u->n == e->of_entries;
    e->start[0] = 0;
    memcpy(e->start + 1, u->count, adx_lines(e) * sizeof *e->start);
    for (size_t k = 0; k < u->n; k++) {
        e->across[k] = u->index[1][u->order[0][k]];
        e->from[k] = u->from[u->order[0][k]];
        e->plain = e->plain && e->from[k] == k;
    }
}

static void adx_end_unsorted(const ad_allocator *a, adx_unsorted *u)
{
    for (int i = 0; i < 2; i++) {
        adx_drop(a, u->index[i]);
        adx_drop(a, u->order[i]);
    }
    adx_drop(a, u->from);
    adx_drop(a, u->count);
}

// Takes room for `most` entries with indices below `indices`. False: no memory.
static bool adx_begin_unsorted(const ad_allocator *a, size_t indices,
                               size_t most, adx_unsorted *u)
{
    *u = (adx_unsorted){ .n = 0 };
    u->count = (uint32_t *)adx_take(a, indices + 1, sizeof *u->count);
    u->from = (uint32_t *)adx_take(a, most, sizeof *u->from);
    bool ok = u->count != NULL && u->from != NULL;
    for (int i = 0; i < 2; i++) {
        u->index[i] = (uint32_t *)adx_take(a, most, sizeof *u->from);
        u->order[i] = (uint32_t *)adx_take(a, most, sizeof *u->from);
        ok = ok && u->index[i] != NULL && u->order[i] != NULL;
    }
    return ok;
}

static bool adx_is_layout(const ad_layout *l)
{
    return (unsigned)l->form <= ADREV_CSC
        && (unsigned)l->triangle <= ADREV_BOTH && l->base <= 1
        && (l->width == 0 || l->width == 32 || l->width == 64);
}

// Whether an index, or the number of entries, is too large for the layout's
// width.
static bool adx_exceeds_width(const ad_export *e, size_t most)
{
    size_t largest = most > e->rows ? most : e->rows;
    largest = e->columns > largest ? e->columns : largest;
    return largest > UINT32_MAX - 1
        || (e->layout.width != 64 && largest >= ADX_INDEX_MOST);
}

// Makes the pattern of an export from that of the matrix.
static ad_status adx_fill_export(ad_export *e, const adx_entries *g)
{
    const ad_allocator *a = &e->memory;
    adx_unsorted u;
    size_t most = e->of_entries
                  * (e->symmetric && e->layout.triangle == ADREV_BOTH ? 2 : 1)
                + (e->layout.diagonal ? adx_diagonal_of(g) : 0);
    if (adx_exceeds_width(e, most))
        return ADREV_ELIMIT;
    e->start = (uint32_t *)adx_take(a, adx_lines(e) + 1, sizeof *e->start);
    e->across = (uint32_t *)adx_take(a, most, sizeof *e->across);
    e->from = (uint32_t *)adx_take(a, most, sizeof *e->from);
    size_t indices = e->rows > e->columns ? e->rows : e->columns;
    bool ok = adx_begin_unsorted(a, indices, most, &u) && e->start != NULL
           && e->across != NULL && e->from != NULL;
    if (ok) {
        adx_put_entries(e, g, &u);
        if (e->layout.diagonal)
            adx_put_diagonal(e, g, &u);
        adx_sort_export(e, &u);
    }
    adx_end_unsorted(a, &u);
    return ok ? ADREV_OK : ADREV_ENOMEM;
}

// Makes the export of a matrix with this pattern. symmetric: the pattern is the
// lower triangle of a symmetric matrix.
static ad_status adx_new_export(ad_export **out, const ad_allocator *a,
                                const ad_layout *layout, const adx_entries *g,
                                bool symmetric)
{
    static const ad_layout none;
    ad_export *e = (ad_export *)adx_take(a, 1, sizeof *e);
    *out = NULL;
    if (e == NULL)
        return ADREV_ENOMEM;
    memset(e, 0, sizeof *e);
    e->memory = *a;
    e->layout = layout == NULL ? none : *layout;
    e->symmetric = symmetric;
    e->of_rows = g->rows;
    e->of_columns = g->cols;
    e->of_entries = g->start[g->rows];
    e->rows = e->layout.transposed ? g->cols : g->rows;
    e->columns = e->layout.transposed ? g->rows : g->cols;
    ad_status status = adx_is_layout(&e->layout) ? adx_fill_export(e, g)
                                                 : ADREV_ESHAPE;
    if (status == ADREV_OK)
        *out = e;
    else
        ad_export_free(e);
    return status;
}

static ad_status adx_export_of(ad_fn *fn, bool hessian,
                               const ad_layout *layout, ad_export **out)
{
    adx_pattern *s;
    if (out != NULL)
        *out = NULL;
    if (out == NULL || fn == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_pattern_of(fn, hessian, &s);
    return status != ADREV_OK ? status
         : adx_new_export(out, &fn->memory, layout, &s->g, hessian);
}

ADX_API ad_status ad_fn_jacobian_export(ad_fn *fn, const ad_layout *layout,
                                        ad_export **out)
{
    return adx_export_of(fn, false, layout, out);
}

ADX_API ad_status ad_fn_hessian_export(ad_fn *fn, const ad_layout *layout,
                                       ad_export **out)
{
    return adx_export_of(fn, true, layout, out);
}

ADX_API size_t ad_export_entries(const ad_export *e, size_t *rows,
                                 size_t *columns)
{
    if (rows != NULL)
        *rows = e == NULL ? 0 : e->rows;
    if (columns != NULL)
        *columns = e == NULL ? 0 : e->columns;
    return e == NULL ? 0 : e->entries;
}

// Writes index k of an array of the user's, unless that is NULL.
static void adx_put_index(const ad_export *e, void *array, size_t k, size_t v)
{
    if (array != NULL && e->layout.width == 64)
        ((int64_t *)array)[k] = (int64_t)(v + e->layout.base);
    else if (array != NULL)
        ((int32_t *)array)[k] = (int32_t)(v + e->layout.base);
}

ADX_API ad_status ad_export_pattern(const ad_export *e, void *start, void *row,
                                    void *column)
{
    if (e == NULL)
        return ADREV_ESHAPE;
    void *line = adx_is_by_columns(e) ? column : row;
    void *across = adx_is_by_columns(e) ? row : column;
    adx_put_index(e, start, 0, 0);
    for (size_t i = 0; i < adx_lines(e); i++) {
        adx_put_index(e, start, i + 1, e->start[i + 1]);
        for (size_t k = e->start[i]; k < e->start[i + 1]; k++) {
            adx_put_index(e, line, k, i);
            adx_put_index(e, across, k, e->across[k]);
        }
    }
    return ADREV_OK;
}

/* --- a matrix that the solver has ----------------------------------------- */

// Reads index k of an array of the user's. Returns SIZE_MAX for an index below
// the base.
static size_t adx_index_at(const ad_export *e, const void *array, size_t k)
{
    int64_t v = e->layout.width == 64 ? ((const int64_t *)array)[k]
                                      : ((const int32_t *)array)[k];
    return v < (int64_t)e->layout.base ? SIZE_MAX
         : (size_t)(v - (int64_t)e->layout.base);
}

// The entries of the solver's matrix, as a list for each line of the export:
// `first` of the line, then `next` of each entry.
typedef struct adx_lists {
    const ad_export *e;
    const ad_matrix *to;
    const void *line;           // of each entry; NULL: as `start` says
    const void *across;
    size_t lines, acrosses;     // of the solver's matrix
    size_t at_line, at_across;
    size_t *first;              // [lines of the export]
    size_t *next;               // [entries]
    size_t *entry;              // [indices across of the export] 1 + that one
} adx_lists;

static bool adx_begin_lists(adx_lists *l, const ad_export *e,
                            const ad_matrix *to)
{
    const ad_allocator *a = &e->memory;
    bool turned = adx_is_by_columns(e);
    *l = (adx_lists){ e, to, turned ? to->column : to->row,
                      turned ? to->row : to->column,
                      turned ? to->columns : to->rows,
                      turned ? to->rows : to->columns,
                      turned ? to->at_column : to->at_row,
                      turned ? to->at_row : to->at_column, NULL, NULL, NULL };
    if (e->layout.form != ADREV_TRIPLETS)
        l->line = NULL;
    l->first = (size_t *)adx_take(a, adx_lines(e), sizeof *l->first);
    l->next = (size_t *)adx_take(a, to->entries, sizeof *l->next);
    l->entry = (size_t *)adx_take(a, adx_across(e), sizeof *l->entry);
    return l->first != NULL && l->next != NULL && l->entry != NULL;
}

static void adx_end_lists(adx_lists *l)
{
    const ad_allocator *a = &l->e->memory;
    adx_drop(a, l->first);
    adx_drop(a, l->next);
    adx_drop(a, l->entry);
}

// Puts entry k of the solver's matrix in front of the list of its line. False:
// an index is out of range.
static bool adx_list_entry(adx_lists *l, size_t line, size_t k)
{
    if (line >= l->lines || adx_index_at(l->e, l->across, k) >= l->acrosses)
        return false;
    if (line < l->at_line || line - l->at_line >= adx_lines(l->e))
        return true;
    l->next[k] = l->first[line - l->at_line];
    l->first[line - l->at_line] = k;
    return true;
}

// Lists all entries, the last one first, so that each list is in their order.
static bool adx_list_entries(adx_lists *l)
{
    const void *start = l->to->start;
    for (size_t i = 0; i < adx_lines(l->e); i++)
        l->first[i] = SIZE_MAX;
    if (l->line != NULL) {
        for (size_t k = l->to->entries; k-- > 0;)
            if (!adx_list_entry(l, adx_index_at(l->e, l->line, k), k))
                return false;
        return true;
    }
    if (adx_index_at(l->e, start, 0) != 0
        || adx_index_at(l->e, start, l->lines) != l->to->entries)
        return false;
    size_t end = l->to->entries;
    for (size_t i = l->lines; i-- > 0;) {
        size_t begin = adx_index_at(l->e, start, i);
        if (begin > end)
            return false;
        while (end > begin)
            if (!adx_list_entry(l, i, --end))
                return false;
    }
    return true;
}

// Finds the places of the entries of a line in the solver's matrix. Returns the
// first entry that has no place, or SIZE_MAX.
static size_t adx_find_in_line(adx_lists *l, size_t line, size_t place[])
{
    const ad_export *e = l->e;
    size_t missing = SIZE_MAX;
    for (size_t k = e->start[line]; k < e->start[line + 1]; k++)
        l->entry[e->across[k]] = k + 1;
    for (size_t k = l->first[line]; k != SIZE_MAX; k = l->next[k]) {
        size_t j = adx_index_at(e, l->across, k);
        if (j < l->at_across || j - l->at_across >= adx_across(e)
            || l->entry[j - l->at_across] == 0)
            continue;
        place[l->entry[j - l->at_across] - 1] = k;
        l->entry[j - l->at_across] = 0;
    }
    for (size_t k = e->start[line + 1]; k-- > e->start[line];)
        if (l->entry[e->across[k]] != 0)
            missing = k;
    return missing;
}

// Finds the places of all entries in the solver's matrix. If an entry has no
// place there, missing[] says which.
static ad_status adx_find_in_matrix(adx_lists *l, size_t place[],
                                    size_t missing[])
{
    const ad_export *e = l->e;
    memset(l->entry, 0, adx_across(e) * sizeof *l->entry);
    if (!adx_list_entries(l))
        return ADREV_ESHAPE;
    for (size_t i = 0; i < adx_lines(e); i++) {
        size_t k = adx_find_in_line(l, i, place);
        if (k == SIZE_MAX)
            continue;
        if (missing != NULL) {
            missing[adx_is_by_columns(e)] = i;
            missing[!adx_is_by_columns(e)] = e->across[k];
        }
        return ADREV_ESHAPE;
    }
    return ADREV_OK;
}

// Whether an array that this form of matrix needs is missing, or is longer than
// an array can be.
static bool adx_lacks_indices(const ad_export *e, const ad_matrix *to)
{
    ad_form form = e->layout.form;
    return to->rows >= ADX_MOST_ELEMENTS || to->columns >= ADX_MOST_ELEMENTS
        || to->entries >= ADX_MOST_ELEMENTS
        || (form != ADREV_TRIPLETS && to->start == NULL)
        || (to->entries > 0 && form != ADREV_CSR && to->row == NULL)
        || (to->entries > 0 && form != ADREV_CSC && to->column == NULL);
}

ADX_API ad_status ad_export_into(ad_export *e, const ad_matrix *to,
                                 size_t missing[])
{
    adx_lists l;
    if (e == NULL || to == NULL || adx_lacks_indices(e, to))
        return ADREV_ESHAPE;
    size_t *place = (size_t *)adx_take(&e->memory, e->entries, sizeof *place);
    bool ok = adx_begin_lists(&l, e, to) && place != NULL;
    ad_status status = ok ? adx_find_in_matrix(&l, place, missing)
                          : ADREV_ENOMEM;
    adx_end_lists(&l);
    adx_drop(&e->memory, status == ADREV_OK ? e->place : place);
    if (status == ADREV_OK)
        e->place = place;
    return status;
}

/* --- values --------------------------------------------------------------- */

// Whether an export belongs to such a matrix, of any function that has one.
static bool adx_export_fits(const ad_export *e, const adx_entries *g,
                            bool symmetric)
{
    return e->symmetric == symmetric && e->of_rows == g->rows
        && e->of_columns == g->cols && e->of_entries == g->start[g->rows];
}

// Whether the solver has the entries in the order of the matrix.
static bool adx_is_plain_export(const ad_export *e)
{
    return e->plain && e->place == NULL && !e->layout.adds;
}

// Writes the values of the matrix, which are in its own order, to where the
// solver has them.
static void adx_write_export(const ad_export *e, const ad_real from[],
                             ad_real value[])
{
    for (size_t k = 0; k < e->entries; k++) {
        ad_real v = e->from[k] == ADX_NO_ENTRY ? 0 : from[e->from[k]];
        ad_real *to = &value[e->place == NULL ? k : e->place[k]];
        *to = e->layout.adds ? *to + v : v;
    }
}

// Computes values and writes them to the solver's array. w NULL: those of the
// Jacobian; else of the Hessian.
static ad_status adx_values_of(ad_fn *fn, const ad_real x[], const ad_real w[],
                               ad_real value[])
{
    return w == NULL ? ad_fn_jacobian_sparse(fn, x, value)
                     : ad_fn_hessian_sparse(fn, x, w, value);
}

// Values in the form of an export: written at once if the solver has them in
// the order of the matrix, else by way of a workspace. The export must be of
// this very pattern.
static ad_status adx_export_values(ad_fn *fn, bool hessian, const ad_real x[],
                                   const ad_real w[], ad_export *e,
                                   ad_real value[])
{
    adx_pattern *s;
    if (fn == NULL || e == NULL || (hessian && w == NULL)
        || adx_lacks(fn, e->entries, value))
        return ADREV_ESHAPE;
    ad_status status = adx_pattern_of(fn, hessian, &s);
    if (status != ADREV_OK)
        return status;
    if (!adx_export_fits(e, &s->g, hessian))
        return ADREV_ESHAPE;
    if (adx_is_plain_export(e))
        return adx_values_of(fn, x, w, value);
    adx_workspace *work = adx_take_workspace(&e->spare, &e->memory,
                                             e->of_entries);
    if (work == NULL)
        return ADREV_ENOMEM;
    status = adx_values_of(fn, x, w, work->w);
    if (status == ADREV_OK)
        adx_write_export(e, work->w, value);
    adx_give_workspace(&e->spare, &e->memory, work);
    return status;
}

ADX_API ad_status ad_fn_jacobian_values(ad_fn *fn, const ad_real x[],
                                        ad_export *e, ad_real value[])
{
    return adx_export_values(fn, false, x, NULL, e, value);
}

ADX_API ad_status ad_fn_hessian_values(ad_fn *fn, const ad_real x[],
                                       const ad_real w[], ad_export *e,
                                       ad_real value[])
{
    return adx_export_values(fn, true, x, w, e, value);
}
