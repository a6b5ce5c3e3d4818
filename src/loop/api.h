#pragma once

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
