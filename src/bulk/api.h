#pragma once

/* === bulk/api ===============================================================
 * Operators on whole arrays: the interface.
 * ========================================================================== */

/* --- configuration ------------------------------------------------------- */

// ADREV_REPLAY_FROM   a function of this many elements or steps, or more, is
//                     recorded (adrev_function.h) and replayed.    default 64
//   Recording a function costs as much as some 20 runs of it.
#ifndef ADREV_REPLAY_FROM
#define ADREV_REPLAY_FROM 64
#endif

/* --- interface --------------------------------------------------------------
 * Every function returns ADREV_OK, or why it failed. A failure makes the
 * current tape fail, too, so the status may be ignored. After a failure all
 * results are NaN, as constants, even if they stand in the place of an
 * argument; if their number is impossible, they are not written.             */

#ifdef __cplusplus
extern "C" {
#endif

/* --- functions of rows ------------------------------------------------------
 * Operators on arrays that have derivative rules of their own. An array of rows
 * is dense: row i, of `size` numbers, begins at x[i*size]. The functions f and
 * op are run again in each sweep: they must do the same then, and *ctx must not
 * change as long as the recording lasts. Recorded numbers that they bring along
 * through ctx are inputs, too. They take plain numbers by ad_value, not by .v,
 * so that a recording sees it. Results overlap no argument, unless the contract
 * says so.
 *
 * In fixed memory, under a trace hook, and where no tape is current, the
 * functions are simply called, and what they do is recorded.
 *
 * If adrev_function.h is included before this header where both are
 * implemented, a map of at least ADREV_REPLAY_FROM elements is recorded once
 * and runs in SIMD lanes; elements that take another path are done one by one.
 * If adrev_parallel.h is included so, parts of fixed size run on the pool, as
 * the branches of a fork do, and are added in order: the bits do not depend on
 * threads. Including either of them after this header does not compile.     */

// An argument of a map: element i is given the numbers from x[i*step] on.
//
//   step == size     element i has row i
//   step == 0        a parameter: all elements get the same numbers
//   step < size      windows that overlap: a stencil. Negative: backwards
typedef struct ad_rows {
    const ad_rev *x;
    size_t size;
    ptrdiff_t step;
} ad_rows;

// y = f of every element. The elements are independent of each other.
//
//   f            in    [sum of the sizes of x] -> [m]
//   x   [args]   in    arguments, which f finds one behind the other. A number
//                      of a parameter (step 0), or in several windows, is only
//                      one operand
//   y   [n*m]    out   rows of m results
//
//   returns      ADREV_OK; ADREV_EFOREIGN: f uses numbers of another recording;
//                ADREV_ESHAPE: an array or f is missing, sizes are impossible,
//                or f did not set all of its results; ADREV_EMARK: f left
//                another tape current; ADREV_ENOMEM; ADREV_EFULL; whatever
//                status f itself leaves. In a sweep, ADREV_EEXTERNAL for all of
//                these
//   cost         f once for each element, twice for the first; in a sweep, for
//                each direction, f once more and its reverse sweep
//   memory       8 bytes per operand, or 12 if their ids are not evenly spaced,
//                whatever f does; once per tape a number per operand and
//                result, as for ad_external; in a sweep a recording of about
//                2048 values, or of one element if that is longer
//   see          tests/bulk/bulk.c
ADX_API ad_status ad_map(ad_vector_fn *f, void *ctx, size_t n, size_t args,
                         const ad_rows x[], size_t m, ad_rev y[]);

// y = x[0] op x[1] op ... op x[n-1], in this order, for rows of d numbers and
// an associative op. Parts of 32 rows (fewer if d is above 16) are combined
// from the left, and then their results in the same way. The derivative
// needs no division.
//
//   op           in    [d + d] -> [d]
//   x   [n*d]    in    rows
//   neutral [d]  in    the result for n = 0; may be NULL if n is not 0
//   y   [d]      out
//
//   returns, cost: as ad_map, with n - 1 runs of op in place of n runs of f
//   memory       as ad_map, and one number of 8 bytes for every 31 (if d is
//                above 16, for fewer of them; above 128, for every 3); in a
//                sweep 2 n*d numbers, and the recording of a part
ADX_API ad_status ad_reduce(ad_vector_fn *op, void *ctx, size_t n, size_t d,
                            const ad_rev x[], const ad_real neutral[],
                            ad_rev y[]);

// y[i] = x[0] op ... op x[i]: inclusive prefixes, in this order. Parts of 256
// rows (fewer if d is above 16) each continue from the combined result of the
// parts before.
//
//   y   [n*d]    out
//
//   returns      as ad_reduce
//   cost         n - 1 runs of op if there is one part; else nearly 2 n, and as
//                many in a sweep, so that parts can run in parallel. On one
//                thread ad_scan (adrev_loop.h) takes n
//   memory       as ad_reduce, with one number for every 128 (if d is above 16,
//                for fewer of them; above 128, for every 16)
ADX_API ad_status ad_prefix(ad_vector_fn *op, void *ctx, size_t n, size_t d,
                            const ad_rev x[], ad_rev y[]);

// ad_reduce or ad_prefix of the results of ad_map. Only the arguments of the
// map are kept; sweeps do the map again. Both functions get the same ctx.
//
//   f            in    [sum of the sizes of x] -> [d]
//   op           in    NULL: the sum, element by element
//   neutral [d]  in    as for ad_reduce; not used if op is NULL
//   y            out   [d]; ad_map_prefix: [n*d]
//
//   memory       as ad_map and ad_reduce together; n*d numbers while it runs
ADX_API ad_status ad_map_reduce(ad_vector_fn *f, ad_vector_fn *op, void *ctx,
                                size_t n, size_t args, const ad_rows x[],
                                size_t d, const ad_real neutral[], ad_rev y[]);
ADX_API ad_status ad_map_prefix(ad_vector_fn *f, ad_vector_fn *op, void *ctx,
                                size_t n, size_t args, const ad_rows x[],
                                size_t d, ad_rev y[]);

/* --- arrays and rows of the operator table ----------------------------------
 * op is ADREV_OP_add, _mul, _min or _max; any other is ADREV_ESHAPE. A minimum
 * or maximum is one of the given numbers itself, without a statement. Of equal
 * numbers it is the one with the lowest index (ad_max shares the derivative
 * instead); NaN counts as missing. Derivatives of products use no division, so
 * they are right with one zero or with many. These operators are passes over
 * memory by one thread: 2 to 6 ns a number, and 2 to 14 ns in a sweep.       */

// y = x[0] op ... op x[n-1]. For n = 0 this is 0, 1, +inf or -inf.
//
//   memory       one statement; add: as ad_sum; mul: 8 or 12 bytes per operand
ADX_API ad_status ad_reduce_op(ad_opcode op, size_t n, const ad_rev x[],
                               ad_rev *y);

// y[i] = x[0] op ... op x[i]. y may be x.
//
//   memory       one statement; mul: 16 or 20 bytes per operand; add: 0 or 4
ADX_API ad_status ad_prefix_op(ad_opcode op, size_t n, const ad_rev x[],
                               ad_rev y[]);

// bin[k] = bin[k] op (all v[i] with ix[i] == k).
//
//   ix  [n]      in    v[i] is ignored where ix[i] is not in 0 ... m - 1
//   bin [m]      in/out
//
//   cost         n + m
//   memory       one statement: 8 bytes per operand; mul: 16
ADX_API ad_status ad_histogram(ad_opcode op, size_t n, const ptrdiff_t ix[],
                               const ad_rev v[], size_t m, ad_rev bin[]);

/* --- movements --------------------------------------------------------------
 * A number knows where it comes from, so moving numbers is copying, and costs
 * nothing in a sweep. A reshaped or split array is the array itself; a[i] is
 * plain C, and so is a[i] = v. The functions below also check indices, and that
 * the result overlaps no argument; if a check fails, they return ADREV_ESHAPE.
 * Arrays consist of rows of `size` numbers. If a pool is in use, and outside of
 * branches, large moves run in parallel; a scatter never does.               */

// y[k] = x[ix[k]] for k < n. x has m rows.
ADX_API ad_status ad_gather(size_t n, const ptrdiff_t ix[], size_t m,
                            size_t size, const ad_rev x[], ad_rev y[]);

// y[ix[k]] = v[k] for k < n. y has m rows. A v[k] whose index is outside y is
// ignored; of several with the same index the last wins.
ADX_API ad_status ad_scatter(size_t n, const ptrdiff_t ix[], const ad_rev v[],
                             size_t m, size_t size, ad_rev y[]);

// y = n copies of the row x.
ADX_API ad_status ad_replicate(size_t n, size_t size, const ad_rev x[],
                               ad_rev y[]);

// y[j*m + i] = x[i*n + j]: the n x m transpose of a matrix x with m rows and n
// columns.
ADX_API ad_status ad_transpose(size_t m, size_t n, const ad_rev x[],
                               ad_rev y[]);

// Dimension k of y is dimension order[k] of x: {1, 0} transposes.
//
//   shape [dims] in    sizes of x, the slowest dimension first; dims is at most
//                      16
//   order [dims] in    has each dimension once
ADX_API ad_status ad_rearrange(size_t dims, const size_t shape[],
                               const size_t order[], const ad_rev x[],
                               ad_rev y[]);

// x[0], x[1], ... one behind the other; x[i] has n[i] rows.
ADX_API ad_status ad_concat(size_t parts, const size_t n[],
                            const ad_rev *const x[], size_t size, ad_rev y[]);

// y[k] = x[first + k*step] for k < n. x has m rows. (With first = m - 1,
// step = -1 and n = m: x reversed.)
ADX_API ad_status ad_slice(size_t m, size_t size, const ad_rev x[],
                           size_t first, ptrdiff_t step, size_t n,
                           ad_rev y[]);

// y[k] = x[k + by], where indices wrap around; by may be negative.
ADX_API ad_status ad_rotate(size_t n, size_t size, ptrdiff_t by,
                            const ad_rev x[], ad_rev y[]);

#ifdef __cplusplus
}
#endif
