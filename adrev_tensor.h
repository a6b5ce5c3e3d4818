/* Made from src/ by `make headers`: changes belong there. */
/* adrev_tensor.h - formulas over indexed arrays.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_tensor.h"
 *
 * A text declares arrays and gives formulas. It is bound to sizes, and then
 * evaluated with its derivatives:
 *
 *     #include <stdio.h>
 *
 *     static const char text[] = "in A[m,n], x[n], b[m];"
 *                                "r[i] = sum(j) A[i,j]*x[j] - b[i];"
 *                                "out f = 0.5*sum(i) r[i]^2;";
 *
 *     int main(void)
 *     {
 *         const ad_real A[] = { 1, 2, 3, 4, 5, 6 }, x[] = { 1, -1 };
 *         const ad_real b[] = { 0, 0, 1 }, *in[] = { A, x, b };
 *         ad_real f, gx[2], *g[] = { NULL, gx, NULL };     // only that of x
 *         ad_tensor_error e;
 *         ad_tensor *t;
 *         if (ad_tensor_new(&t, text, NULL, &e) != ADREV_OK)
 *             return puts(e.text), 1;
 *         ad_tensor_size(t, "m", 3);
 *         ad_tensor_size(t, "n", 2);
 *         if (ad_tensor_bind(t, &e) != ADREV_OK
 *             || ad_tensor_gradient(t, in, &f, g) != ADREV_OK)
 *             return 1;
 *         printf("f = %g, gradient (%g, %g)\n", f, gx[0], gx[1]);
 *         ad_tensor_free(t);
 *     }
 *
 *     f = 3, gradient (-14, -18)
 *
 * Loops visit only the points where a condition is true. So zeros that are
 * there for want of a condition cost nothing, in derivatives, too.
 *
 * An error has a place:
 *
 *     2:26: 'j' runs over another range here than before
 *         out y[i] = sum(j) A[j,i]*x[j];
 *                                  ^
 *
 * The language, and what a text costs: docs/tensor-language.md.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   tensor/api           the interface
 *   tensor/tree          a text as it is understood
 *   tensor/messages      what is wrong with a text, in words
 *   tensor/scan          the words of a text
 *   tensor/decimal       the value of a number in a text
 *   tensor/names         what a name stands for; ranges of indices
 *   tensor/forms         reads affine forms
 *   tensor/conditions    reads conditions, and what sums bind
 *   tensor/expressions   reads the right sides of formulas
 *   tensor/arena         memory of a text that is bound
 *   tensor/sets          sets of integer points
 *   tensor/nests         loops over the points of a set
 *   tensor/binding       sizes, relations, maps and layouts
 *   tensor/open          ranges of indices where sizes are open
 *   tensor/syntax        from a text to its tree
 *   tensor/print         a tree as text of the language
 *   tensor/programs      a text that is bound: values, which are sums of terms
 *   tensor/entries       points as a list, over which loops run
 *   tensor/sharing       equal values and equal terms
 *   tensor/lower         ranges and conditions go into the sets of terms
 *   tensor/splits        sets where a condition is true
 *   tensor/paths         in which order factors are multiplied
 *   tensor/values        unnamed values, for what stands inside an expression
 *   tensor/formulas      from expressions to terms
 *   tensor/derive        derivation: tangents and adjoints of programs
 *   tensor/parts         values are cut into parts, for threads
 *   tensor/matrices      products of matrices by a packed kernel
 *   tensor/gathers       strips along which maps give the other variables
 *   tensor/storage       values with memory for their entries only
 *   tensor/prepare       chooses the loops of terms
 *   tensor/run           evaluates programs by loops
 *   tensor/queries       binding, values, derivatives and counts
 *   tensor/spelling      steps as formulas of the language
 *   tensor/explain       what became of a text, in words
 *   tensor/call          a text as one statement of a recording
 *
 * and, if adrev_function.h has been included before:
 *
 *   tensor/pointwise     values whose numbers are single expressions
 *   tensor/fusion        which values are computed where they are read
 *   tensor/bundles       steps that share their outermost loop; parts of steps
 *   tensor/emission      tables, forms and places as C text
 *   tensor/points        numbers, and values that are computed one by one
 *   tensor/loops         the loops of a term
 *   tensor/steps         a step, or the steps of a bundle
 *   tensor/file          the steps of a file of C code
 *   tensor/written       its functions, and ad_tensor_write_c
 *   tensor/compiled      machine code
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev.h"

#if ADREV_FIXED
#error "adrev_tensor.h needs tapes that grow: not with ADREV_FIXED"
#endif

#ifndef ADREV_TENSOR_H
#define ADREV_TENSOR_H

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

#endif // ADREV_TENSOR_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_TENSOR_IMPLEMENTED
#define ADREV_TENSOR_IMPLEMENTED

/* === tensor/tree ============================================================
 * A text as it is understood: what it declares, and a tree for each formula.
 * Everything stands in arrays and is known by its number there, from 1 on; 0
 * stands for none. Element 0 of an array takes what is written where memory
 * has run out.
 *
 * Children come before their parent. A tree is at most some six times as deep
 * as the brackets of its text, of which ADX_NESTING may be open.
 *
 *   needs   tape/memory
 *   offers  ADX_NESTING ADX_BOUND_MOST ADX_TERMS_MOST ADX_NAME_MOST
 *           ADX_TEXT_MOST adx_spot adx_multiple_kind ADX_OF_SIZE ADX_OF_INDEX
 *           ADX_OF_MAP adx_multiple adx_affine adx_dim adx_tensor_relation
 *           adx_tensor_map adx_tensor_array adx_declared_kind ADX_NAMES_SIZE
 *           ADX_NAMES_RELATION ADX_NAMES_MAP ADX_NAMES_ARRAY adx_declared
 *           adx_tensor_index adx_tree_kind ADX_TREE_NUMBER ADX_TREE_SIZE
 *           ADX_TREE_READ ADX_TREE_ADD ADX_TREE_MUL ADX_TREE_NEG
 *           ADX_TREE_POWER ADX_TREE_CALL ADX_TREE_SUM ADX_TREE_MAXIMUM
 *           ADX_TREE_MINIMUM ADX_TREE_BRACKET ADX_TREE_OR ADX_TREE_AND
 *           ADX_TREE_ZERO ADX_TREE_NOT_NEGATIVE ADX_TREE_NOT_ZERO
 *           ADX_TREE_MEMBER ADX_TREE_EXISTS adx_tensor_node adx_tensor_formula
 *           adx_tree adx_are_like adx_same_form adx_hash_form ADX_ONE_MORE
 *           adx_free_tree adx_begin_tree
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_NESTING      200        /* brackets open at once; 400 bytes of
                                       stack for each (-O2) */
#define ADX_BOUND_MOST   32         /* indices in scope; indices of an array */
#define ADX_TERMS_MOST   64         /* terms of an affine form */
#define ADX_NAME_MOST    63         /* bytes of a name */
#define ADX_TEXT_MOST    0x0fffffff /* bytes of a text */

// A piece of the text. Lines and columns are counted when somebody asks.
typedef struct adx_spot {
    uint32_t at;
    uint32_t length;
} adx_spot;

/* --- affine forms --------------------------------------------------------
 * constant + sum of k * (a size, an index, or a map at an affine form). Each of
 * these is there at most once, and no k is 0.                               */

typedef enum adx_multiple_kind {
    ADX_OF_SIZE, ADX_OF_INDEX, ADX_OF_MAP
} adx_multiple_kind;

typedef struct adx_multiple {
    int64_t k;
    adx_multiple_kind kind;
    uint32_t of;            // number of the size, index or map
    uint32_t argument;      // of a map: a form
} adx_multiple;

typedef struct adx_affine {
    int64_t constant;
    uint32_t first;         // multiples first ... first + count - 1
    uint32_t count;
    uint32_t at;            // in the text
    uint32_t hash;          // the same for forms that are the same
} adx_affine;

/* --- what is declared ---------------------------------------------------- */

// One place of an array, a relation or a map: from <= index < to, both forms in
// sizes.
typedef struct adx_dim {
    uint32_t from;
    uint32_t to;
    uint32_t relation;      // of an array: whose column it is
    uint32_t column;        // from 0 on
} adx_dim;

// A relation: a set of points.
typedef struct adx_tensor_relation {
    adx_spot name;
    uint32_t first;         // dims first ... first + arity - 1: its columns
    uint32_t arity;
} adx_tensor_relation;

// A map from a range to a range.
typedef struct adx_tensor_map {
    adx_spot name;
    uint32_t domain;        // dims
    uint32_t values;
} adx_tensor_map;

// An input, or what a formula makes. If it has numbers on the entries of a
// relation only, the columns of the relation are its first places.
typedef struct adx_tensor_array {
    adx_spot name;
    uint32_t first;         // dims first ... first + rank - 1
    uint32_t rank;
    uint32_t formula;       // that makes it; 0: an input
    uint32_t order;         // among the inputs, or those of `out`; from 0 on
    bool out;
} adx_tensor_array;

typedef enum adx_declared_kind {
    ADX_NAMES_SIZE = 1, ADX_NAMES_RELATION, ADX_NAMES_MAP, ADX_NAMES_ARRAY
} adx_declared_kind;

// A name, in the order of the text.
typedef struct adx_declared {
    adx_spot name;
    adx_declared_kind kind;
    uint32_t of;            // its number among those of this kind
    uint32_t hash;
} adx_declared;

/* --- formulas ------------------------------------------------------------ */

// An index of a formula: from <= index < to, forms in sizes.
typedef struct adx_tensor_index {
    adx_spot name;          // where it is bound
    uint32_t from;
    uint32_t to;            // 0: not known yet
    bool given;             // the text says the range; else reads do
} adx_tensor_index;

typedef enum adx_tree_kind {
    ADX_TREE_NUMBER = 1,    // value
    ADX_TREE_SIZE,          // the size `of` as a number
    ADX_TREE_READ,          // the array `of` at forms; guarded: 0 outside
    ADX_TREE_ADD,           // sum of the children; inverse: less this child
    ADX_TREE_MUL,           // product; inverse: divided by this child
    ADX_TREE_NEG,           // minus the child
    ADX_TREE_POWER,         // the child to the whole power
    ADX_TREE_CALL,          // operation `of`, ADREV_OP_detach among them, of
                            // the children
    ADX_TREE_SUM,           // over indices, where the condition is true, of the
    ADX_TREE_MAXIMUM,       // child
    ADX_TREE_MINIMUM,
    ADX_TREE_BRACKET,       // the child where the condition is true, else 0

    // Conditions.
    ADX_TREE_OR,            // of the children, which are AND or one of these:
    ADX_TREE_AND,
    ADX_TREE_ZERO,          // the form `of` is 0
    ADX_TREE_NOT_NEGATIVE,  // ... is at least 0
    ADX_TREE_NOT_ZERO,
    ADX_TREE_MEMBER,        // forms are an entry of the relation `of`
    ADX_TREE_EXISTS         // the condition is true for some of the indices
} adx_tree_kind;

typedef struct adx_tensor_node {
    adx_tree_kind kind;
    adx_spot spot;          // of its first word, of a comparison: the sign
    uint32_t end;           // of a read or a membership, in the text
    bool inverse;
    bool guarded;
    uint32_t child;         // the first one
    uint32_t next;          // the next child of the same parent
    uint32_t condition;     // a node
    uint32_t of;
    uint32_t first;         // elements of `list`, or indices
    uint32_t count;
    int32_t power;
    ad_real value;
} adx_tensor_node;

// A formula: array[first `rank` indices] = body.
typedef struct adx_tensor_formula {
    uint32_t array;
    uint32_t first;         // indices first ... first + count - 1, all that it
    uint32_t count;         // binds: those of the left side, then others
    uint32_t body;
} adx_tensor_formula;

// A text as it is understood: lists of its elements, which name each other by
// index. Index 0 means none, so element 0 of each list is not used; counts
// include it.
typedef struct adx_tree {
    const ad_allocator *memory;
    char *text;             // a copy, [length]
    size_t length;

    adx_declared *declared; // the names that are declared
    size_t declared_count, declared_room;
    uint32_t *bucket;       // of a hash table: elements of `declared`
    size_t buckets;         // a power of two
    adx_spot *size;
    size_t size_count, size_room;
    adx_tensor_relation *relation;
    size_t relation_count, relation_room;
    adx_tensor_map *map;
    size_t map_count, map_room;
    adx_tensor_array *array;
    size_t array_count, array_room;
    adx_dim *dim;
    size_t dim_count, dim_room;

    adx_tensor_formula *formula;
    size_t formula_count, formula_room;
    adx_tensor_index *index;
    size_t index_count, index_room;
    adx_tensor_node *node;
    size_t node_count, node_room;
    uint32_t *list;         // forms of reads and memberships
    size_t list_count, list_room;
    adx_affine *form;       // form 1 is 0
    size_t form_count, form_room;
    adx_multiple *multiple;
    size_t multiple_count, multiple_room;

    uint32_t inputs;
    uint32_t outs;
} adx_tree;

/* --- forms that are the same --------------------------------------------- */

static bool adx_same_form(const adx_tree *tree, uint32_t one, uint32_t other);

// Whether two multiples are of the same.
static bool adx_are_like(const adx_tree *tree, const adx_multiple *x,
                         const adx_multiple *y)
{
    return x->kind == y->kind && x->of == y->of
        && (x->kind != ADX_OF_MAP
            || adx_same_form(tree, x->argument, y->argument));
}

// Whether two forms are the same, in whatever order their terms are. (Where
// maps are nested, hashes keep this from looking at all pairs of terms.)
static bool adx_same_form(const adx_tree *tree, uint32_t one, uint32_t other)
{
    const adx_affine *a = &tree->form[one];
    const adx_affine *b = &tree->form[other];
    if (a->hash != b->hash || a->constant != b->constant
        || a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const adx_multiple *x = &tree->multiple[a->first + i];
        const adx_multiple *y = &tree->multiple[b->first];
        uint32_t k = 0;
        while (k < b->count
               && (y[k].k != x->k || !adx_are_like(tree, x, &y[k])))
            k++;
        if (k == b->count)
            return false;
    }
    return true;
}

// Mixes a number into a hash.
static uint32_t adx_mix(uint32_t hash, uint64_t v)
{
    v = (v ^ hash) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(v ^ v >> 32);
}

// Returns the hash of a form of the tree. It does not depend on the order of
// the terms.
static uint32_t adx_hash_form(const adx_tree *tree, const adx_affine *f)
{
    uint32_t hash = adx_mix(1, (uint64_t)f->constant);
    for (uint32_t i = 0; i < f->count; i++) {
        const adx_multiple *m = &tree->multiple[f->first + i];
        uint32_t what = adx_mix((uint32_t)m->kind, m->of);
        if (m->kind == ADX_OF_MAP)
            what = adx_mix(what, tree->form[m->argument].hash);
        hash += adx_mix(what, (uint64_t)m->k);
    }
    return hash;
}

/* --- arrays that grow ---------------------------------------------------- */

// Adds an element, all zeros. Returns its number; 0: no memory.
static uint32_t adx_one_more(const adx_tree *tree, void **array, size_t *room,
                             size_t *count, size_t size)
{
    if (!adx_extend(tree->memory, array, room, *count + 1, size))
        return 0;
    memset((char *)*array + *count * size, 0, size);
    return (uint32_t)(*count)++;
}

#define ADX_ONE_MORE(tree, name)                                            \
    adx_one_more(tree, (void **)&(tree)->name, &(tree)->name##_room,        \
                 &(tree)->name##_count, sizeof *(tree)->name)

#define ADX_TREE_ARRAYS(ROW)                                                \
    ROW(declared) ROW(size) ROW(relation) ROW(map) ROW(array) ROW(dim)      \
    ROW(formula) ROW(index) ROW(node) ROW(list) ROW(form) ROW(multiple)

static void adx_free_tree(adx_tree *tree)
{
#define ADX_TREE_EACH(name) adx_drop(tree->memory, tree->name);
    ADX_TREE_ARRAYS(ADX_TREE_EACH)
#undef ADX_TREE_EACH
    adx_drop(tree->memory, tree->bucket);
    adx_drop(tree->memory, tree->text);
}

// Copies the text, and makes the elements 0 and the form 0. False: no memory;
// what there is is freed by adx_free_tree.
static bool adx_begin_tree(adx_tree *tree, const ad_allocator *memory,
                           const char *text, size_t length)
{
    memset(tree, 0, sizeof *tree);
    tree->memory = memory;
    tree->text = (char *)adx_take(memory, length, 1);
    tree->length = length;
    if (tree->text == NULL)
        return false;
    memcpy(tree->text, text, length);
    tree->text[length] = '\0';
#define ADX_TREE_EACH(name)                                                      \
    ADX_ONE_MORE(tree, name);                                               \
    if (tree->name##_count == 0)                                            \
        return false;
    ADX_TREE_ARRAYS(ADX_TREE_EACH)
#undef ADX_TREE_EACH
    return ADX_ONE_MORE(tree, form) != 0;
}

ADX_SELDOM_END

/* === tensor/messages ========================================================
 * What is wrong with a text, in words: where, what, the line, and a caret
 * under the column.
 *
 *     2:24: ']' is missing before '*'
 *         out y[i] = sum(j) A[i,j*x[j];
 *                                ^
 *
 *   needs   tensor/api tensor/tree
 *   offers  adx_saying adx_say_string adx_say_whole adx_character adx_is_shown
 *           adx_locate adx_say_spot adx_explain_at adx_explain_text
 *           adx_explain_status
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Text of limited length; what is beyond is left out.
typedef struct adx_saying {
    char *text;
    size_t n;
    size_t room;            // with the zero byte
} adx_saying;

// Adds as many bytes of a text as there is room for.
static void adx_say_bytes(adx_saying *s, const char *text, size_t n)
{
    for (size_t i = 0; i < n && s->n + 1 < s->room; i++)
        s->text[s->n++] = text[i];
    s->text[s->n] = '\0';
}

static void adx_say_string(adx_saying *s, const char *text)
{
    adx_say_bytes(s, text, strlen(text));
}

// Adds a whole number in decimal digits.
static void adx_say_whole(adx_saying *s, uint32_t v)
{
    char digit[10];
    size_t n = 0;
    for (; n == 0 || v > 0; v /= 10)
        digit[n++] = (char)('0' + v % 10);
    while (n-- > 0)
        adx_say_bytes(s, &digit[n], 1);
}

/* --- characters ----------------------------------------------------------
 * Columns count characters: in UTF-8 all bytes but 10xxxxxx begin one.      */

// Whether a byte of UTF-8 is the first one of a character.
static bool adx_begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

// Returns how many bytes the character at `at` has, which is before `end`.
static size_t adx_character(const char *text, size_t at, size_t end)
{
    size_t n = 1;
    while (at + n < end && !adx_begins_character(text[at + n]))
        n++;
    return n;
}

// Whether these bytes are a character that can be shown as it is.
static bool adx_is_shown(const char *c, size_t n)
{
    unsigned char lead = (unsigned char)*c;
    return n == 1 ? lead >= ' ' && lead < 0x7f
         : n == 2 ? lead >= 0xc2 && lead < 0xe0
                    && (lead > 0xc2 || (unsigned char)c[1] >= 0xa0)
         : n == 3 ? lead >= 0xe0 && lead < 0xf0
         : n == 4 && lead >= 0xf0 && lead < 0xf5;
}

// Adds a character, in one column; a tab is a blank.
static void adx_say_character(adx_saying *s, const char *c, size_t n)
{
    if (*c == '\t')
        adx_say_string(s, " ");
    else if (!adx_is_shown(c, n))
        adx_say_string(s, "?");
    else if (s->n + n < s->room)
        adx_say_bytes(s, c, n);
}

// Finds the line and the column of a place in the text, and where its line
// begins.
static size_t adx_locate(const adx_tree *tree, size_t at, int *line,
                         int *column)
{
    size_t begin = 0;
    *line = *column = 1;
    for (size_t i = 0; i < at; i++) {
        *column += adx_begins_character(tree->text[i]);
        if (tree->text[i] == '\n') {
            ++*line;
            *column = 1;
            begin = i + 1;
        }
    }
    if (at > begin && !adx_begins_character(tree->text[begin]))
        ++*column;                          // a stray byte counts as one
    return begin;
}

/* --- the line and the caret ---------------------------------------------- */

#define ADX_INDENT "\n    "
#define ADX_CUT    "..."

// Returns where to begin the part of the line that is shown, so that room is
// left for the text behind the caret. The line of the caret takes as many bytes
// as that part has columns.
static size_t adx_cut_before(const char *text, size_t begin, size_t at,
                             size_t room)
{
    size_t from = at;
    size_t bytes = 0;
    while (from > begin) {
        size_t back = 1;
        while (from - back > begin
               && !adx_begins_character(text[from - back]))
            back++;
        bytes += back + 1;
        if (bytes > room)
            break;
        from -= back;
    }
    return from;
}

// Adds the line from `begin` to `end`, and a caret under `at`. Leading blanks
// are left out, and so is what there is no room for.
static void adx_say_line(adx_saying *s, const char *text, size_t begin,
                         size_t at, size_t end)
{
    const size_t fixed = 2 * strlen(ADX_INDENT) + 1;        // with the caret
    const size_t cut = strlen(ADX_CUT);
    size_t left = s->room - 1 - s->n;
    if (left < fixed + 10 * cut)
        return;
    left -= fixed;
    while (begin < at && (text[begin] == ' ' || text[begin] == '\t'))
        begin++;
    size_t behind = end - at < left / 3 ? end - at : left / 3;
    size_t from = adx_cut_before(text, begin, at, left - behind);
    if (from > begin)
        from = adx_cut_before(text, begin, at, left - behind - 2 * cut);

    size_t blanks = 0;
    adx_say_string(s, ADX_INDENT);
    if (from > begin) {
        adx_say_string(s, ADX_CUT);
        blanks += cut;
    }
    for (size_t n; from < at; from += n, blanks++) {
        n = adx_character(text, from, at);
        adx_say_character(s, text + from, n);
    }
    size_t most = s->room - 1 - strlen(ADX_INDENT) - blanks - 1;
    bool whole = s->n + (end - from) <= most;
    for (size_t n; from < end; from += n) {
        n = adx_character(text, from, end);
        if (!whole && s->n + n + cut > most) {
            adx_say_string(s, ADX_CUT);
            break;
        }
        adx_say_character(s, text + from, n);
    }
    adx_say_string(s, ADX_INDENT);
    for (size_t i = 0; i < blanks; i++)
        adx_say_string(s, " ");
    adx_say_string(s, "^");
}

/* --- the whole message --------------------------------------------------- */

// Adds a piece of the text to a message, shortened.
static void adx_say_spot(adx_saying *s, const adx_tree *tree, adx_spot spot)
{
    const size_t most = 28;
    const char *text = tree->text + spot.at;
    size_t end = spot.length > most ? most - strlen(ADX_CUT) : spot.length;
    for (size_t i = 0, n; i < end; i += n) {
        n = adx_character(text, i, spot.length);
        adx_say_character(s, text + i, n);
    }
    if (end < spot.length)
        adx_say_string(s, ADX_CUT);
}

// Adds a message to a text. %w: a piece of the text, adx_spot; %s: a string;
// %u: uint32_t.
static void adx_say_message(adx_saying *s, const adx_tree *tree,
                            const char *format, va_list *args)
{
    for (const char *f = format; *f != '\0'; f++)
        if (*f != '%')
            adx_say_bytes(s, f, 1);
        else if (*++f == 'w')
            adx_say_spot(s, tree, va_arg(*args, adx_spot));
        else if (*f == 's')
            adx_say_string(s, va_arg(*args, const char *));
        else
            adx_say_whole(s, va_arg(*args, uint32_t));
}

// Fills in the error: `at` is where in the text.
static void adx_explain_at(ad_tensor_error *error, const adx_tree *tree,
                           size_t at, const char *format, va_list *args)
{
    adx_saying s = { error->text, 0, sizeof error->text };
    size_t begin = adx_locate(tree, at, &error->line, &error->column);
    size_t end = at;
    while (end < tree->length && tree->text[end] != '\n')
        end++;
    if (end > at && tree->text[end - 1] == '\r')
        end--;
    adx_say_whole(&s, (uint32_t)error->line);
    adx_say_string(&s, ":");
    adx_say_whole(&s, (uint32_t)error->column);
    adx_say_string(&s, ": ");
    adx_say_message(&s, tree, format, args);
    adx_say_line(&s, tree->text, begin, at, end);
}

// Explains an error without a place.
static void adx_explain_text(ad_tensor_error *error, const char *text)
{
    adx_saying s = { error->text, 0, sizeof error->text };
    error->line = error->column = 0;
    adx_say_string(&s, text);
}

// Explains a status that has no place in the text, by its own message.
static void adx_explain_status(ad_tensor_error *error, ad_status status)
{
    adx_explain_text(error, ad_message(status));
}

ADX_SELDOM_END

/* === tensor/scan ============================================================
 * The words of a text, one after another from left to right, and the first
 * thing that is wrong with it. After that, or where the text ends, all words
 * are the end: so no loop over words goes on.
 *
 *   needs   tensor/api tensor/tree tensor/messages
 *   offers  ADX_WORD_END ADX_WORD_NAME ADX_WORD_NUMBER ADX_WORD_LE ADX_WORD_GE
 *           ADX_WORD_EQ ADX_WORD_NE ADX_WORD_ARROW adx_parser adx_stop_parsing
 *           adx_wrong_at adx_ends_line adx_say_missing adx_is_figure
 *           adx_take_from adx_take_word adx_accept adx_expect adx_following
 *           adx_is_text adx_is_word adx_is_comparison adx_descend adx_ascend
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Words of one character are that character.
typedef enum adx_word_kind {
    ADX_WORD_END = 0, ADX_WORD_NAME = 256, ADX_WORD_NUMBER, ADX_WORD_LE,
    ADX_WORD_GE, ADX_WORD_EQ, ADX_WORD_NE, ADX_WORD_ARROW
} adx_word_kind;

typedef struct adx_parser {
    adx_tree *tree;
    ad_tensor_error *error;
    ad_status status;

    // The word at hand.
    int kind;               // adx_word_kind, or a character
    adx_spot spot;
    bool whole;             // a number: digits and nothing else
    uint32_t behind;        // where the word before it ends

    // What is open.
    unsigned depth;
    uint32_t bound[ADX_BOUND_MOST];     // indices in scope
    unsigned bounds;
    adx_spot making;        // the name that this formula is for
    uint32_t first;         // its first index

    // Terms of the affine forms that are being read, one above the other.
    adx_multiple *term;
    size_t terms, term_room;
} adx_parser;

/* --- errors -------------------------------------------------------------- */

// Ends the reading of the text with a status, unless it has ended already.
static void adx_stop_parsing(adx_parser *p, ad_status status)
{
    if (p->status == ADREV_OK) {
        p->status = status;
        adx_explain_status(p->error, status);
    }
    p->kind = ADX_WORD_END;
}

// Says that the text is wrong at `at`: the first time, that is the error.
ADX_COLD static void adx_wrong_at(adx_parser *p, uint32_t at,
                                  const char *format, ...)
{
    if (p->status == ADREV_OK) {
        va_list args;
        p->status = ADREV_ESYNTAX;
        va_start(args, format);
        adx_explain_at(p->error, p->tree, at, format, &args);
        va_end(args);
    }
    p->kind = ADX_WORD_END;
}

// Whether a line of the text ends between two places.
static bool adx_ends_line(const adx_parser *p, uint32_t from, uint32_t to)
{
    return memchr(p->tree->text + from, '\n', to - from) != NULL;
}

// Reports that something is missing in front of the current word. At the end of
// a line, the place of the error is that end.
static void adx_say_missing(adx_parser *p, const char *what)
{
    if (p->kind == ADX_WORD_END || adx_ends_line(p, p->behind, p->spot.at))
        adx_wrong_at(p, p->behind, "%s is missing", what);
    else
        adx_wrong_at(p, p->spot.at, "%s is missing before '%w'", what,
                     p->spot);
}

/* --- words --------------------------------------------------------------- */

static bool adx_is_figure(char c) { return c >= '0' && c <= '9'; }

// Whether a name can begin with this character.
static bool adx_begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool adx_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v'
        || c == '\f';
}

// Passes over blanks and comments. Returns where the next word begins.
static uint32_t adx_skip_blanks(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    for (;;) {
        while (adx_is_blank(text[at]))
            at++;
        if (text[at] != '/' || text[at + 1] != '*')
            return at;
        uint32_t end = at + 2;
        while (text[end] != '\0' && (text[end] != '*' || text[end + 1] != '/'))
            end++;
        if (text[end] == '\0') {
            adx_wrong_at(p, at, "this comment does not end: '*/' is missing");
            return end;
        }
        at = end + 2;
    }
}

// Returns where the digits that begin at `at` end.
static uint32_t adx_skip_figures(const char *text, uint32_t at)
{
    while (adx_is_figure(text[at]))
        at++;
    return at;
}

// Takes a number: 12, 1.5, .5, 1., 2e-3. Returns its end.
static uint32_t adx_take_number(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    p->kind = ADX_WORD_NUMBER;
    at = adx_skip_figures(text, at);
    p->whole = text[at] != '.';
    if (text[at] == '.')
        at = adx_skip_figures(text, at + 1);
    uint32_t e = at + 1;
    if (text[at] == 'e' || text[at] == 'E') {
        e += text[e] == '+' || text[e] == '-';
        if (adx_is_figure(text[e])) {
            at = adx_skip_figures(text, e);
            p->whole = false;
        }
    }
    if (adx_begins_name(text[at]))
        adx_wrong_at(p, at, "a number ends here; to multiply, write *");
    else if (text[at] == '.')
        adx_wrong_at(p, at, "a number has one point");
    return at;
}

// Takes a name: letters, digits and underscores. Returns its end.
static uint32_t adx_take_name(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    uint32_t begin = at;
    p->kind = ADX_WORD_NAME;
    while (adx_begins_name(text[at]) || adx_is_figure(text[at]))
        at++;
    if (at - begin > ADX_NAME_MOST)
        adx_wrong_at(p, begin, "a name has at most %u letters",
                     (uint32_t)ADX_NAME_MOST);
    return at;
}

// Says that a character begins no word.
static void adx_unknown(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    size_t n = adx_character(text, at, p->tree->length);
    adx_spot spot = { at, (uint32_t)n };
    unsigned char byte = (unsigned char)text[at];
    if (text[at] == '&')
        adx_wrong_at(p, at, "'&' is unknown; for 'and' write ','");
    else if (text[at] == '!')
        adx_wrong_at(p, at, "'!' is unknown; for 'not equal' write !=");
    else if (adx_is_shown(text + at, n))
        adx_wrong_at(p, at, "'%w' is an unknown character", spot);
    else
        adx_wrong_at(p, at, "a byte %u is no character", (uint32_t)byte);
}

// Takes a sign of one or two characters. Returns its end.
static uint32_t adx_take_sign(adx_parser *p, uint32_t at)
{
    static const struct { char text[3]; int kind; } two[] = {
        { "<=", ADX_WORD_LE }, { ">=", ADX_WORD_GE }, { "==", ADX_WORD_EQ },
        { "!=", ADX_WORD_NE }, { "->", ADX_WORD_ARROW },
    };
    const char *text = p->tree->text + at;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strncmp(text, two[i].text, 2) == 0) {
            p->kind = two[i].kind;
            return at + 2;
        }
    if (strncmp(text, "//", 2) == 0)
        adx_wrong_at(p, at, "'//' is unknown; a comment is /* ... */");
    else if (strncmp(text, "**", 2) == 0)
        adx_wrong_at(p, at, "'**' is unknown; for a power write ^");
    else if (strncmp(text, "||", 2) == 0)
        adx_wrong_at(p, at, "'||' is unknown; for 'or' write '|'");
    else if (*text == '\0' || strchr("()[],;:+-*/^=<>|?", *text) == NULL)
        adx_unknown(p, at);
    else
        p->kind = *text;
    return at + 1;
}

// Goes to the word that begins at or behind `at`.
static void adx_take_from(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    at = adx_skip_blanks(p, at);
    p->spot.at = at;
    p->kind = ADX_WORD_END;
    if (p->status == ADREV_OK && at < p->tree->length) {
        char c = text[at];
        at = adx_begins_name(c) ? adx_take_name(p, at)
           : adx_is_figure(c) || (c == '.' && adx_is_figure(text[at + 1]))
           ? adx_take_number(p, at) : adx_take_sign(p, at);
    }
    p->spot.length = at - p->spot.at;
}

// Goes to the next word. Returns where the last one was.
static adx_spot adx_take_word(adx_parser *p)
{
    adx_spot last = p->spot;
    p->behind = last.at + last.length;
    if (p->status == ADREV_OK)
        adx_take_from(p, p->behind);
    return last;
}

// Whether the word at hand is this one; if so, goes to the next.
static bool adx_accept(adx_parser *p, int kind)
{
    if (p->kind != kind || kind == ADX_WORD_END)
        return false;
    adx_take_word(p);
    return true;
}

// Takes the next word, which must be this one.
static void adx_expect(adx_parser *p, int kind, const char *what)
{
    if (!adx_accept(p, kind))
        adx_say_missing(p, what);
}

// Returns the character of the text behind the word at hand, and behind blanks.
static char adx_following(adx_parser *p)
{
    return p->tree->text[adx_skip_blanks(p, p->spot.at + p->spot.length)];
}

// Whether a piece of the text reads so.
static bool adx_is_text(const adx_tree *tree, adx_spot spot, const char *text)
{
    return spot.length == strlen(text)
        && memcmp(tree->text + spot.at, text, spot.length) == 0;
}

// Whether the word at hand is this name.
static bool adx_is_word(const adx_parser *p, const char *word)
{
    return p->kind == ADX_WORD_NAME && adx_is_text(p->tree, p->spot, word);
}

static bool adx_is_comparison(int kind)
{
    return kind == '<' || kind == '>' || kind == ADX_WORD_LE
        || kind == ADX_WORD_GE || kind == ADX_WORD_EQ || kind == ADX_WORD_NE;
}

/* --- brackets ------------------------------------------------------------ */

// Opens one bracket more. False: too many are open.
static bool adx_descend(adx_parser *p)
{
    if (p->depth < ADX_NESTING) {
        p->depth++;
        return true;
    }
    adx_wrong_at(p, p->spot.at, "this is nested deeper than %u levels",
                 (uint32_t)ADX_NESTING);
    return false;
}

static void adx_ascend(adx_parser *p) { p->depth--; }

ADX_SELDOM_END

/* === tensor/decimal =========================================================
 * The value of a number in a text: the nearest double, ties to even, whatever
 * the locale. The digits and the power of ten are a quotient of two long whole
 * numbers, which are divided bit by bit.
 *
 *   needs   tensor/scan
 *   offers  adx_whole_value adx_number_value
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- numbers ------------------------------------------------------------- */

// The whole number at hand; false: it does not fit.
static bool adx_whole_value(adx_parser *p, int64_t *value)
{
    *value = 0;
    for (uint32_t i = 0; i < p->spot.length; i++) {
        int64_t digit = p->tree->text[p->spot.at + i] - '0';
        if (*value > (INT64_MAX - digit) / 10) {
            adx_wrong_at(p, p->spot.at, "this whole number is above 2^63 - 1");
            return false;
        }
        *value = *value * 10 + digit;
    }
    return true;
}

/* --- natural numbers without limit --------------------------------------- */

// A natural number: 32 bits in each element, the lowest first.
typedef struct adx_natural {
    uint32_t v[48];         // 10^395 has 1313 bits
    unsigned n;
} adx_natural;

// Computes x = x*factor + plus.
static void adx_natural_times(adx_natural *x, uint32_t factor, uint32_t plus)
{
    uint64_t carry = plus;
    for (unsigned i = 0; i < x->n; i++) {
        carry += (uint64_t)x->v[i] * factor;
        x->v[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry > 0)
        x->v[x->n++] = (uint32_t)carry;
}

// Whether x < y.
static bool adx_is_below(const adx_natural *x, const adx_natural *y)
{
    if (x->n != y->n)
        return x->n < y->n;
    for (unsigned i = x->n; i-- > 0;)
        if (x->v[i] != y->v[i])
            return x->v[i] < y->v[i];
    return false;
}

// Computes x -= y, which is not larger.
static void adx_take_away(adx_natural *x, const adx_natural *y)
{
    uint64_t borrow = 0;
    for (unsigned i = 0; i < x->n; i++) {
        uint64_t away = (i < y->n ? y->v[i] : 0) + borrow;
        borrow = x->v[i] < away;
        x->v[i] = (uint32_t)(x->v[i] - away);
    }
    while (x->n > 0 && x->v[x->n - 1] == 0)
        x->n--;
}

// Returns x/y, rounded to the nearest double, ties to even. x and y are not 0.
static double adx_quotient(adx_natural *x, adx_natural *y)
{
    int exponent = 0;
    for (; !adx_is_below(x, y); exponent++)
        adx_natural_times(y, 2, 0);
    for (; adx_is_below(x, y); exponent--)
        adx_natural_times(x, 2, 0);
    // Now 1 <= x/y < 2, and the quotient is that times 2^exponent.
    int bits = exponent >= -1022 ? 53 : exponent + 1075;
    uint64_t v = 0;
    for (int i = 0; i < bits; i++) {
        bool one = !adx_is_below(x, y);
        if (one)
            adx_take_away(x, y);
        adx_natural_times(x, 2, 0);
        v = 2 * v + one;
    }
    // What is left is x/y of the last bit, doubled: above 1 is above a half.
    if (bits >= 0 && !adx_is_below(x, y))
        v += adx_is_below(y, x) || v % 2 == 1;
    return ldexp((double)v, exponent - (bits < 0 ? 0 : bits) + 1);
}

#define ADX_FIGURES_MOST 64

// Returns m * 10^e for the digits of m.
static double adx_decimal(const char *digit, unsigned n, int64_t e)
{
    adx_natural x = { { 0 }, 0 };
    adx_natural y = { { 1 }, 1 };
    if (n == 0 || (int64_t)n + e < -330)
        return 0;
    if ((int64_t)n + e > 310)
        return HUGE_VAL;
    for (unsigned i = 0; i < n; i++)
        adx_natural_times(&x, 10, (uint32_t)(digit[i] - '0'));
    for (; e > 0; e--)
        adx_natural_times(&x, 10, 0);
    for (; e < 0; e++)
        adx_natural_times(&y, 10, 0);
    return adx_quotient(&x, &y);
}

// The number at hand. It does not depend on the locale. (Apart: what it has on
// the stack would be there at each level of brackets.)
ADX_NOINLINE static ad_real adx_number_value(adx_parser *p)
{
    const char *text = p->tree->text + p->spot.at;
    const char *end = text + p->spot.length;
    char digit[ADX_FIGURES_MOST];
    unsigned n = 0;
    int64_t e = 0;
    bool point = false;
    for (; text < end && *text != 'e' && *text != 'E'; text++) {
        if (*text == '.')
            point = true;
        else if (n == ADX_FIGURES_MOST) {
            adx_wrong_at(p, p->spot.at, "this number has more than %u digits",
                         (uint32_t)ADX_FIGURES_MOST);
            return 0;
        } else {
            e -= point;
            if (n > 0 || *text != '0')
                digit[n++] = *text;
        }
    }
    if (text < end) {
        bool minus = *++text == '-';
        int64_t given = 0;
        for (text += *text == '-' || *text == '+'; text < end; text++)
            given = given > 99999 ? given : given * 10 + (*text - '0');
        e += minus ? -given : given;
    }
    ad_real value = (ad_real)adx_decimal(digit, n, e);
    if (value - value != 0)
        adx_wrong_at(p, p->spot.at, "this number is too large");
    return value;
}

ADX_SELDOM_END

/* === tensor/names ===========================================================
 * What a name stands for: what is declared, and the indices that are bound
 * where the text is being read. A name stands for one thing: an index has no
 * name that is declared before it, nor that of an index that is in scope.
 *
 * An index runs over the range that the text gives it, or over that of the
 * dimensions where it stands alone in a read that is not guarded. Nothing is
 * guessed: two different ranges are an error, and so is no range at all.
 *
 *   needs   tape/memory tensor/tree tensor/messages tensor/scan
 *   offers  adx_find_declared adx_declared_at adx_kind_text adx_line_of
 *           adx_new_name adx_declare adx_size_at_hand adx_same_text
 *           adx_unknown_name adx_bound_at adx_bind_index adx_unbind
 *           adx_stands_at
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- declarations -------------------------------------------------------- */

static uint32_t adx_hash_of(const char *name, size_t length)
{
    uint32_t hash = 2166136261u;            // FNV-1a
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

// Returns the bucket of a name: it holds its number, or 0.
static uint32_t *adx_name_bucket(const adx_tree *tree, uint32_t hash,
                               const char *name, size_t length)
{
    size_t i = hash & (tree->buckets - 1);
    for (; tree->bucket[i] != 0; i = (i + 1) & (tree->buckets - 1)) {
        const adx_declared *d = &tree->declared[tree->bucket[i]];
        if (d->hash == hash && d->name.length == length
            && memcmp(tree->text + d->name.at, name, length) == 0)
            break;
    }
    return &tree->bucket[i];
}

// Finds the declaration of a name; NULL: there is none.
static const adx_declared *adx_find_declared(const adx_tree *tree,
                                             const char *name, size_t length)
{
    if (tree->buckets == 0)
        return NULL;
    uint32_t found = *adx_name_bucket(tree, adx_hash_of(name, length), name,
                                  length);
    return found == 0 ? NULL : &tree->declared[found];
}

// Returns what the name at this spot was declared as. NULL: it is not declared.
static const adx_declared *adx_declared_at(const adx_tree *tree, adx_spot spot)
{
    return adx_find_declared(tree, tree->text + spot.at, spot.length);
}

// Makes room for one name more; at most half of the buckets are taken.
static bool adx_widen_buckets(adx_tree *tree)
{
    size_t buckets = tree->buckets == 0 ? 32 : 2 * tree->buckets;
    if (2 * tree->declared_count + 2 < tree->buckets)
        return true;
    uint32_t *bucket = (uint32_t *)adx_take(tree->memory, buckets,
                                            sizeof *bucket);
    if (bucket == NULL)
        return false;
    memset(bucket, 0, buckets * sizeof *bucket);
    adx_drop(tree->memory, tree->bucket);
    tree->bucket = bucket;
    tree->buckets = buckets;
    for (uint32_t i = 1; i < tree->declared_count; i++) {
        const adx_declared *d = &tree->declared[i];
        *adx_name_bucket(tree, d->hash, tree->text + d->name.at,
                       d->name.length) = i;
    }
    return true;
}

// Returns what a message calls the thing that a name stands for.
static const char *adx_kind_text(const adx_tree *tree, const adx_declared *d)
{
    return d->kind == ADX_NAMES_SIZE ? "a size" : d->kind == ADX_NAMES_RELATION
         ? "a relation" : d->kind == ADX_NAMES_MAP ? "a map"
         : tree->array[d->of].formula == 0 ? "an input" : "a result";
}

// Returns the line of the text in which a place is, from 1 on.
static uint32_t adx_line_of(const adx_tree *tree, uint32_t at)
{
    int line;
    int column;
    adx_locate(tree, at, &line, &column);
    return (uint32_t)line;
}

// Whether a name is a word of the language.
static bool adx_is_reserved(const adx_tree *tree, adx_spot name)
{
    static const char *const word[] = {
        "in", "out", "rel", "map", "sum", "maximum", "minimum", "exists",
        "detach"
    };
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (adx_is_text(tree, name, word[i]))
            return true;
    return false;
}

// Whether a name is still free.
static bool adx_is_free(adx_parser *p, adx_spot name)
{
    const adx_declared *d = adx_declared_at(p->tree, name);
    if (adx_is_reserved(p->tree, name))
        adx_wrong_at(p, name.at, "'%w' is a word of the language: take another "
                     "name", name);
    else if (d != NULL)
        adx_wrong_at(p, name.at, "'%w' is %s since line %u: take another name",
                     name, adx_kind_text(p->tree, d),
                     adx_line_of(p->tree, d->name.at));
    return p->status == ADREV_OK;
}

// Returns the name at hand, which may be declared or bound; where it was.
static adx_spot adx_new_name(adx_parser *p, const char *what)
{
    const adx_spot none = { 0, 0 };
    if (p->kind != ADX_WORD_NAME)
        adx_say_missing(p, what);
    return p->status == ADREV_OK && adx_is_free(p, p->spot)
         ? adx_take_word(p) : none;
}

// Declares a name, unless it is used already.
static void adx_declare(adx_parser *p, adx_spot name, adx_declared_kind kind,
                        uint32_t of)
{
    adx_tree *tree = p->tree;
    if (p->status != ADREV_OK || !adx_is_free(p, name))
        return;
    uint32_t i = of != 0 && adx_widen_buckets(tree)
               ? ADX_ONE_MORE(tree, declared) : 0;
    if (i == 0) {
        adx_stop_parsing(p, ADREV_ENOMEM);
        return;
    }
    adx_declared *d = &tree->declared[i];
    const char *text = tree->text + name.at;
    d->name = name;
    d->kind = kind;
    d->of = of;
    d->hash = adx_hash_of(text, name.length);
    *adx_name_bucket(tree, d->hash, text, name.length) = i;
}

// Returns the size at hand, declared by being there for the first time.
static uint32_t adx_size_at_hand(adx_parser *p)
{
    const adx_declared *d = adx_declared_at(p->tree, p->spot);
    if (d != NULL && d->kind == ADX_NAMES_SIZE)
        return d->of;
    uint32_t size = ADX_ONE_MORE(p->tree, size);
    p->tree->size[size] = p->spot;
    adx_declare(p, p->spot, ADX_NAMES_SIZE, size);
    return size;
}

/* --- names that are not known -------------------------------------------- */

static char adx_lower_case(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

// Returns how many letters a must gain, lose, change or swap to be b; 9: more
// than two.
static unsigned adx_distance(const char *a, size_t m, const char *b, size_t n)
{
    unsigned row[3][ADX_NAME_MOST + 1];     // the last three, in turn
    if (m > n + 2 || n > m + 2 || n > ADX_NAME_MOST)
        return 9;
    for (size_t j = 0; j <= n; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= m; i++) {
        unsigned *now = row[i % 3];
        const unsigned *above = row[(i + 2) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            bool same = adx_lower_case(a[i - 1]) == adx_lower_case(b[j - 1]);
            unsigned least = above[j - 1] + !same;
            least = above[j] + 1 < least ? above[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]
                && row[(i + 1) % 3][j - 2] + 1 < least)
                least = row[(i + 1) % 3][j - 2] + 1;
            now[j] = least;
        }
    }
    return row[m % 3][n] > 2 ? 9 : row[m % 3][n];
}

// The nearest name so far.
typedef struct adx_nearest {
    const char *wrong;
    size_t wrong_length;
    const char *name;
    size_t length;
    unsigned distance;
} adx_nearest;

// Keeps a name if it is nearer to the wrong one than all before it. Among names
// equally near, one as long as the wrong name is preferred.
static void adx_try_name(adx_nearest *k, const char *name, size_t length)
{
    unsigned d = adx_distance(k->wrong, k->wrong_length, name, length);
    bool fits = length == k->wrong_length && k->length != length;
    if (d < k->distance || (d == k->distance && k->name != NULL && fits)) {
        k->distance = d;
        k->name = name;
        k->length = length;
    }
}

// Whether the text reads the same at two spots.
static bool adx_same_text(const adx_tree *tree, adx_spot a, adx_spot b)
{
    return a.length == b.length
        && memcmp(tree->text + a.at, tree->text + b.at, a.length) == 0;
}

// Whether the name at hand was an index of this formula, whose scope has ended.
static bool adx_was_bound(const adx_parser *p)
{
    const adx_tree *tree = p->tree;
    for (size_t i = p->first; i > 0 && i < tree->index_count; i++)
        if (adx_same_text(tree, tree->index[i].name, p->spot))
            return true;
    return false;
}

// Says that the name at hand is not known, and which one is like it; if there
// is none, `text` of the name. Short names are all alike: of two letters only
// the case may differ.
ADX_COLD static void adx_unknown_name(adx_parser *p, bool function,
                                      const char *text)
{
    const adx_tree *tree = p->tree;
    const adx_spot spot = p->spot;
    const unsigned most = spot.length < 3 ? 0 : spot.length < 6 ? 1 : 2;
    adx_nearest k = { tree->text + spot.at, spot.length, NULL, 0, most + 1 };
    char copy[ADX_NAME_MOST + 1];
    if (p->status == ADREV_OK && !function && adx_was_bound(p))
        adx_wrong_at(p, spot.at, "'%w' ends before: a sum reaches over a "
                     "product; for more, write sum(%w) (..+..)", spot, spot);
    if (p->status != ADREV_OK)
        return;
    for (unsigned i = p->bounds; !function && i-- > 0;) {
        adx_spot name = tree->index[p->bound[i]].name;
        adx_try_name(&k, tree->text + name.at, name.length);
    }
    for (size_t i = 1; !function && i < tree->declared_count; i++) {
        adx_spot name = tree->declared[i].name;
        adx_try_name(&k, tree->text + name.at, name.length);
    }
    for (size_t i = 0; function && i < ADREV_OP_COUNT; i++)
        adx_try_name(&k, ad_op_table()[i].name, strlen(ad_op_table()[i].name));
    if (k.name == NULL) {
        adx_wrong_at(p, spot.at, text, spot, spot);
        return;
    }
    memcpy(copy, k.name, k.length);
    copy[k.length] = '\0';
    adx_wrong_at(p, spot.at, function ? "'%w' is no function; is it '%s'?"
                 : "'%w' is not known here; is it '%s'?", spot, copy);
}

/* --- indices ------------------------------------------------------------- */

// Returns the index of this name that is in scope; 0: none.
static uint32_t adx_bound_at(const adx_parser *p, adx_spot name)
{
    const adx_tree *tree = p->tree;
    for (unsigned i = p->bounds; i-- > 0;)
        if (adx_same_text(tree, tree->index[p->bound[i]].name, name))
            return p->bound[i];
    return 0;
}

// Binds the name at hand to an index from here on. Returns its number.
static uint32_t adx_bind_index(adx_parser *p)
{
    if (p->kind == ADX_WORD_NAME && adx_bound_at(p, p->spot) != 0)
        adx_wrong_at(p, p->spot.at, "'%w' is an index already; take another "
                     "name", p->spot);
    else if (p->bounds == ADX_BOUND_MOST)
        adx_wrong_at(p, p->spot.at, "more than %u indices in one place",
                     (uint32_t)ADX_BOUND_MOST);
    adx_spot name = adx_new_name(p, "an index");
    if (p->status != ADREV_OK)
        return 0;
    uint32_t i = ADX_ONE_MORE(p->tree, index);
    if (i == 0) {
        adx_stop_parsing(p, ADREV_ENOMEM);
        return 0;
    }
    p->tree->index[i].name = name;
    p->bound[p->bounds++] = i;
    return i;
}

// Ends the scope of all indices but the first `keep`. Each must have a range.
static void adx_unbind(adx_parser *p, unsigned keep)
{
    for (unsigned i = keep; i < p->bounds && p->status == ADREV_OK; i++) {
        const adx_tensor_index *x = &p->tree->index[p->bound[i]];
        if (x->to == 0)
            adx_wrong_at(p, x->name.at, "the range of '%w' is not known: no "
                         "array has it alone as an index; write %w<size",
                         x->name, x->name);
    }
    p->bounds = keep < p->bounds ? keep : p->bounds;
}

// The form at dimension `dim` of what is read at `at`: if it is an index and
// nothing else, the index runs over this dimension.
static void adx_stands_at(adx_parser *p, uint32_t form, uint32_t dim,
                          uint32_t at)
{
    adx_tree *tree = p->tree;
    const adx_affine *f = &tree->form[form];
    const adx_multiple *only = &tree->multiple[f->first];
    const adx_dim *d = &tree->dim[dim];
    if (p->status != ADREV_OK || f->count != 1 || f->constant != 0
        || only->kind != ADX_OF_INDEX || only->k != 1)
        return;
    adx_tensor_index *x = &tree->index[only->of];
    if (x->given)
        return;
    if (x->to == 0) {
        x->from = d->from;
        x->to = d->to;
    } else if (!adx_same_form(tree, x->from, d->from)
               || !adx_same_form(tree, x->to, d->to))
        adx_wrong_at(p, at, "'%w' runs over another range here than before",
                     x->name);
}

ADX_SELDOM_END

/* === tensor/forms ===========================================================
 * Affine forms: what stands in the brackets of a read, in conditions and in
 * ranges. Coefficients are whole, of 64 bits; what does not fit is an error.
 *
 *     form   = term { + - term }         term = factor { * factor }
 *     factor = { - } ( whole | name | map "[" form "]" | "(" form ")" )
 *
 * Of a term's factors one at most is not a number.
 *
 *   needs   tape/memory tensor/tree tensor/scan tensor/decimal tensor/names
 *   offers  ADX_FORM_OF_INDICES ADX_FORM_OF_RANGE ADX_FORM_DECLARING
 *           adx_difference adx_read_form adx_read_range
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Which names a form may have.
typedef enum adx_form_kind {
    ADX_FORM_OF_INDICES,    // indices, sizes and maps
    ADX_FORM_OF_RANGE,      // sizes
    ADX_FORM_DECLARING      // sizes, which it declares
} adx_form_kind;

/* --- arithmetic ----------------------------------------------------------
 * A form that is open has its terms at the top of p->term.                  */

typedef struct adx_open_form {
    int64_t constant;
    size_t first;           // of its terms
    uint32_t at;
} adx_open_form;

// Says that a whole number does not fit.
static void adx_say_too_large(adx_parser *p, uint32_t at)
{
    adx_wrong_at(p, at, "a whole number here is beyond 2^63");
}

// Returns a + b. Like adx_whole_times it never gives -2^63, so that a sign can
// always change.
static int64_t adx_whole_plus(adx_parser *p, int64_t a, int64_t b, uint32_t at)
{
    if (b > 0 ? a > INT64_MAX - b : a < -INT64_MAX - b) {
        adx_say_too_large(p, at);
        return 0;
    }
    return a + b;
}

// Returns a product of two whole numbers, or 0 and an error if it does not fit.
static int64_t adx_whole_times(adx_parser *p, int64_t a, int64_t b, uint32_t at)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (x != 0 && y > (uint64_t)INT64_MAX / x) {
        adx_say_too_large(p, at);
        return 0;
    }
    return (int64_t)(x * y) * ((a < 0) == (b < 0) ? 1 : -1);
}

// Puts a term on the stack of forms that are being read.
static void adx_push_term(adx_parser *p, int64_t k, adx_multiple_kind kind,
                          uint32_t of, uint32_t argument)
{
    if (p->status != ADREV_OK)
        return;
    if (!adx_extend(p->tree->memory, (void **)&p->term, &p->term_room,
                    p->terms + 1, sizeof *p->term)) {
        adx_stop_parsing(p, ADREV_ENOMEM);
        return;
    }
    const adx_multiple term = { k, kind, of, argument };
    p->term[p->terms++] = term;
}

// Computes f *= k.
static void adx_scale_form(adx_parser *p, adx_open_form *f, int64_t k)
{
    f->constant = adx_whole_times(p, f->constant, k, f->at);
    for (size_t i = f->first; i < p->terms; i++)
        p->term[i].k = adx_whole_times(p, p->term[i].k, k, f->at);
}

// Computes f += g. g lies above f on the stack, and is gone then.
static void adx_add_form(adx_parser *p, adx_open_form *f,
                         const adx_open_form *g)
{
    size_t end = g->first;
    f->constant = adx_whole_plus(p, f->constant, g->constant, f->at);
    for (size_t i = g->first; i < p->terms; i++) {
        size_t k = f->first;
        while (k < end && !adx_are_like(p->tree, &p->term[k], &p->term[i]))
            k++;
        if (k < end)
            p->term[k].k = adx_whole_plus(p, p->term[k].k, p->term[i].k, f->at);
        else
            p->term[end++] = p->term[i];
    }
    p->terms = end;
    if (end - f->first > ADX_TERMS_MOST)
        adx_wrong_at(p, f->at, "this has more than %u terms",
                     (uint32_t)ADX_TERMS_MOST);
}

// Begins a form, without terms, at the word at hand.
static adx_open_form adx_empty_form(const adx_parser *p)
{
    const adx_open_form f = { 0, p->terms, p->spot.at };
    return f;
}

// Enters the form into the tree. Returns its number.
static uint32_t adx_enter_form(adx_parser *p, const adx_open_form *f)
{
    adx_tree *tree = p->tree;
    uint32_t first = (uint32_t)tree->multiple_count;
    for (size_t i = f->first; i < p->terms && p->status == ADREV_OK; i++) {
        uint32_t at = p->term[i].k == 0 ? 0 : ADX_ONE_MORE(tree, multiple);
        if (at != 0)
            tree->multiple[at] = p->term[i];
        else if (p->term[i].k != 0)
            adx_stop_parsing(p, ADREV_ENOMEM);
    }
    p->terms = f->first;
    uint32_t form = p->status == ADREV_OK ? ADX_ONE_MORE(tree, form) : 0;
    if (form == 0) {
        adx_stop_parsing(p, ADREV_ENOMEM);
        return 0;
    }
    adx_affine entered = { f->constant, first,
                           (uint32_t)tree->multiple_count - first, f->at, 0 };
    entered.hash = adx_hash_form(tree, &entered);
    tree->form[form] = entered;
    return form;
}

// Computes f += k * a form of the tree.
static void adx_add_tree_form(adx_parser *p, adx_open_form *f, uint32_t form,
                              int64_t k)
{
    const adx_affine *of = &p->tree->form[form];
    adx_open_form g = { of->constant, p->terms, f->at };
    for (uint32_t i = 0; i < of->count; i++) {
        adx_multiple m = p->tree->multiple[of->first + i];
        adx_push_term(p, m.k, m.kind, m.of, m.argument);
    }
    adx_scale_form(p, &g, k);
    adx_add_form(p, f, &g);
}

// Returns one - other - less, as a new form.
static uint32_t adx_difference(adx_parser *p, uint32_t one, uint32_t other,
                               int64_t less)
{
    adx_open_form f = { -less, p->terms, p->tree->form[one].at };
    adx_add_tree_form(p, &f, one, 1);
    adx_add_tree_form(p, &f, other, -1);
    return adx_enter_form(p, &f);
}

/* --- reading -------------------------------------------------------------- */

static adx_open_form adx_read_open_form(adx_parser *p, adx_form_kind kind);
static uint32_t adx_read_form(adx_parser *p, adx_form_kind kind);

// Reads a map at a form; the name is at hand.
static void adx_read_map(adx_parser *p, uint32_t map)
{
    adx_spot name = adx_take_word(p);
    if (p->kind != '[' || !adx_descend(p)) {
        adx_wrong_at(p, name.at, "'%w' is a map: write %w[i]", name, name);
        return;
    }
    adx_take_word(p);
    uint32_t argument = adx_read_form(p, ADX_FORM_OF_INDICES);
    if (p->kind == ',')
        adx_wrong_at(p, p->spot.at, "a map has one index");
    adx_expect(p, ']', "']'");
    adx_ascend(p);
    adx_stands_at(p, argument, p->tree->map[map].domain, name.at);
    adx_push_term(p, 1, ADX_OF_MAP, map, argument);
}

// Says what is wrong with the name at hand in a form.
ADX_COLD static void adx_no_form(adx_parser *p, adx_form_kind kind, bool index,
                                 const adx_declared *d)
{
    const adx_spot name = p->spot;
    if (index || (kind != ADX_FORM_OF_INDICES && d != NULL
                  && d->kind == ADX_NAMES_MAP))
        adx_wrong_at(p, name.at, "a range is made of sizes and whole numbers, "
                     "not of '%w': write a condition", name);
    else if (d != NULL)
        adx_wrong_at(p, name.at, "'%w' is %s: here are indices, sizes, maps "
                     "and whole numbers", name, adx_kind_text(p->tree, d));
    else
        adx_unknown_name(p, false, kind == ADX_FORM_OF_INDICES
                         ? "'%w' is not known here"
                         : "'%w' is not known here: a size is named by a "
                           "declaration, such as 'in a[%w]'");
}

// Reads a name in a form.
static void adx_read_form_name(adx_parser *p, adx_form_kind kind)
{
    const adx_declared *d = adx_declared_at(p->tree, p->spot);
    uint32_t index = adx_bound_at(p, p->spot);
    bool declares = kind == ADX_FORM_DECLARING && d == NULL;
    if (index != 0 && kind == ADX_FORM_OF_INDICES) {
        adx_push_term(p, 1, ADX_OF_INDEX, index, 0);
        adx_take_word(p);
    } else if (declares || (d != NULL && d->kind == ADX_NAMES_SIZE)) {
        adx_push_term(p, 1, ADX_OF_SIZE, adx_size_at_hand(p), 0);
        adx_take_word(p);
    } else if (d != NULL && d->kind == ADX_NAMES_MAP
               && kind == ADX_FORM_OF_INDICES)
        adx_read_map(p, d->of);
    else
        adx_no_form(p, kind, index != 0, d);
}

// Reads a whole number into the constant of a form.
static void adx_read_whole(adx_parser *p, adx_open_form *f)
{
    if (!p->whole)
        adx_wrong_at(p, p->spot.at, "here are whole numbers only");
    else if (adx_whole_value(p, &f->constant))
        adx_take_word(p);
}

// Reads a factor of a form: a whole number, a name, or a form in brackets, each
// perhaps with signs.
static adx_open_form adx_read_factor(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_empty_form(p);
    bool minus = false;
    for (; adx_accept(p, '-'); minus = !minus) {}
    if (p->kind == ADX_WORD_NUMBER)
        adx_read_whole(p, &f);
    else if (p->kind == ADX_WORD_NAME)
        adx_read_form_name(p, kind);
    else if (p->kind != '(')
        adx_say_missing(p, "an index or a whole number");
    else if (adx_descend(p)) {
        adx_take_word(p);
        f = adx_read_open_form(p, kind);
        if (adx_is_comparison(p->kind))
            adx_wrong_at(p, p->spot.at, "a condition has no brackets around "
                         "it; for two of them write [..] [..]");
        adx_expect(p, ')', "')'");
        adx_ascend(p);
    }
    if (minus)
        adx_scale_form(p, &f, -1);
    return f;
}

// Whether the name behind the sign at hand can stand in a form.
ADX_NOINLINE static bool adx_form_follows(adx_parser *p, adx_form_kind kind)
{
    adx_parser ahead = *p;          // it takes no memory
    adx_take_word(&ahead);
    const adx_declared *d = adx_declared_at(p->tree, ahead.spot);
    if (ahead.kind != ADX_WORD_NAME)
        return ahead.kind == '(';
    return d == NULL ? kind == ADX_FORM_DECLARING
                       || adx_bound_at(p, ahead.spot) != 0
                     : d->kind == ADX_NAMES_SIZE || d->kind == ADX_NAMES_MAP;
}

// Whether the word behind the one at hand begins a number.
static bool adx_number_follows(adx_parser *p)
{
    char c = adx_following(p);
    return adx_is_figure(c) || c == '-' || c == '.';
}

// Says that a form is not affine.
static void adx_say_product_of_names(adx_parser *p, uint32_t at)
{
    adx_wrong_at(p, at, "a product of two names is not affine: one factor must "
                 "be a whole number");
}

// Reads a term of a form: a product of factors, of which only one may have
// names.
static adx_open_form adx_read_form_term(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_read_factor(p, kind);
    while (p->kind == '*') {
        bool number = p->terms == f.first;
        if (!number && !adx_number_follows(p)) {
            if (adx_form_follows(p, kind))
                adx_say_product_of_names(p, p->spot.at);
            break;                  // a bracket is missing
        }
        adx_take_word(p);
        adx_open_form g = adx_read_factor(p, kind);
        if (!number && p->terms > g.first)
            adx_say_product_of_names(p, f.at);
        int64_t k = number ? f.constant : g.constant;
        g.constant = number ? g.constant : f.constant;
        g.first = f.first;
        adx_scale_form(p, &g, k);
        f.constant = g.constant;
    }
    if (p->kind == '/')
        adx_wrong_at(p, p->spot.at, "an index is no quotient: write a "
                     "condition such as [i == 2*j]");
    return f;
}

// Reads a form, whose terms stay on the stack.
static adx_open_form adx_read_open_form(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_read_form_term(p, kind);
    while (p->kind == '+' || p->kind == '-') {
        bool minus = p->kind == '-';
        adx_take_word(p);
        adx_open_form g = adx_read_form_term(p, kind);
        if (minus)
            adx_scale_form(p, &g, -1);
        adx_add_form(p, &f, &g);
    }
    return f;
}

// Reads a form and stores it in the tree. Returns its number.
static uint32_t adx_read_form(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_read_open_form(p, kind);
    return adx_enter_form(p, &f);
}

/* --- ranges -------------------------------------------------------------- */

// Reads a range, `size` or `from : to`, as the numbers of two forms.
static void adx_read_range(adx_parser *p, adx_form_kind kind, uint32_t *from,
                           uint32_t *to)
{
    *from = 1;
    *to = adx_read_form(p, kind);
    if (adx_accept(p, ':')) {
        *from = *to;
        *to = adx_read_form(p, kind);
    }
}

ADX_SELDOM_END

/* === tensor/conditions ======================================================
 * Conditions, and the indices that sums and left sides bind.
 *
 *     condition  = both { "|" both }         both = comparison { , comparison }
 *     comparison = form (< <= == != >= > form)+ | relation "(" form, .. ")"
 *                | "exists" "(" index, .. : condition ")"
 *     index      = name | name < form | name "in" form : form
 *
 * a < b is stored as b - a - 1 >= 0: every comparison is of a form with 0.
 *
 *   needs   tensor/tree tensor/scan tensor/names tensor/forms
 *   offers  adx_new_tree_node adx_children adx_add_child adx_of_children
 *           adx_read_forms adx_read_bound adx_read_condition
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- nodes --------------------------------------------------------------- */

// Makes a node of the tree. 0: the reading has ended.
static uint32_t adx_new_tree_node(adx_parser *p, adx_tree_kind kind,
                                  adx_spot spot)
{
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(p->tree, node) : 0;
    if (i == 0)
        adx_stop_parsing(p, ADREV_ENOMEM);
    adx_tensor_node *n = &p->tree->node[i];
    n->kind = kind;
    n->spot = spot;
    return i;
}

// Children as they come.
typedef struct adx_children {
    uint32_t first;
    uint32_t last;
} adx_children;

// Hangs a child behind those that a node has so far.
static void adx_add_child(adx_parser *p, adx_children *c, uint32_t child)
{
    if (c->first == 0)
        c->first = child;
    else
        p->tree->node[c->last].next = child;
    c->last = child;
}

// Returns a node of the children; a single one, if it is not inverse, stands
// for itself.
static uint32_t adx_of_children(adx_parser *p, adx_tree_kind kind,
                                const adx_children *c)
{
    const adx_tensor_node *first = &p->tree->node[c->first];
    if (c->first == c->last && !first->inverse)
        return c->first;
    uint32_t i = adx_new_tree_node(p, kind, first->spot);
    p->tree->node[i].child = c->first;
    return i;
}

/* --- forms in parentheses or brackets ------------------------------------ */

// Reads forms up to `close`, as many as `dims` has, and goes to the word behind
// it. Each form can give an index its range, unless they are guarded.
static void adx_read_forms(adx_parser *p, uint32_t node, uint32_t dims,
                           uint32_t rank, int close, bool guarded)
{
    adx_tree *tree = p->tree;
    const adx_spot spot = tree->node[node].spot;
    uint32_t first = (uint32_t)tree->list_count;
    uint32_t count = 0;
    do {
        uint32_t form = adx_read_form(p, ADX_FORM_OF_INDICES);
        uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(tree, list) : 0;
        if (i == 0)
            adx_stop_parsing(p, ADREV_ENOMEM);
        tree->list[i] = form;
        if (count < rank && !guarded)
            adx_stands_at(p, form, dims + count, spot.at);
        count++;
    } while (adx_accept(p, ','));
    adx_expect(p, close, close == ']' ? "']'" : "')'");
    if (count != rank)
        adx_wrong_at(p, spot.at, "'%w' has %u %s, not %u", spot, rank,
                     rank == 1 ? "index" : "indices", count);
    tree->node[node].first = first;
    tree->node[node].count = count;
    tree->node[node].end = p->behind;
}

/* --- indices that are bound ---------------------------------------------- */

// Reads the range behind the name of an index, if there is one.
static void adx_read_given_range(adx_parser *p, uint32_t index)
{
    uint32_t from = 1;
    uint32_t to = 0;
    if (adx_accept(p, '<'))
        to = adx_read_form(p, ADX_FORM_OF_RANGE);
    else if (adx_is_word(p, "in")) {
        adx_take_word(p);
        from = adx_read_form(p, ADX_FORM_OF_RANGE);
        adx_expect(p, ':', "':' of a range from:to");
        to = adx_read_form(p, ADX_FORM_OF_RANGE);
    } else if (p->kind == ADX_WORD_LE)
        adx_wrong_at(p, p->spot.at, "a range is written i<n or i in 0:n");
    adx_tensor_index *x = &p->tree->index[index];
    x->from = from;
    x->to = to;
    x->given = to != 0;
}

// Reads indices, until no comma follows; they are in scope from here on.
static void adx_read_bound(adx_parser *p)
{
    do
        adx_read_given_range(p, adx_bind_index(p));
    while (adx_accept(p, ','));
}

/* --- conditions ---------------------------------------------------------- */

static uint32_t adx_read_condition(adx_parser *p);

// Reads an `exists` from its '(' on: as a sum, but the condition must be there.
static uint32_t adx_read_exists(adx_parser *p, adx_spot spot)
{
    unsigned keep = p->bounds;
    uint32_t first = (uint32_t)p->tree->index_count;
    if (p->kind != '(')
        adx_say_missing(p, "'('");
    if (p->status != ADREV_OK || !adx_descend(p))
        return 0;
    adx_take_word(p);
    adx_read_bound(p);
    uint32_t count = p->bounds - keep;
    adx_expect(p, ':', "':' and a condition");
    uint32_t condition = adx_read_condition(p);
    adx_expect(p, ')', "')'");
    adx_unbind(p, keep);
    adx_ascend(p);
    uint32_t i = adx_new_tree_node(p, ADX_TREE_EXISTS, spot);
    adx_tensor_node *n = &p->tree->node[i];
    n->first = first;
    n->count = count;
    n->condition = condition;
    return i;
}

// Reads a membership, r(i,j): its name is at hand.
static uint32_t adx_read_member(adx_parser *p, uint32_t relation)
{
    const adx_tensor_relation *r = &p->tree->relation[relation];
    uint32_t i = adx_new_tree_node(p, ADX_TREE_MEMBER, p->spot);
    p->tree->node[i].of = relation;
    adx_take_word(p);
    if (p->kind != '(')
        adx_say_missing(p, "'('");
    if (p->status != ADREV_OK || !adx_descend(p))
        return 0;
    adx_take_word(p);
    adx_read_forms(p, i, r->first, r->arity, ')', false);
    adx_ascend(p);
    return i;
}

// Makes "one (sign) other" a node: a form and a sign that compares it with 0.
static uint32_t adx_comparison_node(adx_parser *p, adx_spot sign, int kind,
                                    uint32_t one, uint32_t other)
{
    bool equal = kind == ADX_WORD_EQ || kind == ADX_WORD_NE;
    bool more = kind == '>' || kind == ADX_WORD_GE || equal;
    bool strict = kind == '<' || kind == '>';
    uint32_t form = adx_difference(p, more ? one : other, more ? other : one,
                                   strict ? 1 : 0);
    uint32_t i = adx_new_tree_node(p, kind == ADX_WORD_EQ ? ADX_TREE_ZERO
                                   : kind == ADX_WORD_NE ? ADX_TREE_NOT_ZERO
                                   : ADX_TREE_NOT_NEGATIVE, sign);
    p->tree->node[i].of = form;
    return i;
}

// Reads "a < b <= c ...": comparisons of neighbours.
static void adx_read_chain(adx_parser *p, adx_children *both)
{
    uint32_t one = adx_read_form(p, ADX_FORM_OF_INDICES);
    if (p->kind == '=')
        adx_wrong_at(p, p->spot.at, "to compare, write ==");
    else if (!adx_is_comparison(p->kind))
        adx_say_missing(p, "a comparison such as '<' or '=='");
    while (adx_is_comparison(p->kind)) {
        int kind = p->kind;
        adx_spot sign = adx_take_word(p);
        uint32_t other = adx_read_form(p, ADX_FORM_OF_INDICES);
        adx_add_child(p, both, adx_comparison_node(p, sign, kind, one, other));
        one = other;
    }
    if (p->kind == '=')
        adx_wrong_at(p, p->spot.at, "to compare, write ==");
}

// Reads a chain of comparisons, a membership or an `exists`.
static void adx_read_comparison(adx_parser *p, adx_children *both)
{
    const adx_declared *d = p->kind == ADX_WORD_NAME
                          ? adx_declared_at(p->tree, p->spot) : NULL;
    if (adx_is_word(p, "exists")) {
        adx_spot spot = adx_take_word(p);
        adx_add_child(p, both, adx_read_exists(p, spot));
    } else if (d != NULL && d->kind == ADX_NAMES_RELATION)
        adx_add_child(p, both, adx_read_member(p, d->of));
    else if (p->kind == ADX_WORD_NAME && adx_following(p) == '('
             && adx_bound_at(p, p->spot) == 0)
        adx_wrong_at(p, p->spot.at, "'%w' is no relation", p->spot);
    else
        adx_read_chain(p, both);
}

// Reads a condition. Returns a node of one of the kinds for conditions.
static uint32_t adx_read_condition(adx_parser *p)
{
    adx_children any = { 0, 0 };
    do {
        adx_children both = { 0, 0 };
        do
            adx_read_comparison(p, &both);
        while (adx_accept(p, ','));
        adx_add_child(p, &any, adx_of_children(p, ADX_TREE_AND, &both));
    } while (adx_accept(p, '|'));
    return adx_of_children(p, ADX_TREE_OR, &any);
}

ADX_SELDOM_END

/* === tensor/expressions =====================================================
 * The right sides of formulas.
 *
 *     sum     = product { + - product }
 *     product = unary { * / unary }
 *     unary   = - unary | "[" condition "]" product | atom [ ^ [ - ] whole ]
 *             | ("sum" | "maximum" | "minimum")
 *               "(" index, .. [ : condition ] ")" product
 *     atom    = number | name | name [ ? ] "[" form, .. "]"
 *             | function "(" sum, .. ")" | "(" sum ")"
 *
 *   needs   tensor/tree tensor/scan tensor/decimal tensor/names
 *           tensor/conditions
 *   offers  adx_end_sum adx_read_sum
 * ========================================================================== */

ADX_SELDOM_BEGIN

static uint32_t adx_read_sum(adx_parser *p);
static uint32_t adx_read_product(adx_parser *p);

// What ends a sum: ')' or ';'. Two operands without an operator between them
// are another mistake.
static void adx_end_sum(adx_parser *p, int kind)
{
    bool operand = p->kind == ADX_WORD_NAME || p->kind == ADX_WORD_NUMBER
                || p->kind == '(' || p->kind == '[';
    if (operand && !adx_ends_line(p, p->behind, p->spot.at))
        adx_say_missing(p, "an operator");
    adx_expect(p, kind, kind == ')' ? "')'" : "';'");
}

/* --- atoms --------------------------------------------------------------- */

// Reads a number as a node of its own.
static uint32_t adx_read_number(adx_parser *p)
{
    ad_real value = adx_number_value(p);
    uint32_t i = adx_new_tree_node(p, ADX_TREE_NUMBER, p->spot);
    p->tree->node[i].value = value;
    adx_take_word(p);
    return i;
}

// Reads an expression in brackets: "(", what is in it, ")".
static uint32_t adx_read_inner(adx_parser *p)
{
    if (!adx_descend(p))
        return 0;
    adx_take_word(p);
    uint32_t i = adx_read_sum(p);
    adx_end_sum(p, ')');
    adx_ascend(p);
    return i;
}

// Reads an array, read at forms or, if it is a number, as it is. The name is at
// hand.
static uint32_t adx_read_read(adx_parser *p, uint32_t array)
{
    const adx_tensor_array a = p->tree->array[array];
    uint32_t i = adx_new_tree_node(p, ADX_TREE_READ, p->spot);
    adx_spot name = adx_take_word(p);
    bool guarded = adx_accept(p, '?');
    p->tree->node[i].of = array;
    p->tree->node[i].guarded = guarded;
    p->tree->node[i].end = p->behind;
    if (p->kind == '[' && a.rank == 0)
        adx_wrong_at(p, name.at, "'%w' is a number, it has no indices", name);
    else if (p->kind == '(' && p->status == ADREV_OK)
        adx_wrong_at(p, p->spot.at, "'%w' is no function: indices stand in "
                     "[ ], and a product has *", name);
    else if (p->kind != '[' && guarded)
        adx_say_missing(p, "'['");
    else if (p->kind != '[' && a.rank > 0)
        adx_wrong_at(p, name.at, "'%w' has %u %s: write %w[..]", name,
                     a.rank, a.rank == 1 ? "index" : "indices", name);
    if (p->kind != '[')
        return i;
    adx_take_word(p);
    adx_read_forms(p, i, a.first, a.rank, ']', guarded);
    return i;
}

// Returns the operation of this name, ADREV_OP_detach among them.
// ADREV_OP_COUNT: none.
static uint32_t adx_operation_at(const adx_tree *tree, adx_spot name)
{
    uint32_t op = 0;
    while (op < ADREV_OP_COUNT
           && !adx_is_text(tree, name, ad_op_table()[op].name))
        op++;
    return op;
}

// Returns the kind of node that an operation becomes in the tree: arithmetic
// has kinds of its own.
static adx_tree_kind adx_kind_of_operation(uint32_t op)
{
    return op == ADREV_OP_add || op == ADREV_OP_sub ? ADX_TREE_ADD
         : op == ADREV_OP_mul || op == ADREV_OP_div ? ADX_TREE_MUL
         : op == ADREV_OP_neg ? ADX_TREE_NEG : ADX_TREE_CALL;
}

// Reads the arguments of a function; '(' is at hand. Returns how many there
// are.
static uint32_t adx_read_arguments(adx_parser *p, adx_children *c)
{
    uint32_t count = 0;
    if (!adx_descend(p))
        return 0;
    adx_take_word(p);
    do {
        adx_add_child(p, c, adx_read_sum(p));
        count++;
    } while (adx_accept(p, ','));
    adx_end_sum(p, ')');
    adx_ascend(p);
    return count;
}

// Reads an operation that is written as a function; its name is at hand.
static uint32_t adx_read_call(adx_parser *p, uint32_t op)
{
    adx_children c = { 0, 0 };
    adx_spot name = adx_take_word(p);
    uint32_t count = adx_read_arguments(p, &c);
    uint32_t arity = (uint32_t)ad_op_table()[op].arity;
    bool largest = op == ADREV_OP_max || op == ADREV_OP_min;
    if (count != arity)
        adx_wrong_at(p, name.at, largest && count == 1
                     ? "'%w' has %u %s, not %u; over an index write %wimum(i)"
                     : "'%w' has %u %s, not %u", name, arity,
                     arity == 1 ? "argument" : "arguments", count, name);
    uint32_t i = adx_new_tree_node(p, adx_kind_of_operation(op), name);
    adx_tensor_node *n = &p->tree->node[i];
    n->child = c.first;
    n->of = n->kind == ADX_TREE_CALL ? op : 0;
    p->tree->node[c.last].inverse = op == ADREV_OP_sub || op == ADREV_OP_div;
    return i;
}

// Says what is wrong with the name at hand as a number.
ADX_COLD static void adx_no_number(adx_parser *p, const adx_declared *d)
{
    const adx_spot name = p->spot;
    bool call = adx_following(p) == '(';
    if (adx_bound_at(p, name) != 0)
        adx_wrong_at(p, name.at, "'%w' is an index, not a number: read an "
                     "array that has its values", name);
    else if (d != NULL && d->kind == ADX_NAMES_MAP)
        adx_wrong_at(p, name.at, "'%w' is a map: it stands in indices, as in "
                     "x[%w[i]]", name, name);
    else if (d != NULL)
        adx_wrong_at(p, name.at, "'%w' is a relation: it stands in conditions, "
                     "as in [%w(i,j)]", name, name);
    else if (adx_is_word(p, "exists"))
        adx_wrong_at(p, name.at, "'exists' stands in conditions, as in "
                     "[exists(j: ..)]");
    else if (adx_same_text(p->tree, p->making, name))
        adx_wrong_at(p, name.at, "'%w' is read in its own formula", name);
    else if (!call && adx_operation_at(p->tree, name) < ADREV_OP_COUNT)
        adx_wrong_at(p, name.at, "'%w' is a function: write %w(..)", name,
                     name);
    else
        adx_unknown_name(p, call, call ? "'%w' is no function"
                                       : "'%w' is not known here");
}

// Reads a name in an expression.
static uint32_t adx_read_named(adx_parser *p)
{
    const adx_declared *d = adx_declared_at(p->tree, p->spot);
    uint32_t op = d == NULL && adx_following(p) == '('
                ? adx_operation_at(p->tree, p->spot) : ADREV_OP_COUNT;
    if (op < ADREV_OP_COUNT)
        return adx_read_call(p, op);
    if (d != NULL && d->kind == ADX_NAMES_ARRAY
        && adx_bound_at(p, p->spot) == 0)
        return adx_read_read(p, d->of);
    if (d != NULL && d->kind == ADX_NAMES_SIZE) {
        uint32_t i = adx_new_tree_node(p, ADX_TREE_SIZE, p->spot);
        p->tree->node[i].of = d->of;
        adx_take_word(p);
        return i;
    }
    adx_no_number(p, d);
    return 0;
}

// Reads an atom of the grammar above.
static uint32_t adx_read_atom(adx_parser *p)
{
    if (p->kind == ADX_WORD_NUMBER)
        return adx_read_number(p);
    if (p->kind == ADX_WORD_NAME)
        return adx_read_named(p);
    if (p->kind == '(')
        return adx_read_inner(p);
    adx_say_missing(p, "a number, a name or '('");
    return 0;
}

/* --- products and sums --------------------------------------------------- */

// Reads the whole exponent behind '^', which is at hand.
static int32_t adx_read_exponent(adx_parser *p)
{
    int64_t value = 0;
    adx_take_word(p);
    bool minus = adx_accept(p, '-');
    if (p->kind == ADX_WORD_END)
        adx_say_missing(p, "an exponent");
    else if (p->kind != ADX_WORD_NUMBER || !p->whole)
        adx_wrong_at(p, p->spot.at, "an exponent is a whole number here; for "
                     "others write pow(x, y)");
    else if (adx_whole_value(p, &value) && value > INT32_MAX)
        adx_wrong_at(p, p->spot.at, "this exponent is above 2^31 - 1");
    adx_take_word(p);
    if (p->kind == '^')
        adx_wrong_at(p, p->spot.at, "a power of a power needs brackets: "
                     "(x^2)^3");
    return (int32_t)(p->status != ADREV_OK ? 0 : minus ? -value : value);
}

// Reads an atom and the power that it is raised to, if there is one.
static uint32_t adx_read_power(adx_parser *p)
{
    const adx_spot spot = p->spot;
    uint32_t child = adx_read_atom(p);
    if (p->kind != '^')
        return child;
    int32_t power = adx_read_exponent(p);
    uint32_t i = adx_new_tree_node(p, ADX_TREE_POWER, spot);
    p->tree->node[i].child = child;
    p->tree->node[i].power = power;
    return i;
}

// Reads "[condition] product"; '[' is at hand.
static uint32_t adx_read_bracket(adx_parser *p)
{
    const adx_spot spot = p->spot;
    if (!adx_descend(p))
        return 0;
    adx_take_word(p);
    uint32_t condition = adx_read_condition(p);
    adx_expect(p, ']', "']'");
    uint32_t body = adx_read_product(p);
    adx_ascend(p);
    uint32_t i = adx_new_tree_node(p, ADX_TREE_BRACKET, spot);
    p->tree->node[i].condition = condition;
    p->tree->node[i].child = body;
    return i;
}

// Reads "sum(indices: condition) product", and the like; the word is at hand.
static uint32_t adx_read_reduction(adx_parser *p, adx_tree_kind kind)
{
    unsigned keep = p->bounds;
    uint32_t first = (uint32_t)p->tree->index_count;
    adx_spot spot = adx_take_word(p);
    if (p->kind != '(')
        adx_say_missing(p, "'(' and an index");
    if (p->status != ADREV_OK || !adx_descend(p))
        return 0;
    adx_take_word(p);
    adx_read_bound(p);
    uint32_t count = p->bounds - keep;
    uint32_t condition = adx_accept(p, ':') ? adx_read_condition(p) : 0;
    adx_expect(p, ')', "')'");
    uint32_t body = adx_read_product(p);
    adx_unbind(p, keep);
    adx_ascend(p);
    uint32_t i = adx_new_tree_node(p, kind, spot);
    adx_tensor_node *n = &p->tree->node[i];
    n->first = first;
    n->count = count;
    n->condition = condition;
    n->child = body;
    return i;
}

// Makes an expression its negative: a number changes its sign, all else gets a
// node above it.
static uint32_t adx_negate(adx_parser *p, adx_spot sign, uint32_t child)
{
    adx_tensor_node *n = &p->tree->node[child];
    if (n->kind == ADX_TREE_NUMBER) {
        n->value = -n->value;
        return child;
    }
    uint32_t i = adx_new_tree_node(p, ADX_TREE_NEG, sign);
    p->tree->node[i].child = child;
    return i;
}

// Reads an expression with any signs in front. Two signs are none.
static uint32_t adx_read_unary(adx_parser *p)
{
    const adx_spot sign = p->spot;
    bool minus = false;
    for (; adx_accept(p, '-'); minus = !minus) {}
    uint32_t i = p->kind == '[' ? adx_read_bracket(p)
               : adx_is_word(p, "sum") ? adx_read_reduction(p, ADX_TREE_SUM)
               : adx_is_word(p, "maximum")
               ? adx_read_reduction(p, ADX_TREE_MAXIMUM)
               : adx_is_word(p, "minimum")
               ? adx_read_reduction(p, ADX_TREE_MINIMUM) : adx_read_power(p);
    return minus ? adx_negate(p, sign, i) : i;
}

// Reads operands of two signs that bind alike, of which the second one inverts.
static uint32_t adx_read_operands(adx_parser *p, adx_tree_kind kind,
                                  uint32_t (*read)(adx_parser *), char sign,
                                  char inverse)
{
    adx_children c = { 0, 0 };
    adx_add_child(p, &c, read(p));
    while (p->kind == sign || p->kind == inverse) {
        bool inverts = p->kind == inverse;
        adx_take_word(p);
        uint32_t child = read(p);
        p->tree->node[child].inverse = inverts;
        adx_add_child(p, &c, child);
    }
    return adx_of_children(p, kind, &c);
}

// Reads factors between * and /, from left to right.
static uint32_t adx_read_product(adx_parser *p)
{
    return adx_read_operands(p, ADX_TREE_MUL, adx_read_unary, '*', '/');
}

// Reads summands between + and -, from left to right.
static uint32_t adx_read_sum(adx_parser *p)
{
    return adx_read_operands(p, ADX_TREE_ADD, adx_read_product, '+', '-');
}

ADX_SELDOM_END

/* === tensor/arena ===========================================================
 * Memory of a text that is bound: pieces that live until all are freed. The
 * first failure stays in the arena: functions that take memory may go on with
 * NULL, and who called them looks at the status at the end.
 *
 *   needs   tape/memory
 *   offers  adx_arena adx_arena_fail ADX_GET adx_free_arena
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_arena_block {
    struct adx_arena_block *next;
    ad_real align;              // what follows is aligned for all that we have
} adx_arena_block;

typedef struct adx_arena {
    const ad_allocator *memory;
    adx_arena_block *block;     // the latest, which leads to those before
    char *at;                   // free memory in it
    size_t left;                // bytes there
    ad_status status;           // of everything that was made in it
} adx_arena;

// Notes a failure; the first one stays.
static void adx_arena_fail(adx_arena *a, ad_status status)
{
    if (a->status == ADREV_OK)
        a->status = status;
}

#define ADX_ARENA_BLOCK 16000   // bytes

// Returns n elements, all zeros. NULL: no memory, which a->status says, too. n
// has 64 bits on all machines, since texts count in them.
static void *adx_arena_get(adx_arena *a, uint64_t n, size_t size)
{
    if (n > SIZE_MAX / 4 / size) {
        adx_arena_fail(a, ADREV_ENOMEM);
        return NULL;
    }
    size_t bytes = ((size_t)n * size + 15) / 16 * 16;
    if (bytes > a->left) {
        size_t room = bytes > ADX_ARENA_BLOCK / 4 ? bytes : ADX_ARENA_BLOCK;
        adx_arena_block *b = a->status != ADREV_OK ? NULL
            : (adx_arena_block *)adx_take(a->memory, 1, sizeof *b + room);
        if (b == NULL) {
            adx_arena_fail(a, ADREV_ENOMEM);
            return NULL;
        }
        b->next = a->block;
        a->block = b;
        if (room == bytes && a->left > 0) {     // the other one goes on
            memset(b + 1, 0, bytes);
            return b + 1;
        }
        a->at = (char *)(b + 1);
        a->left = room;
    }
    void *to = a->at;
    a->at += bytes;
    a->left -= bytes;
    memset(to, 0, bytes);
    return to;
}

#define ADX_GET(a, n, type) ((type *)adx_arena_get(a, n, sizeof(type)))

static void adx_free_arena(adx_arena *a)
{
    while (a->block != NULL) {
        adx_arena_block *next = a->block->next;
        adx_drop(a->memory, a->block);
        a->block = next;
    }
    a->left = 0;
}

ADX_SELDOM_END

/* === tensor/sets ============================================================
 * Sets of integer points. A set has variables, each with a least and a largest
 * value, and rows: a row is an affine form c + sum k[v]*x[v] of the variables,
 * which must be 0, not be negative, be the value of a map, or have a bit. Rows
 * that are no condition are carried along: the indices of what is read and
 * written at a point. So a variable that an equation gives can be replaced
 * everywhere at once.
 *
 * A variable is replaced only by an equation in which its coefficient is 1 or
 * -1, so that the points stay whole, each in place of one. A variable that is
 * forgotten leaves what its bounds say of the others (Fourier and Motzkin);
 * where that can have points which the set has not, who asked is told.
 *
 * Sizes are numbers here: sets are made when a text is bound. But a size can be
 * open (code of ad_tensor_write_c has it as an argument): then it is one of the
 * first variables of every set, from its least to its largest number. Such a
 * variable is never replaced or forgotten, nor a loop: what a set says holds
 * for all numbers of the sizes. Where conditions narrow its range, the points
 * are those of these sizes only.
 *
 *   needs   tensor/arena
 *   offers  adx_int_table adx_bitmap adx_has_bit adx_set_bit ADX_BITS_MOST
 *           adx_new_bitmap adx_invert_table adx_row_kind ADX_ROW_GONE
 *           ADX_ROW_FORM ADX_ROW_ZERO ADX_ROW_SIGN ADX_ROW_VALUE ADX_ROW_BIT
 *           ADX_ROW_NO_BIT adx_set_row adx_set adx_form_of adx_new_set
 *           adx_copy_set adx_new_var adx_new_row ADX_WHOLE_MOST adx_whole_add
 *           adx_add_multiple adx_extreme adx_floor_div adx_ceil_div
 *           adx_divisor_of adx_vars_of adx_fix_var adx_simplify_set
 *           adx_box_points adx_is_definition adx_map_vars adx_find_map_vars
 *           ADX_ROWS_MOST adx_combine_all adx_project
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- tables and bitmaps -------------------------------------------------- */

// A map, or a column of a relation: value[a - from] for an argument a.
typedef struct adx_int_table {
    const int32_t *value;
    int64_t from;
    size_t n;
    int64_t low, high;          // bounds of the values
    bool ascending;             // it is known that they never fall
    uint32_t *start;            // [high - low + 2]: the arguments with value v
    uint32_t *argument;         // are [n] argument[start[v - low]...],
                                // less `from`; NULL: not made yet
} adx_int_table;

typedef struct adx_bitmap {
    uint64_t *word;
    uint64_t n;                 // bits
    uint64_t set;               // how many are 1
    uint32_t node;              // the condition in the text; 0: it is of none
} adx_bitmap;

// Whether bit i is set.
static bool adx_has_bit(const adx_bitmap *b, uint64_t i)
{
    return b->word[i / 64] >> (i % 64) & 1;
}

// Sets bit i, and counts those that are set.
static void adx_set_bit(adx_bitmap *b, uint64_t i)
{
    b->set += !adx_has_bit(b, i);
    b->word[i / 64] |= (uint64_t)1 << (i % 64);
}

// More than this is not covered bit by bit.
#define ADX_BITS_MOST ((uint64_t)1 << 36)

// Makes a bitmap without bits set. NULL: no memory, or too many bits.
static adx_bitmap *adx_new_bitmap(adx_arena *a, uint64_t n)
{
    if (n > ADX_BITS_MOST) {
        adx_arena_fail(a, ADREV_ELIMIT);
        return NULL;
    }
    adx_bitmap *b = ADX_GET(a, 1, adx_bitmap);
    if (b == NULL)
        return NULL;
    b->n = n;
    b->word = ADX_GET(a, (size_t)(n / 64 + 1), uint64_t);
    return b->word == NULL ? NULL : b;
}

// Lists for each value the arguments that have it, in their order. False: no
// memory.
static bool adx_invert_table(adx_arena *a, adx_int_table *t)
{
    if (t->start != NULL)
        return true;
    size_t range = (size_t)(t->high - t->low + 1);
    t->argument = ADX_GET(a, t->n, uint32_t);
    uint32_t *start = ADX_GET(a, range + 1, uint32_t);
    if (t->argument == NULL || start == NULL)
        return false;
    for (size_t i = 0; i < t->n; i++)
        start[t->value[i] - t->low + 1]++;
    for (size_t i = 0; i < range; i++)
        start[i + 1] += start[i];
    for (size_t i = 0; i < t->n; i++)
        t->argument[start[t->value[i] - t->low]++] = (uint32_t)i;
    for (size_t i = range; i > 0; i--)
        start[i] = start[i - 1];
    start[0] = 0;
    t->start = start;
    return true;
}

/* --- sets ---------------------------------------------------------------- */

typedef enum adx_row_kind {
    ADX_ROW_GONE,               // says nothing any more
    ADX_ROW_FORM,               // is carried along
    ADX_ROW_ZERO,               // the form is 0
    ADX_ROW_SIGN,               // the form is at least 0
    ADX_ROW_VALUE,              // the form is table[the form of row `at`]
    ADX_ROW_BIT,                // the bit of this number is 1
    ADX_ROW_NO_BIT              // ... is 0
} adx_row_kind;

typedef struct adx_set_row {
    adx_row_kind kind;
    uint32_t at;
    adx_int_table *table;
    const adx_bitmap *bits;
} adx_set_row;

typedef struct adx_set {
    adx_arena *arena;
    uint32_t vars;
    uint32_t width;             // room for forms: 1 + variables
    int64_t *low, *high;        // [width - 1] of each variable
    bool *gone;                 // [width - 1] it has been replaced
    uint32_t *called;           // [width - 1] the index of the text; 0: none
    adx_set_row *row;
    int64_t *k;                 // [rows][width] constant, then coefficients
    uint32_t rows, room;
    uint32_t open;              // the first variables: open sizes
    bool empty;
} adx_set;

// Returns the form of a row: [0] its constant, [1 + v] the coefficient of
// variable v.
static int64_t *adx_form_of(const adx_set *s, uint32_t row)
{
    return s->k + (size_t)row * s->width;
}

// Makes room for so many rows and variables. False: no memory.
static bool adx_widen_set(adx_set *s, uint32_t room, uint32_t width)
{
    adx_set to = *s;
    to.room = room;
    to.width = width;
    to.low = ADX_GET(s->arena, width, int64_t);
    to.high = ADX_GET(s->arena, width, int64_t);
    to.gone = ADX_GET(s->arena, width, bool);
    to.called = ADX_GET(s->arena, width, uint32_t);
    to.row = ADX_GET(s->arena, room, adx_set_row);
    to.k = ADX_GET(s->arena, (size_t)room * width, int64_t);
    if (to.low == NULL || to.high == NULL || to.gone == NULL
        || to.called == NULL || to.row == NULL || to.k == NULL)
        return false;
    for (uint32_t i = 0; i < s->rows; i++) {
        to.row[i] = s->row[i];
        memcpy(adx_form_of(&to, i), adx_form_of(s, i),
               (1 + s->vars) * sizeof *s->k);
    }
    if (s->vars > 0) {
        memcpy(to.low, s->low, s->vars * sizeof *s->low);
        memcpy(to.high, s->high, s->vars * sizeof *s->high);
        memcpy(to.gone, s->gone, s->vars * sizeof *s->gone);
        memcpy(to.called, s->called, s->vars * sizeof *s->called);
    }
    *s = to;
    return true;
}

// Returns the set of one point without coordinates. NULL: no memory.
static adx_set *adx_new_set(adx_arena *a)
{
    adx_set *s = ADX_GET(a, 1, adx_set);
    if (s == NULL)
        return NULL;
    s->arena = a;
    return adx_widen_set(s, 8, 8) ? s : NULL;
}

// Returns a copy with room for some more rows and variables. NULL: no memory.
static adx_set *adx_copy_set(const adx_set *s)
{
    adx_set *to = ADX_GET(s->arena, 1, adx_set);
    if (to == NULL)
        return NULL;
    *to = *s;
    return adx_widen_set(to, s->rows + 4, s->vars + 4) ? to : NULL;
}

// Adds a variable from low to high. Returns its number; UINT32_MAX: no memory.
static uint32_t adx_new_var(adx_set *s, int64_t low, int64_t high)
{
    if (1 + s->vars == s->width && !adx_widen_set(s, s->room, 2 * s->width))
        return UINT32_MAX;
    s->low[s->vars] = low;
    s->high[s->vars] = high;
    s->empty = s->empty || low > high;
    return s->vars++;
}

// Adds a row, all zeros. Returns its number; UINT32_MAX: no memory.
static uint32_t adx_new_row(adx_set *s, adx_row_kind kind)
{
    if (s->rows == s->room && !adx_widen_set(s, 2 * s->room, s->width))
        return UINT32_MAX;
    memset(&s->row[s->rows], 0, sizeof *s->row);
    memset(adx_form_of(s, s->rows), 0, s->width * sizeof *s->k);
    s->row[s->rows].kind = kind;
    return s->rows++;
}

/* --- arithmetic of forms ------------------------------------------------- */

#define ADX_WHOLE_MOST ((int64_t)1 << 60)

// Returns to + a*b, within what a text can need.
static int64_t adx_whole_add(adx_arena *arena, int64_t to, int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return to;
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (y > (uint64_t)ADX_WHOLE_MOST / x) {
        adx_arena_fail(arena, ADREV_ELIMIT);
        return 0;
    }
    to += a * b;
    if (to > ADX_WHOLE_MOST || to < -ADX_WHOLE_MOST) {
        adx_arena_fail(arena, ADREV_ELIMIT);
        return 0;
    }
    return to;
}

// Computes to += c * from, for forms.
static void adx_add_multiple(const adx_set *s, int64_t to[], int64_t c,
                             const int64_t from[])
{
    for (uint32_t i = 0; c != 0 && i <= s->vars; i++)
        to[i] = adx_whole_add(s->arena, to[i], c, from[i]);
}

// Returns the least or largest value of a form, for all values of its
// variables.
static int64_t adx_extreme(const adx_set *s, const int64_t form[], bool most)
{
    int64_t sum = form[0];
    for (uint32_t v = 0; v < s->vars; v++)
        sum = adx_whole_add(s->arena, sum, form[1 + v],
                            (form[1 + v] > 0) == most ? s->high[v] : s->low[v]);
    return sum;
}

// Returns a/b, rounded down.
static int64_t adx_floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

// Returns a/b, rounded up.
static int64_t adx_ceil_div(int64_t a, int64_t b)
{
    return -adx_floor_div(-a, b);
}

static int64_t adx_gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Returns the greatest common divisor of the coefficients; says how many there
// are, and the variable of one of them.
static int64_t adx_divisor_of(const adx_set *s, const int64_t form[],
                              uint32_t *count, uint32_t *some)
{
    int64_t d = 0;
    *count = 0;
    for (uint32_t v = 0; v < s->vars; v++)
        if (form[1 + v] != 0) {
            d = adx_gcd(d, form[1 + v]);
            *some = v;
            ++*count;
        }
    return d;
}

// Returns the variables of a form that are no open sizes: how many, and one of
// them.
static uint32_t adx_vars_of(const adx_set *s, const int64_t form[],
                            uint32_t *some)
{
    uint32_t count = 0;
    for (uint32_t v = s->open; v < s->vars; v++)
        if (form[1 + v] != 0) {
            *some = v;
            count++;
        }
    return count;
}

/* --- simpler sets -------------------------------------------------------- */

// Leaves x[v] this value only. That of an open size is still to be asked for.
static void adx_fix_var(adx_set *s, uint32_t v, int64_t value)
{
    if (value < s->low[v] || value > s->high[v])
        s->empty = true;
    for (uint32_t r = 0; r < s->rows; r++) {
        int64_t *form = adx_form_of(s, r);
        form[0] = adx_whole_add(s->arena, form[0], form[1 + v], value);
        form[1 + v] = 0;
    }
    if (v < s->open)
        s->low[v] = s->high[v] = value;
    else
        s->gone[v] = true;
}

// Makes the bounds of a variable rows.
static void adx_bounds_as_rows(adx_set *s, uint32_t v)
{
    for (int upper = 0; upper < 2; upper++) {
        uint32_t r = adx_new_row(s, ADX_ROW_SIGN);
        if (r == UINT32_MAX)
            return;
        adx_form_of(s, r)[0] = upper ? s->high[v] : -s->low[v];
        adx_form_of(s, r)[1 + v] = upper ? -1 : 1;
    }
}

// Replaces x[v] by what the row, in which its coefficient is 1 or -1 and which
// must be 0, makes of it. Its bounds become rows.
static void adx_replace_var(adx_set *s, uint32_t v, uint32_t by)
{
    adx_bounds_as_rows(s, v);
    const int64_t *from = adx_form_of(s, by);
    int64_t a = from[1 + v];
    for (uint32_t r = 0; r < s->rows; r++)
        if (r != by) {
            int64_t *form = adx_form_of(s, r);
            adx_add_multiple(s, form, -form[1 + v] * a, from);
        }
    s->row[by].kind = ADX_ROW_GONE;
    memset(adx_form_of(s, by), 0, s->width * sizeof *s->k);
    s->gone[v] = true;
}

// Simplifies by a row that must be 0: it says nothing, fixes a variable, or
// replaces one: the latest with coefficient 1 or -1 that is no open size.
// Returns whether something changed.
static bool adx_use_zero(adx_set *s, uint32_t r)
{
    int64_t *form = adx_form_of(s, r);
    uint32_t count;
    uint32_t v = 0;
    int64_t d = adx_divisor_of(s, form, &count, &v);
    if (count == 0 || form[0] % d != 0) {
        s->empty = s->empty || form[0] != 0;
        s->row[r].kind = ADX_ROW_GONE;
        return true;
    }
    for (uint32_t i = 0; d > 1 && i <= s->vars; i++)
        form[i] /= d;
    if (count == 1) {
        s->row[r].kind = ADX_ROW_GONE;
        adx_fix_var(s, v, -form[0] / form[1 + v]);
        return true;
    }
    for (v = s->vars; v-- > s->open;)
        if (form[1 + v] == 1 || form[1 + v] == -1) {
            adx_replace_var(s, v, r);
            return true;
        }
    return false;
}

// Whether row r is not needed, because an earlier one says as much: of the same
// kind and form, it may differ in the constant of an inequality, and then takes
// the stronger one.
static bool adx_is_said_before(adx_set *s, uint32_t r)
{
    const int64_t *form = adx_form_of(s, r);
    for (uint32_t q = 0; q < r; q++) {
        int64_t *before = adx_form_of(s, q);
        if (s->row[q].kind != s->row[r].kind || s->row[q].bits != s->row[r].bits
            || memcmp(before + 1, form + 1, s->vars * sizeof *form) != 0)
            continue;
        if (s->row[r].kind != ADX_ROW_SIGN && before[0] != form[0])
            continue;
        before[0] = form[0] < before[0] ? form[0] : before[0];
        return true;
    }
    return false;
}

// Simplifies by a row that must not be negative: it always is so, never is, or
// bounds a variable. Returns whether something changed.
static bool adx_use_sign(adx_set *s, uint32_t r)
{
    int64_t *form = adx_form_of(s, r);
    uint32_t count;
    uint32_t v = 0;
    int64_t d = adx_divisor_of(s, form, &count, &v);
    bool never = adx_extreme(s, form, true) < 0;
    if (never || adx_extreme(s, form, false) >= 0) {
        s->empty = s->empty || never;
        s->row[r].kind = ADX_ROW_GONE;
        return true;
    }
    for (uint32_t i = 1; d > 1 && i <= s->vars; i++)
        form[i] /= d;
    form[0] = d > 1 ? adx_floor_div(form[0], d) : form[0];
    if (count > 1 && adx_is_said_before(s, r)) {
        s->row[r].kind = ADX_ROW_GONE;
        return true;
    }
    if (count > 1)
        return false;
    if (form[1 + v] > 0 && -form[0] > s->low[v])
        s->low[v] = -form[0];
    if (form[1 + v] < 0 && form[0] < s->high[v])
        s->high[v] = form[0];
    s->row[r].kind = ADX_ROW_GONE;
    return true;
}

// Simplifies by a row that must be a map's value at an argument: once that is a
// constant, it is an equation. Returns whether something changed.
static bool adx_use_value(adx_set *s, uint32_t r)
{
    const adx_int_table *t = s->row[r].table;
    const int64_t *argument = adx_form_of(s, s->row[r].at);
    uint32_t count;
    uint32_t some;
    adx_divisor_of(s, argument, &count, &some);
    if (count > 0)
        return false;
    int64_t at = argument[0] - t->from;
    s->row[r].kind = ADX_ROW_ZERO;
    if (at < 0 || (uint64_t)at >= t->n)
        s->empty = true;
    else
        adx_form_of(s, r)[0] = adx_whole_add(s->arena, adx_form_of(s, r)[0], -1,
                                             t->value[at]);
    return true;
}

// Simplifies by a row that asks for a bit: it is decided where its form is a
// constant, and gone where another row asks the same. Returns whether something
// changed.
static bool adx_use_bit(adx_set *s, uint32_t r)
{
    const int64_t *form = adx_form_of(s, r);
    uint32_t count;
    uint32_t some;
    adx_divisor_of(s, form, &count, &some);
    if (count > 0 && adx_is_said_before(s, r)) {
        s->row[r].kind = ADX_ROW_GONE;
        return true;
    }
    if (count > 0)
        return false;
    bool set = form[0] >= 0 && (uint64_t)form[0] < s->row[r].bits->n
            && adx_has_bit(s->row[r].bits, (uint64_t)form[0]);
    s->empty = s->empty || set != (s->row[r].kind == ADX_ROW_BIT);
    s->row[r].kind = ADX_ROW_GONE;
    return true;
}

// Simplifies a set by what one row says. Returns whether anything changed.
static bool adx_use_row(adx_set *s, uint32_t r)
{
    switch (s->row[r].kind) {
    case ADX_ROW_ZERO: return adx_use_zero(s, r);
    case ADX_ROW_SIGN: return adx_use_sign(s, r);
    case ADX_ROW_VALUE: return adx_use_value(s, r);
    case ADX_ROW_BIT: case ADX_ROW_NO_BIT: return adx_use_bit(s, r);
    case ADX_ROW_GONE: case ADX_ROW_FORM: break;
    }
    return false;
}

// Replaces what equations give, tightens bounds, and forgets what always holds,
// until no row changes anything any more.
static void adx_simplify_set(adx_set *s)
{
    bool changed = true;
    while (changed && !s->empty && s->arena->status == ADREV_OK) {
        changed = false;
        for (uint32_t v = 0; v < s->vars; v++) {
            s->empty = s->empty || (!s->gone[v] && s->low[v] > s->high[v]);
            if (!s->gone[v] && s->low[v] == s->high[v] && v >= s->open)
                adx_fix_var(s, v, s->low[v]);
        }
        for (uint32_t r = 0; r < s->rows && !s->empty; r++)
            changed = adx_use_row(s, r) || changed;
    }
}

// Returns how many points a set has for given sizes, if only bounds of
// variables are left; else UINT64_MAX.
static uint64_t adx_box_points(const adx_set *s)
{
    uint64_t n = 1;
    if (s->empty)
        return 0;
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind > ADX_ROW_FORM)
            return UINT64_MAX;
    for (uint32_t v = s->open; v < s->vars; v++)
        if (!s->gone[v]) {
            uint64_t extent = (uint64_t)(s->high[v] - s->low[v]) + 1;
            if (n > UINT64_MAX / 2 / extent)
                return UINT64_MAX;
            n *= extent;
        }
    return n;
}

/* --- variables that maps give -------------------------------------------- */

// Whether a row is x[v] = sign*(table[argument] - c) for any value that the
// table has, and all arguments are there; *v says which variable.
static bool adx_is_definition(const adx_set *s, uint32_t r, uint32_t *v)
{
    const int64_t *form = adx_form_of(s, r);
    const adx_int_table *t = s->row[r].table;
    uint32_t count;
    if (s->row[r].kind != ADX_ROW_VALUE)
        return false;
    const int64_t *argument = adx_form_of(s, s->row[r].at);
    adx_divisor_of(s, form, &count, v);
    if (count != 1 || *v < s->open || (form[1 + *v] != 1 && form[1 + *v] != -1)
        || argument[1 + *v] != 0)
        return false;
    int64_t one = (t->low - form[0]) * form[1 + *v];
    int64_t other = (t->high - form[0]) * form[1 + *v];
    return (one < other ? one : other) >= s->low[*v]
        && (one < other ? other : one) <= s->high[*v]
        && adx_extreme(s, argument, false) >= t->from
        && adx_extreme(s, argument, true) < t->from + (int64_t)t->n;
}

// The variables that maps give from others, and those that nothing gives.
typedef struct adx_map_vars {
    bool *given;                // [vars] by a map; NULL: no memory
    uint32_t *row;              // [rows] by which rows, each after those that
    uint32_t rows;              // give its argument
    uint32_t free;              // variables that are left, and not gone
    bool all;                   // the set has no other condition
} adx_map_vars;

// Whether no argument of a row is a variable that a map will give.
static bool adx_knows_argument(const adx_set *s, uint32_t r,
                               const bool given[])
{
    const int64_t *argument = adx_form_of(s, s->row[r].at);
    bool known = true;
    for (uint32_t q = 0; q < s->rows && known; q++) {
        uint32_t u = 0;
        known = !adx_is_definition(s, q, &u) || given[u]
             || argument[1 + u] == 0;
    }
    return known;
}

// Finds the variables that maps give, one after the other: a row is taken when
// its argument is known, until no row is taken any more.
static adx_map_vars adx_find_map_vars(const adx_set *s)
{
    adx_map_vars to = { ADX_GET(s->arena, s->vars, bool),
                        ADX_GET(s->arena, s->rows, uint32_t), 0, 0, false };
    uint32_t conditions = 0;
    uint32_t before = UINT32_MAX;
    if (to.row == NULL)
        to.given = NULL;
    if (to.given == NULL)
        return to;
    while (to.rows != before) {
        before = to.rows;
        for (uint32_t r = 0; r < s->rows; r++) {
            uint32_t v = 0;
            if (!adx_is_definition(s, r, &v) || to.given[v]
                || !adx_knows_argument(s, r, to.given))
                continue;
            to.given[v] = true;
            to.row[to.rows++] = r;
        }
    }
    for (uint32_t r = 0; r < s->rows; r++)
        conditions += s->row[r].kind > ADX_ROW_FORM;
    for (uint32_t v = s->open; v < s->vars; v++)
        to.free += !s->gone[v] && !to.given[v];
    to.all = to.rows == conditions;
    return to;
}

/* --- projections ---------------------------------------------------------
 * Projects a set onto some of its variables, which stay. Where the projection
 * cannot be exact, it is left to bits (tensor/nests).                        */

// Counts the rows of conditions that a variable is in; of them, those with
// signs.
static uint32_t adx_rows_with(const adx_set *s, uint32_t v, uint32_t *signs)
{
    uint32_t n = 0;
    *signs = 0;
    for (uint32_t r = 0; r < s->rows; r++)
        if (adx_form_of(s, r)[1 + v] != 0) {
            bool argument = s->row[r].kind == ADX_ROW_FORM;
            n += s->row[r].kind != ADX_ROW_GONE && !argument;
            *signs += s->row[r].kind == ADX_ROW_SIGN;
        }
    for (uint32_t r = 0; r < s->rows; r++)
        n += s->row[r].kind == ADX_ROW_VALUE
          && adx_form_of(s, s->row[r].at)[1 + v] != 0;
    return n;
}

// Whether all pairs of bounds from below and from above have a coefficient 1 or
// -1 among them: then whole numbers are between them as often as real ones.
static bool adx_bounds_are_whole(const adx_set *s, uint32_t v)
{
    bool lower = true;          // all are 1
    bool upper = true;
    for (uint32_t r = 0; r < s->rows; r++) {
        int64_t k = adx_form_of(s, r)[1 + v];
        if (s->row[r].kind == ADX_ROW_SIGN && k != 0) {
            lower = lower && k <= 1;
            upper = upper && k >= -1;
        }
    }
    return lower || upper;
}

// Adds the row that follows from a lower and an upper bound of v, without v
// (Fourier and Motzkin).
static void adx_combine_bounds(adx_set *s, uint32_t v, uint32_t below,
                               uint32_t above)
{
    uint32_t to = adx_new_row(s, ADX_ROW_SIGN);
    if (to == UINT32_MAX)
        return;
    int64_t a = adx_form_of(s, below)[1 + v];
    int64_t b = -adx_form_of(s, above)[1 + v];
    adx_add_multiple(s, adx_form_of(s, to), b, adx_form_of(s, below));
    adx_add_multiple(s, adx_form_of(s, to), a, adx_form_of(s, above));
}

#define ADX_ROWS_MOST 200

// Combines each bound from below with each from above (Fourier and Motzkin), of
// the first `rows`, while there are fewer than `most`.
static void adx_combine_all(adx_set *s, uint32_t v, uint32_t rows,
                            uint32_t most)
{
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < rows && s->rows < most; j++)
            if (s->row[i].kind == ADX_ROW_SIGN && s->row[j].kind == ADX_ROW_SIGN
                && adx_form_of(s, i)[1 + v] > 0 && adx_form_of(s, j)[1 + v] < 0)
                adx_combine_bounds(s, v, i, j);
}

// Takes v out of a set: every pair of its bounds becomes a row without it.
static void adx_drop_bounded(adx_set *s, uint32_t v)
{
    adx_bounds_as_rows(s, v);
    uint32_t rows = s->rows;
    adx_combine_all(s, v, rows, UINT32_MAX);
    for (uint32_t i = 0; i < rows; i++)
        if (s->row[i].kind == ADX_ROW_SIGN && adx_form_of(s, i)[1 + v] != 0)
            s->row[i].kind = ADX_ROW_GONE;
    s->gone[v] = true;
}

// Returns the row that makes v the value of a map, where any value will do; or
// UINT32_MAX.
static uint32_t adx_any_value(const adx_set *s, uint32_t v)
{
    for (uint32_t r = 0; r < s->rows; r++) {
        const int64_t *form = adx_form_of(s, r);
        uint32_t count;
        uint32_t some;
        if (s->row[r].kind != ADX_ROW_VALUE || form[1 + v] == 0)
            continue;
        adx_divisor_of(s, form, &count, &some);
        const adx_int_table *t = s->row[r].table;
        if (count == 1 && form[1 + v] == 1 && s->low[v] + form[0] <= t->low
            && s->high[v] + form[0] >= t->high)
            return r;
    }
    return UINT32_MAX;
}

// Forgets a variable. False: that would lose something.
static bool adx_drop_var(adx_set *s, uint32_t v)
{
    uint32_t signs;
    uint32_t n = adx_rows_with(s, v, &signs);
    uint32_t value = adx_any_value(s, v);
    if (n == 0)
        s->gone[v] = true;
    else if (n == signs && adx_bounds_are_whole(s, v)
             && s->rows < ADX_ROWS_MOST)
        adx_drop_bounded(s, v);
    else if (n == 1 && value != UINT32_MAX) {
        s->row[value].kind = ADX_ROW_GONE;
        s->gone[v] = true;
    } else
        return false;
    return true;
}

// Forgets all variables except open sizes and those in keep[]. The forms that
// are carried along may have no other variables. False: a step was not exact,
// and the set is of no use.
static bool adx_project(adx_set *s, const bool keep[])
{
    bool changed = true;
    bool left = true;
    adx_simplify_set(s);
    while (changed && left && !s->empty && s->arena->status == ADREV_OK) {
        changed = left = false;
        for (uint32_t v = s->open; v < s->vars; v++)
            if (!s->gone[v] && !keep[v]) {
                bool done = adx_drop_var(s, v);
                changed = changed || done;
                left = left || !done;
            }
        adx_simplify_set(s);
    }
    return !left || s->empty;
}

ADX_SELDOM_END

/* === tensor/nests ===========================================================
 * Loops over the points of a set, each point once. Variables get their values
 * one after the other. A variable runs over a range, of which rows give the
 * bounds; or an equation or a map gives its value; or it runs over the
 * arguments for which a map has a known value. A row is looked at where its
 * last variable has its value. Rows that Fourier and Motzkin add narrow the
 * ranges of the variables before.
 *
 * Open sizes are the first levels. Who walks a nest meets all of their numbers;
 * code asks there for what must be true of the sizes.
 *
 *   needs   tensor/arena tensor/sets
 *   offers  adx_sparse_form adx_sparse_at adx_form_has adx_make_sparse_form
 *           ADX_LEVEL_RANGE ADX_LEVEL_SOLVED ADX_LEVEL_VALUE
 *           ADX_LEVEL_ARGUMENTS adx_set_check adx_nest_level adx_nest
 *           ADX_NOT_YET ADX_IN_ORDER adx_is_unit adx_make_nest adx_point_fn
 *           adx_nest_walk adx_walk_from adx_walk_nest
 * ========================================================================== */

// c + sum k[i]*x[var[i]]
typedef struct adx_sparse_form {
    int64_t c;
    uint32_t n;
    uint32_t *var;
    int64_t *k;
} adx_sparse_form;

// Returns the value of a form at x.
static int64_t adx_sparse_at(const adx_sparse_form *f, const int64_t x[])
{
    int64_t sum = f->c;
    for (uint32_t i = 0; i < f->n; i++)
        sum += f->k[i] * x[f->var[i]];
    return sum;
}

// Whether a form has the variable.
static bool adx_form_has(const adx_sparse_form *f, uint32_t var)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->var[i] == var)
            return true;
    return false;
}

// The form without variable v, UINT32_MAX: with all. False: no memory.
static bool adx_make_sparse_form(const adx_set *s, const int64_t form[],
                                 uint32_t v, adx_sparse_form *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->vars; i++)
        n += form[1 + i] != 0 && i != v;
    to->c = form[0];
    to->n = 0;
    to->var = ADX_GET(s->arena, n, uint32_t);
    to->k = ADX_GET(s->arena, n, int64_t);
    if (to->var == NULL || to->k == NULL)
        return false;
    for (uint32_t i = 0; i < s->vars; i++)
        if (form[1 + i] != 0 && i != v) {
            to->var[to->n] = i;
            to->k[to->n++] = form[1 + i];
        }
    return true;
}

typedef enum adx_level_kind {
    ADX_LEVEL_RANGE,
    ADX_LEVEL_SOLVED,           // k*x + form = 0
    ADX_LEVEL_VALUE,            // k*x + form = table[argument], k = 1 or -1
    ADX_LEVEL_ARGUMENTS         // table[k*x + argument] = form, k = 1 or -1
} adx_level_kind;

// Rows that are looked at once x[var] is known; of a range, k*x + form >= 0 are
// bounds.
typedef struct adx_set_check {
    adx_row_kind kind;
    int64_t k;
    adx_sparse_form form;            // without x[var], if it is a bound
    adx_sparse_form argument;
    const adx_int_table *table;
    const adx_bitmap *bits;
} adx_set_check;

// How x[var] gets its values once those of the levels before it are known.
typedef struct adx_nest_level {
    adx_level_kind kind;
    uint32_t var;
    int64_t low, high;          // bounds that hold everywhere
    int64_t k;                  // unless it is a range: see the kind, as of
    adx_sparse_form form;       // these
    adx_sparse_form argument;
    const adx_int_table *table;
    adx_set_check *bound;       // [bounds] of a range: what narrows it
    uint32_t bounds;
    adx_set_check *check;       // [checks] what a value must pass
    uint32_t checks;
} adx_nest_level;

typedef struct adx_nest {
    adx_nest_level *level;
    uint32_t levels;
    uint32_t open;              // the first ones are those of open sizes
    uint32_t vars;
    bool empty;
} adx_nest;

/* --- the order of the variables ------------------------------------------ */

// While a nest is made.
typedef struct adx_ordering {
    adx_set *s;
    adx_nest *nest;
    uint32_t *when;             // level at which a variable is known; or its
                                // number of levels: not yet
    bool *used;                 // rows that a level is made by
    bool in_order;              // of the variables' numbers
    const int64_t *stride;      // [vars] or NULL
} adx_ordering;

#define ADX_NOT_YET UINT32_MAX
#define ADX_IN_ORDER (UINT32_MAX - 1)

// Whether all variables of a form but v are known, and v is there.
static bool adx_is_last(const adx_ordering *k, const int64_t form[], uint32_t v)
{
    for (uint32_t i = 0; i < k->s->vars; i++)
        if (form[1 + i] != 0 && i != v && k->when[i] == ADX_NOT_YET)
            return false;
    return v == UINT32_MAX || form[1 + v] != 0;
}

static bool adx_is_unit(int64_t k) { return k == 1 || k == -1; }

// Returns how v would get its value now, by which row, and for how many values.
static adx_level_kind adx_ways_to(const adx_ordering *k, uint32_t v,
                                  uint32_t *row, double *count)
{
    const adx_set *s = k->s;
    adx_level_kind best = ADX_LEVEL_RANGE;
    *count = (double)(s->high[v] - s->low[v] + 1);
    *row = UINT32_MAX;
    for (uint32_t r = 0; r < s->rows; r++) {
        const int64_t *form = adx_form_of(s, r);
        adx_row_kind kind = s->row[r].kind;
        adx_level_kind way = ADX_LEVEL_RANGE;
        double n = 0;
        if (kind == ADX_ROW_ZERO && adx_is_last(k, form, v))
            way = ADX_LEVEL_SOLVED;
        else if (kind == ADX_ROW_VALUE) {
            const int64_t *argument = adx_form_of(s, s->row[r].at);
            const adx_int_table *t = s->row[r].table;
            if (argument[1 + v] == 0 && adx_is_unit(form[1 + v])
                && adx_is_last(k, form, v)
                && adx_is_last(k, argument, UINT32_MAX))
                way = ADX_LEVEL_VALUE;
            else if (form[1 + v] == 0 && adx_is_unit(argument[1 + v])
                     && adx_is_last(k, argument, v)
                     && adx_is_last(k, form, UINT32_MAX)) {
                way = ADX_LEVEL_ARGUMENTS;
                n = 1 + (double)t->n / (double)(t->high - t->low + 1);
            }
        }
        if (way != ADX_LEVEL_RANGE && n < *count) {
            best = way;
            *count = n;
            *row = r;
        }
    }
    return best;
}

// A variable that could be the next.
typedef struct adx_next_level {
    uint32_t var;
    adx_level_kind kind;
    uint32_t row;               // that gives it
    int rank;                   // 0: others give it; 1: it has a range; 2: a
                                // map will give it; 3: it should be the
                                // innermost one
    double count;               // of its values
} adx_next_level;

// Whether a map gives most values of a variable, so that a loop over the map's
// arguments takes the place of one over the variable.
static bool adx_will_be_given(const adx_set *s, uint32_t v)
{
    for (uint32_t r = 0; r < s->rows; r++) {
        const int64_t *form = adx_form_of(s, r);
        uint32_t count;
        uint32_t some = 0;
        if (s->row[r].kind != ADX_ROW_VALUE || !adx_is_unit(form[1 + v]))
            continue;
        adx_divisor_of(s, form, &count, &some);
        const adx_int_table *t = s->row[r].table;
        if (count == 1 && adx_form_of(s, s->row[r].at)[1 + v] == 0
            && s->high[v] - s->low[v] >= (t->high - t->low) / 2)
            return true;
    }
    return false;
}

// Whether a variable gets its value before another. Given variables come first,
// those with the fewest values before others. Of ranges, those with long
// strides are the outer ones, so that numbers that are next to one another are
// used together.
static bool adx_is_earlier(const adx_ordering *k, const adx_next_level *one,
                           const adx_next_level *other)
{
    if (one->rank != other->rank)
        return one->rank < other->rank;
    if (one->rank == 1 && k->stride != NULL
        && k->stride[one->var] != k->stride[other->var])
        return k->stride[one->var] > k->stride[other->var];
    return one->count < other->count;
}

// Returns the next variable; UINT32_MAX: there is none.
static adx_next_level adx_next_var(const adx_ordering *k, uint32_t inner)
{
    adx_next_level best = { UINT32_MAX, ADX_LEVEL_RANGE, UINT32_MAX, 0, 0 };
    for (uint32_t v = 0; v < k->s->vars; v++) {
        adx_next_level next = { v, ADX_LEVEL_RANGE, UINT32_MAX, 0, 0 };
        if (k->s->gone[v] || k->when[v] != ADX_NOT_YET)
            continue;
        next.kind = adx_ways_to(k, v, &next.row, &next.count);
        bool range = next.kind == ADX_LEVEL_RANGE;
        if (k->in_order)
            next.count = range ? 2 : next.count;
        else
            next.rank = !range ? 0 : v == inner ? 3
                      : adx_will_be_given(k->s, v) ? 2 : 1;
        if (best.var == UINT32_MAX || adx_is_earlier(k, &next, &best))
            best = next;
    }
    return best;
}

/* --- levels -------------------------------------------------------------- */

// Whether a form has variables of later levels.
static bool adx_has_later(const adx_ordering *k, const int64_t form[],
                          uint32_t level)
{
    for (uint32_t v = 0; v < k->s->vars; v++)
        if (form[1 + v] != 0 && k->when[v] > level)
            return true;
    return false;
}

// Adds rows that follow from those of `s` when the later variables are
// forgotten: they only narrow ranges.
static void adx_narrow_ranges(adx_ordering *k)
{
    adx_set *s = k->s;
    for (uint32_t l = k->nest->levels; l-- > (s->open > 0 ? 0 : 1);) {
        uint32_t v = k->nest->level[l].var;
        uint32_t rows = s->rows;
        adx_combine_all(s, v, rows, ADX_ROWS_MOST);
        // with the bounds of v itself
        for (uint32_t i = 0; i < rows && s->rows < ADX_ROWS_MOST; i++) {
            int64_t a = adx_form_of(s, i)[1 + v];
            if (s->row[i].kind != ADX_ROW_SIGN || a == 0)
                continue;
            uint32_t to = adx_new_row(s, ADX_ROW_SIGN);
            if (to == UINT32_MAX)
                return;
            int64_t *form = adx_form_of(s, to);
            adx_add_multiple(s, form, 1, adx_form_of(s, i));
            form[0] = adx_whole_add(s->arena, form[0], a,
                                    a > 0 ? s->high[v] : s->low[v]);
            form[1 + v] = 0;
        }
        for (uint32_t i = rows; i < s->rows; i++) {
            const int64_t *form = adx_form_of(s, i);
            if (adx_extreme(s, form, false) >= 0)
                s->row[i].kind = ADX_ROW_GONE;
            else if (s->open > 0 && adx_extreme(s, form, true) < 0)
                k->nest->empty = true;
            else if (s->open > 0 && adx_has_later(k, form, l))
                s->row[i].kind = ADX_ROW_GONE;
        }
    }
}

// Returns the level at which all variables of a row are known. UINT32_MAX: it
// has none.
static uint32_t adx_level_of_row(const adx_ordering *k, uint32_t r)
{
    const adx_set *s = k->s;
    uint32_t last = UINT32_MAX;
    const int64_t *form = adx_form_of(s, r);
    const int64_t *argument = s->row[r].kind == ADX_ROW_VALUE
                            ? adx_form_of(s, s->row[r].at) : form;
    for (uint32_t v = 0; v < s->vars; v++)
        if ((form[1 + v] != 0 || argument[1 + v] != 0)
            && (last == UINT32_MAX || k->when[v] > last))
            last = k->when[v];
    return last;
}

// Adds a row to what its level looks at.
static bool adx_place_row(adx_ordering *k, uint32_t r)
{
    const adx_set *s = k->s;
    uint32_t at = adx_level_of_row(k, r);
    if (at == UINT32_MAX)
        return true;
    adx_nest_level *l = &k->nest->level[at];
    bool bound = s->row[r].kind == ADX_ROW_SIGN && l->kind == ADX_LEVEL_RANGE;
    adx_set_check *to = bound ? &l->bound[l->bounds++] : &l->check[l->checks++];
    to->kind = s->row[r].kind;
    to->table = s->row[r].table;
    to->bits = s->row[r].bits;
    to->k = bound ? adx_form_of(s, r)[1 + l->var] : 0;
    return adx_make_sparse_form(s, adx_form_of(s, r),
                                bound ? l->var : UINT32_MAX, &to->form)
           && (to->kind != ADX_ROW_VALUE
               || adx_make_sparse_form(s, adx_form_of(s, s->row[r].at),
                                       UINT32_MAX, &to->argument));
}

// Puts every row that no level is made by at the level where it is looked at.
// False: no memory.
static bool adx_place_rows(adx_ordering *k)
{
    const adx_set *s = k->s;
    for (uint32_t l = 0; l < k->nest->levels; l++) {
        k->nest->level[l].bound = ADX_GET(s->arena, s->rows, adx_set_check);
        k->nest->level[l].check = ADX_GET(s->arena, s->rows, adx_set_check);
        if (k->nest->level[l].bound == NULL || k->nest->level[l].check == NULL)
            return false;
    }
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind > ADX_ROW_FORM && !k->used[r]
            && !adx_place_row(k, r))
            return false;
    return true;
}

/* --- bounds where sizes are open: no more than are needed ----------------- */

// Returns the most that one form can be above another.
static int64_t adx_most_above(const adx_set *s, const adx_sparse_form *one,
                              const adx_sparse_form *other)
{
    int64_t *form = ADX_GET(s->arena, s->width, int64_t);
    if (form == NULL)
        return INT64_MAX;
    form[0] = one->c - other->c;
    for (uint32_t i = 0; i < one->n; i++)
        form[1 + one->var[i]] += one->k[i];
    for (uint32_t i = 0; i < other->n; i++)
        form[1 + other->var[i]] -= other->k[i];
    return adx_extreme(s, form, true);
}

// Whether a bound of a level follows from another one; of two that are equal,
// the later from the earlier.
static bool adx_bound_follows(const adx_set *s, const adx_nest_level *l,
                              uint32_t i)
{
    for (uint32_t j = 0; j < l->bounds; j++) {
        if (j == i || l->bound[j].k != l->bound[i].k)
            continue;
        int64_t above = adx_most_above(s, &l->bound[j].form, &l->bound[i].form);
        if (above < 0 || (above == 0 && (j < i || adx_most_above(
                              s, &l->bound[i].form, &l->bound[j].form) > 0)))
            return true;
    }
    return false;
}

// Makes a bound that is a number that of the level. False: it is no number.
static bool adx_take_plain_bound(adx_nest_level *l, const adx_set_check *b)
{
    if (b->form.n > 0 || !adx_is_unit(b->k))
        return false;
    if (b->k > 0 && -b->form.c > l->low)
        l->low = -b->form.c;
    if (b->k < 0 && b->form.c < l->high)
        l->high = b->form.c;
    return true;
}

// Makes bounds that are numbers the range's own, and drops those that follow
// from others.
static void adx_tidy_bounds(const adx_set *s, adx_nest *nest)
{
    for (uint32_t i = 0; i < nest->levels; i++) {
        adx_nest_level *l = &nest->level[i];
        for (uint32_t j = 0; j < l->bounds;)
            if (adx_take_plain_bound(l, &l->bound[j])
                || adx_bound_follows(s, l, j))
                l->bound[j] = l->bound[--l->bounds];
            else
                j++;
        nest->empty = nest->empty || l->low > l->high;
    }
}

// Makes the next level of a nest: a range, or a variable that a form, a map or
// the arguments of a map give. False: no memory.
static bool adx_begin_level(adx_ordering *k, adx_nest_level *l,
                            const adx_next_level *next)
{
    adx_set *s = k->s;
    adx_level_kind kind = next->kind;
    uint32_t v = next->var;
    uint32_t row = next->row;
    l->kind = kind;
    l->var = v;
    l->low = s->low[v];
    l->high = s->high[v];
    k->when[v] = k->nest->levels;
    if (kind == ADX_LEVEL_RANGE)
        return true;
    const int64_t *form = adx_form_of(s, row);
    k->used[row] = true;
    l->table = s->row[row].table;
    l->k = form[1 + v];
    bool ok = adx_make_sparse_form(s, form, v, &l->form);
    if (kind == ADX_LEVEL_SOLVED)
        return ok;
    const int64_t *argument = adx_form_of(s, s->row[row].at);
    if (kind == ADX_LEVEL_ARGUMENTS) {
        l->k = argument[1 + v];
        ok = ok && adx_invert_table(s->arena, s->row[row].table);
    }
    return ok && adx_make_sparse_form(s, argument, v, &l->argument);
}

// Makes loops over a set, which is simplified. inner: the variable that should
// be the innermost one; UINT32_MAX: none; ADX_IN_ORDER: points are visited in
// the order of their variables. stride [vars]: how far apart in memory what is
// read and written lies along each variable; may be NULL. NULL: no memory.
static adx_nest *adx_make_nest(const adx_set *set, uint32_t inner,
                               const int64_t stride[])
{
    adx_ordering k = { .s = adx_copy_set(set),
                       .in_order = inner == ADX_IN_ORDER, .stride = stride };
    adx_arena *a = set->arena;
    k.nest = ADX_GET(a, 1, adx_nest);
    k.when = ADX_GET(a, set->vars, uint32_t);
    k.used = ADX_GET(a, ADX_ROWS_MOST + set->rows, bool);
    if (k.s == NULL || k.nest == NULL || k.when == NULL || k.used == NULL)
        return NULL;
    k.nest->level = ADX_GET(a, set->vars, adx_nest_level);
    if (k.nest->level == NULL)
        return NULL;
    memset(k.when, 0xff, set->vars * sizeof *k.when);   // ADX_NOT_YET
    k.nest->vars = set->vars;
    k.nest->empty = set->empty;
    k.nest->open = set->open;
    for (uint32_t v = 0; v < set->open; v++, k.nest->levels++) {
        const adx_next_level size = { v, ADX_LEVEL_RANGE, UINT32_MAX, 0, 0 };
        adx_begin_level(&k, &k.nest->level[v], &size);
    }
    for (;;) {
        const adx_next_level next = adx_next_var(&k, inner);
        if (next.var == UINT32_MAX)
            break;
        if (!adx_begin_level(&k, &k.nest->level[k.nest->levels], &next))
            return NULL;
        k.nest->levels++;
    }
    adx_narrow_ranges(&k);
    bool placed = adx_place_rows(&k);
    if (placed && set->open > 0)
        adx_tidy_bounds(k.s, k.nest);
    return placed && a->status == ADREV_OK ? k.nest : NULL;
}

/* --- walks --------------------------------------------------------------- */

// Told of the points that differ in x[var] only, which runs over `count` values
// from x[var] on; var UINT32_MAX: of one point. False ends the walk.
typedef bool adx_point_fn(void *user, const int64_t x[], uint32_t var,
                          int64_t count);

typedef struct adx_nest_walk {
    const adx_nest *nest;
    adx_point_fn *visit;
    void *user;
    int64_t *x;                 // [vars]
} adx_nest_walk;

// Whether a check is passed at the point x.
static bool adx_passes(const adx_set_check *c, const int64_t x[])
{
    int64_t v = adx_sparse_at(&c->form, x);
    if (c->kind == ADX_ROW_ZERO)
        return v == 0;
    if (c->kind == ADX_ROW_SIGN)
        return v >= 0;
    if (c->kind == ADX_ROW_VALUE) {
        int64_t at = adx_sparse_at(&c->argument, x) - c->table->from;
        return at >= 0 && (uint64_t)at < c->table->n
            && c->table->value[at] == v;
    }
    bool set = v >= 0 && (uint64_t)v < c->bits->n
            && adx_has_bit(c->bits, (uint64_t)v);
    return set == (c->kind == ADX_ROW_BIT);
}

static bool adx_walk_from(const adx_nest_walk *w, uint32_t level);

// Goes on to the next level once x[var] has its value. False: the visitor has
// stopped the walk.
static bool adx_walk_on(const adx_nest_walk *w, uint32_t level)
{
    const adx_nest_level *l = &w->nest->level[level];
    for (uint32_t i = 0; i < l->checks; i++)
        if (!adx_passes(&l->check[i], w->x))
            return true;
    return adx_walk_from(w, level + 1);
}

// Returns the bits that must be 1 along a level, one for each value of its
// variable; *first: the number of that at value 0. NULL: there are none.
static const adx_bitmap *adx_bits_along(const adx_nest_level *l,
                                        const int64_t x[], int64_t *first)
{
    const adx_set_check *c = l->check;
    if (l->checks == 0 || c->kind != ADX_ROW_BIT)
        return NULL;
    bool along = false;
    for (uint32_t i = 0; i < c->form.n; i++)
        along = along || (c->form.var[i] == l->var && c->form.k[i] == 1);
    *first = along ? adx_sparse_at(&c->form, x) - x[l->var] : 0;
    return along ? c->bits : NULL;
}

// Returns how many bits from this one on are 0, as far as one word says.
static int64_t adx_zeros_from(const adx_bitmap *b, int64_t at)
{
    if (at < 0 || (uint64_t)at >= b->n)
        return 0;
    return b->word[at / 64] >> (at % 64) == 0 ? 64 - at % 64 : 0;
}

// Walks a range: narrows it by the bounds that earlier variables give, and
// visits each of its points. The last level, if it has no checks, is visited as
// a whole. Points whose bits are zero are skipped. False: the visitor has
// stopped the walk.
static bool adx_walk_range(const adx_nest_walk *w, uint32_t level)
{
    const adx_nest_level *l = &w->nest->level[level];
    int64_t low = l->low;
    int64_t high = l->high;
    for (uint32_t i = 0; i < l->bounds; i++) {
        int64_t k = l->bound[i].k;
        int64_t rest = adx_sparse_at(&l->bound[i].form, w->x);
        if (k > 0) {
            int64_t least = k == 1 ? -rest : adx_ceil_div(-rest, k);
            low = least > low ? least : low;
        } else {
            int64_t most = k == -1 ? rest : adx_floor_div(rest, -k);
            high = most < high ? most : high;
        }
    }
    if (low > high)
        return true;
    w->x[l->var] = low;
    if (level + 1 == w->nest->levels && l->checks == 0)
        return w->visit(w->user, w->x, l->var, high - low + 1);
    int64_t first = 0;
    const adx_bitmap *bits = adx_bits_along(l, w->x, &first);
    for (; low <= high; low++) {
        int64_t zeros = bits == NULL ? 0 : adx_zeros_from(bits, first + low);
        w->x[l->var] = low;
        if (zeros > 0)
            low += zeros - 1;
        else if (!adx_walk_on(w, level))
            return false;
    }
    return true;
}

// Walks the arguments at which a map has a given value. False: the visitor has
// stopped the walk.
static bool adx_walk_arguments(const adx_nest_walk *w, uint32_t level)
{
    const adx_nest_level *l = &w->nest->level[level];
    const adx_int_table *t = l->table;
    int64_t v = adx_sparse_at(&l->form, w->x);
    if (v < t->low || v > t->high)
        return true;
    int64_t rest = adx_sparse_at(&l->argument, w->x);
    for (uint32_t i = t->start[v - t->low]; i < t->start[v - t->low + 1]; i++) {
        int64_t x = (t->from + t->argument[i] - rest) * l->k;
        if (x < l->low || x > l->high)
            continue;
        w->x[l->var] = x;
        if (!adx_walk_on(w, level))
            return false;
    }
    return true;
}

// A variable with one value at most.
static bool adx_walk_one(const adx_nest_walk *w, uint32_t level)
{
    const adx_nest_level *l = &w->nest->level[level];
    int64_t rest = adx_sparse_at(&l->form, w->x);
    if (l->kind == ADX_LEVEL_VALUE) {
        int64_t at = adx_sparse_at(&l->argument, w->x) - l->table->from;
        if (at < 0 || (uint64_t)at >= l->table->n)
            return true;
        rest -= l->table->value[at];
    }
    if (rest % l->k != 0)
        return true;
    int64_t x = -(rest / l->k);
    if (x < l->low || x > l->high)
        return true;
    w->x[l->var] = x;
    return adx_walk_on(w, level);
}

// Visits all points of the levels from `level` on. False: a visit wants no
// more.
static bool adx_walk_from(const adx_nest_walk *w, uint32_t level)
{
    if (level == w->nest->levels)
        return w->visit(w->user, w->x, UINT32_MAX, 1);
    switch (w->nest->level[level].kind) {
    case ADX_LEVEL_RANGE: return adx_walk_range(w, level);
    case ADX_LEVEL_ARGUMENTS: return adx_walk_arguments(w, level);
    case ADX_LEVEL_SOLVED: case ADX_LEVEL_VALUE: break;
    }
    return adx_walk_one(w, level);
}

// Visits all points of a nest, in strips of the innermost loop. x: [vars]
// memory. False: the visitor has stopped the walk.
static bool adx_walk_nest(const adx_nest *nest, int64_t x[],
                          adx_point_fn *visit, void *user)
{
    const adx_nest_walk w = { nest, visit, user, x };
    return nest->empty || adx_walk_from(&w, 0);
}

/* === tensor/binding =========================================================
 * What a text is bound to: sizes, the entries of relations, the values of maps,
 * and how arrays lie in memory. All of it is copied.
 *
 *   needs   tape/memory tensor/api tensor/tree tensor/names tensor/arena
 *           tensor/sets
 *   offers  adx_given_relation adx_tensor_program adx_tensor_step_fn
 *           adx_step_way ADX_STEP_WHOLE ADX_STEP_INDEX ADX_STEP_TERMS
 *           ADX_STEP_RUNS ADX_STEP_SUMS adx_step_cut adx_tensor_code
 *           adx_open_sizes adx_spare_of_thread adx_size_form adx_dim_range
 *           adx_begin_given adx_unbind_tensor adx_free_given adx_named
 *           adx_places_of
 * ========================================================================== */

ADX_SELDOM_BEGIN

// What the caller has given, for each name of the text; NULL or -1: not yet.
typedef struct adx_given_relation {
    size_t entries;
    int32_t **column;           // [arity][entries]
    bool by_rows;               // of this range:
    int64_t from, to;
} adx_given_relation;

typedef struct adx_tensor_given {
    int64_t *size;              // by the numbers of the tree
    adx_given_relation *relation;
    int32_t **map;
    size_t *map_n;
    ptrdiff_t **stride;         // of arrays
} adx_tensor_given;

// Loops and memory, made when the text is bound: tensor/programs.
typedef struct adx_tensor_program adx_tensor_program;

// A step of a program as machine code: the values, tables of whole numbers,
// which values are needed, flags for picks, memory for the sums of a part,
// which part it is (-1: all), and its range.
typedef void adx_tensor_step_fn(ad_real *const *base, const void *const *table,
                                const unsigned char *need, unsigned char *done,
                                ad_real *sums, long which, long lo,
                                long hi);

// How such a step is cut into parts (tensor/bundles).
typedef enum adx_step_way {
    ADX_STEP_WHOLE,             // not at all
    ADX_STEP_INDEX,             // a part has the numbers lo <= index < hi
    ADX_STEP_TERMS,             // ... the points of the value's cut
    ADX_STEP_RUNS,              // ... the runs lo <= e < hi of a bundle
    ADX_STEP_SUMS               // ... sums of its own
} adx_step_way;

typedef struct adx_step_cut {
    adx_step_way way;
    uint32_t dim;               // the index of lo and hi, or UINT32_MAX
    int64_t from, to;           // the first lo, the last hi
    uint32_t parts;
    bool clears;                // all numbers are made 0 before
} adx_step_cut;

// By parts (ad_tensor_part) and values. No step: by the loops of tensor/run.
typedef struct adx_tensor_code {
    void *library;
    void (*unload)(void *library);
    const void **table;                     // [tables] data that the code gets
                                            // by address
    adx_tensor_step_fn **step[ADREV_TENSOR_HVP + 1];    // NULL: no such part
    adx_step_cut *cut[ADREV_TENSOR_HVP + 1];
    uint32_t *host[ADREV_TENSOR_HVP + 1];   // the value with which a value is
                                            // computed; 0: alone
    bool *inlined[ADREV_TENSOR_HVP + 1];    // it is never stored
    uint32_t *bundle[ADREV_TENSOR_HVP + 1]; // the value whose step computes it
                                            // with others; 0: none
} adx_tensor_code;

// Sizes that are variables of sets, from their least to the given number: where
// C code has them as arguments.
typedef struct adx_open_sizes {
    uint32_t n;
    uint32_t *var;              // [sizes of the tree] 1 + the variable; 0: none
    uint32_t *size;             // [n] of the tree
    int64_t *least;             // [n]
    const char *why;            // something cannot be decided for all of them
} adx_open_sizes;

#define ADX_TENSOR_SPARES 8     // threads whose memory is kept, at most

struct ad_tensor {
    ad_allocator memory;
    ad_tensor_options options;
    adx_tree tree;
    adx_tensor_given given;
    adx_arena arena;            // of the program
    adx_tensor_program *program;        // NULL: not bound
    adx_tensor_code *code;      // machine code of the program, or NULL
    adx_spare lists[ADX_TENSOR_SPARES];         // of evaluations
    adx_spare numbers[ADX_TENSOR_SPARES];
    adx_spare panels[ADX_TENSOR_SPARES];        // of products: tensor/matrices
    uint64_t binding;           // times that this has become NULL
    adx_open_sizes *open;       // NULL: none, as in all that is evaluated here
};

// Returns which spare memory a thread uses: the place of its stack says it, so
// that a thread mostly finds what it gave back. The system would give and take
// back the memory of large values at each evaluation.
static size_t adx_spare_of_thread(void)
{
    char here;
    return (size_t)((uintptr_t)&here >> 20) % ADX_TENSOR_SPARES;
}

/* --- forms in sizes ------------------------------------------------------ */

// The value of a form without indices. False: a size is not given, or the value
// is too large.
static bool adx_size_form(const ad_tensor *t, uint32_t form, int64_t *value)
{
    const adx_affine *f = &t->tree.form[form];
    *value = f->constant;
    for (uint32_t i = 0; i < f->count; i++) {
        const adx_multiple *m = &t->tree.multiple[f->first + i];
        int64_t n = t->given.size[m->of];
        if (m->kind != ADX_OF_SIZE || n < 0
            || (n > 0 && (m->k > ADX_WHOLE_MOST / 64 / n
                          || m->k < -(ADX_WHOLE_MOST / 64 / n)))
            || *value > ADX_WHOLE_MOST || *value < -ADX_WHOLE_MOST)
            return false;
        *value += m->k * n;
    }
    return *value <= ADX_WHOLE_MOST && *value >= -ADX_WHOLE_MOST;
}

// Returns the range from <= index < to of a dimension; an empty one has to =
// from.
static bool adx_dim_range(const ad_tensor *t, const adx_dim *d, int64_t *from,
                          int64_t *to)
{
    if (!adx_size_form(t, d->from, from) || !adx_size_form(t, d->to, to))
        return false;
    *to = *to < *from ? *from : *to;
    return true;
}

/* --- begin and end ------------------------------------------------------- */

// Takes memory for what the caller will give: sizes, relations, maps and
// strides. No size is known yet (-1). False: no memory.
static bool adx_begin_given(ad_tensor *t)
{
    const ad_allocator *a = &t->memory;
    const adx_tree *tree = &t->tree;
    adx_tensor_given *g = &t->given;
    g->size = (int64_t *)adx_take(a, tree->size_count, sizeof *g->size);
    g->relation = (adx_given_relation *)adx_take(a, tree->relation_count,
                                                 sizeof *g->relation);
    g->map = (int32_t **)adx_take(a, tree->map_count, sizeof *g->map);
    g->map_n = (size_t *)adx_take(a, tree->map_count, sizeof *g->map_n);
    g->stride = (ptrdiff_t **)adx_take(a, tree->array_count,
                                       sizeof *g->stride);
    for (size_t i = 0; g->size != NULL && i < tree->size_count; i++)
        g->size[i] = -1;
    if (g->relation != NULL)
        memset(g->relation, 0, tree->relation_count * sizeof *g->relation);
    if (g->map != NULL)
        memset(g->map, 0, tree->map_count * sizeof *g->map);
    if (g->stride != NULL)
        memset(g->stride, 0, tree->array_count * sizeof *g->stride);
    t->arena.memory = a;
    return g->size != NULL && g->relation != NULL && g->map != NULL
        && g->map_n != NULL && g->stride != NULL;
}

// Frees the columns of a relation, so that it is not given.
static void adx_drop_relation(const ad_allocator *a, adx_given_relation *r,
                              uint32_t arity)
{
    for (uint32_t k = 0; r->column != NULL && k < arity; k++)
        adx_drop(a, r->column[k]);
    adx_drop(a, r->column);
    memset(r, 0, sizeof *r);
}

// Frees all that binding made: code, spare memory and program. What was given
// stays.
static void adx_unbind_tensor(ad_tensor *t)
{
    if (t->code != NULL)
        t->code->unload(t->code->library);
    t->code = NULL;
    for (int i = 0; i < ADX_TENSOR_SPARES; i++) {
        adx_drop_spare(&t->lists[i], &t->memory);
        adx_drop_spare(&t->numbers[i], &t->memory);
        adx_drop_spare(&t->panels[i], &t->memory);
    }
    adx_free_arena(&t->arena);
    t->arena.status = ADREV_OK;
    t->program = NULL;
    t->binding++;
}

// Frees what the caller has given, and the program that was bound to it.
static void adx_free_given(ad_tensor *t)
{
    const ad_allocator *a = &t->memory;
    adx_tensor_given *g = &t->given;
    for (size_t i = 0; g->relation != NULL && i < t->tree.relation_count; i++)
        adx_drop_relation(a, &g->relation[i], t->tree.relation[i].arity);
    for (size_t i = 0; g->map != NULL && i < t->tree.map_count; i++)
        adx_drop(a, g->map[i]);
    for (size_t i = 0; g->stride != NULL && i < t->tree.array_count; i++)
        adx_drop(a, g->stride[i]);
    adx_drop(a, g->size);
    adx_drop(a, g->relation);
    adx_drop(a, g->map);
    adx_drop(a, g->map_n);
    adx_drop(a, g->stride);
    adx_unbind_tensor(t);
}

/* --- the interface ------------------------------------------------------- */

// Returns what a name stands for, if it is a name of this kind.
static ad_status adx_named(const ad_tensor *t, const char *name,
                           adx_declared_kind kind, uint32_t *of)
{
    if (t == NULL || name == NULL)
        return ADREV_ESHAPE;
    const adx_declared *d = adx_find_declared(&t->tree, name, strlen(name));
    if (d == NULL || d->kind != kind)
        return ADREV_ESYNTAX;
    *of = d->of;
    return ADREV_OK;
}

ADX_API ad_status ad_tensor_size(ad_tensor *t, const char *name, size_t n)
{
    uint32_t i = 0;
    ad_status status = adx_named(t, name, ADX_NAMES_SIZE, &i);
    if (status != ADREV_OK)
        return status;
    if (n > INT32_MAX)
        return ADREV_ELIMIT;
    if (t->given.size[i] != (int64_t)n)
        adx_unbind_tensor(t);
    t->given.size[i] = (int64_t)n;
    return ADREV_OK;
}

// Returns a copy as numbers of 32 bits. NULL: no memory.
static int32_t *adx_copy_ints(const ad_allocator *a, size_t n, const int from[])
{
    int32_t *to = (int32_t *)adx_take(a, n, sizeof *to);
    for (size_t i = 0; to != NULL && i < n; i++)
        to[i] = (int32_t)from[i];
    return to;
}

// Takes the columns over in place of those that the relation had. If one of
// them is lacking, there was no memory: all are freed.
static ad_status adx_give_relation(ad_tensor *t, uint32_t i,
                                   const adx_given_relation *given)
{
    uint32_t arity = t->tree.relation[i].arity;
    for (uint32_t k = 0; k < arity; k++)
        if (given->column == NULL || given->column[k] == NULL) {
            adx_given_relation part = *given;
            adx_drop_relation(&t->memory, &part, arity);
            return ADREV_ENOMEM;
        }
    adx_unbind_tensor(t);
    adx_drop_relation(&t->memory, &t->given.relation[i], arity);
    t->given.relation[i] = *given;
    return ADREV_OK;
}

// Makes room for the columns, all NULL.
static int32_t **adx_new_columns(const ad_tensor *t, uint32_t arity)
{
    int32_t **column = (int32_t **)adx_take(&t->memory, arity, sizeof *column);
    if (column != NULL)
        memset(column, 0, arity * sizeof *column);
    return column;
}

ADX_API ad_status ad_tensor_relation(ad_tensor *t, const char *name,
                                     size_t entries, const int *const column[])
{
    uint32_t i = 0;
    ad_status status = adx_named(t, name, ADX_NAMES_RELATION, &i);
    if (status != ADREV_OK)
        return status;
    if (entries > INT32_MAX)
        return ADREV_ELIMIT;
    if (column == NULL)
        return ADREV_ESHAPE;
    uint32_t arity = t->tree.relation[i].arity;
    for (uint32_t k = 0; k < arity; k++)
        if (column[k] == NULL && entries > 0)
            return ADREV_ESHAPE;
    const adx_given_relation given =
        { entries, adx_new_columns(t, arity), false, 0, 0 };
    for (uint32_t k = 0; given.column != NULL && k < arity; k++)
        given.column[k] = adx_copy_ints(&t->memory, entries, column[k]);
    return adx_give_relation(t, i, &given);
}

// Whether start[] is that of rows one behind the other.
static bool adx_are_rows(size_t rows, const int start[])
{
    bool ok = start[0] == 0;
    for (size_t i = 0; i < rows && ok; i++)
        ok = start[i] <= start[i + 1];
    return ok;
}

ADX_API ad_status ad_tensor_csr(ad_tensor *t, const char *name,
                                const int start[], const int column[])
{
    uint32_t i = 0;
    int64_t from;
    int64_t to;
    ad_status status = adx_named(t, name, ADX_NAMES_RELATION, &i);
    if (status == ADREV_OK && t->tree.relation[i].arity != 2)
        status = ADREV_ESYNTAX;
    if (status != ADREV_OK)
        return status;
    if (start == NULL
        || !adx_dim_range(t, &t->tree.dim[t->tree.relation[i].first], &from,
                          &to)
        || !adx_are_rows((size_t)(to - from), start))
        return ADREV_ESHAPE;
    size_t rows = (size_t)(to - from);
    size_t entries = (size_t)start[rows];
    if (column == NULL && entries > 0)
        return ADREV_ESHAPE;
    const adx_given_relation given =
        { entries, adx_new_columns(t, 2), true, from, to };
    if (given.column != NULL) {
        given.column[0] = (int32_t *)adx_take(&t->memory, entries,
                                              sizeof **given.column);
        given.column[1] = adx_copy_ints(&t->memory, entries, column);
    }
    for (size_t r = 0; given.column != NULL && given.column[0] != NULL
                       && r < rows; r++)
        for (int e = start[r]; e < start[r + 1]; e++)
            given.column[0][e] = (int32_t)(from + (int64_t)r);
    return adx_give_relation(t, i, &given);
}

ADX_API ad_status ad_tensor_map(ad_tensor *t, const char *name,
                                const int value[])
{
    uint32_t i = 0;
    int64_t from;
    int64_t to;
    ad_status status = adx_named(t, name, ADX_NAMES_MAP, &i);
    if (status != ADREV_OK)
        return status;
    if (!adx_dim_range(t, &t->tree.dim[t->tree.map[i].domain], &from, &to)
        || (value == NULL && to > from))
        return ADREV_ESHAPE;
    int32_t *copy = adx_copy_ints(&t->memory, (size_t)(to - from), value);
    if (copy == NULL)
        return ADREV_ENOMEM;
    adx_unbind_tensor(t);
    adx_drop(&t->memory, t->given.map[i]);
    t->given.map[i] = copy;
    t->given.map_n[i] = (size_t)(to - from);
    return ADREV_OK;
}

// Returns how many strides an array has: all columns of a relation have one.
static uint32_t adx_places_of(const adx_tree *tree, const adx_tensor_array *a)
{
    const adx_dim *d = &tree->dim[a->first];
    return a->rank == 0 || d->relation == 0 ? a->rank
         : a->rank - tree->relation[d->relation].arity + 1;
}

ADX_API ad_status ad_tensor_layout(ad_tensor *t, const char *array,
                                   const ptrdiff_t stride[])
{
    uint32_t i = 0;
    ad_status status = adx_named(t, array, ADX_NAMES_ARRAY, &i);
    if (status != ADREV_OK)
        return status;
    const adx_tensor_array *a = &t->tree.array[i];
    if (a->formula != 0 && !a->out)
        return ADREV_ESYNTAX;
    if (stride == NULL)
        return ADREV_ESHAPE;
    uint32_t n = adx_places_of(&t->tree, a);
    ptrdiff_t *copy = (ptrdiff_t *)adx_take(&t->memory, n, sizeof *copy);
    if (copy == NULL)
        return ADREV_ENOMEM;
    memcpy(copy, stride, n * sizeof *copy);
    adx_unbind_tensor(t);
    adx_drop(&t->memory, t->given.stride[i]);
    t->given.stride[i] = copy;
    return ADREV_OK;
}

ADX_SELDOM_END

/* === tensor/open ============================================================
 * Ranges of indices where sizes are open: from one form in these sizes to
 * another. Such a form is a list of numbers, [1 + open sizes]: a constant, then
 * the coefficients, as in a set, whose first variables the open sizes are.
 *
 *   needs   tensor/api tensor/tree tensor/arena tensor/sets tensor/nests
 *           tensor/binding
 *   offers  adx_open_of adx_say_undecided adx_is_open_form adx_form_in_sizes
 *           adx_open_extreme adx_add_open adx_begin_set adx_ranges
 *           adx_make_ranges adx_bound_var adx_range_of_var adx_set_of_ranges
 *           adx_is_long_walk adx_witness adx_take_witness adx_indexed
 *           adx_holds_at adx_are_covering adx_contains
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Returns how many sizes are open.
static uint32_t adx_open_of(const ad_tensor *t)
{
    return t->open == NULL ? 0 : t->open->n;
}

// Says that, and why, something cannot be decided for all sizes.
static void adx_say_undecided(ad_tensor *t, const char *why)
{
    if (t->arena.status == ADREV_OK)
        t->open->why = why;
    adx_arena_fail(&t->arena, ADREV_ESHAPE);
}

/* --- forms in sizes ------------------------------------------------------ */

// Whether an open size is in a form, also by maps.
static bool adx_is_open_form(const ad_tensor *t, uint32_t form)
{
    const adx_affine *f = &t->tree.form[form];
    bool open = false;
    for (uint32_t i = 0; i < f->count && t->open != NULL; i++) {
        const adx_multiple *m = &t->tree.multiple[f->first + i];
        open = open || (m->kind == ADX_OF_SIZE && t->open->var[m->of] != 0)
            || (m->kind == ADX_OF_MAP && adx_is_open_form(t, m->argument));
    }
    return open;
}

// A form without indices. False: a number is too large.
static bool adx_form_in_sizes(const ad_tensor *t, uint32_t form, int64_t to[])
{
    const adx_affine *f = &t->tree.form[form];
    int64_t most = 0;
    bool ok = adx_size_form(t, form, &most);
    memset(to, 0, (1 + adx_open_of(t)) * sizeof *to);
    to[0] = f->constant;
    for (uint32_t i = 0; i < f->count && ok; i++) {
        const adx_multiple *m = &t->tree.multiple[f->first + i];
        uint32_t var = t->open == NULL ? 0 : t->open->var[m->of];
        if (var == 0)
            to[0] += m->k * t->given.size[m->of];
        else
            to[var] += m->k;
    }
    return ok;
}

// Returns the least or largest value of a form, for all sizes.
static int64_t adx_open_extreme(ad_tensor *t, const int64_t form[], bool most)
{
    int64_t sum = form[0];
    for (uint32_t i = 0; i < adx_open_of(t); i++)
        sum = adx_whole_add(&t->arena, sum, form[1 + i],
                            (form[1 + i] > 0) == most
                                ? t->given.size[t->open->size[i]]
                                : t->open->least[i]);
    return sum;
}

// Computes to += k * a form in sizes.
static void adx_add_open(adx_arena *a, int64_t to[], int64_t k,
                         const int64_t form[], uint32_t open)
{
    for (uint32_t i = 0; i <= open; i++)
        to[i] = adx_whole_add(a, to[i], k, form[i]);
}

// Returns the set of one point, for all sizes. NULL: no memory.
static adx_set *adx_begin_set(ad_tensor *t)
{
    adx_set *s = adx_new_set(&t->arena);
    for (uint32_t i = 0; s != NULL && i < adx_open_of(t); i++)
        if (adx_new_var(s, t->open->least[i],
                        t->given.size[t->open->size[i]]) == UINT32_MAX)
            return NULL;
    if (s != NULL)
        s->open = adx_open_of(t);
    return s;
}

/* --- ranges of indices --------------------------------------------------- */

// from <= index <= last, for each index of a value. NULL: no size is open.
typedef struct adx_ranges {
    int64_t *from, *last;       // [dims][1 + open]
} adx_ranges;

// Takes memory for the ends of ranges; none is needed if no size is open.
static void adx_make_ranges(ad_tensor *t, uint32_t dims, adx_ranges *to)
{
    size_t n = t->open == NULL ? 0 : (size_t)dims * (1 + t->open->n);
    to->from = n == 0 ? NULL : ADX_GET(&t->arena, n, int64_t);
    to->last = n == 0 ? NULL : ADX_GET(&t->arena, n, int64_t);
}

// Bounds a variable of a set by forms in sizes. Where a bound is a number, it
// is that of the variable already.
static void adx_bound_var(adx_set *s, uint32_t var, const int64_t from[],
                          const int64_t last[])
{
    for (int upper = 0; upper < 2; upper++) {
        const int64_t *bound = upper ? last : from;
        bool open = false;
        for (uint32_t i = 0; i < s->open; i++)
            open = open || bound[1 + i] != 0;
        uint32_t r = open ? adx_new_row(s, ADX_ROW_SIGN) : UINT32_MAX;
        if (r == UINT32_MAX)
            continue;
        adx_add_open(s->arena, adx_form_of(s, r), upper ? 1 : -1, bound,
                     s->open);
        adx_form_of(s, r)[1 + var] = upper ? -1 : 1;
    }
}

// The range of a variable, as far as forms in sizes bound it from below and
// from above, as index d. It is never beyond the bounds of the variable.
static void adx_range_of_var(ad_tensor *t, const adx_ranges *to, uint32_t d,
                             const adx_set *s, uint32_t var)
{
    size_t at = (size_t)d * (1 + s->open);
    if (t->open == NULL || to->from == NULL || to->last == NULL)
        return;
    to->from[at] = s->low[var];
    to->last[at] = s->high[var];
    for (uint32_t r = s->rows; r-- > 0;) {
        const int64_t *form = adx_form_of(s, r);
        uint32_t some = 0;
        if (s->row[r].kind != ADX_ROW_SIGN || adx_vars_of(s, form, &some) != 1
            || some != var || (form[1 + var] != 1 && form[1 + var] != -1))
            continue;
        bool upper = form[1 + var] < 0;
        int64_t *bound = ADX_GET(s->arena, 1 + s->open, int64_t);
        if (bound == NULL)
            return;
        adx_add_open(s->arena, bound, upper ? 1 : -1, form, s->open);
        int64_t end = adx_open_extreme(t, bound, upper);
        if (upper ? end <= s->high[var] : end >= s->low[var])
            memcpy((upper ? to->last : to->from) + at, bound,
                   (1 + s->open) * sizeof *bound);
    }
}

// Returns the set of all indices in ranges; rows from 0 on are the indices.
static adx_set *adx_set_of_ranges(ad_tensor *t, const adx_ranges *in,
                                  uint32_t dims)
{
    adx_set *s = adx_begin_set(t);
    size_t n = 1 + adx_open_of(t);
    for (uint32_t d = 0; s != NULL && d < dims; d++)
        adx_new_var(s, adx_open_extreme(t, in->from + d * n, false),
                    adx_open_extreme(t, in->last + d * n, true));
    for (uint32_t d = 0; s != NULL && d < dims; d++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r != UINT32_MAX)
            adx_form_of(s, r)[n + d] = 1;
    }
    for (uint32_t d = 0; s != NULL && d < dims; d++)
        adx_bound_var(s, s->open + d, in->from + d * n, in->last + d * n);
    if (s != NULL)
        adx_simplify_set(s);
    return t->arena.status == ADREV_OK ? s : NULL;
}

/* --- what is true at all points ------------------------------------------ */

#define ADX_WALK_MOST 1e7

// Whether all that a nest may have to walk through, to find no point, is too
// much.
static bool adx_is_long_walk(const adx_nest *nest)
{
    double n = 1;
    for (uint32_t i = 0; i < nest->levels; i++)
        if (nest->level[i].kind == ADX_LEVEL_RANGE)
            n *= (double)(nest->level[i].high - nest->level[i].low + 1);
    return !nest->empty && n > ADX_WALK_MOST;
}

typedef struct adx_witness {
    int64_t *x;
    bool found;
} adx_witness;

// Stops a walk at its first point.
static bool adx_take_witness(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    adx_witness *w = (adx_witness *)user;
    (void)x;
    (void)var;
    (void)count;
    w->found = true;            // w->x is x
    return false;
}

// Returns the points of a set where a form is at least 0; less: where it is
// negative. NULL: no memory.
static adx_set *adx_set_with(const adx_set *s, const int64_t form[], bool less)
{
    adx_set *c = adx_copy_set(s);
    uint32_t r = c == NULL ? UINT32_MAX : adx_new_row(c, ADX_ROW_SIGN);
    if (r == UINT32_MAX)
        return NULL;
    for (uint32_t v = 0; v <= s->vars; v++)
        adx_form_of(c, r)[v] = less ? -form[v] : form[v];
    adx_form_of(c, r)[0] -= less;
    adx_simplify_set(c);
    return c;
}

// Whether it is known that a set, which is simplified, has no point.
static bool adx_has_no_point(const adx_set *s)
{
    if (s->empty)
        return true;
    adx_witness w = { ADX_GET(s->arena, s->vars, int64_t), false };
    const adx_nest *nest = adx_make_nest(s, UINT32_MAX, NULL);
    if (w.x == NULL || nest == NULL || adx_is_long_walk(nest))
        return false;
    adx_walk_nest(nest, w.x, adx_take_witness, &w);
    return !w.found;
}

// Whether a form is known to be at least 0 at all points of a set, which is
// simplified.
static bool adx_is_never_negative(const adx_set *s, const int64_t form[])
{
    if (s->empty || adx_extreme(s, form, false) >= 0)
        return true;
    const adx_set *less = adx_set_with(s, form, true);
    return less != NULL && adx_has_no_point(less);
}

// Whether each index is a variable of its own, or no variable; and there are no
// other variables.
static bool adx_are_own_indices(const adx_set *s, uint32_t row, uint32_t dims)
{
    uint32_t live = 0;
    uint32_t own = 0;
    for (uint32_t v = s->open; v < s->vars; v++)
        live += !s->gone[v];
    for (uint32_t d = 0; d < dims; d++) {
        const int64_t *form = adx_form_of(s, row + d);
        uint32_t v = 0;
        uint32_t other = 0;
        uint32_t count = adx_vars_of(s, form, &v);
        if (count > 1 || (count == 1 && !adx_is_unit(form[1 + v])))
            return false;
        for (uint32_t i = 0; i < d && count == 1; i++)
            if (adx_vars_of(s, adx_form_of(s, row + i), &other) == 1
                && other == v)
                return false;
        own += count;
    }
    return own == live;
}

// Indices of a set: rows from `row` on.
typedef struct adx_indexed {
    const adx_set *set;
    uint32_t row;
    uint32_t dims;
} adx_indexed;

// A form of the variables of `in`, at the indices that `at` has.
static void adx_form_at_indices(const adx_indexed *in, const int64_t form[],
                                const adx_indexed *at, int64_t to[])
{
    adx_arena *a = at->set->arena;
    uint32_t open = in->set->open;
    memset(to, 0, at->set->width * sizeof *to);
    adx_add_open(a, to, 1, form, open);
    for (uint32_t d = 0; d < in->dims; d++) {
        const int64_t *index = adx_form_of(in->set, in->row + d);
        uint32_t v = 0;
        if (adx_vars_of(in->set, index, &v) == 0)
            continue;
        int64_t k = form[1 + v] * index[1 + v];
        adx_add_multiple(at->set, to, k, adx_form_of(at->set, at->row + d));
        adx_add_open(a, to, -k, index, open);
    }
}

// Whether a form of the indices `in` is never negative where they are those
// `at`.
static bool adx_holds_at(const adx_indexed *in, const int64_t form[],
                         const adx_indexed *at)
{
    int64_t *there = ADX_GET(at->set->arena, at->set->width, int64_t);
    if (there == NULL)
        return false;
    adx_form_at_indices(in, form, at, there);
    return adx_is_never_negative(at->set, there);
}

// Whether the bounds of a variable of `in` hold at all points of `at`.
static bool adx_bounds_hold_at(const adx_indexed *in, uint32_t var,
                               const adx_indexed *at)
{
    int64_t *form = ADX_GET(at->set->arena, in->set->width, int64_t);
    if (form == NULL)
        return false;
    form[0] = -in->set->low[var];
    form[1 + var] = 1;
    if (!adx_holds_at(in, form, at))
        return false;
    form[0] = in->set->high[var];
    form[1 + var] = -1;
    return adx_holds_at(in, form, at);
}

// Whether an index that is no variable is the same at all points of `at`.
static bool adx_is_index_there(const adx_indexed *in, uint32_t d,
                               const adx_indexed *at)
{
    const int64_t *one = adx_form_of(in->set, in->row + d);
    const int64_t *other = adx_form_of(at->set, at->row + d);
    uint32_t some;
    return adx_vars_of(in->set, one, &some) > 0
        || (adx_vars_of(at->set, other, &some) == 0
            && memcmp(one, other, (1 + in->set->open) * sizeof *one) == 0);
}

// Whether a set has no other conditions than bounds and signs, and indices that
// are those of the other one.
static bool adx_is_comparable(const adx_indexed *in, const adx_indexed *at)
{
    const adx_set *s = in->set;
    bool ok = !s->empty && adx_are_own_indices(s, in->row, in->dims);
    for (uint32_t d = 0; d < in->dims && ok; d++)
        ok = adx_is_index_there(in, d, at);
    for (uint32_t r = 0; r < s->rows && ok; r++)
        ok = s->row[r].kind <= ADX_ROW_SIGN && s->row[r].kind != ADX_ROW_ZERO;
    return ok;
}

// The conditions of a set one after the other: those of its rows, then the
// bounds of its variables. False: there are no more.
static bool adx_next_form(const adx_set *s, uint32_t *i, int64_t form[])
{
    for (; *i < s->rows; ++*i)
        if (s->row[*i].kind == ADX_ROW_SIGN) {
            memcpy(form, adx_form_of(s, *i), s->width * sizeof *form);
            ++*i;
            return true;
        }
    for (; *i < s->rows + 2 * s->vars; ++*i) {
        uint32_t v = (*i - s->rows) / 2;
        bool upper = (*i - s->rows) % 2 != 0;
        if (s->gone[v])
            continue;
        memset(form, 0, s->width * sizeof *form);
        form[0] = upper ? s->high[v] : -s->low[v];
        form[1 + v] = upper ? -1 : 1;
        ++*i;
        return true;
    }
    return false;
}

// Whether it is known that some of the sets have each of the points of one.
static bool adx_are_covering(const adx_indexed in[], uint32_t n,
                             const adx_indexed *at)
{
    adx_indexed rest = *at;
    uint32_t i = 0;
    if (adx_has_no_point(at->set))
        return true;
    while (n > 0 && !adx_is_comparable(in, at)) {
        in++;
        n--;
    }
    if (n == 0)
        return false;
    int64_t *form = ADX_GET(at->set->arena, in->set->width, int64_t);
    int64_t *there = ADX_GET(at->set->arena, at->set->width + 64, int64_t);
    while (form != NULL && there != NULL && rest.set != NULL
           && adx_next_form(in->set, &i, form)) {
        adx_form_at_indices(in, form, &rest, there);
        if (adx_is_never_negative(rest.set, there))
            continue;
        const adx_indexed less = { adx_set_with(rest.set, there, true),
                                   at->row, at->dims };
        if (less.set == NULL || !adx_are_covering(in + 1, n - 1, &less))
            return false;
        rest.set = adx_set_with(rest.set, there, false);
    }
    return form != NULL && there != NULL && rest.set != NULL;
}

// Whether it is known that one set has all indices of another, for all sizes.
static bool adx_contains(const adx_indexed *in, const adx_indexed *at)
{
    const adx_set *s = in->set;
    bool ok = !s->empty && adx_are_own_indices(s, in->row, in->dims);
    if (at->set->empty)
        return true;
    for (uint32_t d = 0; d < in->dims && ok; d++)
        ok = adx_is_index_there(in, d, at);
    for (uint32_t v = 0; v < s->vars && ok; v++)
        ok = s->gone[v] || adx_bounds_hold_at(in, v, at);
    for (uint32_t r = 0; r < s->rows && ok; r++)
        ok = s->row[r].kind <= ADX_ROW_FORM
          || (s->row[r].kind == ADX_ROW_SIGN
              && adx_holds_at(in, adx_form_of(s, r), at));
    return ok;
}

ADX_SELDOM_END

/* === tensor/syntax ==========================================================
 * From a text to its tree: declarations and formulas. Each rule of the grammar
 * is a function (recursive descent), here and in tensor/expressions,
 * tensor/conditions and tensor/forms. A name stands for what the text before it
 * says, so one pass is enough.
 *
 *     text    = { item ";" }
 *     item    = "in" name [ "[" range, .. "]" ], ..
 *             | "rel" name "[" range, .. "]", ..
 *             | "map" name "[" range "]" -> range, ..
 *             | [ "out" ] name [ "[" index, .. "]" ] = sum
 *     range   = form | form : form | relation
 *
 *   needs   tape/memory tensor/api tensor/tree tensor/messages tensor/scan
 *           tensor/names tensor/forms tensor/conditions tensor/expressions
 *           tensor/binding
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- formulas ------------------------------------------------------------ */

// Adds a dimension to the array, relation or map that is being declared.
static void adx_add_dim(adx_parser *p, uint32_t from, uint32_t to,
                        uint32_t relation, uint32_t column)
{
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(p->tree, dim) : 0;
    const adx_dim dim = { from, to, relation, column };
    if (i == 0)
        adx_stop_parsing(p, ADREV_ENOMEM);
    p->tree->dim[i] = dim;
}

// Returns the array that a formula makes: its dimensions are the ranges of its
// indices.
static uint32_t adx_make_result(adx_parser *p, adx_spot name, uint32_t first,
                                uint32_t rank, bool out)
{
    adx_tree *tree = p->tree;
    uint32_t dims = (uint32_t)tree->dim_count;
    for (uint32_t i = 0; i < rank && p->status == ADREV_OK; i++)
        adx_add_dim(p, tree->index[first + i].from, tree->index[first + i].to,
                    0, 0);
    uint32_t array = p->status == ADREV_OK ? ADX_ONE_MORE(tree, array) : 0;
    if (array == 0)
        adx_stop_parsing(p, ADREV_ENOMEM);
    adx_tensor_array *a = &tree->array[array];
    a->name = name;
    a->first = dims;
    a->rank = rank;
    a->formula = (uint32_t)tree->formula_count;
    a->out = out;
    a->order = out ? tree->outs++ : 0;
    adx_declare(p, name, ADX_NAMES_ARRAY, array);
    return array;
}

// Reads the name on the left side of a formula. Inputs and others cannot stand
// there.
static adx_spot adx_read_left_name(adx_parser *p)
{
    const adx_declared *d = p->kind == ADX_WORD_NAME
                          ? adx_declared_at(p->tree, p->spot) : NULL;
    bool array = d != NULL && d->kind == ADX_NAMES_ARRAY;
    if (array && p->tree->array[d->of].formula == 0)
        adx_wrong_at(p, p->spot.at, "'%w' is an input: a formula cannot make "
                     "it", p->spot);
    else if (array)
        adx_wrong_at(p, p->spot.at, "'%w' has a formula already, in line %u",
                     p->spot, adx_line_of(p->tree, d->name.at));
    return adx_new_name(p, "the name of a result");
}

// Reads a formula: the name of the result with its indices, and the expression.
static void adx_read_formula(adx_parser *p, bool out)
{
    adx_tree *tree = p->tree;
    uint32_t first = (uint32_t)tree->index_count;
    p->first = first;
    adx_spot name = adx_read_left_name(p);
    if (adx_accept(p, '[')) {
        adx_read_bound(p);
        adx_expect(p, ']', "']'");
    }
    uint32_t rank = p->bounds;
    if (p->kind == ADX_WORD_EQ)
        adx_wrong_at(p, p->spot.at, "a formula has one '='");
    adx_expect(p, '=', p->kind == ';' || p->kind == ','
               ? "'=', or 'in' before an input," : rank == 0 ? "'=' or '['"
                                                             : "'='");
    p->making = name;
    uint32_t body = adx_read_sum(p);
    adx_unbind(p, 0);
    uint32_t array = adx_make_result(p, name, first, rank, out);
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(tree, formula) : 0;
    if (i == 0)
        adx_stop_parsing(p, ADREV_ENOMEM);
    const adx_tensor_formula formula = {
        array, first, (uint32_t)tree->index_count - first, body
    };
    tree->formula[i] = formula;
}

/* --- declarations -------------------------------------------------------- */

// Reads the relation at hand, as the first range of an array.
static void adx_read_columns(adx_parser *p, uint32_t relation, bool allowed)
{
    const adx_tensor_relation r = p->tree->relation[relation];
    if (!allowed)
        adx_wrong_at(p, p->spot.at, "'%w' is a relation: it can only be the "
                     "first range of an input", p->spot);
    for (uint32_t k = 0; k < r.arity; k++) {
        const adx_dim d = p->tree->dim[r.first + k];
        adx_add_dim(p, d.from, d.to, relation, k);
    }
    adx_take_word(p);
}

// Reads "[", ranges, "]", or nothing at all if that is allowed. Returns how
// many dimensions they are, from *first on.
static uint32_t adx_read_dims(adx_parser *p, uint32_t *first, bool array)
{
    adx_tree *tree = p->tree;
    *first = (uint32_t)tree->dim_count;
    if (array && p->kind != '[')
        return 0;
    adx_expect(p, '[', "'['");
    do {
        const adx_declared *d = p->kind == ADX_WORD_NAME
                              ? adx_declared_at(tree, p->spot) : NULL;
        uint32_t from = 1;
        uint32_t to = 0;
        if (d != NULL && d->kind == ADX_NAMES_RELATION)
            adx_read_columns(p, d->of, array && tree->dim_count == *first);
        else {
            adx_read_range(p, ADX_FORM_DECLARING, &from, &to);
            adx_add_dim(p, from, to, 0, 0);
        }
    } while (adx_accept(p, ','));
    uint32_t rank = (uint32_t)tree->dim_count - *first;
    if (rank > ADX_BOUND_MOST)
        adx_wrong_at(p, p->spot.at, "more than %u indices in one place",
                     (uint32_t)ADX_BOUND_MOST);
    adx_expect(p, ']', "']'");
    return rank;
}

// Reads one input of an `in`: its name and its ranges.
static void adx_read_input(adx_parser *p)
{
    adx_tree *tree = p->tree;
    uint32_t first;
    adx_spot name = adx_new_name(p, "the name of an input");
    uint32_t rank = adx_read_dims(p, &first, true);
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(tree, array) : 0;
    adx_tensor_array *a = &tree->array[i];
    a->name = name;
    a->first = first;
    a->rank = rank;
    a->order = tree->inputs++;
    adx_declare(p, name, ADX_NAMES_ARRAY, i);
}

// Reads one relation of a `rel`: its name and its ranges.
static void adx_read_relation(adx_parser *p)
{
    adx_tree *tree = p->tree;
    uint32_t first;
    adx_spot name = adx_new_name(p, "the name of a relation");
    uint32_t arity = adx_read_dims(p, &first, false);
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(tree, relation) : 0;
    const adx_tensor_relation relation = { name, first, arity };
    tree->relation[i] = relation;
    adx_declare(p, name, ADX_NAMES_RELATION, i);
}

// Reads the declaration of a map.
static void adx_read_map_declared(adx_parser *p)
{
    adx_tree *tree = p->tree;
    uint32_t first;
    uint32_t from;
    uint32_t to;
    adx_spot name = adx_new_name(p, "the name of a map");
    if (adx_read_dims(p, &first, false) > 1)
        adx_wrong_at(p, name.at, "a map has one index");
    adx_expect(p, ADX_WORD_ARROW, "'->' and the range of the values");
    adx_read_range(p, ADX_FORM_DECLARING, &from, &to);
    adx_add_dim(p, from, to, 0, 0);
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(tree, map) : 0;
    const adx_tensor_map map = { name, first, first + 1 };
    tree->map[i] = map;
    adx_declare(p, name, ADX_NAMES_MAP, i);
}

/* --- the text ------------------------------------------------------------ */

// Reads one declaration, of one or several names, or one formula.
static void adx_read_item(adx_parser *p)
{
    void (*read)(adx_parser *) = adx_is_word(p, "in") ? adx_read_input
                               : adx_is_word(p, "rel") ? adx_read_relation
                               : adx_is_word(p, "map") ? adx_read_map_declared
                               : NULL;
    if (read != NULL) {
        do {
            adx_take_word(p);           // the word, or a comma
            read(p);
        } while (p->kind == ',');
        adx_expect(p, ';', "',' or ';'");
    } else if (p->kind == ADX_WORD_NAME) {
        bool out = adx_is_word(p, "out");
        if (out)
            adx_take_word(p);
        adx_read_formula(p, out);
        adx_end_sum(p, ';');
    } else
        adx_say_missing(p, "a declaration or a formula");
}

// Reads all of the text, which must define a result.
static void adx_read_text(adx_parser *p)
{
    const adx_tree *tree = p->tree;
    adx_take_from(p, 0);
    if (p->kind == ADX_WORD_END)
        adx_wrong_at(p, 0, "the text is empty");
    while (p->kind != ADX_WORD_END)
        adx_read_item(p);
    if (p->status == ADREV_OK && tree->outs == 0)
        adx_wrong_at(p, p->behind, "the text has no 'out': write it before the "
                     "results that you want");
}

/* --- the interface ------------------------------------------------------- */

// Makes the tree of a text. What the tree has when this fails is freed with it.
static ad_status adx_read_tensor(ad_tensor *t, const char *text, size_t length,
                                 ad_tensor_error *error)
{
    adx_parser p;
    memset(&p, 0, sizeof p);
    p.tree = &t->tree;
    p.error = error;
    if (!adx_begin_tree(&t->tree, &t->memory, text, length)) {
        adx_explain_status(error, ADREV_ENOMEM);
        return ADREV_ENOMEM;
    }
    adx_read_text(&p);
    adx_drop(&t->memory, p.term);
    return p.status;
}

ADX_API void ad_tensor_free(ad_tensor *t)
{
    if (t == NULL)
        return;
    const ad_allocator memory = t->memory;
    adx_free_given(t);
    adx_free_tree(&t->tree);
    adx_drop(&memory, t);
}

// Makes a tensor from its text. On failure the error says why, and where.
static ad_status adx_new_tensor(ad_tensor **out, const char *text,
                                const ad_tensor_options *options,
                                ad_tensor_error *error)
{
    const ad_allocator *a =
        adx_allocator_or(options == NULL ? NULL : options->allocator);
    size_t length = text == NULL ? 0 : strlen(text);
    ad_status status = text == NULL || length > ADX_TEXT_MOST ? ADREV_ESHAPE
                                                              : ADREV_ENOMEM;
    ad_tensor *t = status == ADREV_ESHAPE || a == NULL
                 ? NULL : (ad_tensor *)adx_take(a, 1, sizeof *t);
    if (t == NULL) {
        adx_explain_status(error, status);
        return status;
    }
    memset(t, 0, sizeof *t);
    t->memory = *a;
    if (options != NULL)
        t->options = *options;
    t->options.allocator = &t->memory;
    status = adx_read_tensor(t, text, length, error);
    if (status == ADREV_OK && !adx_begin_given(t)) {
        adx_explain_status(error, ADREV_ENOMEM);
        status = ADREV_ENOMEM;
    }
    if (status == ADREV_OK)
        *out = t;
    else
        ad_tensor_free(t);
    return status;
}

ADX_API ad_status ad_tensor_new(ad_tensor **out, const char *text,
                                const ad_tensor_options *options,
                                ad_tensor_error *error)
{
    ad_tensor_error unwanted;
    if (out == NULL)
        return ADREV_ESHAPE;
    *out = NULL;
    return adx_new_tensor(out, text, options,
                          error == NULL ? &unwanted : error);
}

ADX_SELDOM_END

/* === tensor/print ===========================================================
 * A tree as text of the language, with all ranges: what adrev has understood.
 * Read again, it gives the same text.
 *
 *   needs   tensor/tree
 *   offers  adx_tree_printer adx_put_string_of adx_put_spot adx_put_natural
 *           adx_put_condition adx_print_tree
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_tree_printer {
    const adx_tree *tree;
    ad_write_fn *write;
    void *user;
} adx_tree_printer;

static void adx_put_string_of(const adx_tree_printer *k, const char *text)
{
    k->write(text, strlen(text), k->user);
}

// Writes what the text has at a spot.
static void adx_put_spot(const adx_tree_printer *k, adx_spot spot)
{
    k->write(k->tree->text + spot.at, spot.length, k->user);
}

// Writes a number in decimal digits.
static void adx_put_natural(const adx_tree_printer *k, uint64_t v)
{
    char digit[20];
    size_t at = sizeof digit;
    do
        digit[--at] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    k->write(digit + at, sizeof digit - at, k->user);
}

/* --- forms --------------------------------------------------------------- */

static void adx_put_form(const adx_tree_printer *k, uint32_t form);

// Writes one term of a form, with its sign.
static void adx_put_multiple(const adx_tree_printer *k, const adx_multiple *m,
                             bool first)
{
    const adx_tree *tree = k->tree;
    uint64_t size = m->k < 0 ? 0 - (uint64_t)m->k : (uint64_t)m->k;
    adx_put_string_of(k, m->k < 0 ? "-" : first ? "" : "+");
    if (size != 1) {
        adx_put_natural(k, size);
        adx_put_string_of(k, "*");
    }
    adx_put_spot(k, m->kind == ADX_OF_SIZE ? tree->size[m->of]
                 : m->kind == ADX_OF_INDEX ? tree->index[m->of].name
                                           : tree->map[m->of].name);
    if (m->kind == ADX_OF_MAP) {
        adx_put_string_of(k, "[");
        adx_put_form(k, m->argument);
        adx_put_string_of(k, "]");
    }
}

// Writes a form; a form of nothing is 0.
static void adx_put_form(const adx_tree_printer *k, uint32_t form)
{
    const adx_affine *f = &k->tree->form[form];
    int64_t c = f->constant;
    for (uint32_t i = 0; i < f->count; i++)
        adx_put_multiple(k, &k->tree->multiple[f->first + i], i == 0);
    if (c != 0 || f->count == 0) {
        adx_put_string_of(k, c < 0 ? "-" : f->count > 0 ? "+" : "");
        adx_put_natural(k, c < 0 ? 0 - (uint64_t)c : (uint64_t)c);
    }
}

// Writes the indices of a read or a membership, between commas.
static void adx_put_forms(const adx_tree_printer *k, const adx_tensor_node *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        adx_put_string_of(k, i == 0 ? "" : ",");
        adx_put_form(k, k->tree->list[n->first + i]);
    }
}

static bool adx_is_zero_form(const adx_tree *tree, uint32_t form)
{
    return tree->form[form].constant == 0 && tree->form[form].count == 0;
}

// Writes a range; one that begins at 0 as its end alone.
static void adx_put_range(const adx_tree_printer *k, uint32_t from,
                          uint32_t to)
{
    if (!adx_is_zero_form(k->tree, from)) {
        adx_put_form(k, from);
        adx_put_string_of(k, ":");
    }
    adx_put_form(k, to);
}

// Writes indices that are bound together: they stand one after another.
static void adx_put_bound(const adx_tree_printer *k, uint32_t first,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const adx_tensor_index *x = &k->tree->index[first + i];
        bool zero = adx_is_zero_form(k->tree, x->from);
        adx_put_string_of(k, i == 0 ? "" : ", ");
        adx_put_spot(k, x->name);
        adx_put_string_of(k, zero ? "<" : " in ");
        adx_put_range(k, x->from, x->to);
    }
}

/* --- conditions ---------------------------------------------------------- */

static void adx_put_condition(const adx_tree_printer *k, uint32_t node);

// Writes conditions with a sign between them.
static void adx_put_conditions(const adx_tree_printer *k, uint32_t child,
                               const char *sign)
{
    for (uint32_t i = child; i != 0; i = k->tree->node[i].next) {
        adx_put_string_of(k, i == child ? "" : sign);
        adx_put_condition(k, i);
    }
}

// Writes a condition.
static void adx_put_condition(const adx_tree_printer *k, uint32_t node)
{
    const adx_tensor_node *n = &k->tree->node[node];
    switch (n->kind) {
    case ADX_TREE_OR:
        adx_put_conditions(k, n->child, " | ");
        break;
    case ADX_TREE_AND:
        adx_put_conditions(k, n->child, ", ");
        break;
    case ADX_TREE_MEMBER:
        adx_put_spot(k, k->tree->relation[n->of].name);
        adx_put_string_of(k, "(");
        adx_put_forms(k, n);
        adx_put_string_of(k, ")");
        break;
    case ADX_TREE_EXISTS:
        adx_put_string_of(k, "exists(");
        adx_put_bound(k, n->first, n->count);
        adx_put_string_of(k, ": ");
        adx_put_condition(k, n->condition);
        adx_put_string_of(k, ")");
        break;
    default:
        adx_put_form(k, n->of);
        adx_put_string_of(k, n->kind == ADX_TREE_ZERO ? " == 0"
                          : n->kind == ADX_TREE_NOT_ZERO ? " != 0" : " >= 0");
    }
}

/* --- expressions --------------------------------------------------------- */

// How tightly a node binds.
enum { ADX_BINDS_SUM, ADX_BINDS_PRODUCT, ADX_BINDS_UNARY, ADX_BINDS_POWER,
       ADX_BINDS_ATOM };

// Returns how tightly an expression binds, for brackets around it.
static int adx_binds(const adx_tensor_node *n)
{
    switch (n->kind) {
    case ADX_TREE_ADD:
        return ADX_BINDS_SUM;
    case ADX_TREE_MUL:
        return ADX_BINDS_PRODUCT;
    case ADX_TREE_NEG: case ADX_TREE_SUM: case ADX_TREE_MAXIMUM:
    case ADX_TREE_MINIMUM: case ADX_TREE_BRACKET:
        return ADX_BINDS_UNARY;
    case ADX_TREE_NUMBER:
        return signbit(n->value) ? ADX_BINDS_UNARY : ADX_BINDS_ATOM;
    case ADX_TREE_POWER:
        return ADX_BINDS_POWER;
    default:
        return ADX_BINDS_ATOM;
    }
}

// Whether the text of a node goes on with the factors behind it.
static bool adx_is_open_ended(const adx_tree *tree, const adx_tensor_node *n)
{
    while (n->kind == ADX_TREE_NEG)
        n = &tree->node[n->child];
    return n->kind == ADX_TREE_BRACKET || n->kind == ADX_TREE_SUM
        || n->kind == ADX_TREE_MAXIMUM || n->kind == ADX_TREE_MINIMUM;
}

static void adx_put_node(const adx_tree_printer *k, uint32_t node);

// Writes an operand, in brackets unless it may stand bare.
static void adx_put_within(const adx_tree_printer *k, uint32_t node, bool bare)
{
    adx_put_string_of(k, bare ? "" : "(");
    adx_put_node(k, node);
    adx_put_string_of(k, bare ? "" : ")");
}

// Writes operands, which must bind as tightly as this.
static void adx_put_operands(const adx_tree_printer *k, uint32_t child,
                             int binds, const char *sign, const char *inverse)
{
    for (uint32_t i = child; i != 0; i = k->tree->node[i].next) {
        const adx_tensor_node *n = &k->tree->node[i];
        bool open = binds == ADX_BINDS_UNARY && n->next != 0
                 && adx_is_open_ended(k->tree, n);
        adx_put_string_of(k, i == child ? "" : n->inverse ? inverse : sign);
        adx_put_within(k, i, adx_binds(n) >= binds && !open);
    }
}

// Writes a sum, a maximum, a minimum or a bracket, and what it is of.
static void adx_put_reduction(const adx_tree_printer *k,
                              const adx_tensor_node *n, const char *word)
{
    adx_put_string_of(k, word);
    adx_put_bound(k, n->first, n->count);
    if (n->condition != 0) {
        adx_put_string_of(k, n->count > 0 ? ": " : "");
        adx_put_condition(k, n->condition);
    }
    adx_put_string_of(k, n->count > 0 ? ") " : "] ");
    adx_put_within(k, n->child, adx_binds(&k->tree->node[n->child])
                                    >= ADX_BINDS_PRODUCT);
}

// Writes a function and its arguments.
static void adx_put_call(const adx_tree_printer *k, const adx_tensor_node *n)
{
    adx_put_string_of(k, ad_op_table()[n->of].name);
    adx_put_string_of(k, "(");
    for (uint32_t i = n->child; i != 0; i = k->tree->node[i].next) {
        adx_put_string_of(k, i == n->child ? "" : ", ");
        adx_put_node(k, i);
    }
    adx_put_string_of(k, ")");
}

// Writes a read of an array.
static void adx_put_read(const adx_tree_printer *k, const adx_tensor_node *n)
{
    adx_put_spot(k, k->tree->array[n->of].name);
    if (n->count == 0)
        return;
    adx_put_string_of(k, n->guarded ? "?[" : "[");
    adx_put_forms(k, n);
    adx_put_string_of(k, "]");
}

// Writes a power.
static void adx_put_power(const adx_tree_printer *k, const adx_tensor_node *n)
{
    int64_t power = n->power;
    adx_put_within(k, n->child, adx_binds(&k->tree->node[n->child])
                                    >= ADX_BINDS_ATOM);
    adx_put_string_of(k, power < 0 ? "^-" : "^");
    adx_put_natural(k, (uint64_t)(power < 0 ? -power : power));
}

// Writes an expression.
static void adx_put_node(const adx_tree_printer *k, uint32_t node)
{
    const adx_tensor_node *n = &k->tree->node[node];
    const adx_tensor_node *child = &k->tree->node[n->child];
    switch (n->kind) {
    case ADX_TREE_NUMBER:
        adx_put_string_of(k, signbit(n->value) ? "-" : "");
        adx_put_spot(k, n->spot);
        break;
    case ADX_TREE_SIZE:
        adx_put_spot(k, k->tree->size[n->of]);
        break;
    case ADX_TREE_READ:
        adx_put_read(k, n);
        break;
    case ADX_TREE_ADD:
        adx_put_operands(k, n->child, ADX_BINDS_PRODUCT, " + ", " - ");
        break;
    case ADX_TREE_MUL:
        adx_put_operands(k, n->child, ADX_BINDS_UNARY, "*", "/");
        break;
    case ADX_TREE_NEG:          // -1 would be read as a number
        adx_put_string_of(k, child->kind == ADX_TREE_NUMBER ? "neg" : "-");
        adx_put_within(k, n->child, adx_binds(child) >= ADX_BINDS_UNARY
                                    && child->kind != ADX_TREE_NEG
                                    && child->kind != ADX_TREE_NUMBER);
        break;
    case ADX_TREE_POWER:
        adx_put_power(k, n);
        break;
    case ADX_TREE_CALL:
        adx_put_call(k, n);
        break;
    case ADX_TREE_SUM:
        adx_put_reduction(k, n, "sum(");
        break;
    case ADX_TREE_MAXIMUM:
        adx_put_reduction(k, n, "maximum(");
        break;
    case ADX_TREE_MINIMUM:
        adx_put_reduction(k, n, "minimum(");
        break;
    default:
        adx_put_reduction(k, n, "[");
    }
}

/* --- the whole tree ------------------------------------------------------ */

// Writes the dimensions of an array in brackets; a relation stands for all of
// its columns.
static void adx_put_dims(const adx_tree_printer *k, uint32_t first,
                         uint32_t rank)
{
    adx_put_string_of(k, rank > 0 ? "[" : "");
    for (uint32_t i = first; i < first + rank; i++) {
        const adx_dim *d = &k->tree->dim[i];
        if (d->relation != 0 && d->column > 0)
            continue;
        adx_put_string_of(k, i == first ? "" : ",");
        if (d->relation != 0)
            adx_put_spot(k, k->tree->relation[d->relation].name);
        else
            adx_put_range(k, d->from, d->to);
    }
    adx_put_string_of(k, rank > 0 ? "]" : "");
}

// Writes the declaration of an input, or a formula.
static void adx_put_array(const adx_tree_printer *k, const adx_tensor_array *a)
{
    const adx_tensor_formula *f = &k->tree->formula[a->formula];
    adx_put_string_of(k, a->formula == 0 ? "in " : a->out ? "out " : "");
    adx_put_spot(k, a->name);
    if (a->formula == 0) {
        adx_put_dims(k, a->first, a->rank);
        return;
    }
    adx_put_string_of(k, a->rank > 0 ? "[" : "");
    adx_put_bound(k, f->first, a->rank);
    adx_put_string_of(k, a->rank > 0 ? "] = " : " = ");
    adx_put_node(k, f->body);
}

// Writes a declaration.
static void adx_put_declared(const adx_tree_printer *k, const adx_declared *d)
{
    const adx_tree *tree = k->tree;
    if (d->kind == ADX_NAMES_RELATION) {
        adx_put_string_of(k, "rel ");
        adx_put_spot(k, d->name);
        adx_put_dims(k, tree->relation[d->of].first,
                     tree->relation[d->of].arity);
    } else if (d->kind == ADX_NAMES_MAP) {
        const adx_dim *values = &tree->dim[tree->map[d->of].values];
        adx_put_string_of(k, "map ");
        adx_put_spot(k, d->name);
        adx_put_dims(k, tree->map[d->of].domain, 1);
        adx_put_string_of(k, " -> ");
        adx_put_range(k, values->from, values->to);
    } else
        adx_put_array(k, &tree->array[d->of]);
    adx_put_string_of(k, ";\n");
}

// Writes all declarations and formulas, in the order of the text.
static void adx_print_tree(const adx_tree *tree, ad_write_fn *write,
                           void *user)
{
    const adx_tree_printer k = { tree, write, user };
    for (size_t i = 1; i < tree->declared_count; i++)
        if (tree->declared[i].kind != ADX_NAMES_SIZE)
            adx_put_declared(&k, &tree->declared[i]);
}

ADX_SELDOM_END

/* === tensor/programs ========================================================
 * What a text becomes when it is bound: values, which are arrays of numbers, in
 * an order in which each can be computed from those before it. A value is a sum
 * of terms. A term has a set; for each of its points a product of numbers read
 * from other values is added to a number of this value. The indices of what is
 * read and written are rows of the set, so a derivative exchanges the number
 * that is written with one that is read, and keeps the set.
 *
 * The numbers of a value that no point writes are 0. A term that reads a value
 * adds to its own set the conditions under which the number is written: so no
 * operation is done with a 0 that is there for this reason.
 *
 *   needs   core/cells tensor/api tensor/arena tensor/sets tensor/nests
 *           tensor/open
 *   offers  adx_access adx_tensor_term adx_value_kind ADX_VALUE_INPUT
 *           ADX_VALUE_TANGENT_IN ADX_VALUE_WEIGHT ADX_VALUE_SUM
 *           ADX_VALUE_APPLICATION ADX_VALUE_PARTIAL ADX_VALUE_SECOND
 *           ADX_VALUE_MOST ADX_VALUE_SIZE adx_tensor_second adx_tensor_value
 *           adx_new_value adx_lay_out adx_finish_value adx_new_tensor_term
 *           adx_add_factor adx_add_least adx_place_form adx_covering
 *           adx_cover_points adx_cover_form adx_all_written adx_join_sets
 *           adx_all_gone adx_restrict
 * ========================================================================== */

ADX_SELDOM_BEGIN

// A number of a value: its indices are rows `row` ... of a set.
typedef struct adx_access {
    uint32_t value;
    uint32_t row;
} adx_access;

// A term: at each point of the set, k times the factors is added to one number.
typedef struct adx_tensor_term {
    adx_set *set;
    uint32_t out;               // rows: the indices of what is written
    adx_access factor[3];
    uint32_t factors;
    ad_real k;                  // times this
    bool absorbs;               // one factor is a partial: where a factor is 0
                                // the product is, whatever the other is
    bool in_power;              // part of a power: derivatives absorb
    int32_t power;              // of a quotient: it is base^power, below 0
    adx_access base;
    // If `most` is a value: only the first point for each number of it, of
    // those at which `picked` is that number (rows `at`).
    uint32_t most;
    uint32_t at;
    adx_access picked;
    struct adx_loop *loop;      // tensor/run
} adx_tensor_term;

typedef enum adx_value_kind {
    ADX_VALUE_INPUT,            // the caller's: x, v or w, by `order`
    ADX_VALUE_TANGENT_IN,
    ADX_VALUE_WEIGHT,
    ADX_VALUE_SUM,              // of terms
    ADX_VALUE_APPLICATION,      // op of the factors of one term
    ADX_VALUE_PARTIAL,          // its partial with respect to argument `which`
    ADX_VALUE_SECOND,           // the derivative of that, `second`
    ADX_VALUE_MOST,             // the largest, or least, factor of all points;
                                // -infinity, or infinity, where there is none
    ADX_VALUE_SIZE              // the open size `order` as a number
} adx_value_kind;

// The derivative of a partial by argument `by`: the partial as terms, and which
// of them move with the argument (core/cells).
typedef struct adx_tensor_second {
    uint32_t by;
    uint64_t moving;
    adx_formula cell;
} adx_tensor_second;

typedef struct adx_tensor_value {
    adx_value_kind kind;
    uint32_t order;             // of an input, a tangent, a weight, a size
    uint32_t op;
    uint32_t which;
    const adx_tensor_second *second;
    uint32_t dims;
    int64_t *low;               // [dims] of indices
    int64_t *extent;
    ptrdiff_t *stride;
    uint64_t size;              // numbers
    adx_ranges range;           // of indices, where sizes are open: then low is
                                // the least index, extent the largest number
                                // of them
    uint64_t span;              // of memory
    ptrdiff_t first;            // from the lowest place to the least indices
    adx_tensor_term *term;
    uint32_t terms, room;
    bool fixed;                 // has no derivative
    bool result;                // the caller has an array for it
    bool full;                  // all numbers are written
    bool gaps;                  // of a most: some of them have no points
    bool known;                 // `full` or `support` says which
    bool cleared;               // all numbers are read, written or not
    bool once;                  // each number is written by one point
    bool crowded;               // an input: numbers share places
    const adx_bitmap *support;  // by adx_place_in; NULL: all
    struct adx_value_cut *cut;  // tensor/parts; NULL: one part
    uint32_t array;             // of the tree, or 0
    uint32_t tangent;           // the values of its derivatives, or 0
    uint32_t adjoint;
} adx_tensor_value;

typedef struct adx_shared_values adx_shared_values;     // tensor/sharing

struct adx_tensor_program {
    adx_tensor_value *value;           // from 1 on
    uint32_t values, room;
    uint32_t *order;            // of computing
    uint32_t steps, order_room;
    uint32_t primal;            // steps of values: the first ones
    uint32_t *input;            // values of the arrays, by their order
    uint32_t *tangent_in;
    uint32_t *weight;
    uint32_t *out;
    uint32_t *tangent_out;
    uint32_t *adjoint_in;
    uint32_t *second_in;        // tangents of adjoints
    adx_shared_values *shared;
    adx_int_table **map;            // of the tree's maps
    adx_int_table **column;         // of its relations: from column_of[r] on
    uint32_t *column_of;
    uint64_t picks;             // of the largest value that is a most
    uint32_t vars;              // of the largest set
    const struct adx_part_list *lists;
    adx_tensor_value *spelt;    // [values] as tensor/explain has them
    struct adx_entry_list *entries;     // tensor/entries
    uint64_t entry_numbers;     // in their columns
    uint32_t parts;             // most parts of a value
    uint32_t bounds;            // most bounds of a level
    uint64_t sums;              // numbers of sums of parts: of one part, and
    uint64_t all_sums;          // of all parts of a value
};

/* --- values -------------------------------------------------------------- */

// Adds a value. Returns its number; 0: no memory.
static uint32_t adx_new_value(ad_tensor *t, adx_value_kind kind, uint32_t dims)
{
    adx_tensor_program *p = t->program;
    adx_arena *a = &t->arena;
    if (p->values == p->room) {
        adx_tensor_value *wide = ADX_GET(a, 2 * p->room, adx_tensor_value);
        if (wide == NULL)
            return 0;
        memcpy(wide, p->value, p->values * sizeof *wide);
        p->value = wide;
        p->room *= 2;
    }
    adx_tensor_value *v = &p->value[p->values];
    memset(v, 0, sizeof *v);
    v->kind = kind;
    v->dims = dims;
    v->low = ADX_GET(a, dims, int64_t);
    v->extent = ADX_GET(a, dims, int64_t);
    v->stride = ADX_GET(a, dims, ptrdiff_t);
    adx_make_ranges(t, dims, &v->range);
    return a->status == ADREV_OK ? p->values++ : 0;
}

// Lays numbers one behind the other, the last index fastest. False: too many.
static bool adx_lay_out(ad_tensor *t, adx_tensor_value *v,
                        const ptrdiff_t stride[])
{
    uint64_t size = 1;
    for (uint32_t i = v->dims; i-- > 0;) {
        v->stride[i] = stride == NULL ? (ptrdiff_t)size : stride[i];
        if (v->extent[i] > 0
            && size > ((uint64_t)1 << 50) / (uint64_t)v->extent[i]) {
            adx_arena_fail(&t->arena, ADREV_ELIMIT);
            return false;
        }
        size *= (uint64_t)v->extent[i];
    }
    v->size = size;
    uint64_t span = size == 0 ? 0 : 1;
    for (uint32_t i = 0; i < v->dims && size > 0; i++) {
        uint64_t apart = v->stride[i] < 0 ? 0 - (uint64_t)v->stride[i]
                                        : (uint64_t)v->stride[i];
        if (v->extent[i] > 1
            && apart > ((uint64_t)1 << 50) / (uint64_t)v->extent[i]) {
            adx_arena_fail(&t->arena, ADREV_ELIMIT);
            return false;
        }
        if (v->extent[i] <= 1) {        // never taken, and any number
            v->stride[i] = 0;
            continue;
        }
        span += (uint64_t)(v->extent[i] - 1) * apart;
        if (v->stride[i] < 0)
            v->first = (ptrdiff_t)(v->first
                                   - (v->extent[i] - 1) * v->stride[i]);
    }
    v->span = span;
    return true;
}

// Says that a value can be computed from here on.
static void adx_finish_value(ad_tensor *t, uint32_t value)
{
    adx_tensor_program *p = t->program;
    if (p->steps == p->order_room) {
        uint32_t *wide = ADX_GET(&t->arena, 2 * p->order_room, uint32_t);
        if (wide == NULL)
            return;
        memcpy(wide, p->order, p->steps * sizeof *wide);
        p->order = wide;
        p->order_room *= 2;
    }
    p->order[p->steps++] = value;
}

// Adds a term to a value: k times a product of factors that are added later, at
// the points of a copy of this set. NULL: no memory.
static adx_tensor_term *adx_new_tensor_term(ad_tensor *t, uint32_t value,
                                            const adx_set *set, uint32_t out,
                                            ad_real k)
{
    adx_tensor_value *v = &t->program->value[value];
    if (v->terms == v->room) {
        uint32_t room = v->room == 0 ? 2 : 2 * v->room;
        adx_tensor_term *wide = ADX_GET(&t->arena, room, adx_tensor_term);
        if (wide == NULL)
            return NULL;
        if (v->terms > 0)
            memcpy(wide, v->term, v->terms * sizeof *wide);
        v->term = wide;
        v->room = room;
    }
    adx_tensor_term *to = &v->term[v->terms];
    memset(to, 0, sizeof *to);
    to->set = adx_copy_set(set);
    to->out = out;
    to->k = k;
    if (to->set == NULL)
        return NULL;
    v->terms++;
    return to;
}

// Multiplies a term by one more number. NULL: there was no memory for the term.
static void adx_add_factor(adx_tensor_term *term, adx_access from)
{
    if (term != NULL)
        term->factor[term->factors++] = from;
}

/* --- where numbers are --------------------------------------------------- */

// Computes to += k * the least index d.
static void adx_add_least(adx_arena *a, int64_t to[], int64_t k,
                          const adx_tensor_value *v, uint32_t d, uint32_t open)
{
    if (v->range.from == NULL)
        to[0] = adx_whole_add(a, to[0], k, v->low[d]);
    else
        adx_add_open(a, to, k, v->range.from + (size_t)d * (1 + open), open);
}

// The form of a number's place: by strides in memory, or else among `size`.
static void adx_place_form(const adx_set *s, const adx_tensor_value *v,
                           uint32_t row, bool memory, int64_t form[])
{
    int64_t stride = 1;
    memset(form, 0, s->width * sizeof *form);
    for (uint32_t i = v->dims; i-- > 0;) {
        int64_t by = memory ? v->stride[i] : stride;
        adx_add_multiple(s, form, by, adx_form_of(s, row + i));
        if (memory)
            adx_add_least(s->arena, form, -by, v, i, s->open);
        else
            form[0] = adx_whole_add(s->arena, form[0], -by, v->low[i]);
        stride *= v->extent[i];
    }
}

typedef struct adx_covering {
    adx_bitmap *bits;
    adx_sparse_form place;
    int64_t stride;             // from one value of the innermost variable to
    uint32_t var;               // the next
} adx_covering;

// Finds the numbers that a strip of points writes. False: all are covered, so
// no more need be looked at.
static bool adx_cover_points(void *user, const int64_t x[], uint32_t var,
                            int64_t count)
{
    const adx_covering *m = (const adx_covering *)user;
    int64_t at = adx_sparse_at(&m->place, x);
    int64_t stride = 0;
    for (uint32_t i = 0; var != UINT32_MAX && i < m->place.n; i++)
        if (m->place.var[i] == var)
            stride = m->place.k[i];
    for (int64_t i = 0; i < count; i++, at += stride)
        if (at >= 0 && (uint64_t)at < m->bits->n)
            adx_set_bit(m->bits, (uint64_t)at);
    return m->bits->set < m->bits->n;
}

// Covers what a form is at all points of a set. False: no memory.
static bool adx_cover_form(const adx_set *s, const int64_t form[],
                          adx_bitmap *bits)
{
    adx_covering m = { .bits = bits };
    int64_t *x = ADX_GET(s->arena, s->vars, int64_t);
    const adx_nest *nest = adx_make_nest(s, UINT32_MAX, NULL);
    if (x == NULL || nest == NULL
        || !adx_make_sparse_form(s, form, UINT32_MAX, &m.place))
        return false;
    adx_walk_nest(nest, x, adx_cover_points, &m);
    return true;
}

/* --- which numbers are written ------------------------------------------- */

// Returns the set of a term without the variables that are summed. NULL: it is
// not exactly that, or each index is not one variable.
static adx_set *adx_written_set(const adx_tensor_value *v,
                                const adx_tensor_term *term)
{
    adx_set *s = adx_copy_set(term->set);
    if (s == NULL)
        return NULL;
    bool *keep = ADX_GET(s->arena, s->width + 64, bool);
    if (keep == NULL)
        return NULL;
    for (uint32_t i = 0; i < v->dims; i++) {
        const int64_t *form = adx_form_of(s, term->out + i);
        uint32_t var = 0;
        uint32_t count = adx_vars_of(s, form, &var);
        if (count > 1 || (count == 1 && !adx_is_unit(form[1 + var])))
            return NULL;
        if (count == 1)
            keep[var] = true;
    }
    return adx_project(s, keep) ? s : NULL;
}

// Whether one term writes all numbers: without the variables that are summed
// its set is a box, as large as the value.
static bool adx_term_is_full(ad_tensor *t, const adx_tensor_value *v,
                             const adx_tensor_term *term)
{
    const adx_set *s = adx_written_set(v, term);
    if (s == NULL || t->open == NULL)
        return s != NULL && adx_box_points(s) == v->size;
    const adx_set *all = adx_set_of_ranges(t, &v->range, v->dims);
    const adx_indexed written = { s, term->out, v->dims };
    const adx_indexed range = { all, 0, v->dims };
    return all != NULL && adx_contains(&written, &range);
}

#define ADX_COVERING_MOST 6     // terms

// Whether several terms write all numbers together, where sizes are open.
static bool adx_terms_are_full(ad_tensor *t, const adx_tensor_value *v)
{
    adx_indexed *in = ADX_GET(&t->arena, v->terms, adx_indexed);
    const adx_set *all = adx_set_of_ranges(t, &v->range, v->dims);
    const adx_indexed at = { all, 0, v->dims };
    uint32_t n = 0;
    for (uint32_t i = 0; in != NULL && i < v->terms; i++) {
        const adx_set *s = adx_written_set(v, &v->term[i]);
        const adx_indexed one = { s, v->term[i].out, v->dims };
        if (s != NULL)
            in[n++] = one;
    }
    return in != NULL && all != NULL && adx_are_covering(in, n, &at);
}

// Whether all numbers are written, as far as that is easily seen.
static bool adx_all_written(ad_tensor *t, uint32_t value)
{
    adx_tensor_value *v = &t->program->value[value];
    if (!v->known) {
        v->known = true;
        v->full = v->kind <= ADX_VALUE_WEIGHT || v->size == 0;
        for (uint32_t i = 0; i < v->terms && !v->full; i++)
            v->full = adx_term_is_full(t, v, &v->term[i]);
        v->full = v->full || (t->open != NULL && v->terms > 1
                              && v->terms <= ADX_COVERING_MOST
                              && adx_terms_are_full(t, v));
        v->gaps = v->kind == ADX_VALUE_MOST && !v->full;
        v->full = v->full || v->gaps;
    }
    return v->full;
}

// Finds which numbers are written. NULL: no memory.
static adx_bitmap *adx_cover_written(adx_arena *a, const adx_tensor_value *v)
{
    adx_bitmap *bits = adx_new_bitmap(a, v->size);
    for (uint32_t i = 0; i < v->terms && bits != NULL; i++) {
        adx_set s = *v->term[i].set;
        s.arena = a;
        int64_t *form = ADX_GET(a, s.width, int64_t);
        if (form == NULL)
            return NULL;
        adx_place_form(&s, v, v->term[i].out, false, form);
        if (!adx_cover_form(&s, form, bits))
            return NULL;
    }
    return bits;
}

// Whether an open size is in a row.
static bool adx_has_sizes(const adx_set *s, uint32_t row)
{
    bool any = false;
    for (uint32_t v = 0; v < s->open; v++)
        any = any || adx_form_of(s, row)[1 + v] != 0;
    return any;
}

// Whether all variables of a row are indices of what is written.
static bool adx_is_of_indices(const adx_indexed *at, uint32_t row)
{
    const adx_set *s = at->set;
    for (uint32_t v = s->open; v < s->vars; v++) {
        bool index = adx_form_of(s, row)[1 + v] == 0;
        for (uint32_t d = 0; d < at->dims && !index; d++) {
            const int64_t *form = adx_form_of(s, at->row + d);
            uint32_t some = 0;
            index = adx_vars_of(s, form, &some) == 1 && some == v
                 && adx_is_unit(form[1 + v]);
        }
        if (!index)
            return false;
    }
    return true;
}

// Returns the set of a term without what is true of all indices of its value,
// so that no open size is left. NULL: one is left.
static adx_set *adx_set_without_sizes(ad_tensor *t, const adx_tensor_value *v,
                                      const adx_tensor_term *term)
{
    adx_set *s = adx_copy_set(term->set);
    const adx_set *all = adx_set_of_ranges(t, &v->range, v->dims);
    const adx_indexed in = { s, term->out, v->dims };
    const adx_indexed at = { all, 0, v->dims };
    bool left = s == NULL || all == NULL;
    for (uint32_t i = 0; !left && i < s->open; i++)
        left = s->low[i] > t->open->least[i]
            || s->high[i] < t->given.size[t->open->size[i]];
    for (uint32_t d = 0; !left && d < v->dims; d++)
        left = adx_has_sizes(s, term->out + d)
            || adx_open_extreme(t, v->range.from + (size_t)d * (1 + s->open),
                                true) != v->low[d];
    for (uint32_t r = 0; !left && r < s->rows; r++) {
        adx_set_row *row = &s->row[r];
        if (row->kind <= ADX_ROW_FORM
            || (!adx_has_sizes(s, r) && (row->kind != ADX_ROW_VALUE
                                         || !adx_has_sizes(s, row->at))))
            continue;
        left = row->kind != ADX_ROW_SIGN || !adx_is_of_indices(&in, r)
            || !adx_holds_at(&in, adx_form_of(s, r), &at);
        row->kind = ADX_ROW_GONE;
    }
    for (uint32_t i = 0; !left && i < s->open; i++)
        s->low[i] = s->high[i];
    return left ? NULL : s;
}

// Finds which numbers are written where sizes are open: of those that there are
// at given sizes, always the same. NULL: that is not so.
static adx_bitmap *adx_cover_open(ad_tensor *t, const adx_tensor_value *v)
{
    adx_bitmap *bits = adx_new_bitmap(&t->arena, v->size);
    for (uint32_t i = 0; i < v->terms && bits != NULL; i++) {
        const adx_set *s = adx_set_without_sizes(t, v, &v->term[i]);
        int64_t *form = s == NULL ? NULL
                      : ADX_GET(&t->arena, s->width, int64_t);
        if (form == NULL)
            return NULL;
        adx_place_form(s, v, v->term[i].out, false, form);
        if (!adx_cover_form(s, form, bits))
            return NULL;
    }
    return bits;
}

// Finds out which numbers are written. False: no memory, or it depends on open
// sizes.
static bool adx_find_support(ad_tensor *t, uint32_t value)
{
    if (adx_all_written(t, value) || t->program->value[value].support != NULL)
        return true;
    adx_bitmap *bits = t->open != NULL
        ? adx_cover_open(t, &t->program->value[value])
        : adx_cover_written(&t->arena, &t->program->value[value]);
    if (bits == NULL && t->open != NULL)
        adx_say_undecided(t, "which numbers of an array are 0 for want of "
                             "being written cannot be told for all sizes at "
                             "once: it may be for larger least sizes");
    adx_tensor_value *v = &t->program->value[value];
    v->support = bits;
    v->full = bits != NULL && bits->set == v->size;
    return bits != NULL;
}

// A set whose conditions are added to another: variable v of it becomes var[v].
// Open sizes are the same in both.
typedef struct adx_joining {
    adx_set *to;
    const adx_set *from;
    uint32_t *var;
} adx_joining;

// Returns a row of the other set. UINT32_MAX: no memory.
static uint32_t adx_join_row(const adx_joining *j, adx_row_kind kind,
                             uint32_t row)
{
    uint32_t r = adx_new_row(j->to, kind);
    if (r == UINT32_MAX)
        return r;
    int64_t *form = adx_form_of(j->to, r);
    const int64_t *of = adx_form_of(j->from, row);
    form[0] = of[0];
    for (uint32_t v = 0; v < j->from->vars; v++)
        if (of[1 + v] != 0)
            form[1 + j->var[v]] = of[1 + v];
    return r;
}

// Copies the conditions of a set to another one. False: no memory.
static bool adx_join_conditions(const adx_joining *j)
{
    for (uint32_t r = 0; r < j->from->rows; r++) {
        const adx_set_row *row = &j->from->row[r];
        if (row->kind <= ADX_ROW_FORM)
            continue;
        uint32_t at = row->kind == ADX_ROW_VALUE
                    ? adx_join_row(j, ADX_ROW_FORM, row->at) : 0;
        uint32_t to = adx_join_row(j, row->kind, r);
        if (at == UINT32_MAX || to == UINT32_MAX)
            return false;
        j->to->row[to] = *row;
        j->to->row[to].at = at;
    }
    return true;
}

// Adds the conditions of the set `from` to s, with the same indices: rows
// `yours` of `from` become equal to rows `mine` of s. `count` more rows of
// `from`, from row `more` on, are copied to s, where they begin at row *first.
// False: no memory.
static bool adx_join_sets(adx_set *s, uint32_t mine, const adx_set *from,
                          uint32_t yours, uint32_t dims, uint32_t more,
                          uint32_t count, uint32_t *first)
{
    const adx_joining j = { s, from, ADX_GET(s->arena, from->vars, uint32_t) };
    if (j.var == NULL)
        return false;
    for (uint32_t v = 0; v < from->vars; v++)
        if (v < from->open) {
            j.var[v] = v;
            s->low[v] = from->low[v] > s->low[v] ? from->low[v] : s->low[v];
            s->high[v] = from->high[v] < s->high[v] ? from->high[v]
                                                    : s->high[v];
        } else if (!from->gone[v]) {
            j.var[v] = adx_new_var(s, from->low[v], from->high[v]);
            if (j.var[v] == UINT32_MAX)
                return false;
            s->called[j.var[v]] = from->called[v];
        }
    if (!adx_join_conditions(&j))
        return false;
    *first = s->rows;
    for (uint32_t i = 0; i < count; i++)
        if (adx_join_row(&j, ADX_ROW_FORM, more + i) == UINT32_MAX)
            return false;
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t to = adx_join_row(&j, ADX_ROW_ZERO, yours + i);
        if (to == UINT32_MAX)
            return false;
        adx_add_multiple(s, adx_form_of(s, to), -1, adx_form_of(s, mine + i));
    }
    s->empty = s->empty || from->empty;
    adx_simplify_set(s);
    return true;
}

// Whether all variables from `first` on have been replaced.
static bool adx_all_gone(const adx_set *s, uint32_t first)
{
    for (uint32_t v = first; v < s->vars && !s->empty; v++)
        if (!s->gone[v])
            return false;
    return true;
}

// Returns the term that writes all numbers of a value that any of its terms
// writes, and its set without the variables that are summed. NULL: there is
// none such.
static const adx_tensor_term *adx_widest_term(const adx_tensor_value *v,
                                              const adx_set **set)
{
    for (uint32_t i = 0; i < v->terms; i++) {
        const adx_set *s = adx_written_set(v, &v->term[i]);
        const adx_indexed in = { s, v->term[i].out, v->dims };
        bool all = s != NULL;
        for (uint32_t j = 0; j < v->terms && all; j++) {
            const adx_indexed at = { v->term[j].set, v->term[j].out, v->dims };
            all = j == i || adx_contains(&in, &at);
        }
        *set = s;
        if (all)
            return &v->term[i];
    }
    return NULL;
}

// Restricts a set to the points where a number is written, when sizes are open.
// False: no single term writes everything that any term of the value writes.
static bool adx_restrict_open(ad_tensor *t, adx_set **set, adx_access to)
{
    const adx_tensor_value *v = &t->program->value[to.value];
    const adx_set *written = NULL;
    const adx_tensor_term *term = adx_widest_term(v, &written);
    uint32_t rows;
    uint32_t vars = (*set)->vars;
    adx_set *joined = term == NULL ? NULL : adx_copy_set(*set);
    if (joined == NULL
        || !adx_join_sets(joined, to.row, written, term->out, v->dims, 0, 0,
                          &rows)
        || !adx_all_gone(joined, vars))
        return false;
    *set = joined;
    return true;
}

// Restricts a set to the points where this number of a value is written. False:
// no memory.
static bool adx_restrict(ad_tensor *t, adx_set **set, adx_access to)
{
    const adx_tensor_value *v = &t->program->value[to.value];
    if (adx_all_written(t, to.value))
        return true;
    if (v->terms == 0) {
        (*set)->empty = true;
        return true;
    }
    adx_set *s = *set;
    if (v->terms == 1) {
        uint32_t rows;
        uint32_t vars = s->vars;
        adx_set *joined = adx_copy_set(s);
        if (joined == NULL
            || !adx_join_sets(joined, to.row, v->term->set, v->term->out,
                              v->dims, 0, 0, &rows))
            return false;
        if (adx_all_gone(joined, vars)) {
            *set = joined;
            return true;
        }
    }
    if (t->open != NULL && adx_restrict_open(t, set, to))
        return true;
    if (!adx_find_support(t, to.value))
        return false;
    if (v->full)
        return true;
    uint32_t r = adx_new_row(s, ADX_ROW_BIT);
    if (r == UINT32_MAX)
        return false;
    s->row[r].bits = v->support;
    adx_place_form(s, v, to.row, false, adx_form_of(s, r));
    adx_simplify_set(s);        // the number may be the same at all points
    return true;
}

ADX_SELDOM_END

/* === tensor/entries =========================================================
 * Points as a list. Loops that try more values in vain than they find points
 * are run once, when the text is bound: the points become the entries of a
 * relation, in the order in which the loops find them. From then on the outer
 * loop is over the entries, and a column gives each variable. Levels in front
 * that have no part in the tests stay in front, and those behind the last test
 * stay behind. So points keep their order, and this changes no bits.
 *
 * Terms with the same loops have one list. A list takes four bytes for each
 * variable and point; all lists of a text, ADX_ENTRIES_MOST at most.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/nests tensor/binding
 *   offers  adx_always_has_value adx_use_entries
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Values that are tried in vain, at least; numbers in all columns of a text.
#ifndef ADX_ENTRIES_LEAST
#define ADX_ENTRIES_LEAST 64
#endif
#ifndef ADX_ENTRIES_MOST
#define ADX_ENTRIES_MOST ((uint64_t)1 << 26)
#endif

// The points of levels first ... first + levels - 1 of a nest. The level behind
// them may be a strip, which is not listed; points without one are not either.
typedef struct adx_entry_list {
    const adx_nest *nest;
    uint32_t first, levels;
    uint32_t walked;            // levels; with the strip
    uint64_t n;                 // entries
    adx_int_table *column;      // [levels]; NULL: the loops do better
    struct adx_entry_list *next;
} adx_entry_list;

/* --- which levels -------------------------------------------------------- */

// Whether a map gives the variable of a level at every point that gets there:
// no later level has checks, so no other row is about it.
static bool adx_always_has_value(const adx_set *s, const adx_nest_level *l)
{
    uint32_t v = 0;
    for (uint32_t r = 0; r < s->rows && l->kind == ADX_LEVEL_VALUE; r++)
        if (adx_is_definition(s, r, &v) && v == l->var
            && s->row[r].table == l->table)
            return true;
    return false;
}

// Whether a value may be tried in vain.
static bool adx_may_fail(const adx_set *s, const adx_nest_level *l)
{
    bool safe = l->kind == ADX_LEVEL_RANGE ? l->bounds == 0
                                           : adx_always_has_value(s, l);
    return !safe || l->checks > 0;
}

// Whether a level depends on a variable that is known before.
static bool adx_level_names(const adx_nest_level *l, uint32_t var)
{
    bool named = l->kind != ADX_LEVEL_RANGE
              && (adx_form_has(&l->form, var)
                  || adx_form_has(&l->argument, var));
    for (uint32_t i = 0; i < l->bounds && !named; i++)
        named = adx_form_has(&l->bound[i].form, var);
    for (uint32_t i = 0; i < l->checks && !named; i++)
        named = adx_form_has(&l->check[i].form, var)
             || (l->check[i].kind == ADX_ROW_VALUE
                 && adx_form_has(&l->check[i].argument, var));
    return named;
}

// Returns the levels that a list stands for: up to the last that may fail,
// without those in front that have no part in it. levels 0: there are none.
static adx_entry_list adx_listed_levels(const adx_set *s, const adx_nest *nest)
{
    adx_entry_list l = { .nest = nest };
    uint32_t end = nest->levels;
    bool free = true;
    while (end > 0 && !adx_may_fail(s, &nest->level[end - 1]))
        end--;
    bool strip = end > 0 && end == nest->levels
              && nest->level[end - 1].kind == ADX_LEVEL_RANGE
              && nest->level[end - 1].checks == 0;
    end -= strip;
    while (free && l.first + 1 < end) {
        const adx_nest_level *at = &nest->level[l.first];
        free = at->kind == ADX_LEVEL_RANGE && !adx_may_fail(s, at);
        for (uint32_t i = l.first + 1; i < end + strip && free; i++)
            free = !adx_level_names(&nest->level[i], at->var);
        l.first += free;
    }
    l.levels = end - (end > 0 ? l.first : 0);
    l.walked = l.levels + strip;
    for (uint32_t i = l.first; i < end; i++)
        if (nest->level[i].low < INT32_MIN || nest->level[i].high > INT32_MAX)
            l.levels = 0;
    return l;
}

/* --- equal loops --------------------------------------------------------- */

// Two lists, and the forms of their levels.
typedef struct adx_entry_pair {
    const adx_entry_list *a, *b;
} adx_entry_pair;

// Returns the place of a variable among the listed levels.
static uint32_t adx_place_in_list(const adx_entry_list *l, uint32_t var)
{
    uint32_t i = 0;
    while (i < l->walked && l->nest->level[l->first + i].var != var)
        i++;
    return i;
}

// Whether two forms are the same, by the variables' places in their lists.
static bool adx_are_forms_alike(const adx_entry_pair *p,
                                const adx_sparse_form *one,
                                const adx_sparse_form *other)
{
    bool same = one->n == other->n && one->c == other->c;
    for (uint32_t i = 0; i < one->n && same; i++) {
        uint32_t at = adx_place_in_list(p->a, one->var[i]);
        same = false;
        for (uint32_t j = 0; j < other->n && !same; j++)
            same = adx_place_in_list(p->b, other->var[j]) == at
                && other->k[j] == one->k[i];
    }
    return same;
}

// Whether n checks of two lists are the same, in the same order.
static bool adx_are_checks_alike(const adx_entry_pair *p, uint32_t n,
                                 const adx_set_check *one,
                                 const adx_set_check *other)
{
    bool same = true;
    for (uint32_t i = 0; i < n && same; i++)
        same = one[i].kind == other[i].kind && one[i].k == other[i].k
            && one[i].table == other[i].table && one[i].bits == other[i].bits
            && adx_are_forms_alike(p, &one[i].form, &other[i].form)
            && (one[i].kind != ADX_ROW_VALUE
                || adx_are_forms_alike(p, &one[i].argument,
                                       &other[i].argument));
    return same;
}

// Whether level i of two lists visits the same values under the same checks.
static bool adx_are_levels_alike(const adx_entry_pair *p, uint32_t i)
{
    const adx_nest_level *a = &p->a->nest->level[p->a->first + i];
    const adx_nest_level *b = &p->b->nest->level[p->b->first + i];
    bool same = a->kind == b->kind && a->low == b->low && a->high == b->high
             && a->bounds == b->bounds && a->checks == b->checks
             && adx_are_checks_alike(p, a->bounds, a->bound, b->bound)
             && adx_are_checks_alike(p, a->checks, a->check, b->check);
    return same
        && (a->kind == ADX_LEVEL_RANGE
            || (a->k == b->k && a->table == b->table
                && adx_are_forms_alike(p, &a->form, &b->form)
                && adx_are_forms_alike(p, &a->argument, &b->argument)));
}

// Returns the list of the same loops, if there is one.
static adx_entry_list *adx_find_entries(const ad_tensor *t,
                                        const adx_entry_list *of)
{
    adx_entry_list *l = t->program->entries;
    for (; l != NULL; l = l->next) {
        const adx_entry_pair p = { l, of };
        bool same = l->levels == of->levels && l->walked == of->walked;
        for (uint32_t i = 0; i < l->walked && same; i++)
            same = adx_are_levels_alike(&p, i);
        if (same)
            break;
    }
    return l;
}

/* --- finding points ------------------------------------------------------ */

typedef struct adx_entering {
    const adx_entry_list *list;
    uint64_t most;              // points; more are not looked for
    uint64_t n;
    uint64_t useful;            // values of levels, that lead to points
    int64_t *before;            // the values of the last point
    int32_t **column;           // that are filled
} adx_entering;

// Counts the values that lead to points: those that differ from the values of
// the point before, or stand behind one that does. A strip is one point.
static bool adx_count_entries(void *user, const int64_t x[], uint32_t var,
                              int64_t count)
{
    adx_entering *k = (adx_entering *)user;
    const adx_nest_level *level = k->list->nest->level + k->list->first;
    uint32_t last = k->list->levels - 1;
    uint32_t i = 0;
    (void)var;
    count = k->list->walked > k->list->levels ? 1 : count;
    while (k->n > 0 && i < last && x[level[i].var] == k->before[i])
        i++;
    for (; i < last; i++, k->useful++)
        k->before[i] = x[level[i].var];
    k->useful += (uint64_t)count;
    k->n += (uint64_t)count;
    return k->n <= k->most;
}

// Writes down the points of a strip as entries, or its first one if the strip
// is behind the list.
static bool adx_note_entries(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    adx_entering *k = (adx_entering *)user;
    const adx_nest_level *level = k->list->nest->level + k->list->first;
    count = k->list->walked > k->list->levels ? 1 : count;
    for (uint32_t i = 0; i < k->list->levels; i++) {
        int32_t *to = k->column[i] + k->n;
        int64_t from = x[level[i].var];
        for (int64_t j = 0; j < count; j++)
            to[j] = (int32_t)(from + (level[i].var == var ? j : 0));
    }
    k->n += (uint64_t)count;
    return true;
}

// Counts the points of strips.
static bool adx_count_values(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    (void)x;
    (void)var;
    *(uint64_t *)user += (uint64_t)count;
    return true;
}

// Returns how many values the loops try, level by level. x: [vars] memory;
// level: room for those of the list.
static uint64_t adx_count_tries(const adx_entry_list *l, int64_t x[],
                                adx_nest_level level[])
{
    adx_nest nest = *l->nest;
    uint64_t tries = 0;
    uint64_t left = 1;          // what the checks of the level before pass
    nest.level = level;
    memcpy(level, l->nest->level + l->first, l->levels * sizeof *level);
    for (uint32_t i = 0; i < l->levels; i++) {
        uint32_t checks = level[i].checks;
        bool one = level[i].kind == ADX_LEVEL_SOLVED
                || level[i].kind == ADX_LEVEL_VALUE;
        uint64_t n = 0;
        nest.levels = i + 1;
        level[i].checks = 0;
        adx_walk_nest(&nest, x, adx_count_values, &n);
        tries += one ? left : n;
        level[i].checks = checks;
        left = n;
        if (checks > 0 && i + 1 < l->levels) {
            left = 0;
            adx_walk_nest(&nest, x, adx_count_values, &left);
        }
    }
    return tries;
}

// Makes room for the columns. False: no memory.
static bool adx_make_entry_columns(ad_tensor *t, adx_entry_list *l,
                                   adx_entering *k)
{
    adx_int_table *column = ADX_GET(&t->arena, l->levels, adx_int_table);
    k->column = ADX_GET(&t->arena, l->levels, int32_t *);
    if (k->column == NULL)
        return false;
    for (uint32_t i = 0; column != NULL && i < l->levels; i++) {
        column[i].value = k->column[i] = ADX_GET(&t->arena, l->n, int32_t);
        column[i].n = (size_t)l->n;
        if (column[i].value == NULL)
            return false;
    }
    l->column = column;
    return column != NULL;
}

// Finds the least and the largest value, and whether they never fall.
static void adx_measure_column(adx_int_table *c)
{
    c->low = c->high = c->value[0];
    c->ascending = true;
    for (size_t i = 1; i < c->n; i++) {
        c->low = c->value[i] < c->low ? c->value[i] : c->low;
        c->high = c->value[i] > c->high ? c->value[i] : c->high;
        c->ascending = c->ascending && c->value[i - 1] <= c->value[i];
    }
}

// Looks for the points; fills the columns if more values are tried in vain than
// there are points. False: no memory.
static bool adx_find_points(ad_tensor *t, adx_entry_list *l)
{
    adx_tensor_program *p = t->program;
    adx_nest nest = *l->nest;
    adx_entering k = { .list = l };
    int64_t *x = ADX_GET(&t->arena, nest.vars, int64_t);
    adx_nest_level *room = ADX_GET(&t->arena, l->levels, adx_nest_level);
    k.before = ADX_GET(&t->arena, l->levels, int64_t);
    if (x == NULL || room == NULL || k.before == NULL)
        return false;
    nest.level += l->first;
    nest.levels = l->walked;
    k.most = (ADX_ENTRIES_MOST - p->entry_numbers) / l->levels;
    if (!adx_walk_nest(&nest, x, adx_count_entries, &k))
        return true;
    uint64_t vain = adx_count_tries(l, x, room) - k.useful;
    if (vain <= k.n || vain < ADX_ENTRIES_LEAST)
        return true;
    l->n = k.n;
    p->entry_numbers += k.n * l->levels;
    if (!adx_make_entry_columns(t, l, &k))
        return false;
    k.n = 0;
    adx_walk_nest(&nest, x, adx_note_entries, &k);
    for (uint32_t i = 0; i < l->levels && l->n > 0; i++)
        adx_measure_column(&l->column[i]);
    return true;
}

/* --- loops over entries -------------------------------------------------- */

// Returns the last level at which a variable of a form is known, + 1; 0: it has
// none.
static uint32_t adx_known_from(const adx_set *s, const adx_nest *nest,
                               uint32_t row)
{
    uint32_t last = 0;
    for (uint32_t l = 0; l < nest->levels; l++)
        if (adx_form_of(s, row)[1 + nest->level[l].var] != 0)
            last = l + 1;
    return last;
}

// Returns the set with an entry in place of the conditions that the list has
// seen to. NULL: no memory.
static adx_set *adx_set_of_entries(const adx_set *of, const adx_entry_list *l,
                                   const adx_nest *nest)
{
    adx_set *s = adx_copy_set(of);
    uint32_t end = l->first + l->levels;
    if (s == NULL)
        return NULL;
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind > ADX_ROW_FORM
            && adx_known_from(s, nest, r) <= end
            && (s->row[r].kind != ADX_ROW_VALUE
                || adx_known_from(s, nest, s->row[r].at) <= end))
            s->row[r].kind = ADX_ROW_GONE;
    s->empty = s->empty || l->n == 0;
    uint32_t e = adx_new_var(s, 0, l->n == 0 ? 0 : (int64_t)l->n - 1);
    uint32_t at = e == UINT32_MAX ? e : adx_new_row(s, ADX_ROW_FORM);
    if (at == UINT32_MAX)
        return NULL;
    adx_form_of(s, at)[1 + e] = 1;
    for (uint32_t i = 0; i < l->levels; i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_VALUE);
        if (r == UINT32_MAX)
            return NULL;
        adx_form_of(s, r)[1 + nest->level[l->first + i].var] = 1;
        s->row[r].at = at;
        s->row[r].table = &l->column[i];
    }
    return s;
}

// A level whose variable a column gives, of the entry that variable e is.
static bool adx_level_of_column(adx_arena *a, adx_nest_level *l, uint32_t e,
                                adx_int_table *column)
{
    const adx_nest_level to = {
        .kind = ADX_LEVEL_VALUE, .var = l->var, .low = l->low, .high = l->high,
        .k = 1,
        .argument = { 0, 1, ADX_GET(a, 1, uint32_t), ADX_GET(a, 1, int64_t) },
        .table = column
    };
    *l = to;
    if (a->status != ADREV_OK)
        return false;
    l->argument.var[0] = e;
    l->argument.k[0] = 1;
    return true;
}

// Returns the loops in front, over the entries, and behind. NULL: no memory.
static adx_nest *adx_nest_of_entries(const adx_set *s, const adx_entry_list *l,
                                     const adx_nest *of)
{
    adx_nest *to = ADX_GET(s->arena, 1, adx_nest);
    uint32_t e = s->vars - 1;
    if (to == NULL)
        return NULL;
    to->levels = of->levels + 1;
    to->vars = s->vars;
    to->empty = of->empty || l->n == 0;
    to->level = ADX_GET(s->arena, to->levels, adx_nest_level);
    if (to->level == NULL)
        return NULL;
    memcpy(to->level, of->level, l->first * sizeof *to->level);
    memcpy(to->level + l->first + 1, of->level + l->first,
           (of->levels - l->first) * sizeof *to->level);
    adx_nest_level *at = &to->level[l->first];
    at->kind = ADX_LEVEL_RANGE;
    at->var = e;
    at->low = s->low[e];
    at->high = s->high[e];
    at->bounds = at->checks = 0;
    for (uint32_t i = 0; i < l->levels; i++)
        if (!adx_level_of_column(s->arena, &at[1 + i], e, &l->column[i]))
            return NULL;
    return to;
}

// Makes the loops over a set ones over a list of its points, where that is
// better: another nest, and the set that belongs to it. False: no memory.
static bool adx_use_entries(ad_tensor *t, adx_set **set, const adx_nest **nest)
{
    const adx_entry_list wanted = adx_listed_levels(*set, *nest);
    if (wanted.levels == 0 || (*nest)->empty)
        return true;
    adx_entry_list *l = adx_find_entries(t, &wanted);
    if (l == NULL) {
        l = ADX_GET(&t->arena, 1, adx_entry_list);
        if (l == NULL)
            return false;
        *l = wanted;
        l->next = t->program->entries;
        t->program->entries = l;
        if (!adx_find_points(t, l))
            return false;
    }
    if (l->column == NULL)
        return true;
    adx_entry_list mine = wanted;
    mine.column = l->column;
    mine.n = l->n;
    *set = adx_set_of_entries(*set, &mine, *nest);
    *nest = *set == NULL ? NULL : adx_nest_of_entries(*set, &mine, *nest);
    return *nest != NULL;
}

ADX_SELDOM_END

/* === tensor/sharing =========================================================
 * What is equal is computed once. A value has a key: a list of numbers which is
 * the same for values that are made of the same terms, whatever the variables
 * of their sets are called. A value whose key is known already is the earlier
 * one; a result of the caller's, which has an array of its own, becomes a copy
 * of it. Equal terms of one sum are counted: e + e is 2*e.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/open tensor/programs
 *   offers  adx_value_like adx_tensor_value_at adx_all_indices adx_writes_once
 *           adx_complete_value adx_constant_value
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Returns a value with the indices of another.
static uint32_t adx_value_like(ad_tensor *t, uint32_t like, adx_value_kind kind)
{
    uint32_t i = adx_new_value(t, kind, t->program->value[like].dims);
    if (i == 0)
        return 0;
    adx_tensor_value *v = &t->program->value[i];
    const adx_tensor_value *of = &t->program->value[like];
    for (uint32_t d = 0; d < v->dims; d++) {
        v->low[d] = of->low[d];
        v->extent[d] = of->extent[d];
        v->stride[d] = of->stride[d];
    }
    size_t ends = (size_t)v->dims * (1 + adx_open_of(t)) * sizeof(int64_t);
    if (v->range.from != NULL && of->range.from != NULL) {
        memcpy(v->range.from, of->range.from, ends);
        memcpy(v->range.last, of->range.last, ends);
    }
    v->size = of->size;
    v->span = of->span;
    v->first = of->first;
    return i;
}

static adx_tensor_value *adx_tensor_value_at(const ad_tensor *t, uint32_t value)
{
    return &t->program->value[value];
}

// Returns the set of all indices of a value; rows are its indices.
static adx_set *adx_all_indices(ad_tensor *t, const adx_tensor_value *v)
{
    adx_set *s = adx_begin_set(t);
    uint32_t formula = t->tree.array[v->array].formula;
    uint32_t open = adx_open_of(t);
    for (uint32_t i = 0; s != NULL && i < v->dims; i++) {
        size_t at = (size_t)i * (1 + open);
        uint32_t x = open == 0
            ? adx_new_var(s, v->low[i], v->low[i] + v->extent[i] - 1)
            : adx_new_var(s, adx_open_extreme(t, v->range.from + at, false),
                          adx_open_extreme(t, v->range.last + at, true));
        if (x != UINT32_MAX)
            s->called[x] = t->tree.formula[formula].first + i;
    }
    for (uint32_t i = 0; s != NULL && i < v->dims; i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r != UINT32_MAX)
            adx_form_of(s, r)[1 + open + i] = 1;
    }
    for (uint32_t i = 0; s != NULL && open > 0 && i < v->dims; i++)
        adx_bound_var(s, open + i, v->range.from + (size_t)i * (1 + open),
                      v->range.last + (size_t)i * (1 + open));
    if (s != NULL)
        adx_simplify_set(s);
    return s;
}

/* --- keys ----------------------------------------------------------------- */

// A list of numbers that grows. to NULL: they are only counted.
typedef struct adx_key_writer {
    int64_t *to;
    size_t n;
    const adx_set *set;
    uint32_t *name;             // of each variable in the key, from 1 on
    uint32_t names;
    uint32_t ends;              // numbers of a form in open sizes
} adx_key_writer;

// Adds a number to a key, or counts it only.
static void adx_put_key(adx_key_writer *w, int64_t x)
{
    if (w->to != NULL)
        w->to[w->n] = x;
    w->n++;
}

static void adx_put_key_pointer(adx_key_writer *w, const void *p)
{
    adx_put_key(w, (int64_t)(uintptr_t)p);
}

// Adds a number's bits, so that 0 and -0 are different.
static void adx_put_key_real(adx_key_writer *w, ad_real k)
{
    int64_t bits = 0;
    memcpy(&bits, &k, sizeof k);
    adx_put_key(w, bits);
}

// Adds a form to a key: its variables get names in the order in which they are
// met.
static void adx_put_key_form(adx_key_writer *w, uint32_t row)
{
    const int64_t *form = adx_form_of(w->set, row);
    adx_put_key(w, form[0]);
    for (uint32_t v = 0; v < w->set->vars; v++) {
        if (form[1 + v] == 0 || w->set->gone[v])
            continue;
        if (w->name[v] == 0)
            w->name[v] = ++w->names;
        adx_put_key(w, w->name[v]);
        adx_put_key(w, form[1 + v]);
    }
    adx_put_key(w, 0);
}

// Adds what is read: the value and its indices.
static void adx_put_key_access(adx_key_writer *w, const ad_tensor *t,
                               adx_access from)
{
    adx_put_key(w, from.value);
    for (uint32_t d = 0; d < t->program->value[from.value].dims; d++)
        adx_put_key_form(w, from.row + d);
}

// Adds the conditions of a set and the bounds of its variables.
static void adx_put_key_set(adx_key_writer *w)
{
    const adx_set *s = w->set;
    for (uint32_t r = 0; r < s->rows; r++) {
        if (s->row[r].kind <= ADX_ROW_FORM)
            continue;
        adx_put_key(w, (int64_t)s->row[r].kind);
        adx_put_key_pointer(w, s->row[r].table);
        adx_put_key_pointer(w, s->row[r].bits);
        adx_put_key_form(w, r);
        if (s->row[r].kind == ADX_ROW_VALUE)
            adx_put_key_form(w, s->row[r].at);
    }
    for (uint32_t v = 0; v < s->vars; v++) {
        if (s->gone[v])
            continue;
        adx_put_key(w, w->name[v]);
        adx_put_key(w, s->low[v]);
        adx_put_key(w, s->high[v]);
    }
}

// Adds a term without its constant. Two factors of a product have an order.
static void adx_put_key_term(adx_key_writer *w, const ad_tensor *t,
                             const adx_tensor_value *v,
                             const adx_tensor_term *term)
{
    bool turn = v->kind == ADX_VALUE_SUM && term->factors == 2
             && term->factor[0].value > term->factor[1].value;
    adx_put_key(w, term->factors);
    adx_put_key(w, term->absorbs);
    adx_put_key(w, term->in_power);
    adx_put_key(w, term->power);
    for (uint32_t d = 0; d < v->dims; d++)
        adx_put_key_form(w, term->out + d);
    for (uint32_t f = 0; f < term->factors; f++)
        adx_put_key_access(w, t, term->factor[turn ? 1 - f : f]);
    if (term->power != 0)
        adx_put_key_access(w, t, term->base);
    adx_put_key(w, term->most);
    if (term->most != 0) {
        const adx_access at = { term->most, term->at };
        adx_put_key_access(w, t, at);
        adx_put_key_access(w, t, term->picked);
    }
    adx_put_key_set(w);
}

// Adds what a value is but for its terms.
static void adx_put_key_value(adx_key_writer *w, const adx_tensor_value *v)
{
    adx_put_key(w, v->kind);
    adx_put_key(w, v->op);
    adx_put_key(w, v->which);
    adx_put_key(w, v->fixed);
    adx_put_key(w, v->dims);
    for (uint32_t d = 0; d < v->dims; d++) {
        adx_put_key(w, v->low[d]);
        adx_put_key(w, v->extent[d]);
    }
    for (uint32_t i = 0; v->range.from != NULL && i < v->dims * w->ends; i++) {
        adx_put_key(w, v->range.from[i]);
        adx_put_key(w, v->range.last[i]);
    }
}

typedef struct adx_value_key {
    int64_t *number;
    size_t n;
    uint64_t hash;
} adx_value_key;

static void adx_hash_key(adx_value_key *k)
{
    k->hash = 14695981039346656037u;
    for (size_t i = 0; i < k->n; i++) {
        k->hash = (k->hash ^ (uint64_t)k->number[i]) * 1099511628211u;
        k->hash ^= k->hash >> 29;
    }
}

// Whether two keys are equal, number by number.
static bool adx_same_key(const adx_value_key *a, const adx_value_key *b)
{
    return a->hash == b->hash && a->n == b->n
        && memcmp(a->number, b->number, a->n * sizeof *a->number) == 0;
}

// Adds a term's part of a key; its constant too, if `whole`.
static void adx_write_term(adx_key_writer *w, const ad_tensor *t,
                           const adx_tensor_value *v,
                           const adx_tensor_term *term, bool whole)
{
    w->set = term->set;
    w->names = term->set->open;
    memset(w->name, 0, term->set->width * sizeof *w->name);
    for (uint32_t i = 0; i < w->names; i++)
        w->name[i] = i + 1;
    adx_put_key_term(w, t, v, term);
    if (whole)
        adx_put_key_real(w, term->k);
}

// The key of a value, or that of one of its terms. False: no memory.
static bool adx_make_value_key(ad_tensor *t, const adx_tensor_value *v,
                               const adx_tensor_term *only, adx_value_key *key)
{
    uint32_t width = only != NULL ? only->set->width : 1;
    adx_key_writer w = { .ends = 1 + adx_open_of(t) };
    for (uint32_t i = 0; only == NULL && i < v->terms; i++)
        if (v->term[i].set->width > width)
            width = v->term[i].set->width;
    w.name = ADX_GET(&t->arena, width, uint32_t);
    if (w.name == NULL)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        w.n = 0;
        if (only != NULL)
            adx_write_term(&w, t, v, only, false);
        else
            adx_put_key_value(&w, v);
        for (uint32_t i = 0; only == NULL && i < v->terms; i++)
            adx_write_term(&w, t, v, &v->term[i], true);
        if (pass == 0)
            w.to = ADX_GET(&t->arena, w.n, int64_t);
        if (w.to == NULL)
            return false;
    }
    key->number = w.to;
    key->n = w.n;
    adx_hash_key(key);
    return true;
}

/* --- equal terms ---------------------------------------------------------- */

static uint32_t adx_complete_value(ad_tensor *t, uint32_t value);

// Whether each point of a term writes a number that no other point writes:
// every variable has an index of its own, but those that maps give.
static bool adx_writes_once(const adx_tensor_value *v,
                            const adx_tensor_term *term)
{
    const adx_set *s = term->set;
    const adx_map_vars maps = adx_find_map_vars(s);
    uint32_t own = 0;
    if (maps.given == NULL)
        return false;
    for (uint32_t i = 0; i < v->dims; i++) {
        uint32_t var = 0;
        uint32_t count = adx_vars_of(s, adx_form_of(s, term->out + i), &var);
        bool again = count != 1 || maps.given[var];
        for (uint32_t j = 0; j < i && !again; j++)
            again = adx_form_of(s, term->out + j)[1 + var] != 0;
        own += !again;
    }
    return own == maps.free;
}

// Adds a term that copies another value with the same indices, times k.
static void adx_copy_term(ad_tensor *t, uint32_t to, uint32_t from, ad_real k)
{
    const adx_access all = { from, 0 };
    adx_set *s = adx_all_indices(t, adx_tensor_value_at(t, from));
    if (s != NULL && adx_restrict(t, &s, all) && !s->empty)
        adx_add_factor(adx_new_tensor_term(t, to, s, 0, k), all);
}

// Makes term i stand for all that are equal to it; k is the sum of their
// constants. A term that adds many points to a number becomes a value of its
// own, with the constant 1, and a copy of that times k: so k multiplies each
// sum once, when it is complete, and not each point.
static void adx_scale_term(ad_tensor *t, uint32_t value, uint32_t i, ad_real k)
{
    adx_tensor_term *term = &adx_tensor_value_at(t, value)->term[i];
    if (term->factors == 0
        || adx_writes_once(adx_tensor_value_at(t, value), term)) {
        term->k = k;
        return;
    }
    adx_tensor_term once = *term;
    uint32_t sum = adx_value_like(t, value, ADX_VALUE_SUM);
    if (sum == 0)
        return;
    adx_lay_out(t, adx_tensor_value_at(t, sum), NULL);
    once.k = 1;
    adx_tensor_term *to = adx_new_tensor_term(t, sum, once.set, once.out, 1);
    if (to == NULL)
        return;
    once.set = to->set;
    *to = once;
    adx_tensor_value_at(t, sum)->fixed = adx_tensor_value_at(t, value)->fixed;
    sum = adx_complete_value(t, sum);
    uint32_t terms = adx_tensor_value_at(t, value)->terms;
    adx_copy_term(t, value, sum, k);
    adx_tensor_value *v = adx_tensor_value_at(t, value);
    if (v->terms > terms)
        v->term[i] = v->term[--v->terms];
}

// Returns the first term that is equal to term i, by a table of `room` keys.
static uint32_t adx_equal_term(const adx_value_key key[], uint32_t bucket[],
                               uint32_t room, uint32_t i)
{
    uint32_t at = (uint32_t)key[i].hash & (room - 1);
    for (; bucket[at] != 0; at = (at + 1) & (room - 1))
        if (adx_same_key(&key[bucket[at] - 1], &key[i]))
            return bucket[at] - 1;
    bucket[at] = i + 1;
    return i;
}

// Joins equal terms, unless they cancel.
static void adx_join_terms(ad_tensor *t, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(t, value);
    uint32_t n = v->terms;
    uint32_t room = 4;
    uint32_t left = 0;
    while (room < 2 * n)
        room *= 2;
    adx_value_key *key = ADX_GET(&t->arena, n, adx_value_key);
    uint32_t *bucket = ADX_GET(&t->arena, room, uint32_t);
    uint32_t *first = ADX_GET(&t->arena, n, uint32_t);
    ad_real *k = ADX_GET(&t->arena, n, ad_real);
    if (key == NULL || bucket == NULL || first == NULL || k == NULL)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (!adx_make_value_key(t, v, &v->term[i], &key[i]))
            return;
        first[i] = v->term[i].most != 0 ? i
                 : adx_equal_term(key, bucket, room, i);
        k[first[i]] += v->term[i].k;
    }
    for (uint32_t i = 0; i < n; i++)
        if (first[i] == i || k[first[i]] == 0) {
            first[left] = first[i];
            adx_tensor_value_at(t, value)->term[left++] =
                adx_tensor_value_at(t, value)->term[i];
        }
    adx_tensor_value_at(t, value)->terms = left;
    for (uint32_t i = 0; i < left && left < n; i++)
        if (k[first[i]] != 0
            && k[first[i]] != adx_tensor_value_at(t, value)->term[i].k)
            adx_scale_term(t, value, i, k[first[i]]);
}

/* --- equal values --------------------------------------------------------- */

// Values by their keys.
struct adx_shared_values {
    adx_value_key *key;
    uint32_t *value;            // 0: the place is free
    uint32_t n, room;
};

// Returns the place of a key, or a free one.
static uint32_t adx_shared_place(const adx_shared_values *s,
                                 const adx_value_key *key)
{
    uint32_t at = (uint32_t)key->hash & (s->room - 1);
    while (s->value[at] != 0 && !adx_same_key(&s->key[at], key))
        at = (at + 1) & (s->room - 1);
    return at;
}

// Returns a table of twice the size, with what the old one has. NULL: no
// memory.
static adx_shared_values *adx_widen_shared(adx_arena *a,
                                           const adx_shared_values *of)
{
    adx_shared_values *s = ADX_GET(a, 1, adx_shared_values);
    if (s == NULL)
        return NULL;
    s->room = of == NULL ? 64 : 2 * of->room;
    s->key = ADX_GET(a, s->room, adx_value_key);
    s->value = ADX_GET(a, s->room, uint32_t);
    if (s->key == NULL || s->value == NULL)
        return NULL;
    for (uint32_t i = 0; of != NULL && i < of->room; i++)
        if (of->value[i] != 0) {
            uint32_t at = adx_shared_place(s, &of->key[i]);
            s->key[at] = of->key[i];
            s->value[at] = of->value[i];
            s->n++;
        }
    return s;
}

// Returns the value with the key of this one, which is noted if there is none
// yet. 0: no memory.
static uint32_t adx_shared_value(ad_tensor *t, uint32_t value)
{
    adx_value_key key;
    adx_shared_values *s = t->program->shared;
    if (s == NULL || 2 * s->n >= s->room)
        s = t->program->shared = adx_widen_shared(&t->arena, s);
    if (s == NULL
        || !adx_make_value_key(t, adx_tensor_value_at(t, value), NULL, &key))
        return 0;
    uint32_t at = adx_shared_place(s, &key);
    if (s->value[at] != 0)
        return s->value[at];
    s->key[at] = key;
    s->value[at] = value;
    s->n++;
    return value;
}

// Whether a value is a number of another at each point.
static bool adx_is_copy(const adx_tensor_value *v)
{
    return v->kind == ADX_VALUE_SUM && v->terms == 1 && v->term->factors <= 1
        && (v->term->k == 1 || v->term->k == -1);
}

// A value has all its terms, and can be computed from here on. Returns the one
// to be read in its place.
static uint32_t adx_complete_value(ad_tensor *t, uint32_t value)
{
    adx_tensor_value *v = adx_tensor_value_at(t, value);
    if (v->kind == ADX_VALUE_SUM && v->terms > 1 && !t->options.as_written)
        adx_join_terms(t, value);
    uint32_t shared = t->arena.status != ADREV_OK ? 0
                    : adx_shared_value(t, value);
    v = adx_tensor_value_at(t, value);
    if (shared != 0 && shared != value) {
        if (!v->result)
            return shared;
        if (!adx_is_copy(v)) {
            v->kind = ADX_VALUE_SUM;
            v->terms = 0;
            adx_copy_term(t, value, shared, 1);
        }
    }
    adx_finish_value(t, value);
    return value;
}

// Returns a value of one number, which is a constant. 0: no memory.
static uint32_t adx_constant_value(ad_tensor *t, ad_real k)
{
    adx_set *s = adx_begin_set(t);
    uint32_t value = s == NULL ? 0 : adx_new_value(t, ADX_VALUE_SUM, 0);
    if (value == 0)
        return 0;
    adx_lay_out(t, &t->program->value[value], NULL);
    adx_new_tensor_term(t, value, s, 0, k);
    return adx_complete_value(t, value);
}

ADX_SELDOM_END

/* === tensor/lower ===========================================================
 * From formulas to terms. Conditions and ranges go into the sets of the terms;
 * a sum of sums is one list of terms. What is multiplied or given to a
 * function, and is no number of an array, becomes a value of its own, at those
 * points only where it is needed, and along those indices only that it
 * mentions.
 *
 * Reads are proved to be inside here, for the sizes that are given.
 *
 *   needs   tensor/api tensor/tree tensor/messages tensor/arena tensor/sets
 *           tensor/nests tensor/open
 *   offers  adx_lowering adx_node_of adx_is_lowering adx_misfit
 *           adx_find_outside adx_say_signed adx_say_outside adx_check_inside
 *           adx_lower_form adx_bind_indices adx_forget_indices
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_lowering {
    ad_tensor *t;
    ad_tensor_error *error;
    uint32_t *row_of;           // of each index that is bound: the row of sets
                                // that is its value; ADX_NOT_YET
    uint32_t *value_of;         // of the tree's arrays
    unsigned again;             // products that are made a second time
    bool overflows;             // a condition has too many parts
    uint32_t size_rows;         // rows of open sizes, if these are to be said:
                                // the first one; or 0
} adx_lowering;

static const adx_tensor_node *adx_node_of(const adx_lowering *k, uint32_t node)
{
    return &k->t->tree.node[node];
}

// Whether lowering goes on: nothing has failed so far.
static bool adx_is_lowering(const adx_lowering *k)
{
    return k->t->arena.status == ADREV_OK;
}

// Says what does not fit.
static void adx_misfit(adx_lowering *k, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (adx_is_lowering(k) && k->error != NULL)
        adx_explain_at(k->error, &k->t->tree, at, format, &args);
    va_end(args);
    adx_arena_fail(&k->t->arena, ADREV_ESHAPE);
}

/* --- reads that are outside ---------------------------------------------- */

// Returns what the rows of a set are at a point of it. NULL: it has none, or no
// memory; or, of open sizes, it would take *long to find one.
static int64_t *adx_find_point(const adx_set *c, bool *takes_long)
{
    adx_witness w = { ADX_GET(c->arena, c->vars, int64_t), false };
    const adx_nest *nest = c->empty ? NULL : adx_make_nest(c, UINT32_MAX, NULL);
    *takes_long = c->open > 0 && nest != NULL && adx_is_long_walk(nest);
    if (w.x == NULL || nest == NULL || *takes_long)
        return NULL;
    adx_walk_nest(nest, w.x, adx_take_witness, &w);
    if (!w.found)
        return NULL;
    // of variables that were replaced: what the rows of c say of all indices
    int64_t *value = ADX_GET(c->arena, c->rows, int64_t);
    for (uint32_t i = 0; value != NULL && i < c->rows; i++) {
        value[i] = adx_form_of(c, i)[0];
        for (uint32_t v = 0; v < c->vars; v++)
            value[i] += adx_form_of(c, i)[1 + v] * (c->gone[v] ? 0 : w.x[v]);
    }
    return value;
}

#define ADX_CORNERS_MOST 4      // open sizes

// Returns a point for sizes that are all at an end of their ranges.
static int64_t *adx_find_at_corners(const adx_set *s)
{
    uint32_t open = s->open < ADX_CORNERS_MOST ? s->open : ADX_CORNERS_MOST;
    int64_t *value = NULL;
    for (uint32_t i = 0; i < (uint32_t)1 << open && value == NULL; i++) {
        adx_set *c = adx_copy_set(s);
        bool takes_long;
        for (uint32_t v = 0; c != NULL && v < s->open; v++)
            adx_fix_var(c, v, i >> v % open & 1 ? s->high[v] : s->low[v]);
        if (c == NULL)
            return NULL;
        adx_simplify_set(c);
        value = adx_find_point(c, &takes_long);
    }
    return value;
}

// Returns a point of a set at which a row is below, or above, a bound. NULL:
// there is none, or no memory; or it would take too long to find out for all
// sizes.
static int64_t *adx_find_outside(const adx_set *s, uint32_t row, int64_t bound,
                                 bool above)
{
    const int64_t *form = adx_form_of(s, row);
    bool takes_long;
    if (s->empty || (above ? adx_extreme(s, form, true) < bound
                           : adx_extreme(s, form, false) >= bound))
        return NULL;
    adx_set *c = adx_copy_set(s);
    uint32_t r = c == NULL ? UINT32_MAX : adx_new_row(c, ADX_ROW_SIGN);
    if (r == UINT32_MAX)
        return NULL;
    adx_add_multiple(c, adx_form_of(c, r), above ? 1 : -1, adx_form_of(c, row));
    adx_form_of(c, r)[0] += above ? -bound : bound - 1;
    adx_simplify_set(c);
    int64_t *value = adx_find_point(c, &takes_long);
    if (takes_long) {
        value = adx_find_at_corners(c);
        if (value == NULL)
            adx_arena_fail(s->arena, ADREV_ELIMIT);
    }
    return value;
}

// Adds a whole number, with its sign, to a message.
static void adx_say_signed(adx_saying *s, int64_t v)
{
    if (v < 0)
        adx_say_string(s, "-");
    adx_say_whole(s, (uint32_t)(v < 0 ? -v : v));
}

// Adds "i=0, j=1" to a message.
static void adx_say_indices(const adx_lowering *k, adx_saying *s,
                            const int64_t value[])
{
    const adx_tree *tree = &k->t->tree;
    bool any = false;
    for (uint32_t i = 0; k->size_rows != 0 && i < k->t->open->n; i++) {
        adx_say_string(s, any ? ", " : " at ");
        any = true;
        adx_say_spot(s, tree, tree->size[k->t->open->size[i]]);
        adx_say_string(s, "=");
        adx_say_signed(s, value[k->size_rows + i]);
    }
    for (uint32_t i = 1; i < tree->index_count; i++)
        if (k->row_of[i] != ADX_NOT_YET) {
            adx_say_string(s, any ? ", " : " at ");
            any = true;
            adx_say_spot(s, tree, tree->index[i].name);
            adx_say_string(s, "=");
            adx_say_signed(s, value[k->row_of[i]]);
        }
}

// Says "x[i-j] is x[-1] at i=0, j=1; x?[i-j] reads 0 there".
static void adx_say_outside(adx_lowering *k, const adx_tensor_node *n,
                            const uint32_t rows[], const int64_t value[])
{
    const adx_tree *tree = &k->t->tree;
    char text[200];
    adx_saying s = { text, 0, sizeof text };
    const adx_spot whole = { n->spot.at, n->end - n->spot.at };
    adx_say_spot(&s, tree, whole);
    adx_say_string(&s, " is ");
    adx_say_spot(&s, tree, n->spot);
    for (uint32_t i = 0; i < n->count; i++) {
        adx_say_string(&s, i == 0 ? "[" : ",");
        adx_say_signed(&s, value[rows[i]]);
    }
    adx_say_string(&s, "]");
    adx_say_indices(k, &s, value);
    adx_misfit(k, n->spot.at, "%s", text);
}

// Checks that row r, which says how far index reads are inside, is never
// negative, whatever the open sizes are.
static void adx_check_inside(adx_lowering *k, const adx_set *s,
                             const adx_tensor_node *n, const uint32_t rows[],
                             uint32_t r)
{
    adx_set *c = adx_copy_set(s);
    if (c == NULL)
        return;
    k->size_rows = c->rows;
    for (uint32_t v = 0; v < c->open; v++) {
        uint32_t size = adx_new_row(c, ADX_ROW_FORM);
        if (size == UINT32_MAX)
            return;
        adx_form_of(c, size)[1 + v] = 1;
    }
    const int64_t *value = adx_find_outside(c, r, 0, false);
    if (value != NULL)
        adx_say_outside(k, n, rows, value);
    k->size_rows = 0;
}

/* --- forms --------------------------------------------------------------- */

static uint32_t adx_lower_form(adx_lowering *k, adx_set *s, uint32_t form);

// Returns the value of a map at the form of a row, as a variable.
static uint32_t adx_look_up(adx_set *s, adx_int_table *table, uint32_t argument)
{
    for (uint32_t r = 0; r < s->rows; r++)      // is it there already?
        if (s->row[r].kind == ADX_ROW_VALUE && s->row[r].table == table
            && memcmp(adx_form_of(s, s->row[r].at), adx_form_of(s, argument),
                      s->width * sizeof *s->k) == 0) {
            uint32_t same = adx_new_row(s, ADX_ROW_FORM);
            if (same != UINT32_MAX)
                adx_add_multiple(s, adx_form_of(s, same), 1, adx_form_of(s, r));
            return same;
        }
    uint32_t v = adx_new_var(s, table->low, table->high);
    uint32_t row = adx_new_row(s, ADX_ROW_VALUE);
    uint32_t to = adx_new_row(s, ADX_ROW_FORM);
    if (v == UINT32_MAX || row == UINT32_MAX || to == UINT32_MAX)
        return UINT32_MAX;
    adx_form_of(s, row)[1 + v] = adx_form_of(s, to)[1 + v] = 1;
    s->row[row].at = argument;
    s->row[row].table = table;
    return to;
}

// Returns a map of a form: the form must be in its range.
static uint32_t adx_lower_map(adx_lowering *k, adx_set *s,
                              const adx_multiple *m, size_t at)
{
    adx_int_table *table = k->t->program->map[m->of];
    uint32_t argument = adx_lower_form(k, s, m->argument);
    if (argument == UINT32_MAX || !adx_is_lowering(k))
        return UINT32_MAX;
    const int64_t *below = adx_find_outside(s, argument, table->from, false);
    const int64_t *above = adx_find_outside(s, argument,
                                            table->from + (int64_t)table->n,
                                            true);
    if (below != NULL || above != NULL) {
        const int64_t *value = below != NULL ? below : above;
        char text[160];
        adx_saying said = { text, 0, sizeof text };
        adx_say_string(&said, " is asked for ");
        adx_say_signed(&said, value[argument]);
        adx_say_indices(k, &said, value);
        adx_misfit(k, at, "'%w'%s", k->t->tree.map[m->of].name, text);
        return UINT32_MAX;
    }
    return adx_look_up(s, table, argument);
}

// Makes a form of the text a row of the set. UINT32_MAX: it failed.
static uint32_t adx_lower_form(adx_lowering *k, adx_set *s, uint32_t form)
{
    const adx_affine *f = &k->t->tree.form[form];
    uint32_t to = adx_new_row(s, ADX_ROW_FORM);
    if (to == UINT32_MAX)
        return to;
    adx_form_of(s, to)[0] = f->constant;
    for (uint32_t i = 0; i < f->count && adx_is_lowering(k); i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        uint32_t row = m->kind == ADX_OF_INDEX ? k->row_of[m->of]
                     : m->kind == ADX_OF_MAP ? adx_lower_map(k, s, m, f->at)
                     : UINT32_MAX;
        if (m->kind == ADX_OF_SIZE && s->open > 0
            && k->t->open->var[m->of] != 0)
            adx_form_of(s, to)[k->t->open->var[m->of]] += m->k;
        else if (m->kind == ADX_OF_SIZE)
            adx_form_of(s, to)[0] = adx_whole_add(s->arena,
                adx_form_of(s, to)[0], m->k, k->t->given.size[m->of]);
        else if (row != UINT32_MAX)
            adx_add_multiple(s, adx_form_of(s, to), m->k, adx_form_of(s, row));
    }
    return adx_is_lowering(k) ? to : UINT32_MAX;
}

/* --- indices ------------------------------------------------------------- */

// The first and the last number of an index, as forms in open sizes.
static void adx_ends_of_index(adx_lowering *k, const adx_tensor_index *x,
                              int64_t *end[2])
{
    for (int i = 0; i < 2; i++) {
        end[i] = ADX_GET(&k->t->arena, 1 + adx_open_of(k->t), int64_t);
        if (end[i] != NULL
            && !adx_form_in_sizes(k->t, i == 0 ? x->from : x->to, end[i]))
            adx_arena_fail(&k->t->arena, ADREV_ESHAPE);
    }
    if (adx_is_lowering(k))
        end[1][0]--;
}

// Makes indices variables of the set, and rows, one behind the other. Returns
// the first row.
static uint32_t adx_bind_indices(adx_lowering *k, adx_set *s, uint32_t first,
                                 uint32_t count)
{
    uint32_t vars = s->vars;
    uint32_t rows = s->rows;
    for (uint32_t i = 0; i < count; i++) {
        const adx_tensor_index *x = &k->t->tree.index[first + i];
        int64_t *end[2];
        adx_ends_of_index(k, x, end);
        uint32_t v = !adx_is_lowering(k) ? UINT32_MAX
            : adx_new_var(s, adx_open_extreme(k->t, end[0], false),
                          adx_open_extreme(k->t, end[1], true));
        if (v != UINT32_MAX)
            s->called[v] = first + i;
    }
    for (uint32_t i = 0; i < count && adx_is_lowering(k); i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r == UINT32_MAX)
            break;
        adx_form_of(s, r)[1 + vars + i] = 1;
        k->row_of[first + i] = r;
    }
    for (uint32_t i = 0; i < count && s->open > 0 && adx_is_lowering(k); i++) {
        int64_t *end[2];
        adx_ends_of_index(k, &k->t->tree.index[first + i], end);
        if (adx_is_lowering(k))
            adx_bound_var(s, vars + i, end[0], end[1]);
    }
    return rows;
}

// Takes indices out of scope: no row stands for them any more.
static void adx_forget_indices(adx_lowering *k, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        k->row_of[first + i] = ADX_NOT_YET;
}

ADX_SELDOM_END

/* === tensor/splits ==========================================================
 * A condition splits a set into disjoint ones. Comparisons become rows, and an
 * entry of a relation a variable. What is no such set is written down point by
 * point, as bits: exists, what is no entry of a relation, and conditions that
 * split into too many sets. The points are found by loops over sets, in which
 * what exists is a variable, too: so relations are joined by the buckets of
 * their columns, and not all values of all indices are tried.
 *
 *   needs   tensor/tree tensor/arena tensor/sets tensor/nests tensor/binding
 *           tensor/open tensor/programs tensor/lower
 *   offers  adx_set_pieces adx_add_set_piece adx_entry_of adx_lower_list
 *           adx_where_by_bits adx_set_where
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_PIECES_MOST 12

typedef struct adx_set_pieces {
    adx_set *set[ADX_PIECES_MOST];
    uint32_t n;
} adx_set_pieces;

// Adds a set to a list, unless it is empty. Too many sets overflow, and are
// written as bits.
static void adx_add_set_piece(adx_lowering *k, adx_set_pieces *to, adx_set *s)
{
    if (s == NULL || s->empty)
        return;
    if (to->n == ADX_PIECES_MOST)
        k->overflows = true;
    else
        to->set[to->n++] = s;
}

static void adx_split_set(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to);

// Returns the set with sign*form + c as a condition.
static adx_set *adx_with_row(adx_lowering *k, const adx_set *s, uint32_t form,
                             adx_row_kind kind, int64_t sign, int64_t c)
{
    adx_set *to = adx_copy_set(s);
    uint32_t row = to == NULL ? UINT32_MAX : adx_lower_form(k, to, form);
    uint32_t r = row == UINT32_MAX ? row : adx_new_row(to, kind);
    if (r == UINT32_MAX)
        return NULL;
    adx_add_multiple(to, adx_form_of(to, r), sign, adx_form_of(to, row));
    adx_form_of(to, r)[0] += c;
    adx_simplify_set(to);
    return to;
}

// Splits a set by a comparison of a form with 0, which may be negated: into one
// piece or, for a form that is not 0, two.
static void adx_split_form(adx_lowering *k, const adx_set *s,
                           const adx_tensor_node *n, bool negated,
                           adx_set_pieces *to)
{
    bool zero = n->kind != ADX_TREE_NOT_NEGATIVE
             && (n->kind == ADX_TREE_ZERO) != negated;
    if (n->kind == ADX_TREE_NOT_NEGATIVE)
        adx_add_set_piece(k, to, adx_with_row(k, s, n->of, ADX_ROW_SIGN,
                                          negated ? -1 : 1, negated ? -1 : 0));
    else if (zero)
        adx_add_set_piece(k, to, adx_with_row(k, s, n->of, ADX_ROW_ZERO, 1, 0));
    else
        for (int64_t sign = -1; sign <= 1; sign += 2)
            adx_add_set_piece(
                k, to, adx_with_row(k, s, n->of, ADX_ROW_SIGN, sign, -1));
}

// Splits a set into the points where all of the children from `node` on are
// true.
static void adx_split_all(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to)
{
    adx_set_pieces *now = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (now == NULL)
        return;
    adx_add_set_piece(k, now, adx_copy_set(s));
    for (; node != 0 && adx_is_lowering(k); node = adx_node_of(k, node)->next) {
        adx_set_pieces *next = ADX_GET(&k->t->arena, 1, adx_set_pieces);
        for (uint32_t i = 0; next != NULL && i < now->n; i++)
            adx_split_set(k, now->set[i], node, negated, next);
        if (next == NULL)
            return;
        now = next;
    }
    for (uint32_t i = 0; i < now->n; i++)
        adx_add_set_piece(k, to, now->set[i]);
}

// Splits a set into the points where one of the children from `node` on is
// true, and none before it.
static void adx_split_any(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to)
{
    adx_set_pieces *rest = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (rest == NULL)
        return;
    adx_add_set_piece(k, rest, adx_copy_set(s));
    for (; node != 0 && adx_is_lowering(k); node = adx_node_of(k, node)->next) {
        adx_set_pieces *next = ADX_GET(&k->t->arena, 1, adx_set_pieces);
        for (uint32_t i = 0; next != NULL && i < rest->n; i++) {
            adx_split_set(k, rest->set[i], node, negated, to);
            adx_split_set(k, rest->set[i], node, !negated, next);
        }
        if (next == NULL)
            return;
        rest = next;
    }
}

// Returns the entry of a relation with these columns, rows row[arity], as a
// row; UINT32_MAX: no memory.
static uint32_t adx_entry_of(adx_lowering *k, adx_set *s, uint32_t relation,
                             const uint32_t row[])
{
    const adx_tensor_program *p = k->t->program;
    uint32_t arity = k->t->tree.relation[relation].arity;
    adx_int_table *const *column = &p->column[p->column_of[relation]];
    for (uint32_t r = 0; r < s->rows; r++) {    // is it there already?
        bool same = s->row[r].kind == ADX_ROW_VALUE
                 && s->row[r].table == column[0];
        for (uint32_t c = 0; same && c < arity; c++) {
            bool found = false;
            for (uint32_t q = 0; q < s->rows && !found; q++)
                found = s->row[q].kind == ADX_ROW_VALUE
                     && s->row[q].table == column[c]
                     && memcmp(adx_form_of(s, s->row[q].at),
                               adx_form_of(s, s->row[r].at),
                               s->width * sizeof *s->k) == 0
                     && memcmp(adx_form_of(s, q), adx_form_of(s, row[c]),
                               s->width * sizeof *s->k) == 0;
            same = found;
        }
        if (same)
            return s->row[r].at;
    }
    uint32_t v = adx_new_var(s, 0, (int64_t)column[0]->n - 1);
    uint32_t entry = adx_new_row(s, ADX_ROW_FORM);
    if (v == UINT32_MAX || entry == UINT32_MAX)
        return UINT32_MAX;
    adx_form_of(s, entry)[1 + v] = 1;
    for (uint32_t c = 0; c < arity; c++) {
        uint32_t r = adx_new_row(s, ADX_ROW_VALUE);
        if (r == UINT32_MAX)
            return r;
        adx_add_multiple(s, adx_form_of(s, r), 1, adx_form_of(s, row[c]));
        s->row[r].table = column[c];
        s->row[r].at = entry;
    }
    return entry;
}

// Makes rows of the forms of a read or a membership. False: it failed.
static bool adx_lower_list(adx_lowering *k, adx_set *s,
                           const adx_tensor_node *n, uint32_t row[])
{
    for (uint32_t i = 0; i < n->count && adx_is_lowering(k); i++)
        row[i] = adx_lower_form(k, s, k->t->tree.list[n->first + i]);
    return adx_is_lowering(k);
}

// Bits for the values of the indices that a condition mentions.
typedef struct adx_grid {
    uint32_t index[ADX_BOUND_MOST];
    uint32_t n;
    int64_t low[ADX_BOUND_MOST];
    int64_t extent[ADX_BOUND_MOST];
} adx_grid;

// Adds to a grid the indices that a form has and that have no row yet.
static void adx_grid_form(adx_lowering *k, adx_grid *g, uint32_t form)
{
    const adx_affine *f = &k->t->tree.form[form];
    for (uint32_t i = 0; i < f->count; i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        bool there = m->kind != ADX_OF_INDEX || k->row_of[m->of] == ADX_NOT_YET;
        if (m->kind == ADX_OF_MAP)
            adx_grid_form(k, g, m->argument);
        for (uint32_t j = 0; j < g->n && !there; j++)
            there = g->index[j] == m->of;
        if (!there && g->n < ADX_BOUND_MOST)
            g->index[g->n++] = m->of;
    }
}

// Finds the indices that are bound around a condition and that it mentions.
static void adx_find_grid(adx_lowering *k, adx_grid *g, uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (n->kind == ADX_TREE_MEMBER)
        for (uint32_t i = 0; i < n->count; i++)
            adx_grid_form(k, g, k->t->tree.list[n->first + i]);
    else if (n->kind == ADX_TREE_EXISTS)
        adx_find_grid(k, g, n->condition);
    else if (n->kind == ADX_TREE_OR || n->kind == ADX_TREE_AND)
        for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
            adx_find_grid(k, g, c);
    else
        adx_grid_form(k, g, n->of);
}

// Whether a condition, or the range of an index that it mentions, depends on
// open sizes.
static bool adx_is_open_condition(const adx_lowering *k, uint32_t node,
                                  const adx_grid *g)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    const adx_tree *tree = &k->t->tree;
    bool open = false;
    for (uint32_t i = 0; i < g->n; i++)
        open = open || adx_is_open_form(k->t, tree->index[g->index[i]].from)
            || adx_is_open_form(k->t, tree->index[g->index[i]].to);
    for (uint32_t i = 0; n->kind == ADX_TREE_EXISTS && i < n->count; i++)
        open = open || adx_is_open_form(k->t, tree->index[n->first + i].from)
            || adx_is_open_form(k->t, tree->index[n->first + i].to);
    for (uint32_t i = 0; n->kind == ADX_TREE_MEMBER && i < n->count; i++)
        open = open || adx_is_open_form(k->t, tree->list[n->first + i]);
    if (n->kind == ADX_TREE_EXISTS)
        return open || adx_is_open_condition(k, n->condition, g);
    if (n->kind == ADX_TREE_OR || n->kind == ADX_TREE_AND)
        for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
            open = open || adx_is_open_condition(k, c, g);
    else if (n->kind != ADX_TREE_MEMBER)
        open = open || adx_is_open_form(k->t, n->of);
    return open;
}

/* --- conditions at a point ----------------------------------------------- */

// The value of a form for values of the indices. False: a map is asked outside
// of its range.
static bool adx_form_at(const adx_lowering *k, uint32_t form,
                        const int64_t value[], int64_t *to)
{
    const adx_affine *f = &k->t->tree.form[form];
    *to = f->constant;
    for (uint32_t i = 0; i < f->count; i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        int64_t x = m->kind == ADX_OF_SIZE ? k->t->given.size[m->of]
                  : m->kind == ADX_OF_INDEX ? value[m->of] : 0;
        if (m->kind == ADX_OF_MAP) {
            const adx_int_table *t = k->t->program->map[m->of];
            if (!adx_form_at(k, m->argument, value, &x) || x < t->from
                || (uint64_t)(x - t->from) >= t->n)
                return false;
            x = t->value[x - t->from];
        }
        *to = adx_whole_add(&k->t->arena, *to, m->k, x);
    }
    return true;
}

// Whether a relation has the entry that the forms of a node give at these
// values of the indices. The entries are found by their first column.
static bool adx_is_entry_at(adx_lowering *k, const adx_tensor_node *n,
                            const int64_t value[])
{
    const adx_tensor_program *p = k->t->program;
    adx_int_table *const *column = &p->column[p->column_of[n->of]];
    int64_t x[ADX_BOUND_MOST];
    for (uint32_t i = 0; i < n->count; i++)
        if (!adx_form_at(k, k->t->tree.list[n->first + i], value, &x[i]))
            return false;
    if (x[0] < column[0]->low || x[0] > column[0]->high
        || !adx_invert_table(&k->t->arena, column[0]))
        return false;
    const uint32_t *start = column[0]->start + (x[0] - column[0]->low);
    for (uint32_t e = start[0]; e < start[1]; e++) {
        bool same = true;
        for (uint32_t c = 1; c < n->count && same; c++)
            same = column[c]->value[column[0]->argument[e]] == x[c];
        if (same)
            return true;
    }
    return false;
}

static bool adx_is_true_at(adx_lowering *k, uint32_t node, int64_t value[]);

// Whether a condition is true for some values of the indices from `index` on.
static bool adx_is_true_for_some(adx_lowering *k, uint32_t index,
                                 uint32_t count, uint32_t node, int64_t value[])
{
    int64_t from = 0;
    int64_t to = 0;
    if (count == 0)
        return adx_is_true_at(k, node, value);
    adx_size_form(k->t, k->t->tree.index[index].from, &from);
    adx_size_form(k->t, k->t->tree.index[index].to, &to);
    for (int64_t i = from; i < to && adx_is_lowering(k); i++) {
        value[index] = i;
        if (adx_is_true_for_some(k, index + 1, count - 1, node, value))
            return true;
    }
    return false;
}

// Whether a condition is true at these values of the indices.
static bool adx_is_true_at(adx_lowering *k, uint32_t node, int64_t value[])
{
    const adx_tensor_node *n = adx_node_of(k, node);
    bool any = n->kind == ADX_TREE_OR;
    int64_t v = 0;
    if (any || n->kind == ADX_TREE_AND) {
        for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
            if (adx_is_true_at(k, c, value) == any)
                return any;
        return !any;
    }
    if (n->kind == ADX_TREE_MEMBER)
        return adx_is_entry_at(k, n, value);
    if (n->kind == ADX_TREE_EXISTS)
        return adx_is_true_for_some(k, n->first, n->count, n->condition, value);
    return adx_form_at(k, n->of, value, &v)
        && (n->kind == ADX_TREE_ZERO ? v == 0
            : n->kind == ADX_TREE_NOT_ZERO ? v != 0 : v >= 0);
}

// Finds the ranges of the indices of a grid. Returns how many points it has;
// UINT64_MAX: too many.
static uint64_t adx_measure_grid(const adx_lowering *k, adx_grid *g)
{
    uint64_t size = 1;
    for (uint32_t i = 0; i < g->n; i++) {
        int64_t to = 0;
        adx_size_form(k->t, k->t->tree.index[g->index[i]].from, &g->low[i]);
        adx_size_form(k->t, k->t->tree.index[g->index[i]].to, &to);
        g->extent[i] = to > g->low[i] ? to - g->low[i] : 0;
        size = g->extent[i] == 0 ? 0
             : size > ADX_BITS_MOST / (uint64_t)g->extent[i] ? UINT64_MAX
             : size * (uint64_t)g->extent[i];
    }
    return size;
}

/* --- points by loops ----------------------------------------------------- */

// The range of a form, as those of its indices and maps make it. False: a map
// may be asked outside of its own, or numbers are too large.
static bool adx_range_of_form(const adx_lowering *k, uint32_t form, double *low,
                              double *high)
{
    const adx_affine *f = &k->t->tree.form[form];
    *low = *high = (double)f->constant;
    for (uint32_t i = 0; i < f->count; i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        const adx_tensor_index *x = &k->t->tree.index[m->of];
        double end[2] = { 0, 0 };
        int64_t from = 0;
        int64_t to = 0;
        if (m->kind == ADX_OF_SIZE)
            end[0] = end[1] = (double)k->t->given.size[m->of];
        else if (m->kind == ADX_OF_MAP) {
            const adx_int_table *t = k->t->program->map[m->of];
            if (!adx_range_of_form(k, m->argument, &end[0], &end[1])
                || end[0] < (double)t->from
                || end[1] >= (double)t->from + (double)t->n)
                return false;
            end[0] = (double)t->low;
            end[1] = (double)t->high;
        } else if (adx_size_form(k->t, x->from, &from)
                   && adx_size_form(k->t, x->to, &to)) {
            end[0] = (double)from;
            end[1] = (double)to - 1;
        }
        *low += (double)m->k * end[m->k < 0];
        *high += (double)m->k * end[m->k > 0];
    }
    return *low > -0x1p50 && *high < 0x1p50;
}

// Whether all forms of a condition have a value wherever their indices are.
static bool adx_has_all_forms(const adx_lowering *k, uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    bool ok = true;
    double low;
    double high;
    if (n->kind == ADX_TREE_EXISTS)
        return adx_has_all_forms(k, n->condition);
    if (n->kind == ADX_TREE_MEMBER)
        for (uint32_t i = 0; i < n->count && ok; i++)
            ok = adx_range_of_form(k, k->t->tree.list[n->first + i], &low,
                                   &high);
    else if (n->kind == ADX_TREE_OR || n->kind == ADX_TREE_AND)
        for (uint32_t c = n->child; c != 0 && ok; c = adx_node_of(k, c)->next)
            ok = adx_has_all_forms(k, c);
    else
        ok = adx_range_of_form(k, n->of, &low, &high);
    return ok;
}

// The number of a point in a grid, of which the rows are indices.
static void adx_grid_place(const adx_lowering *k, const adx_grid *g,
                           const adx_set *s, int64_t form[])
{
    for (uint32_t j = 0; j < g->n; j++) {
        for (uint32_t v = 0; v <= s->vars; v++)
            form[v] *= g->extent[j];
        adx_add_multiple(s, form, 1, adx_form_of(s, k->row_of[g->index[j]]));
        form[0] -= g->low[j];
    }
}

// Conditions that are still to be joined; more: with those that follow in the
// tree.
typedef struct adx_to_join {
    uint32_t node;
    bool more;
    const struct adx_to_join *next;
} adx_to_join;

// Returns the set without variables that say nothing of the indices of a grid,
// as far as that is exact. NULL: no memory.
static const adx_set *adx_set_on_grid(const adx_lowering *k, const adx_grid *g,
                                      const adx_set *of)
{
    adx_set *s = adx_copy_set(of);
    bool *keep = s == NULL ? NULL : ADX_GET(s->arena, s->width, bool);
    if (keep == NULL)
        return NULL;
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t v = 0; v < s->vars; v++)
            keep[v] |= adx_form_of(s, k->row_of[g->index[i]])[1 + v] != 0;
    adx_project(s, keep);
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t v = 0; v < s->vars; v++)
            if (s->gone[v]
                && adx_form_of(s, k->row_of[g->index[i]])[1 + v] != 0)
                return of;
    return s;
}

// Covers the points of a grid that lie in a set.
static void adx_cover_joined(adx_lowering *k, const adx_grid *g,
                            const adx_set *of, adx_bitmap *bits)
{
    const adx_set *s = adx_set_on_grid(k, g, of);
    int64_t *form = s == NULL ? NULL : ADX_GET(s->arena, s->width, int64_t);
    if (form == NULL || s->empty)
        return;
    adx_grid_place(k, g, s, form);
    adx_cover_form(s, form, bits);
}

// Covers the points of a set where conditions are true.
static void adx_join_all(adx_lowering *k, const adx_grid *g, const adx_set *s,
                         const adx_to_join *todo, adx_bitmap *bits)
{
    if (todo == NULL)
        adx_cover_joined(k, g, s, bits);
    if (todo == NULL || !adx_is_lowering(k))
        return;
    const adx_tensor_node *n = adx_node_of(k, todo->node);
    const adx_to_join after = { n->next, true, todo->next };
    adx_to_join first = { n->child, n->kind == ADX_TREE_AND,
                          todo->more && n->next != 0 ? &after : todo->next };
    if (n->kind == ADX_TREE_AND)
        adx_join_all(k, g, s, &first, bits);
    else if (n->kind == ADX_TREE_OR)
        for (; first.node != 0; first.node = adx_node_of(k, first.node)->next)
            adx_join_all(k, g, s, &first, bits);
    else if (n->kind == ADX_TREE_EXISTS) {
        adx_set *c = adx_copy_set(s);
        if (c == NULL)
            return;
        adx_bind_indices(k, c, n->first, n->count);
        first.node = n->condition;
        adx_join_all(k, g, c, &first, bits);
        adx_forget_indices(k, n->first, n->count);
    } else {
        adx_set_pieces *pieces = ADX_GET(&k->t->arena, 1, adx_set_pieces);
        if (pieces != NULL)
            adx_split_set(k, s, todo->node, false, pieces);
        for (uint32_t i = 0; pieces != NULL && i < pieces->n; i++)
            adx_join_all(k, g, pieces->set[i], first.next, bits);
    }
}

// Covers by loops where a condition is true.
static void adx_cover_by_joins(adx_lowering *k, const adx_grid *g,
                               uint32_t node, adx_bitmap *bits)
{
    adx_set *s = adx_new_set(&k->t->arena);
    const adx_to_join all = { node, false, NULL };
    uint32_t around[ADX_BOUND_MOST];
    for (uint32_t i = 0; s != NULL && i < g->n; i++) {
        uint32_t v = adx_new_var(s, g->low[i], g->low[i] + g->extent[i] - 1);
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        around[i] = k->row_of[g->index[i]];
        k->row_of[g->index[i]] = r;
        if (v != UINT32_MAX && r != UINT32_MAX)
            adx_form_of(s, r)[1 + v] = 1;
    }
    if (adx_is_lowering(k) && bits->n > 0) {
        adx_simplify_set(s);
        adx_join_all(k, g, s, &all, bits);
    }
    for (uint32_t i = 0; s != NULL && i < g->n; i++)
        k->row_of[g->index[i]] = around[i];
}

// Covers, point by point, where a condition is true.
static void adx_cover_by_trial(adx_lowering *k, const adx_grid *g,
                               uint32_t node, adx_bitmap *bits)
{
    int64_t *value = ADX_GET(&k->t->arena, k->t->tree.index_count, int64_t);
    for (uint64_t at = 0; value != NULL && at < bits->n && adx_is_lowering(k);
         at++) {
        uint64_t rest = at;
        for (uint32_t i = g->n; i-- > 0;) {
            value[g->index[i]] = g->low[i]
                               + (int64_t)(rest % (uint64_t)g->extent[i]);
            rest /= (uint64_t)g->extent[i];
        }
        if (adx_is_true_at(k, node, value))
            adx_set_bit(bits, at);
    }
}

// Returns the bits of a grid at which a condition is true. NULL: no memory.
static const adx_bitmap *adx_cover_grid(adx_lowering *k, adx_grid *g,
                                       uint32_t node)
{
    adx_bitmap *bits = adx_new_bitmap(&k->t->arena, adx_measure_grid(k, g));
    if (bits == NULL)
        return NULL;
    if (adx_has_all_forms(k, node))
        adx_cover_by_joins(k, g, node, bits);
    else
        adx_cover_by_trial(k, g, node, bits);
    bits->node = node;
    return adx_is_lowering(k) ? bits : NULL;
}

// Splits a set by a condition that is written down as bits.
static void adx_split_bits(adx_lowering *k, const adx_set *s, uint32_t node,
                           bool negated, adx_set_pieces *to)
{
    adx_grid *g = ADX_GET(&k->t->arena, 1, adx_grid);
    if (g == NULL)
        return;
    adx_find_grid(k, g, node);
    if (k->t->open != NULL && adx_is_open_condition(k, node, g)) {
        adx_misfit(k, adx_node_of(k, node)->spot.at,
                   "this depends on sizes that are arguments: C code cannot "
                   "have a list of all cases");
        return;
    }
    const adx_bitmap *bits = adx_cover_grid(k, g, node);
    adx_set *c = bits == NULL ? NULL : adx_copy_set(s);
    uint32_t r = c == NULL ? UINT32_MAX
               : adx_new_row(c, negated ? ADX_ROW_NO_BIT : ADX_ROW_BIT);
    if (r == UINT32_MAX)
        return;
    c->row[r].bits = bits;
    adx_grid_place(k, g, c, adx_form_of(c, r));
    adx_simplify_set(c);
    adx_add_set_piece(k, to, c);
}

// A membership splits nothing: its entry becomes a variable of one set.
static void adx_split_member(adx_lowering *k, const adx_set *s,
                             const adx_tensor_node *n, adx_set_pieces *to)
{
    adx_set *c = adx_copy_set(s);
    uint32_t row[ADX_BOUND_MOST];
    if (c == NULL || !adx_lower_list(k, c, n, row)
        || adx_entry_of(k, c, n->of, row) == UINT32_MAX)
        return;
    adx_simplify_set(c);
    adx_add_set_piece(k, to, c);
}

// The disjoint parts of a set where a condition is true; negated: false.
static void adx_split_set(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (!adx_is_lowering(k))
        return;
    switch (n->kind) {
    case ADX_TREE_AND:
        if (negated)
            adx_split_any(k, s, n->child, true, to);
        else
            adx_split_all(k, s, n->child, false, to);
        break;
    case ADX_TREE_OR:
        if (negated)
            adx_split_all(k, s, n->child, true, to);
        else
            adx_split_any(k, s, n->child, false, to);
        break;
    case ADX_TREE_MEMBER:
        if (negated)
            adx_split_bits(k, s, node, true, to);
        else
            adx_split_member(k, s, n, to);
        break;
    case ADX_TREE_EXISTS:
        adx_split_bits(k, s, node, negated, to);
        break;
    default:
        adx_split_form(k, s, n, negated, to);
        break;
    }
}

// Returns the part of a set where a condition is true, by bits. NULL: no
// memory.
static adx_set_pieces *adx_where_by_bits(adx_lowering *k, const adx_set *s,
                                         uint32_t node)
{
    adx_set_pieces *to = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (to != NULL)
        adx_split_bits(k, s, node, false, to);
    return to;
}

// Returns the disjoint parts of a set where a condition is true. NULL: no
// memory.
static adx_set_pieces *adx_set_where(adx_lowering *k, const adx_set *s,
                                     uint32_t node)
{
    adx_set_pieces *to = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (to == NULL)
        return NULL;
    k->overflows = false;
    adx_split_set(k, s, node, false, to);
    if (!k->overflows)
        return to;
    k->overflows = false;
    return adx_where_by_bits(k, s, node);
}

ADX_SELDOM_END

/* === tensor/paths ===========================================================
 * In which order the factors of a product are multiplied, and the variables
 * summed: two at a time, so that there are as few multiplications as possible.
 * A variable is summed as soon as no factor that is left has it. All subsets of
 * the factors are looked at, each once, with all divisions of it into two
 * (dynamic programming): 3^k steps for k factors. (As in tensor networks:
 * Pfeifer, Haegeman & Verstraete, Faster identification of optimal contraction
 * sequences, 2014.)
 *
 *   needs   tensor/arena
 *   offers  ADX_PATH_MOST adx_product_path adx_path_vars adx_path_whole
 *           adx_path_after adx_path_at adx_find_path
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_PATH_MOST 10        /* factors; 3^10 pairs of subsets */

// The cheapest way to the product of a subset of the factors.
typedef struct adx_path_way {
    double muls;
    double all;                 // operations
    uint32_t one;               // of the two subsets that are multiplied last
} adx_path_way;

// A set of variables is a number, with a bit for each that is not gone.
typedef struct adx_product_path {
    uint32_t factors;
    uint64_t has[ADX_PATH_MOST];        // the variables of each factor
    uint64_t written;           // those of what is written
    uint64_t live;              // all
    uint32_t vars;
    double extent[64];
    adx_path_way *way;          // of each subset
} adx_product_path;

// Returns how many points a box of variables has.
static double adx_path_points(const adx_product_path *p, uint64_t vars)
{
    double n = 1;
    for (uint32_t v = 0; v < p->vars; v++)
        n *= vars >> v & 1 ? p->extent[v] : 1;
    return n;
}

// Returns the variables that a subset of the factors has, as bits.
static uint64_t adx_path_vars(const adx_product_path *p, uint32_t subset)
{
    uint64_t vars = 0;
    for (uint32_t i = 0; i < p->factors; i++)
        vars |= subset >> i & 1 ? p->has[i] : 0;
    return vars;
}

// Returns the subset of all factors.
static uint32_t adx_path_whole(const adx_product_path *p)
{
    return ((uint32_t)1 << p->factors) - 1;
}

// Returns the variables that a product of these factors still has: others are
// summed.
static uint64_t adx_path_after(const adx_product_path *p, uint32_t subset)
{
    uint32_t rest = adx_path_whole(p) & ~subset;
    return adx_path_vars(p, subset)
         & (p->written | adx_path_vars(p, rest));
}

// Returns the variables of the points at which two products are multiplied; in
// the end also those that no factor has.
static uint64_t adx_path_at(const adx_product_path *p, uint32_t one,
                            uint32_t other)
{
    uint64_t none = p->live & ~adx_path_vars(p, adx_path_whole(p));
    return adx_path_after(p, one) | adx_path_after(p, other)
         | ((one | other) == adx_path_whole(p) ? p->written | none : 0);
}

// whether a way takes fewer multiplications, or as many and fewer operations
// in all.
static bool adx_is_cheaper(const adx_path_way *one, const adx_path_way *other)
{
    return one->muls < other->muls
        || (one->muls == other->muls && one->all < other->all);
}

// Finds the cheapest way to compute the product of a subset of the factors: the
// best of all divisions into two smaller subsets, whose ways are known.
static void adx_find_way(adx_product_path *p, uint32_t subset)
{
    adx_path_way best = { 1e300, 1e300, 0 };
    bool whole = subset == adx_path_whole(p);
    double result = adx_path_points(p, whole ? p->written
                                             : adx_path_after(p, subset));
    if ((subset & (subset - 1)) == 0) {         // one factor
        best.muls = 0;
        best.all = adx_path_points(p, adx_path_vars(p, subset)) - result;
        best.one = subset;
    }
    for (uint32_t one = (subset - 1) & subset; one > 0;
         one = (one - 1) & subset) {
        uint32_t other = subset & ~one;
        if (one < other)
            continue;
        double points = adx_path_points(p, adx_path_at(p, one, other));
        const adx_path_way to = {
            p->way[one].muls + p->way[other].muls + points,
            p->way[one].all + p->way[other].all + 2 * points - result, one
        };
        if (adx_is_cheaper(&to, &best))
            best = to;
    }
    p->way[subset] = best;
}

// Returns the cost as the text has it: one factor after the other, then all
// sums at once.
static double adx_written_cost(const adx_product_path *p)
{
    double all = 2 * adx_path_points(p, p->live)
               - adx_path_points(p, p->written);
    for (uint32_t i = 2; i < p->factors; i++)
        all += adx_path_points(p, adx_path_vars(p, ((uint32_t)1 << i) - 1));
    return all;
}

// Finds the cheapest order. False: the text's is as cheap, as it is where all
// factors have all variables; or no memory.
static bool adx_find_path(adx_arena *a, adx_product_path *p)
{
    bool differ = false;
    for (uint32_t i = 0; i < p->factors; i++)
        differ = differ || p->has[i] != p->live;
    if (!differ)
        return false;
    p->way = ADX_GET(a, (size_t)1 << p->factors, adx_path_way);
    for (uint32_t s = 1; p->way != NULL && s <= adx_path_whole(p); s++)
        adx_find_way(p, s);
    return p->way != NULL
        && p->way[adx_path_whole(p)].all < adx_written_cost(p);
}

ADX_SELDOM_END

/* === tensor/values ========================================================
 * Unnamed values, which hold what stands inside an expression: which variables
 * that mentions, the set in which it is computed, how it is read, and whether
 * it is written at all points of that set. The value has only those indices
 * that are mentioned, so it is computed once for all points that differ in
 * others.
 *
 *   needs   tensor/tree tensor/arena tensor/sets tensor/nests tensor/open
 *           tensor/programs tensor/lower
 *   offers  adx_target adx_mention adx_new_unnamed adx_set_of_unnamed
 *           adx_read_unnamed adx_dims_of adx_covers adx_is_everywhere_in
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Where an expression goes: numbers of a value, by rows of sets.
typedef struct adx_target {
    uint32_t value;
    uint32_t out;
} adx_target;

/* --- what is mentioned --------------------------------------------------- */

// Finds the variables of the set that a form mentions, also by maps.
static void adx_mention_form(const adx_lowering *k, const adx_set *s,
                             uint32_t form, bool var[])
{
    const adx_affine *f = &k->t->tree.form[form];
    for (uint32_t i = 0; i < f->count; i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        if (m->kind == ADX_OF_MAP)
            adx_mention_form(k, s, m->argument, var);
        if (m->kind != ADX_OF_INDEX || k->row_of[m->of] == ADX_NOT_YET)
            continue;
        const int64_t *row = adx_form_of(s, k->row_of[m->of]);
        for (uint32_t v = 0; v < s->vars; v++)
            var[v] = var[v] || row[1 + v] != 0;
    }
}

// Finds the variables of s that an expression, or a condition, depends on.
static void adx_mention(const adx_lowering *k, const adx_set *s, uint32_t node,
                        bool var[])
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (n->kind == ADX_TREE_READ || n->kind == ADX_TREE_MEMBER)
        for (uint32_t i = 0; i < n->count; i++)
            adx_mention_form(k, s, k->t->tree.list[n->first + i], var);
    if (n->kind == ADX_TREE_ZERO || n->kind == ADX_TREE_NOT_ZERO
        || n->kind == ADX_TREE_NOT_NEGATIVE)
        adx_mention_form(k, s, n->of, var);
    if (n->condition != 0)
        adx_mention(k, s, n->condition, var);
    for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
        adx_mention(k, s, c, var);
}

/* --- unnamed values ------------------------------------------------------ */

// Finds variables whose values follow from those of others by a map: memory
// need not have room for all of their values.
static void adx_find_determined(const adx_set *s, bool determined[])
{
    for (uint32_t r = 0; r < s->rows; r++) {
        const int64_t *form = adx_form_of(s, r);
        uint32_t count;
        uint32_t v = 0;
        if (s->row[r].kind != ADX_ROW_VALUE)
            continue;
        adx_divisor_of(s, form, &count, &v);
        const int64_t *argument = adx_form_of(s, s->row[r].at);
        bool free = count == 1 && v >= s->open && argument[1 + v] == 0;
        for (uint32_t i = 0; free && i < s->vars; i++)
            free = argument[1 + i] == 0 || !determined[i];
        if (free)
            determined[v] = true;
    }
}

// Makes a value with a number for each point of a set, which is simplified.
// Rows for its indices are added to the set.
static adx_target adx_new_unnamed(adx_lowering *k, adx_value_kind kind,
                                  adx_set *s)
{
    adx_arena *a = &k->t->arena;
    bool *determined = ADX_GET(a, s->width, bool);
    adx_target to = { 0, s->rows };
    uint32_t dims = 0;
    if (determined == NULL)
        return to;
    adx_find_determined(s, determined);
    for (uint32_t v = s->open; v < s->vars; v++)
        dims += !s->gone[v] && !determined[v];
    to.value = adx_new_value(k->t, kind, dims);
    dims = 0;
    for (uint32_t v = s->open; v < s->vars && adx_is_lowering(k); v++) {
        adx_tensor_value *new = &k->t->program->value[to.value];
        if (s->gone[v] || determined[v])
            continue;
        new->low[dims] = s->low[v];
        new->extent[dims] = s->high[v] - s->low[v] + 1;
        adx_range_of_var(k->t, &new->range, dims++, s, v);
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r != UINT32_MAX)
            adx_form_of(s, r)[1 + v] = 1;
    }
    if (adx_is_lowering(k))
        adx_lay_out(k->t, &k->t->program->value[to.value], NULL);
    return to;
}

// Returns the set in which an expression is computed: without variables that it
// does not mention, if that is exact. Both have the same variables.
static adx_set *adx_set_of_unnamed(adx_lowering *k, adx_set *s,
                                   const uint32_t node[], uint32_t nodes)
{
    adx_simplify_set(s);
    adx_set *c = adx_copy_set(s);
    bool *keep = ADX_GET(&k->t->arena, s->width, bool);
    if (c == NULL || keep == NULL)
        return NULL;
    for (uint32_t i = 0; i < nodes; i++)
        adx_mention(k, s, node[i], keep);
    return adx_project(c, keep) && c->vars == s->vars ? c : adx_copy_set(s);
}

// Returns the number of an unnamed value at the points of s: rows of the same
// variables.
static adx_access adx_read_unnamed(adx_set *s, const adx_set *of,
                                   adx_target unnamed, uint32_t dims)
{
    adx_access to = { unnamed.value, s->rows };
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r == UINT32_MAX)
            break;
        for (uint32_t v = 0; v <= s->vars && v <= of->vars; v++)
            adx_form_of(s, r)[v] = adx_form_of(of, unnamed.out + i)[v];
    }
    return to;
}

// Returns how many indices a value has.
static uint32_t adx_dims_of(const adx_lowering *k, uint32_t value)
{
    return k->t->program->value[value].dims;
}

// Whether two sets have the same form in rows of theirs. Variables that only
// one of them has are in none.
static bool adx_is_same_form(const adx_set *one, uint32_t r, const adx_set *two,
                             uint32_t q)
{
    const int64_t *a = adx_form_of(one, r);
    const int64_t *b = adx_form_of(two, q);
    bool same = a[0] == b[0];
    for (uint32_t v = 0; same && (v < one->vars || v < two->vars); v++)
        same = (v < one->vars ? a[1 + v] : 0) == (v < two->vars ? b[1 + v] : 0);
    return same;
}

// Whether rows of two sets are the same condition.
static bool adx_is_same_condition(const adx_set *one, uint32_t r,
                                  const adx_set *two, uint32_t q)
{
    const adx_set_row *a = &one->row[r];
    const adx_set_row *b = &two->row[q];
    return a->kind == b->kind && a->table == b->table && a->bits == b->bits
        && adx_is_same_form(one, r, two, q)
        && (a->kind != ADX_ROW_VALUE
            || adx_is_same_form(one, a->at, two, b->at));
}

// Returns the first row from r on that is a condition.
static uint32_t adx_next_condition(const adx_set *s, uint32_t r)
{
    while (r < s->rows && s->row[r].kind <= ADX_ROW_FORM)
        r++;
    return r;
}

// Whether the set of a term has the conditions and bounds of a set that it was
// made in. (A condition may have taken the place of a weaker one.)
static bool adx_covers(const adx_set *set, const adx_set *s)
{
    uint32_t q = adx_next_condition(set, 0);
    uint32_t r = adx_next_condition(s, 0);
    bool same = true;
    for (; same && r < s->rows && q < set->rows;
         r = adx_next_condition(s, r + 1), q = adx_next_condition(set, q + 1))
        same = adx_is_same_condition(s, r, set, q);
    same = same && r == s->rows && q == set->rows;
    for (uint32_t v = 0; v < s->vars && same; v++)
        same = s->low[v] == set->low[v] && s->high[v] == set->high[v]
            && s->gone[v] == set->gone[v];
    return same;
}

// Whether a value is written at all points of the set that it is made in.
static bool adx_is_everywhere_in(const adx_lowering *k, uint32_t value,
                                 const adx_set *of)
{
    const adx_tensor_value *v = &k->t->program->value[value];
    bool all = v->kind == ADX_VALUE_MOST;
    for (uint32_t i = 0; i < v->terms && !all; i++)
        all = adx_covers(v->term[i].set, of);
    return all;
}

ADX_SELDOM_END

/* === tensor/formulas ========================================================
 * From expressions to terms: reads, products, functions, and unnamed values. A
 * formula is lowered from its root down: sums and brackets add terms to the
 * value at hand, with the points of the brackets' conditions; a product is a
 * term of its factors, of which those that are no reads are unnamed values; a
 * function is an unnamed value of its arguments.
 *
 *   needs   tensor/tree tensor/arena tensor/sets tensor/binding tensor/open
 *           tensor/programs tensor/sharing tensor/lower tensor/splits
 *           tensor/paths tensor/values
 *   offers  adx_lower_formulas
 * ========================================================================== */

ADX_SELDOM_BEGIN

static void adx_lower_sum(adx_lowering *k, adx_target to, const adx_set *s,
                          uint32_t node, ad_real times);

// Returns the pieces of a set where a condition is true; node 0: all of it.
static const adx_set_pieces *adx_sets_where(adx_lowering *k, adx_set *s,
                                            uint32_t node)
{
    if (node != 0)
        return adx_set_where(k, s, node);
    adx_set_pieces *all = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (all != NULL)
        adx_add_set_piece(k, all, s);
    return all;
}

/* --- unnamed values ------------------------------------------------------ */

static void adx_lower_into(adx_lowering *k, adx_target to, adx_set *s,
                           uint32_t node);
static void adx_lower_factors(adx_lowering *k, adx_target to, const adx_set *s,
                              const uint32_t node[], uint32_t nodes,
                              ad_real times);

// Makes a product of expressions an unnamed value; fixed: without a derivative.
// *all: whether it is written at all points of its set; may be NULL.
static adx_access adx_make_unnamed(adx_lowering *k, adx_set *s,
                                   const uint32_t node[], uint32_t nodes,
                                   bool fixed, bool *all)
{
    const adx_access none = { 0, 0 };
    adx_set *c = adx_set_of_unnamed(k, s, node, nodes);
    if (c == NULL)
        return none;
    adx_target unnamed = adx_new_unnamed(k, ADX_VALUE_SUM, c);
    if (!adx_is_lowering(k))
        return none;
    adx_set *reading = adx_copy_set(c);     // rows of the indices
    if (reading == NULL)
        return none;
    if (nodes == 1)
        adx_lower_into(k, unnamed, c, node[0]);
    else
        adx_lower_factors(k, unnamed, c, node, nodes, 1);
    if (!adx_is_lowering(k))
        return none;
    k->t->program->value[unnamed.value].fixed = fixed;
    if (all != NULL)
        *all = adx_is_everywhere_in(k, unnamed.value, reading);
    unnamed.value = adx_complete_value(k->t, unnamed.value);
    return adx_read_unnamed(s, reading, unnamed, adx_dims_of(k, unnamed.value));
}

// Makes one that is read at all points of s, also where it is 0.
static adx_access adx_unnamed_of(adx_lowering *k, adx_set *s,
                                 const uint32_t node[], uint32_t nodes,
                                 bool fixed)
{
    return adx_make_unnamed(k, s, node, nodes, fixed, NULL);
}

// Makes one that is a factor of a product. *s becomes the set of the points
// where the unnamed is written.
static adx_access adx_unnamed_factor(adx_lowering *k, adx_set **s,
                                     const uint32_t node[], uint32_t nodes,
                                     bool fixed)
{
    bool all = false;
    adx_access unnamed = adx_make_unnamed(k, *s, node, nodes, fixed, &all);
    if (adx_is_lowering(k) && !all)
        adx_restrict(k->t, s, unnamed);
    return unnamed;
}

/* --- reads --------------------------------------------------------------- */

// Returns how far an index is from the lower, or upper, end of a range, as a
// row. UINT32_MAX: no memory.
static uint32_t adx_bound_row(adx_lowering *k, adx_set *s, const adx_dim *dim,
                              uint32_t row, bool upper)
{
    uint32_t r = adx_new_row(s, ADX_ROW_FORM);
    int64_t *end = ADX_GET(s->arena, 1 + s->open, int64_t);
    if (r == UINT32_MAX || end == NULL
        || !adx_form_in_sizes(k->t, upper ? dim->to : dim->from, end))
        return UINT32_MAX;
    end[0] -= upper;
    adx_add_multiple(s, adx_form_of(s, r), upper ? -1 : 1,
                     adx_form_of(s, row));
    adx_add_open(s->arena, adx_form_of(s, r), upper ? 1 : -1, end, s->open);
    return r;
}

// Makes the indices of a read rows, and their bounds conditions if the read is
// guarded; else checks that they are inside. False: it failed.
static bool adx_lower_indices(adx_lowering *k, adx_set *s,
                              const adx_tensor_node *n, uint32_t row[])
{
    const adx_tensor_array *a = &k->t->tree.array[n->of];
    if (!adx_lower_list(k, s, n, row))
        return false;
    for (uint32_t i = 0; i < n->count && adx_is_lowering(k); i++) {
        const adx_dim *dim = &k->t->tree.dim[a->first + i];
        if (!n->guarded && s->open == 0) {
            int64_t from = 0;
            int64_t to = 0;
            adx_dim_range(k->t, dim, &from, &to);
            const int64_t *below = adx_find_outside(s, row[i], from, false);
            const int64_t *above = below != NULL ? NULL
                                 : adx_find_outside(s, row[i], to, true);
            if (below != NULL || above != NULL)
                adx_say_outside(k, n, row, below != NULL ? below : above);
            continue;
        }
        for (int upper = 0; upper < 2 && adx_is_lowering(k); upper++) {
            uint32_t r = adx_bound_row(k, s, dim, row[i], upper != 0);
            if (r == UINT32_MAX)
                return false;
            if (n->guarded)
                s->row[r].kind = ADX_ROW_SIGN;
            else
                adx_check_inside(k, s, n, row, r);
        }
    }
    adx_simplify_set(s);
    return adx_is_lowering(k);
}

// Returns the number of an array that is read, wherever it is.
static adx_access adx_read_number_at(adx_lowering *k, adx_set *s,
                                     const adx_tensor_node *n)
{
    const adx_tensor_array *a = &k->t->tree.array[n->of];
    const adx_access none = { 0, 0 };
    uint32_t row[ADX_BOUND_MOST];
    uint32_t columns = 0;
    uint32_t entry = UINT32_MAX;
    if (!adx_lower_indices(k, s, n, row))
        return none;
    uint32_t relation = a->rank == 0 ? 0 : k->t->tree.dim[a->first].relation;
    if (relation != 0) {
        columns = k->t->tree.relation[relation].arity;
        entry = adx_entry_of(k, s, relation, row);
        if (entry == UINT32_MAX)
            return none;
        adx_simplify_set(s);
    }
    adx_access to = { k->value_of[n->of], s->rows };
    for (uint32_t i = 0; i < n->count; i++) {
        if (i > 0 && i < columns)
            continue;
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r == UINT32_MAX)
            return none;
        adx_add_multiple(s, adx_form_of(s, r), 1,
                    adx_form_of(s, i < columns ? entry : row[i]));
    }
    return to;
}

// Finds what a view shows in place of one of its numbers. A view is a value
// whose only term is one number of another value. False: it is no view, or not
// one for all of this set.
static bool adx_see_through(adx_lowering *k, adx_set **s, adx_access *from,
                            ad_real *times)
{
    const adx_tensor_value *v = &k->t->program->value[from->value];
    const adx_tensor_term *term = v->term;
    uint32_t rows;
    if (v->kind != ADX_VALUE_SUM || v->terms != 1 || term->factors != 1
        || v->fixed || (term->k != 1 && term->k != -1))
        return false;
    uint32_t vars = (*s)->vars;
    adx_set *c = adx_copy_set(*s);
    uint32_t dims = adx_dims_of(k, term->factor[0].value);
    if (c == NULL || !adx_join_sets(c, from->row, term->set, term->out, v->dims,
                                    term->factor[0].row, dims, &rows)
        || !adx_all_gone(c, vars))
        return false;
    const adx_access to = { term->factor[0].value, rows };
    *from = to;
    *times *= term->k;
    *s = c;
    return true;
}

// Returns a read as a factor: the set becomes that of the points where it may
// be other than 0.
static adx_access adx_factor_read(adx_lowering *k, adx_set **s,
                                  const adx_tensor_node *n, ad_real *times)
{
    adx_access from = adx_read_number_at(k, *s, n);
    if (adx_is_lowering(k) && from.value != 0
        && !adx_see_through(k, s, &from, times))
        adx_restrict(k->t, s, from);
    return from;
}

// Whether an expression is a size that stays open.
static bool adx_is_open_size(const adx_lowering *k, const adx_tensor_node *n)
{
    return n->kind == ADX_TREE_SIZE && k->t->open != NULL
        && k->t->open->var[n->of] != 0;
}

// Returns an open size as a number.
static adx_access adx_size_number(adx_lowering *k, const adx_tensor_node *n)
{
    const adx_tensor_program *p = k->t->program;
    adx_access to = { 0, 0 };
    uint32_t open = k->t->open->var[n->of] - 1;
    for (uint32_t i = 1; i < p->values && to.value == 0; i++)
        if (p->value[i].kind == ADX_VALUE_SIZE && p->value[i].order == open)
            to.value = i;
    if (to.value == 0)
        to.value = adx_new_value(k->t, ADX_VALUE_SIZE, 0);
    if (to.value != 0) {
        adx_tensor_value *v = adx_tensor_value_at(k->t, to.value);
        v->order = open;
        v->fixed = v->known = v->full = true;
        adx_lay_out(k->t, v, NULL);
    }
    return to;
}

// Returns a number that is needed everywhere, 0 or not: an argument of a
// function.
static adx_access adx_argument_of(adx_lowering *k, adx_set *s, uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (adx_is_open_size(k, n))
        return adx_size_number(k, n);
    if (n->kind == ADX_TREE_READ && !n->guarded
        && (n->count == 0 || k->t->tree.array[n->of].rank == 0
            || k->t->tree.dim[k->t->tree.array[n->of].first].relation == 0))
        return adx_read_number_at(k, s, n);
    return adx_unnamed_of(k, s, &node, 1, false);
}

/* --- products ------------------------------------------------------------ */

#define ADX_FACTORS_MOST 64

// The factors of a product, n above the line and m below it, times k.
typedef struct adx_product_list {
    uint32_t above[ADX_FACTORS_MOST];
    uint32_t below[ADX_FACTORS_MOST];       // the line
    uint32_t n, m;
    ad_real k;
    bool zero;                              // a factor is the number 0
} adx_product_list;

// Lists the factors of a product. Numbers and sizes are multiplied into p->k;
// other factors go to `above` or, if they are divided by, to `below`. A square
// is its base twice, unless the list is nearly full.
static void adx_list_factor(adx_lowering *k, adx_product_list *p, uint32_t node,
                            bool below)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    bool open = adx_is_open_size(k, n);
    ad_real v = n->kind == ADX_TREE_SIZE ? (ad_real)k->t->given.size[n->of]
                                         : n->value;
    if (!open && (n->kind == ADX_TREE_NUMBER || n->kind == ADX_TREE_SIZE))
        p->k = below ? p->k / v : p->k * v;
    else if (n->kind == ADX_TREE_NEG) {
        p->k = -p->k;
        adx_list_factor(k, p, n->child, below);
    } else if (n->kind == ADX_TREE_MUL)
        for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
            adx_list_factor(k, p, c, below != adx_node_of(k, c)->inverse);
    else if (n->kind == ADX_TREE_POWER && n->power == 0)
        return;
    else if (n->kind == ADX_TREE_POWER && n->power == 1)
        adx_list_factor(k, p, n->child, below);
    else if (n->kind == ADX_TREE_POWER && n->power == 2
             && p->n < ADX_FACTORS_MOST - 1 && p->m < ADX_FACTORS_MOST - 1)
        for (int i = 0; i < 2; i++)
            if (below)
                p->below[p->m++] = n->child;
            else
                p->above[p->n++] = n->child;
    else if (p->n == ADX_FACTORS_MOST || p->m == ADX_FACTORS_MOST)
        adx_arena_fail(&k->t->arena, ADREV_ELIMIT);
    else if (below)
        p->below[p->m++] = node;
    else
        p->above[p->n++] = node;
}

// Makes a factor of a product: a number of an array, or of an unnamed value.
// *sign: the number by which the product must be multiplied.
static adx_access adx_take_factor(adx_lowering *k, adx_set **s, uint32_t node,
                                  ad_real *sign)
{
    const adx_tensor_node *f = adx_node_of(k, node);
    bool detach = f->kind == ADX_TREE_CALL && f->of == ADREV_OP_detach;
    *sign = 1;
    return adx_is_open_size(k, f) ? adx_size_number(k, f)
         : f->kind == ADX_TREE_READ ? adx_factor_read(k, s, f, sign)
         : adx_unnamed_factor(k, s, detach ? &f->child : &node, 1, detach);
}

// Makes several factors of a product. A factor that stands there twice is made
// once.
static void adx_take_each(adx_lowering *k, adx_set **s, const uint32_t node[],
                          uint32_t nodes, ad_real *times, adx_access factor[])
{
    ad_real sign = 1;
    for (uint32_t i = 0; i < nodes && adx_is_lowering(k); i++) {
        factor[i] = i > 0 && node[i] == node[i - 1]
            ? factor[i - 1] : adx_take_factor(k, s, node[i], &sign);
        *times *= sign;
    }
}

// Takes the factors of a product: reads of arrays or of unnamed values. *s
// becomes the set of the points where none of them is 0 for want of being
// written.
static uint32_t adx_take_factors(adx_lowering *k, adx_set **s,
                                 const uint32_t node[], uint32_t nodes,
                                 ad_real *times, adx_access factor[])
{
    uint32_t before = nodes > 2;        // all but the last one first
    if (before) {
        factor[0] = adx_unnamed_factor(k, s, node, nodes - 1, false);
        node += nodes - 1;
        nodes = 1;
    }
    adx_take_each(k, s, node, nodes, times, factor + before);
    if (adx_is_lowering(k))
        adx_simplify_set(*s);
    return before + nodes;
}

#define ADX_AGAIN_MOST 3

/* --- products in another order -------------------------------------------- */

// Whether an expression is there at all points, whatever its indices are: no
// condition, relation, map or guarded read is in it.
static bool adx_is_everywhere(const adx_lowering *k, uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    const adx_tree *tree = &k->t->tree;
    bool plain = n->kind != ADX_TREE_BRACKET && n->condition == 0
              && !n->guarded;
    if (plain && n->kind == ADX_TREE_READ) {
        const adx_tensor_array *a = &tree->array[n->of];
        plain = (a->rank == 0 || tree->dim[a->first].relation == 0)
             && adx_all_written(k->t, k->value_of[n->of]);
        for (uint32_t i = 0; i < n->count && plain; i++) {
            const adx_affine *f = &tree->form[tree->list[n->first + i]];
            for (uint32_t m = 0; m < f->count; m++)
                plain =
                    plain && tree->multiple[f->first + m].kind != ADX_OF_MAP;
        }
    }
    for (uint32_t c = n->child; c != 0 && plain; c = adx_node_of(k, c)->next)
        plain = adx_is_everywhere(k, c);
    return plain;
}

// Whether each condition bounds one variable, or says something of sizes.
static bool adx_is_open_box(const adx_set *s)
{
    uint32_t some = 0;
    bool box = true;
    for (uint32_t r = 0; r < s->rows; r++)
        box = box && (s->row[r].kind <= ADX_ROW_FORM
                      || (s->row[r].kind == ADX_ROW_SIGN
                          && adx_vars_of(s, adx_form_of(s, r), &some) <= 1));
    return box;
}

// Finds what a product of these factors depends on. False: the product is not
// plain, or has too many factors or variables.
static bool adx_begin_path(adx_lowering *k, adx_target to, const adx_set *s,
                           const uint32_t node[], uint32_t nodes,
                           adx_product_path *p)
{
    bool plain = !k->t->options.as_written && nodes > 1
              && nodes <= ADX_PATH_MOST && !s->empty && s->vars <= 64
              && (s->open == 0 ? adx_box_points(s) != UINT64_MAX
                               : adx_is_open_box(s));
    for (uint32_t i = 0; i < nodes && plain; i++)
        plain = adx_is_everywhere(k, node[i]);
    bool *has = plain ? ADX_GET(&k->t->arena, s->width, bool) : NULL;
    if (has == NULL)
        return false;
    p->factors = nodes;
    p->vars = s->vars;
    for (uint32_t v = s->open; v < s->vars; v++) {
        p->extent[v] = (double)(s->high[v] - s->low[v] + 1);
        p->live |= (uint64_t)!s->gone[v] << v;
        for (uint32_t d = 0; d < adx_dims_of(k, to.value); d++)
            if (adx_form_of(s, to.out + d)[1 + v] != 0)
                p->written |= (uint64_t)1 << v;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        memset(has, 0, s->width * sizeof *has);
        adx_mention(k, s, node[i], has);
        for (uint32_t v = 0; v < s->vars; v++)
            p->has[i] |= (uint64_t)has[v] << v;
        p->has[i] &= p->live;
    }
    return true;
}

// A product that is made by a path: of which set, and from which factors.
typedef struct adx_pairing {
    adx_lowering *k;
    const adx_product_path *path;
    adx_set *set;
    adx_access factor[ADX_PATH_MOST];
} adx_pairing;

// Returns the set of these variables alone.
static adx_set *adx_set_of_vars(const adx_set *s, uint64_t vars)
{
    adx_set *to = adx_copy_set(s);
    for (uint32_t v = s->open; to != NULL && v < s->vars; v++) {
        if (vars >> v & 1)
            continue;
        to->gone[v] = true;
        for (uint32_t r = 0; r < to->rows; r++) {
            if (adx_form_of(to, r)[1 + v] != 0
                && to->row[r].kind == ADX_ROW_SIGN)
                to->row[r].kind = ADX_ROW_GONE;         // its bound
            adx_form_of(to, r)[1 + v] = 0;
        }
    }
    return to;
}

// Adds rows for the indices of a value that has these variables. Returns the
// first one.
static uint32_t adx_rows_of_vars(adx_set *s, uint64_t vars)
{
    uint32_t first = s->rows;
    for (uint32_t v = 0; v < s->vars; v++)
        if (vars >> v & 1) {
            uint32_t r = adx_new_row(s, ADX_ROW_FORM);
            if (r != UINT32_MAX)
                adx_form_of(s, r)[1 + v] = 1;
        }
    return first;
}

static adx_access adx_pair_up(adx_pairing *p, uint32_t subset);

// Adds the terms of a subset to a value: a sum of one factor, or the product of
// two subsets.
static void adx_add_pair(adx_pairing *p, adx_target to, const adx_set *s,
                         adx_access one, adx_access other, ad_real times)
{
    if (!adx_is_lowering(p->k) || s == NULL)
        return;
    adx_tensor_term *term = adx_new_tensor_term(p->k->t, to.value, s, to.out,
                                                times);
    adx_add_factor(term, one);
    if (other.value != 0)
        adx_add_factor(term, other);
}

// Returns a value for the product of a subset of the factors, with its sums.
static adx_access adx_pair_up(adx_pairing *p, uint32_t subset)
{
    const adx_access none = { 0, 0 };
    uint32_t one = p->path->way[subset].one;
    uint64_t after = adx_path_after(p->path, subset);
    uint64_t at = adx_path_vars(p->path, subset);
    adx_access x = none;
    adx_access y = none;
    if (one == subset) {
        for (uint32_t i = 0; i < p->path->factors; i++)
            x = subset >> i & 1 ? p->factor[i] : x;
        if (at == after)
            return x;
    } else {
        at = adx_path_at(p->path, one, subset & ~one);
        x = adx_pair_up(p, one);
        y = adx_pair_up(p, subset & ~one);
    }
    if (!adx_is_lowering(p->k))
        return none;
    adx_set *all = adx_set_of_vars(p->set, after);
    adx_set *s = adx_set_of_vars(p->set, at);
    if (all == NULL || s == NULL)
        return none;
    adx_target unnamed = adx_new_unnamed(p->k, ADX_VALUE_SUM, all);
    unnamed.out = adx_rows_of_vars(s, after);
    adx_add_pair(p, unnamed, s, x, y, 1);
    if (!adx_is_lowering(p->k))
        return none;
    unnamed.value = adx_complete_value(p->k->t, unnamed.value);
    const adx_access to = { unnamed.value, adx_rows_of_vars(p->set, after) };
    return to;
}

// Lowers a product in the order that takes the fewest multiplications. False:
// that is the text's order.
static bool adx_lower_path(adx_lowering *k, adx_target to, adx_set *s,
                           const uint32_t node[], uint32_t nodes, ad_real times)
{
    adx_product_path *path = ADX_GET(&k->t->arena, 1, adx_product_path);
    if (path == NULL || !adx_begin_path(k, to, s, node, nodes, path)
        || !adx_find_path(&k->t->arena, path))
        return false;
    adx_pairing p = { .k = k, .path = path, .set = adx_copy_set(s) };
    adx_take_each(k, &p.set, node, nodes, &times, p.factor);
    if (!adx_is_lowering(k) || p.set->empty)
        return true;
    if (!adx_covers(p.set, s))
        return false;
    uint32_t whole = adx_path_whole(path);
    uint32_t one = path->way[whole].one;
    adx_access x = adx_pair_up(&p, one);
    adx_access y = adx_pair_up(&p, whole & ~one);
    if (adx_is_lowering(k))
        adx_add_pair(&p, to, adx_set_of_vars(p.set, adx_path_at(path, one,
                                                          whole & ~one)),
                     x, y, times);
    return true;
}

// A product without a quotient. If one factor is 0 at some points, those
// before it need not be computed there: so all are made again, for fewer
// points. (What was made first is needed by nobody.)
static void adx_lower_factors(adx_lowering *k, adx_target to, const adx_set *s,
                              const uint32_t node[], uint32_t nodes,
                              ad_real times)
{
    adx_set *c = adx_copy_set(s);
    adx_access factor[3];
    ad_real first = times;
    if (c == NULL)
        return;
    adx_simplify_set(c);
    adx_set *begin = adx_copy_set(c);
    if (begin == NULL || adx_lower_path(k, to, begin, node, nodes, times))
        return;
    uint32_t n = adx_take_factors(k, &c, node, nodes, &times, factor);
    if (adx_is_lowering(k) && nodes > 1 && !c->empty
        && k->again < ADX_AGAIN_MOST && !adx_covers(c, begin)) {
        k->again++;
        times = first;
        n = adx_take_factors(k, &c, node, nodes, &times, factor);
        k->again--;
    }
    if (!adx_is_lowering(k) || c->empty)
        return;
    adx_tensor_term *term = adx_new_tensor_term(k->t, to.value, c, to.out,
                                                times);
    for (uint32_t i = 0; i < n; i++)
        adx_add_factor(term, factor[i]);
}

// Returns a quotient: a product divided by another. Where the numerator is 0
// for want of being written, there is no division.
static adx_access adx_unnamed_quotient(adx_lowering *k, adx_set **s,
                                       const adx_product_list *p,
                                       ad_real *times)
{
    const adx_access none = { 0, 0 };
    uint32_t all[2 * ADX_FACTORS_MOST];
    memcpy(all, p->above, p->n * sizeof *all);
    memcpy(all + p->n, p->below, p->m * sizeof *all);
    adx_set *c = adx_set_of_unnamed(k, *s, all, p->n + p->m);
    if (c == NULL)
        return none;
    adx_target unnamed = adx_new_unnamed(k, ADX_VALUE_APPLICATION, c);
    adx_set *reading = adx_copy_set(c);
    if (reading == NULL || !adx_is_lowering(k))
        return none;
    k->t->program->value[unnamed.value].op = ADREV_OP_div;
    bool read = p->n == 1
             && adx_node_of(k, p->above[0])->kind == ADX_TREE_READ;
    const adx_access constant = {
        p->n == 0 ? adx_constant_value(k->t, *times) : 0, 0
    };
    *times = p->n == 0 ? 1 : *times;
    adx_access x = p->n == 0 ? constant
        : read ? adx_factor_read(k, &c, adx_node_of(k, p->above[0]), times)
        : adx_unnamed_factor(k, &c, p->above, p->n, false);
    adx_access y = !adx_is_lowering(k) ? none
        : p->m == 1 ? adx_argument_of(k, c, p->below[0])
                    : adx_unnamed_of(k, c, p->below, p->m, false);
    if (!adx_is_lowering(k))
        return none;
    adx_simplify_set(c);
    if (!c->empty) {
        adx_tensor_term *term = adx_new_tensor_term(k->t, unnamed.value, c,
                                                    unnamed.out, 1);
        adx_add_factor(term, x);
        adx_add_factor(term, y);
    }
    bool everywhere = adx_is_everywhere_in(k, unnamed.value, reading);
    unnamed.value = adx_complete_value(k->t, unnamed.value);
    adx_access to = adx_read_unnamed(*s, reading, unnamed,
                                     adx_dims_of(k, unnamed.value));
    if (!everywhere)
        adx_restrict(k->t, s, to);
    return to;
}

// Lowers a product with factors below the line: one value is the quotient, and
// the term reads it.
static void adx_lower_quotient(adx_lowering *k, adx_target to, const adx_set *s,
                               const adx_product_list *p)
{
    adx_set *c = adx_copy_set(s);
    ad_real times = p->k;
    if (c == NULL)
        return;
    adx_access q = adx_unnamed_quotient(k, &c, p, &times);
    if (!adx_is_lowering(k))
        return;
    adx_simplify_set(c);
    if (!c->empty)
        adx_add_factor(adx_new_tensor_term(k->t, to.value, c, to.out, times),
                       q);
}

// Whether terms of an expression of this kind can be terms of the value that it
// stands in.
static bool adx_is_additive(adx_tree_kind kind)
{
    return kind == ADX_TREE_ADD || kind == ADX_TREE_SUM
        || kind == ADX_TREE_BRACKET;
}

// Makes a product one or several terms of a value: as a quotient, as a sum
// times a number, or as a product of factors.
static void adx_lower_product(adx_lowering *k, adx_target to, const adx_set *s,
                              uint32_t node, ad_real times)
{
    adx_product_list *p = ADX_GET(&k->t->arena, 1, adx_product_list);
    if (p == NULL)
        return;
    p->k = times;
    adx_list_factor(k, p, node, false);
    if (!adx_is_lowering(k))
        return;
    bool signed_only = p->k == 1 || p->k == -1;
    if (p->m > 0)
        adx_lower_quotient(k, to, s, p);
    else if (p->n == 0)
        adx_new_tensor_term(k->t, to.value, s, to.out, p->k);
    else if (p->n == 1 && signed_only
             && adx_is_additive(adx_node_of(k, p->above[0])->kind))
        adx_lower_sum(k, to, s, p->above[0], p->k);
    else
        adx_lower_factors(k, to, s, p->above, p->n, p->k);
}

/* --- sums ---------------------------------------------------------------- */

// Adds terms: times * the expression at the points of s.
static void adx_lower_sum(adx_lowering *k, adx_target to, const adx_set *s,
                          uint32_t node, ad_real times)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (!adx_is_lowering(k) || s->empty)
        return;
    if (n->kind == ADX_TREE_ADD) {
        for (uint32_t c = n->child; c != 0; c = adx_node_of(k, c)->next)
            adx_lower_sum(k, to, s, c,
                          adx_node_of(k, c)->inverse ? -times : times);
        return;
    }
    bool sum = n->kind == ADX_TREE_SUM;
    if ((!sum && n->kind != ADX_TREE_BRACKET)
        || (times != 1 && times != -1)) {
        adx_lower_product(k, to, s, node, times);
        return;
    }
    adx_set *c = adx_copy_set(s);
    if (c == NULL)
        return;
    if (sum)
        adx_bind_indices(k, c, n->first, n->count);
    const adx_set_pieces *pieces = adx_sets_where(k, c, n->condition);
    for (uint32_t i = 0; pieces != NULL && i < pieces->n; i++)
        adx_lower_sum(k, to, pieces->set[i], n->child, times);
    if (sum)
        adx_forget_indices(k, n->first, n->count);
}

/* --- functions and extremes ---------------------------------------------- */

// Makes the value an application of an operation: its number at each point is
// that of arguments.
static void adx_lower_call(adx_lowering *k, adx_target to, adx_set *s,
                           const adx_tensor_node *n)
{
    adx_access x[3];
    uint32_t count = 0;
    for (uint32_t c = n->child; c != 0 && count < 3 && adx_is_lowering(k);
         c = adx_node_of(k, c)->next)
        x[count++] = adx_argument_of(k, s, c);
    if (!adx_is_lowering(k))
        return;
    adx_tensor_value *v = &k->t->program->value[to.value];
    v->kind = ADX_VALUE_APPLICATION;
    v->op = n->of;
    adx_simplify_set(s);
    adx_tensor_term *term = adx_new_tensor_term(k->t, to.value, s, to.out, 1);
    for (uint32_t i = 0; i < count; i++)
        adx_add_factor(term, x[i]);
}

// Makes a minimum or maximum a value of its own kind: its terms are the numbers
// that it compares.
static void adx_lower_most(adx_lowering *k, adx_target to, adx_set *s,
                           const adx_tensor_node *n)
{
    k->t->program->value[to.value].kind = ADX_VALUE_MOST;
    k->t->program->value[to.value].op =
        n->kind == ADX_TREE_MAXIMUM ? ADREV_OP_max : ADREV_OP_min;
    adx_bind_indices(k, s, n->first, n->count);
    // One piece, so that its points have an order: the first of those that are
    // largest has the derivative.
    const adx_set_pieces *pieces = adx_sets_where(k, s, n->condition);
    if (pieces != NULL && pieces->n > 1)
        pieces = adx_where_by_bits(k, s, n->condition);
    for (uint32_t i = 0; pieces != NULL && i < pieces->n && adx_is_lowering(k);
         i++) {
        adx_set *c = pieces->set[i];
        adx_access x = adx_argument_of(k, c, n->child);
        adx_simplify_set(c);
        if (adx_is_lowering(k))
            adx_add_factor(adx_new_tensor_term(k->t, to.value, c, to.out, 1),
                           x);
    }
    adx_forget_indices(k, n->first, n->count);
}

// Returns the product of two numbers at each point of a set, as a value: a
// factor of a power.
static adx_access adx_unnamed_product(adx_lowering *k, adx_set *s, adx_access x,
                                      adx_access y)
{
    const adx_access none = { 0, 0 };
    adx_set *c = adx_is_lowering(k) ? adx_copy_set(s) : NULL;
    if (c == NULL)
        return none;
    adx_target unnamed = adx_new_unnamed(k, ADX_VALUE_SUM, c);
    if (!adx_is_lowering(k))
        return none;
    adx_tensor_term *term = adx_new_tensor_term(k->t, unnamed.value, c,
                                                unnamed.out, 1);
    adx_add_factor(term, x);
    adx_add_factor(term, y);
    if (term != NULL)
        term->in_power = true;
    unnamed.value = adx_complete_value(k->t, unnamed.value);
    return adx_read_unnamed(s, c, unnamed, adx_dims_of(k, unnamed.value));
}

// Lowers x^n for |n| > 2: squares and products, each a value; or 1 / x^n.
static void adx_lower_power_of(adx_lowering *k, adx_target to, adx_set *s,
                               const adx_tensor_node *n)
{
    uint32_t left = (uint32_t)(n->power < 0 ? -(int64_t)n->power : n->power);
    const adx_tensor_node *base = adx_node_of(k, n->child);
    ad_real times = 1;
    adx_access all = { 0, 0 };
    const adx_access first = n->power < 0 ? adx_argument_of(k, s, n->child)
        : base->kind == ADX_TREE_READ ? adx_factor_read(k, &s, base, &times)
        : adx_unnamed_factor(k, &s, &n->child, 1, false);
    adx_access square = first;
    if (adx_is_lowering(k))
        adx_simplify_set(s);
    if (n->power % 2 == 0)
        times = 1;
    bool any = false;
    for (; left > 0 && adx_is_lowering(k); left >>= 1) {
        if (left & 1) {
            all = any ? adx_unnamed_product(k, s, all, square) : square;
            any = true;
        }
        if (left > 1)
            square = adx_unnamed_product(k, s, square, square);
    }
    if (!adx_is_lowering(k))
        return;
    adx_simplify_set(s);
    if (s->empty)
        return;
    if (n->power > 0)
        adx_add_factor(adx_new_tensor_term(k->t, to.value, s, to.out, times),
                       all);
    else {
        const adx_access one = { adx_constant_value(k->t, 1), 0 };
        adx_tensor_value *v = &k->t->program->value[to.value];
        v->kind = ADX_VALUE_APPLICATION;
        v->op = ADREV_OP_div;
        adx_tensor_term *term =
            adx_new_tensor_term(k->t, to.value, s, to.out, 1);
        adx_add_factor(term, one);
        adx_add_factor(term, all);
        if (term != NULL) {
            term->power = n->power;
            term->base = first;
        }
    }
}

// Lowers an expression into a value of its own, at the points of s.
static void adx_lower_into(adx_lowering *k, adx_target to, adx_set *s,
                           uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (s->empty)
        return;
    if (n->kind == ADX_TREE_CALL && n->of != ADREV_OP_detach)
        adx_lower_call(k, to, s, n);
    else if (n->kind == ADX_TREE_MAXIMUM || n->kind == ADX_TREE_MINIMUM)
        adx_lower_most(k, to, s, n);
    else if (n->kind == ADX_TREE_POWER && (n->power < 0 || n->power > 2))
        adx_lower_power_of(k, to, s, n);
    else
        adx_lower_sum(k, to, s, node, 1);
}

// Lowers the values of all formulas.
static void adx_lower_formulas(adx_lowering *k)
{
    const adx_tree *tree = &k->t->tree;
    for (uint32_t i = 1; i < tree->formula_count && adx_is_lowering(k); i++) {
        const adx_tensor_formula *f = &tree->formula[i];
        uint32_t rank = tree->array[f->array].rank;
        adx_set *s = adx_begin_set(k->t);
        if (s == NULL)
            return;
        const adx_target to = {
            k->value_of[f->array], adx_bind_indices(k, s, f->first, rank)
        };
        adx_lower_into(k, to, s, f->body);
        adx_forget_indices(k, f->first, rank);
        if (adx_is_lowering(k))
            k->value_of[f->array] = adx_complete_value(k->t, to.value);
    }
}

ADX_SELDOM_END

/* === tensor/derive ==========================================================
 * Derivatives of programs. A term of a tangent has the tangent of one factor in
 * place of the factor. A term of an adjoint exchanges what is written and what
 * is read: it has the adjoint of the result in place of a factor, and adds to
 * the adjoint of that factor. All that adds to one adjoint is one value.
 *
 * So a term has a derived term for each of its factors, with the same points:
 * the derivatives of sums and products take a small multiple of the operations
 * of the value, however sparse its points are.
 *
 *   needs   core/cells tensor/api tensor/arena tensor/sets tensor/binding
 *           tensor/programs tensor/sharing
 *   offers  adx_same_rows adx_is_square adx_need_all adx_derive_program
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Whether n forms of a set, from `one` on and from `other` on, are equal.
static bool adx_same_rows(const adx_set *s, uint32_t one, uint32_t other,
                          uint32_t n)
{
    return memcmp(adx_form_of(s, one), adx_form_of(s, other),
                  (size_t)n * s->width * sizeof *s->k) == 0;
}

// Whether a term is the product of a number with itself.
static bool adx_is_square(const ad_tensor *t, const adx_tensor_term *term)
{
    return term->factors == 2 && term->factor[0].value == term->factor[1].value
        && adx_same_rows(term->set, term->factor[0].row, term->factor[1].row,
                         adx_tensor_value_at(t, term->factor[0].value)->dims);
}

// Says whether a derived term, which has all factors of the term `of`, is a
// product of the chain rule: that is so if `of` is one, or a power.
static void adx_set_absorbing(const ad_tensor *t, adx_tensor_term *term,
                              const adx_tensor_term *of)
{
    if (term != NULL && term->factors == 2)
        term->absorbs = of->absorbs || of->in_power || adx_is_square(t, of);
}

// The partial of a function as a factor of a term, times a number.
typedef struct adx_tensor_partial {
    adx_access from;            // value 0: there is none but the number
    ad_real k;
} adx_tensor_partial;

// Finds, from its text in the table, a partial that is an argument, the result,
// or a number. False: it is none of these.
static bool adx_is_plain_partial(ad_tensor *t, uint32_t value, const char *text,
                                 adx_tensor_partial *to)
{
    const adx_tensor_term *of = adx_tensor_value_at(t, value)->term;
    static const char letters[] = "xyz";
    const char *letter = strchr(letters, text[0]);
    bool twice = strcmp(text, "2 * x") == 0;
    to->from.value = to->from.row = 0;
    to->k = twice ? 2 : text[0] == '-' ? -1 : 1;
    if (strcmp(text, "1") == 0 || strcmp(text, "-1") == 0)
        return true;
    if (strcmp(text, "v") == 0) {
        to->from.value = value;
        to->from.row = of->out;
        return true;
    }
    if (twice || (letter != NULL && text[1] == '\0'))
        to->from = of->factor[twice ? 0 : letter - letters];
    return to->from.value != 0;
}

// Returns an argument of a function. A power below 0 is stored as a quotient
// but is derived as a function of its base, because a product of the
// derivatives of the base would be 0 * infinity at 0.
static adx_access adx_argument_at(const adx_tensor_term *term, uint32_t i)
{
    return term->power != 0 && i == 1 ? term->base : term->factor[i];
}

// Makes a partial a value, at the points of a set. The partials of a quotient
// are quotients, 1/y and (x/y)/y, of which the second is subtracted; the
// partial of x^n is x^n/x, times n.
static adx_tensor_partial adx_tensor_partial_of(ad_tensor *t, uint32_t value,
                                         uint32_t which, const adx_set *s)
{
    uint32_t op = adx_tensor_value_at(t, value)->op;
    bool quotient = op == ADREV_OP_div;
    const adx_tensor_term of = adx_tensor_value_at(t, value)->term[0];
    adx_tensor_partial to;
    if (adx_is_plain_partial(t, value, ad_op_table()[op].partial[which], &to))
        return to;
    uint32_t one = quotient && which == 0 ? adx_constant_value(t, 1) : 0;
    uint32_t p = adx_value_like(t, value, quotient ? ADX_VALUE_APPLICATION
                                                   : ADX_VALUE_PARTIAL);
    to.from.value = p;
    to.from.row = of.out;
    to.k = !quotient || which == 0 ? 1 : of.power != 0 ? (ad_real)of.power : -1;
    if (p == 0)
        return to;
    const adx_access above = { which == 0 ? one : value, of.out };
    adx_tensor_value_at(t, p)->op = op;
    adx_tensor_value_at(t, p)->which = which;
    adx_lay_out(t, adx_tensor_value_at(t, p), NULL);
    adx_tensor_term *term = adx_new_tensor_term(t, p, s, of.out, 1);
    for (uint32_t i = 0; i < of.factors; i++)
        adx_add_factor(term, quotient && i == 0 ? above
                                                : adx_argument_at(&of, i));
    to.from.value = adx_complete_value(t, p);
    return to;
}

// Makes a term the product of a partial, if there is one, with a tangent or an
// adjoint.
static void adx_add_chain(adx_tensor_term *term, adx_access partial,
                          adx_access of)
{
    if (partial.value != 0)
        adx_add_factor(term, partial);
    adx_add_factor(term, of);
    if (term != NULL)
        term->absorbs = partial.value != 0;
}

// Whether the table says that this partial of an operation is not zero.
static bool adx_has_partial_text(uint32_t op, uint32_t which)
{
    return strcmp(ad_op_table()[op].partial[which], "0") != 0;
}

/* --- tangents ------------------------------------------------------------ */

// Returns the tangent of a value, which is made when it is first asked for.
static uint32_t adx_tangent_value(ad_tensor *t, uint32_t value)
{
    if (adx_tensor_value_at(t, value)->tangent == 0) {
        uint32_t d = adx_value_like(t, value, ADX_VALUE_SUM);
        adx_tensor_value_at(t, value)->tangent = d;
        adx_tensor_value_at(t, d)->result =
            adx_tensor_value_at(t, value)->result;
    }
    return adx_tensor_value_at(t, value)->tangent;
}

// Adds to the tangent of a value a term that has the tangent of factor `which`
// in place of the factor, times k.
static void adx_tangent_term(ad_tensor *t, uint32_t value,
                             const adx_tensor_term *of, uint32_t which,
                             ad_real k)
{
    adx_set *s = adx_copy_set(of->set);
    const adx_access moved =
        { adx_tensor_value_at(t, of->factor[which].value)->tangent,
            of->factor[which].row };
    if (s == NULL || !adx_restrict(t, &s, moved) || s->empty)
        return;
    uint32_t to = adx_tangent_value(t, value);
    adx_tensor_term *term =
        to == 0 ? NULL : adx_new_tensor_term(t, to, s, of->out, k);
    for (uint32_t i = 0; i < of->factors; i++)
        adx_add_factor(term, i == which ? moved : of->factor[i]);
    adx_set_absorbing(t, term, of);
    if (term != NULL) {
        term->most = of->most;
        term->at = of->at;
        term->picked = of->picked;
    }
}

// Makes the tangent of a function of its arguments: a term for each argument,
// the partial times the tangent of the argument.
static void adx_tangent_of_application(ad_tensor *t, uint32_t value)
{
    const adx_tensor_term of = adx_tensor_value_at(t, value)->term[0];
    for (uint32_t i = 0; i < of.factors; i++) {
        const adx_access x = adx_argument_at(&of, i);
        const adx_access moved =
            { adx_tensor_value_at(t, x.value)->tangent, x.row };
        adx_set *s = adx_copy_set(of.set);
        if (moved.value == 0
            || !adx_has_partial_text(adx_tensor_value_at(t, value)->op, i))
            continue;
        if (s == NULL || !adx_restrict(t, &s, moved))
            return;
        const adx_tensor_partial partial =
            adx_tensor_partial_of(t, value, i, s);
        uint32_t to = adx_tangent_value(t, value);
        adx_tensor_term *term = to == 0 ? NULL
                              : adx_new_tensor_term(t, to, s, of.out,
                                                    partial.k);
        adx_add_chain(term, partial.from, moved);
    }
}

// Makes the tangent of a minimum or maximum: each term has the tangent of the
// number that it looked at, and only that of the number picked counts.
static void adx_tangent_of_most(ad_tensor *t, uint32_t value)
{
    for (uint32_t i = 0; i < adx_tensor_value_at(t, value)->terms; i++) {
        const adx_tensor_term of = adx_tensor_value_at(t, value)->term[i];
        const adx_access moved =
            { adx_tensor_value_at(t, of.factor[0].value)->tangent,
                of.factor[0].row };
        uint32_t to = moved.value == 0 ? 0 : adx_tangent_value(t, value);
        if (to == 0)
            continue;
        adx_tensor_value_at(t, moved.value)->cleared = true;
        adx_tensor_term *term = adx_new_tensor_term(t, to, of.set, of.out, 1);
        adx_add_factor(term, moved);
        if (term != NULL) {
            term->most = value;
            term->at = of.out;
            term->picked = of.factor[0];
        }
    }
}

// Returns the derivative of a partial by argument `by`, at the points of a set.
// 0: it is 0 everywhere, or there is no memory. An argument without a partial
// is a whole number, as that of powi, and a constant in other partials, too.
static uint32_t adx_second_of(ad_tensor *t, uint32_t partial, uint32_t by,
                              const adx_set *s)
{
    const adx_tensor_value like = *adx_tensor_value_at(t, partial);
    const adx_tensor_term of = like.term[0];
    adx_tensor_second *second = !adx_has_partial_text(like.op, by) ? NULL
                              : ADX_GET(&t->arena, 1, adx_tensor_second);
    if (second == NULL)
        return 0;
    adx_parse_partial(like.op, like.which, &second->cell);
    second->by = by;
    second->moving = adx_moving_terms(
        &second->cell, (uint64_t)1 << by | (uint64_t)1 << ADX_TERM_VALUE);
    if (second->cell.wrong)     // no operation's is
        adx_arena_fail(&t->arena, ADREV_EEXTERNAL);
    if ((second->moving >> second->cell.result & 1) == 0)
        return 0;
    uint32_t value = adx_value_like(t, partial, ADX_VALUE_SECOND);
    if (value == 0)
        return 0;
    adx_tensor_value *v = adx_tensor_value_at(t, value);
    v->op = like.op;
    v->which = like.which;
    v->second = second;
    adx_tensor_term *term = adx_new_tensor_term(t, value, s, of.out, 1);
    for (uint32_t i = 0; i < of.factors; i++)
        adx_add_factor(term, of.factor[i]);
    adx_finish_value(t, value);
    return value;
}

// Makes the tangent of a partial: a term for each argument, the second partial
// times the tangent of the argument.
static void adx_tangent_of_partial(ad_tensor *t, uint32_t value)
{
    const adx_tensor_term of = adx_tensor_value_at(t, value)->term[0];
    for (uint32_t i = 0; i < of.factors; i++) {
        const adx_access moved = {
            adx_tensor_value_at(t, of.factor[i].value)->tangent,
            of.factor[i].row
        };
        adx_set *s = moved.value == 0 ? NULL : adx_copy_set(of.set);
        if (s == NULL || !adx_restrict(t, &s, moved) || s->empty)
            continue;
        const adx_access second = { adx_second_of(t, value, i, s), of.out };
        uint32_t to = second.value == 0 ? 0 : adx_tangent_value(t, value);
        adx_tensor_term *term = to == 0 ? NULL
                              : adx_new_tensor_term(t, to, s, of.out, 1);
        adx_add_chain(term, second, moved);
    }
}

// Makes the tangent of a value, if it depends on a number that moves. A square
// is derived once, with the factor 2.
static void adx_tangent_of(ad_tensor *t, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(t, value);
    if (v->fixed || v->kind <= ADX_VALUE_WEIGHT)
        return;
    if (v->kind == ADX_VALUE_APPLICATION && v->terms > 0)
        adx_tangent_of_application(t, value);
    else if (v->kind == ADX_VALUE_PARTIAL)
        adx_tangent_of_partial(t, value);
    else if (v->kind == ADX_VALUE_MOST)
        adx_tangent_of_most(t, value);
    else
        for (uint32_t i = 0; i < adx_tensor_value_at(t, value)->terms; i++) {
            const adx_tensor_term of = adx_tensor_value_at(t, value)->term[i];
            bool square = adx_is_square(t, &of);
            for (uint32_t j = 0; j < (square ? 1 : of.factors); j++)
                if (adx_tensor_value_at(t, of.factor[j].value)->tangent != 0)
                    adx_tangent_term(t, value, &of, j,
                                     square ? 2 * of.k : of.k);
        }
    uint32_t tangent = adx_tensor_value_at(t, value)->tangent;
    if (tangent != 0) {
        tangent = adx_complete_value(t, tangent);
        adx_tensor_value_at(t, value)->tangent = tangent;
    }
}

/* --- adjoints ------------------------------------------------------------ */

// Returns the adjoint of a value, which it gets when it is first asked for. 0:
// no memory.
static uint32_t adx_adjoint_value(ad_tensor *t, uint32_t value)
{
    if (adx_tensor_value_at(t, value)->adjoint == 0) {
        uint32_t d = adx_value_like(t, value, ADX_VALUE_SUM);
        adx_tensor_value_at(t, value)->adjoint = d;
    }
    return adx_tensor_value_at(t, value)->adjoint;
}

// Whether derivatives of a value are of use: it depends on inputs.
static bool adx_is_active(const ad_tensor *t, uint32_t value)
{
    return adx_tensor_value_at(t, value)->tangent != 0;
}

// Adds a term to the adjoint of factor `which`: of the other factors and the
// adjoint of the result, at the points of s, where that is.
static void adx_adjoint_term(ad_tensor *t, const adx_set *s,
                             const adx_tensor_term *of, uint32_t which,
                             adx_access above, ad_real k)
{
    uint32_t to = adx_adjoint_value(t, of->factor[which].value);
    adx_tensor_term *term =
        to == 0 ? NULL
                  : adx_new_tensor_term(t, to, s, of->factor[which].row, k);
    for (uint32_t i = 0; i < of->factors; i++)
        if (i != which)
            adx_add_factor(term, of->factor[i]);
    adx_add_factor(term, above);
    adx_set_absorbing(t, term, of);
    if (term != NULL) {
        term->most = of->most;
        term->at = of->at;
        term->picked = of->picked;
    }
}

// Adds, to the adjoint of each argument of a function, the partial times the
// adjoint of the result (above).
static void adx_adjoint_of_application(ad_tensor *t, uint32_t value,
                                       const adx_tensor_term *of,
                                       const adx_set *s, adx_access above)
{
    uint32_t op = adx_tensor_value_at(t, value)->op;
    for (uint32_t i = 0; i < of->factors; i++) {
        const adx_access x = adx_argument_at(of, i);
        if (!adx_is_active(t, x.value)
            || !adx_has_partial_text(op, i))
            continue;
        const adx_tensor_partial partial =
            adx_tensor_partial_of(t, value, i, s);
        uint32_t to = adx_adjoint_value(t, x.value);
        adx_tensor_term *term = to == 0 ? NULL
            : adx_new_tensor_term(t, to, s, x.row, partial.k);
        adx_add_chain(term, partial.from, above);
    }
}

// Adds what a value contributes to the adjoints of the values from which it is
// made. Its own adjoint is complete.
static void adx_adjoint_of(ad_tensor *t, uint32_t value)
{
    uint32_t y = adx_tensor_value_at(t, value)->adjoint;
    if (y == 0)
        return;
    if (adx_tensor_value_at(t, y)->kind == ADX_VALUE_SUM) {
        y = adx_complete_value(t, y);
        adx_tensor_value_at(t, value)->adjoint = y;
    }
    if (adx_tensor_value_at(t, value)->fixed)
        return;
    for (uint32_t i = 0; i < adx_tensor_value_at(t, value)->terms; i++) {
        adx_tensor_term of = adx_tensor_value_at(t, value)->term[i];
        adx_value_kind kind = adx_tensor_value_at(t, value)->kind;
        const adx_access above = { y, of.out };
        adx_set *s = adx_copy_set(of.set);
        if (s == NULL || !adx_restrict(t, &s, above) || s->empty)
            continue;
        if (kind == ADX_VALUE_APPLICATION) {
            adx_adjoint_of_application(t, value, &of, s, above);
            continue;
        }
        if (kind == ADX_VALUE_MOST) {
            of.most = value;
            of.at = of.out;
            of.picked = of.factor[0];
        }
        bool square = adx_is_square(t, &of);
        for (uint32_t j = 0; j < (square ? 1 : of.factors); j++)
            if (adx_is_active(t, of.factor[j].value))
                adx_adjoint_term(t, s, &of, j, above,
                                 square ? 2 * of.k : of.k);
    }
}

/* --- of a program -------------------------------------------------------- */

// Begins the adjoint of a result with its weight.
static void adx_begin_adjoint(ad_tensor *t, uint32_t out, uint32_t weight)
{
    const adx_access w = { weight, 0 };
    uint32_t to = adx_adjoint_value(t, out);
    adx_set *s =
        to == 0 ? NULL : adx_all_indices(t, adx_tensor_value_at(t, out));
    if (s != NULL && !s->empty)
        adx_add_factor(adx_new_tensor_term(t, to, s, 0, 1), w);
}

// Makes a value that the caller gives, with the indices of another: a tangent
// of an input, or a weight of a result.
static uint32_t adx_given_like(ad_tensor *t, uint32_t like, adx_value_kind kind,
                               uint32_t order)
{
    uint32_t v = adx_value_like(t, like, kind);
    if (v != 0)
        adx_tensor_value_at(t, v)->order = order;
    return v;
}

// Finds every value that a needed value needs.
static void adx_need_all(const adx_tensor_program *p, bool needed[])
{
    for (uint32_t i = p->steps; i-- > 0;) {
        const adx_tensor_value *v = &p->value[p->order[i]];
        for (uint32_t j = 0; needed[p->order[i]] && j < v->terms; j++) {
            for (uint32_t f = 0; f < v->term[j].factors; f++)
                needed[v->term[j].factor[f].value] = true;
            if (v->term[j].most != 0)
                needed[v->term[j].most] =
                    needed[v->term[j].picked.value] = true;
        }
    }
}

// Makes the tangents of what adjoints are made of: of their own values, and of
// those partials that tangents have, too.
static void adx_derive_adjoints(ad_tensor *t, uint32_t tangents)
{
    adx_tensor_program *p = t->program;
    bool *needed = ADX_GET(&t->arena, p->values, bool);
    uint32_t steps = p->steps;
    for (uint32_t i = 0; needed != NULL && i < t->tree.inputs; i++)
        needed[p->adjoint_in[i]] = true;
    if (needed != NULL)
        adx_need_all(p, needed);
    for (uint32_t i = p->primal; i < steps && t->arena.status == ADREV_OK; i++)
        if (i >= tangents || needed[p->order[i]])
            adx_tangent_of(t, p->order[i]);
}

// Adds tangents and adjoints of all values to the program.
static void adx_derive_program(ad_tensor *t)
{
    adx_tensor_program *p = t->program;
    for (uint32_t i = 0; i < t->tree.inputs; i++) {
        p->tangent_in[i] = adx_given_like(t, p->input[i], ADX_VALUE_TANGENT_IN,
                                          i);
        adx_tensor_value_at(t, p->input[i])->tangent = p->tangent_in[i];
    }
    p->primal = p->steps;
    for (uint32_t i = 0; i < p->primal && t->arena.status == ADREV_OK; i++)
        adx_tangent_of(t, p->order[i]);
    uint32_t tangents = p->steps;
    for (uint32_t i = 0; i < t->tree.outs; i++) {
        p->weight[i] = adx_given_like(t, p->out[i], ADX_VALUE_WEIGHT, i);
        p->tangent_out[i] = adx_tensor_value_at(t, p->out[i])->tangent;
        if (p->weight[i] != 0 && p->tangent_out[i] != 0)
            adx_begin_adjoint(t, p->out[i], p->weight[i]);
    }
    for (uint32_t i = p->primal; i-- > 0 && t->arena.status == ADREV_OK;)
        adx_adjoint_of(t, p->order[i]);
    for (uint32_t i = 0; i < t->tree.inputs; i++) {
        p->adjoint_in[i] = adx_tensor_value_at(t, p->input[i])->adjoint;
        if (p->adjoint_in[i] != 0) {
            adx_tensor_value_at(t, p->adjoint_in[i])->result = true;
            adx_complete_value(t, p->adjoint_in[i]);
        }
    }
    adx_derive_adjoints(t, tangents);
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        p->second_in[i] = p->adjoint_in[i] == 0 ? 0
            : adx_tensor_value_at(t, p->adjoint_in[i])->tangent;
}

ADX_SELDOM_END

/* === tensor/parts ===========================================================
 * How the computation of a value is cut into parts, which several threads can
 * run at once. A cut is made when the text is bound, and by sizes only: bits do
 * not depend on the threads.
 *
 *   results  a part has the results lo <= i < hi along one dimension. Each term
 *            runs where its index along this dimension is one of them. So what
 *            is added to a number is added by one part, in the order in which
 *            one thread alone adds it.
 *   points   each number is written by one point: a part has some of the values
 *            of a variable.
 *   sums     of many points, and few numbers: a part has some of the points of
 *            a term, and sums of its own. These are added in the order of the
 *            parts, also where one thread runs them all.
 *
 * In all three a part of a term has the points where lo <= f(x) < hi for an
 * affine form f: a nest of which the bounds of the levels are narrower. Where
 * others give the variables of f (a sum over the entries of a relation, by
 * columns), that would leave each part all other levels to run through. Then
 * the points are listed by parts; lists take memory, and are made only if a
 * pool is in use when the text is bound.
 *
 * Who runs a term (tensor/run) asks for the nest, or the list; who has another
 * way to run it needs the numbers lo and hi alone.
 *
 *   needs   tape/layout parallel/pool tensor/api tensor/arena tensor/sets
 *           tensor/nests tensor/programs
 *   offers  ADX_PART_LEAST ADX_FORK_LEAST ADX_PARTS_MOST ADX_CUT_RESULTS
 *           ADX_CUT_POINTS ADX_CUT_SUMS adx_part_list adx_term_cut
 *           adx_value_cut adx_points_from adx_shares_parts adx_part_from
 *           adx_cut_value adx_part_memory adx_nest_of_part adx_walk_list
 *           adx_do_parts
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Least points of a part. Other numbers of points follow from it: of a value
// that is worth a fork, of a part with sums of its own, for each number of such
// sums (they are soon added then, and are no sums that code writes out), and
// within one pass of the levels that each part runs through.
#ifndef ADX_PART_LEAST
#define ADX_PART_LEAST 4096
#endif
#define ADX_FORK_LEAST ((uint64_t)ADX_PART_LEAST * 8)
#define ADX_SUMS_LEAST ((uint64_t)ADX_PART_LEAST * 4)
#define ADX_SUMS_EACH  ((uint64_t)ADX_PART_LEAST * 2 + 64)
#define ADX_PASS_LEAST ((uint64_t)ADX_PART_LEAST / 64 + 1)
#define ADX_SUMS_MOST  1024     // numbers
#define ADX_PARTS_MOST 64

typedef enum adx_cut_kind {
    ADX_CUT_RESULTS, ADX_CUT_POINTS, ADX_CUT_SUMS
} adx_cut_kind;

// The points of a term, sorted by parts: the values of the variables of the
// first levels. The points of a part keep their order.
typedef struct adx_part_list {
    const adx_set *set;
    const adx_nest *nest;
    int64_t from, to;
    uint32_t parts;
    adx_sparse_form form;       // f
    uint32_t levels;
    int32_t *x;                 // [points][levels]
    uint64_t *start;            // [parts + 1] points before those of a part
    const struct adx_part_list *next;
} adx_part_list;

// f, and what a nest needs to keep lo <= f(x) < hi.
typedef struct adx_term_cut {
    adx_sparse_form form;
    uint32_t *level;            // [form.n] of its variables
    uint32_t last;              // the latest of these; that of the entries, if
                                // a column gives the variable in order
    adx_sparse_form rest;       // f without the variable of this level
    adx_sparse_form less;       // -rest
    int64_t k;                  // of that variable
    int64_t from, to;           // of f
    uint32_t parts;             // of a cut of sums: of this term
    const adx_part_list *list;  // NULL: none
} adx_term_cut;

typedef struct adx_value_cut {
    adx_cut_kind kind;
    uint32_t dim;               // of results
    int64_t from, to;           // of f
    uint32_t parts;             // in all
    adx_term_cut *term;
} adx_value_cut;

/* --- how many points ----------------------------------------------------- */

static uint64_t adx_least_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Returns a*b, but 2^60 at most.
static uint64_t adx_times_at_most(uint64_t a, uint64_t b)
{
    return a != 0 && b > ((uint64_t)1 << 60) / a ? (uint64_t)1 << 60 : a * b;
}

// Returns how many points the levels `from` and later have, for each of those
// before. It is more than that where the bounds of one level depend on others.
static uint64_t adx_points_from(const adx_nest *nest, uint32_t from)
{
    uint64_t n = 1;
    for (uint32_t i = from; i < nest->levels; i++) {
        const adx_nest_level *l = &nest->level[i];
        const adx_int_table *t = l->table;
        if (l->kind == ADX_LEVEL_RANGE)
            n = adx_times_at_most(n, (uint64_t)(l->high - l->low + 1));
        else if (l->kind == ADX_LEVEL_ARGUMENTS)
            n = adx_times_at_most(n, t->n / (uint64_t)(t->high - t->low + 1)
                                     + 1);
    }
    return nest->empty ? 0 : n;
}

// Returns the level whose range is cut where the variable of a level is:
// another one if a column gives the variable, and rises with its entries.
static uint32_t adx_level_in_order(const adx_nest *nest, uint32_t level)
{
    const adx_nest_level *l = &nest->level[level];
    uint32_t e = 0;
    if (l->kind != ADX_LEVEL_VALUE || !l->table->ascending)
        return level;
    while (nest->level[e].var != l->argument.var[0])
        e++;
    return e;
}

// Returns as many parts as a nest allows that is cut at a level: the levels
// before are run through by each part, and where the level has no range, so is
// the level.
static uint64_t adx_parts_at_level(const adx_nest *nest, uint32_t level)
{
    if (level == 0 && nest->level[0].kind == ADX_LEVEL_RANGE)
        return ADX_PARTS_MOST;
    uint64_t pass = adx_points_from(nest, level) / ADX_PASS_LEAST;
    return nest->level[level].kind != ADX_LEVEL_RANGE || pass < 1 ? 1 : pass;
}

/* --- a cut --------------------------------------------------------------- */

// False: no memory.
static bool adx_make_term_cut(const adx_set *s, const int64_t form[],
                              const adx_nest *nest, adx_term_cut *to)
{
    uint32_t var = UINT32_MAX;
    to->level = ADX_GET(s->arena, s->vars, uint32_t);
    if (to->level == NULL
        || !adx_make_sparse_form(s, form, UINT32_MAX, &to->form))
        return false;
    for (uint32_t i = 0; i < to->form.n; i++) {
        uint32_t l = 0;
        while (nest->level[l].var != to->form.var[i])
            l++;
        to->level[i] = l;
        l = to->form.n == 1 ? adx_level_in_order(nest, l) : l;
        if (var == UINT32_MAX || l > to->last) {
            to->last = l;
            var = to->form.var[i];
            to->k = to->form.k[i];
        }
    }
    bool ok = adx_make_sparse_form(s, form, var, &to->rest)
           && adx_make_sparse_form(s, form, var, &to->less);
    for (uint32_t i = 0; ok && i < to->less.n; i++)
        to->less.k[i] = -to->less.k[i];
    to->less.c = -to->less.c;
    return ok;
}

// Returns the level at which most of a form is decided.
static uint32_t adx_level_of_cut(const adx_nest *nest, const adx_term_cut *c)
{
    uint32_t best = 0;
    int64_t most = -1;
    for (uint32_t i = 0; i < c->form.n; i++) {
        const adx_nest_level *l = &nest->level[c->level[i]];
        int64_t k = c->form.k[i];
        int64_t span = (k < 0 ? -k : k) * (l->high - l->low);
        if (span > most) {
            most = span;
            best = c->level[i];
        }
    }
    return best;
}

/* --- parts of results ---------------------------------------------------- */

// Whether picks are of different numbers in different parts: the index is one
// of those of the number that is picked from, too.
static bool adx_picks_along(const ad_tensor *t, const adx_tensor_term *term,
                            uint32_t dim)
{
    const adx_set *s = term->set;
    const int64_t *form = adx_form_of(s, term->out + dim);
    uint32_t dims = term->most == 0 ? 0 : t->program->value[term->most].dims;
    for (uint32_t i = 0; i < dims; i++)
        if (memcmp(form + 1, adx_form_of(s, term->at + i) + 1,
                   s->vars * sizeof *form) == 0)
            return true;
    return term->most == 0;
}

// Whether the variable that decides a form has a range; of several, the last
// one.
static bool adx_has_range(const adx_nest *nest, const adx_term_cut *c)
{
    uint32_t level = c->last;
    return c->form.n == 0 || nest->level[level].kind == ADX_LEVEL_RANGE;
}

// Whether a list of the points is no longer than a few times the numbers that a
// term has to do with, and can hold the values of all variables.
static bool adx_can_list(const ad_tensor *t, const adx_tensor_value *v,
                         const adx_tensor_term *term, const adx_nest *nest,
                         const adx_term_cut *c)
{
    adx_nest first = *nest;
    uint64_t numbers = v->size;
    first.levels = c->last + 1;
    for (uint32_t f = 0; f < term->factors; f++)
        numbers += t->program->value[term->factor[f].value].size;
    bool ok = true;
    for (uint32_t i = 0; i < first.levels; i++) {
        const adx_nest_level *l = &nest->level[i];
        numbers += l->table == NULL ? 0 : l->table->n;
        ok = ok && l->low >= INT32_MIN && l->high <= INT32_MAX;
    }
    return ok && adx_points_from(&first, 0) <= 4 * numbers;
}

// Returns how many parts a term allows along a dimension. 0: it cannot be cut.
static uint64_t adx_parts_of_term(const ad_tensor *t, const adx_tensor_value *v,
                                  const adx_tensor_term *term, uint32_t dim,
                                  const adx_nest *nest, const adx_term_cut *c,
                                  bool lists)
{
    if (!adx_picks_along(t, term, dim))
        return 0;
    if (!adx_has_range(nest, c))
        return lists && adx_can_list(t, v, term, nest, c) ? ADX_PARTS_MOST
             : c->form.n > 1 ? 0 : 1;
    return c->form.n == 0 ? 1
         : adx_parts_at_level(nest, c->form.n > 1 ? adx_level_of_cut(nest, c)
                                                  : c->last);
}

// Returns how many parts a value allows along a dimension. 0: no memory; 1:
// none.
static uint32_t adx_cut_results(ad_tensor *t, const adx_tensor_value *v,
                                const adx_nest *const nest[], uint64_t points,
                                bool lists, adx_value_cut *to)
{
    uint64_t parts = adx_least_of(points / ADX_PART_LEAST, ADX_PARTS_MOST);
    parts = adx_least_of(parts, (uint64_t)v->extent[to->dim]);
    to->from = v->low[to->dim];
    to->to = to->from + v->extent[to->dim];
    to->term = ADX_GET(&t->arena, v->terms, adx_term_cut);
    for (uint32_t j = 0; to->term != NULL && j < v->terms && parts > 1; j++) {
        const adx_tensor_term *term = &v->term[j];
        const int64_t *form = adx_form_of(term->set, term->out + to->dim);
        if (!adx_make_term_cut(term->set, form, nest[j], &to->term[j]))
            return 0;
        uint64_t most = adx_parts_of_term(t, v, term, to->dim, nest[j],
                                          &to->term[j], lists);
        // a term of few points may be in one part
        if (most == 0 || adx_points_from(nest[j], 0) > points / 16)
            parts = adx_least_of(parts, most);
    }
    return to->term == NULL ? 0 : parts < 1 ? 1 : (uint32_t)parts;
}

/* --- parts of points ----------------------------------------------------- */

// Returns the one variable of a form that is not known; UINT32_MAX: none, or
// several.
static uint32_t adx_only_unknown(const adx_set *s, const int64_t form[],
                                 const bool known[])
{
    uint32_t some = UINT32_MAX;
    for (uint32_t i = 0; i < s->vars; i++)
        if (form[1 + i] != 0 && !known[i]) {
            if (some != UINT32_MAX)
                return UINT32_MAX;
            some = i;
        }
    return some;
}

// Returns the variable that a row gives, if it is known what is written.
static uint32_t adx_given_by_row(const adx_set *s, uint32_t r, bool written,
                                 const bool known[])
{
    const adx_set_row *row = &s->row[r];
    if (row->kind == ADX_ROW_VALUE) {
        const int64_t *at = adx_form_of(s, row->at);
        for (uint32_t i = 0; i < s->vars; i++)
            if (at[1 + i] != 0 && !known[i])
                return UINT32_MAX;
    } else if (row->kind != ADX_ROW_ZERO && !written)
        return UINT32_MAX;
    return adx_only_unknown(s, adx_form_of(s, r), known);
}

// Whether the indices of what is written give all variables, so that each point
// has a number of its own. known [vars]: memory, all false.
static bool adx_has_own_numbers(const adx_tensor_value *v,
                                const adx_tensor_term *term, bool known[])
{
    const adx_set *s = term->set;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t r = 0; r < s->rows; r++) {
            bool written = r >= term->out && r < term->out + v->dims;
            uint32_t var = adx_given_by_row(s, r, written, known);
            if (var != UINT32_MAX)
                known[var] = more = true;
        }
    }
    for (uint32_t i = 0; i < s->vars; i++)
        if (!s->gone[i] && !known[i])
            return false;
    return true;
}

// Returns the first level whose range is long, or the one with the longest
// range. UINT32_MAX: none has a range.
static uint32_t adx_long_level(const adx_nest *nest)
{
    uint32_t best = UINT32_MAX;
    int64_t most = -1;
    for (uint32_t i = 0; i < nest->levels && most < ADX_PARTS_MOST; i++) {
        const adx_nest_level *l = &nest->level[i];
        if (l->kind == ADX_LEVEL_RANGE && l->high - l->low > most) {
            most = l->high - l->low;
            best = i;
        }
    }
    return best;
}

// Cuts a term along the variable of one level. Returns into how many parts of
// so many points, at least 1. 0: no memory.
static uint32_t adx_cut_points(const adx_set *s, const adx_nest *nest,
                               uint64_t least, adx_term_cut *c)
{
    uint32_t level = adx_long_level(nest);
    uint64_t parts = adx_least_of(adx_points_from(nest, 0) / least,
                                  ADX_PARTS_MOST);
    int64_t *form = ADX_GET(s->arena, s->width, int64_t);
    if (form == NULL)
        return 0;
    c->to = 1;
    if (level == UINT32_MAX)
        parts = 1;
    else {
        const adx_nest_level *l = &nest->level[level];
        form[1 + l->var] = 1;
        c->from = l->low;
        c->to = l->high + 1;
        parts = adx_least_of(parts, (uint64_t)(c->to - c->from));
        parts = adx_least_of(parts, adx_parts_at_level(nest, level));
    }
    return !adx_make_term_cut(s, form, nest, c) ? 0
         : parts < 1 ? 1 : (uint32_t)parts;
}

// Whether there is another thread to share with: a pool, or an executor, as for
// forks.
static bool adx_shares_parts(void)
{
#ifdef ADREV_PARALLEL_IMPLEMENTED
    return adx_mine_rows.statements == 0
        && (adx_mine.execute != NULL
            || (adx_mine.seat != NULL && adx_mine.pool->workers > 0));
#else
    return false;
#endif
}

/* --- lists of points ----------------------------------------------------- */

// Returns where part i of n begins.
static int64_t adx_part_from(int64_t from, int64_t to, uint32_t i, uint32_t n)
{
    uint64_t span = (uint64_t)(to - from);
    return from + (int64_t)(span / n * i + span % n * i / n);
}

// Returns the part that a value of f belongs to.
static uint32_t adx_part_with(const adx_part_list *l, int64_t f)
{
    uint64_t span = (uint64_t)(l->to - l->from);
    uint32_t i = (uint32_t)((uint64_t)(f - l->from) * l->parts / span);
    while (adx_part_from(l->from, l->to, i, l->parts) > f)
        i--;
    while (adx_part_from(l->from, l->to, i + 1, l->parts) <= f)
        i++;
    return i;
}

typedef struct adx_listing {
    adx_part_list *list;
    bool fills;                 // or else counts
} adx_listing;

// Puts a point into the list of its part. Before the list is filled, points are
// only counted.
static bool adx_list_point(void *user, const int64_t x[], uint32_t var,
                           int64_t count)
{
    const adx_listing *k = (const adx_listing *)user;
    adx_part_list *l = k->list;
    uint32_t part = adx_part_with(l, adx_sparse_at(&l->form, x));
    (void)var;
    (void)count;
    if (k->fills) {
        int32_t *to = l->x + l->start[part]++ * l->levels;
        for (uint32_t i = 0; i < l->levels; i++)
            to[i] = (int32_t)x[l->nest->level[i].var];
    } else
        l->start[part + 1]++;
    return true;
}

// Whether two sets have equal variables, ranges and rows.
static bool adx_same_sets(const adx_set *a, const adx_set *b)
{
    if (a->vars != b->vars || a->rows != b->rows)
        return false;
    for (uint32_t v = 0; v < a->vars; v++)
        if (a->low[v] != b->low[v] || a->high[v] != b->high[v])
            return false;
    for (uint32_t r = 0; r < a->rows; r++)
        if (a->row[r].kind != b->row[r].kind || a->row[r].at != b->row[r].at
            || a->row[r].table != b->row[r].table
            || a->row[r].bits != b->row[r].bits
            || memcmp(adx_form_of(a, r), adx_form_of(b, r),
                      (1 + a->vars) * sizeof *a->k) != 0)
            return false;
    return true;
}

static bool adx_same_forms(const adx_sparse_form *a, const adx_sparse_form *b)
{
    return a->c == b->c && a->n == b->n
        && memcmp(a->var, b->var, a->n * sizeof *a->var) == 0
        && memcmp(a->k, b->k, a->n * sizeof *a->k) == 0;
}

// Whether two terms have the same points in the same parts.
static bool adx_same_lists(const adx_part_list *a, const adx_part_list *b)
{
    bool same = a->levels == b->levels && a->parts == b->parts
             && a->from == b->from && a->to == b->to
             && adx_same_forms(&a->form, &b->form)
             && adx_same_sets(a->set, b->set);
    for (uint32_t i = 0; i < a->levels && same; i++)
        same = a->nest->level[i].var == b->nest->level[i].var;
    return same;
}

// Counts the points of each part, and then writes them down. False: no memory.
static bool adx_fill_list(ad_tensor *t, adx_part_list *l)
{
    adx_nest nest = *l->nest;
    int64_t *x = ADX_GET(&t->arena, nest.vars, int64_t);
    adx_listing k = { l, false };
    l->start = ADX_GET(&t->arena, l->parts + 1, uint64_t);
    if (x == NULL || l->start == NULL)
        return false;
    nest.levels = l->levels;
    adx_walk_nest(&nest, x, adx_list_point, &k);
    for (uint32_t i = 0; i < l->parts; i++)
        l->start[i + 1] += l->start[i];
    l->x = ADX_GET(&t->arena, l->start[l->parts] * l->levels, int32_t);
    if (l->x == NULL)
        return false;
    k.fills = true;
    adx_walk_nest(&nest, x, adx_list_point, &k);
    memmove(l->start + 1, l->start, l->parts * sizeof *l->start);
    l->start[0] = 0;
    return true;
}

// Lists the points of a term by parts. Terms of a value and of its tangent have
// one list. False: no memory.
static bool adx_list_parts(ad_tensor *t, const adx_set *s, const adx_nest *nest,
                           const adx_value_cut *cut, adx_term_cut *c)
{
    adx_part_list *l = ADX_GET(&t->arena, 1, adx_part_list);
    if (l == NULL)
        return false;
    l->set = s;
    l->nest = nest;
    l->from = cut->from;
    l->to = cut->to;
    l->parts = cut->parts;
    l->levels = c->last + 1;
    l->form = c->form;
    for (const adx_part_list *i = t->program->lists; i != NULL; i = i->next)
        if (adx_same_lists(i, l)) {
            c->list = i;
            return true;
        }
    l->next = t->program->lists;
    c->list = t->program->lists = l;
    return adx_fill_list(t, l);
}

/* --- the cut of a value -------------------------------------------------- */

// Whether a term of a value adds at picked points only.
static bool adx_picks_any(const adx_tensor_value *v)
{
    bool any = false;
    for (uint32_t j = 0; j < v->terms; j++)
        any = any || v->term[j].most != 0;
    return any;
}

// Cuts the points of a value's only term into parts, if that makes more parts
// than the best cut so far. A sum is cut in this way only if each point has a
// number of its own. False: no memory.
static bool adx_try_cut_of_points(ad_tensor *t, const adx_tensor_value *v,
                                  const adx_nest *const nest[],
                                  adx_value_cut *best)
{
    const adx_tensor_term *term = v->term;
    adx_value_cut c = { .kind = ADX_CUT_POINTS };
    if (v->terms != 1 || v->kind == ADX_VALUE_MOST || term->most != 0)
        return true;
    bool *known = ADX_GET(&t->arena, term->set->width, bool);
    c.term = ADX_GET(&t->arena, 1, adx_term_cut);
    if (known == NULL || c.term == NULL)
        return false;
    if (v->kind == ADX_VALUE_SUM && !v->once
        && !adx_has_own_numbers(v, term, known))
        return true;
    c.parts = adx_cut_points(term->set, nest[0], ADX_PART_LEAST, c.term);
    c.from = c.term->from;
    c.to = c.term->to;
    if (c.parts > best->parts)
        *best = c;
    return c.parts > 0;
}

// Cuts the points of a value of few numbers into parts with sums of their own,
// if that makes more parts than the best cut so far. False: no memory.
static bool adx_try_cut_of_sums(ad_tensor *t, const adx_tensor_value *v,
                                const adx_nest *const nest[], uint64_t points,
                                adx_value_cut *best)
{
    adx_value_cut c = { .kind = ADX_CUT_SUMS };
    if (v->kind != ADX_VALUE_SUM || adx_picks_any(v)
        || best->parts >= ADX_PARTS_MOST / 4
        || points < 2 * ADX_SUMS_LEAST
        || points / ADX_SUMS_EACH < v->span || v->span > ADX_SUMS_MOST)
        return true;
    c.term = ADX_GET(&t->arena, v->terms, adx_term_cut);
    if (c.term == NULL)
        return false;
    for (uint32_t j = 0; j < v->terms; j++) {
        c.term[j].parts = adx_cut_points(v->term[j].set, nest[j],
                                         ADX_SUMS_LEAST, &c.term[j]);
        if (c.term[j].parts == 0)
            return false;
        c.parts += c.term[j].parts;
    }
    if (c.parts > best->parts && c.parts > v->terms)
        *best = c;
    return true;
}

// Cuts the results along the dimension that makes the most parts, if these are
// more than those of the best cut so far. False: no memory.
static bool adx_try_cut_of_results(ad_tensor *t, const adx_tensor_value *v,
                                   const adx_nest *const nest[],
                                   uint64_t points, bool lists,
                                   adx_value_cut *best)
{
    for (uint32_t d = 0; d < v->dims; d++) {
        adx_value_cut c = { .dim = d };
        c.parts = adx_cut_results(t, v, nest, points, lists, &c);
        if (c.parts == 0)
            return false;
        if (c.parts > best->parts)
            *best = c;
    }
    return true;
}

// Finds the best cut of a value. Lists change no bits, so what else is chosen
// must not depend on them: they are tried last. False: no memory.
static bool adx_try_all_cuts(ad_tensor *t, const adx_tensor_value *v,
                             const adx_nest *const nest[], uint64_t points,
                             adx_value_cut *best)
{
    if (!adx_try_cut_of_results(t, v, nest, points, false, best)
        || !adx_try_cut_of_points(t, v, nest, best)
        || !adx_try_cut_of_sums(t, v, nest, points, best))
        return false;
    return best->kind == ADX_CUT_SUMS || best->parts >= ADX_PARTS_MOST / 4
        || !adx_shares_parts()
        || adx_try_cut_of_results(t, v, nest, points, true, best);
}

// Cuts a value into parts. nest [terms]. *cut is NULL where nothing is to be
// gained. False: no memory.
static bool adx_cut_value(ad_tensor *t, const adx_tensor_value *v,
                          const adx_nest *const nest[], adx_value_cut **cut)
{
    uint64_t points = 0;
    adx_value_cut best = { .parts = 1 };
    for (uint32_t j = 0; j < v->terms; j++)
        points += adx_points_from(nest[j], 0);
    if (points < ADX_FORK_LEAST || v->size == 0)
        return true;
    if (!adx_try_all_cuts(t, v, nest, points, &best))
        return false;
    if (best.parts < 2)
        return true;
    for (uint32_t j = 0; j < v->terms && best.kind == ADX_CUT_RESULTS; j++)
        if (!adx_has_range(nest[j], &best.term[j]) && adx_shares_parts()
            && adx_can_list(t, v, &v->term[j], nest[j], &best.term[j])
            && !adx_list_parts(t, v->term[j].set, nest[j], &best,
                               &best.term[j]))
            return false;
    *cut = ADX_GET(&t->arena, 1, adx_value_cut);
    if (*cut == NULL)
        return false;
    **cut = best;
    return true;
}

ADX_SELDOM_END

/* --- a part of a nest ---------------------------------------------------- */

// Memory for the nest of a part.
typedef struct adx_part_memory {
    adx_nest_level *level;
    adx_set_check *bound;
} adx_part_memory;

// Narrows the range of a variable of the form by what the others can be.
static void adx_narrow_level(const adx_term_cut *c, uint32_t which, int64_t lo,
                             int64_t hi, adx_nest *to)
{
    adx_nest_level *l = &to->level[c->level[which]];
    int64_t k = c->form.k[which];
    int64_t least = c->form.c;
    int64_t most = c->form.c;
    for (uint32_t i = 0; i < c->form.n; i++) {
        const adx_nest_level *other = &to->level[c->level[i]];
        int64_t a = c->form.k[i];
        if (i == which)
            continue;
        least += a * (a > 0 ? other->low : other->high);
        most += a * (a > 0 ? other->high : other->low);
    }
    int64_t first = k > 0 ? lo - most : hi - 1 - least;
    int64_t last = k > 0 ? hi - 1 - least : lo - most;
    first = adx_ceil_div(first, k);
    last = adx_floor_div(last, k);
    l->low = first > l->low ? first : l->low;
    l->high = last < l->high ? last : l->high;
    to->empty = to->empty || l->low > l->high;
}

// The entries whose column has values from low to high.
static void adx_narrow_entries(const adx_int_table *column, int64_t low,
                               int64_t high, adx_nest_level *l)
{
    for (int upper = 0; upper < 2; upper++) {
        int64_t from = l->low;
        int64_t to = l->high + 1;
        while (from < to) {
            int64_t at = from + (to - from) / 2;
            if (column->value[at] < low + upper * (high + 1 - low))
                from = at + 1;
            else
                to = at;
        }
        *(upper ? &l->high : &l->low) = from - upper;
    }
}

// Finds the bounds of the last level for what its variable is now.
static void adx_bound_part(const adx_term_cut *c, int64_t lo, int64_t hi,
                           adx_nest_level *l, adx_set_check *bound)
{
    if (l->bounds > 0)
        memcpy(bound, l->bound, l->bounds * sizeof *bound);
    l->bound = bound;
    for (int upper = 0; upper < 2; upper++) {
        adx_set_check *b = &bound[l->bounds++];
        memset(b, 0, sizeof *b);
        b->kind = ADX_ROW_SIGN;
        b->k = upper ? -c->k : c->k;
        b->form = upper ? c->less : c->rest;
        b->form.c += upper ? hi - 1 : -lo;
    }
}

// Returns the loops over the points where lo <= f(x) < hi.
static adx_nest adx_nest_of_part(const adx_nest *nest, const adx_term_cut *c,
                                 int64_t lo, int64_t hi,
                                 const adx_part_memory *m)
{
    adx_nest to = *nest;
    if (nest->empty || c->form.n == 0) {
        to.empty = nest->empty || c->form.c < lo || c->form.c >= hi;
        return to;
    }
    memcpy(m->level, nest->level, nest->levels * sizeof *m->level);
    to.level = m->level;
    for (uint32_t i = 0; i < c->form.n && !to.empty; i++)
        adx_narrow_level(c, i, lo, hi, &to);
    const adx_nest_level *l = &to.level[c->level[0]];
    if (c->form.n == 1 && c->last < c->level[0] && !to.empty) {
        adx_narrow_entries(l->table, l->low, l->high, &to.level[c->last]);
        to.empty = to.level[c->last].low > to.level[c->last].high;
    }
    if (c->form.n > 1)
        adx_bound_part(c, lo, hi, &to.level[c->last], m->bound);
    return to;
}

// Visits the points of a part that is listed.
static void adx_walk_list(const adx_part_list *l, uint32_t part,
                          const adx_nest_walk *w)
{
    for (uint64_t i = l->start[part]; i < l->start[part + 1]; i++) {
        for (uint32_t k = 0; k < l->levels; k++)
            w->x[w->nest->level[k].var] = l->x[i * l->levels + k];
        adx_walk_from(w, l->levels);
    }
}

/* --- on threads ---------------------------------------------------------- */

// Makes n calls, in any order, on any threads.
static void adx_do_parts(size_t n, void (*call)(size_t i, void *arg), void *arg)
{
#ifdef ADREV_PARALLEL_IMPLEMENTED
    adx_execute(adx_mine.execute, adx_mine.user, n, call, arg);
#else
    for (size_t i = 0; i < n; i++)
        call(i, arg);
#endif
}

/* === tensor/matrices ========================================================
 * Products of matrices: terms C[i,j] += sum over l of A[i,l]*B[l,j], at all
 * points of a box. Any other variables are loops around. What is read may have
 * any strides. Panels of A and B are packed, so that a kernel reads them in
 * order and makes a tile of C in registers.
 *
 * Each number of C is the sum that a loop over the innermost summed variable
 * makes, one product after the other, beginning with what C holds: with the
 * constant k of the term
 *
 *     c = ((c + (k*a[0])*b[0]) + (k*a[1])*b[1]) + ...
 *
 * or, `fused`, c = fma(k*a[0], b[0], c) and so on. The loops of the term's nest
 * do the same, for the variable that they have innermost is i or j. They run
 * where there is no memory for panels. So bits depend on the sizes alone, if
 * the compiler does not contract.
 *
 *   needs   tape/memory tensor/api tensor/arena tensor/sets tensor/nests
 *           tensor/binding tensor/programs
 *   offers  adx_tensor_more adx_matrices adx_find_matrices adx_matrix_part
 *           adx_matrix_part_of adx_run_matrices
 * ========================================================================== */

// C += scale * A * B, where A is m x k and B is k x n. Numbers of a matrix are
// `..rs` apart from row to row, `..cs` from column to column.
typedef struct adx_matrix_product {
    int64_t m, k, n;
    const ad_real *a;
    int64_t ars, acs;
    const ad_real *b;
    int64_t brs, bcs;
    ad_real *c;
    int64_t crs, ccs;
    ad_real scale;
    bool right;                 // scales B in place of A
    bool fused;
} adx_matrix_product;

// A product and its sum stand in two functions: a compiler that contracts only
// within an expression leaves them apart.
ADX_INLINE ad_real adx_tensor_more(ad_real sum, ad_real product)
{
    return sum + product;
}

/* --- vectors ----------------------------------------------------------------
 * A tile has as many rows and vectors as there are registers for.            */

#ifdef ADX_LANES
#ifdef __AVX512F__
#define ADX_WIDE_BYTES 64
#define ADX_TILE_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#else
#ifdef __AVX__
#define ADX_WIDE_BYTES 32
#else
#define ADX_WIDE_BYTES 16
#endif
#define ADX_TILE_ROWS(DO) DO(0) DO(1) DO(2) DO(3)
#endif

typedef ad_real adx_wide __attribute__((vector_size(ADX_WIDE_BYTES),
                                        aligned(sizeof(ad_real)), may_alias));
enum { ADX_WIDE = ADX_WIDE_BYTES / sizeof(ad_real) };
#define ADX_ONE_ROW(r) + 1
enum { ADX_TILE_M = 0 ADX_TILE_ROWS(ADX_ONE_ROW), ADX_TILE_N = 3 * ADX_WIDE };
#undef ADX_ONE_ROW

// sum = fma(x, y, sum) of vectors. Where there is no instruction for it: fma of
// each number.
#ifdef __has_builtin
#define ADX_HAS_BUILTIN(name) __has_builtin(name)
#else
#define ADX_HAS_BUILTIN(name) 0
#endif
#if ADX_HAS_BUILTIN(__builtin_elementwise_fma)
#define ADX_WIDE_FMA(x, y, sum) sum = __builtin_elementwise_fma(x, y, sum)
#elif defined __AVX512F__ && ADX_HAS_BUILTIN(__builtin_ia32_vfmaddpd512_mask)
#ifdef __clang__
#define ADX_ALL_16 65535
#else
#define ADX_ALL_16 -1
#endif
#define ADX_WIDE_FMA_double(x, y, sum)                                      \
    __builtin_ia32_vfmaddpd512_mask(x, y, sum, (unsigned char)255, 4)
#define ADX_WIDE_FMA_float(x, y, sum)                                       \
    __builtin_ia32_vfmaddps512_mask(x, y, sum, ADX_ALL_16, 4)
#define ADX_WIDE_FMA(x, y, sum)                                             \
    sum = ADX_JOIN(ADX_WIDE_FMA_, ADREV_REAL)(x, y, sum)
#elif defined __FMA__ && !defined __AVX512F__                               \
    && ADX_HAS_BUILTIN(__builtin_ia32_vfmaddpd256)
#define ADX_WIDE_FMA_double(x, y, sum) __builtin_ia32_vfmaddpd256(x, y, sum)
#define ADX_WIDE_FMA_float(x, y, sum) __builtin_ia32_vfmaddps256(x, y, sum)
#define ADX_WIDE_FMA(x, y, sum)                                             \
    sum = ADX_JOIN(ADX_WIDE_FMA_, ADREV_REAL)(x, y, sum)
#else
#define ADX_WIDE_FMA(x, y, sum)                                             \
    for (int lane = 0; lane < ADX_WIDE; lane++)                             \
        sum[lane] = adm_fma(x[lane], y[lane], sum[lane])
#endif

#else
enum { ADX_TILE_M = 4, ADX_TILE_N = 8 };
#endif

// Numbers of a panel along k, m and n: a panel of A is to stay in the second
// cache, one of B in the third. (n = 768, AVX-512: 7 % faster than 256 x 128.)
enum { ADX_PANEL_K = 512, ADX_PANEL_M = 64, ADX_PANEL_N = 1536 };
// So few numbers stay where they are. (n = 96: 10 % faster than packed.)
enum { ADX_UNPACKED_MOST = 32768 };

/* --- packing -------------------------------------------------------------- */

// Packs `width` numbers for each of k, the next one `along` further; beyond
// `count` zeros.
ADX_INLINE void adx_pack_strip(int width, int64_t count, int64_t k,
                               const ad_real *from, int64_t stride,
                               int64_t along, ad_real *restrict to)
{
    for (; count >= width && k > 0; k--, from += along, to += width)
        for (int i = 0; i < width; i++)
            to[i] = from[i * stride];
    for (; k > 0; k--, from += along, to += width)
        for (int i = 0; i < width; i++)
            to[i] = i < count ? from[i * stride] : 0;
}

// Packs all strips of a panel, each for `width` rows or columns.
ADX_INLINE void adx_pack_panel(int width, int64_t count, int64_t k,
                               const ad_real *from, int64_t stride,
                               int64_t along, ad_real scale, ad_real *to)
{
    for (; count > 0; count -= width, from += width * stride, to += width * k) {
        if (stride == 1)
            adx_pack_strip(width, count, k, from, 1, along, to);
        else
            adx_pack_strip(width, count, k, from, stride, along, to);
        for (int64_t i = 0; scale != 1 && i < width * k; i++)
            to[i] = scale * to[i];
    }
}

// Packs a panel of A.
static void adx_pack_rows(int64_t count, int64_t k, const ad_real *from,
                          int64_t stride, int64_t along, ad_real scale,
                          ad_real *to)
{
    adx_pack_panel(ADX_TILE_M, count, k, from, stride, along, scale, to);
}

// Packs a panel of B.
static void adx_pack_columns(int64_t count, int64_t k, const ad_real *from,
                             int64_t stride, int64_t along, ad_real scale,
                             ad_real *to)
{
    adx_pack_panel(ADX_TILE_N, count, k, from, stride, along, scale, to);
}

/* --- tiles ---------------------------------------------------------------- */

#ifdef ADX_LANES

#define ADX_WIDE_AT(at) (*(adx_wide *)(at))
#define ADX_CONST_WIDE(at) (*(const adx_wide *)(at))
#define ADX_TILE_LOAD(r)                                                    \
    adx_wide sum##r##0 = ADX_WIDE_AT(c + r * stride);                       \
    adx_wide sum##r##1 = ADX_WIDE_AT(c + r * stride + ADX_WIDE);            \
    adx_wide sum##r##2 = ADX_WIDE_AT(c + r * stride + 2 * ADX_WIDE);
#define ADX_TILE_STORE(r)                                                   \
    ADX_WIDE_AT(c + r * stride) = sum##r##0;                                \
    ADX_WIDE_AT(c + r * stride + ADX_WIDE) = sum##r##1;                     \
    ADX_WIDE_AT(c + r * stride + 2 * ADX_WIDE) = sum##r##2;
#define ADX_TILE_ADD(r)                                                     \
    {                                                                       \
        const adx_wide x = a[r * row] - none;                               \
        const adx_wide p0 = x * y0;                                         \
        const adx_wide p1 = x * y1;                                         \
        const adx_wide p2 = x * y2;                                         \
        sum##r##0 = sum##r##0 + p0;                                         \
        sum##r##1 = sum##r##1 + p1;                                         \
        sum##r##2 = sum##r##2 + p2;                                         \
    }
#define ADX_TILE_FUSE(r)                                                    \
    {                                                                       \
        const adx_wide x = a[r * row] - none;                               \
        ADX_WIDE_FMA(x, y0, sum##r##0);                                     \
        ADX_WIDE_FMA(x, y1, sum##r##1);                                     \
        ADX_WIDE_FMA(x, y2, sum##r##2);                                     \
    }

// A tile of C, whose rows are `stride` apart, += a strip of A times one of B.
// Numbers of A are `row` and `column` apart, rows of B `next`.
#define ADX_DEFINE_TILE(name, DO)                                           \
    static void name(int64_t k, const ad_real *restrict a, int64_t row,     \
                     int64_t column, const ad_real *restrict b,             \
                     int64_t next, ad_real *restrict c, int64_t stride)     \
    {                                                                       \
        const adx_wide none = { 0 };                                        \
        ADX_TILE_ROWS(ADX_TILE_LOAD)                                        \
        for (; k > 0; k--, a += column, b += next) {                        \
            const adx_wide y0 = ADX_CONST_WIDE(b);                          \
            const adx_wide y1 = ADX_CONST_WIDE(b + ADX_WIDE);               \
            const adx_wide y2 = ADX_CONST_WIDE(b + 2 * ADX_WIDE);           \
            ADX_TILE_ROWS(DO)                                               \
        }                                                                   \
        ADX_TILE_ROWS(ADX_TILE_STORE)                                       \
    }
ADX_DEFINE_TILE(adx_add_tile, ADX_TILE_ADD)
ADX_DEFINE_TILE(adx_fuse_tile, ADX_TILE_FUSE)
#undef ADX_DEFINE_TILE

#else

// Adds to a tile where there are no vectors, one product after the other.
static void adx_add_tile(int64_t k, const ad_real *restrict a, int64_t row,
                         int64_t column, const ad_real *restrict b,
                         int64_t next, ad_real *restrict c, int64_t stride)
{
    for (; k > 0; k--, a += column, b += next)
        for (int i = 0; i < ADX_TILE_M; i++)
            for (int j = 0; j < ADX_TILE_N; j++)
                c[i * stride + j] = adx_tensor_more(c[i * stride + j],
                                                  a[i * row] * b[j]);
}

// Adds to a tile where there are no vectors, by fused multiplications.
static void adx_fuse_tile(int64_t k, const ad_real *restrict a, int64_t row,
                          int64_t column, const ad_real *restrict b,
                          int64_t next, ad_real *restrict c, int64_t stride)
{
    for (; k > 0; k--, a += column, b += next)
        for (int i = 0; i < ADX_TILE_M; i++)
            for (int j = 0; j < ADX_TILE_N; j++)
                c[i * stride + j] = adm_fma(a[i * row], b[j],
                                            c[i * stride + j]);
}

#endif

// Rows of A, or columns of B, for a tile: packed, or where they lie. The next
// one is `stride` further, numbers of the sum `along`.
typedef struct adx_matrix_strip {
    const ad_real *at;
    int64_t stride;
    int64_t along;
} adx_matrix_strip;

static void adx_run_tile(bool fused, int64_t k, adx_matrix_strip a,
                         adx_matrix_strip b, ad_real *c, int64_t stride)
{
    if (fused)
        adx_fuse_tile(k, a.at, a.stride, a.along, b.at, b.along, c, stride);
    else
        adx_add_tile(k, a.at, a.stride, a.along, b.at, b.along, c, stride);
}

// Adds to a tile at the edge of C, or one whose numbers do not lie side by
// side, by way of a tile that is full. What it has too much is not looked at.
static void adx_run_edge(const adx_matrix_product *p, int64_t m, int64_t n,
                         int64_t k, adx_matrix_strip a, adx_matrix_strip b,
                         ad_real *c)
{
    ad_real tile[ADX_TILE_M * ADX_TILE_N] = { 0 };
    m = m < ADX_TILE_M ? m : ADX_TILE_M;
    n = n < ADX_TILE_N ? n : ADX_TILE_N;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            tile[i * ADX_TILE_N + j] = c[i * p->crs + j * p->ccs];
    adx_run_tile(p->fused, k, a, b, tile, ADX_TILE_N);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            c[i * p->crs + j * p->ccs] = tile[i * ADX_TILE_N + j];
}

// Rows of A, or columns of B, of a part of a product.
typedef struct adx_matrix_side {
    int64_t count;
    int64_t tile;               // of them
    const ad_real *from;
    int64_t stride, along;      // as those of a strip
    ad_real scale;
    bool all;                   // are packed; else those of the last tile, if
                                // there are less than it has
    ad_real *packed;
} adx_matrix_side;

// Returns the strip of A or B from i on: packed, or in place where it is not.
static adx_matrix_strip adx_side_strip(const adx_matrix_side *s, int64_t k,
                                       int64_t i)
{
    const adx_matrix_strip packed = { s->packed + i * k, 1, s->tile };
    const adx_matrix_strip in_place = { s->from + i * s->stride, s->stride,
                                        s->along };
    return s->all || s->count - i < s->tile ? packed : in_place;
}

// Few numbers stay where they are.
static void adx_pack_side(adx_matrix_side *s, int64_t k)
{
    bool rows = s->tile == ADX_TILE_M;
    s->all = s->scale != 1 || s->count * k > ADX_UNPACKED_MOST
          || (!rows && s->stride != 1);
    int64_t i = s->all ? 0 : s->count / s->tile * s->tile;
    (rows ? adx_pack_rows : adx_pack_columns)(
        s->count - i, k, s->from + i * s->stride, s->stride, s->along, s->scale,
        s->packed + i * k);
}

// Computes m x n numbers of C from two panels: k products for each.
static void adx_run_panels(const adx_matrix_product *p,
                           const adx_matrix_side *a, const adx_matrix_side *b,
                           int64_t k, ad_real *c)
{
    for (int64_t j = 0; j < b->count; j += ADX_TILE_N)
        for (int64_t i = 0; i < a->count; i += ADX_TILE_M) {
            int64_t m = a->count - i;
            int64_t n = b->count - j;
            ad_real *to = c + i * p->crs + j * p->ccs;
            if (p->ccs == 1 && m >= ADX_TILE_M && n >= ADX_TILE_N)
                adx_run_tile(p->fused, k, adx_side_strip(a, k, i),
                             adx_side_strip(b, k, j), to, p->crs);
            else
                adx_run_edge(p, m, n, k, adx_side_strip(a, k, i),
                             adx_side_strip(b, k, j), to);
        }
}

/* --- products ------------------------------------------------------------- */

static int64_t adx_lesser_of(int64_t a, int64_t b) { return a < b ? a : b; }

// Returns n, rounded up to whole tiles.
static int64_t adx_whole_tiles(int64_t n, int64_t tile)
{
    return (n + tile - 1) / tile * tile;
}

// Says how many numbers a panel of A has, and one of B.
static void adx_panel_sizes(const adx_matrix_product *p, int64_t size[2])
{
    int64_t k = adx_lesser_of(p->k, ADX_PANEL_K);
    size[0] = k * adx_whole_tiles(adx_lesser_of(p->m, ADX_PANEL_M), ADX_TILE_M);
    size[1] = k * adx_whole_tiles(adx_lesser_of(p->n, ADX_PANEL_N), ADX_TILE_N);
}

// Turns a product so that C is written row by row: where its columns lie side
// by side, the transposed product is computed.
static void adx_turn_product(adx_matrix_product *p)
{
    const adx_matrix_product of = *p;
    if (p->ccs == 1 || p->crs != 1)
        return;
    p->m = of.n;
    p->n = of.m;
    p->a = of.b;
    p->ars = of.bcs;
    p->acs = of.brs;
    p->b = of.a;
    p->brs = of.acs;
    p->bcs = of.ars;
    p->crs = of.ccs;
    p->ccs = of.crs;
    p->right = !of.right;
}

// Computes a product; panel: room for a panel of A and one of B.
static void adx_run_matrix_product(const adx_matrix_product *p, ad_real *panel)
{
    int64_t size[2];
    adx_panel_sizes(p, size);
    adx_matrix_side a = { 0, ADX_TILE_M, p->a, p->ars, p->acs,
                          p->right ? 1 : p->scale, false, panel };
    adx_matrix_side b = { 0, ADX_TILE_N, p->b, p->bcs, p->brs,
                          p->right ? p->scale : 1, false, panel + size[0] };
    for (int64_t j = 0; j < p->n; j += ADX_PANEL_N)
        for (int64_t l = 0; l < p->k; l += ADX_PANEL_K) {
            int64_t k = adx_lesser_of(p->k - l, ADX_PANEL_K);
            b.count = adx_lesser_of(p->n - j, ADX_PANEL_N);
            b.from = p->b + l * p->brs + j * p->bcs;
            adx_pack_side(&b, k);
            for (int64_t i = 0; i < p->m; i += ADX_PANEL_M) {
                a.count = adx_lesser_of(p->m - i, ADX_PANEL_M);
                a.from = p->a + i * p->ars + l * p->acs;
                adx_pack_side(&a, k);
                adx_run_panels(p, &a, &b, k, p->c + i * p->crs + j * p->ccs);
            }
        }
}

/* --- terms that are products of matrices ---------------------------------- */

// A loop around the product; by how much places change: of what is written, and
// of the two factors.
typedef struct adx_matrix_loop {
    uint32_t var;
    int64_t n;
    int64_t stride[3];
} adx_matrix_loop;

typedef struct adx_matrices {
    adx_matrix_product product; // of the first numbers; without addresses
    uint32_t var[3];            // of m, k and n
    const int64_t *low;         // [vars]
    int64_t first[3];
    adx_matrix_loop *loop;      // the outermost first
    uint32_t loops;
} adx_matrices;

// Below this, the loops of a nest are as fast: then dot products may be summed
// in parts.
enum { ADX_MATRIX_LEAST = 8, ADX_PRODUCT_LEAST = 2048 };

ADX_SELDOM_BEGIN

// Places as forms of the variables: what is written, and the factors.
typedef struct adx_matrix_forms {
    const adx_set *set;
    int64_t *form[3];
} adx_matrix_forms;

// Finds the places of the three matrices of a product as forms in the variables
// of its set. False: no memory.
static bool adx_make_matrix_forms(ad_tensor *t, uint32_t value,
                                  const adx_tensor_term *term,
                                  adx_matrix_forms *f)
{
    f->set = term->set;
    for (int i = 0; i < 3; i++) {
        const adx_access to = i == 0 ? (adx_access){ value, term->out }
                                     : term->factor[i - 1];
        f->form[i] = ADX_GET(&t->arena, f->set->width, int64_t);
        if (f->form[i] == NULL)
            return false;
        adx_place_form(f->set, &t->program->value[to.value], to.row, true,
                       f->form[i]);
    }
    return true;
}

// Returns how many values a variable has in its bounds.
static int64_t adx_var_extent(const adx_set *s, uint32_t v)
{
    return s->high[v] - s->low[v] + 1;
}

// Returns the variable of the largest extent that is written and is in factor
// `in` only. UINT32_MAX: there is none.
static uint32_t adx_matrix_index(const adx_matrix_forms *f, int in)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t v = 0; v < f->set->vars; v++)
        if (!f->set->gone[v] && f->form[0][1 + v] != 0
            && f->form[in][1 + v] != 0 && f->form[3 - in][1 + v] == 0
            && (best == UINT32_MAX || adx_var_extent(f->set, v)
                                          >= adx_var_extent(f->set, best)))
            best = v;
    return best;
}

// Returns the innermost variable of a nest that is not written. UINT32_MAX:
// none.
static uint32_t adx_innermost_summed(const adx_matrix_forms *f,
                                     const adx_nest *nest)
{
    for (uint32_t l = nest->levels; l-- > 0;)
        if (f->form[0][1 + nest->level[l].var] == 0)
            return nest->level[l].var;
    return UINT32_MAX;
}

// Whether a term adds products of two numbers at all points of a box, and each
// index of what is written is that of one variable.
static bool adx_may_be_matrices(const adx_tensor_value *v,
                                const adx_tensor_term *term)
{
    uint64_t points = adx_box_points(term->set);
    bool may = v->kind == ADX_VALUE_SUM && term->most == 0 && term->factors == 2
            && !term->absorbs && points != UINT64_MAX
            && points >= ADX_PRODUCT_LEAST;
    for (uint32_t i = 0; may && i < v->dims; i++) {
        uint32_t count;
        uint32_t some;
        adx_divisor_of(term->set, adx_form_of(term->set, term->out + i), &count,
                       &some);
        may = count <= 1;
    }
    return may;
}

// The loops of a nest that are around the product, and where it begins.
static bool adx_add_matrix_loops(ad_tensor *t, const adx_matrix_forms *f,
                                 const adx_nest *nest, const uint32_t var[3],
                                 adx_matrices *to)
{
    to->loop = ADX_GET(&t->arena, nest->levels, adx_matrix_loop);
    for (int i = 0; i < 3; i++)
        to->first[i] = f->form[i][0];
    for (uint32_t l = 0; to->loop != NULL && l < nest->levels; l++) {
        uint32_t v = nest->level[l].var;
        bool inside = v == var[0] || v == var[1] || v == var[2];
        adx_matrix_loop *loop = &to->loop[to->loops];
        to->loops += !inside;
        for (int i = 0; i < 3; i++) {
            to->first[i] += f->form[i][1 + v] * f->set->low[v];
            if (!inside)
                loop->stride[i] = f->form[i][1 + v];
        }
        if (!inside) {
            loop->var = v;
            loop->n = adx_var_extent(f->set, v);
        }
    }
    return to->loop != NULL;
}

// Describes a term as a product of matrices inside loops: the extents of its
// three variables, and the strides of the three matrices. NULL: no memory.
static adx_matrices *adx_make_matrices(ad_tensor *t,
                                       const adx_matrix_forms *f,
                                       const adx_nest *nest,
                                       const uint32_t var[3], ad_real scale)
{
    adx_matrices *to = ADX_GET(&t->arena, 1, adx_matrices);
    int64_t *const *form = f->form;
    if (to == NULL || !adx_add_matrix_loops(t, f, nest, var, to))
        return NULL;
    memcpy(to->var, var, sizeof to->var);
    to->low = f->set->low;
    to->product = (adx_matrix_product){
        .m = adx_var_extent(f->set, var[0]),
        .k = adx_var_extent(f->set, var[1]),
        .n = adx_var_extent(f->set, var[2]),
        .ars = form[1][1 + var[0]], .acs = form[1][1 + var[1]],
        .brs = form[2][1 + var[1]], .bcs = form[2][1 + var[2]],
        .crs = form[0][1 + var[0]], .ccs = form[0][1 + var[2]],
        .scale = scale, .fused = t->options.fused
    };
    return to;
}

// Whether the numbers of C along v lie one beside the other.
static bool adx_is_side_by_side(const adx_matrix_forms *f, uint32_t v)
{
    return adx_is_unit(f->form[0][1 + v]);
}

// Returns a term that is a product of matrices, and a nest that adds in the
// same order. NULL: it is none, or no memory.
static adx_matrices *adx_find_matrices(ad_tensor *t, uint32_t value,
                                       const adx_tensor_term *term,
                                       const int64_t stride[],
                                       const adx_nest **nest)
{
    adx_matrix_forms f;
    if (!adx_may_be_matrices(&t->program->value[value], term)
        || !adx_make_matrix_forms(t, value, term, &f))
        return NULL;
    uint32_t var[3] = { adx_matrix_index(&f, 1), UINT32_MAX,
                        adx_matrix_index(&f, 2) };
    if (var[0] == UINT32_MAX || var[2] == UINT32_MAX
        || adx_var_extent(f.set, var[0]) < ADX_MATRIX_LEAST
        || adx_var_extent(f.set, var[2]) < ADX_MATRIX_LEAST)
        return NULL;
    bool columns = !adx_is_side_by_side(&f, var[2])
                && adx_is_side_by_side(&f, var[0]);
    const adx_nest *by = adx_make_nest(f.set, columns ? var[0] : var[2],
                                       stride);
    if (by == NULL)
        return NULL;
    var[1] = adx_innermost_summed(&f, by);
    if (var[1] == UINT32_MAX
        || adx_var_extent(f.set, var[1]) < ADX_MATRIX_LEAST)
        return NULL;
    *nest = by;
    return adx_make_matrices(t, &f, by, var, term->k);
}

ADX_SELDOM_END

/* --- evaluation ----------------------------------------------------------- */

// A part: n values of one variable, from its value number `from` on.
typedef struct adx_matrix_part {
    uint32_t var;               // UINT32_MAX: all
    int64_t from;
    int64_t n;
} adx_matrix_part;

typedef struct adx_matrix_walk {
    const adx_matrices *of;
    const ad_tensor *t;
    adx_matrix_part part;
    ad_real *room;
} adx_matrix_walk;

// How many values a variable has: as an index of the product, or in a loop.
static int64_t adx_values_of_var(const adx_matrices *m, uint32_t var)
{
    const int64_t size[3] = { m->product.m, m->product.k, m->product.n };
    for (int i = 0; i < 3; i++)
        if (m->var[i] == var)
            return size[i];
    for (uint32_t i = 0; i < m->loops; i++)
        if (m->loop[i].var == var)
            return m->loop[i].n;
    return 0;
}

// Returns the part in which lo <= f(x) < hi for a form of one variable.
static adx_matrix_part adx_matrix_part_of(const adx_matrices *m,
                                          const adx_sparse_form *f, int64_t lo,
                                          int64_t hi)
{
    if (f->n == 0)              // all, or nothing
        return (adx_matrix_part){ UINT32_MAX, 0, f->c >= lo && f->c < hi };
    const uint32_t var = f->var[0];
    const int64_t k = f->k[0];
    const int64_t low = m->low[var];
    // its least and largest value with lo <= c + k x <= hi - 1
    int64_t from = k > 0 ? adx_ceil_div(lo - f->c, k)
                         : adx_ceil_div(f->c - hi + 1, -k);
    int64_t last = k > 0 ? adx_floor_div(hi - 1 - f->c, k)
                         : adx_floor_div(f->c - lo, -k);
    const int64_t n = adx_values_of_var(m, var);
    from = from < low ? 0 : from - low;
    last = last - low < n ? last - low : n - 1;
    return (adx_matrix_part){ var, from, last - from + 1 };
}

// Returns the product itself, of a part, where these are the first numbers of
// all.
static adx_matrix_product adx_product_at(const adx_matrix_walk *w, ad_real *c,
                                         const ad_real *a, const ad_real *b)
{
    adx_matrix_product p = w->of->product;
    p.a = a;
    p.b = b;
    p.c = c;
    const adx_matrix_part *part = &w->part;
    if (w->of->var[0] == part->var) {
        p.m = part->n;
        p.a += part->from * p.ars;
        p.c += part->from * p.crs;
    } else if (w->of->var[1] == part->var) {
        p.k = part->n;
        p.a += part->from * p.acs;
        p.b += part->from * p.brs;
    } else if (w->of->var[2] == part->var) {
        p.n = part->n;
        p.b += part->from * p.bcs;
        p.c += part->from * p.ccs;
    }
    return p;
}

// A times the constant of the term, for the caller's function.
static void adx_scale_matrix(adx_matrix_product *p, ad_real *to)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t l = 0; l < p->k; l++)
            to[i * p->k + l] = p->scale * p->a[i * p->ars + l * p->acs];
    p->a = to;
    p->ars = p->k;
    p->acs = 1;
}

// Runs the loops around a product of matrices, from number `loop` on, and
// inside them the product itself.
static void adx_run_matrix_loop(const adx_matrix_walk *w, uint32_t loop,
                                ad_real *c, const ad_real *a,
                                const ad_real *b)
{
    if (loop < w->of->loops) {
        const adx_matrix_loop *l = &w->of->loop[loop];
        bool part = l->var == w->part.var;
        int64_t end = part ? w->part.from + w->part.n : l->n;
        for (int64_t i = part ? w->part.from : 0; i < end; i++)
            adx_run_matrix_loop(w, loop + 1, c + i * l->stride[0],
                                a + i * l->stride[1], b + i * l->stride[2]);
        return;
    }
    adx_matrix_product p = adx_product_at(w, c, a, b);
    if (w->t->options.gemm == NULL) {
        adx_turn_product(&p);
        adx_run_matrix_product(&p, w->room);
        return;
    }
    if (p.scale != 1)
        adx_scale_matrix(&p, w->room);
    w->t->options.gemm((size_t)p.m, (size_t)p.k, (size_t)p.n,
                       p.a, (ptrdiff_t)p.ars, (ptrdiff_t)p.acs,
                       p.b, (ptrdiff_t)p.brs, (ptrdiff_t)p.bcs,
                       p.c, (ptrdiff_t)p.crs, (ptrdiff_t)p.ccs);
}

// Returns how many numbers of memory a product takes.
static int64_t adx_matrix_room(const ad_tensor *t, adx_matrix_product p)
{
    int64_t size[2];
    if (t->options.gemm != NULL)
        return p.scale == 1 ? 0 : p.m * p.k;
    adx_turn_product(&p);
    adx_panel_sizes(&p, size);
    return size[0] + size[1];
}

// Adds the products of a part to what is written; part NULL: all. False: no
// memory, and nothing was done.
static bool adx_run_matrices(ad_tensor *t, const adx_matrices *of,
                             const adx_matrix_part *part, ad_real *c,
                             const ad_real *a, const ad_real *b)
{
    const adx_matrix_part all = { UINT32_MAX, 0, 1 };
    if (part != NULL && part->n <= 0)
        return true;
    adx_spare *spare = &t->panels[adx_spare_of_thread()];
    adx_workspace *room = adx_take_workspace(
        spare, &t->memory, (size_t)adx_matrix_room(t, of->product));
    if (room == NULL)
        return false;
    const adx_matrix_walk w = { of, t, part == NULL ? all : *part, room->w };
    adx_run_matrix_loop(&w, 0, c + of->first[0], a + of->first[1],
                        b + of->first[2]);
    adx_give_workspace(spare, &t->memory, room);
    return true;
}

/* === tensor/gathers =========================================================
 * Strips along which maps give the other variables: of the entries e of a
 * relation, i = t0[e] and j = t1[e]. Such a strip ends a nest, with no
 * conditions behind it; at most a range comes after the maps, the same at each
 * point. It goes to a kernel as one (tensor/run), which asks the maps for some
 * points at a time: what they give says where the numbers are that are read and
 * written. Maps that no number depends on are not asked.
 *
 * Points keep their order, and each is done as if it stood alone. So this
 * changes no bits.
 *
 *   needs   tensor/arena tensor/sets tensor/nests tensor/entries
 *   offers  ADX_GATHER_MOST adx_gather_form adx_gathers adx_make_gathers
 *           adx_gathering adx_has_even_places adx_first_place
 *           adx_gather_places adx_ask_maps adx_gather_numbers
 * ========================================================================== */

// Most points at a time, and most maps that are asked at each.
#ifndef ADX_GATHER_MOST
#define ADX_GATHER_MOST 128
#endif
#define ADX_LOOKED_UP_MOST 8

// A form along the strip: `rest` at its variable's value 0, and so much more
// for each step along it, and for what maps give.
typedef struct adx_gather_form {
    adx_sparse_form rest;
    int64_t stride;
    uint32_t n;
    uint32_t *of;               // which lookup
    int64_t *k;
} adx_gather_form;

// Of x = sign*(table[argument] - c) forms have sign and c in their own
// constants.
typedef struct adx_map_asked {
    uint32_t var;
    const adx_int_table *table;
    adx_gather_form argument;   // less the table's `from`
} adx_map_asked;

// A strip whose variables maps give: what they are asked, and where numbers
// are.
typedef struct adx_gathers {
    uint32_t level;             // of the strip
    uint32_t var;
    uint32_t lookups;
    adx_map_asked lookup[ADX_LOOKED_UP_MOST];
    const adx_nest_level *inner;        // the range after the maps; NULL: none
    adx_gather_form out;        // the number that is written
    adx_gather_form factor[3];  // those that are read
} adx_gathers;

ADX_SELDOM_BEGIN

/* --- what a strip asks ---------------------------------------------------- */

// Returns the level of a strip behind which there are only maps that always
// give a value, and perhaps a range. UINT32_MAX: there is none.
static uint32_t adx_level_of_strip(const adx_set *s, const adx_nest *nest)
{
    uint32_t l = nest->levels;
    uint32_t maps = 0;
    if (l > 0 && nest->level[l - 1].kind == ADX_LEVEL_RANGE
        && nest->level[l - 1].bounds == 0 && nest->level[l - 1].checks == 0)
        l--;
    for (; l > 0 && nest->level[l - 1].checks == 0
           && adx_always_has_value(s, &nest->level[l - 1]); l--)
        maps++;
    return l > 0 && maps > 0 && nest->level[l - 1].checks == 0
        && nest->level[l - 1].kind == ADX_LEVEL_RANGE ? l - 1 : UINT32_MAX;
}

// Returns the number of the lookup that gives a variable; UINT32_MAX: none
// does.
static uint32_t adx_lookup_of(const adx_gathers *g, uint32_t var)
{
    for (uint32_t i = 0; i < g->lookups; i++)
        if (g->lookup[i].var == var)
            return i;
    return UINT32_MAX;
}

// Adds the lookup of a variable behind the strip, and what its argument needs.
// False: no memory, or too many.
static bool adx_add_lookup(adx_arena *a, const adx_nest *nest, uint32_t var,
                           adx_gathers *g);

// A form of the nest's variables, without that of the inner range. False: no
// memory, or too many lookups.
static bool adx_make_gather_form(adx_arena *a, const adx_nest *nest,
                                 const adx_sparse_form *from, adx_gathers *g,
                                 adx_gather_form *to)
{
    to->rest.c = from->c;
    to->rest.var = ADX_GET(a, from->n, uint32_t);
    to->rest.k = ADX_GET(a, from->n, int64_t);
    to->of = ADX_GET(a, from->n, uint32_t);
    to->k = ADX_GET(a, from->n, int64_t);
    if (a->status != ADREV_OK)
        return false;
    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t var = from->var[i];
        uint32_t level = 0;
        while (nest->level[level].var != var)
            level++;
        if (level < g->level) {
            to->rest.var[to->rest.n] = var;
            to->rest.k[to->rest.n++] = from->k[i];
        } else if (level == g->level)
            to->stride = from->k[i];
        else if (nest->level[level].kind == ADX_LEVEL_VALUE) {
            int64_t k = from->k[i] * nest->level[level].k;
            if (!adx_add_lookup(a, nest, var, g))
                return false;
            to->rest.c -= k * nest->level[level].form.c;
            to->of[to->n] = adx_lookup_of(g, var);
            to->k[to->n++] = k;
        }
    }
    return true;
}

// Adds the map that gives a variable of the nest to the look-ups of a gather,
// unless it is there. False: the kernel cannot do that, or no memory.
static bool adx_add_lookup(adx_arena *a, const adx_nest *nest, uint32_t var,
                           adx_gathers *g)
{
    const adx_nest_level *l = nest->level;
    adx_map_asked to = { .var = var };
    if (adx_lookup_of(g, var) != UINT32_MAX)
        return true;
    while (l->var != var)
        l++;
    to.table = l->table;
    if (!adx_make_gather_form(a, nest, &l->argument, g, &to.argument)
        || g->lookups == ADX_LOOKED_UP_MOST)
        return false;
    to.argument.rest.c -= l->table->from;
    g->lookup[g->lookups++] = to;
    return true;
}

// Returns the strip that ends a nest of a set: places of what is written, and
// of n factors. NULL: there is none, or no memory.
static const adx_gathers *adx_make_gathers(
    const adx_set *s, const adx_nest *nest, const adx_sparse_form *out,
    const adx_sparse_form *const factor[], uint32_t n)
{
    adx_gathers *g = ADX_GET(s->arena, 1, adx_gathers);
    uint32_t level = adx_level_of_strip(s, nest);
    if (g == NULL || level == UINT32_MAX)
        return NULL;
    const adx_nest_level *last = &nest->level[nest->levels - 1];
    g->level = level;
    g->var = nest->level[level].var;
    g->inner = last->kind == ADX_LEVEL_RANGE ? last : NULL;
    bool ok = adx_make_gather_form(s->arena, nest, out, g, &g->out);
    for (uint32_t f = 0; f < n; f++)
        ok = ok && adx_make_gather_form(s->arena, nest, factor[f], g,
                                        &g->factor[f]);
    return ok ? g : NULL;
}

ADX_SELDOM_END

/* --- some points of a strip ----------------------------------------------- */

// Points at which the variable of the strip has the values from `first` on, or
// list[0], list[every], ...
typedef struct adx_gathering {
    const adx_gathers *g;
    const int64_t *x;           // of the levels before
    int64_t first;
    const int32_t *list;        // NULL: none
    uint32_t every;
    int64_t n;
    const int32_t *given[ADX_LOOKED_UP_MOST];   // by maps: theirs, or in `room`
    int32_t room[ADX_LOOKED_UP_MOST][ADX_GATHER_MOST];
} adx_gathering;

// Whether the places of a form are as far apart everywhere.
static bool adx_has_even_places(const adx_gathering *s,
                                const adx_gather_form *f)
{
    return f->n == 0 && (s->list == NULL || f->stride == 0);
}

// Returns the place of a form's number at the first point of the strip.
static int64_t adx_first_place(const adx_gathering *s, const adx_gather_form *f)
{
    return adx_sparse_at(&f->rest, s->x)
         + (s->list == NULL ? f->stride * s->first : 0);
}

// Computes at[i] += k*given[i]; a k of 1 takes no product.
ADX_INLINE void adx_add_given(int64_t n, int64_t k, const int32_t *given,
                              int64_t *at)
{
    for (int64_t i = 0; i < n; i++)
        at[i] += k * given[i];
}

// Finds what a form is at all points.
static void adx_gather_places(const adx_gathering *s, const adx_gather_form *f,
                              int64_t at[])
{
    int64_t first = adx_first_place(s, f);
    int64_t stride = f->stride;
    int64_t n = s->n;
    if (stride == 0)
        for (int64_t i = 0; i < n; i++)
            at[i] = first;
    else if (s->list == NULL)
        for (int64_t i = 0; i < n; i++)
            at[i] = first + stride * i;
    else
        for (int64_t i = 0; i < n; i++)
            at[i] = first + stride * s->list[i * s->every];
    for (uint32_t j = 0; j < f->n; j++)
        if (f->k[j] == 1)
            adx_add_given(n, 1, s->given[f->of[j]], at);
        else
            adx_add_given(n, f->k[j], s->given[f->of[j]], at);
}

// Asks the maps.
static void adx_ask_maps(adx_gathering *s)
{
    int64_t at[ADX_GATHER_MOST];
    for (uint32_t j = 0; j < s->g->lookups; j++) {
        const adx_gather_form *f = &s->g->lookup[j].argument;
        const int32_t *value = s->g->lookup[j].table->value;
        bool next = adx_has_even_places(s, f) && f->stride == 1;
        s->given[j] = next ? value + adx_first_place(s, f) : s->room[j];
        if (next)
            continue;
        adx_gather_places(s, f, at);
        for (int64_t i = 0; i < s->n; i++)
            s->room[j][i] = value[at[i]];
    }
}

// Returns the numbers at the places of a form, and how far apart they are:
// where they lie, if that is the same from each to the next; or else in `room`.
static const ad_real *adx_gather_numbers(const adx_gathering *s,
                                         const adx_gather_form *f,
                                         const ad_real *from, ad_real room[],
                                         int64_t *stride)
{
    int64_t at[ADX_GATHER_MOST];
    *stride = f->stride;
    if (adx_has_even_places(s, f))
        return from + adx_first_place(s, f);
    *stride = 1;
    adx_gather_places(s, f, at);
    for (int64_t i = 0; i < s->n; i++)
        room[i] = from[at[i]];
    return room;
}

/* === tensor/storage =========================================================
 * Numbers on entries. A value of which few numbers are written has memory for
 * these alone, if all loops that write and read it have one variable that says
 * which number it is: the entry of a relation, or of a list (tensor/entries).
 * Its only index is then the place of a number among those that are written;
 * a column says for each entry which one that is.
 *
 * Loops are chosen before, for the whole array. So this changes no bits.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/nests tensor/binding
 *           tensor/programs tensor/sharing tensor/matrices tensor/gathers
 *   offers  adx_stream_of adx_loop adx_store_on_entries
 * ========================================================================== */

// A place in memory along the loops; `stride` from one point of the innermost
// loop to the next.
typedef struct adx_stream_of {
    adx_sparse_form place;
    int64_t stride;
} adx_stream_of;

typedef struct adx_loop {
    const adx_nest *nest;
    const adx_nest *found_by;   // the loops by which the points were listed;
                                // `nest`, if they are not
    adx_stream_of out;
    adx_stream_of factor[3];
    adx_stream_of at;           // of a pick: in `most`
    adx_stream_of picked;
    uint64_t points;            // UINT64_MAX: to be counted
    const adx_matrices *matrices;       // NULL: it is no product of matrices
    const adx_gathers *gathers; // NULL: no strip with maps ends the nest
} adx_loop;

ADX_SELDOM_BEGIN

// Smaller arrays are stored as they are; of others, so many times the numbers
// that are written may not be more than all.
#ifndef ADX_STORED_LEAST
#define ADX_STORED_LEAST 4096
#endif
#define ADX_STORED_PART 4

// Columns of places. Equal ones are one.
typedef struct adx_place_column {
    adx_int_table table;
    struct adx_place_column *next;
} adx_place_column;

/* --- which number an entry is of ----------------------------------------- */

// Returns the row by which a map of one other variable gives variable v.
// UINT32_MAX: none.
static uint32_t adx_row_that_gives(const adx_set *s, uint32_t v)
{
    for (uint32_t r = 0; r < s->rows; r++) {
        uint32_t count;
        uint32_t u = 0;
        if (s->row[r].kind != ADX_ROW_VALUE)
            continue;
        adx_divisor_of(s, adx_form_of(s, r), &count, &u);
        if (count != 1 || u != v || !adx_is_unit(adx_form_of(s, r)[1 + v]))
            continue;
        const int64_t *argument = adx_form_of(s, s->row[r].at);
        const adx_int_table *t = s->row[r].table;
        adx_divisor_of(s, argument, &count, &u);
        if (count == 1 && u != v && adx_extreme(s, argument, false) >= t->from
            && adx_extreme(s, argument, true) < t->from + (int64_t)t->n)
            return r;
    }
    return UINT32_MAX;
}

// Returns the variable that says which number is accessed. UINT32_MAX: there is
// not one alone.
static uint32_t adx_entry_of_number(const adx_set *s, uint32_t row,
                                    uint32_t dims)
{
    uint32_t entry = UINT32_MAX;
    for (uint32_t v = 0; v < s->vars; v++) {
        bool used = false;
        uint32_t behind = v;
        uint32_t count;
        for (uint32_t d = 0; d < dims && !used; d++)
            used = adx_form_of(s, row + d)[1 + v] != 0;
        uint32_t r = used ? adx_row_that_gives(s, v) : UINT32_MAX;
        if (r != UINT32_MAX)
            adx_divisor_of(s, adx_form_of(s, s->row[r].at), &count, &behind);
        if (used && entry != UINT32_MAX && entry != behind)
            return UINT32_MAX;
        entry = used ? behind : entry;
    }
    return entry;
}

// Adds what variable v, times k, is at each value of the entry.
static void adx_add_variable(const adx_set *s, uint32_t v, int64_t k,
                             uint32_t entry, uint64_t n, int64_t place[])
{
    uint32_t r = v == entry ? UINT32_MAX : adx_row_that_gives(s, v);
    if (r == UINT32_MAX) {
        for (uint64_t i = 0; i < n; i++)
            place[i] += k * (s->low[entry] + (int64_t)i);
        return;
    }
    const int64_t *form = adx_form_of(s, r);
    const int64_t *argument = adx_form_of(s, s->row[r].at);
    const adx_int_table *t = s->row[r].table;
    int64_t at = argument[0] - t->from + argument[1 + entry] * s->low[entry];
    k *= form[1 + v];
    for (uint64_t i = 0; i < n; i++, at += argument[1 + entry])
        place[i] += k * (t->value[at] - form[0]);
}

// An access to a value, and the numbers that it has along its entry.
typedef struct adx_number_access {
    adx_tensor_term *term;
    uint32_t *row;              // of the access
    uint32_t entry;
    uint64_t n;
    int64_t *place;             // [n] in the whole array; then among those
                                // that are written
    adx_bitmap *visited;        // [n] entries that the loops come to
} adx_number_access;

// Finds the entries that the loops come to. False: no memory.
static bool adx_visit_entries(adx_arena *a, adx_number_access *x)
{
    const adx_set *s = x->term->set;
    int64_t one = 1;
    adx_covering m = { .place = { -s->low[x->entry], 1, &x->entry, &one } };
    int64_t *at = ADX_GET(a, s->vars, int64_t);
    m.bits = x->visited = adx_new_bitmap(a, x->n);
    if (at == NULL || m.bits == NULL)
        return false;
    adx_walk_nest(x->term->loop->nest, at, adx_cover_points, &m);
    return true;
}

// False: no variable says which number it is, there are too many, or there is
// no memory.
static bool adx_list_places(adx_arena *a, const adx_tensor_value *v,
                            adx_number_access *x)
{
    const adx_set *s = x->term->set;
    x->entry = adx_entry_of_number(s, *x->row, v->dims);
    if (x->entry == UINT32_MAX || s->empty)
        return false;
    x->n = (uint64_t)(s->high[x->entry] - s->low[x->entry]) + 1;
    if (x->n > v->size / ADX_STORED_PART)
        return false;
    adx_set of = *s;
    of.arena = a;
    int64_t *form = ADX_GET(a, s->width, int64_t);
    x->place = ADX_GET(a, (size_t)x->n, int64_t);
    if (form == NULL || x->place == NULL || !adx_visit_entries(a, x))
        return false;
    adx_place_form(&of, v, *x->row, false, form);
    for (uint64_t i = 0; i < x->n; i++)
        x->place[i] = form[0];
    for (uint32_t u = 0; u < s->vars; u++)
        if (form[1 + u] != 0)
            adx_add_variable(s, u, form[1 + u], x->entry, x->n, x->place);
    return true;
}

/* --- all accesses --------------------------------------------------------- */

typedef struct adx_storing {
    ad_tensor *t;
    const bool *needed;
    bool *whole;                // [values] stored as they are
    adx_place_column *column;
    adx_arena a;                // of one value
    uint32_t value;
    adx_number_access *access;
    uint32_t n, room;
    adx_bitmap *written;
    uint32_t *before;           // numbers that are written, before each word
} adx_storing;

// Notes that a term reads or writes the value, at this row of its set. False:
// no memory.
static bool adx_note_access(adx_storing *k, adx_tensor_term *term,
                            uint32_t *row)
{
    if (k->n == k->room) {
        uint32_t room = 2 * k->room + 8;
        adx_number_access *wide = ADX_GET(&k->a, room, adx_number_access);
        if (wide == NULL)
            return false;
        if (k->n > 0)
            memcpy(wide, k->access, k->n * sizeof *wide);
        k->access = wide;
        k->room = room;
    }
    adx_number_access *x = &k->access[k->n++];
    x->term = term;
    x->row = row;
    return adx_list_places(&k->a, adx_tensor_value_at(k->t, k->value), x);
}

// Finds all accesses to a value, those that write first. False: not all have an
// entry.
static bool adx_find_accesses(adx_storing *k)
{
    const adx_tensor_program *p = k->t->program;
    adx_tensor_value *v = adx_tensor_value_at(k->t, k->value);
    bool ok = true;
    k->n = 0;
    for (uint32_t j = 0; j < v->terms && ok; j++)
        ok = adx_note_access(k, &v->term[j], &v->term[j].out);
    for (uint32_t i = 0; i < p->steps && ok; i++) {
        v = adx_tensor_value_at(k->t, p->order[i]);
        for (uint32_t j = 0; k->needed[p->order[i]] && j < v->terms; j++)
            for (uint32_t f = 0; f < v->term[j].factors && ok; f++)
                if (v->term[j].factor[f].value == k->value)
                    ok = adx_note_access(k, &v->term[j],
                                         &v->term[j].factor[f].row);
    }
    return ok;
}

/* --- places among those that are written ---------------------------------- */

// Returns how many bits of a word are set.
static uint32_t adx_bits_in(uint64_t word)
{
    uint32_t n = 0;
    for (; word != 0; word &= word - 1)
        n++;
    return n;
}

// Finds what is written, and counts. False: it is too much, or no memory.
static bool adx_number_written(adx_storing *k)
{
    const adx_tensor_value *v = adx_tensor_value_at(k->t, k->value);
    uint32_t n = 0;
    k->written = adx_new_bitmap(&k->a, v->size);
    k->before = ADX_GET(&k->a, (size_t)(v->size / 64 + 1), uint32_t);
    if (k->written == NULL || k->before == NULL)
        return false;
    for (uint32_t j = 0; j < v->terms; j++)
        for (uint64_t i = 0; i < k->access[j].n; i++)
            if (adx_has_bit(k->access[j].visited, i))
                adx_set_bit(k->written, (uint64_t)k->access[j].place[i]);
    if (k->written->set > v->size / ADX_STORED_PART
        || k->written->set > INT32_MAX)
        return false;
    for (uint64_t w = 0; w <= v->size / 64; w++) {
        k->before[w] = n;
        n += adx_bits_in(k->written->word[w]);
    }
    return true;
}

// Whether the places are as far apart everywhere.
static bool adx_are_places_even(const adx_number_access *x)
{
    int64_t stride = x->n > 1 ? x->place[1] - x->place[0] : 0;
    for (uint64_t i = 1; i < x->n; i++)
        if (x->place[i] - x->place[i - 1] != stride)
            return false;
    return true;
}

// A table after the strip that ends a nest would make its sums others.
static bool adx_ends_in_strip(const adx_number_access *x)
{
    const adx_nest *nest = x->term->loop->nest;
    const adx_nest_level *last = &nest->level[nest->levels - 1];
    return last->var == x->entry && last->kind == ADX_LEVEL_RANGE
        && last->checks == 0;
}

// The places of an access among those that are written. False: others are
// read, too, or a table is of no use.
static bool adx_number_places(const adx_storing *k, adx_number_access *x)
{
    for (uint64_t i = 0; i < x->n; i++) {
        uint64_t at = (uint64_t)x->place[i];
        if (!adx_has_bit(x->visited, i)) {
            x->place[i] = 0;
            continue;
        }
        if (at >= k->written->n || !adx_has_bit(k->written, at))
            return false;
        uint64_t word = k->written->word[at / 64];
        x->place[i] = k->before[at / 64]
                    + adx_bits_in(word & (((uint64_t)1 << at % 64) - 1));
    }
    return adx_are_places_even(x) || !adx_ends_in_strip(x);
}

/* --- other indices -------------------------------------------------------- */

// Returns the column of the places of an access. NULL: no memory.
static adx_int_table *adx_column_of_places(adx_storing *k,
                                           const adx_number_access *x,
                                           uint64_t size)
{
    adx_place_column *c = k->column;
    int64_t from = x->term->set->low[x->entry];
    for (; c != NULL; c = c->next) {
        bool same = c->table.n == x->n && c->table.from == from
                 && c->table.high == (int64_t)size - 1;
        for (uint64_t i = 0; i < x->n && same; i++)
            same = c->table.value[i] == x->place[i];
        if (same)
            return &c->table;
    }
    c = ADX_GET(&k->t->arena, 1, adx_place_column);
    int32_t *value = ADX_GET(&k->t->arena, (size_t)x->n, int32_t);
    if (c == NULL || value == NULL)
        return NULL;
    for (uint64_t i = 0; i < x->n; i++)
        value[i] = (int32_t)x->place[i];
    c->table.value = value;
    c->table.from = from;
    c->table.n = (size_t)x->n;
    c->table.high = (int64_t)size - 1;
    c->next = k->column;
    k->column = c;
    return &c->table;
}

// Adds a level behind that of the entry. False: no memory.
static bool adx_add_level(adx_tensor_term *term, uint32_t entry,
                          const adx_nest_level *l)
{
    const adx_nest *of = term->loop->nest;
    adx_nest *to = ADX_GET(term->set->arena, 1, adx_nest);
    adx_nest_level *level = ADX_GET(term->set->arena, of->levels + 1,
                                    adx_nest_level);
    uint32_t at = 0;
    if (to == NULL || level == NULL)
        return false;
    while (of->level[at].var != entry)
        at++;
    memcpy(level, of->level, (at + 1) * sizeof *level);
    level[at + 1] = *l;
    memcpy(level + at + 2, of->level + at + 1,
           (of->levels - at - 1) * sizeof *level);
    *to = *of;
    to->level = level;
    to->levels++;
    to->vars = term->set->vars;
    if (term->loop->found_by == of)
        term->loop->found_by = to;
    term->loop->nest = to;
    return true;
}

// Returns a variable that is the column's value for the entry. UINT32_MAX: no
// memory.
static uint32_t adx_column_variable(const adx_number_access *x,
                                    adx_int_table *column)
{
    adx_set *s = x->term->set;
    for (uint32_t r = 0; r < s->rows; r++) {
        uint32_t v = 0;
        if (s->row[r].kind == ADX_ROW_VALUE && s->row[r].table == column
            && adx_is_definition(s, r, &v))
            return v;
    }
    uint32_t v = adx_new_var(s, column->low, column->high);
    uint32_t at = adx_new_row(s, ADX_ROW_FORM);
    uint32_t r = adx_new_row(s, ADX_ROW_VALUE);
    adx_nest_level l = { .kind = ADX_LEVEL_VALUE, .var = v, .low = column->low,
                         .high = column->high, .k = 1, .table = column };
    if (v == UINT32_MAX || at == UINT32_MAX || r == UINT32_MAX)
        return UINT32_MAX;
    adx_form_of(s, at)[1 + x->entry] = 1;
    adx_form_of(s, r)[1 + v] = 1;
    s->row[r].at = at;
    s->row[r].table = column;
    return adx_make_sparse_form(s, adx_form_of(s, at), UINT32_MAX, &l.argument)
           && adx_add_level(x->term, x->entry, &l) ? v : UINT32_MAX;
}

// Gives an access its only index. False: no memory.
static bool adx_set_index(adx_storing *k, const adx_number_access *x,
                          uint64_t size)
{
    adx_set *s = x->term->set;
    bool even = adx_are_places_even(x);
    adx_int_table *column = even ? NULL : adx_column_of_places(k, x, size);
    uint32_t v = even ? x->entry
               : column == NULL ? UINT32_MAX : adx_column_variable(x, column);
    uint32_t row = v == UINT32_MAX ? v : adx_new_row(s, ADX_ROW_FORM);
    if (row == UINT32_MAX)
        return false;
    int64_t stride = !even ? 1 : x->n > 1 ? x->place[1] - x->place[0] : 0;
    adx_form_of(s, row)[1 + v] = stride;
    adx_form_of(s, row)[0] = even ? x->place[0] - stride * s->low[v] : 0;
    *x->row = row;
    return true;
}

// Gives a value memory for the numbers alone that are written, and replaces the
// places of all accesses by indices of these.
static void adx_store_value(adx_storing *k)
{
    if (!adx_find_accesses(k) || !adx_number_written(k))
        return;
    for (uint32_t i = 0; i < k->n; i++)
        if (!adx_number_places(k, &k->access[i]))
            return;
    adx_tensor_value *v = adx_tensor_value_at(k->t, k->value);
    uint64_t size = k->written->set;
    for (uint32_t i = 0; i < k->n; i++)
        if (!adx_set_index(k, &k->access[i], size)) {
            adx_arena_fail(&k->t->arena, ADREV_ENOMEM);
            return;
        }
    v->dims = 1;
    v->low[0] = 0;
    v->extent[0] = (int64_t)size;
    v->first = 0;
    v->support = NULL;          // is of the whole array
    adx_lay_out(k->t, v, NULL);
}

// Finds values that stay as they are: results of the caller's, and what picks
// compare.
static void adx_find_whole(const ad_tensor *t, bool whole[])
{
    const adx_tensor_program *p = t->program;
    for (uint32_t i = 0; i < t->tree.outs; i++)
        whole[p->out[i]] = whole[p->tangent_out[i]] = true;
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        whole[p->adjoint_in[i]] = whole[p->second_in[i]] = true;
    for (uint32_t i = 1; i < p->values; i++)
        for (uint32_t j = 0; j < p->value[i].terms; j++)
            if (p->value[i].term[j].most != 0) {
                whole[p->value[i].term[j].most] = true;
                whole[p->value[i].term[j].picked.value] = true;
            }
}

// Looks for values that need memory for their entries only. All terms that are
// needed have their loops.
static void adx_store_on_entries(ad_tensor *t, const bool needed[])
{
    const adx_tensor_program *p = t->program;
    adx_storing k = { .t = t, .needed = needed };
    k.whole = ADX_GET(&t->arena, p->values, bool);
    if (k.whole == NULL)
        return;
    adx_find_whole(t, k.whole);
    for (uint32_t i = 0; i < p->steps && t->arena.status == ADREV_OK; i++) {
        const adx_tensor_value *v = adx_tensor_value_at(t, p->order[i]);
        k.value = p->order[i];
        k.a = (adx_arena){ .memory = &t->memory };
        k.access = NULL;
        k.room = 0;
        if (needed[k.value] && !k.whole[k.value] && v->kind != ADX_VALUE_MOST
            && v->terms > 0 && v->dims > 0 && v->size >= ADX_STORED_LEAST)
            adx_store_value(&k);
        if (k.a.status != ADREV_OK)
            adx_arena_fail(&t->arena, k.a.status);
        adx_free_arena(&k.a);
    }
}

ADX_SELDOM_END

/* === tensor/prepare =======================================================
 * What a program needs before it is evaluated for the first time, and keeps:
 * the loops of its terms, with the innermost one along numbers that are evenly
 * spaced; and how its values are cut into parts.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/nests tensor/binding
 *           tensor/programs tensor/entries tensor/sharing tensor/derive
 *           tensor/parts tensor/matrices tensor/gathers tensor/storage
 *   offers  adx_find_results adx_prepare_program adx_clear_results
 * ========================================================================== */

// Finds the places of the numbers that a term reads or writes, and how far they
// are apart along the innermost loop. False: no memory.
static bool adx_make_stream(ad_tensor *t, const adx_set *s, adx_access from,
                            uint32_t inner, adx_stream_of *to)
{
    int64_t *form = ADX_GET(&t->arena, s->width, int64_t);
    if (form == NULL)
        return false;
    adx_place_form(s, adx_tensor_value_at(t, from.value), from.row, true, form);
    to->stride = inner == UINT32_MAX ? 0 : form[1 + inner];
    return adx_make_sparse_form(s, form, UINT32_MAX, &to->place);
}

// Returns how well a variable serves as the innermost one: numbers that are
// next to one another, or the same. *far: how far apart they are, together.
static int adx_score_inner(ad_tensor *t, const adx_tensor_term *term,
                           uint32_t value, uint32_t var, int64_t form[],
                           int64_t *far)
{
    int score = 0;
    *far = 0;
    for (uint32_t i = 0; i <= term->factors; i++) {
        const adx_access to = i == 0 ? (adx_access){ value, term->out }
                                     : term->factor[i - 1];
        adx_place_form(term->set, adx_tensor_value_at(t, to.value), to.row,
                       true, form);
        int64_t stride = form[1 + var];
        score += stride == 0 ? (i == 0 ? 2 : 3) : adx_is_unit(stride) ? 3 : 0;
        *far = adx_whole_add(&t->arena, *far, stride < 0 ? -1 : 1, stride);
    }
    return score;
}

// Whether a map is asked for what depends on a variable: other variables get
// their values after this one.
static bool adx_is_argument(const adx_set *s, uint32_t v)
{
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind == ADX_ROW_VALUE
            && adx_form_of(s, s->row[r].at)[1 + v] != 0)
            return true;
    return false;
}

// Returns the variable that should be the innermost one, and the strides along
// all.
static uint32_t adx_choose_inner(ad_tensor *t, const adx_tensor_term *term,
                                 uint32_t value, int64_t stride[])
{
    const adx_set *s = term->set;
    int64_t *form = ADX_GET(&t->arena, s->width, int64_t);
    uint32_t best = UINT32_MAX;
    int most = -1;
    for (uint32_t v = s->open; form != NULL && v < s->vars; v++) {
        int score = adx_score_inner(t, term, value, v, form, &stride[v]);
        if (s->gone[v] || s->high[v] - s->low[v] < 3 || adx_is_argument(s, v))
            continue;
        if (score >= most) {
            most = score;
            best = v;
        }
    }
    return best;
}

// Returns the loops of a term. NULL: no memory.
static adx_loop *adx_make_loop(ad_tensor *t, uint32_t value,
                               adx_tensor_term *term)
{
    adx_loop *l = ADX_GET(&t->arena, 1, adx_loop);
    const adx_set *s = term->set;
    if (l == NULL)
        return NULL;
    bool picks = term->most != 0
              || adx_tensor_value_at(t, value)->kind == ADX_VALUE_MOST;
    int64_t *stride = ADX_GET(&t->arena, s->width, int64_t);
    if (stride == NULL)
        return NULL;
    uint32_t best = adx_choose_inner(t, term, value, stride);
    if (t->open == NULL)
        l->matrices = adx_find_matrices(t, value, term, stride, &l->nest);
    if (l->matrices == NULL)
        l->nest = picks ? adx_make_nest(s, ADX_IN_ORDER, NULL)
                        : adx_make_nest(s, best, stride);
    l->found_by = l->nest;
    return l->nest != NULL
           && (l->matrices != NULL || t->open != NULL
               || adx_use_entries(t, &term->set, &l->nest)) ? l : NULL;
}

// Finds where the loops of a term read and write. False: no memory.
static bool adx_make_streams(ad_tensor *t, uint32_t value,
                             const adx_tensor_term *term)
{
    adx_loop *l = term->loop;
    const adx_set *s = term->set;
    bool picks = term->most != 0
              || adx_tensor_value_at(t, value)->kind == ADX_VALUE_MOST;
    uint32_t inner = l->nest->levels == l->nest->open ? UINT32_MAX
                   : l->nest->level[l->nest->levels - 1].var;
    const adx_access out = { value, term->out };
    bool ok = adx_make_stream(t, s, out, inner, &l->out);
    for (uint32_t i = 0; i < term->factors; i++)
        ok = ok && adx_make_stream(t, s, term->factor[i], inner, &l->factor[i]);
    if (term->most != 0) {
        const adx_access at = { term->most, term->at };
        ok = ok && adx_make_stream(t, s, at, inner, &l->at)
          && adx_make_stream(t, s, term->picked, inner, &l->picked);
    }
    const adx_sparse_form *const read[] = {
        &l->factor[0].place, &l->factor[1].place, &l->factor[2].place
    };
    if (ok && l->matrices == NULL && !picks && t->open == NULL)
        l->gathers = adx_make_gathers(s, l->nest, &l->out.place, read,
                                      term->factors);
    l->points = adx_box_points(s);
    if (s->vars > t->program->vars)
        t->program->vars = s->vars;
    return ok;
}

// Finds the results of a part: all that a query of it can give.
static ADX_UNUSED void adx_find_results(const ad_tensor *t, ad_tensor_part part,
                                        bool result[])
{
    const adx_tensor_program *p = t->program;
    for (uint32_t i = 0; i < t->tree.outs && part != ADREV_TENSOR_HVP; i++)
        result[p->out[i]] = true;
    for (uint32_t i = 0; i < t->tree.outs && part == ADREV_TENSOR_JVP; i++)
        result[p->tangent_out[i]] = true;
    for (uint32_t i = 0; i < t->tree.inputs && part >= ADREV_TENSOR_VJP; i++)
        result[part == ADREV_TENSOR_VJP ? p->adjoint_in[i]
                                        : p->second_in[i]] = true;
    result[0] = false;          // results that nothing adds to
}

// Decides how a value is cut into parts, and what memory that takes.
static void adx_prepare_cut(ad_tensor *t, adx_tensor_value *v)
{
    adx_tensor_program *p = t->program;
    const adx_nest **nest = ADX_GET(&t->arena, v->terms, const adx_nest *);
    bool ok = nest != NULL;
    for (uint32_t j = 0; ok && j < v->terms; j++) {
        ok = v->term[j].loop != NULL;
        nest[j] = ok ? v->term[j].loop->nest : NULL;
    }
    if (!ok || !adx_cut_value(t, v, nest, &v->cut) || v->cut == NULL)
        return;
    if (v->cut->parts > p->parts)
        p->parts = v->cut->parts;
    for (uint32_t j = 0; j < v->terms; j++)
        for (uint32_t l = 0; l < nest[j]->levels; l++)
            if (nest[j]->level[l].bounds > p->bounds)
                p->bounds = nest[j]->level[l].bounds;
    if (v->cut->kind == ADX_CUT_SUMS && v->span > p->sums)
        p->sums = v->span;
    if (v->cut->kind == ADX_CUT_SUMS && v->span * v->cut->parts > p->all_sums)
        p->all_sums = v->span * v->cut->parts;
}

// Copies values and terms for tensor/explain: as they are before loops are over
// lists and numbers on entries. False: no memory.
static bool adx_keep_spelt(ad_tensor *t)
{
    adx_tensor_program *p = t->program;
    p->spelt = ADX_GET(&t->arena, p->values, adx_tensor_value);
    if (p->spelt == NULL)
        return false;
    memcpy(p->spelt, p->value, p->values * sizeof *p->spelt);
    for (uint32_t i = 1; i < p->values; i++) {
        adx_tensor_value *v = &p->spelt[i];
        const adx_tensor_term *of = v->term;
        v->term = ADX_GET(&t->arena, v->terms, adx_tensor_term);
        v->low = ADX_GET(&t->arena, v->dims, int64_t);
        v->extent = ADX_GET(&t->arena, v->dims, int64_t);
        if (v->term == NULL || v->low == NULL || v->extent == NULL)
            return false;
        if (v->terms > 0)
            memcpy(v->term, of, v->terms * sizeof *of);
        for (uint32_t d = 0; d < v->dims; d++) {
            v->low[d] = p->value[i].low[d];
            v->extent[d] = p->value[i].extent[d];
        }
    }
    return true;
}

// Chooses the loops of a value's terms.
static void adx_choose_loops(ad_tensor *t, uint32_t value)
{
    adx_tensor_value *v = adx_tensor_value_at(t, value);
    adx_all_written(t, value);
    v->once = v->terms == 1 && v->term[0].most == 0
           && v->kind == ADX_VALUE_SUM && adx_writes_once(v, &v->term[0]);
    bool all = v->kind != ADX_VALUE_SUM;        // reads what is 0, too
    for (uint32_t j = 0; j < v->terms; j++) {
        adx_tensor_term *term = &v->term[j];
        for (uint32_t f = 0; all && f < term->factors; f++)
            if (!adx_all_written(t, term->factor[f].value))
                adx_tensor_value_at(t, term->factor[f].value)->cleared = true;
        term->loop = adx_make_loop(t, value, term);
        if (term->loop == NULL)
            adx_arena_fail(&t->arena, ADREV_ENOMEM);
        t->program->spelt[value].term[j].loop = term->loop;
    }
}

// Prepares all values that results need.
static void adx_prepare_program(ad_tensor *t)
{
    adx_tensor_program *p = t->program;
    bool *needed = ADX_GET(&t->arena, p->values, bool);
    if (needed == NULL || !adx_keep_spelt(t))
        return;
    for (uint32_t i = 0; i < t->tree.outs; i++)
        needed[p->out[i]] = needed[p->tangent_out[i]] = true;
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        needed[p->adjoint_in[i]] = needed[p->second_in[i]] = true;
    adx_need_all(p, needed);
    for (uint32_t i = 0; i < p->steps && t->arena.status == ADREV_OK; i++)
        if (needed[p->order[i]])
            adx_choose_loops(t, p->order[i]);
    if (t->arena.status == ADREV_OK && t->open == NULL)
        adx_store_on_entries(t, needed);
    for (uint32_t i = 0; i < p->steps && t->arena.status == ADREV_OK; i++) {
        adx_tensor_value *v = adx_tensor_value_at(t, p->order[i]);
        if (!needed[p->order[i]])
            continue;
        for (uint32_t j = 0; j < v->terms; j++)
            if (!adx_make_streams(t, p->order[i], &v->term[j]))
                adx_arena_fail(&t->arena, ADREV_ENOMEM);
        if (v->kind == ADX_VALUE_MOST && v->span > p->picks)
            p->picks = v->span;
        if (t->open == NULL)
            adx_prepare_cut(t, v);
    }
}

// Numbers that the caller is given must all be there.
static void adx_clear_results(ad_tensor *t, const uint32_t value[], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (value[i] != 0 && !adx_all_written(t, value[i]))
            adx_tensor_value_at(t, value[i])->cleared = true;
}

/* === tensor/run =============================================================
 * Evaluates programs: the values that are needed, one after the other, by loops
 * over the sets of their terms. The innermost loop is a kernel over numbers
 * that are evenly spaced. Sums are made in an order that depends on the sizes
 * alone: a part adds in the order of its loops, and sums of parts are added in
 * that of the parts.
 *
 *   needs   tape/memory core/cells tensor/api tensor/nests tensor/binding
 *           tensor/programs tensor/sharing tensor/parts tensor/matrices
 *           tensor/gathers tensor/storage
 *   offers  adx_evaluating adx_clear_all adx_one adx_clears_all adx_run_value
 *           adx_run_coded
 * ========================================================================== */

/* --- an evaluation ------------------------------------------------------- */

// An evaluation: what holds for all of it; then the value, term and loop that
// it has come to; then the part of that value, if threads share it. A part has
// a copy of its own, which differs in the last group and in where x points.
typedef struct adx_evaluating {
    ad_tensor *t;
    ad_real **base;             // [value] number at its least indices; NULL:
                                // it is not there, or all 0
    bool *needed;               // [value]
    int64_t *x;                 // [variables of a set] the point of the loops
    adx_workspace *lists;       // memory of all of these but the numbers of
    adx_workspace *numbers;     // values, and of those
    bool *picked;               // of one value that is a most
    const adx_tensor_code *code;    // machine code; NULL: loops run here

    const adx_tensor_value *value;
    const adx_tensor_term *term;
    const adx_loop *loop;       // of the term
    ad_real *out;               // numbers of the value,
    const ad_real *factor[3];   // and of those that the term multiplies

    bool shares;                // parts, with other threads
    const adx_value_cut *cut;   // how parts are made; NULL: this is the whole
    uint32_t index;             // of the part
    int64_t lo, hi;             // its results, or its points: lo <= i < hi
    adx_part_memory part;       // what its loops write to
    ad_real *sums;              // of parts that add to the same numbers
} adx_evaluating;

// Whether a term is a product with something that is all 0.
static bool adx_is_nothing(const adx_evaluating *e, const adx_tensor_term *term)
{
    for (uint32_t f = 0; f < term->factors; f++)
        if (e->base[term->factor[f].value] == NULL)
            return true;
    return false;
}

// Numbers whose index is lo <= i < hi in one dimension.
typedef struct adx_result_range {
    const adx_tensor_value *value;
    uint32_t dim;
    int64_t lo, hi;
    ad_real with;               // what they become
} adx_result_range;

// Returns the number with which a value begins, to which terms are added, or
// with which they are compared.
static ad_real adx_begin_with(const adx_tensor_value *v)
{
    return v->kind != ADX_VALUE_MOST ? 0
         : v->op == ADREV_OP_min ? ADX_K(INFINITY) : -ADX_K(INFINITY);
}

// Gives the numbers of a range their first value, from dimension `dim` on.
static void adx_clear_results_from(const adx_result_range *r, uint32_t dim,
                                   ad_real *to)
{
    const adx_tensor_value *v = r->value;
    if (dim == v->dims) {
        *to = r->with;
        return;
    }
    int64_t lo = dim == r->dim ? r->lo - v->low[dim] : 0;
    int64_t hi = dim == r->dim ? r->hi - v->low[dim] : v->extent[dim];
    if (dim + 1 == v->dims && v->stride[dim] == 1 && r->with == 0) {
        memset(to + lo, 0, (size_t)(hi - lo) * sizeof *to);
        return;
    }
    for (int64_t i = lo; i < hi; i++)
        adx_clear_results_from(r, dim + 1, to + i * v->stride[dim]);
}

// Makes all numbers of a value 0.
static void adx_clear_all(const adx_tensor_value *v, ad_real *to)
{
    const adx_result_range all = { v, UINT32_MAX, 0, 0, 0 };
    adx_clear_results_from(&all, 0, to);
}

// Makes the numbers 0 that a strip adds to.
static bool adx_clear_points(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    ad_real *to = e->out + adx_sparse_at(&e->loop->out.place, x);
    int64_t stride = var == UINT32_MAX ? 0 : e->loop->out.stride;
    for (int64_t i = 0; i < (stride == 0 ? 1 : count); i++)
        to[i * stride] = 0;
    return true;
}

/* --- kernels ----------------------------------------------------------------
 * Products of two numbers along the innermost loop; 1 where there are fewer.
 * Distances of 0 and 1 are constants of the loops, so that they become vectors.
 * (A product of matrices by these loops, n = 256, gcc: 0.28.)                */

// Returns a*b + sum, in one rounding or in two.
ADX_INLINE ad_real adx_sum_with(bool fused, ad_real a, ad_real b, ad_real sum)
{
    return fused ? adm_fma(a, b, sum) : adx_tensor_more(sum, a * b);
}

// Returns a factor where the other one is `by`: a product of the chain rule is
// 0 where one of them is. Both choose between numbers that are there, so that
// loops become vectors.
ADX_INLINE ad_real adx_beside(bool absorbs, ad_real factor, ad_real by)
{
    return absorbs && by == 0 ? 0 : factor;
}

// Returns k*a*b + sum.
ADX_INLINE ad_real adx_product_with(bool fused, bool absorbs, ad_real k,
                                    ad_real a, ad_real b, ad_real sum)
{
    return adx_sum_with(fused, k * adx_beside(absorbs, a, b),
                        adx_beside(absorbs, b, a), sum);
}

// Returns a sum of products that is made in eight parts, as those of adrev's
// array statements are.
ADX_INLINE ad_real adx_add_products_by(bool fused, bool absorbs, int64_t n,
                                       const ad_real *restrict a, int64_t as,
                                       const ad_real *restrict b, int64_t bs)
{
    ad_real sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int64_t j = 0; j < 8; j++)
            sum[j] = adx_product_with(fused, absorbs, 1, a[(i + j) * as],
                                      b[(i + j) * bs], sum[j]);
    for (; i < n; i++)
        sum[0] = adx_product_with(fused, absorbs, 1, a[i * as], b[i * bs],
                                  sum[0]);
    return ((sum[0] + sum[4]) + (sum[1] + sum[5]))
         + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// Returns a sum of n products. Steps of 0 and 1 have loops of their own.
ADX_INLINE ad_real adx_add_products(bool fused, int64_t n, const ad_real *a,
                                    int64_t as, const ad_real *b, int64_t bs)
{
    return as == 1 && bs == 1 ? adx_add_products_by(fused, false, n, a, 1, b, 1)
         : as == 1 && bs == 0 ? adx_add_products_by(fused, false, n, a, 1, b, 0)
         : as == 1 ? adx_add_products_by(fused, false, n, a, 1, b, bs)
         : bs == 1 ? adx_add_products_by(fused, false, n, a, as, b, 1)
         : adx_add_products_by(fused, false, n, a, as, b, bs);
}

// Returns the same where a factor that is 0 absorbs the other.
ADX_INLINE ad_real adx_add_chains(bool fused, int64_t n, const ad_real *a,
                                  int64_t as, const ad_real *b, int64_t bs)
{
    return as == 1 && bs == 1 ? adx_add_products_by(fused, true, n, a, 1, b, 1)
         : adx_add_products_by(fused, true, n, a, as, b, bs);
}

// What a kernel runs along: to[i*stride] = k * a[i*as] * b[i*bs], or += that,
// for 0 <= i < n. Distances are in numbers; 0: it is one number, as `to` of a
// dot.
typedef struct adx_tensor_strip {
    int64_t n;
    ad_real k;
    bool absorbs;               // a and b are factors of the chain rule: a zero
                                // absorbs the other
    ad_real *to;
    int64_t stride;
    const ad_real *a;
    int64_t as;
    const ad_real *b;
    int64_t bs;
} adx_tensor_strip;

// Does a strip that adds to one number.
static void adx_run_dot(const adx_tensor_strip *s, bool fused)
{
    ad_real sum =
        s->absorbs
        ? fused ? adx_add_chains(true, s->n, s->a, s->as, s->b, s->bs)
                : adx_add_chains(false, s->n, s->a, s->as, s->b, s->bs)
        : fused ? adx_add_products(true, s->n, s->a, s->as, s->b, s->bs)
                : adx_add_products(false, s->n, s->a, s->as, s->b, s->bs);
    *s->to = adx_sum_with(fused, s->k, sum, *s->to);
}

typedef enum adx_strip_way { ADX_STRIP_STORE, ADX_STRIP_ADD, ADX_STRIP_FUSE }
    adx_strip_way;

// Does to = k*a*b along a strip, or += that.
ADX_INLINE void adx_strip_by(const adx_tensor_strip *s, adx_strip_way way,
                             bool absorbs, int64_t stride, int64_t as,
                             int64_t bs)
{
    ad_real *restrict to = s->to;
    const ad_real *restrict a = s->a;
    const ad_real *restrict b = s->b;
    const ad_real k = s->k;
    const int64_t n = s->n;
    if (way == ADX_STRIP_STORE)
        for (int64_t i = 0; i < n; i++)
            to[i * stride] = k * adx_beside(absorbs, a[i * as], b[i * bs])
                           * adx_beside(absorbs, b[i * bs], a[i * as]);
    else
        for (int64_t i = 0; i < n; i++)
            to[i * stride] = adx_product_with(way == ADX_STRIP_FUSE, absorbs, k,
                                              a[i * as], b[i * bs],
                                              to[i * stride]);
}

// Does a strip of the chain rule, which mostly has two arrays, or an array and
// a number.
ADX_INLINE void adx_run_chain_as(const adx_tensor_strip *s, adx_strip_way way)
{
    bool next = s->stride == 1 && s->as == 1 && s->n > 1;
    if (next && s->bs == 1)
        adx_strip_by(s, way, true, 1, 1, 1);
    else if (next && s->bs == 0)
        adx_strip_by(s, way, true, 1, 1, 0);
    else
        adx_strip_by(s, way, true, s->stride, s->as, s->bs);
}

// Does a strip, by the loop for its strides. Those of 0 and 1 are constants
// there, so that compilers make vectors.
ADX_INLINE void adx_run_strip_as(const adx_tensor_strip *s, adx_strip_way way)
{
    bool next = s->stride == 1 && s->n > 1;
    if (s->absorbs)
        adx_run_chain_as(s, way);
    else if (next && s->as == 1 && s->bs == 1)
        adx_strip_by(s, way, false, 1, 1, 1);
    else if (next && s->as == 1 && s->bs == 0)
        adx_strip_by(s, way, false, 1, 1, 0);
    else if (next && s->as == 0 && s->bs == 1)
        adx_strip_by(s, way, false, 1, 0, 1);
    else if (next && s->as == 0 && s->bs == 0)
        adx_strip_by(s, way, false, 1, 0, 0);
    else if (s->stride == 0 && s->n > 1)
        adx_strip_by(s, way, false, 0, s->as, s->bs);
    else
        adx_strip_by(s, way, false, s->stride, s->as, s->bs);
}

// Does a strip that stores, adds, or adds fused.
static void adx_run_strip(const adx_tensor_strip *s, bool store, bool fused)
{
    if (store)
        adx_run_strip_as(s, ADX_STRIP_STORE);
    else if (fused)
        adx_run_strip_as(s, ADX_STRIP_FUSE);
    else
        adx_run_strip_as(s, ADX_STRIP_ADD);
}

static const ad_real adx_one[1] = { 1 };

// The numbers that are read along a strip. If there are fewer factors, the rest
// are 1.
typedef struct adx_reads {
    const ad_real *from[3];
    int64_t stride[3];
} adx_reads;

static const adx_reads adx_no_reads = {
    { adx_one, adx_one, adx_one }, { 0, 0, 0 }
};

// Returns where a term reads at the point x, and how far on along the strip.
ADX_INLINE adx_reads adx_reads_at(const adx_evaluating *e, const int64_t x[],
                                  bool loop)
{
    const adx_loop *l = e->loop;
    adx_reads r = adx_no_reads;
    for (uint32_t f = 0; f < e->term->factors; f++) {
        r.from[f] = e->factor[f] + adx_sparse_at(&l->factor[f].place, x);
        r.stride[f] = loop ? l->factor[f].stride : 0;
    }
    return r;
}

// Adds along a strip; `loop`: of the nest's innermost loop, which forms sums of
// its own.
ADX_INLINE void adx_add_strip(const adx_evaluating *e, const adx_reads *r,
                              ad_real *to, int64_t stride, int64_t n, bool loop)
{
    const adx_tensor_strip s = { n, e->term->k, e->term->absorbs, to, stride,
                                 r->from[0], r->stride[0], r->from[1],
                                 r->stride[1] };
    if (loop && s.stride == 0 && !e->value->once)
        adx_run_dot(&s, e->t->options.fused);
    else
        adx_run_strip(&s, e->value->once, e->t->options.fused);
}

// Returns the derivative of a partial by argument `by`: a dual number's way
// through the text of the partial, which depends on the argument, and on the
// result, which depends on it as well.
static ad_real adx_operation_second(const adx_tensor_value *of,
                                    const ad_real x[3], ad_real v)
{
    const adx_tensor_second *s = of->second;
    const ad_real value[] = { x[0], x[1], x[2], v };
    ad_real dot[] = { 0, 0, 0, 0 };
    dot[s->by] = 1;
    dot[3] = adx_partial_at(of->op, s->by, x[0], x[1], x[2], v);
    return adx_cell_tangent(&s->cell, s->moving, value, dot);
}

// Computes a function, or a partial of it, from its arguments.
static ad_real adx_operation_of_values(const adx_tensor_value *of,
                                       const ad_real x[3])
{
    ad_real v = adx_compute(of->op, x[0], x[1], x[2]);
    return of->kind == ADX_VALUE_SECOND ? adx_operation_second(of, x, v)
         : of->kind == ADX_VALUE_PARTIAL
         ? adx_partial_at(of->op, of->which, x[0], x[1], x[2], v) : v;
}

// Computes an application along a strip.
static void adx_application_strip(const adx_evaluating *e, const adx_reads *r,
                                  ad_real *to, int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const ad_real a[] = { r->from[0][i * r->stride[0]],
                              r->from[1][i * r->stride[1]],
                              r->from[2][i * r->stride[2]] };
        to[i * stride] = adx_operation_of_values(e->value, a);
    }
}

// Computes a sum, or an application, along a strip.
ADX_INLINE void adx_run_value_strip(const adx_evaluating *e, const adx_reads *r,
                                    ad_real *to, int64_t stride, int64_t n,
                                    bool loop)
{
    if (e->value->kind == ADX_VALUE_SUM)
        adx_add_strip(e, r, to, stride, n, loop);
    else
        adx_application_strip(e, r, to, stride, n);
}

// Does a strip of a sum or of an application.
static bool adx_run_along(void *user, const int64_t x[], uint32_t var,
                          int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_stream_of *out = &e->loop->out;
    bool loop = var != UINT32_MAX;
    const adx_reads r = adx_reads_at(e, x, loop);
    adx_run_value_strip(e, &r, e->out + adx_sparse_at(&out->place, x),
                        loop ? out->stride : 0, n, loop);
    return true;
}

// Does a strip of a maximum or minimum: the largest number, or the least; NaN
// where there is one.
static bool adx_run_most(void *user, const int64_t x[], uint32_t var,
                         int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_loop *l = e->loop;
    bool loop = var != UINT32_MAX;
    bool least = e->value->op == ADREV_OP_min;
    ad_real *out = e->out + adx_sparse_at(&l->out.place, x);
    const ad_real *a = e->factor[0] + adx_sparse_at(&l->factor[0].place, x);
    for (int64_t i = 0; i < n; i++) {
        ad_real v = a[loop ? i * l->factor[0].stride : 0];
        ad_real *to = &out[loop ? i * l->out.stride : 0];
        if (v != v || (least ? v < *to : v > *to))
            *to = v;
    }
    return true;
}

// Does a strip of a term that adds only at picked points: at the first one
// whose number is the extreme.
static bool adx_run_pick(void *user, const int64_t x[], uint32_t var, int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_loop *l = e->loop;
    const adx_tensor_value *most = adx_tensor_value_at(e->t, e->term->most);
    bool loop = var != UINT32_MAX;
    int64_t at = adx_sparse_at(&l->at.place, x);
    const ad_real *picked = e->base[e->term->picked.value]
                          + adx_sparse_at(&l->picked.place, x);
    ad_real *out = e->out + adx_sparse_at(&l->out.place, x);
    const ad_real *from = e->factor[0]
                        + adx_sparse_at(&l->factor[0].place, x);
    for (int64_t i = 0; i < n; i++) {
        int64_t j = at + (loop ? i * l->at.stride : 0);
        bool *done = &e->picked[j + most->first];
        if (*done || picked[loop ? i * l->picked.stride : 0]
                     != e->base[e->term->most][j])
            continue;
        *done = true;
        ad_real *to = &out[loop ? i * l->out.stride : 0];
        *to = adx_sum_with(e->t->options.fused, e->term->k,
                           from[loop ? i * l->factor[0].stride : 0], *to);
    }
    return true;
}

/* --- strips with maps (tensor/gathers) ------------------------------------ */

// Adds products, or stores them, one after the other.
ADX_INLINE void adx_scatter_by(const adx_tensor_strip *s, const int64_t at[],
                               adx_strip_way way)
{
    for (int64_t i = 0; i < s->n; i++) {
        ad_real *to = &s->to[at[i]];
        ad_real a = s->k * adx_beside(s->absorbs, s->a[i * s->as],
                                      s->b[i * s->bs]);
        ad_real b = adx_beside(s->absorbs, s->b[i * s->bs], s->a[i * s->as]);
        *to = way == ADX_STRIP_STORE ? a * b
            : adx_sum_with(way == ADX_STRIP_FUSE, a, b, *to);
    }
}

// Adds products to numbers at these places.
static void adx_scatter_sums(const adx_evaluating *e, const adx_reads *r,
                             const int64_t at[], int64_t n)
{
    const adx_tensor_strip s = { n, e->term->k, e->term->absorbs, e->out, 0,
                                 r->from[0], r->stride[0], r->from[1],
                                 r->stride[1] };
    if (e->value->once)
        adx_scatter_by(&s, at, ADX_STRIP_STORE);
    else if (e->t->options.fused)
        adx_scatter_by(&s, at, ADX_STRIP_FUSE);
    else
        adx_scatter_by(&s, at, ADX_STRIP_ADD);
}

// Stores the numbers of an application at these places.
static void adx_scatter_applications(const adx_evaluating *e,
                                     const adx_reads *r, const int64_t at[],
                                     int64_t n)
{
    ad_real value[ADX_GATHER_MOST];
    adx_application_strip(e, r, value, 1, n);
    for (int64_t i = 0; i < n; i++)
        e->out[at[i]] = value[i];
}

// Does points along maps that stand alone.
static void adx_gather_points(const adx_evaluating *e, const adx_gathering *s)
{
    const adx_gather_form *out = &s->g->out;
    adx_reads r = adx_no_reads;
    ad_real room[3][ADX_GATHER_MOST];
    int64_t at[ADX_GATHER_MOST];
    for (uint32_t f = 0; f < e->term->factors; f++)
        r.from[f] = adx_gather_numbers(s, &s->g->factor[f], e->factor[f],
                                       room[f], &r.stride[f]);
    if (adx_has_even_places(s, out)) {
        adx_run_value_strip(e, &r, e->out + adx_first_place(s, out),
                            out->stride, s->n, false);
        return;
    }
    adx_gather_places(s, out, at);
    if (e->value->kind == ADX_VALUE_SUM)
        adx_scatter_sums(e, &r, at, s->n);
    else
        adx_scatter_applications(e, &r, at, s->n);
}

// Does the range at each point along maps.
static void adx_gather_ranges(const adx_evaluating *e, const adx_gathering *s)
{
    const adx_loop *l = e->loop;
    int64_t low = s->g->inner->low;
    int64_t n = s->g->inner->high - low + 1;
    adx_reads r = adx_no_reads;
    int64_t at[3][ADX_GATHER_MOST];
    int64_t to[ADX_GATHER_MOST];
    adx_gather_places(s, &s->g->out, to);
    for (uint32_t f = 0; f < e->term->factors; f++) {
        adx_gather_places(s, &s->g->factor[f], at[f]);
        r.stride[f] = l->factor[f].stride;
    }
    for (int64_t i = 0; i < s->n; i++) {
        for (uint32_t f = 0; f < e->term->factors; f++)
            r.from[f] = e->factor[f] + at[f][i] + low * r.stride[f];
        adx_run_value_strip(e, &r, e->out + to[i] + low * l->out.stride,
                            l->out.stride, n, true);
    }
}

// Does a strip along maps, some points at a time.
static void adx_run_gathering(const adx_evaluating *e, adx_gathering *s,
                              int64_t n)
{
    for (; n > 0; n -= s->n) {
        s->n = n < ADX_GATHER_MOST ? n : ADX_GATHER_MOST;
        adx_ask_maps(s);
        if (s->g->inner != NULL)
            adx_gather_ranges(e, s);
        else
            adx_gather_points(e, s);
        s->first += s->n;
        if (s->list != NULL)
            s->list += s->n * s->every;
    }
}

// Does a strip along maps, from its first point on.
static bool adx_run_gathers(void *user, const int64_t x[], uint32_t var,
                            int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    adx_gathering s;
    s.g = e->loop->gathers;
    s.x = x;
    s.first = x[var];
    s.list = NULL;
    s.every = 0;
    adx_run_gathering(e, &s, n);
    return true;
}

// Runs a part whose points are listed. The list has the values of the first
// variables of the nest.
static void adx_run_listed(const adx_evaluating *e, const adx_part_list *l)
{
    adx_gathering s;
    s.g = e->loop->gathers;
    s.x = e->x;
    s.first = 0;
    s.list = l->x + l->start[e->index] * l->levels;
    s.every = l->levels;
    adx_run_gathering(e, &s, (int64_t)(l->start[e->index + 1]
                                       - l->start[e->index]));
}

// Whether the innermost loops of a term, or of this part of it, are strips with
// maps, for which a kernel can be used. That is so if no part cuts the levels
// behind the strip, and if a list has all points of a strip.
static bool adx_has_gathers(const adx_evaluating *e,
                            const adx_tensor_term *term)
{
    const adx_gathers *g = term->loop->gathers;
    const adx_term_cut *c = e->cut == NULL ? NULL
                          : &e->cut->term[term - e->value->term];
    return g != NULL
        && (c == NULL || (c->list != NULL ? g->level == 0
                          : c->form.n == 0 || c->last <= g->level));
}

/* --- terms ---------------------------------------------------------------- */

// Visits the strips of a term, or those of the part that is being run.
static void adx_walk_term(adx_evaluating *e, const adx_tensor_term *term,
                          adx_point_fn *visit)
{
    bool gathers = visit == adx_run_gathers;
    adx_nest nest = *term->loop->nest;
    e->term = term;
    e->loop = term->loop;
    for (uint32_t f = 0; f < term->factors; f++)
        e->factor[f] = e->base[term->factor[f].value];
    if (e->cut != NULL) {
        const adx_term_cut *c = &e->cut->term[term - e->value->term];
        const adx_nest_walk w = { &nest, visit, e, e->x };
        if (c->list != NULL && gathers)
            adx_run_listed(e, c->list);
        else if (c->list != NULL)
            adx_walk_list(c->list, e->index, &w);
        if (c->list != NULL)
            return;
        nest = adx_nest_of_part(&nest, c, e->lo, e->hi, &e->part);
    }
    if (gathers)
        nest.levels = term->loop->gathers->level + 1;
    adx_walk_nest(&nest, e->x, visit, e);
}

// Clears what a part of a value must clear: everything, if the value has no
// parts.
static void adx_clear_part(const adx_evaluating *e)
{
    adx_result_range r = { e->value, UINT32_MAX, 0, 0,
                           adx_begin_with(e->value) };
    if (e->cut != NULL) {
        r.dim = e->cut->dim;
        r.lo = e->lo;
        r.hi = e->hi;
    }
    adx_clear_results_from(&r, 0, e->out);
}

// Whether all numbers of a value are made 0 first, not only those that are
// written.
static bool adx_clears_all(const adx_tensor_value *v)
{
    uint64_t points = 0;
    for (uint32_t j = 0; j < v->terms; j++)
        points = v->term[j].loop->points > v->size ? v->size
               : points + v->term[j].loop->points;
    return v->cleared || v->kind == ADX_VALUE_MOST
        || (!v->once && (v->full || points >= v->size / 4));
}

// Makes 0, or what a most begins with, what is added to, or what is read
// without having been written.
static void adx_clear_value(adx_evaluating *e)
{
    const adx_tensor_value *v = e->value;
    bool lacks = false;         // what is not added is still read
    for (uint32_t j = 0; j < v->terms; j++)
        lacks = lacks || adx_is_nothing(e, &v->term[j]);
    if (lacks || adx_clears_all(v))
        adx_clear_part(e);
    else if (!v->once)
        for (uint32_t j = 0; j < v->terms; j++)
            adx_walk_term(e, &v->term[j], adx_clear_points);
}

// Makes the extremes along a strip be not picked yet.
static bool adx_forget_picks_at(void *user, const int64_t x[], uint32_t var,
                                int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_tensor_value *most = adx_tensor_value_at(e->t, e->term->most);
    bool *done = e->picked + adx_sparse_at(&e->loop->at.place, x) + most->first;
    int64_t stride = var == UINT32_MAX ? 0 : e->loop->at.stride;
    for (int64_t i = 0; i < n; i++)
        done[i * stride] = false;
    return true;
}

// Runs a term as products of matrices. False: the loops of its nest do it.
static bool adx_run_as_matrices(const adx_evaluating *e,
                                const adx_tensor_term *term)
{
    const adx_matrices *m = term->loop->matrices;
    adx_matrix_part part;
    if (m == NULL)
        return false;
    if (e->cut != NULL)
        part = adx_matrix_part_of(m, &e->cut->term[term - e->value->term].form,
                                  e->lo, e->hi);
    return adx_run_matrices(e->t, m, e->cut == NULL ? NULL : &part, e->out,
                            e->base[term->factor[0].value],
                            e->base[term->factor[1].value]);
}

// Makes the numbers of an extreme be not picked yet. A part forgets those of
// its own, of all terms from `term` on that pick from the same value.
static void adx_forget_picks(adx_evaluating *e, uint32_t term)
{
    const adx_tensor_value *v = e->value;
    uint32_t most = v->term[term].most;
    if (e->cut == NULL)
        memset(e->picked, 0, (size_t)adx_tensor_value_at(e->t, most)->span
                             * sizeof *e->picked);
    else
        for (uint32_t j = term; j < v->terms && v->term[j].most == most; j++)
            adx_walk_term(e, &v->term[j], adx_forget_picks_at);
}

// Adds a term, by the way of doing strips that it needs.
static void adx_run_term(adx_evaluating *e, const adx_tensor_term *term)
{
    adx_walk_term(e, term, adx_has_gathers(e, term) ? adx_run_gathers
                  : term->most != 0 ? adx_run_pick
                  : e->value->kind == ADX_VALUE_MOST ? adx_run_most
                                                     : adx_run_along);
}

// Adds the terms of a value, or of a part of it.
static void adx_run_terms(adx_evaluating *e)
{
    const adx_tensor_value *v = e->value;
    uint32_t picking = 0;
    for (uint32_t j = 0; j < v->terms; j++) {
        const adx_tensor_term *term = &v->term[j];
        if (adx_is_nothing(e, term) || adx_run_as_matrices(e, term))
            continue;
        if (term->most != 0 && term->most != picking)
            adx_forget_picks(e, j);
        picking = term->most;
        adx_run_term(e, term);
    }
}

/* --- parts ---------------------------------------------------------------- */

// Returns the evaluation of a part: i is that of its memory.
static adx_evaluating adx_part_of_value(const adx_evaluating *e, uint32_t i,
                                        int64_t lo, int64_t hi)
{
    const adx_tensor_program *p = e->t->program;
    adx_evaluating part = *e;
    part.cut = e->value->cut;
    part.index = i;
    part.lo = lo;
    part.hi = hi;
    part.x += (size_t)i * p->vars;
    part.part.level += (size_t)i * p->vars;
    part.part.bound += (size_t)i * (p->bounds + 2);
    return part;
}

// Computes the part lo <= i < hi of a value: of its results, or of its points.
static void adx_run_part(const adx_evaluating *e, uint32_t memory, int64_t lo,
                         int64_t hi)
{
    adx_evaluating part = adx_part_of_value(e, memory, lo, hi);
    if (part.cut->kind == ADX_CUT_RESULTS)
        adx_clear_value(&part);
    adx_run_terms(&part);
}

// Runs part i of the value: a task of the pool.
static void adx_run_part_at(size_t i, void *user)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_value_cut *c = e->value->cut;
    adx_run_part(e, (uint32_t)i,
                 adx_part_from(c->from, c->to, (uint32_t)i, c->parts),
                 adx_part_from(c->from, c->to, (uint32_t)i + 1, c->parts));
}

// Adds the numbers of one part to the value, from dimension `dim` on.
static void adx_add_sums(const adx_tensor_value *v, uint32_t dim,
                         const ad_real *from, ad_real *to)
{
    if (dim == v->dims)
        *to += *from;
    else
        for (int64_t i = 0; i < v->extent[dim]; i++)
            adx_add_sums(v, dim + 1, from + i * v->stride[dim],
                         to + i * v->stride[dim]);
}

// The sums of part i, in `to`.
static void adx_sum_part(const adx_evaluating *e, uint32_t i, uint32_t memory,
                         ad_real *to)
{
    const adx_value_cut *c = e->value->cut;
    uint32_t j = 0;
    uint32_t k = i;
    while (k >= c->term[j].parts)
        k -= c->term[j++].parts;
    const adx_term_cut *of = &c->term[j];
    adx_evaluating part =
        adx_part_of_value(e, memory,
                          adx_part_from(of->from, of->to, k, of->parts),
                          adx_part_from(of->from, of->to, k + 1, of->parts));
    part.out = to + e->value->first;
    memset(to, 0, (size_t)e->value->span * sizeof *to);
    const adx_tensor_term *term = &e->value->term[j];
    if (!adx_is_nothing(e, term) && !adx_run_as_matrices(&part, term))
        adx_run_term(&part, term);
}

// Runs part i of a sum into sums of its own: a task of the pool.
static void adx_sum_part_at(size_t i, void *user)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    adx_sum_part(e, (uint32_t)i, (uint32_t)i,
                 e->sums + i * (size_t)e->value->span);
}

// Computes sums of the parts, and of these the sum.
static void adx_run_sums(adx_evaluating *e)
{
    const adx_tensor_value *v = e->value;
    adx_clear_all(v, e->out);
    if (e->shares)
        adx_do_parts(v->cut->parts, adx_sum_part_at, e);
    for (uint32_t i = 0; i < v->cut->parts; i++) {
        ad_real *sums = e->sums + (e->shares ? i * (size_t)v->span : 0);
        if (!e->shares)
            adx_sum_part(e, i, 0, sums);
        adx_add_sums(v, 0, sums + v->first, e->out);
    }
}

// Computes a value, in parts where it is cut.
static void adx_run_value(adx_evaluating *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->t, value);
    e->value = v;
    e->out = e->base[value];
    if (v->size == 0)
        return;
    bool sums = v->cut != NULL && v->cut->kind == ADX_CUT_SUMS;
    bool parts = v->cut != NULL && e->shares;
    uint32_t lacking = 0;
    for (uint32_t j = 0; j < v->terms; j++)
        lacking += adx_is_nothing(e, &v->term[j]);
    if (!sums && (!parts || v->cut->kind == ADX_CUT_POINTS))
        adx_clear_value(e);
    if (sums)
        adx_run_sums(e);
    else if (parts)
        adx_do_parts(v->cut->parts, adx_run_part_at, e);
    else
        adx_run_terms(e);
    if (lacking > 0 && lacking == v->terms)     // times infinity it is 0, too
        e->base[value] = NULL;
}

/* --- machine code -----------------------------------------------------------
 * Steps of ad_tensor_compile, in parts where threads share them.            */

typedef struct adx_coded_step {
    const adx_evaluating *e;
    const adx_tensor_value *value;
    adx_tensor_step_fn *fn;
    const adx_step_cut *cut;
} adx_coded_step;

// Calls the function of a step; `which` is the part, or -1 for all of them.
static void adx_call_coded(const adx_coded_step *s, ad_real *sums,
                           int64_t which, int64_t lo, int64_t hi)
{
    const adx_evaluating *e = s->e;
    s->fn(e->base, e->code->table, (const unsigned char *)e->needed,
          (unsigned char *)e->picked, sums, (long)which, (long)lo, (long)hi);
}

// Runs part i of a step: a range of its loop.
static void adx_call_coded_part(size_t i, void *user)
{
    const adx_coded_step *s = (const adx_coded_step *)user;
    const adx_step_cut *c = s->cut;
    uint32_t part = (uint32_t)i;
    adx_call_coded(s, s->e->sums, part,
                  adx_part_from(c->from, c->to, part, c->parts),
                  adx_part_from(c->from, c->to, part + 1, c->parts));
}

// Runs part i of a step that is a sum, into sums of its own.
static void adx_call_coded_sum(size_t i, void *user)
{
    const adx_coded_step *s = (const adx_coded_step *)user;
    adx_call_coded(s, s->e->sums + i * (size_t)s->value->span, (int64_t)i,
                   0, 0);
}

// Computes sums of the parts, and of these the sum, as adx_run_sums does.
static void adx_call_coded_sums(adx_coded_step *s, ad_real *to)
{
    const adx_tensor_value *v = s->value;
    adx_clear_all(v, to);
    if (s->e->shares)
        adx_do_parts(s->cut->parts, adx_call_coded_sum, s);
    for (uint32_t i = 0; i < s->cut->parts; i++) {
        ad_real *sums = s->e->sums + (s->e->shares ? i * (size_t)v->span : 0);
        if (!s->e->shares)
            adx_call_coded(s, sums, i, 0, 0);
        adx_add_sums(v, 0, sums + v->first, to);
    }
}

// Runs a step's function, in parts if threads can share them.
static void adx_run_coded(const adx_evaluating *e, ad_tensor_part part,
                          uint32_t value)
{
    adx_coded_step s = { e, adx_tensor_value_at(e->t, value),
                         e->code->step[part][value],
                         &e->code->cut[part][value] };
    if (s.cut->clears)
        adx_clear_all(s.value, e->base[value]);
    if (s.cut->way == ADX_STEP_SUMS)
        adx_call_coded_sums(&s, e->base[value]);
    else if (s.cut->way != ADX_STEP_WHOLE && adx_shares_parts())
        adx_do_parts(s.cut->parts, adx_call_coded_part, &s);
    else
        adx_call_coded(&s, e->sums, -1, s.cut->from, s.cut->to);
}

/* === tensor/queries =========================================================
 * Binding, evaluations and counts: the interface. Binding checks what was
 * given, makes the program with its derivatives, and prepares its loops and
 * storage. An evaluation then needs only memory for those values that its
 * results need. Before each of them it is decided which values these are:
 * backwards from the results that are wanted, and without what is a product
 * with zeros of a NULL direction or weight.
 *
 *   needs   tape/memory tensor/api tensor/tree tensor/messages tensor/arena
 *           tensor/sets tensor/nests tensor/binding tensor/open
 *           tensor/programs tensor/sharing tensor/lower tensor/formulas
 *           tensor/derive tensor/parts tensor/prepare tensor/run
 *   offers  adx_each_place adx_bind_program adx_tensor_arrays
 *           adx_numbers_needed adx_evaluate_tensor adx_points_of_term
 *           adx_count_written adx_count_value adx_need_part adx_numbers_around
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- binding ------------------------------------------------------------- */

// Says that something must be given before the text can be bound.
static void adx_not_given(ad_tensor *t, ad_tensor_error *error, adx_spot name,
                          const char *what)
{
    adx_lowering k = { t, error, NULL, NULL, 0, false, 0 };
    adx_misfit(&k, name.at, what, name);
}

// Whether an end of a range depends on an open size.
static bool adx_is_open_range(const ad_tensor *t, uint32_t dim)
{
    const adx_dim *d = &t->tree.dim[dim];
    return adx_is_open_form(t, d->from) || adx_is_open_form(t, d->to);
}

// Checks that no map or relation, which is given as data, depends on sizes that
// are arguments of the C code.
static void adx_check_open_data(ad_tensor *t, ad_tensor_error *error)
{
    const adx_tree *tree = &t->tree;
    for (uint32_t i = 1; i < tree->map_count; i++)
        if (adx_is_open_range(t, tree->map[i].domain)
            || adx_is_open_range(t, tree->map[i].values))
            adx_not_given(t, error, tree->map[i].name, "the ranges of the map "
                          "'%w' depend on sizes that are arguments");
    for (uint32_t i = 1; i < tree->relation_count; i++)
        for (uint32_t c = 0; c < tree->relation[i].arity; c++)
            if (adx_is_open_range(t, tree->relation[i].first + c))
                adx_not_given(t, error, tree->relation[i].name, "the ranges of "
                              "the relation '%w' depend on sizes that are "
                              "arguments");
}

// Checks that sizes, maps and relations are given, and their values inside.
static void adx_check_given(ad_tensor *t, ad_tensor_error *error)
{
    const adx_tree *tree = &t->tree;
    for (uint32_t i = 1; i < tree->size_count; i++)
        if (t->given.size[i] < 0)
            adx_not_given(t, error, tree->size[i],
                          "the size '%w' is not given: ad_tensor_size");
    for (uint32_t i = 1; i < tree->map_count; i++)
        if (t->given.map[i] == NULL)
            adx_not_given(t, error, tree->map[i].name,
                          "the map '%w' is not given: ad_tensor_map");
    for (uint32_t i = 1; i < tree->relation_count; i++)
        if (t->given.relation[i].column == NULL)
            adx_not_given(t, error, tree->relation[i].name, "the relation '%w' "
                          "is not given: ad_tensor_relation or ad_tensor_csr");
    if (t->open != NULL)
        adx_check_open_data(t, error);
}

// Checks that a relation has the rows that it had when it was given.
static void adx_check_rows(ad_tensor *t, ad_tensor_error *error, uint32_t i)
{
    const adx_tensor_relation *r = &t->tree.relation[i];
    const adx_given_relation *g = &t->given.relation[i];
    int64_t from = 0;
    int64_t to = 0;
    adx_dim_range(t, &t->tree.dim[r->first], &from, &to);
    if (g->by_rows && (g->from != from || g->to != to))
        adx_not_given(t, error, r->name, "the rows of the relation '%w' were "
                      "given for another size: give them again");
}

// Makes a table of the numbers of a map, or of a column of a relation, and
// checks that each is in its range. NULL: no memory, or a number is not.
static adx_int_table *adx_make_table(ad_tensor *t, ad_tensor_error *error,
                                 adx_spot name, const int32_t value[], size_t n,
                                 int64_t from, const adx_dim *values)
{
    adx_int_table *to = ADX_GET(&t->arena, 1, adx_int_table);
    int64_t end = 0;
    if (to == NULL)
        return NULL;
    adx_dim_range(t, values, &to->low, &end);
    to->high = end - 1;
    to->value = value;
    to->from = from;
    to->n = n;
    for (size_t i = 0; i < n; i++)
        if (value[i] < to->low || value[i] > to->high) {
            char text[100];
            adx_saying s = { text, 0, sizeof text };
            adx_lowering k = { t, error, NULL, NULL, 0, false, 0 };
            adx_say_string(&s, "' has ");
            adx_say_signed(&s, value[i]);
            adx_say_string(&s, " at number ");
            adx_say_signed(&s, (int64_t)i);
            adx_say_string(&s, ", which is outside");
            adx_misfit(&k, name.at, "'%w%s", name, text);
            return NULL;
        }
    return to;
}

// Makes the tables of all maps and relations.
static void adx_make_tables(ad_tensor *t, ad_tensor_error *error)
{
    adx_tensor_program *p = t->program;
    const adx_tree *tree = &t->tree;
    uint32_t columns = 0;
    for (uint32_t i = 1; i < tree->relation_count; i++)
        columns += tree->relation[i].arity;
    p->map = ADX_GET(&t->arena, tree->map_count, adx_int_table *);
    p->column = ADX_GET(&t->arena, columns + 1, adx_int_table *);
    p->column_of = ADX_GET(&t->arena, tree->relation_count, uint32_t);
    if (p->map == NULL || p->column == NULL || p->column_of == NULL)
        return;
    for (uint32_t i = 1; i < tree->map_count; i++) {
        const adx_tensor_map *m = &tree->map[i];
        int64_t from = 0;
        int64_t to = 0;
        adx_dim_range(t, &tree->dim[m->domain], &from, &to);
        if ((size_t)(to - from) != t->given.map_n[i])
            adx_not_given(t, error, m->name, "the map '%w' was given for "
                          "another size: give it again");
        else
            p->map[i] = adx_make_table(t, error, m->name, t->given.map[i],
                                       t->given.map_n[i], from,
                                       &tree->dim[m->values]);
    }
    columns = 0;
    for (uint32_t i = 1; i < tree->relation_count; i++) {
        const adx_tensor_relation *r = &tree->relation[i];
        const adx_given_relation *g = &t->given.relation[i];
        p->column_of[i] = columns;
        adx_check_rows(t, error, i);
        for (uint32_t c = 0; c < r->arity && t->arena.status == ADREV_OK; c++)
            p->column[columns++] = adx_make_table(t, error, r->name,
                                                  g->column[c], g->entries, 0,
                                                  &tree->dim[r->first + c]);
    }
}

// Whether entry one comes before entry other; 0: they are the same.
static int adx_compare_entries(const adx_given_relation *g, uint32_t arity,
                               uint32_t one, uint32_t other)
{
    for (uint32_t c = 0; c < arity; c++)
        if (g->column[c][one] != g->column[c][other])
            return g->column[c][one] < g->column[c][other] ? -1 : 1;
    return 0;
}

// Sorts entries by merging, in room for twice as many.
static void adx_sort_relation(const adx_given_relation *g, uint32_t arity,
                              uint32_t *list, uint32_t *room)
{
    size_t n = g->entries;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t a = i;
            size_t b = i + width < n ? i + width : n;
            size_t middle = b;
            size_t end = i + 2 * width < n ? i + 2 * width : n;
            for (size_t to = i; to < end; to++) {
                bool left = b == end
                         || (a < middle
                             && adx_compare_entries(g, arity, list[a], list[b])
                                    <= 0);
                room[to] = left ? list[a++] : list[b++];
            }
        }
        memcpy(list, room, n * sizeof *list);
    }
}

// Checks that a relation has no entry twice.
static void adx_check_entries(ad_tensor *t, ad_tensor_error *error,
                              uint32_t relation)
{
    const adx_given_relation *g = &t->given.relation[relation];
    uint32_t arity = t->tree.relation[relation].arity;
    uint32_t *list = ADX_GET(&t->arena, g->entries, uint32_t);
    uint32_t *room = ADX_GET(&t->arena, g->entries, uint32_t);
    if (list == NULL || room == NULL)
        return;
    for (size_t i = 0; i < g->entries; i++)
        list[i] = (uint32_t)i;
    adx_sort_relation(g, arity, list, room);
    for (size_t i = 1; i < g->entries; i++)
        if (adx_compare_entries(g, arity, list[i - 1], list[i]) == 0) {
            char text[100];
            adx_saying s = { text, 0, sizeof text };
            adx_lowering k = { t, error, NULL, NULL, 0, false, 0 };
            adx_say_string(&s, "' has an entry twice: numbers ");
            adx_say_signed(&s, list[i - 1]);
            adx_say_string(&s, " and ");
            adx_say_signed(&s, list[i]);
            adx_misfit(&k, t->tree.relation[relation].name.at, "'%w%s",
                       t->tree.relation[relation].name, text);
            return;
        }
}

// The range of an index where sizes are open; low and extent are those of all
// numbers that the array can have.
static void adx_open_dim(ad_tensor *t, const adx_dim *dim, adx_tensor_value *v,
                         uint32_t d)
{
    uint32_t open = adx_open_of(t);
    int64_t *extent = ADX_GET(&t->arena, 1 + open, int64_t);
    if (extent == NULL || v->range.from == NULL || v->range.last == NULL)
        return;
    int64_t *from = v->range.from + (size_t)d * (1 + open);
    int64_t *last = v->range.last + (size_t)d * (1 + open);
    if (!adx_form_in_sizes(t, dim->from, from)
        || !adx_form_in_sizes(t, dim->to, last))
        adx_arena_fail(&t->arena, ADREV_ESHAPE);
    memcpy(extent, last, (1 + open) * sizeof *extent);
    adx_add_open(&t->arena, extent, -1, from, open);
    last[0]--;
    v->low[d] = adx_open_extreme(t, from, false);
    v->extent[d] = adx_open_extreme(t, extent, true);
    v->extent[d] = v->extent[d] < 0 ? 0 : v->extent[d];
}

// Makes values for the arrays of the text.
static void adx_make_arrays(ad_tensor *t, uint32_t value_of[])
{
    const adx_tree *tree = &t->tree;
    adx_tensor_program *p = t->program;
    for (uint32_t i = 1; i < tree->array_count; i++) {
        const adx_tensor_array *a = &tree->array[i];
        uint32_t columns = a->rank > 0 && tree->dim[a->first].relation != 0
            ? tree->relation[tree->dim[a->first].relation].arity : 0;
        uint32_t v = adx_new_value(t, a->formula == 0 ? ADX_VALUE_INPUT
                                   : ADX_VALUE_SUM, adx_places_of(tree, a));
        if (v == 0)
            return;
        adx_tensor_value *to = adx_tensor_value_at(t, v);
        to->array = i;
        to->order = a->order;
        value_of[i] = v;
        uint32_t d = 0;
        if (columns > 0)
            to->extent[d++] = (int64_t)
                t->given.relation[tree->dim[a->first].relation].entries;
        if (columns > 0 && to->range.last != NULL)
            to->range.last[0] = to->extent[0] - 1;
        for (uint32_t j = columns; j < a->rank; j++, d++) {
            int64_t end = 0;
            if (!adx_dim_range(t, &tree->dim[a->first + j], &to->low[d], &end))
                adx_arena_fail(&t->arena, ADREV_ESHAPE);
            to->extent[d] = end - to->low[d];
            if (t->open != NULL)
                adx_open_dim(t, &tree->dim[a->first + j], to, d);
        }
        adx_lay_out(t, to, t->given.stride[i]);
        if (a->formula == 0)
            p->input[a->order] = v;
        else if (a->out) {
            p->out[a->order] = v;
            to->result = true;
        }
    }
}

// Makes an empty program. Value 0 stands for none. False: no memory.
static bool adx_begin_tensor_program(ad_tensor *t)
{
    adx_arena *a = &t->arena;
    adx_tensor_program *p = ADX_GET(a, 1, adx_tensor_program);
    if (p == NULL)
        return false;
    p->room = 64;
    p->values = 1;
    p->value = ADX_GET(a, p->room, adx_tensor_value);
    p->order_room = 64;
    p->order = ADX_GET(a, p->order_room, uint32_t);
    p->input = ADX_GET(a, t->tree.inputs, uint32_t);
    p->tangent_in = ADX_GET(a, t->tree.inputs, uint32_t);
    p->adjoint_in = ADX_GET(a, t->tree.inputs, uint32_t);
    p->second_in = ADX_GET(a, t->tree.inputs, uint32_t);
    p->weight = ADX_GET(a, t->tree.outs, uint32_t);
    p->out = ADX_GET(a, t->tree.outs, uint32_t);
    p->tangent_out = ADX_GET(a, t->tree.outs, uint32_t);
    t->program = p;
    return a->status == ADREV_OK;
}

/* --- places of numbers --------------------------------------------------- */

typedef void adx_place_fn(void *user, ptrdiff_t at);

// Visits all numbers in the order of indices.
static void adx_each_place(const adx_tensor_value *v, uint32_t dim,
                           ptrdiff_t at, adx_place_fn *visit, void *user)
{
    if (v->size == 0)
        return;
    if (dim == v->dims) {
        visit(user, at);
        return;
    }
    for (int64_t i = 0; i < v->extent[dim]; i++)
        adx_each_place(v, dim + 1, at + (ptrdiff_t)i * v->stride[dim], visit,
                       user);
}

typedef struct adx_taking_places {
    adx_bitmap *taken;
    ptrdiff_t first;
} adx_taking_places;

static void adx_take_place(void *user, ptrdiff_t at)
{
    const adx_taking_places *k = (const adx_taking_places *)user;
    adx_set_bit(k->taken, (uint64_t)(at + k->first));
}

// Finds the inputs of which some numbers share a place, by a layout of the
// caller's: they can have no adjoints.
static void adx_find_crowded(ad_tensor *t)
{
    for (uint32_t i = 0; i < t->tree.inputs; i++) {
        adx_tensor_value *v = adx_tensor_value_at(t, t->program->input[i]);
        adx_arena a = { .memory = &t->memory };
        if (t->given.stride[v->array] == NULL || v->size == 0)
            continue;
        adx_taking_places k = { adx_new_bitmap(&a, v->span), v->first };
        if (k.taken == NULL)
            adx_arena_fail(&t->arena, a.status);
        else {
            adx_each_place(v, 0, 0, adx_take_place, &k);
            v->crowded = k.taken->set < v->size;
        }
        adx_free_arena(&a);
    }
}

// Binds a text to what was given: makes its program, with derivatives, loops
// and storage. The status is in the arena.
static void adx_bind_program(ad_tensor *t, ad_tensor_error *error)
{
    adx_arena *a = &t->arena;
    uint32_t *value_of = ADX_GET(a, t->tree.array_count, uint32_t);
    uint32_t *row_of = ADX_GET(a, t->tree.index_count, uint32_t);
    adx_check_given(t, error);
    if (value_of == NULL || row_of == NULL || a->status != ADREV_OK
        || !adx_begin_tensor_program(t))
        return;
    memset(row_of, 0xff, t->tree.index_count * sizeof *row_of);
    adx_make_tables(t, error);
    for (uint32_t i = 1; i < t->tree.relation_count; i++)
        if (a->status == ADREV_OK)
            adx_check_entries(t, error, i);
    adx_lowering k = { t, error, row_of, value_of, 0, false, 0 };
    if (a->status == ADREV_OK)
        adx_make_arrays(t, value_of);
    if (a->status == ADREV_OK)
        adx_find_crowded(t);
    if (a->status == ADREV_OK)
        adx_lower_formulas(&k);
    if (a->status == ADREV_OK)
        adx_derive_program(t);
    if (a->status == ADREV_OK)
        adx_prepare_program(t);
    if (a->status == ADREV_OK) {
        adx_clear_results(t, t->program->out, t->tree.outs);
        adx_clear_results(t, t->program->tangent_out, t->tree.outs);
        adx_clear_results(t, t->program->adjoint_in, t->tree.inputs);
        adx_clear_results(t, t->program->second_in, t->tree.inputs);
    }
}

ADX_API ad_status ad_tensor_bind(ad_tensor *t, ad_tensor_error *error)
{
    if (t == NULL)
        return ADREV_ESHAPE;
    if (t->program != NULL)
        return ADREV_OK;
    adx_bind_program(t, error);
    ad_status status = t->arena.status;
    if (status != ADREV_OK) {
        if (status == ADREV_ELIMIT && error != NULL)
            adx_explain_text(error,
                             "too large: an array, or the points at which "
                             "a condition is true, have more numbers than can "
                             "be counted");
        else if (status != ADREV_ESHAPE && error != NULL)
            adx_explain_status(error, status);
        adx_unbind_tensor(t);
    }
    return status;
}

/* --- evaluation ---------------------------------------------------------- */

// Arrays of the caller for an evaluation; any may be NULL.
typedef struct adx_tensor_arrays {
    ad_tensor_part part;
    const ad_real *const *x;
    const ad_real *const *v;
    const ad_real *const *w;
    ad_real *const *y;
    ad_real *const *dy;
    ad_real *const *dx;
    ad_real *const *hv;
} adx_tensor_arrays;

// Needs those results for which the caller has arrays, and computes them there.
static void adx_need_results(adx_evaluating *e, const uint32_t value[],
                             uint32_t n, ad_real *const to[])
{
    for (uint32_t i = 0; to != NULL && i < n; i++)
        if (to[i] != NULL && value[i] != 0) {
            e->needed[value[i]] = true;
            e->base[value[i]] = to[i];
        }
}

// Returns the caller's array of an input, a tangent or a weight. NULL: it is
// not given.
static const ad_real *adx_given_array(const adx_tensor_value *v,
                                      const adx_tensor_arrays *a)
{
    const ad_real *const *from = v->kind == ADX_VALUE_INPUT ? a->x
                               : v->kind == ADX_VALUE_TANGENT_IN ? a->v : a->w;
    return from == NULL ? NULL : from[v->order];
}

// Takes the arrays of the caller that are needed. False: an input is missing.
static bool adx_take_given(adx_evaluating *e, const adx_tensor_arrays *a)
{
    const adx_tensor_program *p = e->t->program;
    for (uint32_t i = 1; i < p->values; i++) {
        const adx_tensor_value *v = &p->value[i];
        if (v->kind > ADX_VALUE_WEIGHT || !e->needed[i])
            continue;
        const ad_real *from = adx_given_array(v, a);
        if (from == NULL && v->kind == ADX_VALUE_INPUT && v->size > 0)
            return false;
        if (from == NULL && v->size == 0)
            from = adx_one;
        memcpy(&e->base[i], &from, sizeof from);    // nobody writes there
    }
    return true;
}

// Makes results 0 that nothing adds to.
static void adx_clear_unmade(const adx_evaluating *e, const uint32_t value[],
                             const uint32_t like[], uint32_t n,
                             ad_real *const to[])
{
    for (uint32_t i = 0; to != NULL && i < n; i++)
        if (to[i] != NULL && value[i] == 0
            && adx_tensor_value_at(e->t, like[i])->size > 0)
            adx_clear_all(adx_tensor_value_at(e->t, like[i]), to[i]);
}

// Returns how much memory the needed values take that have no array of the
// caller's.
static uint64_t adx_numbers_needed(const adx_tensor_program *p,
                                   const bool needed[], ad_real *const base[])
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->steps; i++)
        if (needed[p->order[i]] && (base == NULL || base[p->order[i]] == NULL))
            n += p->value[p->order[i]].span;
    return n;
}

// Gives each needed value that has no array its place in the memory of the
// evaluation.
static void adx_place_values(adx_evaluating *e)
{
    const adx_tensor_program *p = e->t->program;
    ad_real *at = e->numbers->w;
    for (uint32_t i = 0; i < p->steps; i++) {
        const adx_tensor_value *v = &p->value[p->order[i]];
        if (!e->needed[p->order[i]] || e->base[p->order[i]] != NULL)
            continue;
        e->base[p->order[i]] = at + v->first;
        at += v->span;
    }
}

// Returns the code by which a part is evaluated; NULL: by loops. Code reads all
// arrays that it needs, so they must be there.
static const adx_tensor_code *adx_code_for(const adx_evaluating *e,
                                           const adx_tensor_arrays *a)
{
    const adx_tensor_program *p = e->t->program;
    const adx_tensor_code *code = e->t->code;
    if (code == NULL || code->step[a->part] == NULL)
        return NULL;
    for (uint32_t i = 1; i < p->values; i++)
        if (e->needed[i] && p->value[i].kind <= ADX_VALUE_WEIGHT
            && p->value[i].size > 0
            && adx_given_array(&p->value[i], a) == NULL)
            return NULL;
    for (uint32_t i = 1; i < p->values; i++)
        if (code->inlined[a->part][i])
            e->needed[i] = false;
    return code;
}

// Whether a step of a bundle is needed.
static bool adx_needs_bundle(const adx_evaluating *e, const uint32_t bundle[],
                             uint32_t leader)
{
    for (uint32_t i = 1; i < e->t->program->values; i++)
        if (bundle[i] == leader && e->needed[i])
            return true;
    return false;
}

// Evaluates the values that are needed, in their order; c: by code.
static void adx_run_program(adx_evaluating *e, ad_tensor_part part)
{
    const adx_tensor_program *p = e->t->program;
    const adx_tensor_code *c = e->code;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        uint32_t leader = c == NULL ? 0 : c->bundle[part][v];
        bool hosted = c != NULL && e->needed[c->host[part][v]];
        if (leader != 0 ? leader != v
                          || !adx_needs_bundle(e, c->bundle[part], v)
                        : !e->needed[v] || hosted)
            continue;
        if (c != NULL && c->step[part][v] != NULL)
            adx_run_coded(e, part, v);
        else
            adx_run_value(e, v);
    }
}

// Returns the next piece of one block of memory, for n elements of this size,
// and adds its bytes to *bytes. at: the block; NULL: bytes are only counted.
static void *adx_next_piece(char *at, size_t *bytes, uint64_t n, size_t size)
{
    void *piece = at == NULL ? NULL : at + *bytes;
    if (n > SIZE_MAX / 16 / size || *bytes > SIZE_MAX / 4)
        *bytes = SIZE_MAX / 2;  // no allocator has so much
    else
        *bytes += ((size_t)n * size + 15) / 16 * 16;
    return piece;
}

// Lists of an evaluation, in a piece of memory, and what loops need once or for
// each part. Returns how many bytes they have.
static size_t adx_place_lists(adx_evaluating *e, char *at)
{
    const adx_tensor_program *p = e->t->program;
    size_t parts = e->shares ? p->parts : 1;
    size_t cuts = e->shares || p->sums > 0 ? parts : 0;
    size_t n = 0;
    e->base = (ad_real **)adx_next_piece(at, &n, p->values, sizeof *e->base);
    e->x = (int64_t *)adx_next_piece(at, &n, parts * p->vars, sizeof *e->x);
    e->part.level = (adx_nest_level *)
        adx_next_piece(at, &n, cuts * p->vars, sizeof *e->part.level);
    e->part.bound = (adx_set_check *)
        adx_next_piece(at, &n, cuts * (p->bounds + 2), sizeof *e->part.bound);
    e->sums = (ad_real *)adx_next_piece(at, &n, e->shares ? p->all_sums
                                                          : p->sums,
                                        sizeof *e->sums);
    e->needed = (bool *)adx_next_piece(at, &n, p->values, sizeof *e->needed);
    e->picked = (bool *)adx_next_piece(at, &n, p->picks, sizeof *e->picked);
    return n;
}

// Takes the memory of an evaluation. False: there is none.
static bool adx_begin_evaluating(adx_evaluating *e, const adx_tensor_arrays *a)
{
    const adx_tensor_program *p = e->t->program;
    const ad_allocator *m = &e->t->memory;
    size_t spare = adx_spare_of_thread();
    e->shares = p->parts > 0 && adx_shares_parts();
    size_t bytes = adx_place_lists(e, NULL);
    e->lists = adx_take_workspace(&e->t->lists[spare], m,
                                  bytes / sizeof(ad_real) + 2);
    if (e->lists == NULL)
        return false;
    adx_place_lists(e, (char *)e->lists->w);
    memset(e->base, 0, p->values * sizeof *e->base);
    memset(e->needed, 0, p->values * sizeof *e->needed);
    adx_need_results(e, p->out, e->t->tree.outs, a->y);
    adx_need_results(e, p->tangent_out, e->t->tree.outs, a->dy);
    adx_need_results(e, p->adjoint_in, e->t->tree.inputs, a->dx);
    adx_need_results(e, p->second_in, e->t->tree.inputs, a->hv);
    adx_need_all(p, e->needed);
    e->code = adx_code_for(e, a);
    e->numbers = adx_take_workspace(&e->t->numbers[spare], m, (size_t)
                                    adx_numbers_needed(p, e->needed, e->base));
    return e->numbers != NULL;
}

// Gives the memory of an evaluation back, for the thread's next one.
static void adx_end_evaluating(adx_evaluating *e)
{
    const ad_allocator *m = &e->t->memory;
    size_t spare = adx_spare_of_thread();
    if (e->lists != NULL)
        adx_give_workspace(&e->t->lists[spare], m, e->lists);
    if (e->numbers != NULL)
        adx_give_workspace(&e->t->numbers[spare], m, e->numbers);
}

// Whether an adjoint is wanted whose numbers share places.
static bool adx_wants_crowded(const ad_tensor *t, const adx_tensor_arrays *a)
{
    for (uint32_t i = 0; i < t->tree.inputs; i++) {
        bool wanted = (a->dx != NULL && a->dx[i] != NULL)
                   || (a->hv != NULL && a->hv[i] != NULL);
        if (wanted && adx_tensor_value_at(t, t->program->input[i])->crowded)
            return true;
    }
    return false;
}

// Evaluates a part of the program. Results that no step makes are cleared.
static ad_status adx_evaluate_tensor(ad_tensor *t, const adx_tensor_arrays *a)
{
    ad_status status = ad_tensor_bind(t, NULL);
    if (status == ADREV_OK && adx_wants_crowded(t, a))
        status = ADREV_ESHAPE;
    if (status != ADREV_OK)
        return status;
    const adx_tensor_program *p = t->program;
    adx_evaluating e = { .t = t };
    status = !adx_begin_evaluating(&e, a) ? ADREV_ENOMEM
           : !adx_take_given(&e, a) ? ADREV_ESHAPE : ADREV_OK;
    if (status == ADREV_OK) {
        adx_place_values(&e);
        adx_run_program(&e, a->part);
        adx_clear_unmade(&e, p->tangent_out, p->out, t->tree.outs, a->dy);
        adx_clear_unmade(&e, p->adjoint_in, p->input, t->tree.inputs, a->dx);
        adx_clear_unmade(&e, p->second_in, p->input, t->tree.inputs, a->hv);
    }
    adx_end_evaluating(&e);
    return status;
}

ADX_API ad_status ad_tensor_eval(ad_tensor *t, const ad_real *const x[],
                                 ad_real *const y[])
{
    const adx_tensor_arrays a = { .part = ADREV_TENSOR_VALUE, .x = x, .y = y };
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_jvp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const v[], ad_real *const y[],
                                ad_real *const dy[])
{
    const adx_tensor_arrays a = {
        .part = ADREV_TENSOR_JVP, .x = x, .v = v, .y = y, .dy = dy
    };
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_vjp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const w[], ad_real *const y[],
                                ad_real *const dx[])
{
    const adx_tensor_arrays a = {
        .part = ADREV_TENSOR_VJP, .x = x, .w = w, .y = y, .dx = dx
    };
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_gradient(ad_tensor *t, const ad_real *const x[],
                                     ad_real *f, ad_real *const g[])
{
    const ad_real *const w[] = { adx_one };
    ad_real *const y[] = { f };
    const adx_tensor_arrays a = {
        .part = ADREV_TENSOR_VJP, .x = x, .w = w, .y = y, .dx = g
    };
    if (t == NULL || t->tree.outs != 1)
        return ADREV_ESHAPE;
    for (uint32_t i = 1; i < t->tree.array_count; i++)
        if (t->tree.array[i].out && t->tree.array[i].rank > 0)
            return ADREV_ESHAPE;
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_hvp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const w[],
                                const ad_real *const v[], ad_real *const hv[])
{
    const adx_tensor_arrays a = {
        .part = ADREV_TENSOR_HVP, .x = x, .v = v, .w = w, .hv = hv
    };
    return adx_evaluate_tensor(t, &a);
}

/* --- counts -------------------------------------------------------------- */

// Counts the points of strips.
static bool adx_count_points(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    (void)x;
    (void)var;
    *(uint64_t *)user += (uint64_t)count;
    return true;
}

// Returns how many points a term has: known, or counted by its loops.
static uint64_t adx_points_of_term(const adx_tensor_term *term, int64_t x[])
{
    uint64_t n = 0;
    if (term->loop->points != UINT64_MAX)
        return term->loop->points;
    adx_walk_nest(term->loop->nest, x, adx_count_points, &n);
    return n;
}

// Finds the numbers that a term writes, by running its loops. (The other ways
// may need the inverse of a map, which would live as long as the program.)
// False: no memory.
static bool adx_cover_by_loops(adx_arena *a, const adx_tensor_value *v,
                              const adx_tensor_term *term, int64_t x[],
                              adx_bitmap *bits)
{
    adx_set s = *term->set;
    adx_covering m = { .bits = bits };
    s.arena = a;
    int64_t *form = ADX_GET(a, s.width, int64_t);
    if (form == NULL)
        return false;
    adx_place_form(&s, v, term->out, false, form);
    if (!adx_make_sparse_form(&s, form, UINT32_MAX, &m.place))
        return false;
    adx_walk_nest(term->loop->nest, x, adx_cover_points, &m);
    return true;
}

// How many numbers are written. False: no memory.
static bool adx_count_written(const ad_tensor *t, const adx_tensor_value *v,
                              int64_t x[], uint64_t *n)
{
    adx_arena a = { .memory = &t->memory };
    if ((v->full && !v->gaps) || v->support != NULL) {
        *n = v->full ? v->size : v->support->set;
        return true;
    }
    adx_bitmap *bits = adx_new_bitmap(&a, v->size);
    for (uint32_t j = 0; j < v->terms && bits != NULL; j++)
        if (!adx_cover_by_loops(&a, v, &v->term[j], x, bits))
            bits = NULL;
    *n = bits == NULL ? 0 : bits->set;
    adx_free_arena(&a);
    return bits != NULL;
}

// A sum adds all points but the first of each number. False: no memory.
static bool adx_count_value(const ad_tensor *t, const adx_tensor_value *v,
                            int64_t x[], ad_tensor_cost *cost)
{
    uint64_t points = 0;
    uint64_t distinct = 0;
    bool ok = v->once || adx_count_written(t, v, x, &distinct);
    for (uint32_t j = 0; j < v->terms; j++) {
        const adx_tensor_term *term = &v->term[j];
        uint64_t n = adx_points_of_term(term, x);
        bool scaled = term->factors > 0 && term->k != 1 && term->k != -1;
        uint64_t factors = term->factors > 0 ? term->factors - 1 : 0;
        points += n;
        if (v->kind == ADX_VALUE_SUM)
            cost->mul += n * (factors + scaled);
    }
    distinct = v->once ? points : distinct;
    if (v->kind == ADX_VALUE_SUM)
        cost->add += points > distinct ? points - distinct : 0;
    else if (v->kind == ADX_VALUE_MOST)
        cost->fn += points > distinct ? points - distinct : 0;
    else if (v->op == ADREV_OP_div)
        cost->mul += points;
    else
        cost->fn += points;
    return ok;
}

// Finds what the results of a part need that are wanted; NULL: all.
static void adx_need_part(const ad_tensor *t, ad_tensor_part part,
                          const bool wanted[], bool needed[])
{
    const adx_tensor_program *p = t->program;
    const uint32_t *result = part == ADREV_TENSOR_VALUE ? p->out
                           : part == ADREV_TENSOR_JVP ? p->tangent_out
                           : part == ADREV_TENSOR_VJP ? p->adjoint_in
                           : p->second_in;
    uint32_t n = part >= ADREV_TENSOR_VJP ? t->tree.inputs : t->tree.outs;
    memset(needed, 0, p->values * sizeof *needed);
    for (uint32_t i = 0; i < n; i++)
        if (result[i] != 0 && (wanted == NULL || wanted[i]))
            needed[result[i]] = true;
    adx_need_all(p, needed);
}

// Counts the numbers of inputs and results.
static size_t adx_numbers_around(const ad_tensor *t)
{
    const adx_tensor_program *p = t->program;
    size_t n = 0;
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        n += (size_t)p->value[p->input[i]].size;
    for (uint32_t i = 0; i < t->tree.outs; i++)
        n += (size_t)p->value[p->out[i]].size;
    return n;
}

ADX_API ad_status ad_tensor_count(ad_tensor *t, ad_tensor_part part,
                                  const bool wanted[], ad_tensor_cost *cost)
{
    if (t == NULL || cost == NULL || part > ADREV_TENSOR_HVP)
        return ADREV_ESHAPE;
    ad_status status = ad_tensor_bind(t, NULL);
    if (status != ADREV_OK)
        return status;
    const adx_tensor_program *p = t->program;
    adx_evaluating e = { .t = t };
    e.needed = (bool *)adx_take(&t->memory, p->values, sizeof *e.needed);
    e.x = (int64_t *)adx_take(&t->memory, p->vars, sizeof *e.x);
    if (e.needed != NULL && e.x != NULL) {
        memset(cost, 0, sizeof *cost);
        adx_need_part(t, part, wanted, e.needed);
        for (uint32_t i = 0; i < p->steps; i++)
            if (e.needed[p->order[i]]
                && !adx_count_value(t, &p->value[p->order[i]], e.x, cost))
                status = ADREV_ENOMEM;
        cost->io = adx_numbers_around(t);
        cost->work = (size_t)adx_numbers_needed(p, e.needed, NULL)
                   * sizeof(ad_real);
    } else
        status = ADREV_ENOMEM;
    adx_drop(&t->memory, e.needed);
    adx_drop(&t->memory, e.x);
    return status;
}

ADX_SELDOM_END

/* === tensor/spelling ========================================================
 * Steps as formulas of the language: what values, variables, tables, forms and
 * conditions are called, and terms. A term is a sum over those variables of its
 * set that do not say which number is written; the others stand behind `for`.
 *
 *   needs   check/print tensor/api tensor/tree tensor/sets tensor/nests
 *           tensor/binding tensor/print tensor/programs tensor/derive
 *   offers  adx_explainer adx_value_spelt adx_spell adx_spell_whole
 *           adx_spell_count adx_spell_table adx_row_spelling adx_spell_var
 *           adx_spell_terms adx_spell_bit adx_spell_formula
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_explainer {
    const ad_tensor *t;
    adx_tree_printer to;
    adx_writer out;             // the same
    bool *needed;               // [values]
    uint32_t *derived;          // [values] whose derivative it is, or 0
    uint32_t *unnamed;          // [values] number of an unnamed one, or 0
    ad_tensor_cost *cost;       // [steps]
    uint64_t *written;          // [steps] numbers
    int64_t *x;                 // [vars]
    bool *own;                  // [vars] it says which number is written
    const adx_set *set;         // whose variables are spelt
} adx_explainer;

// Returns the value as it was before its numbers got other places: texts speak
// of the indices of the formula.
static const adx_tensor_value *adx_value_spelt(const adx_explainer *e,
                                               uint32_t value)
{
    return &e->t->program->spelt[value];
}

static void adx_spell(const adx_explainer *e, const char *text)
{
    adx_put_string_of(&e->to, text);
}

static void adx_spell_whole(const adx_explainer *e, int64_t v)
{
    adx_spell(e, v < 0 ? "-" : "");
    adx_put_natural(&e->to, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

// Writes "3 points"; word: in the singular.
static void adx_spell_count(const adx_explainer *e, uint64_t n,
                            const char *word)
{
    adx_put_natural(&e->to, n);
    adx_spell(e, " ");
    adx_spell(e, word);
    adx_spell(e, n == 1 ? "" : "s");
}

/* --- names --------------------------------------------------------------- */

// Returns where the text names the input, or the result, of this order.
static adx_spot adx_spot_of_array(const adx_explainer *e, uint32_t order,
                                  bool out)
{
    const adx_tree *tree = &e->t->tree;
    uint32_t i = 1;
    while (tree->array[i].order != order || tree->array[i].out != out
           || (!out && tree->array[i].formula != 0))
        i++;
    return tree->array[i].name;
}

// Writes the name of a value: of an array, or of the value that it is a
// derivative of, with ' for a tangent and ~ for an adjoint; a value without a
// name has a number.
static void adx_spell_value(const adx_explainer *e, uint32_t value)
{
    const adx_tensor_value *v = adx_value_spelt(e, value);
    const adx_tensor_value *of = adx_value_spelt(e, e->derived[value]);
    if (v->kind == ADX_VALUE_WEIGHT) {
        adx_spell(e, "w(");
        adx_put_spot(&e->to, adx_spot_of_array(e, v->order, true));
        adx_spell(e, ")");
    } else if (v->array != 0)
        adx_put_spot(&e->to, e->t->tree.array[v->array].name);
    else if (e->derived[value] != 0) {
        adx_spell_value(e, e->derived[value]);
        adx_spell(e, of->tangent == value ? "'" : "~");
    } else {
        adx_spell(e, "#");
        adx_put_natural(&e->to, e->unnamed[value]);
    }
}

// Writes the name of a map, or of a column of a relation: r.0.
static void adx_spell_table(const adx_explainer *e, const adx_int_table *table)
{
    const adx_tree *tree = &e->t->tree;
    const adx_tensor_program *p = e->t->program;
    for (uint32_t i = 1; i < tree->map_count; i++)
        if (p->map[i] == table)
            adx_put_spot(&e->to, tree->map[i].name);
    for (uint32_t i = 1; i < tree->relation_count; i++)
        for (uint32_t c = 0; c < tree->relation[i].arity; c++)
            if (p->column[p->column_of[i] + c] == table) {
                adx_put_spot(&e->to, tree->relation[i].name);
                adx_spell(e, ".");
                adx_put_natural(&e->to, c);
            }
}

// Returns the row that makes a variable without a name the value of a map, of
// variables before it; or UINT32_MAX.
static uint32_t adx_row_spelling(const adx_set *s, uint32_t v)
{
    for (uint32_t r = 0; r < s->rows && s->called[v] == 0; r++) {
        uint32_t count;
        uint32_t var = 0;
        const int64_t *form = adx_form_of(s, r);
        if (s->row[r].kind != ADX_ROW_VALUE || form[1 + v] != 1 || form[0] != 0)
            continue;
        bool before = true;
        adx_divisor_of(s, form, &count, &var);
        for (uint32_t i = v; i < s->vars; i++)
            before = before && adx_form_of(s, s->row[r].at)[1 + i] == 0;
        if (count == 1 && before)
            return r;
    }
    return UINT32_MAX;
}

// Whether a variable is there, and is spelt as itself.
static bool adx_is_spelt(const adx_set *s, uint32_t v)
{
    return !s->gone[v] && adx_row_spelling(s, v) == UINT32_MAX;
}

// Returns where the text names the index that a variable stands for; an empty
// spot if it has none.
static adx_spot adx_spot_of_var(const adx_explainer *e, uint32_t v)
{
    return e->t->tree.index[e->set->called[v]].name;    // index 0: no text
}

// Whether two variables have the same name in the text.
static bool adx_same_name(const adx_explainer *e, uint32_t u, uint32_t v)
{
    adx_spot a = adx_spot_of_var(e, u);
    adx_spot b = adx_spot_of_var(e, v);
    const char *text = e->t->tree.text;
    return a.length == b.length
        && memcmp(text + a.at, text + b.at, a.length) == 0;
}

static void adx_spell_form(const adx_explainer *e, int64_t form[]);

// Writes a variable: i, or i.2 if there is another i; without a name #e, an
// entry of a relation.
static void adx_spell_var(const adx_explainer *e, uint32_t v)
{
    const adx_set *s = e->set;
    uint32_t r = adx_row_spelling(s, v);
    if (r != UINT32_MAX) {
        adx_spell_table(e, s->row[r].table);
        adx_spell(e, "[");
        adx_spell_form(e, adx_form_of(s, s->row[r].at));
        adx_spell(e, "]");
        return;
    }
    uint64_t same = 1;
    for (uint32_t u = 0; u < v; u++)
        same += adx_is_spelt(s, u) && adx_same_name(e, u, v);
    if (s->called[v] == 0)
        adx_spell(e, "#e");
    else
        adx_put_spot(&e->to, adx_spot_of_var(e, v));
    if (same > 1) {
        adx_spell(e, ".");
        adx_put_natural(&e->to, same);
    }
}

/* --- forms and conditions ------------------------------------------------ */

// Writes times*(c + sum k[i]*x[var[i]]), var NULL: x[i]; `positive`: only what
// is positive in it.
static void adx_spell_terms(const adx_explainer *e, const adx_sparse_form *f,
                            int64_t times, bool positive)
{
    bool any = false;
    for (uint32_t i = 0; i < f->n; i++) {
        int64_t by = times * f->k[i];
        if (by == 0 || (positive && by < 0))
            continue;
        adx_spell(e, by < 0 ? "-" : any ? "+" : "");
        if (by != 1 && by != -1) {
            adx_put_natural(&e->to, (uint64_t)(by < 0 ? -by : by));
            adx_spell(e, "*");
        }
        adx_spell_var(e, f->var == NULL ? i : f->var[i]);
        any = true;
    }
    int64_t c = times * f->c;
    c = positive && c < 0 ? 0 : c;
    if (c != 0 || !any) {
        adx_spell(e, any && c > 0 ? "+" : "");
        adx_spell_whole(e, c);
    }
}

// Returns a form of all variables.
static adx_sparse_form adx_all_of_form(const adx_explainer *e, int64_t form[])
{
    const adx_sparse_form all = { form[0], e->set->vars, NULL, form + 1 };
    return all;
}

// Writes a form of the variables.
static void adx_spell_form(const adx_explainer *e, int64_t form[])
{
    const adx_sparse_form all = adx_all_of_form(e, form);
    adx_spell_terms(e, &all, 1, false);
}

// Writes a form that is 0, or not negative: what is positive on the one side,
// what is negative on the other. If there are variables on the right only:
// turned.
static void adx_spell_comparison(const adx_explainer *e, int64_t form[],
                                 bool zero)
{
    const adx_sparse_form all = adx_all_of_form(e, form);
    bool left = false;
    for (uint32_t v = 0; v < e->set->vars; v++)
        left = left || form[1 + v] > 0;
    adx_spell_terms(e, &all, left ? 1 : -1, true);
    adx_spell(e, zero ? " == " : left ? " >= " : " <= ");
    adx_spell_terms(e, &all, left ? -1 : 1, true);
}

// Returns the relation of a column, and which column it is; 0: it is a map.
static uint32_t adx_relation_of(const adx_explainer *e,
                                const adx_int_table *table, uint32_t *column)
{
    const adx_tree *tree = &e->t->tree;
    for (uint32_t i = 1; i < tree->relation_count; i++)
        for (*column = 0; *column < tree->relation[i].arity; ++*column)
            if (e->t->program->column[e->t->program->column_of[i] + *column]
                == table)
                return i;
    return 0;
}

// Returns the row that says what is in another column of the same entry.
static uint32_t adx_row_of_column(const adx_explainer *e, uint32_t relation,
                                  uint32_t column, uint32_t row)
{
    const adx_set *s = e->set;
    const adx_tensor_program *p = e->t->program;
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind == ADX_ROW_VALUE
            && s->row[r].table == p->column[p->column_of[relation] + column]
            && memcmp(adx_form_of(s, s->row[r].at),
                      adx_form_of(s, s->row[row].at),
                      (1 + s->vars) * sizeof *s->k) == 0)
            return r;
    return UINT32_MAX;
}

// Writes "R[e] == (i,j)", all columns at once, with the row of the first of
// them.
static void adx_spell_value_row(const adx_explainer *e, uint32_t row)
{
    const adx_set *s = e->set;
    uint32_t column = 0;
    uint32_t relation = adx_relation_of(e, s->row[row].table, &column);
    uint32_t n = relation == 0 ? 1 : e->t->tree.relation[relation].arity;
    if (relation == 0)
        adx_spell_table(e, s->row[row].table);
    else
        adx_put_spot(&e->to, e->t->tree.relation[relation].name);
    adx_spell(e, "[");
    adx_spell_form(e, adx_form_of(s, s->row[row].at));
    adx_spell(e, n > 1 ? "] == (" : "] == ");
    for (uint32_t c = 0; c < n; c++) {
        uint32_t r = relation == 0 ? row
                   : adx_row_of_column(e, relation, c, row);
        adx_spell(e, c == 0 ? "" : ",");
        if (r == UINT32_MAX)
            adx_spell(e, "*");
        else
            adx_spell_form(e, adx_form_of(s, r));
    }
    adx_spell(e, n > 1 ? ")" : "");
}

// Writes "A written at 9*i+j", where the bits are those of a value; else "bit
// 9*i+j".
static void adx_spell_bit(const adx_explainer *e, const adx_bitmap *bits)
{
    const adx_tensor_program *p = e->t->program;
    for (uint32_t i = 1; i < p->values; i++)
        if (p->spelt[i].support == bits) {
            adx_spell_value(e, i);
            adx_spell(e, " written at ");
            return;
        }
    adx_spell(e, "bit ");
}

// Whether a row is a condition that is spelt by itself.
static bool adx_is_condition(const adx_explainer *e, uint32_t row)
{
    const adx_set *s = e->set;
    if (s->row[row].kind <= ADX_ROW_FORM)
        return false;
    if (s->row[row].kind != ADX_ROW_VALUE)
        return true;
    for (uint32_t v = 0; v < s->vars; v++)
        if (!s->gone[v] && adx_row_spelling(s, v) == row)
            return false;
    uint32_t column = 0;
    uint32_t relation = adx_relation_of(e, s->row[row].table, &column);
    for (uint32_t c = 0; relation != 0 && c < column; c++)
        if (adx_row_of_column(e, relation, c, row) != UINT32_MAX)
            return false;
    return true;
}

// Writes " of exists(k<n: R(i,k))": the words of the text, with the names
// there.
static void adx_spell_words(const adx_explainer *e, uint32_t node)
{
    adx_tree_kind kind = e->t->tree.node[node].kind;
    bool several = kind == ADX_TREE_AND || kind == ADX_TREE_OR;
    if (node == 0)
        return;
    adx_spell(e, several ? " of (" : " of ");
    adx_put_condition(&e->to, node);
    adx_spell(e, several ? ")" : "");
}

// Writes the condition that a row of the set is.
static void adx_spell_condition(const adx_explainer *e, uint32_t row)
{
    const adx_set_row *r = &e->set->row[row];
    int64_t *form = adx_form_of(e->set, row);
    switch (r->kind) {
    case ADX_ROW_ZERO:
    case ADX_ROW_SIGN:
        adx_spell_comparison(e, form, r->kind == ADX_ROW_ZERO);
        break;
    case ADX_ROW_VALUE:
        adx_spell_value_row(e, row);
        break;
    default:
        adx_spell(e, r->kind == ADX_ROW_BIT ? "" : "no ");
        adx_spell_bit(e, r->bits);
        adx_spell_form(e, form);
        adx_spell_words(e, r->bits->node);
    }
}

/* --- sets ---------------------------------------------------------------- */

// Finds the variables that say which number is written: those in its indices,
// and what maps make of them.
static void adx_find_own(const adx_explainer *e, const adx_tensor_term *term,
                         uint32_t dims)
{
    const adx_set *s = term->set;
    memset(e->own, 0, s->vars * sizeof *e->own);
    for (uint32_t i = 0; i < dims; i++)
        for (uint32_t v = 0; v < s->vars; v++)
            if (adx_form_of(s, term->out + i)[1 + v] != 0)
                e->own[v] = true;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t r = 0; r < s->rows; r++) {
            uint32_t count;
            uint32_t v = 0;
            if (s->row[r].kind != ADX_ROW_VALUE)
                continue;
            adx_divisor_of(s, adx_form_of(s, r), &count, &v);
            bool known = count == 1 && !e->own[v];
            for (uint32_t i = 0; i < s->vars && known; i++)
                known = adx_form_of(s, s->row[r].at)[1 + i] == 0 || e->own[i];
            e->own[v] = e->own[v] || known;
            more = more || known;
        }
    }
}

// Whether a row says something of variables that are not own.
static bool adx_is_of_others(const adx_explainer *e, uint32_t row)
{
    const adx_set *s = e->set;
    for (uint32_t v = 0; v < s->vars; v++)
        if (!e->own[v]
            && (adx_form_of(s, row)[1 + v] != 0
                || (s->row[row].kind == ADX_ROW_VALUE
                    && adx_form_of(s, s->row[row].at)[1 + v] != 0)))
            return true;
    return false;
}

// Writes "i<9" or "i in 1:8".
static void adx_spell_range(const adx_explainer *e, uint32_t v)
{
    adx_spell_var(e, v);
    adx_spell(e, e->set->low[v] == 0 ? "<" : " in ");
    if (e->set->low[v] != 0) {
        adx_spell_whole(e, e->set->low[v]);
        adx_spell(e, ":");
    }
    adx_spell_whole(e, e->set->high[v] + 1);
}

// Writes "i<9, j<9: i >= j", of the variables that are own, or of the others,
// with `begin` in front, or nothing if there are none. Returns whether there
// are some.
static bool adx_spell_set(const adx_explainer *e, bool own, const char *begin)
{
    const adx_set *s = e->set;
    bool any = false;
    for (uint32_t v = 0; v < s->vars; v++)
        if (e->own[v] == own && adx_is_spelt(s, v)) {
            adx_spell(e, any ? ", " : begin);
            adx_spell_range(e, v);
            any = true;
        }
    bool first = true;
    for (uint32_t r = 0; r < s->rows; r++)
        if (adx_is_condition(e, r) && adx_is_of_others(e, r) != own) {
            adx_spell(e, !first ? ", " : any ? ": " : begin);
            adx_spell_condition(e, r);
            any = true;
            first = false;
        }
    return any;
}

/* --- formulas ------------------------------------------------------------ */

// Writes a number that is read or written: its value and its indices.
static void adx_spell_access(const adx_explainer *e, adx_access a)
{
    const adx_tensor_value *v = adx_value_spelt(e, a.value);
    adx_spell_value(e, a.value);
    for (uint32_t i = 0; i < v->dims; i++) {
        adx_spell(e, i == 0 ? "[" : ",");
        adx_spell_form(e, adx_form_of(e->set, a.row + i));
    }
    adx_spell(e, v->dims > 0 ? "]" : "");
}

// Writes the product that a point adds, or the function that it is.
static void adx_spell_product(const adx_explainer *e, const adx_tensor_value *v,
                              const adx_tensor_term *term)
{
    ad_real k = term->k < 0 ? -term->k : term->k;
    bool call = (v->kind == ADX_VALUE_APPLICATION && v->op != ADREV_OP_div)
             || v->kind == ADX_VALUE_PARTIAL || v->kind == ADX_VALUE_SECOND;
    if (v->kind == ADX_VALUE_SECOND)
        adx_print(&e->out, "d%z ", (size_t)v->second->by + 1);
    if (v->kind == ADX_VALUE_PARTIAL || v->kind == ADX_VALUE_SECOND)
        adx_print(&e->out, "d%z ", (size_t)v->which + 1);
    if (call)
        adx_print(&e->out, "%s(", ad_op_table()[v->op].name);
    else if (k != 1 || term->factors == 0)
        adx_print(&e->out, term->factors == 0 ? "%g" : "%g*", (double)k);
    bool square = v->kind == ADX_VALUE_SUM && adx_is_square(e->t, term);
    for (uint32_t i = 0; i < term->factors; i++) {
        if (i == 1 && square) {
            adx_spell(e, "^2");
            break;
        }
        adx_spell(e, i == 0 ? "" : call ? ", "
                    : v->kind == ADX_VALUE_APPLICATION ? "/" : "*");
        adx_spell_access(e, term->factor[i]);
    }
    adx_spell(e, call ? ")" : "");
}

// Writes a term: what it sums over, its constant and its factors.
static void adx_spell_term(const adx_explainer *e, const adx_tensor_value *v,
                           const adx_tensor_term *term)
{
    const char *sum = v->kind != ADX_VALUE_MOST ? "sum("
                    : v->op == ADREV_OP_min ? "minimum(" : "maximum(";
    bool open = adx_spell_set(e, false, sum);
    if (term->most != 0) {
        const adx_access most = { term->most, term->at };
        adx_spell(e, open ? ", first " : "sum(first ");
        adx_spell_access(e, term->picked);
        adx_spell(e, " == ");
        adx_spell_access(e, most);
        open = true;
    }
    adx_spell(e, open ? ") " : "");
    adx_spell_product(e, v, term);
}

// Whether the indices of what is written say for which own variables.
static bool adx_is_solved(const adx_tensor_value *v,
                          const adx_tensor_term *term)
{
    const adx_set *s = term->set;
    for (uint32_t u = 0; u < s->vars; u++) {
        bool used = false;
        bool alone = false;
        for (uint32_t i = 0; i < v->dims; i++) {
            uint32_t count;
            uint32_t var = 0;
            const int64_t *form = adx_form_of(s, term->out + i);
            adx_divisor_of(s, form, &count, &var);
            used = used || form[1 + u] != 0;
            alone = alone || (count == 1 && var == u);
        }
        if (used && !alone)
            return false;
    }
    return true;
}

// An ad_write_fn that keeps a hash of the text alone.
static void adx_hash_spelt(const char *text, size_t n, void *user)
{
    uint64_t *hash = (uint64_t *)user;
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ (unsigned char)text[i]) * 0x100000001b3u;
}

// Returns a hash of what a term has on the left side; behind: of what is behind
// `for`.
static uint64_t adx_hash_of_term(const adx_explainer *e, uint32_t value,
                                 const adx_tensor_term *term, bool behind)
{
    uint64_t hash = 0xcbf29ce484222325u;
    adx_explainer h = *e;
    h.to.write = adx_hash_spelt;
    h.to.user = &hash;
    h.set = term->set;
    adx_find_own(&h, term, adx_value_spelt(e, value)->dims);
    if (behind)
        adx_spell_set(&h, true, "    for ");
    else
        adx_spell_access(&h, (adx_access){ value, term->out });
    return hash;
}

// Whether all terms have the same text there.
static bool adx_terms_agree(const adx_explainer *e, uint32_t value, bool behind)
{
    const adx_tensor_value *v = adx_value_spelt(e, value);
    bool same = true;
    for (uint32_t j = 1; j < v->terms && same; j++)
        same = adx_hash_of_term(e, value, &v->term[j], behind)
            == adx_hash_of_term(e, value, v->term, behind);
    return same;
}

// Whether a step is one sum for each number: the left side says for which.
static bool adx_is_one_sum(const adx_explainer *e, uint32_t value)
{
    const adx_tensor_value *v = adx_value_spelt(e, value);
    for (uint32_t j = 0; j < v->terms; j++)
        if (!adx_is_solved(v, &v->term[j]))
            return false;
    return adx_terms_agree(e, value, false);
}

// Writes a value as a formula: one sum if all terms write the same indices,
// else a line for each term.
static void adx_spell_formula(adx_explainer *e, uint32_t value)
{
    const adx_tensor_value *v = adx_value_spelt(e, value);
    bool one = adx_is_one_sum(e, value);
    bool once = one && adx_terms_agree(e, value, true);
    for (uint32_t j = 0; j < v->terms; j++) {
        const adx_tensor_term *term = &v->term[j];
        const adx_access out = { value, term->out };
        bool minus = term->k < 0;
        e->set = term->set;
        adx_find_own(e, term, v->dims);
        adx_spell(e, j == 0 ? "" : "     ");
        if (j == 0 || !one) {
            adx_spell_access(e, out);
            adx_spell(e, !one ? minus ? " -= " : " += "
                              : minus ? " = -" : " = ");
        } else
            adx_spell(e, minus ? "    - " : "    + ");
        adx_spell_term(e, v, term);
        if (!once || j + 1 == v->terms)
            adx_spell_set(e, true, "    for ");
        adx_spell(e, "\n");
    }
    if (v->terms == 0) {
        adx_spell_value(e, value);
        adx_spell(e, " = 0\n");
    }
}

ADX_SELDOM_END

/* === tensor/explain =========================================================
 * What became of a text, as text to read: the tree, and of one part its steps,
 * each as a formula (tensor/spelling), with the numbers that it writes, its
 * loops and its operations; which terms are products of matrices, and how a
 * step is cut into parts.
 *
 *   needs   tape/memory tensor/api tensor/tree tensor/sets tensor/nests
 *           tensor/binding tensor/print tensor/programs tensor/sharing
 *           tensor/parts tensor/matrices tensor/queries tensor/spelling
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- which numbers are written ------------------------------------------- */

// Finds the least and the largest index that terms write, as far as bounds say.
static void adx_find_box(const adx_tensor_value *v, uint32_t dim, int64_t *low,
                         int64_t *high)
{
    *low = INT64_MAX;
    *high = INT64_MIN;
    for (uint32_t j = 0; j < v->terms; j++) {
        const adx_set *s = v->term[j].set;
        const int64_t *form = adx_form_of(s, v->term[j].out + dim);
        int64_t least = adx_extreme(s, form, false);
        int64_t most = adx_extreme(s, form, true);
        *low = least < *low ? least : *low;
        *high = most > *high ? most : *high;
    }
    *low = *low < v->low[dim] ? v->low[dim] : *low;
    *high = *high > v->low[dim] + v->extent[dim] - 1
          ? v->low[dim] + v->extent[dim] - 1 : *high;
}

// Says how many numbers of a value a step writes, and in which box they lie.
static void adx_spell_written(const adx_explainer *e, const adx_tensor_value *v,
                              uint64_t written)
{
    uint64_t box = 1;
    adx_spell(e, "      writes ");
    if (written == v->size) {
        adx_spell(e, v->size > 1 ? "all " : "");
        adx_spell_count(e, v->size, "number");
        adx_spell(e, "\n");
        return;
    }
    adx_put_natural(&e->to, written);
    adx_spell(e, " of ");
    adx_spell_count(e, v->size, "number");
    for (uint32_t i = 0; i < v->dims && written > 0; i++) {
        int64_t low;
        int64_t high;
        adx_find_box(v, i, &low, &high);
        adx_spell(e, i == 0 ? ", in [" : ",");
        adx_spell_whole(e, low);
        adx_spell(e, ":");
        adx_spell_whole(e, high + 1);
        box *= (uint64_t)(high - low + 1);
    }
    adx_spell(e, written == 0 ? "\n" : box == written ? "], a box\n" : "]\n");
}

/* --- loops --------------------------------------------------------------- */

// Returns the least or largest value of a form, as far as the ranges of the
// levels tell.
static int64_t adx_extreme_spelt(const adx_explainer *e,
                                 const adx_sparse_form *f, bool most)
{
    int64_t sum = f->c;
    for (uint32_t i = 0; i < f->n; i++)
        sum += f->k[i] * ((f->k[i] > 0) == most ? e->set->high[f->var[i]]
                                                : e->set->low[f->var[i]]);
    return sum;
}

// Whether a bound of a level can be inside the range of its variable.
static bool adx_is_bound_spelt(const adx_explainer *e, const adx_nest_level *l,
                               const adx_set_check *b)
{
    int64_t least = adx_extreme_spelt(e, &b->form, false);
    return b->k > 0 ? -least > b->k * l->low : least < -b->k * l->high;
}

// Writes a form times a number, divided by another.
static void adx_spell_quotient(const adx_explainer *e, const adx_sparse_form *f,
                               int64_t times, int64_t by)
{
    bool group = f->n > 1 || f->c != 0;
    adx_spell(e, group ? "(" : "");
    adx_spell_terms(e, f, times, false);
    adx_spell(e, group ? ")/" : "/");
    adx_spell_whole(e, by);
}

// Writes the x from which, or before which, k*x + form >= 0.
static void adx_spell_bound(const adx_explainer *e, const adx_set_check *b)
{
    adx_sparse_form f = b->form;
    bool lower = b->k > 0;
    f.c += b->k == -1;
    if (adx_is_unit(b->k)) {
        adx_spell_terms(e, &f, -b->k, false);
        return;
    }
    adx_spell(e, lower ? "ceil(" : "floor(");
    adx_spell_quotient(e, &f, lower ? -1 : 1, lower ? b->k : -b->k);
    adx_spell(e, lower ? ")" : ")+1");
}

// Whether a bound is of this end, and moves.
static bool adx_is_moving(const adx_explainer *e, const adx_nest_level *l,
                          const adx_set_check *b, bool lower)
{
    return (b->k > 0) == lower && b->form.n > 0 && adx_is_bound_spelt(e, l, b);
}

// Returns one end of a range without the bounds that move.
static int64_t adx_fixed_end(const adx_nest_level *l, bool lower)
{
    int64_t end = lower ? l->low : l->high;
    for (uint32_t i = 0; i < l->bounds; i++) {
        const adx_set_check *b = &l->bound[i];
        if (b->form.n > 0 || (b->k > 0) != lower)
            continue;
        int64_t at = lower ? adx_ceil_div(-b->form.c, b->k)
                           : adx_floor_div(b->form.c, -b->k);
        end = lower == (at > end) ? at : end;
    }
    return lower ? end : end + 1;
}

// Whether no bound that moves is always inside a fixed end.
static bool adx_counts(const adx_explainer *e, const adx_nest_level *l,
                       bool lower, int64_t end)
{
    for (uint32_t i = 0; i < l->bounds; i++) {
        const adx_set_check *b = &l->bound[i];
        if (!adx_is_moving(e, l, b, lower))
            continue;
        int64_t most = adx_extreme_spelt(e, &b->form, true);
        if (lower ? adx_ceil_div(-most, b->k) >= end
                  : adx_floor_div(most, -b->k) + 1 <= end)
            return false;
    }
    return true;
}

// Writes one end of a range: a number, a bound, or the largest, or least, of
// several.
static void adx_spell_end(const adx_explainer *e, const adx_nest_level *l,
                          bool lower)
{
    int64_t end = adx_fixed_end(l, lower);
    bool fixed = adx_counts(e, l, lower, end);
    uint32_t n = fixed;
    for (uint32_t i = 0; i < l->bounds; i++)
        n += adx_is_moving(e, l, &l->bound[i], lower);
    adx_spell(e, n < 2 ? "" : lower ? "max(" : "min(");
    if (fixed)
        adx_spell_whole(e, end);
    for (uint32_t i = 0; i < l->bounds; i++)
        if (adx_is_moving(e, l, &l->bound[i], lower)) {
            adx_spell(e, fixed ? ", " : "");
            fixed = true;
            adx_spell_bound(e, &l->bound[i]);
        }
    adx_spell(e, n < 2 ? "" : ")");
}

// Writes a value of a map: its name and its argument.
static void adx_spell_look_up(const adx_explainer *e,
                              const adx_int_table *table,
                              const adx_sparse_form *argument)
{
    adx_spell_table(e, table);
    adx_spell(e, "[");
    adx_spell_terms(e, argument, 1, false);
    adx_spell(e, "]");
}

// Writes a condition that loops test.
static void adx_spell_check(const adx_explainer *e, const adx_set_check *c)
{
    adx_spell(e, c->kind == ADX_ROW_NO_BIT ? " if no " : " if ");
    if (c->kind == ADX_ROW_VALUE) {
        adx_spell_look_up(e, c->table, &c->argument);
        adx_spell(e, " == ");
    } else if (c->kind >= ADX_ROW_BIT)
        adx_spell_bit(e, c->bits);
    adx_spell_terms(e, &c->form, 1, false);
    adx_spell(e, c->kind == ADX_ROW_ZERO ? " == 0"
                : c->kind == ADX_ROW_SIGN ? " >= 0" : "");
}

// Writes k*x + form, with the variable of the level.
static void adx_spell_with(const adx_explainer *e, const adx_nest_level *l,
                           const adx_sparse_form *f)
{
    bool minus = f->n > 0 ? f->k[0] < 0 : f->c < 0;
    adx_spell(e, l->k < 0 ? "-" : "");
    adx_spell_var(e, l->var);
    if (f->n > 0 || f->c != 0) {
        adx_spell(e, minus ? "" : "+");
        adx_spell_terms(e, f, 1, false);
    }
}

// Writes "j = (i-1)/2 if whole"; with 1 or -1 it would have been replaced.
static void adx_spell_solved(const adx_explainer *e, const adx_nest_level *l)
{
    int64_t times = l->k > 0 ? -1 : 1;
    adx_spell_var(e, l->var);
    adx_spell(e, " = ");
    adx_spell_quotient(e, &l->form, times, -l->k * times);
    adx_spell(e, " if whole");
}

// Says what one level of a nest does: a range, a solved variable, a value of a
// map, or the arguments of a map; and what it checks.
static void adx_spell_level(const adx_explainer *e, const adx_nest_level *l)
{
    const adx_set *s = e->set;
    bool value = l->kind == ADX_LEVEL_VALUE;
    if (l->kind == ADX_LEVEL_RANGE) {
        adx_spell_var(e, l->var);
        adx_spell(e, " in ");
        adx_spell_end(e, l, true);
        adx_spell(e, ":");
        adx_spell_end(e, l, false);
    } else if (l->kind == ADX_LEVEL_SOLVED)
        adx_spell_solved(e, l);
    else if (value && adx_row_spelling(s, l->var) != UINT32_MAX)
        adx_spell_var(e, l->var);
    else if (value) {
        adx_spell_with(e, l, &l->form);
        adx_spell(e, " = ");
        adx_spell_look_up(e, l->table, &l->argument);
    } else {
        adx_spell_var(e, l->var);
        adx_spell(e, " with ");
        adx_spell_table(e, l->table);
        adx_spell(e, "[");
        adx_spell_with(e, l, &l->argument);
        adx_spell(e, "] = ");
        bool same = l->form.n == 1
                 && adx_row_spelling(s, l->form.var[0]) != UINT32_MAX;
        if (same)
            adx_spell(e, "that");
        else
            adx_spell_terms(e, &l->form, 1, false);
    }
    for (uint32_t i = 0; i < l->checks; i++)
        adx_spell_check(e, &l->check[i]);
}

// Writes the loops of a term and how many points they find.
static void adx_spell_loops(adx_explainer *e, const adx_tensor_term *term)
{
    const adx_nest *nest = term->loop->found_by;
    e->set = term->set;
    adx_spell(e, "      ");
    for (uint32_t i = 0; i < nest->levels; i++) {
        adx_spell(e, i == 0 ? "loops over " : "; ");
        adx_spell_level(e, &nest->level[i]);
    }
    adx_spell(e, nest->levels > 0 ? ": " : "");
    adx_spell_count(e, adx_points_of_term(term, e->x), "point");
    adx_spell(e, nest == term->loop->nest ? "\n" : ", listed\n");
}

// Writes "as 3 products of matrices, [i,l] times [l,j]".
static void adx_spell_matrices(adx_explainer *e, const adx_tensor_term *term)
{
    const adx_matrices *m = term->loop->matrices;
    uint64_t products = 1;
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->loops; i++)
        products *= (uint64_t)m->loop[i].n;
    e->set = term->set;
    adx_spell(e, "      as ");
    adx_spell_count(e, products, "product");
    for (int i = 0; i < 2; i++) {
        adx_spell(e, i == 0 ? " of matrices, [" : "] times [");
        adx_spell_var(e, m->var[i]);
        adx_spell(e, ",");
        adx_spell_var(e, m->var[i + 1]);
    }
    adx_spell(e, e->t->options.gemm == NULL ? "]\n" : "], by gemm\n");
}

// Writes "in 16 parts, by i": by the index that differs between them.
static void adx_spell_cut(adx_explainer *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->t, value);
    const adx_value_cut *c = v->cut;
    if (c == NULL)
        return;
    e->set = v->term->set;
    adx_spell(e, "      in ");
    adx_put_natural(&e->to, c->parts);
    adx_spell(e, c->kind == ADX_CUT_SUMS ? " parts with sums of their own"
                                         : " parts, by ");
    if (c->kind != ADX_CUT_SUMS)
        adx_spell_terms(e, &c->term->form, 1, false);
    adx_spell(e, "\n");
}

/* --- steps --------------------------------------------------------------- */

// Writes how many operations of each kind there are.
static void adx_spell_cost(const adx_explainer *e, const ad_tensor_cost *cost)
{
    adx_spell_count(e, cost->add, "addition");
    adx_spell(e, ", ");
    adx_spell_count(e, cost->mul, "multiplication");
    adx_spell(e, ", ");
    adx_spell_count(e, cost->fn, "function");
}

// Says everything about one step: its formula, what it writes, its loops, its
// parts and its cost.
static void adx_spell_step(adx_explainer *e, uint32_t step, uint64_t number)
{
    uint32_t value = e->t->program->order[step];
    const adx_tensor_value *v = adx_value_spelt(e, value);
    adx_spell(e, number < 10 ? "\n  " : number < 100 ? "\n " : "\n");
    adx_put_natural(&e->to, number);
    adx_spell(e, "  ");
    adx_spell_formula(e, value);
    adx_spell_written(e, v, e->written[step]);
    for (uint32_t j = 0; j < v->terms; j++) {
        adx_spell_loops(e, &v->term[j]);
        adx_spell_matrices(e, &v->term[j]);
    }
    if (e->t->program->value[value].size < v->size)
        adx_spell(e, "      stored on entries\n");
    adx_spell_cut(e, value);
    adx_spell(e, "      ");
    adx_spell_cost(e, &e->cost[step]);
    adx_spell(e, "\n");
}

// Whether a value of this kind is needed.
static bool adx_has_kind(const adx_explainer *e, adx_value_kind kind)
{
    for (uint32_t i = 1; i < e->t->program->values; i++)
        if (e->needed[i] && adx_value_spelt(e, i)->kind == kind)
            return true;
    return false;
}

// Whether a step has a condition that was written down as bits.
static bool adx_has_bits(const adx_explainer *e)
{
    const adx_tensor_program *p = e->t->program;
    for (uint32_t i = 1; i < p->values; i++)
        for (uint32_t j = 0; e->needed[i] && j < p->spelt[i].terms; j++) {
            const adx_set *s = p->spelt[i].term[j].set;
            for (uint32_t r = 0; r < s->rows; r++)
                if (s->row[r].kind >= ADX_ROW_BIT)
                    return true;
        }
    return false;
}

// Whether a step is an unnamed value, or a derivative of one.
static bool adx_has_unnamed(const adx_explainer *e)
{
    for (uint32_t i = 1; i < e->t->program->values; i++) {
        uint32_t of = i;
        while (e->derived[of] != 0)
            of = e->derived[of];
        if (e->needed[i] && e->unnamed[of] != 0)
            return true;
    }
    return false;
}

// Says what the names in the steps mean, if there are any.
static void adx_spell_names(const adx_explainer *e, ad_tensor_part part)
{
    adx_spell(e, part == ADREV_TENSOR_VALUE ? "\nSteps of the value:\n"
                : part == ADREV_TENSOR_JVP ? "\nSteps of the tangents (jvp):\n"
                : part == ADREV_TENSOR_VJP ? "\nSteps of the adjoints (vjp):\n"
                : "\nSteps of the tangents of the adjoints (hvp):\n");
    if (part == ADREV_TENSOR_JVP || part == ADREV_TENSOR_HVP)
        adx_spell(e, "    x' is the tangent of x; those of the inputs are "
                    "given\n");
    if (part >= ADREV_TENSOR_VJP)
        adx_spell(e, "    x~ is the adjoint of x; w(y), the weight of a result "
                    "y, is given\n");
    if (part == ADREV_TENSOR_HVP)
        adx_spell(e, "    x~' is the tangent of the adjoint of x\n");
    if (e->t->tree.relation_count > 1)
        adx_spell(e, "    R[#e] is entry #e of a relation R, R.0[#e] its first "
                     "number\n");
    if (adx_has_unnamed(e))
        adx_spell(e, "    #1, #2 ... are parts of formulas, without a name in "
                    "the text\n");
    if (adx_has_kind(e, ADX_VALUE_PARTIAL))
        adx_spell(e, "    d1 f(..) is the partial of f by its first "
                    "argument\n");
    if (adx_has_kind(e, ADX_VALUE_SECOND))
        adx_spell(e, "    d2 d1 f(..) is the derivative of that by the second "
                     "one\n");
    if (adx_has_bits(e))
        adx_spell(e, "    bits say where a condition is true, or a value is "
                     "written:\n    they were found when the text was "
                     "bound\n");
}

// Writes `next` where a list goes on: something of the same kind came before.
static void adx_spell_between(const adx_explainer *e, uint32_t *listed,
                              bool next)
{
    adx_spell(e, *listed == 0 ? "\nwith " : next ? ", " : "; ");
    ++*listed;
}

// Writes "A by strides (1,4)", where ad_tensor_layout gave some.
static void adx_spell_strides(const adx_explainer *e, uint32_t *listed)
{
    const adx_tree *tree = &e->t->tree;
    bool next = false;
    for (uint32_t i = 1; i < tree->array_count; i++) {
        const ptrdiff_t *stride = e->t->given.stride[i];
        uint32_t n = adx_places_of(tree, &tree->array[i]);
        if (stride == NULL || n == 0)
            continue;
        adx_spell_between(e, listed, next);
        next = true;
        adx_put_spot(&e->to, tree->array[i].name);
        for (uint32_t d = 0; d < n; d++) {
            adx_spell(e, d == 0 ? " by strides (" : ",");
            adx_spell_whole(e, stride[d]);
        }
        adx_spell(e, ")");
    }
}

// Says the sizes, the entries of relations, and the strides that were given.
static void adx_spell_sizes(const adx_explainer *e)
{
    const adx_tree *tree = &e->t->tree;
    uint32_t listed = 0;
    for (uint32_t i = 1; i < tree->size_count; i++) {
        adx_spell_between(e, &listed, true);
        adx_put_spot(&e->to, tree->size[i]);
        adx_spell(e, " = ");
        adx_spell_whole(e, e->t->given.size[i]);
    }
    for (uint32_t i = 1; i < tree->relation_count; i++) {
        size_t n = e->t->given.relation[i].entries;
        adx_spell_between(e, &listed, i > 1);
        adx_put_spot(&e->to, tree->relation[i].name);
        adx_spell(e, " of ");
        adx_put_natural(&e->to, n);
        adx_spell(e, n == 1 ? " entry" : " entries");
    }
    adx_spell_strides(e, &listed);
    adx_spell(e, listed > 0 ? "\n" : "");
}

// Says what a program does: its sizes and names, its steps, and the cost of all
// of them together.
static void adx_spell_program(adx_explainer *e, ad_tensor_part part)
{
    const adx_tensor_program *p = e->t->program;
    ad_tensor_cost all = { 0 };
    uint64_t number = 0;
    adx_spell_sizes(e);
    adx_spell_names(e, part);
    for (uint32_t i = 0; i < p->steps; i++)
        if (e->needed[p->order[i]]) {
            adx_spell_step(e, i, ++number);
            all.add += e->cost[i].add;
            all.mul += e->cost[i].mul;
            all.fn += e->cost[i].fn;
        }
    adx_spell(e, "\nTogether: ");
    adx_spell_cost(e, &all);
    adx_spell(e, ";\n    ");
    adx_spell_count(e, adx_numbers_around(e->t), "number");
    adx_spell(e, " of inputs and results; ");
    adx_spell_count(e, adx_numbers_needed(p, e->needed, NULL) * sizeof(ad_real),
                   "byte");
    adx_spell(e, " for the steps\n");
}

/* --- the interface ------------------------------------------------------- */

// Finds whose derivative each value is, and numbers for unnamed ones.
static void adx_name_values(adx_explainer *e)
{
    const adx_tensor_program *p = e->t->program;
    uint32_t unnamed = 0;
    memset(e->derived, 0, p->values * sizeof *e->derived);
    memset(e->unnamed, 0, p->values * sizeof *e->unnamed);
    for (uint32_t i = p->values; i-- > 1;) {    // of equal ones, the first
        if (p->value[i].tangent != 0)
            e->derived[p->value[i].tangent] = i;
        if (p->value[i].adjoint != 0)
            e->derived[p->value[i].adjoint] = i;
    }
    for (uint32_t i = 0; i < p->steps; i++) {
        const adx_tensor_value *v = &p->value[p->order[i]];
        bool made = v->terms == 0 || v->term->loop != NULL;
        if (v->array == 0 && e->derived[p->order[i]] == 0 && made)
            e->unnamed[p->order[i]] = ++unnamed;
    }
}

// Counts what each step does. False: no memory.
static bool adx_count_steps(adx_explainer *e)
{
    const adx_tensor_program *p = e->t->program;
    bool ok = true;
    for (uint32_t i = 0; i < p->steps && ok; i++) {
        const adx_tensor_value *v = &p->value[p->order[i]];
        memset(&e->cost[i], 0, sizeof *e->cost);
        if (e->needed[p->order[i]])
            ok = adx_count_value(e->t, v, e->x, &e->cost[i])
              && adx_count_written(e->t, v, e->x, &e->written[i]);
    }
    return ok;
}

// Takes the memory of an explanation. False: there is none.
static bool adx_begin_explaining(adx_explainer *e)
{
    const ad_allocator *m = &e->t->memory;
    const adx_tensor_program *p = e->t->program;
    e->needed = (bool *)adx_take(m, p->values, sizeof *e->needed);
    e->derived = (uint32_t *)adx_take(m, p->values, sizeof *e->derived);
    e->unnamed = (uint32_t *)adx_take(m, p->values, sizeof *e->unnamed);
    e->cost = (ad_tensor_cost *)adx_take(m, p->steps, sizeof *e->cost);
    e->written = (uint64_t *)adx_take(m, p->steps, sizeof *e->written);
    e->x = (int64_t *)adx_take(m, p->vars, sizeof *e->x);
    e->own = (bool *)adx_take(m, p->vars, sizeof *e->own);
    return e->needed != NULL && e->derived != NULL && e->unnamed != NULL
        && e->cost != NULL && e->written != NULL && e->x != NULL
        && e->own != NULL;
}

static void adx_end_explaining(adx_explainer *e)
{
    const ad_allocator *m = &e->t->memory;
    adx_drop(m, e->needed);
    adx_drop(m, e->derived);
    adx_drop(m, e->unnamed);
    adx_drop(m, e->cost);
    adx_drop(m, e->written);
    adx_drop(m, e->x);
    adx_drop(m, e->own);
}

ADX_API ad_status ad_tensor_explain(ad_tensor *t, ad_tensor_part part,
                                    ad_write_fn *write, void *user)
{
    if (t == NULL || write == NULL || part > ADREV_TENSOR_HVP)
        return ADREV_ESHAPE;
    const adx_tensor_program *p = t->program;
    adx_explainer e = { .t = t, .to = { &t->tree, write, user },
                        .out = { write, user } };
    bool ok = p == NULL || adx_begin_explaining(&e);
    if (ok && p != NULL) {
        adx_need_part(t, part, NULL, e.needed);
        adx_name_values(&e);
        ok = adx_count_steps(&e);
    }
    if (ok)
        adx_print_tree(&t->tree, write, user);
    if (ok && p != NULL)
        adx_spell_program(&e, part);
    adx_end_explaining(&e);
    return ok ? ADREV_OK : ADREV_ENOMEM;
}

ADX_SELDOM_END

/* === tensor/call ============================================================
 * A text as one statement on the tape: an external statement, whose operands
 * are the numbers of its inputs, array by array, each in the order of its
 * indices. Inputs that are constants are no operands. With the statement the
 * values of all inputs are saved; a sweep computes from them what else it
 * needs. A replay has the operands' values of its own point.
 *
 *   needs   tape/layout tape/memory array/linear tensor/api tensor/binding
 *           tensor/programs tensor/sharing tensor/queries
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- arrays, number by number -----------------------------------------------
 * `dense` are numbers one behind the other; `laid` is an array with strides,
 * from the number at its least indices.                                     */

// Numbers that go between an array of the caller's and a row of the
// statement's.
typedef struct adx_carrying {
    const ad_real *from;
    ad_real *to;
    bool add;                   // to what is there
} adx_carrying;

// Carries a number from a dense list to its place.
static void adx_lay_number(void *user, ptrdiff_t at)
{
    adx_carrying *k = (adx_carrying *)user;
    k->to[at] = *k->from++;
}

// Carries a number from its place to a dense list, or adds it there.
static void adx_collect_number(void *user, ptrdiff_t at)
{
    adx_carrying *k = (adx_carrying *)user;
    *k->to = k->add ? *k->to + k->from[at] : k->from[at];
    k->to++;
}

typedef struct adx_naming {
    const ad_rev *from;
    ad_rev *to;
    bool active;                // one of them is no constant
} adx_naming;

// Adds an input's number to the operands; a job other than 0 says that it is no
// constant.
static void adx_take_operand(void *user, ptrdiff_t at)
{
    adx_naming *k = (adx_naming *)user;
    k->active = k->active || k->from[at].job != 0;
    *k->to++ = k->from[at];
}

// Gives the caller one of the statement's results.
static void adx_give_result(void *user, ptrdiff_t at)
{
    adx_naming *k = (adx_naming *)user;
    k->to[at] = *k->from++;
}

/* --- what is saved ------------------------------------------------------- */

// Behind it lie the values of all inputs, dense; then, for each input, whether
// its numbers are operands, and for each result, whether it is wanted.
typedef struct adx_tensor_call {
    ad_tensor *t;
    uint64_t binding;           // of t: its sizes must be the same in a sweep
    size_t values;
    size_t n, m;                // operands, results
} adx_tensor_call;

// Returns the saved values of all inputs, which stand behind the call.
static const ad_real *adx_call_values_of(const adx_tensor_call *c)
{
    return (const ad_real *)(c + 1);
}

// Returns for each input whether it is an operand.
static const bool *adx_call_operands(const adx_tensor_call *c)
{
    return (const bool *)(adx_call_values_of(c) + c->values);
}

// Returns for each result whether it is one of the statement's.
static const bool *adx_call_wanted(const adx_tensor_call *c)
{
    return adx_call_operands(c) + c->t->tree.inputs;
}

// Returns where the values, and then both kinds of flags, are to be written.
static ad_real *adx_call_room(adx_tensor_call *c)
{
    return (ad_real *)(c + 1);
}

static bool *adx_call_flags(adx_tensor_call *c)
{
    return (bool *)(adx_call_room(c) + c->values);
}

/* --- an evaluation ------------------------------------------------------- */

// Arrays of one evaluation, with the strides of the text's arrays.
typedef struct adx_call_arrays {
    const adx_tensor_call *c;
    ad_real **array;            // pointers that are left
    ad_real *at;                // memory that is left
} adx_call_arrays;

// Inputs, or results, of the call.
typedef struct adx_call_side {
    const uint32_t *value;      // [arrays] values of the program
    const bool *chosen;         // [arrays] is it on the tape; NULL: all
    uint32_t n;
} adx_call_side;

// Returns the inputs of a call, of which the operands are chosen.
static adx_call_side adx_inputs_of(const adx_tensor_call *c)
{
    return (adx_call_side){ c->t->program->input, adx_call_operands(c),
                            c->t->tree.inputs };
}

// Returns the results of a call, of which those that the caller wants are
// chosen.
static adx_call_side adx_outs_of(const adx_tensor_call *c)
{
    return (adx_call_side){ c->t->program->out, adx_call_wanted(c),
                            c->t->tree.outs };
}

// Returns how much memory the numbers of all inputs, or of all results, take.
static uint64_t adx_span_of_side(const adx_tensor_call *c,
                                 const adx_call_side *side)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < side->n; i++)
        sum += adx_tensor_value_at(c->t, side->value[i])->span;
    return sum;
}

// Takes room for those arrays of a side that are chosen; the others are NULL,
// which says that they are not wanted.
static ad_real **adx_empty_arrays(adx_call_arrays *r, const adx_call_side *side)
{
    ad_real **to = r->array;
    r->array += side->n;
    for (uint32_t i = 0; i < side->n; i++) {
        const adx_tensor_value *v = adx_tensor_value_at(r->c->t,
                                                        side->value[i]);
        to[i] = side->chosen[i] ? r->at + v->first : NULL;
        r->at += v->span;
    }
    return to;
}

// Takes room for the arrays of a side, and fills them in. An array of zeros is
// NULL.
static ad_real **adx_filled_arrays(adx_call_arrays *r,
                                   const adx_call_side *side,
                                   const ad_real dense[])
{
    ad_real **to = adx_empty_arrays(r, side);
    for (uint32_t i = 0; i < side->n; i++) {
        const adx_tensor_value *v = adx_tensor_value_at(r->c->t,
                                                        side->value[i]);
        adx_carrying k = { dense, to[i], false };
        if (to[i] == NULL)
            continue;
        if (adx_zeros((size_t)v->size, dense))
            to[i] = NULL;
        else
            adx_each_place(v, 0, 0, adx_lay_number, &k);
        dense += v->size;
    }
    return to;
}

// Returns the inputs: operands from x, if that is given, the others as they
// were saved.
static ad_real **adx_input_arrays(adx_call_arrays *r, const ad_real x[])
{
    const adx_call_side side = adx_inputs_of(r->c);
    const ad_real *saved = adx_call_values_of(r->c);
    ad_real **to = r->array;
    r->array += side.n;
    for (uint32_t i = 0; i < side.n; i++) {
        const adx_tensor_value *v = adx_tensor_value_at(r->c->t, side.value[i]);
        bool moved = x != NULL && side.chosen[i];
        to[i] = r->at + v->first;
        adx_carrying k = { moved ? x : saved, to[i], false };
        adx_each_place(v, 0, 0, adx_lay_number, &k);
        r->at += v->span;
        saved += v->size;
        x = moved ? x + v->size : x;
    }
    return to;
}

// Carries the numbers of all arrays that are there to a dense list, or adds
// them to it.
static void adx_collect(const adx_tensor_call *c, const adx_call_side *side,
                        ad_real *const from[], ad_real dense[], bool add)
{
    adx_carrying k = { NULL, dense, add };
    for (uint32_t i = 0; from != NULL && i < side->n; i++)
        if (from[i] != NULL) {
            k.from = from[i];
            adx_each_place(adx_tensor_value_at(c->t, side->value[i]), 0, 0,
                           adx_collect_number, &k);
        }
}

#define ADX_AS_GIVEN(arrays) ((const ad_real *const *)(arrays))

// Computes what is asked for, at the point of the recording or (x) another one;
// add: xb is added to.
static bool adx_run_at_point(adx_call_arrays *r, const ad_external_point *at,
                             bool add)
{
    const adx_tensor_call *c = r->c;
    const adx_call_side in = adx_inputs_of(c);
    const adx_call_side out = adx_outs_of(c);
    adx_tensor_arrays a = { .x = ADX_AS_GIVEN(adx_input_arrays(r, at->x)) };
    if (at->xd != NULL)
        a.v = ADX_AS_GIVEN(adx_filled_arrays(r, &in, at->xd));
    if (at->yb != NULL)
        a.w = ADX_AS_GIVEN(adx_filled_arrays(r, &out, at->yb));
    a.y = at->y == NULL ? NULL : adx_empty_arrays(r, &out);
    a.dy = at->yd == NULL ? NULL : adx_empty_arrays(r, &out);
    a.dx = at->xb == NULL ? NULL : adx_empty_arrays(r, &in);
    a.hv = at->xbd == NULL ? NULL : adx_empty_arrays(r, &in);
    if (adx_evaluate_tensor(c->t, &a) != ADREV_OK)
        return false;
    adx_collect(c, &out, a.y, at->y, false);
    adx_collect(c, &out, a.dy, at->yd, false);
    adx_collect(c, &in, a.dx, at->xb, add);
    adx_collect(c, &in, a.hv, at->xbd, false);
    if (at->ybd == NULL || adx_zeros(c->m, at->ybd))
        return true;
    // the tangents of the adjoints of the results, as adjoints
    const adx_tensor_arrays more = {
        .x = a.x, .w = ADX_AS_GIVEN(adx_filled_arrays(r, &out, at->ybd)),
        .dx = a.hv
    };
    bool ok = adx_evaluate_tensor(c->t, &more) == ADREV_OK;
    if (ok)
        adx_collect(c, &in, a.hv, at->xbd, true);
    return ok;
}

// Evaluates the text of a call at a point: takes memory for the arrays that the
// statement does not have, and runs the program. add: adjoints are added to
// those that are there. False: the text has been bound anew since the call, or
// no memory.
static bool adx_call_at(const adx_tensor_call *c, const ad_external_point *at,
                        bool add)
{
    const ad_tensor *t = c->t;
    if (t->program == NULL || t->binding != c->binding)
        return false;
    const adx_call_side in = adx_inputs_of(c);
    const adx_call_side out = adx_outs_of(c);
    uint64_t room = 4 * (adx_span_of_side(c, &in) + adx_span_of_side(c, &out));
    adx_call_arrays r = { .c = c };
    ad_real **arrays = (ad_real **)adx_take(
        &t->memory, 4 * ((size_t)in.n + out.n), sizeof *arrays);
    ad_real *memory = room > SIZE_MAX ? NULL
        : (ad_real *)adx_take(&t->memory, (size_t)room, sizeof *memory);
    r.array = arrays;
    r.at = memory;
    bool ok = arrays != NULL && memory != NULL && adx_run_at_point(&r, at, add);
    adx_drop(&t->memory, arrays);
    adx_drop(&t->memory, memory);
    return ok;
}

/* --- the rule ------------------------------------------------------------ */

// The statement's reverse rule: adjoints of operands from those of results.
static bool adx_tensor_pullback(const void *saved, size_t m, const ad_real dy[],
                                size_t n, ad_real dx[])
{
    const ad_external_point at = { .n = n, .m = m, .yb = dy, .xb = dx };
    return adx_call_at((const adx_tensor_call *)saved, &at, true);
}

// The statement's forward rule: tangents of results from those of operands.
static bool adx_tensor_pushforward(const void *saved, size_t n,
                                   const ad_real dx[], size_t m, ad_real dy[])
{
    const ad_external_point at = { .n = n, .m = m, .xd = dx, .yd = dy };
    return adx_call_at((const adx_tensor_call *)saved, &at, false);
}

// The statement at another point.
static bool adx_tensor_replay(const void *saved, const ad_external_point *at)
{
    return adx_call_at((const adx_tensor_call *)saved, at, false);
}

static const ad_external_rule adx_tensor_rule = {
    .name = "tensor", .pullback = adx_tensor_pullback,
    .pushforward = adx_tensor_pushforward, .replay = adx_tensor_replay
};

/* --- the statement ------------------------------------------------------- */

// Whether an input that has numbers is not given.
static bool adx_lacks_input(const ad_tensor *t, const ad_rev *const x[])
{
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        if ((x == NULL || x[i] == NULL)
            && adx_tensor_value_at(t, t->program->input[i])->size > 0)
            return true;
    return false;
}

// Memory of a call while it is made.
typedef struct adx_calling {
    adx_tensor_call *c;
    size_t bytes;               // of what is saved
    ad_rev *operand;
    ad_rev *result;
    ad_real *v;                 // of results
} adx_calling;

// Counts the numbers of all arrays of a side, or of those that are given.
static uint64_t adx_size_of_side(const ad_tensor *t, const uint32_t value[],
                                 uint32_t n, ad_rev *const given[])
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        if (given == NULL || given[i] != NULL)
            sum += adx_tensor_value_at(t, value[i])->size;
    return sum;
}

// Takes the memory of a call. False: there is none.
static bool adx_begin_call(adx_calling *k, ad_tensor *t, ad_rev *const y[])
{
    const adx_tensor_program *p = t->program;
    size_t flags = (size_t)t->tree.inputs + t->tree.outs;
    uint64_t in = adx_size_of_side(t, p->input, t->tree.inputs, NULL);
    uint64_t out = adx_size_of_side(t, p->out, t->tree.outs, y);
    if (in > SIZE_MAX / 64 - flags || out > SIZE_MAX / 64)
        return false;
    k->bytes = sizeof *k->c + (size_t)in * sizeof(ad_real) + flags;
    k->c = (adx_tensor_call *)adx_take(&t->memory, k->bytes, 1);
    k->operand = (ad_rev *)adx_take(&t->memory, (size_t)in, sizeof *k->operand);
    k->result = (ad_rev *)adx_take(&t->memory, (size_t)out, sizeof *k->result);
    k->v = (ad_real *)adx_take(&t->memory, (size_t)out, sizeof *k->v);
    if (k->c == NULL || k->operand == NULL || k->result == NULL || k->v == NULL)
        return false;
    memset(k->c, 0, k->bytes);
    k->c->t = t;
    k->c->binding = t->binding;
    k->c->values = (size_t)in;
    k->c->m = (size_t)out;
    for (uint32_t i = 0; i < t->tree.outs; i++)
        adx_call_flags(k->c)[t->tree.inputs + i] = y[i] != NULL;
    return true;
}

// Frees what a call took and did not hand to the tape.
static void adx_end_call(const adx_calling *k, const ad_tensor *t)
{
    adx_drop(&t->memory, k->c);
    adx_drop(&t->memory, k->operand);
    adx_drop(&t->memory, k->result);
    adx_drop(&t->memory, k->v);
}

// Copies the values of all inputs, and takes those that are operands.
static ad_status adx_take_operands(const adx_calling *k,
                                   const ad_rev *const x[])
{
    adx_tensor_call *c = k->c;
    ad_real *value = adx_call_room(c);
    ad_status status = ADREV_OK;
    for (uint32_t i = 0; i < c->t->tree.inputs && status == ADREV_OK; i++) {
        const adx_tensor_value *v =
            adx_tensor_value_at(c->t, c->t->program->input[i]);
        adx_naming from = { x == NULL ? NULL : x[i], k->operand + c->n, false };
        adx_each_place(v, 0, 0, adx_take_operand, &from);
        for (size_t j = 0; j < v->size; j++)
            *value++ = k->operand[c->n + j].v;
        adx_call_flags(c)[i] = from.active;
        c->n += from.active ? (size_t)v->size : 0;
        status = from.active && v->crowded ? ADREV_ESHAPE : ADREV_OK;
    }
    return status;
}

static void adx_give_results(const adx_calling *k, ad_rev *const y[])
{
    const adx_call_side out = adx_outs_of(k->c);
    adx_naming to = { k->result, NULL, false };
    for (uint32_t i = 0; i < out.n; i++)
        if (out.chosen[i]) {
            to.to = y[i];
            adx_each_place(adx_tensor_value_at(k->c->t, out.value[i]), 0, 0,
                           adx_give_result, &to);
        }
}

// Records the call of a text as one external statement. If no result is wanted,
// nothing is recorded.
static ad_status adx_call_tensor(ad_tensor *t, const ad_rev *const x[],
                                 ad_rev *const y[])
{
    adx_calling k = { NULL, 0, NULL, NULL, NULL };
    ad_status status = adx_begin_call(&k, t, y) ? ADREV_OK : ADREV_ENOMEM;
    bool wanted = status == ADREV_OK && k.c->m > 0;
    if (wanted)
        status = adx_take_operands(&k, x);
    if (wanted && status == ADREV_OK) {
        const ad_external_point at = { .m = k.c->m, .y = k.v };
        status = adx_call_at(k.c, &at, false) ? ADREV_OK : ADREV_ENOMEM;
    }
    if (wanted && status == ADREV_OK) {
        status = (ad_external)(&adx_tensor_rule, k.c, k.bytes, k.c->n,
                               k.operand, k.c->m, k.v, k.result);
        adx_give_results(&k, y);
    }
    adx_end_call(&k, t);
    return status;
}

// In a function that is being recorded, results that are left as they were
// would be wrong at every point: that recording fails.
ADX_API ad_status ad_tensor_call(ad_tensor *t, const ad_rev *const x[],
                                 ad_rev *const y[])
{
    ad_status status = ad_tensor_bind(t, NULL);
    if (status == ADREV_OK && adx_lacks_input(t, x))
        status = ADREV_ESHAPE;
    if (status == ADREV_OK && y != NULL)
        status = adx_call_tensor(t, x, y);
    if (status != ADREV_OK && adx_now.tape != NULL && adx_now.trace)
        adx_fail(adx_now.tape, status);
    return status;
}

ADX_SELDOM_END
#ifdef ADREV_CODE_H
/* === tensor/pointwise =======================================================
 * Values whose numbers can be computed one after the other, each by one
 * expression: for each number there is at most one point of each piece. A piece
 * is a term, or a term for certain values of the variables that it is summed
 * over, if these have few values. It adds in a box of the value's indices. In
 * the core, where all boxes overlap, no condition is left. Where sizes are
 * open, all pieces add everywhere: the boxes are those of the largest sizes.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/nests tensor/open
 *           tensor/programs tensor/parts
 *   offers  adx_box ADX_LOOKUPS_MOST ADX_LOOKUPS_ALL adx_term_piece
 *           adx_pointwise adx_make_box adx_box_size adx_is_inside
 *           adx_free_points adx_has_sums adx_reduces adx_find_pieces
 * ========================================================================== */

ADX_SELDOM_BEGIN

// low <= index <= high, for each index of a value.
typedef struct adx_box {
    int64_t *low;
    int64_t *high;
} adx_box;

// A number that a map gives: table[argument], a form of the value's indices and
// of the numbers before this one.
typedef struct adx_lookup {
    const adx_int_table *table;
    int64_t *argument;          // [1 + open sizes + dims + ADX_LOOKUPS_MOST]
} adx_lookup;

#define ADX_LOOKUPS_MOST 6      // of a piece
#define ADX_LOOKUPS_ALL  24     // of a value

typedef struct adx_term_piece {
    const adx_tensor_term *term;
    const adx_set *set;         // of the term, for these values of variables
    int64_t *form;              // [vars][1 + open sizes + dims +
                                // ADX_LOOKUPS_MOST] the variables as forms of
                                // sizes, of the value's indices, and of numbers
                                // that maps give
    adx_lookup lookup[ADX_LOOKUPS_MOST];
    uint32_t lookups;
    adx_box box;
} adx_term_piece;

typedef struct adx_pointwise {
    adx_term_piece *piece;
    uint32_t n;
    uint32_t lookups;           // of all of them
    adx_box core;
    adx_box domain;             // where there must be a number; 0 outside of
                                // the pieces
} adx_pointwise;

#define ADX_PIECES_WRITTEN 32   // more are loops

// Takes memory for a box. False: there is none.
static bool adx_make_box(adx_arena *a, uint32_t dims, adx_box *to)
{
    to->low = ADX_GET(a, dims, int64_t);
    to->high = ADX_GET(a, dims, int64_t);
    return to->low != NULL && to->high != NULL;
}

// Returns how many points it has.
static double adx_box_size(const adx_box *b, uint32_t dims)
{
    double n = 1;
    for (uint32_t d = 0; d < dims; d++)
        n *= b->high[d] < b->low[d] ? 0
           : (double)(b->high[d] - b->low[d]) + 1;
    return n;
}

// Whether all of a box is in another.
static bool adx_is_inside(const adx_box *b, const adx_box *other, uint32_t dims)
{
    for (uint32_t d = 0; d < dims; d++)
        if (b->low[d] < other->low[d] || b->high[d] > other->high[d])
            return false;
    return true;
}

// Counts the points, if conditions only say which map gives which variable;
// else UINT64_MAX.
static uint64_t adx_free_points(const adx_set *s)
{
    const adx_map_vars maps = adx_find_map_vars(s);
    uint64_t n = s->empty ? 0 : 1;
    if (maps.given == NULL)
        return UINT64_MAX;
    for (uint32_t v = 0; v < s->vars && maps.all; v++)
        if (!s->gone[v] && !maps.given[v]) {
            uint64_t extent = (uint64_t)(s->high[v] - s->low[v]) + 1;
            if (n > UINT64_MAX / 2 / extent)
                return UINT64_MAX;
            n *= extent;
        }
    return maps.all || s->empty ? n : UINT64_MAX;
}

/* --- pieces -------------------------------------------------------------- */

typedef struct adx_finding {
    adx_arena *a;
    const adx_tensor_value *value;
    adx_pointwise *to;
    uint32_t open;
    uint32_t width;             // 1 + open sizes + dims + ADX_LOOKUPS_MOST
    uint32_t lookups;           // of all pieces
    const adx_set *all;         // indices of the value, where sizes are open
} adx_finding;

// Makes index d = sign*x[v] + c, as a form for x[v]; its bounds are those of
// the variable.
static void adx_own_index(const adx_finding *k, adx_term_piece *p, uint32_t d,
                          uint32_t v, const int64_t row[])
{
    int64_t sign = row[1 + v];
    int64_t one = row[0] + sign * p->set->low[v];
    int64_t other = row[0] + sign * p->set->high[v];
    for (uint32_t i = 0; i <= k->open; i++)
        p->form[v * k->width + i] = -sign * row[i];
    p->form[v * k->width + 1 + k->open + d] = sign;
    p->box.low[d] = one < other ? one : other;
    p->box.high[d] = one < other ? other : one;
}

// Returns the indices of a piece give variables that no map gives, one each.
// Returns how many they give; UINT32_MAX: an index is no such variable.
static uint32_t adx_own_indices(const adx_finding *k, adx_term_piece *p,
                                const bool given[], bool own[])
{
    const adx_set *s = p->set;
    uint32_t owned = 0;
    for (uint32_t d = 0; d < k->value->dims; d++) {
        const int64_t *row = adx_form_of(s, p->term->out + d);
        uint32_t v = 0;
        uint32_t count = adx_vars_of(s, row, &v);
        p->box.low[d] = p->box.high[d] = row[0];
        if (count > 1 || (count == 1 && (!adx_is_unit(row[1 + v]) || own[v]
                                         || given[v])))
            return UINT32_MAX;
        if (count == 0)
            continue;
        own[v] = true;
        owned++;
        adx_own_index(k, p, d, v, row);
    }
    return owned;
}

// Adds the variables that maps give, by rows in their order.
static bool adx_add_lookups(adx_finding *k, adx_term_piece *p,
                            const uint32_t row[], uint32_t n)
{
    const adx_set *s = p->set;
    k->lookups += n;
    if (n > ADX_LOOKUPS_MOST || k->lookups > ADX_LOOKUPS_ALL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *form = adx_form_of(s, row[i]);
        const int64_t *argument = adx_form_of(s, s->row[row[i]].at);
        adx_lookup *l = &p->lookup[p->lookups++];
        uint32_t count;
        uint32_t v = 0;
        adx_divisor_of(s, form, &count, &v);
        l->table = s->row[row[i]].table;
        l->argument = ADX_GET(k->a, k->width, int64_t);
        if (l->argument == NULL)
            return false;
        l->argument[0] = argument[0];
        for (uint32_t u = 0; u < s->vars; u++)
            for (uint32_t j = 0; argument[1 + u] != 0 && j < k->width; j++)
                l->argument[j] += argument[1 + u] * p->form[u * k->width + j];
        p->form[v * k->width] = -form[1 + v] * form[0];
        p->form[v * k->width + 1 + k->open + k->value->dims + i] = form[1 + v];
    }
    return true;
}

// Whether a piece adds at all indices, for all sizes; its box then is that of
// the largest ones.
static bool adx_is_everywhere_there(const adx_finding *k, adx_term_piece *p)
{
    const adx_tensor_value *v = k->value;
    const adx_indexed in = { p->set, p->term->out, v->dims };
    const adx_indexed at = { k->all, 0, v->dims };
    for (uint32_t i = 0; i < k->open; i++)
        p->form[i * k->width + 1 + i] = 1;
    for (uint32_t d = 0; d < v->dims; d++) {
        p->box.low[d] = v->low[d];
        p->box.high[d] = v->low[d] + v->extent[d] - 1;
    }
    return adx_contains(&in, &at);
}

// Adds a piece: every variable of its set is given by one index, or by a map.
// False: one is not, or there is a condition.
static bool adx_add_one_piece(adx_finding *k, const adx_tensor_term *term,
                              const adx_set *s)
{
    adx_term_piece *p = &k->to->piece[k->to->n];
    if (k->to->n == ADX_PIECES_WRITTEN)
        return false;
    p->term = term;
    p->set = s;
    p->form = ADX_GET(k->a, (size_t)s->vars * k->width, int64_t);
    bool *own = ADX_GET(k->a, s->vars, bool);
    const adx_map_vars maps = adx_find_map_vars(s);
    if (p->form == NULL || own == NULL || maps.given == NULL
        || !adx_make_box(k->a, k->value->dims, &p->box))
        return false;
    bool all = maps.all || (k->open > 0 && maps.rows == 0);
    if (!all || adx_own_indices(k, p, maps.given, own) != maps.free
        || !adx_add_lookups(k, p, maps.row, maps.rows)
        || (k->open > 0 && !adx_is_everywhere_there(k, p)))
        return false;
    k->to->n++;
    return true;
}

// Returns a copy of the term's set in which the first variables of `level` have
// values, the last one changing fastest. NULL: no memory.
static adx_set *adx_fix_vars(adx_finding *k, const adx_set *s,
                             const uint32_t var[], uint32_t n, uint64_t number)
{
    adx_set *c = adx_copy_set(s);
    for (uint32_t i = n; c != NULL && i-- > 0;) {
        uint64_t extent = (uint64_t)(s->high[var[i]] - s->low[var[i]]) + 1;
        adx_fix_var(c, var[i], s->low[var[i]] + (int64_t)(number % extent));
        number /= extent;
    }
    if (c != NULL)
        adx_simplify_set(c);
    return k->a->status == ADREV_OK ? c : NULL;
}

// Finds one variable in the form of each index of the value: the one with the
// most values. Once the other variables of the form are known, the index gives
// this one.
static void adx_find_owners(const adx_finding *k, const adx_tensor_term *term,
                            const adx_set *s, bool owner[])
{
    for (uint32_t d = 0; d < k->value->dims; d++) {
        const int64_t *row = adx_form_of(s, term->out + d);
        uint32_t best = UINT32_MAX;
        for (uint32_t v = s->open; v < s->vars; v++)
            if (row[1 + v] != 0 && (best == UINT32_MAX
                || s->high[v] - s->low[v] > s->high[best] - s->low[best]))
                best = v;
        if (best != UINT32_MAX)
            owner[best] = true;
    }
}

// Finds the variables that neither an index nor a map gives. Returns how many
// combinations of values they have; UINT64_MAX: too many.
static uint64_t adx_find_summed(const adx_finding *k,
                                const adx_tensor_term *term, const adx_set *s,
                                uint32_t var[], uint32_t *n)
{
    const adx_map_vars maps = adx_find_map_vars(s);
    bool *owner = ADX_GET(k->a, s->vars, bool);
    uint64_t values = 1;
    *n = 0;
    if (maps.given == NULL || owner == NULL)
        return UINT64_MAX;
    adx_find_owners(k, term, s, owner);
    for (uint32_t v = s->open; v < s->vars; v++) {
        if (owner[v] || s->gone[v] || maps.given[v])
            continue;
        if (s->high[v] - s->low[v] >= ADX_PIECES_WRITTEN)
            return UINT64_MAX;
        values *= (uint64_t)(s->high[v] - s->low[v]) + 1;
        if (values > ADX_PIECES_WRITTEN)
            return UINT64_MAX;
        var[(*n)++] = v;
    }
    return values;
}

// Whether the loops reach a piece before another, at the same indices: both are
// of one term. *differ: their variables are different forms of the indices, and
// it is not known.
static bool adx_comes_before(const adx_finding *k, const adx_nest *nest,
                             const adx_term_piece *one,
                             const adx_term_piece *other, bool *differ)
{
    for (uint32_t l = 0; l < nest->levels; l++) {
        size_t at = (size_t)nest->level[l].var * k->width;
        const int64_t *a = one->form + at;
        const int64_t *b = other->form + at;
        if (memcmp(a + 1, b + 1, (k->width - 1) * sizeof *a) != 0) {
            *differ = true;
            return false;
        }
        if (a[0] != b[0])
            return a[0] < b[0];
    }
    return false;
}

// Sorts the pieces of a term, from `first` on, as the loops reach them at any
// indices. False: that is not known.
static bool adx_sort_pieces(const adx_finding *k, const adx_nest *nest,
                            uint32_t first)
{
    adx_term_piece *p = k->to->piece;
    bool differ = false;
    for (uint32_t i = first + 1; i < k->to->n; i++) {
        const adx_term_piece now = p[i];
        uint32_t j = i;
        for (; j > first && adx_comes_before(k, nest, &now, &p[j - 1], &differ);
             j--)
            p[j] = p[j - 1];
        p[j] = now;
    }
    return !differ;
}

// Whether a value is the sum of sums of parts (tensor/parts).
static bool adx_has_sums(const adx_tensor_value *v)
{
    return v->cut != NULL && v->cut->kind == ADX_CUT_SUMS;
}

// Whether the innermost loop of a term adds up one number, in eight sums.
static bool adx_reduces(const adx_tensor_value *v, const adx_tensor_term *term)
{
    const adx_nest *nest = term->loop->nest;
    const adx_nest_level *last = nest->levels == nest->open ? NULL
                               : &nest->level[nest->levels - 1];
    return last != NULL && last->kind == ADX_LEVEL_RANGE && last->checks == 0
        && term->loop->out.stride == 0 && v->kind == ADX_VALUE_SUM && !v->once;
}

// Makes the pieces of a term: one for each combination of values of the
// variables that it is summed over. False: there are too many, or the term has
// no such pieces.
static bool adx_add_pieces(adx_finding *k, const adx_tensor_term *term)
{
    adx_set of = *term->set;
    of.arena = k->a;
    adx_set *s = adx_copy_set(&of);
    uint32_t *var = ADX_GET(k->a, of.vars, uint32_t);
    uint32_t n = 0;
    if (s == NULL || var == NULL || term->most != 0
        || adx_reduces(k->value, term))
        return false;
    adx_simplify_set(s);
    if (s->empty)
        return true;
    uint64_t values = adx_find_summed(k, term, s, var, &n);
    if (values == UINT64_MAX)
        return false;
    uint32_t first = k->to->n;
    for (uint64_t i = 0; i < values; i++) {
        adx_set *c = adx_fix_vars(k, s, var, n, i);
        uint32_t before = k->to->n;
        if (c == NULL || (!c->empty && !adx_add_one_piece(k, term, c)))
            return false;
        uint64_t rest = i;
        for (uint32_t j = n; k->to->n > before && j-- > 0;) {
            uint64_t extent = (uint64_t)(s->high[var[j]] - s->low[var[j]]) + 1;
            k->to->piece[before].form[(size_t)var[j] * k->width] =
                s->low[var[j]] + (int64_t)(rest % extent);
            rest /= extent;
        }
    }
    return adx_sort_pieces(k, term->loop->nest, first);
}

/* --- all of a value ------------------------------------------------------ */

// Finds the core, where all pieces add, and the domain, the box around all of
// them.
static void adx_find_core(adx_finding *k)
{
    const adx_tensor_value *v = k->value;
    adx_pointwise *to = k->to;
    bool all = v->cleared || v->full;
    for (uint32_t d = 0; d < v->dims; d++) {
        int64_t *core[] = { &to->core.low[d], &to->core.high[d] };
        int64_t *hull[] = { &to->domain.low[d], &to->domain.high[d] };
        *core[0] = *hull[0] = to->piece[0].box.low[d];
        *core[1] = *hull[1] = to->piece[0].box.high[d];
        for (uint32_t i = 1; i < to->n; i++) {
            const adx_box *b = &to->piece[i].box;
            *core[0] = b->low[d] > *core[0] ? b->low[d] : *core[0];
            *core[1] = b->high[d] < *core[1] ? b->high[d] : *core[1];
            *hull[0] = b->low[d] < *hull[0] ? b->low[d] : *hull[0];
            *hull[1] = b->high[d] > *hull[1] ? b->high[d] : *hull[1];
        }
        *hull[0] = all ? v->low[d] : *hull[0];
        *hull[1] = all ? v->low[d] + v->extent[d] - 1 : *hull[1];
    }
}

// Returns the pieces of a value, if each of its numbers is best computed on its
// own. NULL: it is not; or no memory, which a->status says.
static adx_pointwise *adx_find_pieces(adx_arena *a, ad_tensor *t,
                                      const adx_tensor_value *v)
{
    uint32_t open = adx_open_of(t);
    adx_finding k = { a, v, ADX_GET(a, 1, adx_pointwise), open,
                      1 + open + v->dims + ADX_LOOKUPS_MOST, 0, NULL };
    bool sum = v->kind == ADX_VALUE_SUM;
    if (k.to == NULL || v->size == 0 || adx_has_sums(v)
        || (!sum && v->kind != ADX_VALUE_APPLICATION
            && v->kind != ADX_VALUE_PARTIAL
            && v->kind != ADX_VALUE_SECOND))
        return NULL;
    k.to->piece = ADX_GET(a, ADX_PIECES_WRITTEN, adx_term_piece);
    if (k.to->piece == NULL || !adx_make_box(a, v->dims, &k.to->core)
        || !adx_make_box(a, v->dims, &k.to->domain))
        return NULL;
    k.all = open == 0 ? NULL : adx_set_of_ranges(t, &v->range, v->dims);
    if (open > 0 && k.all == NULL)
        return NULL;
    for (uint32_t i = 0; i < v->terms; i++)
        if (!adx_add_pieces(&k, &v->term[i]))
            return NULL;
    if (k.to->n == 0 || (k.to->n > 1 && !sum))
        return NULL;
    adx_find_core(&k);
    k.to->lookups = k.lookups;
    return adx_box_size(&k.to->core, v->dims) * 2
           < adx_box_size(&k.to->domain, v->dims) ? NULL : k.to;
}

ADX_SELDOM_END

/* === tensor/fusion ==========================================================
 * Which values are computed where they are read. A value that is read once, at
 * one point for each of its numbers, is an expression there and never stored. A
 * value that is read more often may be computed, and stored, where its first
 * reader meets each of its numbers once. All others are computed on their own.
 * No operation is done twice, and none in another order.
 *
 *   needs   core/cells code/text tensor/api tensor/arena tensor/sets
 *           tensor/binding tensor/open tensor/programs tensor/sharing
 *           tensor/derive tensor/parts tensor/storage tensor/prepare
 *           tensor/pointwise
 *   offers  ADX_FATE_ALONE ADX_FATE_INLINED ADX_FATE_VIEW ADX_FATE_HOSTED
 *           adx_fusion adx_formula_of adx_is_computed_by adx_is_stored
 *           adx_latest_of adx_is_read_by adx_stride_along adx_fuse_part
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef enum adx_fate {
    ADX_FATE_ALONE,             // by loops of its own
    ADX_FATE_INLINED,           // an expression of its only reader
    ADX_FATE_VIEW,              // a number of another value, at all readers
    ADX_FATE_HOSTED             // stored by its first reader
} adx_fate;

// Of the values of a part, by their number.
typedef struct adx_fusion {
    adx_arena *a;
    ad_tensor *t;
    bool parts;                 // steps are cut (tensor/bundles)
    bool shares;                // and threads share them
    bool *needed;
    bool *result;
    bool *spelled;              // it has C text
    adx_pointwise **shape;      // NULL: loops
    adx_fate *fate;
    uint32_t *host;             // the reader that computes it
    bool *hosts;                // others are stored where it is computed
    uint32_t *bundle;           // the first of its steps (tensor/bundles); or 0
    uint32_t *run_of;           // 1 + the index that runs are of, or 0
    uint32_t *thin;             // the same, of values with memory for one run
    adx_step_cut *cut;          // of steps (tensor/bundles); NULL: none is cut
    bool *view;                 // its numbers are those of another value
    bool *fixed;                // some reader needs it in memory
    uint32_t *reads;            // how many there are
    uint32_t *reader;           // the first one
    uint32_t *reads_there;      // how many of them are of the first one
    uint32_t *depth;            // of expressions in one another
    uint32_t *lookups;          // in them
} adx_fusion;

#define ADX_INLINE_DEPTH  16
#define ADX_INLINE_PIECES 12
#define ADX_KERNEL_LEAST  32    // of each dimension

// C text of what an operation's value is: the operation or its partial.
static const char *adx_formula_of(const adx_tensor_value *v)
{
    const ad_op_info *info = adx_row_of(v->op);
    return v->kind == ADX_VALUE_PARTIAL ? info->partial[v->which] : info->value;
}

// Whether the derivative of a partial has C text: all that its terms call.
static bool adx_is_second_spelled(const adx_tensor_second *s, bool helper[])
{
    for (uint8_t k = 0; k < s->cell.terms; k++) {
        const adx_term *term = &s->cell.term[k];
        if (term->op == ADX_TERM_NUMBER)
            continue;
        const ad_op_info *info = adx_row_of(term->op);
        if (!adx_find_helpers(info->value, helper))
            return false;
        for (int i = 0; i < info->arity; i++)
            if ((s->moving >> term->arg[i] & 1) != 0
                && !adx_find_helpers(info->partial[i], helper))
                return false;
    }
    return true;
}

// Whether the formulas of a value have C text.
static bool adx_is_spelled(const adx_tensor_value *v)
{
    bool helper[ADX_HELPER_COUNT] = {0};
    if (v->kind != ADX_VALUE_APPLICATION && v->kind != ADX_VALUE_PARTIAL
        && v->kind != ADX_VALUE_SECOND)
        return true;
    return adx_find_helpers(adx_row_of(v->op)->value, helper)
        && adx_find_helpers(adx_formula_of(v), helper)
        && (v->kind != ADX_VALUE_SECOND
            || (adx_find_helpers(adx_row_of(v->op)->partial[v->second->by],
                                 helper)
                && adx_is_second_spelled(v->second, helper)));
}

/* --- who reads ----------------------------------------------------------- */

// Whether two reads at a point are always of the same number.
static bool adx_same_access(const adx_fusion *f, const adx_set *s,
                            adx_access one, adx_access other)
{
    return one.value == other.value
        && adx_same_rows(s, one.row, other.row,
                         adx_tensor_value_at(f->t, one.value)->dims);
}

// Counts a read, and how many of them its first reader does.
static void adx_note_read(adx_fusion *f, uint32_t by, uint32_t value)
{
    if (f->reads[value] == 0)
        f->reader[value] = by;
    f->reads[value]++;
    if (f->reader[value] == by)
        f->reads_there[value]++;
}

// Notes a read from memory: of all numbers, or at more points than one.
static void adx_note_fixed(adx_fusion *f, uint32_t by, uint32_t value)
{
    adx_note_read(f, by, value);
    f->fixed[value] = true;
}

// Reads of a term; a number read twice at a point counts once.
static void adx_note_reads(adx_fusion *f, uint32_t by,
                           const adx_tensor_term *term, const adx_set *s)
{
    bool loops = term->most != 0 || !f->spelled[by]
              || adx_tensor_value_at(f->t, by)->kind == ADX_VALUE_MOST;
    for (uint32_t i = 0; i < term->factors; i++) {
        bool again = false;
        for (uint32_t j = 0; j < i; j++)
            again = again || adx_same_access(f, s, term->factor[i],
                                             term->factor[j]);
        if (!again)
            adx_note_read(f, by, term->factor[i].value);
        f->fixed[term->factor[i].value] |= loops;
    }
    if (term->most != 0) {      // by pointers, all along
        adx_note_fixed(f, by, term->most);
        adx_note_fixed(f, by, term->picked.value);
    }
}

// Counts the reads of all terms of a value, or of its pieces.
static void adx_note_reads_of(adx_fusion *f, uint32_t by)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, by);
    const adx_pointwise *p = f->shape[by];
    for (uint32_t i = 0; p != NULL && i < p->n; i++)
        adx_note_reads(f, by, p->piece[i].term, p->piece[i].set);
    for (uint32_t i = 0; p == NULL && i < v->terms; i++)
        adx_note_reads(f, by, &v->term[i], v->term[i].set);
    if (f->view[by])            // its readers read this one
        f->fixed[p->piece[0].term->factor[0].value] = true;
}

/* --- where it is computed ------------------------------------------------ */

// Whether rows of a set are different for different points.
static bool adx_rows_tell_points(const adx_set *s, uint32_t row, uint32_t dims)
{
    const adx_map_vars maps = adx_find_map_vars(s);
    uint32_t own = 0;
    if (maps.given == NULL)
        return false;
    for (uint32_t v = s->open; v < s->vars; v++) {
        bool alone = false;
        if (s->gone[v] || maps.given[v])
            continue;
        for (uint32_t d = 0; d < dims && !alone; d++) {
            uint32_t some = 0;
            uint32_t count = adx_vars_of(s, adx_form_of(s, row + d), &some);
            alone = count == 1 && some == v;
        }
        own += alone;
    }
    return own == maps.free;
}

// Whether all that is read there is in the core of a value, which has all of it
// where sizes are open.
static bool adx_reads_core(const adx_set *s, uint32_t row, uint32_t dims,
                           const adx_box *core)
{
    for (uint32_t d = 0; d < dims && s->open == 0; d++) {
        const int64_t *form = adx_form_of(s, row + d);
        if (adx_extreme(s, form, false) < core->low[d]
            || adx_extreme(s, form, true) > core->high[d])
            return false;
    }
    return true;
}

// Whether a term reads all numbers of a value, for all sizes.
static bool adx_reads_all(const adx_fusion *f, const adx_set *s, adx_access at)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, at.value);
    const adx_set *all = adx_set_of_ranges(f->t, &v->range, v->dims);
    const adx_indexed one = { s, at.row, v->dims };
    const adx_indexed range = { all, 0, v->dims };
    return all != NULL && adx_contains(&one, &range);
}

// Returns the fate of a value that a term of its first reader reads here.
static adx_fate adx_fate_here(const adx_fusion *f, const adx_set *s,
                              adx_access at)
{
    uint32_t dims = adx_tensor_value_at(f->t, at.value)->dims;
    const adx_pointwise *p = f->shape[at.value];
    if (s->empty || !adx_rows_tell_points(s, at.row, dims)
        || !adx_reads_core(s, at.row, dims, &p->core))
        return ADX_FATE_ALONE;
    uint64_t points = s->open > 0 ? UINT64_MAX : adx_free_points(s);
    bool all = points != UINT64_MAX
            && (double)points == adx_box_size(&p->domain, dims)
            && adx_is_inside(&p->domain, &p->core, dims);
    if (s->open > 0)
        all = adx_reads_all(f, s, at);
    if (f->reads[at.value] == 1 && !f->result[at.value]
        && (all || !f->hosts[at.value]))
        return ADX_FATE_INLINED;
    return all ? ADX_FATE_HOSTED : ADX_FATE_ALONE;
}

// Looks for the place where the first reader reads a value.
static adx_fate adx_find_fate(const adx_fusion *f, uint32_t value)
{
    uint32_t by = f->reader[value];
    const adx_tensor_value *v = adx_tensor_value_at(f->t, by);
    const adx_pointwise *p = f->shape[by];
    uint32_t n = p != NULL ? p->n : v->terms;
    for (uint32_t i = 0; i < n; i++) {
        const adx_tensor_term *term = p != NULL ? p->piece[i].term
                                                : &v->term[i];
        const adx_set *s = p != NULL ? p->piece[i].set : term->set;
        for (uint32_t j = 0; j < term->factors; j++)
            if (term->factor[j].value == value)
                return adx_fate_here(f, s, term->factor[j]);
    }
    return ADX_FATE_ALONE;
}

// Whether each number of a value is a number of another, which is stored.
static bool adx_is_view(const adx_fusion *f, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, value);
    const adx_pointwise *p = f->shape[value];
    return p != NULL && p->n == 1 && v->kind == ADX_VALUE_SUM && v->once
           && v->full && p->piece[0].term->factors == 1
           && (p->piece[0].term->k == 1 || p->piece[0].term->k == -1)
           && !f->result[value];
}

// Decides where a value is computed. Values are looked at in their order: those
// that one reads before it.
static void adx_decide_fate(adx_fusion *f, uint32_t value)
{
    const adx_pointwise *p = f->shape[value];
    f->depth[value]++;
    f->lookups[value] += p == NULL ? 0 : p->lookups;
    if (p == NULL || f->lookups[value] > ADX_LOOKUPS_ALL
        || p->n > ADX_INLINE_PIECES || f->reads[value] == 0 || f->fixed[value]
        || f->depth[value] > ADX_INLINE_DEPTH)
        return;
    if (f->view[value])
        f->fate[value] = ADX_FATE_VIEW;
    if (f->view[value] || f->reads_there[value] != 1)
        return;
    f->fate[value] = adx_find_fate(f, value);
    uint32_t by = f->reader[value];
    if (f->fate[value] == ADX_FATE_ALONE)
        return;
    if (f->lookups[by] + f->lookups[value] > ADX_LOOKUPS_ALL) {
        f->fate[value] = ADX_FATE_ALONE;
        return;
    }
    f->lookups[by] += f->lookups[value];
    f->host[value] = by;
    f->hosts[by] = f->hosts[by] || f->fate[value] == ADX_FATE_HOSTED
                || f->hosts[value];
    if (f->depth[value] > f->depth[by])
        f->depth[by] = f->depth[value];
}

// Whether a value is computed where `by` reads it.
static bool adx_is_computed_by(const adx_fusion *f, uint32_t value, uint32_t by)
{
    return f->fate[value] == ADX_FATE_VIEW
        || (f->fate[value] != ADX_FATE_ALONE && f->host[value] == by);
}

// Whether a value has memory.
static bool adx_is_stored(const adx_fusion *f, uint32_t value)
{
    return f->fate[value] == ADX_FATE_ALONE
        || f->fate[value] == ADX_FATE_HOSTED;
}

/* --- who reads it too early -------------------------------------------------
 * Loops run in the order of values. A number that is hosted is there when the
 * loops of its host's last host have run, which may be after other readers.  */

// Returns the last loops that may compute a value.
static uint32_t adx_latest_of(const adx_fusion *f, uint32_t value)
{
    while (f->host[value] != 0)
        value = f->host[value];
    return value;
}

// Returns the first ones: its own, if it has some.
static uint32_t adx_earliest_of(const adx_fusion *f, uint32_t value)
{
    while (f->fate[value] == ADX_FATE_INLINED)
        value = f->host[value];
    return value;
}

// Whether a term of a value reads the other.
static bool adx_is_read_by(const adx_fusion *f, uint32_t value, uint32_t by)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, by);
    for (uint32_t i = 0; i < v->terms; i++)
        for (uint32_t j = 0; j < v->term[i].factors; j++)
            if (v->term[i].factor[j].value == value)
                return true;
    return false;
}

// Whether someone but its host may read a value before it is stored.
static bool adx_is_read_early(const adx_fusion *f, const uint32_t place[],
                              uint32_t value)
{
    const adx_tensor_program *p = f->t->program;
    uint32_t stored = place[adx_latest_of(f, value)];
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t by = p->order[i];
        if (f->needed[by] && by != f->host[value]
            && place[adx_earliest_of(f, by)] <= stored
            && adx_is_read_by(f, value, by))
            return true;
    }
    return false;
}

// Gives values that would be read too early loops of their own.
static void adx_take_out_early_ones(adx_fusion *f)
{
    const adx_tensor_program *p = f->t->program;
    uint32_t *place = ADX_GET(f->a, p->values, uint32_t);
    bool changed = place != NULL;
    for (uint32_t i = 0; changed && i < p->steps; i++)
        place[p->order[i]] = i;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < p->steps; i++) {
            uint32_t v = p->order[i];
            if (f->fate[v] == ADX_FATE_HOSTED
                && adx_is_read_early(f, place, v)) {
                f->fate[v] = ADX_FATE_ALONE;
                f->host[v] = 0;
                changed = true;
            }
        }
    }
}

// Returns how far apart in memory what is read and written lies along an index.
static double adx_stride_along(const adx_fusion *f, uint32_t value, uint32_t d)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, value);
    const adx_pointwise *p = f->shape[value];
    uint32_t open = adx_open_of(f->t);
    uint32_t width = 1 + open + v->dims + ADX_LOOKUPS_MOST;
    double far = fabs((double)v->stride[d]);
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j < p->piece[i].term->factors; j++) {
            const adx_access from = p->piece[i].term->factor[j];
            const adx_tensor_value *x = adx_tensor_value_at(f->t, from.value);
            for (uint32_t v2 = 0; v2 < p->piece[i].set->vars; v2++)
                for (uint32_t k = 0; k < x->dims && p->piece[i].form[v2 * width
                     + 1 + open + d] != 0; k++)
                    far += fabs((double)x->stride[k]
                        * (double)adx_form_of(p->piece[i].set,
                                              from.row + k)[1 + v2]);
        }
    return far;
}

/* --- of a part ----------------------------------------------------------- */

// Takes the arrays of a fusion, all zero. False: no memory.
static bool adx_begin_fusion(adx_fusion *f, adx_arena *a, ad_tensor *t)
{
    uint32_t n = t->program->values;
    f->a = a;
    f->t = t;
    f->needed = ADX_GET(a, n, bool);
    f->result = ADX_GET(a, n, bool);
    f->spelled = ADX_GET(a, n, bool);
    f->shape = ADX_GET(a, n, adx_pointwise *);
    f->fate = ADX_GET(a, n, adx_fate);
    f->host = ADX_GET(a, n, uint32_t);
    f->hosts = ADX_GET(a, n, bool);
    f->bundle = ADX_GET(a, n, uint32_t);
    f->run_of = ADX_GET(a, n, uint32_t);
    f->thin = ADX_GET(a, n, uint32_t);
    f->view = ADX_GET(a, n, bool);
    f->fixed = ADX_GET(a, n, bool);
    f->reads = ADX_GET(a, n, uint32_t);
    f->reader = ADX_GET(a, n, uint32_t);
    f->reads_there = ADX_GET(a, n, uint32_t);
    f->depth = ADX_GET(a, n, uint32_t);
    f->lookups = ADX_GET(a, n, uint32_t);
    return a->status == ADREV_OK;
}

// Whether a product of matrices is best left to the kernel of tensor/matrices.
static bool adx_has_kernel(const adx_tensor_value *v)
{
    for (uint32_t i = 0; i < v->terms; i++) {
        const adx_loop *l = v->term[i].loop;
        if (l->matrices != NULL
            && l->matrices->product.m >= ADX_KERNEL_LEAST
            && l->matrices->product.k >= ADX_KERNEL_LEAST
            && l->matrices->product.n >= ADX_KERNEL_LEAST)
            return true;
    }
    return false;
}

// Decides for a part, of which all results are wanted; loaded: for machine
// code, so large products of matrices have no text, and steps are cut. False:
// no memory.
static bool adx_fuse_part(adx_fusion *f, adx_arena *a, ad_tensor *t,
                          ad_tensor_part part, bool loaded)
{
    const adx_tensor_program *p = t->program;
    if (!adx_begin_fusion(f, a, t))
        return false;
    f->parts = loaded;
    f->shares = loaded && adx_shares_parts();
    adx_find_results(t, part, f->needed);
    memcpy(f->result, f->needed, p->values * sizeof *f->needed);
    adx_need_all(p, f->needed);
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (f->needed[v]) {
            f->spelled[v] = adx_is_spelled(adx_tensor_value_at(t, v))
                && !(loaded && adx_has_kernel(adx_tensor_value_at(t, v)));
            if (f->spelled[v])
                f->shape[v] = adx_find_pieces(a, t, adx_tensor_value_at(t, v));
            f->view[v] = adx_is_view(f, v);
            adx_note_reads_of(f, v);
        }
    }
    for (uint32_t i = 0; i < p->steps; i++)
        if (f->needed[p->order[i]])
            adx_decide_fate(f, p->order[i]);
    adx_take_out_early_ones(f);
    return a->status == ADREV_OK;
}

ADX_SELDOM_END

/* === tensor/bundles =========================================================
 * Steps whose outermost loops run over the same range become one loop, a
 * bundle, if they exchange numbers only within one run of it. A value that only
 * steps of its bundle read is thin: it has memory for one run. So what is
 * between the entries of a relation, or the cases of a batch, stays in the
 * cache.
 *
 * A step that adds to numbers of many runs keeps all of its bundle on one
 * thread. Where a pool is in use when the code is made, and tensor/parts cuts
 * that step, it is in no bundle, unless it reads much that would be thin.
 *
 * At the end of this room steps are cut into parts, which threads share.
 *
 *   needs   tensor/arena tensor/sets tensor/nests tensor/binding
 *           tensor/programs tensor/sharing tensor/derive tensor/parts
 *           tensor/run tensor/pointwise tensor/fusion
 *   offers  adx_outer adx_outer_of adx_is_follower adx_find_bundles
 *           adx_cut_steps
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_BUNDLE_VALUES 2000  // programs with more have no bundles
#define ADX_BUNDLE_RUNS   64    // runs of a bundle, at least
#define ADX_BUNDLE_READS  8     // points for each number of others: no bundle

// The outermost loop of a step; `dim` is the index of its value that it runs
// over, or UINT32_MAX.
typedef struct adx_outer {
    bool there;
    uint32_t dim;
    int64_t low, high;
} adx_outer;

/* --- outermost loops ----------------------------------------------------- */

// Returns the index that has the longest strides, as adx_order_indices has it
// first, if no edge is cut off along it.
static adx_outer adx_outer_of_points(const adx_fusion *f, uint32_t value)
{
    const adx_pointwise *p = f->shape[value];
    uint32_t dims = adx_tensor_value_at(f->t, value)->dims;
    adx_outer to = { false, 0, 0, 0 };
    for (uint32_t d = 1; d < dims; d++)
        if (adx_stride_along(f, value, d) > adx_stride_along(f, value, to.dim))
            to.dim = d;
    if (dims == 0 || p->core.low[to.dim] != p->domain.low[to.dim]
        || p->core.high[to.dim] != p->domain.high[to.dim])
        return to;
    to.low = p->core.low[to.dim];
    to.high = p->core.high[to.dim];
    to.there = to.high - to.low >= ADX_BUNDLE_RUNS;
    return to;
}

// Whether row r of a set is the variable v and nothing else.
static bool adx_is_row_of(const adx_set *s, uint32_t r, uint32_t v)
{
    const int64_t *row = adx_form_of(s, r);
    uint32_t count;
    uint32_t some = 0;
    adx_divisor_of(s, row, &count, &some);
    return count == 1 && some == v && row[0] == 0 && row[1 + v] == 1;
}

// Whether a step gains more from being cut than from a bundle that is not: it
// reads fewer numbers of other steps than it has points. A bundle of a step
// that reads as many gains twice its time on one thread.
static bool adx_is_better_cut(const adx_fusion *f, const adx_tensor_value *v)
{
    uint64_t numbers = 0;
    if (!f->shares || v->cut == NULL)
        return false;
    for (uint32_t i = 0; i < v->term[0].factors; i++) {
        const adx_tensor_value *x =
            adx_tensor_value_at(f->t, v->term[0].factor[i].value);
        numbers += x->kind <= ADX_VALUE_WEIGHT ? 0 : x->size;
    }
    return adx_points_from(v->term[0].loop->nest, 0)
           >= ADX_BUNDLE_READS * numbers;
}

// Returns the outermost loop of a step that is loops: all terms begin with the
// same plain range.
static adx_outer adx_outer_of_loops(const adx_fusion *f, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, value);
    adx_outer to = { v->kind == ADX_VALUE_SUM && v->terms > 0
                         && !adx_has_sums(v) && adx_clears_all(v), 0, 0, 0 };
    for (uint32_t j = 0; j < v->terms && to.there; j++) {
        const adx_nest *n = v->term[j].loop->nest;
        const adx_nest_level *l = n->level;
        to.there = v->term[j].most == 0 && !n->empty && n->levels > 0
                && l->kind == ADX_LEVEL_RANGE && l->bounds == 0
                && l->checks == 0 && !v->term[j].set->gone[l->var]
                && (n->levels > 1 || !adx_reduces(v, &v->term[j]))
                && l->high - l->low >= ADX_BUNDLE_RUNS
                && (j == 0 || (l->low == to.low && l->high == to.high));
        to.low = l->low;
        to.high = l->high;
    }
    for (to.dim = 0; to.there && to.dim < v->dims; to.dim++) {
        bool all = v->low[to.dim] == to.low
                && v->low[to.dim] + v->extent[to.dim] - 1 == to.high;
        for (uint32_t j = 0; j < v->terms; j++)
            all = all && adx_is_row_of(v->term[j].set, v->term[j].out + to.dim,
                                       v->term[j].loop->nest->level[0].var);
        if (all)
            return to;
    }
    // What is added to in many runs has all points of a term before those of
    // the next one.
    to.dim = UINT32_MAX;
    to.there = to.there && v->terms == 1 && !adx_is_better_cut(f, v);
    return to;
}

// Returns the outermost loop of a step, if it can be that of a bundle.
static adx_outer adx_outer_of(const adx_fusion *f, uint32_t value)
{
    const adx_outer none = { false, 0, 0, 0 };
    return !f->spelled[value] ? none
         : f->shape[value] != NULL ? adx_outer_of_points(f, value)
                                   : adx_outer_of_loops(f, value);
}

// Whether the loops of two steps can be one.
static bool adx_same_outer(const adx_outer *one, const adx_outer *other)
{
    return one->there && other->there && one->low == other->low
        && one->high == other->high;
}

/* --- what is read within a run ------------------------------------------- */

typedef struct adx_bundling {
    adx_fusion *f;
    adx_outer *outer;           // [values]
    uint32_t *place;            // of values in the order of steps
    bool *needed;               // memory
    uint32_t leader;            // of the bundle that is made; 0: none
    uint32_t *made;             // [values] 1 + the index that the run is, of
                                // those that the bundle has made
} adx_bundling;

static bool adx_reads_within(const adx_bundling *k, uint32_t by,
                             const adx_tensor_term *term, const adx_set *s,
                             uint32_t var, bool note);

// Returns the variable of a piece that has the value of index `dim` of `dims`.
// UINT32_MAX: none. (Where there are bundles, no sizes are open.)
static uint32_t adx_variable_of_index(const adx_term_piece *piece,
                                      uint32_t dims, uint32_t dim)
{
    const uint32_t width = 1 + dims + ADX_LOOKUPS_MOST;
    uint32_t found = UINT32_MAX;
    for (uint32_t v = 0; v < piece->set->vars; v++) {
        const int64_t *form = &piece->form[v * width];
        if (form[0] == 0 && form[1 + dim] == 1)
            found = v;
    }
    return found;
}

// The same as adx_reads_within, of what the pieces of x read: x is computed
// where it is read. The run is the index of x that is var in the reader's set.
static bool adx_inlined_within(const adx_bundling *k, adx_access x,
                               const adx_set *s, uint32_t var, bool note)
{
    const adx_pointwise *p = k->f->shape[x.value];
    uint32_t dims = adx_tensor_value_at(k->f->t, x.value)->dims;
    uint32_t dim = 0;
    while (var != UINT32_MAX && dim < dims
           && !adx_is_row_of(s, x.row + dim, var))
        dim++;
    bool along = var != UINT32_MAX && dim < dims;
    if (note && along && k->f->fate[x.value] == ADX_FATE_HOSTED)
        k->made[x.value] = 1 + dim;
    for (uint32_t i = 0; i < p->n; i++) {
        const adx_term_piece *piece = &p->piece[i];
        uint32_t run = along ? adx_variable_of_index(piece, dims, dim)
                             : UINT32_MAX;
        if (!adx_reads_within(k, x.value, piece->term, piece->set, run, note))
            return false;
    }
    return true;
}

// Whether every value that a term reads is there when the run of the bundle
// needs it. The run is the variable var of the set; UINT32_MAX: no variable is.
// A value that is computed where it is read is examined in turn. A value of the
// bundle itself must be read in the row that the same run has made. Any other
// value must have been computed before the leader of the bundle. note: notes
// what the bundle makes.
static bool adx_reads_within(const adx_bundling *k, uint32_t by,
                             const adx_tensor_term *term, const adx_set *s,
                             uint32_t var, bool note)
{
    const adx_fusion *f = k->f;
    for (uint32_t i = 0; i < term->factors; i++) {
        const adx_access x = term->factor[i];
        bool ok = true;
        if (adx_tensor_value_at(f->t, x.value)->kind <= ADX_VALUE_WEIGHT)
            continue;
        if (adx_is_computed_by(f, x.value, by))
            ok = adx_inlined_within(k, x, s, var, note);
        else if (k->made[x.value] != 0)
            ok = var != UINT32_MAX
              && adx_is_row_of(s, x.row + k->made[x.value] - 1, var);
        else
            ok = k->place[adx_latest_of(f, x.value)] < k->place[k->leader];
        if (!ok)
            return false;
    }
    return true;
}

// Whether a step reads what its bundle has made only within the same run; note:
// notes what it makes.
static bool adx_fits_bundle(const adx_bundling *k, uint32_t value,
                            const adx_outer *o, bool note)
{
    const adx_tensor_value *v = adx_tensor_value_at(k->f->t, value);
    const adx_pointwise *p = k->f->shape[value];
    if (note && o->dim != UINT32_MAX)
        k->made[value] = 1 + o->dim;
    for (uint32_t i = 0; p != NULL && i < p->n; i++) {
        const adx_term_piece *piece = &p->piece[i];
        uint32_t run = o->dim == UINT32_MAX ? UINT32_MAX
                     : adx_variable_of_index(piece, v->dims, o->dim);
        if (!adx_reads_within(k, value, piece->term, piece->set, run, note))
            return false;
    }
    for (uint32_t i = 0; p == NULL && i < v->terms; i++)
        if (!adx_reads_within(k, value, &v->term[i], v->term[i].set,
                              v->term[i].loop->nest->level[0].var, note))
            return false;
    return true;
}

/* --- hosts --------------------------------------------------------------- */

// Whether every step that reads a hosted value also needs the host of that
// value, so that the value is there whenever it is read. A result of the text
// is read from outside.
static bool adx_host_is_needed(const adx_bundling *k, uint32_t value)
{
    const adx_fusion *f = k->f;
    const adx_tensor_program *p = f->t->program;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t by = p->order[i];
        if (!f->needed[by] || !adx_is_read_by(f, value, by))
            continue;
        memset(k->needed, 0, p->values * sizeof *k->needed);
        k->needed[by] = true;
        adx_need_all(p, k->needed);
        if (!k->needed[f->host[value]])
            return false;
    }
    return !f->result[value];
}

// Values whose host may not be needed are better members of its bundle.
static void adx_free_members(const adx_bundling *k)
{
    adx_fusion *f = k->f;
    const adx_tensor_program *p = f->t->program;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (!f->needed[v] || f->fate[v] != ADX_FATE_HOSTED || f->result[v]
            || adx_host_is_needed(k, v))
            continue;
        if (adx_same_outer(&k->outer[v], &k->outer[adx_latest_of(f, v)])) {
            f->fate[v] = ADX_FATE_ALONE;
            f->host[v] = 0;
        }
    }
}

/* --- thin values --------------------------------------------------------- */

// Whether only steps of a bundle read a value, and it is always they who
// compute it.
static bool adx_can_be_thin(const adx_bundling *k, uint32_t value)
{
    const adx_fusion *f = k->f;
    const adx_tensor_program *p = f->t->program;
    if (f->result[value]
        || (f->fate[value] == ADX_FATE_HOSTED && !adx_host_is_needed(k, value)))
        return false;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t by = p->order[i];
        if (!f->needed[by] || !adx_is_read_by(f, value, by))
            continue;
        if (f->bundle[adx_latest_of(f, by)] != k->leader
            || f->fate[by] == ADX_FATE_VIEW
            || (f->fate[by] == ADX_FATE_HOSTED && !adx_host_is_needed(k, by)))
            return false;
    }
    return true;
}

/* --- bundles -------------------------------------------------------------- */

// Whether a step is of a bundle, and not the first one.
static bool adx_is_follower(const adx_fusion *f, uint32_t value)
{
    return f->bundle[value] != 0 && f->bundle[value] != value;
}

// Adds the steps that fit after the leader. Returns how many there are then.
static uint32_t adx_add_members(const adx_bundling *k)
{
    adx_fusion *f = k->f;
    const adx_tensor_program *p = f->t->program;
    uint32_t n = 1;
    for (uint32_t i = k->place[k->leader] + 1; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (!f->needed[v] || f->fate[v] != ADX_FATE_ALONE || f->bundle[v] != 0)
            continue;
        const adx_outer *to = &k->outer[v];
        if (!adx_same_outer(to, &k->outer[k->leader])
            || !adx_fits_bundle(k, v, to, false))
            continue;
        f->bundle[v] = k->leader;
        f->run_of[v] = to->dim == UINT32_MAX ? 0 : 1 + to->dim;
        adx_fits_bundle(k, v, to, true);
        n++;
    }
    return n;
}

// Makes a bundle of a step and of the steps behind it that fit, if a value of
// theirs can be thin.
static void adx_try_bundle(adx_bundling *k, uint32_t leader)
{
    adx_fusion *f = k->f;
    uint32_t values = f->t->program->values;
    const adx_outer *o = &k->outer[leader];
    bool any = false;
    if (!o->there)
        return;
    memset(k->made, 0, values * sizeof *k->made);
    k->leader = leader;
    if (!adx_fits_bundle(k, leader, o, true))
        return;
    f->bundle[leader] = leader;
    f->run_of[leader] = o->dim == UINT32_MAX ? 0 : 1 + o->dim;
    if (adx_add_members(k) > 1)
        for (uint32_t i = 1; i < values; i++)
            if (k->made[i] != 0 && adx_can_be_thin(k, i)) {
                f->thin[i] = k->made[i];
                any = true;
            }
    for (uint32_t i = 1; i < values && !any; i++)
        if (f->bundle[i] == leader)
            f->bundle[i] = 0;
}

// Finds bundles among the steps of a part. False: no memory.
static bool adx_find_bundles(adx_fusion *f)
{
    const adx_tensor_program *p = f->t->program;
    adx_bundling k = { .f = f };
    k.outer = ADX_GET(f->a, p->values, adx_outer);
    k.place = ADX_GET(f->a, p->values, uint32_t);
    k.needed = ADX_GET(f->a, p->values, bool);
    k.made = ADX_GET(f->a, p->values, uint32_t);
    if (f->a->status != ADREV_OK)
        return false;
    if (p->values > ADX_BUNDLE_VALUES || f->t->open != NULL)
        return true;
    for (uint32_t i = 0; i < p->steps; i++) {
        k.place[p->order[i]] = i;
        if (f->needed[p->order[i]])
            k.outer[p->order[i]] = adx_outer_of(f, p->order[i]);
    }
    adx_free_members(&k);
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (f->needed[v] && f->fate[v] == ADX_FATE_ALONE && f->bundle[v] == 0)
            adx_try_bundle(&k, v);
    }
    return f->a->status == ADREV_OK;
}

/* --- parts of steps ---------------------------------------------------------
 * A part of a step has a range of one loop: of an index of the value, of its
 * points as tensor/parts cuts them, or of the runs of a bundle. What it writes,
 * no other part writes or reads, so bits do not depend on the parts. Sums of
 * parts are those of tensor/parts.
 *
 * Thin values have memory for all runs, of which a step uses that of the first:
 * so a
 * part uses that of its first run.                                          */

// Counts the points of the loops of a value.
static double adx_points_of_step(const adx_fusion *f, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(f->t, value);
    double n = 0;
    if (f->shape[value] != NULL)
        return adx_box_size(&f->shape[value]->domain, v->dims);
    for (uint32_t i = 0; i < v->terms; i++)
        n += (double)adx_points_from(v->term[i].loop->nest, 0);
    return n;
}

// Returns into how many parts so many points are cut, if one loop can have
// `most`.
static uint32_t adx_parts_of_points(double points, int64_t most)
{
    double parts = points / ADX_PART_LEAST;
    if (points < (double)ADX_FORK_LEAST)
        return 1;
    parts = parts < ADX_PARTS_MOST ? parts : ADX_PARTS_MOST;
    return parts < (double)most ? (uint32_t)parts : (uint32_t)most;
}

/* --- ways ---------------------------------------------------------------- */

// Returns the index with the longest strides of those that have enough values;
// if none has, the one with most.
static void adx_cut_index(const adx_fusion *f, uint32_t value, adx_step_cut *to)
{
    const adx_box *all = &f->shape[value]->domain;
    uint32_t dims = adx_tensor_value_at(f->t, value)->dims;
    int64_t most = 0;
    double far = -1;
    for (uint32_t d = 0; d < dims; d++) {
        int64_t extent = all->high[d] - all->low[d] + 1;
        extent = extent < ADX_PARTS_MOST ? extent : ADX_PARTS_MOST;
        double stride = adx_stride_along(f, value, d);
        if (extent < most || (extent == most && stride <= far))
            continue;
        most = extent;
        far = stride;
        to->dim = d;
    }
    to->parts = adx_parts_of_points(adx_points_of_step(f, value), most);
    if (to->parts < 2)
        return;
    to->way = ADX_STEP_INDEX;
    to->from = all->low[to->dim];
    to->to = all->high[to->dim] + 1;
}

// Whether C code can have the points of a part of a term: eight sums are not
// cut.
static bool adx_can_cut_term(const adx_tensor_value *v, uint32_t j)
{
    const adx_tensor_term *term = &v->term[j];
    const adx_term_cut *c = &v->cut->term[j];
    uint32_t last = term->loop->nest->levels - 1;
    bool reduced = c->form.n > 0 && c->last == last && adx_reduces(v, term);
    for (uint32_t i = 0; i < c->form.n; i++)
        reduced = reduced || (c->level[i] == last && adx_reduces(v, term));
    return !reduced;
}

// Cuts a step as its value is cut.
static void adx_cut_terms(const adx_tensor_value *v, adx_step_cut *to)
{
    bool sums = adx_has_sums(v);
    for (uint32_t j = 0; j < v->terms && !sums; j++)
        if (!adx_can_cut_term(v, j))
            return;
    to->way = sums ? ADX_STEP_SUMS : ADX_STEP_TERMS;
    to->dim = v->cut->kind == ADX_CUT_RESULTS ? v->cut->dim : UINT32_MAX;
    to->from = v->cut->from;
    to->to = v->cut->to;
    to->parts = v->cut->parts;
    to->clears = v->cut->kind == ADX_CUT_POINTS
              && (!v->once || adx_clears_all(v));
}

// Cuts a bundle whose steps all write numbers of the run.
static void adx_cut_runs(const adx_fusion *f, uint32_t leader, adx_step_cut *to)
{
    const adx_outer o = adx_outer_of(f, leader);
    double points = 0;
    for (uint32_t i = 1; i < f->t->program->values; i++) {
        if (f->bundle[i] != leader)
            continue;
        points += adx_points_of_step(f, i);
        if (f->run_of[i] == 0)
            return;
    }
    to->parts = adx_parts_of_points(points, o.high - o.low + 1);
    if (to->parts < 2)
        return;
    to->way = ADX_STEP_RUNS;
    to->from = o.low;
    to->to = o.high + 1;
}

// Cuts the steps of a part, whose bundles are known. False: no memory.
static bool adx_cut_steps(adx_fusion *f)
{
    const adx_tensor_program *p = f->t->program;
    f->cut = ADX_GET(f->a, p->values, adx_step_cut);
    for (uint32_t i = 0; f->parts && f->cut != NULL && i < p->steps; i++) {
        uint32_t value = p->order[i];
        const adx_tensor_value *v = adx_tensor_value_at(f->t, value);
        adx_step_cut *to = &f->cut[value];
        to->dim = UINT32_MAX;
        if (!f->needed[value] || !f->spelled[value] || v->size == 0
            || adx_is_follower(f, value))
            continue;
        if (f->bundle[value] == value)
            adx_cut_runs(f, value, to);
        else if (f->shape[value] != NULL)
            adx_cut_index(f, value, to);
        else if (v->cut != NULL)
            adx_cut_terms(v, to);
    }
    return f->cut != NULL;
}

ADX_SELDOM_END

/* === tensor/emission ========================================================
 * C text of tables, of forms of variables, and of places in memory, for the
 * loops of tensor/loops and the expressions of tensor/points. Their additions
 * and multiplications are those of tensor/run, in the same order, so the bits
 * are the same.
 *
 * In the text x0, x1, ... are variables of loops, b7 is value 7, t0 a table, v3
 * a number. n_ is the size n of the text, where it is open: an argument.
 *
 *   needs   code/text tensor/api tensor/tree tensor/arena tensor/sets
 *           tensor/nests tensor/binding tensor/open tensor/programs
 *           tensor/sharing tensor/pointwise tensor/fusion
 *   offers  adx_table_kind ADX_TABLE_INTS ADX_TABLE_COUNTS ADX_TABLE_WORDS
 *           adx_table_data adx_table_list adx_local_number ADX_CALLS_MOST
 *           ADX_CALLS_LEAST ADX_CALLS_FLOOR ADX_CALLS_ALL adx_emission
 *           adx_table_number adx_say_indent ADX_SAY_OPEN ADX_SAY_BLOCK
 *           ADX_SAY_LINE adx_close_to adx_say_size adx_say_variable
 *           adx_say_rest adx_begin_variables adx_is_cut adx_begin_body
 *           adx_say_affine adx_say_sparse adx_say_counted adx_spot_of
 *           adx_compose adx_indices_at adx_say_place
 * ========================================================================== */


ADX_SELDOM_BEGIN

/* --- tables -----------------------------------------------------------------
 * Values of maps, columns of relations, their inverses, and bits. Those that
 * any text of a file reads are numbered.                                     */

typedef enum adx_table_kind {
    ADX_TABLE_INTS, ADX_TABLE_COUNTS, ADX_TABLE_WORDS
} adx_table_kind;

// A table that the code reads.
typedef struct adx_table_data {
    const void *data;
    uint64_t n;
    adx_table_kind kind;
    bool read;                  // by the step that is written
} adx_table_data;

typedef struct adx_table_list {
    adx_table_data *table;
    uint32_t n, room;
} adx_table_list;

// What the body of a loop has computed: number v`number`, or x`number`, which a
// table gives.
typedef struct adx_local_number {
    struct adx_local_number *next;
    uint32_t value;
    const adx_int_table *table; // or NULL
    const int64_t *index;       // [dims][width] or, of a table, [1][width]
    uint32_t number;
} adx_local_number;

// Variables besides those of loops: numbers that tables give. A value with
// those that are computed with it has at most twice ADX_LOOKUPS_ALL.
#define ADX_VARIABLES_MORE (2 * ADX_LOOKUPS_ALL)

// Functions for bounds, in the file.
enum {
    ADX_CALLS_MOST = 1, ADX_CALLS_LEAST = 2, ADX_CALLS_FLOOR = 4,
    ADX_CALLS_ALL = 7
};

typedef struct adx_emission {
    adx_text text;
    adx_arena *a;
    const adx_fusion *f;
    adx_table_list *tables;
    bool *read, *written;       // [values] by this step
    bool *size;                 // [open sizes] by this step
    bool *helper;               // [ADX_HELPER_COUNT] by all steps
    bool picks;
    bool *flag;                 // [values] of a bundle: it asks whether they
                                // are needed
    bool in_run;                // of a bundle: the outermost loop is there
    const adx_step_cut *cut;    // of the step; NULL: all of it is done
    bool listed;                // it has lists of points: "which" is a part
    bool sums;                  // of parts, in memory of its own
    uint32_t into_sums;         // the value whose parts add to `sums`, or 0
    unsigned bounds;            // of ADX_CALLS_... those that are called, by
                                // any step
    bool rolled;                // a loop is not to be unrolled, in any step
    uint32_t width;             // of forms: 1 + variables
    uint32_t variables;         // those of the loops, then others
    uint32_t open;              // braces
    uint32_t numbers;           // v0 ... have been used
    adx_local_number *local;    // those in scope
} adx_emission;

// Returns the number of a table of constants, which is entered into the list if
// it is new. 0 without memory; the arena then has the status.
static uint32_t adx_table_number(adx_emission *e, const void *data, uint64_t n,
                                 adx_table_kind kind)
{
    adx_table_list *l = e->tables;
    uint32_t i = 0;
    while (i < l->n && l->table[i].data != data)
        i++;
    if (i == l->n && l->n == l->room) {
        adx_table_data *wide = ADX_GET(e->a, 2 * l->room + 8, adx_table_data);
        if (wide == NULL)
            return 0;
        if (l->n > 0)
            memcpy(wide, l->table, l->n * sizeof *wide);
        l->table = wide;
        l->room = 2 * l->room + 8;
    }
    if (i == l->n) {
        l->table[i].data = data;
        l->table[i].n = n;
        l->table[i].kind = kind;
        l->n++;
    }
    l->table[i].read = true;
    return i;
}

/* --- lines and forms ----------------------------------------------------- */

static void adx_say_indent(adx_emission *e)
{
    adx_say(&e->text, "%*s", 4 + 4 * (int)e->open, "");
}

// Begins a block: "for (...) {".
#define ADX_SAY_OPEN(e, ...)                                                   \
    (adx_say_indent(e), adx_say(&(e)->text, __VA_ARGS__),                   \
     adx_say(&(e)->text, " {\n"), (void)(e)->open++)
#define ADX_SAY_BLOCK(e)                                                       \
    (adx_say_indent(e), adx_say(&(e)->text, "{\n"), (void)(e)->open++)
#define ADX_SAY_LINE(e, ...)                                                   \
    (adx_say_indent(e), adx_say(&(e)->text, __VA_ARGS__),                   \
     adx_say(&(e)->text, "\n"))

// Ends blocks until `open` are left.
static void adx_close_to(adx_emission *e, uint32_t open)
{
    while (e->open > open) {
        e->open--;
        ADX_SAY_LINE(e, "}");
    }
}

// Writes "n_": the size n, as an argument. No other name of the text ends like
// this.
static void adx_say_size(adx_text *t, const ad_tensor *of, uint32_t open)
{
    const adx_spot name = of->tree.size[of->open->size[open]];
    adx_put_text(t, of->tree.text + name.at, name.length);
    adx_say(t, "_");
}

// Writes the name of a variable of loops, or of an open size.
static void adx_say_variable(adx_emission *e, uint32_t var)
{
    if (var >= adx_open_of(e->f->t)) {
        adx_say(&e->text, "x%lu", (unsigned long)var);
        return;
    }
    e->size[var] = true;
    adx_say_size(&e->text, e->f->t, var);
}

// Writes one term of a form, "+ 3*x1".
static bool adx_say_multiple(adx_emission *e, int64_t k, uint32_t var, bool any)
{
    if (k == 0)
        return any;
    uint64_t size = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
    adx_say(&e->text, any ? k < 0 ? " - " : " + " : k < 0 ? "-" : "");
    if (size > 1)
        adx_say(&e->text, "%llu*", (unsigned long long)size);
    adx_say_variable(e, var);
    return true;
}

// Writes the constant that ends a form; `any`: something stands before it.
static void adx_say_rest(adx_emission *e, int64_t c, bool any)
{
    if (c != 0 || !any)
        adx_say(&e->text, any ? c < 0 ? " - %llu" : " + %llu"
                              : c < 0 ? "-%llu" : "%llu",
                (unsigned long long)(c < 0 ? 0 - (uint64_t)c : (uint64_t)c));
}

// Sets how wide forms are from here on: they are of so many variables, open
// sizes and those of loops, and of numbers that tables give.
static void adx_begin_variables(adx_emission *e, uint32_t loops)
{
    e->width = 1 + loops + ADX_VARIABLES_MORE;
    e->variables = loops;
}

// The range of a part, "lo" and "hi", is of this.
static bool adx_is_cut(const adx_emission *e, adx_step_way way, uint32_t dim)
{
    return e->cut != NULL && e->cut->way == way && e->cut->dim == dim;
}

// Begins the inside of loops: no number is in a local variable yet.
static void adx_begin_body(adx_emission *e, uint32_t loops)
{
    e->local = NULL;
    e->variables = loops;
}

// Writes a form of all variables.
static void adx_say_affine(adx_emission *e, const int64_t form[])
{
    bool any = false;
    for (uint32_t v = 0; v + 1 < e->width; v++)
        any = adx_say_multiple(e, form[1 + v], v, any);
    adx_say_rest(e, form[0], any);
}

// Writes a form of the variables that it has.
static void adx_say_sparse(adx_emission *e, const adx_sparse_form *f)
{
    bool any = false;
    for (uint32_t i = 0; i < f->n; i++)
        any = adx_say_multiple(e, f->k[i], f->var[i], any);
    adx_say_rest(e, f->c, any);
}

// gcc unrolls loops of up to 16 turns before it looks for vectors, and then
// finds none. (bench: tensor, cp, compiled gradient, 0.23.)
#define ADX_ROLLED_LEAST 9
#define ADX_ROLLED_MOST  16

// Opens "for (long x1 = 0; x1 <= 15; x1++) {".
static void adx_say_counted(adx_emission *e, unsigned long x, int64_t low,
                            int64_t high)
{
    if (high - low + 1 >= ADX_ROLLED_LEAST
        && high - low + 1 <= ADX_ROLLED_MOST) {
        e->rolled = true;
        ADX_SAY_LINE(e, "%s_ROLLED", e->text.name);
    }
    ADX_SAY_OPEN(e, "for (long x%lu = %lld; x%lu <= %lld; x%lu++)", x,
                 (long long)low, x, (long long)high, x);
}

/* --- where numbers are --------------------------------------------------- */

// A term at a point: its variables as forms of those of the loops. map NULL:
// they are the same.
typedef struct adx_spot_of {
    const adx_set *set;
    const int64_t *map;         // [vars][width]
} adx_spot_of;

// Computes from[0] + sum from[1 + i]*form i, for n forms.
static void adx_compose(const adx_emission *e, const int64_t from[],
                        const int64_t form[], uint32_t n, int64_t to[])
{
    memset(to, 0, e->width * sizeof *to);
    to[0] = from[0];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; from[1 + i] != 0 && j < e->width; j++)
            to[j] = adx_whole_add(e->a, to[j], from[1 + i],
                                  form[(size_t)i * e->width + j]);
}

// Returns the indices of what a term reads or writes there. NULL: no memory.
static int64_t *adx_indices_at(adx_emission *e, const adx_spot_of *at,
                               adx_access from)
{
    uint32_t dims = adx_tensor_value_at(e->f->t, from.value)->dims;
    int64_t *index = ADX_GET(e->a, (size_t)dims * e->width, int64_t);
    for (uint32_t d = 0; index != NULL && d < dims; d++) {
        const int64_t *row = adx_form_of(at->set, from.row + d);
        int64_t *to = index + (size_t)d * e->width;
        if (at->map == NULL)
            memcpy(to, row, (1 + at->set->vars) * sizeof *to);
        else
            adx_compose(e, row, at->map, at->set->vars, to);
    }
    return index;
}

// Writes " + 512*(lo - 1)": thin values have the memory of the part's first
// run.
static void adx_say_first_run(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    uint32_t d = e->f->thin[value] - 1;
    if (e->f->thin[value] != 0 && adx_is_cut(e, ADX_STEP_RUNS, UINT32_MAX))
        adx_say(&e->text, " + (%lld)*(lo - (%lld))", (long long)v->stride[d],
                (long long)v->low[d]);
}

// Writes "b7[512*x0 + x1]".
static void adx_say_place(adx_emission *e, uint32_t value, const int64_t *index,
                          bool write)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    int64_t *place = ADX_GET(e->a, e->width, int64_t);
    if (v->kind == ADX_VALUE_SIZE) {
        adx_say(&e->text, "(%s)", e->text.real);
        adx_say_variable(e, v->order);
        return;
    }
    if (place == NULL || index == NULL)
        return;
    for (uint32_t d = 0; d < v->dims; d++) {
        if (e->f->thin[value] == 1 + d)
            continue;
        for (uint32_t j = 0; j < e->width; j++)
            place[j] = adx_whole_add(e->a, place[j], v->stride[d],
                                     index[(size_t)d * e->width + j]);
        adx_add_least(e->a, place, -v->stride[d], v, d, adx_open_of(e->f->t));
    }
    if (write && e->into_sums == value) {
        place[0] += v->first;
        adx_say(&e->text, "sums[");
        adx_say_affine(e, place);
        adx_say(&e->text, "]");
        return;
    }
    *(write ? &e->written[value] : &e->read[value]) = true;
    adx_say_index(&e->text, "b", value, "[");
    adx_say_affine(e, place);
    adx_say_first_run(e, value);
    adx_say(&e->text, "]");
}

ADX_SELDOM_END

/* === tensor/points ==========================================================
 * C text of numbers: in memory, or expressions of others; of functions, their
 * partials, and the derivatives of these; and of values that are computed
 * number by number: loops over regions of their indices, the core and what is
 * around it, with one expression inside.
 *
 *   needs   core/cells code/text tensor/arena tensor/sets tensor/binding
 *           tensor/open tensor/programs tensor/sharing tensor/pointwise
 *           tensor/fusion tensor/emission
 *   offers  adx_numbers_read adx_say_operand adx_take_numbers
 *           adx_say_product_of adx_sum_text adx_say_sum_text adx_say_added
 *           adx_say_application_at adx_is_run_index adx_say_run_index
 *           adx_say_open_index adx_say_pointwise
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- numbers ------------------------------------------------------------- */

#define ADX_IN_MEMORY UINT32_MAX

// A number that is read: v`local`, or one of a value.
typedef struct adx_number_read {
    uint32_t local;
    uint32_t value;
    const int64_t *index;
} adx_number_read;

typedef struct adx_numbers_read {
    adx_emission *e;
    adx_number_read x[3];
    uint32_t result;            // the number that is v in formulas
    bool absorbs;               // of a product: a zero does (tensor/programs)
} adx_numbers_read;

static uint32_t adx_say_value_at(adx_emission *e, uint32_t value,
                                 const int64_t *index, const adx_box *region);

// Writes a number that is read: a local variable, or its place in memory.
static void adx_say_operand(adx_emission *e, const adx_number_read *x)
{
    if (x->local != ADX_IN_MEMORY)
        adx_say_index(&e->text, "v", x->local, "");
    else
        adx_say_place(e, x->value, x->index, false);
}

// Returns what is in scope: the number of a value, or of a table, at indices.
// NULL: it is not there.
static const adx_local_number *adx_find_local(const adx_emission *e,
                                              uint32_t value,
                                              const adx_int_table *table,
                                              const int64_t *index, uint32_t n)
{
    const adx_local_number *l = e->local;
    while (l != NULL && (l->value != value || l->table != table
                         || (n > 0 && memcmp(l->index, index, (size_t)n
                                             * e->width * sizeof *index) != 0)))
        l = l->next;
    return l;
}

// Notes that a local variable holds a number, so that it is not read again.
static void adx_keep_local(adx_emission *e, uint32_t value,
                           const adx_int_table *table, const int64_t *index,
                           uint32_t number)
{
    adx_local_number *to = ADX_GET(e->a, 1, adx_local_number);
    if (to == NULL)
        return;
    to->value = value;
    to->table = table;
    to->index = index;
    to->number = number;
    to->next = e->local;
    e->local = to;
}

// Returns the local number of a value that is computed here: it is written now,
// unless it is there.
static uint32_t adx_local_of(adx_emission *e, uint32_t value,
                             const int64_t *index)
{
    uint32_t dims = adx_tensor_value_at(e->f->t, value)->dims;
    const adx_local_number *l = adx_find_local(e, value, NULL, index, dims);
    if (l != NULL)
        return l->number;
    uint32_t number = adx_say_value_at(e, value, index, NULL);
    adx_keep_local(e, value, NULL, index, number);
    return number;
}

// Returns the variable that a table gives for an argument.
static uint32_t adx_variable_of(adx_emission *e, const adx_int_table *table,
                                int64_t *argument)
{
    const adx_local_number *l = adx_find_local(e, 0, table, argument, 1);
    if (l != NULL)
        return l->number;
    uint32_t number = e->variables++;
    if (e->variables >= e->width) {
        adx_arena_fail(e->a, ADREV_ELIMIT);
        return 0;
    }
    adx_say_indent(e);
    adx_say(&e->text, "const long x%lu = t%lu[", (unsigned long)number,
            (unsigned long)adx_table_number(e, table->value, table->n,
                                            ADX_TABLE_INTS));
    argument[0] -= table->from;
    adx_say_affine(e, argument);
    argument[0] += table->from;
    adx_say(&e->text, "];\n");
    adx_keep_local(e, 0, table, argument, number);
    return number;
}

// Finds what a term of the value `by` reads there.
static adx_number_read adx_operand_at(adx_emission *e, uint32_t by,
                                      const adx_spot_of *at, adx_access from)
{
    adx_number_read x =
        { ADX_IN_MEMORY, from.value, adx_indices_at(e, at, from) };
    const adx_fusion *f = e->f;
    if (x.index != NULL && adx_is_computed_by(f, from.value, by))
        x.local = adx_local_of(e, from.value, x.index);
    return x;
}

// Finds the numbers that a term reads, and writes the code that has to stand
// before.
static void adx_take_numbers(adx_emission *e, uint32_t by,
                             const adx_spot_of *at,
                             const adx_tensor_term *term, adx_numbers_read *to)
{
    to->e = e;
    to->absorbs = term->absorbs;
    for (uint32_t i = 0; i < term->factors; i++)
        to->x[i] = adx_operand_at(e, by, at, term->factor[i]);
}

// Writes a factor: "a", or "(b == 0 ? 0 : a)", as adx_beside has it
// (tensor/run).
static void adx_say_factor(adx_emission *e, const adx_numbers_read *o,
                           uint32_t i)
{
    if (o->absorbs) {
        adx_say(&e->text, "(");
        adx_say_operand(e, &o->x[1 - i]);
        adx_say(&e->text, " == 0 ? 0 : ");
    }
    adx_say_operand(e, &o->x[i]);
    adx_say(&e->text, o->absorbs ? ")" : "");
}

// Writes k*a*b; k may be 1.
static void adx_say_product_of(adx_emission *e, const adx_numbers_read *o,
                               uint32_t n, ad_real k)
{
    if (k != 1 || n == 0)
        adx_say_literal(&e->text, k);
    for (uint32_t i = 0; i < n; i++) {
        adx_say(&e->text, i > 0 || k != 1 ? " * " : "");
        adx_say_factor(e, o, i);
    }
}

// The text of a sum that is added to: a name, a number of a value, or else
// v`number`.
typedef struct adx_sum_text {
    const char *name;
    uint32_t value;
    const int64_t *index;
    uint32_t number;
} adx_sum_text;

// Writes what is added to: a variable by its name or number, or a place.
static void adx_say_sum_text(adx_emission *e, const adx_sum_text *to)
{
    if (to->name != NULL)
        adx_say(&e->text, "%s", to->name);
    else if (to->value != 0)
        adx_say_place(e, to->value, to->index, true);
    else
        adx_say_index(&e->text, "v", to->number, "");
}

// Writes to += k*a*b, in one rounding where the text is fused (tensor/run).
static void adx_say_added(adx_emission *e, const adx_sum_text *to,
                          const adx_numbers_read *o, uint32_t n, ad_real k)
{
    bool fused = e->f->t->options.fused && n == 2;
    bool less = k == -1 && n > 0;
    adx_say_indent(e);
    adx_say_sum_text(e, to);
    if (fused) {
        adx_say(&e->text, " = fma%s(%s", e->text.single ? "f" : "",
                less ? "-" : "");
        adx_say_product_of(e, o, 1, less ? 1 : k);
        adx_say(&e->text, ", ");
        adx_say_factor(e, o, 1);
        adx_say(&e->text, ", ");
        adx_say_sum_text(e, to);
        adx_say(&e->text, ");\n");
        return;
    }
    adx_say(&e->text, less ? " -= " : " += ");
    adx_say_product_of(e, o, n, less ? 1 : k);
    adx_say(&e->text, ";\n");
}

/* --- functions ----------------------------------------------------------- */

// Writes what a letter of a cell stands for: v the result, x, y and z the
// operands.
static void adx_say_letter(adx_text *t, char which, void *user)
{
    const adx_numbers_read *o = (const adx_numbers_read *)user;
    if (which == 'v')
        adx_say_index(t, "v", o->result, "");
    else
        adx_say_operand(o->e, &o->x[which - 'x']);
}

// Whether a formula mentions the letter v alone.
static bool adx_mentions_result(const char *text)
{
    for (const char *at = text; (at = strchr(at, 'v')) != NULL; at++) {
        bool before = at > text && (adx_is_letter(at[-1])
                                    || adx_is_digit(at[-1]));
        if (!before && !adx_is_letter(at[1]) && !adx_is_digit(at[1]))
            return true;
    }
    return false;
}

// Writes a formula of numbers as a new number.
static uint32_t adx_say_formula_of(adx_emission *e, const char *formula,
                                   adx_numbers_read *o)
{
    adx_say_indent(e);
    adx_say_index(&e->text, e->text.single ? "const float v" : "const double v",
                  e->numbers, " = ");
    adx_find_helpers(formula, e->helper);
    adx_say_formula(&e->text, formula, adx_say_letter, o);
    adx_say(&e->text, ";\n");
    return e->numbers++;
}

// Returns how code reads a number that is a local variable.
static adx_number_read adx_local_read(uint32_t number)
{
    const adx_number_read x = { number, 0, NULL };
    return x;
}

// Writes a constant as a new number.
static uint32_t adx_say_constant_number(adx_emission *e, ad_real v)
{
    adx_say_indent(e);
    adx_say_index(&e->text, e->text.single ? "const float v" : "const double v",
                  e->numbers, " = ");
    adx_say_literal(&e->text, v);
    adx_say(&e->text, ";\n");
    return e->numbers++;
}

// Writes the tangent of a term of a cell, from the tangents of its arguments.
static uint32_t adx_say_term_tangent(adx_emission *e, const adx_term *term,
                                     uint64_t moving, adx_numbers_read *o,
                                     const uint32_t tangent[])
{
    uint32_t sum = e->numbers++;
    const char *chain = adx_row_of(ADX_OP_chain)->value;
    ADX_SAY_LINE(e, "%s v%lu = 0;", e->text.real, (unsigned long)sum);
    for (int i = 0; i < adx_row_of(term->op)->arity; i++) {
        if ((moving >> term->arg[i] & 1) == 0)
            continue;
        adx_numbers_read both = { .e = e };
        both.x[0] = adx_local_read(
            adx_say_formula_of(e, adx_row_of(term->op)->partial[i], o));
        both.x[1] = adx_local_read(tangent[term->arg[i]]);
        adx_say_indent(e);
        adx_say_index(&e->text, "v", sum, " += ");
        adx_find_helpers(chain, e->helper);
        adx_say_formula(&e->text, chain, adx_say_letter, &both);
        adx_say(&e->text, ";\n");
    }
    return sum;
}

// Writes the derivative of a partial, as tensor/run makes it of the partial's
// terms. o has the arguments and the result of the function.
static uint32_t adx_say_second(adx_emission *e, const adx_tensor_value *v,
                               adx_numbers_read *o)
{
    const adx_tensor_second *s = v->second;
    adx_number_read value[ADX_TERM_FIRST + ADX_TERMS];
    uint32_t tangent[ADX_TERM_FIRST + ADX_TERMS] = { 0 };
    memcpy(value, o->x, sizeof o->x);
    value[ADX_TERM_VALUE] = adx_local_read(o->result);
    tangent[s->by] = adx_say_constant_number(e, 1);
    tangent[ADX_TERM_VALUE] =
        adx_say_formula_of(e, adx_row_of(v->op)->partial[s->by], o);
    for (uint8_t k = 0; k < s->cell.terms; k++) {
        const adx_term *term = &s->cell.term[k];
        adx_numbers_read of = { .e = e };
        for (int i = 0; i < 3; i++)
            of.x[i] = value[term->arg[i]];
        of.result = term->op == ADX_TERM_NUMBER
                  ? adx_say_constant_number(e, term->v)
                  : adx_say_formula_of(e, adx_row_of(term->op)->value, &of);
        value[ADX_TERM_FIRST + k] = adx_local_read(of.result);
        ADX_SAY_LINE(e, "(void)v%lu;", (unsigned long)of.result);
        tangent[ADX_TERM_FIRST + k] =
            (s->moving >> (ADX_TERM_FIRST + k) & 1) == 0 ? 0
            : adx_say_term_tangent(e, term, s->moving, &of, tangent);
    }
    ADX_SAY_LINE(e, "(void)v%lu, (void)v%lu;", (unsigned long)tangent[s->by],
                 (unsigned long)tangent[ADX_TERM_VALUE]);
    return tangent[s->cell.result];
}

// Writes a function, its partial, or the derivative of that, as a number.
static uint32_t adx_say_application_at(adx_emission *e, uint32_t value,
                                       const adx_spot_of *at)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const char *formula = adx_formula_of(v);
    adx_numbers_read o = { .e = e };
    adx_take_numbers(e, value, at, &v->term[0], &o);
    bool second = v->kind == ADX_VALUE_SECOND;
    if (second || (v->kind == ADX_VALUE_PARTIAL
                   && adx_mentions_result(formula))) {
        o.result = adx_say_formula_of(e, adx_row_of(v->op)->value, &o);
        if (second)
            ADX_SAY_LINE(e, "(void)v%lu;", (unsigned long)o.result);
    }
    return second ? adx_say_second(e, v, &o)
                  : adx_say_formula_of(e, formula, &o);
}

/* --- number by number ---------------------------------------------------- */

// Writes "if (x0 >= 1 && x1 <= 3)": where a piece adds, as far as a region does
// not say so. False: nothing is to be asked.
static bool adx_say_inside(adx_emission *e, const adx_term_piece *p,
                           uint32_t dims, const adx_box *region)
{
    bool any = false;
    for (uint32_t d = 0; region != NULL && d < dims; d++)
        for (int upper = 0; upper < 2; upper++) {
            int64_t bound = upper ? p->box.high[d] : p->box.low[d];
            if (upper ? region->high[d] <= bound : region->low[d] >= bound)
                continue;
            if (!any)
                adx_say_indent(e);
            adx_say(&e->text, "%sx%lu %s %lld", any ? " && " : "if (",
                    (unsigned long)d, upper ? "<=" : ">=", (long long)bound);
            any = true;
        }
    if (any) {
        adx_say(&e->text, ") {\n");
        e->open++;
    }
    return any;
}

// Whether a piece adds nowhere in a region.
static bool adx_never_inside(const adx_term_piece *p, uint32_t dims,
                             const adx_box *region)
{
    for (uint32_t d = 0; region != NULL && d < dims; d++)
        if (region->low[d] > p->box.high[d] || region->high[d] < p->box.low[d])
            return true;
    return false;
}

// Finds which numbers that maps give a piece needs: for its factors, or for
// others.
static void adx_find_used_lookups(const adx_emission *e,
                                  const adx_term_piece *p, uint32_t dims,
                                  bool used[])
{
    uint32_t first = 1 + adx_open_of(e->f->t) + dims;
    uint32_t own = first + ADX_LOOKUPS_MOST;
    memset(used, 0, ADX_LOOKUPS_MOST * sizeof *used);
    for (uint32_t i = 0; i < p->term->factors; i++) {
        const adx_access x = p->term->factor[i];
        uint32_t n = adx_tensor_value_at(e->f->t, x.value)->dims;
        for (uint32_t r = x.row; r < x.row + n; r++)
            for (uint32_t v = 0; v < p->set->vars; v++)
                for (uint32_t l = 0; l < p->lookups; l++)
                    used[l] |= adx_form_of(p->set, r)[1 + v] != 0
                            && p->form[(size_t)v * own + first + l] != 0;
    }
    for (uint32_t l = p->lookups; l-- > 0;)
        for (uint32_t i = 0; i < l && used[l]; i++)
            used[i] |= p->lookup[l].argument[first + i] != 0;
}

// Returns the variables of a piece of a value whose indices are forms.
static adx_spot_of adx_piece_at(adx_emission *e, const adx_term_piece *p,
                                uint32_t dims, const int64_t *index)
{
    uint32_t open = adx_open_of(e->f->t);
    uint32_t own = 1 + open + dims + ADX_LOOKUPS_MOST;
    int64_t *map = ADX_GET(e->a, (size_t)p->set->vars * e->width, int64_t);
    int64_t *all = ADX_GET(e->a, (size_t)own * e->width, int64_t);
    const adx_spot_of at = { p->set, all == NULL ? NULL : map };
    bool used[ADX_LOOKUPS_MOST];
    if (map == NULL || all == NULL)
        return at;
    for (uint32_t i = 0; i < open; i++)
        all[(size_t)i * e->width + 1 + i] = 1;
    if (dims > 0)
        memcpy(all + (size_t)open * e->width, index,
               (size_t)dims * e->width * sizeof *all);
    adx_find_used_lookups(e, p, dims, used);
    for (uint32_t i = 0; i < p->lookups; i++) {
        int64_t *argument = ADX_GET(e->a, e->width, int64_t);
        if (argument == NULL)
            return at;
        if (!used[i])
            continue;
        adx_compose(e, p->lookup[i].argument, all, open + dims + i, argument);
        uint32_t x = adx_variable_of(e, p->lookup[i].table, argument);
        all[(size_t)(open + dims + i) * e->width + 1 + x] = 1;
    }
    for (uint32_t v = 0; v < p->set->vars; v++)
        adx_compose(e, p->form + (size_t)v * own, all, open + dims + p->lookups,
                    map + (size_t)v * e->width);
    return at;
}

// Adds what one piece adds to number v`number`.
static void adx_say_piece(adx_emission *e, uint32_t value,
                          const adx_term_piece *p, const int64_t *index,
                          const adx_box *region, uint32_t number)
{
    uint32_t dims = adx_tensor_value_at(e->f->t, value)->dims;
    uint32_t open = e->open;
    adx_local_number *local = e->local;
    adx_numbers_read o = { .e = e };
    if (adx_never_inside(p, dims, region))
        return;
    bool asked = adx_say_inside(e, p, dims, region);
    const adx_spot_of at = adx_piece_at(e, p, dims, index);
    if (at.map == NULL && p->set->vars > 0)
        return;
    adx_take_numbers(e, value, &at, p->term, &o);
    const adx_sum_text to = { .number = number };
    adx_say_added(e, &to, &o, p->term->factors, p->term->k);
    if (asked) {
        adx_close_to(e, open);
        e->local = local;
    }
}

// Whether a number of a value is one product, that nothing is added to.
static bool adx_is_one_product(const adx_emission *e, uint32_t value,
                               const adx_box *region)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const adx_pointwise *p = e->f->shape[value];
    return v->kind == ADX_VALUE_SUM && v->once && p->n == 1
        && (region == NULL || adx_is_inside(region, &p->piece[0].box, v->dims));
}

// Writes the number of a value at indices that are forms, in a region of them:
// NULL: in its core. Returns which v it is.
static uint32_t adx_say_sum_at(adx_emission *e, uint32_t value,
                               const int64_t *index, const adx_box *region)
{
    const adx_pointwise *p = e->f->shape[value];
    uint32_t dims = adx_tensor_value_at(e->f->t, value)->dims;
    if (adx_is_one_product(e, value, region)) {
        adx_numbers_read o = { .e = e };
        const adx_spot_of at = adx_piece_at(e, &p->piece[0], dims, index);
        adx_take_numbers(e, value, &at, p->piece[0].term, &o);
        adx_say_indent(e);
        adx_say(&e->text, "const %s v%lu = ", e->text.real,
                (unsigned long)e->numbers);
        adx_say_product_of(e, &o, p->piece[0].term->factors,
                        p->piece[0].term->k);
        adx_say(&e->text, ";\n");
        return e->numbers++;
    }
    uint32_t number = e->numbers++;
    ADX_SAY_LINE(e, "%s v%lu = 0;", e->text.real, (unsigned long)number);
    for (uint32_t i = 0; i < p->n; i++)
        adx_say_piece(e, value, &p->piece[i], index, region, number);
    return number;
}

// Writes the code of one number of a value. region: a box in which the index is
// known to lie; NULL: none is known. A hosted value is also stored. Returns the
// number of the variable.
static uint32_t adx_say_value_at(adx_emission *e, uint32_t value,
                                 const int64_t *index, const adx_box *region)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const adx_pointwise *p = e->f->shape[value];
    bool inside = region == NULL
               || adx_is_inside(region, &p->piece[0].box, v->dims);
    uint32_t number;
    if (v->kind == ADX_VALUE_SUM || !inside)
        number = adx_say_sum_at(e, value, index, region);
    else {
        const adx_spot_of at = adx_piece_at(e, &p->piece[0], v->dims, index);
        number = adx_say_application_at(e, value, &at);
    }
    if (region == NULL && e->f->fate[value] == ADX_FATE_HOSTED) {
        adx_say_indent(e);
        adx_say_place(e, value, index, true);
        adx_say(&e->text, " = v%lu;\n", (unsigned long)number);
    }
    return number;
}

// Returns the indices, those with long strides first. NULL: no memory.
static uint32_t *adx_order_indices(adx_emission *e, uint32_t value)
{
    uint32_t dims = adx_tensor_value_at(e->f->t, value)->dims;
    uint32_t *order = ADX_GET(e->a, dims, uint32_t);
    for (uint32_t d = 0; order != NULL && d < dims; d++) {
        uint32_t i = d;
        for (; i > 0 && adx_stride_along(e->f, value, d)
                        > adx_stride_along(e->f, value, order[i - 1]); i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
    return order;
}

// Whether an index of a value is that of the runs of its bundle.
static bool adx_is_run_index(const adx_emission *e, uint32_t value, uint32_t d)
{
    return e->in_run && e->f->run_of[value] == 1 + d;
}

// Declares the variable that all steps of a bundle share, which is the bundle's
// loop e.
static void adx_say_run_index(adx_emission *e, uint32_t var)
{
    ADX_SAY_LINE(e, "const long x%lu = e;", (unsigned long)var);
    ADX_SAY_LINE(e, "(void)x%lu;", (unsigned long)var);
}

// Opens "for (long x1 = 0; x1 <= n_ - 1; x1++) {", along index d of a value. An
// index with one number, whatever the sizes are, is no loop.
static void adx_say_open_index(adx_emission *e, const adx_tensor_value *v,
                               uint32_t d, int64_t index[])
{
    uint32_t open = adx_open_of(e->f->t);
    size_t n = 1 + open;
    const int64_t *from = v->range.from + d * n;
    const int64_t *last = v->range.last + d * n;
    unsigned long x = open + d;
    int64_t *form = ADX_GET(e->a, e->width, int64_t);
    if (form == NULL)
        return;
    memcpy(form, from, n * sizeof *form);
    if (memcmp(from, last, n * sizeof *form) == 0) {
        memcpy(index + (size_t)d * e->width, form, e->width * sizeof *form);
        return;
    }
    index[(size_t)d * e->width + 1 + x] = 1;
    adx_say_indent(e);
    adx_say(&e->text, "for (long x%lu = ", x);
    adx_say_affine(e, form);
    adx_say(&e->text, "; x%lu <= ", x);
    memcpy(form, last, n * sizeof *form);
    adx_say_affine(e, form);
    adx_say(&e->text, "; x%lu++) {\n", x);
    e->open++;
}

// Writes the loop over an index from low to high, or what a part has of it.
static void adx_say_index_from(adx_emission *e, uint32_t d, int64_t low,
                               int64_t high)
{
    unsigned long x = d;
    bool cut = adx_is_cut(e, ADX_STEP_INDEX, d);
    bool all = cut && low == e->cut->from && high == e->cut->to - 1;
    if (cut && !all) {
        ADX_SAY_BLOCK(e);
        ADX_SAY_LINE(e, "const long from%lu = %s_most(lo, %lld),"
                     " to%lu = %s_least(hi - 1, %lld);", x, e->text.name,
                     (long long)low, x, e->text.name, (long long)high);
        e->bounds = ADX_CALLS_ALL;
        ADX_SAY_OPEN(e, "for (long x%lu = from%lu; x%lu <= to%lu; x%lu++)", x,
                     x, x, x, x);
    } else if (cut)
        ADX_SAY_OPEN(e, "for (long x%lu = lo; x%lu < hi; x%lu++)", x, x, x);
    else
        adx_say_counted(e, x, low, high);
}

// Writes loops over the indices in a region.
static void adx_say_region(adx_emission *e, uint32_t value,
                           const adx_box *region, const uint32_t order[])
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    int64_t *index = ADX_GET(e->a, (size_t)v->dims * e->width, int64_t);
    uint32_t open = e->open;
    if (index == NULL || adx_box_size(region, v->dims) == 0)
        return;
    if (e->in_run)
        ADX_SAY_BLOCK(e);
    for (uint32_t i = 0; i < v->dims; i++) {
        unsigned long x = order[i];
        if (v->range.from != NULL) {
            adx_say_open_index(e, v, order[i], index);
            continue;
        }
        if (region->low[x] == region->high[x]) {
            index[x * e->width] = region->low[x];
            if (adx_is_cut(e, ADX_STEP_INDEX, order[i]))
                ADX_SAY_OPEN(e, "if (lo <= %lld && hi > %lld)",
                             (long long)region->low[x],
                             (long long)region->low[x]);
            continue;
        }
        index[x * e->width + 1 + x] = 1;
        if (adx_is_run_index(e, value, order[i]))
            adx_say_run_index(e, order[i]);
        else
            adx_say_index_from(e, order[i], region->low[x], region->high[x]);
    }
    if (e->open == open)
        ADX_SAY_BLOCK(e);
    adx_begin_body(e, adx_open_of(e->f->t) + v->dims);
    uint32_t number = adx_say_value_at(e, value, index, region);
    adx_say_indent(e);
    adx_say_place(e, value, index, true);
    adx_say(&e->text, " = v%lu;\n", (unsigned long)number);
    adx_close_to(e, open);
}

// Writes the core, and what is around it.
static void adx_say_pointwise(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const adx_pointwise *p = e->f->shape[value];
    const uint32_t *order = adx_order_indices(e, value);
    adx_box r;
    adx_begin_variables(e, adx_open_of(e->f->t) + v->dims);
    if (order == NULL || !adx_make_box(e->a, v->dims, &r))
        return;
    adx_say_region(e, value, &p->core, order);
    for (uint32_t d = 0; d < v->dims; d++)
        for (int upper = 0; upper < 2; upper++) {
            for (uint32_t i = 0; i < v->dims; i++) {
                r.low[i] = i < d ? p->core.low[i] : p->domain.low[i];
                r.high[i] = i < d ? p->core.high[i] : p->domain.high[i];
            }
            *(upper ? &r.low[d] : &r.high[d]) =
                upper ? p->core.high[d] + 1 : p->core.low[d] - 1;
            adx_say_region(e, value, &r, order);
        }
}

ADX_SELDOM_END

/* === tensor/loops ===========================================================
 * C text of a term's loops, as tensor/nests has them: a level is a loop, or an
 * assignment where others give its variable, and conditions stand where their
 * last variable has its value. So points keep the order in which tensor/run
 * visits them.
 *
 *   needs   code/text tensor/api tensor/arena tensor/sets tensor/nests
 *           tensor/programs tensor/sharing tensor/parts tensor/storage
 *           tensor/emission
 *   offers  adx_doing ADX_DOING_TERM ADX_DOING_ZEROS ADX_DOING_FORGET
 *           adx_looping adx_say_size_level adx_say_part_check adx_say_bounds
 *           adx_say_level_unread adx_say_level
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- loops of a term ----------------------------------------------------- */

// What loops do at the points of a term.
typedef enum adx_doing {
    ADX_DOING_TERM,             // what its value says
    ADX_DOING_ZEROS,            // 0 where it writes
    ADX_DOING_FORGET            // what is picked from is not yet picked
} adx_doing;

typedef struct adx_looping {
    adx_emission *e;
    uint32_t value;
    const adx_tensor_term *term;
    const adx_nest *nest;
    adx_doing doing;
    const adx_nest_level *cut;  // its variable is that of a part: from lo to
                                // hi - 1; or NULL
    const adx_term_cut *part;   // only points where its form is so; or NULL
} adx_looping;

// Returns the least, or largest, that a form can be.
static double adx_sparse_extreme(const adx_nest *n, const adx_sparse_form *f,
                                 bool most)
{
    double sum = (double)f->c;
    for (uint32_t i = 0; i < f->n; i++)
        for (uint32_t l = 0; l < n->levels; l++)
            if (n->level[l].var == f->var[i])
                sum += (double)f->k[i] * (double)((f->k[i] > 0) == most
                                   ? n->level[l].high : n->level[l].low);
    return sum;
}

// Opens "if (x3 >= 0 && x3 <= 7) {" for a value that may be outside.
static void adx_say_within(adx_emission *e, const adx_nest_level *l,
                           bool below, bool above)
{
    unsigned long x = l->var;
    if (below && above)
        ADX_SAY_OPEN(e, "if (x%lu >= %lld && x%lu <= %lld)", x,
                     (long long)l->low, x, (long long)l->high);
    else if (below)
        ADX_SAY_OPEN(e, "if (x%lu >= %lld)", x, (long long)l->low);
    else if (above)
        ADX_SAY_OPEN(e, "if (x%lu <= %lld)", x, (long long)l->high);
}

// Opens "if (form >= low && form <= high) {".
static void adx_say_asked(adx_emission *e, const adx_sparse_form *f,
                          int64_t low, int64_t high)
{
    adx_say_indent(e);
    adx_say(&e->text, "if (");
    adx_say_sparse(e, f);
    adx_say(&e->text, " >= %lld && ", (long long)low);
    adx_say_sparse(e, f);
    adx_say(&e->text, " <= %lld) {\n", (long long)high);
    e->open++;
}

// Writes " - (form))", the end of what begins with a bracket. NULL: nothing.
static void adx_say_less(adx_emission *e, const adx_sparse_form *f)
{
    if (f == NULL)
        return;
    adx_say(&e->text, " - (");
    adx_say_sparse(e, f);
    adx_say(&e->text, "))");
}

// Names that are declared next belong to a block.
static void adx_say_scope(adx_emission *e)
{
    if (e->open == 0)
        ADX_SAY_BLOCK(e);
}

/* --- bounds that are forms in open sizes --------------------------------- */

// Whether a bound alone decides: it is never beyond the bounds that are
// numbers.
static bool adx_is_decisive(const adx_looping *k, const adx_nest_level *l,
                            const adx_set_check *bound)
{
    double most = adx_sparse_extreme(k->nest, &bound->form, true);
    return bound->k == 1 ? most <= -(double)l->low
         : bound->k == -1 && most <= (double)l->high;
}

// Returns the number of bounds from below, or above, and whether the level's
// number is among them.
static uint32_t adx_count_ends(const adx_looping *k, const adx_nest_level *l,
                               bool upper, bool *number)
{
    uint32_t n = 0;
    *number = true;
    for (uint32_t i = 0; i < l->bounds; i++) {
        if ((l->bound[i].k < 0) != upper)
            continue;
        n++;
        *number = *number && !adx_is_decisive(k, l, &l->bound[i]);
    }
    return n + *number;
}

// Writes "n_ - 1", the end of a range that one bound makes.
static void adx_say_one_end(adx_emission *e, const adx_set_check *b)
{
    adx_sparse_form f = b->form;
    bool unit = adx_is_unit(b->k);
    int64_t *minus = ADX_GET(e->a, f.n, int64_t);
    if (minus == NULL)
        return;
    for (uint32_t i = 0; i < f.n; i++)
        minus[i] = -f.k[i];
    if (b->k == 1) {
        f.k = minus;
        f.c = -f.c;
    }
    if (!unit) {
        adx_say(&e->text, "%s%s_floor(", b->k > 0 ? "-" : "", e->text.name);
        e->bounds |= ADX_CALLS_FLOOR;
    }
    adx_say_sparse(e, &f);
    if (!unit)
        adx_say(&e->text, ", %lld)", (long long)(b->k < 0 ? -b->k : b->k));
}

// Writes "f_least(9, n_ - 1)": the end of a range.
static void adx_say_end(const adx_looping *k, const adx_nest_level *l,
                        bool upper)
{
    adx_emission *e = k->e;
    bool number;
    uint32_t left = adx_count_ends(k, l, upper, &number);
    if (left > 1)
        e->bounds |= upper ? ADX_CALLS_LEAST : ADX_CALLS_MOST;
    uint32_t calls = left - 1;
    for (uint32_t i = 0; i <= l->bounds; i++) {
        bool last = i == l->bounds;
        if (last ? !number : (l->bound[i].k < 0) != upper)
            continue;
        if (--left > 0)
            adx_say(&e->text, "%s_%s(", e->text.name, upper ? "least" : "most");
        if (last)
            adx_say(&e->text, "%lld", (long long)(upper ? l->high : l->low));
        else
            adx_say_one_end(e, &l->bound[i]);
        adx_say(&e->text, left > 0 ? ", " : "");
    }
    while (calls-- > 0)
        adx_say(&e->text, ")");
}

// Declares the ends of a loop that depend on open sizes or on loops around.
static void adx_say_open_bounds(const adx_looping *k, const adx_nest_level *l)
{
    adx_text *t = &k->e->text;
    adx_say_indent(k->e);
    adx_say(t, "const long from%lu = ", (unsigned long)l->var);
    adx_say_end(k, l, false);
    adx_say(t, ", to%lu = ", (unsigned long)l->var);
    adx_say_end(k, l, true);
    adx_say(t, ";\n");
}

// Writes a loop whose ends are single forms.
static void adx_say_open_range(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    adx_say_indent(e);
    adx_say(&e->text, "for (long x%lu = ", x);
    adx_say_end(k, l, false);
    adx_say(&e->text, "; x%lu <= ", x);
    adx_say_end(k, l, true);
    adx_say(&e->text, "; x%lu++) {\n", x);
    e->open++;
}

static void adx_say_level_check(adx_emission *e, const adx_set_check *c);

// Returns k*x + form of a bound, as one form.
static adx_sparse_form adx_whole_bound(adx_emission *e, const adx_set_check *b,
                                       uint32_t var)
{
    adx_sparse_form to = b->form;
    to.var = ADX_GET(e->a, to.n + 1, uint32_t);
    to.k = ADX_GET(e->a, to.n + 1, int64_t);
    if (to.var == NULL || to.k == NULL)
        return b->form;
    for (uint32_t i = 0; i < b->form.n; i++) {
        to.var[i] = b->form.var[i];
        to.k[i] = b->form.k[i];
    }
    to.var[to.n] = var;
    to.k[to.n++] = b->k;
    return to;
}

// Opens "if (n_ - m_ >= 0) {": what must be true of a size and those before it.
static void adx_say_size_level(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    const ad_tensor *t = e->f->t;
    int64_t most = t->given.size[t->open->size[l->var]];
    for (int upper = 0; upper < 2; upper++) {
        if (upper ? l->high == most : l->low == t->open->least[l->var])
            continue;
        adx_say_indent(e);
        adx_say(&e->text, "if (");
        adx_say_variable(e, l->var);
        adx_say(&e->text, " %s %lld) {\n", upper ? "<=" : ">=",
                (long long)(upper ? l->high : l->low));
        e->open++;
    }
    for (uint32_t i = 0; i < l->bounds; i++) {
        adx_say_indent(e);
        adx_say(&e->text, "if (");
        const adx_sparse_form whole = adx_whole_bound(e, &l->bound[i], l->var);
        adx_say_sparse(e, &whole);
        adx_say(&e->text, " >= 0) {\n");
        e->open++;
    }
    for (uint32_t i = 0; i < l->checks; i++)
        adx_say_level_check(e, &l->check[i]);
}

/* --- parts (tensor/bundles) ---------------------------------------------- */

// Returns which of the variables of a part's form is that of a level;
// UINT32_MAX: none.
static uint32_t adx_variable_in_part(const adx_looping *k,
                                     const adx_nest_level *l)
{
    for (uint32_t i = 0; k->part != NULL && i < k->part->form.n; i++)
        if (k->nest->level + k->part->level[i] == l)
            return i;
    return UINT32_MAX;
}

// Returns the level whose column gives the variable of a part's form, if that
// rises with the entries, which are level l and are cut in its place; or NULL.
static const adx_nest_level *adx_column_of_part(const adx_looping *k,
                                                const adx_nest_level *l)
{
    const adx_tensor_value *v = adx_tensor_value_at(k->e->f->t, k->value);
    const adx_term_cut *c = k->part != NULL ? k->part
                          : k->cut != l ? NULL
                          : &v->cut->term[k->term - v->term];
    return c == NULL || c->form.n != 1 || c->level[0] <= c->last
        || l != k->nest->level + c->last ? NULL
                                         : k->nest->level + c->level[0];
}

// Returns the form of a part without variable i: as it is, less: or its
// negative; or, at a level before the last, the largest that it can be.
static adx_sparse_form adx_rest_of_part(const adx_looping *k, uint32_t i,
                                        bool less)
{
    const adx_term_cut *c = k->part;
    adx_sparse_form to = less ? c->less : c->rest;
    if (c->level[i] == c->last)
        return to;
    to.n = 0;
    to.c = less ? -c->form.c : c->form.c;
    for (uint32_t j = 0; j < c->form.n; j++) {
        const adx_nest_level *l = &k->nest->level[c->level[j]];
        int64_t by = less ? -c->form.k[j] : c->form.k[j];
        to.c += j == i ? 0 : by * (by > 0 ? l->high : l->low);
    }
    return to;
}

// Writes lo <= form and form < hi as bounds of a variable of the form.
static void adx_say_part_bounds(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    uint32_t i = adx_variable_in_part(k, l);
    for (int upper = 0; i != UINT32_MAX && upper < 2; upper++) {
        const adx_sparse_form rest = adx_rest_of_part(k, i, upper);
        int64_t by = upper ? -k->part->form.k[i] : k->part->form.k[i];
        adx_say_indent(e);
        adx_say(&e->text, by > 0 ? "from%lu = %s_most(from%lu, -%s_floor("
                                 : "to%lu = %s_least(to%lu, %s_floor(",
                x, e->text.name, x, e->text.name);
        adx_say_sparse(e, &rest);
        adx_say(&e->text, upper ? " + hi - 1, %lld));\n" : " - lo, %lld));\n",
                (long long)(by < 0 ? -by : by));
    }
}

// Moves from and to of the entries to those whose column is in a part.
static void adx_say_part_entries(const adx_looping *k, const adx_nest_level *l)
{
    const adx_tensor_value *v = adx_tensor_value_at(k->e->f->t, k->value);
    const adx_nest_level *column = adx_column_of_part(k, l);
    adx_emission *e = k->e;
    unsigned long x = l->var;
    if (column == NULL)
        return;
    const adx_term_cut *c = &v->cut->term[k->term - v->term];
    int64_t by = c->form.k[0];
    long long size = (long long)(by < 0 ? -by : by);
    unsigned long table = adx_table_number(e, column->table->value,
                                           column->table->n, ADX_TABLE_INTS);
    e->bounds = ADX_CALLS_ALL;
    for (int upper = 0; upper < 2; upper++) {
        ADX_SAY_BLOCK(e);
        // the least that lies in the part, and the least beyond it
        ADX_SAY_LINE(e, upper ? "const long least = %s_floor(%s%lld, %lld) + 1;"
                              : "const long least = -%s_floor(%s%lld, %lld);",
                     e->text.name, (by > 0) == upper ? "hi - 1 - " : "-lo + ",
                     (long long)c->form.c, size);
        ADX_SAY_LINE(e, "long a = from%lu, b = to%lu + 1;", x, x);
        ADX_SAY_OPEN(e, "while (a < b)");
        ADX_SAY_LINE(e, "const long m = a + (b - a) / 2;");
        ADX_SAY_OPEN(e, "if (t%lu[m] < least)", table);
        ADX_SAY_LINE(e, "a = m + 1;");
        adx_close_to(e, e->open - 1);
        ADX_SAY_OPEN(e, "else");
        ADX_SAY_LINE(e, "b = m;");
        adx_close_to(e, e->open - 2);
        ADX_SAY_LINE(e, upper ? "to%lu = a - 1;" : "from%lu = a;", x);
        adx_close_to(e, e->open - 1);
    }
}

// Opens "if (form >= lo && form < hi) {", where no range has the last variable,
// or the form has none. l NULL: before all loops.
static void adx_say_part_check(const adx_looping *k, const adx_nest_level *l)
{
    const adx_term_cut *c = k->part;
    if (c == NULL || (l == NULL) != (c->form.n == 0)
        || (l != NULL && (l->kind == ADX_LEVEL_RANGE
                          || l != k->nest->level + c->last)))
        return;
    adx_say_indent(k->e);
    adx_say(&k->e->text, "if (");
    adx_say_sparse(k->e, &c->form);
    adx_say(&k->e->text, " >= lo && ");
    adx_say_sparse(k->e, &c->form);
    adx_say(&k->e->text, " < hi) {\n");
    k->e->open++;
}

/* --- levels -------------------------------------------------------------- */

// Declares "from0" and "to0": the bounds of a level.
static void adx_say_bounds(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    if (k->nest->open > 0) {
        adx_say_open_bounds(k, l);
        return;
    }
    if (l->bounds > 0 || adx_variable_in_part(k, l) != UINT32_MAX)
        e->bounds = ADX_CALLS_ALL;
    if (l == k->cut && adx_column_of_part(k, l) == NULL)
        ADX_SAY_LINE(e, "long from%lu = lo, to%lu = hi - 1;", x, x);
    else
        ADX_SAY_LINE(e, "long from%lu = %lld, to%lu = %lld;", x,
                     (long long)l->low, x, (long long)l->high);
    for (uint32_t i = 0; i < l->bounds; i++) {
        int64_t by = l->bound[i].k;
        bool lower = by > 0;
        adx_say_indent(e);
        adx_say(&e->text, lower ? "from%lu = %s_most(from%lu, -%s_floor("
                                : "to%lu = %s_least(to%lu, %s_floor(",
                x, e->text.name, x, e->text.name);
        adx_say_sparse(e, &l->bound[i].form);
        adx_say(&e->text, ", %lld));\n", (long long)(by < 0 ? -by : by));
    }
    adx_say_part_bounds(k, l);
    adx_say_part_entries(k, l);
}

// Opens the loop of a level, over its range. A range whose ends are single
// forms, or are numbers, has a text of its own; else the ends become variables
// first.
static void adx_say_range_loop(const adx_looping *k, const adx_nest_level *l)
{
    unsigned long x = l->var;
    bool number;
    if (l->bounds > 0 && k->nest->open > 0
        && adx_count_ends(k, l, false, &number) == 1
        && adx_count_ends(k, l, true, &number) == 1) {
        adx_say_open_range(k, l);
        return;
    }
    if (l->bounds == 0 && l != k->cut
        && adx_variable_in_part(k, l) == UINT32_MAX
        && adx_column_of_part(k, l) == NULL) {
        adx_say_counted(k->e, x, l->low, l->high);
        return;
    }
    adx_say_scope(k->e);
    adx_say_bounds(k, l);
    ADX_SAY_OPEN(k->e, "for (long x%lu = from%lu; x%lu <= to%lu; x%lu++)", x, x,
                 x, x, x);
}

// Writes the code of a level that an equation gives: k*x + form = 0.
static void adx_say_solved(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    bool unit = adx_is_unit(l->k);
    double low = adx_sparse_extreme(k->nest, &l->form, l->k > 0)
               / (double)-l->k;
    double high = adx_sparse_extreme(k->nest, &l->form, l->k < 0)
                / (double)-l->k;
    adx_say_scope(e);
    adx_say_indent(e);
    adx_say(&e->text, "const long rest%lu = ", x);
    adx_say_sparse(e, &l->form);
    adx_say(&e->text, ";\n");
    if (!unit)
        ADX_SAY_OPEN(e, "if (rest%lu %% %lld == 0)", x, (long long)l->k);
    if (unit)
        ADX_SAY_LINE(e, "const long x%lu = %srest%lu;", x, l->k > 0 ? "-" : "",
                     x);
    else
        ADX_SAY_LINE(e, "const long x%lu = -(rest%lu / %lld);", x, x,
                 (long long)l->k);
    adx_say_within(e, l, low < (double)l->low, high > (double)l->high);
}

// Writes a value of a map.
static void adx_say_looked_up(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    adx_sparse_form argument = l->argument;
    uint32_t table = adx_table_number(e, l->table->value, l->table->n,
                                      ADX_TABLE_INTS);
    bool plain = l->k == 1 && l->form.n == 0 && l->form.c == 0;
    argument.c -= l->table->from;
    if (adx_sparse_extreme(k->nest, &argument, false) < 0
        || adx_sparse_extreme(k->nest, &argument, true) >= (double)l->table->n)
        adx_say_asked(e, &argument, 0, (int64_t)l->table->n - 1);
    adx_say_scope(e);
    adx_say_indent(e);
    adx_say(&e->text, "const long x%lu = %st%lu[", x,
            plain ? "" : l->k < 0 ? "-(" : "(", (unsigned long)table);
    adx_say_sparse(e, &argument);
    adx_say(&e->text, "]");
    adx_say_less(e, plain ? NULL : &l->form);
    adx_say(&e->text, ";\n");
    adx_say_within(e, l, !plain || l->table->low < l->low,
                   !plain || l->table->high > l->high);
}

// Writes the arguments for which a map has a value.
static void adx_say_arguments(const adx_looping *k, const adx_nest_level *l)
{
    adx_emission *e = k->e;
    unsigned long x = l->var;
    const adx_int_table *t = l->table;
    adx_sparse_form of = l->form;
    adx_sparse_form less = l->argument;
    unsigned long start = adx_table_number(e, t->start,
                                           (uint64_t)(t->high - t->low) + 2,
                                           ADX_TABLE_COUNTS);
    unsigned long argument = adx_table_number(e, t->argument, t->n,
                                              ADX_TABLE_COUNTS);
    of.c -= t->low;
    less.c -= t->from;
    bool plain = l->k == 1 && less.n == 0 && less.c == 0;
    bool inside = plain && l->low <= 0 && l->high >= (int64_t)t->n - 1;
    if (adx_sparse_extreme(k->nest, &of, false) < 0
        || adx_sparse_extreme(k->nest, &of, true) > (double)(t->high - t->low))
        adx_say_asked(e, &of, 0, t->high - t->low);
    adx_say_indent(e);
    adx_say(&e->text, "for (unsigned long q%lu = t%lu[", x, start);
    adx_say_sparse(e, &of);
    adx_say(&e->text, "]; q%lu < t%lu[", x, start);
    of.c++;
    adx_say_sparse(e, &of);
    adx_say(&e->text, "]; q%lu++) {\n", x);
    e->open++;
    adx_say_indent(e);
    adx_say(&e->text, "const long x%lu = %s(long)t%lu[q%lu]", x,
            plain ? "" : l->k < 0 ? "-(" : "(", argument, x);
    adx_say_less(e, plain ? NULL : &less);
    adx_say(&e->text, ";\n");
    adx_say_within(e, l, !inside, !inside);
}

// Opens "if (...) {" for what is to be looked at once x has its value.
static void adx_say_level_check(adx_emission *e, const adx_set_check *c)
{
    uint32_t table = c->kind == ADX_ROW_VALUE
        ? adx_table_number(e, c->table->value, c->table->n, ADX_TABLE_INTS)
        : c->kind == ADX_ROW_BIT || c->kind == ADX_ROW_NO_BIT
        ? adx_table_number(e, c->bits->word, c->bits->n / 64 + 1,
                           ADX_TABLE_WORDS) : 0;
    bool bit = c->kind == ADX_ROW_BIT || c->kind == ADX_ROW_NO_BIT;
    ADX_SAY_BLOCK(e);
    adx_say_indent(e);
    adx_say(&e->text, "const long is = ");
    adx_say_sparse(e, &c->form);
    adx_say(&e->text, ";\n");
    if (c->kind == ADX_ROW_ZERO || c->kind == ADX_ROW_SIGN)
        ADX_SAY_OPEN(e, "if (is %s 0)", c->kind == ADX_ROW_ZERO ? "==" : ">=");
    else if (bit)
        ADX_SAY_OPEN(
            e,
            c->kind == ADX_ROW_BIT
                ? "if (is >= 0 && is < %llu && (t%lu[is / 64] >> is %% 64 & 1))"
                : "if (is < 0 || is >= %llu || !(t%lu[is / 64] >> is %% 64 & "
                  "1))",
            (unsigned long long)c->bits->n, (unsigned long)table);
    else {
        adx_say_indent(e);
        adx_say(&e->text, "const long at = ");
        adx_say_sparse(e, &c->argument);
        adx_say_rest(e, -c->table->from, true);
        adx_say(&e->text, ";\n");
        ADX_SAY_OPEN(e, "if (at >= 0 && at < %llu && t%lu[at] == is)",
                 (unsigned long long)c->table->n, (unsigned long)table);
    }
}

// Whether what is read or written, or a level after this one, depends on its
// variable.
static bool adx_is_level_used(const adx_looping *k, const adx_nest_level *l)
{
    uint32_t v = l->var;
    const adx_loop *loop = k->term->loop;
    bool used = adx_form_has(&loop->out.place, v);
    for (uint32_t i = 0; i < k->term->factors; i++) {
        const adx_access x = k->term->factor[i];
        uint32_t dims = adx_tensor_value_at(k->e->f->t, x.value)->dims;
        for (uint32_t d = 0; d < dims; d++)
            used |= adx_form_of(k->term->set, x.row + d)[1 + v] != 0;
    }
    for (const adx_nest_level *m = l;
         m < k->nest->level + k->nest->levels; m++) {
        used |= adx_form_has(&m->form, v) || adx_form_has(&m->argument, v);
        for (uint32_t i = 0; i < m->bounds; i++)
            used |= adx_form_has(&m->bound[i].form, v);
        for (uint32_t i = 0; i < m->checks; i++)
            used |= adx_form_has(&m->check[i].form, v)
                 || adx_form_has(&m->check[i].argument, v);
    }
    return used || k->term->most != 0
        || adx_variable_in_part(k, l) != UINT32_MAX;
}

// Whether a level says nothing: a map gives a variable that nobody uses.
static bool adx_is_level_idle(const adx_looping *k, const adx_nest_level *l)
{
    adx_sparse_form at = l->argument;
    if (l->kind != ADX_LEVEL_VALUE || l->checks > 0 || l->k != 1
        || l->form.n > 0 || adx_is_level_used(k, l))
        return false;
    at.c -= l->table->from;
    return l->table->low - l->form.c >= l->low
        && l->table->high - l->form.c <= l->high
        && adx_sparse_extreme(k->nest, &at, false) >= 0
        && adx_sparse_extreme(k->nest, &at, true) < (double)l->table->n;
}

// Compilers warn of variables that nobody reads: factors may not, where they
// have one number along an index.
static void adx_say_level_unread(const adx_looping *k, const adx_nest_level *l)
{
    if (!adx_form_has(&k->term->loop->out.place, l->var))
        ADX_SAY_LINE(k->e, "(void)x%lu;", (unsigned long)l->var);
}

// Writes the code of one level of a nest, and the conditions that are tested
// there.
static void adx_say_level(const adx_looping *k, const adx_nest_level *l)
{
    if (adx_is_level_idle(k, l))
        return;
    switch (l->kind) {
    case ADX_LEVEL_RANGE: adx_say_range_loop(k, l); break;
    case ADX_LEVEL_SOLVED: adx_say_solved(k, l); break;
    case ADX_LEVEL_VALUE: adx_say_looked_up(k, l); break;
    case ADX_LEVEL_ARGUMENTS: adx_say_arguments(k, l); break;
    }
    if (l->kind != ADX_LEVEL_RANGE)
        adx_say_level_unread(k, l);
    for (uint32_t i = 0; i < l->checks; i++)
        adx_say_level_check(k->e, &l->check[i]);
    adx_say_part_check(k, l);
}

ADX_SELDOM_END

/* === tensor/steps ===========================================================
 * C text of a step: what is done at the points of loops, sums of parts, and the
 * steps of a bundle together. What is added to is cleared before, where its
 * terms do not write each number once. The order is that of tensor/run, so that
 * both have the same bits.
 *
 *   needs   code/text tensor/arena tensor/nests tensor/binding tensor/open
 *           tensor/programs tensor/sharing tensor/parts tensor/run
 *           tensor/pointwise tensor/bundles tensor/emission tensor/points
 *           tensor/loops
 *   offers  adx_say_step
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- what is done at a point --------------------------------------------- */

// Returns the indices of the number that the term of a loop writes.
static const int64_t *adx_written_at(adx_emission *e, const adx_looping *k)
{
    const adx_spot_of at = { k->term->set, NULL };
    const adx_access out = { k->value, k->term->out };
    return adx_indices_at(e, &at, out);
}

// Writes what a term of a sum does at one point: it adds its product to a
// number or, if nothing else adds to that number, stores it.
static void adx_say_sum_term(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, k->value);
    const adx_spot_of at = { k->term->set, NULL };
    const adx_sum_text to = { NULL, k->value, adx_written_at(e, k), 0 };
    adx_numbers_read o = { .e = e };
    adx_take_numbers(e, k->value, &at, k->term, &o);
    if (!v->once) {
        adx_say_added(e, &to, &o, k->term->factors, k->term->k);
        return;
    }
    adx_say_indent(e);
    adx_say_sum_text(e, &to);
    adx_say(&e->text, " = ");
    adx_say_product_of(e, &o, k->term->factors, k->term->k);
    adx_say(&e->text, ";\n");
}

// Writes the code of a point of an application: its number is stored.
static void adx_say_application_term(adx_emission *e, const adx_looping *k)
{
    const adx_spot_of at = { k->term->set, NULL };
    uint32_t number = adx_say_application_at(e, k->value, &at);
    adx_say_indent(e);
    adx_say_place(e, k->value, adx_written_at(e, k), true);
    adx_say(&e->text, " = v%lu;\n", (unsigned long)number);
}

// Writes the code of a point of a maximum or minimum: the number is stored if
// it is better than the best so far, or is NaN.
static void adx_say_most_term(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, k->value);
    const adx_spot_of at = { k->term->set, NULL };
    const int64_t *to = adx_written_at(e, k);
    adx_numbers_read o = { .e = e };
    unsigned long number = e->numbers++;
    adx_take_numbers(e, k->value, &at, k->term, &o);
    adx_say_indent(e);
    adx_say(&e->text, "const %s v%lu = ", e->text.real, number);
    adx_say_operand(e, &o.x[0]);
    adx_say(&e->text, ";\n");
    adx_say_indent(e);
    adx_say(&e->text, "if (v%lu != v%lu || v%lu %s ", number, number, number,
            v->op == ADREV_OP_min ? "<" : ">");
    adx_say_place(e, k->value, to, true);
    adx_say(&e->text, ")\n    ");
    adx_say_indent(e);
    adx_say_place(e, k->value, to, true);
    adx_say(&e->text, " = v%lu;\n", number);
}

// Writes "done[3*x0]": whether the number of a most at these indices is picked.
static void adx_say_done(adx_emission *e, const adx_looping *k,
                         const int64_t *index)
{
    const adx_tensor_value *most = adx_tensor_value_at(e->f->t, k->term->most);
    int64_t *place = ADX_GET(e->a, e->width, int64_t);
    if (place == NULL || index == NULL)
        return;
    place[0] = most->first;
    for (uint32_t d = 0; d < most->dims; d++) {
        for (uint32_t j = 0; j < e->width; j++)
            place[j] += most->stride[d] * index[(size_t)d * e->width + j];
        adx_add_least(e->a, place, -most->stride[d], most, d,
                      adx_open_of(e->f->t));
    }
    e->picks = true;
    adx_say(&e->text, "done[");
    adx_say_affine(e, place);
    adx_say(&e->text, "]");
}

// Writes the code of a point that makes its extreme be not picked yet.
static void adx_say_forgotten(adx_emission *e, const adx_looping *k)
{
    const adx_spot_of at = { k->term->set, NULL };
    const adx_access best = { k->term->most, k->term->at };
    adx_say_indent(e);
    adx_say_done(e, k, adx_indices_at(e, &at, best));
    adx_say(&e->text, " = 0;\n");
}

// Writes the first point at which the number that is picked is the largest one.
static void adx_say_pick(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_term *term = k->term;
    const adx_spot_of at = { term->set, NULL };
    const adx_access best = { term->most, term->at };
    const int64_t *picked = adx_indices_at(e, &at, term->picked);
    const int64_t *index = adx_indices_at(e, &at, best);
    const adx_sum_text to = { NULL, k->value, adx_written_at(e, k), 0 };
    adx_numbers_read o = { .e = e };
    adx_say_indent(e);
    adx_say(&e->text, "if (!");
    adx_say_done(e, k, index);
    adx_say(&e->text, " && ");
    adx_say_place(e, term->picked.value, picked, false);
    adx_say(&e->text, " == ");
    adx_say_place(e, term->most, index, false);
    adx_say(&e->text, ") {\n");
    e->open++;
    adx_say_indent(e);
    adx_say_done(e, k, index);
    adx_say(&e->text, " = 1;\n");
    adx_take_numbers(e, k->value, &at, term, &o);
    if (!e->f->t->options.fused) {
        adx_say_added(e, &to, &o, term->factors, term->k);
        return;
    }
    adx_say_indent(e);
    adx_say_sum_text(e, &to);
    adx_say(&e->text, " = fma%s(", e->text.single ? "f" : "");
    adx_say_literal(&e->text, term->k);
    adx_say(&e->text, ", ");
    adx_say_operand(e, &o.x[0]);
    adx_say(&e->text, ", ");
    adx_say_sum_text(e, &to);
    adx_say(&e->text, ");\n");
}

// Writes what the loops do at one point.
static void adx_say_at_point(adx_emission *e, const adx_looping *k)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, k->value);
    adx_begin_body(e, k->term->set->vars);
    if (k->doing == ADX_DOING_ZEROS) {
        adx_say_indent(e);
        adx_say_place(e, k->value, adx_written_at(e, k), true);
        adx_say(&e->text, " = 0;\n");
    } else if (k->doing == ADX_DOING_FORGET)
        adx_say_forgotten(e, k);
    else if (k->term->most != 0)
        adx_say_pick(e, k);
    else if (v->kind == ADX_VALUE_SUM)
        adx_say_sum_term(e, k);
    else if (v->kind == ADX_VALUE_MOST)
        adx_say_most_term(e, k);
    else
        adx_say_application_term(e, k);
}

// Writes a*b at a point of a reduction, added to one of eight sums.
static void adx_say_eighth(adx_emission *e, const adx_looping *k,
                           const char *sum)
{
    const adx_spot_of at = { k->term->set, NULL };
    adx_numbers_read o = { .e = e };
    adx_begin_body(e, k->term->set->vars);
    const adx_sum_text to = { .name = sum };
    adx_take_numbers(e, k->value, &at, k->term, &o);
    adx_say_added(e, &to, &o, k->term->factors, 1);
}

// Writes a reduction in eight sums, as adx_add_products forms them.
static void adx_say_reduction(adx_emission *e, const adx_looping *k,
                              const adx_nest_level *l)
{
    unsigned long x = l->var;
    uint32_t open = e->open;
    ad_real times = k->term->k;
    bool fused = e->f->t->options.fused && times != 1 && times != -1;
    const adx_sum_text to = { NULL, k->value, adx_written_at(e, k), 0 };
    ADX_SAY_BLOCK(e);
    adx_say_bounds(k, l);
    ADX_SAY_OPEN(e, "if (from%lu <= to%lu)", x, x);
    uint32_t inside = e->open;
    ADX_SAY_LINE(e, "%s sum[8] = { 0 };", e->text.real);
    ADX_SAY_LINE(e, "long i = from%lu;", x);
    ADX_SAY_OPEN(e, "for (; i + 7 <= to%lu; i += 8)", x);
    ADX_SAY_OPEN(e, "for (int j = 0; j < 8; j++)");
    ADX_SAY_LINE(e, "const long x%lu = i + j;", x);
    adx_say_level_unread(k, l);
    adx_say_eighth(e, k, "sum[j]");
    adx_close_to(e, inside);
    // gcc warns of a loop that is known never to run
    if (l->bounds > 0 || l == k->cut || (l->high - l->low + 1) % 8 != 0) {
        ADX_SAY_OPEN(e, "for (; i <= to%lu; i++)", x);
        ADX_SAY_LINE(e, "const long x%lu = i;", x);
        adx_say_level_unread(k, l);
        adx_say_eighth(e, k, "sum[0]");
        adx_close_to(e, inside);
    }
    adx_say_indent(e);
    adx_say_sum_text(e, &to);
    adx_say(&e->text, fused ? " = fma%s(" : times == -1 ? " -= " : " += ",
            e->text.single ? "f" : "");
    if (times != 1 && times != -1) {
        adx_say_literal(&e->text, times);
        adx_say(&e->text, fused ? ", " : " * ");
    }
    adx_say(&e->text, "(((sum[0] + sum[4]) + (sum[1] + sum[5]))\n        ");
    adx_say_indent(e);
    adx_say(&e->text, "+ ((sum[2] + sum[6]) + (sum[3] + sum[7])))");
    if (fused) {
        adx_say(&e->text, ", ");
        adx_say_sum_text(e, &to);
        adx_say(&e->text, ")");
    }
    adx_say(&e->text, ";\n");
    adx_close_to(e, open);
}

// Writes a loop over index d of a value.
static void adx_say_index_loop(adx_emission *e, uint32_t value, uint32_t d,
                               int64_t index[])
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    unsigned long x = d;
    if (v->range.from != NULL) {
        adx_say_open_index(e, v, d, index);
        return;
    }
    index[(size_t)d * e->width + 1 + d] = 1;
    if (adx_is_run_index(e, value, d))
        adx_say_run_index(e, d);
    else if (adx_is_cut(e, ADX_STEP_TERMS, d))
        ADX_SAY_OPEN(e, "for (long x%lu = lo; x%lu < hi; x%lu++)", x, x, x);
    else
        adx_say_counted(e, x, v->low[d], v->low[d] + v->extent[d] - 1);
}

/* --- loops of a value ---------------------------------------------------- */

// Writes the loops from a level on.
static void adx_say_levels(adx_emission *e, const adx_looping *k,
                           uint32_t first)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, k->value);
    bool reduces = k->doing == ADX_DOING_TERM && k->term->most == 0
                && adx_reduces(v, k->term);
    uint32_t levels = k->nest->levels - (reduces ? 1 : 0);
    for (uint32_t l = first; l < levels; l++)
        if (l < k->nest->open)
            adx_say_size_level(k, &k->nest->level[l]);
        else
            adx_say_level(k, &k->nest->level[l]);
    if (reduces)
        adx_say_reduction(e, k, &k->nest->level[levels]);
    else {
        if (e->open == 0)
            ADX_SAY_BLOCK(e);
        adx_say_at_point(e, k);
    }
}

// Writes loops over the points of a part that are listed (tensor/parts), or
// else over all of them.
static void adx_say_listed(adx_emission *e, adx_looping *k)
{
    const adx_part_list *l = k->part->list;
    uint32_t open = e->open;
    unsigned long start = adx_table_number(e, l->start, l->parts + 1,
                                           ADX_TABLE_WORDS);
    unsigned long x = adx_table_number(e, l->x, l->start[l->parts] * l->levels,
                                       ADX_TABLE_INTS);
    e->listed = true;
    ADX_SAY_OPEN(e, "if (which >= 0)");
    ADX_SAY_OPEN(e, "for (unsigned long long q = t%lu[which]; q < t%lu[which"
                 " + 1]; q++)", start, start);
    for (uint32_t i = 0; i < l->levels; i++) {
        unsigned long var = l->nest->level[i].var;
        ADX_SAY_LINE(e, "const long x%lu = t%lu[%lu*q + %lu];", var, x,
                     (unsigned long)l->levels, (unsigned long)i);
        ADX_SAY_LINE(e, "(void)x%lu;", var);
    }
    adx_say_levels(e, k, l->levels);
    adx_close_to(e, open);
    k->part = NULL;
    ADX_SAY_OPEN(e, "else");
}

// Writes the loops of a term, with what they do at each point.
static void adx_say_loops(adx_emission *e, uint32_t value,
                          const adx_tensor_term *term, adx_doing doing,
                          const adx_nest_level *cut)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    adx_looping k = {
        e, value, term, term->loop->nest, doing, cut,
        e->cut != NULL && e->cut->way == ADX_STEP_TERMS
            ? &v->cut->term[term - v->term] : NULL
    };
    uint32_t open = e->open;
    adx_begin_variables(e, term->set->vars);
    if (k.nest->empty)
        return;
    if (e->in_run) {
        ADX_SAY_BLOCK(e);
        adx_say_run_index(e, k.nest->level[0].var);
    }
    if (k.part != NULL && k.part->list != NULL)
        adx_say_listed(e, &k);
    adx_say_part_check(&k, NULL);
    adx_say_levels(e, &k, e->in_run ? 1 : 0);
    adx_close_to(e, open);
}

/* --- sums of parts (tensor/parts) ---------------------------------------- */

// Adds the sums of a part to the value.
static void adx_say_added_sums(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    uint32_t open = e->open;
    adx_begin_variables(e, v->dims);
    int64_t *index = ADX_GET(e->a, (size_t)v->dims * e->width, int64_t);
    for (uint32_t d = 0; index != NULL && d < v->dims; d++)
        adx_say_index_loop(e, value, d, index);
    adx_say_indent(e);
    adx_say_place(e, value, index, true);
    adx_say(&e->text, " += ");
    e->into_sums = value;
    adx_say_place(e, value, index, true);
    e->into_sums = 0;
    adx_say(&e->text, ";\n");
    adx_close_to(e, open);
}

// Writes the parts of one term, one after the other, or one of them: `first` is
// the number of the term's first one.
static void adx_say_parts_of(adx_emission *e, uint32_t value, uint32_t term,
                             unsigned long first)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    const adx_term_cut *c = &v->cut->term[term];
    const adx_nest *nest = v->term[term].loop->nest;
    unsigned long parts = c->parts;
    uint64_t span = (uint64_t)(c->to - c->from);
    uint32_t open = e->open;
    if (e->cut == NULL)
        ADX_SAY_OPEN(e, "for (long part = 0; part < %lu; part++)", parts);
    else {
        ADX_SAY_OPEN(e, "if (which >= %lu && which < %lu)", first,
                     first + parts);
        ADX_SAY_LINE(e, "const long part = which - %lu;", first);
    }
    ADX_SAY_LINE(e, "for (long i = 0; i < %llu; i++) sums[i] = 0;",
                 (unsigned long long)v->span);
    for (int next = 0; c->form.n > 0 && next < 2; next++)
        ADX_SAY_LINE(e, "const long %s = %lld + %llu*(part + %d)"
                     " + %llu*(part + %d)/%lu;", next ? "hi" : "lo",
                     (long long)c->from, (unsigned long long)(span / parts),
                     next, (unsigned long long)(span % parts), next, parts);
    e->sums = true;
    e->into_sums = value;
    adx_say_loops(e, value, &v->term[term], ADX_DOING_TERM,
                  c->form.n > 0 ? &nest->level[c->last] : NULL);
    e->into_sums = 0;
    if (e->cut == NULL)
        adx_say_added_sums(e, value);
    adx_close_to(e, open);
}

/* --- a value by loops ---------------------------------------------------- */

// Writes code that gives all numbers of a value 0, or what a most begins with.
static void adx_say_all_zeros(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    adx_begin_variables(e, adx_open_of(e->f->t) + v->dims);
    int64_t *index = ADX_GET(e->a, (size_t)v->dims * e->width, int64_t);
    uint32_t open = e->open;
    for (uint32_t d = 0; index != NULL && d < v->dims; d++)
        adx_say_index_loop(e, value, d, index);
    adx_say_indent(e);
    adx_say_place(e, value, index, true);
    if (v->kind == ADX_VALUE_MOST)
        adx_say(&e->text, " = %s%s;\n", v->op == ADREV_OP_min ? "" : "-",
                adx_infinity(&e->text));
    else
        adx_say(&e->text, " = 0;\n");
    adx_close_to(e, open);
}

// Writes the code that clears what the terms of a value add to.
static void adx_say_zeros_of(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    if (adx_clears_all(v))
        adx_say_all_zeros(e, value);
    else if (!v->once)
        for (uint32_t j = 0; j < v->terms; j++)
            adx_say_loops(e, value, &v->term[j], ADX_DOING_ZEROS, NULL);
}

// Writes code by which nothing is picked yet by the terms from `term` on that
// pick from one value; a part says so of numbers of its own.
static void adx_say_no_picks(adx_emission *e, uint32_t value, uint32_t term)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    uint32_t most = v->term[term].most;
    e->picks = true;
    if (e->cut == NULL)
        ADX_SAY_LINE(
            e, "for (unsigned long i = 0; i < %llu; i++) done[i] = 0;",
            (unsigned long long)adx_tensor_value_at(e->f->t, most)->span);
    for (uint32_t j = term; e->cut != NULL && j < v->terms
                            && v->term[j].most == most; j++)
        adx_say_loops(e, value, &v->term[j], ADX_DOING_FORGET, NULL);
}

// Writes the code of a value as loops over the points of its terms.
static void adx_say_looped(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    uint32_t picking = 0;
    bool cleared = e->cut != NULL && e->cut->clears;
    if (!cleared && (!e->in_run || e->f->run_of[value] != 0))
        adx_say_zeros_of(e, value);
    for (uint32_t j = 0; j < v->terms; j++) {
        uint32_t most = v->term[j].most;
        if (most != 0 && most != picking)
            adx_say_no_picks(e, value, j);
        picking = most;
        adx_say_loops(e, value, &v->term[j], ADX_DOING_TERM, NULL);
    }
}

// Writes the computation of a value: point by point, as sums of parts, or as
// loops.
static void adx_say_value(adx_emission *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->f->t, value);
    if (v->size == 0)
        return;
    if (e->f->shape[value] != NULL)
        adx_say_pointwise(e, value);
    else if (adx_has_sums(v)) {
        unsigned long first = 0;
        if (e->cut == NULL)
            adx_say_all_zeros(e, value);
        for (uint32_t j = 0; j < v->terms; j++) {
            adx_say_parts_of(e, value, j, first);
            first += v->cut->term[j].parts;
        }
    } else
        adx_say_looped(e, value);
}

/* --- bundles (tensor/bundles) -------------------------------------------- */

// Opens "if (n7) {": a step of a bundle is needed.
static void adx_say_flag(adx_emission *e, uint32_t value)
{
    e->flag[value] = true;
    ADX_SAY_OPEN(e, "if (n%lu)", (unsigned long)value);
}

// Writes all steps of a bundle, in one loop. What is added to here and there is
// made 0 before.
static void adx_say_together(adx_emission *e, uint32_t leader)
{
    const adx_tensor_program *p = e->f->t->program;
    const adx_outer o = adx_outer_of(e->f, leader);
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (e->f->bundle[v] != leader || e->f->run_of[v] != 0)
            continue;
        adx_say_flag(e, v);
        adx_say_zeros_of(e, v);
        adx_close_to(e, 0);
    }
    if (e->cut != NULL)
        ADX_SAY_OPEN(e, "for (long e = lo; e < hi; e++)");
    else
        ADX_SAY_OPEN(e, "for (long e = %lld; e <= %lld; e++)", (long long)o.low,
                     (long long)o.high);
    e->in_run = true;
    for (uint32_t i = 0; i < p->steps; i++) {
        uint32_t v = p->order[i];
        if (e->f->bundle[v] != leader)
            continue;
        adx_say_flag(e, v);
        adx_say_value(e, v);
        adx_close_to(e, 1);
    }
    e->in_run = false;
    adx_close_to(e, 0);
}

// Writes the body of the C function that computes a value, and those that it
// hosts; or, of the first value of a bundle, of all of that. read, written,
// flag and the tables say which parameters it has.
static void adx_say_step(adx_emission *e, uint32_t value)
{
    uint32_t values = e->f->t->program->values;
    memset(e->size, 0, adx_open_of(e->f->t) * sizeof *e->size);
    memset(e->read, 0, values * sizeof *e->read);
    memset(e->written, 0, values * sizeof *e->written);
    memset(e->flag, 0, values * sizeof *e->flag);
    for (uint32_t i = 0; i < e->tables->n; i++)
        e->tables->table[i].read = false;
    e->picks = e->sums = e->in_run = e->listed = false;
    e->into_sums = 0;
    e->cut = e->f->cut == NULL || e->f->cut[value].way == ADX_STEP_WHOLE ? NULL
           : &e->f->cut[value];
    e->open = e->numbers = 0;
    e->local = NULL;
    if (e->f->bundle[value] == value)
        adx_say_together(e, value);
    else
        adx_say_value(e, value);
}

ADX_SELDOM_END

/* === tensor/file ==========================================================
 * A bound text as a file of C code, without its functions of parts: a function
 * for each step, listed once for all parts that call it, and what stands before
 * them all.
 *
 *   needs   tape/memory code/api code/text tensor/api tensor/tree tensor/arena
 *           tensor/binding tensor/open tensor/print tensor/programs
 *           tensor/sharing tensor/fusion tensor/bundles tensor/emission
 *           tensor/steps
 *   offers  ADX_TENSOR_PARTS adx_parameter_kind ADX_PARAMETER_WRITTEN
 *           ADX_PARAMETER_READ ADX_PARAMETER_SIZE ADX_PARAMETER_TABLE
 *           ADX_PARAMETER_FLAG ADX_PARAMETER_PICKS ADX_PARAMETER_SUMS
 *           ADX_PARAMETER_PART ADX_PARAMETER_RANGE adx_parameter adx_step_text
 *           adx_tensor_file adx_table_type adx_has_parameter adx_parameter_fn
 *           adx_say_each_parameter adx_add_part adx_host_of adx_begin_file
 *           adx_file_status adx_end_file adx_say_steps
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_TENSOR_PARTS (ADREV_TENSOR_HVP + 1)

// The kinds of parameters of the function of a step.
typedef enum adx_parameter_kind {
    ADX_PARAMETER_WRITTEN,      // the numbers of a value
    ADX_PARAMETER_READ,
    ADX_PARAMETER_SIZE,         // that is open
    ADX_PARAMETER_TABLE,        // in the code of ad_tensor_compile
    ADX_PARAMETER_FLAG,         // of a bundle: whether a value is needed
    ADX_PARAMETER_PICKS,        // flags of numbers
    ADX_PARAMETER_SUMS,         // memory for the sums of a part
    ADX_PARAMETER_PART,         // which part
    ADX_PARAMETER_RANGE         // its range
} adx_parameter_kind;

typedef struct adx_parameter {
    adx_parameter_kind kind;
    uint32_t number;            // of the value, or the table
} adx_parameter;

// A function of the file: parameters and body, without its name. Equal ones are
// written once.
typedef struct adx_step_text {
    struct adx_step_text *next;
    uint32_t value;             // that it computes
    const char *text;
    size_t n;
    uint32_t number;            // in the name of the function
    adx_parameter *parameter;   // in their order
    uint32_t parameters;
} adx_step_text;

typedef struct adx_tensor_file {
    ad_tensor *t;
    adx_arena a;
    const ad_c_options *options;
    bool loaded;                // for ad_tensor_compile: tables are parameters
    ad_status status;
    adx_table_list tables;
    adx_step_text *step;        // all of them, the latest first
    uint32_t steps;
    bool helper[ADX_HELPER_COUNT];
    unsigned bounds;            // ADX_CALLS_...
    bool rolled;                // what stands before the steps
    adx_fusion part[ADX_TENSOR_PARTS];
    adx_step_text **of[ADX_TENSOR_PARTS];   // [values]; NULL: no such part
    adx_bytes functions;        // text of the steps
} adx_tensor_file;

// Notes a failure; the first one stays.
static void adx_fail_file(adx_tensor_file *k, ad_status status)
{
    if (k->status == ADREV_OK)
        k->status = status;
}

/* --- steps --------------------------------------------------------------- */

// Returns the C type of a table's elements.
static const char *adx_table_type(const adx_tensor_file *k, adx_table_kind kind)
{
    return kind == ADX_TABLE_WORDS ? "unsigned long long"
         : kind == ADX_TABLE_INTS ? k->loaded ? "int" : "long"
         : k->loaded ? "unsigned" : "unsigned long";
}

// Adds a parameter to a step's function, or counts it only.
static void adx_add_parameter(adx_step_text *s, adx_parameter_kind kind,
                              uint32_t number)
{
    const adx_parameter p = { kind, number };
    if (s->parameter != NULL)   // or else counts
        s->parameter[s->parameters] = p;
    s->parameters++;
}

// Lists what the step that was written last needs, in the order of its
// parameters.
static void adx_list_parameters(const adx_tensor_file *k, const adx_emission *e,
                                adx_step_text *s)
{
    uint32_t values = k->t->program->values;
    s->parameters = 0;
    for (uint32_t i = 0; i < adx_open_of(k->t); i++)
        if (e->size[i])
            adx_add_parameter(s, ADX_PARAMETER_SIZE, i);
    for (uint32_t i = 1; i < values; i++)
        if (e->written[i])
            adx_add_parameter(s, ADX_PARAMETER_WRITTEN, i);
    for (uint32_t i = 1; i < values; i++)
        if (e->read[i] && !e->written[i])
            adx_add_parameter(s, ADX_PARAMETER_READ, i);
    for (uint32_t i = 0; k->loaded && i < k->tables.n; i++)
        if (k->tables.table[i].read)
            adx_add_parameter(s, ADX_PARAMETER_TABLE, i);
    for (uint32_t i = 1; i < values; i++)
        if (e->flag[i])
            adx_add_parameter(s, ADX_PARAMETER_FLAG, i);
    if (e->picks)
        adx_add_parameter(s, ADX_PARAMETER_PICKS, 0);
    if (e->sums)
        adx_add_parameter(s, ADX_PARAMETER_SUMS, 0);
    bool sums = e->cut != NULL && e->cut->way == ADX_STEP_SUMS;
    if (sums || e->listed)
        adx_add_parameter(s, ADX_PARAMETER_PART, 0);
    if (e->cut != NULL && !sums)
        adx_add_parameter(s, ADX_PARAMETER_RANGE, 0);
}

// Returns the record of the step that was written last. NULL: no memory.
static adx_step_text *adx_new_step_text(adx_tensor_file *k, uint32_t value,
                                        const adx_emission *e)
{
    adx_step_text *s = ADX_GET(&k->a, 1, adx_step_text);
    if (s == NULL)
        return NULL;
    adx_list_parameters(k, e, s);
    s->value = value;
    s->parameter = ADX_GET(&k->a, s->parameters, adx_parameter);
    if (s->parameter == NULL)
        return NULL;
    adx_list_parameters(k, e, s);
    return s;
}

// Whether a step's function has this parameter.
static bool adx_has_parameter(const adx_step_text *s, adx_parameter_kind kind,
                              uint32_t number)
{
    for (uint32_t i = 0; s != NULL && i < s->parameters; i++)
        if (s->parameter[i].kind == kind && s->parameter[i].number == number)
            return true;
    return false;
}

// Writes one parameter, as it is declared or as a call gives it.
typedef void adx_parameter_fn(adx_text *t, const adx_parameter *p, void *user);

// Writes the parameters of a step's function in turn, as `say` writes one.
static void adx_say_each_parameter(adx_text *t, const adx_step_text *s,
                                   adx_parameter_fn *say, void *user)
{
    for (uint32_t i = 0; i < s->parameters; i++) {
        adx_say(t, i == 0 ? "(" : ", ");
        say(t, &s->parameter[i], user);
    }
}

// Writes the declaration of a parameter of a loop function.
static void adx_say_parameter(adx_text *t, const adx_parameter *p, void *user)
{
    const adx_tensor_file *k = (const adx_tensor_file *)user;
    unsigned long i = p->number;
    switch (p->kind) {
    case ADX_PARAMETER_SIZE:
        adx_say(t, "long ");
        adx_say_size(t, k->t, p->number); break;
    case ADX_PARAMETER_WRITTEN:
        adx_say(t, "%s *restrict b%lu", t->real, i); break;
    case ADX_PARAMETER_READ:
        adx_say(t, "const %s *restrict b%lu", t->real, i); break;
    case ADX_PARAMETER_TABLE:
        adx_say(t, "const %s *restrict t%lu",
                adx_table_type(k, k->tables.table[i].kind), i); break;
    case ADX_PARAMETER_FLAG: adx_say(t, "int n%lu", i); break;
    case ADX_PARAMETER_PICKS:
        adx_say(t, "unsigned char *restrict done"); break;
    case ADX_PARAMETER_SUMS: adx_say(t, "%s *restrict sums", t->real); break;
    case ADX_PARAMETER_PART: adx_say(t, "long which"); break;
    case ADX_PARAMETER_RANGE: adx_say(t, "long lo, long hi"); break;
    }
}

// Writes the tables of steps as constants of the file, with its name in front.
static void adx_say_step_tables(const adx_tensor_file *k, adx_text *t)
{
    for (uint32_t i = 0; !k->loaded && i < k->tables.n; i++)
        if (k->tables.table[i].read)
            adx_say(t, "    const %s *const t%lu = %s_t%lu;\n",
                    adx_table_type(k, k->tables.table[i].kind),
                    (unsigned long)i, t->name, (unsigned long)i);
}

// Returns the step with this very text. NULL: there is none.
static adx_step_text *adx_find_text(const adx_tensor_file *k, uint32_t value,
                                    const adx_bytes *b)
{
    adx_step_text *s = k->step;
    while (s != NULL && (s->value != value || s->n != b->n
                         || memcmp(s->text, b->v, b->n) != 0))
        s = s->next;
    return s;
}

// Returns a new function; its text is kept. NULL: no memory.
static adx_step_text *adx_keep_text(adx_tensor_file *k, adx_step_text *s,
                                    const char *name, const adx_bytes *b)
{
    char *text = ADX_GET(&k->a, b->n, char);
    if (text == NULL)
        return NULL;
    memcpy(text, b->v, b->n);
    s->text = text;
    s->n = b->n;
    s->number = k->steps++;
    s->next = k->step;
    k->step = s;
    adx_text to = { .write = adx_put_bytes, .user = &k->functions };
    adx_say(&to, "static void %s_step%lu", name, (unsigned long)s->number);
    adx_put_text(&to, text, b->n);
    return s;
}

// Returns the function of a value in a part, which may be one of another part.
// NULL: no memory.
static adx_step_text *adx_step_of(adx_tensor_file *k, adx_emission *e,
                                  uint32_t value)
{
    adx_bytes body = { .memory = &k->t->memory };
    adx_bytes all = { .memory = &k->t->memory };
    adx_text head = e->text;
    adx_step_text *before = NULL;
    e->text.user = &body;
    head.user = &all;
    adx_say_step(e, value);
    adx_step_text *s = adx_new_step_text(k, value, e);
    if (s != NULL) {
        adx_say_each_parameter(&head, s, adx_say_parameter, k);
        adx_say(&head, s->parameters == 0 ? "(void)\n{\n" : ")\n{\n");
    }
    adx_say_step_tables(k, &head);
    adx_put_text(&head, (const char *)body.v, body.n);
    adx_say(&head, "}\n\n");
    if (body.failed || all.failed)
        adx_arena_fail(&k->a, ADREV_ENOMEM);
    else if (s != NULL)
        before = adx_find_text(k, value, &all);
    if (before == NULL && k->a.status == ADREV_OK)
        before = adx_keep_text(k, s, e->text.name, &all);
    adx_drop(body.memory, body.v);
    adx_drop(all.memory, all.v);
    return before;
}

// Writes the steps of a part. Those without C text are refused, or left to the
// loops of tensor/run.
static void adx_add_part(adx_tensor_file *k, ad_tensor_part part)
{
    const adx_tensor_program *p = k->t->program;
    adx_fusion *f = &k->part[part];
    adx_emission e = { .a = &k->a, .f = f, .tables = &k->tables,
                       .helper = k->helper };
    const ad_c_options *o = k->options;
    e.text.write = adx_put_bytes;
    e.text.name = o->name == NULL ? "f" : o->name;
    e.text.real = o->single ? "float" : "double";
    e.text.single = o->single;
    e.read = ADX_GET(&k->a, p->values, bool);
    e.written = ADX_GET(&k->a, p->values, bool);
    e.flag = ADX_GET(&k->a, p->values, bool);
    e.size = ADX_GET(&k->a, 1 + adx_open_of(k->t), bool);
    k->of[part] = ADX_GET(&k->a, p->values, adx_step_text *);
    if (!adx_fuse_part(f, &k->a, k->t, part, k->loaded)
        || !adx_find_bundles(f) || !adx_cut_steps(f) || k->of[part] == NULL)
        return;
    for (uint32_t i = 0; i < p->steps && k->a.status == ADREV_OK; i++) {
        uint32_t v = p->order[i];
        bool within = f->fate[v] == ADX_FATE_HOSTED && f->thin[v] != 0;
        if (!f->needed[v] || !adx_is_stored(f, v) || adx_is_follower(f, v)
            || within)
            continue;
        if (f->spelled[v])
            k->of[part][v] = adx_step_of(k, &e, v);
        else if (!k->loaded)
            adx_fail_file(k, ADREV_EEXTERNAL);
    }
    k->bounds |= e.bounds;
    k->rolled = k->rolled || e.rolled;
}

// Returns the value whose loops also compute this one; 0: it has loops of its
// own.
static uint32_t adx_host_of(const adx_fusion *f, uint32_t value)
{
    if (f->host[value] == 0)
        return 0;
    value = f->host[value];
    while (f->fate[value] == ADX_FATE_INLINED)
        value = f->host[value];
    return value;
}

/* --- begin and end ------------------------------------------------------- */

// Begins a file without functions.
static void adx_begin_file(adx_tensor_file *k, ad_tensor *t,
                           const ad_c_options *o, bool loaded)
{
    memset(k, 0, sizeof *k);
    k->t = t;
    k->a.memory = &t->memory;
    k->options = o;
    k->loaded = loaded;
    k->functions.memory = &t->memory;
}

// Returns the status of all that was written.
static ad_status adx_file_status(const adx_tensor_file *k)
{
    return k->a.status != ADREV_OK ? k->a.status
         : k->functions.failed ? ADREV_ENOMEM : k->status;
}

static void adx_end_file(adx_tensor_file *k)
{
    adx_drop(&k->t->memory, k->functions.v);
    adx_free_arena(&k->a);
}

/* --- the file ------------------------------------------------------------ */

// Writes the functions that bounds of loops call: most, least, and division
// that rounds.
static void adx_say_bound_functions(adx_text *t, unsigned calls)
{
    const char *f = t->name;
    if (calls & ADX_CALLS_MOST)
        adx_say(t, "static inline long %s_most(long a, long b)\n"
                "{\n    return a > b ? a : b;\n}\n\n", f);
    if (calls & ADX_CALLS_LEAST)
        adx_say(t, "static inline long %s_least(long a, long b)\n"
                "{\n    return a < b ? a : b;\n}\n\n", f);
    if (calls & ADX_CALLS_FLOOR)
        adx_say(t, "static inline long %s_floor(long a, long b)\n"
                "{\n    return a / b - (a %% b < 0);\n}\n\n", f);
}

// Writes what must stand before loops that gcc must not unroll
// (tensor/emission).
static void adx_say_rolled(adx_text *t)
{
    adx_say(t, "#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 8\n"
            "#define %s_ROLLED _Pragma(\"GCC unroll 1\")\n#else\n"
            "#define %s_ROLLED\n#endif\n\n", t->name, t->name);
}

// Writes a table as a constant array, ten numbers in a line.
static void adx_say_table_data(const adx_tensor_file *k, adx_text *t,
                               uint32_t number)
{
    const adx_table_data *d = &k->tables.table[number];
    adx_say(t, "static const %s %s_t%lu[%llu] = {",
            adx_table_type(k, d->kind), t->name, (unsigned long)number,
            (unsigned long long)(d->n > 0 ? d->n : 1));
    for (uint64_t i = 0; i < d->n; i++) {
        adx_say(t, i % 10 == 0 ? "\n    " : " ");
        if (d->kind == ADX_TABLE_WORDS)
            adx_say(t, "%lluu", (unsigned long long)
                                    ((const uint64_t *)d->data)[i]);
        else if (d->kind == ADX_TABLE_INTS)
            adx_say(t, "%ld", (long)((const int32_t *)d->data)[i]);
        else
            adx_say(t, "%lu", (unsigned long)((const uint32_t *)d->data)[i]);
        adx_say(t, i + 1 < d->n ? "," : "");
    }
    adx_say(t, d->n > 0 ? "\n};\n\n" : " 0 };\n\n");
}

static void adx_put_to_text(const char *text, size_t n, void *user)
{
    adx_put_text((adx_text *)user, text, n);
}

// Writes a comment that says what sizes mean that are arguments, and how arrays
// lie, by their strides.
static void adx_say_open_origin(const adx_tensor_file *k, adx_text *t)
{
    const adx_tree *tree = &k->t->tree;
    adx_say(t, "\n\nArrays have the strides of the largest sizes. Numbers from "
            "index to index:\n");
    for (uint32_t i = 1; i < k->t->program->values; i++) {
        const adx_tensor_value *v = adx_tensor_value_at(k->t, i);
        const adx_tensor_array *a = &tree->array[v->array];
        if (v->array == 0 || v->dims == 0 || (a->formula != 0 && !a->out))
            continue;
        adx_say(t, "    ");
        adx_put_text(t, tree->text + a->name.at, a->name.length);
        for (uint32_t d = 0; d < v->dims; d++)
            adx_say(t, "%s%lld", d == 0 ? "[" : ", ", (long long)v->stride[d]);
        adx_say(t, "]\n");
    }
    adx_say(t, "Functions return 2 if a size is not in its range. Then nothing "
            "has been written.");
}

// Writes the largest and the least number of a size that is an argument.
static void adx_say_size_limits(const adx_tensor_file *k, adx_text *t)
{
    const adx_open_sizes *o = k->t->open;
    for (uint32_t i = 0; i < adx_open_of(k->t); i++)
        for (int most = 0; most < 2; most++) {
            adx_say(t, "#define %s_", t->name);
            adx_say_size(t, k->t, i);
            adx_say(t, "%s %lld\n", most ? "MOST" : "LEAST",
                    (long long)(most ? k->t->given.size[o->size[i]]
                                     : o->least[i]));
        }
    adx_say(t, o == NULL ? "" : "\n");
}

// Writes a comment with the text, as it was understood, and its sizes.
static void adx_say_origin(const adx_tensor_file *k, adx_text *t)
{
    const adx_tree *tree = &k->t->tree;
    adx_say(t, "/* written by adrev " ADREV_VERSION " from\n\n");
    adx_print_tree(tree, adx_put_to_text, t);
    for (uint32_t i = 1; i < tree->size_count; i++) {
        uint32_t open = k->t->open == NULL ? 0 : k->t->open->var[i];
        adx_say(t, i == 1 ? "\nwith " : ", ");
        adx_put_text(t, tree->text + tree->size[i].at, tree->size[i].length);
        if (open > 0)
            adx_say(t, " from %lld to %lld",
                    (long long)k->t->open->least[open - 1],
                    (long long)k->t->given.size[i]);
        else
            adx_say(t, " = %lld", (long long)k->t->given.size[i]);
    }
    if (k->t->open != NULL)
        adx_say_open_origin(k, t);
    adx_say(t, " */\n\n");
}

// Writes what stands in front of the functions of the steps, and these
// functions.
static void adx_say_steps(adx_tensor_file *k, adx_text *t)
{
    const ad_c_options *o = k->options;
    if (k->loaded)
        adx_say(t, "/* written by adrev " ADREV_VERSION " */\n\n");
    else
        adx_say_origin(k, t);
    if (o->header != NULL)
        adx_say(t, "#include \"%s\"\n", o->header);
    adx_say_math(t, k->loaded);
    if (k->rolled)
        adx_say_rolled(t);
    adx_say_size_limits(k, t);
    adx_say_bound_functions(t, k->bounds);
    adx_say_helpers(t, k->helper);
    for (uint32_t i = 0; !k->loaded && i < k->tables.n; i++)
        adx_say_table_data(k, t, i);
    adx_put_text(t, (const char *)k->functions.v, k->functions.n);
}

ADX_SELDOM_END

/* === tensor/written =========================================================
 * The functions of parts, which call the steps of a file (tensor/file), and
 * ad_tensor_write_c.
 *
 *   needs   tape/memory code/api code/text code/write tensor/api tensor/tree
 *           tensor/messages tensor/arena tensor/binding tensor/open
 *           tensor/programs tensor/sharing tensor/derive tensor/queries
 *           tensor/emission tensor/file
 *   offers  adx_part_texts adx_say_call adx_check_text_options
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- functions of parts -----------------------------------------------------
 * They have the arrays of ad_tensor_eval and its like, in the same order:
 *
 *     int f_vjp(const double *const x[], const double *const w[],
 *               double *const y[], double *const dx[], double *work);
 *
 * Before them stand the sizes that are open.
 * r0, r1, ... say which results are wanted.                                  */

typedef struct adx_part_text {
    const char *name;
    const char *parameters;     // % is double or float
    unsigned bit;               // of ad_c_options
} adx_part_text;

static const adx_part_text adx_part_texts[ADX_TENSOR_PARTS] = {
    { "value", "(const % *const x[], % *const y[], % *work)", ADREV_C_VALUE },
    { "jvp", "(const % *const x[], const % *const v[], % *const y[], "
      "% *const dy[], % *work)", ADREV_C_JVP },
    { "vjp", "(const % *const x[], const % *const w[], % *const y[], "
      "% *const dx[], % *work)", ADREV_C_VJP },
    { "hvp", "(const % *const x[], const % *const w[], const % *const v[], "
      "% *const hv[], % *work)", ADREV_C_HVP }
};

// A result of a part, in the order of its arrays.
typedef struct adx_part_result {
    uint32_t value;             // 0: nothing adds to it
    uint32_t like;              // a value of its shape
    const char *array;
    uint32_t order;
    bool used;                  // r... stands in the text
} adx_part_result;

typedef struct adx_part_writing {
    adx_tensor_file *k;
    adx_text *t;
    ad_tensor_part part;
    adx_part_result *result;
    uint32_t results;
    bool *needs;                // [values] what one result needs
    bool given[3];              // x, v and w stand in the text
} adx_part_writing;

// Adds results to those of a part: `like` has their indices, `array` their
// name.
static void adx_list_results(adx_part_writing *w, const uint32_t value[],
                             const uint32_t like[], uint32_t n,
                             const char *array)
{
    for (uint32_t i = 0; i < n; i++)
        w->result[w->results++] = (adx_part_result){ value[i], like[i], array,
                                                     i, false };
}

// Takes the memory of a part's function. False: there is none.
static bool adx_begin_part(adx_part_writing *w)
{
    const ad_tensor *t = w->k->t;
    const adx_tensor_program *p = t->program;
    uint32_t ins = t->tree.inputs;
    uint32_t outs = t->tree.outs;
    w->result = ADX_GET(&w->k->a, 2 * outs + ins, adx_part_result);
    w->needs = ADX_GET(&w->k->a, p->values, bool);
    if (w->result == NULL || w->needs == NULL)
        return false;
    if (w->part != ADREV_TENSOR_HVP)
        adx_list_results(w, p->out, p->out, outs, "y");
    if (w->part == ADREV_TENSOR_JVP)
        adx_list_results(w, p->tangent_out, p->out, outs, "dy");
    if (w->part == ADREV_TENSOR_VJP)
        adx_list_results(w, p->adjoint_in, p->input, ins, "dx");
    if (w->part == ADREV_TENSOR_HVP)
        adx_list_results(w, p->second_in, p->input, ins, "hv");
    return true;
}

// Writes "r0 | r2": when a value is needed. A value of no result is never
// needed.
static void adx_say_condition(adx_part_writing *w, uint32_t value)
{
    const adx_tensor_program *p = w->k->t->program;
    const char *before = "";
    for (uint32_t i = 0; i < w->results; i++) {
        memset(w->needs, 0, p->values * sizeof *w->needs);
        w->needs[w->result[i].value] = true;
        adx_need_all(p, w->needs);
        if (w->result[i].value == 0 || !w->needs[value])
            continue;
        adx_say(w->t, "%sr%lu", before, (unsigned long)i);
        w->result[i].used = true;
        before = " | ";
    }
}

// Returns the name of the array that a given value is an element of.
static const char *adx_array_of_given(adx_value_kind kind)
{
    return kind == ADX_VALUE_INPUT ? "x"
         : kind == ADX_VALUE_TANGENT_IN ? "v" : "w";
}

// Whether any step of the part has a value as a parameter.
static bool adx_is_parameter(const adx_part_writing *w, uint32_t value)
{
    for (uint32_t i = 0; i < w->k->t->program->values; i++) {
        const adx_step_text *s = w->k->of[w->part][i];
        if (adx_has_parameter(s, ADX_PARAMETER_READ, value)
            || adx_has_parameter(s, ADX_PARAMETER_WRITTEN, value))
            return true;
    }
    return false;
}

// Whether a step of the part needs flags for picks, or memory for sums.
static bool adx_part_uses(const adx_part_writing *w, adx_parameter_kind kind)
{
    for (uint32_t i = 0; i < w->k->t->program->values; i++)
        if (adx_has_parameter(w->k->of[w->part][i], kind, 0))
            return true;
    return false;
}

// Writes "n_ - 1", the end of a range.
static void adx_say_range_end(const adx_part_writing *w, const int64_t form[])
{
    bool any = false;
    for (uint32_t i = 0; i < adx_open_of(w->k->t); i++) {
        int64_t k = form[1 + i];
        if (k == 0)
            continue;
        adx_say(w->t, "%s%lld*", any ? " + " : "", (long long)k);
        adx_say_size(w->t, w->k->t, i);
        any = true;
    }
    if (form[0] != 0 || !any)
        adx_say(w->t, "%s%lld", any ? " + " : "", (long long)form[0]);
}

// Writes " && n_ - 1 >= 0", where a range may be empty.
static void adx_say_not_empty(const adx_part_writing *w,
                              const adx_tensor_value *v)
{
    uint32_t open = adx_open_of(w->k->t);
    for (uint32_t d = 0; v->range.from != NULL && d < v->dims; d++) {
        int64_t *form = ADX_GET(&w->k->a, 1 + open, int64_t);
        size_t at = (size_t)d * (1 + open);
        if (form == NULL)
            return;
        adx_add_open(&w->k->a, form, 1, v->range.last + at, open);
        adx_add_open(&w->k->a, form, -1, v->range.from + at, open);
        if (adx_open_extreme(w->k->t, form, false) >= 0)
            continue;
        adx_say(w->t, " && ");
        adx_say_range_end(w, form);
        adx_say(w->t, " >= 0");
    }
}

// Declares the arrays of the part that steps read. An empty one needs no
// number.
static void adx_say_given(adx_part_writing *w)
{
    const adx_tensor_program *p = w->k->t->program;
    for (uint32_t i = 1; i < p->values; i++) {
        const adx_tensor_value *v = &p->value[i];
        if (v->kind > ADX_VALUE_WEIGHT || !adx_is_parameter(w, i))
            continue;
        const char *array = adx_array_of_given(v->kind);
        unsigned long order = v->order;
        w->given[array[0] == 'x' ? 0 : array[0] == 'v' ? 1 : 2] = true;
        adx_say(w->t, "    const %s *const b%lu = %s != 0 ? %s[%lu] : 0;\n",
                w->t->real, (unsigned long)i, array, array, order);
        if (v->size == 0)
            continue;
        adx_say(w->t, "    if (b%lu == 0 && (", (unsigned long)i);
        adx_say_condition(w, i);
        adx_say(w->t, ")");
        adx_say_not_empty(w, v);
        adx_say(w->t, ")\n        return 1;\n");
    }
}

// Whether an array of arrays stands in the text.
static bool adx_is_parameter_used(const adx_part_writing *w, const char *array)
{
    bool used = (strcmp(array, "x") == 0 && w->given[0])
             || (strcmp(array, "v") == 0 && w->given[1])
             || (strcmp(array, "w") == 0 && w->given[2]);
    for (uint32_t i = 0; i < w->results; i++)
        used = used || (w->result[i].used
                        && strcmp(w->result[i].array, array) == 0);
    return used;
}

// Says which results are wanted, where that matters. Compilers warn of what is
// not used.
static void adx_say_wanted(const adx_part_writing *w, adx_text *t)
{
    static const char *const parameters[ADX_TENSOR_PARTS][5] = {
        { "x", "y" }, { "x", "v", "y", "dy" }, { "x", "w", "y", "dx" },
        { "x", "w", "v", "hv" }
    };
    for (uint32_t i = 0; i < 5 && parameters[w->part][i] != NULL; i++)
        if (!adx_is_parameter_used(w, parameters[w->part][i]))
            adx_say(t, "    (void)%s;\n", parameters[w->part][i]);
    for (uint32_t i = 0; i < w->results; i++)
        if (w->result[i].used)
            adx_say(t, "    const int r%lu = %s != 0 && %s[%lu] != 0;\n",
                    (unsigned long)i, w->result[i].array, w->result[i].array,
                    (unsigned long)w->result[i].order);
}

// Declares where values are stored: in work, unless they are results that are
// wanted. Returns how many numbers of work there are.
static uint64_t adx_say_stored(adx_part_writing *w)
{
    const adx_tensor_program *p = w->k->t->program;
    uint64_t at = 0;
    for (uint32_t i = 1; i < p->values; i++) {
        const adx_tensor_value *v = &p->value[i];
        uint32_t r = 0;
        if (v->kind <= ADX_VALUE_WEIGHT || !adx_is_parameter(w, i))
            continue;
        while (r < w->results && w->result[r].value != i)
            r++;
        adx_say(w->t, "    %s *const b%lu = ", w->t->real, (unsigned long)i);
        if (r < w->results) {
            w->result[r].used = true;
            adx_say(w->t, "r%lu ? %s[%lu] : ", (unsigned long)r,
                    w->result[r].array, (unsigned long)w->result[r].order);
        }
        adx_say(w->t, "work + %llu;\n",
                (unsigned long long)(at + (uint64_t)v->first));
        at += v->span;
    }
    return at;
}

// Writes the argument that a part's function passes to a step.
static void adx_say_part_argument(adx_text *t, const adx_parameter *p,
                                  void *user)
{
    switch (p->kind) {
    case ADX_PARAMETER_WRITTEN: case ADX_PARAMETER_READ:
        adx_say(t, "b%lu", (unsigned long)p->number); break;
    case ADX_PARAMETER_FLAG:
        adx_say_condition((adx_part_writing *)user, p->number); break;
    case ADX_PARAMETER_PICKS: adx_say(t, "done"); break;
    case ADX_PARAMETER_SUMS: adx_say(t, "sums"); break;
    case ADX_PARAMETER_SIZE:
        adx_say_size(t, ((adx_part_writing *)user)->k->t, p->number); break;
    case ADX_PARAMETER_TABLE: case ADX_PARAMETER_PART:
    case ADX_PARAMETER_RANGE: break;            // of machine code
    }
}

// Writes "f_step3(b7, b2, b3);".
static void adx_say_call(adx_text *t, const adx_step_text *s,
                         adx_parameter_fn *say, void *user)
{
    adx_say(t, "%s_step%lu", t->name, (unsigned long)s->number);
    adx_say_each_parameter(t, s, say, user);
    adx_say(t, s->parameters == 0 ? "();\n" : ");\n");
}

// Calls a step if its value is needed and nothing hosts it.
static void adx_say_guarded(adx_part_writing *w, uint32_t value)
{
    const adx_step_text *s = w->k->of[w->part][value];
    uint32_t host = adx_host_of(&w->k->part[w->part], value);
    adx_say(w->t, "    if ((");
    adx_say_condition(w, value);
    adx_say(w->t, ")");
    for (uint32_t i = 0; i < s->parameters; i++)
        if (s->parameter[i].kind == ADX_PARAMETER_FLAG
            && s->parameter[i].number != value) {   // of a bundle, some step
            adx_say(w->t, " || (");
            adx_say_condition(w, s->parameter[i].number);
            adx_say(w->t, ")");
        }
    if (host != 0) {
        adx_say(w->t, " && !(");
        adx_say_condition(w, host);
        adx_say(w->t, ")");
    }
    adx_say(w->t, ")\n        ");
    adx_say_call(w->t, s, adx_say_part_argument, w);
}

// Writes a loop over all numbers along an index, from 0 on.
static void adx_say_unmade_loop(const adx_part_writing *w,
                                const adx_tensor_value *v, uint32_t d)
{
    unsigned long x = d;
    uint32_t open = adx_open_of(w->k->t);
    adx_say(w->t, "        for (long x%lu = 0; x%lu < ", x, x);
    if (v->range.from == NULL)
        adx_say(w->t, "%lld", (long long)v->extent[d]);
    else {
        int64_t *form = ADX_GET(&w->k->a, 1 + open, int64_t);
        size_t at = (size_t)d * (1 + open);
        if (form == NULL)
            return;
        form[0] = 1;
        adx_add_open(&w->k->a, form, 1, v->range.last + at, open);
        adx_add_open(&w->k->a, form, -1, v->range.from + at, open);
        adx_say_range_end(w, form);
    }
    adx_say(w->t, "; x%lu++)\n", x);
}

// Writes code that makes results 0 that nothing adds to.
static void adx_say_unmade(adx_part_writing *w)
{
    for (uint32_t i = 0; i < w->results; i++) {
        adx_part_result *r = &w->result[i];
        const adx_tensor_value *v = adx_tensor_value_at(w->k->t, r->like);
        if (r->value != 0 || v->size == 0)
            continue;
        r->used = true;
        adx_say(w->t, "    if (r%lu)\n", (unsigned long)i);
        for (uint32_t d = 0; d < v->dims; d++)
            adx_say_unmade_loop(w, v, d);
        adx_say(w->t, "            %s[%lu][0", r->array,
                (unsigned long)r->order);
        for (uint32_t d = 0; d < v->dims; d++)
            adx_say(w->t, " + (%lld)*x%lu", (long long)v->stride[d],
                    (unsigned long)d);
        adx_say(w->t, "] = 0;\n");
    }
}

// Writes the prototype of a part, with double or float.
static void adx_say_prototype(const adx_tensor_file *k, adx_text *t,
                              const char *name, const char *parameters)
{
    adx_say(t, "%sint %s_%s(", t->exported ? "" : "static ", t->name, name);
    for (uint32_t i = 0; i < adx_open_of(k->t); i++) {
        adx_say(t, "long ");
        adx_say_size(t, k->t, i);
        adx_say(t, ", ");
    }
    for (const char *c = parameters + 1; *c != '\0'; c++)
        if (*c == '%')
            adx_say(t, "%s", t->real);
        else
            adx_put_text(t, c, 1);
}

// Writes tests of whether the sizes are in their ranges.
static void adx_say_size_tests(const adx_tensor_file *k, adx_text *t)
{
    for (uint32_t i = 0; i < adx_open_of(k->t); i++) {
        adx_say(t, "    if (");
        adx_say_size(t, k->t, i);
        adx_say(t, " < %lld || ", (long long)k->t->open->least[i]);
        adx_say_size(t, k->t, i);
        adx_say(t, " > %lld)\n        return 2;\n",
                (long long)k->t->given.size[k->t->open->size[i]]);
    }
}

// Writes the C function of one part, after its body is known: the macro with
// the size of its work, the prototype, tests of sizes, the body.
static void adx_say_tensor_part(adx_tensor_file *k, adx_text *t,
                                ad_tensor_part part)
{
    adx_part_writing w = { .k = k, .t = t, .part = part };
    const adx_tensor_program *p = k->t->program;
    const adx_part_text *as = &adx_part_texts[part];
    adx_bytes body = { .memory = &k->t->memory };
    adx_text to = *t;
    if (!adx_begin_part(&w))
        return;
    to.write = adx_put_bytes;
    to.user = &body;
    to.bytes = 0;
    w.t = &to;
    adx_say_given(&w);
    uint64_t numbers = adx_say_stored(&w);
    if (adx_part_uses(&w, ADX_PARAMETER_PICKS)) {
        adx_say(&to, "    unsigned char *const done = (unsigned char *)"
                "(work + %llu);\n", (unsigned long long)numbers);
        numbers += (p->picks + 3) / 4;          // of four bytes
    }
    if (adx_part_uses(&w, ADX_PARAMETER_SUMS)) {
        adx_say(&to, "    %s *const sums = work + %llu;\n", to.real,
                (unsigned long long)numbers);
        numbers += p->sums;
    }
    if (numbers == 0)
        adx_say(&to, "    (void)work;\n");
    for (uint32_t i = 0; i < p->steps; i++)
        if (k->of[part][p->order[i]] != NULL)
            adx_say_guarded(&w, p->order[i]);
    adx_say_unmade(&w);
    adx_say(t, "#define %s_%s_WORK %llu\n", t->name, as->name,
            (unsigned long long)(numbers == 0 ? 1 : numbers));
    adx_say_prototype(k, t, as->name, as->parameters);
    adx_say(t, "\n{\n");
    adx_say_wanted(&w, t);
    adx_say_size_tests(k, t);
    adx_put_text(t, (const char *)body.v, body.n);
    adx_say(t, "    return 0;\n}\n\n");
    if (body.failed)
        adx_arena_fail(&k->a, ADREV_ENOMEM);
    adx_drop(body.memory, body.v);
}

// Writes the gradient of a text whose only result is a number.
static void adx_say_gradient(const adx_tensor_file *k, adx_text *t)
{
    adx_say(t, "#define %s_gradient_WORK %s_vjp_WORK\n", t->name, t->name);
    adx_say_prototype(k, t, "gradient",
                      "(const % *const x[], % *f, % *const g[], % *work)");
    adx_say(t, "\n{\n    const %s one = 1;\n"
            "    const %s *const w[] = { &one };\n"
            "    %s *const y[] = { f };\n"
            "    return %s_vjp(", t->real, t->real, t->real, t->name);
    for (uint32_t i = 0; i < adx_open_of(k->t); i++) {
        adx_say_size(t, k->t, i);
        adx_say(t, ", ");
    }
    adx_say(t, "x, w, y, g, work);\n}\n");
}

/* --- write_c ------------------------------------------------------------- */

// Whether a text has one result, and that is a number.
static bool adx_is_scalar_text(const ad_tensor *t)
{
    for (uint32_t i = 1; i < t->tree.array_count; i++)
        if (t->tree.array[i].out && t->tree.array[i].rank > 0)
            return false;
    return t->tree.outs == 1;
}

// Returns which parts are to be written: a gradient needs the VJP that it
// calls.
static unsigned adx_parts_asked(const ad_tensor *t, unsigned asked)
{
    if (asked == 0)
        asked = ADREV_C_VALUE | ADREV_C_VJP
              | (adx_is_scalar_text(t) ? ADREV_C_GRADIENT : 0u);
    return asked & ADREV_C_GRADIENT ? asked | ADREV_C_VJP : asked;
}

// Checks what ad_tensor_write_c is asked for.
static ad_status adx_check_text_options(const ad_tensor *t,
                                        const ad_c_options *o, unsigned asked)
{
    const unsigned can = ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP
                       | ADREV_C_GRADIENT | ADREV_C_HVP;
    if ((asked & ~can) != 0 || o->casadi || o->dialect != ADREV_C99
        || o->common > 0
        || (asked & ADREV_C_GRADIENT && !adx_is_scalar_text(t))
        || (o->header != NULL && !o->exported)
        || (o->name != NULL && !adx_is_usable(o->name))
        || !adx_is_includable(o->header))
        return ADREV_ESHAPE;
    return ADREV_OK;
}

// Writes the file of a text that is bound.
static ad_status adx_write_tensor(ad_tensor *t, const ad_c_options *o,
                                  ad_write_fn *write, void *user, size_t *bytes)
{
    unsigned asked = adx_parts_asked(t, o->functions);
    adx_tensor_file k;
    ad_status status = adx_check_text_options(t, o, asked);
    if (status != ADREV_OK)
        return status;
    adx_begin_file(&k, t, o, false);
    adx_text to = { .write = write, .user = user,
                    .name = o->name == NULL ? "f" : o->name,
                    .real = o->single ? "float" : "double",
                    .single = o->single, .exported = o->exported };
    adx_bytes parts = { .memory = &t->memory };
    adx_text of_parts = to;
    of_parts.write = adx_put_bytes;
    of_parts.user = &parts;
    for (int part = 0; part < ADX_TENSOR_PARTS; part++)
        if (asked & adx_part_texts[part].bit) {
            adx_add_part(&k, (ad_tensor_part)part);
            if (adx_file_status(&k) == ADREV_OK)
                adx_say_tensor_part(&k, &of_parts, (ad_tensor_part)part);
        }
    status = adx_file_status(&k);
    if (status == ADREV_OK && parts.failed)
        status = ADREV_ENOMEM;
    if (status == ADREV_OK) {
        adx_say_steps(&k, &to);
        adx_put_text(&to, (const char *)parts.v, parts.n);
        if (asked & ADREV_C_GRADIENT)
            adx_say_gradient(&k, &to);
        if (bytes != NULL)
            *bytes = to.bytes;
    }
    adx_drop(parts.memory, parts.v);
    adx_end_file(&k);
    return status;
}

/* --- with sizes as arguments ------------------------------------------------
 * The text is bound a second time, with variables in place of these sizes.   */

// Says what is wrong with an argument. NULL: nothing.
static const char *adx_wrong_argument(const ad_tensor *t,
                                      const ad_c_argument *a, uint32_t size,
                                      const adx_open_sizes *open)
{
    return size == 0 ? "an argument is no size of the text"
         : open->var[size] != 0 ? "a size is an argument twice"
         : a->least > (size_t)t->given.size[size]
         ? "the least size of an argument is larger than its largest" : NULL;
}

// False: an argument is wrong, or there is no memory.
static bool adx_open_arguments(ad_tensor *t, const ad_c_argument a[],
                               adx_open_sizes *open)
{
    uint32_t n = 0;
    while (a[n].name != NULL && n < t->tree.size_count)
        n++;
    open->var = ADX_GET(&t->arena, t->tree.size_count, uint32_t);
    open->size = ADX_GET(&t->arena, n, uint32_t);
    open->least = ADX_GET(&t->arena, n, int64_t);
    for (uint32_t i = 0; t->arena.status == ADREV_OK && i < n; i++) {
        uint32_t size = 0;
        if (adx_named(t, a[i].name, ADX_NAMES_SIZE, &size) != ADREV_OK)
            adx_arena_fail(&t->arena, ADREV_ESYNTAX);
        open->why = adx_wrong_argument(t, &a[i], size, open);
        if (open->why != NULL)
            return false;
        open->var[size] = 1 + i;
        open->size[i] = size;
        open->least[i] = (int64_t)a[i].least;
        open->n++;
    }
    return t->arena.status == ADREV_OK;
}

// Writes C code whose sizes are arguments: a copy of the tensor is bound with
// open sizes for that.
static ad_status adx_write_open(ad_tensor *t, const ad_c_options *o,
                                ad_write_fn *write, void *user, size_t *bytes,
                                ad_tensor_error *error)
{
    adx_open_sizes open = { .n = 0 };
    ad_tensor as = *t;
    memset(&as.arena, 0, sizeof as.arena);
    as.arena.memory = &t->memory;
    as.program = NULL;
    as.code = NULL;
    if (!adx_open_arguments(&as, o->arguments, &open))
        adx_arena_fail(&as.arena, ADREV_ESHAPE);
    else {
        as.open = open.n > 0 ? &open : NULL;
        adx_bind_program(&as, error);
    }
    ad_status status = as.arena.status;
    if (open.why != NULL)
        adx_explain_text(error, open.why);
    else if (status == ADREV_ELIMIT)
        adx_explain_text(error, "too large: an array, or the points at which "
                                "something is to be proved for all sizes");
    if (status == ADREV_OK)
        status = adx_write_tensor(&as, o, write, user, bytes);
    adx_free_arena(&as.arena);
    return status;
}

ADX_API ad_status ad_tensor_write_c(ad_tensor *t, const ad_c_options *options,
                                    ad_write_fn *write, void *user,
                                    size_t *bytes)
{
    static const ad_c_options none;
    const ad_c_options *o = options == NULL ? &none : options;
    ad_tensor_error error = { 0, 0, "" };
    ad_status status = t == NULL ? ADREV_ESHAPE : ad_tensor_bind(t, &error);
    if (status == ADREV_OK)
        status = o->arguments == NULL
               ? adx_write_tensor(t, o, write, user, bytes)
               : adx_write_open(t, o, write, user, bytes, &error);
    if (status != ADREV_OK && error.text[0] == '\0')
        adx_explain_status(&error, status);
    if (status != ADREV_OK && o->reason != NULL)
        memcpy(o->reason, error.text, sizeof error.text);
    return status;
}

ADX_SELDOM_END

/* === tensor/compiled ========================================================
 * A bound text as machine code: each step of each part is a function of a
 * library, which tensor/queries calls in place of the step's loops. The library
 * is made of the C text of tensor/file, and depends on the sizes that are
 * bound.
 *
 *   needs   tape/memory code/api code/text code/cache code/compile tensor/api
 *           tensor/arena tensor/binding tensor/fusion tensor/file
 *           tensor/written
 * ========================================================================== */

#if !ADREV_COMPILE

ADX_API ad_status ad_tensor_compile(ad_tensor *t,
                                    const ad_compile_options *options)
{
    ad_status status = t == NULL ? ADREV_ESHAPE : ad_tensor_bind(t, NULL);
    if (status == ADREV_OK && options != NULL && options->report != NULL) {
        memset(options->report, 0, sizeof *options->report);
        adx_blame(options->report, ADREV_COMPILE_NOWHERE, "", "");
    }
    return status == ADREV_OK ? ADREV_ECOMPILE : status;
}

#else

ADX_SELDOM_BEGIN

// Writes the argument that an entry point of the library passes for a parameter
// of a loop function.
static void adx_say_entry_argument(adx_text *t, const adx_parameter *p,
                                   void *user)
{
    const adx_tensor_file *k = (const adx_tensor_file *)user;
    unsigned long i = p->number;
    switch (p->kind) {
    case ADX_PARAMETER_WRITTEN: case ADX_PARAMETER_READ:
        adx_say(t, "b[%lu]", i); break;
    case ADX_PARAMETER_TABLE:
        adx_say(t, "(const %s *)t[%lu]",
                adx_table_type(k, k->tables.table[i].kind), i); break;
    case ADX_PARAMETER_FLAG: adx_say(t, "need[%lu]", i); break;
    case ADX_PARAMETER_PICKS: adx_say(t, "done"); break;
    case ADX_PARAMETER_SUMS: adx_say(t, "sums"); break;
    case ADX_PARAMETER_PART: adx_say(t, "which"); break;
    case ADX_PARAMETER_RANGE: adx_say(t, "lo, hi"); break;
    case ADX_PARAMETER_SIZE: break;             // of ad_tensor_write_c
    }
}

// Writes the functions that are called: steps, with their arrays in one.
static void adx_say_entries(adx_tensor_file *k, adx_text *t, int part)
{
    for (uint32_t i = 0; i < k->t->program->values; i++) {
        const adx_step_text *s = k->of[part][i];
        if (s == NULL)
            continue;
        adx_say(t, "void %s_%d_%lu(%s *const *b, const void *const *t, "
                "const unsigned char *need, unsigned char *done, %s *sums, "
                "long which, long lo, long hi)\n{\n    ", t->name, part,
                (unsigned long)i, t->real, t->real);
        adx_say_call(t, s, adx_say_entry_argument, k);
        adx_say(t, "}\n\n");
    }
}

// Returns the function of a step in a loaded library. NULL: it has none.
static adx_tensor_step_fn *adx_step_in(void *library, int part,
                                       uint32_t value)
{
    char name[64];
    adx_tensor_step_fn *f;
    snprintf(name, sizeof name, ADX_C_NAME "_%d_%lu", part,
             (unsigned long)value);
    void *code = dlsym(library, name);
    memcpy(&f, &code, sizeof f);
    return f;
}

// Collects what evaluations need of a part, in the memory of the program.
// False: a function is missing, or there is no memory, which t->arena says.
static bool adx_take_part(ad_tensor *t, const adx_tensor_file *k, int part,
                          void *library, adx_tensor_code *to)
{
    uint32_t values = t->program->values;
    bool found = true;
    to->host[part] = ADX_GET(&t->arena, values, uint32_t);
    to->inlined[part] = ADX_GET(&t->arena, values, bool);
    to->bundle[part] = ADX_GET(&t->arena, values, uint32_t);
    to->step[part] = ADX_GET(&t->arena, values, adx_tensor_step_fn *);
    to->cut[part] = ADX_GET(&t->arena, values, adx_step_cut);
    if (t->arena.status != ADREV_OK)
        return false;
    for (uint32_t i = 0; i < values; i++) {
        to->host[part][i] = adx_host_of(&k->part[part], i);
        to->bundle[part][i] = k->part[part].bundle[i];
        to->cut[part][i] = k->part[part].cut[i];
        to->inlined[part][i] = !adx_is_stored(&k->part[part], i);
        if (k->of[part][i] == NULL)
            continue;
        to->step[part][i] = adx_step_in(library, part, i);
        found = found && to->step[part][i] != NULL;
    }
    return found;
}

// Evaluates by the library from now on. False: it lacks functions, or no
// memory.
static bool adx_take_code_of(ad_tensor *t, const adx_tensor_file *k,
                             void *library)
{
    adx_tensor_code *to = ADX_GET(&t->arena, 1, adx_tensor_code);
    const void **table = ADX_GET(&t->arena, k->tables.n, const void *);
    bool ok = to != NULL && table != NULL;
    for (uint32_t i = 0; ok && i < k->tables.n; i++)
        table[i] = k->tables.table[i].data;
    for (int part = 0; ok && part < ADX_TENSOR_PARTS; part++)
        if (k->of[part] != NULL)
            ok = adx_take_part(t, k, part, library, to);
    if (!ok)
        return false;
    to->table = table;
    to->library = library;
    to->unload = adx_close_library;
    if (t->code != NULL)
        t->code->unload(t->code->library);
    t->code = to;
    return true;
}

// Writes the parts that are asked for.
static ad_status adx_write_entries(adx_tensor_file *k, unsigned asked,
                                   adx_bytes *code)
{
    adx_text to = { .write = adx_put_bytes, .user = code, .name = ADX_C_NAME,
                    .real = sizeof(ad_real) == sizeof(float) ? "float"
                                                             : "double",
                    .single = sizeof(ad_real) == sizeof(float) };
    for (int part = 0; part < ADX_TENSOR_PARTS; part++)
        if (asked & adx_part_texts[part].bit)
            adx_add_part(k, (ad_tensor_part)part);
    ad_status status = adx_file_status(k);
    if (status != ADREV_OK)
        return status;
    adx_say_steps(k, &to);
    for (int part = 0; part < ADX_TENSOR_PARTS; part++)
        if (k->of[part] != NULL)
            adx_say_entries(k, &to, part);
    return code->failed ? ADREV_ENOMEM : ADREV_OK;
}

// Writes the loops as C code, compiles it, or finds it in the cache, and takes
// its functions.
static ad_status adx_compile_tensor(ad_tensor *t, const ad_compile_options *o,
                                    ad_compile_report *report)
{
    const ad_c_options c = { .name = ADX_C_NAME,
                             .single = sizeof(ad_real) == sizeof(float) };
    adx_cache cache = { .memory = &t->memory, .report = report,
                        .code = { .memory = &t->memory } };
    unsigned asked = o->functions == 0
        ? ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP | ADREV_C_HVP
        : o->functions & ADREV_C_GRADIENT
        ? (o->functions & ~(unsigned)ADREV_C_GRADIENT) | ADREV_C_VJP
        : o->functions;
    adx_tensor_file k;
    ad_status status = adx_check_text_options(t, &c, asked);
    if (status != ADREV_OK)
        return status;
    adx_begin_file(&k, t, &c, true);
    status = adx_write_entries(&k, asked, &cache.code);
    void *library = status == ADREV_OK ? adx_library_of(&cache, o,
                                                        ADX_LOOP_FLAGS) : NULL;
    if (library != NULL && !adx_take_code_of(t, &k, library)) {
        adx_blame_hidden(&cache, library);
        cache.no_memory = t->arena.status != ADREV_OK;
        if (cache.no_memory)
            adx_take_back_blame(report);
        t->arena.status = ADREV_OK;
        library = NULL;
    }
    adx_drop(cache.memory, cache.code.v);
    adx_end_file(&k);
    return status != ADREV_OK ? status : cache.no_memory ? ADREV_ENOMEM
         : library != NULL ? ADREV_OK : ADREV_ECOMPILE;
}

ADX_SELDOM_END

ADX_API ad_status ad_tensor_compile(ad_tensor *t,
                                    const ad_compile_options *options)
{
    static const ad_compile_options none;
    const ad_compile_options *o = options == NULL ? &none : options;
    ad_compile_report unread;
    ad_compile_report *report = o->report == NULL ? &unread : o->report;
    ad_status status = t == NULL ? ADREV_ESHAPE : ad_tensor_bind(t, NULL);
    memset(report, 0, sizeof *report);
    return status != ADREV_OK ? status : adx_compile_tensor(t, o, report);
}

#endif // ADREV_COMPILE
#endif

#endif // ADREV_TENSOR_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
