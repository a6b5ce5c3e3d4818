#pragma once

/* === function/evaluate ======================================================
 * Value, gradient, jvp, vjp, hvp, Jacobian and Hessian at one point.
 *
 *   needs   tape/memory array/linear function/api function/operations
 *           function/program function/places function/run function/functions
 *   offers  adx_given adx_wanted adx_call_compiled adx_has_code
 *           adx_run_compiled adx_evaluate_by adx_evaluate_fn adx_handed_on
 *           adx_lacks adx_has_external adx_is_short adx_is_linearized
 *           adx_linearize
 * ========================================================================== */

// Inputs of a machine: up to three arrays, one behind the other.
typedef struct adx_given {
    const ad_real *x;
    size_t n;
} adx_given;

// Four sums: in one, every addition would wait for the one before (dot, bench/:
// 2 of 4 us).
static bool adx_has_nan(const adx_machine *m, const ad_real w[])
{
    ad_real fault[4] = {0};
    size_t i = 0;
    for (; i + 4 <= m->outputs; i += 4)
        for (size_t k = 0; k < 4; k++)
            fault[k] += w[m->output[i + k]] * 0;
    for (; i < m->outputs; i++)
        fault[0] += w[m->output[i]] * 0;
    return (fault[0] + fault[1]) + (fault[2] + fault[3]) != 0;
}

// Fills the inputs and runs. Products of the chain rule are plain ones, in
// which a zero does not absorb an infinity; but then a result is NaN, and all
// is done again with care. So it is where a replay failed: it may have been
// given that NaN.
static const adx_node *adx_run_point(const adx_machine *m, ad_real w[],
                               size_t parts, const adx_given given[])
{
    const adx_node *stopped = NULL;
    for (int careful = 0; careful < 2; careful++) {
        ad_real *at = w;
        for (size_t i = 0; i < parts; i++) {
            adx_copy_few(given[i].n, given[i].x, at);
            at += given[i].n;
        }
        stopped = careful ? adx_nodes_careful(m, w) : adx_nodes_plain(m, w);
        if (stopped == NULL ? !adx_has_nan(m, w) : stopped->op == ADX_OP_guard)
            break;
    }
    return stopped;
}

// Outputs `from` to `from + n` of a kind of function.
typedef struct adx_wanted {
    size_t from;
    size_t n;
    ad_real *to;
} adx_wanted;

ADX_INLINE int adx_call_compiled(const adx_compiled *c, size_t parts,
                                 const adx_given given[], ad_real *y,
                                 ad_real *J, ad_real *work)
{
    return J != NULL ? c->call_matrix(given[0].x, y, J, work)
         : parts == 1 ? c->call_x(given[0].x, y, work)
         : parts == 2 ? c->call_xv(given[0].x, given[1].x, y, work)
         : c->call_xwv(given[0].x, given[1].x, given[2].x, y, work);
}

// call_matrix first, the only one where ad_fn_linearize asks. (rotquat, bench/:
// 11.5 instead of 12.2 ns.)
static bool adx_has_code(const adx_compiled *c)
{
    return c->call_matrix != NULL || c->call_x != NULL || c->call_xv != NULL
        || c->call_xwv != NULL;
}

static size_t adx_count_wanted(size_t wants, const adx_wanted wanted[])
{
    return wanted[0].n + (wants == 2 ? wanted[1].n : 0);
}

// As numbers: either may be NULL.
ADX_INLINE bool adx_overlap(const ad_real *x, size_t n, const ad_real *y,
                            size_t m)
{
    uintptr_t p = (uintptr_t)x;
    uintptr_t q = (uintptr_t)y;
    return p < q + m * sizeof *y && q < p + n * sizeof *x;
}

// Whether all results have a place that overlaps nothing.
ADX_INLINE bool adx_is_apart(size_t parts, const adx_given given[],
                             size_t wants, const adx_wanted wanted[])
{
    if (wants == 2 && adx_overlap(wanted[0].to, wanted[0].n,
                                  wanted[1].to, wanted[1].n))
        return false;
    for (size_t k = 0; k < wants; k++)
        for (size_t i = 0; i < parts; i++)
            if (wanted[k].to == NULL
                || adx_overlap(wanted[k].to, wanted[k].n, given[i].x,
                               given[i].n))
                return false;
    return true;
}

// By machine code; nothing is written until all is well: where it does not look
// itself, or arguments and results overlap, into memory of our own. `again`:
// there is none, or a result is not finite, and the zeros of the chain rule
// must be looked at (see adx_run_point).
static ad_status adx_run_compiled(const ad_fn *fn, adx_compiled *c,
                                  size_t parts, const adx_given given[],
                                  size_t wants, const adx_wanted wanted[],
                                  bool *again)
{
    ad_real few[256];
    *again = true;
    if (!adx_has_code(c))
        return ADREV_OK;
    bool direct = c->checks && adx_is_apart(parts, given, wants, wanted);
    size_t results = direct ? 0 : adx_count_wanted(wants, wanted);
    size_t size = c->work + results;
    // acq_rel, twice: who takes it comes after who gave it back.
    ad_real *r = size <= 256 ? few
               : atomic_exchange_explicit(&c->spare, NULL,
                                          memory_order_acq_rel);
    if (r == NULL)
        r = (ad_real *)adx_take(&fn->memory, c->work
                                + adx_count_wanted(wants, wanted), sizeof *r);
    if (r == NULL)
        return ADREV_ENOMEM;
    int left = adx_call_compiled(c, parts, given, direct ? wanted[0].to : r,
                                 wants != 2 ? NULL
                                 : direct ? wanted[1].to : r + wanted[0].n,
                                 r + results);
    *again = left < 0
          || (left == 0 && !c->checks && !c->tells
              && !adx_finite_all(results, r));
    for (size_t i = 0; left == 0 && !*again && !direct && i < wants; i++)
        if (wanted[i].n > 0 && wanted[i].to != NULL)
            memcpy(wanted[i].to, r + wanted[i].from, wanted[i].n * sizeof *r);
    if (r != few)
        adx_drop(&fn->memory, atomic_exchange_explicit(&c->spare, r,
                                                       memory_order_acq_rel));
    return left <= 0 ? ADREV_OK : adx_flip(fn, (uint32_t)left - 1);
}

static ad_status adx_evaluate_by(ad_fn *fn, const adx_machine *m, ad_real w[],
                                 size_t parts, const adx_given given[],
                                 size_t wants, const adx_wanted wanted[])
{
    const adx_node *stopped = adx_run_point(m, w, parts, given);
    for (size_t k = 0; stopped == NULL && k < wants; k++)
        for (size_t i = 0; wanted[k].to != NULL && i < wanted[k].n; i++)
            wanted[k].to[i] = w[m->output[wanted[k].from + i]];
    return stopped == NULL ? ADREV_OK
         : stopped->op == ADX_OP_many ? ADREV_EEXTERNAL
         : adx_flip(fn, stopped->c);
}

// Whether there is machine code that may write results where they belong: many,
// of which a copy takes long (matvec, bench/: 1.88 instead of 1.14 times the
// plain program). Fewer are above.
static bool adx_writes_in_place(const adx_compiled *c, size_t parts,
                                const adx_given given[], size_t wants,
                                const adx_wanted wanted[])
{
    return adx_has_code(c) && adx_count_wanted(wants, wanted) >= 1000
        && adx_is_apart(parts, given, wants, wanted);
}

// The machine has its memory before the code writes a result: if one is not
// finite the machine cannot fail, and nothing else has been written.
static ad_status adx_evaluate_in_place(ad_fn *fn, adx_kind kind, size_t parts,
                                       const adx_given given[], size_t wants,
                                       const adx_wanted wanted[])
{
    adx_compiled *c = &fn->compiled[kind];
    adx_machine *m = NULL;
    ad_real *room = atomic_exchange_explicit(&c->spare, NULL,
                                             memory_order_acq_rel);
    ad_status status = adx_machine_of(fn, kind, &m);
    adx_workspace *work = status == ADREV_OK ? adx_take_work(m, 1) : NULL;
    if (room == NULL)
        room = (ad_real *)adx_take(&fn->memory, c->work   // as for copies
                                   + adx_count_wanted(wants, wanted),
                                   sizeof *room);
    if (work == NULL || room == NULL)
        status = ADREV_ENOMEM;
    int left = status != ADREV_OK ? 0
        : adx_call_compiled(c, parts, given, wanted[0].to,
                            wants == 2 ? wanted[1].to : NULL, room);
    bool finite = left >= 0;
    for (size_t k = 0; status == ADREV_OK && left == 0 && k < wants; k++)
        finite = finite
              && (c->tells || adx_finite_all(wanted[k].n, wanted[k].to));
    if (!finite)
        status = adx_evaluate_by(fn, m, work->w, parts, given, wants, wanted);
    if (work != NULL)
        adx_give_work(m, work);
    adx_drop(&fn->memory, atomic_exchange_explicit(&c->spare, room,
                                                   memory_order_acq_rel));
    return left <= 0 ? status : adx_flip(fn, (uint32_t)left - 1);
}

ADX_NOINLINE static ad_status
adx_evaluate_with_care(ad_fn *fn, adx_kind kind, size_t parts,
                       const adx_given given[], size_t wants,
                       const adx_wanted wanted[])
{
    adx_machine *m;
    bool again;
    adx_compiled *c = &fn->compiled[kind];
    if (adx_writes_in_place(c, parts, given, wants, wanted))
        return adx_evaluate_in_place(fn, kind, parts, given, wants, wanted);
    ad_status status = adx_run_compiled(fn, c, parts, given, wants, wanted,
                                        &again);
    if (status == ADREV_OK && again)
        status = adx_machine_of(fn, kind, &m);
    if (status != ADREV_OK || !again)
        return status;
    adx_workspace *work = adx_take_work(m, 1);
    if (work == NULL)
        return ADREV_ENOMEM;
    status = adx_evaluate_by(fn, m, work->w, parts, given, wants, wanted);
    adx_give_work(m, work);
    return status;
}

#define ADX_WORK_AT_ONCE 16

// Machine code that looks at its results itself and needs hardly any memory is
// called from here: of small functions all else takes as long as they do.
// (rotquat, bench/: 11 instead of 17 ns.)
ADX_INLINE ad_status adx_evaluate_fn(ad_fn *fn, adx_kind kind, size_t parts,
                                     const adx_given given[], size_t wants,
                                     const adx_wanted wanted[])
{
    ad_real work[ADX_WORK_AT_ONCE];
    if (fn == NULL)
        return ADREV_ESHAPE;
    for (size_t i = 0; i < parts; i++)
        if (given[i].x == NULL && given[i].n > 0)
            return ADREV_ESHAPE;
    const adx_compiled *c = &fn->compiled[kind];
    if (c->checks && c->work <= ADX_WORK_AT_ONCE
        && adx_is_apart(parts, given, wants, wanted)) {
        int left = adx_call_compiled(c, parts, given, wanted[0].to,
                                     wants == 2 ? wanted[1].to : NULL, work);
        if (left >= 0)
            return left == 0 ? ADREV_OK : adx_flip(fn, (uint32_t)left - 1);
    }
    return adx_evaluate_with_care(fn, kind, parts, given, wants, wanted);
}

// How many numbers `ahead` hands on to `back` (function/matrices).
static size_t adx_handed_on(ad_fn *fn)
{
    adx_machine *m;
    return adx_machine_of(fn, ADX_KIND_primal, &m) == ADREV_OK
         ? m->outputs - fn->m : 0;
}

// Whether an array of results is missing.
static bool adx_lacks(const ad_fn *fn, size_t n, const ad_real *array)
{
    return fn == NULL || (n > 0 && array == NULL);
}

ADX_API ad_status ad_fn_eval(ad_fn *fn, const ad_real x[], ad_real y[])
{
    if (adx_lacks(fn, 1, y))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->m, y } };
    return adx_evaluate_fn(fn, ADX_KIND_value, 1, given, 1, wanted);
}

ADX_API ad_status ad_fn_jvp(ad_fn *fn, const ad_real x[], const ad_real v[],
                            ad_real dy[])
{
    if (adx_lacks(fn, 1, dy))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { v, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->m, dy } };
    return adx_evaluate_fn(fn, ADX_KIND_jvp, 2, given, 1, wanted);
}

ADX_API ad_status ad_fn_vjp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            ad_real dx[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, dx))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m } };
    const adx_wanted wanted[] = { { 0, fn->n, dx } };
    return adx_evaluate_fn(fn, ADX_KIND_vjp, 2, given, 1, wanted);
}

static bool adx_has_external(const adx_program *p)
{
    for (size_t i = 0; i < p->manys; i++)
        if (p->many[i].kind == ADX_MANY_external)
            return true;
    return false;
}

// Whether one program for all entries of a matrix is worth its length: it takes
// from an eighth of the time of lanes (function/directions) to as long, with 16 directions and
// where every number depends on all of them; but it has to be made. Each
// direction would call external statements again.
static bool adx_is_short(const ad_fn *fn, size_t directions)
{
    return directions <= ADREV_LANES_MOST
        && directions * fn->program.nodes <= ADREV_MATRIX_MOST
        && !adx_has_external(&fn->program);
}

static bool adx_is_linearized(const ad_fn *fn)
{
    return fn->m == 1 || adx_has_code(&fn->compiled[ADX_KIND_linear])
        || adx_is_short(fn, fn->m < fn->n ? fn->m : fn->n);
}

// Value and Jacobian; both may be NULL.
static ad_status adx_linearize(ad_fn *fn, const ad_real x[], ad_real y[],
                               ad_real J[])
{
    const adx_given given[] = { { x, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->m, y }, { fn->m, fn->m * fn->n, J } };
    return adx_evaluate_fn(fn, ADX_KIND_linear, 1, given, 2, wanted);
}

ADX_API ad_status ad_fn_gradient(ad_fn *fn, const ad_real x[], ad_real *y,
                                 ad_real g[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, g) || fn->m != 1)
        return ADREV_ESHAPE;
    return adx_linearize(fn, x, y, g);
}

ADX_API ad_status ad_fn_hvp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            const ad_real v[], ad_real hv[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, hv))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m }, { v, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->n, hv } };
    return adx_evaluate_fn(fn, ADX_KIND_hvp, 3, given, 1, wanted);
}
