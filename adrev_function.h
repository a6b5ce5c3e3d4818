/* Made from src/ by `make headers`: changes belong there. */
/* adrev_function.h - functions recorded once, evaluated anywhere.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_function.h"       // before adrev.h
 *
 * A function is run once and kept as a program of elementary operations. Its
 * value and its derivatives at any point are computed from the program:
 *
 *     #include <stdio.h>
 *
 *     static void f(const ad_rev *x, ad_rev *y, void *ctx)
 *     {
 *         (void)ctx;
 *         y[0] = ad_rec(ad_mul(ad_exp(x[0]), ad_sin(x[1])));
 *     }
 *
 *     int main(void)
 *     {
 *         ad_fn *fn;
 *         const double at[] = { 0, 0 }, x[] = { 1, 2 }, one = 1;
 *         double y, g[2], H[4];
 *         if (ad_fn_record(&fn, f, NULL, 2, at, 1) != ADREV_OK
 *             || ad_fn_gradient(fn, x, &y, g) != ADREV_OK
 *             || ad_fn_hessian(fn, x, &one, H) != ADREV_OK)
 *             return 1;
 *         printf("%.4f (%.4f, %.4f)\n", y, g[0], g[1]);
 *         printf("%.4f %.4f %.4f %.4f\n", H[0], H[1], H[2], H[3]);
 *         ad_fn_free(fn);
 *     }
 *
 *     2.4717 (2.4717, -1.1312)
 *     2.4717 -1.1312 -1.1312 -2.4717
 *
 * A program has no branches: every comparison that f made is kept as a guard.
 * Where a guard comes out differently, the answer is ADREV_EPATH and nothing is
 * written. Record the function again at that point, or let ad_traced do it.
 *
 * Derivatives are programs, too: the rows of the operator table are read as
 * formulas (function/emit), so differentiating a program yields a program.
 * adrev_code.h, which this header includes, writes programs as C code, as
 * machine code and as files.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   function/api          the interface
 *   core/hash             XXH3, by xxHash or its specification
 *   function/program      a program in memory
 *   function/unique       finds nodes that compute the same
 *   function/emit         adds nodes; reads the operator table as formulas
 *   function/copy         copies nodes from one program into another
 *   function/tangents     derivation: tangents
 *   function/adjoints     derivation: adjoints
 *   function/matrices     programs of whole matrices
 *   function/record       records a function by the trace hook
 *   function/places       which place a number has in a machine
 *   function/arrays       replays array nodes
 *   function/run          replays a machine at a point, or in lanes
 *   function/functions    ad_fn, with its programs and machines
 *   function/evaluation   values and derivatives at one point; calls
 *   function/directions   several rows or columns at once
 *   function/points       many points, block by block
 *   function/paths        guards, and functions with branches
 *   function/taylor       Taylor coefficients
 *   function/compare      finds what a recording does not see
 *   function/pattern      which entries of a matrix may be nonzero
 *   function/colour       which rows or columns share a direction
 *   function/plans        the entries of a sparse matrix
 *   function/dense        dense Jacobians and Hessians
 *   function/export       sparse matrices in the forms that solvers take
 *   function/life         functions are recorded, chosen, derived and freed
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#ifndef ADREV_TRACE
#define ADREV_TRACE 1
#endif
#include "adrev.h"

#if ADREV_FIXED
#error "adrev_function.h needs tapes that grow: not with ADREV_FIXED"
#endif

#ifdef ADX_TRACE_UNSET
#error define ADREV_TRACE as 1 (or 0) before the first header of adrev
#endif

#ifndef ADREV_FUNCTION_H
#define ADREV_FUNCTION_H

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

#endif // ADREV_FUNCTION_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_FUNCTION_IMPLEMENTED
#define ADREV_FUNCTION_IMPLEMENTED

#ifdef ADREV_BULK_IMPLEMENTED
#error order: adrev_function.h before adrev_bulk.h and adrev_loop.h
#endif

#include <stdatomic.h>

/* === core/hash ==============================================================
 * XXH3 of 64 and 128 bits: places in hash tables, checksums of saved functions,
 * names of compiled ones. By xxHash where <xxhash.h> is installed. Elsewhere,
 * and with ADREV_NO_XXHASH, by what stands here, which is written from xxHash's
 * specification (doc/xxhash_spec.md) and gives the same bits, so that files can
 * be exchanged. (Long data: 9 GB/s instead of 17, clang. Recording a function
 * takes as long as with xxHash.)
 *
 * adrev_parallel.h and adrev_function.h have this room, each for itself.
 *
 *   needs   core/config
 *   offers  adx_hash128 adx_xxh3 adx_xxh128
 * ========================================================================== */

#ifndef ADX_HASH
#define ADX_HASH 1

// ADREV_NO_XXHASH   do not look for <xxhash.h>.
#if defined __has_include && !defined ADREV_NO_XXHASH
#if __has_include(<xxhash.h>)
#define ADX_XXHASH
#endif
#endif

typedef struct adx_hash128 {
    uint64_t low;
    uint64_t high;
} adx_hash128;

#ifdef ADX_XXHASH

#define XXH_INLINE_ALL
#ifdef ADREV_NO_STDLIB
#define XXH_NO_STDLIB       // xxHash 0.8.2; before, its malloc has no caller
#endif
#include <xxhash.h>

ADX_INLINE uint64_t adx_xxh3(const void *data, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, n, seed);
}

ADX_UNUSED static adx_hash128 adx_xxh128(const void *data, size_t n)
{
    const XXH128_hash_t h = XXH3_128bits(data, n);
    return (adx_hash128){ h.low64, h.high64 };
}

#else

#define ADX_P32_1 UINT64_C(0x9E3779B1)
#define ADX_P32_2 UINT64_C(0x85EBCA77)
#define ADX_P32_3 UINT64_C(0xC2B2AE3D)
#define ADX_P64_1 UINT64_C(0x9E3779B185EBCA87)
#define ADX_P64_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define ADX_P64_3 UINT64_C(0x165667B19E3779F9)
#define ADX_P64_4 UINT64_C(0x85EBCA77C2B2AE63)
#define ADX_P64_5 UINT64_C(0x27D4EB2F165667C5)
#define ADX_PMX_1 UINT64_C(0x165667919E3779F9)
#define ADX_PMX_2 UINT64_C(0x9FB21C651E98DF25)

#define ADX_STRIPE 64           /* bytes */
#define ADX_STRIPES 16          /* of a block */
#define ADX_SECRET 192          /* bytes */

static const uint8_t adx_secret[ADX_SECRET] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c,
    0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb,
    0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6,
    0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97,
    0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31,
    0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, 0xea, 0xc5, 0xac, 0x83,
    0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26,
    0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc,
    0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e
};

// A number of 4 or 8 bytes, the lowest first.
ADX_INLINE uint64_t adx_read_little(const uint8_t *v, int bytes)
{
    uint64_t x = 0;
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&x, v, (size_t)bytes);
#else
    for (int i = bytes; i-- > 0;)
        x = x << 8 | v[i];
#endif
    return x;
}

ADX_INLINE uint64_t adx_read4(const uint8_t *v)
{
    return adx_read_little(v, 4);
}

ADX_INLINE uint64_t adx_read8(const uint8_t *v)
{
    return adx_read_little(v, 8);
}

ADX_INLINE uint64_t adx_secret8(size_t at)
{
    return adx_read8(adx_secret + at);
}

ADX_INLINE uint64_t adx_rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

// The lowest bytes of x, in the reverse order.
ADX_INLINE uint64_t adx_swap_bytes(uint64_t x, int bytes)
{
    uint64_t y = 0;
    for (int i = 0; i < bytes; i++)
        y = y << 8 | (x >> 8 * i & 0xff);
    return y;
}

// The two halves of a product of 128 bits, combined.
ADX_INLINE uint64_t adx_fold_product(uint64_t x, uint64_t y)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)x * y;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    const uint64_t low = 0xffffffff;
    const uint64_t ll = (x & low) * (y & low);
    const uint64_t hl = (x >> 32) * (y & low);
    const uint64_t lh = (x & low) * (y >> 32) + (hl & low) + (ll >> 32);
    return (lh << 32 | (ll & low))
         ^ ((x >> 32) * (y >> 32) + (hl >> 32) + (lh >> 32));
#endif
}

ADX_INLINE uint64_t adx_avalanche(uint64_t x)
{
    x = (x ^ x >> 37) * ADX_PMX_1;
    return x ^ x >> 32;
}

ADX_INLINE uint64_t adx_avalanche_short(uint64_t x)
{
    x = (x ^ x >> 33) * ADX_P64_2;
    x = (x ^ x >> 29) * ADX_P64_3;
    return x ^ x >> 32;
}

// Up to 16 bytes.
ADX_INLINE uint64_t adx_hash_short(const uint8_t *v, size_t n, uint64_t seed)
{
    if (n > 8) {
        const uint64_t low = adx_read8(v)
                           ^ ((adx_secret8(24) ^ adx_secret8(32)) + seed);
        const uint64_t high = adx_read8(v + n - 8)
                            ^ ((adx_secret8(40) ^ adx_secret8(48)) - seed);
        return adx_avalanche(n + adx_swap_bytes(low, 8) + high
                             + adx_fold_product(low, high));
    }
    if (n > 3) {
        const uint64_t mixed = seed ^ adx_swap_bytes(seed, 4) << 32;
        uint64_t x = (adx_read4(v + n - 4) | adx_read4(v) << 32)
                   ^ ((adx_secret8(8) ^ adx_secret8(16)) - mixed);
        x ^= adx_rotate_left(x, 49) ^ adx_rotate_left(x, 24);
        x *= ADX_PMX_2;
        x = (x ^ ((x >> 35) + n)) * ADX_PMX_2;
        return x ^ x >> 28;
    }
    if (n > 0) {
        const uint64_t x = v[n - 1] | (uint64_t)n << 8 | (uint64_t)v[0] << 16
                         | (uint64_t)v[n / 2] << 24;
        return adx_avalanche_short(
            x ^ ((adx_read4(adx_secret) ^ adx_read4(adx_secret + 4)) + seed));
    }
    return adx_avalanche_short(seed ^ adx_secret8(56) ^ adx_secret8(64));
}

ADX_INLINE uint64_t adx_mix_secret(const uint8_t *v, size_t at, uint64_t seed)
{
    return adx_fold_product(adx_read8(v) ^ (adx_secret8(at) + seed),
                            adx_read8(v + 8) ^ (adx_secret8(at + 8) - seed));
}

// 17 to 240 bytes.
static uint64_t adx_hash_medium(const uint8_t *v, size_t n, uint64_t seed)
{
    uint64_t sum = n * ADX_P64_1;
    if (n <= 128) {
        for (size_t i = (n - 1) / 32 + 1; i-- > 0;)
            sum += adx_mix_secret(v + 16 * i, 32 * i, seed)
                 + adx_mix_secret(v + n - 16 * i - 16, 32 * i + 16, seed);
        return adx_avalanche(sum);
    }
    for (size_t i = 0; i < 8; i++)
        sum += adx_mix_secret(v + 16 * i, 16 * i, seed);
    sum = adx_avalanche(sum);
    for (size_t i = 8; i < n / 16; i++)
        sum += adx_mix_secret(v + 16 * i, 16 * (i - 8) + 3, seed);
    return adx_avalanche(sum + adx_mix_secret(v + n - 16, 119, seed));
}

// Adds a stripe to the sums. `secret` is that for this stripe.
ADX_INLINE void adx_add_stripe(uint64_t sum[8], const uint8_t *v,
                               const uint8_t *secret)
{
    for (int i = 0; i < 8; i++) {
        const uint64_t x = adx_read8(v + 8 * i);
        const uint64_t mixed = x ^ adx_read8(secret + 8 * i);
        sum[i ^ 1] += x;
        sum[i] += (mixed & 0xffffffff) * (mixed >> 32);
    }
}

// After each block.
static void adx_scramble(uint64_t sum[8], const uint8_t *secret)
{
    for (int i = 0; i < 8; i++)
        sum[i] = (sum[i] ^ sum[i] >> 47 ^ adx_read8(secret + 8 * i))
               * ADX_P32_1;
}

// More than 240 bytes: the sums of all stripes. The last one ends with the
// data, and may overlap the one before.
static void adx_add_stripes(uint64_t sum[8], const uint8_t *v, size_t n,
                            const uint8_t *secret)
{
    const uint64_t first[8] = { ADX_P32_3, ADX_P64_1, ADX_P64_2, ADX_P64_3,
                                ADX_P64_4, ADX_P32_2, ADX_P64_5, ADX_P32_1 };
    memcpy(sum, first, sizeof first);
    for (size_t i = 0; i < (n - 1) / ADX_STRIPE; i++) {
        adx_add_stripe(sum, v + ADX_STRIPE * i, secret + 8 * (i % ADX_STRIPES));
        if (i % ADX_STRIPES == ADX_STRIPES - 1)
            adx_scramble(sum, secret + ADX_SECRET - ADX_STRIPE);
    }
    adx_add_stripe(sum, v + n - ADX_STRIPE, secret + ADX_SECRET - 71);
}

static uint64_t adx_merge(const uint64_t sum[8], uint64_t h,
                          const uint8_t *secret)
{
    for (int i = 0; i < 8; i += 2)
        h += adx_fold_product(sum[i] ^ adx_read8(secret + 8 * i),
                              sum[i + 1] ^ adx_read8(secret + 8 * i + 8));
    return adx_avalanche(h);
}

// The secret of a seed.
static void adx_make_secret(uint8_t secret[ADX_SECRET], uint64_t seed)
{
    for (size_t i = 0; i < ADX_SECRET; i += 8) {
        const uint64_t x = adx_secret8(i) + (i % 16 == 0 ? seed : 0 - seed);
        for (size_t k = 0; k < 8; k++)
            secret[i + k] = (uint8_t)(x >> 8 * k);
    }
}

ADX_NOINLINE static uint64_t adx_hash_long(const uint8_t *v, size_t n,
                                           uint64_t seed)
{
    uint64_t sum[8];
    uint8_t secret[ADX_SECRET];
    adx_make_secret(secret, seed);
    adx_add_stripes(sum, v, n, secret);
    return adx_merge(sum, n * ADX_P64_1, secret + 11);
}

ADX_INLINE uint64_t adx_xxh3(const void *data, size_t n, uint64_t seed)
{
    const uint8_t *v = (const uint8_t *)data;
    return n <= 16 ? adx_hash_short(v, n, seed)
         : n <= 240 ? adx_hash_medium(v, n, seed) : adx_hash_long(v, n, seed);
}

// The names of compiled functions are made of more than 240 bytes. Of less, two
// hashes of 64 bits, which are not those of XXH3.
ADX_UNUSED static adx_hash128 adx_xxh128(const void *data, size_t n)
{
    const uint8_t *v = (const uint8_t *)data;
    uint64_t sum[8];
    if (n <= 240)
        return (adx_hash128){ adx_xxh3(data, n, 0), adx_xxh3(data, n, 1) };
    adx_add_stripes(sum, v, n, adx_secret);
    return (adx_hash128){
        adx_merge(sum, n * ADX_P64_1, adx_secret + 11),
        adx_merge(sum, ~(n * ADX_P64_2), adx_secret + ADX_SECRET - 75)
    };
}

#endif // ADX_XXHASH
#endif // ADX_HASH

/* === function/program =======================================================
 * A program is a list of nodes. Each node makes one number (an array node may
 * make several) from numbers made before, and no number is ever overwritten.
 *
 * Numbers are counted in the order in which they are made: first the inputs,
 * then constants and results of nodes. So the arguments of a node are smaller
 * numbers than its result, and a walk through the nodes in order meets every
 * number before its uses. `from` says for each number whether it is an input,
 * which constant it is, or which node makes it. A node of an array statement or
 * an external statement makes several numbers that follow one another; what
 * such a node needs beyond the fields of a node is in `many`.
 *
 *   needs   tape/memory core/cells function/api
 *   offers  ADX_OP_guard ADX_OP_many ADX_OP_chain_add ADX_OP_chain_sub
 *           ADX_OP_mul_add ADX_OP_mul_sub ADX_OP_end adx_attributes_of
 *           adx_cost_of adx_commutes ADX_ROUNDED_ALL ADX_FUSES_MUL adx_rounded
 *           ADX_FUSED_CHAIN ADX_FUSED adx_make_room_for adx_shared_rule
 *           adx_new_shared_rule adx_share_rule adx_release_rule adx_node
 *           adx_numbers ADX_MANY_KINDS ADX_MANY_* adx_many_kind ADX_MANY_COUNT
 *           adx_many_facts adx_facts_of ADX_EXTERNAL_value
 *           ADX_EXTERNAL_adjoint ADX_EXTERNAL_moving adx_many
 *           ADX_FROM_CONSTANT ADX_FROM_INPUT ADX_NOWHERE ADX_WAYS adx_seen_set
 *           adx_known_cell adx_cells adx_program adx_repeated
 *           adx_begin_program adx_variables_of adx_drop_many adx_end_program
 *           adx_free_program adx_spoil adx_has_room_for_number adx_new_number
 *           adx_new_constant adx_new_inputs adx_new_output
 *           adx_is_constant_number adx_constant_of adx_is_fixed adx_is
 *           adx_made_by adx_many_of adx_external_results adx_many_results
 *           adx_listed adx_many_arity adx_results_of adx_extent adx_in_range
 *           adx_range_ends adx_add_span adx_add_results_span adx_visit_reads
 * ========================================================================== */

/* --- operations ----------------------------------------------------------- */

enum {
    ADX_OP_guard = ADX_OP_COUNT,    // stops unless a is b; c: its number
    ADX_OP_many,                    // a: index in the list `many`
    ADX_OP_chain_add,               // in machines only: c + chain(a, b),
    ADX_OP_chain_sub,               // c - chain(a, b),
    ADX_OP_mul_add,                 // c + a * b, rounded twice,
    ADX_OP_mul_sub,                 // c - a * b
    ADX_OP_end
};

// The attributes of an operation, or of what only programs have, which is
// short.
ADX_INLINE unsigned adx_attributes_of(uint32_t op)
{
    return op < ADX_OP_COUNT ? adx_attributes[op] : ADX_COST_SHORT;
}

// What it takes to compute a result again, in calls of the math library.
static unsigned adx_cost_of(uint32_t op)
{
    return adx_attributes_of(op) & ADX_COST;
}

ADX_INLINE bool adx_commutes(uint32_t op)
{
    return (adx_attributes_of(op) & ADX_COMMUTES) != 0;
}

// The product and the sum are in two functions, because a compiler that
// contracts only within an expression then leaves them apart.
ADX_INLINE ad_real adx_more(ad_real z, ad_real product) { return z + product; }
ADX_INLINE ad_real adx_less(ad_real z, ad_real product) { return z - product; }

// ADX_ROUNDED(x), ADX_ROUNDED_ALL()   hide from the compiler how x, or what is
//   in memory, was computed: a product is rounded before a sum takes it, and
//   not contracted with it. Where a compiler has no such means (ADX_FUSES_MUL
//   is 0), products of the function itself and sums stay separate nodes.
#if defined __GNUC__ && defined __SSE2_MATH__
#define ADX_ROUNDED(x) __asm__("" : "+x"(x))
#elif defined __GNUC__ && defined __aarch64__
#define ADX_ROUNDED(x) __asm__("" : "+w"(x))
#endif
#ifdef ADX_ROUNDED
#define ADX_ROUNDED_ALL() __asm__("" : : : "memory")
#define ADX_FUSES_MUL 1
#else
#define ADX_ROUNDED(x) ((void)0)
#define ADX_ROUNDED_ALL() ((void)0)
#define ADX_FUSES_MUL 0
#endif

ADX_INLINE ad_real adx_rounded(ad_real x)
{
    ADX_ROUNDED(x);
    return x;
}

// A product and a sum as one node: DO(code, value), of x, y and z. ADX_FUSED is
// for a single point. In a loop over lanes, adx_rounded would prevent vectors,
// so function/run computes the products of mul_add and mul_sub in a loop of
// their own first.
#define ADX_FUSED_CHAIN(DO)                                                 \
    DO(ADX_OP_chain_add, adx_more(z, x * y))                                \
    DO(ADX_OP_chain_sub, adx_less(z, x * y))
#define ADX_FUSED(DO)                                                       \
    ADX_FUSED_CHAIN(DO)                                                     \
    DO(ADX_OP_mul_add, adx_more(z, adx_rounded(x * y)))                     \
    DO(ADX_OP_mul_sub, adx_less(z, adx_rounded(x * y)))

/* --- memory --------------------------------------------------------------- */

// Makes room for one more element than the n that an array has.
static inline bool adx_make_room_for(const ad_allocator *a, void **array,
                                     size_t *room, size_t n, size_t size)
{
    return adx_extend(a, array, room, n + 1, size);
}

/* --- shared rules --------------------------------------------------------- */

// What an external statement saved. The programs and machines that have it as a
// node share it, and the last of them frees it.
typedef struct adx_shared_rule {
    ad_allocator memory;        // that it was taken from
    atomic_size_t holders;      // programs and machines
    const ad_external_rule *rule;
    bool destroys;              // freeing it calls the rule's destroy
    _Alignas(16) char saved[];
} adx_shared_rule;

static adx_shared_rule *adx_new_shared_rule(const ad_allocator *a,
                                            const ad_array_operation *o)
{
    adx_shared_rule *shared =
        (adx_shared_rule *)adx_take(a, 1, sizeof *shared + o->bytes);
    if (shared == NULL)
        return NULL;
    *shared = (adx_shared_rule){ .memory = *a, .rule = o->rule };
    atomic_init(&shared->holders, 1);
    if (o->bytes > 0)
        memcpy(shared->saved, o->saved, o->bytes);
    return shared;
}

static adx_shared_rule *adx_share_rule(adx_shared_rule *shared)
{
    // relaxed: the caller holds it, so that it cannot go meanwhile.
    atomic_fetch_add_explicit(&shared->holders, 1, memory_order_relaxed);
    return shared;
}

static void adx_release_rule(adx_shared_rule *shared)
{
    // acq_rel: what the other holders did with it comes before its end.
    if (shared == NULL || atomic_fetch_sub_explicit(&shared->holders, 1,
                                                  memory_order_acq_rel) > 1)
        return;
    if (shared->destroys && shared->rule->destroy != NULL)
        shared->rule->destroy(shared->saved);
    const ad_allocator memory = shared->memory;
    adx_drop(&memory, shared);
}

typedef struct adx_node {
    uint32_t op;
    uint32_t r;                 // the result, or the first of several
    uint32_t a, b, c;           // arguments; those beyond the arity are a
} adx_node;

// A range: element (i, j) of a matrix is number base + i*rs + j*cs. A vector is
// one row, with stride cs. Where cs is 0, one number stands for all of a row.
typedef struct adx_numbers {
    uint32_t base;
    int32_t rs;
    int32_t cs;
} adx_numbers;

// The kinds of nodes with many results: each is an array statement, or a part
// of one, as a single node. The table says which of the counts m, k and n a
// kind has, and how many arguments. The arguments of a product are matrices [m
// x k] and [k x n]; all others are vectors of k numbers, or of n numbers if
// there is no k.
#define ADX_MANY_KINDS(ROW)                                                 \
    /*  kind      m  k  n  arguments         list  operation             */ \
    ROW(each,     0, 0, 1, ADX_AS_OPERATION, 0, 1)  /* of vectors        */ \
    ROW(sum,      0, 1, 0, 1,                0, 0)                          \
    ROW(most,     0, 1, 0, 1,                0, 0)  /* no derivative     */ \
    ROW(norm,     0, 1, 0, 1,                0, 0)  /* the length        */ \
    ROW(product,  1, 1, 1, 2,                0, 1)  /* mul, or chain, in    \
                                                       which 0 absorbs   */ \
    ROW(gather,   0, 0, 1, 0,                1, 0)  /* [n] of the list   */ \
    ROW(external, 1, 0, 1, 0,                1, 0)  /* of n inputs: m    */

// A rule is a function for each kind, and a switch over the kinds that is made
// from the table. So a new kind does not compile until it has all of its rules.
#define ADX_MANY_ENUM(kind, m, k, n, arguments, list, operation)            \
    ADX_MANY_##kind,
typedef enum adx_many_kind { ADX_MANY_KINDS(ADX_MANY_ENUM) ADX_MANY_COUNT }
    adx_many_kind;
#undef ADX_MANY_ENUM

#define ADX_AS_OPERATION (-1)

typedef struct adx_many_facts {
    bool m, k, n;               // whether it has that count
    int8_t arguments;
    bool list;                  // it reads the numbers in `list`
    bool operation;             // `op` is an operation
} adx_many_facts;

static const adx_many_facts *adx_facts_of(adx_many_kind kind)
{
#define ADX_MANY_FACTS(kind, m, k, n, arguments, list, operation)           \
    { m, k, n, arguments, list, operation },
    static const adx_many_facts facts[] = { ADX_MANY_KINDS(ADX_MANY_FACTS) };
#undef ADX_MANY_FACTS
    return &facts[kind];
}

// The part of an external statement that a node computes (its op). The list of
// the node has the operands x[n]; for adjoints, yb[m] follow. A node in one
// direction also has the tangents of all these behind them, and makes the
// tangents of the results behind the results.
enum {
    ADX_EXTERNAL_value = 0,     // y[m]
    ADX_EXTERNAL_adjoint = 1,   // xb[n]
    ADX_EXTERNAL_moving = 2     // | adjoint: in one direction
};

typedef struct adx_many {
    adx_many_kind kind;
    uint32_t op;                        // if the kind has one; ADX_EXTERNAL_...
    uint32_t m, k, n;
    adx_numbers arg[3];
    uint32_t *list;                     // [adx_listed] numbers; else NULL
    adx_shared_rule *shared;            // of an external statement
} adx_many;

// Where a number comes from.
#define ADX_FROM_CONSTANT 0x80000000u       // and above: which one
#define ADX_FROM_INPUT    0x7fffffffu       // below: which node
#define ADX_NOWHERE       UINT32_MAX        // no number

// A set of the table of known numbers (function/unique): the hashes of their
// keys, and the numbers. (With sets of 8, the table for 10^3 operations has 32
// kB; with sets of 4 it had 128.)
#define ADX_WAYS 8
typedef struct adx_seen_set {
    uint32_t hash[ADX_WAYS];
    uint32_t number[ADX_WAYS];  // 1 + the number; 0: none
} adx_seen_set;

// The cells that have been read. A program reads each cell once.
typedef struct adx_known_cell {
    uint16_t first;             // of its terms
    uint8_t terms;
    uint8_t result;
    bool known;
} adx_known_cell;

typedef struct adx_cells {
    adx_known_cell of[ADX_OP_COUNT][3]; // by operation and argument
    adx_term *term;             // of all cells, one after another
    size_t terms, room;
} adx_cells;

static void adx_drop_cells(const ad_allocator *a, adx_cells *cells)
{
    if (cells != NULL)
        adx_drop(a, cells->term);
    adx_drop(a, cells);
}

// The values of constants are apart from the numbers, so a number takes 4
// bytes: a recording writes to new memory, and the less it writes, the faster
// it is.
//
// The first numbers are the inputs. Nodes are in an order in which each reads
// only inputs, constants and results of nodes before it.
typedef struct adx_program {
    const ad_allocator *memory;
    adx_node *node;             // [nodes]
    size_t nodes, node_room;
    uint32_t *from;             // [number] the node whose result it is;
                                // ADX_FROM_INPUT; or ADX_FROM_CONSTANT and up
    size_t numbers, number_room;
    ad_real *constant;          // [constants] their values (adx_constant_of)
    size_t constants, constant_room;
    adx_many *many;             // [manys] what array nodes do: a node has the
    size_t manys, many_room;    // index
    uint32_t *output;           // [outputs] numbers, which may be equal
    size_t outputs, output_room;
    size_t inputs;
    size_t fixed;               // so many of the last inputs are parameters:
                                // there are no derivatives by them
    adx_seen_set *seen;         // the table of known numbers (function/unique)
    uint8_t *entered;           // [set] numbers that it was given, modulo 256
    size_t seen_sets;
    adx_cells *cells;           // cells that have been read (function/emit)
    bool plain;                 // do not simplify
    ad_status status;
    ad_fn_report report;
    bool counted;               // the report has `dead`, `operations`, `arrays`
    size_t guards;              // nodes that are guards
    size_t conditions;          // nodes that were made for guards
} adx_program;

// What a loop says of its step, for the programs that are derived from that
// (loop/replay). The first `carried` results of a step are the first inputs of
// the next one, and its last inputs are the parameters and the number of the
// step. carried is 0 for any other function, and for a step that carries on
// more than one row of a state.
typedef struct adx_repeated {
    size_t carried, parameters;
    size_t hands_on;            // numbers that its primal may hand on, at most
} adx_repeated;

static void adx_begin_program(adx_program *p, const ad_allocator *memory,
                              bool plain)
{
    memset(p, 0, sizeof *p);
    p->memory = memory;
    p->plain = plain;
}

// How many inputs derivatives are taken by: the first ones.
static size_t adx_variables_of(const adx_program *p)
{
    return p->inputs - p->fixed;
}

static void adx_drop_many(const ad_allocator *a, const adx_many *k)
{
    adx_drop(a, k->list);
    adx_release_rule(k->shared);
}

// Frees what is needed only while nodes are added.
static void adx_end_program(adx_program *p)
{
    adx_drop(p->memory, p->seen);
    adx_drop_cells(p->memory, p->cells);
    p->seen = NULL;
    p->entered = NULL;
    p->seen_sets = 0;
    p->cells = NULL;
}

static void adx_free_program(adx_program *p)
{
    for (size_t i = 0; i < p->manys; i++)
        adx_drop_many(p->memory, &p->many[i]);
    adx_drop(p->memory, p->many);
    adx_drop(p->memory, p->node);
    adx_drop(p->memory, p->from);
    adx_drop(p->memory, p->constant);
    adx_drop(p->memory, p->output);
    adx_end_program(p);
    memset(p, 0, sizeof *p);
}

// Notes that the program has failed. From then on it does not grow, and the
// first status stays. Functions that add to it still return numbers that are
// good as indices, so the status needs to be tested only at the end of a longer
// piece of work.
static void adx_spoil(adx_program *p, ad_status status)
{
    if (p->status == ADREV_OK)
        p->status = status;
}

// Makes room for one more number. False: there is none, and p is spoilt.
static inline bool adx_has_room_for_number(adx_program *p)
{
    if (p->numbers >= ADX_FROM_INPUT)
        adx_spoil(p, ADREV_ELIMIT);
    else if (!adx_make_room_for(p->memory, (void **)&p->from, &p->number_room,
                                p->numbers, sizeof *p->from))
        adx_spoil(p, ADREV_ENOMEM);
    if (p->number_room > ADX_FROM_INPUT)    // so that room for a number is also
        p->number_room = ADX_FROM_INPUT;    // within the limit
    return p->status == ADREV_OK;
}

// Appends a number. Each input and each constant is a number, and a node makes
// one, or several (adx_append_many).
static inline uint32_t adx_new_number(adx_program *p, uint32_t from)
{
    if (!adx_has_room_for_number(p))
        return 0;
    p->from[p->numbers] = from;
    return (uint32_t)p->numbers++;
}

static uint32_t adx_new_constant(adx_program *p, ad_real v)
{
    if (!adx_make_room_for(p->memory, (void **)&p->constant, &p->constant_room,
                           p->constants, sizeof *p->constant))
        adx_spoil(p, ADREV_ENOMEM);
    uint32_t x = adx_new_number(p, ADX_FROM_CONSTANT
                                       + (uint32_t)p->constants);
    if (p->status == ADREV_OK)
        p->constant[p->constants++] = v;
    return x;
}

// Appends n inputs. Number 0 is the first input or, if there is none, a
// constant: so 0 is always good as an index.
static void adx_new_inputs(adx_program *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        adx_new_number(p, ADX_FROM_INPUT);
    p->inputs += n;
}

static void adx_new_output(adx_program *p, uint32_t number)
{
    if (!adx_make_room_for(p->memory, (void **)&p->output, &p->output_room,
                           p->outputs, sizeof *p->output))
        adx_spoil(p, ADREV_ENOMEM);
    if (p->status == ADREV_OK)
        p->output[p->outputs++] = number;
}

static bool adx_is_constant_number(const adx_program *p, size_t x)
{
    return p->from[x] >= ADX_FROM_CONSTANT;
}

// Returns the value of a number that is a constant.
static const ad_real *adx_constant_of(const adx_program *p, size_t x)
{
    return &p->constant[p->from[x] - ADX_FROM_CONSTANT];
}

static bool adx_is_fixed(const adx_program *p, uint32_t x)
{
    return p->status == ADREV_OK && adx_is_constant_number(p, x);
}

// Whether x is the constant v; 0 and -0 differ.
static bool adx_is(const adx_program *p, uint32_t x, ad_real v)
{
    return adx_is_fixed(p, x)
        && memcmp(adx_constant_of(p, x), &v, sizeof v) == 0;
}

// Returns the node that makes x if it has this operation; else NULL.
static const adx_node *adx_made_by(const adx_program *p, uint32_t x,
                                   uint32_t op)
{
    uint32_t from = p->status == ADREV_OK ? p->from[x]
                                          : ADX_FROM_CONSTANT;
    return from < ADX_FROM_INPUT && p->node[from].op == op ? &p->node[from]
                                                           : NULL;
}

static const adx_many *adx_many_of(const adx_program *p, const adx_node *s)
{
    return s->op == ADX_OP_many ? &p->many[s->a] : NULL;
}

// How many operands and how many results an external node has, without the
// tangents behind them.
static size_t adx_external_operands(const adx_many *k)
{
    return (size_t)k->n + (k->op & ADX_EXTERNAL_adjoint ? k->m : 0);
}

static size_t adx_external_results(const adx_many *k)
{
    return k->op & ADX_EXTERNAL_adjoint ? k->n : k->m;
}

// How many numbers a node makes.
static size_t adx_many_results(const adx_many *k)
{
    const adx_many_facts *f = adx_facts_of(k->kind);
    if (k->kind == ADX_MANY_external)
        return adx_external_results(k) * (k->op & ADX_EXTERNAL_moving ? 2 : 1);
    return (size_t)(f->m ? k->m : 1) * (f->n ? k->n : 1);
}

// How many numbers are in its list.
static size_t adx_listed(const adx_many *k)
{
    if (k->kind == ADX_MANY_external)
        return adx_external_operands(k) * (k->op & ADX_EXTERNAL_moving ? 2 : 1);
    return adx_facts_of(k->kind)->list ? k->n : 0;
}

static int adx_many_arity(const adx_many *k)
{
    int arguments = adx_facts_of(k->kind)->arguments;
    return arguments == ADX_AS_OPERATION ? adx_row_of(k->op)->arity : arguments;
}

static size_t adx_results_of(const adx_program *p, const adx_node *s)
{
    const adx_many *k = adx_many_of(p, s);
    return k == NULL ? 1 : adx_many_results(k);
}

// Finds the rows and columns of argument i. rows is 0 if there is no such
// argument.
static void adx_extent(const adx_many *k, int i, size_t *rows, size_t *cols)
{
    const adx_many_facts *f = adx_facts_of(k->kind);
    bool second = f->k && i > 0;
    *rows = i >= adx_many_arity(k) ? 0 : second ? k->k : f->m ? k->m : 1;
    *cols = f->k && !second ? k->k : k->n;
}

static uint32_t adx_in_range(const adx_numbers *r, size_t i, size_t j)
{
    return r->base + (uint32_t)i * (uint32_t)r->rs
                   + (uint32_t)j * (uint32_t)r->cs;
}

// Finds the least and the largest number of a range, which are at two of its
// corners.
static void adx_range_ends(const adx_numbers *r, size_t rows, size_t cols,
                           uint32_t *low, uint32_t *high)
{
    *low = UINT32_MAX;
    *high = 0;
    for (size_t corner = 0; corner < 4; corner++) {
        uint32_t x = adx_in_range(r, corner & 1 ? rows - 1 : 0,
                                   corner & 2 ? cols - 1 : 0);
        *low = x < *low ? x : *low;
        *high = x > *high ? x : *high;
    }
}

// Adds the span of a range: the numbers from its first to its last. They keep
// their distances wherever they are stored. begin[n] says for each number how
// many spans begin at it, minus how many end just before it.
static void adx_add_span(uint32_t begin[], size_t n, const adx_numbers *r,
                         size_t rows, size_t cols)
{
    uint32_t low;
    uint32_t high;
    if (rows * cols == 0)
        return;
    adx_range_ends(r, rows, cols, &low, &high);
    begin[low]++;
    if (high + 1 < n)
        begin[high + 1]--;
}

// Adds the span of the results of an array node.
static void adx_add_results_span(uint32_t begin[], size_t n, uint32_t first,
                                 const adx_many *k)
{
    const adx_numbers results = { first, 0, 1 };
    adx_add_span(begin, n, &results, 1, adx_many_results(k));
}

// A function that is called for every number that a node reads. A guard has no
// third argument.
typedef void adx_visit_fn(void *user, uint32_t number);

// Visits every number that a node reads.
ADX_INLINE void adx_visit_reads(const adx_program *p, const adx_node *s,
                                adx_visit_fn *visit, void *user)
{
    const adx_many *k = adx_many_of(p, s);
    if (k == NULL) {
        visit(user, s->a);
        visit(user, s->b);
        if (s->op != ADX_OP_guard)
            visit(user, s->c);
        return;
    }
    for (size_t i = 0; i < adx_listed(k); i++)
        visit(user, k->list[i]);
    for (int a = 0; a < 3; a++) {
        size_t rows;
        size_t cols;
        adx_extent(k, a, &rows, &cols);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                visit(user, adx_in_range(&k->arg[a], i, j));
    }
}

/* === function/unique ========================================================
 * Hash-consing: each number is made once. A number has a key: the bits of a
 * constant, or the operation of a node and its arguments. The arguments have
 * been looked up themselves, so equal keys mean equal computations. Before a
 * node is added, a table is searched for a number with the same key, in
 * constant time. (Ershov, On programming of arithmetic operations, 1958;
 * Filliatre & Conchon, Type-safe modular hash-consing, 2006.)
 *
 * The table is divided into sets. The hash of a key says in which set its
 * number is, if it is in the table. A full set gives up its oldest number. So
 * the table may forget a number, which is then made a second time, but it never
 * returns a wrong one: if a hash agrees, the key of that number is compared,
 * too.
 *
 *   needs   tape/memory core/hash function/program
 *   offers  adx_key adx_node_key adx_guard_key adx_constant_key adx_seen
 *           adx_enter_number adx_fixed_anew adx_fixed
 * ========================================================================== */

// The table has so many entries at most: 128 kB, which the cache holds. (bench:
// recording, 10^7 operations, 0.37 of a table of all numbers.)
#define ADX_SEEN_MOST ((size_t)1 << 14)

typedef struct adx_key {
    uint64_t word[2];
} adx_key;

static adx_key adx_node_key(uint32_t op, uint32_t x, uint32_t y, uint32_t z)
{
    return (adx_key){ { (uint64_t)op << 32 | x, (uint64_t)y << 32 | z } };
}

// The key of a guard does not say which guard it is, so a comparison that is
// repeated needs no second guard.
static adx_key adx_guard_key(uint32_t x, uint32_t was)
{
    return adx_node_key(ADX_OP_guard, x, was, 0);
}

// The key of a constant: its bits, so that 0 and -0 are two.
static adx_key adx_constant_key(ad_real v)
{
    adx_key key = { { (uint64_t)ADX_FROM_CONSTANT << 32, 0 } };
    memcpy(&key.word[1], &v, sizeof v);
    return key;
}

// Returns the key of a number in the table; results of array nodes are never
// there.
static adx_key adx_key_of(const adx_program *p, uint32_t x)
{
    if (adx_is_constant_number(p, x))
        return adx_constant_key(*adx_constant_of(p, x));
    const adx_node *s = &p->node[p->from[x]];
    return s->op == ADX_OP_guard ? adx_guard_key(s->a, s->b)
                                 : adx_node_key(s->op, s->a, s->b, s->c);
}

static uint32_t adx_hash(const adx_key *key)
{
    return (uint32_t)adx_xxh3(key, sizeof *key, 0);
}

static size_t adx_set_of(const adx_program *p, uint32_t hash)
{
    return hash & (p->seen_sets - 1);
}

// Whether any number of a set has this hash. Mostly none has. (Vectors, bench:
// recording, 10^5 operations, 0.89.)
ADX_INLINE bool adx_may_have(const adx_seen_set *set, uint32_t hash)
{
#ifdef __GNUC__
    typedef uint32_t four __attribute__((vector_size(16), aligned(4),
                                         may_alias));
    const four *h = (const four *)set->hash;
    union { __typeof__(h[0] == hash) same; uint64_t word[2]; } any = {
        (h[0] == hash) | (h[1] == hash)
    };
    return (any.word[0] | any.word[1]) != 0;
#else
    bool any = false;
    for (int i = 0; i < ADX_WAYS; i++)
        any |= set->hash[i] == hash;
    return any;
#endif
}

// Returns the number with this key; ADX_NOWHERE: the table does not have it. A
// node, which is far away in memory, is looked at only if its hash agrees.
ADX_INLINE uint32_t adx_find_key(const adx_program *p, const adx_key *key,
                                 uint32_t hash)
{
    const adx_seen_set *set = &p->seen[adx_set_of(p, hash)];
    if (!adx_may_have(set, hash))
        return ADX_NOWHERE;
    for (int i = 0; i < ADX_WAYS; i++) {
        if (set->hash[i] != hash || set->number[i] == 0)
            continue;
        adx_key other = adx_key_of(p, set->number[i] - 1);
        if (other.word[0] == key->word[0] && other.word[1] == key->word[1])
            return set->number[i] - 1;
    }
    return ADX_NOWHERE;
}

// Enters 1 + a number into its set, in place of the oldest one. The counter may
// overflow: 256 is a multiple of ADX_WAYS.
ADX_INLINE void adx_enter_entry(adx_program *p, uint32_t hash, uint32_t number)
{
    size_t at = adx_set_of(p, hash);
    uint8_t way = p->entered[at]++ % ADX_WAYS;
    p->seen[at].hash[way] = hash;
    p->seen[at].number[way] = number;
}

// Makes the table, or makes it eight times as large. The numbers enter their
// new sets by the hashes in the table, so no key is computed again.
ADX_NOINLINE static bool adx_widen_seen(adx_program *p)
{
    size_t old_sets = p->seen_sets;
    adx_seen_set *old = p->seen;
    size_t sets = old_sets == 0 ? 8 : 8 * old_sets;
    if (sets > ADX_SEEN_MOST / ADX_WAYS)
        sets = ADX_SEEN_MOST / ADX_WAYS;
    adx_seen_set *wide =
        (adx_seen_set *)adx_take(p->memory, sets, sizeof *wide + 1);
    if (wide == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return false;
    }
    memset(wide, 0, sets * (sizeof *wide + 1));
    p->seen = wide;
    p->entered = (uint8_t *)(wide + sets);
    p->seen_sets = sets;
    for (size_t i = 0; i < old_sets; i++)       // of each set the oldest first
        for (size_t k = 0; k < ADX_WAYS && old[i].number[k] != 0; k++)
            adx_enter_entry(p, old[i].hash[k], old[i].number[k]);
    adx_drop(p->memory, old);
    return true;
}

// Like adx_find_key, but makes the table if there is none yet. *hash is what
// the number is to be entered with if it is not found.
ADX_INLINE uint32_t adx_seen(adx_program *p, const adx_key *key, uint32_t *hash)
{
    if (p->status != ADREV_OK || (p->seen_sets == 0 && !adx_widen_seen(p)))
        return ADX_NOWHERE;
    *hash = adx_hash(key);
    return adx_find_key(p, key, *hash);
}

// Enters a number into a full set. Before the set gives up a number, the table
// is made larger, if it may be.
ADX_NOINLINE static void adx_enter_in_full_set(adx_program *p, uint32_t hash,
                                               uint32_t number)
{
    while (p->status == ADREV_OK && p->seen_sets < ADX_SEEN_MOST / ADX_WAYS
           && p->entered[adx_set_of(p, hash)] == ADX_WAYS)
        adx_widen_seen(p);
    if (p->status == ADREV_OK)
        adx_enter_entry(p, hash, number + 1);
}

// Enters a number into its set. hash: as adx_seen gave it.
ADX_INLINE void adx_enter_number(adx_program *p, uint32_t hash,
                                 uint32_t number)
{
    if (p->entered[adx_set_of(p, hash)] == ADX_WAYS)
        adx_enter_in_full_set(p, hash, number);
    else
        adx_enter_entry(p, hash, number + 1);
}

// Makes a constant with a new number, even if the table has one, so that the
// constants of an array follow one another.
static uint32_t adx_fixed_anew(adx_program *p, ad_real v)
{
    adx_key key = adx_constant_key(v);
    uint32_t hash = 0;
    uint32_t known = adx_seen(p, &key, &hash);
    uint32_t x = adx_new_constant(p, v);
    if (known == ADX_NOWHERE && p->status == ADREV_OK)
        adx_enter_number(p, hash, x);
    return x;
}

// Returns the number of a constant, which is made if the table does not have
// it.
static uint32_t adx_fixed(adx_program *p, ad_real v)
{
    adx_key key = adx_constant_key(v);
    uint32_t hash = 0;
    uint32_t known = adx_seen(p, &key, &hash);
    if (known != ADX_NOWHERE || p->status != ADREV_OK)
        return known == ADX_NOWHERE ? 0 : known;
    uint32_t x = adx_new_constant(p, v);
    if (p->status == ADREV_OK)
        adx_enter_number(p, hash, x);
    return x;
}

/* === function/emit ==========================================================
 * Adds a node to a program, unless an identity gives its result. Identities
 * keep every bit of a value: x + 0 is not simplified, because -0 + 0 is 0. The
 * product x x becomes a square, whose adjoint is one term instead of two. (Its
 * factor 2 x overflows only where x x has overflowed long before.)
 *
 * Cells of the operator table become nodes, too. In this way partials enter a
 * program, and partials of partials.
 *
 *   needs   tape/memory core/cells function/program function/unique
 *   offers  adx_emit_of adx_emit adx_emit2 adx_emit_guard adx_append_many
 *           adx_numbers_of adx_single adx_is_single adx_emit_each
 *           adx_emit_each2 adx_emit_fold adx_emit_product adx_emit_external
 *           adx_partial_of
 * ========================================================================== */

// Returns the number that an identity says is the result of an operation, so
// that no node is needed. ADX_NOWHERE: no identity applies. Few operations have
// any, so a new row of the table needs nothing here.
ADX_INLINE uint32_t adx_identity(adx_program *p, uint32_t op, uint32_t x,
                                 uint32_t y, uint32_t z)
{
    const adx_node *s;
    switch (op) {
    case ADREV_OP_add:
        return adx_is(p, y, -ADX_K(0.0)) ? x : adx_is(p, x, -ADX_K(0.0)) ? y
             : ADX_NOWHERE;
    case ADREV_OP_sub:
        return adx_is(p, y, 0) ? x : ADX_NOWHERE;
    case ADREV_OP_mul:
        return adx_is(p, y, 1) ? x : adx_is(p, x, 1) ? y : ADX_NOWHERE;
    case ADREV_OP_div:
        return adx_is(p, y, 1) ? x : ADX_NOWHERE;
    case ADREV_OP_neg:
        s = adx_made_by(p, x, ADREV_OP_neg);
        return s != NULL ? s->a : ADX_NOWHERE;
    case ADREV_OP_select:
        return y == z ? y
             : !adx_is_fixed(p, x) ? ADX_NOWHERE
             : *adx_constant_of(p, x) != 0 ? y : z;
    case ADX_OP_chain:
        return adx_is(p, x, 1) ? y : adx_is(p, y, 1) ? x
             : adx_is(p, x, 0) ? x : adx_is(p, y, 0) ? y : ADX_NOWHERE;
    default:
        return ADX_NOWHERE;
    }
}

// Makes room for one more node and its number. False: there is none, and p is
// spoilt.
ADX_NOINLINE static bool adx_grow_program(adx_program *p)
{
    if (!adx_make_room_for(p->memory, (void **)&p->node, &p->node_room,
                           p->nodes, sizeof *p->node))
        adx_spoil(p, ADREV_ENOMEM);
    return adx_has_room_for_number(p);
}

ADX_INLINE bool adx_has_room_for_node(adx_program *p)
{
    return (p->nodes < p->node_room && p->numbers < p->number_room)
        || adx_grow_program(p);
}

// Appends a node as it is. There is room for it.
ADX_INLINE uint32_t adx_append_node(adx_program *p, uint32_t op, uint32_t x,
                                    uint32_t y, uint32_t z)
{
    uint32_t r = (uint32_t)p->numbers++;
    // Memory further on is fetched before it is needed. (bench: recording, 10^7
    // operations, 0.97.)
    ADX_FETCH((uintptr_t)&p->node[p->nodes] + ADX_FAR);
    p->from[r] = (uint32_t)p->nodes;
    p->node[p->nodes++] = (adx_node){ op, r, x, y, z };
    return r;
}

// Appends a node, unless a number with this key is known already.
ADX_INLINE uint32_t adx_once(adx_program *p, adx_key key, uint32_t op,
                             uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t hash = 0;
    uint32_t known = adx_seen(p, &key, &hash);
    if (known != ADX_NOWHERE) {
        p->report.common++;
        return known;
    }
    if (p->status != ADREV_OK || !adx_has_room_for_node(p))
        return 0;
    uint32_t r = adx_append_node(p, op, x, y, z);
    adx_enter_number(p, hash, r);
    return r;
}

// Returns the result of an operation on numbers of the program; arguments
// beyond its arity are x. An operation on constants is computed now. An
// identity gives a number that exists already. The product of a number with
// itself becomes a square. The arguments of an operation that commutes are put
// in order, so that x y and y x have the same key. Anything else becomes a
// node, unless a node with its key is known. Every operation of a recording
// comes here, so each test costs. (bench: recording, 10^3 operations, 0.78 of
// what it was with more tests here and in adx_trace.)
ADX_INLINE uint32_t adx_emit_of(adx_program *p, uint32_t op, uint32_t x,
                                uint32_t y, uint32_t z)
{
    if (p->status != ADREV_OK)
        return 0;
    const uint32_t from[3] = { p->from[x], p->from[y], p->from[z] };
    if ((from[0] & from[1] & from[2]) >= ADX_FROM_CONSTANT) {
        p->report.constant++;
        return adx_fixed(p, adx_compute(op, *adx_constant_of(p, x),
                                        *adx_constant_of(p, y),
                                        *adx_constant_of(p, z)));
    }
    if (p->plain)
        return adx_has_room_for_node(p) ? adx_append_node(p, op, x, y, z) : 0;
    bool some = (from[0] | from[1] | from[2]) >= ADX_FROM_CONSTANT;
    uint32_t same = some || (adx_attributes_of(op) & ADX_IDENTITY) != 0
                  ? adx_identity(p, op, x, y, z) : ADX_NOWHERE;
    if (same != ADX_NOWHERE) {
        p->report.identity++;
        return same;
    }
    if (op == ADREV_OP_mul && x == y)
        op = ADREV_OP_sqr;      // one partial: 2 x w instead of x w + x w
    bool turn = adx_commutes(op) && x > y;
    uint32_t a = turn ? y : x;
    uint32_t b = turn ? x : y;
    uint32_t c = turn ? y : z;
    return adx_once(p, adx_node_key(op, a, b, c), op, a, b, c);
}

// Returns the result of an operation, as adx_emit_of does; arguments beyond its
// arity may be anything.
static uint32_t adx_emit(adx_program *p, uint32_t op, uint32_t x, uint32_t y,
                         uint32_t z)
{
    int arity = adx_row_of(op)->arity;
    return adx_emit_of(p, op, x, arity > 1 ? y : x, arity > 2 ? z : x);
}

static uint32_t adx_emit2(adx_program *p, uint32_t op, uint32_t x, uint32_t y)
{
    return adx_emit(p, op, x, y, x);
}

// Adds a guard: a replay goes on only if x has the value of the constant `was`.
// A constant x needs no guard.
static void adx_emit_guard(adx_program *p, uint32_t x, uint32_t was,
                           uint32_t which)
{
    size_t nodes = p->nodes;
    if (!adx_is_fixed(p, x))
        adx_once(p, adx_guard_key(x, was), ADX_OP_guard, x, was, which);
    p->guards += p->nodes - nodes;
}

/* --- nodes with many results --------------------------------------------- */

// Appends a node with many results; returns the first of them. The list of k
// and its hold on the shared rule become the program's, or are given up on
// failure.
static uint32_t adx_append_many(adx_program *p, const adx_many *k)
{
    size_t results = adx_many_results(k);
    uint32_t first = 0;
    if (p->nodes >= ADX_FROM_INPUT)     // nodes without results have no numbers
        adx_spoil(p, ADREV_ELIMIT);
    if (!adx_make_room_for(p->memory, (void **)&p->many, &p->many_room,
                           p->manys, sizeof *p->many)
        || !adx_make_room_for(p->memory, (void **)&p->node, &p->node_room,
                              p->nodes, sizeof *p->node))
        adx_spoil(p, ADREV_ENOMEM);
    for (size_t i = 0; i < results && p->status == ADREV_OK; i++) {
        uint32_t r = adx_new_number(p, (uint32_t)p->nodes);
        first = i == 0 ? r : first;
    }
    if (p->status != ADREV_OK) {
        adx_drop_many(p->memory, k);
        return 0;
    }
    uint32_t which = (uint32_t)p->manys;
    p->many[p->manys++] = *k;
    p->node[p->nodes++] = (adx_node){ ADX_OP_many, first, which, 0, 0 };
    return first;
}

// Whether a list has the numbers of a range, row by row.
static bool adx_is_even(const uint32_t list[], size_t rows, size_t cols,
                        const adx_numbers *r)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            if (list[i * cols + j] != adx_in_range(r, i, j))
                return false;
    return true;
}

static bool adx_all_fixed(const adx_program *p, const uint32_t list[],
                          size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!adx_is_fixed(p, list[i]))
            return false;
    return true;
}

// Returns a range with the numbers of a list, which are those of a matrix:
// array nodes can read only ranges. Numbers at even distances are a range
// already. Constants get new numbers that follow one another, which costs
// evaluations nothing. Any other list is gathered by an additional node.
static adx_numbers adx_numbers_of(adx_program *p, const uint32_t list[],
                                  size_t rows, size_t cols)
{
    size_t n = rows * cols;
    adx_numbers r = { 0, (int32_t)cols, 1 };
    if (n == 0 || p->status != ADREV_OK)
        return r;
    adx_numbers even = { list[0], 0, 0 };
    if (rows > 1)
        even.rs = (int32_t)(list[cols] - list[0]);
    if (cols > 1)
        even.cs = (int32_t)(list[1] - list[0]);
    if (adx_is_even(list, rows, cols, &even))
        return even;
    if (adx_all_fixed(p, list, n)) {
        r.base = (uint32_t)p->numbers;
        for (size_t i = 0; i < n && p->status == ADREV_OK; i++)
            adx_fixed_anew(p, *adx_constant_of(p, list[i]));
        return r;
    }
    adx_many gather = { .kind = ADX_MANY_gather, .n = (uint32_t)n };
    gather.list = (uint32_t *)adx_take(p->memory, n, sizeof *gather.list);
    if (gather.list == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return r;
    }
    memcpy(gather.list, list, n * sizeof *list);
    r.base = adx_append_many(p, &gather);
    return r;
}

static adx_numbers adx_single(uint32_t number)
{
    return (adx_numbers){ number, 0, 0 };
}

static bool adx_is_single(const adx_numbers *r) { return r->cs == 0; }

static bool adx_is_one(const adx_program *p, const adx_numbers *r)
{
    return adx_is_single(r) && adx_is(p, r->base, 1);
}

// Adds an operation on n numbers of each argument. The result is a single
// number if all arguments are, or if n is 1.
//
// Of the identities (adx_identity) only a factor of 1 and the square are looked
// for. The others ask what an argument is, or which node made it, and in a
// range that could differ from number to number.
static adx_numbers adx_emit_each(adx_program *p, size_t n, uint32_t op,
                                 adx_numbers x, adx_numbers y, adx_numbers z)
{
    int arity = adx_row_of(op)->arity;
    y = arity > 1 ? y : x;
    z = arity > 2 ? z : x;
    if (n == 1 || (adx_is_single(&x) && adx_is_single(&y) && adx_is_single(&z)))
        return adx_single(adx_emit(p, op, x.base, y.base, z.base));
    bool times = op == ADREV_OP_mul || op == ADX_OP_chain;
    if (!p->plain && op == ADREV_OP_mul && x.base == y.base && x.cs == y.cs)
        op = ADREV_OP_sqr;
    if (!p->plain && times && adx_is_one(p, &x))
        return y;
    if (!p->plain && times && adx_is_one(p, &y))
        return x;
    adx_many each = { .kind = ADX_MANY_each, .op = op, .n = (uint32_t)n,
                      .arg = { x, y, z } };
    return (adx_numbers){ adx_append_many(p, &each), 0, 1 };
}

static adx_numbers adx_emit_each2(adx_program *p, size_t n, uint32_t op,
                                  adx_numbers x, adx_numbers y)
{
    return adx_emit_each(p, n, op, x, y, x);
}

// Adds a sum, a largest number or a Euclidean length: a node with k operands
// and one result.
static uint32_t adx_emit_fold(adx_program *p, adx_many_kind kind, size_t k,
                              adx_numbers x)
{
    if (k == 1 && kind != ADX_MANY_norm)
        return x.base;
    adx_many fold = { .kind = kind, .k = (uint32_t)k, .arg = { x } };
    return adx_append_many(p, &fold);
}

// Adds the product of matrices [m x k] and [k x n]. If k is 1 and one of them
// is a single number, this is a vector times that number, element by element.
static adx_numbers adx_emit_product(adx_program *p, uint32_t op, size_t m,
                                    size_t k, size_t n, adx_numbers a,
                                    adx_numbers b)
{
    if (k == 1 && m == 1 && !p->plain) {
        b.rs = 0;
        return adx_emit_each2(p, n, op, adx_single(a.base), b);
    }
    if (k == 1 && n == 1 && !p->plain) {
        adx_numbers column = { a.base, 0, a.rs };
        adx_numbers r = adx_emit_each2(p, m, op, column, adx_single(b.base));
        r.rs = r.cs;
        return r;
    }
    adx_many product = { .kind = ADX_MANY_product, .op = op, .m = (uint32_t)m,
                         .k = (uint32_t)k, .n = (uint32_t)n,
                         .arg = { a, b } };
    return (adx_numbers){ adx_append_many(p, &product), (int32_t)n, 1 };
}

// Adds a part of an external statement. The list becomes the program's. The
// table of known numbers is not asked: only the rule knows whether two calls do
// the same.
static uint32_t adx_emit_external(adx_program *p, const adx_many *of,
                                  uint32_t op, uint32_t *list)
{
    adx_many part = { .kind = ADX_MANY_external, .op = op, .m = of->m,
                      .n = of->n, .list = list,
                      .shared = adx_share_rule(of->shared) };
    if (list == NULL)
        adx_spoil(p, ADREV_ENOMEM);
    return adx_append_many(p, &part);
}

ADX_SELDOM_BEGIN

/* --- cells ---------------------------------------------------------------- */

// Keeps the terms of a cell for the next time. If there is no memory, nothing
// is lost: the cell is then read again.
static void adx_keep_cell(adx_program *p, uint32_t op, int i,
                          const adx_formula *f)
{
    if (p->cells == NULL) {
        p->cells = (adx_cells *)adx_take(p->memory, 1, sizeof *p->cells);
        if (p->cells != NULL)
            memset(p->cells, 0, sizeof *p->cells);
    }
    adx_cells *k = p->cells;
    if (k == NULL || !adx_extend(p->memory, (void **)&k->term, &k->room,
                                 k->terms + f->terms, sizeof *k->term))
        return;
    k->of[op][i] = (adx_known_cell){ (uint16_t)k->terms, f->terms, f->result,
                                     true };
    for (size_t j = 0; j < f->terms; j++)
        k->term[k->terms++] = f->term[j];
}

// Returns the terms of a cell, which are in f or in the cells that the program
// keeps. f says how many there are, and which of them is the result.
static const adx_term *adx_read_cell(adx_program *p, uint32_t op, int i,
                                     adx_formula *f)
{
    const adx_known_cell *cell = p->cells == NULL ? NULL
                               : &p->cells->of[op][i];
    if (cell != NULL && cell->known) {
        f->terms = cell->terms;
        f->result = cell->result;
        return cell->terms > 0 ? p->cells->term + cell->first : f->term;
    }
    adx_parse_partial(op, (uint32_t)i, f);
    if (f->wrong)
        adx_spoil(p, ADREV_EHOOK);
    adx_keep_cell(p, op, i, f);
    return f->term;
}

// Makes partial i of an operation on n numbers of each argument, whose result
// is v: the terms of the cell become nodes, in their order. made[] has the
// range that each index of a term stands for.
static adx_numbers adx_partial_of(adx_program *p, size_t n, uint32_t op, int i,
                                  const adx_numbers arg[3], adx_numbers v)
{
    adx_formula f;
    const adx_term *term = adx_read_cell(p, op, i, &f);
    adx_numbers made[ADX_TERM_FIRST + ADX_TERMS];
    adx_numbers *to = made + ADX_TERM_FIRST;
    for (int k = 0; k < 3; k++)
        made[k] = arg[k];
    made[3] = v;
    for (; f.terms > 0; f.terms--, term++)
        *to++ = term->op == ADX_TERM_NUMBER
              ? adx_single(adx_fixed(p, term->v))
              : adx_emit_each(p, n, term->op, made[term->arg[0]],
                              made[term->arg[1]], made[term->arg[2]]);
    return made[f.result];
}

ADX_SELDOM_END

/* === function/copy ==========================================================
 * The tangent and the adjoint of a program are programs again. This room has
 * what both need: it copies nodes of the old program into the new one, and
 * finds partials there. (Griewank & Walther, chapter 3.)
 *
 *   needs   tape/memory core/cells function/program function/unique
 *           function/emit
 *   offers  adx_making adx_set_used adx_is_used adx_find_used adx_end_making
 *           adx_start_making adx_begin_making adx_take_range adx_own_range
 *           adx_set_range adx_copied_list adx_copy_node adx_partial_in
 *           adx_argument adx_accumulate_each adx_accumulate adx_or_zero
 *           adx_argument_range adx_partials_in adx_cosines_in adx_copy_nodes
 * ========================================================================== */

ADX_SELDOM_BEGIN

// A program that is being made from another one. For each number of the old
// program it says whether the number is needed, and which numbers of the new
// program stand for it and for its derivative.
typedef struct adx_making {
    const adx_program *from;
    adx_program *to;
    bool *used;                 // [old number] a result or a guard needs it
    uint32_t *same;             // [old number] the same number in the new one
    uint32_t *derived;          // [old number] its tangent or adjoint;
                                // ADX_NOWHERE: zero
    uint32_t guards;            // guards of the new program, which are counted
                                // before those of the old one
    bool series;                // derivatives are coefficients of order 2
} adx_making;

static void adx_set_used(void *user, uint32_t number)
{
    ((bool *)user)[number] = true;
}

// Whether a node is needed. Every guard is needed, and a node with many results
// if one of them is.
static inline bool adx_is_used(const adx_program *p, const adx_node *s,
                               const bool used[])
{
    if (s->op != ADX_OP_many)
        return used[s->r] || s->op == ADX_OP_guard;
    size_t n = adx_results_of(p, s);
    for (size_t i = 0; i < n; i++)
        if (used[s->r + i])
            return true;
    return false;
}

// Finds the numbers that a guard, or a node with many results, reads, and all
// results of that node. False: the node is not needed.
ADX_NOINLINE static bool adx_use_reads(const adx_program *p, const adx_node *s,
                                       bool used[])
{
    if (!adx_is_used(p, s, used))
        return false;
    if (s->op == ADX_OP_many)
        memset(&used[s->r], true, adx_results_of(p, s) * sizeof *used);
    adx_visit_reads(p, s, adx_set_used, used);
    return true;
}

// Finds the numbers on which results or guards depend; in a plain program, all
// numbers. One walk over the nodes, from the last to the first, is enough: when
// it comes to a node, it has passed all nodes that read the result of that
// node. Returns the number of nodes that are needed.
static size_t adx_find_used(const adx_program *p, bool used[])
{
    size_t live = 0;
    memset(used, p->plain, p->numbers * sizeof *used);
    for (size_t i = 0; i < p->outputs; i++)
        used[p->output[i]] = true;
    for (size_t i = p->nodes; i-- > 0;) {
        const adx_node *s = &p->node[i];
        if (s->op >= ADX_OP_guard) {
            live += adx_use_reads(p, s, used);
        } else if (used[s->r]) {
            live++;
            used[s->a] = used[s->b] = used[s->c] = true;
        }
    }
    return live;
}

static void adx_end_making(adx_making *k)
{
    const ad_allocator *a = k->from->memory;
    adx_drop(a, k->used);
    adx_drop(a, k->same);
    adx_drop(a, k->derived);
}

// Begins to add the needed nodes of `from` to a program that has inputs, and
// perhaps nodes, already. Needed constants are copied here; the caller says
// which numbers the old inputs become. False: no memory, and there is nothing
// to end.
static bool adx_start_making(adx_making *k, const adx_program *from,
                             adx_program *to)
{
    const ad_allocator *a = from->memory;
    size_t n = from->numbers;
    memset(k, 0, sizeof *k);
    k->from = from;
    k->to = to;
    k->used = (bool *)adx_take(a, n, sizeof *k->used);
    k->same = (uint32_t *)adx_take(a, n, sizeof *k->same);
    k->derived = (uint32_t *)adx_take(a, n, sizeof *k->derived);
    if (k->used == NULL || k->same == NULL || k->derived == NULL) {
        adx_spoil(to, ADREV_ENOMEM);
        adx_end_making(k);
        return false;
    }
    adx_find_used(from, k->used);
    for (size_t i = 0; i < n; i++) {
        bool fixed = adx_is_constant_number(from, i) && k->used[i];
        k->same[i] = fixed ? adx_fixed_anew(to, *adx_constant_of(from, i)) : 0;
        k->derived[i] = ADX_NOWHERE;
    }
    return true;
}

// Begins a new program, whose inputs are those of the old one and then some
// more.
static bool adx_begin_making(adx_making *k, const adx_program *from,
                             adx_program *to, size_t more_inputs)
{
    adx_begin_program(to, from->memory, false);
    adx_new_inputs(to, from->inputs + more_inputs);
    if (!adx_start_making(k, from, to))
        return false;
    for (size_t i = 0; i < from->inputs; i++)
        k->same[i] = (uint32_t)i;
    return true;
}

/* --- copies -------------------------------------------------------------- */

// Finds an old range in the new program. to[] has the new number of each old
// one; NULL: their derivatives are meant, and a number without one has the
// derivative zero. False: none has a derivative, or the program has failed.
static bool adx_take_range(adx_making *k, const uint32_t to[], size_t rows,
                           size_t cols, const adx_numbers *old,
                           adx_numbers *out)
{
    adx_program *p = k->to;
    size_t n = rows * cols;
    uint32_t *list = (uint32_t *)adx_take(p->memory, n, sizeof *list);
    bool any = to != NULL;
    *out = adx_single(0);
    if (list == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return false;
    }
    const uint32_t *map = to == NULL ? k->derived : to;
    for (size_t i = 0; i < n; i++) {
        list[i] = map[adx_in_range(old, i / cols, i % cols)];
        any = any || list[i] != ADX_NOWHERE;
    }
    for (size_t i = 0; i < n && any; i++)
        if (list[i] == ADX_NOWHERE)
            list[i] = adx_fixed(p, 0);
    if (any)
        *out = adx_numbers_of(p, list, rows, cols);
    adx_drop(p->memory, list);
    return any && p->status == ADREV_OK;
}

// Returns the results of an array node as a range of the old program.
static adx_numbers adx_own_range(const adx_node *s, const adx_many *k)
{
    return (adx_numbers){ s->r, (int32_t)k->n, 1 };
}

// Says that the numbers of the old range `at` became those of the new range
// `from`: the opposite of adx_take_range.
static void adx_set_range(uint32_t to[], const adx_numbers *at, size_t rows,
                          size_t cols, adx_numbers from)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            to[adx_in_range(at, i, j)] = adx_in_range(&from, i, j);
}

// Copies the list of a node, in numbers of the new program, with room for some
// more.
static uint32_t *adx_copied_list(adx_making *k, const adx_many *old,
                                 size_t more)
{
    size_t n = adx_listed(old);
    uint32_t *list = (uint32_t *)adx_take(k->to->memory, n + more,
                                          sizeof *list);
    for (size_t i = 0; list != NULL && i < n; i++)
        list[i] = k->same[old->list[i]];
    if (list == NULL)
        adx_spoil(k->to, ADREV_ENOMEM);
    return list;
}

// A gather needs no node if its numbers have become evenly spaced.
static void adx_copy_gather(adx_making *k, const adx_node *s,
                            const adx_many *old)
{
    uint32_t *list = adx_copied_list(k, old, 0);
    if (list == NULL)
        return;
    adx_numbers at = { s->r, 0, 1 };
    adx_set_range(k->same, &at, 1, old->n,
                  adx_numbers_of(k->to, list, 1, old->n));
    adx_drop(k->to->memory, list);
}

// Copies a node with many results: its arguments become ranges of the new
// program, or its list a list of new numbers.
static void adx_copy_many(adx_making *k, const adx_node *s,
                          const adx_many *old)
{
    adx_many many = *old;
    if (old->kind == ADX_MANY_gather) {
        adx_copy_gather(k, s, old);
        return;
    }
    for (int i = 0; i < 3; i++) {
        size_t rows;
        size_t cols;
        adx_extent(old, i, &rows, &cols);
        if (rows > 0)
            adx_take_range(k, k->same, rows, cols, &old->arg[i], &many.arg[i]);
    }
    uint32_t first = old->kind == ADX_MANY_external
        ? adx_emit_external(k->to, old, old->op, adx_copied_list(k, old, 0))
        : adx_append_many(k->to, &many);
    for (size_t i = 0; i < adx_many_results(old); i++)
        k->same[s->r + i] = first + (uint32_t)i;
}

// Adds to the new program a node that computes what an old one does. No node is
// added if the new program has one like it, or if an identity gives the result.
static void adx_copy_node(adx_making *k, const adx_node *s)
{
    const uint32_t *same = k->same;
    if (k->to->status != ADREV_OK)
        return;
    if (s->op == ADX_OP_guard)
        adx_emit_guard(k->to, same[s->a], same[s->b], s->c + k->guards);
    else if (s->op == ADX_OP_many)
        adx_copy_many(k, s, adx_many_of(k->from, s));
    else
        k->same[s->r] = adx_emit(k->to, s->op, same[s->a], same[s->b],
                                 same[s->c]);
}

// Returns partial i of a node as a number of the new program.
static uint32_t adx_partial_in(adx_making *k, const adx_node *s, int i)
{
    const adx_numbers arg[3] = { adx_single(k->same[s->a]),
                               adx_single(k->same[s->b]),
                               adx_single(k->same[s->c]) };
    return adx_partial_of(k->to, 1, s->op, i, arg,
                          adx_single(k->same[s->r])).base;
}

static uint32_t adx_argument(const adx_node *s, int i)
{
    return i == 0 ? s->a : i == 1 ? s->b : s->c;
}

// Returns sum + d x, one term of the chain rule, for n numbers each. *any says
// whether there is a sum before, and then whether there is one now. A partial d
// of 0 adds nothing; a partial of -1, or one that is itself a negation,
// subtracts.
static adx_numbers adx_accumulate_each(adx_program *p, size_t n, bool *any,
                                       adx_numbers sum, adx_numbers d,
                                       adx_numbers x)
{
    if (adx_is_single(&d) && (adx_is(p, d.base, 0)
                             || adx_is(p, d.base, -ADX_K(0.0))))
        return sum;
    bool first = !*any;
    *any = true;
    if (adx_is_single(&d) && adx_is(p, d.base, -1))
        return first ? adx_emit_each2(p, n, ADREV_OP_neg, x, x)
                     : adx_emit_each2(p, n, ADREV_OP_sub, sum, x);
    uint32_t op = ADREV_OP_add;
    const adx_node *minus = first || !adx_is_single(&d) ? NULL
                          : adx_made_by(p, d.base, ADREV_OP_neg);
    if (minus != NULL) {        // d = -e: sum - e x
        op = ADREV_OP_sub;
        d = adx_single(minus->a);
    }
    adx_numbers term = adx_emit_each2(p, n, ADX_OP_chain, d, x);
    return first ? term : adx_emit_each2(p, n, op, sum, term);
}

// Returns sum + d x for single numbers. A sum without terms is ADX_NOWHERE.
static uint32_t adx_accumulate(adx_program *p, uint32_t sum, uint32_t d,
                               uint32_t x)
{
    bool any = sum != ADX_NOWHERE;
    uint32_t r = adx_accumulate_each(p, 1, &any, adx_single(sum), adx_single(d),
                                     adx_single(x)).base;
    return any ? r : ADX_NOWHERE;
}

static uint32_t adx_or_zero(adx_program *p, uint32_t x)
{
    return x == ADX_NOWHERE ? adx_fixed(p, 0) : x;
}

// Returns argument i of an array node as a range of the new program.
static adx_numbers adx_argument_range(adx_making *k, const adx_many *s, int i)
{
    size_t rows;
    size_t cols;
    adx_numbers r = adx_single(0);
    adx_extent(s, i, &rows, &cols);
    if (rows > 0)
        adx_take_range(k, k->same, rows, cols, &s->arg[i], &r);
    return r;
}

// Returns partial i of the operations of an array node, a range of e->n
// numbers.
static adx_numbers adx_partials_in(adx_making *k, const adx_node *s,
                                   const adx_many *e, int i)
{
    const adx_numbers arg[3] = { adx_argument_range(k, e, 0),
                               adx_argument_range(k, e, 1),
                               adx_argument_range(k, e, 2) };
    const adx_numbers own = adx_own_range(s, e);
    adx_numbers v;
    adx_take_range(k, k->same, 1, e->n, &own, &v);
    return adx_partial_of(k->to, e->n, e->op, i, arg, v);
}

// Returns the partials of a Euclidean length v with respect to its operands x:
// x/v.
static adx_numbers adx_cosines_in(adx_making *k, const adx_node *s,
                                  const adx_many *e)
{
    return adx_emit_each2(k->to, e->k, ADX_OP_cosine,
                          adx_argument_range(k, e, 0),
                          adx_single(k->same[s->r]));
}

static void adx_copy_nodes(adx_making *k)
{
    const adx_program *p = k->from;
    for (size_t i = 0; k->to->status == ADREV_OK && i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used))
            adx_copy_node(k, &p->node[i]);
}

ADX_SELDOM_END

/* === function/tangents ======================================================
 * The tangent of a program (jvp) is a forward sweep that is written down
 * instead of done. Each node is copied, and nodes for its tangent are added:
 * the sum of its partials, each times the tangent of its argument. A number
 * that does not depend on a moving input has no tangent (ADX_NOWHERE), and
 * nothing is added for it. Array nodes are treated the same way, range by
 * range: their tangents are array nodes.
 *
 *   needs   core/cells function/program function/unique function/emit
 *           function/copy
 *   offers  adx_tangent_node adx_make_tangent adx_make_along
 * ========================================================================== */

ADX_SELDOM_BEGIN

// The tangent of an operation on arrays: the sum of the partials, each times
// the tangent of its argument.
static void adx_tangent_each(adx_making *k, const adx_node *s,
                             const adx_many *e)
{
    const adx_numbers own = adx_own_range(s, e);
    adx_numbers sum = adx_single(0);
    bool any = false;
    for (int i = 0; i < adx_row_of(e->op)->arity; i++) {
        adx_numbers x;
        if (adx_take_range(k, NULL, 1, e->n, &e->arg[i], &x))
            sum = adx_accumulate_each(k->to, e->n, &any, sum,
                                      adx_partials_in(k, s, e, i), x);
    }
    if (any)
        adx_set_range(k->derived, &own, 1, e->n, sum);
}

// C = A B. The tangent of C is the tangent of A times B, plus A times the
// tangent of B; a factor without a tangent adds nothing.
static void adx_tangent_product(adx_making *k, const adx_node *s,
                                const adx_many *e)
{
    const adx_numbers own = adx_own_range(s, e);
    adx_numbers a = adx_argument_range(k, e, 0);
    adx_numbers b = adx_argument_range(k, e, 1);
    adx_numbers x;
    adx_numbers y = adx_single(0);
    bool left = adx_take_range(k, NULL, e->m, e->k, &e->arg[0], &x);
    if (left)
        y = adx_emit_product(k->to, ADX_OP_chain, e->m, e->k, e->n, x, b);
    bool right = adx_take_range(k, NULL, e->k, e->n, &e->arg[1], &x);
    if (right) {
        adx_numbers other = adx_emit_product(k->to, ADX_OP_chain, e->m, e->k,
                                           e->n, a, x);
        size_t results = adx_many_results(e);
        if (left) {             // else there is nothing to add
            other = adx_emit_each2(k->to, results, ADREV_OP_add, y, other);
            other.rs = other.cs * (int32_t)e->n;
        }
        y = other;
    }
    if (left || right)
        adx_set_range(k->derived, &own, e->m, e->n, y);
}

static void adx_tangent_gather(adx_making *k, const adx_node *s,
                               const adx_many *e)
{
    for (size_t i = 0; i < e->n; i++)
        k->derived[s->r + i] = k->derived[e->list[i]];
}

static void adx_tangent_sum(adx_making *k, const adx_node *s,
                            const adx_many *e)
{
    adx_numbers x;
    if (adx_take_range(k, NULL, 1, e->k, &e->arg[0], &x))
        k->derived[s->r] = adx_emit_fold(k->to, ADX_MANY_sum, e->k, x);
}

// A largest number is treated as a constant: the result of a logsumexp or
// softmax that is scaled by it does not depend on it.
static void adx_tangent_most(adx_making *k, const adx_node *s,
                             const adx_many *e)
{
    (void)k; (void)s; (void)e;
}

static void adx_tangent_norm(adx_making *k, const adx_node *s,
                             const adx_many *e)
{
    adx_numbers x;
    if (!adx_take_range(k, NULL, 1, e->k, &e->arg[0], &x))
        return;
    x.rs = x.cs;                // a column
    k->derived[s->r] = adx_emit_product(k->to, ADX_OP_chain, 1, e->k, 1,
                                        adx_cosines_in(k, s, e), x).base;
}

static bool adx_any_derived(const adx_making *k, const uint32_t list[],
                            size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (k->derived[list[i]] != ADX_NOWHERE)
            return true;
    return false;
}

// An external node and its tangent are one node, which replaces the copy,
// because a rule computes both at once. A rule has no second tangent.
static void adx_tangent_external(adx_making *k, const adx_node *s,
                                 const adx_many *e)
{
    size_t n = adx_listed(e);
    size_t results = adx_many_results(e);
    if (!adx_any_derived(k, e->list, n))
        return;
    if (e->op & ADX_EXTERNAL_moving) {
        adx_spoil(k->to, ADREV_EEXTERNAL);
        return;
    }
    uint32_t *list = adx_copied_list(k, e, n);
    for (size_t i = 0; list != NULL && i < n; i++)
        list[n + i] = adx_or_zero(k->to, k->derived[e->list[i]]);
    uint32_t first = adx_emit_external(k->to, e, e->op | ADX_EXTERNAL_moving,
                                       list);
    for (size_t i = 0; i < results; i++) {
        k->same[s->r + i] = first + (uint32_t)i;
        k->derived[s->r + i] = first + (uint32_t)(results + i);
    }
}

// Writes the tangent of an array node, by the rule of its kind.
static void adx_tangent_many(adx_making *k, const adx_node *s,
                             const adx_many *e)
{
#define ADX_CASE(kind, ...)                                                 \
    case ADX_MANY_##kind:                                                   \
        adx_tangent_##kind(k, s, e);                                        \
        break;
    switch (e->kind) {
    ADX_MANY_KINDS(ADX_CASE)
    case ADX_MANY_COUNT:
        break;
    }
#undef ADX_CASE
}

// The tangent of v = x / y is (x' - v y') / y. Its own tangent, by the same
// rule, shares a product with it: coefficients of order 2 take 8 nodes, and by
// partials 18. A chain of divisions waits longer for it, so tangents alone are
// sums over partials.
static bool adx_tangent_quotient(adx_making *k, const adx_node *s)
{
    adx_program *p = k->to;
    uint32_t x = k->derived[s->a];
    uint32_t y = k->derived[s->b];
    if (!k->series || y == ADX_NOWHERE
        || (s->op != ADREV_OP_div && s->op != ADX_OP_ratio))
        return false;
    y = adx_emit2(p, ADX_OP_chain, k->same[s->r], y);
    x = x == ADX_NOWHERE ? adx_emit2(p, ADREV_OP_neg, y, y)
                         : adx_emit2(p, ADREV_OP_sub, x, y);
    k->derived[s->r] = adx_emit2(p, ADX_OP_ratio, x, k->same[s->b]);
    return true;
}

// Writes the tangent of a node. The node itself has been copied.
static void adx_tangent_node(adx_making *k, const adx_node *s)
{
    uint32_t sum = ADX_NOWHERE;
    const adx_many *many = adx_many_of(k->from, s);
    if (k->to->status != ADREV_OK || s->op == ADX_OP_guard)
        return;
    if (many != NULL) {
        adx_tangent_many(k, s, many);
        return;
    }
    if (adx_tangent_quotient(k, s))
        return;
    for (int i = 0; i < adx_row_of(s->op)->arity; i++) {
        uint32_t x = k->derived[adx_argument(s, i)];
        if (x != ADX_NOWHERE)
            sum = adx_accumulate(k->to, sum, adx_partial_in(k, s, i), x);
    }
    k->derived[s->r] = sum;
}

// Inputs: those of p, and tangents of the first `moving` of them; these are the
// inputs from `first` on, of which p may have some already. Outputs: the
// tangents of p's, and then p's.
static ad_status adx_make_tangent_along(adx_program *q, const adx_program *p,
                                        size_t moving, size_t first,
                                        bool series)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, first + moving - p->inputs))
        return q->status;
    k.series = series;
    for (size_t i = 0; i < moving; i++)
        k.derived[i] = (uint32_t)(first + i);
    for (size_t i = 0; i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k.used)) {
            adx_copy_node(&k, &p->node[i]);
            adx_tangent_node(&k, &p->node[i]);
        }
    for (size_t i = 0; i < p->outputs; i++)
        adx_new_output(q, adx_or_zero(q, k.derived[p->output[i]]));
    for (size_t i = 0; i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_end_making(&k);
    return q->status;
}

static ad_status adx_make_tangent(adx_program *q, const adx_program *p,
                                  size_t moving)
{
    return adx_make_tangent_along(q, p, moving, p->inputs, false);
}

// Makes the program of the Taylor coefficients up to order 1 or 2. Inputs: as
// adx_make_tangent. Outputs: all coefficients of t^0, then those of t^1, and so
// on. Those of t^2 are half of the tangent of the tangent in the same
// direction, which itself does not move.
static ad_status adx_make_along(adx_program *q, const adx_program *p,
                                size_t moving, bool twice)
{
    size_t m = p->outputs;
    if (!twice) {
        adx_make_tangent(q, p, moving);
    } else {
        adx_program once;
        adx_begin_program(q, p->memory, false);
        if (adx_make_tangent_along(&once, p, moving, p->inputs, true)
            == ADREV_OK)
            adx_make_tangent_along(q, &once, moving, p->inputs, true);
        else
            adx_spoil(q, once.status);
        adx_free_program(&once);
    }
    // The outputs are, of order 1: dy, y; of order 2: ddy, dy, dy, y.
    for (size_t i = 0; q->status == ADREV_OK && i < m; i++) {
        uint32_t first = q->output[i];
        q->output[i] = q->output[(twice ? 3 : 1) * m + i];
        q->output[(twice ? 2 : 1) * m + i]
            = twice ? adx_emit2(q, ADREV_OP_mul, adx_fixed(q, ADX_K(0.5)),
                                first)
                    : first;
    }
    q->outputs = (twice ? 3 : 2) * m;
    return q->status;
}

ADX_SELDOM_END

/* === function/adjoints ======================================================
 * The adjoint of a program (vjp) is a reverse sweep that is written down
 * instead of done. First the nodes of the program are copied. Then the nodes
 * are visited from the last to the first, and each adds its partial times its
 * adjoint to the adjoint of each of its arguments. derived[x] is the number of
 * the new program that is the adjoint of x so far; each addition makes a new
 * number. Where nothing has been added yet (ADX_NOWHERE) the adjoint is zero,
 * and the node adds nothing. Nothing is added to the adjoints of numbers that
 * do not depend on any input either. Array nodes do the same range by range:
 * their adjoints are array nodes, too.
 *
 * So each node costs a product and a sum for each argument, and its partials:
 * the new program is as long as the old one, times a constant. (Griewank &
 * Walther, chapter 3.)
 *
 * The last part of this room splits array nodes into nodes of one result each,
 * for sparsity and Taylor series.
 *
 *   needs   tape/memory core/cells function/program function/unique
 *           function/emit function/copy
 *   offers  adx_find_moved adx_adjoint_part adx_adjoint_nodes adx_make_adjoint
 *           adx_make_copy adx_make_scalar
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Whether any number that a node reads has moved, found out by
// adx_see_movement.
typedef struct adx_movement {
    bool *moved;
    bool any;
} adx_movement;

static void adx_see_movement(void *user, uint32_t number)
{
    adx_movement *m = (adx_movement *)user;
    m->any = m->any || m->moved[number];
}

// Returns for each number whether it depends on any of the `moving` inputs from
// `first` on: only such numbers need an adjoint. NULL: no memory.
static bool *adx_find_moved(const adx_program *p, size_t first, size_t moving)
{
    bool *moved = (bool *)adx_take(p->memory, p->numbers, sizeof *moved);
    if (moved == NULL)
        return NULL;
    memset(moved, 0, p->numbers * sizeof *moved);
    memset(moved + first, true, moving * sizeof *moved);
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        adx_movement m = { moved, false };
        adx_visit_reads(p, s, adx_see_movement, &m);
        memset(&moved[s->r], m.any && s->op != ADX_OP_guard,
               adx_results_of(p, s) * sizeof *moved);
    }
    return moved;
}

// Whether any number of a range is in moved[].
static bool adx_any_moved(const adx_numbers *x, size_t rows, size_t cols,
                          const bool moved[])
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            if (moved[adx_in_range(x, i, j)])
                return true;
    return false;
}

// Adds y to the adjoint of number x.
static void adx_add_one(adx_making *k, uint32_t x, uint32_t y,
                        const bool moved[])
{
    uint32_t *sum = &k->derived[x];
    if (moved[x])
        *sum = *sum == ADX_NOWHERE
             ? y : adx_emit2(k->to, ADREV_OP_add, *sum, y);
}

// Adds the vector y to the adjoints of the vector x. If x is one number n
// times, its adjoint gets the sum of y. If all numbers of x have an adjoint
// already, one array node does the addition. Else the numbers are added one by
// one, so that an adjoint that gets its first term needs no addition.
static void adx_add_vector(adx_making *k, size_t n, const adx_numbers *x,
                           adx_numbers y, const bool moved[])
{
    adx_numbers sum;
    bool all = n > 1 && !adx_is_single(x);
    for (size_t i = 0; i < n && all; i++)
        all = moved[adx_in_range(x, 0, i)]
           && k->derived[adx_in_range(x, 0, i)] != ADX_NOWHERE;
    if (adx_is_single(x) && n > 1)
        adx_add_one(k, x->base, adx_emit_fold(k->to, ADX_MANY_sum, n, y),
                    moved);
    else if (all && adx_take_range(k, NULL, 1, n, x, &sum))
        adx_set_range(k->derived, x, 1, n,
                      adx_emit_each2(k->to, n, ADREV_OP_add, sum, y));
    else
        for (size_t i = 0; i < n; i++)
            adx_add_one(k, adx_in_range(x, 0, i), adx_in_range(&y, 0, i),
                        moved);
}

static adx_numbers adx_transposed(adx_numbers r)
{
    return (adx_numbers){ r.base, r.cs, r.rs };
}

// Adds the matrix y to the adjoints of the matrix x, row by row. A matrix of
// one column is treated as a vector.
static void adx_add_matrix(adx_making *k, size_t rows, size_t cols,
                           const adx_numbers *x, adx_numbers y,
                           const bool moved[])
{
    if (k->to->status != ADREV_OK)
        return;
    if (cols == 1 && rows > 1) {
        const adx_numbers column = adx_transposed(*x);
        adx_add_matrix(k, 1, rows, &column, adx_transposed(y), moved);
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        const adx_numbers to = { adx_in_range(x, i, 0), 0, x->cs };
        const adx_numbers from = { adx_in_range(&y, i, 0), 0, y.cs };
        adx_add_vector(k, cols, &to, from, moved);
    }
}

// Finds the adjoints of the results of an array node, as one range. False: no
// result has an adjoint, so the node adds nothing.
static bool adx_result_adjoints(adx_making *k, const adx_node *s,
                                const adx_many *e, adx_numbers *y)
{
    const adx_numbers own = adx_own_range(s, e);
    size_t rows = adx_facts_of(e->kind)->m ? e->m : 1;
    return adx_take_range(k, NULL, rows, adx_many_results(e) / rows, &own, y);
}

// Adds y times the partials to the adjoint of each argument. `any` stays false
// if the partials are 0.
static void adx_adjoint_each(adx_making *k, const adx_node *s,
                             const adx_many *e, const bool moved[])
{
    adx_numbers y;
    if (!adx_result_adjoints(k, s, e, &y))
        return;
    for (int i = 0; i < adx_row_of(e->op)->arity; i++) {
        if (!adx_any_moved(&e->arg[i], 1, e->n, moved))
            continue;
        bool any = false;
        adx_numbers d = adx_partials_in(k, s, e, i);
        adx_numbers x = adx_accumulate_each(k->to, e->n, &any, y, d, y);
        if (any)
            adx_add_matrix(k, 1, e->n, &e->arg[i], x, moved);
    }
}

static void adx_adjoint_sum(adx_making *k, const adx_node *s,
                            const adx_many *e, const bool moved[])
{
    adx_numbers y;
    if (adx_result_adjoints(k, s, e, &y))
        adx_add_matrix(k, 1, e->k, &e->arg[0], adx_single(y.base), moved);
}

// A largest number is treated as a constant: the result of a logsumexp or
// softmax that is scaled by it does not depend on it.
static void adx_adjoint_most(adx_making *k, const adx_node *s,
                             const adx_many *e, const bool moved[])
{
    (void)k; (void)s; (void)e; (void)moved;
}

static void adx_adjoint_norm(adx_making *k, const adx_node *s,
                             const adx_many *e, const bool moved[])
{
    adx_numbers y;
    if (adx_result_adjoints(k, s, e, &y))
        adx_add_matrix(k, 1, e->k, &e->arg[0],
                       adx_emit_each2(k->to, e->k, ADX_OP_chain,
                                      adx_cosines_in(k, s, e), y), moved);
}

static void adx_adjoint_gather(adx_making *k, const adx_node *s,
                               const adx_many *e, const bool moved[])
{
    adx_numbers y;
    if (!adx_result_adjoints(k, s, e, &y))
        return;
    for (size_t i = 0; i < e->n; i++)
        adx_add_one(k, e->list[i], adx_in_range(&y, 0, i), moved);
}

// C = A B. The adjoints, with a prime for transposes: Ab += Cb B', Bb += A' Cb.
static void adx_adjoint_product(adx_making *k, const adx_node *s,
                                const adx_many *e, const bool moved[])
{
    adx_numbers y;
    if (!adx_result_adjoints(k, s, e, &y))
        return;
    adx_numbers a = adx_argument_range(k, e, 0);
    adx_numbers b = adx_argument_range(k, e, 1);
    if (adx_any_moved(&e->arg[0], e->m, e->k, moved))
        adx_add_matrix(k, e->m, e->k, &e->arg[0],
                       adx_emit_product(k->to, ADX_OP_chain, e->m, e->n, e->k,
                                        y, adx_transposed(b)), moved);
    if (adx_any_moved(&e->arg[1], e->k, e->n, moved))
        adx_add_matrix(k, e->k, e->n, &e->arg[1],
                       adx_emit_product(k->to, ADX_OP_chain, e->k, e->m, e->n,
                                        adx_transposed(a), y), moved);
}

// One node computes the adjoints of all operands, by a call of the rule. A rule
// has no adjoint of its adjoint or of its tangent.
static void adx_adjoint_external(adx_making *k, const adx_node *s,
                                 const adx_many *e, const bool moved[])
{
    bool any = false;
    for (size_t i = 0; i < adx_many_results(e); i++)
        any = any || k->derived[s->r + i] != ADX_NOWHERE;
    if (!any || !moved[s->r])
        return;
    if (e->op != ADX_EXTERNAL_value) {
        adx_spoil(k->to, ADREV_EEXTERNAL);
        return;
    }
    uint32_t *list = adx_copied_list(k, e, e->m);
    for (size_t i = 0; list != NULL && i < e->m; i++)
        list[e->n + i] = adx_or_zero(k->to, k->derived[s->r + i]);
    uint32_t first = adx_emit_external(k->to, e, ADX_EXTERNAL_adjoint, list);
    for (size_t i = 0; i < e->n && k->to->status == ADREV_OK; i++)
        adx_add_one(k, e->list[i], first + (uint32_t)i, moved);
}

// Writes the adjoint of an array node, by the rule of its kind.
static void adx_adjoint_many(adx_making *k, const adx_node *s,
                             const adx_many *e, const bool moved[])
{
#define ADX_CASE(kind, ...)                                                 \
    case ADX_MANY_##kind:                                                   \
        adx_adjoint_##kind(k, s, e, moved);                                 \
        break;
    switch (e->kind) {
    ADX_MANY_KINDS(ADX_CASE)
    case ADX_MANY_COUNT:
        break;
    }
#undef ADX_CASE
}

// Writes the adjoint of a node. A guard has none.
static void adx_adjoint_node(adx_making *k, const adx_node *s,
                             const bool moved[])
{
    const adx_many *many = adx_many_of(k->from, s);
    if (s->op == ADX_OP_guard)
        return;
    if (many != NULL) {
        adx_adjoint_many(k, s, many, moved);
        return;
    }
    uint32_t y = k->derived[s->r];
    int arity = y == ADX_NOWHERE ? 0 : adx_row_of(s->op)->arity;
    for (int i = 0; i < arity; i++) {
        uint32_t x = adx_argument(s, i);
        if (moved[x])
            k->derived[x] = adx_accumulate(k->to, k->derived[x],
                                           adx_partial_in(k, s, i), y);
    }
}

// Writes the adjoints of the nodes from `begin` up to `end`, the last one
// first.
static void adx_adjoint_part(adx_making *k, size_t begin, size_t end,
                             const bool moved[])
{
    const adx_program *p = k->from;
    for (size_t i = end; k->to->status == ADREV_OK && i-- > begin;)
        if (adx_is_used(p, &p->node[i], k->used))
            adx_adjoint_node(k, &p->node[i], moved);
}

static void adx_adjoint_nodes(adx_making *k, const bool moved[])
{
    adx_adjoint_part(k, 0, k->from->nodes, moved);
}

// Finds a bottleneck: the last node such that no node after it, and no output,
// reads a result of the nodes before it. So all that these compute goes through
// the one result of the bottleneck. Returns p->nodes if there is no bottleneck,
// if it is not looked for (array nodes), or if there is no memory.
//
// last[x] is the last node that reads number x, and `most` is the largest of
// these so far. Node i is a bottleneck if `most` is not after i. Guards do not
// count as readers, since they have no adjoints.
static size_t adx_bottleneck_of(const adx_program *p)
{
    size_t neck = p->nodes;
    size_t *last = (size_t *)adx_take(p->memory, p->numbers, sizeof *last);
    if (last == NULL || p->manys > 0) {
        adx_drop(p->memory, last);
        return neck;
    }
    memset(last, 0, p->numbers * sizeof *last);
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        if (s->op != ADX_OP_guard)
            last[s->a] = last[s->b] = last[s->c] = i;
    }
    for (size_t i = 0; i < p->outputs; i++)
        last[p->output[i]] = p->nodes;
    size_t most = 0;
    for (size_t i = 0; i < p->nodes; i++) {
        if (most <= i && p->node[i].op != ADX_OP_guard)
            neck = i;
        if (most < last[p->node[i].r])
            most = last[p->node[i].r];
    }
    adx_drop(p->memory, last);
    return neck;
}

// Writes the adjoints of the nodes before a bottleneck. The adjoints that
// inputs have by now came past the bottleneck, and are put aside. Then the
// adjoint of the bottleneck is replaced by 1. What arrives at the inputs is
// multiplied at the end by its true adjoint, `weight`, and added to what was
// put aside.
static void adx_adjoint_through(adx_making *k, size_t neck, const bool moved[])
{
    const adx_program *p = k->from;
    uint32_t *past = (uint32_t *)adx_take(p->memory, p->inputs, sizeof *past);
    uint32_t *own = &k->derived[p->node[neck].r];
    uint32_t weight = *own;
    if (past == NULL) {
        adx_spoil(k->to, ADREV_ENOMEM);
        return;
    }
    memcpy(past, k->derived, p->inputs * sizeof *past);
    memset(k->derived, 0xff, p->inputs * sizeof *past);     // ADX_NOWHERE
    if (weight != ADX_NOWHERE)
        *own = adx_fixed(k->to, 1);
    adx_adjoint_part(k, 0, neck + 1, moved);
    for (size_t i = 0; i < p->inputs; i++)
        k->derived[i] = k->derived[i] == ADX_NOWHERE ? past[i]
                      : adx_accumulate(k->to, past[i], k->derived[i], weight);
    adx_drop(p->memory, past);
}

// Writes the adjoint program (adx_make_adjoint). The adjoints of outputs begin
// with their weights, which are inputs behind those of p. neck is a bottleneck;
// p->nodes: none is used.
static ad_status adx_write_adjoint(adx_program *q, const adx_program *p,
                                   size_t moving, size_t neck)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, p->outputs))
        return q->status;
    bool *moved = adx_find_moved(p, 0, moving);
    if (moved == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    adx_copy_nodes(&k);
    for (size_t i = 0; q->status == ADREV_OK && i < p->outputs; i++) {
        uint32_t y = p->output[i];
        k.derived[y] = adx_accumulate(q, k.derived[y], adx_fixed(q, 1),
                                      (uint32_t)(p->inputs + i));
    }
    adx_adjoint_part(&k, neck < p->nodes ? neck + 1 : 0, p->nodes, moved);
    if (neck < p->nodes && q->status == ADREV_OK)
        adx_adjoint_through(&k, neck, moved);
    for (size_t i = 0; i < moving; i++)
        adx_new_output(q, adx_or_zero(q, k.derived[i]));
    for (size_t i = 0; i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_drop(p->memory, moved);
    adx_end_making(&k);
    return q->status;
}

// Makes the adjoint program. Its inputs are those of p and weights of the
// outputs of p. Its outputs are the adjoints of the first `moving` inputs, and
// then the outputs of p.
//
// In a loop, the adjoint of a step waits for the adjoint of the step after it.
// If a step has a bottleneck, its adjoint is also written by way of the
// bottleneck: then what comes before that waits only for one product for each
// input. This version is taken if it has no more nodes.
static ad_status adx_make_adjoint(adx_program *q, const adx_program *p,
                                  size_t moving, bool is_step)
{
    size_t neck = is_step ? adx_bottleneck_of(p) : p->nodes;
    ad_status status = adx_write_adjoint(q, p, moving, p->nodes);
    if (status != ADREV_OK || neck == p->nodes)
        return status;
    adx_program through;
    ad_status other = adx_write_adjoint(&through, p, moving, neck);
    bool better = other == ADREV_OK && through.nodes <= q->nodes;
    adx_free_program(better ? q : &through);
    if (better)
        *q = through;
    return ADREV_OK;
}

// Copies the program without the nodes on which no result and no guard depends.
static ad_status adx_make_copy(adx_program *q, const adx_program *p)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    adx_copy_nodes(&k);
    for (size_t i = 0; q->status == ADREV_OK && i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_end_making(&k);
    return q->status;
}

/* --- array nodes taken apart ------------------------------------------------
 * A node with many results is split into nodes with one result each, element by
 * element; a sum becomes one addition after another. `pattern` means that
 * values do not matter, only which numbers depend on which.                  */

// Returns operand l of a vector as a number of the new program.
static uint32_t adx_same_in(const adx_making *k, const adx_many *e, int arg,
                            size_t row, size_t col)
{
    return k->same[adx_in_range(&e->arg[arg], row, col)];
}

static void adx_apart_each(adx_making *k, const adx_node *s,
                           const adx_many *e, bool pattern)
{
    (void)pattern;
    for (size_t i = 0; i < e->n; i++)
        k->same[s->r + i] = adx_emit(k->to, e->op, adx_same_in(k, e, 0, 0, i),
                                     adx_same_in(k, e, 1, 0, i),
                                     adx_same_in(k, e, 2, 0, i));
}

// Combines all of the k operands by one operation.
static void adx_apart_fold(adx_making *k, const adx_node *s,
                           const adx_many *e, uint32_t op)
{
    uint32_t all = adx_same_in(k, e, 0, 0, 0);
    for (size_t l = 1; l < e->k; l++)
        all = adx_emit2(k->to, op, all, adx_same_in(k, e, 0, 0, l));
    k->same[s->r] = all;
}

static void adx_apart_sum(adx_making *k, const adx_node *s,
                          const adx_many *e, bool pattern)
{
    (void)pattern;
    adx_apart_fold(k, s, e, ADREV_OP_add);
}

static void adx_apart_most(adx_making *k, const adx_node *s,
                           const adx_many *e, bool pattern)
{
    (void)pattern;
    adx_apart_fold(k, s, e, ADREV_OP_max);
    k->same[s->r] = adx_emit2(k->to, ADREV_OP_detach, k->same[s->r],
                              k->same[s->r]);
}

// Splits a product of matrices: each result is a sum of products.
static void adx_apart_product(adx_making *k, const adx_node *s,
                              const adx_many *e, bool pattern)
{
    (void)pattern;
    for (size_t i = 0; i < adx_many_results(e); i++) {
        uint32_t sum = ADX_NOWHERE;
        for (size_t l = 0; l < e->k; l++) {
            uint32_t term = adx_emit2(k->to, ADREV_OP_mul,
                                      adx_same_in(k, e, 0, i / e->n, l),
                                      adx_same_in(k, e, 1, l, i % e->n));
            sum = sum == ADX_NOWHERE ? term
                : adx_emit2(k->to, ADREV_OP_add, sum, term);
        }
        k->same[s->r + i] = sum;
    }
}

static void adx_apart_gather(adx_making *k, const adx_node *s,
                             const adx_many *e, bool pattern)
{
    (void)pattern;
    for (size_t i = 0; i < e->n; i++)
        k->same[s->r + i] = k->same[e->list[i]];
}

// Returns the number by which the operands of a Euclidean length are divided,
// so that their squares do not overflow: the largest magnitude, or 1 if that is
// 0, infinite or a NaN. The length does not depend on this number, so it is
// detached and has no derivative.
static uint32_t adx_length_scale(adx_making *k, const adx_many *e)
{
    adx_program *p = k->to;
    uint32_t most = adx_fixed(p, 0);
    uint32_t one = adx_fixed(p, 1);
    for (uint32_t l = 0; l < e->k; l++) {
        uint32_t x = k->same[adx_in_range(&e->arg[0], 0, l)];
        x = adx_emit2(p, ADREV_OP_detach, x, x);
        most = adx_emit2(p, ADREV_OP_max, most,
                         adx_emit2(p, ADREV_OP_abs, x, x));
    }
    uint32_t above = adx_emit2(p, ADREV_OP_gt, most, adx_fixed(p, 0));
    uint32_t below = adx_emit2(p, ADREV_OP_lt, most,
                               adx_fixed(p, ADX_K(INFINITY)));
    uint32_t good = adx_emit2(p, ADX_OP_and, above, below);
    return adx_emit(p, ADREV_OP_select, good, most, one);
}

// Splits a Euclidean length, scaled against overflow as in adx_length.
static void adx_apart_length(adx_making *k, const adx_node *s,
                             const adx_many *e)
{
    adx_program *p = k->to;
    uint32_t scale = adx_length_scale(k, e);
    uint32_t sum = adx_fixed(p, 0);
    for (uint32_t l = 0; l < e->k; l++) {
        uint32_t x = k->same[adx_in_range(&e->arg[0], 0, l)];
        uint32_t part = adx_emit2(p, ADREV_OP_div, x, scale);
        sum = adx_emit2(p, ADREV_OP_add, sum,
                        adx_emit2(p, ADREV_OP_sqr, part, part));
    }
    k->same[s->r] = adx_emit2(p, ADREV_OP_mul, scale,
                              adx_emit2(p, ADREV_OP_sqrt, sum, sum));
}

// Splits a Euclidean length. For a pattern, the root of the sum of squares is
// enough.
static void adx_apart_norm(adx_making *k, const adx_node *s,
                           const adx_many *e, bool pattern)
{
    adx_program *p = k->to;
    uint32_t sum = ADX_NOWHERE;
    for (size_t l = 0; pattern && l < e->k; l++) {
        uint32_t x = adx_same_in(k, e, 0, 0, l);
        uint32_t term = adx_emit2(p, ADREV_OP_mul, x, x);
        sum = l == 0 ? term : adx_emit2(p, ADREV_OP_add, sum, term);
    }
    if (pattern)
        k->same[s->r] = adx_emit2(p, ADREV_OP_sqrt, sum, sum);
    else
        adx_apart_length(k, s, e);
}

// An external node cannot be split into nodes. In a pattern, each of its
// results is replaced by the square of the sum of all operands, which depends
// on every operand and has second derivatives for every pair.
static void adx_apart_external(adx_making *k, const adx_node *s,
                               const adx_many *e, bool pattern)
{
    adx_program *p = k->to;
    if (!pattern) {
        adx_spoil(p, ADREV_EEXTERNAL);
        return;
    }
    uint32_t sum = k->same[e->list[0]];
    for (size_t i = 1; i < adx_listed(e); i++)
        sum = adx_emit2(p, ADREV_OP_add, sum, k->same[e->list[i]]);
    for (size_t i = 0; i < adx_many_results(e); i++)
        k->same[s->r + i] = adx_emit2(p, ADREV_OP_sqr, sum, sum);
}

// Splits an array node, by the rule of its kind.
static void adx_take_apart(adx_making *k, const adx_node *s,
                           const adx_many *e, bool pattern)
{
#define ADX_CASE(kind, ...)                                                 \
    case ADX_MANY_##kind:                                                   \
        adx_apart_##kind(k, s, e, pattern);                                 \
        break;
    switch (e->kind) {
    ADX_MANY_KINDS(ADX_CASE)
    case ADX_MANY_COUNT:
        break;
    }
#undef ADX_CASE
}

// Makes the same program without array nodes and external nodes.
static ad_status adx_make_scalar(adx_program *q, const adx_program *p,
                                 bool pattern)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    for (size_t i = 0; q->status == ADREV_OK && i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        if (!adx_is_used(p, s, k.used))
            continue;
        const adx_many *many = adx_many_of(p, s);
        if (many == NULL)
            adx_copy_node(&k, s);
        else
            adx_take_apart(&k, s, many, pattern);
    }
    for (size_t i = 0; q->status == ADREV_OK && i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_end_making(&k);
    return q->status;
}

ADX_SELDOM_END

/* === function/matrices ======================================================
 * A Jacobian or a Hessian as one program. Behind one copy of the values it has
 * the tangents (or adjoints) of all unit vectors, direction by direction.
 * Whatever is zero in a direction gets no nodes. What several directions have
 * in common is computed once, since every node is looked up (function/unique).
 *
 * The second half of this room divides an adjoint into a primal and a pullback,
 * and joins pullbacks of several steps of a loop.
 *
 *   needs   tape/memory function/program function/unique function/emit
 *           function/copy function/tangents function/adjoints
 *   offers  adx_clear_derived adx_tangent_nodes adx_matrix_outputs
 *           adx_make_jacobian adx_make_hessian adx_make_primal
 *           adx_make_pullback ADX_UNROLLED adx_make_unrolled
 * ========================================================================== */

ADX_SELDOM_BEGIN

static void adx_clear_derived(adx_making *k)
{
    for (size_t i = 0; i < k->from->numbers; i++)
        k->derived[i] = ADX_NOWHERE;
}

// Writes the tangents of all nodes. The nodes themselves have been copied.
static void adx_tangent_nodes(adx_making *k)
{
    const adx_program *p = k->from;
    for (size_t i = 0; k->to->status == ADREV_OK && i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used))
            adx_tangent_node(k, &p->node[i]);
}

// The derivatives that a matrix consists of, as numbers of the new program.
typedef struct adx_derivatives {
    size_t results, moving;     // of the first outputs, by the first inputs
    uint32_t *entry;            // [results*moving] ADX_NOWHERE: zero
    bool values;                // the first outputs are the values
} adx_derivatives;

// Copies the program that is to be derived.
static void adx_begin_matrix(adx_making *k, const adx_derivatives *d)
{
    adx_copy_nodes(k);
    for (size_t i = 0; d->values && i < d->results; i++)
        if (k->to->status == ADREV_OK)
            adx_new_output(k->to, k->same[k->from->output[i]]);
}

// Makes a matrix column by column: a forward sweep for each input, whose
// tangent is 1.
static ad_status adx_make_columns(adx_program *q, const adx_program *p,
                                  const adx_derivatives *d)
{
    size_t moving = d->moving;
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    adx_begin_matrix(&k, d);
    for (size_t j = 0; j < moving && q->status == ADREV_OK; j++) {
        adx_clear_derived(&k);
        k.derived[j] = adx_fixed(q, 1);
        adx_tangent_nodes(&k);
        for (size_t i = 0; i < d->results && q->status == ADREV_OK; i++)
            d->entry[i * moving + j] = k.derived[p->output[i]];
    }
    adx_end_making(&k);
    return q->status;
}

// Makes a matrix row by row: a reverse sweep for each result, whose adjoint is
// 1.
static ad_status adx_make_rows(adx_program *q, const adx_program *p,
                               const adx_derivatives *d)
{
    size_t moving = d->moving;
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    bool *moved = adx_find_moved(p, 0, moving);
    if (moved == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    adx_begin_matrix(&k, d);
    for (size_t r = 0; q->status == ADREV_OK && r < d->results; r++) {
        adx_clear_derived(&k);
        k.derived[p->output[r]] = adx_fixed(q, 1);
        adx_adjoint_nodes(&k, moved);
        for (size_t j = 0; j < moving; j++)
            d->entry[r * moving + j] = k.derived[j];
    }
    adx_drop(p->memory, moved);
    adx_end_making(&k);
    return q->status;
}

// Makes n numbers of a matrix outputs of q. Where there is no number, the
// output is zero.
static void adx_matrix_outputs(adx_program *q, size_t n, const uint32_t entry[])
{
    for (size_t i = 0; i < n && q->status == ADREV_OK; i++)
        adx_new_output(q, adx_or_zero(q, entry[i]));
}

// Makes the program of a Jacobian. Its outputs are those of p, if values are
// asked for, and then the Jacobian. It is made by rows or by columns, whichever
// are fewer.
static ad_status adx_make_jacobian(adx_program *q, const adx_program *p,
                                   bool values)
{
    size_t n = adx_variables_of(p);
    size_t m = p->outputs;
    uint32_t *entry = (uint32_t *)adx_take(p->memory, m * n, sizeof *entry);
    const adx_derivatives d = { m, n, entry, values };
    adx_begin_program(q, p->memory, false);
    if (entry == NULL)
        return ADREV_ENOMEM;
    ad_status status = m <= n ? adx_make_rows(q, p, &d)
                              : adx_make_columns(q, p, &d);
    if (status == ADREV_OK)
        adx_matrix_outputs(q, m * n, entry);
    adx_drop(p->memory, entry);
    return q->status;
}

// Makes the program of a Hessian. Its inputs are those of p, and weights of the
// outputs of p. Its outputs are the Hessian: the Jacobian of the adjoint, by
// columns. Only the lower triangle is made; the upper one has the same numbers.
static ad_status adx_make_hessian(adx_program *q, const adx_program *p)
{
    adx_program adjoint;
    size_t n = adx_variables_of(p);
    ad_status status = adx_make_adjoint(&adjoint, p, n, false);
    if (adjoint.outputs > n)
        adjoint.outputs = n;            // without the values
    uint32_t *entry = (uint32_t *)adx_take(p->memory, n * n, sizeof *entry);
    adx_begin_program(q, p->memory, false);
    if (entry == NULL)
        status = ADREV_ENOMEM;
    const adx_derivatives d = { n, n, entry, false };
    if (status == ADREV_OK)
        status = adx_make_columns(q, &adjoint, &d);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            entry[i * n + j] = entry[j * n + i];
    if (status == ADREV_OK)
        adx_matrix_outputs(q, n * n, entry);
    adx_drop(p->memory, entry);
    adx_free_program(&adjoint);
    return status == ADREV_OK ? q->status : status;
}

/* --- in two parts -----------------------------------------------------------
 * A loop runs all of its steps forwards and then all of them backwards. So the
 * adjoint of a step is divided into two programs. The primal computes the
 * values, and hands on numbers that took long to compute. The pullback computes
 * the adjoints from these, and computes other values again where it needs them.
 * Both have nodes of the same adjoint, `whole`, in the same order, so the bits
 * are the same.                                                              */

// The division of an adjoint into primal and pullback.
typedef struct adx_primal_split {
    adx_program whole;          // inputs x, weights; outputs dx, y
    bool *weighted;             // numbers that depend on weights
    bool *needed;               // numbers that the pullback needs
    bool *handed;               // numbers that the primal hands on
    size_t n;                   // how many it hands on
} adx_primal_split;

static void adx_end_primal_split(adx_primal_split *k, const ad_allocator *a)
{
    adx_drop(a, k->weighted);
    adx_drop(a, k->needed);
    adx_drop(a, k->handed);
    adx_free_program(&k->whole);
}

// Finds which numbers are handed on, and which the pullback needs, going back
// from the adjoints of the inputs. A needed number is handed on if it costs at
// least `least`, does not depend on weights (only the pullback can know such
// numbers), and fewer than `most` numbers are handed on so far. Otherwise the
// pullback computes it, and so needs its arguments. Returns how many numbers
// are handed on.
static size_t adx_find_handed(adx_primal_split *k, size_t inputs,
                              unsigned least, size_t most)
{
    const adx_program *p = &k->whole;
    size_t n = 0;
    memset(k->needed, false, p->numbers * sizeof *k->needed);
    memset(k->handed, false, p->numbers * sizeof *k->handed);
    for (size_t i = 0; i < inputs; i++)
        k->needed[p->output[i]] = true;
    for (size_t i = p->nodes; i-- > 0;) {
        const adx_node *s = &p->node[i];
        if (s->op == ADX_OP_guard || !adx_is_used(p, s, k->needed))
            continue;
        if (n < most && adx_cost_of(s->op) >= least && !k->weighted[s->r]) {
            k->handed[s->r] = true;
            n++;
        } else
            adx_visit_reads(p, s, adx_set_used, k->needed);
    }
    return n;
}

// Chooses what is handed on: the results of all calls of the math library, if
// there is room; else those of the long calls; if there are no long calls,
// those of as many short ones as there is room for.
static size_t adx_choose_handed(adx_primal_split *k, size_t inputs, size_t most)
{
    size_t n = adx_find_handed(k, inputs, ADX_COST_CALL, SIZE_MAX);
    if (n > most)
        n = adx_find_handed(k, inputs, ADX_COST_LONG, most);
    return n > 0 ? n : adx_find_handed(k, inputs, ADX_COST_CALL, most);
}

// Makes the adjoint that is to be divided, and finds the numbers that depend on
// weights.
static ad_status adx_begin_primal_split(adx_primal_split *k,
                                        const adx_program *p,
                                        const adx_repeated *step)
{
    const ad_allocator *a = p->memory;
    *k = (adx_primal_split){ .weighted = NULL };
    ad_status status = adx_make_adjoint(&k->whole, p, p->inputs,
                                        step->carried > 0);
    if (status != ADREV_OK)
        return status;
    k->weighted = adx_find_moved(&k->whole, p->inputs, p->outputs);
    k->needed = (bool *)adx_take(a, k->whole.numbers, sizeof *k->needed);
    k->handed = (bool *)adx_take(a, k->whole.numbers, sizeof *k->handed);
    if (k->weighted == NULL || k->needed == NULL || k->handed == NULL)
        return ADREV_ENOMEM;
    k->n = adx_choose_handed(k, p->inputs, step->hands_on);
    return ADREV_OK;
}

// Makes the primal. Its inputs are those of p; its outputs are those of p, and
// then what is handed on. Its nodes are those of the adjoint that do not depend
// on weights, and all guards.
static ad_status adx_make_primal(adx_program *q, const adx_program *p,
                                 const adx_repeated *step)
{
    adx_making k;
    adx_primal_split split;
    adx_begin_program(q, p->memory, false);
    adx_new_inputs(q, p->inputs);
    ad_status status = adx_begin_primal_split(&split, p, step);
    const adx_program *whole = &split.whole;
    bool begun = status == ADREV_OK && adx_start_making(&k, whole, q);
    for (uint32_t i = 0; begun && i < p->inputs; i++)
        k.same[i] = i;
    for (size_t i = 0; begun && i < whole->nodes; i++)
        if (!split.weighted[whole->node[i].r]
            && adx_is_used(whole, &whole->node[i], k.used))
            adx_copy_node(&k, &whole->node[i]);
    for (size_t i = 0; begun && i < p->outputs; i++)
        adx_new_output(q, k.same[whole->output[p->inputs + i]]);
    for (size_t i = 0; begun && i < whole->numbers; i++)
        if (split.handed[i])
            adx_new_output(q, k.same[i]);
    if (begun)
        adx_end_making(&k);
    adx_end_primal_split(&split, p->memory);
    return status == ADREV_OK ? q->status : status;
}

// Makes the pullback. Its inputs are those of p, the weights, and what is
// handed on. Its outputs are the adjoints of the inputs of p.
static ad_status adx_make_pullback(adx_program *q, const adx_program *p,
                                   const adx_repeated *step)
{
    adx_making k;
    adx_primal_split split;
    adx_begin_program(q, p->memory, false);
    ad_status status = adx_begin_primal_split(&split, p, step);
    const adx_program *whole = &split.whole;
    bool begun = status == ADREV_OK && adx_begin_making(&k, whole, q, split.n);
    uint32_t at = (uint32_t)(p->inputs + p->outputs);
    for (size_t i = 0; begun && i < whole->numbers; i++)
        if (split.handed[i])
            k.same[i] = at++;
    for (size_t i = 0; begun && i < whole->nodes; i++) {
        const adx_node *s = &whole->node[i];
        if (s->op != ADX_OP_guard && adx_is_used(whole, s, split.needed)
            && !split.handed[s->r])
            adx_copy_node(&k, s);
    }
    for (size_t i = 0; begun && i < p->inputs; i++)
        adx_new_output(q, k.same[whole->output[i]]);
    if (begun)
        adx_end_making(&k);
    adx_end_primal_split(&split, p->memory);
    return status == ADREV_OK ? q->status : status;
}

/* --- several steps of a loop ------------------------------------------------
 * A replay of a small step costs more than the step itself. So the pullbacks of
 * several steps in a row are also made as one program. This is done for loops
 * (adx_repeated) that read their state, the parameters and the number of the
 * step, and nothing else. Forwards nothing would be gained, because there the
 * calls of the math library wait for one another.                            */

enum { ADX_UNROLLED = 4 };         // steps

// Appends the nodes of p to q. in[] has the numbers of q that are the inputs of
// p; out[] is filled with those that are its outputs.
static void adx_paste(adx_program *q, const adx_program *p, const uint32_t in[],
                      uint32_t out[])
{
    adx_making k;
    if (!adx_start_making(&k, p, q))
        return;
    for (size_t i = 0; i < p->inputs; i++)
        k.same[i] = in[i];
    for (size_t i = 0; i < p->nodes; i++)
        adx_copy_node(&k, &p->node[i]);
    for (size_t i = 0; i < p->outputs; i++)
        out[i] = k.same[p->output[i]];
    adx_end_making(&k);
}

// Fills to[] with numbers that follow one another.
static void adx_count_up(uint32_t to[], size_t n, size_t from)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint32_t)(from + i);
}

// Writes the pullback of several steps. `one` is the pullback of one step of p.
// It is pasted once for each step, from the last one back. The adjoints of the
// state that a step computes are the weights of the step before it; the
// adjoints of the parameters are added up. at[] has the numbers of q that are
// the inputs of `one`, then its outputs, then these sums.
static void adx_write_unrolled(adx_program *q, const adx_program *p,
                               const adx_repeated *step, const adx_program *one,
                               uint32_t at[])
{
    size_t handed = one->inputs - p->inputs - step->carried;
    size_t each = step->carried + handed;
    size_t number = ADX_UNROLLED * each + step->parameters;
    size_t given = number + ADX_UNROLLED;
    uint32_t *weight = at + p->inputs;
    uint32_t *out = at + one->inputs;
    uint32_t *sum = out + one->outputs;
    adx_new_inputs(q, given + step->carried + step->parameters);
    adx_count_up(at + step->carried, step->parameters, ADX_UNROLLED * each);
    adx_count_up(weight, step->carried, given);
    adx_count_up(sum, step->parameters, given + step->carried);
    for (size_t s = ADX_UNROLLED; s-- > 0 && q->status == ADREV_OK;) {
        adx_count_up(at, step->carried, s * each);
        at[p->inputs - 1] = (uint32_t)(number + s);
        adx_count_up(weight + step->carried, handed, s * each + step->carried);
        adx_paste(q, one, at, out);
        memcpy(weight, out, step->carried * sizeof *at);
        for (size_t i = 0; i < step->parameters; i++)
            sum[i] = adx_emit2(q, ADREV_OP_add, sum[i], out[step->carried + i]);
    }
    for (size_t i = 0; i < step->carried; i++)
        adx_new_output(q, weight[i]);
    for (size_t i = 0; i < step->parameters; i++)
        adx_new_output(q, sum[i]);
}

// Makes the pullback of ADX_UNROLLED steps. Its inputs are, for each step, the
// state before it and what it handed on; then the parameters, the numbers of
// the steps, the adjoints of the state behind the last step, and the adjoints
// of the parameters so far. Its outputs are the adjoints of the state before
// the first step, and those of the parameters. These are summed in the order in
// which single steps sum them, so the bits are the same unless the compiler
// contracts.
static ad_status adx_make_unrolled(adx_program *q, const adx_program *p,
                                   const adx_repeated *step)
{
    adx_program one;
    adx_begin_program(q, p->memory, false);
    ad_status status = adx_make_pullback(&one, p, step);
    uint32_t *at = (uint32_t *)adx_take(
        p->memory, one.inputs + one.outputs + step->parameters, sizeof *at);
    if (at == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    else if (status == ADREV_OK)
        adx_write_unrolled(q, p, step, &one, at);
    adx_drop(p->memory, at);
    adx_free_program(&one);
    return status == ADREV_OK ? q->status : status;
}

ADX_SELDOM_END

/* === function/record ========================================================
 * The function to be recorded runs on a tape of its own. The trace hook of that
 * tape is told of every operation, and writes the program: number[id] is the
 * number of the program for the value `id` of the tape. Comparisons become
 * guards. Array statements become array nodes, some of them several.
 *
 * Each operation is simplified at once (function/emit) and looked up among
 * those before it (function/unique), so it takes constant time, and what is
 * found again takes no memory.
 *
 *   needs   tape/layout tape/memory tape/hooks sweep/session core/cells
 *           function/api function/program function/unique function/emit
 *           function/copy
 *   offers  adx_code_place adx_file_name adx_recorder adx_record_node
 *           adx_record_operation adx_saved_call adx_call_rule adx_record_array
 *           adx_record_inputs adx_refuse_recording adx_record_outputs
 * ========================================================================== */

typedef struct adx_code_place {
    const char *file;
    int line;
} adx_code_place;

// A list of copied file names, which belong to the function.
typedef struct adx_file_name {
    struct adx_file_name *next;
    char text[];
} adx_file_name;

typedef struct adx_recorder {
    adx_program *p;
    const ad_tape *tape;
    uint32_t *number;           // [id] the number of each value of the tape
    size_t ids, room;
    adx_segment segment[ADREV_MARKS + 1];   // the tape's, as these ids were
    size_t segments;                        // given out
    uint32_t job;               // of the last of them
    adx_code_place *guard;        // where each guard stands
    size_t guard_room;
    adx_file_name *files;       // of guards of functions that f calls
    const char *why;            // it failed; NULL: as the status says
} adx_recorder;

// Forgets the numbers of values that a rewind has removed. If f rewinds the
// tape, itself or by ad_grad, the last segments of the tape go, and their ids
// are given out again. So numbers are forgotten from the first segment on that
// is not as it was.
ADX_NOINLINE static void adx_forget_rewound(adx_recorder *r)
{
    const ad_tape *t = r->tape;
    size_t same = 0;
    while (same < r->segments && same < t->segments
           && r->segment[same].job == t->segment[same].job)
        same++;
    if (same < r->segments && r->ids > r->segment[same].begin)
        r->ids = (size_t)r->segment[same].begin + 1;
    if (same < t->segments && r->ids > t->segment[same].begin)
        r->ids = (size_t)t->segment[same].begin + 1;
    memcpy(r->segment, t->segment, sizeof r->segment);
    r->segments = t->segments;
    r->job = t->segment[t->segments - 1].job;
}

// Returns the number of a value of an earlier segment; ADX_NOWHERE: the value
// is not of this tape.
ADX_NOINLINE static uint32_t adx_number_elsewhere(adx_recorder *r,
                                                  ad_rev x)
{
    adx_forget_rewound(r);
    return x.seq < r->ids && adx_member(r->tape, x) ? r->number[x.seq]
                                                    : ADX_NOWHERE;
}

// Returns the number of something that f computes with. What f brings along is
// a constant, and so is an input that f makes itself.
static inline uint32_t adx_number_of(adx_recorder *r, ad_rev x)
{
    uint32_t number = x.job == r->job
                    ? x.seq < r->ids ? r->number[x.seq] : ADX_NOWHERE
                    : x.job == 0 ? ADX_NOWHERE : adx_number_elsewhere(r, x);
    return number != ADX_NOWHERE ? number : adx_fixed(r->p, x.v);
}

// Notes that the value `id` of the tape is this number of the program. Ids that
// are passed over have no number; they are those of inputs that f makes itself,
// for example.
static void adx_name_number(adx_recorder *r, size_t id, uint32_t number)
{
    if (!adx_make_room_for(r->p->memory, (void **)&r->number, &r->room, id,
                           sizeof *r->number)) {
        adx_spoil(r->p, ADREV_ENOMEM);
        return;
    }
    if (adx_now.job != r->job)
        adx_forget_rewound(r);
    while (r->ids < id)
        r->number[r->ids++] = ADX_NOWHERE;
    r->number[id] = number;
    r->ids = id + 1;
}

// Records a comparison, or a step such as floor: its result becomes a node, and
// a guard says that it must have this value. The report counts neither as an
// operation of f.
ADX_NOINLINE static void adx_record_guard(adx_recorder *r,
                                          const ad_operation *o)
{
    adx_program *p = r->p;
    size_t which = p->report.guards;
    uint32_t x = adx_number_of(r, o->arg[0]);
    uint32_t y = ad_op_table()[o->code].arity > 1
               ? adx_number_of(r, o->arg[1]) : x;
    if (!adx_make_room_for(p->memory, (void **)&r->guard, &r->guard_room, which,
                   sizeof *r->guard)) {
        adx_spoil(p, ADREV_ENOMEM);
        return;
    }
    r->guard[which] = (adx_code_place){ o->file, o->line };
    p->report.guards++;
    const ad_fn_report before = p->report;
    size_t nodes = p->nodes;
    uint32_t outcome = adx_emit2(p, o->code, x, y);
    p->conditions += p->nodes - nodes;
    p->report = before;
    adx_emit_guard(p, outcome, adx_fixed(p, o->result.v), (uint32_t)which);
    p->report = before;
}

// Records any operation, also one with arguments of other segments.
ADX_NOINLINE static ad_rev adx_record_any(void *user, ad_opcode code, ad_rev a,
                                          ad_rev b, ad_rev c, ad_real v,
                                          uint32_t id)
{
    adx_recorder *r = (adx_recorder *)user;
    int arity = ad_op_table()[code].arity;
    uint32_t x = adx_number_of(r, a);
    uint32_t y = arity > 1 ? adx_number_of(r, b) : x;
    uint32_t z = arity > 2 ? adx_number_of(r, c) : x;
    ad_rev made = { v, id, (uint32_t)adx_now.job };
    r->p->report.recorded++;
    adx_name_number(r, id, adx_emit(r->p, code, x, y, z));
    return made;
}

// Records an operation. Nearly all take the short way: the value is the next
// one of the tape, and all arguments have numbers.
static ad_rev adx_record_node(void *user, ad_opcode code, ad_rev a, ad_rev b,
                              ad_rev c, ad_real v, uint32_t id)
{
    adx_recorder *r = (adx_recorder *)user;
    if (id != r->ids || id >= r->room || adx_now.job != r->job)
        return adx_record_any(user, code, a, b, c, v, id);
    uint32_t x = r->number[a.seq];
    uint32_t y = r->number[b.seq];
    uint32_t z = r->number[c.seq];
    if ((x | y | z) == ADX_NOWHERE)     // true if one of them is
        return adx_record_any(user, code, a, b, c, v, id);
    ad_rev made = { v, id, r->job };
    r->p->report.recorded++;
    r->number[id] = adx_emit_of(r->p, code, x, y, z);
    r->ids = (size_t)id + 1;
    return made;
}

static void adx_record_operation(void *user, const ad_operation *o)
{
    if (o->result.job == 0)
        adx_record_guard((adx_recorder *)user, o);
    else
        adx_record_node(user, o->code, o->arg[0], o->arg[1], o->arg[2],
                        o->result.v, o->result.seq);
}

/* --- arrays -------------------------------------------------------------- */

// Returns the operands of an array statement as a range.
static adx_numbers adx_view_range(adx_recorder *r, const ad_array_view *v)
{
    adx_program *p = r->p;
    size_t n = v->rows * v->cols;
    adx_numbers range = adx_single(0);
    uint32_t *list = (uint32_t *)adx_take(p->memory, n, sizeof *list);
    if (list == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return range;
    }
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t at = (ptrdiff_t)(i / v->cols) * v->rs
                     + (ptrdiff_t)(i % v->cols) * v->cs;
        list[i] = v->x != NULL ? adx_number_of(r, v->x[at])
                               : adx_fixed(p, v->c[at]);
    }
    range = adx_numbers_of(p, list, v->rows, v->cols);
    adx_drop(p->memory, list);
    return range;
}

// Makes exp(x - max x), with which logsumexp and softmax begin.
static adx_numbers adx_record_weights(adx_program *p, size_t n, adx_numbers x,
                                      uint32_t *most)
{
    *most = adx_emit_fold(p, ADX_MANY_most, n, x);
    return adx_emit_each2(p, n, ADX_OP_weight, x, adx_single(*most));
}

static adx_numbers adx_record_logsumexp(adx_program *p, size_t n, adx_numbers x)
{
    uint32_t most;
    adx_numbers w = adx_record_weights(p, n, x, &most);
    uint32_t sum = adx_emit_fold(p, ADX_MANY_sum, n, w);
    return adx_single(adx_emit2(p, ADREV_OP_add, most,
                               adx_emit2(p, ADREV_OP_log, sum, sum)));
}

static adx_numbers adx_record_softmax(adx_program *p, size_t n, adx_numbers x)
{
    uint32_t most;
    adx_numbers w = adx_record_weights(p, n, x, &most);
    uint32_t sum = adx_emit_fold(p, ADX_MANY_sum, n, w);
    return adx_emit_each2(p, n, ADREV_OP_div, w, adx_single(sum));
}

static adx_numbers adx_record_sqdist(adx_program *p, size_t n, adx_numbers x,
                                     adx_numbers y)
{
    adx_numbers d = adx_emit_each2(p, n, ADREV_OP_sub, x, y);
    adx_numbers square = adx_emit_each2(p, n, ADREV_OP_mul, d, d);
    return adx_single(adx_emit_fold(p, ADX_MANY_sum, n, square));
}

// Makes sums of one term as a tape does: they start at 0, so that -0 becomes 0.
static adx_numbers adx_from_zero(adx_program *p, size_t n, adx_numbers x)
{
    adx_numbers r = adx_emit_each2(p, n, ADREV_OP_add, x,
                                   adx_single(adx_fixed(p, 0)));
    r.rs = r.cs;
    return r;
}

static adx_numbers adx_record_sum(adx_program *p, size_t n, adx_numbers x)
{
    adx_numbers sum = adx_single(adx_emit_fold(p, ADX_MANY_sum, n, x));
    return n == 1 ? adx_from_zero(p, 1, sum) : sum;
}

static adx_numbers adx_record_product(adx_program *p, size_t m, size_t k,
                                      size_t n, adx_numbers a, adx_numbers b)
{
    bool each = k == 1 && (m == 1 || n == 1) && !p->plain;
    adx_numbers y = adx_emit_product(p, ADREV_OP_mul, m, k, n, a, b);
    return each ? adx_from_zero(p, m * n, y) : y;
}

static adx_numbers adx_record_axpy(adx_program *p, size_t n, adx_numbers a,
                                   adx_numbers x, adx_numbers y)
{
    return adx_emit_each2(p, n, ADREV_OP_add,
                          adx_emit_each2(p, n, ADREV_OP_mul, a, x), y);
}

// Returns a range without its first n numbers.
static adx_numbers adx_range_after(adx_numbers r, size_t n)
{
    r.base = adx_in_range(&r, 0, n);
    return r;
}

// Records a triangle times a vector, column by column as ad_trimatvec computes
// it. y begins as the diagonal times x. Column i, below the diagonal, adds its
// product with x[i] to the rest of y; after that the first number of y is
// result i + 1.
static void adx_record_triangle(adx_recorder *r, const ad_array_operation *o,
                                adx_numbers d, adx_numbers l, adx_numbers x)
{
    adx_program *p = r->p;
    size_t n = o->arg[2].cols;
    adx_numbers y = adx_emit_each2(p, n, ADREV_OP_mul, d, x);
    for (size_t i = 0; i < n; i++) {
        adx_name_number(r, o->result.seq + i, y.base);
        if (i + 1 == n)
            break;
        size_t below = n - 1 - i;
        adx_numbers xi = adx_single(adx_in_range(&x, 0, i));
        adx_numbers term = adx_emit_each2(p, below, ADREV_OP_mul, l, xi);
        y = adx_emit_each2(p, below, ADREV_OP_add, adx_range_after(y, 1), term);
        l = adx_range_after(l, below);
    }
}

// Records an external statement. What it saved is copied, because the tape is
// freed at the end of the recording. Once nothing can fail any more, the
// statement on the tape no longer has to destroy it (*kept), and the program
// has to.
static adx_numbers adx_record_external(adx_recorder *r,
                                       const ad_array_operation *o)
{
    adx_program *p = r->p;
    size_t n = o->arg[0].cols;
    adx_numbers y = { 0, 0, 1 };
    if (o->rule->replay == NULL)
        adx_spoil(p, ADREV_EEXTERNAL);
    if (n > UINT32_MAX / 8 || o->results > UINT32_MAX / 8)
        adx_spoil(p, ADREV_ELIMIT);
    adx_shared_rule *shared = p->status != ADREV_OK ? NULL
                            : adx_new_shared_rule(p->memory, o);
    if (shared == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return y;
    }
    uint32_t *list = (uint32_t *)adx_take(p->memory, n, sizeof *list);
    for (size_t i = 0; list != NULL && i < n; i++)
        list[i] = adx_number_of(r, o->arg[0].x[i]);
    const adx_many of = { .m = (uint32_t)o->results, .n = (uint32_t)n,
                          .shared = shared };
    y.base = adx_emit_external(p, &of, ADX_EXTERNAL_value, list);
    shared->destroys = p->status == ADREV_OK;
    *o->kept = shared->destroys;
    adx_release_rule(shared);
    return y;
}

// Makes the nodes of an array statement. Returns its results; ADX_NOWHERE: they
// have been given numbers already.
static adx_numbers adx_record_many(adx_recorder *r, const ad_array_operation *o)
{
    adx_program *p = r->p;
    const size_t n = o->arg[0].cols;
    adx_numbers arg[3] = { adx_single(0), adx_single(0), adx_single(0) };
    for (int i = 0; i < 3; i++)         // those that the statement has
        if (o->arg[i].rows * o->arg[i].cols > 0)
            arg[i] = adx_view_range(r, &o->arg[i]);
    switch (o->kind) {
    case ADREV_ARRAY_sum:
        return adx_record_sum(p, n, arg[0]);
    case ADREV_ARRAY_dot:
        arg[1].rs = arg[1].cs;
        return adx_record_product(p, 1, n, 1, arg[0], arg[1]);
    case ADREV_ARRAY_norm2:
        return adx_single(adx_emit_fold(p, ADX_MANY_norm, n, arg[0]));
    case ADREV_ARRAY_sqdist:
        return adx_record_sqdist(p, n, arg[0], arg[1]);
    case ADREV_ARRAY_logsumexp:
        return adx_record_logsumexp(p, n, arg[0]);
    case ADREV_ARRAY_softmax:
        return adx_record_softmax(p, n, arg[0]);
    case ADREV_ARRAY_axpy:
        return adx_record_axpy(p, n, arg[0], arg[1], arg[2]);
    case ADREV_ARRAY_scale:
        return adx_emit_each2(p, n, ADREV_OP_mul, arg[0], arg[1]);
    case ADREV_ARRAY_each:
        return adx_emit_each(p, n, o->code, arg[0], arg[1], arg[2]);
    case ADREV_ARRAY_matmul:
        return adx_record_product(p, o->arg[0].rows, n, o->arg[1].cols,
                                  arg[0], arg[1]);
    case ADREV_ARRAY_trimatvec:
        adx_record_triangle(r, o, arg[0], arg[1], arg[2]);
        return adx_single(ADX_NOWHERE);
    case ADREV_ARRAY_external:
        break;
    }
    return adx_record_external(r, o);
}

/* --- calls of recorded functions ----------------------------------------- */

// What a call of a recorded function saves on the tape: the function, and where
// it was called.
typedef struct adx_saved_call {
    ad_fn *fn;
    const adx_program *program; // of the function
    const adx_code_place *guard;    // places of its guards
    const ad_allocator *memory;
    ad_real x[];                // the inputs at the point of the call
} adx_saved_call;

// The rule of a call of a recorded function: its vjp at the point of the call.
static bool adx_call_pullback(const void *saved, size_t m, const ad_real dy[],
                              size_t n, ad_real dx[])
{
    const adx_saved_call *call = (const adx_saved_call *)saved;
    ad_real few[16];
    ad_real *g = n <= 16 ? few : (ad_real *)adx_take(call->memory, n,
                                                     sizeof *g);
    (void)m;
    bool ok = g != NULL && ad_fn_vjp(call->fn, call->x, dy, g) == ADREV_OK;
    for (size_t i = 0; ok && i < adx_variables_of(call->program); i++)
        dx[i] += g[i];
    if (g != few)
        adx_drop(call->memory, g);
    return ok;
}

static bool adx_call_pushforward(const void *saved, size_t n,
                                 const ad_real dx[], size_t m, ad_real dy[])
{
    const adx_saved_call *call = (const adx_saved_call *)saved;
    (void)n;
    (void)m;
    return ad_fn_jvp(call->fn, call->x, dx, dy) == ADREV_OK;
}

static void adx_call_destroy(const void *saved)
{
    ad_fn_free(((const adx_saved_call *)saved)->fn);
}

static const ad_external_rule adx_call_rule = {
    .name = "call", .pullback = adx_call_pullback,
    .pushforward = adx_call_pushforward, .destroy = adx_call_destroy
};

// Copies, once, the name of a file that belongs to a called function, because
// that function may be freed.
static const char *adx_keep_file(adx_recorder *r, const char *file)
{
    adx_file_name *own = r->files;
    if (file == NULL)
        return NULL;
    while (own != NULL && strcmp(own->text, file) != 0)
        own = own->next;
    if (own != NULL)
        return own->text;
    size_t length = strlen(file) + 1;
    own = (adx_file_name *)adx_take(r->p->memory, 1, sizeof *own + length);
    if (own == NULL) {
        adx_spoil(r->p, ADREV_ENOMEM);
        return NULL;
    }
    memcpy(own->text, file, length);
    own->next = r->files;
    r->files = own;
    return own->text;
}

// Appends the places of the guards of a called function to those of this one.
static void adx_record_guards(adx_recorder *r, size_t n,
                              const adx_code_place place[])
{
    adx_program *p = r->p;
    for (size_t i = 0; i < n; i++, p->report.guards++) {
        if (!adx_make_room_for(p->memory, (void **)&r->guard, &r->guard_room,
                               p->report.guards, sizeof *r->guard)) {
            adx_spoil(p, ADREV_ENOMEM);
            return;
        }
        r->guard[p->report.guards] = (adx_code_place){
            adx_keep_file(r, place[i].file), place[i].line
        };
    }
}

// Records a call of a recorded function: its nodes are copied, and its guards
// are counted on from those of this function.
static void adx_record_call(adx_recorder *r, const ad_array_operation *o)
{
    const adx_saved_call *call = (const adx_saved_call *)o->saved;
    const adx_program *called = call->program;
    adx_making k;
    uint32_t first = (uint32_t)r->p->report.guards;
    adx_record_guards(r, called->report.guards, call->guard);
    if (r->p->status != ADREV_OK || !adx_start_making(&k, called, r->p))
        return;
    k.guards = first;
    for (size_t i = 0; i < called->inputs; i++)
        k.same[i] = adx_number_of(r, o->arg[0].x[i]);
    for (size_t i = adx_variables_of(called); i < called->inputs; i++)
        k.same[i] = adx_emit2(r->p, ADREV_OP_detach, k.same[i], k.same[i]);
    for (size_t i = 0; i < called->nodes; i++)
        if (adx_is_used(called, &called->node[i], k.used))
            adx_copy_node(&k, &called->node[i]);
    for (size_t i = 0; i < called->outputs; i++)
        adx_name_number(r, o->result.seq + i, k.same[called->output[i]]);
    r->p->report.recorded += called->nodes;
    adx_end_making(&k);
}

// Refuses an array statement with too many operands. Rows, columns and operands
// of a node are counted in 32 bits. With stride 0 there may be more operands
// than numbers.
static void adx_limit_operands(adx_program *p, const ad_array_operation *o)
{
    for (int i = 0; i < 3; i++)
        if (adx_size_times(o->arg[i].rows, o->arg[i].cols) >= ADX_FROM_INPUT)
            adx_spoil(p, ADREV_ELIMIT);
}

// The array hook: records an array statement or a call.
static void adx_record_array(void *user, const ad_array_operation *o)
{
    adx_recorder *r = (adx_recorder *)user;
    adx_limit_operands(r->p, o);
    if (r->p->status != ADREV_OK)
        return;
    if (o->rule == &adx_call_rule) {
        adx_record_call(r, o);
        return;
    }
    r->p->report.recorded++;
    adx_numbers y = adx_record_many(r, o);
    if (y.base == ADX_NOWHERE || r->p->status != ADREV_OK)
        return;
    for (size_t i = 0; i < o->results; i++)
        adx_name_number(r, o->result.seq + i, adx_in_range(&y, 0, i));
}

/* --- from inputs to outputs ---------------------------------------------- */

static void adx_record_inputs(adx_recorder *r, size_t n, const ad_rev x[])
{
    adx_new_inputs(r->p, n);
    for (size_t i = 0; i < n; i++)
        adx_name_number(r, x[i].seq, (uint32_t)i);
}

// Makes the recording fail for this reason, unless it has failed already.
static void adx_refuse_recording(adx_recorder *r, ad_status status,
                                 const char *why)
{
    if (r->p->status == ADREV_OK)
        r->why = why;
    adx_spoil(r->p, status);
}

// Makes the results of f outputs; they may be inputs, constants, or foreign.
static void adx_record_outputs(adx_recorder *r, const ad_tape *t, size_t m,
                               const ad_rev y[])
{
    if (ad_tape_status(t) != ADREV_OK)
        adx_refuse_recording(r, ad_tape_status(t), ad_tape_reason(t));
    for (size_t i = 0; i < m; i++) {
        if (y[i].job != 0 && !adx_member(t, y[i]))
            adx_spoil(r->p, y[i].job == ADX_JOB_BEYOND ? ADREV_EBEYOND
                                                       : ADREV_EFOREIGN);
        adx_new_output(r->p, adx_number_of(r, y[i]));
    }
    if (!adx_is_closed_off(m, y))
        adx_spoil(r->p, ADREV_EBEYOND);
    if (!adx_all_set(m, y))
        adx_spoil(r->p, ADREV_ESHAPE);
}

/* === function/places ========================================================
 * A machine is a program made ready for replay. It is made in these steps:
 *
 *   1  Nodes on which neither a result nor a guard depends are left out.
 *   2  A product that only one sum uses becomes one node with that sum.
 *   3  Nodes are reordered, but none comes before a node whose result it reads.
 *      Either nodes of one operation come together, or each node follows the
 *      one for which it waits.
 *   4  Each number gets a place in memory. After its last use that place is
 *      free for the next result, so that a replay touches little memory. In
 *      programs with array nodes every number has a place of its own, so that
 *      ranges stay ranges.
 *   5  A node that uses the result of the node before it has a code for
 *      that: it finds that result in a register.
 *
 *   needs   tape/memory core/cells function/program function/copy
 *   offers  adx_machine adx_machine_room adx_need_room adx_free_machine
 *           ADX_CODE ADX_AFTER_X ADX_AFTER_Y ADX_AFTER_Z ADX_CODES ADX_AFTER
 *           adx_make_machine
 * ========================================================================== */

// A constant, and its place.
typedef struct adx_preset {
    uint32_t at;
    ad_real v;
} adx_preset;

typedef struct adx_machine {
    const ad_allocator *memory;
    adx_node *node;             // ends with ADX_OP_end; codes: see function/run
    size_t nodes;
    size_t calls;               // of the math library: the sum of adx_cost_of
    adx_many *many;             // a node's r is the place of its first result
    size_t manys;
    size_t room;                // numbers of the external node that has most,
                                // see adx_machine_room
    adx_preset *preset;         // constants
    size_t presets;
    uint32_t *output;
    size_t outputs;
    size_t inputs;              // places 0 ... inputs - 1
    size_t places;
    adx_spare spare;            // kept for the next evaluation
} adx_machine;

// External nodes have room behind the places: for a point, and for what each
// lane has there.
static size_t adx_machine_room(const adx_machine *m, size_t lanes)
{
    return m->places * lanes + m->room * (lanes + 1);
}

static void adx_need_room(adx_machine *m, const adx_many *k)
{
    size_t room = k->kind == ADX_MANY_external
                ? adx_listed(k) + adx_many_results(k) : 0;
    m->room = room > m->room ? room : m->room;
}

/* --- places -------------------------------------------------------------- */

#define ADX_WINDOW 512          // nodes that may change places
#define ADX_SLENDER 4           // mean nodes of a level: adx_batch_window

// A window of nodes that are being put into another order. A node waits for
// another node of the window if it reads the result of that node. A chain is a
// sequence of nodes each of which waits for the one before.
typedef struct adx_window {
    adx_node node[ADX_WINDOW];
    uint16_t op[ADX_WINDOW];
    uint16_t level[ADX_WINDOW];     // nodes of the longest chain before it
    uint16_t height[ADX_WINDOW];    // nodes of the longest chain behind it
    uint16_t heir[ADX_WINDOW];      // the first node of the chain behind it
    uint16_t order[2][ADX_WINDOW];
    uint16_t count[ADX_WINDOW + 1];
} adx_window;

typedef struct adx_placing {
    const adx_program *p;
    adx_machine *machine;
    bool *used;
    adx_node *node;             // the nodes of p, fused; in the end only the
    size_t nodes;               // used ones, in the order of the machine
    uint32_t *uses;             // [number] how often it is read
    uint32_t *place;            // [number] its place
    uint32_t *last;             // [number] the node that reads it last
    uint32_t *idle;             // a stack of free places
    size_t idle_n;
    adx_window *window;
} adx_placing;

static void adx_free_machine(adx_machine *m)
{
    if (m == NULL)
        return;
    adx_drop_spare(&m->spare, m->memory);
    for (size_t i = 0; m->many != NULL && i < m->manys; i++)
        adx_drop_many(m->memory, &m->many[i]);
    adx_drop(m->memory, m->many);
    adx_drop(m->memory, m->node);
    adx_drop(m->memory, m->preset);
    adx_drop(m->memory, m->output);
    adx_drop(m->memory, m);
}

static void adx_end_placing(adx_placing *k)
{
    const ad_allocator *a = k->p->memory;
    adx_drop(a, k->used);
    adx_drop(a, k->node);
    adx_drop(a, k->uses);
    adx_drop(a, k->place);
    adx_drop(a, k->last);
    adx_drop(a, k->idle);
    adx_drop(a, k->window);
}

// Copies what array nodes need. The machine has its own lists; rules are
// shared.
static bool adx_copy_manys(adx_machine *m, const adx_program *p)
{
    m->many = (adx_many *)adx_take(m->memory, p->manys, sizeof *m->many);
    if (m->many == NULL)
        return false;
    for (size_t i = 0; i < p->manys; i++) {
        const adx_many *k = &p->many[i];
        m->many[i] = *k;
        m->many[i].list = NULL;
        m->many[i].shared = k->shared == NULL ? NULL
                          : adx_share_rule(k->shared);
        m->manys = i + 1;
        size_t n = adx_listed(k);
        if (n == 0)
            continue;
        uint32_t *list = (uint32_t *)adx_take(m->memory, n, sizeof *list);
        if (list == NULL)
            return false;
        memcpy(list, k->list, n * sizeof *list);
        m->many[i].list = list;
        adx_need_room(m, k);
    }
    return true;
}

// Takes all memory. False: there is not enough, and what was taken is still to
// be freed.
static bool adx_begin_placing(adx_placing *k, const adx_program *p)
{
    const ad_allocator *a = p->memory;
    memset(k, 0, sizeof *k);
    k->p = p;
    k->used = (bool *)adx_take(a, p->numbers, sizeof *k->used);
    k->node = (adx_node *)adx_take(a, p->nodes, sizeof *k->node);
    k->uses = (uint32_t *)adx_take(a, p->numbers, sizeof *k->uses);
    k->place = (uint32_t *)adx_take(a, p->numbers, sizeof *k->place);
    k->last = (uint32_t *)adx_take(a, p->numbers, sizeof *k->last);
    k->idle = (uint32_t *)adx_take(a, p->numbers, sizeof *k->idle);
    k->window = (adx_window *)adx_take(a, 1, sizeof *k->window);
    adx_machine *m = (adx_machine *)adx_take(a, 1, sizeof *m);
    if (m != NULL) {
        memset(m, 0, sizeof *m);
        m->memory = a;
        m->node = (adx_node *)adx_take(a, p->nodes + 1, sizeof *m->node);
        m->preset = (adx_preset *)adx_take(a, p->numbers, sizeof *m->preset);
        m->output = (uint32_t *)adx_take(a, p->outputs, sizeof *m->output);
    }
    k->machine = m;
    return k->used != NULL && k->node != NULL && k->uses != NULL
        && k->place != NULL && k->last != NULL && k->idle != NULL
        && k->window != NULL && m != NULL && m->node != NULL
        && m->preset != NULL && m->output != NULL && adx_copy_manys(m, p);
}

static void adx_count_use(void *user, uint32_t number)
{
    ((uint32_t *)user)[number]++;
}

// Counts how often each number is read, and copies the nodes.
static void adx_count_uses(adx_placing *k)
{
    const adx_program *p = k->p;
    memset(k->uses, 0, p->numbers * sizeof *k->uses);
    for (size_t i = 0; i < p->outputs; i++)
        k->uses[p->output[i]]++;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        k->node[i] = *s;
        if (!adx_is_used(p, s, k->used))
            continue;
        if (s->op == ADX_OP_guard || s->op == ADX_OP_many)
            adx_visit_reads(p, s, adx_count_use, k->uses);
        else
            for (int j = 0; j < adx_row_of(s->op)->arity; j++)
                k->uses[j == 0 ? s->a : j == 1 ? s->b : s->c]++;
    }
}

// Returns the node of x if it is a product whose result is read once; else
// NULL.
static adx_node *adx_single_product(adx_placing *k, uint32_t x)
{
    uint32_t from = k->p->from[x];
    if (from >= ADX_FROM_INPUT || k->uses[x] != 1)
        return NULL;
    adx_node *s = &k->node[from];
    bool product = s->op == ADX_OP_chain
                || (ADX_FUSES_MUL && (s->op == ADREV_OP_mul
                                      || s->op == ADREV_OP_sqr));
    return product ? s : NULL;
}

// Makes one node of a product and of the sum or difference that alone reads it.
// In a difference only the second argument can be such a product.
static void adx_fuse(adx_placing *k)
{
    for (size_t i = 0; i < k->p->nodes; i++) {
        adx_node *s = &k->node[i];
        bool sub = s->op == ADREV_OP_sub;
        if ((s->op != ADREV_OP_add && !sub) || !k->used[s->r])
            continue;
        adx_node *left = sub ? NULL : adx_single_product(k, s->a);
        adx_node *product = left == NULL ? adx_single_product(k, s->b) : left;
        if (product == NULL)
            continue;
        k->used[product->r] = false;
        *s = (adx_node){ product->op == ADX_OP_chain
                         ? sub ? ADX_OP_chain_sub : ADX_OP_chain_add
                         : sub ? ADX_OP_mul_sub : ADX_OP_mul_add,
                         s->r, product->a, product->b,
                         left == NULL ? s->a : s->b };
    }
}

static void adx_drop_unused(adx_placing *k)
{
    for (size_t i = 0; i < k->p->nodes; i++)
        if (adx_is_used(k->p, &k->node[i], k->used))
            k->node[k->nodes++] = k->node[i];
}

// Sorts the indices in `from` by their keys, which are below `keys`: a stable
// counting sort.
static void adx_sort_by(adx_window *w, size_t n, const uint16_t key[],
                        size_t keys, const uint16_t from[], uint16_t to[])
{
    memset(w->count, 0, (keys + 1) * sizeof *w->count);
    for (size_t i = 0; i < n; i++)
        w->count[key[i] + 1]++;
    for (size_t i = 0; i < keys; i++)
        w->count[i + 1] = (uint16_t)(w->count[i + 1] + w->count[i]);
    for (size_t i = 0; i < n; i++)
        to[w->count[key[from[i]]]++] = from[i];
}

// Orders the nodes level by level, and within a level operation by operation. A
// node waits only for nodes of lower levels.
static void adx_order_by_level(adx_window *w, size_t n, size_t levels)
{
    adx_sort_by(w, n, w->op, ADX_OP_end, w->order[0], w->order[1]);
    adx_sort_by(w, n, w->level, levels, w->order[1], w->order[0]);
}

// Notes that node i waits for `maker` (1 + its index; 0: the maker is not in
// the window).
static void adx_raise_window(adx_window *w, size_t i, uint32_t maker)
{
    if (maker > 0 && w->height[maker - 1] <= w->height[i]) {
        w->height[maker - 1] = (uint16_t)(w->height[i] + 1);
        w->heir[maker - 1] = (uint16_t)i;
    }
}

// Orders the nodes with the longest chains behind them first. Each node is
// followed by its heir, if that waits for nothing else, so that a result is
// used at once. A node has a lower height than all nodes for which it waits. So
// when its turn comes by height, at the latest, it no longer waits. made[x]: 1
// + the node that will make number x; 0: x is there.
static void adx_order_by_height(adx_window *w, size_t n, size_t levels,
                                uint32_t made[])
{
    size_t done = 0;
    for (size_t i = 0; i < n; i++) {
        w->height[i] = 0;
        made[w->node[i].r] = (uint32_t)i + 1;
    }
    for (size_t i = n; i-- > 0;) {
        adx_raise_window(w, i, made[w->node[i].a]);
        adx_raise_window(w, i, made[w->node[i].b]);
        adx_raise_window(w, i, made[w->node[i].c]);
    }
    adx_sort_by(w, n, w->height, levels, w->order[0], w->order[1]);
    for (size_t i = n; i-- > 0;)
        for (size_t at = w->order[1][i];; at = w->heir[at]) {
            const adx_node *s = &w->node[at];
            if (made[s->r] == 0 || made[s->a] + made[s->b] + made[s->c] > 0)
                break;
            w->order[0][done++] = (uint16_t)at;
            made[s->r] = 0;
            if (w->height[at] == 0)
                break;
        }
}

// Puts n nodes into another order; none of them is a guard or has many results.
// If a level has ADX_SLENDER nodes or more on average, they go by level, else
// by height. of[] has room for an index of each number, and is 0 before and
// after.
static void adx_batch_window(adx_window *w, size_t n, adx_node node[],
                             uint32_t of[])
{
    size_t levels = 0;
    for (size_t i = 0; i < n; i++) {
        const adx_node *s = &node[i];
        uint32_t l = of[s->a] > of[s->b] ? of[s->a] : of[s->b];
        l = l > of[s->c] ? l : of[s->c];
        of[s->r] = l + 1;
        levels = l + 1 > levels ? l + 1 : levels;
        w->node[i] = *s;
        w->op[i] = (uint16_t)s->op;
        w->level[i] = (uint16_t)l;
        w->order[0][i] = (uint16_t)i;
    }
    for (size_t i = 0; i < n; i++)
        of[node[i].r] = 0;
    if (n < ADX_SLENDER * levels)
        adx_order_by_height(w, n, levels, of);
    else
        adx_order_by_level(w, n, levels);
    for (size_t i = 0; i < n; i++)
        node[i] = w->node[w->order[0][i]];
}

// Orders the nodes, window by window. Guards and array nodes stay where they
// are, and end a window. Nodes of the same operation next to one another save
// jumps, and the processor can do more at a time. If a program has few of
// these, each node follows the one for which it waits, which hands its result
// on in a register. (BENCHMARKS.md says what each is worth.)
static void adx_batch(adx_placing *k)
{
    size_t n = 0;               // nodes in the window so far
    memset(k->last, 0, k->p->numbers * sizeof *k->last);
    for (size_t i = 0; i <= k->nodes; i++) {
        const adx_node *s = i < k->nodes ? &k->node[i] : NULL;
        bool fixed = s == NULL || s->op == ADX_OP_guard
                  || s->op == ADX_OP_many;
        if (fixed || n == ADX_WINDOW) {
            adx_batch_window(k->window, n, k->node + i - n, k->last);
            n = 0;
        }
        n += !fixed;
    }
}

// Finds the last node that reads each number. Outputs are read behind all
// nodes.
static void adx_find_last_uses(adx_placing *k)
{
    const adx_program *p = k->p;
    memset(k->last, 0, p->numbers * sizeof *k->last);
    for (size_t i = 0; i < k->nodes; i++) {
        const adx_node *s = &k->node[i];
        const adx_many *many = adx_many_of(p, s);
        k->last[s->r] = (uint32_t)i;
        for (size_t j = 0; many != NULL && j < adx_listed(many); j++)
            k->last[many->list[j]] = (uint32_t)i;
        if (many != NULL)
            continue;
        k->last[s->a] = (uint32_t)i;
        k->last[s->b] = (uint32_t)i;
        if (s->op != ADX_OP_guard)
            k->last[s->c] = (uint32_t)i;
    }
    for (size_t i = 0; i < p->outputs; i++)
        k->last[p->output[i]] = UINT32_MAX;
}

// Finds the spans of numbers that array nodes read and make.
static void adx_find_spans(const adx_placing *k, uint32_t begin[])
{
    const adx_program *p = k->p;
    memset(begin, 0, p->numbers * sizeof *begin);
    for (size_t i = 0; i < k->nodes; i++) {
        const adx_many *many = adx_many_of(p, &k->node[i]);
        for (int a = 0; many != NULL && a < 3; a++) {
            size_t rows;
            size_t cols;
            adx_extent(many, a, &rows, &cols);
            adx_add_span(begin, p->numbers, &many->arg[a], rows, cols);
        }
        if (many != NULL)
            adx_add_results_span(begin, p->numbers, k->node[i].r, many);
    }
}

// Gives places of their own to inputs, to constants, and to the spans of array
// nodes, in the order of their numbers: so ranges remain ranges.
static void adx_place_given(adx_placing *k)
{
    const adx_program *p = k->p;
    adx_machine *m = k->machine;
    uint32_t *begin = k->idle;          // not needed yet
    uint32_t spans = 0;
    adx_find_spans(k, begin);
    m->inputs = p->inputs;
    for (size_t i = 0; i < p->numbers; i++) {
        bool preset = adx_is_constant_number(p, i) && k->used[i];
        spans += begin[i];
        if (spans > 0)
            k->last[i] = UINT32_MAX;
        k->place[i] = i < p->inputs || spans > 0 || preset
                    ? (uint32_t)m->places++ : ADX_NOWHERE;
        if (preset)
            m->preset[m->presets++] =
                (adx_preset){ k->place[i], *adx_constant_of(p, i) };
    }
}

// Frees the place of x if node `node` was the last to read it.
static void adx_release(adx_placing *k, uint32_t x, size_t node)
{
    if (k->p->from[x] < ADX_FROM_INPUT && k->last[x] == node) {
        k->idle[k->idle_n++] = k->place[x];
        k->last[x] = UINT32_MAX;        // once
    }
}

// Gives an array node its places: its operands are ranges and a list.
static void adx_place_many(adx_placing *k, size_t i)
{
    const adx_node *s = &k->node[i];
    adx_many *many = &k->machine->many[s->a];
    for (int a = 0; a < 3; a++) {
        size_t rows;
        size_t cols;
        adx_extent(many, a, &rows, &cols);
        if (rows > 0)
            many->arg[a].base = k->place[many->arg[a].base];
        else                    // loops may read arguments that do not exist
            many->arg[a] = many->arg[0];
    }
    for (size_t j = 0; j < adx_listed(many); j++) {
        uint32_t x = many->list[j];
        many->list[j] = k->place[x];
        adx_release(k, x, i);
    }
    *k->machine->node++ = (adx_node){ s->op, k->place[s->r], s->a, s->b, s->c };
}

// Writes node i into the machine, with places in place of numbers.
static void adx_place_node(adx_placing *k, size_t i)
{
    const adx_node *s = &k->node[i];
    bool guard = s->op == ADX_OP_guard;
    if (s->op == ADX_OP_many) {
        adx_place_many(k, i);
        return;
    }
    adx_node to = { s->op, 0, k->place[s->a], k->place[s->b],
                    guard ? s->c : k->place[s->c] };
    if (!guard && k->place[s->r] == ADX_NOWHERE)
        k->place[s->r] = k->idle_n > 0 ? k->idle[--k->idle_n]
                                       : (uint32_t)k->machine->places++;
    if (!guard)
        to.r = k->place[s->r];
    // The arguments are released only now, because a result must not overlap
    // them (function/arrays).
    adx_release(k, s->a, i);
    adx_release(k, s->b, i);
    if (!guard)
        adx_release(k, s->c, i);
    *k->machine->node++ = to;
}

// A node that uses the result of the node before it has a code of its own,
// which says its operation and which argument that result is. It finds the
// argument in a register; through memory it would wait longer than most
// operations take. (Replay of twenty times x = x a + b: 0.54.)
enum {
    ADX_CODE = 0xff,            // of the operation
    ADX_AFTER_X = 0x100, ADX_AFTER_Y = 0x200, ADX_AFTER_Z = 0x300,
    ADX_CODES = 0x400
};
ADX_STATIC_ASSERT((int)ADX_OP_end <= (int)ADX_CODE, "an operation has 8 bits");

// Only frequent operations have such codes.
#define ADX_AFTER_ROW(X, name) X(ADREV_OP_##name, adx_f_##name(x, y, z))
#define ADX_AFTER(X, Y, Z)                                                  \
    ADX_AFTER_ROW(X, neg) ADX_AFTER_ROW(X, sqr) ADX_AFTER_ROW(X, exp)       \
    ADX_AFTER_ROW(X, sin) ADX_AFTER_ROW(X, cos)                             \
    ADX_AFTER_ROW(X, add) ADX_AFTER_ROW(Y, add)                             \
    ADX_AFTER_ROW(X, sub) ADX_AFTER_ROW(Y, sub)                             \
    ADX_AFTER_ROW(X, mul) ADX_AFTER_ROW(Y, mul)                             \
    ADX_AFTER_ROW(X, div) ADX_AFTER_ROW(Y, div)                             \
    X(ADX_OP_chain, x * y) Y(ADX_OP_chain, x * y)                           \
    ADX_FUSED(X) ADX_FUSED(Y) ADX_FUSED(Z)

// Gives these codes to the nodes that can have one.
static void adx_fuse_after(adx_node *s)
{
#define ADX_X(code, value) [code + ADX_AFTER_X] = true,
#define ADX_Y(code, value) [code + ADX_AFTER_Y] = true,
#define ADX_Z(code, value) [code + ADX_AFTER_Z] = true,
    static const bool known[ADX_CODES] = { ADX_AFTER(ADX_X, ADX_Y, ADX_Z) };
#undef ADX_X
#undef ADX_Y
#undef ADX_Z
    for (; s->op != ADX_OP_end; s++) {
        adx_node *next = s + 1;
        uint32_t after = next->a == s->r ? ADX_AFTER_X
                       : next->b == s->r ? ADX_AFTER_Y
                       : next->c == s->r ? ADX_AFTER_Z : 0;
        if (s->op != ADX_OP_guard && s->op != ADX_OP_many
            && known[next->op + after])
            next->op += after;
    }
}

// Makes the machine of a program, in the steps that the opening of this room
// lists. NULL: no memory.
static adx_machine *adx_make_machine(const adx_program *p)
{
    adx_placing k;
    if (!adx_begin_placing(&k, p)) {
        adx_free_machine(k.machine);
        adx_end_placing(&k);
        return NULL;
    }
    adx_machine *m = k.machine;
    adx_node *first = m->node;
    adx_find_used(p, k.used);
    adx_count_uses(&k);
    adx_fuse(&k);
    adx_drop_unused(&k);
    adx_batch(&k);
    adx_find_last_uses(&k);
    adx_place_given(&k);
    for (size_t i = 0; i < k.nodes; i++)
        adx_place_node(&k, i);
    *m->node = (adx_node){ .op = ADX_OP_end };
    m->node = first;
    m->nodes = k.nodes;
    for (size_t i = 0; i < k.nodes; i++)
        m->calls += (size_t)adx_cost_of(first[i].op);
    adx_fuse_after(first);
    m->outputs = p->outputs;
    for (size_t i = 0; i < p->outputs; i++)
        m->output[i] = k.place[p->output[i]];
    adx_end_placing(&k);
    return m;
}

/* === function/arrays ========================================================
 * Replay of array nodes, for one point and for lanes of points. What is
 * computed at one point is what array/linear and array/sums compute on a tape,
 * with the same sums in the same order, so the bits are the same. Elements of
 * lanes lie side by side: of `lanes` points, number x has w[x*lanes] to
 * w[x*lanes + lanes - 1]. So in lanes each product or sum is a loop over the
 * lanes.
 *
 *   needs   core/cells array/operands array/linear array/sums function/program
 *           function/places
 *   offers  adx_stream adx_map_of ADX_FAILED adx_run_many
 * ========================================================================== */

/* --- loops --------------------------------------------------------------- */

// An argument of an operation on n numbers: where the first number is, and how
// far each is from the one before.
typedef struct adx_stream {
    const ad_real *v;
    ptrdiff_t stride;
} adx_stream;

typedef void adx_map_fn(size_t n, ad_real r[restrict], adx_stream a,
                        adx_stream b, adx_stream c);

// The loop of one operation. Results overlap no argument: adx_place_node sees
// to that.
#define ADX_LOOP(value, sa, sb, sc)                                         \
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {                          \
        ad_real x = a.v[i * (sa)];                                          \
        ad_real y = b.v[i * (sb)];                                          \
        ad_real z = c.v[i * (sc)];                                          \
        (void)x; (void)y; (void)z;                                          \
        r[i] = (ad_real)(value);                                            \
    }
#define ADX_MAP(name, value)                                                \
    static void adx_map_##name(size_t n, ad_real r[restrict], adx_stream a, \
                               adx_stream b, adx_stream c)                  \
    {                                                                       \
        if (a.stride == 1 && b.stride == 1 && c.stride == 1) {              \
            ADX_LOOP(value, 1, 1, 1)                                        \
        } else {                                                            \
            ADX_LOOP(value, a.stride, b.stride, c.stride)                   \
        }                                                                   \
    }
#define ADX_STEP(name, ...) ADX_MAP(name, adx_f_##name(x))
#define ADX_ROW(name, ...) ADX_MAP(name, adx_f_##name(x, y, z))
#define ADX_COMPARISON(name, operator) ADX_MAP(name, x operator y)
ADREV_OPS(ADX_ROW)
ADREV_STEPS(ADX_STEP)
ADREV_COMPARISONS(ADX_COMPARISON)
ADX_STEP(detach, )
ADX_CHAIN(ADX_ROW)
ADX_DERIVED(ADX_ROW)
ADX_MAP(chain_add, adx_more(z, adx_absorb(x, y)))
ADX_MAP(chain_sub, adx_less(z, adx_absorb(x, y)))
ADX_MAP(plain_chain_add, adx_more(z, x * y))
ADX_MAP(plain_chain_sub, adx_less(z, x * y))
ADX_MAP(mul_add, adx_more(z, adx_rounded(x * y)))
ADX_MAP(mul_sub, adx_less(z, adx_rounded(x * y)))
#undef ADX_STEP
#undef ADX_ROW
#undef ADX_COMPARISON
#undef ADX_MAP
#undef ADX_LOOP

// The loop for an operation. careful: in the chain rule, a factor of zero
// absorbs the other. Otherwise factors are simply multiplied, which gives the
// same as long as all numbers are finite.
static adx_map_fn *adx_map_of(uint32_t op, bool careful)
{
#define ADX_NAMED(name, ...) [ADREV_OP_##name] = adx_map_##name,
#define ADX_OTHER_NAMED(name, ...) [ADX_OP_##name] = adx_map_##name,
    static adx_map_fn *const map[] = {
        ADREV_OPS(ADX_NAMED) ADREV_STEPS(ADX_NAMED)
        ADREV_COMPARISONS(ADX_NAMED) ADX_NAMED(detach, )
        ADX_CHAIN(ADX_OTHER_NAMED) ADX_DERIVED(ADX_OTHER_NAMED)
        ADX_OTHER_NAMED(chain_add, ) ADX_OTHER_NAMED(chain_sub, )
        ADX_OTHER_NAMED(mul_add, ) ADX_OTHER_NAMED(mul_sub, )
    };
    static adx_map_fn *const plain[ADX_OP_end] = {
        [ADX_OP_chain] = adx_map_mul,
        [ADX_OP_chain_add] = adx_map_plain_chain_add,
        [ADX_OP_chain_sub] = adx_map_plain_chain_sub
    };
#undef ADX_NAMED
#undef ADX_OTHER_NAMED
    return careful || plain[op] == NULL ? map[op] : plain[op];
}

/* --- nodes with many results ------------------------------------------------
 * There are L lanes, and number i of lane l is at w[i*L + l]. A single point
 * has L = 1. Sums are made in the order in which the array statements of a tape
 * make them, so the bits are the same.                                       */

static ad_real *adx_lanes_at(ad_real w[], size_t L, const adx_numbers *r,
                             size_t i, size_t j)
{
    return w + adx_in_range(r, i, j) * L;
}

// Replays an operation on arrays. A single point takes one loop over the n
// elements; else each element takes a loop over the lanes.
static void adx_run_each(const adx_many *k, ad_real r[], ad_real w[],
                         size_t L, bool careful)
{
    adx_map_fn *map = adx_map_of(k->op, careful);
    size_t count = L == 1 ? 1 : k->n;
    for (size_t i = 0; i < count; i++) {
        adx_stream from[3];
        for (int a = 0; a < 3; a++)
            from[a] = (adx_stream){ adx_lanes_at(w, L, &k->arg[a], 0, i),
                                  L == 1 ? k->arg[a].cs : 1 };
        map(L == 1 ? k->n : L, r + i * L, from[0], from[1], from[2]);
    }
}

// Computes a sum, a largest number or a Euclidean length, in lane l.
static ad_real adx_run_fold(const adx_many *k, ad_real w[], size_t L,
                            size_t l)
{
    const adx_numbers *x = &k->arg[0];
    const adx_view view = { NULL, adx_lanes_at(w, L, x, 0, 0) + l, 1, k->k, 0,
                            x->cs, (ptrdiff_t)L };
    ad_real sum = 0;
    if (k->kind == ADX_MANY_most)
        return adx_largest(&view);
    if (k->kind == ADX_MANY_norm)
        return adx_length(&view);
    for (size_t i = 0; i < k->k; i++)
        sum += adx_element(&view, 0, i);
    return sum;
}

// Whether the product of a matrix and a vector is summed column by column, in
// the chain rule. The columns must be contiguous; then the loops run along
// vectors.
static bool adx_adds_columns(const adx_many *k)
{
    return k->n == 1 && k->arg[0].rs == 1 && k->op == ADX_OP_chain;
}

// Whether a sum of products is made of eight sums side by side, as a tape makes
// the product of two vectors. Other sums of products are one sum.
static bool adx_has_eight_sums(const adx_many *k, bool careful)
{
    return k->n == 1 && !adx_adds_columns(k)
        && !(careful && k->op == ADX_OP_chain);
}

// Computes one element of a product at a single point.
static ad_real adx_run_inner(const adx_many *k, ad_real w[], size_t i,
                             size_t j, bool careful)
{
    const ad_real *a = adx_lanes_at(w, 1, &k->arg[0], i, 0);
    const ad_real *b = adx_lanes_at(w, 1, &k->arg[1], 0, j);
    ptrdiff_t as = k->arg[0].cs;
    ptrdiff_t bs = k->arg[1].rs;
    ad_real sum = 0;
    if (adx_has_eight_sums(k, careful))
        return as == 1 && bs == 1 ? adx_inner_product(k->k, a, b)
                                  : adx_products(k->k, a, as, b, bs);
    for (size_t n = 0; n < k->k; n++, a += as, b += bs)
        sum += careful && k->op == ADX_OP_chain ? adx_absorb(*a, *b) : *a * *b;
    return sum;
}

// Adds a[l] b[l] to sum[l] for all lanes. The arrays do not overlap.
static void adx_add_lanes(size_t L, ad_real *restrict sum, const ad_real *a,
                          const ad_real *b, bool careful)
{
    if (careful)
        for (size_t l = 0; l < L; l++)
            sum[l] += adx_absorb(a[l], b[l]);
    else
        for (size_t l = 0; l < L; l++)
            sum[l] += a[l] * b[l];
}

// Computes one element of a product in L lanes, with the bits of adx_run_inner:
// product n goes to sum n mod 8, and the eight sums are added in the order of
// adx_inner_product.
static void adx_run_inner_lanes(const adx_many *k, ad_real w[], size_t L,
                                size_t i, size_t j, bool careful, ad_real r[])
{
    ad_real sums[8][ADREV_LANES_MOST];
    const ad_real *a = adx_lanes_at(w, L, &k->arg[0], i, 0);
    const ad_real *b = adx_lanes_at(w, L, &k->arg[1], 0, j);
    ptrdiff_t as = k->arg[0].cs * (ptrdiff_t)L;
    ptrdiff_t bs = k->arg[1].rs * (ptrdiff_t)L;
    size_t eight = adx_has_eight_sums(k, careful) ? k->k / 8 * 8 : 0;
    careful = careful && k->op == ADX_OP_chain;
    memset(r, 0, L * sizeof *r);
    for (size_t q = 0; q < 8 && eight > 0; q++)
        memset(sums[q], 0, L * sizeof *r);
    size_t n = 0;
    for (; n < eight; n++, a += as, b += bs)
        adx_add_lanes(L, sums[n % 8], a, b, false);
    for (size_t l = 0; l < L && eight > 0; l++)
        r[l] = ((sums[0][l] + sums[4][l]) + (sums[1][l] + sums[5][l]))
             + ((sums[2][l] + sums[6][l]) + (sums[3][l] + sums[7][l]));
    for (; n < k->k; n++, a += as, b += bs)
        adx_add_lanes(L, r, a, b, careful);
}

// Computes y = 0 + a x, a sum of one term, in which -0 becomes 0. The arrays do
// not overlap.
static void adx_scale_row(size_t n, ad_real a, const ad_real *restrict x,
                          ad_real *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i] + 0;
}

// Computes a product at a single point by loops along contiguous memory: rows
// of b, each of which is added to a row of the result, or columns of a
// (adx_adds_columns). Each element is summed in the order of l, as in
// adx_run_inner where that makes one sum. False: neither rows nor columns are
// contiguous.
static bool adx_run_rows(const adx_many *k, ad_real r[], ad_real w[])
{
    const adx_numbers *a = &k->arg[0];
    const adx_numbers *b = &k->arg[1];
    bool rows = k->n > 1 && b->cs == 1;
    bool columns = adx_adds_columns(k);
    if (rows && k->k == 1) {
        for (size_t i = 0; i < k->m; i++)
            adx_scale_row(k->n, *adx_lanes_at(w, 1, a, i, 0),
                          adx_lanes_at(w, 1, b, 0, 0), r + i * k->n);
        return true;
    }
    if (rows || columns)
        memset(r, 0, adx_many_results(k) * sizeof *r);
    for (size_t i = 0; rows && i < k->m; i++)
        for (size_t l = 0; l < k->k; l++)
            adx_axpy(k->n, *adx_lanes_at(w, 1, a, i, l),
                     adx_lanes_at(w, 1, b, l, 0), r + i * k->n);
    for (size_t l = 0; columns && l < k->k; l++)
        adx_axpy(k->m, *adx_lanes_at(w, 1, b, l, 0),
                 adx_lanes_at(w, 1, a, 0, l), r);
    return rows || columns;
}

/* --- external statements ---------------------------------------------------
 * A rule that is `abreast` is called once for all lanes whose inputs are the
 * same; any other one once for those of them whose adjoints and tangents are,
 * too.
 *
 * A lane moves unless all of its tangents are 0, or all adjoints are 0 and so
 * are their tangents. One that does not move joins a call with tangents only
 * where it needs no row of its own. Where adjoints are 0 and do not move, so
 * are the results.                                                           */

#define ADX_FAILED UINT32_MAX   // in place of a guard: a replay failed

// A call, and its arrays: as in ad_external_point, a row for each direction.
typedef struct adx_replaying {
    const adx_many *k;
    bool adjoint;               // what the node computes
    size_t L;                   // lanes
    size_t most;                // directions of a call
    size_t d;                   // directions of this one
    bool moving;                // they move
    ad_real *x;
    ad_real *y;
    ad_real *xd;
    ad_real *yb;
    ad_real *ybd;
    ad_real *out;               // xb
    ad_real *moved;             // yd, or xbd
    bool moves[ADREV_LANES_MOST];   // whether a lane does
    size_t row[ADREV_LANES_MOST];   // of a lane in this call, or
} adx_replaying;

enum {
    ADX_NEEDS_NONE = ADREV_LANES_MOST,  // it needs none
    ADX_WAITS,                      // for a later call
    ADX_SERVED                      // by an earlier one, or failed at a guard
};

// Lays out the room of an external node for L lanes: the numbers of one point,
// then rows for its directions.
static void adx_begin_replaying(adx_replaying *c, const adx_many *k,
                                ad_real room[], size_t L,
                                const uint32_t flipped[])
{
    c->k = k;
    c->adjoint = k->op & ADX_EXTERNAL_adjoint;
    c->L = L;
    c->most = k->shared->rule->abreast ? L : 1;
    const size_t adjoints = c->adjoint ? L * k->m : 0;
    c->x = room;
    c->y = c->x + k->n;
    c->yb = c->y + k->m;                // these first: the others need not move
    c->out = c->yb + adjoints;
    c->xd = c->out + (c->adjoint ? L * k->n : 0);
    c->ybd = c->xd + L * k->n;
    c->moved = c->ybd + adjoints;
    for (size_t l = 0; l < L; l++)
        c->row[l] = flipped[l] == 0 ? ADX_WAITS : ADX_SERVED;
}

// Numbers of lane l from a list.
static void adx_take_of_lane(const adx_replaying *c, const ad_real w[],
                             size_t l, size_t n, const uint32_t list[],
                             ad_real to[])
{
    for (size_t i = 0; i < n; i++)
        to[i] = w[list[i] * c->L + l];
}

static bool adx_replays_at(const adx_replaying *c, const ad_real w[], size_t l)
{
    for (size_t i = 0; i < c->k->n; i++)
        if (memcmp(&c->x[i], &w[c->k->list[i] * c->L + l], sizeof *w) != 0)
            return false;
    return true;
}

// Whether row d of an array is that before it again.
static bool adx_is_row_again(const adx_replaying *c, const ad_real a[],
                             size_t n)
{
    const ad_real *row = a + c->d * n;
    return memcmp(row, row - n, n * sizeof *row) == 0;
}

// Has a lane join the call, unless it needs a row and there is none for it.
static void adx_join_replay(adx_replaying *c, const ad_real w[], size_t l)
{
    const size_t n = c->k->n;
    const size_t m = c->adjoint ? c->k->m : 0;
    const uint32_t *list = c->k->list + n;
    ad_real *xd = c->xd + c->d * n;
    ad_real *yb = c->yb + c->d * m;
    ad_real *ybd = c->ybd + c->d * m;
    bool moving = c->k->op & ADX_EXTERNAL_moving;
    adx_take_of_lane(c, w, l, m, list, yb);
    bool still = c->adjoint && adx_zeros(m, yb);
    if (moving) {
        adx_take_of_lane(c, w, l, n, list + m, xd);
        adx_take_of_lane(c, w, l, m, list + m + n, ybd);
        moving = !adx_zeros(m, ybd) || !(still || adx_zeros(n, xd));
    }
    bool again = c->d > 0 && adx_is_row_again(c, c->yb, m)
              && (!moving || (c->moving && adx_is_row_again(c, c->xd, n)
                              && adx_is_row_again(c, c->ybd, m)));
    if (!moving && (still || !c->adjoint))
        c->row[l] = ADX_NEEDS_NONE;
    else if (again)
        c->row[l] = c->d - 1;
    else if (c->d == 0 || (c->d < c->most && c->moving == moving))
        c->row[l] = c->d++;
    else
        c->row[l] = ADX_WAITS;
    c->moves[l] = moving;
    c->moving = c->moving || (moving && c->row[l] < ADX_NEEDS_NONE);
}

// Lets the rule compute what is asked for.
static bool adx_ask_rule(const adx_replaying *c)
{
    const adx_many *k = c->k;
    const size_t results = c->adjoint ? k->n : k->m;
    if (c->adjoint && c->d == 0)
        return true;
    memset(c->y, 0, k->m * sizeof *c->y);
    memset(c->out, 0, (c->adjoint ? c->d * k->n : 0) * sizeof *c->out);
    memset(c->moved, 0, (c->moving ? c->d * results : 0) * sizeof *c->moved);
    ad_external_point at = { .n = k->n, .m = k->m, .k = c->d, .x = c->x };
    at.xd = c->moving ? c->xd : NULL;
    at.yb = c->adjoint ? c->yb : NULL;
    at.ybd = c->adjoint && c->moving ? c->ybd : NULL;
    *(c->adjoint ? &at.xb : &at.y) = c->adjoint ? c->out : c->y;
    *(c->adjoint ? &at.xbd : &at.yd) = c->moving ? c->moved : NULL;
    ad_tape *before = ad_use(NULL);
    bool ok = k->shared->rule->replay(k->shared->saved, &at);
    ad_use(before);
    return ok;
}

// Writes numbers of lane l; NULL: zeros. Returns where those of the next begin.
static ad_real *adx_give_to_lane(const adx_replaying *c, size_t n,
                                 const ad_real from[], size_t l, ad_real r[])
{
    for (size_t i = 0; i < n; i++)
        r[i * c->L + l] = from == NULL ? 0 : from[i];
    return r + n * c->L;
}

// Writes what lane l gets: its own adjoints and tangents, the common values, or
// zeros.
static void adx_give_replayed(const adx_replaying *c, size_t l, bool failed,
                              ad_real r[])
{
    const size_t n = adx_external_results(c->k);
    const size_t row = c->row[l];
    const bool has = !failed && row < ADX_NEEDS_NONE;
    const bool moved = has && c->moves[l];
    if (c->adjoint)
        r = adx_give_to_lane(c, n, has ? c->out + row * n : NULL, l, r);
    else
        r = adx_give_to_lane(c, n, failed ? NULL : c->y, l, r);
    if (c->k->op & ADX_EXTERNAL_moving)
        adx_give_to_lane(c, n, moved ? c->moved + row * n : NULL, l, r);
}

// Lanes that have failed at a guard are left out: a replay of such a point
// alone would have stopped there.
static void adx_run_external(const adx_many *k, ad_real r[], const ad_real w[],
                             ad_real room[], size_t L, uint32_t flipped[])
{
    adx_replaying c;
    adx_begin_replaying(&c, k, room, L, flipped);
    for (size_t l = 0; l < L; l++) {
        if (flipped[l] != 0)
            adx_give_replayed(&c, l, true, r);
        if (c.row[l] != ADX_WAITS)
            continue;
        c.d = 0;
        c.moving = false;
        adx_take_of_lane(&c, w, l, k->n, k->list, c.x);
        for (size_t j = l; j < L; j++)
            if (c.row[j] == ADX_WAITS && adx_replays_at(&c, w, j))
                adx_join_replay(&c, w, j);
        bool ok = adx_ask_rule(&c);
        for (size_t j = l; j < L; j++)
            if (c.row[j] <= ADX_NEEDS_NONE) {
                adx_give_replayed(&c, j, !ok, r);
                c.row[j] = ADX_SERVED;
                flipped[j] = ok ? 0 : ADX_FAILED;
            }
    }
}

// A product of matrices in L lanes; at one point by rows, where that is faster
// and as right.
static void adx_run_product(const adx_many *k, ad_real r[], ad_real w[],
                            size_t L, bool careful)
{
    if (L == 1 && !careful && adx_run_rows(k, r, w))
        return;
    for (size_t i = 0; i < k->m; i++)
        for (size_t j = 0; j < k->n; j++)
            if (L == 1)
                r[i * k->n + j] = adx_run_inner(k, w, i, j, careful);
            else
                adx_run_inner_lanes(k, w, L, i, j, careful,
                                    r + (i * k->n + j) * L);
}

static void adx_run_gather(const adx_many *k, ad_real r[], const ad_real w[],
                           size_t L)
{
    for (size_t i = 0; i < k->n; i++)
        memcpy(r + i * L, w + k->list[i] * L, L * sizeof *w);
}

// Replays a node with many results. flipped[L]: ADX_FAILED where its rule
// fails.
static void adx_run_many(const adx_machine *m, const adx_node *s, ad_real w[],
                         size_t L, bool careful, uint32_t flipped[])
{
    const adx_many *k = &m->many[s->a];
    ad_real *r = w + s->r * L;
    switch (k->kind) {
    case ADX_MANY_each:
        adx_run_each(k, r, w, L, careful);
        break;
    case ADX_MANY_sum: case ADX_MANY_most: case ADX_MANY_norm:
        for (size_t l = 0; l < L; l++)
            r[l] = adx_run_fold(k, w, L, l);
        break;
    case ADX_MANY_product:
        adx_run_product(k, r, w, L, careful);
        break;
    case ADX_MANY_gather:
        adx_run_gather(k, r, w, L);
        break;
    case ADX_MANY_external:
        adx_run_external(k, r, w, w + m->places * L, L, flipped);
        break;
    case ADX_MANY_COUNT:
        break;
    }
}

/* === function/run ===========================================================
 * The interpreter of programs, for one point or for many side by side in lanes.
 * It goes through the nodes once, in order. A number has `lanes` places in
 * memory, one for each lane, side by side: with one point a node is an
 * operation, with many a loop over lanes, so that reading the program costs a
 * small part of the time.
 *
 * A guard that fails at one point ends the run. In lanes it is noted for the
 * lane, which goes on: its results are not used.
 *
 *   needs   tape/memory core/cells function/api function/program
 *           function/places function/arrays
 *   offers  adx_same_value adx_nodes_plain adx_nodes_careful adx_take_work
 *           adx_give_work adx_run_lanes
 * ========================================================================== */

/* --- one point ----------------------------------------------------------- */

// Whether a guard is passed. The bits must be equal, since f may treat 0 and -0
// differently; but all NaNs are the same.
static bool adx_same_value(ad_real a, ad_real b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

// ADX_GOTO   1: the code of each node jumps to that of the next one; 0: a
//   switch, for compilers without computed goto, and for tests. Processors
//   foresee these jumps better than those of a switch, which all come from one
//   place (a tenth of particles replayed, bench/, gcc). Nodes of one operation
//   follow one another often enough that a loop over them saves half of the
//   jumps.
#ifndef ADX_GOTO
#ifdef __GNUC__
#define ADX_GOTO 1
#else
#define ADX_GOTO 0
#endif
#endif

#if ADX_GOTO
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#define ADX_GO_BEGIN goto *to[s->op];
#define ADX_GO_AT(label, code) label:
#ifdef __clang__
#define ADX_GO_FUNCTION
// clang 14 would merge all jumps that follow a condition into one. (bench: sir,
// scan repl, 0.73.)
#define ADX_GO_NEXT do { ADX_OPAQUE(s); goto *to[s->op]; } while (0)
#else
// gcc's pass `gcse` loads constants that many operations have before the jump,
// which is then too long to be copied: one jump for all of them. (bench:
// particles, replay, gcc 12, 0.80.)
#define ADX_GO_FUNCTION __attribute__((optimize("no-gcse")))
#define ADX_GO_NEXT goto *to[s->op]
#endif
#else
#define ADX_GO_FUNCTION
#define ADX_GO_BEGIN for (;;) switch (s->op)
#define ADX_GO_AT(label, code) case code:
#define ADX_GO_NEXT break
#endif

// Runs the nodes at one point. `last` is the result of the node before, which
// nodes with a code of adx_fuse_after use. A product of the chain rule is a
// plain product here, which is right as long as all results are finite. Returns
// the guard or external node at which it stopped, or NULL.
ADX_GO_FUNCTION
static const adx_node *adx_nodes_plain(const adx_machine *m, ad_real w[])
{
    const adx_node *s = m->node;
    ad_real last = 0;
    uint32_t failed = 0;
#if ADX_GOTO
#define ADX_DO(code, value) [code] = &&at_##code,
#define ADX_X(code, value) [code + ADX_AFTER_X] = &&x_##code,
#define ADX_Y(code, value) [code + ADX_AFTER_Y] = &&y_##code,
#define ADX_Z(code, value) [code + ADX_AFTER_Z] = &&z_##code,
    static const void *const to[ADX_CODES] = {
        ADX_EVERY ADX_DO(ADX_OP_chain, ) ADX_FUSED(ADX_DO)
        ADX_AFTER(ADX_X, ADX_Y, ADX_Z)
        [ADX_OP_guard] = &&at_guard, [ADX_OP_many] = &&at_many,
        [ADX_OP_end] = &&at_end
    };
#undef ADX_DO
#undef ADX_X
#undef ADX_Y
#undef ADX_Z
#endif
    ADX_GO_BEGIN {
    // The code of an operation with these arguments: a loop over successive
    // nodes of the operation, and then a jump to the code of the next node.
#define ADX_DO_STEP(label, code, first, second, third, value)               \
        ADX_GO_AT(label, code)                                              \
            do {                                                            \
                ad_real x = first;                                          \
                ad_real y = second;                                         \
                ad_real z = third;                                          \
                (void)x; (void)y; (void)z;                                  \
                last = (ad_real)(value);                                    \
                w[s->r] = last;                                             \
                s++;                                                        \
            } while (s->op == (code));                                      \
            ADX_GO_NEXT;
#define ADX_DO(code, value)                                                 \
        ADX_DO_STEP(at_##code, code, w[s->a], w[s->b], w[s->c], value)
#define ADX_X(code, value)                                                  \
        ADX_DO_STEP(x_##code, code + ADX_AFTER_X, last, w[s->b], w[s->c], value)
#define ADX_Y(code, value)                                                  \
        ADX_DO_STEP(y_##code, code + ADX_AFTER_Y, w[s->a], last, w[s->c], value)
#define ADX_Z(code, value)                                                  \
        ADX_DO_STEP(z_##code, code + ADX_AFTER_Z, w[s->a], w[s->b], last, value)
        ADX_EVERY
        ADX_DO(ADX_OP_chain, x * y)
        ADX_FUSED(ADX_DO)
        ADX_AFTER(ADX_X, ADX_Y, ADX_Z)
#undef ADX_DO
#undef ADX_X
#undef ADX_Y
#undef ADX_Z
#undef ADX_DO_STEP
        ADX_GO_AT(at_guard, ADX_OP_guard)
            if (!adx_same_value(w[s->a], w[s->b]))
                return s;
            s++;
            ADX_GO_NEXT;
        ADX_GO_AT(at_many, ADX_OP_many)
            adx_run_many(m, s, w, 1, false, &failed);
            if (failed != 0)
                return s;
            s++;
            ADX_GO_NEXT;
        ADX_GO_AT(at_end, ADX_OP_end)
            return NULL;
    }
}

#if ADX_GOTO
#pragma GCC diagnostic pop
#endif
#undef ADX_GO_BEGIN
#undef ADX_GO_AT
#undef ADX_GO_FUNCTION
#undef ADX_GO_NEXT

// Runs the nodes with care: in the chain rule, zeros absorb. This is rare, so
// there is no second interpreter for it: each node is a call of the loop over
// lanes, with one lane.
static const adx_node *adx_nodes_careful(const adx_machine *m, ad_real w[])
{
    uint32_t failed = 0;
    for (const adx_node *s = m->node; s->op != ADX_OP_end; s++)
        if (s->op == ADX_OP_guard && !adx_same_value(w[s->a], w[s->b]))
            return s;
        else if (s->op == ADX_OP_many) {
            adx_run_many(m, s, w, 1, true, &failed);
            if (failed != 0)
                return s;
        } else if (s->op != ADX_OP_guard)
            adx_map_of(s->op & ADX_CODE, true)(1, w + s->r,
                                               (adx_stream){ w + s->a, 1 },
                                               (adx_stream){ w + s->b, 1 },
                                               (adx_stream){ w + s->c, 1 });
    return NULL;
}

// Takes memory for so many lanes, with the constants filled in. NULL: there is
// none.
static adx_workspace *adx_take_work(adx_machine *m, size_t lanes)
{
    if (m->places + 2 * m->room > SIZE_MAX / 16 / lanes)
        return NULL;
    adx_workspace *work = adx_take_workspace(&m->spare, m->memory,
                                             adx_machine_room(m, lanes));
    if (work == NULL || work->lanes == lanes)
        return work;
    work->lanes = lanes;
    for (size_t i = 0; i < m->presets; i++)
        for (size_t l = 0; l < lanes; l++)
            work->w[m->preset[i].at * lanes + l] = m->preset[i].v;
    return work;
}

// Leaves the memory for the next evaluation, in place of what was left there
// before.
static void adx_give_work(adx_machine *m, adx_workspace *work)
{
    adx_give_workspace(&m->spare, m->memory, work);
}

/* --- many points ------------------------------------------------------------
 * The numbers of all lanes are side by side. Each node is a loop over
 * lanes.                                                                    */

// Adds the lanes that fail at this guard and have not failed before.
static void adx_guard_lanes(const adx_node *s, const ad_real w[],
                            size_t lanes, uint32_t flipped[])
{
    for (size_t l = 0; l < lanes; l++)
        if (flipped[l] == 0 && !adx_same_value(w[s->a * lanes + l],
                                               w[s->b * lanes + l]))
            flipped[l] = s->c + 1;
}

// gcc -O2 vectorises a loop only if it need not test whether arrays overlap
// (bench: gmm-d10, replay, -O2, 0.77), and -O3 writes a loop of up to 16 lanes
// out before it looks for vectors, and then finds none (bench: sparse J, 7
// directions, 0.5). A longer one it writes out as vectors, as it should (bench:
// gmm-d10, replay, 0.83; skin, 0.87).
#if defined __GNUC__ && !defined __clang__
#define ADX_MANY_LANES _Pragma("GCC ivdep")
#define ADX_FEW_LANES  _Pragma("GCC unroll 1") _Pragma("GCC ivdep")
#else
#define ADX_MANY_LANES
#define ADX_FEW_LANES
#endif

// A block of L lanes: all loops have the same constant length, since this is
// inlined where L is known. (bench: burgers, replay, 0.67 of calls of
// adx_map_of.)
ADX_INLINE void adx_run_block(const adx_machine *m, ad_real w[], const size_t L,
                              uint32_t flipped[])
{
    for (const adx_node *s = m->node;; s++)
        switch (s->op & ADX_CODE) {
#define ADX_EACH_LANE(value)                                                \
                for (size_t l = 0; l < L; l++) {                            \
                    ad_real x = a[l];                                       \
                    ad_real y = b[l];                                       \
                    ad_real z = c[l];                                       \
                    (void)x; (void)y; (void)z;                              \
                    r[l] = (ad_real)(value);                                \
                }
#define ADX_BLOCK_DO(value)                                                 \
            do {                                                            \
                ad_real *restrict r = w + s->r * L;                         \
                const ad_real *a = w + s->a * L;                            \
                const ad_real *b = w + s->b * L;                            \
                const ad_real *c = w + s->c * L;                            \
                if (L > 16) {                                               \
                    ADX_MANY_LANES                                          \
                    ADX_EACH_LANE(value)                                    \
                } else {                                                    \
                    ADX_FEW_LANES                                           \
                    ADX_EACH_LANE(value)                                    \
                }                                                           \
            } while (0)
#define ADX_DO(code, value)                                                 \
        case code:                                                          \
            ADX_BLOCK_DO(value);                                            \
            break;
        ADX_EVERY
        ADX_DO(ADX_OP_chain, x * y)
        ADX_FUSED_CHAIN(ADX_DO)
        // There are two loops, so that a product is in memory before it is
        // used, and is not contracted. An asm within a loop would prevent
        // vectors. gcc writes the second loop out as vectors by itself, which
        // is better than a loop (0.31 instead of 0.35 of eight products).
#define ADX_DO_TWICE(code, operator)                                        \
        case code:                                                          \
            ADX_BLOCK_DO(x * y);                                            \
            ADX_ROUNDED_ALL();                                              \
            for (size_t l = 0; l < L; l++)                                  \
                w[s->r * L + l] = w[s->c * L + l] operator w[s->r * L + l]; \
            break;
        ADX_DO_TWICE(ADX_OP_mul_add, +)
        ADX_DO_TWICE(ADX_OP_mul_sub, -)
#undef ADX_DO
#undef ADX_DO_TWICE
#undef ADX_EACH_LANE
#undef ADX_BLOCK_DO
        case ADX_OP_guard:
            adx_guard_lanes(s, w, L, flipped);
            break;
        case ADX_OP_many:
            adx_run_many(m, s, w, L, false, flipped);
            break;
        default:
            return;
        }
}

#undef ADX_MANY_LANES
#undef ADX_FEW_LANES

#define ADX_BLOCK(name, L)                                                  \
    ADX_NOINLINE static void adx_run_block_##name(const adx_machine *m,     \
                                                  ad_real w[],              \
                                                  uint32_t flipped[])       \
    {                                                                       \
        adx_run_block(m, w, L, flipped);                                    \
    }
ADX_BLOCK(4, 4)
ADX_BLOCK(8, 8)
ADX_BLOCK(16, 16)
ADX_BLOCK(most, ADREV_LANES_MOST)
#undef ADX_BLOCK

// Runs the nodes at `lanes` points. flipped[lanes]: 0; or 1 + the guard at
// which the lane failed; or ADX_FAILED: an external node failed.
static void adx_run_lanes(const adx_machine *m, ad_real w[], size_t lanes,
                          bool careful, uint32_t flipped[])
{
    static const struct {
        size_t lanes;
        void (*run)(const adx_machine *m, ad_real w[], uint32_t flipped[]);
    } block[] = {
        { ADREV_LANES_MOST, adx_run_block_most }, { 16, adx_run_block_16 },
        { 8, adx_run_block_8 }, { 4, adx_run_block_4 }
    };
    memset(flipped, 0, lanes * sizeof *flipped);
    for (size_t i = 0; !careful && i < sizeof block / sizeof *block; i++)
        if (lanes == block[i].lanes) {
            block[i].run(m, w, flipped);
            return;
        }
    for (const adx_node *s = m->node; s->op != ADX_OP_end; s++)
        if (s->op == ADX_OP_guard)
            adx_guard_lanes(s, w, lanes, flipped);
        else if (s->op == ADX_OP_many)
            adx_run_many(m, s, w, lanes, careful, flipped);
        else
            adx_map_of(s->op & ADX_CODE, careful)(lanes, w + s->r * lanes,
                                       (adx_stream){ w + s->a * lanes, 1 },
                                       (adx_stream){ w + s->b * lanes, 1 },
                                       (adx_stream){ w + s->c * lanes, 1 });
}

/* === function/functions =====================================================
 * A recorded function: its program, and a machine for each kind of evaluation.
 * A machine is made when its kind is first asked for. Its program is derived
 * from that of the function, made ready for replay (function/places), and then
 * freed.
 *
 *   needs   number/recording tape/memory sweep/session function/api
 *           function/program function/copy function/tangents function/adjoints
 *           function/matrices function/record function/places
 *   offers  adx_kind ADX_KIND_value ADX_KIND_jvp ADX_KIND_vjp ADX_KIND_hvp
 *           ADX_KIND_linear ADX_KIND_hessian ADX_KIND_taylor1 ADX_KIND_taylor2
 *           ADX_KIND_primal ADX_KIND_pullback ADX_KIND_unrolled
 *           ADX_KIND_jacobian_sparse ADX_KIND_hessian_sparse ADX_KINDS
 *           adx_pattern ADX_CHECKED_MOST adx_compiled adx_lanes_of
 *           adx_last_guard adx_count_live adx_because adx_lent adx_lend_arrays
 *           adx_record adx_new_fn adx_make_derived adx_publish_machine
 *           adx_machine_of adx_flip_guard
 * ========================================================================== */

typedef enum adx_kind {
    ADX_KIND_value,             // x -> y
    ADX_KIND_jvp,               // x, v -> dy
    ADX_KIND_vjp,               // x, w -> dx, y
    ADX_KIND_hvp,               // x, w, v -> H v, ...
    ADX_KIND_linear,            // x -> y, J
    ADX_KIND_hessian,           // x, w -> H
    ADX_KIND_taylor1,           // x, v -> Taylor coefficients of order 0, 1
    ADX_KIND_taylor2,           // x, v -> those of order 0, 1, 2
    ADX_KIND_primal,            // x -> y, kept         (function/matrices)
    ADX_KIND_pullback,          // x, w, kept -> dx
    ADX_KIND_unrolled,          // the same for several steps of a loop
    // by machine code only:
    ADX_KIND_jacobian_sparse,   // x -> entries of J
    ADX_KIND_hessian_sparse,    // x, w -> entries of H
    ADX_KINDS
} adx_kind;

typedef struct adx_pattern adx_pattern;
typedef struct adx_series adx_series;

enum { ADX_CHECKED_MOST = 256 };

// The machine code of one kind of evaluation: functions of a library, which
// differ in how many arrays they take. They return 0, or 1 + the number of the
// guard that came out differently.
//
// Code with up to ADX_CHECKED_MOST results checks them itself (checks): if one
// of them, or their sum, is not finite, it returns -1 and has written none.
// Code of functions with arrays (tells) returns -1, too, if a result is not
// finite, but then it has written its results.
typedef struct adx_compiled {
    int (*call_x)(const ad_real *x, ad_real *y, ad_real *work);
    int (*call_xv)(const ad_real *x, const ad_real *v, ad_real *y,
                   ad_real *work);
    int (*call_xwv)(const ad_real *x, const ad_real *w, const ad_real *v,
              ad_real *y, ad_real *work);
    int (*call_matrix)(const ad_real *x, ad_real *y, ad_real *J, ad_real *work);
    // The function at n points side by side, a multiple of ADREV_LANES_MOST and
    // at most adx_lanes_of of them; NULL: there is no such code. Result j of
    // point l is y[j * adx_lanes_of + l]. It does not return 0 if a result, or
    // the sum of a point's results, is not finite.
    long (*block)(const ad_real *const *x, ad_real *y, long n);
    // Does many steps of a loop, from step `first` on; a pullback goes back
    // from it. state: the numbers that are carried on, or their adjoints. kept:
    // the numbers carried on, for each step at distances of `stride`; they are
    // written forwards and read backwards. Behind them, unless tag is NULL,
    // are *tag and the numbers that are handed on. data, sums: other inputs
    // and their adjoints, which for step s lie s * move further on. fixed:
    // parameters. The code ends before a step that would not return 0, that has
    // another tag, or whose adjoints are all 0. Returns how many steps were
    // done.
    long (*loop)(long steps, long first, ad_real *state, ad_real *kept,
                 long stride, const ad_real *tag, const ad_real *const *data,
                 ad_real *const *sums, const long *move, const ad_real *fixed,
                 ad_real *fixed_sums, ad_real *work);
    bool checks, tells;         // see above
    size_t work;                // numbers that a call needs beside x and y
    adx_spare spare;            // memory that is kept for the next call
    adx_spare spare_block;
} adx_compiled;

// How many points a block of machine code has: up to four times as many as a
// replay has lanes, as long as the numbers of the block fit into the nearest
// cache, because each block has a cost of its own. (bench: burgers, compiled,
// 128 points instead of 32, 0.71.)
static size_t adx_lanes_of(size_t inputs, size_t outputs)
{
    size_t bytes = (inputs + outputs) * ADREV_LANES_MOST * sizeof(ad_real);
    return bytes <= 8192 ? 4 * (size_t)ADREV_LANES_MOST
         : bytes <= 16384 ? 2 * (size_t)ADREV_LANES_MOST : ADREV_LANES_MOST;
}

struct ad_fn {
    ad_allocator memory;
    atomic_size_t holders;      // the caller, and recordings; the last of them
                                // to let go frees it
    size_t n, m;
    size_t variables;           // derivatives are by so many, the first inputs
    adx_program program;
    ad_fn *whole;               // the function from which ad_fn_select made
                                // this one; NULL: none
    adx_repeated repeated;      // for a step of a loop
    adx_code_place *guard;      // places of guards; those of `whole`, if that
                                // is not NULL
    char *names;                // names of source files, of a loaded function
    adx_file_name *files;       // the same of functions that it calls
    _Atomic(adx_machine *) machine[ADX_KINDS];      // NULL: not made yet
    _Atomic(adx_pattern *) pattern[2];              // Jacobian, Hessian
    _Atomic(adx_pattern *) thrifty[2];              // the same, for dense ones
    atomic_bool crowded[2];                         // no thrifty one helps
    _Atomic(adx_series *) series;                   // for Taylor coefficients
    void *library;                                  // NULL: not compiled
    void (*unload)(void *library);
    adx_compiled compiled[ADX_KINDS];
};

static ADX_THREAD ad_guard adx_last_guard;

ADX_API ad_guard ad_fn_guard(void) { return adx_last_guard; }

/* --- recording ----------------------------------------------------------- */

ADX_API size_t ad_fn_inputs(const ad_fn *fn) { return fn == NULL ? 0 : fn->n; }
ADX_API size_t ad_fn_outputs(const ad_fn *fn)
{
    return fn == NULL ? 0 : fn->m;
}
ADX_API size_t ad_fn_variables(const ad_fn *fn)
{
    return fn == NULL ? 0 : fn->variables;
}

// Completes the report by the figures that are counted only when they are asked
// for, or that a file had: counting them would slow down recording. False: no
// memory, and these figures stay 0.
static bool adx_count_live(const adx_program *p, ad_fn_report *report)
{
    *report = p->report;
    if (p->counted)
        return true;
    bool *used = (bool *)adx_take(p->memory, p->numbers, sizeof *used);
    if (used == NULL)
        return false;
    size_t live = adx_find_used(p, used);
    report->dead = p->nodes - live;
    // Guards, and nodes that only guards asked for, are all live.
    report->operations = live - p->guards - p->conditions;
    for (size_t i = 0; p->manys > 0 && i < p->nodes; i++)
        report->arrays += p->node[i].op == ADX_OP_many
                       && adx_is_used(p, &p->node[i], used);
    adx_drop(p->memory, used);
    return true;
}

ADX_API ad_fn_report ad_fn_about(const ad_fn *fn)
{
    ad_fn_report report = { 0 };
    if (fn != NULL)
        adx_count_live(&fn->program, &report);
    return report;
}

static ADX_THREAD const char *adx_last_reason;

ADX_API const char *ad_fn_reason(void)
{
    return adx_last_reason == NULL ? ad_message(ADREV_OK) : adx_last_reason;
}

// Notes why a recording has this status, and returns the status. why NULL: the
// message of the status says it.
static ad_status adx_because(ad_status status, const char *why)
{
    adx_last_reason = why == NULL ? ad_message(status) : why;
    return status;
}

// Runs f on a tape with the hooks set, and frees the tape.
static void adx_run_recorded(adx_recorder *r, ad_vector_fn *f, void *ctx,
                             size_t n, ad_rev x[], size_t m, ad_rev y[])
{
    ad_tape *t = ad_tape_new_with(r->p->memory);
    if (t == NULL) {
        adx_spoil(r->p, ADREV_ENOMEM);
        return;
    }
    const ad_hooks hooks = { .trace = adx_record_operation, .user = r,
                             .array = adx_record_array };
    ad_tape *before = ad_use(t);
    r->tape = t;
    for (size_t i = 0; i < n; i++)
        x[i] = ad_input(x[i].v);
    ad_tape_hooks(t, &hooks);
    adx_record_inputs(r, n, x);
    t->observer = n > 0 ? adx_record_node : NULL;
    adx_unset(m, y);
    f(x, y, ctx);
    if (adx_now.tape != t)
        adx_refuse_recording(r, ADREV_EMARK, "the function has made another "
                             "tape current, or none");
    adx_record_outputs(r, t, m, y);
    ad_use(before);
    ad_tape_free(t);
}

// The arrays that f is lent. Behind each are a few numbers that f must not use.
typedef struct adx_lent {
    ad_rev *x;
    ad_rev *y;
} adx_lent;

// False: no memory, or impossible lengths.
static bool adx_lend_arrays(const ad_allocator *a, size_t n, size_t m,
                            adx_lent *lent)
{
    size_t most = SIZE_MAX / 4 / sizeof(ad_rev);
    lent->x = n > most || m > most ? NULL
            : (ad_rev *)adx_take(a, n + m + 2 * ADX_BEYOND, sizeof(ad_rev));
    if (lent->x == NULL)
        return false;
    lent->y = lent->x + n + ADX_BEYOND;
    adx_close_off(n, lent->x);
    adx_close_off(m, lent->y);
    return true;
}

// Records f at x. lent->y becomes what f computed.
static ad_status adx_record(ad_fn *fn, ad_vector_fn *f, void *ctx,
                            const ad_real x[], adx_lent *lent)
{
    adx_program *p = &fn->program;
    adx_recorder r = { .p = p };
    for (size_t i = 0; i < fn->n; i++)
        lent->x[i] = adx_passive(x[i]);
    adx_run_recorded(&r, f, ctx, fn->n, lent->x, fn->m, lent->y);
    adx_drop(p->memory, r.number);
    fn->guard = r.guard;
    fn->files = r.files;
    adx_end_program(p);
    return adx_because(p->status, r.why);
}

// Makes a function without a program. NULL: no memory.
static ad_fn *adx_new_fn(const ad_fn_options *o, size_t n, size_t m)
{
    const ad_allocator *memory = adx_allocator_or(o->allocator);
    ad_fn *fn = memory == NULL ? NULL
                               : (ad_fn *)adx_take(memory, 1, sizeof *fn);
    if (fn == NULL)
        return NULL;
    memset(fn, 0, sizeof *fn);
    fn->memory = *memory;
    atomic_init(&fn->holders, 1);
    fn->n = n;
    fn->m = m;
    fn->variables = n;
    adx_begin_program(&fn->program, &fn->memory, o->plain);
    return fn;
}

/* --- machines ------------------------------------------------------------ */

// Makes the program of J v: the tangent, without the values.
static ad_status adx_make_jvp(adx_program *q, const adx_program *p)
{
    adx_make_tangent(q, p, adx_variables_of(p));
    q->outputs = q->outputs < p->outputs ? q->outputs : p->outputs;
    return q->status;
}

// Makes the program of H v: the tangent of the adjoint.
static ad_status adx_make_hvp(adx_program *q, const adx_program *p,
                              const adx_repeated *step)
{
    adx_program adjoint;
    size_t n = adx_variables_of(p);
    ad_status status = adx_make_adjoint(&adjoint, p, n, step->carried > 0);
    adjoint.outputs = n;                // without the values
    if (status == ADREV_OK)
        status = adx_make_tangent(q, &adjoint, n);
    else
        adx_begin_program(q, p->memory, false);
    q->outputs = q->outputs < n ? q->outputs : n;
    adx_free_program(&adjoint);
    return status;
}

// Derives the program of a kind of evaluation.
static ad_status adx_make_derived(adx_program *q, const ad_fn *fn,
                                  adx_kind kind)
{
    const adx_program *p = &fn->program;
    const adx_repeated *step = &fn->repeated;
    switch (kind) {
    case ADX_KIND_jvp: return adx_make_jvp(q, p);
    case ADX_KIND_vjp:
        return adx_make_adjoint(q, p, adx_variables_of(p), step->carried > 0);
    case ADX_KIND_hvp: return adx_make_hvp(q, p, step);
    case ADX_KIND_taylor1:
        return adx_make_along(q, p, adx_variables_of(p), false);
    case ADX_KIND_taylor2:
        return adx_make_along(q, p, adx_variables_of(p), true);
    case ADX_KIND_linear: return adx_make_jacobian(q, p, true);
    case ADX_KIND_hessian: return adx_make_hessian(q, p);
    case ADX_KIND_primal: return adx_make_primal(q, p, step);
    case ADX_KIND_pullback: return adx_make_pullback(q, p, step);
    case ADX_KIND_unrolled: return adx_make_unrolled(q, p, step);
    default: return adx_make_copy(q, p);
    }
}

// Makes the machine of a kind of evaluation.
static ad_status adx_make_kind(adx_machine **out, const ad_fn *fn,
                               adx_kind kind)
{
    const adx_program *p = &fn->program;
    adx_program made;
    bool itself = kind == ADX_KIND_value;
    ad_status status = ADREV_OK;
    *out = NULL;
    adx_begin_program(&made, p->memory, false);
    if (!itself)
        status = adx_make_derived(&made, fn, kind);
    if (status == ADREV_OK) {
        *out = adx_make_machine(itself ? p : &made);
        status = *out == NULL ? ADREV_ENOMEM : ADREV_OK;
    }
    adx_free_program(&made);
    return status;
}

// Publishes a machine. If another thread has published one first, that one
// stays and is returned.
static adx_machine *adx_publish_machine(ad_fn *fn, adx_kind kind,
                                        adx_machine *m)
{
    adx_machine *other = NULL;
    if (atomic_compare_exchange_strong_explicit(
            &fn->machine[kind], &other, m, memory_order_acq_rel,
            memory_order_acquire))
        return m;
    adx_free_machine(m);
    return other;
}

// Finds the machine of a kind, which is made once. If two threads make it at
// the same time, the one that is done later frees its own.
static ad_status adx_machine_of(ad_fn *fn, adx_kind kind, adx_machine **out)
{
    // acquire: pairs with the release below, which publishes what it points to.
    adx_machine *m = atomic_load_explicit(&fn->machine[kind],
                                          memory_order_acquire);
    if (m == NULL) {
        ad_status status = adx_make_kind(&m, fn, kind);
        if (status != ADREV_OK)
            return status;
        m = adx_publish_machine(fn, kind, m);
    }
    *out = m;
    return ADREV_OK;
}

// Notes for ad_fn_guard that a guard came out differently.
static ad_status adx_flip_guard(const ad_fn *fn, uint32_t guard)
{
    const adx_code_place *at = &fn->guard[guard];
    adx_last_guard = (ad_guard){ guard, at->file, at->line };
    return ADREV_EPATH;
}

/* === function/evaluation ====================================================
 * An evaluation runs one program of a function at one point, or at one point
 * after another: by machine code if there is any, else by a replay. Both
 * compute products of the chain rule as plain products. If a result is not
 * finite, the replay is done again with care. A guard that comes out
 * differently becomes a status. Results are written only when the whole
 * evaluation has succeeded, unless the caller allows otherwise.
 *
 * Value, jvp, vjp, gradient and hvp at one point are one evaluation each, of a
 * program of its own, which is made when it is first asked for. This room also
 * decides whether a whole Jacobian is one program. A call of a function while
 * something is recorded is its value, and a statement.
 *
 *   needs   tape/layout tape/memory array/operands array/linear function/api
 *           function/program function/record function/places function/run
 *           function/functions
 *   offers  adx_given adx_wanted adx_call_compiled adx_has_code adx_evaluation
 *           adx_end_evaluation adx_run_code adx_evaluate_fn
 *           adx_begin_evaluation adx_evaluate_next adx_handed_on adx_lacks
 *           adx_has_external adx_is_short adx_is_linearized adx_linearize
 * ========================================================================== */

// An array of inputs. A machine reads up to three of them, one after the other.
typedef struct adx_given {
    const ad_real *x;
    size_t n;
} adx_given;

// Whether some result is not finite: for such an x, x * 0 is a NaN and spoils
// the sum. There are four sums, because in a single one every addition would
// wait for the one before. (bench: dot, replay, 0.5.)
static bool adx_has_nan(const adx_machine *m, const ad_real w[])
{
    ad_real fault[4] = {0};
    size_t i = 0;
    for (; i + 4 <= m->outputs; i += 4)
        for (size_t k = 0; k < 4; k++)
            fault[k] += w[m->output[i + k]] * 0;
    for (; i < m->outputs; i++)
        fault[0] += w[m->output[i]] * 0;
    return (fault[0] + fault[1]) + (fault[2] + fault[3]) != 0;
}

// Fills in the inputs and replays. Products of the chain rule are plain at
// first. If a zero should have absorbed an infinity, a result is a NaN, and the
// replay is done again with care. The same happens if an external node failed,
// since it may have been given such a NaN. Returns the node at which the replay
// stopped, or NULL.
static const adx_node *adx_run_point(const adx_machine *m, ad_real w[],
                                     size_t gives, const adx_given given[])
{
    const adx_node *stopped = NULL;
    for (int careful = 0; careful < 2; careful++) {
        ad_real *at = w;
        for (size_t i = 0; i < gives; i++) {
            adx_copy_few(given[i].n, given[i].x, at);
            at += given[i].n;
        }
        stopped = careful ? adx_nodes_careful(m, w) : adx_nodes_plain(m, w);
        if (stopped == NULL ? !adx_has_nan(m, w) : stopped->op == ADX_OP_guard)
            break;
    }
    return stopped;
}

// An array of results: n outputs of the machine, from output `from` on.
typedef struct adx_wanted {
    size_t from;
    size_t n;
    ad_real *to;
} adx_wanted;

ADX_INLINE int adx_call_compiled(const adx_compiled *c, size_t gives,
                                 const adx_given given[], ad_real *y,
                                 ad_real *J, ad_real *work)
{
    return J != NULL ? c->call_matrix(given[0].x, y, J, work)
         : gives == 1 ? c->call_x(given[0].x, y, work)
         : gives == 2 ? c->call_xv(given[0].x, given[1].x, y, work)
         : c->call_xwv(given[0].x, given[1].x, given[2].x, y, work);
}

// Whether a kind has machine code. call_matrix is tested first, since
// ad_fn_linearize needs no other. (bench: rotquat, compiled, 0.94.)
static bool adx_has_code(const adx_compiled *c)
{
    return c->call_matrix != NULL || c->call_x != NULL || c->call_xv != NULL
        || c->call_xwv != NULL;
}

static size_t adx_count_wanted(size_t wants, const adx_wanted wanted[])
{
    return wanted[0].n + (wants == 2 ? wanted[1].n : 0);
}

// Whether two arrays overlap. Either may be NULL, so they are compared as
// numbers.
ADX_INLINE bool adx_overlap(const ad_real *x, size_t n, const ad_real *y,
                            size_t m)
{
    uintptr_t p = (uintptr_t)x;
    uintptr_t q = (uintptr_t)y;
    return p < q + m * sizeof *y && q < p + n * sizeof *x;
}

// Whether every result has an array, which overlaps no argument and no other
// result.
ADX_INLINE bool adx_is_apart(size_t gives, const adx_given given[],
                             size_t wants, const adx_wanted wanted[])
{
    if (wants == 2 && adx_overlap(wanted[0].to, wanted[0].n,
                                  wanted[1].to, wanted[1].n))
        return false;
    for (size_t k = 0; k < wants; k++)
        for (size_t i = 0; i < gives; i++)
            if (wanted[k].to == NULL
                || adx_overlap(wanted[k].to, wanted[k].n, given[i].x,
                               given[i].n))
                return false;
    return true;
}

// What an evaluation has taken so far, and must give back.
typedef struct adx_evaluation {
    ad_fn *fn;                  // NULL: the evaluation has not begun
    adx_kind kind;
    adx_workspace *room;        // memory of machine code; NULL: not taken
    adx_machine *machine;       // for replays
    adx_workspace *work;        // memory of the machine; NULL: not taken
} adx_evaluation;

// Takes what a replay needs, if it has not been taken.
static ad_status adx_take_machine(adx_evaluation *e)
{
    if (e->work != NULL)
        return ADREV_OK;
    ad_status status = adx_machine_of(e->fn, e->kind, &e->machine);
    if (status != ADREV_OK)
        return status;
    e->work = adx_take_work(e->machine, 1);
    return e->work == NULL ? ADREV_ENOMEM : ADREV_OK;
}

// Takes memory for machine code, and for `besides` more numbers. False: there
// is none.
static bool adx_take_room(adx_evaluation *e, size_t besides)
{
    adx_compiled *c = &e->fn->compiled[e->kind];
    e->room = adx_take_workspace(&c->spare, &e->fn->memory, c->work + besides);
    return e->room != NULL;
}

// Gives back what was taken.
static void adx_end_evaluation(adx_evaluation *e)
{
    if (e->work != NULL)
        adx_give_work(e->machine, e->work);
    if (e->room != NULL)
        adx_give_workspace(&e->fn->compiled[e->kind].spare, &e->fn->memory,
                           e->room);
    *e = (adx_evaluation){ .fn = NULL };
}

// Evaluates at one point by a replay, and writes the results if no guard and no
// node failed.
static ad_status adx_replay_point(adx_evaluation *e, size_t gives,
                                  const adx_given given[], size_t wants,
                                  const adx_wanted wanted[])
{
    ad_status status = adx_take_machine(e);
    if (status != ADREV_OK)
        return status;
    const adx_machine *m = e->machine;
    const ad_real *w = e->work->w;
    const adx_node *stopped = adx_run_point(m, e->work->w, gives, given);
    for (size_t k = 0; stopped == NULL && k < wants; k++)
        for (size_t i = 0; wanted[k].to != NULL && i < wanted[k].n; i++)
            wanted[k].to[i] = w[m->output[wanted[k].from + i]];
    return stopped == NULL ? ADREV_OK
         : stopped->op == ADX_OP_many ? ADREV_EEXTERNAL
         : adx_flip_guard(e->fn, stopped->c);
}

/* --- one point ----------------------------------------------------------- */

static bool adx_all_wanted_finite(size_t wants, const adx_wanted wanted[])
{
    for (size_t k = 0; k < wants; k++)
        if (!adx_finite_all(wanted[k].n, wanted[k].to))
            return false;
    return true;
}

// Runs machine code that may write results where they belong. If the code does
// not check its results itself, it may write some that are not finite, and a
// replay must then overwrite them. So the memory of the replay is taken first.
// *again: a replay must follow.
static ad_status adx_code_in_place(adx_evaluation *e, size_t gives,
                                   const adx_given given[], size_t wants,
                                   const adx_wanted wanted[], bool *again)
{
    const adx_compiled *c = &e->fn->compiled[e->kind];
    ad_status status = c->checks ? ADREV_OK : adx_take_machine(e);
    if (status != ADREV_OK)
        return status;
    ad_real few[256];           // spares two exchanges
    if (c->work > 256 && !adx_take_room(e, 0))
        return ADREV_ENOMEM;
    int left = adx_call_compiled(c, gives, given, wanted[0].to,
                                 wants == 2 ? wanted[1].to : NULL,
                                 e->room == NULL ? few : e->room->w);
    *again = left < 0
          || (left == 0 && !c->checks && !c->tells
              && !adx_all_wanted_finite(wants, wanted));
    return left <= 0 ? ADREV_OK : adx_flip_guard(e->fn, (uint32_t)left - 1);
}

// Runs machine code whose results are copied to their places when all of them
// are good.
static ad_status adx_code_and_copy(adx_evaluation *e, size_t gives,
                                   const adx_given given[], size_t wants,
                                   const adx_wanted wanted[], bool *again)
{
    const adx_compiled *c = &e->fn->compiled[e->kind];
    size_t results = adx_count_wanted(wants, wanted);
    if (!adx_take_room(e, results))
        return ADREV_ENOMEM;
    ad_real *r = e->room->w;
    int left = adx_call_compiled(c, gives, given, r,
                                 wants == 2 ? r + wanted[0].n : NULL,
                                 r + results);
    *again = left < 0
          || (left == 0 && !c->checks && !c->tells
              && !adx_finite_all(results, r));
    for (size_t i = 0; left == 0 && !*again && i < wants; i++)
        if (wanted[i].n > 0 && wanted[i].to != NULL)
            memcpy(wanted[i].to, r + wanted[i].from, wanted[i].n * sizeof *r);
    return left <= 0 ? ADREV_OK : adx_flip_guard(e->fn, (uint32_t)left - 1);
}

// So many results, or more, are written in place, since copying them takes
// long. (bench: matvec, compiled, 0.61.)
#define ADX_COPIES_MOST 1000

// Runs machine code, if there is any. *again: a replay must do the evaluation
// instead. replays: this kind of program can be replayed.
static ad_status adx_run_code(adx_evaluation *e, bool replays, size_t gives,
                              const adx_given given[], size_t wants,
                              const adx_wanted wanted[], bool *again)
{
    const adx_compiled *c = &e->fn->compiled[e->kind];
    *again = true;
    if (!adx_has_code(c))
        return ADREV_OK;
    bool many = replays && adx_count_wanted(wants, wanted) >= ADX_COPIES_MOST;
    return (c->checks || many) && adx_is_apart(gives, given, wants, wanted)
         ? adx_code_in_place(e, gives, given, wants, wanted, again)
         : adx_code_and_copy(e, gives, given, wants, wanted, again);
}

// The whole of an evaluation: machine code, and a replay if that asks for it.
ADX_NOINLINE static ad_status
adx_evaluate_with_care(ad_fn *fn, adx_kind kind, size_t gives,
                       const adx_given given[], size_t wants,
                       const adx_wanted wanted[])
{
    adx_evaluation e = { .fn = fn, .kind = kind };
    bool again;
    ad_status status = adx_run_code(&e, true, gives, given, wants, wanted,
                                    &again);
    if (status == ADREV_OK && again)
        status = adx_replay_point(&e, gives, given, wants, wanted);
    adx_end_evaluation(&e);
    return status;
}

#define ADX_WORK_AT_ONCE 16

// Does one evaluation. Machine code that checks its results itself and needs
// hardly any memory is called right here, since anything more would take as
// long as a small function does. (bench: rotquat, compiled, 0.65.)
ADX_INLINE ad_status adx_evaluate_fn(ad_fn *fn, adx_kind kind, size_t gives,
                                     const adx_given given[], size_t wants,
                                     const adx_wanted wanted[])
{
    ad_real work[ADX_WORK_AT_ONCE];
    if (fn == NULL)
        return ADREV_ESHAPE;
    for (size_t i = 0; i < gives; i++)
        if (given[i].x == NULL && given[i].n > 0)
            return ADREV_ESHAPE;
    const adx_compiled *c = &fn->compiled[kind];
    if (c->checks && c->work <= ADX_WORK_AT_ONCE
        && adx_is_apart(gives, given, wants, wanted)) {
        int left = adx_call_compiled(c, gives, given, wanted[0].to,
                                     wants == 2 ? wanted[1].to : NULL, work);
        if (left >= 0)
            return left == 0 ? ADREV_OK
                             : adx_flip_guard(fn, (uint32_t)left - 1);
    }
    return adx_evaluate_with_care(fn, kind, gives, given, wants, wanted);
}

/* --- one point after another --------------------------------------------- */

// Begins evaluations at one point after another: takes all memory now, so that
// no call has to look at memory or arguments again. (bench: sir, scan comp,
// 0.58.) False: no memory. adx_end_evaluation must follow, whatever is
// returned.
ADX_INLINE bool adx_begin_evaluation(adx_evaluation *e, ad_fn *fn,
                                     adx_kind kind)
{
    *e = (adx_evaluation){ .fn = fn, .kind = kind };
    return adx_has_code(&fn->compiled[kind]) ? adx_take_room(e, 0)
         : adx_take_machine(e) == ADREV_OK;
}

// Evaluates at the next point. The wanted results must be the first outputs,
// and must not overlap arguments. False: the evaluation failed, and some
// results may have been written.
ADX_INLINE bool adx_evaluate_next(adx_evaluation *e, size_t gives,
                                  const adx_given given[], size_t wants,
                                  const adx_wanted wanted[])
{
    const adx_compiled *c = &e->fn->compiled[e->kind];
    if (e->room == NULL)
        return adx_replay_point(e, gives, given, wants, wanted) == ADREV_OK;
    int left = adx_call_compiled(c, gives, given, wanted[0].to,
                                 wants == 2 ? wanted[1].to : NULL, e->room->w);
    if (left == 0
        && (c->checks || adx_finite_few(wanted[0].n, wanted[0].to)))
        return true;
    return left <= 0
        && adx_replay_point(e, gives, given, wants, wanted) == ADREV_OK;
}

/* --- values and derivatives ----------------------------------------------- */

// How many numbers the primal program hands on to the pullback.
static size_t adx_handed_on(ad_fn *fn)
{
    adx_machine *m;
    return adx_machine_of(fn, ADX_KIND_primal, &m) == ADREV_OK
         ? m->outputs - fn->m : 0;
}

// Whether an array of results is missing.
static bool adx_lacks(const ad_fn *fn, size_t n, const ad_real *array)
{
    return fn == NULL || (n > 0 && array == NULL);
}

ADX_API ad_status ad_fn_eval(ad_fn *fn, const ad_real x[], ad_real y[])
{
    if (adx_lacks(fn, 1, y))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->m, y } };
    return adx_evaluate_fn(fn, ADX_KIND_value, 1, given, 1, wanted);
}

ADX_API ad_status ad_fn_jvp(ad_fn *fn, const ad_real x[], const ad_real v[],
                            ad_real dy[])
{
    if (adx_lacks(fn, 1, dy))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { v, fn->variables } };
    const adx_wanted wanted[] = { { 0, fn->m, dy } };
    return adx_evaluate_fn(fn, ADX_KIND_jvp, 2, given, 1, wanted);
}

ADX_API ad_status ad_fn_vjp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            ad_real dx[])
{
    if (fn == NULL || adx_lacks(fn, fn->variables, dx))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m } };
    const adx_wanted wanted[] = { { 0, fn->variables, dx } };
    return adx_evaluate_fn(fn, ADX_KIND_vjp, 2, given, 1, wanted);
}

static bool adx_has_external(const adx_program *p)
{
    for (size_t i = 0; i < p->manys; i++)
        if (p->many[i].kind == ADX_MANY_external)
            return true;
    return false;
}

// Whether one program for all entries of a matrix is worth its length. It takes
// an eighth of the time of lanes (function/directions) at best, and as long as
// they do at worst, with 16 directions and numbers that depend on all of them.
// But it has to be made first. External statements are a reason against it,
// since they would be called again for each direction.
static bool adx_is_short(const ad_fn *fn, size_t directions)
{
    return directions <= ADREV_LANES_MOST
        && directions * fn->program.nodes <= ADREV_MATRIX_MOST
        && !adx_has_external(&fn->program);
}

// Whether one program computes value and Jacobian.
static bool adx_is_linearized(const ad_fn *fn)
{
    return fn->m == 1 || adx_has_code(&fn->compiled[ADX_KIND_linear])
        || adx_is_short(fn, fn->m < fn->variables ? fn->m : fn->variables);
}

// Computes value and Jacobian; either may be NULL.
static ad_status adx_linearize(ad_fn *fn, const ad_real x[], ad_real y[],
                               ad_real J[])
{
    const adx_given given[] = { { x, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->m, y },
                                  { fn->m, fn->m * fn->variables, J } };
    return adx_evaluate_fn(fn, ADX_KIND_linear, 1, given, 2, wanted);
}

ADX_API ad_status ad_fn_gradient(ad_fn *fn, const ad_real x[], ad_real *y,
                                 ad_real g[])
{
    if (fn == NULL || adx_lacks(fn, fn->variables, g) || fn->m != 1)
        return ADREV_ESHAPE;
    return adx_linearize(fn, x, y, g);
}

ADX_API ad_status ad_fn_hvp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            const ad_real v[], ad_real hv[])
{
    if (fn == NULL || adx_lacks(fn, fn->variables, hv))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m },
                                { v, fn->variables } };
    const adx_wanted wanted[] = { { 0, fn->variables, hv } };
    return adx_evaluate_fn(fn, ADX_KIND_hvp, 3, given, 1, wanted);
}

/* --- calls while recording ------------------------------------------------ */

// Evaluates fn at the values of x. y becomes constants; on failure it stays as
// it is.
static ad_status adx_call_values(ad_fn *fn, const ad_rev x[],
                                 adx_saved_call *call, ad_real v[])
{
    for (size_t i = 0; i < fn->n; i++)
        call->x[i] = x[i].v;
    return ad_fn_eval(fn, call->x, v);
}

// A call that fails has no results, so y becomes NaN. While a function is being
// recorded, these NaNs would be constants of the program at every point. So
// that recording fails, too, unless all arguments are constants, for then the
// call fails at every point.
static ad_status adx_fail_call(const ad_fn *fn, ad_status status,
                               const ad_rev x[], ad_rev y[])
{
    bool moves = false;
    for (size_t i = 0; i < fn->n; i++)
        moves = moves || x[i].job != 0;
    for (size_t i = 0; i < fn->m; i++)
        y[i] = adx_no_result();
    if (moves && adx_now.tape != NULL && adx_now.trace)
        adx_fail(adx_now.tape, status);
    return status;
}

ADX_API ad_status ad_fn_call(ad_fn *fn, const ad_rev x[], ad_rev y[])
{
    if (fn == NULL || y == NULL || (x == NULL && fn->n > 0))
        return ADREV_ESHAPE;
    size_t bytes = sizeof(adx_saved_call) + fn->n * sizeof *x;
    adx_saved_call *call = (adx_saved_call *)adx_take(
        &fn->memory, bytes + fn->m * sizeof(ad_real), 1);
    if (call == NULL)
        return adx_fail_call(fn, ADREV_ENOMEM, x, y);
    ad_real *v = call->x + fn->n;
    call->fn = fn;
    call->program = &fn->program;
    call->guard = fn->guard;
    call->memory = &fn->memory;
    ad_status status = adx_call_values(fn, x, call, v);
    if (status == ADREV_OK) {
        // relaxed: the caller holds it
        atomic_fetch_add_explicit(&fn->holders, 1, memory_order_relaxed);
        status = (ad_external)(&adx_call_rule, call,
                               sizeof *call + fn->n * sizeof(ad_real), fn->n,
                               x, fn->m, v, y);
    } else
        adx_fail_call(fn, status, x, y);
    adx_drop(&fn->memory, call);
    return status;
}

/* === function/directions ====================================================
 * Computes several rows or columns of a matrix at once: each lane has a
 * direction of its own. All lanes have the same point, so a guard fails in
 * every lane or in none.
 *
 *   needs   tape/memory function/api function/places function/arrays
 *           function/run function/functions function/evaluation
 *   offers  adx_directions adx_all_directions adx_fails_late adx_fill_dense
 * ========================================================================== */

// How many lanes n directions take: 4, 8 or 16, for which there are blocks
// (function/run); beyond, n rounded up to a multiple of 4, or the longest block
// if that is faster, even with lanes to spare. The loops of a block have a
// constant length and take half of the time. Calls of the math library gain
// nothing, since they cost the same for each lane, and arrays gain nothing
// either. (bench: skin, replay, 26 directions, 0.25 to 0.5 with 32 lanes
// instead of 28.)
static size_t adx_lanes_for(const adx_machine *m, size_t n)
{
    size_t few = (n + 3) / 4 * 4;
    if (few >= ADREV_LANES_MOST)
        return ADREV_LANES_MOST;
    size_t block = few <= 4 ? 4 : few <= 8 ? 8 : few <= 16 ? 16
                 : ADREV_LANES_MOST;
    bool gains = m->manys == 0 && m->calls * (block - few) < 2 * m->nodes;
    return gains ? block : few;
}

// Directions at one point. One of the given arrays is the direction: a unit
// vector, or the sum of several, whose entries form a group.
typedef struct adx_directions {
    ad_fn *fn;
    adx_kind kind;
    size_t gives;               // given arrays
    adx_given given[3];         // x NULL: the direction
    size_t n;                   // directions
    size_t results;             // of each direction
    const uint32_t *group;      // of each entry of a direction; NULL: its index
} adx_directions;

// Writes the inputs of all lanes. Lane l has direction first + l.
static void adx_fill_lanes(const adx_directions *d, ad_real w[], size_t lanes,
                           size_t first)
{
    for (size_t k = 0; k < d->gives; k++)
        for (size_t i = 0; i < d->given[k].n; i++, w += lanes) {
            const ad_real *x = d->given[k].x;
            ad_real same = x == NULL ? 0 : x[i];
            for (size_t l = 0; l < lanes; l++)
                w[l] = same;
            if (x != NULL)
                continue;               // groups are those of a direction
            size_t own = d->group == NULL ? i : d->group[i];
            if (own >= first && own - first < lanes)
                w[own - first] = 1;
        }
}

// A sum for each lane, so that no addition waits for the one before.
static bool adx_lanes_have_nan(const adx_machine *m, const ad_real w[],
                               size_t lanes)
{
    ad_real fault[ADREV_LANES_MOST] = {0};
    for (size_t i = 0; i < m->outputs; i++) {
        const ad_real *r = w + m->output[i] * lanes;
        for (size_t l = 0; l < lanes; l++)
            fault[l] += r[l] * 0;
    }
    for (size_t l = 0; l < lanes; l++)
        if (fault[l] != 0)
            return true;
    return false;
}

// A function that takes the results of directions first ... first + lanes - 1.
// Result i of lane l is r[output[i]*lanes + l].
typedef void adx_take_fn(void *user, const adx_machine *m, const ad_real r[],
                         size_t lanes, size_t first);

static bool adx_any_failed(const uint32_t flipped[], size_t lanes)
{
    for (size_t l = 0; l < lanes; l++)
        if (flipped[l] == ADX_FAILED)
            return true;
    return false;
}

// Runs all directions, as many at a time as there are lanes. If a result is a
// NaN or an external node fails, these directions are run again with care (see
// adx_run_point).
static ad_status adx_sweep_directions(const adx_directions *d,
                                      const adx_machine *m,
                                      adx_workspace *work, adx_take_fn *take,
                                      void *user)
{
    uint32_t flipped[ADREV_LANES_MOST];
    size_t lanes = work->lanes;

    for (size_t first = 0; first < d->n; first += lanes) {
        bool failed = false;
        for (int careful = 0; careful < 2; careful++) {
            adx_fill_lanes(d, work->w, lanes, first);
            adx_run_lanes(m, work->w, lanes, careful, flipped);
            failed = adx_any_failed(flipped, lanes);
            if (flipped[0] != 0 && !failed)
                return adx_flip_guard(d->fn, flipped[0] - 1);
            if (!failed && !adx_lanes_have_nan(m, work->w, lanes))
                break;
        }
        if (failed)
            return ADREV_EEXTERNAL;
        take(user, m, work->w, lanes, first);
    }
    return ADREV_OK;
}

// Runs all directions. A guard that fails does so in the first lanes already,
// when nothing has been written. But an external node may fail later: see
// adx_fails_late.
static ad_status adx_all_directions(const adx_directions *d,
                                    adx_take_fn *take, void *user)
{
    adx_machine *m;
    if (d->n == 0)
        return ADREV_OK;
    ad_status status = adx_machine_of(d->fn, d->kind, &m);
    if (status != ADREV_OK)
        return status;
    adx_workspace *work = adx_take_work(m, adx_lanes_for(m, d->n));
    if (work == NULL)
        return ADREV_ENOMEM;
    status = adx_sweep_directions(d, m, work, take, user);
    adx_give_work(m, work);
    return status;
}

// A dense matrix: result i of direction j goes to to[i*across + j*down].
typedef struct adx_dense {
    const adx_directions *d;
    ad_real *to;
    size_t across;
    size_t down;
} adx_dense;

static void adx_take_dense(void *user, const adx_machine *m,
                           const ad_real r[], size_t lanes, size_t first)
{
    const adx_dense *k = (const adx_dense *)user;
    size_t left = k->d->n - first < lanes ? k->d->n - first : lanes;
    for (size_t i = 0; i < k->d->results; i++)
        for (size_t l = 0; l < left; l++)
            k->to[i * k->across + (first + l) * k->down] =
                r[m->output[i] * lanes + l];
}

// Whether a direction may fail after others have written their results.
static bool adx_fails_late(const adx_directions *d)
{
    return d->n > ADREV_LANES_MOST && adx_has_external(&d->fn->program);
}

// Computes a dense matrix from all directions. On failure nothing is written.
static ad_status adx_fill_dense(const adx_directions *d, ad_real to[],
                                size_t across, size_t down)
{
    adx_dense k = { d, to, across, down };
    if (!adx_fails_late(d))
        return adx_all_directions(d, adx_take_dense, &k);
    size_t entries = d->n * d->results;
    k.to = (ad_real *)adx_take(&d->fn->memory, entries, sizeof *to);
    if (k.to == NULL)
        return ADREV_ENOMEM;
    ad_status status = adx_all_directions(d, adx_take_dense, &k);
    if (status == ADREV_OK)
        memcpy(to, k.to, entries * sizeof *to);
    adx_drop(&d->fn->memory, k.to);
    return status;
}

/* === function/points ========================================================
 * Evaluates a function at many points, block by block, by machine code or by a
 * replay in lanes. If a block of machine code has a result that is not finite,
 * the block is done again in pieces of as many points as a replay has lanes. A
 * piece that still has such a result is replayed, and the lanes that have one
 * are replayed with care. So a point's bits do not depend on its neighbours.
 *
 * Adjoints are added in an order that does not depend on threads. So they wait
 * until their block is done or, if blocks run in parallel, until all blocks of
 * a batch are done. Then one thread adds them, block by block.
 *
 *   needs   tape/memory parallel/api function/api function/places
 *           function/arrays function/run function/functions
 *   offers  adx_mapping adx_map_all
 * ========================================================================== */

#define ADX_BATCH 64            // a batch has so many times ADREV_LANES_MOST
                                // points

// A call of ad_fn_map or its kin. Threads share it, block by block.
typedef struct adx_mapping {
    ad_fn *fn;
    adx_machine *machine;       // what is replayed
    adx_compiled *compiled;     // what runs in its place; NULL: nothing
    size_t points;
    size_t lanes;               // points of a block
    const ad_column *given[3];  // [given_n[i]] columns of the inputs, in the
    size_t given_n[3];          // order of the machine's: x, then weights or dx
    const ad_column *wanted[2]; // for the first results, and for the next ones
    size_t wanted_n[2];
    bool adds;                  // the first results are adjoints, to be added
    uint32_t *left;             // [points] see ad_fn_map
    ad_real *waiting;           // [blocks of a batch][results][lanes]; or NULL
    size_t first;               // first block of the batch
    bool done[ADX_BATCH];       // in parallel: blocks of the batch that are
                                // done
    atomic_int status;
} adx_mapping;

// Copies the numbers of n lanes. The arrays do not overlap, but gcc 12 makes
// `rep movs` of a memcpy that it knows to be short. (bench: burgers, replay,
// 0.77.)
static void adx_copy_lanes(size_t n, const ad_real from[], ad_real to[])
{
    memmove(to, from, n * sizeof *to);
}

// Fills in an input for n points. Lanes behind the last point repeat that
// point.
static void adx_fill_column(const ad_column *c, size_t point, size_t n,
                            size_t lanes, ad_real *w)
{
    const ad_real *v = c->v + (ptrdiff_t)point * c->step;
    if (c->step == 0) {
        ad_real all = *v;
        for (size_t l = 0; l < lanes; l++)
            w[l] = all;
        return;
    }
    if (c->step == 1)
        adx_copy_lanes(n, v, w);
    else
        for (size_t l = 0; l < n; l++)
            w[l] = v[(ptrdiff_t)l * c->step];
    for (size_t l = n; l < lanes; l++)
        w[l] = w[n - 1];
}

// Memory for one block after another. Parameters, which all points share, are
// filled in for the first block only; otherwise they would take half of the
// time (gmm, bench/).
typedef struct adx_block_memory {
    adx_workspace *work;        // of replays
    bool in_work;               // parameters have been filled in there
    adx_workspace *room;
    // For machine code: pointers to the columns of the inputs. Columns that are
    // not read in place are copied to the room.
    const ad_real **at;
    ad_real *filled;            // [inputs][lanes]
    bool in_room;               // parameters have been filled in there
    ad_real *y;                 // [results][lanes]; NULL: not needed
} adx_block_memory;

// Fills in the inputs of a piece for a replay.
static void adx_fill_block(const adx_mapping *k, size_t point, size_t n,
                           adx_block_memory *own)
{
    ad_real *w = own->work->w;
    for (size_t g = 0; g < 3; g++)
        for (size_t i = 0; i < k->given_n[g]; i++, w += ADREV_LANES_MOST)
            if (k->given[g][i].step != 0 || !own->in_work)
                adx_fill_column(&k->given[g][i], point, n, ADREV_LANES_MOST,
                                w);
    own->in_work = true;
}

// Returns the sum of n lanes, in an order that depends on n only.
static ad_real adx_sum_lanes(size_t n, const ad_real from[])
{
    ad_real sum[8] = {0};
    size_t l = 0;
    for (; l + 8 <= n; l += 8)
        for (size_t i = 0; i < 8; i++)
            sum[i] += from[l + i];
    for (; l < n; l++)
        sum[0] += from[l];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5]))
         + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// Adds contributions to a column of adjoints, point by point. In a column of
// step 0 all points have the same adjoint, which gets their sum.
static void adx_add_column(const ad_column *to, size_t point, size_t n,
                           const ad_real from[])
{
    if (to->v == NULL)
        return;
    ad_real *v = to->v + (ptrdiff_t)point * to->step;
    if (to->step == 0)
        *v += adx_sum_lanes(n, from);
    else if (to->step == 1)
        for (size_t l = 0; l < n; l++)
            v[l] += from[l];
    else
        for (size_t l = 0; l < n; l++)
            v[(ptrdiff_t)l * to->step] += from[l];
}

// Writes a column of results for the lanes in `take`; NULL: for all lanes.
static void adx_store_column(const ad_column *to, size_t point, size_t n,
                             const ad_real from[], const bool take[])
{
    if (to->v != NULL && take == NULL && to->step == 1) {
        adx_copy_lanes(n, from, to->v + point);
        return;
    }
    for (size_t l = 0; to->v != NULL && l < n; l++)
        if (take == NULL || take[l])
            to->v[(ptrdiff_t)(point + l) * to->step] = from[l];
}

// Writes the results of a block that are not adjoints. Those of result r begin
// at from[r * k->lanes].
static void adx_store_block(const adx_mapping *k, size_t point, size_t n,
                            const ad_real from[])
{
    for (size_t g = 0; g < 2; g++)
        for (size_t i = 0; i < k->wanted_n[g]; i++, from += k->lanes)
            if (g != 0 || !k->adds)
                adx_store_column(&k->wanted[g][i], point, n, from, NULL);
}

// Adds the adjoints of a block.
static void adx_add_adjoints(const adx_mapping *k, size_t point, size_t n,
                             const ad_real y[])
{
    for (size_t i = 0; i < k->wanted_n[0]; i++)
        adx_add_column(&k->wanted[0][i], point, n, y + i * k->lanes);
}

// Takes the results of a replay from the lanes in `take`; NULL: from all lanes.
// Adjoints are stored in y, where they wait; if y is NULL, they are added at
// once.
static void adx_take_lanes(const adx_mapping *k, size_t point, size_t n,
                           const ad_real w[], const bool take[], ad_real y[])
{
    const uint32_t *output = k->machine->output;
    for (size_t g = 0; g < 2; g++)
        for (size_t i = 0; i < k->wanted_n[g]; i++) {
            const ad_column *to = &k->wanted[g][i];
            const ad_real *from = w + *output++ * ADREV_LANES_MOST;
            if (g != 0 || !k->adds)
                adx_store_column(to, point, n, from, take);
            else if (y == NULL)
                adx_add_column(to, point, n, from);
            else if (to->v != NULL)
                adx_store_column(&(ad_column){ y + i * k->lanes, 1 }, 0, n,
                                 from, take);
        }
}

// Finds the lanes that have a NaN among their results. Returns whether there
// are any.
static bool adx_lanes_with_nan(const adx_machine *m, const ad_real w[],
                               size_t n, bool nan[])
{
    ad_real fault[ADREV_LANES_MOST] = {0};
    bool any = false;
    for (size_t i = 0; i < m->outputs; i++)
        for (size_t l = 0; l < ADREV_LANES_MOST; l++)
            fault[l] += w[m->output[i] * ADREV_LANES_MOST + l] * 0;
    for (size_t l = 0; l < n; l++) {
        nan[l] = fault[l] != 0;
        any = any || nan[l];
    }
    return any;
}

// Notes the lanes that did not pass a guard. Returns whether there are any.
static bool adx_note_left(adx_mapping *k, size_t point, size_t n,
                          const uint32_t flipped[])
{
    bool any = false;
    for (size_t l = 0; l < n; l++) {
        any = any || flipped[l] != 0;
        if (k->left != NULL)
            k->left[point + l] = flipped[l];
    }
    int none = ADREV_OK;
    if (any)    // relaxed: it is read when all is joined. A failure stays
        atomic_compare_exchange_strong_explicit(&k->status, &none, ADREV_EPATH,
                                                memory_order_relaxed,
                                                memory_order_relaxed);
    return any;
}

// Notes the lanes of `of` in which an external node failed although all was
// done with care, and removes them from `of`.
static void adx_note_failed(adx_mapping *k, size_t point, size_t n,
                            const uint32_t flipped[], bool of[])
{
    for (size_t l = 0; l < n; l++) {
        if (!of[l] || flipped[l] == 0)
            continue;
        of[l] = false;
        if (k->left != NULL)
            k->left[point + l] = flipped[l];
        atomic_store_explicit(&k->status, ADREV_EEXTERNAL,
                              memory_order_relaxed);    // as above
    }
}

// Lanes in which an external node failed count as lanes with a NaN, since they
// may not fail when all is done with care.
static bool adx_forgive_failed(size_t n, uint32_t flipped[], bool nan[])
{
    bool any = false;
    for (size_t l = 0; l < n; l++) {
        if (flipped[l] != ADX_FAILED)
            continue;
        flipped[l] = 0;
        nan[l] = true;
        any = true;
    }
    return any;
}

// Finishes a piece in which some lanes failed at a guard or have a NaN. The
// good lanes give their results first. Then those with a NaN are done again
// with care (see adx_run_point). The adjoints of lanes that failed are 0.
static void adx_map_some(adx_mapping *k, adx_block_memory *own, size_t point,
                         size_t n, uint32_t flipped[], bool nan[], ad_real y[])
{
    ad_real *w = own->work->w;
    bool take[ADREV_LANES_MOST] = {0};
    for (size_t l = 0; l < n; l++) {
        take[l] = flipped[l] == 0 && !nan[l];
        nan[l] = flipped[l] == 0 && nan[l];
    }
    for (size_t i = 0; k->adds && i < k->wanted_n[0]; i++)
        memset(y + i * k->lanes, 0, n * sizeof *y);
    adx_take_lanes(k, point, n, w, take, y);
    adx_fill_block(k, point, n, own);
    adx_run_lanes(k->machine, w, ADREV_LANES_MOST, true, flipped);
    adx_note_failed(k, point, n, flipped, nan);
    adx_take_lanes(k, point, n, w, nan, y);
}

// Says where machine code finds its inputs. Columns whose numbers are side by
// side are read in place (burgers, bench/: copies took half of the time). But
// the code takes `lanes` points, and must not read behind the last one.
static void adx_point_columns(const adx_mapping *k, size_t point, size_t n,
                              size_t lanes, adx_block_memory *own)
{
    const ad_real **at = own->at;
    ad_real *w = own->filled;
    for (size_t g = 0; g < 3; g++)
        for (size_t i = 0; i < k->given_n[g]; i++, w += k->lanes) {
            const ad_column *c = &k->given[g][i];
            bool in_place = c->step == 1 && n == lanes;
            *at++ = in_place ? c->v + point : w;
            if (c->step == 0 && !own->in_room)
                adx_fill_column(c, point, n, k->lanes, w);
            else if (c->step != 0 && !in_place)
                adx_fill_column(c, point, n, lanes, w);
        }
    own->in_room = true;
}

// Evaluates n points by machine code. False: there is none, or a result is not
// finite.
static bool adx_map_compiled(const adx_mapping *k, adx_block_memory *own,
                             size_t point, size_t n, ad_real y[])
{
    size_t lanes = (n + ADREV_LANES_MOST - 1) / ADREV_LANES_MOST
                 * ADREV_LANES_MOST;
    if (k->compiled->block == NULL)
        return false;
    adx_point_columns(k, point, n, lanes, own);
    if (k->compiled->block(own->at, y, (long)lanes) != 0)
        return false;
    for (size_t l = 0; k->left != NULL && l < n; l++)
        k->left[point + l] = 0;
    adx_store_block(k, point, n, y);
    return true;
}

// Evaluates a piece of a block, of up to ADREV_LANES_MOST points, by a replay.
// Returns whether its adjoints have been added at once. They are if the piece
// is the whole block and blocks do not wait for one another. (bench: gmm-d10,
// replay, 0.8 of the way by y.)
static bool adx_map_lanes(adx_mapping *k, adx_block_memory *own, size_t point,
                          size_t n, ad_real y[])
{
    ad_real *w = own->work->w;
    uint32_t flipped[ADREV_LANES_MOST];
    bool nan[ADREV_LANES_MOST];
    if (adx_map_compiled(k, own, point, n, y))
        return false;
    adx_fill_block(k, point, n, own);
    adx_run_lanes(k->machine, w, ADREV_LANES_MOST, false, flipped);
    bool again = adx_lanes_with_nan(k->machine, w, n, nan);
    again = adx_forgive_failed(n, flipped, nan) || again;
    if (adx_note_left(k, point, n, flipped) || again) {
        adx_map_some(k, own, point, n, flipped, nan, y);
        return false;
    }
    bool alone = k->lanes == ADREV_LANES_MOST && k->waiting == NULL;
    adx_take_lanes(k, point, n, w, NULL, alone ? NULL : y);
    return alone;
}

static size_t adx_points_of(const adx_mapping *k, size_t block)
{
    size_t left = k->points - block * k->lanes;
    return left < k->lanes ? left : k->lanes;
}

// Evaluates a block. Its adjoints stay in y[results][lanes] if they wait for
// other blocks; else they are added.
static void adx_map_block(adx_mapping *k, adx_block_memory *own, size_t block,
                          ad_real y[])
{
    size_t point = block * k->lanes;
    size_t n = adx_points_of(k, block);
    bool added = false;         // only if there is a single piece
    if (n <= ADREV_LANES_MOST || !adx_map_compiled(k, own, point, n, y))
        for (size_t l = 0; l < n; l += ADREV_LANES_MOST)
            added = adx_map_lanes(k, own, point + l,
                                  n - l < ADREV_LANES_MOST ? n - l
                                                           : ADREV_LANES_MOST,
                                  y == NULL ? NULL : y + l);
    if (k->adds && k->waiting == NULL && !added)
        adx_add_adjoints(k, point, n, y);
}

static void adx_close_block_memory(const adx_mapping *k, adx_block_memory *own)
{
    adx_give_work(k->machine, own->work);
    if (own->room != NULL)
        adx_give_workspace(&k->compiled->spare_block, &k->fn->memory,
                           own->room);
}

// Takes the memory of one thread. False: there is none.
static bool adx_open_block_memory(const adx_mapping *k, adx_block_memory *own)
{
    adx_machine *m = k->machine;
    size_t pointers = (m->inputs * sizeof(ad_real *) + sizeof(ad_real) - 1)
                    / sizeof(ad_real);
    *own = (adx_block_memory){ .work = adx_take_work(m, ADREV_LANES_MOST) };
    if (own->work == NULL)
        return false;
    if (k->compiled->block == NULL && !k->adds)
        return true;            // a replay has its results in its workspace
    own->room = adx_take_workspace(&k->compiled->spare_block, &k->fn->memory,
                                   (m->inputs + m->outputs) * k->lanes
                                   + pointers + ADX_LINE);
    if (own->room == NULL) {
        adx_give_work(m, own->work);
        return false;
    }
    own->at = (const ad_real **)(void *)own->room->w;
    own->y = adx_align(own->room->w + pointers);
    own->filled = own->y + m->outputs * k->lanes;
    return true;
}

#ifdef ADREV_PARALLEL_H
static ad_real *adx_waiting_of(const adx_mapping *k, size_t block)
{
    return k->waiting + block * k->machine->outputs * k->lanes;
}

// Does the blocks of a batch from `begin` on that are not done yet.
static void adx_map_range(adx_mapping *k, adx_block_memory *own, size_t begin,
                          size_t end)
{
    for (size_t i = begin; i < end; i++) {
        if (!k->done[i])
            adx_map_block(k, own, k->first + i,
                          k->waiting == NULL ? own->y : adx_waiting_of(k, i));
        k->done[i] = true;
    }
}

// Does blocks of a batch with memory of this thread. If there is no memory,
// they stay undone.
static void adx_map_blocks(size_t begin, size_t end, void *user)
{
    adx_mapping *k = (adx_mapping *)user;
    adx_block_memory own;
    if (!adx_open_block_memory(k, &own))
        return;
    adx_map_range(k, &own, begin, end);
    adx_close_block_memory(k, &own);
}

// Does a batch in parallel, unless it is one block. Afterwards blocks for which
// a thread had no memory are done with `own`, and then all adjoints are added
// in order.
static void adx_map_batch(adx_mapping *k, adx_block_memory *own, size_t blocks)
{
    memset(k->done, 0, sizeof k->done);
    if (blocks > 1) {
        ad_tape *before = ad_use(NULL);
        ad_parallel_for(blocks, 4 * ADREV_LANES_MOST / k->lanes, adx_map_blocks,
                        k);
        ad_use(before);
    }
    adx_map_range(k, own, 0, blocks);
    for (size_t b = 0; k->adds && b < blocks; b++)
        adx_add_adjoints(k, (k->first + b) * k->lanes,
                         adx_points_of(k, k->first + b), adx_waiting_of(k, b));
}

// Does all blocks on the pool, batch after batch.
static ad_status adx_map_batches(adx_mapping *k, adx_block_memory *own,
                                 size_t blocks)
{
    size_t most = ADX_BATCH * ADREV_LANES_MOST / k->lanes;
    most = blocks < most ? blocks : most;
    if (k->adds)
        k->waiting = (ad_real *)adx_take(&k->fn->memory, most
            * k->machine->outputs * k->lanes, sizeof *k->waiting);
    if (k->adds && k->waiting == NULL)
        return ADREV_ENOMEM;
    for (; k->first < blocks; k->first += most)
        adx_map_batch(k, own, blocks - k->first < most ? blocks - k->first
                                                        : most);
    adx_drop(&k->fn->memory, k->waiting);
    return ADREV_OK;
}
#else
static ad_status adx_map_batches(adx_mapping *k, adx_block_memory *own,
                                 size_t blocks)
{
    for (size_t b = 0; b < blocks; b++)
        adx_map_block(k, own, b, own->y);
    return ADREV_OK;
}
#endif

// Whether a column that is not optional is missing, or one is longer than an
// array can be.
static bool adx_lacks_columns(size_t n, const ad_column c[], bool optional,
                              size_t points)
{
    if (c == NULL)
        return n > 0 && !optional;
    for (size_t i = 0; i < n; i++) {
        size_t spread = adx_spread_of(1, 0, points, c[i].step);
        if (c[i].v == NULL ? !optional : spread > ADX_MOST_ELEMENTS)
            return true;
    }
    return points > ADX_MOST_ELEMENTS;
}

// Evaluates a kind of program at all points.
static ad_status adx_map_all(adx_mapping *k, adx_kind kind)
{
    ad_status status = adx_machine_of(k->fn, kind, &k->machine);
    if (status != ADREV_OK)
        return status;
    k->compiled = &k->fn->compiled[kind];
    k->lanes = adx_lanes_of(k->machine->inputs, k->machine->outputs);
    atomic_init(&k->status, ADREV_OK);
    adx_block_memory own;
    if (!adx_open_block_memory(k, &own))
        return ADREV_ENOMEM;
    status = adx_map_batches(k, &own, (k->points + k->lanes - 1) / k->lanes);
    adx_close_block_memory(k, &own);
    return status != ADREV_OK ? status
         : (ad_status)atomic_load_explicit(&k->status, memory_order_relaxed);
}

ADX_API ad_status ad_fn_map(ad_fn *fn, size_t points, const ad_column x[],
                            const ad_column y[], uint32_t left[])
{
    if (fn == NULL || adx_lacks_columns(fn->n, x, false, points)
        || adx_lacks_columns(fn->m, y, y != NULL, points))
        return ADREV_ESHAPE;
    adx_mapping k = { .fn = fn, .points = points, .given = { x },
                      .given_n = { fn->n }, .wanted = { y },
                      .wanted_n = { fn->m }, .left = left };
    return adx_map_all(&k, ADX_KIND_value);
}

ADX_API ad_status ad_fn_map_jvp(ad_fn *fn, size_t points, const ad_column x[],
                                const ad_column dx[], const ad_column dy[],
                                uint32_t left[])
{
    if (fn == NULL || adx_lacks_columns(fn->n, x, false, points)
        || adx_lacks_columns(fn->variables, dx, false, points)
        || adx_lacks_columns(fn->m, dy, dy != NULL, points))
        return ADREV_ESHAPE;
    adx_mapping k = { .fn = fn, .points = points, .given = { x, dx },
                      .given_n = { fn->n, fn->variables }, .wanted = { dy },
                      .wanted_n = { fn->m }, .left = left };
    return adx_map_all(&k, ADX_KIND_jvp);
}

ADX_API ad_status ad_fn_map_vjp(ad_fn *fn, size_t points, const ad_column x[],
                                const ad_column w[], const ad_column dx[],
                                const ad_column y[], uint32_t left[])
{
    if (fn == NULL || adx_lacks_columns(fn->n, x, false, points)
        || adx_lacks_columns(fn->m, w, false, points)
        || adx_lacks_columns(fn->variables, dx, dx != NULL, points)
        || adx_lacks_columns(fn->m, y, true, points))
        return ADREV_ESHAPE;
    adx_mapping k = { .fn = fn, .points = points, .given = { x, w },
                      .given_n = { fn->n, fn->m }, .wanted = { dx, y },
                      .wanted_n = { fn->variables, y == NULL ? 0 : fn->m },
                      .adds = true, .left = left };
    return adx_map_all(&k, ADX_KIND_vjp);
}

/* === function/paths =========================================================
 * Collections of functions that were recorded on different paths of one
 * function f.
 *
 * Each path has a list of its guards. Each guard has a hash of all nodes before
 * it. If two paths have the same hash at a guard, but another outcome of it,
 * they do the same up to there, and part there. So if a point leaves a path at
 * a guard, only a path that parts from it at this guard can be right. If such a
 * path is tried and the point leaves it, too, that happens at a later guard; or
 * at the same one, if that has more than two outcomes.
 *
 *   needs   tape/memory core/hash function/api function/program function/run
 *           function/functions
 * ========================================================================== */

// A guard of a path. Paths with the same `before` and another outcome part
// here.
typedef struct adx_branch_point {
    size_t guard;               // its number in the program
    uint64_t before;            // fingerprint of the nodes before it
    ad_real was;                // its outcome
} adx_branch_point;

typedef struct adx_path {
    ad_fn *fn;
    uint64_t fingerprint;       // of all nodes: equal for two recordings of
                                // one path
    adx_branch_point *branch_point;
    size_t branch_points;
} adx_path;

struct ad_traced {
    ad_allocator memory;
    ad_fn_options options;      // of recordings; allocator: &memory
    ad_vector_fn *f;
    void *ctx;
    size_t n, m;                // inputs and results of f
    size_t limit;               // paths that are kept, at most
    size_t paths;
    size_t recordings;          // so far, also of paths that are not kept
    ad_real *y;                 // [m]
    adx_path *path;             // the one used last comes first
    size_t room;
    ad_real *lost;              // [n] if is_lost: a point whose recording does
    bool is_lost;               // not pass its own guards there
};

static void adx_free_path(adx_path *path)
{
    adx_drop(&path->fn->memory, path->branch_point);
    ad_fn_free(path->fn);
}

ADX_API ad_traced *ad_traced_new_with(const ad_fn_options *options,
                                      ad_vector_fn *f, void *ctx, size_t n,
                                      size_t m, size_t limit)
{
    static const ad_fn_options none;
    const ad_fn_options *o = options == NULL ? &none : options;
    const ad_allocator *memory = adx_allocator_or(o->allocator);
    ad_traced *t = memory == NULL ? NULL
                                  : (ad_traced *)adx_take(memory, 1, sizeof *t);
    if (t == NULL)
        return NULL;
    memset(t, 0, sizeof *t);
    t->memory = *memory;
    t->options = *o;
    t->options.allocator = &t->memory;
    t->f = f;
    t->ctx = ctx;
    t->n = n;
    t->m = m;
    t->limit = limit == 0 ? 64 : limit;
    t->y = (ad_real *)adx_take(&t->memory, m, sizeof *t->y);
    t->lost = (ad_real *)adx_take(&t->memory, n, sizeof *t->lost);
    if (t->y == NULL || t->lost == NULL) {
        ad_traced_free(t);
        return NULL;
    }
    return t;
}

#ifndef ADREV_NO_STDLIB
ADX_API ad_traced *ad_traced_new(ad_vector_fn *f, void *ctx, size_t n,
                                 size_t m, size_t limit)
{
    return ad_traced_new_with(NULL, f, ctx, n, m, limit);
}
#endif

ADX_API void ad_traced_free(ad_traced *traced)
{
    if (traced == NULL)
        return;
    for (size_t i = 0; i < traced->paths; i++)
        adx_free_path(&traced->path[i]);
    const ad_allocator memory = traced->memory;
    adx_drop(&memory, traced->path);
    adx_drop(&memory, traced->y);
    adx_drop(&memory, traced->lost);
    adx_drop(&memory, traced);
}

ADX_API size_t ad_traced_paths(const ad_traced *traced, size_t *recordings)
{
    if (recordings != NULL)
        *recordings = traced == NULL ? 0 : traced->recordings;
    return traced == NULL ? 0 : traced->paths;
}

static uint64_t adx_hash_constant(const adx_program *p, uint32_t x, uint64_t h)
{
    if (!adx_is_fixed(p, x))
        return h;
    const ad_real *v = adx_constant_of(p, x);
    return adx_xxh3(v, sizeof *v, h);
}

typedef struct adx_hashing {
    const adx_program *p;
    uint64_t h;
} adx_hashing;

static void adx_hash_read(void *user, uint32_t x)
{
    adx_hashing *k = (adx_hashing *)user;
    k->h = adx_hash_constant(k->p, x, k->h);
}

// Continues the hash h by a node and by the values of the constants that it
// reads. Of a guard only what it compares is hashed, not its outcome.
static uint64_t adx_hash_node(const adx_program *p, const adx_node *s,
                              uint64_t h)
{
    if (s->op == ADX_OP_guard)
        return adx_xxh3(&s->a, sizeof s->a, h);
    adx_hashing k = { p, adx_xxh3(s, sizeof *s, h) };
    const adx_many *m = adx_many_of(p, s);
    if (m != NULL) {
        const uint32_t shape[] = { (uint32_t)m->kind, m->op, m->m, m->k, m->n };
        k.h = adx_xxh3(shape, sizeof shape, k.h);
        k.h = adx_xxh3(m->arg, sizeof m->arg, k.h);
        k.h = adx_xxh3(m->list, adx_listed(m) * sizeof *m->list,
                                   k.h);
        if (m->shared != NULL)
            k.h = adx_xxh3(&m->shared->rule, sizeof m->shared->rule,
                                       k.h);
    }
    adx_visit_reads(p, s, adx_hash_read, &k);
    return k.h;
}

// Lists the guards of a path, and computes its fingerprint. False: no memory.
static bool adx_find_branch_points(adx_path *path)
{
    const adx_program *p = &path->fn->program;
    uint64_t h = 0;
    size_t guards = 0;
    for (size_t i = 0; i < p->nodes; i++)
        guards += p->node[i].op == ADX_OP_guard;
    path->branch_point = (adx_branch_point *)adx_take(&path->fn->memory, guards,
                                            sizeof *path->branch_point);
    if (path->branch_point == NULL)
        return false;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        h = adx_hash_node(p, s, h);
        if (s->op != ADX_OP_guard)
            continue;
        path->branch_point[path->branch_points++] =
            (adx_branch_point){ s->c, h, *adx_constant_of(p, s->b) };
        h = adx_hash_constant(p, s->b, h);
    }
    for (size_t i = 0; i < p->outputs; i++)
        h = adx_hash_constant(p, p->output[i], h);
    path->fingerprint = adx_xxh3(
        p->output, p->outputs * sizeof *p->output, h);
    return true;
}

// Puts a path to the front, in the place of number i.
static void adx_to_front(ad_traced *t, size_t i, adx_path path)
{
    memmove(&t->path[1], &t->path[0], i * sizeof *t->path);
    t->path[0] = path;
}

// Puts a newly recorded path to the front. It replaces an older recording of
// the same path; else, if there are too many paths, the one that has been
// unused for longest. False: no memory, and the path is not kept.
static bool adx_keep_path(ad_traced *t, ad_fn *fn)
{
    adx_path path = { .fn = fn };
    size_t i = 0;
    if (!adx_make_room_for(&t->memory, (void **)&t->path, &t->room, t->paths,
                           sizeof *t->path)
        || !adx_find_branch_points(&path))
        return false;
    while (i < t->paths && t->path[i].fingerprint != path.fingerprint)
        i++;
    if (i < t->paths)
        adx_free_path(&t->path[i]);
    else if (t->paths == t->limit)
        adx_free_path(&t->path[--i]);
    else
        t->paths++;
    adx_to_front(t, i, path);
    return true;
}

// Records f at x. The recorded function may fail at its own guards at this very
// point. Then it is not kept, and f is not recorded at this point again.
static ad_status adx_record_here(ad_traced *t, const ad_real x[], ad_fn **fn)
{
    size_t bytes = t->n * sizeof *x;
    if (t->is_lost && t->n > 0 && x != NULL && memcmp(x, t->lost, bytes) == 0)
        return ADREV_EPATH;
    ad_fn *made;
    ad_status status = ad_fn_record_with(&made, &t->options, t->f, t->ctx,
                                         t->n, x, t->m);
    if (status != ADREV_OK)
        return status;
    t->recordings++;
    status = ad_fn_eval(made, x, t->y);
    if (status == ADREV_EPATH && t->n > 0)
        memcpy(t->lost, x, bytes);
    t->is_lost = t->is_lost || status == ADREV_EPATH;
    if (status == ADREV_EPATH || !adx_keep_path(t, made)) {
        ad_fn_free(made);
        return status == ADREV_EPATH ? status : ADREV_ENOMEM;
    }
    *fn = status == ADREV_OK ? made : NULL;
    return status;
}

// Finds the guard of a path by its number, by bisection. NULL: the path has no
// such guard.
static const adx_branch_point *adx_branch_point_of(const adx_path *path,
                                                   size_t guard)
{
    size_t low = 0;
    size_t high = path->branch_points;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (path->branch_point[middle].guard < guard)
            low = middle + 1;
        else
            high = middle;
    }
    return low < path->branch_points && path->branch_point[low].guard == guard
         ? &path->branch_point[low] : NULL;
}

// Finds the first path, from number i on, that parts from another path at the
// guard where a point left that one. No other path can be that of the point.
static size_t adx_next_path(const ad_traced *t, const adx_branch_point *left,
                            size_t i)
{
    for (; i < t->paths; i++) {
        const adx_branch_point *f =
            adx_branch_point_of(&t->path[i], left->guard);
        if (f != NULL && f->before == left->before
            && !adx_same_value(f->was, left->was))
            break;
    }
    return i;
}

ADX_API ad_status ad_traced_at(ad_traced *traced, const ad_real x[],
                               ad_fn **fn)
{
    if (traced == NULL || fn == NULL)
        return ADREV_ESHAPE;
    *fn = NULL;
    adx_branch_point last = { SIZE_MAX, 0, 0 };
    for (size_t i = 0; i < traced->paths;) {
        adx_path path = traced->path[i];
        ad_status status = ad_fn_eval(path.fn, x, traced->y);
        if (status == ADREV_OK) {
            adx_to_front(traced, i, path);
            *fn = path.fn;
        }
        if (status != ADREV_EPATH)
            return status;
        const adx_branch_point *left =
            adx_branch_point_of(&path, adx_last_guard.index);
        bool same = left == NULL || left->guard == last.guard;
        // At the same guard as before, the paths before i have been tried.
        i = left == NULL ? i + 1
                         : adx_next_path(traced, left, same ? i + 1 : 0);
        last = left == NULL ? last : *left;
    }
    return adx_record_here(traced, x, fn);
}

/* === function/taylor ========================================================
 * Sums, products and quotients have recurrences for their Taylor coefficients,
 * which take d steps for coefficient d. For any other operation v of x, v' = p
 * x' with the partial p, whose own coefficients are found in the same way
 * (Griewank & Walther, chapter 13). So the program is extended by the partials
 * of its nodes, then by the partials of these, and so on. The depth is the
 * order; at that depth only the value of a partial is needed. Orders 1 and 2
 * need none of this: their coefficients are the tangent, and half of its
 * tangent (function/tangents).
 *
 *   needs   tape/memory core/cells function/api function/program function/emit
 *           function/copy function/adjoints function/run function/functions
 *           function/evaluation
 *   offers  adx_free_series
 * ========================================================================== */

// Where a level ends, in nodes and in numbers.
typedef struct adx_series_end {
    size_t nodes;
    size_t numbers;
} adx_series_end;

// A program with its partials. Functions keep them in a list.
struct adx_series {
    adx_series *next;
    adx_program p;              // nodes of one result only
    size_t depth;               // levels of partials
    bool complete;              // further levels would be empty
    adx_series_end *level;           // [depth + 1]
    size_t level_room;
    uint32_t (*partial)[3];     // [node], of those that have no recurrence;
                                // ADX_NOWHERE: zero
    size_t partials, partial_room;
    adx_spare spare;
};

static void adx_free_series(adx_series *t)
{
    while (t != NULL) {
        adx_series *next = t->next;
        const ad_allocator *a = t->p.memory;
        adx_drop_spare(&t->spare, a);
        adx_drop(a, t->level);
        adx_drop(a, t->partial);
        adx_free_program(&t->p);
        adx_drop(a, t);
        t = next;
    }
}

// Coefficient k > 0 of what has a recurrence, from those up to k of x, y and z,
// and those before k of v.
#define ADX_RECURRENCES(DO)                                                 \
    DO(ADREV_OP_add, x[k] + y[k])                                           \
    DO(ADREV_OP_sub, x[k] - y[k])                                           \
    DO(ADREV_OP_neg, -x[k])                                                 \
    DO(ADREV_OP_sqr, adx_convolve(x, x, 0, k))                              \
    DO(ADREV_OP_mul, adx_convolve(x, y, 0, k))                              \
    DO(ADX_OP_chain, adx_convolve(x, y, 0, k))                              \
    DO(ADREV_OP_fma, adx_convolve(x, y, 0, k) + z[k])                       \
    DO(ADREV_OP_div, (x[k] - adx_convolve(y, v, 1, k)) / *y)                \
    DO(ADREV_OP_detach, 0)

// Whether no partials are needed for the coefficients of an operation.
static bool adx_has_recurrence(uint32_t op)
{
    switch (op) {
#define ADX_DO(code, value) case code:
    ADX_RECURRENCES(ADX_DO)
#undef ADX_DO
    case ADX_OP_guard: return true;
    default:           return false;
    }
}

// Makes the partials of node i.
static void adx_find_partials(adx_series *t, size_t i)
{
    adx_program *p = &t->p;
    adx_node s = p->node[i];
    bool done = adx_has_recurrence(s.op);
    const adx_numbers arg[3] = { adx_single(s.a), adx_single(s.b),
                                 adx_single(s.c) };
    for (int k = 0; k < 3; k++) {
        bool none = done || k >= adx_row_of(s.op)->arity
                 || strcmp(adx_row_of(s.op)->partial[k], "0") == 0;
        uint32_t d = none ? ADX_NOWHERE
                   : adx_partial_of(p, 1, s.op, k, arg, adx_single(s.r)).base;
        if (p->status == ADREV_OK)
            t->partial[i][k] = d;
    }
}

// Notes that a level ends here. False: no memory.
static bool adx_end_level(adx_series *t)
{
    adx_program *p = &t->p;
    if (!adx_make_room_for(p->memory, (void **)&t->level, &t->level_room,
                           t->depth, sizeof *t->level)) {
        adx_spoil(p, ADREV_ENOMEM);
        return false;
    }
    t->level[t->depth] = (adx_series_end){ p->nodes, p->numbers };
    return true;
}

// Extends the program by the partials of its nodes, level by level. The nodes
// that a partial adds come at the end of the program: they are the next level,
// and get partials in the next round. There are `depth` rounds, or fewer if
// they add no more.
static void adx_continue_series(adx_series *t, size_t depth)
{
    adx_program *p = &t->p;
    while (adx_end_level(t) && t->depth < depth && !t->complete) {
        size_t end = p->nodes;
        for (; t->partials < end; t->partials++) {
            if (!adx_make_room_for(p->memory, (void **)&t->partial,
                                   &t->partial_room, t->partials,
                                   sizeof *t->partial))
                adx_spoil(p, ADREV_ENOMEM);
            if (p->status == ADREV_OK)
                adx_find_partials(t, t->partials);
            if (p->status != ADREV_OK)
                return;
        }
        t->depth++;
        t->complete = p->nodes == end;
    }
}

// Makes the series for orders up to `depth`.
static ad_status adx_make_series(adx_series **out, ad_fn *fn, size_t depth)
{
    const ad_allocator *a = &fn->memory;
    adx_series *t = (adx_series *)adx_take(a, 1, sizeof *t);
    if (t == NULL)
        return ADREV_ENOMEM;
    memset(t, 0, sizeof *t);
    ad_status status = adx_make_scalar(&t->p, &fn->program, false);
    t->p.fixed = fn->program.fixed;
    if (status == ADREV_OK)
        adx_continue_series(t, depth);
    status = t->p.status;
    adx_end_program(&t->p);
    *out = t;
    if (status != ADREV_OK)
        adx_free_series(t);
    return status;
}

// Finds a series for an order, which is made once. Those that lack partials for
// it stay in the list, since other threads may use them; each is at least twice
// as deep as those after it, so they are few.
static ad_status adx_series_for(ad_fn *fn, size_t order, adx_series **out)
{
    // acquire: pairs with the release below, which publishes what it points to.
    adx_series *head = atomic_load_explicit(&fn->series, memory_order_acquire);
    adx_series *made;
    size_t depth = 4;
    *out = head;
    if (head != NULL && (head->complete || head->depth >= order))
        return ADREV_OK;
    while (depth < order)
        depth *= 2;
    ad_status status = adx_make_series(&made, fn, depth);
    if (status != ADREV_OK)
        return status;
    do
        made->next = head;
    while (!atomic_compare_exchange_weak_explicit(
        &fn->series, &head, made, memory_order_acq_rel, memory_order_acquire));
    *out = made;
    return ADREV_OK;
}

// The coefficients of all numbers.
typedef struct adx_coefficients {
    const adx_series *series;
    size_t order;
    adx_series_end end;              // nodes and numbers that the order needs
    size_t partials;            // nodes of which it needs partials
    ad_real *c;                 // [number][order + 1]
} adx_coefficients;

// The coefficients of number x.
static ad_real *adx_series_of(const adx_coefficients *t, uint32_t x)
{
    return t->c + x * (t->order + 1);
}

// Returns the part of coefficient k of the product x y that terms `from` and
// later of x contribute.
static ad_real adx_convolve(const ad_real x[], const ad_real y[],
                            size_t from, size_t k)
{
    ad_real sum = 0;
    for (size_t i = from; i <= k; i++)
        sum += adx_absorb(x[i], y[k - i]);
    return sum;
}

// Coefficient k > 0 of a v without recurrence: v' is the sum of p x' over the
// arguments x, and k times the coefficient of v is coefficient k - 1 of v'.
// Nodes of the last level have no partials: their coefficients beyond the first
// are not needed.
static ad_real adx_integrate(const adx_coefficients *t, size_t node, size_t k)
{
    const adx_node *s = &t->series->p.node[node];
    const uint32_t *partial = t->series->partial[node];
    ad_real sum = 0;
    for (int a = 0; a < 3 && node < t->partials; a++) {
        if (partial[a] == ADX_NOWHERE)
            continue;
        const ad_real *d = adx_series_of(t, partial[a]);
        const ad_real *x = adx_series_of(t, adx_argument(s, a));
        for (size_t i = 1; i <= k; i++)
            sum += (ad_real)i * adx_absorb(x[i], d[k - i]);
    }
    return sum / (ad_real)k;
}

// Coefficient k of the result of a node, when all before it are known, and
// those up to k of its arguments.
static ad_real adx_coefficient(const adx_coefficients *t, size_t node,
                               size_t k)
{
    const adx_node *s = &t->series->p.node[node];
    const ad_real *v = adx_series_of(t, s->r);
    const ad_real *x = adx_series_of(t, s->a);
    const ad_real *y = adx_series_of(t, s->b);
    const ad_real *z = adx_series_of(t, s->c);
    if (k == 0)
        return adx_compute(s->op, *x, *y, *z);
    switch (s->op) {
#define ADX_DO(code, value) case code: return value;
    ADX_RECURRENCES(ADX_DO)
#undef ADX_DO
    default: return adx_integrate(t, node, k);
    }
}

// Writes the coefficients of constants and inputs.
static void adx_begin_coefficients(const adx_coefficients *t,
                                   const ad_real x[], const ad_real v[])
{
    const adx_program *p = &t->series->p;
    memset(t->c, 0, t->end.numbers * (t->order + 1) * sizeof *t->c);
    for (uint32_t i = 0; i < t->end.numbers; i++)
        if (adx_is_constant_number(p, i))
            *adx_series_of(t, i) = *adx_constant_of(p, i);
        else if (p->from[i] == ADX_FROM_INPUT) {
            adx_series_of(t, i)[0] = x[i];
            adx_series_of(t, i)[1] = i < adx_variables_of(p) ? v[i] : 0;
        }
}

// All coefficients at x in the direction v: k by k, and for each k node by
// node. Returns the guard that is not passed, or NULL.
static const adx_node *adx_run_series(const adx_coefficients *t,
                                      const ad_real x[], const ad_real v[])
{
    const adx_program *p = &t->series->p;
    adx_begin_coefficients(t, x, v);
    for (size_t k = 0; k <= t->order; k++)
        for (size_t i = 0; i < t->end.nodes; i++) {
            const adx_node *s = &p->node[i];
            if (s->op != ADX_OP_guard)
                adx_series_of(t, s->r)[k] = adx_coefficient(t, i, k);
            else if (k == 0 && !adx_same_value(*adx_series_of(t, s->a),
                                               *adx_series_of(t, s->b)))
                return s;
        }
    return NULL;
}

// Writes the coefficients of the results.
static void adx_tell_coefficients(const adx_coefficients *t, ad_real y[])
{
    const adx_program *p = &t->series->p;
    for (size_t i = 0; i < p->outputs; i++)
        for (size_t k = 0; k <= t->order; k++)
            y[k * p->outputs + i] = adx_series_of(t, p->output[i])[k];
}

// Coefficients of any order above 0.
static ad_status adx_taylor_by_series(ad_fn *fn, const ad_real x[],
                                      const ad_real v[], size_t order,
                                      ad_real y[])
{
    adx_series *s;
    ad_status status = adx_series_for(fn, order, &s);
    if (status != ADREV_OK)
        return status;
    size_t depth = s->depth < order ? s->depth : order;
    adx_coefficients t = { s, order, s->level[depth],
                           order > s->depth ? s->partials
                                            : s->level[depth - 1].nodes,
                           NULL };
    adx_workspace *work = t.end.numbers > SIZE_MAX / 16 / (order + 1) ? NULL
        : adx_take_workspace(&s->spare, &fn->memory,
                             t.end.numbers * (order + 1));
    if (work == NULL)
        return ADREV_ENOMEM;
    t.c = work->w;
    const adx_node *stopped = adx_run_series(&t, x, v);
    if (stopped == NULL)
        adx_tell_coefficients(&t, y);
    else
        status = adx_flip_guard(fn, stopped->c);
    adx_give_workspace(&s->spare, &fn->memory, work);
    return status;
}

#define ADX_ORDER_MOST 100000

// Orders 1 and 2 are programs of tangents, which are replayed.
ADX_API ad_status ad_fn_taylor(ad_fn *fn, const ad_real x[],
                               const ad_real v[], size_t order, ad_real y[])
{
    if (fn == NULL || y == NULL || ((x == NULL || v == NULL) && fn->n > 0)
        || order > ADX_ORDER_MOST)
        return ADREV_ESHAPE;
    if (order == 0)
        return ad_fn_eval(fn, x, y);
    if (order > 2)
        return adx_taylor_by_series(fn, x, v, order, y);
    const adx_given given[] = { { x, fn->n }, { v, fn->variables } };
    const adx_wanted wanted[] = { { 0, (order + 1) * fn->m, y } };
    return adx_evaluate_fn(fn, order == 1 ? ADX_KIND_taylor1
                                          : ADX_KIND_taylor2,
                           2, given, 1, wanted);
}

/* === function/compare =======================================================
 * A recording does not see what f does with plain numbers. So f is run again at
 * a nearby point where all guards pass, and the recorded program is replayed
 * there. If the results differ by more than rounding, they depend on something
 * that the recording froze.
 *
 *   needs   number/recording tape/memory sweep/session array/linear
 *           check/differences function/api function/program function/places
 *           function/run function/functions
 *   offers  adx_compare_nearby
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Runs f at x, with constants, on a tape that is freed. The values are in
// lent->y.
static ad_status adx_run_plain(const ad_fn *fn, ad_vector_fn *f, void *ctx,
                               const ad_real x[], adx_lent *lent)
{
    ad_tape *t = ad_tape_new_with(&fn->memory);
    if (t == NULL)
        return ADREV_ENOMEM;
    ad_tape *before = ad_use(t);
    for (size_t i = 0; i < fn->n; i++)
        lent->x[i] = adx_passive(x[i]);
    adx_unset(fn->m, lent->y);
    f(lent->x, lent->y, ctx);
    ad_use(before);
    ad_status status = t->status;
    ad_tape_free(t);
    if (status == ADREV_OK && !(adx_is_closed_off(fn->m, lent->y)
                                && adx_all_set(fn->m, lent->y)))
        status = ADREV_EFROZEN;         // the recorded run did not fail so
    return status;
}

static ad_real adx_larger_of(ad_real a, ad_real b)
{
    return adx_most(adm_fabs(a), adm_fabs(b));
}

// Whether two values differ by at most this part of the larger one.
static bool adx_alike(ad_real a, ad_real b, ad_real part)
{
    return a == b || (a != a && b != b)
        || adm_fabs(a - b) <= part * adx_larger_of(a, b);
}

ADX_API ad_status ad_fn_check(ad_fn *fn, ad_vector_fn *f, void *ctx,
                              const ad_real x[])
{
    adx_lent lent;
    if (fn == NULL || f == NULL || (fn->n > 0 && x == NULL))
        return ADREV_ESHAPE;
    ad_real *y = (ad_real *)adx_take(&fn->memory, fn->m, sizeof *y);
    if (y == NULL || !adx_lend_arrays(&fn->memory, fn->n, fn->m, &lent)) {
        adx_drop(&fn->memory, y);
        return ADREV_ENOMEM;
    }
    ad_status status = ad_fn_eval(fn, x, y);
    if (status == ADREV_OK)
        status = adx_run_plain(fn, f, ctx, x, &lent);
    for (size_t i = 0; status == ADREV_OK && i < fn->m; i++)
        if (!adx_alike(lent.y[i].v, y[i], ADX_NARROW ? ADX_K(1e-3)
                                                     : ADX_K(1e-7)))
            status = ADREV_EFROZEN;
    adx_drop(&fn->memory, lent.x);
    adx_drop(&fn->memory, y);
    return status;
}

// A comparison near x. The program is replayed as it is, with a place of its
// own for each number: to make a machine of it (function/places) would take
// longer than recording it did.
typedef struct adx_nearby {
    adx_machine machine;        // its nodes are those of the program
    const adx_program *p;
    const ad_real *x;
    ad_real *near;              // [n] the nearby point
    ad_real *y;                 // [m] f at x, when it was recorded
    ad_real *r;                 // [m] the program replayed nearby
    ad_real *again;             // [m] and at x, perhaps with other rounding
    ad_real *w;                 // numbers of the replay
} adx_nearby;

// Makes a machine of the nodes of the program itself, and writes an end behind
// them. False: no memory.
static bool adx_borrow_nodes(adx_machine *m, adx_program *p)
{
    *m = (adx_machine){
        .memory = p->memory, .many = p->many, .manys = p->manys,
        .output = p->output, .outputs = p->outputs, .inputs = p->inputs,
        .places = p->numbers
    };
    for (size_t i = 0; i < p->manys; i++)
        adx_need_room(m, &p->many[i]);
    if (!adx_make_room_for(p->memory, (void **)&p->node, &p->node_room,
                           p->nodes, sizeof *p->node))
        return false;
    p->node[p->nodes] = (adx_node){ .op = ADX_OP_end };
    m->node = p->node;
    m->nodes = p->nodes;
    return true;
}

// Replays the program at x. False: a guard fails, or a node does.
static bool adx_run_recording(const adx_nearby *c, const ad_real x[],
                              ad_real y[])
{
    const adx_program *p = c->p;
    memcpy(c->w, x, p->inputs * sizeof *x);
    for (size_t i = p->inputs; i < p->numbers; i++)
        if (adx_is_constant_number(p, i))
            c->w[i] = *adx_constant_of(p, (uint32_t)i);
    if (adx_nodes_plain(&c->machine, c->w) != NULL)
        return false;
    for (size_t i = 0; i < p->outputs; i++)
        y[i] = c->w[p->output[i]];
    return true;
}

// Moves each input up or down at random, by this part of its size. An input of
// 0 moves up by `part` itself.
static void adx_move_nearby(const adx_nearby *c, ad_real part)
{
    uint32_t random = 1;
    for (size_t i = 0; i < c->p->inputs; i++) {
        random = random * 1664525u + 1013904223u;
        ad_real by = c->x[i] == 0 ? part : part * c->x[i];
        c->near[i] = c->x[i] + (random >> 31 && c->x[i] != 0 ? -by : by);
    }
}

// Finds a nearby point where all guards pass and all results are finite; large
// moves are tried first. False: none of the points tried is one.
static bool adx_find_nearby(const adx_nearby *c)
{
    static const double part[] = { 0x1p-3, 0x1p-7, 0x1p-13 };
    for (size_t k = 0; k < 3; k++) {
        adx_move_nearby(c, (ad_real)part[k]);
        if (adx_run_recording(c, c->near, c->r)
            && adx_finite_all(c->p->outputs, c->r))
            return true;
    }
    return false;
}

// Whether any result of f at the nearby point differs from that of the program
// by more than rounding. Three things count as rounding: the error of a few
// operations; a small part of the change of the result from x to there; and 64
// times the difference at x itself, where f and the program agree except for
// rounding.
static bool adx_differs(const adx_nearby *c, const adx_lent *lent)
{
    const ad_real few = 1024 * ADX_EPSILON;
    bool replayed = false;
    for (size_t i = 0; i < c->p->outputs; i++) {
        ad_real v = lent->y[i].v;
        ad_real change = adx_larger_of(v - c->y[i], c->r[i] - c->y[i]);
        ad_real off = adm_fabs(v - c->r[i]);
        if (adx_alike(v, c->r[i], few) || off <= ADX_TIGHT * change)
            continue;
        if (!replayed && !adx_run_recording(c, c->x, c->again))
            return false;
        replayed = true;
        if (!(off <= 64 * adm_fabs(c->again[i] - c->y[i])))
            return true;
    }
    return false;
}

// Compares f with the program at a nearby point. lent->y has the results of f
// at x, from the recording. If guards fail at all points that are tried,
// nothing is compared.
static ad_status adx_compare_nearby(ad_fn *fn, ad_vector_fn *f, void *ctx,
                                    const ad_real x[], adx_lent *lent)
{
    adx_nearby c = { .p = &fn->program, .x = x };
    if (!adx_borrow_nodes(&c.machine, &fn->program))
        return ADREV_ENOMEM;
    ad_real *all = (ad_real *)adx_take(&fn->memory, fn->n + 3 * fn->m
                                       + adx_machine_room(&c.machine, 1),
                                       sizeof *all);
    if (all == NULL)
        return ADREV_ENOMEM;
    c.near = all;
    c.y = c.near + fn->n;
    c.r = c.y + fn->m;
    c.again = c.r + fn->m;
    c.w = c.again + fn->m;
    for (size_t i = 0; i < fn->m; i++)
        c.y[i] = lent->y[i].v;
    ad_status status = ADREV_OK;
    if (adx_find_nearby(&c)) {
        status = adx_run_plain(fn, f, ctx, c.near, lent);
        if (status == ADREV_OK && adx_differs(&c, lent))
            status = ADREV_EFROZEN;
    }
    adx_drop(&fn->memory, all);
    return status;
}

ADX_SELDOM_END

/* === function/pattern =======================================================
 * The sparsity patterns of Jacobians and Hessians: which entries can be other
 * than zero. Colourings are in function/colour, values in function/plans.
 * (Gebremedhin, Manne & Pothen, What color is your Jacobian?)
 *
 * Row i of the pattern of a Jacobian has the inputs on which output i depends.
 * Sets of outputs are propagated back through the program, 64 outputs at a
 * time, as the bits of a word.
 *
 * An entry of a Hessian comes from a node that is curved in two of its
 * arguments (a second partial is not zero): each input on which the first
 * argument depends is paired with each input of the second. So the sets of
 * inputs of such arguments are propagated forwards, and the pairs are
 * collected.
 *
 * A pattern is of the program, not of a point: an entry that is zero everywhere
 * by cancellation is in it, and none is ever missing.
 *
 *   needs   tape/memory core/cells function/program function/emit
 *           function/copy
 *   offers  adx_entries adx_free_graph adx_new_graph adx_transpose
 *           adx_jacobian_graph adx_hessian_graph
 * ========================================================================== */

/* --- lists --------------------------------------------------------------- */

// Entries are counted in 32 bits. Tests set a lower limit.
#ifndef ADX_ENTRIES_MOST
#define ADX_ENTRIES_MOST UINT32_MAX
#endif

// A list that grows.
typedef struct adx_index_list {
    const ad_allocator *memory;
    uint32_t *v;
    size_t n;
    size_t room;
    bool failed;                // an entry was lost: no memory, or full
    bool full;                  // the limit is reached
} adx_index_list;

static void adx_list_add(adx_index_list *l, uint32_t v)
{
    l->full = l->full || l->n >= ADX_ENTRIES_MOST;
    if (!l->failed && !l->full
        && adx_make_room_for(l->memory, (void **)&l->v, &l->room, l->n,
                             sizeof *l->v))
        l->v[l->n++] = v;
    else
        l->failed = true;
}

// A pattern by rows: the columns of row i are col[start[i]] up to start[i + 1].
typedef struct adx_entries {
    size_t rows;
    size_t cols;
    uint32_t *start;            // [rows + 1]
    uint32_t *col;
} adx_entries;

static void adx_free_graph(const ad_allocator *a, adx_entries *g)
{
    adx_drop(a, g->start);
    adx_drop(a, g->col);
    memset(g, 0, sizeof *g);
}

static bool adx_new_graph(const ad_allocator *a, adx_entries *g, size_t rows,
                          size_t cols, size_t entries)
{
    g->rows = rows;
    g->cols = cols;
    g->start = (uint32_t *)adx_take(a, rows + 1, sizeof *g->start);
    g->col = (uint32_t *)adx_take(a, entries, sizeof *g->col);
    if (g->start != NULL)
        memset(g->start, 0, (rows + 1) * sizeof *g->start);
    return g->start != NULL && g->col != NULL;
}

// Transposes a pattern, by a counting sort. The rows of the result are sorted,
// so transposing twice sorts a pattern.
static bool adx_transpose(const ad_allocator *a, const adx_entries *g,
                          adx_entries *t)
{
    if (!adx_new_graph(a, t, g->cols, g->rows, g->start[g->rows]))
        return false;
    for (size_t i = 0; i < g->start[g->rows]; i++)
        t->start[g->col[i] + 1]++;
    for (size_t i = 0; i < t->rows; i++)
        t->start[i + 1] += t->start[i];
    for (uint32_t i = 0; i < g->rows; i++)
        for (uint32_t k = g->start[i]; k < g->start[i + 1]; k++)
            t->col[t->start[g->col[k]]++] = i;
    memmove(t->start + 1, t->start, t->rows * sizeof *t->start);
    t->start[0] = 0;
    return true;
}

static bool adx_sort_graph(const ad_allocator *a, adx_entries *g)
{
    adx_entries t = {0};
    adx_entries sorted = {0};
    bool ok = adx_transpose(a, g, &t) && adx_transpose(a, &t, &sorted);
    adx_free_graph(a, &t);
    adx_free_graph(a, ok ? g : &sorted);
    if (ok)
        *g = sorted;
    return ok;
}

/* --- the pattern of a Jacobian ------------------------------------------- */

// Whether an operation has a derivative by argument i.
static bool adx_has_partial(uint32_t op, int i)
{
    return op != ADX_OP_guard && i < adx_row_of(op)->arity
        && strcmp(adx_row_of(op)->partial[i], "0") != 0;
}

// Adds to a list the inputs on which number x depends, by a depth-first search
// where met[] is `now` for the numbers that it has met.
static void adx_collect_inputs(const adx_program *p, uint32_t x,
                               uint32_t met[], uint32_t now,
                               adx_index_list *stack, adx_index_list *to)
{
    adx_list_add(stack, x);
    while (stack->n > 0 && !stack->failed) {
        uint32_t i = stack->v[--stack->n];
        if (met[i] == now)
            continue;
        met[i] = now;
        uint32_t from = p->from[i];
        if (from == ADX_FROM_INPUT)
            adx_list_add(to, i);
        else if (from < ADX_FROM_INPUT)
            for (int k = 0; k < 3; k++)
                if (adx_has_partial(p->node[from].op, k))
                    adx_list_add(stack, adx_argument(&p->node[from], k));
    }
}

// Whether x is an input. The inputs are the first numbers.
static bool adx_is_variable(const adx_program *p, uint32_t x)
{
    return p->from[x] == ADX_FROM_INPUT && x < adx_variables_of(p);
}

// Outputs that are propagated together: each is a bit of a word.
#define ADX_REACH 64

typedef struct adx_reaching {
    const adx_program *p;
    uint32_t *met;             // [number] see adx_visit_reach
    uint64_t *bits;             // [number] the outputs that depend on it
    adx_index_list stack;
    adx_index_list order;       // numbers, each after those it is made from
    adx_index_list to;          // columns of the graph
} adx_reaching;

// Appends to `order` the number x and all numbers from which it is made, as far
// as they are not there yet, by a depth-first search with a stack of its own. A
// number is appended when it is met for the second time, behind its arguments.
// met[] is below `now` before that, `now` while the number waits for its
// arguments, and now + 1 afterwards.
static void adx_visit_reach(adx_reaching *k, uint32_t x, uint32_t now)
{
    adx_list_add(&k->stack, x);
    while (k->stack.n > 0 && !k->stack.failed) {
        uint32_t i = k->stack.v[k->stack.n - 1];
        uint32_t from = k->p->from[i];
        if (k->met[i] >= now) {
            k->stack.n--;
            if (k->met[i] == now)
                adx_list_add(&k->order, i);
            k->met[i] = now + 1;
            continue;
        }
        k->met[i] = now;
        k->bits[i] = 0;
        for (int a = 0; a < 3 && from < ADX_FROM_INPUT; a++) {
            const adx_node *s = &k->p->node[from];
            if (adx_has_partial(s->op, a) && k->met[adx_argument(s, a)] < now)
                adx_list_add(&k->stack, adx_argument(s, a));
        }
    }
}

// Writes the rows first ... first + n - 1 of the pattern. Output first + i
// begins with bit i. The nodes that any of these outputs needs are visited
// once, from the last to the first, and each gives its bits to its arguments.
// Then bit r of an input says whether row first + r has an entry for it.
static void adx_reach_rows(adx_reaching *k, uint32_t first, uint32_t n,
                           uint32_t start[])
{
    const adx_program *p = k->p;
    size_t inputs = 0;
    k->order.n = 0;
    for (uint32_t i = 0; i < n; i++)
        adx_visit_reach(k, p->output[first + i],
                        2 * (first / ADX_REACH + 1));
    if (k->stack.failed || k->order.failed)
        return;
    for (uint32_t i = 0; i < n; i++)
        k->bits[p->output[first + i]] |= (uint64_t)1 << i;
    for (size_t i = k->order.n; i-- > 0;) {
        uint32_t x = k->order.v[i];
        uint32_t from = p->from[x];
        for (int a = 0; a < 3 && from < ADX_FROM_INPUT; a++)
            if (adx_has_partial(p->node[from].op, a))
                k->bits[adx_argument(&p->node[from], a)] |= k->bits[x];
    }
    for (size_t i = 0; i < k->order.n; i++)
        if (adx_is_variable(p, k->order.v[i]))
            k->order.v[inputs++] = k->order.v[i];
    for (uint32_t r = 0; r < n; r++) {
        start[first + r] = (uint32_t)k->to.n;
        for (size_t i = 0; i < inputs; i++)
            if (k->bits[k->order.v[i]] >> r & 1)
                adx_list_add(&k->to, k->order.v[i]);
    }
}

static bool adx_reach_all(adx_reaching *k, uint32_t start[])
{
    uint32_t m = (uint32_t)k->p->outputs;
    memset(k->met, 0, k->p->numbers * sizeof *k->met);
    for (uint32_t i = 0; i < m; i += ADX_REACH)
        adx_reach_rows(k, i, m - i < ADX_REACH ? m - i : ADX_REACH, start);
    start[m] = (uint32_t)k->to.n;
    return !k->stack.failed && !k->order.failed && !k->to.failed;
}

// Finds the pattern of the Jacobian of a program without array nodes.
static bool adx_jacobian_graph(adx_program *p, adx_entries *g)
{
    const ad_allocator *a = p->memory;
    adx_reaching k = { .p = p, .stack = { .memory = a },
                       .order = { .memory = a }, .to = { .memory = a } };
    uint32_t *start = (uint32_t *)adx_take(a, p->outputs + 1, sizeof *start);
    k.met = (uint32_t *)adx_take(a, p->numbers, sizeof *k.met);
    k.bits = (uint64_t *)adx_take(a, p->numbers, sizeof *k.bits);
    bool ok = k.met != NULL && k.bits != NULL && start != NULL
           && adx_reach_all(&k, start)
           && adx_new_graph(a, g, p->outputs, adx_variables_of(p), k.to.n);
    if (ok) {
        memcpy(g->start, start, (p->outputs + 1) * sizeof *start);
        if (k.to.n > 0)
            memcpy(g->col, k.to.v, k.to.n * sizeof *k.to.v);
        ok = adx_sort_graph(a, g);
    }
    if (!ok && k.to.full)
        adx_spoil(p, ADREV_ELIMIT);
    adx_drop(a, k.stack.v);
    adx_drop(a, k.order.v);
    adx_drop(a, k.to.v);
    adx_drop(a, k.met);
    adx_drop(a, k.bits);
    adx_drop(a, start);
    return ok;
}

/* --- the pattern of a Hessian -------------------------------------------- */

// Returns in which pairs of arguments an operation is curved. Bit 3i + j says
// that the partial with respect to argument i depends on argument j. To find
// out, the partials are made in a program of their own, whose inputs are the
// arguments.
static unsigned adx_curvature_of(uint32_t op, const ad_allocator *a,
                                 ad_status *status)
{
    adx_program p;
    unsigned bits = 0;
    adx_begin_program(&p, a, true);
    adx_new_inputs(&p, 3);
    uint32_t v = adx_emit(&p, op, 0, 1, 2);
    const adx_numbers arg[3] = { adx_single(0), adx_single(1), adx_single(2) };
    for (int i = 0; i < adx_row_of(op)->arity && p.status == ADREV_OK; i++) {
        adx_index_list stack = { .memory = a };
        adx_index_list to = { .memory = a };
        uint32_t d = adx_partial_of(&p, 1, op, i, arg, adx_single(v)).base;
        uint32_t *met = (uint32_t *)adx_take(a, p.numbers, sizeof *met);
        if (met != NULL && p.status == ADREV_OK) {
            memset(met, 0, p.numbers * sizeof *met);
            adx_collect_inputs(&p, d, met, 1, &stack, &to);
        }
        if (met == NULL || stack.failed || to.failed)
            adx_spoil(&p, ADREV_ENOMEM);
        for (size_t k = 0; k < to.n; k++)
            bits |= 1u << (3 * (unsigned)i + to.v[k]);
        adx_drop(a, met);
        adx_drop(a, stack.v);
        adx_drop(a, to.v);
    }
    *status = p.status;
    adx_free_program(&p);
    return bits;
}

// For each number the sorted set of inputs on which it depends: n[x] items from
// at[x] on. Equal sets share their items where that is noticed.
typedef struct adx_sets {
    const adx_program *p;
    adx_index_list item;        // inputs of all sets
    uint32_t *at;
    uint32_t *n;
    bool *wanted;               // numbers whose set matters
    unsigned *curved;           // [op] pairs of arguments: adx_curvature_of
} adx_sets;

// Makes the set of number x the union of the sets of a and b. They are merged
// behind all items. If one of them turns out to contain the other, x shares
// that one instead.
static void adx_unite(adx_sets *k, uint32_t x, uint32_t a, uint32_t b)
{
    if (k->n[a] == 0 || a == b || k->n[b] == 0) {
        uint32_t from = k->n[a] == 0 ? b : a;
        uint32_t at = k->at[from];
        k->n[x] = k->n[from];
        k->at[x] = at;
        return;
    }
    uint32_t start = (uint32_t)k->item.n;
    uint32_t i = 0;
    uint32_t j = 0;
    while (i < k->n[a] || j < k->n[b]) {
        uint32_t u = i < k->n[a] ? k->item.v[k->at[a] + i] : UINT32_MAX;
        uint32_t v = j < k->n[b] ? k->item.v[k->at[b] + j] : UINT32_MAX;
        adx_list_add(&k->item, u < v ? u : v);
        if (k->item.failed)
            return;
        i += u <= v;
        j += v <= u;
    }
    uint32_t n = (uint32_t)k->item.n - start;
    uint32_t whole = n == k->n[a] ? a : b;
    if (n == k->n[whole]) {             // it had all of the other
        k->item.n = start;
        start = k->at[whole];
    }
    k->at[x] = start;
    k->n[x] = n;
}

static void adx_unite_arguments(adx_sets *k, const adx_node *s)
{
    k->n[s->r] = 0;
    for (int i = 0; i < 3; i++)
        if (adx_has_partial(s->op, i))
            adx_unite(k, s->r, s->r, adx_argument(s, i));
}

// Finds the numbers whose set matters: the arguments in which an operation is
// curved, and all numbers from which these are made. A sum of n terms that no
// curved operation uses needs no set.
static void adx_find_wanted(adx_sets *k, const bool used[])
{
    const adx_program *p = k->p;
    memset(k->wanted, 0, p->numbers * sizeof *k->wanted);
    for (size_t i = p->nodes; i-- > 0;) {
        const adx_node *s = &p->node[i];
        if (s->op == ADX_OP_guard || !used[s->r])
            continue;
        unsigned curved = k->curved[s->op];
        for (int j = 0; j < 3; j++)
            if (adx_has_partial(s->op, j)
                && (k->wanted[s->r] || (curved >> (3 * j) & 7) != 0
                    || (curved >> j & 0111) != 0))
                k->wanted[adx_argument(s, j)] = true;
    }
}

// Makes a pattern of n rows from a list of pairs: sorted, each pair once.
static bool adx_graph_of_pairs(const ad_allocator *a,
                               const adx_index_list *pairs, size_t n,
                               adx_entries *g)
{
    if (!adx_new_graph(a, g, n, n, pairs->n / 2))
        return false;
    for (size_t i = 0; i < pairs->n; i += 2)
        g->start[pairs->v[i] + 1]++;
    for (size_t i = 0; i < n; i++)
        g->start[i + 1] += g->start[i];
    for (size_t i = 0; i < pairs->n; i += 2)
        g->col[g->start[pairs->v[i]]++] = pairs->v[i + 1];
    memmove(g->start + 1, g->start, n * sizeof *g->start);
    g->start[0] = 0;
    if (!adx_sort_graph(a, g))
        return false;
    uint32_t to = 0;
    for (size_t i = 0, from = 0; i < n; i++) {
        size_t end = g->start[i + 1];
        uint32_t first = to;
        for (; from < end; from++)
            if (to == first || g->col[to - 1] != g->col[from])
                g->col[to++] = g->col[from];
        g->start[i + 1] = to;
    }
    return true;
}

// Pairs every input of a with every input of b, in the lower triangle.
static void adx_add_pairs(const adx_sets *k, uint32_t a, uint32_t b,
                          adx_index_list *pairs)
{
    for (uint32_t i = 0; i < k->n[a]; i++)
        for (uint32_t j = 0; j < k->n[b]; j++) {
            uint32_t x = k->item.v[k->at[a] + i];
            uint32_t y = k->item.v[k->at[b] + j];
            adx_list_add(pairs, x > y ? x : y);
            adx_list_add(pairs, x > y ? y : x);
        }
}

// Removes the repetitions from a list of pairs.
static void adx_thin_pairs(adx_index_list *pairs, size_t inputs)
{
    adx_entries g = {0};
    if (pairs->failed || !adx_graph_of_pairs(pairs->memory, pairs, inputs, &g))
        pairs->failed = true;
    pairs->n = 0;
    for (uint32_t i = 0; i < inputs && !pairs->failed; i++)
        for (uint32_t k = g.start[i]; k < g.start[i + 1]; k++) {
            adx_list_add(pairs, i);
            adx_list_add(pairs, g.col[k]);
        }
    adx_free_graph(pairs->memory, &g);
}

// Visits the nodes from the first to the last. The set of a result is the union
// of the sets of the arguments; where the operation is curved, pairs are added.
// Many nodes add the same pairs, so the list is cleared of repetitions whenever
// it has doubled.
static void adx_find_pairs(adx_sets *k, const bool used[],
                           adx_index_list *pairs)
{
    const adx_program *p = k->p;
    size_t most = 4096 + 8 * p->inputs;
    for (uint32_t i = 0; i < p->numbers; i++)
        if (adx_is_variable(p, i)) {
            k->at[i] = (uint32_t)k->item.n;
            k->n[i] = 1;
            adx_list_add(&k->item, i);
        } else
            k->n[i] = 0;
    for (size_t i = 0; i < p->nodes && !k->item.failed && !pairs->failed;
         i++) {
        const adx_node *s = &p->node[i];
        if (s->op == ADX_OP_guard || !used[s->r])
            continue;
        if (k->wanted[s->r])
            adx_unite_arguments(k, s);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b <= a; b++)
                if (k->curved[s->op] >> (3 * a + b) & 1
                    || k->curved[s->op] >> (3 * b + a) & 1)
                    adx_add_pairs(k, adx_argument(s, a), adx_argument(s, b),
                                  pairs);
        if (pairs->n > most) {
            adx_thin_pairs(pairs, p->inputs);
            most = most > 2 * pairs->n ? most : 2 * pairs->n;
        }
    }
}

// Finds the pattern of the lower triangle of the Hessian, for any weights, of a
// program without array nodes.
static bool adx_hessian_graph(adx_program *p, adx_entries *g)
{
    const ad_allocator *a = p->memory;
    unsigned curved[ADX_OP_COUNT];
    ad_status status = ADREV_OK;
    adx_index_list pairs = { .memory = a };
    adx_sets k = { .p = p, .item = { .memory = a }, .curved = curved };
    k.at = (uint32_t *)adx_take(a, p->numbers, sizeof *k.at);
    k.n = (uint32_t *)adx_take(a, p->numbers, sizeof *k.n);
    k.wanted = (bool *)adx_take(a, p->numbers, sizeof *k.wanted);
    bool *used = (bool *)adx_take(a, p->numbers, sizeof *used);
    bool ok = k.at != NULL && k.n != NULL && k.wanted != NULL && used != NULL;
    for (uint32_t op = 0; op < ADX_OP_COUNT && ok; op++) {
        curved[op] = adx_curvature_of(op, a, &status);
        ok = status == ADREV_OK;
    }
    if (ok) {
        adx_find_used(p, used);
        adx_find_wanted(&k, used);
        adx_find_pairs(&k, used, &pairs);
        ok = !k.item.failed && !pairs.failed
          && adx_graph_of_pairs(a, &pairs, adx_variables_of(p), g);
    }
    if (!ok && (k.item.full || pairs.full))
        adx_spoil(p, ADREV_ELIMIT);
    adx_drop(a, k.at);
    adx_drop(a, k.n);
    adx_drop(a, k.wanted);
    adx_drop(a, k.item.v);
    adx_drop(a, used);
    adx_drop(a, pairs.v);
    return ok;
}

/* === function/colour ========================================================
 * Colourings: columns (or rows) of one colour are computed in one direction.
 * Two kinds are made, both greedily: each vertex in turn gets the lowest colour
 * that is still free.
 *
 * For a Jacobian, columns that have an entry in one row get different colours
 * (a distance-2 colouring of the bipartite graph). Then each entry of a
 * direction belongs to one column. For a Hessian, a star colouring of the graph
 * of the matrix is enough: of two symmetric entries at least one can be read
 * off.
 *
 * A row with very many entries would need as many colours. Such rows are called
 * full: the colouring ignores them, and they are computed by themselves.
 *
 * The fewest colours cannot be found in reasonable time. A greedy colouring
 * visits, for each column, the entries of all rows that it has entries in: a
 * row of k entries takes k^2 steps; a star colouring may go one edge further.
 * (Gebremedhin, Manne & Pothen, What color is your Jacobian?)
 *
 *   needs   tape/memory function/pattern
 *   offers  ADX_UNCOLOURED adx_full_from adx_colour_columns adx_colour_stars
 *           adx_best_colouring
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_UNCOLOURED UINT32_MAX

typedef struct adx_colouring {
    uint32_t *colour;           // of each column
    uint32_t colours;
} adx_colouring;

// Which rows are full: those with more entries than what this returns. A row
// with n entries needs at least n colours. So n is chosen such that n, and the
// number of rows that have more entries, are fewest together. UINT32_MAX: no
// memory.
static uint32_t adx_full_from(const adx_entries *g, const ad_allocator *a)
{
    uint32_t *count = (uint32_t *)adx_take(a, g->cols + 1, sizeof *count);
    uint32_t best = (uint32_t)g->cols;
    uint32_t at = best;
    uint32_t longer = 0;
    if (count == NULL)
        return UINT32_MAX;
    memset(count, 0, (g->cols + 1) * sizeof *count);
    for (size_t i = 0; i < g->rows; i++)
        count[g->start[i + 1] - g->start[i]]++;
    for (uint32_t n = (uint32_t)g->cols + 1; n-- > 0; longer += count[n])
        if (longer + n < best || (longer == 0 && n < best)) {
            best = longer + n;
            at = n;
        }
    adx_drop(a, count);
    return at;
}

// The columns, those with most entries first (a counting sort), or as they
// stand.
static void adx_sort_columns(const adx_entries *t, bool sorted,
                             uint32_t order[], uint32_t bucket[])
{
    size_t n = t->rows;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (!sorted)
        return;
    memset(bucket, 0, (t->cols + 2) * sizeof *bucket);
    for (size_t i = 0; i < n; i++)
        bucket[t->cols - (t->start[i + 1] - t->start[i]) + 1]++;
    for (size_t i = 0; i <= t->cols; i++)
        bucket[i + 1] += bucket[i];
    for (uint32_t i = 0; i < n; i++)
        order[bucket[t->cols - (t->start[i + 1] - t->start[i])]++] = i;
}

// What a greedy colouring needs. A colour is taken for column v if v + 1 is
// noted for it, so that nothing has to be cleared from column to column.
typedef struct adx_greedy {
    const adx_entries *g;         // rows: of columns
    const adx_entries *t;         // columns: of rows
    uint32_t full;              // rows with more entries do not count
    const uint32_t *order;
    uint32_t *colour;
    uint32_t *taken;            // [colour] 1 + the last column it is taken for
} adx_greedy;

// The lowest colour that is not taken for v.
static uint32_t adx_free_colour(const adx_greedy *k, uint32_t v)
{
    uint32_t c = 0;
    while (k->taken[c] == v + 1)
        c++;
    return c;
}

static bool adx_is_full(const adx_greedy *k, uint32_t row)
{
    return k->g->start[row + 1] - k->g->start[row] > k->full;
}

// Colours columns so that those which share a row differ, full rows aside: for
// each column, the colours of all columns that share a row with it are taken.
// Returns the number of colours.
static uint32_t adx_colour_columns(const adx_greedy *k)
{
    uint32_t colours = 0;
    for (size_t i = 0; i < k->t->rows; i++) {
        uint32_t v = k->order[i];
        for (uint32_t a = k->t->start[v]; a < k->t->start[v + 1]; a++) {
            uint32_t row = k->t->col[a];
            if (adx_is_full(k, row))
                continue;
            for (uint32_t b = k->g->start[row]; b < k->g->start[row + 1]; b++) {
                uint32_t c = k->colour[k->g->col[b]];
                if (c != ADX_UNCOLOURED)
                    k->taken[c] = v + 1;
            }
        }
        uint32_t c = adx_free_colour(k, v);
        k->colour[v] = c;
        colours = c >= colours ? c + 1 : colours;
    }
    return colours;
}

// Colours that v may not have because of vertices x two edges away, by way of
// w. While w has no colour, v and x must differ, for w could be of any colour.
// When w has one, the path v w x must not go on to a y of the colour of w, if v
// is to have that of x. (Gebremedhin, Manne & Pothen, algorithm 4.1.)
static void adx_take_star(const adx_greedy *k, uint32_t v, uint32_t w)
{
    const adx_entries *g = k->g;
    for (uint32_t b = g->start[w]; b < g->start[w + 1]; b++) {
        uint32_t x = g->col[b];
        if (x == v || x == w || k->colour[x] == ADX_UNCOLOURED
            || adx_is_full(k, x))
            continue;
        bool taken = k->colour[w] == ADX_UNCOLOURED;
        for (uint32_t c = g->start[x]; c < g->start[x + 1] && !taken; c++) {
            uint32_t y = g->col[c];
            taken = y != w && y != x && k->colour[y] == k->colour[w]
                 && !adx_is_full(k, y);
        }
        if (taken)
            k->taken[k->colour[x]] = v + 1;
    }
}

// A star colouring of a symmetric graph: neighbours differ, and every path of
// four vertices has at least three colours. Full vertices come last, each with
// a colour of its own. Returns the number of colours.
static uint32_t adx_colour_stars(const adx_greedy *k)
{
    const adx_entries *g = k->g;
    uint32_t colours = 0;
    for (size_t i = 0; i < g->rows; i++) {
        uint32_t v = k->order[i];
        if (adx_is_full(k, v))
            continue;
        for (uint32_t a = g->start[v]; a < g->start[v + 1]; a++) {
            uint32_t w = g->col[a];
            if (w == v || adx_is_full(k, w))
                continue;
            if (k->colour[w] != ADX_UNCOLOURED)
                k->taken[k->colour[w]] = v + 1;
            adx_take_star(k, v, w);
        }
        uint32_t c = adx_free_colour(k, v);
        k->colour[v] = c;
        colours = c >= colours ? c + 1 : colours;
    }
    for (uint32_t v = 0; v < g->rows; v++)
        if (adx_is_full(k, v))
            k->colour[v] = colours++;
    return colours;
}

typedef uint32_t adx_colour_fn(const adx_greedy *k);

// Colours in two orders, as the columns stand and with the fullest first, and
// keeps the better one. Returns the number of colours; UINT32_MAX: no memory.
static uint32_t adx_best_colouring(const ad_allocator *a, const adx_entries *g,
                                   const adx_entries *t, uint32_t full,
                                   adx_colour_fn *colour, uint32_t best[])
{
    size_t n = t->rows;
    uint32_t *room = (uint32_t *)adx_take(a, 3 * n + t->cols + 4, sizeof *room);
    uint32_t fewest = UINT32_MAX;
    if (room == NULL)
        return UINT32_MAX;
    adx_greedy k = { g, t, full, room, room + n, room + 2 * n };
    for (int sorted = 0; sorted < 2; sorted++) {
        adx_sort_columns(t, sorted, room, room + 3 * n + 1);
        memset(k.colour, 0xff, n * sizeof *k.colour);
        memset(k.taken, 0, (n + 1) * sizeof *k.taken);
        uint32_t colours = colour(&k);
        if (colours < fewest) {
            fewest = colours;
            memcpy(best, k.colour, n * sizeof *best);
        }
    }
    adx_drop(a, room);
    return fewest;
}

ADX_SELDOM_END

/* === function/plans =========================================================
 * A plan says for each entry of a sparse matrix in which direction it is found,
 * and which result of that direction it is. The first directions belong to the
 * colours: each is the sum of the unit vectors of the columns (or rows) that
 * have this colour. Behind them are the directions of full rows (or columns),
 * which are computed apart, by the other kind of sweep. To fill a matrix, all
 * directions run in lanes, and the entries of each are collected.
 *
 *   needs   tape/memory function/api function/program function/adjoints
 *           function/places function/functions function/evaluation
 *           function/directions function/pattern function/colour
 *   offers  adx_free_pattern adx_new_pattern adx_plan adx_make_plan
 *           adx_follow_plan adx_symmetric adx_published adx_publish_pattern
 *           adx_pattern_of adx_tell_entries adx_jacobian_entries
 *           adx_hessian_entries
 * ========================================================================== */

struct adx_pattern {
    const ad_allocator *memory;
    adx_entries g;              // the entries that are asked for
    bool by_rows;               // rows are coloured, for reverse sweeps; else
                                // columns, for forward sweeps
    uint32_t *group;            // [column; by_rows: row] its colour
    uint32_t groups;            // colours
    uint32_t *apart;            // [row; by_rows: column] its index among the
    uint32_t aparts;            // full ones; ADX_UNCOLOURED: it is not full
    uint32_t *direction;        // [entry] its direction; those of full rows are
                                // behind those of colours
    uint32_t *at;               // [entry] which result of the direction it is
    uint32_t *entry;            // entries in the order of their directions
    uint32_t *first;            // [groups + aparts + 1] where those of each
                                // direction begin there
};

static void adx_free_pattern(adx_pattern *s)
{
    if (s == NULL)
        return;
    adx_free_graph(s->memory, &s->g);
    adx_drop(s->memory, s->group);
    adx_drop(s->memory, s->apart);
    adx_drop(s->memory, s->direction);
    adx_drop(s->memory, s->at);
    adx_drop(s->memory, s->entry);
    adx_drop(s->memory, s->first);
    adx_drop(s->memory, s);
}

static adx_pattern *adx_new_pattern(const ad_allocator *a)
{
    adx_pattern *s = (adx_pattern *)adx_take(a, 1, sizeof *s);
    if (s != NULL) {
        memset(s, 0, sizeof *s);
        s->memory = a;
    }
    return s;
}

// Takes the memory of a plan. False: no memory.
static bool adx_begin_plan(adx_pattern *s, size_t major, size_t minor)
{
    const ad_allocator *a = s->memory;
    size_t entries = s->g.start[s->g.rows];
    s->group = (uint32_t *)adx_take(a, minor, sizeof *s->group);
    s->apart = (uint32_t *)adx_take(a, major, sizeof *s->apart);
    s->direction = (uint32_t *)adx_take(a, entries, sizeof *s->direction);
    s->at = (uint32_t *)adx_take(a, entries, sizeof *s->at);
    s->entry = (uint32_t *)adx_take(a, entries, sizeof *s->entry);
    return s->group != NULL && s->apart != NULL && s->direction != NULL
        && s->at != NULL && s->entry != NULL;
}

// Lists the entries in the order of their directions, by a counting sort.
static bool adx_sort_entries(adx_pattern *s)
{
    uint32_t directions = s->groups + s->aparts;
    uint32_t entries = s->g.start[s->g.rows];
    s->first = (uint32_t *)adx_take(s->memory, (size_t)directions + 2,
                                    sizeof *s->first);
    if (s->first == NULL)
        return false;
    memset(s->first, 0, ((size_t)directions + 2) * sizeof *s->first);
    for (uint32_t k = 0; k < entries; k++)
        s->first[s->direction[k] + 2]++;
    for (uint32_t d = 0; d < directions; d++)
        s->first[d + 2] += s->first[d + 1];
    for (uint32_t k = 0; k < entries; k++)
        s->entry[s->first[s->direction[k] + 1]++] = k;
    return true;
}

// One way to compute a Jacobian. The columns of a pattern are coloured, and its
// rows are `major`; for reverse sweeps it is the transposed pattern.
typedef struct adx_plan {
    uint32_t *colour;           // [columns]
    uint32_t colours;           // directions for these
    uint32_t full;              // rows with more entries are computed apart
    uint32_t aparts;            // rows that are full: a direction each
} adx_plan;

// Makes a plan: colours the columns of g, whose transpose is t. Rows with more
// than `full` entries are left out of the colouring.
static bool adx_make_plan(const ad_allocator *a, const adx_entries *g,
                          const adx_entries *t, uint32_t full, adx_plan *plan)
{
    plan->full = full;
    plan->colour = (uint32_t *)adx_take(a, g->cols, sizeof *plan->colour);
    if (plan->colour == NULL || plan->full == UINT32_MAX)
        return false;
    for (size_t i = 0; i < g->rows; i++)
        plan->aparts += g->start[i + 1] - g->start[i] > plan->full;
    plan->colours = adx_best_colouring(a, g, t, plan->full, adx_colour_columns,
                                       plan->colour);
    return plan->colours != UINT32_MAX;
}

// Writes the direction of each entry: that of its row (if by_rows, column) if
// this is full, else that of the colour of its column (row). The results of a
// forward sweep are rows, and those of a reverse sweep columns.
static void adx_place_entries(adx_pattern *s)
{
    for (uint32_t i = 0; i < s->g.rows; i++)
        for (uint32_t k = s->g.start[i]; k < s->g.start[i + 1]; k++) {
            uint32_t j = s->g.col[k];
            uint32_t apart = s->apart[s->by_rows ? j : i];
            bool by_row = (apart != ADX_UNCOLOURED) != s->by_rows;
            s->direction[k] = apart != ADX_UNCOLOURED ? s->groups + apart
                            : s->group[s->by_rows ? i : j];
            s->at[k] = by_row ? j : i;
        }
}

// Makes the directions of the plan that was chosen. major: the rows of the
// pattern whose columns were coloured.
static bool adx_follow_plan(adx_pattern *s, const adx_plan *plan,
                            const adx_entries *major)
{
    if (!adx_begin_plan(s, major->rows, major->cols))
        return false;
    s->groups = plan->colours;
    memcpy(s->group, plan->colour, major->cols * sizeof *s->group);
    for (size_t i = 0; i < major->rows; i++) {
        bool apart = major->start[i + 1] - major->start[i] > plan->full;
        s->apart[i] = apart ? s->aparts++ : ADX_UNCOLOURED;
    }
    adx_place_entries(s);
    return adx_sort_entries(s);
}

// Plans a Jacobian by columns with forward sweeps, or by rows with reverse
// sweeps, whichever is less work. A reverse sweep counts twice. Full rows or
// columns take the other kind of sweep.
static bool adx_plan_jacobian(adx_pattern *s)
{
    const ad_allocator *a = s->memory;
    adx_entries t = {0};
    adx_plan columns = {0};
    adx_plan rows = {0};
    bool ok = adx_transpose(a, &s->g, &t)
           && adx_make_plan(a, &s->g, &t, adx_full_from(&s->g, a), &columns)
           && adx_make_plan(a, &t, &s->g, adx_full_from(&t, a), &rows);
    if (ok) {
        s->by_rows = 2 * rows.colours + rows.aparts
                   < columns.colours + 2 * columns.aparts;
        ok = s->by_rows ? adx_follow_plan(s, &rows, &t)
                        : adx_follow_plan(s, &columns, &s->g);
    }
    adx_drop(a, columns.colour);
    adx_drop(a, rows.colour);
    adx_free_graph(a, &t);
    return ok;
}

// Makes the pattern of both triangles from that of the lower one.
static bool adx_symmetric(const ad_allocator *a, const adx_entries *lower,
                          adx_entries *both)
{
    adx_entries t = {0};
    size_t n = lower->rows;
    bool ok = adx_transpose(a, lower, &t)
           && adx_new_graph(a, both, n, n, 2 * (size_t)lower->start[n]);
    uint32_t to = 0;
    for (uint32_t i = 0; ok && i < n; i++) {
        for (uint32_t k = lower->start[i]; k < lower->start[i + 1]; k++)
            both->col[to++] = lower->col[k];
        for (uint32_t k = t.start[i]; k < t.start[i + 1]; k++)
            if (t.col[k] != i)
                both->col[to++] = t.col[k];
        both->start[i + 1] = to;
    }
    adx_free_graph(a, &t);
    return ok;
}

// Whether no other column of row i has the colour of column j.
static bool adx_is_apart_in(const adx_entries *both, const uint32_t colour[],
                            uint32_t i, uint32_t j)
{
    for (uint32_t k = both->start[i]; k < both->start[i + 1]; k++)
        if (both->col[k] != j && colour[both->col[k]] == colour[j])
            return false;
    return true;
}

// Plans a Hessian. Entry (i, j) is read in row i of the direction of column j,
// if no other column with an entry in that row has the same colour; else in row
// j of the direction of column i. In a star colouring one of the two works. A
// full vertex has a colour of its own, and its entries are read in that
// direction.
static bool adx_plan_hessian(adx_pattern *s)
{
    const ad_allocator *a = s->memory;
    adx_entries both = {0};
    size_t n = s->g.rows;
    bool ok = adx_begin_plan(s, n, n) && adx_symmetric(a, &s->g, &both);
    uint32_t full = ok ? adx_full_from(&both, a) : UINT32_MAX;
    if (ok && full != UINT32_MAX)
        s->groups = adx_best_colouring(a, &both, &both, full,
                                       adx_colour_stars, s->group);
    ok = ok && full != UINT32_MAX && s->groups != UINT32_MAX;
    for (uint32_t i = 0; ok && i < n; i++)
        for (uint32_t k = s->g.start[i]; k < s->g.start[i + 1]; k++) {
            uint32_t j = s->g.col[k];
            bool hub = both.start[i + 1] - both.start[i] > full;
            bool alone = !hub && adx_is_apart_in(&both, s->group, i, j);
            s->direction[k] = s->group[alone ? j : i];
            s->at[k] = alone ? i : j;
        }
    ok = ok && adx_sort_entries(s);
    adx_free_graph(a, &both);
    return ok;
}

/* --- values -------------------------------------------------------------- */

// Makes a pattern and its plan.
static ad_status adx_make_pattern(ad_fn *fn, bool hessian, adx_pattern **out)
{
    const ad_allocator *a = &fn->memory;
    adx_program p;
    ad_status status = adx_make_scalar(&p, &fn->program, true);
    p.fixed = fn->program.fixed;
    adx_pattern *s = adx_new_pattern(a);
    bool ok = status == ADREV_OK && s != NULL;
    if (ok)
        ok = hessian ? adx_hessian_graph(&p, &s->g) && adx_plan_hessian(s)
                     : adx_jacobian_graph(&p, &s->g) && adx_plan_jacobian(s);
    if (status == ADREV_OK)
        status = p.status;
    adx_free_program(&p);
    if (!ok) {
        adx_free_pattern(s);
        return status == ADREV_OK ? ADREV_ENOMEM : status;
    }
    *out = s;
    return ADREV_OK;
}

// Returns a pattern if a thread has published it; else NULL. Patterns are made
// once, as machines are. The acquire here pairs with the release in
// adx_publish_pattern.
static adx_pattern *adx_published(_Atomic(adx_pattern *) *at)
{
    return atomic_load_explicit(at, memory_order_acquire);
}

// Publishes a pattern. If another thread has published one first, that one
// stays and is returned.
static adx_pattern *adx_publish_pattern(_Atomic(adx_pattern *) *at,
                                        adx_pattern *s)
{
    adx_pattern *other = NULL;
    if (atomic_compare_exchange_strong_explicit(at, &other, s,
                                                memory_order_acq_rel,
                                                memory_order_acquire))
        return s;
    adx_free_pattern(s);
    return other;
}

// The pattern of a function's Jacobian or Hessian. Two threads may make it at
// once; the first one to publish it wins.
static ad_status adx_pattern_of(ad_fn *fn, bool hessian, adx_pattern **out)
{
    adx_pattern *s = adx_published(&fn->pattern[hessian]);
    if (s == NULL) {
        ad_status status = adx_make_pattern(fn, hessian, &s);
        if (status != ADREV_OK)
            return status;
        s = adx_publish_pattern(&fn->pattern[hessian], s);
    }
    *out = s;
    return ADREV_OK;
}

// Copies the parts of a pattern that a caller asks for.
static void adx_tell_entries(const adx_entries *g, size_t start[],
                             size_t row[], size_t column[])
{
    for (size_t i = 0; start != NULL && i <= g->rows; i++)
        start[i] = g->start[i];
    for (size_t i = 0; i < g->rows; i++)
        for (size_t k = g->start[i]; k < g->start[i + 1]; k++) {
            if (row != NULL)
                row[k] = i;
            if (column != NULL)
                column[k] = g->col[k];
        }
}

// Writes those parts of a pattern that are asked for.
static ad_status adx_give_pattern(ad_fn *fn, bool hessian, ad_sparsity *about,
                                  size_t start[], size_t row[],
                                  size_t column[])
{
    adx_pattern *s;
    if (fn == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_pattern_of(fn, hessian, &s);
    if (status != ADREV_OK)
        return status;
    const adx_entries *g = &s->g;
    if (about != NULL)
        *about = (ad_sparsity){ g->start[g->rows],
                                (size_t)s->groups + s->aparts, s->aparts };
    adx_tell_entries(g, start, row, column);
    return ADREV_OK;
}

ADX_API ad_status ad_fn_jacobian_pattern(ad_fn *fn, ad_sparsity *about,
                                         size_t start[], size_t row[],
                                         size_t column[])
{
    return adx_give_pattern(fn, false, about, start, row, column);
}

ADX_API ad_status ad_fn_hessian_pattern(ad_fn *fn, ad_sparsity *about,
                                        size_t start[], size_t row[],
                                        size_t column[])
{
    return adx_give_pattern(fn, true, about, start, row, column);
}

// Where the entries of the directions `base` to `end` - 1 are written.
typedef struct adx_sparse {
    const adx_pattern *s;
    ad_real *value;             // [entries] of the matrix
    uint32_t base;
    uint32_t end;
} adx_sparse;

// Collects the entries of the directions that have been run. Lane l has
// direction base + first + l.
static void adx_take_sparse(void *user, const adx_machine *m,
                            const ad_real r[], size_t lanes, size_t first)
{
    const adx_sparse *k = (const adx_sparse *)user;
    for (size_t l = 0; l < lanes && k->base + first + l < k->end; l++) {
        const uint32_t *from = k->s->first + k->base + first + l;
        for (uint32_t i = from[0]; i < from[1]; i++) {
            uint32_t entry = k->s->entry[i];
            k->value[entry] = r[m->output[k->s->at[entry]] * lanes + l];
        }
    }
}

// Runs all directions of colours or, if `apart`, those of full rows or columns.
static ad_status adx_fill_sparse(ad_fn *fn, const adx_pattern *s,
                                 const ad_real x[], bool apart,
                                 ad_real value[])
{
    bool reverse = s->by_rows != apart;
    adx_sparse k = { s, value, apart ? s->groups : 0,
                     apart ? s->groups + s->aparts : s->groups };
    const adx_directions d = {
        fn, reverse ? ADX_KIND_vjp : ADX_KIND_jvp, 2,
        { { x, fn->n }, { NULL, reverse ? fn->m : fn->variables } },
        apart ? s->aparts : s->groups, reverse ? fn->variables : fn->m,
        apart ? s->apart : s->group
    };
    return adx_all_directions(&d, adx_take_sparse, &k);
}

// Computes all entries of the Jacobian; on failure it writes none.
static ad_status adx_jacobian_entries(ad_fn *fn, const adx_pattern *s,
                                      const ad_real x[], ad_real value[])
{
    size_t entries = s->g.start[s->g.rows];
    // The second call may fail after the first has written its entries.
    bool twice = (s->groups > 0 && s->aparts > 0)
              || (entries > 0 && adx_has_external(&fn->program));
    ad_real *to = twice ? (ad_real *)adx_take(&fn->memory, entries, sizeof *to)
                        : value;
    if (twice && to == NULL)
        return ADREV_ENOMEM;
    ad_status status = adx_fill_sparse(fn, s, x, false, to);
    if (status == ADREV_OK)
        status = adx_fill_sparse(fn, s, x, true, to);
    if (twice && status == ADREV_OK)
        memcpy(value, to, entries * sizeof *value);
    if (twice)
        adx_drop(&fn->memory, to);
    return status;
}

// Computes all entries of the lower triangle of the Hessian; on failure it
// writes none.
static ad_status adx_hessian_entries(ad_fn *fn, const adx_pattern *s,
                                     const ad_real x[], const ad_real w[],
                                     ad_real value[])
{
    size_t entries = s->g.start[s->g.rows];
    adx_sparse k = { s, value, 0, s->groups };
    const adx_directions d = {
        fn, ADX_KIND_hvp, 3,
        { { x, fn->n }, { w, fn->m }, { NULL, fn->variables } },
        s->groups, fn->variables, s->group
    };
    if (!adx_fails_late(&d))
        return adx_all_directions(&d, adx_take_sparse, &k);
    k.value = (ad_real *)adx_take(&fn->memory, entries, sizeof *value);
    if (k.value == NULL)
        return ADREV_ENOMEM;
    ad_status status = adx_all_directions(&d, adx_take_sparse, &k);
    if (status == ADREV_OK)
        memcpy(value, k.value, entries * sizeof *value);
    adx_drop(&fn->memory, k.value);
    return status;
}

// Computes the entries by machine code. *again: there is none, or a replay must
// do it instead; see adx_run_code.
static ad_status adx_run_sparse(ad_fn *fn, adx_kind kind, size_t gives,
                                const adx_given given[], size_t entries,
                                ad_real value[], bool *again)
{
    const adx_wanted wanted[] = { { 0, entries, value } };
    adx_evaluation e = { .fn = fn, .kind = kind };
    ad_status status = adx_run_code(&e, false, gives, given, 1, wanted, again);
    adx_end_evaluation(&e);
    return status;
}

ADX_API ad_status ad_fn_jacobian_sparse(ad_fn *fn, const ad_real x[],
                                        ad_real value[])
{
    adx_pattern *s;
    if (fn == NULL || adx_lacks(fn, fn->n, x))
        return ADREV_ESHAPE;
    ad_status status = adx_pattern_of(fn, false, &s);
    if (status != ADREV_OK)
        return status;
    size_t entries = s->g.start[s->g.rows];
    if (adx_lacks(fn, entries, value))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n } };
    bool again;
    status = adx_run_sparse(fn, ADX_KIND_jacobian_sparse, 1, given, entries,
                            value, &again);
    return status != ADREV_OK || !again
         ? status : adx_jacobian_entries(fn, s, x, value);
}

ADX_API ad_status ad_fn_hessian_sparse(ad_fn *fn, const ad_real x[],
                                       const ad_real w[], ad_real value[])
{
    adx_pattern *s;
    if (fn == NULL || adx_lacks(fn, fn->n, x) || w == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_pattern_of(fn, true, &s);
    if (status != ADREV_OK)
        return status;
    size_t entries = s->g.start[s->g.rows];
    if (adx_lacks(fn, entries, value))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m } };
    bool again;
    status = adx_run_sparse(fn, ADX_KIND_hessian_sparse, 2, given, entries,
                            value, &again);
    return status != ADREV_OK || !again
         ? status : adx_hessian_entries(fn, s, x, w, value);
}

/* === function/dense =========================================================
 * Dense Jacobians and Hessians, each in the cheapest way. A small one is
 * computed by one program (function/matrices). A larger one takes a direction
 * for each row or column; but if most entries are zero, columns (or rows) that
 * have no row in common share a direction, as in sparse matrices
 * (function/plans).
 *
 *   needs   tape/memory function/api function/program function/adjoints
 *           function/functions function/evaluation function/directions
 *           function/pattern function/plans
 * ========================================================================== */

// Makes a plan without full rows. Each entry is found in a direction of its
// column (if by_rows, of its row), as it is without a plan, so it has the same
// bits. The rows are the major index then (if by_rows, the columns).
static bool adx_plan_thriftily(adx_pattern *s, const adx_entries *t)
{
    const adx_entries *major = s->by_rows ? t : &s->g;
    const adx_entries *minor = s->by_rows ? &s->g : t;
    const uint32_t none = UINT32_MAX - 1;       // no row is full
    adx_plan plan = {0};
    bool ok = adx_make_plan(s->memory, major, minor, none, &plan)
           && adx_follow_plan(s, &plan, major);
    adx_drop(s->memory, plan.colour);
    return ok;
}

// Whether a colouring may help: at most a sixteenth of the entries can be other
// than zero, and no row has entries in more than half of the columns, each of
// which would need its own colour.
static bool adx_is_thin(const adx_entries *major)
{
    size_t most = major->rows / 16 * major->cols;
    if (major->start[major->rows] > most)
        return false;
    for (size_t i = 0; i < major->rows; i++)
        if (major->start[i + 1] - major->start[i] > major->cols / 2)
            return false;
    return true;
}

// Finds the pattern of all entries; of a Hessian, both triangles.
static bool adx_full_graph(adx_program *p, bool hessian, const ad_allocator *a,
                           adx_entries *g)
{
    adx_entries lower = {0};
    if (!hessian)
        return adx_jacobian_graph(p, g);
    bool ok = adx_hessian_graph(p, &lower) && adx_symmetric(a, &lower, g);
    adx_free_graph(a, &lower);
    return ok;
}

// Makes a plan if that at least halves the number of directions; else *out is
// NULL.
static ad_status adx_make_thrifty(ad_fn *fn, bool hessian, adx_pattern **out)
{
    const ad_allocator *a = &fn->memory;
    adx_program p;
    adx_entries t = {0};
    ad_status status = adx_make_scalar(&p, &fn->program, true);
    p.fixed = fn->program.fixed;
    adx_pattern *s = adx_new_pattern(a);
    bool ok = status == ADREV_OK && s != NULL
           && adx_full_graph(&p, hessian, a, &s->g)
           && adx_transpose(a, &s->g, &t);
    bool helps = ok;
    if (ok) {
        s->by_rows = !hessian && fn->variables >= fn->m;
        const adx_entries *major = s->by_rows ? &t : &s->g;
        helps = adx_is_thin(major);
        ok = !helps || adx_plan_thriftily(s, &t);
        helps = helps && ok && s->groups <= major->cols / 2;
    }
    if (status == ADREV_OK)
        status = p.status;
    adx_free_program(&p);
    adx_free_graph(a, &t);
    *out = s;
    if (!helps) {
        adx_free_pattern(s);
        *out = NULL;
    }
    return ok || status != ADREV_OK ? status : ADREV_ENOMEM;
}

// Finds the plan, which is made once, as patterns are. *out is NULL if no plan
// helps. That is found out once, too (crowded). No plan helps if all directions
// fit into one block of lanes.
static ad_status adx_thrifty_plan(ad_fn *fn, bool hessian,
                                  const adx_pattern **out)
{
    size_t n = fn->variables;
    size_t least = hessian || n < fn->m ? n : fn->m;
    *out = NULL;
    if (least <= ADREV_LANES_MOST
        || atomic_load_explicit(&fn->crowded[hessian], memory_order_relaxed))
        return ADREV_OK;
    adx_pattern *s = adx_published(&fn->thrifty[hessian]);
    if (s == NULL) {
        ad_status status = adx_make_thrifty(fn, hessian, &s);
        if (s == NULL && status != ADREV_ENOMEM)
            atomic_store_explicit(&fn->crowded[hessian], true,
                                  memory_order_relaxed);
        if (s == NULL)
            return status == ADREV_ENOMEM ? status : ADREV_OK;
        s = adx_publish_pattern(&fn->thrifty[hessian], s);
    }
    *out = s;
    return ADREV_OK;
}

// Writes the entries into a matrix of n columns, and zeros between them.
static void adx_spread_entries(const adx_pattern *s, const ad_real value[],
                               size_t n, ad_real to[])
{
    memset(to, 0, s->g.rows * n * sizeof *to);
    for (size_t i = 0; i < s->g.rows; i++)
        for (size_t k = s->g.start[i]; k < s->g.start[i + 1]; k++)
            to[i * n + s->g.col[k]] = value[k];
}

// Computes a matrix by a plan. w NULL: the Jacobian; else the Hessian of w f.
static ad_status adx_fill_by_plan(ad_fn *fn, const adx_pattern *s,
                                  const ad_real x[], const ad_real w[],
                                  ad_real to[])
{
    size_t entries = s->g.start[s->g.rows];
    ad_real *value = (ad_real *)adx_take(&fn->memory, entries, sizeof *value);
    ad_status status = value == NULL ? ADREV_ENOMEM
                     : w == NULL ? adx_jacobian_entries(fn, s, x, value)
                                 : adx_hessian_entries(fn, s, x, w, value);
    if (status == ADREV_OK)
        adx_spread_entries(s, value, fn->variables, to);
    adx_drop(&fn->memory, value);
    return status;
}

// Computes the Jacobian with a direction for each row or for each column,
// whichever are fewer.
static ad_status adx_jacobian_in_lanes(ad_fn *fn, const ad_real x[],
                                       ad_real J[])
{
    size_t n = fn->variables;
    size_t m = fn->m;
    adx_directions d = { fn, ADX_KIND_vjp, 2, { { x, fn->n }, { NULL, m } }, m,
                         n, NULL };
    if (n >= m)
        return adx_fill_dense(&d, J, 1, n);
    d.kind = ADX_KIND_jvp;
    d.given[1].n = n;
    d.n = n;
    d.results = m;
    return adx_fill_dense(&d, J, n, 1);
}

static ad_status adx_jacobian_in_turn(ad_fn *fn, const ad_real x[],
                                      ad_real J[])
{
    const adx_pattern *s;
    ad_status status = adx_thrifty_plan(fn, false, &s);
    return status != ADREV_OK ? status
         : s == NULL ? adx_jacobian_in_lanes(fn, x, J)
                     : adx_fill_by_plan(fn, s, x, NULL, J);
}

ADX_API ad_status ad_fn_jacobian(ad_fn *fn, const ad_real x[], ad_real J[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, J) || adx_lacks(fn, fn->n, x))
        return ADREV_ESHAPE;
    return adx_is_linearized(fn) ? adx_linearize(fn, x, NULL, J)
                                 : adx_jacobian_in_turn(fn, x, J);
}

// Computes value and Jacobian where no program computes both: first the value,
// then the matrix. y is written only when both are known.
ADX_NOINLINE static ad_status adx_linearize_in_turn(ad_fn *fn,
                                                    const ad_real x[],
                                                    ad_real y[], ad_real J[])
{
    if (y == NULL)
        return adx_jacobian_in_turn(fn, x, J);
    ad_real *value = (ad_real *)adx_take(&fn->memory, fn->m, sizeof *value);
    ad_status status = value == NULL ? ADREV_ENOMEM
                                     : ad_fn_eval(fn, x, value);
    if (status == ADREV_OK)
        status = adx_jacobian_in_turn(fn, x, J);
    if (status == ADREV_OK)
        memcpy(y, value, fn->m * sizeof *y);
    adx_drop(&fn->memory, value);
    return status;
}

ADX_API ad_status ad_fn_linearize(ad_fn *fn, const ad_real x[], ad_real y[],
                                  ad_real J[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, J) || adx_lacks(fn, fn->n, x))
        return ADREV_ESHAPE;
    return adx_is_linearized(fn) ? adx_linearize(fn, x, y, J)
                                 : adx_linearize_in_turn(fn, x, y, J);
}

// Both triangles are computed; the lower one is copied to the upper one, so
// that H is symmetric to the bit.
ADX_API ad_status ad_fn_hessian(ad_fn *fn, const ad_real x[],
                                const ad_real w[], ad_real H[])
{
    if (fn == NULL || adx_lacks(fn, fn->n, H) || adx_lacks(fn, fn->n, x)
        || w == NULL)
        return ADREV_ESHAPE;
    size_t n = fn->variables;
    const adx_directions d = { fn, ADX_KIND_hvp, 3,
                               { { x, fn->n }, { w, fn->m }, { NULL, n } }, n,
                               n, NULL };
    const adx_wanted wanted[] = { { 0, n * n, H } };
    if (adx_is_short(fn, n) || adx_has_code(&fn->compiled[ADX_KIND_hessian]))
        return adx_evaluate_fn(fn, ADX_KIND_hessian, 2, d.given, 1, wanted);
    const adx_pattern *s;
    ad_status status = adx_thrifty_plan(fn, true, &s);
    if (status == ADREV_OK)
        status = s != NULL ? adx_fill_by_plan(fn, s, x, w, H)
                           : adx_fill_dense(&d, H, n, 1);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        for (size_t j = 0; j < i; j++)
            H[j * n + i] = H[i * n + j];
    return status;
}

/* === function/export ========================================================
 * Sparse matrices in the forms that solvers take. An export has a pattern of
 * its own: the entries of the matrix, perhaps mirrored, transposed, or with a
 * whole diagonal, sorted by row or by column. Each entry knows which one of the
 * matrix it is (`from`), and where it is in the solver's array (`place`).
 *
 *   needs   tape/memory function/api function/functions function/evaluation
 *           function/pattern function/plans
 *   offers  adx_unsorted adx_sort_lines adx_end_unsorted adx_begin_unsorted
 *           adx_new_export adx_export_fits adx_is_plain_export
 *           adx_write_export
 * ========================================================================== */

struct ad_export {
    ad_allocator memory;
    ad_layout layout;
    size_t rows, columns;
    bool symmetric;             // of a Hessian
    size_t of_rows, of_columns, of_entries;     // counts of the matrix
    size_t entries;
    uint32_t *start;            // [lines + 1] of rows; ADREV_CSC: of columns
    uint32_t *across;           // [entries] the other index
    uint32_t *from;             // [entries] of the matrix; ADX_NO_ENTRY: 0
    bool plain;                 // from[k] == k
    size_t *place;              // [entries] NULL: k
    adx_spare spare;            // values in the order of the matrix
};

#define ADX_NO_ENTRY UINT32_MAX

// The largest index of 32 bits. Tests set a lower limit.
#ifndef ADX_INDEX_MOST
#define ADX_INDEX_MOST INT32_MAX
#endif

ADX_API void ad_export_free(ad_export *e)
{
    if (e == NULL)
        return;
    ad_allocator memory = e->memory;
    adx_drop_spare(&e->spare, &memory);
    adx_drop(&memory, e->start);
    adx_drop(&memory, e->across);
    adx_drop(&memory, e->from);
    adx_drop(&memory, e->place);
    adx_drop(&memory, e);
}

/* --- the pattern ---------------------------------------------------------- */

static bool adx_is_by_columns(const ad_export *e)
{
    return e->layout.form == ADREV_CSC;
}

static size_t adx_lines(const ad_export *e)
{
    return adx_is_by_columns(e) ? e->columns : e->rows;
}

static size_t adx_across(const ad_export *e)
{
    return adx_is_by_columns(e) ? e->rows : e->columns;
}

// Entries in any order, while they are sorted.
typedef struct adx_unsorted {
    size_t n;
    uint32_t *index[2];         // line, and index across
    uint32_t *from;             // the entry's number in the matrix
    uint32_t *order[2];         // the entries, sorted so far; the two take
                                // turns
    uint32_t *count;            // [lines or indices across, + 1]
} adx_unsorted;

static void adx_put_entry(const ad_export *e, adx_unsorted *u, uint32_t row,
                          uint32_t column, uint32_t from)
{
    bool turned = e->layout.transposed != adx_is_by_columns(e);
    u->index[turned][u->n] = row;
    u->index[!turned][u->n] = column;
    u->from[u->n++] = from;
}

// Lists the entries of the matrix (of a Hessian, its lower triangle) as the
// layout has them. The triangle is that of the exported matrix. Its upper
// triangle is the lower one transposed; if the whole export is transposed, the
// two transpositions cancel.
static void adx_put_entries(const ad_export *e, const adx_entries *g,
                            adx_unsorted *u)
{
    ad_triangle triangle = e->layout.triangle;
    bool both = e->symmetric && triangle == ADREV_BOTH;
    bool upper = e->symmetric && triangle != ADREV_BOTH
              && (triangle == ADREV_UPPER) != e->layout.transposed;
    for (uint32_t i = 0; i < g->rows; i++)
        for (uint32_t k = g->start[i]; k < g->start[i + 1]; k++) {
            uint32_t j = g->col[k];
            adx_put_entry(e, u, upper ? j : i, upper ? i : j, k);
            if (both && i != j)
                adx_put_entry(e, u, j, i, k);
        }
}

static size_t adx_diagonal_of(const adx_entries *g)
{
    return g->rows < g->cols ? g->rows : g->cols;
}

// Adds the entries of the diagonal that the matrix lacks. Its rows are sorted.
static void adx_put_diagonal(const ad_export *e, const adx_entries *g,
                             adx_unsorted *u)
{
    for (uint32_t i = 0; i < adx_diagonal_of(g); i++) {
        uint32_t k = g->start[i];
        while (k < g->start[i + 1] && g->col[k] < i)
            k++;
        if (k == g->start[i + 1] || g->col[k] != i)
            adx_put_entry(e, u, i, i, ADX_NO_ENTRY);
    }
}

// Sorts order[from] by one index, into the other order, by a counting sort.
// Entries with equal indices stay in their order. count[i] becomes the end of
// the entries with index i.
static void adx_sort_entries_by(adx_unsorted *u, int by, size_t indices,
                                int from)
{
    const uint32_t *index = u->index[by];
    memset(u->count, 0, (indices + 1) * sizeof *u->count);
    for (size_t k = 0; k < u->n; k++)
        u->count[index[k] + 1]++;
    for (size_t i = 0; i < indices; i++)
        u->count[i + 1] += u->count[i];
    for (size_t k = 0; k < u->n; k++) {
        uint32_t entry = u->order[from][k];
        u->order[!from][u->count[index[entry]]++] = entry;
    }
}

// Sorts the entries by line, and within a line by the other index: the result
// is in order[0]. count[i] becomes the end of line i.
static void adx_sort_lines(adx_unsorted *u, size_t lines, size_t across)
{
    for (uint32_t k = 0; k < u->n; k++)
        u->order[0][k] = k;
    adx_sort_entries_by(u, 1, across, 0);
    adx_sort_entries_by(u, 0, lines, 1);
}

static void adx_sort_export(ad_export *e, adx_unsorted *u)
{
    adx_sort_lines(u, adx_lines(e), adx_across(e));
    e->entries = u->n;
    e->plain = u->n == e->of_entries;
    e->start[0] = 0;
    memcpy(e->start + 1, u->count, adx_lines(e) * sizeof *e->start);
    for (size_t k = 0; k < u->n; k++) {
        e->across[k] = u->index[1][u->order[0][k]];
        e->from[k] = u->from[u->order[0][k]];
        e->plain = e->plain && e->from[k] == k;
    }
}

static void adx_end_unsorted(const ad_allocator *a, adx_unsorted *u)
{
    for (int i = 0; i < 2; i++) {
        adx_drop(a, u->index[i]);
        adx_drop(a, u->order[i]);
    }
    adx_drop(a, u->from);
    adx_drop(a, u->count);
}

// Takes room for `most` entries with indices below `indices`. False: no memory.
static bool adx_begin_unsorted(const ad_allocator *a, size_t indices,
                               size_t most, adx_unsorted *u)
{
    *u = (adx_unsorted){ .n = 0 };
    u->count = (uint32_t *)adx_take(a, indices + 1, sizeof *u->count);
    u->from = (uint32_t *)adx_take(a, most, sizeof *u->from);
    bool ok = u->count != NULL && u->from != NULL;
    for (int i = 0; i < 2; i++) {
        u->index[i] = (uint32_t *)adx_take(a, most, sizeof *u->from);
        u->order[i] = (uint32_t *)adx_take(a, most, sizeof *u->from);
        ok = ok && u->index[i] != NULL && u->order[i] != NULL;
    }
    return ok;
}

static bool adx_is_layout(const ad_layout *l)
{
    return (unsigned)l->form <= ADREV_CSC
        && (unsigned)l->triangle <= ADREV_BOTH && l->base <= 1
        && (l->width == 0 || l->width == 32 || l->width == 64);
}

// Whether an index, or the number of entries, is too large for the layout's
// width.
static bool adx_exceeds_width(const ad_export *e, size_t most)
{
    size_t largest = most > e->rows ? most : e->rows;
    largest = e->columns > largest ? e->columns : largest;
    return largest > UINT32_MAX - 1
        || (e->layout.width != 64 && largest >= ADX_INDEX_MOST);
}

// Makes the pattern of an export from that of the matrix.
static ad_status adx_fill_export(ad_export *e, const adx_entries *g)
{
    const ad_allocator *a = &e->memory;
    adx_unsorted u;
    size_t most = e->of_entries
                  * (e->symmetric && e->layout.triangle == ADREV_BOTH ? 2 : 1)
                + (e->layout.diagonal ? adx_diagonal_of(g) : 0);
    if (adx_exceeds_width(e, most))
        return ADREV_ELIMIT;
    e->start = (uint32_t *)adx_take(a, adx_lines(e) + 1, sizeof *e->start);
    e->across = (uint32_t *)adx_take(a, most, sizeof *e->across);
    e->from = (uint32_t *)adx_take(a, most, sizeof *e->from);
    size_t indices = e->rows > e->columns ? e->rows : e->columns;
    bool ok = adx_begin_unsorted(a, indices, most, &u) && e->start != NULL
           && e->across != NULL && e->from != NULL;
    if (ok) {
        adx_put_entries(e, g, &u);
        if (e->layout.diagonal)
            adx_put_diagonal(e, g, &u);
        adx_sort_export(e, &u);
    }
    adx_end_unsorted(a, &u);
    return ok ? ADREV_OK : ADREV_ENOMEM;
}

// Makes the export of a matrix with this pattern. symmetric: the pattern is the
// lower triangle of a symmetric matrix.
static ad_status adx_new_export(ad_export **out, const ad_allocator *a,
                                const ad_layout *layout, const adx_entries *g,
                                bool symmetric)
{
    static const ad_layout none;
    ad_export *e = (ad_export *)adx_take(a, 1, sizeof *e);
    *out = NULL;
    if (e == NULL)
        return ADREV_ENOMEM;
    memset(e, 0, sizeof *e);
    e->memory = *a;
    e->layout = layout == NULL ? none : *layout;
    e->symmetric = symmetric;
    e->of_rows = g->rows;
    e->of_columns = g->cols;
    e->of_entries = g->start[g->rows];
    e->rows = e->layout.transposed ? g->cols : g->rows;
    e->columns = e->layout.transposed ? g->rows : g->cols;
    ad_status status = adx_is_layout(&e->layout) ? adx_fill_export(e, g)
                                                 : ADREV_ESHAPE;
    if (status == ADREV_OK)
        *out = e;
    else
        ad_export_free(e);
    return status;
}

static ad_status adx_export_of(ad_fn *fn, bool hessian,
                               const ad_layout *layout, ad_export **out)
{
    adx_pattern *s;
    if (out != NULL)
        *out = NULL;
    if (out == NULL || fn == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_pattern_of(fn, hessian, &s);
    return status != ADREV_OK ? status
         : adx_new_export(out, &fn->memory, layout, &s->g, hessian);
}

ADX_API ad_status ad_fn_jacobian_export(ad_fn *fn, const ad_layout *layout,
                                        ad_export **out)
{
    return adx_export_of(fn, false, layout, out);
}

ADX_API ad_status ad_fn_hessian_export(ad_fn *fn, const ad_layout *layout,
                                       ad_export **out)
{
    return adx_export_of(fn, true, layout, out);
}

ADX_API size_t ad_export_entries(const ad_export *e, size_t *rows,
                                 size_t *columns)
{
    if (rows != NULL)
        *rows = e == NULL ? 0 : e->rows;
    if (columns != NULL)
        *columns = e == NULL ? 0 : e->columns;
    return e == NULL ? 0 : e->entries;
}

// Writes index k of an array of the user's, unless that is NULL.
static void adx_put_index(const ad_export *e, void *array, size_t k, size_t v)
{
    if (array != NULL && e->layout.width == 64)
        ((int64_t *)array)[k] = (int64_t)(v + e->layout.base);
    else if (array != NULL)
        ((int32_t *)array)[k] = (int32_t)(v + e->layout.base);
}

ADX_API ad_status ad_export_pattern(const ad_export *e, void *start, void *row,
                                    void *column)
{
    if (e == NULL)
        return ADREV_ESHAPE;
    void *line = adx_is_by_columns(e) ? column : row;
    void *across = adx_is_by_columns(e) ? row : column;
    adx_put_index(e, start, 0, 0);
    for (size_t i = 0; i < adx_lines(e); i++) {
        adx_put_index(e, start, i + 1, e->start[i + 1]);
        for (size_t k = e->start[i]; k < e->start[i + 1]; k++) {
            adx_put_index(e, line, k, i);
            adx_put_index(e, across, k, e->across[k]);
        }
    }
    return ADREV_OK;
}

/* --- a matrix that the solver has ----------------------------------------- */

// Reads index k of an array of the user's. Returns SIZE_MAX for an index below
// the base.
static size_t adx_index_at(const ad_export *e, const void *array, size_t k)
{
    int64_t v = e->layout.width == 64 ? ((const int64_t *)array)[k]
                                      : ((const int32_t *)array)[k];
    return v < (int64_t)e->layout.base ? SIZE_MAX
         : (size_t)(v - (int64_t)e->layout.base);
}

// The entries of the solver's matrix, as a list for each line of the export:
// `first` of the line, then `next` of each entry.
typedef struct adx_lists {
    const ad_export *e;
    const ad_matrix *to;
    const void *line;           // of each entry; NULL: as `start` says
    const void *across;
    size_t lines, acrosses;     // of the solver's matrix
    size_t at_line, at_across;
    size_t *first;              // [lines of the export]
    size_t *next;               // [entries]
    size_t *entry;              // [indices across of the export] 1 + that one
} adx_lists;

static bool adx_begin_lists(adx_lists *l, const ad_export *e,
                            const ad_matrix *to)
{
    const ad_allocator *a = &e->memory;
    bool turned = adx_is_by_columns(e);
    *l = (adx_lists){ e, to, turned ? to->column : to->row,
                      turned ? to->row : to->column,
                      turned ? to->columns : to->rows,
                      turned ? to->rows : to->columns,
                      turned ? to->at_column : to->at_row,
                      turned ? to->at_row : to->at_column, NULL, NULL, NULL };
    if (e->layout.form != ADREV_TRIPLETS)
        l->line = NULL;
    l->first = (size_t *)adx_take(a, adx_lines(e), sizeof *l->first);
    l->next = (size_t *)adx_take(a, to->entries, sizeof *l->next);
    l->entry = (size_t *)adx_take(a, adx_across(e), sizeof *l->entry);
    return l->first != NULL && l->next != NULL && l->entry != NULL;
}

static void adx_end_lists(adx_lists *l)
{
    const ad_allocator *a = &l->e->memory;
    adx_drop(a, l->first);
    adx_drop(a, l->next);
    adx_drop(a, l->entry);
}

// Puts entry k of the solver's matrix in front of the list of its line. False:
// an index is out of range.
static bool adx_list_entry(adx_lists *l, size_t line, size_t k)
{
    if (line >= l->lines || adx_index_at(l->e, l->across, k) >= l->acrosses)
        return false;
    if (line < l->at_line || line - l->at_line >= adx_lines(l->e))
        return true;
    l->next[k] = l->first[line - l->at_line];
    l->first[line - l->at_line] = k;
    return true;
}

// Lists all entries, the last one first, so that each list is in their order.
static bool adx_list_entries(adx_lists *l)
{
    const void *start = l->to->start;
    for (size_t i = 0; i < adx_lines(l->e); i++)
        l->first[i] = SIZE_MAX;
    if (l->line != NULL) {
        for (size_t k = l->to->entries; k-- > 0;)
            if (!adx_list_entry(l, adx_index_at(l->e, l->line, k), k))
                return false;
        return true;
    }
    if (adx_index_at(l->e, start, 0) != 0
        || adx_index_at(l->e, start, l->lines) != l->to->entries)
        return false;
    size_t end = l->to->entries;
    for (size_t i = l->lines; i-- > 0;) {
        size_t begin = adx_index_at(l->e, start, i);
        if (begin > end)
            return false;
        while (end > begin)
            if (!adx_list_entry(l, i, --end))
                return false;
    }
    return true;
}

// Finds the places of the entries of a line in the solver's matrix. Returns the
// first entry that has no place, or SIZE_MAX.
static size_t adx_find_in_line(adx_lists *l, size_t line, size_t place[])
{
    const ad_export *e = l->e;
    size_t missing = SIZE_MAX;
    for (size_t k = e->start[line]; k < e->start[line + 1]; k++)
        l->entry[e->across[k]] = k + 1;
    for (size_t k = l->first[line]; k != SIZE_MAX; k = l->next[k]) {
        size_t j = adx_index_at(e, l->across, k);
        if (j < l->at_across || j - l->at_across >= adx_across(e)
            || l->entry[j - l->at_across] == 0)
            continue;
        place[l->entry[j - l->at_across] - 1] = k;
        l->entry[j - l->at_across] = 0;
    }
    for (size_t k = e->start[line + 1]; k-- > e->start[line];)
        if (l->entry[e->across[k]] != 0)
            missing = k;
    return missing;
}

// Finds the places of all entries in the solver's matrix. If an entry has no
// place there, missing[] says which.
static ad_status adx_find_in_matrix(adx_lists *l, size_t place[],
                                    size_t missing[])
{
    const ad_export *e = l->e;
    memset(l->entry, 0, adx_across(e) * sizeof *l->entry);
    if (!adx_list_entries(l))
        return ADREV_ESHAPE;
    for (size_t i = 0; i < adx_lines(e); i++) {
        size_t k = adx_find_in_line(l, i, place);
        if (k == SIZE_MAX)
            continue;
        if (missing != NULL) {
            missing[adx_is_by_columns(e)] = i;
            missing[!adx_is_by_columns(e)] = e->across[k];
        }
        return ADREV_ESHAPE;
    }
    return ADREV_OK;
}

// Whether an array that this form of matrix needs is missing, or is longer than
// an array can be.
static bool adx_lacks_indices(const ad_export *e, const ad_matrix *to)
{
    ad_form form = e->layout.form;
    return to->rows >= ADX_MOST_ELEMENTS || to->columns >= ADX_MOST_ELEMENTS
        || to->entries >= ADX_MOST_ELEMENTS
        || (form != ADREV_TRIPLETS && to->start == NULL)
        || (to->entries > 0 && form != ADREV_CSR && to->row == NULL)
        || (to->entries > 0 && form != ADREV_CSC && to->column == NULL);
}

ADX_API ad_status ad_export_into(ad_export *e, const ad_matrix *to,
                                 size_t missing[])
{
    adx_lists l;
    if (e == NULL || to == NULL || adx_lacks_indices(e, to))
        return ADREV_ESHAPE;
    size_t *place = (size_t *)adx_take(&e->memory, e->entries, sizeof *place);
    bool ok = adx_begin_lists(&l, e, to) && place != NULL;
    ad_status status = ok ? adx_find_in_matrix(&l, place, missing)
                          : ADREV_ENOMEM;
    adx_end_lists(&l);
    adx_drop(&e->memory, status == ADREV_OK ? e->place : place);
    if (status == ADREV_OK)
        e->place = place;
    return status;
}

/* --- values --------------------------------------------------------------- */

// Whether an export belongs to such a matrix, of any function that has one.
static bool adx_export_fits(const ad_export *e, const adx_entries *g,
                            bool symmetric)
{
    return e->symmetric == symmetric && e->of_rows == g->rows
        && e->of_columns == g->cols && e->of_entries == g->start[g->rows];
}

// Whether the solver has the entries in the order of the matrix.
static bool adx_is_plain_export(const ad_export *e)
{
    return e->plain && e->place == NULL && !e->layout.adds;
}

// Writes the values of the matrix, which are in its own order, to where the
// solver has them.
static void adx_write_export(const ad_export *e, const ad_real from[],
                             ad_real value[])
{
    for (size_t k = 0; k < e->entries; k++) {
        ad_real v = e->from[k] == ADX_NO_ENTRY ? 0 : from[e->from[k]];
        ad_real *to = &value[e->place == NULL ? k : e->place[k]];
        *to = e->layout.adds ? *to + v : v;
    }
}

// Computes values and writes them to the solver's array. w NULL: those of the
// Jacobian; else of the Hessian.
static ad_status adx_values_of(ad_fn *fn, const ad_real x[], const ad_real w[],
                               ad_real value[])
{
    return w == NULL ? ad_fn_jacobian_sparse(fn, x, value)
                     : ad_fn_hessian_sparse(fn, x, w, value);
}

// Values in the form of an export: written at once if the solver has them in
// the order of the matrix, else by way of a workspace. The export must be of
// this very pattern.
static ad_status adx_export_values(ad_fn *fn, bool hessian, const ad_real x[],
                                   const ad_real w[], ad_export *e,
                                   ad_real value[])
{
    adx_pattern *s;
    if (fn == NULL || e == NULL || (hessian && w == NULL)
        || adx_lacks(fn, e->entries, value))
        return ADREV_ESHAPE;
    ad_status status = adx_pattern_of(fn, hessian, &s);
    if (status != ADREV_OK)
        return status;
    if (!adx_export_fits(e, &s->g, hessian))
        return ADREV_ESHAPE;
    if (adx_is_plain_export(e))
        return adx_values_of(fn, x, w, value);
    adx_workspace *work = adx_take_workspace(&e->spare, &e->memory,
                                             e->of_entries);
    if (work == NULL)
        return ADREV_ENOMEM;
    status = adx_values_of(fn, x, w, work->w);
    if (status == ADREV_OK)
        adx_write_export(e, work->w, value);
    adx_give_workspace(&e->spare, &e->memory, work);
    return status;
}

ADX_API ad_status ad_fn_jacobian_values(ad_fn *fn, const ad_real x[],
                                        ad_export *e, ad_real value[])
{
    return adx_export_values(fn, false, x, NULL, e, value);
}

ADX_API ad_status ad_fn_hessian_values(ad_fn *fn, const ad_real x[],
                                       const ad_real w[], ad_export *e,
                                       ad_real value[])
{
    return adx_export_values(fn, true, x, w, e, value);
}

/* === function/life ==========================================================
 * Makes and frees recorded functions. A function is recorded, or made from
 * another one: as a choice of its inputs and results, or as its gradient.
 *
 * For a choice the program is copied without what the results do not need. Its
 * inputs are reordered: those by which derivatives are taken come first. Every
 * program that is derived from it knows how many these are
 * (adx_variables_of).
 *
 *   needs   tape/memory function/api function/program function/unique
 *           function/copy function/adjoints function/record function/places
 *           function/functions function/taylor function/compare function/plans
 *   offers  adx_selection adx_select
 * ========================================================================== */

/* --- recorded ------------------------------------------------------------- */

ADX_API ad_status ad_fn_record_with(ad_fn **out, const ad_fn_options *options,
                                    ad_vector_fn *f, void *ctx, size_t n,
                                    const ad_real x[], size_t m)
{
    static const ad_fn_options none;
    const ad_fn_options *o = options == NULL ? &none : options;
    if (out == NULL)
        return adx_because(ADREV_ESHAPE, NULL);
    *out = NULL;
    if (f == NULL || adx_no_array(n, x) || m == 0)
        return adx_because(ADREV_ESHAPE, NULL);
    if (adx_size_plus(n, m) >= ADX_FROM_INPUT)
        return adx_because(ADREV_ELIMIT, NULL);
    ad_fn *fn = adx_new_fn(o, n, m);
    if (fn == NULL)
        return adx_because(ADREV_ENOMEM, NULL);
    adx_lent lent;
    ad_status status = adx_lend_arrays(&fn->memory, n, m, &lent)
                     ? adx_record(fn, f, ctx, x, &lent)
                     : adx_because(ADREV_ENOMEM, NULL);
    if (status == ADREV_OK && !o->once && n > 0)
        status = adx_because(adx_compare_nearby(fn, f, ctx, x, &lent),
                             NULL);
    adx_drop(&fn->memory, lent.x);
    if (status == ADREV_OK)
        *out = fn;
    else
        ad_fn_free(fn);
    return status;
}

#ifndef ADREV_NO_STDLIB
ADX_API ad_status ad_fn_record(ad_fn **out, ad_vector_fn *f, void *ctx,
                               size_t n, const ad_real x[], size_t m)
{
    return ad_fn_record_with(out, NULL, f, ctx, n, x, m);
}
#endif

ADX_SELDOM_BEGIN

/* --- chosen --------------------------------------------------------------- */

typedef struct adx_selection {
    size_t n, m;
    const size_t *variable;     // NULL: all
    const size_t *output;       // NULL: all
} adx_selection;

// Finds the places of the inputs: input i of the old function is input place[i]
// of the new one. False: there is no such input, or it was chosen twice.
static bool adx_place_inputs(const adx_selection *c, size_t inputs,
                             uint32_t place[])
{
    uint32_t next = (uint32_t)c->n;
    for (size_t i = 0; i < inputs; i++)
        place[i] = ADX_NOWHERE;
    for (size_t i = 0; i < c->n; i++) {
        size_t old = c->variable == NULL ? i : c->variable[i];
        if (old >= inputs || place[old] != ADX_NOWHERE)
            return false;
        place[old] = (uint32_t)i;
    }
    for (size_t i = 0; i < inputs; i++)
        if (place[i] == ADX_NOWHERE)
            place[i] = next++;
    return true;
}

// Copies what the results and the guards need. p is the old program with only
// these results as its outputs.
static ad_status adx_copy_chosen(adx_program *q, const adx_program *p,
                                 const uint32_t place[])
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    memcpy(k.same, place, p->inputs * sizeof *place);
    adx_copy_nodes(&k);
    for (size_t i = 0; q->status == ADREV_OK && i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_end_making(&k);
    q->report = p->report;
    adx_end_program(q);
    return q->status;
}

// Fills in the new function: its program, with the chosen inputs and results.
static ad_status adx_fill_chosen(ad_fn *to, const ad_fn *fn,
                                 const adx_selection *c)
{
    const ad_allocator *a = &fn->memory;
    uint32_t *place = (uint32_t *)adx_take(a, fn->n, sizeof *place);
    uint32_t *output = (uint32_t *)adx_take(a, c->m, sizeof *output);
    adx_program p = fn->program;
    ad_status status = place == NULL || output == NULL ? ADREV_ENOMEM
                     : adx_place_inputs(c, fn->n, place) ? ADREV_OK
                                                         : ADREV_ESHAPE;
    for (size_t i = 0; status == ADREV_OK && i < c->m; i++) {
        size_t old = c->output == NULL ? i : c->output[i];
        if (old < fn->m)
            output[i] = p.output[old];
        else
            status = ADREV_ESHAPE;
    }
    p.output = output;
    p.outputs = c->m;
    p.memory = &to->memory;
    if (status == ADREV_OK)
        status = adx_copy_chosen(&to->program, &p, place);
    to->program.fixed = fn->n - c->n;
    to->variables = c->n;
    adx_drop(a, place);
    adx_drop(a, output);
    return status;
}

// Makes the new function a holder of the old one, because they share the places
// of the guards.
static void adx_hold_whole(ad_fn *to, ad_fn *fn)
{
    // relaxed: the caller holds it
    atomic_fetch_add_explicit(&fn->holders, 1, memory_order_relaxed);
    to->whole = fn;
    to->guard = fn->guard;
}

// Makes a function of chosen inputs and results.
static ad_status adx_select(ad_fn **out, ad_fn *fn, adx_selection c)
{
    *out = NULL;
    const ad_fn_options o = { .allocator = &fn->memory };
    ad_fn *to = adx_new_fn(&o, fn->n, c.m);
    if (to == NULL)
        return ADREV_ENOMEM;
    adx_hold_whole(to, fn);
    ad_status status = adx_fill_chosen(to, fn, &c);
    if (status == ADREV_OK)
        *out = to;
    else
        ad_fn_free(to);
    return status;
}

ADX_API ad_status ad_fn_select(ad_fn **out, ad_fn *fn, size_t nv,
                               const size_t variable[], size_t m,
                               const size_t output[])
{
    if (out != NULL)
        *out = NULL;
    if (out == NULL || fn == NULL)
        return ADREV_ESHAPE;
    const adx_selection c = { variable == NULL ? fn->n : nv,
                              output == NULL ? fn->m : m, variable, output };
    return c.n > fn->n || c.m == 0 || c.m >= ADX_FROM_INPUT - fn->n
         ? ADREV_ESHAPE : adx_select(out, fn, c);
}

ADX_SELDOM_END

/* --- gradients ------------------------------------------------------------ */

// As function/adjoints writes adjoints, but the one result has weight 1.
static ad_status adx_write_gradient(adx_program *q, const adx_program *p,
                                    size_t n)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    bool *moved = adx_find_moved(p, 0, n);
    if (moved == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    adx_copy_nodes(&k);
    if (q->status == ADREV_OK) {
        k.derived[p->output[0]] = adx_fixed(q, 1);
        adx_adjoint_part(&k, 0, p->nodes, moved);
    }
    for (size_t i = 0; q->status == ADREV_OK && i < n; i++)
        adx_new_output(q, adx_or_zero(q, k.derived[i]));
    adx_drop(p->memory, moved);
    adx_end_making(&k);
    return q->status;
}

// Places of guards. The names of files that belong to fn may go before: they
// are left out.
static bool adx_copy_guards(ad_fn *to, const ad_fn *fn)
{
    size_t n = fn->program.report.guards;
    bool owned = fn->names != NULL || fn->files != NULL;
    to->guard = n == 0 ? NULL
              : (adx_code_place *)adx_take(&to->memory, n, sizeof *to->guard);
    for (size_t i = 0; to->guard != NULL && i < n; i++) {
        to->guard[i] = fn->guard[i];
        if (owned)
            to->guard[i] = (adx_code_place){ NULL, 0 };
    }
    return n == 0 || to->guard != NULL;
}

ADX_API ad_status ad_fn_derive_gradient(ad_fn **out, const ad_fn *fn, size_t n)
{
    if (out == NULL)
        return ADREV_ESHAPE;
    *out = NULL;
    if (fn == NULL || fn->m != 1 || n == 0 || n > fn->n)
        return ADREV_ESHAPE;
    const ad_fn_options o = { .allocator = &fn->memory };
    ad_fn *g = adx_new_fn(&o, fn->n, n);
    if (g == NULL)
        return ADREV_ENOMEM;
    ad_status status = adx_write_gradient(&g->program, &fn->program, n);
    g->program.memory = &g->memory;
    adx_end_program(&g->program);
    g->program.report.guards = fn->program.report.guards;
    if (status == ADREV_OK && !adx_copy_guards(g, fn))
        status = ADREV_ENOMEM;
    if (status == ADREV_OK)
        *out = g;
    else
        ad_fn_free(g);
    return status;
}

/* --- freed ---------------------------------------------------------------- */

static void adx_drop_spares(ad_fn *fn, adx_compiled *c)
{
    adx_drop_spare(&c->spare, &fn->memory);
    adx_drop_spare(&c->spare_block, &fn->memory);
}

static void adx_drop_files(const ad_allocator *a, adx_file_name *file)
{
    while (file != NULL) {
        adx_file_name *next = file->next;
        adx_drop(a, file);
        file = next;
    }
}

ADX_API void ad_fn_free(ad_fn *fn)
{
    // acq_rel: what the other holders did comes before the memory goes.
    if (fn == NULL || atomic_fetch_sub_explicit(&fn->holders, 1,
                                                memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < ADX_KINDS; i++)
        // relaxed: nobody else has the function any more
        adx_free_machine(atomic_load_explicit(&fn->machine[i],
                                              memory_order_relaxed));
    for (size_t i = 0; i < 2; i++) {
        adx_free_pattern(atomic_load_explicit(&fn->pattern[i],
                                              memory_order_relaxed));
        adx_free_pattern(atomic_load_explicit(&fn->thrifty[i],
                                              memory_order_relaxed));
    }
    // relaxed: as above
    adx_free_series(atomic_load_explicit(&fn->series, memory_order_relaxed));
    for (size_t i = 0; i < ADX_KINDS; i++)
        adx_drop_spares(fn, &fn->compiled[i]);
    if (fn->library != NULL)
        fn->unload(fn->library);
    adx_free_program(&fn->program);
    ad_allocator memory = fn->memory;
    if (fn->whole == NULL)
        adx_drop(&memory, fn->guard);
    ad_fn_free(fn->whole);
    adx_drop(&memory, fn->names);
    adx_drop_files(&memory, fn->files);
    adx_drop(&memory, fn);
}

#endif // ADREV_FUNCTION_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION

#include "adrev_code.h"
