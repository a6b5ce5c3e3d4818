#pragma once

/* === function/copy ==========================================================
 * The tangent and the adjoint of a program are programs again. This room has
 * what both need: it copies nodes of the old program into the new one, and
 * finds partials there. (Griewank & Walther, chapter 3.)
 *
 *   needs   tape/memory core/cells function/program function/unique
 *           function/emit
 *   offers  adx_making adx_set_used adx_is_used adx_find_used adx_end_making
 *           adx_start_making adx_begin_making adx_take_range adx_own_range
 *           adx_set_range adx_copied_list adx_copy_node adx_partial_in
 *           adx_argument adx_accumulate_each adx_accumulate adx_or_zero
 *           adx_argument_range adx_partials_in adx_cosines_in adx_copy_nodes
 * ========================================================================== */

ADX_SELDOM_BEGIN

// A program that is being made from another one. For each number of the old
// program it says whether the number is needed, and which numbers of the new
// program stand for it and for its derivative.
typedef struct adx_making {
    const adx_program *from;
    adx_program *to;
    bool *used;                 // [old number] a result or a guard needs it
    uint32_t *same;             // [old number] the same number in the new one
    uint32_t *derived;          // [old number] its tangent or adjoint;
                                // ADX_NOWHERE: zero
    uint32_t guards;            // guards of the new program, which are counted
                                // before those of the old one
    bool series;                // derivatives are coefficients of order 2
} adx_making;

static void adx_set_used(void *user, uint32_t number)
{
    ((bool *)user)[number] = true;
}

// Whether a node is needed. Every guard is needed, and a node with many results
// if one of them is.
static inline bool adx_is_used(const adx_program *p, const adx_node *s,
                               const bool used[])
{
    if (s->op != ADX_OP_many)
        return used[s->r] || s->op == ADX_OP_guard;
    size_t n = adx_results_of(p, s);
    for (size_t i = 0; i < n; i++)
        if (used[s->r + i])
            return true;
    return false;
}

// Finds the numbers that a guard, or a node with many results, reads, and all
// results of that node. False: the node is not needed.
ADX_NOINLINE static bool adx_use_reads(const adx_program *p, const adx_node *s,
                                       bool used[])
{
    if (!adx_is_used(p, s, used))
        return false;
    if (s->op == ADX_OP_many)
        memset(&used[s->r], true, adx_results_of(p, s) * sizeof *used);
    adx_visit_reads(p, s, adx_set_used, used);
    return true;
}

// Finds the numbers on which results or guards depend; in a plain program, all
// numbers. One walk over the nodes, from the last to the first, is enough: when
// it comes to a node, it has passed all nodes that read the result of that
// node. Returns the number of nodes that are needed.
static size_t adx_find_used(const adx_program *p, bool used[])
{
    size_t live = 0;
    memset(used, p->plain, p->numbers * sizeof *used);
    for (size_t i = 0; i < p->outputs; i++)
        used[p->output[i]] = true;
    for (size_t i = p->nodes; i-- > 0;) {
        const adx_node *s = &p->node[i];
        if (s->op >= ADX_OP_guard) {
            live += adx_use_reads(p, s, used);
        } else if (used[s->r]) {
            live++;
            used[s->a] = used[s->b] = used[s->c] = true;
        }
    }
    return live;
}

static void adx_end_making(adx_making *k)
{
    const ad_allocator *a = k->from->memory;
    adx_drop(a, k->used);
    adx_drop(a, k->same);
    adx_drop(a, k->derived);
}

// Begins to add the needed nodes of `from` to a program that has inputs, and
// perhaps nodes, already. Needed constants are copied here; the caller says
// which numbers the old inputs become. False: no memory, and there is nothing
// to end.
static bool adx_start_making(adx_making *k, const adx_program *from,
                             adx_program *to)
{
    const ad_allocator *a = from->memory;
    size_t n = from->numbers;
    memset(k, 0, sizeof *k);
    k->from = from;
    k->to = to;
    k->used = (bool *)adx_take(a, n, sizeof *k->used);
    k->same = (uint32_t *)adx_take(a, n, sizeof *k->same);
    k->derived = (uint32_t *)adx_take(a, n, sizeof *k->derived);
    if (k->used == NULL || k->same == NULL || k->derived == NULL) {
        adx_spoil(to, ADREV_ENOMEM);
        adx_end_making(k);
        return false;
    }
    adx_find_used(from, k->used);
    for (size_t i = 0; i < n; i++) {
        bool fixed = adx_is_constant_number(from, i) && k->used[i];
        k->same[i] = fixed ? adx_fixed_anew(to, *adx_constant_of(from, i)) : 0;
        k->derived[i] = ADX_NOWHERE;
    }
    return true;
}

// Begins a new program, whose inputs are those of the old one and then some
// more.
static bool adx_begin_making(adx_making *k, const adx_program *from,
                             adx_program *to, size_t more_inputs)
{
    adx_begin_program(to, from->memory, false);
    adx_new_inputs(to, from->inputs + more_inputs);
    if (!adx_start_making(k, from, to))
        return false;
    for (size_t i = 0; i < from->inputs; i++)
        k->same[i] = (uint32_t)i;
    return true;
}

/* --- copies -------------------------------------------------------------- */

// Finds an old range in the new program. to[] has the new number of each old
// one; NULL: their derivatives are meant, and a number without one has the
// derivative zero. False: none has a derivative, or the program has failed.
static bool adx_take_range(adx_making *k, const uint32_t to[], size_t rows,
                           size_t cols, const adx_numbers *old,
                           adx_numbers *out)
{
    adx_program *p = k->to;
    size_t n = rows * cols;
    uint32_t *list = (uint32_t *)adx_take(p->memory, n, sizeof *list);
    bool any = to != NULL;
    *out = adx_single(0);
    if (list == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return false;
    }
    const uint32_t *map = to == NULL ? k->derived : to;
    for (size_t i = 0; i < n; i++) {
        list[i] = map[adx_in_range(old, i / cols, i % cols)];
        any = any || list[i] != ADX_NOWHERE;
    }
    for (size_t i = 0; i < n && any; i++)
        if (list[i] == ADX_NOWHERE)
            list[i] = adx_fixed(p, 0);
    if (any)
        *out = adx_numbers_of(p, list, rows, cols);
    adx_drop(p->memory, list);
    return any && p->status == ADREV_OK;
}

// Returns the results of an array node as a range of the old program.
static adx_numbers adx_own_range(const adx_node *s, const adx_many *k)
{
    return (adx_numbers){ s->r, (int32_t)k->n, 1 };
}

// Says that the numbers of the old range `at` became those of the new range
// `from`: the opposite of adx_take_range.
static void adx_set_range(uint32_t to[], const adx_numbers *at, size_t rows,
                          size_t cols, adx_numbers from)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            to[adx_in_range(at, i, j)] = adx_in_range(&from, i, j);
}

// Copies the list of a node, in numbers of the new program, with room for some
// more.
static uint32_t *adx_copied_list(adx_making *k, const adx_many *old,
                                 size_t more)
{
    size_t n = adx_listed(old);
    uint32_t *list = (uint32_t *)adx_take(k->to->memory, n + more,
                                          sizeof *list);
    for (size_t i = 0; list != NULL && i < n; i++)
        list[i] = k->same[old->list[i]];
    if (list == NULL)
        adx_spoil(k->to, ADREV_ENOMEM);
    return list;
}

// A gather needs no node if its numbers have become evenly spaced.
static void adx_copy_gather(adx_making *k, const adx_node *s,
                            const adx_many *old)
{
    uint32_t *list = adx_copied_list(k, old, 0);
    if (list == NULL)
        return;
    adx_numbers at = { s->r, 0, 1 };
    adx_set_range(k->same, &at, 1, old->n,
                  adx_numbers_of(k->to, list, 1, old->n));
    adx_drop(k->to->memory, list);
}

// Copies a node with many results: its arguments become ranges of the new
// program, or its list a list of new numbers.
static void adx_copy_many(adx_making *k, const adx_node *s,
                          const adx_many *old)
{
    adx_many many = *old;
    if (old->kind == ADX_MANY_gather) {
        adx_copy_gather(k, s, old);
        return;
    }
    for (int i = 0; i < 3; i++) {
        size_t rows;
        size_t cols;
        adx_extent(old, i, &rows, &cols);
        if (rows > 0)
            adx_take_range(k, k->same, rows, cols, &old->arg[i], &many.arg[i]);
    }
    uint32_t first = old->kind == ADX_MANY_external
        ? adx_emit_external(k->to, old, old->op, adx_copied_list(k, old, 0))
        : adx_append_many(k->to, &many);
    for (size_t i = 0; i < adx_many_results(old); i++)
        k->same[s->r + i] = first + (uint32_t)i;
}

// Adds to the new program a node that computes what an old one does. No node is
// added if the new program has one like it, or if an identity gives the result.
static void adx_copy_node(adx_making *k, const adx_node *s)
{
    const uint32_t *same = k->same;
    if (k->to->status != ADREV_OK)
        return;
    if (s->op == ADX_OP_guard)
        adx_emit_guard(k->to, same[s->a], same[s->b], s->c + k->guards);
    else if (s->op == ADX_OP_many)
        adx_copy_many(k, s, adx_many_of(k->from, s));
    else
        k->same[s->r] = adx_emit(k->to, s->op, same[s->a], same[s->b],
                                 same[s->c]);
}

// Returns partial i of a node as a number of the new program.
static uint32_t adx_partial_in(adx_making *k, const adx_node *s, int i)
{
    const adx_numbers arg[3] = { adx_single(k->same[s->a]),
                               adx_single(k->same[s->b]),
                               adx_single(k->same[s->c]) };
    return adx_partial_of(k->to, 1, s->op, i, arg,
                          adx_single(k->same[s->r])).base;
}

static uint32_t adx_argument(const adx_node *s, int i)
{
    return i == 0 ? s->a : i == 1 ? s->b : s->c;
}

// Returns sum + d x, one term of the chain rule, for n numbers each. *any says
// whether there is a sum before, and then whether there is one now. A partial d
// of 0 adds nothing; a partial of -1, or one that is itself a negation,
// subtracts.
static adx_numbers adx_accumulate_each(adx_program *p, size_t n, bool *any,
                                       adx_numbers sum, adx_numbers d,
                                       adx_numbers x)
{
    if (adx_is_single(&d) && (adx_is(p, d.base, 0)
                             || adx_is(p, d.base, -ADX_K(0.0))))
        return sum;
    bool first = !*any;
    *any = true;
    if (adx_is_single(&d) && adx_is(p, d.base, -1))
        return first ? adx_emit_each2(p, n, ADREV_OP_neg, x, x)
                     : adx_emit_each2(p, n, ADREV_OP_sub, sum, x);
    uint32_t op = ADREV_OP_add;
    const adx_node *minus = first || !adx_is_single(&d) ? NULL
                          : adx_made_by(p, d.base, ADREV_OP_neg);
    if (minus != NULL) {        // d = -e: sum - e x
        op = ADREV_OP_sub;
        d = adx_single(minus->a);
    }
    adx_numbers term = adx_emit_each2(p, n, ADX_OP_chain, d, x);
    return first ? term : adx_emit_each2(p, n, op, sum, term);
}

// Returns sum + d x for single numbers. A sum without terms is ADX_NOWHERE.
static uint32_t adx_accumulate(adx_program *p, uint32_t sum, uint32_t d,
                               uint32_t x)
{
    bool any = sum != ADX_NOWHERE;
    uint32_t r = adx_accumulate_each(p, 1, &any, adx_single(sum), adx_single(d),
                                     adx_single(x)).base;
    return any ? r : ADX_NOWHERE;
}

static uint32_t adx_or_zero(adx_program *p, uint32_t x)
{
    return x == ADX_NOWHERE ? adx_fixed(p, 0) : x;
}

// Returns argument i of an array node as a range of the new program.
static adx_numbers adx_argument_range(adx_making *k, const adx_many *s, int i)
{
    size_t rows;
    size_t cols;
    adx_numbers r = adx_single(0);
    adx_extent(s, i, &rows, &cols);
    if (rows > 0)
        adx_take_range(k, k->same, rows, cols, &s->arg[i], &r);
    return r;
}

// Returns partial i of the operations of an array node, a range of e->n
// numbers.
static adx_numbers adx_partials_in(adx_making *k, const adx_node *s,
                                   const adx_many *e, int i)
{
    const adx_numbers arg[3] = { adx_argument_range(k, e, 0),
                               adx_argument_range(k, e, 1),
                               adx_argument_range(k, e, 2) };
    const adx_numbers own = adx_own_range(s, e);
    adx_numbers v;
    adx_take_range(k, k->same, 1, e->n, &own, &v);
    return adx_partial_of(k->to, e->n, e->op, i, arg, v);
}

// Returns the partials of a Euclidean length v with respect to its operands x:
// x/v.
static adx_numbers adx_cosines_in(adx_making *k, const adx_node *s,
                                  const adx_many *e)
{
    return adx_emit_each2(k->to, e->k, ADX_OP_cosine,
                          adx_argument_range(k, e, 0),
                          adx_single(k->same[s->r]));
}

static void adx_copy_nodes(adx_making *k)
{
    const adx_program *p = k->from;
    for (size_t i = 0; k->to->status == ADREV_OK && i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used))
            adx_copy_node(k, &p->node[i]);
}

ADX_SELDOM_END
