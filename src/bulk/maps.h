#pragma once

/* === bulk/maps ==============================================================
 * Calls the function f of a map for all elements. If adrev_function.h is there,
 * f is recorded at element 0, and the recorded function is replayed in lanes.
 * Elements that fail at one of its guards are done afterwards by f itself. A
 * recording does not see everything that f does. So when values are computed, f
 * itself also computes a sample of the elements. If any of these differ, the
 * recorded function is given up, and f does all elements.
 *
 *   needs   tape/memory function/api bulk/passes
 *   offers  adx_is_empty adx_is_sampled adx_next_power adx_next_sample
 *           adx_is_near adx_record_f adx_map_all_elements adx_measure_f
 *           adx_map_values
 * ========================================================================== */

// Does a pass by f itself, over the elements `only`; NULL: over all elements.
static ad_status adx_map_pass(const adx_pass *like, adx_bulk *b,
                              const uint32_t *only, size_t items)
{
    adx_pass p = *like;
    p.b = b;
    p.shape = ADX_SHAPE_map;
    p.items = items;
    p.chunk = b->chunk < items ? b->chunk : items;
    p.only = only;
    return adx_do_pass(&p);
}

#ifdef ADREV_FUNCTION_IMPLEMENTED
// Writes the columns of the arguments of f: of their values or, if `of` is not
// NULL, of adjoints or tangents of the operands, which are in `of`. Returns
// where the next columns go.
static ad_column *adx_operand_columns(const adx_bulk *b, const ad_real *of,
                                      ad_column *to)
{
    for (const adx_strip *s = b->source; s < b->source + b->sources; s++)
        for (size_t j = 0; j < s->size; j++) {
            const ad_real *v = of != NULL ? of + s->at + j
                             : adx_strip_of(b, s, 0) + (ptrdiff_t)j * s->unit;
            *to++ = (ad_column){ (ad_real *)(uintptr_t)v,
                                 of != NULL ? s->next : s->stride };
        }
    return to;
}

// Writes the columns of the results, whose rows are `stride` numbers apart.
static ad_column *adx_row_columns(const adx_bulk *b, const ad_real *rows,
                                  size_t stride, ad_column *to)
{
    for (size_t j = 0; j < b->d; j++)
        *to++ = (ad_column){ (ad_real *)(uintptr_t)(rows + j),
                             (ptrdiff_t)stride };
    return to;
}

// Does a pass by the recorded function. x is room for all columns: first those
// of the arguments, then those of their adjoints or tangents, then those of the
// results.
static ad_status adx_map_in_lanes(const adx_pass *p, const adx_bulk *b,
                                  ad_column *x, uint32_t left[])
{
    ad_column *dx = adx_operand_columns(b, NULL, x);
    if (p->duty == ADX_DUTY_values) {
        ad_column *y = dx;
        adx_row_columns(b, p->to, b->d, y);
        return ad_fn_map(b->fn, b->n, x, y, left);
    }
    if (p->duty == ADX_DUTY_pull) {
        ad_column *w = adx_operand_columns(b, p->dx, dx);
        adx_row_columns(b, p->dy, p->dy_stride, w);
        return ad_fn_map_vjp(b->fn, b->n, x, w, dx, NULL, left);
    }
    ad_column *dy = adx_operand_columns(b, p->tx, dx);
    adx_row_columns(b, p->to, b->d, dy);
    return ad_fn_map_jvp(b->fn, b->n, x, dx, dy, left);
}

// Does a pass by the recorded function, and then by f itself for the elements
// that failed at a guard.
static ad_status adx_map_recorded(const adx_pass *p, adx_bulk *b)
{
    size_t columns = 2 * (b->shared + b->width) + b->d;
    ad_column *x = (ad_column *)adx_take(&b->memory, columns, sizeof *x);
    uint32_t *left = (uint32_t *)adx_take(&b->memory, b->n, sizeof *left);
    ad_status status = x == NULL || left == NULL ? ADREV_ENOMEM
                     : adx_map_in_lanes(p, b, x, left);
    if (status == ADREV_EPATH) {
        size_t n = 0;
        for (size_t i = 0; i < b->n; i++)
            if (left[i] != 0)
                left[n++] = (uint32_t)i;
        status = adx_map_pass(p, b, left, n);
    }
    adx_drop(&b->memory, left);
    adx_drop(&b->memory, x);
    return status;
}

// Whether a recorded function is of no use. If it has no operations and no
// guards, f may have been compiled without ADREV_TRACE: then its comparisons
// went unseen.
static bool adx_is_empty(const ad_fn *fn)
{
    return fn == NULL
        || (fn->program.report.recorded == 0 && fn->program.report.guards == 0);
}

#define ADX_SAMPLED 16

// Whether element i is in the sample, which f itself computes, too. One element
// in ADX_SAMPLED is, and so are the powers of two, which lie more densely at
// the beginning.
static bool adx_is_sampled(size_t i)
{
    return (i & (i - 1)) == 0 || i % ADX_SAMPLED == 0;
}

// The least power of two that is not below i; 0 for 0.
static size_t adx_next_power(size_t i)
{
    size_t power = i > 0;
    while (power < i)
        power *= 2;
    return power;
}

// The first element from i on that is in the sample.
static size_t adx_next_sample(size_t i)
{
    size_t even = i + (ADX_SAMPLED - i % ADX_SAMPLED) % ADX_SAMPLED;
    size_t power = adx_next_power(i);
    return power < even ? power : even;
}

// Whether a and b differ by rounding at most: a compiler may have contracted
// products and sums in one of them.
static bool adx_is_near(ad_real a, ad_real b)
{
    return a == b || (a != a && b != b) || adm_fabs(a - b)
        <= ADX_K(1e-4) * (adm_fabs(a) + adm_fabs(b));
}

// Records f at element 0. If it cannot be recorded, b->fn stays NULL.
static void adx_record_f(adx_bulk *b)
{
    size_t nx = b->shared + b->width;
    const ad_fn_options options = { .allocator = &b->memory,
                                    .once = true };
    ad_real *at = (ad_real *)adx_take(&b->memory, nx, sizeof *at);
    if (at == NULL)
        return;
    ad_real *to = at;
    for (const adx_strip *s = b->source; s < b->source + b->sources; s++)
        for (size_t j = 0; j < s->size; j++)
            *to++ = adx_strip_of(b, s, 0)[(ptrdiff_t)j * s->unit];
    ad_status status = ad_fn_record_with(&b->fn, &options, b->f, b->ctx, nx,
                                         at, b->d);
    adx_drop(&b->memory, at);
    if (status != ADREV_OK || adx_is_empty(b->fn)) {
        ad_fn_free(b->fn);
        b->fn = NULL;
    }
}

// Compares what f itself gives for the elements `only` with what the recorded
// function gave, which is in `lanes`. The results of f overwrite the others in
// p->to, so these are put back.
static ad_status adx_compare_rows(const adx_pass *p, adx_bulk *b, size_t n,
                                  const uint32_t only[], const ad_real lanes[],
                                  bool *same)
{
    ad_status status = adx_map_pass(p, b, only, n);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        for (size_t j = 0; j < b->d; j++) {
            ad_real *y = &p->to[only[i] * b->d + j];
            *same = *same && adx_is_near(*y, lanes[i * b->d + j]);
            *y = lanes[i * b->d + j];
        }
    return status;
}

// Sets *same to whether the recorded function agrees with f on the sample. It
// does not if f reads x.v, which no recording sees, or reads something that
// changes.
static ad_status adx_sample_lanes(const adx_pass *p, adx_bulk *b, bool *same)
{
    size_t most = b->n / ADX_SAMPLED + 8 * sizeof b->n + 1;
    uint32_t *only = (uint32_t *)adx_take(&b->memory, most, sizeof *only);
    ad_real *lanes = (ad_real *)adx_take(&b->memory, most * b->d,
                                         sizeof *lanes);
    ad_status status = ADREV_ENOMEM;
    size_t n = 0;
    for (size_t i = 1; only != NULL && lanes != NULL && i < b->n; i++)
        if (adx_is_sampled(i)) {
            memcpy(lanes + n * b->d, p->to + i * b->d, b->d * sizeof *lanes);
            only[n++] = (uint32_t)i;
        }
    *same = true;
    if (only != NULL && lanes != NULL)
        status = adx_compare_rows(p, b, n, only, lanes, same);
    adx_drop(&b->memory, lanes);
    adx_drop(&b->memory, only);
    return status;
}

// Does a pass by the recorded function; if the sample of its values differs, by
// f after all.
static ad_status adx_map_replayed(const adx_pass *p, adx_bulk *b)
{
    bool same = true;
    ad_status status = adx_map_recorded(p, b);
    if (status == ADREV_OK && p->duty == ADX_DUTY_values)
        status = adx_sample_lanes(p, b, &same);
    if (status != ADREV_OK || same)
        return status;
    if (!b->sealed)             // else the statement frees it
        ad_fn_free(b->fn);
    b->fn = NULL;
    return adx_map_pass(p, b, NULL, b->n);
}
#endif

// Does a pass over all elements.
static ad_status adx_map_all_elements(const adx_pass *p, adx_bulk *b)
{
#ifdef ADREV_FUNCTION_IMPLEMENTED
    if (b->fn != NULL)
        return adx_map_replayed(p, b);
#endif
    return adx_map_pass(p, b, NULL, b->n);
}

// A chunk has as many elements as make about ADX_CHUNK_VALUES values, but
// ADX_CHUNK_MOST at most.
#define ADX_CHUNK_VALUES 2048
#define ADX_CHUNK_MOST 256

// Records element 0, counts its values, and from these chooses how many
// elements a chunk has. The numbers that f captured there enter the table.
static ad_status adx_measure_f(adx_bulk *b)
{
    adx_pass p = { .b = b, .shape = ADX_SHAPE_map, .items = 1,
                       .chunk = 1 };
    ad_status status = adx_open_pass(&p, 1);
    if (status == ADREV_OK) {
        adx_chunk_tape *r = p.room[0];
        r->active = true;
        r->collect = true;
        adx_run_chunk(r, 0, 1);
        status = r->status;
        b->why = r->tape->failure.why;
        size_t values = ad_tape_stats(r->tape).values - r->inputs + b->d
                      + b->width;
        b->chunk = ADX_CHUNK_VALUES / values;
        b->chunk = b->chunk < 1 ? 1 : b->chunk > ADX_CHUNK_MOST
                 ? ADX_CHUNK_MOST : b->chunk;
    }
    adx_close_pass(&p);
    return status;
}

// Computes the values of f for all elements.
static ad_status adx_map_values(adx_bulk *b, ad_real to[])
{
    const adx_pass p = { .duty = ADX_DUTY_values, .to = to };
    return adx_map_all_elements(&p, b);
}
