#pragma once

/* === parallel/threads =======================================================
 * What is used of the system: threads, a mutex, a condition variable, a clock.
 * On top of these: deques from which other threads steal.
 *
 *   needs   parallel/api
 *   offers  adx_mutex adx_condition adx_outcome ADX_THREAD_START
 *           ADX_THREAD_JOIN ADX_THREAD_YIELD ADX_MUTEX_INIT ADX_MUTEX_FREE
 *           ADX_LOCK ADX_UNLOCK ADX_CONDITION_INIT ADX_CONDITION_FREE
 *           ADX_CONDITION_WAIT ADX_CONDITION_WAKE adx_clock adx_processors
 *           adx_pause adx_range adx_seat adx_random adx_chaos adx_push_range
 *           adx_pop_range adx_steal adx_has_work
 * ========================================================================== */

#if ADREV_PTHREADS
#include <pthread.h>
#include <sched.h>
typedef pthread_t adx_thread;
typedef pthread_mutex_t adx_mutex;
typedef pthread_cond_t adx_condition;
typedef void *adx_outcome;
#define ADX_THREAD_START(thread, f, arg) adx_start_thread((thread), (f), (arg))
#define ADX_THREAD_JOIN(thread)    ((void)pthread_join((thread), NULL))
#define ADX_THREAD_YIELD()         ((void)sched_yield())
#define ADX_MUTEX_INIT(m)          (pthread_mutex_init((m), NULL) == 0)
#define ADX_MUTEX_FREE(m)          ((void)pthread_mutex_destroy(m))
#define ADX_LOCK(m)                ((void)pthread_mutex_lock(m))
#define ADX_UNLOCK(m)              ((void)pthread_mutex_unlock(m))
#define ADX_CONDITION_INIT(c)      (pthread_cond_init((c), NULL) == 0)
#define ADX_CONDITION_FREE(c)      ((void)pthread_cond_destroy(c))
#define ADX_CONDITION_WAIT(c, m)   ((void)pthread_cond_wait((c), (m)))
#define ADX_CONDITION_WAKE(c)      ((void)pthread_cond_broadcast(c))

// A thread that waits at a join runs other branches meanwhile, so it needs more
// stack than the 128 kB that musl gives by default.
#define ADX_THREAD_STACK ((size_t)1 << 21)

static bool adx_start_thread(adx_thread *thread, adx_outcome (*f)(void *),
                             void *arg)
{
    pthread_attr_t how;
    size_t size = 0;
    bool started = false;
    if (pthread_attr_init(&how) != 0)
        return false;
    if (pthread_attr_getstacksize(&how, &size) == 0
        && (size >= ADX_THREAD_STACK
            || pthread_attr_setstacksize(&how, ADX_THREAD_STACK) == 0))
        started = pthread_create(thread, &how, f, arg) == 0;
    (void)pthread_attr_destroy(&how);
    return started;
}
#else
#include <threads.h>
typedef thrd_t adx_thread;
typedef mtx_t adx_mutex;
typedef cnd_t adx_condition;
typedef int adx_outcome;
#define ADX_THREAD_START(thread, f, arg)                                    \
    (thrd_create((thread), (f), (arg)) == thrd_success)
#define ADX_THREAD_JOIN(thread)    ((void)thrd_join((thread), NULL))
#define ADX_THREAD_YIELD()         thrd_yield()
#define ADX_MUTEX_INIT(m)          (mtx_init((m), mtx_plain) == thrd_success)
#define ADX_MUTEX_FREE(m)          mtx_destroy(m)
#define ADX_LOCK(m)                ((void)mtx_lock(m))
#define ADX_UNLOCK(m)              ((void)mtx_unlock(m))
#define ADX_CONDITION_INIT(c)      (cnd_init(c) == thrd_success)
#define ADX_CONDITION_FREE(c)      cnd_destroy(c)
#define ADX_CONDITION_WAIT(c, m)   ((void)cnd_wait((c), (m)))
#define ADX_CONDITION_WAKE(c)      ((void)cnd_broadcast(c))
#endif

static double adx_clock(void)
{
    struct timespec now;
#ifdef TIME_UTC
    (void)timespec_get(&now, TIME_UTC);
#else
    (void)clock_gettime(CLOCK_REALTIME, &now);      // MinGW without UCRT
#endif
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static unsigned adx_processors(void)
{
#ifdef _SC_NPROCESSORS_ONLN
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#else
    long n = 1;
#endif
    return n < 1 ? 1 : n > 1000 ? 1000 : (unsigned)n;
}

// A short rest of the processor, not of the thread.
static void adx_pause(void)
{
#if (defined __GNUC__ || defined __clang__)                                 \
    && (defined __x86_64__ || defined __i386__)
    __builtin_ia32_pause();
#endif
}

/* --- deque ------------------------------------------------------------------
 * A thread that forks pushes what others may take at the bottom of its deque
 * and pops it there; thieves steal at the top, the oldest first (Chase & Lev;
 * Le et al., Correct and efficient work-stealing for weak memory models). The
 * ring has a fixed size; what does not fit is run at once.
 *
 * Items lie in the ring from top to bottom, at their index modulo its size.
 * Both indices only mean something by their difference, so they may wrap.
 *
 * Two threads may want the last item. The owner lowers bottom, then reads top;
 * a thief reads top, then bottom. In one order of all these sequentially
 * consistent accesses, at least one of them sees the other, and then the
 * exchange of top decides. tests/parallel/models/deque.pml is this protocol,
 * checked in all interleavings, and found wrong when an access is weakened.  */

#define ADX_DEQUE 4096u             // a power of 2: indices may wrap around

// Calls that one thread will make: call(i, arg) for lo <= i < hi.
typedef struct adx_range {
    ad_call_fn *call;
    void *arg;
    size_t lo, hi;
    atomic_uint thief;              // 1 + the seat of who stole it; 0: nobody
    atomic_bool done;               // by the thief
} adx_range;

// What a thread has in a pool: a worker, or a thread that uses the pool.
typedef struct adx_seat {
    _Atomic size_t top;             // ranges top ... bottom - 1 of the ring,
    char apart[64 - sizeof(size_t)];        // thieves write top, not bottom
    _Atomic size_t bottom;          // modulo its length, may be stolen
    ad_pool *pool;
    unsigned index;                 // of the seat in the pool
    uint32_t random;                // of adx_random
    unsigned helping;               // stolen ranges on the stack
    bool used;                      // guarded by the mutex of the pool
    adx_thread thread;
    _Atomic(adx_range *) ring[ADX_DEQUE];
} adx_seat;

// Marsaglia's xorshift: good enough to choose from whom to steal.
static uint32_t adx_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

// For tests: makes a thread late now and then, so that other schedules come up.
static void adx_chaos(void)
{
#if ADREV_CHAOS
    static ADX_THREAD uint32_t state;
    static atomic_uint threads;
    if (state == 0)
        state = 2654435761u * (1 + atomic_fetch_add(&threads, 1));
    uint32_t r = adx_random(&state);
    if (r % 8 == 0)
        for (uint32_t i = r / 8 % 64; i > 0; i--)
            ADX_THREAD_YIELD();
#endif
}

// Pushes an item at the bottom. False: the ring is full.
static bool adx_push_range(adx_seat *s, adx_range *range)
{
    // relaxed: its own last store
    size_t b = atomic_load_explicit(&s->bottom, memory_order_relaxed);
    // acquire: with the exchange of adx_steal, which has read the place by then
    size_t t = atomic_load_explicit(&s->top, memory_order_acquire);
    if (b - t >= ADX_DEQUE)
        return false;
    // relaxed: published by the store of bottom. For the thieves that store
    // would only have to be a release, but who pushes looks at `sleepers` next
    // (parallel/pool).
    atomic_store_explicit(&s->ring[b % ADX_DEQUE], range, memory_order_relaxed);
    atomic_store(&s->bottom, b + 1);
    return true;
}

// The newest item, unless a thief was faster. Lowering bottom first announces
// that the owner wants it. If others are left above it, no thief can reach it
// any more; if it is the last one, owner and thief compete for top.
static adx_range *adx_pop_range(adx_seat *s)
{
    // relaxed: its own last store, as is what it finds in the place
    size_t b = atomic_load_explicit(&s->bottom, memory_order_relaxed) - 1;
    atomic_store(&s->bottom, b);
    size_t t = atomic_load(&s->top);
    adx_range *range = NULL;

    if ((ptrdiff_t)(b - t) >= 0) {
        range = atomic_load_explicit(&s->ring[b % ADX_DEQUE],
                                    memory_order_relaxed);
        if (b != t)
            return range;
        if (!atomic_compare_exchange_strong(&s->top, &t, t + 1))
            range = NULL;
    }
    // relaxed: no item is published
    atomic_store_explicit(&s->bottom, b + 1, memory_order_relaxed);
    return range;
}

// The oldest item of another thread; NULL: there is none, or someone else was
// faster.
static adx_range *adx_steal(adx_seat *victim)
{
    size_t t = atomic_load(&victim->top);
    size_t b = atomic_load(&victim->bottom);
    if ((ptrdiff_t)(b - t) <= 0)
        return NULL;
    // relaxed: bottom was stored after the place. Whether the place still holds
    // this item is what the exchange asks.
    adx_range *range = atomic_load_explicit(&victim->ring[t % ADX_DEQUE],
                                          memory_order_relaxed);
    adx_chaos();
    return atomic_compare_exchange_strong(&victim->top, &t, t + 1) ? range
                                                                   : NULL;
}

static bool adx_has_work(const adx_seat *s)
{
    size_t t = atomic_load(&s->top);
    return (ptrdiff_t)(atomic_load(&s->bottom) - t) > 0;
}
