#pragma once

/* === tensor/compiled ========================================================
 * A bound text as machine code: each step of each part is a function of a
 * library, which tensor/queries calls in place of the step's loops. The library
 * is made of the C text of tensor/file, and depends on the sizes that are
 * bound.
 *
 *   needs   tape/memory code/api code/text code/cache code/compile tensor/api
 *           tensor/arena tensor/binding tensor/fusion tensor/file
 *           tensor/written
 * ========================================================================== */

#if !ADREV_COMPILE

ADX_API ad_status ad_tensor_compile(ad_tensor *t,
                                    const ad_compile_options *options)
{
    ad_status status = t == NULL ? ADREV_ESHAPE : ad_tensor_bind(t, NULL);
    if (status == ADREV_OK && options != NULL && options->report != NULL) {
        memset(options->report, 0, sizeof *options->report);
        adx_blame(options->report, ADREV_COMPILE_NOWHERE, "", "");
    }
    return status == ADREV_OK ? ADREV_ECOMPILE : status;
}

#else

ADX_SELDOM_BEGIN

// Writes the argument that an entry point of the library passes for a parameter
// of a loop function.
static void adx_say_entry_argument(adx_text *t, const adx_parameter *p,
                                   void *user)
{
    const adx_tensor_file *k = (const adx_tensor_file *)user;
    unsigned long i = p->number;
    switch (p->kind) {
    case ADX_PARAMETER_WRITTEN: case ADX_PARAMETER_READ:
        adx_say(t, "b[%lu]", i); break;
    case ADX_PARAMETER_TABLE:
        adx_say(t, "(const %s *)t[%lu]",
                adx_table_type(k, k->tables.table[i].kind), i); break;
    case ADX_PARAMETER_FLAG: adx_say(t, "need[%lu]", i); break;
    case ADX_PARAMETER_PICKS: adx_say(t, "done"); break;
    case ADX_PARAMETER_SUMS: adx_say(t, "sums"); break;
    case ADX_PARAMETER_PART: adx_say(t, "which"); break;
    case ADX_PARAMETER_RANGE: adx_say(t, "lo, hi"); break;
    case ADX_PARAMETER_SIZE: break;             // of ad_tensor_write_c
    }
}

// Writes the functions that are called: steps, with their arrays in one.
static void adx_say_entries(adx_tensor_file *k, adx_text *t, int part)
{
    for (uint32_t i = 0; i < k->t->program->values; i++) {
        const adx_step_text *s = k->of[part][i];
        if (s == NULL)
            continue;
        adx_say(t, "void %s_%d_%lu(%s *const *b, const void *const *t, "
                "const unsigned char *need, unsigned char *done, %s *sums, "
                "long which, long lo, long hi)\n{\n    ", t->name, part,
                (unsigned long)i, t->real, t->real);
        adx_say_call(t, s, adx_say_entry_argument, k);
        adx_say(t, "}\n\n");
    }
}

// Returns the function of a step in a loaded library. NULL: it has none.
static adx_tensor_step_fn *adx_step_in(void *library, int part,
                                       uint32_t value)
{
    char name[64];
    adx_tensor_step_fn *f;
    snprintf(name, sizeof name, ADX_C_NAME "_%d_%lu", part,
             (unsigned long)value);
    void *code = dlsym(library, name);
    memcpy(&f, &code, sizeof f);
    return f;
}

// Collects what evaluations need of a part, in the memory of the program.
// False: a function is missing, or there is no memory, which t->arena says.
static bool adx_take_part(ad_tensor *t, const adx_tensor_file *k, int part,
                          void *library, adx_tensor_code *to)
{
    uint32_t values = t->program->values;
    bool found = true;
    to->host[part] = ADX_GET(&t->arena, values, uint32_t);
    to->inlined[part] = ADX_GET(&t->arena, values, bool);
    to->bundle[part] = ADX_GET(&t->arena, values, uint32_t);
    to->step[part] = ADX_GET(&t->arena, values, adx_tensor_step_fn *);
    to->cut[part] = ADX_GET(&t->arena, values, adx_step_cut);
    if (t->arena.status != ADREV_OK)
        return false;
    for (uint32_t i = 0; i < values; i++) {
        to->host[part][i] = adx_host_of(&k->part[part], i);
        to->bundle[part][i] = k->part[part].bundle[i];
        to->cut[part][i] = k->part[part].cut[i];
        to->inlined[part][i] = !adx_is_stored(&k->part[part], i);
        if (k->of[part][i] == NULL)
            continue;
        to->step[part][i] = adx_step_in(library, part, i);
        found = found && to->step[part][i] != NULL;
    }
    return found;
}

// Evaluates by the library from now on. False: it lacks functions, or no
// memory.
static bool adx_take_code_of(ad_tensor *t, const adx_tensor_file *k,
                             void *library)
{
    adx_tensor_code *to = ADX_GET(&t->arena, 1, adx_tensor_code);
    const void **table = ADX_GET(&t->arena, k->tables.n, const void *);
    bool ok = to != NULL && table != NULL;
    for (uint32_t i = 0; ok && i < k->tables.n; i++)
        table[i] = k->tables.table[i].data;
    for (int part = 0; ok && part < ADX_TENSOR_PARTS; part++)
        if (k->of[part] != NULL)
            ok = adx_take_part(t, k, part, library, to);
    if (!ok)
        return false;
    to->table = table;
    to->library = library;
    to->unload = adx_close_library;
    if (t->code != NULL)
        t->code->unload(t->code->library);
    t->code = to;
    return true;
}

// Writes the parts that are asked for.
static ad_status adx_write_entries(adx_tensor_file *k, unsigned asked,
                                   adx_bytes *code)
{
    adx_text to = { .write = adx_put_bytes, .user = code, .name = ADX_C_NAME,
                    .real = sizeof(ad_real) == sizeof(float) ? "float"
                                                             : "double",
                    .single = sizeof(ad_real) == sizeof(float) };
    for (int part = 0; part < ADX_TENSOR_PARTS; part++)
        if (asked & adx_part_texts[part].bit)
            adx_add_part(k, (ad_tensor_part)part);
    ad_status status = adx_file_status(k);
    if (status != ADREV_OK)
        return status;
    adx_say_steps(k, &to);
    for (int part = 0; part < ADX_TENSOR_PARTS; part++)
        if (k->of[part] != NULL)
            adx_say_entries(k, &to, part);
    return code->failed ? ADREV_ENOMEM : ADREV_OK;
}

// Writes the loops as C code, compiles it, or finds it in the cache, and takes
// its functions.
static ad_status adx_compile_tensor(ad_tensor *t, const ad_compile_options *o,
                                    ad_compile_report *report)
{
    const ad_c_options c = { .name = ADX_C_NAME,
                             .single = sizeof(ad_real) == sizeof(float) };
    adx_cache cache = { .memory = &t->memory, .report = report,
                        .code = { .memory = &t->memory } };
    unsigned asked = o->functions == 0
        ? ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP | ADREV_C_HVP
        : o->functions & ADREV_C_GRADIENT
        ? (o->functions & ~(unsigned)ADREV_C_GRADIENT) | ADREV_C_VJP
        : o->functions;
    adx_tensor_file k;
    ad_status status = adx_check_text_options(t, &c, asked);
    if (status != ADREV_OK)
        return status;
    adx_begin_file(&k, t, &c, true);
    status = adx_write_entries(&k, asked, &cache.code);
    void *library = status == ADREV_OK ? adx_library_of(&cache, o,
                                                        ADX_LOOP_FLAGS) : NULL;
    if (library != NULL && !adx_take_code_of(t, &k, library)) {
        adx_blame_hidden(&cache, library);
        cache.no_memory = t->arena.status != ADREV_OK;
        if (cache.no_memory)
            adx_take_back_blame(report);
        t->arena.status = ADREV_OK;
        library = NULL;
    }
    adx_drop(cache.memory, cache.code.v);
    adx_end_file(&k);
    return status != ADREV_OK ? status : cache.no_memory ? ADREV_ENOMEM
         : library != NULL ? ADREV_OK : ADREV_ECOMPILE;
}

ADX_SELDOM_END

ADX_API ad_status ad_tensor_compile(ad_tensor *t,
                                    const ad_compile_options *options)
{
    static const ad_compile_options none;
    const ad_compile_options *o = options == NULL ? &none : options;
    ad_compile_report unread;
    ad_compile_report *report = o->report == NULL ? &unread : o->report;
    ad_status status = t == NULL ? ADREV_ESHAPE : ad_tensor_bind(t, NULL);
    memset(report, 0, sizeof *report);
    return status != ADREV_OK ? status : adx_compile_tensor(t, o, report);
}

#endif // ADREV_COMPILE
