#pragma once

/* === function/taylor ========================================================
 * Taylor coefficients. Sums, products and quotients have recurrences for
 * theirs. Any other operation v of x has v' = p x', where p is its partial,
 * whose own coefficients are found in the same way (Griewank & Walther, chapter
 * 13). So the program is extended by the partials of its nodes, then by the
 * partials of these, and so on. There are as many levels as the order says; of
 * a partial of the last level only the value is needed.
 *
 *   needs   tape/memory core/derived function/api function/operations
 *           function/program function/emit function/formulas function/copy
 *           function/adjoints function/run function/functions
 * ========================================================================== */

// A program with its partials, and the coefficients of all its numbers.
typedef struct adx_series {
    adx_program *p;             // nodes of one result only
    size_t order;
    uint32_t (*partial)[3];     // [node] its partials, if it has no recurrence;
                                // ADX_NOWHERE: zero
    size_t partials, partial_room;
    ad_real *c;                 // [number][order + 1]
} adx_series;

// Whether the coefficients of an operation need no partials.
static bool adx_has_recurrence(uint32_t op)
{
    return op == ADREV_OP_add || op == ADREV_OP_sub || op == ADREV_OP_neg
        || op == ADREV_OP_mul || op == ADREV_OP_div || op == ADREV_OP_sqr
        || op == ADREV_OP_fma || op == ADX_OP_chain || op == ADX_OP_guard
        || op == ADREV_OP_detach;
}

// Extends the program by the partials of its nodes, level by level. The nodes
// that make the partials of one level are appended to the program: they are the
// next level. There are `order` levels.
static void adx_continue_series(adx_series *t)
{
    adx_program *p = t->p;
    size_t level_end = p->nodes;
    for (size_t depth = 0; depth < t->order; depth++, level_end = p->nodes)
        for (size_t i = t->partials; i < level_end; i++) {
            if (!adx_make_room_for(p->memory, (void **)&t->partial,
                                   &t->partial_room, i, sizeof *t->partial))
                adx_spoil(p, ADREV_ENOMEM);
            if (p->status != ADREV_OK)
                return;
            t->partials = i + 1;
            adx_node s = p->node[i];
            bool done = adx_has_recurrence(s.op);
            const adx_numbers arg[3] = { adx_single(s.a), adx_single(s.b),
                                         adx_single(s.c) };
            for (int k = 0; k < 3; k++) {
                bool none = done || k >= adx_row_of(s.op)->arity
                         || strcmp(adx_row_of(s.op)->partial[k], "0") == 0;
                uint32_t d = none ? ADX_NOWHERE
                           : adx_partial_of(p, 1, s.op, k, arg,
                                            adx_single(s.r)).base;
                if (p->status == ADREV_OK)
                    t->partial[i][k] = d;
            }
        }
}

// Returns the coefficients of number x.
static ad_real *adx_series_of(const adx_series *t, uint32_t x)
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

// Returns coefficient k > 0 of a result v without a recurrence. v' is the sum
// of p x' over the arguments x, and k times coefficient k of v is coefficient k
// - 1 of v'. Nodes of the last level have no partials, because their
// coefficients beyond the first are not needed.
static ad_real adx_integrate(const adx_series *t, size_t node, size_t k)
{
    const adx_node *s = &t->p->node[node];
    ad_real sum = 0;
    for (int a = 0; a < 3 && node < t->partials; a++) {
        if (t->partial[node][a] == ADX_NOWHERE)
            continue;
        const ad_real *d = adx_series_of(t, t->partial[node][a]);
        const ad_real *x = adx_series_of(t, adx_argument(s, a));
        for (size_t i = 1; i <= k; i++)
            sum += (ad_real)i * adx_absorb(x[i], d[k - i]);
    }
    return sum / (ad_real)k;
}

// Returns coefficient k of the result of a node. All coefficients before it are
// known, and those of the arguments up to k.
static ad_real adx_coefficient(const adx_series *t, size_t node, size_t k)
{
    const adx_node *s = &t->p->node[node];
    const ad_real *v = adx_series_of(t, s->r);
    const ad_real *x = adx_series_of(t, s->a);
    const ad_real *y = adx_series_of(t, s->b);
    const ad_real *z = adx_series_of(t, s->c);
    if (k == 0)
        return adx_compute(s->op, *x, *y, *z);
    switch (s->op) {
    case ADREV_OP_add: return x[k] + y[k];
    case ADREV_OP_sub: return x[k] - y[k];
    case ADREV_OP_neg: return -x[k];
    case ADREV_OP_sqr: return adx_convolve(x, x, 0, k);
    case ADX_OP_chain:
    case ADREV_OP_mul: return adx_convolve(x, y, 0, k);
    case ADREV_OP_fma: return adx_convolve(x, y, 0, k) + z[k];
    case ADREV_OP_div: return (x[k] - adx_convolve(y, v, 1, k)) / *y;
    case ADREV_OP_detach: return 0;
    default:           return adx_integrate(t, node, k);
    }
}

// Computes all coefficients at x in the direction v: k by k, and for each k
// node by node. Returns the guard that is not passed, or NULL.
static const adx_node *adx_run_series(adx_series *t, const ad_real x[],
                                      const ad_real v[])
{
    const adx_program *p = t->p;
    memset(t->c, 0, p->numbers * (t->order + 1) * sizeof *t->c);
    for (uint32_t i = 0; i < p->numbers; i++)
        if (adx_is_constant_number(p, i))
            *adx_series_of(t, i) = *adx_constant_of(p, i);
        else if (p->from[i] == ADX_FROM_INPUT) {
            adx_series_of(t, i)[0] = x[i];
            if (t->order > 0)
                adx_series_of(t, i)[1] = i < adx_variables_of(p) ? v[i] : 0;
        }
    for (size_t k = 0; k <= t->order; k++)
        for (size_t i = 0; i < p->nodes; i++) {
            const adx_node *s = &p->node[i];
            if (s->op != ADX_OP_guard)
                adx_series_of(t, s->r)[k] = adx_coefficient(t, i, k);
            else if (k == 0 && !adx_same_value(*adx_series_of(t, s->a),
                                               *adx_series_of(t, s->b)))
                return s;
        }
    return NULL;
}

#define ADX_ORDER_MOST 100000

ADX_API ad_status ad_fn_taylor(ad_fn *fn, const ad_real x[],
                               const ad_real v[], size_t order, ad_real y[])
{
    if (fn == NULL || y == NULL || ((x == NULL || v == NULL) && fn->n > 0)
        || order > ADX_ORDER_MOST)
        return ADREV_ESHAPE;
    adx_program p;
    adx_series t = { .p = &p, .order = order };
    const adx_node *stopped = NULL;
    ad_status status = adx_make_scalar(&p, &fn->program, false);
    p.fixed = fn->program.fixed;
    if (status == ADREV_OK)
        adx_continue_series(&t);
    status = p.status;
    t.c = (ad_real *)adx_take(&fn->memory, p.numbers,
                              (order + 1) * sizeof *t.c);
    if (status == ADREV_OK && t.c == NULL)
        status = ADREV_ENOMEM;
    if (status == ADREV_OK) {
        stopped = adx_run_series(&t, x, v);
        status = stopped == NULL ? ADREV_OK : adx_flip_guard(fn, stopped->c);
    }
    for (size_t i = 0; status == ADREV_OK && i < fn->m; i++)
        for (size_t k = 0; k <= order; k++)
            y[k * fn->m + i] = adx_series_of(&t, p.output[i])[k];
    adx_drop(&fn->memory, t.partial);
    adx_drop(&fn->memory, t.c);
    adx_free_program(&p);
    return status;
}
