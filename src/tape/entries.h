#pragma once

/* === tape/entries ===========================================================
 * Entries that are not statements: inputs, places in the source, and arbitrary
 * bytes.
 *
 *   needs   number/recording tape/layout tape/memory
 *   offers  adx_entry adx_payload adx_ahead adx_look_ahead adx_drop_next
 *           adx_add_bytes adx_destroy adx_stop_at adx_note_site
 *           adx_add_leading_inputs adx_add_inputs adx_name_run
 * ========================================================================== */

// Appends an entry that makes `values` values. Returns its operands, which the
// caller writes; NULL: the tape has failed.
ADX_INLINE adx_operand *adx_entry(adx_context *c, unsigned header,
                                  size_t operands, size_t values)
{
    ad_tape *t = c->tape;
    size_t need = sizeof(uint16_t) + operands * sizeof(adx_operand);

    if (t->status != ADREV_OK || !adx_make_room(t, c, need, values)
        || (!ADREV_FIXED && !adx_admit(t, c, operands, values)))
        return NULL;
    c->op += operands;
    *--c->head = (uint16_t)header;
    c->seq += values;
    if (!ADREV_FIXED)
        adx_settle(t, c);
    return c->op - operands;
}

// The payload of an entry: bytes aligned to 16. The operand before it and the
// one behind it hold the same count of operands, so that the entry is found
// from both ends.
static void *adx_payload(const adx_operand *first)
{
    uintptr_t at = (uintptr_t)(first + 1);
    return (void *)((at + 15) / 16 * 16);
}

static size_t adx_operands_for(size_t bytes)
{
    return 2 + (bytes + 15 + sizeof(adx_operand) - 1) / sizeof(adx_operand);
}

// Where the next entry will lie, if its payload has so many bytes.
typedef struct adx_ahead {
    void *payload;          // NULL: that is not known beforehand
    void *behind;           // free room behind the entry, aligned
    adx_block *added;       // a block made for it, or NULL; nobody needs it if
                            // the entry is not written after all
} adx_ahead;

// Finds that place for a payload of `bytes`, with `beyond` free bytes behind
// it.
static ADX_UNUSED adx_ahead adx_look_ahead(size_t bytes, size_t beyond)
{
    ad_tape *t = adx_now.tape;
    size_t operands = adx_operands_for(bytes);
    size_t need = sizeof(uint16_t) + operands * sizeof(adx_operand);
    size_t all = need + sizeof(adx_operand) + 15 + beyond;
    adx_ahead ahead = { NULL, NULL, NULL };
    adx_operand *first = NULL;

    if (t->block == NULL)
        return ahead;
    if (adx_settle_room(t, &adx_now, need))
        first = adx_room(all) ? adx_now.op : NULL;
#if !ADREV_FIXED
    else if (!adx_has_fixed_memory(t)) {
        adx_block *next = t->block->next;
        if (next == NULL || next->bytes < need)
            next = ahead.added = adx_add_block(t, all);
        first = next == NULL || next->bytes < all ? NULL
              : adx_open_bottom(next);
    }
#endif
    if (first != NULL) {
        ahead.payload = adx_payload(first);
        ahead.behind = adx_payload(first + operands);
    }
    return ahead;
}

// Frees the block behind the current one; nothing is in it.
static ADX_UNUSED void adx_drop_next(ad_tape *t)
{
#if ADREV_FIXED
    (void)t;                // nobody added one
#else
    adx_block *b = t->block->next;
    t->block->next = b->next;
    if (b->next != NULL)
        b->next->prev = t->block;
    adx_free(t, b, sizeof *b + b->bytes);
#endif
}

// Appends an entry with a payload. Returns the payload; NULL: the tape failed.
static void *adx_add_bytes(adx_context *c, unsigned header, size_t bytes,
                           size_t values)
{
    size_t operands = adx_operands_for(bytes);

    if (bytes > SIZE_MAX / 4 || operands > ADREV_VALUES) {
        adx_fail(c->tape, ADREV_ELIMIT);
        return NULL;
    }
    adx_operand *first = adx_entry(c, header, operands, values);
    if (first == NULL)
        return NULL;
    first->d = 0;
    first->id = (uint32_t)operands;
    first[operands - 1].d = 0;
    first[operands - 1].id = (uint32_t)operands;
    return adx_payload(first);
}

// Calls destroy for the statements whose values are above seq: they leave the
// tape.
static void adx_destroy(ad_tape *t, size_t seq)
{
    while (t->last != NULL && t->last->first > seq) {
        const adx_extended *e = t->last;
        t->last = e->before;
        e->rule->destroy(e);
    }
}

// Fails a tape that stops at values like this one, which is about to be
// recorded.
static void adx_stop_at(ad_real v)
{
    ad_tape *t = adx_now.tape;
    if (t != NULL && t->stops && v - v != 0)
        adx_fail(t, ADREV_ENONFINITE);
}

ADX_API void ad_tape_stop_nonfinite(ad_tape *t, bool stop)
{
    if (t != NULL)
        t->stops = stop;
}

// Writes the place in the source and the value of the statement that follows.
ADX_COLD static void adx_note_site(ad_real v)
{
    adx_site site = { adx_now.file, v, adx_now.line };
    adx_operand *op = NULL;

    adx_stop_at(v);
    if (adx_now.tape != NULL)
        op = adx_entry(&adx_now, ADX_SITE, ADX_SITE_OPERANDS, 0);
    if (op != NULL)
        memcpy(op, &site, sizeof site);
}

// Whether n values without an entry fit, for certain. c is the current context.
static inline bool adx_have_room(const ad_tape *t, const adx_context *c,
                                 size_t n)
{
#if ADREV_FIXED
    (void)t; (void)c;
    return adx_room(n * sizeof(ad_real));
#else
    return c->reserved == 0 && !adx_has_fixed_memory(t)
        && c->seq + n <= ADX_BLOCK_MOST;
#endif
}

// Adds n inputs at the start of a recording, where they need no entry. False,
// and nothing done: there is an entry already, or something might go wrong
// (little room, a limit).
ADX_FAST bool adx_add_leading_inputs(ad_tape *t, adx_context *c, size_t n)
{
    if (c->head != t->start || !adx_have_room(t, c, n)
        || ADREV_VALUES < (uint32_t)1 << 31)
        return false;
    t->lead += n;
    c->seq += n;
    return true;
}

// Adds n inputs without a new entry: to the inputs at the start of a recording,
// or to the last entry if that is one of inputs and no mark stands behind it.
static bool adx_extend_inputs(ad_tape *t, adx_context *c, size_t n)
{
    bool first = c->head == t->start;

    if (!first && (c->head == adx_top_of_block(t->block)
                   || *c->head != ADX_INPUTS || c->head == t->sealed))
        return false;
    if (!adx_admit(t, c, 0, n))
        return false;
    if (first)
        t->lead += n;
    else
        c->op[-1].id += (uint32_t)n;
    c->seq += n;
    if (t->block != NULL && !ADREV_FIXED)
        adx_settle(t, c);
    return true;
}

// Adds n inputs by whichever way is possible. Returns the id of the first; 0:
// no room.
ADX_APART size_t adx_enter_inputs(adx_context *c, size_t n)
{
    size_t first = c->seq + 1;

    if (adx_extend_inputs(c->tape, c, n))
        return first;
    adx_operand *op = adx_entry(c, ADX_INPUTS, 1, n);
    if (op == NULL)
        return 0;
    op->d = 0;
    op->id = (uint32_t)n;
    return first;
}

// Adds n inputs. Returns the id of the first; 0: no tape, or it has failed.
ADX_FAST size_t adx_add_inputs(adx_context *c, size_t n)
{
    if (c->tape == NULL || c->tape->status != ADREV_OK || n == 0)
        return 0;
    return adx_add_leading_inputs(c->tape, c, n) ? c->seq - n + 1
                                                 : adx_enter_inputs(c, n);
}

#if defined __AVX2__ && defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define ADX_WEAVE 1
typedef uint64_t adx_words __attribute__((vector_size(32),
                                          aligned(sizeof(ad_real)), may_alias));
#endif
#endif

// Writes n values with consecutive ids. Each loop hides a pointer from the
// compiler, so that it is compiled as written: gcc's vector loops write numbers
// in halves, and cache lines from the end. (Of its time: 0.3 in a cache, 0.67
// in memory.)
ADX_APART void adx_name_run(size_t n, const ad_real x[], ad_rev out[],
                            uint64_t id)
{
#ifdef ADX_WEAVE
    bool odd = ((uintptr_t)out & 16) != 0;      // a pair must not span 2 lines
    if (odd && n > 0) {
        adx_name(out++, *x++, id++);
        n--;
    }
    adx_words ids = { id, id + 1, id + 2, id + 3 };
    for (; sizeof *out == 16 && n >= 4; n -= 4, x += 4, out += 4, ids += 4) {
        adx_words v = *(const adx_words *)x;
        *(adx_words *)out = __builtin_shufflevector(v, ids, 0, 4, 1, 5);
        ADX_OPAQUE(out);
        *(adx_words *)(out + 2) = __builtin_shufflevector(v, ids, 2, 6, 3, 7);
    }
    id = ids[0];
#endif
    for (; n > 0; n--, x++, out++, id++) {
        ADX_OPAQUE(out);
        adx_name(out, *x, id);
    }
}

#undef ADX_WEAVE

ADX_API void (ad_inputs)(size_t n, const ad_real x[], ad_rev out[])
{
    if (n > ADX_MOST_ELEMENTS) {
        adx_failed(ADREV_ESHAPE);
        return;
    }
    size_t first = adx_add_inputs(&adx_now, n);
    adx_job job = first == 0 ? 0 : adx_now.job;

    for (size_t i = 0; ADREV_DEBUG && first != 0 && i < n; i++)
        adx_stop_at(x[i]);
    if (!ADREV_FIXED && first != 0 && n > 8) {
        adx_name_run(n, x, out, adx_compound(job, first));
        return;
    }
    const size_t stride = first != 0;
    for (; n > 0; n--, x++, out++) {    // few: without a call (mul)
        ADX_OPAQUE(out);
        adx_name(out, *x, adx_compound(job, first));
        first += stride;
    }
}

ADX_API ad_rev (ad_input)(ad_real v)
{
    ad_rev x;
    (ad_inputs)(1, &v, &x);
    return x;
}
