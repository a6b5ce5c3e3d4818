#pragma once

/* === function/dense =========================================================
 * Dense Jacobians and Hessians, each by the way that is cheapest: one program for
 * all of it, a direction for each row or column, or the directions of the
 * colouring, where most entries are zero.
 *
 *   needs   tape/memory function/api function/functions function/evaluate
 *           function/directions function/plans
 * ========================================================================== */

// The plan of a large matrix with few entries that needs at most half of the
// directions; NULL: there is none, or no memory to find out.
static const adx_pattern *adx_thrifty_plan(ad_fn *fn, bool hessian)
{
    size_t n = fn->n;
    size_t m = hessian ? n : fn->m;
    size_t least = m < n ? m : n;
    adx_pattern *s;
    if (least <= ADREV_LANES_MOST
        || atomic_load_explicit(&fn->crowded[hessian], memory_order_relaxed)
        || adx_pattern_within(fn, hessian, n / 4 * m, &s) != ADREV_OK)
        return NULL;
    if (s == NULL) {
        atomic_store_explicit(&fn->crowded[hessian], true,
                              memory_order_relaxed);
        return NULL;
    }
    size_t all = hessian ? n : n >= m ? 2 * m : n;
    size_t few = hessian ? s->groups
               : s->by_rows ? 2 * (size_t)s->groups + s->aparts
                            : s->groups + 2 * (size_t)s->aparts;
    return few <= all / 2 ? s : NULL;
}

// Entries into a matrix of n columns.
static void adx_spread_entries(const adx_pattern *s, const ad_real value[],
                               bool both, size_t n, ad_real to[])
{
    memset(to, 0, s->g.rows * n * sizeof *to);
    for (size_t i = 0; i < s->g.rows; i++)
        for (size_t k = s->g.start[i]; k < s->g.start[i + 1]; k++) {
            size_t j = s->g.col[k];
            to[i * n + j] = value[k];
            if (both)
                to[j * n + i] = value[k];
        }
}

// w NULL: the Jacobian, else the Hessian of w f.
static ad_status adx_fill_by_plan(ad_fn *fn, const adx_pattern *s,
                                  const ad_real x[], const ad_real w[],
                                  ad_real to[])
{
    size_t entries = s->g.start[s->g.rows];
    ad_real *value = (ad_real *)adx_take(&fn->memory, entries, sizeof *value);
    ad_status status = value == NULL ? ADREV_ENOMEM
                     : w == NULL ? adx_jacobian_entries(fn, s, x, value)
                                 : adx_hessian_entries(fn, s, x, w, value);
    if (status == ADREV_OK)
        adx_spread_entries(s, value, w != NULL, fn->n, to);
    adx_drop(&fn->memory, value);
    return status;
}

// Row by row, or column by column.
static ad_status adx_jacobian_in_lanes(ad_fn *fn, const ad_real x[],
                                       ad_real J[])
{
    size_t n = fn->n;
    size_t m = fn->m;
    adx_directions d = { fn, ADX_KIND_vjp, 2, { { x, n }, { NULL, m } }, m, n,
                         NULL };
    if (n >= m)
        return adx_fill_dense(&d, J, 1, n);
    d.kind = ADX_KIND_jvp;
    d.given[1].n = n;
    d.n = n;
    d.results = m;
    return adx_fill_dense(&d, J, n, 1);
}

static ad_status adx_jacobian_in_turn(ad_fn *fn, const ad_real x[],
                                      ad_real J[])
{
    const adx_pattern *s = adx_thrifty_plan(fn, false);
    return s == NULL ? adx_jacobian_in_lanes(fn, x, J)
                     : adx_fill_by_plan(fn, s, x, NULL, J);
}

ADX_API ad_status ad_fn_jacobian(ad_fn *fn, const ad_real x[], ad_real J[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, J) || adx_lacks(fn, fn->n, x))
        return ADREV_ESHAPE;
    return adx_is_linearized(fn) ? adx_linearize(fn, x, NULL, J)
                                 : adx_jacobian_in_turn(fn, x, J);
}

// Where no program computes both: first the value, then the matrix.
ADX_NOINLINE static ad_status adx_linearize_in_turn(ad_fn *fn,
                                                    const ad_real x[],
                                                    ad_real y[], ad_real J[])
{
    if (y == NULL)
        return adx_jacobian_in_turn(fn, x, J);
    ad_real *value = (ad_real *)adx_take(&fn->memory, fn->m, sizeof *value);
    ad_status status = value == NULL ? ADREV_ENOMEM
                                     : ad_fn_eval(fn, x, value);
    if (status == ADREV_OK)
        status = adx_jacobian_in_turn(fn, x, J);
    if (status == ADREV_OK)
        memcpy(y, value, fn->m * sizeof *y);
    adx_drop(&fn->memory, value);
    return status;
}

ADX_API ad_status ad_fn_linearize(ad_fn *fn, const ad_real x[], ad_real y[],
                                  ad_real J[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, J) || adx_lacks(fn, fn->n, x))
        return ADREV_ESHAPE;
    return adx_is_linearized(fn) ? adx_linearize(fn, x, y, J)
                                 : adx_linearize_in_turn(fn, x, y, J);
}

// Both triangles are computed; the lower one counts, so that H is symmetric.
ADX_API ad_status ad_fn_hessian(ad_fn *fn, const ad_real x[],
                                const ad_real w[], ad_real H[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, H) || adx_lacks(fn, fn->n, x)
        || w == NULL)
        return ADREV_ESHAPE;
    size_t n = fn->n;
    const adx_directions d = { fn, ADX_KIND_hvp, 3,
                               { { x, n }, { w, fn->m }, { NULL, n } }, n, n,
                               NULL };
    const adx_wanted wanted[] = { { 0, n * n, H } };
    if (adx_is_short(fn, n) || adx_has_code(&fn->compiled[ADX_KIND_hessian]))
        return adx_evaluate_fn(fn, ADX_KIND_hessian, 2, d.given, 1, wanted);
    const adx_pattern *s = adx_thrifty_plan(fn, true);
    if (s != NULL)
        return adx_fill_by_plan(fn, s, x, w, H);
    ad_status status = adx_fill_dense(&d, H, n, 1);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        for (size_t j = 0; j < i; j++)
            H[j * n + i] = H[i * n + j];
    return status;
}
