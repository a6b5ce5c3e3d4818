/* Made from src/ by `make headers`: changes belong there. */
/* adrev_bulk.h - operators on whole arrays: map, reduce, prefix, histogram.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_bulk.h"           // before adrev.h
 *
 * Applying a function to every element is one statement; the tape keeps only
 * its arguments:
 *
 *     #include <stdio.h>
 *
 *     static void f(const ad_rev *x, ad_rev *y, void *ctx)
 *     {
 *         (void)ctx;
 *         y[0] = ad_rec(ad_add(ad_mul(x[1], ad_sqr(x[0])), x[2]));
 *     }
 *
 *     int main(void)
 *     {
 *         const double at[] = { 1, 2, -1, 3, 7 };
 *         ad_tape *t = ad_tape_new();
 *         ad_rev x[5], y;
 *         double g[5] = {0};
 *         ad_use(t);
 *         ad_inputs(5, at, x);
 *         const ad_rows of[] = { { x, 1, 1 }, { x + 3, 2, 0 } };
 *         ad_map_reduce(f, NULL, NULL, 3, 2, of, 1, NULL, &y);
 *         ad_status s = ad_gradient(t, y, 5, x, g);
 *         printf("%s: %g, gradient %g %g %g, %g %g\n", ad_message(s),
 *                ad_value(y), g[0], g[1], g[2], g[3], g[4]);
 *         ad_tape_free(t);
 *     }
 *
 *     success: 39, gradient 6 12 -6, 6 3      3 x^2 + 7 for x = 1, 2, -1
 *
 * Linear algebra is in adrev.h; loops are in adrev_loop.h, which includes this
 * header.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   bulk/api          the interface
 *   bulk/folds        reductions, prefixes, bins by an operation
 *   bulk/movements    gathers, scatters, transposes: copies
 *   bulk/captured     tapes apart, and the numbers captured there
 *   bulk/passes       operators given by a function, in chunks
 *   bulk/maps         maps, with a recorded function in lanes
 *   bulk/reductions   reductions and prefixes by a function
 *   bulk/statement    the statement of an operator on the tape
 *   bulk/calls        the same, recorded as it happens
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev.h"

#if ADREV_FIXED
#error "adrev_bulk.h needs tapes that grow: not with ADREV_FIXED"
#endif

#ifndef ADREV_BULK_H
#define ADREV_BULK_H

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

#endif // ADREV_BULK_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_BULK_IMPLEMENTED
#define ADREV_BULK_IMPLEMENTED

/* === bulk/folds =============================================================
 * There are three kinds of bulk operators. Operators given by a row of the
 * operator table are statements of their own, whose partials are known: they
 * are in this room. Movements are copies (bulk/movements). An operator given by
 * a function is one external statement, which keeps the values of its operands
 * (bulk/statement). A sweep takes its elements chunk by chunk, records each
 * chunk on a chunk tape and sweeps that tape. Where a chunk ends depends on the
 * program alone, and the contributions of chunks are added in their order, so
 * the bits do not depend on threads.
 *
 *   needs   number/recording number/operators number/fronts tape/layout
 *           tape/memory array/operands array/linear array/sums
 *   offers  adx_now_status adx_bulk_allocator adx_bulk_take adx_bulk_no_memory
 *           adx_bulk_huge adx_results_or_nan adx_bulk_refuse adx_fold_plain
 *           adx_prefixed adx_prefixed_rule adx_bins adx_bins_rule adx_inside
 * ========================================================================== */

/* --- memory and failure -------------------------------------------------- */

// The status of the current tape; ADREV_OK if no tape is current.
static ad_status adx_now_status(void)
{
    return adx_now.tape == NULL ? ADREV_OK : adx_now.tape->status;
}

// Returns the allocator for temporary memory. NULL: there is none, since the
// tape is in fixed memory.
static const ad_allocator *adx_bulk_allocator(void)
{
    const ad_tape *t = adx_now.tape;
    if (t != NULL)
        return t->allocator.alloc == NULL ? NULL : &t->allocator;
    return adx_allocator_or(NULL);
}

// Takes temporary memory. NULL: no memory, or no allocator.
static void *adx_bulk_take(const ad_allocator *a, size_t n, size_t size)
{
    return a == NULL ? NULL : adx_take(a, n, size);
}

// Reports that adx_bulk_take has failed: ADREV_EFULL if the tape is in fixed
// memory, which has none to give.
static ad_status adx_bulk_no_memory(void)
{
    return adx_failed(adx_bulk_allocator() == NULL && adx_now.tape != NULL
                      ? ADREV_EFULL : ADREV_ENOMEM);
}

// Whether n rows of this size are more than an array can have. Each of the two
// numbers has a limit of its own, even if the other is 0.
static bool adx_bulk_huge(size_t n, size_t size)
{
    return n > ADX_MOST_ELEMENTS || size > ADX_MOST_ELEMENTS
        || adx_size_times(n, size) > ADX_MOST_ELEMENTS;
}

// No array has more numbers than this. An array that claims to have more is not
// written.
#define ADX_RESULTS_MOST (SIZE_MAX >> (sizeof(size_t) > 4 ? 24 : 6))

// After a failure, makes the results NaN: n rows of `size`, if an array can
// have so many. Returns status.
static ad_status adx_results_or_nan(ad_status status, size_t n, size_t size,
                                    ad_rev y[])
{
    if (status == ADREV_OK || y == NULL || adx_bulk_huge(n, size)
        || n * size > ADX_RESULTS_MOST)
        return status;
    for (size_t i = 0; i < n * size; i++)
        y[i] = adx_no_result();
    return status;
}

// Reports that a call has impossible arguments, and makes its results NaN.
static ad_status adx_bulk_refuse(size_t n, size_t size, ad_rev y[])
{
    return adx_results_or_nan(adx_failed(ADREV_ESHAPE), n, size, y);
}

/* --- rows of the operator table ------------------------------------------ */

// Whether ad_reduce_op and its kin have this operation.
static bool adx_is_fold(ad_opcode op)
{
    return op == ADREV_OP_add || op == ADREV_OP_mul || op == ADREV_OP_min
        || op == ADREV_OP_max;
}

// The neutral number e of an operation: e op x is x.
static ad_real adx_neutral(ad_opcode op)
{
    return op == ADREV_OP_mul ? 1 : op == ADREV_OP_min ? ADX_K(INFINITY)
         : op == ADREV_OP_max ? -ADX_K(INFINITY) : 0;
}

// Whether x replaces `best` as the least or largest number. It does not if they
// are equal; any number replaces a NaN.
static bool adx_is_better(ad_opcode op, ad_real x, ad_real best)
{
    return (op == ADREV_OP_max ? x > best : x < best)
        || (best != best && x == x);
}

// Computes an operation by the loops of array statements, so that the bits are
// the same, and tells the hook of it.
static ad_rev adx_bulk_traced(ad_opcode op, ad_rev a, ad_rev b, ad_rev c)
{
    const ad_real *const x[3] = { &a.v, &b.v, &c.v };
    ad_real d[3] = { 0, 0, 0 };
    ad_real *const to[3] = { &d[0], &d[1], &d[2] };
    ad_real v;
    adx_any_each_op(op).loops(1, x, &v, to);
    return adx_traced(op, v, a, d[0], b, d[1], c, d[2]);
}

// Computes best op x as elementary operations, for a hook. Of two equal numbers
// the first must stay and have all of the derivative; max of the operator table
// does not do that. A comparison would become a guard. So ad_select chooses x
// by how much better it is, a number that is 0 unless x is better.
static ad_rev adx_fold_traced(ad_opcode op, ad_rev best, ad_rev x)
{
    ad_rev none = adx_passive(0);
    if (op == ADREV_OP_add || op == ADREV_OP_mul)
        return adx_bulk_traced(op, best, x, none);
    ad_rev most = adx_bulk_traced(op, x, best, none);
    bool up = op == ADREV_OP_max;
    ad_rev by = adx_bulk_traced(ADREV_OP_fdim, up ? most : best,
                                up ? best : most, none);
    ad_rev y = adx_bulk_traced(ADREV_OP_select, by, x, best);
    return y;
}

// Computes and records a op b. A least or largest number is a copy.
static ad_rev adx_fold_plain(ad_opcode op, ad_rev a, ad_rev b)
{
    if (adx_now.trace)
        return adx_fold_traced(op, a, b);
    if (op == ADREV_OP_add)
        return ad_rec(ad_add(a, b));
    if (op == ADREV_OP_mul)
        return ad_rec(ad_mul(a, b));
    return adx_is_better(op, b.v, a.v) ? b : a;
}

// Returns the product of x. d, which may be NULL, becomes its partials: each is
// the product of the numbers before, times the product of the numbers behind.
// The loop forwards writes the former to d, and the loop backwards multiplies
// by the latter. So nothing is divided, and a zero in x does no harm; as in the
// chain rule, a factor of zero absorbs the other.
static ad_real adx_product_partials(size_t n, const ad_rev x[], ad_real d[])
{
    ad_real before = 1;
    ad_real behind = 1;
    for (size_t i = 0; i < n; i++) {
        if (d != NULL)
            d[i] = before;
        before *= x[i].v;
    }
    for (size_t i = n; d != NULL && i-- > 0;) {
        d[i] = adx_absorb(d[i], behind);
        behind = adx_absorb(behind, x[i].v);
    }
    return before;
}

// Records a product as one statement with n operands.
static ad_rev adx_whole_product(size_t n, const ad_rev x[])
{
    const adx_addend addend = { .x = adx_vector(n, x, 1), .scale = 1,
                                .own = true };
    adx_linear *s = adx_add_linear(n, false, 1, &addend);
    ad_rev y;

    ad_real v = adx_product_partials(n, x, s == NULL ? NULL : s->span[0].d);
    if (s != NULL)
        adx_seal_linear(s);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n - 1);
    adx_set_result(&y, v, ADX_BASE(s), 0);
    return y;
}

// Folds x with op: one statement for a sum or a product, unless a hook wants to
// see each operation.
static ad_rev adx_reduced(ad_opcode op, size_t n, const ad_rev x[])
{
    if (n == 0)
        return adx_passive(adx_neutral(op));
    if (!adx_now.trace && n > 1 && op == ADREV_OP_add)
        return (ad_sum)(n, x);
    if (!adx_now.trace && n > 1 && op == ADREV_OP_mul)
        return adx_whole_product(n, x);
    ad_rev y = x[0];
    for (size_t i = 1; i < n; i++)
        y = adx_fold_plain(op, y, x[i]);
    return y;
}

ADX_API ad_status ad_reduce_op(ad_opcode op, size_t n, const ad_rev x[],
                               ad_rev *y)
{
    if (!adx_is_fold(op) || adx_no_array(n, x) || y == NULL)
        return adx_bulk_refuse(1, 1, y);
    if (adx_now_status() == ADREV_OK)
        *y = adx_reduced(op, n, x);
    return adx_results_or_nan(adx_now_status(), 1, 1, y);
}

/* --- prefixes ------------------------------------------------------------ */

// The statement of prefix sums or products: y[i] = y[i-1] op x[i] has the
// partial a[i] with respect to y[i-1], and b[i] with respect to x[i]. A sweep
// goes through x once.
typedef struct adx_prefixed {
    adx_extended e;
    adx_ids ids;                // of x
    const ad_real *a;           // NULL (sums): all partials are 1
    const ad_real *b;           // likewise
} adx_prefixed;

static ad_real adx_scaled_by(const ad_real d[], size_t i, ad_real x)
{
    return d == NULL ? x : adx_absorb(d[i], x);
}

// r is the complete adjoint of y[i]: what y[i] has from elsewhere, and a[i+1]
// times the adjoint of y[i+1].
static bool adx_prefixed_reverse(const adx_extended *e, ad_real adj[],
                                 ad_real scratch[], size_t W)
{
    const adx_prefixed *s = (const adx_prefixed *)e;
    const ad_real *y = &adj[e->first * W];
    (void)scratch;
    for (size_t w = 0; w < W; w++) {
        ad_real r = 0;
        for (size_t i = e->values; i-- > 0;) {
            bool last = i + 1 == e->values;
            r = y[i * W + w] + (last ? 0 : adx_scaled_by(s->a, i + 1, r));
            adj[adx_id(&s->ids, i) * W + w] += adx_scaled_by(s->b, i, r);
        }
    }
    return true;
}

// yd[i] = a[i] yd[i-1] + b[i] xd[i].
static bool adx_prefixed_forward(const adx_extended *e, ad_real tan[],
                                 ad_real scratch[], size_t W)
{
    const adx_prefixed *s = (const adx_prefixed *)e;
    (void)scratch;
    for (size_t w = 0; w < W; w++) {
        ad_real r = 0;
        for (size_t i = 0; i < e->values; i++) {
            ad_real x = tan[adx_id(&s->ids, i) * W + w];
            r = (i == 0 ? 0 : adx_scaled_by(s->a, i, r))
              + adx_scaled_by(s->b, i, x);
            tan[(e->first + i) * W + w] += r;
        }
    }
    return true;
}

static const adx_rule adx_prefixed_rule = {
    "prefix", adx_prefixed_reverse, adx_prefixed_forward, NULL
};

// Adds the statement to the tape. NULL: all of x are constants, or the tape has
// failed.
static adx_prefixed *adx_add_prefixed(bool product, size_t n, const ad_rev x[])
{
    const adx_view view = adx_vector(n, x, 1);
    if (!adx_recording())
        return NULL;
    adx_ids ids = adx_classify(&view);
    if (adx_is_constant(&ids) || adx_now.tape->status != ADREV_OK)
        return NULL;
    size_t reals = product ? 2 * n * sizeof(ad_real) : 0;
    adx_prefixed *s = adx_add_extended(&adx_prefixed_rule,
        sizeof *s + reals + (ids.listed ? n * sizeof(uint32_t) : 0), n, n);
    if (s == NULL)
        return NULL;
    ad_real *room = (ad_real *)(s + 1);
    s->a = product ? room : NULL;
    s->b = product ? room + n : NULL;
    s->ids = ids;
    adx_write_list(&view, &s->ids, (uint32_t *)(void *)((char *)room + reals));
    return s;
}

// Computes the values and, of products, the partials. y may be x.
static void adx_prefix_statement(ad_opcode op, size_t n, const ad_rev x[],
                                 adx_prefixed *s, ad_rev y[])
{
    bool product = op == ADREV_OP_mul;
    ad_real *a = s == NULL || !product ? NULL : (ad_real *)(s + 1);
    ad_real v = adx_neutral(op);
    for (size_t i = 0; i < n; i++) {
        ad_real last = v;
        ad_real xi = x[i].v;
        v = i == 0 ? xi : product ? last * xi : last + xi;
        if (a != NULL) {
            a[i] = xi;
            a[n + i] = last;
        }
        adx_set_result(&y[i], v, ADX_BASE(s), i);
    }
}

// Computes prefixes as elementary operations, for a hook.
static ad_status adx_prefix_traced(ad_opcode op, size_t n, const ad_rev x[],
                                   ad_rev y[])
{
    const ad_allocator *memory = adx_bulk_allocator();
    ad_rev *z = (ad_rev *)adx_bulk_take(memory, n, sizeof *z);
    if (z == NULL)
        return adx_bulk_no_memory();
    for (size_t i = 0; i < n; i++)
        z[i] = i == 0 ? x[0] : adx_fold_traced(op, z[i - 1], x[i]);
    memcpy(y, z, n * sizeof *y);
    adx_drop(memory, z);
    return adx_now_status();
}

// Computes and records the prefixes. A least or largest number is a copy.
static ad_status adx_prefixes(ad_opcode op, size_t n, const ad_rev x[],
                              ad_rev y[])
{
    ad_status status = adx_now_status();
    if (status != ADREV_OK || n == 0)
        return status;
    if (adx_now.trace)
        return adx_prefix_traced(op, n, x, y);
    if (op == ADREV_OP_min || op == ADREV_OP_max) {
        ad_rev best = x[0];
        for (size_t i = 0; i < n; i++)
            y[i] = best = adx_is_better(op, x[i].v, best.v) ? x[i] : best;
        return ADREV_OK;
    }
    adx_prefixed *s = adx_add_prefixed(op == ADREV_OP_mul, n, x);
    status = adx_now_status();
    if (status == ADREV_OK)
        adx_prefix_statement(op, n, x, s, y);
    return status;
}

ADX_API ad_status ad_prefix_op(ad_opcode op, size_t n, const ad_rev x[],
                               ad_rev y[])
{
    if (!adx_is_fold(op) || adx_no_array(n, x) || adx_no_array(n, y))
        return adx_bulk_refuse(n, 1, y);
    return adx_results_or_nan(adx_prefixes(op, n, x, y), n, 1, y);
}

/* --- histograms ---------------------------------------------------------- */

// The statement of a histogram. Result k has the partial own[k] with respect to
// what was in bin k before, and d[i] with respect to each v[i] that goes to bin
// k (at[i] == k).
typedef struct adx_bins {
    adx_extended e;
    size_t terms;
    ad_real *own;               // [values] NULL (sums): all partials are 1
    ad_real *d;                 // [terms] likewise
    uint32_t *bin;              // [values] ids of the bins as they were
    uint32_t *v;                // [terms] ids of the terms
    uint32_t *at;               // [terms] the bin of each
} adx_bins;

// Each bin as it was gets own[k] times the adjoint of the bin as it is; each
// term gets d[i] times that of its bin.
static bool adx_bins_reverse(const adx_extended *e, ad_real adj[],
                             ad_real scratch[], size_t W)
{
    const adx_bins *s = (const adx_bins *)e;
    const ad_real *y = &adj[e->first * W];
    (void)scratch;
    for (size_t w = 0; w < W; w++) {
        for (size_t k = 0; k < e->values; k++)
            adj[s->bin[k] * W + w] += adx_scaled_by(s->own, k, y[k * W + w]);
        for (size_t i = 0; i < s->terms; i++)
            adj[s->v[i] * W + w] += adx_scaled_by(s->d, i, y[s->at[i] * W + w]);
    }
    return true;
}

// The same forward: a bin's tangent is the sum of those of its terms, each
// times its partial.
static bool adx_bins_forward(const adx_extended *e, ad_real tan[],
                             ad_real scratch[], size_t W)
{
    const adx_bins *s = (const adx_bins *)e;
    ad_real *y = &tan[e->first * W];
    (void)scratch;
    for (size_t w = 0; w < W; w++) {
        for (size_t k = 0; k < e->values; k++)
            y[k * W + w] += adx_scaled_by(s->own, k, tan[s->bin[k] * W + w]);
        for (size_t i = 0; i < s->terms; i++)
            y[s->at[i] * W + w] += adx_scaled_by(s->d, i, tan[s->v[i] * W + w]);
    }
    return true;
}

static const adx_rule adx_bins_rule = {
    "histogram", adx_bins_reverse, adx_bins_forward, NULL
};

// Whether an index is in 0 ... m - 1.
static bool adx_inside(ptrdiff_t i, size_t m)
{
    return i >= 0 && (size_t)i < m;
}

// Returns the id of x; a constant has that of the sink, to which adjoints may
// be added.
static uint32_t adx_id_or_sink(ad_rev x)
{
    uint32_t id = adx_id_here(x);
    return id == 0 ? (uint32_t)adx_now.sink : id;
}

// Counts the terms, which are the v whose index is that of a bin. Returns
// whether a term or a bin is recorded.
static bool adx_bins_active(size_t n, const ptrdiff_t ix[], const ad_rev v[],
                            size_t m, const ad_rev bin[], size_t *terms)
{
    bool active = false;
    *terms = 0;
    for (size_t k = 0; k < m; k++)
        active = adx_id_here(bin[k]) != 0 || active;
    for (size_t i = 0; i < n; i++)
        if (adx_inside(ix[i], m)) {
            active = adx_id_here(v[i]) != 0 || active;
            ++*terms;
        }
    return active;
}

// Adds the statement to the tape. NULL: all numbers are constants, or the tape
// has failed.
static adx_bins *adx_add_bins(bool product, size_t n, const ptrdiff_t ix[],
                              const ad_rev v[], size_t m, const ad_rev bin[])
{
    size_t terms;
    if (!adx_recording() || !adx_bins_active(n, ix, v, m, bin, &terms)
        || adx_now.tape->status != ADREV_OK)
        return NULL;
    size_t reals = product ? m + terms : 0;
    adx_bins *s = adx_add_extended(&adx_bins_rule,
        sizeof *s + reals * sizeof(ad_real)
            + (m + 2 * terms) * sizeof(uint32_t), m, m + terms);
    if (s == NULL)
        return NULL;
    ad_real *room = (ad_real *)(s + 1);
    s->terms = terms;
    s->own = product ? room : NULL;
    s->d = product ? room + m : NULL;
    s->bin = (uint32_t *)(void *)(room + reals);
    s->v = s->bin + m;
    s->at = s->v + terms;
    for (size_t k = 0; k < m; k++)
        s->bin[k] = adx_id_or_sink(bin[k]);
    for (size_t i = 0, j = 0; i < n; i++)
        if (adx_inside(ix[i], m)) {
            s->v[j] = adx_id_or_sink(v[i]);
            s->at[j++] = (uint32_t)ix[i];
        }
    return s;
}

// Computes the partials of products as adx_product_partials does, bin by bin:
// the product of what comes before a number, times the product of what comes
// behind it. On both ways own[k] is the running product of bin k. At the end it
// is the product of all v of the bin, which is the partial with respect to the
// bin as it was.
static void adx_bins_products(adx_bins *s, const ad_rev v[],
                              const ptrdiff_t ix[], size_t n,
                              const ad_rev bin[])
{
    size_t m = s->e.values;
    size_t j = 0;
    for (size_t k = 0; k < m; k++)
        s->own[k] = bin[k].v;
    for (size_t i = 0; i < n; i++)
        if (adx_inside(ix[i], m)) {
            s->d[j++] = s->own[ix[i]];
            s->own[ix[i]] *= v[i].v;
        }
    for (size_t k = 0; k < m; k++)
        s->own[k] = 1;
    for (size_t i = n; i-- > 0;)
        if (adx_inside(ix[i], m)) {
            j--;
            s->d[j] = adx_absorb(s->d[j], s->own[ix[i]]);
            s->own[ix[i]] = adx_absorb(s->own[ix[i]], v[i].v);
        }
}

// Computes a histogram as elementary operations, for a hook.
static ad_status adx_histogram_traced(ad_opcode op, size_t n,
                                      const ptrdiff_t ix[], const ad_rev v[],
                                      size_t m, ad_rev bin[])
{
    const ad_allocator *memory = adx_bulk_allocator();
    ad_rev *y = (ad_rev *)adx_bulk_take(memory, m, sizeof *y);
    if (y == NULL)
        return adx_bulk_no_memory();
    memcpy(y, bin, m * sizeof *y);
    for (size_t i = 0; i < n; i++)
        if (adx_inside(ix[i], m))
            y[ix[i]] = adx_fold_traced(op, y[ix[i]], v[i]);
    memcpy(bin, y, m * sizeof *y);
    adx_drop(memory, y);
    return adx_now_status();
}

// Computes the values of the bins. A least or largest number is a copy and
// makes no statement.
static void adx_histogram_values(ad_opcode op, size_t n, const ptrdiff_t ix[],
                                 const ad_rev v[], size_t m, ad_rev bin[],
                                 const adx_bins *s)
{
    for (size_t i = 0; i < n; i++) {
        if (!adx_inside(ix[i], m))
            continue;
        ad_rev *y = &bin[ix[i]];
        if (op == ADREV_OP_add)
            y->v += v[i].v;
        else if (op == ADREV_OP_mul)
            y->v *= v[i].v;
        else if (adx_is_better(op, v[i].v, y->v))
            *y = v[i];
    }
    if (op == ADREV_OP_add || op == ADREV_OP_mul)
        for (size_t k = 0; k < m; k++)
            adx_set_result(&bin[k], bin[k].v, ADX_BASE(s), k);
}

// Computes and records the bins of a histogram.
static ad_status adx_fill_bins(ad_opcode op, size_t n, const ptrdiff_t ix[],
                               const ad_rev v[], size_t m, ad_rev bin[])
{
    ad_status status = adx_now_status();
    if (status != ADREV_OK || m == 0 || n == 0)
        return status;
    if (adx_now.trace)
        return adx_histogram_traced(op, n, ix, v, m, bin);
    bool product = op == ADREV_OP_mul;
    adx_bins *s = product || op == ADREV_OP_add
                ? adx_add_bins(product, n, ix, v, m, bin) : NULL;
    status = adx_now_status();
    if (status != ADREV_OK)
        return status;
    if (s != NULL && product)
        adx_bins_products(s, v, ix, n, bin);
    adx_histogram_values(op, n, ix, v, m, bin, s);
    return ADREV_OK;
}

ADX_API ad_status ad_histogram(ad_opcode op, size_t n, const ptrdiff_t ix[],
                               const ad_rev v[], size_t m, ad_rev bin[])
{
    if (!adx_is_fold(op) || adx_no_array(n, ix) || adx_no_array(n, v)
        || adx_no_array(m, bin))
        return adx_bulk_refuse(m, 1, bin);
    return adx_results_or_nan(adx_fill_bins(op, n, ix, v, m, bin), m, 1, bin);
}

/* === bulk/movements =========================================================
 * Movements copy numbers together with their ids, so they leave nothing on the
 * tape. The rows of y do not depend on each other, so large movements run in
 * parallel, in parts of 2^14 numbers. Fewer than 2^17 numbers are moved by one
 * thread: they are done before another thread is awake. Inside a branch one
 * thread moves all numbers, because a thread that waits for others runs other
 * branches meanwhile, and a copy is not worth that. A scatter is not cut into
 * parts, because its order matters.
 *
 *   needs   tape/memory parallel/pool bulk/folds
 * ========================================================================== */

// Whether n numbers from x and m numbers from y overlap in memory.
static bool adx_overlaps(const ad_rev *x, size_t n, const ad_rev *y, size_t m)
{
    uintptr_t a = (uintptr_t)x;
    uintptr_t b = (uintptr_t)y;
    return n > 0 && m > 0 && a < b + m * sizeof *y && b < a + n * sizeof *x;
}

// Whether n rows of x can be copied to m rows of y.
static bool adx_can_move(size_t n, const ad_rev *x, size_t m, const ad_rev *y,
                         size_t size)
{
    return !adx_bulk_huge(n, size) && !adx_bulk_huge(m, size)
        && (n * size == 0 || x != NULL) && (m * size == 0 || y != NULL)
        && !adx_overlaps(x, n * size, y, m * size);
}

// Copies row k of x to row i of y.
static void adx_move_row(ad_rev y[], size_t i, const ad_rev x[], size_t k,
                         size_t size)
{
    if (size == 1)
        y[i] = x[k];
    else if (size > 0)
        memcpy(y + i * size, x + k * size, size * sizeof *y);
}

#define ADX_TILE 8              // rows and columns that fit a cache together

typedef struct adx_walk adx_walk;
typedef struct adx_move adx_move;
typedef void adx_mover(const adx_move *m, size_t begin, size_t end);

// A movement: n rows of y, which `mover` copies from x.
struct adx_move {
    adx_mover *mover;
    const ad_rev *x;
    ad_rev *y;
    size_t n;
    size_t size;                // numbers of a row
    size_t first;               // slice: row k is row first + k*step of x
    size_t step;
    const ptrdiff_t *ix;        // gather: row k is row ix[k] of x
    const adx_walk *walk;       // rearrange
    bool tiled;                 // parts consist of whole tiles
    size_t grain;               // rows of a part
};

static void adx_move_slice(const adx_move *m, size_t begin, size_t end)
{
    const adx_move c = *m;      // a copy, which no y can overlap
    for (size_t k = begin; k < end; k++)
        adx_move_row(c.y, k, c.x, c.first + k * c.step, c.size);
}

static void adx_move_indexed(const adx_move *m, size_t begin, size_t end)
{
    const adx_move c = *m;
    for (size_t k = begin; k < end; k++)
        adx_move_row(c.y, k, c.x, (size_t)c.ix[k], c.size);
}

#ifdef ADREV_PARALLEL_IMPLEMENTED
#define ADX_MOVE_TOGETHER ((size_t)1 << 17)     // numbers that one thread moves
#define ADX_MOVE_PART ((size_t)1 << 14)         // numbers of a part

static void adx_move_part(size_t i, void *arg)
{
    const adx_move *m = (const adx_move *)arg;
    size_t begin = i * m->grain;
    size_t left = m->n - begin;
    m->mover(m, begin, begin + (left < m->grain ? left : m->grain));
}
#endif

// Moves all rows, in parallel if they are many.
static void adx_move_all(adx_move *m)
{
    if (m->n == 0 || m->size == 0)
        return;
#ifdef ADREV_PARALLEL_IMPLEMENTED
    if (adx_mine.inside == 0 && m->n > ADX_MOVE_TOGETHER / m->size) {
        size_t tiles = m->tiled ? ADX_TILE : 1;
        m->grain = (ADX_MOVE_PART / m->size / tiles + 1) * tiles;
        adx_execute(adx_mine.execute, adx_mine.user,
                    (m->n - 1) / m->grain + 1, adx_move_part, m);
        return;
    }
#endif
    m->mover(m, 0, m->n);
}

// Copies n rows of x to y: first, first + step, ...
static void adx_move_rows(size_t n, size_t size, const ad_rev x[],
                          size_t first, size_t step, ad_rev y[])
{
    adx_move m = { .mover = adx_move_slice, .x = x, .y = y, .n = n,
                   .size = size, .first = first, .step = step };
    adx_move_all(&m);
}

ADX_API ad_status ad_gather(size_t n, const ptrdiff_t ix[], size_t m,
                            size_t size, const ad_rev x[], ad_rev y[])
{
    bool right = adx_can_move(m, x, n, y, size) && (n == 0 || ix != NULL);
    for (size_t k = 0; right && k < n; k++)
        right = adx_inside(ix[k], m);
    if (!right)
        return adx_bulk_refuse(n, size, y);
    adx_move move = { .mover = adx_move_indexed, .x = x, .y = y, .n = n,
                      .size = size, .ix = ix };
    adx_move_all(&move);
    return ADREV_OK;
}

ADX_API ad_status ad_scatter(size_t n, const ptrdiff_t ix[], const ad_rev v[],
                             size_t m, size_t size, ad_rev y[])
{
    if (!adx_can_move(n, v, m, y, size) || (n > 0 && ix == NULL))
        return adx_bulk_refuse(m, size, y);
    for (size_t k = 0; k < n; k++)
        if (adx_inside(ix[k], m))
            adx_move_row(y, (size_t)ix[k], v, k, size);
    return ADREV_OK;
}

ADX_API ad_status ad_replicate(size_t n, size_t size, const ad_rev x[],
                               ad_rev y[])
{
    if (!adx_can_move(1, x, n, y, size))
        return adx_bulk_refuse(n, size, y);
    adx_move_rows(n, size, x, 0, 0, y);
    return ADREV_OK;
}

// Transposes: rows of x, m->n of m->size numbers, become columns of y. It goes
// tile by tile, so that each cache line that a tile touches is used as a whole.
static void adx_move_tiles(const adx_move *m, size_t begin, size_t end)
{
    const adx_move c = *m;
    for (size_t i0 = begin; i0 < end; i0 += ADX_TILE)
        for (size_t j0 = 0; j0 < c.size; j0 += ADX_TILE) {
            size_t i1 = i0 + ADX_TILE < end ? i0 + ADX_TILE : end;
            size_t j1 = j0 + ADX_TILE < c.size ? j0 + ADX_TILE : c.size;
            for (size_t j = j0; j < j1; j++)
                for (size_t i = i0; i < i1; i++)
                    c.y[j * c.n + i] = c.x[i * c.size + j];
        }
}

ADX_API ad_status ad_transpose(size_t m, size_t n, const ad_rev x[],
                               ad_rev y[])
{
    if (!adx_can_move(m, x, m, y, n))
        return adx_bulk_refuse(m, n, y);
    adx_move move = { .mover = adx_move_tiles, .x = x, .y = y, .n = m,
                      .size = n, .tiled = true };
    adx_move_all(&move);
    return ADREV_OK;
}

#define ADX_DIMENSIONS 16

// A walk through y in the order of its elements. Dimension k of y has this
// extent, and this stride in x.
struct adx_walk {
    size_t dims;
    size_t extent[ADX_DIMENSIONS];
    size_t stride[ADX_DIMENSIONS];
};

// Describes the walk of a rearrangement. Dimension k of y is dimension order[k]
// of x. *count becomes the number of elements, or stays 0 if that is not known.
// False: `order` is no permutation, or x is too large.
static bool adx_plan_walk(size_t dims, const size_t shape[],
                          const size_t order[], adx_walk *walk, size_t *count)
{
    size_t stride[ADX_DIMENSIONS];
    unsigned seen = 0;
    *count = 0;
    if (dims > ADX_DIMENSIONS || (dims > 0 && (shape == NULL || order == NULL)))
        return false;
    size_t total = 1;
    for (size_t k = dims; k-- > 0;) {
        stride[k] = total;
        if (adx_bulk_huge(total, shape[k]))
            return false;
        total *= shape[k];
    }
    *count = total;
    walk->dims = dims;
    for (size_t k = 0; k < dims; k++) {
        if (order[k] >= dims || (seen >> order[k] & 1) != 0)
            return false;
        seen |= 1u << order[k];
        walk->extent[k] = shape[order[k]];
        walk->stride[k] = stride[order[k]];
    }
    return true;
}

// Copies the elements of y from `begin` on. at[] are the indices of the current
// one, and `from` is its place in x. The indices move like the digits of a
// counter: the last one with each element, and any other when the one behind it
// starts again at 0.
static void adx_move_walk(const adx_move *m, size_t begin, size_t end)
{
    const adx_walk *w = m->walk;
    size_t at[ADX_DIMENSIONS];
    size_t from = 0;
    for (size_t k = w->dims, rest = begin; k-- > 0; rest /= w->extent[k]) {
        at[k] = rest % w->extent[k];
        from += at[k] * w->stride[k];
    }
    for (size_t i = begin; i < end; i++) {
        m->y[i] = m->x[from];
        for (size_t k = w->dims; k-- > 0;) {
            from += w->stride[k];
            if (++at[k] < w->extent[k])
                break;
            from -= at[k] * w->stride[k];
            at[k] = 0;
        }
    }
}

ADX_API ad_status ad_rearrange(size_t dims, const size_t shape[],
                               const size_t order[], const ad_rev x[],
                               ad_rev y[])
{
    adx_walk walk;
    size_t count;
    if (!adx_plan_walk(dims, shape, order, &walk, &count)
        || !adx_can_move(count, x, count, y, 1))
        return adx_bulk_refuse(count, 1, y);
    adx_move move = { .mover = adx_move_walk, .x = x, .y = y, .n = count,
                      .size = 1, .walk = &walk };
    adx_move_all(&move);
    return ADREV_OK;
}

ADX_API ad_status ad_concat(size_t parts, const size_t n[],
                            const ad_rev *const x[], size_t size, ad_rev y[])
{
    bool right = !adx_no_array(parts, n) && !adx_no_array(parts, x);
    size_t total = 0;
    for (size_t i = 0; right && i < parts; i++) {
        total = adx_size_plus(total, n[i]);
        right = !adx_bulk_huge(total, size);
    }
    total = right ? total : 0;
    for (size_t i = 0; right && i < parts; i++)
        right = adx_can_move(n[i], x[i], total, y, size);
    if (!right)
        return adx_bulk_refuse(total, size, y);
    for (size_t i = 0; i < parts; i++)
        if (n[i] * size > 0) {
            adx_move_rows(n[i], size, x[i], 0, 1, y);
            y += n[i] * size;
        }
    return ADREV_OK;
}

// Whether first, first + step, ... (n of them) are all below m.
static bool adx_slice_fits(size_t m, size_t first, ptrdiff_t step, size_t n)
{
    if (n == 0)
        return true;
    if (first >= m)
        return false;
    size_t by = step < 0 ? 0 - (size_t)step : (size_t)step;
    size_t room = step < 0 ? first : m - 1 - first;
    return by == 0 || (n - 1) <= room / by;
}

ADX_API ad_status ad_slice(size_t m, size_t size, const ad_rev x[],
                           size_t first, ptrdiff_t step, size_t n,
                           ad_rev y[])
{
    if (!adx_can_move(m, x, n, y, size) || !adx_slice_fits(m, first, step, n))
        return adx_bulk_refuse(n, size, y);
    adx_move_rows(n, size, x, first, (size_t)step, y);
    return ADREV_OK;
}

ADX_API ad_status ad_rotate(size_t n, size_t size, ptrdiff_t by,
                            const ad_rev x[], ad_rev y[])
{
    if (!adx_can_move(n, x, n, y, size))
        return adx_bulk_refuse(n, size, y);
    if (n * size == 0)
        return ADREV_OK;
    ptrdiff_t rest = by % (ptrdiff_t)n;
    size_t first = rest < 0 ? n - (0 - (size_t)rest) : (size_t)rest;
    size_t ahead = n - first;
    adx_move_rows(ahead, size, x, first, 1, y);
    adx_move_rows(first, size, x, 0, 1, y + ahead * size);
    return ADREV_OK;
}

/* === bulk/captured ==========================================================
 * Some parts of a program run on tapes of their own: chunks of an operator
 * (bulk/passes), steps of loops and checkpoints (loop/stage). When such a part
 * uses a number of the recording outside, the foreign hook of its tape is
 * called. The number is then captured: it is entered into a list, and becomes a
 * further operand of the statement that the part becomes.
 *
 *   needs   tape/layout tape/memory tape/hooks
 *   offers  adx_captured adx_find_captured adx_free_captured adx_add_captured
 *           adx_list_captured adx_new_tape_apart adx_runs_on adx_end_apart
 * ========================================================================== */

/* --- captured numbers ---------------------------------------------------- */

// The captured numbers: their compound ids in the order in which they were met,
// and a hash table (open addressing) that finds an id in the list.
typedef struct adx_captured {
    uint64_t *id;
    uint32_t *bucket;           // [room] 1 + index; 0: free
    size_t n;
    size_t room;                // a power of two, at least 2 n; or 0
} adx_captured;

// Returns the bucket of an id or, if the id is not in the table, the free one
// where it would go.
static uint32_t *adx_captured_bucket(const adx_captured *c, uint64_t id)
{
    size_t i = (size_t)((id * 0x9e3779b97f4a7c15u) >> 32);
    while (c->bucket[i & (c->room - 1)] != 0
           && c->id[c->bucket[i & (c->room - 1)] - 1] != id)
        i++;
    return &c->bucket[i & (c->room - 1)];
}

// Returns 1 + the index of an id in the list; 0: it has not been captured.
static uint32_t adx_find_captured(const adx_captured *c, uint64_t id)
{
    return c->room == 0 ? 0 : *adx_captured_bucket(c, id);
}

static void adx_free_captured(const ad_allocator *a, adx_captured *c)
{
    adx_drop(a, c->id);
    adx_drop(a, c->bucket);
}

// Doubles the room, and enters all ids into a new table. False: no memory.
static bool adx_widen_captured(const ad_allocator *a, adx_captured *c)
{
    adx_captured wide = { .n = c->n, .room = c->room == 0 ? 16 : 2 * c->room };
    wide.id = (uint64_t *)adx_take(a, wide.room / 2, sizeof *wide.id);
    wide.bucket = (uint32_t *)adx_take(a, wide.room, sizeof *wide.bucket);
    if (wide.id == NULL || wide.bucket == NULL) {
        adx_free_captured(a, &wide);
        return false;
    }
    memset(wide.bucket, 0, wide.room * sizeof *wide.bucket);
    for (size_t i = 0; i < c->n; i++) {
        wide.id[i] = c->id[i];
        *adx_captured_bucket(&wide, c->id[i]) = (uint32_t)i + 1;
    }
    adx_free_captured(a, c);
    *c = wide;
    return true;
}

// Appends an id that is not in the list yet. False: no memory.
static bool adx_add_captured(const ad_allocator *a, adx_captured *c,
                             uint64_t id)
{
    if (2 * (c->n + 1) > c->room && !adx_widen_captured(a, c))
        return false;
    c->id[c->n] = id;
    *adx_captured_bucket(c, id) = (uint32_t)++c->n;
    return true;
}

// Writes the captured numbers as operands. Only their ids are known, so their
// values are 0.
static void adx_list_captured(const adx_captured *k, ad_rev to[])
{
    for (size_t i = 0; i < k->n; i++)
        to[i] = (ad_rev){ 0, (uint32_t)k->id[i], (uint32_t)(k->id[i] >> 32) };
}

/* --- tapes apart --------------------------------------------------------- */

// Makes a tape with this foreign hook. NULL: no memory.
static ad_tape *adx_new_tape_apart(const ad_allocator *a,
                                   ad_rev (*hook)(void *user, ad_rev x),
                                   void *user)
{
    const ad_hooks hooks = { .foreign = hook, .user = user };
    ad_tape *t = ad_tape_new_with(a);
    if (t != NULL)
        ad_tape_hooks(t, &hooks);
    return t;
}

// Whether the caller of the hook of t records on t itself. A branch of a fork
// does not: it records on another tape, or on a part of t that is swept apart.
static bool adx_runs_on(const ad_tape *t)
{
    return adx_now.tape == t && t->open == 0;
}

// Ends a run on t: all results become values of t, also those that come from
// outside. Returns the status of t, which is ADREV_EMARK if the run left
// another tape current.
static ad_status adx_end_apart(ad_tape *t, size_t m, ad_rev y[])
{
    if (adx_now.tape != t) {
        ad_use(t);
        adx_fail(t, ADREV_EMARK);
    }
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0 && t->status == ADREV_OK)
            y[i] = adx_known_here(y[i]);
    return t->status;
}

/* === bulk/passes =============================================================
 * Operators that are given by a function of rows: their operands; the chunk
 * tapes, on each of which one chunk is recorded; and the passes. A pass goes
 * through all chunks and does one thing with each: it computes values, pulls
 * adjoints back, or pushes tangents forward.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *           sweep/session array/operands array/linear parallel/api
 *           parallel/pool function/api bulk/api bulk/captured
 *   offers  adx_strip ADX_BULK_MAP ADX_BULK_REDUCE ADX_BULK_PREFIX adx_bulk
 *           adx_strip_of adx_part_count adx_extent_of adx_place_source
 *           adx_list_operands ADX_SHAPE_map ADX_SHAPE_fold ADX_SHAPE_prefix
 *           ADX_DUTY_values ADX_DUTY_pull ADX_DUTY_push adx_chunk_tape
 *           adx_pass adx_apply_op adx_run_chunk adx_operand_of adx_open_pass
 *           adx_close_pass adx_do_pass
 * ========================================================================== */

/* --- operands of functions ----------------------------------------------- */

// An argument of the function: where the numbers of each element are. The
// numbers of element i begin at i*stride.
typedef struct adx_strip {
    _Alignas(8)                 // numbers stand behind several
    const ad_real *v;           // in the caller's array; NULL: in the values
                                // that the statement kept, from `at` on
    ptrdiff_t unit;             // distance from number to number, in ad_real
    ptrdiff_t stride;           // distance from element to element
    size_t size;                // numbers of an element
    size_t at;                  // index of the operand that is the first number
                                // of element 0
    ptrdiff_t next;             // from this index to that of element 1
    bool shared;                // all elements have the same numbers (stride 0)
} adx_strip;

typedef enum adx_outcome_kind {
    ADX_BULK_MAP,               // the results of f
    ADX_BULK_REDUCE,            // the reduction of these by op
    ADX_BULK_PREFIX             // their prefixes by op
} adx_outcome_kind;

// A bulk operator. In a statement on the tape, the arrays that its pointers
// name lie behind it (adx_open_bulk).
typedef struct adx_bulk {
    _Alignas(8) adx_outcome_kind kind;  // numbers stand behind it on the tape
    ad_vector_fn *f;            // NULL: elements are taken as they are
    ad_vector_fn *op;           // NULL: sums
    void *ctx;
    size_t n;
    size_t d;                   // results of f
    size_t width;               // numbers that belong to one element alone
    size_t shared;              // numbers that all elements share
    size_t sources;             // arguments
    size_t operands;            // numbers of the arguments; captured numbers
                                // follow them
    size_t radix;               // rows that op combines into one part
    size_t chunk;               // elements of f that are recorded together
    size_t kept;                // numbers in the levels (bulk/reductions)
    ad_allocator memory;
    bool sealed;                // on the tape: nothing changes any more
    struct ad_fn *fn;           // f, recorded; or NULL
    const char *why;            // f failed, if it said so (ad_fail)
    adx_strip *source;
    adx_captured captured;
    ad_real *v;                 // [operands] values
    ad_real *part;              // [kept] the levels
} adx_bulk;

// Returns where the numbers of element i of an argument are.
static const ad_real *adx_strip_of(const adx_bulk *b, const adx_strip *s,
                                   size_t i)
{
    return (s->v == NULL ? b->v + s->at : s->v) + (ptrdiff_t)i * s->stride;
}

// How many parts of `size` elements n elements make, the last part perhaps
// shorter.
static size_t adx_part_count(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

// How many operands an argument has. A number that lies in several overlapping
// windows is one operand.
static size_t adx_extent_of(size_t n, const ad_rows *x)
{
    size_t stride = adx_magnitude(x->step);
    return stride > x->size ? n * x->size : (n - 1) * stride + x->size;
}

// Describes an argument: where it is in memory, and which operands it has, from
// index `at` on. If windows go backwards, element 0 has the last of these
// operands.
static adx_strip adx_place_source(size_t n, const ad_rows *x, size_t at)
{
    adx_strip s = { .unit = ADX_UNIT, .stride = x->step * ADX_UNIT,
                     .size = x->size, .shared = x->step == 0 };
    bool apart = adx_magnitude(x->step) > x->size;
    s.v = x->size == 0 ? NULL : &x->x->v;
    s.next = apart ? (ptrdiff_t)x->size : x->step;
    s.at = s.next < 0 ? at + (n - 1) * adx_magnitude(s.next) : at;
    return s;
}

// Writes the operands of an argument in order. Returns where the next ones go.
static ad_rev *adx_list_operands(size_t n, const ad_rows *x, ad_rev *to)
{
    const ad_rev *from = x->x;
    if (x->size == 0)
        return to;
    if (adx_magnitude(x->step) <= x->size) {
        size_t count = adx_extent_of(n, x);
        from -= x->step < 0 ? (n - 1) * adx_magnitude(x->step) : 0;
        memcpy(to, from, count * sizeof *to);
        return to + count;
    }
    for (size_t i = 0; i < n; i++, from += x->step, to += x->size)
        memcpy(to, from, x->size * sizeof *to);
    return to;
}

/* --- chunk tapes ----------------------------------------------------------
 * A pass takes all elements of a map, or all rows that op combines, chunk by
 * chunk. While the function runs for a chunk, a chunk tape is current, and its
 * foreign hook is called for each number that the function captures. When
 * values are computed, all numbers are constants and nothing is recorded. For
 * derivatives, the numbers of a chunk are inputs of its tape, in this order:
 * numbers that all chunks share, captured numbers, the carry of a prefix, the
 * items.                                                                     */

typedef enum adx_shape {
    ADX_SHAPE_map,              // f is called for each item
    ADX_SHAPE_fold,             // op combines all items of a chunk into a row
    ADX_SHAPE_prefix            // op combines each item with the result before
} adx_shape;

typedef enum adx_duty {
    ADX_DUTY_values, ADX_DUTY_pull, ADX_DUTY_push
} adx_duty;

#define ADX_CHUNKS_MOST 64      // chunks in progress at a time, at most

typedef struct adx_chunk_tape adx_chunk_tape;
typedef struct adx_pass {
    adx_bulk *b;
    adx_shape shape;
    adx_duty duty;
    size_t items;
    size_t chunk;
    const uint32_t *only;       // map: the elements that the items are; NULL:
                                // all elements
    const ad_real *v;           // fold, prefix: the rows, [items*d] numbers
    ptrdiff_t unit;             // distance from each of these to the next
    ad_real *to;                // results: their values; push: their tangents
    const ad_real *dy;          // pull: adjoints of the results
    size_t dy_stride;           // distance from row to row of dy
    ad_real *dx;                // pull: adjoints are added here; of a map to
                                // those of the operands, else to those of v
    const ad_real *tx;          // push: tangents in the same order as dx
    ad_real *captured;          // pull: adjoints of captured numbers are added
                                // here
    const ad_real *captured_t;  // push: tangents of captured numbers
    const ad_real *before;      // prefix: [chunks - 1][d] carries, with which
                                // the second chunk and all later ones begin
    const ad_real *before_t;    // push: tangents of the carries
    ad_real *before_adj;        // pull: adjoints of the carries
    size_t first;               // the first of the chunks in progress
    adx_chunk_tape *room[ADX_CHUNKS_MOST];
} adx_pass;

struct adx_chunk_tape {
    ad_tape *tape;
    const adx_pass *p;
    bool active;                // the numbers of the chunk are inputs
    bool collect;               // captured numbers may be added to the table
    bool missing;               // a captured number was not in the table
    bool unset;                 // a result was not set
    ad_status status;
    size_t inputs;
    size_t rows;
    ad_rev *in;
    ad_rev *arg;                // arguments of f, or of op
    ad_rev *y;
    ad_real *din;               // adjoints or tangents of the inputs
    ad_real *dy;                // adjoints or tangents of the results
};

// The foreign hook: x is a number of the recording outside. When values are
// computed, x becomes a constant, and is entered into the table if that is
// allowed (collect). For derivatives it becomes the input that stands for it.
static ad_rev adx_on_captured(void *user, ad_rev x)
{
    adx_chunk_tape *r = (adx_chunk_tape *)user;
    adx_bulk *b = r->p->b;
    uint64_t id = adx_compound(x.job, x.seq);
    if (!adx_runs_on(r->tape))
        return x;
    uint32_t known = adx_find_captured(&b->captured, id);
    if (known == 0 && b->sealed)
        return x;               // the first run did not use it: refused
    if (known != 0 && r->p->duty != ADX_DUTY_values) {
        size_t before = r->p->shape == ADX_SHAPE_map ? b->shared : 0;
        return adx_known(x, (uint32_t)before + known);
    }
    r->missing = r->missing || known == 0;
    if (known == 0 && r->collect
        && !adx_add_captured(&b->memory, &b->captured, id))
        r->status = ADREV_ENOMEM;
    return adx_passive(0);
}

// How many inputs come before those of the items.
static size_t adx_leading_inputs(const adx_pass *p)
{
    size_t captured = p->duty == ADX_DUTY_values ? 0 : p->b->captured.n;
    return captured + (p->shape == ADX_SHAPE_map ? p->b->shared : 0)
         + (p->shape == ADX_SHAPE_prefix ? p->b->d : 0);
}

// How many numbers an item has.
static size_t adx_item_width(const adx_pass *p)
{
    return p->shape == ADX_SHAPE_map ? p->b->width : p->b->d;
}

// How many rows of results so many items have.
static size_t adx_rows_of(const adx_pass *p, size_t items)
{
    return p->shape == ADX_SHAPE_fold ? 1 : items;
}

static void adx_free_chunk_tape(const ad_allocator *a, adx_chunk_tape *r)
{
    if (r == NULL)
        return;
    ad_tape_free(r->tape);
    adx_drop(a, r->in);
    adx_drop(a, r->din);
    adx_drop(a, r);
}

// A chunk tape with room for the inputs, results and arguments of a chunk.
// NULL: no memory.
static adx_chunk_tape *adx_new_chunk_tape(const adx_pass *p)
{
    const adx_bulk *b = p->b;
    size_t inputs = adx_leading_inputs(p) + p->chunk * adx_item_width(p);
    size_t results = adx_rows_of(p, p->chunk) * b->d;
    size_t args = p->shape == ADX_SHAPE_map ? b->shared + b->width : 2 * b->d;
    adx_chunk_tape *r = (adx_chunk_tape *)adx_take(&b->memory, 1, sizeof *r);
    if (r == NULL)
        return NULL;
    memset(r, 0, sizeof *r);
    r->p = p;
    r->tape = adx_new_tape_apart(&b->memory, adx_on_captured, r);
    if (r->tape != NULL)
        r->tape->selective = true;
    r->in = (ad_rev *)adx_take(&b->memory, inputs + results + args,
                               sizeof *r->in);
    r->din = (ad_real *)adx_take(&b->memory, inputs + results,
                                 sizeof *r->din);
    if (r->tape == NULL || r->in == NULL || r->din == NULL) {
        adx_free_chunk_tape(&b->memory, r);
        return NULL;
    }
    r->y = r->in + inputs;
    r->arg = r->y + results;
    r->dy = r->din + inputs;
    return r;
}

// The element that an item is.
static size_t adx_element_of(const adx_pass *p, size_t item)
{
    return p->only == NULL ? item : p->only[item];
}

// Writes the values of the inputs of a map: first the shared numbers, then the
// elements.
static void adx_fill_map(adx_chunk_tape *r, const adx_bulk *b, size_t first,
                         size_t items)
{
    const adx_strip *end = b->source + b->sources;
    ad_rev *to = r->in;
    for (const adx_strip *s = b->source; s < end; s++)
        for (size_t j = 0; s->shared && j < s->size; j++)
            (to++)->v = adx_strip_of(b, s, 0)[(ptrdiff_t)j * s->unit];
    to = r->in + adx_leading_inputs(r->p);
    for (size_t e = 0; e < items; e++)
        for (const adx_strip *s = b->source; s < end; s++) {
            if (s->shared || s->size == 0)
                continue;
            const ad_real *v = adx_strip_of(b, s,
                                            adx_element_of(r->p, first + e));
            for (size_t j = 0; j < s->size; j++, v += s->unit)
                (to++)->v = *v;
        }
}

// Writes the values of the inputs of a fold or a prefix: the rows and, of a
// prefix, the carry in front of them.
static void adx_fill_rows(adx_chunk_tape *r, const adx_pass *p, size_t chunk,
                          size_t items)
{
    size_t d = p->b->d;
    ad_rev *to = r->in + adx_leading_inputs(p);
    const ad_real *v = p->v + (ptrdiff_t)(chunk * p->chunk * d) * p->unit;
    for (size_t i = 0; i < items * d; i++, v += p->unit)
        to[i].v = *v;
    if (p->shape != ADX_SHAPE_prefix)
        return;
    to -= d;
    for (size_t j = 0; j < d; j++)
        to[j].v = chunk == 0 ? 0 : p->before[(chunk - 1) * d + j];
}

// Makes the values in r->in inputs of the chunk tape or, if it is not active,
// constants.
static void adx_name_inputs(adx_chunk_tape *r)
{
    size_t first = r->active ? adx_add_inputs(&adx_now, r->inputs) : 0;
    uint64_t id = first == 0 ? 0 : adx_compound(adx_now.job, first);
    for (size_t i = 0; i < r->inputs; i++)
        adx_name(&r->in[i], r->in[i].v, id == 0 ? 0 : id + i);
}

// Calls f for an element. If some arguments are shared, all of them are copied
// to r->arg, one after the other; else they lie so already.
static void adx_call_f(adx_chunk_tape *r, const adx_bulk *b, size_t item)
{
    size_t ahead = adx_leading_inputs(r->p);
    const ad_rev *shared = r->in;
    const ad_rev *own = r->in + ahead + item * b->width;
    ad_rev *to = r->arg;
    for (size_t k = 0; b->shared > 0 && k < b->sources; k++) {
        const adx_strip *s = &b->source[k];
        const ad_rev **from = s->shared ? &shared : &own;
        if ((!s->shared || item == 0) && s->size > 0)
            memcpy(to, *from, s->size * sizeof *to);
        *from += s->size;
        to += s->size;
    }
    b->f(b->shared > 0 ? r->arg : own, r->y + item * b->d, b->ctx);
}

// Computes y = left op right; y may be either of them. False: op did not set
// all of y.
static bool adx_apply_op(const adx_bulk *b, const ad_rev *left,
                         const ad_rev *right, ad_rev *pair, ad_rev *y)
{
    memcpy(pair, left, b->d * sizeof *y);
    memcpy(pair + b->d, right, b->d * sizeof *y);
    adx_unset(b->d, y);
    b->op(pair, y, b->ctx);
    return adx_all_set(b->d, y);
}

// Combines the rows of a chunk, one after the other: for a fold into one row,
// for a prefix into as many rows as there are. carried: the first row is
// combined with the carry.
static void adx_call_op(adx_chunk_tape *r, const adx_bulk *b, size_t items,
                        bool carried)
{
    size_t d = b->d;
    bool prefix = r->p->shape == ADX_SHAPE_prefix;
    const ad_rev *x = r->in + adx_leading_inputs(r->p);
    ad_rev *y = r->y;
    if (carried)
        r->unset |= !adx_apply_op(b, x - d, x, r->arg, y);
    else
        memcpy(y, x, d * sizeof *y);
    for (size_t i = 1; i < items; i++) {
        ad_rev *to = prefix ? y + d : y;
        r->unset |= !adx_apply_op(b, y, x + i * d, r->arg, to);
        y = to;
    }
}

// Fills in the inputs of a chunk, and runs its functions.
static void adx_run_chunk(adx_chunk_tape *r, size_t chunk, size_t items)
{
    const adx_pass *p = r->p;
    const adx_bulk *b = p->b;
    ad_tape_clear(r->tape);
    ad_tape *before = ad_use(r->tape);
    r->inputs = adx_leading_inputs(p) + items * adx_item_width(p);
    r->rows = adx_rows_of(p, items);
    r->missing = false;
    r->unset = false;
    r->status = ADREV_OK;
    if (p->shape == ADX_SHAPE_map)
        adx_fill_map(r, b, chunk * p->chunk, items);
    else
        adx_fill_rows(r, p, chunk, items);
    adx_name_inputs(r);
    adx_unset(r->rows * b->d, r->y);
    if (p->shape == ADX_SHAPE_map) {
        for (size_t i = 0; i < items; i++)
            adx_call_f(r, b, i);
        r->unset = !adx_all_set(r->rows * b->d, r->y);
    } else {
        adx_call_op(r, b, items, p->shape == ADX_SHAPE_prefix && chunk > 0);
    }
    ad_status status = adx_end_apart(r->tape, r->rows * b->d, r->y);
    if (r->status == ADREV_OK)
        r->status = status;
    if (r->status == ADREV_OK && r->unset)
        r->status = ADREV_ESHAPE;
    ad_use(before);
}

/* --- a chunk's derivatives ----------------------------------------------- */

// The index, among all results, of row i of a chunk.
static size_t adx_result_row(const adx_pass *p, size_t chunk, size_t i)
{
    return p->shape == ADX_SHAPE_fold ? chunk
         : adx_element_of(p, chunk * p->chunk + i);
}

// Writes the results of a chunk, or their tangents, to their rows.
static void adx_store_rows(const adx_chunk_tape *r, size_t chunk)
{
    const adx_pass *p = r->p;
    size_t d = p->b->d;
    for (size_t i = 0; i < r->rows; i++) {
        ad_real *to = p->to + adx_result_row(p, chunk, i) * d;
        for (size_t j = 0; j < d; j++)
            to[j] = p->duty == ADX_DUTY_values ? r->y[i * d + j].v
                                               : r->dy[i * d + j];
    }
}

// Computes the adjoints of the inputs of a chunk, in r->din. If the adjoints of
// its results are all 0, these stay 0 without a sweep.
static void adx_pull_chunk(adx_chunk_tape *r, size_t chunk)
{
    const adx_pass *p = r->p;
    size_t d = p->b->d;
    for (size_t i = 0; i < r->rows; i++)
        memcpy(r->dy + i * d,
               p->dy + adx_result_row(p, chunk, i) * p->dy_stride,
               d * sizeof *r->dy);
    memset(r->din, 0, r->inputs * sizeof *r->din);
    if (adx_zeros(r->rows * d, r->dy))
        return;
    ad_status status = ad_pullback(r->tape, r->rows * d, r->y, r->dy,
                                   r->inputs, r->in, r->din);
    if (status != ADREV_EPASSIVE)   // which says that results are constants
        r->status = status;
}

// The index of the operand that is the first number of an element.
static size_t adx_operand_of(const adx_strip *s, size_t element)
{
    return s->at + (size_t)((ptrdiff_t)element * s->next);
}

// Writes the tangents of the inputs of a map, in the order of adx_fill_map.
static void adx_tangents_of_map(adx_chunk_tape *r, size_t chunk, size_t items)
{
    const adx_pass *p = r->p;
    const adx_strip *end = p->b->source + p->b->sources;
    ad_real *to = r->din;
    for (const adx_strip *s = p->b->source; s < end; s++)
        for (size_t j = 0; s->shared && j < s->size; j++)
            *to++ = p->tx[s->at + j];
    to = r->din + adx_leading_inputs(p);
    for (size_t e = 0; e < items; e++)
        for (const adx_strip *s = p->b->source; s < end; s++) {
            size_t i = adx_element_of(p, chunk * p->chunk + e);
            for (size_t j = 0; !s->shared && j < s->size; j++)
                *to++ = p->tx[adx_operand_of(s, i) + j];
        }
}

// Computes the tangents of the results of a chunk, in r->dy.
static void adx_push_chunk(adx_chunk_tape *r, size_t chunk, size_t items)
{
    const adx_pass *p = r->p;
    size_t d = p->b->d;
    size_t known = p->b->captured.n;
    ad_real *to = r->din + adx_leading_inputs(p);
    if (p->shape == ADX_SHAPE_map)
        adx_tangents_of_map(r, chunk, items);
    else
        memcpy(to, p->tx + chunk * p->chunk * d, items * d * sizeof *to);
    if (p->shape == ADX_SHAPE_prefix && chunk > 0)
        memcpy(to - d, p->before_t + (chunk - 1) * d, d * sizeof *to);
    else if (p->shape == ADX_SHAPE_prefix)
        memset(to - d, 0, d * sizeof *to);
    if (known > 0)
        memcpy(r->din + (p->shape == ADX_SHAPE_map ? p->b->shared : 0),
               p->captured_t, known * sizeof *to);
    memset(r->dy, 0, r->rows * d * sizeof *to);
    ad_status status = ad_pushforward(r->tape, r->inputs, r->in, r->din,
                                      r->rows * d, r->y, r->dy);
    if (status != ADREV_EPASSIVE)
        r->status = status;
}

// Adds the adjoints of a chunk of a map to those of the operands: the shared
// numbers and the elements.
static void adx_deliver_map(const adx_chunk_tape *r, size_t chunk, size_t items)
{
    const adx_pass *p = r->p;
    const adx_strip *end = p->b->source + p->b->sources;
    const ad_real *from = r->din;
    for (const adx_strip *s = p->b->source; s < end; s++)
        for (size_t j = 0; s->shared && j < s->size; j++)
            p->dx[s->at + j] += *from++;
    from = r->din + adx_leading_inputs(p);
    for (size_t e = 0; e < items; e++)
        for (const adx_strip *s = p->b->source; s < end; s++) {
            size_t i = adx_element_of(p, chunk * p->chunk + e);
            for (size_t j = 0; !s->shared && j < s->size; j++)
                p->dx[adx_operand_of(s, i) + j] += *from++;
        }
}

// Adds all adjoints that a chunk contributes. One thread does this for all
// chunks, in their order.
static void adx_deliver(const adx_chunk_tape *r, size_t chunk, size_t items)
{
    const adx_pass *p = r->p;
    size_t d = p->b->d;
    const ad_real *from = r->din + adx_leading_inputs(p);
    const ad_real *known = r->din + (p->shape == ADX_SHAPE_map ? p->b->shared
                                                               : 0);
    for (size_t i = 0; i < p->b->captured.n; i++)
        p->captured[i] += known[i];
    if (p->shape == ADX_SHAPE_prefix && chunk > 0)
        memcpy(p->before_adj + (chunk - 1) * d, from - d, d * sizeof *from);
    if (p->shape == ADX_SHAPE_map)
        adx_deliver_map(r, chunk, items);
    else
        for (size_t i = 0; i < items * d; i++)
            p->dx[chunk * p->chunk * d + i] += from[i];
}

// How many items a chunk has: the last one may have fewer.
static size_t adx_items_of(const adx_pass *p, size_t chunk)
{
    size_t left = p->items - chunk * p->chunk;
    return left < p->chunk ? left : p->chunk;
}

// Runs a chunk and computes what the pass is for. Adjoints stay in r->din, for
// adx_deliver.
static void adx_do_chunk(adx_chunk_tape *r, size_t chunk)
{
    const adx_pass *p = r->p;
    size_t items = adx_items_of(p, chunk);
    r->active = p->duty != ADX_DUTY_values;
    adx_run_chunk(r, chunk, items);
    if (r->status == ADREV_OK && p->duty == ADX_DUTY_pull)
        adx_pull_chunk(r, chunk);
    if (r->status == ADREV_OK && p->duty == ADX_DUTY_push)
        adx_push_chunk(r, chunk, items);
    if (r->status == ADREV_OK && p->duty != ADX_DUTY_pull)
        adx_store_rows(r, chunk);
}

/* --- passes ------------------------------------------------------------------
 * A pass works on several chunks at a time, each on a tape of its own. While
 * chunks run in parallel, none of them adds to the table of captured numbers. A
 * chunk that would have added one is run again when its turn comes. So the
 * table has the order that one thread would have given it.                   */

// How many chunks are in progress at a time. The choice affects time and
// memory, never results.
static size_t adx_chunks_at_once(void)
{
#ifdef ADREV_PARALLEL_IMPLEMENTED
    if (adx_mine_rows.statements > 0)
        return 1;
    if (adx_mine.execute != NULL)
        return ADX_CHUNKS_MOST / 2;
    size_t threads = adx_mine.seat == NULL
                   ? 1 : (size_t)adx_mine.pool->workers + 1;
    return threads == 1 ? 1 : threads < ADX_CHUNKS_MOST / 4 ? 4 * threads
                                                         : ADX_CHUNKS_MOST;
#else
    return 1;
#endif
}

#ifdef ADREV_PARALLEL_IMPLEMENTED
static void adx_do_chunks(size_t begin, size_t end, void *user)
{
    const adx_pass *p = (const adx_pass *)user;
    for (size_t k = begin; k < end; k++)
        adx_do_chunk(p->room[k], p->first + k);
}
#endif

// Does the next `count` chunks: runs them in parallel, then, in their order,
// adds captured numbers and adjoints.
static ad_status adx_do_batch(adx_pass *p, size_t count)
{
    ad_status status = ADREV_OK;
    for (size_t k = 0; k < count; k++)
        p->room[k]->collect = count == 1;
#ifdef ADREV_PARALLEL_IMPLEMENTED
    if (count > 1)
        ad_parallel_for(count, 1, adx_do_chunks, p);
    else
#endif
        adx_do_chunk(p->room[0], p->first);
    for (size_t k = 0; k < count && status == ADREV_OK; k++) {
        adx_chunk_tape *r = p->room[k];
        if (r->missing && !r->collect) {
            r->collect = true;
            adx_do_chunk(r, p->first + k);
        }
        status = r->status;
        if (status != ADREV_OK && !p->b->sealed)
            p->b->why = r->tape->failure.why;
        if (status == ADREV_OK && p->duty == ADX_DUTY_pull)
            adx_deliver(r, p->first + k, adx_items_of(p, p->first + k));
    }
    return status;
}

// Makes `count` chunk tapes.
static ad_status adx_open_pass(adx_pass *p, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        p->room[k] = adx_new_chunk_tape(p);
        if (p->room[k] == NULL)
            return ADREV_ENOMEM;
    }
    return ADREV_OK;
}

static void adx_close_pass(adx_pass *p)
{
    for (size_t k = 0; k < ADX_CHUNKS_MOST; k++)
        adx_free_chunk_tape(&p->b->memory, p->room[k]);
}

// Does all chunks of a pass.
static ad_status adx_do_pass(adx_pass *p)
{
    size_t chunks = adx_part_count(p->items, p->chunk);
    size_t most = adx_chunks_at_once();
    most = chunks < most ? chunks : most;
    ad_status status = adx_open_pass(p, most);
    for (p->first = 0; status == ADREV_OK && p->first < chunks;
         p->first += most) {
        size_t left = chunks - p->first;
        status = adx_do_batch(p, left < most ? left : most);
    }
    adx_close_pass(p);
    return status;
}

/* === bulk/maps ==============================================================
 * Calls the function f of a map for all elements. If adrev_function.h is there,
 * f is recorded at element 0, and the recorded function is replayed in lanes.
 * Elements that fail at one of its guards are done afterwards by f itself. A
 * recording does not see everything that f does. So when values are computed, f
 * itself also computes a sample of the elements. If any of these differ, the
 * recorded function is given up, and f does all elements.
 *
 *   needs   tape/memory function/api bulk/passes
 *   offers  adx_is_empty adx_is_sampled adx_next_power adx_next_sample
 *           adx_is_near adx_record_f adx_map_all_elements adx_measure_f
 *           adx_map_values
 * ========================================================================== */

// Does a pass by f itself, over the elements `only`; NULL: over all elements.
static ad_status adx_map_pass(const adx_pass *like, adx_bulk *b,
                              const uint32_t *only, size_t items)
{
    adx_pass p = *like;
    p.b = b;
    p.shape = ADX_SHAPE_map;
    p.items = items;
    p.chunk = b->chunk < items ? b->chunk : items;
    p.only = only;
    return adx_do_pass(&p);
}

#ifdef ADREV_FUNCTION_IMPLEMENTED
// Writes the columns of the arguments of f: of their values or, if `of` is not
// NULL, of adjoints or tangents of the operands, which are in `of`. Returns
// where the next columns go.
static ad_column *adx_operand_columns(const adx_bulk *b, const ad_real *of,
                                      ad_column *to)
{
    for (const adx_strip *s = b->source; s < b->source + b->sources; s++)
        for (size_t j = 0; j < s->size; j++) {
            const ad_real *v = of != NULL ? of + s->at + j
                             : adx_strip_of(b, s, 0) + (ptrdiff_t)j * s->unit;
            *to++ = (ad_column){ (ad_real *)(uintptr_t)v,
                                 of != NULL ? s->next : s->stride };
        }
    return to;
}

// Writes the columns of the results, whose rows are `stride` numbers apart.
static ad_column *adx_row_columns(const adx_bulk *b, const ad_real *rows,
                                  size_t stride, ad_column *to)
{
    for (size_t j = 0; j < b->d; j++)
        *to++ = (ad_column){ (ad_real *)(uintptr_t)(rows + j),
                             (ptrdiff_t)stride };
    return to;
}

// Does a pass by the recorded function. x is room for all columns: first those
// of the arguments, then those of their adjoints or tangents, then those of the
// results.
static ad_status adx_map_in_lanes(const adx_pass *p, const adx_bulk *b,
                                  ad_column *x, uint32_t left[])
{
    ad_column *dx = adx_operand_columns(b, NULL, x);
    if (p->duty == ADX_DUTY_values) {
        ad_column *y = dx;
        adx_row_columns(b, p->to, b->d, y);
        return ad_fn_map(b->fn, b->n, x, y, left);
    }
    if (p->duty == ADX_DUTY_pull) {
        ad_column *w = adx_operand_columns(b, p->dx, dx);
        adx_row_columns(b, p->dy, p->dy_stride, w);
        return ad_fn_map_vjp(b->fn, b->n, x, w, dx, NULL, left);
    }
    ad_column *dy = adx_operand_columns(b, p->tx, dx);
    adx_row_columns(b, p->to, b->d, dy);
    return ad_fn_map_jvp(b->fn, b->n, x, dx, dy, left);
}

// Does a pass by the recorded function, and then by f itself for the elements
// that failed at a guard.
static ad_status adx_map_recorded(const adx_pass *p, adx_bulk *b)
{
    size_t columns = 2 * (b->shared + b->width) + b->d;
    ad_column *x = (ad_column *)adx_take(&b->memory, columns, sizeof *x);
    uint32_t *left = (uint32_t *)adx_take(&b->memory, b->n, sizeof *left);
    ad_status status = x == NULL || left == NULL ? ADREV_ENOMEM
                     : adx_map_in_lanes(p, b, x, left);
    if (status == ADREV_EPATH) {
        size_t n = 0;
        for (size_t i = 0; i < b->n; i++)
            if (left[i] != 0)
                left[n++] = (uint32_t)i;
        status = adx_map_pass(p, b, left, n);
    }
    adx_drop(&b->memory, left);
    adx_drop(&b->memory, x);
    return status;
}

// Whether a recorded function is of no use. If it has no operations and no
// guards, f may have been compiled without ADREV_TRACE: then its comparisons
// went unseen.
static bool adx_is_empty(const ad_fn *fn)
{
    return fn == NULL
        || (fn->program.report.recorded == 0 && fn->program.report.guards == 0);
}

#define ADX_SAMPLED 16

// Whether element i is in the sample, which f itself computes, too. One element
// in ADX_SAMPLED is, and so are the powers of two, which lie more densely at
// the beginning.
static bool adx_is_sampled(size_t i)
{
    return (i & (i - 1)) == 0 || i % ADX_SAMPLED == 0;
}

// The least power of two that is not below i; 0 for 0.
static size_t adx_next_power(size_t i)
{
    size_t power = i > 0;
    while (power < i)
        power *= 2;
    return power;
}

// The first element from i on that is in the sample.
static size_t adx_next_sample(size_t i)
{
    size_t even = i + (ADX_SAMPLED - i % ADX_SAMPLED) % ADX_SAMPLED;
    size_t power = adx_next_power(i);
    return power < even ? power : even;
}

// Whether a and b differ by rounding at most: a compiler may have contracted
// products and sums in one of them.
static bool adx_is_near(ad_real a, ad_real b)
{
    return a == b || (a != a && b != b) || adm_fabs(a - b)
        <= ADX_K(1e-4) * (adm_fabs(a) + adm_fabs(b));
}

// Records f at element 0. If it cannot be recorded, b->fn stays NULL.
static void adx_record_f(adx_bulk *b)
{
    size_t nx = b->shared + b->width;
    const ad_fn_options options = { .allocator = &b->memory,
                                    .once = true };
    ad_real *at = (ad_real *)adx_take(&b->memory, nx, sizeof *at);
    if (at == NULL)
        return;
    ad_real *to = at;
    for (const adx_strip *s = b->source; s < b->source + b->sources; s++)
        for (size_t j = 0; j < s->size; j++)
            *to++ = adx_strip_of(b, s, 0)[(ptrdiff_t)j * s->unit];
    ad_status status = ad_fn_record_with(&b->fn, &options, b->f, b->ctx, nx,
                                         at, b->d);
    adx_drop(&b->memory, at);
    if (status != ADREV_OK || adx_is_empty(b->fn)) {
        ad_fn_free(b->fn);
        b->fn = NULL;
    }
}

// Compares what f itself gives for the elements `only` with what the recorded
// function gave, which is in `lanes`. The results of f overwrite the others in
// p->to, so these are put back.
static ad_status adx_compare_rows(const adx_pass *p, adx_bulk *b, size_t n,
                                  const uint32_t only[], const ad_real lanes[],
                                  bool *same)
{
    ad_status status = adx_map_pass(p, b, only, n);
    for (size_t i = 0; status == ADREV_OK && i < n; i++)
        for (size_t j = 0; j < b->d; j++) {
            ad_real *y = &p->to[only[i] * b->d + j];
            *same = *same && adx_is_near(*y, lanes[i * b->d + j]);
            *y = lanes[i * b->d + j];
        }
    return status;
}

// Sets *same to whether the recorded function agrees with f on the sample. It
// does not if f reads x.v, which no recording sees, or reads something that
// changes.
static ad_status adx_sample_lanes(const adx_pass *p, adx_bulk *b, bool *same)
{
    size_t most = b->n / ADX_SAMPLED + 8 * sizeof b->n + 1;
    uint32_t *only = (uint32_t *)adx_take(&b->memory, most, sizeof *only);
    ad_real *lanes = (ad_real *)adx_take(&b->memory, most * b->d,
                                         sizeof *lanes);
    ad_status status = ADREV_ENOMEM;
    size_t n = 0;
    for (size_t i = 1; only != NULL && lanes != NULL && i < b->n; i++)
        if (adx_is_sampled(i)) {
            memcpy(lanes + n * b->d, p->to + i * b->d, b->d * sizeof *lanes);
            only[n++] = (uint32_t)i;
        }
    *same = true;
    if (only != NULL && lanes != NULL)
        status = adx_compare_rows(p, b, n, only, lanes, same);
    adx_drop(&b->memory, lanes);
    adx_drop(&b->memory, only);
    return status;
}

// Does a pass by the recorded function; if the sample of its values differs, by
// f after all.
static ad_status adx_map_replayed(const adx_pass *p, adx_bulk *b)
{
    bool same = true;
    ad_status status = adx_map_recorded(p, b);
    if (status == ADREV_OK && p->duty == ADX_DUTY_values)
        status = adx_sample_lanes(p, b, &same);
    if (status != ADREV_OK || same)
        return status;
    if (!b->sealed)             // else the statement frees it
        ad_fn_free(b->fn);
    b->fn = NULL;
    return adx_map_pass(p, b, NULL, b->n);
}
#endif

// Does a pass over all elements.
static ad_status adx_map_all_elements(const adx_pass *p, adx_bulk *b)
{
#ifdef ADREV_FUNCTION_IMPLEMENTED
    if (b->fn != NULL)
        return adx_map_replayed(p, b);
#endif
    return adx_map_pass(p, b, NULL, b->n);
}

// A chunk has as many elements as make about ADX_CHUNK_VALUES values, but
// ADX_CHUNK_MOST at most.
#define ADX_CHUNK_VALUES 2048
#define ADX_CHUNK_MOST 256

// Records element 0, counts its values, and from these chooses how many
// elements a chunk has. The numbers that f captured there enter the table.
static ad_status adx_measure_f(adx_bulk *b)
{
    adx_pass p = { .b = b, .shape = ADX_SHAPE_map, .items = 1,
                       .chunk = 1 };
    ad_status status = adx_open_pass(&p, 1);
    if (status == ADREV_OK) {
        adx_chunk_tape *r = p.room[0];
        r->active = true;
        r->collect = true;
        adx_run_chunk(r, 0, 1);
        status = r->status;
        b->why = r->tape->failure.why;
        size_t values = ad_tape_stats(r->tape).values - r->inputs + b->d
                      + b->width;
        b->chunk = ADX_CHUNK_VALUES / values;
        b->chunk = b->chunk < 1 ? 1 : b->chunk > ADX_CHUNK_MOST
                 ? ADX_CHUNK_MOST : b->chunk;
    }
    adx_close_pass(&p);
    return status;
}

// Computes the values of f for all elements.
static ad_status adx_map_values(adx_bulk *b, ad_real to[])
{
    const adx_pass p = { .duty = ADX_DUTY_values, .to = to };
    return adx_map_all_elements(&p, b);
}

/* === bulk/reductions ========================================================
 * Rows are combined level by level. Level 0 is the rows themselves. A level is
 * cut into parts of `radix` rows, the last of which may be shorter. op combines
 * the rows of each part in order, and the results are the rows of the next
 * level. A reduction ends with a level of one row. Prefixes need the result of
 * a part only if another part follows it. The parts of a level may run at the
 * same time. Their bounds depend only on the number and size of rows, and so do
 * the bits of the results.
 *
 * All levels are kept, except the last one of a reduction, which is its result:
 * a sweep records each part again from its rows. A reverse sweep takes the
 * levels from the last to the first, a forward sweep in the order in which they
 * were made.
 *
 *   needs   bulk/passes
 *   offers  adx_levels adx_levels_of adx_fold_values adx_fold_pull
 *           adx_fold_push adx_prefix_values adx_prefix_pull adx_prefix_push
 * ========================================================================== */

typedef struct adx_levels {
    size_t count;               // levels above 0
    size_t rows[66];            // of each level
    size_t at[66];              // where each begins among the kept numbers
    size_t kept;                // numbers of all kept levels
} adx_levels;

// Describes the levels of an operator; without op there is only level 0. The
// last level of a reduction is its result: one row, which is not kept. Of
// prefixes, each level is kept together with the prefixes of its rows.
static adx_levels adx_levels_of(const adx_bulk *b)
{
    adx_levels l = { .rows = { b->n } };
    size_t prefix = b->kind == ADX_BULK_PREFIX;
    size_t next = b->n;
    while (b->kind != ADX_BULK_MAP && b->op != NULL && l.rows[l.count] > 1) {
        next = adx_part_count(next, b->radix) - prefix;
        if (next == 0)
            break;
        l.rows[++l.count] = next;
        l.at[l.count] = l.kept;
        l.kept += next > 1 || prefix ? (1 + prefix) * next * b->d : 0;
    }
    return l;
}

// How many rows a part has: the radix, or all rows of the level if they are
// fewer.
static size_t adx_part_rows(const adx_bulk *b, size_t rows)
{
    return rows < b->radix ? rows : b->radix;
}

// Describes the pass that makes level k + 1 from level k. z are the rows of
// level 0, whose numbers are `unit` apart. Rows that belong to no row of level
// k + 1 are left out.
static adx_pass adx_fold_pass(adx_bulk *b, const adx_levels *l, size_t k,
                              const ad_real z[], ptrdiff_t unit)
{
    size_t whole = l->rows[k + 1] * b->radix;
    return (adx_pass){ .b = b, .shape = ADX_SHAPE_fold,
                           .items = whole < l->rows[k] ? whole : l->rows[k],
                           .chunk = adx_part_rows(b, l->rows[k]),
                           .v = k == 0 ? z : b->part + l->at[k],
                           .unit = k == 0 ? unit : 1 };
}

// Makes all levels from the rows z. The last level is written to `to`.
static ad_status adx_fold_values(adx_bulk *b, const ad_real z[],
                                 ptrdiff_t unit, ad_real to[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = ADREV_OK;
    for (size_t j = 0; l.count == 0 && j < b->d; j++)
        to[j] = z[(ptrdiff_t)j * unit];
    for (size_t k = 0; k < l.count && status == ADREV_OK; k++) {
        adx_pass p = adx_fold_pass(b, &l, k, z, unit);
        p.to = k + 1 == l.count ? to : b->part + l.at[k + 1];
        status = adx_do_pass(&p);
    }
    return status;
}

// Adds the adjoints of the rows z to dz. dy are the adjoints of the last level;
// `above` is room, all 0, for those of the levels between.
static ad_status adx_fold_pull(adx_bulk *b, const ad_real z[],
                               const ad_real dy[], ad_real dz[],
                               ad_real above[], ad_real captured[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = ADREV_OK;
    for (size_t j = 0; l.count == 0 && j < b->d; j++)
        dz[j] += dy[j];
    for (size_t k = l.count; k-- > 0 && status == ADREV_OK;) {
        adx_pass p = adx_fold_pass(b, &l, k, z, 1);
        p.duty = ADX_DUTY_pull;
        p.dy = k + 1 == l.count ? dy : above + l.at[k + 1];
        p.dy_stride = b->d;
        p.dx = k == 0 ? dz : above + l.at[k];
        p.captured = captured;
        status = adx_do_pass(&p);
    }
    return status;
}

// Computes the tangents ty of the last level from the tangents tz of the rows
// z. `above` is room for those of the levels between.
static ad_status adx_fold_push(adx_bulk *b, const ad_real z[],
                               const ad_real tz[], ad_real ty[],
                               ad_real above[], const ad_real captured[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = ADREV_OK;
    if (l.count == 0)
        memcpy(ty, tz, b->d * sizeof *ty);
    for (size_t k = 0; k < l.count && status == ADREV_OK; k++) {
        adx_pass p = adx_fold_pass(b, &l, k, z, 1);
        p.duty = ADX_DUTY_push;
        p.tx = k == 0 ? tz : above + l.at[k];
        p.to = k + 1 == l.count ? ty : above + l.at[k + 1];
        p.captured_t = captured;
        status = adx_do_pass(&p);
    }
    return status;
}

/* --- prefixes of functions --------------------------------------------------
 * The prefixes take two passes over the levels. The first one goes up: it makes
 * the results of the parts, level by level, as a reduction does. The second one
 * goes down: it makes the prefixes of each level from those of the level above.
 * The first part of a level begins with the first row of the level. Part i + 1
 * continues prefix i of the level above, which combines all parts before it. A
 * reverse sweep goes the opposite way: the adjoints of prefixes go up, then the
 * adjoints of the results of parts come down.                                */

// Where the prefixes of level k are in an array of all kept numbers: behind the
// rows of the level.
static ad_real *adx_level_prefixes(const adx_bulk *b, const adx_levels *l,
                                   size_t k, ad_real kept[])
{
    return kept + l->at[k] + l->rows[k] * b->d;
}

// Describes the pass that makes the prefixes of level k from its rows and from
// the prefixes of level k + 1.
static adx_pass adx_prefix_pass(adx_bulk *b, const adx_levels *l, size_t k,
                                const ad_real z[], ptrdiff_t unit)
{
    return (adx_pass){ .b = b, .shape = ADX_SHAPE_prefix,
                           .items = l->rows[k],
                           .chunk = adx_part_rows(b, l->rows[k]),
                           .v = k == 0 ? z : b->part + l->at[k],
                           .unit = k == 0 ? unit : 1,
                           .before = k == l->count ? NULL
                               : adx_level_prefixes(b, l, k + 1, b->part) };
}

// Makes the levels, and then the prefixes of all of them. Those of level 0, the
// results, are written to `to`.
static ad_status adx_prefix_values(adx_bulk *b, const ad_real z[],
                                   ptrdiff_t unit, ad_real to[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = l.count == 0 ? ADREV_OK
        : adx_fold_values(b, z, unit, b->part + l.at[l.count]);
    for (size_t k = l.count + 1; k-- > 0 && status == ADREV_OK;) {
        adx_pass p = adx_prefix_pass(b, &l, k, z, unit);
        p.to = k == 0 ? to : adx_level_prefixes(b, &l, k, b->part);
        status = adx_do_pass(&p);
    }
    return status;
}

// Adds the adjoints of the rows z to dz. `above` is room, all 0, for the
// adjoints of all kept numbers.
static ad_status adx_prefix_pull(adx_bulk *b, const ad_real z[],
                                 const ad_real dy[], ad_real dz[],
                                 ad_real above[], ad_real captured[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = ADREV_OK;
    for (size_t k = 0; k <= l.count && status == ADREV_OK; k++) {
        adx_pass p = adx_prefix_pass(b, &l, k, z, 1);
        p.duty = ADX_DUTY_pull;
        p.dy = k == 0 ? dy : adx_level_prefixes(b, &l, k, above);
        p.dy_stride = b->d;
        p.dx = k == 0 ? dz : above + l.at[k];
        if (k < l.count)
            p.before_adj = adx_level_prefixes(b, &l, k + 1, above);
        p.captured = captured;
        status = adx_do_pass(&p);
    }
    return status != ADREV_OK || l.count == 0 ? status
         : adx_fold_pull(b, z, above + l.at[l.count], dz, above, captured);
}

// Computes the tangents ty of the prefixes from the tangents tz of the rows z.
// `above` is room for the tangents of all kept numbers.
static ad_status adx_prefix_push(adx_bulk *b, const ad_real z[],
                                 const ad_real tz[], ad_real ty[],
                                 ad_real above[], const ad_real captured[])
{
    adx_levels l = adx_levels_of(b);
    ad_status status = l.count == 0 ? ADREV_OK
        : adx_fold_push(b, z, tz, above + l.at[l.count], above, captured);
    for (size_t k = l.count + 1; k-- > 0 && status == ADREV_OK;) {
        adx_pass p = adx_prefix_pass(b, &l, k, z, 1);
        p.duty = ADX_DUTY_push;
        p.tx = k == 0 ? tz : above + l.at[k];
        if (k < l.count)
            p.before_t = adx_level_prefixes(b, &l, k + 1, above);
        p.to = k == 0 ? ty : adx_level_prefixes(b, &l, k, above);
        p.captured_t = captured;
        status = adx_do_pass(&p);
    }
    return status;
}

/* === bulk/statement =========================================================
 * The one statement that a bulk operator puts on the tape: the numbers that it
 * keeps, and its rule. An operator has two parts, either of which may be
 * missing: a map, which makes rows z by f, and a combination of these rows,
 * which is a reduction or their prefixes, by op or as sums. The statement keeps
 * the values of the operands and the levels of op (bulk/reductions), but not z.
 * If op needs z in a sweep, the sweep runs the map again. Sums do not need it,
 * since their adjoints depend on no values.
 *
 *   needs   tape/layout tape/memory array/operands array/external function/api
 *           bulk/api bulk/folds bulk/captured bulk/passes bulk/maps
 *           bulk/reductions
 *   offers  adx_open_bulk adx_bulk_rule adx_bulk_statement
 * ========================================================================== */

// Sums the rows z, which may be tangents: of a reduction all rows, of prefixes
// the rows up to each.
static void adx_add_rows(const adx_bulk *b, const ad_real z[], ad_real to[])
{
    size_t d = b->d;
    size_t stride = b->kind == ADX_BULK_PREFIX ? d : 0;
    memcpy(to, z, d * sizeof *to);
    for (size_t i = 1; i < b->n; i++)
        for (size_t j = 0; j < d; j++)
            to[i * stride + j] = to[(i - 1) * stride + j] + z[i * d + j];
}

// Computes the values of the combination from rows z, whose numbers are `unit`
// apart. The levels of op are stored in b->part.
static ad_status adx_combine_values(adx_bulk *b, const ad_real z[],
                                    ptrdiff_t unit, ad_real to[])
{
    if (b->op != NULL && b->kind == ADX_BULK_REDUCE)
        return adx_fold_values(b, z, unit, to);
    if (b->op != NULL)
        return adx_prefix_values(b, z, unit, to);
    adx_add_rows(b, z, to);
    return ADREV_OK;
}

// Computes the values of the whole operator.
static ad_status adx_bulk_values(adx_bulk *b, ad_real to[])
{
    if (b->kind == ADX_BULK_MAP)
        return adx_map_values(b, to);
    if (b->f == NULL)
        return adx_combine_values(b, b->source->v, b->source->unit, to);
    ad_real *z = (ad_real *)adx_take(&b->memory, b->n * b->d, sizeof *z);
    ad_status status = z == NULL ? ADREV_ENOMEM : adx_map_values(b, z);
    if (status == ADREV_OK)
        status = adx_combine_values(b, z, 1, to);
    adx_drop(&b->memory, z);
    return status;
}

// Computes the adjoints dz of rows z, which are 0 before, from the adjoints dy
// of the results. `above` is room for the adjoints of the levels. Among prefix
// sums, a row has the sum of the adjoints of its own result and of all later
// ones.
static ad_status adx_combine_pull(adx_bulk *b, const ad_real z[],
                                  const ad_real dy[], ad_real dz[],
                                  ad_real above[], ad_real captured[])
{
    size_t d = b->d;
    if (b->op != NULL && b->kind == ADX_BULK_REDUCE)
        return adx_fold_pull(b, z, dy, dz, above, captured);
    if (b->op != NULL)
        return adx_prefix_pull(b, z, dy, dz, above, captured);
    for (size_t i = b->n; i-- > 0;)
        for (size_t j = 0; j < d; j++)
            dz[i * d + j] = dy[i * d + j]
                          + (i + 1 < b->n ? dz[(i + 1) * d + j] : 0);
    return ADREV_OK;
}

// Computes the tangents ty of the results from the tangents tz of rows z.
// `above` is room for the tangents of the levels.
static ad_status adx_combine_push(adx_bulk *b, const ad_real z[],
                                  const ad_real tz[], ad_real ty[],
                                  ad_real above[], const ad_real captured[])
{
    if (b->op != NULL && b->kind == ADX_BULK_REDUCE)
        return adx_fold_push(b, z, tz, ty, above, captured);
    if (b->op != NULL)
        return adx_prefix_push(b, z, tz, ty, above, captured);
    adx_add_rows(b, tz, ty);
    return ADREV_OK;
}

// Returns the operator that was saved on the tape. Its arrays lie behind it, in
// the order of adx_bulk_bytes.
static adx_bulk adx_open_bulk(const void *saved)
{
    adx_bulk b = *(const adx_bulk *)saved;
    b.sealed = true;
    char *at = (char *)(uintptr_t)saved + sizeof b;
    b.source = (adx_strip *)(void *)at;
    at += b.sources * sizeof *b.source;
    b.captured.id = (uint64_t *)(void *)at;
    at += b.captured.n * sizeof *b.captured.id;
    b.v = (ad_real *)(void *)at;
    at += b.operands * sizeof *b.v;
    b.part = (ad_real *)(void *)at;
    at += b.kept * sizeof *b.part;
    b.captured.bucket = (uint32_t *)(void *)at;
    return b;
}

// How many bytes the statement saves.
static size_t adx_bulk_bytes(const adx_bulk *b)
{
    return sizeof *b + b->sources * sizeof *b->source
         + b->captured.n * sizeof *b->captured.id
         + (b->operands + b->kept) * sizeof *b->v
         + b->captured.room * sizeof *b->captured.bucket;
}

// Takes room for a sweep, all 0: rows z, then their adjoints or tangents, then
// the adjoints or tangents of the levels. NULL: no memory.
static ad_real *adx_take_rows(const adx_bulk *b)
{
    size_t rows = b->n * b->d;
    size_t count = 2 * rows + b->kept;
    ad_real *z = (ad_real *)adx_take(&b->memory, count, sizeof *z);
    if (z != NULL)
        memset(z, 0, count * sizeof *z);
    return z;
}

// The pullback of an operator with a combination, unless that is the sum of all
// rows. It computes z again if op needs it, then the adjoints of z, and from
// these, by the map, the adjoints of the operands.
static ad_status adx_pull_by_rows(adx_bulk *b, const ad_real dy[], ad_real dx[],
                                  ad_real *captured)
{
    ad_real *z = adx_take_rows(b);
    ad_status status = z == NULL ? ADREV_ENOMEM : ADREV_OK;
    size_t rows = b->n * b->d;
    if (status == ADREV_OK && b->f != NULL && b->op != NULL)
        status = adx_map_values(b, z);
    if (status == ADREV_OK)
        status = adx_combine_pull(b, b->f == NULL ? b->v : z, dy, z + rows,
                                  z + 2 * rows, captured);
    if (status == ADREV_OK && b->f != NULL) {
        const adx_pass p = { .duty = ADX_DUTY_pull, .dy = z + rows,
                                 .dy_stride = b->d, .dx = dx,
                                 .captured = captured };
        status = adx_map_all_elements(&p, b);
    }
    for (size_t i = 0; status == ADREV_OK && b->f == NULL && i < rows; i++)
        dx[i] += z[rows + i];
    adx_drop(&b->memory, z);
    return status;
}

// Where there is only a map, the adjoints of z are dy. Where the sum of all
// rows follows it, each row of z has the adjoint dy. No other array is needed
// then.
static bool adx_bulk_pullback(const void *saved, size_t m, const ad_real dy[],
                              size_t n, ad_real dx[])
{
    adx_bulk b = adx_open_bulk(saved);
    ad_real *captured = dx + b.operands;
    (void)m;
    (void)n;
    if (b.kind != ADX_BULK_MAP && (b.kind != ADX_BULK_REDUCE || b.op != NULL))
        return adx_pull_by_rows(&b, dy, dx, captured) == ADREV_OK;
    const adx_pass p = { .duty = ADX_DUTY_pull, .dy = dy,
                             .dy_stride = b.kind == ADX_BULK_MAP ? b.d : 0,
                             .dx = dx, .captured = captured };
    return adx_map_all_elements(&p, &b) == ADREV_OK;
}

// The pushforward of an operator with a combination.
static ad_status adx_push_by_rows(adx_bulk *b, const ad_real dx[], ad_real dy[])
{
    const ad_real *captured = dx + b->operands;
    ad_real *z = adx_take_rows(b);
    ad_status status = z == NULL ? ADREV_ENOMEM : ADREV_OK;
    size_t rows = b->n * b->d;
    if (status == ADREV_OK && b->f != NULL && b->op != NULL)
        status = adx_map_values(b, z);
    if (status == ADREV_OK && b->f != NULL) {
        const adx_pass p = { .duty = ADX_DUTY_push, .tx = dx,
                                 .to = z + rows, .captured_t = captured };
        status = adx_map_all_elements(&p, b);
    }
    if (status == ADREV_OK)
        status = adx_combine_push(b, b->f == NULL ? b->v : z,
                                  b->f == NULL ? dx : z + rows, dy,
                                  z + 2 * rows, captured);
    adx_drop(&b->memory, z);
    return status;
}

static bool adx_bulk_pushforward(const void *saved, size_t n,
                                 const ad_real dx[], size_t m, ad_real dy[])
{
    adx_bulk b = adx_open_bulk(saved);
    (void)n;
    (void)m;
    if (b.kind != ADX_BULK_MAP)
        return adx_push_by_rows(&b, dx, dy) == ADREV_OK;
    const adx_pass p = { .duty = ADX_DUTY_push, .tx = dx, .to = dy,
                             .captured_t = dx + b.operands };
    return adx_map_all_elements(&p, &b) == ADREV_OK;
}

static void adx_bulk_destroy(const void *saved)
{
#ifdef ADREV_FUNCTION_IMPLEMENTED
    ad_fn_free(((const adx_bulk *)saved)->fn);
#else
    (void)saved;
#endif
}

static const ad_external_rule adx_bulk_rule = {
    .name = "bulk", .pullback = adx_bulk_pullback,
    .pushforward = adx_bulk_pushforward, .destroy = adx_bulk_destroy
};

// How many results the operator has.
static size_t adx_bulk_results(const adx_bulk *b)
{
    return b->kind == ADX_BULK_REDUCE ? b->d : b->n * b->d;
}

// Writes the operator as the statement saves it. The values of the operands are
// stored one after another, so the arguments no longer say where the user had
// them, but which operands they are.
static void adx_save_bulk(const adx_bulk *b, const ad_rev operand[],
                          void *saved)
{
    memcpy(saved, b, sizeof *b);
    adx_bulk to = adx_open_bulk(saved);
    for (size_t i = 0; i < b->sources; i++) {
        to.source[i] = b->source[i];
        to.source[i].v = NULL;
        to.source[i].unit = 1;
        to.source[i].stride = b->source[i].next;
    }
    for (size_t i = 0; i < b->operands; i++)
        to.v[i] = operand[i].v;
    if (b->kept > 0)
        memcpy(to.part, b->part, b->kept * sizeof *b->part);
    if (b->captured.n > 0) {
        memcpy(to.captured.id, b->captured.id,
               b->captured.n * sizeof *b->captured.id);
        memcpy(to.captured.bucket, b->captured.bucket,
               b->captured.room * sizeof *b->captured.bucket);
    }
}

// Adds the statement as ad_external does, but writes the saved operator
// straight to its place on the tape. NULL: all operands are constants, or the
// tape has failed.
static adx_external *adx_add_bulk(const adx_bulk *b, const adx_view *operand)
{
    ad_tape *t = adx_now.tape;
    adx_ids ids = adx_classify(operand);
    if (adx_is_constant(&ids) || t->status != ADREV_OK)
        return NULL;
    adx_external *s = adx_add_external(operand, &ids, adx_bulk_bytes(b),
                                       adx_bulk_results(b));
    if (s == NULL)
        return NULL;
    s->rule = &adx_bulk_rule;
    adx_save_bulk(b, operand->x, (void *)(uintptr_t)s->saved);
    t->calls = true;
    s->e.before = t->last;
    t->last = &s->e;
    return s;
}

// Lists all operands of the statement: the numbers of the arguments, then the
// captured numbers. NULL: no memory.
static ad_rev *adx_all_operands(const adx_bulk *b, const ad_rows x[])
{
    size_t count = b->operands + b->captured.n;
    ad_rev *all = (ad_rev *)adx_take(&b->memory, count, sizeof *all);
    ad_rev *to = all;
    for (size_t k = 0; all != NULL && k < b->sources; k++)
        to = adx_list_operands(b->n, &x[k], to);
    if (all != NULL)
        adx_list_captured(&b->captured, to);
    return all;
}

// Records the statement, whose values are v.
static ad_status adx_record_bulk(adx_bulk *b, const ad_rows x[],
                                 const ad_real v[], ad_rev y[])
{
    ad_rev *operand = adx_all_operands(b, x);
    if (operand == NULL)
        return adx_failed(ADREV_ENOMEM);
    const adx_view view = adx_vector(b->operands + b->captured.n, operand, 1);
    adx_external *s = adx_add_bulk(b, &view);
    adx_drop(&b->memory, operand);
    if (s != NULL)
        b->fn = NULL;           // the statement frees it
    if (adx_now_status() != ADREV_OK)
        return adx_now_status();
    for (size_t i = 0; i < adx_bulk_results(b); i++)
        adx_set_result(&y[i], v[i], ADX_BASE(s), i);
    return ADREV_OK;
}

// Whether any number of the arguments is recorded.
static bool adx_any_recorded(size_t n, size_t args, const ad_rows x[])
{
    for (size_t k = 0; k < args; k++) {
        size_t rows = x[k].size == 0 ? 0 : x[k].step == 0 ? 1 : n;
        const ad_rev *row = x[k].x;
        for (size_t i = 0; i < rows; i++, row += x[k].step)
            for (size_t j = 0; j < x[k].size; j++)
                if (row[j].job != 0)
                    return true;
    }
    return false;
}

// Computes the values, and chooses how a sweep will run: with f as a recorded
// function, if it captures nothing and there are enough elements, and how many
// elements a chunk has. After each chunk the adjoints of all shared and
// captured numbers are added; so a chunk has at least one element for every 16
// of these.
static ad_status adx_evaluate_bulk(adx_bulk *b, bool recorded, ad_real v[])
{
    b->chunk = 64;
    ad_status status = recorded && b->f != NULL ? adx_measure_f(b) : ADREV_OK;
#ifdef ADREV_FUNCTION_IMPLEMENTED
    if (status == ADREV_OK && recorded && b->f != NULL
        && b->captured.n == 0 && b->n >= ADREV_REPLAY_FROM
        && b->n < UINT32_MAX)
        adx_record_f(b);
#endif
    if (status == ADREV_OK)
        status = adx_bulk_values(b, v);
    size_t shared = (b->shared + b->captured.n) / 16;
    b->chunk = b->chunk > shared ? b->chunk : shared;
    b->chunk = b->chunk < b->n ? b->chunk : b->n;
    return status;
}

// Computes and records the operator. The tape is not current while the values
// are computed, so that nothing else is recorded on it.
static ad_status adx_bulk_statement(adx_bulk *b, const ad_rows x[],
                                    ad_rev y[])
{
    ad_tape *t = adx_now.tape;
    b->memory = t->allocator;
    b->kept = adx_levels_of(b).kept;
    b->source = (adx_strip *)adx_take(&b->memory, b->sources,
                                      sizeof *b->source);
    b->part = (ad_real *)adx_take(&b->memory, b->kept, sizeof *b->part);
    ad_real *v = (ad_real *)adx_take(&b->memory, adx_bulk_results(b),
                                     sizeof *v);
    ad_status status = ADREV_ENOMEM;
    if (b->source != NULL && b->part != NULL && v != NULL) {
        for (size_t k = 0; k < b->sources; k++) {
            b->source[k] = adx_place_source(b->n, &x[k], b->operands);
            b->operands += adx_extent_of(b->n, &x[k]);
        }
        bool recorded = adx_any_recorded(b->n, b->sources, x);
        ad_use(NULL);
        status = adx_evaluate_bulk(b, recorded, v);
        ad_use(t);
    }
    status = status == ADREV_OK ? adx_record_bulk(b, x, v, y)
                                : ad_fail(status, b->why);
#ifdef ADREV_FUNCTION_IMPLEMENTED
    ad_fn_free(b->fn);
#endif
    adx_free_captured(&b->memory, &b->captured);
    adx_drop(&b->memory, v);
    adx_drop(&b->memory, b->part);
    adx_drop(&b->memory, b->source);
    return status;
}

/* === bulk/calls =============================================================
 * The public functions. On an ordinary tape a call becomes a statement
 * (bulk/statement). If a hook is set, if the tape is in fixed memory, or if no
 * tape is current, the call is plain: the same operations run in the same order
 * on the recorded numbers themselves, and each is recorded if anything is. In a
 * plain call a row enters level 0 as soon as it is made; when a part of a level
 * is full, its result enters the next level as a row. So only one part of each
 * level is in memory.
 *
 *   needs   number/recording tape/layout tape/memory sweep/session bulk/api
 *           bulk/folds bulk/passes bulk/reductions bulk/statement
 * ========================================================================== */

// A plain call while it runs.
typedef struct adx_plain {
    const adx_bulk *b;
    ad_rev *arg;                // arguments of f
    ad_rev *z;                  // results of f
    ad_rev *pair;               // arguments of op
    ad_rev *level;              // [levels*d] each level's last part so far
    ad_rev *upto;               // [levels*d] prefix: each level's last prefix
    size_t count[66];           // rows in that part; prefix: in the level
    const adx_levels *levels;
    ad_rev *y;
    bool unset;                 // a result was not set
} adx_plain;

// Enters a row into level k of a reduction.
static void adx_plain_fold(adx_plain *p, const ad_rev row[], size_t k)
{
    size_t d = p->b->d;
    ad_rev *part = p->level + k * d;
    if (p->count[k]++ == 0)
        memcpy(part, row, d * sizeof *part);
    else
        p->unset |= !adx_apply_op(p->b, part, row, p->pair, part);
    if (p->count[k] < p->b->radix)
        return;
    p->count[k] = 0;
    adx_plain_fold(p, part, k + 1);
}

// Ends a reduction. Parts that are not full are complete now. From level 0
// upwards, the result of each is the last row of the next level that has a
// part.
static void adx_plain_end(adx_plain *p)
{
    const ad_rev *last = NULL;
    for (size_t k = 0; k <= p->levels->count; k++) {
        ad_rev *part = p->level + k * p->b->d;
        if (p->count[k] == 0)
            continue;
        if (last != NULL)
            p->unset |= !adx_apply_op(p->b, part, last, p->pair, part);
        last = part;
    }
    memcpy(p->y, last, p->b->d * sizeof *last);
}

// Enters a row into level k and computes its prefix. The first row of a part is
// combined with the last prefix of the level above, which combines all parts
// before this one; any other row is combined with the prefix before it. The
// part itself is also combined if another part follows it.
static void adx_plain_prefix(adx_plain *p, const ad_rev row[], size_t k)
{
    size_t d = p->b->d;
    ad_rev *to = p->upto + k * d;
    ad_rev *part = p->level + k * d;
    size_t i = p->count[k]++;
    bool first = i % p->b->radix == 0;
    if (i == 0)
        memcpy(to, row, d * sizeof *to);
    else
        p->unset |= !adx_apply_op(p->b, first ? to + d : to, row, p->pair, to);
    if (k == p->levels->count || i / p->b->radix >= p->levels->rows[k + 1])
        return;                 // no part follows this one
    if (first)
        memcpy(part, row, d * sizeof *part);
    else
        p->unset |= !adx_apply_op(p->b, part, row, p->pair, part);
    if ((i + 1) % p->b->radix == 0)
        adx_plain_prefix(p, part, k + 1);
}

static void adx_plain_sum(const ad_rev a[], const ad_rev b[], size_t d,
                          ad_rev y[])
{
    for (size_t j = 0; j < d; j++)
        y[j] = adx_fold_plain(ADREV_OP_add, a[j], b[j]);
}

// Does what comes behind the map, for row z of element i: op, or a sum.
static void adx_plain_combine(adx_plain *p, size_t i, const ad_rev z[])
{
    const adx_bulk *b = p->b;
    bool prefix = b->kind == ADX_BULK_PREFIX;
    ad_rev *y = p->y + (prefix ? i * b->d : 0);
    if (b->op != NULL && !prefix) {
        adx_plain_fold(p, z, 0);
    } else if (b->op != NULL) {
        adx_plain_prefix(p, z, 0);
        memcpy(y, p->upto, b->d * sizeof *y);
    } else if (i == 0) {
        memcpy(y, z, b->d * sizeof *y);
    } else {
        adx_plain_sum(prefix ? y - b->d : y, z, b->d, y);
    }
}

// Does element i: copies its arguments to one place, calls f, and combines the
// result. Shared arguments are copied for the first element only.
static void adx_plain_element(adx_plain *p, size_t i, const ad_rows x[])
{
    const adx_bulk *b = p->b;
    bool map = b->kind == ADX_BULK_MAP;
    ad_rev *to = p->arg;
    ad_rev *z = map ? p->y + i * b->d : p->z;
    if (b->f == NULL) {
        adx_plain_combine(p, i, x->x + i * b->d);
        return;
    }
    for (size_t k = 0; k < b->sources; k++) {
        const ad_rev *from = x[k].size == 0
                           ? NULL : x[k].x + (ptrdiff_t)i * x[k].step;
        if (from != NULL && (x[k].step != 0 || i == 0))
            memcpy(to, from, x[k].size * sizeof *to);
        to += x[k].size;
    }
    adx_unset(b->d, z);
    b->f(p->arg, z, b->ctx);
    p->unset |= !adx_all_set(b->d, z);
    if (!map)
        adx_plain_combine(p, i, z);
}

// Does all elements. False: a function did not set all of its results.
static bool adx_plain_all(const adx_bulk *b, const ad_rows x[], ad_rev room[],
                          const adx_levels *levels, ad_rev y[])
{
    adx_plain p = { .b = b, .arg = room, .y = y, .levels = levels };
    p.z = p.arg + b->shared + b->width;
    p.pair = p.z + b->d;
    p.level = p.pair + 2 * b->d;
    p.upto = p.level + (levels->count + 1) * b->d;
    for (size_t i = 0; i < b->n; i++)
        adx_plain_element(&p, i, x);
    if (b->kind == ADX_BULK_REDUCE && b->op != NULL)
        adx_plain_end(&p);
    return !p.unset;
}

#define ADX_PLAIN_ROOM 192      // numbers for which no memory is allocated

// Does a plain call.
static ad_status adx_bulk_plain(const adx_bulk *b, const ad_rows x[],
                                ad_rev y[])
{
    ad_rev few[ADX_PLAIN_ROOM];
    const ad_allocator *memory = adx_bulk_allocator();
    const adx_levels levels = adx_levels_of(b);
    size_t need = b->shared + b->width + (5 + 2 * levels.count) * b->d;
    ad_rev *room = need <= ADX_PLAIN_ROOM ? few
                 : (ad_rev *)adx_bulk_take(memory, need, sizeof *room);
    if (room == NULL)
        return adx_bulk_no_memory();
    bool set = adx_plain_all(b, x, room, &levels, y);
    ad_status status = adx_now_status();
    if (status == ADREV_OK && !set)
        status = adx_failed(ADREV_ESHAPE);
    if (room != few)
        adx_drop(memory, room);
    return status;
}

/* --- calls --------------------------------------------------------------- */

// Whether n rows of an argument can lie in memory.
static bool adx_rows_possible(size_t n, const ad_rows *x)
{
    size_t stride = adx_magnitude(x->step);
    return !adx_bulk_huge(n, x->size) && !adx_bulk_huge(n, stride)
        && (x->size == 0 || n == 0 || x->x != NULL);
}

// Counts the shared numbers and those of each element, and chooses the radix.
// False: the sizes are impossible, or an array is missing.
static bool adx_size_bulk(adx_bulk *b, const ad_rows x[], const ad_rev y[])
{
    bool fit = b->d > 0 && !adx_bulk_huge(b->n, b->d)
            && !adx_no_array(b->sources, x)
            && (y != NULL || (b->n == 0 && b->kind != ADX_BULK_REDUCE));
    for (size_t k = 0; fit && k < b->sources; k++) {
        fit = adx_rows_possible(b->n, &x[k]);
        size_t *sum = x[k].step == 0 ? &b->shared : &b->width;
        *sum = adx_size_plus(*sum, x[k].size);
        fit = fit && !adx_bulk_huge(b->n, b->width)
           && !adx_bulk_huge(b->shared, 1);
    }
    // A part of 32 rows, or of 512 numbers, is large enough that the cost of
    // its chunk tape hardly counts. If prefixes have several parts, op runs
    // twice for each row, so their parts are eight times as large.
    b->radix = b->d > 128 ? 4 : b->d > 16 ? 512 / b->d : 32;
    b->radix *= b->kind == ADX_BULK_PREFIX ? 8 : 1;
    return fit;
}

// Computes the results. A reduction of no rows is `neutral` or, if it is a sum,
// 0.
static ad_status adx_bulk_results_of(adx_bulk *b, const ad_rows x[],
                                     const ad_real neutral[], ad_rev y[])
{
    bool empty = b->n == 0 && b->kind == ADX_BULK_REDUCE;
    if (!adx_size_bulk(b, x, y) || (b->f == NULL && b->op == NULL)
        || (empty && b->op != NULL && neutral == NULL))
        return adx_failed(ADREV_ESHAPE);
    ad_status status = adx_now_status();
    if (status != ADREV_OK)
        return status;
    for (size_t j = 0; empty && j < b->d; j++)
        y[j] = adx_passive(b->op == NULL ? 0 : neutral[j]);
    if (b->n == 0)
        return ADREV_OK;
    return adx_now.tape == NULL || adx_now.trace
        || adx_bulk_allocator() == NULL ? adx_bulk_plain(b, x, y)
                                        : adx_bulk_statement(b, x, y);
}

static ad_status adx_bulk_call(adx_bulk *b, const ad_rows x[],
                               const ad_real neutral[], ad_rev y[])
{
    ad_status status = adx_bulk_results_of(b, x, neutral, y);
    return adx_results_or_nan(status, b->kind == ADX_BULK_REDUCE ? 1 : b->n,
                              b->d, y);
}

ADX_API ad_status ad_map(ad_vector_fn *f, void *ctx, size_t n, size_t args,
                         const ad_rows x[], size_t m, ad_rev y[])
{
    adx_bulk b = { .kind = ADX_BULK_MAP, .f = f, .ctx = ctx, .n = n, .d = m,
                   .sources = args };
    return adx_bulk_call(&b, x, NULL, y);
}

ADX_API ad_status ad_reduce(ad_vector_fn *op, void *ctx, size_t n, size_t d,
                            const ad_rev x[], const ad_real neutral[],
                            ad_rev y[])
{
    const ad_rows rows = { x, d, (ptrdiff_t)d };
    adx_bulk b = { .kind = ADX_BULK_REDUCE, .op = op, .ctx = ctx, .n = n,
                   .d = d, .sources = 1 };
    return adx_bulk_call(&b, &rows, neutral, y);
}

ADX_API ad_status ad_prefix(ad_vector_fn *op, void *ctx, size_t n, size_t d,
                            const ad_rev x[], ad_rev y[])
{
    const ad_rows rows = { x, d, (ptrdiff_t)d };
    adx_bulk b = { .kind = ADX_BULK_PREFIX, .op = op, .ctx = ctx, .n = n,
                   .d = d, .sources = 1 };
    return adx_bulk_call(&b, &rows, NULL, y);
}

ADX_API ad_status ad_map_reduce(ad_vector_fn *f, ad_vector_fn *op, void *ctx,
                                size_t n, size_t args, const ad_rows x[],
                                size_t d, const ad_real neutral[], ad_rev y[])
{
    adx_bulk b = { .kind = ADX_BULK_REDUCE, .f = f, .op = op, .ctx = ctx,
                   .n = n, .d = d, .sources = args };
    return f == NULL ? adx_bulk_refuse(1, d, y)
                     : adx_bulk_call(&b, x, neutral, y);
}

ADX_API ad_status ad_map_prefix(ad_vector_fn *f, ad_vector_fn *op, void *ctx,
                                size_t n, size_t args, const ad_rows x[],
                                size_t d, ad_rev y[])
{
    adx_bulk b = { .kind = ADX_BULK_PREFIX, .f = f, .op = op, .ctx = ctx,
                   .n = n, .d = d, .sources = args };
    return f == NULL ? adx_bulk_refuse(n, d, y)
                     : adx_bulk_call(&b, x, NULL, y);
}

#endif // ADREV_BULK_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
