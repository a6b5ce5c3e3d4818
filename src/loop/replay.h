#pragma once

/* === loop/replay ============================================================
 * Steps are replayed only together with adrev_function.h. On the way back a
 * step is recorded as a function the first time, and again when steps have
 * taken another path twice; up to ADX_PATHS functions are kept. Each step tries
 * them in turn, until the guards of one pass. Functions that an earlier scan
 * has left (ad_replays) also run forwards: as primals, which hand on behind the
 * state what the pullback of the same function needs (function/matrices).
 *
 * A recording does not see all that a step does. So at some steps a function is
 * compared with the step itself. If they differ, the step varies: functions are
 * given up, and the run is made again without them.
 *
 * Where steps carry on one row of each state and nothing else (lean), most
 * steps in a row take the same path. Then one loop does many of them, by one
 * function.
 *
 *   needs   number/recording tape/memory sweep/session array/linear
 *           function/api function/operations function/program
 *           function/matrices function/run function/functions
 *           function/evaluation function/evaluate code/api code/wanted
 *           code/compile bulk/api bulk/maps loop/api loop/stage loop/schedule
 *           loop/scan loop/step
 *   offers  adx_free_paths adx_spare_states adx_take_spare_states
 *           adx_choose_replays adx_record_step adx_end_evaluations
 *           adx_replay_step adx_count_behind adx_run_known_step adx_go_lean
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
    const ad_allocator *a = allocator;
#ifndef ADREV_NO_STDLIB
    if (a == NULL)
        a = &adx_libc;
#endif
    if (a == NULL || a->alloc == NULL || a->free == NULL)
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

// The states of the level that keeps all states of a range; NULL: there is none
// in memory.
static adx_state_pool *adx_full_state_pool(adx_timetable *p)
{
    adx_kept_level *l = p->levels == 0 ? NULL : &p->level[p->levels - 1];
    return l != NULL && l->every == 1 && l->store == NULL ? &l->pool : NULL;
}

static bool adx_same_memory(const ad_allocator *a, const ad_allocator *b)
{
    return a->alloc == b->alloc && a->free == b->free && a->user == b->user;
}

// Leaves the memory for all states to the next scan of these functions: memory
// that has been used is cheaper than new memory, since its pages are there.
// (loop as a scan, compiled, bench/: 3.0 instead of 3.6 times the plain
// program.)
static void adx_spare_states(adx_scan *c)
{
    adx_state_pool *full = adx_full_state_pool(&c->plan);
    ad_replays *r = c->replays;
    if (full == NULL || r == NULL || r == &c->own_replays
        || r->spare.blocks > 0
        || !adx_same_memory(&r->memory, &c->plan.memory))
        return;
    r->spare = *full;
    memset(full, 0, sizeof *full);
}

// Takes such memory, if it has the right size; else frees it.
static void adx_take_spare_states(adx_scan *c)
{
    adx_state_pool *full = adx_full_state_pool(&c->plan);
    adx_state_pool *spare = &c->replays->spare;
    if (full == NULL || spare->blocks == 0
        || !adx_same_memory(&c->replays->memory, &c->plan.memory))
        return;
    if (spare->most != full->most || spare->bytes != full->bytes) {
        adx_free_state_pool(&c->plan.memory, spare);
        return;
    }
    *full = *spare;
    memset(spare, 0, sizeof *spare);
    adx_count_bytes(&c->plan, full->states * full->bytes);
}

// How the numbers of a step are arranged, as a hash (FNV-1a, word by word).
static uint64_t adx_layout_of(const adx_scan *c)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    size_t slices = c->states + c->outputs;
    const size_t counts[] = { c->states, c->sequences, c->outputs,
                              c->parameters, c->pieces };
    for (size_t i = 0; i < 5 + slices + c->pieces; i++) {
        size_t word = i < 5 ? counts[i]
                    : i < 5 + slices ? c->slice[i - 5].size
                    : c->piece[i - 5 - slices].at;
        h = (h ^ word) * UINT64_C(0x100000001b3);
    }
    return h;
}

// The functions of this scan: those that were given, if they are of this step,
// or of none yet; else its own.
static void adx_choose_replays(adx_scan *c, ad_replays *given)
{
    ad_replays *r = &c->own_replays;
    *r = (ad_replays){ .memory = c->of.memory, .step = c->step, .f = c->f,
                       .ctx = c->ctx, .in = c->in, .out = c->out,
                       .layout = adx_layout_of(c) };
    c->replays = r;
    if (given == NULL)
        return;
    if (given->step == NULL && given->f == NULL) {
        r->memory = given->memory;
        *given = *r;
    }
    if (given->step == r->step && given->f == r->f && given->ctx == r->ctx
        && given->in == r->in && given->out == r->out
        && given->layout == r->layout)
        c->replays = given;
}

#ifdef ADREV_FUNCTION_IMPLEMENTED

typedef struct adx_recorded_step {
    adx_stepping *k;
    bool stop;
} adx_recorded_step;

// The step, as the f of a recording.
static void adx_step_as_function(const ad_rev *x, ad_rev *y, void *ctx)
{
    adx_recorded_step *r = (adx_recorded_step *)ctx;
    adx_point_at(r->k, x, y);
    r->stop = adx_call_step(r->k, x, y);
    // That a result was not set has been noticed by now; the recorder need not
    // notice it, too.
    for (size_t i = 0; i < r->k->scan->out; i++)
        if (!adx_all_set(1, &y[i]))
            y[i] = adx_passive(0);
}

// How many numbers a step may hand on: as many as take three quarters of the
// memory of the state, or four if that is small. (lstm, bench/, compiled with
// clang: 2.5 times the plain program instead of 2.7 with half the memory.)
static size_t adx_hands_on(const adx_scan *c)
{
    return c->window > 5 ? c->window * 3 / 4 : 4;
}

// The step that was gathered, recorded as a function.
static ad_status adx_record_step(adx_stepping *k, const ad_allocator *a,
                                 ad_fn **fn, bool *stop)
{
    const adx_scan *c = k->scan;
    const ad_fn_options options = { .allocator = a, .once = true };
    adx_recorded_step r = { .k = k };
    ad_status status = ad_fn_record_with(fn, &options, adx_step_as_function,
                                         &r, c->in, k->in, c->out);
    adx_point_at(k, k->rin, k->rout);
    *stop = r.stop;
    return status;
}

// What the programs that are derived from a path have to know, and machine code
// of them.
static void adx_prepare_path(const adx_scan *c, ad_fn *fn)
{
    fn->program.hands_on = adx_hands_on(c);
    if (adx_is_lean(c)) {
        fn->program.carried = c->window;
        fn->program.parameters = c->parameters;
    }
    if (c->compiled) {
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
    ad_replays *p = c->replays;
    ad_status before = k->status;
    ad_fn *fn;
    bool stop;
    adx_long_loop = false;
    ad_status status = adx_record_step(k, &p->memory, &fn, &stop);
    bool failed = status != ADREV_OK || k->status != before || c->varies
               || adx_long_loop || adx_is_empty(fn);
    // A step that fails where nothing else did fails; otherwise it may only
    // have passed on that it cannot be recorded.
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
    bool known = c->known > 0;
    return !c->swept && (p->upto != s || known)
        && (known ? (far & (far - 1)) == 0 : adx_is_sampled(far));
}

// The first such step, from s down; SIZE_MAX: there is none.
static size_t adx_next_look_back(const adx_scan *c, size_t s)
{
    size_t last = c->steps - 1;
    size_t far = c->known > 0 ? adx_next_power(last - s)
                              : adx_next_sample(last - s);
    return c->swept || far > last ? SIZE_MAX : last - far;
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
    bool same = ad_fn_eval(p->fn, k->in, k->out) == ADREV_OK;
    for (size_t i = 0; same && i < c->out; i++)
        same = adx_is_near(k->out[i], k->rout[i].v);
    return same;
}

// From now on only the step itself runs, and this run is made again. But if
// this is a sweep, and the first run used functions, then results of the scan
// are wrong, and all that can be done is to fail.
static void adx_mistrust(adx_stepping *k)
{
    adx_scan *c = k->scan;
    c->replays->varies = true;
    if (c->by_function && !k->first)
        k->status = ADREV_EEXTERNAL;
    else
        k->again = true;
}

// Begins to evaluate a path in one of the ways. NULL: no memory.
static adx_evaluation *adx_new_evaluation(adx_stepping *k, size_t path, int how)
{
    static const adx_kind kind[] = {
        ADX_KIND_value, ADX_KIND_primal, ADX_KIND_vjp, ADX_KIND_pullback,
        ADX_KIND_unrolled
    };
    enum { ALL = ADX_PATHS * ADX_CALLS };
    if (k->evaluation == NULL) {
        k->evaluation = (adx_evaluation *)adx_take(&k->scan->of.memory, ALL,
                                             sizeof *k->evaluation);
        if (k->evaluation == NULL)
            return NULL;
        memset(k->evaluation, 0, ALL * sizeof *k->evaluation);
    }
    adx_evaluation *to = &k->evaluation[path * ADX_CALLS + (size_t)how];
    if (adx_begin_evaluation(to, k->scan->replays->path[path].fn, kind[how]))
        return to;
    adx_end_evaluation(to);
    return NULL;
}

ADX_INLINE adx_evaluation *adx_evaluation_of(adx_stepping *k, size_t path,
                                             int how)
{
    size_t i = path * ADX_CALLS + (size_t)how;
    return k->evaluation != NULL && k->evaluation[i].fn != NULL
         ? &k->evaluation[i] : adx_new_evaluation(k, path, how);
}

static void adx_end_evaluations(adx_stepping *k)
{
    for (size_t i = 0; k->evaluation != NULL && i < ADX_PATHS * ADX_CALLS; i++)
        if (k->evaluation[i].fn != NULL)
            adx_end_evaluation(&k->evaluation[i]);
    adx_drop(&k->scan->of.memory, k->evaluation);
}

// 1 + the path whose primal has handed numbers on, behind the state; or 0.
ADX_INLINE size_t adx_who_handed_on(const adx_scan *c)
{
    return c->plan.behind == NULL ? 0 : (size_t)*c->plan.behind;
}

// Adjoints of the inputs that were gathered, from the weights of the results,
// by path i: by its pullback if its primal ran here, else by its vjp. False:
// the step does not take this path.
ADX_INLINE bool adx_pull_path(adx_stepping *k, size_t i, const ad_real weight[],
                              ad_real product[])
{
    const adx_scan *c = k->scan;
    const adx_given x = { k->in, c->in };
    const adx_given w = { weight, c->out };
    const adx_wanted dx = { 0, c->in, product };
    if (adx_who_handed_on(c) == i + 1) {
        const adx_given given[] = {
            x, w, { c->plan.behind + 1, c->replays->path[i].kept }
        };
        adx_evaluation *to = adx_evaluation_of(k, i, ADX_CALL_pullback);
        return to != NULL && adx_evaluate_next(to, 3, given, 1, &dx);
    }
    const adx_given given[] = { x, w };
    adx_evaluation *to = adx_evaluation_of(k, i, ADX_CALL_vjp);
    return to != NULL && adx_evaluate_next(to, 2, given, 1, &dx);
}

// The same for step s, which must be one of those that the path may be used
// for. Also false: the function does not do what the step does.
static bool adx_try_path(adx_stepping *k, size_t i, size_t s)
{
    adx_scan *c = k->scan;
    const adx_step_path *p = &c->replays->path[i];
    if ((i >= c->known && s > p->upto)
        || !adx_pull_path(k, i, k->f.weight, k->f.product))
        return false;
    k->latest = i;
    if (adx_is_looked_at(c, p, s) && !adx_is_true_to_step(k, p)) {
        adx_mistrust(k);
        return false;
    }
    c->report->evaluations++;
    c->report->replayed++;
    return true;
}

// Adjoints of what step s was given, by the function for its path. False: there
// is none. If a primal ran here, only its path comes into question.
static bool adx_try_paths(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    size_t handed = adx_who_handed_on(c);
    size_t n = c->swept ? c->limit : c->replays->paths;
    if (handed > 0)
        return adx_try_path(k, handed - 1, s);
    for (size_t i = 0; i < n && !c->replays->varies; i++)
        if (adx_try_path(k, i, s))
            return true;
    return false;
}

// Reverses step s by a function. One is recorded if there is none, or if this
// is the second step that takes none of them. False: the step itself must run.
static bool adx_replay_step(adx_stepping *k, size_t s)
{
    adx_scan *c = k->scan;
    ad_replays *r = c->replays;
    if (adx_is_varying(c)
        || (c->known == 0 && c->steps < ADREV_REPLAY_FROM))
        return false;
    if (r->paths == 0 && !c->swept)
        adx_record_path(k, s);
    if (adx_try_paths(k, s))
        return true;
    if (c->swept || r->varies || r->paths == ADX_PATHS || r->missed++ % 2 == 0)
        return false;
    adx_record_path(k, s);
    return adx_try_paths(k, s);
}

// Counts the numbers that are needed behind each state: which function it was,
// and what those that are known hand on at most.
static void adx_count_behind(adx_scan *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->known; i++) {
        adx_step_path *p = &c->replays->path[i];
        p->kept = adx_handed_on(p->fn);
        most = p->kept > most ? p->kept : most;
    }
    c->behind = most == 0 ? 0 : 1 + most;
}

// Results of the step that was gathered, by path i. A function is used forwards
// only where that is worth it: if it is machine code, if its primal hands
// something on, and in lean runs (sir replayed with clang, bench/: 7.2 instead
// of 8.3 times the plain program). False: it is not used, or the step does not
// take this path.
static bool adx_run_path(adx_stepping *k, size_t i, bool lean)
{
    const adx_scan *c = k->scan;
    ad_real *behind = c->plan.behind;
    size_t kept = behind == NULL ? 0 : c->replays->path[i].kept;
    kept = kept < c->behind ? kept : 0;     // as a later scan counted it
    const adx_given x = { k->in, c->in };
    const adx_wanted wanted[] = {
        { 0, c->out, k->out }, { c->out, kept, kept > 0 ? behind + 1 : NULL }
    };
    if (kept == 0) {
        adx_evaluation *to = c->compiled || lean
                              ? adx_evaluation_of(k, i, ADX_CALL_value) : NULL;
        return to != NULL && adx_evaluate_next(to, 1, &x, 1, wanted);
    }
    adx_evaluation *to = adx_evaluation_of(k, i, ADX_CALL_primal);
    if (to == NULL || !adx_evaluate_next(to, 1, &x, 2, wanted))
        return false;
    *behind = (ad_real)(i + 1);
    return true;
}

// The next step, from s on, at which the first run compares a function with the
// step: at 0 and the powers of two.
static size_t adx_next_look(const adx_stepping *k, size_t s)
{
    return k->first ? adx_next_power(s) : SIZE_MAX;
}

// Does the step that was gathered by a function that was known before. False:
// the step itself must run.
static bool adx_run_known_step(adx_stepping *k, bool *stop)
{
    adx_scan *c = k->scan;
    bool look = adx_next_look(k, k->index) == k->index;
    if (adx_is_varying(c) || (k->rest > 0 && !c->compiled))
        return false;
    for (size_t i = 0; i < c->known; i++) {
        const adx_step_path *p = &c->replays->path[i];
        if (!adx_run_path(k, i, look && k->lean))
            continue;
        if (look && !adx_is_true_to_step(k, p)) {
            adx_mistrust(k);
            return false;
        }
        c->report->evaluations++;
        c->report->replayed++;
        c->by_function |= k->first;
        k->latest = i;
        *stop = p->stop;
        return true;
    }
    return false;
}

/* --- lean runs --------------------------------------------------------------
 * Many lean steps at once, by one function and without the layers that other
 * loops need; inputs that do not change stay where the function takes them. A
 * step that is special in any way ends the run, and is done by those layers:
 * one on another path, one that is compared, one with a result that is not
 * finite. Where runs turn out to be short, no new one is begun for a while.
 * (loop as a scan, bench/: compiled 2.2 instead of 4.4 times the plain program,
 * replayed 3.0 instead of 3.4.)                                              */

enum { ADX_SHORT_RUN = 4, ADX_REST = 64 };

// A run of lean steps by one function.
typedef struct adx_lean {
    adx_stepping *k;
    size_t path;
    adx_kept_level *level;      // of the states; NULL: they are not kept
    size_t base;                // state 0 is that before this step
    char *at;                   // the latest state
    size_t near;                // how many follow it in the same block, in the
                                // direction of the run
    ptrdiff_t stride;           // from a state to the next, in bytes
    ad_real mark;               // before what is handed on: 1 + the path, or 0
    size_t kept;                // numbers handed on
    const adx_evaluation *by;
    bool cut;                   // it ended at a step that is not for `by`
} adx_lean;

// Begins in the way `handing` if numbers are handed on, else in the way
// `plain`.
static bool adx_begin_lean(adx_lean *r, int plain, int handing)
{
    r->by = adx_evaluation_of(r->k, r->path, r->kept > 0 ? handing : plain);
    return r->by != NULL;
}

// Whether no run is to be begun now, because the latest one was short.
static bool adx_has_rest(adx_stepping *k)
{
    if (k->rest == 0)
        return false;
    k->rest--;
    return true;
}

static void adx_end_lean(const adx_lean *r, size_t steps)
{
    r->k->scan->report->evaluations += steps;
    r->k->scan->report->replayed += steps;
    r->k->rest = r->cut && steps < ADX_SHORT_RUN ? ADX_REST : 0;
}

// Finds state s, which begins a new block or a run. False: there is no room.
static bool adx_find_state(adx_lean *r, size_t s)
{
    adx_state_pool *pool = &r->level->pool;
    r->at = adx_in_state_pool(&r->k->scan->plan, pool, s - r->base);
    size_t last = ((size_t)1 << pool->bits) - 1;
    size_t number = (s - r->base) & last;
    r->near = r->at == NULL ? 0 : r->stride < 0 ? number : last - number;
    return r->at != NULL;
}

// State s, which follows the latest one; *behind is the mark behind it. NULL:
// there is no room. Memory further on is asked for before it is needed (loop as
// a scan of 10^6 steps, replayed: 38.5 instead of 41.5 ns a step).
ADX_INLINE ad_real *adx_next_state(adx_lean *r, size_t s, ad_real **behind)
{
    if (r->near > 0) {
        r->near--;
        r->at += r->stride;
    } else
        adx_find_state(r, s);
    ADX_FETCH((uintptr_t)r->at + (r->stride < 0 ? (uintptr_t)0 - ADX_FAR
                                                : ADX_FAR));
    *behind = adx_behind(&r->k->scan->plan, r->level, r->at);
    return (ad_real *)(void *)r->at;
}

// Keeps x as state s, if states are kept, and says where to write what is
// handed on. False: no memory.
ADX_INLINE bool adx_keep_lean(adx_lean *r, size_t s, const ad_real x[],
                              ad_real **handed)
{
    ad_real *behind;
    *handed = NULL;
    if (r->level == NULL)
        return true;
    ad_real *at = adx_next_state(r, s, &behind);
    if (at == NULL)
        return false;
    adx_copy_few(r->k->scan->window, x, at);
    if (behind != NULL)
        *behind = r->mark;
    *handed = r->kept > 0 ? behind + 1 : NULL;
    return true;
}

// The state before step s, and what was handed on with it. NULL: its mark is
// not that of the run.
ADX_INLINE const ad_real *adx_fetch_lean(adx_lean *r, size_t s,
                                         const ad_real **handed)
{
    ad_real *behind;
    const ad_real *at = adx_next_state(r, s, &behind);
    *handed = behind == NULL ? NULL : behind + 1;
    return behind != NULL && *behind != r->mark ? NULL : at;
}

// The weights of step s, from the adjoints of the state; NULL: all are 0. If
// all results are the state, the adjoints are the weights.
ADX_INLINE const ad_real *adx_weigh_lean(const adx_stepping *k, size_t s,
                                         const ad_real carried[])
{
    const adx_scan *c = k->scan;
    if (c->told > 0 || c->out > c->window)
        return adx_weigh(c, s, &k->f, carried) ? k->f.weight : NULL;
    return adx_zeros(c->window, carried) ? NULL : carried;
}

// Gathers what a step is given besides its state, as far as it changes.
ADX_INLINE void adx_gather_lean(const adx_scan *c, size_t s, ad_real x[])
{
    adx_gather_sequences(c, s, c->value, x);
    x[c->in - 1] = (ad_real)s;
}

// Takes n results of a replay. Returns whether all are finite.
ADX_INLINE bool adx_take_results(const adx_evaluation *by, size_t first,
                                 size_t n, ad_real y[])
{
    const uint32_t *from = by->machine->output + first;
    const ad_real *w = by->work->w;
    ad_real fault = 0;
    size_t i = 0;
    for (; i + 1 < n; i += 2) {     // two at a time: see adx_copy_few
        ad_real a = w[from[i]];
        ad_real b = w[from[i + 1]];
        fault += a * 0 + b * 0;
        y[i] = a;
        y[i + 1] = b;
    }
    if (i < n) {
        y[i] = w[from[i]];
        fault += y[i] * 0;
    }
    return fault == 0;
}

// Results of a step, and what it hands on, by machine code or a replay. False:
// the step is not for this function.
ADX_INLINE bool adx_lean_primal(const adx_lean *r, bool compiled,
                               const ad_real x[], ad_real y[], ad_real handed[])
{
    const adx_scan *c = r->k->scan;
    const adx_evaluation *by = r->by;
    const adx_compiled *code = &by->fn->compiled[by->kind];
    const adx_given given = { x, c->in };
    if (compiled)
        return adx_call_compiled(code, 1, &given, y, handed, by->room->w) == 0
            && (code->checks || adx_finite_few(c->out, y));
    return adx_nodes_plain(by->machine, by->work->w) == NULL
        && adx_take_results(by, 0, c->out, y)
        && adx_take_results(by, c->out, r->kept, handed);
}

// Adjoints dx of what a step was given, from its weights.
ADX_INLINE bool adx_lean_pullback(const adx_lean *r, bool compiled,
                              const ad_real x[], const ad_real w[],
                              const ad_real handed[], ad_real dx[])
{
    const adx_scan *c = r->k->scan;
    const adx_evaluation *by = r->by;
    const adx_compiled *code = &by->fn->compiled[by->kind];
    const adx_given given[] = { { x, c->in }, { w, c->out },
                                { handed, r->kept } };
    if (compiled)
        return adx_call_compiled(code, r->kept > 0 ? 3 : 2, given, dx, NULL,
                                 by->room->w) == 0
            && (code->checks || adx_finite_few(c->in - 1, dx));
    adx_copy_few(c->out, w, by->work->w + c->in);
    adx_copy_few(r->kept, handed, by->work->w + c->in + c->out);
    return adx_nodes_plain(by->machine, by->work->w) == NULL
        && adx_take_results(by, 0, c->in - 1, dx);
}

// Whether machine code does many steps at once. It can if no step has results
// of the scan.
static bool adx_has_loop(const adx_lean *r)
{
    return r->k->scan->told == 0
        && r->by->fn->compiled[r->by->kind].loop != NULL;
}

// The data of sequences that a step reads, one number each: where they are at a
// step, and how far they move from step to step.
typedef struct adx_moving_data {
    const ad_real *data[ADX_CHECKED_MOST];
    ad_real *sums[ADX_CHECKED_MOST];       // adjoints; back only
    long move[ADX_CHECKED_MOST];
} adx_moving_data;

static void adx_list_data(adx_moving_data *d, const adx_stepping *k, size_t s,
                          bool back)
{
    const adx_scan *c = k->scan;
    for (size_t i = c->state_pieces; i < c->pieces; i++) {
        const adx_piece *p = &c->piece[i];
        size_t from = p->from + (size_t)((ptrdiff_t)s * p->move);
        for (size_t j = 0; j < p->size; j++) {
            size_t at = p->at - c->window + j;
            d->data[at] = c->value + from + j;
            d->sums[at] = back ? k->f.dx + c->window + from + j : NULL;
            d->move[at] = (long)(back ? -p->move : p->move);
        }
    }
}

// Lets machine code do many of `steps` steps, s first: as long as their states
// are in one block. Returns how many it did. (loop as a scan, compiled, bench/:
// 1.9 instead of 2.2 times the plain program.)
static size_t adx_do_loop(adx_lean *r, bool back, size_t s, size_t steps)
{
    const adx_stepping *k = r->k;
    const adx_scan *c = k->scan;
    ad_real *behind = NULL;
    adx_moving_data d;
    if (r->level != NULL) {
        if (!adx_find_state(r, s))
            return 0;
        steps = steps <= r->near ? steps : r->near + 1;
        behind = adx_behind(&c->plan, r->level, r->at);
        r->near = 0;            // the next one is looked for
    }
    adx_list_data(&d, k, s, back);
    return (size_t)r->by->fn->compiled[r->by->kind].loop(
        (long)steps, (long)s, back ? k->f.carried : k->in,
        (ad_real *)(void *)r->at,
        (long)(r->stride / (ptrdiff_t)sizeof(ad_real)),
        behind != NULL ? &r->mark : NULL, d.data, d.sums, d.move,
        k->in + c->in - 1 - c->parameters,
        back ? k->f.dx + c->window + c->data : NULL, r->by->room->w);
}

// Steps are unrolled only if they have few operations; else these take the
// time. A program for one scan only must save what it costs to make it: 10 to
// 20 us, where each step saves about 10 ns.
enum { ADX_UNROLLED_NODES = 64, ADX_UNROLLED_PAYS = 2000 };

// Whether a step is short enough, and has the shape that an unrolled pullback
// needs. That does not look at guards: either the steps are known to be on this
// path (passed), or there must be none.
static bool adx_may_unroll(const adx_program *p, bool passed)
{
    bool fits = p->carried > 0 && p->outputs == p->carried && p->manys == 0
             && p->inputs == p->carried + p->parameters + 1
             && p->nodes <= ADX_UNROLLED_NODES;
    for (size_t i = 0; fits && !passed && i < p->nodes; i++)
        fits = p->node[i].op != ADX_OP_guard;
    return fits;
}

// What replays the pullbacks of ADX_UNROLLED steps at once, of `steps` steps
// that are to be done; NULL: nothing does, or it is not worth it.
static const adx_evaluation *adx_unrolled_of(const adx_lean *r, size_t steps)
{
    const adx_scan *c = r->k->scan;
    if (steps < (r->path < c->known ? ADX_UNROLLED : ADX_UNROLLED_PAYS)
        || c->told > 0
        || !adx_may_unroll(&r->by->fn->program, r->mark > 0))
        return NULL;
    size_t n = ADX_UNROLLED * (c->window + r->kept + 1)
             + 2 * c->parameters + c->window;
    const adx_evaluation *by =
        adx_evaluation_of(r->k, r->path, ADX_CALL_unrolled);
    return by != NULL && by->machine->inputs == n ? by : NULL;
}

// Reverses steps before s, down to `from`, ADX_UNROLLED at a time, as long as
// they keep to the function. Returns the earliest step that is reversed then.
// f.carried are the adjoints of the state, before and after. (loop as a scan,
// replayed, bench/: 2.6 instead of 2.9 times the plain program.)
//
// The inputs of the unrolled program are in its workspace, in the order of
// adx_make_unrolled. Adjoints of the state and of the parameters are among them
// (w): they are the results of each group of steps, and go back there as inputs
// of the next.
static size_t adx_run_unrolled(adx_lean *r, size_t from, size_t s)
{
    const adx_frame *f = &r->k->f;
    const adx_scan *c = r->k->scan;
    const size_t n = c->window;
    const size_t each = n + r->kept;
    const adx_evaluation *by = adx_unrolled_of(r, s - from);
    if (by == NULL)
        return s;
    ad_real *sums = f->dx + n + c->data;
    ad_real *x = by->work->w;           // its inputs: see adx_make_unrolled
    ad_real *number = x + ADX_UNROLLED * each + c->parameters;
    ad_real *w = number + ADX_UNROLLED;
    adx_copy_few(c->parameters, r->k->in + n, number - c->parameters);
    adx_copy_few(n, f->carried, w);
    adx_copy_few(c->parameters, sums, w + n);
    for (; s - from >= ADX_UNROLLED && !adx_zeros(n, w); s -= ADX_UNROLLED) {
        const ad_real *at = x;
        for (size_t i = ADX_UNROLLED; i-- > 0;) {
            const ad_real *handed;
            size_t step = s - ADX_UNROLLED + i;
            at = adx_fetch_lean(r, step, &handed);
            if (at == NULL)
                break;
            adx_copy_few(n, at, x + i * each);
            adx_copy_few(r->kept, handed, x + i * each + n);
            number[i] = (ad_real)step;
        }
        if (at == NULL || adx_nodes_plain(by->machine, x) != NULL
            || !adx_take_results(by, 0, n + c->parameters, f->product))
            break;
        adx_copy_few(n + c->parameters, f->product, w);
    }
    r->near = 0;                // the next state is looked for
    adx_copy_few(n, w, f->carried);
    adx_copy_few(c->parameters, w + n, sums);
    return s;
}

// Where the function takes its inputs: for machine code k->in, for a replay its
// workspace, into which the inputs are copied once.
ADX_INLINE ad_real *adx_given_to(const adx_lean *r, bool compiled)
{
    if (compiled)
        return r->k->in;
    adx_copy_few(r->k->scan->in, r->k->in, r->by->work->w);
    return r->by->work->w;
}

// Does steps from s on, before `to`; returns the step at which the run ends.
// k->in begins with the state, before and after. Results of machine code that
// are a state and nothing else are the inputs of the next step without a copy:
// two arrays take turns.
ADX_INLINE size_t adx_run_primal(adx_lean *r, bool compiled, size_t s,
                                 size_t to)
{
    adx_stepping *k = r->k;
    const adx_scan *c = k->scan;
    ad_real *handed;
    for (size_t n = 1; n > 0 && s < to && compiled && adx_has_loop(r); s += n)
        n = adx_do_loop(r, false, s, to - s);
    ad_real *x = adx_given_to(r, compiled);
    ad_real *y = k->in_next;
    bool turns = compiled && c->out == c->window;
    if (turns)
        adx_copy_few(c->in, x, y);
    for (; s < to && adx_keep_lean(r, s, x, &handed); s++) {
        adx_gather_lean(c, s, x);
        r->cut = !adx_lean_primal(r, compiled, x, y, handed);
        if (r->cut)
            break;
        if (k->list != NULL)
            adx_tell_results(c, k->list, y);
        if (turns) {
            ad_real *t = x;
            x = y;
            y = t;
        } else
            adx_copy_few(c->window, y, x);
    }
    if (x != k->in)
        adx_copy_few(c->window, x, k->in);
    return s;
}

// Reverses steps before s, down to `from`; returns the earliest step that is
// reversed then. f.carried are the adjoints of the state, before and after.
// First machine code, or an unrolled program, does many steps at once; the
// others are done one by one, and the adjoints of each are the weights of the
// step before.
ADX_INLINE size_t adx_run_pullback(adx_lean *r, bool compiled, size_t from,
                               size_t s)
{
    const adx_stepping *k = r->k;
    const adx_scan *c = k->scan;
    const adx_frame *f = &k->f;
    const ad_real *handed;
    for (size_t n = 1; n > 0 && s > from && compiled && adx_has_loop(r); s -= n)
        n = adx_do_loop(r, true, s - 1, s - from);
    if (!compiled)
        s = adx_run_unrolled(r, from, s);
    const ad_real *carried = f->carried;
    ad_real *x = adx_given_to(r, compiled);
    ad_real *dx = f->product;
    for (; s > from; s--) {
        const ad_real *at = adx_fetch_lean(r, s - 1, &handed);
        const ad_real *w = adx_weigh_lean(k, s - 1, carried);
        if (at == NULL || w == NULL)
            break;
        adx_copy_few(c->window, at, x);
        adx_gather_lean(c, s - 1, x);
        r->cut = !adx_lean_pullback(r, compiled, x, w, handed, dx);
        if (r->cut)
            break;
        adx_spread_given(c, s - 1, dx, f->dx + c->window);
        carried = dx;
        dx = dx == f->product ? k->room : f->product;
    }
    if (carried != f->carried)
        adx_copy_few(c->window, carried, f->carried);
    return s;
}

// See adx_timetable.advance_some. Tries the path of the latest step, up to the
// next step that is to be compared.
static size_t adx_advance_lean(void *user, adx_kept_level *l, size_t base,
                               size_t from, size_t to)
{
    adx_stepping *k = (adx_stepping *)user;
    adx_scan *c = k->scan;
    const adx_step_path *p = &c->replays->path[k->latest];
    adx_lean r = { .k = k, .path = k->latest, .level = l, .base = base };
    if (adx_is_varying(c) || c->known <= r.path || p->stop)
        return from;
    size_t look = adx_next_look(k, from);
    if (look == from || adx_has_rest(k))
        return from;
    r.stride = l == NULL ? 0 : (ptrdiff_t)l->pool.bytes;
    if (l != NULL && l->behind > p->kept && p->kept > 0) {
        r.kept = p->kept;
        r.mark = (ad_real)(r.path + 1);
    }
    if (!adx_begin_lean(&r, ADX_CALL_value, ADX_CALL_primal))
        return from;
    to = look < to ? look : to;
    if (k->list != NULL && !adx_expect_results(c, k->list, to - from))
        return from;
    size_t s = r.by->room == NULL ? adx_run_primal(&r, false, from, to)
                                  : adx_run_primal(&r, true, from, to);
    c->by_function |= k->first && s > from;
    adx_end_lean(&r, s - from);
    return s;
}

// See adx_timetable.reverse_some. Tries the path whose primal ran at step to -
// 1, or that of the latest step, down to the next step that is to be compared.
static size_t adx_reverse_lean(void *user, adx_kept_level *l, size_t base,
                               size_t from, size_t to)
{
    adx_stepping *k = (adx_stepping *)user;
    adx_scan *c = k->scan;
    const ad_real *behind;
    adx_lean r = { .k = k, .level = l, .base = base,
                   .stride = -(ptrdiff_t)l->pool.bytes };
    if (k->marks || adx_is_varying(c)
        || (c->told == 0 && adx_zeros(c->window, k->f.carried))
        || !adx_find_state(&r, to - 1))
        return to;
    behind = adx_behind(&c->plan, l, r.at);
    r.near = 0;                 // this is the next one, not the latest
    r.mark = behind == NULL ? 0 : *behind;
    r.path = r.mark > 0 ? (size_t)r.mark - 1 : k->latest;
    const adx_step_path *p = &c->replays->path[r.path];
    r.kept = r.mark > 0 ? p->kept : 0;
    if (r.path >= (c->swept ? c->limit : c->replays->paths)
        || (r.path >= c->known && to > p->upto) || adx_has_rest(k)
        || !adx_begin_lean(&r, ADX_CALL_vjp, ADX_CALL_pullback))
        return to;
    size_t look = adx_next_look_back(c, to - 1);
    if (look != SIZE_MAX && look >= from)
        from = look + 1;
    size_t s = r.by->room == NULL ? adx_run_pullback(&r, false, from, to)
                                  : adx_run_pullback(&r, true, from, to);
    adx_end_lean(&r, to - s);
    return s;
}

static void adx_go_lean(adx_stepping *k)
{
    adx_timetable *p = &k->scan->plan;
    p->advance_some = k->lean ? adx_advance_lean : NULL;
    p->reverse_some = k->lean ? adx_reverse_lean : NULL;
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

static void adx_go_lean(adx_stepping *k) { (void)k; }

static void adx_count_behind(adx_scan *c) { (void)c; }

#endif
