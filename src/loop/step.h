#pragma once

/* === loop/step ==============================================================
 * One step of a scan. Its inputs are gathered from the window, the sequences
 * and the parameters. It is called, with constants or recorded on a stage. Its
 * outputs shift the window by a row. On the way back its adjoints are gathered
 * and spread by the same pieces (loop/scan).
 *
 *   needs   number/recording tape/memory sweep/session array/linear
 *           bulk/captured loop/api loop/stage loop/scan
 *   offers  adx_state_bytes adx_window_of adx_is_lean adx_is_varying
 *           adx_point_at adx_call_step adx_gather_sequences adx_gather_taps
 *           adx_gather_step adx_add_few adx_spread_given adx_run_step
 *           adx_shift_window adx_copy_told adx_expect_results adx_tell_results
 *           adx_tell_step adx_weigh
 * ========================================================================== */

// A state: untraced data, aligned for anything; the window; in recorded
// functions, its tangents.
static size_t adx_window_at(const adx_scan *c)
{
    return (c->n.untraced + 7) / 8 * 8;
}

static size_t adx_state_bytes(const adx_scan *c)
{
    return adx_window_at(c)
         + c->n.window * sizeof(ad_real) * (c->shape.moving ? 2 : 1);
}

static ad_real *adx_window_of(const adx_stepping *k)
{
    return (ad_real *)(void *)(k->state + adx_window_at(k->scan));
}

// Whether the steps carry on no more than one row of each state. The numbers
// that a step is given then begin with the state itself.
static bool adx_is_lean(const adx_scan *c)
{
    const adx_scan_shape *s = &c->shape;
    return s->flat && s->state_pieces == 1 && c->n.untraced == 0 && !s->moving;
}

// Whether only the step itself says what it does.
static bool adx_is_varying(const adx_scan *c)
{
    return c->replay.varies || c->replay.used->varies;
}

// Says where a step finds its numbers, and where it leaves its results.
static void adx_point_at(adx_stepping *k, const ad_rev *x, ad_rev *y)
{
    const adx_scan *c = k->scan;
    for (size_t j = 0; j < c->n.states + c->n.sequences; j++)
        k->io.given[j] = x + c->shape.given[j];
    for (size_t j = 0; j < c->n.states + c->n.outputs; j++) {
        k->io.taken[j] = y;
        y += c->shape.slice[j].size;
    }
    k->io.step = (ad_step){
        .state = k->io.given, .sequence = k->io.given + c->n.states,
        .parameter = x + c->n.in - 1 - c->n.parameters,
        .next = k->io.taken, .output = k->io.taken + c->n.states,
        .untraced = k->state, .adx_owner = k
    };
}

// Calls the step with x and y. Returns whether it says that it was the last
// one.
static bool adx_call_step(adx_stepping *k, const ad_rev *x, ad_rev *y)
{
    const adx_scan *c = k->scan;
    ad_step s = k->io.step;
    adx_unset(c->n.out, y);
    k->io.number = x[c->n.in - 1];
    if (c->call.f != NULL)
        c->call.f(x, y, c->call.ctx);
    else
        c->call.step(&s, c->call.ctx);
    if (s.status == ADREV_OK && !adx_all_set(c->n.out, y))
        s.status = ADREV_ESHAPE;
    if (k->status == ADREV_OK)
        k->status = s.status;
    return s.stop;
}

ADX_API size_t ad_step_index(ad_step *s)
{
    s->adx_owner->scan->replay.varies = true;
    return s->adx_owner->io.index;
}

ADX_API ad_rev ad_step_number(ad_step *s)
{
    return s->adx_owner->io.number;
}

// Gathers what the taps of step s read of sequences.
ADX_INLINE void adx_gather_sequences(const adx_scan *c, size_t s,
                                     const ad_real data[], ad_real to[])
{
    for (size_t i = c->shape.state_pieces; i < c->shape.pieces; i++) {
        const adx_piece *p = &c->shape.piece[i];
        adx_copy_few(p->size, data + p->from + (ptrdiff_t)s * p->move,
                     to + p->at);
    }
}

// Gathers what all taps read, of the window, too, unless `to` begins with that.
static void adx_gather_taps(const adx_scan *c, size_t s, const ad_real window[],
                            const ad_real data[], ad_real to[])
{
    for (size_t i = 0; to != window && i < c->shape.state_pieces; i++)
        adx_copy_few(c->shape.piece[i].size, window + c->shape.piece[i].from,
                     to + c->shape.piece[i].at);
    adx_gather_sequences(c, s, data, to);
}

// Gathers the numbers that step s is given.
static void adx_gather_step(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    adx_gather_taps(c, s, adx_window_of(k), c->value, k->io.in);
    k->io.in[c->n.in - 1] = (ad_real)s;
    k->io.index = s;
}

// Adds n numbers, mostly so few that vectors would not be worth the tests
// before them; see adx_copy_few.
ADX_INLINE void adx_add_few(size_t n, const ad_real *from, ad_real *to)
{
    for (; n > 1; n -= 2, from += 2, to += 2) {
        ad_real x = to[0] + from[0];
        ADX_OPAQUE(from);
        ad_real y = to[1] + from[1];
        to[0] = x;
        ADX_OPAQUE(to);
        to[1] = y;
    }
    if (n > 0)
        *to += *from;
}

// Adds the adjoints of what step s was given, except for the window, where they
// belong: to the data of sequences, and to the parameters behind them.
ADX_INLINE void adx_spread_given(const adx_scan *c, size_t s,
                                 const ad_real dx[], ad_real data[])
{
    for (size_t i = c->shape.state_pieces; i < c->shape.pieces; i++) {
        const adx_piece *p = &c->shape.piece[i];
        adx_add_few(p->size, dx + p->at,
                    data + p->from + (ptrdiff_t)s * p->move);
    }
    adx_add_few(c->n.parameters, dx + c->n.in - 1 - c->n.parameters,
                data + c->n.data);
}

// Runs the step whose numbers were gathered, with constants or recorded: from
// rin to rout. Parameters that are constants already are not written again
// (stale).
static bool adx_run_step(adx_stepping *k, bool recorded)
{
    adx_scan *c = k->scan;
    size_t varying = k->io.stale ? c->n.in - 1 : c->n.in - 1 - c->n.parameters;
    adx_begin_run(k->stage, recorded);
    if (recorded)
        (ad_inputs)(c->n.in - 1, k->io.in, k->io.rin);
    else
        for (size_t i = 0; i < varying; i++)
            k->io.rin[i] = adx_passive(k->io.in[i]);
    k->io.stale = recorded;
    k->io.rin[c->n.in - 1] = adx_passive(k->io.in[c->n.in - 1]);
    c->report->evaluations++;
    c->report->recorded += recorded;
    bool stop = adx_call_step(k, k->io.rin, k->io.rout);
    ad_status status = adx_end_apart(k->stage->tape, c->n.out, k->io.rout);
    c->always |= k->stage->tape->always;
    c->replay.varies |= c->always;
    if (k->status == ADREV_OK)
        k->status = status;
    return stop;
}

// Shifts each state of the window by one row, and appends the new row.
static void adx_shift_window(const adx_scan *c, ad_real window[],
                             const ad_real out[])
{
    for (size_t i = 0; c->shape.flat && i < c->n.window; i++)
        window[i] = out[i];
    for (size_t j = 0; !c->shape.flat && j < c->n.states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        ad_real *row = window + l->base;
        size_t rest = (l->depth - 1) * l->size;
        memmove(row, row + l->size, rest * sizeof *row);
        for (size_t i = 0; i < l->size; i++)
            row[rest + i] = *out++;
    }
}

// Copies those numbers that a step returns, or their tangents, that are results
// of the scan. Returns where the next ones go.
static ad_real *adx_copy_told(const adx_scan *c, const ad_real out[],
                              ad_real to[])
{
    for (size_t j = 0; j < c->n.states + c->n.outputs; j++)
        for (size_t i = 0; i < c->shape.slice[j].size; i++, out++)
            if (c->shape.slice[j].told)
                *to++ = *out;
    return to;
}

// Makes room for the results of some steps. False: no memory.
static bool adx_expect_results(const adx_scan *c, adx_results_list *list,
                               size_t steps)
{
    return c->n.told == 0
        || adx_extend(&c->of.memory, (void **)&list->v, &list->room,
                      list->n + steps * c->n.told, sizeof *list->v);
}

// Appends the results of a step, for which there is room.
ADX_INLINE void adx_tell_results(const adx_scan *c, adx_results_list *list,
                                 const ad_real out[])
{
    if (c->n.told == 0)
        return;
    adx_copy_told(c, out, list->v + list->n);
    list->n += c->n.told;
}

static bool adx_tell_step(const adx_stepping *k, adx_results_list *list)
{
    if (!adx_expect_results(k->scan, list, 1))
        return false;
    adx_tell_results(k->scan, list, k->io.out);
    return true;
}

// The weights of step s: the adjoints of what it returned, which are those of
// the newest rows of the window plus those of results. Returns whether any is
// not 0.
static bool adx_weigh(const adx_scan *c, size_t s, const adx_frame *f,
                      const ad_real window[])
{
    const ad_real *dy = f->dy + s * c->n.told;
    ad_real *w = f->weight;
    bool any = false;
    for (size_t j = 0; j < c->n.states + c->n.outputs; j++) {
        const adx_slice *l = &c->shape.slice[j];
        const ad_real *carried = window + l->base
                               + (l->depth > 0 ? l->depth - 1 : 0) * l->size;
        for (size_t i = 0; i < l->size; i++, w++) {
            *w = (l->depth > 0 ? carried[i] : 0) + (l->told ? *dy++ : 0);
            any |= *w != 0;
        }
    }
    return any;
}
