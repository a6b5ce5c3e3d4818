#pragma once

/* === function/taylor ========================================================
 * Sums, products and quotients have recurrences for their Taylor coefficients,
 * which take d steps for coefficient d. For any other operation v of x, v' = p
 * x' with the partial p, whose own coefficients are found in the same way
 * (Griewank & Walther, chapter 13). So the program is extended by the partials
 * of its nodes, then by the partials of these, and so on. The depth is the
 * order; at that depth only the value of a partial is needed. Orders 1 and 2
 * need none of this: their coefficients are the tangent, and half of its
 * tangent (function/tangents).
 *
 *   needs   tape/memory core/cells function/api function/program function/emit
 *           function/copy function/adjoints function/run function/functions
 *           function/evaluation
 *   offers  adx_free_series
 * ========================================================================== */

// Where a level ends, in nodes and in numbers.
typedef struct adx_series_end {
    size_t nodes;
    size_t numbers;
} adx_series_end;

// A program with its partials. Functions keep them in a list.
struct adx_series {
    adx_series *next;
    adx_program p;              // nodes of one result only
    size_t depth;               // levels of partials
    bool complete;              // further levels would be empty
    adx_series_end *level;           // [depth + 1]
    size_t level_room;
    uint32_t (*partial)[3];     // [node], of those that have no recurrence;
                                // ADX_NOWHERE: zero
    size_t partials, partial_room;
    adx_spare spare;
};

static void adx_free_series(adx_series *t)
{
    while (t != NULL) {
        adx_series *next = t->next;
        const ad_allocator *a = t->p.memory;
        adx_drop_spare(&t->spare, a);
        adx_drop(a, t->level);
        adx_drop(a, t->partial);
        adx_free_program(&t->p);
        adx_drop(a, t);
        t = next;
    }
}

// Coefficient k > 0 of what has a recurrence, from those up to k of x, y and z,
// and those before k of v.
#define ADX_RECURRENCES(DO)                                                 \
    DO(ADREV_OP_add, x[k] + y[k])                                           \
    DO(ADREV_OP_sub, x[k] - y[k])                                           \
    DO(ADREV_OP_neg, -x[k])                                                 \
    DO(ADREV_OP_sqr, adx_convolve(x, x, 0, k))                              \
    DO(ADREV_OP_mul, adx_convolve(x, y, 0, k))                              \
    DO(ADX_OP_chain, adx_convolve(x, y, 0, k))                              \
    DO(ADREV_OP_fma, adx_convolve(x, y, 0, k) + z[k])                       \
    DO(ADREV_OP_div, (x[k] - adx_convolve(y, v, 1, k)) / *y)                \
    DO(ADREV_OP_detach, 0)

// Whether no partials are needed for the coefficients of an operation.
static bool adx_has_recurrence(uint32_t op)
{
    switch (op) {
#define ADX_DO(code, value) case code:
    ADX_RECURRENCES(ADX_DO)
#undef ADX_DO
    case ADX_OP_guard: return true;
    default:           return false;
    }
}

// Makes the partials of node i.
static void adx_find_partials(adx_series *t, size_t i)
{
    adx_program *p = &t->p;
    adx_node s = p->node[i];
    bool done = adx_has_recurrence(s.op);
    const adx_numbers arg[3] = { adx_single(s.a), adx_single(s.b),
                                 adx_single(s.c) };
    for (int k = 0; k < 3; k++) {
        bool none = done || k >= adx_row_of(s.op)->arity
                 || strcmp(adx_row_of(s.op)->partial[k], "0") == 0;
        uint32_t d = none ? ADX_NOWHERE
                   : adx_partial_of(p, 1, s.op, k, arg, adx_single(s.r)).base;
        if (p->status == ADREV_OK)
            t->partial[i][k] = d;
    }
}

// Notes that a level ends here. False: no memory.
static bool adx_end_level(adx_series *t)
{
    adx_program *p = &t->p;
    if (!adx_make_room_for(p->memory, (void **)&t->level, &t->level_room,
                           t->depth, sizeof *t->level)) {
        adx_spoil(p, ADREV_ENOMEM);
        return false;
    }
    t->level[t->depth] = (adx_series_end){ p->nodes, p->numbers };
    return true;
}

// Extends the program by the partials of its nodes, level by level. The nodes
// that a partial adds come at the end of the program: they are the next level,
// and get partials in the next round. There are `depth` rounds, or fewer if
// they add no more.
static void adx_continue_series(adx_series *t, size_t depth)
{
    adx_program *p = &t->p;
    while (adx_end_level(t) && t->depth < depth && !t->complete) {
        size_t end = p->nodes;
        for (; t->partials < end; t->partials++) {
            if (!adx_make_room_for(p->memory, (void **)&t->partial,
                                   &t->partial_room, t->partials,
                                   sizeof *t->partial))
                adx_spoil(p, ADREV_ENOMEM);
            if (p->status == ADREV_OK)
                adx_find_partials(t, t->partials);
            if (p->status != ADREV_OK)
                return;
        }
        t->depth++;
        t->complete = p->nodes == end;
    }
}

// Makes the series for orders up to `depth`.
static ad_status adx_make_series(adx_series **out, ad_fn *fn, size_t depth)
{
    const ad_allocator *a = &fn->memory;
    adx_series *t = (adx_series *)adx_take(a, 1, sizeof *t);
    if (t == NULL)
        return ADREV_ENOMEM;
    memset(t, 0, sizeof *t);
    ad_status status = adx_make_scalar(&t->p, &fn->program, false);
    t->p.fixed = fn->program.fixed;
    if (status == ADREV_OK)
        adx_continue_series(t, depth);
    status = t->p.status;
    adx_end_program(&t->p);
    *out = t;
    if (status != ADREV_OK)
        adx_free_series(t);
    return status;
}

// Finds a series for an order, which is made once. Those that lack partials for
// it stay in the list, since other threads may use them; each is at least twice
// as deep as those after it, so they are few.
static ad_status adx_series_for(ad_fn *fn, size_t order, adx_series **out)
{
    // acquire: pairs with the release below, which publishes what it points to.
    adx_series *head = atomic_load_explicit(&fn->series, memory_order_acquire);
    adx_series *made;
    size_t depth = 4;
    *out = head;
    if (head != NULL && (head->complete || head->depth >= order))
        return ADREV_OK;
    while (depth < order)
        depth *= 2;
    ad_status status = adx_make_series(&made, fn, depth);
    if (status != ADREV_OK)
        return status;
    do
        made->next = head;
    while (!atomic_compare_exchange_weak_explicit(
        &fn->series, &head, made, memory_order_acq_rel, memory_order_acquire));
    *out = made;
    return ADREV_OK;
}

// The coefficients of all numbers.
typedef struct adx_coefficients {
    const adx_series *series;
    size_t order;
    adx_series_end end;              // nodes and numbers that the order needs
    size_t partials;            // nodes of which it needs partials
    ad_real *c;                 // [number][order + 1]
} adx_coefficients;

// The coefficients of number x.
static ad_real *adx_series_of(const adx_coefficients *t, uint32_t x)
{
    return t->c + x * (t->order + 1);
}

// Returns the part of coefficient k of the product x y that terms `from` and
// later of x contribute.
static ad_real adx_convolve(const ad_real x[], const ad_real y[],
                            size_t from, size_t k)
{
    ad_real sum = 0;
    for (size_t i = from; i <= k; i++)
        sum += adx_absorb(x[i], y[k - i]);
    return sum;
}

// Coefficient k > 0 of a v without recurrence: v' is the sum of p x' over the
// arguments x, and k times the coefficient of v is coefficient k - 1 of v'.
// Nodes of the last level have no partials: their coefficients beyond the first
// are not needed.
static ad_real adx_integrate(const adx_coefficients *t, size_t node, size_t k)
{
    const adx_node *s = &t->series->p.node[node];
    const uint32_t *partial = t->series->partial[node];
    ad_real sum = 0;
    for (int a = 0; a < 3 && node < t->partials; a++) {
        if (partial[a] == ADX_NOWHERE)
            continue;
        const ad_real *d = adx_series_of(t, partial[a]);
        const ad_real *x = adx_series_of(t, adx_argument(s, a));
        for (size_t i = 1; i <= k; i++)
            sum += (ad_real)i * adx_absorb(x[i], d[k - i]);
    }
    return sum / (ad_real)k;
}

// Coefficient k of the result of a node, when all before it are known, and
// those up to k of its arguments.
static ad_real adx_coefficient(const adx_coefficients *t, size_t node,
                               size_t k)
{
    const adx_node *s = &t->series->p.node[node];
    const ad_real *v = adx_series_of(t, s->r);
    const ad_real *x = adx_series_of(t, s->a);
    const ad_real *y = adx_series_of(t, s->b);
    const ad_real *z = adx_series_of(t, s->c);
    if (k == 0)
        return adx_compute(s->op, *x, *y, *z);
    switch (s->op) {
#define ADX_DO(code, value) case code: return value;
    ADX_RECURRENCES(ADX_DO)
#undef ADX_DO
    default: return adx_integrate(t, node, k);
    }
}

// Writes the coefficients of constants and inputs.
static void adx_begin_coefficients(const adx_coefficients *t,
                                   const ad_real x[], const ad_real v[])
{
    const adx_program *p = &t->series->p;
    memset(t->c, 0, t->end.numbers * (t->order + 1) * sizeof *t->c);
    for (uint32_t i = 0; i < t->end.numbers; i++)
        if (adx_is_constant_number(p, i))
            *adx_series_of(t, i) = *adx_constant_of(p, i);
        else if (p->from[i] == ADX_FROM_INPUT) {
            adx_series_of(t, i)[0] = x[i];
            adx_series_of(t, i)[1] = i < adx_variables_of(p) ? v[i] : 0;
        }
}

// All coefficients at x in the direction v: k by k, and for each k node by
// node. Returns the guard that is not passed, or NULL.
static const adx_node *adx_run_series(const adx_coefficients *t,
                                      const ad_real x[], const ad_real v[])
{
    const adx_program *p = &t->series->p;
    adx_begin_coefficients(t, x, v);
    for (size_t k = 0; k <= t->order; k++)
        for (size_t i = 0; i < t->end.nodes; i++) {
            const adx_node *s = &p->node[i];
            if (s->op != ADX_OP_guard)
                adx_series_of(t, s->r)[k] = adx_coefficient(t, i, k);
            else if (k == 0 && !adx_same_value(*adx_series_of(t, s->a),
                                               *adx_series_of(t, s->b)))
                return s;
        }
    return NULL;
}

// Writes the coefficients of the results.
static void adx_tell_coefficients(const adx_coefficients *t, ad_real y[])
{
    const adx_program *p = &t->series->p;
    for (size_t i = 0; i < p->outputs; i++)
        for (size_t k = 0; k <= t->order; k++)
            y[k * p->outputs + i] = adx_series_of(t, p->output[i])[k];
}

// Coefficients of any order above 0.
static ad_status adx_taylor_by_series(ad_fn *fn, const ad_real x[],
                                      const ad_real v[], size_t order,
                                      ad_real y[])
{
    adx_series *s;
    ad_status status = adx_series_for(fn, order, &s);
    if (status != ADREV_OK)
        return status;
    size_t depth = s->depth < order ? s->depth : order;
    adx_coefficients t = { s, order, s->level[depth],
                           order > s->depth ? s->partials
                                            : s->level[depth - 1].nodes,
                           NULL };
    adx_workspace *work = t.end.numbers > SIZE_MAX / 16 / (order + 1) ? NULL
        : adx_take_workspace(&s->spare, &fn->memory,
                             t.end.numbers * (order + 1));
    if (work == NULL)
        return ADREV_ENOMEM;
    t.c = work->w;
    const adx_node *stopped = adx_run_series(&t, x, v);
    if (stopped == NULL)
        adx_tell_coefficients(&t, y);
    else
        status = adx_flip_guard(fn, stopped->c);
    adx_give_workspace(&s->spare, &fn->memory, work);
    return status;
}

#define ADX_ORDER_MOST 100000

// Orders 1 and 2 are programs of tangents, which are replayed.
ADX_API ad_status ad_fn_taylor(ad_fn *fn, const ad_real x[],
                               const ad_real v[], size_t order, ad_real y[])
{
    if (fn == NULL || y == NULL || ((x == NULL || v == NULL) && fn->n > 0)
        || order > ADX_ORDER_MOST)
        return ADREV_ESHAPE;
    if (order == 0)
        return ad_fn_eval(fn, x, y);
    if (order > 2)
        return adx_taylor_by_series(fn, x, v, order, y);
    const adx_given given[] = { { x, fn->n }, { v, fn->variables } };
    const adx_wanted wanted[] = { { 0, (order + 1) * fn->m, y } };
    return adx_evaluate_fn(fn, order == 1 ? ADX_KIND_taylor1
                                          : ADX_KIND_taylor2,
                           2, given, 1, wanted);
}
