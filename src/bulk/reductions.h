#pragma once

/* === bulk/reductions ========================================================
 * Level 0 is the rows. Level k + 1 is the results of the parts of level k: for
 * a reduction, up to the one result; for prefixes, only those results from
 * which another part continues. All levels except that one result are kept,
 * because a sweep records a part again from its rows.
 *
 *   needs   bulk/passes
 *   offers  adx_levels adx_levels_of adx_fold_values adx_fold_pull
 *           adx_fold_push adx_prefix_values adx_prefix_pull adx_prefix_push
 * ========================================================================== */

typedef struct adx_levels {
    size_t count;               // of levels above 0
    size_t rows[66];
    size_t at[66];              // where a level is among those kept
    size_t kept;                // numbers
} adx_levels;

static adx_levels adx_levels_of(const adx_bulk *b)
{
    adx_levels l = { .rows = { b->n } };
    size_t prefix = b->kind == ADX_BULK_PREFIX;
    size_t next = b->n;
    while (b->kind != ADX_BULK_MAP && b->op != NULL && l.rows[l.count] > 1) {
        next = adx_part_count(next, b->radix) - prefix;
        if (next == 0)
            break;
        l.rows[++l.count] = next;
        l.at[l.count] = l.kept;
        l.kept += next > 1 || prefix ? (1 + prefix) * next * b->d : 0;
    }
    return l;
}

// How many rows one part takes: the radix, or all of them if they are fewer.
static size_t adx_part_rows(const adx_bulk *b, size_t rows)
{
    return rows < b->radix ? rows : b->radix;
}

// A pass that makes level k + 1 from level k, of these rows.
static adx_pass adx_fold_pass(adx_bulk *b, const adx_levels *l, size_t k,
                              const ad_real z[], ptrdiff_t unit)
{
    size_t whole = l->rows[k + 1] * b->radix;
    return (adx_pass){ .b = b, .shape = ADX_SHAPE_fold,
                           .items = whole < l->rows[k] ? whole : l->rows[k],
                           .chunk = adx_part_rows(b, l->rows[k]),
                           .v = k == 0 ? z : b->part + l->at[k],
                           .unit = k == 0 ? unit : 1 };
}

static ad_status adx_fold_values(adx_bulk *b, const ad_real z[],
                                 ptrdiff_t unit, ad_real to[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = ADREV_OK;
    for (size_t j = 0; l.count == 0 && j < b->d; j++)
        to[j] = z[(ptrdiff_t)j * unit];
    for (size_t k = 0; k < l.count && status == ADREV_OK; k++) {
        adx_pass p = adx_fold_pass(b, &l, k, z, unit);
        p.to = k + 1 == l.count ? to : b->part + l.at[k + 1];
        status = adx_do_pass(&p);
    }
    return status;
}

// Adds to dz; above are adjoints of the levels between, all 0.
static ad_status adx_fold_pull(adx_bulk *b, const ad_real z[],
                               const ad_real dy[], ad_real dz[],
                               ad_real above[], ad_real captured[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = ADREV_OK;
    for (size_t j = 0; l.count == 0 && j < b->d; j++)
        dz[j] += dy[j];
    for (size_t k = l.count; k-- > 0 && status == ADREV_OK;) {
        adx_pass p = adx_fold_pass(b, &l, k, z, 1);
        p.duty = ADX_DUTY_pull;
        p.dy = k + 1 == l.count ? dy : above + l.at[k + 1];
        p.dy_step = b->d;
        p.dx = k == 0 ? dz : above + l.at[k];
        p.captured = captured;
        status = adx_do_pass(&p);
    }
    return status;
}

static ad_status adx_fold_push(adx_bulk *b, const ad_real z[],
                               const ad_real tz[], ad_real ty[],
                               ad_real above[], const ad_real captured[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = ADREV_OK;
    if (l.count == 0)
        memcpy(ty, tz, b->d * sizeof *ty);
    for (size_t k = 0; k < l.count && status == ADREV_OK; k++) {
        adx_pass p = adx_fold_pass(b, &l, k, z, 1);
        p.duty = ADX_DUTY_push;
        p.tx = k == 0 ? tz : above + l.at[k];
        p.to = k + 1 == l.count ? ty : above + l.at[k + 1];
        p.captured_t = captured;
        status = adx_do_pass(&p);
    }
    return status;
}

/* --- prefixes of functions --------------------------------------------------
 * Up: the results of parts, as of a reduction. Then down: the prefixes of each
 * level, a part of which goes on from a prefix of the level above.           */

// Prefixes of level k among numbers kept.
static ad_real *adx_level_prefixes(const adx_bulk *b, const adx_levels *l,
                                   size_t k, ad_real kept[])
{
    return kept + l->at[k] + l->rows[k] * b->d;
}

static adx_pass adx_prefix_pass(adx_bulk *b, const adx_levels *l, size_t k,
                                const ad_real z[], ptrdiff_t unit)
{
    return (adx_pass){ .b = b, .shape = ADX_SHAPE_prefix,
                           .items = l->rows[k],
                           .chunk = adx_part_rows(b, l->rows[k]),
                           .v = k == 0 ? z : b->part + l->at[k],
                           .unit = k == 0 ? unit : 1,
                           .before = k == l->count ? NULL
                               : adx_level_prefixes(b, l, k + 1, b->part) };
}

static ad_status adx_prefix_values(adx_bulk *b, const ad_real z[],
                                   ptrdiff_t unit, ad_real to[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = l.count == 0 ? ADREV_OK
        : adx_fold_values(b, z, unit, b->part + l.at[l.count]);
    for (size_t k = l.count + 1; k-- > 0 && status == ADREV_OK;) {
        adx_pass p = adx_prefix_pass(b, &l, k, z, unit);
        p.to = k == 0 ? to : adx_level_prefixes(b, &l, k, b->part);
        status = adx_do_pass(&p);
    }
    return status;
}

// Adds to dz; above are adjoints of those kept, all 0.
static ad_status adx_prefix_pull(adx_bulk *b, const ad_real z[],
                                 const ad_real dy[], ad_real dz[],
                                 ad_real above[], ad_real captured[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = ADREV_OK;
    for (size_t k = 0; k <= l.count && status == ADREV_OK; k++) {
        adx_pass p = adx_prefix_pass(b, &l, k, z, 1);
        p.duty = ADX_DUTY_pull;
        p.dy = k == 0 ? dy : adx_level_prefixes(b, &l, k, above);
        p.dy_step = b->d;
        p.dx = k == 0 ? dz : above + l.at[k];
        if (k < l.count)
            p.before_adj = adx_level_prefixes(b, &l, k + 1, above);
        p.captured = captured;
        status = adx_do_pass(&p);
    }
    return status != ADREV_OK || l.count == 0 ? status
         : adx_fold_pull(b, z, above + l.at[l.count], dz, above, captured);
}

static ad_status adx_prefix_push(adx_bulk *b, const ad_real z[],
                                 const ad_real tz[], ad_real ty[],
                                 ad_real above[], const ad_real captured[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = l.count == 0 ? ADREV_OK
        : adx_fold_push(b, z, tz, above + l.at[l.count], above, captured);
    for (size_t k = l.count + 1; k-- > 0 && status == ADREV_OK;) {
        adx_pass p = adx_prefix_pass(b, &l, k, z, 1);
        p.duty = ADX_DUTY_push;
        p.tx = k == 0 ? tz : above + l.at[k];
        if (k < l.count)
            p.before_t = adx_level_prefixes(b, &l, k + 1, above);
        p.to = k == 0 ? ty : adx_level_prefixes(b, &l, k, above);
        p.captured_t = captured;
        status = adx_do_pass(&p);
    }
    return status;
}
