#pragma once

/* === tape/life ==============================================================
 * How a tape is made, cleared, rewound to a mark and freed.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries
 *   offers  adx_reset_tape adx_begin_segment adx_return_to
 * ========================================================================== */

/* --- the life of a tape -------------------------------------------------- */

// Begins a new recording in the memory of the old one, with a job of its own:
// so values of the old one are foreign from here on.
static void adx_reset_tape(ad_tape *t, adx_context *c)
{
    if (ADREV_FIXED < 2 && t->last != NULL)
        adx_destroy(t, 0);
    if (adx_annex_of(t) != NULL)
        adx_annex_of(t)->clear(t);
    if (t->status != ADREV_OK || t->failure.file != NULL)    // rewound
        memset(&t->failure, 0, sizeof t->failure);
    t->status = ADREV_OK;
    t->segments = 1;
    t->segment[0] = (adx_segment){ .job = adx_new_job(t) };
    t->sealed = NULL;
    t->most = 0;
    t->lead = 0;
    t->scratch = 0;
    t->one_way = false;
    t->calls = false;
    t->always = false;
    c->job = t->segment[0].job;
    c->seq = 0;
    if (t->first != NULL) {
        adx_enter_block(t, c, t->first);
        adx_settle(t, c);
    }
}

ADX_API void ad_tape_clear(ad_tape *t)
{
    if (t == NULL)
        return;
    if (adx_has_forks(t))
        adx_fail(t, ADREV_EBUSY);
    else
        adx_reset_tape(t, adx_live(t));
}

static ad_tape *adx_init(void *memory)
{
    ad_tape *t = (ad_tape *)memory;
    memset(t, 0, sizeof *t);
    t->rest.tape = t;
#if !ADREV_FIXED
    t->live = &t->rest;
#endif
    return t;
}

#if !defined ADREV_NO_STDLIB && !ADREV_FIXED
ADX_API ad_tape *ad_tape_new(void)
{
    return ad_tape_new_with(&adx_libc);
}
#endif

#if !ADREV_FIXED
ADX_API ad_tape *ad_tape_new_with(const ad_allocator *allocator)
{
    if (!adx_is_allocator(allocator))
        return NULL;
    void *memory = allocator->alloc(sizeof(ad_tape), allocator->user);
    if (memory == NULL)
        return NULL;

    ad_tape *t = adx_init(memory);
    t->allocator = *allocator;
    t->bytes = sizeof *t;
    adx_reset_tape(t, &t->rest);
    return t;
}
#endif

// Makes a tape current. What was recorded stays in its context.
#if ADREV_FIXED
static void adx_make_current(ad_tape *t)
{
#ifdef ADREV_CURRENT
    ADREV_CURRENT = t;
#else
    adx_current = t == NULL ? &adx_none : &t->rest;
#endif
}
#else
static void adx_make_current(ad_tape *t)
{
    static const adx_context none = {0};
    adx_now = t == NULL ? none : t->rest;
    if (t != NULL)
        t->live = &adx_now;
}
#endif

ADX_API ad_tape *ad_tape_in(void *buffer, size_t bytes)
{
    size_t skip = (0 - (uintptr_t)buffer) % _Alignof(max_align_t);
    size_t least = sizeof(ad_tape) + sizeof(adx_block) + sizeof(ad_real);

    if (buffer == NULL || bytes < skip + adx_round_up(least)
        || bytes > SIZE_MAX / 4)
        return NULL;
    if (adx_now.tape == (ad_tape *)((char *)buffer + skip))
        adx_make_current(NULL);         // the tape that was here is gone
    ad_tape *t = adx_init((char *)buffer + skip);
    t->bytes = (bytes - skip) / 8 * 8;
    t->first = (adx_block *)(t + 1);
    memset(t->first, 0, sizeof *t->first);
    t->first->bytes = t->bytes - sizeof *t - sizeof(adx_block);
    adx_reset_tape(t, &t->rest);
    return t;
}

ADX_API void ad_tape_free(ad_tape *t)
{
    if (t == NULL)
        return;
    if (adx_has_forks(t)) {
        adx_fail(t, ADREV_EBUSY);
        return;
    }
    if (adx_now.tape == t)
        ad_use(NULL);
    adx_destroy(t, 0);
    if (adx_annex_of(t) != NULL)
        adx_annex_of(t)->free(t);
#if !ADREV_FIXED
    if (adx_has_fixed_memory(t))
        return;

    for (adx_block *b = t->first; b != NULL;) {
        adx_block *next = b->next;
        adx_free(t, b, sizeof *b + b->bytes);
        b = next;
    }
    if (t->adjoint != NULL)
        adx_free(t, t->adjoint, t->adjoint_count * sizeof(ad_real));
    ad_allocator allocator = t->allocator;
    allocator.free(t, allocator.user);
#endif
}

ADX_API ad_tape *ad_use(ad_tape *t)
{
    ad_tape *before = adx_now.tape;

#if !ADREV_FIXED
    if (before != NULL) {
        before->rest = adx_now;
        before->live = &before->rest;
    }
#endif
    adx_make_current(t);
    return before;
}

/* --- marks --------------------------------------------------------------- */

// How many entries there are, modulo ADX_ENTRIES + 1. Blocks are few.
static uint32_t adx_entry_count(const ad_tape *t)
{
    const uint16_t *head = adx_live(t)->head;
    size_t entries = 0;
    for (const adx_block *b = t->block; b != NULL; b = b->prev) {
        entries += (size_t)(adx_top_of_block(b) - head);
        head = b->prev == NULL ? NULL : b->prev->head;
    }
    return entries & ADX_ENTRIES;
}

// The segment of a mark that is made here. At a place that has just been
// returned to it is the older segment, so that the same place can be marked and
// returned to again and again.
static const adx_segment *adx_segment_to_mark(const ad_tape *t,
                                              uint32_t entries)
{
    size_t i = t->segments - 1;
    while (i > 0 && t->segment[i].begin == adx_live(t)->seq
           && t->segment[i].entries == entries && !t->segment[i].session)
        i--;
    return &t->segment[i];
}

ADX_API ad_mark ad_tape_mark(ad_tape *t)
{
    static const ad_mark none;
    if (t == NULL)
        return none;
    const adx_context *c = adx_live(t);
    const uint32_t entries = adx_entry_count(t);
    t->sealed = c->head;
    return (ad_mark){
        t->block, c->op, c->head, t->scratch, (uint32_t)c->seq,
        adx_has_forks(t) ? 0 : adx_segment_to_mark(t, entries)->job,
        entries & ADX_ENTRIES, t->one_way, t->status
    };
}

// The segment in which the mark lies; `segments` if that is gone, or if the
// recording was rewound to before the mark.
static size_t adx_mark_segment(const ad_tape *t, const ad_mark *mark)
{
    size_t i = 0;
    while (i < t->segments && t->segment[i].job != mark->adx_job)
        i++;
    if (i == t->segments)
        return i;
    bool last = i + 1 == t->segments;
    size_t end = last ? adx_live(t)->seq : t->segment[i + 1].begin;
    if (mark->adx_seq != end)
        return mark->adx_seq < end ? i : t->segments;
    uint32_t entries = last ? adx_entry_count(t) : t->segment[i + 1].entries;
    uint32_t between = (entries - mark->adx_entries) & ADX_ENTRIES;
    return between <= ADX_ENTRIES / 2 ? i : t->segments;
}

// Begins segment i at a mark, where the tape ends.
static void adx_begin_segment(ad_tape *t, size_t i, const ad_mark *mark,
                              uint32_t job, bool session)
{
    t->segment[i] = (adx_segment){ job, mark->adx_seq, mark->adx_entries,
                                   session };
    t->segments = (uint32_t)i + 1;
    adx_live(t)->job = job;
}

// Makes room for one more segment: of the segments of this session, the oldest
// without values goes, and its marks with it. Not while an observer knows them.
static bool adx_drop_segment(ad_tape *t)
{
    size_t first = t->segments - 1;
    while (first > 0 && !t->segment[first].session)
        first--;
    for (size_t i = first + 1; !adx_is_observed(t) && i + 1 < t->segments; i++)
        if (t->segment[i].begin == t->segment[i + 1].begin) {
            t->segment[i + 1].entries = t->segment[i].entries;
            t->segments--;
            memmove(&t->segment[i], &t->segment[i + 1],
                    (t->segments - i) * sizeof t->segment[i]);
            return true;
        }
    return false;
}

// Puts the tape back into the state in which the mark was made.
static void adx_return_to(ad_tape *t, const ad_mark *mark)
{
    adx_context *c = adx_live(t);
    size_t bytes = ad_tape_bytes(t);

    adx_destroy(t, mark->adx_seq);
    t->most = bytes > t->most ? bytes : t->most;
    t->scratch = mark->adx_scratch;
    t->one_way = mark->adx_one_way;
    t->status = mark->adx_status;
    t->block = (adx_block *)mark->adx_block;
    t->sealed = (uint16_t *)mark->adx_head;
    c->op = (adx_operand *)mark->adx_op;
    c->head = (uint16_t *)mark->adx_head;
    c->seq = mark->adx_seq;
    t->lead = t->lead < c->seq ? t->lead : c->seq;
    if (t->block == NULL && t->first != NULL)
        adx_enter_block(t, c, t->first);
    if (t->block != NULL)
        adx_settle(t, c);
    if (adx_annex_of(t) != NULL)
        adx_annex_of(t)->rewound(t);
}

ADX_API ad_status ad_tape_rewind(ad_tape *t, ad_mark mark)
{
    if (t == NULL)
        return ADREV_ENOTAPE;
    if (adx_has_forks(t))
        return ADREV_EBUSY;
    size_t i = adx_mark_segment(t, &mark) + 1;
    if (i > t->segments)
        return ADREV_EMARK;
    if (i > ADREV_MARKS) {
        if (!adx_drop_segment(t))
            return ADREV_EMARK;
        i--;
    }

    adx_return_to(t, &mark);
    adx_begin_segment(t, i, &mark, adx_new_job(t), false);
    return ADREV_OK;
}
