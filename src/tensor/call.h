#pragma once

/* === tensor/call ============================================================
 * A text as one statement on the tape: an external statement, whose operands
 * are the numbers of its inputs, array by array, each in the order of its
 * indices. Inputs that are constants are no operands. With the statement the
 * values of all inputs are saved; a sweep computes from them what else it
 * needs. A replay has the operands' values of its own point.
 *
 *   needs   tape/layout tape/memory array/linear tensor/api tensor/binding
 *           tensor/programs tensor/sharing tensor/queries
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- arrays, number by number -----------------------------------------------
 * `dense` are numbers one behind the other; `laid` is an array with strides,
 * from the number at its least indices.                                     */

// Numbers that go between an array of the caller's and a row of the
// statement's.
typedef struct adx_carrying {
    const ad_real *from;
    ad_real *to;
    bool add;                   // to what is there
} adx_carrying;

// Carries a number from a dense list to its place.
static void adx_lay_number(void *user, ptrdiff_t at)
{
    adx_carrying *k = (adx_carrying *)user;
    k->to[at] = *k->from++;
}

// Carries a number from its place to a dense list, or adds it there.
static void adx_collect_number(void *user, ptrdiff_t at)
{
    adx_carrying *k = (adx_carrying *)user;
    *k->to = k->add ? *k->to + k->from[at] : k->from[at];
    k->to++;
}

typedef struct adx_naming {
    const ad_rev *from;
    ad_rev *to;
    bool active;                // one of them is no constant
} adx_naming;

// Adds an input's number to the operands; a job other than 0 says that it is no
// constant.
static void adx_take_operand(void *user, ptrdiff_t at)
{
    adx_naming *k = (adx_naming *)user;
    k->active = k->active || k->from[at].job != 0;
    *k->to++ = k->from[at];
}

// Gives the caller one of the statement's results.
static void adx_give_result(void *user, ptrdiff_t at)
{
    adx_naming *k = (adx_naming *)user;
    k->to[at] = *k->from++;
}

/* --- what is saved ------------------------------------------------------- */

// Behind it lie the values of all inputs, dense; then, for each input, whether
// its numbers are operands, and for each result, whether it is wanted.
typedef struct adx_tensor_call {
    ad_tensor *t;
    uint64_t binding;           // of t: its sizes must be the same in a sweep
    size_t values;
    size_t n, m;                // operands, results
} adx_tensor_call;

// Returns the saved values of all inputs, which stand behind the call.
static const ad_real *adx_call_values_of(const adx_tensor_call *c)
{
    return (const ad_real *)(c + 1);
}

// Returns for each input whether it is an operand.
static const bool *adx_call_operands(const adx_tensor_call *c)
{
    return (const bool *)(adx_call_values_of(c) + c->values);
}

// Returns for each result whether it is one of the statement's.
static const bool *adx_call_wanted(const adx_tensor_call *c)
{
    return adx_call_operands(c) + c->t->tree.inputs;
}

// Returns where the values, and then both kinds of flags, are to be written.
static ad_real *adx_call_room(adx_tensor_call *c)
{
    return (ad_real *)(c + 1);
}

static bool *adx_call_flags(adx_tensor_call *c)
{
    return (bool *)(adx_call_room(c) + c->values);
}

/* --- an evaluation ------------------------------------------------------- */

// Arrays of one evaluation, with the strides of the text's arrays.
typedef struct adx_call_arrays {
    const adx_tensor_call *c;
    ad_real **array;            // pointers that are left
    ad_real *at;                // memory that is left
} adx_call_arrays;

// Inputs, or results, of the call.
typedef struct adx_call_side {
    const uint32_t *value;      // [arrays] values of the program
    const bool *chosen;         // [arrays] is it on the tape; NULL: all
    uint32_t n;
} adx_call_side;

// Returns the inputs of a call, of which the operands are chosen.
static adx_call_side adx_inputs_of(const adx_tensor_call *c)
{
    return (adx_call_side){ c->t->program->input, adx_call_operands(c),
                            c->t->tree.inputs };
}

// Returns the results of a call, of which those that the caller wants are
// chosen.
static adx_call_side adx_outs_of(const adx_tensor_call *c)
{
    return (adx_call_side){ c->t->program->out, adx_call_wanted(c),
                            c->t->tree.outs };
}

// Returns how much memory the numbers of all inputs, or of all results, take.
static uint64_t adx_span_of_side(const adx_tensor_call *c,
                                 const adx_call_side *side)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < side->n; i++)
        sum += adx_tensor_value_at(c->t, side->value[i])->span;
    return sum;
}

// Takes room for those arrays of a side that are chosen; the others are NULL,
// which says that they are not wanted.
static ad_real **adx_empty_arrays(adx_call_arrays *r, const adx_call_side *side)
{
    ad_real **to = r->array;
    r->array += side->n;
    for (uint32_t i = 0; i < side->n; i++) {
        const adx_tensor_value *v = adx_tensor_value_at(r->c->t,
                                                        side->value[i]);
        to[i] = side->chosen[i] ? r->at + v->first : NULL;
        r->at += v->span;
    }
    return to;
}

// Takes room for the arrays of a side, and fills them in. An array of zeros is
// NULL.
static ad_real **adx_filled_arrays(adx_call_arrays *r,
                                   const adx_call_side *side,
                                   const ad_real dense[])
{
    ad_real **to = adx_empty_arrays(r, side);
    for (uint32_t i = 0; i < side->n; i++) {
        const adx_tensor_value *v = adx_tensor_value_at(r->c->t,
                                                        side->value[i]);
        adx_carrying k = { dense, to[i], false };
        if (to[i] == NULL)
            continue;
        if (adx_zeros((size_t)v->size, dense))
            to[i] = NULL;
        else
            adx_each_place(v, 0, 0, adx_lay_number, &k);
        dense += v->size;
    }
    return to;
}

// Returns the inputs: operands from x, if that is given, the others as they
// were saved.
static ad_real **adx_input_arrays(adx_call_arrays *r, const ad_real x[])
{
    const adx_call_side side = adx_inputs_of(r->c);
    const ad_real *saved = adx_call_values_of(r->c);
    ad_real **to = r->array;
    r->array += side.n;
    for (uint32_t i = 0; i < side.n; i++) {
        const adx_tensor_value *v = adx_tensor_value_at(r->c->t, side.value[i]);
        bool moved = x != NULL && side.chosen[i];
        to[i] = r->at + v->first;
        adx_carrying k = { moved ? x : saved, to[i], false };
        adx_each_place(v, 0, 0, adx_lay_number, &k);
        r->at += v->span;
        saved += v->size;
        x = moved ? x + v->size : x;
    }
    return to;
}

// Carries the numbers of all arrays that are there to a dense list, or adds
// them to it.
static void adx_collect(const adx_tensor_call *c, const adx_call_side *side,
                        ad_real *const from[], ad_real dense[], bool add)
{
    adx_carrying k = { NULL, dense, add };
    for (uint32_t i = 0; from != NULL && i < side->n; i++)
        if (from[i] != NULL) {
            k.from = from[i];
            adx_each_place(adx_tensor_value_at(c->t, side->value[i]), 0, 0,
                           adx_collect_number, &k);
        }
}

#define ADX_AS_GIVEN(arrays) ((const ad_real *const *)(arrays))

// Computes what is asked for, at the point of the recording or (x) another one;
// add: xb is added to.
static bool adx_run_at_point(adx_call_arrays *r, const ad_external_point *at,
                             bool add)
{
    const adx_tensor_call *c = r->c;
    const adx_call_side in = adx_inputs_of(c);
    const adx_call_side out = adx_outs_of(c);
    adx_tensor_arrays a = { .x = ADX_AS_GIVEN(adx_input_arrays(r, at->x)) };
    if (at->xd != NULL)
        a.v = ADX_AS_GIVEN(adx_filled_arrays(r, &in, at->xd));
    if (at->yb != NULL)
        a.w = ADX_AS_GIVEN(adx_filled_arrays(r, &out, at->yb));
    a.y = at->y == NULL ? NULL : adx_empty_arrays(r, &out);
    a.dy = at->yd == NULL ? NULL : adx_empty_arrays(r, &out);
    a.dx = at->xb == NULL ? NULL : adx_empty_arrays(r, &in);
    a.hv = at->xbd == NULL ? NULL : adx_empty_arrays(r, &in);
    if (adx_evaluate_tensor(c->t, &a) != ADREV_OK)
        return false;
    adx_collect(c, &out, a.y, at->y, false);
    adx_collect(c, &out, a.dy, at->yd, false);
    adx_collect(c, &in, a.dx, at->xb, add);
    adx_collect(c, &in, a.hv, at->xbd, false);
    if (at->ybd == NULL || adx_zeros(c->m, at->ybd))
        return true;
    // the tangents of the adjoints of the results, as adjoints
    const adx_tensor_arrays more = {
        .x = a.x, .w = ADX_AS_GIVEN(adx_filled_arrays(r, &out, at->ybd)),
        .dx = a.hv
    };
    bool ok = adx_evaluate_tensor(c->t, &more) == ADREV_OK;
    if (ok)
        adx_collect(c, &in, a.hv, at->xbd, true);
    return ok;
}

// Evaluates the text of a call at a point: takes memory for the arrays that the
// statement does not have, and runs the program. add: adjoints are added to
// those that are there. False: the text has been bound anew since the call, or
// no memory.
static bool adx_call_at(const adx_tensor_call *c, const ad_external_point *at,
                        bool add)
{
    const ad_tensor *t = c->t;
    if (t->program == NULL || t->binding != c->binding)
        return false;
    const adx_call_side in = adx_inputs_of(c);
    const adx_call_side out = adx_outs_of(c);
    uint64_t room = 4 * (adx_span_of_side(c, &in) + adx_span_of_side(c, &out));
    adx_call_arrays r = { .c = c };
    ad_real **arrays = (ad_real **)adx_take(
        &t->memory, 4 * ((size_t)in.n + out.n), sizeof *arrays);
    ad_real *memory = room > SIZE_MAX ? NULL
        : (ad_real *)adx_take(&t->memory, (size_t)room, sizeof *memory);
    r.array = arrays;
    r.at = memory;
    bool ok = arrays != NULL && memory != NULL && adx_run_at_point(&r, at, add);
    adx_drop(&t->memory, arrays);
    adx_drop(&t->memory, memory);
    return ok;
}

/* --- the rule ------------------------------------------------------------ */

// The statement's reverse rule: adjoints of operands from those of results.
static bool adx_tensor_pullback(const void *saved, size_t m, const ad_real dy[],
                                size_t n, ad_real dx[])
{
    const ad_external_point at = { .n = n, .m = m, .yb = dy, .xb = dx };
    return adx_call_at((const adx_tensor_call *)saved, &at, true);
}

// The statement's forward rule: tangents of results from those of operands.
static bool adx_tensor_pushforward(const void *saved, size_t n,
                                   const ad_real dx[], size_t m, ad_real dy[])
{
    const ad_external_point at = { .n = n, .m = m, .xd = dx, .yd = dy };
    return adx_call_at((const adx_tensor_call *)saved, &at, false);
}

// The statement at another point.
static bool adx_tensor_replay(const void *saved, const ad_external_point *at)
{
    return adx_call_at((const adx_tensor_call *)saved, at, false);
}

static const ad_external_rule adx_tensor_rule = {
    .name = "tensor", .pullback = adx_tensor_pullback,
    .pushforward = adx_tensor_pushforward, .replay = adx_tensor_replay
};

/* --- the statement ------------------------------------------------------- */

// Whether an input that has numbers is not given.
static bool adx_lacks_input(const ad_tensor *t, const ad_rev *const x[])
{
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        if ((x == NULL || x[i] == NULL)
            && adx_tensor_value_at(t, t->program->input[i])->size > 0)
            return true;
    return false;
}

// Memory of a call while it is made.
typedef struct adx_calling {
    adx_tensor_call *c;
    size_t bytes;               // of what is saved
    ad_rev *operand;
    ad_rev *result;
    ad_real *v;                 // of results
} adx_calling;

// Counts the numbers of all arrays of a side, or of those that are given.
static uint64_t adx_size_of_side(const ad_tensor *t, const uint32_t value[],
                                 uint32_t n, ad_rev *const given[])
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        if (given == NULL || given[i] != NULL)
            sum += adx_tensor_value_at(t, value[i])->size;
    return sum;
}

// Takes the memory of a call. False: there is none.
static bool adx_begin_call(adx_calling *k, ad_tensor *t, ad_rev *const y[])
{
    const adx_tensor_program *p = t->program;
    size_t flags = (size_t)t->tree.inputs + t->tree.outs;
    uint64_t in = adx_size_of_side(t, p->input, t->tree.inputs, NULL);
    uint64_t out = adx_size_of_side(t, p->out, t->tree.outs, y);
    if (in > SIZE_MAX / 64 - flags || out > SIZE_MAX / 64)
        return false;
    k->bytes = sizeof *k->c + (size_t)in * sizeof(ad_real) + flags;
    k->c = (adx_tensor_call *)adx_take(&t->memory, k->bytes, 1);
    k->operand = (ad_rev *)adx_take(&t->memory, (size_t)in, sizeof *k->operand);
    k->result = (ad_rev *)adx_take(&t->memory, (size_t)out, sizeof *k->result);
    k->v = (ad_real *)adx_take(&t->memory, (size_t)out, sizeof *k->v);
    if (k->c == NULL || k->operand == NULL || k->result == NULL || k->v == NULL)
        return false;
    memset(k->c, 0, k->bytes);
    k->c->t = t;
    k->c->binding = t->binding;
    k->c->values = (size_t)in;
    k->c->m = (size_t)out;
    for (uint32_t i = 0; i < t->tree.outs; i++)
        adx_call_flags(k->c)[t->tree.inputs + i] = y[i] != NULL;
    return true;
}

// Frees what a call took and did not hand to the tape.
static void adx_end_call(const adx_calling *k, const ad_tensor *t)
{
    adx_drop(&t->memory, k->c);
    adx_drop(&t->memory, k->operand);
    adx_drop(&t->memory, k->result);
    adx_drop(&t->memory, k->v);
}

// Copies the values of all inputs, and takes those that are operands.
static ad_status adx_take_operands(const adx_calling *k,
                                   const ad_rev *const x[])
{
    adx_tensor_call *c = k->c;
    ad_real *value = adx_call_room(c);
    ad_status status = ADREV_OK;
    for (uint32_t i = 0; i < c->t->tree.inputs && status == ADREV_OK; i++) {
        const adx_tensor_value *v =
            adx_tensor_value_at(c->t, c->t->program->input[i]);
        adx_naming from = { x == NULL ? NULL : x[i], k->operand + c->n, false };
        adx_each_place(v, 0, 0, adx_take_operand, &from);
        for (size_t j = 0; j < v->size; j++)
            *value++ = k->operand[c->n + j].v;
        adx_call_flags(c)[i] = from.active;
        c->n += from.active ? (size_t)v->size : 0;
        status = from.active && v->crowded ? ADREV_ESHAPE : ADREV_OK;
    }
    return status;
}

static void adx_give_results(const adx_calling *k, ad_rev *const y[])
{
    const adx_call_side out = adx_outs_of(k->c);
    adx_naming to = { k->result, NULL, false };
    for (uint32_t i = 0; i < out.n; i++)
        if (out.chosen[i]) {
            to.to = y[i];
            adx_each_place(adx_tensor_value_at(k->c->t, out.value[i]), 0, 0,
                           adx_give_result, &to);
        }
}

// Records the call of a text as one external statement. If no result is wanted,
// nothing is recorded.
static ad_status adx_call_tensor(ad_tensor *t, const ad_rev *const x[],
                                 ad_rev *const y[])
{
    adx_calling k = { NULL, 0, NULL, NULL, NULL };
    ad_status status = adx_begin_call(&k, t, y) ? ADREV_OK : ADREV_ENOMEM;
    bool wanted = status == ADREV_OK && k.c->m > 0;
    if (wanted)
        status = adx_take_operands(&k, x);
    if (wanted && status == ADREV_OK) {
        const ad_external_point at = { .m = k.c->m, .y = k.v };
        status = adx_call_at(k.c, &at, false) ? ADREV_OK : ADREV_ENOMEM;
    }
    if (wanted && status == ADREV_OK) {
        status = (ad_external)(&adx_tensor_rule, k.c, k.bytes, k.c->n,
                               k.operand, k.c->m, k.v, k.result);
        adx_give_results(&k, y);
    }
    adx_end_call(&k, t);
    return status;
}

// In a function that is being recorded, results that are left as they were
// would be wrong at every point: that recording fails.
ADX_API ad_status ad_tensor_call(ad_tensor *t, const ad_rev *const x[],
                                 ad_rev *const y[])
{
    ad_status status = ad_tensor_bind(t, NULL);
    if (status == ADREV_OK && adx_lacks_input(t, x))
        status = ADREV_ESHAPE;
    if (status == ADREV_OK && y != NULL)
        status = adx_call_tensor(t, x, y);
    if (status != ADREV_OK && adx_now.tape != NULL && adx_now.trace)
        adx_fail(adx_now.tape, status);
    return status;
}

ADX_SELDOM_END
