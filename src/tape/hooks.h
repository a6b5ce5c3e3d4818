#pragma once

/* === tape/hooks =============================================================
 * Values of other recordings: imported by an annex, asked of the foreign hook,
 * or refused. Then the trace hook, and the observer of a function that is
 * recorded, which are told of operations and array statements.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries
 *   offers  adx_fetching_alone adx_segment_of adx_member adx_resolve
 *           adx_known_id adx_known adx_known_here adx_is_unswept
 * ========================================================================== */

#if !ADREV_FIXED
// Whether this thread is in the get of a store whose `agree` is missing, so
// that other processes, if there are any, may call it more or less often. A
// loop sets it (loop/resume), and ranks ask it (mpi/collectives), in whatever
// order the headers are included.
static ADX_THREAD bool adx_fetching_alone ADX_UNUSED;
#endif

// The newest segment that begins below seq: the one with this value.
static const adx_segment *adx_segment_of(const ad_tape *t, size_t seq)
{
    size_t i = t->segments - 1;
    while (i > 0 && t->segment[i].begin >= seq)
        i--;
    return &t->segment[i];
}

// Whether x was recorded on t and is still there.
static bool adx_member(const ad_tape *t, ad_rev x)
{
    return x.job != 0 && x.seq != 0 && x.seq <= adx_live(t)->seq
        && adx_segment_of(t, x.seq)->job == x.job;
}

// The id on the current tape of a value that may be of another job; 0: a
// constant, or the tape has failed.
static uint32_t adx_resolve(ad_rev x)
{
    ad_tape *t = adx_now.tape;
    if (x.job == 0 || t == NULL || t->status != ADREV_OK)
        return 0;
    if (adx_member(t, x))
        return x.seq;
    if (x.job == ADX_JOB_BEYOND) {
        adx_fail(t, ADREV_EBEYOND);
        return 0;
    }

    uint64_t known = adx_annex_of(t) == NULL ? 0
                   : adx_annex_of(t)->import(t, adx_compound(x.job, x.seq));
    if (known != 0)
        return (uint32_t)known;
    ad_rev y = x;
#if !ADREV_FIXED
    if (t->hooks.foreign != NULL && t->status == ADREV_OK)
        y = t->hooks.foreign(t->hooks.user, x);
#endif
    if (y.job != 0 && !adx_member(t, y))
        adx_fail(t, ADREV_EFOREIGN);
    return y.job == 0 || t->status != ADREV_OK ? 0 : y.seq;
}

#if ADREV_FIXED
// A compound id as one of the current tape; 0: a constant.
static uint64_t adx_known_id(uint64_t id)
{
    ad_rev x = { 0, (uint32_t)id, (uint32_t)(id >> 32) };
    return x.job == adx_now.job || adx_resolve(x) != 0 ? id : 0;
}
#else
// The value x under its id on the current tape; seq 0 makes it a constant.
static ad_rev adx_known(ad_rev x, uint32_t seq)
{
    x.seq = seq;
    x.job = seq == 0 ? 0 : adx_segment_of(adx_now.tape, seq)->job;
    return x;
}

// The value x as one of the current tape, whatever its job.
ADX_NOINLINE static ad_rev adx_known_elsewhere(ad_rev x)
{
    return adx_known(x, adx_resolve(x));
}

// The value x as one of the current tape. It is fast for a tape with one
// segment, to which nearly all values belong if there are no forks.
ADX_INLINE ad_rev adx_known_here(ad_rev x)
{
    const ad_tape *t = adx_now.tape;
    if (x.job != 0 && t != NULL && t->status == ADREV_OK && t->segments == 1
        && x.job == t->segment[0].job && x.seq - 1 < adx_now.seq)
        return x;
    return adx_known_elsewhere(x);
}

// A compound id as one of the current tape; 0: a constant.
static uint64_t adx_known_id(uint64_t id)
{
    ad_tape *t = adx_now.tape;
    if (id >> 32 == adx_now.job)
        return id;
    bool ask = t != NULL && adx_annex_of(t) != NULL && id >> 32 != 0
            && id >> 32 != ADX_JOB_BEYOND;
    uint64_t known = ask ? adx_annex_of(t)->import(t, id) : 0;
    if (known != 0)
        return known;
    ad_rev x = { 0, (uint32_t)id, (uint32_t)(id >> 32) };
    x = adx_known_here(x);
    return adx_compound(x.job, x.seq);
}

// How many arguments an operation has. (The table of core/exported says so,
// too, but with it come the texts of all operations.)
static unsigned adx_arity_of(ad_opcode code)
{
#define ADX_ARITY(name, n, ...) [ADREV_OP_##name] = n,
#define ADX_ARITY_STEP(name, ...) [ADREV_OP_##name] = 1,
#define ADX_ARITY_TEST(name, ...) [ADREV_OP_##name] = 2,
    static const unsigned char arity[ADREV_OP_COUNT] = {
        ADREV_OPS(ADX_ARITY) ADREV_STEPS(ADX_ARITY_STEP)
        ADREV_COMPARISONS(ADX_ARITY_TEST) [ADREV_OP_detach] = 1
    };
#undef ADX_ARITY
#undef ADX_ARITY_STEP
#undef ADX_ARITY_TEST
    return arity[code];
}

static void adx_tell_hook(ad_operation *told, ad_rev result)
{
    const ad_hooks *hooks = &adx_now.tape->hooks;
    told->result = result;
    told->file = adx_now.file;
    told->line = adx_now.line;
    hooks->trace(hooks->user, told);
}

// Whether a function is being recorded, so that nobody will sweep what comes
// now. Not within ad_grad and its kin, which sweep segments of their own.
static bool adx_is_unswept(const ad_tape *t)
{
    return !ADREV_DEBUG && adx_is_observed(t) && t->segments == 1;
}

// Prepares what the hook is told. Returns 0 if no argument is a variable.
ADX_INLINE uint32_t adx_begin_telling(ad_operation *told, ad_opcode code,
                                      unsigned n, ad_rev a, ad_rev b, ad_rev c)
{
    const ad_rev none = ADX_ZERO;
    uint32_t active = 0;
    told->code = code;
    told->arg[0] = a;
    told->arg[1] = n > 1 ? b : none;
    told->arg[2] = n > 2 ? c : none;
    for (unsigned i = 0; i < n; i++) {
        if (told->arg[i].job != adx_now.job)
            told->arg[i] = adx_known_elsewhere(told->arg[i]);
        active |= told->arg[i].seq;
    }
    return active;
}

ADX_INLINE ad_rev adx_end_telling(ad_operation *told, ad_real v, size_t seq)
{
    ad_rev y = { v, (uint32_t)seq, (uint32_t)adx_now.job };
    adx_tell_hook(told, y);
    return y;
}

// An operation that the hook is told of, and that is also recorded on the tape.
ADX_NOINLINE static ad_rev adx_traced_entry(ad_opcode code, ad_real v, ad_rev a,
                                            ad_real fa, ad_rev b, ad_real fb,
                                            ad_rev c, ad_real fc)
{
    const ad_real d[3] = { fa, fb, fc };
    unsigned n = adx_arity_of(code);
    ad_operation told;
    if (adx_begin_telling(&told, code, n, a, b, c) == 0)
        return adx_passive(v);
    if (ADREV_DEBUG)
        adx_note_site(v);
    adx_operand *op = adx_entry(&adx_now, n, n, 1);
    if (op == NULL)
        return adx_passive(v);
    for (unsigned i = 0; i < n; i++) {
        op[i].d = d[i];
        op[i].id = told.arg[i].seq;
    }
    return adx_end_telling(&told, v, adx_now.seq);
}

// An operation that nobody will sweep: on the tape it is an input, which takes
// no memory.
ADX_NOINLINE static ad_rev adx_observe_any(ad_opcode code, ad_real v, ad_rev a,
                                           ad_rev b, ad_rev c)
{
    unsigned n = adx_arity_of(code);
    ad_operation told;
    if (adx_begin_telling(&told, code, n, a, b, c) == 0)
        return adx_passive(v);
    size_t id = adx_add_inputs(&adx_now, 1);
    return id == 0 ? adx_passive(v) : adx_end_telling(&told, v, id);
}

// Most operations are told to the observer in registers and by a tail call,
// which keeps nothing on the stack. (bench: recording, 10^3 operations, 0.82.
// That they have no entry on the tape: 0.78 before that.)
ADX_INLINE ad_rev adx_trace(ad_opcode code, ad_real v, unsigned n, ad_rev a,
                            ad_real fa, ad_rev b, ad_real fb, ad_rev c,
                            ad_real fc)
{
    ad_tape *t = adx_now.tape;
    if (!adx_is_unswept(t))
        return adx_traced_entry(code, v, a, fa, b, fb, c, fc);
    b = n > 1 ? b : a;
    c = n > 2 ? c : a;
    if (a.job != adx_now.job || (n > 1 && b.job != adx_now.job)
        || (n > 2 && c.job != adx_now.job) || t->status != ADREV_OK
        || !adx_add_leading_inputs(t, &adx_now, 1))
        return adx_observe_any(code, v, a, b, c);
    return t->observer(t->hooks.user, code, a, b, c, v, (uint32_t)adx_now.seq);
}

// Not cold: functions are recorded by these, nearly always by the first two.
ADX_NOINLINE ADX_API ad_rev adx_traced_1(ad_opcode code, ad_real v, ad_rev a,
                                         ad_real fa)
{
    return adx_trace(code, v, 1, a, fa, a, 0, a, 0);
}

ADX_NOINLINE ADX_API ad_rev adx_traced_2(ad_opcode code, ad_real v, ad_rev a,
                                         ad_real fa, ad_rev b, ad_real fb)
{
    return adx_trace(code, v, 2, a, fa, b, fb, b, 0);
}

ADX_NOINLINE ADX_API ad_rev adx_traced(ad_opcode code, ad_real v, ad_rev a,
                                       ad_real fa, ad_rev b, ad_real fb,
                                       ad_rev c, ad_real fc)
{
    unsigned n = adx_arity_of(code);
    return adx_trace(code, v, n, a, fa, b, fb, c, fc);
}

// Refuses an expression that the hook was not told of.
ADX_COLD ADX_API void adx_refuse(void)
{
    if (adx_now.tape != NULL)
        adx_fail_because(adx_now.tape, ADREV_EHOOK, "an expression that was "
                         "made before operations were traced is recorded");
}

// Tells the hook of a comparison, a step or ad_value, whose result is a
// constant.
ADX_COLD ADX_API void adx_observed(ad_opcode code, ad_real v, ad_rev a,
                                   ad_rev b)
{
    const ad_rev none = ADX_ZERO;
    bool one = adx_arity_of(code) == 1;
    ad_operation told = { .code = code, .arg = {
        adx_known_here(a), one ? none : adx_known_here(b), none } };
    if ((told.arg[0].seq | told.arg[1].seq) != 0)
        adx_tell_hook(&told, adx_passive(v));
}

// Tells the hook of comparisons that say that k is the exponent of x.
ADX_API void adx_observed_exponent(ad_rev x, int k)
{
    bool below = x.v < 0;
    ad_real near = adm_ldexp(below ? -1 : 1, k - 1);
    if (x.v == 0 || x.v - x.v != 0) {
        adx_observed(ADREV_OP_eq, x.v == x.v, x, adx_passive(x.v));
        return;
    }
    adx_observed(below ? ADREV_OP_le : ADREV_OP_ge, 1, x, adx_passive(near));
    adx_observed(below ? ADREV_OP_gt : ADREV_OP_lt, 1, x,
                 adx_passive(2 * near));
}

ADX_API void ad_tape_hooks(ad_tape *t, const ad_hooks *hooks)
{
    static const ad_hooks none = {0};
    if (t == NULL)
        return;
    if (adx_is_observed(t)) {
        adx_fail_because(t, ADREV_EHOOK, "hooks are set on the tape on which "
                         "a function is recorded");
        return;
    }
    adx_context *c = adx_live(t);
    t->hooks = hooks == NULL ? none : *hooks;
    c->trace = t->hooks.trace != NULL;
    if (t->block != NULL)
        adx_settle(t, c);
}
#endif
