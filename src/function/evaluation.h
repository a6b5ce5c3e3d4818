#pragma once

/* === function/evaluation ====================================================
 * An evaluation runs one program of a function at one point, or at one point
 * after another: by machine code if there is any, else by a replay. Both
 * compute products of the chain rule as plain products. If a result is not
 * finite, the replay is done again with care. A guard that comes out
 * differently becomes a status. Results are written only when the whole
 * evaluation has succeeded, unless the caller allows otherwise.
 *
 * Value, jvp, vjp, gradient and hvp at one point are one evaluation each, of a
 * program of its own, which is made when it is first asked for. This room also
 * decides whether a whole Jacobian is one program. A call of a function while
 * something is recorded is its value, and a statement.
 *
 *   needs   tape/layout tape/memory array/operands array/linear function/api
 *           function/program function/record function/places function/run
 *           function/functions
 *   offers  adx_given adx_wanted adx_call_compiled adx_has_code adx_evaluation
 *           adx_end_evaluation adx_run_code adx_evaluate_fn
 *           adx_begin_evaluation adx_evaluate_next adx_handed_on adx_lacks
 *           adx_has_external adx_is_short adx_is_linearized adx_linearize
 * ========================================================================== */

// An array of inputs. A machine reads up to three of them, one after the other.
typedef struct adx_given {
    const ad_real *x;
    size_t n;
} adx_given;

// Whether some result is not finite: for such an x, x * 0 is a NaN and spoils
// the sum. There are four sums, because in a single one every addition would
// wait for the one before. (bench: dot, replay, 0.5.)
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

// Fills in the inputs and replays. Products of the chain rule are plain at
// first. If a zero should have absorbed an infinity, a result is a NaN, and the
// replay is done again with care. The same happens if an external node failed,
// since it may have been given such a NaN. Returns the node at which the replay
// stopped, or NULL.
static const adx_node *adx_run_point(const adx_machine *m, ad_real w[],
                                     size_t gives, const adx_given given[])
{
    const adx_node *stopped = NULL;
    for (int careful = 0; careful < 2; careful++) {
        ad_real *at = w;
        for (size_t i = 0; i < gives; i++) {
            adx_copy_few(given[i].n, given[i].x, at);
            at += given[i].n;
        }
        stopped = careful ? adx_nodes_careful(m, w) : adx_nodes_plain(m, w);
        if (stopped == NULL ? !adx_has_nan(m, w) : stopped->op == ADX_OP_guard)
            break;
    }
    return stopped;
}

// An array of results: n outputs of the machine, from output `from` on.
typedef struct adx_wanted {
    size_t from;
    size_t n;
    ad_real *to;
} adx_wanted;

ADX_INLINE int adx_call_compiled(const adx_compiled *c, size_t gives,
                                 const adx_given given[], ad_real *y,
                                 ad_real *J, ad_real *work)
{
    return J != NULL ? c->call_matrix(given[0].x, y, J, work)
         : gives == 1 ? c->call_x(given[0].x, y, work)
         : gives == 2 ? c->call_xv(given[0].x, given[1].x, y, work)
         : c->call_xwv(given[0].x, given[1].x, given[2].x, y, work);
}

// Whether a kind has machine code. call_matrix is tested first, since
// ad_fn_linearize needs no other. (bench: rotquat, compiled, 0.94.)
static bool adx_has_code(const adx_compiled *c)
{
    return c->call_matrix != NULL || c->call_x != NULL || c->call_xv != NULL
        || c->call_xwv != NULL;
}

static size_t adx_count_wanted(size_t wants, const adx_wanted wanted[])
{
    return wanted[0].n + (wants == 2 ? wanted[1].n : 0);
}

// Whether two arrays overlap. Either may be NULL, so they are compared as
// numbers.
ADX_INLINE bool adx_overlap(const ad_real *x, size_t n, const ad_real *y,
                            size_t m)
{
    uintptr_t p = (uintptr_t)x;
    uintptr_t q = (uintptr_t)y;
    return p < q + m * sizeof *y && q < p + n * sizeof *x;
}

// Whether every result has an array, which overlaps no argument and no other
// result.
ADX_INLINE bool adx_is_apart(size_t gives, const adx_given given[],
                             size_t wants, const adx_wanted wanted[])
{
    if (wants == 2 && adx_overlap(wanted[0].to, wanted[0].n,
                                  wanted[1].to, wanted[1].n))
        return false;
    for (size_t k = 0; k < wants; k++)
        for (size_t i = 0; i < gives; i++)
            if (wanted[k].to == NULL
                || adx_overlap(wanted[k].to, wanted[k].n, given[i].x,
                               given[i].n))
                return false;
    return true;
}

// What an evaluation has taken so far, and must give back.
typedef struct adx_evaluation {
    ad_fn *fn;                  // NULL: the evaluation has not begun
    adx_kind kind;
    adx_workspace *room;        // memory of machine code; NULL: not taken
    adx_machine *machine;       // for replays
    adx_workspace *work;        // memory of the machine; NULL: not taken
} adx_evaluation;

// Takes what a replay needs, if it has not been taken.
static ad_status adx_take_machine(adx_evaluation *e)
{
    if (e->work != NULL)
        return ADREV_OK;
    ad_status status = adx_machine_of(e->fn, e->kind, &e->machine);
    if (status != ADREV_OK)
        return status;
    e->work = adx_take_work(e->machine, 1);
    return e->work == NULL ? ADREV_ENOMEM : ADREV_OK;
}

// Takes memory for machine code, and for `besides` more numbers. False: there
// is none.
static bool adx_take_room(adx_evaluation *e, size_t besides)
{
    adx_compiled *c = &e->fn->compiled[e->kind];
    e->room = adx_take_workspace(&c->spare, &e->fn->memory, c->work + besides);
    return e->room != NULL;
}

// Gives back what was taken.
static void adx_end_evaluation(adx_evaluation *e)
{
    if (e->work != NULL)
        adx_give_work(e->machine, e->work);
    if (e->room != NULL)
        adx_give_workspace(&e->fn->compiled[e->kind].spare, &e->fn->memory,
                           e->room);
    *e = (adx_evaluation){ .fn = NULL };
}

// Evaluates at one point by a replay, and writes the results if no guard and no
// node failed.
static ad_status adx_replay_point(adx_evaluation *e, size_t gives,
                                  const adx_given given[], size_t wants,
                                  const adx_wanted wanted[])
{
    ad_status status = adx_take_machine(e);
    if (status != ADREV_OK)
        return status;
    const adx_machine *m = e->machine;
    const ad_real *w = e->work->w;
    const adx_node *stopped = adx_run_point(m, e->work->w, gives, given);
    for (size_t k = 0; stopped == NULL && k < wants; k++)
        for (size_t i = 0; wanted[k].to != NULL && i < wanted[k].n; i++)
            wanted[k].to[i] = w[m->output[wanted[k].from + i]];
    return stopped == NULL ? ADREV_OK
         : stopped->op == ADX_OP_many ? ADREV_EEXTERNAL
         : adx_flip_guard(e->fn, stopped->c);
}

/* --- one point ----------------------------------------------------------- */

static bool adx_all_wanted_finite(size_t wants, const adx_wanted wanted[])
{
    for (size_t k = 0; k < wants; k++)
        if (!adx_finite_all(wanted[k].n, wanted[k].to))
            return false;
    return true;
}

// Runs machine code that may write results where they belong. If the code does
// not check its results itself, it may write some that are not finite, and a
// replay must then overwrite them. So the memory of the replay is taken first.
// *again: a replay must follow.
static ad_status adx_code_in_place(adx_evaluation *e, size_t gives,
                                   const adx_given given[], size_t wants,
                                   const adx_wanted wanted[], bool *again)
{
    const adx_compiled *c = &e->fn->compiled[e->kind];
    ad_status status = c->checks ? ADREV_OK : adx_take_machine(e);
    if (status != ADREV_OK)
        return status;
    ad_real few[256];           // spares two exchanges
    if (c->work > 256 && !adx_take_room(e, 0))
        return ADREV_ENOMEM;
    int left = adx_call_compiled(c, gives, given, wanted[0].to,
                                 wants == 2 ? wanted[1].to : NULL,
                                 e->room == NULL ? few : e->room->w);
    *again = left < 0
          || (left == 0 && !c->checks && !c->tells
              && !adx_all_wanted_finite(wants, wanted));
    return left <= 0 ? ADREV_OK : adx_flip_guard(e->fn, (uint32_t)left - 1);
}

// Runs machine code whose results are copied to their places when all of them
// are good.
static ad_status adx_code_and_copy(adx_evaluation *e, size_t gives,
                                   const adx_given given[], size_t wants,
                                   const adx_wanted wanted[], bool *again)
{
    const adx_compiled *c = &e->fn->compiled[e->kind];
    size_t results = adx_count_wanted(wants, wanted);
    if (!adx_take_room(e, results))
        return ADREV_ENOMEM;
    ad_real *r = e->room->w;
    int left = adx_call_compiled(c, gives, given, r,
                                 wants == 2 ? r + wanted[0].n : NULL,
                                 r + results);
    *again = left < 0
          || (left == 0 && !c->checks && !c->tells
              && !adx_finite_all(results, r));
    for (size_t i = 0; left == 0 && !*again && i < wants; i++)
        if (wanted[i].n > 0 && wanted[i].to != NULL)
            memcpy(wanted[i].to, r + wanted[i].from, wanted[i].n * sizeof *r);
    return left <= 0 ? ADREV_OK : adx_flip_guard(e->fn, (uint32_t)left - 1);
}

// So many results, or more, are written in place, since copying them takes
// long. (bench: matvec, compiled, 0.61.)
#define ADX_COPIES_MOST 1000

// Runs machine code, if there is any. *again: a replay must do the evaluation
// instead. replays: this kind of program can be replayed.
static ad_status adx_run_code(adx_evaluation *e, bool replays, size_t gives,
                              const adx_given given[], size_t wants,
                              const adx_wanted wanted[], bool *again)
{
    const adx_compiled *c = &e->fn->compiled[e->kind];
    *again = true;
    if (!adx_has_code(c))
        return ADREV_OK;
    bool many = replays && adx_count_wanted(wants, wanted) >= ADX_COPIES_MOST;
    return (c->checks || many) && adx_is_apart(gives, given, wants, wanted)
         ? adx_code_in_place(e, gives, given, wants, wanted, again)
         : adx_code_and_copy(e, gives, given, wants, wanted, again);
}

// The whole of an evaluation: machine code, and a replay if that asks for it.
ADX_NOINLINE static ad_status
adx_evaluate_with_care(ad_fn *fn, adx_kind kind, size_t gives,
                       const adx_given given[], size_t wants,
                       const adx_wanted wanted[])
{
    adx_evaluation e = { .fn = fn, .kind = kind };
    bool again;
    ad_status status = adx_run_code(&e, true, gives, given, wants, wanted,
                                    &again);
    if (status == ADREV_OK && again)
        status = adx_replay_point(&e, gives, given, wants, wanted);
    adx_end_evaluation(&e);
    return status;
}

#define ADX_WORK_AT_ONCE 16

// Does one evaluation. Machine code that checks its results itself and needs
// hardly any memory is called right here, since anything more would take as
// long as a small function does. (bench: rotquat, compiled, 0.65.)
ADX_INLINE ad_status adx_evaluate_fn(ad_fn *fn, adx_kind kind, size_t gives,
                                     const adx_given given[], size_t wants,
                                     const adx_wanted wanted[])
{
    ad_real work[ADX_WORK_AT_ONCE];
    if (fn == NULL)
        return ADREV_ESHAPE;
    for (size_t i = 0; i < gives; i++)
        if (given[i].x == NULL && given[i].n > 0)
            return ADREV_ESHAPE;
    const adx_compiled *c = &fn->compiled[kind];
    if (c->checks && c->work <= ADX_WORK_AT_ONCE
        && adx_is_apart(gives, given, wants, wanted)) {
        int left = adx_call_compiled(c, gives, given, wanted[0].to,
                                     wants == 2 ? wanted[1].to : NULL, work);
        if (left >= 0)
            return left == 0 ? ADREV_OK
                             : adx_flip_guard(fn, (uint32_t)left - 1);
    }
    return adx_evaluate_with_care(fn, kind, gives, given, wants, wanted);
}

/* --- one point after another --------------------------------------------- */

// Begins evaluations at one point after another: takes all memory now, so that
// no call has to look at memory or arguments again. (bench: sir, scan comp,
// 0.58.) False: no memory. adx_end_evaluation must follow, whatever is
// returned.
ADX_INLINE bool adx_begin_evaluation(adx_evaluation *e, ad_fn *fn,
                                     adx_kind kind)
{
    *e = (adx_evaluation){ .fn = fn, .kind = kind };
    return adx_has_code(&fn->compiled[kind]) ? adx_take_room(e, 0)
         : adx_take_machine(e) == ADREV_OK;
}

// Evaluates at the next point. The wanted results must be the first outputs,
// and must not overlap arguments. False: the evaluation failed, and some
// results may have been written.
ADX_INLINE bool adx_evaluate_next(adx_evaluation *e, size_t gives,
                                  const adx_given given[], size_t wants,
                                  const adx_wanted wanted[])
{
    const adx_compiled *c = &e->fn->compiled[e->kind];
    if (e->room == NULL)
        return adx_replay_point(e, gives, given, wants, wanted) == ADREV_OK;
    int left = adx_call_compiled(c, gives, given, wanted[0].to,
                                 wants == 2 ? wanted[1].to : NULL, e->room->w);
    if (left == 0
        && (c->checks || adx_finite_few(wanted[0].n, wanted[0].to)))
        return true;
    return left <= 0
        && adx_replay_point(e, gives, given, wants, wanted) == ADREV_OK;
}

/* --- values and derivatives ----------------------------------------------- */

// How many numbers the primal program hands on to the pullback.
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
    const adx_given given[] = { { x, fn->n }, { v, fn->variables } };
    const adx_wanted wanted[] = { { 0, fn->m, dy } };
    return adx_evaluate_fn(fn, ADX_KIND_jvp, 2, given, 1, wanted);
}

ADX_API ad_status ad_fn_vjp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            ad_real dx[])
{
    if (fn == NULL || adx_lacks(fn, fn->variables, dx))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m } };
    const adx_wanted wanted[] = { { 0, fn->variables, dx } };
    return adx_evaluate_fn(fn, ADX_KIND_vjp, 2, given, 1, wanted);
}

static bool adx_has_external(const adx_program *p)
{
    for (size_t i = 0; i < p->manys; i++)
        if (p->many[i].kind == ADX_MANY_external)
            return true;
    return false;
}

// Whether one program for all entries of a matrix is worth its length. It takes
// an eighth of the time of lanes (function/directions) at best, and as long as
// they do at worst, with 16 directions and numbers that depend on all of them.
// But it has to be made first. External statements are a reason against it,
// since they would be called again for each direction.
static bool adx_is_short(const ad_fn *fn, size_t directions)
{
    return directions <= ADREV_LANES_MOST
        && directions * fn->program.nodes <= ADREV_MATRIX_MOST
        && !adx_has_external(&fn->program);
}

// Whether one program computes value and Jacobian.
static bool adx_is_linearized(const ad_fn *fn)
{
    return fn->m == 1 || adx_has_code(&fn->compiled[ADX_KIND_linear])
        || adx_is_short(fn, fn->m < fn->variables ? fn->m : fn->variables);
}

// Computes value and Jacobian; either may be NULL.
static ad_status adx_linearize(ad_fn *fn, const ad_real x[], ad_real y[],
                               ad_real J[])
{
    const adx_given given[] = { { x, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->m, y },
                                  { fn->m, fn->m * fn->variables, J } };
    return adx_evaluate_fn(fn, ADX_KIND_linear, 1, given, 2, wanted);
}

ADX_API ad_status ad_fn_gradient(ad_fn *fn, const ad_real x[], ad_real *y,
                                 ad_real g[])
{
    if (fn == NULL || adx_lacks(fn, fn->variables, g) || fn->m != 1)
        return ADREV_ESHAPE;
    return adx_linearize(fn, x, y, g);
}

ADX_API ad_status ad_fn_hvp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            const ad_real v[], ad_real hv[])
{
    if (fn == NULL || adx_lacks(fn, fn->variables, hv))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m },
                                { v, fn->variables } };
    const adx_wanted wanted[] = { { 0, fn->variables, hv } };
    return adx_evaluate_fn(fn, ADX_KIND_hvp, 3, given, 1, wanted);
}

/* --- calls while recording ------------------------------------------------ */

// Evaluates fn at the values of x. y becomes constants; on failure it stays as
// it is.
static ad_status adx_call_values(ad_fn *fn, const ad_rev x[],
                                 adx_saved_call *call, ad_real v[])
{
    for (size_t i = 0; i < fn->n; i++)
        call->x[i] = x[i].v;
    return ad_fn_eval(fn, call->x, v);
}

// A call that fails has no results, so y becomes NaN. While a function is being
// recorded, these NaNs would be constants of the program at every point. So
// that recording fails, too, unless all arguments are constants, for then the
// call fails at every point.
static ad_status adx_fail_call(const ad_fn *fn, ad_status status,
                               const ad_rev x[], ad_rev y[])
{
    bool moves = false;
    for (size_t i = 0; i < fn->n; i++)
        moves = moves || x[i].job != 0;
    for (size_t i = 0; i < fn->m; i++)
        y[i] = adx_no_result();
    if (moves && adx_now.tape != NULL && adx_now.trace)
        adx_fail(adx_now.tape, status);
    return status;
}

ADX_API ad_status ad_fn_call(ad_fn *fn, const ad_rev x[], ad_rev y[])
{
    if (fn == NULL || y == NULL || (x == NULL && fn->n > 0))
        return ADREV_ESHAPE;
    size_t bytes = sizeof(adx_saved_call) + fn->n * sizeof *x;
    adx_saved_call *call = (adx_saved_call *)adx_take(
        &fn->memory, bytes + fn->m * sizeof(ad_real), 1);
    if (call == NULL)
        return adx_fail_call(fn, ADREV_ENOMEM, x, y);
    ad_real *v = call->x + fn->n;
    call->fn = fn;
    call->program = &fn->program;
    call->guard = fn->guard;
    call->memory = &fn->memory;
    ad_status status = adx_call_values(fn, x, call, v);
    if (status == ADREV_OK) {
        // relaxed: the caller holds it
        atomic_fetch_add_explicit(&fn->holders, 1, memory_order_relaxed);
        status = (ad_external)(&adx_call_rule, call,
                               sizeof *call + fn->n * sizeof(ad_real), fn->n,
                               x, fn->m, v, y);
    } else
        adx_fail_call(fn, status, x, y);
    adx_drop(&fn->memory, call);
    return status;
}
