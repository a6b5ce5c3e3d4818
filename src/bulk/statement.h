#pragma once

/* === bulk/statement =========================================================
 * The one statement that a bulk operator puts on the tape: the numbers that it
 * keeps, and its rule. An operator has two parts, either of which may be
 * missing: a map, which makes rows z by f, and a combination of these rows,
 * which is a reduction or their prefixes, by op or as sums. The statement keeps
 * the values of the operands and the levels of op (bulk/reductions), but not z.
 * If op needs z in a sweep, the sweep runs the map again. Sums do not need it,
 * since their adjoints depend on no values.
 *
 *   needs   tape/layout tape/memory array/operands array/external function/api
 *           bulk/api bulk/folds bulk/captured bulk/passes bulk/maps
 *           bulk/reductions
 *   offers  adx_open_bulk adx_bulk_rule adx_bulk_statement
 * ========================================================================== */

// Sums the rows z, which may be tangents: of a reduction all rows, of prefixes
// the rows up to each.
static void adx_add_rows(const adx_bulk *b, const ad_real z[], ad_real to[])
{
    size_t d = b->d;
    size_t stride = b->kind == ADX_BULK_PREFIX ? d : 0;
    memcpy(to, z, d * sizeof *to);
    for (size_t i = 1; i < b->n; i++)
        for (size_t j = 0; j < d; j++)
            to[i * stride + j] = to[(i - 1) * stride + j] + z[i * d + j];
}

// Computes the values of the combination from rows z, whose numbers are `unit`
// apart. The levels of op are stored in b->part.
static ad_status adx_combine_values(adx_bulk *b, const ad_real z[],
                                    ptrdiff_t unit, ad_real to[])
{
    if (b->op != NULL && b->kind == ADX_BULK_REDUCE)
        return adx_fold_values(b, z, unit, to);
    if (b->op != NULL)
        return adx_prefix_values(b, z, unit, to);
    adx_add_rows(b, z, to);
    return ADREV_OK;
}

// Computes the values of the whole operator.
static ad_status adx_bulk_values(adx_bulk *b, ad_real to[])
{
    if (b->kind == ADX_BULK_MAP)
        return adx_map_values(b, to);
    if (b->f == NULL)
        return adx_combine_values(b, b->source->v, b->source->unit, to);
    ad_real *z = (ad_real *)adx_take(&b->memory, b->n * b->d, sizeof *z);
    ad_status status = z == NULL ? ADREV_ENOMEM : adx_map_values(b, z);
    if (status == ADREV_OK)
        status = adx_combine_values(b, z, 1, to);
    adx_drop(&b->memory, z);
    return status;
}

// Computes the adjoints dz of rows z, which are 0 before, from the adjoints dy
// of the results. `above` is room for the adjoints of the levels. Among prefix
// sums, a row has the sum of the adjoints of its own result and of all later
// ones.
static ad_status adx_combine_pull(adx_bulk *b, const ad_real z[],
                                  const ad_real dy[], ad_real dz[],
                                  ad_real above[], ad_real captured[])
{
    size_t d = b->d;
    if (b->op != NULL && b->kind == ADX_BULK_REDUCE)
        return adx_fold_pull(b, z, dy, dz, above, captured);
    if (b->op != NULL)
        return adx_prefix_pull(b, z, dy, dz, above, captured);
    for (size_t i = b->n; i-- > 0;)
        for (size_t j = 0; j < d; j++)
            dz[i * d + j] = dy[i * d + j]
                          + (i + 1 < b->n ? dz[(i + 1) * d + j] : 0);
    return ADREV_OK;
}

// Computes the tangents ty of the results from the tangents tz of rows z.
// `above` is room for the tangents of the levels.
static ad_status adx_combine_push(adx_bulk *b, const ad_real z[],
                                  const ad_real tz[], ad_real ty[],
                                  ad_real above[], const ad_real captured[])
{
    if (b->op != NULL && b->kind == ADX_BULK_REDUCE)
        return adx_fold_push(b, z, tz, ty, above, captured);
    if (b->op != NULL)
        return adx_prefix_push(b, z, tz, ty, above, captured);
    adx_add_rows(b, tz, ty);
    return ADREV_OK;
}

// Returns the operator that was saved on the tape. Its arrays lie behind it, in
// the order of adx_bulk_bytes.
static adx_bulk adx_open_bulk(const void *saved)
{
    adx_bulk b = *(const adx_bulk *)saved;
    b.sealed = true;
    char *at = (char *)(uintptr_t)saved + sizeof b;
    b.source = (adx_strip *)(void *)at;
    at += b.sources * sizeof *b.source;
    b.captured.id = (uint64_t *)(void *)at;
    at += b.captured.n * sizeof *b.captured.id;
    b.v = (ad_real *)(void *)at;
    at += b.operands * sizeof *b.v;
    b.part = (ad_real *)(void *)at;
    at += b.kept * sizeof *b.part;
    b.captured.bucket = (uint32_t *)(void *)at;
    return b;
}

// How many bytes the statement saves.
static size_t adx_bulk_bytes(const adx_bulk *b)
{
    return sizeof *b + b->sources * sizeof *b->source
         + b->captured.n * sizeof *b->captured.id
         + (b->operands + b->kept) * sizeof *b->v
         + b->captured.room * sizeof *b->captured.bucket;
}

// Takes room for a sweep, all 0: rows z, then their adjoints or tangents, then
// the adjoints or tangents of the levels. NULL: no memory.
static ad_real *adx_take_rows(const adx_bulk *b)
{
    size_t rows = b->n * b->d;
    size_t count = 2 * rows + b->kept;
    ad_real *z = (ad_real *)adx_take(&b->memory, count, sizeof *z);
    if (z != NULL)
        memset(z, 0, count * sizeof *z);
    return z;
}

// The pullback of an operator with a combination, unless that is the sum of all
// rows. It computes z again if op needs it, then the adjoints of z, and from
// these, by the map, the adjoints of the operands.
static ad_status adx_pull_by_rows(adx_bulk *b, const ad_real dy[], ad_real dx[],
                                  ad_real *captured)
{
    ad_real *z = adx_take_rows(b);
    ad_status status = z == NULL ? ADREV_ENOMEM : ADREV_OK;
    size_t rows = b->n * b->d;
    if (status == ADREV_OK && b->f != NULL && b->op != NULL)
        status = adx_map_values(b, z);
    if (status == ADREV_OK)
        status = adx_combine_pull(b, b->f == NULL ? b->v : z, dy, z + rows,
                                  z + 2 * rows, captured);
    if (status == ADREV_OK && b->f != NULL) {
        const adx_pass p = { .duty = ADX_DUTY_pull, .dy = z + rows,
                                 .dy_stride = b->d, .dx = dx,
                                 .captured = captured };
        status = adx_map_all_elements(&p, b);
    }
    for (size_t i = 0; status == ADREV_OK && b->f == NULL && i < rows; i++)
        dx[i] += z[rows + i];
    adx_drop(&b->memory, z);
    return status;
}

// Where there is only a map, the adjoints of z are dy. Where the sum of all
// rows follows it, each row of z has the adjoint dy. No other array is needed
// then.
static bool adx_bulk_pullback(const void *saved, size_t m, const ad_real dy[],
                              size_t n, ad_real dx[])
{
    adx_bulk b = adx_open_bulk(saved);
    ad_real *captured = dx + b.operands;
    (void)m;
    (void)n;
    if (b.kind != ADX_BULK_MAP && (b.kind != ADX_BULK_REDUCE || b.op != NULL))
        return adx_pull_by_rows(&b, dy, dx, captured) == ADREV_OK;
    const adx_pass p = { .duty = ADX_DUTY_pull, .dy = dy,
                             .dy_stride = b.kind == ADX_BULK_MAP ? b.d : 0,
                             .dx = dx, .captured = captured };
    return adx_map_all_elements(&p, &b) == ADREV_OK;
}

// The pushforward of an operator with a combination.
static ad_status adx_push_by_rows(adx_bulk *b, const ad_real dx[], ad_real dy[])
{
    const ad_real *captured = dx + b->operands;
    ad_real *z = adx_take_rows(b);
    ad_status status = z == NULL ? ADREV_ENOMEM : ADREV_OK;
    size_t rows = b->n * b->d;
    if (status == ADREV_OK && b->f != NULL && b->op != NULL)
        status = adx_map_values(b, z);
    if (status == ADREV_OK && b->f != NULL) {
        const adx_pass p = { .duty = ADX_DUTY_push, .tx = dx,
                                 .to = z + rows, .captured_t = captured };
        status = adx_map_all_elements(&p, b);
    }
    if (status == ADREV_OK)
        status = adx_combine_push(b, b->f == NULL ? b->v : z,
                                  b->f == NULL ? dx : z + rows, dy,
                                  z + 2 * rows, captured);
    adx_drop(&b->memory, z);
    return status;
}

static bool adx_bulk_pushforward(const void *saved, size_t n,
                                 const ad_real dx[], size_t m, ad_real dy[])
{
    adx_bulk b = adx_open_bulk(saved);
    (void)n;
    (void)m;
    if (b.kind != ADX_BULK_MAP)
        return adx_push_by_rows(&b, dx, dy) == ADREV_OK;
    const adx_pass p = { .duty = ADX_DUTY_push, .tx = dx, .to = dy,
                             .captured_t = dx + b.operands };
    return adx_map_all_elements(&p, &b) == ADREV_OK;
}

static void adx_bulk_destroy(const void *saved)
{
#ifdef ADREV_FUNCTION_IMPLEMENTED
    ad_fn_free(((const adx_bulk *)saved)->fn);
#else
    (void)saved;
#endif
}

static const ad_external_rule adx_bulk_rule = {
    .name = "bulk", .pullback = adx_bulk_pullback,
    .pushforward = adx_bulk_pushforward, .destroy = adx_bulk_destroy
};

// How many results the operator has.
static size_t adx_bulk_results(const adx_bulk *b)
{
    return b->kind == ADX_BULK_REDUCE ? b->d : b->n * b->d;
}

// Writes the operator as the statement saves it. The values of the operands are
// stored one after another, so the arguments no longer say where the user had
// them, but which operands they are.
static void adx_save_bulk(const adx_bulk *b, const ad_rev operand[],
                          void *saved)
{
    memcpy(saved, b, sizeof *b);
    adx_bulk to = adx_open_bulk(saved);
    for (size_t i = 0; i < b->sources; i++) {
        to.source[i] = b->source[i];
        to.source[i].v = NULL;
        to.source[i].unit = 1;
        to.source[i].stride = b->source[i].next;
    }
    for (size_t i = 0; i < b->operands; i++)
        to.v[i] = operand[i].v;
    if (b->kept > 0)
        memcpy(to.part, b->part, b->kept * sizeof *b->part);
    if (b->captured.n > 0) {
        memcpy(to.captured.id, b->captured.id,
               b->captured.n * sizeof *b->captured.id);
        memcpy(to.captured.bucket, b->captured.bucket,
               b->captured.room * sizeof *b->captured.bucket);
    }
}

// Adds the statement as ad_external does, but writes the saved operator
// straight to its place on the tape. NULL: all operands are constants, or the
// tape has failed.
static adx_external *adx_add_bulk(const adx_bulk *b, const adx_view *operand)
{
    ad_tape *t = adx_now.tape;
    adx_ids ids = adx_classify(operand);
    if (adx_is_constant(&ids) || t->status != ADREV_OK)
        return NULL;
    adx_external *s = adx_add_external(operand, &ids, adx_bulk_bytes(b),
                                       adx_bulk_results(b));
    if (s == NULL)
        return NULL;
    s->rule = &adx_bulk_rule;
    adx_save_bulk(b, operand->x, (void *)(uintptr_t)s->saved);
    t->calls = true;
    s->e.before = t->last;
    t->last = &s->e;
    return s;
}

// Lists all operands of the statement: the numbers of the arguments, then the
// captured numbers. NULL: no memory.
static ad_rev *adx_all_operands(const adx_bulk *b, const ad_rows x[])
{
    size_t count = b->operands + b->captured.n;
    ad_rev *all = (ad_rev *)adx_take(&b->memory, count, sizeof *all);
    ad_rev *to = all;
    for (size_t k = 0; all != NULL && k < b->sources; k++)
        to = adx_list_operands(b->n, &x[k], to);
    if (all != NULL)
        adx_list_captured(&b->captured, to);
    return all;
}

// Records the statement, whose values are v.
static ad_status adx_record_bulk(adx_bulk *b, const ad_rows x[],
                                 const ad_real v[], ad_rev y[])
{
    ad_rev *operand = adx_all_operands(b, x);
    if (operand == NULL)
        return adx_failed(ADREV_ENOMEM);
    const adx_view view = adx_vector(b->operands + b->captured.n, operand, 1);
    adx_external *s = adx_add_bulk(b, &view);
    adx_drop(&b->memory, operand);
    if (s != NULL)
        b->fn = NULL;           // the statement frees it
    if (adx_now_status() != ADREV_OK)
        return adx_now_status();
    for (size_t i = 0; i < adx_bulk_results(b); i++)
        adx_set_result(&y[i], v[i], ADX_BASE(s), i);
    return ADREV_OK;
}

// Whether any number of the arguments is recorded.
static bool adx_any_recorded(size_t n, size_t args, const ad_rows x[])
{
    for (size_t k = 0; k < args; k++) {
        size_t rows = x[k].size == 0 ? 0 : x[k].step == 0 ? 1 : n;
        const ad_rev *row = x[k].x;
        for (size_t i = 0; i < rows; i++, row += x[k].step)
            for (size_t j = 0; j < x[k].size; j++)
                if (row[j].job != 0)
                    return true;
    }
    return false;
}

// Computes the values, and chooses how a sweep will run: with f as a recorded
// function, if it captures nothing and there are enough elements, and how many
// elements a chunk has. After each chunk the adjoints of all shared and
// captured numbers are added; so a chunk has at least one element for every 16
// of these.
static ad_status adx_evaluate_bulk(adx_bulk *b, bool recorded, ad_real v[])
{
    b->chunk = 64;
    ad_status status = recorded && b->f != NULL ? adx_measure_f(b) : ADREV_OK;
#ifdef ADREV_FUNCTION_IMPLEMENTED
    if (status == ADREV_OK && recorded && b->f != NULL
        && b->captured.n == 0 && b->n >= ADREV_REPLAY_FROM
        && b->n < UINT32_MAX)
        adx_record_f(b);
#endif
    if (status == ADREV_OK)
        status = adx_bulk_values(b, v);
    size_t shared = (b->shared + b->captured.n) / 16;
    b->chunk = b->chunk > shared ? b->chunk : shared;
    b->chunk = b->chunk < b->n ? b->chunk : b->n;
    return status;
}

// Computes and records the operator. The tape is not current while the values
// are computed, so that nothing else is recorded on it.
static ad_status adx_bulk_statement(adx_bulk *b, const ad_rows x[],
                                    ad_rev y[])
{
    ad_tape *t = adx_now.tape;
    b->memory = t->allocator;
    b->kept = adx_levels_of(b).kept;
    b->source = (adx_strip *)adx_take(&b->memory, b->sources,
                                      sizeof *b->source);
    b->part = (ad_real *)adx_take(&b->memory, b->kept, sizeof *b->part);
    ad_real *v = (ad_real *)adx_take(&b->memory, adx_bulk_results(b),
                                     sizeof *v);
    ad_status status = ADREV_ENOMEM;
    if (b->source != NULL && b->part != NULL && v != NULL) {
        for (size_t k = 0; k < b->sources; k++) {
            b->source[k] = adx_place_source(b->n, &x[k], b->operands);
            b->operands += adx_extent_of(b->n, &x[k]);
        }
        bool recorded = adx_any_recorded(b->n, b->sources, x);
        ad_use(NULL);
        status = adx_evaluate_bulk(b, recorded, v);
        ad_use(t);
    }
    status = status == ADREV_OK ? adx_record_bulk(b, x, v, y)
                                : ad_fail(status, b->why);
#ifdef ADREV_FUNCTION_IMPLEMENTED
    ad_fn_free(b->fn);
#endif
    adx_free_captured(&b->memory, &b->captured);
    adx_drop(&b->memory, v);
    adx_drop(&b->memory, b->part);
    adx_drop(&b->memory, b->source);
    return status;
}
