#pragma once

/* === loop/first =============================================================
 * The first run of a scan, and the statement that it records. The run calls the
 * steps with constants, or replays them by functions that an earlier scan has
 * left; states are kept as the schedule says (loop/schedule). The values of all
 * results are collected in a list. The statement is recorded when the run is
 * complete, because only then is it known how many steps there were and what
 * they captured.
 *
 *   needs   tape/memory array/external bulk/captured loop/api loop/stage
 *           loop/schedule loop/scan loop/step loop/replay loop/resume
 *           loop/sweep loop/recorded
 *   offers  adx_new_scan adx_hand_out_steps adx_staged_scan
 * ========================================================================== */

/* --- the first run ------------------------------------------------------- */

// Copies the values of the sequences, then those of the parameters.
static void adx_copy_values(adx_scan *c, const ad_scan_desc *d)
{
    ad_real *to = c->value;
    for (size_t j = 0; j < d->sequences; j++)
        for (size_t i = 0; i < d->sequence[j].rows * d->sequence[j].size; i++)
            *to++ = d->sequence[j].row[i].v;
    for (size_t i = 0; i < d->parameters; i++)
        *to++ = d->parameter[i].v;
}

static size_t adx_count_pieces(const ad_scan_desc *d)
{
    const int *tap;
    size_t n = 0;
    for (size_t j = 0; j < d->states; j++)
        n += adx_taps_of_state(&d->state[j], &tap);
    for (size_t j = 0; j < d->sequences; j++)
        n += adx_taps_of_sequence(&d->sequence[j], &tap);
    return n;
}

// Begins a timetable without levels, with what is known before the first run.
static void adx_begin_timetable(adx_scan *c)
{
    size_t n = c->most_steps;
    memset(c->report, 0, sizeof *c->report);
    c->timetable = (adx_timetable){
        .memory = c->of.memory, .bytes = adx_state_bytes(c),
        .end = n < ADX_STEPS_MOST ? n : ADX_STEPS_MOST, .stride = 1,
        .tail_at = SIZE_MAX, .report = c->report,
        .scan_bytes = sizeof *c
                    + (c->n.data + c->n.parameters) * sizeof *c->value
    };
}

// Takes the memory that a scan of this description needs. False: there is none.
static bool adx_take_scan(adx_scan *c, const ad_scan_desc *d)
{
    const ad_allocator *a = &c->of.memory;
    adx_scan_shape *s = &c->shape;
    s->slice = (adx_slice *)adx_take(a, d->states + d->outputs,
                                     sizeof *s->slice);
    s->given = (size_t *)adx_take(a, d->states + d->sequences,
                                  sizeof *s->given);
    s->piece = (adx_piece *)adx_take(a, adx_count_pieces(d), sizeof *s->piece);
    if (s->slice == NULL || s->given == NULL || s->piece == NULL)
        return false;
    adx_describe(c, d);
    c->value = (ad_real *)adx_take(a, c->n.data + c->n.parameters,
                                   sizeof *c->value);
    if (c->n.untraced > 0)
        c->untraced_first = adx_take(a, c->n.untraced, 1);
    return c->value != NULL
        && (c->n.untraced == 0 || c->untraced_first != NULL);
}

// Whether several processes go on from what is in the store. All must ask for
// it equally often, but whether steps can be replayed may differ: so none are.
static bool adx_is_shared(const ad_store *store)
{
    return store != NULL && store->resume && store->agree != NULL;
}

// Makes a scan from its description, with copies of all values that it reads.
// NULL: no memory.
static adx_scan *adx_new_scan(const ad_scan_desc *d, const ad_allocator *a,
                              ad_scan_report *report)
{
    adx_scan *c = (adx_scan *)adx_take(a, 1, sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (adx_scan){
        .of = { .memory = *a, .free = adx_free_scan },
        .call = { .step = d->step, .ctx = d->ctx },
        .n = { .states = d->states, .sequences = d->sequences,
               .outputs = d->outputs, .parameters = d->parameters,
               .untraced = d->untraced_bytes },
        .most_steps = d->steps, .open_ended = d->open_ended,
        .schedule = d->schedule,
        .replay = { .varies = d->unreplayed || d->untraced_bytes > 0
                           || adx_is_shared(d->schedule.store),
                    .compiled = d->compiled }
    };
    c->report = report == NULL ? &c->own_report : report;
    memset(c->report, 0, sizeof *c->report);
    if (!adx_take_scan(c, d)) {
        adx_free_scan(&c->of);
        return NULL;
    }
    if (c->n.untraced > 0)
        memcpy(c->untraced_first, d->untraced, c->n.untraced);
    adx_copy_values(c, d);
    adx_begin_timetable(c);
    return c;
}

// Writes the state before step 0.
static void adx_begin_state(adx_stepping *k, const ad_scan_desc *d)
{
    const adx_scan *c = k->scan;
    ad_real *window = adx_window_of(k);
    for (size_t j = 0; j < c->n.states; j++)
        for (size_t i = 0; i < adx_slice_numbers(&c->shape.slice[j]); i++)
            *window++ = d->state[j].initial[i].v;
    if (c->n.untraced > 0)
        memcpy(k->state, d->untraced, c->n.untraced);
}

// Does all steps: many at once where that is possible (adx_go_first), else one
// by one. At the end the last rows of the states are also appended to the list.
static ad_status adx_run_steps(adx_stepping *k, const ad_scan_desc *d,
                               adx_results_list *list)
{
    adx_scan *c = k->scan;
    bool stop = false;
    k->list = list;
    while (c->steps < d->steps && !stop) {
        c->steps = adx_go_first(&c->timetable, c->steps);
        if (c->steps == d->steps)
            break;
        if (!adx_keep_first(&c->timetable, c->steps, d->open_ended))
            return d->schedule.store != NULL ? ADREV_EEXTERNAL : ADREV_ENOMEM;
        stop = adx_do_step(k, c->steps);
        if (k->status != ADREV_OK || k->replay.again)
            return k->status;
        if (!adx_tell_step(k, list))
            return ADREV_ENOMEM;
        c->steps++;
    }
    c->stopped = stop;
    if (!adx_extend(&c->of.memory, (void **)&list->v, &list->room,
                    list->n + c->n.results, sizeof *list->v))
        return ADREV_ENOMEM;
    if (c->n.results > 0)
        adx_last_rows(c, adx_window_of(k), NULL, list->v + list->n);
    list->n += c->n.results;
    return ADREV_OK;
}

// Notes what is known only after the first run.
static void adx_complete_scan(adx_scan *c, const ad_scan_desc *d)
{
    adx_kept_level *l = &c->timetable.level[0];
    c->timetable.first = d->truncated && d->reversed < c->steps
                  ? c->steps - d->reversed : 0;
    c->replay.varies |= c->captured.n > 0;
    if (l->every == 0 && c->steps > 0)
        adx_judge_stack(&c->timetable, l, c->steps);
    c->report->steps = c->steps;
}

// Does the first run once. *again: a function did not do what the step does, so
// the run must be repeated without functions.
static ad_status adx_first_scan_once(adx_scan *c, const ad_scan_desc *d,
                                     adx_results_list *list, bool *again)
{
    adx_stepping k;
    adx_count_behind(c);
    ad_status status = adx_make_timetable(&c->timetable, &d->schedule,
                                          c->replay.behind);
    if (status != ADREV_OK)
        return status;
    adx_take_spare_states(c);
    status = ADREV_ENOMEM;
    if (adx_begin_stepping(&k, c, ADX_RUN)) {
        adx_begin_state(&k, d);
        if (adx_is_resumed(c))
            adx_name_scan(c, &k);
        status = adx_run_steps(&k, d, list);
        *again = k.replay.again && status == ADREV_OK;
        if (c->n.untraced > 0)
            list->untraced = adx_take(&c->of.memory, c->n.untraced, 1);
        if (list->untraced != NULL)
            memcpy(list->untraced, k.state, c->n.untraced);
        else if (c->n.untraced > 0 && status == ADREV_OK)
            status = ADREV_ENOMEM;
    }
    adx_end_stepping(&k);
    return status;
}

// Does the first run; a second time, if a function did not do what the step
// does.
static ad_status adx_first_scan(adx_scan *c, const ad_scan_desc *d,
                                adx_results_list *list)
{
    bool again = false;
    ad_status status = adx_first_scan_once(c, d, list, &again);
    if (again) {        // where there are untraced data, no step is replayed
        adx_free_timetable(&c->timetable);
        adx_begin_timetable(c);
        c->steps = c->replay.known = list->n = 0;
        c->replay.by_function = false;
        status = adx_first_scan_once(c, d, list, &again);
    }
    if (status == ADREV_OK)
        adx_complete_scan(c, d);
    if (status == ADREV_OK && adx_is_resumed(c))
        adx_note_found(c, list);
    return status;
}

/* --- one statement ------------------------------------------------------- */

// Lists all inputs: initial rows, sequences, parameters, and the captured
// numbers.
static void adx_list_inputs(const adx_scan *c, const ad_scan_desc *d,
                            ad_rev all[])
{
    for (size_t j = 0; j < d->states; j++)
        for (size_t i = 0; i < adx_slice_numbers(&c->shape.slice[j]); i++)
            *all++ = d->state[j].initial[i];
    for (size_t j = 0; j < d->sequences; j++)
        for (size_t i = 0; i < d->sequence[j].rows * d->sequence[j].size; i++)
            *all++ = d->sequence[j].row[i];
    for (size_t i = 0; i < d->parameters; i++)
        *all++ = d->parameter[i];
    adx_list_captured(&c->captured, all);
}

// Writes the results of the steps to where the caller wants them. Returns what
// comes behind them.
static const ad_rev *adx_hand_out_steps(const ad_scan_desc *d, size_t steps,
                                        const ad_rev y[])
{
    for (size_t s = 0; s < steps; s++) {
        for (size_t j = 0; j < d->states; j++)
            for (size_t i = 0; d->state[j].rows != NULL
                 && i < d->state[j].size; i++)
                d->state[j].rows[s * d->state[j].size + i] = *y++;
        for (size_t j = 0; j < d->outputs; j++)
            for (size_t i = 0; d->output[j].row != NULL
                 && i < d->output[j].size; i++)
                d->output[j].row[s * d->output[j].size + i] = *y++;
    }
    return y;
}

// Writes all results to where the caller wants them: those of the steps, then
// the last rows.
static void adx_hand_out(const ad_scan_desc *d, size_t steps, size_t told,
                         const ad_rev y[])
{
    if (told > 0)
        y = adx_hand_out_steps(d, steps, y);
    for (size_t j = 0; j < d->states; j++) {
        size_t n = adx_rows_carried(&d->state[j]) * d->state[j].size;
        for (size_t i = 0; d->state[j].last != NULL && i < n; i++)
            d->state[j].last[i] = *y++;
    }
}

// Records the statement, which owns the scan from then on. If there are no
// results, and the steps need not be swept always, there is no statement, and
// the scan is freed.
static ad_status adx_record_scan(adx_scan *c, const ad_scan_desc *d,
                                 const adx_results_list *list)
{
    ad_allocator memory = c->of.memory;
    size_t n = c->n.window + c->n.data + c->n.parameters + c->captured.n;
    size_t steps = c->steps;
    size_t told = c->n.told;
    ad_rev *all = (ad_rev *)adx_take(&memory, n + list->n, sizeof *all);
    ad_status status = ADREV_ENOMEM;
    if (all == NULL || (list->n == 0 && !c->always)) {
        status = all == NULL ? ADREV_ENOMEM : ADREV_OK;
        adx_free_scan(&c->of);
    } else {
        adx_list_inputs(c, d, all);
        status = adx_record_external_as(&adx_scan_rule, c->always, &c,
                                        sizeof c, n, all, list->n, list->v,
                                        all + n);
    }
    if (status == ADREV_OK && list->n > 0)
        adx_hand_out(d, steps, told, all + n);
    adx_drop(&memory, all);
    return status;
}

// Does a scan as one statement. whole is NULL, or the scan is to be a single
// statement of a recorded function. Then *whole becomes whether that is
// possible. It is not if steps capture anything, and then nothing is recorded.
static ad_status adx_staged_scan(const ad_scan_desc *d, ad_vector_fn *f,
                                 const ad_allocator *a, ad_scan_report *report,
                                 bool *whole)
{
    adx_results_list list = {0};
    adx_scan *c = adx_new_scan(d, a, report);
    if (c == NULL)
        return ADREV_ENOMEM;
    ad_allocator memory = c->of.memory;
    c->call.f = f;
    adx_choose_replays(c, adx_is_resumed(c) ? NULL : d->replays);
    c->replay.known = adx_is_varying(c) ? 0 : c->replay.used->paths;
    ad_status status = adx_share_stage(&c->of) ? adx_first_scan(c, d, &list)
                                               : ADREV_ENOMEM;
    if (whole != NULL)
        *whole = status != ADREV_OK || c->captured.n == 0;
    if (status == ADREV_OK && (whole == NULL || *whole))
        status = adx_record_scan(c, d, &list);
    else
        adx_free_scan(&c->of);
    if (status == ADREV_OK && list.untraced != NULL
        && (whole == NULL || *whole))
        memcpy(d->untraced, list.untraced, d->untraced_bytes);
    adx_drop(&memory, list.v);
    adx_drop(&memory, list.untraced);
    return status;
}
