#pragma once

/* === function/calls =========================================================
 * Calls of a recorded function while something else is recorded.
 *
 *   needs   tape/layout tape/memory array/operands function/api
 *           function/record
 * ========================================================================== */

// Evaluates fn at the values of x. y becomes constants; on failure it stays as
// it is.
static ad_status adx_call_values(ad_fn *fn, const ad_rev x[],
                                 adx_saved_call *call, ad_real v[])
{
    for (size_t i = 0; i < fn->n; i++)
        call->x[i] = x[i].v;
    return ad_fn_eval(fn, call->x, v);
}

// A call that fails has no results, so y becomes NaN. While a function is being
// recorded, these NaNs would be constants of the program at every point. So
// that recording fails, too, unless all arguments are constants, for then the
// call fails at every point.
static ad_status adx_fail_call(const ad_fn *fn, ad_status status,
                               const ad_rev x[], ad_rev y[])
{
    bool moves = false;
    for (size_t i = 0; i < fn->n; i++)
        moves = moves || x[i].job != 0;
    for (size_t i = 0; i < fn->m; i++)
        y[i] = adx_no_result();
    if (moves && adx_now.tape != NULL && adx_now.trace)
        adx_fail(adx_now.tape, status);
    return status;
}

ADX_API ad_status ad_fn_call(ad_fn *fn, const ad_rev x[], ad_rev y[])
{
    if (fn == NULL || y == NULL || (x == NULL && fn->n > 0))
        return ADREV_ESHAPE;
    size_t bytes = sizeof(adx_saved_call) + fn->n * sizeof *x;
    adx_saved_call *call = (adx_saved_call *)adx_take(
        &fn->memory, bytes + fn->m * sizeof(ad_real), 1);
    if (call == NULL)
        return adx_fail_call(fn, ADREV_ENOMEM, x, y);
    ad_real *v = call->x + fn->n;
    call->fn = fn;
    call->program = &fn->program;
    call->guard = fn->guard;
    call->memory = &fn->memory;
    ad_status status = adx_call_values(fn, x, call, v);
    if (status == ADREV_OK) {
        // relaxed: the caller holds it
        atomic_fetch_add_explicit(&fn->holders, 1, memory_order_relaxed);
        status = (ad_external)(&adx_call_rule, call,
                               sizeof *call + fn->n * sizeof(ad_real), fn->n,
                               x, fn->m, v, y);
    } else
        adx_fail_call(fn, status, x, y);
    adx_drop(&fn->memory, call);
    return status;
}
