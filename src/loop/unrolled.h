#pragma once

/* === loop/unrolled ==========================================================
 * The public functions. A scan becomes one statement where it can (loop/first).
 * Under a hook and in fixed memory it is unrolled: the same steps run on the
 * recorded numbers themselves, and everything is recorded as it happens. Under
 * the hook of a function that is being recorded, a scan that says `whole` may
 * still be one statement.
 *
 *   needs   number/recording tape/layout tape/memory bulk/api bulk/folds
 *           loop/api loop/stage loop/checkpoint loop/schedule loop/scan
 *           loop/step loop/sweep loop/first
 * ========================================================================== */

typedef struct adx_unrolled {
    adx_stepping k;
    const ad_scan_desc *d;
    ad_rev *window;             // [window]
    ad_rev *data;               // [data]
    ad_rev *told;               // results of the steps
    size_t n, room;
    bool counting;              // only how many steps there are
} adx_unrolled;

// Returns a number as a constant. A hook is told of it (detach), so that in a
// recorded function, too, it has its value at each point, but no derivative.
static ad_rev adx_without_derivative(ad_rev x)
{
    if (adx_now.trace && x.job != 0)
        return adx_traced(ADREV_OP_detach, x.v, x, 0, x, 0, x, 0);
    return adx_passive(x.v);
}


// Gathers what step s is given.
static void adx_unrolled_inputs(adx_unrolled *u, size_t s, bool constant)
{
    const adx_scan *c = u->k.scan;
    ad_rev *in = u->k.io.rin;
    for (size_t i = 0; i < c->shape.pieces; i++) {
        const adx_piece *p = &c->shape.piece[i];
        const ad_rev *from = i < c->shape.state_pieces ? u->window + p->from
            : u->data + p->from + (ptrdiff_t)s * p->move;
        for (size_t w = 0; w < p->size; w++)
            in[p->at + w] = from[w];
    }
    for (size_t i = 0; i < c->n.parameters; i++)
        in[c->n.in - 1 - c->n.parameters + i] = u->d->parameter[i];
    in[c->n.in - 1] = adx_passive((ad_real)s);
    for (size_t i = 0; constant && i < c->n.in; i++)
        in[i] = adx_without_derivative(in[i]);
    u->k.io.index = s;
    c->report->evaluations++;
}

// Takes what a step returned: moves the window on, and lists the results of the
// scan.
static bool adx_unrolled_results(adx_unrolled *u)
{
    const adx_scan *c = u->k.scan;
    const ad_rev *out = u->k.io.rout;
    if (!u->counting
        && !adx_extend(&c->of.memory, (void **)&u->told, &u->room,
                       u->n + c->n.told, sizeof *u->told))
        return false;
    for (size_t j = 0; j < c->n.states + c->n.outputs; j++) {
        const adx_slice *l = &c->shape.slice[j];
        ad_rev *row = u->window + l->base;
        size_t rest = l->depth > 0 ? (l->depth - 1) * l->size : 0;
        if (l->depth > 0)
            memmove(row, row + l->size, rest * sizeof *row);
        for (size_t i = 0; i < l->size; i++, out++) {
            if (l->depth > 0)
                row[rest + i] = *out;
            if (l->told && !u->counting)
                u->told[u->n++] = *out;
        }
    }
    return true;
}

// Writes the state before step 0, and the data of sequences.
static void adx_unrolled_begin(adx_unrolled *u)
{
    const ad_scan_desc *d = u->d;
    ad_rev *to = u->window;
    for (size_t j = 0; j < d->states; j++)
        for (size_t i = 0;
             i < adx_rows_carried(&d->state[j]) * d->state[j].size; i++)
            *to++ = d->state[j].initial[i];
    for (size_t j = 0; j < d->sequences; j++)
        for (size_t i = 0; i < d->sequence[j].rows * d->sequence[j].size; i++)
            *to++ = d->sequence[j].row[i];
    if (d->untraced_bytes > 0)
        memcpy(u->k.state, d->untraced, d->untraced_bytes);
    u->n = 0;
    u->k.scan->steps = 0;
}

// Runs the steps; those before `first` are constants.
static ad_status adx_unroll(adx_unrolled *u, size_t first)
{
    adx_stepping *k = &u->k;
    adx_scan *c = k->scan;
    bool stop = false;
    adx_unrolled_begin(u);
    while (c->steps < u->d->steps && !stop) {
        bool constant = c->steps < first;
        adx_unrolled_inputs(u, c->steps, constant);
        stop = adx_call_step(k, k->io.rin, k->io.rout);
        if (k->status != ADREV_OK)
            return k->status;
        for (size_t i = 0; constant && i < c->n.out; i++)
            k->io.rout[i] = adx_without_derivative(k->io.rout[i]);
        if (!adx_unrolled_results(u))
            return ADREV_ENOMEM;
        c->steps++;
    }
    return ADREV_OK;
}

// Unrolls all steps. If only the last ones matter, a run without a tape first
// counts how many steps there are.
static ad_status adx_unroll_all(adx_unrolled *u)
{
    const ad_scan_desc *d = u->d;
    size_t first = 0;
    if (d->truncated) {
        ad_tape *before = ad_use(NULL);
        u->counting = true;
        ad_status status = adx_unroll(u, SIZE_MAX);
        u->counting = false;
        ad_use(before);
        if (status != ADREV_OK)
            return status;
        size_t n = u->k.scan->steps;
        first = d->reversed < n ? n - d->reversed : 0;
    }
    return adx_unroll(u, first);
}

static void adx_unrolled_hand_out(adx_unrolled *u)
{
    const adx_scan *c = u->k.scan;
    const ad_scan_desc *d = u->d;
    const ad_rev *told = u->told;
    for (size_t j = 0; j < d->states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        for (size_t i = 0; l->last && i < adx_slice_numbers(l); i++)
            d->state[j].last[i] = u->window[l->base + i];
    }
    adx_hand_out_steps(d, c->steps, told);
    if (c->n.untraced > 0)
        memcpy(d->untraced, u->k.state, c->n.untraced);
}

// Unrolls a scan. The scan that is made for it only describes the steps.
static ad_status adx_unrolled_scan(const ad_scan_desc *d, ad_vector_fn *f,
                                   const ad_allocator *a,
                                   ad_scan_report *report)
{
    adx_unrolled u = { .d = d };
    adx_scan *c = adx_new_scan(d, a, report);
    if (c == NULL)
        return ADREV_ENOMEM;
    ad_allocator memory = c->of.memory;
    c->call.f = f;
    ad_status status = ADREV_ENOMEM;
    bool begun = adx_begin_stepping(&u.k, c, ADX_UNROLL);
    u.window = (ad_rev *)adx_take(&memory, c->n.window + c->n.data,
                                  sizeof *u.window);
    if (begun && u.window != NULL) {
        u.data = u.window + c->n.window;
        status = adx_unroll_all(&u);
    }
    if (status == ADREV_OK)
        status = adx_now_status();
    if (status == ADREV_OK) {
        adx_unrolled_hand_out(&u);
        c->report->steps = c->steps;
    }
    adx_end_stepping(&u.k);
    adx_drop(&memory, u.window);
    adx_drop(&memory, u.told);
    adx_free_scan(&c->of);
    return status;
}

// Notes that a long loop has been unrolled under a hook: a function that
// records it would take the memory that the loop is meant to save.
static void adx_note_unrolled(size_t steps)
{
    adx_long_loop |= adx_now.trace && steps >= ADREV_REPLAY_FROM;
}

// Whether a scan may be one statement of a function that is being recorded.
static bool adx_may_be_whole(const ad_scan_desc *d)
{
#ifdef ADREV_FUNCTION_IMPLEMENTED
    const ad_tape *t = adx_now.tape;
    return d->whole && t != NULL && adx_now.trace && t->hooks.array != NULL
        && t->allocator.alloc != NULL && d->steps > 0
        && d->schedule.store == NULL && !d->truncated;
#else
    (void)d;
    return false;
#endif
}

// Does a scan: as one statement, or unrolled.
static ad_status adx_do_scan(const ad_scan_desc *d, ad_vector_fn *f,
                             ad_scan_report *report)
{
    const ad_allocator *a = adx_loop_memory(d->allocator);
    if (adx_may_be_whole(d)) {
        bool whole = true;
        ad_status status = adx_staged_scan(d, f, &adx_now.tape->allocator,
                                           report, &whole);
        if (whole)
            return adx_failed(status);
    }
    if (a != NULL && d->steps > 0)
        return adx_failed(adx_staged_scan(d, f, a, report, NULL));
    adx_note_unrolled(d->steps);
    a = adx_unrolled_memory(d->allocator);
    return a == NULL ? ADREV_ENOMEM
                     : adx_failed(adx_unrolled_scan(d, f, a, report));
}

// After a failure, makes the results NaN. How many rows there are for steps is
// known only if the description is `right`.
static void adx_spoil_results(const ad_scan_desc *d, ad_status status,
                              bool right)
{
    bool known = !adx_no_array(d->states, d->state);
    for (size_t j = 0; known && j < d->states; j++) {
        const ad_scan_state *x = &d->state[j];
        adx_results_or_nan(status, adx_rows_carried(x), x->size, x->last);
        if (right)
            adx_results_or_nan(status, d->steps, x->size, x->rows);
    }
    for (size_t j = 0; right && j < d->outputs; j++)
        adx_results_or_nan(status, d->steps, d->output[j].size,
                           d->output[j].row);
}

// Checks the arguments of a scan, and does it. On failure the results are NaN
// and the report is empty.
static ad_status adx_scan_with(const ad_scan_desc *d, ad_vector_fn *f,
                               ad_scan_report *report)
{
    bool right = (d->step != NULL || f != NULL) && adx_right_scan(d);
    ad_status status = adx_now_status();
    if (status == ADREV_OK)
        status = right && adx_right_schedule(&d->schedule)
               ? adx_do_scan(d, f, report) : adx_failed(ADREV_ESHAPE);
    if (status == ADREV_OK)
        return status;
    adx_spoil_results(d, status, right);
    if (report != NULL)
        memset(report, 0, sizeof *report);
    return status;
}

ADX_API ad_status ad_scan(const ad_scan_desc *scan, ad_scan_report *report)
{
    static const ad_scan_desc none;
    return adx_scan_with(scan == NULL ? &none : scan, NULL, report);
}

ADX_API ad_status ad_loop(ad_vector_fn *f, void *ctx, size_t steps, size_t n,
                          ad_rev x[], size_t np, const ad_rev p[],
                          ad_schedule schedule)
{
    const ad_scan_state state = { .size = n, .initial = x, .last = x };
    const ad_scan_desc d = {
        .ctx = ctx, .steps = steps, .states = 1, .state = &state,
        .parameters = np, .parameter = p, .schedule = schedule
    };
    return adx_scan_with(&d, f, NULL);
}
