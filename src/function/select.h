#pragma once

/* === function/select ========================================================
 * A choice of a function's inputs and results. The program is copied without
 * what the results do not need. Its inputs are reordered: those by which
 * derivatives are taken come first. Every program that is derived from it knows
 * how many these are (adx_variables_of).
 *
 *   needs   tape/memory function/api function/program function/copy
 *           function/functions
 *   offers  adx_selection adx_select
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_selection {
    size_t n, m;
    const size_t *variable;     // NULL: all
    const size_t *output;       // NULL: all
} adx_selection;

// Finds the places of the inputs: input i of the old function is input place[i]
// of the new one. False: there is no such input, or it was chosen twice.
static bool adx_place_inputs(const adx_selection *c, size_t inputs,
                             uint32_t place[])
{
    uint32_t next = (uint32_t)c->n;
    for (size_t i = 0; i < inputs; i++)
        place[i] = ADX_NOWHERE;
    for (size_t i = 0; i < c->n; i++) {
        size_t old = c->variable == NULL ? i : c->variable[i];
        if (old >= inputs || place[old] != ADX_NOWHERE)
            return false;
        place[old] = (uint32_t)i;
    }
    for (size_t i = 0; i < inputs; i++)
        if (place[i] == ADX_NOWHERE)
            place[i] = next++;
    return true;
}

// Copies what the results and the guards need. p is the old program with only
// these results as its outputs.
static ad_status adx_copy_chosen(adx_program *q, const adx_program *p,
                                 const uint32_t place[])
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    memcpy(k.same, place, p->inputs * sizeof *place);
    adx_copy_nodes(&k);
    for (size_t i = 0; q->status == ADREV_OK && i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_end_making(&k);
    q->report = p->report;
    adx_end_program(q);
    return q->status;
}

// Fills in the new function: its program, with the chosen inputs and results.
static ad_status adx_fill_chosen(ad_fn *to, const ad_fn *fn,
                                 const adx_selection *c)
{
    const ad_allocator *a = &fn->memory;
    uint32_t *place = (uint32_t *)adx_take(a, fn->n, sizeof *place);
    uint32_t *output = (uint32_t *)adx_take(a, c->m, sizeof *output);
    adx_program p = fn->program;
    ad_status status = place == NULL || output == NULL ? ADREV_ENOMEM
                     : adx_place_inputs(c, fn->n, place) ? ADREV_OK
                                                         : ADREV_ESHAPE;
    for (size_t i = 0; status == ADREV_OK && i < c->m; i++) {
        size_t old = c->output == NULL ? i : c->output[i];
        if (old < fn->m)
            output[i] = p.output[old];
        else
            status = ADREV_ESHAPE;
    }
    p.output = output;
    p.outputs = c->m;
    p.memory = &to->memory;
    if (status == ADREV_OK)
        status = adx_copy_chosen(&to->program, &p, place);
    to->program.fixed = fn->n - c->n;
    to->variables = c->n;
    adx_drop(a, place);
    adx_drop(a, output);
    return status;
}

// Makes the new function a holder of the old one, because they share the places
// of the guards.
static void adx_hold_whole(ad_fn *to, ad_fn *fn)
{
    // relaxed: the caller holds it
    atomic_fetch_add_explicit(&fn->holders, 1, memory_order_relaxed);
    to->whole = fn;
    to->guard = fn->guard;
}

// Makes a function of chosen inputs and results.
static ad_status adx_select(ad_fn **out, ad_fn *fn, adx_selection c)
{
    *out = NULL;
    const ad_fn_options o = { .allocator = &fn->memory };
    ad_fn *to = adx_new_fn(&o, fn->n, c.m);
    if (to == NULL)
        return ADREV_ENOMEM;
    adx_hold_whole(to, fn);
    ad_status status = adx_fill_chosen(to, fn, &c);
    if (status == ADREV_OK)
        *out = to;
    else
        ad_fn_free(to);
    return status;
}

ADX_API ad_status ad_fn_select(ad_fn **out, ad_fn *fn, size_t nv,
                               const size_t variable[], size_t m,
                               const size_t output[])
{
    if (out != NULL)
        *out = NULL;
    if (out == NULL || fn == NULL)
        return ADREV_ESHAPE;
    const adx_selection c = { variable == NULL ? fn->n : nv,
                              output == NULL ? fn->m : m, variable, output };
    return c.n > fn->n || c.m == 0 || c.m >= ADX_FROM_INPUT - fn->n
         ? ADREV_ESHAPE : adx_select(out, fn, c);
}

ADX_SELDOM_END
