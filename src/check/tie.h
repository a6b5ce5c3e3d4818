#pragma once

/* === check/tie ==============================================================
 * Whether two numbers that are equal are so at all points nearby, too. The
 * difference of the two is swept backwards, and only as far as a derivative is
 * left: the sums of the chain rule that are not yet handed on stand in a short
 * list, ordered by id. Of copies nothing is left at the beginning; of a maximum
 * and the number that it is, at its statement. Whatever is not followed counts
 * as many inputs.
 *
 *   needs   number/recording tape/layout tape/hooks tape/walk
 *           check/differences
 * ========================================================================== */

ADX_SELDOM_BEGIN

enum { ADX_TIE_ROOM = 32, ADX_TIE_MANY = 2 };

#define ADX_TIE_STEPS 1000000   // entries that are gone through, at most

// A sum of the chain rule, and that of the absolute values of its terms.
typedef struct adx_tied {
    uint32_t id;
    ad_real a;
    ad_real size;
} adx_tied;

// The lowest id first.
typedef struct adx_tie {
    adx_tied of[ADX_TIE_ROOM];
    size_t n;
    int inputs;                 // that have a derivative; 2: or more
} adx_tie;

// Adds a to the adjoint of a value.
static void adx_tie_add(adx_tie *tie, uint32_t id, ad_real a)
{
    size_t at = tie->n;
    while (at > 0 && tie->of[at - 1].id > id)
        at--;
    if (id == 0 || a == 0)
        return;
    if (at > 0 && tie->of[at - 1].id == id) {
        tie->of[at - 1].a += a;
        tie->of[at - 1].size += adm_fabs(a);
    } else if (tie->n == ADX_TIE_ROOM) {
        tie->inputs = ADX_TIE_MANY;
    } else {
        for (size_t i = tie->n++; i > at; i--)
            tie->of[i] = tie->of[i - 1];
        tie->of[at] = (adx_tied){ id, a, adm_fabs(a) };
    }
}

// Drops what has the highest ids, as long as it is 0 but for rounding.
static void adx_tie_trim(adx_tie *tie)
{
    for (; tie->n > 0; tie->n--) {
        const adx_tied *last = &tie->of[tie->n - 1];
        if (!(last->size - last->size == 0
              && adm_fabs(last->a) <= 16 * ADX_EPSILON * last->size))
            return;
    }
}

// Takes the highest id, which is that of an input. `lone`: no input stands for
// numbers of another recording, or of a function that is being recorded, whose
// operations leave no statements.
static void adx_tie_input(adx_tie *tie, bool lone)
{
    tie->n--;
    tie->inputs += lone ? 1 : ADX_TIE_MANY;
}

// Takes the highest id, which is that of the value of a statement.
static void adx_tie_statement(adx_tie *tie, unsigned header,
                              const adx_operand *op, size_t n)
{
    const adx_tied y = tie->of[--tie->n];
    if (header & ADX_SUM)
        adx_tie_add(tie, y.id - 1, y.a);
    for (size_t i = 0; i < n; i++)
        adx_tie_add(tie, op[i].id, adx_absorb(op[i].d, y.a));
}

// One entry, whose values are those above `before`.
static void adx_tie_entry(adx_tie *tie, unsigned header, const adx_operand *op,
                          size_t n, size_t before, bool lone)
{
    for (; tie->n > 0 && tie->of[tie->n - 1].id > before; adx_tie_trim(tie))
        if (header == ADX_INPUTS)
            adx_tie_input(tie, lone);
        else if (header & ADX_OTHER) {
            tie->inputs = ADX_TIE_MANY;
            return;
        } else
            adx_tie_statement(tie, header, op, n);
}

// Goes back until nothing is left, or only inputs at the start.
static void adx_tie_walk(const ad_tape *t, adx_tie *tie, bool lone)
{
    const adx_context *now = adx_live(t);
    size_t seq = now->seq;
    size_t steps = 0;
    adx_tie_trim(tie);
    for (const adx_block *b = t->block; b != NULL; b = b->prev) {
        const adx_operand *op = b == t->block ? now->op : b->op;
        const uint16_t *head = b == t->block ? now->head : b->head;
        for (; head != adx_top_of_block(b); head++) {
            if (tie->n == 0 || tie->inputs >= ADX_TIE_MANY
                || tie->of[tie->n - 1].id <= t->lead)
                return;
            if (*head == ADX_LEAP || ++steps > ADX_TIE_STEPS) {
                tie->inputs = ADX_TIE_MANY;
                return;
            }
            size_t n = adx_operands(*head, op - 1);
            op -= n;
            seq -= adx_values(*head, op);
            adx_tie_entry(tie, *head, op, n, seq, lone);
        }
    }
}

ADX_API int ad_tie(ad_rev x, ad_rev y)
{
    const ad_tape *t = adx_now.tape;
    adx_tie tie = { .n = 0 };
    if (x.job == y.job && (x.job == 0 || x.seq == y.seq))
        return 0;
    if (t == NULL || t->status != ADREV_OK
        || (x.job != 0 && !adx_member(t, x))
        || (y.job != 0 && !adx_member(t, y)))
        return ADX_TIE_MANY;
    bool lone = adx_annex_of(t) == NULL;
#if !ADREV_FIXED
    lone = lone && t->hooks.foreign == NULL && !adx_is_unswept(t);
#endif
    adx_tie_add(&tie, x.job == 0 ? 0 : x.seq, 1);
    adx_tie_add(&tie, y.job == 0 ? 0 : y.seq, -1);
    adx_tie_walk(t, &tie, lone);
    for (; tie.n > 0 && tie.inputs < ADX_TIE_MANY; adx_tie_trim(&tie))
        adx_tie_input(&tie, lone);
    return tie.inputs < ADX_TIE_MANY ? tie.inputs : ADX_TIE_MANY;
}

#undef ADX_TIE_STEPS

ADX_SELDOM_END
