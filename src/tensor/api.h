#pragma once

/* === tensor/api =============================================================
 * Formulas over indexed arrays, written as text: the interface. The language
 * is described in docs/tensor-language.md.
 *
 *   needs   code/api
 * ========================================================================== */

#ifdef __cplusplus
extern "C" {
#endif

/* --- types ------------------------------------------------------------------
 * A text declares arrays, relations and maps, and gives formulas. An ad_tensor
 * is such a text, understood, and later bound to sizes.                     */

typedef struct ad_tensor ad_tensor;

// What is wrong with a text, or with what it was bound to.
typedef struct ad_tensor_error {
    int line, column;       // 1, 1 is the first character; 0: no place in the
                            // text
    char text[240];         // "2:24: ']' is missing before '*'", that line, a
                            // caret
} ad_tensor_error;

// All-zero bytes are the defaults.
typedef struct ad_tensor_options {
    const ad_allocator *allocator;  // NULL: the C library's
    bool as_written;        // products in no other order than the text's, sums
                            // after the products, and e + e not as 2*e
    bool fused;             // c + a*b in one rounding where sums of products
                            // are formed. Bits are the same on all machines; a
                            // processor without fma takes long
    // Adds A*B to C in place of the header's own loops, if not NULL: A is
    // m x k, B is k x n; numbers are `..rs` apart from row to row, `..cs` from
    // column to column. C overlaps neither A nor B. Called for the larger
    // products of matrices that are in a text or its derivatives; from several
    // threads if several evaluate. Bits are then those of this function.
    void (*gemm)(size_t m, size_t k, size_t n, const ad_real *A, ptrdiff_t ars,
                 ptrdiff_t acs, const ad_real *B, ptrdiff_t brs, ptrdiff_t bcs,
                 ad_real *C, ptrdiff_t crs, ptrdiff_t ccs);
} ad_tensor_options;

// What an evaluation takes: exactly its additions, multiplications and
// functions.
typedef struct ad_tensor_cost {
    uint64_t add, mul, fn;
    size_t io;              // numbers of inputs and results
    size_t work;            // bytes
} ad_tensor_cost;

typedef enum ad_tensor_part {
    ADREV_TENSOR_VALUE, ADREV_TENSOR_JVP, ADREV_TENSOR_VJP, ADREV_TENSOR_HVP
} ad_tensor_part;

/* --- from a text ------------------------------------------------------------
 * What can be known without sizes is checked here: every name, every number of
 * indices and arguments, every range.                                       */

// Reads a text.
//
//   out          out   NULL on failure
//   text         in    ends with a zero byte; it is copied
//   options      in    NULL: the defaults. They are copied, *allocator too
//   error        out   what is wrong and where; may be NULL. Written on failure
//                      only
//
//   returns      ADREV_OK; ADREV_ESYNTAX: the text is wrong; ADREV_ENOMEM, also
//                without an allocator (ADREV_NO_STDLIB); ADREV_ESHAPE: `out` or
//                `text` is NULL, or the text has more than 2^28 bytes
//   cost         linear in the length of the text
//   memory       some 40 bytes for each byte of the text
//   threads      any
//   see          docs/tensor-language.md, tests/tensor/syntax.c
ADX_TRY ad_status ad_tensor_new(ad_tensor **out, const char *text,
                                const ad_tensor_options *options,
                                ad_tensor_error *error);

// Frees what ad_tensor_new made. t may be NULL.
ADX_API void ad_tensor_free(ad_tensor *t);

/* --- binding ----------------------------------------------------------------
 * Sizes, relations, maps and layouts may come in any order, while no other
 * thread uses t. What is given is copied. A name is given once more to change
 * it: t is then not bound any more.
 *
 *   returns      ADREV_OK; ADREV_ESYNTAX: the text has no such name, or it
 *                stands for something else: a size is no map, a formula without
 *                `out` has no layout; ADREV_ELIMIT: a number is too large;
 *                ADREV_ESHAPE: t, the name or an array is NULL, or a range
 *                needs a size that has not been given; ADREV_ENOMEM. On failure
 *                t stays as it was                                           */

// The size `name` is n, at most 2^31 - 1.
ADX_API ad_status ad_tensor_size(ad_tensor *t, const char *name, size_t n);

// The entries of a relation, in any order: entry e is (column[0][e],
// column[1][e], ...). Numbers on the relation, x[R], have this order. That
// entries lie in the ranges of the relation, and that none comes twice, is
// checked by ad_tensor_bind.
//
//   entries      in    at most 2^31 - 1
//   column       in    as many arrays [entries] as the relation has columns
ADX_API ad_status ad_tensor_relation(ad_tensor *t, const char *name,
                                     size_t entries,
                                     const int *const column[]);

// A relation of two columns as compressed rows: the entries of row i are
// (i, column[e]) for start[i] <= e < start[i + 1]. The size of the rows must
// have been given; if it changes, ad_tensor_bind asks for them again.
//
//   start  [rows + 1]     in    start[0] is 0, and none is less than the one
//                               before: else ADREV_ESHAPE
//   column [start[rows]]  in
ADX_API ad_status ad_tensor_csr(ad_tensor *t, const char *name,
                                const int start[], const int column[]);

// The values of a map at the points of its range, whose size must have been
// given; if it changes, ad_tensor_bind asks for them again. That they lie in
// the range of values is checked by ad_tensor_bind.
ADX_API ad_status ad_tensor_map(ad_tensor *t, const char *name,
                                const int value[]);

// How an input or a result lies in memory: stride[k] numbers from one place to
// the next along index k. (Default: dense, row by row. A range that does not
// begin with 0 begins at the first number all the same.) Strides of a result
// must give each of its numbers a place of its own. Those of an input need not
// (a stride of 0 repeats numbers), but then it has no adjoint: ADREV_ESHAPE
// where one is wanted. Tangents and adjoints lie as their inputs and results
// do. Along a relation the entries have one stride.
ADX_API ad_status ad_tensor_layout(ad_tensor *t, const char *array,
                                   const ptrdiff_t stride[]);

// Checks what was given, and that no read is outside its array; prepares the
// evaluation. Without it, the first evaluation does the same.
//
//   error        out   as of ad_tensor_new: what does not fit, which read is
//                      outside, and for which indices
//
//   returns      ADREV_OK; ADREV_ESHAPE: something was not given or does not
//                fit; ADREV_ELIMIT: an array, or the points at which a
//                condition is true, are too many to count; ADREV_ENOMEM
//   threads      while no other thread uses t; from then on any number
ADX_API ad_status ad_tensor_bind(ad_tensor *t, ad_tensor_error *error);

/* --- evaluation -------------------------------------------------------------
 * Arrays stand in the order of `in` and of `out` in the text; a number is an
 * array of one. An input that nothing needs may be NULL. Instead of v or w, or
 * of one of their arrays, NULL stands for zeros. Instead of y, dy, dx, g or hv,
 * or of one of their arrays, NULL says that it is not wanted; it is then not
 * computed. Results overlap no argument and no other result. Any number of
 * threads may evaluate t once it is bound.
 * Memory for what is between inputs and results is kept for the next
 * evaluation, for some eight threads, until something is bound anew or t is
 * freed.
 *
 * If adrev_parallel.h is included before this header where both are
 * implemented, an evaluation runs on the pool of its thread (ad_pool_use), with
 * the same bits as without one. Sums that go through the entries of a relation,
 * or the values of a map, in another order than their results do so only where
 * a pool is in use in ad_tensor_bind, too: the text then has lists of points.
 * So does machine code; use the pool while it is made (ad_tensor_compile), too.
 *
 *   returns      ADREV_OK; ADREV_ESHAPE: an array is missing, or what
 *                ad_tensor_bind would say; ADREV_ENOMEM. On failure results are
 *                untouched
 *   cost         the multiples of the program's own cost that "What it costs"
 *                of docs/tensor-language.md states                           */

// y = f(x).
ADX_API ad_status ad_tensor_eval(ad_tensor *t, const ad_real *const x[],
                                 ad_real *const y[]);

// dy = df/dx v, and y = f(x).
ADX_API ad_status ad_tensor_jvp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const v[], ad_real *const y[],
                                ad_real *const dy[]);

// dx = w^T df/dx, and y = f(x).
ADX_API ad_status ad_tensor_vjp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const w[], ad_real *const y[],
                                ad_real *const dx[]);

// The gradient of a text with one `out`, which is a number.
//
//   f            out   may be NULL
ADX_API ad_status ad_tensor_gradient(ad_tensor *t, const ad_real *const x[],
                                     ad_real *f, ad_real *const g[]);

// hv = d/dx (w^T df/dx) v: with one `out`, and w = 1, the Hessian times v.
// Every function has second derivatives: they are made of the formulas of its
// first ones. An argument that stands for a whole number, as the exponent of
// powi, is a constant.
ADX_API ad_status ad_tensor_hvp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const w[],
                                const ad_real *const v[], ad_real *const hv[]);

/* --- in a recording ------------------------------------------------------ */

// y = f(x) as one statement on the current tape, with numbers in place of
// arrays of ad_real. Inputs whose numbers are all constants get no adjoints.
// t must outlive the recording, and functions that recorded the call
// (adrev_function.h): do not free it before they are cleared, rewound or freed.
// If it is given another size, relation, map or layout, sweeps and replays end
// with ADREV_EEXTERNAL.
//
//   x            in    NULL in it only for an array without numbers
//   y            out   NULL in it: that result is not wanted. An array of y may
//                      lie where x does, but on no other one of y. Constants if
//                      all numbers of x are
//
//   returns      as above; ADREV_ESHAPE: also where numbers of x that are no
//                constants share a place (ad_tensor_layout). The tape goes on,
//                as it was. But a function that is being recorded, or any tape
//                with a trace hook, fails with the same status. Else the status
//                of the tape, which a lack of its own memory fails, as in
//                ad_external
//   cost         the value. In each sweep the ad_tensor_vjp of inputs that are
//                no constants, or the ad_tensor_jvp; in Hessians of a recorded
//                function the ad_tensor_hvp, and a further ad_tensor_vjp
//   memory       on the tape, a number for each number of x, about 100 bytes,
//                and 4 for each operand, unless their ids are evenly spaced; in
//                a call and in a sweep up to four times the arrays
//   threads      any, each with a tape of its own, once t is bound; sweeps, too
//   see          tests/tensor/call.c
ADX_TRY ad_status ad_tensor_call(ad_tensor *t, const ad_rev *const x[],
                                 ad_rev *const y[]);

/* --- what it takes ------------------------------------------------------- */

// Counts the operations of a part without computing it.
//
//   wanted       in    which results of the part are wanted, in their order;
//                      NULL: all
//
//   returns      ADREV_OK; ADREV_ESHAPE: t or cost is NULL, there is no such
//                part, or what ad_tensor_bind would say; ADREV_ENOMEM
//   cost         where conditions are no ranges, the loops of the part
//   threads      as evaluation
//   see          tests/tensor/cases.c
ADX_API ad_status ad_tensor_count(ad_tensor *t, ad_tensor_part part,
                                  const bool wanted[], ad_tensor_cost *cost);

// Writes what became of the text: the text with all ranges, as it was
// understood; and if t is bound, the steps of a part with all its results, as
// formulas, each with the numbers that it writes, its loops and its operations,
// whether it is a product of matrices, and into how many parts it is cut.
//
//   write        in    is given the text piece by piece
//
//   returns      ADREV_OK; ADREV_ESHAPE: t or `write` is NULL; ADREV_ENOMEM. On
//                failure nothing is written
//   cost         twice that of ad_tensor_count
//   see          docs/tensor-walk.md, tests/tensor/explain.c
ADX_API ad_status ad_tensor_explain(ad_tensor *t, ad_tensor_part part,
                                    ad_write_fn *write, void *user);

/* --- C code -----------------------------------------------------------------
 * With adrev_function.h, included before, a bound text becomes C code. Sizes,
 * strides, relations and maps are constants of the code; sizes can be arguments
 * of it, too. Steps that are read once are not stored, and loops have no more
 * operations than ad_tensor_count says.                                      */

#ifdef ADREV_CODE_H

// Compiles machine code, by which t is evaluated until something is bound anew.
// The results have the same bits. A call in which an array of v or w is NULL is
// still evaluated by loops. The code runs on the pool of its thread, as loops
// do. If a pool is in use when this function is called, more of the code can
// run in parallel. The code is kept in the cache of ad_fn_compile, which the
// same options choose.
//
//   options      in    functions: of ADREV_C_VALUE, _JVP, _VJP, _GRADIENT (the
//                      same as _VJP) and _HVP those to compile; 0: all
//
//   returns      ADREV_OK; ADREV_ECOMPILE: see the options' report; t is
//                evaluated as before; else as ad_tensor_bind
//   threads      no other thread may use t meanwhile
ADX_TRY ad_status ad_tensor_compile(ad_tensor *t,
                                    const ad_compile_options *options);

// Writes C99 that needs nothing but <math.h>, takes no memory, and has a
// function for each part that is asked for, with the name in front:
//
//     #define f_value_WORK 12          numbers of `work`, at least 1
//     int f_value(const double *const x[], double *const y[], double *work);
//     int f_jvp(const double *const x[], const double *const v[],
//               double *const y[], double *const dy[], double *work);
//     int f_vjp(const double *const x[], const double *const w[],
//               double *const y[], double *const dx[], double *work);
//     int f_hvp(const double *const x[], const double *const w[],
//               const double *const v[], double *const hv[], double *work);
//     int f_gradient(const double *const x[], double *f, double *const g[],
//                    double *work);
//
// Arrays are those of ad_tensor_eval and its like; but none of v and w may be
// NULL, unless nothing that is wanted needs it. The functions return 0, or 1:
// an array that is needed is missing; then nothing has been written.
//
// Sizes that are the options' `arguments` come first, in their order. What
// ad_tensor_size said is the largest number that they may have:
//
//     #define f_n_LEAST 1
//     #define f_n_MOST 100
//     int f_value(long n_, const double *const x[], double *const y[],
//                 double *work);
//
// and 2 is returned for a size that is not in its range; then nothing has been
// written. Arrays keep the strides of the largest sizes, which the file says:
// entry (i, j) of A[m,n] is number i*100 + j, whatever n is. A range that
// begins with a form in such sizes begins at the first number all the same.
// Nothing is read or written beyond the numbers that there are at the sizes of
// a call, and `work` is that of the largest ones. Sums may be in another order
// than those of the library. The code is right for all sizes of the ranges, or
// refused: where a read is outside for some sizes; where ranges of relations or
// maps depend on arguments; where `exists`, or a condition of many parts, does;
// where it cannot be told for all sizes which numbers of an array are there.
//
//   options      in    name, functions (those above; 0: value and vjp and, of
//                      one number, gradient; a gradient comes with the
//                      vjp), single, exported, header, arguments, reason;
//                      others have no meaning here
//   bytes        out   how many were written, or would be; may be NULL
//   write        in    called often, with short pieces; NULL: only count
//
//   returns      as ad_tensor_bind; ADREV_ESHAPE: no such function, no such
//                name, a gradient of what is not one number, a header without
//                `exported`, casadi or a dialect; what is refused with
//                arguments: see the options' reason; ADREV_ESYNTAX: an argument
//                is no size of the text; ADREV_EEXTERNAL: what has no C text
//   see          tests/tensor/written.c, tests/tensor/sizes.c
ADX_TRY ad_status ad_tensor_write_c(ad_tensor *t, const ad_c_options *options,
                                    ad_write_fn *write, void *user,
                                    size_t *bytes);

#endif

#ifdef __cplusplus
}
#endif
