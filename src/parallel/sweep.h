#pragma once

/* === parallel/sweep =========================================================
 * A reverse sweep that comes to a join applies what the task has imported
 * since, then forks. Each branch is a stretch of a tape, swept by whichever
 * thread is free. When all branches are done, the sweep applies their imports
 * and goes on before the fork. A forward sweep does the same in the other
 * direction.
 *
 *   needs   tape/layout tape/memory tape/walk sweep/sweep sweep/queries
 *           parallel/api parallel/threads parallel/pool parallel/tasks
 *           parallel/imports parallel/team
 *   offers  adx_fork_of adx_leap_reverse adx_leap_forward
 * ========================================================================== */

static adx_fork *adx_fork_of(adx_leap *leap)
{
    return (adx_fork *)(void *)((char *)leap - offsetof(adx_fork, leap));
}

// Applies the imports of a level. In a reverse sweep the adjoints of inputs are
// added to those of the values that they stand for; in a forward sweep the
// tangents of values to those of the inputs.
static void adx_apply(const adx_level *level, size_t W, bool reverse)
{
    for (const adx_list *list = level->first; list != NULL; list = list->next)
        for (size_t i = 0; i < list->n; i++) {
            const adx_link *e = &list->entry[i];
            ad_real *input = &list->tape->adjoint[e->local * W];
            ad_real *value = &e->tape->adjoint[e->seq * W];
            const ad_real *from = reverse ? input : value;
            ad_real *to = reverse ? value : input;
            for (size_t w = 0; w < W; w++)
                to[w] += from[w];
        }
}

// Sweeps of a stretch. These are copies of the loops of their own, because in
// sweeps of whole tapes the compiler knows many arguments to be zero.
typedef bool adx_sweep_task_fn(const adx_task *task, ad_real a[]);

#define ADX_SWEEP_TASK(name, sweep, W)                                      \
    static bool name(const adx_task *task, ad_real a[])                     \
    {                                                                       \
        return sweep(task->tape, &task->stretch, a, W);                     \
    }
ADX_SWEEP_TASK(adx_task_reverse_1, adx_reverse, 1)
ADX_SWEEP_TASK(adx_task_reverse_4, adx_reverse, 4)
ADX_SWEEP_TASK(adx_task_reverse_8, adx_reverse, 8)
ADX_SWEEP_TASK(adx_task_forward_1, adx_forward, 1)
ADX_SWEEP_TASK(adx_task_forward_4, adx_forward, 4)
ADX_SWEEP_TASK(adx_task_forward_8, adx_forward, 8)
#undef ADX_SWEEP_TASK

// The sweep of a fork's branches.
typedef struct adx_sweeping {
    adx_fork *fork;
    adx_sweep_task_fn *sweep;   // of one task
    ad_execute_fn *execute;     // what runs the branches, with `user`
    void *user;
    bool reverse;
    atomic_bool failed;         // one of them
} adx_sweeping;

// Sweeps one branch. The user's functions find no tape current, and forks of
// their own run as in any branch.
static void adx_sweep_branch(size_t i, void *arg)
{
    adx_sweeping *s = (adx_sweeping *)arg;
    adx_task *task = s->fork->branch[i];
    if (task == NULL)
        return;
    ad_tape *before = adx_now.tape == NULL ? NULL : ad_use(NULL);
    ad_execute_fn *execute = adx_mine.execute;
    void *user = adx_mine.user;
    adx_mine.execute = s->execute;
    adx_mine.user = s->user;
    adx_mine.inside++;
    if (s->fork->measure && s->reverse)
        task->reverse[0] = adx_clock();
    if (!s->sweep(task, task->tape->adjoint))
        atomic_store(&s->failed, true);
    if (s->fork->measure && s->reverse)
        task->reverse[1] = adx_clock();
    adx_mine.inside--;
    adx_mine.execute = execute;
    adx_mine.user = user;
    if (before != NULL)
        ad_use(before);
}

static bool adx_sweep_branches(adx_fork *fork, adx_sweep_task_fn *sweep,
                               bool reverse)
{
    adx_sweeping s = { .fork = fork, .sweep = sweep, .reverse = reverse,
                       .execute = adx_mine.execute, .user = adx_mine.user };
    atomic_init(&s.failed, false);
    adx_execute(s.execute, s.user, fork->n, adx_sweep_branch, &s);
    return !atomic_load(&s.failed);
}

// A reverse sweep comes to the join. First it applies what the task itself has
// imported since then, which are values of these branches. Then the adjoints of
// the branches' values are complete, and the branches are swept. What they have
// imported in turn are values from before the fork.
static bool adx_leap_reverse(adx_leap *leap, size_t W)
{
    adx_fork *fork = adx_fork_of(leap);
    if (fork->measure)
        fork->reverse[0] = adx_clock();
    adx_apply(&fork->own, W, true);
    bool ok = adx_sweep_branches(fork, ADX_FOR_WIDTH(W, adx_task_reverse),
                                 true);
    adx_apply(&fork->branches, W, true);
    if (fork->measure)
        fork->reverse[1] = adx_clock();
    return ok;
}

// A forward sweep comes to the fork: it applies first what the branches import,
// then sweeps the branches, then applies what the task imports of them.
static bool adx_leap_forward(adx_leap *leap, size_t W)
{
    adx_fork *fork = adx_fork_of(leap);
    adx_apply(&fork->branches, W, false);
    bool ok = adx_sweep_branches(fork, ADX_FOR_WIDTH(W, adx_task_forward),
                                 false);
    adx_apply(&fork->own, W, false);
    return ok;
}

// Room for the adjoints of all workers. Tasks of one worker may be swept at the
// same time, so each has scratch room of its own: w->scratch is the sum of all.
static bool adx_afford_team(ad_tape *t, size_t W)
{
    adx_team *team = ((adx_worker *)t->annexed)->team;
    if (adx_sweeps_alone(t))
        return true;
    for (adx_worker *w = team->workers; w != NULL; w = w->next) {
        // for this call the tape needs the scratch room of all its tasks
        size_t scratch = w->tape->scratch;
        w->tape->scratch = w->scratch;
        bool room = adx_adjoints(w->tape, w->tape->rest.seq, W) != NULL;
        w->tape->scratch = scratch;
        if (!room)
            return false;
    }
    return true;
}

#define ADX_ZEROS ((size_t)1 << 15)     // adjoints that one thread clears

typedef struct adx_zeroing {
    const adx_team *team;
    size_t W;
} adx_zeroing;

static size_t adx_pieces(const ad_tape *t, size_t W)
{
    return ((t->rest.seq + 1) * W - 1) / ADX_ZEROS + 1;
}

// Clears piece i of the adjoints of all workers, which stand one after another
// in the order of the list.
static void adx_zero_piece(size_t i, void *arg)
{
    const adx_zeroing *z = (const adx_zeroing *)arg;
    const adx_worker *w = z->team->workers;
    while (i >= adx_pieces(w->tape, z->W)) {
        i -= adx_pieces(w->tape, z->W);
        w = w->next;
    }
    size_t n = (w->tape->rest.seq + 1) * z->W - i * ADX_ZEROS;
    memset(w->tape->adjoint + i * ADX_ZEROS, 0,
           (n < ADX_ZEROS ? n : ADX_ZEROS) * sizeof(ad_real));
}

// Clears the adjoints of all workers, in pieces that run as the calls of a fork
// do.
static void adx_zero_team(ad_tape *t, size_t W)
{
    adx_zeroing z = { ((adx_worker *)t->annexed)->team, W };
    size_t pieces = 0;
    if (adx_sweeps_alone(t))
        return;
    for (const adx_worker *w = z.team->workers; w != NULL; w = w->next)
        pieces += adx_pieces(w->tape, W);
    adx_execute(adx_mine.execute, adx_mine.user, pieces, adx_zero_piece, &z);
}

static const adx_annex adx_parallel = {
    adx_import_value, adx_owner_tape, adx_further_tape, adx_afford_team,
    adx_zero_team, adx_rewound, adx_clear_team, adx_free_team
};

/* --- rows of a Jacobian -----------------------------------------------------
 * Each call sweeps ADX_WIDEST rows, or columns, at once with adjoints of its
 * own. It takes an array of adjoints that is idle, so there are no more arrays
 * than threads.                                                              */

typedef struct adx_buffer {
    struct adx_buffer *next;
    _Alignas(16) ad_real a[];
} adx_buffer;

// A Jacobian that threads compute, some directions each.
typedef struct adx_jacobian {
    ad_tape *tape;
    size_t m, n;
    const ad_rev *y, *x;        // [m], [n]
    ad_real *J;                 // [m*n]
    bool forward;               // directions are inputs, not results
    adx_mutex mutex;            // of `idle`
    adx_buffer *idle;           // arrays of adjoints that no sweep uses now
    atomic_int status;          // the first failure
} adx_jacobian;

// Adjoints for one sweep, cleared: a buffer that an earlier sweep has given
// back, or a new one. At most as many are made as threads sweep at once.
static adx_buffer *adx_take_buffer(adx_jacobian *j)
{
    const ad_allocator *a = &j->tape->allocator;
    size_t n = (adx_live(j->tape)->seq + 1 + j->tape->scratch) * ADX_WIDEST;
    ADX_LOCK(&j->mutex);
    adx_buffer *b = j->idle;
    if (b != NULL)
        j->idle = b->next;
    ADX_UNLOCK(&j->mutex);
    if (b == NULL)
        b = (adx_buffer *)a->alloc(sizeof *b + n * sizeof(ad_real), a->user);
    if (b != NULL)
        memset(b->a, 0, n * sizeof(ad_real));
    return b;
}

static void adx_give_buffer(adx_jacobian *j, adx_buffer *b)
{
    ADX_LOCK(&j->mutex);
    b->next = j->idle;
    j->idle = b;
    ADX_UNLOCK(&j->mutex);
}

// Sweeps call i of ad_parallel_jacobian: ADX_WIDEST rows, or columns. The rows
// of J are different ones in each call, so nothing is shared but the status.
static void adx_some_rows(size_t i, void *arg)
{
    adx_jacobian *j = (adx_jacobian *)arg;
    size_t first = i * ADX_WIDEST;
    adx_buffer *b = adx_take_buffer(j);
    if (b == NULL) {
        atomic_store(&j->status, ADREV_ENOMEM);
        return;
    }
    adx_mine.inside++;
    // whether other calls sweep the same tape beside this one (adx_rowing)
    bool beside = (j->forward ? j->n : j->m) > ADX_WIDEST;
    adx_mine_rows.rows += beside;
    bool ok = j->forward
        ? adx_columns(j->tape, b->a, ADX_WIDEST, first, j->m, j->y, j->n,
                      j->x, j->J)
        : adx_rows(j->tape, b->a, ADX_WIDEST, first, j->m, j->y, j->n, j->x,
                   j->J);
    if (!ok)
        atomic_store(&j->status, ADREV_EEXTERNAL);
    adx_mine_rows.rows -= beside;
    adx_mine.inside--;
    adx_give_buffer(j, b);
}

// All sweeps read one tape and write adjoints of their own, so that they can
// run at the same time. A recording that has forks is swept by ad_jacobian,
// whose sweeps are parallel themselves; so is one with a statement that is
// swept always, because what it does must happen in the same order each time.
ADX_API ad_status ad_parallel_jacobian(ad_tape *t, size_t m, const ad_rev y[],
                                       size_t n, const ad_rev x[],
                                       ad_real J[])
{
    bool run;
    if (t == NULL || t->allocator.alloc == NULL || t->annex != NULL
        || t->always)
        return ad_jacobian(t, m, y, n, x, J);
    bool missing = m > ADX_MOST_ELEMENTS
                || adx_no_array(adx_size_times(m, n), J);
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    if (status != ADREV_OK)
        return status;
    adx_jacobian j = { .tape = t, .m = m, .n = n, .y = y, .x = x, .J = J };
    j.forward = adx_prefers_forward(t, m, n);
    atomic_init(&j.status, ADREV_OK);
    if (!ADX_MUTEX_INIT(&j.mutex))
        return ADREV_ENOMEM;
    ad_tape *before = ad_use(NULL);
    size_t count = j.forward ? n : m;
    adx_execute(adx_mine.execute, adx_mine.user,
                count / ADX_WIDEST + (count % ADX_WIDEST != 0), adx_some_rows,
                &j);
    ad_use(before);
    for (adx_buffer *b; (b = j.idle) != NULL;) {
        j.idle = b->next;
        t->allocator.free(b, t->allocator.user);
    }
    ADX_MUTEX_FREE(&j.mutex);
    return (ad_status)atomic_load(&j.status);
}
