#pragma once

/* === function/functions =====================================================
 * A recorded function: its program, and a machine for each kind of evaluation.
 * A machine is made when its kind is first asked for. Its program is derived
 * from that of the function, made ready for replay (function/places), and then
 * freed.
 *
 *   needs   number/recording tape/memory sweep/session function/api
 *           function/program function/copy function/tangents function/adjoints
 *           function/matrices function/record function/places
 *   offers  adx_kind ADX_KIND_value ADX_KIND_jvp ADX_KIND_vjp ADX_KIND_hvp
 *           ADX_KIND_linear ADX_KIND_hessian ADX_KIND_taylor1 ADX_KIND_taylor2
 *           ADX_KIND_primal ADX_KIND_pullback ADX_KIND_unrolled
 *           ADX_KIND_jacobian_sparse ADX_KIND_hessian_sparse ADX_KINDS
 *           adx_pattern ADX_CHECKED_MOST adx_compiled adx_lanes_of
 *           adx_last_guard adx_count_live adx_because adx_lent adx_lend_arrays
 *           adx_record adx_new_fn adx_make_derived adx_publish_machine
 *           adx_machine_of adx_flip_guard
 * ========================================================================== */

typedef enum adx_kind {
    ADX_KIND_value,             // x -> y
    ADX_KIND_jvp,               // x, v -> dy
    ADX_KIND_vjp,               // x, w -> dx, y
    ADX_KIND_hvp,               // x, w, v -> H v, ...
    ADX_KIND_linear,            // x -> y, J
    ADX_KIND_hessian,           // x, w -> H
    ADX_KIND_taylor1,           // x, v -> Taylor coefficients of order 0, 1
    ADX_KIND_taylor2,           // x, v -> those of order 0, 1, 2
    ADX_KIND_primal,            // x -> y, kept         (function/matrices)
    ADX_KIND_pullback,          // x, w, kept -> dx
    ADX_KIND_unrolled,          // the same for several steps of a loop
    // by machine code only:
    ADX_KIND_jacobian_sparse,   // x -> entries of J
    ADX_KIND_hessian_sparse,    // x, w -> entries of H
    ADX_KINDS
} adx_kind;

typedef struct adx_pattern adx_pattern;
typedef struct adx_series adx_series;

enum { ADX_CHECKED_MOST = 256 };

// The machine code of one kind of evaluation: functions of a library, which
// differ in how many arrays they take. They return 0, or 1 + the number of the
// guard that came out differently.
//
// Code with up to ADX_CHECKED_MOST results checks them itself (checks): if one
// of them, or their sum, is not finite, it returns -1 and has written none.
// Code of functions with arrays (tells) returns -1, too, if a result is not
// finite, but then it has written its results.
typedef struct adx_compiled {
    int (*call_x)(const ad_real *x, ad_real *y, ad_real *work);
    int (*call_xv)(const ad_real *x, const ad_real *v, ad_real *y,
                   ad_real *work);
    int (*call_xwv)(const ad_real *x, const ad_real *w, const ad_real *v,
              ad_real *y, ad_real *work);
    int (*call_matrix)(const ad_real *x, ad_real *y, ad_real *J, ad_real *work);
    // The function at n points side by side, a multiple of ADREV_LANES_MOST and
    // at most adx_lanes_of of them; NULL: there is no such code. Result j of
    // point l is y[j * adx_lanes_of + l]. It does not return 0 if a result, or
    // the sum of a point's results, is not finite.
    long (*block)(const ad_real *const *x, ad_real *y, long n);
    // Does many steps of a loop, from step `first` on; a pullback goes back
    // from it. state: the numbers that are carried on, or their adjoints. kept:
    // the numbers carried on, for each step at distances of `stride`; they are
    // written forwards and read backwards. Behind them, unless tag is NULL,
    // are *tag and the numbers that are handed on. data, sums: other inputs
    // and their adjoints, which for step s lie s * move further on. fixed:
    // parameters. The code ends before a step that would not return 0, that has
    // another tag, or whose adjoints are all 0. Returns how many steps were
    // done.
    long (*loop)(long steps, long first, ad_real *state, ad_real *kept,
                 long stride, const ad_real *tag, const ad_real *const *data,
                 ad_real *const *sums, const long *move, const ad_real *fixed,
                 ad_real *fixed_sums, ad_real *work);
    bool checks, tells;         // see above
    size_t work;                // numbers that a call needs beside x and y
    adx_spare spare;            // memory that is kept for the next call
    adx_spare spare_block;
} adx_compiled;

// How many points a block of machine code has: up to four times as many as a
// replay has lanes, as long as the numbers of the block fit into the nearest
// cache, because each block has a cost of its own. (bench: burgers, compiled,
// 128 points instead of 32, 0.71.)
static size_t adx_lanes_of(size_t inputs, size_t outputs)
{
    size_t bytes = (inputs + outputs) * ADREV_LANES_MOST * sizeof(ad_real);
    return bytes <= 8192 ? 4 * (size_t)ADREV_LANES_MOST
         : bytes <= 16384 ? 2 * (size_t)ADREV_LANES_MOST : ADREV_LANES_MOST;
}

struct ad_fn {
    ad_allocator memory;
    atomic_size_t holders;      // the caller, and recordings; the last of them
                                // to let go frees it
    size_t n, m;
    size_t variables;           // derivatives are by so many, the first inputs
    adx_program program;
    ad_fn *whole;               // the function from which ad_fn_select made
                                // this one; NULL: none
    adx_repeated repeated;      // for a step of a loop
    adx_code_place *guard;      // places of guards; those of `whole`, if that
                                // is not NULL
    char *names;                // names of source files, of a loaded function
    adx_file_name *files;       // the same of functions that it calls
    _Atomic(adx_machine *) machine[ADX_KINDS];      // NULL: not made yet
    _Atomic(adx_pattern *) pattern[2];              // Jacobian, Hessian
    _Atomic(adx_pattern *) thrifty[2];              // the same, for dense ones
    atomic_bool crowded[2];                         // no thrifty one helps
    _Atomic(adx_series *) series;                   // for Taylor coefficients
    void *library;                                  // NULL: not compiled
    void (*unload)(void *library);
    adx_compiled compiled[ADX_KINDS];
};

static ADX_THREAD ad_guard adx_last_guard;

ADX_API ad_guard ad_fn_guard(void) { return adx_last_guard; }

/* --- recording ----------------------------------------------------------- */

ADX_API size_t ad_fn_inputs(const ad_fn *fn) { return fn == NULL ? 0 : fn->n; }
ADX_API size_t ad_fn_outputs(const ad_fn *fn)
{
    return fn == NULL ? 0 : fn->m;
}
ADX_API size_t ad_fn_variables(const ad_fn *fn)
{
    return fn == NULL ? 0 : fn->variables;
}

// Completes the report by the figures that are counted only when they are asked
// for, or that a file had: counting them would slow down recording. False: no
// memory, and these figures stay 0.
static bool adx_count_live(const adx_program *p, ad_fn_report *report)
{
    *report = p->report;
    if (p->counted)
        return true;
    bool *used = (bool *)adx_take(p->memory, p->numbers, sizeof *used);
    if (used == NULL)
        return false;
    size_t live = adx_find_used(p, used);
    report->dead = p->nodes - live;
    // Guards, and nodes that only guards asked for, are all live.
    report->operations = live - p->guards - p->conditions;
    for (size_t i = 0; p->manys > 0 && i < p->nodes; i++)
        report->arrays += p->node[i].op == ADX_OP_many
                       && adx_is_used(p, &p->node[i], used);
    adx_drop(p->memory, used);
    return true;
}

ADX_API ad_fn_report ad_fn_about(const ad_fn *fn)
{
    ad_fn_report report = { 0 };
    if (fn != NULL)
        adx_count_live(&fn->program, &report);
    return report;
}

static ADX_THREAD const char *adx_last_reason;

ADX_API const char *ad_fn_reason(void)
{
    return adx_last_reason == NULL ? ad_message(ADREV_OK) : adx_last_reason;
}

// Notes why a recording has this status, and returns the status. why NULL: the
// message of the status says it.
static ad_status adx_because(ad_status status, const char *why)
{
    adx_last_reason = why == NULL ? ad_message(status) : why;
    return status;
}

// Runs f on a tape with the hooks set, and frees the tape.
static void adx_run_recorded(adx_recorder *r, ad_vector_fn *f, void *ctx,
                             size_t n, ad_rev x[], size_t m, ad_rev y[])
{
    ad_tape *t = ad_tape_new_with(r->p->memory);
    if (t == NULL) {
        adx_spoil(r->p, ADREV_ENOMEM);
        return;
    }
    const ad_hooks hooks = { .trace = adx_record_operation, .user = r,
                             .array = adx_record_array };
    ad_tape *before = ad_use(t);
    r->tape = t;
    for (size_t i = 0; i < n; i++)
        x[i] = ad_input(x[i].v);
    ad_tape_hooks(t, &hooks);
    adx_record_inputs(r, n, x);
    t->observer = n > 0 ? adx_record_node : NULL;
    adx_unset(m, y);
    f(x, y, ctx);
    if (adx_now.tape != t)
        adx_refuse_recording(r, ADREV_EMARK, "the function has made another "
                             "tape current, or none");
    adx_record_outputs(r, t, m, y);
    ad_use(before);
    ad_tape_free(t);
}

// The arrays that f is lent. Behind each are a few numbers that f must not use.
typedef struct adx_lent {
    ad_rev *x;
    ad_rev *y;
} adx_lent;

// False: no memory, or impossible lengths.
static bool adx_lend_arrays(const ad_allocator *a, size_t n, size_t m,
                            adx_lent *lent)
{
    size_t most = SIZE_MAX / 4 / sizeof(ad_rev);
    lent->x = n > most || m > most ? NULL
            : (ad_rev *)adx_take(a, n + m + 2 * ADX_BEYOND, sizeof(ad_rev));
    if (lent->x == NULL)
        return false;
    lent->y = lent->x + n + ADX_BEYOND;
    adx_close_off(n, lent->x);
    adx_close_off(m, lent->y);
    return true;
}

// Records f at x. lent->y becomes what f computed.
static ad_status adx_record(ad_fn *fn, ad_vector_fn *f, void *ctx,
                            const ad_real x[], adx_lent *lent)
{
    adx_program *p = &fn->program;
    adx_recorder r = { .p = p };
    for (size_t i = 0; i < fn->n; i++)
        lent->x[i] = adx_passive(x[i]);
    adx_run_recorded(&r, f, ctx, fn->n, lent->x, fn->m, lent->y);
    adx_drop(p->memory, r.number);
    fn->guard = r.guard;
    fn->files = r.files;
    adx_end_program(p);
    return adx_because(p->status, r.why);
}

// Makes a function without a program. NULL: no memory.
static ad_fn *adx_new_fn(const ad_fn_options *o, size_t n, size_t m)
{
    const ad_allocator *memory = adx_allocator_or(o->allocator);
    ad_fn *fn = memory == NULL ? NULL
                               : (ad_fn *)adx_take(memory, 1, sizeof *fn);
    if (fn == NULL)
        return NULL;
    memset(fn, 0, sizeof *fn);
    fn->memory = *memory;
    atomic_init(&fn->holders, 1);
    fn->n = n;
    fn->m = m;
    fn->variables = n;
    adx_begin_program(&fn->program, &fn->memory, o->plain);
    return fn;
}

/* --- machines ------------------------------------------------------------ */

// Makes the program of J v: the tangent, without the values.
static ad_status adx_make_jvp(adx_program *q, const adx_program *p)
{
    adx_make_tangent(q, p, adx_variables_of(p));
    q->outputs = q->outputs < p->outputs ? q->outputs : p->outputs;
    return q->status;
}

// Makes the program of H v: the tangent of the adjoint.
static ad_status adx_make_hvp(adx_program *q, const adx_program *p,
                              const adx_repeated *step)
{
    adx_program adjoint;
    size_t n = adx_variables_of(p);
    ad_status status = adx_make_adjoint(&adjoint, p, n, step->carried > 0);
    adjoint.outputs = n;                // without the values
    if (status == ADREV_OK)
        status = adx_make_tangent(q, &adjoint, n);
    else
        adx_begin_program(q, p->memory, false);
    q->outputs = q->outputs < n ? q->outputs : n;
    adx_free_program(&adjoint);
    return status;
}

// Derives the program of a kind of evaluation.
static ad_status adx_make_derived(adx_program *q, const ad_fn *fn,
                                  adx_kind kind)
{
    const adx_program *p = &fn->program;
    const adx_repeated *step = &fn->repeated;
    switch (kind) {
    case ADX_KIND_jvp: return adx_make_jvp(q, p);
    case ADX_KIND_vjp:
        return adx_make_adjoint(q, p, adx_variables_of(p), step->carried > 0);
    case ADX_KIND_hvp: return adx_make_hvp(q, p, step);
    case ADX_KIND_taylor1:
        return adx_make_along(q, p, adx_variables_of(p), false);
    case ADX_KIND_taylor2:
        return adx_make_along(q, p, adx_variables_of(p), true);
    case ADX_KIND_linear: return adx_make_jacobian(q, p, true);
    case ADX_KIND_hessian: return adx_make_hessian(q, p);
    case ADX_KIND_primal: return adx_make_primal(q, p, step);
    case ADX_KIND_pullback: return adx_make_pullback(q, p, step);
    case ADX_KIND_unrolled: return adx_make_unrolled(q, p, step);
    default: return adx_make_copy(q, p);
    }
}

// Makes the machine of a kind of evaluation.
static ad_status adx_make_kind(adx_machine **out, const ad_fn *fn,
                               adx_kind kind)
{
    const adx_program *p = &fn->program;
    adx_program made;
    bool itself = kind == ADX_KIND_value;
    ad_status status = ADREV_OK;
    *out = NULL;
    adx_begin_program(&made, p->memory, false);
    if (!itself)
        status = adx_make_derived(&made, fn, kind);
    if (status == ADREV_OK) {
        *out = adx_make_machine(itself ? p : &made);
        status = *out == NULL ? ADREV_ENOMEM : ADREV_OK;
    }
    adx_free_program(&made);
    return status;
}

// Publishes a machine. If another thread has published one first, that one
// stays and is returned.
static adx_machine *adx_publish_machine(ad_fn *fn, adx_kind kind,
                                        adx_machine *m)
{
    adx_machine *other = NULL;
    if (atomic_compare_exchange_strong_explicit(
            &fn->machine[kind], &other, m, memory_order_acq_rel,
            memory_order_acquire))
        return m;
    adx_free_machine(m);
    return other;
}

// Finds the machine of a kind, which is made once. If two threads make it at
// the same time, the one that is done later frees its own.
static ad_status adx_machine_of(ad_fn *fn, adx_kind kind, adx_machine **out)
{
    // acquire: pairs with the release below, which publishes what it points to.
    adx_machine *m = atomic_load_explicit(&fn->machine[kind],
                                          memory_order_acquire);
    if (m == NULL) {
        ad_status status = adx_make_kind(&m, fn, kind);
        if (status != ADREV_OK)
            return status;
        m = adx_publish_machine(fn, kind, m);
    }
    *out = m;
    return ADREV_OK;
}

// Notes for ad_fn_guard that a guard came out differently.
static ad_status adx_flip_guard(const ad_fn *fn, uint32_t guard)
{
    const adx_code_place *at = &fn->guard[guard];
    adx_last_guard = (ad_guard){ guard, at->file, at->line };
    return ADREV_EPATH;
}
