#pragma once

/* === loop/api ===============================================================
 * Checkpoints, loops and scans: types and the interface.
 * ========================================================================== */

/* --- types --------------------------------------------------------------- */

// What is kept of a call for the reverse pass.
typedef enum ad_keep {
    ADREV_KEEP_INPUTS,      // and the call is recorded again
    ADREV_KEEP_ALL,         // its recording
    ADREV_KEEP_AUTOMATIC    // its recording, as long as there is room
} ad_keep;

typedef struct ad_checkpoint_options {
    ad_keep keep;
    size_t budget;          // AUTOMATIC: bytes that the recordings of all
                            // checkpoints of the current tape may have together
    size_t context;         // bytes of *ctx that are copied; 0: none, *ctx
                            // must stay as it is as long as the recording
    size_t *evaluations;    // counts calls of f, also those of later sweeps;
                            // may be NULL
    const ad_allocator *allocator;  // NULL: that of the tape; a fixed tape has
                                    // none, and f is recorded on it
} ad_checkpoint_options;

// What one step of a scan is given, and what it returns. If it needs a plain
// number it takes it by ad_value, not by .v: a recording must see that.
typedef struct ad_step {
    const ad_rev *const *state;     // [states] of numbers: tap after tap, as
                                    // listed, each of `size`
    const ad_rev *const *sequence;  // [sequences] likewise
    const ad_rev *parameter;        // [parameters]
    ad_rev *const *next;            // [states] the new row of each; all of it
                                    // must be set
    ad_rev *const *output;          // [outputs] likewise
    void *untraced;                 // carried from step to step, to be changed
    bool stop;                      // true: this was the last step
    ad_status status;               // not ADREV_OK: the step failed, and so
                                    // does the scan
    struct adx_stepping *adx_owner;
} ad_step;

typedef void ad_step_fn(ad_step *s, void *ctx);

// A carried state: a sequence of rows. Tap -k is the row written k steps ago,
// and depth is the largest k: so many rows there must be at the beginning.
typedef struct ad_scan_state {
    size_t size;            // numbers of a row
    const ad_rev *initial;  // [depth*size] in, oldest row first
    ad_rev *last;           // [depth*size] out: the last rows; may be NULL, or
                            // `initial`
    ad_rev *rows;           // [steps*size] out: all new rows; may be NULL
    size_t taps;            // 0: one, -1
    const int *tap;         // [taps] below 0
} ad_scan_state;

// Rows that the steps read: step s, tap k: row s + k - (the smallest tap, if
// that is below 0), which must be there for all steps.
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
    ADREV_EVERY,            // before each n-th: n more states in a sweep
    ADREV_BINOMIAL,         // n states, the first included, where they save
                            // most (Griewank and Walther 2000), and the one
                            // before the last step
    ADREV_BYTES             // as BINOMIAL, with as many as fit into n bytes; if
                            // none does: ADREV_ESHAPE. A state is its rows up
                            // to the depth, and the untraced data; to second
                            // order (`whole`) twice the rows. Beyond n: the
                            // state before the last step, sequences,
                            // parameters, and some 16 bytes for each state
} ad_schedule_kind;

// Where states of one scan may be kept besides memory: a file, another memory.
// They are numbered from 0; each is put once, and got any number of times.
// False: it failed. A store of its own for each scan, also for each run of an
// inner one: `bytes` are those of the state and 16 that say whose it is, and
// one that another scan has put fails as a get that returns false.
typedef struct ad_store {
    bool (*put)(void *user, size_t number, const void *state, size_t bytes);
    bool (*get)(void *user, size_t number, void *state, size_t bytes);
    void (*drop)(void *user);       // none is needed any more; may be NULL
    void *user;
    size_t every;           // the state before each of so many steps is put;
                            // between two of them the schedule is followed
} ad_store;

typedef struct ad_schedule {
    ad_schedule_kind kind;
    size_t n;
    const ad_store *store;  // NULL: memory alone; must outlive the recording
} ad_schedule;

// Functions that replay a step, kept from scan to scan.
typedef struct ad_replays ad_replays;

typedef struct ad_scan_desc {
    ad_step_fn *step;
    void *ctx;                          // must stay as it is as long as the
                                        // recording, as must what it points to
    size_t steps;                       // at most
    size_t states;
    const ad_scan_state *state;
    size_t sequences;
    const ad_scan_sequence *sequence;
    size_t outputs;
    const ad_scan_output *output;
    size_t parameters;                  // the same in all steps
    const ad_rev *parameter;
    void *untraced;                     // in/out: plain data, carried along;
                                        // as it was if the scan fails
    size_t untraced_bytes;
    bool open_ended;                    // `steps` will hardly be reached: keep
                                        // states for any number of them. Costs
                                        // up to n - 1 more evaluations of n
    bool truncated;                     // only the last steps are reversed:
    size_t reversed;                    // so many. Derivatives of any order
                                        // are those of a function in which the
                                        // state before them is a constant
    ad_schedule schedule;
    bool whole;                         // under ad_fn_record: one step of the
                                        // function, see ad_scan
    bool unreplayed;                    // never replay steps. The last bits of
                                        // a gradient may differ between steps
                                        // on a tape, replayed and compiled, as
                                        // partials are multiplied and adjoints
                                        // added in another order (one that
                                        // overflows only before it is weighted
                                        // is infinite); in each of these ways
                                        // all schedules give the same bits
    bool compiled;                      // replay them by ad_fn_compile
    ad_replays *replays;                // NULL: those of this scan alone
    const ad_allocator *allocator;      // NULL: that of the tape; a fixed tape
                                        // has none, and all is recorded on it
} ad_scan_desc;

// What a scan did; sweeps go on counting. All 0 if it failed.
typedef struct ad_scan_report {
    size_t steps;           // that ran
    size_t evaluations;     // of the step, in all, by whatever means
    size_t recorded;        // of these: on a tape
    size_t replayed;        // of these: by a recorded function
    size_t paths;           // functions that were recorded
    size_t checks;          // further runs, to compare them with the step
    size_t snapshots;       // most states that the schedule had in memory at a
                            // time; the one before the last step is not counted
    size_t bytes;           // most of memory for the reverse pass: states, that
                            // one too, sequences, parameters
    size_t put;             // states that went to the store
} ad_scan_report;

/* --- interface --------------------------------------------------------------
 * Each call is one statement of the current tape, whatever happens within. It
 * returns ADREV_OK or why it failed. Then the tape fails with it, so that the
 * status may be dropped, and the results are constants, NaN, if their number is
 * possible: also those that stand where an argument did. Numbers that f or a step brings along from
 * outside (by ctx) are inputs like the others, as long as they are of the same
 * recording; such a step is not replayed. While f or a step runs, it may record
 * and sweep, but it must not clear, free or change the current tape.
 * Under a trace hook, so in a function that is recorded, in fixed memory and
 * where no tape is current, f or the steps simply run, and what they do is
 * recorded. What goes wrong in a sweep is ADREV_EEXTERNAL there. Whatever f or
 * a step uses by ctx must last as long as the recording: within another step or
 * call, beyond that.                                                        */

#ifdef __cplusplus
extern "C" {
#endif

/* --- one call ------------------------------------------------------------ */

// y = f(x), without recording it: its inputs are kept, and each reverse sweep
// records it again on a tape of its own. Calls may nest.
//
//   f, ctx       in    run again later, with the same x: it must do the same
//   x   [n]      in    numbers
//   y   [m]      out   results; f must set all of them
//
//   returns      ADREV_OK
//                ADREV_ESHAPE: f, x or y is missing; f did not set all of y
//                ADREV_EFOREIGN: x, or what f brings along, is of another
//                recording
//                ADREV_EMARK: f left another tape in use
//                ADREV_ENOMEM; ADREV_EFULL: no memory
//                the status of a tape that has failed, or that f failed with
//                in a sweep ADREV_EEXTERNAL for all of these
//   cost         in a sweep: f once more, and its reverse
//   memory       n numbers; in a sweep a recording of f
//   see          tests/loop/checkpoint.c
ADX_API ad_status ad_checkpoint(ad_vector_fn *f, void *ctx, size_t n,
                                const ad_rev x[], size_t m, ad_rev y[]);

// The same with hints, which do not change a bit of the derivatives.
//
//   options      in    NULL: as ad_checkpoint
//
//   returns      as ad_checkpoint; ADREV_ESHAPE also: there is no such `keep`,
//                or a `context` of nothing
ADX_API ad_status ad_checkpoint_with(const ad_checkpoint_options *options,
                                     ad_vector_fn *f, void *ctx, size_t n,
                                     const ad_rev x[], size_t m, ad_rev y[]);

/* --- loops --------------------------------------------------------------- */

// Runs the steps. All arrays of `scan` are read or written during the call.
//
// In a function that is recorded (ad_fn_record) its steps become steps of the
// function. If the scan is to be `whole` it is one step instead, evaluated by
// its schedule, to second order: values, gradients, Hessian products and
// Hessians of long loops in little memory. That needs adrev_function.h to be
// implemented in the same file, steps that bring nothing along, no store and no
// truncation (else it is not whole), and as many steps at every point
// (ADREV_EEXTERNAL).
//
//   report       out   may be NULL; otherwise it must outlive the recording
//
//   returns      ADREV_OK
//                ADREV_ESHAPE: the step or an array is missing; a tap of a
//                state is 0 or above; a sequence has fewer rows than are read;
//                sizes that cannot be; a schedule that is none, of 0 states or
//                bytes, or without room for a state; a store without put, get
//                or every; a step did not set a result
//                ADREV_EEXTERNAL: the store failed; in a sweep also, if it has
//                states of another scan, and for whatever goes wrong there
//                ADREV_EFOREIGN: a number of another recording
//                ADREV_EMARK: a step left another tape in use
//                ADREV_ENOMEM; ADREV_EFULL: no memory
//                the status of a tape that has failed, or that a step set
//   cost         in a sweep, with n steps: n evaluations and their reverse,
//                those that the schedule repeats, and for each step a pass over
//                the parameters and over what is brought along by ctx
//   memory       the states kept (with `replays`, up to half as much again, or
//                four numbers, and one number for each), the sequences and
//                parameters; in a sweep a recording of one step
//   see          examples/14_wave.c, tests/loop/scan.c
ADX_API ad_status ad_scan(const ad_scan_desc *scan, ad_scan_report *report);

// For a scan that is made again and again, as in a fit: its step is recorded in
// the first one only. In the next ones the recording may run forwards, too, in
// place of the step. Where the states of all steps of a range are kept, results
// of the math library are kept with them, half as many as a state has numbers,
// or four, so that going back need not compute them again. The memory is kept
// from scan to scan. Scans with the same step, ctx and sizes may share one, as
// long as *ctx and what it points to stay as they are. Fastest where states have
// the tap -1 alone and nothing is untraced.
//
// A few steps of each scan also run themselves, to be compared. If one is not
// what was recorded (it reads x.v past the recording), the scan begins anew
// without recordings; if only a sweep finds that, it fails (ADREV_EEXTERNAL).
//
//   allocator    in    NULL: malloc and free
//
//   returns      NULL: no memory. To be freed when no scan that was given it is
//                recorded any more
//   threads      one at a time; clearing or freeing a tape with such a scan
//                counts
ADX_API ad_replays *ad_replays_new(const ad_allocator *allocator);
ADX_API void ad_replays_free(ad_replays *replays);

// The number of the step, from 0. A scan whose steps ask for it is not
// replayed: a recording would take it for a constant.
ADX_API size_t ad_step_index(ad_step *s);

// The same as a number without derivative (of float, exact up to 2^24): it may
// be replayed.
ADX_API ad_rev ad_step_number(ad_step *s);

// x = f(x, p), so many times: a scan of one state.
//
//   f            in    [n + np] -> [n]
//   x   [n]      in/out
//   p   [np]     in    parameters; NULL if np is 0
//
//   returns      as ad_scan; ADREV_ESHAPE also: f is missing
ADX_API ad_status ad_loop(ad_vector_fn *f, void *ctx, size_t steps, size_t n,
                          ad_rev x[], size_t np, const ad_rev p[],
                          ad_schedule schedule);

// P(n, s): evaluations of a step that a binomial schedule takes to come from
// its s states (the first included) to each of n steps. A scan and a sweep
// evaluate n + 1 + P(n, s) steps, as report.evaluations says: each of them once
// on a tape, and the last one once more for its value. A further sweep: at most
// n + P(n, s).
//
//   see          tests/loop/scan.c
ADX_API size_t ad_binomial_repeats(size_t n, size_t s);

/* --- what depends on what ------------------------------------------------ */

typedef enum ad_connection {
    ADREV_DISCONNECTED,     // the derivative is 0, whatever the values are
    ADREV_CONNECTED,        // there is a derivative; it may be 0 here, as where
                            // a truncated scan cuts it off
    ADREV_NOT_ASKED         // x is a constant
} ad_connection;

// Whether any of y depends on x, from the recording alone.
//
//   answer [n]   out   of each of x
//
//   returns      as ad_pullback, but constants among x are allowed;
//                ADREV_EFOREIGN also for a recording with forks;
//                ADREV_EEXTERNAL also for statements of other headers
//   cost         as ad_pullback; checkpoints and steps of scans run again.
//                Functions given to adrev_bulk.h connect all of an element with
//                all, and a user's external statements all with all; so do the
//                steps of a truncated scan that are not reversed
ADX_TRY ad_status ad_connected(ad_tape *t, size_t m, const ad_rev y[],
                               size_t n, const ad_rev x[],
                               ad_connection answer[]);

#ifdef __cplusplus
}
#endif
