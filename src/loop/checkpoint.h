#pragma once

/* === loop/checkpoint ========================================================
 * A checkpoint is one external statement that replaces what a call records. It
 * keeps the inputs of the call, and perhaps its recording, on a stage of its
 * own. If a sweep finds no recording, it runs the call again on a stage that is
 * shared, and sweeps that.
 *
 * The first run finds out which numbers the function captures. They become
 * operands of the statement, behind the inputs.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries
 *           sweep/session array/external bulk/folds bulk/captured loop/api
 *           loop/stage
 *   offers  adx_checkpoint adx_call_again adx_checkpoint_rule
 *           adx_unrolled_memory adx_loop_memory
 * ========================================================================== */

typedef struct adx_checkpoint {
    adx_staged of;
    ad_vector_fn *f;
    void *ctx;
    size_t n, m;
    adx_captured captured;
    size_t *evaluations;
    adx_stage *kept;            // has the recording; NULL: inputs only
    ad_rev *in, *out;           // [n + captured], [m] of the latest run
    ad_real *x;                 // [n]
    size_t context;             // bytes of *ctx
    void *copy;                 // a copy of *ctx, which is never changed
    void *given;                // another, which f is given and may change
    size_t counted;             // bytes of `kept`, as taken from the budget
    bool always;                // f records a statement with `always`
} adx_checkpoint;

static void adx_free_call(adx_staged *of)
{
    adx_checkpoint *c = (adx_checkpoint *)of;
    ad_allocator memory = c->of.memory;
    if (c->of.stage != NULL)
        c->of.stage->kept -= c->counted;
    adx_free_stage(c->of.stage);
    adx_free_stage(c->kept);
    adx_free_captured(&memory, &c->captured);
    adx_drop(&memory, c->x);
    adx_drop(&memory, c->in);
    adx_drop(&memory, c->out);
    adx_drop(&memory, c->copy);
    adx_drop(&memory, c->given);
    adx_drop(&memory, c);
}

// Runs f at c->x on a stage, with inputs if the run is to be recorded, else
// with constants. Afterwards c->in has its inputs, and c->out its results.
static ad_status adx_run_call(adx_checkpoint *c, adx_stage *s, bool recorded,
                              bool complete, void *ctx)
{
    ad_tape *before = adx_enter_stage(s, &c->captured, complete);
    adx_begin_run(s, recorded);
    for (size_t i = 0; i < c->n; i++)
        c->in[i] = recorded ? (ad_input)(c->x[i]) : adx_passive(c->x[i]);
    adx_unset(c->m, c->out);
    if (c->evaluations != NULL)
        ++*c->evaluations;
    c->f(c->in, c->out, ctx);
    ad_status status = adx_end_apart(s->tape, c->m, c->out);
    c->always |= s->tape->always;
    ad_use(before);
    return status == ADREV_OK && !adx_all_set(c->m, c->out) ? ADREV_ESHAPE
                                                            : status;
}

// Returns a stage with a recording of f at x, which is the one that was kept or
// a new one. NULL: f failed, or no memory.
static adx_stage *adx_call_again(adx_checkpoint *c)
{
    if (c->kept != NULL)
        return c->kept;
    adx_stage *s = adx_borrow_stage(&c->of);
    if (c->context > 0)
        memcpy(c->given, c->copy, c->context);
    if (s != NULL && adx_run_call(c, s, true, true, c->context > 0
                                  ? c->given : c->ctx) != ADREV_OK) {
        adx_return_stage(s);
        s = NULL;
    }
    return s;
}

// The pullback of a checkpoint, in k directions: runs the call again, unless
// its recording was kept, and sweeps that.
static bool adx_checkpoint_pullback_n(const void *saved, size_t k, size_t m,
                                      const ad_real dy[], size_t n,
                                      ad_real dx[])
{
    adx_checkpoint *c = *(adx_checkpoint *const *)saved;
    adx_begin_sweep(&c->of);
    adx_stage *s = adx_call_again(c);
    bool ok = s != NULL
           && adx_stage_pull_rows(s, k, m, c->out, dy, c->n, c->in, dx, n,
                                  &c->captured, dx + c->n, n) == ADREV_OK;
    adx_return_stage(s);
    adx_end_sweep(&c->of);
    return ok;
}

static bool adx_checkpoint_pullback(const void *saved, size_t m,
                                    const ad_real dy[], size_t n, ad_real dx[])
{
    return adx_checkpoint_pullback_n(saved, 1, m, dy, n, dx);
}

// The pushforward of a checkpoint, in the same way.
static bool adx_checkpoint_pushforward(const void *saved, size_t n,
                                       const ad_real dx[], size_t m,
                                       ad_real dy[])
{
    adx_checkpoint *c = *(adx_checkpoint *const *)saved;
    adx_begin_sweep(&c->of);
    adx_stage *s = adx_call_again(c);
    ad_real *tangents = (ad_real *)adx_take(&c->of.memory, n,
                                            sizeof *tangents);
    bool ok = s != NULL && tangents != NULL
           && adx_stage_push(s, m, c->out, dy, c->n, c->in, dx, &c->captured,
                             tangents) == ADREV_OK;
    adx_drop(&c->of.memory, tangents);
    adx_return_stage(s);
    adx_end_sweep(&c->of);
    return ok;
}

static const ad_external_rule adx_checkpoint_rule = {
    .name = "checkpoint", .pullback = adx_checkpoint_pullback,
    .pushforward = adx_checkpoint_pushforward,
    .destroy = adx_destroy_staged, .pullback_n = adx_checkpoint_pullback_n
};

// Makes a checkpoint, with copies of everything that it needs of the call.
// NULL: no memory.
static adx_checkpoint *adx_new_call(const ad_checkpoint_options *o,
                                    const ad_allocator *a, ad_vector_fn *f,
                                    void *ctx, size_t n, const ad_rev x[],
                                    size_t m)
{
    adx_checkpoint *c = (adx_checkpoint *)adx_take(a, 1, sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (adx_checkpoint){ .of = { .memory = *a, .free = adx_free_call },
                           .f = f, .ctx = ctx, .n = n,
                           .m = m, .evaluations = o->evaluations };
    c->x = (ad_real *)adx_take(a, n, sizeof *c->x);
    c->in = (ad_rev *)adx_take(a, n, sizeof *c->in);
    c->out = (ad_rev *)adx_take(a, m, sizeof *c->out);
    c->context = o->context;
    if (o->context > 0) {
        c->copy = adx_take(a, o->context, 1);
        c->given = adx_take(a, o->context, 1);
    }
    if (c->x == NULL || c->in == NULL || c->out == NULL
        || (o->context > 0 && (c->copy == NULL || c->given == NULL))) {
        adx_free_call(&c->of);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        c->x[i] = x[i].v;
    if (o->context > 0)
        memcpy(c->copy, ctx, o->context);
    return c;
}

// Does the first run. Its recording is kept if that is wanted. With
// ADREV_KEEP_AUTOMATIC a recording is made as long as the budget is not used
// up, and dropped again if it exceeds what is left; from then on nothing is
// recorded.
static ad_status adx_first_run(adx_checkpoint *c,
                               const ad_checkpoint_options *o)
{
    adx_stage *shared = c->of.stage;
    bool automatic = o->keep == ADREV_KEEP_AUTOMATIC;
    if (o->keep == ADREV_KEEP_INPUTS || (automatic
        && (shared == NULL || shared->full || shared->kept >= o->budget))) {
        adx_stage *s = adx_borrow_stage(&c->of);
        if (s == NULL)
            return ADREV_ENOMEM;
        ad_status status = adx_run_call(c, s, false, false, c->ctx);
        adx_return_stage(s);
        return status;
    }

    c->kept = adx_new_stage(&c->of.memory);
    if (c->kept == NULL)
        return ADREV_ENOMEM;
    ad_status status = adx_run_call(c, c->kept, true, false, c->ctx);
    const ad_tape *t = c->kept->tape;
    size_t held = t->bytes + (adx_live(t)->seq + 1) * sizeof(ad_real);
    if (!automatic || status != ADREV_OK)
        return status;
    shared->full = shared->kept + held > o->budget;
    if (!shared->full) {
        shared->kept += held;
        c->counted = held;
    } else {
        for (size_t i = 0; i < c->m; i++)
            c->out[i] = adx_passive(c->out[i].v);
        adx_free_stage(c->kept);
        c->kept = NULL;
    }
    return status;
}

// Makes room behind the inputs for the captured numbers, whose number is known
// now.
static bool adx_extend_by_captured(const ad_allocator *a, ad_rev **in, size_t n,
                                   const adx_captured *k)
{
    size_t room = n;
    return adx_extend(a, (void **)in, &room, n + k->n, sizeof **in);
}

// Records the statement. It owns the checkpoint from then on; on failure the
// checkpoint is freed.
static ad_status adx_record_checkpoint(adx_checkpoint *c, const ad_rev x[],
                                       ad_rev y[])
{
    ad_allocator memory = c->of.memory;
    size_t m = c->m;
    size_t n = c->n + c->captured.n;
    ad_rev *all = (ad_rev *)adx_take(&memory, n, sizeof *all);
    ad_rev *out = (ad_rev *)adx_take(&memory, m, sizeof *out);
    ad_real *v = (ad_real *)adx_take(&memory, m, sizeof *v);
    ad_status status = ADREV_ENOMEM;
    if (all == NULL || out == NULL || v == NULL
        || !adx_extend_by_captured(&memory, &c->in, c->n, &c->captured))
        adx_free_call(&c->of);
    else {
        if (c->n > 0)
            memcpy(all, x, c->n * sizeof *all);
        adx_list_captured(&c->captured, all + c->n);
        for (size_t i = 0; i < m; i++)
            v[i] = c->out[i].v;
        status = adx_record_external_as(&adx_checkpoint_rule, c->always, &c,
                                        sizeof c, n, all, m, v, out);
    }
    for (size_t i = 0; status == ADREV_OK && i < m; i++)
        y[i] = out[i];
    adx_drop(&memory, all);
    adx_drop(&memory, out);
    adx_drop(&memory, v);
    return status;
}

// Takes memory of the current tape, which is in fixed memory. It is given back
// only when the tape is cleared.
static void *adx_tape_room(size_t bytes, void *user)
{
    (void)user;
    return adx_add_bytes(&adx_now, ADX_DATA, bytes, 0);
}

static void adx_keep_room(void *block, void *user)
{
    (void)block;
    (void)user;
}

// Returns the allocator for what is unrolled. NULL: there is none.
static const ad_allocator *adx_unrolled_memory(const ad_allocator *given)
{
    static const ad_allocator room = { adx_tape_room, adx_keep_room, NULL };
    const ad_tape *t = adx_now.tape;
    if (t == NULL || adx_is_allocator(given))
        return adx_allocator_or(given);
    return t->allocator.alloc != NULL ? &t->allocator : &room;
}

// Returns the allocator for what a loop or a checkpoint keeps. NULL: no tape is
// current that could have such a statement, or the tape has no memory beside
// it.
static const ad_allocator *adx_loop_memory(const ad_allocator *given)
{
    const ad_tape *t = adx_now.tape;
    if (t == NULL || adx_now.trace || t->status != ADREV_OK)
        return NULL;
    return adx_is_allocator(given) ? given
         : t->allocator.alloc != NULL ? &t->allocator : NULL;
}

// Calls f on the recorded numbers themselves. Its results must not lie among x,
// so x is copied if the two overlap.
static ad_status adx_call_directly(ad_vector_fn *f, void *ctx, size_t n,
                                   const ad_rev x[], size_t m, ad_rev y[],
                                   const ad_allocator *given)
{
    bool overlap = n > 0 && m > 0 && x < y + m && y < x + n;
    const ad_allocator *a = overlap ? adx_unrolled_memory(given) : NULL;
    ad_rev *copy = a == NULL ? NULL : (ad_rev *)adx_take(a, n, sizeof *copy);
    if (overlap && copy == NULL)
        return adx_failed(ADREV_ENOMEM);
    if (overlap)
        memcpy(copy, x, n * sizeof *copy);
    adx_unset(m, y);
    f(overlap ? copy : x, y, ctx);
    if (overlap)
        adx_drop(a, copy);
    ad_status status = adx_now_status();
    return status == ADREV_OK && !adx_all_set(m, y) ? adx_failed(ADREV_ESHAPE)
                                                    : status;
}

// Does the call. If no statement can be recorded (adx_loop_memory), f is simply
// called.
static ad_status adx_call_checkpoint(const ad_checkpoint_options *o,
                                     ad_vector_fn *f, void *ctx, size_t n,
                                     const ad_rev x[], size_t m, ad_rev y[])
{
    const ad_allocator *a = adx_loop_memory(o->allocator);

    if (adx_now_status() != ADREV_OK)
        return adx_now_status();
    if (f == NULL || adx_no_array(n, x) || adx_no_array(m, y)
        || adx_no_array(o->context, ctx)
        || (unsigned)o->keep > ADREV_KEEP_AUTOMATIC)
        return adx_failed(ADREV_ESHAPE);
    if (a == NULL) {
        if (o->evaluations != NULL)
            ++*o->evaluations;
        adx_long_loop |= adx_now.trace != 0;
        return adx_call_directly(f, ctx, n, x, m, y, o->allocator);
    }
    adx_checkpoint *c = adx_new_call(o, a, f, ctx, n, x, m);
    if (c == NULL)
        return adx_failed(ADREV_ENOMEM);
    ad_status status = adx_share_stage(&c->of) ? adx_first_run(c, o)
                                               : ADREV_ENOMEM;
    if (status == ADREV_OK && (m > 0 || c->always))
        return adx_failed(adx_record_checkpoint(c, x, y));
    adx_free_call(&c->of);
    return adx_failed(status);
}

ADX_API ad_status ad_checkpoint_with(const ad_checkpoint_options *options,
                                     ad_vector_fn *f, void *ctx, size_t n,
                                     const ad_rev x[], size_t m, ad_rev y[])
{
    static const ad_checkpoint_options none;
    ad_status status = adx_call_checkpoint(options == NULL ? &none : options,
                                           f, ctx, n, x, m, y);
    return adx_results_or_nan(status, m, 1, y);
}

ADX_API ad_status ad_checkpoint(ad_vector_fn *f, void *ctx, size_t n,
                                const ad_rev x[], size_t m, ad_rev y[])
{
    return ad_checkpoint_with(NULL, f, ctx, n, x, m, y);
}
