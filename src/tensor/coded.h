#pragma once

/* === tensor/coded ===========================================================
 * Runs steps of machine code (ad_tensor_compile), in parts where threads share
 * them.
 *
 *   needs   tensor/api tensor/binding tensor/programs tensor/sharing
 *           tensor/parts tensor/run
 *   offers  adx_run_coded
 * ========================================================================== */

typedef struct adx_coded_step {
    const adx_evaluating *e;
    const adx_tensor_value *value;
    adx_tensor_step_fn *fn;
    const adx_step_cut *cut;
} adx_coded_step;

// Calls the function of a step; `which` is the part, or -1 for all of them.
static void adx_call_coded(const adx_coded_step *s, ad_real *sums,
                           int64_t which, int64_t lo, int64_t hi)
{
    const adx_evaluating *e = s->e;
    s->fn(e->base, e->code->table, (const unsigned char *)e->needed,
          (unsigned char *)e->picked, sums, (long)which, (long)lo, (long)hi);
}

// Runs part i of a step: a range of its loop.
static void adx_call_coded_part(size_t i, void *user)
{
    const adx_coded_step *s = (const adx_coded_step *)user;
    const adx_step_cut *c = s->cut;
    uint32_t part = (uint32_t)i;
    adx_call_coded(s, s->e->sums, part,
                  adx_part_from(c->from, c->to, part, c->parts),
                  adx_part_from(c->from, c->to, part + 1, c->parts));
}

// Runs part i of a step that is a sum, into sums of its own.
static void adx_call_coded_sum(size_t i, void *user)
{
    const adx_coded_step *s = (const adx_coded_step *)user;
    adx_call_coded(s, s->e->sums + i * (size_t)s->value->span, (int64_t)i,
                   0, 0);
}

// Computes sums of the parts, and of these the sum, as adx_run_sums does.
static void adx_call_coded_sums(adx_coded_step *s, ad_real *to)
{
    const adx_tensor_value *v = s->value;
    adx_clear_all(v, to);
    if (s->e->shares)
        adx_do_parts(s->cut->parts, adx_call_coded_sum, s);
    for (uint32_t i = 0; i < s->cut->parts; i++) {
        ad_real *sums = s->e->sums + (s->e->shares ? i * (size_t)v->span : 0);
        if (!s->e->shares)
            adx_call_coded(s, sums, i, 0, 0);
        adx_add_sums(v, 0, sums + v->first, to);
    }
}

// Runs a step's function, in parts if threads can share them.
static void adx_run_coded(const adx_evaluating *e, ad_tensor_part part,
                         uint32_t value)
{
    adx_coded_step s = { e, adx_tensor_value_at(e->t, value),
                         e->code->step[part][value],
                         &e->code->cut[part][value] };
    if (s.cut->clears)
        adx_clear_all(s.value, e->base[value]);
    if (s.cut->way == ADX_STEP_SUMS)
        adx_call_coded_sums(&s, e->base[value]);
    else if (s.cut->way != ADX_STEP_WHOLE && adx_shares_parts())
        adx_do_parts(s.cut->parts, adx_call_coded_part, &s);
    else
        adx_call_coded(&s, e->sums, -1, s.cut->from, s.cut->to);
}
