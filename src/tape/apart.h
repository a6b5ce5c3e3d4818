#pragma once

/* === tape/apart ========================================================
 * Statements that the inlined code does not write itself: those with values of
 * other tapes, with a NaN, under a hook, or in a new block. Also the called
 * operators.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *   offers  adx_call_any
 * ========================================================================== */

// Whether an expression is just one recorded value or a constant. All are that
// were made while the trace hook was set, since each operation is then recorded
// by itself.
static bool adx_is_node(unsigned n, const adx_slot slot[])
{
    uint64_t others = 0;
    for (unsigned i = 1; i < n; i++)
        others |= slot[i].id;
    return others == 0 && slot[0].d == 1;
}

// Gives slots their ids on this tape; a constant's is the sink. Returns whether
// any slot is a variable.
static bool adx_identify(unsigned n, adx_slot slot[])
{
    uint64_t any = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t id = slot[i].id >> 32 == 0 ? 0 : adx_known_id(slot[i].id);
        any |= id;
        slot[i].id = id >> 32 == 0 ? ADX_SINK : id;
    }
    return any >> 32 != 0;
}

// A partial with a factor of zero is zero, even where its slot says NaN.
static void adx_absorb_slots(unsigned n, adx_slot slot[], unsigned zero)
{
    for (unsigned i = 0; i < n; i++, zero >>= 1)
        if ((zero & 1) && adx_is_nan(slot[i].d))
            slot[i].d = 0;
}

// Adds each slot to an earlier one of the same variable, as `into` says.
// Returns how many there are without those.
static unsigned adx_gather_slots(unsigned n, adx_slot slot[], uint64_t into)
{
    unsigned left = n;
    for (unsigned k = 0; k < n; k++, into >>= 4)
        if ((into & 15) != 0) {
            slot[(into & 15) - 1].d += slot[k].d;
            left--;
        }
    return left;
}

// Records n = how & ADX_COUNT slots. Bit i of `zero`: the partial of slot i has
// a factor of zero. Four bits i of `into`, if not 0: slot i is added to the
// slot of that number, counted from 1 (number/expression).
ADX_NOINLINE ADX_API ad_rev adx_record_apart(ad_real v, unsigned how,
                                             adx_slot slot[], unsigned zero,
                                             uint64_t into)
{
    unsigned n = how & ADX_COUNT;
    bool traced = (how & ADX_WATCHED) && ADX_TRACED;

    if (traced && adx_is_node(n, slot))     // it is recorded already
        return adx_numbered(v, adx_known_id(slot[0].id));
    if (!adx_identify(n, slot))
        return adx_passive(v);
    if (traced)
        adx_refuse();
    if (traced || (how & ADX_LEAF))
        return adx_numbered(v, slot[0].id);
    if ((how & ADX_NOTED) && (ADREV_DEBUG || !ADREV_FIXED))
        adx_note_site(v);

    adx_absorb_slots(n, slot, zero);
    const unsigned left = adx_gather_slots(n, slot, into);
    bool sum = left > 1 && (how & ADX_SUM) && adx_is_number_one(slot[0].d)
            && (uint32_t)slot[0].id == adx_now.seq;
    // The test counts the operand that a sum does without, as in the inlined
    // code, where the room is a constant in that way.
    size_t most = sizeof(uint16_t) + left * sizeof(adx_operand);
    if (!adx_room(most) && !adx_grow(most - sum * sizeof(adx_operand)))
        return adx_passive(v);
    adx_operand *op = adx_now.op;
    into |= sum;                // its first slot is not written either
    for (unsigned i = 0; i < n; i++, into >>= 4)
        if ((into & 15) == 0)
            op = adx_put(op, slot[i].d, slot[i].id);
    return adx_commit(v, op, sum ? ADX_SUM | (left - 1) : left);
}

// Without fusing, an ad_fwd in an expression is noticed only when it runs.
static void adx_refuse_dual(void)
{
    if (adx_now.tape != NULL)
        adx_fail_because(adx_now.tape, ADREV_ESHAPE, "an ad_fwd and an ad_rev "
                         "in one expression");
}

// Operators without fusing (number/called): small rather than fast.
ADX_SELDOM_BEGIN

// An operator with n arguments a and their partials f.
static adx_number adx_call_any(unsigned how, ad_opcode code, ad_real v,
                               unsigned n, const adx_number a[],
                               const ad_real f[])
{
    adx_number e = { .v = v };
    adx_slot slot[3];
    unsigned slots = 0;
    uint64_t into = 0;
    ad_rev arg[3];

    for (unsigned i = 0; i < n; i++) {
        arg[i] = adx_numbered(a[i].v, a[i].id);
        e.d += a[i].kind & ADX_DUAL ? adx_times(f[i], a[i].d) : 0;
        e.kind |= a[i].kind;
        if (!(a[i].kind & ADX_RECORDED))
            continue;
        unsigned k = 0;
        while (k < slots && slot[k].id != a[i].id)
            k++;
        if (k < slots)              // an earlier slot is of the same variable
            into |= (uint64_t)(k + 1) << 4 * slots;
        slot[slots++] = (adx_slot){ f[i], a[i].id };
    }
#if ADREV_COUNT
    adx_count_op(code, slots);
#endif
    if (slots == 0)
        return e;
    ad_rev y;
    if ((how & ADX_WATCHED) && ADX_TRACED)
        y = n == 1 ? adx_traced_1(code, v, arg[0], f[0])
          : n == 2 ? adx_traced_2(code, v, arg[0], f[0], arg[1], f[1])
          : adx_traced(code, v, arg[0], f[0], arg[1], f[1], arg[2], f[2]);
    else
        y = adx_record_apart(v, how | slots, slot, 0, into);
    e.id = adx_word(&y);
    return e;
}

// The partial of an argument that is a plain number is not computed.
#define ADX_CALL_1(name, fx)                                                \
    ad_real v = adx_f_##name(a.v, 0, 0);                                    \
    ad_real f = a.kind ? adx_fx_##name(a.v, 0, 0, v) : 0;                   \
    return adx_call_any(how, ADREV_OP_##name, v, 1, &a, &f);
#define ADX_CALL_2(name, fx)                                                \
    ad_real v = adx_f_##name(a.v, b.v, 0);                                  \
    adx_number arg[2] = { a, b };                                           \
    ad_real f[2] = { a.kind ? adx_fx_##name(a.v, b.v, 0, v) : 0,            \
                     b.kind ? adx_fy_##name(a.v, b.v, 0, v) : 0 };          \
    return adx_call_any(how | (ADX_IS_ONE(fx) ? ADX_SUM : 0u),              \
                        ADREV_OP_##name, v, 2, arg, f);
#define ADX_CALL_3(name, fx)                                                \
    ad_real v = adx_f_##name(a.v, b.v, c.v);                                \
    adx_number arg[3] = { a, b, c };                                        \
    ad_real f[3] = { a.kind ? adx_fx_##name(a.v, b.v, c.v, v) : 0,          \
                     b.kind ? adx_fy_##name(a.v, b.v, c.v, v) : 0,          \
                     c.kind ? adx_fz_##name(a.v, b.v, c.v, v) : 0 };        \
    return adx_call_any(how, ADREV_OP_##name, v, 3, arg, f);
#define ADX_DEFINE(name, n, f, fx, ...)                                     \
    ADX_API adx_number adx_call_##name(ADX_CALLED_##n)                      \
        { ADX_CALL_##n(name, fx) }
ADREV_OPS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_CALL_1
#undef ADX_CALL_2
#undef ADX_CALL_3

// Told to the hook, but recorded nowhere.
static void adx_call_observed(unsigned how, ad_opcode code, ad_real v,
                              adx_number a, adx_number b)
{
    if ((how & ADX_WATCHED) && ADX_TRACED
        && ((a.kind | b.kind) & ADX_RECORDED))
        adx_observed(code, v, adx_numbered(a.v, a.id),
                     adx_numbered(b.v, b.id));
}

#define ADX_DEFINE(name, ...)                                               \
    ADX_API adx_number adx_call_##name(unsigned how, adx_number a)          \
    {                                                                       \
        adx_number e = { .v = adx_f_##name(a.v), .kind = a.kind & ADX_DUAL }; \
        adx_call_observed(how, ADREV_OP_##name, e.v, a, a);                 \
        return e;                                                           \
    }
ADREV_STEPS(ADX_DEFINE)
#undef ADX_DEFINE

#define ADX_DEFINE(name, ...)                                               \
    ADX_API bool adx_call_##name(unsigned how, adx_number a, adx_number b)  \
    {                                                                       \
        bool holds = adx_f_##name(a.v, b.v);                                \
        adx_call_observed(how, ADREV_OP_##name, holds, a, b);               \
        return holds;                                                       \
    }
ADREV_COMPARISONS(ADX_DEFINE)
#undef ADX_DEFINE

// The side that is taken. Without a hook nothing is recorded.
ADX_API adx_number adx_call_choose(unsigned how, bool c, adx_number a,
                                   adx_number b)
{
    adx_number e = c ? a : b;
    if ((how & ADX_WATCHED) && ADX_TRACED) {
        const adx_number arg[3] = { { .v = c }, a, b };
        const ad_real f[3] = { 0, c, !c };
        return adx_call_any(how, ADREV_OP_select, e.v, 3, arg, f);
    }
    e.kind = a.kind | b.kind;
    return e;
}

ADX_API ad_rev adx_call_rec(adx_number e)
{
    if (e.kind & ADX_DUAL)
        adx_refuse_dual();
    if (!(e.kind & ADX_RECORDED))
        return adx_passive(e.v);
    return adx_numbered(e.v, adx_known_id(e.id));
}

ADX_API ad_real adx_call_value(unsigned how, adx_number e)
{
    adx_call_observed(how, ADREV_OP_detach, e.v, e, e);
    return e.v;
}

// ad_dual: a number that is neither forward nor recorded has the tangent 0; a
// recorded one is a constant, and a hook is told so.
ADX_API ad_fwd adx_call_dual(unsigned how, adx_number e)
{
    if (e.kind == (ADX_DUAL | ADX_RECORDED))
        adx_refuse_dual();
    return (ad_fwd){ adx_call_value(how, e), e.kind & ADX_DUAL ? e.d : 0 };
}

ADX_API adx_number adx_call_detach(unsigned how, adx_number e)
{
    adx_number y = { .v = e.v, .kind = e.kind & ADX_DUAL };
    if ((e.kind & ADX_RECORDED) && (how & ADX_WATCHED) && ADX_TRACED) {
        ad_rev x = adx_numbered(e.v, e.id);
        ad_rev told = adx_traced(ADREV_OP_detach, x.v, x, 0, x, 0, x, 0);
        y.id = adx_word(&told);
        y.kind |= ADX_RECORDED;
    }
    return y;
}

ADX_API void adx_call_acc_rev(unsigned how, ad_rev *s, adx_number e)
{
    adx_number sum = { .v = s->v, .id = adx_word(s), .kind = ADX_RECORDED };
    bool last = (e.kind & ADX_RECORDED)
             && e.id == adx_compound(adx_now.job, adx_now.seq);
    *s = adx_call_rec(last ? adx_call_add(how, e, sum)
                           : adx_call_add(how, sum, e));
}

ADX_API void adx_call_acc_fwd(unsigned how, ad_fwd *s, adx_number e)
{
    adx_number sum = { .v = s->v, .d = s->d, .kind = ADX_DUAL };
    *s = adx_call_dual(how, adx_call_add(how, sum, e));
}

ADX_SELDOM_END
