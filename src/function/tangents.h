#pragma once

/* === function/tangents ======================================================
 * The tangent of a program (jvp) is a forward sweep that is written down
 * instead of done. Each node is copied, and nodes for its tangent are added:
 * the sum of its partials, each times the tangent of its argument. A number
 * that does not depend on a moving input has no tangent (ADX_NOWHERE), and
 * nothing is added for it. Array nodes are treated the same way, range by
 * range: their tangents are array nodes.
 *
 *   needs   core/cells function/program function/unique function/emit
 *           function/copy
 *   offers  adx_tangent_node adx_make_tangent adx_make_along
 * ========================================================================== */

ADX_SELDOM_BEGIN

// The tangent of an operation on arrays: the sum of the partials, each times
// the tangent of its argument.
static void adx_tangent_each(adx_making *k, const adx_node *s,
                             const adx_many *e)
{
    const adx_numbers own = adx_own_range(s, e);
    adx_numbers sum = adx_single(0);
    bool any = false;
    for (int i = 0; i < adx_row_of(e->op)->arity; i++) {
        adx_numbers x;
        if (adx_take_range(k, NULL, 1, e->n, &e->arg[i], &x))
            sum = adx_accumulate_each(k->to, e->n, &any, sum,
                                      adx_partials_in(k, s, e, i), x);
    }
    if (any)
        adx_set_range(k->derived, &own, 1, e->n, sum);
}

// C = A B. The tangent of C is the tangent of A times B, plus A times the
// tangent of B; a factor without a tangent adds nothing.
static void adx_tangent_product(adx_making *k, const adx_node *s,
                                const adx_many *e)
{
    const adx_numbers own = adx_own_range(s, e);
    adx_numbers a = adx_argument_range(k, e, 0);
    adx_numbers b = adx_argument_range(k, e, 1);
    adx_numbers x;
    adx_numbers y = adx_single(0);
    bool left = adx_take_range(k, NULL, e->m, e->k, &e->arg[0], &x);
    if (left)
        y = adx_emit_product(k->to, ADX_OP_chain, e->m, e->k, e->n, x, b);
    bool right = adx_take_range(k, NULL, e->k, e->n, &e->arg[1], &x);
    if (right) {
        adx_numbers other = adx_emit_product(k->to, ADX_OP_chain, e->m, e->k,
                                           e->n, a, x);
        size_t results = adx_many_results(e);
        if (left) {             // else there is nothing to add
            other = adx_emit_each2(k->to, results, ADREV_OP_add, y, other);
            other.rs = other.cs * (int32_t)e->n;
        }
        y = other;
    }
    if (left || right)
        adx_set_range(k->derived, &own, e->m, e->n, y);
}

static void adx_tangent_gather(adx_making *k, const adx_node *s,
                               const adx_many *e)
{
    for (size_t i = 0; i < e->n; i++)
        k->derived[s->r + i] = k->derived[e->list[i]];
}

static void adx_tangent_sum(adx_making *k, const adx_node *s,
                            const adx_many *e)
{
    adx_numbers x;
    if (adx_take_range(k, NULL, 1, e->k, &e->arg[0], &x))
        k->derived[s->r] = adx_emit_fold(k->to, ADX_MANY_sum, e->k, x);
}

// A largest number is treated as a constant: the result of a logsumexp or
// softmax that is scaled by it does not depend on it.
static void adx_tangent_most(adx_making *k, const adx_node *s,
                             const adx_many *e)
{
    (void)k; (void)s; (void)e;
}

static void adx_tangent_norm(adx_making *k, const adx_node *s,
                             const adx_many *e)
{
    adx_numbers x;
    if (!adx_take_range(k, NULL, 1, e->k, &e->arg[0], &x))
        return;
    x.rs = x.cs;                // a column
    k->derived[s->r] = adx_emit_product(k->to, ADX_OP_chain, 1, e->k, 1,
                                        adx_cosines_in(k, s, e), x).base;
}

static bool adx_any_derived(const adx_making *k, const uint32_t list[],
                            size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (k->derived[list[i]] != ADX_NOWHERE)
            return true;
    return false;
}

// An external node and its tangent are one node, which replaces the copy,
// because a rule computes both at once. A rule has no second tangent.
static void adx_tangent_external(adx_making *k, const adx_node *s,
                                 const adx_many *e)
{
    size_t n = adx_listed(e);
    size_t results = adx_many_results(e);
    if (!adx_any_derived(k, e->list, n))
        return;
    if (e->op & ADX_EXTERNAL_moving) {
        adx_spoil(k->to, ADREV_EEXTERNAL);
        return;
    }
    uint32_t *list = adx_copied_list(k, e, n);
    for (size_t i = 0; list != NULL && i < n; i++)
        list[n + i] = adx_or_zero(k->to, k->derived[e->list[i]]);
    uint32_t first = adx_emit_external(k->to, e, e->op | ADX_EXTERNAL_moving,
                                       list);
    for (size_t i = 0; i < results; i++) {
        k->same[s->r + i] = first + (uint32_t)i;
        k->derived[s->r + i] = first + (uint32_t)(results + i);
    }
}

// Writes the tangent of an array node, by the rule of its kind.
static void adx_tangent_many(adx_making *k, const adx_node *s,
                             const adx_many *e)
{
#define ADX_CASE(kind, ...)                                                 \
    case ADX_MANY_##kind:                                                   \
        adx_tangent_##kind(k, s, e);                                        \
        break;
    switch (e->kind) {
    ADX_MANY_KINDS(ADX_CASE)
    case ADX_MANY_COUNT:
        break;
    }
#undef ADX_CASE
}

// The tangent of v = x / y is (x' - v y') / y. Its own tangent, by the same
// rule, shares a product with it: coefficients of order 2 take 8 nodes, and by
// partials 18. A chain of divisions waits longer for it, so tangents alone are
// sums over partials.
static bool adx_tangent_quotient(adx_making *k, const adx_node *s)
{
    adx_program *p = k->to;
    uint32_t x = k->derived[s->a];
    uint32_t y = k->derived[s->b];
    if (!k->series || y == ADX_NOWHERE
        || (s->op != ADREV_OP_div && s->op != ADX_OP_ratio))
        return false;
    y = adx_emit2(p, ADX_OP_chain, k->same[s->r], y);
    x = x == ADX_NOWHERE ? adx_emit2(p, ADREV_OP_neg, y, y)
                         : adx_emit2(p, ADREV_OP_sub, x, y);
    k->derived[s->r] = adx_emit2(p, ADX_OP_ratio, x, k->same[s->b]);
    return true;
}

// Writes the tangent of a node. The node itself has been copied.
static void adx_tangent_node(adx_making *k, const adx_node *s)
{
    uint32_t sum = ADX_NOWHERE;
    const adx_many *many = adx_many_of(k->from, s);
    if (k->to->status != ADREV_OK || s->op == ADX_OP_guard)
        return;
    if (many != NULL) {
        adx_tangent_many(k, s, many);
        return;
    }
    if (adx_tangent_quotient(k, s))
        return;
    for (int i = 0; i < adx_row_of(s->op)->arity; i++) {
        uint32_t x = k->derived[adx_argument(s, i)];
        if (x != ADX_NOWHERE)
            sum = adx_accumulate(k->to, sum, adx_partial_in(k, s, i), x);
    }
    k->derived[s->r] = sum;
}

// Inputs: those of p, and tangents of the first `moving` of them; these are the
// inputs from `first` on, of which p may have some already. Outputs: the
// tangents of p's, and then p's.
static ad_status adx_make_tangent_along(adx_program *q, const adx_program *p,
                                        size_t moving, size_t first,
                                        bool series)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, first + moving - p->inputs))
        return q->status;
    k.series = series;
    for (size_t i = 0; i < moving; i++)
        k.derived[i] = (uint32_t)(first + i);
    for (size_t i = 0; i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k.used)) {
            adx_copy_node(&k, &p->node[i]);
            adx_tangent_node(&k, &p->node[i]);
        }
    for (size_t i = 0; i < p->outputs; i++)
        adx_new_output(q, adx_or_zero(q, k.derived[p->output[i]]));
    for (size_t i = 0; i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_end_making(&k);
    return q->status;
}

static ad_status adx_make_tangent(adx_program *q, const adx_program *p,
                                  size_t moving)
{
    return adx_make_tangent_along(q, p, moving, p->inputs, false);
}

// Makes the program of the Taylor coefficients up to order 1 or 2. Inputs: as
// adx_make_tangent. Outputs: all coefficients of t^0, then those of t^1, and so
// on. Those of t^2 are half of the tangent of the tangent in the same
// direction, which itself does not move.
static ad_status adx_make_along(adx_program *q, const adx_program *p,
                                size_t moving, bool twice)
{
    size_t m = p->outputs;
    if (!twice) {
        adx_make_tangent(q, p, moving);
    } else {
        adx_program once;
        adx_begin_program(q, p->memory, false);
        if (adx_make_tangent_along(&once, p, moving, p->inputs, true)
            == ADREV_OK)
            adx_make_tangent_along(q, &once, moving, p->inputs, true);
        else
            adx_spoil(q, once.status);
        adx_free_program(&once);
    }
    // The outputs are, of order 1: dy, y; of order 2: ddy, dy, dy, y.
    for (size_t i = 0; q->status == ADREV_OK && i < m; i++) {
        uint32_t first = q->output[i];
        q->output[i] = q->output[(twice ? 3 : 1) * m + i];
        q->output[(twice ? 2 : 1) * m + i]
            = twice ? adx_emit2(q, ADREV_OP_mul, adx_fixed(q, ADX_K(0.5)),
                                first)
                    : first;
    }
    q->outputs = (twice ? 3 : 2) * m;
    return q->status;
}

ADX_SELDOM_END
