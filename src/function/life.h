#pragma once

/* === function/life ==========================================================
 * Makes and frees recorded functions. A function is recorded, or made from
 * another one: as a choice of its inputs and results, or as its gradient.
 *
 * For a choice the program is copied without what the results do not need. Its
 * inputs are reordered: those by which derivatives are taken come first. Every
 * program that is derived from it knows how many these are
 * (adx_variables_of).
 *
 *   needs   tape/memory function/api function/program function/unique
 *           function/copy function/adjoints function/record function/places
 *           function/functions function/taylor function/compare function/plans
 *   offers  adx_selection adx_select
 * ========================================================================== */

/* --- recorded ------------------------------------------------------------- */

ADX_API ad_status ad_fn_record_with(ad_fn **out, const ad_fn_options *options,
                                    ad_vector_fn *f, void *ctx, size_t n,
                                    const ad_real x[], size_t m)
{
    static const ad_fn_options none;
    const ad_fn_options *o = options == NULL ? &none : options;
    if (out == NULL)
        return adx_because(ADREV_ESHAPE, NULL);
    *out = NULL;
    if (f == NULL || adx_no_array(n, x) || m == 0)
        return adx_because(ADREV_ESHAPE, NULL);
    if (adx_size_plus(n, m) >= ADX_FROM_INPUT)
        return adx_because(ADREV_ELIMIT, NULL);
    ad_fn *fn = adx_new_fn(o, n, m);
    if (fn == NULL)
        return adx_because(ADREV_ENOMEM, NULL);
    adx_lent lent;
    ad_status status = adx_lend_arrays(&fn->memory, n, m, &lent)
                     ? adx_record(fn, f, ctx, x, &lent)
                     : adx_because(ADREV_ENOMEM, NULL);
    if (status == ADREV_OK && !o->once && n > 0)
        status = adx_because(adx_compare_nearby(fn, f, ctx, x, &lent),
                             NULL);
    adx_drop(&fn->memory, lent.x);
    if (status == ADREV_OK)
        *out = fn;
    else
        ad_fn_free(fn);
    return status;
}

#ifndef ADREV_NO_STDLIB
ADX_API ad_status ad_fn_record(ad_fn **out, ad_vector_fn *f, void *ctx,
                               size_t n, const ad_real x[], size_t m)
{
    return ad_fn_record_with(out, NULL, f, ctx, n, x, m);
}
#endif

ADX_SELDOM_BEGIN

/* --- chosen --------------------------------------------------------------- */

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

/* --- gradients ------------------------------------------------------------ */

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

// Places of guards. The names of files that belong to fn may go before: they
// are left out.
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

/* --- freed ---------------------------------------------------------------- */

static void adx_drop_spares(ad_fn *fn, adx_compiled *c)
{
    adx_drop_spare(&c->spare, &fn->memory);
    adx_drop_spare(&c->spare_block, &fn->memory);
}

static void adx_drop_files(const ad_allocator *a, adx_file_name *file)
{
    while (file != NULL) {
        adx_file_name *next = file->next;
        adx_drop(a, file);
        file = next;
    }
}

ADX_API void ad_fn_free(ad_fn *fn)
{
    // acq_rel: what the other holders did comes before the memory goes.
    if (fn == NULL || atomic_fetch_sub_explicit(&fn->holders, 1,
                                                memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < ADX_KINDS; i++)
        // relaxed: nobody else has the function any more
        adx_free_machine(atomic_load_explicit(&fn->machine[i],
                                              memory_order_relaxed));
    for (size_t i = 0; i < 2; i++) {
        adx_free_pattern(atomic_load_explicit(&fn->pattern[i],
                                              memory_order_relaxed));
        adx_free_pattern(atomic_load_explicit(&fn->thrifty[i],
                                              memory_order_relaxed));
    }
    // relaxed: as above
    adx_free_series(atomic_load_explicit(&fn->series, memory_order_relaxed));
    for (size_t i = 0; i < ADX_KINDS; i++)
        adx_drop_spares(fn, &fn->compiled[i]);
    if (fn->library != NULL)
        fn->unload(fn->library);
    adx_free_program(&fn->program);
    ad_allocator memory = fn->memory;
    if (fn->whole == NULL)
        adx_drop(&memory, fn->guard);
    ad_fn_free(fn->whole);
    adx_drop(&memory, fn->names);
    adx_drop_files(&memory, fn->files);
    adx_drop(&memory, fn);
}
