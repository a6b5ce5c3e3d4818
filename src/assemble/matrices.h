#pragma once

/* === assemble/matrices ======================================================
 * Sparse matrices of an assembly. Each entry of an element's matrix contributes
 * to one entry of the whole. If two inputs of an element are one variable, an
 * entry beside the diagonal of the element's Hessian lies on that of the whole,
 * and contributes twice. The pattern is found once, by sorting the places of
 * all contributions; the values are sums as those of results are
 * (assemble/sums).
 *
 *   needs   tape/memory function/api function/program function/places
 *           function/functions function/pattern function/plans function/export
 *           code/wanted assemble/api assemble/sums assemble/elements
 *           assemble/evaluate
 * ========================================================================== */

/* --- patterns ------------------------------------------------------------- */

// The machine of a sparse matrix, which is made once.
static ad_status adx_make_sparse_machine(ad_fn *fn, bool hessian)
{
    adx_kind kind = hessian ? ADX_KIND_hessian_sparse
                            : ADX_KIND_jacobian_sparse;
    adx_program q;
    // acquire: pairs with the release that publishes it
    if (atomic_load_explicit(&fn->machine[kind], memory_order_acquire) != NULL)
        return ADREV_OK;
    adx_begin_program(&q, &fn->memory, false);
    ad_status status = adx_make_sparse(&q, fn, hessian);
    adx_machine *m = status == ADREV_OK ? adx_make_machine(&q) : NULL;
    adx_free_program(&q);
    if (m != NULL)
        adx_publish_machine(fn, kind, m);
    return status == ADREV_OK && m == NULL ? ADREV_ENOMEM : status;
}

// Lists, entry by entry, the contributions of a kind's elements, which begin
// at place `at`. Rows and columns are those of the whole.
static void adx_list_kind(const adx_element_kind *k, const adx_entries *g,
                          bool hessian, uint32_t at, adx_unsorted *u)
{
    const adx_indices *columns = adx_variables_at(k);
    const adx_indices *rows = hessian ? columns : adx_results_at(k);
    for (size_t i = 0; i < g->rows; i++)
        for (size_t j = g->start[i]; j < g->start[i + 1]; j++)
            for (size_t e = 0; e < k->count; e++, at++) {
                int32_t row = rows[i].of[e];
                int32_t column = columns[g->col[j]].of[e];
                bool twice = hessian && row == column && g->col[j] != i;
                for (int times = row < 0 || column < 0 ? 0 : 1 + twice;
                     times > 0; times--) {
                    bool turned = hessian && row < column;
                    u->index[turned][u->n] = (uint32_t)row;
                    u->index[!turned][u->n] = (uint32_t)column;
                    u->from[u->n++] = at;
                }
            }
}

// Entries that are there several times become one, whose contributions are a
// list: end[i] is where that of entry i ends.
static void adx_join_entries(const adx_unsorted *u, adx_entries *g,
                             uint32_t end[], uint32_t place[])
{
    uint32_t entries = 0, k = 0;
    for (size_t i = 0; i < g->rows; i++) {
        uint32_t first = entries;
        g->start[i] = entries;
        for (; k < u->count[i]; k++) {
            uint32_t column = u->index[1][u->order[0][k]];
            if (entries == first || g->col[entries - 1] != column)
                g->col[entries++] = column;
            place[k] = u->from[u->order[0][k]];
            end[entries - 1] = k + 1;
        }
    }
    g->start[g->rows] = entries;
}

static bool adx_sort_assembled(adx_assembled *s, adx_unsorted *u, size_t rows,
                               size_t columns)
{
    const ad_allocator *a = s->memory;
    uint32_t *end = (uint32_t *)adx_take(a, u->n, sizeof *end);
    uint32_t *place = (uint32_t *)adx_take(a, u->n, sizeof *place);
    bool ok = end != NULL && place != NULL
           && adx_new_graph(a, &s->g, rows, columns, u->n);
    if (ok) {
        adx_sort_lines(u, rows, columns);
        adx_join_entries(u, &s->g, end, place);
        ok = adx_make_sums(a, &s->sums, s->g.start[rows], end, place,
                           (uint32_t)s->contributions);
    }
    adx_drop(a, end);
    adx_drop(a, place);
    return ok;
}

// Makes the programs of the elements' matrices, and counts contributions, and
// the most entries that these can be.
static ad_status adx_count_assembled(ad_assembly *a, bool hessian, size_t *all,
                                     size_t *most)
{
    *all = *most = 0;
    for (size_t i = 0; i < a->kinds; i++) {
        adx_pattern *p;
        adx_element_kind *k = &a->kind[i];
        ad_status status = adx_pattern_of(k->fn, hessian, &p);
        if (status == ADREV_OK)
            status = adx_make_sparse_machine(k->fn, hessian);
        if (status != ADREV_OK)
            return status;
        size_t entries = p->g.start[p->g.rows];
        if (entries > 0 && k->count > (UINT32_MAX / 2 - *all) / entries)
            return ADREV_ELIMIT;
        *all += entries * k->count;
        *most += entries * k->count * (hessian ? 2 : 1);
    }
    return ADREV_OK;
}

// Lists the entries of all elements, kind by kind, and sorts them into rows and
// columns of the assembly, so that equal ones become one entry.
static ad_status adx_fill_assembled(ad_assembly *a, bool hessian,
                                    adx_assembled *s)
{
    adx_unsorted u;
    size_t most, rows = hessian ? a->n : a->m;
    ad_status status = adx_count_assembled(a, hessian, &s->contributions,
                                           &most);
    if (status != ADREV_OK)
        return status;
    bool ok = adx_begin_unsorted(&a->memory, rows > a->n ? rows : a->n, most,
                                 &u);
    uint32_t at = 0;
    for (size_t i = 0; i < a->kinds && ok; i++) {
        adx_pattern *p;
        adx_element_kind *k = &a->kind[i];
        ok = adx_pattern_of(k->fn, hessian, &p) == ADREV_OK;
        if (!ok)
            break;
        adx_list_kind(k, &p->g, hessian, at, &u);
        at += p->g.start[p->g.rows] * (uint32_t)k->count;
    }
    ok = ok && adx_sort_assembled(s, &u, rows, a->n);
    adx_end_unsorted(&a->memory, &u);
    return ok ? ADREV_OK : ADREV_ENOMEM;
}

// A matrix is made once: NULL until a thread has published it. The acquire
// pairs with the release of the exchange.
static ad_status adx_assembled_of(ad_assembly *a, bool hessian,
                                  adx_assembled **out)
{
    adx_assembled *s = atomic_load_explicit(&a->matrix[hessian],
                                            memory_order_acquire);
    adx_assembled *other = NULL;
    *out = s;
    if (s != NULL)
        return ADREV_OK;
    s = (adx_assembled *)adx_take(&a->memory, 1, sizeof *s);
    if (s == NULL)
        return ADREV_ENOMEM;
    memset(s, 0, sizeof *s);
    s->memory = &a->memory;
    ad_status status = adx_fill_assembled(a, hessian, s);
    if (status != ADREV_OK) {
        adx_free_assembled(s);
        return status;
    }
    if (!atomic_compare_exchange_strong_explicit(&a->matrix[hessian], &other, s,
                                                 memory_order_acq_rel,
                                                 memory_order_acquire)) {
        adx_free_assembled(s);
        s = other;
    }
    *out = s;
    return ADREV_OK;
}

static ad_status adx_tell_assembled(ad_assembly *a, bool hessian,
                                    size_t *nonzeros, size_t start[],
                                    size_t row[], size_t column[])
{
    adx_assembled *s;
    if (a == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_assembled_of(a, hessian, &s);
    if (status != ADREV_OK)
        return status;
    if (nonzeros != NULL)
        *nonzeros = s->g.start[s->g.rows];
    adx_tell_entries(&s->g, start, row, column);
    return ADREV_OK;
}

ADX_API ad_status ad_assembly_jacobian_pattern(ad_assembly *a, size_t *nonzeros,
                                               size_t start[], size_t row[],
                                               size_t column[])
{
    return adx_tell_assembled(a, false, nonzeros, start, row, column);
}

ADX_API ad_status ad_assembly_hessian_pattern(ad_assembly *a, size_t *nonzeros,
                                              size_t start[], size_t row[],
                                              size_t column[])
{
    return adx_tell_assembled(a, true, nonzeros, start, row, column);
}

static ad_status adx_export_assembled(ad_assembly *a, bool hessian,
                                      const ad_layout *layout, ad_export **out)
{
    adx_assembled *s;
    if (out != NULL)
        *out = NULL;
    if (a == NULL || out == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_assembled_of(a, hessian, &s);
    return status != ADREV_OK ? status
         : adx_new_export(out, &a->memory, layout, &s->g, hessian);
}

ADX_API ad_status ad_assembly_jacobian_export(ad_assembly *a,
                                              const ad_layout *layout,
                                              ad_export **out)
{
    return adx_export_assembled(a, false, layout, out);
}

ADX_API ad_status ad_assembly_hessian_export(ad_assembly *a,
                                             const ad_layout *layout,
                                             ad_export **out)
{
    return adx_export_assembled(a, true, layout, out);
}

/* --- values --------------------------------------------------------------- */

// The sums go to value[], or, if that is NULL, to memory of the evaluation:
// k->work->w. The evaluation is still to be ended.
static ad_status adx_sum_entries(adx_assembling *k, const adx_assembled *s,
                                 ad_real value[])
{
    size_t entries = s->g.start[s->g.rows];
    ad_status status = adx_begin_assembling(k, s->contributions,
                                            value == NULL ? entries : 0);
    if (status == ADREV_OK)
        status = adx_contribute(k);
    if (status == ADREV_OK)
        adx_sum_all(&s->sums, k->contribution,
                    value == NULL ? k->work->w : value);
    return status;
}

// Sums go into the solver's array at once, if its order is that of the pattern.
static ad_status adx_assemble_matrix(adx_assembling *k, bool hessian,
                                     ad_export *e, ad_real value[])
{
    adx_assembled *s;
    ad_status status = adx_assembled_of(k->a, hessian, &s);
    if (status != ADREV_OK)
        return status;
    size_t entries = s->g.start[s->g.rows];
    bool direct = value != NULL && (e == NULL || adx_is_plain_export(e));
    if ((e != NULL && !adx_export_fits(e, &s->g, hessian))
        || (value == NULL && (e == NULL ? entries : e->entries) > 0))
        return ADREV_ESHAPE;
    status = adx_sum_entries(k, s, direct ? value : NULL);
    if (status == ADREV_OK && e != NULL && !direct)
        adx_write_export(e, k->work->w, value);
    adx_end_assembling(k);
    return status;
}

// The same as a dense matrix with a->n columns.
static ad_status adx_assemble_dense(adx_assembling *k, bool hessian,
                                    ad_real to[])
{
    adx_assembled *s;
    const size_t n = k->a->n;
    ad_status status = adx_assembled_of(k->a, hessian, &s);
    if (status != ADREV_OK)
        return status;
    status = adx_sum_entries(k, s, NULL);
    if (status == ADREV_OK && n > 0)
        memset(to, 0, s->g.rows * n * sizeof *to);
    for (size_t i = 0; status == ADREV_OK && i < s->g.rows; i++)
        for (size_t j = s->g.start[i]; j < s->g.start[i + 1]; j++) {
            to[i * n + s->g.col[j]] = k->work->w[j];
            if (hessian)
                to[s->g.col[j] * n + i] = k->work->w[j];
        }
    adx_end_assembling(k);
    return status;
}

ADX_API ad_status ad_assembly_jacobian(ad_assembly *a, const ad_real x[],
                                       const ad_real p[], ad_export *e,
                                       ad_real value[])
{
    adx_assembling k = { .a = a, .kind = ADX_KIND_jacobian_sparse, .x = x,
                         .p = p };
    return adx_lacks_point(a, x, p) ? ADREV_ESHAPE
         : adx_assemble_matrix(&k, false, e, value);
}

ADX_API ad_status ad_assembly_hessian(ad_assembly *a, const ad_real x[],
                                      const ad_real p[], const ad_real w[],
                                      ad_export *e, ad_real value[])
{
    adx_assembling k = { .a = a, .kind = ADX_KIND_hessian_sparse, .x = x,
                         .p = p, .w = w };
    return adx_lacks_point(a, x, p) || w == NULL ? ADREV_ESHAPE
         : adx_assemble_matrix(&k, true, e, value);
}

ADX_API ad_status ad_assembly_jacobian_dense(ad_assembly *a, const ad_real x[],
                                             const ad_real p[], ad_real J[])
{
    adx_assembling k = { .a = a, .kind = ADX_KIND_jacobian_sparse, .x = x,
                         .p = p };
    return adx_lacks_point(a, x, p) || (J == NULL && a->n > 0) ? ADREV_ESHAPE
         : adx_assemble_dense(&k, false, J);
}

ADX_API ad_status ad_assembly_hessian_dense(ad_assembly *a, const ad_real x[],
                                            const ad_real p[],
                                            const ad_real w[], ad_real H[])
{
    adx_assembling k = { .a = a, .kind = ADX_KIND_hessian_sparse, .x = x,
                         .p = p, .w = w };
    return adx_lacks_point(a, x, p) || w == NULL || (H == NULL && a->n > 0)
         ? ADREV_ESHAPE : adx_assemble_dense(&k, true, H);
}
