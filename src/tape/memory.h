#pragma once

/* === tape/memory ============================================================
 * Room for what is recorded: blocks that are added as needed, or the user's
 * fixed memory. Memory from allocators.
 *
 * What an evaluation gives back is kept for the next one, so that evaluations
 * in a row allocate nothing. If two run at a time, the second one allocates
 * memory of its own.
 *
 *   needs   number/recording tape/layout
 *   offers  adx_admit adx_settle adx_settle_room adx_enter_block adx_alloc
 *           adx_free adx_add_block adx_next_block adx_make_room adx_grow
 *           adx_libc adx_is_allocator adx_allocator_or adx_size_plus
 *           adx_size_times adx_magnitude ADX_MOST_ELEMENTS adx_no_array
 *           adx_spread_of adx_take adx_drop adx_extend ADX_LINE adx_align
 *           adx_workspace adx_spare adx_take_workspace adx_give_workspace
 *           adx_drop_spare
 * ========================================================================== */

#if !ADREV_FIXED
// How many bytes of the gap may be written before this is asked again. Fixed
// memory keeps an adjoint for each value free in the gap, of which the test in
// adx_room knows nothing. That test stays correct because it sees only a part
// of the gap, one that suffices whatever is recorded there; when this part is
// used up, the next one is computed. At the very end that happens for every
// statement, so nothing is wasted.
static size_t adx_usable_bytes(const ad_tape *t, const adx_context *c)
{
    size_t usable = adx_gap(c);
    size_t left = ADREV_VALUES - c->seq;

    if (adx_has_fixed_memory(t)) {
        size_t adjoints = (c->seq + 2 + t->scratch) * sizeof(ad_real) + 8;
        size_t free = usable > adjoints ? usable - adjoints : 0;
        usable = free / (ADX_LEAST + sizeof(ad_real)) * ADX_LEAST;
    }
    return usable / ADX_LEAST > left ? left * ADX_LEAST : usable;
}
#endif

// Bytes that an entry with these operands and values needs in the gap of fixed
// memory, together with all adjoints. Without operands: that further values of
// the last entry need.
static size_t adx_need_of(const ad_tape *t, const adx_context *c,
                          size_t operands, size_t values)
{
    size_t data = operands * sizeof(adx_operand);
    size_t bottom = (size_t)((const char *)c->op - (const char *)t) + data;
    return (operands == 0 ? 0 : sizeof(uint16_t) + data)
         + adx_round_up(bottom) - bottom
         + (values + c->seq + 1 + t->scratch) * sizeof(ad_real);
}

// Whether such an entry fits exactly.
static bool adx_fits_exactly(const ad_tape *t, const adx_context *c,
                             size_t operands, size_t values)
{
    size_t gap = adx_gap(c);
    if (adx_has_fixed_memory(t))
        return gap >= adx_need_of(t, c, operands, values);
    size_t data = operands * sizeof(adx_operand);
    return gap >= (operands == 0 ? 0 : sizeof(uint16_t) + data);
}

// Fails: fixed memory is too small for such an entry. It would have to grow by
// `missing` bytes, a multiple of 8.
static void adx_fail_full(ad_tape *t, const adx_context *c, size_t operands,
                          size_t values)
{
    bool first = t->status == ADREV_OK;
    size_t need = adx_need_of(t, c, operands, values);
    adx_fail(t, ADREV_EFULL);
    if (first && values <= ADREV_VALUES && need > adx_gap(c))
        t->failure.missing = adx_round_up(need - adx_gap(c));
}

// Whether so many values and such an entry may be added. If not, the tape
// fails.
static bool adx_admit(ad_tape *t, adx_context *c, size_t operands,
                      size_t values)
{
    if (values > ADREV_VALUES - c->seq)
        adx_fail(t, ADREV_ELIMIT);
    else if (adx_fits_exactly(t, c, operands, values))
        return true;
    else
        adx_fail_full(t, c, operands, values);
    return false;
}

#if ADREV_FIXED
// Says what is reserved in the gap, besides an adjoint for each value: adjoints
// of the sink and of the next value, and what aligns them.
static void adx_settle(ad_tape *t, adx_context *c)
{
    c->reserved = t->status != ADREV_OK ? SIZE_MAX / 2
                : (t->scratch + 2) * sizeof(ad_real)
                  + (sizeof(adx_operand) % 8 == 0 ? 0 : 4);
}

static bool adx_settle_room(ad_tape *t, adx_context *c, size_t need)
{
    return adx_fits_exactly(t, c, need / sizeof(adx_operand), 1);
}
#else
// Opens as much of the gap as is safe, and at least `need` if that fits. False:
// it does not fit.
static bool adx_settle_exactly(ad_tape *t, adx_context *c, size_t need)
{
    size_t usable = adx_usable_bytes(t, c);
    bool enough = usable >= need;

    if (!enough) {
        enough = adx_fits_exactly(t, c, need / sizeof(adx_operand), 1);
        usable = enough ? need : usable;
    }
    if (c->trace || t->status != ADREV_OK)
        usable = 0;
    c->reserved = adx_gap(c) - usable;
    return enough;
}

static inline bool adx_settle_room(ad_tape *t, adx_context *c, size_t need)
{
    if (adx_has_fixed_memory(t) || t->status != ADREV_OK || c->trace
        || adx_gap(c) > ADX_BLOCK_MOST
        || c->seq + ADX_BLOCK_MOST / ADX_LEAST >= ADREV_VALUES)
        return adx_settle_exactly(t, c, need);
    c->reserved = 0;            // nearly all tapes: the whole gap is safe
    return adx_gap(c) >= need;
}

static inline void adx_settle(ad_tape *t, adx_context *c)
{
    adx_settle_room(t, c, 0);
}
#endif

// Makes b the block that is written.
static void adx_enter_block(ad_tape *t, adx_context *c, adx_block *b)
{
    t->block = b;
    c->op = adx_open_bottom(b);
    c->head = (uint16_t *)((char *)(b + 1) + b->bytes);
    t->start = b == t->first ? c->head : t->start;
}

#if !ADREV_FIXED
static void *adx_alloc(ad_tape *t, size_t bytes)
{
    void *p = t->allocator.alloc(bytes, t->allocator.user);
    t->bytes += p == NULL ? 0 : bytes;
    return p;
}

static void adx_free(ad_tape *t, void *p, size_t bytes)
{
    t->allocator.free(p, t->allocator.user);
    t->bytes -= bytes;
}

// A new block behind the current one, as large as all of them together.
static adx_block *adx_add_block(ad_tape *t, size_t need)
{
    size_t bytes = t->first == NULL ? ADREV_BLOCK : t->bytes;
    if (bytes > ADX_BLOCK_MOST)
        bytes = ADX_BLOCK_MOST;
    if (bytes < need)
        bytes = need;
    bytes = adx_round_up(bytes);

    adx_block *b = (adx_block *)adx_alloc(t, sizeof *b + bytes);
    if (b == NULL)
        return NULL;
    b->bytes = bytes;
    b->prev = t->block;
    b->next = t->block == NULL ? NULL : t->block->next;
    if (b->next != NULL)
        b->next->prev = b;
    if (b->prev != NULL)
        b->prev->next = b;
    else
        t->first = b;
    return b;
}

// The block behind the current one, if it is large enough, or a new one; NULL:
// no memory.
static adx_block *adx_next_block(ad_tape *t, size_t need)
{
    adx_block *b = t->block == NULL ? NULL : t->block->next;
    return b != NULL && b->bytes >= need ? b : adx_add_block(t, need);
}

// Goes to the next block; false: no memory.
static bool adx_begin_block(ad_tape *t, adx_context *c, size_t need)
{
    adx_block *b = adx_next_block(t, need);
    if (b == NULL) {
        adx_fail(t, ADREV_ENOMEM);
        return false;
    }
    if (t->block != NULL) {
        t->block->op = c->op;
        t->block->head = c->head;
    }
    adx_enter_block(t, c, b);
    return adx_settle_room(t, c, need);
}
#endif

// Makes room for an entry in this block or in the next. `values` is how many it
// makes; fixed memory needs room for one even if it makes none.
ADX_INLINE bool adx_make_room(ad_tape *t, adx_context *c, size_t need,
                              size_t values)
{
#if ADREV_FIXED
    return (ADREV_VALUES >= (uint32_t)1 << 31
            && adx_room(need + values * sizeof(ad_real)))
        || adx_admit(t, c, need / sizeof(adx_operand), values + (values == 0));
#else
    if (c->seq >= ADREV_VALUES) {
        adx_fail(t, ADREV_ELIMIT);
        return false;
    }
    if (t->block != NULL && adx_settle_room(t, c, need))
        return true;
    if (!adx_has_fixed_memory(t))
        return adx_begin_block(t, c, need);
    adx_fail_full(t, c, need / sizeof(adx_operand), values + (values == 0));
    return false;
#endif
}

// Makes room for a statement on the current tape. False: there is no tape, or
// it has failed.
ADX_COLD static bool adx_grow(size_t need)
{
    ad_tape *t = adx_now.tape;
    if (t == NULL || t->status != ADREV_OK)
        return false;
    if (ADX_TRACED) {
        adx_fail_because(t, ADREV_EHOOK, "code that was compiled without "
                         "ADREV_TRACE records while operations are traced");
        return false;
    }
    return adx_make_room(t, &adx_now, need, 1);
}

#if !defined ADREV_NO_STDLIB && !ADREV_FIXED
static void *adx_malloc(size_t bytes, void *user)
{
    (void)user;
    return malloc(bytes);
}

static void adx_libc_free(void *block, void *user)
{
    (void)user;
    free(block);
}

static const ad_allocator adx_libc = { adx_malloc, adx_libc_free, NULL };
#endif

static inline bool adx_is_allocator(const ad_allocator *a)
{
    return a != NULL && a->alloc != NULL && a->free != NULL;
}

// The allocator that is given, or that of the C library; NULL: there is none.
static inline const ad_allocator *adx_allocator_or(const ad_allocator *a)
{
    if (adx_is_allocator(a))
        return a;
#if defined ADREV_NO_STDLIB || ADREV_FIXED
    return NULL;
#else
    return &adx_libc;
#endif
}

// Lengths come from the caller, and their sums and products must not wrap.
// These stop at SIZE_MAX, more than any memory or array has.
static inline size_t adx_size_plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

// (The product of two half words fits: mostly nothing is divided, which takes
// long, and on some processors a function.)
static inline size_t adx_size_times(size_t a, size_t b)
{
    const bool half = (a | b) >> 4 * sizeof a == 0;
    return !half && b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

static inline size_t adx_magnitude(ptrdiff_t stride)
{
    return stride < 0 ? 0 - (size_t)stride : (size_t)stride;
}

// The most elements of an array. At most 64 bytes are stored for each element,
// so the bytes of all fit into a size_t.
#define ADX_MOST_ELEMENTS (SIZE_MAX / 64)

// Whether an array of n elements is impossible or missing.
ADX_INLINE bool adx_no_array(size_t n, const void *x)
{
    return n > ADX_MOST_ELEMENTS || (n > 0 && x == NULL);
}

// Of a matrix with strides: how many elements it has, or how many lie between
// its first and its last one, whichever is more.
static inline size_t adx_spread_of(size_t rows, ptrdiff_t rs, size_t cols,
                                   ptrdiff_t cs)
{
    if (rows == 0 || cols == 0)
        return 0;
    size_t between = adx_size_plus(adx_size_times(rows - 1, adx_magnitude(rs)),
                              adx_size_times(cols - 1, adx_magnitude(cs)));
    size_t n = adx_size_times(rows, cols);
    return n > between ? n : between;
}

// Bytes of n objects, and one more; SIZE_MAX: more than there can be.
static inline size_t adx_room_of(size_t n, size_t size)
{
    return n > SIZE_MAX / 4 / (size + 1) ? SIZE_MAX : n * size + 1;
}

// Memory for the other headers: n*size bytes and one more; NULL: none.
static inline void *adx_take(const ad_allocator *a, size_t n, size_t size)
{
    size_t bytes = adx_room_of(n, size);
    return bytes == SIZE_MAX ? NULL : a->alloc(bytes, a->user);
}

static inline void adx_drop(const ad_allocator *a, void *p)
{
    if (p != NULL)
        a->free(p, a->user);
}

// Whether memory is the C library's, so that realloc is allowed. Not if a
// program has replaced malloc alone by a macro.
static inline bool adx_is_library(const ad_allocator *a)
{
#if !defined ADREV_NO_STDLIB && !ADREV_FIXED                                \
    && (!defined malloc || defined realloc)
    return a->alloc == adx_malloc;
#else
    (void)a;
    return false;
#endif
}

// Moves the n objects of `old` to room for `more`; NULL: no memory, and `old`
// stays. The C library moves pages instead of their contents. (bench:
// recording, first, 10^6 operations, 0.78.)
static inline void *adx_retake(const ad_allocator *a, void *old, size_t n,
                               size_t more, size_t size)
{
#if !defined ADREV_NO_STDLIB && !ADREV_FIXED
    if (adx_is_library(a)) {
        size_t bytes = adx_room_of(more, size);
        return bytes == SIZE_MAX ? NULL : realloc(old, bytes);
    }
#endif
    void *wide = adx_take(a, more, size);
    if (wide != NULL && old != NULL) {
        memcpy(wide, old, n * size);
        adx_drop(a, old);
    }
    return wide;
}

// Makes an array longer. Small arrays in the C library's memory grow by a
// factor of four: the memory that each leaves behind was written for nothing,
// and new memory costs more than all the rest, but only once it is written.
// (bench: recording, first, 10^5 operations, 0.67.)
ADX_NOINLINE static bool adx_lengthen(const ad_allocator *a, void **array,
                                      size_t *room, size_t n, size_t size)
{
    bool small = n < ((size_t)1 << 24) / size && adx_is_library(a);
    size_t more = (small ? 4 : 2) * n + 8;
    void *wide = adx_retake(a, *array, *room, more, size);
    if (wide == NULL)
        return false;
    *array = wide;
    *room = more;
    return true;
}

// Makes room for n objects in an array that has *room now; false: no memory.
static inline bool adx_extend(const ad_allocator *a, void **array,
                              size_t *room, size_t n, size_t size)
{
    return n <= *room || adx_lengthen(a, array, room, n, size);
}

/* --- memory that is kept -------------------------------------------------- */

#ifndef __STDC_NO_ATOMICS__
#include <stdatomic.h>

#define ADX_LINE (64 / sizeof(ad_real))     // numbers of a line of the cache

// Lanes begin with a line: vectors that cross two lines take longer. (bench:
// gmm-d10, replay, 0.77.)
static ADX_UNUSED ad_real *adx_align(ad_real *p)
{
    return p + (64 - (uintptr_t)p % 64) % 64 / sizeof *p;
}

typedef struct adx_workspace {
    size_t size;                // numbers
    size_t lanes;               // of the replay whose constants are in it, or 0
    ad_real *w;                 // in `memory`
    ad_real memory[];
} adx_workspace;

typedef _Atomic(adx_workspace *) adx_spare;     // NULL: there is none

// Takes the workspace that is kept, if it is large enough, or a new one; NULL:
// no memory.
static ADX_UNUSED adx_workspace *adx_take_workspace(adx_spare *spare,
                                         const ad_allocator *a, size_t size)
{
    // acquire: pairs with the release in adx_give_workspace, which makes the
    // constants in it visible.
    adx_workspace *work = atomic_exchange_explicit(spare, NULL,
                                                   memory_order_acquire);
    if (work != NULL && work->size >= size)
        return work;
    adx_drop(a, work);
    if (size > SIZE_MAX / 16 / sizeof *work->w)
        return NULL;
    work = (adx_workspace *)adx_take(a, sizeof *work
                                     + (size + ADX_LINE) * sizeof *work->w, 1);
    if (work == NULL)
        return NULL;
    work->size = size;
    work->lanes = 0;
    work->w = adx_align(work->memory);
    return work;
}

// Keeps a workspace, in place of one that is kept.
static ADX_UNUSED void adx_give_workspace(adx_spare *spare,
                                          const ad_allocator *a,
                                          adx_workspace *work)
{
    // release: pairs with the acquire in adx_take_workspace.
    adx_drop(a, atomic_exchange_explicit(spare, work, memory_order_acq_rel));
}

// relaxed: nobody else has the function any more.
static ADX_UNUSED void adx_drop_spare(adx_spare *spare, const ad_allocator *a)
{
    adx_drop(a, atomic_exchange_explicit(spare, NULL, memory_order_relaxed));
}

#endif
