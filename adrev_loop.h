/* Made from src/ by `make headers`: changes belong there. */
/* adrev_loop.h - loops whose tape does not grow with their length.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_loop.h"           // before adrev.h
 *
 * A loop of 100 000 steps is one statement; the tape keeps 20 of its states:
 *
 *     #include <stdio.h>
 *
 *     static void step(ad_step *s, void *ctx)
 *     {
 *         const ad_rev x = s->state[0][0], r = s->parameter[0];
 *         (void)ctx;
 *         s->next[0][0] = ad_rec(ad_mul(r, ad_sin(x)));
 *     }
 *
 *     int main(void)
 *     {
 *         ad_tape *t = ad_tape_new();
 *         ad_use(t);
 *         ad_rev x = ad_input(0.5), r = ad_input(2.0), y;
 *         const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
 *         const ad_scan_desc loop = {
 *             .step = step, .steps = 100000, .states = 1, .state = &state,
 *             .parameters = 1, .parameter = &r,
 *             .schedule = { ADREV_BINOMIAL, 20, NULL }
 *         };
 *         double g = 0;
 *         ad_scan(&loop, NULL);
 *         ad_status s = ad_gradient(t, y, 1, &r, &g);
 *         printf("%s: y = %.6f, dy/dr = %.6f\n", ad_message(s), ad_value(y),
 *                g);
 *         ad_tape_free(t);
 *     }
 *
 *     success: y = 1.895494, dy/dr = 0.578584
 *
 * ad_checkpoint does the same for one call. Operators on whole arrays (ad_map,
 * ad_reduce ...) are in adrev_bulk.h, which this header includes. For second
 * derivatives record a function that contains the loop (ad_fn_record of
 * adrev_function.h).
 *
 * If adrev_function.h is included before this header where both are
 * implemented, a step is recorded once, and replayed while it takes the same
 * path. The other order does not compile.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   loop/api           the interface
 *   loop/stage         tapes apart
 *   loop/checkpoint    a call that is run again in the sweep
 *   loop/schedule      which states of a loop are kept
 *   loop/scan          inputs, outputs and window of a scan's step
 *   loop/step          one step, called or recorded
 *   loop/replay        steps as recorded functions
 *   loop/lean          many steps that carry on one row, by one function
 *   loop/resume        sweeps that go on where another process has ended
 *   loop/sweep         runs of steps, forwards and back
 *   loop/recorded      a scan in a recorded function
 *   loop/first         the first run of a scan
 *   loop/unrolled      a scan recorded as it happens
 *   loop/connections   which results depend on which inputs
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev_bulk.h"

#ifndef ADREV_LOOP_H
#define ADREV_LOOP_H

/* === loop/api ===============================================================
 * Checkpoints, loops and scans: the types and the interface.
 * ========================================================================== */

/* --- types --------------------------------------------------------------- */

// What a checkpoint keeps of its call for the reverse sweep.
typedef enum ad_keep {
    ADREV_KEEP_INPUTS,      // the inputs; the call is recorded again
    ADREV_KEEP_ALL,         // its recording
    ADREV_KEEP_AUTOMATIC    // its recording, as long as there is room
} ad_keep;

typedef struct ad_checkpoint_options {
    ad_keep keep;
    size_t budget;          // AUTOMATIC: bytes for the recordings of all
                            // checkpoints of the current tape together
    size_t context;         // bytes of *ctx that are copied; 0: none, and *ctx
                            // must not change as long as the recording lasts
    size_t *evaluations;    // counts calls of f, also those in later sweeps;
                            // may be NULL
    const ad_allocator *allocator;  // NULL: that of the tape. A tape in fixed
                                    // memory has none: f is recorded on it
} ad_checkpoint_options;

// What one step of a scan is given, and what it returns. If the step needs a
// plain number it takes it by ad_value, not by .v, so that a recording sees it.
typedef struct ad_step {
    const ad_rev *const *state;     // [states] the rows of each state, tap by
                                    // tap as listed, each of `size` numbers
    const ad_rev *const *sequence;  // [sequences] likewise
    const ad_rev *parameter;        // [parameters]
    ad_rev *const *next;            // [states] the new row of each; the step
                                    // must set all of it
    ad_rev *const *output;          // [outputs] likewise
    void *untraced;                 // plain data, carried from step to step;
                                    // the step may change it
    bool stop;                      // set to true: this was the last step
    ad_status status;               // set to another than ADREV_OK: the step
                                    // failed, and so does the scan
    struct adx_stepping *adx_owner;
} ad_step;

typedef void ad_step_fn(ad_step *s, void *ctx);

// A state that steps carry on: a sequence of rows. Tap -k is the row written k
// steps ago. The depth of a state is its largest k: that many rows must be
// there at the beginning.
typedef struct ad_scan_state {
    size_t size;            // numbers in a row
    const ad_rev *initial;  // [depth*size] in, oldest row first
    ad_rev *last;           // [depth*size] out: the last rows; may be NULL, or
                            // `initial`
    ad_rev *rows;           // [steps*size] out: all new rows; may be NULL
    size_t taps;            // 0: one, -1
    const int *tap;         // [taps] below 0
} ad_scan_state;

// Rows that the steps read. For tap k, step s reads row s + k; or, if the
// smallest tap is below 0, row s + k - (smallest tap). All these rows must be
// there.
typedef struct ad_scan_sequence {
    size_t size;
    size_t rows;            // as many as `steps` steps read, or more
    const ad_rev *row;      // [rows*size] in
    bool backward;          // row r is read in place of row rows - 1 - r
    size_t taps;            // 0: one, 0
    const int *tap;
} ad_scan_sequence;

typedef struct ad_scan_output {
    size_t size;
    ad_rev *row;            // [steps*size] out, a row for each step; NULL: not
                            // wanted
} ad_scan_output;

// What a scan keeps of its states for the reverse pass.
typedef enum ad_schedule_kind {
    ADREV_STORE_ALL,        // the state before each step
    ADREV_EVERY,            // the state before each n-th step; a sweep keeps n
                            // more
    ADREV_BINOMIAL,         // n states, the first included, where they save
                            // most evaluations (Griewank and Walther 2000), and
                            // the one before the last step
    ADREV_BYTES             // as BINOMIAL, with as many states as fit into n
                            // bytes; if none fits: ADREV_ESHAPE. A state is its
                            // rows up to the depth, and the untraced data; to
                            // second order (`whole`) twice the rows. Not
                            // counted in n: the state before the last step,
                            // sequences, parameters, and some 16 bytes for each
                            // state
} ad_schedule_kind;

// Where the states of one scan may be kept besides memory: a file, another
// memory. States are numbered from 0; each is stored once, and fetched any
// number of times. A function returns false if it failed. Each scan needs a
// store of its own, and so does each run of an inner scan: `bytes` are those of
// the state and 16 that say whose it is. Finding another scan's state counts as
// a failed get.
typedef struct ad_store {
    bool (*put)(void *user, size_t number, const void *state, size_t bytes);
    bool (*get)(void *user, size_t number, void *state, size_t bytes);
    void (*drop)(void *user);       // no state is needed any more; may be NULL
    void *user;
    size_t every;           // the state before each every-th step is put;
                            // between two of them the schedule is followed
    bool resume;            // the store may outlive the process: see below
    bool (*agree)(void *user, bool mine);   // of several processes: see below
} ad_store;

// A store with `resume` also gets the adjoints that a reverse sweep carries,
// each time that it has reversed `every` steps. If the process ends, another
// one runs the same program with the same store. It makes the first run again;
// its sweeps take what is in the store and go on from there, with the same
// bits. It does not take what belongs to another scan, to other values or to
// other adjoints of the results, nor what was put only in part. So
//
//     put     replaces what an earlier process has put under that number
//     get     returns false for what is not there
//     drop    is called only if a reverse sweep has come to its end
//
// Numbers are those of states, times 3, and one or two more. Whatever the step
// uses through ctx must be the same, since nobody compares it. `replays` are
// not used: steps are recorded anew for each `every` of them. In a program of
// several processes (statements with `always`) all must go on from the same
// step, even if the store of one of them has less, or is damaged or of another
// run. So before adjoints are taken, `agree` is given whether this process has
// the right ones, and returns whether all processes have; `get` must not ask
// the others. All processes call `agree` equally often if they run equally many
// steps; for that no steps are replayed. NULL: there is one process.

typedef struct ad_schedule {
    ad_schedule_kind kind;
    size_t n;
    const ad_store *store;  // NULL: memory alone. Must outlive the recording
} ad_schedule;

// Recorded functions that replay a step, kept from scan to scan.
typedef struct ad_replays ad_replays;

typedef struct ad_scan_desc {
    ad_step_fn *step;
    void *ctx;                          // *ctx, and what it points to, must not
                                        // change as long as the recording lasts
    size_t steps;                       // at most
    size_t states;
    const ad_scan_state *state;
    size_t sequences;
    const ad_scan_sequence *sequence;
    size_t outputs;
    const ad_scan_output *output;
    size_t parameters;                  // the same in all steps
    const ad_rev *parameter;
    void *untraced;                     // in/out: plain data, carried from step
                                        // to step; unchanged if the scan fails
    size_t untraced_bytes;
    bool open_ended;                    // `steps` will hardly be reached: keep
                                        // states for any number of steps. A
                                        // sweep over n steps then costs up to
                                        // n - 1 more evaluations
    bool truncated;                     // reverse only the last `reversed`
    size_t reversed;                    // steps. Derivatives of any order are
                                        // those of a function in which the
                                        // state before them is a constant
    ad_schedule schedule;
    bool whole;                         // under ad_fn_record: be one step of
                                        // the function, see ad_scan
    bool unreplayed;                    // never replay steps. Steps on a tape,
                                        // replayed and compiled may differ in
                                        // the last bits of a gradient: partials
                                        // are multiplied and adjoints added in
                                        // another order. (An adjoint that
                                        // overflows only before it is weighted
                                        // is infinite.) Within each of the
                                        // three, all schedules give the same
                                        // bits
    bool compiled;                      // replay them by ad_fn_compile
    ad_replays *replays;                // NULL: those of this scan alone
    const ad_allocator *allocator;      // NULL: that of the tape. A tape in
                                        // fixed memory has none: all steps are
                                        // recorded on it
} ad_scan_desc;

// What a scan did; its sweeps go on counting. All 0 if the scan failed.
typedef struct ad_scan_report {
    size_t steps;           // that ran
    size_t evaluations;     // of the step, in all, by whatever means
    size_t recorded;        // of these: on a tape
    size_t replayed;        // of these: by a recorded function
    size_t paths;           // functions that were recorded
    size_t checks;          // further runs, to compare the functions with the
                            // step
    size_t snapshots;       // the most states that the schedule had in memory
                            // at once, without the one before the last step
    size_t bytes;           // the most memory for reverse sweeps: all states
                            // (that one too), sequences, parameters
    size_t put;             // states that went to the store
    size_t resumed;         // steps whose adjoints a sweep found in the store
} ad_scan_report;

/* --- interface --------------------------------------------------------------
 * Each call is one statement of the current tape, whatever happens within. It
 * returns ADREV_OK, or why it failed. A failure makes the tape fail, too, so
 * the status may be ignored. After a failure all results are NaN, as constants,
 * even if they stand in the place of an argument; if their number is
 * impossible, they are not written.
 *
 * Recorded numbers that f or a step uses from outside, through ctx, are inputs
 * like the others, if they belong to the same recording; a step that does so is
 * not replayed. While f or a step runs, it may record and sweep, but it must
 * not clear, free or change the current tape. Whatever f or a step uses through
 * ctx must last as long as the recording, even if the call is made within
 * another step or call.
 *
 * Under a trace hook (so in a function that is recorded), in fixed memory, and
 * where no tape is current, f or the steps simply run, and what they do is
 * recorded. A failure in a sweep is reported by that sweep as ADREV_EEXTERNAL.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* --- one call ------------------------------------------------------------ */

// y = f(x), without recording it: its inputs are kept, and each reverse sweep
// records f again, on a tape of its own. Calls may be nested.
//
//   f, ctx       in    run again later with the same x, and must do the same
//   x   [n]      in    numbers
//   y   [m]      out   results; f must set all of them
//
//   returns      ADREV_OK
//                ADREV_ESHAPE: f, x or y is missing; f did not set all of y
//                ADREV_EFOREIGN: x, or what f brings along, is of another
//                recording
//                ADREV_EMARK: f left another tape current
//                ADREV_ENOMEM; ADREV_EFULL: no memory
//                the status of a tape that had failed, or that failed in f
//                in a sweep ADREV_EEXTERNAL for all of these
//   cost         in a sweep: f once more, and the reverse sweep of f; once for
//                every 8 rows of ad_jacobian, and a reverse sweep for each
//   memory       n numbers; in a sweep a recording of f
//   see          tests/loop/checkpoint.c
ADX_API ad_status ad_checkpoint(ad_vector_fn *f, void *ctx, size_t n,
                                const ad_rev x[], size_t m, ad_rev y[]);

// The same with hints. They do not change a bit of the derivatives.
//
//   options      in    NULL: as ad_checkpoint
//
//   returns      as ad_checkpoint; ADREV_ESHAPE also: no such `keep`, or a
//                `context` although ctx is NULL
ADX_API ad_status ad_checkpoint_with(const ad_checkpoint_options *options,
                                     ad_vector_fn *f, void *ctx, size_t n,
                                     const ad_rev x[], size_t m, ad_rev y[]);

/* --- loops --------------------------------------------------------------- */

// Runs the steps. All arrays in `scan` are read or written during the call.
//
// While a function is recorded (ad_fn_record), the steps of the scan become
// steps of the function. If the scan is to be `whole`, it becomes a single step
// instead, evaluated by its schedule, to second order: values, gradients,
// Hessian products and Hessians of long loops in little memory. That needs
// adrev_function.h implemented in the same file, steps that use no recorded
// number through ctx, no store and no truncation; else the scan is not whole.
// It must take the same number of steps at every point (else ADREV_EEXTERNAL).
//
//   report       out   may be NULL; otherwise it must outlive the recording
//
//   returns      ADREV_OK
//                ADREV_ESHAPE: the step or an array is missing; a tap of a
//                state is 0 or above; a sequence has fewer rows than are read;
//                impossible sizes; a schedule of no known kind, of 0 states or
//                bytes, or without room for a state; a store without put, get
//                or every; a step did not set a result
//                ADREV_EEXTERNAL: the store failed; in a sweep also if the
//                store has states of another scan, and for any other failure
//                ADREV_EFOREIGN: a number of another recording
//                ADREV_EMARK: a step left another tape current
//                ADREV_ENOMEM; ADREV_EFULL: no memory
//                the status of a tape that had failed, or that a step set
//   cost         in a sweep over n steps: n evaluations and the reverse sweeps
//                of these; the evaluations that the schedule repeats; and for
//                each step a pass over the parameters and over what the step
//                brings along through ctx. Rows of ad_jacobian take a sweep
//                each; but 8 rows share one if steps are not replayed
//                (unreplayed, untraced, ad_step_index, numbers through ctx,
//                `always`)
//   memory       the states kept (with `replays`, for each state also up to
//                half as many numbers, or four, and one more), the sequences
//                and parameters; in a sweep a recording of one step
//   see          examples/14_wave.c, tests/loop/scan.c
ADX_API ad_status ad_scan(const ad_scan_desc *scan, ad_scan_report *report);

// For a scan that is made again and again, as in a fit: its step is recorded
// only in the first scan. In the following ones the recording may also run
// forwards in place of the step. Where the states of all steps of a range are
// kept, results of the math library are kept with them, at most half as many as
// a state has numbers, or four. So the way back need not compute these again.
// The memory is kept from scan to scan. Scans with the same step, ctx and sizes
// may share one object, as long as *ctx and what it points to do not change.
// Fastest where states have the single tap -1 and nothing is untraced.
//
// A few steps of each scan also run by themselves, for comparison. If one of
// them differs from the recording (it reads x.v, which a recording does not
// see), the scan starts again without recordings. If only a sweep finds that,
// the sweep fails (ADREV_EEXTERNAL).
//
//   allocator    in    NULL: malloc and free
//
//   returns      NULL: no memory. Free it when no scan that was given it is on
//                a tape any more
//   threads      one at a time; clearing or freeing a tape that holds such a
//                scan counts as use
ADX_API ad_replays *ad_replays_new(const ad_allocator *allocator);
ADX_API void ad_replays_free(ad_replays *replays);

// The number of the step, from 0. A scan whose steps ask for it is not
// replayed, because a recording would take the number for a constant.
ADX_API size_t ad_step_index(ad_step *s);

// The same as a number without a derivative (in float, exact up to 2^24). A
// step that uses this one may be replayed.
ADX_API ad_rev ad_step_number(ad_step *s);

// x = f(x, p), repeated `steps` times: a scan of one state.
//
//   f            in    [n + np] -> [n]
//   x   [n]      in/out
//   p   [np]     in    parameters; NULL if np is 0
//
//   returns      as ad_scan; ADREV_ESHAPE also: f is missing
ADX_API ad_status ad_loop(ad_vector_fn *f, void *ctx, size_t steps, size_t n,
                          ad_rev x[], size_t np, const ad_rev p[],
                          ad_schedule schedule);

// P(n, s): how many evaluations of a step a binomial schedule takes to come
// from its s states (the first included) to each of n steps. A scan and one
// sweep evaluate n + 1 + P(n, s) steps, as report.evaluations says: each step
// once on a tape, and the last one once more for its value. A further sweep
// evaluates at most n + P(n, s).
//
//   see          tests/loop/scan.c
ADX_API size_t ad_binomial_repeats(size_t n, size_t s);

/* --- what depends on what ------------------------------------------------ */

typedef enum ad_connection {
    ADREV_DISCONNECTED,     // the derivative is 0, whatever the values are
    ADREV_CONNECTED,        // there is a derivative, which may be 0 here; for
                            // instance where a truncated scan cuts it off
    ADREV_NOT_ASKED         // x is a constant
} ad_connection;

// Whether any of y depends on each of x, found from the recording alone.
//
//   answer [n]   out   for each of x
//
//   returns      as ad_pullback, but constants among x are allowed;
//                ADREV_EFOREIGN also for a recording with forks;
//                ADREV_EEXTERNAL also for statements of other headers
//   cost         as ad_pullback; checkpoints and steps of scans run again.
//                Some statements connect all their operands with all their
//                results: functions given to adrev_bulk.h, for each element; a
//                user's external statements; and those steps of a truncated
//                scan that are not reversed
ADX_TRY ad_status ad_connected(ad_tape *t, size_t m, const ad_rev y[],
                               size_t n, const ad_rev x[],
                               ad_connection answer[]);

#ifdef __cplusplus
}
#endif

#endif // ADREV_LOOP_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_LOOP_IMPLEMENTED
#define ADREV_LOOP_IMPLEMENTED

#include <limits.h>

/* === loop/stage =============================================================
 * A stage is a tape apart, on which a part of a program runs: with constants,
 * for its values, or recorded, for a sweep. When the part uses a number from
 * outside, the foreign hook of that tape is called, and the number becomes a
 * further input. If something that runs on a stage needs a stage itself, it
 * uses the inner stage.
 *
 *   needs   number/recording tape/layout tape/memory tape/hooks sweep/sweep
 *           sweep/queries array/external parallel/threads bulk/captured
 *   offers  adx_stage adx_long_loop adx_free_stage adx_new_stage adx_staged
 *           adx_destroy_staged adx_share_stage adx_borrow_stage
 *           adx_return_stage adx_begin_sweep adx_end_sweep adx_enter_stage
 *           adx_begin_run adx_pull_fn adx_stage_pull adx_stage_pull_rows
 *           adx_stage_push
 * ========================================================================== */

// A flag that one thread at a time can take.
#if !defined ADREV_NO_THREADS && !defined __STDC_NO_ATOMICS__
typedef atomic_flag adx_flag;

// Takes the flag. False: another thread has it. The acquire pairs with the
// release in adx_clear_flag, so that what the last holder did comes before.
static bool adx_take_flag(adx_flag *f)
{
    return !atomic_flag_test_and_set_explicit(f, memory_order_acquire);
}

static void adx_clear_flag(adx_flag *f)
{
    atomic_flag_clear_explicit(f, memory_order_release);
}
#else
typedef bool adx_flag;

static bool adx_take_flag(adx_flag *f)
{
    bool free = !*f;
    *f = true;
    return free;
}

static void adx_clear_flag(adx_flag *f) { *f = false; }
#endif

typedef struct adx_stage {
    ad_allocator memory;
    ad_tape *tape;
    struct adx_stage *inner;
    size_t holders;         // statements and outer stages
    adx_captured *captured; // of the run in progress (bulk/passes)
    uint32_t *local;        // [captured number] the input that stands for it;
                            // 0: none
    size_t locals;          // room of that array
    bool recorded;          // the run in progress is recorded
    bool complete;          // it must capture nothing new
    bool temporary;         // the stage serves one run only
    adx_flag busy;
    bool full;              // checkpoints: no room for more recordings
    size_t kept;            // bytes of the recordings that are kept
} adx_stage;

/* --- captured numbers ---------------------------------------------------- */

// Returns the index of a captured number, which is entered if it is new.
// SIZE_MAX: it is new but must not be, or there is no memory, or the caller
// does not run on this tape.
static size_t adx_capture(adx_stage *s, uint64_t id)
{
    adx_captured *k = s->captured;
    size_t before = s->locals;
    if (!adx_runs_on(s->tape))
        return SIZE_MAX;
    uint32_t known = adx_find_captured(k, id);
    if (known != 0)
        return known - 1;
    if (s->complete || !adx_add_captured(&s->memory, k, id)
        || !adx_extend(&s->memory, (void **)&s->local, &s->locals, k->n,
                       sizeof *s->local))
        return SIZE_MAX;
    for (size_t i = before; i < s->locals; i++)
        s->local[i] = 0;
    return k->n - 1;
}

// The foreign hook. A number from outside becomes a constant if only values are
// computed, else the input that stands for it.
static ad_rev adx_from_outside(void *user, ad_rev x)
{
    adx_stage *s = (adx_stage *)user;
    ad_tape *t = s->tape;
    size_t i = adx_capture(s, adx_compound(x.job, x.seq));
    if (i == SIZE_MAX && !s->complete && adx_runs_on(t))
        adx_fail(t, ADREV_ENOMEM);
    if (i == SIZE_MAX)
        return x;
    if (!s->recorded)
        return adx_passive(0);
    if (s->local[i] == 0)
        s->local[i] = (ad_input)(0).seq;
    return adx_known(x, s->local[i]);
}

// Set when a long loop or a checkpoint is unrolled under a hook.
static ADX_THREAD bool adx_long_loop;

/* --- stages -------------------------------------------------------------- */

static void adx_free_stage(adx_stage *s)
{
    if (s == NULL || --s->holders > 0)
        return;
    ad_tape_free(s->tape);
    adx_free_stage(s->inner);
    ad_allocator memory = s->memory;
    adx_drop(&memory, s->local);
    adx_drop(&memory, s);
}

// Makes a stage with a tape of its own. NULL: no memory.
static adx_stage *adx_new_stage(const ad_allocator *a)
{
    adx_stage *s = (adx_stage *)adx_take(a, 1, sizeof *s);
    if (s == NULL)
        return NULL;
    memset(s, 0, sizeof *s);
    s->memory = *a;
    s->holders = 1;
    s->tape = adx_new_tape_apart(a, adx_from_outside, s);
    if (s->tape == NULL) {
        adx_drop(a, s);
        return NULL;
    }
    return s;
}

// What a statement with a stage saves begins with this.
typedef struct adx_staged {
    adx_stage *stage;
    ad_allocator memory;
    adx_flag busy;              // rows of a Jacobian may be swept side by side:
                                // here one after the other
    void (*free)(struct adx_staged *of);
} adx_staged;

// Frees what the statement saved: the tape has only a pointer to it. A rule
// that has this function is that of a statement with a stage.
static void adx_destroy_staged(const void *saved)
{
    adx_staged *of = *(adx_staged *const *)saved;
    of->free(of);
}

#define ADX_STAGE_NEAR 64       // statements that are looked through

// Finds the stage of the latest statement on t that has one. NULL: none of the
// last few has.
static adx_stage *adx_stage_below(const ad_tape *t)
{
    const adx_extended *e = t->last;
    for (int i = 0; e != NULL && i < ADX_STAGE_NEAR; i++, e = e->before) {
        const adx_external *x = (const adx_external *)e;
        if (e->rule == &adx_external_kind
            && x->rule->destroy == adx_destroy_staged)
            return (*(adx_staged *const *)x->saved)->stage;
    }
    return NULL;
}

// Gives a new statement its stage. On a stage, that is the inner one; otherwise
// the stage of an earlier statement, or a new one. In recordings with forks a
// statement has no stage, but makes one for each run. False: no memory.
static bool adx_share_stage(adx_staged *of)
{
    const ad_tape *t = adx_now.tape;
    if (t->annex != NULL)
        return true;
    adx_stage *outer = t->hooks.foreign == adx_from_outside
                     ? (adx_stage *)t->hooks.user : NULL;
    of->stage = outer != NULL ? outer->inner : adx_stage_below(t);
    if (of->stage == NULL) {
        of->stage = adx_new_stage(&of->memory);
        if (of->stage == NULL || outer == NULL)
            return of->stage != NULL;
        outer->inner = of->stage;
    }
    of->stage->holders++;
    return true;
}

// Finds a stage for one run: that of the statement, or a temporary one if it is
// busy or there is none. NULL: no memory.
static adx_stage *adx_borrow_stage(adx_staged *of)
{
    if (of->stage != NULL && adx_take_flag(&of->stage->busy))
        return of->stage;
    adx_stage *s = adx_new_stage(&of->memory);
    if (s != NULL)
        s->temporary = true;
    return s;
}

static void adx_return_stage(adx_stage *s)
{
    if (s != NULL && s->temporary)
        adx_free_stage(s);
    else if (s != NULL)
        adx_clear_flag(&s->busy);
}

// Waits until no other thread sweeps this statement.
static void adx_begin_sweep(adx_staged *of)
{
    for (size_t turns = 0; !adx_take_flag(&of->busy); turns++) {
#ifdef ADX_THREAD_YIELD
        if (turns > 100)        // the other one may want this processor
            ADX_THREAD_YIELD();
#endif
    }
    adx_mine_rows.statements += adx_mine_rows.rows > 0;
}

static void adx_end_sweep(adx_staged *of)
{
    adx_mine_rows.statements -= adx_mine_rows.rows > 0;
    adx_clear_flag(&of->busy);
}

// Makes a stage's tape current, for runs. Returns the tape to go back to.
static ad_tape *adx_enter_stage(adx_stage *s, adx_captured *k, bool complete)
{
    s->captured = k;
    s->complete = complete;
    return ad_use(s->tape);
}

// Makes the tape empty before a run. In a run that is recorded, no input stands
// for a captured number yet.
static void adx_begin_run(adx_stage *s, bool recorded)
{
    size_t n = s->captured->n;
    s->recorded = recorded;
    if (adx_now.seq > 0 || s->tape->status != ADREV_OK)
        ad_tape_clear(s->tape);
    if (!recorded || n == 0)
        return;
    if (adx_extend(&s->memory, (void **)&s->local, &s->locals, n,
                   sizeof *s->local))
        memset(s->local, 0, s->locals * sizeof *s->local);
    else
        adx_fail(s->tape, ADREV_ENOMEM);
}

/* --- derivatives of a run ---------------------------------------------------
 * The derivatives of m results with respect to n inputs and to the captured
 * numbers, taken on the tape of the stage as the run has left it. If all
 * results are constants there is nothing to sweep, but for statements with
 * `always`: then the sweep has no results.                                   */

static bool adx_all_passive(size_t m, const ad_rev y[])
{
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0)
            return false;
    return true;
}

// Computes dx = dy J, and adds the adjoints of captured numbers to da.
typedef ad_status adx_pull_fn(const adx_stage *s, size_t m, const ad_rev y[],
                              const ad_real dy[], size_t n, const ad_rev x[],
                              ad_real dx[], const adx_captured *k,
                              ad_real da[]);

// Adjoints of the stage's inputs x, and, added to da, of the numbers that it
// captured.
static ad_status adx_stage_pull(const adx_stage *s, size_t m, const ad_rev y[],
                                const ad_real dy[], size_t n, const ad_rev x[],
                                ad_real dx[], const adx_captured *k,
                                ad_real da[])
{
    bool passive = adx_all_passive(m, y);
    if (passive && !s->tape->always) {
        memset(dx, 0, n * sizeof *dx);
        return s->tape->status;
    }
    ad_status status = ad_pullback(s->tape, passive ? 0 : m, y, dy, n, x, dx);
    for (size_t i = 0; i < k->n && status == ADREV_OK; i++)
        if (s->local[i] != 0)
            da[i] += s->tape->adjoint[s->local[i]];
    return status;
}

// The same for k <= ADX_WIDEST rows of dy by one sweep, which adds to dx: row r
// is that of dy times J, dx_step behind the row before; rows of da likewise.
static ad_status adx_stage_pull_rows(const adx_stage *s, size_t k, size_t m,
                                     const ad_rev y[], const ad_real dy[],
                                     size_t n, const ad_rev x[], ad_real dx[],
                                     size_t dx_step, const adx_captured *c,
                                     ad_real da[], size_t da_step)
{
    ad_tape *t = s->tape;
    const size_t W = k == 1 ? 1 : k <= 4 ? 4 : 8;
    bool run;
    bool passive = adx_all_passive(m, y);
    if (passive && !t->always)
        return t->status;
    ad_status status = adx_check_query(t, passive ? 0 : m, y, n, x, false,
                                       &run);
    ad_real *adj = status == ADREV_OK ? adx_cleared(t, W, 0) : NULL;
    if (adj == NULL)
        return status == ADREV_OK ? ADREV_ENOMEM : status;
    for (size_t r = 0; r < k; r++)
        for (size_t i = 0; i < m; i++)
            if (y[i].job != 0)
                adx_derivative(t, adj, y[i], W)[r] += dy[r * m + i];
    if (!adx_sweep(t, ADX_FOR_WIDTH(W, adx_reverse), adj))
        return ADREV_EEXTERNAL;
    for (size_t r = 0; r < k; r++) {
        for (size_t j = 0; j < n; j++)
            dx[r * dx_step + j] += adx_derivative(t, adj, x[j], W)[r];
        for (size_t i = 0; i < c->n; i++)
            if (s->local[i] != 0)
                da[r * da_step + i] += adj[s->local[i] * W + r];
    }
    return ADREV_OK;
}

// Computes dy = J dx. Behind its n numbers dx has the tangents of captured
// numbers, and x has room for the inputs that stand for them.
static ad_status adx_stage_push(const adx_stage *s, size_t m, const ad_rev y[],
                                ad_real dy[], size_t n, ad_rev x[],
                                const ad_real dx[], const adx_captured *k,
                                ad_real tangents[])
{
    size_t all = n;
    bool passive = adx_all_passive(m, y);
    if (passive || s->tape->status != ADREV_OK)
        memset(dy, 0, m * sizeof *dy);
    if ((passive && !s->tape->always) || s->tape->status != ADREV_OK)
        return s->tape->status;
    memcpy(tangents, dx, n * sizeof *dx);
    for (size_t i = 0; i < k->n; i++)
        if (s->local[i] != 0) {
            uint32_t job = adx_segment_of(s->tape, s->local[i])->job;
            x[all] = (ad_rev){ 0, s->local[i], job };
            tangents[all++] = dx[n + i];
        }
    return ad_pushforward(s->tape, all, x, tangents, passive ? 0 : m, y, dy);
}

/* === loop/checkpoint ========================================================
 * A checkpoint is one external statement that replaces what a call records. It
 * keeps the inputs of the call, and perhaps its recording, on a stage of its
 * own. If a sweep finds no recording, it runs the call again on a stage that is
 * shared, and sweeps that.
 *
 * The first run finds out which numbers the function captures. They become
 * operands of the statement, behind the inputs.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries
 *           sweep/session array/external bulk/folds bulk/captured loop/api
 *           loop/stage
 *   offers  adx_checkpoint adx_call_again adx_checkpoint_rule
 *           adx_unrolled_memory adx_loop_memory
 * ========================================================================== */

typedef struct adx_checkpoint {
    adx_staged of;
    ad_vector_fn *f;
    void *ctx;
    size_t n, m;
    adx_captured captured;
    size_t *evaluations;
    adx_stage *kept;            // has the recording; NULL: inputs only
    ad_rev *in, *out;           // [n + captured], [m] of the latest run
    ad_real *x;                 // [n]
    size_t context;             // bytes of *ctx
    void *copy;                 // a copy of *ctx, which is never changed
    void *given;                // another, which f is given and may change
    size_t counted;             // bytes of `kept`, as taken from the budget
    bool always;                // f records a statement with `always`
} adx_checkpoint;

static void adx_free_call(adx_staged *of)
{
    adx_checkpoint *c = (adx_checkpoint *)of;
    ad_allocator memory = c->of.memory;
    if (c->of.stage != NULL)
        c->of.stage->kept -= c->counted;
    adx_free_stage(c->of.stage);
    adx_free_stage(c->kept);
    adx_free_captured(&memory, &c->captured);
    adx_drop(&memory, c->x);
    adx_drop(&memory, c->in);
    adx_drop(&memory, c->out);
    adx_drop(&memory, c->copy);
    adx_drop(&memory, c->given);
    adx_drop(&memory, c);
}

// Runs f at c->x on a stage, with inputs if the run is to be recorded, else
// with constants. Afterwards c->in has its inputs, and c->out its results.
static ad_status adx_run_call(adx_checkpoint *c, adx_stage *s, bool recorded,
                              bool complete, void *ctx)
{
    ad_tape *before = adx_enter_stage(s, &c->captured, complete);
    adx_begin_run(s, recorded);
    for (size_t i = 0; i < c->n; i++)
        c->in[i] = recorded ? (ad_input)(c->x[i]) : adx_passive(c->x[i]);
    adx_unset(c->m, c->out);
    if (c->evaluations != NULL)
        ++*c->evaluations;
    c->f(c->in, c->out, ctx);
    ad_status status = adx_end_apart(s->tape, c->m, c->out);
    c->always |= s->tape->always;
    ad_use(before);
    return status == ADREV_OK && !adx_all_set(c->m, c->out) ? ADREV_ESHAPE
                                                            : status;
}

// Returns a stage with a recording of f at x, which is the one that was kept or
// a new one. NULL: f failed, or no memory.
static adx_stage *adx_call_again(adx_checkpoint *c)
{
    if (c->kept != NULL)
        return c->kept;
    adx_stage *s = adx_borrow_stage(&c->of);
    if (c->context > 0)
        memcpy(c->given, c->copy, c->context);
    if (s != NULL && adx_run_call(c, s, true, true, c->context > 0
                                  ? c->given : c->ctx) != ADREV_OK) {
        adx_return_stage(s);
        s = NULL;
    }
    return s;
}

// The pullback of a checkpoint, in k directions: runs the call again, unless
// its recording was kept, and sweeps that.
static bool adx_checkpoint_pullback_n(const void *saved, size_t k, size_t m,
                                      const ad_real dy[], size_t n,
                                      ad_real dx[])
{
    adx_checkpoint *c = *(adx_checkpoint *const *)saved;
    adx_begin_sweep(&c->of);
    adx_stage *s = adx_call_again(c);
    bool ok = s != NULL
           && adx_stage_pull_rows(s, k, m, c->out, dy, c->n, c->in, dx, n,
                                  &c->captured, dx + c->n, n) == ADREV_OK;
    adx_return_stage(s);
    adx_end_sweep(&c->of);
    return ok;
}

static bool adx_checkpoint_pullback(const void *saved, size_t m,
                                    const ad_real dy[], size_t n, ad_real dx[])
{
    return adx_checkpoint_pullback_n(saved, 1, m, dy, n, dx);
}

// The pushforward of a checkpoint, in the same way.
static bool adx_checkpoint_pushforward(const void *saved, size_t n,
                                       const ad_real dx[], size_t m,
                                       ad_real dy[])
{
    adx_checkpoint *c = *(adx_checkpoint *const *)saved;
    adx_begin_sweep(&c->of);
    adx_stage *s = adx_call_again(c);
    ad_real *tangents = (ad_real *)adx_take(&c->of.memory, n,
                                            sizeof *tangents);
    bool ok = s != NULL && tangents != NULL
           && adx_stage_push(s, m, c->out, dy, c->n, c->in, dx, &c->captured,
                             tangents) == ADREV_OK;
    adx_drop(&c->of.memory, tangents);
    adx_return_stage(s);
    adx_end_sweep(&c->of);
    return ok;
}

static const ad_external_rule adx_checkpoint_rule = {
    .name = "checkpoint", .pullback = adx_checkpoint_pullback,
    .pushforward = adx_checkpoint_pushforward,
    .destroy = adx_destroy_staged, .pullback_n = adx_checkpoint_pullback_n
};

// Makes a checkpoint, with copies of everything that it needs of the call.
// NULL: no memory.
static adx_checkpoint *adx_new_call(const ad_checkpoint_options *o,
                                    const ad_allocator *a, ad_vector_fn *f,
                                    void *ctx, size_t n, const ad_rev x[],
                                    size_t m)
{
    adx_checkpoint *c = (adx_checkpoint *)adx_take(a, 1, sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (adx_checkpoint){ .of = { .memory = *a, .free = adx_free_call },
                           .f = f, .ctx = ctx, .n = n,
                           .m = m, .evaluations = o->evaluations };
    c->x = (ad_real *)adx_take(a, n, sizeof *c->x);
    c->in = (ad_rev *)adx_take(a, n, sizeof *c->in);
    c->out = (ad_rev *)adx_take(a, m, sizeof *c->out);
    c->context = o->context;
    if (o->context > 0) {
        c->copy = adx_take(a, o->context, 1);
        c->given = adx_take(a, o->context, 1);
    }
    if (c->x == NULL || c->in == NULL || c->out == NULL
        || (o->context > 0 && (c->copy == NULL || c->given == NULL))) {
        adx_free_call(&c->of);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        c->x[i] = x[i].v;
    if (o->context > 0)
        memcpy(c->copy, ctx, o->context);
    return c;
}

// Does the first run. Its recording is kept if that is wanted. With
// ADREV_KEEP_AUTOMATIC a recording is made as long as the budget is not used
// up, and dropped again if it exceeds what is left; from then on nothing is
// recorded.
static ad_status adx_first_run(adx_checkpoint *c,
                               const ad_checkpoint_options *o)
{
    adx_stage *shared = c->of.stage;
    bool automatic = o->keep == ADREV_KEEP_AUTOMATIC;
    if (o->keep == ADREV_KEEP_INPUTS || (automatic
        && (shared == NULL || shared->full || shared->kept >= o->budget))) {
        adx_stage *s = adx_borrow_stage(&c->of);
        if (s == NULL)
            return ADREV_ENOMEM;
        ad_status status = adx_run_call(c, s, false, false, c->ctx);
        adx_return_stage(s);
        return status;
    }

    c->kept = adx_new_stage(&c->of.memory);
    if (c->kept == NULL)
        return ADREV_ENOMEM;
    ad_status status = adx_run_call(c, c->kept, true, false, c->ctx);
    const ad_tape *t = c->kept->tape;
    size_t held = t->bytes + (adx_live(t)->seq + 1) * sizeof(ad_real);
    if (!automatic || status != ADREV_OK)
        return status;
    shared->full = shared->kept + held > o->budget;
    if (!shared->full) {
        shared->kept += held;
        c->counted = held;
    } else {
        for (size_t i = 0; i < c->m; i++)
            c->out[i] = adx_passive(c->out[i].v);
        adx_free_stage(c->kept);
        c->kept = NULL;
    }
    return status;
}

// Makes room behind the inputs for the captured numbers, whose number is known
// now.
static bool adx_extend_by_captured(const ad_allocator *a, ad_rev **in, size_t n,
                                   const adx_captured *k)
{
    size_t room = n;
    return adx_extend(a, (void **)in, &room, n + k->n, sizeof **in);
}

// Records the statement. It owns the checkpoint from then on; on failure the
// checkpoint is freed.
static ad_status adx_record_checkpoint(adx_checkpoint *c, const ad_rev x[],
                                       ad_rev y[])
{
    ad_allocator memory = c->of.memory;
    size_t m = c->m;
    size_t n = c->n + c->captured.n;
    ad_rev *all = (ad_rev *)adx_take(&memory, n, sizeof *all);
    ad_rev *out = (ad_rev *)adx_take(&memory, m, sizeof *out);
    ad_real *v = (ad_real *)adx_take(&memory, m, sizeof *v);
    ad_status status = ADREV_ENOMEM;
    if (all == NULL || out == NULL || v == NULL
        || !adx_extend_by_captured(&memory, &c->in, c->n, &c->captured))
        adx_free_call(&c->of);
    else {
        if (c->n > 0)
            memcpy(all, x, c->n * sizeof *all);
        adx_list_captured(&c->captured, all + c->n);
        for (size_t i = 0; i < m; i++)
            v[i] = c->out[i].v;
        status = adx_record_external_as(&adx_checkpoint_rule, c->always, &c,
                                        sizeof c, n, all, m, v, out);
    }
    for (size_t i = 0; status == ADREV_OK && i < m; i++)
        y[i] = out[i];
    adx_drop(&memory, all);
    adx_drop(&memory, out);
    adx_drop(&memory, v);
    return status;
}

// Takes memory of the current tape, which is in fixed memory. It is given back
// only when the tape is cleared.
static void *adx_tape_room(size_t bytes, void *user)
{
    (void)user;
    return adx_add_bytes(&adx_now, ADX_DATA, bytes, 0);
}

static void adx_keep_room(void *block, void *user)
{
    (void)block;
    (void)user;
}

// Returns the allocator for what is unrolled. NULL: there is none.
static const ad_allocator *adx_unrolled_memory(const ad_allocator *given)
{
    static const ad_allocator room = { adx_tape_room, adx_keep_room, NULL };
    const ad_tape *t = adx_now.tape;
    if (t == NULL || adx_is_allocator(given))
        return adx_allocator_or(given);
    return t->allocator.alloc != NULL ? &t->allocator : &room;
}

// Returns the allocator for what a loop or a checkpoint keeps. NULL: no tape is
// current that could have such a statement, or the tape has no memory beside
// it.
static const ad_allocator *adx_loop_memory(const ad_allocator *given)
{
    const ad_tape *t = adx_now.tape;
    if (t == NULL || adx_now.trace || t->status != ADREV_OK)
        return NULL;
    return adx_is_allocator(given) ? given
         : t->allocator.alloc != NULL ? &t->allocator : NULL;
}

// Calls f on the recorded numbers themselves. Its results must not lie among x,
// so x is copied if the two overlap.
static ad_status adx_call_directly(ad_vector_fn *f, void *ctx, size_t n,
                                   const ad_rev x[], size_t m, ad_rev y[],
                                   const ad_allocator *given)
{
    bool overlap = n > 0 && m > 0 && x < y + m && y < x + n;
    const ad_allocator *a = overlap ? adx_unrolled_memory(given) : NULL;
    ad_rev *copy = a == NULL ? NULL : (ad_rev *)adx_take(a, n, sizeof *copy);
    if (overlap && copy == NULL)
        return adx_failed(ADREV_ENOMEM);
    if (overlap)
        memcpy(copy, x, n * sizeof *copy);
    adx_unset(m, y);
    f(overlap ? copy : x, y, ctx);
    if (overlap)
        adx_drop(a, copy);
    ad_status status = adx_now_status();
    return status == ADREV_OK && !adx_all_set(m, y) ? adx_failed(ADREV_ESHAPE)
                                                    : status;
}

// Does the call. If no statement can be recorded (adx_loop_memory), f is simply
// called.
static ad_status adx_call_checkpoint(const ad_checkpoint_options *o,
                                     ad_vector_fn *f, void *ctx, size_t n,
                                     const ad_rev x[], size_t m, ad_rev y[])
{
    const ad_allocator *a = adx_loop_memory(o->allocator);

    if (adx_now_status() != ADREV_OK)
        return adx_now_status();
    if (f == NULL || adx_no_array(n, x) || adx_no_array(m, y)
        || adx_no_array(o->context, ctx)
        || (unsigned)o->keep > ADREV_KEEP_AUTOMATIC)
        return adx_failed(ADREV_ESHAPE);
    if (a == NULL) {
        if (o->evaluations != NULL)
            ++*o->evaluations;
        adx_long_loop |= adx_now.trace != 0;
        return adx_call_directly(f, ctx, n, x, m, y, o->allocator);
    }
    adx_checkpoint *c = adx_new_call(o, a, f, ctx, n, x, m);
    if (c == NULL)
        return adx_failed(ADREV_ENOMEM);
    ad_status status = adx_share_stage(&c->of) ? adx_first_run(c, o)
                                               : ADREV_ENOMEM;
    if (status == ADREV_OK && (m > 0 || c->always))
        return adx_failed(adx_record_checkpoint(c, x, y));
    adx_free_call(&c->of);
    return adx_failed(status);
}

ADX_API ad_status ad_checkpoint_with(const ad_checkpoint_options *options,
                                     ad_vector_fn *f, void *ctx, size_t n,
                                     const ad_rev x[], size_t m, ad_rev y[])
{
    static const ad_checkpoint_options none;
    ad_status status = adx_call_checkpoint(options == NULL ? &none : options,
                                           f, ctx, n, x, m, y);
    return adx_results_or_nan(status, m, 1, y);
}

ADX_API ad_status ad_checkpoint(ad_vector_fn *f, void *ctx, size_t n,
                                const ad_rev x[], size_t m, ad_rev y[])
{
    return ad_checkpoint_with(NULL, f, ctx, n, x, m, y);
}

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

/* === loop/scan ==============================================================
 * The description of a scan, and what its runs need. The numbers of a step are
 * in one array. Its inputs are the taps of the states, then those of the
 * sequences, the parameters and the number of the step. Its outputs are the new
 * rows of the states, and the outputs of the step. What a step carries on is
 * the window: the last `depth` rows of each state, oldest first. The first run
 * calls the step with constants. The way back carries the adjoints of the
 * window.
 *
 *   needs   tape/memory function/api bulk/captured loop/api loop/stage
 *           loop/schedule
 *   offers  adx_piece adx_slice adx_slice_numbers ADX_PATHS ADX_CALL_value
 *           ADX_CALL_primal ADX_CALL_vjp ADX_CALL_pullback ADX_CALL_unrolled
 *           adx_step_path adx_step_call adx_scan_shape adx_scan
 *           adx_results_list adx_frame adx_stepping adx_taps_of_state
 *           adx_taps_of_sequence adx_rows_carried adx_right_scan adx_describe
 * ========================================================================== */

// What a tap, or several taps in a row, read: rows of a state from the window,
// or of a sequence from the data.
typedef struct adx_piece {
    size_t at;                  // the first input of the step that it becomes
    size_t size;
    size_t from;                // where it is read at step 0
    ptrdiff_t move;             // how much further on at each later step
} adx_piece;

// A state of a scan, with `depth` rows in the window, or an output, with none.
typedef struct adx_slice {
    size_t size;
    size_t depth;
    size_t base;                // in the window
    bool told;                  // its new rows are results of the scan
    bool last;                  // so are its last ones
} adx_slice;

// How many numbers of the window are a state's.
static size_t adx_slice_numbers(const adx_slice *l)
{
    return l->depth * l->size;
}

#define ADX_PATHS 8             // functions for one step, at most; on further
                                // paths the step is recorded each time

// Ways to evaluate such a function. primal and pullback belong together
// (function/matrices). Behind the state before a step there is 1 + the path
// whose primal ran there, or 0; and behind that the numbers that the primal
// handed on.
enum {
    ADX_CALL_value, ADX_CALL_primal, ADX_CALL_vjp, ADX_CALL_pullback,
    ADX_CALL_unrolled, ADX_CALLS
};

// A function for one path of the step. If a scan recorded it on its way back,
// at step `upto`, the scan uses it only for that step and the steps before: so
// a second sweep does what the first one did.
typedef struct adx_step_path {
    struct ad_fn *fn;
    size_t kept;                // numbers that it hands on, once counted
    bool stop;                  // whether the step said that it was the last
    size_t upto;
} adx_step_path;

// What a scan repeats: a step, or in its place the function of ad_loop.
typedef struct adx_step_call {
    ad_step_fn *step;           // NULL: f
    ad_vector_fn *f;            // of ad_loop
    void *ctx;
} adx_step_call;

struct ad_replays {
    ad_allocator memory;
    adx_step_call call;         // all are of this step
    size_t in, out;
    uint64_t layout;            // a hash of how its numbers are arranged
    adx_step_path path[ADX_PATHS];
    size_t paths;
    size_t missed;              // steps for which no path was right
    bool varies;                // the step cannot be replayed
    adx_state_pool spare;       // of a scan that is gone, for the next one
};

// How many there are of what the description lists, and of the numbers in it.
typedef struct adx_scan_sizes {
    size_t states, sequences, outputs;
    size_t parameters;
    size_t window, data;        // numbers: of all states, of all sequences
    size_t in, out;             // numbers of a step; its index is in's last
    size_t told;                // results of each step
    size_t results;             // others: last rows
    size_t untraced;            // bytes
} adx_scan_sizes;

// How the numbers of a step are arranged.
typedef struct adx_scan_shape {
    adx_slice *slice;           // of states, then of outputs
    adx_piece *piece;           // of states, then of sequences
    size_t state_pieces, pieces;
    size_t *given;              // [states + sequences] first number of each
    bool flat;                  // every state is its last row
    bool moving;                // states have tangents, too (loop/recorded)
} adx_scan_shape;

// Which functions replay steps, and since when. Paths are only added before the
// first sweep is complete, so that every later sweep does what that one did.
typedef struct adx_scan_paths {
    ad_replays own, *used;      // used: own, or those that were given
    bool varies;                // steps are never replayed
    bool compiled;
    bool by_function;           // some steps of the first run were replayed
    size_t known;               // paths before the first sweep
    bool swept;                 // a sweep is complete: no paths are added
    size_t limit;               // paths after it
    size_t behind;              // numbers with each state, in timetables that
                                // keep all states of a range
} adx_scan_paths;

typedef struct adx_scan {
    adx_staged of;              // the external statement
    adx_step_call call;         // the user's step
    adx_scan_sizes n;
    adx_scan_shape shape;
    ad_real *value;             // of sequences and parameters
    void *untraced_first;       // as the first step found them: loop/recorded
    adx_captured captured;      // numbers from outside that steps use
    size_t most_steps;          // that the user allows
    size_t steps;               // that ran
    bool open_ended;
    bool stopped;               // by the last step
    bool always;                // a step records a statement with `always`
    uint64_t found;             // a hash of the results: loop/resume
    ad_schedule schedule;
    adx_timetable timetable;
    adx_scan_paths replay;
    ad_scan_report *report, own_report;
} adx_scan;

// Results of the first run, as they come.
typedef struct adx_results_list {
    ad_real *v;
    size_t n, room;
    void *untraced;             // as the last step left it; or NULL
} adx_results_list;

// What a sweep carries from step to step. A reverse sweep goes from adjoints dy
// of the results of the scan to adjoints dx of its inputs, and in each step
// from `weight`, of what the step returned, to `product`, of what it was given.
// In a forward sweep dy are tangents of the inputs, `weight` are those of what
// a step is given, and `product` of what it returns.
typedef struct adx_frame {
    ad_real *carried;           // adjoints or tangents of the window
    ad_real *weight;            // [in or out, whichever is more, + captured]
    ad_real *product;           // [the same]
    const ad_real *dy;
    ad_real *dx;
} adx_frame;

// What one step is given, and what it returns: as numbers and, in rin and rout,
// as the step sees them.
typedef struct adx_step_io {
    size_t index;               // of the step
    ad_real *in, *out;
    ad_real *in_next;           // lean runs: takes turns with `in`, or results
    bool lean;                  // `in` begins with the state itself
    ad_rev *rin, *rout;
    const ad_rev **given;       // [states + sequences] where each is in rin,
    ad_rev **taken;             // [states + outputs] and in rout:
    ad_step step;               // what each step is given
    ad_rev number;
    bool stale;                 // rin is not made of constants yet
} adx_step_io;

// How steps are swept.
typedef struct adx_step_sweep {
    adx_pull_fn *pull;          // adx_stage_pull; or what gives flags in place
    bool connects;              // of adjoints: whether it does
    ad_real *memory;            // of the frame, and of
    ad_real *room;              // as much as f.weight
} adx_step_sweep;

// How steps are replayed.
typedef struct adx_step_replay {
#ifdef ADREV_FUNCTION_IMPLEMENTED
    struct adx_evaluation *evaluation;  // [ADX_PATHS*ADX_CALLS], or NULL
#endif
    size_t latest;              // path that a step took
    unsigned rest;              // steps before many are tried at once again
    bool again;                 // steps have been replayed that must not be
} adx_step_replay;

// A sweep that goes on where another process has ended (loop/resume).
typedef struct adx_sweep_resumed {
    char *adjoints;             // what the store gets
    uint64_t named;             // which sweep it is
    bool searching;             // all ranges were in the store so far
} adx_sweep_resumed;

// A run of steps, forwards or backwards.
typedef struct adx_stepping {
    adx_scan *scan;
    adx_stage *stage;           // current from begin to end
    ad_tape *before;            // what was current, and will be again
    bool entered;               // the stage
    ad_status status;           // of the run; the first failure ends it
    bool stop;                  // what the latest step said
    char *state;                // the window, and untraced data behind it
    adx_step_io io;
    adx_frame f;                // of sweeps
    adx_step_sweep sweep;
    adx_step_replay replay;
    adx_sweep_resumed resume;
    bool first;                 // the first run, not a sweep,
    adx_results_list *list;     // and its results
} adx_stepping;

ADX_SELDOM_BEGIN

/* --- descriptions -----------------------------------------------------------
// What is asked for is counted first, then written down.                     */

static const int adx_before = -1;
static const int adx_here_now = 0;

static size_t adx_taps_of_state(const ad_scan_state *x, const int **tap)
{
    *tap = x->taps == 0 ? &adx_before : x->tap;
    return x->taps == 0 ? 1 : x->taps;
}

static size_t adx_taps_of_sequence(const ad_scan_sequence *u, const int **tap)
{
    *tap = u->taps == 0 ? &adx_here_now : u->tap;
    return u->taps == 0 ? 1 : u->taps;
}

// How many rows of a state are carried on: as far as its taps reach back. 0:
// they are wrong.
static size_t adx_rows_carried(const ad_scan_state *x)
{
    const int *tap;
    size_t taps = adx_taps_of_state(x, &tap);
    size_t depth = 0;
    if (adx_no_array(taps, tap))
        return 0;
    for (size_t i = 0; i < taps; i++) {
        if (tap[i] >= 0 || tap[i] < -INT_MAX)
            return 0;
        depth = (size_t)-tap[i] > depth ? (size_t)-tap[i] : depth;
    }
    return depth;
}

// The row of a sequence that tap 0 reads at step 0, and how many rows `steps`
// steps need; false: its taps are wrong.
static bool adx_reach_of(const ad_scan_sequence *u, size_t steps, size_t *low,
                         size_t *rows)
{
    const int *tap;
    size_t taps = adx_taps_of_sequence(u, &tap);
    int first = 0;
    int last = INT_MIN;
    if (adx_no_array(taps, tap))
        return false;
    for (size_t i = 0; i < taps; i++) {
        first = tap[i] < first ? tap[i] : first;
        last = tap[i] > last ? tap[i] : last;
    }
    if (first < -INT_MAX)
        return false;
    *low = (size_t)-first;
    *rows = (size_t)((long long)last - first) + steps;
    return *rows >= steps;
}

#define ADX_NUMBERS_MOST (SIZE_MAX / 256)

// All numbers that a scan reads, keeps or returns; SIZE_MAX: they cannot be
// counted.
static size_t adx_scan_numbers(const ad_scan_desc *d)
{
    size_t all = d->parameters;
    const int *tap;
    for (size_t j = 0; j < d->states; j++) {
        const ad_scan_state *x = &d->state[j];
        size_t rows = adx_size_plus(adx_rows_carried(x),
                                    adx_taps_of_state(x, &tap));
        rows = adx_size_plus(rows, x->rows == NULL ? 1 : d->steps);
        all = adx_size_plus(all, adx_size_times(rows, x->size));
    }
    for (size_t j = 0; j < d->sequences; j++) {
        const ad_scan_sequence *u = &d->sequence[j];
        size_t rows = adx_size_plus(u->rows, adx_taps_of_sequence(u, &tap));
        all = adx_size_plus(all, adx_size_times(rows, u->size));
    }
    for (size_t j = 0; j < d->outputs; j++) {
        const ad_scan_output *o = &d->output[j];
        size_t rows = o->row == NULL ? 1 : adx_size_plus(d->steps, 1);
        all = adx_size_plus(all, adx_size_times(rows, o->size));
    }
    return all;
}

static bool adx_right_state(const ad_scan_state *x)
{
    return adx_rows_carried(x) > 0 && (x->size == 0 || x->initial != NULL);
}

static bool adx_right_sequence(const ad_scan_sequence *u, size_t steps)
{
    size_t low;
    size_t rows;
    return adx_reach_of(u, steps, &low, &rows)
        && (steps == 0 || u->rows >= rows)
        && (u->rows == 0 || u->size == 0 || u->row != NULL);
}

// Whether a description makes sense: no array is missing, taps and sizes are
// possible.
static bool adx_right_scan(const ad_scan_desc *d)
{
    if (adx_no_array(d->states, d->state)
        || adx_no_array(d->sequences, d->sequence)
        || adx_no_array(d->outputs, d->output)
        || adx_no_array(d->parameters, d->parameter)
        || adx_no_array(d->untraced_bytes, d->untraced))
        return false;
    for (size_t j = 0; j < d->states; j++)
        if (!adx_right_state(&d->state[j]))
            return false;
    for (size_t j = 0; j < d->sequences; j++)
        if (!adx_right_sequence(&d->sequence[j], d->steps))
            return false;
    return adx_scan_numbers(d) <= ADX_NUMBERS_MOST;
}

// Adds a piece. If it continues the last one, where it is read and where it
// goes, it makes that one longer: a loop over many short pieces costs as much
// as a short step.
static void adx_add_piece(adx_scan *c, size_t size, size_t from,
                          ptrdiff_t move)
{
    adx_scan_shape *to = &c->shape;
    adx_piece *last = to->pieces == 0 ? NULL : &to->piece[to->pieces - 1];
    if (last != NULL && move == 0 && last->move == 0
        && last->from + last->size == from)
        last->size += size;
    else
        to->piece[to->pieces++] = (adx_piece){ c->n.in, size, from, move };
}

// Counts the numbers of a state, and lists its pieces.
static void adx_describe_state(adx_scan *c, size_t j, const ad_scan_state *x)
{
    const int *tap;
    size_t taps = adx_taps_of_state(x, &tap);
    adx_slice *l = &c->shape.slice[j];
    *l = (adx_slice){ x->size, adx_rows_carried(x), c->n.window,
                      x->rows != NULL, x->last != NULL };
    c->shape.given[j] = c->n.in;
    for (size_t t = 0; t < taps; t++, c->n.in += l->size) {
        size_t row = l->depth - (size_t)-tap[t];
        adx_add_piece(c, l->size, l->base + row * l->size, 0);
    }
    c->n.window += adx_slice_numbers(l);
    c->n.out += l->size;
    c->n.told += l->told ? l->size : 0;
    c->n.results += l->last ? adx_slice_numbers(l) : 0;
}

// Describes a sequence: for each tap, a piece of the step's inputs, which goes
// to the next row with each step, or to the one before if the sequence is read
// backwards.
static void adx_describe_sequence(adx_scan *c, size_t j,
                                  const ad_scan_sequence *u, size_t steps)
{
    const int *tap;
    size_t taps = adx_taps_of_sequence(u, &tap);
    size_t low = 0;
    size_t rows = 0;
    ptrdiff_t size = (ptrdiff_t)u->size;
    adx_reach_of(u, steps, &low, &rows);
    c->shape.given[c->n.states + j] = c->n.in;
    for (size_t t = 0; t < taps; t++, c->n.in += u->size) {
        size_t row = low + (size_t)(ptrdiff_t)tap[t];
        row = u->backward ? u->rows - 1 - row : row;
        adx_add_piece(c, u->size, c->n.data + row * u->size,
                      u->backward ? -size : size);
    }
    c->n.data += u->rows * u->size;
}

// Describes a scan for its runs: pieces, slices, the window, and how many
// numbers there are of each.
static void adx_describe(adx_scan *c, const ad_scan_desc *d)
{
    c->shape.flat = true;
    for (size_t j = 0; j < d->states; j++) {
        adx_describe_state(c, j, &d->state[j]);
        c->shape.flat &= c->shape.slice[j].depth == 1;
    }
    c->shape.state_pieces = c->shape.pieces;
    for (size_t j = 0; j < d->sequences; j++)
        adx_describe_sequence(c, j, &d->sequence[j], d->steps);
    for (size_t j = 0; j < d->outputs; j++) {
        const ad_scan_output *o = &d->output[j];
        c->shape.slice[d->states + j] = (adx_slice){ .size = o->size,
                                               .told = o->row != NULL };
        c->n.out += o->size;
        c->n.told += o->row != NULL ? o->size : 0;
    }
    c->n.in += c->n.parameters + 1;     // and the number of the step
}

ADX_SELDOM_END

/* === loop/step ==============================================================
 * One step of a scan. Its inputs are gathered from the window, the sequences
 * and the parameters. It is called, with constants or recorded on a stage. Its
 * outputs shift the window by a row. On the way back its adjoints are gathered
 * and spread by the same pieces (loop/scan).
 *
 *   needs   number/recording tape/memory sweep/session array/linear
 *           bulk/captured loop/api loop/stage loop/scan
 *   offers  adx_state_bytes adx_window_of adx_is_lean adx_is_varying
 *           adx_point_at adx_call_step adx_gather_sequences adx_gather_taps
 *           adx_gather_step adx_add_few adx_spread_given adx_run_step
 *           adx_shift_window adx_copy_told adx_expect_results adx_tell_results
 *           adx_tell_step adx_weigh
 * ========================================================================== */

// A state: untraced data, aligned for anything; the window; in recorded
// functions, its tangents.
static size_t adx_window_at(const adx_scan *c)
{
    return (c->n.untraced + 7) / 8 * 8;
}

static size_t adx_state_bytes(const adx_scan *c)
{
    return adx_window_at(c)
         + c->n.window * sizeof(ad_real) * (c->shape.moving ? 2 : 1);
}

static ad_real *adx_window_of(const adx_stepping *k)
{
    return (ad_real *)(void *)(k->state + adx_window_at(k->scan));
}

// Whether the steps carry on no more than one row of each state. The numbers
// that a step is given then begin with the state itself.
static bool adx_is_lean(const adx_scan *c)
{
    const adx_scan_shape *s = &c->shape;
    return s->flat && s->state_pieces == 1 && c->n.untraced == 0 && !s->moving;
}

// Whether only the step itself says what it does.
static bool adx_is_varying(const adx_scan *c)
{
    return c->replay.varies || c->replay.used->varies;
}

// Says where a step finds its numbers, and where it leaves its results.
static void adx_point_at(adx_stepping *k, const ad_rev *x, ad_rev *y)
{
    const adx_scan *c = k->scan;
    for (size_t j = 0; j < c->n.states + c->n.sequences; j++)
        k->io.given[j] = x + c->shape.given[j];
    for (size_t j = 0; j < c->n.states + c->n.outputs; j++) {
        k->io.taken[j] = y;
        y += c->shape.slice[j].size;
    }
    k->io.step = (ad_step){
        .state = k->io.given, .sequence = k->io.given + c->n.states,
        .parameter = x + c->n.in - 1 - c->n.parameters,
        .next = k->io.taken, .output = k->io.taken + c->n.states,
        .untraced = k->state, .adx_owner = k
    };
}

// Calls the step with x and y. Returns whether it says that it was the last
// one.
static bool adx_call_step(adx_stepping *k, const ad_rev *x, ad_rev *y)
{
    const adx_scan *c = k->scan;
    ad_step s = k->io.step;
    adx_unset(c->n.out, y);
    k->io.number = x[c->n.in - 1];
    if (c->call.f != NULL)
        c->call.f(x, y, c->call.ctx);
    else
        c->call.step(&s, c->call.ctx);
    if (s.status == ADREV_OK && !adx_all_set(c->n.out, y))
        s.status = ADREV_ESHAPE;
    if (k->status == ADREV_OK)
        k->status = s.status;
    return s.stop;
}

ADX_API size_t ad_step_index(ad_step *s)
{
    s->adx_owner->scan->replay.varies = true;
    return s->adx_owner->io.index;
}

ADX_API ad_rev ad_step_number(ad_step *s)
{
    return s->adx_owner->io.number;
}

// Gathers what the taps of step s read of sequences.
ADX_INLINE void adx_gather_sequences(const adx_scan *c, size_t s,
                                     const ad_real data[], ad_real to[])
{
    for (size_t i = c->shape.state_pieces; i < c->shape.pieces; i++) {
        const adx_piece *p = &c->shape.piece[i];
        adx_copy_few(p->size, data + p->from + (ptrdiff_t)s * p->move,
                     to + p->at);
    }
}

// Gathers what all taps read, of the window, too, unless `to` begins with that.
static void adx_gather_taps(const adx_scan *c, size_t s, const ad_real window[],
                            const ad_real data[], ad_real to[])
{
    for (size_t i = 0; to != window && i < c->shape.state_pieces; i++)
        adx_copy_few(c->shape.piece[i].size, window + c->shape.piece[i].from,
                     to + c->shape.piece[i].at);
    adx_gather_sequences(c, s, data, to);
}

// Gathers the numbers that step s is given.
static void adx_gather_step(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    adx_gather_taps(c, s, adx_window_of(k), c->value, k->io.in);
    k->io.in[c->n.in - 1] = (ad_real)s;
    k->io.index = s;
}

// Adds n numbers, mostly so few that vectors would not be worth the tests
// before them; see adx_copy_few.
ADX_INLINE void adx_add_few(size_t n, const ad_real *from, ad_real *to)
{
    for (; n > 1; n -= 2, from += 2, to += 2) {
        ad_real x = to[0] + from[0];
        ADX_OPAQUE(from);
        ad_real y = to[1] + from[1];
        to[0] = x;
        ADX_OPAQUE(to);
        to[1] = y;
    }
    if (n > 0)
        *to += *from;
}

// Adds the adjoints of what step s was given, except for the window, where they
// belong: to the data of sequences, and to the parameters behind them.
ADX_INLINE void adx_spread_given(const adx_scan *c, size_t s,
                                 const ad_real dx[], ad_real data[])
{
    for (size_t i = c->shape.state_pieces; i < c->shape.pieces; i++) {
        const adx_piece *p = &c->shape.piece[i];
        adx_add_few(p->size, dx + p->at,
                    data + p->from + (ptrdiff_t)s * p->move);
    }
    adx_add_few(c->n.parameters, dx + c->n.in - 1 - c->n.parameters,
                data + c->n.data);
}

// Runs the step whose numbers were gathered, with constants or recorded: from
// rin to rout. Parameters that are constants already are not written again
// (stale).
static bool adx_run_step(adx_stepping *k, bool recorded)
{
    adx_scan *c = k->scan;
    size_t varying = k->io.stale ? c->n.in - 1 : c->n.in - 1 - c->n.parameters;
    adx_begin_run(k->stage, recorded);
    if (recorded)
        (ad_inputs)(c->n.in - 1, k->io.in, k->io.rin);
    else
        for (size_t i = 0; i < varying; i++)
            k->io.rin[i] = adx_passive(k->io.in[i]);
    k->io.stale = recorded;
    k->io.rin[c->n.in - 1] = adx_passive(k->io.in[c->n.in - 1]);
    c->report->evaluations++;
    c->report->recorded += recorded;
    bool stop = adx_call_step(k, k->io.rin, k->io.rout);
    ad_status status = adx_end_apart(k->stage->tape, c->n.out, k->io.rout);
    c->always |= k->stage->tape->always;
    c->replay.varies |= c->always;
    if (k->status == ADREV_OK)
        k->status = status;
    return stop;
}

// Shifts each state of the window by one row, and appends the new row.
static void adx_shift_window(const adx_scan *c, ad_real window[],
                             const ad_real out[])
{
    for (size_t i = 0; c->shape.flat && i < c->n.window; i++)
        window[i] = out[i];
    for (size_t j = 0; !c->shape.flat && j < c->n.states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        ad_real *row = window + l->base;
        size_t rest = (l->depth - 1) * l->size;
        memmove(row, row + l->size, rest * sizeof *row);
        for (size_t i = 0; i < l->size; i++)
            row[rest + i] = *out++;
    }
}

// Copies those numbers that a step returns, or their tangents, that are results
// of the scan. Returns where the next ones go.
static ad_real *adx_copy_told(const adx_scan *c, const ad_real out[],
                              ad_real to[])
{
    for (size_t j = 0; j < c->n.states + c->n.outputs; j++)
        for (size_t i = 0; i < c->shape.slice[j].size; i++, out++)
            if (c->shape.slice[j].told)
                *to++ = *out;
    return to;
}

// Makes room for the results of some steps. False: no memory.
static bool adx_expect_results(const adx_scan *c, adx_results_list *list,
                               size_t steps)
{
    return c->n.told == 0
        || adx_extend(&c->of.memory, (void **)&list->v, &list->room,
                      list->n + steps * c->n.told, sizeof *list->v);
}

// Appends the results of a step, for which there is room.
ADX_INLINE void adx_tell_results(const adx_scan *c, adx_results_list *list,
                                 const ad_real out[])
{
    if (c->n.told == 0)
        return;
    adx_copy_told(c, out, list->v + list->n);
    list->n += c->n.told;
}

static bool adx_tell_step(const adx_stepping *k, adx_results_list *list)
{
    if (!adx_expect_results(k->scan, list, 1))
        return false;
    adx_tell_results(k->scan, list, k->io.out);
    return true;
}

// The weights of step s: the adjoints of what it returned, which are those of
// the newest rows of the window plus those of results. Returns whether any is
// not 0.
static bool adx_weigh(const adx_scan *c, size_t s, const adx_frame *f,
                      const ad_real window[])
{
    const ad_real *dy = f->dy + s * c->n.told;
    ad_real *w = f->weight;
    bool any = false;
    for (size_t j = 0; j < c->n.states + c->n.outputs; j++) {
        const adx_slice *l = &c->shape.slice[j];
        const ad_real *carried = window + l->base
                               + (l->depth > 0 ? l->depth - 1 : 0) * l->size;
        for (size_t i = 0; i < l->size; i++, w++) {
            *w = (l->depth > 0 ? carried[i] : 0) + (l->told ? *dy++ : 0);
            any |= *w != 0;
        }
    }
    return any;
}

/* === loop/replay ============================================================
 * Steps are replayed if adrev_function.h is there. On the way back a step is
 * recorded as a function the first time, and again when two steps have taken
 * another path; up to ADX_PATHS functions are kept. Each step tries them in
 * turn, until the guards of one pass. Functions that an earlier scan has left
 * (ad_replays) also run forwards, as primals: behind the state they hand on
 * what the pullback of the same function needs (function/matrices).
 *
 * A recording does not see everything that a step does. So at some steps a
 * function is compared with the step itself. If they differ, the step is said
 * to vary: its functions are given up, and the run is repeated without them.
 *
 *   needs   number/recording tape/memory sweep/session function/api
 *           function/functions function/evaluation code/api code/wanted
 *           code/compile bulk/api bulk/maps loop/api loop/stage loop/schedule
 *           loop/scan loop/step
 *   offers  adx_free_paths adx_spare_states adx_take_spare_states
 *           adx_choose_replays adx_record_step adx_next_look_back
 *           adx_evaluation_of adx_end_evaluations adx_replay_step
 *           adx_count_behind adx_next_look adx_run_known_step
 * ========================================================================== */

static void adx_free_paths(ad_replays *r)
{
#ifdef ADREV_FUNCTION_IMPLEMENTED
    for (size_t i = 0; i < r->paths; i++)
        ad_fn_free(r->path[i].fn);
#endif
    r->paths = 0;
}

ADX_API ad_replays *ad_replays_new(const ad_allocator *allocator)
{
    const ad_allocator *a = allocator == NULL ? adx_allocator_or(NULL)
                                              : allocator;
    if (!adx_is_allocator(a))
        return NULL;
    ad_replays *r = (ad_replays *)adx_take(a, 1, sizeof *r);
    if (r != NULL)
        *r = (ad_replays){ .memory = *a };
    return r;
}

ADX_API void ad_replays_free(ad_replays *r)
{
    if (r == NULL)
        return;
    adx_free_paths(r);
    ad_allocator memory = r->memory;
    adx_free_state_pool(&memory, &r->spare);
    adx_drop(&memory, r);
}

// Returns the states of the level that keeps all states of a range. NULL: no
// such level is in memory.
static adx_state_pool *adx_full_state_pool(adx_timetable *p)
{
    adx_kept_level *l = p->levels == 0 ? NULL : &p->level[p->levels - 1];
    return l != NULL && l->every == 1 && l->store == NULL ? &l->pool : NULL;
}

static bool adx_same_memory(const ad_allocator *a, const ad_allocator *b)
{
    return a->alloc == b->alloc && a->free == b->free && a->user == b->user;
}

// Leaves the memory for all states to the next scan of these functions. Memory
// that has been used is cheaper than new memory, since the system has already
// given its pages. (bench: loop, scan comp, 0.83.)
static void adx_spare_states(adx_scan *c)
{
    adx_state_pool *full = adx_full_state_pool(&c->timetable);
    ad_replays *r = c->replay.used;
    if (full == NULL || r == NULL || r == &c->replay.own
        || r->spare.blocks > 0
        || !adx_same_memory(&r->memory, &c->timetable.memory))
        return;
    r->spare = *full;
    memset(full, 0, sizeof *full);
}

// Takes the memory that an earlier scan has left, if it has the right size;
// else frees it.
static void adx_take_spare_states(adx_scan *c)
{
    adx_state_pool *full = adx_full_state_pool(&c->timetable);
    adx_state_pool *spare = &c->replay.used->spare;
    if (full == NULL || spare->blocks == 0
        || !adx_same_memory(&c->replay.used->memory, &c->timetable.memory))
        return;
    if (spare->most != full->most || spare->bytes != full->bytes) {
        adx_free_state_pool(&c->timetable.memory, spare);
        return;
    }
    *full = *spare;
    memset(spare, 0, sizeof *spare);
    adx_count_bytes(&c->timetable, full->states * full->bytes);
}

// Returns a hash of how the numbers of a step are arranged (FNV-1a, word by
// word).
static uint64_t adx_layout_of(const adx_scan *c)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    size_t slices = c->n.states + c->n.outputs;
    const size_t counts[] = { c->n.states, c->n.sequences, c->n.outputs,
                              c->n.parameters, c->shape.pieces };
    for (size_t i = 0; i < 5 + slices + c->shape.pieces; i++) {
        size_t word = i < 5 ? counts[i]
                    : i < 5 + slices ? c->shape.slice[i - 5].size
                    : c->shape.piece[i - 5 - slices].at;
        h = (h ^ word) * UINT64_C(0x100000001b3);
    }
    return h;
}

static bool adx_same_call(const adx_step_call *a, const adx_step_call *b)
{
    return a->step == b->step && a->f == b->f && a->ctx == b->ctx;
}

// Chooses the functions of this scan: those that were given, if they belong to
// this step or to none yet; else the scan's own.
static void adx_choose_replays(adx_scan *c, ad_replays *given)
{
    ad_replays *r = &c->replay.own;
    *r = (ad_replays){ .memory = c->of.memory, .call = c->call, .in = c->n.in,
                       .out = c->n.out, .layout = adx_layout_of(c) };
    c->replay.used = r;
    if (given == NULL)
        return;
    if (given->call.step == NULL && given->call.f == NULL) {
        r->memory = given->memory;
        *given = *r;
    }
    if (adx_same_call(&given->call, &r->call) && given->in == r->in
        && given->out == r->out && given->layout == r->layout)
        c->replay.used = given;
}

#ifdef ADREV_FUNCTION_IMPLEMENTED

typedef struct adx_recorded_step {
    adx_stepping *k;
    bool stop;
} adx_recorded_step;

// Calls the step as the function that is being recorded.
static void adx_step_as_function(const ad_rev *x, ad_rev *y, void *ctx)
{
    adx_recorded_step *r = (adx_recorded_step *)ctx;
    adx_point_at(r->k, x, y);
    r->stop = adx_call_step(r->k, x, y);
    // That a result was not set has been noticed by now; the recorder need not
    // notice it, too.
    for (size_t i = 0; i < r->k->scan->n.out; i++)
        if (!adx_all_set(1, &y[i]))
            y[i] = adx_passive(0);
}

// Returns how many numbers a step may hand on: as many as take three quarters
// of the memory of the state, or four if the state is small. (bench: lstm, scan
// comp, clang, 0.93 of half the memory.)
static size_t adx_hands_on(const adx_scan *c)
{
    return c->n.window > 5 ? c->n.window * 3 / 4 : 4;
}

// Records the step whose inputs were gathered as a function.
static ad_status adx_record_step(adx_stepping *k, const ad_allocator *a,
                                 ad_fn **fn, bool *stop)
{
    const adx_scan *c = k->scan;
    const ad_fn_options options = { .allocator = a, .once = true };
    adx_recorded_step r = { .k = k };
    ad_status status = ad_fn_record_with(fn, &options, adx_step_as_function,
                                         &r, c->n.in, k->io.in, c->n.out);
    adx_point_at(k, k->io.rin, k->io.rout);
    *stop = r.stop;
    return status;
}

// What the programs that are derived from a path have to know, and machine code
// of them.
static void adx_prepare_path(const adx_scan *c, ad_fn *fn)
{
    fn->repeated.hands_on = adx_hands_on(c);
    if (adx_is_lean(c)) {
        fn->repeated.carried = c->n.window;
        fn->repeated.parameters = c->n.parameters;
    }
    if (c->replay.compiled) {
        ad_compile_report unread = { .reason = ADREV_COMPILE_DONE };
        adx_compile(fn, NULL, &unread, adx_handed_on(fn) == 0
                    ? 0u : (unsigned)(ADX_C_PRIMAL | ADX_C_PULLBACK));
    }
}

// Records step s as a function. If that is impossible, the step varies from now
// on: it is never replayed.
static void adx_record_path(adx_stepping *k, size_t s)
{
    adx_scan *c = k->scan;
    ad_replays *p = c->replay.used;
    ad_status before = k->status;
    ad_fn *fn;
    bool stop;
    adx_long_loop = false;
    ad_status status = adx_record_step(k, &p->memory, &fn, &stop);
    bool failed = status != ADREV_OK || k->status != before || c->replay.varies
               || adx_long_loop || adx_is_empty(fn);
    // If the step failed although nothing else did, it fails itself; otherwise
    // it may only have passed on that it cannot be recorded.
    if (status != ADREV_OK)
        k->status = status == ADREV_ENOMEM ? status : before;
    if (failed) {
        ad_fn_free(fn);
        p->varies = status != ADREV_ENOMEM;
        return;
    }
    adx_prepare_path(c, fn);
    p->path[p->paths++] = (adx_step_path){ .fn = fn, .stop = stop, .upto = s };
    c->report->paths++;
}

// Whether a function is compared with step s of the first sweep: with a
// sixteenth of the steps, counted from the last one; and if an earlier scan has
// compared it before, only with some at distances of powers of two.
static bool adx_is_looked_at(const adx_scan *c, const adx_step_path *p,
                             size_t s)
{
    size_t far = c->steps - 1 - s;
    bool known = c->replay.known > 0;
    return !c->replay.swept && (p->upto != s || known)
        && (known ? (far & (far - 1)) == 0 : adx_is_sampled(far));
}

// Returns the first step from s down at which a function is compared; SIZE_MAX:
// there is none.
static size_t adx_next_look_back(const adx_scan *c, size_t s)
{
    size_t last = c->steps - 1;
    size_t far = c->replay.known > 0 ? adx_next_power(last - s)
                              : adx_next_sample(last - s);
    return c->replay.swept || far > last ? SIZE_MAX : last - far;
}

// Whether a function does what the step does here. It does not if the step
// reads x.v, which no recording sees, or anything that changes.
static bool adx_is_true_to_step(adx_stepping *k, const adx_step_path *p)
{
    adx_scan *c = k->scan;
    adx_run_step(k, false);
    c->report->evaluations--;
    c->report->checks++;
    if (k->status != ADREV_OK)
        return true;                    // the whole run fails
    bool same = ad_fn_eval(p->fn, k->io.in, k->io.out) == ADREV_OK;
    for (size_t i = 0; same && i < c->n.out; i++)
        same = adx_is_near(k->io.out[i], k->io.rout[i].v);
    return same;
}

// Gives up all functions: from now on only the step itself runs, and this run
// is repeated. But if this is a sweep and the first run used functions, results
// of the scan are wrong, and the sweep can only fail.
static void adx_mistrust(adx_stepping *k)
{
    adx_scan *c = k->scan;
    c->replay.used->varies = true;
    if (c->replay.by_function && !k->first)
        k->status = ADREV_EEXTERNAL;
    else
        k->replay.again = true;
}

// Begins to evaluate a path in one of the ways (ADX_CALL_...). NULL: no memory.
static adx_evaluation *adx_new_evaluation(adx_stepping *k, size_t path, int how)
{
    static const adx_kind kind[] = {
        ADX_KIND_value, ADX_KIND_primal, ADX_KIND_vjp, ADX_KIND_pullback,
        ADX_KIND_unrolled
    };
    enum { ALL = ADX_PATHS * ADX_CALLS };
    if (k->replay.evaluation == NULL) {
        k->replay.evaluation = (adx_evaluation *)adx_take(
            &k->scan->of.memory, ALL, sizeof *k->replay.evaluation);
        if (k->replay.evaluation == NULL)
            return NULL;
        memset(k->replay.evaluation, 0, ALL * sizeof *k->replay.evaluation);
    }
    adx_evaluation *to = &k->replay.evaluation[path * ADX_CALLS + (size_t)how];
    ad_fn *fn = k->scan->replay.used->path[path].fn;
    if (adx_begin_evaluation(to, fn, kind[how]))
        return to;
    adx_end_evaluation(to);
    return NULL;
}

ADX_INLINE adx_evaluation *adx_evaluation_of(adx_stepping *k, size_t path,
                                             int how)
{
    size_t i = path * ADX_CALLS + (size_t)how;
    return k->replay.evaluation != NULL && k->replay.evaluation[i].fn != NULL
         ? &k->replay.evaluation[i] : adx_new_evaluation(k, path, how);
}

static void adx_end_evaluations(adx_stepping *k)
{
    adx_evaluation *all = k->replay.evaluation;
    for (size_t i = 0; all != NULL && i < ADX_PATHS * ADX_CALLS; i++)
        if (all[i].fn != NULL)
            adx_end_evaluation(&all[i]);
    adx_drop(&k->scan->of.memory, all);
}

// Returns 1 + the path whose primal has handed numbers on behind the state, or
// 0.
ADX_INLINE size_t adx_who_handed_on(const adx_scan *c)
{
    return c->timetable.behind == NULL ? 0 : (size_t)*c->timetable.behind;
}

// Computes the adjoints of the gathered inputs from the weights of the results,
// by path i: by its pullback if its primal ran here, else by its vjp. False:
// the step does not take this path.
ADX_INLINE bool adx_pull_path(adx_stepping *k, size_t i, const ad_real weight[],
                              ad_real product[])
{
    const adx_scan *c = k->scan;
    const adx_given x = { k->io.in, c->n.in };
    const adx_given w = { weight, c->n.out };
    const adx_wanted dx = { 0, c->n.in, product };
    if (adx_who_handed_on(c) == i + 1) {
        const adx_given given[] = {
            x, w, { c->timetable.behind + 1, c->replay.used->path[i].kept }
        };
        adx_evaluation *to = adx_evaluation_of(k, i, ADX_CALL_pullback);
        return to != NULL && adx_evaluate_next(to, 3, given, 1, &dx);
    }
    const adx_given given[] = { x, w };
    adx_evaluation *to = adx_evaluation_of(k, i, ADX_CALL_vjp);
    return to != NULL && adx_evaluate_next(to, 2, given, 1, &dx);
}

// The same for step s, for which the path must be allowed. It also returns
// false if the function does not do what the step does.
static bool adx_try_path(adx_stepping *k, size_t i, size_t s)
{
    adx_scan *c = k->scan;
    const adx_step_path *p = &c->replay.used->path[i];
    if ((i >= c->replay.known && s > p->upto)
        || !adx_pull_path(k, i, k->f.weight, k->f.product))
        return false;
    k->replay.latest = i;
    if (adx_is_looked_at(c, p, s) && !adx_is_true_to_step(k, p)) {
        adx_mistrust(k);
        return false;
    }
    c->report->evaluations++;
    c->report->replayed++;
    return true;
}

// Computes the adjoints of the inputs of step s, by the function for its path.
// False: there is none. If a primal ran here, only its path is tried.
static bool adx_try_paths(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    size_t handed = adx_who_handed_on(c);
    size_t n = c->replay.swept ? c->replay.limit : c->replay.used->paths;
    if (handed > 0)
        return adx_try_path(k, handed - 1, s);
    for (size_t i = 0; i < n && !c->replay.used->varies; i++)
        if (adx_try_path(k, i, s))
            return true;
    return false;
}

// Reverses step s by a function. A function is recorded if there is none, or if
// this is the second step for which none is right. False: the step itself must
// run.
static bool adx_replay_step(adx_stepping *k, size_t s)
{
    adx_scan *c = k->scan;
    ad_replays *r = c->replay.used;
    if (adx_is_varying(c)
        || (c->replay.known == 0 && c->steps < ADREV_REPLAY_FROM))
        return false;
    if (r->paths == 0 && !c->replay.swept)
        adx_record_path(k, s);
    if (adx_try_paths(k, s))
        return true;
    if (c->replay.swept || r->varies || r->paths == ADX_PATHS
        || r->missed++ % 2 == 0)
        return false;
    adx_record_path(k, s);
    return adx_try_paths(k, s);
}

// Counts the numbers that are needed behind each state: which function ran, and
// the most numbers that a known function hands on.
static void adx_count_behind(adx_scan *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->replay.known; i++) {
        adx_step_path *p = &c->replay.used->path[i];
        p->kept = adx_handed_on(p->fn);
        most = p->kept > most ? p->kept : most;
    }
    c->replay.behind = most == 0 ? 0 : 1 + most;
}

// Computes the results of the step whose inputs were gathered, by path i.
// Forwards a function is used only where that pays: if it is machine code, if
// its primal hands something on, and in lean runs (bench: sir, scan repl,
// clang, 0.87). False: it is not used, or the step does not take this path.
static bool adx_run_path(adx_stepping *k, size_t i, bool lean)
{
    const adx_scan *c = k->scan;
    ad_real *behind = c->timetable.behind;
    size_t kept = behind == NULL ? 0 : c->replay.used->path[i].kept;
    kept = kept < c->replay.behind ? kept : 0;     // as a later scan counted it
    const adx_given x = { k->io.in, c->n.in };
    const adx_wanted wanted[] = {
        { 0, c->n.out, k->io.out },
        { c->n.out, kept, kept > 0 ? behind + 1 : NULL }
    };
    if (kept == 0) {
        adx_evaluation *to = c->replay.compiled || lean
                              ? adx_evaluation_of(k, i, ADX_CALL_value) : NULL;
        return to != NULL && adx_evaluate_next(to, 1, &x, 1, wanted);
    }
    adx_evaluation *to = adx_evaluation_of(k, i, ADX_CALL_primal);
    if (to == NULL || !adx_evaluate_next(to, 1, &x, 2, wanted))
        return false;
    *behind = (ad_real)(i + 1);
    return true;
}

// Returns the next step, from s on, at which the first run compares a function
// with the step: step 0 and the powers of two.
static size_t adx_next_look(const adx_stepping *k, size_t s)
{
    return k->first ? adx_next_power(s) : SIZE_MAX;
}

// Does the step whose inputs were gathered by a function that an earlier scan
// has left. False: the step itself must run.
static bool adx_run_known_step(adx_stepping *k, bool *stop)
{
    adx_scan *c = k->scan;
    bool look = adx_next_look(k, k->io.index) == k->io.index;
    if (adx_is_varying(c) || (k->replay.rest > 0 && !c->replay.compiled))
        return false;
    for (size_t i = 0; i < c->replay.known; i++) {
        const adx_step_path *p = &c->replay.used->path[i];
        if (!adx_run_path(k, i, look && k->io.lean))
            continue;
        if (look && !adx_is_true_to_step(k, p)) {
            adx_mistrust(k);
            return false;
        }
        c->report->evaluations++;
        c->report->replayed++;
        c->replay.by_function |= k->first;
        k->replay.latest = i;
        *stop = p->stop;
        return true;
    }
    return false;
}

#else

static bool adx_replay_step(adx_stepping *k, size_t s)
{
    (void)k;
    (void)s;
    return false;
}

static bool adx_run_known_step(adx_stepping *k, bool *stop)
{
    (void)k;
    (void)stop;
    return false;
}

static void adx_end_evaluations(adx_stepping *k) { (void)k; }

static void adx_count_behind(adx_scan *c) { (void)c; }

#endif

/* === loop/lean ============================================================
 * A scan is lean if its steps carry on one row of each state and nothing else.
 * Then most steps in a row take the same path. In this room one function does
 * many of them, without the layers that other loops need. Inputs that do not
 * change stay where the function reads them. The run ends at a step that is
 * special in any way, which the other layers then do: a step that takes another
 * path, that is compared with its function, or that has a result that is not
 * finite. If runs turn out to be short, no new one is begun for a while.
 * (bench: loop, scan comp, 0.5; scan repl, 0.88.)
 *
 *   needs   array/linear function/api function/program function/matrices
 *           function/run function/functions function/evaluation loop/schedule
 *           loop/scan loop/step loop/replay
 *   offers  adx_go_lean
 * ========================================================================== */

#ifdef ADREV_FUNCTION_IMPLEMENTED

enum { ADX_SHORT_RUN = 4, ADX_REST = 64 };

// A run of lean steps by one function.
typedef struct adx_lean {
    adx_stepping *k;
    size_t path;
    adx_kept_level *level;      // of the states; NULL: they are not kept
    size_t base;                // state 0 is that before this step
    char *at;                   // the latest state
    size_t near;                // states that follow it in the same block, in
                                // the direction of the run
    ptrdiff_t stride;           // from a state to the next, in bytes
    ad_real tag;                // in front of the numbers handed on: 1 + the
                                // path, or 0
    size_t kept;                // numbers that are handed on
    const adx_evaluation *by;
    bool cut;                   // it ended at a step that is not for `by`
} adx_lean;

// Begins a run: in the way `handing` if numbers are handed on, else in the way
// `plain`.
static bool adx_begin_lean(adx_lean *r, int plain, int handing)
{
    r->by = adx_evaluation_of(r->k, r->path, r->kept > 0 ? handing : plain);
    return r->by != NULL;
}

// Whether no run should begin now, because the latest one was short.
static bool adx_has_rest(adx_stepping *k)
{
    if (k->replay.rest == 0)
        return false;
    k->replay.rest--;
    return true;
}

static void adx_end_lean(const adx_lean *r, size_t steps)
{
    r->k->scan->report->evaluations += steps;
    r->k->scan->report->replayed += steps;
    r->k->replay.rest = r->cut && steps < ADX_SHORT_RUN ? ADX_REST : 0;
}

// Finds state s, which begins a new block or a run. False: there is no room.
static bool adx_find_state(adx_lean *r, size_t s)
{
    adx_state_pool *pool = &r->level->pool;
    r->at = adx_in_state_pool(&r->k->scan->timetable, pool, s - r->base);
    size_t last = ((size_t)1 << pool->bits) - 1;
    size_t number = (s - r->base) & last;
    r->near = r->at == NULL ? 0 : r->stride < 0 ? number : last - number;
    return r->at != NULL;
}

// Returns state s, which follows the latest one. *behind becomes the tag
// behind it. NULL: there is no room. Memory further on is fetched before it is
// needed. (bench: loop, scan repl, 10^6 steps, 0.93.)
ADX_INLINE ad_real *adx_next_state(adx_lean *r, size_t s, ad_real **behind)
{
    if (r->near > 0) {
        r->near--;
        r->at += r->stride;
    } else
        adx_find_state(r, s);
    ADX_FETCH((uintptr_t)r->at + (r->stride < 0 ? (uintptr_t)0 - ADX_FAR
                                                : ADX_FAR));
    *behind = adx_behind_state(&r->k->scan->timetable, r->level, r->at);
    return (ad_real *)(void *)r->at;
}

// Keeps x as state s, if states are kept, and says where the numbers handed on
// are to be written. False: no memory.
ADX_INLINE bool adx_keep_lean(adx_lean *r, size_t s, const ad_real x[],
                              ad_real **handed)
{
    ad_real *behind;
    *handed = NULL;
    if (r->level == NULL)
        return true;
    ad_real *at = adx_next_state(r, s, &behind);
    if (at == NULL)
        return false;
    adx_copy_few(r->k->scan->n.window, x, at);
    if (behind != NULL)
        *behind = r->tag;
    *handed = r->kept > 0 ? behind + 1 : NULL;
    return true;
}

// Returns the state before step s, and the numbers that were handed on with it.
// NULL: its tag differs from that of the run.
ADX_INLINE const ad_real *adx_fetch_lean(adx_lean *r, size_t s,
                                         const ad_real **handed)
{
    ad_real *behind;
    const ad_real *at = adx_next_state(r, s, &behind);
    *handed = behind == NULL ? NULL : behind + 1;
    return behind != NULL && *behind != r->tag ? NULL : at;
}

// Returns the weights of step s, from the adjoints of the state; NULL: all are
// 0. If all results are the state, its adjoints are the weights.
ADX_INLINE const ad_real *adx_weigh_lean(const adx_stepping *k, size_t s,
                                         const ad_real carried[])
{
    const adx_scan *c = k->scan;
    if (c->n.told > 0 || c->n.out > c->n.window)
        return adx_weigh(c, s, &k->f, carried) ? k->f.weight : NULL;
    return adx_zeros(c->n.window, carried) ? NULL : carried;
}

// Gathers those inputs of a step, besides its state, that change.
ADX_INLINE void adx_gather_lean(const adx_scan *c, size_t s, ad_real x[])
{
    adx_gather_sequences(c, s, c->value, x);
    x[c->n.in - 1] = (ad_real)s;
}

// Takes n results of a replay. Returns whether all are finite.
ADX_INLINE bool adx_take_results(const adx_evaluation *by, size_t first,
                                 size_t n, ad_real y[])
{
    const uint32_t *from = by->machine->output + first;
    const ad_real *w = by->work->w;
    ad_real fault = 0;
    size_t i = 0;
    for (; i + 1 < n; i += 2) {     // two at a time: see adx_copy_few
        ad_real a = w[from[i]];
        ad_real b = w[from[i + 1]];
        fault += a * 0 + b * 0;
        y[i] = a;
        y[i + 1] = b;
    }
    if (i < n) {
        y[i] = w[from[i]];
        fault += y[i] * 0;
    }
    return fault == 0;
}

// Computes the results of a step, and what it hands on, by machine code or a
// replay. False: the function cannot do this step.
ADX_INLINE bool adx_lean_primal(const adx_lean *r, bool compiled,
                               const ad_real x[], ad_real y[], ad_real handed[])
{
    const adx_scan *c = r->k->scan;
    const adx_evaluation *by = r->by;
    const adx_compiled *code = &by->fn->compiled[by->kind];
    const adx_given given = { x, c->n.in };
    if (compiled)
        return adx_call_compiled(code, 1, &given, y, handed, by->room->w) == 0
            && (code->checks || adx_finite_few(c->n.out, y));
    return adx_nodes_plain(by->machine, by->work->w) == NULL
        && adx_take_results(by, 0, c->n.out, y)
        && adx_take_results(by, c->n.out, r->kept, handed);
}

// Computes the adjoints dx of the inputs of a step from its weights. False: the
// function cannot do this step.
ADX_INLINE bool adx_lean_pullback(const adx_lean *r, bool compiled,
                                  const ad_real x[], const ad_real w[],
                                  const ad_real handed[], ad_real dx[])
{
    const adx_scan *c = r->k->scan;
    const adx_evaluation *by = r->by;
    const adx_compiled *code = &by->fn->compiled[by->kind];
    const adx_given given[] = { { x, c->n.in }, { w, c->n.out },
                                { handed, r->kept } };
    if (compiled)
        return adx_call_compiled(code, r->kept > 0 ? 3 : 2, given, dx, NULL,
                                 by->room->w) == 0
            && (code->checks || adx_finite_few(c->n.in - 1, dx));
    adx_copy_few(c->n.out, w, by->work->w + c->n.in);
    adx_copy_few(r->kept, handed, by->work->w + c->n.in + c->n.out);
    return adx_nodes_plain(by->machine, by->work->w) == NULL
        && adx_take_results(by, 0, c->n.in - 1, dx);
}

// Whether there is machine code that does many steps at once. It can do so only
// if no step has results of the scan.
static bool adx_has_loop(const adx_lean *r)
{
    return r->k->scan->n.told == 0
        && r->by->fn->compiled[r->by->kind].loop != NULL;
}

// The numbers of sequences that a step reads: for each number, where it is at
// one step, and how far it moves from step to step.
typedef struct adx_moving_data {
    const ad_real *data[ADX_CHECKED_MOST];
    ad_real *sums[ADX_CHECKED_MOST];       // adjoints; back only
    long move[ADX_CHECKED_MOST];
} adx_moving_data;

// Lists the numbers of sequences that step s reads; `back`: with where their
// adjoints are added.
static void adx_list_data(adx_moving_data *d, const adx_stepping *k, size_t s,
                          bool back)
{
    const adx_scan *c = k->scan;
    for (size_t i = c->shape.state_pieces; i < c->shape.pieces; i++) {
        const adx_piece *p = &c->shape.piece[i];
        size_t from = p->from + (size_t)((ptrdiff_t)s * p->move);
        for (size_t j = 0; j < p->size; j++) {
            size_t at = p->at - c->n.window + j;
            d->data[at] = c->value + from + j;
            d->sums[at] = back ? k->f.dx + c->n.window + from + j : NULL;
            d->move[at] = (long)(back ? -p->move : p->move);
        }
    }
}

// Lets machine code do many of the next `steps` steps, beginning with step s,
// as long as their states are in one block. Returns how many it did. (bench:
// loop, scan comp, 0.86.)
static size_t adx_do_loop(adx_lean *r, bool back, size_t s, size_t steps)
{
    const adx_stepping *k = r->k;
    const adx_scan *c = k->scan;
    ad_real *behind = NULL;
    adx_moving_data d;
    if (r->level != NULL) {
        if (!adx_find_state(r, s))
            return 0;
        steps = steps <= r->near ? steps : r->near + 1;
        behind = adx_behind_state(&c->timetable, r->level, r->at);
        r->near = 0;            // the next one is looked for
    }
    adx_list_data(&d, k, s, back);
    return (size_t)r->by->fn->compiled[r->by->kind].loop(
        (long)steps, (long)s, back ? k->f.carried : k->io.in,
        (ad_real *)(void *)r->at,
        (long)(r->stride / (ptrdiff_t)sizeof(ad_real)),
        behind != NULL ? &r->tag : NULL, d.data, d.sums, d.move,
        k->io.in + c->n.in - 1 - c->n.parameters,
        back ? k->f.dx + c->n.window + c->n.data : NULL, r->by->room->w);
}

// Steps are unrolled only if they have few operations; otherwise the operations
// take nearly all of the time. If the program is made for one scan only, it
// must save more than it costs to make it, which is what some 2000 steps save.
enum { ADX_UNROLLED_NODES = 64, ADX_UNROLLED_PAYS = 2000 };

// Whether a step is short enough to be unrolled, and has the shape for it. An
// unrolled pullback does not test guards. So there must be none, or the steps
// must be known to be on this path (passed).
static bool adx_may_unroll(const ad_fn *fn, bool passed)
{
    const adx_program *p = &fn->program;
    const adx_repeated *step = &fn->repeated;
    bool fits = step->carried > 0 && p->outputs == step->carried
             && p->manys == 0
             && p->inputs == step->carried + step->parameters + 1
             && p->nodes <= ADX_UNROLLED_NODES;
    for (size_t i = 0; fits && !passed && i < p->nodes; i++)
        fits = p->node[i].op != ADX_OP_guard;
    return fits;
}

// Returns the evaluation that replays ADX_UNROLLED pullbacks at once; `steps`
// steps are to be done. NULL: there is none, or it does not pay.
static const adx_evaluation *adx_unrolled_of(const adx_lean *r, size_t steps)
{
    const adx_scan *c = r->k->scan;
    if (steps < (r->path < c->replay.known ? ADX_UNROLLED : ADX_UNROLLED_PAYS)
        || c->n.told > 0
        || !adx_may_unroll(r->by->fn, r->tag > 0))
        return NULL;
    size_t n = ADX_UNROLLED * (c->n.window + r->kept + 1)
             + 2 * c->n.parameters + c->n.window;
    const adx_evaluation *by =
        adx_evaluation_of(r->k, r->path, ADX_CALL_unrolled);
    return by != NULL && by->machine->inputs == n ? by : NULL;
}

// Reverses steps before s, down to `from`, ADX_UNROLLED at a time, as long as
// they keep to the function. Returns the earliest step that is reversed then.
// f.carried are the adjoints of the state, before and after. (bench: loop, scan
// repl, 0.90.)
//
// The inputs of the unrolled program are in its workspace, in the order of
// adx_make_unrolled. Adjoints of the state and of the parameters are among them
// (w): they are the results of each group of steps, and go back there as inputs
// of the next.
static size_t adx_run_unrolled(adx_lean *r, size_t from, size_t s)
{
    const adx_frame *f = &r->k->f;
    const adx_scan *c = r->k->scan;
    const size_t n = c->n.window;
    const size_t each = n + r->kept;
    const adx_evaluation *by = adx_unrolled_of(r, s - from);
    if (by == NULL)
        return s;
    ad_real *sums = f->dx + n + c->n.data;
    ad_real *x = by->work->w;           // its inputs: see adx_make_unrolled
    ad_real *number = x + ADX_UNROLLED * each + c->n.parameters;
    ad_real *w = number + ADX_UNROLLED;
    adx_copy_few(c->n.parameters, r->k->io.in + n, number - c->n.parameters);
    adx_copy_few(n, f->carried, w);
    adx_copy_few(c->n.parameters, sums, w + n);
    for (; s - from >= ADX_UNROLLED && !adx_zeros(n, w); s -= ADX_UNROLLED) {
        const ad_real *at = x;
        for (size_t i = ADX_UNROLLED; i-- > 0;) {
            const ad_real *handed;
            size_t step = s - ADX_UNROLLED + i;
            at = adx_fetch_lean(r, step, &handed);
            if (at == NULL)
                break;
            adx_copy_few(n, at, x + i * each);
            adx_copy_few(r->kept, handed, x + i * each + n);
            number[i] = (ad_real)step;
        }
        if (at == NULL || adx_nodes_plain(by->machine, x) != NULL
            || !adx_take_results(by, 0, n + c->n.parameters, f->product))
            break;
        adx_copy_few(n + c->n.parameters, f->product, w);
    }
    r->near = 0;                // the next state is looked for
    adx_copy_few(n, w, f->carried);
    adx_copy_few(c->n.parameters, w + n, sums);
    return s;
}

// Returns where the function reads its inputs: machine code in io.in, a replay
// in its workspace, to which the inputs are copied once.
ADX_INLINE ad_real *adx_given_to(const adx_lean *r, bool compiled)
{
    if (compiled)
        return r->k->io.in;
    adx_copy_few(r->k->scan->n.in, r->k->io.in, r->by->work->w);
    return r->by->work->w;
}

// Does steps from s on, as far as `to`. Returns the step at which the run ends.
// io.in begins with the state, before the run and after it. If the results of
// machine code are the state and nothing else, they become the inputs of the
// next step without a copy: two arrays take turns.
ADX_INLINE size_t adx_run_primal(adx_lean *r, bool compiled, size_t s,
                                 size_t to)
{
    adx_stepping *k = r->k;
    const adx_scan *c = k->scan;
    ad_real *handed;
    for (size_t n = 1; n > 0 && s < to && compiled && adx_has_loop(r); s += n)
        n = adx_do_loop(r, false, s, to - s);
    ad_real *x = adx_given_to(r, compiled);
    ad_real *y = k->io.in_next;
    bool turns = compiled && c->n.out == c->n.window;
    if (turns)
        adx_copy_few(c->n.in, x, y);
    for (; s < to && adx_keep_lean(r, s, x, &handed); s++) {
        adx_gather_lean(c, s, x);
        r->cut = !adx_lean_primal(r, compiled, x, y, handed);
        if (r->cut)
            break;
        if (k->list != NULL)
            adx_tell_results(c, k->list, y);
        if (turns) {
            ad_real *t = x;
            x = y;
            y = t;
        } else
            adx_copy_few(c->n.window, y, x);
    }
    if (x != k->io.in)
        adx_copy_few(c->n.window, x, k->io.in);
    return s;
}

// Reverses steps before s, down to `from`. Returns the earliest step that is
// reversed. f.carried are the adjoints of the state, before the run and after
// it. Machine code, or an unrolled program, first does many steps at once. The
// others are done one by one, and the adjoints of each are the weights of the
// step before it.
ADX_INLINE size_t adx_run_pullback(adx_lean *r, bool compiled, size_t from,
                                   size_t s)
{
    const adx_stepping *k = r->k;
    const adx_scan *c = k->scan;
    const adx_frame *f = &k->f;
    const ad_real *handed;
    for (size_t n = 1; n > 0 && s > from && compiled && adx_has_loop(r); s -= n)
        n = adx_do_loop(r, true, s - 1, s - from);
    if (!compiled)
        s = adx_run_unrolled(r, from, s);
    const ad_real *carried = f->carried;
    ad_real *x = adx_given_to(r, compiled);
    ad_real *dx = f->product;
    for (; s > from; s--) {
        const ad_real *at = adx_fetch_lean(r, s - 1, &handed);
        const ad_real *w = adx_weigh_lean(k, s - 1, carried);
        if (at == NULL || w == NULL)
            break;
        adx_copy_few(c->n.window, at, x);
        adx_gather_lean(c, s - 1, x);
        r->cut = !adx_lean_pullback(r, compiled, x, w, handed, dx);
        if (r->cut)
            break;
        adx_spread_given(c, s - 1, dx, f->dx + c->n.window);
        carried = dx;
        dx = dx == f->product ? k->sweep.room : f->product;
    }
    if (carried != f->carried)
        adx_copy_few(c->n.window, carried, f->carried);
    return s;
}

// See adx_timetable.advance_some. Tries the path of the latest step, up to the
// next step that is to be compared.
static size_t adx_advance_lean(void *user, adx_kept_level *l, size_t base,
                               size_t from, size_t to)
{
    adx_stepping *k = (adx_stepping *)user;
    adx_scan *c = k->scan;
    const adx_step_path *p = &c->replay.used->path[k->replay.latest];
    adx_lean r = { .k = k, .path = k->replay.latest, .level = l, .base = base };
    if (adx_is_varying(c) || c->replay.known <= r.path || p->stop)
        return from;
    size_t look = adx_next_look(k, from);
    if (look == from || adx_has_rest(k))
        return from;
    r.stride = l == NULL ? 0 : (ptrdiff_t)l->pool.bytes;
    if (l != NULL && l->behind > p->kept && p->kept > 0) {
        r.kept = p->kept;
        r.tag = (ad_real)(r.path + 1);
    }
    if (!adx_begin_lean(&r, ADX_CALL_value, ADX_CALL_primal))
        return from;
    to = look < to ? look : to;
    if (k->list != NULL && !adx_expect_results(c, k->list, to - from))
        return from;
    size_t s = r.by->room == NULL ? adx_run_primal(&r, false, from, to)
                                  : adx_run_primal(&r, true, from, to);
    c->replay.by_function |= k->first && s > from;
    adx_end_lean(&r, s - from);
    return s;
}

// See adx_timetable.reverse_some. Tries the path whose primal ran at step to -
// 1, or that of the latest step, down to the next step that is to be compared.
static size_t adx_reverse_lean(void *user, adx_kept_level *l, size_t base,
                               size_t from, size_t to)
{
    adx_stepping *k = (adx_stepping *)user;
    adx_scan *c = k->scan;
    const ad_real *behind;
    adx_lean r = { .k = k, .level = l, .base = base,
                   .stride = -(ptrdiff_t)l->pool.bytes };
    if (k->sweep.connects || adx_is_varying(c)
        || (c->n.told == 0 && adx_zeros(c->n.window, k->f.carried))
        || !adx_find_state(&r, to - 1))
        return to;
    behind = adx_behind_state(&c->timetable, l, r.at);
    r.near = 0;                 // this is the next one, not the latest
    r.tag = behind == NULL ? 0 : *behind;
    r.path = r.tag > 0 ? (size_t)r.tag - 1 : k->replay.latest;
    const adx_step_path *p = &c->replay.used->path[r.path];
    r.kept = r.tag > 0 ? p->kept : 0;
    if (r.path >= (c->replay.swept ? c->replay.limit : c->replay.used->paths)
        || (r.path >= c->replay.known && to > p->upto) || adx_has_rest(k)
        || !adx_begin_lean(&r, ADX_CALL_vjp, ADX_CALL_pullback))
        return to;
    size_t look = adx_next_look_back(c, to - 1);
    if (look != SIZE_MAX && look >= from)
        from = look + 1;
    size_t s = r.by->room == NULL ? adx_run_pullback(&r, false, from, to)
                                  : adx_run_pullback(&r, true, from, to);
    adx_end_lean(&r, to - s);
    return s;
}

static void adx_go_lean(adx_stepping *k)
{
    adx_timetable *p = &k->scan->timetable;
    p->advance_some = k->io.lean ? adx_advance_lean : NULL;
    p->reverse_some = k->io.lean ? adx_reverse_lean : NULL;
}

#else

static void adx_go_lean(adx_stepping *k) { (void)k; }

#endif

/* === loop/resume ============================================================
 * A sweep of a scan whose store has `resume` goes on where an earlier process
 * has ended. Level 0 divides the steps into ranges (loop/schedule). When a
 * range has been reversed, the store gets the adjoints that the sweep carries,
 * and those of the rows of sequences that the steps of the range read. A sweep
 * that finds these in the store takes them instead of reversing the range.
 *
 * The bits must not depend on where the sweep began. So functions that replay
 * steps are recorded anew in each range, and none come from other scans.
 *
 *   needs   tape/layout tape/memory tape/hooks loop/api loop/schedule
 *           loop/scan loop/step loop/replay
 *   offers  adx_is_resumed adx_name_scan adx_note_found adx_begin_resuming
 * ========================================================================== */

static bool adx_is_resumed(const adx_scan *c)
{
    return c->schedule.store != NULL && c->schedule.store->resume;
}

// A number that says which scan this is, in any process: a hash of its sizes,
// of where it stands on the tape, and of the values that it begins with.
static void adx_name_scan(adx_scan *c, const adx_stepping *k)
{
    const ad_tape *t = k->before;       // where forks are, places vary
    const uint64_t place = t->annex == NULL ? adx_live(t)->seq : 0;
    const uint64_t sizes[] = { c->n.in, c->n.out, c->n.window, c->n.data,
                               c->n.parameters, c->n.told, c->n.results,
                               c->n.untraced, c->most_steps,
                               c->schedule.store->every, place };
    uint64_t h = adx_mix_bytes(c->replay.used->layout, sizeof sizes, sizes);
    h = adx_mix_bytes(h, (c->n.data + c->n.parameters) * sizeof *c->value,
                      c->value);
    h = adx_mix_bytes(h, c->n.untraced, k->state);
    c->timetable.run = adx_mix_bytes(h, c->n.window * sizeof *c->value,
                                adx_window_of(k));
}

// Notes what the first run has found, and how far back sweeps go: it tells
// sweeps of other runs apart.
static void adx_note_found(adx_scan *c, const adx_results_list *list)
{
    uint64_t h = adx_mix_bytes(c->timetable.run, sizeof c->timetable.first,
                               &c->timetable.first);
    c->found = adx_mix_bytes(h, list->n * sizeof *list->v, list->v);
}

/* --- what the store gets -------------------------------------------------- */

typedef struct adx_adjoints_head {
    adx_stamp stamp;
    uint64_t sum;               // a hash of the numbers
} adx_adjoints_head;

// The numbers of what the store gets.
static ad_real *adx_stored_adjoints(const adx_stepping *k)
{
    return (ad_real *)(void *)(k->resume.adjoints + sizeof(adx_adjoints_head));
}

// The adjoints of sequences to which the steps of a range may add, by one tap.
static ad_real *adx_rows_of_piece(const adx_stepping *k, const adx_piece *p,
                                  size_t from, size_t to, size_t *n)
{
    size_t earliest = p->move < 0 ? to - 1 : from;
    *n = (to - 1 - from) * adx_magnitude(p->move) + p->size;
    return k->f.dx + k->scan->n.window + p->from
         + (ptrdiff_t)earliest * p->move;
}

// Copies n numbers to `at`, if it is not NULL, or from there. Returns what
// comes behind them.
static ad_real *adx_move_adjoints(size_t n, ad_real x[], ad_real *at, bool back)
{
    if (at == NULL)
        return NULL;
    memcpy(back ? x : at, back ? at : x, n * sizeof *x);
    return at + n;
}

// Goes through all adjoints that belong to a range: counts them, and copies
// them to `at` or back from there.
static size_t adx_list_adjoints(adx_stepping *k, size_t from, size_t to,
                                ad_real *at, bool back)
{
    adx_scan *c = k->scan;
    size_t all = c->n.window;
    at = adx_move_adjoints(c->n.window, k->f.carried, at, back);
    for (size_t i = c->shape.state_pieces; i <= c->shape.pieces; i++) {
        size_t n = c->n.parameters + c->captured.n;
        ad_real *rows = i == c->shape.pieces ? k->f.dx + c->n.window + c->n.data
            : adx_rows_of_piece(k, &c->shape.piece[i], from, to, &n);
        at = adx_move_adjoints(n, rows, at, back);
        all += n;
    }
    return all;
}

// Names the adjoints of range i. Those of a scan that is replayed and those of
// one that is not have other bits, and other numbers.
static adx_stamp adx_stamp_adjoints(const adx_stepping *k, size_t i)
{
    bool varies = adx_is_varying(k->scan);
    return (adx_stamp){ k->resume.named, ADX_STORED * i + 1 + varies };
}

// Puts the adjoints of range i into the store.
static bool adx_put_adjoints(void *user, size_t i, size_t from, size_t to)
{
    adx_stepping *k = (adx_stepping *)user;
    const ad_store *store = k->scan->schedule.store;
    adx_adjoints_head head = { adx_stamp_adjoints(k, i), 0 };
    ad_real *at = adx_stored_adjoints(k);
    size_t bytes = sizeof *at * adx_list_adjoints(k, from, to, at, false);
    head.sum = adx_mix_bytes(0, bytes, at);
    memcpy(k->resume.adjoints, &head, sizeof head);
    k->resume.searching = false;
    k->scan->timetable.put = true;
    return store->put(store->user, (size_t)head.stamp.number,
                      k->resume.adjoints, sizeof head + bytes);
}

// Fetches adjoints. False: they are not there, or not those of this sweep.
static bool adx_fetch_adjoints(const adx_stepping *k, const adx_stamp *stamp,
                               size_t bytes)
{
    const ad_store *store = k->scan->schedule.store;
    char *at = k->resume.adjoints;
    adx_adjoints_head head;
    adx_fetching_alone = store->agree == NULL;
    bool got = store->get(store->user, (size_t)stamp->number, at,
                          sizeof head + bytes);
    adx_fetching_alone = false;
    if (!got)
        return false;
    memcpy(&head, at, sizeof head);
    return memcmp(&head.stamp, stamp, sizeof *stamp) == 0
        && head.sum == adx_mix_bytes(0, bytes, at + sizeof head);
}

// Takes the adjoints of range i out of the store. False: this process does not
// have them, or another one.
static bool adx_get_adjoints(adx_stepping *k, size_t i, size_t from, size_t to)
{
    const ad_store *store = k->scan->schedule.store;
    const adx_stamp stamp = adx_stamp_adjoints(k, i);
    ad_real *at = adx_stored_adjoints(k);
    size_t bytes = sizeof *at * adx_list_adjoints(k, from, to, NULL, false);
    bool mine = adx_fetch_adjoints(k, &stamp, bytes);
    bool all = store->agree == NULL || store->agree(store->user, mine);
    if (!mine || !all)
        return false;
    adx_list_adjoints(k, from, to, at, true);
    k->scan->report->resumed += to - from;
    return true;
}

/* --- going on ------------------------------------------------------------- */

// Gives up the functions that replay steps, so that the next range records its
// own.
static void adx_forget_functions(adx_stepping *k)
{
    ad_replays *r = k->scan->replay.used;
    adx_end_evaluations(k);
#ifdef ADREV_FUNCTION_IMPLEMENTED
    k->replay.evaluation = NULL;
#endif
    adx_free_paths(r);
    r->missed = 0;
    k->replay.latest = 0;
    k->replay.rest = 0;
}

// Takes the adjoints of range i as those of a scan that is not replayed, or as
// those of this one.
static bool adx_find_adjoints(adx_stepping *k, bool as_varying, size_t i,
                              size_t from, size_t to)
{
    ad_replays *r = k->scan->replay.used;
    bool varied = r->varies;
    r->varies |= as_varying;
    bool found = adx_get_adjoints(k, i, from, to);
    if (!found)
        r->varies = varied;
    return found;
}

// Takes the adjoints of range i out of the store, as long as all of the later
// ranges were there. An earlier process may have found out that the step
// varies: in this range, or further on, after which it began again with the
// last one.
static bool adx_resume_range(void *user, size_t i, size_t from, size_t to)
{
    adx_stepping *k = (adx_stepping *)user;
    bool last = to == k->scan->steps;
    if (k->resume.searching)
        k->resume.searching = adx_find_adjoints(k, last, i, from, to)
                    || (!adx_is_varying(k->scan)
                        && adx_find_adjoints(k, !last, i, from, to));
    if (!k->resume.searching)
        adx_forget_functions(k);
    return k->resume.searching;
}

// Lets a sweep from the adjoints dy of the results to those of the inputs, dx,
// go on. It pairs with adx_end_stepping. False: no memory.
static bool adx_begin_resuming(adx_stepping *k, const ad_real dy[],
                               ad_real dx[])
{
    adx_scan *c = k->scan;
    size_t m = c->steps * c->n.told + c->n.results;
    size_t every = c->timetable.level[0].every;
    every = every < c->steps ? every : c->steps;
    k->f.dx = dx;
    size_t n = adx_list_adjoints(k, 0, every, NULL, false);
    k->resume.adjoints = (char *)adx_take(&c->of.memory,
                                          sizeof(adx_adjoints_head)
                                          + n * sizeof *dy, 1);
    k->resume.named = adx_mix_bytes(c->found, m * sizeof *dy, dy);
    k->resume.searching = true;
    c->timetable.resume = adx_resume_range;
    c->timetable.put_adjoints = adx_put_adjoints;
    adx_forget_functions(k);
    return k->resume.adjoints != NULL;
}

/* === loop/sweep =============================================================
 * Runs of the steps of a scan, forwards and back. Forwards, one step follows
 * the other: it is replayed by a function that is known for it, or called.
 *
 * A reverse sweep goes through the steps backwards, as loop/schedule provides
 * their states, and carries the adjoints of the window. The adjoints of what a
 * step returned are those of the newest rows of the window, plus those of the
 * results of the scan. They are the weights with which the step is swept; it is
 * replayed by a function, or recorded on the stage. The adjoints of its inputs
 * are added to the window before the step, to sequences and to parameters. A
 * forward sweep runs all steps once more, and carries tangents of the window.
 *
 * Where steps are never replayed, several directions (rows of a Jacobian) go
 * back together: a step is recorded once for all of them, and swept once.
 *
 *   needs   tape/memory bulk/captured loop/stage loop/schedule loop/scan
 *           loop/step loop/replay loop/lean loop/resume
 *   offers  adx_do_step adx_advance_scan adx_end_stepping ADX_RUN ADX_SWEEP
 *           ADX_UNROLL adx_begin_stepping adx_shift_back adx_spread_step
 *           adx_reverse_scan adx_last_rows adx_initial_rows adx_reverse_steps
 *           adx_sweep_scan adx_scan_pullback_n adx_scan_pullback
 *           adx_gather_tangents adx_push_step adx_scan_pushforward
 *           adx_free_scan
 * ========================================================================== */

/* --- runs of steps ----------------------------------------------------------
 * And the memory of a run, which enters the stage that it needs.            */

// Does step s: the state before it becomes that after it. Returns whether the
// step says that it was the last one.
static bool adx_do_step(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    bool stop = false;
    adx_gather_step(k, s);
    if (!adx_run_known_step(k, &stop)) {
        stop = adx_run_step(k, false);
        for (size_t i = 0; i < c->n.out; i++)
            k->io.out[i] = k->io.rout[i].v;
    }
    if (k->status == ADREV_OK)
        adx_shift_window(c, adx_window_of(k), k->io.out);
    return stop;
}

static bool adx_advance_scan(void *user, size_t s)
{
    adx_stepping *k = (adx_stepping *)user;
    k->stop = adx_do_step(k, s);
    return k->status == ADREV_OK;
}

// Gives everything back. It may not have been begun as a whole.
static void adx_end_stepping(adx_stepping *k)
{
    const ad_allocator *a = &k->scan->of.memory;
    if (k->entered)
        ad_use(k->before);
    adx_return_stage(k->stage);
    adx_drop(a, k->state == NULL ? NULL : k->state - sizeof(adx_stamp));
    adx_drop(a, k->io.rin);
    adx_drop(a, k->io.given);
    adx_drop(a, k->io.taken);
    adx_drop(a, k->sweep.memory);
    adx_drop(a, k->resume.adjoints);
    adx_end_evaluations(k);
    memset(k, 0, sizeof *k);
}

typedef enum adx_purpose { ADX_RUN, ADX_SWEEP, ADX_UNROLL } adx_purpose;

// Numbers that a step is given, or returns, and those that it captured.
static size_t adx_frame_size(const adx_scan *c)
{
    return (c->n.in > c->n.out ? c->n.in : c->n.out) + c->captured.n;
}

// Memory for a run of steps, and a stage. In front of the state there is room
// for a stamp (loop/schedule). False: there is none.
static bool adx_take_stepping(adx_stepping *k, adx_purpose purpose)
{
    adx_scan *c = k->scan;
    const ad_allocator *a = &c->of.memory;
    size_t most = adx_frame_size(c);
    if (purpose != ADX_UNROLL)
        k->stage = adx_borrow_stage(&c->of);
    k->state = (char *)adx_take(a, sizeof(adx_stamp) + adx_state_bytes(c)
                                   + (c->n.in + c->n.out + most)
                                     * sizeof *k->io.in, 1);
    if (k->state != NULL)
        k->state += sizeof(adx_stamp);
    k->io.rin = (ad_rev *)adx_take(a, c->n.in + c->n.out + c->captured.n,
                                   sizeof *k->io.rin);
    k->io.given = (const ad_rev **)adx_take(a, c->n.states + c->n.sequences,
                                            sizeof *k->io.given);
    k->io.taken = (ad_rev **)adx_take(a, c->n.states + c->n.outputs,
                                      sizeof *k->io.taken);
    if (purpose == ADX_SWEEP)
        k->sweep.memory = (ad_real *)adx_take(a, c->n.window + 3 * most,
                                              sizeof *k->sweep.memory);
    return (k->stage != NULL || purpose == ADX_UNROLL)
        && k->state != NULL && k->io.rin != NULL
        && k->io.given != NULL && k->io.taken != NULL
        && (k->sweep.memory != NULL || purpose != ADX_SWEEP);
}

// Places the numbers of a step behind the state. If the scan is lean, the
// inputs of a step begin with the state itself.
static void adx_place_numbers(adx_stepping *k)
{
    const adx_scan *c = k->scan;
    k->io.lean = adx_is_lean(c);
    k->io.in = k->io.lean ? adx_window_of(k)
          : (ad_real *)(void *)(k->state + adx_state_bytes(c));
    k->io.out = k->io.in + c->n.in;
    k->io.in_next = k->io.out + c->n.out;
    k->io.rout = k->io.rin + c->n.in + c->captured.n;
    adx_point_at(k, k->io.rin, k->io.rout);
    memset(k->io.in, 0, c->n.in * sizeof *k->io.in);
    for (size_t i = 0; i < c->n.parameters; i++)
        k->io.in[c->n.in - 1 - c->n.parameters + i] = c->value[c->n.data + i];
    k->io.stale = true;
}

// Takes memory for a run of steps, and enters its stage. Pairs with
// adx_end_stepping, whatever it returns.
static bool adx_begin_stepping(adx_stepping *k, adx_scan *c,
                               adx_purpose purpose)
{
    *k = (adx_stepping){ .scan = c, .sweep = { .pull = adx_stage_pull },
                         .first = purpose == ADX_RUN };
    if (!adx_take_stepping(k, purpose))
        return false;
    adx_place_numbers(k);
    // The functions that the timetable calls.
    c->timetable.state = k->state;
    c->timetable.user = k;
    c->timetable.advance = adx_advance_scan;
    adx_go_lean(k);
    if (k->stage != NULL) {
        k->before = adx_enter_stage(k->stage, &c->captured,
                                    purpose == ADX_SWEEP);
        k->entered = true;
    }
    // A sweep carries this, in one piece of memory.
    if (purpose == ADX_SWEEP) {
        k->f.carried = k->sweep.memory;
        k->f.weight = k->sweep.memory + c->n.window;
        k->f.product = k->f.weight + adx_frame_size(c);
        k->sweep.room = k->f.product + adx_frame_size(c);
    }
    return true;
}

/* --- sweeps --------------------------------------------------------------- */

// Moves the window back by one step. The newest rows have been used and go; the
// oldest rows become 0, since nothing has been added to them.
static void adx_shift_back(const adx_scan *c, ad_real window[])
{
    for (size_t i = 0; c->shape.flat && i < c->n.window; i++)
        window[i] = 0;
    for (size_t j = 0; !c->shape.flat && j < c->n.states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        ad_real *row = window + l->base;
        memmove(row + l->size, row, (l->depth - 1) * l->size * sizeof *row);
        memset(row, 0, l->size * sizeof *row);
    }
}

// Adds the adjoints of the inputs of step s where they belong.
static void adx_spread_step(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    for (size_t i = 0; i < c->shape.state_pieces; i++)
        adx_add_few(c->shape.piece[i].size, k->f.product + c->shape.piece[i].at,
                    k->f.carried + c->shape.piece[i].from);
    adx_spread_given(c, s, k->f.product, k->f.dx + c->n.window);
}

// Reverses step s, whose state is the current one. If all weights are 0, only
// the window moves, unless the step is to be swept always.
static bool adx_reverse_scan(void *user, size_t s)
{
    adx_stepping *k = (adx_stepping *)user;
    adx_scan *c = k->scan;
    ad_real *outside = k->f.dx + c->n.window + c->n.data + c->n.parameters;
    bool any = adx_weigh(c, s, &k->f, k->f.carried);
    adx_shift_back(c, k->f.carried);
    if (!any && !c->always)
        return true;
    adx_gather_step(k, s);
    if (k->sweep.connects || !adx_replay_step(k, s)) {
        adx_run_step(k, true);
        if (k->status == ADREV_OK)
            k->status = k->sweep.pull(k->stage, c->n.out, k->io.rout,
                                      k->f.weight, c->n.in - 1, k->io.rin,
                                      k->f.product, &c->captured, outside);
    }
    if (k->status == ADREV_OK)
        adx_spread_step(k, s);
    return k->status == ADREV_OK && !k->replay.again;
}

// The last rows are results of the scan. Writes their adjoints into the window
// (from), or their values or tangents out of it (to).
static void adx_last_rows(const adx_scan *c, ad_real window[],
                          const ad_real from[], ad_real to[])
{
    for (size_t j = 0; j < c->n.states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        for (size_t i = 0; l->last && i < adx_slice_numbers(l); i++)
            if (from != NULL)
                window[l->base + i] = *from++;
            else
                *to++ = window[l->base + i];
    }
}

// Handles the rows of the window before step `first` that are still initial
// rows: adds their adjoints to those of the inputs, or reads their tangents.
static void adx_initial_rows(const adx_scan *c, ad_real window[],
                             ad_real adjoint[], const ad_real tangent[])
{
    size_t first = c->timetable.first;
    for (size_t j = 0; j < c->n.states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        for (size_t r = 0; r + first < l->depth; r++)
            for (size_t i = 0; i < l->size; i++) {
                size_t now = l->base + r * l->size + i;
                size_t then = now + first * l->size;
                if (adjoint != NULL)
                    adjoint[then] += window[now];
                else
                    window[now] = tangent[then];
            }
    }
}

// Goes on with the flags (loop/connections) to before the first step that is
// reversed. Nothing is kept with which the steps before it could run again. So
// if a result depends on anything there, it counts as dependent on everything
// that they could use.
static void adx_connect_cut(adx_stepping *k)
{
    adx_scan *c = k->scan;
    size_t told = c->timetable.first * c->n.told;
    bool any = false;
    for (size_t j = 0; j < c->n.states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        size_t first = c->timetable.first;
        size_t initial = l->depth > first ? l->depth - first : 0;
        for (size_t i = initial * l->size; i < adx_slice_numbers(l); i++)
            any = any || k->f.carried[l->base + i] != 0;
    }
    for (size_t i = 0; i < told; i++)
        any = any || k->f.dy[i] != 0;
    if (!any)
        return;
    for (size_t i = 0; i + 1 < c->n.in; i++)
        k->f.product[i] = 1;
    for (size_t s = 0; s < c->timetable.first; s++)
        adx_spread_given(c, s, k->f.product, k->f.dx + c->n.window);
    for (size_t i = 0; i < c->n.window; i++)
        k->f.dx[i] = 1;
    ad_real *outside = k->f.dx + c->n.window + c->n.data + c->n.parameters;
    for (size_t i = 0; i < c->captured.n; i++)
        outside[i] = 1;
}

// Begins a frame from the adjoints dy of the results.
static void adx_begin_frame(const adx_scan *c, adx_frame *f, const ad_real dy[],
                            ad_real dx[])
{
    f->dy = dy;
    f->dx = dx;
    memset(f->carried, 0, c->n.window * sizeof *f->carried);
    adx_last_rows(c, f->carried, dy + c->steps * c->n.told, NULL);
}

// Goes from the adjoints of the results to those of the inputs, which are added
// to dx.
static bool adx_reverse_steps(adx_stepping *k, const ad_real dy[], ad_real dx[])
{
    adx_scan *c = k->scan;
    adx_begin_frame(c, &k->f, dy, dx);
    if (c->timetable.first < c->steps
        && !adx_go_back(&c->timetable, 0, 0, c->steps, true))
        return false;
    if (k->sweep.connects && c->timetable.first > 0)
        adx_connect_cut(k);
    adx_initial_rows(c, k->f.carried, dx, NULL);
    return true;
}

// Does one sweep. *again: a function did not do what the step does. Functions
// from before the first sweep may be used at all steps (known).
static bool adx_sweep_once(adx_scan *c, const ad_real dy[], ad_real dx[],
                           adx_pull_fn *pull, bool *again)
{
    adx_stepping k;
    bool ok = adx_begin_stepping(&k, c, ADX_SWEEP);
    if (ok) {
        k.sweep.pull = pull;
        k.sweep.connects = pull != adx_stage_pull;
        c->timetable.reverse = adx_reverse_scan;
        c->timetable.resume = NULL;
        if (adx_is_resumed(c) && !k.sweep.connects)
            ok = adx_begin_resuming(&k, dy, dx);
        if (!c->replay.swept)
            c->replay.known = adx_is_varying(c) ? 0 : c->replay.used->paths;
        ok = ok && adx_reverse_steps(&k, dy, dx);
    }
    *again = k.replay.again;
    adx_end_stepping(&k);
    return ok;
}

// Adds the adjoints of the n inputs to dx, which is 0. A step that is run again
// is swept by adx_stage_pull, or by what loop/connections has in its place.
// After the first sweep no functions are added (limit), so that every later
// sweep does what that one did, to the bit. (Sweeps that may be resumed all
// begin without functions.)
static bool adx_sweep_scan(adx_scan *c, const ad_real dy[], size_t n,
                           ad_real dx[], adx_pull_fn *pull)
{
    bool again = false;
    adx_begin_sweep(&c->of);
    bool ok = adx_sweep_once(c, dy, dx, pull, &again);
    if (again) {
        memset(dx, 0, n * sizeof *dx);
        ok = adx_sweep_once(c, dy, dx, pull, &again);
    }
    if (ok && pull == adx_stage_pull && !c->replay.swept) {
        c->timetable.swept = true;
        c->replay.swept = !adx_is_resumed(c);
        c->replay.limit = c->replay.used->paths;
    }
    adx_end_sweep(&c->of);
    return ok;
}

/* --- several directions --------------------------------------------------- */

// A sweep in several directions, with a frame for each.
typedef struct adx_row_sweep {
    adx_stepping k;             // whoever has it as user has all of this
    adx_frame *row;             // [rows]
    size_t rows;
} adx_row_sweep;

// Reverses step s in all directions: their weights lie side by side, and so do
// the products.
static bool adx_reverse_rows(void *user, size_t s)
{
    const adx_row_sweep *all = (const adx_row_sweep *)user;
    adx_stepping *k = (adx_stepping *)user;
    adx_scan *c = k->scan;
    const adx_frame *first = &all->row[0];
    const size_t outside = c->n.window + c->n.data + c->n.parameters;
    bool any = c->always;
    for (size_t r = 0; r < all->rows; r++) {
        any |= adx_weigh(c, s, &all->row[r], all->row[r].carried);
        adx_shift_back(c, all->row[r].carried);
    }
    if (!any)
        return true;
    adx_gather_step(k, s);
    adx_run_step(k, true);
    memset(first->product, 0,
           all->rows * (c->n.in - 1) * sizeof *first->product);
    if (k->status == ADREV_OK)
        k->status = adx_stage_pull_rows(k->stage, all->rows, c->n.out,
            k->io.rout, first->weight, c->n.in - 1, k->io.rin, first->product,
            c->n.in - 1, &c->captured, first->dx + outside,
            outside + c->captured.n);
    for (size_t r = 0; k->status == ADREV_OK && r < all->rows; r++) {
        k->f = all->row[r];
        adx_spread_step(k, s);
    }
    return k->status == ADREV_OK;
}

// Makes the frames of all directions, in one piece of memory with their
// numbers. False: there is none.
static bool adx_make_frames(adx_row_sweep *all, size_t m, const ad_real dy[],
                            size_t n, ad_real dx[])
{
    const adx_scan *c = all->k.scan;
    const size_t rows = all->rows;
    const size_t in = c->n.in - 1;
    size_t numbers = (c->n.window + c->n.out + in) * sizeof *dx;
    all->row = (adx_frame *)adx_take(&c->of.memory, rows,
                                     sizeof *all->row + numbers);
    if (all->row == NULL)
        return false;
    ad_real *carried = (ad_real *)(void *)(all->row + rows);
    ad_real *weight = carried + rows * c->n.window;
    ad_real *product = weight + rows * c->n.out;
    for (size_t r = 0; r < rows; r++) {
        all->row[r] = (adx_frame){ .carried = carried + r * c->n.window,
                                   .weight = weight + r * c->n.out,
                                   .product = product + r * in };
        adx_begin_frame(c, &all->row[r], dy + r * m, dx + r * n);
    }
    return true;
}

// Adds the adjoints of the n inputs in several directions to dx, which is 0.
static bool adx_sweep_rows(adx_scan *c, size_t rows, size_t m,
                           const ad_real dy[], size_t n, ad_real dx[])
{
    adx_row_sweep all;
    all.row = NULL;
    all.rows = rows;
    bool ok = adx_begin_stepping(&all.k, c, ADX_SWEEP)
           && adx_make_frames(&all, m, dy, n, dx);
    c->timetable.reverse = adx_reverse_rows;
    c->timetable.reverse_some = NULL;
    c->timetable.resume = NULL;
    if (ok && c->timetable.first < c->steps)
        ok = adx_go_back(&c->timetable, 0, 0, c->steps, true);
    for (size_t r = 0; ok && r < rows; r++)
        adx_initial_rows(c, all.row[r].carried, all.row[r].dx, NULL);
    c->replay.swept |= ok;
    adx_drop(&c->of.memory, all.row);
    adx_end_stepping(&all.k);
    return ok;
}

// In k directions: together, if steps are never replayed, else one by one.
static bool adx_scan_pullback_n(const void *saved, size_t k, size_t m,
                                const ad_real dy[], size_t n, ad_real dx[])
{
    adx_scan *c = *(adx_scan *const *)saved;
    bool ok = true;
    adx_begin_sweep(&c->of);
    bool together = k > 1 && adx_is_varying(c) && !adx_is_resumed(c);
    if (together)
        ok = adx_sweep_rows(c, k, m, dy, n, dx);
    adx_end_sweep(&c->of);
    for (size_t r = 0; ok && !together && r < k; r++)
        ok = adx_sweep_scan(c, dy + r * m, n, dx + r * n, adx_stage_pull);
    return ok;
}

static bool adx_scan_pullback(const void *saved, size_t m, const ad_real dy[],
                              size_t n, ad_real dx[])
{
    return adx_scan_pullback_n(saved, 1, m, dy, n, dx);
}

/* --- forwards ------------------------------------------------------------- */

// Gathers the tangents of the inputs of step s.
static void adx_gather_tangents(adx_stepping *k, size_t s)
{
    const adx_scan *c = k->scan;
    adx_gather_taps(c, s, k->f.carried, k->f.dy + c->n.window, k->f.weight);
    const ad_real *given = k->f.dy + c->n.window + c->n.data;
    size_t others = c->n.parameters + c->captured.n;
    for (size_t i = 0; i < others; i++)
        k->f.weight[c->n.in - 1 - c->n.parameters + i] = given[i];
}

// Runs step s with tangents: those of what it returns are in `product`, and
// both windows move on by a step.
static bool adx_push_step(adx_stepping *k, size_t s)
{
    adx_scan *c = k->scan;
    adx_gather_step(k, s);
    adx_gather_tangents(k, s);
    k->stop = adx_run_step(k, true);
    if (k->status == ADREV_OK)
        k->status = adx_stage_push(k->stage, c->n.out, k->io.rout,
                                   k->f.product, c->n.in - 1, k->io.rin,
                                   k->f.weight, &c->captured, k->sweep.room);
    if (k->status != ADREV_OK)
        return false;
    for (size_t i = 0; i < c->n.out; i++)
        k->io.out[i] = k->io.rout[i].v;
    adx_shift_window(c, adx_window_of(k), k->io.out);
    adx_shift_window(c, k->f.carried, k->f.product);
    return true;
}

// Runs all steps, and writes the tangents of the results. Steps before `first`
// are constants: they run without tangents.
static bool adx_push_steps(adx_stepping *k, ad_real dy[])
{
    adx_scan *c = k->scan;
    for (size_t s = 0; s < c->steps; s++) {
        if (s == c->timetable.first)
            adx_initial_rows(c, k->f.carried, NULL, k->f.dy);
        if (s < c->timetable.first) {
            if (!adx_advance_scan(k, s))
                return false;
            for (size_t i = 0; i < c->n.told; i++)
                *dy++ = 0;
            continue;
        }
        if (!adx_push_step(k, s))
            return false;
        dy = adx_copy_told(c, k->f.product, dy);
    }
    if (c->timetable.first == c->steps)
        adx_initial_rows(c, k->f.carried, NULL, k->f.dy);
    adx_last_rows(c, k->f.carried, NULL, dy);
    return true;
}

// A forward sweep: runs all steps once more from the first state, and carries
// the tangents of the window.
static bool adx_scan_pushforward(const void *saved, size_t n,
                                 const ad_real dx[], size_t m, ad_real dy[])
{
    adx_scan *c = *(adx_scan *const *)saved;
    adx_stepping k;
    (void)m;
    (void)n;
    adx_begin_sweep(&c->of);
    bool ok = adx_begin_stepping(&k, c, ADX_SWEEP);
    if (ok) {
        k.f.dy = dx;
        memset(k.f.carried, 0, c->n.window * sizeof *k.f.carried);
        adx_timetable *p = &c->timetable;
        ok = (c->steps == 0 || adx_fetch_state(p, &p->level[0], 0))
          && adx_push_steps(&k, dy);
    }
    adx_end_stepping(&k);
    adx_end_sweep(&c->of);
    return ok;
}

static void adx_free_scan(adx_staged *of)
{
    adx_scan *c = (adx_scan *)of;
    ad_allocator memory = c->of.memory;
    adx_spare_states(c);
    adx_free_timetable(&c->timetable);
    adx_free_paths(&c->replay.own);
    adx_free_stage(c->of.stage);
    adx_free_captured(&memory, &c->captured);
    adx_drop(&memory, c->shape.slice);
    adx_drop(&memory, c->shape.piece);
    adx_drop(&memory, c->shape.given);
    adx_drop(&memory, c->value);
    adx_drop(&memory, c->untraced_first);
    adx_drop(&memory, c);
}

/* === loop/recorded ==========================================================
 * A `whole` scan in a recorded function. To evaluate it at another point, a
 * copy of the scan runs with other inputs; it may share no state with the scan
 * itself.
 *
 * To second order (tangents of values and of adjoints), the window in each
 * state is followed by its tangents, and both are kept together. The way back
 * carries two frames, the adjoints of the window and the tangents of these.
 * With the step as a recorded function, of Jacobian J, weights b of its results
 * with tangents bd, and the tangent v of its inputs, the adjoints of the inputs
 * are b J, and their tangents are bd J + H v, where H is the Hessian of b times
 * the step.
 *
 *   needs   tape/memory function/api loop/api loop/stage loop/schedule
 *           loop/scan loop/step loop/replay loop/sweep
 *   offers  adx_scan_rule
 * ========================================================================== */

#ifdef ADREV_FUNCTION_IMPLEMENTED

enum { ADX_TANGENT, ADX_ADJOINT, ADX_ADJOINT_D };

// A sweep to second order, with a frame for each of these.
typedef struct adx_second_sweep {
    adx_stepping k;             // whoever has it as user has all of this
    adx_frame frame[3];
    ad_real *memory;            // of the frames
} adx_second_sweep;

// Returns the step as a function: a known function whose guards pass at this
// point, or one that is recorded here. *once: the function is not kept, and is
// freed after use.
static ad_fn *adx_step_function(adx_stepping *k, size_t s, bool *once)
{
    adx_scan *c = k->scan;
    ad_replays *r = c->replay.used;
    ad_fn *fn = NULL;
    bool stop;
    *once = true;
    for (size_t i = 0; !adx_is_varying(c) && i < r->paths; i++)
        if (ad_fn_eval(r->path[i].fn, k->io.in, k->io.out) == ADREV_OK) {
            *once = false;
            return r->path[i].fn;
        }
    k->io.index = s;
    ad_status status = adx_record_step(k, &c->of.memory, &fn, &stop);
    if (status != ADREV_OK && k->status == ADREV_OK)
        k->status = status;
    if (fn != NULL && !c->replay.varies && r->paths < ADX_PATHS) {
        r->path[r->paths++] = (adx_step_path){ .fn = fn, .upto = s };
        *once = false;
    }
    return fn;
}

// Computes the adjoints of the inputs of a step and their tangents, as the
// opening says. moved: the tangent of the inputs.
static bool adx_second_of_step(adx_second_sweep *all, size_t s,
                               const ad_real moved[])
{
    adx_stepping *k = &all->k;
    const adx_frame *b = &all->frame[ADX_ADJOINT];
    const adx_frame *d = &all->frame[ADX_ADJOINT_D];
    ad_real *room = k->sweep.room;
    size_t n = k->scan->n.in;
    bool once;
    ad_fn *fn = adx_step_function(k, s, &once);
    bool ok = fn != NULL
           && ad_fn_vjp(fn, k->io.in, b->weight, b->product) == ADREV_OK
           && ad_fn_vjp(fn, k->io.in, d->weight, d->product) == ADREV_OK
           && ad_fn_hvp(fn, k->io.in, b->weight, moved, room) == ADREV_OK;
    for (size_t i = 0; ok && i < n; i++)
        d->product[i] += room[i];
    if (once)
        ad_fn_free(fn);
    return ok;
}

// Does a step forwards, with tangents.
static bool adx_advance_moving(void *user, size_t s)
{
    adx_second_sweep *all = (adx_second_sweep *)user;
    all->k.f = all->frame[ADX_TANGENT];
    return adx_push_step(&all->k, s);
}

// Does a step backwards, with tangents. First it gathers the tangent of the
// inputs from the state. Then it gathers the weights in both frames, and moves
// both windows back by a row. Last it adds the results to the windows.
static bool adx_reverse_moving(void *user, size_t s)
{
    adx_second_sweep *all = (adx_second_sweep *)user;
    adx_stepping *k = &all->k;
    adx_scan *c = k->scan;
    k->f = all->frame[ADX_TANGENT];
    adx_gather_step(k, s);
    adx_gather_tangents(k, s);
    k->f.weight[c->n.in - 1] = 0;         // of the step's number
    for (int i = ADX_ADJOINT; i <= ADX_ADJOINT_D; i++) {
        k->f = all->frame[i];
        adx_weigh(c, s, &k->f, k->f.carried);
        adx_shift_back(c, k->f.carried);
    }
    if (!adx_second_of_step(all, s, all->frame[ADX_TANGENT].weight))
        return false;
    for (int i = ADX_ADJOINT; i <= ADX_ADJOINT_D; i++) {
        k->f = all->frame[i];
        adx_spread_step(k, s);
    }
    return true;
}

// Begins the frames of a sweep to second order. Adjoints or tangents that are
// not given are zeros. False: no memory.
static bool adx_open_frames(adx_second_sweep *all, const ad_external_point *at,
                            ad_real zeros[])
{
    const adx_scan *c = all->k.scan;
    adx_frame *tangent = &all->frame[ADX_TANGENT];
    size_t most = c->n.in > c->n.out ? c->n.in : c->n.out;
    ad_real *more = (ad_real *)adx_take(&c->of.memory,
                                        2 * (c->n.window + 2 * most),
                                        sizeof *more);
    all->memory = more;
    if (more == NULL)
        return false;
    memset(more, 0, 2 * (c->n.window + 2 * most) * sizeof *more);
    *tangent = all->k.f;
    tangent->carried = adx_window_of(&all->k) + c->n.window;
    tangent->dy = at->xd != NULL ? at->xd : zeros;
    for (int i = ADX_ADJOINT; i <= ADX_ADJOINT_D; i++) {
        const ad_real *dy = i == ADX_ADJOINT ? at->yb : at->ybd;
        all->frame[i] = (adx_frame){
            more, more + c->n.window, more + c->n.window + most,
            dy != NULL ? dy : zeros, i == ADX_ADJOINT ? at->xb : at->xbd
        };
        more += c->n.window + 2 * most;
    }
    return true;
}

// Runs the steps from the beginning, for values and, where they are wanted,
// tangents of the results. There must be as many steps as in the recording:
// false if the scan stops earlier or later here.
static bool adx_run_again(adx_second_sweep *all, const ad_external_point *at)
{
    adx_stepping *k = &all->k;
    adx_scan *c = k->scan;
    adx_results_list values = {0};
    ad_real *yd = at->yd;
    size_t n = c->steps;
    bool ok = true;
    for (size_t s = 0; s < n && ok; s++) {
        bool last = s + 1 == n;
        ok = adx_keep_first(&c->timetable, s, c->open_ended)
          && c->timetable.advance(c->timetable.user, s)
          && adx_tell_step(k, &values)
          && (last ? k->stop == c->stopped : !k->stop);
        if (ok && at->yd != NULL)
            yd = adx_copy_told(c, k->f.product, yd);
    }
    for (size_t i = 0; ok && at->y != NULL && i < values.n; i++)
        at->y[i] = values.v[i];
    adx_drop(&c->of.memory, values.v);
    if (ok && at->y != NULL)
        adx_last_rows(c, adx_window_of(k), NULL, at->y + values.n);
    if (ok && at->yd != NULL)
        adx_last_rows(c, all->frame[ADX_TANGENT].carried, NULL, yd);
    return ok;
}

// Sweeps back, with adjoints alone or also with their tangents.
static bool adx_sweep_again(adx_second_sweep *all, const ad_external_point *at)
{
    adx_scan *c = all->k.scan;
    if (c->timetable.level[0].every == 0)
        adx_judge_stack(&c->timetable, &c->timetable.level[0], c->steps);
    if (!c->shape.moving)
        return adx_reverse_steps(&all->k, at->yb, at->xb);
    for (int i = ADX_ADJOINT; i <= ADX_ADJOINT_D; i++)
        adx_last_rows(c, all->frame[i].carried,
                      all->frame[i].dy + c->steps * c->n.told, NULL);
    if (!adx_go_back(&c->timetable, 0, 0, c->steps, true))
        return false;
    adx_initial_rows(c, all->frame[ADX_ADJOINT].carried, at->xb, NULL);
    adx_initial_rows(c, all->frame[ADX_ADJOINT_D].carried, at->xbd, NULL);
    return true;
}

// Evaluates a copy of a scan, c, from the state that `at` says.
static bool adx_scan_at(adx_scan *c, const ad_external_point *at,
                        ad_real zeros[])
{
    adx_second_sweep all;
    adx_stepping *k = &all.k;
    const adx_frame *tangent = &all.frame[ADX_TANGENT];
    const bool moving = c->shape.moving;
    all.memory = NULL;
    bool ok = adx_begin_stepping(k, c, ADX_SWEEP)
           && adx_open_frames(&all, at, zeros);
    if (ok) {
        memcpy(adx_window_of(k), at->x, c->n.window * sizeof *at->x);
        if (moving)
            memcpy(tangent->carried, tangent->dy,
                   c->n.window * sizeof *at->x);
        if (c->n.untraced > 0)
            memcpy(k->state, c->untraced_first, c->n.untraced);
        c->timetable.advance = moving ? adx_advance_moving : adx_advance_scan;
        c->timetable.reverse = moving ? adx_reverse_moving : adx_reverse_scan;
        ok = adx_run_again(&all, at)
          && (at->xb == NULL || adx_sweep_again(&all, at));
    }
    adx_drop(&c->of.memory, all.memory);
    adx_end_stepping(k);
    return ok;
}

// The replay of the rule. The copy of the scan has its own values, timetable,
// stage and functions, because other threads may replay the scan at the same
// time. Tangents of adjoints cannot be computed without the adjoints; if those
// are not asked for, they are written to `unused`.
static bool adx_scan_replay(const void *saved, const ad_external_point *at)
{
    const adx_scan *of = *(adx_scan *const *)saved;
    const ad_allocator *a = &of->of.memory;
    size_t given = of->n.data + of->n.parameters;
    size_t most = at->n > at->m ? at->n : at->m;
    adx_scan c = *of;
    ad_real *unused = (ad_real *)adx_take(a, at->n + given + most,
                                          sizeof *unused);
    ad_external_point point = *at;
    bool ok = unused != NULL;
    // The copy shares nothing that a run changes.
    c.of.stage = NULL;
    c.report = &c.own_report;
    memset(c.report, 0, sizeof *c.report);
    c.shape.moving = at->yd != NULL || at->xbd != NULL;
    c.replay.swept = false;
    c.replay.known = 0;
    adx_choose_replays(&c, NULL);
    c.timetable = (adx_timetable){ .memory = *a, .bytes = adx_state_bytes(&c),
                              .end = of->steps, .stride = 1,
                              .tail_at = SIZE_MAX, .report = c.report };
    if (ok) {
        c.value = unused + at->n;
        memcpy(c.value, at->x + c.n.window, given * sizeof *c.value);
        memset(c.value + given, 0, most * sizeof *c.value);
        if (c.shape.moving && at->xb == NULL)
            point.xb = at->xbd == NULL ? NULL : unused;
        ok = adx_make_timetable(&c.timetable, &of->schedule, 0) == ADREV_OK
          && adx_scan_at(&c, &point, c.value + given);
    }
    adx_free_timetable(&c.timetable);
    adx_free_paths(&c.replay.own);
    adx_drop(a, unused);
    return ok;
}

#else

static bool adx_scan_replay(const void *saved, const ad_external_point *at)
{
    (void)saved;
    (void)at;
    return false;
}

#endif

static const ad_external_rule adx_scan_rule = {
    .name = "scan", .pullback = adx_scan_pullback,
    .pushforward = adx_scan_pushforward, .destroy = adx_destroy_staged,
    .replay = adx_scan_replay, .pullback_n = adx_scan_pullback_n
};

/* === loop/first =============================================================
 * The first run of a scan, and the statement that it records. The run calls the
 * steps with constants, or replays them by functions that an earlier scan has
 * left; states are kept as the schedule says (loop/schedule). The values of all
 * results are collected in a list. The statement is recorded when the run is
 * complete, because only then is it known how many steps there were and what
 * they captured.
 *
 *   needs   tape/memory array/external bulk/captured loop/api loop/stage
 *           loop/schedule loop/scan loop/step loop/replay loop/resume
 *           loop/sweep loop/recorded
 *   offers  adx_new_scan adx_hand_out_steps adx_staged_scan
 * ========================================================================== */

/* --- the first run ------------------------------------------------------- */

// Copies the values of the sequences, then those of the parameters.
static void adx_copy_values(adx_scan *c, const ad_scan_desc *d)
{
    ad_real *to = c->value;
    for (size_t j = 0; j < d->sequences; j++)
        for (size_t i = 0; i < d->sequence[j].rows * d->sequence[j].size; i++)
            *to++ = d->sequence[j].row[i].v;
    for (size_t i = 0; i < d->parameters; i++)
        *to++ = d->parameter[i].v;
}

static size_t adx_count_pieces(const ad_scan_desc *d)
{
    const int *tap;
    size_t n = 0;
    for (size_t j = 0; j < d->states; j++)
        n += adx_taps_of_state(&d->state[j], &tap);
    for (size_t j = 0; j < d->sequences; j++)
        n += adx_taps_of_sequence(&d->sequence[j], &tap);
    return n;
}

// Begins a timetable without levels, with what is known before the first run.
static void adx_begin_timetable(adx_scan *c)
{
    size_t n = c->most_steps;
    memset(c->report, 0, sizeof *c->report);
    c->timetable = (adx_timetable){
        .memory = c->of.memory, .bytes = adx_state_bytes(c),
        .end = n < ADX_STEPS_MOST ? n : ADX_STEPS_MOST, .stride = 1,
        .tail_at = SIZE_MAX, .report = c->report,
        .scan_bytes = sizeof *c
                    + (c->n.data + c->n.parameters) * sizeof *c->value
    };
}

// Takes the memory that a scan of this description needs. False: there is none.
static bool adx_take_scan(adx_scan *c, const ad_scan_desc *d)
{
    const ad_allocator *a = &c->of.memory;
    adx_scan_shape *s = &c->shape;
    s->slice = (adx_slice *)adx_take(a, d->states + d->outputs,
                                     sizeof *s->slice);
    s->given = (size_t *)adx_take(a, d->states + d->sequences,
                                  sizeof *s->given);
    s->piece = (adx_piece *)adx_take(a, adx_count_pieces(d), sizeof *s->piece);
    if (s->slice == NULL || s->given == NULL || s->piece == NULL)
        return false;
    adx_describe(c, d);
    c->value = (ad_real *)adx_take(a, c->n.data + c->n.parameters,
                                   sizeof *c->value);
    if (c->n.untraced > 0)
        c->untraced_first = adx_take(a, c->n.untraced, 1);
    return c->value != NULL
        && (c->n.untraced == 0 || c->untraced_first != NULL);
}

// Whether several processes go on from what is in the store. All must ask for
// it equally often, but whether steps can be replayed may differ: so none are.
static bool adx_is_shared(const ad_store *store)
{
    return store != NULL && store->resume && store->agree != NULL;
}

// Makes a scan from its description, with copies of all values that it reads.
// NULL: no memory.
static adx_scan *adx_new_scan(const ad_scan_desc *d, const ad_allocator *a,
                              ad_scan_report *report)
{
    adx_scan *c = (adx_scan *)adx_take(a, 1, sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (adx_scan){
        .of = { .memory = *a, .free = adx_free_scan },
        .call = { .step = d->step, .ctx = d->ctx },
        .n = { .states = d->states, .sequences = d->sequences,
               .outputs = d->outputs, .parameters = d->parameters,
               .untraced = d->untraced_bytes },
        .most_steps = d->steps, .open_ended = d->open_ended,
        .schedule = d->schedule,
        .replay = { .varies = d->unreplayed || d->untraced_bytes > 0
                           || adx_is_shared(d->schedule.store),
                    .compiled = d->compiled }
    };
    c->report = report == NULL ? &c->own_report : report;
    memset(c->report, 0, sizeof *c->report);
    if (!adx_take_scan(c, d)) {
        adx_free_scan(&c->of);
        return NULL;
    }
    if (c->n.untraced > 0)
        memcpy(c->untraced_first, d->untraced, c->n.untraced);
    adx_copy_values(c, d);
    adx_begin_timetable(c);
    return c;
}

// Writes the state before step 0.
static void adx_begin_state(adx_stepping *k, const ad_scan_desc *d)
{
    const adx_scan *c = k->scan;
    ad_real *window = adx_window_of(k);
    for (size_t j = 0; j < c->n.states; j++)
        for (size_t i = 0; i < adx_slice_numbers(&c->shape.slice[j]); i++)
            *window++ = d->state[j].initial[i].v;
    if (c->n.untraced > 0)
        memcpy(k->state, d->untraced, c->n.untraced);
}

// Does all steps: many at once where that is possible (adx_go_first), else one
// by one. At the end the last rows of the states are also appended to the list.
static ad_status adx_run_steps(adx_stepping *k, const ad_scan_desc *d,
                               adx_results_list *list)
{
    adx_scan *c = k->scan;
    bool stop = false;
    k->list = list;
    while (c->steps < d->steps && !stop) {
        c->steps = adx_go_first(&c->timetable, c->steps);
        if (c->steps == d->steps)
            break;
        if (!adx_keep_first(&c->timetable, c->steps, d->open_ended))
            return d->schedule.store != NULL ? ADREV_EEXTERNAL : ADREV_ENOMEM;
        stop = adx_do_step(k, c->steps);
        if (k->status != ADREV_OK || k->replay.again)
            return k->status;
        if (!adx_tell_step(k, list))
            return ADREV_ENOMEM;
        c->steps++;
    }
    c->stopped = stop;
    if (!adx_extend(&c->of.memory, (void **)&list->v, &list->room,
                    list->n + c->n.results, sizeof *list->v))
        return ADREV_ENOMEM;
    if (c->n.results > 0)
        adx_last_rows(c, adx_window_of(k), NULL, list->v + list->n);
    list->n += c->n.results;
    return ADREV_OK;
}

// Notes what is known only after the first run.
static void adx_complete_scan(adx_scan *c, const ad_scan_desc *d)
{
    adx_kept_level *l = &c->timetable.level[0];
    c->timetable.first = d->truncated && d->reversed < c->steps
                  ? c->steps - d->reversed : 0;
    c->replay.varies |= c->captured.n > 0;
    if (l->every == 0 && c->steps > 0)
        adx_judge_stack(&c->timetable, l, c->steps);
    c->report->steps = c->steps;
}

// Does the first run once. *again: a function did not do what the step does, so
// the run must be repeated without functions.
static ad_status adx_first_scan_once(adx_scan *c, const ad_scan_desc *d,
                                     adx_results_list *list, bool *again)
{
    adx_stepping k;
    adx_count_behind(c);
    ad_status status = adx_make_timetable(&c->timetable, &d->schedule,
                                          c->replay.behind);
    if (status != ADREV_OK)
        return status;
    adx_take_spare_states(c);
    status = ADREV_ENOMEM;
    if (adx_begin_stepping(&k, c, ADX_RUN)) {
        adx_begin_state(&k, d);
        if (adx_is_resumed(c))
            adx_name_scan(c, &k);
        status = adx_run_steps(&k, d, list);
        *again = k.replay.again && status == ADREV_OK;
        if (c->n.untraced > 0)
            list->untraced = adx_take(&c->of.memory, c->n.untraced, 1);
        if (list->untraced != NULL)
            memcpy(list->untraced, k.state, c->n.untraced);
        else if (c->n.untraced > 0 && status == ADREV_OK)
            status = ADREV_ENOMEM;
    }
    adx_end_stepping(&k);
    return status;
}

// Does the first run; a second time, if a function did not do what the step
// does.
static ad_status adx_first_scan(adx_scan *c, const ad_scan_desc *d,
                                adx_results_list *list)
{
    bool again = false;
    ad_status status = adx_first_scan_once(c, d, list, &again);
    if (again) {        // where there are untraced data, no step is replayed
        adx_free_timetable(&c->timetable);
        adx_begin_timetable(c);
        c->steps = c->replay.known = list->n = 0;
        c->replay.by_function = false;
        status = adx_first_scan_once(c, d, list, &again);
    }
    if (status == ADREV_OK)
        adx_complete_scan(c, d);
    if (status == ADREV_OK && adx_is_resumed(c))
        adx_note_found(c, list);
    return status;
}

/* --- one statement ------------------------------------------------------- */

// Lists all inputs: initial rows, sequences, parameters, and the captured
// numbers.
static void adx_list_inputs(const adx_scan *c, const ad_scan_desc *d,
                            ad_rev all[])
{
    for (size_t j = 0; j < d->states; j++)
        for (size_t i = 0; i < adx_slice_numbers(&c->shape.slice[j]); i++)
            *all++ = d->state[j].initial[i];
    for (size_t j = 0; j < d->sequences; j++)
        for (size_t i = 0; i < d->sequence[j].rows * d->sequence[j].size; i++)
            *all++ = d->sequence[j].row[i];
    for (size_t i = 0; i < d->parameters; i++)
        *all++ = d->parameter[i];
    adx_list_captured(&c->captured, all);
}

// Writes the results of the steps to where the caller wants them. Returns what
// comes behind them.
static const ad_rev *adx_hand_out_steps(const ad_scan_desc *d, size_t steps,
                                        const ad_rev y[])
{
    for (size_t s = 0; s < steps; s++) {
        for (size_t j = 0; j < d->states; j++)
            for (size_t i = 0; d->state[j].rows != NULL
                 && i < d->state[j].size; i++)
                d->state[j].rows[s * d->state[j].size + i] = *y++;
        for (size_t j = 0; j < d->outputs; j++)
            for (size_t i = 0; d->output[j].row != NULL
                 && i < d->output[j].size; i++)
                d->output[j].row[s * d->output[j].size + i] = *y++;
    }
    return y;
}

// Writes all results to where the caller wants them: those of the steps, then
// the last rows.
static void adx_hand_out(const ad_scan_desc *d, size_t steps, size_t told,
                         const ad_rev y[])
{
    if (told > 0)
        y = adx_hand_out_steps(d, steps, y);
    for (size_t j = 0; j < d->states; j++) {
        size_t n = adx_rows_carried(&d->state[j]) * d->state[j].size;
        for (size_t i = 0; d->state[j].last != NULL && i < n; i++)
            d->state[j].last[i] = *y++;
    }
}

// Records the statement, which owns the scan from then on. If there are no
// results, and the steps need not be swept always, there is no statement, and
// the scan is freed.
static ad_status adx_record_scan(adx_scan *c, const ad_scan_desc *d,
                                 const adx_results_list *list)
{
    ad_allocator memory = c->of.memory;
    size_t n = c->n.window + c->n.data + c->n.parameters + c->captured.n;
    size_t steps = c->steps;
    size_t told = c->n.told;
    ad_rev *all = (ad_rev *)adx_take(&memory, n + list->n, sizeof *all);
    ad_status status = ADREV_ENOMEM;
    if (all == NULL || (list->n == 0 && !c->always)) {
        status = all == NULL ? ADREV_ENOMEM : ADREV_OK;
        adx_free_scan(&c->of);
    } else {
        adx_list_inputs(c, d, all);
        status = adx_record_external_as(&adx_scan_rule, c->always, &c,
                                        sizeof c, n, all, list->n, list->v,
                                        all + n);
    }
    if (status == ADREV_OK && list->n > 0)
        adx_hand_out(d, steps, told, all + n);
    adx_drop(&memory, all);
    return status;
}

// Does a scan as one statement. whole is NULL, or the scan is to be a single
// statement of a recorded function. Then *whole becomes whether that is
// possible. It is not if steps capture anything, and then nothing is recorded.
static ad_status adx_staged_scan(const ad_scan_desc *d, ad_vector_fn *f,
                                 const ad_allocator *a, ad_scan_report *report,
                                 bool *whole)
{
    adx_results_list list = {0};
    adx_scan *c = adx_new_scan(d, a, report);
    if (c == NULL)
        return ADREV_ENOMEM;
    ad_allocator memory = c->of.memory;
    c->call.f = f;
    adx_choose_replays(c, adx_is_resumed(c) ? NULL : d->replays);
    c->replay.known = adx_is_varying(c) ? 0 : c->replay.used->paths;
    ad_status status = adx_share_stage(&c->of) ? adx_first_scan(c, d, &list)
                                               : ADREV_ENOMEM;
    if (whole != NULL)
        *whole = status != ADREV_OK || c->captured.n == 0;
    if (status == ADREV_OK && (whole == NULL || *whole))
        status = adx_record_scan(c, d, &list);
    else
        adx_free_scan(&c->of);
    if (status == ADREV_OK && list.untraced != NULL
        && (whole == NULL || *whole))
        memcpy(d->untraced, list.untraced, d->untraced_bytes);
    adx_drop(&memory, list.v);
    adx_drop(&memory, list.untraced);
    return status;
}

/* === loop/unrolled ==========================================================
 * The public functions. A scan becomes one statement where it can (loop/first).
 * Under a hook and in fixed memory it is unrolled: the same steps run on the
 * recorded numbers themselves, and everything is recorded as it happens. Under
 * the hook of a function that is being recorded, a scan that says `whole` may
 * still be one statement.
 *
 *   needs   number/recording tape/layout tape/memory bulk/api bulk/folds
 *           loop/api loop/stage loop/checkpoint loop/schedule loop/scan
 *           loop/step loop/sweep loop/first
 * ========================================================================== */

typedef struct adx_unrolled {
    adx_stepping k;
    const ad_scan_desc *d;
    ad_rev *window;             // [window]
    ad_rev *data;               // [data]
    ad_rev *told;               // results of the steps
    size_t n, room;
    bool counting;              // only how many steps there are
} adx_unrolled;

// Returns a number as a constant. A hook is told of it (detach), so that in a
// recorded function, too, it has its value at each point, but no derivative.
static ad_rev adx_without_derivative(ad_rev x)
{
    if (adx_now.trace && x.job != 0)
        return adx_traced(ADREV_OP_detach, x.v, x, 0, x, 0, x, 0);
    return adx_passive(x.v);
}


// Gathers what step s is given.
static void adx_unrolled_inputs(adx_unrolled *u, size_t s, bool constant)
{
    const adx_scan *c = u->k.scan;
    ad_rev *in = u->k.io.rin;
    for (size_t i = 0; i < c->shape.pieces; i++) {
        const adx_piece *p = &c->shape.piece[i];
        const ad_rev *from = i < c->shape.state_pieces ? u->window + p->from
            : u->data + p->from + (ptrdiff_t)s * p->move;
        for (size_t w = 0; w < p->size; w++)
            in[p->at + w] = from[w];
    }
    for (size_t i = 0; i < c->n.parameters; i++)
        in[c->n.in - 1 - c->n.parameters + i] = u->d->parameter[i];
    in[c->n.in - 1] = adx_passive((ad_real)s);
    for (size_t i = 0; constant && i < c->n.in; i++)
        in[i] = adx_without_derivative(in[i]);
    u->k.io.index = s;
    c->report->evaluations++;
}

// Takes what a step returned: moves the window on, and lists the results of the
// scan.
static bool adx_unrolled_results(adx_unrolled *u)
{
    const adx_scan *c = u->k.scan;
    const ad_rev *out = u->k.io.rout;
    if (!u->counting
        && !adx_extend(&c->of.memory, (void **)&u->told, &u->room,
                       u->n + c->n.told, sizeof *u->told))
        return false;
    for (size_t j = 0; j < c->n.states + c->n.outputs; j++) {
        const adx_slice *l = &c->shape.slice[j];
        ad_rev *row = u->window + l->base;
        size_t rest = l->depth > 0 ? (l->depth - 1) * l->size : 0;
        if (l->depth > 0)
            memmove(row, row + l->size, rest * sizeof *row);
        for (size_t i = 0; i < l->size; i++, out++) {
            if (l->depth > 0)
                row[rest + i] = *out;
            if (l->told && !u->counting)
                u->told[u->n++] = *out;
        }
    }
    return true;
}

// Writes the state before step 0, and the data of sequences.
static void adx_unrolled_begin(adx_unrolled *u)
{
    const ad_scan_desc *d = u->d;
    ad_rev *to = u->window;
    for (size_t j = 0; j < d->states; j++)
        for (size_t i = 0;
             i < adx_rows_carried(&d->state[j]) * d->state[j].size; i++)
            *to++ = d->state[j].initial[i];
    for (size_t j = 0; j < d->sequences; j++)
        for (size_t i = 0; i < d->sequence[j].rows * d->sequence[j].size; i++)
            *to++ = d->sequence[j].row[i];
    if (d->untraced_bytes > 0)
        memcpy(u->k.state, d->untraced, d->untraced_bytes);
    u->n = 0;
    u->k.scan->steps = 0;
}

// Runs the steps; those before `first` are constants.
static ad_status adx_unroll(adx_unrolled *u, size_t first)
{
    adx_stepping *k = &u->k;
    adx_scan *c = k->scan;
    bool stop = false;
    adx_unrolled_begin(u);
    while (c->steps < u->d->steps && !stop) {
        bool constant = c->steps < first;
        adx_unrolled_inputs(u, c->steps, constant);
        stop = adx_call_step(k, k->io.rin, k->io.rout);
        if (k->status != ADREV_OK)
            return k->status;
        for (size_t i = 0; constant && i < c->n.out; i++)
            k->io.rout[i] = adx_without_derivative(k->io.rout[i]);
        if (!adx_unrolled_results(u))
            return ADREV_ENOMEM;
        c->steps++;
    }
    return ADREV_OK;
}

// Unrolls all steps. If only the last ones matter, a run without a tape first
// counts how many steps there are.
static ad_status adx_unroll_all(adx_unrolled *u)
{
    const ad_scan_desc *d = u->d;
    size_t first = 0;
    if (d->truncated) {
        ad_tape *before = ad_use(NULL);
        u->counting = true;
        ad_status status = adx_unroll(u, SIZE_MAX);
        u->counting = false;
        ad_use(before);
        if (status != ADREV_OK)
            return status;
        size_t n = u->k.scan->steps;
        first = d->reversed < n ? n - d->reversed : 0;
    }
    return adx_unroll(u, first);
}

static void adx_unrolled_hand_out(adx_unrolled *u)
{
    const adx_scan *c = u->k.scan;
    const ad_scan_desc *d = u->d;
    const ad_rev *told = u->told;
    for (size_t j = 0; j < d->states; j++) {
        const adx_slice *l = &c->shape.slice[j];
        for (size_t i = 0; l->last && i < adx_slice_numbers(l); i++)
            d->state[j].last[i] = u->window[l->base + i];
    }
    adx_hand_out_steps(d, c->steps, told);
    if (c->n.untraced > 0)
        memcpy(d->untraced, u->k.state, c->n.untraced);
}

// Unrolls a scan. The scan that is made for it only describes the steps.
static ad_status adx_unrolled_scan(const ad_scan_desc *d, ad_vector_fn *f,
                                   const ad_allocator *a,
                                   ad_scan_report *report)
{
    adx_unrolled u = { .d = d };
    adx_scan *c = adx_new_scan(d, a, report);
    if (c == NULL)
        return ADREV_ENOMEM;
    ad_allocator memory = c->of.memory;
    c->call.f = f;
    ad_status status = ADREV_ENOMEM;
    bool begun = adx_begin_stepping(&u.k, c, ADX_UNROLL);
    u.window = (ad_rev *)adx_take(&memory, c->n.window + c->n.data,
                                  sizeof *u.window);
    if (begun && u.window != NULL) {
        u.data = u.window + c->n.window;
        status = adx_unroll_all(&u);
    }
    if (status == ADREV_OK)
        status = adx_now_status();
    if (status == ADREV_OK) {
        adx_unrolled_hand_out(&u);
        c->report->steps = c->steps;
    }
    adx_end_stepping(&u.k);
    adx_drop(&memory, u.window);
    adx_drop(&memory, u.told);
    adx_free_scan(&c->of);
    return status;
}

// Notes that a long loop has been unrolled under a hook: a function that
// records it would take the memory that the loop is meant to save.
static void adx_note_unrolled(size_t steps)
{
    adx_long_loop |= adx_now.trace && steps >= ADREV_REPLAY_FROM;
}

// Whether a scan may be one statement of a function that is being recorded.
static bool adx_may_be_whole(const ad_scan_desc *d)
{
#ifdef ADREV_FUNCTION_IMPLEMENTED
    const ad_tape *t = adx_now.tape;
    return d->whole && t != NULL && adx_now.trace && t->hooks.array != NULL
        && t->allocator.alloc != NULL && d->steps > 0
        && d->schedule.store == NULL && !d->truncated;
#else
    (void)d;
    return false;
#endif
}

// Does a scan: as one statement, or unrolled.
static ad_status adx_do_scan(const ad_scan_desc *d, ad_vector_fn *f,
                             ad_scan_report *report)
{
    const ad_allocator *a = adx_loop_memory(d->allocator);
    if (adx_may_be_whole(d)) {
        bool whole = true;
        ad_status status = adx_staged_scan(d, f, &adx_now.tape->allocator,
                                           report, &whole);
        if (whole)
            return adx_failed(status);
    }
    if (a != NULL && d->steps > 0)
        return adx_failed(adx_staged_scan(d, f, a, report, NULL));
    adx_note_unrolled(d->steps);
    a = adx_unrolled_memory(d->allocator);
    return a == NULL ? ADREV_ENOMEM
                     : adx_failed(adx_unrolled_scan(d, f, a, report));
}

// After a failure, makes the results NaN. How many rows there are for steps is
// known only if the description is `right`.
static void adx_spoil_results(const ad_scan_desc *d, ad_status status,
                              bool right)
{
    bool known = !adx_no_array(d->states, d->state);
    for (size_t j = 0; known && j < d->states; j++) {
        const ad_scan_state *x = &d->state[j];
        adx_results_or_nan(status, adx_rows_carried(x), x->size, x->last);
        if (right)
            adx_results_or_nan(status, d->steps, x->size, x->rows);
    }
    for (size_t j = 0; right && j < d->outputs; j++)
        adx_results_or_nan(status, d->steps, d->output[j].size,
                           d->output[j].row);
}

// Checks the arguments of a scan, and does it. On failure the results are NaN
// and the report is empty.
static ad_status adx_scan_with(const ad_scan_desc *d, ad_vector_fn *f,
                               ad_scan_report *report)
{
    bool right = (d->step != NULL || f != NULL) && adx_right_scan(d);
    ad_status status = adx_now_status();
    if (status == ADREV_OK)
        status = right && adx_right_schedule(&d->schedule)
               ? adx_do_scan(d, f, report) : adx_failed(ADREV_ESHAPE);
    if (status == ADREV_OK)
        return status;
    adx_spoil_results(d, status, right);
    if (report != NULL)
        memset(report, 0, sizeof *report);
    return status;
}

ADX_API ad_status ad_scan(const ad_scan_desc *scan, ad_scan_report *report)
{
    static const ad_scan_desc none;
    return adx_scan_with(scan == NULL ? &none : scan, NULL, report);
}

ADX_API ad_status ad_loop(ad_vector_fn *f, void *ctx, size_t steps, size_t n,
                          ad_rev x[], size_t np, const ad_rev p[],
                          ad_schedule schedule)
{
    const ad_scan_state state = { .size = n, .initial = x, .last = x };
    const ad_scan_desc d = {
        .ctx = ctx, .steps = steps, .states = 1, .state = &state,
        .parameters = np, .parameter = p, .schedule = schedule
    };
    return adx_scan_with(&d, f, NULL);
}

/* === loop/connections =======================================================
 * A reverse sweep with flags in place of adjoints: 1 for a useful value, which
 * is one that y depends on, whatever the partials are; and else 0. The operands
 * of a statement with a useful result are useful; for each kind of array
 * statement there is a function that says which. A scan or a checkpoint runs
 * again, as in a sweep, and finds the operands that its run connects with
 * useful results. Statements whose rule the user gives connect all results with
 * all operands, and so do those with `always`, which are not run beside a
 * sweep.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *           tape/walk sweep/queries array/operands array/linear array/sums
 *           array/products array/external bulk/folds bulk/captured bulk/passes
 *           bulk/statement loop/api loop/stage loop/checkpoint loop/scan
 *           loop/sweep loop/recorded
 * ========================================================================== */

ADX_SELDOM_BEGIN

static void adx_connect_id(ad_real useful[], const adx_ids *ids, size_t i)
{
    if (!adx_is_constant(ids))
        useful[adx_id(ids, i)] = 1;
}

static void adx_connect_cell(ad_real useful[], const adx_ids *ids, size_t i,
                          size_t j, size_t cols)
{
    if (!adx_is_constant(ids))
        useful[adx_id_of(ids, i, j, cols)] = 1;
}

static void adx_connect_linear(const adx_linear *s, ad_real useful[])
{
    for (size_t i = 0; i < s->n; i++)
        if (useful[s->e.first + (s->each ? i : 0)] != 0)
            for (size_t k = 0; k < s->spans; k++)
                adx_connect_id(useful, &s->span[k].ids, i);
}

static void adx_connect_product(const adx_product *s, ad_real useful[])
{
    for (size_t i = 0; i < s->m; i++)
        for (size_t j = 0; j < s->n; j++)
            for (size_t l = 0; l < s->k
                 && useful[s->e.first + i * s->n + j] != 0; l++) {
                adx_connect_cell(useful, &s->a_ids, i, l, s->k);
                adx_connect_cell(useful, &s->b_ids, l, j, s->n);
            }
}

// Result j depends on x[i] and on the entry in row j and column i, for all i <=
// j; `at` counts the entries below the diagonal, column by column.
static void adx_connect_triangle(const adx_triangle *s, ad_real useful[])
{
    size_t at = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = i; j < s->n; j++) {
            if (useful[s->e.first + j] != 0) {
                adx_connect_id(useful, &s->x_ids, i);
                if (j == i)
                    adx_connect_id(useful, &s->d_ids, i);
                else
                    adx_connect_id(useful, &s->l_ids, at);
            }
            at += j > i;
        }
}

// All operands of a statement are useful.
static void adx_connect_all(const adx_ids *ids, size_t n, ad_real useful[])
{
    for (size_t i = 0; i < n; i++)
        adx_connect_id(useful, ids, i);
}

// Returns how many results there are up to the last useful one: a prefix
// depends on all numbers before it.
static size_t adx_useful_until(const ad_real useful[], size_t n)
{
    while (n > 0 && useful[n - 1] == 0)
        n--;
    return n;
}

static void adx_connect_prefixes(const adx_prefixed *s, ad_real useful[])
{
    adx_connect_all(&s->ids, adx_useful_until(&useful[s->e.first], s->e.values),
                 useful);
}

static void adx_connect_bins(const adx_bins *s, ad_real useful[])
{
    for (size_t k = 0; k < s->e.values; k++)
        if (useful[s->e.first + k] != 0)
            useful[s->bin[k]] = 1;
    for (size_t i = 0; i < s->terms; i++)
        if (useful[s->e.first + s->at[i]] != 0)
            useful[s->v[i]] = 1;
}

// The operands of an operator of adrev_bulk.h that has a function: an
// element depends on all of its arguments and on all captured numbers, whatever
// the function does with them.
static void adx_connect_elements(const adx_external *s, ad_real useful[])
{
    const adx_bulk b = adx_open_bulk(s->saved);
    const ad_real *y = &useful[s->e.first];
    size_t until = b.kind == ADX_BULK_REDUCE ? b.n
                 : (adx_useful_until(y, s->e.values) + b.d - 1) / b.d;
    for (size_t i = 0; i < until; i++) {
        if (b.kind == ADX_BULK_MAP && adx_zeros(b.d, &y[i * b.d]))
            continue;
        for (size_t k = 0; k < b.sources; k++)
            for (size_t j = 0; j < b.source[k].size; j++)
                adx_connect_id(useful, &s->ids,
                            adx_operand_of(&b.source[k], i) + j);
    }
    for (size_t j = b.operands; j < s->e.operands; j++)
        adx_connect_id(useful, &s->ids, j);
}

static ad_status adx_connect(const ad_tape *t, ad_real useful[]);

// Goes on with the flags on a stage, from dy, those of the results of a run. dx
// are the flags of its inputs, and da those of the captured numbers.
static ad_status adx_connect_run(const adx_stage *s, size_t m,
                                 const ad_rev y[], const ad_real dy[],
                                 size_t n, const ad_rev x[], ad_real dx[],
                                 const adx_captured *k, ad_real da[])
{
    size_t values = adx_live(s->tape)->seq + 1;
    if (s->tape->annex != NULL)
        return ADREV_EFOREIGN;
    ad_real *useful = (ad_real *)adx_take(&s->memory, values, sizeof *useful);
    if (useful == NULL)
        return ADREV_ENOMEM;
    memset(useful, 0, values * sizeof *useful);
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0 && dy[i] != 0)
            useful[y[i].seq] = 1;
    ad_status status = adx_connect(s->tape, useful);
    for (size_t i = 0; i < n; i++)
        dx[i] = useful[x[i].seq];
    for (size_t i = 0; i < k->n; i++)
        da[i] += s->local[i] == 0 ? 0 : useful[s->local[i]];
    adx_drop(&s->memory, useful);
    return status;
}

static bool adx_connect_checkpoint(adx_checkpoint *c, const ad_real dy[],
                                   ad_real dx[])
{
    adx_stage *s = adx_call_again(c);
    bool ok = s != NULL && adx_connect_run(s, c->m, c->out, dy, c->n, c->in,
                                           dx, &c->captured, dx + c->n)
                               == ADREV_OK;
    adx_return_stage(s);
    return ok;
}

// The operands of an external statement. Scans and checkpoints need memory for
// flags in place of adjoints, which is taken from `a`.
static ad_status adx_connect_external(const adx_external *s, ad_real useful[])
{
    const ad_allocator *a = !s->always && (s->rule == &adx_scan_rule
                                        || s->rule == &adx_checkpoint_rule)
        ? &(*(adx_staged *const *)s->saved)->memory : NULL;
    size_t n = s->e.operands;
    bool ok = true;
    if (s->rule == &adx_bulk_rule)
        adx_connect_elements(s, useful);
    else if (a == NULL)
        adx_connect_all(&s->ids, n, useful);
    if (a == NULL)
        return ADREV_OK;
    ad_real *dx = (ad_real *)adx_take(a, n, sizeof *dx);
    if (dx == NULL)
        return ADREV_ENOMEM;
    memset(dx, 0, n * sizeof *dx);
    const ad_real *dy = &useful[s->e.first];
    if (s->rule == &adx_scan_rule)
        ok = adx_sweep_scan(*(adx_scan *const *)s->saved, dy, n, dx,
                            adx_connect_run);
    else
        ok = adx_connect_checkpoint(*(adx_checkpoint *const *)s->saved, dy, dx);
    for (size_t i = 0; i < n; i++)
        if (dx[i] != 0)
            adx_connect_id(useful, &s->ids, i);
    adx_drop(a, dx);
    return ok ? ADREV_OK : ADREV_EEXTERNAL;
}

// The operands of an array statement or an external statement. All rules
// of the library are known here; a rule of another header would not be.
static ad_status adx_connect_extended(const adx_extended *e, ad_real useful[])
{
    if (adx_zeros(e->values, &useful[e->first]))
        return ADREV_OK;
    if (e->rule == &adx_external_kind)
        return adx_connect_external((const adx_external *)e, useful);
    if (e->rule == &adx_linear_rule)
        adx_connect_linear((const adx_linear *)e, useful);
    else if (e->rule == &adx_product_rule)
        adx_connect_product((const adx_product *)e, useful);
    else if (e->rule == &adx_triangle_rule)
        adx_connect_triangle((const adx_triangle *)e, useful);
    else if (e->rule == &adx_prefixed_rule)
        adx_connect_prefixes((const adx_prefixed *)e, useful);
    else if (e->rule == &adx_bins_rule)
        adx_connect_bins((const adx_bins *)e, useful);
    else if (e->rule == &adx_softmax_rule)
        adx_connect_all(&((const adx_softmax *)e)->ids, e->operands, useful);
    else
        return ADREV_EEXTERNAL;     // of another header
    return ADREV_OK;
}

// The operands of one entry, n from `op` on; its value is `seq`.
static ad_status adx_connect_entry(unsigned header, const adx_operand *op,
                                   size_t n, size_t seq, ad_real useful[])
{
    if (header == ADX_EXTENDED)
        return adx_connect_extended(
            (const adx_extended *)adx_payload(op), useful);
    if ((header & ADX_OTHER) || useful[seq] == 0)
        return ADREV_OK;
    for (size_t i = 0; i < n; i++)
        if (op[i].id != 0)
            useful[op[i].id] = 1;
    if (header & ADX_SUM)
        useful[seq - 1] = 1;
    return ADREV_OK;
}

// Finds all that the useful values depend on: goes through the entries once,
// from the last to the first, as a sweep does.
static ad_status adx_connect(const ad_tape *t, ad_real useful[])
{
    const adx_context *now = adx_live(t);
    ad_status status = ADREV_OK;
    size_t seq = now->seq;
    for (const adx_block *b = t->block; b != NULL; b = b->prev) {
        const adx_operand *op = b == t->block ? now->op : b->op;
        const uint16_t *head = b == t->block ? now->head : b->head;
        for (; head != adx_top_of_block(b) && status == ADREV_OK; head++) {
            size_t n = adx_operands(*head, op - 1);
            op -= n;
            status = adx_connect_entry(*head, op, n, seq, useful);
            seq -= adx_values(*head, op);
        }
    }
    return status;
}

ADX_API ad_status ad_connected(ad_tape *t, size_t m, const ad_rev y[],
                               size_t n, const ad_rev x[],
                               ad_connection answer[])
{
    bool run;
    bool missing = adx_no_array(n, x) || adx_no_array(n, answer);
    ad_status status = adx_check_query(t, m, y, 0, NULL, missing, &run);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        if (x[i].job != 0 && !adx_member(t, x[i]))
            status = ADREV_EFOREIGN;
    if (status == ADREV_OK && t->annex != NULL)
        status = ADREV_EFOREIGN;
    if (status != ADREV_OK)
        return status;
    ad_real *useful = adx_cleared(t, 1, 0);
    if (useful == NULL)
        return ADREV_ENOMEM;
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0)
            useful[y[i].seq] = 1;
    ad_tape *before = ad_use(NULL);
    status = adx_connect(t, useful);
    ad_use(before);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        answer[i] = x[i].job == 0 ? ADREV_NOT_ASKED
                  : useful[x[i].seq] != 0 ? ADREV_CONNECTED
                  : ADREV_DISCONNECTED;
    return status;
}

ADX_SELDOM_END

#endif // ADREV_LOOP_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
