#pragma once

/* === core/api ===============================================================
 * Every function states what it costs and what it does on bad input. Unless
 * it says otherwise:
 *
 *   - a status other than ADREV_OK leaves the outputs untouched
 *   - a tape may be NULL, and a query then returns ADREV_ENOTAPE
 *   - one thread at a time uses a tape; different threads may use different
 *     tapes at once
 *   - nothing is allocated
 *
 * Compilers warn where a status is dropped; ad_ignore drops it on purpose. They
 * do not warn for functions that record on the current tape (ad_external;
 * ad_map, ad_scan and the like), because the tape keeps the status and the next
 * query returns it; nor for ad_check_print, ad_dump_text and ad_dump_dot, whose
 * status says nothing new.
 *
 *   needs   core/config core/types core/operations
 *   offers  ADX_TALLY adx_is_counted adx_count_op adx_count_reverse
 * ========================================================================== */

// A program that adrev can differentiate: R^n -> R, and R^n -> R^m.
typedef ad_rev ad_scalar_fn(const ad_rev *x, void *ctx);
typedef void ad_vector_fn(const ad_rev *x, ad_rev *y, void *ctx);

/* --- tapes --------------------------------------------------------------- */

// A growing tape. It keeps its memory from recording to recording.
//
//   returns      the tape, not yet current; NULL if out of memory
//   memory       a few hundred bytes now; when recording, blocks of ADREV_BLOCK
//                bytes and more; when sweeping, adjoints
//   see          examples/01_derivative.c
#if !defined ADREV_NO_STDLIB && !ADREV_FIXED
ADX_API ad_tape *ad_tape_new(void);
#endif

// The same with the caller's allocator. The struct is copied.
//
//   returns      NULL if out of memory, or if a function is missing
#if !ADREV_FIXED
ADX_API ad_tape *ad_tape_new_with(const ad_allocator *allocator);
#endif

// A tape in fixed memory: nothing is ever allocated. The adjoints of a sweep
// lie in the same buffer, where room for one adjoint per value is left free.
//
//   buffer [bytes]  stays the caller's, and must outlive the tape
//   returns      the tape; NULL if the buffer is NULL or too small
//   see          ad_tape_bytes; examples/05_fixed_memory.c
ADX_API ad_tape *ad_tape_in(void *buffer, size_t bytes);

// Gives all memory back. If the tape was current on this thread, no tape is
// afterwards. NULL is allowed. After ad_tape_in the call is optional, unless a
// statement has something to destroy (ad_external_rule).
ADX_API void ad_tape_free(ad_tape *t);

// Starts a new recording: values recorded so far become foreign, a failed tape
// works again, memory is kept. A statement with a foreign value among its
// operands fails the tape. Operations that need only the number of a foreign
// value still work: comparisons, ad_floor, ad_value, ad_detach, ad_dual, and
// ad_select for the side that it does not take. Cost: some counters, whatever
// the length.
ADX_API void ad_tape_clear(ad_tape *t);

// Bytes of fixed memory that the present recording needs, exactly: ad_tape_in
// with a buffer of this size (aligned as by malloc) records and sweeps the same
// program. That is 12 bytes per operand, 2 per statement, 8 per value, and the
// tape itself. Measure on a growing tape, since one that is full counts only
// what it has recorded; and with the compiler and the optimisation level that
// the buffer is for, since they decide which operands are merged. If the
// program rewinds or calls ad_grad or ad_jac, take bytes_most of ad_tape_stats
// instead.
ADX_API size_t ad_tape_bytes(const ad_tape *t);

ADX_API ad_stats ad_tape_stats(const ad_tape *t);

// Makes room now, so that so many more statements, with so many operands in
// all, can be recorded and swept without an allocation.
//
//   returns      ADREV_OK; ADREV_ENOMEM or ADREV_EFULL, with the tape unchanged
ADX_TRY ad_status ad_tape_reserve(ad_tape *t, size_t statements,
                                  size_t operands);

// Makes a tape current on the calling thread: what is computed from now on is
// recorded there. NULL: nothing is recorded, and every value is a constant.
//
// Call ad_use(NULL) before a thread ends or hands its tape to another thread.
//
//   returns      the tape that was current, or NULL
ADX_API ad_tape *ad_use(ad_tape *t);

// Recording cannot return a status. So a tape that met an error remembers it
// and records nothing more, and every query returns it until the tape is
// cleared, or rewound to before the error.
ADX_TRY ad_status ad_tape_status(const ad_tape *t);

// The status in words; never NULL.
ADX_API const char *ad_message(ad_status status);

// Drops a status on purpose: ad_ignore(ad_pool_use(pool)). (With a cast to void
// gcc still warns.)
ADX_INLINE void ad_ignore(ad_status status) { (void)status; }

// Where a failed tape met its error. Known if the statement was compiled with
// ADREV_DEBUG.
//
//   file, line   out   NULL and 0 if unknown
ADX_API void ad_tape_failed_at(const ad_tape *t, const char **file, int *line);

// The old name of ad_tape_failed_at; the next version is without it.
ADX_INLINE void ad_tape_failure(const ad_tape *t, const char **file, int *line)
{
    ad_tape_failed_at(t, file, line);
}

// Makes the tape fail with ADREV_ENONFINITE at the first input or result that
// is infinite or NaN; false takes that back, ad_tape_clear does not.
// ad_tape_failed_at names the place; a debugger stops there with a breakpoint
// on adx_fail_because (docs/debugging.md). Only statements compiled with
// ADREV_DEBUG are looked at, and inputs and array statements if the
// implementation is; others pass unnoticed, and cost nothing.
ADX_API void ad_tape_stop_nonfinite(ad_tape *t, bool stop);

// Why the tape failed, in one sentence: the text of ad_message or, if the
// status has several causes (ADREV_EHOOK), the one that it was. Never NULL, and
// always valid.
ADX_API const char *ad_tape_reason(const ad_tape *t);

// Makes the current tape fail: for statements of your own (ad_external) that
// cannot be computed. As after any failure, the first error stays, nothing more
// is recorded, and every query says so until the tape is cleared or rewound.
//
//   status       in    not ADREV_OK, with which nothing happens
//   why          in    a sentence for ad_tape_reason, which must live as long
//                      as the tape; NULL: the text of ad_message
//
//   returns      the first error of the tape; `status` if no tape is current
//   see          adapters/adrev_lapack.h
ADX_API ad_status ad_fail(ad_status status, const char *why);

// Bytes that fixed memory lacked, adjoints included, for the statement at which
// the tape failed with ADREV_EFULL: that statement needs exactly so many more.
// What comes after it needs more still; ad_tape_bytes of a growing tape says
// how much in all. 0: the tape has not failed in this way, or what was missing
// is not part of the tape.
ADX_API size_t ad_tape_missing(const ad_tape *t);

// Where a value was recorded: file and line as in ad_tape_failed_at. Cost: one
// pass over the tape.
ADX_API void ad_tape_where(const ad_tape *t, ad_rev x, const char **file,
                           int *line);

// Remembers this place of the recording.
ADX_API ad_mark ad_tape_mark(ad_tape *t);

// Forgets what was recorded since the mark. Values from before it stay valid,
// later ones become foreign, and an error since then is forgotten, too. A tape
// may be rewound to the same mark any number of times.
//
//   returns      ADREV_OK; ADREV_EMARK if the mark is not on this recording or
//                rewound marks nest deeper than ADREV_MARKS; ADREV_EBUSY while
//                a fork is open; ADREV_ENOTAPE
//   cost         constant; afterwards each use of a value from before the mark
//                costs a function call
ADX_TRY ad_status ad_tape_rewind(ad_tape *t, ad_mark mark);

/* --- inputs -------------------------------------------------------------- */

// A new input on the current tape; without a current tape, a constant. (To make
// a constant on purpose, write ad_rec(2.5); a struct of zeros is one, too.)
// Inputs made one after the other share one entry of 14 bytes; those at the
// start of a recording need none.
ADX_API ad_rev ad_input(ad_real v);

//   x    [n]     in    values
//   out  [n]     out   the inputs; constants if the tape fails
ADX_API void ad_inputs(size_t n, const ad_real x[], ad_rev out[]);

/* --- derivatives --------------------------------------------------------- */

// Gradient of one recorded value.
//
//   y            in    a value recorded on t
//   x   [n]      in    values recorded on t, usually inputs
//   g   [n]      out   g[i] = dy/dx[i]             unit: y per x[i]
//
//   returns      ADREV_OK; the error of a failed tape; ADREV_EFOREIGN,
//                ADREV_EPASSIVE (y or an x is a constant), ADREV_ESHAPE (n
//                above the number of values, or NULL); ADREV_ENOMEM;
//                ADREV_EEXTERNAL (a user's rule failed, or lacks a function)
//   cost         one reverse sweep over the recording
//   memory       8 bytes per value, kept for the next sweep
//   see          examples/01_derivative.c, tests/core/tape.c
ADX_TRY ad_status ad_gradient(ad_tape *t, ad_rev y, size_t n,
                              const ad_rev x[], ad_real g[]);

// Adjoints of x for given adjoints of y: dx = dy J. May be repeated.
//
//   y   [m]      in    outputs; constants among them contribute nothing, but if
//                      all are constants, the status is ADREV_EPASSIVE
//   dy  [m]      in    weights of the outputs
//   dx  [n]      out   dx[j] = sum over i of dy[i] J[i*n + j]
//
//   returns, cost, memory: as ad_gradient
ADX_TRY ad_status ad_pullback(ad_tape *t, size_t m, const ad_rev y[],
                              const ad_real dy[], size_t n, const ad_rev x[],
                              ad_real dx[]);

// Tangents of y for given tangents of x: dy = J dx. May be repeated.
//
//   dx  [n]      in    direction
//   dy  [m]      out   0 for outputs that are constants, if not all are
//
//   returns, cost, memory: as ad_pullback, with one forward sweep
ADX_TRY ad_status ad_pushforward(ad_tape *t, size_t n, const ad_rev x[],
                                 const ad_real dx[], size_t m,
                                 const ad_rev y[], ad_real dy[]);

// Dense Jacobian, row by row: J[i*n + j] = dy[i]/dx[j].
//
//   J   [m*n]    out   rows of outputs that are constants are 0; undefined
//                      with ADREV_EEXTERNAL
//
//   returns      as ad_pullback
//   cost         a reverse sweep for every 8 outputs or a forward sweep for
//                every 8 inputs, whichever makes fewer sweeps; reverse if a
//                statement cannot go forward
//   memory       64 bytes per value; where there is less, sweeps are narrower,
//                and there are more of them
ADX_TRY ad_status ad_jacobian(ad_tape *t, size_t m, const ad_rev y[],
                              size_t n, const ad_rev x[], ad_real J[]);

// Everything in one call: inputs, program, sweep. Records on the current tape,
// after what is there, and leaves the tape as it was; without a current tape,
// on one of its own, which allocates (with ADREV_FIXED: ADREV_ENOTAPE).
//
//   x   [n]      in    point
//   y            out   value; may be NULL
//   g   [n]      out   gradient; NULL: only the value. Then f is given
//                      constants, nothing is swept, and f may return a constant
//
//   returns      as ad_gradient, and any error met while f was recorded; of
//                several the first. ADREV_EBEYOND: f used x[n] or one of the
//                three numbers behind it; ADREV_ESHAPE: both y and g are NULL,
//                and n > 0
ADX_TRY ad_status ad_grad(ad_scalar_fn *f, void *ctx, size_t n,
                          const ad_real x[], ad_real *y, ad_real g[]);

//   y   [m]      out   values; may be NULL
//   J   [m*n]    out   Jacobian, row by row; NULL: only the values, as above
//
//   returns      as ad_grad; ADREV_EBEYOND also if f wrote y[m] or one of the
//                three numbers behind it; ADREV_ESHAPE also if f did not set
//                all of y
ADX_TRY ad_status ad_jac(ad_vector_fn *f, void *ctx, size_t n,
                         const ad_real x[], size_t m, ad_real y[],
                         ad_real J[]);

/* --- hooks --------------------------------------------------------------- */

typedef struct ad_external_rule ad_external_rule;

// One operation, as a hook is told of it.
typedef struct ad_operation {
    ad_opcode code;
    ad_rev result;          // of a comparison: the constant 0 or 1
    ad_rev arg[3];          // job 0: a constant
    const char *file;       // NULL unless compiled with ADREV_DEBUG
    int line;
} ad_operation;

// An array or external statement, as a hook is told of it.
typedef enum ad_array_kind {
    ADREV_ARRAY_sum, ADREV_ARRAY_dot, ADREV_ARRAY_norm2, ADREV_ARRAY_sqdist,
    ADREV_ARRAY_logsumexp, ADREV_ARRAY_softmax, ADREV_ARRAY_axpy,
    ADREV_ARRAY_scale, ADREV_ARRAY_each, ADREV_ARRAY_matmul,
    ADREV_ARRAY_trimatvec, ADREV_ARRAY_external
} ad_array_kind;

// An operand: element (i, j) is x[i*rs + j*cs] or, if x is NULL, the constant
// c[i*rs + j*cs]. A vector is one row.
typedef struct ad_array_view {
    const ad_rev *x;
    const ad_real *c;
    size_t rows;
    size_t cols;
    ptrdiff_t rs;
    ptrdiff_t cs;
} ad_array_view;

typedef struct ad_array_operation {
    ad_array_kind kind;
    ad_opcode code;         // of ADREV_ARRAY_each
    ad_array_view arg[3];   // what the function of that name takes, in its
                            // order; valid during the call
    ad_rev result;          // the first one; the ids of the others follow. v: 0
    size_t results;
    const ad_external_rule *rule;
    const void *saved;      // these are NULL and 0 but for ADREV_ARRAY_external
    size_t bytes;
    const char *file;       // NULL unless compiled with ADREV_DEBUG
    int line;
    bool *kept;             // out, of ADREV_ARRAY_external: a hook that copied
                            // what was saved sets it. Then it is the hook, not
                            // the tape, that calls destroy: once, with the
                            // copy, when the tape is gone
} ad_array_operation;

// trace        is told of every operation, step function and comparison with a
//              recorded operand, in an order in which C may evaluate them.
//              While it is set, each operation is a statement of its own, and
//              ad_detach is an operation. So are ad_value and ad_dual of a
//              recorded number, with a constant as their result, because the
//              program may do anything with the plain number. Code compiled
//              without ADREV_TRACE does not tell the hook: when it records, the
//              tape fails with ADREV_EHOOK (its comparisons pass unnoticed).
//              The tape also fails so for an ad_expr that was made before the
//              hook was set.
// array        is told of every array and external statement that is recorded
//              while trace is set. NULL: such a statement fails the tape with
//              ADREV_EHOOK.
// foreign      is asked for a value that is not of this recording. It returns a
//              value that is, or a constant, or x itself to say no. Only the id
//              of x is known; x.v is 0. It may be asked again for the same x,
//              and must then give the same answer.
// Any of them may be NULL.
typedef struct ad_hooks {
    void (*trace)(void *user, const ad_operation *operation);
    ad_rev (*foreign)(void *user, ad_rev x);
    void *user;
    void (*array)(void *user, const ad_array_operation *operation);
} ad_hooks;

// Sets the hooks of a tape. The struct is copied; NULL sets none, as at the
// beginning. While a function that has inputs is recorded on the tape
// (adrev_function.h), this call fails the tape with ADREV_EHOOK.
#if !ADREV_FIXED
ADX_API void ad_tape_hooks(ad_tape *t, const ad_hooks *hooks);
#endif

// The rows of core/operations, [ADREV_OP_COUNT].
ADX_API const ad_op_info *ad_op_table(void);

/* --- operators for other languages ------------------------------------------
 * Functions that record an operation by its code, where macros and inlined
 * functions are out of reach: from Python, Fortran, Julia, Lua. ad_rev is
 * passed by value, a struct of an ad_real and two uint32_t.                  */

// One operation, recorded on the current tape as one statement. The result is
// that of ad_rec for the operator of this name. A constant among the arguments
// (job 0) counts as a plain number.
//
//   op           in    ADREV_OP_..., of the arity of the function; see
//                      ad_op_find
//
// op may be a row of the table; a step function, whose result is a constant;
// ADREV_OP_detach; or a comparison, whose result is the constant 0 or 1. The
// first argument of ADREV_OP_select is its condition. If that is not 0, the
// result is the second argument, else the third, without a statement. The
// exponent of powi and ldexp (second argument) and the order of polygamma, jn
// and yn (first) are parameters: constants that are whole numbers. A hook is
// told of each operation, so functions can be recorded in this way, whatever
// ADREV_TRACE is.
//
//   returns      a constant if all arguments are, or without a tape. NaN, and
//                the tape fails with ADREV_ESHAPE, if op is no operation of so
//                many arguments, or a parameter is not a whole constant
//   cost         that of the operation, and the search for it by its code: 2 to
//                10 ns; one statement
//   see          docs/operations.md, tests/core/exported.c
ADX_API ad_rev ad_op1(unsigned op, ad_rev x);
ADX_API ad_rev ad_op2(unsigned op, ad_rev x, ad_rev y);
ADX_API ad_rev ad_op3(unsigned op, ad_rev x, ad_rev y, ad_rev z);

// Name and number of arguments of an operation: "mul", 2. NULL and 0: no
// operation has this code. Codes are those of one version of the library
// (ad_version); names stay.
ADX_API const char *ad_op_name(unsigned op);
ADX_API unsigned ad_op_arity(unsigned op);

// The code of an operation's name, without prefix: "mul", "sin", "lt"; also
// "fabs", "fmin" and "fmax". ADREV_OP_COUNT: there is none; every larger code
// is refused, too. Cost: one pass over the table.
ADX_API unsigned ad_op_find(const char *name);

// The version of the implementation that was linked: "0.1.0".
ADX_API const char *ad_version(void);

/* --- external and array statements ------------------------------------------
 * Each call is one statement, however many operands it has. Matrices are given
 * by strides, counted in elements: element (i, j) of A is A[i*ars + j*acs].
 * Strides may be 0 (the same number again) or negative. Inputs may overlap one
 * another, and constants among them cost nothing in reverse. Where a function
 * says so, its output may be an input, element by element; otherwise outputs
 * overlap no input. Memory per operand: 8 bytes for its partial, unless all
 * partials are equal; and 4 bytes for its id, unless ids are evenly spaced, as
 * those of inputs or results of one call are. If an array is NULL and its
 * length is not 0, the tape fails with ADREV_ESHAPE; a number that would be
 * returned is then NaN, and arrays are left as they are. Under a trace hook
 * without `array` the tape fails with ADREV_EHOOK.                           */

// What `replay` is given, and what it is asked for. With y = F(x), tangents
// (..d) along xd and adjoints (..b) for weights yb:
//
//     y   = F(x)              yd  = J(x) xd
//     xb  = yb J(x)           xbd = ybd J(x) + yb (dJ/dx xd)
//
// A pointer that is NULL is not given, or not asked for. A call asks for one of
//
//     y                  given x              xb              given x, yb
//     y and yd           given x, xd          xb and xbd      given all
//
// What is asked for is 0 before the call, and overlaps nothing. A call is for
// one direction, or for k of them if the rule is `abreast`: then x and y are
// those of all directions, and each other array has a row for each.
//
// A replay takes from `saved` only what does not depend on x; the rest belongs
// to the point where the statement was recorded. It returns false if it cannot
// do what is asked, or not at this point. Several threads may call it at once.
// It is not called where all adjoints are 0, and is given no tangents where all
// of them are 0. For points or directions side by side, it is not called twice
// in a row with the same numbers.
typedef struct ad_external_point {
    size_t n;               // inputs
    size_t m;               // results
    size_t k;               // directions; 0: y alone is asked for
    const ad_real *x;       // [n] inputs, always given
    const ad_real *xd;      // [k*n] their tangents
    const ad_real *yb;      // [k*m] adjoints of the results
    const ad_real *ybd;     // [k*m] tangents of yb
    ad_real *y;             // [m] out: results
    ad_real *yd;            // [k*m] out: their tangents
    ad_real *xb;            // [k*n] out: adjoints of the inputs
    ad_real *xbd;           // [k*n] out: tangents of xb
} ad_external_point;

// A user's own derivative. All functions are given what was saved. All but
// destroy return true, or false if they failed; then the query returns
// ADREV_EEXTERNAL. No tape is current while they run: they may use other tapes,
// or ad_grad, but not this tape.
//
// pullback     adds the adjoints of the inputs to dx[n]: dx += dy J. It must
//              not write to saved or dy: dy may be the tape's own adjoints
// pullback_n   the same for k directions at once, at most 8 (ad_jacobian):
//              direction r has row r of dy[k*m], and adds to row r of dx[k*n].
//              NULL: pullback is called for each of them
// pushforward  sets dy[m] to the tangents of the outputs: dy = J dx. NULL: no
//              query can go forward then
// pushforward_n   the same for k directions at once: from row r of dx[k*n] to
//              row r of dy[k*m]. NULL: pushforward is called for each of them
// destroy      is called once for each statement: with the copy of saved, when
//              the statement leaves the tape (clear, rewind, free); or, if it
//              was not recorded, at once and with saved itself. v may lie in
//              what it frees. For a statement in a recorded function
//              (adrev_function.h) it is called when the last function that has
//              the statement is freed. May be NULL
// replay       evaluates the statement at any point: see ad_external_point.
//              NULL: a function with this statement cannot be recorded
// abreast      true: a call of replay may be for several directions, at most
//              ADREV_LANES_MOST, so that what they share is computed once (the
//              factors of a matrix)
// always       true: what the rule does matters beside its numbers, as if it
//              sends messages. The statement is recorded even if all inputs are
//              constants (its results are then recorded numbers), may have no
//              results (m = 0), and each sweep that comes to it calls pullback
//              or pushforward for every direction, even if all of dy or dx is
//              0. So does each sweep over a checkpoint, a scan or a fork with
//              such a statement. Where sweeps leave out what has no adjoint, in
//              recorded functions and maps, the tape fails with ADREV_EHOOK
struct ad_external_rule {
    const char *name;
    bool (*pullback)(const void *saved, size_t m, const ad_real dy[],
                     size_t n, ad_real dx[]);
    bool (*pushforward)(const void *saved, size_t n, const ad_real dx[],
                        size_t m, ad_real dy[]);
    void (*destroy)(const void *saved);
    bool (*replay)(const void *saved, const ad_external_point *at);
    bool (*pullback_n)(const void *saved, size_t k, size_t m,
                       const ad_real dy[], size_t n, ad_real dx[]);
    bool always;
    bool abreast;
    bool (*pushforward_n)(const void *saved, size_t k, size_t n,
                          const ad_real dx[], size_t m, ad_real dy[]);
};

// Private copies have them only if they are defined: gcc warns otherwise.
#if ADREV_FIXED < 2 || !defined ADREV_STATIC

// Records the m results v, computed from x, as one statement with the user's
// own derivative.
//
//   rule             in    stays the caller's, and must outlive the recording
//   saved [bytes]    in    copied onto the tape, aligned as by malloc
//   x     [n]        in    numbers
//   v     [m]        in    values of the results
//   y     [m]        out   the results, which may lie where x does; constants
//                          if all of x are, but for `always`, or if the tape
//                          fails
//
//   returns      ADREV_OK; the error of a failed tape; ADREV_EEXTERNAL (no
//                pullback), ADREV_ESHAPE (m is 0 without `always`, or NULL) or
//                ADREV_EHOOK (`always` where that cannot be), with which the
//                tape fails, too
//   cost         in each reverse sweep, a call of pullback per direction, or of
//                pullback_n for several, except where all of dy is 0, but for
//                `always`
//   memory       `bytes`, about 100 bytes, and 4 per operand if the ids are not
//                evenly spaced; once per tape, n + m numbers for each direction
//                of a sweep
//   see          examples/09_linear_solve.c; with a replay,
//                tests/function/function_external.c
ADX_API ad_status ad_external(const ad_external_rule *rule, const void *saved,
                              size_t bytes, size_t n, const ad_rev x[],
                              size_t m, const ad_real v[], ad_rev y[]);

// Sum of x (ad_sum), of x*y (ad_dot) and of x*c (ad_dotc). n = 0: constant 0.
ADX_API ad_rev ad_sum(size_t n, const ad_rev x[]);
ADX_API ad_rev ad_sum_s(size_t n, const ad_rev *x, ptrdiff_t incx);
ADX_API ad_rev ad_dot(size_t n, const ad_rev x[], const ad_rev y[]);
ADX_API ad_rev ad_dot_s(size_t n, const ad_rev *x, ptrdiff_t incx,
                        const ad_rev *y, ptrdiff_t incy);
ADX_API ad_rev ad_dotc(size_t n, const ad_rev x[], const ad_real c[]);
ADX_API ad_rev ad_dotc_s(size_t n, const ad_rev *x, ptrdiff_t incx,
                         const ad_real *c, ptrdiff_t incc);

// Euclidean norm, scaled against overflow. At 0 the derivative is 0.
ADX_API ad_rev ad_norm2(size_t n, const ad_rev x[]);
ADX_API ad_rev ad_norm2_s(size_t n, const ad_rev *x, ptrdiff_t incx);

// Sum of (x - y)^2.
ADX_API ad_rev ad_sqdist(size_t n, const ad_rev x[], const ad_rev y[]);
ADX_API ad_rev ad_sqdist_s(size_t n, const ad_rev *x, ptrdiff_t incx,
                           const ad_rev *y, ptrdiff_t incy);

// log of the sum of exp(x), for entries of any size. If the largest entry is
// infinite, it is the result; -inf if n = 0. Infinite entries that tie share
// the derivative equally.
ADX_API ad_rev ad_logsumexp(size_t n, const ad_rev x[]);
ADX_API ad_rev ad_logsumexp_s(size_t n, const ad_rev *x, ptrdiff_t incx);

// y = exp(x) / sum of exp(x), the gradient of ad_logsumexp. y may be x.
ADX_API void ad_softmax(size_t n, const ad_rev x[], ad_rev y[]);
ADX_API void ad_softmax_s(size_t n, const ad_rev *x, ptrdiff_t incx,
                          ad_rev *y, ptrdiff_t incy);

// ad_axpy: y = a x + y. ad_scale: y = a x, where y may be x.
ADX_API void ad_axpy(size_t n, ad_rev a, const ad_rev x[], ad_rev y[]);
ADX_API void ad_axpy_s(size_t n, ad_rev a, const ad_rev *x, ptrdiff_t incx,
                       ad_rev *y, ptrdiff_t incy);
ADX_API void ad_scale(size_t n, ad_rev a, const ad_rev x[], ad_rev y[]);
ADX_API void ad_scale_s(size_t n, ad_rev a, const ad_rev *x, ptrdiff_t incx,
                        ad_rev *y, ptrdiff_t incy);

// A row of the operator table, element by element: y[i] = op(a[i], b[i], c[i]).
// Arguments that the row does not have are NULL; y may be one of the others.
//
//   op           in    not a comparison (with one the tape fails with
//                      ADREV_ESHAPE, and y is not written); the condition of
//                      select is a
//   see          docs/operations.md
ADX_API void ad_each(ad_opcode op, size_t n, const ad_rev a[],
                     const ad_rev b[], const ad_rev c[], ad_rev y[]);
ADX_API void ad_each_s(ad_opcode op, size_t n, const ad_rev *a,
                       ptrdiff_t inca, const ad_rev *b, ptrdiff_t incb,
                       const ad_rev *c, ptrdiff_t incc, ad_rev *y,
                       ptrdiff_t incy);

// y = A x, where A has m rows and n columns. ad_matvecc: with a constant A.
ADX_API void ad_matvec(size_t m, size_t n, const ad_rev A[], const ad_rev x[],
                       ad_rev y[]);
ADX_API void ad_matvec_s(size_t m, size_t n, const ad_rev *A, ptrdiff_t ars,
                         ptrdiff_t acs, const ad_rev *x, ptrdiff_t incx,
                         ad_rev *y, ptrdiff_t incy);
ADX_API void ad_matvecc(size_t m, size_t n, const ad_real A[],
                        const ad_rev x[], ad_rev y[]);

// C = A B, where A is m x k, B is k x n, and C is m x n.
ADX_API void ad_matmul(size_t m, size_t k, size_t n, const ad_rev A[],
                       const ad_rev B[], ad_rev C[]);
ADX_API void ad_matmul_s(size_t m, size_t k, size_t n, const ad_rev *A,
                         ptrdiff_t ars, ptrdiff_t acs, const ad_rev *B,
                         ptrdiff_t brs, ptrdiff_t bcs, ad_rev *C,
                         ptrdiff_t crs, ptrdiff_t ccs);

// y = L x, where L is lower triangular: d[n] is its diagonal (NULL: ones), and
// l[n(n-1)/2] is what lies below, column by column: (1,0), (2,0) ... (n-1,0),
// (2,1) ...
ADX_API void ad_trimatvec(size_t n, const ad_rev d[], const ad_rev l[],
                          const ad_rev x[], ad_rev y[]);
#endif

/* --- operation counts -------------------------------------------------------
 * With ADREV_COUNT: what the calling thread has computed on recorded numbers.
 * Of sweeps, only those in one direction (gradient, pullback) are counted. In
 * `reverse`, a product with 1 or -1 does not count, and the first contribution
 * to an adjoint is no addition; partials that are multiplied while an
 * expression is recorded do count.                                           */

#if ADREV_COUNT
typedef struct ad_operations {
    uint64_t add;           // additions, subtractions
    uint64_t mul;           // multiplications, divisions
    uint64_t fn;            // other rows of the table
    uint64_t written;       // reverse: adjoints stored
} ad_operations;

typedef struct ad_count_both {
    ad_operations forward;
    ad_operations reverse;
} ad_count_both;

// Set it to zero before you begin.
#ifdef ADREV_STATIC
static ADX_THREAD ad_count_both ad_counts ADX_UNUSED;
#else
ADX_EXTERN ADX_THREAD ad_count_both ad_counts;
#endif

#define ADX_TALLY(direction, what, times)                                   \
    ((void)(ad_counts.direction.what += (uint64_t)(times)))

ADX_INLINE bool adx_is_counted(ad_real factor)
{
    return factor != 1 && factor != -1;
}

// Counts one operation with so many recorded arguments.
ADX_INLINE void adx_count_op(ad_opcode op, unsigned active)
{
    static const unsigned short attributes[] = { ADX_ATTRIBUTES };
    const unsigned how = attributes[op];
    const bool fn = (how & (ADX_ADDS | ADX_TIMES)) == 0;
    ADX_TALLY(forward, add, active > 0 && (how & ADX_ADDS) != 0);
    ADX_TALLY(forward, mul, active > 0 && (how & ADX_TIMES) != 0);
    ADX_TALLY(forward, fn, active > 0 && fn);
    ADX_TALLY(reverse, mul, (how & ADX_SCALES) != 0 ? active : 0);
    ADX_TALLY(reverse, fn, fn ? active : 0);
}

// One contribution to an adjoint.
ADX_INLINE void adx_count_reverse(ad_real factor, ad_real adjoint)
{
    ADX_TALLY(reverse, mul, adx_is_counted(factor));
    ADX_TALLY(reverse, add, adjoint != 0);
    ADX_TALLY(reverse, written, 1);
}
#else
#define ADX_TALLY(direction, what, times) ((void)0)
#endif

/* --- finding mistakes ---------------------------------------------------- */

typedef enum ad_verdict {
    ADREV_AGREES,           // gradient and differences, within their error
    ADREV_DISAGREES,
    ADREV_KINK,             // the slopes to the left and right differ, or there
                            // is only one, or they grow without bound; and the
                            // gradient does not lie outside of them
    ADREV_NOISY,            // the error of the differences is too large
    ADREV_VERDICT_COUNT
} ad_verdict;

// One check: of the derivative with respect to one input or, if there are very
// many inputs, along a random direction in a group of them.
typedef struct ad_check_entry {
    size_t output;          // of ad_check_jac; else 0
    size_t index;           // of the input, or of the first one of the group
    size_t inputs;          // 1: this input alone, and derivatives are d/dx.
                            // More: steps are relative to the size of each x
    ad_verdict verdict;
    ad_real gradient;       // the derivative as recorded
    ad_real difference;     // the same from differences
    ad_real error;          // of the difference, estimated
    ad_real left, right;    // slopes to either side, at the last step
    ad_real mismatch;       // |gradient - difference|; 1: the most allowed
} ad_check_entry;

// Begin with zeros: ad_check_report report = {0};
typedef struct ad_check_report {
    ad_check_entry *entry;  // in [room]: is given all checks if room is n or
    size_t room;            // more (ad_check_jac: m*n, input by input), else
                            // those that do not agree
    size_t limit;           // in: most checks of the n inputs (for each
                            // output); 0: 1000
    bool filled;            // false: no check was made, or the latest failed
    size_t outputs;         // how many were checked: 1, or m
    size_t listed;          // entries that were filled
    size_t checks;
    size_t counts[ADREV_VERDICT_COUNT];     // how many of each verdict
    ad_check_entry worst;   // disagrees is worse than kink, kink than noisy; of
                            // two alike, the one with the larger mismatch
    ad_real value;          // of f at x: the output of `worst`
    ad_real forward;        // derivative along a random direction, by a forward
    ad_real reverse;        // sweep, and by the gradient; of the output with
                            // the largest gap
    ad_real gap;            // between the two; 1: the most rounding explains
    size_t evaluations;     // of f
} ad_check_report;

// Checks the gradient of f against differences, and reverse against forward.
// The differences take steps from a large part of |x| to a very small one; they
// are extrapolated, and their error is estimated. For them f is given
// constants, and nothing is recorded. If there are more inputs than `limit`,
// they are checked in groups; in a group that does not agree, one input that
// does not is searched for.
//
//   x   [n]      in    point
//   report       in    entry, room, limit
//                out   everything else; on failure only entry[] and `filled`,
//                      which is then false
//
//   returns      ADREV_OK, whatever was found (see ad_check_passed); as
//                ad_grad, but a constant y is no error: its gradient is 0
//   cost         about 12 evaluations of f for each check that agrees, up to
//                100 for any other
//   memory       on the tape: as ad_grad, and 16 bytes per input
//   see          docs/finding-mistakes.md, tests/check/finding_mistakes.c
ADX_TRY ad_status ad_check(ad_scalar_fn *f, void *ctx, size_t n,
                           const ad_real x[], ad_check_report *report);

// The same for a Jacobian: every output is checked with respect to every input,
// and each output has a reverse sweep of its own. For functions of a struct
// there is name_check of adrev_struct.h.
//
//   returns      as ad_check, and as ad_jac
//   cost         m reverse sweeps; 12 to 25 evaluations of f for each input
//                whose checks agree, as an evaluation serves all outputs
//   memory       on the tape: as ad_jac, and about 8 (m + 2) (n + 35) bytes
ADX_TRY ad_status ad_check_jac(ad_vector_fn *f, void *ctx, size_t n,
                               const ad_real x[], size_t m,
                               ad_check_report *report);

// Whether the report is filled, every check agrees, and forward agrees with
// reverse. Of NULL: false.
ADX_API bool ad_check_passed(const ad_check_report *report);

// A statement of a recording.
typedef struct ad_statement {
    ad_rev result;          // job 0: no statement. v is 0 unless file is known
    size_t operands;        // how many it has; the first ADREV_SHOWN of them:
#define ADREV_SHOWN 16
    ad_rev operand[ADREV_SHOWN];        // job 0: a constant. v is always 0
    ad_real partial[ADREV_SHOWN];
    ad_real adjoint;        // dy/dresult
    const char *file;       // NULL and 0 unless compiled with ADREV_DEBUG
    int line;
} ad_statement;

typedef struct ad_nonfinite {
    ad_statement value;     // the first one whose value is not finite, among
                            // those compiled with ADREV_DEBUG
    ad_statement partial;   // the first one with a partial that is not finite
    ad_statement adjoint;   // the last one recorded whose adjoint is not
                            // finite: a reverse sweep from y meets it first
} ad_nonfinite;

// Finds where infinities and NaNs come from. Values are not on the tape. So
// without ADREV_DEBUG a NaN shows only in the partials of statements that use
// it nonlinearly, and an infinity in those of the statement after it, or
// nowhere.
//
//   y            in    the value whose gradient is wrong; may be a constant
//   found        out   statements; job 0 where there is none
//
//   returns      ADREV_OK, whether anything was found or not; ADREV_EFOREIGN if
//                the recording has forks (see ad_tape_serial); else as
//                ad_gradient
//   cost, memory as ad_gradient, and two passes over the tape
ADX_TRY ad_status ad_find_nonfinite(ad_tape *t, ad_rev y, ad_nonfinite *found);

// A use of x in a statement, and what it contributes to dy/dx.
typedef struct ad_term {
    ad_rev result;          // of the statement; v is 0. To go on from here, ask
                            // for the terms of dy/dresult
    ad_real partial;        // dresult/dx, of this use
    ad_real adjoint;        // dy/dresult
    ad_real product;        // of the two: the term
    const char *file;       // NULL and 0 unless compiled with ADREV_DEBUG
    int line;
} ad_term;

typedef struct ad_explanation {
    ad_real derivative;     // dy/dx: the sum of the terms
    ad_real size;           // the sum of their absolute values
    ad_real condition;      // size/|derivative|; 1e8: 8 digits cancel
    size_t terms;           // how many there are
    size_t listed;          // how many of them are in term[]
} ad_explanation;

// The terms that a derivative is the sum of, the largest first.
//
//   term [room]  out   may be NULL if room is 0
//   sum          out
//
//   returns, cost, memory: as ad_gradient, and one pass over the tape;
//                ADREV_EFOREIGN if the recording has forks (see ad_tape_serial)
ADX_TRY ad_status ad_explain(ad_tape *t, ad_rev y, ad_rev x, size_t room,
                             ad_term term[], ad_explanation *sum);

// Of how many inputs the difference of x and y has a derivative, on the current
// tape: 0, 1, or 2 for more. For a program that takes a way of its own where
// two numbers are equal: with 0 they are equal nearby, too, as a copy is, and
// no derivative is lost. With 1 it is as if that input were equal to a
// constant. (The square of a difference that is 0 counts as 0.)
//
//   returns      2 also if it is not known: no tape is current, or it has
//                failed; x or y is of another recording; a function is being
//                recorded, and neither is a copy of the other; the difference
//                depends on an array statement or an external statement, on
//                too much, or on anything at all of a tape on which tasks were
//                forked
//   cost         of a copy a comparison; else a reverse sweep from the end of
//                the tape back to the last statement that the difference
//                depends on, or to its inputs, of 1 000 000 entries at most:
//                beyond, 2
//   memory       none but 1 KiB of the stack
//   see          docs/porting-tool.md, tests/check/tie.c
ADX_API int ad_tie(ad_rev x, ad_rev y);

// Give a name to what is recorded on the current tape between these two calls.
// Regions may be nested, and may be entered again. The name is not copied.
// Memory: 38 bytes of the tape for each call; 26 with float.
ADX_API void ad_region_begin(const char *name);
ADX_API void ad_region_end(const char *name);

typedef struct ad_region {
    const char *name;
    size_t entered;         // how often, not counting entries from within
    size_t statements;      // in it and in the regions within it
    size_t operands;
    size_t values;          // statements and inputs
    size_t bytes;           // of the tape, adjoints included
    size_t adx_open;
} ad_region;

// Statistics of each region, in the order in which they were first entered. A
// region that is still open is counted up to here.
//
//   region [room] out
//
//   returns      how many are written; names beyond `room` are left out
//   cost         one pass over the tape, times the number of open regions
ADX_API size_t ad_tape_regions(const ad_tape *t, size_t room,
                               ad_region region[]);

typedef void ad_write_fn(const char *text, size_t length, void *user);

// The report in words: a table of the checks that it lists, worst first and at
// most 100 of them (without a list only the worst one), and what to do about
// them.
//
//   write        called often, with short pieces of text
//
//   returns      ADREV_OK; ADREV_ESHAPE: report or write is NULL
ADX_API ad_status ad_check_print(const ad_check_report *report,
                                 ad_write_fn *write, void *user);

// The recording as text, a line for each statement:
//
//     v5 = 1 v4 + -0.5 v2 + 3 const     example.c:12, value 0.25
//
// says that the partials of v5 are 1, -0.5 and 3, the last one with respect to
// a constant. `sum v4` is a partial of 1 that takes no memory: see ad_acc.
// Numbers have 9 digits.
//
//   write        called often, with short pieces of text
//
//   returns      the status of the tape; a failed tape is written, too
ADX_API ad_status ad_dump_text(const ad_tape *t, ad_write_fn *write,
                               void *user);

// Writes the same text into memory: as much as there is room for, with a 0 at
// the end. For debuggers, which can call it (docs/debugging.md).
//
//   text [room]  out   may be NULL if room is 0
//
//   returns      the length of the whole text, without the 0
ADX_API size_t ad_dump_string(const ad_tape *t, size_t room, char text[]);

// The recording as a graph, for `dot -Tsvg`. Inputs are boxes, regions are
// clusters, and edges go from a statement to its operands.
ADX_API ad_status ad_dump_dot(const ad_tape *t, ad_write_fn *write,
                              void *user);
