#pragma once

/* === function/life ==========================================================
 * Makes and frees recorded functions.
 *
 *   needs   tape/memory tape/workspace function/api function/program
 *           function/record function/places function/functions
 *           function/compare function/plans
 * ========================================================================== */

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
