#pragma once

/* === function/matrices ======================================================
 * A Jacobian or a Hessian as one program. Behind one copy of the values it has
 * the tangents (or adjoints) of all unit vectors, direction by direction.
 * Whatever is zero in a direction gets no nodes. What several directions have
 * in common is computed once, since every node is looked up (function/unique).
 *
 * The second half of this room divides an adjoint into a primal and a pullback,
 * and joins pullbacks of several steps of a loop.
 *
 *   needs   tape/memory function/program function/unique function/emit
 *           function/copy function/tangents function/adjoints
 *   offers  adx_clear_derived adx_tangent_nodes adx_matrix_outputs
 *           adx_make_jacobian adx_make_hessian adx_make_primal
 *           adx_make_pullback ADX_UNROLLED adx_make_unrolled
 * ========================================================================== */

ADX_SELDOM_BEGIN

static void adx_clear_derived(adx_making *k)
{
    for (size_t i = 0; i < k->from->numbers; i++)
        k->derived[i] = ADX_NOWHERE;
}

// Writes the tangents of all nodes. The nodes themselves have been copied.
static void adx_tangent_nodes(adx_making *k)
{
    const adx_program *p = k->from;
    for (size_t i = 0; k->to->status == ADREV_OK && i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used))
            adx_tangent_node(k, &p->node[i]);
}

// The derivatives that a matrix consists of, as numbers of the new program.
typedef struct adx_derivatives {
    size_t results, moving;     // of the first outputs, by the first inputs
    uint32_t *entry;            // [results*moving] ADX_NOWHERE: zero
    bool values;                // the first outputs are the values
} adx_derivatives;

// Copies the program that is to be derived.
static void adx_begin_matrix(adx_making *k, const adx_derivatives *d)
{
    adx_copy_nodes(k);
    for (size_t i = 0; d->values && i < d->results; i++)
        if (k->to->status == ADREV_OK)
            adx_new_output(k->to, k->same[k->from->output[i]]);
}

// Makes a matrix column by column: a forward sweep for each input, whose
// tangent is 1.
static ad_status adx_make_columns(adx_program *q, const adx_program *p,
                                  const adx_derivatives *d)
{
    size_t moving = d->moving;
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    adx_begin_matrix(&k, d);
    for (size_t j = 0; j < moving && q->status == ADREV_OK; j++) {
        adx_clear_derived(&k);
        k.derived[j] = adx_fixed(q, 1);
        adx_tangent_nodes(&k);
        for (size_t i = 0; i < d->results && q->status == ADREV_OK; i++)
            d->entry[i * moving + j] = k.derived[p->output[i]];
    }
    adx_end_making(&k);
    return q->status;
}

// Makes a matrix row by row: a reverse sweep for each result, whose adjoint is
// 1.
static ad_status adx_make_rows(adx_program *q, const adx_program *p,
                               const adx_derivatives *d)
{
    size_t moving = d->moving;
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    bool *moved = adx_find_moved(p, 0, moving);
    if (moved == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    adx_begin_matrix(&k, d);
    for (size_t r = 0; q->status == ADREV_OK && r < d->results; r++) {
        adx_clear_derived(&k);
        k.derived[p->output[r]] = adx_fixed(q, 1);
        adx_adjoint_nodes(&k, moved);
        for (size_t j = 0; j < moving; j++)
            d->entry[r * moving + j] = k.derived[j];
    }
    adx_drop(p->memory, moved);
    adx_end_making(&k);
    return q->status;
}

// Makes n numbers of a matrix outputs of q. Where there is no number, the
// output is zero.
static void adx_matrix_outputs(adx_program *q, size_t n, const uint32_t entry[])
{
    for (size_t i = 0; i < n && q->status == ADREV_OK; i++)
        adx_new_output(q, adx_or_zero(q, entry[i]));
}

// Makes the program of a Jacobian. Its outputs are those of p, if values are
// asked for, and then the Jacobian. It is made by rows or by columns, whichever
// are fewer.
static ad_status adx_make_jacobian(adx_program *q, const adx_program *p,
                                   bool values)
{
    size_t n = adx_variables_of(p);
    size_t m = p->outputs;
    uint32_t *entry = (uint32_t *)adx_take(p->memory, m * n, sizeof *entry);
    const adx_derivatives d = { m, n, entry, values };
    adx_begin_program(q, p->memory, false);
    if (entry == NULL)
        return ADREV_ENOMEM;
    ad_status status = m <= n ? adx_make_rows(q, p, &d)
                              : adx_make_columns(q, p, &d);
    if (status == ADREV_OK)
        adx_matrix_outputs(q, m * n, entry);
    adx_drop(p->memory, entry);
    return q->status;
}

// Makes the program of a Hessian. Its inputs are those of p, and weights of the
// outputs of p. Its outputs are the Hessian: the Jacobian of the adjoint, by
// columns. Only the lower triangle is made; the upper one has the same numbers.
static ad_status adx_make_hessian(adx_program *q, const adx_program *p)
{
    adx_program adjoint;
    size_t n = adx_variables_of(p);
    ad_status status = adx_make_adjoint(&adjoint, p, n, false);
    if (adjoint.outputs > n)
        adjoint.outputs = n;            // without the values
    uint32_t *entry = (uint32_t *)adx_take(p->memory, n * n, sizeof *entry);
    adx_begin_program(q, p->memory, false);
    if (entry == NULL)
        status = ADREV_ENOMEM;
    const adx_derivatives d = { n, n, entry, false };
    if (status == ADREV_OK)
        status = adx_make_columns(q, &adjoint, &d);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            entry[i * n + j] = entry[j * n + i];
    if (status == ADREV_OK)
        adx_matrix_outputs(q, n * n, entry);
    adx_drop(p->memory, entry);
    adx_free_program(&adjoint);
    return status == ADREV_OK ? q->status : status;
}

/* --- in two parts -----------------------------------------------------------
 * A loop runs all of its steps forwards and then all of them backwards. So the
 * adjoint of a step is divided into two programs. The primal computes the
 * values, and hands on numbers that took long to compute. The pullback computes
 * the adjoints from these, and computes other values again where it needs them.
 * Both have nodes of the same adjoint, `whole`, in the same order, so the bits
 * are the same.                                                              */

// The division of an adjoint into primal and pullback.
typedef struct adx_primal_split {
    adx_program whole;          // inputs x, weights; outputs dx, y
    bool *weighted;             // numbers that depend on weights
    bool *needed;               // numbers that the pullback needs
    bool *handed;               // numbers that the primal hands on
    size_t n;                   // how many it hands on
} adx_primal_split;

static void adx_end_primal_split(adx_primal_split *k, const ad_allocator *a)
{
    adx_drop(a, k->weighted);
    adx_drop(a, k->needed);
    adx_drop(a, k->handed);
    adx_free_program(&k->whole);
}

// Finds which numbers are handed on, and which the pullback needs, going back
// from the adjoints of the inputs. A needed number is handed on if it costs at
// least `least`, does not depend on weights (only the pullback can know such
// numbers), and fewer than `most` numbers are handed on so far. Otherwise the
// pullback computes it, and so needs its arguments. Returns how many numbers
// are handed on.
static size_t adx_find_handed(adx_primal_split *k, size_t inputs,
                              unsigned least, size_t most)
{
    const adx_program *p = &k->whole;
    size_t n = 0;
    memset(k->needed, false, p->numbers * sizeof *k->needed);
    memset(k->handed, false, p->numbers * sizeof *k->handed);
    for (size_t i = 0; i < inputs; i++)
        k->needed[p->output[i]] = true;
    for (size_t i = p->nodes; i-- > 0;) {
        const adx_node *s = &p->node[i];
        if (s->op == ADX_OP_guard || !adx_is_used(p, s, k->needed))
            continue;
        if (n < most && adx_cost_of(s->op) >= least && !k->weighted[s->r]) {
            k->handed[s->r] = true;
            n++;
        } else
            adx_visit_reads(p, s, adx_set_used, k->needed);
    }
    return n;
}

// Chooses what is handed on: the results of all calls of the math library, if
// there is room; else those of the long calls; if there are no long calls,
// those of as many short ones as there is room for.
static size_t adx_choose_handed(adx_primal_split *k, size_t inputs, size_t most)
{
    size_t n = adx_find_handed(k, inputs, ADX_COST_CALL, SIZE_MAX);
    if (n > most)
        n = adx_find_handed(k, inputs, ADX_COST_LONG, most);
    return n > 0 ? n : adx_find_handed(k, inputs, ADX_COST_CALL, most);
}

// Makes the adjoint that is to be divided, and finds the numbers that depend on
// weights.
static ad_status adx_begin_primal_split(adx_primal_split *k,
                                        const adx_program *p,
                                        const adx_repeated *step)
{
    const ad_allocator *a = p->memory;
    *k = (adx_primal_split){ .weighted = NULL };
    ad_status status = adx_make_adjoint(&k->whole, p, p->inputs,
                                        step->carried > 0);
    if (status != ADREV_OK)
        return status;
    k->weighted = adx_find_moved(&k->whole, p->inputs, p->outputs);
    k->needed = (bool *)adx_take(a, k->whole.numbers, sizeof *k->needed);
    k->handed = (bool *)adx_take(a, k->whole.numbers, sizeof *k->handed);
    if (k->weighted == NULL || k->needed == NULL || k->handed == NULL)
        return ADREV_ENOMEM;
    k->n = adx_choose_handed(k, p->inputs, step->hands_on);
    return ADREV_OK;
}

// Makes the primal. Its inputs are those of p; its outputs are those of p, and
// then what is handed on. Its nodes are those of the adjoint that do not depend
// on weights, and all guards.
static ad_status adx_make_primal(adx_program *q, const adx_program *p,
                                 const adx_repeated *step)
{
    adx_making k;
    adx_primal_split split;
    adx_begin_program(q, p->memory, false);
    adx_new_inputs(q, p->inputs);
    ad_status status = adx_begin_primal_split(&split, p, step);
    const adx_program *whole = &split.whole;
    bool begun = status == ADREV_OK && adx_start_making(&k, whole, q);
    for (uint32_t i = 0; begun && i < p->inputs; i++)
        k.same[i] = i;
    for (size_t i = 0; begun && i < whole->nodes; i++)
        if (!split.weighted[whole->node[i].r]
            && adx_is_used(whole, &whole->node[i], k.used))
            adx_copy_node(&k, &whole->node[i]);
    for (size_t i = 0; begun && i < p->outputs; i++)
        adx_new_output(q, k.same[whole->output[p->inputs + i]]);
    for (size_t i = 0; begun && i < whole->numbers; i++)
        if (split.handed[i])
            adx_new_output(q, k.same[i]);
    if (begun)
        adx_end_making(&k);
    adx_end_primal_split(&split, p->memory);
    return status == ADREV_OK ? q->status : status;
}

// Makes the pullback. Its inputs are those of p, the weights, and what is
// handed on. Its outputs are the adjoints of the inputs of p.
static ad_status adx_make_pullback(adx_program *q, const adx_program *p,
                                   const adx_repeated *step)
{
    adx_making k;
    adx_primal_split split;
    adx_begin_program(q, p->memory, false);
    ad_status status = adx_begin_primal_split(&split, p, step);
    const adx_program *whole = &split.whole;
    bool begun = status == ADREV_OK && adx_begin_making(&k, whole, q, split.n);
    uint32_t at = (uint32_t)(p->inputs + p->outputs);
    for (size_t i = 0; begun && i < whole->numbers; i++)
        if (split.handed[i])
            k.same[i] = at++;
    for (size_t i = 0; begun && i < whole->nodes; i++) {
        const adx_node *s = &whole->node[i];
        if (s->op != ADX_OP_guard && adx_is_used(whole, s, split.needed)
            && !split.handed[s->r])
            adx_copy_node(&k, s);
    }
    for (size_t i = 0; begun && i < p->inputs; i++)
        adx_new_output(q, k.same[whole->output[i]]);
    if (begun)
        adx_end_making(&k);
    adx_end_primal_split(&split, p->memory);
    return status == ADREV_OK ? q->status : status;
}

/* --- several steps of a loop ------------------------------------------------
 * A replay of a small step costs more than the step itself. So the pullbacks of
 * several steps in a row are also made as one program. This is done for loops
 * (adx_repeated) that read their state, the parameters and the number of the
 * step, and nothing else. Forwards nothing would be gained, because there the
 * calls of the math library wait for one another.                            */

enum { ADX_UNROLLED = 4 };         // steps

// Appends the nodes of p to q. in[] has the numbers of q that are the inputs of
// p; out[] is filled with those that are its outputs.
static void adx_paste(adx_program *q, const adx_program *p, const uint32_t in[],
                      uint32_t out[])
{
    adx_making k;
    if (!adx_start_making(&k, p, q))
        return;
    for (size_t i = 0; i < p->inputs; i++)
        k.same[i] = in[i];
    for (size_t i = 0; i < p->nodes; i++)
        adx_copy_node(&k, &p->node[i]);
    for (size_t i = 0; i < p->outputs; i++)
        out[i] = k.same[p->output[i]];
    adx_end_making(&k);
}

// Fills to[] with numbers that follow one another.
static void adx_count_up(uint32_t to[], size_t n, size_t from)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint32_t)(from + i);
}

// Writes the pullback of several steps. `one` is the pullback of one step of p.
// It is pasted once for each step, from the last one back. The adjoints of the
// state that a step computes are the weights of the step before it; the
// adjoints of the parameters are added up. at[] has the numbers of q that are
// the inputs of `one`, then its outputs, then these sums.
static void adx_write_unrolled(adx_program *q, const adx_program *p,
                               const adx_repeated *step, const adx_program *one,
                               uint32_t at[])
{
    size_t handed = one->inputs - p->inputs - step->carried;
    size_t each = step->carried + handed;
    size_t number = ADX_UNROLLED * each + step->parameters;
    size_t given = number + ADX_UNROLLED;
    uint32_t *weight = at + p->inputs;
    uint32_t *out = at + one->inputs;
    uint32_t *sum = out + one->outputs;
    adx_new_inputs(q, given + step->carried + step->parameters);
    adx_count_up(at + step->carried, step->parameters, ADX_UNROLLED * each);
    adx_count_up(weight, step->carried, given);
    adx_count_up(sum, step->parameters, given + step->carried);
    for (size_t s = ADX_UNROLLED; s-- > 0 && q->status == ADREV_OK;) {
        adx_count_up(at, step->carried, s * each);
        at[p->inputs - 1] = (uint32_t)(number + s);
        adx_count_up(weight + step->carried, handed, s * each + step->carried);
        adx_paste(q, one, at, out);
        memcpy(weight, out, step->carried * sizeof *at);
        for (size_t i = 0; i < step->parameters; i++)
            sum[i] = adx_emit2(q, ADREV_OP_add, sum[i], out[step->carried + i]);
    }
    for (size_t i = 0; i < step->carried; i++)
        adx_new_output(q, weight[i]);
    for (size_t i = 0; i < step->parameters; i++)
        adx_new_output(q, sum[i]);
}

// Makes the pullback of ADX_UNROLLED steps. Its inputs are, for each step, the
// state before it and what it handed on; then the parameters, the numbers of
// the steps, the adjoints of the state behind the last step, and the adjoints
// of the parameters so far. Its outputs are the adjoints of the state before
// the first step, and those of the parameters. These are summed in the order in
// which single steps sum them, so the bits are the same unless the compiler
// contracts.
static ad_status adx_make_unrolled(adx_program *q, const adx_program *p,
                                   const adx_repeated *step)
{
    adx_program one;
    adx_begin_program(q, p->memory, false);
    ad_status status = adx_make_pullback(&one, p, step);
    uint32_t *at = (uint32_t *)adx_take(
        p->memory, one.inputs + one.outputs + step->parameters, sizeof *at);
    if (at == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    else if (status == ADREV_OK)
        adx_write_unrolled(q, p, step, &one, at);
    adx_drop(p->memory, at);
    adx_free_program(&one);
    return status == ADREV_OK ? q->status : status;
}

ADX_SELDOM_END
