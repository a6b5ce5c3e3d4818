#pragma once

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
