#pragma once

/* === loop/schedule ==========================================================
 * A state is plain bytes here. The way back goes through a loop in ranges,
 * level by level. A level keeps the state before every so-many-th step; the
 * next level does the same between two of these. The last level, if the
 * schedule is binomial, keeps a stack of states, placed where they save most
 * evaluations.
 *
 *   needs   tape/layout tape/memory loop/api
 *   offers  ADX_STEPS_MOST adx_state_pool adx_kept_level adx_timetable
 *           adx_count_bytes adx_in_state_pool adx_free_state_pool adx_stamp
 *           adx_behind adx_fetch_state adx_keep_first adx_go_first
 *           adx_judge_stack adx_go_back adx_free_timetable adx_right_schedule
 *           adx_make_timetable
 * ========================================================================== */

// Loops are planned for so many steps at most.
#define ADX_STEPS_MOST ((size_t)-1 >> 24 | 0xffffff)

// C(n, k), or 2^62 if that is less. Computed in double: beyond 2^53 it may be off
// in the last digits, which makes a schedule no worse than that.
static uint64_t adx_binomial(uint64_t n, uint64_t k)
{
    const double most = 4611686018427387904.0;
    double c = 1;
    k = k > n - k ? n - k : k;
    for (uint64_t i = 1; i <= k && c < most; i++)
        c = c * (double)(n - k + i) / (double)i;
    return c < most ? (uint64_t)(c + 0.5) : (uint64_t)1 << 62;
}

// The least r with n <= C(s + r, s): how often a step is repeated at most.
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

ADX_API size_t ad_binomial_repeats(size_t n, size_t s)
{
    if (n <= 1 || s == 0)
        return 0;
    n = n > ADX_STEPS_MOST ? ADX_STEPS_MOST : n;
    if (s >= n)
        return n - 1;
    if (s == 1) {
        uint64_t pairs = (uint64_t)n / 2 * (n - 1 + n % 2);
        return n >= (uint64_t)1 << 32 || pairs > SIZE_MAX ? SIZE_MAX
                                                          : (size_t)pairs;
    }
    uint64_t r = adx_repetitions(n, s);
    uint64_t all = r * n - adx_binomial(s + r, s + 1);
    return all > SIZE_MAX ? SIZE_MAX : (size_t)all;
}

// How far from a state, of n steps to go, the next one is to be kept, if there
// is room for s with this one; n > 1, s > 1. All between the bounds cost the
// same: the first part needs one repetition less, the second one state less.
static size_t adx_split(size_t n, size_t s)
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

// States in memory, by number. Blocks, so that none is moved when it grows.
typedef struct adx_state_pool {
    char **block;
    size_t blocks, room;
    unsigned bits;              // a block has 2^bits states, the last one what
                                // is left of `most`
    size_t most;                // states that it may have to hold
    size_t states;              // in all blocks
    size_t bytes;               // of a state, with what lies behind it
} adx_state_pool;

// Every `every`-th state of a range, or (every 0) a stack of them.
typedef struct adx_kept_level {
    size_t every;
    const ad_store *store;      // NULL: in memory
    adx_state_pool pool;
    size_t *at;                 // [depth] steps before which the stack's are
    size_t depth, room;
    size_t most;
    size_t behind;              // numbers that the loop keeps with each state
} adx_kept_level;

typedef struct adx_timetable {
    ad_allocator memory;
    size_t bytes;               // of a state
    adx_kept_level level[3];
    size_t levels;
    size_t next;                // step before which a state is kept next, in
    size_t stride;              // the first run; open ended: one in so many
    size_t end;                 // steps that are expected
    void *tail;                 // of a stack: the state before the last step
    size_t tail_at;             // that step; SIZE_MAX: it is not there
    size_t in_memory;           // states in memory
    size_t on_shelves;          // bytes, and what else the scan holds
    bool put;                   // something is in the store
    uint32_t run;               // in the stamps of what is
    ad_scan_report *report;     // never NULL
    // The loop: its state, which each step changes, with room for a stamp
    // before it; what a step does.
    char *state;
    ad_real *behind;            // the state, where it was kept or fetched last;
                                // NULL: there is no room
    bool (*advance)(void *user, size_t s);
    bool (*reverse)(void *user, size_t s);
    // The same for as many steps of from..to as it likes: from the first or the
    // last one on. States are those of level l, which has no store, from number
    // 0 at step `base`, kept before; or l is NULL. Returns the step that comes
    // next, or after which the next one goes back. NULL: there is none.
    size_t (*advance_some)(void *user, adx_kept_level *l, size_t base,
                           size_t from, size_t to);
    size_t (*reverse_some)(void *user, adx_kept_level *l, size_t base,
                           size_t from, size_t to);
    void *user;
    size_t first;               // steps before it are not reversed
} adx_timetable;

/* --- keeping ------------------------------------------------------------- */

// Blocks of 4 to 8 kB, or less for few states: a short scan is to cost little.
static unsigned adx_block_bits(size_t bytes, size_t states)
{
    unsigned bits = 0;
    while (bytes << bits < 4096 && states >> bits > 1)
        bits++;
    return bits;
}

static void adx_count_bytes(adx_timetable *p, size_t more)
{
    p->on_shelves += more;
    if (p->on_shelves > p->report->bytes)
        p->report->bytes = p->on_shelves;
}

// Room for state i, of which the one before has some. NULL: no memory.
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

// What goes to a store begins with it: which run of a scan, which state. So a
// store that two scans share is noticed.
typedef struct adx_stamp {
    uint64_t run;
    uint64_t number;
} adx_stamp;

static bool adx_put_state(adx_timetable *p, const ad_store *to, size_t i)
{
    const adx_stamp stamp = { p->run, i };
    char *blob = p->state - sizeof stamp;
    memcpy(blob, &stamp, sizeof stamp);
    p->put = true;
    p->report->put++;
    return to->put(to->user, i, blob, sizeof stamp + p->bytes);
}

static bool adx_get_state(adx_timetable *p, const ad_store *from, size_t i)
{
    const adx_stamp stamp = { p->run, i };
    char *blob = p->state - sizeof stamp;
    return from->get(from->user, i, blob, sizeof stamp + p->bytes)
        && memcmp(blob, &stamp, sizeof stamp) == 0;
}

// What is kept behind the state at `at`; NULL: there is no room.
ADX_INLINE ad_real *adx_behind(const adx_timetable *p, const adx_kept_level *l,
                               char *at)
{
    return l->behind == 0 || at == NULL ? NULL
         : (ad_real *)(void *)(at + p->bytes);
}

// Mostly so few words that a call of memcpy takes longer. bytes: of numbers.
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

// The state as number i of a level.
ADX_INLINE bool adx_keep_state(adx_timetable *p, adx_kept_level *l, size_t i)
{
    char *to = l->store != NULL ? NULL : adx_in_state_pool(p, &l->pool, i);
    p->behind = adx_behind(p, l, to);
    if (l->store != NULL)
        return adx_put_state(p, l->store, i);
    if (to != NULL)
        adx_copy_state(p->bytes, p->state, to);
    if (p->behind != NULL)
        *p->behind = 0;
    return to != NULL;
}

ADX_INLINE bool adx_fetch_state(adx_timetable *p, adx_kept_level *l, size_t i)
{
    char *from = l->store != NULL ? NULL : adx_in_state_pool(p, &l->pool, i);
    p->behind = adx_behind(p, l, from);
    if (l->store != NULL)
        return adx_get_state(p, l->store, i);
    if (from != NULL)
        adx_copy_state(p->bytes, from, p->state);
    return from != NULL;
}

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

// Leaves out every other state of a full stack.
static void adx_thin(adx_timetable *p, adx_kept_level *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->depth; i += 2, kept++)
        if (i > 0) {
            l->at[kept] = l->at[i];
            memcpy(adx_in_state_pool(p, &l->pool, kept),
                   adx_in_state_pool(p, &l->pool, i), p->bytes);
        }
    adx_count_held(p, 0, l->depth - kept);
    l->depth = kept;
}

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
            : left > 1 && p->end - s > 1 ? s + adx_split(p->end - s, left)
                                         : SIZE_MAX;
    return true;
}

// Before step s of the first run.
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

// Steps from s on that the first run may do at once, and where it keeps states
// meanwhile: at each of them, or (NULL) at none.
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

// Whether the states that were kept cost more than the first one alone, from
// which they may be chosen anew.
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

static bool adx_advance(adx_timetable *p, size_t from, size_t to)
{
    for (size_t s = from; s < to; s++) {
        if (p->advance_some != NULL)
            s = p->advance_some(p->user, NULL, 0, s, to);
        if (s < to && !p->advance(p->user, s))
            return false;
    }
    return true;
}

// The state before step `to`, from the top of the stack, keeping others on the
// way as long as there is room.
static bool adx_reach(adx_timetable *p, adx_kept_level *l, size_t to)
{
    size_t s = l->at[l->depth - 1];
    if (!adx_fetch_state(p, l, l->depth - 1))
        return false;
    while (s < to && l->depth < l->most) {
        size_t m = adx_split(to + 1 - s, l->most - l->depth + 1);
        if (!adx_advance(p, s, s + m))
            return false;
        s += m;
        if (s == to)
            return true;        // reversed at once: not worth a place
        if (!adx_push_state(p, l, s))
            return false;
    }
    return adx_advance(p, s, to);
}

// Gives up the states from step `end` on, but for the first of the stack.
static void adx_pop_states(adx_timetable *p, adx_kept_level *l, size_t end)
{
    while (l->depth > 1 && l->at[l->depth - 1] >= end) {
        l->depth--;
        adx_count_held(p, 0, 1);
    }
}

static bool adx_unwind(adx_timetable *p, adx_kept_level *l, size_t end)
{
    size_t begin = l->at[0] > p->first ? l->at[0] : p->first;
    while (end > begin) {
        if (end - 1 == p->tail_at)
            memcpy(p->state, p->tail, p->bytes);
        else if (!adx_reach(p, l, end - 1))
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

// Every so many-th state of a range, from its first, which is there.
static bool adx_keep_range(adx_timetable *p, adx_kept_level *l, size_t begin,
                           size_t end)
{
    size_t s = begin;
    if (l->every == 1 && p->advance_some != NULL)
        s = p->advance_some(p->user, l, begin, begin, end - 1);
    for (size_t first = s; s < end; s += l->every) {
        if (s > first && !adx_advance(p, s - l->every, s))
            return false;
        if (!adx_keep_state(p, l, (s - begin) / l->every))
            return false;
    }
    return true;
}

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
        ok = to <= p->first
          || (adx_fetch_state(p, l, i)
              && (to - from == 1 ? p->reverse(p->user, from)
                                 : adx_go_back(p, level + 1, from, to, false)));
    }
    if (!kept)
        adx_count_held(p, 0, n);
    return ok;
}

// Reverses the steps of a range, whose first state is there; kept: as the
// first run left it.
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
        if (l->store != NULL && p->put && l->store->drop != NULL)
            l->store->drop(l->store->user);
        adx_free_state_pool(&p->memory, &l->pool);
        adx_drop(&p->memory, l->at);
    }
    p->levels = 0;
}

// Whether it is one, wherever it is followed.
static bool adx_right_schedule(const ad_schedule *s)
{
    const ad_store *store = s->store;
    return (unsigned)s->kind <= ADREV_BYTES
        && (s->kind == ADREV_STORE_ALL || s->n > 0)
        && (store == NULL || (store->put != NULL && store->get != NULL
                              && store->every > 0));
}

// Up to three levels for a loop of p->end steps and states of p->bytes, by a
// right schedule.
static ad_status adx_list_levels(adx_timetable *p, const ad_schedule *s)
{
    if (s->store != NULL) {
        p->run = adx_new_job();         // a number of which there is one
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

// behind: numbers with each state, where all states of a range are kept.
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
