#pragma once

/* === loop/replay ============================================================
 * Steps are replayed if adrev_function.h is there. On the way back a step is
 * recorded as a function the first time, and again when two steps have taken
 * another path; up to ADX_PATHS functions are kept. Each step tries them in
 * turn, until the guards of one pass. Functions that an earlier scan has left
 * (ad_replays) also run forwards, as primals: behind the state they hand on
 * what the pullback of the same function needs (function/matrices).
 *
 * A recording does not see everything that a step does. So at some steps a
 * function is compared with the step itself. If they differ, the step is said
 * to vary: its functions are given up, and the run is repeated without them.
 *
 *   needs   number/recording tape/memory sweep/session function/api
 *           function/functions function/evaluation code/api code/wanted
 *           code/compile bulk/api bulk/maps loop/api loop/stage loop/schedule
 *           loop/scan loop/step
 *   offers  adx_free_paths adx_spare_states adx_take_spare_states
 *           adx_choose_replays adx_record_step adx_next_look_back
 *           adx_evaluation_of adx_end_evaluations adx_replay_step
 *           adx_count_behind adx_next_look adx_run_known_step
 * ========================================================================== */

static void adx_free_paths(ad_replays *r)
{
#ifdef ADREV_FUNCTION_IMPLEMENTED
    for (size_t i = 0; i < r->paths; i++)
        ad_fn_free(r->path[i].fn);
#endif
    r->paths = 0;
}

ADX_API ad_replays *ad_replays_new(const ad_allocator *allocator)
{
    const ad_allocator *a = allocator == NULL ? adx_allocator_or(NULL)
                                              : allocator;
    if (!adx_is_allocator(a))
        return NULL;
    ad_replays *r = (ad_replays *)adx_take(a, 1, sizeof *r);
    if (r != NULL)
        *r = (ad_replays){ .memory = *a };
    return r;
}

ADX_API void ad_replays_free(ad_replays *r)
{
    if (r == NULL)
        return;
    adx_free_paths(r);
    ad_allocator memory = r->memory;
    adx_free_state_pool(&memory, &r->spare);
    adx_drop(&memory, r);
}

// Returns the states of the level that keeps all states of a range. NULL: no
// such level is in memory.
static adx_state_pool *adx_full_state_pool(adx_timetable *p)
{
    adx_kept_level *l = p->levels == 0 ? NULL : &p->level[p->levels - 1];
    return l != NULL && l->every == 1 && l->store == NULL ? &l->pool : NULL;
}

static bool adx_same_memory(const ad_allocator *a, const ad_allocator *b)
{
    return a->alloc == b->alloc && a->free == b->free && a->user == b->user;
}

// Leaves the memory for all states to the next scan of these functions. Memory
// that has been used is cheaper than new memory, since the system has already
// given its pages. (bench: loop, scan comp, 0.83.)
static void adx_spare_states(adx_scan *c)
{
    adx_state_pool *full = adx_full_state_pool(&c->timetable);
    ad_replays *r = c->replay.used;
    if (full == NULL || r == NULL || r == &c->replay.own
        || r->spare.blocks > 0
        || !adx_same_memory(&r->memory, &c->timetable.memory))
        return;
    r->spare = *full;
    memset(full, 0, sizeof *full);
}

// Takes the memory that an earlier scan has left, if it has the right size;
// else frees it.
static void adx_take_spare_states(adx_scan *c)
{
    adx_state_pool *full = adx_full_state_pool(&c->timetable);
    adx_state_pool *spare = &c->replay.used->spare;
    if (full == NULL || spare->blocks == 0
        || !adx_same_memory(&c->replay.used->memory, &c->timetable.memory))
        return;
    if (spare->most != full->most || spare->bytes != full->bytes) {
        adx_free_state_pool(&c->timetable.memory, spare);
        return;
    }
    *full = *spare;
    memset(spare, 0, sizeof *spare);
    adx_count_bytes(&c->timetable, full->states * full->bytes);
}

// Returns a hash of how the numbers of a step are arranged (FNV-1a, word by
// word).
static uint64_t adx_layout_of(const adx_scan *c)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    size_t slices = c->n.states + c->n.outputs;
    const size_t counts[] = { c->n.states, c->n.sequences, c->n.outputs,
                              c->n.parameters, c->shape.pieces };
    for (size_t i = 0; i < 5 + slices + c->shape.pieces; i++) {
        size_t word = i < 5 ? counts[i]
                    : i < 5 + slices ? c->shape.slice[i - 5].size
                    : c->shape.piece[i - 5 - slices].at;
        h = (h ^ word) * UINT64_C(0x100000001b3);
    }
    return h;
}

static bool adx_same_call(const adx_step_call *a, const adx_step_call *b)
{
    return a->step == b->step && a->f == b->f && a->ctx == b->ctx;
}

// Chooses the functions of this scan: those that were given, if they belong to
// this step or to none yet; else the scan's own.
static void adx_choose_replays(adx_scan *c, ad_replays *given)
{
    ad_replays *r = &c->replay.own;
    *r = (ad_replays){ .memory = c->of.memory, .call = c->call, .in = c->n.in,
                       .out = c->n.out, .layout = adx_layout_of(c) };
    c->replay.used = r;
    if (given == NULL)
        return;
    if (given->call.step == NULL && given->call.f == NULL) {
        r->memory = given->memory;
        *given = *r;
    }
    if (adx_same_call(&given->call, &r->call) && given->in == r->in
        && given->out == r->out && given->layout == r->layout)
        c->replay.used = given;
}

#ifdef ADREV_FUNCTION_IMPLEMENTED

typedef struct adx_recorded_step {
    adx_stepping *k;
    bool stop;
} adx_recorded_step;

// Calls the step as the function that is being recorded.
static void adx_step_as_function(const ad_rev *x, ad_rev *y, void *ctx)
{
    adx_recorded_step *r = (adx_recorded_step *)ctx;
    adx_point_at(r->k, x, y);
    r->stop = adx_call_step(r->k, x, y);
    // That a result was not set has been noticed by now; the recorder need not
    // notice it, too.
    for (size_t i = 0; i < r->k->scan->n.out; i++)
        if (!adx_all_set(1, &y[i]))
            y[i] = adx_passive(0);
}

// Returns how many numbers a step may hand on: as many as take three quarters
// of the memory of the state, or four if the state is small. (bench: lstm, scan
// comp, clang, 0.93 of half the memory.)
static size_t adx_hands_on(const adx_scan *c)
{
    return c->n.window > 5 ? c->n.window * 3 / 4 : 4;
}

// Records the step whose inputs were gathered as a function.
static ad_status adx_record_step(adx_stepping *k, const ad_allocator *a,
                                 ad_fn **fn, bool *stop)
{
    const adx_scan *c = k->scan;
    const ad_fn_options options = { .allocator = a, .once = true };
    adx_recorded_step r = { .k = k };
    ad_status status = ad_fn_record_with(fn, &options, adx_step_as_function,
                                         &r, c->n.in, k->io.in, c->n.out);
    adx_point_at(k, k->io.rin, k->io.rout);
    *stop = r.stop;
    return status;
}

// What the programs that are derived from a path have to know, and machine code
// of them.
static void adx_prepare_path(const adx_scan *c, ad_fn *fn)
{
    fn->repeated.hands_on = adx_hands_on(c);
    if (adx_is_lean(c)) {
        fn->repeated.carried = c->n.window;
        fn->repeated.parameters = c->n.parameters;
    }
    if (c->replay.compiled) {
        ad_compile_report unread = { .reason = ADREV_COMPILE_DONE };
        adx_compile(fn, NULL, &unread, adx_handed_on(fn) == 0
                    ? 0u : (unsigned)(ADX_C_PRIMAL | ADX_C_PULLBACK));
    }
}

// Records step s as a function. If that is impossible, the step varies from now
// on: it is never replayed.
static void adx_record_path(adx_stepping *k, size_t s)
{
    adx_scan *c = k->scan;
    ad_replays *p = c->replay.used;
    ad_status before = k->status;
    ad_fn *fn;
    bool stop;
    adx_long_loop = false;
    ad_status status = adx_record_step(k, &p->memory, &fn, &stop);
    bool failed = status != ADREV_OK || k->status != before || c->replay.varies
               || adx_long_loop || adx_is_empty(fn);
    // If the step failed although nothing else did, it fails itself; otherwise
    // it may only have passed on that it cannot be recorded.
    if (status != ADREV_OK)
        k->status = status == ADREV_ENOMEM ? status : before;
    if (failed) {
        ad_fn_free(fn);
        p->varies = status != ADREV_ENOMEM;
        return;
    }
    adx_prepare_path(c, fn);
    p->path[p->paths++] = (adx_step_path){ .fn = fn, .stop = stop, .upto = s };
    c->report->paths++;
}

// Whether a function is compared with step s of the first sweep: with a
// sixteenth of the steps, counted from the last one; and if an earlier scan has
// compared it before, only with some at distances of powers of two.
static bool adx_is_looked_at(const adx_scan *c, const adx_step_path *p,
                             size_t s)
{
    size_t far = c->steps - 1 - s;
    bool known = c->replay.known > 0;
    return !c->replay.swept && (p->upto != s || known)
        && (known ? (far & (far - 1)) == 0 : adx_is_sampled(far));
}

// Returns the first step from s down at which a function is compared; SIZE_MAX:
// there is none.
static size_t adx_next_look_back(const adx_scan *c, size_t s)
{
    size_t last = c->steps - 1;
    size_t far = c->replay.known > 0 ? adx_next_power(last - s)
                              : adx_next_sample(last - s);
    return c->replay.swept || far > last ? SIZE_MAX : last - far;
}

// Whether a function does what the step does here. It does not if the step
// reads x.v, which no recording sees, or anything that changes.
static bool adx_is_true_to_step(adx_stepping *k, const adx_step_path *p)
{
    adx_scan *c = k->scan;
    adx_run_step(k, false);
    c->report->evaluations--;
    c->report->checks++;
    if (k->status != ADREV_OK)
        return true;                    // the whole run fails
    bool same = ad_fn_eval(p->fn, k->io.in, k->io.out) == ADREV_OK;
    for (size_t i = 0; same && i < c->n.out; i++)
        same = adx_is_near(k->io.out[i], k->io.rout[i].v);
    return same;
}

// Gives up all functions: from now on only the step itself runs, and this run
// is repeated. But if this is a sweep and the first run used functions, results
// of the scan are wrong, and the sweep can only fail.
static void adx_mistrust(adx_stepping *k)
{
    adx_scan *c = k->scan;
    c->replay.used->varies = true;
    if (c->replay.by_function && !k->first)
        k->status = ADREV_EEXTERNAL;
    else
        k->replay.again = true;
}

// Begins to evaluate a path in one of the ways (ADX_CALL_...). NULL: no memory.
static adx_evaluation *adx_new_evaluation(adx_stepping *k, size_t path, int how)
{
    static const adx_kind kind[] = {
        ADX_KIND_value, ADX_KIND_primal, ADX_KIND_vjp, ADX_KIND_pullback,
        ADX_KIND_unrolled
    };
    enum { ALL = ADX_PATHS * ADX_CALLS };
    if (k->replay.evaluation == NULL) {
        k->replay.evaluation = (adx_evaluation *)adx_take(
            &k->scan->of.memory, ALL, sizeof *k->replay.evaluation);
        if (k->replay.evaluation == NULL)
            return NULL;
        memset(k->replay.evaluation, 0, ALL * sizeof *k->replay.evaluation);
    }
    adx_evaluation *to = &k->replay.evaluation[path * ADX_CALLS + (size_t)how];
    ad_fn *fn = k->scan->replay.used->path[path].fn;
    if (adx_begin_evaluation(to, fn, kind[how]))
        return to;
    adx_end_evaluation(to);
    return NULL;
}

ADX_INLINE adx_evaluation *adx_evaluation_of(adx_stepping *k, size_t path,
                                             int how)
{
    size_t i = path * ADX_CALLS + (size_t)how;
    return k->replay.evaluation != NULL && k->replay.evaluation[i].fn != NULL
         ? &k->replay.evaluation[i] : adx_new_evaluation(k, path, how);
}

static void adx_end_evaluations(adx_stepping *k)
{
    adx_evaluation *all = k->replay.evaluation;
    for (size_t i = 0; all != NULL && i < ADX_PATHS * ADX_CALLS; i++)
        if (all[i].fn != NULL)
            adx_end_evaluation(&all[i]);
    adx_drop(&k->scan->of.memory, all);
}

// Returns 1 + the path whose primal has handed numbers on behind the state, or
// 0.
ADX_INLINE size_t adx_who_handed_on(const adx_scan *c)
{
    return c->timetable.behind == NULL ? 0 : (size_t)*c->timetable.behind;
}

// Computes the adjoints of the gathered inputs from the weights of the results,
// by path i: by its pullback if its primal ran here, else by its vjp. False:
// the step does not take this path.
ADX_INLINE bool adx_pull_path(adx_stepping *k, size_t i, const ad_real weight[],
                              ad_real product[])
{
    const adx_scan *c = k->scan;
    const adx_given x = { k->io.in, c->n.in };
    const adx_given w = { weight, c->n.out };
    const adx_wanted dx = { 0, c->n.in, product };
    if (adx_who_handed_on(c) == i + 1) {
        const adx_given given[] = {
            x, w, { c->timetable.behind + 1, c->replay.used->path[i].kept }
        };
        adx_evaluation *to = adx_evaluation_of(k, i, ADX_CALL_pullback);
        return to != NULL && adx_evaluate_next(to, 3, given, 1, &dx);
    }
    const adx_given given[] = { x, w };
    adx_evaluation *to = adx_evaluation_of(k, i, ADX_CALL_vjp);
    return to != NULL && adx_evaluate_next(to, 2, given, 1, &dx);
}

// The same for step s, for which the path must be allowed. It also returns
// false if the function does not do what the step does.
static bool adx_try_path(adx_stepping *k, size_t i, size_t s)
{
    adx_scan *c = k->scan;
    const adx_step_path *p = &c->replay.used->path[i];
    if ((i >= c->replay.known && s > p->upto)
        || !adx_pull_path(k, i, k->f.weight, k->f.product))
        return false;
    k->replay.latest = i;
    if (adx_is_looked_at(c, p, s) && !adx_is_true_to_step(k, p)) {
        adx_mistrust(k);
        return false;
    }
    c->report->evaluations++;
    c->report->replayed++;
    return true;
}

// Computes the adjoints of the inputs of step s, by the function for its path.
// False: there is none. If a primal ran here, only its path is tried.
static bool adx_try_paths(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    size_t handed = adx_who_handed_on(c);
    size_t n = c->replay.swept ? c->replay.limit : c->replay.used->paths;
    if (handed > 0)
        return adx_try_path(k, handed - 1, s);
    for (size_t i = 0; i < n && !c->replay.used->varies; i++)
        if (adx_try_path(k, i, s))
            return true;
    return false;
}

// Reverses step s by a function. A function is recorded if there is none, or if
// this is the second step for which none is right. False: the step itself must
// run.
static bool adx_replay_step(adx_stepping *k, size_t s)
{
    adx_scan *c = k->scan;
    ad_replays *r = c->replay.used;
    if (adx_is_varying(c)
        || (c->replay.known == 0 && c->steps < ADREV_REPLAY_FROM))
        return false;
    if (r->paths == 0 && !c->replay.swept)
        adx_record_path(k, s);
    if (adx_try_paths(k, s))
        return true;
    if (c->replay.swept || r->varies || r->paths == ADX_PATHS
        || r->missed++ % 2 == 0)
        return false;
    adx_record_path(k, s);
    return adx_try_paths(k, s);
}

// Counts the numbers that are needed behind each state: which function ran, and
// the most numbers that a known function hands on.
static void adx_count_behind(adx_scan *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->replay.known; i++) {
        adx_step_path *p = &c->replay.used->path[i];
        p->kept = adx_handed_on(p->fn);
        most = p->kept > most ? p->kept : most;
    }
    c->replay.behind = most == 0 ? 0 : 1 + most;
}

// Computes the results of the step whose inputs were gathered, by path i.
// Forwards a function is used only where that pays: if it is machine code, if
// its primal hands something on, and in lean runs (bench: sir, scan repl,
// clang, 0.87). False: it is not used, or the step does not take this path.
static bool adx_run_path(adx_stepping *k, size_t i, bool lean)
{
    const adx_scan *c = k->scan;
    ad_real *behind = c->timetable.behind;
    size_t kept = behind == NULL ? 0 : c->replay.used->path[i].kept;
    kept = kept < c->replay.behind ? kept : 0;     // as a later scan counted it
    const adx_given x = { k->io.in, c->n.in };
    const adx_wanted wanted[] = {
        { 0, c->n.out, k->io.out },
        { c->n.out, kept, kept > 0 ? behind + 1 : NULL }
    };
    if (kept == 0) {
        adx_evaluation *to = c->replay.compiled || lean
                              ? adx_evaluation_of(k, i, ADX_CALL_value) : NULL;
        return to != NULL && adx_evaluate_next(to, 1, &x, 1, wanted);
    }
    adx_evaluation *to = adx_evaluation_of(k, i, ADX_CALL_primal);
    if (to == NULL || !adx_evaluate_next(to, 1, &x, 2, wanted))
        return false;
    *behind = (ad_real)(i + 1);
    return true;
}

// Returns the next step, from s on, at which the first run compares a function
// with the step: step 0 and the powers of two.
static size_t adx_next_look(const adx_stepping *k, size_t s)
{
    return k->first ? adx_next_power(s) : SIZE_MAX;
}

// Does the step whose inputs were gathered by a function that an earlier scan
// has left. False: the step itself must run.
static bool adx_run_known_step(adx_stepping *k, bool *stop)
{
    adx_scan *c = k->scan;
    bool look = adx_next_look(k, k->io.index) == k->io.index;
    if (adx_is_varying(c) || (k->replay.rest > 0 && !c->replay.compiled))
        return false;
    for (size_t i = 0; i < c->replay.known; i++) {
        const adx_step_path *p = &c->replay.used->path[i];
        if (!adx_run_path(k, i, look && k->io.lean))
            continue;
        if (look && !adx_is_true_to_step(k, p)) {
            adx_mistrust(k);
            return false;
        }
        c->report->evaluations++;
        c->report->replayed++;
        c->replay.by_function |= k->first;
        k->replay.latest = i;
        *stop = p->stop;
        return true;
    }
    return false;
}

#else

static bool adx_replay_step(adx_stepping *k, size_t s)
{
    (void)k;
    (void)s;
    return false;
}

static bool adx_run_known_step(adx_stepping *k, bool *stop)
{
    (void)k;
    (void)stop;
    return false;
}

static void adx_end_evaluations(adx_stepping *k) { (void)k; }

static void adx_count_behind(adx_scan *c) { (void)c; }

#endif
