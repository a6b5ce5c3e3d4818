#pragma once

/* === parallel/team ==========================================================
 * The tapes and threads of one recording, and how a rewind changes them. A team
 * is made with the first fork of a recording. It owns the tapes besides the
 * root: a thread takes one when it enters a branch, gives it back when it
 * leaves it, and all of them are cleared, or rewound, together with the root.
 *
 *   needs   number/recording tape/layout tape/memory tape/life parallel/api
 *           parallel/threads parallel/tasks parallel/imports
 *   offers  adx_parallel adx_worker_of adx_take_worker adx_give_worker
 *           adx_is_root adx_further_tape adx_sweeps_alone adx_owner_tape
 *           adx_clear_team adx_free_team adx_rewound
 * ========================================================================== */

/* --- the team of a recording --------------------------------------------- */

static const adx_annex adx_parallel;

// Makes the main task as it is in an empty recording. Its table is cleared and
// kept.
static void adx_new_main(adx_team *team)
{
    adx_task *task = &team->main;
    adx_table table = task->table;
    memset(task, 0, sizeof *task);
    if (table.room > 0)
        memset(table.bucket, 0, table.room * sizeof *table.bucket);
    table.n = 0;
    task->table = table;
    task->tape = team->home.tape;
    task->parent = task;
    task->jump = task;
}

// The worker of a tape; with the first fork of a recording its team is made.
// NULL: no memory.
static adx_worker *adx_worker_of(ad_tape *t)
{
    if (t->annex != NULL)
        return (adx_worker *)t->annexed;
    adx_team *team = (adx_team *)adx_alloc(t, sizeof *team);
    if (team == NULL)
        return NULL;
    memset(team, 0, sizeof *team);
    if (!ADX_MUTEX_INIT(&team->mutex)) {
        adx_free(t, team, sizeof *team);
        return NULL;
    }
    team->home.team = team;
    team->home.tape = t;
    team->home.task = &team->main;
    team->limbo = adx_new_job(NULL);
    adx_new_main(team);
    t->annexed = team;              // whose first field is the worker
    t->annex = &adx_parallel;
    return &team->home;
}

static adx_worker *adx_new_worker(adx_team *team)
{
    const ad_allocator *a = &team->home.tape->allocator;
    adx_worker *w = (adx_worker *)a->alloc(sizeof *w, a->user);
    if (w == NULL)
        return NULL;
    memset(w, 0, sizeof *w);
    w->team = team;
    w->tape = ad_tape_new_with(a);
    // The first block is made now: inputs at the very beginning of a tape have
    // no entry, but those of a task need one.
    if (w->tape == NULL || ad_tape_reserve(w->tape, 0, 1) != ADREV_OK) {
        ad_tape_free(w->tape);
        a->free(w, a->user);
        return NULL;
    }
    w->tape->open = 1;              // for good: it is not the user's
    w->tape->annexed = w;
    w->tape->annex = &adx_parallel;
    w->tape->segment[0].job = 0;
    return w;
}

// A tape for this thread until it gives it back: an idle one, or a new one.
static adx_worker *adx_take_worker(adx_team *team)
{
    ADX_LOCK(&team->mutex);
    adx_worker *w = team->idle;
    if (w != NULL)
        team->idle = w->idle;
    ADX_UNLOCK(&team->mutex);
    if (w == NULL) {
        w = adx_new_worker(team);
        if (w == NULL)
            return NULL;
        ADX_LOCK(&team->mutex);
        w->next = team->workers;
        team->workers = w;
        ADX_UNLOCK(&team->mutex);
    }
    w->tape->hooks.foreign = team->home.tape->hooks.foreign;
    w->tape->hooks.user = team->home.tape->hooks.user;
    w->tape->stops = team->home.tape->stops;
    return w;
}

static void adx_give_worker(adx_worker *w)
{
    ADX_LOCK(&w->team->mutex);
    w->idle = w->team->idle;
    w->team->idle = w;
    ADX_UNLOCK(&w->team->mutex);
}

static bool adx_is_root(const ad_tape *t)
{
    const adx_worker *w = (const adx_worker *)t->annexed;
    return w == &w->team->home;
}

static ad_tape *adx_further_tape(const ad_tape *t, size_t i)
{
    const adx_worker *w = (const adx_worker *)t->annexed;
    w = adx_is_root(t) ? w->team->workers : NULL;
    for (; w != NULL && i > 0; i--)
        w = w->next;
    return w == NULL ? NULL : w->tape;
}

// Whether a sweep of this tape meets no fork: there is none, or all lie below
// its floor.
static bool adx_sweeps_alone(const ad_tape *t)
{
    const adx_worker *w = (const adx_worker *)t->annexed;
    if (!adx_is_root(t) || w->team->main.fork == NULL)
        return true;
    const adx_place *last = &w->team->main.fork->leap.after;
    return t->floor.adx_block != NULL && t->floor.adx_block == last->block
        && (const uint16_t *)t->floor.adx_head <= last->head;
}

// The annex's owner: the tape of x, if x was made by a branch that has joined
// all the way up to the root, so that a sweep of the root reaches it; or NULL.
static const ad_tape *adx_owner_tape(const ad_tape *t, ad_rev x)
{
    adx_team *team = ((const adx_worker *)t->annexed)->team;
    const adx_task *task = adx_is_root(t) ? adx_task_of(team, x.job) : NULL;
    return task == NULL || adx_unjoined(task) != &team->main
        || adx_sweeps_alone(t) || x.seq == 0
        || x.seq > adx_live(task->tape)->seq ? NULL : task->tape;
}

// The tasks of a chunk are gone. Relaxed: no fork is open, so nobody looks.
static void adx_empty(adx_chunk *c)
{
    for (uint32_t i = 0; i < c->used; i++)
        atomic_store_explicit(&c->task[i].job, 0, memory_order_relaxed);
}

// Gives up the chunks that are newer than `last`, but keeps their memory.
static void adx_drop_chunks(adx_worker *w, const adx_chunk *last)
{
    while (w->chunk != NULL && w->chunk != last) {
        adx_chunk *c = w->chunk;
        w->chunk = c->older;
        adx_empty(c);
        c->older = w->unused;
        w->unused = c;
    }
}

static void adx_free_directories(adx_team *team, adx_directory *d)
{
    const ad_allocator *a = &team->home.tape->allocator;
    while (d != NULL) {
        adx_directory *older = d->older;
        a->free(d, a->user);
        d = older;
    }
}

// Fills the directory with the chunks that are left, and frees the smaller ones
// that it has replaced. No fork is open, so nobody reads them.
static void adx_file_again(adx_team *team)
{
    adx_directory *d = atomic_load(&team->directory);
    if (d == NULL)
        return;
    adx_free_directories(team, d->older);
    d->older = NULL;
    d->n = 0;
    memset(d->bucket, 0, d->room * sizeof d->bucket[0]);
    for (adx_worker *w = team->workers; w != NULL; w = w->next)
        for (adx_chunk *c = w->chunk; c != NULL; c = c->older)
            adx_enlist(d, c);
}

// Clears a worker's tape and gives up its tasks. The latest chunk stays, as
// full as it is, because the numbers of tasks are not used again.
static void adx_clear_worker(adx_worker *w)
{
    adx_chunk *c = w->chunk;
    if (c != NULL) {
        w->chunk = c->older;
        adx_drop_chunks(w, NULL);
        w->chunk = c;
        c->older = NULL;
        adx_empty(c);
    }
    w->scratch = 0;
    w->task = NULL;
    adx_reset_tape(w->tape, &w->tape->rest);
    w->tape->segment[0].job = 0;
}

static void adx_forget_failure(adx_team *team)
{
    atomic_store(&team->failed, ADREV_OK);
    memset(&team->failure, 0, sizeof team->failure);
}

// Clears the tapes of all workers when the root tape is cleared.
static void adx_clear_team(ad_tape *t)
{
    if (!adx_is_root(t))
        return;
    adx_team *team = ((adx_worker *)t->annexed)->team;
    for (adx_worker *w = team->workers; w != NULL; w = w->next)
        adx_clear_worker(w);
    adx_file_again(team);
    adx_new_main(team);
    adx_forget_failure(team);
}

// Frees the tapes of all workers when the root tape is freed. Tapes of workers
// have the same annex, and free nothing: their annex is taken away first.
static void adx_free_team(ad_tape *t)
{
    if (!adx_is_root(t))
        return;
    adx_team *team = ((adx_worker *)t->annexed)->team;
    const ad_allocator a = t->allocator;
    for (adx_worker *w = team->workers; w != NULL;) {
        adx_worker *next = w->next;
        adx_clear_worker(w);
        adx_drop_chunks(w, NULL);
        for (adx_chunk *c; (c = w->unused) != NULL;) {
            w->unused = c->older;
            adx_free(w->tape, c, sizeof *c);
        }
        adx_drop_table(w->tape, &w->spare);
        w->tape->annex = NULL;
        w->tape->open = 0;
        ad_tape_free(w->tape);
        a.free(w, a.user);
        w = next;
    }
    adx_free_directories(team, atomic_load(&team->directory));
    adx_drop_table(t, &team->main.table);
    ADX_MUTEX_FREE(&team->mutex);
    t->annex = NULL;
    adx_free(t, team, sizeof *team);
}

/* --- rewinding ----------------------------------------------------------- */

// Whether a place is behind the end of its tape: in the current block by its
// header, since headers are written downwards, or in a block that the tape no
// longer has.
static bool adx_is_beyond_end(const ad_tape *t, const adx_place *place)
{
    const adx_context *c = adx_live(t);
    if (place->block == t->block)
        return place->head < c->head;
    for (const adx_block *b = t->block; b != NULL; b = b->prev)
        if (b == place->block)
            return false;
    return true;
}

// Forgets the branches of a fork that a rewind has removed, and theirs.
static void adx_forget_branches(adx_fork *fork)
{
    for (size_t i = 0; i < fork->n; i++)
        if (fork->branch[i] != NULL) {
            atomic_store(&fork->branch[i]->job, 0);
            for (adx_fork *f = fork->branch[i]->fork; f != NULL; f = f->before)
                adx_forget_branches(f);
        }
}

// Drops the imports of a level whose inputs a rewind of t has removed. They are
// the last ones of this tape.
static void adx_cut_level(adx_level *level, const ad_tape *t)
{
    size_t seq = adx_live(t)->seq;
    adx_list *last = NULL;      // of the lists that stay

    for (adx_list *list = level->first; list != NULL; list = list->next) {
        while (list->tape == t && list->n > 0
               && list->entry[list->n - 1].local > seq)
            list->n--;
        if (list->n == 0)
            break;
        last = list;
    }
    if (last == NULL)
        level->first = NULL;
    else
        last->next = NULL;
    level->last = last;
}

// Of the tasks on a tape that have not been forgotten, the one that ends last.
// Tasks lie one in another where a thread ran branches while it waited, but
// outermost ones follow one another, so the search goes back no further than to
// the latest of those. *in becomes the newest chunk that is still needed.
static const adx_task *adx_latest_task(const adx_worker *w,
                                       const adx_chunk **in)
{
    const adx_task *latest = NULL;
    *in = NULL;
    for (const adx_chunk *c = w->chunk; c != NULL; c = c->older)
        for (uint32_t i = c->used; i-- > 0;) {
            const adx_task *task = &c->task[i];
            if (atomic_load(&task->job) == 0)
                continue;
            *in = *in == NULL ? c : *in;
            if (latest == NULL || task->stretch.to.seq > latest->stretch.to.seq)
                latest = task;
            if (task->outermost)
                return latest;
        }
    return latest;
}

// Rewinds a worker's tape to the end of the last task that is left on it.
static void adx_rewind_worker(adx_worker *w)
{
    const adx_chunk *in;
    const adx_task *latest = adx_latest_task(w, &in);
    if (latest == NULL) {
        adx_clear_worker(w);
        return;
    }
    const adx_place *end = &latest->stretch.to;
    ad_mark mark = {0};
    mark.adx_block = (void *)(uintptr_t)end->block;
    mark.adx_op = (void *)(uintptr_t)end->op;
    mark.adx_head = (void *)(uintptr_t)end->head;
    mark.adx_seq = (uint32_t)end->seq;
    mark.adx_one_way = w->tape->one_way;
    adx_drop_chunks(w, in);
    adx_return_to(w->tape, &mark);
    w->scratch = latest->stretch.scratch + latest->scratch;
}

// After forks of the root are gone, what their branches recorded goes too.
static void adx_rewind_team(adx_team *team)
{
    adx_forget_failure(team);
    for (adx_worker *w = team->workers; w != NULL; w = w->next)
        adx_rewind_worker(w);
    adx_file_again(team);
}

// Drops the imports of a task whose inputs a rewind has removed, from the lists
// and from the table, which is built again from the others.
static void adx_cut_imports(adx_task *me, ad_tape *t)
{
    if (me->fork != NULL)
        adx_cut_level(&me->fork->own, t);
    for (adx_level **at = &me->level; *at != NULL;) {
        adx_cut_level(*at, t);
        if ((*at)->first == NULL)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }

    // The table has no deletion, so it is filled again with what is left.
    adx_table old = me->table;
    memset(&me->table, 0, sizeof me->table);
    for (size_t i = 0; i < old.room; i++)
        if (old.bucket[i].id != 0 && old.bucket[i].local <= adx_live(t)->seq) {
            uint64_t id = old.bucket[i].id;
            adx_import *bucket = adx_bucket_of(t, &me->table, NULL, id);
            if (bucket == NULL)
                adx_fail(t, ADREV_ENOMEM);
            else
                adx_enter_import(&me->table, bucket, id, old.bucket[i].local);
        }
    adx_drop_table(t, &old);
    me->imports = me->table.n;
    me->latest = adx_live(t)->seq;
    me->near = 0;
}

// The annex's part of a rewind: forgets the forks behind the new end of the
// tape, and the imports whose inputs are gone. The workers' tapes are rewound
// only for the root, since in a branch other tasks may be recording on them.
static void adx_rewound(ad_tape *t)
{
    adx_worker *w = (adx_worker *)t->annexed;
    adx_task *me = w->task;
    if (me == NULL)
        return;
    bool root = me == &w->team->main;
    // If the rewind undoes a failure of a branch, the team has to forget it.
    bool dropped = root && t->status == ADREV_OK
                && atomic_load(&w->team->failed) != ADREV_OK;
    while (me->fork != NULL && adx_is_beyond_end(t, &me->fork->leap.after)) {
        adx_forget_branches(me->fork);
        me->fork = me->fork->before;
        dropped = true;
    }
    if (me->latest > adx_live(t)->seq)
        adx_cut_imports(me, t);
    if (dropped && root)
        adx_rewind_team(w->team);
}
