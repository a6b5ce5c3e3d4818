#pragma once

/* === parallel/imports =======================================================
 * The import table of a task: a hash table from the id of a value of another
 * task to the input that stands for it, with open addressing and linear
 * probing, at most half full. Most tasks import little, and a task that waits
 * keeps its table, so a table begins with 16 entries. A worker keeps one table
 * for its next task.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *           array/operands parallel/api core/hash parallel/tasks
 *   offers  adx_drop_table adx_bucket_of adx_enter_import adx_give_spare
 *           adx_import_value
 * ========================================================================== */

// The place of an id in the table, or the free one where it belongs. A table is
// at most half full, so the search ends.
static adx_import *adx_find_import(const adx_table *table, uint64_t id)
{
    size_t i = (size_t)adx_xxh3(&id, sizeof id, 0) & (table->room - 1);
    while (table->bucket[i].id != id && table->bucket[i].id != 0)
        i = (i + 1) & (table->room - 1);
    return &table->bucket[i];
}

static void adx_drop_table(ad_tape *t, adx_table *table)
{
    if (table->room > 0)
        adx_free(t, table->bucket, table->room * sizeof *table->bucket);
    memset(table, 0, sizeof *table);
}

static bool adx_new_table(ad_tape *t, adx_table *table, size_t room)
{
    table->bucket = (adx_import *)adx_alloc(t, room * sizeof *table->bucket);
    table->room = table->bucket == NULL ? 0 : room;
    table->n = 0;
    if (table->bucket == NULL)
        return false;
    memset(table->bucket, 0, room * sizeof *table->bucket);
    return true;
}

static bool adx_widen_table(ad_tape *t, adx_table *table)
{
    adx_table wide;
    if (!adx_new_table(t, &wide, table->room == 0 ? 16 : 2 * table->room))
        return false;
    for (size_t i = 0; i < table->room; i++)
        if (table->bucket[i].id != 0)
            *adx_find_import(&wide, table->bucket[i].id) = table->bucket[i];
    wide.n = table->n;
    adx_drop_table(t, table);
    *table = wide;
    return true;
}

// The place of an id, after the table has been widened if it must be; that
// moves all places, so `bucket` is what a search found before, or NULL. Returns
// NULL if there is no memory.
static adx_import *adx_bucket_of(ad_tape *t, adx_table *table,
                                 adx_import *bucket, uint64_t id)
{
    if (2 * table->n >= table->room) {
        if (!adx_widen_table(t, table))
            return NULL;
        bucket = NULL;
    }
    return bucket != NULL ? bucket : adx_find_import(table, id);
}

static void adx_enter_import(adx_table *table, adx_import *bucket, uint64_t id,
                             size_t local)
{
    bucket->id = id;
    bucket->local = local;
    table->n++;
}

static void adx_take_spare(adx_worker *w, adx_task *task)
{
    task->table = w->spare;
    memset(&w->spare, 0, sizeof w->spare);
}

// Keeps the table of a task that is done for the next task, unless it is large
// for what was in it: a table must be cleared as a whole.
static void adx_give_spare(adx_worker *w, adx_task *task)
{
    adx_table *table = &task->table;
    if (table->room > w->spare.room && table->room / 16 <= table->n) {
        adx_drop_table(w->tape, &w->spare);
        if (table->n > 0)
            memset(table->bucket, 0, table->room * sizeof *table->bucket);
        table->n = 0;
        w->spare = *table;
        memset(table, 0, sizeof *table);
    } else
        adx_drop_table(w->tape, table);
}

/* --- imports ------------------------------------------------------------- */

// Zeroed memory in an entry of the tape, which a rewind takes back.
static void *adx_add_zeroed(adx_context *c, size_t bytes)
{
    void *p = adx_add_bytes(c, ADX_DATA, bytes, 0);
    if (p != NULL)
        memset(p, 0, bytes);
    return p;
}

// Appends to the last list of a level, if that has room and its inputs are of
// the same tape; else begins a new one. Lists have room for 4, 8 ... 128
// entries, then for 4 again.
static bool adx_append_to(adx_level *level, adx_context *c, adx_link entry)
{
    adx_list *list = level->last;
    if (list == NULL || list->n == list->room || list->tape != c->tape) {
        size_t room = list == NULL || list->room >= 128 ? 4 : 2 * list->room;
        list = (adx_list *)adx_add_zeroed(c, sizeof *list
                                             + room * sizeof entry);
        if (list == NULL)
            return false;
        list->tape = c->tape;
        list->room = room;
        if (level->last == NULL)
            level->first = list;
        else
            level->last->next = list;
        level->last = list;
    }
    list->entry[list->n++] = entry;
    return true;
}

// The task's imports that are applied at a fork of the task at that depth.
// Levels are sorted, the deepest first.
static adx_level *adx_level_of(adx_task *task, adx_context *c, size_t depth)
{
    adx_level **at = &task->level;
    while (*at != NULL && (*at)->depth > depth)
        at = &(*at)->next;
    if (*at != NULL && (*at)->depth == depth)
        return *at;
    adx_level *level = (adx_level *)adx_add_zeroed(c, sizeof *level);
    if (level != NULL) {
        level->depth = depth;
        level->next = *at;
        *at = level;
    }
    return level;
}

// The task that made x; NULL: it is not of this recording.
static adx_task *adx_maker(adx_team *team, ad_rev x)
{
    return adx_member(team->home.tape, x) ? &team->main
                                          : adx_task_of(team, x.job);
}

// Finds where an import of x belongs: sets *tape to the tape of x and returns
// the list. There are two cases, by the first task from the maker of x upwards
// that has not joined. If that is this task, x was made by a branch that has
// joined, and the import is applied at this task's latest fork. If it is a task
// above this one, x is from before that task's open fork, and the import is
// listed by its depth. Otherwise both may run at the same time, which is a
// race. NULL: x is not of this recording, or is this task's own, or the tape
// has failed.
static adx_level *adx_import_level(adx_worker *w, ad_rev x,
                                   const ad_tape **tape)
{
    adx_task *me = w->task;
    adx_context *c = adx_live(w->tape);
    adx_task *maker = adx_maker(w->team, x);
    if (maker == NULL || maker == me)
        return NULL;
    *tape = maker->tape;
    const adx_task *top = adx_unjoined(maker);
    if (top == me)
        return me->fork == NULL ? NULL : &me->fork->own;
    if (adx_ancestor(me, top->depth) != top) {
        adx_fail(w->tape, ADREV_ERACE);
        return NULL;
    }
    // No task above joins while this one runs, so this stays true: the next
    // import from the same task need not ask.
    me->near = x.job;
    me->near_tape = maker->tape;
    me->near_level = adx_level_of(me, c, top->depth);
    return me->near_level;
}

// Adds one input, most often far from all limits: to the last entry if that is
// one of inputs, else in a new entry. (bench: parallel, an import, clang,
// 0.76.)
static size_t adx_new_input(adx_context *c)
{
    const ad_tape *t = c->tape;
    if (t->status != ADREV_OK || t->allocator.alloc == NULL
        || c->seq + ADX_BLOCK_MOST / ADX_LEAST >= ADREV_VALUES)
        return adx_add_inputs(c, 1);
    if (c->head != adx_top_of_block(t->block) && *c->head == ADX_INPUTS
        && c->head != t->sealed)
        c->op[-1].id++;
    else if (adx_gap(c) >= c->reserved + ADX_LEAST) {
        *c->op++ = (adx_operand){ 0, 1 };
        *--c->head = ADX_INPUTS;
    } else
        return adx_add_inputs(c, 1);
    return ++c->seq;
}

// The compound id of a value of this task, in whichever of the tape's segments
// it lies.
static uint64_t adx_own_value(const ad_tape *t, size_t seq)
{
    return adx_compound(t->segments == 1 ? t->segment[0].job
                        : adx_segment_of(t, seq)->job, seq);
}

// The first use of a value: makes an input of this task, and enters it in the
// list of imports that a sweep applies and in the table of this task. `near`
// remembers where the latest import went, since the next one is most often of
// the same task. Returns 0 if the value is not of this recording, or is the
// task's own, or if the tape has failed.
ADX_APART uint64_t adx_first_use(ad_tape *t, adx_import *bucket, uint64_t id)
{
    adx_worker *w = (adx_worker *)t->annexed;
    adx_task *me = w->task;
    adx_context *c = adx_live(t);
    ad_rev x = { 0, (uint32_t)id, (uint32_t)(id >> 32) };

    const ad_tape *tape = me->near_tape;
    adx_level *level = me->near == x.job ? me->near_level
                                         : adx_import_level(w, x, &tape);
    if (level == NULL)
        return 0;
    bucket = adx_bucket_of(t, &me->table, bucket, id);
    size_t local = bucket == NULL ? 0 : adx_new_input(c);
    adx_link link = { (uint32_t)local, x.seq, tape };
    if (local == 0 || !adx_append_to(level, c, link)) {
        adx_fail(t, ADREV_ENOMEM);
        return 0;
    }
    adx_enter_import(&me->table, bucket, id, local);
    me->imports++;
    me->latest = local;
    return adx_own_value(t, local);
}

// The annex's import. Every use of a value but the first is found in the table.
static uint64_t adx_import_value(ad_tape *t, uint64_t id)
{
    adx_worker *w = (adx_worker *)t->annexed;
    adx_task *me = w->task;
    if (me == NULL)
        return 0;
    if (me->table.room == 0)
        adx_take_spare(w, me);
    adx_import *bucket = me->table.room == 0 ? NULL
                     : adx_find_import(&me->table, id);
    return bucket != NULL && bucket->id == id ? adx_own_value(t, bucket->local)
                                          : adx_first_use(t, bucket, id);
}

ADX_API void ad_capture(size_t n, const ad_rev x[], ad_rev y[])
{
    if (adx_missing(n, x) || adx_missing(n, y))
        return;
    for (size_t i = 0; i < n; i++) {
        uint64_t id = adx_word(&x[i]);
        if (id >> 32 != adx_now.job && id >> 32 != 0)
            id = adx_known_id(id);
        adx_name(&y[i], x[i].v, id);
    }
}
