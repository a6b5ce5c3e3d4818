#pragma once

/* === implicit/gradient ======================================================
 * The gradient of a recorded function as a recorded function.
 *
 *   needs   tape/memory function/api function/program function/unique
 *           function/copy function/adjoints function/record function/functions
 * ========================================================================== */

// As function/adjoints writes adjoints, but the one result has weight 1.
static ad_status adx_write_gradient(adx_program *q, const adx_program *p,
                                    size_t n)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    bool *moved = adx_find_moved(p, 0, n);
    if (moved == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    adx_copy_nodes(&k);
    if (q->status == ADREV_OK) {
        k.derived[p->output[0]] = adx_fixed(q, 1);
        adx_adjoint_part(&k, 0, p->nodes, moved);
    }
    for (size_t i = 0; q->status == ADREV_OK && i < n; i++)
        adx_new_output(q, adx_or_zero(q, k.derived[i]));
    adx_drop(p->memory, moved);
    adx_end_making(&k);
    return q->status;
}

// Places of guards. The names of files that belong to fn may go before: they are
// left out.
static bool adx_copy_guards(ad_fn *to, const ad_fn *fn)
{
    size_t n = fn->program.report.guards;
    bool owned = fn->names != NULL || fn->files != NULL;
    to->guard = n == 0 ? NULL
              : (adx_code_place *)adx_take(&to->memory, n, sizeof *to->guard);
    for (size_t i = 0; to->guard != NULL && i < n; i++) {
        to->guard[i] = fn->guard[i];
        if (owned)
            to->guard[i] = (adx_code_place){ NULL, 0 };
    }
    return n == 0 || to->guard != NULL;
}

ADX_API ad_status ad_fn_derive_gradient(ad_fn **out, const ad_fn *fn, size_t n)
{
    if (out == NULL)
        return ADREV_ESHAPE;
    *out = NULL;
    if (fn == NULL || fn->m != 1 || n == 0 || n > fn->n)
        return ADREV_ESHAPE;
    const ad_fn_options o = { .allocator = &fn->memory };
    ad_fn *g = adx_new_fn(&o, fn->n, n);
    if (g == NULL)
        return ADREV_ENOMEM;
    ad_status status = adx_write_gradient(&g->program, &fn->program, n);
    g->program.memory = &g->memory;
    adx_end_program(&g->program);
    g->program.report.guards = fn->program.report.guards;
    if (status == ADREV_OK && !adx_copy_guards(g, fn))
        status = ADREV_ENOMEM;
    if (status == ADREV_OK)
        *out = g;
    else
        ad_fn_free(g);
    return status;
}
