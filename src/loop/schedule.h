#pragma once

/* === loop/schedule ==========================================================
 * Decides which states of a loop are kept, and gets the other states for the
 * way back. A state is plain bytes here.
 *
 * There are up to three levels. Level 0 divides the steps into ranges; the
 * first run keeps the state before each range. On the way back the ranges are
 * run again from these states, the last one first, and the next level divides
 * each range in the same way. In the last level a range is one step, which is
 * reversed at once.
 *
 * The last level of a binomial schedule keeps a stack of s states instead, in
 * the order of their steps. From the top of the stack the loop runs to the last
 * step that is not reversed yet, and on the way pushes states at the binomial
 * distances of Griewank and Walther (revolve). So n steps, with n <= C(s + r,
 * s), are each repeated at most r times. When the step of the top state has
 * been reversed, that state is popped.
 *
 *   needs   tape/layout tape/memory loop/api
 *   offers  ADX_STEPS_MOST adx_state_pool adx_kept_level adx_timetable
 *           adx_count_bytes adx_in_state_pool adx_free_state_pool adx_stamp
 *           ADX_STORED adx_mix_bytes adx_behind_state adx_fetch_state
 *           adx_keep_first adx_go_first adx_judge_stack adx_go_back
 *           adx_free_timetable adx_right_schedule adx_make_timetable
 * ========================================================================== */

// Loops are planned for this many steps at most.
#define ADX_STEPS_MOST ((size_t)-1 >> 24 | 0xffffff)

// Returns C(n, k), or 2^62 if that is less. It is computed in double: beyond
// 2^53 its last digits may be wrong, which makes a schedule slightly worse.
static uint64_t adx_binomial(uint64_t n, uint64_t k)
{
    const double most = 4611686018427387904.0;
    double c = 1;
    k = k > n - k ? n - k : k;
    for (uint64_t i = 1; i <= k && c < most; i++)
        c = c * (double)(n - k + i) / (double)i;
    return c < most ? (uint64_t)(c + 0.5) : (uint64_t)1 << 62;
}

// Finds the least r with n <= C(s + r, s), by bisection: with s states, a step
// is repeated at most r times.
static uint64_t adx_repetitions(size_t n, size_t s)
{
    uint64_t most = 1;
    while (n > adx_binomial(s + most, s))
        most *= 2;
    uint64_t least = n > 1 ? most / 2 : 0;      // not enough; or n is 1
    while (n > 1 && most - least > 1) {
        uint64_t r = least + (most - least) / 2;
        if (n > adx_binomial(s + r, s))
            least = r;
        else
            most = r;
    }
    return n > 1 ? most : 0;
}

// With r as above, r n - C(s + r, s + 1) repetitions are the least that there
// can be (Griewank & Walther, chapter 12). With one state, each step is reached
// from the first one.
ADX_API size_t ad_binomial_repeats(size_t n, size_t s)
{
    if (n <= 1 || s == 0)
        return 0;
    n = n > ADX_STEPS_MOST ? ADX_STEPS_MOST : n;
    if (s >= n)
        return n - 1;
    if (s == 1) {
        const uint64_t steps = n;
        const uint64_t pairs = steps / 2 * (steps - 1 + steps % 2);
        return steps >> 32 != 0 || pairs > SIZE_MAX ? SIZE_MAX : (size_t)pairs;
    }
    uint64_t r = adx_repetitions(n, s);
    uint64_t all = r * n - adx_binomial(s + r, s + 1);
    return all > SIZE_MAX ? SIZE_MAX : (size_t)all;
}

// Returns how many steps behind a state, which has n steps to go, the next
// state is kept, if there is room for s states, this one included; n > 1, s >
// 1. The m steps before the next state may be repeated once less, so m <= C(s +
// r - 1, s). The n - m steps behind it have one state less, so n - m <= C(s + r
// - 1, s - 1). All m between the bounds cost the same.
static size_t adx_split_steps(size_t n, size_t s)
{
    uint64_t r = adx_repetitions(n, s);
    uint64_t most = adx_binomial(s + r - 1, s);
    uint64_t rest = adx_binomial(s + r - 1, s - 1);
    uint64_t least = r < 2 ? 1 : adx_binomial(s + r - 2, s);
    uint64_t m = n > rest ? n - rest : 1;
    m = m < least ? least : m;
    m = m > most ? most : m;
    return m < n ? (size_t)m : n - 1;
}

// States in memory, by number. They are in blocks, so that no state moves when
// there are more.
typedef struct adx_state_pool {
    char **block;
    size_t blocks, room;
    unsigned bits;              // a block has 2^bits states, the last one what
                                // is left of `most`
    size_t most;                // states that it may have to hold
    size_t states;              // in all blocks
    size_t bytes;               // of a state, and of what is kept behind it
} adx_state_pool;

// A level: it keeps every `every`-th state of a range or, if `every` is 0, a
// stack of states.
typedef struct adx_kept_level {
    size_t every;
    const ad_store *store;      // NULL: in memory
    adx_state_pool pool;
    size_t *at;                 // [depth] stack: the step behind each state
    size_t depth, room;
    size_t most;
    size_t behind;              // numbers that the loop keeps with each state
} adx_kept_level;

typedef struct adx_timetable {
    ad_allocator memory;
    size_t bytes;               // of a state
    adx_kept_level level[3];
    size_t levels;
    size_t next;                // first run: the step before which a state is
                                // kept next
    size_t stride;              // open ended: from one such step to the next
    size_t end;                 // steps that are expected
    void *tail;                 // of a stack: the state before the last step
    size_t tail_at;             // that step; SIZE_MAX: there is no tail
    size_t in_memory;           // states in memory now
    size_t scan_bytes;          // bytes that the scan holds
    bool put;                   // something is in the store
    uint64_t run;               // which run this is, for the stamps there
    bool swept;                 // a reverse sweep has come to its end
    ad_scan_report *report;     // never NULL
    // The loop: its state, which each step changes, with room for a stamp in
    // front of it; and what does or reverses a step.
    char *state;
    ad_real *behind;            // room behind the state that was kept or
                                // fetched last; NULL: there is none
    bool (*advance)(void *user, size_t s);
    bool (*reverse)(void *user, size_t s);
    // The same for many steps at once: as many of the steps from ... to - 1 as
    // the function likes, beginning with the first one, or on the way back with
    // the last one. Their states are in level l, which has no store; state
    // number 0 is the one before step `base`. If l is NULL, states are not
    // kept. advance_some returns the step that is next. reverse_some returns
    // the earliest step that is reversed, or `to` if none is. Either may be
    // NULL.
    size_t (*advance_some)(void *user, adx_kept_level *l, size_t base,
                           size_t from, size_t to);
    size_t (*reverse_some)(void *user, adx_kept_level *l, size_t base,
                           size_t from, size_t to);
    // What a sweep does with range i of level 0, the steps from ... to - 1,
    // before and after it is reversed. resume returns true if it need not be.
    // Both may be NULL.
    bool (*resume)(void *user, size_t i, size_t from, size_t to);
    bool (*put_adjoints)(void *user, size_t i, size_t from, size_t to);
    void *user;
    size_t first;               // steps before it are not reversed
} adx_timetable;

/* --- keeping ------------------------------------------------------------- */

// Blocks have 4 to 8 kB, or less if there are few states, so that a short scan
// costs little.
static unsigned adx_block_bits(size_t bytes, size_t states)
{
    unsigned bits = 0;
    while (bytes << bits < 4096 && states >> bits > 1)
        bits++;
    return bits;
}

static void adx_count_bytes(adx_timetable *p, size_t more)
{
    p->scan_bytes += more;
    if (p->scan_bytes > p->report->bytes)
        p->report->bytes = p->scan_bytes;
}

// Makes room for state i; the states before it have room. NULL: no memory.
static char *adx_add_to_state_pool(adx_timetable *p, adx_state_pool *s,
                                   size_t i)
{
    if (s->blocks == 0)
        s->bits = adx_block_bits(s->bytes, s->most);
    size_t per = (size_t)1 << s->bits;
    size_t left = s->most - s->states;
    size_t fit = left > 0 && left < per ? left : per;
    char *more = (char *)adx_take(&p->memory, fit, s->bytes);
    if (more == NULL || !adx_extend(&p->memory, (void **)&s->block, &s->room,
                                    s->blocks + 1, sizeof *s->block)) {
        adx_drop(&p->memory, more);
        return NULL;
    }
    s->block[s->blocks++] = more;
    s->states += fit;
    adx_count_bytes(p, fit * s->bytes);
    return more + (i & (per - 1)) * s->bytes;
}

// Returns where state i is or will be; it may be the first state of a new
// block. NULL: no memory.
ADX_INLINE char *adx_in_state_pool(adx_timetable *p, adx_state_pool *s,
                                   size_t i)
{
    size_t b = i >> s->bits;
    return b < s->blocks
         ? s->block[b] + (i & (((size_t)1 << s->bits) - 1)) * s->bytes
         : adx_add_to_state_pool(p, s, i);
}

static void adx_free_state_pool(const ad_allocator *a, adx_state_pool *s)
{
    for (size_t i = 0; i < s->blocks; i++)
        adx_drop(a, s->block[i]);
    adx_drop(a, s->block);
    memset(s, 0, sizeof *s);
}

static void adx_count_held(adx_timetable *p, size_t more, size_t less)
{
    p->in_memory = p->in_memory + more - less;
    if (p->in_memory > p->report->snapshots)
        p->report->snapshots = p->in_memory;
}

// Every state in a store begins with a stamp, which says to which run of a scan
// it belongs, and which state it is. So it is noticed if two scans share a
// store.
typedef struct adx_stamp {
    uint64_t run;
    uint64_t number;
} adx_stamp;

#define ADX_STORED 3            // numbers of each state in a store that also
                                // has adjoints (loop/resume)

static adx_stamp adx_stamp_of(const adx_timetable *p, const ad_store *store,
                              size_t i)
{
    return (adx_stamp){ p->run, store->resume ? ADX_STORED * i : i };
}

// Continues a hash by a number of bytes.
static uint64_t adx_mix_bytes(uint64_t h, size_t n, const void *bytes)
{
    const char *from = (const char *)bytes;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, from + i, n - i < 8 ? n - i : 8);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return h ^ n;
}

static bool adx_put_state(adx_timetable *p, const ad_store *to, size_t i)
{
    const adx_stamp stamp = adx_stamp_of(p, to, i);
    char *blob = p->state - sizeof stamp;
    memcpy(blob, &stamp, sizeof stamp);
    p->put = true;
    p->report->put++;
    return to->put(to->user, (size_t)stamp.number, blob,
                   sizeof stamp + p->bytes);
}

static bool adx_get_state(adx_timetable *p, const ad_store *from, size_t i)
{
    const adx_stamp stamp = adx_stamp_of(p, from, i);
    char *blob = p->state - sizeof stamp;
    return from->get(from->user, (size_t)stamp.number, blob,
                     sizeof stamp + p->bytes)
        && memcmp(blob, &stamp, sizeof stamp) == 0;
}

// The numbers that a loop keeps behind the state at `at`; NULL: there is no
// room for any.
ADX_INLINE ad_real *adx_behind_state(const adx_timetable *p,
                                     const adx_kept_level *l, char *at)
{
    return l->behind == 0 || at == NULL ? NULL
         : (ad_real *)(void *)(at + p->bytes);
}

// Copies a state. Most states have so few words that a call of memcpy would
// take longer.
ADX_INLINE void adx_copy_state(size_t bytes, const char *from, char *to)
{
    if (bytes > 64 || bytes % 8 > 0) {
        memcpy(to, from, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += 8) {
        ADX_OPAQUE(from);
        memcpy(to + i, from + i, 8);
    }
}

// Keeps the current state as number i of a level. What an earlier state had
// behind it no longer counts (0).
ADX_INLINE bool adx_keep_state(adx_timetable *p, adx_kept_level *l, size_t i)
{
    char *to = l->store != NULL ? NULL : adx_in_state_pool(p, &l->pool, i);
    p->behind = adx_behind_state(p, l, to);
    if (l->store != NULL)
        return adx_put_state(p, l->store, i);
    if (to != NULL)
        adx_copy_state(p->bytes, p->state, to);
    if (p->behind != NULL)
        *p->behind = 0;
    return to != NULL;
}

// Makes state number i of a level the current one.
ADX_INLINE bool adx_fetch_state(adx_timetable *p, adx_kept_level *l, size_t i)
{
    char *from = l->store != NULL ? NULL : adx_in_state_pool(p, &l->pool, i);
    p->behind = adx_behind_state(p, l, from);
    if (l->store != NULL)
        return adx_get_state(p, l->store, i);
    if (from != NULL)
        adx_copy_state(p->bytes, from, p->state);
    return from != NULL;
}

// Keeps the state before the very last step apart: it is needed first, and
// takes no place on the stack.
static bool adx_keep_tail(adx_timetable *p, size_t s)
{
    p->tail = adx_take(&p->memory, p->bytes, 1);
    if (p->tail == NULL)
        return false;
    memcpy(p->tail, p->state, p->bytes);
    p->tail_at = s;
    adx_count_bytes(p, p->bytes);
    return true;
}

/* --- the first run ------------------------------------------------------- */

// Pushes the state before step s.
static bool adx_push_state(adx_timetable *p, adx_kept_level *l, size_t s)
{
    if (!adx_extend(&p->memory, (void **)&l->at, &l->room, l->depth + 1,
                    sizeof *l->at)
        || !adx_keep_state(p, l, l->depth))
        return false;
    l->at[l->depth++] = s;
    adx_count_held(p, 1, 0);
    return true;
}

// Drops every other state of a full stack; the first one stays.
static void adx_thin(adx_timetable *p, adx_kept_level *l)
{
    size_t left = 0;
    for (size_t i = 0; i < l->depth; i += 2, left++)
        if (i > 0) {
            l->at[left] = l->at[i];
            memcpy(adx_in_state_pool(p, &l->pool, left),
                   adx_in_state_pool(p, &l->pool, i), p->bytes);
        }
    adx_count_held(p, 0, l->depth - left);
    l->depth = left;
}

// Keeps the state before step s of the first run on the stack, if it is to be
// there. If the number of steps is known, states are kept at the binomial
// distances. If the loop is open ended, they are kept at equal distances, which
// double whenever the stack is full.
static bool adx_stack_state(adx_timetable *p, adx_kept_level *l, size_t s,
                            bool open_ended)
{
    if (s + 1 == p->end && s > 0)
        return adx_keep_tail(p, s);
    if (s < p->next)
        return true;
    if (open_ended && l->depth == l->most && l->most > 1) {
        adx_thin(p, l);
        p->stride *= 2;
        p->next = (s + p->stride - 1) / p->stride * p->stride;
        if (s < p->next)
            return true;
    }
    if (!adx_push_state(p, l, s))
        return false;
    size_t left = l->most - l->depth + 1;
    p->next = open_ended && l->most > 1 ? s + p->stride
            : left > 1 && p->end - s > 1 ? s + adx_split_steps(p->end - s, left)
                                         : SIZE_MAX;
    return true;
}

// Keeps the state before step s of the first run, if it is to be kept.
static bool adx_keep_first(adx_timetable *p, size_t s, bool open_ended)
{
    adx_kept_level *l = &p->level[0];
    if (l->every == 0)
        return adx_stack_state(p, l, s, open_ended);
    if (s % l->every != 0)
        return true;
    if (l->store == NULL)
        adx_count_held(p, 1, 0);
    return adx_keep_state(p, l, s / l->every);
}

// Lets the first run do several steps from s on at once, if the level keeps all
// states on the way, or none. Returns the step that is next.
static size_t adx_go_first(adx_timetable *p, size_t s)
{
    adx_kept_level *l = &p->level[0];
    size_t end = p->end;
    bool each = l->every == 1 && l->store == NULL;
    if (p->advance_some == NULL)
        return s;
    if (l->every == 0)
        end = s == 0 ? 0 : p->next < end ? p->next : end - 1;
    else if (!each)
        end = s + (l->every - s % l->every) % l->every;
    size_t next = s >= end ? s
        : p->advance_some(p->user, each ? l : NULL, 0, s,
                          end < p->end ? end : p->end);
    if (each)
        adx_count_held(p, next - s, 0);
    return next;
}

// Drops all states but the first, if the way back would cost less with the
// others chosen anew. It is called when the number of steps n is known.
static void adx_judge_stack(adx_timetable *p, adx_kept_level *l, size_t n)
{
    size_t cost = 0;
    for (size_t i = l->depth; i-- > 0;) {
        size_t end = i + 1 < l->depth ? l->at[i + 1] : n;
        cost += ad_binomial_repeats(end - l->at[i], l->most - i);
    }
    if (cost > ad_binomial_repeats(n, l->most)) {
        adx_count_held(p, 0, l->depth - 1);
        l->depth = 1;
    }
}

/* --- backwards ----------------------------------------------------------- */

// Runs from the state before step `from` to that before step `to`.
static bool adx_advance_state(adx_timetable *p, size_t from, size_t to)
{
    for (size_t s = from; s < to; s++) {
        if (p->advance_some != NULL)
            s = p->advance_some(p->user, NULL, 0, s, to);
        if (s < to && !p->advance(p->user, s))
            return false;
    }
    return true;
}

// Runs to the state before step `to` from the top of the stack, and pushes
// states on the way as long as there is room.
static bool adx_reach_state(adx_timetable *p, adx_kept_level *l, size_t to)
{
    size_t s = l->at[l->depth - 1];
    if (!adx_fetch_state(p, l, l->depth - 1))
        return false;
    while (s < to && l->depth < l->most) {
        size_t m = adx_split_steps(to + 1 - s, l->most - l->depth + 1);
        if (!adx_advance_state(p, s, s + m))
            return false;
        s += m;
        if (s == to)
            return true;        // it is reversed at once, and needs no place
        if (!adx_push_state(p, l, s))
            return false;
    }
    return adx_advance_state(p, s, to);
}

// Pops the states from step `end` on, but never the first one.
static void adx_pop_states(adx_timetable *p, adx_kept_level *l, size_t end)
{
    while (l->depth > 1 && l->at[l->depth - 1] >= end) {
        l->depth--;
        adx_count_held(p, 0, 1);
    }
}

// Reverses the steps before `end`, down to the step of the first state on the
// stack.
static bool adx_unwind(adx_timetable *p, adx_kept_level *l, size_t end)
{
    size_t begin = l->at[0] > p->first ? l->at[0] : p->first;
    while (end > begin) {
        if (end - 1 == p->tail_at)
            memcpy(p->state, p->tail, p->bytes);
        else if (!adx_reach_state(p, l, end - 1))
            return false;
        if (!p->reverse(p->user, end - 1))
            return false;
        adx_pop_states(p, l, --end);
    }
    adx_pop_states(p, l, 0);
    return true;
}

static bool adx_go_back(adx_timetable *p, size_t level, size_t begin,
                        size_t end, bool kept);

// Keeps every l->every-th state of a range. The first of them is the current
// state.
static bool adx_keep_range(adx_timetable *p, adx_kept_level *l, size_t begin,
                           size_t end)
{
    size_t s = begin;
    if (l->every == 1 && p->advance_some != NULL)
        s = p->advance_some(p->user, l, begin, begin, end - 1);
    for (size_t first = s; s < end; s += l->every) {
        if (s > first && !adx_advance_state(p, s - l->every, s))
            return false;
        if (!adx_keep_state(p, l, (s - begin) / l->every))
            return false;
    }
    return true;
}

// Reverses part i of a range: one step directly, more by the next level.
static bool adx_unwind_part(adx_timetable *p, size_t level, size_t i,
                            size_t from, size_t to)
{
    bool resumed = level == 0 && p->resume != NULL;
    if (to <= p->first || (resumed && p->resume(p->user, i, from, to)))
        return true;
    return adx_fetch_state(p, &p->level[level], i)
        && (to - from == 1 ? p->reverse(p->user, from)
                           : adx_go_back(p, level + 1, from, to, false))
        && (!resumed || p->put_adjoints(p->user, i, from, to));
}

// Reverses a range of a level, which is divided into parts of l->every steps.
// It keeps the state before each part, and then reverses the parts from the
// last to the first. If all states of the range are in memory, reverse_some may
// do many steps at once.
static bool adx_unwind_range(adx_timetable *p, size_t level, size_t begin,
                             size_t end, bool kept)
{
    adx_kept_level *l = &p->level[level];
    size_t n = (end - begin + l->every - 1) / l->every;
    bool ok = true;
    if (!kept) {
        ok = adx_keep_range(p, l, begin, end);
        adx_count_held(p, n, 0);
    }
    for (size_t i = n; ok && i-- > 0;) {
        if (l->every == 1 && l->store == NULL && p->reverse_some != NULL) {
            size_t most = p->first > begin ? p->first : begin;
            i = p->reverse_some(p->user, l, begin, most, begin + i + 1) - begin;
            if (begin + i == most)
                break;
            i--;
        }
        size_t from = begin + i * l->every;
        size_t to = end - from > l->every ? from + l->every : end;
        ok = adx_unwind_part(p, level, i, from, to);
    }
    if (!kept)
        adx_count_held(p, 0, n);
    return ok;
}

// Reverses the steps of a range. kept: the first run has kept its states; else
// the current state is that before `begin`.
static bool adx_go_back(adx_timetable *p, size_t level, size_t begin,
                        size_t end, bool kept)
{
    adx_kept_level *l = &p->level[level];
    if (l->every > 0)
        return adx_unwind_range(p, level, begin, end, kept);
    if (kept)
        return adx_unwind(p, l, end);
    l->depth = 0;
    bool ok = adx_push_state(p, l, begin) && adx_unwind(p, l, end);
    adx_count_held(p, 0, l->depth);
    l->depth = 0;
    return ok;
}

ADX_SELDOM_BEGIN

/* --- plans --------------------------------------------------------------- */

static void adx_free_timetable(adx_timetable *p)
{
    adx_drop(&p->memory, p->tail);
    for (size_t i = 0; i < p->levels; i++) {
        adx_kept_level *l = &p->level[i];
        if (l->store != NULL && p->put && l->store->drop != NULL
            && (p->swept || !l->store->resume))
            l->store->drop(l->store->user);
        adx_free_state_pool(&p->memory, &l->pool);
        adx_drop(&p->memory, l->at);
    }
    p->levels = 0;
}

// Whether a schedule makes sense, for a loop of any length.
static bool adx_right_schedule(const ad_schedule *s)
{
    const ad_store *store = s->store;
    return (unsigned)s->kind <= ADREV_BYTES
        && (s->kind == ADREV_STORE_ALL || s->n > 0)
        && (store == NULL || (store->put != NULL && store->get != NULL
                              && store->every > 0));
}

// Lists the levels for a loop of p->end steps and states of p->bytes: ranges in
// a store, if there is one; ranges in memory, if the schedule keeps every n-th
// state; and last all states of a range, or a stack.
static ad_status adx_list_levels(adx_timetable *p, const ad_schedule *s)
{
    if (s->store != NULL) {
        p->run = adx_new_job(NULL);     // a number that no other run has
        p->level[p->levels++] = (adx_kept_level){
            .every = s->store->every < p->end ? s->store->every : p->end,
            .store = s->store
        };
    }
    if (s->kind == ADREV_BINOMIAL || s->kind == ADREV_BYTES) {
        size_t bytes = p->bytes == 0 ? 1 : p->bytes;
        size_t most = s->kind == ADREV_BINOMIAL ? s->n : s->n / bytes;
        if (most == 0)
            return ADREV_ESHAPE;
        most = most > p->end ? p->end : most;
        p->level[p->levels++].most = most;
        return ADREV_OK;
    }
    if (s->kind == ADREV_EVERY && s->n > 1)
        p->level[p->levels++].every = s->n < p->end ? s->n : p->end;
    p->level[p->levels++].every = 1;
    return ADREV_OK;
}

// Makes an empty timetable for a right schedule. behind: numbers that the loop
// keeps with each state, where all states of a range are kept.
static ad_status adx_make_timetable(adx_timetable *p, const ad_schedule *s,
                                    size_t behind)
{
    ad_status status = adx_list_levels(p, s);
    size_t range = p->end;          // steps that the level divides
    for (size_t i = 0; i < p->levels; i++) {
        adx_kept_level *l = &p->level[i];
        l->pool.most = l->every == 0 ? l->most : range / l->every + 1;
        l->behind = l->every == 1 ? behind : 0;
        l->pool.bytes = p->bytes + l->behind * sizeof(ad_real);
        range = l->every;
    }
    return status;
}

ADX_SELDOM_END
