#pragma once

/* === loop/stepping ==========================================================
 * Runs steps one after the other. A step is replayed by a function that is
 * known for it; else the step itself is called. This room also has the memory
 * of a run, and enters the stage on which it runs.
 *
 *   needs   tape/memory loop/stage loop/schedule loop/scan loop/step
 *           loop/replay loop/lean
 *   offers  adx_do_step adx_advance_scan adx_end_stepping ADX_RUN ADX_SWEEP
 *           ADX_UNROLL adx_begin_stepping
 * ========================================================================== */

// Does step s: the state before it becomes that after it. Returns whether the
// step says that it was the last one.
static bool adx_do_step(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    bool stop = false;
    adx_gather_step(k, s);
    if (!adx_run_known_step(k, &stop)) {
        stop = adx_run_step(k, false);
        for (size_t i = 0; i < c->n.out; i++)
            k->io.out[i] = k->io.rout[i].v;
    }
    if (k->status == ADREV_OK)
        adx_shift_window(c, adx_window_of(k), k->io.out);
    return stop;
}

static bool adx_advance_scan(void *user, size_t s)
{
    adx_stepping *k = (adx_stepping *)user;
    k->stop = adx_do_step(k, s);
    return k->status == ADREV_OK;
}

static void adx_end_stepping(adx_stepping *k)
{
    const ad_allocator *a = &k->scan->of.memory;
    if (k->entered)
        ad_use(k->before);
    adx_return_stage(k->stage);
    adx_drop(a, k->state == NULL ? NULL : k->state - sizeof(adx_stamp));
    adx_drop(a, k->io.rin);
    adx_drop(a, k->io.given);
    adx_drop(a, k->io.taken);
    adx_drop(a, k->sweep.memory);
    adx_drop(a, k->resume.adjoints);
    adx_end_evaluations(k);
    memset(k, 0, sizeof *k);
}

typedef enum adx_purpose { ADX_RUN, ADX_SWEEP, ADX_UNROLL } adx_purpose;

// Numbers that a step is given, or returns, and those that it captured.
static size_t adx_frame_size(const adx_scan *c)
{
    return (c->n.in > c->n.out ? c->n.in : c->n.out) + c->captured.n;
}

// Memory for a run of steps, and a stage. In front of the state there is room
// for a stamp (loop/schedule). False: there is none.
static bool adx_take_stepping(adx_stepping *k, adx_purpose purpose)
{
    adx_scan *c = k->scan;
    const ad_allocator *a = &c->of.memory;
    size_t most = adx_frame_size(c);
    if (purpose != ADX_UNROLL)
        k->stage = adx_borrow_stage(&c->of);
    k->state = (char *)adx_take(a, sizeof(adx_stamp) + adx_state_bytes(c)
                                   + (c->n.in + c->n.out + most)
                                     * sizeof *k->io.in, 1);
    if (k->state != NULL)
        k->state += sizeof(adx_stamp);
    k->io.rin = (ad_rev *)adx_take(a, c->n.in + c->n.out + c->captured.n,
                                   sizeof *k->io.rin);
    k->io.given = (const ad_rev **)adx_take(a, c->n.states + c->n.sequences,
                                            sizeof *k->io.given);
    k->io.taken = (ad_rev **)adx_take(a, c->n.states + c->n.outputs,
                                      sizeof *k->io.taken);
    if (purpose == ADX_SWEEP)
        k->sweep.memory = (ad_real *)adx_take(a, c->n.window + 3 * most,
                                              sizeof *k->sweep.memory);
    return (k->stage != NULL || purpose == ADX_UNROLL)
        && k->state != NULL && k->io.rin != NULL
        && k->io.given != NULL && k->io.taken != NULL
        && (k->sweep.memory != NULL || purpose != ADX_SWEEP);
}

// Places the numbers of a step behind the state. If the scan is lean, the
// inputs of a step begin with the state itself.
static void adx_place_numbers(adx_stepping *k)
{
    const adx_scan *c = k->scan;
    k->io.lean = adx_is_lean(c);
    k->io.in = k->io.lean ? adx_window_of(k)
          : (ad_real *)(void *)(k->state + adx_state_bytes(c));
    k->io.out = k->io.in + c->n.in;
    k->io.in_next = k->io.out + c->n.out;
    k->io.rout = k->io.rin + c->n.in + c->captured.n;
    adx_point_at(k, k->io.rin, k->io.rout);
    memset(k->io.in, 0, c->n.in * sizeof *k->io.in);
    for (size_t i = 0; i < c->n.parameters; i++)
        k->io.in[c->n.in - 1 - c->n.parameters + i] = c->value[c->n.data + i];
    k->io.stale = true;
}

// Takes memory for a run of steps, and enters its stage. Pairs with
// adx_end_stepping, whatever it returns.
static bool adx_begin_stepping(adx_stepping *k, adx_scan *c,
                               adx_purpose purpose)
{
    *k = (adx_stepping){ .scan = c, .sweep = { .pull = adx_stage_pull },
                         .first = purpose == ADX_RUN };
    if (!adx_take_stepping(k, purpose))
        return false;
    adx_place_numbers(k);
    // The functions that the timetable calls.
    c->plan.state = k->state;
    c->plan.user = k;
    c->plan.advance = adx_advance_scan;
    adx_go_lean(k);
    if (k->stage != NULL) {
        k->before = adx_enter_stage(k->stage, &c->captured,
                                    purpose == ADX_SWEEP);
        k->entered = true;
    }
    // A sweep carries this, in one piece of memory.
    if (purpose == ADX_SWEEP) {
        k->f.carried = k->sweep.memory;
        k->f.weight = k->sweep.memory + c->n.window;
        k->f.product = k->f.weight + adx_frame_size(c);
        k->sweep.room = k->f.product + adx_frame_size(c);
    }
    return true;
}
