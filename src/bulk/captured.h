#pragma once

/* === bulk/captured ==========================================================
 * Some parts of a program run on tapes of their own: chunks of an operator
 * (bulk/passes), steps of loops and checkpoints (loop/stage). When such a part
 * uses a number of the recording outside, the foreign hook of its tape is
 * called. The number is then captured: it is entered into a list, and becomes a
 * further operand of the statement that the part becomes.
 *
 *   needs   tape/layout tape/memory tape/hooks
 *   offers  adx_captured adx_find_captured adx_free_captured adx_add_captured
 *           adx_list_captured adx_new_tape_apart adx_runs_on adx_end_apart
 * ========================================================================== */

/* --- captured numbers ---------------------------------------------------- */

// The captured numbers: their compound ids in the order in which they were met,
// and a hash table (open addressing) that finds an id in the list.
typedef struct adx_captured {
    uint64_t *id;
    uint32_t *bucket;           // [room] 1 + index; 0: free
    size_t n;
    size_t room;                // a power of two, at least 2 n; or 0
} adx_captured;

// Returns the bucket of an id or, if the id is not in the table, the free one
// where it would go.
static uint32_t *adx_captured_bucket(const adx_captured *c, uint64_t id)
{
    size_t i = (size_t)((id * 0x9e3779b97f4a7c15u) >> 32);
    while (c->bucket[i & (c->room - 1)] != 0
           && c->id[c->bucket[i & (c->room - 1)] - 1] != id)
        i++;
    return &c->bucket[i & (c->room - 1)];
}

// Returns 1 + the index of an id in the list; 0: it has not been captured.
static uint32_t adx_find_captured(const adx_captured *c, uint64_t id)
{
    return c->room == 0 ? 0 : *adx_captured_bucket(c, id);
}

static void adx_free_captured(const ad_allocator *a, adx_captured *c)
{
    adx_drop(a, c->id);
    adx_drop(a, c->bucket);
}

// Doubles the room, and enters all ids into a new table. False: no memory.
static bool adx_widen_captured(const ad_allocator *a, adx_captured *c)
{
    adx_captured wide = { .n = c->n, .room = c->room == 0 ? 16 : 2 * c->room };
    wide.id = (uint64_t *)adx_take(a, wide.room / 2, sizeof *wide.id);
    wide.bucket = (uint32_t *)adx_take(a, wide.room, sizeof *wide.bucket);
    if (wide.id == NULL || wide.bucket == NULL) {
        adx_free_captured(a, &wide);
        return false;
    }
    memset(wide.bucket, 0, wide.room * sizeof *wide.bucket);
    for (size_t i = 0; i < c->n; i++) {
        wide.id[i] = c->id[i];
        *adx_captured_bucket(&wide, c->id[i]) = (uint32_t)i + 1;
    }
    adx_free_captured(a, c);
    *c = wide;
    return true;
}

// Appends an id that is not in the list yet. False: no memory.
static bool adx_add_captured(const ad_allocator *a, adx_captured *c,
                             uint64_t id)
{
    if (2 * (c->n + 1) > c->room && !adx_widen_captured(a, c))
        return false;
    c->id[c->n] = id;
    *adx_captured_bucket(c, id) = (uint32_t)++c->n;
    return true;
}

// Writes the captured numbers as operands. Only their ids are known, so their
// values are 0.
static void adx_list_captured(const adx_captured *k, ad_rev to[])
{
    for (size_t i = 0; i < k->n; i++)
        to[i] = (ad_rev){ 0, (uint32_t)k->id[i], (uint32_t)(k->id[i] >> 32) };
}

/* --- tapes apart --------------------------------------------------------- */

// Makes a tape with this foreign hook. NULL: no memory.
static ad_tape *adx_new_tape_apart(const ad_allocator *a,
                                   ad_rev (*hook)(void *user, ad_rev x),
                                   void *user)
{
    const ad_hooks hooks = { .foreign = hook, .user = user };
    ad_tape *t = ad_tape_new_with(a);
    if (t != NULL)
        ad_tape_hooks(t, &hooks);
    return t;
}

// Whether the caller of the hook of t records on t itself. A branch of a fork
// does not: it records on another tape, or on a part of t that is swept apart.
static bool adx_runs_on(const ad_tape *t)
{
    return adx_now.tape == t && t->open == 0;
}

// Ends a run on t: all results become values of t, also those that come from
// outside. Returns the status of t, which is ADREV_EMARK if the run left
// another tape current.
static ad_status adx_end_apart(ad_tape *t, size_t m, ad_rev y[])
{
    if (adx_now.tape != t) {
        ad_use(t);
        adx_fail(t, ADREV_EMARK);
    }
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0 && t->status == ADREV_OK)
            y[i] = adx_known_here(y[i]);
    return t->status;
}
