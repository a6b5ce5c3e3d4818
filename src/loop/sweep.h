#pragma once

/* === loop/sweep =============================================================
 * Runs of the steps of a scan, forwards and back. Forwards, one step follows
 * the other: it is replayed by a function that is known for it, or called.
 *
 * A reverse sweep goes through the steps backwards, as loop/schedule provides
 * their states, and carries the adjoints of the window. The adjoints of what a
 * step returned are those of the newest rows of the window, plus those of the
 * results of the scan. They are the weights with which the step is swept; it is
 * replayed by a function, or recorded on the stage. The adjoints of its inputs
 * are added to the window before the step, to sequences and to parameters. A
 * forward sweep runs all steps once more, and carries tangents of the window.
 *
 * Where steps are never replayed, several directions (rows of a Jacobian) go
 * back together: a step is recorded once for all of them, and swept once.
 *
 *   needs   tape/memory bulk/captured loop/stage loop/schedule loop/scan
 *           loop/step loop/replay loop/lean loop/resume
 *   offers  adx_do_step adx_advance_scan adx_end_stepping ADX_RUN ADX_SWEEP
 *           ADX_UNROLL adx_begin_stepping adx_shift_back adx_spread_step
 *           adx_reverse_scan adx_last_rows adx_initial_rows adx_reverse_steps
 *           adx_sweep_scan adx_scan_pullback_n adx_scan_pullback
 *           adx_gather_tangents adx_push_step adx_scan_pushforward
 *           adx_free_scan
 * ========================================================================== */

/* --- runs of steps ----------------------------------------------------------
 * And the memory of a run, which enters the stage that it needs.            */

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

// Gives everything back. It may not have been begun as a whole.
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
    c->timetable.state = k->state;
    c->timetable.user = k;
    c->timetable.advance = adx_advance_scan;
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

/* --- sweeps --------------------------------------------------------------- */

// Moves the window back by one step. The newest rows have been used and go; the
// oldest rows become 0, since nothing has been added to them.
static void adx_shift_back(const adx_scan *c, ad_real window[])
{
    for (size_t i = 0; c->shape.flat && i < c->n.window; i++)
        window[i] = 0;
    for (size_t j = 0; !c->shape.flat && j < c->n.states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        ad_real *row = window + l->base;
        memmove(row + l->size, row, (l->depth - 1) * l->size * sizeof *row);
        memset(row, 0, l->size * sizeof *row);
    }
}

// Adds the adjoints of the inputs of step s where they belong.
static void adx_spread_step(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    for (size_t i = 0; i < c->shape.state_pieces; i++)
        adx_add_few(c->shape.piece[i].size, k->f.product + c->shape.piece[i].at,
                    k->f.carried + c->shape.piece[i].from);
    adx_spread_given(c, s, k->f.product, k->f.dx + c->n.window);
}

// Reverses step s, whose state is the current one. If all weights are 0, only
// the window moves, unless the step is to be swept always.
static bool adx_reverse_scan(void *user, size_t s)
{
    adx_stepping *k = (adx_stepping *)user;
    adx_scan *c = k->scan;
    ad_real *outside = k->f.dx + c->n.window + c->n.data + c->n.parameters;
    bool any = adx_weigh(c, s, &k->f, k->f.carried);
    adx_shift_back(c, k->f.carried);
    if (!any && !c->always)
        return true;
    adx_gather_step(k, s);
    if (k->sweep.connects || !adx_replay_step(k, s)) {
        adx_run_step(k, true);
        if (k->status == ADREV_OK)
            k->status = k->sweep.pull(k->stage, c->n.out, k->io.rout,
                                      k->f.weight, c->n.in - 1, k->io.rin,
                                      k->f.product, &c->captured, outside);
    }
    if (k->status == ADREV_OK)
        adx_spread_step(k, s);
    return k->status == ADREV_OK && !k->replay.again;
}

// The last rows are results of the scan. Writes their adjoints into the window
// (from), or their values or tangents out of it (to).
static void adx_last_rows(const adx_scan *c, ad_real window[],
                          const ad_real from[], ad_real to[])
{
    for (size_t j = 0; j < c->n.states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        for (size_t i = 0; l->last && i < adx_slice_numbers(l); i++)
            if (from != NULL)
                window[l->base + i] = *from++;
            else
                *to++ = window[l->base + i];
    }
}

// Handles the rows of the window before step `first` that are still initial
// rows: adds their adjoints to those of the inputs, or reads their tangents.
static void adx_initial_rows(const adx_scan *c, ad_real window[],
                             ad_real adjoint[], const ad_real tangent[])
{
    size_t first = c->timetable.first;
    for (size_t j = 0; j < c->n.states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        for (size_t r = 0; r + first < l->depth; r++)
            for (size_t i = 0; i < l->size; i++) {
                size_t now = l->base + r * l->size + i;
                size_t then = now + first * l->size;
                if (adjoint != NULL)
                    adjoint[then] += window[now];
                else
                    window[now] = tangent[then];
            }
    }
}

// Goes on with the flags (loop/connections) to before the first step that is
// reversed. Nothing is kept with which the steps before it could run again. So
// if a result depends on anything there, it counts as dependent on everything
// that they could use.
static void adx_connect_cut(adx_stepping *k)
{
    adx_scan *c = k->scan;
    size_t told = c->timetable.first * c->n.told;
    bool any = false;
    for (size_t j = 0; j < c->n.states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        size_t first = c->timetable.first;
        size_t initial = l->depth > first ? l->depth - first : 0;
        for (size_t i = initial * l->size; i < adx_slice_numbers(l); i++)
            any = any || k->f.carried[l->base + i] != 0;
    }
    for (size_t i = 0; i < told; i++)
        any = any || k->f.dy[i] != 0;
    if (!any)
        return;
    for (size_t i = 0; i + 1 < c->n.in; i++)
        k->f.product[i] = 1;
    for (size_t s = 0; s < c->timetable.first; s++)
        adx_spread_given(c, s, k->f.product, k->f.dx + c->n.window);
    for (size_t i = 0; i < c->n.window; i++)
        k->f.dx[i] = 1;
    ad_real *outside = k->f.dx + c->n.window + c->n.data + c->n.parameters;
    for (size_t i = 0; i < c->captured.n; i++)
        outside[i] = 1;
}

// Begins a frame from the adjoints dy of the results.
static void adx_begin_frame(const adx_scan *c, adx_frame *f, const ad_real dy[],
                            ad_real dx[])
{
    f->dy = dy;
    f->dx = dx;
    memset(f->carried, 0, c->n.window * sizeof *f->carried);
    adx_last_rows(c, f->carried, dy + c->steps * c->n.told, NULL);
}

// Goes from the adjoints of the results to those of the inputs, which are added
// to dx.
static bool adx_reverse_steps(adx_stepping *k, const ad_real dy[], ad_real dx[])
{
    adx_scan *c = k->scan;
    adx_begin_frame(c, &k->f, dy, dx);
    if (c->timetable.first < c->steps
        && !adx_go_back(&c->timetable, 0, 0, c->steps, true))
        return false;
    if (k->sweep.connects && c->timetable.first > 0)
        adx_connect_cut(k);
    adx_initial_rows(c, k->f.carried, dx, NULL);
    return true;
}

// Does one sweep. *again: a function did not do what the step does. Functions
// from before the first sweep may be used at all steps (known).
static bool adx_sweep_once(adx_scan *c, const ad_real dy[], ad_real dx[],
                           adx_pull_fn *pull, bool *again)
{
    adx_stepping k;
    bool ok = adx_begin_stepping(&k, c, ADX_SWEEP);
    if (ok) {
        k.sweep.pull = pull;
        k.sweep.connects = pull != adx_stage_pull;
        c->timetable.reverse = adx_reverse_scan;
        c->timetable.resume = NULL;
        if (adx_is_resumed(c) && !k.sweep.connects)
            ok = adx_begin_resuming(&k, dy, dx);
        if (!c->replay.swept)
            c->replay.known = adx_is_varying(c) ? 0 : c->replay.used->paths;
        ok = ok && adx_reverse_steps(&k, dy, dx);
    }
    *again = k.replay.again;
    adx_end_stepping(&k);
    return ok;
}

// Adds the adjoints of the n inputs to dx, which is 0. A step that is run again
// is swept by adx_stage_pull, or by what loop/connections has in its place.
// After the first sweep no functions are added (limit), so that every later
// sweep does what that one did, to the bit. (Sweeps that may be resumed all
// begin without functions.)
static bool adx_sweep_scan(adx_scan *c, const ad_real dy[], size_t n,
                           ad_real dx[], adx_pull_fn *pull)
{
    bool again = false;
    adx_begin_sweep(&c->of);
    bool ok = adx_sweep_once(c, dy, dx, pull, &again);
    if (again) {
        memset(dx, 0, n * sizeof *dx);
        ok = adx_sweep_once(c, dy, dx, pull, &again);
    }
    if (ok && pull == adx_stage_pull && !c->replay.swept) {
        c->timetable.swept = true;
        c->replay.swept = !adx_is_resumed(c);
        c->replay.limit = c->replay.used->paths;
    }
    adx_end_sweep(&c->of);
    return ok;
}

/* --- several directions --------------------------------------------------- */

// A sweep in several directions, with a frame for each.
typedef struct adx_row_sweep {
    adx_stepping k;             // whoever has it as user has all of this
    adx_frame *row;             // [rows]
    size_t rows;
} adx_row_sweep;

// Reverses step s in all directions: their weights lie side by side, and so do
// the products.
static bool adx_reverse_rows(void *user, size_t s)
{
    const adx_row_sweep *all = (const adx_row_sweep *)user;
    adx_stepping *k = (adx_stepping *)user;
    adx_scan *c = k->scan;
    const adx_frame *first = &all->row[0];
    const size_t outside = c->n.window + c->n.data + c->n.parameters;
    bool any = c->always;
    for (size_t r = 0; r < all->rows; r++) {
        any |= adx_weigh(c, s, &all->row[r], all->row[r].carried);
        adx_shift_back(c, all->row[r].carried);
    }
    if (!any)
        return true;
    adx_gather_step(k, s);
    adx_run_step(k, true);
    memset(first->product, 0,
           all->rows * (c->n.in - 1) * sizeof *first->product);
    if (k->status == ADREV_OK)
        k->status = adx_stage_pull_rows(k->stage, all->rows, c->n.out,
            k->io.rout, first->weight, c->n.in - 1, k->io.rin, first->product,
            c->n.in - 1, &c->captured, first->dx + outside,
            outside + c->captured.n);
    for (size_t r = 0; k->status == ADREV_OK && r < all->rows; r++) {
        k->f = all->row[r];
        adx_spread_step(k, s);
    }
    return k->status == ADREV_OK;
}

// Makes the frames of all directions, in one piece of memory with their
// numbers. False: there is none.
static bool adx_make_frames(adx_row_sweep *all, size_t m, const ad_real dy[],
                            size_t n, ad_real dx[])
{
    const adx_scan *c = all->k.scan;
    const size_t rows = all->rows;
    const size_t in = c->n.in - 1;
    size_t numbers = (c->n.window + c->n.out + in) * sizeof *dx;
    all->row = (adx_frame *)adx_take(&c->of.memory, rows,
                                     sizeof *all->row + numbers);
    if (all->row == NULL)
        return false;
    ad_real *carried = (ad_real *)(void *)(all->row + rows);
    ad_real *weight = carried + rows * c->n.window;
    ad_real *product = weight + rows * c->n.out;
    for (size_t r = 0; r < rows; r++) {
        all->row[r] = (adx_frame){ .carried = carried + r * c->n.window,
                                   .weight = weight + r * c->n.out,
                                   .product = product + r * in };
        adx_begin_frame(c, &all->row[r], dy + r * m, dx + r * n);
    }
    return true;
}

// Adds the adjoints of the n inputs in several directions to dx, which is 0.
static bool adx_sweep_rows(adx_scan *c, size_t rows, size_t m,
                           const ad_real dy[], size_t n, ad_real dx[])
{
    adx_row_sweep all;
    all.row = NULL;
    all.rows = rows;
    bool ok = adx_begin_stepping(&all.k, c, ADX_SWEEP)
           && adx_make_frames(&all, m, dy, n, dx);
    c->timetable.reverse = adx_reverse_rows;
    c->timetable.reverse_some = NULL;
    c->timetable.resume = NULL;
    if (ok && c->timetable.first < c->steps)
        ok = adx_go_back(&c->timetable, 0, 0, c->steps, true);
    for (size_t r = 0; ok && r < rows; r++)
        adx_initial_rows(c, all.row[r].carried, all.row[r].dx, NULL);
    c->replay.swept |= ok;
    adx_drop(&c->of.memory, all.row);
    adx_end_stepping(&all.k);
    return ok;
}

// In k directions: together, if steps are never replayed, else one by one.
static bool adx_scan_pullback_n(const void *saved, size_t k, size_t m,
                                const ad_real dy[], size_t n, ad_real dx[])
{
    adx_scan *c = *(adx_scan *const *)saved;
    bool ok = true;
    adx_begin_sweep(&c->of);
    bool together = k > 1 && adx_is_varying(c) && !adx_is_resumed(c);
    if (together)
        ok = adx_sweep_rows(c, k, m, dy, n, dx);
    adx_end_sweep(&c->of);
    for (size_t r = 0; ok && !together && r < k; r++)
        ok = adx_sweep_scan(c, dy + r * m, n, dx + r * n, adx_stage_pull);
    return ok;
}

static bool adx_scan_pullback(const void *saved, size_t m, const ad_real dy[],
                              size_t n, ad_real dx[])
{
    return adx_scan_pullback_n(saved, 1, m, dy, n, dx);
}

/* --- forwards ------------------------------------------------------------- */

// Gathers the tangents of the inputs of step s.
static void adx_gather_tangents(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    adx_gather_taps(c, s, k->f.carried, k->f.dy + c->n.window, k->f.weight);
    const ad_real *given = k->f.dy + c->n.window + c->n.data;
    size_t others = c->n.parameters + c->captured.n;
    for (size_t i = 0; i < others; i++)
        k->f.weight[c->n.in - 1 - c->n.parameters + i] = given[i];
}

// Runs step s with tangents: those of what it returns are in `product`, and
// both windows move on by a step.
static bool adx_push_step(adx_stepping *k, size_t s)
{
    adx_scan *c = k->scan;
    adx_gather_step(k, s);
    adx_gather_tangents(k, s);
    k->stop = adx_run_step(k, true);
    if (k->status == ADREV_OK)
        k->status = adx_stage_push(k->stage, c->n.out, k->io.rout,
                                   k->f.product, c->n.in - 1, k->io.rin,
                                   k->f.weight, &c->captured, k->sweep.room);
    if (k->status != ADREV_OK)
        return false;
    for (size_t i = 0; i < c->n.out; i++)
        k->io.out[i] = k->io.rout[i].v;
    adx_shift_window(c, adx_window_of(k), k->io.out);
    adx_shift_window(c, k->f.carried, k->f.product);
    return true;
}

// Runs all steps, and writes the tangents of the results. Steps before `first`
// are constants: they run without tangents.
static bool adx_push_steps(adx_stepping *k, ad_real dy[])
{
    adx_scan *c = k->scan;
    for (size_t s = 0; s < c->steps; s++) {
        if (s == c->timetable.first)
            adx_initial_rows(c, k->f.carried, NULL, k->f.dy);
        if (s < c->timetable.first) {
            if (!adx_advance_scan(k, s))
                return false;
            for (size_t i = 0; i < c->n.told; i++)
                *dy++ = 0;
            continue;
        }
        if (!adx_push_step(k, s))
            return false;
        dy = adx_copy_told(c, k->f.product, dy);
    }
    if (c->timetable.first == c->steps)
        adx_initial_rows(c, k->f.carried, NULL, k->f.dy);
    adx_last_rows(c, k->f.carried, NULL, dy);
    return true;
}

// A forward sweep: runs all steps once more from the first state, and carries
// the tangents of the window.
static bool adx_scan_pushforward(const void *saved, size_t n,
                                 const ad_real dx[], size_t m, ad_real dy[])
{
    adx_scan *c = *(adx_scan *const *)saved;
    adx_stepping k;
    (void)m;
    (void)n;
    adx_begin_sweep(&c->of);
    bool ok = adx_begin_stepping(&k, c, ADX_SWEEP);
    if (ok) {
        k.f.dy = dx;
        memset(k.f.carried, 0, c->n.window * sizeof *k.f.carried);
        adx_timetable *p = &c->timetable;
        ok = (c->steps == 0 || adx_fetch_state(p, &p->level[0], 0))
          && adx_push_steps(&k, dy);
    }
    adx_end_stepping(&k);
    adx_end_sweep(&c->of);
    return ok;
}

static void adx_free_scan(adx_staged *of)
{
    adx_scan *c = (adx_scan *)of;
    ad_allocator memory = c->of.memory;
    adx_spare_states(c);
    adx_free_timetable(&c->timetable);
    adx_free_paths(&c->replay.own);
    adx_free_stage(c->of.stage);
    adx_free_captured(&memory, &c->captured);
    adx_drop(&memory, c->shape.slice);
    adx_drop(&memory, c->shape.piece);
    adx_drop(&memory, c->shape.given);
    adx_drop(&memory, c->value);
    adx_drop(&memory, c->untraced_first);
    adx_drop(&memory, c);
}
