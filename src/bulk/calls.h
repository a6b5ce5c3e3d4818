#pragma once

/* === bulk/calls =============================================================
 * The public functions. On an ordinary tape a call becomes a statement
 * (bulk/statement). If a hook is set, if the tape is in fixed memory, or if no
 * tape is current, the call is plain: the same operations run in the same order
 * on the recorded numbers themselves, and each is recorded if anything is. In a
 * plain call a row enters level 0 as soon as it is made; when a part of a level
 * is full, its result enters the next level as a row. So only one part of each
 * level is in memory.
 *
 *   needs   number/recording tape/layout tape/memory sweep/session bulk/api
 *           bulk/folds bulk/passes bulk/reductions bulk/statement
 * ========================================================================== */

// A plain call while it runs.
typedef struct adx_plain {
    const adx_bulk *b;
    ad_rev *arg;                // arguments of f
    ad_rev *z;                  // results of f
    ad_rev *pair;               // arguments of op
    ad_rev *level;              // [levels*d] each level's last part so far
    ad_rev *upto;               // [levels*d] prefix: each level's last prefix
    size_t count[66];           // rows in that part; prefix: in the level
    const adx_levels *levels;
    ad_rev *y;
    bool unset;                 // a result was not set
} adx_plain;

// Enters a row into level k of a reduction.
static void adx_plain_fold(adx_plain *p, const ad_rev row[], size_t k)
{
    size_t d = p->b->d;
    ad_rev *part = p->level + k * d;
    if (p->count[k]++ == 0)
        memcpy(part, row, d * sizeof *part);
    else
        p->unset |= !adx_apply_op(p->b, part, row, p->pair, part);
    if (p->count[k] < p->b->radix)
        return;
    p->count[k] = 0;
    adx_plain_fold(p, part, k + 1);
}

// Ends a reduction. Parts that are not full are complete now. From level 0
// upwards, the result of each is the last row of the next level that has a
// part.
static void adx_plain_end(adx_plain *p)
{
    const ad_rev *last = NULL;
    for (size_t k = 0; k <= p->levels->count; k++) {
        ad_rev *part = p->level + k * p->b->d;
        if (p->count[k] == 0)
            continue;
        if (last != NULL)
            p->unset |= !adx_apply_op(p->b, part, last, p->pair, part);
        last = part;
    }
    memcpy(p->y, last, p->b->d * sizeof *last);
}

// Enters a row into level k and computes its prefix. The first row of a part is
// combined with the last prefix of the level above, which combines all parts
// before this one; any other row is combined with the prefix before it. The
// part itself is also combined if another part follows it.
static void adx_plain_prefix(adx_plain *p, const ad_rev row[], size_t k)
{
    size_t d = p->b->d;
    ad_rev *to = p->upto + k * d;
    ad_rev *part = p->level + k * d;
    size_t i = p->count[k]++;
    bool first = i % p->b->radix == 0;
    if (i == 0)
        memcpy(to, row, d * sizeof *to);
    else
        p->unset |= !adx_apply_op(p->b, first ? to + d : to, row, p->pair, to);
    if (k == p->levels->count || i / p->b->radix >= p->levels->rows[k + 1])
        return;                 // no part follows this one
    if (first)
        memcpy(part, row, d * sizeof *part);
    else
        p->unset |= !adx_apply_op(p->b, part, row, p->pair, part);
    if ((i + 1) % p->b->radix == 0)
        adx_plain_prefix(p, part, k + 1);
}

static void adx_plain_sum(const ad_rev a[], const ad_rev b[], size_t d,
                          ad_rev y[])
{
    for (size_t j = 0; j < d; j++)
        y[j] = adx_fold_plain(ADREV_OP_add, a[j], b[j]);
}

// Does what comes behind the map, for row z of element i: op, or a sum.
static void adx_plain_combine(adx_plain *p, size_t i, const ad_rev z[])
{
    const adx_bulk *b = p->b;
    bool prefix = b->kind == ADX_BULK_PREFIX;
    ad_rev *y = p->y + (prefix ? i * b->d : 0);
    if (b->op != NULL && !prefix) {
        adx_plain_fold(p, z, 0);
    } else if (b->op != NULL) {
        adx_plain_prefix(p, z, 0);
        memcpy(y, p->upto, b->d * sizeof *y);
    } else if (i == 0) {
        memcpy(y, z, b->d * sizeof *y);
    } else {
        adx_plain_sum(prefix ? y - b->d : y, z, b->d, y);
    }
}

// Does element i: copies its arguments to one place, calls f, and combines the
// result. Shared arguments are copied for the first element only.
static void adx_plain_element(adx_plain *p, size_t i, const ad_rows x[])
{
    const adx_bulk *b = p->b;
    bool map = b->kind == ADX_BULK_MAP;
    ad_rev *to = p->arg;
    ad_rev *z = map ? p->y + i * b->d : p->z;
    if (b->f == NULL) {
        adx_plain_combine(p, i, x->x + i * b->d);
        return;
    }
    for (size_t k = 0; k < b->sources; k++) {
        const ad_rev *from = x[k].size == 0
                           ? NULL : x[k].x + (ptrdiff_t)i * x[k].step;
        if (from != NULL && (x[k].step != 0 || i == 0))
            memcpy(to, from, x[k].size * sizeof *to);
        to += x[k].size;
    }
    adx_unset(b->d, z);
    b->f(p->arg, z, b->ctx);
    p->unset |= !adx_all_set(b->d, z);
    if (!map)
        adx_plain_combine(p, i, z);
}

// Does all elements. False: a function did not set all of its results.
static bool adx_plain_all(const adx_bulk *b, const ad_rows x[], ad_rev room[],
                          const adx_levels *levels, ad_rev y[])
{
    adx_plain p = { .b = b, .arg = room, .y = y, .levels = levels };
    p.z = p.arg + b->shared + b->width;
    p.pair = p.z + b->d;
    p.level = p.pair + 2 * b->d;
    p.upto = p.level + (levels->count + 1) * b->d;
    for (size_t i = 0; i < b->n; i++)
        adx_plain_element(&p, i, x);
    if (b->kind == ADX_BULK_REDUCE && b->op != NULL)
        adx_plain_end(&p);
    return !p.unset;
}

#define ADX_PLAIN_ROOM 192      // numbers for which no memory is allocated

// Does a plain call.
static ad_status adx_bulk_plain(const adx_bulk *b, const ad_rows x[],
                                ad_rev y[])
{
    ad_rev few[ADX_PLAIN_ROOM];
    const ad_allocator *memory = adx_bulk_allocator();
    const adx_levels levels = adx_levels_of(b);
    size_t need = b->shared + b->width + (5 + 2 * levels.count) * b->d;
    ad_rev *room = need <= ADX_PLAIN_ROOM ? few
                 : (ad_rev *)adx_bulk_take(memory, need, sizeof *room);
    if (room == NULL)
        return adx_bulk_no_memory();
    bool set = adx_plain_all(b, x, room, &levels, y);
    ad_status status = adx_now_status();
    if (status == ADREV_OK && !set)
        status = adx_failed(ADREV_ESHAPE);
    if (room != few)
        adx_drop(memory, room);
    return status;
}

/* --- calls --------------------------------------------------------------- */

// Whether n rows of an argument can lie in memory.
static bool adx_rows_possible(size_t n, const ad_rows *x)
{
    size_t stride = adx_magnitude(x->step);
    return !adx_bulk_huge(n, x->size) && !adx_bulk_huge(n, stride)
        && (x->size == 0 || n == 0 || x->x != NULL);
}

// Counts the shared numbers and those of each element, and chooses the radix.
// False: the sizes are impossible, or an array is missing.
static bool adx_size_bulk(adx_bulk *b, const ad_rows x[], const ad_rev y[])
{
    bool fit = b->d > 0 && !adx_bulk_huge(b->n, b->d)
            && !adx_no_array(b->sources, x)
            && (y != NULL || (b->n == 0 && b->kind != ADX_BULK_REDUCE));
    for (size_t k = 0; fit && k < b->sources; k++) {
        fit = adx_rows_possible(b->n, &x[k]);
        size_t *sum = x[k].step == 0 ? &b->shared : &b->width;
        *sum = adx_size_plus(*sum, x[k].size);
        fit = fit && !adx_bulk_huge(b->n, b->width)
           && !adx_bulk_huge(b->shared, 1);
    }
    // A part of 32 rows, or of 512 numbers, is large enough that the cost of
    // its chunk tape hardly counts. If prefixes have several parts, op runs
    // twice for each row, so their parts are eight times as large.
    b->radix = b->d > 128 ? 4 : b->d > 16 ? 512 / b->d : 32;
    b->radix *= b->kind == ADX_BULK_PREFIX ? 8 : 1;
    return fit;
}

// Computes the results. A reduction of no rows is `neutral` or, if it is a sum,
// 0.
static ad_status adx_bulk_results_of(adx_bulk *b, const ad_rows x[],
                                     const ad_real neutral[], ad_rev y[])
{
    bool empty = b->n == 0 && b->kind == ADX_BULK_REDUCE;
    if (!adx_size_bulk(b, x, y) || (b->f == NULL && b->op == NULL)
        || (empty && b->op != NULL && neutral == NULL))
        return adx_failed(ADREV_ESHAPE);
    ad_status status = adx_now_status();
    if (status != ADREV_OK)
        return status;
    for (size_t j = 0; empty && j < b->d; j++)
        y[j] = adx_passive(b->op == NULL ? 0 : neutral[j]);
    if (b->n == 0)
        return ADREV_OK;
    return adx_now.tape == NULL || adx_now.trace
        || adx_bulk_allocator() == NULL ? adx_bulk_plain(b, x, y)
                                        : adx_bulk_statement(b, x, y);
}

static ad_status adx_bulk_call(adx_bulk *b, const ad_rows x[],
                               const ad_real neutral[], ad_rev y[])
{
    ad_status status = adx_bulk_results_of(b, x, neutral, y);
    return adx_results_or_nan(status, b->kind == ADX_BULK_REDUCE ? 1 : b->n,
                              b->d, y);
}

ADX_API ad_status ad_map(ad_vector_fn *f, void *ctx, size_t n, size_t args,
                         const ad_rows x[], size_t m, ad_rev y[])
{
    adx_bulk b = { .kind = ADX_BULK_MAP, .f = f, .ctx = ctx, .n = n, .d = m,
                   .sources = args };
    return adx_bulk_call(&b, x, NULL, y);
}

ADX_API ad_status ad_reduce(ad_vector_fn *op, void *ctx, size_t n, size_t d,
                            const ad_rev x[], const ad_real neutral[],
                            ad_rev y[])
{
    const ad_rows rows = { x, d, (ptrdiff_t)d };
    adx_bulk b = { .kind = ADX_BULK_REDUCE, .op = op, .ctx = ctx, .n = n,
                   .d = d, .sources = 1 };
    return adx_bulk_call(&b, &rows, neutral, y);
}

ADX_API ad_status ad_prefix(ad_vector_fn *op, void *ctx, size_t n, size_t d,
                            const ad_rev x[], ad_rev y[])
{
    const ad_rows rows = { x, d, (ptrdiff_t)d };
    adx_bulk b = { .kind = ADX_BULK_PREFIX, .op = op, .ctx = ctx, .n = n,
                   .d = d, .sources = 1 };
    return adx_bulk_call(&b, &rows, NULL, y);
}

ADX_API ad_status ad_map_reduce(ad_vector_fn *f, ad_vector_fn *op, void *ctx,
                                size_t n, size_t args, const ad_rows x[],
                                size_t d, const ad_real neutral[], ad_rev y[])
{
    adx_bulk b = { .kind = ADX_BULK_REDUCE, .f = f, .op = op, .ctx = ctx,
                   .n = n, .d = d, .sources = args };
    return f == NULL ? adx_bulk_refuse(1, d, y)
                     : adx_bulk_call(&b, x, neutral, y);
}

ADX_API ad_status ad_map_prefix(ad_vector_fn *f, ad_vector_fn *op, void *ctx,
                                size_t n, size_t args, const ad_rows x[],
                                size_t d, ad_rev y[])
{
    adx_bulk b = { .kind = ADX_BULK_PREFIX, .f = f, .op = op, .ctx = ctx,
                   .n = n, .d = d, .sources = args };
    return f == NULL ? adx_bulk_refuse(n, d, y)
                     : adx_bulk_call(&b, x, NULL, y);
}
