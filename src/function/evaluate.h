#pragma once

/* === function/evaluate ======================================================
 * Value, jvp, vjp, gradient and hvp at one point. Each is one evaluation
 * (function/evaluation) of a program of its own, which is made when it is first
 * asked for. This room also decides whether a whole Jacobian is one program.
 *
 *   needs   function/api function/program function/places function/functions
 *           function/evaluation
 *   offers  adx_handed_on adx_lacks adx_has_external adx_is_short
 *           adx_is_linearized adx_linearize
 * ========================================================================== */

// How many numbers the primal program hands on to the pullback.
static size_t adx_handed_on(ad_fn *fn)
{
    adx_machine *m;
    return adx_machine_of(fn, ADX_KIND_primal, &m) == ADREV_OK
         ? m->outputs - fn->m : 0;
}

// Whether an array of results is missing.
static bool adx_lacks(const ad_fn *fn, size_t n, const ad_real *array)
{
    return fn == NULL || (n > 0 && array == NULL);
}

ADX_API ad_status ad_fn_eval(ad_fn *fn, const ad_real x[], ad_real y[])
{
    if (adx_lacks(fn, 1, y))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->m, y } };
    return adx_evaluate_fn(fn, ADX_KIND_value, 1, given, 1, wanted);
}

ADX_API ad_status ad_fn_jvp(ad_fn *fn, const ad_real x[], const ad_real v[],
                            ad_real dy[])
{
    if (adx_lacks(fn, 1, dy))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { v, fn->variables } };
    const adx_wanted wanted[] = { { 0, fn->m, dy } };
    return adx_evaluate_fn(fn, ADX_KIND_jvp, 2, given, 1, wanted);
}

ADX_API ad_status ad_fn_vjp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            ad_real dx[])
{
    if (fn == NULL || adx_lacks(fn, fn->variables, dx))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m } };
    const adx_wanted wanted[] = { { 0, fn->variables, dx } };
    return adx_evaluate_fn(fn, ADX_KIND_vjp, 2, given, 1, wanted);
}

static bool adx_has_external(const adx_program *p)
{
    for (size_t i = 0; i < p->manys; i++)
        if (p->many[i].kind == ADX_MANY_external)
            return true;
    return false;
}

// Whether one program for all entries of a matrix is worth its length. It takes
// an eighth of the time of lanes (function/directions) at best, and as long as
// they do at worst, with 16 directions and numbers that depend on all of them.
// But it has to be made first. External statements are a reason against it,
// since they would be called again for each direction.
static bool adx_is_short(const ad_fn *fn, size_t directions)
{
    return directions <= ADREV_LANES_MOST
        && directions * fn->program.nodes <= ADREV_MATRIX_MOST
        && !adx_has_external(&fn->program);
}

// Whether one program computes value and Jacobian.
static bool adx_is_linearized(const ad_fn *fn)
{
    return fn->m == 1 || adx_has_code(&fn->compiled[ADX_KIND_linear])
        || adx_is_short(fn, fn->m < fn->variables ? fn->m : fn->variables);
}

// Computes value and Jacobian; either may be NULL.
static ad_status adx_linearize(ad_fn *fn, const ad_real x[], ad_real y[],
                               ad_real J[])
{
    const adx_given given[] = { { x, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->m, y },
                                  { fn->m, fn->m * fn->variables, J } };
    return adx_evaluate_fn(fn, ADX_KIND_linear, 1, given, 2, wanted);
}

ADX_API ad_status ad_fn_gradient(ad_fn *fn, const ad_real x[], ad_real *y,
                                 ad_real g[])
{
    if (fn == NULL || adx_lacks(fn, fn->variables, g) || fn->m != 1)
        return ADREV_ESHAPE;
    return adx_linearize(fn, x, y, g);
}

ADX_API ad_status ad_fn_hvp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            const ad_real v[], ad_real hv[])
{
    if (fn == NULL || adx_lacks(fn, fn->variables, hv))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m },
                                { v, fn->variables } };
    const adx_wanted wanted[] = { { 0, fn->variables, hv } };
    return adx_evaluate_fn(fn, ADX_KIND_hvp, 3, given, 1, wanted);
}
