#pragma once

/* === loop/recorded ==========================================================
 * A `whole` scan in a recorded function. To evaluate it at another point, a
 * copy of the scan runs with other inputs; it may share no state with the scan
 * itself.
 *
 * To second order (tangents of values and of adjoints), the window in each
 * state is followed by its tangents, and both are kept together. The way back
 * carries two frames, the adjoints of the window and the tangents of these.
 * With the step as a recorded function, of Jacobian J, weights b of its results
 * with tangents bd, and the tangent v of its inputs, the adjoints of the inputs
 * are b J, and their tangents are bd J + H v, where H is the Hessian of b times
 * the step.
 *
 *   needs   tape/memory function/api loop/api loop/stage loop/schedule
 *           loop/scan loop/step loop/replay loop/sweep
 *   offers  adx_scan_rule
 * ========================================================================== */

#ifdef ADREV_FUNCTION_IMPLEMENTED

enum { ADX_TANGENT, ADX_ADJOINT, ADX_ADJOINT_D };

// A sweep to second order, with a frame for each of these.
typedef struct adx_second_sweep {
    adx_stepping k;             // whoever has it as user has all of this
    adx_frame frame[3];
    ad_real *memory;            // of the frames
} adx_second_sweep;

// Returns the step as a function: a known function whose guards pass at this
// point, or one that is recorded here. *once: the function is not kept, and is
// freed after use.
static ad_fn *adx_step_function(adx_stepping *k, size_t s, bool *once)
{
    adx_scan *c = k->scan;
    ad_replays *r = c->replay.used;
    ad_fn *fn = NULL;
    bool stop;
    *once = true;
    for (size_t i = 0; !adx_is_varying(c) && i < r->paths; i++)
        if (ad_fn_eval(r->path[i].fn, k->io.in, k->io.out) == ADREV_OK) {
            *once = false;
            return r->path[i].fn;
        }
    k->io.index = s;
    ad_status status = adx_record_step(k, &c->of.memory, &fn, &stop);
    if (status != ADREV_OK && k->status == ADREV_OK)
        k->status = status;
    if (fn != NULL && !c->replay.varies && r->paths < ADX_PATHS) {
        r->path[r->paths++] = (adx_step_path){ .fn = fn, .upto = s };
        *once = false;
    }
    return fn;
}

// Computes the adjoints of the inputs of a step and their tangents, as the
// opening says. moved: the tangent of the inputs.
static bool adx_second_of_step(adx_second_sweep *all, size_t s,
                               const ad_real moved[])
{
    adx_stepping *k = &all->k;
    const adx_frame *b = &all->frame[ADX_ADJOINT];
    const adx_frame *d = &all->frame[ADX_ADJOINT_D];
    ad_real *room = k->sweep.room;
    size_t n = k->scan->n.in;
    bool once;
    ad_fn *fn = adx_step_function(k, s, &once);
    bool ok = fn != NULL
           && ad_fn_vjp(fn, k->io.in, b->weight, b->product) == ADREV_OK
           && ad_fn_vjp(fn, k->io.in, d->weight, d->product) == ADREV_OK
           && ad_fn_hvp(fn, k->io.in, b->weight, moved, room) == ADREV_OK;
    for (size_t i = 0; ok && i < n; i++)
        d->product[i] += room[i];
    if (once)
        ad_fn_free(fn);
    return ok;
}

// Does a step forwards, with tangents.
static bool adx_advance_moving(void *user, size_t s)
{
    adx_second_sweep *all = (adx_second_sweep *)user;
    all->k.f = all->frame[ADX_TANGENT];
    return adx_push_step(&all->k, s);
}

// Does a step backwards, with tangents. First it gathers the tangent of the
// inputs from the state. Then it gathers the weights in both frames, and moves
// both windows back by a row. Last it adds the results to the windows.
static bool adx_reverse_moving(void *user, size_t s)
{
    adx_second_sweep *all = (adx_second_sweep *)user;
    adx_stepping *k = &all->k;
    adx_scan *c = k->scan;
    k->f = all->frame[ADX_TANGENT];
    adx_gather_step(k, s);
    adx_gather_tangents(k, s);
    k->f.weight[c->n.in - 1] = 0;         // of the step's number
    for (int i = ADX_ADJOINT; i <= ADX_ADJOINT_D; i++) {
        k->f = all->frame[i];
        adx_weigh(c, s, &k->f, k->f.carried);
        adx_shift_back(c, k->f.carried);
    }
    if (!adx_second_of_step(all, s, all->frame[ADX_TANGENT].weight))
        return false;
    for (int i = ADX_ADJOINT; i <= ADX_ADJOINT_D; i++) {
        k->f = all->frame[i];
        adx_spread_step(k, s);
    }
    return true;
}

// Begins the frames of a sweep to second order. Adjoints or tangents that are
// not given are zeros. False: no memory.
static bool adx_open_frames(adx_second_sweep *all, const ad_external_point *at,
                            ad_real zeros[])
{
    const adx_scan *c = all->k.scan;
    adx_frame *tangent = &all->frame[ADX_TANGENT];
    size_t most = c->n.in > c->n.out ? c->n.in : c->n.out;
    ad_real *more = (ad_real *)adx_take(&c->of.memory,
                                        2 * (c->n.window + 2 * most),
                                        sizeof *more);
    all->memory = more;
    if (more == NULL)
        return false;
    memset(more, 0, 2 * (c->n.window + 2 * most) * sizeof *more);
    *tangent = all->k.f;
    tangent->carried = adx_window_of(&all->k) + c->n.window;
    tangent->dy = at->xd != NULL ? at->xd : zeros;
    for (int i = ADX_ADJOINT; i <= ADX_ADJOINT_D; i++) {
        const ad_real *dy = i == ADX_ADJOINT ? at->yb : at->ybd;
        all->frame[i] = (adx_frame){
            more, more + c->n.window, more + c->n.window + most,
            dy != NULL ? dy : zeros, i == ADX_ADJOINT ? at->xb : at->xbd
        };
        more += c->n.window + 2 * most;
    }
    return true;
}

// Runs the steps from the beginning, for values and, where they are wanted,
// tangents of the results. There must be as many steps as in the recording:
// false if the scan stops earlier or later here.
static bool adx_run_again(adx_second_sweep *all, const ad_external_point *at)
{
    adx_stepping *k = &all->k;
    adx_scan *c = k->scan;
    adx_results_list values = {0};
    ad_real *yd = at->yd;
    size_t n = c->steps;
    bool ok = true;
    for (size_t s = 0; s < n && ok; s++) {
        bool last = s + 1 == n;
        ok = adx_keep_first(&c->timetable, s, c->open_ended)
          && c->timetable.advance(c->timetable.user, s)
          && adx_tell_step(k, &values)
          && (last ? k->stop == c->stopped : !k->stop);
        if (ok && at->yd != NULL)
            yd = adx_copy_told(c, k->f.product, yd);
    }
    for (size_t i = 0; ok && at->y != NULL && i < values.n; i++)
        at->y[i] = values.v[i];
    adx_drop(&c->of.memory, values.v);
    if (ok && at->y != NULL)
        adx_last_rows(c, adx_window_of(k), NULL, at->y + values.n);
    if (ok && at->yd != NULL)
        adx_last_rows(c, all->frame[ADX_TANGENT].carried, NULL, yd);
    return ok;
}

// Sweeps back, with adjoints alone or also with their tangents.
static bool adx_sweep_again(adx_second_sweep *all, const ad_external_point *at)
{
    adx_scan *c = all->k.scan;
    if (c->timetable.level[0].every == 0)
        adx_judge_stack(&c->timetable, &c->timetable.level[0], c->steps);
    if (!c->shape.moving)
        return adx_reverse_steps(&all->k, at->yb, at->xb);
    for (int i = ADX_ADJOINT; i <= ADX_ADJOINT_D; i++)
        adx_last_rows(c, all->frame[i].carried,
                      all->frame[i].dy + c->steps * c->n.told, NULL);
    if (!adx_go_back(&c->timetable, 0, 0, c->steps, true))
        return false;
    adx_initial_rows(c, all->frame[ADX_ADJOINT].carried, at->xb, NULL);
    adx_initial_rows(c, all->frame[ADX_ADJOINT_D].carried, at->xbd, NULL);
    return true;
}

// Evaluates a copy of a scan, c, from the state that `at` says.
static bool adx_scan_at(adx_scan *c, const ad_external_point *at,
                        ad_real zeros[])
{
    adx_second_sweep all;
    adx_stepping *k = &all.k;
    const adx_frame *tangent = &all.frame[ADX_TANGENT];
    const bool moving = c->shape.moving;
    all.memory = NULL;
    bool ok = adx_begin_stepping(k, c, ADX_SWEEP)
           && adx_open_frames(&all, at, zeros);
    if (ok) {
        memcpy(adx_window_of(k), at->x, c->n.window * sizeof *at->x);
        if (moving)
            memcpy(tangent->carried, tangent->dy,
                   c->n.window * sizeof *at->x);
        if (c->n.untraced > 0)
            memcpy(k->state, c->untraced_first, c->n.untraced);
        c->timetable.advance = moving ? adx_advance_moving : adx_advance_scan;
        c->timetable.reverse = moving ? adx_reverse_moving : adx_reverse_scan;
        ok = adx_run_again(&all, at)
          && (at->xb == NULL || adx_sweep_again(&all, at));
    }
    adx_drop(&c->of.memory, all.memory);
    adx_end_stepping(k);
    return ok;
}

// The replay of the rule. The copy of the scan has its own values, timetable,
// stage and functions, because other threads may replay the scan at the same
// time. Tangents of adjoints cannot be computed without the adjoints; if those
// are not asked for, they are written to `unused`.
static bool adx_scan_replay(const void *saved, const ad_external_point *at)
{
    const adx_scan *of = *(adx_scan *const *)saved;
    const ad_allocator *a = &of->of.memory;
    size_t given = of->n.data + of->n.parameters;
    size_t most = at->n > at->m ? at->n : at->m;
    adx_scan c = *of;
    ad_real *unused = (ad_real *)adx_take(a, at->n + given + most,
                                          sizeof *unused);
    ad_external_point point = *at;
    bool ok = unused != NULL;
    // The copy shares nothing that a run changes.
    c.of.stage = NULL;
    c.report = &c.own_report;
    memset(c.report, 0, sizeof *c.report);
    c.shape.moving = at->yd != NULL || at->xbd != NULL;
    c.replay.swept = false;
    c.replay.known = 0;
    adx_choose_replays(&c, NULL);
    c.timetable = (adx_timetable){ .memory = *a, .bytes = adx_state_bytes(&c),
                              .end = of->steps, .stride = 1,
                              .tail_at = SIZE_MAX, .report = c.report };
    if (ok) {
        c.value = unused + at->n;
        memcpy(c.value, at->x + c.n.window, given * sizeof *c.value);
        memset(c.value + given, 0, most * sizeof *c.value);
        if (c.shape.moving && at->xb == NULL)
            point.xb = at->xbd == NULL ? NULL : unused;
        ok = adx_make_timetable(&c.timetable, &of->schedule, 0) == ADREV_OK
          && adx_scan_at(&c, &point, c.value + given);
    }
    adx_free_timetable(&c.timetable);
    adx_free_paths(&c.replay.own);
    adx_drop(a, unused);
    return ok;
}

#else

static bool adx_scan_replay(const void *saved, const ad_external_point *at)
{
    (void)saved;
    (void)at;
    return false;
}

#endif

static const ad_external_rule adx_scan_rule = {
    .name = "scan", .pullback = adx_scan_pullback,
    .pushforward = adx_scan_pushforward, .destroy = adx_destroy_staged,
    .replay = adx_scan_replay, .pullback_n = adx_scan_pullback_n
};
