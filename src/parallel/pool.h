#pragma once

/* === parallel/pool ==========================================================
 * n calls are halved until one is left. A thread pushes the upper half on its
 * deque and runs the lower half; then it pops the upper half and runs it. If
 * another thread has stolen the upper half, the first one waits, and meanwhile
 * runs what it can steal: first from the thief, whose deque most often holds
 * pieces of the awaited half.
 *
 * A thread that finds nothing to do for a while sleeps. It raises `sleepers`,
 * then looks a last time at all deques and at what it waits for. A thread that
 * pushes work or finishes looks at `sleepers` afterwards. All four accesses,
 * loads as well, are sequentially consistent, so at least one of the two
 * threads sees the other. A thread decides to sleep, and is woken, only under
 * the mutex (tests/parallel/models/join.pml).
 *
 *   needs   tape/layout tape/memory parallel/api parallel/threads
 *   offers  adx_mine adx_execute
 * ========================================================================== */

#define ADX_SEATS 1024u
#define ADX_SPIN  200           // short pauses before the processor is offered
#define ADX_YIELD 40            // offers before the thread sleeps
#define ADX_HELP  24            // stolen work on a stack beyond which a join
                                // helps nobody but its own thief

struct ad_pool {
    ad_allocator allocator;
    unsigned workers;
    unsigned users;                 // threads on which it is current
    bool stop;
    ad_status status;
    atomic_uint seats;
    atomic_uint sleepers;
    adx_mutex mutex;                // of all but the atomic fields
    adx_condition wake;
    _Atomic(adx_seat *) seat[ADX_SEATS];
};

// What the forks of a thread run on.
typedef struct adx_executor {
    ad_pool *pool;
    adx_seat *seat;                 // of this thread in the pool
    ad_execute_fn *execute;         // of the user's runtime; NULL: the pool
    void *user;
    size_t inside;                  // branches
} adx_executor;

static ADX_THREAD adx_executor adx_mine;

// Wakes all sleepers, if there are any.
static void adx_wake(ad_pool *p)
{
    if (atomic_load(&p->sleepers) == 0)
        return;
    ADX_LOCK(&p->mutex);
    // all are awake: until one of them sleeps again, nobody else need wake any
    atomic_store_explicit(&p->sleepers, 0, memory_order_relaxed);
    ADX_CONDITION_WAKE(&p->wake);
    ADX_UNLOCK(&p->mutex);
}

static void adx_run_range(adx_seat *s, ad_call_fn *call, void *arg, size_t lo,
                          size_t hi);

// Runs a stolen range and tells the thread that waits for it.
static void adx_run_stolen(adx_seat *s, adx_range *range)
{
    // relaxed: a hint for adx_work_while_waiting
    atomic_store_explicit(&range->thief, s->index + 1, memory_order_relaxed);
    s->helping++;
    adx_run_range(s, range->call, range->arg, range->lo, range->hi);
    s->helping--;
    // Release: what the calls wrote, to the thread that waits. From here on
    // the range may be gone.
    atomic_store(&range->done, true);
    adx_wake(s->pool);
}

// Steals from any thread, beginning with one chosen at random.
static adx_range *adx_find(adx_seat *s)
{
    ad_pool *p = s->pool;
    // relaxed: a new seat is seen sooner or later, before it sleeps in any case
    unsigned n = atomic_load_explicit(&p->seats, memory_order_relaxed);
    unsigned first = adx_random(&s->random) % n;

    for (unsigned k = 0; k < n; k++) {
        // acquire: with the release of adx_take_seat
        adx_seat *victim = atomic_load_explicit(&p->seat[(first + k) % n],
                                                memory_order_acquire);
        adx_range *range = victim == NULL || victim == s ? NULL
                                                       : adx_steal(victim);
        if (range != NULL)
            return range;
    }
    return NULL;
}

// Finds work for a thread that waits for a range. It looks first at the thread
// that stole the range, whose deque most often holds pieces of it. It takes
// work from others only while the stack is not deep in stolen work, because
// that work must end before the thread can go on with its own.
static adx_range *adx_work_while_waiting(adx_seat *s, const adx_range *awaited)
{
    unsigned thief = atomic_load_explicit(&awaited->thief,
                                          memory_order_relaxed);
    adx_range *range = NULL;
    if (thief != 0)
        range = adx_steal(atomic_load_explicit(&s->pool->seat[thief - 1],
                                              memory_order_acquire));
    return range == NULL && s->helping < ADX_HELP ? adx_find(s) : range;
}

static bool adx_any_work(const ad_pool *p)
{
    unsigned n = atomic_load(&p->seats);
    for (unsigned i = 0; i < n; i++)
        if (adx_has_work(atomic_load(&p->seat[i])))
            return true;
    return false;
}

// Whether there is something for this thread to do, by the same rules as
// adx_idle.
static bool adx_should_wake(const adx_seat *s, const adx_range *awaited)
{
    if (s->pool->stop || (awaited != NULL && atomic_load(&awaited->done)))
        return true;
    if (awaited == NULL || s->helping < ADX_HELP)
        return adx_any_work(s->pool);
    unsigned thief = atomic_load(&awaited->thief);
    return thief != 0 && adx_has_work(atomic_load(&s->pool->seat[thief - 1]));
}

// Sleeps until there may be something to do. False: the pool is being freed.
static bool adx_sleep(adx_seat *s, const adx_range *awaited)
{
    ad_pool *p = s->pool;

    ADX_LOCK(&p->mutex);
    // a thread that wakes the sleepers sets the count to 0, so one that goes on
    // sleeping counts itself again
    for (atomic_fetch_add(&p->sleepers, 1); !adx_should_wake(s, awaited);
         atomic_fetch_add(&p->sleepers, 1))
        ADX_CONDITION_WAIT(&p->wake, &p->mutex);
    // relaxed: of the changes under the mutex only those that raise the count
    // have to be seen by a thread without it
    atomic_fetch_sub_explicit(&p->sleepers, 1, memory_order_relaxed);
    bool go_on = !p->stop;
    ADX_UNLOCK(&p->mutex);
    return go_on;
}

// One turn of a thread that has nothing of its own to do: it runs what it can
// steal, or pauses, or after many turns without work sleeps. False: the pool is
// being freed.
static bool adx_idle(adx_seat *s, const adx_range *awaited, unsigned *turns)
{
    adx_range *range = awaited == NULL ? adx_find(s)
                                       : adx_work_while_waiting(s, awaited);
    if (range != NULL) {
        adx_run_stolen(s, range);
        *turns = 0;
        return true;
    }
    ++*turns;
    if (*turns < ADX_SPIN)
        adx_pause();
    else if (*turns < ADX_SPIN + ADX_YIELD)
        ADX_THREAD_YIELD();
    else {
        *turns = ADX_SPIN;
        return adx_sleep(s, awaited);
    }
    return true;
}

// Makes the calls lo .. hi as the opening says. When the lower half has been
// run, whatever it pushed on the deque is gone again. So the newest item is
// `upper`, or `upper` has been stolen and there is none.
static void adx_run_range(adx_seat *s, ad_call_fn *call, void *arg, size_t lo,
                          size_t hi)
{
    if (hi - lo == 1) {
        call(lo, arg);
        return;
    }
    size_t mid = lo + (hi - lo) / 2;
    adx_range upper = { .call = call, .arg = arg, .lo = mid, .hi = hi };

    atomic_init(&upper.thief, 0);
    atomic_init(&upper.done, false);
    bool pushed = adx_push_range(s, &upper);
    if (pushed)
        adx_wake(s->pool);
    adx_run_range(s, call, arg, lo, mid);
    adx_chaos();
    if (!pushed || adx_pop_range(s) != NULL)
        adx_run_range(s, call, arg, mid, hi);
    else
        for (unsigned turns = 0; !atomic_load(&upper.done);)
            adx_idle(s, &upper, &turns);
}

// Makes all calls of a fork or of a sweep: by the user's executor, by the pool,
// or one after the other. A thread that holds a statement (adx_rowing) does the
// last, for while it helped others it could come to wait for itself.
static void adx_execute(ad_execute_fn *execute, void *user, size_t n,
                        ad_call_fn *call, void *arg)
{
    bool alone = adx_mine_rows.statements > 0;
    if (execute != NULL && !alone)
        execute(n, call, arg, user);
    else if (adx_mine.seat != NULL && n > 1 && !alone)
        adx_run_range(adx_mine.seat, call, arg, 0, n);
    else
        for (size_t i = 0; i < n; i++)
            call(i, arg);
}

// The main function of a worker.
static adx_outcome adx_work(void *arg)
{
    adx_seat *s = (adx_seat *)arg;
    unsigned turns = 0;

    adx_mine.pool = s->pool;
    adx_mine.seat = s;
    while (adx_idle(s, NULL, &turns))
        continue;
    return (adx_outcome)0;
}

// A seat for this thread: one that is free, or a new one. The mutex is held.
static adx_seat *adx_take_seat(ad_pool *p)
{
    unsigned n = atomic_load(&p->seats);
    adx_seat *s = NULL;

    for (unsigned i = 0; i < n && s == NULL; i++)
        if (!atomic_load(&p->seat[i])->used)
            s = atomic_load(&p->seat[i]);
    if (s == NULL) {
        s = n == ADX_SEATS ? NULL
          : (adx_seat *)p->allocator.alloc(sizeof *s, p->allocator.user);
        if (s == NULL)
            return NULL;
        memset(s, 0, sizeof *s);
        s->pool = p;
        s->index = n;
        s->random = 2654435761u * (n + 1);
        atomic_store(&p->seat[n], s);
        atomic_store(&p->seats, n + 1);
    }
    s->used = true;
    return s;
}

#ifndef ADREV_NO_STDLIB
ADX_API ad_pool *ad_pool_new(unsigned threads)
{
    return ad_pool_new_with(threads, &adx_libc);
}
#endif

// Ends the threads, each of which leaves its loop when it sees `stop`, and
// frees everything.
static void adx_pool_end(ad_pool *p)
{
    ad_allocator allocator = p->allocator;

    ADX_LOCK(&p->mutex);
    p->stop = true;
    ADX_CONDITION_WAKE(&p->wake);
    ADX_UNLOCK(&p->mutex);
    for (unsigned i = 0; i < p->workers; i++)
        ADX_THREAD_JOIN(atomic_load(&p->seat[i])->thread);
    for (unsigned i = 0; i < atomic_load(&p->seats); i++)
        allocator.free(atomic_load(&p->seat[i]), allocator.user);
    ADX_CONDITION_FREE(&p->wake);
    ADX_MUTEX_FREE(&p->mutex);
    allocator.free(p, allocator.user);
}

// Each worker gets a seat before its thread starts. If the system gives no more
// threads, the pool has fewer. The caller counts as one of them.
ADX_API ad_pool *ad_pool_new_with(unsigned threads,
                                  const ad_allocator *allocator)
{
    if (!adx_is_allocator(allocator))
        return NULL;
    ad_pool *p = (ad_pool *)allocator->alloc(sizeof *p, allocator->user);
    if (p == NULL)
        return NULL;
    memset(p, 0, sizeof *p);
    p->allocator = *allocator;
    if (!ADX_MUTEX_INIT(&p->mutex)) {
        allocator->free(p, allocator->user);
        return NULL;
    }
    if (!ADX_CONDITION_INIT(&p->wake)) {
        ADX_MUTEX_FREE(&p->mutex);
        allocator->free(p, allocator->user);
        return NULL;
    }

    threads = threads == 0 ? adx_processors() : threads;
    threads = threads > ADX_SEATS / 2 ? ADX_SEATS / 2 : threads;
    for (bool more = true; more && p->workers + 1 < threads;) {
        ADX_LOCK(&p->mutex);
        adx_seat *s = adx_take_seat(p);
        more = s != NULL && ADX_THREAD_START(&s->thread, adx_work, s);
        if (s != NULL)
            s->used = more;
        p->workers += more;
        ADX_UNLOCK(&p->mutex);
    }
    return p;
}

ADX_API unsigned ad_pool_threads(const ad_pool *p)
{
    return p == NULL ? 1 : p->workers + 1;
}

ADX_API ad_status ad_pool_status(const ad_pool *p)
{
    return p == NULL ? ADREV_ENOTAPE : p->status;
}

// The thread gives its seat back, if it has one.
static void adx_leave_pool(void)
{
    ad_pool *p = adx_mine.pool;
    if (p == NULL)
        return;
    ADX_LOCK(&p->mutex);
    adx_mine.seat->used = false;
    p->users--;
    ADX_UNLOCK(&p->mutex);
    adx_mine.pool = NULL;
    adx_mine.seat = NULL;
}

ADX_API ad_status ad_pool_use(ad_pool *p)
{
    if (adx_mine.inside > 0)
        return ADREV_EBUSY;
    if (p == adx_mine.pool)
        return ADREV_OK;
    adx_seat *s = NULL;
    if (p != NULL) {
        ADX_LOCK(&p->mutex);
        s = adx_take_seat(p);
        p->users += s != NULL;
        ADX_UNLOCK(&p->mutex);
        if (s == NULL)
            return atomic_load(&p->seats) == ADX_SEATS ? ADREV_ELIMIT
                                                       : ADREV_ENOMEM;
    }
    adx_leave_pool();
    adx_mine.pool = p;
    adx_mine.seat = s;
    return ADREV_OK;
}

ADX_API void ad_pool_free(ad_pool *p)
{
    if (p == NULL)
        return;
    ADX_LOCK(&p->mutex);
    bool mine = adx_mine.pool == p;
    bool busy = p->users > (mine ? 1u : 0u) || (mine && adx_mine.inside > 0);
    p->status = busy ? ADREV_EBUSY : ADREV_OK;
    ADX_UNLOCK(&p->mutex);
    if (busy)
        return;
    if (mine)
        adx_leave_pool();
    adx_pool_end(p);
}

ADX_API ad_status ad_executor_use(ad_execute_fn *execute, void *user)
{
    if (adx_mine.inside > 0)
        return ADREV_EBUSY;
    adx_mine.execute = execute;
    adx_mine.user = user;
    return ADREV_OK;
}
