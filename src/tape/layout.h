#pragma once

/* === tape/layout ============================================================
 * A recording is a sequence of entries. An entry is a header (16 bits) and some
 * operands. In a block, operands are written from the beginning upwards,
 * headers from the end downwards. A statement makes one value, whose id is its
 * place in the order of values; the id is not stored. Invariants:
 *
 *   - an entry lies in one block; the blocks of a tape are a list
 *   - id 0 is a sink: the operand of whatever is a constant
 *   - the tape current on a thread has its cursors in adx_now, any other in
 *     its own field `rest`
 *   - a failed tape has no room: nothing is ever recorded on it
 *
 *   needs   number/recording
 *   offers  ADX_OTHER ADX_INPUTS ADX_SITE ADX_DATA ADX_EXTENDED ADX_LEAP
 *           ADX_GAP ADX_LEAST ADX_BLOCK_MOST adx_site adx_failure
 *           ADX_SITE_OPERANDS adx_extended adx_rule adx_block adx_place
 *           adx_leap adx_annex adx_mine_rows adx_segment ADX_ENTRIES adx_live
 *           adx_has_fixed_memory adx_is_observed adx_has_forks adx_annex_of
 *           adx_bottom adx_top_of_block adx_open_bottom adx_gap adx_round_up
 *           ADX_JOB_BATCH ADX_JOB_BEYOND adx_next_job adx_take_jobs
 *           adx_new_job adx_fail_because adx_fail adx_failed
 * ========================================================================== */

#include <stdarg.h>
#ifndef ADREV_NO_STDLIB
#include <stdlib.h>
#endif
#if !defined ADREV_NO_THREADS && !defined __STDC_NO_ATOMICS__
#include <stdatomic.h>
#endif

/* --- layout -------------------------------------------------------------- */

// Headers. Without the bit ADX_OTHER: a statement; the bits of ADX_COUNT are
// its number of operands, and ADX_SUM may be set. Otherwise one of these, which
// are not such statements:
#define ADX_OTHER  0x200u   // set in all of the following
#define ADX_INPUTS 0x201u   // one operand, whose id is the number of inputs
#define ADX_SITE   0x202u   // ADX_SITE_OPERANDS operands hold an adx_site
#define ADX_DATA   0x203u   // bytes; ids of the first and the last operand: how
                            // many operands there are
#define ADX_EXTENDED 0x204u // likewise; the bytes begin with an adx_extended
#define ADX_LEAP   0x205u   // likewise; they are a pointer to an adx_leap
#define ADX_GAP    0x206u   // one operand, one value that is not used

// The shortest statement: what a value costs at least.
#define ADX_LEAST (sizeof(uint16_t) + sizeof(adx_operand))

// Blocks grow up to this many bytes, unless one entry is larger.
#define ADX_BLOCK_MOST ((size_t)1 << 28)

typedef struct adx_site {
    const char *file;
    ad_real value;          // between the others it fills padding
    int line;
} adx_site;

// What is known of the failure of a tape, besides its status.
typedef struct adx_failure {
    const char *file;
    const char *why;        // NULL: as the status says
    size_t missing;         // bytes of fixed memory
    int line;
} adx_failure;

#define ADX_SITE_OPERANDS                                                   \
    ((sizeof(adx_site) + sizeof(adx_operand) - 1) / sizeof(adx_operand))

// A statement that is not a list of partials: external, or over arrays. Its
// rule serves W directions at once, as a sweep does. False: a function of the
// user's failed.
typedef struct adx_extended adx_extended;
typedef struct adx_rule {
    const char *name;       // an array of its own: compilers put the strings of
                            // all constants together, and keep all or none
    bool (*reverse)(const adx_extended *e, ad_real adj[], ad_real scratch[],
                    size_t W);
    bool (*forward)(const adx_extended *e, ad_real tan[], ad_real scratch[],
                    size_t W);
    void (*destroy)(const adx_extended *e);     // or NULL
} adx_rule;

struct adx_extended {
    _Alignas(8) const adx_rule *rule;   // numbers may stand behind it
    adx_extended *before;           // the previous one whose rule has destroy
    adx_operand *site;              // its entry; NULL without ADREV_DEBUG
    size_t first;                   // id of its first value
    size_t values;
    size_t operands;
    bool care;                      // a partial is not finite
};

typedef struct adx_block {
    _Alignas(8) struct adx_block *prev;
    struct adx_block *next;
    adx_operand *op;        // op, head: where the recording left this block
    uint16_t *head;
    size_t bytes;           // of memory behind this struct, a multiple of 8
} adx_block;

// A place between two entries.
typedef struct adx_place {
    const adx_block *block;
    const adx_operand *op;      // the next operand is written here
    const uint16_t *head;
    size_t seq;                 // values before
} adx_place;

// A stretch of the tape, between two entries ADX_LEAP, that belongs to others:
// a sweep leaves it out. A reverse sweep calls `reverse` at the second of the
// two and goes on before the first; a forward sweep calls `forward` at the
// first and goes on after the second.
typedef struct adx_leap adx_leap;
struct adx_leap {
    bool (*reverse)(adx_leap *leap, size_t W);
    bool (*forward)(adx_leap *leap, size_t W);
    adx_place before;
    adx_place after;
};

// What a header built upon this one adds to a tape: further tapes, with values
// of the same recording.
typedef struct adx_annex {
    // the id on t of a value that is known there; or 0
    uint64_t (*import)(ad_tape *t, uint64_t id);
    // the tape of a value that is not on t, if a sweep of t reaches it; or NULL
    const ad_tape *(*owner)(const ad_tape *t, ad_rev x);
    // the i-th further tape; or NULL
    ad_tape *(*further)(const ad_tape *t, size_t i);
    // makes room for the adjoints of all of them; false: no memory
    bool (*afford)(ad_tape *t, size_t W);
    void (*zero)(ad_tape *t, size_t W);
    void (*rewound)(ad_tape *t);
    void (*clear)(ad_tape *t);
    void (*free)(ad_tape *t);
} adx_annex;

// For a Jacobian on several threads (adrev_parallel.h): how many sweeps of rows
// this thread is in, one within the other, and how many statements
// (adrev_loop.h) it holds in them. Other sweeps of rows wait for such a
// statement. If this thread helped one of them it would wait for itself. So
// while it holds a statement it helps nobody, and runs all forks itself.
typedef struct adx_rowing {
    size_t rows;
    size_t statements;
} adx_rowing;

static ADX_THREAD adx_rowing adx_mine_rows ADX_UNUSED;

// The values with ids above `begin`, up to the `begin` of the next segment,
// belong to this job. Only a rewind, or ad_grad and its kin, begins a further
// segment. `begin` cannot tell apart places between which entries make no
// values; the number of entries does. Some of its bits suffice: 2^30 entries
// without a value take 15 GB.
typedef struct adx_segment {
    uint32_t job;
    uint32_t begin;
    uint32_t entries : 31;      // before it
    uint32_t session : 1;       // of ad_grad: marks in it are not of an older
                                // segment
} adx_segment;

#define ADX_ENTRIES 0x7fffffffu

// Is told that the value v, with the id `id`, is what an operation makes of a,
// b and c, all of the tape's newest segment. If the operation has fewer than
// three arguments, the missing ones repeat a. Returns that value.
typedef ad_rev adx_observer(void *user, ad_opcode code, ad_rev a, ad_rev b,
                            ad_rev c, ad_real v, uint32_t id);

struct ad_tape {
    _Alignas(8) adx_context rest;   // while it is not current; with
                                    // ADREV_FIXED always
#if !ADREV_FIXED
    adx_context *live;              // rest, or the thread's adx_now
#endif
    adx_block *first;
    adx_block *block;               // the one being written
#if !ADREV_FIXED
    ad_real *adjoint;               // for the sweeps; not in fixed memory
    size_t adjoint_count;
#endif
    size_t bytes;                   // bytes in blocks and adjoints
    size_t most;                    // the most bytes needed before a rewind
    size_t scratch;                 // further numbers that a sweep needs for
                                    // each direction
#if !ADREV_FIXED
    size_t open;                    // open forks: while there is one, the tape
                                    // is neither swept nor cleared, except the
                                    // part of it that ad_grad has recorded
    const adx_annex *annex;         // or NULL
    void *annexed;                  // the annex's own data
#endif
    adx_extended *last;             // the last one whose rule has destroy
    uint16_t *start;                // `head` before the first entry
    size_t lead;                    // values before the first entry: inputs
    ad_mark floor;                  // sweeps end here
#if !ADREV_FIXED
    adx_observer *observer;         // set: a function is recorded, and the tape
                                    // is not swept. Its user is the hooks'
#endif
    uint16_t *sealed;               // a mark stands at this head: inputs after
                                    // it need a new entry
#if ADREV_FIXED
    uint32_t next_job;              // of this tape's batch
#else
    ad_allocator allocator;         // alloc NULL: fixed memory
    ad_hooks hooks;
#endif
    adx_failure failure;
    ad_status status;
    bool one_way;                   // a statement cannot go forward
    bool calls;                     // a sweep may call the user's functions
    bool always;                    // there is a statement with `always`
    bool selective;                 // sweeps may leave it out: it takes no such
                                    // statement
    bool stops;                     // fails at a number that is not finite
    bool alone;                     // all of the recording shall be on this
                                    // tape
    uint32_t segments;
    adx_segment segment[ADREV_MARKS + 1];
};

ADX_STATIC_ASSERT(offsetof(ad_rev, job) == offsetof(ad_rev, seq) + 4,
                  "an id is 8 bytes");
ADX_STATIC_ASSERT(sizeof(adx_block) % 8 == 0, "operands start aligned");
ADX_STATIC_ASSERT(sizeof(ad_tape) % 8 == 0, "the block behind it, too");

#ifndef ADREV_STATIC
const char ADX_ALIKE = 0;
#if ADREV_FIXED
adx_context adx_none;
#ifndef ADREV_CURRENT
ADX_THREAD adx_context *adx_current = &adx_none;
#endif
#else
ADX_THREAD adx_context adx_now;
#endif
#if ADREV_COUNT
ADX_THREAD ad_count_both ad_counts;
#endif
#endif

// What tapes have that grow, and others do not.
#if ADREV_FIXED
static inline adx_context *adx_live(const ad_tape *t)
{
    return (adx_context *)(uintptr_t)&t->rest;
}
static inline bool adx_has_fixed_memory(const ad_tape *t)
{
    (void)t;
    return true;
}
static inline bool adx_is_observed(const ad_tape *t) { (void)t; return false; }
static inline bool adx_has_forks(const ad_tape *t) { (void)t; return false; }
static inline const adx_annex *adx_annex_of(const ad_tape *t)
{
    (void)t;
    return NULL;
}
#else
static inline adx_context *adx_live(const ad_tape *t) { return t->live; }
static inline bool adx_has_fixed_memory(const ad_tape *t)
{
    return t->allocator.alloc == NULL;
}
static inline bool adx_is_observed(const ad_tape *t)
{
    return t->observer != NULL;
}
static inline bool adx_has_forks(const ad_tape *t) { return t->open > 0; }
static inline const adx_annex *adx_annex_of(const ad_tape *t)
{
    return t->annex;
}
#endif

static const adx_operand *adx_bottom(const adx_block *b)
{
    return (const adx_operand *)(b + 1);
}

static const uint16_t *adx_top_of_block(const adx_block *b)
{
    return (const uint16_t *)((const char *)(b + 1) + b->bytes);
}

// The bottom of a block that is written.
static adx_operand *adx_open_bottom(adx_block *b)
{
    return (adx_operand *)(b + 1);
}

static size_t adx_gap(const adx_context *c)
{
    return (size_t)((char *)c->head - (char *)c->op);
}

static size_t adx_round_up(size_t bytes) { return (bytes + 7) / 8 * 8; }

/* --- jobs -------------------------------------------------------------------
 * A job number is used only once, out of nearly 2^32 per process. So a value of
 * an earlier recording is never mistaken for one of a later recording. Threads
 * take the numbers in batches: an atomic operation per recording would cost as
 * much as a small gradient. When all have been used, numbers come again.     */

#define ADX_JOB_BATCH (ADREV_FIXED ? 256u : 4096u)

// A number that no job has: that of what lies behind the arrays that a function
// is given (sweep/session).
#define ADX_JOB_BEYOND (0u - ADX_JOB_BATCH)

#if !defined ADREV_NO_THREADS && !defined __STDC_NO_ATOMICS__
static _Atomic uint32_t adx_jobs;
#define ADX_TAKE_JOBS() atomic_fetch_add(&adx_jobs, ADX_JOB_BATCH)
#elif defined __GCC_ATOMIC_INT_LOCK_FREE && __GCC_ATOMIC_INT_LOCK_FREE == 2 \
    && __SIZEOF_INT__ == 4
static unsigned adx_jobs;       // interrupts take numbers, too
#define ADX_TAKE_JOBS()                                                     \
    __atomic_fetch_add(&adx_jobs, ADX_JOB_BATCH, __ATOMIC_RELAXED)
#else
static uint32_t adx_jobs;
#define ADX_TAKE_JOBS() ((adx_jobs += ADX_JOB_BATCH) - ADX_JOB_BATCH)
#endif

// Private copies of the library count separately, each from another origin.
#ifdef ADREV_STATIC
#define ADX_JOB_ORIGIN                                                      \
    ((uint32_t)((uintptr_t)&adx_jobs / 4 * 2654435761u) / ADX_JOB_BATCH     \
     * ADX_JOB_BATCH)
#else
#define ADX_JOB_ORIGIN 0
#endif

// With ADREV_FIXED each tape has a batch of its own, so that an interrupt that
// records on another one finds nothing half done.
#if ADREV_FIXED
#define ADX_NEXT_JOB(t) ((t)->next_job)
#else
static ADX_THREAD uint32_t adx_next_job;
#define ADX_NEXT_JOB(t) adx_next_job
#endif

static uint32_t adx_take_jobs(void)
{
    uint32_t first = ADX_TAKE_JOBS() + ADX_JOB_ORIGIN;
    if (ADREV_FIXED)        // multiples of the batch are no jobs (adx_new_job)
        return first;
    return first == ADX_JOB_BEYOND ? ADX_TAKE_JOBS() + ADX_JOB_ORIGIN : first;
}

static uint32_t adx_new_job(ad_tape *t)
{
    // Multiples of the batch are left out, 0 among them.
    (void)t;
    if (ADX_NEXT_JOB(t) % ADX_JOB_BATCH == 0)
        ADX_NEXT_JOB(t) = adx_take_jobs() + 1;
    return ADX_NEXT_JOB(t)++;
}

/* --- failure ------------------------------------------------------------- */

// Marks the tape as failed; the first error stays. From here on the tape has no
// room. Every failure comes through here, so a debugger can stop at it
// (docs/debugging.md).
ADX_COLD static void adx_fail_because(ad_tape *t, ad_status status,
                                      const char *why)
{
    adx_context *c = adx_live(t);
    if (t->status == ADREV_OK) {
        t->status = status;
        t->failure = (adx_failure){ c->file, why, 0, c->line };
    }
    c->reserved = ADREV_FIXED ? SIZE_MAX / 2 : adx_gap(c);
}

static void adx_fail(ad_tape *t, ad_status status)
{
    adx_fail_because(t, status, NULL);
}

ADX_API ad_status ad_fail(ad_status status, const char *why)
{
    if (adx_now.tape == NULL || status == ADREV_OK)
        return status;
    adx_fail_because(adx_now.tape, status, why);
    return adx_now.tape->status;
}

// Fails the current tape, if there is one. Returns the first error.
static ad_status adx_failed(ad_status status) { return ad_fail(status, NULL); }

ADX_API ad_status ad_tape_status(const ad_tape *t)
{
    return t == NULL ? ADREV_ENOTAPE : t->status;
}

#define ADX_TEXT(name, text) text,
ADX_API const char *ad_message(ad_status status)
{
    static const char *const texts[] = { ADREV_STATUS_TABLE(ADX_TEXT) };
    return (unsigned)status < ADREV_STATUS_COUNT ? texts[status]
                                                 : "not a status of adrev";
}
#undef ADX_TEXT

ADX_API void ad_tape_failed_at(const ad_tape *t, const char **file, int *line)
{
    *file = t == NULL ? NULL : t->failure.file;
    *line = t == NULL ? 0 : t->failure.line;
}

ADX_API const char *ad_tape_reason(const ad_tape *t)
{
    ad_status status = ad_tape_status(t);
    bool more = t != NULL && status != ADREV_OK && t->failure.why != NULL;
    return more ? t->failure.why : ad_message(status);
}

ADX_API size_t ad_tape_missing(const ad_tape *t)
{
    return ad_tape_status(t) == ADREV_EFULL ? t->failure.missing : 0;
}
