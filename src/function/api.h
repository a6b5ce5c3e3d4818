#pragma once

/* === function/api ===========================================================
 * Recorded functions: the switches, the types, and every public function with
 * its contract.
 * ========================================================================== */

/* --- configuration ------------------------------------------------------- */

// ADREV_TRACE   see adrev.h. Its default here is 1: functions in this file can
//   be recorded. Define it as 0 before this header in a file that records long
//   tapes but no such functions.

// ADREV_LANES_MOST   points evaluated side by side.       default 32, 4 to 256
//   Each number of a program takes the memory of this many numbers. More lanes
//   hide the cost of reading the program; fewer stay in the cache.
#ifndef ADREV_LANES_MOST
#define ADREV_LANES_MOST 32
#endif

// ADREV_MATRIX_MOST  a Jacobian or a Hessian is computed by one program if its
//   rows or columns, whichever are fewer, times the operations of the function
//   come to at most this.                        default 8000; 0: row by row
//   Such a program is up to eight times as fast. Making it, when the matrix is
//   first asked for, takes up to 1 ms, or longer for a function with large
//   arrays: an operation on a whole array counts as one.
#ifndef ADREV_MATRIX_MOST
#define ADREV_MATRIX_MOST 8000
#endif

ADX_STATIC_ASSERT(ADREV_LANES_MOST >= 4 && ADREV_LANES_MOST <= 256
                  && ADREV_LANES_MOST % 4 == 0, "ADREV_LANES_MOST: 4 to 256");

/* --- types --------------------------------------------------------------- */

typedef struct ad_fn ad_fn;

// How a function is recorded. All-zero: as by ad_fn_record.
typedef struct ad_fn_options {
    const ad_allocator *allocator;  // NULL: malloc and free; ADREV_NO_STDLIB:
                                    // ADREV_ENOMEM. Called from all threads
                                    // that use the function
    bool plain;                     // keep every operation: do not simplify
    bool once;                      // do not run f a second time: ADREV_EFROZEN
                                    // is then never returned
} ad_fn_options;

// The size of a recorded function, and what simplifying it removed.
// `operations` may exceed `recorded`, since some array statements (ad_sqdist,
// ad_logsumexp, ad_softmax ...) are recorded as one operation and become
// several in the program. Comparisons and steps (floor ...) count only as
// `guards`; those of a function called by ad_fn_call count as operations, too.
typedef struct ad_fn_report {
    size_t recorded;        // operations that f made
    size_t constant;        // removed: all arguments are constants
    size_t common;          // removed: the same as an earlier one (in long
                            // functions not all of these are found)
    size_t identity;        // removed: x*1, x - 0, -(-x) ... are an operand
    size_t dead;            // removed: no result depends on it
    size_t operations;      // what the program has
    size_t arrays;          // among these: operations on arrays, and external
                            // statements, one each
    size_t guards;          // comparisons and steps whose results must not
                            // change
} ad_fn_report;

// A comparison (or floor, ad_value ...) that must give the recorded result.
typedef struct ad_guard {
    size_t index;           // in the order in which f made them
    const char *file;       // NULL and 0 unless f was compiled with ADREV_DEBUG
    int line;
} ad_guard;

/* --- interface --------------------------------------------------------------
 * A recorded function does not change: any number of threads may use it at
 * once. What a derivative needs is made when that derivative is first asked
 * for. Results are written only if ADREV_OK is returned; the functions for many
 * points also write the results of the points that passed. Otherwise the
 * status is
 *
 *     ADREV_EPATH    a guard came out differently at x: see ad_fn_guard
 *     ADREV_ENOMEM   the allocator returned NULL
 *     ADREV_ESHAPE   an array that is needed is NULL
 *     ADREV_EEXTERNAL  an external statement cannot do this, or not at x
 *
 * Values are those of f on a tape to the last bit, if the compiler does not
 * contract a product and a sum into one rounding. gcc -std=c11 does not, nor
 * does any compiler given -ffp-contract=off. With contraction, the results of
 * array statements (ad_axpy, ad_sqdist, ad_trimatvec) may differ in the last
 * place, and a guard on them may fail even at the point of the recording.
 * Machine code that is compiled without contraction has the same bits, too,
 * except that matrices of functions with arrays may differ in the last place.
 * As on a tape, a zero factor in the chain rule gives zero.                 */

#ifdef __cplusplus
extern "C" {
#endif

/* --- recording ----------------------------------------------------------- */

// Runs f at x and keeps what it computes. Then runs f once more at a nearby
// point, with constants on an empty tape, and compares the results with those
// of the recording.
//
//   out          out   the function, to be freed with ad_fn_free; NULL on
//                      failure
//   f            in    must be compiled with ADREV_TRACE (this header does it).
//                      A number that f takes by ad_value or ad_dual belongs to
//                      this point: where it would differ, a guard fails. A
//                      number that f reads as x.v belongs to this point, too,
//                      but the recording does not see that: use ad_value. The
//                      external statements of f are evaluated by the replay of
//                      their rules (ad_external_point), at this point, too
//   x   [n]      in    where f is run; decides which branches f takes
//   m            in    number of results of f, at least 1
//
//   returns      ADREV_OK; ADREV_EHOOK: f was compiled without ADREV_TRACE, or
//                sets the hooks of the tape on which it runs, or asks that tape
//                for derivatives (derivatives by ad_grad, or of another tape,
//                are numbers of this point; dumps and statistics of this tape
//                show operations as inputs, unless ADREV_DEBUG is 1);
//                ADREV_EFOREIGN: f uses numbers of another recording;
//                ADREV_EEXTERNAL: the rule of a statement has no replay;
//                ADREV_EFROZEN: near x, f gives other values than what was
//                recorded although all guards pass: f read x.v, computed in
//                plain numbers, or depends on more than x. That goes unnoticed
//                if, at every distance tried (from an eighth of x down to
//                1e-4), a guard fails, as one of ad_value does; and if f
//                branches on an x.v with the same outcome nearby: see
//                ad_fn_check;
//                ADREV_EBEYOND: f used x[n] or wrote y[m], or one of the three
//                behind them; ADREV_ESHAPE: as above, or f did not set all of
//                y; ADREV_ENOMEM; ADREV_ELIMIT: more than 2^31 numbers;
//                ad_fn_reason says what the cause was
//   cost         4 to 7 gradients on a tape, 20 where all memory is new, since
//                every operation is looked up; also an evaluation of f, and the
//                first evaluation of the function
#ifndef ADREV_NO_STDLIB
ADX_TRY ad_status ad_fn_record(ad_fn **out, ad_vector_fn *f, void *ctx,
                               size_t n, const ad_real x[], size_t m);
#endif
ADX_TRY ad_status ad_fn_record_with(ad_fn **out, const ad_fn_options *options,
                                    ad_vector_fn *f, void *ctx, size_t n,
                                    const ad_real x[], size_t m);
ADX_API void ad_fn_free(ad_fn *fn);

// Checks whether f still does at x what was recorded: runs f there, with
// constants on an empty tape, and compares the results. Call it at points of
// your choice, for example on the other sides of the branches of f.
//
//   returns      ADREV_OK; ADREV_EFROZEN: results differ by more than rounding
//                (a relative 1e-7; with float 1e-3), or are not set;
//                ADREV_EPATH and others of ad_fn_eval, or an error of f:
//                nothing was compared
//   cost         an evaluation of the function and one of f
ADX_TRY ad_status ad_fn_check(ad_fn *fn, ad_vector_fn *f, void *ctx,
                              const ad_real x[]);

// Why the last recording on this thread did not become a function, in one
// sentence as in ad_tape_reason. Never NULL, and always valid.
ADX_API const char *ad_fn_reason(void);

ADX_API size_t ad_fn_inputs(const ad_fn *fn);
ADX_API size_t ad_fn_outputs(const ad_fn *fn);

// The number of inputs by which derivatives are taken: the first ones. These
// are all inputs, unless ad_fn_select has chosen some.
ADX_API size_t ad_fn_variables(const ad_fn *fn);

// The same function with the choice of inputs that derivatives are taken by,
// and of the results that are wanted. It is not recorded again, and is a
// function like any other: everything that is asked of it, or made of it (C
// code, machine code, files, maps, exports), is about these alone.
//
//   out          out   to be freed with ad_fn_free, before or after fn; NULL on
//                      failure. Its inputs are those of fn: first the variables
//                      in the order given, then all others in the order of fn.
//                      The others are parameters: values depend on them,
//                      derivatives by them are left out. So x has
//                      ad_fn_inputs(out) numbers everywhere; v, dx, g, hv and
//                      dx of ad_fn_map_jvp have nv, J is m x nv, and H nv x nv.
//                      In ad_fn_call parameters are constants
//   variable [nv]  in  inputs of fn, none twice; NULL: all, and nv is not read
//   output [m]     in  results of fn; one may be there several times; NULL:
//                      all, and m is not read
//
//   returns      ADREV_OK; ADREV_ESHAPE: no such input or result, an input
//                twice, or m is 0; ADREV_ENOMEM
//   cost         a few ns for each operation that the results need, and for
//                each guard of fn: guards are kept, and their numbers, too
ADX_TRY ad_status ad_fn_select(ad_fn **out, ad_fn *fn, size_t nv,
                               const size_t variable[], size_t m,
                               const size_t output[]);

// The gradient of a function with one result, as a function itself: its n
// results are the derivatives by the first n inputs. So there are derivatives
// of any order, and conditions for minima that ad_implicit takes.
//
//   out          out   to be freed with ad_fn_free; NULL on failure. fn may be
//                      freed before
//   n            in    1 to the inputs of fn
//
//   returns      ADREV_OK; ADREV_ENOMEM; ADREV_ELIMIT; ADREV_ESHAPE: n is
//                impossible, or fn has several results
//   cost         that of making ad_fn_vjp's program
ADX_TRY ad_status ad_fn_derive_gradient(ad_fn **out, const ad_fn *fn, size_t n);

// The report on a function. All zero if fn is NULL, or if the function is of
// constants alone.
//
//   returns      `dead`, `operations` and `arrays` are counted by this call: 0
//                if there is no memory for that
//   cost         1 to 2 ns for each operation; a loaded function has been
//                counted already
//   memory       a byte for each number, while it counts
//   threads      any number at once, if the allocator allows that
ADX_API ad_fn_report ad_fn_about(const ad_fn *fn);

// The guard that failed when a call on this thread last returned ADREV_EPATH.
// ad_fn_map and its kin do not set it, since they report guards point by point.
// `file` may belong to the function that has the guard; then it is valid as
// long as that function.
ADX_API ad_guard ad_fn_guard(void);

/* --- evaluation -------------------------------------------------------------
 * All arguments are read before a vector of results is written, so that vector
 * may lie where they do: ad_fn_eval(fn, x, x). This holds replayed or compiled.
 * A matrix (J, H, and the values of sparse matrices) is written as it is
 * computed, and must not overlap an argument; the g of ad_fn_gradient is a
 * vector. Two results never overlap.                                         */

//   x   [n]      in    any point
//   y   [m]      out   f(x)
ADX_TRY ad_status ad_fn_eval(ad_fn *fn, const ad_real x[], ad_real y[]);

// dy = J v.
ADX_TRY ad_status ad_fn_jvp(ad_fn *fn, const ad_real x[], const ad_real v[],
                            ad_real dy[]);

// dx = w J.
ADX_TRY ad_status ad_fn_vjp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            ad_real dx[]);

// Value (y may be NULL) and gradient of a function with one result.
ADX_TRY ad_status ad_fn_gradient(ad_fn *fn, const ad_real x[], ad_real *y,
                                 ad_real g[]);

// hv = H v, with H the second derivatives of the sum of w[i] y[i].
ADX_TRY ad_status ad_fn_hvp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            const ad_real v[], ad_real hv[]);

// Value (y may be NULL) and Jacobian in one call, J[i*n + j] = dy[i]/dx[j]:
// what Newton's method, a filter or a fit of residuals needs in each step.
//
//   cost         for small functions, one program computes both; it is made
//                first (ADREV_MATRIX_MOST); for others, a value and a Jacobian
ADX_TRY ad_status ad_fn_linearize(ad_fn *fn, const ad_real x[], ad_real y[],
                                  ad_real J[]);

// Dense: J as above, H[i*n + j] = d2(w y)/dx[i]dx[j].
//
//   cost         for large functions, J takes n/ADREV_LANES_MOST forward passes
//                or m/ADREV_LANES_MOST reverse ones, whichever is less; H takes
//                n/ADREV_LANES_MOST of both. Where few entries are not
//                zero, rows or columns that have none in common share a pass;
//                the first call finds out which
ADX_TRY ad_status ad_fn_jacobian(ad_fn *fn, const ad_real x[], ad_real J[]);
ADX_TRY ad_status ad_fn_hessian(ad_fn *fn, const ad_real x[],
                                const ad_real w[], ad_real H[]);

// Taylor coefficients of f along x + t v: y[k*m + i] is the coefficient of t^k
// in y[i], for k = 0 ... order. The k-th derivative is k! times as large. From
// order 2 on, products of a value and a coefficient must be representable, too:
// a quotient q = a/b has the tangent (a' - q b')/b, and q b' is formed first.
//
//   order        in    at most 100000, else ADREV_ESHAPE
//   y  [(order + 1)*m]  out
//
//   returns      as above; ADREV_EEXTERNAL from order 2 on if a result needs an
//                external statement that the line moves, from order 3 on if it
//                needs any
//   cost         order 1: 2 to 4 values; order 2: 3 to 6; order d > 2: some
//                d (d + 1) numbers for each operation, about 15 values of order
//                3 and 50 of order 10; operations on arrays are then split into
//                operations on numbers. Replayed even if fn is compiled. The
//                first call with a larger order takes longer
//   memory       kept by fn for the next call
ADX_TRY ad_status ad_fn_taylor(ad_fn *fn, const ad_real x[],
                               const ad_real v[], size_t order, ad_real y[]);

// y = f(x) as one statement of the current recording. While a function is being
// recorded, the operations of fn become part of it instead. fn may be freed at
// any time: recordings keep what they need of it.
//
//   x   [n]      in    recorded numbers or constants
//   y   [m]      out   may lie where x does; constants if all of x are, or on
//                      failure
//
//   returns      ADREV_OK; as ad_fn_eval; else the status of the tape. A call
//                that fails while a function is being recorded ends that
//                recording: ad_fn_record returns the same status
ADX_TRY ad_status ad_fn_call(ad_fn *fn, const ad_rev x[], ad_rev y[]);

/* --- sparse matrices --------------------------------------------------------
 * The pattern of a matrix, the entries that may be nonzero at all, is found
 * once, from the program. So is a colouring: columns that share no row are
 * computed in one direction (columns of a Hessian also if symmetry tells them
 * apart). Rows or columns that are nearly full are computed by themselves. In
 * an external statement every result is taken to depend on every input, with
 * second derivatives for every pair of them. Entries are sorted by row, then
 * column: CSR, or triplets as Ipopt takes them. Ask for the number of entries,
 * then for the pattern, then for values at as many points as you like.       */

typedef struct ad_sparsity {
    size_t nonzeros;
    size_t directions;      // of all sweeps for one matrix
    size_t apart;           // of these: for nearly full rows or columns of a
                            // Jacobian
} ad_sparsity;

// The pattern of the Jacobian, and that of the Hessian: its lower triangle with
// the diagonal, for whatever weights w.
//
//   about        out   may be NULL
//   start [m+1]  out   where each row begins, then the number of all entries;
//                      may be NULL (Hessian: [n+1])
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

/* --- matrices for solvers ---------------------------------------------------
 * A solver wants a sparse matrix in an order and with indices of its own. An
 * export is a pattern in that form, with the way from each entry of the matrix
 * to where the solver has it; it is made once. Then the values at a point go
 * straight into the solver's array:
 *
 *     const ad_layout cholmod = { .form = ADREV_CSC, .width = 64 };
 *     ad_fn_hessian_export(fn, &cholmod, &e);
 *     ad_export_pattern(e, A->p, A->i, NULL);
 *     ad_fn_hessian_values(fn, x, w, e, A->x);      // as often as you like
 *
 *     Ipopt                 ADREV_TRIPLETS, ADREV_LOWER, base 0 or 1
 *     KLU, UMFPACK          ADREV_CSC, width 32 or 64; Hessian: ADREV_BOTH
 *     CHOLMOD               ADREV_CSC, ADREV_LOWER or ADREV_UPPER
 *     PARDISO               ADREV_CSR, ADREV_UPPER, base 1, diagonal
 *     PETSc, Eigen, SciPy   ADREV_CSR or ADREV_CSC; Hessian: ADREV_BOTH
 *
 * Entries are sorted: of rows and triplets by row, then column; of columns by
 * column, then row. No entry is there twice.                                 */

typedef enum ad_form {
    ADREV_TRIPLETS,             // a row and a column for each entry
    ADREV_CSR,                  // row by row: start[rows + 1], column
    ADREV_CSC                   // column by column: start[columns + 1], row
} ad_form;

// What a Hessian, which is symmetric, has entries for; the diagonal is always
// there. Of a Jacobian this says nothing.
typedef enum ad_triangle {
    ADREV_LOWER, ADREV_UPPER, ADREV_BOTH
} ad_triangle;

// All-zero: the order of ad_fn_jacobian_pattern, indices of 32 bits from 0 on.
typedef struct ad_layout {
    ad_form form;
    ad_triangle triangle;
    unsigned base;              // the first index: 0 or 1
    unsigned width;             // bits of an index, which is signed: 32 or 64;
                                // 0: 32
    bool transposed;            // rows are columns, of J' for example; the
                                // triangle is that of the result
    bool diagonal;              // (i, i) has an entry for every i, 0 if the
                                // matrix has none there
    bool adds;                  // values are added to what the array has
} ad_layout;

typedef struct ad_export ad_export;

// The form of the Jacobian, and of the Hessian, of fn.
//
//   layout       in    NULL: all-zero
//   out          out   to be freed with ad_export_free, before or after fn;
//                      NULL on failure
//
//   returns      as ad_fn_jacobian_pattern; ADREV_ESHAPE: the layout has an
//                impossible member; ADREV_ELIMIT: an index exceeds the width
//   cost         a few ns an entry, once the pattern is there
ADX_TRY ad_status ad_fn_jacobian_export(ad_fn *fn, const ad_layout *layout,
                                        ad_export **out);
ADX_TRY ad_status ad_fn_hessian_export(ad_fn *fn, const ad_layout *layout,
                                       ad_export **out);
ADX_API void ad_export_free(ad_export *e);

// How many entries the pattern has; rows and columns may be NULL. 0 of NULL.
ADX_API size_t ad_export_entries(const ad_export *e, size_t *rows,
                                 size_t *columns);

// The pattern: arrays of int32_t or int64_t, as the width says.
//
//   start        out   [rows + 1], of ADREV_CSC [columns + 1]: where each one
//                      begins, counted from the base, and where the last one
//                      ends; may be NULL. Triplets: as ADREV_CSR
//   row, column [entries]  out  of each entry; may be NULL
//
//   returns      ADREV_OK; ADREV_ESHAPE: e is NULL
ADX_TRY ad_status ad_export_pattern(const ad_export *e, void *start, void *row,
                                    void *column);

// The pattern of a matrix that a solver has already: that of a whole KKT
// system, for example, in which H and J are blocks. It has the form, base and
// width of the export. Its entries need not be sorted.
typedef struct ad_matrix {
    size_t rows, columns, entries;
    const void *start;          // [rows + 1] or [columns + 1]; triplets: NULL
    const void *row;            // [entries] not of ADREV_CSR
    const void *column;         // [entries] not of ADREV_CSC
    size_t at_row, at_column;   // where, from 0 on, the export begins in it
} ad_matrix;

// From now on values go to the places that their entries have in this matrix,
// in an array of all its entries; other places are left alone. Of an entry that
// is there several times, the first one gets the value, and the others are left
// alone.
//
//   missing [2]  out   row and column, in the export and from 0 on, of the
//                      first entry that the matrix lacks; may be NULL
//
//   returns      ADREV_OK; ADREV_ESHAPE: an entry is missing, or the pattern
//                has an index out of range, or an array is NULL; then values go
//                where they went before; ADREV_ENOMEM
//   cost         a few ns for each entry of both
//   threads      no other thread may use the export meanwhile
ADX_TRY ad_status ad_export_into(ad_export *e, const ad_matrix *to,
                                 size_t missing[]);

// Values into the solver's array, each where its entry is, without a search.
// Any number of threads may use one export at once.
//
//   e            in    of this matrix of fn, or of a function with the same
//                      pattern
//   value        out   [ad_export_entries], or as ad_export_into was told; not
//                      touched on failure
//
//   returns      as ad_fn_jacobian_sparse; ADREV_ESHAPE: also if e is of a
//                matrix with other rows, columns or number of entries
//   cost         as ad_fn_jacobian_sparse; where the order or the places
//                differ, 1 ns an entry more
//   memory       once, a number for each entry, kept by the export
ADX_TRY ad_status ad_fn_jacobian_values(ad_fn *fn, const ad_real x[],
                                        ad_export *e, ad_real value[]);
ADX_TRY ad_status ad_fn_hessian_values(ad_fn *fn, const ad_real x[],
                                       const ad_real w[], ad_export *e,
                                       ad_real value[]);

/* --- paths ------------------------------------------------------------------
 * A function with branches is kept as a collection of recorded functions, one
 * for each path taken so far.                                                */

typedef struct ad_traced ad_traced;

//   limit        how many paths are kept at most: the one unused for longest
//                goes first; 0: 64
//
//   options      of all recordings. The allocator, which is copied, is also
//                that of the paths
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

// The function for the path that x takes: a known one, or f recorded at x. It
// belongs to `traced`, and lives until the next call.
//
//   fn           out   passes all its guards at x; NULL on failure
//
//   returns      ADREV_OK; as ad_fn_record and ad_fn_eval; ADREV_EPATH: what
//                was recorded at x does not pass its own guards there, because
//                f depends on more than x (a counter), or on the last bits of
//                an array statement where a replay has others (see the top of
//                the interface). f is not recorded again at the same x
//   cost         an evaluation on the path used last; then, each time x leaves
//                a path at a guard, an evaluation on a path that branches off
//                there: for 2^k paths by k comparisons, at most k + 1
//                evaluations. If no path fits, a recording and one evaluation
//   threads      one at a time
ADX_TRY ad_status ad_traced_at(ad_traced *traced, const ad_real x[],
                               ad_fn **fn);

// How many paths are kept, and how often f was recorded.
ADX_API size_t ad_traced_paths(const ad_traced *traced, size_t *recordings);

/* --- many points ------------------------------------------------------------
 * The same function at many points, ADREV_LANES_MOST of them side by side (or
 * up to four times as many, compiled). The bits are those of one point at a
 * time. Points next to one whose results are not finite may be replayed even
 * where there is machine code. Numbers are given by column: input i of point p
 * is x[i].v[p*x[i].step]. A column with step 0 is a parameter that all points
 * share. Columns may overlap: a stencil is a function of shifted columns of one
 * array. If adrev_parallel.h is included before this header where both are
 * implemented, blocks of points run on the pool, with the same bits. (Such a
 * file defines ADREV_TRACE first, since adrev_parallel.h includes adrev.h.)  */

typedef struct ad_column {
    ad_real *v;             // NULL: not wanted (results and dx only)
    ptrdiff_t step;
} ad_column;

// y = f(x) at all points.
//
//   x   [n]      in    columns of the inputs
//   y   [m]      in    columns of the results, which overlap none of x
//   left [points] out  for each point: 0; or 1 + the guard that failed there;
//                      or UINT32_MAX: an external statement failed there.
//                      `left` may be NULL
//
//   returns      ADREV_OK; ADREV_EPATH: some points failed, and their results
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
