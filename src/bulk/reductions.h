#pragma once

/* === bulk/reductions ========================================================
 * Rows are combined by levels. Level 0 is the rows themselves. A level is cut
 * into parts of `radix` rows, the last of which may be shorter; op combines the
 * rows of each part in order, and the results are the rows of the next level. A
 * reduction goes on until one row is left. Prefixes need the result of a part
 * only if another part follows. So parts may run at the same time, and their
 * bounds, and with them the bits, depend on the number and size of rows alone.
 *
 * All levels but the one result are kept, because a sweep records each part
 * again from its rows. A reverse sweep takes the levels from the last to the
 * first, a forward sweep as they were made.
 *
 *   needs   bulk/passes
 *   offers  adx_levels adx_levels_of adx_fold_values adx_fold_pull
 *           adx_fold_push adx_prefix_values adx_prefix_pull adx_prefix_push
 * ========================================================================== */

typedef struct adx_levels {
    size_t count;               // levels above 0
    size_t rows[66];            // of each level
    size_t at[66];              // where a level is among those kept
    size_t kept;                // numbers
} adx_levels;

// The levels of an operator; none if there is no op. Of a reduction the last
// one has one row, which is the result and is not kept. With each level of
// prefixes, its prefixes are kept, too.
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

// How many rows a part has: the radix, or all rows if they are fewer.
static size_t adx_part_rows(const adx_bulk *b, size_t rows)
{
    return rows < b->radix ? rows : b->radix;
}

// A pass that makes level k + 1 from level k. z are the rows of level 0, whose
// numbers are `unit` apart. Rows from which no row is made are left out.
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

// Makes all levels from the rows z. The last one goes to `to`.
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

// Adds the adjoints of the rows z to dz. dy are those of the last level;
// `above` is room for those of the levels between, all 0.
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

// Tangents ty of the last level from tangents tz of the rows.
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
 * First up: the results of parts are made, level by level, as for a reduction.
 * Then down: the prefixes of each level are made from those of the level above.
 * The first part of a level begins with its own first row, and part i + 1 goes
 * on from prefix i of the level above, which is that of all parts before it. A
 * reverse sweep does the opposite: adjoints of prefixes go up, then those of
 * the parts' results come down.                                             */

// Where the prefixes of level k are among the numbers kept: behind its rows.
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

// Adds the adjoints of the rows z to dz; `above` is room for the adjoints of
// all numbers kept, which are 0.
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
