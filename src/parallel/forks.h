#pragma once

/* === parallel/forks =========================================================
 * How a fork is opened, its branches run, and joined; and the forms of a fork
 * for C programs. While a fork is open, nothing is recorded where it was
 * opened: its task is set aside, and the thread may run branches on the same
 * tape, unless that is the root's: then they are recorded on another one. Each
 * branch is a task; what it records is a stretch of one tape. A fork keeps its
 * branches in their order (adx_fork), and is two entries of the tape of its own
 * task, between which other tasks may have recorded.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries
 *           array/operands parallel/api parallel/threads parallel/pool
 *           parallel/tasks parallel/imports parallel/team parallel/sweep
 * ========================================================================== */

/* --- forks --------------------------------------------------------------- */

// Whether branches are recorded as a part of the task that forks, one after the
// other: where there cannot be a second tape, and within ad_grad in a branch,
// whose recording is swept while other branches run.
static bool adx_is_alone(const ad_tape *t)
{
    return t->allocator.alloc == NULL || adx_live(t)->trace || t->alone
        || (t->annex != NULL && !adx_is_root(t) && t->segments > 1);
}

// From now on whatever is recorded on w, whose tape is current here, belongs to
// this task. NULL: it belongs to no task, and is foreign wherever it is used.
static void adx_switch_task(adx_worker *w, adx_task *task)
{
    ad_tape *t = w->tape;
    uint32_t job = task == NULL ? w->team->limbo
                 : atomic_load_explicit(&task->job, memory_order_relaxed);
    w->task = task;
    t->segment[0].job = job;
    t->sealed = adx_now.head;       // imports begin an entry of their own
    t->start = NULL;
    adx_now.job = job;
    adx_now.sink = task == NULL ? 0 : task->sink;
    adx_now.since = adx_now.seq;    // what lies below depends on the schedule
}

// Notes the first failure of a branch. t is its tape, which knows where it was,
// or NULL.
static void adx_team_fail(adx_team *team, ad_status status, const ad_tape *t)
{
    ADX_LOCK(&team->mutex);
    if (atomic_load(&team->failed) == ADREV_OK) {
        if (t != NULL)
            team->failure = t->failure;
        atomic_store(&team->failed, (int)status);
    }
    ADX_UNLOCK(&team->mutex);
}

// While a fork is open, no task is recorded where it was opened: branches that
// this thread runs use the tape instead. The tape of the root is not used for
// that, since other branches look up values on it: another tape becomes
// current.
static bool adx_step_aside(ad_fork *f, adx_worker *w)
{
    if (w == &w->team->home) {
        w = adx_take_worker(w->team);
        if (w == NULL)
            return false;
        f->adx_host = w;
        ad_use(w->tape);
    }
    adx_switch_task(w, NULL);
    return true;
}

// Undoes adx_step_aside, and notes a failure of the tape that stood in.
static void adx_step_back(ad_fork *f)
{
    adx_worker *w = f->adx_host;
    ad_tape *t = w == NULL ? f->adx_tape : w->tape;
    if (adx_now.tape != t)
        ad_use(t);
    if (t->status != ADREV_OK)
        adx_team_fail(f->adx_crew, t->status, t);
    if (w == NULL)
        adx_switch_task((adx_worker *)t->annexed, f->adx_record->task);
    else {
        ad_use(f->adx_tape);
        adx_give_worker(w);
    }
}

// Writes the first of the two entries of a fork, which holds its adx_fork.
// NULL: the tape has failed.
static adx_fork *adx_add_fork(ad_tape *t, const adx_worker *w, size_t n)
{
    adx_place before = adx_here_on(t);
    adx_fork *fork = (adx_fork *)adx_add_bytes(
        &adx_now, ADX_LEAP, sizeof *fork + n * sizeof fork->branch[0], 0);
    if (fork == NULL)
        return NULL;
    memset(fork, 0, sizeof *fork + n * sizeof fork->branch[0]);
    fork->self = &fork->leap;
    fork->leap.reverse = adx_leap_reverse;
    fork->leap.forward = adx_leap_forward;
    fork->leap.before = before;
    fork->leap.after = adx_here_on(t);      // for now: where branches begin
    fork->task = w->task;
    fork->imports = w->task->imports;
    fork->n = n;
    fork->measure = w->team->measure;
    return fork;
}

// Writes the first entry, and steps aside. If the tape has failed already, or
// fails here, the branches run without one.
ADX_API void ad_fork_open(ad_fork *f, size_t n)
{
    ad_tape *t = adx_now.tape;
    memset(f, 0, sizeof *f);
    f->adx_tape = t;
    f->adx_n = n;
    f->adx_execute = adx_mine.execute;
    f->adx_user = adx_mine.user;
    if (t == NULL || t->status != ADREV_OK)
        return;
    f->adx_inline = adx_is_alone(t);
    if (f->adx_inline)
        return;

    adx_worker *w = adx_worker_of(t);
    if (w == NULL || n > SIZE_MAX / 64) {
        adx_fail(t, w == NULL ? ADREV_ENOMEM : ADREV_ELIMIT);
        return;
    }
    adx_fork *fork = adx_add_fork(t, w, n);
    if (fork == NULL)
        return;
    f->adx_crew = w->team;
    if (!adx_step_aside(f, w)) {
        adx_fail(t, ADREV_ENOMEM);
        return;
    }
    f->adx_record = fork;
    t->open++;
    if (fork->measure)
        fork->primal[0] = adx_clock();
}

ADX_API void ad_tape_serial(ad_tape *t, bool on)
{
    if (t != NULL)
        t->alone = on;
}

ADX_API bool ad_fork_parallel(const ad_fork *f) { return !f->adx_inline; }

// A tape for a branch: the one that is current on this thread, if it is of this
// recording and no task is being recorded there; else an idle one. NULL: no
// memory.
static adx_worker *adx_worker_here(adx_team *team, bool *taken)
{
    const ad_tape *t = adx_now.tape;
    *taken = false;
    if (t != NULL && t->annex == &adx_parallel && t->segments == 1) {
        adx_worker *w = (adx_worker *)t->annexed;
        // a task that is being recorded there must not be broken up
        if (w->team == team && w != &team->home && w->task == NULL)
            return w;
    }
    *taken = true;
    return adx_take_worker(team);
}

// Finds a tape for branch i, and makes its task. NULL: there is none, because
// of an earlier failure or a new one.
static adx_task *adx_find_task(ad_branch *b, ad_fork *f, size_t i)
{
    const adx_fork *fork = f->adx_record;
    if (fork == NULL)
        return NULL;
    adx_worker *w = i >= f->adx_n
                  ? NULL : adx_worker_here(f->adx_crew, &b->adx_taken);
    adx_task *task = w == NULL ? NULL : adx_new_task(w, fork->task);
    bool again = task != NULL && fork->branch[i] != NULL;
    if (task != NULL && !again)
        return task;
    if (again)                      // it has been entered before
        adx_forget(w, task);
    adx_team_fail(f->adx_crew, again || i >= f->adx_n ? ADREV_ESHAPE
                                                      : ADREV_ENOMEM, NULL);
    if (w != NULL && b->adx_taken)
        adx_give_worker(w);
    return NULL;
}

// Makes the tape of a task current, and begins its stretch at the end of that
// tape. The task's first value is its sink, to which its constants write their
// adjoints.
static void adx_begin_task(ad_branch *b, adx_task *task)
{
    ad_tape *t = task->tape;
    adx_worker *w = (adx_worker *)t->annexed;
    if (adx_now.tape != t)
        ad_use(t);
    task->outermost = w->running++ == 0;
    b->adx_own = task;
    b->adx_tape = t;
    b->adx_scratch = t->scratch;
    // The task's own scratch room is counted from 0.
    t->scratch = 0;
    task->sink = ++adx_now.seq;
    adx_switch_task(w, task);
    task->stretch.from = adx_here_on(t);
    task->blank = task->stretch.from.head;
    if (b->adx_fork->adx_record->measure)
        task->primal[0] = adx_clock();
}

// If there is no task, the branch runs without a tape. The thread's executor
// becomes that of the fork until the branch is left.
ADX_API void ad_branch_enter(ad_branch *b, ad_fork *f, size_t i)
{
    memset(b, 0, sizeof *b);
    b->adx_fork = f;
    b->adx_index = i;
    b->adx_execute = adx_mine.execute;
    b->adx_user = adx_mine.user;
    adx_mine.execute = f->adx_execute;
    adx_mine.user = f->adx_user;
    adx_mine.inside++;
    b->adx_before = adx_now.tape;
    adx_chaos();
    if (f->adx_inline) {
        if (adx_now.tape != f->adx_tape)    // another thread
            ad_use(NULL);
        return;
    }
    adx_task *task = adx_find_task(b, f, i);
    if (task == NULL)
        ad_use(NULL);
    else
        adx_begin_task(b, task);
}

// Ends the stretch of a task and hands it to the fork. A task that has recorded
// nothing is forgotten, so the fork has no branch there.
static void adx_end_task(ad_branch *b)
{
    ad_tape *t = b->adx_tape;
    adx_worker *w = (adx_worker *)t->annexed;
    adx_task *task = b->adx_own;

    if (adx_now.tape != t)
        ad_use(t);
    task->stretch.to = adx_here_on(t);
    // its scratch room begins behind that of the tasks that ended before
    task->stretch.scratch = w->scratch;
    w->running--;
    task->scratch = t->scratch;
    w->scratch += t->scratch;
    t->scratch = b->adx_scratch;
    if (t->status != ADREV_OK)
        adx_team_fail(w->team, t->status, t);
    adx_give_spare(w, task);
    if (task->stretch.to.head == task->blank) {
        adx_forget(w, task);
        // the id of its sink is free again, if it is the last one
        adx_now.seq -= adx_now.seq == task->sink;
    } else
        b->adx_fork->adx_record->branch[b->adx_index] = task;
    if (b->adx_fork->adx_record->measure)
        task->primal[1] = adx_clock();
    adx_switch_task(w, NULL);
    if (adx_now.tape != b->adx_before)
        ad_use(b->adx_before);
    if (b->adx_taken)
        adx_give_worker(w);
}

ADX_API void ad_branch_leave(ad_branch *b)
{
    adx_chaos();
    if (b->adx_own != NULL)
        adx_end_task(b);
    else if (adx_now.tape != b->adx_before)
        ad_use(b->adx_before);
    adx_mine.execute = b->adx_execute;
    adx_mine.user = b->adx_user;
    adx_mine.inside--;
}

// Appends the lists of one level to those of another.
static void adx_splice(adx_level *to, const adx_level *from)
{
    if (to->last == NULL)
        to->first = from->first;
    else
        to->last->next = from->first;
    to->last = from->last;
}

// The imports of a branch that has joined go to where they are applied: those
// of the depth of the task that forked stay with the fork, and those of lower
// depths are merged with that task's own levels.
static void adx_adopt_branch(adx_fork *fork, adx_task *branch)
{
    adx_level *level = branch->level;
    adx_level **at = &fork->task->level;

    if (level != NULL && level->depth == fork->task->depth) {
        adx_splice(&fork->branches, level);
        level = level->next;
    }
    while (level != NULL) {
        adx_level *next = level->next;
        while (*at != NULL && (*at)->depth > level->depth)
            at = &(*at)->next;
        if (*at != NULL && (*at)->depth == level->depth)
            adx_splice(*at, level);
        else {
            level->next = *at;
            *at = level;
        }
        level = next;
    }
}

// Removes the first entry, as if the fork had never been opened.
static void adx_take_back(ad_tape *t, const adx_fork *fork)
{
    const adx_place before = fork->leap.before;
    if (before.block == NULL)
        adx_enter_block(t, &adx_now, t->first);
    else {
        t->block = (adx_block *)before.block;
        adx_now.op = (adx_operand *)before.op;
        adx_now.head = (uint16_t *)before.head;
    }
    adx_settle_room(t, &adx_now, 0);
}

// Joins all branches, in their order. Whether there is any with a recording.
static bool adx_join_fork(adx_fork *fork)
{
    bool any = false;
    for (size_t i = 0; i < fork->n; i++)
        if (fork->branch[i] != NULL) {
            any = true;
            // release: with adx_joined
            atomic_store_explicit(&fork->branch[i]->joined, true,
                                  memory_order_release);
            adx_adopt_branch(fork, fork->branch[i]);
        }
    return any;
}

// Makes the first failure of a branch one of the task that forked.
static void adx_inherit(ad_tape *t, adx_team *team)
{
    ad_status failed = (ad_status)atomic_load(&team->failed);
    if (failed == ADREV_OK || t->status != ADREV_OK)
        return;
    adx_fail(t, failed);
    ADX_LOCK(&team->mutex);
    t->failure = team->failure;
    ADX_UNLOCK(&team->mutex);
}

// Statements of the root can go forward only if those of its branches can, and
// are swept always if one of theirs is.
static void adx_inherit_ways(ad_tape *t, const adx_team *team)
{
    for (const adx_worker *w = team->workers; w != NULL; w = w->next) {
        t->one_way |= w->tape->one_way;
        t->always |= w->tape->always;
    }
}

// Leaves out one id, so that the value before the fork is never the one just
// before what follows. Otherwise a running sum would be recorded where no
// branch was recorded in between, and not in other schedules.
static void adx_leave_gap(void)
{
    adx_operand *op = adx_entry(&adx_now, ADX_GAP, 1, 1);
    if (op != NULL) {
        op->d = 0;
        op->id = 1;
    }
}

// Writes the second entry of a fork, and appends the fork to those of the task.
// Without it the first entry would be of no use, so if nothing at all was
// recorded since, that one is removed. If only other tasks have recorded here,
// a sweep still has to leap over what they recorded: the entry is written, and
// the fork has no branches.
static void adx_record_fork(ad_tape *t, adx_fork *fork, bool any)
{
    if (!any && adx_now.op == fork->leap.after.op
        && t->block == fork->leap.after.block) {
        adx_take_back(t, fork);
        return;
    }
    adx_leap **second = (adx_leap **)adx_add_bytes(&adx_now, ADX_LEAP,
                                                   sizeof *second, 0);
    if (second == NULL)
        return;
    *second = &fork->leap;
    fork->leap.after = adx_here_on(t);
    t->calls = true;
    if (!any) {                 // only others have recorded here meanwhile
        fork->n = 0;
        return;
    }
    fork->before = fork->task->fork;
    fork->task->fork = fork;
    if (fork->measure)
        fork->primal[1] = adx_clock();
}

// The tape of the task becomes current again, the branches join, and their
// failures become the task's. Then the second entry is written. If the tape has
// failed, the fork is only linked to the task, so that a rewind finds it.
ADX_API void ad_fork_close(ad_fork *f)
{
    adx_fork *fork = f->adx_record;
    ad_tape *t = f->adx_tape;
    if (fork == NULL)
        return;
    adx_step_back(f);
    t->open--;
    f->adx_record = NULL;
    bool any = adx_join_fork(fork);
    adx_inherit(t, f->adx_crew);
    adx_task *task = fork->task;
    if (t->status == ADREV_OK && f->adx_host != NULL
        && (t->block != fork->leap.after.block
            || adx_now.op != fork->leap.after.op
            || adx_now.seq != fork->leap.after.seq))
        adx_fail(t, ADREV_EBUSY);   // a branch made it current, and recorded
    if (t->status != ADREV_OK) {    // for a rewind to find
        fork->leap.after = adx_here_on(t);
        fork->before = task->fork;
        task->fork = fork;
        return;
    }
    if (f->adx_host != NULL)
        adx_inherit_ways(t, f->adx_crew);
    // A task that has had only forks without branches has recorded nothing.
    bool blank = !any && fork->leap.before.head == task->blank;
    adx_record_fork(t, fork, any);
    if (blank)
        task->blank = adx_now.head;
    else if (f->adx_host == NULL && t->status == ADREV_OK)
        adx_leave_gap();
}

/* --- forms of forks ------------------------------------------------------ */

// A fork and what its branches call.
typedef struct adx_call {
    ad_fork fork;
    void (*f)(size_t i, void *ctx);
    void *ctx;
} adx_call;

static void adx_branch(size_t i, void *arg)
{
    adx_call *call = (adx_call *)arg;
    ad_branch branch;
    ad_branch_enter(&branch, &call->fork, i);
    call->f(i, call->ctx);
    ad_branch_leave(&branch);
}

ADX_API void ad_fork_n(size_t n, void (*f)(size_t i, void *ctx), void *ctx)
{
    adx_call call;
    if (n == 0)
        return;
    call.f = f;
    call.ctx = ctx;
    ad_fork_open(&call.fork, n);
    if (call.fork.adx_inline)
        for (size_t i = 0; i < n; i++)
            adx_branch(i, &call);
    else
        adx_execute(adx_mine.execute, adx_mine.user, n, adx_branch, &call);
    ad_fork_close(&call.fork);
}

typedef struct adx_two {
    void (*f[2])(void *);
    void *arg[2];
} adx_two;

static void adx_either(size_t i, void *ctx)
{
    const adx_two *two = (const adx_two *)ctx;
    two->f[i](two->arg[i]);
}

ADX_API void ad_fork2(void (*f)(void *), void *a, void (*g)(void *), void *b)
{
    adx_two two = { { f, g }, { a, b } };
    ad_fork_n(2, adx_either, &two);
}

// Where a fork takes memory of its own: the allocator of the current tape. All
// NULL: there is no tape, or it lies in fixed memory; then it is malloc, with
// ADREV_NO_STDLIB, too.
static ad_allocator adx_fork_memory(void)
{
    const ad_tape *t = adx_now.tape;
    return t == NULL ? (ad_allocator){ .user = NULL } : t->allocator;
}

static void *adx_take_for_fork(const ad_allocator *a, size_t n, size_t size)
{
    if (adx_is_allocator(a))
        return adx_take(a, n, size);
    return n > SIZE_MAX / size ? NULL : malloc(n * size);
}

static void adx_drop_of_fork(const ad_allocator *a, void *block)
{
    if (adx_is_allocator(a))
        adx_drop(a, block);
    else
        free(block);
}

// The parts of a range, of `grain` elements each.
typedef struct adx_parts {
    size_t n;
    size_t grain;
    // One of the two. `part` has the results of all parts.
    void (*f)(size_t begin, size_t end, void *ctx);
    ad_rev (*part)(size_t begin, size_t end, void *ctx);
    ad_rev *result;             // [parts]
    void *ctx;
} adx_parts;

static void adx_do_part(size_t i, void *ctx)
{
    const adx_parts *p = (const adx_parts *)ctx;
    size_t begin = i * p->grain;
    size_t end = p->n - begin < p->grain ? p->n : begin + p->grain;
    if (p->f != NULL)
        p->f(begin, end, p->ctx);
    else
        p->result[i] = p->part(begin, end, p->ctx);
}

// How many parts there are; by default 256 at most.
static size_t adx_cut_up(adx_parts *p)
{
    if (p->grain == 0)
        p->grain = p->n / 256 + (p->n % 256 != 0);
    return p->n == 0 ? 0 : (p->n - 1) / p->grain + 1;
}

ADX_API void ad_parallel_for(size_t n, size_t grain,
                             void (*f)(size_t begin, size_t end, void *ctx),
                             void *ctx)
{
    adx_parts p = { .n = n, .grain = grain, .f = f, .ctx = ctx };
    size_t parts = adx_cut_up(&p);
    ad_fork_n(parts, adx_do_part, &p);
}

ADX_API ad_rev ad_parallel_reduce(size_t n, size_t grain,
                                  ad_rev (*f)(size_t begin, size_t end,
                                              void *ctx),
                                  ad_rev (*combine)(ad_rev a, ad_rev b,
                                                    void *ctx),
                                  void *ctx)
{
    adx_parts p = { .n = n, .grain = grain, .part = f, .ctx = ctx };
    size_t parts = adx_cut_up(&p);
    if (parts == 0)
        return adx_passive(0);
    const ad_allocator memory = adx_fork_memory();
    p.result = (ad_rev *)adx_take_for_fork(&memory, parts, sizeof *p.result);
    if (p.result == NULL) {
        adx_failed(ADREV_ENOMEM);
        return adx_no_result();
    }
    ad_fork_n(parts, adx_do_part, &p);
    ad_rev y = combine == NULL ? ad_sum(parts, p.result) : p.result[0];
    for (size_t i = 1; combine != NULL && i < parts; i++)
        y = combine(y, p.result[i], ctx);
    adx_drop_of_fork(&memory, p.result);
    return y;
}

ADX_API ad_scope ad_scope_open(void)
{
    ad_scope scope;
    memset(&scope, 0, sizeof scope);
    scope.adx_allocator = adx_fork_memory();
    scope.adx_open = true;
    scope.adx_room = sizeof scope.adx_first_f / sizeof scope.adx_first_f[0];
    return scope;
}

// Runs a branch of the block. The block does not move while its branches run.
static void adx_scoped(size_t i, void *ctx)
{
    const ad_scope *scope = (const ad_scope *)ctx;
    if (scope->adx_memory == NULL)
        scope->adx_first_f[i](scope->adx_first_arg[i]);
    else
        scope->adx_f[i](scope->adx_arg[i]);
}

// Doubles the room. Functions and arguments are two arrays in one block of
// memory.
static bool adx_widen_scope(ad_scope *scope)
{
    size_t room = 2 * scope->adx_room;
    void *memory = adx_take_for_fork(&scope->adx_allocator, room,
                                     sizeof *scope->adx_f + sizeof(void *));
    if (memory == NULL)
        return false;
    void (**f)(void *) = (void (**)(void *))memory;
    void **arg = (void **)(f + room);
    bool first = scope->adx_memory == NULL;
    memcpy(f, first ? scope->adx_first_f : scope->adx_f,
           scope->adx_n * sizeof *f);
    memcpy(arg, first ? scope->adx_first_arg : scope->adx_arg,
           scope->adx_n * sizeof *arg);
    adx_drop_of_fork(&scope->adx_allocator, scope->adx_memory);
    scope->adx_memory = memory;
    scope->adx_f = f;
    scope->adx_arg = arg;
    scope->adx_room = room;
    return true;
}

// If there is no memory for more branches, those that were added so far are run
// now: the fork becomes two.
ADX_API void ad_scope_add(ad_scope *scope, void (*f)(void *), void *arg)
{
    if (scope->adx_n == scope->adx_room && !adx_widen_scope(scope)) {
        ad_fork_n(scope->adx_n, adx_scoped, scope);
        scope->adx_n = 0;
    }
    if (scope->adx_memory == NULL) {
        scope->adx_first_f[scope->adx_n] = f;
        scope->adx_first_arg[scope->adx_n] = arg;
    } else {
        scope->adx_f[scope->adx_n] = f;
        scope->adx_arg[scope->adx_n] = arg;
    }
    scope->adx_n++;
}

ADX_API void ad_scope_close(ad_scope *scope)
{
    ad_fork_n(scope->adx_n, adx_scoped, scope);
    adx_drop_of_fork(&scope->adx_allocator, scope->adx_memory);
    scope->adx_memory = NULL;
    scope->adx_open = false;
}
