#pragma once

/* === bulk/reductions ========================================================
 * Rows are combined level by level. Level 0 is the rows themselves. A level is
 * cut into parts of `radix` rows, the last of which may be shorter. op combines
 * the rows of each part in order, and the results are the rows of the next
 * level. A reduction ends with a level of one row. Prefixes need the result of
 * a part only if another part follows it. The parts of a level may run at the
 * same time. Their bounds depend only on the number and size of rows, and so do
 * the bits of the results.
 *
 * All levels are kept, except the last one of a reduction, which is its result:
 * a sweep records each part again from its rows. A reverse sweep takes the
 * levels from the last to the first, a forward sweep in the order in which they
 * were made.
 *
 *   needs   bulk/passes
 *   offers  adx_levels adx_levels_of adx_fold_values adx_fold_pull
 *           adx_fold_push adx_prefix_values adx_prefix_pull adx_prefix_push
 * ========================================================================== */

typedef struct adx_levels {
    size_t count;               // levels above 0
    size_t rows[66];            // of each level
    size_t at[66];              // where each begins among the kept numbers
    size_t kept;                // numbers of all kept levels
} adx_levels;

// Describes the levels of an operator; without op there is only level 0. The
// last level of a reduction is its result: one row, which is not kept. Of
// prefixes, each level is kept together with the prefixes of its rows.
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

// How many rows a part has: the radix, or all rows of the level if they are
// fewer.
static size_t adx_part_rows(const adx_bulk *b, size_t rows)
{
    return rows < b->radix ? rows : b->radix;
}

// Describes the pass that makes level k + 1 from level k. z are the rows of
// level 0, whose numbers are `unit` apart. Rows that belong to no row of level
// k + 1 are left out.
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

// Makes all levels from the rows z. The last level is written to `to`.
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

// Adds the adjoints of the rows z to dz. dy are the adjoints of the last level;
// `above` is room, all 0, for those of the levels between.
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
        p.dy_stride = b->d;
        p.dx = k == 0 ? dz : above + l.at[k];
        p.captured = captured;
        status = adx_do_pass(&p);
    }
    return status;
}

// Computes the tangents ty of the last level from the tangents tz of the rows
// z. `above` is room for those of the levels between.
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
 * The prefixes take two passes over the levels. The first one goes up: it makes
 * the results of the parts, level by level, as a reduction does. The second one
 * goes down: it makes the prefixes of each level from those of the level above.
 * The first part of a level begins with the first row of the level. Part i + 1
 * continues prefix i of the level above, which combines all parts before it. A
 * reverse sweep goes the opposite way: the adjoints of prefixes go up, then the
 * adjoints of the results of parts come down.                                */

// Where the prefixes of level k are in an array of all kept numbers: behind the
// rows of the level.
static ad_real *adx_level_prefixes(const adx_bulk *b, const adx_levels *l,
                                   size_t k, ad_real kept[])
{
    return kept + l->at[k] + l->rows[k] * b->d;
}

// Describes the pass that makes the prefixes of level k from its rows and from
// the prefixes of level k + 1.
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

// Makes the levels, and then the prefixes of all of them. Those of level 0, the
// results, are written to `to`.
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

// Adds the adjoints of the rows z to dz. `above` is room, all 0, for the
// adjoints of all kept numbers.
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
        p.dy_stride = b->d;
        p.dx = k == 0 ? dz : above + l.at[k];
        if (k < l.count)
            p.before_adj = adx_level_prefixes(b, &l, k + 1, above);
        p.captured = captured;
        status = adx_do_pass(&p);
    }
    return status != ADREV_OK || l.count == 0 ? status
         : adx_fold_pull(b, z, above + l.at[l.count], dz, above, captured);
}

// Computes the tangents ty of the prefixes from the tangents tz of the rows z.
// `above` is room for the tangents of all kept numbers.
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
