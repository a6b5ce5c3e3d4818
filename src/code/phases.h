#pragma once

/* === code/phases ============================================================
 * The nodes of a block of points, cut into phases. A loop with a call of the
 * math library is no loop of vectors: so calls are in phases with odd numbers,
 * and what is before, between and behind them in those with even ones. For
 * ADREV_LANES_MOST points at a time each phase is a loop of its own, and hands
 * numbers on in short arrays. Calls come as early as they can, and everything
 * else as late as it can, so that little is handed on. (Trapezoidal rule,
 * bench/assemble, compiled: J 38 instead of 76 us, H 38 instead of 70.)
 *
 *   needs   tape/memory function/program function/copy code/layout
 *           code/statements code/repeats
 *   offers  adx_phases adx_end_phases adx_find_phases
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_PHASE_MOST 64       // numbers that are handed on, 256 bytes each;
                                // with more there is one phase

typedef struct adx_phases {
    const adx_writing *k;
    uint32_t *of;               // [nodes]
    uint32_t *last_of;          // [numbers] the last phase in which it may be
                                // made
    uint32_t last;              // the phase of the results
} adx_phases;

static void adx_end_phases(adx_phases *f)
{
    adx_drop(f->k->p->memory, f->of);
    adx_drop(f->k->p->memory, f->last_of);
}

// Whether an operation calls a function, or may call one.
static bool adx_is_call(uint32_t op)
{
    return (adx_attributes_of(op) & (ADX_COST | ADX_MAY_CALL)) != 0;
}

// A node as its text has it.
static adx_node adx_text_node(const adx_writing *k, size_t i)
{
    adx_node s = k->p->node[i];
    (void)adx_take_signs(k, &s);
    return s;
}

// Gives each node the first phase in which it can be.
static void adx_find_early(adx_phases *f)
{
    const adx_program *p = f->k->p;
    for (size_t i = 0; i < p->nodes; i++) {
        if (!adx_is_used(p, &p->node[i], f->k->used))
            continue;
        const adx_node s = adx_text_node(f->k, i);
        uint32_t phase = 0;
        for (int a = 0; a < adx_varying(&s); a++) {
            uint32_t from = p->from[adx_read_by(&s, a)];
            if (from < ADX_FROM_INPUT && phase < f->of[from])
                phase = f->of[from];
        }
        phase += phase & 1;     // behind a call
        f->of[i] = phase + adx_is_call(s.op);
        if (f->of[i] > f->last)
            f->last = f->of[i];
    }
    f->last += f->last & 1;
}

// Puts what is no call into the phase in which it is first read.
static void adx_find_late(adx_phases *f)
{
    const adx_program *p = f->k->p;
    for (size_t x = 0; x < p->numbers; x++)
        f->last_of[x] = f->last;
    for (size_t i = p->nodes; i-- > 0;) {
        if (!adx_is_used(p, &p->node[i], f->k->used))
            continue;
        const adx_node s = adx_text_node(f->k, i);
        if (!adx_is_call(s.op))
            f->of[i] = f->last_of[s.r];
        uint32_t before = f->of[i] & ~(uint32_t)1;
        for (int a = 0; a < adx_varying(&s); a++) {
            uint32_t *last = &f->last_of[adx_read_by(&s, a)];
            *last = *last < before ? *last : before;
        }
    }
}

// Hands x on if it is made in another phase than the one that reads it.
static void adx_hand_on(adx_phases *f, adx_writing *k, uint32_t x,
                        uint32_t phase)
{
    uint32_t from = k->p->from[x];
    if (from >= ADX_FROM_INPUT || f->of[from] == phase || k->stored[x])
        return;
    k->stored[x] = true;
    k->place[x] = (uint32_t)k->places++;
}

// Makes one phase of all.
static void adx_join_phases(adx_phases *f, adx_writing *k)
{
    memset(f->of, 0, k->p->nodes * sizeof *f->of);
    memset(k->stored, 0, k->p->numbers * sizeof *k->stored);
    f->last = 0;
    k->places = 0;
}

// Cuts the program of a block into phases. Afterwards numbers that are handed
// on are stored, in k->places arrays. false: no memory.
static bool adx_find_phases(adx_phases *f, adx_writing *k)
{
    const adx_program *p = k->p;
    *f = (adx_phases){ .k = k };
    f->of = (uint32_t *)adx_take(p->memory, p->nodes, sizeof *f->of);
    f->last_of = (uint32_t *)adx_take(p->memory, p->numbers,
                                      sizeof *f->last_of);
    if (f->of == NULL || f->last_of == NULL)
        return false;
    adx_find_early(f);
    adx_find_late(f);
    k->places = 0;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node s = adx_text_node(k, i);
        for (int a = 0; adx_is_used(p, &p->node[i], k->used)
                        && a < adx_varying(&s); a++)
            adx_hand_on(f, k, adx_read_by(&s, a), f->of[i]);
    }
    for (size_t i = 0; i < p->outputs; i++)
        adx_hand_on(f, k, p->output[i], f->last);
    if (k->places > ADX_PHASE_MOST)
        adx_join_phases(f, k);
    return true;
}

ADX_SELDOM_END
