#pragma once

/* === function/compare =======================================================
 * A recording does not see what f does with plain numbers. So f is run again at
 * a nearby point where all guards pass, and the recorded program is replayed
 * there. If the results differ by more than rounding, they depend on something
 * that the recording froze.
 *
 *   needs   number/recording tape/memory sweep/session array/linear
 *           check/differences function/api function/program function/places
 *           function/run function/functions
 *   offers  adx_compare_nearby
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Runs f at x, with constants, on a tape that is freed. The values are in
// lent->y.
static ad_status adx_run_plain(const ad_fn *fn, ad_vector_fn *f, void *ctx,
                               const ad_real x[], adx_lent *lent)
{
    ad_tape *t = ad_tape_new_with(&fn->memory);
    if (t == NULL)
        return ADREV_ENOMEM;
    ad_tape *before = ad_use(t);
    for (size_t i = 0; i < fn->n; i++)
        lent->x[i] = adx_passive(x[i]);
    adx_unset(fn->m, lent->y);
    f(lent->x, lent->y, ctx);
    ad_use(before);
    ad_status status = t->status;
    ad_tape_free(t);
    if (status == ADREV_OK && !(adx_is_closed_off(fn->m, lent->y)
                                && adx_all_set(fn->m, lent->y)))
        status = ADREV_EFROZEN;         // the recorded run did not fail so
    return status;
}

static ad_real adx_larger_of(ad_real a, ad_real b)
{
    return adx_most(adm_fabs(a), adm_fabs(b));
}

// Whether two values differ by at most this part of the larger one.
static bool adx_alike(ad_real a, ad_real b, ad_real part)
{
    return a == b || (a != a && b != b)
        || adm_fabs(a - b) <= part * adx_larger_of(a, b);
}

ADX_API ad_status ad_fn_check(ad_fn *fn, ad_vector_fn *f, void *ctx,
                              const ad_real x[])
{
    adx_lent lent;
    if (fn == NULL || f == NULL || (fn->n > 0 && x == NULL))
        return ADREV_ESHAPE;
    ad_real *y = (ad_real *)adx_take(&fn->memory, fn->m, sizeof *y);
    if (y == NULL || !adx_lend_arrays(&fn->memory, fn->n, fn->m, &lent)) {
        adx_drop(&fn->memory, y);
        return ADREV_ENOMEM;
    }
    ad_status status = ad_fn_eval(fn, x, y);
    if (status == ADREV_OK)
        status = adx_run_plain(fn, f, ctx, x, &lent);
    for (size_t i = 0; status == ADREV_OK && i < fn->m; i++)
        if (!adx_alike(lent.y[i].v, y[i], ADX_NARROW ? ADX_K(1e-3)
                                                     : ADX_K(1e-7)))
            status = ADREV_EFROZEN;
    adx_drop(&fn->memory, lent.x);
    adx_drop(&fn->memory, y);
    return status;
}

// A comparison near x. The program is replayed as it is, with a place of its
// own for each number: to make a machine of it (function/places) would take
// longer than recording it did.
typedef struct adx_nearby {
    adx_machine machine;        // its nodes are those of the program
    const adx_program *p;
    const ad_real *x;
    ad_real *near;              // [n] the nearby point
    ad_real *y;                 // [m] f at x, when it was recorded
    ad_real *r;                 // [m] the program replayed nearby
    ad_real *again;             // [m] and at x, perhaps with other rounding
    ad_real *w;                 // numbers of the replay
} adx_nearby;

// Makes a machine of the nodes of the program itself, and writes an end behind
// them. False: no memory.
static bool adx_borrow_nodes(adx_machine *m, adx_program *p)
{
    *m = (adx_machine){
        .memory = p->memory, .many = p->many, .manys = p->manys,
        .output = p->output, .outputs = p->outputs, .inputs = p->inputs,
        .places = p->numbers
    };
    for (size_t i = 0; i < p->manys; i++)
        adx_need_room(m, &p->many[i]);
    if (!adx_make_room_for(p->memory, (void **)&p->node, &p->node_room,
                           p->nodes, sizeof *p->node))
        return false;
    p->node[p->nodes] = (adx_node){ .op = ADX_OP_end };
    m->node = p->node;
    m->nodes = p->nodes;
    return true;
}

// Replays the program at x. False: a guard fails, or a node does.
static bool adx_run_recording(const adx_nearby *c, const ad_real x[],
                              ad_real y[])
{
    const adx_program *p = c->p;
    memcpy(c->w, x, p->inputs * sizeof *x);
    for (size_t i = p->inputs; i < p->numbers; i++)
        if (adx_is_constant_number(p, i))
            c->w[i] = *adx_constant_of(p, (uint32_t)i);
    if (adx_nodes_plain(&c->machine, c->w) != NULL)
        return false;
    for (size_t i = 0; i < p->outputs; i++)
        y[i] = c->w[p->output[i]];
    return true;
}

// Moves each input up or down at random, by this part of its size. An input of
// 0 moves up by `part` itself.
static void adx_move_nearby(const adx_nearby *c, ad_real part)
{
    uint32_t random = 1;
    for (size_t i = 0; i < c->p->inputs; i++) {
        random = random * 1664525u + 1013904223u;
        ad_real by = c->x[i] == 0 ? part : part * c->x[i];
        c->near[i] = c->x[i] + (random >> 31 && c->x[i] != 0 ? -by : by);
    }
}

// Finds a nearby point where all guards pass and all results are finite; large
// moves are tried first. False: none of the points tried is one.
static bool adx_find_nearby(const adx_nearby *c)
{
    static const double part[] = { 0x1p-3, 0x1p-7, 0x1p-13 };
    for (size_t k = 0; k < 3; k++) {
        adx_move_nearby(c, (ad_real)part[k]);
        if (adx_run_recording(c, c->near, c->r)
            && adx_finite_all(c->p->outputs, c->r))
            return true;
    }
    return false;
}

// Whether any result of f at the nearby point differs from that of the program
// by more than rounding. Three things count as rounding: the error of a few
// operations; a small part of the change of the result from x to there; and 64
// times the difference at x itself, where f and the program agree except for
// rounding.
static bool adx_differs(const adx_nearby *c, const adx_lent *lent)
{
    const ad_real few = 1024 * ADX_EPSILON;
    bool replayed = false;
    for (size_t i = 0; i < c->p->outputs; i++) {
        ad_real v = lent->y[i].v;
        ad_real change = adx_larger_of(v - c->y[i], c->r[i] - c->y[i]);
        ad_real off = adm_fabs(v - c->r[i]);
        if (adx_alike(v, c->r[i], few) || off <= ADX_TIGHT * change)
            continue;
        if (!replayed && !adx_run_recording(c, c->x, c->again))
            return false;
        replayed = true;
        if (!(off <= 64 * adm_fabs(c->again[i] - c->y[i])))
            return true;
    }
    return false;
}

// Compares f with the program at a nearby point. lent->y has the results of f
// at x, from the recording. If guards fail at all points that are tried,
// nothing is compared.
static ad_status adx_compare_nearby(ad_fn *fn, ad_vector_fn *f, void *ctx,
                                    const ad_real x[], adx_lent *lent)
{
    adx_nearby c = { .p = &fn->program, .x = x };
    if (!adx_borrow_nodes(&c.machine, &fn->program))
        return ADREV_ENOMEM;
    ad_real *all = (ad_real *)adx_take(&fn->memory, fn->n + 3 * fn->m
                                       + adx_machine_room(&c.machine, 1),
                                       sizeof *all);
    if (all == NULL)
        return ADREV_ENOMEM;
    c.near = all;
    c.y = c.near + fn->n;
    c.r = c.y + fn->m;
    c.again = c.r + fn->m;
    c.w = c.again + fn->m;
    for (size_t i = 0; i < fn->m; i++)
        c.y[i] = lent->y[i].v;
    ad_status status = ADREV_OK;
    if (adx_find_nearby(&c)) {
        status = adx_run_plain(fn, f, ctx, c.near, lent);
        if (status == ADREV_OK && adx_differs(&c, lent))
            status = ADREV_EFROZEN;
    }
    adx_drop(&fn->memory, all);
    return status;
}

ADX_SELDOM_END
