#pragma once

/* === loop/resume ============================================================
 * A sweep of a scan whose store has `resume` goes on where an earlier process
 * has ended. Level 0 divides the steps into ranges (loop/schedule). When a
 * range has been reversed, the store gets the adjoints that the sweep carries,
 * and those of the rows of sequences that the steps of the range read. A sweep
 * that finds these in the store takes them instead of reversing the range.
 *
 * The bits must not depend on where the sweep began. So functions that replay
 * steps are recorded anew in each range, and none come from other scans.
 *
 *   needs   tape/layout tape/memory tape/hooks loop/api loop/schedule
 *           loop/scan loop/step loop/replay
 *   offers  adx_is_resumed adx_name_scan adx_note_found adx_begin_resuming
 * ========================================================================== */

static bool adx_is_resumed(const adx_scan *c)
{
    return c->schedule.store != NULL && c->schedule.store->resume;
}

// A number that says which scan this is, in any process: a hash of its sizes,
// of where it stands on the tape, and of the values that it begins with.
static void adx_name_scan(adx_scan *c, const adx_stepping *k)
{
    const ad_tape *t = k->before;       // where forks are, places vary
    const uint64_t place = t->annex == NULL ? adx_live(t)->seq : 0;
    const uint64_t sizes[] = { c->n.in, c->n.out, c->n.window, c->n.data,
                               c->n.parameters, c->n.told, c->n.results,
                               c->n.untraced, c->most_steps,
                               c->schedule.store->every, place };
    uint64_t h = adx_mix_bytes(c->replay.used->layout, sizeof sizes, sizes);
    h = adx_mix_bytes(h, (c->n.data + c->n.parameters) * sizeof *c->value,
                      c->value);
    h = adx_mix_bytes(h, c->n.untraced, k->state);
    c->timetable.run = adx_mix_bytes(h, c->n.window * sizeof *c->value,
                                adx_window_of(k));
}

// Notes what the first run has found, and how far back sweeps go: it tells
// sweeps of other runs apart.
static void adx_note_found(adx_scan *c, const adx_results_list *list)
{
    uint64_t h = adx_mix_bytes(c->timetable.run, sizeof c->timetable.first,
                               &c->timetable.first);
    c->found = adx_mix_bytes(h, list->n * sizeof *list->v, list->v);
}

/* --- what the store gets -------------------------------------------------- */

typedef struct adx_adjoints_head {
    adx_stamp stamp;
    uint64_t sum;               // a hash of the numbers
} adx_adjoints_head;

// The numbers of what the store gets.
static ad_real *adx_stored_adjoints(const adx_stepping *k)
{
    return (ad_real *)(void *)(k->resume.adjoints + sizeof(adx_adjoints_head));
}

// The adjoints of sequences to which the steps of a range may add, by one tap.
static ad_real *adx_rows_of_piece(const adx_stepping *k, const adx_piece *p,
                                  size_t from, size_t to, size_t *n)
{
    size_t earliest = p->move < 0 ? to - 1 : from;
    *n = (to - 1 - from) * adx_magnitude(p->move) + p->size;
    return k->f.dx + k->scan->n.window + p->from
         + (ptrdiff_t)earliest * p->move;
}

// Copies n numbers to `at`, if it is not NULL, or from there. Returns what
// comes behind them.
static ad_real *adx_move_adjoints(size_t n, ad_real x[], ad_real *at, bool back)
{
    if (at == NULL)
        return NULL;
    memcpy(back ? x : at, back ? at : x, n * sizeof *x);
    return at + n;
}

// Goes through all adjoints that belong to a range: counts them, and copies
// them to `at` or back from there.
static size_t adx_list_adjoints(adx_stepping *k, size_t from, size_t to,
                                ad_real *at, bool back)
{
    adx_scan *c = k->scan;
    size_t all = c->n.window;
    at = adx_move_adjoints(c->n.window, k->f.carried, at, back);
    for (size_t i = c->shape.state_pieces; i <= c->shape.pieces; i++) {
        size_t n = c->n.parameters + c->captured.n;
        ad_real *rows = i == c->shape.pieces ? k->f.dx + c->n.window + c->n.data
            : adx_rows_of_piece(k, &c->shape.piece[i], from, to, &n);
        at = adx_move_adjoints(n, rows, at, back);
        all += n;
    }
    return all;
}

// Names the adjoints of range i. Those of a scan that is replayed and those of
// one that is not have other bits, and other numbers.
static adx_stamp adx_stamp_adjoints(const adx_stepping *k, size_t i)
{
    bool varies = adx_is_varying(k->scan);
    return (adx_stamp){ k->resume.named, ADX_STORED * i + 1 + varies };
}

// Puts the adjoints of range i into the store.
static bool adx_put_adjoints(void *user, size_t i, size_t from, size_t to)
{
    adx_stepping *k = (adx_stepping *)user;
    const ad_store *store = k->scan->schedule.store;
    adx_adjoints_head head = { adx_stamp_adjoints(k, i), 0 };
    ad_real *at = adx_stored_adjoints(k);
    size_t bytes = sizeof *at * adx_list_adjoints(k, from, to, at, false);
    head.sum = adx_mix_bytes(0, bytes, at);
    memcpy(k->resume.adjoints, &head, sizeof head);
    k->resume.searching = false;
    k->scan->timetable.put = true;
    return store->put(store->user, (size_t)head.stamp.number,
                      k->resume.adjoints, sizeof head + bytes);
}

// Fetches adjoints. False: they are not there, or not those of this sweep.
static bool adx_fetch_adjoints(const adx_stepping *k, const adx_stamp *stamp,
                               size_t bytes)
{
    const ad_store *store = k->scan->schedule.store;
    char *at = k->resume.adjoints;
    adx_adjoints_head head;
    adx_fetching_alone = store->agree == NULL;
    bool got = store->get(store->user, (size_t)stamp->number, at,
                          sizeof head + bytes);
    adx_fetching_alone = false;
    if (!got)
        return false;
    memcpy(&head, at, sizeof head);
    return memcmp(&head.stamp, stamp, sizeof *stamp) == 0
        && head.sum == adx_mix_bytes(0, bytes, at + sizeof head);
}

// Takes the adjoints of range i out of the store. False: this process does not
// have them, or another one.
static bool adx_get_adjoints(adx_stepping *k, size_t i, size_t from, size_t to)
{
    const ad_store *store = k->scan->schedule.store;
    const adx_stamp stamp = adx_stamp_adjoints(k, i);
    ad_real *at = adx_stored_adjoints(k);
    size_t bytes = sizeof *at * adx_list_adjoints(k, from, to, NULL, false);
    bool mine = adx_fetch_adjoints(k, &stamp, bytes);
    bool all = store->agree == NULL || store->agree(store->user, mine);
    if (!mine || !all)
        return false;
    adx_list_adjoints(k, from, to, at, true);
    k->scan->report->resumed += to - from;
    return true;
}

/* --- going on ------------------------------------------------------------- */

// Gives up the functions that replay steps, so that the next range records its
// own.
static void adx_forget_functions(adx_stepping *k)
{
    ad_replays *r = k->scan->replay.used;
    adx_end_evaluations(k);
#ifdef ADREV_FUNCTION_IMPLEMENTED
    k->replay.evaluation = NULL;
#endif
    adx_free_paths(r);
    r->missed = 0;
    k->replay.latest = 0;
    k->replay.rest = 0;
}

// Takes the adjoints of range i as those of a scan that is not replayed, or as
// those of this one.
static bool adx_find_adjoints(adx_stepping *k, bool as_varying, size_t i,
                              size_t from, size_t to)
{
    ad_replays *r = k->scan->replay.used;
    bool varied = r->varies;
    r->varies |= as_varying;
    bool found = adx_get_adjoints(k, i, from, to);
    if (!found)
        r->varies = varied;
    return found;
}

// Takes the adjoints of range i out of the store, as long as all of the later
// ranges were there. An earlier process may have found out that the step
// varies: in this range, or further on, after which it began again with the
// last one.
static bool adx_resume_range(void *user, size_t i, size_t from, size_t to)
{
    adx_stepping *k = (adx_stepping *)user;
    bool last = to == k->scan->steps;
    if (k->resume.searching)
        k->resume.searching = adx_find_adjoints(k, last, i, from, to)
                    || (!adx_is_varying(k->scan)
                        && adx_find_adjoints(k, !last, i, from, to));
    if (!k->resume.searching)
        adx_forget_functions(k);
    return k->resume.searching;
}

// Lets a sweep from the adjoints dy of the results to those of the inputs, dx,
// go on. It pairs with adx_end_stepping. False: no memory.
static bool adx_begin_resuming(adx_stepping *k, const ad_real dy[],
                               ad_real dx[])
{
    adx_scan *c = k->scan;
    size_t m = c->steps * c->n.told + c->n.results;
    size_t every = c->timetable.level[0].every;
    every = every < c->steps ? every : c->steps;
    k->f.dx = dx;
    size_t n = adx_list_adjoints(k, 0, every, NULL, false);
    k->resume.adjoints = (char *)adx_take(&c->of.memory,
                                          sizeof(adx_adjoints_head)
                                          + n * sizeof *dy, 1);
    k->resume.named = adx_mix_bytes(c->found, m * sizeof *dy, dy);
    k->resume.searching = true;
    c->timetable.resume = adx_resume_range;
    c->timetable.put_adjoints = adx_put_adjoints;
    adx_forget_functions(k);
    return k->resume.adjoints != NULL;
}
