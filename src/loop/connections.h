#pragma once

/* === loop/connections =======================================================
 * A reverse sweep with flags in place of adjoints: 1 for a useful value, which
 * is one that y depends on, whatever the partials are; and else 0. The operands
 * of a statement with a useful result are useful; for each kind of array
 * statement there is a function that says which. A scan or a checkpoint runs
 * again, as in a sweep, and finds the operands that its run connects with
 * useful results. Statements whose rule the user gives connect all results with
 * all operands, and so do those with `always`, which are not run beside a
 * sweep.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *           tape/walk sweep/queries array/operands array/linear array/sums
 *           array/products array/external bulk/folds bulk/captured bulk/passes
 *           bulk/statement loop/api loop/stage loop/checkpoint loop/scan
 *           loop/sweep loop/recorded
 * ========================================================================== */

ADX_SELDOM_BEGIN

static void adx_connect_id(ad_real useful[], const adx_ids *ids, size_t i)
{
    if (!adx_is_constant(ids))
        useful[adx_id(ids, i)] = 1;
}

static void adx_connect_cell(ad_real useful[], const adx_ids *ids, size_t i,
                          size_t j, size_t cols)
{
    if (!adx_is_constant(ids))
        useful[adx_id_of(ids, i, j, cols)] = 1;
}

static void adx_connect_linear(const adx_linear *s, ad_real useful[])
{
    for (size_t i = 0; i < s->n; i++)
        if (useful[s->e.first + (s->each ? i : 0)] != 0)
            for (size_t k = 0; k < s->spans; k++)
                adx_connect_id(useful, &s->span[k].ids, i);
}

static void adx_connect_product(const adx_product *s, ad_real useful[])
{
    for (size_t i = 0; i < s->m; i++)
        for (size_t j = 0; j < s->n; j++)
            for (size_t l = 0; l < s->k
                 && useful[s->e.first + i * s->n + j] != 0; l++) {
                adx_connect_cell(useful, &s->a_ids, i, l, s->k);
                adx_connect_cell(useful, &s->b_ids, l, j, s->n);
            }
}

// Result j depends on x[i] and on the entry in row j and column i, for all i <=
// j; `at` counts the entries below the diagonal, column by column.
static void adx_connect_triangle(const adx_triangle *s, ad_real useful[])
{
    size_t at = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = i; j < s->n; j++) {
            if (useful[s->e.first + j] != 0) {
                adx_connect_id(useful, &s->x_ids, i);
                if (j == i)
                    adx_connect_id(useful, &s->d_ids, i);
                else
                    adx_connect_id(useful, &s->l_ids, at);
            }
            at += j > i;
        }
}

// All operands of a statement are useful.
static void adx_connect_all(const adx_ids *ids, size_t n, ad_real useful[])
{
    for (size_t i = 0; i < n; i++)
        adx_connect_id(useful, ids, i);
}

// Returns how many results there are up to the last useful one: a prefix
// depends on all numbers before it.
static size_t adx_useful_until(const ad_real useful[], size_t n)
{
    while (n > 0 && useful[n - 1] == 0)
        n--;
    return n;
}

static void adx_connect_prefixes(const adx_prefixed *s, ad_real useful[])
{
    adx_connect_all(&s->ids, adx_useful_until(&useful[s->e.first], s->e.values),
                 useful);
}

static void adx_connect_bins(const adx_bins *s, ad_real useful[])
{
    for (size_t k = 0; k < s->e.values; k++)
        if (useful[s->e.first + k] != 0)
            useful[s->bin[k]] = 1;
    for (size_t i = 0; i < s->terms; i++)
        if (useful[s->e.first + s->at[i]] != 0)
            useful[s->v[i]] = 1;
}

// The operands of an operator of adrev_bulk.h that has a function: an
// element depends on all of its arguments and on all captured numbers, whatever
// the function does with them.
static void adx_connect_elements(const adx_external *s, ad_real useful[])
{
    const adx_bulk b = adx_open_bulk(s->saved);
    const ad_real *y = &useful[s->e.first];
    size_t until = b.kind == ADX_BULK_REDUCE ? b.n
                 : (adx_useful_until(y, s->e.values) + b.d - 1) / b.d;
    for (size_t i = 0; i < until; i++) {
        if (b.kind == ADX_BULK_MAP && adx_zeros(b.d, &y[i * b.d]))
            continue;
        for (size_t k = 0; k < b.sources; k++)
            for (size_t j = 0; j < b.source[k].size; j++)
                adx_connect_id(useful, &s->ids,
                            adx_operand_of(&b.source[k], i) + j);
    }
    for (size_t j = b.operands; j < s->e.operands; j++)
        adx_connect_id(useful, &s->ids, j);
}

static ad_status adx_connect(const ad_tape *t, ad_real useful[]);

// Goes on with the flags on a stage, from dy, those of the results of a run. dx
// are the flags of its inputs, and da those of the captured numbers.
static ad_status adx_connect_run(const adx_stage *s, size_t m,
                                 const ad_rev y[], const ad_real dy[],
                                 size_t n, const ad_rev x[], ad_real dx[],
                                 const adx_captured *k, ad_real da[])
{
    size_t values = adx_live(s->tape)->seq + 1;
    if (s->tape->annex != NULL)
        return ADREV_EFOREIGN;
    ad_real *useful = (ad_real *)adx_take(&s->memory, values, sizeof *useful);
    if (useful == NULL)
        return ADREV_ENOMEM;
    memset(useful, 0, values * sizeof *useful);
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0 && dy[i] != 0)
            useful[y[i].seq] = 1;
    ad_status status = adx_connect(s->tape, useful);
    for (size_t i = 0; i < n; i++)
        dx[i] = useful[x[i].seq];
    for (size_t i = 0; i < k->n; i++)
        da[i] += s->local[i] == 0 ? 0 : useful[s->local[i]];
    adx_drop(&s->memory, useful);
    return status;
}

static bool adx_connect_checkpoint(adx_checkpoint *c, const ad_real dy[],
                                   ad_real dx[])
{
    adx_stage *s = adx_call_again(c);
    bool ok = s != NULL && adx_connect_run(s, c->m, c->out, dy, c->n, c->in,
                                           dx, &c->captured, dx + c->n)
                               == ADREV_OK;
    adx_return_stage(s);
    return ok;
}

// The operands of an external statement. Scans and checkpoints need memory for
// flags in place of adjoints, which is taken from `a`.
static ad_status adx_connect_external(const adx_external *s, ad_real useful[])
{
    const ad_allocator *a = !s->always && (s->rule == &adx_scan_rule
                                        || s->rule == &adx_checkpoint_rule)
        ? &(*(adx_staged *const *)s->saved)->memory : NULL;
    size_t n = s->e.operands;
    bool ok = true;
    if (s->rule == &adx_bulk_rule)
        adx_connect_elements(s, useful);
    else if (a == NULL)
        adx_connect_all(&s->ids, n, useful);
    if (a == NULL)
        return ADREV_OK;
    ad_real *dx = (ad_real *)adx_take(a, n, sizeof *dx);
    if (dx == NULL)
        return ADREV_ENOMEM;
    memset(dx, 0, n * sizeof *dx);
    const ad_real *dy = &useful[s->e.first];
    if (s->rule == &adx_scan_rule)
        ok = adx_sweep_scan(*(adx_scan *const *)s->saved, dy, n, dx,
                            adx_connect_run);
    else
        ok = adx_connect_checkpoint(*(adx_checkpoint *const *)s->saved, dy, dx);
    for (size_t i = 0; i < n; i++)
        if (dx[i] != 0)
            adx_connect_id(useful, &s->ids, i);
    adx_drop(a, dx);
    return ok ? ADREV_OK : ADREV_EEXTERNAL;
}

// The operands of an array statement or an external statement. All rules
// of the library are known here; a rule of another header would not be.
static ad_status adx_connect_extended(const adx_extended *e, ad_real useful[])
{
    if (adx_zeros(e->values, &useful[e->first]))
        return ADREV_OK;
    if (e->rule == &adx_external_kind)
        return adx_connect_external((const adx_external *)e, useful);
    if (e->rule == &adx_linear_rule)
        adx_connect_linear((const adx_linear *)e, useful);
    else if (e->rule == &adx_product_rule)
        adx_connect_product((const adx_product *)e, useful);
    else if (e->rule == &adx_triangle_rule)
        adx_connect_triangle((const adx_triangle *)e, useful);
    else if (e->rule == &adx_prefixed_rule)
        adx_connect_prefixes((const adx_prefixed *)e, useful);
    else if (e->rule == &adx_bins_rule)
        adx_connect_bins((const adx_bins *)e, useful);
    else if (e->rule == &adx_softmax_rule)
        adx_connect_all(&((const adx_softmax *)e)->ids, e->operands, useful);
    else
        return ADREV_EEXTERNAL;     // of another header
    return ADREV_OK;
}

// The operands of one entry, n from `op` on; its value is `seq`.
static ad_status adx_connect_entry(unsigned header, const adx_operand *op,
                                   size_t n, size_t seq, ad_real useful[])
{
    if (header == ADX_EXTENDED)
        return adx_connect_extended(
            (const adx_extended *)adx_payload(op), useful);
    if ((header & ADX_OTHER) || useful[seq] == 0)
        return ADREV_OK;
    for (size_t i = 0; i < n; i++)
        if (op[i].id != 0)
            useful[op[i].id] = 1;
    if (header & ADX_SUM)
        useful[seq - 1] = 1;
    return ADREV_OK;
}

// Finds all that the useful values depend on: goes through the entries once,
// from the last to the first, as a sweep does.
static ad_status adx_connect(const ad_tape *t, ad_real useful[])
{
    const adx_context *now = adx_live(t);
    ad_status status = ADREV_OK;
    size_t seq = now->seq;
    for (const adx_block *b = t->block; b != NULL; b = b->prev) {
        const adx_operand *op = b == t->block ? now->op : b->op;
        const uint16_t *head = b == t->block ? now->head : b->head;
        for (; head != adx_top_of_block(b) && status == ADREV_OK; head++) {
            size_t n = adx_operands(*head, op - 1);
            op -= n;
            status = adx_connect_entry(*head, op, n, seq, useful);
            seq -= adx_values(*head, op);
        }
    }
    return status;
}

ADX_API ad_status ad_connected(ad_tape *t, size_t m, const ad_rev y[],
                               size_t n, const ad_rev x[],
                               ad_connection answer[])
{
    bool run;
    bool missing = adx_no_array(n, x) || adx_no_array(n, answer);
    ad_status status = adx_check_query(t, m, y, 0, NULL, missing, &run);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        if (x[i].job != 0 && !adx_member(t, x[i]))
            status = ADREV_EFOREIGN;
    if (status == ADREV_OK && t->annex != NULL)
        status = ADREV_EFOREIGN;
    if (status != ADREV_OK)
        return status;
    ad_real *useful = adx_cleared(t, 1, 0);
    if (useful == NULL)
        return ADREV_ENOMEM;
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0)
            useful[y[i].seq] = 1;
    ad_tape *before = ad_use(NULL);
    status = adx_connect(t, useful);
    ad_use(before);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        answer[i] = x[i].job == 0 ? ADREV_NOT_ASKED
                  : useful[x[i].seq] != 0 ? ADREV_CONNECTED
                  : ADREV_DISCONNECTED;
    return status;
}

ADX_SELDOM_END
