#pragma once

/* === function/adjoints ======================================================
 * The adjoint of a program (vjp) is a reverse sweep that is written down
 * instead of done. First the nodes of the program are copied. Then the nodes
 * are visited from the last to the first, and each adds its partial times its
 * adjoint to the adjoint of each of its arguments. derived[x] is the number of
 * the new program that is the adjoint of x so far; each addition makes a new
 * number. Where nothing has been added yet (ADX_NOWHERE) the adjoint is zero,
 * and the node adds nothing. Nothing is added to the adjoints of numbers that
 * do not depend on any input either. Array nodes do the same range by range:
 * their adjoints are array nodes, too.
 *
 * So each node costs a product and a sum for each argument, and its partials:
 * the new program is as long as the old one, times a constant. (Griewank &
 * Walther, chapter 3.)
 *
 * The last part of this room splits array nodes into nodes of one result each,
 * for sparsity and Taylor series.
 *
 *   needs   tape/memory core/cells function/program function/unique
 *           function/emit function/copy
 *   offers  adx_find_moved adx_adjoint_part adx_adjoint_nodes adx_make_adjoint
 *           adx_make_copy adx_make_scalar
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Whether any number that a node reads has moved, found out by
// adx_see_movement.
typedef struct adx_movement {
    bool *moved;
    bool any;
} adx_movement;

static void adx_see_movement(void *user, uint32_t number)
{
    adx_movement *m = (adx_movement *)user;
    m->any = m->any || m->moved[number];
}

// Returns for each number whether it depends on any of the `moving` inputs from
// `first` on: only such numbers need an adjoint. NULL: no memory.
static bool *adx_find_moved(const adx_program *p, size_t first, size_t moving)
{
    bool *moved = (bool *)adx_take(p->memory, p->numbers, sizeof *moved);
    if (moved == NULL)
        return NULL;
    memset(moved, 0, p->numbers * sizeof *moved);
    memset(moved + first, true, moving * sizeof *moved);
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        adx_movement m = { moved, false };
        adx_visit_reads(p, s, adx_see_movement, &m);
        memset(&moved[s->r], m.any && s->op != ADX_OP_guard,
               adx_results_of(p, s) * sizeof *moved);
    }
    return moved;
}

// Whether any number of a range is in moved[].
static bool adx_any_moved(const adx_numbers *x, size_t rows, size_t cols,
                          const bool moved[])
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            if (moved[adx_in_range(x, i, j)])
                return true;
    return false;
}

// Adds y to the adjoint of number x.
static void adx_add_one(adx_making *k, uint32_t x, uint32_t y,
                        const bool moved[])
{
    uint32_t *sum = &k->derived[x];
    if (moved[x])
        *sum = *sum == ADX_NOWHERE
             ? y : adx_emit2(k->to, ADREV_OP_add, *sum, y);
}

// Adds the vector y to the adjoints of the vector x. If x is one number n
// times, its adjoint gets the sum of y. If all numbers of x have an adjoint
// already, one array node does the addition. Else the numbers are added one by
// one, so that an adjoint that gets its first term needs no addition.
static void adx_add_vector(adx_making *k, size_t n, const adx_numbers *x,
                           adx_numbers y, const bool moved[])
{
    adx_numbers sum;
    bool all = n > 1 && !adx_is_single(x);
    for (size_t i = 0; i < n && all; i++)
        all = moved[adx_in_range(x, 0, i)]
           && k->derived[adx_in_range(x, 0, i)] != ADX_NOWHERE;
    if (adx_is_single(x) && n > 1)
        adx_add_one(k, x->base, adx_emit_fold(k->to, ADX_MANY_sum, n, y),
                    moved);
    else if (all && adx_take_range(k, NULL, 1, n, x, &sum))
        adx_set_range(k->derived, x, 1, n,
                      adx_emit_each2(k->to, n, ADREV_OP_add, sum, y));
    else
        for (size_t i = 0; i < n; i++)
            adx_add_one(k, adx_in_range(x, 0, i), adx_in_range(&y, 0, i),
                        moved);
}

static adx_numbers adx_transposed(adx_numbers r)
{
    return (adx_numbers){ r.base, r.cs, r.rs };
}

// Adds the matrix y to the adjoints of the matrix x, row by row. A matrix of
// one column is treated as a vector.
static void adx_add_matrix(adx_making *k, size_t rows, size_t cols,
                           const adx_numbers *x, adx_numbers y,
                           const bool moved[])
{
    if (k->to->status != ADREV_OK)
        return;
    if (cols == 1 && rows > 1) {
        const adx_numbers column = adx_transposed(*x);
        adx_add_matrix(k, 1, rows, &column, adx_transposed(y), moved);
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        const adx_numbers to = { adx_in_range(x, i, 0), 0, x->cs };
        const adx_numbers from = { adx_in_range(&y, i, 0), 0, y.cs };
        adx_add_vector(k, cols, &to, from, moved);
    }
}

// Finds the adjoints of the results of an array node, as one range. False: no
// result has an adjoint, so the node adds nothing.
static bool adx_result_adjoints(adx_making *k, const adx_node *s,
                                const adx_many *e, adx_numbers *y)
{
    const adx_numbers own = adx_own_range(s, e);
    size_t rows = adx_facts_of(e->kind)->m ? e->m : 1;
    return adx_take_range(k, NULL, rows, adx_many_results(e) / rows, &own, y);
}

// Adds y times the partials to the adjoint of each argument. `any` stays false
// if the partials are 0.
static void adx_adjoint_each(adx_making *k, const adx_node *s,
                             const adx_many *e, const bool moved[])
{
    adx_numbers y;
    if (!adx_result_adjoints(k, s, e, &y))
        return;
    for (int i = 0; i < adx_row_of(e->op)->arity; i++) {
        if (!adx_any_moved(&e->arg[i], 1, e->n, moved))
            continue;
        bool any = false;
        adx_numbers d = adx_partials_in(k, s, e, i);
        adx_numbers x = adx_accumulate_each(k->to, e->n, &any, y, d, y);
        if (any)
            adx_add_matrix(k, 1, e->n, &e->arg[i], x, moved);
    }
}

static void adx_adjoint_sum(adx_making *k, const adx_node *s,
                            const adx_many *e, const bool moved[])
{
    adx_numbers y;
    if (adx_result_adjoints(k, s, e, &y))
        adx_add_matrix(k, 1, e->k, &e->arg[0], adx_single(y.base), moved);
}

// A largest number is treated as a constant: the result of a logsumexp or
// softmax that is scaled by it does not depend on it.
static void adx_adjoint_most(adx_making *k, const adx_node *s,
                             const adx_many *e, const bool moved[])
{
    (void)k; (void)s; (void)e; (void)moved;
}

static void adx_adjoint_norm(adx_making *k, const adx_node *s,
                             const adx_many *e, const bool moved[])
{
    adx_numbers y;
    if (adx_result_adjoints(k, s, e, &y))
        adx_add_matrix(k, 1, e->k, &e->arg[0],
                       adx_emit_each2(k->to, e->k, ADX_OP_chain,
                                      adx_cosines_in(k, s, e), y), moved);
}

static void adx_adjoint_gather(adx_making *k, const adx_node *s,
                               const adx_many *e, const bool moved[])
{
    adx_numbers y;
    if (!adx_result_adjoints(k, s, e, &y))
        return;
    for (size_t i = 0; i < e->n; i++)
        adx_add_one(k, e->list[i], adx_in_range(&y, 0, i), moved);
}

// C = A B. The adjoints, with a prime for transposes: Ab += Cb B', Bb += A' Cb.
static void adx_adjoint_product(adx_making *k, const adx_node *s,
                                const adx_many *e, const bool moved[])
{
    adx_numbers y;
    if (!adx_result_adjoints(k, s, e, &y))
        return;
    adx_numbers a = adx_argument_range(k, e, 0);
    adx_numbers b = adx_argument_range(k, e, 1);
    if (adx_any_moved(&e->arg[0], e->m, e->k, moved))
        adx_add_matrix(k, e->m, e->k, &e->arg[0],
                       adx_emit_product(k->to, ADX_OP_chain, e->m, e->n, e->k,
                                        y, adx_transposed(b)), moved);
    if (adx_any_moved(&e->arg[1], e->k, e->n, moved))
        adx_add_matrix(k, e->k, e->n, &e->arg[1],
                       adx_emit_product(k->to, ADX_OP_chain, e->k, e->m, e->n,
                                        adx_transposed(a), y), moved);
}

// One node computes the adjoints of all operands, by a call of the rule. A rule
// has no adjoint of its adjoint or of its tangent.
static void adx_adjoint_external(adx_making *k, const adx_node *s,
                                 const adx_many *e, const bool moved[])
{
    bool any = false;
    for (size_t i = 0; i < adx_many_results(e); i++)
        any = any || k->derived[s->r + i] != ADX_NOWHERE;
    if (!any || !moved[s->r])
        return;
    if (e->op != ADX_EXTERNAL_value) {
        adx_spoil(k->to, ADREV_EEXTERNAL);
        return;
    }
    uint32_t *list = adx_copied_list(k, e, e->m);
    for (size_t i = 0; list != NULL && i < e->m; i++)
        list[e->n + i] = adx_or_zero(k->to, k->derived[s->r + i]);
    uint32_t first = adx_emit_external(k->to, e, ADX_EXTERNAL_adjoint, list);
    for (size_t i = 0; i < e->n && k->to->status == ADREV_OK; i++)
        adx_add_one(k, e->list[i], first + (uint32_t)i, moved);
}

// Writes the adjoint of an array node, by the rule of its kind.
static void adx_adjoint_many(adx_making *k, const adx_node *s,
                             const adx_many *e, const bool moved[])
{
#define ADX_CASE(kind, ...)                                                 \
    case ADX_MANY_##kind:                                                   \
        adx_adjoint_##kind(k, s, e, moved);                                 \
        break;
    switch (e->kind) {
    ADX_MANY_KINDS(ADX_CASE)
    case ADX_MANY_COUNT:
        break;
    }
#undef ADX_CASE
}

// Writes the adjoint of a node. A guard has none.
static void adx_adjoint_node(adx_making *k, const adx_node *s,
                             const bool moved[])
{
    const adx_many *many = adx_many_of(k->from, s);
    if (s->op == ADX_OP_guard)
        return;
    if (many != NULL) {
        adx_adjoint_many(k, s, many, moved);
        return;
    }
    uint32_t y = k->derived[s->r];
    int arity = y == ADX_NOWHERE ? 0 : adx_row_of(s->op)->arity;
    for (int i = 0; i < arity; i++) {
        uint32_t x = adx_argument(s, i);
        if (moved[x])
            k->derived[x] = adx_accumulate(k->to, k->derived[x],
                                           adx_partial_in(k, s, i), y);
    }
}

// Writes the adjoints of the nodes from `begin` up to `end`, the last one
// first.
static void adx_adjoint_part(adx_making *k, size_t begin, size_t end,
                             const bool moved[])
{
    const adx_program *p = k->from;
    for (size_t i = end; k->to->status == ADREV_OK && i-- > begin;)
        if (adx_is_used(p, &p->node[i], k->used))
            adx_adjoint_node(k, &p->node[i], moved);
}

static void adx_adjoint_nodes(adx_making *k, const bool moved[])
{
    adx_adjoint_part(k, 0, k->from->nodes, moved);
}

// Finds a bottleneck: the last node such that no node after it, and no output,
// reads a result of the nodes before it. So all that these compute goes through
// the one result of the bottleneck. Returns p->nodes if there is no bottleneck,
// if it is not looked for (array nodes), or if there is no memory.
//
// last[x] is the last node that reads number x, and `most` is the largest of
// these so far. Node i is a bottleneck if `most` is not after i. Guards do not
// count as readers, since they have no adjoints.
static size_t adx_bottleneck_of(const adx_program *p)
{
    size_t neck = p->nodes;
    size_t *last = (size_t *)adx_take(p->memory, p->numbers, sizeof *last);
    if (last == NULL || p->manys > 0) {
        adx_drop(p->memory, last);
        return neck;
    }
    memset(last, 0, p->numbers * sizeof *last);
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        if (s->op != ADX_OP_guard)
            last[s->a] = last[s->b] = last[s->c] = i;
    }
    for (size_t i = 0; i < p->outputs; i++)
        last[p->output[i]] = p->nodes;
    size_t most = 0;
    for (size_t i = 0; i < p->nodes; i++) {
        if (most <= i && p->node[i].op != ADX_OP_guard)
            neck = i;
        if (most < last[p->node[i].r])
            most = last[p->node[i].r];
    }
    adx_drop(p->memory, last);
    return neck;
}

// Writes the adjoints of the nodes before a bottleneck. The adjoints that
// inputs have by now came past the bottleneck, and are put aside. Then the
// adjoint of the bottleneck is replaced by 1. What arrives at the inputs is
// multiplied at the end by its true adjoint, `weight`, and added to what was
// put aside.
static void adx_adjoint_through(adx_making *k, size_t neck, const bool moved[])
{
    const adx_program *p = k->from;
    uint32_t *past = (uint32_t *)adx_take(p->memory, p->inputs, sizeof *past);
    uint32_t *own = &k->derived[p->node[neck].r];
    uint32_t weight = *own;
    if (past == NULL) {
        adx_spoil(k->to, ADREV_ENOMEM);
        return;
    }
    memcpy(past, k->derived, p->inputs * sizeof *past);
    memset(k->derived, 0xff, p->inputs * sizeof *past);     // ADX_NOWHERE
    if (weight != ADX_NOWHERE)
        *own = adx_fixed(k->to, 1);
    adx_adjoint_part(k, 0, neck + 1, moved);
    for (size_t i = 0; i < p->inputs; i++)
        k->derived[i] = k->derived[i] == ADX_NOWHERE ? past[i]
                      : adx_accumulate(k->to, past[i], k->derived[i], weight);
    adx_drop(p->memory, past);
}

// Writes the adjoint program (adx_make_adjoint). The adjoints of outputs begin
// with their weights, which are inputs behind those of p. neck is a bottleneck;
// p->nodes: none is used.
static ad_status adx_write_adjoint(adx_program *q, const adx_program *p,
                                   size_t moving, size_t neck)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, p->outputs))
        return q->status;
    bool *moved = adx_find_moved(p, 0, moving);
    if (moved == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    adx_copy_nodes(&k);
    for (size_t i = 0; q->status == ADREV_OK && i < p->outputs; i++) {
        uint32_t y = p->output[i];
        k.derived[y] = adx_accumulate(q, k.derived[y], adx_fixed(q, 1),
                                      (uint32_t)(p->inputs + i));
    }
    adx_adjoint_part(&k, neck < p->nodes ? neck + 1 : 0, p->nodes, moved);
    if (neck < p->nodes && q->status == ADREV_OK)
        adx_adjoint_through(&k, neck, moved);
    for (size_t i = 0; i < moving; i++)
        adx_new_output(q, adx_or_zero(q, k.derived[i]));
    for (size_t i = 0; i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_drop(p->memory, moved);
    adx_end_making(&k);
    return q->status;
}

// Makes the adjoint program. Its inputs are those of p and weights of the
// outputs of p. Its outputs are the adjoints of the first `moving` inputs, and
// then the outputs of p.
//
// In a loop, the adjoint of a step waits for the adjoint of the step after it.
// If a step has a bottleneck, its adjoint is also written by way of the
// bottleneck: then what comes before that waits only for one product for each
// input. This version is taken if it has no more nodes.
static ad_status adx_make_adjoint(adx_program *q, const adx_program *p,
                                  size_t moving, bool is_step)
{
    size_t neck = is_step ? adx_bottleneck_of(p) : p->nodes;
    ad_status status = adx_write_adjoint(q, p, moving, p->nodes);
    if (status != ADREV_OK || neck == p->nodes)
        return status;
    adx_program through;
    ad_status other = adx_write_adjoint(&through, p, moving, neck);
    bool better = other == ADREV_OK && through.nodes <= q->nodes;
    adx_free_program(better ? q : &through);
    if (better)
        *q = through;
    return ADREV_OK;
}

// Copies the program without the nodes on which no result and no guard depends.
static ad_status adx_make_copy(adx_program *q, const adx_program *p)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    adx_copy_nodes(&k);
    for (size_t i = 0; q->status == ADREV_OK && i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_end_making(&k);
    return q->status;
}

/* --- array nodes taken apart ------------------------------------------------
 * A node with many results is split into nodes with one result each, element by
 * element; a sum becomes one addition after another. `pattern` means that
 * values do not matter, only which numbers depend on which.                  */

// Returns operand l of a vector as a number of the new program.
static uint32_t adx_same_in(const adx_making *k, const adx_many *e, int arg,
                            size_t row, size_t col)
{
    return k->same[adx_in_range(&e->arg[arg], row, col)];
}

static void adx_apart_each(adx_making *k, const adx_node *s,
                           const adx_many *e, bool pattern)
{
    (void)pattern;
    for (size_t i = 0; i < e->n; i++)
        k->same[s->r + i] = adx_emit(k->to, e->op, adx_same_in(k, e, 0, 0, i),
                                     adx_same_in(k, e, 1, 0, i),
                                     adx_same_in(k, e, 2, 0, i));
}

// Combines all of the k operands by one operation.
static void adx_apart_fold(adx_making *k, const adx_node *s,
                           const adx_many *e, uint32_t op)
{
    uint32_t all = adx_same_in(k, e, 0, 0, 0);
    for (size_t l = 1; l < e->k; l++)
        all = adx_emit2(k->to, op, all, adx_same_in(k, e, 0, 0, l));
    k->same[s->r] = all;
}

static void adx_apart_sum(adx_making *k, const adx_node *s,
                          const adx_many *e, bool pattern)
{
    (void)pattern;
    adx_apart_fold(k, s, e, ADREV_OP_add);
}

static void adx_apart_most(adx_making *k, const adx_node *s,
                           const adx_many *e, bool pattern)
{
    (void)pattern;
    adx_apart_fold(k, s, e, ADREV_OP_max);
    k->same[s->r] = adx_emit2(k->to, ADREV_OP_detach, k->same[s->r],
                              k->same[s->r]);
}

// Splits a product of matrices: each result is a sum of products.
static void adx_apart_product(adx_making *k, const adx_node *s,
                              const adx_many *e, bool pattern)
{
    (void)pattern;
    for (size_t i = 0; i < adx_many_results(e); i++) {
        uint32_t sum = ADX_NOWHERE;
        for (size_t l = 0; l < e->k; l++) {
            uint32_t term = adx_emit2(k->to, ADREV_OP_mul,
                                      adx_same_in(k, e, 0, i / e->n, l),
                                      adx_same_in(k, e, 1, l, i % e->n));
            sum = sum == ADX_NOWHERE ? term
                : adx_emit2(k->to, ADREV_OP_add, sum, term);
        }
        k->same[s->r + i] = sum;
    }
}

static void adx_apart_gather(adx_making *k, const adx_node *s,
                             const adx_many *e, bool pattern)
{
    (void)pattern;
    for (size_t i = 0; i < e->n; i++)
        k->same[s->r + i] = k->same[e->list[i]];
}

// Returns the number by which the operands of a Euclidean length are divided,
// so that their squares do not overflow: the largest magnitude, or 1 if that is
// 0, infinite or a NaN. The length does not depend on this number, so it is
// detached and has no derivative.
static uint32_t adx_length_scale(adx_making *k, const adx_many *e)
{
    adx_program *p = k->to;
    uint32_t most = adx_fixed(p, 0);
    uint32_t one = adx_fixed(p, 1);
    for (uint32_t l = 0; l < e->k; l++) {
        uint32_t x = k->same[adx_in_range(&e->arg[0], 0, l)];
        x = adx_emit2(p, ADREV_OP_detach, x, x);
        most = adx_emit2(p, ADREV_OP_max, most,
                         adx_emit2(p, ADREV_OP_abs, x, x));
    }
    uint32_t above = adx_emit2(p, ADREV_OP_gt, most, adx_fixed(p, 0));
    uint32_t below = adx_emit2(p, ADREV_OP_lt, most,
                               adx_fixed(p, ADX_K(INFINITY)));
    uint32_t good = adx_emit2(p, ADX_OP_and, above, below);
    return adx_emit(p, ADREV_OP_select, good, most, one);
}

// Splits a Euclidean length, scaled against overflow as in adx_length.
static void adx_apart_length(adx_making *k, const adx_node *s,
                             const adx_many *e)
{
    adx_program *p = k->to;
    uint32_t scale = adx_length_scale(k, e);
    uint32_t sum = adx_fixed(p, 0);
    for (uint32_t l = 0; l < e->k; l++) {
        uint32_t x = k->same[adx_in_range(&e->arg[0], 0, l)];
        uint32_t part = adx_emit2(p, ADREV_OP_div, x, scale);
        sum = adx_emit2(p, ADREV_OP_add, sum,
                        adx_emit2(p, ADREV_OP_sqr, part, part));
    }
    k->same[s->r] = adx_emit2(p, ADREV_OP_mul, scale,
                              adx_emit2(p, ADREV_OP_sqrt, sum, sum));
}

// Splits a Euclidean length. For a pattern, the root of the sum of squares is
// enough.
static void adx_apart_norm(adx_making *k, const adx_node *s,
                           const adx_many *e, bool pattern)
{
    adx_program *p = k->to;
    uint32_t sum = ADX_NOWHERE;
    for (size_t l = 0; pattern && l < e->k; l++) {
        uint32_t x = adx_same_in(k, e, 0, 0, l);
        uint32_t term = adx_emit2(p, ADREV_OP_mul, x, x);
        sum = l == 0 ? term : adx_emit2(p, ADREV_OP_add, sum, term);
    }
    if (pattern)
        k->same[s->r] = adx_emit2(p, ADREV_OP_sqrt, sum, sum);
    else
        adx_apart_length(k, s, e);
}

// An external node cannot be split into nodes. In a pattern, each of its
// results is replaced by the square of the sum of all operands, which depends
// on every operand and has second derivatives for every pair.
static void adx_apart_external(adx_making *k, const adx_node *s,
                               const adx_many *e, bool pattern)
{
    adx_program *p = k->to;
    if (!pattern) {
        adx_spoil(p, ADREV_EEXTERNAL);
        return;
    }
    uint32_t sum = k->same[e->list[0]];
    for (size_t i = 1; i < adx_listed(e); i++)
        sum = adx_emit2(p, ADREV_OP_add, sum, k->same[e->list[i]]);
    for (size_t i = 0; i < adx_many_results(e); i++)
        k->same[s->r + i] = adx_emit2(p, ADREV_OP_sqr, sum, sum);
}

// Splits an array node, by the rule of its kind.
static void adx_take_apart(adx_making *k, const adx_node *s,
                           const adx_many *e, bool pattern)
{
#define ADX_CASE(kind, ...)                                                 \
    case ADX_MANY_##kind:                                                   \
        adx_apart_##kind(k, s, e, pattern);                                 \
        break;
    switch (e->kind) {
    ADX_MANY_KINDS(ADX_CASE)
    case ADX_MANY_COUNT:
        break;
    }
#undef ADX_CASE
}

// Makes the same program without array nodes and external nodes.
static ad_status adx_make_scalar(adx_program *q, const adx_program *p,
                                 bool pattern)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    for (size_t i = 0; q->status == ADREV_OK && i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        if (!adx_is_used(p, s, k.used))
            continue;
        const adx_many *many = adx_many_of(p, s);
        if (many == NULL)
            adx_copy_node(&k, s);
        else
            adx_take_apart(&k, s, many, pattern);
    }
    for (size_t i = 0; q->status == ADREV_OK && i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_end_making(&k);
    return q->status;
}

ADX_SELDOM_END
