#pragma once

/* === parallel/tasks =========================================================
 * A recording consists of the tape on which it began, its root, and further
 * tapes: one for each thread that runs a branch at the same time, taken when a
 * branch is entered and idle again when it is left. The statements of a task
 * lie on one tape. Branches that the same thread runs while the task waits lie
 * there too, in between: a fork is two entries, and a sweep of the task leaps
 * from one to the other (adx_leap). The job number in a value names the task
 * that made it.
 *
 * A value of another task is imported: the first use makes an input, and an
 * entry (input, value) in the import table. No task writes adjoints of another.
 * Let T be the lowest task from which the importing task and the value's task
 * both descend. The thread that sweeps T adds the adjoints of such inputs to
 * those of the values, at the fork of T, after all branches of that fork are
 * done, in the order of the program. To that end a table's entries are listed
 * by the depth of T, deepest first. At a join the lists of the branches become
 * lists of the task that forked, except those of its own depth, which stay with
 * the fork. A value of a branch that has joined is applied where the sweep of
 * the task that uses it comes to its latest fork.
 *
 * So every adjoint has one writer, and the order of all additions depends on
 * the program only. The same distinction finds races. Let T be the first task,
 * from the value's own task upwards, that has not joined. If T is neither the
 * task that uses the value nor above it, both may run at the same time (as in
 * the bags of Feng & Leiserson's determinacy race detector).
 *
 *   needs   number/recording tape/layout tape/memory sweep/sweep core/hash
 *           parallel/threads
 *   offers  adx_link adx_list adx_level adx_import adx_table adx_chunk
 *           adx_directory adx_here_on adx_ancestor adx_unjoined adx_task_of
 *           adx_enlist adx_new_task adx_forget
 * ========================================================================== */

// An input of one tape, and the value of another that it stands for.
typedef struct adx_link {
    uint32_t local;             // sequence number of the input
    uint32_t seq;               // of the value, on `tape`
    const ad_tape *tape;
} adx_link;

// Imports of one tape. Lists are chained and never moved.
typedef struct adx_list {
    struct adx_list *next;
    const ad_tape *tape;            // of the inputs
    size_t n;                       // entries
    size_t room;
    adx_link entry[];
} adx_list;

// Lists for the forks of one task, in the order of the program.
typedef struct adx_level {
    struct adx_level *next;
    size_t depth;                   // of that task
    adx_list *first;
    adx_list *last;
} adx_level;

// An entry of a task's import table, which finds the input that stands for a
// value.
typedef struct adx_import {
    uint64_t id;                    // 0: free
    size_t local;
} adx_import;

typedef struct adx_table {
    adx_import *bucket;
    size_t room;                    // a power of 2; or 0
    size_t n;
} adx_table;

struct adx_task {
    _Atomic uint32_t job;           // 0: there is no such task
    size_t depth;
    adx_task *parent;
    adx_task *jump;                 // an ancestor, see adx_ancestor
    ad_tape *tape;
    size_t sink;                    // a value for its constants
    adx_fork *fork;                 // its latest
    adx_level *level;               // for forks of those above, deepest first
    adx_table table;
    uint32_t near;                  // the task from which it imported last,
    const ad_tape *near_tape;       // and where that goes
    adx_level *near_level;
    size_t imports;
    size_t latest;                  // input that it imported
    atomic_bool joined;
    bool outermost;                 // on its tape: no other waits there
    adx_stretch stretch;
    const uint16_t *blank;          // up to here it has recorded nothing
    size_t scratch;                 // numbers that its sweep needs for each
                                    // direction
    double primal[2];               // begin and end
    double reverse[2];
};

struct adx_fork {
    adx_leap *self;                 // first, as in its second entry
    adx_leap leap;
    adx_task *task;
    adx_fork *before;               // of the same task
    adx_level branches;             // imports of its branches: see above
    adx_level own;                  // of the task, after this fork
    size_t imports;                 // of the task, before it
    bool measure;
    double primal[2];               // of the gap that it is for its task
    double reverse[2];
    size_t n;
    adx_task *branch[];             // NULL: nothing was recorded
};

#define ADX_CHUNK 128u              // tasks; a power of 2

// Tasks with consecutive numbers.
typedef struct adx_chunk {
    struct adx_chunk *older;
    uint32_t number;                // of the first, divided by ADX_CHUNK
    uint32_t used;
    adx_task task[ADX_CHUNK];
} adx_chunk;

// All chunks of a recording, in a hash table by number. It only grows, under a
// mutex, until the recording is cleared. Readers take no mutex: a larger table
// is published when it is complete, and the smaller one stays, because others
// may still be reading it.
typedef struct adx_directory {
    struct adx_directory *older;
    size_t room;                // of bucket, a power of 2
    size_t n;                   // chunks
    _Atomic(adx_chunk *) bucket[];
} adx_directory;

// What a tape of a recording has besides its entries.
struct adx_worker {
    adx_team *team;
    ad_tape *tape;
    adx_task *task;                 // that is being recorded; NULL: none
    adx_worker *next;               // of all
    adx_worker *idle;               // of those that no thread has
    adx_chunk *chunk;               // the latest
    adx_chunk *unused;
    adx_table spare;                // of a task that is done
    size_t scratch;                 // of all its tasks
    size_t running;                 // tasks that began here and have not ended
};

struct adx_team {
    adx_worker home;                // of the root
    adx_task main;
    adx_worker *workers;
    adx_worker *idle;
    _Atomic(adx_directory *) directory;
    adx_mutex mutex;                // of the two lists, and of the directory
    atomic_int failed;              // the first status of a branch,
    adx_failure failure;            // and where: under the mutex
    uint32_t limbo;                 // job of what is recorded between a fork
    bool measure;                   // and its branches: of no task
};

// The end of a tape.
static adx_place adx_here_on(const ad_tape *t)
{
    const adx_context *c = adx_live(t);
    adx_place place = { t->block, c->op, c->head, c->seq };
    return place;
}

/* --- the tree of tasks --------------------------------------------------- */

// Hangs a task below its parent. Its jump pointer (Myers) leads to the parent
// or, where the parent's last two jumps are equally long, as far as both
// together. So any ancestor is reached in a logarithmic number of steps.
static void adx_hang_task(adx_task *task, adx_task *parent)
{
    adx_task *j = parent->jump;
    task->parent = parent;
    task->depth = parent->depth + 1;
    task->jump = parent->depth - j->depth == j->depth - j->jump->depth
               ? j->jump : parent;
}

static const adx_task *adx_ancestor(const adx_task *task, size_t depth)
{
    while (task->depth > depth)
        task = task->jump->depth >= depth ? task->jump : task->parent;
    return task;
}

// acquire: with the release of ad_fork_close
static bool adx_joined(const adx_task *task)
{
    return atomic_load_explicit(&task->joined, memory_order_acquire);
}

// The first task from here upwards that has not joined. None above it has
// either, so the jump pointers can be used.
static const adx_task *adx_unjoined(const adx_task *task)
{
    while (adx_joined(task))
        task = adx_joined(task->jump) ? task->jump : task->parent;
    return task;
}

/* --- the directory ------------------------------------------------------- */

static size_t adx_place_of(const adx_directory *d, uint32_t number)
{
    size_t i = (size_t)adx_xxh3(&number, sizeof number, 0);
    return i & (d->room - 1);
}

// The task with that job number; NULL: it is not of this recording. A chunk
// holds the tasks whose numbers have the same quotient by ADX_CHUNK, so a
// reader looks up that quotient.
static adx_task *adx_task_of(adx_team *team, uint32_t job)
{
    // acquire: with adx_file, both
    adx_directory *d = atomic_load_explicit(&team->directory,
                                            memory_order_acquire);
    if (d == NULL || job == 0)
        return NULL;
    for (size_t i = adx_place_of(d, job / ADX_CHUNK);;
         i = (i + 1) & (d->room - 1)) {
        adx_chunk *c = atomic_load_explicit(&d->bucket[i],
                                            memory_order_acquire);
        if (c == NULL)
            return NULL;
        if (c->number == job / ADX_CHUNK) {
            adx_task *task = &c->task[job % ADX_CHUNK];
            // acquire: with adx_new_task
            return atomic_load_explicit(&task->job, memory_order_acquire)
                == job ? task : NULL;
        }
    }
}

// Puts a chunk into the hash table. The table is never more than half full.
static void adx_enlist(adx_directory *d, adx_chunk *c)
{
    size_t i = adx_place_of(d, c->number);
    // relaxed: under the mutex, or not yet published
    while (atomic_load_explicit(&d->bucket[i], memory_order_relaxed) != NULL)
        i = (i + 1) & (d->room - 1);
    atomic_store_explicit(&d->bucket[i], c, memory_order_release);
    d->n++;
}

// Makes a directory with twice the room and the same chunks. The mutex is held.
static bool adx_widen_directory(adx_team *team)
{
    const ad_allocator *a = &team->home.tape->allocator;
    adx_directory *d = atomic_load(&team->directory);
    size_t room = d == NULL ? 16 : 2 * d->room;
    size_t bytes = sizeof *d + room * sizeof d->bucket[0];
    adx_directory *wide = (adx_directory *)a->alloc(bytes, a->user);

    if (wide == NULL)
        return false;
    memset(wide, 0, bytes);
    wide->room = room;
    wide->older = d;
    for (size_t i = 0; d != NULL && i < d->room; i++)
        if (atomic_load(&d->bucket[i]) != NULL)
            adx_enlist(wide, atomic_load(&d->bucket[i]));
    atomic_store_explicit(&team->directory, wide, memory_order_release);
    return true;
}

// Publishes a chunk: from now on its tasks can be found.
static bool adx_file(adx_team *team, adx_chunk *c)
{
    ADX_LOCK(&team->mutex);
    adx_directory *d = atomic_load(&team->directory);
    bool room = (d != NULL && 2 * d->n < d->room) || adx_widen_directory(team);
    if (room)
        adx_enlist(atomic_load(&team->directory), c);
    ADX_UNLOCK(&team->mutex);
    return room;
}

// n job numbers in a row, the first of which is a multiple of n. n divides
// ADX_JOB_BATCH.
static uint32_t adx_new_jobs(uint32_t n)
{
    uint32_t first = (adx_next_job + n - 1) / n * n;
    if (first % ADX_JOB_BATCH == 0)
        first = adx_take_jobs();
    adx_next_job = first + n;
    return first;
}

// A chunk for the next tasks that begin on this worker: one that is no longer
// used, or new memory.
static adx_chunk *adx_new_chunk(adx_worker *w)
{
    adx_chunk *c = w->unused;
    if (c == NULL) {
        c = (adx_chunk *)adx_alloc(w->tape, sizeof *c);
        if (c == NULL)
            return NULL;
        memset(c, 0, sizeof *c);
    } else
        w->unused = c->older;
    uint32_t first = adx_new_jobs(ADX_CHUNK);
    c->number = first / ADX_CHUNK;
    c->used = first == 0;           // no task has number 0
    if (!adx_file(w->team, c)) {
        c->older = w->unused;
        w->unused = c;
        return NULL;
    }
    c->older = w->chunk;
    w->chunk = c;
    return c;
}

// A task that begins on this worker. Its job number is stored last, since only
// then others may find it.
static adx_task *adx_new_task(adx_worker *w, adx_task *parent)
{
    adx_chunk *c = w->chunk;
    if (c == NULL || c->used == ADX_CHUNK)
        c = adx_new_chunk(w);
    if (c == NULL)
        return NULL;
    adx_task *task = &c->task[c->used];
    uint32_t job = c->number * ADX_CHUNK + c->used++;
    memset(&task->fork, 0, sizeof *task - offsetof(adx_task, fork));
    task->tape = w->tape;
    adx_hang_task(task, parent);
    atomic_store_explicit(&task->job, job, memory_order_release);
    return task;
}

// Takes back a task that has no values. If it is the latest, its number is free
// again.
static void adx_forget(adx_worker *w, adx_task *task)
{
    // relaxed: nobody else knows it
    atomic_store_explicit(&task->job, 0, memory_order_relaxed);
    if (task == &w->chunk->task[w->chunk->used - 1])
        w->chunk->used--;
}
