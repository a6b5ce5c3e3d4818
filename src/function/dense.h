#pragma once

/* === function/dense =========================================================
 * Dense Jacobians and Hessians, each in the cheapest way. A small one is
 * computed by one program (function/matrices). A larger one takes a direction
 * for each row or column; but if most entries are zero, columns (or rows) that
 * have no row in common share a direction, as in sparse matrices
 * (function/plans).
 *
 *   needs   tape/memory function/api function/program function/adjoints
 *           function/functions function/evaluation function/directions
 *           function/pattern function/plans
 * ========================================================================== */

// Makes a plan without full rows. Each entry is found in a direction of its
// column (if by_rows, of its row), as it is without a plan, so it has the same
// bits. The rows are the major index then (if by_rows, the columns).
static bool adx_plan_thriftily(adx_pattern *s, const adx_entries *t)
{
    const adx_entries *major = s->by_rows ? t : &s->g;
    const adx_entries *minor = s->by_rows ? &s->g : t;
    const uint32_t none = UINT32_MAX - 1;       // no row is full
    adx_plan plan = {0};
    bool ok = adx_make_plan(s->memory, major, minor, none, &plan)
           && adx_follow_plan(s, &plan, major);
    adx_drop(s->memory, plan.colour);
    return ok;
}

// Whether a colouring may help: at most a sixteenth of the entries can be other
// than zero, and no row has entries in more than half of the columns, each of
// which would need its own colour.
static bool adx_is_thin(const adx_entries *major)
{
    size_t most = major->rows / 16 * major->cols;
    if (major->start[major->rows] > most)
        return false;
    for (size_t i = 0; i < major->rows; i++)
        if (major->start[i + 1] - major->start[i] > major->cols / 2)
            return false;
    return true;
}

// Finds the pattern of all entries; of a Hessian, both triangles.
static bool adx_full_graph(adx_program *p, bool hessian, const ad_allocator *a,
                           adx_entries *g)
{
    adx_entries lower = {0};
    if (!hessian)
        return adx_jacobian_graph(p, g);
    bool ok = adx_hessian_graph(p, &lower) && adx_symmetric(a, &lower, g);
    adx_free_graph(a, &lower);
    return ok;
}

// Makes a plan if that at least halves the number of directions; else *out is
// NULL.
static ad_status adx_make_thrifty(ad_fn *fn, bool hessian, adx_pattern **out)
{
    const ad_allocator *a = &fn->memory;
    adx_program p;
    adx_entries t = {0};
    ad_status status = adx_make_scalar(&p, &fn->program, true);
    p.fixed = fn->program.fixed;
    adx_pattern *s = adx_new_pattern(a);
    bool ok = status == ADREV_OK && s != NULL
           && adx_full_graph(&p, hessian, a, &s->g)
           && adx_transpose(a, &s->g, &t);
    bool helps = ok;
    if (ok) {
        s->by_rows = !hessian && fn->variables >= fn->m;
        const adx_entries *major = s->by_rows ? &t : &s->g;
        helps = adx_is_thin(major);
        ok = !helps || adx_plan_thriftily(s, &t);
        helps = helps && ok && s->groups <= major->cols / 2;
    }
    if (status == ADREV_OK)
        status = p.status;
    adx_free_program(&p);
    adx_free_graph(a, &t);
    *out = s;
    if (!helps) {
        adx_free_pattern(s);
        *out = NULL;
    }
    return ok || status != ADREV_OK ? status : ADREV_ENOMEM;
}

// Finds the plan, which is made once, as patterns are. *out is NULL if no plan
// helps. That is found out once, too (crowded). No plan helps if all directions
// fit into one block of lanes.
static ad_status adx_thrifty_plan(ad_fn *fn, bool hessian,
                                  const adx_pattern **out)
{
    size_t n = fn->variables;
    size_t least = hessian || n < fn->m ? n : fn->m;
    *out = NULL;
    if (least <= ADREV_LANES_MOST
        || atomic_load_explicit(&fn->crowded[hessian], memory_order_relaxed))
        return ADREV_OK;
    adx_pattern *s = adx_published(&fn->thrifty[hessian]);
    if (s == NULL) {
        ad_status status = adx_make_thrifty(fn, hessian, &s);
        if (s == NULL && status != ADREV_ENOMEM)
            atomic_store_explicit(&fn->crowded[hessian], true,
                                  memory_order_relaxed);
        if (s == NULL)
            return status == ADREV_ENOMEM ? status : ADREV_OK;
        s = adx_publish_pattern(&fn->thrifty[hessian], s);
    }
    *out = s;
    return ADREV_OK;
}

// Writes the entries into a matrix of n columns, and zeros between them.
static void adx_spread_entries(const adx_pattern *s, const ad_real value[],
                               size_t n, ad_real to[])
{
    memset(to, 0, s->g.rows * n * sizeof *to);
    for (size_t i = 0; i < s->g.rows; i++)
        for (size_t k = s->g.start[i]; k < s->g.start[i + 1]; k++)
            to[i * n + s->g.col[k]] = value[k];
}

// Computes a matrix by a plan. w NULL: the Jacobian; else the Hessian of w f.
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
        adx_spread_entries(s, value, fn->variables, to);
    adx_drop(&fn->memory, value);
    return status;
}

// Computes the Jacobian with a direction for each row or for each column,
// whichever are fewer.
static ad_status adx_jacobian_in_lanes(ad_fn *fn, const ad_real x[],
                                       ad_real J[])
{
    size_t n = fn->variables;
    size_t m = fn->m;
    adx_directions d = { fn, ADX_KIND_vjp, 2, { { x, fn->n }, { NULL, m } }, m,
                         n, NULL };
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
    const adx_pattern *s;
    ad_status status = adx_thrifty_plan(fn, false, &s);
    return status != ADREV_OK ? status
         : s == NULL ? adx_jacobian_in_lanes(fn, x, J)
                     : adx_fill_by_plan(fn, s, x, NULL, J);
}

ADX_API ad_status ad_fn_jacobian(ad_fn *fn, const ad_real x[], ad_real J[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, J) || adx_lacks(fn, fn->n, x))
        return ADREV_ESHAPE;
    return adx_is_linearized(fn) ? adx_linearize(fn, x, NULL, J)
                                 : adx_jacobian_in_turn(fn, x, J);
}

// Computes value and Jacobian where no program computes both: first the value,
// then the matrix. y is written only when both are known.
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

// Both triangles are computed; the lower one is copied to the upper one, so
// that H is symmetric to the bit.
ADX_API ad_status ad_fn_hessian(ad_fn *fn, const ad_real x[],
                                const ad_real w[], ad_real H[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, H) || adx_lacks(fn, fn->n, x)
        || w == NULL)
        return ADREV_ESHAPE;
    size_t n = fn->variables;
    const adx_directions d = { fn, ADX_KIND_hvp, 3,
                               { { x, fn->n }, { w, fn->m }, { NULL, n } }, n,
                               n, NULL };
    const adx_wanted wanted[] = { { 0, n * n, H } };
    if (adx_is_short(fn, n) || adx_has_code(&fn->compiled[ADX_KIND_hessian]))
        return adx_evaluate_fn(fn, ADX_KIND_hessian, 2, d.given, 1, wanted);
    const adx_pattern *s;
    ad_status status = adx_thrifty_plan(fn, true, &s);
    if (status == ADREV_OK)
        status = s != NULL ? adx_fill_by_plan(fn, s, x, w, H)
                           : adx_fill_dense(&d, H, n, 1);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        for (size_t j = 0; j < i; j++)
            H[j * n + i] = H[i * n + j];
    return status;
}
