#pragma once

/* === function/api ===========================================================
 * Recorded functions: switches, types, and the interface with its contracts.
 * ========================================================================== */

/* --- configuration ------------------------------------------------------- */

// ADREV_TRACE   see adrev.h. Here the default is 1: functions of this file can be
//   recorded. A file that records long tapes, but no such functions, should say
//   0 before it includes this header.

// ADREV_LANES_MOST   points evaluated side by side.       default 32, 4 to 256
//   A number of the program takes this many numbers of memory: more of them
//   hide the cost of reading the program, fewer stay in the cache.
#ifndef ADREV_LANES_MOST
#define ADREV_LANES_MOST 32
#endif

// ADREV_MATRIX_MOST  a Jacobian or a Hessian is one program if its rows or
//   columns (whichever are fewer) times the operations of the function are not
//   more.                                        default 8000; 0: row by row
//   Such a program is up to eight times as fast, and takes up to 1 ms to make
//   when the matrix is first asked for; longer with large arrays, each of whose
//   operations counts as one.
#ifndef ADREV_MATRIX_MOST
#define ADREV_MATRIX_MOST 8000
#endif

ADX_STATIC_ASSERT(ADREV_LANES_MOST >= 4 && ADREV_LANES_MOST <= 256
                  && ADREV_LANES_MOST % 4 == 0, "ADREV_LANES_MOST: 4 to 256");

/* --- types --------------------------------------------------------------- */

typedef struct ad_fn ad_fn;

// How a function is recorded. All-zero: as ad_fn_record does it.
typedef struct ad_fn_options {
    const ad_allocator *allocator;  // NULL: malloc and free; ADREV_NO_STDLIB:
                                    // ADREV_ENOMEM. Called from all threads
                                    // that use the function
    bool plain;                     // keep every operation: do not simplify
    bool once;                      // do not run f a second time: ADREV_EFROZEN
                                    // is then never returned
} ad_fn_options;

// What a recorded function is, and what simplifying it removed. Some array
// statements are taken apart (ad_sqdist, ad_logsumexp, ad_softmax ...): recorded
// as one operation, they are several, and `operations` may exceed `recorded`.
// Comparisons and steps (floor ...) count in `guards` only; those of a function
// called by ad_fn_call as operations, too.
typedef struct ad_fn_report {
    size_t recorded;        // operations that f made
    size_t constant;        // of these: of constants alone
    size_t common;          // the same as one before; of long functions not
                            // all are found
    size_t identity;        // x*1, x - 0, -(-x) ...: results that are operands
    size_t dead;            // no result depends on them
    size_t operations;      // kept
    size_t arrays;          // of these: operations on arrays and external
                            // statements, each counted once
    size_t guards;          // comparisons and steps that must not change
} ad_fn_report;

// A comparison (or floor, ad_value ...) that must come out as it was recorded.
typedef struct ad_guard {
    size_t index;           // in the order in which f made them
    const char *file;       // NULL and 0 unless f was compiled with ADREV_DEBUG
    int line;
} ad_guard;

/* --- interface --------------------------------------------------------------
 * A recorded function does not change: all threads may use it at once. What a
 * derivative needs is made when it is first asked for. Results are written
 * only if the answer is ADREV_OK (of many points, 3.5, those that passed are);
 * else it is
 *
 *     ADREV_EPATH    a guard came out differently at x: see ad_fn_guard
 *     ADREV_ENOMEM   the allocator returned NULL
 *     ADREV_ESHAPE   an array is NULL that must not be
 *     ADREV_EEXTERNAL  an external statement cannot do this, or not at x
 *
 * Values are those of f on a tape to the last bit, if the compiler contracts no
 * products and sums to one rounding: so it is with -ffp-contract=off, and with
 * gcc -std=c11. Else results of array statements (ad_axpy, ad_sqdist,
 * ad_trimatvec) may differ in the last place, and a guard on them may not be
 * passed at the very point of the recording. Machine code has the same bits if it
 * is compiled so, too; matrices of functions with arrays may differ in the last
 * place. A zero factor in the chain rule gives zero, as on a tape.          */

#ifdef __cplusplus
extern "C" {
#endif

/* --- recording ----------------------------------------------------------- */

// Runs f at x, and keeps what it computes. Then f is run once more, close by,
// with constants on an empty tape, and compared with what was kept.
//
//   out          out   the function, to be freed with ad_fn_free; NULL unless
//                      ADREV_OK is returned
//   f            in    must be compiled with ADREV_TRACE (this header does it).
//                      A number that it takes by ad_value or ad_dual is one of
//                      this point: elsewhere that is a guard not passed. One
//                      that it reads as x.v is one of this point, too, but the
//                      recording does not see that: use ad_value. Its external
//                      statements are evaluated by their rules' replay
//                      (ad_external_point), at this point, too
//   x   [n]      in    where f is run; decides which way its branches go
//   m            in    results of f, one at least
//
//   returns      ADREV_OK; ADREV_EHOOK: f was compiled without ADREV_TRACE, or
//                sets the hooks of the tape on which it runs, or asks it for
//                derivatives (those of ad_grad, or of another tape, are numbers
//                of this point; what is dumped or counted of it are variables,
//                but for ADREV_DEBUG);
//                ADREV_EFOREIGN: f uses numbers of another recording;
//                ADREV_EEXTERNAL: the rule of a statement has no replay;
//                ADREV_EFROZEN: a little way from x, f gives other values than
//                what was recorded, though all guards are passed: it read x.v,
//                computed in plain numbers, or depends on more than x. Not
//                noticed where ad_value, or no step from an eighth of x down to
//                1e-4, lets guards pass; nor of a branch on x.v that is the same
//                nearby: see ad_fn_check;
//                ADREV_EBEYOND: f used x[n] or wrote y[m], or one of the three
//                behind them; ADREV_ESHAPE: or f did not set all of y;
//                ADREV_ENOMEM; ADREV_ELIMIT: more than 2^31 numbers;
//                ad_fn_reason says which cause it was
//   cost         4 to 7 gradients on a tape, 20 where all memory is new: every
//                operation is looked up; an evaluation of f, and the first one
//                of the function
#ifndef ADREV_NO_STDLIB
ADX_TRY ad_status ad_fn_record(ad_fn **out, ad_vector_fn *f, void *ctx,
                               size_t n, const ad_real x[], size_t m);
#endif
ADX_TRY ad_status ad_fn_record_with(ad_fn **out, const ad_fn_options *options,
                                    ad_vector_fn *f, void *ctx, size_t n,
                                    const ad_real x[], size_t m);
ADX_API void ad_fn_free(ad_fn *fn);

// Whether f is at x what was recorded: runs it there, with constants on an empty
// tape. For points of your choice, such as those on other sides of its branches.
//
//   returns      ADREV_OK; ADREV_EPATH and others of ad_fn_eval, or an error of
//                f: nothing was compared; ADREV_EFROZEN: results differ by more than rounding
//                (1e-7 of them; with float 1e-3), or are not set
//   cost         an evaluation of each
ADX_TRY ad_status ad_fn_check(ad_fn *fn, ad_vector_fn *f, void *ctx,
                              const ad_real x[]);

// Why the last recording on this thread did not become a function, in one
// sentence: as ad_tape_reason says it. Never NULL, and always valid.
ADX_API const char *ad_fn_reason(void);

ADX_API size_t ad_fn_inputs(const ad_fn *fn);
ADX_API size_t ad_fn_outputs(const ad_fn *fn);

// What a function is. All zero: NULL, or a function of constants alone.
//
//   returns      `dead`, `operations` and `arrays` are counted now: 0 if there
//                is no memory for that
//   cost         1 to 2 ns for each operation; a loaded function has been
//                counted
//   memory       a byte for each number, while it counts
//   threads      any at once, by an allocator that may be called so
ADX_API ad_fn_report ad_fn_about(const ad_fn *fn);

// The guard for which this thread was last answered ADREV_EPATH, but by ad_fn_map
// and its kin: these say it point by point. `file` may belong to the function
// whose guard it is, and end with it.
ADX_API ad_guard ad_fn_guard(void);

/* --- evaluation -------------------------------------------------------------
 * Arguments are read before a vector of results is written, which may lie where
 * they do, replayed or compiled: ad_fn_eval(fn, x, x). Only a matrix (J, H, and
 * the values of sparse matrices) is written as it comes, and overlaps no argument; the g of
 * ad_fn_gradient is a vector. Two results never overlap.                     */

//   x   [n]      in    any point
//   y   [m]      out   f(x)
ADX_TRY ad_status ad_fn_eval(ad_fn *fn, const ad_real x[], ad_real y[]);

// dy = J v.
ADX_TRY ad_status ad_fn_jvp(ad_fn *fn, const ad_real x[], const ad_real v[],
                            ad_real dy[]);

// dx = w J.
ADX_TRY ad_status ad_fn_vjp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            ad_real dx[]);

// Of a function with one result: its value (y may be NULL) and gradient.
ADX_TRY ad_status ad_fn_gradient(ad_fn *fn, const ad_real x[], ad_real *y,
                                 ad_real g[]);

// hv = H v, with H the second derivatives of the sum of w[i] y[i].
ADX_TRY ad_status ad_fn_hvp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            const ad_real v[], ad_real hv[]);

// Value (y may be NULL) and Jacobian at once, J[i*n + j] = dy[i]/dx[j]: what
// Newton's method, a filter or a fit of residuals needs in each step.
//
//   cost         of small functions that of one program for all of it, which
//                is made first (ADREV_MATRIX_MOST); else of a value and a
//                Jacobian
ADX_TRY ad_status ad_fn_linearize(ad_fn *fn, const ad_real x[], ad_real y[],
                                  ad_real J[]);

// Dense: J as above, H[i*n + j] = d2(w y)/dx[i]dx[j].
//
//   cost         of large functions, J: n/ADREV_LANES_MOST forward passes or
//                m/ADREV_LANES_MOST reverse ones, whichever is less; H:
//                n/ADREV_LANES_MOST of both
ADX_TRY ad_status ad_fn_jacobian(ad_fn *fn, const ad_real x[], ad_real J[]);
ADX_TRY ad_status ad_fn_hessian(ad_fn *fn, const ad_real x[],
                                const ad_real w[], ad_real H[]);

// Taylor coefficients: y[k*m + i] is that of t^k in y[i] along x + t v, for
// k = 0 ... order; derivatives are k! times as large.
//
//   order        in    at most 100000, else ADREV_ESHAPE
//   y  [(order + 1)*m]  out
//
//   returns      as above; ADREV_EEXTERNAL wherever a result needs an external
//                statement
//   cost         order^2 times an evaluation; operations on arrays are taken
//                apart
ADX_TRY ad_status ad_fn_taylor(ad_fn *fn, const ad_real x[],
                               const ad_real v[], size_t order, ad_real y[]);

// y = f(x) as one statement of the current recording. While a function is
// recorded, the operations of fn become a part of it. The function may be freed at
// any time: recordings keep what they need of it.
//
//   x   [n]      in    recorded numbers or constants
//   y   [m]      out   may lie where x does; constants if x is, or on failure
//
//   returns      ADREV_OK; as ad_fn_eval; else the status of the tape. While a
//                function is recorded, a call that fails is the end of that:
//                ad_fn_record returns the same status
ADX_TRY ad_status ad_fn_call(ad_fn *fn, const ad_rev x[], ad_rev y[]);

/* --- sparse matrices --------------------------------------------------------
 * Where a matrix may have entries at all is found once, from the program; so is
 * a colouring: columns that share no row (of a Hessian: that can be told apart
 * by symmetry) are computed in one direction. Rows or columns that are nearly
 * full are computed by themselves. Of an external statement every result
 * depends on every input, and is curved in all of them. Entries are sorted by
 * row, then column: CSR, or triplets as Ipopt takes them. Ask for their number,
 * then for the pattern, then for values at as many points as you like.       */

typedef struct ad_sparsity {
    size_t nonzeros;
    size_t directions;      // of all sweeps for one matrix
    size_t apart;           // of these: of full rows or columns of a Jacobian
} ad_sparsity;

// Entries of the Jacobian; of the Hessian its lower triangle with the diagonal,
// of all functions w f.
//
//   about        out   may be NULL
//   start [m+1]  out   first entry of each row, and their number; may be NULL
//                      (Hessian: [n+1])
//   row, column [nonzeros]   out   of each entry; may be NULL
ADX_TRY ad_status ad_fn_jacobian_pattern(ad_fn *fn, ad_sparsity *about,
                                         size_t start[], size_t row[],
                                         size_t column[]);
ADX_TRY ad_status ad_fn_hessian_pattern(ad_fn *fn, ad_sparsity *about,
                                        size_t start[], size_t row[],
                                        size_t column[]);

//   value [nonzeros]   out   in the order of the pattern
ADX_TRY ad_status ad_fn_jacobian_sparse(ad_fn *fn, const ad_real x[],
                                        ad_real value[]);
ADX_TRY ad_status ad_fn_hessian_sparse(ad_fn *fn, const ad_real x[],
                                       const ad_real w[], ad_real value[]);

/* --- paths ------------------------------------------------------------------
 * A function with branches as a collection of recorded functions, one for each
 * path that was taken so far.                                                */

typedef struct ad_traced ad_traced;

//   limit        most paths to be kept; the one used longest ago goes first;
//                0: 64
//
//   options      of all recordings; the allocator, which is copied, keeps the
//                paths, too
//
//   returns      NULL: out of memory. To be freed with ad_traced_free
#ifndef ADREV_NO_STDLIB
ADX_API ad_traced *ad_traced_new(ad_vector_fn *f, void *ctx, size_t n,
                                 size_t m, size_t limit);
#endif
ADX_API ad_traced *ad_traced_new_with(const ad_fn_options *options,
                                      ad_vector_fn *f, void *ctx, size_t n,
                                      size_t m, size_t limit);
ADX_API void ad_traced_free(ad_traced *traced);

// The function on the path that x takes: one that is known, or f recorded at
// x. It belongs to `traced`, and lives until the next call.
//
//   fn           out   has passed all guards at x; NULL unless ADREV_OK
//
//   returns      ADREV_OK; as ad_fn_record and ad_fn_eval; ADREV_EPATH: what was
//                recorded at x does not pass its own guards there. Such are
//                functions that look at more than x (a counter), or at the last
//                bits of an array statement where these are not those of a
//                replay (see above). The same x is not recorded again
//   cost         an evaluation of the path used last; then, as long as x leaves
//                a path, one of a path that parts from it at that guard: of 2^k
//                paths by k comparisons, k + 1 evaluations at most. Where none
//                is right, a recording and one more
//   threads      one at a time
ADX_TRY ad_status ad_traced_at(ad_traced *traced, const ad_real x[],
                               ad_fn **fn);

// How many paths are kept, and how often f was recorded.
ADX_API size_t ad_traced_paths(const ad_traced *traced, size_t *recordings);

/* --- many points ------------------------------------------------------------
 * The same function at many points, ADREV_LANES_MOST at a time side by side
 * (compiled, up to four times as many), with the same bits as one at a time;
 * compiled, those beside one whose results are not finite may be replayed.
 * Numbers are given by column: input i of point p is x[i].v[p*x[i].step]. Step
 * 0: a parameter that all points share. Columns may overlap: a stencil is a
 * function over shifted columns of one array. If adrev_parallel.h is included
 * before this header where both are implemented, blocks of points run on the
 * pool, with the same bits (the file defines ADREV_TRACE first, since
 * adrev_parallel.h includes adrev.h).                                        */

typedef struct ad_column {
    ad_real *v;             // NULL: this one is not wanted (results, dx)
    ptrdiff_t step;
} ad_column;

// y = f(x) at all points.
//
//   x   [n]      in    columns of the inputs
//   y   [m]      in    columns of the results, which overlap none of x
//   left [points] out  0, or 1 + the guard that the point did not pass, or
//                      UINT32_MAX: an external statement failed there; may be
//                      NULL
//
//   returns      ADREV_OK; ADREV_EPATH: some points were left: their results
//                are not written, all others are; ADREV_EEXTERNAL: the same,
//                and at some of them an external statement failed;
//                ADREV_ESHAPE; ADREV_ENOMEM
ADX_TRY ad_status ad_fn_map(ad_fn *fn, size_t points, const ad_column x[],
                            const ad_column y[], uint32_t left[]);

// dy = J dx at all points; columns of dy overlap none of x and dx.
ADX_TRY ad_status ad_fn_map_jvp(ad_fn *fn, size_t points, const ad_column x[],
                                const ad_column dx[], const ad_column dy[],
                                uint32_t left[]);

// dx += w J at all points: where columns of dx overlap, and of a parameter
// (step 0), all contributions are added, in an order that does not depend on
// threads.
//
//   w   [m]      in    weights of the results: { &one, 0 } for a gradient
//   dx  [n]      in/out columns of the adjoints, which overlap none of x and w
//   y   [m]      out   values, which overlap none of x and w; may be NULL
ADX_TRY ad_status ad_fn_map_vjp(ad_fn *fn, size_t points, const ad_column x[],
                                const ad_column w[], const ad_column dx[],
                                const ad_column y[], uint32_t left[]);

#ifdef __cplusplus
}
#endif
