#pragma once

/* === bulk/api ===============================================================
 * Operators on whole arrays: the interface.
 * ========================================================================== */

/* --- configuration ------------------------------------------------------- */

// ADREV_REPLAY_FROM   elements or steps from which on a function is recorded
//                     (adrev_function.h) and replayed.             default 64
//   Recording it costs as much as some 20 runs.
#ifndef ADREV_REPLAY_FROM
#define ADREV_REPLAY_FROM 64
#endif

/* --- interface --------------------------------------------------------------
 * Every function returns ADREV_OK or why it failed. Then the current tape fails
 * with it, so that the status may be dropped, and the results are constants,
 * NaN, if their number is possible: also those that stand where an argument did. */

#ifdef __cplusplus
extern "C" {
#endif

/* --- functions of rows ------------------------------------------------------
 * Operators on arrays with a derivative rule of their own. An array of rows is
 * dense: row i, of `size` numbers, begins at x[i*size]. Functions and operators
 * f and op are run again in each sweep: they must do the same then, and ctx
 * must stay as it is as long as the recording. Numbers that they bring along
 * by ctx are inputs, too; plain numbers they take by ad_value, not by .v: a
 * recording must see that. Results overlap no argument, unless that is said.
 *
 * In fixed memory, under a trace hook and where no tape is current, functions
 * are simply called, and what they do is recorded.
 *
 * If adrev_function.h is included before this header where both are
 * implemented, a map of ADREV_REPLAY_FROM elements and more is recorded once,
 * and runs in SIMD lanes; elements that take another path are done by
 * themselves. If adrev_parallel.h is, parts of fixed size run on the pool, as
 * the branches of a fork do, and are added in order: the bits do not depend on
 * threads. Either of them after this header does not compile.                */

// An argument of a map: element i is given the numbers from x[i*step] on.
//
//   step == size     element i has row i
//   step == 0        a parameter: all elements have the same numbers
//   step < size      windows that overlap: a stencil. Negative: from behind
typedef struct ad_rows {
    const ad_rev *x;
    size_t size;
    ptrdiff_t step;
} ad_rows;

// y = f of every element, the elements independent of each other.
//
//   f            in    [sum of the sizes of x] -> [m]
//   x   [args]   in    arguments; f finds them one behind the other. Those of
//                      step 0 and of windows are operands once
//   y   [n*m]    out   rows of m results
//
//   returns      ADREV_OK; ADREV_EFOREIGN: f uses numbers of another recording;
//                ADREV_ESHAPE: an array or f is missing, sizes that cannot be,
//                f did not set all of its results; ADREV_ENOMEM, ADREV_EFULL;
//                what f itself meets. What goes wrong in a sweep is
//                ADREV_EEXTERNAL there
//   cost         f once, for the first element twice; in a sweep, for each
//                direction, once more, and its reverse
//   memory       8 bytes per operand, 12 if their ids are not evenly spaced,
//                whatever f does, and as of ad_external a number per operand
//                and result once per tape; in a sweep a recording of about
//                2048 values, or of one element
//   see          tests/bulk/bulk.c
ADX_API ad_status ad_map(ad_vector_fn *f, void *ctx, size_t n, size_t args,
                         const ad_rows x[], size_t m, ad_rev y[]);

// y = x[0] op x[1] op ... op x[n-1] for rows of d numbers and an associative
// op, in this order. Parts of 32 rows (fewer if d is above 16) are combined
// from the left, then their results in the same way. No division.
//
//   op           in    [d + d] -> [d]
//   x   [n*d]    in    rows
//   neutral [d]  in    the result of n = 0; may be NULL if n is not 0
//   y   [d]      out
//
//   returns, cost: as ad_map, with n - 1 runs of op in place of n of f
//   memory       as ad_map, and 8 bytes for every 31 numbers (for d above 16 of
//                fewer, above 128 of 3); in a sweep 2 n*d numbers, and
//                recordings of a part
ADX_API ad_status ad_reduce(ad_vector_fn *op, void *ctx, size_t n, size_t d,
                            const ad_rev x[], const ad_real neutral[],
                            ad_rev y[]);

// y[i] = x[0] op ... op x[i]: inclusive, in this order. Parts of 256 rows, or
// fewer if d is above 16, go on from the prefix of the results of those before.
//
//   y   [n*d]    out
//
//   returns      as ad_reduce
//   cost         n - 1 runs of op within a part; else nearly 2 n, and as many
//                in a sweep: what parts in parallel take. On one thread ad_scan
//                (adrev_loop.h) takes n
//   memory       as ad_reduce; 8 bytes for every 128 numbers (for d above 16 of
//                fewer, above 128 of 16)
ADX_API ad_status ad_prefix(ad_vector_fn *op, void *ctx, size_t n, size_t d,
                            const ad_rev x[], ad_rev y[]);

// ad_reduce or ad_prefix of what ad_map yields; only the arguments of the map
// are kept, and sweeps do it again. ctx is that of both.
//
//   f            in    [sum of the sizes of x] -> [d]
//   op           in    NULL: the sum, number by number
//   neutral [d]  in    as for ad_reduce; not used if op is NULL
//   y            out   [d]; ad_map_prefix: [n*d]
//
//   memory       as ad_map and ad_reduce; n*d numbers while it runs
ADX_API ad_status ad_map_reduce(ad_vector_fn *f, ad_vector_fn *op, void *ctx,
                                size_t n, size_t args, const ad_rows x[],
                                size_t d, const ad_real neutral[], ad_rev y[]);
ADX_API ad_status ad_map_prefix(ad_vector_fn *f, ad_vector_fn *op, void *ctx,
                                size_t n, size_t args, const ad_rows x[],
                                size_t d, ad_rev y[]);

/* --- arrays and rows of the operator table ----------------------------------
 * op is ADREV_OP_add, _mul, _min or _max; any other is ADREV_ESHAPE. A minimum
 * or maximum is one of the numbers themselves, with no statement: of equal ones
 * that with the lowest index (where ad_max shares), and NaN counts as missing.
 * Products have no division: zeros are right, one or many. These are passes
 * over memory, by one thread: 2 to 6 ns a number, 2 to 14 in a sweep.        */

// y = x[0] op ... op x[n-1]; of n = 0: 0, 1, +inf, -inf.
//
//   memory       one statement; add: as ad_sum; mul: 8 or 12 bytes per operand
ADX_API ad_status ad_reduce_op(ad_opcode op, size_t n, const ad_rev x[],
                               ad_rev *y);

// y[i] = x[0] op ... op x[i]. y may be x.
//
//   memory       one statement; mul: 16 or 20 bytes per operand; add: 0 or 4
ADX_API ad_status ad_prefix_op(ad_opcode op, size_t n, const ad_rev x[],
                               ad_rev y[]);

// bin[k] = bin[k] op all v[i] with ix[i] == k.
//
//   ix  [n]      in    other values than 0 ... m - 1: v[i] is ignored
//   bin [m]      in/out
//
//   cost         n + m
//   memory       one statement: 8 bytes per operand; mul: 16
ADX_API ad_status ad_histogram(ad_opcode op, size_t n, const ptrdiff_t ix[],
                               const ad_rev v[], size_t m, ad_rev bin[]);

/* --- movements --------------------------------------------------------------
 * Numbers know where they come from: moving them is copying, and costs nothing
 * in a sweep. So a reshaped or split array is the array itself, a[i] is plain
 * C, and so is a[i] = v. The functions below also check indices, and that the
 * result overlaps no argument; if that is not so, it is ADREV_ESHAPE. Arrays
 * are of rows of `size` numbers. On a pool, and not in a branch, rows with many
 * numbers in all are moved in parallel, but for a scatter.                  */

// y[k] = x[ix[k]] for k < n, of m rows x.
ADX_API ad_status ad_gather(size_t n, const ptrdiff_t ix[], size_t m,
                            size_t size, const ad_rev x[], ad_rev y[]);

// y[ix[k]] = v[k] for k < n, of m rows y. Rows outside are ignored; of several
// in the same place the last wins.
ADX_API ad_status ad_scatter(size_t n, const ptrdiff_t ix[], const ad_rev v[],
                             size_t m, size_t size, ad_rev y[]);

// n times the row x.
ADX_API ad_status ad_replicate(size_t n, size_t size, const ad_rev x[],
                               ad_rev y[]);

// y[j*m + i] = x[i*n + j]: n x m, of a matrix of m rows and n columns.
ADX_API ad_status ad_transpose(size_t m, size_t n, const ad_rev x[],
                               ad_rev y[]);

// Dimension k of y is dimension order[k] of x: {1, 0} transposes.
//
//   shape [dims] in    of x, the slowest dimension first; dims: at most 16
//   order [dims] in    each dimension once
ADX_API ad_status ad_rearrange(size_t dims, const size_t shape[],
                               const size_t order[], const ad_rev x[],
                               ad_rev y[]);

// x[0], x[1], ... one behind the other; x[i] has n[i] rows.
ADX_API ad_status ad_concat(size_t parts, const size_t n[],
                            const ad_rev *const x[], size_t size, ad_rev y[]);

// y[k] = x[first + k*step] for k < n, of m rows x. (m - 1, -1, m: reversed.)
ADX_API ad_status ad_slice(size_t m, size_t size, const ad_rev x[],
                           size_t first, ptrdiff_t step, size_t n,
                           ad_rev y[]);

// y[k] = x[k + by], around the end; by may be negative.
ADX_API ad_status ad_rotate(size_t n, size_t size, ptrdiff_t by,
                            const ad_rev x[], ad_rev y[]);

#ifdef __cplusplus
}
#endif
